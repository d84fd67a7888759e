#include "servers/change/loss_limit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static struct loss_limit_loss *loss_limit_find(const struct loss_limit *b, size_t count, const char *server)
{
    return count > 0 ? bsearch(&server, b->losses, count, sizeof(b->losses[0]), str_order) : NULL;
}

static bool is_lost(const struct loss_limit_report *r, const char *server)
{
    return r->lost_count > 0 && bsearch(&server, r->lost, r->lost_count, sizeof(r->lost[0]), str_order) != NULL;
}

static bool counts(const struct loss_limit_loss *l, uint64_t now_ms)
{
    return now_ms < l->until_ms;
}

static bool loss_limit_is_delayed(const struct loss_limit_loss *l, uint64_t now_ms)
{
    return l->held && counts(l, now_ms);
}

/* ---- a report ---- */

static void keep_if(bool keep, struct loss_limit *b, size_t i, size_t *left)
{
    if (keep)
        b->losses[(*left)++] = b->losses[i];
    else
        free(b->losses[i].server);
}

void loss_limit_copy(struct loss_limit *ret, const struct loss_limit *from)
{
    *ret = *from;
    ret->losses = mem_array(from->count, sizeof(ret->losses[0]));
    for (size_t i = 0; i < from->count; i++) {
        ret->losses[i] = from->losses[i];
        ret->losses[i].server = mem_strdup(from->losses[i].server);
    }
}

void loss_limit_report(struct loss_limit *b, const struct loss_limit_report *r)
{
    size_t left = 0;
    if (r->max_percent >= 100) {
        loss_limit_fini(b);
        return;
    }
    if (r->lost_count > 1)
        qsort(r->lost, r->lost_count, sizeof(r->lost[0]), str_order);
    for (size_t i = 0; i < b->count; i++) {
        const struct loss_limit_loss *l = &b->losses[i];
        bool counts_on = !l->held && counts(l, r->now_ms) && !r->returned(r->arg, l->server);
        keep_if(is_lost(r, l->server) || counts_on, b, i, &left);
    }
    b->count = left;
    for (size_t i = 0; i < b->count; i++)
        if (b->losses[i].until_ms == 0)
            b->losses[i].until_ms = r->now_ms + r->period_ms;
    size_t new_count = 0;
    for (size_t i = 0; i < r->lost_count; i++)
        new_count += loss_limit_find(b, b->count, r->lost[i]) == NULL;
    if (new_count == 0)
        return;
    size_t known = b->count, lost = new_count, let_go = 0;
    const struct loss_limit_loss *oldest = NULL; /* of those that count */
    for (size_t i = 0; i < known; i++) {
        const struct loss_limit_loss *l = &b->losses[i];
        let_go += !loss_limit_is_delayed(l, r->now_ms) && is_lost(r, l->server);
        if (!counts(l, r->now_ms))
            continue;
        lost++;
        if (oldest == NULL || l->until_ms < oldest->until_ms ||
            (l->until_ms == oldest->until_ms && l->live > oldest->live))
            oldest = l;
    }
    /* Live lines, but for those that may leave and have not yet. */
    size_t live = let_go < r->live ? r->live - let_go : 0;
    size_t base = oldest != NULL ? oldest->live : live;
    bool held = (uint64_t)lost * 100 > (uint64_t)base * r->max_percent;
    b->losses = mem_resize(b->losses, known + new_count, sizeof(b->losses[0]));
    for (size_t i = 0; i < r->lost_count; i++)
        if (loss_limit_find(b, known, r->lost[i]) == NULL)
            b->losses[b->count++] = (struct loss_limit_loss){
                .server = mem_strdup(r->lost[i]), .until_ms = r->now_ms + r->period_ms, .live = live, .held = held};
    qsort(b->losses, b->count, sizeof(b->losses[0]), str_order);
    if (held) {
        b->over = lost;
        b->of = base;
    }
}

bool loss_limit_delays(const struct loss_limit *b, const char *server, uint64_t now_ms, uint64_t *ret_until_ms)
{
    const struct loss_limit_loss *l = loss_limit_find(b, b->count, server);
    if (l == NULL || !loss_limit_is_delayed(l, now_ms))
        return false;
    *ret_until_ms = l->until_ms;
    return true;
}

char *loss_limit_text(const struct loss_limit *b, unsigned max_percent)
{
    return mem_printf(
        "%zu of %zu live servers lost unannounced within one RESYNC_PERIOD exceed MAX_LOSS_PERCENT=%u; the removal of "
        "each beyond that is delayed by one RESYNC_PERIOD from its loss, unless it is desired again",
        b->over, b->of, max_percent);
}

void loss_limit_forget(struct loss_limit *b, bool (*returned)(const void *arg, const char *server), const void *arg)
{
    size_t left = 0;
    for (size_t i = 0; i < b->count; i++)
        keep_if(!returned(arg, b->losses[i].server), b, i, &left);
    b->count = left;
}

void loss_limit_suspend(struct loss_limit *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->losses[i].held)
            b->losses[i].until_ms = 0;
}

void loss_limit_fini(struct loss_limit *b)
{
    for (size_t i = 0; i < b->count; i++)
        free(b->losses[i].server);
    free(b->losses);
    *b = (struct loss_limit){.count = 0};
}
