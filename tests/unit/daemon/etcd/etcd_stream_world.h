/* Producers and load balancers at one etcd: a world for streams, and what holds in it at any time. */
#pragma once

#include "etcd_model.h"

#include <stdarg.h>

#include "base/log.h"
#include "configuration/document.h"
#include "configuration/published.h"
#include "daemon/config/config_source.h"
#include "daemon/etcd/etcd_source.h"
#include "daemon/etcd/publisher.h"
#include "haproxy/storage_files.h"
#include "report/checks.h"
#include "report/metric_table.h"
#include "settings/settings.h"

#define PATH "/lb/x"
#define TRIAL PATH "/versions/trial"
#define KEEP 3
#define PRODUCERS 3 /* the last is of another cluster */
#define CONSUMERS 3
#define HAND 100
#define BY_HAND "by hand\n"
#define DOCUMENTS 80
#define RESYNC_MS 60000
#define LONG_MS (5 * RESYNC_MS)

struct known {
    struct document *document;
    struct publication publication; /* document NULL: it may not be published */
    char files[DIGEST_SHA256_HEX_BYTES];
    bool bad, published;
};

/* A version that was published. */
struct issue {
    unsigned history; /* one ends where etcd is set back, or all is deleted */
    uint64_t version;
    const struct known *what;
};

struct producer {
    struct daemon in;
    struct etcd_client client;
    struct settings settings;
    struct publisher *publisher;
    const struct known *has;
    unsigned versions;
    bool leads;
    int64_t read_at; /* the revision at which it has read PATH last */
};

struct consumer {
    struct daemon in;
    struct etcd_client client;
    struct etcd_source *source;
    bool tries;                /* what it was given is only to be checked */
    const struct known *given; /* NULL: nothing yet, or of a hand */
    unsigned failures;
};

static struct {
    unsigned seed, round;
    struct known known[DOCUMENTS];
    size_t known_count;
    const struct known *latest;
    struct issue issues[1000];
    size_t issue_count;
    unsigned history;
    bool large; /* some documents are */
    bool calm;  /* no faults any more */
    struct producer producers[PRODUCERS];
    struct consumer consumers[CONSUMERS];
    struct metric_table metrics;
    struct log log;
} s;

#define must(cond, ...)                 \
    do {                                \
        if (!(cond))                    \
            broken(#cond, __VA_ARGS__); \
    } while (false)

static inline void broken(const char *what, const char *fmt, ...) printf_like(2, 3);
static inline void broken(const char *what, const char *fmt, ...)
{
    char note[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(note, sizeof(note), fmt, ap);
    va_end(ap);
    ck_abort_msg("seed %u, round %u: %s: %s", s.seed, s.round, what, note);
}

static inline int number(const char *name, int otherwise)
{
    const char *given = getenv(name); /* NOLINT(concurrency-mt-unsafe): one thread */
    uint64_t ret;
    return given != NULL && str_parse_uint(given, 1000000000, &ret) == 0 ? (int)ret : otherwise;
}

/* ---- documents ---- */

static inline void add_file(struct storage_files *files, enum storage_kind kind, const char *name, const char *bytes)
{
    ck_assert_msg(storage_files_add(files, kind, name, bytes, strlen(bytes), &flaw) == 0, "%s", flaw.message);
}

/* text: which configuration; beside: which files. bad: with a private key. */
static inline const struct known *known_new(unsigned text, unsigned beside, bool bad)
{
    struct storage_files files = {0};
    cleanup(buf_fini) struct buf all = {0};
    cleanup(mem_free_ptr) char *map = mem_printf("a.example %u\n", beside);
    ck_assert_uint_lt(s.known_count, DOCUMENTS);
    struct known *k = &s.known[s.known_count++];
    buf_printf(&all, "global\n\ndefaults\n  mode http\n\nfrontend f%u\n  bind :80\n", text);
    while (s.large && text % 4 == 0 && all.len <= PUBLISHED_PART_MAX_BYTES + 5000)
        buf_printf(&all, "# %u %01000u\n", text, 0);
    if (beside % 4 != 0)
        add_file(&files, STORAGE_MAP, "hosts.map", map);
    if (beside % 3 == 0)
        add_file(&files, STORAGE_GENERAL, "empty", "");
    if (beside % 3 == 1)
        add_file(&files, STORAGE_GENERAL, "503.http", "HTTP/1.0 503\r\n\r\n");
    if (bad)
        add_file(&files, STORAGE_GENERAL, "k.pem", "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n");
    k->document = document_new(DOCUMENT_FOR_FILE, "test", buf_str(&all), all.len, NULL, &files, &flaw);
    ck_assert_msg(k->document != NULL, "%s", flaw.message);
    k->bad = bad;
    storage_files_hash(&k->document->files, k->files);
    ck_assert_int_eq(publication_make(k->document, &k->publication, &flaw), bad ? -1 : 0);
    return k;
}

static inline const struct known *known_of(const struct published_manifest *m)
{
    for (size_t i = 0; i < s.known_count; i++)
        if (!s.known[i].bad && published_manifest_same(&s.known[i].publication.manifest, m))
            return &s.known[i];
    return NULL;
}

/* The same content may be known several times: the first stands for all. */
static inline const struct known *known_first(const struct known *k)
{
    return known_of(&k->publication.manifest);
}

/* ---- what holds whenever a producer has written ---- */

static inline void check_part(const char *hash)
{
    cleanup(mem_free_ptr) char *key = mem_printf("%s/parts/%s", PATH, hash);
    const struct cell *c = model_at(key);
    must(c != NULL, "%s", key);
    must(published_is(c->value, c->len, hash), "%s", key);
}

static inline void check_parts(const struct published_manifest *m)
{
    for (size_t i = 0; i < m->text.count; i++)
        check_part(m->text.list[i]);
    for (size_t i = 0; i < m->files.count; i++)
        check_part(m->files.list[i]);
}

static inline void note_issue(uint64_t version, const struct known *what)
{
    for (size_t i = 0; i < s.issue_count; i++)
        must(s.issues[i].history != s.history || s.issues[i].version != version || s.issues[i].what == what,
             "version %llu is published twice", (unsigned long long)version);
    ck_assert_uint_lt(s.issue_count, array_len(s.issues));
    s.issues[s.issue_count++] = (struct issue){s.history, version, what};
}

/* Nothing that the producer had not read is written over. */
static inline void check_unseen(int who, const char *key)
{
    const struct cell *before = row_at(row_find(key), w.revision - 1);
    must(before == NULL || before->revision <= s.producers[who].read_at, "%s", key);
}

static inline size_t versions_before(void)
{
    size_t count = 0;
    for (size_t i = 0; i < w.row_count; i++)
        count += str_has_prefix(w.rows[i].key, PATH "/versions/") && row_at(&w.rows[i], w.revision - 1) != NULL;
    return count;
}

static inline void check_cluster_before(const struct row *manifest, const char *cluster)
{
    cleanup(published_manifest_fini) struct published_manifest m = {0};
    const struct cell *before = row_at(manifest, w.revision - 1);
    must(before != NULL || versions_before() > 0 || row_at(row_find(PATH), w.revision - 1) == NULL,
         "somebody else's value");
    if (before != NULL && published_manifest_parse(before->value, before->len, &m, NULL) == 0)
        must(str_eq(m.cluster, cluster), "%s over %s", cluster, m.cluster);
}

static inline void check_commit(const struct cell *manifest)
{
    cleanup(published_manifest_fini) struct published_manifest m = {0};
    must(published_manifest_parse(manifest->value, manifest->len, &m, &flaw) == 0, "%s", flaw.message);
    const struct known *what = known_of(&m);
    const struct cell *plain = model_at(PATH);
    must(what != NULL, "version %llu", (unsigned long long)m.version);
    check_parts(&m);
    check_unseen(manifest->who, PATH);
    check_unseen(manifest->who, PATH "/manifest");
    check_cluster_before(row_find(PATH "/manifest"), m.cluster);
    size_t len;
    const char *text = publication_plain(&what->publication, &len);
    must(plain != NULL && plain->len == len && memcmp(plain->value, text, len) == 0, "version %llu",
         (unsigned long long)m.version);
    cleanup(mem_free_ptr) char *key = mem_printf("%s/versions/%llu", PATH, (unsigned long long)m.version);
    const struct cell *kept = model_at(key);
    must(kept != NULL && str_eq(kept->value, manifest->value), "%s", key);
    s.known[what - s.known].published = true;
    note_issue(m.version, what);
}

/* It is whole, and has a number of its own. */
static inline void check_trial(const struct cell *trial)
{
    cleanup(published_manifest_fini) struct published_manifest m = {0};
    must(published_manifest_parse(trial->value, trial->len, &m, &flaw) == 0, "%s", flaw.message);
    const struct known *what = known_of(&m);
    must(what != NULL, "version %llu", (unsigned long long)m.version);
    check_parts(&m);
    s.known[what - s.known].published = true;
    note_issue(m.version, what);
}

static inline void check_is_not_named(const struct cell *by, const struct row *r)
{
    cleanup(published_manifest_fini) struct published_manifest m = {0};
    if (by != NULL && published_manifest_parse(by->value, by->len, &m, NULL) == 0 &&
        str_has_prefix(r->key, PATH "/parts/"))
        must(!published_manifest_names(&m, r->key + strlen(PATH "/parts/")), "%s is deleted", r->key);
}

/* Only by the one whose manifest, or trial, it still is, and nothing that these name. */
static inline void check_deleted(int who, const struct row *r)
{
    const struct cell *manifest = model_at(PATH "/manifest"), *trial = model_at(TRIAL);
    if (str_eq(r->key, TRIAL))
        return;
    must((trial != NULL ? trial : manifest) != NULL && (trial != NULL ? trial : manifest)->who == who, "%s is deleted",
         r->key);
    check_is_not_named(manifest, r);
    check_is_not_named(trial, r);
}

/* One that is as it should be is not put again. */
static inline void check_put_part(const struct row *r)
{
    const struct cell *before = row_at(r, w.revision - 1);
    must(before == NULL || !published_is(before->value, before->len, r->key + strlen(PATH "/parts/")), "%s", r->key);
}

static inline void on_written(int who, int64_t revision)
{
    const struct cell *manifest = model_at(PATH "/manifest");
    if (manifest != NULL && manifest->revision == revision && who != HAND)
        check_commit(manifest);
    const struct cell *trial = model_at(TRIAL);
    if (trial != NULL && trial->revision == revision && who != HAND)
        check_trial(trial);
    for (size_t i = 0; i < w.row_count; i++) {
        const struct row *r = &w.rows[i];
        const struct cell *last = r->count > 0 ? &r->cells[r->count - 1] : NULL;
        if (last == NULL || last->revision != revision)
            continue;
        if (last->value == NULL)
            check_deleted(who, r);
        else if (str_has_prefix(r->key, PATH "/parts/"))
            check_put_part(r);
        must(last->value == NULL || memmem(last->value, last->len, "PRIVATE KEY", 11) == NULL, "%s", r->key);
    }
}

static inline void on_asking(int who, enum ask ask, const char *key)
{
    if (who >= PRODUCERS)
        return;
    must(ask == ASK_GET || s.producers[who].leads, "%d does not lead, and writes", who);
    if (ask == ASK_GET && str_eq(key, PATH))
        s.producers[who].read_at = w.revision;
}

/* ---- producers ---- */

static inline void producer_start(struct producer *p, int who)
{
    static char names[PRODUCERS][2] = {"a", "b", "w"}, east[] = "east", west[] = "west", path[] = PATH;
    p->client.who = who;
    p->settings = (struct settings){.resync_period_ms = RESYNC_MS, .cluster_name = who < 2 ? east : west};
    p->settings.etcd.path = path;
    p->versions = KEEP;
    p->settings.etcd.name = names[who];
}

static inline void producer_give(struct producer *p, const struct known *k)
{
    p->has = k;
    if (p->publisher != NULL && k != NULL)
        publisher_set(p->publisher, k->document);
}

static inline void producer_lead(struct producer *p, bool leads)
{
    p->leads = leads;
    publisher_lead(p->publisher, leads);
}

static inline void producer_new(struct producer *p)
{
    p->in = (struct daemon){.settings = &p->settings, .metrics = &s.metrics, .log = &s.log};
    p->publisher = publisher_new(&p->in, &p->client, p->versions, NULL, NULL);
    producer_lead(p, true);
    producer_give(p, p->has);
}

static inline void producer_die(struct producer *p)
{
    publisher_free(p->publisher);
    p->publisher = NULL;
}

/* Another one in its place, which keeps so many versions. */
static inline void producer_keep(struct producer *p, unsigned versions)
{
    p->versions = versions;
    if (p->publisher != NULL)
        producer_die(p);
    producer_new(p);
}

static inline bool was_issued(uint64_t version, const struct known *what)
{
    for (size_t i = 0; i < s.issue_count; i++)
        if (s.issues[i].version == version && s.issues[i].what == what)
            return true;
    return false;
}

/* Who says that it is in sync has published that, or found it so. */
static inline void check_claims(void)
{
    for (size_t i = 0; i < PRODUCERS; i++) {
        const struct producer *p = &s.producers[i];
        struct publisher_view v = p->publisher != NULL ? publisher_view(p->publisher) : (struct publisher_view){0};
        if (v.sha256 == NULL)
            continue;
        must(str_eq(v.sha256, p->has->document->text_hash), "%zu", i);
        must(was_issued(v.version, known_first(p->has)), "%zu: version %llu", i, (unsigned long long)v.version);
    }
}

/* ---- consumers ---- */

static inline int on_made(void *arg, const char *origin, const char *bytes, size_t len, struct storage_files *files)
{
    struct consumer *c = arg;
    char files_hash[DIGEST_SHA256_HEX_BYTES];
    const struct known *is = NULL;
    c->given = NULL;
    c->tries = etcd_source_trial(c->source);
    if (str_eq(bytes, BY_HAND) && files->count == 0 && etcd_source_version(c->source) == 0)
        return 0; /* an older producer's, for all that it knows */
    storage_files_hash(files, files_hash);
    for (size_t i = 0; i < s.known_count && is == NULL; i++)
        if (s.known[i].published && str_eq(s.known[i].files, files_hash) &&
            published_is(bytes, len, s.known[i].document->text_hash))
            is = &s.known[i];
    must(is != NULL, "%s is a mixture", origin);
    is = known_first(is);
    must(was_issued(etcd_source_version(c->source), is), "%s is another version", origin);
    c->given = is;
    storage_files_fini(files);
    return 0;
}

static inline void on_failed(void *arg, const struct error *err)
{
    struct consumer *c = arg;
    c->failures++;
    must(err->kind != ERROR_NONE && str_has_prefix(err->message, PATH), "%s", err->message);
}

static inline void consumer_new(struct consumer *c)
{
    c->in = (struct daemon){.settings = &s.producers[0].settings, .log = &s.log};
    const struct etcd_source_options options = {
        .in = &c->in, .client = &c->client, .made = on_made, .failed = on_failed, .arg = c};
    c->given = NULL;
    c->source = etcd_source_new(&options);
    etcd_source_ops.start(c->source);
}

static inline void consumer_die(struct consumer *c)
{
    if (c->source != NULL)
        etcd_source_ops.free(c->source);
    c->source = NULL;
}
