/* src/daemon/events: on any object, of which templates say something. */
#include "events_world.h"

#include "report/event_correlator.h"

static void tell(const char *namespace, const char *name, const char *uid, const char *text)
{
    const struct events_object o = {"networking.k8s.io/v1", "Ingress", namespace, name, uid};
    events_tell_about(w.events, &o, EVENT_LEFT_OUT, text);
}

FIXTURE(setup, teardown)

TEST(it_is_on_that_object)
{
    char name[] = "web", text[] = "no such host";
    tell("shop", name, "uid-1", text);
    memset(name, 'x', 3); /* it is copied */
    memset(text, 'x', 3);
    ck_assert(asked() && w.warning && !w.again);
    ck_assert_str_eq(w.namespace, "shop");
    ck_assert_str_eq(w.service, "web");
    ck_assert_str_eq(w.uid, "uid-1");
    ck_assert_str_eq(w.reason, "LeftOut");
    ck_assert_str_eq(w.message, "no such host");
    ck_assert(str_has_prefix(w.name, "web."));
    answer(EVENT_WRITTEN);
    ck_assert(!asked());
}

TEST(the_same_of_two_objects_is_two_events)
{
    tell("shop", "a", "uid-a", "no such host");
    tell("shop", "b", "uid-b", "no such host");
    tell("other", "a", "uid-c", "no such host");
    all_is_written();
    ck_assert(w.posts == 3 && w.patches == 0);
    tell("shop", "b", "uid-b", "no such host");
    ck_assert(asked() && w.again && w.count == 2);
    ck_assert_str_eq(w.service, "b");
}

TEST(of_none_of_a_namespace_it_is_in_the_default_one)
{
    tell(NULL, "node-1", "uid", "odd");
    ck_assert(asked());
    ck_assert_str_eq(w.namespace, "default");
}

static void tell_many(const char *namespace, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        cleanup(mem_free_ptr) char *name = mem_printf("i%u", i);
        tell(namespace, name, "uid", "no such host");
    }
}

/* Each has its own, as one that stands for all would stand on one of many objects; and no namespace's are another one's matter. */
TEST(many_are_not_combined_and_each_namespace_has_its_limits)
{
    tell_many("shop", CORRELATOR_MANY_BURST + 5);
    tell("other", "a", "uid", "no such host");
    ck_assert(asked() && strstr(w.message, "combined") == NULL);
    all_is_written();
    ck_assert_str_eq(w.namespace, "other");
    ck_assert_uint_eq(w.posts, CORRELATOR_MANY_BURST + 1);
    ck_assert_uint_eq(result("limited"), 5);
    pass(CORRELATOR_MANY_REFILL_MS);
    tell("shop", "later", "uid", "no such host");
    ck_assert(asked());
}

TEST(the_queue_has_an_end)
{
    tell("a", "first", "uid", "no such host");
    ck_assert(asked());
    tell_many("b", 900);
    tell_many("c", 165);
    ck_assert_uint_eq(result("dropped"), 2); /* of 1 + 1065 */
    ck_assert(logged("Kubernetes Event queue full"));
    answer(EVENT_WRITTEN);
    ck_assert(asked());
    ck_assert_str_eq(w.service, "i2"); /* the oldest two gave way, and not what was under way */
    all_is_written();
    tell("a", "first", "uid", "no such host");
    ck_assert(asked() && w.again && w.count == 2);
}

TEST(a_denial_is_that_of_its_namespace_alone)
{
    tell("shop", "a", "uid", "no such host");
    ck_assert(asked());
    answer(EVENT_DENIED);
    tell("shop", "b", "uid", "no such host");
    ck_assert(!asked());
    ck_assert_uint_eq(result("denied"), 2);
    ck_assert(logged("object=a"));
    tell("other", "a", "uid", "no such host");
    ck_assert(asked());
    answer(EVENT_WRITTEN);
    events_poke(w.events);
    tell("shop", "b", "uid", "no such host");
    ck_assert(asked());
    answer(EVENT_WRITTEN);
    in_sync_is_asked();
    ck_assert_str_eq(w.service, "web");
}

TEST(without_a_writer_nothing_happens)
{
    const struct events_object o = {"v1", "Pod", "a", "b", NULL};
    events_tell_about(NULL, &o, EVENT_LEFT_OUT, "x");
}
