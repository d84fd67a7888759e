/* src/haproxy/dataplane/replacement and validation_text: every ending of a validation and of a write of the whole file. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/content.h"
#include "haproxy/dataplane/replacement.h"
#include "txn_play.h"

#define SENT "global\n  setenv KEY bogus-key\n"
#define BEFORE "global\n  daemon\n"
#define UNLOADED "# haproxy-k8s-sync: version %lld is loaded by the next one\n"

/* As make_reply has them; a success has the next version, with R behind it a Reload-ID. "said": a 400 of HAProxy's. */
static void make_answer(struct reply *r, const char *word, int64_t version)
{
    static const char said[] =
        "{\"code\":400,\"message\":\"validation error: exit status 1: msg=\\\"config parsing "
        "[/tmp/onlyvalidate1:19] unknown keyword 'bogus' in 'backend' section, 'bogus-key'\\\"\\nmsg=\\\"config "
        "Error(s) found in configuration file /tmp/onlyvalidate1\\\"\"}";
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
    cleanup(mem_free_ptr) char *mark = mem_printf(UNLOADED, (long long)version + 1);
    ck_assert(r->sends == &sent || r->sends == &before);
    ck_assert_str_eq(x->body, r->sends == &sent || r->reload_id != NULL ? mark : "");
    return r->sends == &sent ? 'W' : 'R';
}

struct row {
    bool validates;
    const char *script, *trace; /* "harm" in the script: what was written means something else */
    enum transaction_result result;
    enum error_kind kind;
    const char *text; /* in the error; NULL: none */
    int64_t version;
};

static const struct row rows[] = {
    {true, "202", "V", TRANSACTION_PREVIEWED, ERROR_NONE, NULL, 7},
    {true, "said", "V", TRANSACTION_REJECTED, ERROR_INVALID,
     "line 19: unknown keyword 'bogus' in 'backend' section, '***'", 7},
    {true, "400", "V", TRANSACTION_REJECTED, ERROR_INVALID, "validation: HTTP 400: message of 400", 7},
    {true, "422", "V", TRANSACTION_REJECTED, ERROR_INVALID, "HTTP 422", 7},
    /* nothing is said of the bytes */
    {true, "400v-1", "V", TRANSACTION_UNAVAILABLE, ERROR_INVALID, "HTTP 400", 7},
    {true, "413", "V", TRANSACTION_UNAVAILABLE, ERROR_INVALID, "HTTP 413", 7},
    {true, "404", "V", TRANSACTION_UNAVAILABLE, ERROR_GONE, "HTTP 404", 7},
    {true, "302", "V", TRANSACTION_UNAVAILABLE, ERROR_INVALID, "HTTP 302", 7},
    {true, "html", "V", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "not an answer of a Data Plane API", 7},
    {true, "202v-1", "V", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "not an answer of a Data Plane API", 7},
    {true, "lost", "V", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "validation: lost", 7},
    {true, "502", "V", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "HTTP 502", 7},
    {true, "503r3", "V", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "HTTP 503", 7},
    {true, "429", "V", TRANSACTION_LIMIT, ERROR_RETRY, "HTTP 429", 7},
    {true, "401", "V", TRANSACTION_UNAUTHORIZED, ERROR_AUTH, "HTTP 401", 7},
    {true, "nocred", "V", TRANSACTION_UNAUTHORIZED, ERROR_AUTH, "nocred", 7},

    {false, "201", "W", TRANSACTION_COMMITTED, ERROR_NONE, NULL, 8},
    {false, "202R", "W", TRANSACTION_COMMITTED, ERROR_NONE, NULL, 8},
    {false, "409", "W", TRANSACTION_CONFLICT, ERROR_CONFLICT, "write of the configuration: HTTP 409", 7},
    {false, "said", "W", TRANSACTION_REJECTED, ERROR_INVALID,
     "line 19 of the file as the Data Plane API writes it: unknown keyword 'bogus'", 7},
    {false, "lost", "W", TRANSACTION_UNKNOWN, ERROR_RETRY, "lost", 7},
    {false, "504", "W", TRANSACTION_UNKNOWN, ERROR_RETRY, "HTTP 504", 7},
    {false, "201v-1", "W", TRANSACTION_UNKNOWN, ERROR_RETRY, "not an answer of a Data Plane API", 7},
    {false, "refused", "W", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "refused", 7},
    {false, "500", "W", TRANSACTION_UNAVAILABLE, ERROR_RETRY, "HTTP 500", 7},

    /* the file from before goes back, at the version that was written */
    {false, "201 harm 201", "WR", TRANSACTION_HARMFUL, ERROR_INVALID, "would change its meaning: line 3 would be lost",
     9},
    {false, "201 harm 201 harm", "WR", TRANSACTION_UNKNOWN, ERROR_INVALID,
     "could not be put back: line 3 would be lost", 9},
    {false, "202R harm 201", "WR", TRANSACTION_HARMFUL, ERROR_INVALID, "line 3 would be lost", 9},
    {false, "201 harm 409", "WR", TRANSACTION_UNKNOWN, ERROR_CONFLICT,
     "line 3 would be lost; the file from before could not be put back: write of the configuration from before: HTTP "
     "409",
     8},
    {false, "201 harm lost", "WR", TRANSACTION_UNKNOWN, ERROR_RETRY, "could not be put back", 8},
};

START_TEST(every_ending_of_a_replacement)
{
    const struct row *row = &rows[_i];
    struct replacement r;
    char trace[LONGEST] = "";
    cleanup(mem_free_ptr) char *words = mem_strdup(row->script);
    char *at = words;
    int64_t version = 7;
    replacement_init(&r);
    struct transaction_action x = replacement_start(
        &r, 7, &(struct replacement_request){.text = &sent, .before = row->validates ? NULL : &before});
    for (size_t asked = 0; x.type == TRANSACTION_SEND; asked++) {
        struct reply reply;
        trace[asked] = letter_of_replacement(&r, &x, version);
        const char *word = strsep(&at, " ");
        ck_assert_msg(word != NULL, "%s: no answer left after %s", row->script, trace);
        make_answer(&reply, word, version + !row->validates);
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
    ck_assert_msg(row->text == NULL || strstr(r.error.message, row->text) != NULL, "%s", r.error.message);
    ck_assert_int_eq(r.version, row->version);
    ck_assert((r.reload_id != NULL) == (strchr(row->script, 'R') != NULL));
    ck_assert_ptr_null(r.request.text); /* not borrowed any longer */
    replacement_fini(&r);
}
END_TEST

/* As the API writes it: behind its own lines. A commit that loads it leaves the comment as it is, and moves on. */
START_TEST(what_was_written_says_that_it_is_not_loaded)
{
    struct replacement r;
    replacement_init(&r);
    ck_assert(!replacement_is_unloaded("", 0, 8));
    ck_assert(!replacement_is_unloaded("# _version=8\n", 13, 8));
    struct transaction_action x =
        replacement_start(&r, 7, &(struct replacement_request){.text = &sent, .before = &before});
    cleanup(mem_free_ptr) char *head = mem_printf("# _version=8\n\n%s", x.body);
    ck_assert(replacement_is_unloaded(head, strlen(head), 8));
    ck_assert(!replacement_is_unloaded(head, strlen(head), 9));
    ck_assert(!replacement_is_unloaded(head, strlen(head), 80));
    ck_assert(!replacement_is_unloaded(head, strlen(head) - 1, 8)); /* what follows is no comment of the head */
    replacement_fini(&r);
}
END_TEST

/* A file that was no document is sent as one would be. */
START_TEST(what_goes_back_has_names)
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
                                                              .restores = !second});
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
END_TEST

int main(void)
{
    Suite *s = suite_create("replacement");
    TCase *t = tcase_create("replacement");
    tcase_add_loop_test(t, every_ending_of_a_replacement, 0, (int)array_len(rows));
    tcase_add_test(t, what_was_written_says_that_it_is_not_loaded);
    tcase_add_test(t, what_goes_back_has_names);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed != 0;
}
