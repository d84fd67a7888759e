#include "base/str.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"

bool str_eq(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool str_empty(const char *s)
{
    return s == NULL || s[0] == '\0';
}

bool str_has_prefix(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_has_suffix(const char *s, const char *suffix)
{
    size_t a = strlen(s), b = strlen(suffix);
    return a >= b && strcmp(s + a - b, suffix) == 0;
}

bool str_has_control(const char *s)
{
    return text_control(s, strlen(s)) != NULL;
}

int str_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int str_parse_uint(const char *s, uint64_t max, uint64_t *ret)
{
    uint64_t v = 0;
    if (s[0] == '\0')
        return -1;
    for (; *s != '\0'; s++) {
        if (*s < '0' || *s > '9')
            return -1;
        uint64_t digit = (uint64_t)(*s - '0');
        if (v > (max - digit) / 10 || digit > max)
            return -1;
        v = v * 10 + digit;
    }
    *ret = v;
    return 0;
}

int str_parse_bool(const char *s, bool *ret)
{
    static const char *const yes[] = {"true", "1", "yes", "on"}, *const no[] = {"false", "0", "no", "off"};
    for (size_t i = 0; i < array_len(yes); i++) {
        if (strcasecmp(s, yes[i]) == 0) {
            *ret = true;
            return 0;
        }
        if (strcasecmp(s, no[i]) == 0) {
            *ret = false;
            return 0;
        }
    }
    return -1;
}

/* The unit at *s in nanoseconds, moving *s behind it; 0 where there is none. */
static double duration_unit(const char **s)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {/* "ms" before "m", and "m" must not eat the start of "ms" */
                 {"ns", 1},   {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"\xce\xbcs", 1e3},
                 {"ms", 1e6}, {"s", 1e9},  {"m", 60e9},        {"h", 3600e9}};
    for (size_t i = 0; i < array_len(units); i++)
        if (str_has_prefix(*s, units[i].name)) {
            *s += strlen(units[i].name);
            return units[i].ns;
        }
    return 0;
}

int str_parse_duration_ms(const char *s, uint64_t max_ms, uint64_t *ret_ms)
{
    if (strcmp(s, "0") == 0) {
        *ret_ms = 0;
        return 0;
    }
    if (s[0] == '+')
        s++;
    if (s[0] == '\0')
        return -1;
    double total_ns = 0;
    while (*s != '\0') {
        double value = 0, scale = 1;
        unsigned digits = 0;
        for (; *s >= '0' && *s <= '9'; s++, digits++)
            value = value * 10 + (*s - '0');
        if (*s == '.')
            for (s++; *s >= '0' && *s <= '9'; s++, digits++)
                value += (*s - '0') * (scale /= 10);
        double unit = digits > 0 ? duration_unit(&s) : 0;
        if (unit == 0)
            return -1;
        total_ns += value * unit;
        if (total_ns / 1e6 > (double)max_ms)
            return -1;
    }
    *ret_ms = (uint64_t)((total_ns + 0.5) / 1e6);
    return 0;
}

int str_ip_family(const char *s)
{
    unsigned char out[sizeof(struct in6_addr)];
    if (inet_pton(AF_INET, s, out) == 1)
        return AF_INET;
    return inet_pton(AF_INET6, s, out) == 1 ? AF_INET6 : 0;
}

char *str_host_port(const char *host, unsigned port)
{
    return mem_printf(strchr(host, ':') != NULL ? "[%s]:%u" : "%s:%u", host, port);
}

char *str_url_encode(const char *s)
{
    static const char hex[] = "0123456789ABCDEF";
    char *out = mem_array(strlen(s) + 1, 3), *p = out;
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;
        bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (alnum || strchr("-._~", c) != NULL) {
            *p++ = (char)c;
        } else {
            *p++ = '%';
            *p++ = hex[c >> 4];
            *p++ = hex[c & 15];
        }
    }
    *p = '\0';
    return out;
}

#define DISTANCE_MAX 64

/* Optimal string alignment; three rows are enough. */
size_t str_distance(const char *a, const char *b, size_t limit)
{
    size_t la = strlen(a), lb = strlen(b);
    if (la > DISTANCE_MAX || lb > DISTANCE_MAX || (la > lb ? la - lb : lb - la) > limit)
        return limit + 1;
    size_t rows[3][DISTANCE_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= lb; j++)
        last[j] = j;
    for (size_t i = 1; i <= la; i++) {
        now[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t gone = last[j] + 1, new = now[j - 1] + 1, other = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = gone < new ? gone : new;
            now[j] = other < now[j] ? other : now[j];
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
        size_t *oldest = before;
        before = last;
        last = now;
        now = oldest;
    }
    return last[lb] <= limit ? last[lb] : limit + 1;
}
