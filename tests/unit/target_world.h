/*
 * A target in a world of one process and virtual time: a small Data Plane API
 * with the HAProxy behind it, timers that fire when the test lets time pass,
 * and faults on demand. A trace has one letter for each request:
 *
 *     R reading (its first request; s t w, the others, are left out)    H list
 * of reloads    P one reload (repeats once) L list of transactions   B begin +
 * - add, remove a server   C commit   D delete a transaction
 *
 * With lanes (world_make_lanes): F write of one server to file and running HAProxy (its read-back and other reads of
 * what runs are left out)   d m y the running HAProxy alone is told: drain, maint, ready
 *
 * The look at what a write would make of the file is left out, unless world.shows_looks: ( an empty transaction, | what it would
 * write, ) its end.
 *
 * Sets of servers are words, "n1 n2"; n<i> has the address 10.0.0.<i>; "n2*" is in
 * maintenance (in a wish: draining), "n2!" in drain (running alone). The backends are "be" and, where a test asks for it,
 * "two".
 */
#ifndef TESTS_TARGET_WORLD_H
#define TESTS_TARGET_WORLD_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/client.h"
#include "host/timer.h"
#include "report/checks.h"
#include "report/history.h"
#include "daemon/targets.h"
#include "haproxy/instance_internal.h"
#include "report/telemetry.h"

#define SET_BYTES 64
#define BACKENDS_MAX 2

struct sets {
    char of[BACKENDS_MAX][SET_BYTES];
};

#define RELOADS_MAX 4096
#define AT_ONE_MOMENT_MAX \
    400 /* requests; more of them without time passing is a loop without a pause \
       */
#define RELOAD_DELAY_MS 1000
#define RESYNC_MS 30000

/* The two clients. */
#define FILE_CLIENT ((struct dataplane_client *)&w.busy)
#define RUNTIME_CLIENT ((struct dataplane_client *)&w.call)

struct fault {
    char step;         /* of the trace; 0: none */
    int status;        /* 0: no answer */
    int times;         /* 0: always */
    bool applied;      /* carried out all the same */
    bool not_sent;     /* with status 0: never got there */
    bool dead;         /* the answer carries version 0 */
    bool no_version;   /* the answer carries none */
    unsigned after_ms; /* Retry-After */
};

#define RELOAD_ID_BYTES 24
#define API_URL "http://api"

static struct world {
    uint64_t now_us;
    uint64_t slow_us; /* so much passes whenever somebody looks at the clock: a machine that is busy elsewhere */
    struct timer *timers[8];

    bool busy;
    char method[8], path[256], name[SET_BYTES]; /* name: in the body, as a word of a set */
    void (*on_answer)(void *arg, const struct dataplane_answer *a);
    void *arg;
    unsigned at_one_moment;
    struct {
        bool busy, held; /* held: not answered for now */
        size_t backend;
        char name[SET_BYTES], state[16];
        void (*on_answer)(void *arg, const struct dataplane_answer *a);
        void *arg;
    } call;            /* on the second connection */
    bool crossing;     /* the call in hand is answered between a reading of what runs and its answer */
    unsigned pid;      /* of the worker; another one after each reload */
    bool deaf;         /* what is written does not reach what runs */
    bool unreadable;   /* what runs cannot be read */
    bool reloads_fast; /* the API answers 202 to a write without a transaction, and reloads */
    bool down;         /* HAProxy is not running, and the API says so */
    bool forgets_fast; /* a write without a transaction is in no file */
    bool lies;         /* reloads are called done and never happen */
    unsigned fast;     /* writes without a reload */

    const char *failing; /* "n1,n3,": their health checks fail */

    int64_t version, file_version, running_version;
    /* what the API answers; what haproxy.cfg says, which goes back after a failed
   * reload; what HAProxy runs */
    struct sets have, file, running;
    struct sets opened; /* in the transaction that is open */
    size_t backends;
    bool absent[BACKENDS_MAX]; /* HAProxy has no such backend */
    const char *forbidden;     /* HAProxy refuses a configuration that has this server */
    unsigned transaction;      /* the one that is open; 0: none */
    unsigned transactions;     /* begun ever */
    unsigned commits;
    bool stubborn;         /* takes changes and forgets them */
    bool unsupported;      /* the file has a line that no write may touch */
    const char *file_more; /* more lines of the file; NULL: none */
    const char *rewritten; /* what a write makes of them; NULL: they stay */
    const char *damaged;   /* what one with a change of ours makes of them; NULL: the same */
    bool shows_looks;
    bool stale_file; /* the file keeps its version whatever is committed */
    unsigned reload; /* the one that is pending; 0: none */
    uint64_t reload_due_ms;
    unsigned reloads;          /* scheduled ever */
    unsigned forgotten;        /* ids up to this one are not known any more */
    char outcome[RELOADS_MAX]; /* by id: 0 pending, 's' succeeded, 'f' failed */
    unsigned fail_reloads;     /* so many will fail */
    bool held;                 /* none ends */
    bool paused;               /* wishes say so */
    const char *reload_list;   /* instead of the true list of reloads */
    unsigned renewed;          /* so often the credentials turn out to be others */
    struct fault faults[4];

    struct buf trace;
    int log_fd;
    struct telemetry telemetry;
    struct history *history;
    struct target target;
    unsigned stopped;
    struct targets_options options;
    struct log daemon_log;
    void (*look)(void); /* called after everything that happens */
} w;

/* ---- time ---- */

uint64_t clock_mono_us(void)
{
    return w.now_us += w.slow_us;
}

uint64_t clock_mono_ms(void)
{
    return clock_mono_us() / 1000;
}

uint64_t clock_wall_ms(void)
{
    return w.now_us / 1000;
}

void timer_init(struct timer *t, struct event_base *base, void (*fn)(void *arg), void *arg)
{
    (void)base;
    *t = (struct timer){.fn = fn, .arg = arg};
    for (size_t i = 0; i < array_len(w.timers); i++) {
        if (w.timers[i] == NULL) {
            w.timers[i] = t;
            return;
        }
    }
    abort();
}

void timer_fini(struct timer *t)
{
    for (size_t i = 0; i < array_len(w.timers); i++)
        if (w.timers[i] == t)
            w.timers[i] = NULL;
}

void timer_set(struct timer *t, uint64_t in_ms)
{
    t->due_ms = clock_mono_ms() + in_ms;
}

void timer_set_sooner(struct timer *t, uint64_t in_ms)
{
    if (t->due_ms == 0 || clock_mono_ms() + in_ms < t->due_ms)
        timer_set(t, in_ms);
}

void timer_cancel(struct timer *t)
{
    t->due_ms = 0;
}

bool timer_is_set(const struct timer *t)
{
    return t->due_ms != 0;
}

/* ---- the client ---- */

static void send_call(const char *path, const char *json,
                      void (*on_answer)(void *arg, const struct dataplane_answer *a), void *arg)
{
    ck_assert_msg(!w.call.busy, "two calls at once: %s", path);
    ck_assert_msg(w.stopped == 0, "after the end: %s", path);
    ck_assert(str_has_prefix(path, "/runtime/backends/"));
    w.call.busy = true;
    w.call.backend = str_has_prefix(path, "/runtime/backends/two") ? 1 : 0;
    snprintf(w.call.name, sizeof(w.call.name), "%s", strrchr(path, '/') + 1);
    static const char head[] = "{\"admin_state\":\"";
    ck_assert_msg(str_has_prefix(json, head), "%s", json);
    snprintf(w.call.state, sizeof(w.call.state), "%.*s", (int)strcspn(json + strlen(head), "\""), json + strlen(head));
    w.call.on_answer = on_answer;
    w.call.arg = arg;
}

void dataplane_send(struct dataplane_client *c, const char *method, const char *path, const char *json,
                    void (*on_answer)(void *arg, const struct dataplane_answer *a), void *arg)
{
    if (c == RUNTIME_CLIENT) {
        send_call(path, json, on_answer, arg);
        return;
    }
    ck_assert_msg(!w.busy, "two requests at once: %s %s, %s %s", w.method, w.path, method, path);
    ck_assert_msg(w.stopped == 0, "after the end: %s %s", method, path);
    w.busy = true;
    snprintf(w.method, sizeof(w.method), "%s", method);
    snprintf(w.path, sizeof(w.path), "%s", path);
    const char *at = json != NULL ? strstr(json, "\"name\":\"") : NULL;
    bool maintenance = json != NULL && strstr(json, "\"maintenance\":\"enabled\"") != NULL;
    snprintf(w.name, sizeof(w.name), "%.*s%s", at != NULL ? (int)strcspn(at + 8, "\"") : 0, at != NULL ? at + 8 : "",
             maintenance ? "*" : "");
    w.on_answer = on_answer;
    w.arg = arg;
}

bool dataplane_busy(const struct dataplane_client *c)
{
    return c == RUNTIME_CLIENT ? w.call.busy : w.busy;
}

void dataplane_cancel(struct dataplane_client *c)
{
    if (c == RUNTIME_CLIENT)
        w.call.busy = false;
    else
        w.busy = false;
}

bool dataplane_credentials_refused(struct dataplane_client *c)
{
    (void)c;
    if (w.renewed == 0)
        return false;
    w.renewed--;
    return true;
}

const char *dataplane_client_url(const struct dataplane_client *c)
{
    (void)c;
    return API_URL;
}

/* ---- sets of servers ---- */

static void set_copy(char *to, const char *from)
{
    snprintf(to, SET_BYTES, "%s", from);
}

static bool set_has(const char *set, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = set; (at = strstr(at, name)) != NULL; at += len)
        if ((at == set || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
    return false;
}

static void set_remove(char *set, const char *name)
{
    char old[SET_BYTES], *rest = old;
    set_copy(old, set);
    set[0] = '\0';
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        if (strcmp(word, name) != 0 && word[0] != '\0')
            snprintf(set + strlen(set), SET_BYTES - strlen(set), "%s%s", set[0] != '\0' ? " " : "", word);
}

static bool set_eq(const char *a, const char *b)
{
    char copy[SET_BYTES], *rest = copy;
    size_t words = 0, others = b[0] != '\0';
    set_copy(copy, a);
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (word[0] == '\0')
            continue;
        words++;
        if (!set_has(b, word))
            return false;
    }
    for (const char *s = b; *s != '\0'; s++)
        others += *s == ' ';
    return words == others;
}

/* ---- the API ---- */

static const char *const backend_names[BACKENDS_MAX] = {"be", "two"};

/* Of the request in hand. */
static size_t backend_of(void)
{
    return strstr(w.path, "/backends/two") != NULL ? 1 : 0;
}

static char step_of(void)
{
    bool transaction = str_has_prefix(w.path, "/transactions");
    if (w.target.instance->phase == INSTANCE_WRITING && w.target.instance->transaction.preview_only &&
        strcmp(w.path, "/transactions") != 0 && w.target.instance->transaction.state != TRANSACTION_DELETE_DEAD)
        return strcmp(w.method, "POST") == 0 ? '(' : strcmp(w.method, "DELETE") == 0 ? ')' : '|';
    if (str_has_prefix(w.path, "/runtime/"))
        return str_has_suffix(w.path, "/info") ? 'i' : str_has_suffix(w.path, "/servers") ? 'v' : 'b';
    if (strcmp(w.method, "GET") == 0)
        return strcmp(w.path, "/configuration/backends/be") == 0 || strcmp(w.path, "/configuration/backends/two") == 0
                   ? 'R'
               : str_has_suffix(w.path, "/servers")                           ? 's'
               : str_has_suffix(w.path, "/server_templates")                  ? 't'
               : str_has_suffix(w.path, "/raw")                               ? 'w'
               : str_has_prefix(w.path, "/configuration/raw?transaction_id=") ? '|'
               : strcmp(w.path, "/reloads") == 0                              ? 'H'
               : transaction                                                  ? 'L'
                                                                              : 'P';
    if (strcmp(w.method, "POST") == 0)
        return transaction ? 'B' : '+';
    if (strcmp(w.method, "PUT") == 0)
        return transaction                           ? 'C'
               : strstr(w.path, "?version=") != NULL ? 'F'
                                                     : '~'; /* one server; backends' settings never differ here */
    return transaction ? 'D' : '-';
}

static void tick_reload(void)
{
    if (w.reload == 0 || w.held || clock_mono_ms() < w.reload_due_ms)
        return;
    bool failed = w.fail_reloads > 0;
    w.outcome[w.reload] = failed ? 'f' : 's';
    w.reload = 0;
    if (failed) {
        w.fail_reloads--;
        w.file = w.running;
        w.file_version = w.running_version;
        return;
    }
    if (w.lies)
        return;
    w.running = w.file;
    w.running_version = w.file_version;
    w.pid++;
}

static unsigned schedule_reload(void)
{
    if (w.reload == 0) {
        w.reload = ++w.reloads;
        ck_assert_uint_lt(w.reload, RELOADS_MAX);
        w.reload_due_ms = clock_mono_ms() + RELOAD_DELAY_MS;
    }
    return w.reload;
}

/* A restart of the Data Plane API: it knows no reload any more, and what was
 * scheduled never comes. */
static inline void restart_api(void)
{
    w.forgotten = w.reloads;
    w.reload = w.transaction = 0;
}

/* Somebody else writes, and HAProxy loads it at once. */
static inline void stranger(const char *set)
{
    set_copy(w.have.of[0], set);
    w.file = w.have;
    w.running = w.have;
    w.running_version = w.file_version = ++w.version;
    w.transaction = 0;
    w.pid++;
}

/* HAProxy is started again: what it alone was told is gone. */
static inline void restart_haproxy(void)
{
    w.running = w.file;
    w.running_version = w.file_version;
    w.pid++;
}

static void put_servers(struct buf *b)
{
    char copy[SET_BYTES], *rest = copy;
    const char *comma = "";
    set_copy(copy, w.have.of[backend_of()]);
    buf_add(b, "[");
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (word[0] == '\0')
            continue;
        int len = (int)strcspn(word, "*");
        buf_printf(b,
                   "%s{\"name\":\"%.*s\",\"address\":\"10.0.0.%.*s\",\"port\":80,"
                   "\"check\":\"enabled\",\"weight\":100%s}",
                   comma, len, word, len - 1, word + 1, word[len] == '*' ? ",\"maintenance\":\"enabled\"" : "");
        comma = ",";
    }
    buf_add(b, "]");
}

/* ---- the running HAProxy ---- */

/* The word of that name in a set, with its sign; false: none. */
static bool set_word(const char *set, const char *name, char *ret)
{
    char copy[SET_BYTES], *rest = copy;
    set_copy(copy, set);
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        if (strcspn(word, "*!") == strlen(name) && strncmp(word, name, strlen(name)) == 0 && word[0] != '\0') {
            set_copy(ret, word);
            return true;
        }
    return false;
}

/* sign: "", "*", "!". Adds it where it is not there and `add`. */
static inline void set_sign(char *set, const char *name, const char *sign, bool add)
{
    char word[SET_BYTES], old[SET_BYTES], out[SET_BYTES * 2] = "", *rest = old;
    if (!set_word(set, name, word)) {
        if (add)
            snprintf(set + strlen(set), SET_BYTES - strlen(set), "%s%s%s", set[0] != '\0' ? " " : "", name, sign);
        return;
    }
    set_copy(old, set);
    for (char *w1; (w1 = strsep(&rest, " ")) != NULL;) {
        size_t len = strlen(out);
        if (strcmp(w1, word) == 0)
            snprintf(out + len, sizeof(out) - len, "%s%s%s", len > 0 ? " " : "", name, sign);
        else if (w1[0] != '\0')
            snprintf(out + len, sizeof(out) - len, "%s%s", len > 0 ? " " : "", w1);
    }
    snprintf(set, SET_BYTES, "%.*s", SET_BYTES - 1, out);
}

static void put_row(struct buf *b, const char *word)
{
    int len = (int)strcspn(word, "*!");
    cleanup(mem_free_ptr) char *name = mem_printf("%.*s,", len, word);
    bool fails = w.failing != NULL && strstr(w.failing, name) != NULL;
    buf_printf(b,
               "{\"name\":\"%.*s\",\"address\":\"10.0.0.%.*s\",\"port\":80,\"id\":\"1\","
               "\"operational_state\":\"%s\",\"admin_state\":\"%s\"}",
               len, word, len - 1, word + 1, word[len] == '*' || fails ? "down" : "up",
               word[len] == '*'   ? "maint"
               : word[len] == '!' ? "drain"
                                  : "ready");
}

static int put_running(struct buf *b)
{
    char copy[SET_BYTES], *rest = copy;
    const char *comma = "";
    if (w.unreadable || w.down)
        return 500;
    set_copy(copy, w.running.of[backend_of()]);
    if (copy[0] == '\0')
        return 404; /* as the real one: it has no data for a backend without servers */
    buf_add(b, "[");
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (word[0] == '\0')
            continue;
        buf_add(b, comma);
        put_row(b, word);
        comma = ",";
    }
    buf_add(b, "]");
    return 200;
}

static int put_one_running(struct buf *b)
{
    char word[SET_BYTES];
    if (w.unreadable)
        return 500;
    if (!set_word(w.running.of[backend_of()], strrchr(w.path, '/') + 1, word))
        return 404;
    put_row(b, word);
    return 200;
}

static int write_fast(struct buf *b, char *reload_id)
{
    const char *last = strrchr(w.path, '/') + 1, *version = strchr(w.path, '=');
    char name[SET_BYTES], sign[2] = "";
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(last, "?"), last);
    if (strtoll(version + 1, NULL, 10) != w.version)
        return 409;
    if (w.name[strlen(w.name) - 1] == '*')
        sign[0] = '*';
    char *have = w.have.of[backend_of()];
    if (w.forbidden != NULL && strcmp(w.forbidden, name) == 0)
        return 400;
    if (!w.forgets_fast)
        set_sign(have, name, sign, false);
    w.file = w.have;
    w.file_version = ++w.version;
    w.transaction = 0; /* outdated */
    w.fast++;
    buf_printf(b, "{\"name\":\"%s\"}", name);
    if (w.reloads_fast) {
        snprintf(reload_id, RELOAD_ID_BYTES, "r-%u", schedule_reload());
        return 202;
    }
    if (!w.deaf)
        set_sign(w.running.of[backend_of()], name, sign, false);
    return 200;
}

static void put_file_servers(struct buf *b, const char *set)
{
    char copy[SET_BYTES], *rest = copy;
    set_copy(copy, set);
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        int len = (int)strcspn(word, "*");
        if (len > 0)
            buf_printf(b, "  server %.*s 10.0.0.%.*s:80 check weight 100%s\n", len, word, len - 1, word + 1,
                       word[len] == '*' ? " disabled" : "");
    }
}

static void put_file(struct buf *b, const struct sets *sets)
{
    buf_printf(b, "# _version=%lld\nglobal\n", (long long)w.file_version);
    for (size_t i = 0; i < w.backends; i++) {
        if (w.absent[i])
            continue;
        buf_printf(b, "\nbackend %s\n  mode tcp\n", backend_names[i]);
        put_file_servers(b, sets->of[i]);
        if (i == 0 && w.unsupported)
            buf_add(b, "  server odd 10.0.0.9:80 no-such-word\n");
    }
}

static void put_reloads(struct buf *b)
{
    buf_add(b, "[");
    for (unsigned i = w.forgotten + 1; i <= w.reloads; i++)
        buf_printf(b, "%s{\"id\":\"r-%u\",\"status\":\"%s\",\"reload_timestamp\":%u}", i > w.forgotten + 1 ? "," : "",
                   i,
                   w.outcome[i] == 's'   ? "succeeded"
                   : w.outcome[i] == 'f' ? "failed"
                                         : "in_progress",
                   i);
    buf_add(b, "]");
}

static int poll(struct buf *b)
{
    unsigned id = (unsigned)strtoul(strrchr(w.path, '-') + 1, NULL, 10);
    if (id <= w.forgotten)
        return 404;
    buf_printf(b, "{\"id\":\"r-%u\",\"status\":\"%s\",\"response\":\"words of HAProxy\"}", id,
               w.outcome[id] == 's'   ? "succeeded"
               : w.outcome[id] == 'f' ? "failed"
                                      : "in_progress");
    return 200;
}

static int begin(struct buf *b)
{
    if (strtoll(strchr(w.path, '=') + 1, NULL, 10) != w.version)
        return 409;
    w.transaction = ++w.transactions;
    w.opened = w.have;
    buf_printf(b, "{\"id\":\"t-%u\",\"status\":\"in_progress\"}", w.transaction);
    return 201;
}

static int commit(struct buf *b, char *reload_id)
{
    if (w.transaction == 0 || w.transaction != strtoul(strrchr(w.path, '-') + 1, NULL, 10))
        return 404;
    for (size_t i = 0; w.forbidden != NULL && i < w.backends; i++)
        if (set_has(w.opened.of[i], w.forbidden))
            return 400; /* the transaction is failed, and there until it is deleted */
    if (!w.stubborn)
        w.have = w.opened;
    w.version++;
    w.file = w.have;
    if (!w.stale_file)
        w.file_version = w.version;
    w.commits++;
    buf_printf(b, "{\"id\":\"t-%u\",\"status\":\"success\"}", w.transaction);
    w.transaction = 0;
    snprintf(reload_id, RELOAD_ID_BYTES, "r-%u", schedule_reload());
    return 202;
}

static int change(char step)
{
    const char *last = strrchr(w.path, '/') + 1;
    char name[SET_BYTES];
    if (w.transaction == 0)
        return 400;
    char *opened = w.opened.of[backend_of()], parked[SET_BYTES + 1];
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(last, "?"), last);
    snprintf(parked, sizeof(parked), "%s*", name);
    if (step != '+') {
        set_remove(opened, name);
        set_remove(opened, parked);
    }
    if (step != '-')
        snprintf(opened + strlen(opened), SET_BYTES - strlen(opened), "%s%s", opened[0] != '\0' ? " " : "", w.name);
    return 202;
}

static int carry_out(char step, struct buf *b, char *reload_id)
{
    switch (step) {
    case 'R':
        if (w.absent[backend_of()])
            return 404;
        buf_printf(b, "{\"name\":\"%s\",\"mode\":\"tcp\"}", backend_names[backend_of()]);
        return 200;
    case 's':
        put_servers(b);
        return 200;
    case 't':
    case 'L':
        buf_add(b, "[]");
        return 200;
    case 'w':
        put_file(b, &w.file);
        buf_add(b, w.file_more != NULL ? w.file_more : "");
        return 200;
    case '|': {
        bool changed = memcmp(&w.opened, &w.have, sizeof(w.have)) != 0;
        put_file(b, changed ? &w.opened : &w.file);
        buf_add(b, changed && w.damaged != NULL ? w.damaged
                   : w.rewritten != NULL        ? w.rewritten
                   : w.file_more != NULL        ? w.file_more
                                                : "");
        return 200;
    }
    case '(': {
        int status = begin(b);
        w.transactions -= status == 201; /* nothing is written in it */
        return status;
    }
    case 'H':
        if (w.reload_list != NULL)
            buf_add(b, w.reload_list);
        else
            put_reloads(b);
        return 200;
    case 'i':
        if (w.down)
            buf_add(b, "{\"error\":\"connection refused\"}");
        else
            buf_printf(b, "{\"info\":{\"pid\":%u,\"uptime\":%u}}", w.pid, 5u);
        return w.unreadable ? 500 : 200;
    case 'v':
        return put_running(b);
    case 'b':
        return put_one_running(b);
    case 'F':
        return write_fast(b, reload_id);
    case 'P':
        return poll(b);
    case 'B':
        return begin(b);
    case 'C':
        return commit(b, reload_id);
    case 'D':
    case ')':
        if (w.transaction == 0)
            return 404;
        w.transaction = 0;
        return 204;
    default:
        return change(step);
    }
}

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
    struct error err = {0};
    cleanup(buf_fini) struct buf body;
    buf_init(&body, 0);
    ck_assert_msg(++w.at_one_moment < AT_ONE_MOMENT_MAX, "a loop without a pause: %s", buf_str(&w.trace));
    trace(step);
    tick_reload();
    struct dataplane_answer a = {.progress = HTTP_ANSWERED, .retry_after_ms = -1, .duration_us = 1000};
    bool faulty = take_fault(step, &f);
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
        error_set(&err, ERROR_RETRY, "no answer");
        a.error = &err;
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
    struct error err = {0};
    cleanup(buf_fini) struct buf body;
    buf_init(&body, 0);
    ck_assert_msg(++w.at_one_moment < AT_ONE_MOMENT_MAX, "a loop without a pause: %s", buf_str(&w.trace));
    buf_printf(&w.trace, "%c", step);
    struct dataplane_answer a = {.progress = HTTP_ANSWERED, .retry_after_ms = -1, .version = w.version};
    a.status = take_fault(step, &f) ? f.status : carry_out_call(&body);
    if (a.status == 0) {
        error_set(&err, ERROR_RETRY, "no answer");
        a.error = &err;
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

static struct timer *next_timer(uint64_t until_ms)
{
    struct timer *first = NULL;
    for (size_t i = 0; i < array_len(w.timers); i++) {
        struct timer *t = w.timers[i];
        if (t != NULL && t->due_ms != 0 && t->due_ms <= until_ms && (first == NULL || t->due_ms < first->due_ms))
            first = t;
    }
    return first;
}

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
    for (struct timer *t; (t = next_timer(end)) != NULL;) {
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
        struct timer *t = next_timer(clock_mono_ms() + 600000);
        ck_assert_msg(t != NULL, "nothing will ever ask %c: %s", step, buf_str(&w.trace));
        fire(t);
    }
}

/* "": no usable endpoint; "?": undecided. n<i> has to be in the order of the names. */
static inline void wish_of(size_t backend, const char *set, const char *cause)
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
            (struct desired_server){.name = mem_strndup(word, len),
                                    .address = mem_printf("10.0.0.%.*s", (int)len - 1, word + 1),
                                    .port = 80,
                                    .weight = -1,
                                    .state = word[len] == '*' ? SERVER_DRAINING : SERVER_LIVE,
                                    .reason = mem_strdup("a reason")};
    }
    cleanup(desired_unref_ptr) const struct desired *shared = desired_share(&d);
    servers_set_desired(w.target.servers, backend, shared, cause, clock_mono_us());
}

static inline void wish(const char *set, const char *cause)
{
    wish_of(0, set, cause);
    servers_apply(w.target.servers);
    look();
}

/* Both backends at once. */
static inline void wish_both(const char *set, const char *second, const char *cause)
{
    wish_of(0, set, cause);
    wish_of(1, second, cause);
    servers_apply(w.target.servers);
    look();
}

static void on_stopped(void *arg)
{
    (void)arg;
    w.stopped++;
}

static inline void stop(void)
{
    instance_stop(w.target.instance, on_stopped, NULL);
}

static inline bool in_sync(void)
{
    for (size_t i = 0; i < w.backends; i++)
        if (metric_value(w.telemetry.in_sync, backend_names[i], API_URL, NULL) != 1)
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
    cleanup(buf_fini) struct buf body;
    buf_init(&body, 0);
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
    cleanup(buf_fini) struct buf all;
    char piece[4096];
    ssize_t n;
    buf_init(&all, 0);
    for (off_t at = 0; (n = pread(w.log_fd, piece, sizeof(piece), at)) > 0; at += n)
        buf_addn(&all, piece, (size_t)n);
    return strstr(buf_str(&all), text) != NULL;
}

static inline void forget_log(void)
{
    ck_assert_int_eq(ftruncate(w.log_fd, 0), 0);
    ck_assert_int_eq(lseek(w.log_fd, 0, SEEK_SET), 0);
}

static inline void assert_settled(const char *set)
{
    ck_assert_msg(in_sync(), "not in sync: %s", buf_str(&w.trace));
    ck_assert_msg(set_eq(w.have.of[0], set), "configured \"%s\", not \"%s\": %s", w.have.of[0], set, buf_str(&w.trace));
    ck_assert_msg(w.deaf || set_eq(w.running.of[0], set), "running \"%s\", not \"%s\": %s", w.running.of[0], set,
                  buf_str(&w.trace));
    assert_ready(true, "in step");
}

static inline void assert_settled_two(const char *set)
{
    ck_assert_msg(set_eq(w.have.of[1], set), "configured \"%s\", not \"%s\": %s", w.have.of[1], set, buf_str(&w.trace));
    ck_assert_msg(set_eq(w.running.of[1], set), "running \"%s\", not \"%s\": %s", w.running.of[1], set,
                  buf_str(&w.trace));
}

/* ---- life ---- */

static inline void target_make(void)
{
    struct error err;
    w.target.servers = servers_new(&w.options.servers);
    const struct engine *engine = servers_engine(w.target.servers);
    w.target.instance = instance_new(NULL, &w.options.instance, &engine, 1, &err);
    ck_assert_ptr_nonnull(w.target.instance);
}

static inline void target_end(void)
{
    instance_free(w.target.instance);
    servers_free(w.target.servers);
}

/* HAProxy runs n1 (in each backend); nothing is wished yet, nothing asked. No brake unless rules say so. */
static inline void world_make_as(size_t backends, struct plan_rules rules, uint64_t park_ttl_ms, bool lanes)
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
    telemetry_init(&w.telemetry, "0");
    w.history = history_new();
    w.pid = 100;
    w.options.servers = (struct servers_options){
        .backends = backend_names, .backend_count = backends, .rules = rules, .park_ttl_ms = park_ttl_ms};
    w.options.instance = (struct instance_options){.client = FILE_CLIENT,
                                                   .runtime = lanes ? RUNTIME_CLIENT : NULL,
                                                   .resync_period_ms = RESYNC_MS,
                                                   .telemetry = &w.telemetry,
                                                   .history = w.history,
                                                   .log = &w.daemon_log};
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

static inline void world_make_lanes(void)
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
    telemetry_fini(&w.telemetry);
    history_free(w.history);
    buf_fini(&w.trace);
    close(w.log_fd);
}

/* In step with n1, the trace empty. */
static inline void world_in_step(void)
{
    instance_start(w.target.instance);
    wish("n1", "the first list");
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

#endif
