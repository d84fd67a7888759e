#include "haproxy/cfg/line_difference.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/cfg/entries.h"
#include "haproxy/cfg/mask.h"

#define NAME_SHOWN 64

static void line_difference_add(struct cfg_line_difference *d, const struct cfg_entry *e, char sign)
{
    if (d->count++ >= CFG_LINE_DIFFERENCE_MAX)
        return;
    struct buf section = {0}, text = {0};
    const char *name = cfg_file_name(e->in);
    buf_printf(&section, "%s%s", e->in->kind, name[0] != '\0' ? " " : "");
    text_add(&section, name, TEXT_LINE, NAME_SHOWN);
    buf_printf(&text, "%c ", sign);
    cfg_mask_line(e->line->text, e->line->len, CFG_LINE_DIFFERENCE_LINE_MAX_BYTES, &text);
    d->lines[d->count - 1] = (struct cfg_line_of){.section = buf_take(&section), .text = buf_take(&text)};
}

/* ---- the lines of one kind in a section */

static int order_of_texts(const void *a, const void *b)
{
    const struct cfg_entry *const *x = a, *const *y = b;
    int n = strcmp((*x)->text, (*y)->text);
    return n != 0 ? n : ((*x)->order > (*y)->order) - ((*x)->order < (*y)->order);
}

static const struct cfg_entry **line_difference_sorted(struct cfg_run run)
{
    const struct cfg_entry **list = mem_array(run.count, sizeof(*list));
    for (size_t i = 0; i < run.count; i++)
        list[i] = &run.list[i];
    if (run.count > 1)
        qsort(list, run.count, sizeof(*list), order_of_texts);
    return list;
}

/* In the order of the file. */
static void line_difference_add_all(struct cfg_line_difference *d, struct cfg_run run, const bool *alone, char sign)
{
    for (size_t i = 0; i < run.count; i++)
        if (alone[i])
            line_difference_add(d, &run.list[i], sign);
}

static void line_difference_of_run(struct cfg_line_difference *d, struct cfg_run was, struct cfg_run is)
{
    cleanup(mem_free_ptr) const struct cfg_entry **a = line_difference_sorted(was);
    cleanup(mem_free_ptr) const struct cfg_entry **b = line_difference_sorted(is);
    cleanup(mem_free_ptr) bool *gone = mem_array(was.count, sizeof(*gone));
    cleanup(mem_free_ptr) bool *new = mem_array(is.count, sizeof(*new));
    for (size_t i = 0, k = 0; i < was.count || k < is.count;) {
        int n = i == was.count ? 1 : k == is.count ? -1 : strcmp(a[i]->text, b[k]->text);
        if (n < 0)
            gone[a[i] - was.list] = true;
        if (n > 0)
            new[b[k] - is.list] = true;
        i += n <= 0;
        k += n >= 0;
    }
    line_difference_add_all(d, was, gone, '-');
    line_difference_add_all(d, is, new, '+');
}

void cfg_line_difference_init(struct cfg_line_difference *d, const struct cfg_file *before,
                              const struct cfg_file *after)
{
    cleanup(cfg_entries_fini) struct cfg_entries a;
    cleanup(cfg_entries_fini) struct cfg_entries b;
    struct cfg_run was, is;
    *d = (struct cfg_line_difference){0};
    cfg_entries_init_both(&a, &b, before, after, NULL);
    while (cfg_entries_next(&a, &b, &was, &is))
        line_difference_of_run(d, was, is);
}

void cfg_line_difference_fini(struct cfg_line_difference *d)
{
    for (size_t i = 0; i < d->count && i < CFG_LINE_DIFFERENCE_MAX; i++) {
        free(d->lines[i].section);
        free(d->lines[i].text);
    }
    *d = (struct cfg_line_difference){0};
}
