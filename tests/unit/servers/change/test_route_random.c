/*
 * src/servers/change/route: whatever happens to a HAProxy (desired states, reloads, an operator's hand, calls that fail, readings that are older
 * than a call), it ends up as wished, with what the operator has set and nothing else.
 */
#include "../../dice.h"
#include "../../route_text.h"
#include "../diff_apply.h"
#include "../../effort.h"
#include "../../test.h"
#include "base/shared_text.h"
#include "model/address.h"
#include "servers/change/diff.h"
#include "needs_transaction.h"
#include "servers/change/parking.h"

#define NAMES 7
#define STEPS_MAX 60
#define TTL_MS 50

static char kept[] = "k*";
static char *const globs[] = {kept};

struct play {
    struct dice dice;
    bool
        rows_follow; /* the caller writes into its rows what it did, as servers/target does; otherwise the memory has to know */
    bool faults; /* calls fail, readings are old */

    struct backend file;    /* as the API has it, and as we read it */
    struct runtime running; /* HAProxy itself */
    struct runtime rows;    /* as we read it last */
    bool pending;           /* a reload is to come */
    bool other_worker;      /* since the last look */
    struct desired desired;
    struct admin_states memory;
    struct parking *parking;
    uint64_t now_ms;
    enum runtime_admin truth[NAMES]; /* what the operator wants of n0 ... */

    unsigned commands, updates, transactions, held, restored;
};

static struct diff_rules rules_of(const struct play *p, bool runtime)
{
    return (struct diff_rules){
        .keep_servers = globs, .keep_count = 1, .allow_empty = true, .parking = p->parking, .runtime = runtime};
}

/* ---- HAProxy ---- */

static void copy_rows(struct runtime *to, const struct runtime *from)
{
    runtime_fini(to);
    to->readable = true;
    to->servers = mem_array(from->count, sizeof(to->servers[0]));
    for (; to->count < from->count; to->count++) {
        to->servers[to->count] = from->servers[to->count];
        to->servers[to->count].name = shared_text(from->servers[to->count].name);
        to->servers[to->count].address = shared_text(from->servers[to->count].address);
    }
}

static void reload(struct play *p)
{
    runtime_fini(&p->running);
    text_runtime(&p->running, &p->file, "");
    p->pending = false;
    p->other_worker = true;
}

static void set_state(struct runtime *r, const char *name, enum runtime_admin state)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->servers[i].name, name) == 0)
            r->servers[i].admin = state;
}

static unsigned ready_count(const struct play *p)
{
    unsigned count = 0;
    for (size_t i = 0; i < p->running.count; i++)
        count += p->running.servers[i].admin == RUNTIME_READY && p->running.servers[i].name[0] != 's';
    return count;
}

static bool is_ours(const char *name)
{
    return name[0] == 'n';
}

/* ---- what happens by itself ---- */

static void new_desired(struct play *p)
{
    cleanup(buf_fini) struct buf text;
    buf_init(&text, 0);
    for (unsigned i = 0; i < NAMES; i++) {
        if (dice_one_in(&p->dice, 3))
            continue;
        buf_printf(&text, "%sn%u 10.0.%u.%u:80%s", text.len > 0 ? "; " : "", i, dice_one_in(&p->dice, 6), i,
                   dice_one_in(&p->dice, 4) ? " draining" : "");
        if (dice_one_in(&p->dice, 4))
            buf_printf(&text, " weight %u", 1 + dice_below(&p->dice, 2));
    }
    desired_fini(&p->desired);
    text_desired(&p->desired, buf_str(&text));
}

static void look(struct play *p)
{
    const struct diff_rules rules = rules_of(p, true);
    copy_rows(&p->rows, &p->running);
    if (p->pending)
        return;
    admin_states_refresh(&p->memory, &p->file, &p->rows, &p->desired, &rules, p->other_worker);
    p->other_worker = false;
}

/* A hand at a server that is to serve; somebody looks before anything else happens. */
static void operate(struct play *p)
{
    unsigned i = dice_below(&p->dice, NAMES);
    char name[] = {'n', (char)('0' + i), '\0'};
    const struct desired_server *want = desired_find(&p->desired, name);
    const struct backend_server *line = backend_find(&p->file, name);
    if (want == NULL || want->state != SERVER_LIVE || line == NULL || line->maintenance)
        return;
    p->truth[i] = (enum runtime_admin)dice_below(&p->dice, 3);
    set_state(&p->running, name, p->truth[i]);
    look(p);
}

/* ---- what we do ---- */

static void call(struct play *p, const struct runtime_command *c)
{
    const struct backend_server *line = backend_find(&p->file, c->name);
    ck_assert(line != NULL && is_ours(c->name));
    ck_assert_ptr_nonnull(runtime_find(&p->rows, c->name));
    if (p->faults && dice_one_in(&p->dice, 5))
        return;
    bool served = ready_count(p) > 0,
         by_desired = strcmp(c->why, "it is no longer desired") == 0 || strcmp(c->why, "it drains") == 0;
    set_state(&p->running, c->name, c->state);
    ck_assert_msg(p->faults || p->pending || !by_desired || !served || ready_count(p) > 0, "%s %s leaves nobody",
                  c->name, c->why);
    admin_states_called(&p->memory, c->name, c->state);
    if (p->rows_follow)
        set_state(&p->rows, c->name, c->state);
    p->commands++;
    p->restored += str_has_prefix(c->why, "an operator");
}

static void call_all(struct play *p, const struct route *choice)
{
    bool back = true;
    for (size_t i = 0; i < choice->command_count; i++) {
        const struct runtime_command *c = &choice->commands[i];
        ck_assert_msg(back || c->state != RUNTIME_READY, "%s is told to be ready behind others", c->name);
        back = c->state == RUNTIME_READY;
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(choice->commands[k].name, c->name);
        call(p, c);
    }
}

static struct backend_server *line_of(struct play *p, const char *name)
{
    for (size_t i = 0; i < p->file.server_count; i++)
        if (strcmp(p->file.servers[i].name, name) == 0)
            return &p->file.servers[i];
    ck_abort_msg("no line %s", name);
    return NULL;
}

/* File and HAProxy in one. */
static void write_into(struct runtime *r, const struct backend_server *line, bool was_in_maintenance)
{
    for (size_t i = 0; i < r->count; i++) {
        struct runtime_server *s = &r->servers[i];
        if (strcmp(s->name, line->name) != 0)
            continue;
        shared_text_set(&s->address, line->address);
        s->weight = line->weight;
        if (line->maintenance != was_in_maintenance)
            s->admin = line->maintenance ? RUNTIME_MAINT : RUNTIME_READY;
    }
}

static void write_one(struct play *p, const struct route *choice, const struct diff *d)
{
    const struct route_update *w = &choice->updates[0];
    const struct diff_change *c = &d->changes[w->change];
    struct backend_server *line = line_of(p, c->server.name);
    bool was = line->maintenance, served = ready_count(p) > 0;
    ck_assert(c->op == DIFF_CHANGE && !needs_transaction(&p->file, c) && is_ours(line->name));
    backend_server_fini(line);
    backend_server_copy(line, &c->server);
    if (w->keep_maintenance)
        line->maintenance = was;
    write_into(&p->running, line, was);
    write_into(&p->rows, line, was);
    const struct runtime_server *is = runtime_find(&p->running, line->name);
    if (is != NULL)
        set_state(&p->rows, line->name, is->admin); /* it was read back */
    ck_assert_msg(p->faults || p->pending || !choice->transaction || !served || ready_count(p) > 0,
                  "%s is written before the transaction that brings another", line->name);
    admin_states_written(&p->memory, line->name, line->maintenance);
    p->updates++;
}

/* As servers/target does it: with drains in the file, and the reload comes when it comes. */
static void transact(struct play *p)
{
    const struct diff_rules rules = rules_of(p, dice_one_in(&p->dice, 2));
    struct diff d;
    diff_compute(&p->file, &p->desired, &rules, &d);
    diff_apply(&d, &rules, &p->file);
    diff_fini(&d);
    for (unsigned i = 0; i < NAMES; i++) {
        char name[] = {'n', (char)('0' + i), '\0'};
        if (backend_find(&p->file, name) == NULL)
            p->truth[i] = RUNTIME_READY;
    }
    p->pending = true;
    p->transactions++;
}

/* False: nothing was to be done. */
static bool act(struct play *p)
{
    const struct diff_rules rules = rules_of(p, true);
    struct diff d;
    struct route choice;
    parking_refresh(p->parking, &p->file, &p->desired, &rules, NULL, NULL, p->now_ms);
    diff_compute(&p->file, &p->desired, &rules, &d);
    const struct route_input in = {.actual = &p->file,
                                   .runtime = &p->rows,
                                   .desired = &p->desired,
                                   .diff = &d,
                                   .rules = &rules,
                                   .memory = &p->memory,
                                   .open = true,
                                   .may_write = true};
    route_choose(&in, &choice);
    bool any = choice.command_count > 0 || choice.update_count > 0 || choice.transaction;
    ck_assert_msg(any || d.verdict == DIFF_NOTHING, "something differs, and nothing is done: %s",
                  d.change_count > 0 ? d.changes[0].server.name : "");
    call_all(p, &choice);
    if (choice.update_count > 0)
        write_one(p, &choice, &d);
    else if (choice.transaction)
        transact(p);
    route_fini(&choice);
    diff_fini(&d);
    return any;
}

/* A reading that was begun before the calls and ends after them. */
static bool act_while_reading(struct play *p)
{
    struct runtime old;
    runtime_init(&old);
    copy_rows(&old, &p->running);
    const struct diff_rules rules = rules_of(p, true);
    unsigned before = p->updates + p->transactions;
    bool any = act(p);
    if (!p->pending && !p->other_worker && before == p->updates + p->transactions) {
        copy_rows(&p->rows, &old);
        admin_states_refresh(&p->memory, &p->file, &p->rows, &p->desired, &rules, false);
    }
    runtime_fini(&old);
    return any;
}

static void settle(struct play *p, unsigned round)
{
    for (unsigned step = 0;; step++) {
        ck_assert_msg(step < STEPS_MAX, "round %u does not settle", round);
        if (p->pending && dice_one_in(&p->dice, 2))
            reload(p);
        if (p->faults && dice_one_in(&p->dice, 4)) {
            act_while_reading(p);
            continue;
        }
        if (p->pending || dice_one_in(&p->dice, 2)) {
            act(p);
            continue;
        }
        look(p);
        if (!act(p) && !p->pending)
            return;
    }
}

/* ---- what holds then ---- */

/* One that is to serve does; without, those that drain do not. */
static bool any_other_serves(const struct play *p)
{
    for (size_t i = 0; i < p->desired.server_count; i++) {
        const struct desired_server *want = &p->desired.servers[i];
        const struct runtime_server *is = runtime_find(&p->running, want->name);
        if (want->state == SERVER_LIVE && is != NULL && is->admin == RUNTIME_READY)
            return true;
    }
    return false;
}

static void check_one(const struct play *p, const struct backend_server *line, unsigned round)
{
    const struct runtime_server *is = runtime_find(&p->running, line->name);
    const struct desired_server *want = desired_find(&p->desired, line->name);
    enum runtime_admin truth = p->truth[line->name[1] - '0'];
    ck_assert(is != NULL && address_eq(is->address, line->address));
    if (line->maintenance) {
        ck_assert(want == NULL || want->state == SERVER_DRAINING);
        ck_assert_msg(is->admin == RUNTIME_MAINT, "round %u: %s runs against its line", round, line->name);
    } else if (want != NULL && want->state == SERVER_LIVE) {
        ck_assert_msg(is->admin == truth, "round %u: %s is in %s, not in %s", round, line->name,
                      runtime_admin_name(is->admin), runtime_admin_name(truth));
    } else {
        ck_assert_msg(want != NULL, "round %u: %s is live and nothing wishes for it", round, line->name);
        ck_assert_msg(is->admin != RUNTIME_READY || !any_other_serves(p), "round %u: %s does not drain", round,
                      line->name);
    }
}

static void check_settled(struct play *p, unsigned round)
{
    size_t overrides, wanted = 0;
    for (size_t i = 0; i < p->desired.server_count; i++) {
        const struct desired_server *want = &p->desired.servers[i];
        ck_assert_msg(want->state != SERVER_LIVE || backend_find(&p->file, want->name) != NULL, "round %u", round);
    }
    for (size_t i = 0; i < p->file.server_count; i++) {
        const struct backend_server *line = &p->file.servers[i];
        if (!is_ours(line->name))
            continue;
        check_one(p, line, round);
        wanted += !line->maintenance && p->truth[line->name[1] - '0'] != RUNTIME_READY;
    }
    cleanup(mem_free_ptr) char *text = admin_states_overrides(&p->memory, &overrides);
    ck_assert_msg(overrides == wanted, "round %u: %zu of the operator's are known of %zu: %s", round, overrides, wanted,
                  text);
}

/* ---- the play ---- */

static void begin(struct play *p, uint64_t seed)
{
    *p = (struct play){.dice = {seed}, .parking = parking_new(TTL_MS), .now_ms = 1000};
    p->rows_follow = dice_one_in(&p->dice, 2);
    p->faults = dice_one_in(&p->dice, 2);
    text_backend(&p->file, "web",
                 "server n0 10.0.0.0:80 check weight 100\nserver n1 10.0.0.1:80 check weight 100\n"
                 "server n2 10.0.0.2:80 check weight 100 disabled\nserver k1 10.0.9.1:80 disabled\n"
                 "server s1 10.0.9.2:80 backup\n");
    desired_init(&p->desired);
    reload(p);
    p->other_worker = false;
    do
        new_desired(p);
    while (p->desired.state != DESIRED_OK);
    enum runtime_admin first = (enum runtime_admin)dice_below(&p->dice, 3);
    const struct desired_server *want = desired_find(&p->desired, "n1");
    set_state(&p->running, "n1", first);
    /* A drain that is found at the start is not believed to be an operator's where nothing else would serve. */
    const struct desired_server *other = desired_find(&p->desired, "n0");
    bool served = first != RUNTIME_DRAIN || (other != NULL && other->state == SERVER_LIVE);
    p->truth[1] = want != NULL && want->state == SERVER_LIVE && served ? first : RUNTIME_READY;
    look(p);
}

static void end(struct play *p)
{
    parking_free(p->parking);
    admin_states_fini(&p->memory);
    desired_fini(&p->desired);
    runtime_fini(&p->rows);
    runtime_fini(&p->running);
    backend_fini(&p->file);
}

TEST(it_ends_as_wished)
{
    unsigned commands = 0, updates = 0, transactions = 0, restored = 0;
    for (unsigned round = 0; round < (unsigned)effort(1500); round++) {
        struct play p;
        begin(&p, 1000003u * (round + 1));
        settle(&p, round);
        check_settled(&p, round);
        for (unsigned i = 0; i < 12; i++) {
            p.now_ms += dice_below(&p.dice, 20);
            switch (dice_below(&p.dice, 4)) {
            case 0:
                operate(&p);
                break;
            case 1:
                reload(&p);
                look(&p);
                break;
            default:
                new_desired(&p);
                for (unsigned k = dice_below(&p.dice, 4); k > 0; k--) {
                    act(&p); /* not to its end */
                    if (!p.pending && dice_one_in(&p.dice, 2))
                        new_desired(&p);
                }
                break;
            }
            settle(&p, round);
            check_settled(&p, round);
        }
        commands += p.commands;
        updates += p.updates;
        transactions += p.transactions;
        restored += p.restored;
        end(&p);
    }
    ck_assert_msg(commands > (unsigned)effort(10000) && updates > (unsigned)effort(10000) &&
                      transactions > (unsigned)effort(3000) && restored > (unsigned)effort(1000),
                  "the plays are worth something: %u, %u, %u, %u", commands, updates, transactions, restored);
}
