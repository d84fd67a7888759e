/* src/daemon/status/status_nodes and json_write: a desired state as it is shown, bounded, and safe whatever it says. */
#include <yyjson.h>

#include "json/write.h"
#include "daemon/status/status.h"
#include "daemon/status/status_parts.h"

#include "../backend_text.h"
#include "../json_text.h"

static struct desired desired;

static void setup(void)
{
    desired_init(&desired);
}

static void teardown(void)
{
    desired_fini(&desired);
}

static char *print(const struct desired *d, size_t *left)
{
    struct buf out = {0};
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    status_nodes_put(d, doc, root, left);
    json_write(doc, false, &out);
    json_free(doc);
    return buf_take(&out);
}

/* "draining n2, out n4": the list in its order. */
static void expect_list(size_t left, const char *wanted)
{
    cleanup(mem_free_ptr) char *json = print(&desired, &left);
    cleanup(buf_fini) struct buf is = {0};
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    yyjson_val *list = yyjson_ptr_get(yyjson_doc_get_root(doc), "/nodes/list"), *item;
    size_t i, max;
    ck_assert_uint_eq(yyjson_get_uint(yyjson_ptr_get(yyjson_doc_get_root(doc), "/nodes/listed")),
                      yyjson_arr_size(list));
    yyjson_arr_foreach (list, i, max, item)
        buf_printf(&is, "%s%s %s", i > 0 ? ", " : "", yyjson_get_str(yyjson_obj_get(item, "state")),
                   yyjson_get_str(yyjson_obj_get(item, "name")));
    ck_assert_str_eq(buf_str(&is), wanted);
    yyjson_doc_free(doc);
}

FIXTURE(setup, teardown)

TEST(before_anything_is_known)
{
    size_t left = 10;
    cleanup(mem_free_ptr) char *json = print(NULL, &left);
    assert_json(json,
                "{\"state\":\"waiting\",\"problem\":null,\"note\":null,\"paused\":false,\"endpoints\":0,\"nodes\":{"
                "\"live\":0,\"draining\":0,\"out\":0,\"spare\":0,\"listed\":0,\"list\":[]}}");
    ck_assert_uint_eq(left, 10);
}

TEST(all_of_it)
{
    size_t left = 10;
    text_desired(
        &desired,
        "n1 10.0.0.1:80 weight 7; n2 [fd00::2]:80 draining; out n3 announced its node is going; spare n5 10.0.0.5:81");
    desired.endpoint_count = 3;
    desired.paused = true;
    desired.note = mem_strdup("a note");
    cleanup(mem_free_ptr) char *json = print(&desired, &left);
    assert_json(json,
                "{\"state\":\"ok\",\"problem\":null,\"note\":\"a note\",\"paused\":true,\"endpoints\":3,\"nodes\":{"
                "\"live\":1,\"draining\":1,\"out\":1,\"spare\":1,\"listed\":4,\"list\":["
                "{\"name\":\"n2\",\"state\":\"draining\",\"address\":\"fd00::2\",\"port\":80,\"weight\":null,"
                "\"reason\":\"n2 is wanted\"},"
                "{\"name\":\"n3\",\"state\":\"out\",\"address\":null,\"port\":null,\"weight\":null,\"reason\":\"its "
                "node is going\","
                "\"subject\":\"node n3\",\"ordinary\":false,\"announced\":true},"
                "{\"name\":\"n1\",\"state\":\"live\",\"address\":\"10.0.0.1\",\"port\":80,\"weight\":7,\"reason\":\"n1 "
                "is wanted\"},"
                "{\"name\":\"n5\",\"state\":\"spare\",\"address\":\"10.0.0.5\",\"port\":81,\"weight\":null,\"reason\":"
                "\"n5 is wanted\"}"
                "]}}");
    ck_assert_uint_eq(left, 6);
}

TEST(nothing_to_list)
{
    text_desired(&desired, "");
    expect_list(10, "");
    size_t left = 10;
    cleanup(mem_free_ptr) char *json = print(&desired, &left);
    ck_assert_ptr_nonnull(strstr(json, "\"state\":\"empty\""));
    ck_assert_ptr_nonnull(strstr(json, desired.problem));
    ck_assert_uint_eq(left, 10);
}

TEST(the_most_telling_come_first_where_there_is_no_room)
{
    text_desired(
        &desired,
        "n1 10.0.0.1:80; n2 10.0.0.2:80 draining; out n3 gone; out n4 not ready; spare n5 10.0.0.5:80; n6 10.0.0.6:80");
    desired.skips[1].ordinary = true;
    expect_list(10, "draining n2, out n3, live n1, live n6, out n4, spare n5");
    expect_list(3, "draining n2, out n3, live n1");
    expect_list(0, "");
}

TEST(many)
{
    cleanup(buf_fini) struct buf text = {0};
    size_t left = STATUS_LISTS_MAX;
    for (unsigned i = 0; i < 1000; i++)
        buf_printf(&text, "%sn%04u 10.1.%u.%u:80%s", i > 0 ? "; " : "", i, i / 250, i % 250 + 1,
                   i == 999 ? " draining" : "");
    text_desired(&desired, buf_str(&text));
    cleanup(mem_free_ptr) char *json = print(&desired, &left);
    ck_assert_ptr_nonnull(strstr(json, "\"live\":999,"));
    ck_assert_ptr_nonnull(strstr(json, "\"listed\":500,\"list\":[{\"name\":\"n0999\","));
    ck_assert_uint_lt(strlen(json), 256 * STATUS_LIST_MAX);
    ck_assert_uint_eq(left, STATUS_LISTS_MAX - STATUS_LIST_MAX);
}

/* Raw bytes of the output: no control character, no byte beyond ASCII, whatever came in; and what is text comes back. */
TEST_EACH(nothing_that_a_peer_wrote_gets_through, 4)
{
    static const char *const texts[] = {"\x1b[2J\n\t\x7f\x01", "\xc2\x9b[2J \xe2\x80\xae", "\xff\xfe cut \xe2\x82",
                                        "\" \\ </script><img src=x onerror=alert(1)> \xf0\x9f\x98\x80"};
    static const char *const back[] = {"\x1b[2J\n\t\x7f\x01", "\xc2\x9b[2J \xe2\x80\xae", "\\xff\\xfe cut \\xe2\\x82",
                                       "\" \\ </script><img src=x onerror=alert(1)> \xf0\x9f\x98\x80"};
    size_t left = 10;
    text_desired(&desired, "n1 10.0.0.1:80; out n2 gone");
    text_why(&desired, &desired.servers[0], texts[_i]);
    desired.skips[0].place = texts[_i];
    cleanup(mem_free_ptr) char *json = print(&desired, &left);
    for (const char *s = json; *s != '\0'; s++)
        ck_assert_msg(*s >= 0x20 && *s < 0x7f, "%s", json);
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    ck_assert_str_eq(yyjson_get_str(yyjson_ptr_get(yyjson_doc_get_root(doc), "/nodes/list/1/reason")), back[_i]);
    ck_assert_str_eq(yyjson_get_str(yyjson_ptr_get(yyjson_doc_get_root(doc), "/nodes/list/0/subject")), back[_i]);
    yyjson_doc_free(doc);
}
