/* What kube/lease/lease takes from a Lease, what it refuses, and that it gives back what is not its own. */
#include "kube/decode/decode.h"
#include "kube/lease/lease.h"

#include <yyjson.h>

#include "../../test.h"

#define META "\"metadata\":{\"name\":\"l\",\"namespace\":\"ns\",\"resourceVersion\":\"7\"}"
#define LEASE(spec) "{\"kind\":\"Lease\"," META ",\"spec\":" spec "}"

static struct lease read_one(const char *json)
{
    struct lease l;
    ck_assert_msg(lease_decode(json, strlen(json), &l, &flaw) == 0, "%s: %s", json, flaw.message);
    return l;
}

TEST(a_lease_is_read)
{
    struct lease l = read_one(LEASE("{\"holderIdentity\":\"a_1\",\"leaseDurationSeconds\":15,\"leaseTransitions\":3,"
                                    "\"acquireTime\":\"2024-02-29T23:59:59.000001Z\","
                                    "\"renewTime\":\"2024-03-01T00:00:01.123456Z\",\"strategy\":\"Oldest\"}"));
    ck_assert_str_eq(l.holder, "a_1");
    ck_assert_str_eq(l.acquire_time, "2024-02-29T23:59:59.000001Z");
    ck_assert_str_eq(l.renew_time, "2024-03-01T00:00:01.123456Z");
    ck_assert_str_eq(l.version, "7");
    ck_assert_int_eq(l.duration_s, 15);
    ck_assert_int_eq(l.transitions, 3);
}

static const char *const empty_ones[] = {
    LEASE("{}"),
    LEASE("null"),
    "{\"kind\":\"Lease\"," META "}",
    LEASE("{\"holderIdentity\":null,\"leaseDurationSeconds\":null,\"renewTime\":null}"),
    LEASE("{\"holderIdentity\":\"\"}"),
};

TEST_EACH(what_is_absent_is_empty, array_len(empty_ones))
{
    struct lease l = read_one(empty_ones[_i]);
    ck_assert_str_eq(l.holder, "");
    ck_assert_str_eq(l.acquire_time, "");
    ck_assert_str_eq(l.renew_time, "");
    ck_assert_int_eq(l.duration_s, 0);
    ck_assert_int_eq(l.transitions, 0);
}

static const struct {
    const char *json, *message;
} bad_ones[] = {
    {"", "not JSON"},
    {"{\"kind\":\"Lease\",", "not JSON"},
    {"null", "not a Lease"},
    {"{\"kind\":\"Status\",\"code\":404}", "not a Lease"},
    {"{\"kind\":\"Lease\"}", "no resourceVersion"},
    {"{\"kind\":\"Lease\",\"metadata\":[]}", "metadata is an array"},
    {"{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":7}}", "resourceVersion is a number"},
    {"{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"\"}}", "no resourceVersion"},
    {LEASE("\"x\""), "spec is a string"},
    {LEASE("{\"holderIdentity\":{}}"), "holderIdentity is an object"},
    {LEASE("{\"holderIdentity\":\"a\\u0000b\"}"), "control character"},
    {LEASE("{\"renewTime\":17}"), "renewTime is a number"},
    {LEASE("{\"acquireTime\":\"2024-02-29T23:59:59.00000000000000000000000000000001Z\"}"), "acquireTime has"},
    {LEASE("{\"leaseDurationSeconds\":\"15\"}"), "leaseDurationSeconds is a string"},
    {LEASE("{\"leaseDurationSeconds\":1.5}"), "not a whole number"},
    {LEASE("{\"leaseDurationSeconds\":-1}"), "leaseDurationSeconds is -1"},
    {LEASE("{\"leaseDurationSeconds\":2147483648}"), "leaseDurationSeconds is 2147483648"},
    {LEASE("{\"leaseTransitions\":18446744073709551615}"), "leaseTransitions is"},
};

TEST_EACH(what_is_wrong_is_refused_and_named, array_len(bad_ones))
{
    struct lease l = {.holder = "untouched"};
    ck_assert_int_eq(lease_decode(bad_ones[_i].json, strlen(bad_ones[_i].json), &l, &flaw), -1);
    ck_assert_int_eq(flaw.kind, ERROR_INVALID);
    ck_assert_msg(strstr(flaw.message, bad_ones[_i].message) != NULL, "%s has no %s", flaw.message,
                  bad_ones[_i].message);
    ck_assert_str_eq(l.holder, "untouched");
}

TEST(sizes_have_a_cap)
{
    char name[LEASE_MAX_HOLDER_BYTES + 2];
    struct lease l;
    memset(name, 'n', sizeof(name));
    name[LEASE_MAX_HOLDER_BYTES] = '\0';
    cleanup(mem_free_ptr) char *most = mem_printf(LEASE("{\"holderIdentity\":\"%s\"}"), name);
    ck_assert_str_eq(read_one(most).holder, name);
    name[LEASE_MAX_HOLDER_BYTES] = 'n';
    name[LEASE_MAX_HOLDER_BYTES + 1] = '\0';
    cleanup(mem_free_ptr) char *more = mem_printf(LEASE("{\"holderIdentity\":\"%s\"}"), name);
    ck_assert_int_eq(lease_decode(more, strlen(more), &l, &flaw), -1);
    cleanup(mem_free_ptr) char *huge = mem_alloc(LEASE_MAX_BYTES + 2);
    memset(huge, ' ', LEASE_MAX_BYTES + 1);
    memcpy(huge, LEASE("{}"), strlen(LEASE("{}")));
    ck_assert_int_eq(lease_decode(huge, LEASE_MAX_BYTES, &l, &flaw), 0);
    ck_assert_int_eq(lease_decode(huge, LEASE_MAX_BYTES + 1, &l, &flaw), -1);
    ck_assert_ptr_nonnull(strstr(flaw.message, "at most"));
}

static const struct {
    const char *event;
    bool is_free;
} events[] = {
    {"{\"type\":\"ADDED\",\"object\":" LEASE("{}") "}", true},
    {"{\"type\":\"MODIFIED\",\"object\":" LEASE("{\"holderIdentity\":\"\"}") "}", true},
    {"{\"type\":\"MODIFIED\",\"object\":" LEASE("{\"holderIdentity\":\"a\"}") "}", false},
    {"{\"type\":\"DELETED\",\"object\":" LEASE("{\"holderIdentity\":\"a\"}") "}", true},
    {"{\"type\":\"BOOKMARK\",\"object\":" LEASE("{}") "}", false},
    {"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}", false},
    {"{\"type\":\"ADDED\",\"object\":{}}", false},
    {"[]", false},
    {"", false},
};

TEST_EACH(an_event_says_whether_it_has_a_holder, array_len(events))
{
    struct kube_event e = {0};
    size_t len = strlen(events[_i].event);
    cleanup(mem_free_ptr) char *json = mem_alloc(len + KUBE_DECODE_PADDING_BYTES);
    memcpy(json, events[_i].event, len);
    bool is_free = kube_decode_event(&kube_leases, json, len, &e, NULL) == 0 &&
                   (e.type == KUBE_DELETED || lease_is_free(e.object));
    ck_assert_msg(is_free == events[_i].is_free, "%s", events[_i].event);
    kube_event_fini(&e);
}

static const struct lease ours = {.holder = "me \"and\" \xc3\xa4",
                                  .acquire_time = "2024-01-01T00:00:00.000000Z",
                                  .renew_time = "2024-01-01T00:00:02.000000Z",
                                  .version = "8",
                                  .duration_s = 15,
                                  .transitions = 4};

TEST(a_new_one_is_complete)
{
    cleanup(mem_free_ptr) char *text = lease_encode_new("ns", "l", &ours);
    ck_assert_str_eq(text, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"namespace\":"
                           "\"ns\",\"name\":\"l\"},\"spec\":{\"holderIdentity\":\"me \\\"and\\\" \xc3\xa4\","
                           "\"leaseDurationSeconds\":15,\"acquireTime\":\"2024-01-01T00:00:00.000000Z\",\"renewTime\":"
                           "\"2024-01-01T00:00:02.000000Z\",\"leaseTransitions\":4}}");
}

TEST(what_is_not_ours_comes_back)
{
    static const char read[] =
        "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/"
        "v1\",\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"7\","
        "\"labels\":{\"a/b\":\"c\"},\"annotations\":{\"x\":\"\\u00e9\"},\"ownerReferences\":[{\"uid\":\"u\"}],"
        "\"future\":123456789012345678901234567890.5},\"spec\":{\"holderIdentity\":\"old\",\"strategy\":\"Oldest\","
        "\"preferredHolder\":\"p\",\"leaseTransitions\":3,\"holderIdentity\":\"twice\"},\"more\":[null,true]}";
    cleanup(mem_free_ptr) char *text = lease_encode(read, strlen(read), &ours, &flaw);
    ck_assert_msg(text != NULL, "%s", flaw.message);
    static const char *const kept[] = {"\"labels\":{\"a/b\":\"c\"}",
                                       "\"ownerReferences\":[{\"uid\":\"u\"}]",
                                       "\"future\":123456789012345678901234567890.5",
                                       "\"strategy\":\"Oldest\"",
                                       "\"preferredHolder\":\"p\"",
                                       "\"more\":[null,true]",
                                       "\"annotations\":{\"x\":\"\xc3\xa9\"}",
                                       "\"resourceVersion\":\"8\""};
    for (size_t i = 0; i < array_len(kept); i++)
        ck_assert_msg(strstr(text, kept[i]) != NULL, "%s has no %s", text, kept[i]);
    ck_assert_ptr_null(strstr(text, "\"old\""));
    ck_assert_ptr_null(strstr(text, "twice"));
    struct lease again = read_one(text);
    ck_assert(lease_same_record(&again, &ours));
    ck_assert_str_eq(again.version, "8");
}

TEST_EACH(a_spec_that_was_not_there_is_written, array_len(empty_ones))
{
    cleanup(mem_free_ptr) char *text = lease_encode(empty_ones[_i], strlen(empty_ones[_i]), &ours, &flaw);
    struct lease again = read_one(text);
    ck_assert(lease_same_record(&again, &ours));
}

TEST(a_lease_that_is_given_up_has_an_empty_holder)
{
    struct lease free_one = ours;
    free_one.holder[0] = '\0';
    free_one.acquire_time[0] = '\0';
    free_one.duration_s = 1;
    cleanup(mem_free_ptr) char *text = lease_encode(LEASE("{}"), strlen(LEASE("{}")), &free_one, &flaw);
    ck_assert_ptr_nonnull(strstr(text, "\"holderIdentity\":\"\""));
    ck_assert_ptr_null(strstr(text, "acquireTime"));
    struct lease again = read_one(text);
    ck_assert(lease_same_record(&again, &free_one));
}

TEST_EACH(what_cannot_be_edited_is_an_error, 5)
{
    static const char *const texts[] = {"", "{", "[]", "{\"metadata\":7}", "{}"};
    ck_assert_ptr_null(lease_encode(texts[_i], strlen(texts[_i]), &ours, &flaw));
    ck_assert_int_eq(flaw.kind, ERROR_INVALID);
}

TEST(each_member_makes_another_record_and_the_version_does_not)
{
    struct lease other = ours;
    snprintf(other.version, sizeof(other.version), "9");
    ck_assert(lease_same_record(&ours, &other));
    struct lease different[] = {ours, ours, ours, ours, ours};
    different[0].holder[0] = 'M';
    different[1].acquire_time[0] = '3';
    different[2].renew_time[0] = '3';
    different[3].duration_s++;
    different[4].transitions++;
    for (size_t i = 0; i < array_len(different); i++)
        ck_assert(!lease_same_record(&ours, &different[i]));
}
