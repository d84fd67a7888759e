/* What lies in an etcd in memory (etcd_model.h): keys with all that they ever were, leases, time. */
#pragma once

#include "../../test.h"

#include "../../dice.h"
#include "etcd/client.h"
#include "etcd/watch.h"

#define BEGIN_US 1000000000000 /* so that no time is 0 */

struct etcd_client {
    int who;
};

struct cell {
    int64_t revision, create, lease; /* lease 0: none */
    char *value;                     /* NULL: deleted */
    size_t len;
    int who; /* wrote it */
};

struct row {
    char *key;
    struct cell *cells; /* by revision */
    size_t count;
};

enum ask { ASK_GET, ASK_TXN, ASK_GRANT, ASK_KEEP_ALIVE };

struct etcd_call {
    struct etcd_call *next;
    enum ask ask;
    int who;
    etcd_got_fn *got_fn; /* of all of them NULL: nobody waits any more */
    etcd_txn_fn *txn_fn;
    etcd_lease_fn *lease_fn;
    void *arg;
    uint64_t carry_ms, answer_ms; /* carry_ms 0: never, or it was */
    enum error_kind error;        /* the answer; NONE: what was carried out says it */
    /* What is asked. */
    char *key;
    struct etcd_get get;
    struct etcd_txn txn;
    int64_t lease;
    /* What came of it. */
    struct etcd_got got;
    bool succeeded;
    int64_t revision, ttl_s;
};

struct etcd_watch {
    char *key;
    bool prefix, running, connected;
    struct etcd_watch_callbacks callbacks;
    void *arg;
    int64_t next;
    uint64_t due_ms; /* 0: nothing to do */
};

struct lease {
    int64_t id;
    uint64_t ttl_ms, ends_ms;
};

static struct {
    uint64_t now_us;
    struct timer *timers[24];
    struct dice dice;
    struct row *rows;
    size_t row_count;
    int64_t revision, compacted, last_lease;
    struct etcd_call *calls;
    struct etcd_watch *watches[12];
    struct lease leases[64];
    bool away;                                  /* no call is carried out */
    unsigned lost_one_in, slow_one_in;          /* 0: none */
    enum error_kind refusal;                    /* of every write, without being carried out; NONE: it is not refused */
    void (*written)(int who, int64_t revision); /* NULL: nobody watches */
    void (*asking)(int who, enum ask ask,
                   const char *key); /* key: of a reading, when it is carried out; NULL: as above */
    unsigned asked[4];               /* so many calls of each kind */
} w;

#define VIRTUAL_WALL_MS 1764237600000
#define VIRTUAL_TIME (&w)
#include "../../../virtual_time.h"

static inline uint64_t now_ms(void)
{
    return w.now_us / 1000;
}

static inline bool chance(unsigned one_in)
{
    return one_in != 0 && dice_one_in(&w.dice, one_in);
}

/* ---- what lies there ---- */

static inline struct row *row_find(const char *key)
{
    for (size_t i = 0; i < w.row_count; i++)
        if (str_eq(w.rows[i].key, key))
            return &w.rows[i];
    return NULL;
}

/* As it was at that revision; NULL: there was none. */
static inline const struct cell *row_at(const struct row *r, int64_t revision)
{
    for (size_t i = r != NULL ? r->count : 0; i > 0; i--)
        if (r->cells[i - 1].revision <= revision)
            return r->cells[i - 1].value != NULL ? &r->cells[i - 1] : NULL;
    return NULL;
}

static inline const struct cell *model_at(const char *key)
{
    return row_at(row_find(key), w.revision);
}

/* Wakes those that watch it. */
static inline void model_wake(const char *key)
{
    for (size_t i = 0; i < array_len(w.watches); i++) {
        struct etcd_watch *one = w.watches[i];
        if (one == NULL || !one->running || (one->prefix ? !str_has_prefix(key, one->key) : !str_eq(key, one->key)))
            continue;
        uint64_t due = now_ms() + dice_below(&w.dice, 40);
        if (one->due_ms == 0 || due < one->due_ms)
            one->due_ms = due;
    }
}

/* value NULL: deletes. */
static inline void model_cell(int who, const char *key, const char *value, size_t len, int64_t lease)
{
    struct row *r = row_find(key);
    if (r == NULL) {
        w.rows = mem_resize(w.rows, w.row_count + 1, sizeof(w.rows[0]));
        r = &w.rows[w.row_count++];
        *r = (struct row){.key = mem_strdup(key)};
    }
    const struct cell *before = row_at(r, w.revision);
    int64_t create = before != NULL ? before->create : w.revision;
    r->cells = mem_resize(r->cells, r->count + 1, sizeof(r->cells[0]));
    r->cells[r->count++] =
        (struct cell){w.revision, create, lease, value != NULL ? mem_strndup(value, len) : NULL, len, who};
    model_wake(key);
}

static inline void model_put(int who, const char *key, const char *value)
{
    w.revision++;
    model_cell(who, key, value, strlen(value), 0);
}

/* And all that begin so. */
static inline void model_delete(int who, const char *key, bool prefix)
{
    w.revision++;
    for (size_t i = 0; i < w.row_count; i++) {
        const char *own = w.rows[i].key;
        if ((prefix ? str_has_prefix(own, key) : str_eq(own, key)) && model_at(own) != NULL)
            model_cell(who, own, NULL, 0, 0);
    }
}

static inline size_t model_count(const char *prefix)
{
    size_t count = 0;
    for (size_t i = 0; i < w.row_count; i++)
        count += str_has_prefix(w.rows[i].key, prefix) && model_at(w.rows[i].key) != NULL;
    return count;
}

/* ---- leases ---- */

static inline struct lease *lease_find(int64_t id)
{
    for (size_t i = 0; i < array_len(w.leases); i++)
        if (w.leases[i].id == id && id != 0)
            return &w.leases[i];
    return NULL;
}

static inline void lease_end(struct lease *l)
{
    int64_t id = l->id;
    *l = (struct lease){0};
    w.revision++;
    for (size_t i = 0; i < w.row_count; i++) {
        const struct cell *c = row_at(&w.rows[i], w.revision);
        if (c != NULL && c->lease == id)
            model_cell(-1, w.rows[i].key, NULL, 0, 0);
    }
}
