/* What one namespace may take of a resource. */

#include "model/cache.h"
#include "template/budget.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/set.h"

#include "../test.h"

static struct template_set *set;
static struct objects *objects;

static void begin(void)
{
    static const char text[] = "watch:\n  all: {apiVersion: v1, kind: Secret}\n"
                               "  some: {apiVersion: v1, kind: ConfigMap, namespace_bytes: 200}\nhaproxy.cfg: x\n";
    const struct template_file file = {TEMPLATE_SET_FILE, (char *)(uintptr_t)text, strlen(text)};
    set = template_set_parse(&file, 1, &flaw);
    ck_assert_msg(set != NULL, "%s", flaw.message);
    objects = objects_new(set);
}

static void end(void)
{
    objects_free(objects);
    template_set_free(set);
}

FIXTURE(begin, end)

/* 100 bytes, of that month. */
static void put(size_t resource, const char *name, unsigned month)
{
    struct template_object *o = mem_alloc(sizeof(*o));
    char *json =
        mem_printf("{\"metadata\":{\"creationTimestamp\":\"2026-%02u-01T00:00:00Z\"},\"data\":\"%*s\"}", month, 33, "");
    ck_assert_uint_eq(strlen(json), 100);
    *o = (struct template_object){mem_strdup(name), json};
    (void)cache_put(objects_cache(objects, resource), o);
}

static void add_name(void *arg, const void *object)
{
    buf_printf(arg, "%s ", ((const struct template_object *)object)->name);
}

static void check_left(size_t resource, const char *names)
{
    cleanup(buf_fini) struct buf left = {0};
    budget_apply(set, objects);
    cache_each(objects_cache(objects, resource), add_name, &left);
    ck_assert_str_eq(buf_str(&left), names);
}

TEST(the_youngest_of_a_namespace_that_has_too_much)
{
    struct rendered said = {0};
    put(1, "a/x", 9);
    put(1, "a/y", 8);
    put(1, "a/z", 2);
    put(1, "b/x", 12);
    put(1, "b/y", 11);
    put(1, "c/x", 1);
    put(1, "c/y", 2);
    put(1, "c/z", 3);
    put(1, "of none", 1);
    put(1, "of none, too", 1);
    put(1, "nor this", 1);
    budget_add_remarks(set, objects, &said);
    ck_assert_uint_eq(said.remark_count, 2);
    ck_assert(said.remarks[0].left_out && said.remarks[0].resource == 1);
    ck_assert_str_eq(said.remarks[0].key, "a/x");
    ck_assert_str_eq(said.remarks[1].key, "c/z");
    ck_assert_str_eq(said.remarks[0].text,
                     "the older some of its namespace take the 200 bytes that those of one namespace may: "
                     "watch.some.namespace_bytes of the template set");
    rendered_fini(&said);
    check_left(1, "a/y a/z b/x b/y c/x c/y nor this of none of none, too ");
}

TEST(without_a_budget)
{
    put(0, "a/x", 9);
    put(0, "a/y", 9);
    put(0, "a/z", 9);
    check_left(0, "a/x a/y a/z ");
}
