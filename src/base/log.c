#include "base/log.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/rfc3339.h"
#include "base/text.h"

static const char *const level_names[] = {"debug", "info", "warn", "error"};

/* logfmt: quotes only where a reader needs them. */
static bool is_bare(const char *s)
{
    if (*s == '\0')
        return false;
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;
        if (c <= 0x20 || c >= 0x7f || c == '"' || c == '=' || c == '\\')
            return false;
    }
    return true;
}

static void add_value(struct buf *out, const struct log_field *f, bool json)
{
    switch (f->type) {
    case LOG_FIELD_STR:
        if (!json && is_bare(f->str)) {
            buf_add(out, f->str);
            break;
        }
        buf_add(out, "\"");
        text_add(out, f->str, TEXT_QUOTED, TEXT_WHOLE);
        buf_add(out, "\"");
        break;
    case LOG_FIELD_INT:
        buf_printf(out, "%lld", (long long)f->num);
        break;
    case LOG_FIELD_MS:
        buf_printf(out, "%.1f", (double)f->num / 1000.0);
        break;
    case LOG_FIELD_BOOL:
        buf_add(out, f->num != 0 ? "true" : "false");
        break;
    case LOG_FIELD_END:
        break;
    }
}

static void add_field(struct buf *out, const struct log_field *f, bool json)
{
    if (f->str == NULL)
        return;
    if (json)
        buf_printf(out, "%s\"%s\":", out->len > 1 ? "," : "", f->key);
    else
        buf_printf(out, "%s%s=", out->len > 0 ? " " : "", f->key);
    add_value(out, f, json);
}

/* ---- lines ---- */

static bool log_write_line(const struct log *log, enum log_level level, const char *msg, const struct log_field *fields)
{
    bool json = log->format == LOG_FORMAT_JSON;
    char time[RFC3339_BYTES];
    rfc3339_format((int64_t)clock_wall_ms() * 1000, 3, time);
    cleanup(buf_fini) struct buf out = {0};
    if (json)
        buf_add(&out, "{");
    add_field(&out, &log_str("time", time), json);
    add_field(&out, &log_str("level", level_names[level]), json);
    add_field(&out, &log_str("msg", msg), json);
    for (; fields->type != LOG_FIELD_END; fields++)
        add_field(&out, fields, json);
    buf_add(&out, json ? "}\n" : "\n");
    return fd_put(log->fd, out.data, out.len);
}

void log_report_losses(const struct log *log)
{
    struct log_losses *l = log != NULL ? log->losses : NULL;
    if (l == NULL || l->dropped == l->reported)
        return;
    const struct log_field fields[] = {log_int("dropped", l->dropped - l->reported), {LOG_FIELD_END, 0, 0, 0}};
    if (log_write_line(log, LOG_LEVEL_WARN, "log lines dropped: the reader of standard error was too slow", fields))
        l->reported = l->dropped;
}

uint64_t log_dropped(const struct log *log)
{
    return log != NULL && log->losses != NULL ? log->losses->dropped : 0;
}

void log_write(const struct log *log, enum log_level level, const char *msg, const struct log_field *fields)
{
    if (log == NULL || level < log->level)
        return;
    log_report_losses(log);
    if (!log_write_line(log, level, msg, fields) && log->losses != NULL)
        log->losses->dropped++;
}

/* Of the keys of late; the one that is due first makes room for a new one. */
static bool pass(struct log_limit *l, size_t keys, uint64_t now_ms, uint64_t h, unsigned *ret_held_back)
{
    size_t at = 0;
    for (size_t i = 0; i < keys; i++) {
        if (l->keys[i].hash == h) {
            at = i;
            break;
        }
        if (l->keys[i].next_ms < l->keys[at].next_ms)
            at = i;
    }
    if (l->keys[at].hash == h && now_ms < l->keys[at].next_ms) {
        l->held_back++;
        return false;
    }
    if (ret_held_back != NULL)
        *ret_held_back = l->held_back;
    l->held_back = 0;
    l->keys[at].hash = h;
    l->keys[at].next_ms = now_ms + l->period_ms;
    return true;
}

bool log_limit_pass(struct log_limit *l, uint64_t now_ms, const char *key, unsigned *ret_held_back)
{
    return pass(l, 1, now_ms, hash_bytes(HASH_START, key, strlen(key)), ret_held_back);
}

bool log_limit_pass_message(struct log_limit *l, uint64_t now_ms, const char *message, unsigned *ret_held_back)
{
    uint64_t h = HASH_START;
    for (const char *word = message; *word != '\0';) {
        size_t len = strcspn(word, " "), letters = strcspn(word, " 0123456789");
        if (letters == len)
            h = hash_bytes(h, word, len);
        word += len;
        word += strspn(word, " ");
    }
    return pass(l, LOG_LIMIT_KEYS, now_ms, h, ret_held_back);
}

void log_limit_reset(struct log_limit *l)
{
    for (size_t i = 0; i < LOG_LIMIT_KEYS; i++)
        l->keys[i].next_ms = 0;
    l->held_back = 0;
}
