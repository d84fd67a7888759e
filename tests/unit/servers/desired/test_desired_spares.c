/* servers/desired/desired: the nodes that get a line though nothing of the Service is on them (PARK_NODES). */
#include "mapping_text.h"

#define NODES "node n1 10.0.0.1\nnode n2 10.0.0.2\nnode n3 10.0.0.3\n"
#define LOCAL "service web NodePort Local http/80/30080\n" NODES
#define CLUSTER "service web NodePort Cluster http/80/30080\n" NODES
#define ON_N1 "slice a http/80 : 10.244.1.1@n1"
#define HOST_N1 "slice a http/80 : 10.0.0.1@n1"

static const struct {
    const char *rule, *objects, *settings, *spares;
} rows[] = {
    {"only where it is asked for", LOCAL ON_N1, "", ""},
    {"each other node, by name", LOCAL "node n0 10.0.0.9\n" ON_N1, "park",
     "n0 10.0.0.9 30080 out; n2 10.0.0.2 30080 out; n3 10.0.0.3 30080 out"},
    {"with policy Cluster too", CLUSTER ON_N1, "park", "n2 10.0.0.2 30080 out; n3 10.0.0.3 30080 out"},
    {"with mode all there is no other node", CLUSTER ON_N1, "park mode=all", ""},
    {"with mode all that has no effect there are", LOCAL ON_N1, "park mode=all",
     "n2 10.0.0.2 30080 out; n3 10.0.0.3 30080 out"},
    {"not one that drains", LOCAL "slice a http/80 : 10.244.1.1@n1 10.244.1.2@n2=leaving", "park",
     "n3 10.0.0.3 30080 out"},
    {"but one whose drain is over, and one that is not ready",
     LOCAL "slice a http/80 : 10.244.1.1@n1 10.244.1.2@n2=leaving 10.244.1.3@n3=no", "park drain=0",
     "n2 10.0.0.2 30080 out; n3 10.0.0.3 30080 out"},
    {"not one that may have no server",
     LOCAL "node n4 10.0.0.4 !excluded\nnode n5 10.0.0.5 !doomed\nnode n6 10.0.0.6 !deleting\nnode n7 10.0.0.7 "
           "!cordoned\nnode n8 10.0.0.8 !notready\n" ON_N1,
     "park", "n2 10.0.0.2 30080 out; n3 10.0.0.3 30080 out; n7 10.0.0.7 30080 out; n8 10.0.0.8 30080 out"},
    {"not one without an address that is asked for", LOCAL "node n4\nnode n5 fd00::5\nnode n6 ext=1.2.3.4\n" ON_N1,
     "park family=IPv4", "n2 10.0.0.2 30080 out; n3 10.0.0.3 30080 out"},
    {"nor one whose family the Service lacks",
     "service web NodePort Local http/80/30080 v6\nnode n1 fd00::1\nnode n2 10.0.0.2\nnode n3 fd00:0:0::3\n"
     "slice a http/80 : fd01::1@n1",
     "park", "n3 fd00::3 30080 out"},
    {"the port of HAPROXY_BACKEND_PORT", LOCAL ON_N1, "park port=9443", "n2 10.0.0.2 9443 out; n3 10.0.0.3 9443 out"},
    {"where each has its own, that of the first", NODES "slice a http/80 : 10.0.0.3@n3\nslice b http/81 : 10.0.0.2@n2",
     "park", "n1 10.0.0.1 81 out"},
    {"weights: equal", NODES HOST_N1, "park weights=equal", "n2 10.0.0.2 80 out w100; n3 10.0.0.3 80 out w100"},
    {"weights: there is nothing to count", LOCAL ON_N1, "park weights=endpoints",
     "n2 10.0.0.2 30080 out; n3 10.0.0.3 30080 out"},
    {"none where nothing can be used", LOCAL "slice a http/80 : 10.244.1.1@n1=no", "park", ""},
    {"none while it is undecided", NODES "slice a http/80 https/443 : 10.0.0.1@n1", "park", ""},
    {"not the name that a server has", NODES "node a#b 10.0.1.1\nnode a/b 10.0.1.2\nslice a http/80 : 10.0.1.2@a/b",
     "park", "n1 10.0.0.1 80 out; n2 10.0.0.2 80 out; n3 10.0.0.3 80 out"},
    {"of two with one server name the first", "node a#b 10.0.1.1\nnode a/b 10.0.1.2\nnode n1 10.0.0.1\n" HOST_N1,
     "park", "a_b 10.0.1.1 80 out"},
    {"of these one that may", "node a#b 10.0.1.1 !excluded\nnode a/b 10.0.1.2\nnode n1 10.0.0.1\n" HOST_N1, "park",
     "a_b 10.0.1.2 80 out"},
    {"by the server's name, not the node's", "node a~ 10.0.1.1\nnode aa 10.0.1.2\nnode n1 10.0.0.1\n" HOST_N1, "park",
     "a_ 10.0.1.1 80 out; aa 10.0.1.2 80 out"},
    {"an endpoint without a node is no node", NODES "slice a http/80 : 10.0.0.1@n1 10.9.9.9=no", "park",
     "n2 10.0.0.2 80 out; n3 10.0.0.3 80 out"},
};

TEST_EACH(every_rule, array_len(rows))
{
    struct mapping_text m;
    struct desired d;
    text_mapping(&m, rows[_i].objects, rows[_i].settings);
    desired_compute(&m.in, &d);
    cleanup(mem_free_ptr) char *spares = text_of_spares(&d);
    ck_assert_msg(strcmp(spares, rows[_i].spares) == 0, "%s:\n  have %s\n  want %s", rows[_i].rule, spares,
                  rows[_i].spares);
    desired_fini(&d);
    text_mapping_close(&m);
}

TEST(why_it_is_spare)
{
    struct mapping_text m;
    struct desired d;
    text_mapping(&m, LOCAL ON_N1, "park");
    desired_compute(&m.in, &d);
    cleanup(mem_free_ptr) char *reason = desired_server_reason(&d, &d.spares[0]);
    ck_assert_str_eq(reason, "no usable endpoint on node n2; its line waits for one (PARK_NODES)");
    desired_fini(&d);
    text_mapping_close(&m);
}

/* Whatever the order of the nodes' names is: the limit keeps the first by server name, and drops what it had taken. */
TEST(the_first_of_many)
{
    struct mapping_text m;
    struct desired d;
    text_mapping(&m, "node n1 10.0.0.1\n" HOST_N1, "park");
    for (unsigned i = 0; i < 200; i++) {
        /* Of the nodes the odd ones come first, of their servers (_) the even ones. */
        cleanup(mem_free_ptr) char *line = mem_printf("node m%c%03u 10.1.0.%u", i % 2 == 0 ? '~' : 'a', i, i);
        text_put(&m.caches, line);
    }
    desired_compute(&m.in, &d);
    ck_assert_uint_eq(d.spare_count, DESIRED_SPARES_MAX);
    for (unsigned i = 0; i < DESIRED_SPARES_MAX; i++) {
        cleanup(mem_free_ptr) char *name = mem_printf("m_%03u", i * 2);
        ck_assert_str_eq(d.spares[i].name, name);
    }
    desired_fini(&d);
    text_mapping_close(&m);
}

static void compute(const char *objects, const char *settings, struct desired *ret)
{
    struct mapping_text m;
    text_mapping(&m, objects, settings);
    desired_compute(&m.in, ret);
    text_mapping_close(&m);
}

TEST(spares_make_a_difference_and_are_copied)
{
    static const struct {
        const char *objects, *settings;
    } states[] = {
        {LOCAL ON_N1, ""},
        {LOCAL ON_N1, "park"},
        {LOCAL "node n4 10.0.0.4\n" ON_N1, "park"},
        {LOCAL "node n3 10.0.0.4\n" ON_N1, "park"},
        {"service web NodePort Local http/80/30080\nnode n1 10.0.0.1\nnode n2 10.0.0.2\nnode n4 10.0.0.3\n" ON_N1,
         "park"},
        {LOCAL ON_N1, "park port=30081"},
        {LOCAL ON_N1, "park weights=equal"},
    };
    struct desired d[array_len(states)], copy;
    for (size_t i = 0; i < array_len(states); i++)
        compute(states[i].objects, states[i].settings, &d[i]);
    for (size_t i = 0; i < array_len(states); i++) {
        desired_copy(&copy, &d[i]);
        for (size_t j = 0; j < array_len(states); j++)
            ck_assert_msg(desired_eq(&copy, &d[j]) == (i == j), "%zu and %zu", i, j);
        for (size_t k = 0; k < d[i].spare_count; k++) {
            cleanup(mem_free_ptr) char *is = desired_server_reason(&copy, &copy.spares[k]),
                                       *was = desired_server_reason(&d[i], &d[i].spares[k]);
            ck_assert(strstr(is, "no usable endpoint") != NULL && strcmp(is, was) == 0);
        }
        desired_fini(&copy);
    }
    for (size_t i = 0; i < array_len(states); i++)
        desired_fini(&d[i]);
}

/* Each holder frees its own reference, the last one the whole (leaks and uses after it are the sanitizer's to find). */
TEST(one_for_all_who_hold_it)
{
    struct desired d;
    compute(LOCAL ON_N1, "park", &d);
    const struct desired_server *servers = d.servers;
    const struct desired *first = desired_share(&d), *second = desired_ref(first);
    ck_assert_msg(d.server_count == 0 && d.servers == NULL, "it was taken over");
    ck_assert_msg(second == first && second->servers == servers, "nothing was copied");
    struct desired copy;
    desired_copy(&copy, second);
    desired_unref(first);
    cleanup(mem_free_ptr) char *text = text_of_servers(second);
    ck_assert_ptr_nonnull(strstr(text, "n1 "));
    ck_assert(desired_eq(second, &copy));
    desired_unref(second);
    desired_unref(NULL);
    const struct desired *of_copy = desired_share(&copy); /* its count is its own */
    desired_unref_ptr(&of_copy);
}

TEST(a_copy_has_the_skips)
{
    struct desired d, copy;
    compute(LOCAL "slice a http/80 : 10.244.1.1@n1 10.244.1.2@n2=no 10.244.1.3@n3=gone 10.244.1.7@n7", "", &d);
    desired_copy(&copy, &d);
    cleanup(mem_free_ptr) char *was = text_of_skips(&d);
    desired_fini(&d);
    cleanup(mem_free_ptr) char *is = text_of_skips(&copy);
    ck_assert_str_eq(is, was);
    ck_assert(desired_why_out(&copy, "n3")->announced);
    ck_assert_ptr_null(desired_find_spare(&copy, "n2"));
    desired_fini(&copy);
}
