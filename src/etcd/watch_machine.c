#include "etcd/watch_machine.h"

#include <stddef.h>

void etcd_watch_machine_init(struct etcd_watch_machine *m, unsigned seed)
{
    *m = (struct etcd_watch_machine){.state = ETCD_WATCH_STOPPED};
    backoff_init(&m->backoff, ETCD_WATCH_BACKOFF_BASE_MS, ETCD_WATCH_BACKOFF_CAP_MS, ETCD_WATCH_BACKOFF_MIN_MS, seed);
}

static unsigned ask(struct etcd_watch_machine *m, uint64_t now)
{
    m->state = ETCD_WATCH_ASKING;
    m->since_ms = now;
    m->reason = NULL;
    return ETCD_WATCH_REQUEST;
}

static unsigned lose(struct etcd_watch_machine *m, const char *reason, uint64_t now)
{
    if (m->state == ETCD_WATCH_RUNNING && now >= m->since_ms + ETCD_WATCH_STABLE_MS)
        backoff_reset(&m->backoff);
    m->state = ETCD_WATCH_WAITING;
    m->since_ms = now + backoff_next_ms(&m->backoff);
    m->reason = reason;
    return ETCD_WATCH_CANCEL | ETCD_WATCH_REPORT_LOST | ETCD_WATCH_NEXT_ENDPOINT;
}

static unsigned begin_anew(struct etcd_watch_machine *m, int64_t oldest)
{
    m->state = ETCD_WATCH_STOPPED;
    m->oldest = oldest;
    return ETCD_WATCH_CANCEL | ETCD_WATCH_REPORT_COMPACTED;
}

static void heard(struct etcd_watch_machine *m, int64_t revision)
{
    if (revision >= m->next)
        m->next = revision + 1;
    if (m->missing < m->next)
        m->missing = 0;
    backoff_reset(&m->backoff);
}

/* A member that has not come as far as we have may only be slow; the cluster was restored to an older revision where
 * a read that all agree upon says the same. */
static unsigned on_created(struct etcd_watch_machine *m, int64_t revision, uint64_t now)
{
    m->next = m->next > 0 ? m->next : revision + 1;
    bool behind = revision + 1 < m->next;
    m->state = ETCD_WATCH_RUNNING;
    m->since_ms = m->heard_ms = now;
    m->check_ms = behind ? 0 : now + ETCD_WATCH_CHECK_MS;
    m->missing = 0;
    m->token_renewed = false;
    return ETCD_WATCH_REPORT_CONNECTED | (behind ? ETCD_WATCH_CHECK : 0);
}

static unsigned on_timer(struct etcd_watch_machine *m, uint64_t now)
{
    switch (m->state) {
    case ETCD_WATCH_ASKING:
        return now >= m->since_ms + ETCD_WATCH_ANSWER_MS ? lose(m, "no answer in 15 s", now) : 0;
    case ETCD_WATCH_WAITING:
        return now >= m->since_ms ? ask(m, now) : 0;
    case ETCD_WATCH_RUNNING:
        if (m->missing != 0 && now >= m->missing_ms)
            return lose(m, "the watch missed a change that etcd has", now);
        if (now >= m->heard_ms + ETCD_WATCH_SILENCE_MS)
            return lose(m, "nothing came for 25 minutes", now);
        if (m->check_ms == 0 || now < m->check_ms)
            return 0;
        m->check_ms = 0;
        return ETCD_WATCH_CHECK;
    default:
        return 0;
    }
}

/* Of a stream that runs. */
static unsigned on_running(struct etcd_watch_machine *m, const struct etcd_watch_input *e, uint64_t now)
{
    switch (e->type) {
    case ETCD_WATCH_BYTES:
        /* It lives: a large batch may take its time. */
        m->heard_ms = now;
        m->missing_ms = now + ETCD_WATCH_DEAF_MS;
        if (m->check_ms != 0)
            m->check_ms = now + ETCD_WATCH_CHECK_MS;
        return 0;
    case ETCD_WATCH_EVENTS:
        heard(m, e->revision);
        return ETCD_WATCH_REPORT_CHANGED;
    case ETCD_WATCH_PROGRESS:
        heard(m, e->revision);
        return 0;
    case ETCD_WATCH_CHECKED:
        if (e->revision + 1 < m->next)
            return begin_anew(m, e->revision);
        m->check_ms = now + ETCD_WATCH_CHECK_MS;
        if (e->newest >= m->next) {
            m->missing = e->newest;
            m->missing_ms = now + ETCD_WATCH_DEAF_MS;
        }
        return 0;
    case ETCD_WATCH_CHECK_FAILED:
        return lose(m, NULL, now);
    default:
        return 0;
    }
}

unsigned etcd_watch_step(struct etcd_watch_machine *m, const struct etcd_watch_input *e, uint64_t now)
{
    bool asked = m->state == ETCD_WATCH_ASKING || m->state == ETCD_WATCH_RUNNING;
    switch (e->type) {
    case ETCD_WATCH_START:
        m->next = e->revision;
        m->token_renewed = false;
        backoff_reset(&m->backoff);
        return ETCD_WATCH_CANCEL | ask(m, now);
    case ETCD_WATCH_STOP:
        m->state = ETCD_WATCH_STOPPED;
        return ETCD_WATCH_CANCEL;
    case ETCD_WATCH_TIMER:
        return on_timer(m, now);
    case ETCD_WATCH_CREATED:
        return m->state == ETCD_WATCH_ASKING ? on_created(m, e->revision, now) : 0;
    case ETCD_WATCH_COMPACTED:
        return asked ? begin_anew(m, e->revision) : 0;
    case ETCD_WATCH_UNREADABLE:
        return asked ? ETCD_WATCH_REPORT_LOST | begin_anew(m, m->next) : 0;
    case ETCD_WATCH_NO_TOKEN:
        if (!asked)
            return 0;
        if (m->token_renewed)
            return lose(m, NULL, now) | ETCD_WATCH_RENEW_TOKEN;
        m->token_renewed = true;
        return ETCD_WATCH_CANCEL | ETCD_WATCH_RENEW_TOKEN | ask(m, now);
    case ETCD_WATCH_LOST:
        return asked ? lose(m, NULL, now) : 0;
    default:
        return m->state == ETCD_WATCH_RUNNING ? on_running(m, e, now) : 0;
    }
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t etcd_watch_due_ms(const struct etcd_watch_machine *m)
{
    switch (m->state) {
    case ETCD_WATCH_ASKING:
        return m->since_ms + ETCD_WATCH_ANSWER_MS;
    case ETCD_WATCH_WAITING:
        return m->since_ms;
    case ETCD_WATCH_RUNNING: {
        uint64_t due = m->heard_ms + ETCD_WATCH_SILENCE_MS;
        due = m->check_ms != 0 ? earlier(due, m->check_ms) : due;
        return m->missing != 0 ? earlier(due, m->missing_ms) : due;
    }
    default:
        return 0;
    }
}
