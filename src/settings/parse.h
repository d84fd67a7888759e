/* From the environment to struct settings, by the rows of settings/table.h. */
#pragma once

#include "base/compiler.h"
#include "settings/findings.h"
#include "settings/settings.h"

/* Parses all of environ and reports every problem at once. 0 also with warnings; -1 where there is any error: then *ret
 * holds nothing but log_format. Files of secrets are read here for the first time; an unreadable one is an error.
 * *found is set in either case. */
int settings_parse(char *const *environ, struct settings *ret, struct settings_findings *found) must_check;
/* Overwrites the values of secrets in environ itself, which /proc/PID/environ shows and every child gets; they are
 * parsed as empty from then on. */
void settings_wipe_environment(char *const *environ);
void settings_fini(struct settings *c);

/* ---- its parts ---- */

/* User name, password and token of the Data Plane API, each as a value or as a file, and which of them go together:
 * sets the secrets of c and their bits of c->given, reads the files, reports what is wrong. */
void credentials_parse(char *const *environ, struct settings *c, struct settings_findings *found);

/* Makes c->mappings and c's default of the backend's name of what the other fields hold (INGRESS_SERVICES, or the
 * variables of the single form), and reports everything that is wrong with INGRESS_SERVICES and what does not go with it. The mappings
 * are complete only where no problem was reported at all. */
void services_parse(struct settings *c, struct settings_findings *found);

/* What does not go with HAProxies that are pods of a template set. */
void dataplanes_check_pods(const struct settings *c, struct settings_findings *found);

/* What several settings of a HAProxy by its own file say together. */
void local_check(const struct settings *s, struct settings_findings *found);

/* What of etcd's settings does not go together, or goes with no HAProxy. */
void etcd_check(const struct settings *c, struct settings_findings *found);

/* Reports which of the TLS settings do not go together, or have no effect. */
void dataplanes_check_tls(const struct settings *c, struct settings_findings *found);

/* Variables that seem to be settings and are not: a warning for each, with the name that was probably meant; an error
 * where that is a setting of safety and no wild guess. Their values are never shown: they may be secrets. */
void unknown_report(char *const *environ, struct settings_findings *found);
/* What takes the place of a setting of old; NULL: there was none of that name. */
const char *settings_instead_of(const char *name);
