/* HAProxies in sync and the history of what is done to them. */
#ifndef TESTS_HISTORY_WORLD_H
#define TESTS_HISTORY_WORLD_H

#include "scenes.h"

#define MINUTE_MS 60000ull

static uint64_t heard; /* entries that a test has looked at */

/* The kinds since the last call, oldest first: "committed in_step". */
static inline void assert_journal(const char *expected)
{
    cleanup(buf_fini) struct buf kinds = {0};
    for (size_t i = history_count(w.history); i-- > 0;) {
        const struct history_entry *e = history_at(w.history, i);
        if (e->number <= heard)
            continue;
        buf_printf(&kinds, "%s%s", kinds.len > 0 ? " " : "", history_kind_name(e->kind));
        heard = e->number;
    }
    ck_assert_str_eq(buf_str(&kinds), expected);
}

/* The newest entry of that kind. */
static inline const struct history_entry *entry(enum history_kind kind)
{
    for (size_t i = 0; i < history_count(w.history); i++)
        if (history_at(w.history, i)->kind == kind)
            return history_at(w.history, i);
    ck_abort_msg("no entry of the kind %s", history_kind_name(kind));
    return NULL;
}

static inline void assert_says(const char *text, const char *part)
{
    ck_assert_msg(text != NULL && strstr(text, part) != NULL, "no \"%s\" in \"%s\"", part, text != NULL ? text : "");
}

static void history_begin(void)
{
    heard = 0;
}

static inline void edit(const char *set)
{
    set_copy(w.have.of[0], set);
    w.file = w.running = w.have;
    w.version++;
    w.file_version = w.version;
}

static inline void assert_no_drift(void)
{
    for (size_t i = 0; i < history_count(w.history); i++)
        ck_assert_msg(history_at(w.history, i)->kind != HISTORY_DRIFT_REPAIRED, "%s", history_at(w.history, i)->text);
}

/* "entry committed text=...": of the newest of that kind; "why~...": it is part of it; "state=": there is none. */
static inline void play_entry(char *rest)
{
    const struct history_entry *e = NULL;
    const char *kind = strsep(&rest, " "), *field = rest;
    rest += strcspn(rest, "=~");
    bool part = rest[0] == '~';
    *rest++ = '\0';
    for (size_t i = 0; i < history_count(w.history) && e == NULL; i++)
        if (str_eq(history_kind_name(history_at(w.history, i)->kind), kind))
            e = history_at(w.history, i);
    expect(e != NULL, "no such entry");
    const struct {
        const char *field, *have;
    } fields[] = {{"text", e->text},     {"why", e->why},         {"cause", e->cause}, {"target", e->target},
                  {"server", e->server}, {"backend", e->backend}, {"state", e->state}};
    size_t i = 0;
    while (i + 1 < array_len(fields) && !str_eq(field, fields[i].field))
        i++;
    const char *have = fields[i].have != NULL ? fields[i].have : "";
    expect(str_eq(field, fields[i].field) && (part ? strstr(have, rest) != NULL : str_eq(have, rest)), have);
}

/* "journal committed in_sync"; "took committed": some time; "latency in_sync reload": at least so much; "edit n1 n7": by hand. */
static inline bool history_word(const char *word, char *rest)
{
    if (str_eq(word, "journal")) {
        assert_journal(rest);
    } else if (str_eq(word, "entry")) {
        play_entry(rest);
    } else if (str_eq(word, "edit")) {
        edit(rest);
    } else if (str_eq(word, "no-drift")) {
        assert_no_drift();
    } else if (str_eq(word, "took") || str_eq(word, "latency")) {
        const char *kind = strsep(&rest, " ");
        const struct history_entry *e = entry(str_eq(kind, "committed") ? HISTORY_COMMITTED
                                              : str_eq(kind, "in_sync") ? HISTORY_IN_SYNC
                                                                        : HISTORY_RUNTIME_COMMAND);
        uint64_t us = word[0] == 't' ? e->took_us : e->latency_us;
        expect(us > 0 && us >= (rest != NULL ? ms_of(rest) * 1000 : 0), "it is less");
    } else {
        return false;
    }
    return true;
}

#endif
