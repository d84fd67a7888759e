#include "base/utf8.h"

size_t utf8_decode(const char *text, uint32_t *ret)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    size_t len = s[0] < 0x80             ? 1
                 : (s[0] & 0xe0) == 0xc0 ? 2
                 : (s[0] & 0xf0) == 0xe0 ? 3
                 : (s[0] & 0xf8) == 0xf0 ? 4
                                         : 0;
    uint32_t c = len == 1 ? s[0] : len == 0 ? 0 : s[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    if (len == 0 || c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *ret = c;
    return len;
}

bool utf8_is_shown(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
                  {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f},
                  {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
        if (c >= hidden[i].first && c <= hidden[i].last)
            return false;
    return true;
}

size_t utf8_cut(const char *text, size_t max_bytes)
{
    size_t at = 0;
    while (text[at] != '\0') {
        uint32_t c;
        size_t len = utf8_decode(text + at, &c);
        len = len > 0 ? len : 1;
        if (at + len > max_bytes)
            break;
        at += len;
    }
    return at;
}
