/*
 * A template set: what is watched, and the templates that make haproxy.cfg and the files beside it of that. YAML in
 * `set.yaml`; templates stand in it, or in files of their own beside it: haproxy.cfg.j2, maps/NAME.j2, certificates/NAME.j2,
 * files/NAME.j2, snippets/NAME.j2 (in a ConfigMap, whose keys have no slash: maps_NAME.j2 and so on). docs/templates.md,
 * and its JSON Schema in docs/template-set.schema.json.
 */
#ifndef TEMPLATE_SET_H
#define TEMPLATE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/compiler.h"
#include "base/error.h"

struct json_path;

#define TEMPLATE_SET_FILE "set.yaml"
#define TEMPLATE_SET_MAX_BYTES (8u << 20) /* of all its files */

/* One of its files, as its source has it. Borrowed. */
struct template_file {
    const char *name; /* "set.yaml", "maps/hosts.map.j2" */
    const char *bytes;
    size_t len;
};

struct template_paths {
    struct json_path **list;
    size_t count;
};

struct template_watch {
    char *name; /* as templates call it */
    char *api_version, *kind; /* "networking.k8s.io/v1", "Ingress" */
    char *plural;             /* "ingresses"; NULL: the API server is asked; then kind is NULL */
    char **namespaces;        /* ends with NULL; NULL: all */
    char *label_selector, *field_selector; /* NULL: none */
    struct template_paths index_by;
    struct template_paths keep; /* empty: all but managedFields */
    struct template_paths drop;
    size_t line; /* in set.yaml */
};

/* The order is that of enum engine_output_kind. */
enum template_kind { TEMPLATE_HAPROXY_CFG, TEMPLATE_MAP, TEMPLATE_CERTIFICATE, TEMPLATE_FILE, TEMPLATE_SNIPPET };
#define TEMPLATE_KINDS 5

struct template_text {
    enum template_kind kind;
    char *name; /* "haproxy.cfg", "hosts.map" */
    char *source; /* what messages, include and import call it: "haproxy.cfg", "maps/hosts.map", "name" of a snippet */
    char *text;
    int64_t priority; /* of a snippet */
};

struct template_set {
    struct template_watch *watches;
    size_t watch_count;
    struct template_text *texts; /* in the order of kind and name; one is haproxy.cfg */
    size_t text_count;
    yyjson_doc *extra; /* variables of their own; NULL: none */
    yyjson_doc *tests; /* NULL: none */
    bool lenient;      /* undefined: lenient */
    bool trim_blocks;
    bool keep_newline;
};

/* NULL with ERROR_INVALID: which file, which line, what is wrong, what was probably meant. */
struct template_set *template_set_parse(const struct template_file *files, size_t count, struct error *err) must_check;
void template_set_free(struct template_set *s); /* NULL is allowed */

static inline void template_set_free_ptr(struct template_set **s)
{
    template_set_free(*s);
}

#endif
