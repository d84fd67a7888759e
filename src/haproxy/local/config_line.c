#include "haproxy/local/config_line.h"

#include <string.h>

#include "base/str.h"

void local_line_init(struct local_line *e, const struct cfg_file_line *line)
{
    memset(e, 0, sizeof(*e));
    e->line = line;
    cfg_line_init(&e->words);
    cfg_line_split(&e->words, line->text, line->len);
}

void local_line_fini(struct local_line *e)
{
    cfg_line_fini(&e->words);
    buf_fini(&e->more);
}

static void line_print(const struct local_line *e, struct buf *out)
{
    const char *at = e->line->text, *end = at + e->line->len;
    for (size_t i = 0; i < e->words.count; i++) {
        const struct cfg_word *w = &e->words.words[i];
        const char *behind = w->raw + w->raw_len;
        if (!e->gone[i]) {
            buf_addn(out, at, (size_t)(w->raw - at));
            if (e->instead[i] != NULL)
                buf_add(out, e->instead[i]);
            else
                buf_addn(out, w->raw, w->raw_len);
        }
        at = behind;
        if (i + 1 == (e->unknown != 0 ? e->unknown : e->words.count))
            buf_addn(out, buf_str(&e->more), e->more.len);
    }
    buf_addn(out, at, (size_t)(end - at));
}

static bool line_is_edited(const struct local_line *e)
{
    bool edited = e->more.len > 0;
    for (size_t i = 0; i < e->words.count; i++)
        edited = edited || e->gone[i] || e->instead[i] != NULL;
    return edited;
}

void local_line_done(struct local_line *e, struct cfg_edits *ret)
{
    cleanup(buf_fini) struct buf text = {0};
    if (!line_is_edited(e))
        return;
    line_print(e, &text);
    cfg_edits_add(ret, e->line->number, CFG_EDIT_REPLACE, buf_str(&text), text.len);
}

/* ---- keywords of a line ---- */

static void line_drop(struct local_line *e, const struct local_word *w)
{
    for (size_t i = w->at; i <= w->last; i++)
        e->gone[i] = true;
}

static struct local_word line_word(struct local_line *e, size_t at)
{
    const struct local_word w = local_config_word(&e->words, at);
    if (!w.known && (e->unknown == 0 || at < e->unknown))
        e->unknown = at;
    return w;
}

void local_line_set(struct local_line *e, size_t first, const char *on, const char *off)
{
    bool there = false;
    for (size_t i = first; i < e->words.count;) {
        const struct local_word w = line_word(e, i);
        if (off != NULL && str_eq(w.name, off))
            line_drop(e, &w);
        there = there || (on != NULL && str_eq(w.name, on));
        i = w.last + 1;
    }
    if (on != NULL && !there)
        buf_printf(&e->more, " %s", on);
}

void local_line_value(struct local_line *e, size_t first, const char *keyword, const char *value)
{
    bool there = false;
    for (size_t i = first; i < e->words.count;) {
        const struct local_word w = line_word(e, i);
        if (str_eq(w.name, keyword) && value == NULL)
            line_drop(e, &w);
        else if (str_eq(w.name, keyword) && w.last > w.at && !str_eq(cfg_word(&e->words, w.last), value))
            e->instead[w.last] = value;
        there = there || str_eq(w.name, keyword);
        i = w.last + 1;
    }
    if (value != NULL && !there)
        buf_printf(&e->more, " %s %s", keyword, value);
}

void local_line_add(struct local_line *e, size_t first, const char *keyword, const char *value)
{
    bool there = false;
    for (size_t i = first; i < e->words.count && !there;) {
        const struct local_word w = line_word(e, i);
        there = str_eq(w.name, keyword);
        i = w.last + 1;
    }
    if (!there)
        buf_printf(&e->more, " %s %s", keyword, value);
}
