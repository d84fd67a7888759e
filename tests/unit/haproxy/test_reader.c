/*
 * haproxy/dataplane/reader against an API of a few lines: how many requests a reading takes, and what comes of it where
 * others write in between, or the API answers otherwise than it should.
 */
#include "haproxy/dataplane/reader.h"

#include "haproxy/cfg/content.h"
#include "haproxy/dataplane/client.h"
#include "../test.h"
#include "../api_about.h"

#define MAX_BACKENDS 64
#define LIST "/configuration/backends?full_section=true"
#define LANES_MAX 4

struct dataplane_client {
    bool busy;
    uint64_t asked; /* number of the request in hand */
    char path[128];
    void (*on_answer)(void *arg, const struct dataplane_answer *a);
    void *arg;
};

static struct world {
    size_t backends, servers; /* of each */
    size_t of_others;         /* backends that nobody asks for */
    int64_t version;          /* of the API */
    bool absent[MAX_BACKENDS];
    bool out_of_file[MAX_BACKENDS]; /* but the API has it */
    const char *more[MAX_BACKENDS]; /* a line of the file that the API does not show */
    unsigned weight[MAX_BACKENDS];  /* of all its servers */
    const char *list_body;          /* in place of the true one */
    int list_status;                /* 0: 200 */
    struct error list_error;        /* kind NONE: none */
    uint64_t list_us;
    struct error runtime_error; /* of what begins so; kind NONE: none */
    const char *runtime_error_at;
    const char *base_body; /* of b1 alone; NULL: the true one */
    bool broken_file;      /* it has no section at all */
    bool lags;             /* the API's servers have the weight from before */
    bool no_file_version;  /* no API has written it yet */
    bool old_file;         /* haproxy.cfg is older than the API's version */
    bool no_runtime;       /* HAProxy does not answer */
    bool no_version;       /* nor has what is said of it a version */
    unsigned pid;
    const char *moves_at; /* another writer commits before each answer to a path that begins so; NULL: none */
    unsigned moves;       /* so often; 0: for ever */
    bool moves_weights;   /* and changes b1 */

    uint64_t now_us;
    struct timer *timers[2];
    struct dataplane_client clients[LANES_MAX];
    size_t client_count;
    size_t most_twins; /* that are to be had */
    unsigned in_flight, most_in_flight;
    bool last_first; /* is answered */
    uint64_t asked;
    char path[128];   /* that is answered */
    struct buf trace; /* a letter for each request, as it is answered */
    unsigned requests;
    unsigned turns; /* of the loop, without an answer */
    unsigned done;
    struct error error; /* kind NONE: it went well */
    struct reader reader;
    struct readout to;
    char names[MAX_BACKENDS][24];
    const char *name_list[MAX_BACKENDS];
    struct backend kept[MAX_BACKENDS]; /* of the reading before: keep_all */
    const char *file_head;             /* comments in front of its version; NULL: none */
} w;

#define VIRTUAL_TIME (&w)
#include "../../virtual_time.h"

/* ---- the client ---- */

void dataplane_send(struct dataplane_client *c, const char *method, const char *path, const char *json,
                    void (*on_answer)(void *arg, const struct dataplane_answer *a), void *arg)
{
    ck_assert_str_eq(method, "GET");
    ck_assert_ptr_null(json);
    ck_assert_msg(!c->busy, "two requests at once: %s, %s", c->path, path);
    *c = (struct dataplane_client){.busy = true, .asked = ++w.asked, .on_answer = on_answer, .arg = arg};
    snprintf(c->path, sizeof(c->path), "%s", path);
    if (++w.in_flight > w.most_in_flight)
        w.most_in_flight = w.in_flight;
}

struct dataplane_client *dataplane_client_twin(const struct dataplane_client *c)
{
    ck_assert_ptr_eq(c, &w.clients[0]);
    if (w.client_count > w.most_twins)
        return NULL;
    ck_assert_uint_lt(w.client_count, LANES_MAX);
    return &w.clients[w.client_count++];
}

void dataplane_cancel(struct dataplane_client *c)
{
    w.in_flight -= c->busy;
    c->busy = false;
}

void dataplane_client_free(struct dataplane_client *c)
{
    dataplane_cancel(c);
    w.client_count--;
}

char *dataplane_answer_take(const struct dataplane_answer *a)
{
    return mem_strndup(a->body, a->body_len);
}

const char *dataplane_client_url(const struct dataplane_client *c)
{
    return "http://api";
}

/* ---- the API ---- */

static void put_server(size_t backend, size_t i, struct buf *out)
{
    buf_printf(out, "{\"address\":\"10.0.0.1\",\"name\":\"s%zu\",\"port\":80,\"weight\":%u}", i,
               w.weight[backend] - w.lags);
}

static void put_base(size_t backend, struct buf *out)
{
    buf_printf(out, "{\"name\":\"b%zu\",\"mode\":\"tcp\"", backend);
}

/* By name, and not in the order of the file. */
static void put_list(struct buf *out)
{
    const char *comma = "";
    buf_add(out, "[");
    for (size_t b = 0; b < w.backends + w.of_others; b++) {
        if (b < w.backends && w.absent[b])
            continue;
        buf_add(out, comma);
        put_base(b, out);
        buf_add(out, ",\"acl_list\":[{\"acl_name\":\"x\"}],\"http_request_rule_list\":[{}]");
        for (size_t i = w.servers; i-- > 0;) {
            buf_printf(out, "%s\"s%zu\":", i == w.servers - 1 ? ",\"servers\":{" : ",", i);
            put_server(b, i, out);
        }
        buf_add(out, w.servers > 0 ? "}}" : "}");
        comma = ",";
    }
    buf_add(out, "]");
}

static void put_servers(size_t backend, struct buf *out)
{
    buf_add(out, "[");
    for (size_t i = 0; i < w.servers; i++) {
        buf_add(out, i > 0 ? "," : "");
        put_server(backend, i, out);
    }
    buf_add(out, "]");
}

static void put_runtime(struct buf *out)
{
    buf_add(out, "[");
    for (size_t i = 0; i < w.servers; i++)
        buf_printf(out, "%s{\"name\":\"s%zu\",\"address\":\"10.0.0.1\",\"port\":80,\"admin_state\":\"ready\"}",
                   i > 0 ? "," : "", i);
    buf_add(out, "]");
}

static void put_file(struct buf *out)
{
    buf_add(out, w.file_head != NULL ? w.file_head : "");
    if (!w.no_file_version)
        buf_printf(out, "# _version=%lld\n", (long long)w.version - w.old_file);
    if (w.broken_file)
        return;
    buf_add(out, "global\n");
    for (size_t b = 0; b < w.backends + w.of_others; b++) {
        if (b < w.backends && (w.absent[b] || w.out_of_file[b]))
            continue;
        buf_printf(out, "\nbackend b%zu\n  mode tcp\n", b);
        for (size_t i = 0; i < w.servers; i++)
            buf_printf(out, "  server s%zu 10.0.0.1:80 weight %u\n", i, w.weight[b % MAX_BACKENDS]);
        if (b < w.backends && w.more[b] != NULL)
            buf_printf(out, "  %s\n", w.more[b]);
    }
}

static size_t backend_of_path(void)
{
    return (size_t)strtoul(strstr(w.path, "/backends/b") + strlen("/backends/b"), NULL, 10);
}

static char letter(void)
{
    return strcmp(w.path, "/configuration/raw") == 0       ? 'w'
           : strcmp(w.path, LIST) == 0                     ? 'A'
           : strcmp(w.path, "/runtime/info") == 0          ? 'i'
           : str_has_prefix(w.path, "/runtime/backends/b") ? 'v'
           : str_has_suffix(w.path, "/servers")            ? 's'
           : str_has_suffix(w.path, "/server_templates")   ? 't'
                                                           : 'R';
}

static int say(char asked, struct buf *out)
{
    switch (asked) {
    case 'w':
        put_file(out);
        return 200;
    case 'A':
        if (w.list_body != NULL)
            buf_add(out, w.list_body);
        else
            put_list(out);
        return w.list_status != 0 ? w.list_status : 200;
    case 'i':
        buf_printf(out, w.no_runtime ? "{\"error\":\"refused\"}" : "{\"info\":{\"pid\":%u,\"uptime\":5}}", w.pid);
        return 200;
    case 'v':
        put_runtime(out);
        return w.no_runtime ? 500 : w.servers > 0 ? 200 : 404;
    case 's':
        put_servers(backend_of_path(), out);
        return 200;
    case 't':
        buf_add(out, "null");
        return 200;
    default:
        if (w.absent[backend_of_path()])
            return 404;
        if (backend_of_path() == 1 && w.base_body != NULL)
            buf_add(out, w.base_body);
        else {
            put_base(backend_of_path(), out);
            buf_add(out, "}");
        }
        return 200;
    }
}

static void turn(void)
{
    struct timer *t = virtual_next_timer(clock_mono_ms());
    ck_assert_msg(t != NULL, "it waits for nothing");
    t->due_ms = 0;
    w.turns++;
    t->fn(t->arg);
}

/* As the real one: an answer is made, then it gets the version. */
static void answer(void)
{
    if (w.in_flight == 0) {
        turn();
        return;
    }
    cleanup(buf_fini) struct buf body = {0};
    struct dataplane_client *c = NULL;
    for (size_t i = 0; i < w.client_count; i++)
        if (w.clients[i].busy && (c == NULL || (w.clients[i].asked > c->asked) == w.last_first))
            c = &w.clients[i];
    ck_assert_msg(c != NULL, "it waits for nothing");
    snprintf(w.path, sizeof(w.path), "%s", c->path);
    char asked = letter();
    bool moves = w.moves_at != NULL && str_has_prefix(w.path, w.moves_at);
    struct dataplane_answer a = {.retry_after_ms = -1, .progress = HTTP_ANSWERED};
    if (moves && w.moves_weights)
        w.weight[1]++;
    a.status = say(asked, &body);
    w.version += moves;
    if (moves && w.moves > 0 && --w.moves == 0)
        w.moves_at = NULL;
    a.version = w.version;
    if (asked == 'A' && w.list_error.kind != ERROR_NONE) {
        a.status = 0;
        a.version = -1;
        a.error = &w.list_error;
    }
    if (w.no_version && str_has_prefix(w.path, "/runtime/"))
        a.version = -1;
    if (w.runtime_error.kind != ERROR_NONE && str_has_prefix(w.path, w.runtime_error_at)) {
        a.status = 0;
        a.version = -1;
        a.error = &w.runtime_error;
    }
    a.duration_us = asked == 'A' ? w.list_us : 0;
    a.body = buf_str(&body);
    a.body_len = body.len;
    buf_addn(&w.trace, &asked, 1);
    w.requests++;
    c->busy = false;
    w.in_flight--;
    c->on_answer(c->arg, &a);
}

static void was_read(void *arg, const struct error *err)
{
    w.done++;
    w.error = err != NULL ? *err : (struct error){0};
}

static bool begun;

static void end(void)
{
    if (!begun)
        return;
    for (size_t i = 0; i < w.backends; i++)
        backend_fini(&w.kept[i]);
    reader_fini(&w.reader);
    ck_assert_uint_eq(w.client_count, 1);
    readout_fini(&w.to);
    buf_fini(&w.trace);
    begun = false;
}

FIXTURE(NULL, end)

/* Another world, of each test or in its place. */
static void begin(size_t backends, size_t servers)
{
    end();
    begun = true;
    w = (struct world){.backends = backends, .servers = servers, .version = 7, .pid = 100, .now_us = 1000000};
    buf_init(&w.trace, 0);
    for (size_t i = 0; i < backends; i++) {
        snprintf(w.names[i], sizeof(w.names[i]), "b%zu", i);
        w.name_list[i] = w.names[i];
        w.weight[i] = 10;
    }
    w.client_count = 1;
    w.most_twins = LANES_MAX - 1;
    reader_init(&w.reader, NULL, &w.clients[0], was_read, NULL);
    w.reader.with_runtime = true;
    readout_init(&w.to, w.name_list, backends);
}

/* One reading; what it asked for, one letter each. */
static const char *look(void)
{
    buf_clear(&w.trace);
    w.requests = w.turns = w.done = w.most_in_flight = 0;
    reader_start(&w.reader, &w.to);
    while (w.done == 0) {
        ck_assert_msg(w.requests < 2000, "for ever");
        answer();
    }
    ck_assert_uint_eq(w.in_flight, 0);
    ck_assert_uint_eq(w.done, 1);
    return buf_str(&w.trace);
}

static void check_backend(size_t i)
{
    const struct reading *f = &w.to.found[i];
    ck_assert_msg(f->backend.exists && f->unreadable.kind == ERROR_NONE, "b%zu: %s", i, f->unreadable.message);
    ck_assert_str_eq(f->backend.json, i == 1 && w.base_body != NULL ? w.base_body : f->backend.json);
    ck_assert_ptr_null(strstr(f->backend.json, "_list"));
    ck_assert_ptr_null(strstr(f->backend.json, "servers"));
    ck_assert_uint_eq(f->backend.server_count, w.servers);
    for (size_t k = 0; k < w.servers; k++) {
        char name[24];
        snprintf(name, sizeof(name), "s%zu", k);
        ck_assert_str_eq(f->backend.servers[k].name, name);
        ck_assert_ptr_nonnull(strstr(f->backend.servers[k].json, "10.0.0.1"));
    }
    ck_assert(f->runtime.readable);
    ck_assert_uint_eq(f->runtime.count, w.servers);
}

static void check_all(void)
{
    ck_assert_msg(w.error.kind == ERROR_NONE, "%s", w.error.message);
    ck_assert_ptr_nonnull(w.to.file);
    ck_assert(!w.to.split);
    ck_assert_int_eq(w.to.worker_pid, 100);
    for (size_t i = 0; i < w.backends; i++)
        check_backend(i);
}

/* ---- how many requests ---- */

TEST(one_backend_is_asked_for_by_itself)
{
    begin(1, 3);
    ck_assert_str_eq(look(), "wRstiv");
    check_all();
    ck_assert_int_eq(w.to.version, 7);
}

TEST(several_are_two_requests_and_one_each_of_what_runs)
{
    begin(MAX_BACKENDS, 20);
    ck_assert_uint_eq(strspn(look(), "wAi"), 3);
    ck_assert_uint_eq(w.requests, 3 + MAX_BACKENDS);
    ck_assert_uint_eq(w.turns, 3 * (MAX_BACKENDS / 8 - 1)); /* read, put in order, compared with the file */
    check_all();
    ck_assert(!w.to.outdated);
    w.reader.with_runtime = false;
    ck_assert_str_eq(look(), "wA");
}

TEST(the_file_alone)
{
    begin(0, 0);
    w.of_others = 3;
    ck_assert_str_eq(look(), "wi");
    check_all();
}

/* The list would have all of the file. */
TEST(a_few_of_many_are_asked_for_one_by_one)
{
    begin(2, 1);
    w.of_others = 9;
    ck_assert_str_eq(look(), "wAivv");
    w.of_others = 10;
    ck_assert_str_eq(look(), "wRstRstivv");
    check_all();
}

TEST(what_runs_of_many_is_asked_for_several_at_once)
{
    for (unsigned i = 0; i < 2; i++) {
        begin(MAX_BACKENDS, 3);
        w.last_first = i == 1;
        look();
        ck_assert_uint_eq(w.most_in_flight, LANES_MAX);
        ck_assert_uint_eq(w.requests, 3 + MAX_BACKENDS);
        check_all();
        look();
        ck_assert_uint_eq(w.most_in_flight, LANES_MAX);
        check_all();
    }
    begin(7, 3);
    look();
    ck_assert_uint_eq(w.most_in_flight, 1);
    begin(8, 3);
    w.most_twins = 1;
    look();
    ck_assert_uint_eq(w.most_in_flight, 2);
    check_all();
    begin(8, 3);
    w.most_twins = 0;
    look();
    ck_assert_uint_eq(w.most_in_flight, 1);
    check_all();
}

/* The others are not waited for. */
TEST(no_answer_about_one_is_none_about_the_others)
{
    begin(20, 3);
    error_set(&w.runtime_error, ERROR_RETRY, "no answer");
    w.runtime_error_at = "/runtime/backends/b9/";
    look();
    ck_assert_int_eq(w.error.kind, ERROR_NONE);
    for (size_t i = 0; i < 20; i++) {
        const struct runtime *r = &w.to.found[i].runtime;
        ck_assert_msg(r->readable == (i < 9), "%zu", i);
        ck_assert(i < 9 || str_eq(r->why, "no answer"));
    }
    error_clear(&w.runtime_error);
    look();
    check_all();
    w.runtime_error_at = "/runtime/info";
    error_set(&w.runtime_error, ERROR_RETRY, "no answer");
    ck_assert_str_eq(look(), "wAi");
    ck_assert_int_eq(w.error.kind, ERROR_NONE);
    ck_assert(!w.to.found[0].runtime.readable && !w.to.found[19].runtime.readable);
}

/* At any turn of the loop, the list half read, half ordered or half compared: the next reading has all of it. */
TEST(a_reading_that_is_cancelled_between_two_turns)
{
    for (unsigned at = 1;; at++) {
        begin(MAX_BACKENDS, 3);
        w.turns = 0;
        reader_start(&w.reader, &w.to);
        while (w.turns < at && w.done == 0)
            answer();
        bool whole = w.done > 0;
        reader_cancel(&w.reader);
        ck_assert_ptr_null(virtual_next_timer(UINT64_MAX));
        dataplane_cancel(&w.clients[0]);
        w.weight[5] = 99;
        look();
        check_all();
        ck_assert_int_eq(w.to.found[5].backend.servers[2].weight, 99);
        if (whole)
            break;
        ck_assert_uint_lt(at, 100);
    }
}

/* ---- what is missing, or not as it should be ---- */

TEST(a_missing_backend_is_none)
{
    begin(3, 2);
    w.absent[1] = true;
    ck_assert_str_eq(look(), "wAivv");
    ck_assert_int_eq(w.error.kind, ERROR_NONE);
    ck_assert(!w.to.found[1].backend.exists && w.to.found[0].backend.exists && w.to.found[2].backend.exists);
    ck_assert_str_eq(w.to.found[1].backend.name, "b1");
}

/* Whatever is missing in the list but not in the file: the API is asked. */
TEST(one_that_only_the_file_has_is_asked_for)
{
    begin(2, 1);
    w.list_body = "[{\"name\":\"b0\",\"mode\":\"tcp\",\"servers\":{\"s0\":{\"name\":\"s0\",\"address\":\"10.0.0.1\","
                  "\"port\":80,\"weight\":10}}}]";
    ck_assert_str_eq(look(), "wARstivv");
    check_all();
}

/* A reload failed, and the file went back to what it was before the backend was made. */
TEST(one_that_only_the_api_has_is_there)
{
    begin(3, 2);
    w.old_file = true;
    w.out_of_file[1] = true;
    ck_assert_str_eq(look(), "wARstivvv");
    ck_assert(w.to.split);
    w.to.split = false;
    check_all();
}

TEST(where_the_file_has_other_lines_the_api_is_asked)
{
    static const char *const lines[] = {"server odd 10.0.0.9:80 no-such-word", "server s0 10.0.0.1:80",
                                        "server-template t 3 10.0.0.1:80"};
    for (size_t i = 0; i < array_len(lines); i++) {
        begin(3, 2);
        w.more[1] = lines[i];
        ck_assert_str_eq(look(), "wARstivvv");
        check_all();
        ck_assert_uint_eq(w.to.found[1].backend.unsupported_count, 1);
        ck_assert_uint_eq(w.to.found[0].backend.unsupported_count, 0);
    }
}

/* An API that does not know full_section answers base fields alone. */
TEST(a_list_without_servers_is_no_backend_without_servers)
{
    begin(2, 1);
    w.list_body = "[{\"name\":\"b0\",\"mode\":\"tcp\"},{\"name\":\"b1\",\"mode\":\"tcp\"}]";
    ck_assert_str_eq(look(), "wARstRstivv");
    check_all();
    begin(2, 0);
    ck_assert_str_eq(look(), "wAivv");
    check_all();
}

TEST(one_that_cannot_be_understood_keeps_no_other_one_up)
{
    begin(3, 1);
    w.list_body = "[{\"name\":\"b0\",\"servers\":{\"s0\":{\"name\":\"s0\",\"address\":\"10.0.0.1\",\"port\":80}}},"
                  "{\"name\":\"b1\",\"mode\":5,\"servers\":{\"s0\":{\"name\":\"s0\",\"address\":\"10.0.0.1\"}}},"
                  "{\"name\":\"b2\",\"servers\":{\"s0\":{\"name\":\"s0\",\"address\":\"10.0.0.1\",\"port\":80}}}]";
    w.base_body = "{\"name\":\"b1\",\"mode\":5}";
    ck_assert_str_eq(look(), "wARivvv");
    ck_assert_int_eq(w.error.kind, ERROR_NONE);
    check_backend(0);
    check_backend(2);
    ck_assert_str_eq(w.to.found[1].unreadable.message,
                     "reading backend b1: backend b1: mode is a number, not a string");
}

TEST(an_api_without_the_list_is_asked_one_by_one)
{
    static const struct {
        int status;
        const char *body;
    } rows[] = {{404, "{}"}, {500, "{\"message\":\"cannot parse\"}"}, {200, "{\"data\":[]}"}, {200, "<html>"}};
    for (size_t i = 0; i < array_len(rows); i++) {
        begin(2, 1);
        w.list_status = rows[i].status;
        w.list_body = rows[i].body;
        ck_assert_str_eq(look(), "wARstRstivv");
        check_all();
        for (unsigned k = 1; k < 10; k++)
            ck_assert_str_eq(look(), "wRstRstivv");
        ck_assert_str_eq(look(), "wARstRstivv");
    }
}

TEST(a_list_that_is_too_large_is_asked_for_one_by_one)
{
    begin(2, 1);
    error_set(&w.list_error, ERROR_INVALID, "the answer is larger than 8 bytes");
    ck_assert_str_eq(look(), "wARstRstivv");
    check_all();
}

TEST(no_answer_ends_the_reading)
{
    begin(2, 1);
    error_set(&w.list_error, ERROR_RETRY, "no answer");
    w.list_us = 1000;
    ck_assert_str_eq(look(), "wA");
    ck_assert_str_eq(w.error.message, "reading backends: no answer");
    ck_assert_str_eq(look(), "wA");
    w.list_us = 10000000; /* it may take too long for this API: */
    ck_assert_str_eq(look(), "wA");
    ck_assert_str_eq(look(), "wRstRstivv");
    check_all();
}

TEST(who_may_not_read_is_reported)
{
    static const int statuses[] = {401, 403, 503};
    for (size_t i = 0; i < array_len(statuses); i++) {
        begin(2, 1);
        w.list_status = statuses[i];
        ck_assert_str_eq(look(), "wA");
        ck_assert_int_eq(w.error.http_status, statuses[i]);
    }
}

TEST(an_older_file_shows_no_order)
{
    begin(2, 3);
    w.old_file = true;
    ck_assert_str_eq(look(), "wAivv");
    ck_assert(w.to.split);
    ck_assert_int_eq(w.to.version, 7);
    w.more[0] = "server gone 10.0.0.1:80";
    ck_assert_str_eq(look(), "wARstivv");
    ck_assert(w.to.split);
    ck_assert_uint_eq(w.to.found[0].backend.unsupported_count, 0);
}

/* ---- another writer ---- */

TEST(a_change_during_the_configuration_begins_it_again)
{
    begin(3, 2);
    w.moves_at = LIST;
    w.moves = 2;
    ck_assert_str_eq(look(), "wAwAwAivvv");
    check_all();
    ck_assert_int_eq(w.to.version, 9);
    ck_assert(!w.to.outdated);
}

/* The list is made, then another writer writes, then it gets its version: that of the file shows that it is older. */
TEST(an_answer_that_is_older_than_its_version_is_not_taken)
{
    begin(2, 1);
    w.moves_at = "/configuration/raw";
    w.moves = 1;
    w.moves_weights = true;
    look();
    ck_assert(w.to.split); /* read again in a moment, as of a hand edit */
    begin(2, 1);
    w.moves_at = LIST;
    w.moves = 1;
    w.moves_weights = true;
    ck_assert_str_eq(look(), "wAwAivv");
    ck_assert_ptr_nonnull(strstr(w.to.found[1].backend.servers[0].json, "\"weight\":11"));
    ck_assert_int_eq(w.to.version, 8);
}

TEST(who_writes_between_any_two_requests_starves_nobody)
{
    begin(1, 4);
    w.moves_at = "/";
    look();
    ck_assert_uint_le(w.requests, 2 * 5 + 6);
    ck_assert(w.to.outdated);
    w.to.split = false;
    check_all();
    ck_assert_int_lt(w.to.version, w.version);
    begin(8, 4);
    w.moves_at = "/";
    w.list_status = 404;
    look();
    ck_assert_uint_le(w.requests, 3 * 6 + 8 * 4);
    ck_assert(w.to.outdated);
    w.to.split = false;
    check_all();
}

/* What the file says of them is older: it is no fault of theirs. */
TEST(what_is_newer_is_not_compared_with_the_file)
{
    begin(4, 2);
    w.moves_at = LIST;
    w.moves_weights = true;
    look();
    ck_assert(w.to.outdated && !w.to.split);
    ck_assert_int_lt(w.to.version, w.version);
    ck_assert_uint_eq(w.to.found[1].backend.unsupported_count, 0);
    check_all();
    begin(1, 2);
    w.moves_at = "/configuration/backends";
    w.more[0] = "server odd 10.0.0.9:80";
    look();
    ck_assert(w.to.outdated && !w.to.split);
    ck_assert_uint_eq(w.to.found[0].backend.unsupported_count, 0);
    w.moves_at = NULL;
    look();
    ck_assert_uint_eq(w.to.found[0].backend.unsupported_count, 1);
}

TEST(who_writes_while_what_runs_is_read_starves_nobody)
{
    begin(4, 2);
    w.moves_at = "/runtime/";
    ck_assert_str_eq(look(), "wAivvvvwAiwAiwAiwAiwAi");
    ck_assert(w.to.outdated);
    check_all();
    w.moves_at = NULL;
    w.no_version = true;
    ck_assert_str_eq(look(), "wAivvvv");
    ck_assert(!w.to.outdated);
    check_all();
}

TEST(another_process_is_read_anew)
{
    begin(2, 2);
    w.moves_at = "/runtime/backends/b1";
    w.moves = 1;
    reader_start(&w.reader, &w.to);
    while (w.moves_at != NULL)
        answer();
    w.pid = 101;
    while (w.done == 0)
        answer();
    ck_assert_str_eq(buf_str(&w.trace), "wAivvwAivv");
    ck_assert_int_eq(w.to.worker_pid, 101);
}

TEST(a_haproxy_that_does_not_answer_starves_nobody_either)
{
    begin(2, 2);
    w.moves_at = "/";
    w.no_runtime = true;
    look();
    ck_assert_int_eq(w.error.kind, ERROR_NONE);
    ck_assert(w.to.outdated && w.to.worker_silent);
    ck_assert_int_eq(w.to.worker_pid, -1);
    ck_assert(!w.to.found[0].runtime.readable && w.to.found[0].runtime.why != NULL);
}

/* ---- what is as it was ---- */

/* As an instance does: what was read is what it has, and it says so. */
static void keep_all(void)
{
    for (size_t i = 0; i < w.backends; i++) {
        struct reading *f = &w.to.found[i];
        if (!f->as_last) {
            backend_fini(&w.kept[i]);
            w.kept[i] = f->backend;
            backend_init(&f->backend);
        }
        f->last = &w.kept[i];
    }
}

/* Two readings of another file. */
static void look_and_keep(void)
{
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_str_eq(look(), "wAivvvv");
        ck_assert_msg(w.error.kind == ERROR_NONE, "%s", w.error.message);
        keep_all();
    }
}

static void begin_kept(void)
{
    begin(4, 2);
    look_and_keep();
}

static void check_as_last(bool is)
{
    ck_assert_msg(w.error.kind == ERROR_NONE, "%s", w.error.message);
    for (size_t i = 0; i < w.backends; i++) {
        const struct reading *f = &w.to.found[i];
        ck_assert(f->as_last == is);
        ck_assert(f->backend.exists && readout_backend(f)->exists);
        ck_assert_int_eq(f->backend.version, w.version);
        ck_assert_str_eq(readout_backend(f)->servers[1].name, "s1");
        ck_assert(f->runtime.readable && f->runtime.count == w.servers);
    }
    ck_assert_ptr_nonnull(w.to.file);
    ck_assert_int_eq(w.to.version, w.version);
}

TEST(of_a_file_that_is_as_it_was_only_what_runs_is_read)
{
    begin_kept();
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_str_eq(look(), "wivvvv");
        check_as_last(true);
        keep_all();
    }
    readout_let_file_go(&w.to, false);
    ck_assert_str_eq(look(), "wivvvv");
    check_as_last(true);
    w.version++;
    look_and_keep();
    ck_assert_str_eq(look(), "wivvvv");
    check_as_last(true);
}

TEST(of_another_file_all_is_read)
{
    begin_kept();
    w.weight[1]++;
    look_and_keep();
    ck_assert_str_eq(look(), "wivvvv");
    keep_all();
    w.file_head = "# one more line, so that the others have other numbers\n";
    ck_assert_str_eq(look(), "wAivvvv");
}

TEST(what_its_owner_changed_is_read)
{
    begin_kept();
    w.to.found[2].last = NULL;
    ck_assert_str_eq(look(), "wAivvvv");
    check_as_last(false);
}

TEST(of_a_file_behind_the_api_all_is_read)
{
    begin_kept();
    w.old_file = true;
    ck_assert_str_eq(look(), "wAivvvv");
    ck_assert(w.to.split);
    keep_all();
    ck_assert_str_eq(look(), "wAivvvv");
}

/* What it was before the first of two changes is not taken for what it is after the second, which changes nothing. */
TEST(a_file_without_a_version_is_as_it_was_at_that_of_the_api)
{
    begin(4, 2);
    w.no_file_version = true;
    look_and_keep();
    ck_assert_str_eq(look(), "wivvvv");
    check_as_last(true);
    keep_all();
    w.version++;
    ck_assert_str_eq(look(), "wAivvvv");
    check_as_last(false);
}

TEST(who_changes_nothing_while_what_runs_is_read_costs_no_second_reading_of_it)
{
    begin_kept();
    w.moves_at = "/runtime/backends/b2";
    w.moves = 1;
    ck_assert_str_eq(look(), "wivvvvwAi");
    check_as_last(false);
    keep_all();
    w.moves_at = "/runtime/backends/b2";
    w.moves = 1;
    w.moves_weights = true;
    ck_assert_str_eq(look(), "wAivvvvwAiv");
    check_as_last(false);
}

/* After an edit by hand the API shows what it had for a moment, and takes it in without another version where it starts again. */
TEST(what_the_api_takes_in_later_is_read)
{
    begin_kept();
    unsigned weight = w.weight[1]++;
    w.lags = true;
    ck_assert_str_eq(look(), "wAivvvv");
    keep_all();
    w.lags = false;
    ck_assert_str_eq(look(), "wAivvvv");
    ck_assert_uint_eq(w.to.found[1].backend.servers[0].weight, weight + 1);
}

TEST(a_broken_file_is_reported_each_time)
{
    begin(0, 0);
    w.broken_file = true;
    for (unsigned i = 0; i < 4; i++) {
        look();
        ck_assert_ptr_nonnull(w.to.file_problem);
        ck_assert_ptr_null(w.to.file);
    }
}

TEST(a_file_with_something_to_say_about_is_read_each_time)
{
    begin_kept();
    w.more[3] = "\ndefaults one\n  mode tcp\n\ndefaults two\n  mode http\n\nbackend later\n  mode tcp";
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_str_eq(look(), "wAivvvv");
        ck_assert_ptr_nonnull(w.to.defaults_problem);
        keep_all();
    }
    w.more[3] = NULL;
    ck_assert_str_eq(look(), "wAivvvv");
    ck_assert_ptr_null(w.to.defaults_problem);
    keep_all();
    ck_assert_str_eq(look(), "wAivvvv");
    keep_all();
    ck_assert_str_eq(look(), "wivvvv");
}
