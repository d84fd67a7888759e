#include "daemon/mapping_state.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/mappings.h"

#define SKIPS_IN_A_LINE 10
#define REPEAT_LOG_MS 60000
#define REPEAT_NOTE_MS 86400000 /* a setting without effect is no problem */

void mapping_state_init(struct mapping_state *w, const struct mapping *mapping)
{
    *w = (struct mapping_state){.mapping = mapping};
    w->skip_limit.period_ms = w->wait_limit.period_ms = REPEAT_LOG_MS;
    w->note_limit.period_ms = REPEAT_NOTE_MS;
}

void mapping_state_fini(struct mapping_state *w)
{
    desired_unref(w->last);
    free(w->last_announced);
    free(w->cause);
}

void mapping_state_set_cause(struct mapping_state *w, const char *cause)
{
    free(w->cause);
    w->cause = mem_strdup(cause);
}

/* Names of the servers whose end was announced. The announcement may come after they went: no server differs then, but the loss
 * limit has to stop delaying their removal. */
static char *announced_names(const struct desired *desired)
{
    struct buf b = {0};
    for (size_t i = 0; i < desired->skip_count; i++)
        if (desired->skips[i].announced && desired->skips[i].server != NULL)
            buf_printf(&b, "%s ", desired->skips[i].server);
    return buf_take(&b);
}

bool mapping_state_take(struct mapping_state *w, const struct desired *desired)
{
    cleanup(mem_free_ptr) char *announced = announced_names(desired);
    bool same = w->last != NULL && desired_eq(desired, w->last) && str_eq(announced, w->last_announced);
    desired_unref(w->last);
    w->last = desired_ref(desired);
    free(w->last_announced);
    w->last_announced = announced;
    announced = NULL;
    return !same;
}

void mapping_state_forget_sent(struct mapping_state *w)
{
    free(w->last_announced);
    w->last_announced = NULL;
}

static void log_skips(struct mapping_state *w, const struct desired *desired, const struct log *log)
{
    /* Endpoints that are not ready are ordinary; what is left out for another reason is logged. */
    cleanup(buf_fini) struct buf text = {0};
    size_t count = 0;
    unsigned held_back;
    for (size_t i = 0; i < desired->skip_count; i++)
        if (!desired->skips[i].ordinary && count++ < SKIPS_IN_A_LINE) {
            cleanup(mem_free_ptr) char *skip = desired_skip_text(desired, &desired->skips[i]);
            buf_printf(&text, "%s%s", count > 1 ? "; " : "", skip);
        }
    if (count > 0 && log_limit_pass(&w->skip_limit, clock_mono_ms(), buf_str(&text), &held_back))
        log_warn(log, "nodes or endpoints left out", log_str("backend", w->mapping->backend), log_int("count", count),
                 log_str("what", buf_str(&text)));
}

static void log_wait(struct mapping_state *w, const struct desired *desired, const struct log *log)
{
    unsigned held_back;
    if (desired == NULL || desired->state != DESIRED_UNDECIDED ||
        !log_limit_pass(&w->wait_limit, clock_mono_ms(), desired->problem, &held_back))
        return;
    log_error(log, "mapping undecided; nothing is written", log_str("backend", w->mapping->backend),
              log_str("why", desired->problem));
}

void mapping_state_log(struct mapping_state *w, const struct desired *desired, const struct log *log)
{
    log_skips(w, desired, log);
    log_wait(w, desired, log);
    unsigned held_back;
    if (desired->note != NULL && log_limit_pass(&w->note_limit, clock_mono_ms(), desired->note, &held_back))
        log_warn(log, "a setting has no effect", log_str("backend", w->mapping->backend),
                 log_str("what", desired->note));
}

void mapping_state_log_wait(struct mapping_state *w, const struct log *log)
{
    log_wait(w, w->last, log);
}
