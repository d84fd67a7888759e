/* The queue of runtime commands beside a model that says the same in the simplest words; random lists, backends and answers. */
#include "haproxy/commands.h"

#include "../dice.h"
#include "../effort.h"
#include "../test.h"

#define SERVERS 12u

static const char *const names[SERVERS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
static char backends[2]; /* their addresses are all that counts */

static struct instance_backend *backend(unsigned i)
{
    return (struct instance_backend *)&backends[i];
}

struct model {
    struct command list[64];
    size_t count;
    bool busy;
};

static void model_remove(struct model *m, size_t at)
{
    memmove(&m->list[at], &m->list[at + 1], (--m->count - at) * sizeof(m->list[0]));
}

static bool model_listed(const struct runtime_command *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return true;
    return false;
}

static void model_add(struct model *m, struct instance_backend *b, const struct runtime_command *c)
{
    for (size_t i = m->count; i-- > 0;) {
        struct command *old = &m->list[i];
        if (old->backend != b || strcmp(old->name, c->name) != 0)
            continue;
        if (old->state == c->state)
            return;
        if (i == 0 && m->busy)
            break;
        old->state = c->state;
        return;
    }
    m->list[m->count++] = (struct command){.backend = b, .name = (char *)(uintptr_t)c->name, .state = c->state};
}

static void model_set(struct model *m, struct instance_backend *b, const struct runtime_command *list, size_t count,
                      bool add)
{
    size_t first = m->busy ? 1 : 0;
    for (size_t i = m->count; i-- > first;)
        if (m->list[i].backend == b && !model_listed(list, count, m->list[i].name))
            model_remove(m, i);
    for (size_t i = 0; add && i < count; i++)
        model_add(m, b, &list[i]);
    for (size_t i = first, next = first; add && i < m->count; i++)
        if (m->list[i].state == RUNTIME_READY) {
            struct command c = m->list[i];
            memmove(&m->list[next + 1], &m->list[next], (i - next) * sizeof(m->list[0]));
            m->list[next++] = c;
        }
}

static void check_same(const struct commands *q, const struct model *m, unsigned seed, unsigned step)
{
    ck_assert_msg(q->count == m->count, "seed %u, step %u: %zu, not %zu", seed, step, q->count, m->count);
    for (size_t i = 0; i < q->count; i++) {
        const struct command *is = &q->list[i], *not = &m->list[i];
        ck_assert_msg(is->backend == not ->backend && str_eq(is->name, not ->name) && is->state == not ->state,
                      "seed %u, step %u: %s %d at %zu, not %s %d", seed, step, is->name, (int)is->state, i, not ->name,
                      (int)not ->state);
    }
}

static size_t random_list(struct dice *d, struct runtime_command *list)
{
    static const enum runtime_admin states[] = {RUNTIME_READY, RUNTIME_DRAIN, RUNTIME_MAINT};
    size_t count = 0;
    for (unsigned i = 0, from = dice_below(d, SERVERS); i < SERVERS; i++)
        if (!dice_one_in(d, 3))
            list[count++] = (struct runtime_command){
                .name = names[(from + i) % SERVERS], .state = states[dice_below(d, 3)], .why = "because"};
    return dice_one_in(d, 6) ? 0 : count;
}

TEST(it_is_as_the_model_says)
{
    for (unsigned seed = 1; seed <= (unsigned)effort(2000); seed++) {
        struct dice d = {seed * UINT64_C(0x9e3779b97f4a7c15)};
        struct commands q = {0};
        struct model m = {0};
        for (unsigned step = 0; step < 60; step++) {
            struct runtime_command list[SERVERS];
            if (q.busy && dice_one_in(&d, 3)) { /* the first is answered */
                commands_drop(&q, 0);
                model_remove(&m, 0);
                q.busy = m.busy = false;
            } else if (q.count > 0 && dice_one_in(&d, 3)) { /* ... or sent */
                q.busy = m.busy = true;
            } else {
                struct instance_backend *b = backend(dice_below(&d, 2));
                size_t count = random_list(&d, list);
                bool add = !dice_one_in(&d, 8);
                commands_set(&q, b, list, count, add, 7);
                model_set(&m, b, list, count, add);
            }
            check_same(&q, &m, seed, step);
        }
        commands_fini(&q);
    }
}

/* What is known of a command stays with it: why and since when it waits. */
TEST(what_waits_keeps_its_event)
{
    cleanup(commands_fini) struct commands q = {0};
    struct runtime_command list[] = {{.name = names[0], .state = RUNTIME_MAINT, .why = "first"},
                                     {.name = names[1], .state = RUNTIME_MAINT, .why = "first"}};
    commands_set(&q, backend(0), list, 2, true, 5);
    list[0].why = list[1].why = "second";
    list[1].state = RUNTIME_DRAIN;
    commands_set(&q, backend(0), list, 2, true, 9);
    ck_assert_uint_eq(q.count, 2);
    ck_assert_str_eq(q.list[0].why, "first");
    ck_assert_str_eq(q.list[1].why, "second");
    ck_assert_uint_eq(q.list[0].event_us, 5);
    ck_assert_uint_eq(q.list[1].event_us, 5);
}
