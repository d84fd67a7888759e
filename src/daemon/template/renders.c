#include "daemon/template/renders.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/storage_files.h"
#include "report/metric_table.h"
#include "template/render.h"

/* What is kept of one file that was rendered: enough to say how the next one differs. */
struct file_memory {
    enum storage_kind kind;
    bool cfg; /* haproxy.cfg: no kind */
    char *name;
    char hash[DIGEST_SHA256_HEX_BYTES]; /* "": of haproxy.cfg, whose lines say it */
    struct lines lines;                 /* of a certificate none */
};

struct file_memories {
    struct file_memory *list; /* haproxy.cfg first */
    size_t count;
};

struct renders {
    struct metric_table *metrics;
    bool differs; /* what is compared now: a change was found */
    struct renders_view view;
    struct render_change *changes;
    struct file_memories last;
    struct error failure;
};

/* ---- what changed ---- */

static void file_memories_fini(struct file_memories *t)
{
    for (size_t i = 0; i < t->count; i++) {
        free(t->list[i].name);
        lines_fini(&t->list[i].lines);
    }
    free(t->list);
    *t = (struct file_memories){0};
}

/* *next: where it probably is, behind the one that was found before: both lists are in one order. */
static const struct file_memory *file_memories_find(const struct file_memories *t, const struct file_memory *like,
                                                    size_t *next)
{
    for (size_t i = 0; i < t->count; i++) {
        size_t at = (*next + i) % t->count;
        const struct file_memory *one = &t->list[at];
        if (one->cfg != like->cfg || one->kind != like->kind || !str_eq(one->name, like->name))
            continue;
        *next = at + 1;
        return one;
    }
    return NULL;
}

static void renders_forget_changes(struct renders *r)
{
    for (size_t i = 0; i < r->view.change_count && i < RENDERS_CHANGES_MAX; i++)
        free(r->changes[i].name);
    r->view.change_count = r->view.added = r->view.removed = 0;
}

/* one: what of it is there, before or now. What failed meanwhile has changed nothing: the changes of before stay without one. */
static void renders_add_change(struct renders *r, const struct file_memory *one, const char *what,
                               const struct lines *was, const struct lines *is)
{
    static const char *const kinds[STORAGE_KINDS] = {
        [STORAGE_MAP] = "map", [STORAGE_CERTIFICATE] = "certificate", [STORAGE_GENERAL] = "file"};
    struct render_change c = {.kind = one->cfg ? "haproxy.cfg" : kinds[one->kind],
                              .what = what,
                              .counted = one->cfg || one->kind != STORAGE_CERTIFICATE};
    if (!r->differs) {
        r->differs = true;
        renders_forget_changes(r);
        r->view.first = r->last.count == 0;
        r->view.changed_wall_ms = r->view.succeeded_wall_ms;
    }
    (void)lines_differ(was, is, &c.added, &c.removed);
    r->view.added += c.added;
    r->view.removed += c.removed;
    if (r->view.change_count++ >= RENDERS_CHANGES_MAX)
        return;
    c.name = mem_strdup(one->name);
    r->changes[r->view.change_count - 1] = c;
}

static void renders_compare(struct renders *r, const struct rendered *rendered, const struct storage_files *files)
{
    static const struct lines none;
    const struct render_file *cfg = &rendered->files[0];
    struct file_memories now = {.list = mem_array(files->count + 1, sizeof(now.list[0])), .count = files->count + 1};
    now.list[0] = (struct file_memory){.cfg = true, .name = mem_strdup("haproxy.cfg")};
    lines_init(&now.list[0].lines, cfg->bytes, cfg->len);
    for (size_t i = 0; i < files->count; i++) {
        const struct storage_file *f = &files->list[i];
        struct file_memory *at = &now.list[i + 1];
        *at = (struct file_memory){.kind = f->kind, .name = mem_strdup(f->name)};
        memcpy(at->hash, f->hash, sizeof(at->hash));
        if (f->kind != STORAGE_CERTIFICATE)
            lines_init(&at->lines, f->bytes, f->len);
    }
    r->differs = false;
    size_t next = 0;
    for (size_t i = 0; i < now.count; i++) {
        const struct file_memory *is = &now.list[i], *was = file_memories_find(&r->last, is, &next);
        if (was == NULL)
            renders_add_change(r, is, "new", &none, &is->lines);
        else if (is->cfg ? !lines_same(&was->lines, &is->lines) : !str_eq(was->hash, is->hash))
            renders_add_change(r, is, "changed", &was->lines, &is->lines);
    }
    next = 0;
    for (size_t i = 0; i < r->last.count; i++)
        if (file_memories_find(&now, &r->last.list[i], &next) == NULL)
            renders_add_change(r, &r->last.list[i], "gone", &r->last.list[i].lines, &none);
    file_memories_fini(&r->last);
    r->last = now;
}

/* ---- all ---- */

struct renders *renders_new(struct metric_table *metrics)
{
    struct renders *r = mem_alloc(sizeof(*r));
    r->metrics = metrics;
    r->changes = mem_array(RENDERS_CHANGES_MAX, sizeof(r->changes[0]));
    return r;
}

void renders_free(struct renders *r)
{
    if (r == NULL)
        return;
    renders_forget_changes(r);
    file_memories_fini(&r->last);
    mem_free_all(r->changes, r);
}

void renders_failed(struct renders *r, const struct error *err, bool rendered)
{
    r->failure = *err;
    r->view.failed_wall_ms = (int64_t)clock_wall_ms();
    r->view.failed += rendered;
    if (r->metrics == NULL)
        return;
    metric_set(r->metrics->template_render_ok, 0, NULL);
    if (rendered)
        metric_add(r->metrics->template_renders, 1, "failed", NULL);
}

void renders_succeeded(struct renders *r, const struct rendered *rendered, const struct storage_files *files, bool same,
                       bool newest)
{
    r->view.succeeded_wall_ms = (int64_t)clock_wall_ms();
    r->view.took_us = rendered->took_us;
    r->view.files = files->count;
    r->view.unchanged += same;
    r->view.changed += !same;
    if (!same)
        renders_compare(r, rendered, files);
    if (r->metrics == NULL)
        return;
    metric_add(r->metrics->template_renders, 1, same ? "unchanged" : "changed", NULL);
    metric_observe(r->metrics->template_render_duration, (double)rendered->took_us / 1e6, NULL);
    metric_set(r->metrics->template_last_render, (double)r->view.succeeded_wall_ms / 1000, NULL);
    if (newest)
        metric_set(r->metrics->template_render_ok, 1, NULL);
}

struct renders_view renders_view(const struct renders *r)
{
    struct renders_view v = r->view;
    v.changes = r->changes;
    v.failure = r->failure.kind != ERROR_NONE ? r->failure.message : NULL;
    return v;
}
