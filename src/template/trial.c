#include "template/trial.h"

#include <dirent.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/storage_files.h"
#include "haproxy/validation_text.h"
#include "host/child.h"
#include "json/read.h"
#include "model/cache.h"
#include "settings/environment.h"
#include "settings/settings.h"
#include "template/assertions.h"
#include "template/keep.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/set.h"

#define SAID_MAX_BYTES (1u << 20)
#define HAPROXY_CFG "haproxy.cfg"
#define MEMORY_BYTES (512u << 20)
#define OUTPUT_BYTES (64u << 20)

/* ---- objects without a cluster ---- */

int fixtures_add(struct objects *o, const struct template_set *set, yyjson_val *fixtures, bool others,
                 struct error *err)
{
    size_t i, max, k, count;
    yyjson_val *key, *list, *from;
    if (json_is_object(fixtures, "fixtures", err) != 0)
        return -1;
    yyjson_obj_foreach (fixtures, i, max, key, list) {
        const struct template_watch *w = template_set_find_watch(set, yyjson_get_str(key));
        if (w == NULL && others)
            continue;
        if (w == NULL)
            return error_set(err, ERROR_INVALID, "fixtures: the set watches no %s", yyjson_get_str(key));
        if (!yyjson_is_arr(list))
            return error_set(err, ERROR_INVALID, "fixtures: %s: expected a list of objects", yyjson_get_str(key));
        yyjson_arr_foreach (list, k, count, from) {
            struct template_object *object = template_keep(w, from, err);
            if (object == NULL)
                return error_prefix(err, "fixture %s[%zu]", w->name, k);
            (void)cache_put(objects_cache(o, (size_t)(w - set->watches)), object);
        }
    }
    return 0;
}

static void fixtures_put(void *arg, const void *object)
{
    struct buf *out = arg;
    buf_add(out, out->data[out->len - 1] == '[' ? "" : ",");
    buf_add(out, ((const struct template_object *)object)->json);
}

yyjson_doc *fixtures_document(const struct objects *o, const struct template_set *set)
{
    cleanup(buf_fini) struct buf out = {0};
    cleanup(mem_free_ptr) char *extra =
        set->extra != NULL ? json_text_of(yyjson_doc_get_root(set->extra)) : mem_strdup("{}");
    buf_add(&out, "{\"resources\":{");
    for (size_t i = 0; i < objects_resource_count(o); i++) {
        buf_printf(&out, "%s\"%s\":[", i > 0 ? "," : "", objects_watch(o, i)->name); /* a name has nothing to escape */
        cache_each(objects_cache(o, i), fixtures_put, &out);
        buf_add(&out, "]");
    }
    buf_printf(&out, "},\"extra\":%s}", extra);
    yyjson_doc *doc = yyjson_read(buf_str(&out), out.len, 0);
    if (doc == NULL)
        abort(); /* out of memory: all of it was JSON before */
    return doc;
}

struct objects *trial_objects(const struct template_set *set, const struct template_set *fixtures,
                              const struct template_test *test, bool others, struct error *err)
{
    struct objects *o = objects_new(set);
    yyjson_doc *const from[] = {fixtures->global_fixtures, test != NULL ? test->fixtures : NULL};
    for (size_t i = 0; i < array_len(from); i++)
        if (from[i] != NULL && fixtures_add(o, set, yyjson_doc_get_root(from[i]), others, err) != 0) {
            objects_free(o);
            return NULL;
        }
    return o;
}

static int trial_render_for(const struct template_set *set, struct objects *objects, const struct trial_options *o,
                            const char *const folders[3], struct rendered *ret, struct error *err)
{
    const struct render_options options = {.set = set,
                                           .objects = objects,
                                           .folders = {folders[0], folders[1], folders[2]},
                                           .timeout_ms = o->timeout_ms,
                                           .memory_bytes = MEMORY_BYTES,
                                           .output_bytes = OUTPUT_BYTES,
                                           .unfiltered = o->unfiltered};
    return render_now(&options, ret, err);
}

int trial_render(const struct template_set *set, struct objects *objects, const struct trial_options *o,
                 struct rendered *ret, struct error *err)
{
    const struct settings_local defaults = {0};
    char *folders[SETTINGS_FOLDERS];
    render_folders_init(folders, &defaults);
    int rc = trial_render_for(set, objects, o, (const char *const[]){folders[0], folders[1], folders[2]}, ret, err);
    for (size_t i = 0; i < SETTINGS_FOLDERS; i++)
        free(folders[i]);
    return rc;
}

/* ---- haproxy -c, over what was rendered into a folder of its own, which is gone after it ---- */

static const char *const names[] = {"maps", "certificates", "files"};

struct haproxy_check {
    char *folder;     /* NULL: there is none */
    char *folders[3]; /* for path(), each with a slash at its end: of maps, certificates and other files */
};

static void check_remove(const char *folder)
{
    DIR *d = opendir(folder);
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (!str_eq(e->d_name, ".") && !str_eq(e->d_name, ".."))
            (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d != NULL)
        closedir(d);
    (void)rmdir(folder);
}

static void haproxy_check_fini(struct haproxy_check *c)
{
    for (size_t i = 0; i < array_len(names); i++) {
        if (c->folders[i] != NULL)
            check_remove(c->folders[i]);
        free(c->folders[i]);
    }
    if (c->folder != NULL)
        check_remove(c->folder);
    free(c->folder);
    *c = (struct haproxy_check){0};
}

static int haproxy_check_init(struct haproxy_check *c, struct error *err)
{
    const char *parent = getenv("TMPDIR");
    *c =
        (struct haproxy_check){.folder = mem_printf("%s/haproxy-k8s-sync.XXXXXX", str_empty(parent) ? "/tmp" : parent)};
    if (mkdtemp(c->folder) == NULL) { /* for us alone */
        (void)error_set(err, ERROR_RETRY, "cannot make a folder %s: %m", c->folder);
        free(c->folder);
        c->folder = NULL;
        return -1;
    }
    for (size_t i = 0; i < array_len(names); i++) {
        c->folders[i] = mem_printf("%s/%s/", c->folder, names[i]);
        if (mkdir(c->folders[i], 0700) != 0)
            return error_set(err, ERROR_RETRY, "cannot make a folder %s: %m", c->folders[i]);
    }
    return 0;
}

static int check_write(const char *path, const char *bytes, size_t len, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int rc = fd >= 0 && fd_write_all(fd, bytes, len) ? 0 : error_set(err, ERROR_RETRY, "cannot write %s: %m", path);
    if (fd >= 0)
        close(fd);
    return rc;
}

struct check_wait {
    struct event_base *base;
    struct buf said;
    enum child_outcome outcome;
    int status;
};

static void check_on_done(void *arg, const struct child_result *result)
{
    struct check_wait *w = arg;
    buf_addn(&w->said, buf_str(result->out), result->out->len);
    w->outcome = result->outcome;
    w->status = result->status;
    event_base_loopbreak(w->base);
}

/* Without the folder, which is gone when it is read. */
static char *check_shown(const char *said, const char *folder)
{
    struct buf out = {0};
    for (const char *hit; (hit = strstr(said, folder)) != NULL;) {
        buf_addn(&out, said, (size_t)(hit - said));
        said = hit + strlen(folder);
        said += *said == '/';
    }
    buf_add(&out, said);
    return buf_take(&out);
}

static int check_judge(const struct haproxy_check *c, const struct check_wait *w, const char *program,
                       struct error *err)
{
    cleanup(mem_free_ptr) char *file = mem_printf("%s/" HAPROXY_CFG, c->folder);
    cleanup(mem_free_ptr) char *text = validation_text_of_program(buf_str(&w->said), file, NULL);
    cleanup(mem_free_ptr) char *shown = check_shown(text, c->folder);
    if (w->outcome == CHILD_EXITED && w->status == 0)
        return 0;
    if (w->outcome == CHILD_EXITED && w->status == 1)
        return error_set(err, ERROR_INVALID, "haproxy -c: %s", shown);
    return error_set(err, ERROR_RETRY, "%s -c did not end as it should (%s %d): %s", program,
                     w->outcome == CHILD_EXITED     ? "exit status"
                     : w->outcome == CHILD_SIGNALED ? "signal"
                                                    : "too late or too much",
                     w->status, shown);
}

/* ERROR_INVALID: what HAProxy says against it, "haproxy -c: line 7: ...", or which file cannot be stored; another kind: HAProxy could
 * not be asked. */
static int haproxy_check_run(const struct haproxy_check *c, const struct rendered *r, const struct trial_options *o,
                             struct error *err)
{
    char quiet[] = "-c", file[] = "-f";
    cleanup(mem_free_ptr) char *config = mem_printf("%s/" HAPROXY_CFG, c->folder);
    cleanup(storage_files_fini) struct storage_files files = {0};
    if (rendered_files(r, NULL, &files, err) != 0 || check_write(config, r->files[0].bytes, r->files[0].len, err) != 0)
        return -1;
    for (size_t i = 0; i < files.count; i++) { /* by the names that they are stored by, which lead nowhere else */
        const struct storage_file *f = &files.list[i];
        cleanup(mem_free_ptr) char *path = mem_printf("%s%s", c->folders[f->place], f->stored);
        if (check_write(path, f->bytes, f->len, err) != 0)
            return -1;
    }
    char *const args[] = {quiet, file, config, NULL};
    const struct child_options run = {.command = o->haproxy,
                                      .args = args,
                                      .env = o->environment,
                                      .max_out_bytes = SAID_MAX_BYTES,
                                      .timeout_ms = o->timeout_ms,
                                      .together = true};
    struct check_wait w = {.base = event_base_new()};
    if (w.base == NULL)
        abort(); /* out of memory */
    int rc = -1;
    if (child_start(w.base, &run, check_on_done, &w, err) != NULL) {
        event_base_dispatch(w.base);
        rc = check_judge(c, &w, o->haproxy, err);
    }
    event_base_free(w.base);
    buf_fini(&w.said);
    return rc;
}

int trial_check_haproxy(const struct template_set *set, struct objects *objects, const struct trial_options *o,
                        const char **ret_skipped, struct error *err)
{
    cleanup(haproxy_check_fini) struct haproxy_check check = {0};
    cleanup(rendered_fini) struct rendered r = {0};
    *ret_skipped = NULL;
    if (o->haproxy == NULL) {
        *ret_skipped = "haproxy_valid: there is no haproxy here, and HAPROXY_BIN names none";
        return trial_render(set, objects, o, &r, err);
    }
    if (haproxy_check_init(&check, err) != 0)
        return -1;
    const char *const folders[] = {check.folders[0], check.folders[1], check.folders[2]};
    if (trial_render_for(set, objects, o, folders, &r, err) != 0)
        return -1;
    return haproxy_check_run(&check, &r, o, err);
}

char *trial_haproxy(char *const *environment)
{
    const char *given = environment_get(environment, "HAPROXY_BIN"), *path = environment_get(environment, "PATH");
    const char *name = str_empty(given) ? "haproxy" : given;
    cleanup(mem_free_ptr) char *all = mem_printf("%s:/usr/local/sbin:/usr/sbin:/sbin", path != NULL ? path : "");
    char *rest = all;
    for (const char *folder; strchr(name, '/') == NULL && (folder = strsep(&rest, ":")) != NULL;) {
        char *program = mem_printf("%s/%s", folder, name);
        if (folder[0] == '/' && access(program, X_OK) == 0)
            return program;
        free(program);
    }
    return mem_strdup(str_empty(given) ? NULL : given); /* one that is named and not there is an error later */
}

/* ---- a test ---- */

struct trial {
    const struct template_set *set;
    struct objects *objects;
    const struct trial_options *options;
    struct rendered rendered;
    struct assertion_subject subject;
    struct trial_result *result;
};

static void trial_found(struct trial_result *r, const struct template_assertion *a, enum trial_verdict verdict,
                        char *why)
{
    r->findings = mem_resize(r->findings, r->count + 1, sizeof(r->findings[0]));
    r->findings[r->count++] = (struct trial_finding){a, verdict, why};
    r->failed += verdict == TRIAL_FAILED;
    r->skipped += verdict == TRIAL_SKIPPED;
}

static void trial_assert(struct trial *t, const struct template_assertion *a)
{
    struct error err = {0};
    char *why = NULL;
    bool rendered = t->subject.rendered != NULL;
    if (!rendered && (a->kind == ASSERT_HAPROXY_VALID || a->kind == ASSERT_DETERMINISTIC)) {
        why = mem_strdup("nothing was rendered");
    } else if (a->kind == ASSERT_HAPROXY_VALID) {
        const char *skipped;
        if (trial_check_haproxy(t->set, t->objects, t->options, &skipped, &err) != 0) {
            why = mem_strdup(err.message);
        } else if (skipped != NULL) {
            trial_found(t->result, a, TRIAL_SKIPPED, mem_strdup(skipped));
            return;
        }
    } else if (a->kind == ASSERT_DETERMINISTIC) {
        cleanup(rendered_fini) struct rendered again = {0};
        why = trial_render(t->set, t->objects, t->options, &again, &err) == 0
                  ? assertion_difference(&t->rendered, &again)
                  : mem_printf("the second render failed: %s", err.message);
    } else {
        why = assertion_failure(a, &t->subject);
    }
    trial_found(t->result, a, why != NULL ? TRIAL_FAILED : TRIAL_PASSED, why);
}

bool trial_is_rendered(const struct template_test *test)
{
    for (size_t i = 0; test != NULL && i < test->assertion_count; i++)
        if (test->assertions[i].kind == ASSERT_RENDERING_ERROR)
            return false;
    return true;
}

void trial_run(const struct template_set *set, const struct template_test *test, const struct trial_options *o,
               struct trial_result *ret)
{
    struct error err = {0};
    *ret = (struct trial_result){.test = test};
    struct trial t = {.set = set, .options = o, .result = ret, .objects = trial_objects(set, set, test, false, &err)};
    if (t.objects == NULL) {
        trial_found(ret, NULL, TRIAL_FAILED, mem_strdup(err.message));
        return;
    }
    yyjson_doc *document = fixtures_document(t.objects, set);
    t.subject.document = yyjson_doc_get_root(document);
    if (trial_render(set, t.objects, o, &t.rendered, &err) == 0)
        t.subject.rendered = &t.rendered;
    else
        t.subject.error = err.message;
    ret->took_us = t.rendered.took_us;
    if (t.subject.rendered == NULL && trial_is_rendered(test))
        trial_found(ret, NULL, TRIAL_FAILED, mem_strdup(err.message));
    else
        for (size_t i = 0; test != NULL && i < test->assertion_count; i++)
            trial_assert(&t, &test->assertions[i]);
    rendered_fini(&t.rendered);
    yyjson_doc_free(document);
    objects_free(t.objects);
}

void trial_result_fini(struct trial_result *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->findings[i].why);
    free(r->findings);
    *r = (struct trial_result){0};
}
