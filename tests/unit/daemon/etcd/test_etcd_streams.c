/* src/daemon/etcd: producers and load balancers at one etcd, in random streams against a model of it. STREAM=17: that
 * one alone, with its log. */
#include "etcd_stream_world.h"

#include "../../effort.h"

#define STREAMS 400
#define ROUNDS 120
#define ONLY number("STREAM", -1)

/* ---- what happens ---- */

static struct row *row_by_chance(const char *prefix)
{
    for (unsigned i = 0; i < 20 && w.row_count > 0; i++) {
        struct row *r = &w.rows[dice_below(&w.dice, (unsigned)w.row_count)];
        if (str_has_prefix(r->key, prefix) && model_at(r->key) != NULL)
            return r;
    }
    return NULL;
}

/* By which alone it is known how far the versions have come, where the manifest is deleted next. */
static bool is_newest(const struct row *version)
{
    const struct cell *manifest = model_at(PATH "/manifest");
    return manifest == NULL || str_eq(manifest->value, model_at(version->key)->value);
}

static void hand(void)
{
    const struct row *part = row_by_chance(PATH "/parts/"), *version = row_by_chance(PATH "/versions/");
    switch (dice_below(&w.dice, 9)) {
    case 0:
        if (model_at(PATH "/manifest") != NULL)
            model_put(HAND, PATH, BY_HAND);
        break;
    case 1:
        model_delete(HAND, PATH, false);
        break;
    case 2:
    case 3:
        if (part != NULL)
            model_put(HAND, part->key, "no part");
        break;
    case 4:
        if (part != NULL)
            model_delete(HAND, part->key, false);
        break;
    case 5:
        if (version != NULL && !is_newest(version) && !str_eq(version->key, TRIAL))
            model_delete(HAND, version->key, false);
        break;
    case 6:
        w.revision++;
        if (model_at(PATH) != NULL)
            model_cell(HAND, PATH, NULL, 0, 0);
        if (model_at(PATH "/manifest") != NULL)
            model_cell(HAND, PATH "/manifest", NULL, 0, 0);
        break;
    case 7:
        model_delete(HAND, PATH "/manifest", false);
        break;
    default:
        s.history++;
        model_delete(HAND, PATH, true);
        if (!s.calm && dice_one_in(&w.dice, 3))
            model_put(HAND, PATH, BY_HAND); /* and has the path for itself */
    }
}

static void set_back(void)
{
    int64_t oldest = w.compacted > 1 ? w.compacted : 1, span = w.revision - oldest;
    if (span <= 0)
        return;
    s.history++;
    model_set_back(w.revision - (int64_t)dice_below(&w.dice, (unsigned)(span < 20 ? span : 20) + 1));
}

static void new_document(void)
{
    if (s.known_count + 8 >= DOCUMENTS)
        return;
    if (dice_one_in(&w.dice, 4) && s.known_count > 0)
        s.latest = &s.known[dice_below(&w.dice, (unsigned)s.known_count)];
    else
        s.latest = known_new(dice_below(&w.dice, 8), dice_below(&w.dice, 8), dice_one_in(&w.dice, 12));
    s.latest->document->trial = dice_one_in(&w.dice, 6);
}

static void trouble(void)
{
    switch (dice_below(&w.dice, 6)) {
    case 0:
        w.away = !w.away;
        break;
    case 1:
        watch_break(w.watches[dice_below(&w.dice, CONSUMERS)]);
        break;
    case 2:
        model_compact(w.revision - (int64_t)dice_below(&w.dice, 5));
        break;
    case 3:
        w.lost_one_in = dice_one_in(&w.dice, 2) ? 0 : 2 + dice_below(&w.dice, 10);
        w.slow_one_in = dice_one_in(&w.dice, 2) ? 0 : 1 + dice_below(&w.dice, 6);
        break;
    case 4:
        w.refusal = dice_one_in(&w.dice, 3) ? ERROR_AUTH : ERROR_NONE;
        break;
    default:
        if (dice_one_in(&w.dice, 4))
            set_back();
    }
}

static void producers_change(void)
{
    struct producer *p = &s.producers[dice_below(&w.dice, PRODUCERS)];
    bool other = p == &s.producers[2];
    switch (dice_below(&w.dice, 6)) {
    case 0:
        producer_die(p);
        break;
    case 1:
        if (p->publisher != NULL)
            producer_lead(p, dice_one_in(&w.dice, 2));
        break;
    case 2:
        publisher_poke(p->publisher);
        break;
    default:
        if (p->publisher == NULL && (!other || model_at(PATH "/manifest") != NULL))
            producer_new(p);
        else if (!other)
            producer_give(p, s.latest);
    }
}

static void consumers_change(void)
{
    struct consumer *c = &s.consumers[dice_below(&w.dice, CONSUMERS)];
    if (c->source == NULL)
        consumer_new(c);
    else if (dice_one_in(&w.dice, 3))
        consumer_die(c);
    else
        etcd_source_ops.poke(c->source);
}

static void happen(void)
{
    unsigned what = dice_below(&w.dice, 20);
    if (what < 3)
        new_document();
    else if (what < 10)
        producers_change();
    else if (what < 13)
        consumers_change();
    else if (what < 16)
        trouble();
    else if (what == 16)
        hand();
    check_claims();
    model_pass(dice_one_in(&w.dice, 10) ? 30000 : dice_below(&w.dice, dice_one_in(&w.dice, 2) ? 2000 : 60));
}

/* ---- the end ---- */

static bool is_of_west(const struct row *r)
{
    cleanup(published_manifest_fini) struct published_manifest m = {0};
    const struct cell *c = row_at(r, w.revision);
    bool manifest = str_eq(r->key, PATH "/manifest") || str_has_prefix(r->key, PATH "/versions/");
    return manifest && c != NULL && published_manifest_parse(c->value, c->len, &m, NULL) == 0 &&
           str_eq(m.cluster, "west");
}

/* The other cluster has the path, or a hand: an operator gives it back. */
static void take_back(void)
{
    if (model_at(PATH) != NULL && model_at(PATH "/manifest") == NULL && model_count(PATH "/versions/") == 0)
        model_delete(HAND, PATH, false);
    for (size_t i = 0; i < w.row_count; i++)
        if (is_of_west(&w.rows[i])) {
            s.history++;
            model_delete(HAND, PATH, true);
            return;
        }
}

static void calm(void)
{
    s.calm = true;
    w.away = false;
    w.lost_one_in = w.slow_one_in = 0;
    w.refusal = ERROR_NONE;
    producer_die(&s.producers[2]);
    model_pass(10000); /* what it has sent may yet be carried out */
    take_back();
    for (size_t i = 0; i < 2; i++) {
        if (s.producers[i].publisher == NULL)
            producer_new(&s.producers[i]);
        producer_lead(&s.producers[i], true);
    }
    for (size_t i = 0; i < CONSUMERS; i++)
        if (s.consumers[i].source == NULL)
            consumer_new(&s.consumers[i]);
}

static void check_plain(const struct known *k)
{
    size_t len;
    const struct cell *plain = model_at(PATH);
    const char *text = publication_plain(&k->publication, &len);
    must(plain != NULL && plain->len == len && memcmp(plain->value, text, len) == 0, "it is another value");
}

static void check_producers(uint64_t version)
{
    for (size_t i = 0; i < 2; i++) {
        cleanup(checks_fini) struct checks checks = {0};
        struct publisher_view v = publisher_view(s.producers[i].publisher);
        must(v.leads && v.problem == NULL, "%s", v.problem);
        must(v.sha256 != NULL && str_eq(v.sha256, s.latest->document->text_hash), "%zu", i);
        must(v.version == version, "%llu", (unsigned long long)v.version);
        must(publisher_ready(s.producers[i].publisher, &checks), "%zu", i);
    }
}

static void check_consumers(uint64_t version)
{
    for (size_t i = 0; i < CONSUMERS; i++) {
        cleanup(checks_fini) struct checks checks = {0};
        const struct consumer *c = &s.consumers[i];
        must(c->given == known_first(s.latest) && !c->tries, "%zu", i);
        must(etcd_source_problem(c->source) == NULL, "%s", etcd_source_problem(c->source));
        must(etcd_source_version(c->source) == version, "%zu", i);
        must(etcd_source_ops.ready(c->source, &checks), "%zu", i);
    }
}

/* All have the latest. */
static void check_all(void)
{
    cleanup(published_manifest_fini) struct published_manifest m = {0};
    const struct cell *manifest = model_at(PATH "/manifest");
    must(manifest != NULL, "no manifest");
    must(published_manifest_parse(manifest->value, manifest->len, &m, &flaw) == 0, "%s", flaw.message);
    must(known_of(&m) == known_first(s.latest), "version %llu", (unsigned long long)m.version);
    check_parts(&m);
    check_plain(known_of(&m));
    check_producers(m.version);
    check_consumers(m.version);
}

static bool part_is_named(const char *hash)
{
    for (size_t i = 0; i < w.row_count; i++) {
        cleanup(published_manifest_fini) struct published_manifest m = {0};
        const struct row *r = &w.rows[i];
        const struct cell *c = row_at(r, w.revision);
        if (c != NULL && str_has_prefix(r->key, PATH "/versions/") &&
            published_manifest_parse(c->value, c->len, &m, NULL) == 0 && published_manifest_names(&m, hash))
            return true;
    }
    return false;
}

static void check_parts_are_named(void)
{
    for (size_t i = 0; i < w.row_count; i++)
        if (str_has_prefix(w.rows[i].key, PATH "/parts/") && row_at(&w.rows[i], w.revision) != NULL)
            must(part_is_named(w.rows[i].key + strlen(PATH "/parts/")), "%s", w.rows[i].key);
}

static void check_kept(void)
{
    must(model_at(TRIAL) == NULL, "there is a trial");
    must(model_count(PATH "/versions/") <= KEEP, "%zu", model_count(PATH "/versions/"));
    check_parts_are_named();
}

static void give_all(unsigned text, unsigned beside)
{
    s.latest = known_new(text, beside, false);
    for (size_t i = 0; i < 2; i++)
        producer_give(&s.producers[i], s.latest);
    model_pass(LONG_MS);
    check_all();
}

static void stream_end(void)
{
    for (int i = 0; i < PRODUCERS; i++)
        producer_die(&s.producers[i]);
    for (int i = 0; i < CONSUMERS; i++)
        consumer_die(&s.consumers[i]);
    for (size_t i = 0; i < s.known_count; i++) {
        publication_fini(&s.known[i].publication);
        document_unref(s.known[i].document);
    }
    metric_table_fini(&s.metrics);
    model_end();
}

static void stream_begin(unsigned seed)
{
    memset(&s, 0, sizeof(s));
    model_begin(seed);
    w.written = on_written;
    w.asking = on_asking;
    s.seed = seed;
    s.large = seed % 25 == 7;
    s.log = (struct log){.level = LOG_LEVEL_DEBUG, .fd = number("STREAM", -1) >= 0 ? 2 : -1};
    metric_table_init(&s.metrics, "test");
    for (int i = 0; i < PRODUCERS; i++)
        producer_start(&s.producers[i], i);
    s.producers[2].has = known_new(1000, 1000, false);
    s.latest = known_new(1, 1, false);
    for (int i = 0; i < CONSUMERS; i++)
        s.consumers[i].client.who = 10 + i;
}

FIXTURE(NULL, stream_end)

TEST_RANGE(in_the_end_all_have_the_latest, ONLY >= 0 ? ONLY : 0, ONLY >= 0 ? ONLY + 1 : effort(STREAMS))
{
    stream_begin((unsigned)_i);
    for (s.round = 0; s.round < ROUNDS; s.round++)
        happen();
    calm();
    give_all(2000, 2001);
    give_all(2000, 2002);
    for (unsigned i = 0; i < 3; i++) {
        hand();
        model_pass(LONG_MS);
        check_all();
    }
    give_all(2004, 2003);
    check_kept();
}

/* ---- one thing each ---- */

static void begin_calm(unsigned seed)
{
    stream_begin(seed);
    calm();
    producer_die(&s.producers[1]);
    model_pass(RESYNC_MS);
}

static void give(unsigned text, unsigned beside)
{
    s.latest = known_new(text, beside, false);
    producer_give(&s.producers[0], s.latest);
}

TEST_EACH(what_comes_amid_a_round_is_next, effort(10))
{
    begin_calm((unsigned)_i);
    for (unsigned i = 0; i < 20; i++) {
        give(10 + i, i);
        model_pass(dice_below(&w.dice, 300));
        check_claims();
        give(110 + i, i);
        for (unsigned n = 0; n < 40; n++) {
            model_pass(50);
            check_claims();
        }
        ck_assert(s.consumers[0].given == known_first(s.latest));
    }
}

/* However fast they come: each is read as it was at one revision. */
TEST_EACH(changes_alone_are_no_failure, effort(10))
{
    begin_calm((unsigned)_i);
    producer_keep(&s.producers[0], 100);
    give(1, 1);
    model_pass(1000);
    for (unsigned i = 0; i < CONSUMERS; i++)
        s.consumers[i].failures = 0;
    for (unsigned i = 0; i < 60; i++) {
        give(10 + i, i);
        model_pass(dice_below(&w.dice, 500));
        etcd_source_ops.poke(s.consumers[0].source);
    }
    model_pass(1000);
    for (unsigned i = 0; i < CONSUMERS; i++) {
        ck_assert(s.consumers[i].given == known_first(s.latest));
        ck_assert_uint_eq(s.consumers[i].failures, 0);
    }
}

static void check_tried(const struct known *is, bool tries)
{
    for (int i = 0; i < CONSUMERS; i++) {
        must(s.consumers[i].given == known_first(is), "%d: known %zu", i, (size_t)(is - s.known));
        must(s.consumers[i].tries == tries, "%d: known %zu", i, (size_t)(is - s.known));
    }
    must((model_at(TRIAL) != NULL) == tries, "known %zu", (size_t)(is - s.known));
}

TEST_EACH(neither_an_error_nor_a_compaction_is_the_end, effort(10))
{
    begin_calm((unsigned)_i);
    w.away = true;
    give(1, 1);
    model_pass(5000);
    w.away = false;
    model_pass(40000);
    check_tried(s.latest, false);
    for (size_t i = 0; i < array_len(w.watches); i++)
        watch_break(w.watches[i]);
    give(2, 2);
    while (model_count(PATH "/versions/") < 2)
        model_pass(1);
    model_compact(w.revision);
    model_pass(20000);
    check_tried(s.latest, false);
}

/* And further by now than what was read: no watch reports that. */
TEST_EACH(an_etcd_that_was_set_back_is_noticed, effort(10))
{
    begin_calm((unsigned)_i);
    give(1, 1);
    model_pass(1000);
    const struct known *before = s.latest;
    int64_t revision = w.revision;
    s.latest = known_new(2, 2, false);
    s.latest->document->trial = _i % 2 == 1;
    producer_give(&s.producers[0], s.latest);
    model_pass(4 * RESYNC_MS);
    ck_assert(s.consumers[0].given == known_first(s.latest));
    producer_die(&s.producers[0]);
    model_set_back(revision);
    for (int i = 0; i < 20; i++)
        model_put(HAND, "/another", "x");
    model_pass(3 * RESYNC_MS);
    for (int i = 0; i < CONSUMERS; i++)
        ck_assert(s.consumers[i].given == known_first(before) && !s.consumers[i].tries);
}

/* What is only to be checked reaches all, also one that comes later, and stays nowhere. */
TEST_EACH(a_trial_comes_and_goes, effort(10))
{
    begin_calm((unsigned)_i);
    give(1, 1);
    model_pass(1000);
    const struct known *before = s.latest;
    for (unsigned i = 0; i < 3; i++) {
        s.latest = known_new(10 + i, i, false);
        s.latest->document->trial = true;
        producer_give(&s.producers[0], s.latest);
        model_pass(1000);
        check_tried(s.latest, true);
        check_claims();
        consumer_die(&s.consumers[0]);
        consumer_new(&s.consumers[0]);
        model_pass(i == 0 ? 4 * RESYNC_MS : 1000);
        check_tried(s.latest, true);
        check_plain(before);
        check_parts_are_named(); /* a search has hundreds of trials */
    }
    producer_give(&s.producers[0], before);
    model_pass(1000);
    check_tried(before, false);
    s.latest->document->trial = false; /* it is accepted */
    producer_give(&s.producers[0], s.latest);
    model_pass(1000);
    check_tried(s.latest, false);
    for (unsigned i = 0; i < 20; i++) { /* whichever watch reports first */
        s.latest->document->trial = true;
        producer_give(&s.producers[0], s.latest);
        model_pass(1 + dice_below(&w.dice, 300));
        producer_give(&s.producers[0], before);
        model_pass(1500);
        check_tried(before, false);
    }
    check_kept();
}

TEST_EACH(a_trial_is_read_whatever_was_lost, effort(20))
{
    begin_calm((unsigned)_i);
    give(1, 1);
    model_pass(1000);
    s.latest = known_new(2, 2, false);
    s.latest->document->trial = true;
    producer_give(&s.producers[0], s.latest);
    model_pass(1000);
    consumer_die(&s.consumers[0]);
    consumer_new(&s.consumers[0]);
    w.lost_one_in = 3;
    model_pass(500);
    w.lost_one_in = 0;
    model_pass(4 * RESYNC_MS);
    check_tried(s.latest, true);
}

/* So that whichever part is harmed, it is one of what is read. */
static void give_one_of_two_parts(void)
{
    if (s.producers[0].versions != 1)
        producer_keep(&s.producers[0], 1);
    give(2000, 0);
    model_pass(1000);
}

/* on_written sees what a producer writes over, and who deletes. */
TEST_EACH(a_hand_writes_amid_a_round, effort(10))
{
    begin_calm((unsigned)_i);
    for (unsigned i = 0; i < 60; i++) {
        give(10 + i % 5, i % 7);
        model_pass(dice_below(&w.dice, 400));
        s.history++;
        model_put(HAND, PATH "/manifest", "{}");
        model_pass(1000);
        model_delete(HAND, PATH, true);
        publisher_poke(s.producers[0].publisher);
        model_pass(1000);
    }
}

TEST_EACH(another_producer_commits_before_the_old_is_gone, effort(20))
{
    begin_calm((unsigned)_i);
    for (unsigned i = 0; i < 2; i++)
        producer_keep(&s.producers[i], 1);
    w.slow_one_in = 8;
    const struct known *const two[] = {known_new(10, 1, false), known_new(20, 2, false)};
    for (unsigned i = 0; i < 2; i++)
        two[i]->document->trial = _i % 2 == 1;
    for (unsigned i = 0; i < 200; i++) {
        producer_give(&s.producers[i % 2], two[dice_below(&w.dice, 2)]);
        model_pass(dice_below(&w.dice, 1000));
    }
}

static const struct {
    const char *key, *value, *problem; /* value NULL: it is deleted */
} harms[] = {
    {PATH "/parts/", "no part", "in etcd has changed"},
    {PATH "/parts/", NULL, "is missing in etcd"},
    {PATH, BY_HAND, "another writer changed it"},
    {PATH, NULL, "no such key in etcd"},
    {PATH "/manifest", NULL, "its manifest in etcd is gone"},
    {PATH "/manifest", "{}", "its manifest in etcd cannot be read"},
};

/* What was taken stays, and why is said. */
TEST_EACH(what_is_wrong_is_said, array_len(harms))
{
    begin_calm(7); /* its configuration is large: in parts alone */
    while (model_count(PATH "/parts/") != 2)
        give_one_of_two_parts();
    const struct known *before = s.consumers[0].given;
    producer_die(&s.producers[0]);
    const char *key = row_by_chance(harms[_i].key)->key;
    if (str_eq(harms[_i].key, PATH))
        key = PATH;
    if (harms[_i].value != NULL)
        model_put(HAND, key, harms[_i].value);
    else
        model_delete(HAND, key, false);
    etcd_source_ops.poke(s.consumers[0].source);
    model_pass(100000);
    const char *problem = etcd_source_problem(s.consumers[0].source);
    ck_assert(s.consumers[0].given == before);
    ck_assert_msg(problem != NULL && strstr(problem, harms[_i].problem) != NULL, "%s", problem);
}
