/*
 * Plays answers to the transaction machine. A script is the list of answers, a trace is what was sent:
 *
 *     B begin    C change    K commit    D delete ours    L list    X delete a dead one
 */
#pragma once

#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/transaction.h"
#include "../test.h"

#define STEPS 2
#define LONGEST 64

static inline struct transaction_step *make_steps(size_t count)
{
    static const char *const methods[] = {"PUT", "POST", "DELETE"};
    struct transaction_step *steps = mem_array(count, sizeof(*steps));
    for (size_t i = 0; i < count; i++)
        steps[i] = (struct transaction_step){.method = methods[i % 3],
                                             .path = mem_printf("/configuration/backends/be/servers/n%zu", i),
                                             .body = i % 3 == 2 ? NULL : mem_printf("{\"n\":%zu}", i),
                                             .what = mem_printf("change server n%zu", i)};
    return steps;
}

/* ---- answers ---- */

struct reply {
    struct dataplane_answer a;
    struct error error;
    bool abort_first;
};

static const char default_list[] =
    "[{\"id\":\"T1\",\"status\":\"in_progress\"},{\"id\":\"f1\",\"status\":\"failed\"},"
    "{\"id\":\"o/2\",\"status\":\"outdated\"},{\"id\":\"s\",\"status\":\"in_progress\"}]";

static inline void fill_body(struct reply *r, char request, const char *list)
{
    if (request == 'B')
        r->a.body = "{\"_version\":7,\"id\":\"T1\",\"status\":\"in_progress\"}";
    if (request == 'K') {
        r->a.body = "{\"_version\":7,\"id\":\"T1\",\"status\":\"success\"}";
        r->a.version = 8;
        r->a.reload_id = "2026-11-21-0";
    }
    if (request == 'L')
        r->a.body = list;
}

#define FULL_MESSAGE "write /tmp/haproxy/haproxy.cfg.aaaa-bbbb3141: no space left on device"

/* "202", "409", "400v0" (version 0), "429r3" (Retry-After 3 s), "lost", "refused", "nocred", "html" (a 200 of something
 * else), "full" (a 500 that names a file of transaction aaaa-bbbb); "!" in front: the abort comes while it is awaited. */
static inline void make_reply(struct reply *r, const char *word, char request, const char *list)
{
    *r = (struct reply){.a = {.body = "", .version = 7, .retry_after_ms = -1, .progress = HTTP_ANSWERED}};
    r->abort_first = word[0] == '!';
    word += r->abort_first;
    r->a.duration_us = 10;
    if (str_eq(word, "lost") || str_eq(word, "refused") || str_eq(word, "nocred")) {
        r->a.progress = str_eq(word, "lost") ? HTTP_SENT : HTTP_NOT_SENT;
        r->a.version = -1;
        (void)error_set(&r->error, str_eq(word, "nocred") ? ERROR_AUTH : ERROR_RETRY, "%s", word);
        r->a.error = &r->error;
        return;
    }
    if (str_eq(word, "full")) {
        r->a.status = 500;
        r->a.body = "{\"code\":500,\"message\":\"" FULL_MESSAGE "\"}";
        snprintf(r->a.excerpt, sizeof(r->a.excerpt), "no space left on device");
    } else if (str_eq(word, "html")) {
        r->a.status = 200;
        r->a.version = -1;
        r->a.body = "<html>please log in</html>";
        snprintf(r->a.excerpt, sizeof(r->a.excerpt), "please log in");
    } else {
        char *rest;
        r->a.status = (int)strtol(word, &rest, 10);
        if (*rest == 'v')
            r->a.version = strtol(rest + 1, NULL, 10);
        if (*rest == 'r')
            r->a.retry_after_ms = strtol(rest + 1, NULL, 10) * 1000;
        if (r->a.status < 300)
            fill_body(r, request, list);
        else
            snprintf(r->a.excerpt, sizeof(r->a.excerpt), "message of %d", r->a.status);
    }
    r->a.body_len = strlen(r->a.body);
}

/* ---- requests ---- */

static struct transaction t;
static char trace[LONGEST]; /* of the last play */

static inline void begin_machine(void)
{
    transaction_init(&t);
}

static inline void end_machine(void)
{
    transaction_fini(&t);
}

/* Which of the six it is; aborts the test where it is none of them, or not as it must be. */
static inline char letter_of(const struct transaction_action *x)
{
    bool deletes = str_eq(x->method, "DELETE");
    if (str_has_prefix(x->path, "/configuration/")) {
        const struct transaction_step *s = &t.steps[t.next_step];
        char *path = mem_printf("%s?transaction_id=T1", s->path);
        ck_assert_str_eq(x->path, path);
        ck_assert_str_eq(x->method, s->method);
        ck_assert(x->body == s->body);
        free(path);
        return 'C';
    }
    ck_assert_ptr_null(x->body);
    if (str_eq(x->path, "/transactions?version=7") && str_eq(x->method, "POST"))
        return 'B';
    if (str_eq(x->path, "/transactions") && str_eq(x->method, "GET"))
        return 'L';
    if (str_eq(x->path, "/transactions/T1") && str_eq(x->method, "PUT"))
        return 'K';
    if (str_eq(x->path, "/transactions/T1") && deletes && t.state == TRANSACTION_DELETE)
        return 'D';
    if (str_has_prefix(x->path, "/transactions/") && deletes && t.state == TRANSACTION_DELETE_DEAD)
        return 'X';
    ck_abort_msg("%s %s is no request of this machine", x->method, x->path);
    return '?';
}

/* Plays the script. */
static inline void play(struct transaction_action x, const char *script, const char *list)
{
    char *words = mem_strdup(script), *at = words, *word;
    size_t sent = 0;
    trace[0] = '\0';
    while (x.type == TRANSACTION_SEND) {
        struct reply r;
        ck_assert_uint_lt(sent, LONGEST - 1);
        trace[sent++] = letter_of(&x);
        trace[sent] = '\0';
        word = strsep(&at, " ");
        ck_assert_msg(word != NULL && word[0] != '\0', "%s: no answer left after %s", script, trace);
        make_reply(&r, word, trace[sent - 1], list);
        if (r.abort_first)
            transaction_abort(&t);
        x = transaction_answer(&t, &r.a);
    }
    ck_assert_msg(at == NULL, "%s: \"%s\" was not asked for after %s", script, at, trace);
    ck_assert_int_eq(t.state, TRANSACTION_DONE);
    ck_assert_int_eq(transaction_answer(&t, &(struct dataplane_answer){.body = ""}).type, TRANSACTION_FINISHED);
    free(words);
}
