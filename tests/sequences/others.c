/* What others do: hand edits, restarts, transactions, an operator's commands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "base/mem.h"
#include "world.h"

#define NOTICED_US 65000000 /* two readings */
#define LOOK_US 45000000    /* the next one */
#define FIGHT_US 600000000

static bool is_managed_otherwise(const struct section *was, const struct section *is)
{
    for (size_t i = 0; i < was->count; i++) {
        struct server line = was->servers[i];
        const struct server *to = section_find((struct section *)(uintptr_t)is, line.name);
        if (to != NULL) { /* what is an operator's of it */
            line.maxconn = to->maxconn;
            memcpy(line.options, to->options, sizeof(line.options));
        }
        if (server_is_ours(&line) && (to == NULL || !server_eq(&line, to)))
            return true;
    }
    return false;
}

/* Three times within ten minutes, or again within ten after the pause, and the daemon leaves a backend alone for ten; what it has not
 * written to since is undone once. */
static void note_undone(struct api *a, const struct conf *to)
{
    uint64_t now = a->world->now_us;
    for (size_t b = 0; b < OURS; b++) {
        uint64_t *at = a->undone_us[b];
        bool other = is_managed_otherwise(&a->memory.of[b], &to->of[b]) ||
                     is_managed_otherwise(&to->of[b], &a->memory.of[b]) ||
                     a->memory.of[b].default_maintenance != to->of[b].default_maintenance;
        if (!other || (at[0] != 0 && a->undone_written[b] == a->written))
            continue;
        bool again = a->fought_us[b] != 0 && now < a->fought_us[b] + 2 * FIGHT_US + LOOK_US;
        memmove(&at[1], &at[0], 2 * sizeof(at[0]));
        at[0] = now;
        a->undone_written[b] = a->written;
        if (again || (at[2] != 0 && now < at[2] + FIGHT_US + LOOK_US))
            a->fought_us[b] = now;
    }
}

void api_leave_states(struct api *a)
{
    for (size_t b = 0; b < OURS && a->world->settings.whole == 0; b++) {
        for (size_t i = 0; i < a->running.of[b].count; i++) {
            struct running_server *is = &a->running.of[b].servers[i];
            const struct server *line = section_find(&a->memory.of[b], is->name);
            is->unchecked = is->unchecked && a->local.unloaded;
            if (is->admin != READY && line != NULL && !section_says_maintenance(&a->memory.of[b], line))
                api_operate(a, b, is->name, is->admin);
        }
    }
}

/* While the API is down nobody counts its version on. */
static void remember_operator(struct api *a, size_t backend, const char *name, enum admin admin)
{
    size_t i = 0;
    while (i < a->operator_count && (a->operators[i].backend != backend || strcmp(a->operators[i].name, name) != 0))
        i++;
    if (i == OPERATORS_MAX)
        return;
    if (i == a->operator_count)
        a->operator_count++;
    a->operators[i] = (struct operator_state){.backend = backend, .admin = admin, .at_us = a->world->now_us};
    snprintf(a->operators[i].name, NAME_BYTES, "%s", name);
}

/* What an earlier daemon has put out, and the file says so no more before this one has read it at rest: whose it is, it cannot
 * know. */
static void leave_unlooked(struct api *a, const struct conf *to)
{
    for (size_t b = 0; b < OURS && a->world->settings.routes != 0; b++) {
        for (size_t i = 0; i < a->running.of[b].count && !a->looked[b]; i++) {
            const struct running_server *is = &a->running.of[b].servers[i];
            struct section *was = &a->memory.of[b], *s = (struct section *)(uintptr_t)&to->of[b];
            const struct server *line = section_find(was, is->name), *now = section_find(s, is->name);
            if (is->admin != READY && line != NULL && section_says_maintenance(was, line) && now != NULL &&
                server_is_ours(now) && !section_says_maintenance(s, now))
                remember_operator(a, b, is->name, is->admin);
        }
    }
}

void api_edit(struct api *a, const struct conf *to, bool reload)
{
    bool down = a->api_back_us > a->world->now_us;
    int64_t version = down ? a->on_disk.version : a->memory.version + 1;
    bool loses_note = a->local.unloaded && (a->world->targets == NULL || a->local.unloaded_life != a->world->life);
    note_undone(a, to);
    leave_unlooked(a, to);
    a->on_disk = *to;
    a->on_disk.version = version;
    a->memory = a->on_disk;
    a->local.unloaded = a->local.unloaded && down; /* else the note is of a version that is past */
    local_edited(a);
    a->local.behind = true;
    a->touched_us = a->edited_us = a->world->now_us;
    a->unseen_until_us = down ? a->api_back_us + LOOK_US : 0;
    if (reload || a->world->settings.routes == 0) /* what runs is not read then */
        api_reload_by_hand(a);
    if (loses_note) /* that a daemon which has ended wrote the file, and did not load it */
        api_leave_states(a);
}

/* Two of them in a row are accepted by the daemon, where HAProxy runs the file as far as it can be read; whether it checks is none of
 * that. */
static void forget_load(struct api *a)
{
    a->forgotten_loads += a->reload_pending;
    for (size_t b = 0; b < OURS && a->world->settings.whole == 0 && a->forgotten_loads > 1; b++)
        for (size_t i = 0; i < a->running.of[b].count; i++)
            a->running.of[b].servers[i].unchecked = false;
}

void api_restart(struct api *a, uint64_t down_us)
{
    forget_load(a);
    a->memory = a->on_disk;
    free(a->whole.answered);
    a->whole.answered = mem_strdup(a->local.text);
    a->shown_version = -1;
    a->whole.load_lost = a->whole.load_lost || a->reload_pending;
    a->reload_pending = false;
    a->reload_number = 0;
    memset(a->outcomes, 0, sizeof(a->outcomes));
    a->api_back_us = a->world->now_us + down_us;
    a->touched_us = a->troubled_us = a->api_back_us;
}

void api_restart_haproxy(struct api *a, uint64_t down_us)
{
    a->haproxy_back_us = a->world->now_us + down_us + 1;
    a->touched_us = a->troubled_us = a->haproxy_back_us;
}

void api_reload_by_hand(struct api *a)
{
    if (a->haproxy_back_us != 0 || local_is_broken(a))
        return;
    a->good = a->on_disk;
    running_load(&a->running, &a->on_disk);
    whole_api_loaded(a);
    a->pid++;
    a->pid_since_us = a->touched_us = a->world->now_us;
}

unsigned api_count_transactions(const struct api *a, bool foreign)
{
    unsigned count = 0;
    for (size_t i = 0; i < array_len(a->transactions); i++)
        count += a->transactions[i].number != 0 && a->transactions[i].status == IN_PROGRESS &&
                 a->transactions[i].foreign == foreign;
    return count;
}

bool api_has_no_room(const struct api *a)
{
    return api_count_transactions(a, true) + api_count_transactions(a, false) >= TRANSACTIONS_MAX;
}

unsigned api_count_forgotten(const struct api *a)
{
    unsigned count = api_count_transactions(a, false);
    for (size_t i = 0; i < array_len(a->transactions); i++)
        count -= a->transactions[i].number != 0 && a->transactions[i].status == IN_PROGRESS && a->transactions[i].lost;
    return count;
}

void api_begin_foreign(struct api *a, unsigned count)
{
    for (size_t i = 0; i < array_len(a->transactions) && count > 0; i++) {
        struct transaction *t = &a->transactions[i];
        if (t->number != 0 || api_has_no_room(a))
            continue;
        *t = (struct transaction){.number = ++a->transaction_number,
                                  .version = a->memory.version,
                                  .foreign = true,
                                  .decided = {.us = a->world->now_us, .reading = a->world->readings},
                                  .conf = mem_alloc(sizeof(*t->conf))};
        *t->conf = a->memory;
        count--;
    }
    a->touched_us = a->world->now_us;
}

void api_end_transactions(struct api *a, bool foreign)
{
    for (size_t i = 0; i < array_len(a->transactions); i++)
        if (a->transactions[i].number != 0 && a->transactions[i].foreign == foreign)
            api_end_transaction(&a->transactions[i]);
}

void api_operate(struct api *a, size_t backend, const char *name, enum admin admin)
{
    struct running_server *is = running_find(&a->running, backend, name);
    if (is == NULL || a->haproxy_back_us != 0 || a->world->settings.routes == 0)
        return;
    is->admin = admin;
    remember_operator(a, backend, name, admin);
    a->touched_us = a->world->now_us;
}

static struct operator_state *find_operator(const struct api *a, size_t backend, const char *name)
{
    for (size_t i = 0; i < a->operator_count; i++)
        if (a->operators[i].backend == backend && strcmp(a->operators[i].name, name) == 0)
            return (struct operator_state *)(uintptr_t)&a->operators[i];
    return NULL;
}

void api_put_out(struct api *a, size_t backend, const char *name, bool out)
{
    const struct running_server *is = running_find(&a->running, backend, name);
    struct operator_state *o = find_operator(a, backend, name);
    if (out && o == NULL) {
        remember_operator(a, backend, name, READY);
        o = find_operator(a, backend, name);
        if (o != NULL)
            o->in_file = true;
    } else if (!out && o != NULL && is != NULL && is->admin != READY && a->world->now_us < o->at_us + NOTICED_US) {
        o->in_file = false;
    } else if (!out && o == NULL && is != NULL && is->admin != READY && a->pid_since_us > a->read_us) {
        remember_operator(a, backend, name, is->admin); /* another writer had put it out, and loaded that, unseen */
    }
}

bool api_is_operated(const struct api *a, size_t backend, const char *name)
{
    const struct operator_state *o = find_operator(a, backend, name);
    return o != NULL && !o->in_file;
}

void api_add_fault(struct api *a, struct fault f)
{
    for (size_t i = 0; i < FAULTS_MAX; i++) {
        if (a->faults[i].asks == 0) {
            a->faults[i] = f;
            return;
        }
    }
}

void api_mend(struct api *a)
{
    memset(a->faults, 0, sizeof(a->faults));
    local_mend(a);
    clusters_mend(a);
    a->fail_reloads = a->whole.refuse_actions = a->dies_asks = 0;
    a->other_writer = 0;
    a->other_writer_due_us = 0;
    api_end_transactions(a, true);
    if (a->troubled_us < a->world->now_us) /* what hangs does so until it is answered */
        a->troubled_us = a->world->now_us;
}
