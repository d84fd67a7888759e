#include "report/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

/* All that an entry points to is here. */
struct kept {
    struct history_entry entry;
    char *texts[7];
};

struct history {
    struct kept
        kept[HISTORY_SIZE]; /* a ring: `added` of them were written, the last one at (added - 1) % HISTORY_SIZE */
    uint64_t added;
    LIST_HEAD(history_listeners, history_listener) listeners;
};

static const char *const names[] = {
    [HISTORY_COMMITTED] = "committed",
    [HISTORY_RUNTIME_UPDATE] = "runtime_update",
    [HISTORY_RUNTIME_COMMAND] = "runtime_command",
    [HISTORY_RELOAD_AGAIN] = "reload_again",
    [HISTORY_IN_SYNC] = "in_sync",
    [HISTORY_REMOVAL_DELAYED] = "removal_delayed",
    [HISTORY_NOT_WRITTEN] = "not_written",
    [HISTORY_APPLY_FAILED] = "apply_failed",
    [HISTORY_RELOAD_FAILED] = "reload_failed",
    [HISTORY_DRIFT_REPAIRED] = "drift_repaired",
    [HISTORY_CONFIG_APPLIED] = "config_applied",
    [HISTORY_CONFIG_REJECTED] = "config_rejected",
    [HISTORY_CONFIG_DRIFTED] = "config_drifted",
    [HISTORY_CONFIG_ROLLED_BACK] = "config_rolled_back",
};

const char *history_kind_name(enum history_kind kind)
{
    return names[kind];
}

static void kept_clear(struct kept *k)
{
    for (size_t i = 0; i < array_len(k->texts); i++)
        free(k->texts[i]);
    *k = (struct kept){0};
}

struct history *history_new(void)
{
    struct history *j = mem_alloc(sizeof(*j));
    LIST_INIT(&j->listeners);
    return j;
}

void history_free(struct history *j)
{
    if (j == NULL)
        return;
    for (size_t i = 0; i < HISTORY_SIZE; i++)
        kept_clear(&j->kept[i]);
    free(j);
}

static const char *history_keep(char **at, const char *text)
{
    if (text == NULL)
        return NULL;
    return *at = text_shown(text, TEXT_AS_IS, HISTORY_TEXT_MAX_BYTES);
}

void history_add(struct history *j, const struct history_entry *e)
{
    if (j == NULL)
        return;
    struct kept *k = &j->kept[j->added % HISTORY_SIZE];
    kept_clear(k);
    k->entry = (struct history_entry){
        .kind = e->kind,
        .number = ++j->added,
        .wall_ms = clock_wall_ms(),
        .target = history_keep(&k->texts[0], e->target),
        .backend = history_keep(&k->texts[1], e->backend),
        .server = history_keep(&k->texts[2], e->server),
        .state = history_keep(&k->texts[3], e->state),
        .text = history_keep(&k->texts[4], e->text),
        .why = history_keep(&k->texts[5], e->why),
        .cause = history_keep(&k->texts[6], e->cause),
        .took_us = e->took_us,
        .latency_us = e->latency_us,
    };
    struct history_listener *l, *next;
    for (l = LIST_FIRST(&j->listeners); l != NULL; l = next) {
        next = LIST_NEXT(l, entry);
        l->added(l->arg, &k->entry);
    }
}

size_t history_count(const struct history *j)
{
    return j->added < HISTORY_SIZE ? (size_t)j->added : HISTORY_SIZE;
}

const struct history_entry *history_at(const struct history *j, size_t i)
{
    return &j->kept[(j->added - 1 - i) % HISTORY_SIZE].entry;
}

void history_listen(struct history *j, struct history_listener *l)
{
    LIST_INSERT_HEAD(&j->listeners, l, entry);
}

void history_forget_listener(struct history_listener *l)
{
    LIST_REMOVE(l, entry);
}
