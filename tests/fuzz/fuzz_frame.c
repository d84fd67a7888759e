/*
 * The splitter: the first byte says which mode ('L': a list, else a watch) and, below, how the rest is cut. Whole, cut and
 * byte by byte must give the same; and what a parser takes for JSON must come out as the parser sees it.
 */
#include <yyjson.h>

#include "base/buf.h"
#include "kube/frame.h"
#include "fuzz.h"

#define CAP 4096

struct outcome {
    struct buf frames, envelope;
    size_t count;
    int result;
};

static int on_frame(void *arg, char *json, size_t len, struct error *err)
{
    struct outcome *o = arg;
    (void)err;
    for (size_t i = 0; i < FRAME_PADDING_BYTES; i++)
        check(json[len + i] == 0);
    check(len >= 2 && len <= CAP && json[0] == '{');
    buf_addn(&o->frames, json, len);
    buf_addn(&o->frames, "\n", 1);
    memset(json, '"', len + FRAME_PADDING_BYTES);
    o->count++;
    return 0;
}

static void split(enum frame_mode mode, const char *text, size_t len, size_t piece, struct outcome *ret)
{
    struct frame f;
    struct error err = {ERROR_NONE, 0, ""};
    *ret = (struct outcome){.result = 0};
    frame_init(&f, mode, CAP);
    for (size_t at = 0; at < len && ret->result == 0; at += piece)
        ret->result = frame_feed(&f, text + at, len - at < piece ? len - at : piece, on_frame, ret, &err);
    if (ret->result == 0)
        ret->result = frame_end(&f, &err);
    check(ret->result == 0 || (err.kind != ERROR_NONE && err.message[0] != '\0'));
    check(f.frames == ret->count);
    ret->envelope = f.envelope;
    buf_init(&f.envelope, 0);
    frame_fini(&f);
}

static void outcome_fini(struct outcome *o)
{
    buf_fini(&o->frames);
    buf_fini(&o->envelope);
}

static void check_same(const struct outcome *a, const struct outcome *b)
{
    check(a->result == b->result && a->count == b->count && a->frames.len == b->frames.len);
    check(a->frames.len == 0 || memcmp(a->frames.data, b->frames.data, a->frames.len) == 0);
    check(a->result != 0 || strcmp(buf_str(&a->envelope), buf_str(&b->envelope)) == 0);
}

/* Only where "items" stands once among the keys and every element is an object: anything else is the splitter's to refuse. */
static void check_list(yyjson_val *root, const struct outcome *o)
{
    size_t i, max, at = 0, named = 0;
    yyjson_val *key, *value, *items = yyjson_obj_get(root, "items"), *item;
    yyjson_obj_foreach (root, i, max, key, value) {
        named += yyjson_equals_str(key, "items");
    }
    if (o->result != 0 || named != 1 || !yyjson_is_arr(items))
        return;
    check(o->count == yyjson_arr_size(items));
    yyjson_arr_foreach (items, i, max, item) {
        yyjson_doc *doc =
            yyjson_read_opts(o->frames.data + at, o->frames.len - at, YYJSON_READ_STOP_WHEN_DONE, NULL, NULL);
        check(doc != NULL && yyjson_equals(yyjson_doc_get_root(doc), item));
        at += yyjson_doc_get_read_size(doc) + 1;
        yyjson_doc_free(doc);
    }
    yyjson_doc *rest = yyjson_read(buf_str(&o->envelope), o->envelope.len, 0);
    check(rest != NULL && yyjson_obj_size(yyjson_doc_get_root(rest)) == yyjson_obj_size(root));
    check(yyjson_arr_size(yyjson_obj_get(yyjson_doc_get_root(rest), "items")) == 0);
    yyjson_doc_free(rest);
}

static void check_parser(enum frame_mode mode, const char *text, size_t len, const struct outcome *o)
{
    /* Escapes in a key of the list are not decoded; the API server never sends them. */
    if (len == 0 || (mode == FRAME_LIST && memchr(text, '\\', len) != NULL))
        return;
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text, len, YYJSON_READ_STOP_WHEN_DONE, NULL, NULL);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (yyjson_is_obj(root) && mode == FRAME_LIST)
        check_list(root, o);
    if (yyjson_is_obj(root) && mode == FRAME_WATCH && o->count > 0) {
        const char *start = memchr(text, '{', len);
        size_t size = yyjson_doc_get_read_size(doc) - (size_t)(start - text);
        check(memcmp(o->frames.data, start, size) == 0 && o->frames.data[size] == '\n');
    }
    yyjson_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    enum frame_mode mode = data[0] == 'L' ? FRAME_LIST : FRAME_WATCH;
    const size_t pieces[] = {1, 1 + data[1] % 7, 64, 1 + data[1]};
    const char *text = (const char *)data + 2;
    struct outcome whole;
    split(mode, text, size - 2, size, &whole);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        struct outcome cut;
        split(mode, text, size - 2, pieces[i], &cut);
        check_same(&whole, &cut);
        outcome_fini(&cut);
    }
    check_parser(mode, text, size - 2, &whole);
    outcome_fini(&whole);
    return 0;
}
