/* `plan` as text: for each backend what would change, what stays, what was left out, and the verdict. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "sync/inspect_print.h"
#include "sync/inspect_report.h"
#include "sync/page.h"

#define MARGIN 2
#define GAP 2
#define NAME_MAX_COLUMNS 40
#define WHAT_MAX_COLUMNS 60 /* longer ones do not widen the column */
#define REASON_MARGIN 6     /* where it stands in a line of its own */
#define ORDINARY_SHOWN 10
#define LEFT_OUT_SHOWN 100

/* In this order. */
enum kind { ROW_ADD, ROW_CHANGE, ROW_REMOVE, ROW_HELD, ROW_EQUAL };

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

static char *more_text(const struct backend_server *s, const char *mark)
{
    cleanup(buf_fini) struct buf b;
    buf_init(&b, 0);
    if (s->weight >= 0)
        buf_printf(&b, "weight %d", s->weight);
    if (mark != NULL)
        buf_printf(&b, "%s%s", b.len > 0 ? "  " : "", mark);
    return buf_take(&b);
}

static void add_row(struct rows *r, enum kind kind, enum page_ink ink, const struct backend_server *s,
                    const char *detail, char *reason)
{
    bool draining = kind == ROW_EQUAL && s->maintenance;
    const char *mark = draining ? "draining" : kind == ROW_HELD ? "held" : NULL;
    r->list[r->count++] = (struct row){.kind = kind,
                                       .ink = draining ? INK_CYAN : ink,
                                       .name = s->name,
                                       .reason = reason,
                                       .address = detail == NULL ? inspect_address(s) : NULL,
                                       .what = detail == NULL ? more_text(s, mark) : mem_strdup(detail)};
}

/* n2 before n10. */
static int row_order(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return x->kind != y->kind ? (int)x->kind - (int)y->kind : strverscmp(x->name, y->name);
}

static void gather(const struct inspect_report *report, const struct inspect_backend *b, struct rows *r)
{
    static const enum kind kinds[] = {[DIFF_ADD] = ROW_ADD, [DIFF_CHANGE] = ROW_CHANGE, [DIFF_REMOVE] = ROW_REMOVE};
    static const enum page_ink inks[] = {[DIFF_ADD] = INK_GREEN, [DIFF_CHANGE] = INK_YELLOW, [DIFF_REMOVE] = INK_RED};
    const struct diff *d = &b->plan.diff;
    r->list = mem_array(d->change_count + b->actual.server_count, sizeof(r->list[0]));
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        add_row(r, kinds[c->op], inks[c->op], &c->server, c->op == DIFF_CHANGE ? c->detail : NULL,
                inspect_change_reason(b, c));
    }
    for (size_t i = 0; i < b->actual.server_count; i++) {
        const struct backend_server *s = &b->actual.servers[i];
        enum inspect_line line = inspect_line(report, b, s);
        if (line == INSPECT_LINE_EQUAL)
            add_row(r, ROW_EQUAL, INK_PLAIN, s, NULL, inspect_reason(b, s->name));
        else if (line == INSPECT_LINE_HELD)
            add_row(r, ROW_HELD, INK_YELLOW, s, NULL, inspect_reason(b, s->name));
    }
    if (r->count > 1)
        qsort(r->list, r->count, sizeof(r->list[0]), row_order);
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
        [ROW_ADD] = "+", [ROW_CHANGE] = "~", [ROW_REMOVE] = "-", [ROW_HELD] = "!", [ROW_EQUAL] = "="};
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

static void print_settings(const struct diff *d, struct page *p)
{
    if (d->create_backend) {
        page_to(p, MARGIN);
        page_put(p, INK_GREEN, "+ the backend itself");
        page_end_line(p);
    }
    if (d->backend_detail != NULL) {
        page_to(p, MARGIN);
        page_put(p, INK_YELLOW, "~ ");
        page_flow(p, INK_YELLOW, d->backend_detail);
        page_end_line(p);
    }
}

static void print_servers(const struct inspect_report *report, const struct inspect_backend *b, struct page *p)
{
    cleanup(rows_fini) struct rows rows = {0};
    gather(report, b, &rows);
    measure(&rows);
    print_settings(&b->plan.diff, p);
    for (size_t i = 0; i < rows.count; i++)
        print_row(&rows.list[i], &rows, p);
}

static void print_not_ours(const struct diff *d, struct page *p)
{
    if (d->foreign_count == 0)
        return;
    page_to(p, MARGIN);
    page_printf(p, INK_DIM, ". %zu %s not ours and left alone", d->foreign_count,
                d->foreign_count == 1 ? "server line is" : "server lines are");
    if (d->foreign_inherit_count > 0)
        page_printf(p, INK_YELLOW, "; %zu of them would inherit send-proxy-v2", d->foreign_inherit_count);
    page_end_line(p);
}

/* ---- left out ---- */

static void print_left_out(const char *subject, const char *reason, bool ordinary, struct page *p)
{
    page_to(p, MARGIN);
    page_put(p, ordinary ? INK_DIM : INK_YELLOW, ordinary ? ". " : "! ");
    cleanup(mem_free_ptr) char *text = mem_printf("%s: %s", subject, reason);
    page_flow(p, ordinary ? INK_DIM : INK_YELLOW, text);
    page_end_line(p);
}

/* The row of its server says it already: as the reason of what goes or is held. */
static bool is_told(const struct inspect_backend *b, const struct desired_skip *s)
{
    return inspect_has_lines(b) && s->server != NULL && desired_why_out(&b->wish, s->server) == s &&
           backend_find(&b->actual, s->server) != NULL;
}

static void print_skips(const struct inspect_backend *b, bool ordinary, size_t most, struct page *p)
{
    size_t count = 0;
    for (size_t i = 0; i < b->wish.skip_count; i++) {
        const struct desired_skip *s = &b->wish.skips[i];
        if (s->ordinary == ordinary && !is_told(b, s) && count++ < most)
            print_left_out(s->subject, s->reason, ordinary, p);
    }
    if (count > most) {
        page_to(p, MARGIN);
        page_printf(p, INK_DIM, ". and %zu more like these; -o json has them all", count - most);
        page_end_line(p);
    }
}

/* Wished for as draining, but there is no line to drain. */
static void print_drained(const struct inspect_backend *b, struct page *p)
{
    for (size_t i = 0; b->seen && i < b->wish.server_count; i++) {
        const struct desired_server *s = &b->wish.servers[i];
        if (s->state != SERVER_DRAINING || backend_find(&b->actual, s->name) != NULL)
            continue;
        cleanup(mem_free_ptr) char *why = mem_printf("draining, and not there: it gets no line (%s)", s->reason);
        print_left_out(s->name, why, true, p);
    }
}

static void print_all_left_out(const struct inspect_backend *b, struct page *p)
{
    const struct diff *d = &b->plan.diff;
    for (size_t i = 0; i < d->skip_count; i++)
        print_left_out(d->skips[i].name, d->skips[i].reason, false, p);
    print_skips(b, false, LEFT_OUT_SHOWN, p);
    print_drained(b, p);
    print_skips(b, true, ORDINARY_SHOWN, p);
    if (b->wish.note != NULL) {
        page_to(p, MARGIN);
        page_put(p, INK_YELLOW, "! ");
        page_flow(p, INK_YELLOW, b->wish.note);
        page_end_line(p);
    }
}

/* ---- verdict ---- */

static size_t count_op(const struct diff *d, enum diff_op op)
{
    size_t count = 0;
    for (size_t i = 0; i < d->change_count; i++)
        count += d->changes[i].op == op;
    return count;
}

static void add_count(struct buf *b, size_t count, const char *what)
{
    if (count > 0)
        buf_printf(b, "%s%zu %s", b->len > 0 ? ", " : "", count, what);
}

/* "2 to add, 1 to change, settings" */
static void add_changes(struct buf *b, const struct diff *d)
{
    add_count(b, count_op(d, DIFF_ADD), "to add");
    add_count(b, count_op(d, DIFF_CHANGE), "to change");
    add_count(b, count_op(d, DIFF_REMOVE), "to remove");
    if (d->backend_change || d->create_backend)
        buf_printf(b, "%s%s", b->len > 0 ? ", " : "", d->create_backend ? "the backend to make" : "settings");
}

static void add_in_step(struct buf *b, const struct inspect_backend *of)
{
    size_t draining = 0, count = 0;
    for (size_t i = 0; i < of->wish.server_count; i++)
        if (backend_find(&of->actual, of->wish.servers[i].name) != NULL) {
            count++;
            draining += of->wish.servers[i].state == SERVER_DRAINING;
        }
    buf_printf(b, "%zu server%s", count, count == 1 ? "" : "s");
    if (draining > 0)
        buf_printf(b, ", %zu draining", draining);
}

static void verdict_text(const struct inspect_backend *b, struct buf *text)
{
    enum inspect_verdict v = inspect_verdict(b);
    if (v == INSPECT_IN_STEP)
        add_in_step(text, b);
    if (v == INSPECT_CHANGES || v == INSPECT_WITHHELD)
        add_changes(text, &b->plan.diff);
    if (v == INSPECT_RELOAD_AGAIN)
        buf_add(text, "the last reload failed, so an empty commit would apply the file again");
    cleanup(mem_free_ptr) char *why = inspect_why(b);
    if (str_empty(why))
        return;
    buf_printf(text, "%s%s%s", text->len > 0 ? "; " : "",
               v == INSPECT_CHANGES && b->plan.held_back > 0 ? "the brake holds the rest: " : "", why);
}

static void print_verdict(const struct inspect_backend *b, struct page *p)
{
    static const struct {
        enum page_ink ink;
        const char *word;
    } shapes[] = {
        [INSPECT_IN_STEP] = {INK_GREEN, "in step"},
        [INSPECT_CHANGES] = {INK_YELLOW, "changes"},
        [INSPECT_RELOAD_AGAIN] = {INK_YELLOW, "reload again"},
        [INSPECT_HOLD] = {INK_YELLOW, "holding"},
        [INSPECT_BRAKE] = {INK_YELLOW, "held by the brake"},
        [INSPECT_WITHHELD] = {INK_YELLOW, "withheld"},
        [INSPECT_REFUSED] = {INK_RED, "refused"},
        [INSPECT_WAITING] = {INK_RED, "waiting"},
        [INSPECT_UNSEEN] = {INK_RED, "could not tell"},
    };
    enum inspect_verdict v = inspect_verdict(b);
    const struct diff *d = &b->plan.diff;
    size_t changes = d->change_count + (d->backend_change || d->create_backend);
    cleanup(buf_fini) struct buf text;
    buf_init(&text, 0);
    verdict_text(b, &text);
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

/* A blank line behind a part that has any. */
static void end_part(struct page *p, size_t *before)
{
    if (p->out->len > *before)
        page_end_line(p);
    *before = p->out->len;
}

static void print_backend(const struct inspect_report *r, const struct inspect_backend *b, struct page *p)
{
    inspect_print_heading(b, p);
    size_t before = p->out->len;
    if (inspect_has_lines(b))
        print_servers(r, b, p);
    end_part(p, &before);
    if (inspect_has_lines(b))
        print_not_ours(&b->plan.diff, p);
    print_all_left_out(b, p);
    end_part(p, &before);
    print_verdict(b, p);
}

void inspect_print_plan(const struct inspect_report *r, struct page *p)
{
    for (size_t i = 0; i < r->count; i++) {
        if (i > 0)
            page_end_line(p);
        print_backend(r, &r->backends[i], p);
    }
}
