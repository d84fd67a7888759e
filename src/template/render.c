#include "template/render.h"

#include <event2/event.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/storage_files.h"
#include "host/child.h"
#include "host/sandbox.h"
#include "settings/settings.h"
#include "template/objects.h"
#include "template/set.h"

/* Each time that templates leave more objects out, all is rendered anew without them. */
#define PASSES 5
/* What the engine does in a good deal less than a millisecond; a loop without an end is found by this, at its place, and
 * the same on each machine. The deadline holds where it is not. */
#define FUEL_PER_MS 10000u
#define CPU_SECONDS_MORE 5u

struct render {
    struct child *child;
    struct render_options options; /* what they point to is there until start returns; objects stay */
    uint64_t began_us;
    void (*on_done)(void *arg, struct rendered *ret, const struct error *err);
    void *arg;
};

void rendered_fini(struct rendered *r)
{
    for (size_t i = 0; i < r->file_count; i++) {
        free(r->files[i].name);
        explicit_bzero(r->files[i].bytes, r->files[i].len);
        free(r->files[i].bytes);
    }
    for (size_t i = 0; i < r->remark_count; i++) {
        mem_free_all(r->remarks[i].key, r->remarks[i].text);
    }
    mem_free_all(r->files, r->remarks, r->owners);
    *r = (struct rendered){0};
}

/* ---- from child to parent: both are one program, so numbers and structs are the same ---- */

enum wire_text { WIRE_NAME, WIRE_TEXT, WIRE_SOURCE_LINE, WIRE_OBJECT };
#define WIRE_TEXTS 4

struct wire {
    uint32_t what, kind;
    uint64_t line, column, resource;
    size_t len[WIRE_TEXTS];
};

/* ---- the child ---- */

struct pass {
    const struct render_options *options;
    struct buf out;
    bool leaves_out; /* an object that the passes before had */
    /* What earlier passes said of objects that this one does not see any more. */
    struct buf remarks;
};

static void pass_add(struct buf *to, const struct wire *head, const char *const texts[WIRE_TEXTS])
{
    buf_addn(to, (const char *)head, sizeof(*head));
    for (size_t i = 0; i < WIRE_TEXTS; i++)
        buf_addn(to, texts[i], head->len[i]);
}

static void pass_emit(void *arg, const struct engine_record *record)
{
    struct pass *p = arg;
    size_t resource = 0;
    const char *key = "";
    if (record->object != NULL && !objects_find(p->options->objects, record->object, &resource, &key))
        key = "";
    const char *const texts[WIRE_TEXTS] = {record->name.bytes, record->text.bytes, record->source_line.bytes, key};
    const struct wire head = {.what = (uint32_t)record->what,
                              .kind = (uint32_t)record->kind,
                              .line = record->line,
                              .column = record->column,
                              .resource = resource,
                              .len = {record->name.len, record->text.len, record->source_line.len, strlen(key)}};
    bool warns = record->what == ENGINE_WARNING && key[0] != '\0';
    pass_add(warns ? &p->remarks : &p->out, &head, texts);
    if (warns && objects_leave_out(p->options->objects, record->object))
        p->leaves_out = true;
}

static int pass_run(struct pass *p)
{
    const struct render_options *o = p->options;
    const struct template_set *set = o->set;
    struct engine_source *sources = mem_array(set->text_count, sizeof(sources[0]));
    struct engine_output *outputs = mem_array(set->text_count, sizeof(outputs[0]));
    size_t extra = set->extra != NULL ? yyjson_obj_size(yyjson_doc_get_root(set->extra)) : 0, i, max;
    struct engine_variable *variables = mem_array(extra + o->variable_count + 2, sizeof(variables[0]));
    struct engine_job job = {.lenient = set->lenient,
                             .keep_newline = set->keep_newline,
                             .trim_blocks = set->trim_blocks,
                             .ends = true,
                             .fuel = o->timeout_ms * FUEL_PER_MS,
                             .memory_bytes = o->memory_bytes,
                             .sources = sources,
                             .source_count = set->text_count,
                             .variables = variables,
                             .outputs = outputs,
                             .objects = o->objects,
                             .known = o->known,
                             .owners = {o->owners, o->owners != NULL ? strlen(o->owners) : 0},
                             .before = {o->before, o->before != NULL ? strlen(o->before) : 0},
                             .unset = o->unset,
                             .arg = p,
                             .emit = pass_emit};
    for (i = 0; i < set->text_count; i++) {
        const struct template_text *t = &set->texts[i];
        sources[i] = (struct engine_source){{t->source, strlen(t->source)}, {t->text, strlen(t->text)}, t->priority};
        if (t->kind != TEMPLATE_SNIPPET)
            outputs[job.output_count++] =
                (struct engine_output){(int)t->kind, {t->name, strlen(t->name)}, sources[i].name};
    }
    yyjson_val *key, *value;
    if (set->extra != NULL)
        yyjson_obj_foreach (yyjson_doc_get_root(set->extra), i, max, key, value)
            variables[job.variable_count++] =
                (struct engine_variable){{yyjson_get_str(key), yyjson_get_len(key)}, value};
    if (set->extra != NULL) /* names that are no identifiers, and those of older templates */
        variables[job.variable_count++] =
            (struct engine_variable){{"extra", strlen("extra")}, yyjson_doc_get_root(set->extra)};
    for (i = 0; i < o->variable_count; i++)
        variables[job.variable_count++] = o->variables[i];
    for (i = 0; i < array_len(job.folders); i++)
        job.folders[i] = (struct engine_text){o->folders[i], strlen(o->folders[i])};
    int rc = engine_run_job(&job);
    mem_free_all(sources, outputs, variables);
    return rc;
}

/* Until nothing more is left out: an error before that may be of an object that is. */
static void render_passes(struct pass *p)
{
    int rc = 0;
    for (size_t pass = 0; pass < PASSES; pass++) {
        buf_clear(&p->out);
        p->leaves_out = false;
        rc = pass_run(p);
        if (!p->leaves_out)
            break;
        objects_hide_left_out(p->options->objects);
    }
    for (size_t i = 0; rc == 0 && i < p->options->file_count; i++) {
        const struct render_file *f = &p->options->files[i];
        const char *const texts[WIRE_TEXTS] = {f->name, f->bytes, "", ""};
        const struct wire head = {.what = ENGINE_OUTPUT, .kind = (uint32_t)f->kind, .len = {strlen(f->name), f->len}};
        pass_add(&p->out, &head, texts);
    }
}

static int render_run(void *arg)
{
    struct render_options *options = arg;
    struct pass p = {.options = options};
    struct error err = {0};
    /* An engine of many small values, in a process that ends soon. */
    (void)mallopt(M_MXFAST, 160);
    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
    (void)mallopt(M_TOP_PAD, 16 << 20);
    /* What the engine counts of its own is less than the limit on data: there are the texts of C, too, and what it cuts
     * from, of which all counts. */
    limits_set(p.options->timeout_ms / 1000 + CPU_SECONDS_MORE,
               p.options->unfiltered ? 0 : 3 * p.options->memory_bytes + 2 * p.options->output_bytes);
    if (!p.options->unfiltered && sandbox_enter_strict(&err) != 0)
        return 1;
    if (options->prepare != NULL)
        options->prepare(options->prepare_arg, options);
    render_passes(&p);
    return fd_write_all(STDOUT_FILENO, p.remarks.data, p.remarks.len) &&
                   fd_write_all(STDOUT_FILENO, p.out.data, p.out.len)
               ? 0
               : 1;
}

/* ---- the parent ---- */

static void render_take_error(const struct objects *objects, const struct wire *head, char *const texts[WIRE_TEXTS],
                              struct error *err)
{
    struct buf text = {0};
    if (texts[WIRE_NAME][0] != '\0' && head->line > 0)
        buf_printf(&text, "%s:%llu", texts[WIRE_NAME], (unsigned long long)head->line);
    if (text.len > 0 && head->column > 0)
        buf_printf(&text, ":%llu", (unsigned long long)head->column);
    buf_printf(&text, "%s%s", text.len > 0 ? ": " : "", texts[WIRE_TEXT]);
    if (texts[WIRE_SOURCE_LINE][0] != '\0')
        buf_printf(&text, "; the line: %s", texts[WIRE_SOURCE_LINE] + strspn(texts[WIRE_SOURCE_LINE], " \t"));
    if (texts[WIRE_OBJECT][0] != '\0')
        buf_printf(&text, "; the last object: %s %s", template_watch_kind(objects_watch(objects, head->resource)),
                   texts[WIRE_OBJECT]);
    (void)error_set(err, ERROR_INVALID, "%s", buf_str(&text));
    buf_fini(&text);
}

void rendered_remark(struct rendered *r, const struct render_remark *m)
{
    r->remarks = mem_one_more(r->remarks, r->remark_count, sizeof(r->remarks[0]));
    r->remarks[r->remark_count++] = *m;
}

/* One record; false: an error was among them. */
static bool render_take(const struct objects *objects, const struct wire *head, const char **at, struct rendered *r,
                        struct error *err)
{
    char *texts[WIRE_TEXTS];
    for (size_t i = 0; i < WIRE_TEXTS; i++) {
        texts[i] = mem_alloc(head->len[i] + 1);
        memcpy(texts[i], *at, head->len[i]);
        *at += head->len[i];
    }
    bool good = head->what != ENGINE_ERROR;
    if (head->what == ENGINE_OUTPUT) {
        r->files = mem_one_more(r->files, r->file_count, sizeof(r->files[0]));
        r->files[r->file_count++] =
            (struct render_file){head->kind, texts[WIRE_NAME], texts[WIRE_TEXT], head->len[WIRE_TEXT]};
        texts[WIRE_NAME] = texts[WIRE_TEXT] = NULL;
    } else if (head->what == ENGINE_OWNERS) {
        free(r->owners);
        r->owners = texts[WIRE_TEXT];
        texts[WIRE_TEXT] = NULL;
    } else if (head->what == ENGINE_PLACED) {
        r->placed = true;
    } else if (good) {
        rendered_remark(r, &(struct render_remark){.left_out = head->what == ENGINE_WARNING,
                                                   .resource = head->resource,
                                                   .key = texts[WIRE_OBJECT],
                                                   .text = texts[WIRE_TEXT]});
        texts[WIRE_OBJECT] = texts[WIRE_TEXT] = NULL;
    } else {
        render_take_error(objects, head, texts, err);
    }
    for (size_t i = 0; i < WIRE_TEXTS; i++)
        free(texts[i]);
    return good;
}

int rendered_read(struct rendered *r, const struct objects *objects, const struct buf *out, struct error *err)
{
    const char *at = buf_str(out), *end = at + out->len;
    while (at < end) {
        struct wire head;
        if ((size_t)(end - at) < sizeof(head))
            return error_set(err, ERROR_RETRY, "the render ended amid its answer");
        memcpy(&head, at, sizeof(head));
        at += sizeof(head);
        for (size_t i = 0, left = (size_t)(end - at); i < WIRE_TEXTS; left -= head.len[i++])
            if (head.len[i] > left)
                return error_set(err, ERROR_RETRY, "the render ended amid its answer");
        /* The child runs what tenants wrote: its numbers are indexes here, so none of them is taken on trust. */
        bool has_object = head.what < ENGINE_ERROR || head.len[WIRE_OBJECT] > 0;
        bool valid = head.what == ENGINE_OUTPUT ? head.kind <= ENGINE_FILE
                                                : head.what <= ENGINE_PLACED &&
                                                      (!has_object || head.resource < objects_resource_count(objects));
        if (!valid)
            return error_set(err, ERROR_RETRY, "the render's answer has a number that is out of range");
        if (!render_take(objects, &head, &at, r, err))
            return -1;
    }
    if (r->file_count == 0)
        return error_set(err, ERROR_RETRY, "the render gave nothing");
    return 0;
}

static int render_judge(const struct render_options *o, const struct child_result *result, struct rendered *ret,
                        struct error *err)
{
    const struct child_options names = {.timeout_ms = o->timeout_ms, .max_out_bytes = o->output_bytes};
    cleanup(mem_free_ptr) char *text = child_result_text(result, &names);
    if (result->outcome == CHILD_OVERDUE)
        return error_set(err, ERROR_INVALID,
                         "the templates were still being rendered after %.3g s: is there a loop without an end? "
                         "TEMPLATE_TIMEOUT is the limit",
                         (double)o->timeout_ms / 1000);
    if (result->outcome == CHILD_OVER_CAP)
        return error_set(err, ERROR_INVALID, "the templates gave more than %zu MB", o->output_bytes >> 20);
    if (result->outcome == CHILD_EXITED && result->status == ENGINE_MEMORY_STATUS)
        return error_set(err, ERROR_INVALID, "the templates took more than %zu MB of memory, the limit",
                         o->memory_bytes >> 20);
    if (result->outcome == CHILD_SIGNALED && result->status == SIGSEGV)
        return error_set(
            err, ERROR_INVALID,
            "the render failed: its stack overflowed: an expression, a template or a value is nested too deeply");
    if (result->outcome != CHILD_EXITED || result->status != 0)
        return error_set(err, ERROR_INVALID, "the render failed: %s%s%s", text, result->said[0] != '\0' ? ": " : "",
                         result->said);
    return rendered_read(ret, o->objects, result->out, err);
}

static void render_on_child(void *arg, const struct child_result *result)
{
    struct render *r = arg;
    struct rendered rendered = {0};
    struct error err = {0};
    int rc = render_judge(&r->options, result, &rendered, &err);
    rendered.took_us = clock_mono_us() - r->began_us;
    r->on_done(r->arg, rc == 0 ? &rendered : NULL, &err);
    rendered_fini(&rendered);
    free(r);
}

struct render *render_start(struct event_base *base, const struct render_options *options,
                            void (*on_done)(void *arg, struct rendered *ret, const struct error *err), void *arg,
                            struct error *err)
{
    struct render *r = mem_alloc(sizeof(*r));
    *r = (struct render){.options = *options, .began_us = clock_mono_us(), .on_done = on_done, .arg = arg};
    const struct child_options child = {.run = render_run,
                                        .run_arg = &r->options,
                                        .command = "the render",
                                        .max_out_bytes = options->output_bytes,
                                        .timeout_ms = options->timeout_ms};
    engine_prepare(); /* once for all children */
    r->child = child_start(base, &child, render_on_child, r, err);
    if (r->child != NULL)
        return r;
    free(r);
    return NULL;
}

void render_cancel(struct render *r)
{
    if (r == NULL)
        return;
    child_cancel(r->child);
    free(r);
}

/* ---- as a HAProxy gets it ---- */

int rendered_files(const struct rendered *r, struct storage_known *known, struct storage_files *ret, struct error *err)
{
    static const enum storage_kind kinds[] = {
        [ENGINE_MAP] = STORAGE_MAP, [ENGINE_CERTIFICATE] = STORAGE_CERTIFICATE, [ENGINE_FILE] = STORAGE_GENERAL};
    for (size_t i = 1; i < r->file_count; i++)
        if (storage_files_add_known(ret, known, kinds[r->files[i].kind], r->files[i].name, r->files[i].bytes,
                                    r->files[i].len, err) != 0)
            return -1;
    return 0;
}

static int stored_order(const void *a, const void *b)
{
    const struct storage_file *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* Certificates that are stored by another name, or elsewhere, in the order of names. */
static const struct storage_file **stored_renamed(const struct storage_files *files, size_t *ret_count)
{
    const struct storage_file **list = mem_array(files->count + 1, sizeof(list[0]));
    *ret_count = 0;
    for (size_t i = 0; i < files->count; i++) {
        const struct storage_file *f = &files->list[i];
        if (f->kind == STORAGE_CERTIFICATE && (f->place != f->kind || !str_eq(f->name, f->stored)))
            list[(*ret_count)++] = f;
    }
    if (*ret_count > 0)
        qsort(list, *ret_count, sizeof(list[0]), stored_order);
    return list;
}

static const struct storage_file *stored_find(const struct storage_file *const *list, size_t count, const char *name,
                                              size_t len)
{
    cleanup(mem_free_ptr) char *copy = mem_strndup(name, len);
    const struct storage_file wanted = {.name = copy}, *key = &wanted;
    const struct storage_file *const *found = bsearch(&key, list, count, sizeof(list[0]), stored_order);
    return found != NULL ? *found : NULL;
}

void stored_paths(const char *text, size_t len, const struct storage_files *files, const char *const folders[3],
                  struct buf *out)
{
    const char *from = folders[STORAGE_CERTIFICATE], *at = text, *end = text + len;
    size_t count, from_len = strlen(from);
    cleanup(mem_free_ptr) const struct storage_file **list = stored_renamed(files, &count);
    for (const char *hit; count > 0 && (hit = memmem(at, (size_t)(end - at), from, from_len)) != NULL;) {
        const char *name = hit + from_len;
        size_t name_len = 0;
        while (name + name_len < end && storage_is_of_name(name[name_len]))
            name_len++;
        bool whole = hit == text || !storage_is_of_name(hit[-1]); /* and no end of another path */
        const struct storage_file *f = whole ? stored_find(list, count, name, name_len) : NULL;
        buf_addn(out, at, (size_t)(hit - at));
        if (f != NULL)
            buf_printf(out, "%s%s", folders[f->place], f->stored);
        else
            buf_addn(out, hit, from_len + name_len);
        at = name + name_len;
    }
    buf_addn(out, at, (size_t)(end - at));
}

/* ---- waited for ---- */

struct render_wait {
    struct event_base *base;
    struct rendered *ret;
    struct error *err;
    int rc;
};

static void render_on_now(void *arg, struct rendered *ret, const struct error *err)
{
    struct render_wait *w = arg;
    w->rc = ret != NULL ? 0 : -1;
    if (ret != NULL) {
        *w->ret = *ret;
        *ret = (struct rendered){0};
    } else {
        *w->err = *err;
    }
    event_base_loopbreak(w->base);
}

int render_now(const struct render_options *options, struct rendered *ret, struct error *err)
{
    struct render_wait w = {.base = event_base_new(), .ret = ret, .err = err, .rc = -1};
    if (w.base == NULL)
        abort(); /* out of memory */
    if (render_start(w.base, options, render_on_now, &w, err) != NULL)
        event_base_dispatch(w.base);
    event_base_free(w.base);
    return w.rc;
}

void render_folders_init(char *ret[3], const struct settings_local *l)
{
    for (size_t i = 0; i < SETTINGS_FOLDERS; i++) {
        cleanup(mem_free_ptr) char *folder = settings_local_folder(l, (enum settings_folder)i);
        ret[i] = mem_printf("%s/", folder);
    }
}
