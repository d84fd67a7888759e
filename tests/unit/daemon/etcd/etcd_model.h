/*
 * An etcd in memory, in place of src/etcd: revisions, compaction, leases, transactions, watches. Each call is carried out and
 * answered at moments of its own, by chance; it may be lost before or after that. Time passes where the test says so.
 */
#pragma once

#include "etcd_model_cells.h"

/* ---- calls: how they are carried out ---- */

static int order_of_kv(const void *a, const void *b)
{
    return strcmp(((const struct etcd_kv *)a)->key, ((const struct etcd_kv *)b)->key);
}

static inline struct etcd_kv kv_of(const struct row *r, const struct cell *c, bool keys_only)
{
    bool value = c->value != NULL && !keys_only;
    return (struct etcd_kv){.key = mem_strdup(r->key),
                            .key_len = strlen(r->key),
                            .value = mem_strndup(value ? c->value : "", value ? c->len : 0),
                            .value_len = value ? c->len : 0,
                            .create_revision = c->create,
                            .mod_revision = c->revision,
                            .lease = c->lease};
}

static inline void got_fini(struct etcd_got *g)
{
    for (size_t i = 0; i < g->count; i++) {
        free(g->list[i].key);
        free(g->list[i].value);
    }
    free(g->list);
    *g = (struct etcd_got){0};
}

static inline void carry_get(struct etcd_call *c)
{
    int64_t at = c->get.revision != 0 ? c->get.revision : w.revision;
    if (w.asking != NULL)
        w.asking(c->who, ASK_GET, c->key);
    if (at < w.compacted || at > w.revision) {
        c->error = at < w.compacted ? ERROR_GONE : ERROR_INVALID;
        return;
    }
    c->got = (struct etcd_got){.revision = w.revision, .list = mem_array(w.row_count + 1, sizeof(struct etcd_kv))};
    for (size_t i = 0; i < w.row_count; i++) {
        const struct row *r = &w.rows[i];
        const struct cell *cell = row_at(r, at);
        if (cell != NULL && (c->get.prefix ? str_has_prefix(r->key, c->key) : str_eq(r->key, c->key)))
            c->got.list[c->got.count++] = kv_of(r, cell, c->get.keys_only);
    }
    if (c->got.count > 0)
        qsort(c->got.list, c->got.count, sizeof(struct etcd_kv), order_of_kv);
}

static inline bool txn_holds(const struct etcd_txn *t)
{
    for (size_t i = 0; i < t->compare_count; i++) {
        const struct cell *is = model_at(t->compares[i].key);
        if ((is != NULL ? is->revision : 0) != t->compares[i].mod_revision)
            return false;
    }
    return true;
}

static inline void carry_txn(struct etcd_call *c)
{
    const struct etcd_txn *t = &c->txn;
    for (size_t i = 0; i < t->put_count; i++)
        if (t->puts[i].lease != 0 && lease_find(t->puts[i].lease) == NULL) {
            c->error = ERROR_GONE;
            return;
        }
    c->succeeded = txn_holds(t);
    bool writes = c->succeeded && t->put_count > 0;
    for (size_t i = 0; i < t->delete_count && c->succeeded; i++)
        writes = writes || model_at(t->deletes[i].key) != NULL;
    w.revision += writes;
    c->revision = w.revision;
    if (!writes)
        return;
    for (size_t i = 0; i < t->delete_count; i++)
        if (model_at(t->deletes[i].key) != NULL)
            model_cell(c->who, t->deletes[i].key, NULL, 0, 0);
    for (size_t i = 0; i < t->put_count; i++)
        model_cell(c->who, t->puts[i].key, t->puts[i].value, t->puts[i].value_len, t->puts[i].lease);
    if (w.written != NULL)
        w.written(c->who, w.revision);
}

static inline void carry_lease(struct etcd_call *c)
{
    struct lease *l = lease_find(c->lease);
    if (c->ask == ASK_GRANT) {
        for (l = w.leases; l->id != 0; l++)
            ck_assert(l < &w.leases[array_len(w.leases) - 1]);
        *l = (struct lease){.id = ++w.last_lease, .ttl_ms = (uint64_t)c->ttl_s * 1000};
        c->lease = l->id;
    }
    if (l != NULL)
        l->ends_ms = now_ms() + l->ttl_ms;
    c->ttl_s = l != NULL ? (int64_t)(l->ttl_ms / 1000) : 0;
}

static inline void carry(struct etcd_call *c)
{
    c->carry_ms = 0;
    if (w.away) {
        c->error = ERROR_RETRY;
    } else if (c->ask == ASK_GET) {
        carry_get(c);
    } else if (w.refusal != ERROR_NONE) {
        c->error = w.refusal;
    } else if (c->ask == ASK_TXN) {
        carry_txn(c);
    } else {
        carry_lease(c);
    }
}

/* ---- calls: how they come and go ---- */

static inline void call_free(struct etcd_call *c)
{
    for (struct etcd_call **at = &w.calls; *at != NULL; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    for (size_t i = 0; i < c->txn.compare_count; i++)
        free((char *)(uintptr_t)c->txn.compares[i].key);
    for (size_t i = 0; i < c->txn.put_count; i++) {
        free((char *)(uintptr_t)c->txn.puts[i].key);
        free((char *)(uintptr_t)c->txn.puts[i].value);
    }
    for (size_t i = 0; i < c->txn.delete_count; i++)
        free((char *)(uintptr_t)c->txn.deletes[i].key);
    free((void *)(uintptr_t)c->txn.compares);
    free((void *)(uintptr_t)c->txn.puts);
    free((void *)(uintptr_t)c->txn.deletes);
    free(c->key);
    got_fini(&c->got);
    free(c);
}

static inline struct etcd_call *call_new(const struct etcd_client *client, enum ask ask, void *arg)
{
    struct etcd_call *c = mem_alloc(sizeof(*c));
    unsigned longest = chance(w.slow_one_in) ? 4000 : 40;
    c->ask = ask;
    c->who = client->who;
    c->arg = arg;
    c->carry_ms = now_ms() + dice_below(&w.dice, longest);
    c->answer_ms = c->carry_ms + dice_below(&w.dice, longest);
    if (chance(w.lost_one_in)) {
        c->error = ERROR_RETRY;
        c->carry_ms = dice_one_in(&w.dice, 2) ? 0 : c->carry_ms;
    }
    if (w.asking != NULL && ask != ASK_GET)
        w.asking(c->who, ask, NULL);
    c->next = w.calls;
    w.calls = c;
    w.asked[ask]++;
    return c;
}

struct etcd_call *etcd_get(struct etcd_client *client, const struct etcd_get *get, etcd_got_fn *done, void *arg)
{
    struct etcd_call *c = call_new(client, ASK_GET, arg);
    c->got_fn = done;
    c->get = *get;
    c->key = mem_strdup(get->key);
    return c;
}

struct etcd_call *etcd_txn(struct etcd_client *client, const struct etcd_txn *txn, etcd_txn_fn *done, void *arg)
{
    struct etcd_call *c = call_new(client, ASK_TXN, arg);
    struct etcd_compare *compares = mem_array(txn->compare_count, sizeof(*compares));
    struct etcd_put *puts = mem_array(txn->put_count, sizeof(*puts));
    struct etcd_delete *deletes = mem_array(txn->delete_count, sizeof(*deletes));
    ck_assert(txn->compare_count <= 128 && txn->put_count <= 128 && txn->delete_count <= 128);
    for (size_t i = 0; i < txn->compare_count; i++)
        compares[i] = (struct etcd_compare){mem_strdup(txn->compares[i].key), txn->compares[i].mod_revision};
    for (size_t i = 0; i < txn->delete_count; i++)
        deletes[i] = (struct etcd_delete){.key = mem_strdup(txn->deletes[i].key)};
    for (size_t i = 0; i < txn->put_count; i++) {
        const struct etcd_put *p = &txn->puts[i];
        ck_assert_uint_le(p->value_len, ETCD_VALUE_MAX_BYTES);
        puts[i] = (struct etcd_put){mem_strdup(p->key), mem_strndup(p->value, p->value_len), p->value_len, p->lease};
    }
    c->txn_fn = done;
    c->txn = (struct etcd_txn){compares, txn->compare_count, puts, txn->put_count, deletes, txn->delete_count};
    return c;
}

struct etcd_call *etcd_lease_grant(struct etcd_client *client, int64_t ttl_s, etcd_lease_fn *done, void *arg)
{
    struct etcd_call *c = call_new(client, ASK_GRANT, arg);
    c->lease_fn = done;
    c->ttl_s = ttl_s;
    return c;
}

struct etcd_call *etcd_lease_keep_alive(struct etcd_client *client, int64_t id, etcd_lease_fn *done, void *arg)
{
    struct etcd_call *c = call_new(client, ASK_KEEP_ALIVE, arg);
    c->lease_fn = done;
    c->lease = id;
    return c;
}

/* What was sent may be carried out all the same. */
void etcd_call_cancel(struct etcd_call *c)
{
    if (c == NULL)
        return;
    c->got_fn = NULL;
    c->txn_fn = NULL;
    c->lease_fn = NULL;
    if (c->carry_ms == 0 || c->ask == ASK_GET || dice_one_in(&w.dice, 2))
        call_free(c);
    else
        c->answer_ms = c->carry_ms;
}

static inline void call_answer(struct etcd_call *c)
{
    struct error err = {0};
    if (c->error != ERROR_NONE)
        (void)error_set(&err, c->error, "the model says %s", error_kind_name(c->error));
    const struct error *told = c->error != ERROR_NONE ? &err : NULL;
    struct etcd_call own = *c;
    c->got = (struct etcd_got){0};
    call_free(c);
    if (own.got_fn != NULL)
        own.got_fn(own.arg, told == NULL ? &own.got : NULL, told);
    if (own.txn_fn != NULL)
        own.txn_fn(own.arg, told == NULL && own.succeeded, told == NULL ? own.revision : 0, told);
    if (own.lease_fn != NULL)
        own.lease_fn(own.arg, told == NULL ? own.lease : 0, told == NULL ? own.ttl_s : 0, told);
    got_fini(&own.got);
}

/* Of daemon/etcd/etcd_access, which nobody makes here. */
struct etcd_client *etcd_client_new(struct http *http, const struct etcd_client_options *options, struct error *err)
{
    abort();
}

void etcd_client_free(struct etcd_client *c)
{
}

void etcd_client_set_password(struct etcd_client *c, const char *password)
{
}

/* ---- watches ---- */

struct etcd_watch *etcd_watch_new(struct event_base *base, struct etcd_client *c, const char *key, bool prefix,
                                  const struct etcd_watch_callbacks *callbacks, void *arg)
{
    struct etcd_watch *one = mem_alloc(sizeof(*one));
    *one = (struct etcd_watch){.key = mem_strdup(key), .prefix = prefix, .callbacks = *callbacks, .arg = arg};
    for (size_t i = 0; i < array_len(w.watches); i++)
        if (w.watches[i] == NULL) {
            w.watches[i] = one;
            return one;
        }
    abort();
}

void etcd_watch_free(struct etcd_watch *one)
{
    if (one == NULL)
        return;
    for (size_t i = 0; i < array_len(w.watches); i++)
        if (w.watches[i] == one)
            w.watches[i] = NULL;
    free(one->key);
    free(one);
}

void etcd_watch_start(struct etcd_watch *one, int64_t revision)
{
    one->running = true;
    one->next = revision != 0 ? revision : w.revision + 1;
    one->due_ms = now_ms() + dice_below(&w.dice, 40);
}

void etcd_watch_stop(struct etcd_watch *one)
{
    one->running = one->connected = false;
    one->due_ms = 0;
}

static inline void watch_break(struct etcd_watch *one)
{
    if (one == NULL || !one->running)
        return;
    (void)error_set(&flaw, ERROR_RETRY, "the model ended the watch");
    one->due_ms = now_ms() + 1 + dice_below(&w.dice, 3000);
    if (one->connected && one->callbacks.state != NULL) {
        one->connected = false;
        one->callbacks.state(one->arg, false, &flaw);
    }
    one->connected = false;
}

static inline void watch_deliver(struct etcd_watch *one)
{
    struct etcd_event events[256];
    struct etcd_kv kvs[256];
    size_t count = 0;
    int64_t last = one->next - 1, until = dice_one_in(&w.dice, 3) ? one->next + 2 : w.revision;
    for (int64_t at = one->next; at <= w.revision && (at <= until || count == 0); at++)
        for (size_t i = 0; i < w.row_count; i++)
            for (size_t n = 0; n < w.rows[i].count; n++) {
                const struct row *r = &w.rows[i];
                if (r->cells[n].revision != at ||
                    (one->prefix ? !str_has_prefix(r->key, one->key) : !str_eq(r->key, one->key)))
                    continue;
                ck_assert_uint_lt(count, array_len(events));
                kvs[count] = kv_of(r, &r->cells[n], false);
                events[count] = (struct etcd_event){.kv = &kvs[count], .deleted = r->cells[n].value == NULL};
                last = at;
                count++;
            }
    one->next = last + 1;
    one->due_ms = count > 0 ? now_ms() + 1 + dice_below(&w.dice, 40) : 0;
    if (count > 0)
        one->callbacks.changed(one->arg, events, count, last);
    for (size_t i = 0; i < count; i++) {
        free(kvs[i].key);
        free(kvs[i].value);
    }
}

static inline void watch_go_on(struct etcd_watch *one)
{
    one->due_ms = 0;
    if (w.away) {
        watch_break(one);
    } else if (one->next < w.compacted || one->next - 1 > w.revision) {
        etcd_watch_stop(one);
        one->callbacks.compacted(one->arg, one->next < w.compacted ? w.compacted : w.revision);
    } else if (!one->connected) {
        one->connected = true;
        one->due_ms = now_ms() + dice_below(&w.dice, 40);
        if (one->callbacks.state != NULL)
            one->callbacks.state(one->arg, true, NULL);
    } else {
        watch_deliver(one);
    }
}

/* ---- what befalls it ---- */

static inline void model_compact(int64_t revision)
{
    w.compacted = revision > w.compacted ? revision : w.compacted;
}

/* From a backup: what came behind that never was, and nobody knows what was under way. */
static inline void model_set_back(int64_t revision)
{
    for (size_t i = 0; i < w.row_count; i++) {
        struct row *r = &w.rows[i];
        while (r->count > 0 && r->cells[r->count - 1].revision > revision)
            free(r->cells[--r->count].value);
    }
    w.revision = revision;
    for (struct etcd_call *c = w.calls; c != NULL; c = c->next) {
        c->error = ERROR_RETRY;
        c->carry_ms = 0;
    }
    for (size_t i = 0; i < array_len(w.watches); i++)
        watch_break(w.watches[i]);
}

/* ---- time ---- */

static inline struct etcd_call *next_call(uint64_t *ret_ms)
{
    struct etcd_call *first = NULL;
    for (struct etcd_call *c = w.calls; c != NULL; c = c->next) {
        uint64_t at = c->carry_ms != 0 ? c->carry_ms : c->answer_ms;
        if (at < *ret_ms) {
            first = c;
            *ret_ms = at;
        }
    }
    return first;
}

static inline struct etcd_watch *next_watch(uint64_t *ret_ms)
{
    struct etcd_watch *first = NULL;
    for (size_t i = 0; i < array_len(w.watches); i++)
        if (w.watches[i] != NULL && w.watches[i]->due_ms != 0 && w.watches[i]->due_ms < *ret_ms) {
            first = w.watches[i];
            *ret_ms = first->due_ms;
        }
    return first;
}

static inline struct lease *next_lease(uint64_t *ret_ms)
{
    struct lease *first = NULL;
    for (size_t i = 0; i < array_len(w.leases); i++)
        if (w.leases[i].id != 0 && w.leases[i].ends_ms < *ret_ms) {
            first = &w.leases[i];
            *ret_ms = first->ends_ms;
        }
    return first;
}

/* What is due first; false: nothing is by then. */
static inline bool model_step(uint64_t until_ms)
{
    uint64_t at = until_ms + 1;
    struct timer *t = virtual_next_timer(until_ms);
    at = t != NULL ? t->due_ms : at;
    struct etcd_call *c = next_call(&at);
    struct etcd_watch *one = next_watch(&at);
    struct lease *l = next_lease(&at);
    if (at > until_ms)
        return false;
    w.now_us = at > now_ms() ? at * 1000 : w.now_us;
    if (l != NULL) {
        lease_end(l);
    } else if (one != NULL) {
        watch_go_on(one);
    } else if (c != NULL && c->carry_ms != 0) {
        carry(c);
    } else if (c != NULL) {
        call_answer(c);
    } else {
        t->due_ms = 0;
        t->fn(t->arg);
    }
    return true;
}

static inline void model_pass(uint64_t ms)
{
    uint64_t until = now_ms() + ms;
    while (model_step(until)) {
    }
    w.now_us = until * 1000;
}

static inline void model_begin(uint64_t seed)
{
    memset(&w, 0, sizeof(w));
    w.now_us = BEGIN_US;
    w.revision = 1;
    w.dice.state = (seed + 1) * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 8; i++)
        (void)dice_below(&w.dice, 2);
}

static inline void model_end(void)
{
    while (w.calls != NULL)
        call_free(w.calls);
    for (size_t i = 0; i < w.row_count; i++) {
        for (size_t n = 0; n < w.rows[i].count; n++)
            free(w.rows[i].cells[n].value);
        free(w.rows[i].cells);
        free(w.rows[i].key);
    }
    free(w.rows);
    for (size_t i = 0; i < array_len(w.timers); i++)
        ck_assert_ptr_null(w.timers[i]);
}
