/* Leader election over real HTTP: what goes over the wire, what is reported, and what happens when the server is of no use. */
#include "kube/lease/election.h"

#include "../../folder.h"
#include "lease_peer.h"

struct candidate {
    struct election *election;
    unsigned elected, deposed, released, holders;
    char holder[64];
    bool free_when_released, calling;
};

static struct candidate a, b;

static void on_elected(void *arg)
{
    struct candidate *c = arg;
    ck_assert(!c->calling);
    ck_assert(election_may_act(c->election) && election_may_clean_up(c->election));
    c->elected++;
}

static void on_deposed(void *arg)
{
    struct candidate *c = arg;
    ck_assert(!c->calling);
    ck_assert(!election_may_act(c->election));
    c->deposed++;
}

static void on_holder(void *arg, const char *identity)
{
    struct candidate *c = arg;
    ck_assert(!c->calling);
    c->holders++;
    snprintf(c->holder, sizeof(c->holder), "%s", identity);
}

static void on_released(void *arg)
{
    struct candidate *c = arg;
    c->released++;
    if (c->free_when_released) {
        election_free(c->election);
        c->election = NULL;
    }
}

static void join(struct candidate *c, const char *identity)
{
    static const struct election_callbacks callbacks = {
        .elected = on_elected, .deposed = on_deposed, .holder = on_holder};
    if (client == NULL)
        make_client();
    const struct election_options options = {
        .client = client, .log = &log_to_file, .namespace = "ns", .name = "the-lease", .identity = identity};
    *c = (struct candidate){.election = election_new(base, &options, &callbacks, c)};
    ck_assert(election_holder(c->election) == NULL && !election_may_act(c->election));
    c->calling = true;
    election_start(c->election);
    c->calling = false;
}

static void leave(struct candidate *c)
{
    c->calling = true;
    election_release(c->election, on_released, c);
    c->calling = false;
    ck_assert(c->election == NULL || (!election_may_act(c->election) && !election_may_clean_up(c->election)));
}

static void all_end(void)
{
    election_free(a.election);
    election_free(b.election);
    teardown();
}

#define HELD_BY(holder)                                                                                          \
    "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"the-lease\",\"namespace\":\"ns\",\"resourceVersion\":\"5\","   \
    "\"labels\":{\"some\":\"body's\"}},\"spec\":{\"holderIdentity\":\"" holder "\",\"leaseDurationSeconds\":15," \
    "\"leaseTransitions\":3,\"acquireTime\":\"2020-01-01T00:00:00.000000Z\",\"strategy\":\"Oldest\"}}"

FORKED

FIXTURE(setup, all_end)

TEST(made_and_renewed)
{
    join(&a, "a");
    await(a.elected == 1);
    struct lease first = peer_lease();
    ck_assert_str_eq(first.holder, "a");
    ck_assert_int_eq(first.duration_s, 15);
    ck_assert_int_eq(first.transitions, 0);
    ck_assert_str_eq(first.acquire_time, first.renew_time);
    ck_assert_ptr_nonnull(strstr(peer.json, "\"apiVersion\":\"coordination.k8s.io/v1\""));
    ck_assert_str_eq(election_holder(a.election), "a");
    election_poke(a.election);
    await(peer.puts == 2); /* one more of itself */
    struct lease later = peer_lease();
    ck_assert_str_eq(later.holder, "a");
    ck_assert_str_eq(later.acquire_time, first.acquire_time);
    ck_assert_str_ne(later.renew_time, first.renew_time);
    ck_assert_int_eq(later.transitions, 0);
    ck_assert_uint_eq(peer.gets, 1); /* a renewal needs no read */
    ck_assert_uint_eq(peer.posts, 1);
    ck_assert_uint_eq(a.elected, 1);
    ck_assert_uint_eq(a.deposed, 0);
    ck_assert_uint_eq(a.holders, 1); /* nobody had it */
    ck_assert_str_eq(a.holder, "");
    ck_assert_ptr_null(election_problem(a.election));
}

TEST(ours_from_before_is_renewed_and_what_is_not_ours_stays)
{
    peer_store(HELD_BY("a"));
    join(&a, "a");
    await(a.elected == 1);
    struct lease l = peer_lease();
    ck_assert_int_eq(l.transitions, 3);
    ck_assert_str_eq(l.acquire_time, "2020-01-01T00:00:00.000000Z");
    ck_assert_ptr_nonnull(strstr(peer.json, "\"labels\":{\"some\":\"body's\"}"));
    ck_assert_ptr_nonnull(strstr(peer.json, "\"strategy\":\"Oldest\""));
}

TEST(handed_over)
{
    join(&a, "a");
    await(a.elected == 1);
    join(&b, "b");
    await(b.holders == 1 && peer.watches_begun > 0);
    ck_assert_str_eq(b.holder, "a");
    ck_assert_str_eq(election_holder(b.election), "a");
    a.free_when_released = true;
    leave(&a);
    await(a.released == 1 && b.elected == 1);
    struct lease l = peer_lease();
    ck_assert_str_eq(l.holder, "b");
    ck_assert_int_eq(l.transitions, 1);
    ck_assert_int_eq(l.duration_s, 15);
    ck_assert_uint_eq(b.deposed, 0);
    ck_assert_uint_eq(a.deposed, 0); /* no other callback comes after the release */
}

TEST(given_up_when_nobody_waits)
{
    join(&a, "a");
    await(a.elected == 1);
    leave(&a);
    await(a.released == 1);
    struct lease l = peer_lease();
    ck_assert_str_eq(l.holder, "");
    ck_assert_int_eq(l.duration_s, 1);
    unsigned asked = peer.asked;
    election_poke(a.election);
    while (pass())
        continue;
    ck_assert_uint_eq(peer.asked, asked);
    ck_assert_uint_eq(a.released, 1);
}

TEST(a_release_that_hangs_ends_all_the_same)
{
    join(&a, "a");
    await(a.elected == 1);
    peer.silent = true;
    a.free_when_released = true;
    leave(&a);
    ck_assert_uint_eq(a.released, 0);
    await(a.released == 1);
}

TEST(nothing_to_give_up)
{
    join(&a, "a"); /* not even begun */
    leave(&a);
    ck_assert_uint_eq(a.released, 1);
    ck_assert_uint_eq(peer.asked, 0);
    election_free(a.election);
    peer_store(HELD_BY("somebody"));
    join(&a, "a");
    await(a.holders == 1);
    a.free_when_released = true;
    leave(&a);
    ck_assert_uint_eq(a.released, 1);
    ck_assert_str_eq(peer_lease().holder, "somebody");
    ck_assert_uint_eq(peer.puts + peer.posts, 0);
}

static const struct {
    int status;
    const char *body, *problem;
    bool busy; /* the next try may do: it is said if that goes on for a while */
} refusals[] = {
    {403, "{\"kind\":\"Status\",\"code\":403,\"message\":\"leases is forbidden\"}", "HTTP 403: leases is forbidden",
     false},
    {500, "oh", "HTTP 500: oh", true},
    {429, "", "HTTP 429", true},
    {503, "<html>", "HTTP 503", true},
    {200, "<html>", "cannot be used", false},
    {200, "", "cannot be used", false},
    {200, "{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":7}", "spec is a number", false},
    {302, "", "HTTP 302", true},
};

TEST_EACH(refused_said_once_and_tried_again, array_len(refusals))
{
    peer.refuse_reads = refusals[_i].status;
    peer.body = refusals[_i].body;
    join(&a, "a");
    await(election_problem(a.election) != NULL);
    ck_assert_uint_eq(times_logged("cannot read or write the Lease"), refusals[_i].busy ? 0 : 1);
    election_poke(a.election);
    await(peer.gets == 2);
    ck_assert_msg(strstr(election_problem(a.election), refusals[_i].problem) != NULL, "%s",
                  election_problem(a.election));
    ck_assert_uint_eq(a.elected, 0);
    ck_assert_ptr_null(election_holder(a.election));
    await(times_logged("cannot read or write the Lease") > 0);
    ck_assert_uint_eq(times_logged("cannot read or write the Lease"), 1);
    peer.refuse_reads = 0;
    peer.body = NULL;
    election_poke(a.election);
    await(a.elected == 1);
    ck_assert_ptr_null(election_problem(a.election));
    ck_assert_uint_eq(times_logged("can be read and written again"), 1);
}

/* An etcd that is full is read as ever. That another one takes the Lease is the end of it. */
TEST(a_write_that_fails_is_not_resolved_by_a_read)
{
    peer.refuse_writes = 500;
    join(&a, "a");
    await(peer.posts == 2);
    await(peer.gets == 3);
    ck_assert_ptr_nonnull(election_problem(a.election));
    peer_store(HELD_BY("somebody"));
    election_poke(a.election);
    await(election_problem(a.election) == NULL);
    ck_assert_str_eq(election_holder(a.election), "somebody");
}

/* A role that may get but not update: the reads that go well in between do not hide it. */
TEST(a_refused_write_stays_a_problem)
{
    peer.refuse_writes = 403;
    join(&a, "a");
    await(election_problem(a.election) != NULL);
    election_poke(a.election);
    await(peer.posts == 2);
    election_poke(a.election);
    await(peer.gets == 3);
    ck_assert_ptr_nonnull(election_problem(a.election));
    ck_assert_ptr_nonnull(strstr(election_problem(a.election), "POST"));
    ck_assert_uint_eq(times_logged("cannot read or write the Lease"), 1);
    ck_assert_uint_eq(times_logged("can be read and written again"), 0);
    peer.refuse_writes = 0;
    election_poke(a.election);
    await(a.elected == 1);
    ck_assert_ptr_null(election_problem(a.election));
}

TEST(refused_credentials_are_read_again)
{
    folder_make();
    cleanup(mem_free_ptr) char *path = in_folder("token");
    write_file(path, "first");
    set_mtime(path, 1000000);
    peer_access.token_path = mem_strdup(path);
    peer.refuse_reads = 401;
    make_client();
    join(&a, "a");
    await(peer.gets == 1);
    ck_assert_str_eq(peer.authorization, "Bearer first");
    write_file(path, "other");
    set_mtime(path, 1000000);
    await(election_problem(a.election) != NULL);
    election_poke(a.election);
    await(peer.gets == 2);
    ck_assert_str_eq(peer.authorization, "Bearer other");
    folder_remove();
}

TEST(another_process_takes_it)
{
    join(&a, "a");
    await(a.elected == 1);
    peer_store(HELD_BY("by hand"));
    election_poke(a.election);
    await(a.deposed == 1);
    ck_assert(!election_may_clean_up(a.election));
    ck_assert_str_eq(a.holder, "by hand");
    ck_assert_str_eq(peer_lease().holder, "by hand");
}

/* An answer that does not come in four seconds, which is when libcurl gives it up, costs one request, not the lease. */
TEST(a_request_that_hangs)
{
    join(&a, "a");
    await(a.elected == 1);
    peer.silent = true;
    election_poke(a.election);
    await(peer.puts == 1);
    peer.silent = false;
    lease_time.now_us += 4000000;
    evhttp_send_reply_start(peer.unanswered, 200, "OK"); /* or libcurl would ask again by itself */
    while (turn())
        continue;
    evhttp_connection_free(evhttp_request_get_connection(peer.unanswered));
    await(peer.gets == 2 && peer.puts == 2);
    ck_assert_uint_eq(a.deposed, 0);
    ck_assert(election_may_act(a.election));
}

TEST(no_watch_allowed_no_harm)
{
    peer.refuse_watches = 403;
    join(&b, "b");
    await(b.elected == 1);
    join(&a, "a");
    await(str_eq(a.holder, "b") && times_logged("watching the Lease is denied") > 0);
    b.free_when_released = true;
    leave(&b);
    await(b.released == 1 && a.elected == 1);
    ck_assert_uint_eq(times_logged("level=warn"), 0);
}

TEST(freed_in_the_middle)
{
    peer.silent = true;
    join(&a, "a");
    await(peer.asked == 1 && peer.watches_begun == 1);
    election_free(a.election);
    a.election = NULL;
    election_free(NULL);
    join(&a, "a"); /* not begun */
}
