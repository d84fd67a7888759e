/* What a template set watches. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "template/json_path.h"
#include "template/set_keys.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

/* They become parts of a URL. */
static int watch_word(const char *key, const struct yaml_node *value, const char *alphabet, const char *expected,
                      char **ret, struct error *err)
{
    if (value->kind != NODE_SCALAR || str_empty(value->text) || value->text[strspn(value->text, alphabet)] != '\0')
        return set_wrong(value, err, "%s: expected %s", key, expected);
    return set_read_text(key, value, ret, err);
}

static int watch_api(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct template_watch *w = of;
    const char *expected = "a version like v1, or a group with one like networking.k8s.io/v1";
    if (watch_word(key, value, LETTERS DIGITS ".-/", expected, &w->api_version, err) != 0)
        return -1;
    const char *slash = strchr(w->api_version, '/');
    bool good = slash == NULL || (slash != w->api_version && slash[1] != '\0' && strchr(slash + 1, '/') == NULL);
    return good && w->api_version[0] != '.' ? 0 : set_wrong(value, err, "%s: expected %s", key, expected);
}

static int watch_kind(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return watch_word(key, value, LETTERS DIGITS, "a kind like Ingress", &((struct template_watch *)of)->kind, err);
}

static int watch_plural(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return watch_word(key, value, LETTERS DIGITS "-", "a kind's plural like ingresses",
                      &((struct template_watch *)of)->plural, err);
}

static int watch_namespaces(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct template_watch *w = of;
    if (set_each_text(key, value, set_add_name, &w->namespaces, err) != 0)
        return -1;
    for (size_t i = 0; w->namespaces != NULL && w->namespaces[i] != NULL; i++)
        if (w->namespaces[i][0] == '\0' || w->namespaces[i][strspn(w->namespaces[i], LETTERS DIGITS "-")] != '\0')
            return set_wrong(value, err, "%s: \"%s\" can be no namespace", key, w->namespaces[i]);
    return 0;
}

static int watch_labels(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_read_selector(key, value, &((struct template_watch *)of)->label_selector, err);
}

static int watch_fields(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_read_selector(key, value, &((struct template_watch *)of)->field_selector, err);
}

static int watch_index(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_each_text(key, value, set_add_path, &((struct template_watch *)of)->index_by, err);
}

static int watch_keep(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_each_text(key, value, set_add_path, &((struct template_watch *)of)->keep, err);
}

static int watch_drop(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_each_text(key, value, set_add_path, &((struct template_watch *)of)->drop, err);
}

static int watch_use(void *arg, const struct yaml_node *key, const struct yaml_node *value, struct error *err)
{
    struct template_watch *w = arg;
    w->uses = mem_resize(w->uses, w->use_count + 1, sizeof(w->uses[0]));
    struct template_use *use = &w->uses[w->use_count++];
    *use = (struct template_use){.resource = mem_strdup(key->text)};
    return set_each_text(key->text, value, set_add_path, &use->names, err);
}

static int watch_quarantine(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct template_watch *w = of;
    w->quarantine = true;
    return set_each_pair(key, value, watch_use, w, err);
}

static int watch_budget(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    int64_t bytes = 0;
    if (set_read_int(key, value, 1, INT32_MAX, &bytes, err) != 0)
        return -1;
    ((struct template_watch *)of)->namespace_bytes = (size_t)bytes;
    return 0;
}

/* The older controller's: what it kept in memory. Here all is, in fewer bytes. */
static int watch_store(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    (void)of;
    if (value->kind == NODE_SCALAR && (str_eq(value->text, "full") || str_eq(value->text, "on-demand")))
        return 0;
    return set_wrong(value, err, "%s: expected full or on-demand", key);
}

static const struct set_key watch_keys[] = {
    {"apiVersion", watch_api, SCHEMA_TEXT, "Group and version: networking.k8s.io/v1, or v1."},
    {"api_version", watch_api, SCHEMA_TEXT, NULL},
    {"kind", watch_kind, SCHEMA_TEXT, "Ingress."},
    {"resources", watch_plural, SCHEMA_TEXT, "The kind's plural as the API has it, ingresses: instead of kind."},
    {"namespaces", watch_namespaces, SCHEMA_TEXTS, "Only these; default: all."},
    {"namespace", watch_namespaces, SCHEMA_TEXTS, NULL},
    {"labelSelector", watch_labels, SCHEMA_SELECTOR, "Only objects with these labels."},
    {"label_selector", watch_labels, SCHEMA_SELECTOR, NULL},
    {"fieldSelector", watch_fields, SCHEMA_SELECTOR, "Only objects with these fields."},
    {"field_selector", watch_fields, SCHEMA_SELECTOR, NULL},
    {"index_by", watch_index, SCHEMA_TEXTS, "Paths of the keys that Fetch finds by, in the order of its arguments."},
    {"keep", watch_keep, SCHEMA_TEXTS,
     "Paths of the fields that are kept, besides what identifies an object; default: all."},
    {"drop", watch_drop, SCHEMA_TEXTS, "Paths of fields that are not kept."},
    {"quarantine", watch_quarantine, "{\"type\": \"object\", \"additionalProperties\": " SCHEMA_TEXTS "}",
     "An object that HAProxy refuses a configuration for is left out until it changes, or one that it names in its "
     "namespace: "
     "by a resource of the set, the paths of their names."},
    {"namespace_bytes", watch_budget, "{\"type\": \"integer\", \"minimum\": 1}",
     "What the objects of one namespace may take, as they are kept: of one that has more the youngest are left out."},
    {"store", watch_store, "{\"enum\": [\"full\", \"on-demand\"]}", "Of an older controller; without effect."},
};
const struct set_keys set_watch_keys = SET_KEYS("watch", "A resource whose objects templates see.", watch_keys);

static int watch_read(void *arg, const struct yaml_node *name, const struct yaml_node *value, struct error *err)
{
    struct template_set *s = arg;
    if (strspn(name->text, LETTERS DIGITS "_-") != strlen(name->text) || strspn(name->text, DIGITS "-") > 0)
        return set_wrong(name, err,
                         "watch: \"%s\" is no name for templates: letters, digits, _ and -, the first a letter or _",
                         name->text);
    s->watches = mem_resize(s->watches, s->watch_count + 1, sizeof(s->watches[0]));
    struct template_watch *w = &s->watches[s->watch_count++];
    *w = (struct template_watch){.name = mem_strdup(name->text), .line = name->line};
    cleanup(mem_free_ptr) char *what = mem_printf("watch.%s", w->name);
    if (set_read_mapping(w, what, value, &set_watch_keys, err) != 0)
        return -1;
    if (w->api_version == NULL || (w->kind == NULL && w->plural == NULL))
        return set_wrong(name, err, "%s: expected apiVersion and kind", what);
    return 0;
}

int set_read_watches(void *set, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_each_pair(key, value, watch_read, set, err);
}

int set_read_ignored(struct template_set *s, const char *key, const struct yaml_node *value, struct error *err)
{
    struct template_paths checked = {0}; /* where there are no watches, too */
    int rc = set_each_text(key, value, set_add_path, &checked, err);
    for (size_t i = 0; rc == 0 && i < s->watch_count; i++)
        rc = set_each_text(key, value, set_add_path, &s->watches[i].drop, err);
    set_free_paths(&checked);
    return rc;
}

int set_check_uses(const struct template_set *s, struct error *err)
{
    for (size_t i = 0; i < s->watch_count; i++)
        for (size_t k = 0; k < s->watches[i].use_count; k++) {
            const char *name = s->watches[i].uses[k].resource;
            size_t at = 0;
            while (at < s->watch_count && !str_eq(s->watches[at].name, name))
                at++;
            if (at == s->watch_count)
                return error_set(err, ERROR_INVALID, TEMPLATE_SET_FILE ":%zu: watch.%s.quarantine: %s is not watched",
                                 s->watches[i].line, s->watches[i].name, name);
        }
    return 0;
}

void set_watch_fini(struct template_watch *w)
{
    set_free_names(w->namespaces);
    free(w->name);
    free(w->api_version);
    free(w->kind);
    free(w->plural);
    free(w->label_selector);
    free(w->field_selector);
    set_free_paths(&w->index_by);
    set_free_paths(&w->keep);
    set_free_paths(&w->drop);
    for (size_t i = 0; i < w->use_count; i++) {
        free(w->uses[i].resource);
        set_free_paths(&w->uses[i].names);
    }
    free(w->uses);
}
