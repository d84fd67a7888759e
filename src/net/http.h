/*
 * An HTTP/1.1 client (HTTP/2 for gRPC) on one event loop: libcurl's multi interface driven by libevent. One `struct http` for the
 * process, one `struct http_endpoint` for each server that is talked to (where it is, how it is trusted), one `struct
 * http_request` for each request under way. No call blocks. Redirects are never followed, proxies are used only where
 * an endpoint names one, every answer has a cap.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct event_base;
struct http;
struct http_request;
struct spiffe_identity;

/* Failure: ERROR_FATAL. */
struct http *http_new(struct event_base *base, const char *user_agent, struct error *err) must_check;
struct event_base *http_base(const struct http *http);
/* Cancels what is under way without calling back. NULL is allowed. */
void http_free(struct http *http);

/* TLS material as PEM text (RFC 7468), each NULL where not set; see net/tls_files.h for who owns it. */
struct http_tls {
    const char *ca_pem;               /* NULL: the system's trust store */
    const char *cert_pem;             /* client certificate and chain */
    const char *key_pem;              /* its key */
    const char *server_name;          /* name to verify and send as SNI; NULL: the URL's host */
    bool insecure;                    /* no verification at all */
    const struct http_spiffe *spiffe; /* how the server is verified in place of ca_pem and its name; NULL: by these */
};

/* A server with an X.509 SVID (net/spiffe_identity.h). */
struct http_spiffe {
    struct spiffe_identity *identity; /* whose bundles are trusted */
    const char *peer_id;              /* NULL: any ID of the daemon's own trust domain */
    /* Called with the ID before each request that goes out, from inside libcurl: no request is started or cancelled there. */
    void (*seen)(void *arg, const char *base_url, const char *id);
    void *arg;
};

/* Where requests go. Plain data, owned by the caller and outliving its requests. */
struct http_endpoint {
    char *base_url;    /* "http(s)://host:port[/prefix]", no trailing slash, no userinfo */
    char *unix_socket; /* path; then base_url is "http://localhost" or so */
    char *proxy_url;   /* NULL: none; http_proxy and its like do not count */
    /* Borrowed; NULL: the system's trust store alone. What is in it may be others from one request to the next:
     * connections that were made with other material are not used again. */
    const struct http_tls *tls;
    /* Where the end of the server's certificate (seconds since the Unix epoch) is written whenever a request goes out
     * over TLS; NULL: no check. */
    int64_t *server_not_after_s;
};

void http_endpoint_fini(struct http_endpoint *e);

/* How far a request got, and so whether a write may have been applied. */
enum http_progress {
    HTTP_NOT_SENT, /* not connected: the server has seen nothing */
    HTTP_SENT,     /* sent at least in part, no complete answer: unknown whether applied */
    HTTP_ANSWERED, /* a complete answer */
};

/* How far the connection got that a request went by; for people: "refused" and "wrong certificate" are two things. */
enum http_reached {
    HTTP_REACHED_NOTHING,
    HTTP_REACHED_NAME, /* it has an address */
    HTTP_REACHED_PEER, /* connected: with a proxy, to that */
    HTTP_REACHED_TLS,  /* the handshake is over and the certificate verified; of plain http: connected */
};

struct http_connection {
    enum http_reached reached;
    char peer[64];    /* the address that it was made to, "10.0.0.1:6443"; "" where there is none, or it is not known */
    int os_error;     /* errno of a connection that could not be made; 0: it could, or it was another reason */
    long verify;      /* X509_V_ERR_... of a certificate that is not trusted; 0: it is, or is for another name */
    uint64_t took_us; /* until it could be used */
};

struct http_response {
    int status;             /* 0 without an answer */
    const struct buf *body; /* of non-streaming requests; never NULL */
    enum http_progress progress;
    uint64_t duration_us;
    struct http_request *request; /* for http_response_header */
};

/* The value of a response header (any case), NULL where absent; valid during the callback. */
const char *http_response_header(const struct http_response *r, const char *name);

/* The same of what came behind the body (a trailer); in on_done. */
const char *http_response_trailer(const struct http_response *r, const char *name);

/* Hands the collected body over (free(), after it was wiped): r->body is empty then. In on_done only. */
char *http_response_take_body(const struct http_response *r) must_check;

/* Of a connection that was kept from another request it says what it said then. */
struct http_connection http_response_connection(const struct http_response *r);
/* Of one that is under way; NULL: nothing is known. */
struct http_connection http_request_connection(const struct http_request *q);

/* Which request it answers, for messages: "GET https://server/path". Allocates. */
char *http_response_name(const struct http_response *r) must_check;

/* Retry-After in ms (seconds form, RFC 9110 10.2.3; capped at an hour); -1 where absent or of another form. */
int64_t http_response_retry_after_ms(const struct http_response *r);

/* on_head and on_data run inside libcurl: from there no request may be started or cancelled (return not 0 to end the
 * own one); set a timer and do it from there. on_done may do both, except cancel its own request. */
struct http_callbacks {
    /* Streaming: headers are complete (status, headers valid). Not 0: stop; on_done follows with an error. */
    int (*on_head)(void *arg, const struct http_response *r);
    /* Streaming: bytes of the body as they come, in any split. Set for a stream; NULL: the body is collected. In
     * either, where it is no success or markup, stars stand for the credentials that were sent. Not 0: stop; on_done
     * follows with an error. */
    int (*on_data)(void *arg, const char *bytes, size_t len);
    /* Exactly once, unless cancelled. err is NULL where a complete answer came, whatever its status; otherwise
     * ERROR_RETRY (transport), ERROR_INVALID (answer over its cap; TLS verification). The request is freed after it
     * returns. New requests may be started from here. */
    void (*on_done)(void *arg, const struct http_response *r, const struct error *err);
};

struct http_request_options {
    const char *method; /* "GET", "POST", "PUT", "DELETE" */
    const char *path;   /* path and query behind base_url; begins with '/' */
    const char *content_type;
    const char *body; /* NULL: none; copied, unless there is a head */
    size_t body_len;
    const char *body_head; /* sent before it, and copied; the body then stays as it is until on_done or http_cancel */
    const char *accept;    /* NULL: application/json */
    bool grpc;             /* HTTP/2 at once, without TLS, as gRPC has it */
    const char *header;    /* one more, "Name: value"; NULL: none */
    char *const *headers;  /* the same, several, then NULL; may be credentials: they are wiped after. NULL: none */
    const char *bearer_token; /* copied, wiped after */
    const char *basic_user;   /* with basic_password */
    const char *basic_password;
    bool new_connection;          /* none that was kept: after a failure those may be as dead as the last one */
    size_t max_body_bytes;        /* 0: 16 MiB; of collected bodies */
    size_t likely_body_bytes;     /* of the answer: room is made for them at once; 0: nothing is known */
    uint64_t connect_timeout_ms;  /* 0: 10 s; name, TCP and TLS */
    uint64_t total_timeout_ms;    /* 0: none (streams only) */
    uint64_t tcp_user_timeout_ms; /* 0: 30 s; how long sent bytes may go unacknowledged (RFC 5482) */
    /* Asked when the connection is there, right before the first byte of the request is sent: false ends it, with
     * ERROR_RETRY and HTTP_NOT_SENT. NULL: it may always go. Nothing may be started or cancelled from there. */
    bool (*may_send)(void *arg);
    void *may_send_arg;
};

/* Starts a request. NULL with *err set only where it cannot even be built (bad URL, bad TLS material, which is named);
 * then nothing is called back. Everything in options is copied, but for a body with a head. */
struct http_request *http_start(struct http *http, const struct http_endpoint *endpoint,
                                const struct http_request_options *options, const struct http_callbacks *callbacks,
                                void *arg, struct error *err) must_check;

/* Ends it now; nothing is called back. NULL is allowed. */
void http_cancel(struct http_request *request);

/*
 * libcurl and OpenSSL copy what they are given (user name and password, header lines, keys) and free it as it is. Both
 * let their user choose how they allocate: what they free, or move when it grows, is overwritten first.
 * For the whole process, once, before anything else is asked of either library. ERROR_FATAL.
 */
int library_memory_wipe(struct error *err) must_check;
