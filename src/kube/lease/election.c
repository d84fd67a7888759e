/*
 * The shell around kube/lease/lease_machine: bytes in, actions out. One request at a time. Our callbacks come last in
 * each turn, when everything is in order again: they may call back, and free the election once it is released.
 */
#include "kube/lease/election.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/client.h"
#include "kube/decode/decode.h"
#include "kube/informer.h"
#include "kube/lease/lease_machine.h"
#include "kube/lease/lease.h"
#include "kube/outage.h"
#include "net/http.h"
#include "host/timer.h"

/* A request that hangs leaves room for another one, on a connection of its own, before the renew deadline. */
#define REQUEST_MS 4000
#define RELEASE_MS 1000
#define LOG_PERIOD_MS 300000
#define PROBLEM_BYTES 512

struct election {
    struct kube_client *client;
    const struct log *log;
    char *namespace, *name;
    char *collection, *path;
    struct election_callbacks callbacks;
    void *arg;

    struct lease_machine machine;
    struct timer timer, release_timer;
    struct informer *watch; /* while it stands by */
    struct lease_hint hint;
    struct http_request *request;
    const char *method;    /* of it */
    bool fresh_connection; /* the last one may have hung on a dead connection: the next takes a new one */
    bool begun, poked;     /* to be done from the loop */
    bool not_started;      /* the request that the machine waits for could not be built */
    struct buf json;       /* the Lease as last read */

    char *logged_holder; /* NULL: none was logged yet */
    char problem[PROBLEM_BYTES];
    bool refused;      /* the problem: a write was refused, which a successful read does not resolve */
    bool write_failed; /* part of the problem: a write; no read resolves it while it is to be written again */
    bool said;         /* the problem was logged */
    struct log_limit limit;

    void (*released)(void *arg);
    void *released_arg;
};

/* ---- what is wrong ---- */

static bool is_write(const struct election *e)
{
    return !str_eq(e->method, "GET");
}

static void trouble(struct election *e, bool refused, const char *what)
{
    unsigned held_back;
    e->refused = refused;
    e->write_failed = e->write_failed || is_write(e);
    snprintf(e->problem, sizeof(e->problem), "%s", what);
    if (kube_client_has_logged(e->client, e->problem)) {
        log_debug(e->log, "Lease out of reach", log_str("lease", e->name), log_str("error", e->problem));
        return;
    }
    if (!log_limit_pass_message(&e->limit, clock_mono_ms(), e->problem, &held_back))
        return;
    e->said = true;
    log_warn(e->log, "cannot read or write the Lease of the leader election", log_str("namespace", e->namespace),
             log_str("lease", e->name), log_str("error", e->problem),
             log_if(held_back > 0, log_int("repeated", held_back)));
}

/* Whose Lease another one holds need not write it. */
static void no_trouble(struct election *e, const char *holder)
{
    bool to_be_written = str_empty(holder) || str_eq(holder, e->machine.identity);
    if (e->problem[0] == '\0' || (!is_write(e) && (e->refused || (e->write_failed && to_be_written))))
        return;
    e->problem[0] = '\0';
    e->write_failed = false;
    if (e->said)
        log_info(e->log, "Lease of the leader election can be read and written again",
                 log_str("namespace", e->namespace), log_str("lease", e->name));
    e->said = false;
    log_limit_reset(&e->limit);
}

/* ---- what the machine says ---- */

static void election_feed(struct election *e, const struct lease_machine_event *event);
static void election_on_done(void *arg, const struct http_response *r, const struct error *err);

static int election_start_request(struct election *e, unsigned action, struct error *err)
{
    static const struct http_callbacks callbacks = {.on_done = election_on_done};
    cleanup(mem_free_ptr) char *body = NULL;
    e->method = action == LEASE_GET ? "GET" : action == LEASE_POST ? "POST" : "PUT";
    if (action != LEASE_GET) {
        struct lease next;
        lease_machine_next(&e->machine, clock_wall_ms() * 1000u, &next);
        body = e->machine.state == LEASE_CREATING ? lease_encode_new(e->namespace, e->name, &next)
                                                  : lease_encode(buf_str(&e->json), e->json.len, &next, err);
        if (body == NULL)
            return -1;
    }
    struct http_request_options options = {.method = e->method,
                                           .path = action == LEASE_POST ? e->collection : e->path,
                                           .content_type = body != NULL ? "application/json" : NULL,
                                           .body = body,
                                           .body_len = body != NULL ? strlen(body) : 0,
                                           .max_body_bytes = LEASE_MAX_BYTES,
                                           .total_timeout_ms = REQUEST_MS,
                                           .new_connection = e->fresh_connection};
    e->request = kube_client_start(e->client, &options, &callbacks, e, err);
    return e->request != NULL ? 0 : -1;
}

static void election_carry_out(struct election *e, unsigned actions)
{
    unsigned request = actions & (LEASE_GET | LEASE_POST | LEASE_PUT);
    struct error err;
    if (actions & LEASE_CANCEL) {
        http_cancel(e->request);
        e->request = NULL;
        e->not_started = false;
    }
    if (request != 0 && election_start_request(e, request, &err) != 0) {
        trouble(e, false, err.message);
        e->not_started = true;
    }
    enum lease_machine_state state = e->machine.state;
    if (state != LEASE_IDLE && state != LEASE_OVER && !e->machine.leading && !e->machine.stopping)
        informer_start(e->watch);
    else
        informer_stop(e->watch);
}

static void election_done(struct election *e)
{
    void (*released)(void *arg) = e->released;
    http_cancel(e->request);
    e->request = NULL;
    timer_cancel(&e->timer);
    timer_cancel(&e->release_timer);
    e->released = NULL;
    if (released != NULL)
        released(e->released_arg); /* may free e */
}

static void election_feed(struct election *e, const struct lease_machine_event *event)
{
    unsigned actions = lease_machine_step(&e->machine, event, clock_boot_ms());
    election_carry_out(e, actions);
    uint64_t due = lease_machine_due_ms(&e->machine), now = clock_boot_ms();
    if (e->begun || e->poked || e->not_started)
        timer_set(&e->timer, 0);
    else if (due != 0)
        timer_set(&e->timer, due > now ? due - now : 0);
    else
        timer_cancel(&e->timer);
    const char *holder = election_holder(e);
    if (holder != NULL && !str_eq(holder, e->logged_holder)) {
        free(e->logged_holder);
        e->logged_holder = mem_strdup(holder);
        if (e->callbacks.holder != NULL && !lease_machine_is_held(&e->machine) && !e->machine.stopping)
            e->callbacks.holder(e->arg, e->logged_holder);
    }
    if (actions & LEASE_DONE)
        election_done(e);
    else if (actions & LEASE_DEPOSED)
        e->callbacks.deposed(e->arg);
    else if (actions & LEASE_ELECTED)
        e->callbacks.elected(e->arg);
}

static void election_feed_type(struct election *e, enum lease_machine_event_type type)
{
    election_feed(e, &(struct lease_machine_event){.type = type, .retry_after_ms = -1});
}

/* ---- answers ---- */

static void on_refusal(struct election *e, const struct http_response *r)
{
    cleanup(kube_event_fini) struct kube_event status = {0};
    struct error err = {0};
    kube_decode_status(buf_str(r->body), r->body->len, &status);
    int64_t retry_after_ms = http_response_retry_after_ms(r);
    if (retry_after_ms < 0 && status.retry_after_seconds >= 0)
        retry_after_ms = (int64_t)status.retry_after_seconds * 1000;
    const char *said = str_empty(status.status_message) ? "" : status.status_message;
    error_set_http(&err, r->status, "%s %s%s: HTTP %d%s%s%s%s", e->method, kube_client_server(e->client),
                   str_eq(e->method, "POST") ? e->collection : e->path, r->status, said[0] != '\0' ? ": " : "", said,
                   r->status == 403 ? "; " : "", r->status == 403 ? kube_refusal_hint(said) : "");
    trouble(e, is_write(e) && (r->status == 403 || r->status == 404 || err.kind == ERROR_INVALID), err.message);
    if (r->status == 404)
        election_feed_type(e, LEASE_EVENT_MISSING);
    else
        election_feed(e, &(struct lease_machine_event){.type = LEASE_EVENT_FAILED, .retry_after_ms = retry_after_ms});
}

static void election_on_done(void *arg, const struct http_response *r, const struct error *err)
{
    struct election *e = arg;
    e->request = NULL;
    e->fresh_connection = err != NULL;
    kube_client_note_answer(e->client, r, err);
    if (err != NULL) {
        trouble(e, false, err->message);
        election_feed_type(e, LEASE_EVENT_FAILED);
    } else if (r->status == 200 || r->status == 201) {
        struct lease lease;
        struct error odd;
        if (lease_decode(buf_str(r->body), r->body->len, &lease, &odd) != 0) {
            error_prefix(&odd, "%s %s%s: the answer cannot be used", e->method, kube_client_server(e->client), e->path);
            trouble(e, false, odd.message);
            election_feed_type(e, LEASE_EVENT_FAILED);
            return;
        }
        buf_clear(&e->json);
        buf_addn(&e->json, buf_str(r->body), r->body->len);
        no_trouble(e, lease.holder);
        election_feed(e,
                      &(struct lease_machine_event){.type = LEASE_EVENT_RECORD, .lease = &lease, .retry_after_ms = -1});
    } else if (r->status == 409) {
        election_feed_type(e, LEASE_EVENT_CONFLICT);
    } else if (r->status == 404 && !str_eq(e->method, "POST")) {
        election_feed_type(e, LEASE_EVENT_MISSING); /* no trouble: it is made */
    } else {
        on_refusal(e, r);
    }
}

/* ---- the loop ---- */

static void election_on_timer(void *arg)
{
    struct election *e = arg;
    if (e->not_started) {
        e->not_started = false;
        election_feed_type(e, LEASE_EVENT_FAILED);
    } else if (e->begun) {
        e->begun = false;
        election_feed_type(e, LEASE_EVENT_START);
    } else if (e->poked) {
        e->poked = false;
        election_feed_type(e, LEASE_EVENT_HINT);
    } else {
        election_feed_type(e, LEASE_EVENT_TIMER);
    }
}

static void on_release_timer(void *arg)
{
    struct election *e = arg;
    e->machine.state = LEASE_OVER;
    election_done(e);
}

/* From inside libcurl, or from anywhere. */
static void check_soon(void *arg)
{
    struct election *e = arg;
    e->poked = true;
    timer_set(&e->timer, 0);
}

/* ---- the contract ---- */

struct election *election_new(struct event_base *base, const struct election_options *options,
                              const struct election_callbacks *callbacks, void *arg)
{
    struct election *e = mem_alloc(sizeof(*e));
    e->client = options->client;
    e->log = options->log;
    e->namespace = mem_strdup(options->namespace);
    e->name = mem_strdup(options->name);
    cleanup(mem_free_ptr) char *namespace = str_url_encode(options->namespace), *name = str_url_encode(options->name);
    e->collection = mem_printf("/apis/coordination.k8s.io/v1/namespaces/%s/leases", namespace);
    e->path = mem_printf("%s/%s", e->collection, name);
    e->callbacks = *callbacks;
    e->arg = arg;
    e->method = "GET";
    e->limit.period_ms = LOG_PERIOD_MS;
    lease_machine_init(&e->machine, options->identity, backoff_random_seed());
    timer_init(&e->timer, base, election_on_timer, e);
    timer_init(&e->release_timer, base, on_release_timer, e);
    e->hint = (struct lease_hint){.free_now = check_soon, .arg = e};
    e->watch = lease_watch_new(base, e->client, e->log, e->namespace, e->name, &e->hint);
    return e;
}

void election_free(struct election *e)
{
    if (e == NULL)
        return;
    http_cancel(e->request);
    informer_free(e->watch);
    timer_fini(&e->timer);
    timer_fini(&e->release_timer);
    buf_fini(&e->json);
    mem_free_all(e->logged_holder, e->namespace, e->name, e->collection, e->path, e);
}

void election_start(struct election *e)
{
    e->begun = true;
    timer_set(&e->timer, 0);
}

void election_poke(struct election *e)
{
    check_soon(e);
}

bool election_may_act(const struct election *e)
{
    return lease_machine_may_act(&e->machine, clock_boot_ms());
}

bool election_may_clean_up(const struct election *e)
{
    return lease_machine_may_clean_up(&e->machine, clock_boot_ms());
}

void election_release(struct election *e, void (*fn)(void *arg), void *arg)
{
    e->released = fn;
    e->released_arg = arg;
    e->begun = e->poked = false;
    timer_set(&e->release_timer, RELEASE_MS);
    election_feed_type(e, LEASE_EVENT_RELEASE);
}

const char *election_holder(const struct election *e)
{
    if (!e->machine.known)
        return NULL;
    return e->machine.missing ? "" : e->machine.lease.holder;
}

const char *election_problem(const struct election *e)
{
    return e->problem[0] != '\0' ? e->problem : NULL;
}
