/* What net/proxy_probe says to a port, and what it makes of the answers. */
#include "net/proxy_probe.h"

#include "../test.h"

#define HEADER "\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"
#define HEADER_BYTES 16

TEST(a_header_stands_before_the_same_words)
{
    cleanup(buf_fini) struct buf plain = {0}, headed = {0};
    proxy_talk_write(PROXY_TALK_HTTP, false, &plain);
    proxy_talk_write(PROXY_TALK_HTTP, true, &headed);
    ck_assert_uint_eq(headed.len, plain.len + HEADER_BYTES);
    ck_assert_mem_eq(headed.data, HEADER, HEADER_BYTES);
    ck_assert_mem_eq(headed.data + HEADER_BYTES, plain.data, plain.len);
    ck_assert_ptr_nonnull(strstr(plain.data, "GET / HTTP/1.1\r\nHost: "));
    ck_assert_str_eq(plain.data + plain.len - 4, "\r\n\r\n");
}

/* A record of type handshake that is as long as it says and begins with a ClientHello. */
TEST(the_other_language_is_tls)
{
    cleanup(buf_fini) struct buf said = {0};
    proxy_talk_write(PROXY_TALK_TLS, true, &said);
    const unsigned char *hello = (const unsigned char *)said.data + HEADER_BYTES;
    ck_assert_mem_eq(said.data, HEADER, HEADER_BYTES);
    ck_assert_uint_gt(said.len, HEADER_BYTES + 50);
    ck_assert_uint_eq(hello[0], 0x16);
    ck_assert_uint_eq(hello[1], 3);
    ck_assert_uint_eq((unsigned)hello[3] << 8 | hello[4], said.len - HEADER_BYTES - 5);
    ck_assert_uint_eq(hello[5], 1);
}

#define MORE PROXY_REPLY_UNREACHED /* more bytes are needed */

static const struct {
    enum proxy_talk talk;
    const char *bytes;
    size_t len;
    enum proxy_reply reply;
} answers[] = {
    {PROXY_TALK_HTTP, "", 0, MORE},
    {PROXY_TALK_HTTP, "H", 1, MORE},
    {PROXY_TALK_HTTP, "HTTP/1.", 7, MORE},
    {PROXY_TALK_HTTP, "HTTP/1.1 40", 11, MORE},
    {PROXY_TALK_HTTP, "HTTP/1.1 404", 12, PROXY_REPLY_SPOKE},
    {PROXY_TALK_HTTP, "HTTP/1.0 200 OK", 15, PROXY_REPLY_SPOKE},
    {PROXY_TALK_HTTP, "HTTP/1.1 426", 12, PROXY_REPLY_SPOKE},
    {PROXY_TALK_HTTP, "HTTP/1.1 400", 12, PROXY_REPLY_REFUSED},
    {PROXY_TALK_HTTP, "HTTP/2", 6, PROXY_REPLY_ODD},
    {PROXY_TALK_HTTP, "<html>", 6, PROXY_REPLY_REFUSED},
    {PROXY_TALK_HTTP, "SSH-2.0-", 8, PROXY_REPLY_ODD},
    {PROXY_TALK_HTTP, "\x15\x03\x01\x00\x02\x02\x46", 7, PROXY_REPLY_REFUSED},
    {PROXY_TALK_HTTP, "\x16\x03\x03\x00\x7a", 5, PROXY_REPLY_REFUSED},
    {PROXY_TALK_TLS, "HTTP/1.1 400", 12, PROXY_REPLY_REFUSED},
    {PROXY_TALK_TLS, "HTTP/1.1 200", 12, PROXY_REPLY_REFUSED},
    {PROXY_TALK_TLS, "\x16", 1, MORE},
    {PROXY_TALK_TLS, "\x16\x03\x03\x00", 4, MORE},
    {PROXY_TALK_TLS, "\x16\x03\x03\x00\x7a", 5, PROXY_REPLY_SPOKE},
    {PROXY_TALK_TLS, "\x16\x07\x03\x00\x7a", 5, PROXY_REPLY_ODD},
    {PROXY_TALK_TLS, "\x15\x03\x01\x00\x02\x02", 6, MORE},
    {PROXY_TALK_TLS, "\x15\x03\x01\x00\x02\x02\x46", 7, PROXY_REPLY_REFUSED}, /* protocol_version */
    {PROXY_TALK_TLS, "\x15\x03\x01\x00\x02\x02\x0a", 7, PROXY_REPLY_REFUSED}, /* unexpected_message */
    {PROXY_TALK_TLS, "\x15\x03\x03\x00\x02\x02\x28", 7, PROXY_REPLY_SPOKE},   /* handshake_failure */
    {PROXY_TALK_TLS, "\x15\x03\x03\x00\x02\x02\x70", 7, PROXY_REPLY_SPOKE},   /* unrecognized_name */
    {PROXY_TALK_TLS, "\0\0\0\0\0\0\0", 7, PROXY_REPLY_ODD},
};

TEST_EACH(an_answer_is_read, array_len(answers))
{
    enum proxy_reply reply = PROXY_REPLY_UNREACHED;
    bool enough = proxy_talk_read(answers[_i].talk, (const unsigned char *)answers[_i].bytes, answers[_i].len, &reply);
    ck_assert_msg(enough == (answers[_i].reply != MORE), "%d: %s", _i, answers[_i].bytes);
    ck_assert_msg(reply == answers[_i].reply, "%d: %s: %d", _i, answers[_i].bytes, reply);
}

/* u: unreached, -: silent, c: closed, o: odd, r: refused, S: spoke; plain HTTP, plain TLS, HTTP and TLS with a header. */
static enum proxy_reply reply_of(char c)
{
    static const char letters[] = "u-corS";
    return (enum proxy_reply)(strchr(letters, c) - letters);
}

static const struct {
    const char *replies;
    enum proxy_verdict verdict;
    enum proxy_talk language;
} rows[] = {
    {"uuuu", PROXY_UNREACHED, PROXY_TALKS},
    {"Suuu", PROXY_UNKNOWN, PROXY_TALK_HTTP}, /* it went away in between */
    {"----", PROXY_UNKNOWN, PROXY_TALKS},
    {"cccc", PROXY_UNKNOWN, PROXY_TALKS},
    {"oooo", PROXY_UNKNOWN, PROXY_TALKS},
    {"ccrc", PROXY_UNKNOWN, PROXY_TALKS},
    {"ccSr", PROXY_WANTED, PROXY_TALK_HTTP},
    {"--S-", PROXY_WANTED, PROXY_TALK_HTTP},
    {"ccrS", PROXY_WANTED, PROXY_TALK_TLS},
    {"rcSr", PROXY_WANTED, PROXY_TALK_HTTP}, /* "bad request" where the header is missing, all is well with it */
    {"Srrr", PROXY_UNWANTED, PROXY_TALK_HTTP},
    {"Srcc", PROXY_UNWANTED, PROXY_TALK_HTTP},
    {"rScc", PROXY_UNWANTED, PROXY_TALK_TLS},
    {"rS--", PROXY_UNWANTED, PROXY_TALK_TLS},
    {"rrrr", PROXY_UNWANTED, PROXY_TALKS}, /* a server that requires a header does not say "bad request" without */
    {"SrSr", PROXY_EITHER, PROXY_TALK_HTTP},
    {"rSrS", PROXY_EITHER, PROXY_TALK_TLS},
};

static struct proxy_replies replies_of(const char *row)
{
    struct proxy_replies r;
    for (int t = 0; t < PROXY_TALKS; t++) {
        r.plain[t] = reply_of(row[t]);
        r.headed[t] = reply_of(row[PROXY_TALKS + t]);
    }
    return r;
}

TEST_EACH(answers_together, array_len(rows))
{
    struct proxy_replies r = replies_of(rows[_i].replies);
    ck_assert_msg(proxy_talk_judge(&r) == rows[_i].verdict, "%s: %d", rows[_i].replies, proxy_talk_judge(&r));
    ck_assert_msg(proxy_talk_language(&r) == rows[_i].language, "%s", rows[_i].replies);
}

TEST(reported_in_words)
{
    static const struct {
        const char *replies, *text;
    } told[] = {
        {"ccrS", "without a PROXY header it closes the connection, with one it answers TLS"},
        {"Srrr", "without a PROXY header it answers HTTP, with one it answers an error"},
        {"----", "with a PROXY header and without it says nothing"},
        {"oo--", "without a PROXY header it answers neither HTTP nor TLS, with one it says nothing"},
    };
    for (size_t i = 0; i < array_len(told); i++) {
        struct proxy_replies r = replies_of(told[i].replies);
        cleanup(mem_free_ptr) char *text = proxy_talk_seen(&r);
        ck_assert_str_eq(text, told[i].text);
    }
}
