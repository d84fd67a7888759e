#include "haproxy/dataplane/map_payload.h"

#include <string.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/text.h"
#include "haproxy/map_text.h"
#include "json/write.h"

#define BLOCK_BYTES 8192u
#define MAX_BYTES (1u << 20) /* the API answers with all of it, too */

/* ---- what the API makes of them (client-native's parseMapPayload) ---- */

struct arrivals {
    size_t *list, count, max;
};

static void arrive(struct arrivals *a, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++, a->count++)
        if (a->count < a->max)
            a->list[a->count] = i;
}

/* `data` has been gathered, and is sent as it was before the line that makes it too long; which goes with the next one. */
size_t map_payload_arrives(const size_t *lengths, size_t count, size_t *ret, size_t max)
{
    struct arrivals all = {.list = ret, .max = max};
    size_t data = 0, bytes = 0, before = 0, first = 0, end = 0; /* [first, end) is sent next */
    bool exceeded = false, again = false;
    for (size_t i = 0; i < count; i++) {
        data = again ? i - 1 : bytes == 0 ? i : data;
        bytes += (again ? before : 0) + lengths[i];
        before = lengths[i];
        again = false;
        if (bytes < BLOCK_BYTES) {
            first = data;
            end = i + 1;
        } else if (bytes == BLOCK_BYTES) {
            arrive(&all, data, i + 1);
            bytes = 0;
        } else {
            arrive(&all, first < end ? first : i, first < end ? end : i + 1);
            exceeded = again = true;
            bytes = first = end = 0;
        }
    }
    arrive(&all, first, end);
    return exceeded ? all.count : 0;
}

/* Whether each line arrives, once and in its place. */
static bool payload_is_whole(const size_t *lengths, size_t count)
{
    cleanup(mem_free_ptr) size_t *arrived = mem_array(count, sizeof(arrived[0]));
    if (map_payload_arrives(lengths, count, arrived, count) != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (arrived[i] != i)
            return false;
    return true;
}

/* ---- JSON ---- */

/* The API shows the first word of a value, and refuses commands with a ';'. */
static bool payload_can_say(const struct map_entry *e)
{
    return e->value_len > 0 && memchr(e->key, ';', e->key_len) == NULL && memchr(e->value, ';', e->value_len) == NULL &&
           memchr(e->value, ' ', e->value_len) == NULL && memchr(e->value, '\t', e->value_len) == NULL &&
           text_utf8_len(e->key, e->key_len) == e->key_len && text_utf8_len(e->value, e->value_len) == e->value_len;
}

static void payload_add(struct yyjson_mut_doc *doc, struct yyjson_mut_val *list, const struct map_entry *e)
{
    struct yyjson_mut_val *one = json_add_object(doc, list);
    cleanup(mem_free_ptr) char *key = mem_strndup(e->key, e->key_len);
    cleanup(mem_free_ptr) char *value = mem_strndup(e->value, e->value_len);
    json_fields(doc, one, json_str("key", key), json_str("value", value));
}

int map_payload_print(const struct map_entries *entries, struct buf *ret, struct error *err)
{
    cleanup(mem_free_ptr) size_t *lengths = mem_array(entries->count + 1, sizeof(lengths[0]));
    size_t bytes = 0;
    for (size_t i = 0; i < entries->count; i++) {
        const struct map_entry *e = &entries->list[i];
        if (!payload_can_say(e))
            return error_set(
                err, ERROR_INVALID,
                "the Data Plane API cannot set or cannot show the value of %.*s (several words, none, a ';')",
                (int)e->key_len, e->key);
        lengths[i] = e->key_len + 1 + e->value_len + 1;
        bytes += lengths[i];
    }
    if (bytes <= BLOCK_BYTES)
        return error_set(err, ERROR_INVALID,
                         "the Data Plane API replaces no map of at most 8 KiB, but adds to it what it is to have");
    if (bytes > MAX_BYTES || !payload_is_whole(lengths, entries->count))
        return error_set(err, ERROR_INVALID, "the Data Plane API cannot replace all of its %zu entries at once",
                         entries->count);
    struct yyjson_mut_val *root;
    cleanup(json_free_ptr) struct yyjson_mut_doc *doc = json_new(&root);
    struct yyjson_mut_val *list = json_put_list(doc, root, "entries");
    for (size_t i = 0; i < entries->count; i++)
        payload_add(doc, list, &entries->list[i]);
    yyjson_mut_doc_set_root(doc, list);
    json_write(doc, false, ret);
    return 0;
}
