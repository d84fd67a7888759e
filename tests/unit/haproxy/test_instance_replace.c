/* src/haproxy/instance: an engine that writes the whole file, and when that is read back; in the world of engine_world.h. */
#include "../engine_world.h"

#include "haproxy/cfg/content.h"
#include "haproxy/driver.h"

#define NEWS "\nlisten news\n  bind :1\n"

/* Writes the whole file once, and remembers what it read. */
struct whole {
    struct instance *in;
    struct cfg_content *sends; /* NULL: it wants nothing */
    struct cfg_content *before;
    unsigned reads, reads_before; /* ever; until the write was answered */
    unsigned written;
    char *file;                        /* as read first behind the write; NULL: not yet */
    const struct cfg_content *content; /* the same */
    enum transaction_result ends;      /* the write */
    bool failed;                       /* its last write did: it waits */
};

static void whole_attach(void *self, struct instance *in)
{
    ((struct whole *)self)->in = in;
}

static void whole_read(void *self)
{
    struct whole *o = self;
    o->reads++;
    if (o->written == 0 || o->file != NULL)
        return;
    o->content = instance_file(o->in);
    o->file = mem_strdup(o->content->text);
}

static void whole_decide(void *self, struct engine_wants *ret)
{
    const struct whole *o = self;
    const struct instance_view v = instance_view(o->in);
    ret->replacement = o->sends != NULL && v.file_allows;
    ret->waits = o->failed || (o->sends != NULL && !ret->replacement);
    ret->failed = o->failed;
    ret->reload = o->sends == NULL && v.dirty && v.file_allows;
}

static void whole_replace(void *self, struct replacement_request *ret)
{
    struct whole *o = self;
    ret->text = o->sends;
    ret->before = o->before;
}

static void whole_replaced(void *self, const struct replaced *r)
{
    struct whole *o = self;
    ck_assert_msg(r->result == o->ends, "%s: %s", transaction_result_name(r->result), r->error.message);
    cfg_content_unref(o->sends);
    o->sends = NULL;
    o->written++;
    o->reads_before = o->reads;
}

static const struct engine_ops whole_ops = {.name = "whole",
                                            .attach = whole_attach,
                                            .read = whole_read,
                                            .decide = whole_decide,
                                            .replace = whole_replace,
                                            .replaced = whole_replaced};

static struct whole whole;
static struct engine_claim whole_claim = {.backend = "be", .parts = ENGINE_SERVERS};
static struct engine whole_engine;

/* The world's HAProxy, driven by it alone. claims: servers of a backend, too. */
static void whole_start(bool claims)
{
    const struct engine *engine = &whole_engine;
    target_end();
    whole = (struct whole){.ends = TRANSACTION_COMMITTED};
    whole_engine =
        (struct engine){.ops = &whole_ops, .self = &whole, .claims = &whole_claim, .claim_count = claims, .rest = true};
    w.target.servers = NULL;
    w.target.instance = instance_new(NULL, world_instance(), &engine, 1, &flaw);
    ck_assert_ptr_nonnull(w.target.instance);
    instance_start(w.target.instance);
    pass(0);
    buf_clear(&w.trace);
}

static void world_whole(bool claims)
{
    world_make_updates();
    whole_start(claims);
    ck_assert_uint_eq(whole.reads, 1);
}

/* The world's file with more behind it. */
static struct cfg_content *whole_text_with(const char *more)
{
    struct buf text = {0};
    put_file(&text, &w.file);
    buf_add(&text, more);
    return cfg_content_take(&text);
}

/* Which the API writes as it stands, but for what is behind it. */
static void whole_send(struct cfg_content *text, const char *written)
{
    whole.sends = cfg_content_ref(text);
    whole.before = whole_text_with("");
    w.written = written;
    w.readings = 0;
    instance_step(w.target.instance);
    pass(0);
    ck_assert_uint_eq(whole.written, 1);
}

static void whole_write(void)
{
    struct cfg_content *text = whole_text_with(NEWS);
    whole_send(text, NEWS);
    cfg_content_unref(text);
}

static void whole_end(void)
{
    world_end();
    cfg_content_unref(whole.before);
    free(whole.file);
}

FIXTURE(NULL, whole_end)

#define HEAD(actions)                                           \
    "# haproxy-k8s-sync: version 5 is loaded by the next one\n" \
    "# haproxy-k8s-sync: it need not if HAProxy has in version 5: " actions "\n"

struct found_row {
    const char *head, *running;
    bool unreadable, loads;
};

static const struct found_row found_rows[] = {
    {HEAD("SetServerAddr be n1 10.0.0.1 80"), "n1", false, false},
    {HEAD("SetServerState be n1 ready;SetServerAddr be n2 10.0.0.2 80"), "n1 n2", false, false},
    {HEAD("SetServerState be n1 maint"), "n1*", false, false},
    {HEAD("SetServerState be n1 maint"), "n1", false, true},
    {HEAD("SetServerState be n9 maint"), "n1", false, false}, /* it was deleted, and is in no file */
    {HEAD("SetServerState be n9 maint"), "n1 n9*", false, true},
    {HEAD("SetServerAddr be n1 10.0.0.9 80"), "n1", false, true}, /* nor is it waited for */
    {HEAD("SetServerAddr be n2 10.0.0.2 80"), "n1", false, true},
    {HEAD("SetServerAddr be n1 10.0.0.1 80"), "n1", true, true},
    {HEAD("SetServerWeight be n1 100"), "n1", false, true}, /* of an API that shows none */
    {HEAD("SetServerWeight"), "n1", false, true},
    {"# haproxy-k8s-sync: version 5 is loaded by the next one\n", "n1", false, true},
    {"# haproxy-k8s-sync: version 4 is loaded by the next one\n", "n2", false, false},
};

TEST_EACH(what_it_was_sent_is_read_back, array_len(found_rows))
{
    const struct found_row *row = &found_rows[_i];
    world_make_updates();
    w.file_head = row->head;
    set_copy(w.running.of[0], row->running);
    w.unreadable = row->unreadable;
    whole_start(false);
    ck_assert(logged("haproxy.cfg was written and not loaded") == row->loads);
    pass(MINUTES_MS);
    ck_assert_uint_eq(w.commits, row->loads);
    ck_assert(!instance_view(w.target.instance).dirty);
}

/* What is written first is loaded after it: no reload from before that is for it. */
TEST(what_is_to_be_loaded_waits_for_a_write)
{
    world_whole(false);
    whole_write();
    pass(MINUTES_MS);
    ck_assert(!instance_view(w.target.instance).dirty);
    instance_must_reload(w.target.instance);
    whole.sends = whole_text_with("");
    instance_step(w.target.instance); /* the request is under way */
    ck_assert_str_eq(w.method, "POST");
    ck_assert(!w.target.instance->left_dirty);
    pass(MINUTES_MS);
    ck_assert_uint_eq(w.commits, 2);
}

/* By nothing else than the answer: it is loaded at once, and read once it may be another one. */
TEST(the_answer_to_a_write_is_a_reading)
{
    world_whole(false);
    whole_write();
    assert_trace("WBC");
    ck_assert_ptr_nonnull(strstr(whole.file, NEWS));
    ck_assert_uint_eq(whole.reads_before, 1);
    ck_assert_uint_ge(whole.reads, 2);
    ck_assert_uint_eq(w.readings, 1); /* behind the commit */
    pass(MINUTES_MS);
    ck_assert_uint_eq(w.commits, 1);
    ck_assert(!instance_view(w.target.instance).dirty);
}

/* Read again in vain, it waits: what the write failed of is there still. */
TEST(what_waits_after_its_failure_is_not_resolved)
{
    world_whole(false);
    whole.ends = TRANSACTION_UNAVAILABLE;
    whole.failed = true;
    fault((struct fault){.step = 'W', .status = 500});
    whole_write();
    mend();
    pass(MINUTES_MS);
    ck_assert(!logged("problem resolved"));
    whole.failed = false;
    pass(MINUTES_MS);
    ck_assert(logged("problem resolved"));
}

TEST(where_another_write_came_before_it_is_read)
{
    world_whole(false);
    w.others = 1;
    whole_write();
    ck_assert_ptr_nonnull(strstr(whole.file, NEWS));
    ck_assert_uint_eq(w.readings, 2); /* before the commit, too */
    ck_assert_uint_eq(w.commits, 1);
}

TEST(where_servers_are_managed_they_are_read)
{
    world_whole(true);
    whole_write();
    ck_assert_uint_eq(w.readings, 2);
    ck_assert_uint_eq(w.commits, 1);
}

/* The same bytes behind the version are neither parsed nor compared once more. */
TEST(what_the_api_made_of_it_elsewhere_is_known)
{
    world_whole(false);
    struct cfg_content *text = whole_text_with(NEWS), *made = whole_text_with(NEWS);
    cfg_content_wrote(text, made);
    whole_send(text, NEWS);
    ck_assert_ptr_eq(whole.content, made);
    cfg_content_unref(made);
    cfg_content_unref(text);
}

TEST(what_it_made_elsewhere_is_not_what_it_makes_here)
{
    world_whole(false);
    struct cfg_content *text = whole_text_with(NEWS), *made = whole_text_with("\n\nlisten news\n  bind :1\n");
    cfg_content_wrote(text, made);
    whole_send(text, NEWS);
    ck_assert_ptr_ne(whole.content, made);
    ck_assert_ptr_eq(whole.content, text->written);
    cfg_content_unref(made);
    cfg_content_unref(text);
}

/* Nor on the next HAProxy that makes the same of it. */
TEST(another_meaning_is_never_known)
{
    world_whole(false);
    struct cfg_content *text = whole_text_with(NEWS);
    whole.ends = TRANSACTION_HARMFUL;
    whole_send(text, "\nlisten news\n  bind :2\n");
    ck_assert_ptr_null(text->written);
    cfg_content_unref(text);
}
