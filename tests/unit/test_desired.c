#include <check.h>

#include "model_text.h"

/* The rules, one row each: what is in the cache, the fixed port -> servers, what was left out and why, the problem. */
struct row {
    const char *rule;
    const char *objects;
    uint16_t fixed_port;
    enum desired_state state;
    const char *servers;
    const char *skips;
    const char *problem; /* NULL: none */
};

#define NODES "node n1 10.0.0.1\nnode n2 10.0.0.2\nnode n3 10.0.0.3\n"
#define SET_PORT "HAPROXY_BACKEND_PORT is not set and "

static const struct row rows[] = {
    {"a server for each node with a ready endpoint, ordered by name", NODES "slice a http/80 : 10.0.0.3@n3 10.0.0.1@n1",
     0, DESIRED_OK, "n1 10.0.0.1 80; n3 10.0.0.3 80", "", NULL},
    {"the fixed port is every server's, whatever the endpoint's is",
     NODES "slice a http/80 : 10.244.1.7@n1 10.0.0.2@n2", 30080, DESIRED_OK, "n1 10.0.0.1 30080; n2 10.0.0.2 30080", "",
     NULL},
    {"a fixed port decides between several", NODES "slice a http/80 https/443 : 10.244.1.7@n1", 30443, DESIRED_OK,
     "n1 10.0.0.1 30443", "", NULL},
    {"a fixed port needs none of the endpoint's own", NODES "slice a : 10.244.1.7@n1", 30443, DESIRED_OK,
     "n1 10.0.0.1 30443", "", NULL},
    {"two pods on a node are one server", NODES "slice a http/80 : 10.244.1.7@n1 10.244.1.8@n1", 30080, DESIRED_OK,
     "n1 10.0.0.1 30080", "", NULL},
    {"union over slices", NODES "slice a http/80 : 10.0.0.1@n1\nslice b http/80 : 10.0.0.2@n2", 0, DESIRED_OK,
     "n1 10.0.0.1 80; n2 10.0.0.2 80", "", NULL},
    {"an endpoint in two slices, ready in one: ready",
     NODES "slice a http/80 : 10.0.0.1@n1=no\nslice b http/80 : 10.0.0.1@n1", 0, DESIRED_OK, "n1 10.0.0.1 80", "",
     NULL},
    {"the same, the other way round", NODES "slice a http/80 : 10.0.0.1@n1\nslice b http/80 : 10.0.0.1@n1=gone", 0,
     DESIRED_OK, "n1 10.0.0.1 80", "", NULL},
    {"a ready pod makes its node serve, whatever the node's other pods are",
     NODES "slice a http/80 : 10.244.1.7@n1=no 10.244.1.8@n1 10.244.1.9@n1=leaving", 30080, DESIRED_OK,
     "n1 10.0.0.1 30080", "", NULL},
    {"not ready: no server", NODES "slice a http/80 : 10.0.0.1@n1=no 10.0.0.2@n2", 0, DESIRED_OK, "n2 10.0.0.2 80",
     "~endpoint 10.0.0.1 of slice a: it is not ready", NULL},
    {"terminating ones are left as soon as one is ready anywhere in the Service",
     NODES "slice a http/80 : 10.0.0.1@n1=leaving\nslice b http/80 : 10.0.0.2@n2", 0, DESIRED_OK, "n2 10.0.0.2 80",
     "~endpoint 10.0.0.1 of slice a: it is terminating, and others are ready", NULL},
    {"none ready: serving and terminating ones serve, the rest does not",
     NODES "slice a http/80 : 10.0.0.1@n1=leaving 10.0.0.2@n2=gone\nslice b http/80 : 10.0.0.3@n3=no", 0, DESIRED_OK,
     "n1 10.0.0.1 80",
     "~endpoint 10.0.0.2 of slice a: it is terminating\n~endpoint 10.0.0.3 of slice b: it is not ready", NULL},
    {"none ready, none serving", NODES "slice a http/80 : 10.0.0.1@n1=gone 10.0.0.2@n2=no", 0, DESIRED_EMPTY, "",
     "~endpoint 10.0.0.1 of slice a: it is terminating\n~endpoint 10.0.0.2 of slice a: it is not ready",
     "none of the Service's 2 endpoints is ready"},
    {"none ready: serving alone is not enough", NODES "slice a http/80 : 10.0.0.1@n1=odd 10.0.0.2@n2=leaving", 0,
     DESIRED_OK, "n2 10.0.0.2 80", "~endpoint 10.0.0.1 of slice a: it is not ready", NULL},
    {"what is left out is told by the name of the node", NODES "slice a http/80 : 10.0.0.8@n8 10.0.0.7@n7 10.0.0.1@n1",
     0, DESIRED_OK, "n1 10.0.0.1 80",
     "endpoint 10.0.0.7 of slice a: its node n7 is not known\nendpoint 10.0.0.8 of slice a: its node n8 is not known",
     NULL},
    {"of an unknown node's endpoints a usable one is named", "slice a http/80 : 10.244.7.1@n7=no 10.244.7.2@n7", 0,
     DESIRED_EMPTY, "", "endpoint 10.244.7.2 of slice a: its node n7 is not known",
     "none of the Service's 2 endpoints can be used; endpoint 10.244.7.2 of slice a: its node n7 is not known"},
    {"an unknown node is skipped", NODES "slice a http/80 : 10.0.0.1@n1 10.0.0.7@n7", 0, DESIRED_OK, "n1 10.0.0.1 80",
     "endpoint 10.0.0.7 of slice a: its node n7 is not known", NULL},
    {"only unknown nodes", NODES "slice a http/80 : 10.0.0.7@n7 10.0.0.8@n8", 0, DESIRED_EMPTY, "",
     "endpoint 10.0.0.7 of slice a: its node n7 is not known\nendpoint 10.0.0.8 of slice a: its node n8 is not known",
     "none of the Service's 2 endpoints can be used; endpoint 10.0.0.7 of slice a: its node n7 is not known"},
    {"a ready endpoint on an unknown node is still a ready one: terminating ones stay out",
     NODES "slice a http/80 : 10.0.0.1@n1=leaving 10.0.0.7@n7", 0, DESIRED_EMPTY, "",
     "~endpoint 10.0.0.1 of slice a: it is terminating, and others are ready\n"
     "endpoint 10.0.0.7 of slice a: its node n7 is not known",
     "none of the Service's 2 endpoints can be used; endpoint 10.0.0.7 of slice a: its node n7 is not known"},
    {"a node is skipped once, however many of its endpoints there are",
     NODES "slice a http/80 : 10.0.0.1@n1 10.244.7.1@n7 10.244.7.2@n7\nslice b http/80 : 10.244.7.3@n7", 30080,
     DESIRED_OK, "n1 10.0.0.1 30080", "endpoint 10.244.7.1 of slice a: its node n7 is not known", NULL},
    {"a node without InternalIP is skipped", NODES "node n7\nslice a http/80 : 10.0.0.1@n1 10.0.0.7@n7", 0, DESIRED_OK,
     "n1 10.0.0.1 80", "endpoint 10.0.0.7 of slice a: its node n7 has no InternalIP", NULL},
    {"a node whose InternalIP is none is skipped",
     NODES "node n7 node7.example\nslice a http/80 : 10.0.0.1@n1 10.0.0.7@n7", 0, DESIRED_OK, "n1 10.0.0.1 80",
     "endpoint 10.0.0.7 of slice a: the InternalIP of its node n7 is no IP address: node7.example", NULL},
    {"the node's own address is the server's, not the endpoint's",
     "node n1 192.168.7.1\nslice a http/80 : 10.244.1.7@n1", 30080, DESIRED_OK, "n1 192.168.7.1 30080", "", NULL},

    {"no node name: name and address are the endpoint's IP, the port its own", "slice a http/8080 : 10.9.9.9", 0,
     DESIRED_OK, "10.9.9.9 10.9.9.9 8080", "", NULL},
    {"no node name, fixed port", "slice a http/8080 : 10.9.9.9", 30080, DESIRED_OK, "10.9.9.9 10.9.9.9 30080", "",
     NULL},
    {"no node name, one address in two spellings: one server",
     "slice a http/8080 : FD00:0::1\nslice b http/8080 : fd00::1", 0, DESIRED_OK, "fd00::1 fd00::1 8080", "", NULL},
    {"no node name and no IP", "slice a http/8080 : db.example 10.9.9.9", 0, DESIRED_OK, "10.9.9.9 10.9.9.9 8080",
     "endpoint db.example of slice a: its address is no IP address", NULL},
    {"a node that is named like another endpoint's address: the node wins",
     "node 10.9.9.9 10.0.0.1\nslice a http/80 : 10.9.9.9 10.0.0.1@10.9.9.9", 0, DESIRED_OK, "10.9.9.9 10.0.0.1 80",
     "endpoint 10.9.9.9 of slice a: the server name 10.9.9.9 of 10.9.9.9 is that of 10.9.9.9 already", NULL},

    {"several ports: undecided, the ports by number", NODES "slice a https/443 http/80 : 10.0.0.1@n1", 0,
     DESIRED_UNDECIDED, "", "",
     SET_PORT "Service has 2 ports (http 80, https 443): set HAPROXY_BACKEND_PORT to the NodePort"},
    {"several ports over several slices", NODES "slice a http/80 : 10.0.0.1@n1\nslice b https/443 : 10.0.0.1@n1", 0,
     DESIRED_UNDECIDED, "", "",
     SET_PORT "Service has 2 ports (http 80, https 443): set HAPROXY_BACKEND_PORT to the NodePort"},
    {"several ports are undecided with no endpoint at all: it does not flap", NODES "slice a http/80 https/443 :", 0,
     DESIRED_UNDECIDED, "", "",
     SET_PORT "Service has 2 ports (http 80, https 443): set HAPROXY_BACKEND_PORT to the NodePort"},
    {"two ports without names in one slice", NODES "slice a /80 /443 : 10.0.0.1@n1", 0, DESIRED_UNDECIDED, "", "",
     SET_PORT "Service has 2 ports (80, 443): set HAPROXY_BACKEND_PORT to the NodePort"},
    {"many ports: some are shown", NODES "slice a a/1 b/2 c/3 d/4 e/5 f/6 g/7 h/8 i/9 : 10.0.0.1@n1", 0,
     DESIRED_UNDECIDED, "", "",
     SET_PORT
     "Service has more than 8 ports (a 1, b 2, c 3, d 4, e 5, f 6, g 7, h 8, ...): set HAPROXY_BACKEND_PORT to "
     "the NodePort"},
    {"one port name with a number of its own in each slice is one port",
     NODES "slice a http/80 : 10.0.0.1@n1\nslice b http/8080 : 10.0.0.2@n2", 0, DESIRED_OK,
     "n1 10.0.0.1 80; n2 10.0.0.2 8080", "", NULL},
    {"two numbers on one node: the lower one", NODES "slice a http/8080 : 10.0.0.1@n1\nslice b http/80 : 10.0.0.1@n1",
     0, DESIRED_OK, "n1 10.0.0.1 80", "", NULL},
    {"the same, the lower one first", NODES "slice a http/80 : 10.0.0.1@n1\nslice b http/8080 : 10.0.0.1@n1", 0,
     DESIRED_OK, "n1 10.0.0.1 80", "", NULL},
    {"not on host network: the port is not the node's", NODES "slice a http/80 : 10.0.0.1@n1 10.244.2.7@n2", 0,
     DESIRED_UNDECIDED, "", "",
     SET_PORT "endpoint 10.244.2.7 with port 80 is not at the address of its node n2, 10.0.0.2 (it is not on host "
              "network, so that port is not the node's): set HAPROXY_BACKEND_PORT to the NodePort"},
    {"a host network pod speaks for its node, though another pod there is not",
     NODES "slice a http/80 : 10.244.1.7@n1 10.0.0.1@n1", 0, DESIRED_OK, "n1 10.0.0.1 80", "", NULL},
    {"an unusable host network pod does not", NODES "slice a http/80 : 10.244.1.7@n1 10.0.0.1@n1=no", 0,
     DESIRED_UNDECIDED, "", "",
     SET_PORT "endpoint 10.244.1.7 with port 80 is not at the address of its node n1, 10.0.0.1 (it is not on host "
              "network, so that port is not the node's): set HAPROXY_BACKEND_PORT to the NodePort"},
    {"no ports at all", NODES "slice a : 10.0.0.1@n1", 0, DESIRED_UNDECIDED, "", "",
     SET_PORT "endpoint 10.0.0.1 has no port of its own: set HAPROXY_BACKEND_PORT to the port that HAProxy shall "
              "connect to"},
    {"no port here, one there (a named targetPort that only some pods have)",
     NODES "slice a : 10.0.0.1@n1\nslice b http/80 : 10.0.0.2@n2", 0, DESIRED_OK, "n2 10.0.0.2 80",
     "endpoint 10.0.0.1 of slice a: it has no port, unlike others, and HAPROXY_BACKEND_PORT is not set", NULL},

    {"IPv6", "node n1 fd00::a\nslice a http/80 : fd00::a@n1", 0, DESIRED_OK, "n1 fd00::a 80", "", NULL},
    {"IPv6 in two spellings is host network still", "node n1 FD00:0:0::A\nslice a http/80 : fd00::a@n1", 0, DESIRED_OK,
     "n1 fd00::a 80", "", NULL},
    {"dual stack, host network: a node is one server, at its own family",
     NODES "slice v4 http/80 : 10.0.0.1@n1 10.0.0.2@n2\nslice v6 http/80 : fd00::1@n1 fd00::2@n2", 0, DESIRED_OK,
     "n1 10.0.0.1 80; n2 10.0.0.2 80", "", NULL},
    {"dual stack, the other family came first for a new node: skipped until its own comes, nothing undecided",
     NODES "slice v4 http/80 : 10.0.0.1@n1\nslice v6 http/80 : fd00::1@n1 fd00::2@n2", 0, DESIRED_OK, "n1 10.0.0.1 80",
     "endpoint fd00::2 of slice v6: it is of another address family than its node n2 at 10.0.0.2", NULL},
    {"dual stack with a fixed port", NODES "slice v4 http/80 : 10.244.1.1@n1\nslice v6 http/80 : fd00::1@n1", 30080,
     DESIRED_OK, "n1 10.0.0.1 30080", "", NULL},
    {"dual stack, pod network: undecided", NODES "slice v4 http/80 : 10.244.1.1@n1\nslice v6 http/80 : fd00::1@n1", 0,
     DESIRED_UNDECIDED, "", "",
     SET_PORT "endpoint 10.244.1.1 with port 80 is not at the address of its node n1, 10.0.0.1 (it is not on host "
              "network, so that port is not the node's): set HAPROXY_BACKEND_PORT to the NodePort"},
    {"only the other family: undecided", NODES "slice v6 http/80 : fd00::1@n1", 0, DESIRED_UNDECIDED, "", "",
     SET_PORT "endpoint fd00::1 with port 80 is not at the address of its node n1, 10.0.0.1 (it is not on host "
              "network, so that port is not the node's): set HAPROXY_BACKEND_PORT to the NodePort"},

    {"an endpoint without node says nothing about families",
     NODES "slice v4 http/80 : 10.9.9.9\nslice v6 http/80 : fd00::1@n1", 0, DESIRED_UNDECIDED, "", "",
     SET_PORT "endpoint fd00::1 with port 80 is not at the address of its node n1, 10.0.0.1 (it is not on host "
              "network, so that port is not the node's): set HAPROXY_BACKEND_PORT to the NodePort"},
    {"dual stack, pod network: the endpoint of the node's family is named",
     NODES "slice v4 http/80 : 10.244.2.1@n2\nslice v6 http/80 : fd00::1@n1", 0, DESIRED_UNDECIDED, "",
     "endpoint fd00::1 of slice v6: it is of another address family than its node n1 at 10.0.0.1",
     SET_PORT "endpoint 10.244.2.1 with port 80 is not at the address of its node n2, 10.0.0.2 (it is not on host "
              "network, so that port is not the node's): set HAPROXY_BACKEND_PORT to the NodePort"},
    {"names that HAProxy refuses are replaced", "node a/b#c 10.0.0.1\nslice a http/80 : 10.0.0.1@a/b#c", 0, DESIRED_OK,
     "a_b_c 10.0.0.1 80", "", NULL},
    {"two names that become one: the later is skipped, both are named",
     "node a/b 10.0.0.1\nnode a#b 10.0.0.2\nslice a http/80 : 10.0.0.1@a/b 10.0.0.2@a#b", 0, DESIRED_OK,
     "a_b 10.0.0.2 80", "endpoint 10.0.0.1 of slice a: the server name a_b of a/b is that of a#b already", NULL},
    {"three names that become one",
     "node a/b 10.0.0.1\nnode a#b 10.0.0.2\nnode a_b 10.0.0.3\n"
     "slice a http/80 : 10.0.0.1@a/b 10.0.0.2@a#b 10.0.0.3@a_b",
     0, DESIRED_OK, "a_b 10.0.0.2 80",
     "endpoint 10.0.0.1 of slice a: the server name a_b of a/b is that of a#b already\n"
     "endpoint 10.0.0.3 of slice a: the server name a_b of a_b is that of a#b already",
     NULL},
    {"the clash names the right two",
     "node a 10.0.0.1\nnode b/c 10.0.0.2\nnode b:c 10.0.0.3\nnode b#c 10.0.0.4\n"
     "slice a http/80 : 10.0.0.1@a 10.0.0.2@b/c 10.0.0.3@b:c 10.0.0.4@b#c",
     0, DESIRED_OK, "a 10.0.0.1 80; b:c 10.0.0.3 80; b_c 10.0.0.4 80",
     "endpoint 10.0.0.2 of slice a: the server name b_c of b/c is that of b#c already", NULL},

    {"no slice at all", NODES, 0, DESIRED_EMPTY, "", "",
     "the Service has no EndpointSlice: does it exist, and are INGRESS_NAMESPACE and INGRESS_SERVICE_NAME right?"},
    {"a slice without endpoints", NODES "slice a http/80 :", 0, DESIRED_EMPTY, "", "",
     "the Service has no endpoints: no pod matches its selector"},
};

static void sync_with(struct cache *c, const char *objects, enum cache_kind kind)
{
    text_put_all(c, objects);
    /* A replace that lists nothing would drop them: so what is there is listed again. */
    cache_replace_begin(c, kind);
    cache_replace_begin(c, CACHE_NODES);
    text_put_all(c, objects);
    ck_assert(cache_replace_end(c, kind));
    ck_assert(cache_replace_end(c, CACHE_NODES));
}

static void check_row(const struct row *row, const struct desired *d)
{
    cleanup(mem_free_ptr) char *servers = text_of_servers(d), *skips = text_of_skips(d);
    ck_assert_msg(d->state == row->state, "%s: state %d, not %d (%s)", row->rule, d->state, row->state,
                  d->problem != NULL ? d->problem : "no problem");
    ck_assert_msg(strcmp(servers, row->servers) == 0, "%s:\n  have %s\n  want %s", row->rule, servers, row->servers);
    ck_assert_msg(strcmp(skips, row->skips) == 0, "%s:\n  have %s\n  want %s", row->rule, skips, row->skips);
    ck_assert_msg(str_eq(d->problem, row->problem), "%s:\n  have %s\n  want %s", row->rule,
                  d->problem != NULL ? d->problem : "(none)", row->problem != NULL ? row->problem : "(none)");
}

START_TEST(every_rule)
{
    const struct row *row = &rows[_i];
    struct mapping_rules mapping = {row->fixed_port};
    struct cache *c = cache_new();
    struct desired d;
    sync_with(c, row->objects, CACHE_SLICES);
    desired_compute(c, &mapping, &d);
    check_row(row, &d);
    desired_fini(&d);
    cache_free(c);
}
END_TEST

/* ---- which source ---- */

static char *servers_of(const struct cache *c, uint16_t port, enum desired_state state)
{
    struct mapping_rules mapping = {port};
    struct desired d;
    desired_compute(c, &mapping, &d);
    ck_assert_msg(d.state == state, "state %d, not %d: %s", d.state, state, d.problem != NULL ? d.problem : "");
    ck_assert((state == DESIRED_OK) == (d.problem == NULL));
    char *text = text_of_servers(&d);
    desired_fini(&d);
    return text;
}

static void expect_servers(const struct cache *c, enum desired_state state, const char *want)
{
    cleanup(mem_free_ptr) char *have = servers_of(c, 0, state);
    ck_assert_str_eq(have, want);
}

START_TEST(not_synced_says_what_is_missing)
{
    static const struct {
        bool nodes, slices, endpoints;
        const char *problem;
    } cases[] = {
        {false, false, false, "Nodes and EndpointSlices (or Endpoints) not read completely yet"},
        {false, true, false, "Nodes not read completely yet"},
        {false, false, true, "Nodes not read completely yet"},
        {true, false, false, "EndpointSlices (or Endpoints) not read completely yet"},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        struct mapping_rules mapping = {80};
        struct desired d;
        struct cache *c = cache_new();
        if (cases[i].nodes)
            text_sync(c, CACHE_NODES);
        if (cases[i].slices)
            text_sync(c, CACHE_SLICES);
        if (cases[i].endpoints)
            text_sync(c, CACHE_ENDPOINTS);
        /* What came in so far is not all there is. */
        text_put_all(c, NODES "slice a http/80 : 10.0.0.1@n1");
        desired_compute(c, &mapping, &d);
        ck_assert_int_eq(d.state, DESIRED_NOT_SYNCED);
        ck_assert_uint_eq(d.server_count, 0);
        ck_assert_str_eq(d.problem, cases[i].problem);
        desired_fini(&d);
        cache_free(c);
    }
}
END_TEST

START_TEST(endpoints_are_used_while_slices_are_not_synced)
{
    struct cache *c = cache_new();
    sync_with(c, NODES "endpoints web http/80 : 10.0.0.1@n1 10.0.0.2@n2=no", CACHE_ENDPOINTS);
    expect_servers(c, DESIRED_OK, "n1 10.0.0.1 80");
    text_put(c, "slice a http/80 : 10.0.0.3@n3");
    expect_servers(c, DESIRED_OK, "n1 10.0.0.1 80");
    cache_free(c);
}
END_TEST

START_TEST(subsets_are_united)
{
    struct cache *c = cache_new();
    sync_with(c, NODES "endpoints web http/80 : 10.0.0.1@n1 | http/8080 : 10.0.0.2@n2", CACHE_ENDPOINTS);
    expect_servers(c, DESIRED_OK, "n1 10.0.0.1 80; n2 10.0.0.2 8080");
    text_put(c, "endpoints web http/80 : 10.0.0.1@n1 | https/443 : 10.0.0.2@n2");
    cleanup(mem_free_ptr) char *none = servers_of(c, 0, DESIRED_UNDECIDED);
    ck_assert_str_eq(none, "");
    cache_free(c);
}
END_TEST

START_TEST(synced_slices_win_even_when_empty)
{
    struct cache *c = cache_new();
    sync_with(c, NODES "endpoints web http/80 : 10.0.0.1@n1", CACHE_ENDPOINTS);
    text_sync(c, CACHE_SLICES);
    expect_servers(c, DESIRED_EMPTY, "");
    text_put(c, "slice a http/80 : 10.0.0.2@n2");
    expect_servers(c, DESIRED_OK, "n2 10.0.0.2 80");
    cache_forget(c, CACHE_SLICES);
    expect_servers(c, DESIRED_OK, "n1 10.0.0.1 80");
    cache_free(c);
}
END_TEST

START_TEST(skips_of_endpoints_name_the_object)
{
    struct mapping_rules mapping = {0};
    struct desired d;
    struct cache *c = cache_new();
    sync_with(c, NODES "endpoints web http/80 : 10.0.0.7@n7", CACHE_ENDPOINTS);
    desired_compute(c, &mapping, &d);
    ck_assert_uint_eq(d.skip_count, 1);
    ck_assert_str_eq(d.skips[0].subject, "endpoint 10.0.0.7 of Endpoints web");
    desired_fini(&d);
    cache_free(c);
}
END_TEST

/* ---- names, equality ---- */

START_TEST(server_names)
{
    static const struct {
        const char *node, *server;
    } cases[] = {
        {"n1", "n1"},
        {"ip-10-0-0-1.eu-central-1.compute.internal", "ip-10-0-0-1.eu-central-1.compute.internal"},
        {"UPPER_case:9", "UPPER_case:9"},
        {"fd00::1", "fd00::1"},
        {"", "_"},
        {"a b\tc\nd", "a_b_c_d"},
        {"/#\"'\\$%{}@,;=*?", "_______________"},
        {"\x01\x7f", "__"},
        {"n\xc3\xa9", "n__"},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        cleanup(mem_free_ptr) char *name = desired_server_name(cases[i].node);
        ck_assert_str_eq(name, cases[i].server);
    }
}
END_TEST

START_TEST(equality_and_copies)
{
    static const char *const states[] = {
        NODES "slice a http/80 : 10.0.0.1@n1",
        NODES "slice a http/80 : 10.0.0.1@n1 10.0.0.2@n2",
        NODES "slice a http/80 : 10.0.0.2@n2",
        NODES "slice a http/81 : 10.0.0.1@n1",
        "node n1 10.9.0.1\nslice a http/80 : 10.9.0.1@n1",
        NODES "slice a http/80 : 10.0.0.1@n1=no",
        NODES "slice a http/80 : 10.0.0.1@n1=no 10.0.0.2@n2=no",
        NODES "slice a http/80 https/443 : 10.0.0.1@n1",
    };
    struct mapping_rules mapping = {0};
    struct desired d[array_len(states)], copy;
    for (size_t i = 0; i < array_len(states); i++) {
        struct cache *c = cache_new();
        sync_with(c, states[i], CACHE_SLICES);
        desired_compute(c, &mapping, &d[i]);
        cache_free(c);
    }
    for (size_t i = 0; i < array_len(states); i++) {
        desired_copy(&copy, &d[i]);
        for (size_t j = 0; j < array_len(states); j++)
            ck_assert_msg(desired_eq(&copy, &d[j]) == (i == j), "%zu and %zu", i, j);
        ck_assert_uint_eq(copy.endpoint_count, d[i].endpoint_count);
        desired_fini(&copy);
    }
    for (size_t i = 0; i < array_len(states); i++)
        desired_fini(&d[i]);
    d[0] = (struct desired){.state = DESIRED_EMPTY};
    d[1] = (struct desired){.state = DESIRED_NOT_SYNCED};
    ck_assert(!desired_eq(&d[0], &d[1]));
}
END_TEST

/* ---- properties over random states ---- */

#define WORLD_NODES 12
#define WORLD_SLICES 5
#define WORLD_LINES (WORLD_NODES + WORLD_SLICES)

/* A random line for object i: nodes first, then slices. NULL: the object is not there. */
static char *random_line(struct dice *dice, unsigned i)
{
    static const char *const states[] = {"yes", "yes", "no", "leaving", "gone"};
    if (dice_one_in(dice, 5))
        return NULL;
    if (i < WORLD_NODES)
        return dice_one_in(dice, 8) ? mem_printf("node n%u", i) : mem_printf("node n%u 10.0.0.%u", i, i);
    struct buf b;
    buf_init(&b, 0);
    buf_printf(&b, "slice s%u http/80 :", i);
    for (unsigned n = dice_below(dice, 5), k = 0; k < n; k++) {
        unsigned node = dice_below(dice, WORLD_NODES + 2);
        const char *state = states[dice_below(dice, array_len(states))];
        if (node < WORLD_NODES)
            buf_printf(&b, " 10.%u.0.%u@n%u=%s", dice_one_in(dice, 3) ? 244 : 0, node, node, state);
        else
            buf_printf(&b, " 10.9.0.%u=%s", node, state);
    }
    return buf_take(&b);
}

static void forget_object(struct cache *c, unsigned i)
{
    cleanup(mem_free_ptr) char *name = mem_printf(i < WORLD_NODES ? "n%u" : "s%u", i);
    cache_delete(c, i < WORLD_NODES ? CACHE_NODES : CACHE_SLICES, name);
}

/* Reaches the world through `noise` events about other versions of the same objects, in an order of its own. */
static void reach(struct cache *c, struct dice *dice, char *const *world, unsigned noise)
{
    unsigned order[WORLD_LINES];
    for (unsigned i = 0; i < WORLD_LINES; i++)
        order[i] = i;
    for (unsigned i = WORLD_LINES - 1; i > 0; i--) {
        unsigned j = dice_below(dice, i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    bool relist_nodes = dice_one_in(dice, 2), relist_slices = dice_one_in(dice, 2);
    for (unsigned k = 0; k < noise; k++) {
        unsigned i = dice_below(dice, WORLD_LINES);
        cleanup(mem_free_ptr) char *line = random_line(dice, i);
        if (line != NULL)
            text_put(c, line);
        else
            forget_object(c, i);
    }
    if (relist_nodes)
        cache_replace_begin(c, CACHE_NODES);
    if (relist_slices)
        cache_replace_begin(c, CACHE_SLICES);
    for (unsigned k = 0; k < WORLD_LINES; k++) {
        if (world[order[k]] != NULL)
            text_put(c, world[order[k]]);
        else
            forget_object(c, order[k]);
    }
    if (relist_nodes)
        cache_replace_end(c, CACHE_NODES);
    if (relist_slices)
        cache_replace_end(c, CACHE_SLICES);
}

START_TEST(the_order_of_events_never_matters)
{
    struct dice dice = {88172645463325252u};
    for (unsigned round = 0; round < 1500; round++) {
        char *world[WORLD_LINES], *text[3];
        struct mapping_rules mapping = {dice_one_in(&dice, 2) ? 30080 : 0};
        struct desired d[3];
        for (unsigned i = 0; i < WORLD_LINES; i++)
            world[i] = random_line(&dice, i);
        for (unsigned k = 0; k < 3; k++) {
            struct cache *c = cache_new();
            text_sync(c, CACHE_NODES);
            text_sync(c, CACHE_SLICES);
            reach(c, &dice, world, k * 20);
            desired_compute(c, &mapping, &d[k]);
            text[k] = text_of_skips(&d[k]);
            cache_free(c);
        }
        for (unsigned k = 1; k < 3; k++) {
            ck_assert_msg(desired_eq(&d[0], &d[k]), "round %u", round);
            ck_assert_msg(strcmp(text[0], text[k]) == 0, "round %u:\n%s\n--\n%s", round, text[0], text[k]);
        }
        for (unsigned k = 0; k < 3; k++) {
            desired_fini(&d[k]);
            free(text[k]);
        }
        for (unsigned i = 0; i < WORLD_LINES; i++)
            free(world[i]);
    }
}
END_TEST

/* The rules once more, as slowly and plainly as they can be said, for a fixed port. */
struct oracle {
    const char *node;
    bool any_ready, ready, leaving;
};

static void oracle_look(void *arg, const struct endpoint_set *s)
{
    struct oracle *o = arg;
    for (size_t g = 0; g < s->group_count; g++)
        for (size_t i = 0; i < s->groups[g].endpoint_count; i++) {
            const struct endpoint *e = &s->groups[g].endpoints[i];
            bool here = e->node_name != NULL && strcmp(e->node_name, o->node) == 0;
            o->any_ready = o->any_ready || e->ready;
            o->ready = o->ready || (here && e->ready);
            o->leaving = o->leaving || (here && e->serving && e->terminating);
        }
}

START_TEST(a_node_serves_exactly_when_the_rules_say_so)
{
    struct dice dice = {1234567891011u};
    for (unsigned round = 0; round < 1500; round++) {
        char *world[WORLD_LINES];
        struct mapping_rules mapping = {30080};
        struct desired d;
        struct cache *c = cache_new();
        for (unsigned i = 0; i < WORLD_LINES; i++)
            world[i] = random_line(&dice, i);
        text_sync(c, CACHE_NODES);
        text_sync(c, CACHE_SLICES);
        reach(c, &dice, world, 0);
        desired_compute(c, &mapping, &d);
        for (unsigned i = 0; i < WORLD_NODES; i++) {
            cleanup(mem_free_ptr) char *name = mem_printf("n%u", i);
            struct oracle o = {.node = name};
            cache_each_set(c, CACHE_SLICES, oracle_look, &o);
            const struct node *n = cache_node(c, name);
            bool want = n != NULL && n->internal_ip != NULL && (o.ready || (!o.any_ready && o.leaving)), have = false;
            for (size_t k = 0; k < d.server_count; k++)
                have = have || strcmp(d.servers[k].name, name) == 0;
            ck_assert_msg(have == want, "round %u, node %s", round, name);
        }
        for (size_t k = 1; k < d.server_count; k++)
            ck_assert_str_lt(d.servers[k - 1].name, d.servers[k].name);
        desired_fini(&d);
        cache_free(c);
        for (unsigned i = 0; i < WORLD_LINES; i++)
            free(world[i]);
    }
}
END_TEST

#define MOVERS 8

static void put_slice(struct cache *c, unsigned s, const bool in[MOVERS])
{
    struct buf b;
    buf_init(&b, 0);
    buf_printf(&b, "slice s%u http/80 :", s);
    for (unsigned e = 0; e < MOVERS; e++)
        if (in[e])
            buf_printf(&b, " 10.0.0.%u@n%u", e, e);
    text_put(c, buf_str(&b));
    buf_fini(&b);
}

START_TEST(an_endpoint_that_moves_between_slices_never_vanishes)
{
    struct dice dice = {424242424242u};
    struct mapping_rules mapping = {0};
    bool in[WORLD_SLICES][MOVERS] = {{0}};
    struct cache *c = cache_new();
    text_sync(c, CACHE_NODES);
    text_sync(c, CACHE_SLICES);
    for (unsigned e = 0; e < MOVERS; e++) {
        cleanup(mem_free_ptr) char *node = mem_printf("node n%u 10.0.0.%u", e, e);
        text_put(c, node);
        in[e % WORLD_SLICES][e] = true;
    }
    for (unsigned s = 0; s < WORLD_SLICES; s++)
        put_slice(c, s, in[s]);
    for (unsigned step = 0; step < 3000; step++) {
        unsigned e = dice_below(&dice, MOVERS), s = dice_below(&dice, WORLD_SLICES), elsewhere = 0;
        for (unsigned k = 0; k < WORLD_SLICES; k++)
            elsewhere += k != s && in[k][e];
        in[s][e] = elsewhere == 0 || !in[s][e];
        put_slice(c, s, in[s]);
        struct desired d;
        desired_compute(c, &mapping, &d);
        ck_assert_uint_eq(d.server_count, MOVERS);
        ck_assert_uint_eq(d.skip_count, 0);
        desired_fini(&d);
    }
    cache_free(c);
}
END_TEST

START_TEST(many_endpoints)
{
    struct mapping_rules mapping = {30080};
    struct desired d;
    struct cache *c = cache_new();
    struct buf line;
    buf_init(&line, 0);
    text_sync(c, CACHE_NODES);
    text_sync(c, CACHE_SLICES);
    for (unsigned n = 0; n < 2000; n++) {
        buf_clear(&line);
        buf_printf(&line, "node worker-%04u.example.internal 10.1.%u.%u", n, n / 200, n % 200);
        text_put(c, buf_str(&line));
    }
    for (unsigned s = 0; s < 200; s++) {
        buf_clear(&line);
        buf_printf(&line, "slice web-%03u http/80 : 10.9.%u.1", s, s);
        for (unsigned e = 0; e < 100; e++)
            buf_printf(&line, " 10.244.%u.%u@worker-%04u.example.internal", s, e, (s * 100 + e) % 2000);
        text_put(c, buf_str(&line));
    }
    buf_fini(&line);
    desired_compute(c, &mapping, &d);
    ck_assert_uint_eq(d.endpoint_count, 20200);
    ck_assert_uint_eq(d.server_count, 2200);
    ck_assert_str_eq(d.servers[2199].name, "worker-1999.example.internal");
    desired_fini(&d);
    cache_free(c);
}
END_TEST

START_TEST(every_endpoint_a_place_of_its_own)
{
    struct mapping_rules mapping = {0};
    struct desired d;
    struct cache *c = cache_new();
    cleanup(buf_fini) struct buf line;
    buf_init(&line, 0);
    text_sync(c, CACHE_NODES);
    text_sync(c, CACHE_SLICES);
    buf_add(&line, "slice a http/80 :");
    for (unsigned e = 0; e < 3000; e++)
        buf_printf(&line, " 10.9.%u.%u", e / 250, e % 250);
    text_put(c, buf_str(&line));
    desired_compute(c, &mapping, &d);
    ck_assert_uint_eq(d.server_count, 3000);
    desired_fini(&d);
    cache_free(c);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("desired");
    TCase *t = tcase_create("rules");
    tcase_add_loop_test(t, every_rule, 0, (int)array_len(rows));
    tcase_add_test(t, not_synced_says_what_is_missing);
    tcase_add_test(t, endpoints_are_used_while_slices_are_not_synced);
    tcase_add_test(t, subsets_are_united);
    tcase_add_test(t, synced_slices_win_even_when_empty);
    tcase_add_test(t, skips_of_endpoints_name_the_object);
    tcase_add_test(t, server_names);
    tcase_add_test(t, equality_and_copies);
    suite_add_tcase(s, t);
    t = tcase_create("properties");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, the_order_of_events_never_matters);
    tcase_add_test(t, a_node_serves_exactly_when_the_rules_say_so);
    tcase_add_test(t, an_endpoint_that_moves_between_slices_never_vanishes);
    tcase_add_test(t, many_endpoints);
    tcase_add_test(t, every_endpoint_a_place_of_its_own);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? 0 : 1;
}
