/*
 * A Data Plane API and the HAProxy behind it, in the test's own process and in virtual time: in place of
 * haproxy/dataplane/client, what it is asked waits in `w` until engine_world.h answers it by carry_out. n<i> has the address
 * 10.0.0.<i>, as have a_n<i>, b_n<i>. The backends are "be" and, where a test asks for it, "two".
 *
 * Each request has a letter, its step:
 *
 *     R reading (its first request; s t w are the others)   H list of reloads   P one reload
 *     L list of transactions   B begin   + - ~ add, remove, change a server   C commit   D delete a transaction
 *     F write of one server to file and running HAProxy   i v b what runs: the process, all servers, one
 *     V W validation, write of the whole file
 *     ( | ) a preview of what a write would make of the file: an empty transaction, what it would write, its end
 *
 * and on the second connection, where the running HAProxy alone is changed: d m y drain, maint, ready.
 */
#pragma once

#include "test.h"
#include "api_about.h"

#include "haproxy/dataplane/client.h"
#include "daemon/targets.h"
#include "haproxy/dataplane/driver_internal.h"
#include "haproxy/instance_internal.h"
#include "report/history.h"
#include "report/metric_table.h"
#include "server_sets.h"

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
#define ALL_BACKENDS "/configuration/backends?full_section=true"

static struct world {
    uint64_t now_us;
    uint64_t slow_us; /* so much passes whenever the clock is read: a machine that is busy elsewhere */
    struct timer *timers[10];

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
    } call;                /* on the second connection */
    bool crossing;         /* the call in hand is answered between a reading of what runs and its answer */
    unsigned pid;          /* of the worker; another one after each reload */
    bool answers_in_turns; /* two HAProxies, behind one address */
    unsigned infos;        /* that were asked for */
    bool deaf;             /* what is written does not reach what runs */
    bool unreadable;       /* what runs cannot be read */
    bool reloads_fast;     /* the API answers 202 to a write without a transaction, and reloads */
    bool down;             /* HAProxy is not running, and the API says so */
    bool forgets_fast;     /* a write without a transaction is in no file */
    bool lies;             /* reloads are called done and never happen */
    unsigned fast;         /* writes without a reload */

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
    const char *file_head; /* comments at its top; NULL: none */
    const char *file_more; /* more lines of the file; NULL: none */
    const char *rewritten; /* what a write makes of them; NULL: they stay */
    const char *written;   /* `file_more` of a write of the whole file */
    unsigned others;       /* so many writes by others come before that one */
    unsigned readings;     /* of the file, ever; */
    unsigned lists;        /* and of all backends */
    unsigned looks;        /* begun ever, with the file */
    const char *damaged;   /* what one with a change of ours makes of them; NULL: the same */
    bool shows_looks;
    bool restless;   /* another writer commits before each answer about the file; what it writes is none of ours */
    bool stale_file; /* the file keeps its version whatever is committed */
    unsigned reload; /* the one that is pending; 0: none */
    uint64_t reload_due_ms;
    unsigned reloads;          /* scheduled ever */
    unsigned forgotten;        /* ids up to this one are not known any more */
    char outcome[RELOADS_MAX]; /* by id: 0 pending, 's' succeeded, 'f' failed */
    unsigned fail_reloads;     /* so many will fail */
    bool held;                 /* none ends */
    bool paused;               /* desired states say so */
    const char *reload_list;   /* instead of the true list of reloads */
    unsigned renewed;          /* so often the credentials turn out to be others */
    bool routes;               /* the running HAProxy can be reached */
    struct fault faults[4];

    struct buf trace;
    int log_fd;
    struct metric_table metrics;
    struct history *history;
    struct target target;
    unsigned stopped;
    struct targets_options options;
    struct log daemon_log;
    void (*look)(void); /* called after everything that happens */
} w;

#define VIRTUAL_TIME (&w)
#define VIRTUAL_SLOW_US w.slow_us
#include "../virtual_time.h"

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

void dataplane_send_bytes(struct dataplane_client *c, const char *method, const char *path, const char *content_type,
                          const char *body, size_t len, void (*on_answer)(void *arg, const struct dataplane_answer *a),
                          void *arg)
{
    dataplane_send(c, method, path, body, on_answer, arg);
}

void dataplane_send_text(struct dataplane_client *c, const char *path, const char *actions, const char *head,
                         const char *text, size_t len, void (*on_answer)(void *arg, const struct dataplane_answer *a),
                         void *arg)
{
    dataplane_send(c, "POST", path, head, on_answer, arg);
}

char *dataplane_answer_take(const struct dataplane_answer *a)
{
    return mem_strndup(a->body, a->body_len);
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

/* One request at a time: what the order of several comes to is in tests/unit/haproxy/test_reader.c. */
struct dataplane_client *dataplane_client_twin(const struct dataplane_client *c)
{
    return NULL;
}

void dataplane_client_free(struct dataplane_client *c)
{
    ck_assert_ptr_null(c);
}

bool dataplane_credentials_refused(struct dataplane_client *c)
{
    if (w.renewed == 0)
        return false;
    w.renewed--;
    return true;
}

const char *dataplane_client_url(const struct dataplane_client *c)
{
    return API_URL;
}

const char *dataplane_client_user(const struct dataplane_client *c)
{
    return NULL;
}

const char *dataplane_client_password(const struct dataplane_client *c)
{
    return NULL;
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
    const struct transaction *t = &dataplane_driver_of(instance_driver(w.target.instance))->transaction;
    if (w.target.instance->phase == INSTANCE_WRITING && t->preview_only && strcmp(w.path, "/transactions") != 0 &&
        t->state != TRANSACTION_DELETE_DEAD)
        return strcmp(w.method, "POST") == 0 ? '(' : strcmp(w.method, "DELETE") == 0 ? ')' : '|';
    if (str_has_prefix(w.path, "/runtime/"))
        return str_has_suffix(w.path, "/info") ? 'i' : str_has_suffix(w.path, "/servers") ? 'v' : 'b';
    if (strcmp(w.method, "GET") == 0)
        return strcmp(w.path, "/configuration/backends/be") == 0 ||
                       strcmp(w.path, "/configuration/backends/two") == 0 || strcmp(w.path, ALL_BACKENDS) == 0
                   ? 'R'
               : str_has_suffix(w.path, "/servers")                           ? 's'
               : str_has_suffix(w.path, "/server_templates")                  ? 't'
               : str_has_suffix(w.path, "/raw")                               ? 'w'
               : str_has_prefix(w.path, "/configuration/raw?transaction_id=") ? '|'
               : strcmp(w.path, "/reloads") == 0                              ? 'H'
               : transaction                                                  ? 'L'
                                                                              : 'P';
    if (strcmp(w.method, "POST") == 0 && str_has_prefix(w.path, "/configuration/raw?"))
        return strstr(w.path, "only_validate=true") != NULL ? 'V' : 'W';
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

/* Another writer writes, and HAProxy loads it at once. */
static inline void stranger(const char *set)
{
    set_copy(w.have.of[0], set);
    w.file = w.have;
    w.running = w.have;
    w.running_version = w.file_version = ++w.version;
    w.transaction = 0;
    w.pid++;
}

/* HAProxy is started again: what it alone was sent is gone. */
static inline void restart_haproxy(void)
{
    w.running = w.file;
    w.running_version = w.file_version;
    w.pid++;
}

/* As a list, or by name. */
/* "1" of n1, and of a_n1, which is n1 of cluster a. */
static const char *number_of(const char *word)
{
    const char *cluster = strchr(word, '_');
    return (cluster != NULL ? cluster + 1 : word) + 1;
}

static int number_len(const char *word, int len)
{
    return len - (int)(number_of(word) - word);
}

static void put_servers(struct buf *b, const char *set, bool named)
{
    char copy[SET_BYTES], *rest = copy;
    const char *comma = "";
    set_copy(copy, set);
    buf_add(b, named ? "{" : "[");
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (word[0] == '\0')
            continue;
        int len = (int)strcspn(word, "*");
        buf_add(b, comma);
        if (named)
            buf_printf(b, "\"%.*s\":", len, word);
        buf_printf(b,
                   "{\"name\":\"%.*s\",\"address\":\"10.0.0.%.*s\",\"port\":80,"
                   "\"check\":\"enabled\",\"weight\":100%s}",
                   len, word, number_len(word, len), number_of(word),
                   word[len] == '*' ? ",\"maintenance\":\"enabled\"" : "");
        comma = ",";
    }
    buf_add(b, named ? "}" : "]");
}

static void put_backends(struct buf *b)
{
    const char *comma = "";
    buf_add(b, "[");
    for (size_t i = 0; i < w.backends; i++) {
        if (w.absent[i])
            continue;
        buf_printf(b, "%s{\"name\":\"%s\",\"mode\":\"tcp\",\"servers\":", comma, backend_names[i]);
        put_servers(b, w.have.of[i], true);
        buf_add(b, "}");
        comma = ",";
    }
    buf_add(b, "]");
}

/* ---- the running HAProxy ---- */

static void put_row(struct buf *b, const char *word)
{
    int len = (int)strcspn(word, "*!");
    cleanup(mem_free_ptr) char *name = mem_printf("%.*s,", len, word);
    bool fails = w.failing != NULL && strstr(w.failing, name) != NULL;
    buf_printf(b,
               "{\"name\":\"%.*s\",\"address\":\"10.0.0.%.*s\",\"port\":80,\"id\":\"1\","
               "\"operational_state\":\"%s\",\"admin_state\":\"%s\"}",
               len, word, number_len(word, len), number_of(word), word[len] == '*' || fails ? "down" : "up",
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
            buf_printf(b, "  server %.*s 10.0.0.%.*s:80 check weight 100%s\n", len, word, number_len(word, len),
                       number_of(word), word[len] == '*' ? " disabled" : "");
    }
}

static void put_file(struct buf *b, const struct sets *sets)
{
    buf_printf(b, "# _version=%lld\n%sglobal\n", (long long)w.file_version, w.file_head != NULL ? w.file_head : "");
    for (size_t i = 0; i < w.backends; i++) {
        if (w.absent[i])
            continue;
        buf_printf(b, "\nbackend %s\n  mode tcp\n", backend_names[i]);
        put_file_servers(b, sets->of[i]);
        if (i == 0 && w.unsupported)
            buf_add(b, "  server odd 10.0.0.9:80 no-such-word\n");
    }
}

/* One of before the test, that went well, and those since. */
static void put_reloads(struct buf *b)
{
    const unsigned first = w.forgotten > 0 ? w.forgotten + 1 : 0;
    buf_add(b, "[");
    for (unsigned i = first; i <= w.reloads; i++)
        buf_printf(b, "%s{\"id\":\"r-%u\",\"status\":\"%s\",\"reload_timestamp\":%u}", i > first ? "," : "", i,
                   i == 0 || w.outcome[i] == 's' ? "succeeded"
                   : w.outcome[i] == 'f'         ? "failed"
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
        if (strcmp(w.path, ALL_BACKENDS) == 0) {
            w.lists++;
            put_backends(b);
            return 200;
        }
        if (w.absent[backend_of()])
            return 404;
        buf_printf(b, "{\"name\":\"%s\",\"mode\":\"tcp\"}", backend_names[backend_of()]);
        return 200;
    case 's':
        put_servers(b, w.have.of[backend_of()], false);
        return 200;
    case 't':
    case 'L':
        buf_add(b, "[]");
        return 200;
    case 'V':
        return 202;
    case 'W':
        w.file_version = w.version += 1 + w.others;
        w.file_more = w.written;
        w.written = ""; /* the file from before is as it was */
        put_file(b, &w.file);
        buf_add(b, w.file_more);
        return 201;
    case 'w':
        w.readings++;
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
        w.infos++;
        if (w.down)
            buf_add(b, "{\"error\":\"connection refused\"}");
        else
            buf_printf(b, "{\"info\":{\"pid\":%u,\"uptime\":%u}}", w.pid + (w.answers_in_turns ? w.infos % 2 : 0), 5u);
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
