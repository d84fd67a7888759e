/* `plan` as text: for each HAProxy and backend what would change, what stays, what was left out, and the verdict. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/page.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "daemon/inspect/inspect_print.h"
#include "daemon/inspect/inspect_report.h"

#define MARGIN 2
#define GAP 2
#define NAME_MAX_COLUMNS 40
#define WHAT_MAX_COLUMNS 60 /* longer ones do not widen the column */
#define REASON_MARGIN 6     /* where it stands in a line of its own */
#define ORDINARY_SHOWN 10
#define LEFT_OUT_SHOWN 100

/* ---- the servers of one backend, a row for each that would change or stays, in columns:
 *
 *   + n3  10.0.0.3:30443  weight 100  reload   why it is desired
 *
 * "reload" only where others of the changes need none. */

struct row {
    enum kind { ROW_ADD, ROW_CHANGE, ROW_REMOVE, ROW_DELAYED, ROW_EQUAL } kind; /* in this order */
    const char *name;                                                           /* borrowed */
    char *address, *what; /* what stands behind the name: an address and more, or (address NULL) a change */
    char *reason;         /* NULL: none */
    enum page_ink ink;
};

struct rows {
    struct row *list;
    size_t count;
    size_t name_columns, address_columns, what_columns, reason_columns;
};

static void rows_fini(struct rows *r)
{
    for (size_t i = 0; i < r->count; i++) {
        mem_free_all(r->list[i].address, r->list[i].what, r->list[i].reason);
    }
    free(r->list);
}

/* Words in their order, NULL: none. Takes over the reason. */
static struct row *rows_add(struct rows *r, enum kind kind, enum page_ink ink, const char *name,
                            const char *const *words, size_t count, char *reason)
{
    cleanup(buf_fini) struct buf what = {0};
    for (size_t i = 0; i < count; i++)
        if (words[i] != NULL)
            buf_printf(&what, "%s%s", what.len > 0 ? "  " : "", words[i]);
    struct row *row = &r->list[r->count++];
    *row = (struct row){.kind = kind, .ink = ink, .name = name, .reason = reason, .what = buf_take(&what)};
    return row;
}

static void rows_add_server(struct rows *r, enum kind kind, enum page_ink ink, const struct backend_server *s,
                            const char *mark, const char *more, char *reason)
{
    cleanup(mem_free_ptr) char *weight = s->weight >= 0 ? mem_printf("weight %d", s->weight) : NULL;
    const char *const words[] = {weight, mark, more};
    rows_add(r, kind, ink, s->name, words, array_len(words), reason)->address = inspect_address(s);
}

static void rows_add_detail(struct rows *r, const char *server, const char *detail, const char *more, char *reason)
{
    const char *const words[] = {detail, more};
    rows_add(r, ROW_CHANGE, INK_YELLOW, server, words, array_len(words), reason);
}

static void rows_add_changes(struct rows *r, const struct inspect_backend *b)
{
    const struct diff *d = &b->plan.diff;
    struct inspect_ways ways = inspect_count_ways(b);
    bool mixed = ways.without > 0 && ways.reload > 0;
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        const char *more = mixed && b->reloads[i] ? "reload" : NULL;
        char *reason = inspect_change_reason(b, c);
        if (c->op == DIFF_ADD)
            rows_add_server(r, ROW_ADD, INK_GREEN, &c->server, c->parks ? "parked" : NULL, more, reason);
        else if (c->op == DIFF_REMOVE)
            rows_add_server(r, ROW_REMOVE, INK_RED, &c->server, NULL, more, reason);
        else
            rows_add_detail(r, c->server.name, c->detail, more, reason);
    }
}

/* "draining until 2026-01-02T03:04:05Z", where that is known. Allocates. */
static char *rows_until(const struct inspect_report *report, const struct inspect_backend *b, const char *server,
                        const char *word)
{
    char until[RFC3339_BYTES];
    int64_t ms = inspect_until_ms(report, b, server);
    rfc3339_format(ms * 1000, 0, until);
    return ms != 0 ? mem_printf("%s until %s", word, until) : mem_strdup(word);
}

/* A line that is there, and that no change is about. */
static void rows_add_line(struct rows *r, const struct inspect_report *report, const struct inspect_backend *b,
                          const struct backend_server *s)
{
    const struct desired_server *want = desired_find(b->desired, s->name);
    const struct admin_state *overridden = inspect_overridden(b, s->name);
    const struct runtime_command *call = inspect_call(b, s->name);
    cleanup(mem_free_ptr) char *what = NULL, *set = NULL;
    switch (inspect_line(report, b, s)) {
    case INSPECT_LINE_EQUAL:
        if (want != NULL && want->state == SERVER_DRAINING)
            what = rows_until(report, b, s->name, "draining");
        if (overridden != NULL)
            set = mem_printf("%s by operator", runtime_admin_name(overridden->theirs));
        rows_add_server(r, ROW_EQUAL, what != NULL || set != NULL ? INK_CYAN : INK_PLAIN, s, what, set,
                        inspect_reason(b, s->name));
        break;
    case INSPECT_LINE_COMMANDED:
        what = mem_printf("%s, at runtime only", runtime_admin_name(call->state));
        rows_add_detail(r, s->name, what, NULL, inspect_call_reason(b, call));
        break;
    case INSPECT_LINE_DELAYED:
        what = rows_until(report, b, s->name, "kept");
        rows_add_server(r, ROW_DELAYED, INK_YELLOW, s, what, NULL, inspect_reason(b, s->name));
        break;
    case INSPECT_LINE_CHANGED:
    case INSPECT_LINE_PARKED:
    case INSPECT_LINE_FOREIGN:
    case INSPECT_LINE_OTHERS:
        break;
    }
}

/* n2 before n10. */
static int rows_order(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return x->kind != y->kind ? (int)x->kind - (int)y->kind : strverscmp(x->name, y->name);
}

static void rows_widen(size_t *columns, size_t to, size_t max)
{
    if (to > *columns && to <= max)
        *columns = to;
}

static void rows_print_one(const struct row *row, const struct rows *r, struct page *p)
{
    static const char *const marks[] = {
        [ROW_ADD] = "+", [ROW_CHANGE] = "~", [ROW_REMOVE] = "-", [ROW_DELAYED] = "!", [ROW_EQUAL] = "="};
    size_t what = MARGIN + GAP + r->name_columns + GAP, reason = what + r->what_columns + GAP;
    page_to(p, MARGIN);
    page_printf(p, row->ink, "%s %s", marks[row->kind], row->name);
    page_to(p, what);
    if (row->address != NULL) {
        page_put(p, row->ink, row->address);
        if (!str_empty(row->what))
            page_to(p, what + r->address_columns + GAP);
    }
    page_put(p, row->ink, row->what);
    if (row->reason != NULL) {
        bool fits = reason + r->reason_columns <= p->width; /* all of them, or none */
        if (!fits || p->column + GAP > reason)
            page_end_line(p);
        page_to(p, fits ? reason : REASON_MARGIN);
        page_flow(p, INK_DIM, row->reason);
    }
    page_end_line(p);
}

static void print_rows(const struct inspect_report *report, const struct inspect_backend *b, struct page *p)
{
    cleanup(rows_fini) struct rows r = {0};
    r.list = mem_array(b->plan.diff.change_count + b->actual.server_count, sizeof(r.list[0]));
    rows_add_changes(&r, b);
    for (size_t i = 0; i < b->actual.server_count; i++)
        rows_add_line(&r, report, b, &b->actual.servers[i]);
    if (r.count > 1)
        qsort(r.list, r.count, sizeof(r.list[0]), rows_order);
    for (size_t i = 0; i < r.count; i++) {
        rows_widen(&r.name_columns, page_columns(r.list[i].name), NAME_MAX_COLUMNS);
        if (r.list[i].address != NULL)
            rows_widen(&r.address_columns, page_columns(r.list[i].address), WHAT_MAX_COLUMNS);
    }
    for (size_t i = 0; i < r.count; i++) {
        size_t columns = page_columns(r.list[i].what);
        if (r.list[i].address != NULL)
            columns += r.address_columns + (columns > 0 ? GAP : 0);
        rows_widen(&r.what_columns, columns, WHAT_MAX_COLUMNS);
        if (r.list[i].reason != NULL)
            rows_widen(&r.reason_columns, page_columns(r.list[i].reason), SIZE_MAX);
    }
    for (size_t i = 0; i < r.count; i++)
        rows_print_one(&r.list[i], &r, p);
}

/* ---- parked, set by an operator, unmanaged */

static printf_like(4, 5) void print_line(struct page *p, enum page_ink ink, const char *mark, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    cleanup(mem_free_ptr) char *text = mem_vprintf(fmt, args);
    va_end(args);
    page_to(p, MARGIN);
    page_put(p, ink, mark);
    page_flow_line(p, ink, text);
}

static int name_order(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

static void print_parked(const struct inspect_report *r, const struct inspect_backend *b, struct page *p)
{
    cleanup(mem_free_ptr) const char **names = mem_array(b->actual.server_count, sizeof(names[0]));
    cleanup(buf_fini) struct buf text = {0};
    size_t count = 0;
    for (size_t i = 0; i < b->actual.server_count; i++)
        if (inspect_line(r, b, &b->actual.servers[i]) == INSPECT_LINE_PARKED)
            names[count++] = b->actual.servers[i].name;
    if (count == 0)
        return;
    qsort(names, count, sizeof(names[0]), name_order);
    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "%s%s", i > 0 ? ", " : "", names[i]);
    print_line(p, INK_DIM, ". ", "parked: %s (maintenance, kept so that %s return needs no reload)", buf_str(&text),
               count == 1 ? "its" : "their");
}

static void print_unmanaged(const struct diff *d, struct page *p)
{
    size_t unmanaged = d->foreign_count - d->others_count;
    if (d->others_count > 0)
        print_line(p, INK_DIM, ". ", "%zu %s another cluster's", d->others_count,
                   d->others_count == 1 ? "server line is" : "server lines are");
    if (d->uneven != NULL)
        print_line(p, INK_YELLOW, ". ", "%s", d->uneven);
    if (unmanaged == 0 && d->foreign_inherit_count == 0)
        return;
    page_to(p, MARGIN);
    page_printf(p, INK_DIM, ". %zu %s unmanaged", unmanaged, unmanaged == 1 ? "server line is" : "server lines are");
    if (d->foreign_inherit_count > 0)
        page_printf(p, INK_YELLOW, "; %zu %s would inherit send-proxy-v2", d->foreign_inherit_count,
                    d->others_count > 0 ? "that are not this cluster's" : "of them");
    page_end_line(p);
}

/* ---- left out */

/* The row of its server has it already, as its reason. */
static bool has_row(const struct inspect_report *r, const struct inspect_backend *b, const struct desired_skip *s)
{
    if (!inspect_has_lines(b) || s->server == NULL || desired_why_out(b->desired, s->server) != s)
        return false;
    const struct backend_server *line = backend_find(&b->actual, s->server);
    return line != NULL && inspect_line(r, b, line) != INSPECT_LINE_PARKED;
}

static void print_skips(const struct inspect_report *r, const struct inspect_backend *b, bool ordinary, size_t most,
                        struct page *p)
{
    const struct desired *desired = b->desired;
    size_t count = 0;
    for (size_t i = 0; i < desired->skip_count; i++) {
        const struct desired_skip *s = &desired->skips[i];
        if (s->ordinary == ordinary && !has_row(r, b, s) && count++ < most) {
            cleanup(mem_free_ptr) char *subject = desired_skip_subject(desired, s),
                                       *reason = desired_skip_reason(desired, s);
            print_line(p, ordinary ? INK_DIM : INK_YELLOW, ordinary ? ". " : "! ", "%s: %s", subject, reason);
        }
    }
    if (count > most)
        print_line(p, INK_DIM, ". ", "and %zu more like these; -o json has them all", count - most);
}

/* ---- the verdict */

/* "2 to add, 1 to change, settings; 2 without a reload, 1 by a transaction and a reload". */
static void verdict_changes(const struct inspect_backend *b, struct buf *text)
{
    const struct diff *d = &b->plan.diff;
    size_t by_op[3] = {0}, parks = 0, commands[RUNTIME_MAINT + 1] = {0};
    for (size_t i = 0; i < d->change_count; i++)
        (*(d->changes[i].parks ? &parks : &by_op[d->changes[i].op]))++;
    for (size_t i = 0; i < b->choice.command_count; i++) /* those that belong to no change */
        commands[b->choice.commands[i].state] += inspect_is_only_commanded(b, b->choice.commands[i].name);
    const struct {
        size_t count;
        const char *what;
    } parts[] = {
        {by_op[DIFF_ADD], "to add"},
        {by_op[DIFF_CHANGE], "to change"},
        {commands[RUNTIME_READY], "to be ready"},
        {commands[RUNTIME_DRAIN], "to drain"},
        {commands[RUNTIME_MAINT], "to be in maint"},
        {parks, "to park"},
        {by_op[DIFF_REMOVE], "to remove"},
    };
    for (size_t i = 0; i < array_len(parts); i++)
        if (parts[i].count > 0)
            buf_printf(text, "%s%zu %s", text->len > 0 ? ", " : "", parts[i].count, parts[i].what);
    if (d->backend_change || d->create_backend)
        buf_printf(text, "%s%s", text->len > 0 ? ", " : "", d->create_backend ? "the backend to create" : "settings");
    if (text->len == 0)
        return;
    struct inspect_ways ways = inspect_count_ways(b);
    if (ways.without > 0 && ways.reload > 0)
        buf_printf(text, "; %zu without a reload, %zu by a transaction and a reload", ways.without, ways.reload);
    else
        buf_add(text, ways.reload > 0 ? "; by a transaction and a reload" : "; without a reload");
    /* The reason is shown where no change shows it. */
    bool shown = b->choice.transaction && (b->runtime.readable || b->runtime.why == NULL || !b->actual.exists);
    cleanup(mem_free_ptr) char *why = shown ? NULL : inspect_reload_why(b);
    if (why != NULL)
        buf_printf(text, " (%s)", why);
}

static void print_verdict(const struct inspect_target *t, const struct inspect_backend *b, struct page *p)
{
    static const struct {
        enum page_ink ink;
        const char *word;
    } shapes[] = {
        [INSPECT_IN_SYNC] = {INK_GREEN, "in sync"},
        [INSPECT_CHANGES] = {INK_YELLOW, "changes"},
        [INSPECT_RELOAD_AGAIN] = {INK_YELLOW, "reload due"},
        [INSPECT_NO_ENDPOINT] = {INK_YELLOW, "keeping servers"},
        [INSPECT_LOSS_LIMIT] = {INK_YELLOW, "removal delayed"},
        [INSPECT_NOT_WRITTEN] = {INK_YELLOW, "not written"},
        [INSPECT_REFUSED] = {INK_RED, "refused"},
        [INSPECT_WAITING] = {INK_RED, "waiting"},
        [INSPECT_UNKNOWN] = {INK_RED, "unknown"},
    };
    enum inspect_verdict v = inspect_verdict(b);
    const struct diff *d = &b->plan.diff;
    size_t changes = d->change_count + (d->backend_change || d->create_backend) + inspect_commanded_count(b);
    cleanup(buf_fini) struct buf text = {0};
    cleanup(mem_free_ptr) char *why = inspect_why(b);
    if (v == INSPECT_IN_SYNC) {
        size_t draining = 0, count = 0;
        for (size_t i = 0; i < b->desired->server_count; i++)
            if (backend_find(&b->actual, b->desired->servers[i].name) != NULL) {
                count++;
                draining += b->desired->servers[i].state == SERVER_DRAINING;
            }
        buf_printf(&text, "%zu server%s", count, count == 1 ? "" : "s");
        if (draining > 0)
            buf_printf(&text, ", %zu draining", draining);
        if (!b->runtime.readable && b->runtime.why != NULL)
            buf_printf(&text, ", by haproxy.cfg alone: cannot read the running HAProxy: %s", b->runtime.why);
    }
    if (v == INSPECT_CHANGES || v == INSPECT_NOT_WRITTEN)
        verdict_changes(b, &text);
    if (v == INSPECT_RELOAD_AGAIN)
        buf_add(&text, t->unverified && t->drift == NULL
                           ? "what HAProxy runs is not known; an empty commit would reload it"
                       : t->drift != NULL || !t->dirty
                           ? "running HAProxy differs from haproxy.cfg; an empty commit would reload it"
                           : "the last reload failed; an empty commit would reload HAProxy");
    if (!str_empty(why))
        buf_printf(&text, "%s%s%s", text.len > 0 ? "; " : "",
                   v == INSPECT_CHANGES && b->plan.held_back > 0 ? "removal delayed: " : "", why);
    page_to(p, MARGIN);
    if (v == INSPECT_CHANGES)
        page_printf(p, shapes[v].ink, "%zu change%s", changes, changes == 1 ? "" : "s");
    else
        page_put(p, shapes[v].ink, shapes[v].word);
    if (text.len > 0) {
        page_put(p, INK_PLAIN, ": ");
        page_flow(p, INK_PLAIN, buf_str(&text));
    }
    page_end_line(p);
}

/* ---- each backend of each HAProxy */

/* A blank line behind a part that has any. */
static void end_part(struct page *p, size_t *before)
{
    if (p->out->len > *before)
        page_end_line(p);
    *before = p->out->len;
}

static void print_backend(const struct inspect_report *r, const struct inspect_target *t,
                          const struct inspect_backend *b, struct page *p)
{
    const struct diff *d = &b->plan.diff;
    inspect_print_heading(b->of, p);
    size_t before = p->out->len, overridden = 0;
    if (inspect_has_lines(b)) {
        if (d->create_backend)
            print_line(p, INK_GREEN, "+ ", "the backend itself");
        if (d->backend_detail != NULL)
            print_line(p, INK_YELLOW, "~ ", "%s", d->backend_detail);
        print_rows(r, b, p);
    }
    end_part(p, &before);
    if (inspect_has_lines(b)) {
        cleanup(mem_free_ptr) char *set = b->memory.known ? admin_states_overrides(&b->memory, &overridden) : NULL;
        if (set != NULL)
            print_line(p, INK_YELLOW, "! ", "admin states set by an operator: %s; left alone until set to ready", set);
        print_parked(r, b, p);
        print_unmanaged(d, p);
    }
    for (size_t i = 0; i < d->skip_count; i++)
        print_line(p, INK_YELLOW, "! ", "%s: %s", d->skips[i].name, d->skips[i].reason);
    print_skips(r, b, false, LEFT_OUT_SHOWN, p);
    /* Desired as draining, but there is no line to drain. */
    for (size_t i = 0; b->seen && i < b->desired->server_count; i++) {
        const struct desired_server *s = &b->desired->servers[i];
        if (s->state != SERVER_DRAINING || backend_find(&b->actual, s->name) != NULL)
            continue;
        cleanup(mem_free_ptr) char *reason = desired_server_reason(b->desired, s);
        print_line(p, INK_DIM, ". ", "%s: draining, and has no line: none is added (%s)", s->name, reason);
    }
    print_skips(r, b, true, ORDINARY_SHOWN, p);
    if (b->desired->note != NULL)
        print_line(p, INK_YELLOW, "! ", "%s", b->desired->note);
    end_part(p, &before);
    print_verdict(t, b, p);
}

void inspect_print_plan(const struct inspect_report *r, struct page *p)
{
    if (r->daemon.url != NULL) {
        cleanup(mem_free_ptr) char *text = mem_printf(
            "daemon at %s: %s%s", r->daemon.url,
            r->daemon.used ? "its memory is used" : "not used: ", r->daemon.why_not != NULL ? r->daemon.why_not : "");
        page_flow_line(p, INK_DIM, text);
        page_end_line(p);
    }
    for (size_t i = 0; i < r->target_count; i++) {
        const struct inspect_target *t = &r->targets[i];
        const char *unseen = inspect_unseen(r, t);
        if (i > 0)
            page_end_line(p);
        if (r->target_count > 1 || (r->mapping_count > 1 && unseen != NULL)) {
            inspect_print_target(t, p);
            if (unseen != NULL) { /* one failed connection is shown once */
                page_to(p, MARGIN);
                page_put(p, INK_RED, "unknown");
                page_put(p, INK_PLAIN, ": ");
                page_flow_line(p, INK_PLAIN, unseen);
                continue;
            }
        }
        for (size_t k = 0; k < r->mapping_count; k++) {
            if (k > 0)
                page_end_line(p);
            print_backend(r, t, &t->backends[k], p);
        }
    }
}
