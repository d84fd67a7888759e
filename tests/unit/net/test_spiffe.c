/* The stream of net/spiffe against an agent in this process, of which HTTP/2 has what one stream needs. What is trusted
 * by it is in test_spiffe_identity.c, and all of it with TLS in tests/functional. */
#include "net/spiffe.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/un.h>

#include "base/clock.h"
#include "net/spiffe_identity.h"
#include "../folder.h"
#include "../log_file.h"
#include "../svids.h"

#define PREFACE_BYTES 24
#define FRAME_BYTES 9
#define DATA 0
#define HEADERS 1
#define SETTINGS 4
#define ACK 1
#define END_STREAM 1
#define END_HEADERS 4
#define ENOUGH_MS 20000

/* HPACK: ":status: 200", and names and values as they are. */
static const char head[] = "\x88\x00\x0c"
                           "content-type"
                           "\x10"
                           "application/grpc";
static const char no_entry[] = "\x88\x00\x0b"
                               "grpc-status"
                               "\x01"
                               "7"
                               "\x00\x0c"
                               "grpc-message"
                               "\x12"
                               "no identity issued";

static struct event_base *base;
static struct http *http;
static struct spiffe *client;
static unsigned news;
static char path[64];

/* The agent: what it answers each stream with; it sends more when asked. */
static struct {
    struct evconnlistener *listener;
    struct bufferevent *stream; /* the last one */
    struct buf message;         /* with gRPC's five bytes; empty: none */
    bool refuses;
    unsigned asked;
    bool preface;
} agent;

/* ---- the agent ---- */

static void send_frame(unsigned char type, unsigned char flags, unsigned char stream, const char *bytes, size_t len)
{
    const char header[FRAME_BYTES] = {(char)(len >> 16), (char)(len >> 8), (char)len, (char)type, (char)flags, 0, 0, 0,
                                      (char)stream};
    bufferevent_write(agent.stream, header, sizeof(header));
    if (len > 0)
        bufferevent_write(agent.stream, bytes, len);
}

static void give(void)
{
    if (agent.stream != NULL && agent.message.len > 0)
        send_frame(DATA, 0, 1, agent.message.data, agent.message.len);
}

static void answer(void)
{
    agent.asked++;
    if (agent.refuses) {
        send_frame(HEADERS, END_HEADERS | END_STREAM, 1, no_entry, sizeof(no_entry) - 1);
        return;
    }
    send_frame(HEADERS, END_HEADERS, 1, head, sizeof(head) - 1);
    give();
}

static void on_read(struct bufferevent *stream, void *arg)
{
    struct evbuffer *in = bufferevent_get_input(stream);
    if (!agent.preface && evbuffer_get_length(in) >= PREFACE_BYTES) {
        evbuffer_drain(in, PREFACE_BYTES);
        agent.preface = true;
        send_frame(SETTINGS, 0, 0, NULL, 0);
    }
    while (agent.preface && evbuffer_get_length(in) >= FRAME_BYTES) {
        const unsigned char *h = evbuffer_pullup(in, FRAME_BYTES);
        size_t len = (size_t)h[0] << 16 | (size_t)h[1] << 8 | h[2];
        unsigned char type = h[3], flags = h[4];
        if (evbuffer_get_length(in) < FRAME_BYTES + len)
            return;
        evbuffer_drain(in, FRAME_BYTES + len);
        if (type == SETTINGS && (flags & ACK) == 0)
            send_frame(SETTINGS, ACK, 0, NULL, 0);
        if (type == DATA)
            answer();
    }
}

static void hang_up(void)
{
    if (agent.stream != NULL)
        bufferevent_free(agent.stream);
    agent.stream = NULL;
}

static void on_gone(struct bufferevent *stream, short what, void *arg)
{
    if (stream == agent.stream)
        hang_up();
}

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *from, int len, void *arg)
{
    hang_up();
    agent.preface = false;
    agent.stream = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
    bufferevent_setcb(agent.stream, on_read, NULL, on_gone, NULL);
    bufferevent_enable(agent.stream, EV_READ | EV_WRITE);
}

static void agent_start(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
    agent.listener = evconnlistener_new_bind(base, on_accept, NULL, LEV_OPT_CLOSE_ON_FREE, 8,
                                             (const struct sockaddr *)&to, sizeof(to));
    ck_assert_ptr_nonnull(agent.listener);
}

static void agent_stop(void)
{
    hang_up();
    if (agent.listener != NULL)
        evconnlistener_free(agent.listener);
    agent.listener = NULL;
    unlink(path);
}

/* What the agent says from now on, to streams that are open, too. */
static void agent_says(const void *message, size_t len)
{
    const char header[] = {0, (char)(len >> 24), (char)(len >> 16), (char)(len >> 8), (char)len};
    buf_clear(&agent.message);
    buf_addn(&agent.message, header, sizeof(header));
    buf_addn(&agent.message, message, len);
    give();
}

static void agent_says_svid(long seconds)
{
    const struct kind kind = {.by = &ca, .names = "URI:" OURS, .seconds = seconds};
    cleanup(buf_fini) struct buf message = {0};
    X509 *x = leaf(&kind);
    add_svid(&message, OURS, x, leaf_key, ca.x);
    agent_says(message.data, message.len);
    X509_free(x);
}

/* ---- the client ---- */

static void on_news(void *arg)
{
    news++;
}

static bool is_usable(void)
{
    return spiffe_usable(client, &flaw) == 0;
}

static bool has_problem(void)
{
    return spiffe_state(client).problem != NULL;
}

static bool has_settled(void)
{
    return spiffe_settled(client);
}

static bool has_identity(void)
{
    return spiffe_state(client).id != NULL;
}

static bool has_renewed(void)
{
    return times_logged("SPIFFE identity renewed") == 1;
}

static bool has_news(void)
{
    return news > 0;
}

static void wait_for(bool (*condition)(void))
{
    uint64_t end_ms = clock_mono_ms() + ENOUGH_MS;
    while (!condition()) {
        ck_assert_msg(clock_mono_ms() < end_ms, "nothing came of it");
        event_base_loop(base, EVLOOP_ONCE);
    }
}

static void assert_unusable(const char *saying)
{
    ck_assert_int_eq(spiffe_usable(client, &flaw), -1);
    ck_assert_int_eq(flaw.kind, ERROR_RETRY);
    ck_assert_msg(strstr(flaw.message, saying) != NULL, "%s: %s", saying, flaw.message);
}

static void start(void)
{
    const struct spiffe_options options = {.socket = path, .log = &log_to_file, .news = on_news};
    client = spiffe_new(base, http, &options);
}

static void setup(void)
{
    svids_setup();
    memset(&agent, 0, sizeof(agent));
    news = 0;
    folder_make();
    log_begin();
    snprintf(path, sizeof(path), "%s/agent.sock", folder);
    base = event_base_new();
    http = http_new(base, "test", &flaw);
}

static void teardown(void)
{
    spiffe_free(client);
    agent_stop();
    buf_fini(&agent.message);
    http_free(http);
    event_base_free(base);
    log_end();
    folder_remove();
    svids_teardown();
}

FIXTURE(setup, teardown)

TEST(identity_comes)
{
    agent_start();
    agent_says_svid(AN_HOUR_S);
    start();
    ck_assert(!spiffe_settled(client));
    assert_unusable("it has not answered yet");
    wait_for(has_news);
    ck_assert(is_usable() && spiffe_settled(client));
    ck_assert_str_eq(spiffe_state(client).id, OURS);
    ck_assert_ptr_null(spiffe_state(client).problem);
    ck_assert_ptr_nonnull(spiffe_tls(client)->spiffe->identity);
    ck_assert_ptr_nonnull(strstr(spiffe_tls(client)->key_pem, "PRIVATE KEY"));
}

TEST(agent_comes_later)
{
    start();
    wait_for(has_settled);
    ck_assert(has_problem());
    assert_unusable("no identity from the SPIFFE Workload API at /tmp/test_unit");
    wait_for(has_news);
    news = 0;
    agent_says_svid(AN_HOUR_S);
    agent_start();
    wait_for(has_news);
    ck_assert(is_usable() && !has_problem());
    ck_assert_uint_eq(times_logged("waiting for an identity"), 1);
    ck_assert_uint_eq(times_logged("answers again"), 1);
}

TEST(agent_goes_away)
{
    agent_start();
    agent_says_svid(AN_HOUR_S);
    start();
    wait_for(has_news);
    news = 0;
    agent_stop();
    wait_for(has_problem);
    ck_assert(is_usable());
    ck_assert_uint_eq(times_logged("keeping the identity"), 1);
    agent_says_svid(AN_HOUR_S);
    agent_start();
    wait_for(has_renewed);
    ck_assert(is_usable() && !has_problem());
    event_base_loop(base, EVLOOP_NONBLOCK);
    ck_assert_uint_eq(news, 0); /* nothing waited for it */
}

TEST(renewed_on_the_same_stream)
{
    agent_start();
    agent_says_svid(AN_HOUR_S);
    start();
    wait_for(has_identity);
    cleanup(mem_free_ptr) char *first = mem_strdup(spiffe_tls(client)->cert_pem);
    give(); /* the same again */
    agent_says_svid(AN_HOUR_S);
    wait_for(has_renewed);
    const struct http_tls *tls = spiffe_tls(client);
    const struct spiffe_identity *i = tls->spiffe->identity;
    ck_assert_str_ne(i->cert_pem, first);
    ck_assert_ptr_eq(tls->cert_pem, i->cert_pem);
    ck_assert_ptr_eq(tls->key_pem, i->key_pem);
    ck_assert_ptr_eq(tls->ca_pem, i->bundles_pem);
    ck_assert_uint_eq(agent.asked, 1);
}

TEST(expired)
{
    agent_start();
    agent_says_svid(-60);
    start();
    wait_for(has_identity);
    assert_unusable("the X.509 SVID " OURS " expired at 20");
    ck_assert(spiffe_state(client).expired);
    wait_for(has_problem); /* it is asked anew */
    ck_assert_uint_eq(times_logged("X.509 SVID expired"), 1);
    news = 0;
    agent_says_svid(AN_HOUR_S);
    wait_for(has_news);
    ck_assert(is_usable());
}

TEST(rubbish)
{
    agent_start();
    agent_says_svid(AN_HOUR_S);
    start();
    wait_for(has_identity);
    agent_says("\x0b", 1);
    wait_for(has_problem);
    ck_assert(is_usable());
    ck_assert_ptr_nonnull(strstr(spiffe_state(client).problem, "cannot be used: protobuf: a group"));
}

TEST(no_entry_for_us)
{
    agent_start();
    agent.refuses = true;
    start();
    wait_for(has_settled);
    assert_unusable("PERMISSION_DENIED: no identity is registered for this process (no identity issued)");
}
