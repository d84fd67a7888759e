/*
 * One error, carried by value from where it happens to where it is logged. The kind drives control flow, the message is
 * for people and never inspected. Lower layers fill it and return -1; each layer above puts its own context in front.
 */
#pragma once

#include "base/compiler.h"

enum error_kind {
    ERROR_NONE = 0,
    ERROR_RETRY,    /* may work later: connection lost, timeout, 5xx, 429 */
    ERROR_CONFLICT, /* another writer was faster: read again, then try again */
    ERROR_GONE,     /* what was referred to is not there any more: 404, 410 */
    ERROR_AUTH,     /* 401 or 403: read the credentials again */
    ERROR_INVALID,  /* what was sent or received is wrong; the same again will fail the same way */
    ERROR_FATAL,    /* no way to go on: only at start, for settings and resources */
};

#define ERROR_MESSAGE_BYTES 1024

struct error {
    enum error_kind kind;
    int http_status; /* 0 where no HTTP answer was involved */
    char message[ERROR_MESSAGE_BYTES];
};

/* Fills *err (NULL is allowed) and returns -1, so that `return error_set(...)` reads well. Control characters that a
 * peer put into an argument are shown escaped; what does not fit ends in "...". */
int error_set(struct error *err, enum error_kind kind, const char *fmt, ...) printf_like(3, 4);

/* As error_set, with the HTTP status; the kind is error_kind_of_http(status). */
int error_set_http(struct error *err, int status, const char *fmt, ...) printf_like(3, 4);

/* Puts "context: " in front of the message; returns -1. */
int error_prefix(struct error *err, const char *fmt, ...) printf_like(2, 3);

void error_clear(struct error *err);

/* "retry", "conflict", ...: stable, used as metric label and log value. */
const char *error_kind_name(enum error_kind kind);

/* 401/403 auth, 404/410 gone, 406/409 conflict, 408/425/429/5xx retry, other 4xx and 3xx invalid, 2xx none. */
enum error_kind error_kind_of_http(int status);

/* Each returns -1 and nothing else. clang's analyzer sees one file at a time; untold, it follows paths on which an
 * error was set and 0 returned. */
#ifdef __clang_analyzer__
#define error_set(...) ((error_set)(__VA_ARGS__), -1)
#define error_set_http(...) ((error_set_http)(__VA_ARGS__), -1)
#define error_prefix(...) ((error_prefix)(__VA_ARGS__), -1)
#endif
