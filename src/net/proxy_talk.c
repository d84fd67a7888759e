#include "net/proxy_talk.h"

#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* ---- what is said ---- */

/* Signature, version 2 and LOCAL, no address family, no further bytes. */
static const unsigned char header[16] = {0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51,
                                         0x55, 0x49, 0x54, 0x0a, 0x20, 0x00, 0x00, 0x00};

/* A name that is never served (RFC 6761): what answers is the port's own "not found". */
static const char request[] = "GET / HTTP/1.1\r\n"
                              "Host: haproxy-k8s-sync.invalid\r\n"
                              "User-Agent: haproxy-k8s-sync-doctor\r\n"
                              "Accept: */*\r\n"
                              "Connection: close\r\n"
                              "\r\n";

/* The first message of a handshake that is not gone on with. */
static void add_client_hello(struct buf *out)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = context != NULL ? SSL_new(context) : NULL;
    BIO *in = BIO_new(BIO_s_mem()), *said = BIO_new(BIO_s_mem());
    if (ssl == NULL || in == NULL || said == NULL)
        abort(); /* out of memory */
    SSL_set_bio(ssl, in, said);
    SSL_set_connect_state(ssl);
    (void)SSL_do_handshake(ssl); /* wants to read the answer, which never comes */
    char *bytes = NULL;
    long len = BIO_get_mem_data(said, &bytes);
    buf_addn(out, bytes, len > 0 ? (size_t)len : 0);
    SSL_free(ssl);
    SSL_CTX_free(context);
}

void proxy_talk_write(enum proxy_talk talk, bool with_header, struct buf *out)
{
    if (with_header)
        buf_addn(out, (const char *)header, sizeof(header));
    if (talk == PROXY_TALK_TLS)
        add_client_hello(out);
    else
        buf_add(out, request);
}

/* ---- what is answered ---- */

#define HTTP_STATUS_LINE_BYTES 12 /* "HTTP/1.1 404" */
#define TLS_RECORD_HEAD_BYTES 5
#define TLS_ALERT_BYTES 7 /* the head, level and description */

static bool begins_with(const unsigned char *bytes, size_t len, const char *text)
{
    size_t n = strlen(text);
    return memcmp(bytes, text, len < n ? len : n) == 0;
}

/* RFC 8446, 6.2: alerts of a peer that has understood us and wants something else: handshake_failure, access_denied,
 * internal_error, unrecognized_name, certificate_required, no_application_protocol. */
static bool is_considered(unsigned char alert)
{
    return alert == 40 || alert == 49 || alert == 80 || alert == 112 || alert == 116 || alert == 120;
}

static bool read_tls(const unsigned char *bytes, size_t len, bool spoken, enum proxy_reply *ret)
{
    bool alert = bytes[0] == 0x15;
    if (len < TLS_RECORD_HEAD_BYTES || (alert && len < TLS_ALERT_BYTES))
        return false;
    if (bytes[1] != 3)
        *ret = PROXY_REPLY_ODD;
    else
        *ret = spoken && (!alert || is_considered(bytes[6])) ? PROXY_REPLY_SPOKE : PROXY_REPLY_REFUSED;
    return true;
}

static bool read_http(const unsigned char *bytes, size_t len, bool spoken, enum proxy_reply *ret)
{
    if (len < HTTP_STATUS_LINE_BYTES)
        return false;
    bool bad_request = memcmp(bytes + 9, "400", 3) == 0;
    *ret = spoken && !bad_request ? PROXY_REPLY_SPOKE : PROXY_REPLY_REFUSED;
    return true;
}

bool proxy_talk_read(enum proxy_talk talk, const unsigned char *bytes, size_t len, enum proxy_reply *ret)
{
    if (len == 0)
        return false;
    if (bytes[0] == 0x16 || bytes[0] == 0x15)
        return read_tls(bytes, len, talk == PROXY_TALK_TLS, ret);
    if (begins_with(bytes, len, "HTTP/1."))
        return read_http(bytes, len, talk == PROXY_TALK_HTTP, ret);
    /* A page without a head is what HTTP servers answer to what is no request. */
    *ret = bytes[0] == '<' ? PROXY_REPLY_REFUSED : PROXY_REPLY_ODD;
    return true;
}

/* ---- what it means ---- */

static enum proxy_reply best_of(const enum proxy_reply *of)
{
    return of[PROXY_TALK_HTTP] > of[PROXY_TALK_TLS] ? of[PROXY_TALK_HTTP] : of[PROXY_TALK_TLS];
}

enum proxy_verdict proxy_talk_judge(const struct proxy_replies *r)
{
    enum proxy_reply plain = best_of(r->plain), headed = best_of(r->headed);
    if (plain == PROXY_REPLY_UNREACHED && headed == PROXY_REPLY_UNREACHED)
        return PROXY_UNREACHED;
    /* One of the two did not even get there: nothing to compare. */
    if (plain == PROXY_REPLY_UNREACHED || headed == PROXY_REPLY_UNREACHED)
        return PROXY_UNKNOWN;
    if (headed == PROXY_REPLY_SPOKE)
        return plain == PROXY_REPLY_SPOKE ? PROXY_EITHER : PROXY_WANTED;
    /* Without a header, one that wants it must not say anything, not even "bad request". */
    return plain >= PROXY_REPLY_REFUSED ? PROXY_UNWANTED : PROXY_UNKNOWN;
}

enum proxy_talk proxy_talk_language(const struct proxy_replies *r)
{
    static const enum proxy_talk order[] = {PROXY_TALK_TLS, PROXY_TALK_HTTP};
    for (size_t i = 0; i < array_len(order); i++)
        if (r->plain[order[i]] == PROXY_REPLY_SPOKE || r->headed[order[i]] == PROXY_REPLY_SPOKE)
            return order[i];
    return PROXY_TALKS;
}

static char *words_of(const enum proxy_reply *of)
{
    static const char *const languages[] = {[PROXY_TALK_HTTP] = "HTTP", [PROXY_TALK_TLS] = "TLS"};
    static const char *const words[] = {
        [PROXY_REPLY_UNREACHED] = "is not reached",     [PROXY_REPLY_SILENT] = "says nothing",
        [PROXY_REPLY_CLOSED] = "closes the connection", [PROXY_REPLY_ODD] = "answers neither HTTP nor TLS",
        [PROXY_REPLY_REFUSED] = "answers an error",
    };
    enum proxy_reply best = best_of(of);
    if (best == PROXY_REPLY_SPOKE)
        return mem_printf("answers %s", languages[of[PROXY_TALK_TLS] == best ? PROXY_TALK_TLS : PROXY_TALK_HTTP]);
    return mem_strdup(words[best]);
}

char *proxy_talk_seen(const struct proxy_replies *r)
{
    cleanup(mem_free_ptr) char *plain = words_of(r->plain), *headed = words_of(r->headed);
    if (strcmp(plain, headed) == 0)
        return mem_printf("with a PROXY header and without it %s", plain);
    return mem_printf("without a PROXY header it %s, with one it %s", plain, headed);
}
