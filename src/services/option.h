/*
 * What the annotations of a Service may say of one of its ports, each in a grammar of its own: nothing of them is pasted into
 * haproxy.cfg unread. Names and defaults are those of an older system for such Services (docs/services.md), with further ones. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "model/choices.h"
#include "model/objects.h"

/* What they come to, for one port. */
struct port_options {
    char *hostname;  /* lower-case; NULL: none */
    char *listen_ip; /* an IP literal; NULL: all addresses */
    uint16_t listen_port;
    bool tcp;            /* else HTTP */
    bool tls, tls_given; /* of clients */
    bool backends_tls, backends_tls_given;
    bool backends_verify;
    char *certificate; /* relative to the folder of certificates; NULL: HOSTNAME.pem, or a Secret's */
    char *secret;      /* "namespace/name" of the Secret that has it; NULL: none */
    char *balance;
    char *path;        /* NULL: all */
    char *health_path; /* of an HTTP check; NULL: by a TCP connection */
    bool proxy_v2;
    bool redirect; /* from port 80 */
};

/* What the settings say of all. Borrowed. */
struct option_rules {
    const char *cluster;            /* for CLUSTER in a host name; NULL: not set */
    const struct port_range *ports; /* that may be listened at */
    size_t port_count;              /* 0: all */
    char *const *addresses;         /* of listen-ip, "*" among them */
    size_t address_count;           /* 0: all */
    const char *namespace;          /* of the Service: its own Secrets may be named, */
    char *const *secret_namespaces; /* and those of these namespaces */
    size_t secret_namespace_count;
};

struct service_option {
    const char *name;     /* "listen-port" */
    const char *fallback; /* for docs: "443" */
    const char *expected; /* "a port, 1 to 65535" */
    const char *help;     /* one sentence */
    /* NULL: it is true or false. */
    int (*parse)(struct port_options *o, const char *value, const struct option_rules *rules, struct buf *why);
    size_t flag, given; /* then: where that is in struct port_options, and that it was said; given 0: nowhere */
};

/* What files begin with that are made of Services and their Secrets. In the folder of certificates none is there for the asking:
 * it may be the Secret of another namespace. */
#define SERVICES_FILES_PREFIX "k8s-service_"
#define SECRET_NAME_BYTES_MAX 120 /* so that a certificate's file can be called by it */

extern const struct service_option service_options[];
extern const size_t service_option_count;

/* -1: value is refused; what is put into why then says more than `expected`. */
int service_option_parse(const struct service_option *o, struct port_options *to, const char *value,
                         const struct option_rules *rules, struct buf *why) must_check;
/* "namespace/name" of the Secret that the value of ssl-certificate names, allocated. NULL: it names none, or one that a Service of that
 * namespace may not name, which why then says. */
char *service_option_secret(const char *value, const struct option_rules *rules, struct buf *why) must_check;
const struct service_option *service_option_find(const char *name); /* NULL: there is none */

/* The defaults of a port without any. */
void port_options_init(struct port_options *o);
void port_options_fini(struct port_options *o);
/* Those that come from others, once all were parsed. */
void port_options_settle(struct port_options *o);

/* ---- the annotations of a Service that say something of its ports, by port and option: thousands of either cost no more than to sort
 * them ---- */

#define SERVICES_OWN_PREFIX "haproxy-k8s-sync/" /* "haproxy-k8s-sync/PORT.OPTION" */

struct service_note {
    const struct object_annotation *annotation; /* borrowed */
    const char *port, *option; /* of its name; a port without a name is meant by an option without one */
    size_t port_len;
    bool own;     /* by SERVICES_OWN_PREFIX */
    bool checked; /* by the one who goes through them */
};

struct service_notes {
    struct service_note *list; /* of one port and option this program's own behind that of the older system */
    size_t count;
};

/* prefix: of the older system's annotations, without the dot behind it; NULL: there are none. s is borrowed. */
void service_notes_init(struct service_notes *n, const struct annotated_service *s, const char *prefix);
void service_notes_fini(struct service_notes *n);

/* Those of a port. */
struct service_note *service_notes_of(const struct service_notes *n, const char *port, size_t *ret_count);
/* What says that option of a port, this program's before that of the older system. NULL: nothing does. */
const struct object_annotation *service_notes_find(const struct service_notes *n, const char *port, const char *option);

/* "PREFIX.PORT.OPTION" or "haproxy-k8s-sync/PORT.OPTION": what follows the prefix; NULL: it is none of them. */
const char *service_note_rest(const char *annotation, const char *prefix, bool *ret_own);
