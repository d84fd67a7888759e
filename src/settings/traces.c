/* Settings that OpenTelemetry has for all programs, as far as this one honours them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "settings/findings.h"
#include "settings/names.h"
#include "settings/settings.h"
#include "settings/types.h"
#include "settings/url.h"

#define TRACES_PATH "/v1/traces"
#define PAIRS_MAX 64
#define BLANK " \t"

/* ---- key=value,key=value ---- */

static int hex_digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? (c | 0x20) - 'a' + 10 : -1;
}

/* In place; -1: a '%' that is followed by no two digits, or what it gives is no text of one line. */
static int pairs_decode(char *s)
{
    char *to = s;
    for (const char *p = s; *p != '\0'; p++) {
        if (*p != '%') {
            *to++ = *p;
            continue;
        }
        int high = hex_digit(p[1]), low = high >= 0 ? hex_digit(p[2]) : -1;
        if (low < 0)
            return -1;
        *to++ = (char)(high << 4 | low);
        p += 2;
    }
    bool cut = memchr(s, '\0', (size_t)(to - s)) != NULL;
    *to = '\0';
    return cut || str_has_control(s) || !text_is_utf8(s) ? -1 : 0;
}

static char *pairs_trimmed(const char *s, size_t len)
{
    while (len > 0 && strchr(BLANK, s[0]) != NULL) {
        s++;
        len--;
    }
    while (len > 0 && strchr(BLANK, s[len - 1]) != NULL)
        len--;
    return mem_strndup(s, len);
}

static const char *pairs_add(struct settings_pairs *p, const char *entry, size_t len)
{
    const char *equals = memchr(entry, '=', len);
    if (equals == NULL)
        return "an entry has no '='";
    if (p->count == PAIRS_MAX)
        return "there are more than 64 entries";
    struct settings_pair pair = {pairs_trimmed(entry, (size_t)(equals - entry)),
                                 pairs_trimmed(equals + 1, len - (size_t)(equals - entry) - 1)};
    p->list = mem_resize(p->list, p->count + 1, sizeof(p->list[0]));
    p->list[p->count++] = pair;
    if (pair.key[0] == '\0')
        return "an entry has nothing before its '='";
    return pairs_decode(pair.key) != 0 || pairs_decode(pair.value) != 0
               ? "an entry has a '%' without two hexadecimal digits, or what is no text of one line"
               : NULL;
}

int settings_pairs_parse(const char *text, struct settings_pairs *ret, const char **ret_why)
{
    const char *why = NULL;
    *ret = (struct settings_pairs){0};
    for (const char *at = text; why == NULL && *at != '\0'; at += *at == ',' ? 1 : 0) {
        size_t len = strcspn(at, ",");
        if (strspn(at, BLANK) < len)
            why = pairs_add(ret, at, len);
        at += len;
    }
    if (why == NULL)
        return 0;
    settings_pairs_fini(ret);
    *ret_why = why;
    return -1;
}

void settings_pairs_fini(struct settings_pairs *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free(p->list[i].key);
        mem_wipe_free(p->list[i].value);
    }
    free(p->list);
    *p = (struct settings_pairs){0};
}

/* "tchar" of RFC 9110. */
const char *settings_headers_refuse(const char *text)
{
    cleanup(settings_pairs_fini) struct settings_pairs pairs;
    const char *why = NULL;
    if (str_has_control(text))
        return "it holds a control character, such as a line break";
    if (settings_pairs_parse(text, &pairs, &why) != 0)
        return why;
    for (size_t i = 0; i < pairs.count; i++)
        if (!name_made_of(pairs.list[i].key, NAME_ALNUM "!#$%&'*+-.^_`|~"))
            return "a name holds what names of headers have not";
    return pairs.count > 0 ? NULL : "there is none in it";
}

int check_pairs(const char *s, struct buf *note)
{
    cleanup(settings_pairs_fini) struct settings_pairs pairs;
    const char *why;
    return settings_pairs_parse(s, &pairs, &why) == 0 ? 0 : value_refuse(note, why);
}

int check_otlp_url(const char *s, struct buf *note)
{
    cleanup(mem_free_ptr) char *url = NULL;
    const char *why;
    return url_check(s, URL_PLAIN, &url, &why) == 0 ? 0 : value_refuse(note, why);
}

char *settings_traces_url(const struct settings_traces *t)
{
    if (t->endpoint == NULL)
        return NULL;
    size_t len = strlen(t->endpoint);
    while (len > 0 && t->endpoint[len - 1] == '/')
        len--;
    return mem_printf("%.*s" TRACES_PATH, (int)len, t->endpoint);
}

int check_text_line(const char *s, struct buf *note)
{
    (void)note;
    return str_has_control(s) || !text_is_utf8(s) ? -1 : 0;
}
