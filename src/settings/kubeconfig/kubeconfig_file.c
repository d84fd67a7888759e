#include "settings/kubeconfig/kubeconfig_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "settings/findings.h"

static int fail_at(const struct kubeconfig_file *f, size_t line, struct error *err, const char *fmt, ...)
    printf_like(4, 5);

static int fail_at(const struct kubeconfig_file *f, size_t line, struct error *err, const char *fmt, ...)
{
    char what[ERROR_MESSAGE_BYTES];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    return error_set(err, ERROR_FATAL, "kubeconfig %s:%zu: %s", f->path, line, what);
}

/* A top-level key that must be there once at most. */
static int top_get(const struct kubeconfig_file *f, const char *key, const struct yaml_node **ret, struct error *err)
{
    size_t twice;
    *ret = yaml_node_get(f->tree.root, key, &twice);
    return twice != 0 ? fail_at(f, twice, err, "%s: appears twice", key) : 0;
}

/* 1: there is no such file. */
static int load_file(const char *path, struct kubeconfig_file *f, struct error *err)
{
    cleanup(buf_fini) struct buf text;
    buf_init_secret(&text, KUBECONFIG_MAX_BYTES);
    if (buf_read_file(&text, path) != 0) {
        if (errno == ENOENT)
            return 1;
        return errno == EFBIG ? error_set(err, ERROR_FATAL, "kubeconfig %s: is larger than 1 MiB", path)
                              : error_set(err, ERROR_FATAL, "kubeconfig %s: %m", path);
    }
    f->path = mem_strdup(path);
    if (yaml_tree_parse(buf_str(&text), text.len, &f->tree, err) != 0)
        return error_prefix(err, "kubeconfig %s", path);
    static const char *const expected[][2] = {{"apiVersion", "v1"}, {"kind", "Config"}};
    if (yaml_node_is_null(f->tree.root))
        return 0;
    if (f->tree.root->kind != NODE_MAPPING)
        return fail_at(f, f->tree.root->line, err, "is not a kubeconfig: expected clusters, users and contexts");
    for (size_t i = 0; i < array_len(expected); i++) {
        const struct yaml_node *n;
        if (top_get(f, expected[i][0], &n, err) != 0)
            return -1;
        if (!yaml_node_is_null(n) && (n->kind != NODE_SCALAR || !str_eq(n->text, expected[i][1])))
            return fail_at(f, n->line, err, "%s: expected %s; is this a kubeconfig?", expected[i][0], expected[i][1]);
    }
    return 0;
}

static int load_all(const char *list, struct kubeconfig_files *k, struct error *err)
{
    for (const char *p = list; *p != '\0'; p += strspn(p, ":")) {
        size_t len = strcspn(p, ":");
        cleanup(mem_free_ptr) char *path = mem_strndup(p, len);
        p += len;
        if (len == 0)
            continue;
        if (k->count == KUBECONFIG_MAX_FILES)
            return error_set(err, ERROR_FATAL, "KUBECONFIG: more than %u files", KUBECONFIG_MAX_FILES);
        int rc = load_file(path, &k->files[k->count], err);
        /* Counted with an error too, so that what was read of it is freed. */
        k->count += rc <= 0 ? 1 : 0;
        if (rc < 0)
            return -1;
    }
    return 0;
}

int kubeconfig_files_load(const char *list, struct kubeconfig_files *ret, struct error *err)
{
    *ret = (struct kubeconfig_files){0};
    int rc = load_all(list, ret, err);
    if (rc == 0 && ret->count == 0)
        rc = error_set(err, ERROR_FATAL, "KUBECONFIG: no such file: %s", list);
    if (rc != 0)
        kubeconfig_files_fini(ret);
    return rc;
}

void kubeconfig_files_fini(struct kubeconfig_files *k)
{
    for (size_t i = 0; i < k->count; i++) {
        free(k->files[i].path);
        yaml_tree_fini(&k->files[i].tree);
    }
    *k = (struct kubeconfig_files){0};
}

/* The list of that name in one file; *ret NULL where there is none. */
static int kubeconfig_get_list(const struct kubeconfig_file *f, const char *list, const struct yaml_node **ret,
                               struct error *err)
{
    const struct yaml_node *n;
    if (top_get(f, list, &n, err) != 0)
        return -1;
    if (!yaml_node_is_null(n) && n->kind != NODE_SEQUENCE)
        return fail_at(f, n->line, err, "%s: expected a list", list);
    *ret = yaml_node_is_null(n) ? NULL : n;
    return 0;
}

static const char *element_name(const struct yaml_node *element)
{
    size_t twice;
    const struct yaml_node *name = yaml_node_get(element, "name", &twice);
    return name != NULL && name->kind == NODE_SCALAR && twice == 0 ? name->text : NULL;
}

static int find_in_file(const struct kubeconfig_file *f, const struct kubeconfig_object *asked,
                        struct kubeconfig_object *ret, struct error *err)
{
    const struct yaml_node *list = NULL;
    if (kubeconfig_get_list(f, asked->list, &list, err) != 0)
        return -1;
    const struct yaml_node *found = NULL;
    for (size_t i = 0; list != NULL && i < list->kid_count; i++) {
        const struct yaml_node *element = list->kids[i];
        const char *name = element_name(element);
        if (name == NULL)
            return fail_at(f, element->line, err, "%s: an element without a name, or with two", asked->list);
        if (!str_eq(name, asked->name))
            continue;
        if (found != NULL)
            return kubeconfig_fail(ret, NULL, err, "appears twice (lines %zu and %zu)", found->line, element->line);
        found = element;
        size_t twice;
        const struct yaml_node *inner = yaml_node_get(element, asked->inner, &twice);
        *ret = *asked;
        ret->file = f;
        ret->line = element->line;
        ret->node = yaml_node_is_null(inner) ? NULL : inner;
        if (twice != 0 || (ret->node != NULL && ret->node->kind != NODE_MAPPING))
            return kubeconfig_fail(ret, NULL, err, "expected one object with fields");
    }
    return 0;
}

int kubeconfig_find(const struct kubeconfig_files *k, const char *list, const char *inner, const char *name,
                    struct kubeconfig_object *ret, struct error *err)
{
    const struct kubeconfig_object asked = {.list = list, .inner = inner, .name = name};
    *ret = asked;
    for (size_t i = 0; i < k->count && ret->file == NULL; i++)
        if (find_in_file(&k->files[i], &asked, ret, err) != 0)
            return -1;
    return 0;
}

int kubeconfig_current_context(const struct kubeconfig_files *k, const char **ret_name, const char **ret_file,
                               size_t *ret_line, struct error *err)
{
    for (size_t i = 0; i < k->count; i++) {
        const struct kubeconfig_file *f = &k->files[i];
        const struct yaml_node *n;
        if (top_get(f, "current-context", &n, err) != 0)
            return -1;
        if (yaml_node_is_null(n) || (n->kind == NODE_SCALAR && n->text[0] == '\0'))
            continue;
        if (n->kind != NODE_SCALAR)
            return fail_at(f, n->line, err, "current-context: expected the name of a context");
        *ret_name = n->text;
        *ret_file = f->path;
        *ret_line = n->line;
        return 0;
    }
    *ret_name = NULL;
    return 0;
}

char *kubeconfig_names(const struct kubeconfig_files *k, const char *list)
{
    struct text_list names = {.between = ", ", .max = 8};
    for (size_t i = 0; i < k->count; i++) {
        const struct yaml_node *n = NULL;
        if (kubeconfig_get_list(&k->files[i], list, &n, NULL) != 0 || n == NULL)
            continue;
        for (size_t e = 0; e < n->kid_count; e++) {
            const char *name = element_name(n->kids[e]);
            if (name != NULL && text_list_next(&names))
                finding_quote(&names.text, name);
        }
    }
    return text_list_take(&names);
}

int kubeconfig_fail(const struct kubeconfig_object *o, const char *key, struct error *err, const char *fmt, ...)
{
    char what[ERROR_MESSAGE_BYTES];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    size_t twice;
    const struct yaml_node *value = key != NULL ? yaml_node_get(o->node, key, &twice) : NULL;
    cleanup(mem_free_ptr) char *name = finding_quoted(o->name);
    return fail_at(o->file, value != NULL ? value->line : o->line, err, "%s[%s].%s%s%s: %s", o->list, name, o->inner,
                   key != NULL ? "." : "", key != NULL ? key : "", what);
}

/* *ret NULL: absent or null. */
static int get_scalar(const struct kubeconfig_object *o, const char *key, const struct yaml_node **ret,
                      struct error *err)
{
    size_t twice;
    const struct yaml_node *n = yaml_node_get(o->node, key, &twice);
    if (twice != 0)
        return kubeconfig_fail(o, key, err, "appears twice, again in line %zu", twice);
    if (!yaml_node_is_null(n) && n->kind != NODE_SCALAR)
        return kubeconfig_fail(o, key, err, "expected a text");
    *ret = yaml_node_is_null(n) ? NULL : n;
    return 0;
}

int kubeconfig_text(const struct kubeconfig_object *o, const char *key, const char **ret, struct error *err)
{
    const struct yaml_node *n = NULL;
    if (get_scalar(o, key, &n, err) != 0)
        return -1;
    if (n != NULL && n->text[0] != '\0')
        *ret = n->text;
    return 0;
}

int kubeconfig_line(const struct kubeconfig_object *o, const char *key, const char **ret, struct error *err)
{
    const char *text = NULL;
    if (kubeconfig_text(o, key, &text, err) != 0)
        return -1;
    if (text != NULL && str_has_control(text))
        return kubeconfig_fail(o, key, err, "holds a line break or another control character");
    *ret = text != NULL ? text : *ret;
    return 0;
}

char *kubeconfig_path(const struct kubeconfig_object *o, const char *path)
{
    const char *file = o->file->path, *slash = strrchr(file, '/');
    if (path[0] == '/' || slash == NULL)
        return mem_strdup(path);
    return mem_printf("%.*s/%s", (int)(slash - file), file, path);
}

int kubeconfig_bool(const struct kubeconfig_object *o, const char *key, bool *ret, struct error *err)
{
    const struct yaml_node *n = NULL;
    if (get_scalar(o, key, &n, err) != 0)
        return -1;
    if (n != NULL && n->text[0] != '\0' && str_parse_bool(n->text, ret) != 0)
        return kubeconfig_fail(o, key, err, "expected true or false");
    return 0;
}

bool kubeconfig_has(const struct kubeconfig_object *o, const char *key)
{
    size_t twice;
    return !yaml_node_is_null(yaml_node_get(o->node, key, &twice));
}
