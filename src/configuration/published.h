/*
 * A configuration as it lies in etcd between its producer and load balancers (docs/etcd.md):
 *
 *     PATH                  the configuration itself, as older consumers read it
 *     PATH/manifest         which version that is, and what belongs to it: the JSON of this header
 *     PATH/versions/7       the manifests of the last versions
 *     PATH/parts/SHA256     the bytes that manifests name, at most 1 MiB each, by their sum
 *     PATH/status/NAME      how a load balancer stands (configuration/load_balancer.h), under a lease
 *
 * The configuration is cut into parts, and so are its maps and other files, one behind the other in the manifest's order. A private
 * key is never published: of certificates the manifest has the names alone. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "configuration/document.h"
#include "haproxy/storage_files.h"
#include "net/digest.h"

#define PUBLISHED_PART_MAX_BYTES (1u << 20)
#define PUBLISHED_PARTS_MAX 96 /* etcd compares them all in one transaction, of 128 operations at most */
/* Of the value at PATH; what is larger is in the parts alone. */
#define PUBLISHED_PLAIN_MAX_BYTES PUBLISHED_PART_MAX_BYTES
/* That value then: no HAProxy takes it for a configuration, so that older consumers keep what they run. */
#define PUBLISHED_TOO_LARGE                                                                          \
    "# This configuration is too large for one value: it is in the parts that the manifest names.\n" \
    "see-the-manifest\n"

/* Sums of parts, in order. */
struct published_parts {
    char (*list)[DIGEST_SHA256_HEX_BYTES];
    size_t count;
};

struct published_file {
    enum storage_kind kind; /* no certificate */
    char *name;
    char hash[DIGEST_SHA256_HEX_BYTES];
    size_t len;
};

struct published_manifest {
    uint64_t version;                   /* counts on from 1 */
    int64_t published_ms;               /* wall clock */
    char *producer;                     /* ETCD_NAME of who published it */
    char *cluster;                      /* CLUSTER_NAME; "": none */
    char hash[DIGEST_SHA256_HEX_BYTES]; /* of the configuration */
    size_t len;
    struct published_parts text, files; /* of the configuration; of all files together */
    struct published_file *list;
    size_t file_count;
    char **certificates; /* names of those that the load balancers need to have */
    size_t certificate_count;
};

void published_manifest_fini(struct published_manifest *m); /* a zeroed one is allowed */
/* ERROR_INVALID: it is none, and why. */
int published_manifest_parse(const char *json, size_t len, struct published_manifest *ret,
                             struct error *err) must_check;
/* As JSON; the same manifest gives the same bytes. */
void published_manifest_print(const struct published_manifest *m, struct buf *out);
/* The same configuration, with the same files and certificates, by any producer, at any time. */
bool published_manifest_same(const struct published_manifest *a, const struct published_manifest *b);
bool published_manifest_names(const struct published_manifest *m, const char *part);

/* A document as it is published. */
struct publication {
    struct published_manifest manifest; /* but for version, time, producer and cluster, which are the caller's */
    struct document *document;
    struct buf files; /* one behind the other */
};

/* d is referenced. ERROR_INVALID: it has a private key where it would be published, or is too large. */
int publication_make(struct document *d, struct publication *ret, struct error *err) must_check;
void publication_fini(struct publication *p); /* a zeroed one is allowed */
/* Its parts, first those of the configuration. */
struct publication_part {
    const char *hash, *bytes;
    size_t len;
};
size_t publication_part_count(const struct publication *p);
struct publication_part publication_part(const struct publication *p, size_t i);
/* What stands at PATH. */
const char *publication_plain(const struct publication *p, size_t *ret_len);

/* Back: the files that m names, of the bytes of all of them. ERROR_INVALID: a sum or a length is another one. */
int published_files(const struct published_manifest *m, const char *bytes, size_t len, struct storage_files *ret,
                    struct error *err) must_check;
/* Whether these bytes have that sum. */
bool published_is(const char *bytes, size_t len, const char hash[DIGEST_SHA256_HEX_BYTES]);
