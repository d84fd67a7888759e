/* Lookups in an environment (an array of "NAME=value" that ends with NULL) that is handed in, not global. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "settings/findings.h"

struct setting;

/* The value of the first entry of that name, "" included; NULL where there is none. Borrowed. */
const char *environment_get(char *const *env, const char *name);

/*
 * Kubernetes gives every pod variables with the Services of its namespace (and Docker's links did before): for
 * Service x-y these are X_Y_SERVICE_HOST, X_Y_SERVICE_PORT[_NAME], X_Y_PORT=tcp://ip:port and
 * X_Y_PORT_443_TCP[_PROTO|_PORT|_ADDR].
 * https://kubernetes.io/docs/tutorials/services/connect-applications-service/#environment-variables
 */

/* Whether name=value, which is no setting, has one of these shapes: it was not written for this program. */
bool environment_is_service_link(const char *name, const char *value);

/* Whether a setting has its value from a Service whose name makes it so: HAPROXY_BACKEND_PORT from one called
 * haproxy-backend, INGRESS_SERVICE_PORT from ingress or ingress-service. */
bool environment_is_injected(char *const *env, const char *name, const char *value);

/*
 * The names that settings have with an operator for haproxy.cfg in a Secret (struct setting): a user who comes from it changes
 * the image and keeps the environment. They count where its MODE is set, as some are short enough to be another
 * program's.
 */

/* Whether MODE is set. */
bool aliases_count(char *const *env);

/* What env has of the row by its alias, NULL: nothing that counts. Borrowed. */
const char *alias_get(char *const *env, const struct setting *row);

/* What that value is in the row's own syntax. Allocates. */
char *alias_translated(const struct setting *row, const char *value) must_check;

/* Reports a setting that has different values by its two names, and what of the operator's is not supported. */
void aliases_check(char *const *env, struct settings_findings *found);
