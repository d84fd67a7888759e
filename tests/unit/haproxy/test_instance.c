/* src/haproxy/instance: driven by an engine of a few lines, alone and beside the servers engine; in the world of
 * engine_world.h. */
#include "../engine_world.h"

#include "haproxy/change.h"

/* Wants one server in its backend, and remembers what it was called with. */
struct few {
    struct instance *in;
    const char *backend, *server; /* NULL: it wants nothing */
    struct backend_server moved;  /* an update that it wants instead; name NULL: none */
    unsigned reads, commits, updates;
    unsigned known, lost, refused; /* of reloads */
    int64_t version;
    bool many;
};

static void few_attach(void *self, struct instance *in)
{
    ((struct few *)self)->in = in;
}

static void few_read(void *self)
{
    ((struct few *)self)->reads++;
}

static void few_decide(void *self, struct engine_wants *ret_wants)
{
    const struct few *f = self;
    const struct instance_view v = instance_view(f->in);
    ret_wants->update = f->moved.name != NULL;
    ret_wants->transaction = f->server != NULL && v.file_allows && !v.gathers;
    ret_wants->waits = f->server != NULL && !ret_wants->transaction;
    ret_wants->many = f->many;
}

static void few_collect(void *self)
{
    const struct few *f = self;
    if (f->server == NULL)
        return;
    struct instance_backend *b = instance_backend(f->in, f->backend);
    cleanup(mem_free_ptr) char *name = mem_strdup(f->server);
    const struct backend_server server = {.name = name, .address = name, .weight = -1};
    const struct change c = {.kind = CHANGE_ADD_SERVER, .backend = &b->actual, .server = &server};
    ck_assert_int_eq(instance_change(f->in, b, &c, 1, &flaw), 0);
}

static bool few_may_change(const void *self, const char *kind, const char *name, const char *first, const char *second)
{
    const struct few *f = self;
    return str_eq(kind, "backend") && str_eq(name, f->backend) && str_eq(first, "server") && str_eq(second, f->server);
}

static void few_committed(void *self, const struct written *t)
{
    struct few *f = self;
    f->commits++;
    f->version = t->version;
    f->server = NULL;
}

static void few_update(void *self)
{
    struct few *f = self;
    ck_assert_int_eq(
        instance_update(f->in, instance_backend(f->in, f->backend), &f->moved, SERVER_MAINTENANCE, false, &flaw), 0);
}

static void few_updated(void *self, const struct instance_backend *b, const struct updated *u, int64_t was)
{
    struct few *f = self;
    f->updates += str_eq(b->name, f->backend) && u->result == UPDATE_WRITTEN && u->version == was + 1;
    f->moved.name = NULL;
}

static void few_reload_failed(void *self, bool lost)
{
    struct few *f = self;
    f->lost += lost;
    f->refused += !lost;
}

static void few_reloads_known(void *self)
{
    ((struct few *)self)->known++;
}

static const struct engine_ops few_ops = {.name = "few",
                                          .attach = few_attach,
                                          .read = few_read,
                                          .decide = few_decide,
                                          .collect = few_collect,
                                          .may_change = few_may_change,
                                          .committed = few_committed,
                                          .update = few_update,
                                          .updated = few_updated,
                                          .reload_failed = few_reload_failed,
                                          .reloads_known = few_reloads_known};

static struct few few;
static struct engine_claim few_claim;
static struct engine few_engine;

static void few_make(const char *backend)
{
    few = (struct few){.backend = backend};
    few_claim = (struct engine_claim){.backend = backend, .parts = ENGINE_SERVERS};
    few_engine = (struct engine){.ops = &few_ops, .self = &few, .claims = &few_claim, .claim_count = 1};
}

/* Into maintenance, by a runtime update. */
static void few_move(const char *server, int number)
{
    static char address[16];
    snprintf(address, sizeof(address), "10.0.0.%d", number);
    few.moved = (struct backend_server){.name = (char *)(uintptr_t)server,
                                        .address = address,
                                        .port = 80,
                                        .weight = 100,
                                        .check = true,
                                        .maintenance = true};
    instance_step(w.target.instance);
}

/* The world's HAProxy, driven by `few` alone: on "be". reload_list NULL: the true one. */
static void world_few_after(const char *reload_list)
{
    const struct engine *engine = &few_engine;
    world_make_updates();
    w.reload_list = reload_list;
    target_end();
    few_make("be");
    w.target.servers = NULL;
    w.target.instance = instance_new(NULL, world_instance(), &engine, 1, &flaw);
    ck_assert_ptr_nonnull(w.target.instance);
    instance_start(w.target.instance);
    pass(0);
}

static void world_few(void)
{
    world_few_after(NULL);
}

/* The servers engine on "be", `few` on "two". */
static void world_both(void)
{
    world_make_as(2, (struct plan_rules){.max_loss_percent = 100}, 3600000, true);
    target_end();
    few_make("two");
    w.backends = w.options.servers.backend_count = 1;
    w.target.servers = servers_new(&w.options.servers);
    const struct engine *engines[] = {servers_engine(w.target.servers), &few_engine};
    w.target.instance = instance_new(NULL, world_instance(), engines, 2, &flaw);
    ck_assert_ptr_nonnull(w.target.instance);
    w.backends = 2;
    instance_start(w.target.instance);
    desired("n1", "the first list");
    pass(0);
    w.backends = 1;
    assert_settled("n1");
    w.backends = 2;
    buf_clear(&w.trace);
}

FIXTURE(NULL, world_end)

TEST(an_engine_of_a_few_lines_drives_it)
{
    world_few();
    ck_assert_uint_eq(few.reads, 1);
    ck_assert_int_eq(instance_view(w.target.instance).version, 5);
    few.server = "n9";
    instance_step(w.target.instance);
    pass(10000);
    ck_assert_uint_eq(few.commits, 1);
    ck_assert_int_eq(few.version, 6);
    assert_running("n1 n9");
    const struct instance_view v = instance_view(w.target.instance);
    ck_assert(v.version == 6 && v.fresh && !v.dirty && v.drift == NULL && v.problem->kind == ERROR_NONE);
}

/* The loop goes on between the decision and its transaction: what changes there counts, and is decided anew. */
TEST_EACH(many_changes_are_collected_in_a_round_of_their_own, 2)
{
    world_few();
    few.many = true;
    few.server = "n8";
    instance_step(w.target.instance);
    ck_assert(!w.busy);
    if (_i == 1) {
        few.server = NULL;
        instance_step(w.target.instance);
    }
    pass(10000);
    ck_assert_uint_eq(few.commits, _i == 1 ? 0 : 1);
    assert_running(_i == 1 ? "n1" : "n1 n8");
}

/* One that the API forgot is none that HAProxy refused. */
TEST(it_hears_how_reloads_ended)
{
    world_few();
    ck_assert_uint_eq(few.known, 1);
    few.server = "n9";
    instance_step(w.target.instance);
    settle();
    restart_api();
    pass(10000);
    ck_assert_uint_eq(few.lost, 1);
    ck_assert_uint_eq(few.refused, 0);
    few.server = "n8";
    w.fail_reloads = 1;
    instance_step(w.target.instance);
    pass(60000);
    ck_assert_uint_eq(few.lost, 1);
    ck_assert_uint_eq(few.refused, 1);
}

/* One that is pending at the start is followed to its end, and then it is read again what runs. */
TEST(it_waits_for_a_reload_before_the_start)
{
    world_few_after("[{\"id\":\"x-1\",\"status\":\"in_progress\",\"reload_timestamp\":1,\"response\":\"\"}]");
    pass(5000);
    ck_assert_uint_eq(few.known, 0);
    ck_assert_uint_eq(few.reads, 1);
    w.reload_list = "[{\"id\":\"x-1\",\"status\":\"succeeded\",\"reload_timestamp\":1,\"response\":\"\"}]";
    pass(5000);
    ck_assert_uint_eq(few.reads, 2);
    ck_assert(instance_view(w.target.instance).last_reload_known);
}

/* By nobody's reload of ours: the file may be from before the edit that this one has loaded. Two that answer by turns end that. */
TEST(another_worker_is_read_with_its_file_once_more)
{
    world_few();
    pass(RESYNC_MS);
    ck_assert_uint_eq(few.reads, 2);
    w.pid++;
    pass(RESYNC_MS);
    ck_assert_uint_eq(few.reads, 4);
    pass(RESYNC_MS);
    ck_assert_uint_eq(few.reads, 5);
}

TEST(its_runtime_update_is_verified)
{
    world_few();
    few_move("n1", 1);
    pass(1000);
    ck_assert_uint_eq(few.updates, 1);
    ck_assert_uint_eq(w.reloads, 0);
    assert_running("n1*");
    ck_assert_int_eq(instance_view(w.target.instance).verification, VERIFICATION_VERIFIED);
}

/* What one writes is no drift, no conflict and no surprise for the other. */
TEST(two_engines_side_by_side)
{
    world_both();
    few.server = "n9";
    instance_step(w.target.instance);
    pass(10000);
    ck_assert_uint_eq(few.commits, 1);
    assert_settled_two("n1 n9");
    desired("n1 n2", "an event");
    pass(10000);
    ck_assert_uint_eq(few.commits, 2);
    assert_configured("n1 n2");
    assert_running("n1 n2");
    few_move("n9", 9);
    pass(60000);
    assert_settled_two("n1 n9*");
    assert_configured("n1 n2");
    ck_assert_msg(metric_value(w.metrics.changes_reverted, "be", API_URL, NULL) <= 0,
                  "what another engine wrote undoes nothing");
    for (size_t i = 0; i < history_count(w.history); i++)
        ck_assert_int_ne(history_at(w.history, i)->kind, HISTORY_DRIFT_REPAIRED);
    ck_assert(!logged("another writer"));
}

/* Both have something to write: it is one transaction, and one reload. */
TEST(one_transaction_carries_both)
{
    world_both();
    few.server = "n9";
    desired("n1 n2", "an event");
    pass(10000);
    ck_assert_uint_eq(w.commits, 1);
    ck_assert_uint_eq(w.reloads, 1);
    assert_configured("n1 n2");
    assert_settled_two("n1 n9");
}

/* Refused together, each is tried alone; the one that is wrong keeps nobody up. */
TEST(one_engine_that_is_refused_keeps_no_other_up)
{
    world_both();
    w.forbidden = "n9";
    few.server = "n9";
    desired("n1 n2", "an event");
    pass(20000);
    assert_configured("n1 n2");
    ck_assert_uint_eq(few.commits, 1);
}

/* What was refused is not cured by what another engine writes: it is not tried again for each of these. */
TEST(a_write_of_another_cures_no_refusal)
{
    world_both();
    w.forbidden = "n2";
    desired("n1 n2", "an event");
    pass(100);
    unsigned tried = w.transactions;
    ck_assert_uint_ge(tried, 1);
    few.server = "n9";
    instance_step(w.target.instance);
    pass(2500);
    ck_assert_uint_eq(few.commits, 1);
    few_move("n9", 9);
    pass(500);
    ck_assert_uint_eq(few.updates, 1);
    ck_assert_uint_eq(w.transactions, tried + 1);
    assert_configured("n1");
}

TEST(nothing_has_two_owners)
{
    world_make();
    few_make("be");
    const struct engine *engines[] = {servers_engine(w.target.servers), &few_engine};
    ck_assert_ptr_null(instance_new(NULL, world_instance(), engines, 2, &flaw));
    ck_assert_str_eq(flaw.message,
                     "the server lines of backend be would be managed by two: servers and few; leave it to "
                     "one of them");
    ck_assert_int_eq(flaw.kind, ERROR_INVALID);
    few_claim.parts = ENGINE_SETTINGS;
    ck_assert_ptr_null(instance_new(NULL, world_instance(), engines, 2, &flaw));
    ck_assert_ptr_nonnull(strstr(flaw.message, "the settings of backend be"));
    struct engine other = few_engine;
    const struct engine *both[] = {&few_engine, &other};
    few_engine.claim_count = other.claim_count = 0;
    few_engine.rest = other.rest = true;
    ck_assert_ptr_null(instance_new(NULL, world_instance(), both, 2, &flaw));
    ck_assert_ptr_nonnull(strstr(flaw.message, "the rest of the file"));
}
