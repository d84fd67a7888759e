/* What a publisher found below its path: parts, and the manifests of former versions; what of it nothing names any more. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "configuration/published.h"
#include "etcd/client.h"

#define KEPT_DELETES_MAX 120 /* of one transaction, of 128 operations at most; the others go with the next version */

struct kept_part {
    char *key;
    const char *hash; /* in key */
    int64_t mod_revision;
};

struct kept_version {
    char *key;
    struct published_manifest manifest;
};

/* A zeroed one is empty. */
struct kept {
    struct kept_part *parts;
    size_t part_count;
    struct kept_version *versions; /* the newest first */
    size_t version_count;
    struct published_manifest trial; /* that is only to be checked; version 0: none */
    int64_t trial_revision;          /* 0: no such key */
};

void kept_fini(struct kept *k);
#define KEPT_TRIAL "trial" /* among the versions */
/* What is no part, or no manifest, is left alone: another program's. */
void kept_take_parts(struct kept *k, const struct etcd_got *got);
void kept_take_versions(struct kept *k, const struct etcd_got *got);
/* Another one, or the same at another revision. */
void kept_set_part(struct kept *k, const char *key, int64_t mod_revision);
int64_t kept_part_revision(const struct kept *k, const char *hash); /* 0: there is none */
/* But for those that `there` has, as they are there. */
void kept_forget_parts(struct kept *k, const struct kept *there);
const struct published_manifest *kept_newest(const struct kept *k); /* NULL: there is none; borrows */
/* Behind all that are known, also where the manifest was deleted, or etcd set back: a number is given once. there: that of the
 * manifest; last: that was seen there last; 0: none. */
uint64_t kept_next_version(const struct kept *k, uint64_t there, uint64_t last);
/* That each part that m names is still the one that was found or put. ret: PUBLISHED_PARTS_MAX; borrows. */
size_t kept_compare(const struct kept *k, const struct published_manifest *m, struct etcd_compare *ret);
/* Versions beyond the newest `keep`, which m is one of, and parts that none of those names. ret: KEPT_DELETES_MAX; borrows. */
size_t kept_old(const struct kept *k, const struct published_manifest *m, unsigned keep, struct etcd_delete *ret);
