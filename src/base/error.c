#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Control characters could forge log lines or drive a terminal; a cut UTF-8 sequence is left to the log to escape. */
static void copy_printable(char *to, size_t size, const char *from)
{
    static const char dots[] = "...";
    size_t n = 0;
    for (; *from != '\0'; from++) {
        unsigned char c = (unsigned char)*from;
        bool plain = c >= 0x20 && c != 0x7f;
        if (n + (plain ? 1 : 4) + sizeof(dots) > size) {
            memcpy(to + n, dots, sizeof(dots));
            return;
        }
        if (plain)
            to[n++] = (char)c;
        else if (c == '\n' || c == '\t' || c == '\r')
            to[n++] = ' ';
        else
            n += (size_t)snprintf(to + n, size - n, "\\x%02x", c);
    }
    to[n] = '\0';
}

printf_like(2, 0) static void fill(struct error *err, const char *fmt, va_list ap)
{
    char raw[2 * ERROR_MESSAGE_BYTES];
    vsnprintf(raw, sizeof(raw), fmt, ap);
    copy_printable(err->message, sizeof(err->message), raw);
}

int(error_set)(struct error *err, enum error_kind kind, const char *fmt, ...)
{
    if (err == NULL)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    fill(err, fmt, ap);
    va_end(ap);
    err->kind = kind;
    err->http_status = 0;
    return -1;
}

int(error_set_http)(struct error *err, int status, const char *fmt, ...)
{
    if (err == NULL)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    fill(err, fmt, ap);
    va_end(ap);
    err->kind = error_kind_of_http(status);
    err->http_status = status;
    return -1;
}

int(error_prefix)(struct error *err, const char *fmt, ...)
{
    if (err == NULL)
        return -1;
    char context[ERROR_MESSAGE_BYTES], both[2 * ERROR_MESSAGE_BYTES + 4];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(context, sizeof(context), fmt, ap);
    va_end(ap);
    snprintf(both, sizeof(both), "%s: %s", context, err->message);
    copy_printable(err->message, sizeof(err->message), both);
    return -1;
}

void error_clear(struct error *err)
{
    err->kind = ERROR_NONE;
    err->http_status = 0;
    err->message[0] = '\0';
}

const char *error_kind_name(enum error_kind kind)
{
    switch (kind) {
    case ERROR_NONE:
        return "none";
    case ERROR_RETRY:
        return "retry";
    case ERROR_CONFLICT:
        return "conflict";
    case ERROR_GONE:
        return "gone";
    case ERROR_AUTH:
        return "auth";
    case ERROR_INVALID:
        return "invalid";
    case ERROR_FATAL:
        return "fatal";
    }
    return "unknown";
}

enum error_kind error_kind_of_http(int status)
{
    switch (status) {
    case 401:
    case 403:
        return ERROR_AUTH;
    case 404:
    case 410:
        return ERROR_GONE;
    case 406:
    case 409:
        return ERROR_CONFLICT;
    case 408:
    case 425:
    case 429:
        return ERROR_RETRY;
    default:
        if (status >= 200 && status < 300)
            return ERROR_NONE;
        return status >= 500 || status == 0 ? ERROR_RETRY : ERROR_INVALID;
    }
}
