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
    [HISTORY_KEPT] = "kept",
    [HISTORY_PAUSED] = "paused",
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

void history_add(struct history *j, const struct history_entry *e)
{
    static const size_t texts[] = {offsetof(struct history_entry, target), offsetof(struct history_entry, backend),
                                   offsetof(struct history_entry, server), offsetof(struct history_entry, state),
                                   offsetof(struct history_entry, text),   offsetof(struct history_entry, why),
                                   offsetof(struct history_entry, cause)};
    if (j == NULL)
        return;
    struct kept *k = &j->kept[j->added % HISTORY_SIZE];
    kept_clear(k);
    k->entry = *e;
    k->entry.number = ++j->added;
    k->entry.wall_ms = (int64_t)clock_wall_ms();
    for (size_t i = 0; i < array_len(texts); i++) {
        const char **text = (const char **)((char *)&k->entry + texts[i]);
        k->texts[i] = *text != NULL ? text_shown(*text, TEXT_AS_IS, HISTORY_TEXT_MAX_BYTES) : NULL;
        *text = k->texts[i];
    }
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
