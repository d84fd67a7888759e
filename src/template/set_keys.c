#include "template/set_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"
#include "template/json_path.h"

/* A name of fewer letters is within many others. */
#define NAME_WITHIN_MIN 3

int set_wrong(const struct yaml_node *at, struct error *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    cleanup(mem_free_ptr) char *text = mem_vprintf(fmt, ap);
    va_end(ap);
    return error_set(err, ERROR_INVALID, TEMPLATE_SET_FILE ":%zu: %s", at->line, text);
}

/* ---- mappings ---- */

char *set_known(const char *name, const char *const *known, size_t count)
{
    cleanup(nearest_fini) struct nearest near;
    struct buf all = {0};
    nearest_init(&near, name);
    for (size_t i = 0; i < count; i++) {
        bool tiny = strlen(name) < NAME_WITHIN_MIN || strlen(known[i]) < NAME_WITHIN_MIN;
        nearest_add(&near, known[i],
                    tiny ? str_distance(name, known[i], near.limit) : nearest_distance(&near, known[i]));
        buf_printf(&all, "%s%s", i > 0 ? ", " : "; there are ", known[i]);
    }
    cleanup(mem_free_ptr) char *meant = nearest_text(&near);
    if (meant != NULL) {
        buf_clear(&all);
        buf_printf(&all, "; did you mean %s?", meant);
    }
    return buf_take(&all);
}

static int set_unknown_key(const char *what, const struct yaml_node *key, const struct set_keys *keys,
                           struct error *err)
{
    cleanup(mem_free_ptr) const char **names = mem_array(keys->count, sizeof(names[0]));
    for (size_t i = 0; i < keys->count; i++)
        names[i] = keys->list[i].name;
    cleanup(mem_free_ptr) char *known = set_known(key->text, names, keys->count);
    return set_wrong(key, err, "%s has no key %s%s", what, key->text, known);
}

struct mapping_reader {
    void *of;
    const char *what;
    const struct set_keys *keys;
    const char **as; /* how each row was given, by the first of those that read the same */
};

static int set_read_pair(void *arg, const struct yaml_node *key, const struct yaml_node *value, struct error *err)
{
    const struct mapping_reader *r = arg;
    const struct set_key *list = r->keys->list;
    size_t row = 0, first = 0;
    while (row < r->keys->count && !str_eq(list[row].name, key->text))
        row++;
    if (row == r->keys->count)
        return set_unknown_key(r->what, key, r->keys, err);
    while (list[first].read != list[row].read)
        first++;
    if (r->as[first] != NULL)
        return set_wrong(key, err, "%s has %s already, as %s", r->what, key->text, r->as[first]);
    r->as[first] = key->text;
    return list[row].read(r->of, key->text, value, err);
}

int set_read_mapping(void *of, const char *what, const struct yaml_node *mapping, const struct set_keys *keys,
                     struct error *err)
{
    cleanup(mem_free_ptr) const char **as = mem_array(keys->count, sizeof(as[0]));
    struct mapping_reader reader = {of, what, keys, as};
    return set_each_pair(what, mapping, set_read_pair, &reader, err);
}

int set_each_pair(const char *what, const struct yaml_node *mapping,
                  int (*fn)(void *arg, const struct yaml_node *key, const struct yaml_node *value, struct error *err),
                  void *arg, struct error *err)
{
    if (mapping->kind != NODE_MAPPING)
        return set_wrong(mapping, err, "%s: expected a mapping of keys to values", what);
    for (size_t i = 0; i + 1 < mapping->kid_count; i += 2) {
        const struct yaml_node *key = mapping->kids[i];
        if (key->kind != NODE_SCALAR || str_empty(key->text))
            return set_wrong(key, err, "%s: expected a name", what);
        size_t twice;
        (void)yaml_node_get(mapping, key->text, &twice);
        if (twice != 0)
            return error_set(err, ERROR_INVALID, TEMPLATE_SET_FILE ":%zu: %s has the key %s twice", twice, what,
                             key->text);
        if (fn(arg, key, mapping->kids[i + 1], err) != 0)
            return -1;
    }
    return 0;
}

/* ---- values ---- */

int set_read_text(const char *key, const struct yaml_node *value, char **ret, struct error *err)
{
    if (value->kind != NODE_SCALAR || yaml_node_is_null(value))
        return set_wrong(value, err, "%s: expected a text", key);
    free(*ret);
    *ret = mem_strdup(value->text);
    return 0;
}

int set_read_bool(const char *key, const struct yaml_node *value, bool *ret, struct error *err)
{
    bool is_true = value->kind == NODE_SCALAR && str_eq(value->text, "true");
    if (!is_true && (value->kind != NODE_SCALAR || !str_eq(value->text, "false")))
        return set_wrong(value, err, "%s: expected true or false", key);
    *ret = is_true;
    return 0;
}

int set_read_int(const char *key, const struct yaml_node *value, int64_t min, int64_t max, int64_t *ret,
                 struct error *err)
{
    char *end = NULL;
    errno = 0;
    long long number = value->kind == NODE_SCALAR ? strtoll(value->text, &end, 10) : 0;
    if (end == NULL || end == value->text || *end != '\0' || errno != 0 || number < min || number > max)
        return set_wrong(value, err, "%s: expected a whole number%s", key, min == 0 ? " that is not negative" : "");
    *ret = number;
    return 0;
}

int set_each_text(const char *key, const struct yaml_node *value,
                  int (*fn)(void *arg, const char *text, struct error *err), void *arg, struct error *err)
{
    bool is_list = value->kind == NODE_SEQUENCE;
    for (size_t i = 0; i < (is_list ? value->kid_count : 1); i++) {
        const struct yaml_node *one = is_list ? value->kids[i] : value;
        if (one->kind != NODE_SCALAR || yaml_node_is_null(one))
            return set_wrong(one, err, "%s: expected a text or a list of them", key);
        struct error why = {0};
        if (fn(arg, one->text, &why) != 0)
            return set_wrong(one, err, "%s: %s", key, why.message);
    }
    return 0;
}

int set_add_name(void *arg, const char *text, struct error *err)
{
    char ***list = arg;
    size_t count = 0;
    (void)err;
    while (*list != NULL && (*list)[count] != NULL)
        count++;
    *list = mem_resize(*list, count + 2, sizeof(char *));
    (*list)[count] = mem_strdup(text);
    (*list)[count + 1] = NULL;
    return 0;
}

void set_free_names(char **list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        free(list[i]);
    free(list);
}

int set_add_path(void *arg, const char *text, struct error *err)
{
    struct template_paths *p = arg;
    struct json_path *path = json_path_parse(text, err);
    if (path == NULL)
        return -1;
    p->list = mem_resize(p->list, p->count + 1, sizeof(struct json_path *));
    p->list[p->count++] = path;
    return 0;
}

void set_free_paths(struct template_paths *p)
{
    for (size_t i = 0; i < p->count; i++)
        json_path_free(p->list[i]);
    free(p->list);
}

struct selector {
    const char *key;
    struct buf text;
};

static int set_add_label(void *arg, const struct yaml_node *key, const struct yaml_node *value, struct error *err)
{
    struct selector *s = arg;
    if (value->kind != NODE_SCALAR)
        return set_wrong(value, err, "%s: %s: expected a text", s->key, key->text);
    buf_printf(&s->text, "%s%s=%s", s->text.len > 0 ? "," : "", key->text, value->text);
    return 0;
}

int set_read_selector(const char *key, const struct yaml_node *value, char **ret, struct error *err)
{
    if (value->kind == NODE_SCALAR)
        return set_read_text(key, value, ret, err);
    if (value->kind == NODE_MAPPING && value->kid_count == 2 && value->kids[1]->kind == NODE_MAPPING &&
        (str_eq(value->kids[0]->text, "match_labels") || str_eq(value->kids[0]->text, "matchLabels")))
        value = value->kids[1];
    if (value->kind != NODE_MAPPING)
        return set_wrong(value, err, "%s: expected a selector: a=b,c=d", key);
    struct selector s = {.key = key};
    int rc = set_each_pair(key, value, set_add_label, &s, err);
    free(*ret);
    *ret = buf_take(&s.text);
    return rc;
}

int set_read_json(const char *key, const struct yaml_node *value, struct yyjson_doc **ret, struct error *err)
{
    cleanup(buf_fini) struct buf json = {0};
    yaml_json_add(value, &json);
    *ret = yyjson_read(buf_str(&json), json.len, 0);
    return *ret != NULL ? 0 : set_wrong(value, err, "%s: this cannot be read as JSON", key);
}
