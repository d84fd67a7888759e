/*
 * TEMPLATE_FROM=pods:NAMESPACE: what the templates of an older system see, whose four objects go on as they are. ConfigMap
 * `services` (each key JSON: namespace, selector, and what else the template uses), ConfigMap `certificates` and Secret
 * `keys` (two halves by one name), ConfigMap `config` (its key `template`). Pure: objects in; a template set, its variables
 * and files out. daemon/template/set_source watches them.
 */
#pragma once

#include <stddef.h>
#include <yyjson.h>

#include "base/compiler.h"
#include "base/error.h"
#include "template/engine.h"

struct secret_object;
struct storage_known;
struct template_set;

enum pods_object { PODS_SERVICES, PODS_CONFIG, PODS_CERTIFICATES, PODS_KEYS };
#define PODS_OBJECTS 4
const char *pods_object_name(enum pods_object o); /* "services", "config", "certificates", "keys" */
const char *pods_object_kind(enum pods_object o); /* "ConfigMap", "Secret" */

#define PODS_NAMESPACES_MAX 100 /* each is a watch */

/* A service that can be used: {"namespace": "shop", "selector": "app=web", ...}. */
struct pods_service {
    char *name;
    yyjson_doc *doc;
};

/* A certificate with its key, the key first: NAME.pem in ssldir. */
struct pods_certificate {
    char *name; /* without .pem */
    char *pem;
    size_t len;
};

/* A key that was left out. */
struct pods_left_out {
    enum pods_object of;
    char *text; /* "key web: it has no namespace" */
};

struct pods {
    struct template_set *set; /* lenient, blocks not trimmed, the last line break cut; it watches the services' pods */
    struct pods_service *services; /* by name */
    size_t service_count;
    const char *namespaces[PODS_NAMESPACES_MAX]; /* of the services, each once; borrowed from them */
    size_t namespace_count;
    struct pods_certificate *certificates; /* by name */
    size_t certificate_count;
    struct pods_left_out *left_out;
    size_t left_out_count;
    /* Of pods_see. */
    yyjson_doc *doc;                     /* of the variables */
    struct engine_variable variables[5]; /* services, certificates, ssldir, stats, env; borrowed from doc */
    struct engine_unset unset;           /* for the render, too */
};

/* of: by enum pods_object, borrowed; NULL: it does not exist, which is an error for services and config, without which all
 * servers would go. -1 with ERROR_INVALID: which object, which key, what is wrong. What is wrong in one service or one
 * certificate leaves that out and is named. */
int pods_read(const struct secret_object *const of[PODS_OBJECTS], struct pods *ret, struct error *err) must_check;
/* Leaves out certificates that HAProxy could not use. known: as of haproxy/storage_files, or NULL. */
void pods_check_certificates(struct pods *p, struct storage_known *known);

/* What else templates see. Borrowed. */
struct pods_view {
    const struct yyjson_val *const *pods; /* of all namespaces that services name; more are no harm */
    size_t pod_count;
    const char *ssldir;              /* as templates write it: "/etc/haproxy/ssl" */
    const char *statistics_password; /* NULL: not set; a template that asks for it is an error then */
    char *const *env;                /* "NAME=value", ends with NULL; the daemon's credentials are left out of it */
};
/* Whether it has an address, and all of its containers are ready. */
bool pods_is_ready(struct yyjson_val *pod);
/* Makes the variables, once. */
void pods_see(struct pods *p, const struct pods_view *view);

void pods_fini(struct pods *p); /* wipes, for there are private keys in it; a zeroed one is allowed */
