/*
 * Text for people: colours where asked for, columns, words that wrap. What goes through here is safe to show: characters
 * that could drive a terminal or turn text around are escaped, for names and messages come from Kubernetes and HAProxy.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"

enum page_ink { INK_PLAIN, INK_BOLD, INK_DIM, INK_RED, INK_GREEN, INK_YELLOW, INK_CYAN };

#define PAGE_WIDTH_DEFAULT 100

struct page {
    struct buf *out;
    bool colour;
    size_t width;  /* columns that wrapped text may use */
    size_t column; /* where the next character goes */
};

/* Follows width as far as it is sensible to read; 0: not known. */
void page_init(struct page *p, struct buf *out, bool colour, size_t width);

void page_put(struct page *p, enum page_ink ink, const char *text);
void page_printf(struct page *p, enum page_ink ink, const char *fmt, ...) printf_like(3, 4);
/* Spaces up to this column, and no less than one where something stands before it. */
void page_to(struct page *p, size_t column);
void page_end_line(struct page *p);

/* Word by word from where we are; what does not fit goes on in the next line, at the column where it began. A word that
 * is too long for any line stays whole; what HAProxy says in several lines becomes one text. */
void page_flow(struct page *p, enum page_ink ink, const char *text);
void page_flow_line(struct page *p, enum page_ink ink, const char *text); /* and the line ends there */

/* How many columns a text takes (as page_put shows it). */
size_t page_columns(const char *text);

enum page_colour { PAGE_COLOUR_AUTO, PAGE_COLOUR_ALWAYS, PAGE_COLOUR_NEVER };

/* auto: on a terminal, unless NO_COLOR (no-color.org) or TERM=dumb says otherwise; NULL: not set. */
bool page_wants_colour(enum page_colour choice, bool terminal, const char *no_color, const char *term);
