/* From a kind to the path that is watched. */

#include "kube/discovery.h"

#include "../test.h"

#define VERBS "\"verbs\":[\"get\",\"list\",\"watch\"]"
/* As API servers answer, but for what is not read. */
static const char list[] =
    "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\",\"resources\":["
    "{\"name\":\"pods/status\",\"singularName\":\"\",\"namespaced\":true,\"kind\":\"Pod\",\"verbs\":[\"get\"]},"
    "{\"name\":\"pods\",\"singularName\":\"pod\",\"namespaced\":true,\"kind\":\"Pod\"," VERBS "},"
    "{\"name\":\"nodes\",\"singularName\":\"node\",\"namespaced\":false,\"kind\":\"Node\"," VERBS "},"
    "{\"name\":\"bindings\",\"singularName\":\"\",\"namespaced\":true,\"kind\":\"Binding\",\"verbs\":[\"create\"]},"
    "{\"name\":7,\"kind\":\"Seven\"}]}";

TEST(paths)
{
    cleanup(mem_free_ptr) char *core = discovery_path("v1"), *other = discovery_path("networking.k8s.io/v1");
    ck_assert_str_eq(core, "/api/v1");
    ck_assert_str_eq(other, "/apis/networking.k8s.io/v1");
}

static const struct {
    const char *kind, *plural; /* asked for */
    const char *is, *path;     /* found */
    bool namespaced;
} found[] = {{"Pod", NULL, "Pod", "pods", true},
             {"Node", NULL, "Node", "nodes", false},
             {NULL, "pods", "Pod", "pods", true},
             {"Pod", "elsewhere", "Pod", "pods", true}};

TEST_EACH(by_its_kind_or_its_plural, array_len(found))
{
    struct discovered d = {0};
    ck_assert_int_eq(discovery_decode(list, strlen(list), found[_i].kind, found[_i].plural, &d, &flaw), 0);
    ck_assert_str_eq(d.kind, found[_i].is);
    ck_assert_str_eq(d.plural, found[_i].path);
    ck_assert_int_eq(d.namespaced, found[_i].namespaced);
    discovered_fini(&d);
}

static const struct {
    const char *json, *kind;
    enum error_kind is;
    const char *says;
} refused[] = {{list, "Ingress", ERROR_GONE, "there is no Ingress in it"},
               {list, "pods", ERROR_GONE, "there is no pods in it"},
               {list, "Binding", ERROR_INVALID, "bindings cannot be watched"},
               {list, "Seven", ERROR_GONE, "there is no Seven"},
               {"{\"resources\":null}", "Pod", ERROR_GONE, "there is no Pod"},
               {"{\"resources\":{}}", "Pod", ERROR_INVALID, "resources is an object, not an array"},
               {"[]", "Pod", ERROR_INVALID, "the list of resources is an array"},
               {"<html>", "Pod", ERROR_INVALID, "the list of resources"}};

TEST_EACH(what_is_not_there_is_said, array_len(refused))
{
    struct discovered d = {0};
    ck_assert_int_eq(discovery_decode(refused[_i].json, strlen(refused[_i].json), refused[_i].kind, NULL, &d, &flaw),
                     -1);
    ck_assert_msg(strstr(flaw.message, refused[_i].says) != NULL, "%s", flaw.message);
    ck_assert_int_eq(flaw.kind, refused[_i].is);
    ck_assert(d.plural == NULL);
}
