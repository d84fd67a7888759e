#include <stdio.h>
#include <yyjson.h>

#include "frame_text.h"

#include "../test.h"

#define RECORDINGS "../shared/data/kubernetes/"

/* The same frames by way of a parser: items or lines, each written again by yyjson, and the rest of the list. */
static char *split_by_parser(enum frame_mode mode, char *text, size_t len)
{
    struct buf b;
    buf_init(&b, 0);
    for (size_t at = 0; at < len;) {
        yyjson_doc *doc = yyjson_read_opts(text + at, len - at, YYJSON_READ_STOP_WHEN_DONE, NULL, NULL);
        ck_assert_ptr_nonnull(doc);
        yyjson_val *root = yyjson_doc_get_root(doc), *items = yyjson_obj_get(root, "items"), *value;
        size_t i, max;
        if (mode == FRAME_WATCH) {
            buf_addn(&b, text + at, yyjson_doc_get_read_size(doc));
            buf_add(&b, "|");
        }
        yyjson_arr_foreach (items, i, max, value) {
            cleanup(mem_free_ptr) char *item = yyjson_val_write(value, 0, NULL);
            buf_printf(&b, "%s|", item);
        }
        at += yyjson_doc_get_read_size(doc);
        while (at < len && strchr(" \r\n", text[at]) != NULL)
            at++;
        yyjson_doc_free(doc);
    }
    return buf_take(&b);
}

/* Frames of a compact body are what a parser writes again, but for what escapes it chooses; so each is parsed as well. */
static char *written_again(const char *frames)
{
    struct buf b;
    buf_init(&b, 0);
    for (size_t at = 0, len = strlen(frames); at < len && frames[at] == '{';) {
        yyjson_doc *doc =
            yyjson_read_opts((char *)(uintptr_t)frames + at, len - at, YYJSON_READ_STOP_WHEN_DONE, NULL, NULL);
        size_t size = yyjson_doc_get_read_size(doc);
        if (frames[at + size] != '|') { /* the envelope */
            yyjson_doc_free(doc);
            break;
        }
        cleanup(mem_free_ptr) char *value = yyjson_write(doc, 0, NULL);
        buf_printf(&b, "%s|", value);
        yyjson_doc_free(doc);
        at += size + 1;
    }
    return buf_take(&b);
}

static void check_recording(const char *path)
{
    static const size_t pieces[] = {1, 7, 64, 1000, 16384, 1u << 20};
    enum frame_mode mode = str_has_suffix(path, ".jsonl") ? FRAME_WATCH : FRAME_LIST;
    cleanup(buf_fini) struct buf body;
    buf_init(&body, 0);
    if (buf_read_file(&body, path) != 0) {
        ck_assert_msg(str_has_prefix(path, RECORDINGS), "%s cannot be read", path);
        printf("SKIPPED: %s: recorded answers not found\n", path);
        return;
    }
    cleanup(mem_free_ptr) char *want = split_by_parser(mode, body.data, body.len);
    for (size_t i = 0; i < array_len(pieces); i++) {
        cleanup(mem_free_ptr) char *got = split(mode, buf_str(&body), body.len, pieces[i], 0, 0);
        cleanup(mem_free_ptr) char *again = mode == FRAME_LIST ? written_again(got) : mem_strdup(got);
        ck_assert_str_eq(again, want);
        if (mode == FRAME_LIST)
            ck_assert_msg(strstr(got, "List\",\"apiVersion\":\"") != NULL && str_has_suffix(got, ",\"items\":[]}"),
                          "%s", got);
    }
}

TEST(what_real_servers_sent)
{
    static const char *const ours[] = {
        "nodes-list.json",    "nodes-page1.json",    "nodes-page2.json",   "slices-list.json",
        "empty-list.json",    "endpoints-list.json", "slices-watch.jsonl", "slices-streaming-list.jsonl",
        "watch-expired.jsonl"};
    static const char *const theirs[] = {"nodes-list.json",
                                         "nodes-page1.json",
                                         "nodes-page2.json",
                                         "slices-list.json",
                                         "endpoints-list.json",
                                         "services-list.json",
                                         "slices-streaming-list.jsonl",
                                         "nodes-watch-bookmarks.jsonl",
                                         "watch-expired.jsonl"};
    for (size_t i = 0; i < array_len(ours); i++) {
        cleanup(mem_free_ptr) char *path = mem_printf("tests/data/kubernetes/%s", ours[i]);
        check_recording(path);
    }
    for (size_t i = 0; i < array_len(theirs); i++) {
        cleanup(mem_free_ptr) char *path = mem_printf(RECORDINGS "1.34-etcd-3.6/%s", theirs[i]);
        check_recording(path);
    }
}
