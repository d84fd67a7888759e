/*
 * A HAProxy backend as far as this daemon cares: plain values between the Data Plane codec (haproxy/dataplane/codec),
 * the difference (servers/change/diff) and the log. Fields that the daemon does not manage stay in `json`, so that a
 * write returns them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A `server` line. Its texts are base/shared_text's: many HAProxies have the same. */
struct backend_server {
    const char *name;
    const char *address;
    uint16_t port; /* 0: the line has none */
    int weight;    /* -1: the line has none */
    bool check;
    bool backup;             /* on the line itself */
    bool maintenance;        /* `disabled`: on the line, or by its default-server where the line is not `enabled` */
    bool enabled, no_backup; /* these words stand on the line */
    bool default_disabled, default_backup; /* its default-server says so, which the line has to answer */
    uint16_t check_port;                   /* `port` of the check ("health_check_port"); 0: that of the server */
    bool send_proxy_v2;
    bool tracks;      /* another server (`track`): its check and its state are that one's */
    const char *json; /* the whole object as the Data Plane API gave it; NULL for one that is still to be made */
    /* All of that which the daemon does not manage and which is not this server's alone, as haproxy/siblings has it: of one
     * that is to be made, what is put on its line. NULL: nothing. */
    const char *rest;
};

/* A `server-template PREFIX NUM|RANGE` line makes the names PREFIX<n>. */
struct backend_template {
    char *prefix;
    unsigned first, last;
};

/* A line of the file that the API does not show or would damage. */
struct backend_unsupported_line {
    unsigned line; /* number in haproxy.cfg, from 1 */
    char *text;
    char *reason;
    bool only_shown; /* no line at all: the API shows a server that the file lacks; a write damages nothing there */
};

/* What may differ of a server line. */
enum server_field {
    SERVER_ADDRESS = 1,
    SERVER_PORT = 2,
    SERVER_WEIGHT = 4,
    SERVER_MAINTENANCE = 8,
    SERVER_CHECK = 16,
    SERVER_CHECK_PORT = 32,
    SERVER_PROXY_V2 = 64,
    SERVER_BACKUP = 128,
};

#define SERVER_WEIGHT_DEFAULT 100 /* of a server whose line has none yet */

/* The settings of a backend that an engine asks for. */
struct backend_settings {
    const char *balance;   /* NULL: as it is */
    const char *adv_check; /* NULL: as it is */
    bool httpchk_healthz;  /* the httpchk is to ask GET /healthz, unless it says what to ask for */
    bool proxy_v2;         /* send-proxy-v2 in its default-server */
};

struct backend {
    char *name;
    bool exists;
    int64_t version;            /* configuration version that all of this was read at */
    char *mode;                 /* "tcp", "http", "" where not set */
    char *balance;              /* algorithm, "" where not set */
    char *adv_check;            /* "tcp-check", "httpchk", ..., "" where not set */
    bool takes_no_weights;      /* its algorithm is a static one: HAProxy takes 0% and 100% while it runs */
    bool httpchk_params;        /* the httpchk says what to ask for */
    bool default_send_proxy_v2; /* in its default-server line */
    /* Lines of haproxy.cfg whose default-server says `disabled` or `backup` for this backend, be it in the defaults
     * section that it is from; 0: none. */
    unsigned disabled_line, backup_line;
    char *json;                     /* the backend object (base fields) as the API gave it */
    struct backend_server *servers; /* in the order of the file */
    size_t server_count;
    struct backend_template *templates;
    size_t template_count;
    struct backend_unsupported_line *unsupported;
    size_t unsupported_count;
};

/* "roundrobin", "random(2)": any weight while it runs, servers come and go (HAProxy configuration manual, 4.2 "balance"). */
bool backend_algorithm_is_dynamic(const char *algorithm);
/* Servers get connections by their places in a hash, perhaps a consistent one. */
bool backend_algorithm_is_hashed(const char *algorithm);

void backend_init(struct backend *b);
void backend_fini(struct backend *b);
void backend_server_fini(struct backend_server *s);
void backend_forget_unsupported(struct backend *b);
void backend_server_copy(struct backend_server *to, const struct backend_server *from); /* of any texts */
/* In all that was read; of a backend: but for the version. Texts of servers are compared by place. */
bool backend_server_same(const struct backend_server *a, const struct backend_server *b);
bool backend_same(const struct backend *a, const struct backend *b);
const struct backend_server *backend_find(const struct backend *b, const char *name);
/* The line that makes a server of that very name (no sign, no leading zero); NULL: none. */
const struct backend_template *backend_find_template(const struct backend *b, const char *name);
