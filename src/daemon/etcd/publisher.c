#include "daemon/etcd/publisher.h"

#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/published.h"
#include "daemon/etcd/etcd_access.h"
#include "daemon/etcd/publisher_kept.h"
#include "etcd/client.h"
#include "host/timer.h"
#include "report/checks.h"
#include "report/metric_table.h"
#include "settings/settings.h"

#define WAIT_MIN_MS 500
#define WAIT_MAX_MS 30000

struct publisher {
    const struct daemon *in;
    struct etcd_client *client;
    unsigned versions;            /* that are kept, the newest included */
    void (*published)(void *arg); /* NULL: not called */
    void *arg;
    struct timer timer; /* the next round */
    unsigned tries;     /* that failed one behind the other */
    char *name;         /* of this producer */
    bool leads;
    struct document *document; /* what the source has; NULL: nothing yet */
    struct error refused;      /* why it has nothing else now; kind NONE: document is that */
    /* A round. */
    struct etcd_call *call;                                        /* NULL: none is under way */
    void (*next)(struct publisher *p, const struct etcd_got *got); /* takes what it gets */
    bool again;                                                    /* something came in between */
    struct publication publication;
    int64_t revision; /* at which all is read */
    struct etcd_compare plain, manifest;
    char *plain_key, *manifest_key, *version_key, *trial_key;
    char plain_hash[DIGEST_SHA256_HEX_BYTES];
    size_t plain_len;
    struct published_manifest there; /* version 0: none */
    struct kept kept;                /* parts and versions that lie there */
    size_t part;                     /* the next one to read, or to put */
    struct kept verified;            /* parts whose bytes were seen, whenever; by their revisions */
    /* How it stands. */
    bool in_sync;
    uint64_t version;
    int64_t published_ms;
    struct error problem;
};

static void publisher_put_next(struct publisher *p);

/* The document of this round is only to be checked. */
static bool publisher_tries(const struct publisher *p)
{
    return p->publication.document->trial;
}

static char *publisher_part_key(const struct publisher *p)
{
    return etcd_key(p->in->settings, "parts/", publication_part(&p->publication, p->part).hash);
}

/* ---- the end of a round ---- */

static void publisher_clear(struct publisher *p)
{
    etcd_call_cancel(p->call);
    p->call = NULL;
    publication_fini(&p->publication);
    published_manifest_fini(&p->there);
    kept_fini(&p->kept);
    free(p->version_key);
    p->version_key = NULL;
    p->part = 0;
}

static void publisher_rest(struct publisher *p, uint64_t ms)
{
    publisher_clear(p);
    if (!p->leads)
        return;
    timer_set(&p->timer, p->again ? 0 : ms);
    p->again = false;
}

static void publisher_retry(struct publisher *p)
{
    publisher_rest(p, backoff_limit_ms(WAIT_MIN_MS, WAIT_MAX_MS, p->tries++));
}

static void publisher_fail(struct publisher *p, const struct error *err)
{
    struct error named = *err;
    (void)error_prefix(&named, "%s", p->in->settings->etcd.path);
    bool same = p->problem.kind != ERROR_NONE && str_eq(p->problem.message, named.message);
    p->problem = named;
    p->in_sync = false;
    metric_add(p->in->metrics->publications, 1, "failed", NULL);
    if (!same)
        log_error(p->in->log, "the configuration cannot be published", log_str("error", named.message));
    publisher_retry(p);
}

static void publisher_on_got(void *arg, const struct etcd_got *got, const struct error *err)
{
    struct publisher *p = arg;
    p->call = NULL;
    if (err != NULL)
        publisher_fail(p, err);
    else
        p->next(p, got);
}

static void publisher_get(struct publisher *p, const struct etcd_get *get,
                          void (*next)(struct publisher *p, const struct etcd_got *got))
{
    p->next = next;
    p->call = etcd_get(p->client, get, publisher_on_got, p);
}

static void publisher_done(struct publisher *p, uint64_t version, int64_t published_ms)
{
    if (p->problem.kind != ERROR_NONE)
        log_info(p->in->log, "etcd works again", log_str("path", p->in->settings->etcd.path));
    error_clear(&p->problem);
    p->in_sync = p->publication.document == p->document; /* else that is the next round's */
    p->version = version;
    p->published_ms = published_ms;
    p->tries = 0;
    publisher_rest(p, p->in->settings->resync_period_ms);
    if (p->in_sync && p->published != NULL)
        p->published(p->arg);
}

/* Another producer was faster: read again. */
static void publisher_lost(struct publisher *p)
{
    log_info(p->in->log, "another producer has written in between; reading again",
             log_str("path", p->in->settings->etcd.path));
    metric_add(p->in->metrics->publications, 1, "conflict", NULL);
    publisher_retry(p);
}

/* ---- what goes ---- */

static void publisher_on_cleaned(void *arg, bool succeeded, int64_t revision, const struct error *err)
{
    struct publisher *p = arg;
    (void)succeeded, (void)revision;
    p->call = NULL;
    if (err != NULL) /* it is deleted with the next version */
        log_warn(p->in->log, "old versions are left in etcd for now", log_str("error", err->message));
    publisher_done(p, p->version, p->published_ms);
}

/* ---- the commit ---- */

static void publisher_on_committed(void *arg, bool succeeded, int64_t revision, const struct error *err)
{
    struct publisher *p = arg;
    const struct published_manifest *m = &p->publication.manifest;
    p->call = NULL;
    if (err != NULL) {
        publisher_fail(p, err); /* whether it was carried out is seen by the next round */
        return;
    }
    if (!succeeded) {
        publisher_lost(p);
        return;
    }
    bool trial = publisher_tries(p);
    metric_add(p->in->metrics->publications, 1, "published", NULL);
    log_info(p->in->log, trial ? "configuration published, only to be checked" : "configuration published",
             log_str("path", p->in->settings->etcd.path), log_int("version", m->version), log_str("sha256", m->hash),
             log_int("bytes", m->len), log_int("files", m->file_count),
             log_int("parts", publication_part_count(&p->publication)),
             log_str("source", p->publication.document->origin));
    p->version = m->version;
    p->published_ms = m->published_ms;
    /* Only as long as that is what was just written: what nothing else can name by now. A trial lies among the versions. */
    const struct published_manifest *newest = kept_newest(&p->kept);
    const struct etcd_compare unchanged[] = {
        {.key = p->manifest_key, .mod_revision = trial ? p->manifest.mod_revision : revision},
        {.key = p->trial_key, .mod_revision = trial ? revision : 0}};
    struct etcd_delete deletes[KEPT_DELETES_MAX];
    bool cleans = !trial || (newest != NULL ? newest->version : 0) == p->there.version;
    size_t count = cleans ? kept_old(&p->kept, m, p->versions + trial, deletes) : 0;
    const struct etcd_txn txn = {
        .compares = unchanged, .compare_count = array_len(unchanged), .deletes = deletes, .delete_count = count};
    if (count == 0)
        publisher_done(p, p->version, p->published_ms);
    else
        p->call = etcd_txn(p->client, &txn, publisher_on_cleaned, p);
}

static void publisher_commit(struct publisher *p)
{
    const struct etcd_compare last_trial = {.key = p->trial_key, .mod_revision = p->kept.trial_revision};
    struct etcd_compare compares[3 + PUBLISHED_PARTS_MAX] = {p->plain, p->manifest, last_trial};
    struct published_manifest *m = &p->publication.manifest;
    size_t compare_count = 3 + kept_compare(&p->kept, m, compares + 3);
    cleanup(buf_fini) struct buf text = {0};
    const char *cluster = p->in->settings->cluster_name;
    m->version = kept_next_version(&p->kept, p->there.version, p->version);
    m->published_ms = (int64_t)clock_wall_ms();
    m->producer = mem_strdup(p->name);
    m->cluster = mem_strdup(cluster != NULL ? cluster : "");
    published_manifest_print(m, &text);
    bool trial = publisher_tries(p);
    cleanup(mem_free_ptr) char *number = mem_printf("%llu", (unsigned long long)m->version);
    p->version_key = etcd_key(p->in->settings, "versions/", trial ? KEPT_TRIAL : number);
    size_t plain_len;
    const char *plain = publication_plain(&p->publication, &plain_len);
    const struct etcd_put puts[] = {{.key = p->version_key, .value = buf_str(&text), .value_len = text.len},
                                    {.key = p->manifest_key, .value = buf_str(&text), .value_len = text.len},
                                    {.key = p->plain_key, .value = plain, .value_len = plain_len}};
    const struct etcd_delete ends = {.key = p->trial_key};
    const struct etcd_txn txn = {.compares = compares,
                                 .compare_count = compare_count,
                                 .puts = puts,
                                 .put_count = trial ? 1 : array_len(puts),
                                 .deletes = &ends,
                                 .delete_count = !trial && p->kept.trial_revision != 0 ? 1 : 0};
    p->call = etcd_txn(p->client, &txn, publisher_on_committed, p);
}

/* ---- parts ---- */

/* True: it is what the source has. A trial ends with a version, whose number is behind its own. */
static bool publisher_is_there(const struct publisher *p)
{
    size_t len;
    const char *plain = publication_plain(&p->publication, &len);
    if (publisher_tries(p))
        return p->kept.trial.version != 0 && published_manifest_same(&p->kept.trial, &p->publication.manifest);
    return p->kept.trial_revision == 0 && p->there.version != 0 &&
           published_manifest_same(&p->there, &p->publication.manifest) && len == p->plain_len &&
           published_is(plain, len, p->plain_hash);
}

static void publisher_on_put(void *arg, bool succeeded, int64_t revision, const struct error *err)
{
    struct publisher *p = arg;
    p->call = NULL;
    if (err != NULL) {
        publisher_fail(p, err);
        return;
    }
    if (!succeeded) { /* it is there by now, from another producer */
        publisher_lost(p);
        return;
    }
    cleanup(mem_free_ptr) char *key = publisher_part_key(p);
    kept_set_part(&p->kept, key, revision);
    kept_set_part(&p->verified, key, revision);
    p->part++;
    publisher_put_next(p);
}

/* Where it is not there, or as it was read. */
static void publisher_put(struct publisher *p, int64_t mod_revision)
{
    struct publication_part part = publication_part(&p->publication, p->part);
    cleanup(mem_free_ptr) char *key = publisher_part_key(p);
    const struct etcd_compare same = {.key = key, .mod_revision = mod_revision};
    const struct etcd_put put = {.key = key, .value = part.bytes, .value_len = part.len};
    const struct etcd_txn txn = {.compares = &same, .compare_count = 1, .puts = &put, .put_count = 1};
    p->call = etcd_txn(p->client, &txn, publisher_on_put, p);
}

static void publisher_take_part(struct publisher *p, const struct etcd_got *got)
{
    struct publication_part part = publication_part(&p->publication, p->part);
    if (got->count == 1 && published_is(got->list[0].value, got->list[0].value_len, part.hash)) {
        cleanup(mem_free_ptr) char *key = publisher_part_key(p);
        kept_set_part(&p->kept, key, got->list[0].mod_revision);
        kept_set_part(&p->verified, key, got->list[0].mod_revision);
        p->part++;
        publisher_put_next(p);
    } else {
        log_warn(p->in->log, "a part in etcd does not match its name; writing it again", log_str("part", part.hash));
        publisher_put(p, got->count > 0 ? got->list[0].mod_revision : 0);
    }
}

static void publisher_put_next(struct publisher *p)
{
    size_t count = publication_part_count(&p->publication);
    int64_t revision = 0;
    for (; p->part < count; p->part++) {
        const char *hash = publication_part(&p->publication, p->part).hash;
        revision = kept_part_revision(&p->kept, hash);
        if (revision == 0 || kept_part_revision(&p->verified, hash) != revision)
            break;
    }
    if (p->part < count && revision == 0) {
        publisher_put(p, 0);
    } else if (p->part < count) { /* bytes that were not seen, or put, by this daemon are read once */
        cleanup(mem_free_ptr) char *key = publisher_part_key(p);
        publisher_get(p, &(struct etcd_get){.key = key}, publisher_take_part);
    } else if (!publisher_is_there(p)) {
        publisher_commit(p);
    } else {
        const struct published_manifest *m = publisher_tries(p) ? &p->kept.trial : &p->there;
        publisher_done(p, m->version, m->published_ms);
    }
}

/* ---- what lies there ---- */

/* A key that holds something else than what a producer of this cluster published. A manifest that was deleted is made anew. */
static int publisher_refuse_foreign(const struct publisher *p, struct error *err)
{
    const char *cluster = p->in->settings->cluster_name;
    const struct published_manifest *last = p->there.version != 0 ? &p->there : kept_newest(&p->kept);
    if (p->plain.mod_revision != 0 && last == NULL)
        return error_set(err, ERROR_INVALID,
                         "the key has a value in etcd but no manifest below it: another program uses it; delete it, or "
                         "set another ETCD_PATH");
    if (last != NULL && !str_empty(last->cluster) && cluster != NULL && !str_eq(last->cluster, cluster))
        return error_set(
            err, ERROR_INVALID,
            "the cluster %s publishes there (its producer: %s), and this one is %s: set an ETCD_PATH of its "
            "own for each",
            last->cluster, last->producer, cluster);
    return 0;
}

static void publisher_take_versions(struct publisher *p, const struct etcd_got *got)
{
    struct error err = {0};
    const struct published_manifest *m = &p->publication.manifest;
    kept_take_versions(&p->kept, got);
    if (publisher_refuse_foreign(p, &err) != 0) {
        publisher_fail(p, &err);
        return;
    }
    if (!p->in->settings->dry_run) {
        publisher_put_next(p);
        return;
    }
    if (!publisher_is_there(p) && !p->in_sync)
        log_info(p->in->log, "dry run: the configuration would be published",
                 log_str("path", p->in->settings->etcd.path), log_str("sha256", m->hash), log_int("bytes", m->len),
                 log_int("files", m->file_count));
    publisher_done(p, p->there.version, p->there.published_ms);
}

static void publisher_take_parts(struct publisher *p, const struct etcd_got *got)
{
    kept_take_parts(&p->kept, got);
    kept_forget_parts(&p->verified, &p->kept);
    cleanup(mem_free_ptr) char *key = etcd_key(p->in->settings, "versions/", "");
    publisher_get(p, &(struct etcd_get){.key = key, .prefix = true, .revision = p->revision}, publisher_take_versions);
}

static void publisher_take_manifest(struct publisher *p, const struct etcd_got *got)
{
    struct error bad = {0};
    p->manifest = (struct etcd_compare){.key = p->manifest_key};
    if (got->count > 0) {
        p->manifest.mod_revision = got->list[0].mod_revision;
        if (published_manifest_parse(got->list[0].value, got->list[0].value_len, &p->there, &bad) != 0) {
            (void)error_prefix(&bad, "its manifest cannot be read; delete %s, or set another ETCD_PATH",
                               p->manifest_key);
            publisher_fail(p, &bad);
            return;
        }
    }
    cleanup(mem_free_ptr) char *key = etcd_key(p->in->settings, "parts/", "");
    const struct etcd_get get = {.key = key, .prefix = true, .revision = p->revision, .keys_only = true};
    publisher_get(p, &get, publisher_take_parts);
}

static void publisher_take_plain(struct publisher *p, const struct etcd_got *got)
{
    bool there = got->count > 0;
    p->revision = got->revision;
    p->plain = (struct etcd_compare){.key = p->plain_key, .mod_revision = there ? got->list[0].mod_revision : 0};
    p->plain_len = there ? got->list[0].value_len : 0;
    digest_sha256_hex(there ? got->list[0].value : "", p->plain_len, p->plain_hash);
    publisher_get(p, &(struct etcd_get){.key = p->manifest_key, .revision = p->revision}, publisher_take_manifest);
}

static void publisher_begin(void *arg)
{
    struct publisher *p = arg;
    struct error err = {0};
    publisher_clear(p);
    if (!p->leads || p->document == NULL)
        return;
    if (publication_make(p->document, &p->publication, &err) != 0) {
        publisher_fail(p, &err);
        return;
    }
    publisher_get(p, &(struct etcd_get){.key = p->plain_key}, publisher_take_plain);
}

/* ---- life ---- */

struct publisher *publisher_new(const struct daemon *in, struct etcd_client *client, unsigned versions,
                                void (*published)(void *arg), void *arg)
{
    struct publisher *p = mem_alloc(sizeof(*p));
    *p = (struct publisher){.in = in, .client = client, .versions = versions, .published = published, .arg = arg};
    p->name = etcd_own_name(in->settings);
    p->plain_key = mem_strdup(in->settings->etcd.path);
    p->manifest_key = etcd_key(in->settings, "manifest", "");
    p->trial_key = etcd_key(in->settings, "versions/", KEPT_TRIAL);
    timer_init(&p->timer, in->base, publisher_begin, p);
    return p;
}

void publisher_free(struct publisher *p)
{
    if (p == NULL)
        return;
    publisher_clear(p);
    timer_fini(&p->timer);
    kept_fini(&p->verified);
    document_unref(p->document);
    mem_free_all(p->plain_key, p->manifest_key, p->trial_key, p->name, p);
}

/* A round that is under way ends first: what it has begun is whole then. */
void publisher_poke(struct publisher *p)
{
    if (p != NULL && p->call != NULL)
        p->again = true;
    else if (p != NULL && p->leads)
        timer_set(&p->timer, 0);
}

void publisher_lead(struct publisher *p, bool leads)
{
    if (p == NULL)
        return;
    p->leads = leads;
    if (leads) {
        publisher_poke(p);
        return;
    }
    timer_cancel(&p->timer);
    publisher_clear(p);
    p->in_sync = false;
}

void publisher_set(struct publisher *p, struct document *d)
{
    if (p == NULL)
        return;
    document_unref(p->document);
    p->document = document_ref(d);
    error_clear(&p->refused);
    p->in_sync = false;
    p->tries = 0;
    publisher_poke(p);
}

void publisher_refuse(struct publisher *p, const struct error *err)
{
    if (p != NULL)
        p->refused = *err;
}

struct publisher_view publisher_view(const struct publisher *p)
{
    return (struct publisher_view){.leads = p->leads,
                                   .version = p->version,
                                   .sha256 = p->in_sync && p->document != NULL ? p->document->text_hash : NULL,
                                   .document = p->document,
                                   .problem = p->refused.kind != ERROR_NONE   ? p->refused.message
                                              : p->problem.kind != ERROR_NONE ? p->problem.message
                                                                              : NULL,
                                   .published_ms = p->published_ms};
}

bool publisher_ready(const struct publisher *p, struct checks *checks)
{
    if (p == NULL || !p->leads)
        return true;
    bool ok = p->in_sync && p->refused.kind == ERROR_NONE;
    const char *problem = publisher_view(p).problem;
    char *why = problem != NULL ? mem_strdup(problem)
                : ok            ? mem_printf("version %llu is published", (unsigned long long)p->version)
                                : mem_strdup("not published yet");
    checks_add(checks, ok ? CHECK_OK : CHECK_FAIL, mem_strdup("etcd"), why, NULL);
    return ok;
}
