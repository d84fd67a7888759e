/* src/servers/change/diff: what holds whatever is there and whatever is wished. */
#include "../diff_apply.h"
#include "../../effort.h"
#include "../../test.h"
#include "diff_world.h"

/* Of a new one: the lightest of those that stay, where that is the heaviest, too. */
static int new_weight(const struct backend *before, const struct desired *desired)
{
    int least = DESIRED_WEIGHT_MAX, most = -1;
    for (size_t i = 0; i < before->server_count; i++) {
        int weight = before->servers[i].weight;
        if (desired_find(desired, before->servers[i].name) == NULL)
            continue;
        least = weight < least ? weight : least;
        most = weight > most ? weight : most;
    }
    return least == most && most > 0 ? most : SERVER_WEIGHT_DEFAULT;
}

static int weight_of(const struct desired_server *w, const struct backend_server *old, const struct backend *before,
                     const struct desired *desired)
{
    if (w->weight >= 0)
        return w->weight;
    if (old == NULL)
        return new_weight(before, desired);
    return old->weight >= 0 ? old->weight : SERVER_WEIGHT_DEFAULT;
}

static void check_one(const struct backend_server *s, const struct backend *before, const struct desired_server *w,
                      const struct desired *desired, const struct diff_rules *rules)
{
    const struct backend_server *old = backend_find(before, w->name);
    ck_assert(strcmp(s->address, w->address) == 0 && s->port == w->port && s->check && !s->backup);
    ck_assert_int_eq(s->weight, weight_of(w, old, before, desired));
    ck_assert(s->maintenance == (w->state == SERVER_DRAINING));
    if (rules->own_check_port)
        ck_assert_uint_eq(s->check_port, desired->check_port);
    else
        ck_assert_uint_eq(s->check_port, old != NULL ? old->check_port : 0);
    ck_assert(rules->proxy_v2 || !s->send_proxy_v2);
}

/* Our part of b is the desired state, without what clashed and what drains and had no line. */
static void check_ours(const struct backend *b, const struct backend *before, const struct desired *desired,
                       const struct diff *d, const struct diff_rules *rules)
{
    size_t ours = 0, desired_known = 0;
    for (size_t i = 0; i < b->server_count; i++)
        ours += !diff_server_is_foreign(&b->servers[i], rules, NULL);
    for (size_t i = 0; i < desired->server_count; i++) {
        const struct desired_server *w = &desired->servers[i];
        const struct backend_server *old = backend_find(before, w->name);
        if (is_skipped(d, w->name) || (old == NULL && w->state == SERVER_DRAINING))
            continue;
        desired_known++;
        const struct backend_server *s = backend_find(b, w->name);
        ck_assert_ptr_nonnull(s);
        check_one(s, before, w, desired, rules);
    }
    ck_assert_uint_eq(ours, desired_known);
}

static void check_settings(const struct backend *b, const struct backend *before, const struct desired *desired,
                           const struct diff_rules *rules)
{
    bool by_port = rules->own_check_port && desired->check_port != 0;
    const char *check = by_port ? "httpchk" : rules->adv_check != NULL ? rules->adv_check : before->adv_check;
    ck_assert(rules->balance == NULL || strcmp(b->balance, rules->balance) == 0);
    ck_assert_str_eq(b->adv_check, check);
    ck_assert(b->httpchk_params == (strcmp(check, "httpchk") == 0 && (by_port || before->httpchk_params)));
    ck_assert(b->default_send_proxy_v2 == (before->default_send_proxy_v2 || rules->proxy_v2));
}

static size_t count_live(const struct backend *b, const struct diff_rules *rules)
{
    size_t live = 0;
    for (size_t i = 0; i < b->server_count; i++)
        live += !diff_server_is_foreign(&b->servers[i], rules, NULL) && !b->servers[i].maintenance;
    return live;
}

/* A loss is a server that was live and is not any more, whichever way it went; n0 and those that drain were announced. */
static void check_losses(const struct backend *before, const struct backend *b, const struct diff *d,
                         const struct diff_rules *rules)
{
    size_t lost = 0;
    ck_assert_uint_eq(d->live_count, count_live(before, rules));
    for (size_t i = 0; i < before->server_count; i++) {
        const struct backend_server *was = &before->servers[i], *is = backend_find(b, was->name);
        bool announced = is != NULL || (strcmp(was->name, "n0") == 0 && !is_skipped(d, "n0"));
        if (!diff_server_is_foreign(was, rules, NULL) && !was->maintenance && (is == NULL || is->maintenance) &&
            !announced)
            lost++;
    }
    ck_assert_uint_eq(d->loss_count, lost);
}

/* With the losses withheld, what is written takes no live server away unannounced, and does all the rest. */
static void check_withheld(const struct backend *before, const struct desired *desired, const struct diff_rules *rules)
{
    struct diff d, rest;
    struct backend b;
    backend_copy(&b, before);
    diff_compute(&b, desired, rules, &d);
    size_t losses = d.loss_count, changes = d.change_count;
    bool any = diff_withhold_losses(&d, NULL, NULL);
    ck_assert_uint_eq(d.change_count + losses, changes);
    ck_assert(any == (d.verdict == DIFF_WRITE));
    diff_apply(&d, rules, &b);
    diff_compute(&b, desired, rules, &rest);
    ck_assert_uint_eq(rest.change_count, losses);
    ck_assert_uint_eq(rest.loss_count, losses);
    ck_assert(!rest.backend_change);
    diff_fini(&d);
    diff_fini(&rest);
    backend_fini(&b);
}

TEST(applying_the_difference_gives_the_desired_state)
{
    struct dice dice = {987654321987u};
    unsigned wrote = 0, skipped = 0, lost = 0;
    for (unsigned round = 0; round < (unsigned)effort(4000); round++) {
        struct diff_rules with = random_rules(&dice);
        struct backend b, before;
        struct desired desired;
        struct diff d, again;
        random_backend(&dice, &b, false);
        backend_copy(&before, &b);
        random_desired(&dice, &desired);
        diff_compute(&b, &desired, &with, &d);
        cleanup(mem_free_ptr) char *foreign = foreign_text(&b, &with);
        diff_apply(&d, &with, &b);
        cleanup(mem_free_ptr) char *still = foreign_text(&b, &with);
        ck_assert_str_eq(foreign, still);
        check_ours(&b, &before, &desired, &d, &with);
        check_settings(&b, &before, &desired, &with);
        check_losses(&before, &b, &d, &with);
        check_withheld(&before, &desired, &with);
        diff_compute(&b, &desired, &with, &again);
        ck_assert_msg(again.verdict == DIFF_NOTHING && again.change_count == 0, "round %u", round);
        wrote += d.verdict == DIFF_WRITE;
        skipped += d.skip_count > 0;
        lost += d.loss_count > 0;
        diff_fini(&d);
        diff_fini(&again);
        desired_fini(&desired);
        backend_fini(&b);
        backend_fini(&before);
    }
    ck_assert_msg(wrote > (unsigned)effort(3000) && skipped > (unsigned)effort(1000) && lost > (unsigned)effort(1000),
                  "the states are worth something: %u, %u, %u", wrote, skipped, lost);
}

TEST(duplicates_settle_without_touching_what_is_not_ours)
{
    struct dice dice = {55555555555u};
    for (unsigned round = 0; round < (unsigned)effort(1500); round++) {
        struct diff_rules with = random_rules(&dice);
        struct backend b;
        struct desired desired;
        struct diff d;
        unsigned updates = 0;
        random_backend(&dice, &b, true);
        random_desired(&dice, &desired);
        cleanup(mem_free_ptr) char *foreign = foreign_text(&b, &with);
        for (;; updates++) {
            diff_compute(&b, &desired, &with, &d);
            if (d.verdict == DIFF_NOTHING)
                break;
            ck_assert_msg(d.verdict == DIFF_WRITE && updates < 4, "round %u", round);
            for (size_t i = 0; i < d.change_count; i++)
                for (size_t k = 0; k < b.server_count; k++)
                    ck_assert_msg(strcmp(b.servers[k].name, d.changes[i].server.name) != 0 ||
                                      !diff_server_is_foreign(&b.servers[k], &with, NULL),
                                  "round %u: a write to %s could hit a line that is not ours", round,
                                  b.servers[k].name);
            diff_apply(&d, &with, &b);
            diff_fini(&d);
        }
        diff_fini(&d);
        cleanup(mem_free_ptr) char *still = foreign_text(&b, &with);
        ck_assert_str_eq(foreign, still);
        desired_fini(&desired);
        backend_fini(&b);
    }
}
