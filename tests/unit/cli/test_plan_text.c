/* `plan` as text: what it says of each backend and each HAProxy (src/cli/plan_text, inspect_print): pages by hand, as
 * they are to be read. */
#include "plan_text_world.h"

#include "../test.h"

FIXTURE(setup, teardown)

TEST(in_step)
{
    see("n1 10.0.0.1:30443; n2 10.0.0.2:30443 draining; n3 10.0.0.3:30443 draining",
        "server n1 10.0.0.1:30443 check weight 100\nserver n2 10.0.0.2:30443 check weight 7 disabled");
    expect(HEADING "  = n1  10.0.0.1:30443  weight 100          n1 is wanted\n"
                   "  = n2  10.0.0.2:30443  weight 7  draining  n2 is wanted\n"
                   "\n"
                   "  . n3: draining, and has no line: none is added (n3 is wanted)\n"
                   "\n"
                   "  in sync: 2 servers, 1 draining\n");
}

TEST(every_kind_of_change)
{
    w.rules.diff.balance = "roundrobin";
    see("n1 10.0.0.9:30443; n3 10.0.0.3:30443; n10 [fd00::10]:30443; n4 10.0.0.4:30443; n5 10.0.0.5:30443 draining; "
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

TEST(a_backend_to_be_made)
{
    w.rules.diff.create_backend = true;
    see("n1 10.0.0.1:30443", "missing");
    expect(HEADING "  + the backend itself\n"
                   "  + n1  10.0.0.1:30443  weight 100  n1 is wanted\n"
                   "\n"
                   "  2 changes: 1 to add, the backend to create; by a transaction and a reload\n");
}

TEST(kept_without_endpoints)
{
    see("out n1 no endpoint is ready", "server n1 10.0.0.1:30443 check weight 100\nserver n2 10.0.0.2:30443 check");
    expect(HEADING "  ! n1  10.0.0.1:30443  weight 100  kept  node n1: no endpoint is ready\n"
                   "  ! n2  10.0.0.2:30443  kept\n"
                   "\n"
                   "  keeping servers: none of the Service's 2 endpoints is ready; ALLOW_EMPTY is false, so the last\n"
                   "                   servers stay (2)\n");
}

/* It is wanted, but not as it is: it would drain, were another one live. */
TEST(kept_what_would_drain)
{
    see("n1 10.0.0.1:30443 draining", "server n1 10.0.0.1:30443 check weight 100");
    cleanup(mem_free_ptr) char *text = world_print(&w, inspect_print_plan, false);
    ck_assert_ptr_nonnull(strstr(text, "  ! n1  10.0.0.1:30443  weight 100  kept  n1 is wanted\n"));
    ck_assert_ptr_nonnull(strstr(text, "  keeping servers: "));
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

TEST(the_loss_limit_alone)
{
    w.rules.max_loss_percent = 20;
    see("n1 10.0.0.1:30443; out n2 gone", "server n1 10.0.0.1:30443 check weight 100\n"
                                          "server n2 10.0.0.2:30443 check weight 100");
    expect(HEADING "  ! n2  10.0.0.2:30443  weight 100  kept  node n2: gone\n"
                   "  = n1  10.0.0.1:30443  weight 100        n1 is wanted\n"
                   "\n"
                   "  removal delayed: 1 of 2 live servers lost unannounced within one RESYNC_PERIOD exceed\n"
                   "                   MAX_LOSS_PERCENT=20; the removal of each beyond that is delayed by one\n"
                   "                   RESYNC_PERIOD from its loss, unless it is desired again\n");
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

TEST(refused)
{
    see("n1 10.0.0.1:30443", "missing");
    expect(HEADING
           "  refused: HAProxy has no backend be: add it to haproxy.cfg, fix its name in HAPROXY_BACKEND_NAME or\n"
           "           INGRESS_SERVICES, or create it with HAPROXY_CREATE_BACKEND=true\n");
}

TEST(refused_for_a_line_says_nothing_of_servers)
{
    see("n1 10.0.0.1:30443", "server n7 10.0.0.7:80 check\nalien 12 use-server x if y|the API would lose it");
    cleanup(mem_free_ptr) char *text = world_print(&w, inspect_print_plan, false);
    ck_assert_ptr_nonnull(strstr(text, "  refused: backend be has lines"));
    ck_assert_ptr_nonnull(strstr(text, "use-server"));
    ck_assert_ptr_null(strstr(text, "n7"));
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

TEST(reload_again)
{
    world_target(&w)->dirty = true;
    see("n1 10.0.0.1:30443", "server n1 10.0.0.1:30443 check weight 100");
    expect(HEADING "  = n1  10.0.0.1:30443  weight 100  n1 is wanted\n"
                   "\n"
                   "  reload due: the last reload failed; an empty commit would reload HAProxy\n");
}

TEST(two_backends_have_a_line_between_them)
{
    see("n1 10.0.0.1:30443", "server n1 10.0.0.1:30443 check weight 100");
    world_unseen(world_add(&w, "be2", "n1 10.0.0.1:30443"), "it answers in riddles");
    expect(HEADING "  = n1  10.0.0.1:30443  weight 100  n1 is wanted\n"
                   "\n"
                   "  in sync: 1 server\n"
                   "\n"
                   "backend be2  <-  Service ingress/web port https  (NodePort, policy Local, nodePort 30443)\n"
                   "  unknown: it answers in riddles\n");
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

/* Nothing is live, and what is parked is no last good server. */
TEST(kept_beside_parked_ones)
{
    w.park_ttl_ms = 1000;
    struct inspect_backend *b = world_add(&w, "be", "");
    world_see_running(&w, b,
                      "server n1 10.0.0.1:30443 check weight 100\nserver n2 10.0.0.2:30443 check weight 100 disabled",
                      "n1 drain; n2 maint");
    expect(HEADING "  ! n1  10.0.0.1:30443  weight 100  kept\n"
                   "\n"
                   "  . parked: n2 (maintenance, kept so that its return needs no reload)\n"
                   "\n"
                   "  keeping servers: none of the Service's 2 endpoints is ready; ALLOW_EMPTY is false, so the last\n"
                   "                   servers stay (1)\n");
}

/* With PARK_TTL=0 nothing is parked. */
TEST(kept_what_is_in_maintenance)
{
    see("", "server n1 10.0.0.1:30443 check weight 100\nserver n2 10.0.0.2:30443 check weight 100 disabled");
    cleanup(mem_free_ptr) char *text = world_print(&w, inspect_print_plan, false);
    ck_assert_ptr_nonnull(strstr(text, "  ! n2  10.0.0.2:30443  weight 100  kept\n"));
    ck_assert_ptr_null(strstr(text, "parked"));
}

TEST(what_runs_cannot_be_read)
{
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.9:30443");
    world_see_running(&w, b, "server n1 10.0.0.1:30443 check weight 100", "!HTTP 500: no socket");
    expect(HEADING
           "  ~ n1  address 10.0.0.1 -> 10.0.0.9  n1 is wanted\n"
           "\n"
           "  1 change: 1 to change; by a transaction and a reload (cannot read the running HAProxy: HTTP 500:\n"
           "            no socket)\n");
}

TEST(in_sync_by_its_file_alone)
{
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443");
    world_see_running(&w, b, "server n1 10.0.0.1:30443 check weight 100", "!HTTP 500: no socket");
    expect(HEADING "  = n1  10.0.0.1:30443  weight 100  n1 is wanted\n"
                   "\n"
                   "  in sync: 1 server, by haproxy.cfg alone: cannot read the running HAProxy: HTTP 500: no socket\n");
}

TEST(it_runs_something_else)
{
    world_target(&w)->dirty = true;
    world_target(&w)->drift = mem_strdup("backend be: server n1: HAProxy does not run it");
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
    w.report.targets[2].warning = mem_strdup("a reload is pending");
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
    world_mapping(b)->desired.note = mem_strdup("NODE_MODE=all has no effect with policy Local");
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
