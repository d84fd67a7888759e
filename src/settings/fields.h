/*
 * The table of all variables. Everything that names one comes from here: the parser, --help, config.example.env, the page of
 * settings, check-config and "did you mean". To add a variable: an id here, a row in fields.c, a parse function in values*.c,
 * a case in show.c; then `make test` says which pages are to be renewed.
 */
#ifndef SETTINGS_FIELDS_H
#define SETTINGS_FIELDS_H

#include <stdbool.h>

#include "base/buf.h"

struct settings;

/* In the order in which all pages show them. */
enum setting_id {
    SETTINGS_INGRESS_NAMESPACE,
    SETTINGS_INGRESS_SERVICE_NAME,
    SETTINGS_INGRESS_SERVICE_PORT,
    SETTINGS_INGRESS_SERVICES,
    SETTINGS_NODE_MODE,
    SETTINGS_NODE_SELECTOR,
    SETTINGS_NODE_ADDRESS_TYPES,
    SETTINGS_IP_FAMILY,
    SETTINGS_DATAPLANE_URL,
    SETTINGS_DATAPLANE_USERNAME,
    SETTINGS_DATAPLANE_PASSWORD,
    SETTINGS_DATAPLANE_TOKEN,
    SETTINGS_DATAPLANE_CREDENTIALS_FILE,
    SETTINGS_DATAPLANE_CA_FILE,
    SETTINGS_DATAPLANE_CERT_FILE,
    SETTINGS_DATAPLANE_KEY_FILE,
    SETTINGS_DATAPLANE_SERVER_NAME,
    SETTINGS_DATAPLANE_INSECURE,
    SETTINGS_BACKEND_NAME,
    SETTINGS_BACKEND_PORT,
    SETTINGS_SEND_PROXY_V2,
    SETTINGS_BALANCE,
    SETTINGS_SERVER_WEIGHTS,
    SETTINGS_ADOPT_SERVERS,
    SETTINGS_SERVER_NAME_FORMAT,
    SETTINGS_ADV_CHECK,
    SETTINGS_HEALTH_CHECK,
    SETTINGS_KEEP_SERVERS,
    SETTINGS_CREATE_BACKEND,
    SETTINGS_DRAIN_TIMEOUT,
    SETTINGS_PARK_TTL,
    SETTINGS_PARK_NODES,
    SETTINGS_ALLOW_EMPTY,
    SETTINGS_MAX_LOSS_PERCENT,
    SETTINGS_DRY_RUN,
    SETTINGS_RESYNC_PERIOD,
    SETTINGS_LEADER_ELECT,
    SETTINGS_LEASE_NAME,
    SETTINGS_LEASE_NAMESPACE,
    SETTINGS_KUBECONFIG,
    SETTINGS_PROXY_FROM_ENVIRONMENT,
    SETTINGS_SECCOMP,
    SETTINGS_EMIT_EVENTS,
    SETTINGS_LISTEN_ADDRESS,
    SETTINGS_STATUS_PAGE,
    SETTINGS_LOG_FORMAT,
    SETTINGS_LOG_LEVEL,
    SETTINGS_FIELD_COUNT
};

struct setting {
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
    int (*parse)(const char *value, struct settings *c, struct buf *note);
};

const struct setting *setting(enum setting_id id);

/* Whether c's value was given rather than a default. */
bool settings_is_given(const struct settings *c, enum setting_id id);

#endif
