/* `plan` as text: columns, cutting, colours, the heading, and problems of no backend (src/cli/plan_text,
 * inspect_print). */
#include "plan_text_world.h"

#include "../test.h"

/* ---- layout ---- */

FIXTURE(setup, teardown)

TEST(one_long_reason_puts_all_below)
{
    struct inspect_backend *b = world_add(&w, "be", "n1 10.0.0.1:30443; worker-17.example.org 10.0.0.17:30443");
    text_why(&world_mapping(b)->desired, &world_mapping(b)->desired.servers[1],
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

/* What is longer than its column pushes only its own reason away. */
TEST(a_row_that_is_too_long_is_its_own_affair)
{
    see("a-name-that-goes-on-and-on-and-on-and-on-for-ever 10.0.0.2:30443; n1 10.0.0.1:30443",
        "server n1 10.0.0.1:30443 check weight 100");
    expect(HEADING "  + a-name-that-goes-on-and-on-and-on-and-on-for-ever 10.0.0.2:30443 weight 100\n"
                   "                                    a-name-that-goes-on-and-on-and-on-and-on-for-ever is wanted\n"
                   "  = n1  10.0.0.1:30443  weight 100  n1 is wanted\n"
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
    text_why(&world_mapping(b)->desired, &world_mapping(b)->desired.servers[0], "slice \x1b[2Jx\ny");
    world_mapping(b)->desired.servers[0].address = "evil\xc2\x9b";
    world_skip(b, "node \r+ n9", "\xe2\x80\xae backwards");
    world_mapping(b)->desired.note = mem_strdup("\x07");
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

TEST(colours_tell_what_is_what)
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
    {"fixed", INSPECT_SERVICE_KNOWN, SERVICE_NODE_PORT, NULL, 31000, false, 2,
     "Service ingress/web  (NodePort, policy Local, HAPROXY_BACKEND_PORT 31000)"},
    {"its only port", INSPECT_SERVICE_KNOWN, SERVICE_NODE_PORT, NULL, 0, false, 1,
     "Service ingress/web port http  (NodePort, policy Local, nodePort 30080)"},
    {"no choice", INSPECT_SERVICE_KNOWN, SERVICE_NODE_PORT, NULL, 0, false, 2,
     "Service ingress/web  (NodePort, policy Local)"},
    {"no such port", INSPECT_SERVICE_KNOWN, SERVICE_NODE_PORT, "ftp", 0, false, 2,
     "Service ingress/web port ftp  (NodePort, policy Local)"},
    {"denied", INSPECT_SERVICE_DENIED, 0, "https", 30443, false, 0,
     "Service ingress/web port https\n  (the Service itself may not be read, HAPROXY_BACKEND_PORT 30443)"},
    {"absent", INSPECT_SERVICE_ABSENT, 0, NULL, 30443, false, 0,
     "Service ingress/web  (there is no such Service, HAPROXY_BACKEND_PORT 30443)"},
    {"waiting", INSPECT_SERVICE_WAITING, 0, "https", 30443, false, 0, "Service ingress/web port https"},
};

TEST_EACH(heading_tells_what_is_known, array_len(headings))
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
    world_target(&w)->warning = mem_strdup("a reload is pending");
    world_expect(&w, inspect_print_problems,
                 "not all Kubernetes objects were received in time:\n"
                 "  [-] watch nodes: not synced: forbidden\\x1b\n"
                 "  [-] watch services: not synced; waiting\n"
                 "note: a reload is pending\n");
}
