/* servers/desired/desired: what holds in any state, however it was reached. */

#include "desired_world.h"
#include "haproxy/backend.h"

#include "../../effort.h"

/* Spares: of what the desired state is there, and no server. */
static void check_spares(const struct desired *d, const char *settings)
{
    ck_assert_msg(d->spare_count == 0 || (d->state == DESIRED_OK && strstr(settings, "park") != NULL), "%s", settings);
    for (size_t i = 0; i < d->spare_count; i++) {
        const struct desired_server *s = &d->spares[i];
        ck_assert(i == 0 || strcmp(d->spares[i - 1].name, s->name) < 0);
        cleanup(mem_free_ptr) char *reason = desired_server_reason(d, s);
        ck_assert(s->port != 0 && !str_empty(s->address) && !str_empty(reason) && s->state == SERVER_OUT);
        ck_assert_int_eq(s->weight, strstr(settings, "weights=equal") != NULL ? SERVER_WEIGHT_DEFAULT : -1);
        ck_assert_ptr_null(desired_find(d, s->name));
        ck_assert_ptr_eq(desired_find_spare(d, s->name), s);
    }
}

/* What HAProxy relies on: one of each name, ordered, live ones beside every draining one, all of it complete. */
static void check_sound(const struct desired *d, const char *settings)
{
    size_t live = 0;
    check_spares(d, settings);
    for (size_t i = 0; i < d->server_count; i++) {
        const struct desired_server *s = &d->servers[i];
        ck_assert(i == 0 || strcmp(d->servers[i - 1].name, s->name) < 0);
        cleanup(mem_free_ptr) char *reason = desired_server_reason(d, s);
        ck_assert(s->port != 0 && !str_empty(s->address) && !str_empty(reason));
        ck_assert(s->state == SERVER_LIVE || s->state == SERVER_DRAINING);
        ck_assert(s->weight >= -1 && s->weight != 0 && s->weight <= DESIRED_WEIGHT_MAX);
        ck_assert_ptr_null(desired_why_out(d, s->name));
        live += s->state == SERVER_LIVE;
    }
    ck_assert_msg((d->state == DESIRED_OK) == (live > 0), "%s", settings);
    ck_assert_msg(d->state == DESIRED_OK || d->server_count == 0, "%s", settings);
    ck_assert((d->state == DESIRED_OK) == (d->problem == NULL));
    for (size_t i = 0; i < d->skip_count; i++) {
        cleanup(mem_free_ptr) char *subject = desired_skip_subject(d, &d->skips[i]);
        cleanup(mem_free_ptr) char *reason = desired_skip_reason(d, &d->skips[i]);
        ck_assert(!str_empty(subject) && !str_empty(reason));
        ck_assert_msg(d->state != DESIRED_OK || d->skips[i].server == NULL || strstr(reason, "already") != NULL ||
                          desired_find(d, d->skips[i].server) == NULL,
                      "%s is in and out", d->skips[i].server);
    }
}

/* Whatever happens and however the clock runs: sound, due in the future, and live where anything usable can be. */
TEST(any_history_is_sound)
{
    struct dice dice = {5551212};
    int states[4] = {0};
    for (unsigned round = 0; round < (unsigned)effort(60); round++) {
        struct mapping_text m;
        const char *settings = dice_one_in(&dice, 2) ? world_plain[dice_below(&dice, array_len(world_plain))]
                                                     : world_any[dice_below(&dice, array_len(world_any))];
        text_mapping_open(&m, settings, false);
        m.in.states = server_states_new();
        for (unsigned k = 0; k < 100; k++) {
            struct desired d, stateless;
            struct desired_input in = m.in;
            in.states = NULL;
            m.in.now_ms = in.now_ms += dice_below(&dice, 20000);
            for (unsigned n = dice_below(&dice, 4); n > 0; n--)
                world_happens(&m.caches, &dice);
            desired_compute(&m.in, &d);
            desired_compute(&in, &stateless);
            check_sound(&d, settings);
            states[d.state]++;
            ck_assert(d.due_ms == 0 || d.due_ms > m.in.now_ms);
            ck_assert_int_eq(d.state, stateless.state);
            /* What is live does not depend on what was; only drains do. */
            for (size_t i = 0; i < stateless.server_count; i++) {
                const struct desired_server *want = &stateless.servers[i], *have = desired_find(&d, want->name);
                ck_assert(want->state == SERVER_DRAINING || (have != NULL && have->state == SERVER_LIVE));
                ck_assert(have == NULL || have->state == want->state);
            }
            desired_fini(&d);
            desired_fini(&stateless);
        }
        text_mapping_close(&m);
    }
    ck_assert(states[DESIRED_OK] > effort(300) && states[DESIRED_EMPTY] > effort(100) &&
              states[DESIRED_UNDECIDED] > effort(100));
}
