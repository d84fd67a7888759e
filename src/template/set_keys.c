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

/* ---- values ---- */

int set_read_text(const struct set_pair *p, char **ret, struct error *err)
{
    if (p->value->kind != NODE_SCALAR || yaml_node_is_null(p->value))
        return set_wrong(p->value, err, "%s: expected a text", p->key);
    free(*ret);
    *ret = mem_strdup(p->value->text);
    return 0;
}

int set_read_int(const struct set_pair *p, int64_t min, int64_t max, int64_t *ret, struct error *err)
{
    char *end = NULL;
    errno = 0;
    const char *text = p->value->kind == NODE_SCALAR ? p->value->text : "";
    long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < min || number > max)
        return set_wrong(p->value, err, "%s: expected a whole number%s", p->key,
                         min == 0 ? " that is not negative" : "");
    *ret = number;
    return 0;
}

void set_add_name(char ***list, const char *name)
{
    size_t count = 0;
    while (*list != NULL && (*list)[count] != NULL)
        count++;
    *list = mem_resize(*list, count + 2, sizeof(char *));
    (*list)[count] = mem_strdup(name);
    (*list)[count + 1] = NULL;
}

int set_read_texts(const struct set_pair *p, char ***names, struct template_paths *paths, struct error *err)
{
    bool is_list = p->value->kind == NODE_SEQUENCE;
    for (size_t i = 0; i < (is_list ? p->value->kid_count : 1); i++) {
        const struct yaml_node *one = is_list ? p->value->kids[i] : p->value;
        struct error why = {0};
        if (one->kind != NODE_SCALAR || yaml_node_is_null(one))
            return set_wrong(one, err, "%s: expected a text or a list of them", p->key);
        if (paths == NULL) {
            set_add_name(names, one->text);
            continue;
        }
        struct json_path *path = json_path_parse(one->text, &why);
        if (path == NULL)
            return set_wrong(one, err, "%s: %s", p->key, why.message);
        paths->list = mem_resize(paths->list, paths->count + 1, sizeof(struct json_path *));
        paths->list[paths->count++] = path;
    }
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

static int selector_add(void *arg, const struct set_pair *p, struct error *err)
{
    struct selector *s = arg;
    if (p->value->kind != NODE_SCALAR)
        return set_wrong(p->value, err, "%s: %s: expected a text", s->key, p->key);
    buf_printf(&s->text, "%s%s=%s", s->text.len > 0 ? "," : "", p->key, p->value->text);
    return 0;
}

int set_read_selector(const struct set_pair *p, char **ret, struct error *err)
{
    const struct yaml_node *value = p->value;
    if (value->kind == NODE_SCALAR)
        return set_read_text(p, ret, err);
    if (value->kind == NODE_MAPPING && value->kid_count == 2 && value->kids[1]->kind == NODE_MAPPING &&
        (str_eq(value->kids[0]->text, "match_labels") || str_eq(value->kids[0]->text, "matchLabels")))
        value = value->kids[1];
    if (value->kind != NODE_MAPPING)
        return set_wrong(value, err, "%s: expected a selector: a=b,c=d", p->key);
    struct selector s = {.key = p->key};
    int rc = set_each_pair(p->key, value, selector_add, &s, err);
    free(*ret);
    *ret = buf_take(&s.text);
    return rc;
}

int set_read_json(const struct set_pair *p, struct yyjson_doc **ret, struct error *err)
{
    cleanup(buf_fini) struct buf json = {0};
    yaml_json_add(p->value, &json);
    *ret = yyjson_read(buf_str(&json), json.len, 0);
    return *ret != NULL ? 0 : set_wrong(p->value, err, "%s: this cannot be read as JSON", p->key);
}

static int set_read_member(void *of, const struct set_pair *p, struct error *err)
{
    union {
        char *text;
        bool truth;
    } nowhere = {0};
    void *member = p->row->at == SET_NOWHERE ? (void *)&nowhere : (char *)of + p->row->at;
    const char *text = p->value->kind == NODE_SCALAR ? p->value->text : "", *const *words = p->row->words;
    unsigned which = p->row->which;
    int rc = -1;
    switch (p->row->value) {
    case SET_TEXT:
        rc = set_read_text(p, member, err);
        break;
    case SET_SELECTOR:
        rc = set_read_selector(p, member, err);
        break;
    case SET_CHOICE:
        *(bool *)member = str_eq(text, words[which]);
        rc = str_eq(text, words[which]) || str_eq(text, words[1 - which])
                 ? 0
                 : set_wrong(p->value, err, "%s: expected %s or %s", p->key, words[0], words[1]);
        break;
    case SET_INT:
        rc = set_read_int(p, p->row->min, INT64_MAX, member, err);
        break;
    case SET_NAMES:
        rc = set_read_texts(p, member, NULL, err);
        break;
    case SET_PATHS:
        rc = set_read_texts(p, NULL, member, err);
        break;
    case SET_JSON:
        rc = set_read_json(p, member, err);
        break;
    case SET_OWN: /* has a `read` */
        break;
    }
    if (p->row->at == SET_NOWHERE && p->row->value == SET_TEXT)
        free(nowhere.text);
    return rc;
}

void set_keys_fini(void *of, const struct set_keys *keys)
{
    for (const struct set_key *row = keys->list; row < keys->list + keys->count; row++) {
        if (row->at == SET_NOWHERE)
            continue;
        void *member = (char *)of + row->at;
        if (row->value == SET_TEXT || row->value == SET_SELECTOR)
            free(*(char **)member);
        if (row->value == SET_PATHS)
            set_free_paths(member);
        if (row->value == SET_JSON)
            yyjson_doc_free(*(yyjson_doc **)member);
        for (char **name = row->value == SET_NAMES ? *(char ***)member : NULL; name != NULL && *name != NULL; name++)
            free(*name);
        if (row->value == SET_NAMES)
            free(*(char ***)member);
    }
}

/* ---- mappings ---- */

int set_each_pair(const char *what, const struct yaml_node *mapping, set_read_fn *fn, void *arg, struct error *err)
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
        const struct set_pair pair = {.at = key, .key = key->text, .value = mapping->kids[i + 1]};
        if (fn(arg, &pair, err) != 0)
            return -1;
    }
    return 0;
}

struct mapping_reader {
    void *of;
    const char *what;
    const struct set_keys *keys;
    struct set_pair *given; /* by rows; key NULL: it is not */
};

static int mapping_read_pair(void *arg, const struct set_pair *p, struct error *err)
{
    const struct mapping_reader *r = arg;
    const struct set_key *list = r->keys->list;
    size_t row = 0, names = 0;
    while (row < r->keys->count && !str_eq(list[row].name, p->key) && !str_eq(list[row].alias, p->key))
        row++;
    if (row == r->keys->count) {
        cleanup(mem_free_ptr) const char **known = mem_array(2 * r->keys->count, sizeof(known[0]));
        for (size_t i = 0; i < r->keys->count; i++) {
            known[names++] = list[i].name;
            if (list[i].alias != NULL)
                known[names++] = list[i].alias;
        }
        cleanup(mem_free_ptr) char *text = set_known(p->key, known, names);
        return set_wrong(p->at, err, "%s has no key %s%s", r->what, p->key, text);
    }
    struct set_pair *given = &r->given[row];
    if (given->key != NULL)
        return set_wrong(p->at, err, "%s has %s already, as %s", r->what, p->key, given->key);
    *given = *p;
    given->row = &list[row];
    if (list[row].late)
        return 0;
    return (list[row].read != NULL ? list[row].read : set_read_member)(r->of, given, err);
}

int set_read_mapping(void *of, const char *what, const struct yaml_node *mapping, const struct set_keys *keys,
                     unsigned *ret_given, struct error *err)
{
    cleanup(mem_free_ptr) struct set_pair *given = mem_array(keys->count, sizeof(given[0]));
    struct mapping_reader reader = {of, what, keys, given};
    if (set_each_pair(what, mapping, mapping_read_pair, &reader, err) != 0)
        return -1;
    for (size_t i = 0; i < keys->count; i++)
        if (given[i].key != NULL && given[i].row->late && given[i].row->read(of, &given[i], err) != 0)
            return -1;
    for (size_t i = 0; ret_given != NULL && i < keys->count; i++)
        *ret_given |= given[i].key != NULL ? 1u << i : 0;
    return 0;
}
