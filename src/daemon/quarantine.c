#include "daemon/quarantine.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "daemon/state_text.h"
#include "host/timer.h"
#include "report/checks.h"
#include "report/metric_table.h"
#include "settings/settings.h"

#define NAMES_SHOWN 5
#define VERDICT_WITHIN_MS 3000
#define HOLD_MS 50

struct verdict {
    enum { NONE, ACCEPTED, REFUSED } is;
    bool load;
    char *why;
};

struct quarantine {
    const struct daemon *in;
    int state_fd;
    void (*again)(void *arg);
    void (*settled)(void *arg);
    void *arg;
    struct culprits culprits;
    struct timer judge, wake;
    bool read;
    bool composing;         /* the document that was given last is of other objects than the search has now */
    struct verdict of_last; /* of that document */
    struct verdict next;    /* the search gets it next */
    bool missed;            /* a document was refused that was out of date by then; none was judged since */
    uint64_t given_ms;      /* the last one */
    char *kept;             /* in STATE_DIR; NULL: nothing that is known */
    size_t checks;
};

static void verdict_set(struct verdict *to, const struct culprits_verdict *from)
{
    char *why = from != NULL ? mem_strdup(from->why) : NULL;
    free(to->why);
    *to = (struct verdict){.why = why};
    if (from != NULL) {
        to->is = from->accepted ? ACCEPTED : REFUSED;
        to->load = from->load;
    }
}

/* One that changes again and again is tried after a pause. */
static void quarantine_wait(struct quarantine *q)
{
    uint64_t due_ms = culprits_due_ms(&q->culprits), now_ms = clock_mono_ms();
    if (due_ms == 0)
        timer_cancel(&q->wake);
    else
        timer_set(&q->wake, due_ms > now_ms ? due_ms - now_ms : 0);
}

static void quarantine_on_wake(void *arg)
{
    const struct quarantine *q = arg;
    q->again(q->arg);
}

static void quarantine_on_judge(void *arg)
{
    struct quarantine *q = arg;
    const struct verdict *next = &q->next;
    if (next->is == NONE)
        return;
    const struct culprits_verdict v = {.accepted = next->is == ACCEPTED, .load = next->load, .why = next->why};
    bool searched = q->culprits.searching, again = culprits_judge(&q->culprits, &v, clock_mono_ms());
    q->checks++;
    if (!searched && q->culprits.searching && !v.accepted)
        log_warn(q->in->log, "HAProxy refuses the configuration; the objects that it is refused for are searched",
                 log_str("error", next->why));
    if (searched && !q->culprits.searching)
        log_info(q->in->log, "search for objects that HAProxy refuses ended",
                 log_int("found", (int64_t)(culprits_count(&q->culprits))), log_int("checks", (int64_t)q->checks));
    if (!q->culprits.searching)
        q->checks = 0;
    verdict_set(&q->next, NULL);
    struct buf text = {0};
    culprits_print(&q->culprits, &text);
    state_text_keep(q->in->settings->state_dir, q->state_fd, STATE_QUARANTINE, q->kept, buf_str(&text), q->in->log);
    free(q->kept);
    q->kept = buf_take(&text);
    quarantine_wait(q);
    if (again)
        q->again(q->arg);
    else if (quarantine_settled(q))
        q->settled(q->arg);
}

struct quarantine *quarantine_new(const struct daemon *in, int state_fd)
{
    struct quarantine *q = mem_alloc(sizeof(*q));
    *q = (struct quarantine){.in = in, .state_fd = state_fd};
    timer_init(&q->judge, in->base, quarantine_on_judge, q);
    timer_init(&q->wake, in->base, quarantine_on_wake, q);
    return q;
}

void quarantine_free(struct quarantine *q)
{
    if (q == NULL)
        return;
    timer_fini(&q->judge);
    timer_fini(&q->wake);
    culprits_fini(&q->culprits);
    mem_free_all(q->of_last.why, q->next.why, q->kept, q);
}

void quarantine_listen(struct quarantine *q, void (*again)(void *arg), void (*settled)(void *arg), void *arg)
{
    if (q == NULL)
        return;
    q->again = again;
    q->settled = settled;
    q->arg = arg;
}

void quarantine_begin(struct quarantine *q)
{
    if (q == NULL)
        return;
    if (!q->read) {
        cleanup(mem_free_ptr) char *text = state_text_recall(q->in->settings->state_dir, STATE_QUARANTINE, q->in->log);
        culprits_read(&q->culprits, text);
        q->read = true;
    }
    q->composing = true;
    verdict_set(&q->next, NULL);
    culprits_begin(&q->culprits, clock_mono_ms());
}

bool quarantine_see(struct quarantine *q, const char *key, uint64_t hash)
{
    return q != NULL && culprits_see(&q->culprits, key, hash);
}

void quarantine_end(struct quarantine *q)
{
    if (q == NULL)
        return;
    culprits_end(&q->culprits);
    quarantine_wait(q);
}

void quarantine_poke(struct quarantine *q)
{
    culprits_try_again(&q->culprits);
}

const struct culprits *quarantine_culprits(const struct quarantine *q)
{
    static const struct culprits none;
    return q != NULL ? &q->culprits : &none;
}

bool quarantine_settled(const struct quarantine *q)
{
    return q != NULL && q->of_last.is == ACCEPTED && !culprits_may_go_back(&q->culprits);
}

char *quarantine_why(const struct quarantine *q, const char *key, bool served)
{
    const char *why = q != NULL ? culprits_why(&q->culprits, key) : NULL;
    return why != NULL ? mem_printf("%s, as HAProxy refuses the configuration with %s: %s",
                                    served ? "served as it was before the change" : "left out until it changes",
                                    served ? "that" : "it", why)
                       : NULL;
}

static void quarantine_tell(struct quarantine *q, const struct culprits_verdict *v)
{
    if (q->again == NULL)
        return; /* this source is not made of objects */
    q->composing = false;
    q->missed = q->missed && v == NULL;
    verdict_set(&q->next, v);
    timer_set_sooner(&q->judge, 0);
}

bool quarantine_verdict(const struct quarantine *q, struct culprits_verdict *ret)
{
    const struct verdict *last = &q->of_last;
    *ret = (struct culprits_verdict){.accepted = last->is == ACCEPTED, .load = last->load, .why = last->why};
    return last->is != NONE;
}

void quarantine_gives(struct quarantine *q, bool same)
{
    if (q == NULL)
        return;
    struct culprits_verdict v;
    bool known = quarantine_verdict(q, &v);
    quarantine_tell(q, same && known ? &v : NULL);
    if (same)
        return;
    verdict_set(&q->of_last, NULL);
    q->given_ms = clock_mono_ms();
}

void quarantine_miss(struct quarantine *q)
{
    q->missed = true;
}

uint64_t quarantine_hold_ms(const struct quarantine *q)
{
    if (q == NULL || q->composing || (!q->missed && !q->culprits.searching))
        return 0;
    bool awaited = q->of_last.is == NONE && clock_mono_ms() - q->given_ms < VERDICT_WITHIN_MS;
    return q->next.is != NONE || awaited ? HOLD_MS : 0;
}

void quarantine_judge(struct quarantine *q, const struct culprits_verdict *v)
{
    if (q->of_last.is == (v->accepted ? ACCEPTED : REFUSED))
        return;
    verdict_set(&q->of_last, v);
    if (!q->composing)
        quarantine_tell(q, v);
}

void quarantine_refuse(struct quarantine *q, const char *why)
{
    if (q != NULL)
        quarantine_tell(q, &(struct culprits_verdict){.why = why});
}

void quarantine_keep_none(struct quarantine *q)
{
    const struct culprits_verdict accepted = {.accepted = true};
    quarantine_tell(q, q->culprits.searching ? &accepted : NULL);
}

static void quarantine_name(void *arg, const char *key, const char *why)
{
    struct text_list *names = arg;
    (void)why;
    if (text_list_next(names))
        buf_add(&names->text, key);
}

void quarantine_check(const struct quarantine *q, struct checks *checks)
{
    struct text_list names = {.between = ", ", .max = NAMES_SHOWN};
    culprits_each(&q->culprits, quarantine_name, &names);
    cleanup(mem_free_ptr) char *list = text_list_take(&names);
    if (list != NULL)
        checks_add(
            checks, CHECK_WARN, mem_strdup("quarantine"),
            mem_printf(
                "left out or served as before until they change, as HAProxy refuses the configuration with them (the "
                "log, their Events and /status say why): %s",
                list),
            NULL);
}

void quarantine_measure(const struct quarantine *q)
{
    metric_set(q->in->metrics->quarantined_objects, (double)culprits_count(&q->culprits), NULL);
}
