/* Shared by http.c (requests) and http_loop.c (libcurl's multi interface on libevent) only. */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "net/http.h"
#include "host/timer.h"

struct http {
    struct event_base *base;
    CURLM *multi;
    char *user_agent;
    struct timer timer; /* the one timeout that libcurl asks for */
    struct timer reap;  /* set: finished requests are left for the next turn */
    struct timer trim;
    size_t read_bytes; /* of answers, since the last trim */
    LIST_HEAD(http_requests, http_request) requests;
};

struct http_request {
    LIST_ENTRY(http_request) entry;
    struct http *http;
    CURL *easy;
    struct http_callbacks callbacks;
    void *arg;
    char method[12];
    char *url;
    char *unix_socket;               /* NULL: none */
    char *send_body;                 /* or its head, */
    const char *send_rest;           /* and what stands behind that, borrowed; */
    size_t head_len, rest_len, sent; /* of both */
    const char *proxy_hint;          /* to put behind the reason: which setting asks for a proxy; "" where none does */
    char *key_pem;                   /* libcurl keeps no copy: it would not wipe that */
    char *proof;                     /* what the Authorization header says behind its scheme; NULL: there is none */
    int64_t *server_not_after_s;
    const char *base_url;      /* the endpoint's */
    struct http_spiffe spiffe; /* with a reference to the identity; NULL: the server is verified as usual */
    struct error peer_refused; /* why, where it was by that */
    struct curl_slist *headers, *connect_to;
    struct buf body;
    uint64_t started_us;
    unsigned tcp_user_timeout_ms;
    int socket_errno; /* why the last socket could not be made; 0: it could */
    CURLcode ended;   /* how it ended; CURL_LAST: not yet */
    bool head_reported;
    bool stopped;  /* a callback stopped it */
    bool over_cap; /* the answer passed max_body_bytes */
    bool withheld; /* may_send said no */
    bool (*may_send)(void *arg);
    void *may_send_arg;
    char error_text[CURL_ERROR_SIZE];
};

/* Calls the owner back, then frees. */
void http_request_finished(struct http_request *q, CURLcode code);

/* How the server is trusted and the client's identity (http_tls.c); before the headers are set. -1: an unusable name. */
int http_set_tls(struct http_request *q, const struct http_tls *tls, struct error *err) must_check;
/* What a failure of the connection may mean over TLS; "" or text to put behind the reason. */
const char *http_tls_hint(const struct http_request *q, CURLcode code);
/* Once connected: when the server's certificate ends, and which SPIFFE ID it has. */
void http_note_server_certificate(struct http_request *q);
/* When it ends. */
void http_forget_tls(struct http_request *q);
