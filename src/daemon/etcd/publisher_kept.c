#include "daemon/etcd/publisher_kept.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

void kept_fini(struct kept *k)
{
    for (size_t i = 0; i < k->part_count; i++)
        free(k->parts[i].key);
    for (size_t i = 0; i < k->version_count; i++) {
        free(k->versions[i].key);
        published_manifest_fini(&k->versions[i].manifest);
    }
    published_manifest_fini(&k->trial);
    mem_free_all(k->parts, k->versions);
    *k = (struct kept){0};
}

static const char *kept_name(const char *key)
{
    const char *slash = strrchr(key, '/');
    return slash != NULL ? slash + 1 : key;
}

static struct kept_part *kept_find(const struct kept *k, const char *hash)
{
    for (size_t i = 0; i < k->part_count; i++)
        if (str_eq(k->parts[i].hash, hash))
            return &k->parts[i];
    return NULL;
}

void kept_set_part(struct kept *k, const char *key, int64_t mod_revision)
{
    struct kept_part *known = kept_find(k, kept_name(key));
    if (known != NULL) {
        known->mod_revision = mod_revision;
        return;
    }
    char *own = mem_strdup(key);
    k->parts = mem_resize(k->parts, k->part_count + 1, sizeof(k->parts[0]));
    k->parts[k->part_count++] = (struct kept_part){own, kept_name(own), mod_revision};
}

int64_t kept_part_revision(const struct kept *k, const char *hash)
{
    const struct kept_part *part = kept_find(k, hash);
    return part != NULL ? part->mod_revision : 0;
}

void kept_forget_parts(struct kept *k, const struct kept *there)
{
    size_t count = 0;
    for (size_t i = 0; i < k->part_count; i++)
        if (kept_part_revision(there, k->parts[i].hash) == k->parts[i].mod_revision)
            k->parts[count++] = k->parts[i];
        else
            free(k->parts[i].key);
    k->part_count = count;
}

const struct published_manifest *kept_newest(const struct kept *k)
{
    return k->version_count > 0 ? &k->versions[0].manifest : NULL;
}

uint64_t kept_next_version(const struct kept *k, uint64_t there, uint64_t last)
{
    uint64_t newest = k->version_count > 0 ? kept_newest(k)->version : 0;
    newest = there > newest ? there : newest;
    newest = k->trial.version > newest ? k->trial.version : newest;
    return (last > newest ? last : newest) + 1;
}

void kept_take_parts(struct kept *k, const struct etcd_got *got)
{
    for (size_t i = 0; i < got->count; i++)
        if (strlen(kept_name(got->list[i].key)) == DIGEST_SHA256_HEX_BYTES - 1)
            kept_set_part(k, got->list[i].key, got->list[i].mod_revision);
}

static int kept_order(const void *a, const void *b)
{
    uint64_t x = ((const struct kept_version *)a)->manifest.version,
             y = ((const struct kept_version *)b)->manifest.version;
    return (x < y) - (x > y);
}

void kept_take_versions(struct kept *k, const struct etcd_got *got)
{
    k->versions = mem_array(got->count, sizeof(k->versions[0]));
    for (size_t i = 0; i < got->count; i++) {
        bool trial = str_eq(kept_name(got->list[i].key), KEPT_TRIAL);
        if (trial)
            k->trial_revision = got->list[i].mod_revision;
        struct kept_version *v = &k->versions[k->version_count];
        if (published_manifest_parse(got->list[i].value, got->list[i].value_len, &v->manifest, NULL) != 0)
            continue;
        cleanup(mem_free_ptr) char *number = mem_printf("%llu", (unsigned long long)v->manifest.version);
        if (trial) {
            k->trial = v->manifest;
            v->manifest = (struct published_manifest){0};
            continue;
        }
        if (!str_eq(kept_name(got->list[i].key), number)) {
            published_manifest_fini(&v->manifest);
            continue;
        }
        v->key = mem_strdup(got->list[i].key);
        k->version_count++;
    }
    if (k->version_count > 0)
        qsort(k->versions, k->version_count, sizeof(k->versions[0]), kept_order);
}

size_t kept_compare(const struct kept *k, const struct published_manifest *m, struct etcd_compare *ret)
{
    size_t count = 0;
    for (size_t i = 0; i < k->part_count; i++)
        if (published_manifest_names(m, k->parts[i].hash))
            ret[count++] = (struct etcd_compare){k->parts[i].key, k->parts[i].mod_revision};
    return count;
}

size_t kept_old(const struct kept *k, const struct published_manifest *m, unsigned keep, struct etcd_delete *ret)
{
    size_t count = 0, stay = keep - 1 < k->version_count ? keep - 1 : k->version_count;
    for (size_t i = stay; i < k->version_count && count < KEPT_DELETES_MAX; i++)
        ret[count++] = (struct etcd_delete){.key = k->versions[i].key};
    for (size_t i = 0; i < k->part_count && count < KEPT_DELETES_MAX; i++) {
        bool named = published_manifest_names(m, k->parts[i].hash);
        for (size_t v = 0; v < stay && !named; v++)
            named = published_manifest_names(&k->versions[v].manifest, k->parts[i].hash);
        if (!named)
            ret[count++] = (struct etcd_delete){.key = k->parts[i].key};
    }
    return count;
}
