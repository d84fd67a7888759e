#include "haproxy/local/message.h"

#include <limits.h>
#include <string.h>

#include "base/str.h"

/* ---- writing ---- */

static void message_put_number(struct buf *out, uint64_t n)
{
    buf_addn(out, (const char *)&n, sizeof(n));
}

/* The NUL behind it goes along, so that the reader can use it where it lies. */
static void message_put_bytes(struct buf *out, const char *bytes, size_t len)
{
    message_put_number(out, len);
    if (len > 0)
        buf_addn(out, bytes, len);
    buf_addn(out, "", 1);
}

static void message_put_identity(struct buf *out, const struct local_identity *i)
{
    message_put_number(out, i->device);
    message_put_number(out, i->inode);
    message_put_number(out, i->size);
    message_put_number(out, (uint64_t)i->modified_ns);
    message_put_number(out, i->owner);
    message_put_number(out, i->group);
    message_put_number(out, i->mode);
}

static void message_begin(struct buf *out, size_t strings)
{
    buf_reserve(out, LOCAL_FRAME_HEAD_BYTES + strings + 256);
    buf_addn(out, "\0\0\0", LOCAL_FRAME_HEAD_BYTES);
}

static int message_end(struct buf *out, size_t start)
{
    size_t len = out->len - start - LOCAL_FRAME_HEAD_BYTES;
    uint32_t head = (uint32_t)len;
    memcpy(out->data + start, &head, sizeof(head));
    return len <= LOCAL_FRAME_MAX_BYTES ? 0 : -1;
}

int local_message_put_ask(struct buf *out, const struct local_ask *a)
{
    size_t start = out->len;
    if (a->len > LOCAL_FILE_MAX_BYTES)
        return -1;
    message_begin(out, a->len + strlen(a->name));
    message_put_number(out, a->kind);
    message_put_number(out, a->flags);
    message_put_number(out, a->where);
    message_put_number(out, a->expects ? 1 : 0);
    message_put_identity(out, &a->expected);
    message_put_bytes(out, a->name, strlen(a->name));
    message_put_bytes(out, a->bytes, a->len);
    return message_end(out, start);
}

int local_message_put_answer(struct buf *out, const struct local_answer *a)
{
    size_t start = out->len;
    if (a->len > LOCAL_FILE_MAX_BYTES)
        return -1;
    message_begin(out, a->len + strlen(a->message));
    message_put_number(out, a->status);
    message_put_number(out, (uint64_t)a->error_number);
    message_put_number(out, (uint64_t)a->pid);
    message_put_number(out, a->loaded ? 1 : 0);
    message_put_number(out, a->unloaded ? 1 : 0);
    message_put_identity(out, &a->identity);
    message_put_bytes(out, a->message, strlen(a->message));
    message_put_bytes(out, a->data, a->len);
    return message_end(out, start);
}

/* ---- reading ---- */

struct message_reader {
    const char *at;
    size_t left;
    bool bad;
};

static uint64_t message_get_number(struct message_reader *r, uint64_t max)
{
    uint64_t n = 0;
    r->bad = r->bad || r->left < sizeof(n);
    if (r->bad)
        return 0;
    memcpy(&n, r->at, sizeof(n));
    r->at += sizeof(n);
    r->left -= sizeof(n);
    r->bad = n > max;
    return r->bad ? 0 : n;
}

static const char *message_get_bytes(struct message_reader *r, size_t *ret_len)
{
    size_t len = message_get_number(r, LOCAL_FRAME_MAX_BYTES);
    const char *bytes = r->at;
    *ret_len = 0;
    r->bad = r->bad || r->left <= len || bytes[len] != '\0';
    if (r->bad)
        return "";
    r->at += len + 1;
    r->left -= len + 1;
    *ret_len = len;
    return bytes;
}

static const char *message_get_text(struct message_reader *r)
{
    size_t len;
    const char *text = message_get_bytes(r, &len);
    r->bad = r->bad || strlen(text) != len;
    return text;
}

static void message_get_identity(struct message_reader *r, struct local_identity *ret)
{
    ret->device = message_get_number(r, UINT64_MAX);
    ret->inode = message_get_number(r, UINT64_MAX);
    ret->size = message_get_number(r, UINT64_MAX);
    ret->modified_ns = (int64_t)message_get_number(r, UINT64_MAX);
    ret->owner = (uint32_t)message_get_number(r, UINT32_MAX);
    ret->group = (uint32_t)message_get_number(r, UINT32_MAX);
    ret->mode = (uint32_t)message_get_number(r, UINT32_MAX);
}

int local_message_length(const char head[LOCAL_FRAME_HEAD_BYTES], size_t *ret)
{
    uint32_t len;
    memcpy(&len, head, sizeof(len));
    *ret = len;
    return len <= LOCAL_FRAME_MAX_BYTES ? 0 : -1;
}

int local_message_get_ask(const char *bytes, size_t len, struct local_ask *ret)
{
    struct message_reader r = {.at = bytes, .left = len};
    ret->kind = (enum local_kind)message_get_number(&r, LOCAL_KIND_RELEASE_CONFIG);
    ret->flags = (unsigned)message_get_number(&r, LOCAL_WRITE_ONLY_VALIDATE | LOCAL_WRITE_UNCHECKED);
    ret->where = (unsigned)message_get_number(&r, UINT_MAX);
    ret->expects = message_get_number(&r, 1) == 1;
    message_get_identity(&r, &ret->expected);
    ret->name = message_get_text(&r);
    ret->bytes = message_get_bytes(&r, &ret->len);
    return r.bad || r.left > 0 ? -1 : 0;
}

int local_message_get_answer(const char *bytes, size_t len, struct local_answer *ret)
{
    struct message_reader r = {.at = bytes, .left = len};
    ret->status = (enum local_status)message_get_number(&r, LOCAL_FAILED);
    ret->error_number = (int)message_get_number(&r, INT_MAX);
    ret->pid = (pid_t)message_get_number(&r, INT_MAX);
    ret->loaded = message_get_number(&r, 1) == 1;
    ret->unloaded = message_get_number(&r, 1) == 1;
    message_get_identity(&r, &ret->identity);
    ret->message = message_get_text(&r);
    ret->data = message_get_bytes(&r, &ret->len);
    return r.bad || r.left > 0 ? -1 : 0;
}

bool local_message_name_fits(const char *name)
{
    return *name != '\0' && *name != '.' && strchr(name, '/') == NULL && !str_has_control(name) &&
           strlen(name) <= NAME_MAX - 16;
}
