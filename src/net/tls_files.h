/*
 * TLS material of one peer, from files that are read again when they change, or given as text. All of it is one set: a
 * new file that is unreadable, half written, no PEM, or does not fit the others (a certificate and its key are often
 * written one after the other) leaves the whole old set in use. A mounted Secret swaps symlinks, so each path is resolved
 * anew. Requests under way and connections that are open keep what they began with.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "net/http.h"

struct tls_files;

struct tls_source {
    const char *name; /* for messages: "CA", "HAPROXY_DATAPLANE_CA_FILE" */
    const char *text; /* PEM; beats path */
    const char *path; /* neither: none */
};

struct tls_files_options {
    const char *peer;            /* for the log: "Kubernetes API" */
    struct tls_source ca;        /* none: the system's trust store */
    struct tls_source cert, key; /* both or neither; cert: the client's own first, then its chain */
    const char *server_name;     /* name to verify and send as SNI; NULL: the URL's host */
    bool insecure;               /* no verification at all */
};

/* Reads everything; the options are copied. ERROR_INVALID naming the file and what is wrong with it. */
struct tls_files *tls_files_new(const struct tls_files_options *options, struct error *err) must_check;
void tls_files_free(struct tls_files *t); /* wipes; NULL is allowed */

/* Checks each file, and reads it only where it changed: to be called before each request. *ret_renewed (may be
 * NULL) says whether another set is in use now. -1 with ERROR_INVALID: the old set stays, and the next call tries
 * again. */
int tls_files_refresh(struct tls_files *t, bool *ret_renewed, struct error *err) must_check;

/* The same, and says in the log what came of it: a renewal once, trouble now and then, a certificate that has expired
 * once. NULL is allowed. */
void tls_files_follow(struct tls_files *t, const struct log *log);

/* Puts another client certificate and key, as text, in the place of whatever there was; NULL twice: none. -1 with
 * ERROR_INVALID: the old set stays. */
int tls_files_set_pair(struct tls_files *t, const char *cert_pem, const char *key_pem, struct error *err) must_check;

/* The set in use. The pointer is good for the life of t; what it leads to changes with each renewal. */
const struct http_tls *tls_files_current(const struct tls_files *t);

/* When the certificates in use end, in seconds since the Unix epoch: of the CA's the one that ends soonest, of the
 * client's its own. INT64_MAX where there is none. */
int64_t tls_files_ca_not_after_s(const struct tls_files *t);
int64_t tls_files_client_not_after_s(const struct tls_files *t);
