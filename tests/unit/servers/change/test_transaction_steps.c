/* src/servers/change/diff and src/haproxy/dataplane/transaction_steps: from a difference to the requests of a
 * transaction. */

#include "haproxy/dataplane/transaction_steps.h"
#include "../../json_text.h"
#include "haproxy/change.h"
#include "servers/change/diff.h"
#include "servers/change/diff.h"

static char *writable(const char *s)
{
    return (char *)(uintptr_t)s;
}

static struct diff_change change(enum diff_op op, const char *name, const char *json)
{
    return (struct diff_change){.op = op,
                                .server = {.name = writable(name),
                                           .address = writable("10.0.0.1"),
                                           .port = 80,
                                           .weight = 100,
                                           .check = true,
                                           .json = writable(json)}};
}

static int add_steps(const struct backend *actual, const struct diff *d, struct transaction_step **steps, size_t *count,
                     struct error *err)
{
    size_t changes;
    cleanup(mem_free_ptr) struct change *list = changes_of(actual, d, &changes);
    return transaction_steps_add(list, changes, steps, count, err);
}

TEST(steps_of_a_difference)
{
    static const struct {
        const char *method, *path, *body, *what;
    } expected[] = {
        {"PUT", "/configuration/backends/b%2Fe", "{\"name\":\"b/e\",\"balance\":{\"algorithm\":\"roundrobin\"}}",
         "change backend b/e"},
        {"PUT", "/configuration/backends/b%2Fe/servers/n2",
         "{\"name\":\"n2\",\"address\":\"10.0.0.1\",\"inter\":1,\"port\":80,\"check\":\"enabled\",\"weight\":100}",
         "change server n2"},
        {"POST", "/configuration/backends/b%2Fe/servers",
         "{\"name\":\"n 1\",\"address\":\"10.0.0.1\",\"port\":80,\"check\":\"enabled\",\"weight\":100}",
         "add server n 1"},
        {"POST", "/configuration/backends/b%2Fe/servers",
         "{\"name\":\"n3\",\"address\":\"10.0.0.1\",\"port\":80,\"check\":\"enabled\",\"weight\":100}",
         "add server n3"},
        {"DELETE", "/configuration/backends/b%2Fe/servers/%22n%3F%22", NULL, "remove server \"n?\""},
    };
    struct diff_change changes[] = {change(DIFF_ADD, "n 1", NULL),
                                    change(DIFF_CHANGE, "n2", "{\"name\":\"n2\",\"address\":\"x\",\"inter\":1}"),
                                    change(DIFF_ADD, "n3", NULL), change(DIFF_REMOVE, "\"n?\"", "{}")};
    struct backend actual = {.name = writable("b/e"), .exists = true, .json = writable("{\"name\":\"b/e\"}")};
    struct diff d = {.verdict = DIFF_WRITE,
                     .changes = changes,
                     .change_count = 4,
                     .backend_change = true,
                     .settings.balance = "roundrobin"};
    struct transaction_step *steps = NULL;
    size_t count = 0;
    ck_assert_int_eq(add_steps(&actual, &d, &steps, &count, &flaw), 0);
    ck_assert_uint_eq(count, array_len(expected));
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(steps[i].method, expected[i].method);
        ck_assert_str_eq(steps[i].path, expected[i].path);
        ck_assert(str_eq(steps[i].body, expected[i].body));
        ck_assert_str_eq(steps[i].what, expected[i].what);
    }
    transaction_steps_free(steps, count);
}

#define BASE_FIELDS "\"name\":\"be\",\"mode\":\"tcp\""
#define NEW_SERVER(name) \
    "{\"name\":\"" name "\",\"address\":\"10.0.0.1\",\"port\":80,\"check\":\"enabled\",\"weight\":100}"

/* Where HAProxy does not go by the order of the servers, the new ones come with the backend. */
TEST_EACH(steps_for_a_backend_that_is_to_be_made, 8)
{
    static const struct {
        const char *balance;
        bool whole;
    } ways[] = {{"roundrobin", true}, {"static-rr", true}, {"leastconn", true}, {"random", true},
                {"source", false},    {"first", false},    {"uri", false},      {NULL, false}};
    struct diff_change changes[] = {change(DIFF_ADD, "n1", NULL), change(DIFF_ADD, "n2", NULL)};
    struct backend actual = {.name = writable("be")};
    struct diff d = {.verdict = DIFF_WRITE,
                     .changes = changes,
                     .change_count = 2,
                     .create_backend = true,
                     .settings.balance = ways[_i].balance};
    struct transaction_step *steps = NULL;
    size_t count = 0;
    changes[1].server.maintenance = true;
    ck_assert_int_eq(add_steps(&actual, &d, &steps, &count, &flaw), 0);
    ck_assert_uint_eq(count, ways[_i].whole ? 1 : 3);
    ck_assert_str_eq(steps[0].method, "POST");
    char *balance =
        ways[_i].balance == NULL ? mem_strdup("") : mem_printf(",\"balance\":{\"algorithm\":\"%s\"}", ways[_i].balance);
    char *body;
    if (ways[_i].whole) {
        ck_assert_str_eq(steps[0].path, "/configuration/backends?full_section=true");
        ck_assert_str_eq(steps[0].what, "create backend be with its servers (2)");
        body = mem_printf("{" BASE_FIELDS "%s,\"servers\":{\"n1\":" NEW_SERVER("n1") ",\"n2\":%s}}", balance,
                          "{\"name\":\"n2\",\"address\":\"10.0.0.1\",\"port\":80,\"check\":\"enabled\","
                          "\"weight\":100,\"maintenance\":\"enabled\"}");
    } else {
        ck_assert_str_eq(steps[0].path, "/configuration/backends");
        ck_assert_str_eq(steps[0].what, "create backend be");
        ck_assert_str_eq(steps[1].body, NEW_SERVER("n1"));
        ck_assert_str_eq(steps[2].what, "add server n2");
        body = mem_printf("{" BASE_FIELDS "%s}", balance);
    }
    assert_json(steps[0].body, body);
    free(body);
    free(balance);
    transaction_steps_free(steps, count);
}

TEST(a_backend_without_servers_is_made_as_ever)
{
    struct backend actual = {.name = writable("be")};
    struct diff d = {.verdict = DIFF_WRITE, .create_backend = true, .settings.balance = "roundrobin"};
    struct transaction_step *steps = NULL;
    size_t count = 0;
    ck_assert_int_eq(add_steps(&actual, &d, &steps, &count, &flaw), 0);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(steps[0].path, "/configuration/backends");
    ck_assert_str_eq(steps[0].body, "{" BASE_FIELDS ",\"balance\":{\"algorithm\":\"roundrobin\"}}");
    transaction_steps_free(steps, count);
}

/* Never one that is there: what was not sent would be lost. */
TEST_EACH(a_backend_that_is_there_is_never_written_whole, 2)
{
    struct diff_change changes[] = {change(DIFF_ADD, "n1", NULL), change(DIFF_ADD, "n2", NULL)};
    struct backend actual = {.name = writable("be"), .exists = true, .json = writable("{\"name\":\"be\"}")};
    struct diff d = {.verdict = DIFF_WRITE,
                     .changes = changes,
                     .change_count = 2,
                     .backend_change = _i != 0,
                     .settings.balance = "roundrobin"};
    struct transaction_step *steps = NULL;
    size_t count = 0;
    ck_assert_int_eq(add_steps(&actual, &d, &steps, &count, &flaw), 0);
    ck_assert_uint_eq(count, _i != 0 ? 3 : 2);
    for (size_t i = 0; i < count; i++) {
        ck_assert_ptr_null(strstr(steps[i].path, "full_section"));
        ck_assert_ptr_null(strstr(steps[i].body, "\"servers\""));
    }
    transaction_steps_free(steps, count);
}

TEST(several_backends_share_one_list)
{
    struct diff_change first[] = {change(DIFF_REMOVE, "n1", "{}")};
    struct diff_change second[] = {change(DIFF_REMOVE, "m1", "{}"), change(DIFF_REMOVE, "m2", "{}")};
    struct backend a = {.name = writable("be_https"), .exists = true},
                   b = {.name = writable("be_http"), .exists = true};
    struct diff da = {.verdict = DIFF_WRITE, .changes = first, .change_count = 1};
    struct diff db = {.verdict = DIFF_WRITE, .changes = second, .change_count = 2};
    struct transaction_step *steps = NULL;
    size_t count = 0;
    ck_assert_int_eq(add_steps(&a, &da, &steps, &count, &flaw), 0);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(add_steps(&b, &db, &steps, &count, &flaw), 0);
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(steps[0].path, "/configuration/backends/be_https/servers/n1");
    ck_assert_str_eq(steps[1].path, "/configuration/backends/be_http/servers/m1");
    ck_assert_str_eq(steps[2].path, "/configuration/backends/be_http/servers/m2");
    transaction_steps_free(steps, count);
}

TEST(nothing_to_do_or_nothing_that_can_be_done)
{
    struct diff_change fine = change(DIFF_REMOVE, "n1", "{}"), broken = change(DIFF_CHANGE, "n1", "{");
    struct backend actual = {.name = writable("be"), .exists = true, .json = writable("{}")};
    struct diff d = {.verdict = DIFF_NOTHING};
    struct transaction_step *steps = NULL;
    size_t count = 0;
    ck_assert_int_eq(add_steps(&actual, &d, &steps, &count, &flaw), 0);
    ck_assert_uint_eq(count, 0);
    d = (struct diff){.verdict = DIFF_WRITE, .changes = &fine, .change_count = 1};
    ck_assert_int_eq(add_steps(&actual, &d, &steps, &count, &flaw), 0);
    d = (struct diff){.verdict = DIFF_WRITE, .changes = &broken, .change_count = 1, .backend_change = true};
    ck_assert_int_eq(add_steps(&actual, &d, &steps, &count, &flaw), -1);
    ck_assert_int_eq(flaw.kind, ERROR_INVALID);
    actual.json = writable("[");
    ck_assert_int_eq(add_steps(&actual, &d, &steps, &count, &flaw), -1);
    ck_assert_ptr_nonnull(strstr(flaw.message, "backend be"));
    ck_assert_msg(count == 1, "the list is as it was");
    ck_assert_str_eq(steps[0].what, "remove server n1");
    transaction_steps_free(steps, count);
}
