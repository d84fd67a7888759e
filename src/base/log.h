/*
 * Structured log lines, logfmt or JSON, to one file descriptor; one write(2) a line. Values that a peer chose are
 * escaped, so that no value can forge a line. Secrets are never passed in; that is the caller's duty.
 *
 * Nothing waits for the reader: a line that a pipe, a socket or a terminal has no room for is dropped as a whole, and
 * counted.
 *
 *     log_info(log, "servers changed", log_str("backend", name), log_int("added", n));
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };
enum log_format { LOG_FORMAT_LOGFMT, LOG_FORMAT_JSON };

enum log_field_type { LOG_FIELD_END, LOG_FIELD_STR, LOG_FIELD_INT, LOG_FIELD_MS, LOG_FIELD_BOOL };

struct log_field {
    enum log_field_type type;
    const char *key;
    const char *str; /* NULL: the field is left out */
    int64_t num;     /* LOG_FIELD_MS: microseconds, printed as milliseconds with one decimal */
};

struct log_losses {
    uint64_t dropped;  /* lines, since the start */
    uint64_t reported; /* of them */
};

struct log {
    enum log_level level;
    enum log_format format;
    int fd;
    struct log_losses *losses; /* NULL: what is dropped is not counted */
};

#define log_str(k, v) ((struct log_field){LOG_FIELD_STR, (k), (v), 0})
#define log_int(k, v) ((struct log_field){LOG_FIELD_INT, (k), "", (int64_t)(v)})
#define log_bool(k, v) ((struct log_field){LOG_FIELD_BOOL, (k), "", (v) ? 1 : 0})
#define log_us_as_ms(k, us) ((struct log_field){LOG_FIELD_MS, (k), "", (int64_t)(us)})
/* Left out of the line when cond is false. */
#define log_if(cond, field) ((cond) ? (field) : (struct log_field){LOG_FIELD_STR, "", 0, 0})

/* The first field is one that is left out: a comma can then follow it whether or not there are others. (C23's
 * __VA_OPT__ would do without it, but cppcheck takes it for a syntax error and skips the rest of the function.) */
#define log_at(log, level, msg, ...) \
    log_write((log), (level), (msg), \
              (const struct log_field[]){{LOG_FIELD_STR, "", 0, 0}, ##__VA_ARGS__, {LOG_FIELD_END, 0, 0, 0}})
#define log_debug(log, ...) log_at(log, LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_info(log, ...) log_at(log, LOG_LEVEL_INFO, __VA_ARGS__)
#define log_warn(log, ...) log_at(log, LOG_LEVEL_WARN, __VA_ARGS__)
#define log_error(log, ...) log_at(log, LOG_LEVEL_ERROR, __VA_ARGS__)

/* fields ends with LOG_FIELD_END. log NULL: nothing happens. */
void log_write(const struct log *log, enum log_level level, const char *msg, const struct log_field *fields);
/* Logs how many lines were dropped since the last time, if there is room again; each log_write does so first. */
void log_report_losses(const struct log *log);
/* Lines, since the start. */
uint64_t log_dropped(const struct log *log);

#define LOG_LIMIT_KEYS 4

/*
 * Rate limit for one kind of repeated line: the first passes, then one each period, which gets the number of those held
 * back in between (NULL: it is not asked for). A `key` that differs from the last one passes at once.
 */
struct log_limit {
    uint64_t period_ms;
    unsigned held_back;
    struct {
        uint64_t next_ms;
        uint64_t hash;
    } keys[LOG_LIMIT_KEYS];
};

bool log_limit_pass(struct log_limit *l, uint64_t now_ms, const char *key, unsigned *ret_held_back);

/* For a key that is a message. Words with a digit (times, ids, line numbers) do not make it a different one, and one
 * that takes turns with others passes once in a period, too: the same trouble often has several faces. */
bool log_limit_pass_message(struct log_limit *l, uint64_t now_ms, const char *message, unsigned *ret_held_back);

/* The problem is resolved: the next line of this kind passes at once again. */
void log_limit_reset(struct log_limit *l);
