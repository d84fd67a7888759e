#include "report/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"

/* All that an entry points to is here. */
struct kept {
    struct journal_entry entry;
    char *texts[7];
};

struct journal {
    struct kept
        kept[JOURNAL_SIZE]; /* a ring: `added` of them were written, the last one at (added - 1) % JOURNAL_SIZE */
    uint64_t added;
    LIST_HEAD(journal_listeners, journal_listener) listeners;
};

static const char *const names[] = {
    [JOURNAL_COMMITTED] = "committed",
    [JOURNAL_FAST_WRITE] = "fast_write",
    [JOURNAL_TOLD] = "told",
    [JOURNAL_RELOAD_AGAIN] = "reload_again",
    [JOURNAL_IN_STEP] = "in_step",
    [JOURNAL_HELD_BACK] = "held_back",
    [JOURNAL_WITHHELD] = "withheld",
    [JOURNAL_APPLY_FAILED] = "apply_failed",
    [JOURNAL_RELOAD_FAILED] = "reload_failed",
    [JOURNAL_DRIFT_REPAIRED] = "drift_repaired",
};

const char *journal_kind_name(enum journal_kind kind)
{
    return names[kind];
}

static void kept_clear(struct kept *k)
{
    for (size_t i = 0; i < array_len(k->texts); i++)
        free(k->texts[i]);
    *k = (struct kept){0};
}

struct journal *journal_new(void)
{
    struct journal *j = mem_alloc(sizeof(*j));
    LIST_INIT(&j->listeners);
    return j;
}

void journal_free(struct journal *j)
{
    if (j == NULL)
        return;
    for (size_t i = 0; i < JOURNAL_SIZE; i++)
        kept_clear(&j->kept[i]);
    free(j);
}

static const char *keep(char **at, const char *text)
{
    if (text == NULL)
        return NULL;
    *at = strnlen(text, JOURNAL_TEXT_MAX_BYTES + 1) <= JOURNAL_TEXT_MAX_BYTES
              ? mem_strdup(text)
              : mem_printf("%.*s...", (int)utf8_cut(text, JOURNAL_TEXT_MAX_BYTES - 3), text);
    return *at;
}

void journal_add(struct journal *j, const struct journal_entry *e)
{
    if (j == NULL)
        return;
    struct kept *k = &j->kept[j->added % JOURNAL_SIZE];
    kept_clear(k);
    k->entry = (struct journal_entry){
        .kind = e->kind,
        .number = ++j->added,
        .wall_ms = clock_wall_ms(),
        .target = keep(&k->texts[0], e->target),
        .backend = keep(&k->texts[1], e->backend),
        .server = keep(&k->texts[2], e->server),
        .state = keep(&k->texts[3], e->state),
        .text = keep(&k->texts[4], e->text),
        .why = keep(&k->texts[5], e->why),
        .cause = keep(&k->texts[6], e->cause),
        .took_us = e->took_us,
        .reaction_us = e->reaction_us,
    };
    struct journal_listener *l, *next;
    for (l = LIST_FIRST(&j->listeners); l != NULL; l = next) {
        next = LIST_NEXT(l, entry);
        l->added(l->arg, &k->entry);
    }
}

size_t journal_count(const struct journal *j)
{
    return j->added < JOURNAL_SIZE ? (size_t)j->added : JOURNAL_SIZE;
}

const struct journal_entry *journal_at(const struct journal *j, size_t i)
{
    return &j->kept[(j->added - 1 - i) % JOURNAL_SIZE].entry;
}

void journal_listen(struct journal *j, struct journal_listener *l)
{
    LIST_INSERT_HEAD(&j->listeners, l, entry);
}

void journal_forget_listener(struct journal_listener *l)
{
    LIST_REMOVE(l, entry);
}
