/*
 * src/haproxy/dataplane/replacement where servers come and go by the runtime: n4 is new, n1 goes. What is done after each answer, and what is
 * left of it.
 */
#include "haproxy/cfg/content.h"
#include "haproxy/change.h"
#include "haproxy/dataplane/replacement.h"
#include "txn_play.h"

#define TEXT "defaults\nbackend be\n  server n4 10.0.0.4:80 weight 7%s\n"

#define BEFORE "defaults\nbackend be\n  server n1 10.0.0.1:80\n"

static struct cfg_content *before;

/* "=STATE": what HAProxy runs, with n4 in that state; else as make_reply has it. A success of a write has version 8. */
static void make_answer(struct reply *r, const char *word)
{
    static char body[256];
    make_reply(r, word[0] == '=' ? "200" : word, '?', "");
    if (r->a.version == 7 && r->a.status == 201)
        r->a.version = 8;
    if (word[0] != '=')
        return;
    snprintf(body, sizeof(body),
             "[{\"name\":\"n1\",\"admin_state\":\"maint\",\"address\":\"10.0.0.1\",\"port\":80},"
             "{\"name\":\"n4\",\"admin_state\":\"%s\",\"address\":\"10.0.0.4\",\"port\":80,\"weight\":7}]",
             word + 1);
    r->a.body = body;
    r->a.body_len = strlen(body);
}

/* So many servers stop beside it that the header of the write has no room for all. */
#define CROWD 200

/* A: n4 is added  W: the file is written, with the commands, w: without  R: the file from before  B: what runs is read  D, d: n1, n4 is deleted
 * P, p: n4 gets ready, a server stops */
static char letter_of_adds(const struct replacement *r, const struct transaction_action *x)
{
    if (str_eq(x->method, "DELETE"))
        return str_eq(x->path, "/runtime/backends/be/servers/n1")   ? 'D'
               : str_eq(x->path, "/runtime/backends/be/servers/n4") ? 'd'
                                                                    : '?';
    if (str_eq(x->method, "PUT"))
        return str_eq(x->body, SERVER_READY) ? 'P' : str_eq(x->body, SERVER_MAINT) ? 'p' : '?';
    if (str_eq(x->method, "GET"))
        return str_eq(x->path, "/runtime/backends/be/servers") ? 'B' : '?';
    if (str_eq(x->path, "/runtime/backends/be/servers")) {
        ck_assert_ptr_nonnull(strstr(x->body, "{\"name\":\"n4\",\"address\":\"10.0.0.4\",\"port\":80,\"weight\":7"));
        return 'A';
    }
    ck_assert(r->actions.len == 0 ||
              str_eq(buf_str(&r->actions), "SetServerState be n4 ready;SetServerState be n1 maint"));
    return r->sends == before ? 'R' : r->actions.len > 0 ? 'W' : 'w';
}

static const struct {
    const char *more; /* of n4's line */
    const char *script, *trace;
    enum transaction_result result;
    bool runs;
    const char *why; /* it takes a reload; NULL: nothing is said */
} rows[] = {
    {"", "201 201 =ready 204", "AWBD", TRANSACTION_COMMITTED, true, NULL},
    {"", "201 201 =ready 404", "AWBD", TRANSACTION_COMMITTED, true, NULL},
    /* its check begins with the reload */
    {" check", "201 201", "AW", TRANSACTION_COMMITTED, false,
     "server be/n4: HAProxy checks its health once it is reloaded"},
    /* one of its words cannot be said: nothing goes by the runtime */
    {" cookie a", "201", "w", TRANSACTION_COMMITTED, false, "cannot add a server with \"cookie\""},
    /* an add fails */
    {"", "500 201", "Aw", TRANSACTION_COMMITTED, false, "adding server be/n4: HTTP 500"},
    {"", "409 201", "Aw", TRANSACTION_COMMITTED, false, "adding server be/n4: HTTP 409"},
    {"", "lost 201", "Aw", TRANSACTION_COMMITTED, false, "adding server be/n4: lost"},
    /* HAProxy refuses the file: who was added is deleted, whatever is answered to that */
    {"", "201 400 204", "AWd", TRANSACTION_REJECTED, false, NULL},
    {"", "201 400 500", "AWd", TRANSACTION_REJECTED, false, NULL},
    {"", "201 201 harm 201 204", "AWRd", TRANSACTION_HARMFUL, false, NULL},
    /* the write may have been carried out: the next reading shows what became of it */
    {"", "201 lost", "AW", TRANSACTION_UNKNOWN, false, NULL},
    {"", "201 409", "AW", TRANSACTION_CONFLICT, false, NULL},
    {"", "201 503", "AW", TRANSACTION_UNAVAILABLE, false, NULL},
    /* another state is read back */
    {"", "201 201 =maint", "AWB", TRANSACTION_COMMITTED, false, "server n4: HAProxy has it in maint"},
    {"", "201 201 404", "AWB", TRANSACTION_COMMITTED, false, "reading what HAProxy runs: HTTP 404"},
    /* the one that goes is in use */
    {"", "201 201 =ready 500", "AWBD", TRANSACTION_COMMITTED, false, "deleting server n1: HTTP 500"},
};

TEST_EACH(every_ending, array_len(rows))
{
    cleanup(changes_fini) struct changes changes = {0};
    cleanup(replacement_fini) struct replacement r;
    cleanup(buf_fini) struct buf done = {0};
    cleanup(mem_free_ptr) char *script = mem_strdup(rows[_i].script);
    char *text = mem_printf(TEXT, rows[_i].more);
    cleanup(cfg_content_unref_ptr) struct cfg_content *sent = cfg_content_new(text, strlen(text));
    before = cfg_content_new(mem_strdup(BEFORE), strlen(BEFORE));
    char name[] = "be";
    const struct backend backend = {.name = name};
    const struct backend_server comes = {.name = "n4", .address = "10.0.0.4", .port = 80, .weight = 7},
                                goes = {.name = "n1", .weight = -1};
    changes_add(&changes, &(struct change){.kind = CHANGE_ADD_SERVER, .backend = &backend, .server = &comes});
    changes_add(&changes, &(struct change){.kind = CHANGE_REMOVE_SERVER, .backend = &backend, .server = &goes});
    replacement_init(&r);
    struct transaction_action x = replacement_start(
        &r, 7, &(struct replacement_request){.text = sent, .before = before, .changes = &changes}, "3.4.0");
    char *rest = script;
    while (x.type == TRANSACTION_SEND) {
        struct reply reply;
        char letter = letter_of_adds(&r, &x);
        buf_addn(&done, &letter, 1);
        char *word = strsep(&rest, " ");
        ck_assert_ptr_nonnull(word);
        make_answer(&reply, word);
        x = replacement_answer(&r, &reply.a);
        if (x.type == TRANSACTION_JUDGE) {
            bool harms = rest != NULL && str_has_prefix(rest, "harm");
            if (harms)
                (void)strsep(&rest, " ");
            x = replacement_judged(&r, harms ? "it differs" : NULL);
        }
    }
    ck_assert_str_eq(buf_str(&done), rows[_i].trace);
    ck_assert_ptr_null(rest);
    ck_assert_int_eq(r.result, rows[_i].result);
    ck_assert_int_eq(r.runs, rows[_i].runs);
    ck_assert_msg(rows[_i].why == NULL ? r.why == NULL : r.why != NULL && strstr(r.why, rows[_i].why) != NULL, "%s",
                  r.why);
    cfg_content_unref(before);
}

/* The first answer of each kind, then success. */
static const struct {
    const char *more, *fails;
    enum transaction_result result;
    bool runs;
    const char *begins;
    size_t sent;
    const char *why;
} crowds[] = {
    {"", "", TRANSACTION_COMMITTED, true, "AwPp", 1 + 1 + 1 + CROWD + 1 + CROWD, NULL},
    {"", "P", TRANSACTION_COMMITTED, false, "AwP", 3, "setting the state of server n4: HTTP 500"},
    {"", "p", TRANSACTION_COMMITTED, false, "AwPp", 4, "setting the state of server n1: HTTP 500"},
    {"", "A", TRANSACTION_COMMITTED, false, "Aw", 2, "adding server be/n4"},
    {" check", "", TRANSACTION_COMMITTED, false, "w", 1, "more than one request"},
};

TEST_EACH(more_than_a_header_holds, array_len(crowds))
{
    cleanup(changes_fini) struct changes changes = {0};
    cleanup(replacement_fini) struct replacement r;
    cleanup(buf_fini) struct buf done = {0};
    char *text = mem_printf(TEXT, crowds[_i].more);
    cleanup(cfg_content_unref_ptr) struct cfg_content *sent = cfg_content_new(text, strlen(text));
    before = cfg_content_new(mem_strdup(BEFORE), strlen(BEFORE));
    char name[] = "be";
    const struct backend backend = {.name = name};
    const struct backend_server comes = {.name = "n4", .address = "10.0.0.4", .port = 80, .weight = 7},
                                goes = {.name = "n1", .weight = -1};
    for (size_t i = 0; i < CROWD; i++)
        changes_add(&changes, &(struct change){.kind = CHANGE_REMOVE_SERVER, .backend = &backend, .server = &goes});
    changes_add(&changes, &(struct change){.kind = CHANGE_ADD_SERVER, .backend = &backend, .server = &comes});
    replacement_init(&r);
    struct transaction_action x = replacement_start(
        &r, 7, &(struct replacement_request){.text = sent, .before = before, .changes = &changes}, "3.4.0");
    while (x.type == TRANSACTION_SEND) {
        struct reply reply;
        char letter = letter_of_adds(&r, &x);
        buf_addn(&done, &letter, 1);
        make_answer(&reply, strchr(crowds[_i].fails, letter) != NULL && *crowds[_i].fails != '\0' ? "500"
                            : letter == 'B'                                                       ? "=ready"
                            : letter == 'P' || letter == 'p'                                      ? "200"
                            : letter == 'D'                                                       ? "204"
                                                                                                  : "201");
        x = replacement_answer(&r, &reply.a);
        if (x.type == TRANSACTION_JUDGE)
            x = replacement_judged(&r, NULL);
    }
    ck_assert_msg(str_has_prefix(buf_str(&done), crowds[_i].begins), "%s", buf_str(&done));
    ck_assert_uint_eq(done.len, crowds[_i].sent);
    ck_assert_int_eq(r.result, crowds[_i].result);
    ck_assert_int_eq(r.runs, crowds[_i].runs);
    ck_assert(crowds[_i].why == NULL ? r.why == NULL : r.why != NULL && strstr(r.why, crowds[_i].why) != NULL);
    cfg_content_unref(before);
}
