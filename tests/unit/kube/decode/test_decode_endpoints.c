#include "decode_text.h"

#define META "'metadata':{'name':'web','resourceVersion':'5'}"
#define SUBSETS(list) "{" META ",'subsets':[" list "]}"
#define SKIPPED(why) "ADDED web v5 SKIPPED (endpoints web is skipped: " why ")"

TEST(parts)
{
    static const struct text_row rows[] = {
        /* each subset is a group */
        {SUBSETS("{'addresses':[{'ip':'10.0.0.1','nodeName':'n1'},{'ip':'fd00::1'}],'notReadyAddresses':[{'ip':"
                 "'10.0.0.2','nodeName':'n2'}],'ports':[{'name':'https','port':8443,'protocol':'TCP'}]}"),
         "ADDED web v5 set https/8443 : 10.0.0.1@n1 fd00::1 10.0.0.2@n2=no"},
        {SUBSETS("{'notReadyAddresses':[{'ip':'10.0.0.2'}],'addresses':[{'ip':'10.0.0.1'}],'ports':[{'port':80}]},"
                 "{'addresses':[{'ip':'10.0.0.3'}],'ports':[{'port':81},{'port':53,'protocol':'UDP'}]}"),
         "ADDED web v5 set /80 : 10.0.0.1 10.0.0.2=no | /81 : 10.0.0.3"},
        {SUBSETS("{'addresses':[{'ip':'10.0.0.1','targetRef':'of any kind','hostname':7,'nodeName':null}]}"),
         "ADDED web v5 set : 10.0.0.1"},
        {SUBSETS("{'addresses':null,'notReadyAddresses':[],'ports':null},{}"), "ADDED web v5 set : | :"},
        {"{" META ",'subsets':null}", "ADDED web v5 set"},
        {"{" META "}", "ADDED web v5 set"},
        /* a port that cannot be used */
        {SUBSETS("{'ports':[{'port':70000},{'port':80}],'addresses':[{'ip':'10.0.0.1'},{'ip':'bad'}]}"),
         "ADDED web v5 set /80 : 10.0.0.1 PARTIAL (endpoints web: 2 left out, the first: subsets[0].ports[0]: port is "
         "70000, not in 1..65535)"},
        /* endpoints that cannot be used */
        {"{" META ",'subsets':{}}", SKIPPED("subsets is an object, not an array")},
        {SUBSETS("{},5"), SKIPPED("subsets[1]: is a number, not an object")},
        {SUBSETS("{'addresses':[{'ip':'10.0.0.1'}]},{'ports':{}}"),
         SKIPPED("subsets[1]: ports is an object, not an array")},
        {SUBSETS("{'addresses':'10.0.0.1'}"), SKIPPED("subsets[0]: addresses is a string, not an array")},
        {SUBSETS("{'addresses':[{'ip':'10.0.0.1'}],'notReadyAddresses':7}"),
         SKIPPED("subsets[0]: notReadyAddresses is a number, not an array")},
    };
    text_check_rows(&kube_endpoints, true, rows, array_len(rows));
}

TEST(an_address_that_cannot_be_used)
{
    static const struct {
        const char *address, *why;
    } rows[] = {
        {"'10.0.0.1'", "is a string, not an object"},
        {"{}", "ip is absent"},
        {"{'ip':10}", "ip is a number, not a string"},
        {"{'ip':'ten'}", "ip \"ten\" is not an IP address"},
        {"{'ip':'::'}", "ip :: is the unspecified address, not that of a machine"},
        {"{'ip':'10.0.0.1','nodeName':{}}", "nodeName is an object, not a string"},
        {"{'ip':'10.0.0.1','nodeName':'a\\rb'}", "nodeName (\"a b\") has a control character, 0x0d"},
    };
    for (size_t i = 0; i < array_len(rows); i++)
        for (int ready = 0; ready < 2; ready++) {
            const char *key = ready ? "addresses" : "notReadyAddresses", *state = ready ? "" : "=no";
            cleanup(mem_free_ptr) char *json =
                mem_printf(SUBSETS("{},{'%s':[{'ip':'10.0.0.8'},%s,{'ip':'10.0.0.9'}]}"), key, rows[i].address);
            cleanup(mem_free_ptr) char *want = mem_printf(
                "ADDED web v5 set : | : 10.0.0.8%s 10.0.0.9%s PARTIAL (endpoints web: 1 left out, the first: "
                "subsets[1].%s[1]: %s)",
                state, state, key, rows[i].why);
            struct text_row row = {json, want};
            text_check_rows(&kube_endpoints, true, &row, 1);
        }
}

static void decode_many(size_t subsets, size_t addresses, struct kube_event *ret)
{
    cleanup(buf_fini) struct buf b = {0};
    buf_add(&b, "{\"metadata\":{\"name\":\"web\"},\"subsets\":[{\"addresses\":[");
    for (size_t i = 0; i < addresses; i++)
        buf_add(&b, i > 0 ? ",{\"ip\":\"10.0.0.1\"}" : "{\"ip\":\"10.0.0.1\"}");
    buf_add(&b, "]}");
    for (size_t i = 1; i < subsets; i++)
        buf_add(&b, ",{}");
    buf_add(&b, "]}");
    size_t len = b.len;
    buf_addn(&b, "\0\0\0\0", KUBE_DECODE_PADDING_BYTES);
    ck_assert_int_eq(kube_decode_item(&kube_endpoints, b.data, len, ret, &flaw), 0);
}

/* Subsets and their addresses count together: many of either is too many. */
TEST(more_parts_than_any_object_has)
{
    static const struct {
        size_t subsets, addresses;
        const char *field;
    } rows[] = {
        {1, KUBE_MAX_PARTS - 1, NULL},
        {1, KUBE_MAX_PARTS, "subsets[0]: addresses"},
        {KUBE_MAX_PARTS - 1, 1, NULL},
        {KUBE_MAX_PARTS, 1, "subsets[0]: addresses"},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        struct kube_event e;
        decode_many(rows[i].subsets, rows[i].addresses, &e);
        ck_assert_msg((e.object != NULL) == (rows[i].field == NULL), "row %zu: %s", i, e.skipped.message);
        if (rows[i].field != NULL) {
            cleanup(mem_free_ptr) char *want =
                mem_printf("endpoints web is skipped: %s: more than 65536 ports, endpoints and subsets in one object",
                           rows[i].field);
            ck_assert_str_eq(e.skipped.message, want);
        } else {
            ck_assert_uint_eq(((const struct endpoint_set *)e.object)->group_count, rows[i].subsets);
            ck_assert_uint_eq(((const struct endpoint_set *)e.object)->groups[0].endpoint_count, rows[i].addresses);
        }
        kube_event_fini(&e);
    }
}

TEST(what_real_servers_sent)
{
    static const struct text_file files[] = {
        {"tests/data/kubernetes/endpoints-list.json", &kube_endpoints, true,
         "ADDED ingress-nginx v212 set https/8443 : 10.244.0.1@dual 10.244.0.5 10.244.0.2@six-first=no | https/9443 : "
         "10.244.0.8@dual\nlist v212 \"\"\n"},
        {"tests/data/kubernetes/empty-list.json", &kube_endpoints, true, "list v212 \"\"\n"},
    };
    text_check_files(files, array_len(files));
}
