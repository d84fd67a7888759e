/* What an API server answers instead of a list: refusals, other people's pages, warnings; and an informer of one Service of several. */
#include "informer_peer.h"

FIXTURE(setup, teardown)

#define SERVICE_PATH "GET /api/v1/namespaces/ns/services?fieldSelector=metadata.name%3Dweb&"
#define SERVICE(name, version, port) \
    "{" META(name, version) ",\"spec\":{\"type\":\"NodePort\",\"ports\":[{\"port\":443,\"nodePort\":" port "}]}}"

static void start_service(const struct step *steps, size_t count)
{
    const struct informer_options options = {.resource = &kube_services,
                                             .namespace = "ns",
                                             .field_selector = "metadata.name=web",
                                             .scope = "ns/web",
                                             .may_be_denied = true};
    start_row(steps, count, &options, &callbacks);
}

TEST(a_scope_is_in_causes_and_in_the_log)
{
    static const struct step steps[] = {{.expect = SERVICE_PATH "watch=1&sendInitialEvents=true",
                                         .body = EVENT("ADDED", SERVICE("web", "1", "30443")) END_OF_LIST("5"),
                                         .after = HOLD}};
    start_service(steps, array_len(steps));
    UNTIL(was_commanded("changed: list of services of ns/web\n"));
    ck_assert_uint_eq(((const struct service *)cache_find(cache, "web"))->ports[0].node_port, 30443);
    ck_assert_uint_eq(times_logged("resource=services service=ns/web objects=1"), 1);
    push(EVENT("MODIFIED", SERVICE("web", "6", "31000")) EVENT("ADDED", SERVICE("odd", "7", "31001")));
    UNTIL(was_commanded("changed: MODIFIED service ns/web\nchanged: ADDED service odd of ns/web\n"));
    ck_assert_uint_eq(((const struct service *)cache_find(cache, "web"))->ports[0].node_port, 31000);
    push(EVENT("DELETED", SERVICE("web", "8", "31000")));
    UNTIL(was_commanded("changed: DELETED service ns/web\n"));
    ck_assert_ptr_null(cache_find(cache, "web"));
    ck_assert(status().synced);
}

TEST(a_denial_that_may_be_is_not_complained_about)
{
    static const struct step steps[] = {{.expect = SERVICE_PATH,
                                         .status = REFUSED("403 Forbidden"),
                                         .body = STATUS("403", "services is forbidden"),
                                         .after = END},
                                        {.expect = SERVICE_PATH,
                                         .status = REFUSED("404 Not Found"),
                                         .body = STATUS("404", "no services here"),
                                         .after = END},
                                        {.expect = SERVICE_PATH,
                                         .status = REFUSED("500 Internal Server Error"),
                                         .body = STATUS("500", "etcd is slow"),
                                         .after = END}};
    start_service(steps, array_len(steps));
    UNTIL(status().denied == INFORMER_FORBIDDEN);
    ck_assert_ptr_nonnull(strstr(status().problem, "services is forbidden"));
    UNTIL((informer_poke(informer), status().denied == INFORMER_NOT_SERVED));
    ck_assert_uint_eq(times_logged("level=warn"), 0);
    ck_assert_uint_eq(times_logged("level=debug msg=\"still no list\" resource=services service=ns/web"), 2);
    UNTIL((informer_poke(informer), strstr(status().problem, "etcd is slow") != NULL));
    ck_assert_uint_eq(times_logged("level=warn"), 1); /* any other trouble is */
}

TEST(an_endless_refusal_is_a_refusal)
{
    cleanup(mem_free_ptr) char *page = mem_alloc(100001);
    memset(page, 'x', 100000);
    const struct step steps[] = {{.expect = "sendInitialEvents=true",
                                  .status = "403 Forbidden\r\nContent-Type: text/plain",
                                  .body = page,
                                  .after = END}};
    start(steps, array_len(steps), NULL);
    UNTIL(status().denied == INFORMER_FORBIDDEN);
    ck_assert_ptr_nonnull(strstr(status().problem, "HTTP 403: xxx"));
}

TEST(an_empty_or_truncated_list_is_none)
{
    START({.expect = "sendInitialEvents=true",
           .status = REFUSED("400 Bad Request"),
           .body = STATUS("400", "no"),
           .after = END},
          {.expect = "limit=500", .body = "", .after = END},
          {.expect = "limit=500",
           .body = "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" NODE("n1", "1", "10.0.0.1"),
           .after = END},
          {.expect = "limit=500", .body = "{\"metadata\":{},\"items\":[]}", .after = END},
          {.expect = "limit=500", .body = LIST("5", "", ""), .after = END}, {.expect = "resourceVersion=5&"});
    UNTIL(peer.next == 2);
    for (size_t n = 3; n <= 5; n++) {
        UNTIL((informer_poke(informer), peer.next == n));
        ck_assert_uint_eq(cache_count(cache), 0);
    }
    UNTIL(status().synced); /* and a list of nothing is one */
    ck_assert_uint_eq(times_commanded("changed: list of nodes"), 1);
}

TEST(a_warning_is_passed_on_once)
{
    START({.expect = "sendInitialEvents=true",
           .status = "200 OK\r\nContent-Type: application/json\r\nWarning: 299 - \"Endpoints is deprecated\"",
           .body = TWO_NODES BOOKMARK("6"),
           .after = END},
          {.expect = "resourceVersion=6",
           .status =
               "200 OK\r\nContent-Type: application/json; charset=utf-8\r\nWarning: 299 - \"Endpoints is deprecated\"",
           .body = BOOKMARK("7"),
           .after = HOLD});
    UNTIL(times_commanded("requested: 200") == 2);
    ck_assert_uint_eq(times_logged("Endpoints is deprecated"), 1);
}
