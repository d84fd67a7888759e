/* src/template/objects, src/template/fixtures: what templates see of a cluster, and what stands in for one. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "json/read.h"
#include "model/cache.h"
#include "set_text.h"
#include "template/fixtures.h"
#include "template/objects.h"

#include "../test.h"

#define SET                                                                                                        \
    "watch:\n  pods: {apiVersion: v1, kind: Pod, index_by: [metadata.namespace, 'spec.ports[*]'], keep: [spec]}\n" \
    "  nodes: {apiVersion: v1, kind: Node}\nextra: {a: 1}\n"

static const char pods[] = "{\"pods\": [{\"metadata\": {\"name\": \"b\", \"namespace\": \"x\"}, \"spec\": {\"ports\": "
                           "[80, \"web\"]}, \"status\": 1},"
                           " {\"metadata\": {\"name\": \"a\", \"namespace\": \"x\"}, \"spec\": {\"ports\": [80, 80]}},"
                           " {\"metadata\": {\"name\": \"a\", \"namespace\": \"y\"}, \"spec\": {\"ports\": [443]}},"
                           " {\"metadata\": {\"name\": \"none\", \"namespace\": \"x\"}, \"spec\": {}}],"
                           " \"nodes\": [{\"metadata\": {\"name\": \"n\"}}]}";

static int add(struct objects *o, const struct template_set *s, const char *json, bool others, struct error *err)
{
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    int rc = fixtures_add(o, s, yyjson_doc_get_root(doc), others, err);
    yyjson_doc_free(doc);
    return rc;
}

static char *names(const yyjson_val *const *list, size_t count)
{
    struct buf out = {0};
    for (size_t i = 0; i < count; i++) {
        yyjson_val *metadata = yyjson_obj_get((yyjson_val *)(uintptr_t)list[i], "metadata");
        const char *namespace = yyjson_get_str(yyjson_obj_get(metadata, "namespace"));
        buf_printf(&out, "%s/%s ", namespace != NULL ? namespace : "",
                   yyjson_get_str(yyjson_obj_get(metadata, "name")));
    }
    return buf_take(&out);
}

static void assert_fetched(struct objects *o, const char *first, const char *second, const char *found)
{
    const yyjson_val *const *list;
    struct buf keys = {0};
    buf_addn(&keys, first, strlen(first) + 1);
    if (second != NULL)
        buf_addn(&keys, second, strlen(second) + 1);
    size_t count = objects_fetch(o, 0, buf_str(&keys), keys.len, &list);
    buf_fini(&keys);
    cleanup(mem_free_ptr) char *text = names(list, count);
    ck_assert_str_eq(text, found);
}

static void assert_listed(struct objects *o, size_t resource, const char *found)
{
    const yyjson_val *const *list;
    size_t count = objects_list(o, resource, &list);
    cleanup(mem_free_ptr) char *text = names(list, count);
    ck_assert_str_eq(text, found);
}

TEST(what_a_render_sees)
{
    struct error err = {0};
    struct template_set *s = good_set(SET);
    struct objects *o = fixtures_new(s);
    ck_assert_msg(add(o, s, pods, false, &err) == 0, "%s", err.message);
    ck_assert_uint_eq(objects_resource_count(o), 2);
    ck_assert_str_eq(objects_resource_kind(o, 0), "Pod");
    ck_assert_uint_eq(objects_key_count(o, 0), 2);
    assert_listed(o, 0, "x/a x/b x/none y/a "); /* by namespace and name */
    assert_listed(o, 1, "/n ");
    assert_fetched(o, "x", NULL, "x/a x/b "); /* one that has no key is not found */
    assert_fetched(o, "x", "80", "x/a x/b "); /* a number by its text, and once */
    assert_fetched(o, "x", "web", "x/b ");
    assert_fetched(o, "y", "443", "y/a ");
    assert_fetched(o, "y", "80", "");
    assert_fetched(o, "z", NULL, "");
    assert_fetched(o, "", NULL, "");
    objects_free(o);
    template_set_free(s);
}

TEST(what_is_left_out)
{
    struct error err = {0};
    struct template_set *s = good_set(SET);
    struct objects *o = fixtures_new(s);
    ck_assert_int_eq(add(o, s, pods, false, &err), 0);
    const yyjson_val *const *list;
    const char *key = NULL;
    size_t resource = 9;
    ck_assert_uint_eq(objects_list(o, 0, &list), 4);
    const yyjson_val *b = list[1];
    ck_assert(objects_find(o, b, &resource, &key) && resource == 0 && str_eq(key, "x/b"));
    ck_assert(!objects_find(o, NULL, &resource, &key));
    assert_fetched(o, "x", "web", "x/b ");
    ck_assert(objects_leave_out(o, b));
    ck_assert(!objects_leave_out(o, b)); /* once */
    ck_assert(!objects_leave_out(o, NULL));
    objects_hide_left_out(o);
    assert_listed(o, 0, "x/a x/none y/a ");
    assert_fetched(o, "x", "web", "");
    ck_assert(objects_find(o, b, &resource, &key)); /* what is said of it has its name */
    objects_forget_read(o);
    assert_listed(o, 0, "x/a x/b x/none y/a ");
    objects_free(o);
    template_set_free(s);
}

static const struct {
    const char *json, *says; /* NULL: it is right */
    bool others;
} fixtures[] = {
    {"{}", NULL, false},
    {"{\"pods\": []}", NULL, false},
    {"[]", "fixtures is an array", false},
    {"{\"pod\": []}", "fixtures: the set watches no pod", false},
    {"{\"pod\": []}", NULL, true},
    {"{\"pods\": {}}", "fixtures: pods: expected a list of objects", true},
    {"{\"pods\": [{\"metadata\": {\"name\": \"a\"}}, {}]}", "fixture pods[1]: name is missing", false},
    {"{\"pods\": [5]}", "fixture pods[0]: it is a number", false},
};

TEST_EACH(what_is_a_fixture, array_len(fixtures))
{
    struct error err = {0};
    struct template_set *s = good_set(SET);
    struct objects *o = fixtures_new(s);
    int rc = add(o, s, fixtures[_i].json, fixtures[_i].others, &err);
    ck_assert_msg(rc == (fixtures[_i].says == NULL ? 0 : -1), "%s: %s", fixtures[_i].json, err.message);
    ck_assert_msg(rc == 0 || strstr(err.message, fixtures[_i].says) != NULL, "%s", err.message);
    objects_free(o);
    template_set_free(s);
}

TEST(a_later_fixture_replaces_one)
{
    struct error err = {0};
    struct template_set *s = good_set(SET);
    struct objects *o = fixtures_new(s);
    ck_assert_int_eq(add(o, s, pods, false, &err), 0);
    ck_assert_int_eq(
        add(o, s, "{\"pods\": [{\"metadata\": {\"name\": \"a\", \"namespace\": \"y\"}, \"spec\": {\"ports\": [1]}}]}",
            false, &err),
        0);
    assert_fetched(o, "y", "1", "y/a ");
    assert_fetched(o, "y", "443", "");
    objects_free(o);
    template_set_free(s);
}

TEST(the_document_of_all)
{
    struct error err = {0};
    struct template_set *s = good_set(SET);
    struct objects *o = fixtures_new(s);
    ck_assert_int_eq(
        add(o, s, "{\"pods\": [{\"metadata\": {\"name\": \"a\"}, \"status\": 1}, {\"metadata\": {\"name\": \"b\"}}]}",
            false, &err),
        0);
    yyjson_doc *doc = fixtures_document(o, s);
    char *text = json_text_of(yyjson_doc_get_root(doc));
    ck_assert_str_eq(
        text,
        "{\"resources\":{\"pods\":[{\"metadata\":{\"name\":\"a\"}},{\"metadata\":{\"name\":\"b\"}}],\"nodes\":[]},"
        "\"extra\":{\"a\":1}}");
    free(text);
    yyjson_doc_free(doc);
    objects_free(o);
    template_set_free(s);
}
