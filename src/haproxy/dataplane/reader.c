#include "haproxy/dataplane/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/backend.h"
#include "haproxy/cfg/content.h"
#include "haproxy/cfg/unsupported_lines.h"
#include "haproxy/dataplane/about.h"
#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/codec.h"
#include "haproxy/dataplane/replacement.h"
#include "haproxy/dataplane/server_adds.h"

/* The list has all backends of the file, each of which takes the API two thirds of the time of its three requests, the way
 * there aside: not for one in more than so many. */
#define LIST_SHARE 4
#define LIST_REFUSED_READINGS 10
#define LIST_SLOW_US 5000000

/* So many backends in one turn of the loop. */
#define BACKENDS_AT_ONCE 8
#define READINGS_ALIKE 2
#define MAX_RESTARTS 5

/* So many and more are asked about several at once: each takes HAProxy a moment, and the way there another. */
#define SEVERAL_FROM 8

static void reader_on_answer(void *arg, const struct dataplane_answer *a);
static void reader_on_turn(void *arg);
static void reader_read_running(struct reader *o);
static void reader_cancel_running(struct reader *o);
static void running_on_answer(void *arg, const struct dataplane_answer *a);
static void api_on_answer(void *arg, const struct dataplane_answer *a);
static void lane_on_answer(void *arg, const struct dataplane_answer *a);

void reader_init(struct reader *o, struct event_base *base, struct dataplane_client *client,
                 void (*done)(void *arg, const struct error *err), void *arg)
{
    *o = (struct reader){.client = client, .runs_version = -1, .done = done, .arg = arg};
    timer_init(&o->turn, base, reader_on_turn, o);
}

static void forget_list(struct reader *o)
{
    timer_cancel(&o->turn);
    codec_list_fini(&o->list);
    free(o->listed_backends);
    o->listed_backends = NULL;
}

static void reader_forget_known(struct reader *o)
{
    for (size_t i = 0; i < o->known_count; i++)
        backend_fini(&o->known[i].backend);
    free(o->known);
    o->known = NULL;
    o->known_count = 0;
}

void reader_fini(struct reader *o)
{
    changes_fini(&o->told);
    read_back_fini(&o->back);
    reader_forget_known(o);
    forget_list(o);
    timer_fini(&o->turn);
    for (size_t i = 1; i < o->lane_count; i++)
        dataplane_client_free(o->lanes[i].client);
    o->lane_count = 0;
}

void reader_cancel(struct reader *o)
{
    forget_list(o);
    reader_cancel_running(o);
}

static void reader_ask(struct reader *o, enum reader_step step)
{
    static const char *const parts[][2] = {
        [READER_RAW] = {"/configuration/raw", NULL},
        [READER_LIST] = {"/configuration/backends?full_section=true", NULL},
        [READER_BACKEND] = {"/configuration/backends/", ""},
        [READER_SERVERS] = {"/configuration/backends/", "/servers"},
        [READER_TEMPLATES] = {"/configuration/backends/", "/server_templates"},
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

/* What runs stays as it was read. */
static void reader_begin_configuration(struct reader *o)
{
    readout_begin_configuration(o->to);
    o->at = 0;
    o->listed = false;
    reader_ask(o, READER_RAW);
}

void reader_start(struct reader *o, struct readout *to)
{
    o->to = to;
    o->restarts = 0;
    o->moved = false;
    reader_cancel(o);
    o->one_by_one -= o->one_by_one > 0;
    reader_forget_known(o);
    readout_begin(to);
    reader_begin_configuration(o);
}

static void reader_finish(struct reader *o, const struct error *err)
{
    o->step = READER_IDLE;
    o->done(o->arg, err);
}

static const char *step_name(enum reader_step step)
{
    static const char *const names[] = {[READER_IDLE] = "nothing",
                                        [READER_RAW] = "configuration file",
                                        [READER_LIST] = "backends",
                                        [READER_BACKEND] = "backend",
                                        [READER_SERVERS] = "servers of backend",
                                        [READER_TEMPLATES] = "server-templates of backend"};
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
static void note_unreadable(enum reader_step step, struct reading *f, struct error *err)
{
    error_prefix(err, "reading %s %s", step_name(step), f->backend.name);
    f->unreadable = *err;
}

/* ---- the file ---- */

/* It is as it was when all was read the last times, and so are the backends that the API makes of it: nothing but what
 * runs needs to be asked for. Twice, as after an edit by hand the API shows what it had for a moment more. Of a file with
 * something to say about it all is read each time. */
static bool take_as_last(struct reader *o, const char *text, size_t len, int64_t file_version)
{
    size_t lines, head = cfg_content_head(text, len, &lines);
    char digest[DIGEST_SHA256_TEXT_BYTES];
    digest_sha256(text + head, len - head, digest);
    /* A file that no API has written yet has no version. */
    bool same = (file_version < 0 || file_version == o->to->version) && o->to->version == o->last_version &&
                lines == o->last_head_lines && str_eq(digest, o->last_digest);
    o->alike = same ? o->alike + 1 : 1;
    same = o->alike > READINGS_ALIKE;
    for (size_t i = 0; i < o->to->count; i++)
        same = same && o->to->found[i].last != NULL;
    o->last_head_lines = lines;
    o->last_version = o->to->version;
    memcpy(o->last_digest, digest, sizeof(digest));
    for (size_t i = 0; i < o->to->count && same; i++)
        readout_as_last(&o->to->found[i], o->to->version);
    return same;
}

/* An earlier run may have sent it by runtime commands: HAProxy is asked whether it runs it, before a reload for nothing. */
static void take_unloaded(struct reader *o, const char *head, size_t len)
{
    int64_t version = o->to->version;
    changes_fini(&o->told);
    o->to->unloaded = version != o->runs_version && replacement_is_unloaded(head, len, version);
    o->to->loaded = version == o->runs_version || replacement_is_unloaded(head, len, version - 1);
    if (o->to->unloaded && o->with_runtime)
        (void)replacement_told(head, len, version, &o->told);
}

/* Of a server that the file has no more, the command was the first half of its end. */
static void take_removals(struct reader *o, const struct cfg_file *file)
{
    cleanup(cfg_lines_fini) struct cfg_lines lines = {0};
    for (size_t i = 0; i < o->told.count; i++) {
        struct change *c = o->told.list[i];
        cfg_lines_find(&lines, file, c->backend->name);
        if (c->fields == SERVER_MAINTENANCE && c->server->maintenance &&
            cfg_lines_server(&lines, c->server->name) == NULL)
            c->kind = CHANGE_REMOVE_SERVER;
    }
}

static void take_raw(struct reader *o, const struct dataplane_answer *a)
{
    cleanup(cfg_file_fini) struct cfg_file head = {0};
    size_t head_len;
    bool known = cfg_content_goes_on_as(o->to->before, a->body, a->body_len, &head_len);
    o->to->version = a->version;
    take_unloaded(o, a->body, head_len);
    cfg_file_parse(&head, a->body, head_len);
    o->as_last = take_as_last(o, a->body, a->body_len, head.version);
    o->to->file = known ? cfg_content_ref(o->to->before) : cfg_content_new(dataplane_answer_take(a), a->body_len);
    error_clear(&o->broken);
    o->file_version = head.version;
    if (o->as_last)
        return;
    const struct cfg_file *file = cfg_content_file(o->to->file, &o->broken);
    if (file == NULL) {
        o->to->file_problem = mem_strdup(o->broken.message);
        o->last_digest[0] = '\0';
        readout_let_file_go(o->to, false);
        return;
    }
    take_removals(o, file);
    o->file_version = known ? head.version : file->version;
    o->to->file_problem = cfg_file_problem(file);
    o->to->defaults_problem = cfg_file_defaults_problem(file);
    o->to->split = o->file_version >= 0 && o->file_version != o->to->version;
    if (o->to->file_problem != NULL || o->to->defaults_problem != NULL)
        o->last_digest[0] = '\0';
}

/* NULL: it is broken. */
static const struct cfg_file *reader_file(const struct reader *o, struct cfg_file *ret)
{
    const struct cfg_file *file = cfg_content_file(o->to->file, NULL);
    if (file == NULL)
        return NULL;
    *ret = *file; /* which goes on owning all of it */
    ret->version = o->file_version;
    return ret;
}

static void take_backend_of_file(struct reading *f, const struct cfg_file *file, const struct error *broken)
{
    struct error err = *broken;
    if (!f->backend.exists || f->unreadable.kind != ERROR_NONE)
        return;
    if (broken->kind != ERROR_NONE || cfg_find_unsupported(file, &f->backend, &err) != 0)
        note_unreadable(READER_RAW, f, &err);
}

static bool wants_list(const struct reader *o)
{
    const struct cfg_file *file = cfg_content_file(o->to->file, NULL);
    size_t backends = 0;
    if (file == NULL || o->to->count < 2 || o->one_by_one > 0)
        return false;
    for (size_t i = 0; i < file->section_count; i++)
        backends += str_eq(file->sections[i].kind, "backend");
    return backends / LIST_SHARE <= o->to->count;
}

/* ---- backends ---- */

static void take_list(struct reader *o, const struct dataplane_answer *a)
{
    o->listed_backends = mem_array(o->to->count, sizeof(struct backend *));
    for (size_t i = 0; i < o->to->count; i++) {
        o->listed_backends[i] = &o->to->found[i].backend;
        o->listed_backends[i]->version = a->version;
    }
    o->listed = a->status == 200 && codec_list_begin(&o->list, a->body, a->body_len, NULL) == 0;
    o->one_by_one = o->listed ? 0 : LIST_REFUSED_READINGS;
}

/* What is not plainly the same in the file stays as it was: not read. */
static void order_listed(struct reader *o, size_t i)
{
    struct cfg_file file;
    struct backend *b = o->listed_backends[i];
    if (!b->exists || (reader_file(o, &file) != NULL && cfg_order_servers(&file, b)))
        return;
    backend_fini(b);
    b->name = mem_strdup(o->to->names[i]);
}

static void reader_take(struct reader *o, const struct dataplane_answer *a)
{
    struct reading *f = &o->to->found[o->at];
    struct error err = {0};
    int status = 0;
    if (o->step == READER_BACKEND && a->status == 404)
        return; /* exists stays false */
    f->backend.exists = true;
    f->backend.version = a->version;
    if (o->step == READER_BACKEND)
        status = codec_read_backend(a->body, a->body_len, &f->backend, &err);
    else if (o->step == READER_SERVERS)
        status = codec_read_servers(a->body, a->body_len, &f->backend, &err);
    else
        status = codec_read_templates(a->body, a->body_len, &f->backend, &err);
    if (status != 0)
        note_unreadable(o->step, f, &err);
}

/* Neither the list, whose version it would not have otherwise, nor the file has it. */
static bool is_absent(const struct reader *o, size_t i)
{
    bool unlisted = o->listed && o->to->found[i].backend.version >= 0;
    const struct cfg_file *file = unlisted ? cfg_content_file(o->to->file, NULL) : NULL;
    return file != NULL && cfg_file_backend(file, o->to->names[i]) == NULL;
}

/* The next few; the rest of them in another turn of the loop, so that what else it has to do waits for no list of
 * thousands of servers. True: that was the last. */
static bool reader_each(struct reader *o, void (*take)(struct reader *o, size_t i))
{
    for (size_t end = o->at + BACKENDS_AT_ONCE; o->at < o->to->count && o->at < end; o->at++)
        take(o, o->at);
    if (o->at < o->to->count)
        timer_set(&o->turn, 0);
    return o->at == o->to->count;
}

static void compare_with_file(struct reader *o, size_t i)
{
    struct cfg_file read;
    take_backend_of_file(&o->to->found[i], reader_file(o, &read), &o->broken);
}

static void reader_compare(struct reader *o)
{
    if (reader_each(o, compare_with_file))
        reader_read_running(o);
}

static void reader_configured(struct reader *o)
{
    o->step = READER_COMPARE;
    o->at = o->as_last ? o->to->count : 0;
    reader_compare(o);
}

/* The next one from `at` on that the list does not settle. */
static void ask_backend(struct reader *o)
{
    while (o->at < o->to->count && (o->to->found[o->at].backend.exists || is_absent(o, o->at)))
        o->at++;
    if (o->at < o->to->count)
        reader_ask(o, READER_BACKEND);
    else
        reader_configured(o);
}

static void reader_read_list(struct reader *o)
{
    if (o->list.doc != NULL && codec_list_read(&o->list, o->listed_backends, o->to->count, BACKENDS_AT_ONCE)) {
        timer_set(&o->turn, 0);
        return;
    }
    codec_list_fini(&o->list);
    if (!reader_each(o, order_listed))
        return;
    forget_list(o);
    o->at = 0;
    ask_backend(o);
}

static void reader_on_turn(void *arg)
{
    struct reader *o = arg;
    if (o->step == READER_LIST)
        reader_read_list(o);
    else
        reader_compare(o);
}

/* ---- one after the other ---- */

static void reader_advance(struct reader *o)
{
    if (o->step == READER_RAW && o->as_last) {
        reader_configured(o);
    } else if (o->step == READER_RAW && wants_list(o)) {
        reader_ask(o, READER_LIST);
    } else if (o->step == READER_LIST && o->listed_backends != NULL) {
        reader_read_list(o);
    } else if (o->step == READER_RAW || o->step == READER_LIST) {
        ask_backend(o);
    } else if (o->step == READER_TEMPLATES || !o->to->found[o->at].backend.exists ||
               o->to->found[o->at].unreadable.kind != ERROR_NONE) { /* not understood: no more of it */
        o->at++;
        ask_backend(o);
    } else {
        reader_ask(o, o->step + 1);
    }
}

/* All of the configuration is to be of the file's version. Where others write faster than it can be read, it is taken as
 * it is: a backend that is newer is not compared with the file, and a write for the file's version is a conflict. */
static bool must_begin_again(struct reader *o, int64_t version)
{
    if (o->step == READER_RAW || version == o->to->version)
        return false;
    o->to->outdated = o->restarts >= MAX_RESTARTS;
    return !o->to->outdated;
}

static void reader_on_answer(void *arg, const struct dataplane_answer *a)
{
    struct reader *o = arg;
    struct error err = {0};
    /* Whatever it says of the list, it may well answer about each backend. */
    bool too_large = a->error != NULL && a->error->kind == ERROR_INVALID;
    bool refused = o->step == READER_LIST && (too_large || (a->error == NULL && a->status != 200 && a->status != 401 &&
                                                            a->status != 403 && a->status != 503));
    if (!refused && check_status(o, a, &err) != 0) {
        bool of_backend = o->step != READER_RAW && o->step != READER_LIST;
        if (o->step == READER_LIST && a->duration_us >= LIST_SLOW_US)
            o->one_by_one = LIST_REFUSED_READINGS;
        error_prefix(&err, "reading %s%s%s", step_name(o->step), of_backend ? " " : "",
                     of_backend ? o->to->names[o->at] : "");
        reader_finish(o, &err);
        return;
    }
    if (!refused && must_begin_again(o, a->version)) {
        o->restarts++;
        reader_begin_configuration(o);
        return;
    }
    if (o->step == READER_RAW)
        take_raw(o, a);
    else if (o->step == READER_LIST)
        take_list(o, a);
    else
        reader_take(o, a);
    reader_advance(o);
}

/* ---- what HAProxy runs: whatever it answers, the file was read ---- */

static void reader_cancel_running(struct reader *o)
{
    for (size_t i = 0; i < o->lane_count; i++) {
        if (o->lanes[i].busy)
            dataplane_cancel(o->lanes[i].client);
        o->lanes[i].busy = false;
    }
}

/* ---- the process, and the commands that it got ---- */

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

/* ---- its servers ---- */

/* For a backend without a server the API has no data: 404, or 500 in 3.0. The file has none either. */
static bool runs_nothing(const struct reader *o, const struct backend *b, const struct dataplane_answer *a)
{
    return o->to->worker_pid >= 0 && a->error == NULL && (a->status == 404 || a->status == 500) &&
           b->server_count == 0 && b->template_count == 0;
}

/* Who gave no answer in all the time of a request gives none about the next backend either. */
static void give_runtime_up(struct reader *o, const struct error *err)
{
    reader_cancel_running(o);
    for (size_t i = 0; i < o->to->count; i++)
        runtime_give_up(&o->to->found[i].runtime, err->message);
    o->to->outdated = o->to->outdated || o->moved;
    reader_finish(o, NULL);
}

static void end_of_running(struct reader *o)
{
    if (o->moved && o->restarts < MAX_RESTARTS) {
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

/* The next backends from `at` on, as many as there is room for. */
static void ask_runtime(struct reader *o)
{
    bool busy = false;
    for (size_t i = 0; i < o->lane_count; i++) {
        for (; o->at < o->to->count; o->at++) {
            const struct reading *f = &o->to->found[o->at];
            if (f->backend.exists && !f->runtime.readable && f->runtime.why == NULL)
                break;
        }
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
    struct error err = {0};
    struct reading *f = &o->to->found[l->at];
    struct runtime *r = &f->runtime;
    if (dataplane_answer_check(a, &err) != 0 || codec_read_runtime(a->body, a->body_len, r, &err) != 0) {
        runtime_fini(r);
        r->readable = runs_nothing(o, readout_backend(f), a);
        if (!r->readable)
            r->why = mem_strdup(err.message);
    }
    ask_runtime(o);
}

/* ---- one answer after the other ---- */

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
    bool another = worker.pid != pid || worker.uptime_s < uptime_s; /* another process, perhaps */
    for (size_t i = 0; i < o->to->count && another; i++)
        runtime_fini(&o->to->found[i].runtime);
    o->to->worker_pid = worker.pid;
    o->to->worker_uptime_s = worker.uptime_s;
    if (status == 0)
        snprintf(o->to->haproxy, sizeof(o->to->haproxy), "%s", worker.version);
    snprintf(o->haproxy, sizeof(o->haproxy), "%s", status == 0 ? worker.version : "");
    if (a->error != NULL) {
        give_runtime_up(o, a->error);
        return;
    }
    o->step = READER_API;
    dataplane_get_root(o->client, "/v3/info", api_on_answer, o);
}

static void api_on_answer(void *arg, const struct dataplane_answer *a)
{
    struct reader *o = arg;
    cleanup(mem_free_ptr) char *api = NULL;
    bool known =
        a->error == NULL && a->status == 200 && about_read_api(a->body, a->body_len, &api, NULL) == 0 && api != NULL;
    o->adds = known && server_adds_known(api, o->haproxy);
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

static void reader_read_running(struct reader *o)
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
