#include "desired_rows.h"
#include "desired_world.h"
#include "servers/desired/explain.h"

#include "../../effort.h"

static char *text_of_rules(const struct explanation *e)
{
    struct buf b = {0};
    for (size_t i = 0; i < e->rule_count; i++)
        buf_printf(&b, "%s%c%s: %s", i > 0 ? "\n" : "", e->rules[i].passed ? '+' : '-', e->rules[i].rule,
                   e->rules[i].text);
    return buf_take(&b);
}

#define ONE "service web NodePort Local http/80/30080\nnode n1 10.0.0.1\n"
#define KNOWN "+known: Node n1 is known\n"
#define NO_SIGN "+eligible: no exclude label, no ToBeDeleted taint, not being deleted\n"
#define AT "+address: InternalIP 10.0.0.1 (required: InternalIP, IPv4 or IPv6)\n"
#define LOCAL_POLICY \
    "+policy: externalTrafficPolicy is Local: nodes with usable endpoints serve (NODE_MODE is endpoints)\n"
#define NO_SERVICE "+policy: the Service may not be read: nodes with usable endpoints serve (NODE_MODE is endpoints)\n"
#define READY "+endpoints: 1 ready endpoint on node n1 (slice a)\n"
#define NODE_PORT "+port: 30080: nodePort 30080 of its port http\n"
#define NAME "+name: its server in HAProxy is n1\n"
#define CHECK_DECIDES ", which does not exclude it: HAProxy's health check decides\n"

static const struct {
    const char *what, *objects, *settings, *node;
    enum server_state state;
    const char *verdict, *rules;
} rows_by_rule[] = {
    {"in", ONE "slice a http/80 : 10.244.1.1@n1", "", "n1", SERVER_LIVE,
     "1 ready endpoint on node n1 (slice a); nodePort 30080 of its port http",
     KNOWN NO_SIGN AT LOCAL_POLICY READY NODE_PORT NAME "+state: live"},
    {"NotReady",
     "service web NodePort Local http/80/30080\nnode n1 10.0.0.1 !notready\nslice a http/80 : 10.244.1.1@n1", "", "n1",
     SERVER_LIVE, "1 ready endpoint on node n1 (slice a); nodePort 30080 of its port http",
     KNOWN "+eligible: no exclude label, no ToBeDeleted taint, not being deleted; it is NotReady" CHECK_DECIDES AT
         LOCAL_POLICY READY NODE_PORT NAME "+state: live"},
    {"cordoned",
     "service web NodePort Local http/80/30080\nnode n1 10.0.0.1 !cordoned\nslice a http/80 : 10.244.1.1@n1", "", "n1",
     SERVER_LIVE, "1 ready endpoint on node n1 (slice a); nodePort 30080 of its port http",
     KNOWN
     "+eligible: no exclude label, no ToBeDeleted taint, not being deleted; it is cordoned, which does not exclude it: "
     "its pods keep serving\n" AT LOCAL_POLICY READY NODE_PORT NAME "+state: live"},
    {"both", "node n1 10.0.0.1 !cordoned !notready", "", "n1", SERVER_OUT,
     "node n1: no endpoint of the Service is on it",
     KNOWN
     "+eligible: no exclude label, no ToBeDeleted taint, not being deleted; it is NotReady and cordoned" CHECK_DECIDES
         AT NO_SERVICE "-endpoints: node n1: no endpoint of the Service is on it"},
    {"draining", ONE "node n2 10.0.0.2\nslice a http/80 : 10.244.1.1@n1=leaving 10.244.1.2@n2", "", "n1",
     SERVER_DRAINING,
     "draining until its endpoints are gone or 30s are over: 1 terminating endpoint on node n1, none ready (slice a)",
     KNOWN NO_SIGN AT LOCAL_POLICY
     "+endpoints: 1 terminating endpoint on node n1 (slice a)\n" NODE_PORT NAME
     "+state: draining: nothing is ready on it, others are ready; no new connections, and out after "
     "30s (DRAIN_TIMEOUT) or with its last endpoint"},
    {"the last ones", ONE "slice a http/80 : 10.244.1.1@n1=leaving", "", "n1", SERVER_LIVE,
     "1 terminating endpoint on node n1 (slice a), used because no ready one is usable; nodePort 30080 of its port "
     "http",
     KNOWN NO_SIGN AT LOCAL_POLICY
     "+endpoints: 1 terminating endpoint on node n1 (slice a), used because no ready one is usable\n" NODE_PORT NAME
     "+state: live"},
    {"no time to drain", ONE "node n2 10.0.0.2\nslice a http/80 : 10.244.1.1@n1=leaving 10.244.1.2@n2", "drain=0", "n1",
     SERVER_OUT,
     "endpoint 10.244.1.1 of slice a: it is terminating, others are ready, and there is no draining (DRAIN_TIMEOUT is "
     "0): 1 "
     "terminating endpoint on node n1, none ready",
     KNOWN NO_SIGN AT LOCAL_POLICY "+endpoints: 1 terminating endpoint on node n1 (slice a)\n" NODE_PORT NAME
                                   "-state: endpoint 10.244.1.1 of slice a: it is terminating, others are ready, and "
                                   "there is no draining (DRAIN_TIMEOUT is "
                                   "0): 1 terminating endpoint on node n1, none ready"},
    {"an endpoint names it, and it is not known", ONE "slice a http/80 : 10.244.1.7@n7", "", "n7", SERVER_OUT,
     "endpoint 10.244.1.7 of slice a: its node n7 is not known",
     "-known: endpoint 10.244.1.7 of slice a: its node n7 is not known"},
    {"excluded", "node n1 10.0.0.1 !excluded\nslice a http/80 : 10.244.1.1@n1", "port=30080", "n1", SERVER_OUT,
     "node n1: " LABEL "; on it is 1 ready endpoint (slice a)",
     KNOWN "-eligible: node n1: " LABEL "; on it is 1 ready endpoint (slice a)"},
    {"no address", "node n1 10.0.0.1", "family=IPv6", "n1", SERVER_OUT,
     "node n1: it has no address of the required kind (InternalIP, IPv6)",
     KNOWN NO_SIGN "-address: node n1: it has no address of the required kind (InternalIP, IPv6)"},
    {"another type", "node n1 10.0.0.1 ext=1.2.3.4\nslice a http/80 : 10.244.1.1@n1",
     "port=30080 types=ExternalIP,InternalIP", "n1", SERVER_LIVE,
     "1 ready endpoint on node n1 (slice a); the port of HAPROXY_BACKEND_PORT",
     KNOWN NO_SIGN "+address: ExternalIP 1.2.3.4 (required: ExternalIP or InternalIP, IPv4 or IPv6)\n" NO_SERVICE READY
                   "+port: 30080: HAPROXY_BACKEND_PORT\n" NAME "+state: live"},
    {"mode all", "service web NodePort http/80/30080\nnode n1 10.0.0.1\nslice a http/80 : 10.244.1.7@n7", "mode=all",
     "n1", SERVER_LIVE,
     "NODE_MODE=all: every eligible node reaches the Service's 1 ready endpoint (slice a); nodePort 30080 of its port "
     "http",
     KNOWN NO_SIGN AT "+policy: externalTrafficPolicy is Cluster: every eligible node serves (NODE_MODE is all)\n"
                      "+endpoints: the Service has 1 usable, reached from every node\n" NODE_PORT NAME "+state: live"},
    {"mode all, none usable",
     "service web NodePort http/80/30080\nnode n1 10.0.0.1\nslice a http/80 : 10.244.1.7@n7=no", "mode=all", "n1",
     SERVER_OUT, "node n1: the Service has no usable endpoint on any node",
     KNOWN NO_SIGN AT "+policy: externalTrafficPolicy is Cluster: every eligible node serves (NODE_MODE is all)\n"
                      "-endpoints: node n1: the Service has no usable endpoint on any node"},
    {"mode all, no node", "service web NodePort http/80/30080\nnode n1 10.0.0.1\nslice a http/80 : 10.9.9.9",
     "mode=all", "10.9.9.9", SERVER_OUT,
     "endpoint 10.9.9.9 of slice a: it names no node, and with NODE_MODE=all only nodes are servers",
     "+known: endpoint 10.9.9.9 names no node and is a server itself\n"
     "+eligible: it has no node that could be excluded\n"
     "+address: 10.9.9.9, its own\n"
     "-policy: endpoint 10.9.9.9 of slice a: it names no node, and with NODE_MODE=all only nodes are servers"},
    {"not ready", ONE "slice a http/80 : 10.244.1.1@n1=no 10.244.1.2@n1=no", "", "n1", SERVER_OUT,
     "endpoint 10.244.1.1 of slice a: it is not ready (on node n1, none of its 2 is usable)",
     KNOWN NO_SIGN AT LOCAL_POLICY
     "-endpoints: endpoint 10.244.1.1 of slice a: it is not ready (on node n1, none of its 2 is usable)"},
    {"the port is to be decided",
     "service web NodePort Local http/80/30080 https/443/30443\nnode n1 10.0.0.1\nslice a http/80 : 10.244.1.1@n1", "",
     "n1", SERVER_OUT,
     "Service ns/web has 2 ports (http 80, https 443): set INGRESS_SERVICE_PORT to the name or number of one, or give "
     "it in "
     "INGRESS_SERVICES",
     KNOWN NO_SIGN AT LOCAL_POLICY READY
     "-port: Service ns/web has 2 ports (http 80, https 443): set INGRESS_SERVICE_PORT to the "
     "name or number of one, or give it in INGRESS_SERVICES"},
    {"undecided for another node is undecided for all",
     "node n1 10.0.0.1\nnode n2 10.0.0.2\nslice a http/80 : 10.0.0.1@n1 10.244.1.2@n2", "", "n1", SERVER_OUT,
     "HAPROXY_BACKEND_PORT is not set and endpoint 10.244.1.2 with port 80 is not at the address of its node n2, "
     "10.0.0.2 " NOT_THERE,
     KNOWN NO_SIGN AT NO_SERVICE READY
     "-port: HAPROXY_BACKEND_PORT is not set and endpoint 10.244.1.2 with port 80 is not at the "
     "address of its node n2, 10.0.0.2 " NOT_THERE},
    {"the endpoint's own port", "node n1 10.0.0.1\nslice a http/8080 : 10.0.0.1@n1", "", "n1", SERVER_LIVE,
     "1 ready endpoint on node n1 (slice a); the endpoint's own port",
     KNOWN NO_SIGN AT NO_SERVICE READY "+port: 8080: the endpoint's own port\n" NAME "+state: live"},
    {"an endpoint without node, in another spelling", ONE "slice a http/8080 : FD00:0::1\nslice b http/8080 : fd00::1",
     "", "fd00::1", SERVER_LIVE, "ready endpoint FD00:0::1 (slice a); the endpoint's own port, as it names no node",
     "+known: endpoint FD00:0::1 names no node and is a server itself\n"
     "+eligible: it has no node that could be excluded\n"
     "+address: FD00:0::1, its own\n" LOCAL_POLICY "+endpoints: ready endpoint FD00:0::1 (slice a)\n"
     "+port: 8080: the endpoint's own port\n"
     "+name: its server in HAProxy is fd00::1\n"
     "+state: live"},
    {"its name is taken", "node a#b 10.0.0.1\nnode a/b 10.0.0.2\nslice a http/80 : 10.0.0.1@a#b 10.0.0.2@a/b", "",
     "a/b", SERVER_OUT, "node a/b: its server name a_b is already used by a#b",
     "+known: Node a/b is known\n" NO_SIGN
     "+address: InternalIP 10.0.0.2 (required: InternalIP, IPv4 or IPv6)\n" NO_SERVICE
     "+endpoints: 1 ready endpoint on node a/b (slice a)\n"
     "+port: 80: the endpoint's own port\n"
     "-name: node a/b: its server name a_b is already used by a#b"},
};

TEST_EACH(rule_by_rule, array_len(rows_by_rule))
{
    struct mapping_text m;
    struct explanation e;
    const char *what = rows_by_rule[_i].what;
    text_mapping(&m, rows_by_rule[_i].objects, rows_by_rule[_i].settings);
    ck_assert_msg(explain_node(&m.in, rows_by_rule[_i].node, &e) == 0, "%s", what);
    cleanup(mem_free_ptr) char *rules = text_of_rules(&e);
    ck_assert_msg(e.state == rows_by_rule[_i].state, "%s: %s", what, server_state_name(e.state));
    ck_assert_msg(strcmp(e.verdict, rows_by_rule[_i].verdict) == 0, "%s:\n%s\n%s", what, e.verdict,
                  rows_by_rule[_i].verdict);
    ck_assert_msg(strcmp(rules, rows_by_rule[_i].rules) == 0, "%s:\n%s\n--\n%s", what, rules, rows_by_rule[_i].rules);
    explanation_fini(&e);
    text_mapping_close(&m);
}

TEST(nothing_is_known)
{
    struct mapping_text m;
    struct explanation e;
    text_mapping(&m, ONE "slice a http/80 : 10.244.1.1@n1 10.9.9.9", "");
    static const char *const names[] = {"n2", "", "10.244.1.1", "10.0.0.1", "a"};
    for (size_t i = 0; i < array_len(names); i++) {
        ck_assert_int_eq(explain_node(&m.in, names[i], &e), -1);
        ck_assert(e.rules == NULL && e.verdict == NULL && e.server == NULL && e.rule_count == 0);
    }
    cache_forget(m.caches.slices); /* not synced any more: nothing is reported of what is half known */
    ck_assert_int_eq(explain_node(&m.in, "n1", &e), -1);
    explanation_fini(&e);
    text_mapping_close(&m);
}

/* A drain that is over for the daemon begins now for who asks; and asking changes nothing. */
TEST(states_are_not_compared)
{
    struct mapping_text m;
    struct explanation e;
    struct desired d;
    text_mapping(&m, ONE "node n2 10.0.0.2\nslice a http/80 : 10.244.1.1@n1=leaving 10.244.1.2@n2", "");
    m.in.states = server_states_new();
    desired_compute(&m.in, &d);
    ck_assert_uint_eq(d.server_count, 2);
    desired_fini(&d);
    m.in.now_ms += DRAIN_MS;
    ck_assert_int_eq(explain_node(&m.in, "n1", &e), 0);
    ck_assert_int_eq(e.state, SERVER_DRAINING);
    explanation_fini(&e);
    desired_compute(&m.in, &d);
    ck_assert_uint_eq(d.server_count, 1);
    desired_fini(&d);
    text_mapping_close(&m);
}

static const struct desired_skip *skip_of(const struct desired *d, const char *server, const char *verdict)
{
    for (size_t i = 0; i < d->skip_count; i++) {
        cleanup(mem_free_ptr) char *text = desired_skip_text(d, &d->skips[i]);
        if ((d->skips[i].server == NULL || strcmp(d->skips[i].server, server) == 0) && strcmp(text, verdict) == 0)
            return &d->skips[i];
    }
    return NULL;
}

static void check_rules(const struct explanation *e)
{
    static const char *const order[] = {"known", "eligible", "address", "policy", "endpoints", "port", "name", "state"};
    ck_assert_uint_le(e->rule_count, array_len(order));
    for (size_t i = 0; i < e->rule_count; i++) {
        ck_assert_str_eq(e->rules[i].rule, order[i]);
        ck_assert(!str_empty(e->rules[i].text));
        ck_assert(e->rules[i].passed == (i + 1 < e->rule_count || e->state != SERVER_OUT));
    }
    ck_assert(e->state == SERVER_OUT || e->rule_count == array_len(order));
}

/* Of a node without endpoints desired reports nothing; who asks gets which rule comes first. */
static bool is_untold(const struct mapping_text *m, const char *name, const char *verdict)
{
    const struct node *n = cache_find(m->caches.nodes, name);
    return strstr(verdict, "no endpoint of the Service is on it") != NULL || strstr(verdict, "no address") != NULL ||
           (n != NULL && node_exclusion(n, &node_rules_default) != NULL);
}

static void check_agreement(const struct mapping_text *m, const struct desired *d, const char *name)
{
    struct explanation e;
    if (explain_node(&m->in, name, &e) != 0) {
        ck_assert_ptr_null(desired_find(d, name));
        ck_assert(cache_find(m->caches.nodes, name) == NULL);
        return;
    }
    const struct desired_server *s = desired_find(d, e.server);
    check_rules(&e);
    if (e.state != SERVER_OUT) {
        cleanup(mem_free_ptr) char *reason = s != NULL ? desired_server_reason(d, s) : NULL;
        ck_assert_msg(s != NULL && s->state == e.state && strcmp(reason, e.verdict) == 0, "%s: %s", name, e.verdict);
    } else {
        /* Its server may be that of another node with the same server name. */
        ck_assert_msg(s == NULL || strstr(e.verdict, "already") != NULL, "%s: %s", name, e.verdict);
        ck_assert_msg(skip_of(d, e.server, e.verdict) != NULL || is_untold(m, name, e.verdict) ||
                          (d->state == DESIRED_UNDECIDED && strcmp(e.verdict, d->problem) == 0),
                      "%s: %s", name, e.verdict);
    }
    explanation_fini(&e);
}

static void remember_name(void *arg, const void *node)
{
    buf_printf(arg, "%s\n", record_name(node));
}

TEST_EACH(it_agrees_with_every_row, array_len(rows))
{
    struct mapping_text m;
    struct desired d;
    cleanup(buf_fini) struct buf names = {0};
    text_mapping(&m, rows[_i].objects, rows[_i].settings);
    desired_compute(&m.in, &d);
    cache_each(m.caches.nodes, remember_name, &names);
    for (size_t i = 0; i < d.server_count; i++)
        if (strchr(d.servers[i].name, '_') == NULL) /* the name of a node or an address, not one made of it */
            buf_printf(&names, "%s\n", d.servers[i].name);
    cleanup(mem_free_ptr) char *copy = buf_take(&names);
    char *rest = copy;
    for (char *name; (name = strsep(&rest, "\n")) != NULL;)
        if (name[0] != '\0')
            check_agreement(&m, &d, name);
    desired_fini(&d);
    text_mapping_close(&m);
}

TEST(it_agrees_in_any_state)
{
    struct dice dice = {314159265};
    for (unsigned round = 0; round < (unsigned)effort(700); round++) {
        struct mapping_text m;
        struct desired d;
        char *world[WORLD_LINES];
        const char *settings = dice_one_in(&dice, 2) ? world_plain[dice_below(&dice, array_len(world_plain))]
                                                     : world_any[dice_below(&dice, array_len(world_any))];
        world_make(&dice, world);
        text_mapping_open(&m, settings, false);
        for (unsigned i = 0; i < WORLD_LINES; i++)
            world_put(&m.caches, i, world[i]);
        desired_compute(&m.in, &d);
        for (unsigned i = 0; i < WORLD_PLACES; i++) {
            cleanup(mem_free_ptr) char *name = mem_printf(i < WORLD_NODES ? "n%u" : "10.9.0.%u", i);
            check_agreement(&m, &d, name);
        }
        desired_fini(&d);
        text_mapping_close(&m);
        world_free(world);
    }
}
