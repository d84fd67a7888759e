/* How far a request's connection got, from libcurl. */
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "net/http_internal.h"

static curl_off_t time_us(CURL *easy, CURLINFO which)
{
    curl_off_t us = 0;
    return curl_easy_getinfo(easy, which, &us) == CURLE_OK ? us : 0;
}

static void fill_peer(CURL *easy, struct http_connection *c)
{
    const char *ip = NULL;
    long port = 0;
    if (curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &ip) != CURLE_OK || str_empty(ip) ||
        curl_easy_getinfo(easy, CURLINFO_PRIMARY_PORT, &port) != CURLE_OK || port <= 0)
        return;
    snprintf(c->peer, sizeof(c->peer), strchr(ip, ':') != NULL ? "[%s]:%ld" : "%s:%ld", ip, port);
}

static enum http_reached reached_of(const struct http_request *q, bool secure)
{
    long local_port = 0;
    switch (q->ended) {
    case CURLE_OK: /* by a kept connection, perhaps: that took no time */
        return HTTP_REACHED_TLS;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return HTTP_REACHED_NOTHING;
    case CURLE_COULDNT_CONNECT:
        return HTTP_REACHED_NAME;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
        return HTTP_REACHED_PEER;
    default:
        break;
    }
    /* A deadline, or a connection that was lost: as far as there are times, and an address of our own. */
    if (time_us(q->easy, secure ? CURLINFO_APPCONNECT_TIME_T : CURLINFO_CONNECT_TIME_T) > 0)
        return HTTP_REACHED_TLS;
    if (curl_easy_getinfo(q->easy, CURLINFO_LOCAL_PORT, &local_port) == CURLE_OK && local_port > 0)
        return secure ? HTTP_REACHED_PEER : HTTP_REACHED_TLS;
    return time_us(q->easy, CURLINFO_NAMELOOKUP_TIME_T) > 0 ? HTTP_REACHED_NAME : HTTP_REACHED_NOTHING;
}

struct http_connection http_request_connection(const struct http_request *q)
{
    struct http_connection c = {.reached = HTTP_REACHED_NOTHING};
    if (q == NULL)
        return c;
    CURL *easy = q->easy;
    bool secure = str_has_prefix(q->url, "https:");
    long os_error = 0;
    curl_off_t connected = time_us(easy, CURLINFO_CONNECT_TIME_T), secured = time_us(easy, CURLINFO_APPCONNECT_TIME_T);
    c.reached = reached_of(q, secure);
    c.took_us = (uint64_t)(secured > connected ? secured : connected);
    fill_peer(easy, &c);
    (void)curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &os_error);
    c.os_error = (int)os_error;
    if (curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &c.verify) != CURLE_OK || c.verify == X509_V_ERR_UNSPECIFIED)
        c.verify = 0; /* libcurl's value before it has asked */
    return c;
}

struct http_connection http_response_connection(const struct http_response *r)
{
    return http_request_connection(r->request);
}
