#include "kube/frame.h"

#include <malloc.h>
#include <stdio.h>

static const char ITEMS[] = "items";
#define NO_MATCH 99u
#define FRAME_TRIM_BYTES (1u << 20)

enum state {
    BETWEEN,      /* WATCH: before an object */
    OBJECT,       /* in an object that becomes a frame */
    LIST_START,   /* LIST: before its brace */
    LIST_MEMBERS, /* LIST: its own keys and plain values */
    LIST_NESTED,  /* LIST: an object or array that is the value of another key */
    ITEMS_FIRST,  /* behind the [ of items */
    ITEMS_NEXT,   /* behind an element */
    ITEMS_COMMA,  /* behind a comma */
    LIST_END,     /* behind the list's closing brace */
    GIVEN_UP,
};

struct input {
    const char *bytes;
    size_t len, at;
    int (*fn)(void *arg, char *json, size_t len, struct error *err);
    void *arg;
};

void frame_init(struct frame *f, enum frame_mode mode, size_t max_object_bytes)
{
    size_t max = max_object_bytes != 0 ? max_object_bytes : FRAME_MAX_OBJECT_BYTES;
    *f = (struct frame){.mode = mode, .max_object_bytes = max, .state = mode == FRAME_LIST ? LIST_START : BETWEEN};
    buf_init(&f->object, max + FRAME_PADDING_BYTES);
    buf_init(&f->envelope, max);
}

void frame_fini(struct frame *f)
{
    buf_fini(&f->object);
    buf_fini(&f->envelope);
    f->state = GIVEN_UP;
}

static bool frame_is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static unsigned long long offset_of(const struct frame *f, const struct input *in)
{
    return (unsigned long long)(f->offset + in->at);
}

static int unexpected(const struct frame *f, const struct input *in, const char *wanted, struct error *err)
{
    unsigned char c = (unsigned char)in->bytes[in->at];
    char seen[8] = {(char)c, '\0'};
    if (c < 0x21 || c > 0x7e)
        snprintf(seen, sizeof(seen), "0x%02x", c);
    return error_set(err, ERROR_INVALID,
                     "byte %llu of the answer is %s where %s was expected: this is not what the "
                     "Kubernetes API sends; is there a proxy in between?",
                     offset_of(f, in), seen, wanted);
}

static int add_to_envelope(struct frame *f, const struct input *in, size_t len, struct error *err)
{
    if (buf_append(&f->envelope, in->bytes + in->at, len) == 0)
        return 0;
    return error_set(
        err, ERROR_INVALID,
        "at byte %llu of the answer: what is around the items of this list has more than the limit of %zu bytes",
        offset_of(f, in), f->max_object_bytes);
}

static int scan_some(struct frame *f, struct input *in, size_t *ret_taken, bool *ret_closed, struct error *err)
{
    enum scan_result result = scan_value(&f->scan, in->bytes + in->at, in->len - in->at, ret_taken);
    *ret_closed = result == SCAN_CLOSED;
    if (result != SCAN_TOO_DEEP)
        return 0;
    in->at += *ret_taken;
    return error_set(err, ERROR_INVALID, "at byte %llu of the answer: brackets are nested more than %u deep",
                     offset_of(f, in), SCAN_MAX_DEPTH);
}

/* glibc keeps what was freed, and takes longer to return anything the larger the blocks were; so it gets a hint, where
 * that is worth a walk through its heap. */
void frame_give_back(struct buf *object)
{
    size_t size = object->size;
    if (size <= FRAME_KEEP_BYTES) {
        buf_clear(object);
        return;
    }
    buf_fini(object);
#ifdef __GLIBC__
    if (size > FRAME_TRIM_BYTES)
        malloc_trim(0);
#endif
}

static int feed_object(struct frame *f, struct input *in, struct error *err)
{
    size_t taken;
    bool closed;
    if (scan_some(f, in, &taken, &closed, err) != 0)
        return -1;
    if (taken > f->max_object_bytes - f->object.len || buf_append(&f->object, in->bytes + in->at, taken) != 0)
        return error_set(err, ERROR_INVALID,
                         "at byte %llu of the answer: an object has %s%zu bytes, at most %zu are accepted",
                         offset_of(f, in), closed ? "" : "at least ", f->object.len + taken, f->max_object_bytes);
    in->at += taken;
    if (!closed)
        return 0;
    static const char padding[FRAME_PADDING_BYTES];
    size_t len = f->object.len;
    if (buf_append(&f->object, padding, sizeof(padding)) != 0) /* never: the cap has room for it */
        return error_set(err, ERROR_INVALID, "no room for the padding of an object");
    f->state = f->mode == FRAME_LIST ? ITEMS_NEXT : BETWEEN;
    f->frames++;
    int result = in->fn(in->arg, f->object.data, len, err);
    frame_give_back(&f->object);
    return result == 0 ? 0 : -1;
}

static void member_string_byte(struct frame *f, char c)
{
    if (f->escaped) {
        f->escaped = false;
        f->key_matched = NO_MATCH;
    } else if (c == '\\') {
        f->escaped = true;
    } else if (c == '"') {
        f->in_string = false;
        if (!f->after_colon)
            f->is_items = f->key_matched == sizeof(ITEMS) - 1;
    } else {
        bool same = f->key_matched < sizeof(ITEMS) - 1 && c == ITEMS[f->key_matched];
        f->key_matched = same ? f->key_matched + 1 : NO_MATCH;
    }
}

static void member_byte(struct frame *f, char c)
{
    switch (c) {
    case '"':
        f->in_string = true;
        f->key_matched = 0;
        break;
    case ':':
        f->after_colon = true;
        break;
    case ',':
        f->after_colon = false;
        break;
    case '{':
    case '[':
        if (c == '[' && f->is_items && f->after_colon) {
            f->state = ITEMS_FIRST;
            break;
        }
        f->scan = (struct scan){1, false, false};
        f->state = LIST_NESTED;
        break;
    case '}':
        f->state = LIST_END;
        f->finished = true;
        break;
    default: /* blanks, numbers, literals and nonsense: the envelope's parser will see */
        break;
    }
}

static int feed_members(struct frame *f, struct input *in, struct error *err)
{
    size_t end = in->at;
    while (end < in->len && f->state == LIST_MEMBERS) {
        char c = in->bytes[end++];
        if (f->in_string)
            member_string_byte(f, c);
        else
            member_byte(f, c);
    }
    if (add_to_envelope(f, in, end - in->at, err) != 0)
        return -1;
    in->at = end;
    return 0;
}

static int feed_items(struct frame *f, struct input *in, struct error *err)
{
    char c = in->bytes[in->at];
    if (frame_is_blank(c)) {
        in->at++;
    } else if (c == '{' && f->state != ITEMS_NEXT) {
        f->scan = (struct scan){0, false, false};
        f->state = OBJECT;
    } else if (c == ',' && f->state == ITEMS_NEXT) {
        f->state = ITEMS_COMMA;
        in->at++;
    } else if (c == ']' && f->state != ITEMS_COMMA) {
        if (add_to_envelope(f, in, 1, err) != 0)
            return -1;
        f->is_items = false;
        f->state = LIST_MEMBERS;
        in->at++;
    } else {
        return unexpected(f, in, f->state == ITEMS_NEXT ? "a comma or the ] of items" : "the { of an item", err);
    }
    return 0;
}

static int frame_step(struct frame *f, struct input *in, struct error *err)
{
    size_t taken;
    bool closed, blank = frame_is_blank(in->bytes[in->at]);
    switch ((enum state)f->state) {
    case BETWEEN:
    case LIST_START:
        if (blank) {
            in->at++;
            return 0;
        }
        if (in->bytes[in->at] != '{')
            return unexpected(f, in, f->state == BETWEEN ? "the { of an object" : "the { of a list", err);
        if (f->state == BETWEEN) {
            f->scan = (struct scan){0, false, false};
            f->state = OBJECT;
            return 0;
        }
        if (add_to_envelope(f, in, 1, err) != 0)
            return -1;
        f->state = LIST_MEMBERS;
        in->at++;
        return 0;
    case OBJECT:
        return feed_object(f, in, err);
    case LIST_MEMBERS:
        return feed_members(f, in, err);
    case LIST_NESTED:
        if (scan_some(f, in, &taken, &closed, err) != 0 || add_to_envelope(f, in, taken, err) != 0)
            return -1;
        in->at += taken;
        if (closed)
            f->state = LIST_MEMBERS;
        return 0;
    case ITEMS_FIRST:
    case ITEMS_NEXT:
    case ITEMS_COMMA:
        return feed_items(f, in, err);
    case LIST_END:
        if (!blank)
            return unexpected(f, in, "nothing more behind the list", err);
        in->at++;
        return 0;
    case GIVEN_UP:
        break;
    }
    return error_set(err, ERROR_INVALID, "this answer was given up before");
}

int frame_feed(struct frame *f, const char *bytes, size_t len,
               int (*fn)(void *arg, char *json, size_t len, struct error *err), void *arg, struct error *err)
{
    struct input in = {bytes, len, 0, fn, arg};
    while (in.at < in.len)
        if (frame_step(f, &in, err) != 0) {
            f->state = GIVEN_UP;
            return -1;
        }
    f->offset += len;
    return 0;
}

int frame_end(struct frame *f, struct error *err)
{
    unsigned long long at = (unsigned long long)f->offset;
    switch ((enum state)f->state) {
    case BETWEEN:
    case LIST_END:
        return 0;
    case OBJECT:
        return error_set(err, ERROR_RETRY,
                         "the answer ended after %llu bytes, inside an object of which there were %zu bytes", at,
                         f->object.len);
    case LIST_START:
        return error_set(err, ERROR_RETRY, "the answer ended after %llu bytes, before the list began", at);
    case GIVEN_UP:
        return error_set(err, ERROR_INVALID, "this answer was given up before");
    default:
        return error_set(err, ERROR_RETRY,
                         "the answer ended after %llu bytes and %zu items, before the list was complete", at,
                         f->frames);
    }
}
