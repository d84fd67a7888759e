/* src/haproxy/dataplane/map_repair: what HAProxy has of a map, beside what it is to have. */
#include "haproxy/dataplane/map_repair.h"
#include "haproxy/map_text.h"

#include "../test.h"

/* "5a1 6b2": an entry each, with id, key and value. */
static void list_of(const char *shown, struct buf *ret)
{
    buf_add(ret, "[");
    for (const char *at = shown; *at != '\0'; at += strcspn(at, " "), at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        buf_printf(ret, "%s{\"id\":\"0x%c\",\"key\":\"%.*s\",\"value\":\"%c\"}", at > shown ? "," : "", at[0],
                   (int)len - 2, at + 1, at[len - 1]);
    }
    buf_add(ret, "]");
}

/* Of a file with these entries: a 1, b 2. */
static const struct {
    const char *before, *shown;
    bool same;
} rows[] = {
    {"", "1a1 2b2", true},
    {"", "9a1 9b2", true},
    {"", "", false},
    {"", "1a1", false},
    {"", "2b2 1a1", false}, /* which is first counts */
    {"", "1a1 2b3", false},
    {"", "1a1 2bb2", false},
    {"", "1a1 2b2 3b2", false},
    {"1a1 2b2", "1a1 2b2 3a1 4b2", true},
    {"1a1 2b2", "1a1 2b2", false}, /* none of the file is there */
    {"1a1 2b2", "3a1 4b2", false}, /* nor, it seems, anything from before */
    {"1a1 2b2", "1a1 3b2 3a1 4b2", false},
    {"1a1 2b2", "2b2 1a1 3a1 4b2", false},
    {"1a1 2b2", "1a1 2b2 3a1", false},
    {"1a1 2b2", "1a1 2b2 3b2 4a1", false},
    {"1a1 2b2", "1a1 2b2 3a1 4b2 5c3", false},
    {"1a1 2b2", "1a1 3a1 4b2", false},
    {"1x1", "1x1 2a1 3b2", true},
};

TEST_EACH(what_is_there, array_len(rows))
{
    cleanup(map_entries_fini) struct map_entries entries = {0};
    cleanup(buf_fini) struct buf before = {0}, shown = {0};
    struct map_repair r;
    struct error err = {0};
    map_entries_read(&entries, "a 1\nb 2\n");
    list_of(rows[_i].before, &before);
    list_of(rows[_i].shown, &shown);
    ck_assert_int_eq(map_repair_init(&r, buf_str(&before), before.len, &err), 0);
    int status = map_repair_compare(&r, buf_str(&shown), shown.len, &entries, &err);
    ck_assert_int_eq(status, rows[_i].same ? 0 : -1);
    ck_assert_int_eq(err.kind, rows[_i].same ? ERROR_NONE : ERROR_INVALID);
    map_repair_fini(&r);
    ck_assert_uint_eq(r.count, 0);
}

TEST(in_their_order)
{
    cleanup(buf_fini) struct buf list = {0};
    cleanup(map_repair_fini) struct map_repair r;
    list_of("7a1 8b2 9a1", &list);
    ck_assert_int_eq(map_repair_init(&r, buf_str(&list), list.len, &flaw), 0);
    ck_assert_uint_eq(r.count, 3);
    ck_assert(str_eq(r.ids[0], "0x7") && str_eq(r.ids[1], "0x8") && str_eq(r.ids[2], "0x9"));
}

TEST_EACH(too_many, 2)
{
    cleanup(buf_fini) struct buf list = {0};
    cleanup(map_repair_fini) struct map_repair r;
    buf_add(&list, "[");
    for (int i = 0; i < MAP_REPAIR_MAX + _i; i++)
        buf_printf(&list, "%s{\"id\":\"0x%x\",\"key\":\"k\",\"value\":\"v\"}", i > 0 ? "," : "", (unsigned)i + 1);
    buf_add(&list, "]");
    ck_assert_int_eq(map_repair_init(&r, buf_str(&list), list.len, &flaw), -_i);
    ck_assert_uint_eq(r.count, _i == 0 ? MAP_REPAIR_MAX : 0);
}

static const struct {
    const char *json;
    bool ids; /* it can be deleted */
} no_lists[] = {
    {"", false},
    {"{}", false},
    {"[1]", false},
    {"[{\"id\":\"0x1\",\"key\":\"a\",\"value\":\"1\"},{\"id\":2,\"key\":\"x\",\"value\":\"1\"}]", false},
    {"[{\"key\":\"x\",\"value\":\"1\"}]", false},
    {"[{\"id\":\"0x1/..\",\"key\":\"x\",\"value\":\"1\"}]", false},
    {"[{\"id\":\"0x1\",\"key\":\"x\",\"value\":1}]", true},
    {"[{\"id\":\"0x1\",\"key\":1,\"value\":\"1\"}]", true},
};

TEST_EACH(what_is_no_list, array_len(no_lists))
{
    cleanup(map_entries_fini) struct map_entries entries = {0};
    const char *json = no_lists[_i].json;
    struct map_repair r;
    struct error err = {0};
    map_entries_read(&entries, "a 1\n");
    ck_assert_int_eq(map_repair_init(&r, json, strlen(json), &err), no_lists[_i].ids ? 0 : -1);
    ck_assert_int_eq(err.kind == ERROR_NONE, no_lists[_i].ids);
    map_repair_fini(&r);
    error_clear(&err);
    ck_assert_int_eq(map_repair_compare(&r, json, strlen(json), &entries, &err), -1);
    ck_assert_int_ne(err.kind, ERROR_NONE);
}
