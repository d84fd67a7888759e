#include "servers/desired/server_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

struct state_entry {
    UT_hash_handle hh;
    char *name;
    uint64_t pass;    /* the last one that saw it */
    uint64_t last_ms; /* seen last, or out by itself */
    uint64_t until_ms;
    enum server_state state;
    bool ending; /* it was seen terminating since it was last usable */
    bool announced;
};

struct server_states {
    struct state_entry *entries; /* by name */
    uint64_t pass;
    uint64_t now_ms;
    uint64_t drain_timeout_ms;
};

struct server_states *server_states_new(void)
{
    return mem_alloc(sizeof(struct server_states));
}

static void states_forget(struct server_states *s, struct state_entry *e)
{
    /* The analyzer does not see that the table's own list has no e any more. */
    HASH_DEL(s->entries, e); /* NOLINT(clang-analyzer-unix.Malloc) */
    mem_free_all(e->name, e);
}

void server_states_free(struct server_states *s)
{
    struct state_entry *e, *next;
    if (s == NULL)
        return;
    HASH_ITER (hh, s->entries, e, next)
        states_forget(s, e);
    free(s);
}

const char *server_state_name(enum server_state state)
{
    return state == SERVER_LIVE ? "live" : state == SERVER_DRAINING ? "draining" : "out";
}

static struct state_entry *states_find(const struct server_states *s, const char *name)
{
    struct state_entry *e;
    HASH_FIND_STR(s->entries, name, e);
    return e;
}

/* ---- the machine ---- */

static void go_out(struct state_entry *e, bool announced)
{
    e->announced = announced;
    e->state = SERVER_OUT;
}

static void vanish(struct state_entry *e)
{
    if (e->state != SERVER_OUT)
        go_out(e, e->ending);
}

static void states_step(const struct server_states *s, struct state_entry *e, enum server_sign sign)
{
    switch (sign) {
    case SIGN_USABLE:
    case SIGN_ENDING:
        e->state = SERVER_LIVE;
        e->ending = sign == SIGN_ENDING;
        break;
    case SIGN_LEAVING:
        e->ending = true;
        if (e->state == SERVER_LIVE) {
            e->state = SERVER_DRAINING;
            e->until_ms = s->now_ms + s->drain_timeout_ms;
        }
        if (e->state == SERVER_OUT || s->now_ms >= e->until_ms)
            go_out(e, true);
        break;
    case SIGN_EXCLUDED:
        go_out(e, true);
        break;
    case SIGN_GONE:
        vanish(e);
        break;
    }
}

void server_states_begin(struct server_states *s, uint64_t now_ms, uint64_t drain_timeout_ms)
{
    s->pass++;
    server_states_resume(s, now_ms, drain_timeout_ms);
}

void server_states_resume(struct server_states *s, uint64_t now_ms, uint64_t drain_timeout_ms)
{
    s->now_ms = now_ms;
    s->drain_timeout_ms = drain_timeout_ms;
}

void server_states_unsee(struct server_states *s, const char *name)
{
    struct state_entry *e = name != NULL ? states_find(s, name) : NULL;
    if (e != NULL)
        e->pass = 0;
}

struct server_step server_states_see(struct server_states *s, const char *name, enum server_sign sign)
{
    struct state_entry *e = states_find(s, name);
    if (e == NULL && sign == SIGN_GONE) /* it never was anything: nothing to remember */
        return (struct server_step){.state = SERVER_OUT};
    if (e == NULL) {
        e = mem_alloc(sizeof(*e));
        *e = (struct state_entry){.name = mem_strdup(name), .state = SERVER_LIVE};
        HASH_ADD_STR(s->entries, name, e);
    }
    states_step(s, e, sign);
    e->pass = s->pass;
    e->last_ms = s->now_ms;
    return (struct server_step){.state = e->state,
                                .announced = e->state == SERVER_OUT && e->announced,
                                .until_ms = e->state == SERVER_DRAINING ? e->until_ms : 0};
}

/* ---- the end of a pass ---- */

static int entry_by_name(const void *a, const void *b)
{
    const struct state_entry *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

void server_states_end(struct server_states *s, void (*gone)(void *arg, const char *name, bool announced), void *arg)
{
    struct state_entry *e, *next;
    size_t count = 0;
    cleanup(mem_free_ptr) struct state_entry **unseen = mem_array(HASH_COUNT(s->entries), sizeof(struct state_entry *));
    HASH_ITER (hh, s->entries, e, next)
        if (e->state == SERVER_OUT && s->now_ms - e->last_ms >= STATES_REMEMBER_MS)
            states_forget(s, e);
        else if (e->pass != s->pass)
            unseen[count++] = e;
    if (count > 1)
        qsort(unseen, count, sizeof(unseen[0]), entry_by_name);
    for (size_t i = 0; i < count; i++) {
        e = unseen[i];
        if (e->state != SERVER_OUT)
            e->last_ms = s->now_ms;
        vanish(e);
        if (gone != NULL)
            gone(arg, e->name, e->announced);
    }
}

void server_states_announce(struct server_states *s, const char *name)
{
    struct state_entry *e = states_find(s, name);
    if (e != NULL && e->state == SERVER_OUT)
        e->announced = true;
}

size_t server_states_memory(const struct server_states *s, struct server_memory **ret)
{
    size_t count = 0;
    *ret = mem_array(HASH_COUNT(s->entries), sizeof((*ret)[0]));
    for (const struct state_entry *e = s->entries; e != NULL; e = e->hh.next)
        if (e->state != SERVER_LIVE)
            (*ret)[count++] = (struct server_memory){e->name, e->state, e->announced, e->until_ms};
    return count;
}

uint64_t server_states_due_ms(const struct server_states *s)
{
    uint64_t due = 0;
    for (const struct state_entry *e = s->entries; e != NULL; e = e->hh.next)
        if (e->state == SERVER_DRAINING && (due == 0 || e->until_ms < due))
            due = e->until_ms;
    return due;
}
