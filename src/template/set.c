#include "template/set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "json/yaml_tree.h"
#include "template/json_path.h"

#define SUFFIX ".j2"

static const char *const folders[TEMPLATE_KINDS] = {"", "maps", "certificates", "files", "snippets"};

/* ---- what is wrong, and where ---- */

static int set_wrong(const struct yaml_node *at, struct error *err, const char *fmt, ...) printf_like(3, 4);
static int set_wrong(const struct yaml_node *at, struct error *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    cleanup(mem_free_ptr) char *text = mem_vprintf(fmt, ap);
    va_end(ap);
    return error_set(err, ERROR_INVALID, TEMPLATE_SET_FILE ":%zu: %s", at->line, text);
}

/* ---- values ---- */

static int set_text(const char *key, const struct yaml_node *value, char **ret, struct error *err)
{
    if (value->kind != NODE_SCALAR || yaml_node_is_null(value))
        return set_wrong(value, err, "%s: expected a text", key);
    free(*ret);
    *ret = mem_strdup(value->text);
    return 0;
}

static int set_bool(const char *key, const struct yaml_node *value, bool *ret, struct error *err)
{
    bool is_true = value->kind == NODE_SCALAR && str_eq(value->text, "true");
    if (!is_true && (value->kind != NODE_SCALAR || !str_eq(value->text, "false")))
        return set_wrong(value, err, "%s: expected true or false", key);
    *ret = is_true;
    return 0;
}

/* A text, or a list of them. */
static int set_each_text(const char *key, const struct yaml_node *value, int (*fn)(void *arg, const char *text, struct error *err),
                         void *arg, struct error *err)
{
    const struct yaml_node *one = value;
    bool is_list = value->kind == NODE_SEQUENCE;
    for (size_t i = 0; i < (is_list ? value->kid_count : 1); i++) {
        one = is_list ? value->kids[i] : value;
        if (one->kind != NODE_SCALAR || yaml_node_is_null(one))
            return set_wrong(one, err, "%s: expected a text or a list of them", key);
        struct error why = {0};
        if (fn(arg, one->text, &why) != 0)
            return set_wrong(one, err, "%s: %s", key, why.message);
    }
    return 0;
}

static int set_add_path(void *arg, const char *text, struct error *err)
{
    struct template_paths *p = arg;
    struct json_path *path = json_path_parse(text, err);
    if (path == NULL)
        return -1;
    p->list = mem_resize(p->list, p->count + 1, sizeof(struct json_path *));
    p->list[p->count++] = path;
    return 0;
}

static int set_add_name(void *arg, const char *text, struct error *err)
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

/* "a=b,c=d" as it is, or a mapping of them. */
static int set_selector(const char *key, const struct yaml_node *value, char **ret, struct error *err)
{
    if (value->kind == NODE_SCALAR)
        return set_text(key, value, ret, err);
    struct buf text = {0};
    for (size_t i = 0; value->kind == NODE_MAPPING && i + 1 < value->kid_count; i += 2) {
        if (value->kids[i + 1]->kind != NODE_SCALAR) {
            buf_fini(&text);
            return set_wrong(value->kids[i + 1], err, "%s: expected a text", value->kids[i]->text);
        }
        buf_printf(&text, "%s%s=%s", i > 0 ? "," : "", value->kids[i]->text, value->kids[i + 1]->text);
    }
    free(*ret);
    *ret = buf_take(&text);
    return value->kind == NODE_MAPPING ? 0 : set_wrong(value, err, "%s: expected a selector: a=b,c=d", key);
}

/* ---- mappings: each key is a row ---- */

struct set_key {
    const char *name;
    int (*read)(void *of, const char *key, const struct yaml_node *value, struct error *err);
};

static int set_unknown(const char *what, const struct yaml_node *key, const struct set_key *keys, size_t count,
                       struct error *err)
{
    struct buf known = {0};
    for (size_t i = 0; i < count; i++)
        buf_printf(&known, "%s%s", i > 0 ? ", " : "", keys[i].name);
    int rc = set_wrong(key, err, "%s has no key %s: there are %s", what, key->text, buf_str(&known));
    buf_fini(&known);
    return rc;
}

static int set_mapping(void *of, const char *what, const struct yaml_node *mapping, const struct set_key *keys, size_t count,
                       struct error *err)
{
    if (mapping->kind != NODE_MAPPING)
        return set_wrong(mapping, err, "%s: expected a mapping of keys to values", what);
    for (size_t i = 0; i + 1 < mapping->kid_count; i += 2) {
        const struct yaml_node *key = mapping->kids[i];
        size_t k = 0;
        for (size_t before = 0; before < i; before += 2)
            if (key->kind == NODE_SCALAR && str_eq(mapping->kids[before]->text, key->text))
                return set_wrong(key, err, "%s has the key %s twice", what, key->text);
        while (k < count && (key->kind != NODE_SCALAR || !str_eq(keys[k].name, key->text)))
            k++;
        if (k == count)
            return set_unknown(what, key, keys, count, err);
        if (keys[k].read(of, keys[k].name, mapping->kids[i + 1], err) != 0)
            return -1;
    }
    return 0;
}

/* ---- watch ---- */

static int watch_api(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_text(key, value, &((struct template_watch *)of)->api_version, err);
}

static int watch_kind(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_text(key, value, &((struct template_watch *)of)->kind, err);
}

static int watch_plural(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_text(key, value, &((struct template_watch *)of)->plural, err);
}

static int watch_namespaces(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_each_text(key, value, set_add_name, &((struct template_watch *)of)->namespaces, err);
}

static int watch_labels(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_selector(key, value, &((struct template_watch *)of)->label_selector, err);
}

static int watch_fields(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_selector(key, value, &((struct template_watch *)of)->field_selector, err);
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

/* The older controller's: what it kept in memory. Here all is, in fewer bytes. */
static int watch_store(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    (void)of;
    if (value->kind == NODE_SCALAR && (str_eq(value->text, "full") || str_eq(value->text, "on-demand")))
        return 0;
    return set_wrong(value, err, "%s: expected full or on-demand", key);
}

static const struct set_key watch_keys[] = {
    {"apiVersion", watch_api},        {"api_version", watch_api},
    {"kind", watch_kind},             {"resources", watch_plural},
    {"namespaces", watch_namespaces}, {"namespace", watch_namespaces},
    {"labelSelector", watch_labels},  {"label_selector", watch_labels},
    {"fieldSelector", watch_fields},  {"field_selector", watch_fields},
    {"index_by", watch_index},        {"keep", watch_keep},
    {"drop", watch_drop},             {"store", watch_store},
};

static int set_read_watch(void *of, const char *section, const struct yaml_node *value, struct error *err)
{
    struct template_set *s = of;
    if (value->kind != NODE_MAPPING)
        return set_wrong(value, err, "%s: expected names of resources", section);
    for (size_t i = 0; i + 1 < value->kid_count; i += 2) {
        const struct yaml_node *name = value->kids[i];
        s->watches = mem_resize(s->watches, s->watch_count + 1, sizeof(s->watches[0]));
        struct template_watch *w = &s->watches[s->watch_count++];
        *w = (struct template_watch){.name = mem_strdup(name->kind == NODE_SCALAR ? name->text : ""), .line = name->line};
        cleanup(mem_free_ptr) char *what = mem_printf("%s.%s", section, w->name);
        if (set_mapping(w, what, value->kids[i + 1], watch_keys, array_len(watch_keys), err) != 0)
            return -1;
        if (w->api_version == NULL || (w->kind == NULL && w->plural == NULL))
            return set_wrong(name, err, "%s: expected apiVersion and kind", what);
    }
    return 0;
}

/* ---- templates ---- */

static struct template_text *set_find(const struct template_set *s, enum template_kind kind, const char *name)
{
    for (size_t i = 0; i < s->text_count; i++)
        if (s->texts[i].kind == kind && str_eq(s->texts[i].name, name))
            return &s->texts[i];
    return NULL;
}

static struct template_text *set_add(struct template_set *s, enum template_kind kind, const char *name)
{
    s->texts = mem_resize(s->texts, s->text_count + 1, sizeof(s->texts[0]));
    struct template_text *t = &s->texts[s->text_count++];
    bool plain = kind == TEMPLATE_HAPROXY_CFG || kind == TEMPLATE_SNIPPET;
    *t = (struct template_text){.kind = kind,
                                .name = mem_strdup(name),
                                .source = plain ? mem_strdup(name) : mem_printf("%s/%s", folders[kind], name)};
    return t;
}

static int text_template(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_text(key, value, &((struct template_text *)of)->text, err);
}

static int text_priority(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    char *end = NULL;
    errno = 0;
    long long number = value->kind == NODE_SCALAR ? strtoll(value->text, &end, 10) : 0;
    if (end == NULL || end == value->text || *end != '\0' || errno != 0)
        return set_wrong(value, err, "%s: expected a number", key);
    ((struct template_text *)of)->priority = number;
    return 0;
}

/* The older controller named its snippets twice. */
static int text_name(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    char *ignored = NULL;
    (void)of;
    int rc = set_text(key, value, &ignored, err);
    free(ignored);
    return rc;
}

static const struct set_key text_keys[] = {{"template", text_template}, {"priority", text_priority}, {"name", text_name}};

static int set_read_text(struct template_set *s, enum template_kind kind, const char *name, const struct yaml_node *value,
                         struct error *err)
{
    struct template_text *t = set_add(s, kind, name);
    if (value->kind == NODE_SCALAR)
        return set_text(name, value, &t->text, err);
    if (set_mapping(t, t->source, value, text_keys, array_len(text_keys), err) != 0)
        return -1;
    return t->text != NULL ? 0 : set_wrong(value, err, "%s: expected a template", t->source);
}

static int set_read_haproxy(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    (void)key;
    return set_read_text(of, TEMPLATE_HAPROXY_CFG, "haproxy.cfg", value, err);
}

static int set_read_texts(struct template_set *s, enum template_kind kind, const char *key, const struct yaml_node *value,
                          struct error *err)
{
    if (value->kind != NODE_MAPPING)
        return set_wrong(value, err, "%s: expected names of templates", key);
    for (size_t i = 0; i + 1 < value->kid_count; i += 2) {
        const struct yaml_node *name = value->kids[i];
        if (name->kind != NODE_SCALAR || str_empty(name->text))
            return set_wrong(name, err, "%s: expected a name", key);
        if (set_find(s, kind, name->text) != NULL)
            return set_wrong(name, err, "%s has the key %s twice", key, name->text);
        if (set_read_text(s, kind, name->text, value->kids[i + 1], err) != 0)
            return -1;
    }
    return 0;
}

static int set_read_maps(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_read_texts(of, TEMPLATE_MAP, key, value, err);
}

static int set_read_certificates(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_read_texts(of, TEMPLATE_CERTIFICATE, key, value, err);
}

static int set_read_files(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_read_texts(of, TEMPLATE_FILE, key, value, err);
}

static int set_read_snippets(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_read_texts(of, TEMPLATE_SNIPPET, key, value, err);
}

/* ---- the rest ---- */

static yyjson_doc *set_json(const struct yaml_node *value)
{
    struct buf json = {0};
    yaml_json_add(value, &json);
    yyjson_doc *doc = yyjson_read(buf_str(&json), json.len, 0);
    buf_fini(&json);
    return doc;
}

static int set_read_extra(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct template_set *s = of;
    if (value->kind != NODE_MAPPING)
        return set_wrong(value, err, "%s: expected names and values", key);
    s->extra = set_json(value);
    return s->extra != NULL ? 0 : set_wrong(value, err, "%s: this cannot be read as JSON", key);
}

static int set_read_tests(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct template_set *s = of;
    s->tests = set_json(value);
    return s->tests != NULL ? 0 : set_wrong(value, err, "%s: this cannot be read as JSON", key);
}

static int set_read_undefined(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct template_set *s = of;
    s->lenient = value->kind == NODE_SCALAR && str_eq(value->text, "lenient");
    if (s->lenient || (value->kind == NODE_SCALAR && str_eq(value->text, "strict")))
        return 0;
    return set_wrong(value, err, "%s: expected strict or lenient", key);
}

static int set_read_trim(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_bool(key, value, &((struct template_set *)of)->trim_blocks, err);
}

static const struct set_key set_keys[] = {
    {"watch", set_read_watch},
    {"watched_resources", set_read_watch},
    {"haproxy.cfg", set_read_haproxy},
    {"haproxy_config", set_read_haproxy},
    {"maps", set_read_maps},
    {"files", set_read_files},
    {"certificates", set_read_certificates},
    {"ssl_certificates", set_read_certificates},
    {"snippets", set_read_snippets},
    {"template_snippets", set_read_snippets},
    {"extra", set_read_extra},
    {"extra_context", set_read_extra},
    {"undefined", set_read_undefined},
    {"trim_blocks", set_read_trim},
    {"tests", set_read_tests},
};

/* ---- files beside it ---- */

/* Which template a file is: true, and *ret_name begins in its name. */
static bool set_is_template(const char *file, enum template_kind *ret, const char **ret_name)
{
    if (str_eq(file, "haproxy.cfg" SUFFIX)) {
        *ret = TEMPLATE_HAPROXY_CFG;
        *ret_name = file;
        return true;
    }
    for (unsigned kind = TEMPLATE_MAP; kind < TEMPLATE_KINDS; kind++) {
        size_t len = strlen(folders[kind]);
        if (strncmp(file, folders[kind], len) == 0 && (file[len] == '/' || file[len] == '_')) {
            *ret = kind;
            *ret_name = file + len + 1;
            return true;
        }
    }
    return false;
}

static int set_read_file(struct template_set *s, const struct template_file *f, struct error *err)
{
    enum template_kind kind;
    const char *name;
    if (!str_has_suffix(f->name, SUFFIX) || !set_is_template(f->name, &kind, &name))
        return 0; /* a README, fixtures, ... */
    cleanup(mem_free_ptr) char *own = mem_strndup(name, strlen(name) - strlen(SUFFIX));
    if (set_find(s, kind, own) != NULL)
        return error_set(err, ERROR_INVALID, "%s: " TEMPLATE_SET_FILE " has a template of that name, too", f->name);
    set_add(s, kind, own)->text = mem_strndup(f->bytes, f->len);
    return 0;
}

static int set_compare(const void *a, const void *b)
{
    const struct template_text *x = a, *y = b;
    return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind) : strcmp(x->name, y->name);
}

static int set_fill(struct template_set *s, const struct template_file *files, size_t count, struct error *err)
{
    const struct template_file *main = NULL;
    for (size_t i = 0; i < count; i++)
        if (str_eq(files[i].name, TEMPLATE_SET_FILE))
            main = &files[i];
    if (main == NULL)
        return error_set(err, ERROR_INVALID, "there is no " TEMPLATE_SET_FILE);
    cleanup(yaml_tree_fini) struct yaml_tree tree = {0};
    if (yaml_tree_parse(main->bytes, main->len, &tree, err) != 0) {
        err->kind = ERROR_INVALID;
        return error_prefix(err, TEMPLATE_SET_FILE);
    }
    if (tree.root == NULL)
        return error_set(err, ERROR_INVALID, TEMPLATE_SET_FILE " is empty");
    if (set_mapping(s, "a template set", tree.root, set_keys, array_len(set_keys), err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (set_read_file(s, &files[i], err) != 0)
            return -1;
    if (set_find(s, TEMPLATE_HAPROXY_CFG, "haproxy.cfg") == NULL)
        return error_set(err, ERROR_INVALID, "there is no template of haproxy.cfg: give " TEMPLATE_SET_FILE
                                             " a key haproxy.cfg, or put a file haproxy.cfg" SUFFIX " beside it");
    qsort(s->texts, s->text_count, sizeof(s->texts[0]), set_compare);
    return 0;
}

struct template_set *template_set_parse(const struct template_file *files, size_t count, struct error *err)
{
    struct template_set *s = mem_alloc(sizeof(*s));
    s->trim_blocks = true;
    s->keep_newline = true;
    if (set_fill(s, files, count, err) == 0)
        return s;
    template_set_free(s);
    return NULL;
}

/* ---- its end ---- */

static void paths_fini(struct template_paths *p)
{
    for (size_t i = 0; i < p->count; i++)
        json_path_free(p->list[i]);
    free(p->list);
}

static void watch_fini(struct template_watch *w)
{
    for (size_t i = 0; w->namespaces != NULL && w->namespaces[i] != NULL; i++)
        free(w->namespaces[i]);
    free(w->namespaces);
    free(w->name);
    free(w->api_version);
    free(w->kind);
    free(w->plural);
    free(w->label_selector);
    free(w->field_selector);
    paths_fini(&w->index_by);
    paths_fini(&w->keep);
    paths_fini(&w->drop);
}

void template_set_free(struct template_set *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->watch_count; i++)
        watch_fini(&s->watches[i]);
    for (size_t i = 0; i < s->text_count; i++) {
        free(s->texts[i].name);
        free(s->texts[i].source);
        free(s->texts[i].text);
    }
    free(s->watches);
    free(s->texts);
    yyjson_doc_free(s->extra);
    yyjson_doc_free(s->tests);
    free(s);
}
