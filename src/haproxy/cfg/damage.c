#include "haproxy/cfg/damage.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "haproxy/cfg/entries.h"
#include "haproxy/cfg/mask.h"

#define NAME_SHOWN 64
#define LINES_SHOWN 5

/* "line 7 ("http-request deny" of frontend web) ", without the line where it is none of the file's, and without the second
 * word where that may be a secret. */
static void damage_say(struct text_list *r, const struct cfg_entry *e, bool before, const char *what)
{
    if (!text_list_next(r))
        return;
    cleanup(buf_fini) struct buf words = {0};
    cfg_mask_line(e->line->text, e->line->len, NAME_SHOWN, &words);
    size_t shown = strcspn(buf_str(&words), " ");
    shown += shown < words.len ? 1 + strcspn(buf_str(&words) + shown + 1, " ") : 0;
    if (before)
        buf_printf(&r->text, "line %u ", e->line->number);
    buf_add(&r->text, "(");
    if (!cfg_entry_is_header(e))
        buf_printf(&r->text, "\"%.*s\" of ", (int)shown, buf_str(&words));
    buf_printf(&r->text, "%s%s%.*s) %s", e->in->kind, e->in->name[0] != '\0' ? " " : "", NAME_SHOWN, e->in->name, what);
}

static void damage_of_headers(struct text_list *r, struct cfg_run before, struct cfg_run after)
{
    if (after.count == 0)
        damage_say(r, &before.list[0], true, "would be lost");
    else if (before.count == 0)
        damage_say(r, &after.list[0], false, "would be added");
    else if (before.count != after.count)
        damage_say(r, &before.list[0], true, "would be there fewer times");
    for (size_t i = 0; before.count == after.count && i < before.count; i++) {
        const char *was = before.list[i].text, *is = after.list[i].text;
        cleanup(mem_free_ptr) char *what =
            mem_printf("would inherit from %s%.*s instead of %s%.*s", is[0] != '\0' ? "defaults " : "nothing",
                       NAME_SHOWN, is, was[0] != '\0' ? "defaults " : "nothing", NAME_SHOWN, was);
        if (strcmp(was, is) != 0)
            damage_say(r, &before.list[i], true, what);
    }
}

static void damage_see(void *r, struct cfg_run before, struct cfg_run after)
{
    size_t i = 0;
    if (cfg_entry_is_header(before.count > 0 ? &before.list[0] : &after.list[0])) {
        damage_of_headers(r, before, after);
        return;
    }
    while (i < before.count && i < after.count && strcmp(before.list[i].text, after.list[i].text) == 0)
        i++;
    if (i == before.count && i == after.count)
        return;
    cleanup(cfg_lone_lines_fini) struct cfg_lone_lines lone = cfg_lone_lines_of(before, after);
    if (i < before.count && lone.gone[i])
        damage_say(r, &before.list[i], true, "would be lost or changed");
    else if (i < after.count && lone.new[i])
        damage_say(r, &after.list[i], false, "would be added");
    else if (i < before.count)
        damage_say(r, &before.list[i], true, "would move behind what follows it now");
}

char *cfg_file_compare(const struct cfg_file *before, const struct cfg_file *after, const struct cfg_file_managed *ours)
{
    struct text_list r = {.between = "; ", .max = LINES_SHOWN};
    cfg_entries_compare(before, after, ours, damage_see, &r);
    return text_list_take(&r);
}
