/* The rules of those who decide, from the settings. */
#ifndef DAEMON_RULES_H
#define DAEMON_RULES_H

#include "servers/desired/desired.h"
#include "servers/change/plan.h"

struct settings;
struct settings_mapping;

/* What they hold is borrowed from settings. */
struct mapping_rules rules_for_mapping(const struct settings *settings, const struct settings_mapping *mapping);
struct plan_rules rules_for_plan(const struct settings *settings);

#endif
