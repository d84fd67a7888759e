/* src/haproxy/dataplane/runtime_update: every ending of a write without a reload, and of the call to the running HAProxy alone. */

#include "../json_text.h"
#include "haproxy/dataplane/runtime_update.h"
#include "servers/change/diff.h"
#include "txn_play.h"

static char *writable(const char *s)
{
    return (char *)(uintptr_t)s;
}

/* ---- answers, in the words of transaction_play.h, and more: ----
 *
 *     200      written: version 8, no Reload-ID        200v0, 200v-1    the same without a version
 *     202R     with a Reload-ID                        202              without
 *     =STATE ADDRESS PORT [WEIGHT]   what HAProxy runs (commas between them) */
static void make_answer(struct reply *r, const char *word, char **body)
{
    if (word[0] != '=') {
        make_reply(r, word, 'C', "");
        if (r->a.status >= 200 && r->a.status < 300 && strchr(word, 'v') == NULL && !str_eq(word, "html"))
            r->a.version = 8;
        if (word[strlen(word) - 1] == 'R')
            r->a.reload_id = "2026-11-21-4";
        return;
    }
    cleanup(mem_free_ptr) char *copy = mem_strdup(word + 1);
    char *rest = copy, *part[4];
    for (size_t i = 0; i < array_len(part); i++)
        part[i] = strsep(&rest, ",");
    ck_assert_msg(part[2] != NULL, "%s", word);
    *body = mem_printf("{\"name\":\"n/1\",\"admin_state\":\"%s\",\"address\":\"%s\",\"port\":%s%s%s}", part[0], part[1],
                       part[2], part[3] != NULL ? ",\"weight\":" : "", part[3] != NULL ? part[3] : "");
    make_reply(r, "200", '?', "");
    r->a.body = *body;
    r->a.body_len = strlen(*body);
}

static struct runtime_update l;
static struct transaction_action x;
static struct error err;

static void setup(void)
{
    runtime_update_init(&l);
    error_clear(&err);
}

static void teardown(void)
{
    runtime_update_fini(&l);
    runtime_update_fini(&l); /* once more is no harm */
}

FIXTURE(setup, teardown)

static char letter_of_route(void)
{
    if (str_eq(x.method, "PUT")) {
        ck_assert_str_eq(x.path, "/configuration/backends/b%2Fe/servers/n%2F1?version=7");
        ck_assert_ptr_nonnull(x.body);
        return 'W';
    }
    ck_assert_str_eq(x.method, "GET");
    ck_assert_uint_eq(x.delay_ms, l.reads > 0 ? 10u << l.reads : 0);
    ck_assert_str_eq(x.path, "/runtime/backends/b%2Fe/servers/n%2F1");
    ck_assert_ptr_null(x.body);
    return 'R';
}

static void play_route(const char *script)
{
    char *words = mem_strdup(script), *at = words, *word;
    size_t sent = 0;
    while (x.type == TRANSACTION_SEND) {
        struct reply r;
        char *body = NULL;
        ck_assert_uint_lt(sent, LONGEST - 1);
        trace[sent++] = letter_of_route();
        trace[sent] = '\0';
        word = strsep(&at, " ");
        ck_assert_msg(word != NULL && word[0] != '\0', "%s: no answer left after %s", script, trace);
        make_answer(&r, word, &body);
        x = runtime_update_answer(&l, &r.a);
        free(body);
    }
    ck_assert_msg(at == NULL, "%s: \"%s\" was not asked for after %s", script, at, trace);
    ck_assert_int_eq(l.state, UPDATE_DONE);
    ck_assert_int_eq(runtime_update_answer(&l, &(struct dataplane_answer){.body = ""}).type, TRANSACTION_FINISHED);
    free(words);
}

/* ---- the table ---- */

#define LINE "{\"name\":\"n/1\",\"address\":\"10.0.0.1\",\"port\":80,\"check\":\"enabled\",\"weight\":100,\"inter\":5}"

#define SIX(x) x " " x " " x " " x " " x " " x
enum shape { MOVES, LEAVES, RETURNS, WEIGHS, AGENT_WEIGHS, NAMED };

#define AGENT_LINE                                                                                                 \
    "{\"name\":\"n/1\",\"address\":\"10.0.0.1\",\"port\":80,\"check\":\"enabled\",\"weight\":100,\"agent-check\":" \
    "\"enabled\",\"agent-port\":81}"

static struct diff_change shape_of(enum shape shape)
{
    struct diff_change c = {.op = DIFF_CHANGE,
                            .server = {.name = writable("n/1"),
                                       .address = writable(shape == NAMED ? "n1.example" : "10.0.0.2"),
                                       .port = 80,
                                       .weight = 100,
                                       .check = true,
                                       .json = writable(LINE)}};
    c.fields = SERVER_ADDRESS;
    if (shape == LEAVES || shape == RETURNS)
        c.fields |= SERVER_MAINTENANCE;
    c.server.maintenance = shape == LEAVES;
    if (shape == WEIGHS || shape == AGENT_WEIGHS) {
        c.fields = SERVER_WEIGHT;
        c.server.weight = 50;
    }
    if (shape == AGENT_WEIGHS)
        c.server.json = writable(AGENT_LINE);
    return c;
}

struct row {
    const char *script, *trace;
    enum shape shape;
    enum update_result result;
    enum error_kind kind;
    const char *text; /* in the error; NULL: none */
};

static const struct row rows[] = {
    /* written, and HAProxy shows it */
    {"200 =ready,10.0.0.2,80", "WR", MOVES, UPDATE_WRITTEN, ERROR_NONE, NULL},
    {"200 =ready,10.0.0.2,80,100", "WR", MOVES, UPDATE_WRITTEN, ERROR_NONE, NULL},
    {"200 =ready,10.0.0.2,80,7", "WR", MOVES, UPDATE_WRITTEN, ERROR_NONE, NULL}, /* another writer's weight */
    {"200 =drain,10.0.0.2,80", "WR", MOVES, UPDATE_WRITTEN, ERROR_NONE, NULL},   /* ours or another writer's */
    {"200 =maint,10.0.0.2,80", "WR", MOVES, UPDATE_WRITTEN, ERROR_NONE, NULL},
    {"200 =maint,10.0.0.2,80", "WR", LEAVES, UPDATE_WRITTEN, ERROR_NONE, NULL},
    {"200 =ready,10.0.0.2,80", "WR", RETURNS, UPDATE_WRITTEN, ERROR_NONE, NULL},
    {"200 =drain,10.0.0.2,80", "WR", RETURNS, UPDATE_WRITTEN, ERROR_NONE,
     NULL}, /* set since: it overtook the reading */
    {"200 =ready,10.0.0.2,80,50", "WR", WEIGHS, UPDATE_WRITTEN, ERROR_NONE, NULL},
    {"200 =ready,10.0.0.2,80", "WR", WEIGHS, UPDATE_WRITTEN, ERROR_NONE, NULL},         /* 3.0 does not show it */
    {"200 =ready,10.0.0.2,80,9", "WR", AGENT_WEIGHS, UPDATE_WRITTEN, ERROR_NONE, NULL}, /* its agent has set another */
    {"200 =ready,10.9.9.9,80", "WR", NAMED, UPDATE_WRITTEN, ERROR_NONE,
     NULL}, /* what it resolves to is not known here */

    /* an address comes a little later */
    {"200 =ready,10.0.0.1,80 =ready,10.0.0.2,80", "WRR", MOVES, UPDATE_WRITTEN, ERROR_NONE, NULL},
    {"200 =maint,10.0.0.2,81 =maint,10.0.0.2,81 =maint,10.0.0.2,80", "WRRR", LEAVES, UPDATE_WRITTEN, ERROR_NONE, NULL},
    {"200 =ready,10.0.0.1,80 404", "WRR", MOVES, UPDATE_UNVERIFIED, ERROR_GONE, "read it back: HTTP 404"},

    /* HAProxy shows something else, or nothing */
    {"200 " SIX("=ready,10.0.0.1,80"), "WRRRRRR", MOVES, UPDATE_UNVERIFIED, ERROR_INVALID,
     "server n/1 is as desired in haproxy.cfg, but not verified at runtime: "},
    {"200 " SIX("=ready,10.0.0.2,81"), "WRRRRRR", MOVES, UPDATE_UNVERIFIED, ERROR_INVALID, "10.0.0.2:81"},
    {"200 " SIX("=ready,10.0.0.2,80"), "WRRRRRR", LEAVES, UPDATE_UNVERIFIED, ERROR_INVALID, "ready"},
    {"200 " SIX("=drain,10.0.0.2,80"), "WRRRRRR", LEAVES, UPDATE_UNVERIFIED, ERROR_INVALID, "drain"},
    {"200 " SIX("=maint,10.0.0.2,80"), "WRRRRRR", RETURNS, UPDATE_UNVERIFIED, ERROR_INVALID,
     "HAProxy still has it in maint"},
    {"200 =ready,10.0.0.2,80,100", "WR", WEIGHS, UPDATE_UNVERIFIED, ERROR_INVALID, "HAProxy runs it with weight 100"},
    {"200 =asleep,10.0.0.2,80", "WR", MOVES, UPDATE_UNVERIFIED, ERROR_INVALID, "\"asleep\""},
    {"200 404", "WR", MOVES, UPDATE_UNVERIFIED, ERROR_GONE,
     "read it back: HTTP 404: message of 404; a transaction follows"},
    {"200 500", "WR", MOVES, UPDATE_UNVERIFIED, ERROR_RETRY, "read it back: HTTP 500"},
    {"200 401", "WR", MOVES, UPDATE_UNVERIFIED, ERROR_AUTH, "read it back: HTTP 401"},
    {"200 lost", "WR", MOVES, UPDATE_UNVERIFIED, ERROR_RETRY, "read it back: lost"},
    {"200 refused", "WR", MOVES, UPDATE_UNVERIFIED, ERROR_RETRY, "read it back: refused"},
    {"200 nocred", "WR", MOVES, UPDATE_UNVERIFIED, ERROR_AUTH, "read it back: nocred"},
    {"200 html", "WR", MOVES, UPDATE_UNVERIFIED, ERROR_INVALID, "the running server is not JSON"},
    {"200 204", "WR", MOVES, UPDATE_UNVERIFIED, ERROR_INVALID, "the running server is not JSON"},

    /* a reload, announced or not */
    {"202R", "W", MOVES, UPDATE_RELOADS, ERROR_INVALID, "could not update it at runtime (2026-11-21-4)"},
    {"200R", "W", MOVES, UPDATE_RELOADS, ERROR_INVALID, "server n/1 is as desired in haproxy.cfg, but the API"},
    {"202", "W", MOVES, UPDATE_UNVERIFIED, ERROR_INVALID, "the API announces a reload without an id"},

    /* nobody knows */
    {"200v0", "W", MOVES, UPDATE_UNKNOWN, ERROR_RETRY, "HTTP 200, but this is not an answer of a Data Plane API"},
    {"200v-1", "W", MOVES, UPDATE_UNKNOWN, ERROR_RETRY, "not an answer of a Data Plane API"},
    {"202v-1", "W", MOVES, UPDATE_UNKNOWN, ERROR_RETRY, "HTTP 202, but this is not an answer of a Data Plane API"},
    {"html", "W", MOVES, UPDATE_UNKNOWN, ERROR_RETRY, "not an answer of a Data Plane API: please log in"},
    {"lost", "W", MOVES, UPDATE_UNKNOWN, ERROR_RETRY, "runtime update of server n/1: lost"},
    {"502", "W", MOVES, UPDATE_UNKNOWN, ERROR_RETRY, "HTTP 502"},
    {"504", "W", MOVES, UPDATE_UNKNOWN, ERROR_RETRY, "HTTP 504"},

    /* refused */
    {"409", "W", MOVES, UPDATE_CONFLICT, ERROR_CONFLICT, "runtime update of server n/1: HTTP 409: message of 409"},
    {"406", "W", MOVES, UPDATE_CONFLICT, ERROR_CONFLICT, "HTTP 406"},
    {"404", "W", MOVES, UPDATE_CONFLICT, ERROR_GONE, "HTTP 404"},
    {"410", "W", MOVES, UPDATE_CONFLICT, ERROR_GONE, "HTTP 410"},
    {"400", "W", MOVES, UPDATE_REJECTED, ERROR_INVALID, "HTTP 400"},
    {"400v0", "W", MOVES, UPDATE_REJECTED, ERROR_INVALID, "HTTP 400"},
    {"422", "W", MOVES, UPDATE_REJECTED, ERROR_INVALID, "HTTP 422"},
    {"415", "W", MOVES, UPDATE_REJECTED, ERROR_INVALID, "HTTP 415"},
    {"302", "W", MOVES, UPDATE_REJECTED, ERROR_INVALID, "HTTP 302"},
    {"401", "W", MOVES, UPDATE_UNAUTHORIZED, ERROR_AUTH, "HTTP 401"},
    {"403", "W", MOVES, UPDATE_UNAUTHORIZED, ERROR_AUTH, "HTTP 403"},
    {"nocred", "W", MOVES, UPDATE_UNAUTHORIZED, ERROR_AUTH, "nocred"},
    {"429r3", "W", MOVES, UPDATE_UNAVAILABLE, ERROR_RETRY, "HTTP 429"},
    {"500", "W", MOVES, UPDATE_UNAVAILABLE, ERROR_RETRY, "HTTP 500"},
    {"full", "W", MOVES, UPDATE_UNAVAILABLE, ERROR_RETRY, "HTTP 500: no space left on device"},
    {"503r3", "W", MOVES, UPDATE_UNAVAILABLE, ERROR_RETRY, "HTTP 503"},
    {"refused", "W", MOVES, UPDATE_UNAVAILABLE, ERROR_RETRY, "runtime update of server n/1: refused"},
};

static void check_end(const struct row *row)
{
    bool in_file = row->result == UPDATE_WRITTEN || row->result == UPDATE_RELOADS || row->result == UPDATE_UNVERIFIED;
    ck_assert_str_eq(trace, row->trace);
    ck_assert_msg(l.result == row->result, "%s: %s", row->script, update_result_name(l.result));
    ck_assert_msg(l.error.kind == row->kind, "%s: %s: %s", row->script, error_kind_name(l.error.kind), l.error.message);
    ck_assert_msg(row->text == NULL ? l.error.message[0] == '\0' : strstr(l.error.message, row->text) != NULL, "%s: %s",
                  row->script, l.error.message);
    ck_assert_int_eq(l.version, in_file ? 8 : 7);
    ck_assert_str_eq(l.wanted.json, l.body);
    ck_assert(str_eq(l.reload_id, row->result == UPDATE_RELOADS ? "2026-11-21-4" : NULL));
    ck_assert(str_eq(l.refusal, str_eq(row->script, "full") ? FULL_MESSAGE : NULL));
    ck_assert_int_eq(l.retry_after_ms, strstr(row->script, "r3") != NULL ? 3000 : -1);
    ck_assert_uint_eq(l.write_us, 10);
    ck_assert_uint_eq(l.read_us, 10 * (strlen(trace) - 1));
}

TEST_EACH(every_ending, array_len(rows))
{
    const struct row *row = &rows[_i];
    struct diff_change change = shape_of(row->shape);
    ck_assert_int_eq(runtime_update_start(&l, 7, "b/e", &change.server, change.fields, false, &x, &err), 0);
    play_route(row->script);
    check_end(row);
}

/* ---- what is sent ---- */

TEST(the_whole_line_is_sent)
{
    struct diff_change change = shape_of(LEAVES);
    ck_assert_int_eq(runtime_update_start(&l, 7, "be", &change.server, change.fields, false, &x, &err), 0);
    ck_assert_int_eq(x.type, TRANSACTION_SEND);
    assert_json(x.body, "{\"name\":\"n/1\",\"address\":\"10.0.0.2\",\"port\":80,\"check\":\"enabled\",\"weight\":100,"
                        "\"inter\":5,\"maintenance\":\"enabled\"}");
}

/* First the address, then out of maintenance: which of both HAProxy has it in is no matter of the address, and an edit by
 * hand may be why. */
TEST_EACH(the_address_alone, 3)
{
    static const struct {
        const char *script;
        enum update_result result;
    } ways[] = {{"200 =maint,10.0.0.2,80", UPDATE_WRITTEN},
                {"200 =ready,10.0.0.2,80", UPDATE_WRITTEN},
                {"200 " SIX("=maint,10.0.0.1,80"), UPDATE_UNVERIFIED}};
    struct diff_change change = shape_of(RETURNS);
    change.server.json = writable("{\"name\":\"n/1\",\"address\":\"10.0.0.1\",\"maintenance\":\"enabled\"}");
    ck_assert_int_eq(runtime_update_start(&l, 7, "b/e", &change.server, change.fields, true, &x, &err), 0);
    assert_json(x.body, "{\"name\":\"n/1\",\"address\":\"10.0.0.2\",\"port\":80,\"check\":\"enabled\",\"weight\":100,"
                        "\"maintenance\":\"enabled\"}");
    play_route(ways[_i].script);
    ck_assert_msg(l.result == ways[_i].result, "%s", l.error.message);
    ck_assert_msg(!change.server.maintenance, "the caller's is left alone");

    /* a line that stays live for now may be in maint: it was sent so before */
    if (_i == 0) {
        change = shape_of(LEAVES);
        ck_assert_int_eq(runtime_update_start(&l, 7, "b/e", &change.server, change.fields, true, &x, &err), 0);
        ck_assert_ptr_null(strstr(x.body, "maintenance"));
        play_route("200 =maint,10.0.0.2,80");
        ck_assert_msg(l.result == UPDATE_WRITTEN, "%s", l.error.message);
    }

    /* and where maintenance was not to change at all, keeping it keeps it */
    change = shape_of(MOVES);
    ck_assert_int_eq(runtime_update_start(&l, 7, "b/e", &change.server, change.fields, true, &x, &err), 0);
    ck_assert_ptr_null(strstr(x.body, "maintenance"));
}

TEST(one_after_the_other)
{
    struct diff_change change = shape_of(MOVES), broken = change;
    broken.server.json = writable("{");
    ck_assert_int_eq(runtime_update_start(&l, 7, "b/e", &change.server, change.fields, false, &x, &err), 0);
    play_route("202R");
    ck_assert_ptr_nonnull(l.reload_id);
    ck_assert_int_eq(runtime_update_start(&l, 9, "be", &broken.server, broken.fields, false, &x, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_INVALID);
    ck_assert_msg(strstr(err.message, "server n/1") != NULL, "%s", err.message);
    ck_assert_msg(l.reload_id != NULL && l.version == 8, "it is as it was");
    ck_assert_int_eq(runtime_update_start(&l, 7, "b/e", &change.server, change.fields, false, &x, &err), 0);
    ck_assert_ptr_null(l.reload_id);
    play_route("429r3");
    ck_assert_int_eq(runtime_update_start(&l, 7, "b/e", &change.server, change.fields, false, &x, &err), 0);
    play_route("200 =ready,10.0.0.2,80");
    ck_assert(l.result == UPDATE_WRITTEN && l.error.kind == ERROR_NONE && l.retry_after_ms == -1 && l.write_us == 10);
}

TEST(another_server_is_no_proof)
{
    static const char other[] = "{\"name\":\"n2\",\"admin_state\":\"ready\",\"address\":\"10.0.0.2\",\"port\":80}";
    struct diff_change change = shape_of(MOVES);
    struct reply r;
    char *none = NULL;
    ck_assert_int_eq(runtime_update_answer(&l, &(struct dataplane_answer){.body = ""}).type, TRANSACTION_FINISHED);
    ck_assert_int_eq(l.state, UPDATE_IDLE);
    ck_assert_int_eq(runtime_update_start(&l, 7, "be", &change.server, change.fields, false, &x, &err), 0);
    make_answer(&r, "200", &none);
    x = runtime_update_answer(&l, &r.a);
    ck_assert_int_eq(x.type, TRANSACTION_SEND);
    r.a.body = other;
    r.a.body_len = strlen(other);
    x = runtime_update_answer(&l, &r.a);
    ck_assert_int_eq(x.type, TRANSACTION_FINISHED);
    ck_assert_int_eq(l.result, UPDATE_UNVERIFIED);
    ck_assert_msg(strstr(l.error.message, "the answer is about \"n2\"") != NULL, "%s", l.error.message);
}

TEST(names)
{
    static const char *const all[] = {"applied",  "reload",       "unverified",  "conflict",
                                      "rejected", "unauthorized", "unavailable", "unknown"};
    for (int i = UPDATE_WRITTEN; i <= UPDATE_UNKNOWN; i++)
        ck_assert_str_eq(update_result_name((enum update_result)i), all[i]);
    ck_assert_str_eq(update_result_name((enum update_result)99), "invalid");
}

/* ---- the call ---- */

static const struct {
    const char *word;
    enum runtime_admin wanted;
    enum error_kind kind;
    const char *text;
} calls[] = {
    {"=drain,10.0.0.1,80", RUNTIME_DRAIN, ERROR_NONE, NULL},
    {"=maint,10.0.0.1,80", RUNTIME_MAINT, ERROR_NONE, NULL},
    {"=ready,10.0.0.1,80", RUNTIME_READY, ERROR_NONE, NULL},
    {"=maint,10.0.0.1,80", RUNTIME_DRAIN, ERROR_NONE, NULL}, /* the API may take one for the other */
    {"=drain,10.0.0.1,80", RUNTIME_MAINT, ERROR_NONE, NULL},
    {"=ready,10.0.0.1,80", RUNTIME_DRAIN, ERROR_INVALID, "HAProxy still has server n/1 in ready instead of drain"},
    {"=maint,10.0.0.1,80", RUNTIME_READY, ERROR_INVALID, "still has server n/1 in maint"},
    {"=asleep,10.0.0.1,80", RUNTIME_READY, ERROR_INVALID, "runtime command: running server n/1"},
    {"204", RUNTIME_DRAIN, ERROR_INVALID, "is not JSON"},
    {"html", RUNTIME_DRAIN, ERROR_INVALID, "is not JSON"},
    {"404", RUNTIME_DRAIN, ERROR_GONE, "runtime command: HTTP 404"},
    {"500", RUNTIME_DRAIN, ERROR_RETRY, "HTTP 500"},
    {"422", RUNTIME_DRAIN, ERROR_INVALID, "HTTP 422"},
    {"401", RUNTIME_DRAIN, ERROR_AUTH, "HTTP 401"},
    {"lost", RUNTIME_DRAIN, ERROR_RETRY, "lost"},
    {"nocred", RUNTIME_DRAIN, ERROR_AUTH, "nocred"},
};

TEST_EACH(the_answer_to_a_call, array_len(calls))
{
    struct reply r;
    cleanup(mem_free_ptr) char *body = NULL;
    make_answer(&r, calls[_i].word, &body);
    int status = runtime_command_answer(&r.a, calls[_i].wanted, &err);
    ck_assert_msg((status == 0) == (calls[_i].kind == ERROR_NONE) && err.kind == calls[_i].kind, "%s: %s",
                  calls[_i].word, err.message);
    ck_assert_msg(calls[_i].text == NULL || strstr(err.message, calls[_i].text) != NULL, "%s", err.message);
    ck_assert_int_eq(runtime_command_answer(&r.a, calls[_i].wanted, NULL), status);
}

TEST(the_path_of_a_call)
{
    cleanup(mem_free_ptr) char *path = runtime_command_path("b/e", "n?1");
    ck_assert_str_eq(path, "/runtime/backends/b%2Fe/servers/n%3F1");
}
