#include "daemon/wisher.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/mappings.h"

#define SKIPS_IN_A_LINE 10
#define REPEAT_LOG_MS 60000
#define REPEAT_NOTE_MS 86400000 /* a setting that has no effect is no trouble */

void wisher_init(struct wisher *w, const struct mapping *mapping)
{
    *w = (struct wisher){.mapping = mapping};
    w->skip_limit.period_ms = w->wait_limit.period_ms = REPEAT_LOG_MS;
    w->note_limit.period_ms = REPEAT_NOTE_MS;
}

void wisher_fini(struct wisher *w)
{
    desired_unref(w->last);
    free(w->last_announced);
    free(w->cause);
}

void wisher_set_cause(struct wisher *w, const char *cause)
{
    free(w->cause);
    w->cause = mem_strdup(cause);
}

/* Names of the servers that are out with notice. It may come after they went: no server differs then, but the brake, which
 * holds them, has to let them go. */
static char *announced_names(const struct desired *wish)
{
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < wish->skip_count; i++)
        if (wish->skips[i].announced && wish->skips[i].server != NULL)
            buf_printf(&b, "%s ", wish->skips[i].server);
    return buf_take(&b);
}

bool wisher_take(struct wisher *w, const struct desired *wish)
{
    cleanup(mem_free_ptr) char *announced = announced_names(wish);
    bool same = w->last != NULL && desired_eq(wish, w->last) && str_eq(announced, w->last_announced);
    desired_unref(w->last);
    w->last = desired_ref(wish);
    free(w->last_announced);
    w->last_announced = announced;
    announced = NULL;
    return !same;
}

void wisher_forget_told(struct wisher *w)
{
    free(w->last_announced);
    w->last_announced = NULL;
}

static void log_skips(struct wisher *w, const struct desired *wish, const struct log *log)
{
    /* Endpoints that are just not ready are everyday life; what is left out for another reason is worth a line. */
    cleanup(buf_fini) struct buf text;
    size_t count = 0;
    unsigned held_back;
    buf_init(&text, 0);
    for (size_t i = 0; i < wish->skip_count; i++)
        if (!wish->skips[i].ordinary && count++ < SKIPS_IN_A_LINE)
            buf_printf(&text, "%s%s: %s", count > 1 ? "; " : "", wish->skips[i].subject, wish->skips[i].reason);
    if (count > 0 && log_limit_pass(&w->skip_limit, clock_mono_ms(), buf_str(&text), &held_back))
        log_warn(log, "left out", log_str("backend", w->mapping->backend), log_int("count", count),
                 log_str("what", buf_str(&text)));
}

static void log_wait(struct wisher *w, const struct desired *wish, const struct log *log)
{
    unsigned held_back;
    if (wish == NULL || wish->state != DESIRED_UNDECIDED ||
        !log_limit_pass(&w->wait_limit, clock_mono_ms(), wish->problem, &held_back))
        return;
    log_error(log, "cannot decide which servers HAProxy should have; nothing is written",
              log_str("backend", w->mapping->backend), log_str("why", wish->problem));
}

static void log_note(struct wisher *w, const struct desired *wish, const struct log *log)
{
    unsigned held_back;
    if (wish->note != NULL && log_limit_pass(&w->note_limit, clock_mono_ms(), wish->note, &held_back))
        log_warn(log, "a setting has no effect", log_str("backend", w->mapping->backend), log_str("what", wish->note));
}

void wisher_log(struct wisher *w, const struct desired *wish, const struct log *log)
{
    log_skips(w, wish, log);
    log_wait(w, wish, log);
    log_note(w, wish, log);
}

void wisher_log_wait(struct wisher *w, const struct log *log)
{
    log_wait(w, w->last, log);
}
