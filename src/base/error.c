#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

/* A peer's control characters could forge log lines or drive a terminal. */
static void error_fill(struct error *err, const char *text)
{
    cleanup(buf_fini) struct buf shown = {0};
    text_add(&shown, text, TEXT_MESSAGE, sizeof(err->message) - 1);
    memcpy(err->message, buf_str(&shown), shown.len + 1);
}

printf_like(4, 0) static void error_set_v(struct error *err, enum error_kind kind, int status, const char *fmt,
                                          va_list ap)
{
    if (err == NULL)
        return;
    char raw[2 * ERROR_MESSAGE_BYTES];
    vsnprintf(raw, sizeof(raw), fmt, ap);
    error_fill(err, raw);
    err->kind = kind;
    err->http_status = status;
}

int(error_set)(struct error *err, enum error_kind kind, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    error_set_v(err, kind, 0, fmt, ap);
    va_end(ap);
    return -1;
}

int(error_set_http)(struct error *err, int status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    error_set_v(err, error_kind_of_http(status), status, fmt, ap);
    va_end(ap);
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
    error_fill(err, both);
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
    static const char *const names[] = {
        [ERROR_NONE] = "none", [ERROR_RETRY] = "retry",     [ERROR_CONFLICT] = "conflict", [ERROR_GONE] = "gone",
        [ERROR_AUTH] = "auth", [ERROR_INVALID] = "invalid", [ERROR_FATAL] = "fatal",
    };
    return names[kind];
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
