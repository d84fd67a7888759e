#include "sync/decision.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "dataplane/txn.h"

#define NAMES_IN_A_LINE 20
#define REASONS_IN_A_LINE 5

/* "n1,n2 and 3 more"; NULL where the diff has none of that kind, so that the field is left out. */
static const char *list(const struct diff *d, enum diff_op op, struct buf *out)
{
    size_t count = 0;
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        if (c->op != op)
            continue;
        if (++count > NAMES_IN_A_LINE)
            continue;
        buf_printf(out, "%s%s", count > 1 ? "," : "", c->server.name);
        if (op == DIFF_CHANGE)
            buf_printf(out, "(%s)", c->detail);
        else if (op == DIFF_ADD)
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

/* The three lists of a difference, as text; each NULL where there is none. */
struct lists {
    struct buf added_buf, removed_buf, changed_buf, why_buf;
    const char *added, *removed, *changed, *why;
};

static void lists_make(struct lists *l, const struct diff *d)
{
    buf_init(&l->added_buf, 0);
    buf_init(&l->removed_buf, 0);
    buf_init(&l->changed_buf, 0);
    buf_init(&l->why_buf, 0);
    l->added = list(d, DIFF_ADD, &l->added_buf);
    l->removed = list(d, DIFF_REMOVE, &l->removed_buf);
    l->changed = list(d, DIFF_CHANGE, &l->changed_buf);
    l->why = reasons(d, &l->why_buf);
}

static void lists_fini(struct lists *l)
{
    buf_fini(&l->added_buf);
    buf_fini(&l->removed_buf);
    buf_fini(&l->changed_buf);
    buf_fini(&l->why_buf);
}

void decision_log_commit(const struct log *log, const char *backend, const struct plan *p, const char *cause,
                         const struct txn *t, uint64_t event_us)
{
    const struct diff *d = &p->diff;
    cleanup(lists_fini) struct lists l;
    lists_make(&l, d);
    log_info(log, "backend changed", log_str("backend", backend), log_str("cause", cause), log_str("added", l.added),
             log_str("removed", l.removed), log_str("changed", l.changed), log_str("settings", d->backend_detail),
             log_str("why", l.why), log_if(d->create_backend, log_bool("created", true)),
             log_str("held_back", p->held_names), log_int("version", t->version), log_str("reload_id", t->reload_id),
             log_us_as_ms("begin_ms", t->begin_us), log_us_as_ms("change_ms", t->change_us),
             log_us_as_ms("commit_ms", t->commit_us),
             log_if(event_us > 0, log_us_as_ms("event_to_commit_ms", event_us)));
}

void decision_log_reload_again(const struct log *log, const char *target, const struct txn *t)
{
    log_info(log, "empty commit, to reload HAProxy again", log_str("target", target), log_int("version", t->version),
             log_str("reload_id", t->reload_id), log_us_as_ms("begin_ms", t->begin_us),
             log_us_as_ms("commit_ms", t->commit_us));
}

void decision_log_withheld(const struct log *log, struct log_limit *limit, uint64_t now_ms, const char *backend,
                           const struct plan *p, const char *cause)
{
    const struct diff *d = &p->diff;
    bool only_reload = d->change_count == 0 && !d->backend_change && !d->create_backend;
    cleanup(lists_fini) struct lists l;
    unsigned held_back;
    lists_make(&l, d);
    cleanup(mem_free_ptr) char *all =
        mem_printf("%s|%s|%s|%s|%s|%s", p->why, l.added != NULL ? l.added : "", l.removed != NULL ? l.removed : "",
                   l.changed != NULL ? l.changed : "", d->backend_detail != NULL ? d->backend_detail : "",
                   p->held_names != NULL ? p->held_names : "");
    if (!log_limit_pass(limit, now_ms, all, &held_back))
        return;
    log_warn(log, "nothing is written; this would be", log_str("backend", backend), log_str("because", p->why),
             log_str("cause", cause), log_str("added", l.added), log_str("removed", l.removed),
             log_str("changed", l.changed), log_str("settings", d->backend_detail), log_str("why", l.why),
             log_if(d->create_backend, log_bool("created", true)), log_str("held_back", p->held_names),
             log_if(only_reload, log_bool("reload", true)));
}

void decision_log_takeover(const struct log *log, const char *backend, const struct diff *d)
{
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        if (c->op != DIFF_REMOVE)
            continue;
        log_warn(log,
                 "taking the backend over: removing a server that was there before; "
                 "HAPROXY_KEEP_SERVERS would keep it",
                 log_str("backend", backend), log_str("server", c->server.name), log_str("address", c->server.address),
                 log_int("port", c->server.port), log_str("was", c->server.json));
    }
}

void decision_log_skips(const struct log *log, struct log_limit *limit, uint64_t now_ms, const char *backend,
                        const struct diff *d, bool proxy_v2_in_default_server)
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
        log_warn(log, "servers left out", log_str("backend", backend), log_str("servers", buf_str(&text)));
    if (inherit)
        log_warn(log,
                 "servers that are not ours inherit send-proxy-v2 from default-server; "
                 "HAPROXY_SEND_PROXY_V2=server sets it on our servers only",
                 log_str("backend", backend), log_int("servers", d->foreign_inherit_count));
}
