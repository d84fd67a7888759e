#include "servers/desired/server_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct entry {
    char *name;
    uint64_t hash;
    uint64_t pass;    /* the last one that saw it */
    uint64_t last_ms; /* seen last, or out by itself */
    uint64_t until_ms;
    enum server_state state;
    bool told; /* it was seen terminating since it was last usable */
    bool announced;
};

struct server_states {
    struct entry *list;
    size_t count, room;
    uint32_t *slots; /* open addressing: 1 + index into list; 0: free. At most half full */
    size_t slot_count;
    uint64_t pass;
    uint64_t now_ms;
    uint64_t drain_timeout_ms;
};

struct server_states *server_states_new(void)
{
    return mem_alloc(sizeof(struct server_states));
}

void server_states_free(struct server_states *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->count; i++)
        free(s->list[i].name);
    free(s->list);
    free(s->slots);
    free(s);
}

const char *server_state_name(enum server_state state)
{
    return state == SERVER_LIVE ? "live" : state == SERVER_DRAINING ? "draining" : "out";
}

/* ---- by name ---- */

static uint64_t hash_name(const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *name != '\0'; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return h ^ (h >> 32);
}

/* The slot of that name, or the free one where it belongs. */
static uint32_t *find_slot(const struct server_states *s, const char *name, uint64_t hash)
{
    size_t mask = s->slot_count - 1, i = (size_t)hash & mask;
    for (; s->slots[i] != 0; i = (i + 1) & mask) {
        const struct entry *e = &s->list[s->slots[i] - 1];
        if (e->hash == hash && strcmp(e->name, name) == 0)
            break;
    }
    return &s->slots[i];
}

static void fill_slots(struct server_states *s)
{
    free(s->slots);
    s->slots = mem_array(s->slot_count, sizeof(s->slots[0]));
    for (size_t i = 0; i < s->count; i++)
        *find_slot(s, s->list[i].name, s->list[i].hash) = (uint32_t)i + 1;
}

/* One more fits. Two slots for each entry, always a power of two. */
static void make_room(struct server_states *s)
{
    if (s->list != NULL && s->count < s->room)
        return;
    s->room = s->room != 0 ? s->room * 2 : 32;
    s->slot_count = s->room * 2;
    s->list = mem_resize(s->list, s->room, sizeof(s->list[0]));
    fill_slots(s);
}

/* NULL: not known. */
static struct entry *find(const struct server_states *s, const char *name, uint64_t hash)
{
    uint32_t at = s->count > 0 ? *find_slot(s, name, hash) : 0;
    return at != 0 ? &s->list[at - 1] : NULL;
}

static struct entry *add(struct server_states *s, const char *name, uint64_t hash)
{
    make_room(s);
    struct entry *e = &s->list[s->count++];
    *e = (struct entry){.name = mem_strdup(name), .hash = hash, .state = SERVER_LIVE};
    *find_slot(s, name, hash) = (uint32_t)s->count;
    return e;
}

/* ---- the machine ---- */

static void go_out(struct entry *e, bool announced)
{
    e->announced = announced;
    e->state = SERVER_OUT;
}

static void leave(const struct server_states *s, struct entry *e)
{
    e->told = true;
    if (e->state == SERVER_LIVE) {
        e->state = SERVER_DRAINING;
        e->until_ms = s->now_ms + s->drain_timeout_ms;
    }
    if (e->state == SERVER_OUT || s->now_ms >= e->until_ms)
        go_out(e, true);
}

static void vanish(struct entry *e)
{
    if (e->state != SERVER_OUT)
        go_out(e, e->told);
}

static void step(const struct server_states *s, struct entry *e, enum server_sign sign)
{
    switch (sign) {
    case SIGN_USABLE:
    case SIGN_ENDING:
        e->state = SERVER_LIVE;
        e->told = sign == SIGN_ENDING;
        break;
    case SIGN_LEAVING:
        leave(s, e);
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
    s->now_ms = now_ms;
    s->drain_timeout_ms = drain_timeout_ms;
}

struct server_step server_states_see(struct server_states *s, const char *name, enum server_sign sign)
{
    uint64_t hash = hash_name(name);
    struct entry *e = find(s, name, hash);
    if (e == NULL && sign == SIGN_GONE) /* it never was anything: nothing to remember */
        return (struct server_step){.state = SERVER_OUT};
    if (e == NULL)
        e = add(s, name, hash);
    step(s, e, sign);
    e->pass = s->pass;
    e->last_ms = s->now_ms;
    return (struct server_step){.state = e->state,
                                .announced = e->state == SERVER_OUT && e->announced,
                                .until_ms = e->state == SERVER_DRAINING ? e->until_ms : 0};
}

/* ---- the end of a pass ---- */

static bool is_forgotten(const struct server_states *s, const struct entry *e)
{
    return e->state == SERVER_OUT && s->now_ms - e->last_ms >= STATES_REMEMBER_MS;
}

static void forget_old(struct server_states *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++)
        if (is_forgotten(s, &s->list[i]))
            free(s->list[i].name);
        else
            s->list[kept++] = s->list[i];
    if (kept == s->count)
        return;
    s->count = kept;
    fill_slots(s);
}

static int entry_by_name(const void *a, const void *b)
{
    const struct entry *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

void server_states_end(struct server_states *s, void (*gone)(void *arg, const char *name, bool announced), void *arg)
{
    forget_old(s);
    cleanup(mem_free_ptr) struct entry **unseen = mem_array(s->count, sizeof(struct entry *));
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].pass != s->pass)
            unseen[count++] = &s->list[i];
    if (count > 1)
        qsort(unseen, count, sizeof(unseen[0]), entry_by_name);
    for (size_t i = 0; i < count; i++) {
        struct entry *e = unseen[i];
        if (e->state != SERVER_OUT)
            e->last_ms = s->now_ms;
        vanish(e);
        if (gone != NULL)
            gone(arg, e->name, e->announced);
    }
}

void server_states_announce(struct server_states *s, const char *name)
{
    struct entry *e = find(s, name, hash_name(name));
    if (e != NULL && e->state == SERVER_OUT)
        e->announced = true;
}

uint64_t server_states_due_ms(const struct server_states *s)
{
    uint64_t due = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].state == SERVER_DRAINING && (due == 0 || s->list[i].until_ms < due))
            due = s->list[i].until_ms;
    return due;
}
