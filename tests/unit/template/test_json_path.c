/* src/template/json_path: what leads somewhere in a JSON object. */

#include "json/read.h"
#include "template/json_path.h"

#include "../test.h"

static const char object[] =
    "{\"metadata\": {\"name\": \"a\", \"labels\": {\"app.kubernetes.io/name\": \"web\", \"it's\": \"q\"}},"
    " \"spec\": {\"rules\": [{\"host\": \"h1\"}, {\"host\": \"h2\"}, {}], \"ports\": {\"x\": 1, \"y\": 2}},"
    " \"deep\": [[1, 2], [3]], \"none\": null}";

static const struct {
    const char *path, *found; /* all that it leads to, with a blank behind each */
} good[] = {
    {"metadata.name", "\"a\" "},
    {"$.metadata.name", "\"a\" "},
    {".metadata.name", "\"a\" "},
    {"{.metadata.name}", "\"a\" "},
    {"{$.metadata.name}", "\"a\" "},
    {"metadata.labels['app.kubernetes.io/name']", "\"web\" "},
    {"metadata.labels[\"it's\"]", "\"q\" "},
    {"metadata.labels.app\\.kubernetes\\.io/name", "\"web\" "},
    {"metadata['labels'].it's", "\"q\" "},
    {"spec.rules[0].host", "\"h1\" "},
    {"spec.rules[1].host", "\"h2\" "},
    {"spec.rules[3].host", ""},
    {"spec.rules[*].host", "\"h1\" \"h2\" "},
    {"spec.ports[*]", "1 2 "},
    {"deep[*][*]", "1 2 3 "},
    {"deep[1][0]", "3 "},
    {"none", "null "},
    {"none.x", ""},
    {"metadata.name.x", ""},
    {"metadata.name[0]", ""},
    {"metadata[0]", ""},
    {"absent", ""},
};

static bool add_found(void *arg, yyjson_val *found)
{
    struct buf *out = arg;
    char *text = json_text_of(found);
    buf_printf(out, "%s ", text);
    free(text);
    return true;
}

TEST_EACH(where_it_leads, array_len(good))
{
    struct json_path *p = json_path_parse(good[_i].path, &flaw);
    ck_assert_msg(p != NULL, "%s", flaw.message);
    yyjson_doc *doc = yyjson_read(object, strlen(object), 0);
    struct buf found = {0};
    json_path_each(p, yyjson_doc_get_root(doc), add_found, &found);
    ck_assert_msg(str_eq(buf_str(&found), good[_i].found), "%s leads to %s", good[_i].path, buf_str(&found));
    yyjson_val *first = json_path_first(p, yyjson_doc_get_root(doc));
    char *text = first != NULL ? json_text_of(first) : NULL;
    ck_assert_msg((first == NULL) == (found.len == 0), "%s", good[_i].path);
    ck_assert(text == NULL || str_has_prefix(good[_i].found, text));
    free(text);
    buf_fini(&found);
    yyjson_doc_free(doc);
    json_path_free(p);
}

static const struct {
    const char *path, *says;
} bad[] = {
    {"", "path \"\": \"\" is no field"},
    {"$", "path \"$\": \"\" is no field"},
    {"{}", "path \"{}\": \"\" is no field"},
    {".", "\".\" is no field"},
    {"a..b", "\"..b\" is no field"},
    {"a.", "\".\" is no field"},
    {"a[", "\"[\" is no field"},
    {"a[]", "\"[]\" is no field"},
    {"a[x]", "\"[x]\" is no field"},
    {"a[-1]", "\"[-1]\" is no field"},
    {"a[0", "\"[0\" is no field"},
    {"a[1000001]", "\"[1000001]\" is no field"},
    {"a[99999999999999999999]", "is no field"},
    {"a['b]", "\"['b]\" is no field"},
    {"a['b'", "\"['b'\" is no field"},
    {"a['']", "\"['']\" is no field"},
    {"a[?(@.x)]", "\"[?(@.x)]\" is no field"},
    {"a[*", "\"[*\" is no field"},
    {"a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a", "of which there may be 32"},
};

TEST_EACH(what_is_none, array_len(bad))
{
    ck_assert_msg(json_path_parse(bad[_i].path, &flaw) == NULL, "%s", bad[_i].path);
    ck_assert_int_eq(flaw.kind, ERROR_INVALID);
    ck_assert_msg(strstr(flaw.message, bad[_i].says) != NULL, "%s: %s", bad[_i].path, flaw.message);
}

static bool stop(void *arg, yyjson_val *found)
{
    return ++*(size_t *)arg < 2;
}

TEST(a_walk_may_stop)
{
    size_t seen = 0;
    struct json_path *p = json_path_parse("deep[*][*]", &flaw);
    yyjson_doc *doc = yyjson_read(object, strlen(object), 0);
    json_path_each(p, yyjson_doc_get_root(doc), stop, &seen);
    ck_assert_uint_eq(seen, 2);
    json_path_each(p, NULL, stop, &seen);
    ck_assert_uint_eq(seen, 2);
    yyjson_doc_free(doc);
    json_path_free(p);
    json_path_free(NULL);
}
