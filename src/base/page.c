#include "base/page.h"

#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#define WIDTH_MIN 60 /* narrower terminals wrap by themselves */
#define WIDTH_MAX 140

static const char *const inks[] = {
    [INK_PLAIN] = "",         [INK_BOLD] = "\x1b[1m",    [INK_DIM] = "\x1b[2m",   [INK_RED] = "\x1b[31m",
    [INK_GREEN] = "\x1b[32m", [INK_YELLOW] = "\x1b[33m", [INK_CYAN] = "\x1b[36m",
};

void page_init(struct page *p, struct buf *out, bool colour, size_t width)
{
    size_t w = width == 0 ? PAGE_WIDTH_DEFAULT : width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width;
    *p = (struct page){.out = out, .colour = colour, .width = w};
}

/* Of text that is shown as it is: there is nothing in it that has no column, or two bytes for one. */
static size_t columns_of(const char *shown)
{
    size_t columns = 0;
    for (; *shown != '\0'; shown++)
        columns += ((unsigned char)*shown & 0xc0) != 0x80;
    return columns;
}

size_t page_columns(const char *text)
{
    cleanup(mem_free_ptr) char *shown = text_shown(text, TEXT_TERMINAL, TEXT_WHOLE);
    return columns_of(shown);
}

/* ---- writing ---- */

void page_put(struct page *p, enum page_ink ink, const char *text)
{
    bool coloured = p->colour && ink != INK_PLAIN && *text != '\0';
    if (coloured)
        buf_add(p->out, inks[ink]);
    size_t from = p->out->len;
    text_add(p->out, text, TEXT_TERMINAL, TEXT_WHOLE);
    p->column += columns_of(buf_str(p->out) + from);
    if (coloured)
        buf_add(p->out, "\x1b[0m");
}

void page_printf(struct page *p, enum page_ink ink, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    cleanup(mem_free_ptr) char *text = mem_vprintf(fmt, ap);
    va_end(ap);
    page_put(p, ink, text);
}

void page_to(struct page *p, size_t column)
{
    size_t n = p->column < column ? column - p->column : p->column > 0 ? 1 : 0;
    p->column += n;
    for (; n > 0; n--)
        buf_addn(p->out, " ", 1);
}

void page_end_line(struct page *p)
{
    buf_add(p->out, "\n");
    p->column = 0;
}

void page_flow(struct page *p, enum page_ink ink, const char *text)
{
    static const char blanks[] = " \t\r\n";
    size_t left = p->column;
    cleanup(buf_fini) struct buf line = {0};
    size_t columns = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, blanks);
        cleanup(mem_free_ptr) char *word = mem_strndup(text, len);
        size_t more = page_columns(word);
        if (columns > 0 && left + columns + 1 + more > p->width) {
            page_put(p, ink, buf_str(&line));
            page_end_line(p);
            page_to(p, left);
            buf_clear(&line);
            columns = 0;
        }
        buf_printf(&line, "%s%s", columns > 0 ? " " : "", word);
        columns += more + (columns > 0 ? 1 : 0);
        text += len;
        text += strspn(text, blanks);
    }
    page_put(p, ink, buf_str(&line));
}

void page_flow_line(struct page *p, enum page_ink ink, const char *text)
{
    page_flow(p, ink, text);
    page_end_line(p);
}

/* ---- whether to colour ---- */

bool page_wants_colour(enum page_colour choice, bool terminal, const char *no_color, const char *term)
{
    if (choice != PAGE_COLOUR_AUTO)
        return choice == PAGE_COLOUR_ALWAYS;
    return terminal && str_empty(no_color) && !str_eq(term, "dumb");
}
