/* The settings in the words of those who decide by them; the only place that knows both. */
#ifndef DAEMON_RULES_H
#define DAEMON_RULES_H

#include "servers/desired/desired.h"
#include "servers/change/plan.h"

struct config;
struct config_mapping;

/* What they hold is borrowed from config. */
struct mapping_rules rules_for_mapping(const struct config *config, const struct config_mapping *mapping);
struct plan_rules rules_for_plan(const struct config *config);

#endif
