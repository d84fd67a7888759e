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

/* "=STATE": what HAProxy runs, with n4 in that state; else as make_reply has it. A success of a write has the next version, with R behind it
 * a Reload-ID. */
static void make_answer(struct reply *r, const char *word, int64_t version)
{
    static char body[256];
    make_reply(r, word[0] == '=' ? "200" : word, '?', "");
    if (r->a.version == 7 && (r->a.status == 201 || r->a.status == 202))
        r->a.version = version;
    if (word[strlen(word) - 1] == 'R')
        r->a.reload_id = "2026-11-21-4";
    if (word[0] != '=')
        return;
    snprintf(body, sizeof(body),
             "[{\"name\":\"n1\",\"admin_state\":\"maint\",\"address\":\"10.0.0.1\",\"port\":80},"
             "{\"name\":\"n4\",\"admin_state\":\"%s\",\"address\":\"10.0.0.4\",\"port\":80,\"weight\":7}]",
             word + 1);
    r->a.body = body;
    r->a.body_len = strlen(body);
}

/* So many servers go beside it that their commands take three headers. */
#define CROWD 400

/* A: n4 is added  W: the file is written, with commands, w: without  R: the file from before  B: what runs is read  D, d: n1, n4 is deleted
 * L: what was written is read */
static char letter_of_adds(const struct replacement *r, const struct transaction_action *x)
{
    if (str_eq(x->method, "DELETE"))
        return str_eq(x->path, "/runtime/backends/be/servers/n1")   ? 'D'
               : str_eq(x->path, "/runtime/backends/be/servers/n4") ? 'd'
                                                                    : '?';
    if (str_eq(x->method, "GET"))
        return str_eq(x->path, "/runtime/backends/be/servers") ? 'B'
               : str_eq(x->path, "/configuration/raw")         ? 'L'
                                                               : '?';
    if (str_eq(x->path, "/runtime/backends/be/servers")) {
        ck_assert_ptr_nonnull(strstr(x->body, "{\"name\":\"n4\",\"address\":\"10.0.0.4\",\"port\":80,\"weight\":7"));
        return 'A';
    }
    cleanup(mem_free_ptr) char *path = mem_printf("/configuration/raw?version=%d&skip_reload=true", (int)r->version);
    ck_assert_str_eq(x->path, path);
    return r->sends == before ? 'R' : r->tells != NULL ? 'W' : 'w';
}

static const struct {
    const char *more; /* of n4's line */
    size_t goes;      /* so often n1 does */
    const char *script, *trace;
    enum transaction_result result;
    bool runs;
    const char *why; /* it takes a reload; NULL: nothing is said */
} rows[] = {
    {"", 1, "201 201 =ready 204", "AWBD", TRANSACTION_COMMITTED, true, NULL},
    {"", 1, "201 201 =ready 404", "AWBD", TRANSACTION_COMMITTED, true, NULL},
    /* its check begins with the reload */
    {" check", 1, "201 201", "AW", TRANSACTION_COMMITTED, false,
     "server be/n4: HAProxy checks its health once it is reloaded"},
    /* one of its words cannot be said: nothing goes by the runtime */
    {" cookie a", 1, "201", "w", TRANSACTION_COMMITTED, false, "cannot add a server with \"cookie\""},
    /* an add fails */
    {"", 1, "500 201", "Aw", TRANSACTION_COMMITTED, false, "adding server be/n4: HTTP 500"},
    {"", 1, "409 201", "Aw", TRANSACTION_COMMITTED, false, "adding server be/n4: HTTP 409"},
    {"", CROWD, "lost 201", "Aw", TRANSACTION_COMMITTED, false, "adding server be/n4: lost"},
    /* HAProxy refuses the file: who was added is deleted, whatever is answered to that */
    {"", 1, "201 400 204", "AWd", TRANSACTION_REJECTED, false, NULL},
    {"", 1, "201 400 500", "AWd", TRANSACTION_REJECTED, false, NULL},
    {"", CROWD, "201 201 harm 201 204", "AWRd", TRANSACTION_HARMFUL, false, NULL},
    /* the write may have been carried out: the next reading shows what became of it */
    {"", 1, "201 lost", "AW", TRANSACTION_UNKNOWN, false, NULL},
    {"", 1, "201 409", "AW", TRANSACTION_CONFLICT, false, NULL},
    {"", CROWD, "201 503", "AW", TRANSACTION_UNAVAILABLE, false, NULL},
    /* another state is read back */
    {"", 1, "201 201 =maint", "AWB", TRANSACTION_COMMITTED, false, "server n4: HAProxy has it in maint"},
    {"", 1, "201 201 404", "AWB", TRANSACTION_COMMITTED, false, "reading what HAProxy runs: HTTP 404"},
    /* the one that goes is in use */
    {"", 1, "201 201 =ready 500 500 500 500 500 204", "AWBD", TRANSACTION_COMMITTED, true, NULL},
    {"", CROWD, "201 201 201 201 =ready 500 500 204 500 500 204", "AWWWBD", TRANSACTION_COMMITTED, true, NULL},
    {"", 1, "201 201 =ready 500 500 500 500 500 500", "AWBD", TRANSACTION_COMMITTED, false,
     "deleting server n1: HTTP 500"},
    {"", 1, "201 201 =ready lost", "AWBD", TRANSACTION_COMMITTED, false, "deleting server n1: lost"},
    /* further writes of the same file */
    {"", CROWD, "201 201 201 201 =ready 204", "AWWWBD", TRANSACTION_COMMITTED, true, NULL},
    {" check", CROWD, "201 201 201 201", "AWWW", TRANSACTION_COMMITTED, false, "HAProxy checks its health"},
    {"", CROWD, "201 202R", "AW", TRANSACTION_COMMITTED, false, NULL},
    /* one of them fails: the file is there, and so is who was added */
    {"", CROWD, "201 201 400", "AWW", TRANSACTION_COMMITTED, false, "sending more runtime commands: HTTP 400"},
    {"", CROWD, "201 201 409", "AWW", TRANSACTION_COMMITTED, false, "sending more runtime commands: HTTP 409"},
    {"", CROWD, "201 201 201 lost", "AWWW", TRANSACTION_COMMITTED, false, "sending more runtime commands: lost"},
    {"", CROWD, "201 201 500v9 200v9", "AWWL", TRANSACTION_COMMITTED, false, "message of 500"},
    {"", CROWD, "201 500v8 200v8", "AWL", TRANSACTION_COMMITTED, false, "message of 500"},
};

/* What was sent is the first part of it; all that was not cut short is all of it. */
static void check_commands(const struct buf *sent, size_t goes, bool all)
{
    cleanup(buf_fini) struct buf whole = {0};
    buf_add(&whole, "SetServerState be n4 ready;");
    for (size_t i = 0; i < goes; i++)
        buf_add(&whole, "SetServerState be n1 maint;");
    ck_assert_int_eq(strncmp(buf_str(&whole), buf_str(sent), sent->len), 0);
    ck_assert(!all || sent->len == whole.len);
}

TEST_EACH(every_ending, array_len(rows))
{
    cleanup(changes_fini) struct changes changes = {0};
    cleanup(replacement_fini) struct replacement r;
    cleanup(buf_fini) struct buf done = {0}, commands = {0};
    cleanup(mem_free_ptr) char *script = mem_strdup(rows[_i].script);
    char *text = mem_printf(TEXT, rows[_i].more);
    cleanup(cfg_content_unref_ptr) struct cfg_content *sent = cfg_content_new(text, strlen(text));
    before = cfg_content_new(mem_strdup(BEFORE), strlen(BEFORE));
    char name[] = "be";
    const struct backend backend = {.name = name};
    const struct backend_server comes = {.name = "n4", .address = "10.0.0.4", .port = 80, .weight = 7},
                                goes = {.name = "n1", .weight = -1};
    changes_add(&changes, &(struct change){.kind = CHANGE_ADD_SERVER, .backend = &backend, .server = &comes});
    for (size_t i = 0; i < rows[_i].goes; i++)
        changes_add(&changes, &(struct change){.kind = CHANGE_REMOVE_SERVER, .backend = &backend, .server = &goes});
    replacement_init(&r);
    struct transaction_action x = replacement_start(
        &r, 7, &(struct replacement_request){.text = sent, .before = before, .changes = &changes}, "3.4.0");
    char *rest = script;
    bool in_use = false;
    while (x.type == TRANSACTION_SEND) {
        struct reply reply;
        char letter = letter_of_adds(&r, &x);
        bool again = letter == 'D' && str_has_suffix(buf_str(&done), "D");
        buf_addn(&done, &letter, again ? 0 : 1);
        if (letter == 'W')
            buf_printf(&commands, "%s;", r.tells);
        ck_assert_int_eq(x.delay_ms > 0, again && in_use);
        const char *word = again && rest == NULL ? "204" : strsep(&rest, " ");
        ck_assert_ptr_nonnull(word);
        in_use = letter == 'D' && str_eq(word, "500");
        make_answer(&reply, word, r.version + 1);
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
    ck_assert_int_eq(replacement_in_vain(&r), str_has_suffix(rows[_i].trace, "B"));
    check_commands(&commands, rows[_i].goes, r.runs);
    cfg_content_unref(before);
}
