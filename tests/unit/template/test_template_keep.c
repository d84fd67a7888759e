/* src/template/keep: what is kept of an object. */

#include "set_text.h"
#include "template/keep.h"
#include "template/objects.h"

#define IDENTITY "\"apiVersion\":\"v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"a\",\"namespace\":\"x\""

static const char object[] = "{\"apiVersion\":\"v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"a\",\"namespace\":\"x\","
                             "\"managedFields\":[1],\"labels\":{\"l\":1},"
                             "\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\",\"b\":2}},"
                             "\"spec\":{\"list\":[{\"p\":1,\"q\":2},{\"p\":3,\"q\":4}],\"words\":[\"s\",\"t\"],\"m\":{"
                             "\"k\":{\"p\":5,\"q\":6}},\"text\":\"u\"}}";

static const struct {
    const char *how, *kept; /* the rows of the watch; what is kept, without IDENTITY where it begins so */
} rows[] = {
    {"", "{" IDENTITY
         ",\"labels\":{\"l\":1},\"annotations\":{\"b\":2}},\"spec\":{\"list\":[{\"p\":1,\"q\":2},{\"p\":3,\"q\":4}],"
         "\"words\":[\"s\",\"t\"],\"m\":{\"k\":{\"p\":5,\"q\":6}},\"text\":\"u\"}}"},
    {"keep: [spec.text]", "{" IDENTITY "},\"spec\":{\"text\":\"u\"}}"},
    {"keep: [metadata.labels, spec.absent, absent.too]", "{" IDENTITY ",\"labels\":{\"l\":1}},\"spec\":{}}"},
    {"keep: ['spec.list[*].p']", "{" IDENTITY "},\"spec\":{\"list\":[{\"p\":1},{\"p\":3}]}}"},
    {"keep: ['spec.list[1].p']", "{" IDENTITY "},\"spec\":{\"list\":[{},{\"p\":3}]}}"},
    {"keep: ['spec.list[1]']", "{" IDENTITY "},\"spec\":{\"list\":[{},{\"p\":3,\"q\":4}]}}"},
    {"keep: ['spec.list[0].q', 'spec.list[*].p']", "{" IDENTITY "},\"spec\":{\"list\":[{\"q\":2,\"p\":1},{\"p\":3}]}}"},
    {"keep: ['spec.list[0].q', spec.list]",
     "{" IDENTITY "},\"spec\":{\"list\":[{\"p\":1,\"q\":2},{\"p\":3,\"q\":4}]}}"},
    {"keep: ['spec.words[1]']", "{" IDENTITY "},\"spec\":{\"words\":[null,\"t\"]}}"},
    {"keep: ['spec.words[*].x']", "{" IDENTITY "},\"spec\":{\"words\":[null,null]}}"},
    {"keep: ['spec.m[*].p']", "{" IDENTITY "},\"spec\":{\"m\":{\"k\":{\"p\":5}}}}"},
    {"keep: [spec.text.x]", "{" IDENTITY "},\"spec\":{}}"}, /* where the path goes on and the object does not */
    {"keep: [spec.list.p]", "{" IDENTITY "},\"spec\":{\"list\":[]}}"},
    {"keep: [spec.text, spec.m.k.q], drop: [spec.text]", "{" IDENTITY "},\"spec\":{\"m\":{\"k\":{\"q\":6}}}}"},
    {"keep: [spec], drop: ['spec.list[*].p', spec.words, spec.m, spec.text]",
     "{" IDENTITY "},\"spec\":{\"list\":[{\"q\":2},{\"q\":4}]}}"},
    {"keep: [spec.words], drop: ['spec.words[0]']", "{" IDENTITY "},\"spec\":{\"words\":[null,\"t\"]}}"},
    {"keep: [spec.words], drop: ['spec.words[2]']", "{" IDENTITY "},\"spec\":{\"words\":[\"s\",\"t\"]}}"},
    {"keep: [spec.words, spec.m], drop: ['spec.words[*]', 'spec.m[*]']",
     "{" IDENTITY "},\"spec\":{\"words\":[],\"m\":{}}}"},
    {"keep: [spec.list], drop: ['spec.list[1].p']",
     "{" IDENTITY "},\"spec\":{\"list\":[{\"p\":1,\"q\":2},{\"q\":4}]}}"},
    {"keep: [spec.m], drop: ['spec.m[*].p']", "{" IDENTITY "},\"spec\":{\"m\":{\"k\":{\"q\":6}}}}"},
    {"keep: [spec.absent], drop: [metadata.labels, spec.absent.x, metadata.name.x]", "{" IDENTITY "},\"spec\":{}}"},
    {"drop: [spec, metadata, kind]",
     "{\"apiVersion\":\"v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"a\",\"namespace\":\"x\"}}"},
};

TEST_EACH(what_is_kept, array_len(rows))
{
    char *yaml = mem_printf("watch:\n  r: {apiVersion: v1, kind: K, %s}\n", rows[_i].how);
    struct template_set *s = good_set(yaml);
    yyjson_doc *doc = yyjson_read(object, strlen(object), 0);
    struct template_object *o = template_keep(&s->watches[0], yyjson_doc_get_root(doc), &flaw);
    ck_assert_msg(o != NULL, "%s", flaw.message);
    ck_assert_str_eq(o->name, "x/a");
    ck_assert_str_eq(o->json, rows[_i].kept);
    record_free(&template_object_record, o);
    yyjson_doc_free(doc);
    template_set_free(s);
    free(yaml);
}

static const struct {
    const char *json, *says; /* NULL: it is one, called n */
} others[] = {
    {"{\"metadata\":{\"name\":\"n\"}}", NULL},
    {"{\"metadata\":{\"name\":\"n\",\"namespace\":\"\"}}", NULL},
    {"[]", "it is an array"},
    {"{}", "name"},
    {"{\"metadata\":{}}", "name"},
    {"{\"metadata\":{\"name\":\"\"}}", "name"},
    {"{\"metadata\":{\"name\":5}}", "name"},
    {"{\"metadata\":{\"name\":\"n\",\"namespace\":5}}", "namespace"},
    {"{\"metadata\":[]}", "metadata"},
};

TEST_EACH(what_is_an_object, array_len(others))
{
    struct template_set *s = good_set("watch:\n  r: {apiVersion: v1, kind: K}\n");
    yyjson_doc *doc = yyjson_read(others[_i].json, strlen(others[_i].json), 0);
    struct template_object *o = template_keep(&s->watches[0], yyjson_doc_get_root(doc), &flaw);
    ck_assert_msg((o == NULL) == (others[_i].says != NULL), "%s: %s", others[_i].json, flaw.message);
    if (o != NULL) {
        ck_assert_str_eq(o->name, "n");
        record_free(&template_object_record, o);
    } else {
        ck_assert_msg(flaw.kind == ERROR_INVALID && strstr(flaw.message, others[_i].says) != NULL, "%s", flaw.message);
    }
    yyjson_doc_free(doc);
    template_set_free(s);
}
