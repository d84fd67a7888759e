/* template diff: what another template set, or a file, has otherwise than what the templates give. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/template.h"
#include "haproxy/cfg/difference.h"
#include "haproxy/cfg/file.h"
#include "json/write.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/set.h"

#define DIFFERS_EXIT_CODE 2 /* as plan */
#define COLUMN 2
#define FILE_MAX_BYTES (64u << 20)

/* ---- a file of one kind and name, in both, or in one of them */

struct pair {
    const struct render_file *before, *after; /* NULL: it is not there */
    bool differs, is_cfg;
    struct cfg_line_difference lines; /* is_cfg, and differs */
};

static const struct render_file *pair_find(const struct rendered *r, const struct render_file *like)
{
    for (size_t i = 0; i < r->file_count; i++)
        if (r->files[i].kind == like->kind && str_eq(r->files[i].name, like->name))
            return &r->files[i];
    return NULL;
}

/* haproxy.cfg is compared in its meaning, as whole configurations are. */
static void pair_init(struct pair *p, const struct render_file *before, const struct render_file *after)
{
    struct cfg_file was, is;
    *p = (struct pair){.before = before,
                       .after = after,
                       .is_cfg = after != NULL ? after->kind == ENGINE_HAPROXY_CFG
                                               : before != NULL && before->kind == ENGINE_HAPROXY_CFG,
                       .differs = before == NULL || after == NULL || before->len != after->len ||
                                  memcmp(before->bytes, after->bytes, before->len) != 0};
    if (!p->is_cfg || !p->differs)
        return;
    cfg_file_parse(&was, before != NULL ? before->bytes : "", before != NULL ? before->len : 0);
    cfg_file_parse(&is, after != NULL ? after->bytes : "", after != NULL ? after->len : 0);
    p->differs = before == NULL || after == NULL || !cfg_same_meaning(&was, &is, false);
    if (p->differs)
        cfg_line_difference_init(&p->lines, &was, &is);
    cfg_file_fini(&was);
    cfg_file_fini(&is);
}

static size_t pair_lines(const struct render_file *f)
{
    size_t n = 0;
    for (size_t i = 0; f != NULL && i < f->len; i++)
        n += f->bytes[i] == '\n' || i + 1 == f->len;
    return n;
}

/* ---- all of them */

struct difference {
    const char *test;   /* NULL: without one */
    struct pair *pairs; /* those that differ */
    size_t count;
};

static void difference_fini(struct difference *d)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->pairs[i].is_cfg)
            cfg_line_difference_fini(&d->pairs[i].lines);
    free(d->pairs);
}

static const char *pair_says(const struct pair *p)
{
    return p->before == NULL ? "new" : p->after == NULL ? "gone" : "differs";
}

/* Of a map and other files their number of lines: what is in them may be a secret. */
static void difference_print(const struct difference *d, struct page *p)
{
    page_printf(p, INK_BOLD, "%s: ", d->test != NULL ? d->test : "without a test's fixtures");
    page_put(p, d->count > 0 ? INK_YELLOW : INK_GREEN, d->count > 0 ? "differs" : "the same");
    page_end_line(p);
    for (size_t i = 0; i < d->count; i++) {
        const struct pair *pair = &d->pairs[i];
        cleanup(mem_free_ptr) char *name = template_file_name(pair->after != NULL ? pair->after : pair->before);
        page_to(p, COLUMN);
        page_printf(p, INK_PLAIN, "%s: %s, %zu lines, before %zu", name, pair_says(pair), pair_lines(pair->after),
                    pair_lines(pair->before));
        page_end_line(p);
        if (pair->is_cfg && pair->lines.count == 0) {
            page_to(p, 2 * COLUMN);
            page_put(p, INK_DIM, "the order of lines alone");
            page_end_line(p);
        } else if (pair->is_cfg) {
            show_lines(&pair->lines, 2 * COLUMN, 3 * COLUMN, p);
        }
    }
}

/* ---- the other side */

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

/* ---- each test */

static int diff_one(const struct template_run *r, const struct other *other, const struct template_test *test,
                    yyjson_mut_doc *doc, yyjson_mut_val *list, int *status, struct error *err)
{
    cleanup(rendered_fini) struct rendered before = {0};
    cleanup(rendered_fini) struct rendered after = {0};
    struct objects *objects = trial_objects(r->set, r->set, test, false, err);
    int rc = objects != NULL ? trial_render(r->set, objects, &r->trial, &after, err) : -1;
    objects_free(objects);
    if (rc != 0 || other_render(r, other, test, &before, err) != 0)
        return -1;
    cleanup(difference_fini) struct difference d = {
        .test = test != NULL ? test->name : NULL,
        .pairs = mem_array(before.file_count + after.file_count, sizeof(d.pairs[0]))};
    cleanup(show_fini) struct show show = {0};
    for (size_t i = 0; i < after.file_count; i++) {
        const struct render_file *is = &after.files[i], *was = pair_find(&before, is);
        if (was == NULL && other->set == NULL) /* which is a haproxy.cfg alone */
            continue;
        pair_init(&d.pairs[d.count], was, is);
        d.count += d.pairs[d.count].differs;
    }
    for (size_t i = 0; i < before.file_count; i++)
        if (pair_find(&after, &before.files[i]) == NULL)
            pair_init(&d.pairs[d.count++], &before.files[i], NULL);
    yyjson_mut_val *to = json_add_object(doc, list);
    json_fields(doc, to, json_str("test", d.test), json_bool("same", d.count == 0));
    yyjson_mut_val *files = json_put_list(doc, to, "files");
    for (size_t i = 0; i < d.count; i++) {
        const struct pair *pair = &d.pairs[i];
        yyjson_mut_val *file = json_add_object(doc, files);
        cleanup(mem_free_ptr) char *name = template_file_name(pair->after != NULL ? pair->after : pair->before);
        json_fields(doc, file, json_str("name", name), json_str("change", pair_says(pair)));
        if (pair->is_cfg)
            show_put_lines(&pair->lines, doc, file);
    }
    show_init(&show, r->run);
    if (!r->command->json)
        difference_print(&d, &show.page);
    *status = show_end(&show, d.count > 0 ? DIFFERS_EXIT_CODE : *status);
    return 0;
}

int template_diff(const struct template_run *r)
{
    struct error err = {0};
    const struct template_test *test;
    cleanup(other_fini) struct other other = {0};
    cleanup(buf_fini) struct buf out = {0};
    int status = EXIT_SUCCESS;
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    yyjson_mut_val *list = json_put_list(doc, root, "tests");
    int rc = other_init(&other, r->command->against, &err);
    for (size_t at = 0; rc == 0 && template_next(r, &at, &test);)
        rc = diff_one(r, &other, test, doc, list, &status, &err);
    json_print(doc, &out);
    if (rc != 0)
        return template_fail(r->command->operand, &err);
    if (r->command->json)
        fputs(buf_str(&out), stdout);
    return status;
}
