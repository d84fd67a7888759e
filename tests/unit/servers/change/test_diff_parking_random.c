/* src/servers/change/diff with servers/change/parking: what holds over any history of desired states, hand edits and time. */
#include "../diff_apply.h"
#include "../../effort.h"
#include "../../test.h"
#include "diff_world.h"
#include "parking_count.h"
#include "needs_transaction.h"

#define TTL 1000

/* A backend over time. */
struct history {
    struct dice dice;
    struct backend b;
    struct desired desired;
    struct diff_rules rules;
    struct parking *parking;
    unsigned missing; /* bits of the nodes that do not exist, by the last character of their name */
    uint64_t now_ms;
    unsigned parked, added, lazy, removed, held; /* what was seen, for a test that means something */
};

static bool node_exists(const void *arg, const char *server)
{
    return (((const struct history *)arg)->missing & 1u << (server[strlen(server) - 1] % 10)) == 0;
}

/* So many more lines, each live or not; few rounds have them, as it takes more than PARKING_MAX to be too many. */
static void add_many(struct history *h)
{
    unsigned live = dice_below(&h->dice, 3);
    for (unsigned i = 0, count = 50 + dice_below(&h->dice, 40); i < count; i++) {
        cleanup(mem_free_ptr) char *words =
            mem_printf("p%02u 10.1.0.%u:80%s", i, i, live == 1 || (live == 2 && i % 2 == 0) ? " disabled" : "");
        text_add_server(&h->b, words);
    }
}

static void add_spares(struct history *h)
{
    unsigned count = dice_one_in(&h->dice, 3) ? 70 : dice_below(&h->dice, 3);
    for (unsigned i = 0; i < count && h->desired.spare_count < DESIRED_SPARES_MAX; i++) {
        cleanup(mem_free_ptr) char *name = count > 3 ? mem_printf("s%02u", i) : mem_printf("n%u", i);
        cleanup(mem_free_ptr) char *words = mem_printf("%s 10.3.0.%u:80", name, i);
        if (desired_find(&h->desired, name) == NULL)
            text_desired_spare(&h->desired, words);
    }
}

static void desired_anew(struct history *h)
{
    desired_fini(&h->desired);
    if (dice_one_in(&h->dice, 12))
        text_desired(&h->desired, "");
    else
        random_desired(&h->dice, &h->desired);
    if (h->desired.state == DESIRED_OK)
        add_spares(h);
}

static void begin(struct history *h, struct dice dice)
{
    *h = (struct history){.dice = dice};
    h->rules = random_rules(&h->dice);
    h->rules.runtime = dice_one_in(&h->dice, 2);
    h->rules.allow_empty = !dice_one_in(&h->dice, 4);
    h->parking = parking_new(TTL);
    h->rules.parking = h->parking;
    random_backend(&h->dice, &h->b, false);
    if (dice_one_in(&h->dice, 3))
        add_many(h);
    desired_init(&h->desired);
}

static void end(struct history *h)
{
    desired_fini(&h->desired);
    backend_fini(&h->b);
    parking_free(h->parking);
}

static void diff_now(struct history *h, struct diff *ret)
{
    parking_refresh(h->parking, &h->b, &h->desired, &h->rules, node_exists, h, h->now_ms);
    diff_compute(&h->b, &h->desired, &h->rules, ret);
}

/* ---- what is asked of one difference ---- */

static bool template_has(const struct backend *b, const char *name)
{
    uint64_t n;
    for (size_t i = 0; i < b->template_count; i++)
        if (str_has_prefix(name, b->templates[i].prefix) &&
            str_parse_uint(name + strlen(b->templates[i].prefix), 99, &n) == 0 && n >= b->templates[i].first &&
            n <= b->templates[i].last)
            return true;
    return false;
}

static bool was_announced(const struct history *h, const struct diff *d, const char *name)
{
    const struct desired_server *w = desired_find(&h->desired, name);
    const struct desired_skip *out = desired_why_out(&h->desired, name);
    if (is_skipped(d, name))
        return false;
    return (w != NULL && w->state == SERVER_DRAINING) || (out != NULL && out->announced);
}

/* A live server of ours is lost that nobody said would go. */
static bool is_lost(const struct history *h, const struct diff *d, const struct backend_server *was)
{
    const struct backend_server *is = backend_find(&h->b, was->name);
    return !diff_server_is_foreign(was, &h->rules, NULL) && !was->maintenance && (is == NULL || is->maintenance) &&
           !was_announced(h, d, was->name);
}

static size_t count_lost(const struct history *h, const struct diff *d, const struct backend *before)
{
    size_t lost = 0;
    for (size_t i = 0; i < before->server_count; i++)
        lost += is_lost(h, d, &before->servers[i]);
    return lost;
}

static void check_desired(const struct history *h, const struct diff *d, const struct backend *before)
{
    for (size_t i = 0; i < h->desired.server_count; i++) {
        const struct desired_server *w = &h->desired.servers[i];
        const struct backend_server *is = backend_find(&h->b, w->name), *was = backend_find(before, w->name);
        if (is_skipped(d, w->name))
            continue;
        ck_assert_msg((is != NULL) == (was != NULL || w->state == SERVER_LIVE), "%s", w->name);
        if (is == NULL)
            continue;
        ck_assert(strcmp(is->address, w->address) == 0 && is->port == w->port && is->check);
        bool maintenance = w->state == SERVER_LIVE ? false : h->rules.runtime ? was->maintenance : true;
        ck_assert_msg(is->maintenance == maintenance, "%s", w->name);
    }
}

/* What is there and not wished for: parked, as it was otherwise; or a spare. */
static void check_undesired(const struct history *h, const struct backend *before)
{
    for (size_t i = 0; i < h->b.server_count; i++) {
        const struct backend_server *is = &h->b.servers[i], *was = backend_find(before, is->name);
        if (diff_server_is_foreign(is, &h->rules, NULL) || desired_find(&h->desired, is->name) != NULL)
            continue;
        ck_assert_msg(is->maintenance && !template_has(before, is->name), "%s", is->name);
        if (was == NULL)
            ck_assert_ptr_nonnull(desired_find_spare(&h->desired, is->name));
        else
            ck_assert(strcmp(is->address, was->address) == 0 && is->port == was->port && is->weight == was->weight &&
                      is->check == was->check && is->send_proxy_v2 == was->send_proxy_v2 &&
                      str_eq(is->json, was->json));
    }
}

static void check_change(struct history *h, const struct diff_change *c, const struct backend *before)
{
    bool needs = !h->rules.runtime || needs_transaction(before, c);
    ck_assert_msg(c->structural == needs, "%s", c->server.name);
    ck_assert(!c->lazy || (c->op == DIFF_REMOVE && !c->loss));
    ck_assert(!c->parks || (c->op != DIFF_REMOVE && c->server.maintenance));
    ck_assert((c->op == DIFF_CHANGE) == (c->fields != 0));
    h->parked += c->parks && c->op == DIFF_CHANGE;
    h->added += c->parks && c->op == DIFF_ADD;
    h->lazy += c->lazy;
    h->removed += c->op == DIFF_REMOVE && c->loss;
}

/* Lazy ones are never the reason for a transaction. */
static void check_routes(struct history *h, const struct diff *d, const struct backend *before)
{
    bool carried = d->backend_change, lazy = false;
    for (size_t i = 0; i < d->change_count; i++) {
        check_change(h, &d->changes[i], before);
        carried = carried || (d->changes[i].structural && !d->changes[i].lazy);
        lazy = lazy || d->changes[i].lazy;
    }
    ck_assert(carried || !lazy);
}

static void count_parked(const struct history *h, size_t *ret_parked, size_t *ret_spare)
{
    *ret_parked = *ret_spare = 0;
    for (size_t i = 0; i < h->b.server_count; i++) {
        const struct backend_server *s = &h->b.servers[i];
        if (diff_server_is_foreign(s, &h->rules, NULL) || !s->maintenance || desired_find(&h->desired, s->name) != NULL)
            continue;
        if (desired_find_spare(&h->desired, s->name) != NULL)
            (*ret_spare)++;
        else
            (*ret_parked)++;
    }
}

/* Nobody is removed who could have been parked, and no spare comes without room. */
static void check_room(const struct history *h, const struct diff *d, const struct backend *before)
{
    size_t parked, spare, parks = 0, spares_added = 0, removed = 0;
    count_parked(h, &parked, &spare);
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        parks += c->parks && c->op == DIFF_CHANGE && desired_find_spare(&h->desired, c->server.name) == NULL;
        spares_added += c->parks && c->op == DIFF_ADD;
        removed += c->op == DIFF_REMOVE && !c->server.maintenance && !is_skipped(d, c->server.name) &&
                   !template_has(before, c->server.name);
    }
    ck_assert(spares_added == 0 || parked + spare <= PARKING_MAX);
    if (h->rules.runtime)
        ck_assert(removed == 0 || parks == PARKING_MAX);
    else
        ck_assert(removed == 0 || parked == PARKING_MAX || (h->desired.state == DESIRED_EMPTY && parked > PARKING_MAX));
}

/* With the losses withheld nobody is lost, and no lazy one is left alone. */
static void check_withheld(struct history *h)
{
    struct diff d;
    struct backend before;
    struct history braked = *h;
    backend_copy(&before, &h->b);
    backend_copy(&braked.b, &h->b);
    diff_compute(&h->b, &h->desired, &h->rules, &d);
    bool any = diff_withhold_losses(&d, NULL, NULL);
    ck_assert(any == (d.verdict == DIFF_WRITE));
    check_routes(&braked, &d, &before);
    diff_apply(&d, &h->rules, &braked.b);
    ck_assert_uint_eq(count_lost(&braked, &d, &before), 0);
    diff_fini(&d);
    backend_fini(&before);
    backend_fini(&braked.b);
}

static void write_it(struct history *h, const struct diff *d)
{
    struct backend before;
    cleanup(mem_free_ptr) char *foreign = foreign_text(&h->b, &h->rules);
    check_withheld(h);
    backend_copy(&before, &h->b);
    diff_apply(d, &h->rules, &h->b);
    cleanup(mem_free_ptr) char *still = foreign_text(&h->b, &h->rules);
    ck_assert_str_eq(foreign, still);
    check_desired(h, d, &before);
    check_undesired(h, &before);
    check_routes(h, d, &before);
    check_room(h, d, &before);
    ck_assert_uint_eq(d->loss_count, count_lost(h, d, &before));
    backend_fini(&before);
}

/* ---- over time ---- */

/* What was parked just now, and has no node, makes room for a spare. */
static bool swaps(const struct diff *d)
{
    bool spare = false, lazy = false;
    for (size_t i = 0; i < d->change_count; i++) {
        spare = spare || (d->changes[i].parks && d->changes[i].op == DIFF_ADD);
        lazy = lazy || d->changes[i].lazy;
    }
    return spare && lazy;
}

/* It settles with one write; with a second one only where more were parked without a reload than there is room for, or
 * where one of them makes room. */
static void settle(struct history *h, unsigned round)
{
    struct diff d;
    size_t parked, spare;
    for (unsigned updates = 0;; updates++) {
        count_parked(h, &parked, &spare);
        diff_now(h, &d);
        if (d.verdict != DIFF_WRITE)
            break;
        ck_assert_msg(updates == 0 || (updates == 1 && ((h->rules.runtime && parked > PARKING_MAX) || swaps(&d))),
                      "round %u", round);
        write_it(h, &d);
        diff_fini(&d);
    }
    ck_assert(d.verdict == DIFF_NOTHING || (d.verdict == DIFF_NO_ENDPOINT && !h->rules.allow_empty));
    ck_assert_uint_eq(d.change_count, 0);
    ck_assert_uint_eq(d.parked_count, parked + spare);
    if (h->desired.state == DESIRED_OK) /* an empty one leaves spares what they were */
        ck_assert_uint_eq(parking_count(h->parking), parked);
    ck_assert(d.verdict == DIFF_NO_ENDPOINT || parking_count(h->parking) <= PARKING_MAX);
    h->held += d.verdict == DIFF_NO_ENDPOINT;
    diff_fini(&d);
}

static void something_by_hand(struct history *h)
{
    if (h->b.server_count == 0 || !dice_one_in(&h->dice, 4))
        return;
    struct backend_server *s = &h->b.servers[dice_below(&h->dice, (unsigned)h->b.server_count)];
    s->maintenance = !s->maintenance;
}

TEST(any_history)
{
    struct dice dice = {20260521u};
    unsigned parked = 0, added = 0, lazy = 0, removed = 0, held = 0;
    for (unsigned round = 0; round < (unsigned)effort(200); round++) {
        struct history h;
        begin(&h, dice);
        for (unsigned step = 0; step < 8; step++) {
            h.now_ms += dice_below(&h.dice, TTL / 2);
            h.missing = dice_one_in(&h.dice, 2) ? 0 : dice_below(&h.dice, 1024);
            desired_anew(&h);
            something_by_hand(&h);
            settle(&h, round);
        }
        dice = h.dice;
        parked += h.parked;
        added += h.added;
        lazy += h.lazy;
        removed += h.removed;
        held += h.held;
        end(&h);
    }
    ck_assert_msg(parked > (unsigned)effort(2000) && added > (unsigned)effort(1000) && lazy > (unsigned)effort(1000) &&
                      removed > (unsigned)effort(200) && held > (unsigned)effort(10),
                  "the histories are worth something: %u, %u, %u, %u, %u", parked, added, lazy, removed, held);
}
