#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "world.h"

const char *const api_ask_names[ASKS] = {"read",   "runtime", "list", "begin", "change",
                                         "commit", "delete",  "fast", "tell",  "reloads"};
const char *const api_fault_names[FAULTS] = {"refused", "reset", "lost", "hung", "late",
                                             "slow",    "500",   "503",  "400",  "deaf"};

static void add(struct section *s, const struct server *line)
{
    section_put(s, line);
}

/* Another controller's, which weighs as it likes. */
static void add_another(struct section *s, size_t backend, unsigned nodes)
{
    for (unsigned n = backend == 0 ? 1 : 0; backend < OURS && n < nodes; n++) {
        struct server line = {.port = 30080 + (unsigned)backend, .weight = 1 + (int)n, .check = ON};
        snprintf(line.name, NAME_BYTES, "n%u-%u", n, line.port);
        snprintf(line.address, NAME_BYTES, "10.0.0.%u", 10 + n);
        add(s, &line);
    }
}

/* Each of our backends has what an operator keeps there; be has n0, too. */
void api_init(struct api *a, struct world *w, size_t number)
{
    struct server first = {.address = "10.0.0.10",
                           .port = 30080,
                           .weight = 100,
                           .check = ON,
                           .maxconn = 77,
                           .options = "crc32c,unique-id"};
    static const struct server
        spare = {.name = "spare", .address = "10.9.9.9", .port = 80, .weight = 1, .check = ON, .backup = ON},
        keep = {.name = "keep1", .address = "10.9.9.8", .port = 80, .weight = 7, .options = "ssl,cert-cn"};
    snprintf(first.name, NAME_BYTES, "%sn0", own_prefix());
    memset(a, 0, sizeof(*a));
    a->world = w;
    a->number = number;
    snprintf(a->url, sizeof(a->url), "http://api%zu", number);
    a->file.api = a->runtime.api = a;
    a->memory.version = 5;
    a->shown_version = -1;
    for (size_t b = 0; b < BACKENDS; b++) {
        struct section *s = &a->memory.of[b];
        s->exists = b != 1 || w->settings.create == 0;
        if (!s->exists)
            continue;
        snprintf(s->mode, sizeof(s->mode), "tcp");
        if (b == 0)
            add(s, &first);
        add(s, &spare);
        if (b != 1)
            add(s, &keep);
        if (w->settings.another != 0)
            add_another(s, b, w->settings.nodes);
    }
    clusters_init(a);
    a->on_disk = a->good = a->kept = a->memory;
    local_init(a);
    running_load(&a->running, &a->on_disk);
    a->pid = 100;
    a->outcomes[++a->reload_number] = 's'; /* HAProxy was loaded by it once, before the daemon came */
    a->pid_since_us = w->now_us;
    a->window_us = w->now_us;
}

static void request_fini(struct request *r)
{
    free(r->json);
    free(r->actions);
    buf_fini(&r->reply.body);
    *r = (struct request){0};
}

void api_end_transaction(struct transaction *t)
{
    free(t->conf);
    *t = (struct transaction){0};
}

void api_fini(struct api *a)
{
    local_fini(a);
    request_fini(&a->file.request);
    request_fini(&a->runtime.request);
    for (size_t i = 0; i < ORPHANS_MAX; i++)
        request_fini(&a->orphans[i]);
    for (size_t i = 0; i < array_len(a->transactions); i++)
        api_end_transaction(&a->transactions[i]);
}

/* ---- requests ---- */

enum ask api_ask(const struct dataplane_client *c, const char *method, const char *path)
{
    if (c == &c->api->runtime)
        return ASK_COMMAND;
    if (str_has_prefix(path, "/runtime/"))
        return strcmp(method, "GET") == 0 ? ASK_RUNTIME : ASK_COMMAND;
    if (str_has_prefix(path, "/reloads"))
        return ASK_RELOADS;
    if (str_has_prefix(path, "/transactions"))
        return strcmp(method, "GET") == 0    ? ASK_LIST
               : strcmp(method, "POST") == 0 ? ASK_BEGIN
               : strcmp(method, "PUT") == 0  ? ASK_COMMIT
                                             : ASK_DELETE;
    if (str_has_prefix(path, "/stats/"))
        return ASK_RUNTIME;
    if (strcmp(method, "GET") == 0)
        return ASK_READ;
    if (str_has_prefix(path, "/storage/"))
        return strcmp(method, "DELETE") == 0 ? ASK_DELETE : ASK_COMMAND;
    if (strstr(path, "only_validate=true") != NULL)
        return ASK_CHANGE;
    return strstr(path, "transaction_id=") != NULL ? ASK_CHANGE : ASK_UPDATE;
}

bool api_take_fault(struct api *a, enum ask ask, enum fault_mode *ret)
{
    for (size_t i = 0; i < FAULTS_MAX; i++) {
        struct fault *f = &a->faults[i];
        if ((f->asks & (1u << ask)) == 0)
            continue;
        *ret = f->mode;
        if (--f->times == 0)
            *f = (struct fault){0};
        return true;
    }
    return false;
}

static uint64_t usual_us(enum ask ask)
{
    switch (ask) {
    case ASK_COMMIT:
    case ASK_UPDATE:
        return 35000;
    case ASK_BEGIN:
    case ASK_CHANGE:
        return 4000;
    default:
        return 1500;
    }
}

static void answer_nothing(struct request *r, uint64_t after_us, enum http_progress progress)
{
    r->answer_us = r->sent_us + after_us;
    r->reply.progress = progress;
    r->reply.status = -1; /* whatever comes of it */
}

static void answer_error(struct request *r, int status)
{
    r->at_us = 0;
    r->reply.status = status;
    buf_printf(&r->reply.body, "{\"code\":%d,\"message\":\"by a fault\"}", status);
}

/* A preview of a transaction is none. */
static bool validates(const struct request *r)
{
    return str_eq(r->method, "POST") && str_has_prefix(r->path, "/configuration/raw?");
}

static void befall(struct api *a, struct request *r, enum ask ask, enum fault_mode mode)
{
    if (r->answer_us > a->troubled_us)
        a->troubled_us = r->answer_us;
    switch (mode) {
    case FAULT_REFUSED:
    case FAULT_RESET:
        r->at_us = 0;
        answer_nothing(r, 1000, mode == FAULT_REFUSED ? HTTP_NOT_SENT : HTTP_SENT);
        break;
    case FAULT_LOST:
        answer_nothing(r, usual_us(ask), HTTP_SENT);
        break;
    case FAULT_HUNG:
    case FAULT_LATE:
        r->at_us = r->sent_us + (mode == FAULT_LATE ? TIMEOUT_US + 500000 : 1000);
        answer_nothing(r, TIMEOUT_US, HTTP_SENT);
        break;
    case FAULT_SLOW:
        r->at_us = r->sent_us + 1500000;
        r->answer_us = r->sent_us + 3000000;
        break;
    case FAULT_500:
        answer_error(r, 500);
        break;
    case FAULT_503:
        answer_error(r, 503);
        break;
    case FAULT_400:
        a->refused_us = a->world->now_us;
        answer_error(r, ask == ASK_COMMIT || ask == ASK_UPDATE || validates(r) ? 400 : 500);
        break;
    case FAULT_DEAF:
        a->refused_us = a->world->now_us;
        r->deaf = true;
        break;
    case FAULTS:
        break;
    }
    if (r->answer_us > a->troubled_us)
        a->troubled_us = r->answer_us;
}

/* What goes with a write of the whole file was decided when that was asked for. */
static struct decided decided(struct api *a, const struct dataplane_client *c, const char *method, const char *path)
{
    bool gets = strcmp(method, "GET") == 0;
    if (c == &a->file && !gets && (str_has_prefix(path, "/configuration/raw?") || str_has_prefix(path, "/runtime/")))
        return a->write_decided;
    if (gets && str_eq(path, "/configuration/raw"))
        a->write_decided = clusters_decided(a);
    return clusters_decided(a);
}

void api_send(struct dataplane_client *c, const char *method, const char *path, const char *json, const char *actions,
              void (*on_answer)(void *arg, const struct dataplane_answer *a), void *arg)
{
    struct api *a = c->api;
    struct request *r = &c->request;
    enum ask ask = api_ask(c, method, path);
    enum fault_mode mode;
    if (r->busy)
        violate(a->world, "one-at-a-time", "%s: %s %s while %s %s is under way", a->url, method, path, r->method,
                r->path);
    bool only_validates = strstr(path, "only_validate=true") != NULL;
    check_sent(a, only_validates ? "GET" : method, path);
    if (str_has_prefix(path, "/configuration/raw?") && json != NULL)
        whole_api_begins(a, json, !only_validates);
    request_fini(r);
    *r = (struct request){
        .busy = true, .sent_us = a->world->now_us, .life = a->world->life, .on_answer = on_answer, .arg = arg};
    r->ask = ask;
    r->decided = decided(a, c, method, path);
    buf_init(&r->reply.body, 0);
    r->json = mem_strdup(json);
    r->actions = mem_strdup(actions);
    snprintf(r->method, sizeof(r->method), "%s", method);
    snprintf(r->path, sizeof(r->path), "%s", path);
    r->answer_us = r->sent_us + usual_us(ask);
    r->at_us = r->sent_us + usual_us(ask) / 2;
    r->reply.progress = HTTP_ANSWERED;
    if (a->api_back_us > a->world->now_us)
        befall(a, r, ask, FAULT_REFUSED);
    else if (api_take_fault(a, ask, &mode))
        befall(a, r, ask, mode);
    world_say(a->world, "  %s %s %s %s", a->url, method, path, json != NULL ? json : "");
}

/* The daemon does not wait any longer; what was sent may be carried out all the same. */
static void leave_alone(struct api *a, struct request *r)
{
    for (size_t i = 0; i < ORPHANS_MAX && r->at_us != 0 && !r->carried_out; i++) {
        if (a->orphans[i].busy)
            continue;
        a->orphans[i] = *r;
        *r = (struct request){0};
        return;
    }
    request_fini(r);
}

void api_cancel(struct dataplane_client *c)
{
    if (c->request.busy)
        leave_alone(c->api, &c->request);
}

/* Who got no answer at all asks about no other backend either. */
static void note_read(struct api *a, const struct request *r, int status)
{
    if (str_eq(r->path, "/configuration/raw") && status == 200)
        a->read_us = a->world->now_us;
    for (size_t b = 0; b < OURS; b++) {
        cleanup(mem_free_ptr) char *path = mem_printf("/runtime/backends/%s/servers", conf_backends[b]);
        if (str_has_prefix(r->path, "/runtime/") && status == 0)
            a->unread[b] = true;
        else if (str_eq(r->path, path))
            a->unread[b] = status != 200 && status != 404;
        a->looked[b] = a->looked[b] || (str_eq(r->path, path) && status == 200 && !a->reload_pending);
    }
}

/* Its lines show it, or only what a transaction would write. */
static void note_shown(struct api *a, const struct request *r)
{
    if (str_has_prefix(r->path, "/configuration/raw") && a->on_disk.version == a->memory.version &&
        (a->memory.oddity != ODDITY_DEFAULTS || strchr(r->path, '?') != NULL))
        a->shown_version = a->memory.version;
}

static void answer(struct dataplane_client *c)
{
    struct api *a = c->api;
    struct request r = c->request;
    struct error err = {0};
    c->request = (struct request){0};
    struct dataplane_answer to = {.status = r.reply.status,
                                  .body = buf_str(&r.reply.body),
                                  .body_len = r.reply.body.len,
                                  .version = r.reply.version != 0 ? r.reply.version : a->memory.version,
                                  .reload_id = r.reply.reload_id[0] != '\0' ? r.reply.reload_id : NULL,
                                  .retry_after_ms = -1,
                                  .progress = r.reply.progress,
                                  .duration_us = a->world->now_us - r.sent_us};
    if (r.reply.progress != HTTP_ANSWERED) {
        error_set(&err, ERROR_RETRY, "no answer");
        to.status = 0;
        to.body = "";
        to.body_len = 0;
        to.version = -1;
        to.reload_id = NULL;
        to.error = &err;
    }
    if (to.status >= 400)
        snprintf(to.excerpt, sizeof(to.excerpt), "message of %d", to.status);
    note_read(a, &r, to.status);
    whole_api_answers(a, &r, to.status);
    if (to.status == 200)
        note_shown(a, &r);
    world_say(a->world, "  %s answers %d to %s %s%s%s", a->url, to.status, r.method, r.path,
              to.reload_id != NULL ? ", reload " : "", to.reload_id != NULL ? to.reload_id : "");
    void (*on_answer)(void *, const struct dataplane_answer *) = r.on_answer;
    void *arg = r.arg;
    struct buf body = r.reply.body; /* on_answer may send the next one */
    r.reply.body = (struct buf){0};
    struct request late = r;
    if (late.at_us != 0 && !late.carried_out)
        leave_alone(a, &late);
    else
        request_fini(&late);
    on_answer(arg, &to);
    buf_fini(&body);
}

/* ---- time ---- */

static void sooner(uint64_t *next, uint64_t when)
{
    if (when < *next)
        *next = when;
}

static void sooner_request(uint64_t *next, const struct request *r, bool answers)
{
    if (!r->busy)
        return;
    if (r->at_us != 0 && !r->carried_out)
        sooner(next, r->at_us);
    if (answers)
        sooner(next, r->answer_us);
}

uint64_t api_next_us(const struct api *a)
{
    uint64_t next = local_next_us(a);
    sooner_request(&next, &a->file.request, true);
    sooner_request(&next, &a->runtime.request, true);
    for (size_t i = 0; i < ORPHANS_MAX; i++)
        sooner_request(&next, &a->orphans[i], false);
    if (a->reload_pending)
        sooner(&next, a->reload_due_us);
    if (a->haproxy_back_us != 0)
        sooner(&next, a->haproxy_back_us);
    if (a->other_writer_due_us != 0)
        sooner(&next, a->other_writer_due_us);
    sooner(&next, clusters_next_us(a));
    return next;
}

static bool carry_out_if_due(struct api *a, struct request *r)
{
    if (!r->busy || r->at_us == 0 || r->carried_out || r->at_us > a->world->now_us)
        return false;
    r->carried_out = true;
    if (a->api_back_us <= a->world->now_us)
        api_carry_out(a, r);
    return true;
}

static bool answer_if_due(struct api *a, struct dataplane_client *c)
{
    if (!c->request.busy || c->request.answer_us > a->world->now_us)
        return false;
    answer(c);
    return true;
}

void api_happen(struct api *a)
{
    uint64_t now = a->world->now_us;
    if (a->haproxy_back_us != 0 && a->haproxy_back_us <= now) {
        if (!whole_starts(a)) { /* it does not start with that */
            a->haproxy_back_us = a->touched_us = a->troubled_us = now + 1000000;
            return;
        }
        a->haproxy_back_us = 0;
        a->pid++;
        a->pid_since_us = now;
        running_load(&a->running, &a->on_disk);
        whole_loaded(a);
        a->touched_us = now;
        return;
    }
    if (a->other_writer_due_us != 0 && a->other_writer_due_us <= now) {
        a->other_writer_due_us = 0;
        a->other_writer--;
        a->refused_us = now;
        if (a->world->settings.whole != 0)
            whole_put_back(a);
        else
            api_edit(a, &a->kept, true);
        return;
    }
    if (a->reload_pending && a->reload_due_us <= now) {
        (a->world->settings.local != LOCAL_NONE ? local_reload_ends : api_reload_ends)(a);
        return;
    }
    if (clusters_happen(a) || local_happen(a))
        return;
    for (size_t i = 0; i < ORPHANS_MAX; i++) {
        if (carry_out_if_due(a, &a->orphans[i])) {
            a->troubled_us = now;
            request_fini(&a->orphans[i]);
            return;
        }
    }
    if (carry_out_if_due(a, &a->runtime.request) || carry_out_if_due(a, &a->file.request))
        return;
    if (!answer_if_due(a, &a->runtime))
        (void)answer_if_due(a, &a->file);
}
