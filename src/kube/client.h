/*
 * One Kubernetes API server: where it is, TLS material, credentials that are read again (at least every 60 s, and after
 * a 401). Requests go through net/http. No knowledge of resources.
 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "net/http.h"

struct kube_access;
struct kube_client;
struct tls_files;
struct watch_server;
struct kube_outage;

/* Takes what it needs from access (copied; files are read now). ERROR_INVALID: CA, client certificate or key
 * unreadable, not PEM or not of one another, token file unreadable. All these files are checked again before each
 * request; where that fails later, the last token, or the last set of TLS material, stays. */
struct kube_client *kube_client_new(struct http *http, const struct kube_access *access, const struct log *log,
                                    struct error *err) must_check;
void kube_client_free(struct kube_client *c);

/* As http_start, with the endpoint and the credentials filled in. Where a credential plugin has to give them first:
 * ERROR_RETRY "waiting for the credential plugin ...", or why it failed; kube_client_on_credentials says when to try
 * again. */
struct http_request *kube_client_start(struct kube_client *c, struct http_request_options *options,
                                       const struct http_callbacks *callbacks, void *arg, struct error *err) must_check;

/* After a 401: the next request reads the token file again whatever its age; a plugin is run again, once for each of
 * its answers. */
void kube_client_credentials_refused(struct kube_client *c);

/*
 * A listener that waits for credentials: embedded in its owner, called from the loop (never from inside a call of this client
 * or of libcurl: requests may be started) when a run of the plugin has ended, well or not, and since the last time
 * any request could not be started for want of credentials, or got a 401. Then requests that wait for their
 * backoff are to be tried at once: either they go, or their error says why the plugin failed. Without a plugin it is
 * never called. To be called is no promise that there are credentials.
 */
struct kube_client_listener {
    LIST_ENTRY(kube_client_listener) entry;
    void (*on_credentials)(void *arg);
    void *arg;
};

void kube_client_on_credentials(struct kube_client *c, struct kube_client_listener *l);
void kube_client_forget_listener(struct kube_client_listener *l); /* before the client is freed */

/* Whether requests cannot be started because there are no credentials yet. */
bool kube_client_lacks_credentials(const struct kube_client *c);

/* Adds how the credential plugin stands, where there is one; false where its credentials are missing, refused or
 * expired. *ret_plugin: its command, borrowed; NULL: there is none. */
bool kube_client_ready(const struct kube_client *c, const char **ret_plugin, struct buf *text);

struct tls_files *kube_client_tls(struct kube_client *c); /* for its expiry, and for a pair that a plugin gives */

/* When the certificate ends that the server showed last, in seconds since the Unix epoch; INT64_MAX where none was
 * seen. */
int64_t kube_client_server_not_after_s(const struct kube_client *c);

const char *kube_client_server(const struct kube_client *c); /* for messages */

/* Whether lists and watches ask for protobuf; at first they do. */
bool kube_client_wants_protobuf(const struct kube_client *c);
/* An answer in protobuf could not be read: for an hour JSON is asked for, which is logged once in that time. */
void kube_client_protobuf_failed(struct kube_client *c, const char *resource, const char *why);

/* What watches learn of this server and share. */
struct watch_server *kube_client_watch_server(struct kube_client *c);
/* What keeps all of them, and all other requests, from it. */
struct kube_outage *kube_client_outage(struct kube_client *c);
/* How a request ended that is not a watch's, in on_done before anything is logged about it: credentials that were
 * refused are read again, and an outage that begins or ends is logged. */
void kube_client_note_answer(struct kube_client *c, const struct http_response *r, const struct error *err);
/* The same, and whether it is done: 0; -1: *err says why not, "PATCH https://...: HTTP 403: ...", with the status.
 * ret_retry_after_ms (may be NULL): -1 where the API says nothing. */
int kube_client_result(struct kube_client *c, const struct http_response *r, const struct error *failure,
                       int64_t *ret_retry_after_ms, struct error *err) must_check;
/* Requests fail for an outage, or for credentials that a plugin has not given: that was logged once, and what fails for
 * it is for the debug level. */
bool kube_client_is_away(const struct kube_client *c);
/* Whether the trouble of a request that is not a watch's needs no line, right before it is logged: for that, or because
 * the watches log it, or will (kube_outage_holds). */
bool kube_client_has_logged(struct kube_client *c, const char *message);
