/*
 * The table of all variables. Everything that names one comes from here: the parser, --help, config.example.env, the page of
 * settings, check-config and "did you mean". To add a variable: an id here, a row in fields.c, a parse function in values*.c,
 * a case in show.c; then `make test` says which pages are to be renewed.
 */
#ifndef SETTINGS_FIELDS_H
#define SETTINGS_FIELDS_H

#include <stdbool.h>

#include "base/buf.h"

struct config;

/* In the order in which all pages show them. */
enum config_field_id {
    CONFIG_INGRESS_NAMESPACE,
    CONFIG_INGRESS_SERVICE_NAME,
    CONFIG_INGRESS_SERVICE_PORT,
    CONFIG_INGRESS_SERVICES,
    CONFIG_NODE_MODE,
    CONFIG_NODE_SELECTOR,
    CONFIG_NODE_ADDRESS_TYPES,
    CONFIG_IP_FAMILY,
    CONFIG_DATAPLANE_URL,
    CONFIG_DATAPLANE_USERNAME,
    CONFIG_DATAPLANE_PASSWORD,
    CONFIG_DATAPLANE_TOKEN,
    CONFIG_DATAPLANE_CREDENTIALS_FILE,
    CONFIG_DATAPLANE_CA_FILE,
    CONFIG_DATAPLANE_CERT_FILE,
    CONFIG_DATAPLANE_KEY_FILE,
    CONFIG_DATAPLANE_SERVER_NAME,
    CONFIG_DATAPLANE_INSECURE,
    CONFIG_BACKEND_NAME,
    CONFIG_BACKEND_PORT,
    CONFIG_SEND_PROXY_V2,
    CONFIG_BALANCE,
    CONFIG_SERVER_WEIGHTS,
    CONFIG_ADOPT_SERVERS,
    CONFIG_SERVER_NAME_FORMAT,
    CONFIG_ADV_CHECK,
    CONFIG_HEALTH_CHECK,
    CONFIG_KEEP_SERVERS,
    CONFIG_CREATE_BACKEND,
    CONFIG_DRAIN_TIMEOUT,
    CONFIG_PARK_TTL,
    CONFIG_PARK_NODES,
    CONFIG_ALLOW_EMPTY,
    CONFIG_MAX_LOSS_PERCENT,
    CONFIG_DRY_RUN,
    CONFIG_RESYNC_PERIOD,
    CONFIG_LEADER_ELECT,
    CONFIG_LEASE_NAME,
    CONFIG_LEASE_NAMESPACE,
    CONFIG_KUBECONFIG,
    CONFIG_PROXY_FROM_ENVIRONMENT,
    CONFIG_SECCOMP,
    CONFIG_EMIT_EVENTS,
    CONFIG_LISTEN_ADDRESS,
    CONFIG_STATUS_PAGE,
    CONFIG_LOG_FORMAT,
    CONFIG_LOG_LEVEL,
    CONFIG_FIELD_COUNT
};

struct config_field {
    const char *name;
    const char *fallback; /* the default in the variable's own syntax, parsed like a given value; NULL: none */
    const char *unset;    /* without a fallback: what it means not to set it */
    const char *expected; /* "a port number, 1 to 65535": goes on after "expected" */
    const char *help;     /* one paragraph of plain sentences, no Markdown */
    const char *example;
    bool is_list; /* white space around it is no mistake */
    bool or_file; /* a secret: NAME_FILE may name a file that holds it; parsed by settings/secrets/credentials.c */
    bool masked;  /* its value is never shown; only where or_file */
    /* Without it the daemon does what it was told not to do, or beside another one: a misspelt one is an error. */
    bool safety;
    /* Sets its fields of c. -1: refused; what is put into note then says more than `expected` does. 0 with a note: a
     * warning. note is empty at first and never holds a part of value that is to be masked. NULL for or_file. */
    int (*parse)(const char *value, struct config *c, struct buf *note);
};

const struct config_field *config_field(enum config_field_id id);

/* Whether c's value was given rather than a default. */
bool config_is_given(const struct config *c, enum config_field_id id);

#endif
