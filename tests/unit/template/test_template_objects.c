/* src/template/objects, src/template/trial: what templates see of a cluster, and what stands in for one. */

#include "json/read.h"
#include "model/cache.h"
#include "set_text.h"
#include "template/objects.h"
#include "template/trial.h"

#define SET                                                                                                        \
    "watch:\n  pods: {apiVersion: v1, kind: Pod, index_by: [metadata.namespace, 'spec.ports[*]'], keep: [spec]}\n" \
    "  nodes: {apiVersion: v1, kind: Node}\nextra: {a: 1}\n"

static const char pods[] = "{\"pods\": [{\"metadata\": {\"name\": \"b\", \"namespace\": \"x\"}, \"spec\": {\"ports\": "
                           "[80, \"web\"]}, \"status\": 1},"
                           " {\"metadata\": {\"name\": \"a\", \"namespace\": \"x\"}, \"spec\": {\"ports\": [80, 80]}},"
                           " {\"metadata\": {\"name\": \"a\", \"namespace\": \"y\"}, \"spec\": {\"ports\": [443]}},"
                           " {\"metadata\": {\"name\": \"none\", \"namespace\": \"x\"}, \"spec\": {}}],"
                           " \"nodes\": [{\"metadata\": {\"name\": \"n\"}}]}";

static struct error err;
static struct template_set *s;
static struct objects *o;

static void setup(void)
{
    err = (struct error){0};
    s = good_set(SET);
    o = objects_new(s);
}

static void teardown(void)
{
    objects_free(o);
    template_set_free(s);
}

static int add(const char *json, bool others)
{
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    int rc = fixtures_add(o, s, yyjson_doc_get_root(doc), others, &err);
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

static void assert_fetched(const char *first, const char *second, const char *found)
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

static void assert_listed(size_t resource, const char *found)
{
    const yyjson_val *const *list;
    size_t count = objects_list(o, resource, &list);
    cleanup(mem_free_ptr) char *text = names(list, count);
    ck_assert_str_eq(text, found);
}

FIXTURE(setup, teardown)

TEST(what_a_render_sees)
{
    ck_assert_msg(add(pods, false) == 0, "%s", err.message);
    ck_assert_uint_eq(objects_resource_count(o), 2);
    ck_assert_str_eq(objects_watch(o, 0)->kind, "Pod");
    ck_assert_uint_eq(objects_watch(o, 0)->index_by.count, 2);
    assert_listed(0, "x/a x/b x/none y/a "); /* by namespace and name */
    assert_listed(1, "/n ");
    assert_fetched("x", NULL, "x/a x/b "); /* one that has no key is not found */
    assert_fetched("x", "80", "x/a x/b "); /* a number by its text, and once */
    assert_fetched("x", "web", "x/b ");
    assert_fetched("y", "443", "y/a ");
    assert_fetched("y", "80", "");
    assert_fetched("z", NULL, "");
    assert_fetched("", NULL, "");
}

static const char *shown(void *arg, const char *resource, const struct template_object *object)
{
    bool is = str_eq(resource, "pods") && str_eq(object->name, arg);
    return is                            ? NULL
           : str_eq(object->name, "y/a") ? "{\"metadata\": {\"name\": \"was\", \"namespace\": \"y\"}}"
                                         : object->json;
}

TEST(what_is_withheld_is_not_seen)
{
    char b[] = "x/b";
    ck_assert_int_eq(add(pods, false), 0);
    objects_show_by(o, shown, b);
    assert_listed(0, "x/a x/none y/was ");
    assert_fetched("x", "web", "");
    objects_forget_read(o);
    objects_show_by(o, NULL, NULL);
    assert_listed(0, "x/a x/b x/none y/a ");
}

TEST(what_is_left_out)
{
    ck_assert_int_eq(add(pods, false), 0);
    const yyjson_val *const *list;
    const char *key = NULL;
    size_t resource = 9;
    ck_assert_uint_eq(objects_list(o, 0, &list), 4);
    const yyjson_val *b = list[1];
    ck_assert(objects_find(o, b, &resource, &key) && resource == 0 && str_eq(key, "x/b"));
    ck_assert(!objects_find(o, NULL, &resource, &key));
    assert_fetched("x", "web", "x/b ");
    ck_assert(objects_leave_out(o, b));
    ck_assert(!objects_leave_out(o, b)); /* once */
    ck_assert(!objects_leave_out(o, NULL));
    objects_hide_left_out(o);
    assert_listed(0, "x/a x/none y/a ");
    assert_fetched("x", "web", "");
    ck_assert(objects_find(o, b, &resource, &key)); /* what is said of it has its name */
    objects_forget_read(o);
    assert_listed(0, "x/a x/b x/none y/a ");
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
    int rc = add(fixtures[_i].json, fixtures[_i].others);
    ck_assert_msg(rc == (fixtures[_i].says == NULL ? 0 : -1), "%s: %s", fixtures[_i].json, err.message);
    ck_assert_msg(rc == 0 || strstr(err.message, fixtures[_i].says) != NULL, "%s", err.message);
}

TEST(a_later_fixture_replaces_one)
{
    ck_assert_int_eq(add(pods, false), 0);
    ck_assert_int_eq(
        add("{\"pods\": [{\"metadata\": {\"name\": \"a\", \"namespace\": \"y\"}, \"spec\": {\"ports\": [1]}}]}", false),
        0);
    assert_fetched("y", "1", "y/a ");
    assert_fetched("y", "443", "");
}

TEST(the_document_of_all)
{
    ck_assert_int_eq(
        add("{\"pods\": [{\"metadata\": {\"name\": \"a\"}, \"status\": 1}, {\"metadata\": {\"name\": \"b\"}}]}", false),
        0);
    yyjson_doc *doc = fixtures_document(o, s);
    char *text = json_text_of(yyjson_doc_get_root(doc));
    ck_assert_str_eq(
        text,
        "{\"resources\":{\"pods\":[{\"metadata\":{\"name\":\"a\"}},{\"metadata\":{\"name\":\"b\"}}],\"nodes\":[]},"
        "\"extra\":{\"a\":1}}");
    free(text);
    yyjson_doc_free(doc);
}
