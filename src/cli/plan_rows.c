
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "cli/inspect_print.h"
#include "cli/inspect_report.h"
#include "base/page.h"

#define MARGIN 2
#define GAP 2
#define NAME_MAX_COLUMNS 40
#define WHAT_MAX_COLUMNS 60 /* longer ones do not widen the column */
#define REASON_MARGIN 6     /* where it stands in a line of its own */

/* In this order. */
enum kind { ROW_ADD, ROW_CHANGE, ROW_REMOVE, ROW_DELAYED, ROW_EQUAL };

struct row {
    enum kind kind;
    const char *name;     /* borrowed */
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
        free(r->list[i].address);
        free(r->list[i].what);
        free(r->list[i].reason);
    }
    free(r->list);
}

/* ---- gathering ---- */

static void add_word(struct buf *b, const char *word)
{
    if (word != NULL)
        buf_printf(b, "%s%s", b->len > 0 ? "  " : "", word);
}

/* mark, more: NULL: none. Takes over the reason. */
static void add_server(struct rows *r, enum kind kind, enum page_ink ink, const struct backend_server *s,
                       const char *mark, const char *more, char *reason)
{
    cleanup(buf_fini) struct buf what = {0};
    if (s->weight >= 0)
        buf_printf(&what, "weight %d", s->weight);
    add_word(&what, mark);
    add_word(&what, more);
    r->list[r->count++] = (struct row){.kind = kind,
                                       .ink = ink,
                                       .name = s->name,
                                       .reason = reason,
                                       .address = inspect_address(s),
                                       .what = buf_take(&what)};
}

static void add_detail(struct rows *r, const char *server, const char *detail, const char *more, char *reason)
{
    cleanup(buf_fini) struct buf what = {0};
    add_word(&what, detail);
    add_word(&what, more);
    r->list[r->count++] =
        (struct row){.kind = ROW_CHANGE, .ink = INK_YELLOW, .name = server, .reason = reason, .what = buf_take(&what)};
}

/* n2 before n10. */
static int row_order(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return x->kind != y->kind ? (int)x->kind - (int)y->kind : strverscmp(x->name, y->name);
}

static void gather_changes(const struct inspect_backend *b, struct rows *r)
{
    const struct diff *d = &b->plan.diff;
    struct inspect_ways ways = inspect_count_ways(b);
    /* Where some changes take a reload and some do not, those that do are marked. */
    bool mixed = ways.without > 0 && ways.reload > 0;
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        const char *more = mixed && b->ways[i] == INSPECT_BY_RELOAD ? "reload" : NULL;
        char *reason = inspect_change_reason(b, c);
        if (c->op == DIFF_ADD)
            add_server(r, ROW_ADD, INK_GREEN, &c->server, c->parks ? "parked" : NULL, more, reason);
        else if (c->op == DIFF_REMOVE)
            add_server(r, ROW_REMOVE, INK_RED, &c->server, NULL, more, reason);
        else
            add_detail(r, c->server.name, c->detail, more, reason);
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

static void add_equal(const struct inspect_report *report, const struct inspect_backend *b,
                      const struct backend_server *s, struct rows *r)
{
    const struct desired_server *want = desired_find(b->desired, s->name);
    const struct admin_state *overridden = inspect_overridden(b, s->name);
    bool draining = want != NULL && want->state == SERVER_DRAINING;
    cleanup(mem_free_ptr) char *set =
        overridden != NULL ? mem_printf("%s by operator", runtime_admin_name(overridden->theirs)) : NULL;
    cleanup(mem_free_ptr) char *drains = draining ? rows_until(report, b, s->name, "draining") : NULL;
    add_server(r, ROW_EQUAL, draining || set != NULL ? INK_CYAN : INK_PLAIN, s, drains, set,
               inspect_reason(b, s->name));
}

static void add_commanded(const struct inspect_backend *b, const struct backend_server *s, struct rows *r)
{
    const struct runtime_command *call = inspect_call(b, s->name);
    cleanup(mem_free_ptr) char *what = mem_printf("%s, at runtime only", runtime_admin_name(call->state));
    add_detail(r, s->name, what, NULL, inspect_call_reason(b, call));
}

static void add_delayed(const struct inspect_report *report, const struct inspect_backend *b,
                        const struct backend_server *s, struct rows *r)
{
    cleanup(mem_free_ptr) char *kept = rows_until(report, b, s->name, "kept");
    add_server(r, ROW_DELAYED, INK_YELLOW, s, kept, NULL, inspect_reason(b, s->name));
}

static void widen(size_t *columns, size_t to, size_t max)
{
    if (to > *columns && to <= max)
        *columns = to;
}

static void measure(struct rows *r)
{
    for (size_t i = 0; i < r->count; i++) {
        widen(&r->name_columns, page_columns(r->list[i].name), NAME_MAX_COLUMNS);
        if (r->list[i].address != NULL)
            widen(&r->address_columns, page_columns(r->list[i].address), WHAT_MAX_COLUMNS);
    }
    for (size_t i = 0; i < r->count; i++) {
        size_t columns = page_columns(r->list[i].what);
        if (r->list[i].address != NULL)
            columns += r->address_columns + (columns > 0 ? GAP : 0);
        widen(&r->what_columns, columns, WHAT_MAX_COLUMNS);
        if (r->list[i].reason != NULL)
            widen(&r->reason_columns, page_columns(r->list[i].reason), SIZE_MAX);
    }
}

/* ---- printing ---- */

static void print_row(const struct row *row, const struct rows *r, struct page *p)
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
        bool beside = reason + r->reason_columns <= p->width; /* all of them, or none */
        if (!beside || p->column + GAP > reason)
            page_end_line(p);
        page_to(p, beside ? reason : REASON_MARGIN);
        page_flow(p, INK_DIM, row->reason);
    }
    page_end_line(p);
}

void inspect_print_rows(const struct inspect_report *report, const struct inspect_backend *b, struct page *p)
{
    cleanup(rows_fini) struct rows rows = {0};
    rows.list = mem_array(b->plan.diff.change_count + b->actual.server_count, sizeof(rows.list[0]));
    gather_changes(b, &rows);
    for (size_t i = 0; i < b->actual.server_count; i++) {
        const struct backend_server *s = &b->actual.servers[i];
        enum inspect_line line = inspect_line(report, b, s);
        if (line == INSPECT_LINE_EQUAL)
            add_equal(report, b, s, &rows);
        else if (line == INSPECT_LINE_COMMANDED)
            add_commanded(b, s, &rows);
        else if (line == INSPECT_LINE_DELAYED)
            add_delayed(report, b, s, &rows);
    }
    if (rows.count > 1)
        qsort(rows.list, rows.count, sizeof(rows.list[0]), row_order);
    measure(&rows);
    for (size_t i = 0; i < rows.count; i++)
        print_row(&rows.list[i], &rows, p);
}
