#include "haproxy/local/message.h"

#include <limits.h>
#include <string.h>

#include "base/str.h"

/* A message is one of these as it is in memory, without a hole in it; then its text (a name, or what is said) and its bytes, with
 * a NUL behind each, so that the reader can use them where they lie. */

struct message_ask {
    uint32_t kind, flags, where, expects;
    struct local_identity expected;
    uint64_t len;
};

struct message_answer {
    uint32_t status, error_number, pid;
    uint16_t loaded, unloaded;
    struct local_identity identity;
    uint64_t len;
};

_Static_assert(sizeof(struct message_ask) == 72 && sizeof(struct message_answer) == 72, "all of it is fields");

/* ---- writing ---- */

static int message_put(struct buf *out, const void *fixed, size_t size, const char *text, const char *bytes, size_t len)
{
    size_t text_len = strlen(text), whole = size + text_len + 1 + len + 1;
    const uint32_t head = (uint32_t)whole;
    if (len > LOCAL_FILE_MAX_BYTES || whole > LOCAL_FRAME_MAX_BYTES)
        return -1;
    buf_reserve(out, sizeof(head) + whole);
    buf_addn(out, (const char *)&head, sizeof(head));
    buf_addn(out, fixed, size);
    buf_addn(out, text, text_len + 1);
    if (len > 0)
        buf_addn(out, bytes, len);
    buf_addn(out, "", 1);
    return 0;
}

int local_message_put_ask(struct buf *out, const struct local_ask *a)
{
    const struct message_ask m = {.kind = a->kind,
                                  .flags = a->flags,
                                  .where = a->where,
                                  .expects = a->expects,
                                  .expected = a->expected,
                                  .len = a->len};
    return message_put(out, &m, sizeof(m), a->name, a->bytes, a->len);
}

int local_message_put_answer(struct buf *out, const struct local_answer *a)
{
    const struct message_answer m = {.status = a->status,
                                     .error_number = (uint32_t)a->error_number,
                                     .pid = (uint32_t)a->pid,
                                     .loaded = a->loaded,
                                     .unloaded = a->unloaded,
                                     .identity = a->identity,
                                     .len = a->len};
    return message_put(out, &m, sizeof(m), a->message, a->data, a->len);
}

/* ---- reading ---- */

int local_message_length(const char head[LOCAL_FRAME_HEAD_BYTES], size_t *ret)
{
    uint32_t len;
    memcpy(&len, head, sizeof(len));
    *ret = len;
    return len <= LOCAL_FRAME_MAX_BYTES ? 0 : -1;
}

/* Of what follows the fixed part, len bytes: the text, and what is behind it. -1: they do not end where they have to. */
static int message_get(const char *at, size_t len, uint64_t bytes_len, const char **ret_text, const char **ret_bytes)
{
    const char *nul = memchr(at, '\0', len);
    size_t left = nul != NULL ? len - (size_t)(nul + 1 - at) : 0;
    if (left == 0 || bytes_len != left - 1 || at[len - 1] != '\0')
        return -1;
    *ret_text = at;
    *ret_bytes = nul + 1;
    return 0;
}

int local_message_get_ask(const char *bytes, size_t len, struct local_ask *ret)
{
    struct message_ask m;
    if (len < sizeof(m))
        return -1;
    memcpy(&m, bytes, sizeof(m));
    if (m.kind > LOCAL_KIND_RELEASE_CONFIG || m.flags > (LOCAL_WRITE_ONLY_VALIDATE | LOCAL_WRITE_UNCHECKED) ||
        m.expects > 1)
        return -1;
    *ret = (struct local_ask){.kind = (enum local_kind)m.kind,
                              .flags = m.flags,
                              .where = m.where,
                              .expects = m.expects == 1,
                              .expected = m.expected,
                              .len = m.len};
    return message_get(bytes + sizeof(m), len - sizeof(m), m.len, &ret->name, &ret->bytes);
}

int local_message_get_answer(const char *bytes, size_t len, struct local_answer *ret)
{
    struct message_answer m;
    if (len < sizeof(m))
        return -1;
    memcpy(&m, bytes, sizeof(m));
    if (m.status > LOCAL_FAILED || m.error_number > INT_MAX || m.pid > INT_MAX || m.loaded > 1 || m.unloaded > 1)
        return -1;
    *ret = (struct local_answer){.status = (enum local_status)m.status,
                                 .error_number = (int)m.error_number,
                                 .pid = (pid_t)m.pid,
                                 .loaded = m.loaded == 1,
                                 .unloaded = m.unloaded == 1,
                                 .identity = m.identity,
                                 .len = m.len};
    return message_get(bytes + sizeof(m), len - sizeof(m), m.len, &ret->message, &ret->data);
}

bool local_message_name_fits(const char *name)
{
    return *name != '\0' && *name != '.' && strchr(name, '/') == NULL && !str_has_control(name) &&
           strlen(name) <= NAME_MAX - 16;
}
