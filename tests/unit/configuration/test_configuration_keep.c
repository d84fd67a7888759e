/* src/configuration/target: a document for a HAProxy of which the daemon's other engine and another daemon write server
 * lines. What a document never does: change one of them. */
#include "target_world.h"

#define DOCUMENT_OF(word) FILE_OF(word, "", "")
#define FILE_OF(word, web, peer)                                                                                \
    "global\n  description " word "\nbackend web\n  server static 10.9.9.9:1\n" web "# between\nbackend peer\n" \
    "  balance first\n" peer
#define WEB "  server n0 10.0.7.1:80 check\n  server n1 10.0.7.2:80\n"
#define PEER "  server p0 10.0.9.1:80 check\n"

static bool manages(const void *arg, const char *server, bool backup)
{
    return !backup && !str_eq(server, "static");
}

static const struct keep_backend kept[] = {{"web", manages, NULL}, {"peer", NULL, NULL}};

static void begin(void)
{
    world_keep = (struct keep_rules){kept, array_len(kept)};
    world_begin_as(CONFIGURATION_DRIFT_REPAIR, false);
    file_is(FILE_OF("first", WEB, PEER));
}

/* It asks for that text, and gets that. */
static void sends(const char *text, enum transaction_result result)
{
    struct replacement_request request = {0};
    struct replaced r = {.result = result, .version = -1, .retry_after_ms = -1};
    ck_assert(would_ask());
    w.in.engine->ops->replace(w.in.engine->self, &request);
    ck_assert_str_eq(request.text->text, text);
    w.in.engine->ops->replaced(w.in.engine->self, &r);
}

static void takes(const char *text)
{
    sends(text, TRANSACTION_PREVIEWED);
    sends(text, TRANSACTION_COMMITTED);
    file_is(text);
}

FIXTURE(begin, world_end)

TEST(no_document_changes_a_line_that_is_not_its_own)
{
    set_document(DOCUMENT_OF("one"));
    takes(FILE_OF("one", WEB, PEER));
    ck_assert_str_eq(state(), "applied");
    file_is(FILE_OF("one", PEER, WEB WEB)); /* that is no drift */
    ck_assert_str_eq(state(), "applied");
    ck_assert(!decided(w.in.engine).replacement);
    set_document(DOCUMENT_OF("two"));
    takes(FILE_OF("two", PEER, WEB WEB));
    file_is(FILE_OF("hand", PEER, WEB)); /* that is */
    takes(FILE_OF("two", PEER, WEB));
    ck_assert_str_eq(state(), "applied");
}

/* A runtime update moved the version on: it is read what lines it left. Updates without a pause keep no document
 * waiting. */
TEST(lines_are_those_of_now)
{
    set_document(DOCUMENT_OF("one"));
    w.in.version++;
    ck_assert(!would_ask());
    ck_assert(decided(w.in.engine).overdue);
    file_is(FILE_OF("first", PEER, PEER));
    sends(FILE_OF("one", PEER, PEER), TRANSACTION_PREVIEWED);
    w.in.version++;
    ck_assert(!would_ask());
    file_is(FILE_OF("first", "", WEB));
    sends(FILE_OF("one", "", WEB), TRANSACTION_COMMITTED);
}

/* Also where the file has the very same lines, and nothing was read before. */
TEST_EACH(what_is_not_its_own_is_said, 2)
{
    static const char other[] = "global\nbackend peer\n  server mine 10.0.0.1:1\nbackend web\n";
    world_end();
    world_open(CONFIGURATION_DRIFT_REPAIR, false);
    w.in.unread = true;
    set_document(_i == 0 ? other : FILE_OF("first", WEB, PEER));
    w.in.unread = false;
    file_is(FILE_OF("first", WEB, PEER));
    ck_assert(!decided(w.in.engine).replacement);
    const struct configuration_view v = configuration_view(w.c, 0);
    ck_assert_str_eq(v.state, "rejected");
    const char *says = _i == 0 ? "line 3: server line of backend peer" : "server lines of backend web";
    ck_assert_msg(strstr(v.reason, says) != NULL, "%s", v.reason);
}

/* Not what was written before it and never loaded. */
TEST(what_ran_goes_back)
{
    set_document(DOCUMENT_OF("one"));
    takes(FILE_OF("one", WEB, PEER));
    set_document(DOCUMENT_OF("two"));
    takes(FILE_OF("two", WEB, PEER));
    w.in.dirty = true; /* it is not loaded yet */
    set_document(DOCUMENT_OF("three"));
    takes(FILE_OF("three", WEB, PEER));
    w.in.engine->ops->reload_failed(w.in.engine->self, false);
    sends(FILE_OF("one", WEB, PEER), TRANSACTION_COMMITTED);
}
