/* `explain` as text (src/cli/explain_print): the rules are made by hand, the server's change by the real plan. */

#include "../daemon/inspect/inspect_world.h"

#define HEADING WORLD_HEADING
#define LIVE "  node n1: live\n    it is wanted\n\n  [x] known       Node n1 is known\n\n"
#define OUT \
    "  node n1: out\n    it is tainted\n\n  [x] known       Node n1 is known\n  [ ] eligible    it is tainted\n\n"

static void expect(const char *text)
{
    world_expect(&w, inspect_print_explain, text);
}

static void add_rule(struct explanation *e, const char *rule, bool passed, const char *text)
{
    e->rules = mem_resize(e->rules, e->rule_count + 1, sizeof(e->rules[0]));
    e->rules[e->rule_count++] = (struct explain_rule){rule, passed, mem_strdup(text)};
}

static struct inspect_backend *add(const char *desired, enum server_state state)
{
    struct inspect_backend *b = world_add(&w, "be", desired);
    struct explanation *e = &world_mapping(b)->explanation;
    w.report.node = "n1";
    world_mapping(b)->node_known = world_mapping(b)->is_node = true;
    *e = (struct explanation){.state = state,
                              .server = mem_strdup("n1"),
                              .verdict = mem_strdup(state == SERVER_OUT ? "it is tainted" : "it is wanted")};
    add_rule(e, "known", true, "Node n1 is known");
    if (state == SERVER_OUT)
        add_rule(e, "eligible", false, "it is tainted");
    return b;
}

#define OTHER "\nserver n2 10.0.0.2:30443 check weight 100"
#define LINE "server n1 10.0.0.1:30443 check weight 100"
#define NOW "  now in HAProxy  " LINE

static const struct {
    const char *desired;
    enum server_state state;
    const char *actual, *running, *text;
} rows[] = {
    {"n1 10.0.0.1:30443", SERVER_LIVE, LINE, NULL, NOW "\n  next            nothing: it is as desired\n"},
    {"n1 [fd00::1]:30443", SERVER_LIVE, "server n1 10.0.0.1:30443 check port 80 send-proxy-v2 disabled", NULL,
     "  now in HAProxy  server n1 10.0.0.1:30443 check port 80 send-proxy-v2 disabled\n"
     "                  in maintenance: no new connections, open ones continue\n"
     "  next            ~ maintenance off, address 10.0.0.1 -> fd00::1, weight 100, send-proxy-v2 off\n"
     "                  by a transaction and a reload\n"},
    {"n1 10.0.0.1:30443; n2 10.0.0.2:30443", SERVER_LIVE, "server n1 10.0.0.7:80 backup", NULL,
     "  now in HAProxy  server n1 10.0.0.7:80 backup\n"
     "  next            nothing: the backend has a backup server of that name (10.0.0.7:80), and backup\n"
     "                  servers are unmanaged\n"},
    {"n1 10.0.0.1:30443", SERVER_LIVE, LINE, "!HTTP 500",
     NOW "\n                  cannot read the running HAProxy: HTTP 500\n"
         "  next            nothing: its line is as desired\n"},
    {"n1 10.0.0.1:30443; n2 10.0.0.2:30443", SERVER_LIVE, LINE OTHER, "n1 drain; n2 ready",
     NOW "\n                  admin state drain, set by an operator: left alone until it is set to ready\n"
         "  next            nothing: it is as desired\n"},
    {"n2 10.0.0.2:30443; out n1 it is tainted", SERVER_OUT, LINE, NULL,
     NOW "\n  next            - it is removed\n                  by a transaction and a reload\n"},
    {"out n1 it is tainted", SERVER_OUT, LINE, NULL,
     NOW "\n  next            it stays for now: none of the Service's 2 endpoints is ready; ALLOW_EMPTY is\n"
         "                  false, so the last servers stay (1)\n"},
    {"n2 10.0.0.2:30443", SERVER_OUT, "server n1 10.0.0.1:30443 backup", NULL,
     "  now in HAProxy  server n1 10.0.0.1:30443 backup\n  next            nothing: the line is unmanaged\n"},
};

FIXTURE(world_set_up, world_tear_down)

TEST_EACH(now_and_next, array_len(rows))
{
    world_see_running(&w, add(rows[_i].desired, rows[_i].state), rows[_i].actual, rows[_i].running);
    cleanup(mem_free_ptr) char *text =
        mem_printf("%s%s%s", HEADING, rows[_i].state == SERVER_LIVE ? LIVE : OUT, rows[_i].text);
    expect(text);
}

TEST(live_and_to_be_added)
{
    w.rules.dry_run = true;
    world_see(&w, add("n1 [fd00::1]:30443", SERVER_LIVE), "");
    expect(HEADING LIVE "  now in HAProxy  no server n1\n"
                        "  next            + server n1 [fd00::1]:30443 check weight 100\n"
                        "                  by a transaction and a reload\n"
                        "                  DRY_RUN=true: nothing is written\n");
}

TEST(undecided)
{
    struct inspect_backend *b = add("", SERVER_OUT);
    world_wait(b, DESIRED_UNDECIDED, "the Service has 2 ports");
    world_see(&w, b, "server n1 10.0.0.1:30443 check");
    expect(HEADING OUT "  now in HAProxy  server n1 10.0.0.1:30443 check\n"
                       "  next            nothing is written: the Service has 2 ports\n");
}

TEST(haproxy_away)
{
    world_unseen(add("n1 10.0.0.1:30443", SERVER_LIVE), "connection refused");
    expect(HEADING LIVE "  now in HAProxy  unknown, HAProxy could not be read: connection refused\n");
}

TEST(draining_where_it_was_commanded_and_where_not)
{
    w.report.target_count = 3;
    struct inspect_backend *b = add("n1 10.0.0.1:30443 draining; n2 10.0.0.2:30443", SERVER_DRAINING);
    const char *line = LINE OTHER;
    world_see_running(&w, b, line, "n1 drain; n2 ready");
    world_see_running(&w, world_in(&w, 1, b), line, "n1 ready; n2 ready");
    world_see_running(&w, world_in(&w, 2, b), line, "!HTTP 500");
    expect(HEADING "  node n1: draining\n    it is wanted\n\n  [x] known       Node n1 is known\n\n"
                   "  HAProxy http://lb1:5555\n" NOW "\n"
                   "                  draining, set at runtime only: no new connections, open ones continue\n"
                   "  next            nothing: it is as desired\n"
                   "\n"
                   "  HAProxy http://lb2:5555\n" NOW "\n"
                   "                  live: its admin state is ready\n"
                   "  next            ~ drain, at runtime only: n1 is wanted\n"
                   "\n"
                   "  HAProxy unix:/run/lb3.sock\n" NOW "\n"
                   "                  cannot read the running HAProxy: HTTP 500\n"
                   "  next            ~ maintenance on (draining)\n"
                   "                  by a transaction and a reload\n");
}

TEST(down_by_its_health_check)
{
    struct inspect_backend *b = add("n1 10.0.0.1:30443", SERVER_LIVE);
    world_see_running(&w, b, LINE, "n1 ready");
    b->runtime.servers[0].down = true;
    expect(HEADING LIVE NOW
           "\n"
           "                  DOWN: its admin state is ready, but its health check fails, so it gets no\n"
           "                  connections\n"
           "  next            nothing: its line is as desired; haproxy-k8s-sync doctor shows how to see why it\n"
           "                  is DOWN\n");
}

TEST(a_change_that_is_refused)
{
    struct inspect_backend *b = add("n1 10.0.0.1:30443", SERVER_LIVE);
    world_see(&w, b, "server n9 10.0.0.9:30443 backup");
    b->plan.verdict = PLAN_REFUSE;
    b->plan.why = "line 7: a conditional";
    expect(HEADING LIVE "  now in HAProxy  no server n1\n"
                        "  next            + server n1 10.0.0.1:30443 check weight 100\n"
                        "                  by a transaction and a reload\n"
                        "                  nothing is written: line 7: a conditional\n");
}

TEST(parked_and_to_be_parked)
{
    w.park_ttl_ms = 1000;
    w.report.target_count = 2;
    struct inspect_backend *b = add("n2 10.0.0.2:30443; out n1 it is tainted", SERVER_OUT);
    world_see_running(&w, b, "server n1 10.0.0.1:30443 check weight 100 disabled" OTHER, "n1 maint; n2 ready");
    world_see_running(&w, world_in(&w, 1, b), LINE OTHER, "n1 ready; n2 ready");
    expect(HEADING OUT "  HAProxy http://lb1:5555\n" NOW " disabled\n"
                       "                  parked: in maintenance, kept so that its return needs no reload\n"
                       "  next            nothing: it stays parked\n"
                       "\n"
                       "  HAProxy http://lb2:5555\n" NOW "\n"
                       "                  live: its admin state is ready\n"
                       "  next            ~ maintenance on (parked)\n"
                       "                  without a reload\n");
}

TEST(known_in_one_backend_only)
{
    world_see(&w, add("n1 10.0.0.1:30443", SERVER_LIVE), LINE);
    w.report.mappings[0].is_node = false;
    world_unseen(world_add(&w, "be2", "n1 10.0.0.1:30443"), "x");
    expect(HEADING "  endpoint n1: live\n    it is wanted\n\n  [x] known       Node n1 is known\n\n"
                   "  now in HAProxy  server n1 10.0.0.1:30443 check weight 100\n"
                   "  next            nothing: it is as desired\n"
                   "\n"
                   "backend be2  <-  Service ingress/web port https  (NodePort, policy Local, nodePort 30443)\n"
                   "  n1 is unknown here\n");
}

TEST(known_nowhere)
{
    world_unseen(world_add(&w, "be", "n1 10.0.0.1:30443"), "x");
    w.report.node = "n\x1b";
    expect("");
    world_expect(&w, inspect_print_problems,
                 "n\\x1b is unknown: it is no Node, no node of an endpoint, and no address of an endpoint without a\n"
                 "node\n");
    w.report.nearest = mem_strdup("n1, n2");
    w.report.target_count = 2;
    struct inspect_backend *b = world_in(&w, 1, &world_target(&w)->backends[0]);
    w.report.node = "n1";
    world_see(&w, b, "server n1 10.0.0.1:30443 check");
    cleanup(mem_free_ptr) char *text = world_print(&w, inspect_print_problems, false);
    ck_assert_ptr_nonnull(strstr(text, "\nHAProxy http://lb2:5555 has a server of this name in backend be: "));
    ck_assert(str_has_suffix(text, "\ndid you mean n1, n2?\n"));
    w.report.incomplete = true; /* then it is not said that there is none */
    checks_add(&w.report.missing, CHECK_FAIL, mem_strdup("watch nodes"), mem_strdup("x"), NULL);
    world_expect(&w, inspect_print_problems,
                 "not all Kubernetes objects were received in time:\n  [-] watch nodes: x\n");
}

TEST(colours_and_what_a_peer_wrote)
{
    struct inspect_backend *b = add("n2 10.0.0.2:30443; out n1 it is tainted", SERVER_OUT);
    add_rule(&world_mapping(b)->explanation, "odd", false, "label \x1b[2J");
    world_see(&w, b, "server n1 10.0.0.1\x07:30443 check weight 100");
    cleanup(mem_free_ptr) char *text = world_print(&w, inspect_print_explain, true);
    ck_assert_ptr_nonnull(strstr(text, "node \x1b[1mn1\x1b[0m: \x1b[31mout\x1b[0m"));
    ck_assert_ptr_nonnull(strstr(text, "\x1b[32m[x] \x1b[0mknown"));
    ck_assert_ptr_nonnull(strstr(text, "\x1b[31m[ ] \x1b[0m\x1b[31meligible\x1b[0m"));
    ck_assert_ptr_nonnull(strstr(text, "\x1b[31m- it is removed\x1b[0m"));
    ck_assert_ptr_nonnull(strstr(text, "label \\x1b[2J"));
    ck_assert_ptr_nonnull(strstr(text, "10.0.0.1\\x07:30443"));
}
