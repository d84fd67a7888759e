/* libcurl's multi_socket interface on libevent: libcurl says which sockets and which timeout it waits for. */
#include <curl/curl.h>
#include <event2/event.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/http_internal.h"

/* Counted over all servers, with those in use: beyond this, connections are closed that would be used again. The most
 * that settings can ask for (64 Services with three watches each, 16 Data Plane APIs with two requests at a time) stay
 * far below it. Those that were unused for two minutes (CURLOPT_MAXAGE_CONN) go with the next request. */
#define MAX_CONNECTIONS 1024L
#define REAP_US 2000
/* So much was read: what it was put into goes back to the system, once it has been worked through. */
#define TRIM_BYTES (1u << 20)
#define TRIM_MS 2000

static void http_loop_trim(void *arg)
{
    struct http *http = arg;
    http->read_bytes = 0;
    malloc_trim(0);
}

/* Hands the finished requests to their owners. Owners may start and cancel others: read one message at a time. Many may
 * be finished at once, each with a list to be read: what takes longer goes on in the loop's next turn, so that no
 * other part of the daemon waits for all of them. */
static void http_loop_reap(void *arg)
{
    struct http *http = arg;
    uint64_t began_us = clock_mono_us();
    int left;
    for (CURLMsg *m; (m = curl_multi_info_read(http->multi, &left)) != NULL;) {
        if (m->msg != CURLMSG_DONE)
            continue;
        struct http_request *q = NULL;
        CURLcode code = m->data.result;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&q);
        http->read_bytes += q->body.len;
        if (http->read_bytes >= TRIM_BYTES && !timer_is_set(&http->trim))
            timer_set(&http->trim, TRIM_MS);
        http_request_finished(q, code);
        if (clock_mono_us() - began_us >= REAP_US) {
            timer_set(&http->reap, 0);
            return;
        }
    }
}

static void act(struct http *http, curl_socket_t fd, int mask)
{
    int running;
    curl_multi_socket_action(http->multi, fd, mask, &running);
    mem_wipe_stack(); /* headers with credentials were copied */
    if (!timer_is_set(&http->reap))
        http_loop_reap(http);
}

static void http_loop_on_event(evutil_socket_t fd, short what, void *arg)
{
    int mask = (what & EV_READ ? CURL_CSELECT_IN : 0) | (what & EV_WRITE ? CURL_CSELECT_OUT : 0);
    act(arg, fd, mask);
}

static void on_timeout(void *arg)
{
    act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static int want_timeout(CURLM *multi, long ms, void *arg)
{
    (void)multi;
    struct http *http = arg;
    if (ms < 0)
        timer_cancel(&http->timer);
    else
        timer_set(&http->timer, (uint64_t)ms);
    return 0;
}

/* socket_arg is our event for that socket, NULL the first time. */
static int want_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    (void)easy;
    struct http *http = arg;
    struct event *event = socket_arg;
    if (event != NULL)
        event_free(event);
    event = NULL;
    if (what != CURL_POLL_REMOVE) {
        short flags = EV_PERSIST;
        flags |= what & CURL_POLL_IN ? EV_READ : 0;
        flags |= what & CURL_POLL_OUT ? EV_WRITE : 0;
        event = event_new(http->base, fd, flags, http_loop_on_event, http);
        if (event == NULL || event_add(event, NULL) != 0)
            abort(); /* out of memory; a socket without an event would hang its request for ever */
    }
    curl_multi_assign(http->multi, fd, event);
    return 0;
}

struct http *http_new(struct event_base *base, const char *user_agent, struct error *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        error_set(err, ERROR_FATAL, "libcurl cannot be initialised");
        return NULL;
    }
    struct http *http = mem_alloc(sizeof(*http));
    http->base = base;
    http->user_agent = mem_strdup(user_agent);
    LIST_INIT(&http->requests);
    timer_init(&http->timer, base, on_timeout, http);
    timer_init(&http->reap, base, http_loop_reap, http);
    timer_init(&http->trim, base, http_loop_trim, http);
    http->multi = curl_multi_init();
    if (http->multi == NULL) {
        error_set(err, ERROR_FATAL, "libcurl gave no multi handle");
        http_free(http);
        return NULL;
    }
    curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
    curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
    curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, want_timeout);
    curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
    curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, MAX_CONNECTIONS);
    return http;
}

struct event_base *http_base(const struct http *http)
{
    return http->base;
}

void http_free(struct http *http)
{
    if (http == NULL)
        return;
    while (!LIST_EMPTY(&http->requests))
        http_cancel(LIST_FIRST(&http->requests));
    if (http->multi != NULL)
        curl_multi_cleanup(http->multi);
    timer_fini(&http->timer);
    timer_fini(&http->reap);
    timer_fini(&http->trim);
    mem_free_all(http->user_agent, http);
    curl_global_cleanup();
}

/* ---- memory of the libraries ---- */

/* OpenSSL adds the place in its source, too. */
static void *crypto_malloc(size_t bytes, const char *file, int line)
{
    (void)file;
    (void)line;
    return malloc(bytes);
}

static void *crypto_realloc(void *p, size_t bytes, const char *file, int line)
{
    (void)file;
    (void)line;
    return mem_wiping_realloc(p, bytes);
}

static void crypto_free(void *p, const char *file, int line)
{
    (void)file;
    (void)line;
    mem_wiping_free(p);
}

/* libcurl loads GnuTLS with librtmp, which nothing here uses, and GnuTLS prepares itself where it is loaded: a megabyte. It asks
 * this first (GNUTLS_SKIP_GLOBAL_INIT of gnutls.h); who needs it all the same has gnutls_global_init. */
int _gnutls_global_init_skip(void);
int _gnutls_global_init_skip(void)
{
    return 1;
}

int library_memory_wipe(struct error *err)
{
    if (CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc, crypto_free) != 1)
        return error_set(err, ERROR_FATAL, "OpenSSL is in use already: what it frees would not be wiped");
    if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, mem_wiping_free, mem_wiping_realloc, strdup, calloc) !=
        CURLE_OK)
        return error_set(err, ERROR_FATAL, "libcurl cannot be initialised");
    return 0;
}
