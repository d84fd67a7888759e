/* src/json/read: fields by their type, and what is said of those that are otherwise. */
#include "json/read.h"

#include "../test.h"

enum how { OBJECT, ARRAY, BOOL, INT, STRING, NEED, LINE };

/* What the field "f" of a document is read as. */
static const struct {
    enum how how;
    const char *json, *got;
} rows[] = {
    {OBJECT, "{}", "none"},
    {OBJECT, "{\"f\":null}", "none"},
    {OBJECT, "{\"f\":{\"a\":1}}", "{\"a\":1}"},
    {OBJECT, "{\"f\":[]}", "f is an array, not an object"},
    {ARRAY, "{\"f\":[1]}", "[1]"},
    {ARRAY, "{\"f\":{}}", "f is an object, not an array"},
    {BOOL, "{}", "true"}, /* which is what it is where it is absent */
    {BOOL, "{\"f\":false}", "false"},
    {BOOL, "{\"f\":0}", "f is a number, not a boolean"},
    {INT, "{}", "-7"},
    {INT, "{\"f\":0}", "0"},
    {INT, "{\"f\":9}", "9"},
    {INT, "{\"f\":10}", "f is 10, not in 0..9"},
    {INT, "{\"f\":-1}", "f is -1, not in 0..9"},
    {INT, "{\"f\":18446744073709551615}", "f is 18446744073709551615, not in 0..9"},
    {INT, "{\"f\":99999999999999999999}", "f is a number, not a whole number"},
    {INT, "{\"f\":1.5}", "f is 1.5, not a whole number"},
    {INT, "{\"f\":\"1\"}", "f is a string, not a whole number"},
    {STRING, "{}", ""},
    {STRING, "{\"f\":\"caf\xc3\xa9\\n\"}", "caf\xc3\xa9\n"},
    {STRING, "{\"f\":\"a\\u0000b\"}", "f holds a NUL character"},
    {STRING, "{\"f\":true}", "f is a boolean, not a string"},
    {NEED, "{}", "f is missing or empty"},
    {NEED, "{\"f\":\"\"}", "f is missing or empty"},
    {NEED, "{\"f\":\"x\"}", "x"},
    {LINE, "{}", "none"},
    {LINE, "{\"f\":\"12345678\"}", "12345678"},
    {LINE, "{\"f\":\"123456789\"}", "f has 9 bytes (\"123456789...\"), at most 8 are accepted"},
    {LINE, "{\"f\":\"a\\tb\"}", "f (\"a b\") has a control character, 0x09"},
    {LINE, "{\"f\":\"a\\u0000\"}", "f (\"a\") has a control character, 0x00"},
};

static int read_as(enum how how, yyjson_val *root, char **ret, struct error *err)
{
    yyjson_val *val = NULL;
    const char *text = NULL;
    bool on;
    int64_t n;
    int rc = 0;
    switch (how) {
    case OBJECT:
    case ARRAY:
        rc = (how == OBJECT ? json_get_object : json_get_array)(root, "f", &val, err);
        *ret = rc == 0 && val != NULL ? json_text_of(val) : mem_strdup("none");
        break;
    case BOOL:
        rc = json_get_bool(root, "f", true, &on, err);
        *ret = mem_strdup(rc == 0 && on ? "true" : "false");
        break;
    case INT:
        rc = json_get_int(root, "f", 0, 9, -7, &n, err);
        *ret = mem_printf("%d", rc == 0 ? (int)n : 0);
        break;
    case STRING:
    case NEED:
        rc = (how == NEED ? json_need_string : json_get_string)(root, "f", &text, err);
        *ret = mem_strdup(text);
        break;
    case LINE:
        rc = json_get_line(root, "f", 8, &text, err);
        *ret = mem_strdup(rc == 0 && text == NULL ? "none" : text);
        break;
    }
    return rc;
}

TEST_EACH(a_field_is_read_or_its_fault_is_said, array_len(rows))
{
    struct error err = {0};
    const char *json = rows[_i].json;
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, strlen(json), YYJSON_READ_BIGNUM_AS_RAW, "it", &err);
    cleanup(mem_free_ptr) char *got = NULL;
    ck_assert_ptr_nonnull(doc);
    int rc = read_as(rows[_i].how, yyjson_doc_get_root(doc), &got, &err);
    ck_assert_str_eq(rc == 0 ? got : err.message, rows[_i].got);
    ck_assert_int_eq(err.kind, rc == 0 ? ERROR_NONE : ERROR_INVALID);
}

TEST(what_is_no_json_or_no_list)
{
    static const struct {
        const char *json, *said;
    } lists[] = {{"[1]", NULL},
                 {"null", NULL},
                 {"{}", "the list is an object, not an array"},
                 {"[", "the list is not JSON: "},
                 {"", "the list is not JSON: "}};
    for (size_t i = 0; i < array_len(lists); i++) {
        yyjson_val *list = NULL;
        cleanup(json_doc_free_ptr) yyjson_doc *doc =
            json_parse(lists[i].json, strlen(lists[i].json), 0, "the list", &flaw);
        ck_assert_int_eq(json_list_of(doc, "the list", &list, &flaw), lists[i].said == NULL ? 0 : -1);
        ck_assert_uint_eq(yyjson_arr_size(list), i == 0);
        ck_assert_ptr_nonnull(strstr(flaw.message, lists[i].said != NULL ? lists[i].said : ""));
    }
}
