#include "configuration/probation.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "configuration/promised.h"

#define SILENT_MAX 3 /* readings in a row, as below */
#define CHANGES_MAX 2
#define MISSING_MAX 2
#define NONE_UP_MAX 4
#define SETTLE_MS 1000 /* after the daemon's own reload, which was verified */
#define OTHERS_RELOAD_MS \
    10000 /* a Data Plane API puts off the reload of what another client wrote, by 5 s by default */
#define NAMES_SHOWN 5

const char *probation_reason_name(enum probation_reason r)
{
    static const char *const names[] = {
        [PROBATION_WORKER] = "worker", [PROBATION_LISTENER] = "listener", [PROBATION_BACKEND] = "backend"};
    return names[r];
}

/* ---- what is expected ---- */

static void probation_items_fini(struct probation_items *items)
{
    for (size_t i = 0; i < items->count; i++)
        free(items->list[i].name);
    free(items->list);
    *items = (struct probation_items){0};
}

static void probation_items_add(struct probation_items *items, const char *name)
{
    items->list[items->count++] = (struct probation_item){.name = mem_strdup(name)};
}

/* ---- from outside ---- */

void probation_end(struct probation *w)
{
    w->state = PROBATION_NONE;
    probation_items_fini(&w->listeners);
    probation_items_fini(&w->backends);
    error_clear(&w->evidence);
    w->silent = w->worker.changes = 0;
    w->worker.gap = false;
}

void probation_forget(struct probation *w)
{
    served_fini(&w->baseline);
    served_fini(&w->last);
    w->asked = false;
    w->worker = (struct probation_worker){0};
}

void probation_fini(struct probation *w)
{
    probation_end(w);
    probation_forget(w);
}

static void probation_note_worker(struct probation *w, const struct served *s, unsigned reloads)
{
    struct probation_worker *k = &w->worker;
    if (s->pid != k->pid)
        k->before = k->pid;
    k->pid = s->pid;
    k->uptime_s = s->uptime_s;
    k->reloads = reloads;
    k->version = s->version;
}

void probation_baseline(struct probation *w, const struct served *s, unsigned reloads)
{
    w->asked = true;
    if (s == NULL || !s->answers)
        return;
    served_copy(&w->baseline, s);
    served_copy(&w->last, s);
    probation_note_worker(w, s, reloads);
}

void probation_begin(struct probation *w, const struct cfg_file *file, uint64_t now_ms, uint64_t time_ms)
{
    struct promised p;
    probation_end(w);
    w->state = PROBATION_GOES_ON;
    w->since_ms = w->next_ms = now_ms;
    w->time_ms = time_ms;
    w->worker.version = -1; /* the write's */
    if (file == NULL)
        return;
    promised_init(&p, file);
    w->listeners.list = mem_array(p.listeners.count, sizeof(w->listeners.list[0]));
    for (size_t i = 0; i < p.listeners.count; i++) {
        const struct served_proxy *before = served_find(&w->baseline.frontends, p.listeners.list[i]);
        if (before == NULL || before->open) /* else it was stopped before */
            probation_items_add(&w->listeners, p.listeners.list[i]);
    }
    w->backends.list = mem_array(p.backends.count, sizeof(w->backends.list[0]));
    for (size_t i = 0; i < p.backends.count; i++)
        if (served_up(&w->baseline, p.backends.list[i]) > 0)
            probation_items_add(&w->backends, p.backends.list[i]);
    promised_fini(&p);
}

uint64_t probation_due(const struct probation *w)
{
    return w->state == PROBATION_GOES_ON ? w->next_ms : 0;
}

/* ---- a reading ---- */

static void probation_read_worker(struct probation *w, const struct served *s, unsigned reloads, uint64_t now_ms)
{
    struct probation_worker *k = &w->worker;
    bool known = k->pid != 0, other = s->pid != k->pid || s->uptime_s < k->uptime_s, gap = k->gap;
    k->gap = false;
    if (known) { /* until when another process is one that a writer asked for */
        bool written = k->version >= 0 && s->version >= 0 && k->version != s->version;
        uint64_t until_ms = written ? now_ms + OTHERS_RELOAD_MS : reloads != k->reloads ? now_ms + SETTLE_MS : 0;
        if (k->settled_ms < until_ms)
            k->settled_ms = until_ms;
    }
    if (known && s->pid == k->before && now_ms >= k->settled_ms)
        return; /* for a moment it answers beside the new one */
    if (known && other && now_ms >= k->settled_ms && (++k->changes >= CHANGES_MAX || gap)) {
        (void)error_set(&w->evidence, ERROR_INVALID, "HAProxy's process %lld is gone, and %lld answers",
                        (long long)k->pid, (long long)s->pid);
        w->state = PROBATION_BAD;
        w->reason = PROBATION_WORKER;
        return;
    }
    probation_note_worker(w, s, reloads);
}

static void probation_read_listeners(struct probation *w, const struct served *s)
{
    struct text_list names = {.between = ", ", .max = NAMES_SHOWN};
    for (size_t i = 0; i < w->listeners.count; i++) {
        struct probation_item *item = &w->listeners.list[i];
        const struct served_proxy *p = served_find(&s->frontends, item->name);
        item->bad = p != NULL && p->open ? 0 : item->bad + 1;
        if (item->bad >= MISSING_MAX && text_list_next(&names))
            buf_add(&names.text, item->name);
    }
    cleanup(mem_free_ptr) char *list = text_list_take(&names);
    if (list == NULL)
        return;
    (void)error_set(&w->evidence, ERROR_INVALID, "HAProxy takes no connections for: %s", list);
    w->state = PROBATION_BAD;
    w->reason = PROBATION_LISTENER;
}

bool probation_is_to_judge(const struct probation *w)
{
    for (size_t i = 0; i < w->backends.count && w->state == PROBATION_GOES_ON; i++)
        if (w->backends.list[i].lost && !w->backends.list[i].judged)
            return true;
    return false;
}

/* What is on its way to be evidence is waited for. */
static void probation_end_in_time(struct probation *w, uint64_t now_ms)
{
    bool clear = true;
    for (size_t i = 0; i < w->listeners.count; i++)
        clear = clear && w->listeners.list[i].bad == 0;
    for (size_t i = 0; i < w->backends.count; i++)
        clear = clear && (w->backends.list[i].bad == 0 || w->backends.list[i].judged);
    if (w->state == PROBATION_GOES_ON && now_ms - w->since_ms >= w->time_ms && clear)
        w->state = PROBATION_GOOD;
}

void probation_read(struct probation *w, const struct served *s, unsigned reloads, uint64_t now_ms)
{
    w->next_ms = now_ms + PROBATION_READ_MS;
    if (s->answers)
        served_copy(&w->last, s);
    if (w->state != PROBATION_GOES_ON)
        return;
    if (!s->answers && w->worker.pid == 0)
        return; /* nor did it before: perhaps it cannot be asked at all */
    w->silent = s->answers ? 0 : w->silent + 1;
    w->worker.gap = w->worker.gap || !s->answers;
    if (w->silent >= SILENT_MAX) {
        (void)error_set(&w->evidence, ERROR_INVALID, "HAProxy does not answer any more");
        w->state = PROBATION_BAD;
        w->reason = PROBATION_WORKER;
    }
    if (!s->answers)
        return;
    probation_read_worker(w, s, reloads, now_ms);
    if (w->state == PROBATION_GOES_ON && s->lists)
        probation_read_listeners(w, s);
    if (w->state == PROBATION_GOES_ON && s->lists) {
        uint64_t for_ms = w->time_ms < PROBATION_LEAST_MS ? w->time_ms : PROBATION_LEAST_MS;
        for (size_t i = 0; i < w->backends.count; i++) {
            struct probation_item *item = &w->backends.list[i];
            bool up = served_up(s, item->name) > 0;
            item->bad = up ? 0 : item->bad + 1;
            item->was_up = item->was_up || up;
            item->lost = item->bad >= NONE_UP_MAX && (item->was_up || now_ms - w->since_ms >= for_ms);
        }
    }
    probation_end_in_time(w, now_ms);
}

void probation_unread(struct probation *w, bool never, uint64_t now_ms)
{
    w->next_ms = now_ms + PROBATION_READ_MS;
    if (never)
        probation_end_in_time(w, now_ms);
}

/* ---- backends ---- */

bool probation_has_none(const struct probation *w, const char *backend)
{
    return w->last.lists && served_up(&w->baseline, backend) > 0 && served_up(&w->last, backend) == 0;
}

void probation_judge(struct probation *w, bool (*elsewhere)(const void *arg, const char *backend), const void *arg,
                     struct error *ret_elsewhere)
{
    struct text_list here = {.between = ", ", .max = NAMES_SHOWN}, both = {.between = ", ", .max = NAMES_SHOWN};
    error_clear(ret_elsewhere);
    for (size_t i = 0; i < w->backends.count && w->state == PROBATION_GOES_ON; i++) {
        struct probation_item *item = &w->backends.list[i];
        if (!item->lost || item->judged)
            continue;
        item->judged = true;
        struct text_list *l = elsewhere == NULL || elsewhere(arg, item->name) ? &both : &here;
        if (text_list_next(l))
            buf_printf(&l->text, "%s (%u before)", item->name, served_up(&w->baseline, item->name));
    }
    cleanup(mem_free_ptr) char *lost = text_list_take(&here), *everywhere = text_list_take(&both);
    if (everywhere != NULL)
        (void)error_set(ret_elsewhere, ERROR_INVALID,
                        "backends have no server that is up any more, on another HAProxy, too: %s", everywhere);
    if (lost == NULL)
        return;
    (void)error_set(&w->evidence, ERROR_INVALID, "backends have no server that is up any more: %s", lost);
    w->state = PROBATION_BAD;
    w->reason = PROBATION_BACKEND;
}
