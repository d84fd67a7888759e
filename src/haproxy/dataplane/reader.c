#include "haproxy/dataplane/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/content.h"
#include "haproxy/cfg/servers.h"
#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/codec.h"
#include "haproxy/dataplane/replacement.h"

#define MAX_RESTARTS 5

static void reader_on_answer(void *arg, const struct dataplane_answer *a);

void reader_init(struct reader *o, struct dataplane_client *client, void (*done)(void *arg, const struct error *err),
                 void *arg)
{
    *o = (struct reader){.client = client, .runs_version = -1, .done = done, .arg = arg};
}

void reader_fini(struct reader *o)
{
    changes_fini(&o->told);
    read_back_fini(&o->back);
}

static void reader_ask(struct reader *o, enum reader_step step)
{
    static const char *const parts[][2] = {
        [READER_BACKEND] = {"/configuration/backends/", ""},
        [READER_SERVERS] = {"/configuration/backends/", "/servers"},
        [READER_TEMPLATES] = {"/configuration/backends/", "/server_templates"},
        [READER_RAW] = {"/configuration/raw", NULL},
        [READER_TOLD] = {NULL, NULL},
        [READER_WORKER] = {"/runtime/info", NULL},
        [READER_RUNTIME] = {"/runtime/backends/", "/servers"},
    };
    o->step = step;
    if (parts[step][1] == NULL) {
        dataplane_send(o->client, "GET", parts[step][0], NULL, reader_on_answer, o);
        return;
    }
    cleanup(mem_free_ptr) char *name = str_url_encode(o->to->names[o->at]);
    cleanup(mem_free_ptr) char *path = mem_printf("%s%s%s", parts[step][0], name, parts[step][1]);
    dataplane_send(o->client, "GET", path, NULL, reader_on_answer, o);
}

static void reader_begin(struct reader *o)
{
    readout_begin(o->to);
    o->at = 0;
    reader_ask(o, o->to->count > 0 ? READER_BACKEND : READER_RAW);
}

void reader_start(struct reader *o, struct readout *to)
{
    o->to = to;
    o->restarts = 0;
    reader_begin(o);
}

static void reader_finish(struct reader *o, const struct error *err)
{
    o->step = READER_IDLE;
    o->done(o->arg, err);
}

static const char *step_name(enum reader_step step)
{
    static const char *const names[] = {[READER_IDLE] = "nothing",
                                        [READER_BACKEND] = "backend",
                                        [READER_SERVERS] = "servers of backend",
                                        [READER_TEMPLATES] = "server-templates of backend",
                                        [READER_RAW] = "configuration file",
                                        [READER_TOLD] = "what HAProxy was told",
                                        [READER_WORKER] = "running HAProxy",
                                        [READER_RUNTIME] = "running servers of backend"};
    return names[step];
}

/* An answer that is no 200: what that means. The backend itself may be missing (404); nothing else may. */
static int check_status(struct reader *o, const struct dataplane_answer *a, struct error *err)
{
    bool absent = a->error == NULL && a->status == 404;
    bool wants_one = absent || (a->error == NULL && a->status / 100 <= 3); /* not so what an ill API or a proxy says */
    if (wants_one && a->version < 0)
        return error_set(err, ERROR_INVALID,
                         "%s answers HTTP %d without a configuration version to " DATAPLANE_API
                         "/...: is this a Data Plane API of version 3?%s%s",
                         dataplane_client_url(o->client), a->status, a->excerpt[0] != '\0' ? " It says: " : "",
                         a->excerpt);
    if ((absent && o->step == READER_BACKEND) || dataplane_answer_check(a, err) == 0)
        return 0;
    if (o->step == READER_RAW && strstr(a->excerpt, "token too long") != NULL)
        return error_prefix(err, "a line is longer than 64 KiB: the Data Plane API stops there, and a write would lose "
                                 "the rest of haproxy.cfg; split the line, or move its list into a file");
    return -1;
}

/* One backend that cannot be understood keeps no other one up. */
static void note_unreadable(const struct reader *o, struct reading *f, struct error *err)
{
    error_prefix(err, "reading %s %s", step_name(o->step), f->backend.name);
    f->unreadable = *err;
}

static void take_backend_of_file(struct reader *o, struct reading *f, const struct cfg_file *file,
                                 const struct error *broken)
{
    struct error err = *broken;
    if (!f->backend.exists || f->unreadable.kind != ERROR_NONE)
        return;
    if (broken->kind != ERROR_NONE || cfg_find_unsupported(file, &f->backend, &err) != 0)
        note_unreadable(o, f, &err);
}

/* Who finds that an earlier run had it told to HAProxy asks whether HAProxy runs it, before it is loaded for nothing. */
static void take_unloaded(struct reader *o, const char *head, size_t len)
{
    int64_t version = o->to->version;
    changes_fini(&o->told);
    o->to->unloaded = version != o->runs_version && replacement_is_unloaded(head, len, version);
    o->to->loaded = version == o->runs_version || replacement_is_unloaded(head, len, version - 1);
    if (o->to->unloaded && o->with_runtime)
        (void)replacement_told(head, len, version, &o->told);
}

static void take_raw(struct reader *o, const struct dataplane_answer *a)
{
    cleanup(cfg_file_fini) struct cfg_file head = {0};
    struct error broken = {0};
    size_t head_len;
    bool known = cfg_content_goes_on_as(o->to->before, a->body, a->body_len, &head_len);
    take_unloaded(o, a->body, head_len);
    cfg_file_parse(&head, a->body, head_len);
    o->to->file = known ? cfg_content_ref(o->to->before) : cfg_content_new(dataplane_answer_take(a), a->body_len);
    const struct cfg_file *file = cfg_content_file(o->to->file, &broken);
    if (file == NULL) {
        for (size_t i = 0; i < o->to->count; i++)
            take_backend_of_file(o, &o->to->found[i], NULL, &broken);
        o->to->file_problem = mem_strdup(broken.message);
        readout_let_file_go(o->to, false);
        return;
    }
    struct cfg_file now = *file; /* which goes on owning all of it */
    now.version = known ? head.version : now.version;
    for (size_t i = 0; i < o->to->count; i++)
        take_backend_of_file(o, &o->to->found[i], &now, &broken);
    o->to->file_problem = cfg_file_problem(&now);
    o->to->defaults_problem = cfg_file_defaults_problem(&now);
    o->to->split = now.version >= 0 && now.version != o->to->version;
}

static void reader_take(struct reader *o, const struct dataplane_answer *a)
{
    if (o->step == READER_RAW) {
        take_raw(o, a);
        return;
    }
    struct reading *f = &o->to->found[o->at];
    struct error err = {0};
    int status = 0;
    if (o->step == READER_BACKEND && a->status == 404)
        return; /* exists stays false */
    f->backend.exists = true;
    if (o->step == READER_BACKEND)
        status = codec_read_backend(a->body, a->body_len, &f->backend, &err);
    else if (o->step == READER_SERVERS)
        status = codec_read_servers(a->body, a->body_len, &f->backend, &err);
    else
        status = codec_read_templates(a->body, a->body_len, &f->backend, &err);
    if (status != 0)
        note_unreadable(o, f, &err);
}

/* ---- the running HAProxy: whatever it answers, the file was read ---- */

static bool is_of_runtime(const struct reader *o)
{
    return o->step == READER_TOLD || o->step == READER_WORKER || o->step == READER_RUNTIME;
}

/* It had time to come about: what is not there now, will not come. */
static void reader_ask_told(struct reader *o, struct transaction_action action)
{
    if (action.type == TRANSACTION_SEND && action.delay_ms == 0) {
        o->step = READER_TOLD;
        dataplane_send(o->client, action.method, action.path, NULL, reader_on_answer, o);
        return;
    }
    if (action.type == TRANSACTION_FINISHED && o->back.why.kind == ERROR_NONE) {
        o->to->unloaded = false;
        o->to->loaded = true;
        o->runs_version = o->to->version;
    }
    changes_fini(&o->told);
    reader_ask(o, READER_WORKER);
}

static int read_runtime(struct reader *o, const struct dataplane_answer *a, struct error *err)
{
    if (dataplane_answer_check(a, err) != 0)
        return -1;
    if (o->step == READER_RUNTIME)
        return codec_read_runtime(a->body, a->body_len, &o->to->found[o->at].runtime, err);
    struct codec_worker worker;
    o->to->worker_silent = codec_read_worker(a->body, a->body_len, &worker, err) != 0;
    if (o->to->worker_silent)
        return -1;
    o->to->worker_pid = worker.pid;
    o->to->worker_uptime_s = worker.uptime_s;
    snprintf(o->to->haproxy, sizeof(o->to->haproxy), "%s", worker.version);
    return 0;
}

/* For a backend without a server the API has no data: 404, or 500 in 3.0. The file has none either. */
static bool runs_nothing(const struct reader *o, const struct dataplane_answer *a)
{
    const struct backend *b = &o->to->found[o->at].backend;
    return o->to->worker_pid >= 0 && a->error == NULL && (a->status == 404 || a->status == 500) &&
           b->server_count == 0 && b->template_count == 0;
}

static void reader_take_runtime(struct reader *o, const struct dataplane_answer *a)
{
    struct error err = {0};
    int status = read_runtime(o, a, &err);
    if (o->step == READER_WORKER || status == 0)
        return;
    struct runtime *r = &o->to->found[o->at].runtime;
    runtime_fini(r);
    r->readable = runs_nothing(o, a);
    if (!r->readable)
        r->why = mem_strdup(err.message);
}

/* Who gave no answer in all the time of a request gives none about the next backend either. */
static void give_runtime_up(struct reader *o, const struct error *err)
{
    for (size_t i = o->step == READER_WORKER ? 0 : o->at; i < o->to->count; i++)
        o->to->found[i].runtime.why = mem_strdup(err->message);
    reader_finish(o, NULL);
}

/* Everything must have been read at one version; a change in between (another writer) starts again. */
static bool version_moved(struct reader *o, int64_t version)
{
    if (o->to->version < 0)
        o->to->version = version; /* the first answer decides */
    if (o->step == READER_BACKEND)
        o->to->found[o->at].backend.version = version;
    return version != o->to->version;
}

/* The next backend from `at` on that there is. */
static void ask_runtime(struct reader *o)
{
    while (o->at < o->to->count && !o->to->found[o->at].backend.exists)
        o->at++;
    if (o->at < o->to->count)
        reader_ask(o, READER_RUNTIME);
    else
        reader_finish(o, NULL);
}

static void reader_advance(struct reader *o)
{
    if (o->step == READER_RAW && o->told.count > 0) {
        o->back.strict = true; /* what came of the write nobody knows */
        reader_ask_told(o, read_back_start(&o->back, &o->told));
        return;
    }
    if (o->step == READER_RAW && o->with_runtime) {
        reader_ask(o, READER_WORKER);
        return;
    }
    if (is_of_runtime(o)) {
        o->at = o->step == READER_WORKER ? 0 : o->at + 1;
        ask_runtime(o);
        return;
    }
    if (o->step == READER_RAW) {
        reader_finish(o, NULL);
        return;
    }
    const struct reading *f = &o->to->found[o->at];
    if (o->step != READER_TEMPLATES && f->backend.exists && f->unreadable.kind == ERROR_NONE)
        reader_ask(o, o->step + 1);
    else if (++o->at < o->to->count)
        reader_ask(o, READER_BACKEND);
    else
        reader_ask(o, READER_RAW);
}

static void reader_on_answer(void *arg, const struct dataplane_answer *a)
{
    struct reader *o = arg;
    struct error err = {0};
    bool runtime = is_of_runtime(o);
    int status = runtime ? 0 : check_status(o, a, &err);
    if (status == 0 && (!runtime || a->version >= 0) && version_moved(o, a->version)) {
        if (++o->restarts <= MAX_RESTARTS) {
            reader_begin(o);
            return;
        }
        status = error_set(&err, ERROR_CONFLICT, "the configuration version changed %u times while it was read",
                           o->restarts);
    }
    if (status != 0) {
        bool of_backend = o->step != READER_RAW && o->at < o->to->count;
        error_prefix(&err, "reading %s%s%s", step_name(o->step), of_backend ? " " : "",
                     of_backend ? o->to->names[o->at] : "");
        reader_finish(o, &err);
        return;
    }
    if (o->step == READER_TOLD) {
        reader_ask_told(o, read_back_answer(&o->back, a));
        return;
    }
    if (runtime && a->error != NULL) {
        give_runtime_up(o, a->error);
        return;
    }
    if (runtime)
        reader_take_runtime(o, a);
    else
        reader_take(o, a);
    reader_advance(o);
}
