/* servers/desired/desired over time: what the states remember from one computation to the next. */
#include "mapping_text.h"

#define SERVICE "service web NodePort Local http/80/30080\n"
#define NODES "node n1 10.0.0.1\nnode n2 10.0.0.2\n"
#define START SERVICE NODES
#define BOTH "n1 10.0.0.1 30080; n2 10.0.0.2 30080"
#define N1_DRAINS "n1 10.0.0.1 30080 draining; n2 10.0.0.2 30080"
#define ONLY_N2 "n2 10.0.0.2 30080"
#define READY "slice a http/80 : 10.244.1.1@n1 10.244.2.1@n2"
#define LEAVING "slice a http/80 : 10.244.1.1@n1=leaving 10.244.2.1@n2"
#define N2_ONLY "slice a http/80 : 10.244.2.1@n2"
#define DRAINED                                                                                        \
    "~!endpoint 10.244.1.1 of slice a: it is terminating, others are ready, and its draining is over " \
    "(DRAIN_TIMEOUT is 30s): 1 terminating endpoint on node n1, none ready"
#define GONE "~node n1: no endpoint of the Service is on it any more"
#define GONE_AS_SAID "~!node n1: no endpoint of the Service is on it any more, as announced"
#define NOT_READY "~endpoint 10.244.1.1 of slice a: it is not ready (on node n1)"
#define LABEL "it has the label node.kubernetes.io/exclude-from-external-load-balancers"
#define EXCLUDED "~!node n1: " LABEL

/* After so many ms these objects come ("-node n1": it goes), and this is the desired state: servers, skips, and in how many ms it
 * is due again (0: never). */
static const struct {
    const char *life, *settings; /* with its first event */
    uint64_t after_ms;
    const char *objects, *servers, *skips;
    uint64_t due_in_ms;
} events[] = {
    {"a drain lasts as long as it may", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 5, LEAVING, N1_DRAINS, "", 30000},
    {NULL, NULL, 29999, "", N1_DRAINS, "", 1},
    {NULL, NULL, 1, "", ONLY_N2, DRAINED, 0},
    {NULL, NULL, 50000, "", ONLY_N2, DRAINED, 0},
    {NULL, NULL, 1, N2_ONLY, ONLY_N2, GONE_AS_SAID, 0},
    {"its time is a setting", "drain=1500", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, LEAVING, N1_DRAINS, "", 1500},
    {NULL, NULL, 1499, "", N1_DRAINS, "", 1},
    {NULL, NULL, 1, "", ONLY_N2,
     "~!endpoint 10.244.1.1 of slice a: it is terminating, others are ready, and its draining is over (DRAIN_TIMEOUT "
     "is 1500ms): 1 terminating endpoint on node n1, none ready",
     0},
    {"a drain ends with its endpoint", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, LEAVING, N1_DRAINS, "", 30000},
    {NULL, NULL, 1000, N2_ONLY, ONLY_N2, GONE_AS_SAID, 0},
    {NULL, NULL, 1000, "", ONLY_N2, GONE_AS_SAID, 0},
    {"or when that serves no more", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, LEAVING, N1_DRAINS, "", 30000},
    {NULL, NULL, 1000, "slice a http/80 : 10.244.1.1@n1=gone 10.244.2.1@n2", ONLY_N2,
     "~!endpoint 10.244.1.1 of slice a: it is terminating and no longer serving (on node n1)", 0},
    {NULL, NULL, 1000, N2_ONLY, ONLY_N2, GONE_AS_SAID, 0},
    {"or when only one that is not ready is left", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, "slice a http/80 : 10.244.1.9@n1=leaving 10.244.1.1@n1=no 10.244.2.1@n2", N1_DRAINS, "", 30000},
    {NULL, NULL, 1000, "slice a http/80 : 10.244.1.1@n1=no 10.244.2.1@n2", ONLY_N2,
     "~!endpoint 10.244.1.1 of slice a: it is not ready (on node n1)", 0},
    {"back to live as soon as one is ready; the next drain has its whole time", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, LEAVING, N1_DRAINS, "", 30000},
    {NULL, NULL, 20000, READY, BOTH, "", 0},
    {NULL, NULL, 1, LEAVING, N1_DRAINS, "", 30000},
    {NULL, NULL, 20000, "", N1_DRAINS, "", 10000},
    {NULL, NULL, 10000, "", ONLY_N2, DRAINED, 0},
    {NULL, NULL, 1, READY, BOTH, "", 0},
    {"back to live when the others are not ready any more", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, LEAVING, N1_DRAINS, "", 30000},
    {NULL, NULL, 30000, "", ONLY_N2, DRAINED, 0},
    {NULL, NULL, 1, "slice a http/80 : 10.244.1.1@n1=leaving 10.244.2.1@n2=no", "n1 10.0.0.1 30080",
     "~endpoint 10.244.2.1 of slice a: it is not ready (on node n2)", 0},
    {"the clock runs on while the endpoint moves to another slice", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, LEAVING, N1_DRAINS, "", 30000},
    {NULL, NULL, 10000, "slice b http/80 : 10.244.1.1@n1=leaving", N1_DRAINS, "", 20000},
    {NULL, NULL, 10000, N2_ONLY, N1_DRAINS, "", 10000},
    {"the first of two drains is due first", "", 0,
     START "node n3 10.0.0.3\nslice a http/80 : 10.244.1.1@n1 10.244.2.1@n2 10.244.3.1@n3", BOTH "; n3 10.0.0.3 30080",
     "", 0},
    {NULL, NULL, 0, "slice a http/80 : 10.244.1.1@n1=leaving 10.244.2.1@n2 10.244.3.1@n3",
     N1_DRAINS "; n3 10.0.0.3 30080", "", 30000},
    {NULL, NULL, 10000, "slice a http/80 : 10.244.1.1@n1=leaving 10.244.2.1@n2=leaving 10.244.3.1@n3",
     "n1 10.0.0.1 30080 draining; n2 10.0.0.2 30080 draining; n3 10.0.0.3 30080", "", 20000},
    {NULL, NULL, 20000, "", "n2 10.0.0.2 30080 draining; n3 10.0.0.3 30080", DRAINED, 10000},
    {"not ready, and then gone: nobody said so", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, "slice a http/80 : 10.244.1.1@n1=no 10.244.2.1@n2", ONLY_N2, NOT_READY, 0},
    {NULL, NULL, 1000, N2_ONLY, ONLY_N2, GONE, 0},
    {"simply gone: nobody said so", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, N2_ONLY, ONLY_N2, GONE, 0},
    {"gone after all of it terminated: it was said", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, "slice a http/80 : 10.244.1.1@n1=leaving 10.244.2.1@n2=leaving", BOTH, "", 0},
    {NULL, NULL, 1000, N2_ONLY, ONLY_N2, GONE_AS_SAID, 0},
    {"ready again in between: it was not", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, "slice a http/80 : 10.244.1.1@n1=leaving 10.244.2.1@n2=leaving", BOTH, "", 0},
    {NULL, NULL, 0, READY, BOTH, "", 0},
    {NULL, NULL, 1000, N2_ONLY, ONLY_N2, GONE, 0},
    {"its Node is gone: nobody said so", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, "-node n1", ONLY_N2, "endpoint 10.244.1.1 of slice a: its node n1 is not known", 0},
    {NULL, NULL, 1000, N2_ONLY, ONLY_N2, "~node n1: it is no longer known", 0},
    {"an endpoint without node is gone", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, "slice a http/8080 : 10.9.9.9 10.244.2.1@n2", "10.9.9.9 10.9.9.9 8080; " ONLY_N2, GONE, 0},
    {NULL, NULL, 0, N2_ONLY, ONLY_N2, "~endpoint 10.9.9.9: it is no longer an endpoint of the Service\n" GONE, 0},
    {"excluded: it was said, also after endpoint and Node are gone", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, "node n1 10.0.0.1 !excluded", ONLY_N2, EXCLUDED "; on it is 1 ready endpoint (slice a)", 0},
    {NULL, NULL, 1000, N2_ONLY, ONLY_N2, EXCLUDED ", and no endpoint of the Service is on it any more", 0},
    {NULL, NULL, 1000, "-node n1", ONLY_N2, "~!node n1: it is no longer known, as announced", 0},
    {"excluded and without endpoint at once: it was said", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, "node n1 10.0.0.1 !excluded\n" N2_ONLY, ONLY_N2,
     EXCLUDED ", and no endpoint of the Service is on it any more", 0},
    {NULL, NULL, 1000, "-node n1", ONLY_N2, "~!node n1: it is no longer known, as announced", 0},
    {"not excluded any more: live, and forgiven", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, "node n1 10.0.0.1 !excluded", ONLY_N2, EXCLUDED "; on it is 1 ready endpoint (slice a)", 0},
    {NULL, NULL, 0, "node n1 10.0.0.1", BOTH, "", 0},
    {NULL, NULL, 0, N2_ONLY, ONLY_N2, GONE, 0},
    {"an excluded node does not go on draining", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, LEAVING, N1_DRAINS, "", 30000},
    {NULL, NULL, 0, "node n1 10.0.0.1 !excluded", ONLY_N2, EXCLUDED "; on it is 1 terminating endpoint (slice a)", 0},
    {"mode all: excluded, and gone", "mode=all port=30080", 0, NODES READY, BOTH, "", 0},
    {NULL, NULL, 0, "node n1 10.0.0.1 !doomed", ONLY_N2,
     "~!node n1: it has the taint ToBeDeletedByClusterAutoscaler: the cluster autoscaler is about to remove it; on it "
     "is 1 ready endpoint (slice a)",
     0},
    {NULL, NULL, 0, N2_ONLY, ONLY_N2,
     "~!node n1: it has the taint ToBeDeletedByClusterAutoscaler: the cluster autoscaler is about to remove it", 0},
    {NULL, NULL, 0, "-node n1", ONLY_N2, "~!node n1: it is no longer known, as announced", 0},
    {"none is left: nothing drains, and what comes back is live", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, LEAVING, N1_DRAINS, "", 30000},
    {NULL, NULL, 0, "slice a http/80 :", "",
     "~!node n1: no endpoint of the Service is on it any more, as announced\n"
     "~node n2: no endpoint of the Service is on it any more",
     0},
    {NULL, NULL, 0, READY, BOTH, "", 0},
    {"undecided: no clock is read, and none is lost", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, LEAVING, N1_DRAINS, "", 30000},
    {NULL, NULL, 10000, "service web NodePort Local http/80/30080 https/443/30443", "", "", 0},
    {NULL, NULL, 10000, SERVICE, N1_DRAINS, "", 10000},
    {NULL, NULL, 1000, "service web NodePort Local http/80/30080 https/443/30443", "", "", 0},
    {NULL, NULL, 9000, SERVICE, ONLY_N2, DRAINED, 0},
    {"undecided: what happens meanwhile is not seen", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, LEAVING, N1_DRAINS, "", 30000},
    {NULL, NULL, 10000, "service web NodePort Local http/80/30080 https/443/30443\n" READY, "", "", 0},
    {NULL, NULL, 10000, SERVICE LEAVING, N1_DRAINS, "", 10000},
    {"who never served is not remembered", "", 0, START "slice a http/80 : 10.244.1.1@n1=no 10.244.2.1@n2", ONLY_N2,
     NOT_READY, 0},
    {NULL, NULL, 0, N2_ONLY, ONLY_N2, "", 0},
    {"nor is any of them for ever", "", 0, START READY, BOTH, "", 0},
    {NULL, NULL, 0, N2_ONLY, ONLY_N2, GONE, 0},
    {NULL, NULL, STATES_REMEMBER_MS - 1, "", ONLY_N2, GONE, 0},
    {NULL, NULL, 1, "", ONLY_N2, "", 0},
    {"one name for two nodes: the server goes from the one to the other", "", 0,
     "node a#b 10.0.0.1\nnode a/b 10.0.0.2\nslice a http/80 : 10.0.0.1@a#b 10.0.0.2@a/b=no", "a_b 10.0.0.1 80",
     "~endpoint 10.0.0.2 of slice a: it is not ready (on node a/b)", 0},
    {NULL, NULL, 0, "slice a http/80 : 10.0.0.1@a#b=leaving 10.0.0.2@a/b", "a_b 10.0.0.2 80",
     "~node a#b: its server name a_b is already used by a/b", 0},
    {NULL, NULL, 0, "slice a http/80 : 10.0.0.1@a#b=no 10.0.0.2@a/b=no", "",
     "~endpoint 10.0.0.1 of slice a: it is not ready (on node a#b)\n"
     "~endpoint 10.0.0.2 of slice a: it is not ready (on node a/b)",
     0},
};

static void take_objects(const struct object_caches *c, const char *objects)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(objects);
    char *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (str_has_prefix(line, "-node "))
            ck_assert(cache_delete(c->nodes, line + strlen("-node ")));
        else if (line[0] != '\0')
            text_put(c, line);
}

static void live_on(struct mapping_text *m, size_t i, const char *life)
{
    struct desired d;
    m->in.now_ms += events[i].after_ms;
    take_objects(&m->caches, events[i].objects);
    desired_compute(&m->in, &d);
    cleanup(mem_free_ptr) char *servers = text_of_servers(&d), *skips = text_of_skips(&d);
    ck_assert_msg(str_eq(servers, events[i].servers), "%s, event %zu:\n  have %s\n  want %s", life, i, servers,
                  events[i].servers);
    ck_assert_msg(str_eq(skips, events[i].skips), "%s, event %zu:\n  have %s\n  want %s", life, i, skips,
                  events[i].skips);
    ck_assert_uint_eq(d.due_ms, events[i].due_in_ms != 0 ? m->in.now_ms + events[i].due_in_ms : 0);
    desired_fini(&d);
}

TEST(every_life)
{
    for (size_t i = 0; i < array_len(events);) {
        const char *life = events[i].life;
        struct mapping_text m;
        text_mapping_open(&m, events[i].settings, strstr(events[i].objects, "service ") == NULL);
        m.in.states = server_states_new();
        do
            live_on(&m, i++, life);
        while (i < array_len(events) && events[i].life == NULL);
        text_mapping_close(&m);
    }
}
