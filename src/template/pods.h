/*
 * TEMPLATE_FROM=pods:NAMESPACE: what the templates of an older system see, whose four objects go on as they are. ConfigMap
 * `services` (each key JSON: namespace, selector, and what the template wants besides), ConfigMap `certificates` and Secret
 * `keys` (two halves by one name), ConfigMap `config` (its key `template`). Pure: JSON texts in, a template set, its
 * variables and files out. The daemon does not read them yet.
 */
#ifndef TEMPLATE_PODS_H
#define TEMPLATE_PODS_H

#include <stddef.h>
#include <yyjson.h>

#include "base/compiler.h"
#include "base/error.h"
#include "template/engine.h"

struct template_set;

/* JSON of each object as the API server has it. Borrowed. */
struct pods_input {
    const char *services, *config;   /* NULL: an error, for all servers would go */
    const char *certificates, *keys; /* NULL: there are none */
    const char *const *pods;         /* of all namespaces that services name; more are no harm */
    size_t pod_count;
    const char *ssldir;              /* as templates write it: "/etc/haproxy/ssl" */
    const char *statistics_password; /* NULL: not set; a template that asks for it is an error then */
    char *const *env;                /* "NAME=value", ends with NULL; our own credentials are left out of it */
};

/* A certificate with its key, the key first: NAME.pem in ssldir. */
struct pods_certificate {
    char *file; /* "NAME.pem" */
    char *pem;
    size_t len;
};

struct pods {
    struct template_set *set;              /* lenient, blocks not trimmed, the last line break cut */
    yyjson_doc *doc;                       /* of the variables */
    struct engine_variable variables[5];   /* services, certificates, ssldir, stats, env; borrowed from doc */
    struct engine_unset unset;             /* for the render, too */
    struct pods_certificate *certificates; /* by name */
    size_t certificate_count;
    char **left_out; /* what is wrong in what was left out, by key; ends with NULL; NULL: nothing */
    size_t left_out_count;
};

/* -1 with ERROR_INVALID: which object, which key, what is wrong. What is wrong in one service or one certificate leaves
 * that out and is named. */
int pods_read(const struct pods_input *in, struct pods *ret, struct error *err) must_check;
void pods_fini(struct pods *p); /* wipes, for there are private keys in it; a zeroed one is allowed */

#endif
