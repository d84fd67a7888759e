/* The watch of one Lease: what it asks, which event is a hint, and that it comes back. */
#include "kube/informer.h"

#include "lease_peer.h"

#define LEASE(holder)                                                                                \
    "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"the-lease\",\"resourceVersion\":\"5\"},\"spec\":{" \
    "\"holderIdentity\":\"" holder "\"}}"

static struct informer *w;
static unsigned hints;

static void on_free(void *arg)
{
    ck_assert_ptr_eq(arg, &hints);
    hints++;
}

static struct lease_hint hint = {.free_now = on_free, .arg = &hints};

static void begin(void)
{
    setup();
    make_client();
    hints = 0;
    w = lease_watch_new(base, client, &log_to_file, "ns", "the-lease", &hint);
}

static void end(void)
{
    informer_free(w);
    teardown();
}

static unsigned open_watches(void)
{
    unsigned n = 0;
    for (size_t i = 0; i < MAX_WATCHES; i++)
        n += peer.watches[i] != NULL;
    return n;
}

FORKED

FIXTURE(begin, end)

TEST(a_free_lease_is_a_hint_and_a_taken_one_is_not)
{
    peer_store(LEASE("a"));
    informer_start(w);
    informer_start(w);
    await(open_watches() == 1);
    ck_assert_ptr_nonnull(strstr(peer.watch_uri, "fieldSelector=metadata.name%3Dthe-lease&"));
    ck_assert_ptr_nonnull(strstr(peer.watch_uri, "timeoutSeconds="));
    peer_store(LEASE("b"));
    peer_store(LEASE(""));
    await(hints == 1);
    peer_store(LEASE("a"));
    tell_watches("DELETED");
    await(hints == 2);
    ck_assert_uint_eq(peer.watches_begun, 1);
}

TEST(it_comes_back_after_its_end)
{
    peer_store(LEASE("a"));
    informer_start(w);
    await(open_watches() == 1);
    evhttp_send_reply_end(peer.watches[0]);
    peer.watches[0] = NULL;
    await(peer.watches_begun == 2);
    evhttp_connection_free(evhttp_request_get_connection(peer.watches[0]));
    await(peer.watches_begun == 3);
    peer_store(LEASE(""));
    await(hints == 1);
}

TEST(garbage_is_no_hint)
{
    free(peer.json);
    peer.json = mem_strdup("[\"{}\", {\"holderIdentity\":\"\"}]");
    informer_start(w);
    await(open_watches() == 1);
    struct evbuffer *out = evbuffer_new();
    evbuffer_add_printf(out, "<html>");
    evhttp_send_reply_chunk(peer.watches[0], out);
    evbuffer_free(out);
    evhttp_send_reply_end(peer.watches[0]);
    peer.watches[0] = NULL;
    await(peer.watches_begun == 2);
    ck_assert_uint_eq(hints, 0);
}

/* The election reads it, too, and says so. */
TEST(one_that_cannot_be_read_is_no_hint_and_no_warning)
{
    free(peer.json);
    peer.json = mem_strdup("{\"kind\":\"Lease\",\"metadata\":{\"name\":\"the-lease\",\"resourceVersion\":\"5\"},"
                           "\"spec\":{\"holderIdentity\":5}}");
    informer_start(w);
    await(times_logged("unexpected object") == 1);
    ck_assert_uint_eq(hints, 0);
    peer_store(LEASE(""));
    await(hints == 1);
    ck_assert_uint_eq(times_logged("level=warn") + times_logged("level=info"), 0);
}

/* The last one that is read has LEASE_MAX_BYTES, as before a byte more. */
TEST_EACH(one_that_is_too_long_is_no_hint, 2)
{
    static const char event[] = "{\"type\":\"ADDED\",\"object\":}", head[] = LEASE("");
    size_t room = LEASE_MAX_BYTES - (sizeof(event) - 1) - (sizeof(head) - 1) + (size_t)_i;
    cleanup(mem_free_ptr) char *blanks = mem_alloc(room + 1);
    memset(blanks, ' ', room);
    free(peer.json);
    peer.json = mem_printf("{%s%s", blanks, head + 1);
    informer_start(w);
    await(peer.watches_begun == 1);
    if (_i == 0)
        await(hints == 1);
    else
        await(peer.watches_begun == 2);
    ck_assert_uint_eq(hints, _i == 0);
}

TEST(forbidden_is_said_once)
{
    peer.refuse_watches = 403;
    informer_start(w);
    await(times_logged("watching the Lease is denied") == 1);
    for (unsigned i = 2; i < 4; i++) { /* as the election does when it leads in between */
        informer_stop(w);
        informer_start(w);
        await(peer.watches_begun == i);
    }
    informer_stop(w);
    ck_assert_uint_eq(times_logged("watching the Lease is denied"), 1);
    ck_assert_uint_eq(times_logged("level=warn") + times_logged("level=info"), 0);
}

TEST(stopped)
{
    peer_store(LEASE("a"));
    informer_start(w);
    await(open_watches() == 1);
    informer_stop(w);
    informer_stop(w);
    tell_watches("DELETED");
    while (pass())
        continue;
    ck_assert_uint_eq(hints, 0);
    ck_assert_uint_eq(peer.watches_begun, 1);
    informer_free(NULL);
}
