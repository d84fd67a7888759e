/* Two files by their meaning: what a Data Plane API would write in place of one. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/cfg/entries.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/mask.h"

#define SHOWN 5
#define NAME_SHOWN 64

/* "http-request deny", without the second word where that may be a secret: as it may be shown. */
static char *shown(const struct cfg_entry *e)
{
    struct buf text = {0};
    cfg_mask_line(e->line->text, e->line->len, NAME_SHOWN, &text);
    char *words = buf_take(&text);
    char *second = strchr(words, ' ');
    if (second != NULL)
        second[1 + strcspn(second + 1, " ")] = '\0';
    return words;
}

/* "line 7 ("http-request deny" of frontend web) ", without the line where it is none of the file's. */
static void say(struct text_list *r, const struct cfg_entry *e, bool before, const char *what)
{
    if (!text_list_next(r))
        return;
    cleanup(mem_free_ptr) char *text = shown(e);
    if (before)
        buf_printf(&r->text, "line %u ", e->line->number);
    buf_printf(&r->text, "(%s%s%s%s%s%.*s) %s", cfg_entry_is_header(e) ? "" : "\"", cfg_entry_is_header(e) ? "" : text,
               cfg_entry_is_header(e) ? "" : "\" of ", e->in->kind, e->in->name[0] != '\0' ? " " : "", NAME_SHOWN,
               e->in->name, what);
}

static bool has(const struct cfg_run *r, size_t from, const char *text)
{
    for (size_t i = from; i < r->count; i++)
        if (strcmp(r->list[i].text, text) == 0)
            return true;
    return false;
}

static void compare_headers(struct cfg_run before, struct cfg_run after, struct text_list *r)
{
    if (after.count == 0) {
        say(r, &before.list[0], true, "would be lost");
    } else if (before.count == 0) {
        say(r, &after.list[0], false, "would be added");
    } else if (before.count != after.count) {
        say(r, &before.list[0], true, "would be there fewer times");
    } else {
        for (size_t i = 0; i < before.count; i++) {
            const char *was = before.list[i].text, *is = after.list[i].text;
            cleanup(mem_free_ptr) char *what =
                mem_printf("would inherit from %s%.*s instead of %s%.*s", is[0] != '\0' ? "defaults " : "nothing",
                           NAME_SHOWN, is, was[0] != '\0' ? "defaults " : "nothing", NAME_SHOWN, was);
            if (strcmp(was, is) != 0)
                say(r, &before.list[i], true, what);
        }
    }
}

static void compare_lines(struct cfg_run before, struct cfg_run after, struct text_list *r)
{
    size_t i = 0;
    while (i < before.count && i < after.count && strcmp(before.list[i].text, after.list[i].text) == 0)
        i++;
    if (i < before.count && !has(&after, i, before.list[i].text))
        say(r, &before.list[i], true, "would be lost or changed");
    else if (i < after.count && !has(&before, i, after.list[i].text))
        say(r, &after.list[i], false, "would be added");
    else if (i < before.count)
        say(r, &before.list[i], true, "would move behind what follows it now");
}

char *cfg_file_compare(const struct cfg_file *before, const struct cfg_file *after, const struct cfg_file_managed *ours)
{
    struct text_list r = {.between = "; ", .max = SHOWN};
    cleanup(cfg_entries_fini) struct cfg_entries a;
    cleanup(cfg_entries_fini) struct cfg_entries b;
    struct cfg_run was, is;
    cfg_entries_init_both(&a, &b, before, after, ours);
    while (cfg_entries_next(&a, &b, &was, &is)) {
        if (cfg_entry_is_header(was.count > 0 ? &was.list[0] : &is.list[0]))
            compare_headers(was, is, &r);
        else
            compare_lines(was, is, &r);
    }
    return text_list_take(&r);
}
