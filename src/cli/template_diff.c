/* template diff: what another template set, or a file, has otherwise than what the templates give. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/template_internal.h"
#include "haproxy/cfg/difference.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/line_difference.h"
#include "json/write.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/set.h"

#define DIFFERS_EXIT_CODE 2 /* as plan */
#define COLUMN 2
#define FILE_MAX_BYTES (64u << 20)

/* Files of one kind and name in both, or in one of them. */
struct pair {
    const struct render_file *before, *after; /* NULL: it is not there */
    const struct render_file *one;            /* of them, for its name and kind */
};

struct difference {
    const char *test;   /* NULL: without one */
    struct pair *pairs; /* those that differ */
    size_t count;
};

static const struct render_file *pair_find(const struct rendered *r, const struct render_file *like)
{
    for (size_t i = 0; i < r->file_count; i++)
        if (r->files[i].kind == like->kind && str_eq(r->files[i].name, like->name))
            return &r->files[i];
    return NULL;
}

static void cfg_parse_both(struct pair p, struct cfg_file *before, struct cfg_file *after)
{
    cfg_file_parse(before, p.before != NULL ? p.before->bytes : "", p.before != NULL ? p.before->len : 0);
    cfg_file_parse(after, p.after != NULL ? p.after->bytes : "", p.after != NULL ? p.after->len : 0);
}

/* haproxy.cfg: in its meaning, as whole configurations are compared. */
static bool pair_differs(struct pair p)
{
    if (p.before == NULL || p.after == NULL)
        return true;
    if (p.before->len == p.after->len && memcmp(p.before->bytes, p.after->bytes, p.before->len) == 0)
        return false;
    if (p.one->kind != ENGINE_HAPROXY_CFG)
        return true;
    struct cfg_file before, after;
    cfg_parse_both(p, &before, &after);
    bool same = cfg_same_meaning(&before, &after, false);
    cfg_file_fini(&before);
    cfg_file_fini(&after);
    return !same;
}

/* ---- shown ---- */

static void cfg_print(struct page *p, const struct cfg_line_difference *d)
{
    const char *section = NULL;
    for (size_t i = 0; i < d->count && i < CFG_LINE_DIFFERENCE_MAX; i++) {
        const struct cfg_line_of *line = &d->lines[i];
        if (!str_eq(section, line->section)) {
            page_to(p, 2 * COLUMN);
            page_put(p, INK_DIM, line->section);
            page_end_line(p);
        }
        section = line->section;
        page_to(p, 3 * COLUMN);
        page_flow_line(p, line->text[0] == '-' ? INK_RED : INK_GREEN, line->text);
    }
    if (d->count == 0) {
        page_to(p, 2 * COLUMN);
        page_put(p, INK_DIM, "the order of lines alone");
        page_end_line(p);
    } else if (d->count > CFG_LINE_DIFFERENCE_MAX) {
        page_to(p, 2 * COLUMN);
        page_printf(p, INK_DIM, "and %zu more lines", d->count - CFG_LINE_DIFFERENCE_MAX);
        page_end_line(p);
    }
}

static void cfg_difference_of(struct pair p, struct cfg_line_difference *ret)
{
    struct cfg_file before, after;
    cfg_parse_both(p, &before, &after);
    cfg_line_difference_init(ret, &before, &after);
    cfg_file_fini(&before);
    cfg_file_fini(&after);
}

static size_t lines_of(const struct render_file *f)
{
    size_t n = 0;
    for (size_t i = 0; f != NULL && i < f->len; i++)
        n += f->bytes[i] == '\n' || i + 1 == f->len;
    return n;
}

static const char *pair_says(struct pair p)
{
    return p.before == NULL ? "new" : p.after == NULL ? "gone" : "differs";
}

/* Of a map and other files their number of lines: what is in them may be a secret. */
static void difference_print(struct page *p, const void *arg)
{
    const struct difference *d = arg;
    page_printf(p, INK_BOLD, "%s: ", d->test != NULL ? d->test : "without a test's fixtures");
    page_put(p, d->count > 0 ? INK_YELLOW : INK_GREEN, d->count > 0 ? "differs" : "the same");
    page_end_line(p);
    for (size_t i = 0; i < d->count; i++) {
        struct pair pair = d->pairs[i];
        cleanup(mem_free_ptr) char *name = template_file_name(pair.one);
        page_to(p, COLUMN);
        page_printf(p, INK_PLAIN, "%s: %s, %zu lines, before %zu", name, pair_says(pair), lines_of(pair.after),
                    lines_of(pair.before));
        page_end_line(p);
        if (pair.one->kind != ENGINE_HAPROXY_CFG)
            continue;
        cleanup(cfg_line_difference_fini) struct cfg_line_difference lines;
        cfg_difference_of(pair, &lines);
        cfg_print(p, &lines);
    }
}

static void difference_put(const struct difference *d, yyjson_mut_doc *doc, yyjson_mut_val *to)
{
    json_put_text(doc, to, "test", d->test);
    json_put_bool(doc, to, "same", d->count == 0);
    yyjson_mut_val *files = json_put_list(doc, to, "files");
    for (size_t i = 0; i < d->count; i++) {
        struct pair pair = d->pairs[i];
        yyjson_mut_val *file = json_add_object(doc, files);
        cleanup(mem_free_ptr) char *name = template_file_name(pair.one);
        json_put_text(doc, file, "name", name);
        json_put_text(doc, file, "change", pair_says(pair));
        if (pair.one->kind != ENGINE_HAPROXY_CFG)
            continue;
        cleanup(cfg_line_difference_fini) struct cfg_line_difference lines;
        cfg_difference_of(pair, &lines);
        yyjson_mut_val *list = json_put_list(doc, file, "lines");
        for (size_t k = 0; k < lines.count && k < CFG_LINE_DIFFERENCE_MAX; k++) {
            yyjson_mut_val *line = json_add_object(doc, list);
            json_put_text(doc, line, "section", lines.lines[k].section);
            json_put_text(doc, line, "line", lines.lines[k].text);
        }
        json_put_count(doc, file, "line_count", lines.count);
    }
}

/* ---- the other side ---- */

struct other {
    struct template_set *set; /* NULL: it is a file */
    struct buf file;
};

static void other_fini(struct other *o)
{
    template_set_free(o->set);
    buf_wipe(&o->file);
}

static int other_init(struct other *o, const char *path, struct error *err)
{
    struct stat st;
    *o = (struct other){0};
    buf_init(&o->file, FILE_MAX_BYTES);
    if (stat(path, &st) != 0)
        return error_set(err, ERROR_INVALID, "%s: %m", path);
    if (S_ISDIR(st.st_mode)) {
        o->set = template_read(path, err);
        return o->set != NULL ? 0 : error_prefix(err, "%s", path);
    }
    return buf_read_file(&o->file, path) == 0 ? 0 : error_set(err, ERROR_INVALID, "cannot read %s: %m", path);
}

/* The same fixtures for both; a file is a haproxy.cfg alone. */
static int other_render(const struct template_run *r, const struct other *o, const struct template_test *test,
                        struct rendered *ret, struct error *err)
{
    if (o->set == NULL) {
        *ret = (struct rendered){.files = mem_array(1, sizeof(ret->files[0])), .file_count = 1};
        ret->files[0] = (struct render_file){.kind = ENGINE_HAPROXY_CFG,
                                             .name = mem_strdup("haproxy.cfg"),
                                             .bytes = mem_strndup(buf_str(&o->file), o->file.len),
                                             .len = strlen(buf_str(&o->file))};
        return 0;
    }
    struct objects *objects = trial_objects(o->set, r->set, test, true, err);
    int rc = objects != NULL ? trial_render(o->set, objects, &r->trial, ret, err) : -1;
    objects_free(objects);
    return rc == 0 ? 0 : error_prefix(err, "%s", r->command->against);
}

/* ---- all ---- */

static int diff_one(const struct template_run *r, const struct other *other, const struct template_test *test,
                    struct difference *ret, yyjson_mut_doc *doc, yyjson_mut_val *list, struct error *err)
{
    cleanup(rendered_fini) struct rendered before = {0};
    cleanup(rendered_fini) struct rendered after = {0};
    *ret = (struct difference){.test = test != NULL ? test->name : NULL};
    struct objects *objects = trial_objects(r->set, r->set, test, false, err);
    int rc = objects != NULL ? trial_render(r->set, objects, &r->trial, &after, err) : -1;
    objects_free(objects);
    if (rc != 0 || other_render(r, other, test, &before, err) != 0)
        return -1;
    bool alone = other->set == NULL;
    ret->pairs = mem_array(before.file_count + after.file_count, sizeof(ret->pairs[0]));
    for (size_t i = 0; i < after.file_count; i++) {
        struct pair p = {pair_find(&before, &after.files[i]), &after.files[i], &after.files[i]};
        if ((p.before != NULL || !alone) && pair_differs(p))
            ret->pairs[ret->count++] = p;
    }
    for (size_t i = 0; i < before.file_count; i++)
        if (pair_find(&after, &before.files[i]) == NULL)
            ret->pairs[ret->count++] = (struct pair){&before.files[i], NULL, &before.files[i]};
    difference_put(ret, doc, json_add_object(doc, list));
    if (!r->command->json)
        template_show(r, difference_print, ret);
    free(ret->pairs);
    return 0;
}

int template_diff(const struct template_run *r)
{
    struct error err = {0};
    cleanup(other_fini) struct other other;
    bool differs = false, named = r->test != NULL, alone = named || r->set->test_count == 0;
    yyjson_mut_val *root;
    cleanup(json_free_ptr) yyjson_mut_doc *doc = json_new(&root);
    yyjson_mut_val *list = json_put_list(doc, root, "tests");
    if (other_init(&other, r->command->against, &err) != 0)
        return template_fail(r->command->operand, &err);
    for (size_t i = 0; i < (alone ? 1 : r->set->test_count); i++) {
        const struct template_test *test = alone ? r->test : &r->set->tests[i];
        struct difference d;
        if (!trial_is_rendered(test) && !named)
            continue;
        if (diff_one(r, &other, test, &d, doc, list, &err) != 0)
            return template_fail(r->command->operand, &err);
        differs = differs || d.count > 0;
    }
    cleanup(buf_fini) struct buf out = {0};
    json_write(doc, true, &out);
    if (r->command->json)
        printf("%s\n", buf_str(&out));
    return differs ? DIFFERS_EXIT_CODE : EXIT_SUCCESS;
}
