/* UTF-8 (RFC 3629) as far as text of others has to be shown safely. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The code point at s and its bytes; 0 bytes where it is no well-formed UTF-8 (overlong, surrogate, cut, ...). */
size_t utf8_decode(const char *s, uint32_t *ret);

/* False for controls (C0, DEL, C1), and for what has no shape of its own but changes how the text around it is read (marks of
 * direction, joiners, separators): they drive a terminal or forge a line. */
bool utf8_is_shown(uint32_t code_point);

/* How much of text is left of at most max_bytes: up to where a character ends. What is no UTF-8 counts as characters of a byte. */
size_t utf8_cut(const char *text, size_t max_bytes);

#endif
