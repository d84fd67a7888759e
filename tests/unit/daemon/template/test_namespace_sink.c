/* The objects of one namespace, in a cache that has those of others, too. */

#include "daemon/template/namespace_sink.h"
#include "model/cache.h"
#include "template/objects.h"

#include "../../test.h"

static struct cache *cache;
static struct namespace_sink *sinks[2];
static struct informer_sink a, b;

static void setup(void)
{
    cache = cache_new(&template_object_record);
    sinks[0] = namespace_sink_new(cache, "a");
    sinks[1] = namespace_sink_new(cache, "b");
    a = namespace_sink_of(sinks[0]);
    b = namespace_sink_of(sinks[1]);
}

static void teardown(void)
{
    namespace_sink_free(sinks[0]);
    namespace_sink_free(sinks[1]);
    cache_free(cache);
}

static bool take(struct informer_sink *s, enum sink_step step, void *object, const char *name, size_t *ret_count)
{
    struct sink_change change = {.step = step, .object = object, .name = name};
    size_t unused;
    return s->take(s->arg, &change, ret_count != NULL ? ret_count : &unused);
}

static bool put(struct informer_sink *s, const char *name, const char *json)
{
    struct template_object *o = mem_alloc(sizeof(*o));
    *o = (struct template_object){mem_strdup(name), mem_strdup(json)};
    return take(s, SINK_PUT, o, NULL, NULL);
}

static void add_name(void *arg, const void *object)
{
    const struct template_object *o = object;
    buf_printf(arg, "%s ", o->name);
}

static void assert_there(const char *names)
{
    cleanup(buf_fini) struct buf out = {0};
    buf_add(&out, "");
    cache_each(cache, add_name, &out);
    ck_assert_str_eq(buf_str(&out), names);
}

/* A complete list; "": none of it. */
static bool list(struct informer_sink *s, const char *one, const char *two, size_t count)
{
    size_t got = 99;
    take(s, SINK_BEGIN, NULL, NULL, NULL);
    if (one[0] != '\0')
        put(s, one, "{}");
    if (two[0] != '\0')
        put(s, two, "{}");
    bool changed = take(s, SINK_END, NULL, NULL, &got);
    ck_assert_uint_eq(got, count);
    return changed;
}

FIXTURE(setup, teardown)

TEST(a_list_takes_the_place_of_its_own_namespace_alone)
{
    ck_assert(list(&a, "a/x", "a/y", 2));
    ck_assert(list(&b, "b/x", "", 1));
    assert_there("a/x a/y b/x ");
    ck_assert(list(&a, "a/y", "", 1));
    assert_there("a/y b/x ");
    ck_assert(!list(&a, "a/y", "", 1)); /* the same again */
    ck_assert(list(&a, "", "", 0));
    assert_there("b/x ");
}

TEST(the_first_list_is_news_if_it_is_empty)
{
    ck_assert(list(&a, "", "", 0));
    ck_assert(!list(&a, "", "", 0));
    take(&a, SINK_FORGET, NULL, NULL, NULL);
    ck_assert(list(&a, "", "", 0));
}

TEST(changes_say_whether_they_are_some)
{
    list(&a, "a/x", "", 1);
    ck_assert(!put(&a, "a/x", "{}"));
    ck_assert(put(&a, "a/x", "{\"n\":1}"));
    ck_assert(take(&a, SINK_REMOVE, NULL, "a/x", NULL));
    ck_assert(!take(&a, SINK_REMOVE, NULL, "a/x", NULL));
    assert_there("");
}

TEST(what_cannot_be_read_stays)
{
    size_t got;
    list(&a, "a/x", "a/y", 2);
    take(&a, SINK_BEGIN, NULL, NULL, NULL);
    take(&a, SINK_KEEP, NULL, "a/x", NULL);
    ck_assert(take(&a, SINK_END, NULL, NULL, &got));
    assert_there("a/x ");
}

TEST(an_aborted_list_takes_nothing_away)
{
    list(&a, "a/x", "a/y", 2);
    take(&a, SINK_BEGIN, NULL, NULL, NULL);
    put(&a, "a/x", "{}");
    take(&a, SINK_ABORT, NULL, NULL, NULL);
    assert_there("a/x a/y ");
    take(&a, SINK_BEGIN, NULL, NULL, NULL); /* one that begins again starts from nothing */
    put(&a, "a/x", "{}");
    ck_assert(list(&a, "a/y", "", 1));
    assert_there("a/y ");
}

TEST(what_goes_within_a_list_is_gone)
{
    size_t got;
    take(&a, SINK_BEGIN, NULL, NULL, NULL);
    put(&a, "a/x", "{}");
    take(&a, SINK_REMOVE, NULL, "a/x", NULL);
    take(&a, SINK_END, NULL, NULL, &got);
    assert_there("");
}

TEST(forgotten_are_those_of_the_namespace)
{
    list(&a, "a/x", "", 1);
    list(&b, "b/x", "", 1);
    take(&a, SINK_FORGET, NULL, NULL, NULL);
    assert_there("b/x ");
}
