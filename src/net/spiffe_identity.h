/*
 * The daemon's identity and its trust bundles, as the SPIFFE Workload API says it in one message: the X.509 SVID with its
 * key, and the trust bundles (X509SVIDResponse of the "SPIFFE Workload API", 5.2.1). And how a server is verified by
 * that: the "X.509 SVID" specification, sections 2 to 5, in place of host names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct spiffe_bundle;
struct x509_st; /* OpenSSL's X509 */
struct x509_store_ctx_st;

/* Is not changed after it was made, and is shared by all requests that began with it. */
struct spiffe_identity {
    char *id;
    int64_t not_after_s; /* of the SVID */
    /* PEM texts for libcurl, as long as the identity is there. The bundles are those of all trust domains together: for
     * noticing a change, not to verify by. */
    char *cert_pem, *key_pem, *bundles_pem;
    /* private to spiffe_identity.c */
    unsigned references;
    struct spiffe_bundle *bundles; /* the first: of its own trust domain */
    size_t bundle_count;
};

/* The first SVID of the message, which is the default one, with its bundle and the federated ones. ERROR_INVALID where
 * anything of it cannot be used. */
struct spiffe_identity *spiffe_identity_parse(const char *message, size_t len, struct error *err) must_check;
struct spiffe_identity *spiffe_identity_ref(struct spiffe_identity *i) must_check;
void spiffe_identity_unref(struct spiffe_identity *i); /* the last one wipes the key; NULL is allowed */

bool spiffe_identity_same(const struct spiffe_identity *a, const struct spiffe_identity *b);

/* In place of OpenSSL's verification of a server: its ID is peer_id, or, NULL, any one of the daemon's own trust domain, and its
 * chain leads to the bundle of its trust domain. -1: *err says why, and so does the context. */
int spiffe_identity_verify(const struct spiffe_identity *i, const char *peer_id, struct x509_store_ctx_st *context,
                           struct error *err) must_check;

/* The one URI in its subject alternative name, if that is a SPIFFE ID; NULL: *err (may be NULL) says what is wrong.
 * Allocates. */
char *spiffe_id_of_certificate(const struct x509_st *x, struct error *err) must_check;
