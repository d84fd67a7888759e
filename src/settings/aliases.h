/*
 * The names that settings have with an operator for haproxy.cfg in a Secret (struct setting): a user who comes from it changes
 * the image and keeps the environment. They count where its MODE is set, as some are short enough to be another
 * program's.
 */
#ifndef SETTINGS_ALIASES_H
#define SETTINGS_ALIASES_H

#include <stdbool.h>

#include "base/compiler.h"
#include "settings/findings.h"

struct setting;

/* Whether MODE is set. */
bool aliases_count(char *const *env);

/* What env has of the row by its alias, NULL: nothing that counts. Borrowed. */
const char *alias_get(char *const *env, const struct setting *row);

/* What that value is in the row's own syntax. Allocates. */
char *alias_translated(const struct setting *row, const char *value) must_check;

/* Reports a setting that has different values by its two names, and what of the operator's is not supported. */
void aliases_check(char *const *env, struct settings_findings *found);

#endif
