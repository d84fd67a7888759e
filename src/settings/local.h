/* A HAProxy by its own file: what several of its settings say together. */
#ifndef SETTINGS_LOCAL_H
#define SETTINGS_LOCAL_H

#include "settings/findings.h"

struct settings;

void local_check(const struct settings *s, struct settings_findings *found);

#endif
