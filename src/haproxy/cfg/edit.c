#include "haproxy/cfg/edit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void cfg_edits_add(struct cfg_edits *e, unsigned line, enum cfg_edit_kind kind, const char *text, size_t len)
{
    e->list = mem_one_more(e->list, e->count, sizeof(e->list[0]));
    size_t at = e->count++;
    for (; at > 0 && e->list[at - 1].line > line; at--)
        e->list[at] = e->list[at - 1];
    e->list[at] = (struct cfg_edit){line, kind, text != NULL ? mem_strndup(text, len) : NULL};
}

void cfg_edits_fini(struct cfg_edits *e)
{
    for (size_t i = 0; i < e->count; i++)
        mem_wipe_free(e->list[i].text);
    free(e->list);
    *e = (struct cfg_edits){0};
}

unsigned cfg_edits_line(const struct cfg_edits *e, struct cfg_edits_back *back, unsigned printed, bool *ret_inserted)
{
    *ret_inserted = false;
    while (back->at < e->count) {
        unsigned line = e->list[back->at].line;
        size_t next = back->at, inserted = 0, removed = 0;
        for (; next < e->count && e->list[next].line == line; next++) {
            inserted += e->list[next].kind == CFG_EDIT_INSERT;
            removed += e->list[next].kind == CFG_EDIT_REMOVE;
        }
        long first = (long)line + back->shift + 1 - (long)removed; /* of those that were inserted */
        if ((long)printed < first)
            break;
        if ((long)printed < first + (long)inserted) {
            *ret_inserted = true;
            return line;
        }
        back->shift += (long)inserted - (long)removed;
        back->at = next;
    }
    return (unsigned)((long)printed - back->shift);
}

/* What is printed of one line, and of all that is inserted behind it. */
struct printing {
    struct buf *out;
    const char *end; /* NULL: each line's own */
    bool open;       /* what was printed last has no end */
};

static void print_line(struct printing *p, const char *text, size_t len, const char *end, size_t end_len)
{
    if (p->open)
        buf_add(p->out, "\n");
    buf_addn(p->out, text, len);
    if (p->end != NULL)
        buf_add(p->out, p->end);
    else
        buf_addn(p->out, end, end_len);
    p->open = p->end == NULL && end_len == 0;
}

/* The edits of `line` from e on, up to `last`; those behind them. */
static const struct cfg_edit *print_edited(struct printing *p, const struct cfg_file_line *line,
                                           const struct cfg_edit *e, const struct cfg_edit *last)
{
    const char *end = line->text + line->len;
    const struct cfg_edit *own = NULL, *next = e;
    for (; next < last && next->line == line->number; next++)
        if (next->kind != CFG_EDIT_INSERT)
            own = next;
    if (own == NULL)
        print_line(p, line->text, line->len, end, line->end_len);
    else if (own->kind == CFG_EDIT_REPLACE)
        print_line(p, own->text, strlen(own->text), end, line->end_len);
    for (; e < next; e++)
        if (e->kind == CFG_EDIT_INSERT)
            print_line(p, e->text, strlen(e->text), end, line->end_len);
    return next;
}

void cfg_file_print(const struct cfg_file *f, const struct cfg_edits *edits, const char *end, struct buf *out)
{
    struct printing p = {.out = out, .end = end};
    struct cfg_file_line line = {0};
    bool any = edits != NULL && edits->count > 0;
    const struct cfg_edit *e = any ? edits->list : NULL, *last = any ? e + edits->count : NULL;
    for (; e < last && e->line == 0; e++)
        print_line(&p, e->text, strlen(e->text), "\n", 1);
    while (cfg_file_next(f, &line))
        e = print_edited(&p, &line, e, last);
}
