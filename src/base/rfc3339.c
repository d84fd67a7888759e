#include "base/rfc3339.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#define LAST_US INT64_C(253402300799999999) /* of the year 9999, the last one that RFC 3339 can say */

void rfc3339_format(int64_t wall_us, unsigned digits, char ret[RFC3339_BYTES])
{
    int64_t us = wall_us < 0 ? 0 : wall_us > LAST_US ? LAST_US : wall_us;
    time_t seconds = (time_t)(us / 1000000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t n = strftime(ret, RFC3339_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
    if (digits > 0)
        n += (size_t)snprintf(ret + n, RFC3339_BYTES - n, ".%0*u", (int)digits,
                              (unsigned)(us % 1000000) / (digits == 3 ? 1000u : 1u));
    snprintf(ret + n, RFC3339_BYTES - n, "Z");
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether s begins with a digit for each 0 of the pattern, and its other characters. */
static bool fits(const char *s, const char *pattern)
{
    for (; *pattern != '\0'; s++, pattern++)
        if (*pattern == '0' ? !is_digit(*s) : *s != *pattern)
            return false;
    return true;
}

static int number(const char *s, unsigned digits)
{
    int n = 0;
    for (; digits > 0; s++, digits--)
        n = n * 10 + (*s - '0');
    return n;
}

int rfc3339_parse(const char *s, int64_t *ret_us)
{
    if (!fits(s, "0000-00-00T00:00:00"))
        return -1;
    struct tm t = {.tm_year = number(s, 4) - 1900,
                   .tm_mon = number(s + 5, 2) - 1,
                   .tm_mday = number(s + 8, 2),
                   .tm_hour = number(s + 11, 2),
                   .tm_min = number(s + 14, 2),
                   .tm_sec = number(s + 17, 2)};
    int64_t us = 0, zone_s = 0;
    s += 19;
    if (fits(s, ".0"))
        for (int64_t scale = 100000; is_digit(*++s); scale /= 10)
            us += (*s - '0') * scale;
    if (fits(s, "+00:00") || fits(s, "-00:00")) {
        zone_s = (number(s + 1, 2) * 60 + number(s + 4, 2)) * (*s == '-' ? -60 : 60);
        s += number(s + 1, 2) < 24 && number(s + 4, 2) < 60 ? 6 : 0;
    } else if (*s == 'Z') {
        s++;
    } else {
        return -1;
    }
    struct tm normal = t;
    int64_t seconds = timegm(&normal); /* it makes March 2 of February 30 */
    if (*s != '\0' || t.tm_hour > 23 || t.tm_min > 59 || t.tm_sec > 59 || normal.tm_mon != t.tm_mon ||
        normal.tm_mday != t.tm_mday)
        return -1;
    *ret_us = (seconds - zone_s) * 1000000 + us;
    return 0;
}
