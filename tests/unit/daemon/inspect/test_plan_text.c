/* `plan` as text (src/daemon/inspect/plan_text, inspect_print): pages by hand, as they are to be read, then columns, cutting, colours, the heading
 * and problems of no backend. */

#include "inspect_world.h"

#define HEADING WORLD_HEADING

static void expect(const char *text)
{
    world_expect(&w, inspect_print_plan, text);
}

static struct inspect_backend *see(const char *desired, const char *actual)
{
    struct inspect_backend *b = world_add(&w, "be", desired);
    world_see(&w, b, actual);
    return b;
}

#define LINE1 "server n1 10.0.0.1:30443 check weight 100"

static const struct {
    const char *desired, *actual, *running, *text;
} rows[] = {
    {"n1 10.0.0.1:30443; n2 10.0.0.2:30443 draining; n3 10.0.0.3:30443 draining",
     LINE1 "\nserver n2 10.0.0.2:30443 check weight 7 disabled", NULL,
     "  = n1  10.0.0.1:30443  weight 100          n1 is wanted\n"
     "  = n2  10.0.0.2:30443  weight 7  draining  n2 is wanted\n"
     "\n"
     "  . n3: draining, and has no line: none is added (n3 is wanted)\n"
     "\n"
     "  in sync: 2 servers, 1 draining\n"},
    {"out n1 no endpoint is ready", LINE1 "\nserver n2 10.0.0.2:30443 check", NULL,
     "  ! n1  10.0.0.1:30443  weight 100  kept  node n1: no endpoint is ready\n"
     "  ! n2  10.0.0.2:30443  kept\n"
     "\n"
     "  keeping servers: none of the Service's 2 endpoints is ready; ALLOW_EMPTY is false, so the last\n"
     "                   servers stay (2)\n"},
    {"n1 10.0.0.1:30443", "missing", NULL,
     "  refused: HAProxy has no backend be: add it to haproxy.cfg, fix its name in HAPROXY_BACKEND_NAME or\n"
     "           INGRESS_SERVICES, or create it with HAPROXY_CREATE_BACKEND=true\n"},
    {"n1 10.0.0.9:30443", LINE1, "!HTTP 500: no socket",
     "  ~ n1  address 10.0.0.1 -> 10.0.0.9  n1 is wanted\n"
     "\n"
     "  1 change: 1 to change; by a transaction and a reload (cannot read the running HAProxy: HTTP 500:\n"
     "            no socket)\n"},
    {"n1 10.0.0.1:30443", LINE1, "!HTTP 500: no socket",
     "  = n1  10.0.0.1:30443  weight 100  n1 is wanted\n"
     "\n"
     "  in sync: 1 server, by haproxy.cfg alone: cannot read the running HAProxy: HTTP 500: no socket\n"},
};

FIXTURE(world_set_up, world_tear_down)

TEST_EACH(one_backend, array_len(rows))
{
    world_see_running(&w, world_add(&w, "be", rows[_i].desired), rows[_i].actual, rows[_i].running);
    cleanup(mem_free_ptr) char *text = mem_printf("%s%s", HEADING, rows[_i].text);
    expect(text);
}

TEST(every_kind_of_change)
{
    w.rules.diff.balance = "roundrobin";
    see("n1 10.0.0.9:30443; n10 [fd00::10]:30443; n3 10.0.0.3:30443; n4 10.0.0.4:30443; n5 10.0.0.5:30443 draining; "
        "out n2 it is tainted",
        "balance leastconn\n"
        "server n1 10.0.0.1:30443 check weight 100\nserver n2 10.0.0.2:30443 check weight 100\n"
        "server n4 10.0.0.4:30443 check weight 100\nserver n5 10.0.0.5:30443 check weight 100\n"
        "server old 10.0.0.77:30443 check\n"
        "server sorry 10.9.9.9:80 backup\nserver-template t 1-3");
    expect(HEADING "  ~ balance leastconn -> roundrobin\n"
                   "  + n3   10.0.0.3:30443    weight 100  n3 is wanted\n"
                   "  + n10  [fd00::10]:30443  weight 100  n10 is wanted\n"
                   "  ~ n1   address 10.0.0.1 -> 10.0.0.9  n1 is wanted\n"
                   "  ~ n5   maintenance on (draining)     n5 is wanted\n"
                   "  - n2   10.0.0.2:30443    weight 100  node n2: it is tainted\n"
                   "  - old  10.0.0.77:30443               no endpoint of the Service is on a node of that name\n"
                   "  = n4   10.0.0.4:30443    weight 100  n4 is wanted\n"
                   "\n"
                   "  . 2 server lines are unmanaged\n"
                   "\n"
                   "  7 changes: 2 to add, 2 to change, 2 to remove, settings; by a transaction and a reload\n");
}

TEST(others_inherit_the_proxy_protocol)
{
    w.rules.diff.proxy_v2 = true;
    see("n1 10.0.0.1:30443", "server n1 10.0.0.1:30443 check weight 100\nserver sorry 10.9.9.9:80 backup");
    expect(HEADING "  ~ default-server send-proxy-v2 on\n"
                   "  = n1  10.0.0.1:30443  weight 100  n1 is wanted\n"
                   "\n"
                   "  . 1 server line is unmanaged; 1 of them would inherit send-proxy-v2\n"
                   "\n"
                   "  1 change: settings; by a transaction and a reload\n");
}

TEST(the_loss_limit_holds_a_part)
{
    w.rules.max_loss_percent = 20;
    see("n1 10.0.0.1:30443; n3 10.0.0.3:30443; out n2 gone",
        "server n1 10.0.0.1:30443 check weight 100\nserver n2 10.0.0.2:30443 check weight 100");
    expect(HEADING
           "  + n3  10.0.0.3:30443  weight 100        n3 is wanted\n"
           "  ! n2  10.0.0.2:30443  weight 100  kept  node n2: gone\n"
           "  = n1  10.0.0.1:30443  weight 100        n1 is wanted\n"
           "\n"
           "  1 change: 1 to add; by a transaction and a reload; removal delayed: 1 of 2 live servers lost\n"
           "            unannounced within one RESYNC_PERIOD exceed MAX_LOSS_PERCENT=20; the removal of each\n"
           "            beyond that is delayed by one RESYNC_PERIOD from its loss, unless it is desired again\n");
}

TEST(not_written)
{
    w.rules.dry_run = true;
    see("n1 10.0.0.1:30443; n2 10.0.0.2:30443", "server n1 10.0.0.1:30443 check weight 100");
    expect(HEADING "  + n2  10.0.0.2:30443  weight 100  n2 is wanted\n"
                   "  = n1  10.0.0.1:30443  weight 100  n1 is wanted\n"
                   "\n"
                   "  not written: 1 to add; by a transaction and a reload; DRY_RUN=true: nothing is written\n");
}

TEST(waiting)
{
    struct inspect_backend *b = world_add(&w, "be", "");
    world_wait(b, DESIRED_UNDECIDED, "Service ingress/web has 2 ports");
    world_see(&w, b, "server n1 10.0.0.1:30443 check weight 100");
    expect(HEADING "  waiting: Service ingress/web has 2 ports\n");
}

TEST(unseen)
{
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443");
    world_unseen(b, "connection refused");
    expect(HEADING "  unknown: connection refused\n");
    world_wait(b, DESIRED_NOT_SYNCED, "Nodes not read yet");
    expect(HEADING "  unknown: connection refused; also, Nodes not read yet\n");
}

/* ---- with and without a reload, parked, set by an operator ---- */

#define LINES                                                                                \
    "server n1 10.0.0.1:30443 check weight 100\nserver n2 10.0.0.2:30443 check weight 100\n" \
    "server n4 10.0.0.4:30443 check weight 100\nserver n10 10.0.0.10:30443 check weight 100 disabled\n"

TEST(all_without_a_reload)
{
    w.park_ttl_ms = 1000;
    struct inspect_backend *b =
        world_add(&w, "be", "n1 10.0.0.9:30443; n4 10.0.0.4:30443 draining; out n2 it is tainted; out n10 gone");
    world_see_running(&w, b, LINES "server n7 10.0.0.7:30443 check disabled",
                      "n1 ready; n2 ready; n4 ready; n10 maint; n7 maint");
    expect(HEADING "  ~ n1  address 10.0.0.1 -> 10.0.0.9  n1 is wanted\n"
                   "  ~ n2  maintenance on (parked)       node n2: it is tainted\n"
                   "  ~ n4  drain, at runtime only        n4 is wanted\n"
                   "\n"
                   "  . parked: n7, n10 (maintenance, kept so that their return needs no reload)\n"
                   "  ! node n10: gone\n"
                   "\n"
                   "  3 changes: 1 to change, 1 to drain, 1 to park; without a reload\n");
}

/* The drain is in the file, too, because a reload would forget the runtime command. */
TEST(some_need_a_reload)
{
    w.park_ttl_ms = 1000;
    w.rules.diff.balance = "roundrobin";
    struct inspect_backend *b =
        world_add(&w, "be",
                  "n1 10.0.0.9:30443; n3 10.0.0.3:30443; n4 10.0.0.4:30443 draining; spare n5 10.0.0.5:30443; "
                  "out n2 gone");
    world_see_running(&w, b, LINES, "n1 ready; n2 ready; n4 ready; n10 maint");
    expect(HEADING
           "  ~ balance (none) -> roundrobin\n"
           "  + n3  10.0.0.3:30443  weight 100  reload          n3 is wanted\n"
           "  + n5  10.0.0.5:30443  weight 100  parked  reload  n5 is wanted\n"
           "  ~ n1  address 10.0.0.1 -> 10.0.0.9                n1 is wanted\n"
           "  ~ n2  maintenance on (parked)                     node n2: gone\n"
           "  ~ n4  maintenance on (draining)  reload           n4 is wanted\n"
           "\n"
           "  . parked: n10 (maintenance, kept so that its return needs no reload)\n"
           "\n"
           "  6 changes: 1 to add, 2 to change, 2 to park, settings; 2 without a reload, 4 by a transaction and\n"
           "             a reload\n");
}

TEST(in_sync_with_commanded_and_overridden_states)
{
    w.park_ttl_ms = 1000;
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443; n2 10.0.0.2:30443; n4 10.0.0.4:30443 draining");
    world_see_running(&w, b, LINES, "n1 ready; n2 maint; n4 drain; n10 maint");
    expect(HEADING "  = n1  10.0.0.1:30443  weight 100                     n1 is wanted\n"
                   "  = n2  10.0.0.2:30443  weight 100  maint by operator  n2 is wanted\n"
                   "  = n4  10.0.0.4:30443  weight 100  draining           n4 is wanted\n"
                   "\n"
                   "  ! admin states set by an operator: n2 is in maint; left alone until set to ready\n"
                   "  . parked: n10 (maintenance, kept so that its return needs no reload)\n"
                   "\n"
                   "  in sync: 3 servers, 1 draining\n");
}

TEST(it_runs_something_else)
{
    world_target(&w)->dirty = true;
    world_target(&w)->drift = "backend be: server n1: HAProxy does not run it";
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443");
    world_see_running(&w, b, "server n1 10.0.0.1:30443 check weight 100", "n2 ready");
    expect(HEADING "  = n1  10.0.0.1:30443  weight 100  n1 is wanted\n"
                   "\n"
                   "  reload due: running HAProxy differs from haproxy.cfg; an empty commit would reload it\n");
    world_expect(&w, inspect_print_problems,
                 "note: running HAProxy differs from haproxy.cfg: backend be: server n1: HAProxy does not run it\n");
    world_see_running(&w, b, "server n1 10.0.0.9:30443 check weight 100", "n1 ready");
    expect(HEADING "  ~ n1  address 10.0.0.9 -> 10.0.0.1  n1 is wanted\n"
                   "\n"
                   "  1 change: 1 to change; by a transaction and a reload (HAProxy is reloaded in any case)\n");
}

TEST(several_backends_that_were_not_read_are_one_line)
{
    world_unseen(world_add(&w, "be", ""), "connection refused");
    struct inspect_backend *two = world_add(&w, "two", "");
    world_unseen(two, "connection refused");
    expect("HAProxy http://lb1:5555\n"
           "  unknown: connection refused\n");
    world_unseen(two, "HTTP 503");
    expect(HEADING "  unknown: connection refused\n"
                   "\n"
                   "backend two  <-  Service ingress/web port https  (NodePort, policy Local, nodePort 30443)\n"
                   "  unknown: HTTP 503\n");
}

TEST(a_section_for_each_haproxy)
{
    w.report.target_count = 3;
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443"), *two = world_add(&w, "two", "");
    const struct inspect_backend *all[] = {b, two};
    for (size_t i = 0; i < array_len(all); i++)
        world_unseen(world_in(&w, 1, all[i]), "connection refused");
    world_unseen(two, "it answers in riddles");
    world_unseen(world_in(&w, 2, two), "HTTP 503");
    world_see(&w, world_in(&w, 2, b), "server n1 10.0.0.1:30443 check weight 100");
    world_see(&w, b, "server n1 10.0.0.1:30443 check weight 7");
    w.report.targets[2].warning = "a reload is pending";
#define TWO "backend two  <-  Service ingress/web port https  (NodePort, policy Local, nodePort 30443)\n"
    expect("HAProxy http://lb1:5555\n" HEADING "  = n1  10.0.0.1:30443  weight 7  n1 is wanted\n"
           "\n"
           "  in sync: 1 server\n"
           "\n" TWO "  unknown: it answers in riddles\n"
           "\n"
           "HAProxy http://lb2:5555\n"
           "  unknown: connection refused\n"
           "\n"
           "HAProxy unix:/run/lb3.sock\n" HEADING "  = n1  10.0.0.1:30443  weight 100  n1 is wanted\n"
           "\n"
           "  in sync: 1 server\n"
           "\n" TWO "  unknown: HTTP 503\n");
    world_expect(&w, inspect_print_problems, "note: HAProxy unix:/run/lb3.sock: a reload is pending\n");
}

/* ---- left out ---- */

TEST(what_was_left_out)
{
    static char n8[] = "n8";
    static char *const keep[] = {n8};
    w.rules.diff.keep_servers = keep;
    w.rules.diff.keep_count = 1;
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443; n8 10.0.0.8:30443");
    world_skip(b, "endpoint 10.1.0.1", "it is not ready")->ordinary = true;
    world_skip(b, "node n7", "it has no address of the asked kind");
    world_desired(b)->note = mem_strdup("NODE_MODE=all has no effect with policy Local");
    world_see(&w, b, "server n1 10.0.0.1:30443 check weight 100");
    expect(HEADING "  = n1  10.0.0.1:30443  weight 100  n1 is wanted\n"
                   "\n"
                   "  ! n8: the name matches n8 in HAPROXY_KEEP_SERVERS, so it would never be changed or removed\n"
                   "  ! node n7: it has no address of the asked kind\n"
                   "  . endpoint 10.1.0.1: it is not ready\n"
                   "  ! NODE_MODE=all has no effect with policy Local\n"
                   "\n"
                   "  in sync: 1 server\n");
}

TEST(many_ordinary_ones_are_counted)
{
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443");
    for (int i = 0; i < 14; i++)
        world_skip(b, "endpoint", "it is not ready")->ordinary = true;
    world_see(&w, b, "server n1 10.0.0.1:30443 check weight 100");
    cleanup(mem_free_ptr) char *text = world_print(&w, inspect_print_plan, false);
    size_t lines = 0;
    for (const char *at = text; (at = strstr(at, "  . endpoint: it is not ready\n")) != NULL; at++)
        lines++;
    ck_assert_uint_eq(lines, 10);
    ck_assert_ptr_nonnull(strstr(text, "  . and 4 more like these; -o json has them all\n"));
}

/* The rules know more than the desired state of a node that has nothing to do with the Service. */
TEST(reasons_of_the_rules)
{
    struct inspect_backend *b =
        see("n1 10.0.0.1:30443", "server n1 10.0.0.1:30443 check weight 100\nserver n2 10.0.0.2:30443 check weight 5");
    b->reasons = mem_array(1, sizeof(b->reasons[0]));
    b->reasons[b->reason_count++] =
        (struct inspect_reason){mem_strdup("n2"), mem_strdup("node n2: no endpoint is on it")};
    expect(HEADING "  - n2  10.0.0.2:30443  weight 5    node n2: no endpoint is on it\n"
                   "  = n1  10.0.0.1:30443  weight 100  n1 is wanted\n"
                   "\n"
                   "  1 change: 1 to remove; by a transaction and a reload\n");
}

/* ---- layout ---- */

TEST(one_long_reason_puts_all_below)
{
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443; worker-17.example.org 10.0.0.17:30443");
    text_why(world_desired(b), &world_desired(b)->servers[1],
             "2 ready endpoints on node worker-17.example.org (slices web-abc12, web-xyz99); "
             "nodePort 30443 of its port https");
    world_see(&w, b, "server n1 10.0.0.1:30443 check weight 100");
    expect(HEADING
           "  + worker-17.example.org  10.0.0.17:30443  weight 100\n"
           "      2 ready endpoints on node worker-17.example.org (slices web-abc12, web-xyz99); nodePort 30443\n"
           "      of its port https\n"
           "  = n1                     10.0.0.1:30443   weight 100\n"
           "      n1 is wanted\n"
           "\n"
           "  1 change: 1 to add; by a transaction and a reload\n");
}

TEST(no_line_is_too_wide)
{
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443; n2 10.0.0.2:30443");
    for (int i = 0; i < 3; i++)
        world_skip(
            b, "endpoint 10.244.1.7 of slice web-abc12",
            "its node has no address of the kind and the family that was asked for, and that is said at some length");
    world_see(&w, b, "server n1 10.0.0.9:1 weight 7\nserver n3 10.0.0.3:30443 check weight 100");
    cleanup(mem_free_ptr) char *text = world_print(&w, inspect_print_plan, false);
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;)
        ck_assert_msg(page_columns(line) <= PAGE_WIDTH_DEFAULT, "%s", line);
}

TEST(nothing_that_a_peer_wrote_gets_through)
{
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443");
    text_why(world_desired(b), &world_desired(b)->servers[0], "slice \x1b[2Jx\ny");
    world_desired(b)->servers[0].address = "evil\xc2\x9b";
    world_skip(b, "node \r+ n9", "\xe2\x80\xae backwards");
    world_desired(b)->note = mem_strdup("\x07");
    world_see(&w, b, "server n\x1b 10.0.0.2:80 check\nserver n1 10.0.0.1:30443 check weight 100");
    for (int colour = 0; colour < 2; colour++) {
        cleanup(mem_free_ptr) char *text = world_print(&w, inspect_print_plan, colour);
        ck_assert_ptr_nonnull(strstr(text, "\\x1b[2Jx y"));
        for (const char *s = text; *s != '\0'; s++)
            ck_assert_msg((unsigned char)*s >= 0x20 || *s == '\n' || (colour && *s == '\x1b'), "%02x in %s", *s, text);
        ck_assert_ptr_null(strstr(text, "\x1b[2J"));
        ck_assert_ptr_null(strstr(text, "\xc2\x9b"));
        ck_assert_ptr_null(strstr(text, "\xe2\x80\xae"));
    }
}

TEST(colours_show_what_is_what)
{
    see("n1 10.0.0.1:30443; n2 10.0.0.2:30443 draining",
        "server n2 10.0.0.2:30443 check weight 7 disabled\nserver n3 10.0.0.3:30443 check weight 7");
    cleanup(mem_free_ptr) char *text = world_print(&w, inspect_print_plan, true);
    ck_assert_ptr_nonnull(strstr(text, "backend \x1b[1mbe\x1b[0m"));
    ck_assert_ptr_nonnull(strstr(text, "\x1b[32m+ n1\x1b[0m"));
    ck_assert_ptr_nonnull(strstr(text, "\x1b[31m- n3\x1b[0m"));
    ck_assert_ptr_nonnull(strstr(text, "\x1b[36m= n2\x1b[0m"));
    ck_assert_ptr_nonnull(strstr(text, "\x1b[2mn1 is wanted\x1b[0m"));
    ck_assert_ptr_nonnull(strstr(text, "\x1b[33m2 changes\x1b[0m"));
}

/* ---- heading ---- */

static const struct {
    const char *what;
    enum inspect_service state;
    enum service_type type;
    const char *port;
    uint16_t fixed_port;
    bool paused;
    size_t port_count;
    const char *heading;
} headings[] = {
    {"load balancer", INSPECT_SERVICE_KNOWN, SERVICE_LOAD_BALANCER, "443", 0, true, 2,
     "Service ingress/web port https  (LoadBalancer, policy Local, nodePort 30443, paused)"},
    {"ClusterIP", INSPECT_SERVICE_KNOWN, SERVICE_CLUSTER_IP, "http", 0, false, 2,
     "Service ingress/web port http  (ClusterIP, the endpoint's own port)"},
    {"its only port", INSPECT_SERVICE_KNOWN, SERVICE_NODE_PORT, NULL, 0, false, 1,
     "Service ingress/web port http  (NodePort, policy Local, nodePort 30080)"},
    {"denied", INSPECT_SERVICE_DENIED, 0, "https", 30443, false, 0,
     "Service ingress/web port https\n  (the Service itself may not be read, HAPROXY_BACKEND_PORT 30443)"},
    {"absent", INSPECT_SERVICE_ABSENT, 0, NULL, 30443, false, 0,
     "Service ingress/web  (there is no such Service, HAPROXY_BACKEND_PORT 30443)"},
    {"waiting", INSPECT_SERVICE_WAITING, 0, "https", 30443, false, 0, "Service ingress/web port https"},
};

TEST_EACH(heading_shows_what_is_known, array_len(headings))
{
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443");
    world_unseen(b, "x");
    world_mapping(b)->service_state = headings[_i].state;
    world_mapping(b)->service = headings[_i].state == INSPECT_SERVICE_KNOWN ? &w.service : NULL;
    w.service.type = headings[_i].type;
    w.service.port_count = headings[_i].port_count;
    w.service.paused = headings[_i].paused;
    w.mapping.port = headings[_i].port;
    w.mapping.fixed_port = headings[_i].fixed_port;
    cleanup(mem_free_ptr) char *text = mem_printf("backend be  <-  %s\n  unknown: x\n", headings[_i].heading);
    expect(text);
}

/* ---- for standard error ---- */

TEST(problems_of_no_backend)
{
    world_expect(&w, inspect_print_problems, "");
    w.report.incomplete = true;
    checks_add(&w.report.missing, CHECK_FAIL, mem_strdup("watch nodes"), mem_strdup("not synced: forbidden\x1b"), NULL);
    checks_add(&w.report.missing, CHECK_OK, mem_strdup("watch endpointslices"), mem_strdup("synced"), NULL);
    checks_add(&w.report.missing, CHECK_FAIL, mem_strdup("watch services"), mem_strdup("not synced"),
               mem_strdup("waiting"));
    world_target(&w)->warning = "a reload is pending";
    world_expect(&w, inspect_print_problems,
                 "not all Kubernetes objects were received in time:\n"
                 "  [-] watch nodes: not synced: forbidden\\x1b\n"
                 "  [-] watch services: not synced; waiting\n"
                 "note: a reload is pending\n");
}

/* One cause is one sentence. */
TEST(an_api_server_that_is_away)
{
    static const char *const reasons[][2] = {
        {"streaming list: no connection: GET http://k/api/v1/nodes: refused",
         "refused. Nothing is known of its Services;\nhaproxy-k8s-sync doctor checks the way to it\n"},
        {"list: HTTP 401",
         "list: HTTP 401. Nothing is known of its Services;\nhaproxy-k8s-sync doctor checks the way to it\n"}};
    for (size_t i = 0; i < array_len(reasons); i++) {
        cleanup(mem_free_ptr) char *said = mem_printf("Kubernetes API http://k:6443 cannot be used: %s", reasons[i][1]);
        w.report.incomplete = w.report.away = true;
        checks_fini(&w.report.missing);
        w.report.missing = (struct checks){0};
        checks_add(&w.report.missing, CHECK_FAIL, mem_strdup("Kubernetes API http://k:6443"), mem_strdup(reasons[i][0]),
                   NULL);
        world_expect(&w, inspect_print_problems, said);
    }
}
