/* HAProxies in sync and the history of what is done to them. */
#ifndef TESTS_HISTORY_WORLD_H
#define TESTS_HISTORY_WORLD_H

#include "runtime_update_world.h"

#define MINUTE_MS 60000ull

static uint64_t heard; /* entries that a test has looked at */

/* The kinds since the last call, oldest first: "committed in_step". */
static inline void assert_journal(const char *expected)
{
    cleanup(buf_fini) struct buf kinds;
    buf_init(&kinds, 0);
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

static inline void setup(void)
{
    heard = 0;
    world_make();
}

static inline void setup_routes(void)
{
    heard = 0;
    three_in_sync();
}

static inline TCase *with(Suite *s, const char *name, void (*before)(void))
{
    TCase *t = tcase_create(name);
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, before, world_end);
    suite_add_tcase(s, t);
    return t;
}

#endif
