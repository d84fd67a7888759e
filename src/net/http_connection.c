/* How far a request's connection got, as libcurl tells it. */
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

struct http_connection http_response_connection(const struct http_response *r)
{
    struct http_connection c = {.reached = HTTP_REACHED_NOTHING};
    if (r->request == NULL)
        return c;
    CURL *easy = r->request->easy;
    bool secure = str_has_prefix(r->request->url, "https:");
    long os_error = 0;
    curl_off_t named = time_us(easy, CURLINFO_NAMELOOKUP_TIME_T), connected = time_us(easy, CURLINFO_CONNECT_TIME_T),
               secured = time_us(easy, CURLINFO_APPCONNECT_TIME_T);
    bool answered = r->progress == HTTP_ANSWERED; /* by a kept connection, perhaps: that took no time */
    c.reached = answered || (secure ? secured : connected) > 0 ? HTTP_REACHED_TLS
                : connected > 0                                ? HTTP_REACHED_PEER
                : named > 0                                    ? HTTP_REACHED_NAME
                                                               : HTTP_REACHED_NOTHING;
    c.took_us = (uint64_t)(secured > connected ? secured : connected);
    fill_peer(easy, &c);
    (void)curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &os_error);
    c.os_error = (int)os_error;
    (void)curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &c.verify);
    return c;
}
