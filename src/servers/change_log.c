#include "servers/change_log.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "haproxy/driver.h"
#include "report/history.h"

#define NAMES_IN_A_LINE 20
#define NAMES_IN_A_SENTENCE 10
#define REASONS_IN_A_LINE 5

/* In which list of the line a change stands. */
enum word { WORD_ADDED, WORD_REMOVED, WORD_PARKED, WORD_CHANGED, WORDS };

/* A parked server is not in service, so it is neither "added" when it gets its line nor "removed" when that goes. */
static enum word word_of(const struct diff_change *c)
{
    return c->parks ? WORD_PARKED : c->op == DIFF_ADD ? WORD_ADDED : c->op == DIFF_REMOVE ? WORD_REMOVED : WORD_CHANGED;
}

/* How a list of servers is set. */
struct style {
    const char *comma, *open; /* before the next one, and before what is said of one */
    size_t max;
};

static const struct style of_a_line = {",", "(", NAMES_IN_A_LINE};
static const struct style of_a_sentence = {", ", " (", NAMES_IN_A_SENTENCE};

static void change_log_add_change(const struct diff_change *c, const struct style *style, struct buf *out)
{
    buf_add(out, c->server.name);
    if (word_of(c) == WORD_CHANGED)
        buf_printf(out, "%s%s)", style->open, c->detail);
    else if (c->op == DIFF_ADD)
        buf_printf(out, "%s%s:%u)", style->open, c->server.address, (unsigned)c->server.port);
}

/* "n1,n2 and 3 more"; NULL where the diff has none of that kind, so that the field is left out. */
static const char *change_log_list(const struct diff *d, enum word word, const struct style *style, struct buf *out)
{
    size_t count = 0;
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        if (word_of(c) != word || ++count > style->max)
            continue;
        buf_add(out, count > 1 ? style->comma : "");
        change_log_add_change(c, style, out);
    }
    if (count > style->max)
        buf_printf(out, " and %zu more", count - style->max);
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
        l->of[i] = change_log_list(d, (enum word)i, &of_a_line, &l->bufs[i]);
    }
    buf_init(&l->why_buf, 0);
    /* Why servers leave, drain or come back: "n2: its node is to be deleted; n3: ...". NULL: nothing of the kind. */
    size_t count = 0;
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        bool moves = c->op == DIFF_REMOVE || c->loss || strstr(c->detail, "maintenance") != NULL;
        if (!moves || c->reason == NULL || ++count > REASONS_IN_A_LINE)
            continue;
        buf_printf(&l->why_buf, "%s%s: %s", count > 1 ? "; " : "", c->server.name, c->reason);
    }
    if (count > REASONS_IN_A_LINE)
        buf_printf(&l->why_buf, "; and %zu more", count - REASONS_IN_A_LINE);
    l->why = count > 0 ? buf_str(&l->why_buf) : NULL;
}

static void lists_fini(struct lists *l)
{
    for (int i = 0; i < WORDS; i++)
        buf_fini(&l->bufs[i]);
    buf_fini(&l->why_buf);
}

/* ---- for people ---- */

static const char *const words[] = {
    [WORD_ADDED] = "added ", [WORD_REMOVED] = "removed ", [WORD_PARKED] = "parked ", [WORD_CHANGED] = "changed "};

char *change_log_sentence(const struct diff *d)
{
    struct buf b = {0};
    buf_add(&b, d->create_backend ? "created the backend" : "");
    for (int i = 0; i < WORDS; i++) {
        cleanup(buf_fini) struct buf names = {0};
        if (change_log_list(d, (enum word)i, &of_a_sentence, &names) != NULL)
            buf_printf(&b, "%s%s%s", b.len > 0 ? "; " : "", words[i], buf_str(&names));
    }
    if (d->backend_detail != NULL)
        buf_printf(&b, "%ssettings: %s", b.len > 0 ? "; " : "", d->backend_detail);
    return buf_take(&b);
}

char *change_log_sentence_of(const struct diff_change *c)
{
    struct buf b = {0};
    buf_add(&b, words[word_of(c)]);
    change_log_add_change(c, &of_a_sentence, &b);
    return buf_take(&b);
}

/* The name that the log has for the HAProxy: none where there is but one. */
static const char *change_log_target_of(const struct change_log_place *at)
{
    return at->several ? at->url : NULL;
}

static bool drains(const struct diff_change *c)
{
    return c->op == DIFF_CHANGE && (c->fields & SERVER_MAINTENANCE) && c->server.maintenance && !c->parks;
}

static struct history_entry entry_of(const struct change_log_place *at, enum history_kind kind, const char *text)
{
    return (struct history_entry){.kind = kind, .target = at->url, .backend = at->backend, .text = text};
}

/* ---- what was done ---- */

void change_log_commit(const struct change_log_place *at, const struct plan *p, const char *cause,
                       const struct written *t, uint64_t event_us)
{
    const struct diff *d = &p->diff;
    cleanup(lists_fini) struct lists l;
    lists_make(&l, d);
    log_info(at->log, "backend changed", log_str("backend", at->backend), log_str("target", change_log_target_of(at)),
             log_str("cause", cause), log_str("added", l.of[WORD_ADDED]), log_str("removed", l.of[WORD_REMOVED]),
             log_str("parked", l.of[WORD_PARKED]), log_str("changed", l.of[WORD_CHANGED]),
             log_str("settings", d->backend_detail), log_str("why", l.why),
             log_if(d->create_backend, log_bool("created", true)), log_str("removal_delayed", p->delayed_names),
             log_int("version", t->version), log_str("reload_id", t->reload_id), log_us_as_ms("begin_ms", t->begin_us),
             log_us_as_ms("change_ms", t->change_us), log_us_as_ms("commit_ms", t->commit_us),
             log_if(event_us > 0, log_us_as_ms("event_to_commit_ms", event_us)));
    const char *why = l.why;
    cleanup(mem_free_ptr) char *text = change_log_sentence(&p->diff);
    struct history_entry e = entry_of(at, HISTORY_COMMITTED, text);
    /* The servers that go into drain by it, where the file is the first to know. *ret_name: where it is but one. */
    const char **ret_name = &e.server;
    size_t count = 0;
    for (size_t i = 0; !at->logs_drains && i < p->diff.change_count; i++)
        if (drains(&p->diff.changes[i]) && count++ == 0)
            *ret_name = p->diff.changes[i].server.name;
    if (count != 1)
        *ret_name = NULL;
    if (count > 0)
        e.state = "drain";
    e.why = why;
    e.cause = cause;
    e.took_us = t->begin_us + t->change_us + t->commit_us;
    e.latency_us = event_us;
    history_add(at->history, &e);
}

void change_log_update(const struct change_log_place *at, const struct diff_change *c, const char *cause,
                       const struct updated *l, uint64_t event_us)
{
    cleanup(mem_free_ptr) char *text = change_log_sentence_of(c);
    struct history_entry e = entry_of(at, HISTORY_RUNTIME_UPDATE, text);
    log_info(at->log, "runtime update applied", log_str("backend", at->backend),
             log_str("target", change_log_target_of(at)), log_str("server", c->server.name), log_str("what", c->detail),
             log_str("why", c->reason), log_str("cause", cause), log_int("version", l->version),
             log_if(event_us != 0, log_us_as_ms("event_to_commit_ms", event_us)), log_us_as_ms("write_ms", l->write_us),
             log_us_as_ms("read_back_ms", l->read_us));
    e.server = c->server.name;
    e.state = drains(c) && !at->logs_drains ? "drain" : NULL;
    e.why = c->reason;
    e.cause = cause;
    e.took_us = l->write_us;
    e.latency_us = event_us;
    history_add(at->history, &e);
}

void change_log_not_written(const struct change_log_place *at, struct log_limit *limit, uint64_t now_ms,
                            const struct plan *p, const char *cause)
{
    const struct diff *d = &p->diff;
    bool only_reload = d->change_count == 0 && !d->backend_change && !d->create_backend;
    cleanup(lists_fini) struct lists l;
    unsigned held_back;
    lists_make(&l, d);
    /* All of it as one text, to compare with the one before. */
    struct buf b = {0};
    for (int i = 0; i < WORDS; i++)
        buf_printf(&b, "%s|", l.of[i] != NULL ? l.of[i] : "");
    cleanup(mem_free_ptr) char *lists = (buf_take(&b));
    cleanup(mem_free_ptr) char *all =
        mem_printf("%s|%s%s|%s", p->why, lists, d->backend_detail != NULL ? d->backend_detail : "",
                   p->delayed_names != NULL ? p->delayed_names : "");
    if (!log_limit_pass(limit, now_ms, all, &held_back))
        return;
    log_warn(at->log, "changes not written", log_str("backend", at->backend),
             log_str("target", change_log_target_of(at)), log_str("reason", p->why), log_str("cause", cause),
             log_str("added", l.of[WORD_ADDED]), log_str("removed", l.of[WORD_REMOVED]),
             log_str("parked", l.of[WORD_PARKED]), log_str("changed", l.of[WORD_CHANGED]),
             log_str("settings", d->backend_detail), log_str("why", l.why),
             log_if(d->create_backend, log_bool("created", true)), log_str("removal_delayed", p->delayed_names),
             log_if(only_reload, log_bool("reload", true)));
    cleanup(mem_free_ptr) char *what = change_log_sentence(&p->diff);
    cleanup(mem_free_ptr) char *text =
        what[0] != '\0' ? mem_printf("not written: %s", what) : mem_strdup("not written: reload without a change");
    struct history_entry e = entry_of(at, HISTORY_NOT_WRITTEN, text);
    e.why = p->why;
    e.cause = cause;
    history_add(at->history, &e);
}

void change_log_takeover(const struct change_log_place *at, const struct diff *d, struct buf *logged)
{
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        bool parked = c->op == DIFF_CHANGE && c->parks;
        cleanup(mem_free_ptr) char *line = mem_printf("\n%s\n", c->server.name);
        if ((c->op != DIFF_REMOVE && !parked) || strstr(buf_str(logged), line) != NULL)
            continue;
        buf_add(logged, line);
        log_warn(at->log,
                 parked ? "taking over the backend: parking an existing server (in maintenance until removed after "
                          "PARK_TTL); HAPROXY_KEEP_SERVERS would keep it"
                        : "taking over the backend: removing an existing server; HAPROXY_KEEP_SERVERS would keep it",
                 log_str("backend", at->backend), log_str("target", change_log_target_of(at)),
                 log_str("server", c->server.name), log_str("address", c->server.address),
                 log_int("port", c->server.port), log_str("was", c->server.json));
    }
}

void change_log_skips(const struct change_log_place *at, struct log_limit *limit, uint64_t now_ms, const struct diff *d,
                      bool proxy_v2_in_default_server)
{
    bool inherit = proxy_v2_in_default_server && d->foreign_inherit_count > 0;
    if (d->skip_count == 0 && !inherit)
        return;
    cleanup(buf_fini) struct buf text = {0};
    for (size_t i = 0; i < d->skip_count; i++)
        buf_printf(&text, "%s%s: %s", i > 0 ? "; " : "", d->skips[i].name, d->skips[i].reason);
    unsigned held_back;
    if (!log_limit_pass(limit, now_ms, inherit ? "inherit" : buf_str(&text), &held_back))
        return;
    if (d->skip_count > 0)
        log_warn(at->log, "servers skipped", log_str("backend", at->backend),
                 log_str("target", change_log_target_of(at)), log_str("servers", buf_str(&text)));
    if (inherit)
        log_warn(at->log,
                 "unmanaged servers inherit send-proxy-v2 from default-server; add no-send-proxy-v2 to their lines to "
                 "keep them as they are",
                 log_str("backend", at->backend), log_str("target", change_log_target_of(at)),
                 log_int("servers", d->foreign_inherit_count));
}
