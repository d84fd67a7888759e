#include "base/text.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#define SHOWN_MAX 16 /* bytes of what stands for one character */

/* The code point at s, of which `left` bytes are there, and its bytes; 0 where it is no well-formed UTF-8 (overlong,
 * cut, ...). */
static size_t decode(const char *s, size_t left, uint32_t *ret)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *u = (const unsigned char *)s;
    size_t len = u[0] < 0x80             ? 1
                 : (u[0] & 0xe0) == 0xc0 ? 2
                 : (u[0] & 0xf0) == 0xe0 ? 3
                 : (u[0] & 0xf8) == 0xf0 ? 4
                                         : 0;
    uint32_t c = len == 1 ? u[0] : len == 0 ? 0 : u[0] & (0xffu >> (len + 1));
    if (len > left)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if ((u[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (u[i] & 0x3f);
    }
    if (len == 0 || c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *ret = c;
    return len;
}

static bool is_control(uint32_t c)
{
    return c < 0x20 || c == 0x7f;
}

/* Not controls (C0, DEL, C1), nor what has no shape of its own but changes how the text around it is read (marks of
 * direction, joiners, separators): they drive a terminal or forge a line. */
static bool is_shown(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
                  {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f},
                  {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};
    for (size_t i = 0; i < array_len(hidden); i++)
        if (c >= hidden[i].first && c <= hidden[i].last)
            return false;
    return true;
}

/* What stands for the character c of `len` bytes (0: the byte is no UTF-8) at s; 0: it stays what it is. */
static int text_escape(const char *s, size_t len, uint32_t c, enum text_mode mode, char ret[SHOWN_MAX])
{
    bool shown = len > 0 && is_shown(c), quote = c == '"' || c == '\\';
    unsigned byte = (unsigned char)*s;
    switch (mode) {
    case TEXT_AS_IS:
        return 0;
    case TEXT_FLAT:
    case TEXT_LINE:
        if (len > 0 && (is_control(c) || c == ' '))
            return snprintf(ret, SHOWN_MAX, " ");
        return shown || mode == TEXT_FLAT ? 0 : snprintf(ret, SHOWN_MAX, "?");
    case TEXT_MESSAGE:
        if (c == '\n' || c == '\t' || c == '\r')
            return snprintf(ret, SHOWN_MAX, " ");
        return len > 0 && is_control(c) ? snprintf(ret, SHOWN_MAX, "\\x%02x", byte) : 0;
    case TEXT_TERMINAL:
        if (shown)
            return 0;
        return len > 0 && c >= 0x80 ? snprintf(ret, SHOWN_MAX, "\\u{%x}", (unsigned)c)
                                    : snprintf(ret, SHOWN_MAX, "\\x%02x", byte);
    case TEXT_QUOTED:
        if (c >= 0x10000 && !shown) /* as JSON has it: a pair of surrogates */
            return snprintf(ret, SHOWN_MAX, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (c >> 10)),
                            (unsigned)(0xdc00 + (c & 0x3ff)));
        if (!shown && c != '\n')
            return snprintf(ret, SHOWN_MAX, "\\u%04x", len > 0 ? (unsigned)c : 0xfffdu);
        break;
    case TEXT_ASCII:
        if (byte >= 0x7f || (byte < 0x20 && byte != '\n'))
            return snprintf(ret, SHOWN_MAX, "\\x%02x", byte);
        break;
    case TEXT_LABEL:
        if (len == 0)
            return snprintf(ret, SHOWN_MAX, "?");
        break;
    case TEXT_HELP:
        quote = c == '\\';
        break;
    }
    return c == '\n' ? snprintf(ret, SHOWN_MAX, "\\n") : quote ? snprintf(ret, SHOWN_MAX, "\\%c", (char)c) : 0;
}

void text_addn(struct buf *out, const char *s, size_t len, enum text_mode mode, size_t max_bytes)
{
    size_t start = out->len, whole = start; /* where "..." would still fit behind */
    bool blank = false;                     /* of a line: there is one before the next character */
    for (size_t taken; len > 0; s += taken, len -= taken) {
        char instead[SHOWN_MAX];
        uint32_t c = 0;
        taken = mode == TEXT_ASCII ? 1 : decode(s, len, &c);
        if (mode == TEXT_ASCII)
            c = (unsigned char)*s;
        size_t escaped = (size_t)text_escape(s, taken, c, mode, instead);
        taken = taken > 0 ? taken : 1;
        if (mode != TEXT_MESSAGE && escaped == 1 && instead[0] == ' ') {
            blank = out->len > start;
            continue;
        }
        size_t more = (escaped > 0 ? escaped : taken) + blank;
        if (more > max_bytes - (out->len - start)) {
            out->len = whole;
            buf_add(out, "...");
            return;
        }
        buf_addn(out, " ", blank);
        blank = false;
        buf_addn(out, escaped > 0 ? instead : s, escaped > 0 ? escaped : taken);
        if (out->len - start <= max_bytes - strlen("..."))
            whole = out->len;
    }
}

void text_add(struct buf *out, const char *s, enum text_mode mode, size_t max_bytes)
{
    text_addn(out, s, strlen(s), mode, max_bytes);
}

char *text_shown(const char *s, enum text_mode mode, size_t max_bytes)
{
    struct buf out = {0};
    text_add(&out, s, mode, max_bytes);
    return buf_take(&out);
}

size_t text_cut(const char *s, size_t max_bytes)
{
    size_t at = 0;
    for (size_t left = strlen(s); left > 0;) {
        uint32_t c;
        size_t len = decode(s + at, left, &c);
        len = len > 0 ? len : 1;
        if (at + len > max_bytes)
            break;
        at += len;
        left -= len;
    }
    return at;
}

bool text_list_next(struct text_list *l)
{
    if (l->count++ >= l->max)
        return false;
    buf_add(&l->text, l->count > 1 ? l->between : "");
    return true;
}

char *text_list_take(struct text_list *l)
{
    if (l->count > l->max)
        buf_printf(&l->text, "%s and %zu more", l->between[0] == ';' ? ";" : "", l->count - l->max);
    bool any = l->count > 0;
    l->count = 0;
    return any ? buf_take(&l->text) : NULL;
}

size_t text_utf8_len(const char *s, size_t len)
{
    uint32_t c;
    size_t at = 0;
    for (uint64_t eight; at + sizeof(eight) <= len; at += sizeof(eight)) { /* most of it is ASCII */
        memcpy(&eight, s + at, sizeof(eight));
        if ((eight & 0x8080808080808080u) != 0)
            break;
    }
    for (size_t n; at < len && (n = (unsigned char)s[at] < 0x80 ? 1 : decode(s + at, len - at, &c)) > 0;)
        at += n;
    return at;
}

bool text_is_utf8(const char *s)
{
    size_t len = strlen(s);
    return text_utf8_len(s, len) == len;
}

const char *text_control(const char *s, size_t len)
{
    for (const char *end = s + len; s < end; s++)
        if (is_control((unsigned char)*s))
            return s;
    return NULL;
}
