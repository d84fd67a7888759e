/*
 * An instance with the servers engine on it, between what a test desired states and the Data Plane API of dataplane_double.h: faults on
 * demand, timers that fire when the test lets time pass. A trace has the letter of each request; left out are the further
 * requests of a reading (s t w i v b), and all but the first of a reload that is asked for again and again (P).
 *
 * The preview of what a write would make of the file is left out, unless world.shows_looks.
 *
 * A desired state is a set of words, "n1 n2*"; "n2*" drains.
 */
#pragma once

#include <sys/mman.h>

#include "dataplane_double.h"
#include "log_text.h"
#include "report/checks.h"

#define MINUTES_MS 60000ull

/* ---- faults ---- */

static inline void fault(struct fault f)
{
    for (size_t i = 0; i < array_len(w.faults); i++) {
        if (w.faults[i].step == 0) {
            w.faults[i] = f;
            return;
        }
    }
    abort();
}

static inline void mend(void)
{
    memset(w.faults, 0, sizeof(w.faults));
}

static bool take_fault(char step, struct fault *ret)
{
    for (size_t i = 0; i < array_len(w.faults); i++) {
        struct fault *f = &w.faults[i];
        if (f->step != step)
            continue;
        *ret = *f;
        if (f->times > 0 && --f->times == 0)
            *f = (struct fault){0};
        return true;
    }
    return false;
}

static void trace(char step)
{
    w.looks += step == 'w';
    if (strchr("stwivb", step) != NULL || (strchr("(|)", step) != NULL && !w.shows_looks))
        return;
    size_t len = w.trace.len;
    if (step == 'P' && len > 0 && w.trace.data[len - 1] == 'P')
        return;
    buf_printf(&w.trace, "%c", step);
}

static void look(void)
{
    if (w.look != NULL)
        w.look();
}

static void answer_call(void);

/* Answers the request in hand. */
static void answer(void)
{
    char step = step_of(), reload_id[RELOAD_ID_BYTES] = "";
    struct fault f = {0};
    cleanup(buf_fini) struct buf body = {0};
    ck_assert_msg(++w.at_one_moment < AT_ONE_MOMENT_MAX, "a loop without a pause: %s", buf_str(&w.trace));
    trace(step);
    tick_reload();
    struct dataplane_answer a = {.progress = HTTP_ANSWERED, .retry_after_ms = -1, .duration_us = 1000};
    bool faulty = take_fault(step, &f);
    if (w.restless && strchr("Rstw", step) != NULL)
        w.running_version = w.file_version = ++w.version;
    if (!faulty || f.applied)
        a.status = carry_out(step, &body, reload_id);
    a.version = w.version;
    if (faulty) {
        a.status = f.status;
        a.version = f.dead ? 0 : f.no_version ? -1 : w.version;
        a.retry_after_ms = f.after_ms != 0 ? (int64_t)f.after_ms : -1;
        if (!f.applied || f.status >= 400) {
            buf_clear(&body);
            if (f.status >= 400)
                buf_printf(&body, "{\"code\":%d,\"message\":\"message of %d\"}", f.status, f.status);
            else
                buf_add(&body, "{}");
        }
        reload_id[0] = '\0';
    }
    if (a.status == 0) {
        error_set(&flaw, ERROR_RETRY, "no answer");
        a.error = &flaw;
        a.version = -1;
        a.progress = f.not_sent ? HTTP_NOT_SENT : HTTP_SENT;
    }
    if (a.status >= 400)
        snprintf(a.excerpt, sizeof(a.excerpt), "message of %d", a.status);
    a.reload_id = reload_id[0] != '\0' ? reload_id : NULL;
    a.body = buf_str(&body);
    a.body_len = body.len;
    if (step == 'v' && w.crossing && w.call.busy)
        answer_call();
    w.busy = false;
    w.now_us += 100;
    w.on_answer(w.arg, &a);
    look();
}

static int carry_out_call(struct buf *b)
{
    char *running = w.running.of[w.call.backend], word[SET_BYTES];
    if (w.unreadable || !set_word(running, w.call.name, word))
        return w.unreadable ? 500 : 404;
    if (!w.deaf)
        set_sign(running, w.call.name, w.call.state[0] == 'd' ? "!" : w.call.state[0] == 'm' ? "*" : "", false);
    (void)set_word(running, w.call.name, word);
    put_row(b, word);
    return 200;
}

/* Answers the call in hand. */
static void answer_call(void)
{
    char step = w.call.state[0] == 'r' ? 'y' : w.call.state[0];
    struct fault f = {0};
    cleanup(buf_fini) struct buf body = {0};
    ck_assert_msg(++w.at_one_moment < AT_ONE_MOMENT_MAX, "a loop without a pause: %s", buf_str(&w.trace));
    buf_printf(&w.trace, "%c", step);
    struct dataplane_answer a = {.progress = HTTP_ANSWERED, .retry_after_ms = -1, .version = w.version};
    a.status = take_fault(step, &f) ? f.status : carry_out_call(&body);
    if (a.status == 0) {
        error_set(&flaw, ERROR_RETRY, "no answer");
        a.error = &flaw;
    }
    a.body = buf_str(&body);
    a.body_len = body.len;
    w.call.busy = false;
    w.now_us += 100;
    w.call.on_answer(w.call.arg, &a);
    look();
}

/* ---- what a test does ---- */

/* Answers until nothing is asked any more, without time passing. */
static inline void settle(void)
{
    for (;;) {
        if (w.call.busy && !w.call.held)
            answer_call();
        else if (w.busy)
            answer();
        else
            return;
    }
}

/* Answers until the request in hand is of this step, letting time pass where
 * nothing is asked. */
static inline void until(char step);

static void fire(struct timer *t)
{
    if (t->due_ms > clock_mono_ms()) {
        w.now_us = t->due_ms * 1000;
        w.at_one_moment = 0;
    }
    tick_reload();
    t->due_ms = 0;
    t->fn(t->arg);
    look();
}

static inline void pass(uint64_t ms)
{
    uint64_t end = clock_mono_ms() + ms;
    settle();
    for (struct timer *t; (t = virtual_next_timer(end)) != NULL;) {
        fire(t);
        settle();
    }
    if (clock_mono_ms() < end)
        w.now_us = end * 1000;
    w.at_one_moment = 0;
    tick_reload();
}

static inline void until(char step)
{
    while (!w.busy || step_of() != step) {
        if (w.call.busy && !w.call.held) {
            answer_call();
            continue;
        }
        if (w.busy) {
            answer();
            continue;
        }
        struct timer *t = virtual_next_timer(clock_mono_ms() + 600000);
        ck_assert_msg(t != NULL, "nothing will ever ask %c: %s", step, buf_str(&w.trace));
        fire(t);
    }
}

/* "": no usable endpoint; "?": undecided. n<i> has to be in the order of the names. */
static inline void desired_of(size_t backend, const char *set, const char *cause)
{
    struct desired d;
    char copy[SET_BYTES], *rest = copy;
    desired_init(&d);
    set_copy(copy, set);
    d.paused = w.paused;
    d.state = strcmp(set, "?") == 0 ? DESIRED_UNDECIDED : set[0] == '\0' ? DESIRED_EMPTY : DESIRED_OK;
    if (d.state != DESIRED_OK)
        d.problem = mem_strdup("no usable endpoint");
    for (char *word; d.state == DESIRED_OK && (word = strsep(&rest, " ")) != NULL;) {
        size_t len = strcspn(word, "*");
        d.servers = mem_resize(d.servers, d.server_count + 1, sizeof(d.servers[0]));
        d.servers[d.server_count++] =
            (struct desired_server){.name = desired_text_take(&d, mem_strndup(word, len)),
                                    .address = desired_text_take(&d, mem_printf("10.0.0.%.*s", (int)len - 1, word + 1)),
                                    .port = 80,
                                    .weight = -1,
                                    .state = word[len] == '*' ? SERVER_DRAINING : SERVER_LIVE,
                                    .why = desired_why_take(&d, mem_strdup("a reason"))};
    }
    cleanup(desired_unref_ptr) const struct desired *shared = desired_share(&d);
    servers_set_desired(w.target.servers, backend, shared, cause, clock_mono_us());
}

static inline void desired(const char *set, const char *cause)
{
    desired_of(0, set, cause);
    servers_apply(w.target.servers);
    look();
}

/* Both backends at once. */
static inline void desired_both(const char *set, const char *second, const char *cause)
{
    desired_of(0, set, cause);
    desired_of(1, second, cause);
    servers_apply(w.target.servers);
    look();
}

static void on_stopped(void *arg)
{
    w.stopped++;
}

static inline void stop(void)
{
    instance_stop(w.target.instance, on_stopped, NULL);
}

static inline bool in_sync(void)
{
    for (size_t i = 0; i < w.backends; i++)
        if (metric_value(w.metrics.in_sync, backend_names[i], API_URL, NULL) != 1)
            return false;
    return true;
}

static inline bool ready(struct buf *body)
{
    cleanup(checks_fini) struct checks checks = {0};
    bool is = servers_ready(w.target.servers, &checks);
    buf_clear(body);
    checks_print(&checks, body);
    return is;
}

static inline void assert_ready(bool expected, const char *saying)
{
    cleanup(buf_fini) struct buf body = {0};
    bool is = ready(&body);
    ck_assert_msg(is == expected && strstr(buf_str(&body), saying) != NULL, "expected %s \"%s\": %s",
                  expected ? "ready" : "not ready", saying, buf_str(&body));
}

/* The trace since the last call. */
static inline void assert_trace(const char *expected)
{
    ck_assert_str_eq(buf_str(&w.trace), expected);
    buf_clear(&w.trace);
}

static inline unsigned count(char step)
{
    unsigned n = 0;
    for (const char *s = buf_str(&w.trace); *s != '\0'; s++)
        n += *s == step;
    return n;
}

static inline bool logged(const char *text)
{
    return log_count(w.log_fd, text) > 0;
}

static inline void forget_log(void)
{
    log_forget(w.log_fd);
}

static inline void assert_settled(const char *set)
{
    ck_assert_msg(in_sync(), "not in sync: %s", buf_str(&w.trace));
    ck_assert_msg(set_eq(w.have.of[0], set), "configured \"%s\", not \"%s\": %s", w.have.of[0], set, buf_str(&w.trace));
    ck_assert_msg(w.deaf || set_eq(w.running.of[0], set), "running \"%s\", not \"%s\": %s", w.running.of[0], set,
                  buf_str(&w.trace));
    assert_ready(true, "in sync");
}

static inline void assert_settled_two(const char *set)
{
    ck_assert_msg(set_eq(w.have.of[1], set), "configured \"%s\", not \"%s\": %s", w.have.of[1], set, buf_str(&w.trace));
    ck_assert_msg(set_eq(w.running.of[1], set), "running \"%s\", not \"%s\": %s", w.running.of[1], set,
                  buf_str(&w.trace));
}

/* ---- life ---- */

/* Which takes its driver over. */
static inline const struct instance_options *world_instance(void)
{
    w.options.instance.driver = dataplane_driver_new(NULL, FILE_CLIENT, w.routes ? RUNTIME_CLIENT : NULL);
    return &w.options.instance;
}

static inline void target_make(void)
{
    w.target.servers = servers_new(&w.options.servers);
    const struct engine *engine = servers_engine(w.target.servers);
    w.target.instance = instance_new(NULL, world_instance(), &engine, 1, &flaw);
    ck_assert_ptr_nonnull(w.target.instance);
}

static inline void target_end(void)
{
    instance_free(w.target.instance);
    servers_free(w.target.servers);
    w.target.servers = NULL;
}

/* HAProxy runs n1 (in each backend); nothing is wished yet, nothing asked. No loss limit unless rules say so. */
static inline void world_make_as(size_t backends, struct plan_rules rules, uint64_t park_ttl_ms, bool routes)
{
    memset(&w, 0, sizeof(w));
    w.now_us = 1000000000;
    w.version = w.file_version = w.running_version = 5;
    w.backends = backends;
    for (size_t i = 0; i < backends; i++)
        set_copy(w.have.of[i], "n1");
    w.file = w.have;
    w.running = w.have;
    buf_init(&w.trace, 0);
    w.log_fd = memfd_create("log", 0);
    w.daemon_log = (struct log){.level = LOG_LEVEL_DEBUG, .fd = w.log_fd};
    metric_table_init(&w.metrics, "0");
    w.history = history_new();
    w.pid = 100;
    w.options.servers = (struct servers_options){
        .backends = backend_names, .backend_count = backends, .rules = rules, .park_ttl_ms = park_ttl_ms};
    w.routes = routes;
    w.options.instance = (struct instance_options){
        .resync_period_ms = RESYNC_MS, .metrics = &w.metrics, .history = w.history, .log = &w.daemon_log};
    target_make();
}

/* The daemon dies, or has ended, and another one starts: what it remembered is gone. */
static inline void start_again(void)
{
    target_end();
    w.stopped = 0;
    target_make();
    instance_start(w.target.instance);
}

static inline void world_make_with(size_t backends, struct plan_rules rules)
{
    world_make_as(backends, rules, 0, false);
}

static inline void world_make_updates(void)
{
    world_make_as(1, (struct plan_rules){.max_loss_percent = 100}, 3600000, true);
}

static inline void world_make(void)
{
    world_make_with(1, (struct plan_rules){.max_loss_percent = 100});
}

static inline void world_end(void)
{
    target_end();
    metric_table_fini(&w.metrics);
    history_free(w.history);
    buf_fini(&w.trace);
    close(w.log_fd);
}

/* In step with n1, the trace empty. */
static inline void world_in_sync(void)
{
    instance_start(w.target.instance);
    desired("n1", "the first list");
    pass(0);
    assert_settled("n1");
    buf_clear(&w.trace);
}

/* What HAProxy runs of the first backend, and what the Data Plane API has of it. */

static inline void assert_running(const char *set)
{
    ck_assert_msg(set_eq(w.running.of[0], set), "running \"%s\", not \"%s\": %s", w.running.of[0], set,
                  buf_str(&w.trace));
}

static inline void assert_configured(const char *set)
{
    ck_assert_msg(set_eq(w.have.of[0], set), "configured \"%s\", not \"%s\": %s", w.have.of[0], set, buf_str(&w.trace));
}

/* ---- the property that holds at every moment: what is in sync runs ---- */

static inline void in_sync_is_true(void)
{
    if (in_sync())
        ck_assert_msg(set_eq(w.running.of[0], w.have.of[0]),
                      "in sync, but HAProxy runs \"%s\" and the file says \"%s\": %s", w.running.of[0], w.have.of[0],
                      buf_str(&w.trace));
}

static inline void world_make_watched(void)
{
    world_make();
    w.look = in_sync_is_true;
}
