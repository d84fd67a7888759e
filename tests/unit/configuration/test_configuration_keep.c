/*
 * src/configuration/configuration: a document for a HAProxy of which the daemon's other engine and another daemon write
 * server lines, in random streams. What a document never does: change one of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../dice.h"
#include "../effort.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/configuration.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "haproxy/cfg/content.h"
#include "haproxy/driver.h"
#include "haproxy/instance.h"

#define ROUNDS 400
#define STREAMS 40
#define BEGIN "global\n  description "

/* A file: what a document says, and the server lines of its two backends. */
struct contents {
    char word[32];
    unsigned ours, theirs; /* the lines as numbers: 0 is none */
};

struct instance {
    const struct engine *engine;
    struct contents file, running;
    int64_t version, seen; /* of the file; that the instance knows */
    bool fresh, dirty, unverified;
};

static struct {
    uint64_t now_us;
    struct timer *timers[4];
    struct configuration *c;
    struct store *store;
    struct instance in;
    char word[32]; /* of the latest document */
    bool calm;
    bool storm;     /* there is a runtime update whenever one may be made */
    bool meanwhile; /* a document that cannot be loaded comes while the next write is under way */
    unsigned documents, writes;
    struct dice dice;
} w;

#define VIRTUAL_TIME (&w)
#include "../../virtual_time.h"
#include "../test.h"

/* Server lines as others would write them; a user's own one stands among them. */
static void add_lines(struct buf *out, const char *name, unsigned number)
{
    for (unsigned i = 0; i < number % 4; i++)
        buf_printf(out, "  server %s%u 10.0.%u.1:80 check\n", name, i, number);
}

static char *text_of(const struct contents *c)
{
    struct buf out = {0};
    buf_printf(&out, BEGIN "%s\nbackend web\n  server static 10.9.9.9:1\n", c->word);
    add_lines(&out, "n", c->ours);
    buf_add(&out, "# between\nbackend peer\n  balance first\n");
    add_lines(&out, "p", c->theirs);
    return buf_take(&out);
}

static bool chance(unsigned of)
{
    return !w.calm && dice_one_in(&w.dice, of);
}

/* ---- what the engine calls ---- */

#include "decided.h"
#include "idle_instance.h"

struct instance_view instance_view(const struct instance *in)
{
    return (struct instance_view){.url = "http://a",
                                  .haproxy = "3.0",
                                  .version = in->seen,
                                  .fresh = in->fresh,
                                  .dirty = in->dirty,
                                  .may_write = true,
                                  .may_begin = true,
                                  .file_allows = true,
                                  .last_reload_known = true};
}

static struct cfg_content *file_content;

struct cfg_content *instance_file(const struct instance *in)
{
    char *text = text_of(&in->file);
    cfg_content_unref(file_content);
    file_content = cfg_content_new(text, strlen(text));
    return file_content;
}

bool instance_at_rest(const struct instance *in)
{
    return !in->dirty;
}

/* So much that no pause after a failure is longer than some of them. */
static void pass_time(void)
{
    struct timer *t = virtual_next_timer(clock_mono_ms());
    if (t != NULL) {
        t->due_ms = 0;
        t->fn(t->arg);
    }
    w.now_us += 100 * 1000000ull;
}

/* ---- the model ---- */

/* What is sent is a document, whole, and the lines that the file has. */
static struct contents take_text(const struct instance *in, const char *text)
{
    struct contents c = in->file;
    const char *word = text + strlen(BEGIN);
    ck_assert_msg(str_has_prefix(text, BEGIN), "%s", text);
    snprintf(c.word, sizeof(c.word), "%.*s", (int)strcspn(word, "\n"), word);
    cleanup(mem_free_ptr) char *expected = text_of(&c);
    ck_assert_msg(str_eq(text, expected), "expected\n%s\nis\n%s", expected, text);
    return c;
}

static enum transaction_result answer(struct instance *in, const struct replacement_request *r)
{
    if (in->seen != in->version)
        return r->before != NULL ? TRANSACTION_CONFLICT : TRANSACTION_PREVIEWED; /* which asks for no version */
    const struct contents next = take_text(in, r->text->text);
    if (chance(10))
        return TRANSACTION_UNAVAILABLE;
    if (r->before == NULL)
        return strstr(next.word, "reject") != NULL ? TRANSACTION_REJECTED : TRANSACTION_PREVIEWED;
    w.writes++;
    in->file = next;
    in->seen = ++in->version;
    in->dirty = true;
    return chance(10) ? TRANSACTION_UNKNOWN : TRANSACTION_COMMITTED;
}

static void new_document(bool good);
static void give(const char *text, size_t len);

static void replace(struct instance *in)
{
    struct replacement_request request = {0};
    struct replaced r = {.result = TRANSACTION_UNKNOWN, .version = -1, .retry_after_ms = -1};
    in->engine->ops->replace(in->engine->self, &request);
    r.result = answer(in, &request);
    cleanup(mem_free_ptr) char *sent = mem_strdup(request.text->text);
    if (chance(10)) /* while it is under way */
        new_document(dice_one_in(&w.dice, 2));
    if (w.meanwhile && request.before != NULL) {
        static const char bad[] = BEGIN "unloadable\nbackend web\n  server static 10.9.9.9:1\n# between\nbackend peer\n"
                                        "  balance first\n";
        w.meanwhile = false;
        give(bad, strlen(bad));
    }
    ck_assert_str_eq(request.text->text, sent);
    if (r.result != TRANSACTION_PREVIEWED && r.result != TRANSACTION_COMMITTED)
        (void)error_set(&r.error, ERROR_INVALID, "%s", transaction_result_name(r.result));
    if (r.result != TRANSACTION_PREVIEWED)
        in->fresh = false;
    in->engine->ops->replaced(in->engine->self, &r);
}

static void load(struct instance *in)
{
    in->fresh = false;
    if (strstr(in->file.word, "unloadable") != NULL) {
        in->file = in->running; /* the API puts it back */
        in->engine->ops->reload_failed(in->engine->self, false);
        return;
    }
    in->running = in->file;
    in->dirty = false;
}

/* Of the servers engine; the file is not read at once after it. */
static void update(struct instance *in, unsigned lines)
{
    in->file.ours = in->running.ours = lines;
    in->seen = ++in->version;
    in->unverified = true;
}

static void pass(void)
{
    struct instance *in = &w.in;
    const struct engine *e = in->engine;
    struct engine_wants wants = {0};
    if (!in->fresh) {
        in->fresh = true;
        in->unverified = false;
        in->seen = in->version;
        e->ops->read(e->self);
        e->ops->concluded(e->self);
    }
    wants = decided(e);
    if (w.storm && !wants.overdue)
        update(in, dice_below(&w.dice, 100));
    else if (wants.replacement)
        replace(in);
    else if (wants.reload)
        load(in);
    else if (in->unverified)
        in->fresh = false;
    pass_time();
}

static void passes(unsigned n)
{
    while (n-- > 0)
        pass();
}

/* ---- what happens ---- */

static void give(const char *text, size_t len)
{
    struct error err = {0};
    struct document *d = document_new("a file", text, len, NULL, &err);
    ck_assert_msg(d != NULL, "%s", err.message);
    configuration_set(w.c, d);
    document_unref(d);
}

static void new_document(bool good)
{
    static const char *const words[] = {"-reject", "-unloadable"};
    snprintf(w.word, sizeof(w.word), "document-%u%s", ++w.documents, good ? "" : words[dice_below(&w.dice, 2)]);
    const struct contents c = {0};
    cleanup(mem_free_ptr) char *plain = text_of(&c);
    struct buf text = {0};
    buf_printf(&text, BEGIN "%s\n%s", w.word, strstr(plain, "backend web"));
    if (!good && dice_one_in(&w.dice, 3))
        buf_add(&text, "  server mine 10.0.0.1:1\n"); /* in backend peer */
    give(text.data, text.len);
    buf_fini(&text);
}

static void something_happens(void)
{
    struct instance *in = &w.in;
    unsigned lines = dice_below(&w.dice, 100);
    switch (dice_below(&w.dice, 24)) {
    case 0:
        new_document(dice_one_in(&w.dice, 2));
        break;
    case 1: /* another daemon, of which the instance knows nothing yet */
        in->file.theirs = lines;
        in->running.theirs = lines;
        in->version++;
        break;
    case 2: /* the servers engine, by a transaction: */
    case 3:
        if (in->seen != in->version)
            break;
        in->file.ours = lines;
        in->seen = ++in->version;
        in->fresh = false;
        in->dirty = true;
        break;
    case 4: /* or by a runtime update */
    case 5:
    case 6:
        if (in->seen == in->version)
            update(in, lines);
        break;
    case 7:
        in->fresh = false;
        break;
    default:
        break;
    }
}

static bool manages(const void *arg, const char *server, bool backup)
{
    (void)arg;
    return !backup && !str_eq(server, "static");
}

static const struct keep_backend kept[] = {{"web", manages, NULL}, {"peer", NULL, NULL}};

static void stream_begin(unsigned seed)
{
    struct error err = {0};
    memset(&w, 0, sizeof(w));
    w.now_us = 1000000;
    w.dice.state = seed * 7919 + 1;
    w.store = store_new(NULL, NULL, &err);
    const struct configuration_options options = {
        .target_count = 1, .keep = {kept, array_len(kept)}, .drift = CONFIGURATION_DRIFT_REPAIR, .store = w.store};
    w.c = configuration_new(NULL, &options);
    w.in =
        (struct instance){.engine = configuration_engine(w.c, 0), .file = {"first", 7, 9}, .running = {"first", 7, 9}};
    w.in.engine->ops->attach(w.in.engine->self, &w.in);
}

static void stream_end(void)
{
    configuration_free(w.c);
    store_free(w.store);
    cfg_content_unref(file_content);
    file_content = NULL;
}

FIXTURE(NULL, stream_end)

TEST_EACH(no_document_changes_a_line_that_is_not_its_own, effort(STREAMS))
{
    stream_begin((unsigned)_i);
    for (unsigned round = 0; round < ROUNDS; round++) {
        something_happens();
        pass();
    }
    w.calm = true;
    w.in.fresh = false;
    new_document(true);
    const struct contents before = w.in.file;
    passes(20);
    ck_assert_str_eq(configuration_view(w.c, 0).state, "applied");
    ck_assert_str_eq(w.in.running.word, w.word);
    ck_assert_uint_eq(w.in.file.ours, before.ours);
    ck_assert_uint_eq(w.in.file.theirs, before.theirs);
    unsigned writes = w.writes;
    w.in.file.ours = w.in.running.ours = before.ours + 1; /* that is no drift */
    w.in.file.theirs = w.in.running.theirs = before.theirs + 1;
    w.in.version++;
    w.in.fresh = false;
    passes(20);
    ck_assert_uint_eq(w.writes, writes);
    ck_assert_str_eq(configuration_view(w.c, 0).state, "applied");
}

/* Runtime updates without a pause keep no document waiting. */
TEST(it_does_not_wait_for_quiet)
{
    stream_begin(1);
    w.calm = w.storm = true;
    new_document(true);
    passes(40);
    ck_assert_str_eq(w.in.file.word, w.word);
    ck_assert_uint_gt(w.in.version, 3);
}

/* Also where the file has the very same lines. */
TEST_EACH(what_is_not_its_own_is_said, 2)
{
    static const char text[] = "global\nbackend peer\n  server mine 10.0.0.1:1\nbackend web\n";
    stream_begin(1);
    cleanup(mem_free_ptr) char *as_it_is = text_of(&w.in.file);
    const char *document = _i == 0 ? text : as_it_is;
    w.calm = true;
    give(document, strlen(document));
    passes(5);
    const struct configuration_view v = configuration_view(w.c, 0);
    ck_assert_str_eq(v.state, "rejected");
    ck_assert_msg(strstr(v.reason, _i == 0 ? "line 3: server line of backend peer" : "server lines of backend web") !=
                      NULL,
                  "%s", v.reason);
    ck_assert_uint_eq(w.writes, 0);
}

/* Not what was written before it and never loaded. */
TEST(what_ran_goes_back)
{
    stream_begin(1);
    w.calm = true;
    new_document(true);
    passes(10);
    const struct contents ran = w.in.running;
    w.meanwhile = true;
    new_document(true);
    passes(20);
    ck_assert(!w.meanwhile);
    ck_assert_str_eq(configuration_view(w.c, 0).state, "rejected");
    ck_assert_str_eq(w.in.running.word, ran.word);
    ck_assert_str_eq(w.in.file.word, ran.word);
}
