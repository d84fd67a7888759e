#include "sync/decision.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "dataplane/lane.h"
#include "dataplane/txn.h"

#define NAMES_IN_A_LINE 20
#define REASONS_IN_A_LINE 5

/* In which list of the line a change stands. */
enum word { WORD_ADDED, WORD_REMOVED, WORD_PARKED, WORD_CHANGED, WORDS };

/* Parked ones are not in service, so that no other word fits: neither where one gets its line, nor where one leaves. */
static enum word word_of(const struct diff_change *c)
{
    return c->parks ? WORD_PARKED : c->op == DIFF_ADD ? WORD_ADDED : c->op == DIFF_REMOVE ? WORD_REMOVED : WORD_CHANGED;
}

/* "n1,n2 and 3 more"; NULL where the diff has none of that kind, so that the field is left out. */
static const char *list(const struct diff *d, enum word word, struct buf *out)
{
    size_t count = 0;
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        if (word_of(c) != word)
            continue;
        if (++count > NAMES_IN_A_LINE)
            continue;
        buf_printf(out, "%s%s", count > 1 ? "," : "", c->server.name);
        if (word == WORD_CHANGED)
            buf_printf(out, "(%s)", c->detail);
        else if (c->op == DIFF_ADD)
            buf_printf(out, "(%s:%u)", c->server.address, (unsigned)c->server.port);
    }
    if (count > NAMES_IN_A_LINE)
        buf_printf(out, " and %zu more", count - NAMES_IN_A_LINE);
    return count > 0 ? buf_str(out) : NULL;
}

/* Why servers leave, drain or come back: "n2: its node is to be deleted; n3: ...". NULL: nothing of the kind. */
static const char *reasons(const struct diff *d, struct buf *out)
{
    size_t count = 0;
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        bool moves = c->op == DIFF_REMOVE || c->loss || strstr(c->detail, "maintenance") != NULL;
        if (!moves || c->reason == NULL || ++count > REASONS_IN_A_LINE)
            continue;
        buf_printf(out, "%s%s: %s", count > 1 ? "; " : "", c->server.name, c->reason);
    }
    if (count > REASONS_IN_A_LINE)
        buf_printf(out, "; and %zu more", count - REASONS_IN_A_LINE);
    return count > 0 ? buf_str(out) : NULL;
}

/* The lists of a difference, as text; each NULL where there is none. */
struct lists {
    struct buf bufs[WORDS], why_buf;
    const char *of[WORDS], *why;
};

static void lists_make(struct lists *l, const struct diff *d)
{
    for (int i = 0; i < WORDS; i++) {
        buf_init(&l->bufs[i], 0);
        l->of[i] = list(d, (enum word)i, &l->bufs[i]);
    }
    buf_init(&l->why_buf, 0);
    l->why = reasons(d, &l->why_buf);
}

static void lists_fini(struct lists *l)
{
    for (int i = 0; i < WORDS; i++)
        buf_fini(&l->bufs[i]);
    buf_fini(&l->why_buf);
}

/* All of it as one text, to tell one from another. */
static char *lists_text(const struct lists *l)
{
    struct buf b;
    buf_init(&b, 0);
    for (int i = 0; i < WORDS; i++)
        buf_printf(&b, "%s|", l->of[i] != NULL ? l->of[i] : "");
    return buf_take(&b);
}

void decision_log_commit(const struct log *log, const char *target, const char *backend, const struct plan *p,
                         const char *cause, const struct txn *t, uint64_t event_us)
{
    const struct diff *d = &p->diff;
    cleanup(lists_fini) struct lists l;
    lists_make(&l, d);
    log_info(log, "backend changed", log_str("backend", backend), log_str("target", target), log_str("cause", cause),
             log_str("added", l.of[WORD_ADDED]), log_str("removed", l.of[WORD_REMOVED]),
             log_str("parked", l.of[WORD_PARKED]), log_str("changed", l.of[WORD_CHANGED]),
             log_str("settings", d->backend_detail), log_str("why", l.why),
             log_if(d->create_backend, log_bool("created", true)), log_str("held_back", p->held_names),
             log_int("version", t->version), log_str("reload_id", t->reload_id), log_us_as_ms("begin_ms", t->begin_us),
             log_us_as_ms("change_ms", t->change_us), log_us_as_ms("commit_ms", t->commit_us),
             log_if(event_us > 0, log_us_as_ms("event_to_commit_ms", event_us)));
}

void decision_log_fast(const struct log *log, const char *target, const char *backend, const struct diff_change *c,
                       const char *cause, const struct lane *l, uint64_t event_us)
{
    log_info(log, "server changed without a reload", log_str("backend", backend), log_str("target", target),
             log_str("server", c->server.name), log_str("what", c->detail), log_str("why", c->reason),
             log_str("cause", cause), log_int("version", l->version),
             log_if(event_us != 0, log_us_as_ms("event_to_commit_ms", event_us)), log_us_as_ms("write_ms", l->write_us),
             log_us_as_ms("read_back_ms", l->read_us));
}

void decision_log_reload_again(const struct log *log, const char *target, const struct txn *t)
{
    log_info(log, "empty commit, to reload HAProxy again", log_str("target", target), log_int("version", t->version),
             log_str("reload_id", t->reload_id), log_us_as_ms("begin_ms", t->begin_us),
             log_us_as_ms("commit_ms", t->commit_us));
}

void decision_log_withheld(const struct log *log, struct log_limit *limit, uint64_t now_ms, const char *target,
                           const char *backend, const struct plan *p, const char *cause)
{
    const struct diff *d = &p->diff;
    bool only_reload = d->change_count == 0 && !d->backend_change && !d->create_backend;
    cleanup(lists_fini) struct lists l;
    unsigned held_back;
    lists_make(&l, d);
    cleanup(mem_free_ptr) char *lists = lists_text(&l);
    cleanup(mem_free_ptr) char *all =
        mem_printf("%s|%s%s|%s", p->why, lists, d->backend_detail != NULL ? d->backend_detail : "",
                   p->held_names != NULL ? p->held_names : "");
    if (!log_limit_pass(limit, now_ms, all, &held_back))
        return;
    log_warn(log, "nothing is written; this would be", log_str("backend", backend), log_str("target", target),
             log_str("because", p->why), log_str("cause", cause), log_str("added", l.of[WORD_ADDED]),
             log_str("removed", l.of[WORD_REMOVED]), log_str("parked", l.of[WORD_PARKED]),
             log_str("changed", l.of[WORD_CHANGED]), log_str("settings", d->backend_detail), log_str("why", l.why),
             log_if(d->create_backend, log_bool("created", true)), log_str("held_back", p->held_names),
             log_if(only_reload, log_bool("reload", true)));
}

/* True the first time. */
static bool add_told(struct buf *told, const char *server)
{
    cleanup(mem_free_ptr) char *line = mem_printf("\n%s\n", server);
    bool is_new = strstr(buf_str(told), line) == NULL;
    if (is_new)
        buf_add(told, line);
    return is_new;
}

void decision_log_takeover(const struct log *log, const char *target, const char *backend, const struct diff *d,
                           struct buf *told)
{
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        bool parked = c->op == DIFF_CHANGE && c->parks;
        if ((c->op != DIFF_REMOVE && !parked) || !add_told(told, c->server.name))
            continue;
        log_warn(log,
                 parked ? "taking the backend over: parking a server that was there before (in maintenance from now "
                          "on, removed after PARK_TTL); HAPROXY_KEEP_SERVERS would keep it"
                        : "taking the backend over: removing a server that was there before; "
                          "HAPROXY_KEEP_SERVERS would keep it",
                 log_str("backend", backend), log_str("target", target), log_str("server", c->server.name),
                 log_str("address", c->server.address), log_int("port", c->server.port),
                 log_str("was", c->server.json));
    }
}

void decision_log_skips(const struct log *log, struct log_limit *limit, uint64_t now_ms, const char *target,
                        const char *backend, const struct diff *d, bool proxy_v2_in_default_server)
{
    bool inherit = proxy_v2_in_default_server && d->foreign_inherit_count > 0;
    if (d->skip_count == 0 && !inherit)
        return;
    cleanup(buf_fini) struct buf text;
    buf_init(&text, 0);
    for (size_t i = 0; i < d->skip_count; i++)
        buf_printf(&text, "%s%s: %s", i > 0 ? "; " : "", d->skips[i].name, d->skips[i].reason);
    unsigned held_back;
    if (!log_limit_pass(limit, now_ms, inherit ? "inherit" : buf_str(&text), &held_back))
        return;
    if (d->skip_count > 0)
        log_warn(log, "servers left out", log_str("backend", backend), log_str("target", target),
                 log_str("servers", buf_str(&text)));
    if (inherit)
        log_warn(log,
                 "servers that are not ours inherit send-proxy-v2 from default-server; "
                 "HAPROXY_SEND_PROXY_V2=server sets it on our servers only",
                 log_str("backend", backend), log_str("target", target), log_int("servers", d->foreign_inherit_count));
}
