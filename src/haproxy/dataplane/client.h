/*
 * One HAProxy Data Plane API v3: where it is, credentials that are read again when they change, one connection that is
 * kept. Knows paths, not what they mean.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "net/http.h"

struct event_base;
struct secret;
struct spiffe;
struct tls_files;
struct dataplane_client;

#define DATAPLANE_API "/v3/services/haproxy"

struct http_response;

struct dataplane_answer {
    int status;       /* 0 without an answer */
    const char *body; /* NUL-terminated, never NULL */
    size_t body_len;
    int64_t version;        /* Configuration-Version header; -1 where absent */
    const char *reload_id;  /* Reload-ID header; NULL where absent */
    int64_t retry_after_ms; /* -1 where absent */
    enum http_progress progress;
    uint64_t duration_us;
    const struct error *error;            /* no complete answer: why; otherwise NULL */
    const struct http_response *response; /* for further headers, and how far it got; NULL: it could not be started */
    char excerpt[512]; /* not a 2xx, or markup: the API's own message, or how it begins; safe to log */
};

/* Hands its body over (free()), at most once; a->body stays the same until then. Not in the fields above: who takes it
 * wipes it. */
char *dataplane_answer_take(const struct dataplane_answer *a) must_check;

struct dataplane_client_events {
    void (*requested)(void *arg, const char *url, const char *method, int status); /* metrics; may be NULL */
    void *arg;
};

/* Whether the daemon may write at all, asked right before a request's first byte is sent, because the process may have
 * been stopped between two steps: for writing only while it holds the lease. Reading is always allowed. */
struct dataplane_gate {
    bool (*may_write)(void *arg);     /* NULL: always */
    bool (*may_take_back)(void *arg); /* delete a transaction that was never committed */
    void *arg;
};

struct dataplane_client_options {
    const char *url;         /* "http(s)://host:port" without userinfo; with a unix socket only for messages */
    const char *unix_socket; /* path; NULL: TCP */
    /* Borrowed, outlive the client, may be NULL. A token wins over a username; neither set: no credentials are sent. */
    struct secret *username, *password, *token;
    struct tls_files *tls; /* of https; borrowed, shared, followed before each request; NULL: the system's trust */
    /* In its place: no request goes out without an identity; borrowed, shared; NULL: none. */
    const struct spiffe *spiffe;
    const struct log *log; /* borrowed; may be NULL */
    struct dataplane_client_events events;
    struct dataplane_gate gate;
};

/* base is that of http. Everything but the secrets and the log is copied. Failure: ERROR_FATAL. */
struct dataplane_client *dataplane_client_new(struct event_base *base, struct http *http,
                                              const struct dataplane_client_options *options,
                                              struct error *err) must_check;
/* Another one like it, for a request beside the one that it has in hand. NULL: there is none to be had. */
struct dataplane_client *dataplane_client_twin(const struct dataplane_client *c) must_check;
/* Cancels what is under way without calling back. NULL is allowed. */
void dataplane_client_free(struct dataplane_client *c);

/* One request at a time for each client: a second start before on_answer is a programming error (abort). path is behind
 * DATAPLANE_API. json NULL: no body. Where the request cannot even be started, on_answer is called from the loop with
 * status 0 and the error, so callers have one path. */
void dataplane_send(struct dataplane_client *c, const char *method, const char *path, const char *json,
                    void (*on_answer)(void *arg, const struct dataplane_answer *a), void *arg);
/* As dataplane_send, of any bytes: a file. body NULL: none. */
void dataplane_send_bytes(struct dataplane_client *c, const char *method, const char *path, const char *content_type,
                          const char *body, size_t len, void (*on_answer)(void *arg, const struct dataplane_answer *a),
                          void *arg);
/* As dataplane_send: a POST of plain text, the head, which is copied, and behind it len bytes, which are not: they stay
 * where they are until on_answer or dataplane_cancel. actions: the runtime commands that the API sends beside it; NULL: nothing. */
void dataplane_send_text(struct dataplane_client *c, const char *path, const char *actions, const char *head,
                         const char *text, size_t len, void (*on_answer)(void *arg, const struct dataplane_answer *a),
                         void *arg);
/* As dataplane_send, for a GET of a path from the root: "/v3/info". */
void dataplane_get_root(struct dataplane_client *c, const char *path,
                        void (*on_answer)(void *arg, const struct dataplane_answer *a), void *arg);
/* 0: it is a 200, and complete. Otherwise what went wrong, or "HTTP 503: " and what it says. */
must_check static inline int dataplane_answer_check(const struct dataplane_answer *a, struct error *err)
{
    if (a->error == NULL && a->status != 200)
        return error_set_http(err, a->status, "HTTP %d: %s", a->status,
                              a->excerpt[0] != '\0' ? a->excerpt : "(no message)");
    if (a->error != NULL)
        *err = *a->error;
    return a->error != NULL ? -1 : 0;
}

bool dataplane_busy(const struct dataplane_client *c);
/* How far the request under way got. */
struct http_connection dataplane_connection(const struct dataplane_client *c);
void dataplane_cancel(struct dataplane_client *c);

/* After 401/403: the files are read again before the next request. True where that gave other credentials. */
bool dataplane_credentials_refused(struct dataplane_client *c);

/* When the certificate ends that the server showed last, in seconds since the Unix epoch; INT64_MAX where none was
 * seen. */
int64_t dataplane_client_server_not_after_s(const struct dataplane_client *c);

const char *dataplane_client_url(const struct dataplane_client *c);
/* The login; NULL: a token is sent, or no credentials at all. */
const char *dataplane_client_user(const struct dataplane_client *c);
/* Of that login, never to be shown; NULL: there is no login, or it could not be read. */
const char *dataplane_client_password(const struct dataplane_client *c);
