/* src/haproxy/dataplane/map_payload: all entries of a map through an API that loses some and doubles others. */
#include <yyjson.h>

#include "haproxy/dataplane/map_payload.h"
#include "haproxy/map_text.h"

#include "../test.h"

#define BLOCK 8192

struct arrival {
    size_t lengths[4], count;
    const char *arrives; /* indexes; "": appended */
};

static const struct arrival arrivals[] = {
    {{4, 4}, 2, ""},
    {{BLOCK}, 1, ""}, /* exactly one block is no replacement */
    {{BLOCK + 1}, 1, "0"},
    {{BLOCK + 4, 4}, 2, "01"},
    {{BLOCK + 4, 4, 4}, 3, "0112"},           /* the second one twice */
    {{BLOCK / 2 + 4, BLOCK / 2 + 4}, 2, "0"}, /* not the last one */
    {{BLOCK / 2 + 4, BLOCK / 2 + 4, 4}, 3, "012"},
    {{BLOCK / 2 + 4, BLOCK / 2 + 4, BLOCK / 2 - 8, 4}, 4, "012312"}, /* a block that is full comes again */
    {{4, BLOCK - 4, 5, 6}, 4, ""},
    {{4, BLOCK - 4, BLOCK + 1, 5}, 4, "0103"}, /* the first one again, and not the third */
};

TEST_EACH(what_arrives, array_len(arrivals))
{
    const struct arrival *row = &arrivals[_i];
    size_t got[16];
    char text[17] = "";
    size_t count = map_payload_arrives(row->lengths, row->count, got, array_len(got));
    for (size_t i = 0; i < count; i++)
        text[i] = (char)('0' + got[i]);
    ck_assert_str_eq(text, row->arrives);
}

/* What arrives of it is what was to arrive, in its order. */
static void assert_whole(const char *json, size_t len, const struct map_entries *entries)
{
    yyjson_doc *doc = yyjson_read(json, len, 0);
    cleanup(mem_free_ptr) size_t *lengths = mem_array(entries->count, sizeof(lengths[0]));
    cleanup(mem_free_ptr) size_t *arrived = mem_array(entries->count, sizeof(arrived[0]));
    yyjson_val *one;
    size_t i, count;
    ck_assert_ptr_nonnull(doc);
    ck_assert_uint_eq(yyjson_arr_size(yyjson_doc_get_root(doc)), entries->count);
    yyjson_arr_foreach (yyjson_doc_get_root(doc), i, count, one) {
        const struct map_entry *e = &entries->list[i];
        const char *key = yyjson_get_str(yyjson_obj_get(one, "key")),
                   *value = yyjson_get_str(yyjson_obj_get(one, "value"));
        lengths[i] = strlen(key) + 1 + strlen(value) + 1;
        ck_assert_uint_eq(strlen(key), e->key_len);
        ck_assert_mem_eq(key, e->key, e->key_len);
        ck_assert_uint_eq(strlen(value), e->value_len);
        ck_assert_mem_eq(value, e->value, e->value_len);
    }
    ck_assert_uint_eq(map_payload_arrives(lengths, count, arrived, count), count);
    for (i = 0; i < count; i++)
        ck_assert_uint_eq(arrived[i], i);
    yyjson_doc_free(doc);
}

/* False: the API would not get all of it through. */
static bool is_sent(const char *text)
{
    cleanup(map_entries_fini) struct map_entries entries = {0};
    cleanup(buf_fini) struct buf out = {0};
    map_entries_read(&entries, text);
    if (map_payload_print(&entries, &out, &flaw) != 0)
        return false;
    assert_whole(buf_str(&out), out.len, &entries);
    return true;
}

/* Up to one block they would be appended. */
TEST(no_more_than_a_block)
{
    cleanup(buf_fini) struct buf text = {0};
    buf_printf(&text, "%0*d 1\n", BLOCK - 3, 0);
    ck_assert(!is_sent(buf_str(&text)));
    ck_assert_msg(strstr(flaw.message, "replaces no map of at most 8 KiB") != NULL, "%s", flaw.message);
    buf_clear(&text);
    buf_printf(&text, "%0*d 1\n", BLOCK - 2, 0);
    ck_assert_msg(is_sent(buf_str(&text)), "%s", flaw.message);
}

/* Seldom one cannot be sent; what is sent is whole. */
TEST(any_length_of_entries)
{
    unsigned sent = 0;
    for (unsigned i = 0; i < 400; i++) {
        cleanup(buf_fini) struct buf text = {0};
        unsigned seed = i + 1;
        for (unsigned k = 0; k < 3 + 7 * (i % 40) || text.len <= BLOCK + 500; k++) {
            seed = seed * 1103515245u + 12345u;
            buf_printf(&text, "k%u v%0*u\n", k, (int)(1 + (seed >> 16) % 40), k);
        }
        sent += is_sent(buf_str(&text));
    }
    ck_assert_uint_ge(sent, 380);
}

/* As the rows above: of one the API makes more lines than there are, of another as many, and others; of the third it loses
 * the last one. */
TEST_EACH(what_would_not_arrive, 3)
{
    const size_t lengths[][4] = {{BLOCK / 2 + 4, BLOCK / 2 + 4, BLOCK / 2 - 8, 4},
                                 {4, BLOCK - 4, BLOCK + 1, 5},
                                 {4, 4, BLOCK / 2, BLOCK / 2 - 4}};
    cleanup(map_entries_fini) struct map_entries entries = {0};
    cleanup(buf_fini) struct buf text = {0}, out = {0};
    for (size_t i = 0; i < array_len(lengths[0]); i++)
        buf_printf(&text, "%zu %0*d\n", i, (int)lengths[_i][i] - 3, 0);
    map_entries_read(&entries, buf_str(&text));
    ck_assert_int_eq(map_payload_print(&entries, &out, &flaw), -1);
    ck_assert(strstr(flaw.message, "cannot replace all of its 4 entries at once") != NULL);
}

TEST(as_they_are)
{
    cleanup(mem_free_ptr) char *text =
        mem_printf("l %0*d\nm %0*d\n/api be\n#x y\n^a\\.b$ z*\nq\"q \xc3\xa9'&\nq twice", BLOCK / 2, 0, BLOCK / 2, 0);
    ck_assert_msg(is_sent(text), "%s", flaw.message);
}

static const struct {
    const char *text, *why;
} refused[] = {
    {"", "replaces no map of at most 8 KiB"}, {"a 1\nb two words\n", "the value of b "},
    {"a two\twords\n", "the value of a "},    {"a\n", "the value of a "},
    {"a b;c\n", "the value of a "},           {"a;b c\n", "the value of a;b "},
    {"a \xff\n", "the value of a "},          {"\xff b\n", "the value of "},
};

TEST_EACH(what_cannot_be, array_len(refused))
{
    cleanup(map_entries_fini) struct map_entries entries = {0};
    cleanup(buf_fini) struct buf out = {0};
    map_entries_read(&entries, refused[_i].text);
    ck_assert_int_eq(map_payload_print(&entries, &out, &flaw), -1);
    ck_assert_msg(strstr(flaw.message, refused[_i].why) != NULL, "%s", flaw.message);
    ck_assert_uint_eq(out.len, 0);
}

TEST(more_than_a_megabyte)
{
    cleanup(map_entries_fini) struct map_entries entries = {0};
    cleanup(buf_fini) struct buf out = {0}, text = {0};
    for (int i = 0; i < (1 << 20) / 17 + 1; i++)
        buf_printf(&text, "%07d %08d\n", i, i);
    map_entries_read(&entries, buf_str(&text));
    ck_assert_int_eq(map_payload_print(&entries, &out, &flaw), -1);
    entries.count--;
    ck_assert_int_eq(map_payload_print(&entries, &out, &flaw), 0);
}
