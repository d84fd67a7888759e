/*
 * A template set: what is watched, and the templates that make haproxy.cfg and its further files of that. YAML in
 * `set.yaml`; templates stand in it, or in files of their own next to it: haproxy.cfg.j2, maps/NAME.j2, certificates/NAME.j2,
 * files/NAME.j2, snippets/NAME.j2 (in a ConfigMap, whose keys have no slash: maps_NAME.j2 and so on). docs/templates.md,
 * and its JSON Schema in docs/template-set.schema.json.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/str.h"

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

/* What an object names: objects of another resource of the set, in its own namespace. */
struct template_use {
    char *resource;
    struct template_paths names;
};

struct template_watch {
    char *name;                            /* as templates call it */
    char *api_version, *kind;              /* "networking.k8s.io/v1", "Ingress" */
    char *plural;                          /* "ingresses"; NULL: the API server is asked; then kind is NULL */
    char **namespaces;                     /* ends with NULL; NULL: all */
    char *label_selector, *field_selector; /* NULL: none */
    struct template_paths index_by;
    struct template_paths keep; /* empty: all but managedFields */
    struct template_paths drop;
    bool
        quarantine; /* an object that HAProxy refuses a configuration for is left out, until it changes, or one that it names */
    struct template_use *uses;
    size_t use_count;
    size_t namespace_bytes; /* template/budget; 0: any number */
    size_t line;            /* in set.yaml */
};

/* For messages: "Ingress". */
static inline const char *template_watch_kind(const struct template_watch *w)
{
    return w->kind != NULL ? w->kind : w->plural;
}

/* The order is that of enum engine_output_kind. */
enum template_kind { TEMPLATE_HAPROXY_CFG, TEMPLATE_MAP, TEMPLATE_CERTIFICATE, TEMPLATE_FILE, TEMPLATE_SNIPPET };
#define TEMPLATE_KINDS 5

struct template_text {
    enum template_kind kind;
    char *name;   /* "haproxy.cfg", "hosts.map" */
    char *source; /* what messages, include and import call it: "haproxy.cfg", "maps/hosts.map", "name" of a snippet */
    char *text;
    int64_t priority; /* of a snippet */
};

/* HAProxy's pods, each with a Data Plane API; port 0: the HAProxies are those of the settings. */
struct template_targets {
    char *namespace; /* NULL: that of the set, or of the daemon */
    char *label_selector;
    uint16_t port;
    bool https; /* of the Data Plane APIs */
};

enum assertion_kind {
    ASSERT_HAPROXY_VALID,
    ASSERT_CONTAINS,
    ASSERT_NOT_CONTAINS,
    ASSERT_EQUALS,
    ASSERT_MATCH_COUNT,
    ASSERT_MATCH_ORDER,
    ASSERT_JSONPATH,
    ASSERT_RENDERING_ERROR,
    ASSERT_DETERMINISTIC,
};
#define ASSERTION_KINDS 9

struct template_assertion {
    enum assertion_kind kind;
    char *description; /* NULL: none, as the next */
    char *target;      /* "haproxy.cfg", "map:hosts.map" */
    char **patterns;   /* extended regular expressions; ends with NULL; NULL: none, as the next */
    char *expected;
    struct json_path *path;
    int64_t count; /* of MATCH_COUNT */
    size_t line;   /* in set.yaml */
};

struct template_test {
    char *name, *description; /* the description: NULL, where there is none */
    yyjson_doc *fixtures;     /* names of watches -> objects; NULL: none */
    struct template_assertion *assertions;
    size_t assertion_count;
    size_t line;
};

struct template_set {
    unsigned references; /* besides the first */
    struct template_watch *watches;
    size_t watch_count;
    struct template_text *texts; /* in the order of kind and name; one is haproxy.cfg */
    size_t text_count;
    yyjson_doc *extra; /* variables of their own; NULL: none */
    struct template_targets targets;
    struct template_test *tests;
    size_t test_count;
    yyjson_doc *global_fixtures; /* of all tests: those of `_global`; NULL: none */
    bool lenient;                /* undefined: lenient */
    bool trim_blocks;
    bool keep_newline;
};

/* NULL with ERROR_INVALID: which file, which line, what is wrong, what was probably meant. */
struct template_set *template_set_parse(const struct template_file *files, size_t count, struct error *err) must_check;
struct template_set *template_set_ref(struct template_set *s) must_check;
void template_set_free(struct template_set *s); /* once for parse, and for each ref; NULL is allowed */

/* "" and "maps" .. "snippets": the folder of a kind. */
const char *template_kind_folder(enum template_kind kind);
/* "contains", ... */
const char *assertion_name(enum assertion_kind kind);
/* NULL: none */
static inline const struct template_watch *template_set_find_watch(const struct template_set *s, const char *name)
{
    for (size_t i = 0; i < s->watch_count; i++)
        if (str_eq(s->watches[i].name, name))
            return &s->watches[i];
    return NULL;
}
const struct template_test *template_set_test(const struct template_set *s, const char *name); /* NULL: none */
/* The names of its tests, for messages: "; did you mean a?", "; there are a, b"; to be freed. */
char *template_set_known_tests(const struct template_set *s, const char *name) must_check;

/* The JSON Schema of set.yaml (docs/template-set.schema.json), of the tables that read one. */
struct buf;
void template_set_schema(struct buf *out);

static inline void template_set_free_ptr(struct template_set **s)
{
    template_set_free(*s);
}
