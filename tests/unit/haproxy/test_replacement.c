/* src/haproxy/dataplane/replacement and validation_text: every ending of a validation and of a write of the whole file. */
#include "haproxy/cfg/content.h"
#include "haproxy/change.h"
#include "haproxy/dataplane/replacement.h"
#include "haproxy/dataplane/server_actions.h"
#include "txn_play.h"

#define SENT "global\n  setenv KEY bogus-key\n"
#define BEFORE "global\n  daemon\n"
#define UNLOADED "# haproxy-k8s-sync: version %lld is loaded by the next one\n"
#define MAY_RUN "# haproxy-k8s-sync: it need not if HAProxy has in version %lld: "

/* HAProxy is sent one server beside the write. */
#define TOLD "SetServerAddr be n1 10.0.0.2 80"
static struct changes told;

/* As make_reply has them; a success has the next version, with R behind it a Reload-ID. "said": a 400 of HAProxy's. */
static void make_answer(struct reply *r, const char *word, int64_t version)
{
    static const char said[] =
        "{\"code\":400,\"message\":\"validation error: exit status 1: msg=\\\"config parsing "
        "[/tmp/onlyvalidate1:19] unknown keyword 'bogus' in 'backend' section, 'bogus-key'\\\"\\nmsg=\\\"config "
        "Error(s) found in configuration file /tmp/onlyvalidate1\\\"\"}";
    if (word[0] == '=') { /* what HAProxy runs */
        static char body[128];
        snprintf(body, sizeof(body), "[{\"name\":\"n1\",\"admin_state\":\"ready\",\"address\":\"%s\",\"port\":80}]",
                 word + 1);
        make_reply(r, "200", '?', "");
        r->a.body = body;
        r->a.body_len = strlen(body);
        return;
    }
    make_reply(r, str_eq(word, "said") ? "400" : word, '?', "");
    if (str_eq(word, "said")) {
        r->a.body = said;
        r->a.body_len = strlen(said);
        snprintf(r->a.excerpt, sizeof(r->a.excerpt), "validation error: exit status 1: msg=...");
    }
    if (r->a.version == 7 && r->a.status >= 200 && r->a.status < 300)
        r->a.version = version;
    if (word[strlen(word) - 1] == 'R')
        r->a.reload_id = "2026-11-21-4";
}

static char sent_text[] = SENT, before_text[] = BEFORE;
static struct cfg_content sent = {.text = sent_text, .len = sizeof(SENT) - 1};
static struct cfg_content before = {.text = before_text, .len = sizeof(BEFORE) - 1};

static char letter_of_replacement(const struct replacement *r, const struct transaction_action *x, int64_t version)
{
    if (str_eq(x->method, "GET")) {
        bool reads = str_eq(x->path, "/runtime/backends/be/servers");
        ck_assert(reads || str_eq(x->path, "/configuration/raw"));
        return reads ? 'B' : 'L';
    }
    cleanup(mem_free_ptr) char *validates =
        mem_printf("/configuration/raw?version=%lld&only_validate=true", (long long)version);
    cleanup(mem_free_ptr) char *writes =
        mem_printf("/configuration/raw?version=%lld&skip_reload=true", (long long)version);
    ck_assert_str_eq(x->method, "POST");
    if (str_eq(x->path, validates)) {
        ck_assert_str_eq(x->body, "");
        ck_assert_ptr_eq(r->sends, &sent);
        return 'V';
    }
    ck_assert_str_eq(x->path, writes);
    cleanup(mem_free_ptr) char *also = mem_printf(MAY_RUN TOLD "\n", (long long)version + 1);
    bool tells = r->actions.len > 0, writes_it = r->sends == &sent;
    cleanup(mem_free_ptr) char *mark =
        mem_printf(UNLOADED "%s", (long long)version + 1, tells && writes_it ? also : "");
    ck_assert(r->sends == &sent || r->sends == &before);
    ck_assert_str_eq(x->body, writes_it || r->reload_id != NULL || tells ? mark : "");
    ck_assert_str_eq(buf_str(&r->actions), tells ? TOLD : "");
    return r->sends == &sent ? 'W' : 'R';
}

enum row_kind { WRITES, VALIDATES, TELLS };

struct row {
    enum row_kind kind_of;
    const char *script, *trace; /* "harm" in the script: what was written means something else */
    enum transaction_result result;
    enum error_kind kind;
    const char *text; /* in the error, or in why it takes a reload; NULL: none */
    int64_t version;
};

static const struct row rows[] = {
    {VALIDATES, "202", "V", TRANSACTION_PREVIEWED, ERROR_NONE, NULL, 7},
    {VALIDATES, "said", "V", TRANSACTION_REJECTED, ERROR_INVALID,
     "line 19: unknown keyword 'bogus' in 'backend' section, '***'", 7},
    {VALIDATES, "400", "V", TRANSACTION_REJECTED, ERROR_INVALID, "validation: HTTP 400: message of 400", 7},
    {VALIDATES, "422", "V", TRANSACTION_REJECTED, ERROR_INVALID, "HTTP 422", 7},
    /* nothing is said of the bytes */
    {VALIDATES, "400v-1", "V", TRANSACTION_UNAVAILABLE, ERROR_INVALID, "HTTP 400", 7},
    {VALIDATES, "413", "V", TRANSACTION_UNAVAILABLE, ERROR_INVALID, "HTTP 413", 7},
    {VALIDATES, "404", "V", TRANSACTION_UNAVAILABLE, ERROR_GONE, "HTTP 404", 7},
    {VALIDATES, "302", "V", TRANSACTION_UNAVAILABLE, ERROR_INVALID, "HTTP 302", 7},
    {VALIDATES, "html", "V", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "not an answer of a Data Plane API", 7},
    {VALIDATES, "202v-1", "V", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "not an answer of a Data Plane API", 7},
    {VALIDATES, "lost", "V", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "validation: lost", 7},
    {VALIDATES, "502", "V", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "HTTP 502", 7},
    {VALIDATES, "503r3", "V", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "HTTP 503", 7},
    {VALIDATES, "429", "V", TRANSACTION_LIMIT, ERROR_RETRY, "HTTP 429", 7},
    {VALIDATES, "401", "V", TRANSACTION_UNAUTHORIZED, ERROR_AUTH, "HTTP 401", 7},
    {VALIDATES, "nocred", "V", TRANSACTION_UNAUTHORIZED, ERROR_AUTH, "nocred", 7},

    {WRITES, "201", "W", TRANSACTION_COMMITTED, ERROR_NONE, NULL, 8},
    {WRITES, "202R", "W", TRANSACTION_COMMITTED, ERROR_NONE, NULL, 8},
    {WRITES, "409", "W", TRANSACTION_CONFLICT, ERROR_CONFLICT, "write of the configuration: HTTP 409", 7},
    {WRITES, "said", "W", TRANSACTION_REJECTED, ERROR_INVALID,
     "line 19 of the file as the Data Plane API writes it: unknown keyword 'bogus'", 7},
    {WRITES, "lost", "W", TRANSACTION_UNKNOWN, ERROR_RETRY, "lost", 7},
    {WRITES, "504", "W", TRANSACTION_UNKNOWN, ERROR_RETRY, "HTTP 504", 7},
    {WRITES, "201v-1", "W", TRANSACTION_UNKNOWN, ERROR_RETRY, "not an answer of a Data Plane API", 7},
    {WRITES, "refused", "W", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "refused", 7},
    {WRITES, "500", "W", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "HTTP 500", 7},

    /* the file from before goes back, at the version that was written */
    {WRITES, "201 harm 201", "WR", TRANSACTION_HARMFUL, ERROR_INVALID, "would change its meaning: line 3 would be lost",
     9},
    {WRITES, "201 harm 201 harm", "WR", TRANSACTION_UNKNOWN, ERROR_INVALID,
     "could not be restored: line 3 would be lost", 9},
    {WRITES, "202R harm 201", "WR", TRANSACTION_HARMFUL, ERROR_INVALID, "line 3 would be lost", 9},
    {WRITES, "201 harm 409", "WR", TRANSACTION_UNKNOWN, ERROR_CONFLICT,
     "line 3 would be lost; the previous file could not be restored: write of the previous configuration: HTTP "
     "409",
     8},
    {WRITES, "201 harm lost", "WR", TRANSACTION_UNKNOWN, ERROR_RETRY, "could not be restored", 8},
    {WRITES, "500v8", "W", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "HTTP 500", 7},

    /* HAProxy is sent commands, and read back */
    {TELLS, "201 =10.0.0.2", "WB", TRANSACTION_COMMITTED, ERROR_NONE, NULL, 8},
    {TELLS, "201 =10.0.0.1 =10.0.0.1 =10.0.0.2", "WBBB", TRANSACTION_COMMITTED, ERROR_NONE, NULL, 8},
    {TELLS, "201 =10.0.0.1 =10.0.0.1 =10.0.0.1 =10.0.0.1 =10.0.0.1 =10.0.0.1", "WBBBBBB", TRANSACTION_COMMITTED,
     ERROR_NONE, "backend be: server n1: HAProxy runs it at 10.0.0.1:80, not at 10.0.0.2:80", 8},
    {TELLS, "201 404", "WB", TRANSACTION_COMMITTED, ERROR_NONE, "reading what HAProxy runs: HTTP 404", 8},
    {TELLS, "201 500", "WB", TRANSACTION_COMMITTED, ERROR_NONE, "reading what HAProxy runs: HTTP 500", 8},
    {TELLS, "201 lost", "WB", TRANSACTION_COMMITTED, ERROR_NONE, "lost", 8},
    {TELLS, "201 html", "WB", TRANSACTION_COMMITTED, ERROR_NONE, "the list of running servers", 8},
    {TELLS, "202R", "W", TRANSACTION_COMMITTED, ERROR_NONE, NULL, 8},
    /* an action failed: the file is there, and nobody has seen it */
    {TELLS, "500v8 200", "WL", TRANSACTION_COMMITTED, ERROR_NONE, "message of 500", 8},
    {TELLS, "500v8 200v9", "WL", TRANSACTION_UNKNOWN, ERROR_RETRY, "its version is another", 8},
    {TELLS, "500v8 lost", "WL", TRANSACTION_UNKNOWN, ERROR_RETRY, "reading the configuration that was written", 8},
    {TELLS, "500v8 404", "WL", TRANSACTION_UNKNOWN, ERROR_GONE, "HTTP 404", 8},
    {TELLS, "500v8 200 harm 201", "WLR", TRANSACTION_HARMFUL, ERROR_INVALID, "line 3 would be lost", 9},
    /* it is not */
    {TELLS, "500", "W", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "HTTP 500", 7},
    {TELLS, "500v9", "W", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "HTTP 500", 7},
    {TELLS, "409", "W", TRANSACTION_CONFLICT, ERROR_CONFLICT, "HTTP 409", 7},
    {TELLS, "lost", "W", TRANSACTION_UNKNOWN, ERROR_RETRY, "lost", 7},
    /* what goes back is to be loaded: HAProxy was sent otherwise */
    {TELLS, "201 harm 201", "WR", TRANSACTION_HARMFUL, ERROR_INVALID, "line 3 would be lost", 9},
};

TEST_EACH(every_ending_of_a_replacement, array_len(rows))
{
    const struct row *row = &rows[_i];
    cleanup(replacement_fini) struct replacement r;
    cleanup(mem_free_ptr) char *words = mem_strdup(row->script);
    char *at = words;
    int64_t version = 7;
    memset(trace, 0, sizeof(trace));
    replacement_init(&r);
    ck_assert_int_eq(server_actions_read(TOLD, strlen(TOLD), &told), 0);
    struct transaction_action x =
        replacement_start(&r, 7,
                          &(struct replacement_request){.text = &sent,
                                                        .before = row->kind_of == VALIDATES ? NULL : &before,
                                                        .changes = row->kind_of == TELLS ? &told : NULL},
                          "3.4.0");
    for (size_t asked = 0; x.type == TRANSACTION_SEND; asked++) {
        struct reply reply;
        trace[asked] = letter_of_replacement(&r, &x, version);
        const char *word = strsep(&at, " ");
        ck_assert_msg(word != NULL, "%s: no answer left after %s", row->script, trace);
        make_answer(&reply, word, version + (row->kind_of != VALIDATES));
        x = replacement_answer(&r, &reply.a);
        if (x.type != TRANSACTION_JUDGE)
            continue;
        version++;
        bool harms = at != NULL && str_has_prefix(at, "harm");
        if (harms)
            (void)strsep(&at, " ");
        x = replacement_judged(&r, harms ? "line 3 would be lost" : NULL);
    }
    ck_assert_ptr_null(at);
    ck_assert_str_eq(trace, row->trace);
    ck_assert_int_eq(r.state, REPLACEMENT_DONE);
    ck_assert_msg(r.result == row->result, "%s: %s", row->script, transaction_result_name(r.result));
    ck_assert_msg(r.error.kind == row->kind, "%s: %s: %s", row->script, error_kind_name(r.error.kind), r.error.message);
    const char *says = row->kind == ERROR_NONE && r.why != NULL ? r.why : r.error.message;
    ck_assert_msg(row->text == NULL || strstr(says, row->text) != NULL, "%s: %s", row->script, says);
    ck_assert_int_eq(r.version, row->version);
    ck_assert((r.reload_id != NULL) == (strchr(row->script, 'R') != NULL));
    ck_assert_ptr_null(r.request.text); /* not borrowed any longer */
    if (row->kind_of == TELLS && row->result == TRANSACTION_COMMITTED) {
        ck_assert(r.runs == (row->text == NULL && r.reload_id == NULL));
        ck_assert_msg((r.why == NULL) == (row->text == NULL), "%s", r.why);
        ck_assert(replacement_in_vain(&r) == (r.why != NULL && strchr(trace, 'B') != NULL));
    }
    changes_fini(&told);
}

/* Those that it need not be sent are named, for the program that finds the file before they were read back. */
TEST(what_it_was_sent_stands_in_the_file)
{
    cleanup(replacement_fini) struct replacement r;
    cleanup(changes_fini) struct changes found = {0};
    replacement_init(&r);
    ck_assert_int_eq(server_actions_read(TOLD, strlen(TOLD), &told), 0);
    const struct replacement_request request = {.text = &sent, .before = &before, .changes = &told};
    struct transaction_action x = replacement_start(&r, 7, &request, "3.4.0");
    cleanup(mem_free_ptr) char *head = mem_printf("# _version=8\n%s", x.body);
    ck_assert(replacement_is_unloaded(head, strlen(head), 8));
    ck_assert(replacement_told(head, strlen(head), 8, &found));
    ck_assert_uint_eq(found.count, 1);
    ck_assert_str_eq(found.list[0]->server->address, "10.0.0.2");
    ck_assert(!replacement_told(head, strlen(head), 9, &found));
    ck_assert(!replacement_told(head, strlen(head) - 1, 8, &found));
    while (told.count < 17) /* more than a comment is for */
        changes_add(&told, told.list[0]);
    x = replacement_start(&r, 7, &request, "3.4.0");
    ck_assert_uint_gt(r.actions.len, 512);
    ck_assert(replacement_is_unloaded(x.body, strlen(x.body), 8));
    ck_assert(!replacement_told(x.body, strlen(x.body), 8, &found));
    changes_fini(&told);
}

TEST(what_no_action_says_takes_a_reload)
{
    cleanup(replacement_fini) struct replacement r;
    struct reply reply;
    cleanup(changes_fini) struct changes more = {0};
    struct change c;
    replacement_init(&r);
    ck_assert_int_eq(server_actions_read(TOLD, strlen(TOLD), &more), 0);
    c = *more.list[0];
    c.fields = SERVER_CHECK;
    changes_add(&more, &c);
    struct transaction_action x = replacement_start(
        &r, 7, &(struct replacement_request){.text = &sent, .before = &before, .changes = &more}, "3.4.0");
    ck_assert_uint_eq(r.actions.len, 0);
    ck_assert(!replacement_told(x.body, strlen(x.body), 8, &more));
    make_answer(&reply, "201", 8);
    (void)replacement_answer(&r, &reply.a);
    ck_assert_int_eq(replacement_judged(&r, NULL).type, TRANSACTION_FINISHED);
    ck_assert(!r.runs && !replacement_in_vain(&r));
    ck_assert_str_eq(r.why, "server be/n1: its check or its PROXY protocol changes");
}

/* As the API writes it: behind its own lines. A commit that loads it leaves the comment as it is, and moves on. */
TEST(what_was_written_says_that_it_is_not_loaded)
{
    cleanup(replacement_fini) struct replacement r;
    replacement_init(&r);
    ck_assert(!replacement_is_unloaded("", 0, 8));
    ck_assert(!replacement_is_unloaded("# _version=8\n", 13, 8));
    struct transaction_action x =
        replacement_start(&r, 7, &(struct replacement_request){.text = &sent, .before = &before}, "3.4.0");
    cleanup(mem_free_ptr) char *head = mem_printf("# _version=8\n\n%s", x.body);
    ck_assert(replacement_is_unloaded(head, strlen(head), 8));
    ck_assert(!replacement_is_unloaded(head, strlen(head), 9));
    ck_assert(!replacement_is_unloaded(head, strlen(head), 80));
    ck_assert(!replacement_is_unloaded(head, strlen(head) - 1, 8)); /* what follows is no comment of the head */
}

/* A file that was no document is sent as one would be. */
TEST(what_goes_back_has_names)
{
    static char several[] = "defaults\n mode tcp\ndefaults\n mode http\nbackend b\n";
    struct cfg_content raw = {.references = 1, .text = several, .len = sizeof(several) - 1};
    for (int second = 0; second < 2; second++) {
        struct replacement r;
        struct reply reply;
        replacement_init(&r);
        (void)replacement_start(&r, 7,
                                &(struct replacement_request){.text = second ? &sent : &raw,
                                                              .before = second ? &raw : &before,
                                                              .restores = !second},
                                "3.4.0");
        if (second) {
            make_answer(&reply, "201", 8);
            ck_assert_int_eq(replacement_answer(&r, &reply.a).type, TRANSACTION_JUDGE);
            (void)replacement_judged(&r, "line 3 would be lost");
        }
        ck_assert_str_eq(r.sends->text, "defaults unnamed_defaults_1\n mode tcp\ndefaults unnamed_defaults_2\n mode "
                                        "http\nbackend b from unnamed_defaults_2\n");
        replacement_fini(&r);
    }
}
