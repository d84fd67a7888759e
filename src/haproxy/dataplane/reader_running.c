/* What HAProxy runs: whatever it answers, the file was read. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/codec.h"
#include "haproxy/dataplane/reader_internal.h"

/* So many and more are asked about several at once: each takes HAProxy a moment, and the way there another. */
#define SEVERAL_FROM 8

static void running_on_answer(void *arg, const struct dataplane_answer *a);
static void lane_on_answer(void *arg, const struct dataplane_answer *a);

/* ---- several at once ---- */

void reader_running_fini(struct reader *o)
{
    for (size_t i = 1; i < o->lane_count; i++)
        dataplane_client_free(o->lanes[i].client);
    o->lane_count = 0;
}

void reader_cancel_running(struct reader *o)
{
    for (size_t i = 0; i < o->lane_count; i++) {
        if (o->lanes[i].busy)
            dataplane_cancel(o->lanes[i].client);
        o->lanes[i].busy = false;
    }
}

/* ---- the process, and what it was told ---- */

static void note_version(struct reader *o, const struct dataplane_answer *a)
{
    o->moved = o->moved || (a->version >= 0 && a->version != o->to->version);
}

static void ask_worker(struct reader *o)
{
    o->step = READER_WORKER;
    dataplane_send(o->client, "GET", "/runtime/info", NULL, running_on_answer, o);
}

/* It had time to come about: what is not there now, will not come. */
static void reader_ask_told(struct reader *o, struct transaction_action action)
{
    if (action.type == TRANSACTION_SEND && action.delay_ms == 0) {
        o->step = READER_TOLD;
        dataplane_send(o->client, action.method, action.path, NULL, running_on_answer, o);
        return;
    }
    if (action.type == TRANSACTION_FINISHED && o->back.why.kind == ERROR_NONE) {
        o->to->unloaded = false;
        o->to->loaded = true;
        o->runs_version = o->to->version;
    }
    changes_fini(&o->told);
    ask_worker(o);
}

static void forget_runtime(struct reader *o)
{
    for (size_t i = 0; i < o->to->count; i++)
        runtime_fini(&o->to->found[i].runtime);
}

/* ---- its servers ---- */

/* For a backend without a server the API has no data: 404, or 500 in 3.0. The file has none either. */
static bool runs_nothing(const struct reader *o, const struct backend *b, const struct dataplane_answer *a)
{
    return o->to->worker_pid >= 0 && a->error == NULL && (a->status == 404 || a->status == 500) &&
           b->server_count == 0 && b->template_count == 0;
}

static void take_runtime(const struct reader *o, struct reading *f, const struct dataplane_answer *a)
{
    struct error err = {0};
    struct runtime *r = &f->runtime;
    if (dataplane_answer_check(a, &err) == 0 && codec_read_runtime(a->body, a->body_len, r, &err) == 0)
        return;
    runtime_fini(r);
    r->readable = runs_nothing(o, readout_backend(f), a);
    if (!r->readable)
        r->why = mem_strdup(err.message);
}

/* Who gave no answer in all the time of a request gives none about the next backend either. */
static void give_runtime_up(struct reader *o, const struct error *err)
{
    reader_cancel_running(o);
    for (size_t i = 0; i < o->to->count; i++) {
        struct runtime *r = &o->to->found[i].runtime;
        if (!r->readable && r->why == NULL)
            r->why = mem_strdup(err->message);
    }
    o->to->outdated = o->to->outdated || o->moved;
    reader_finish(o, NULL);
}

static void end_of_running(struct reader *o)
{
    if (o->moved && o->restarts < READER_MAX_RESTARTS) {
        /* Others wrote while it was read: of the backends that are what they were then, what runs need not be read again. */
        o->restarts++;
        o->moved = false;
        reader_forget_known(o);
        o->known_count = o->to->count;
        o->known = mem_array(o->known_count, sizeof(*o->known));
        for (size_t i = 0; i < o->known_count; i++) {
            struct reading *f = &o->to->found[i];
            o->known[i] = (struct reading){.last = f->last, .as_last = f->as_last, .backend = f->backend};
            backend_init(&f->backend);
        }
        reader_begin_configuration(o);
        return;
    }
    o->to->outdated = o->to->outdated || o->moved;
    reader_finish(o, NULL);
}

static void lane_ask(struct reader_lane *l, size_t at)
{
    cleanup(mem_free_ptr) char *name = str_url_encode(l->reader->to->names[at]);
    cleanup(mem_free_ptr) char *path = mem_printf("/runtime/backends/%s/servers", name);
    l->busy = true;
    l->at = at;
    dataplane_send(l->client, "GET", path, NULL, lane_on_answer, l);
}

static bool wants_runtime(const struct reading *f)
{
    return f->backend.exists && !f->runtime.readable && f->runtime.why == NULL;
}

/* The next backends from `at` on, as many as there is room for. */
static void ask_runtime(struct reader *o)
{
    bool busy = false;
    for (size_t i = 0; i < o->lane_count; i++) {
        while (o->at < o->to->count && !wants_runtime(&o->to->found[o->at]))
            o->at++;
        if (!o->lanes[i].busy && o->at < o->to->count)
            lane_ask(&o->lanes[i], o->at++);
        busy = busy || o->lanes[i].busy;
    }
    if (!busy)
        end_of_running(o);
}

static void lane_on_answer(void *arg, const struct dataplane_answer *a)
{
    struct reader_lane *l = arg;
    struct reader *o = l->reader;
    l->busy = false;
    note_version(o, a);
    if (a->error != NULL) {
        give_runtime_up(o, a->error);
        return;
    }
    take_runtime(o, &o->to->found[l->at], a);
    ask_runtime(o);
}

/* ---- one after the other ---- */

static void running_on_answer(void *arg, const struct dataplane_answer *a)
{
    struct reader *o = arg;
    note_version(o, a);
    if (o->step == READER_TOLD) {
        reader_ask_told(o, read_back_answer(&o->back, a));
        return;
    }
    struct error err = {0};
    struct codec_worker worker = {.pid = -1, .uptime_s = -1};
    int64_t pid = o->to->worker_pid, uptime_s = o->to->worker_uptime_s;
    int status = dataplane_answer_check(a, &err);
    if (status == 0) {
        status = codec_read_worker(a->body, a->body_len, &worker, &err);
        o->to->worker_silent = status != 0;
    }
    if (worker.pid != pid || worker.uptime_s < uptime_s)
        forget_runtime(o); /* of another process, perhaps */
    o->to->worker_pid = worker.pid;
    o->to->worker_uptime_s = worker.uptime_s;
    if (status == 0)
        snprintf(o->to->haproxy, sizeof(o->to->haproxy), "%s", worker.version);
    if (a->error != NULL) {
        give_runtime_up(o, a->error);
        return;
    }
    o->step = READER_RUNTIME;
    o->at = 0;
    size_t wanted = o->to->count >= SEVERAL_FROM ? READER_LANES : 1;
    o->lanes[0] = (struct reader_lane){.reader = o, .client = o->client};
    o->lane_count = o->lane_count > 0 ? o->lane_count : 1;
    for (; o->lane_count < wanted; o->lane_count++) {
        struct dataplane_client *twin = dataplane_client_twin(o->client);
        if (twin == NULL)
            break;
        o->lanes[o->lane_count] = (struct reader_lane){.reader = o, .client = twin};
    }
    ask_runtime(o);
}

void reader_read_running(struct reader *o)
{
    for (size_t i = 0; i < o->known_count; i++)
        if (!backend_same(readout_backend(&o->known[i]), readout_backend(&o->to->found[i])))
            runtime_fini(&o->to->found[i].runtime);
    reader_forget_known(o);
    if (o->told.count > 0) {
        o->back.strict = true; /* what came of the write nobody knows */
        reader_ask_told(o, read_back_start(&o->back, &o->told));
    } else if (o->with_runtime) {
        ask_worker(o);
    } else {
        reader_finish(o, NULL);
    }
}
