#include "decode_text.h"

#define NODE(rest) "{'metadata':{'name':'n1','resourceVersion':'5','uid':'u'}," rest "}"
#define ADDRESSES(list) NODE("'status':{'addresses':[" list "]}")
#define INTERNAL(ip) "{'type':'InternalIP','address':'" ip "'}"

START_TEST(the_first_internal_ip)
{
    static const struct text_row rows[] = {
        {ADDRESSES(INTERNAL("10.0.0.1")), "ADDED n1 v5 node 10.0.0.1"},
        {ADDRESSES(INTERNAL("10.0.0.1") "," INTERNAL("10.0.0.2")), "ADDED n1 v5 node 10.0.0.1"},
        {ADDRESSES("{'type':'Hostname','address':'n1'}," INTERNAL("10.0.0.2")), "ADDED n1 v5 node 10.0.0.2"},
        {ADDRESSES("{'type':'ExternalIP','address':'1.2.3.4'}," INTERNAL("fd00::1")), "ADDED n1 v5 node fd00::1"},
        {ADDRESSES("{'type':'SomethingNew','address':'1.2.3.4'}," INTERNAL("127.0.0.1")), "ADDED n1 v5 node 127.0.0.1"},
        {ADDRESSES("{'address':'1.2.3.4'}," INTERNAL("::ffff:10.0.0.1")), "ADDED n1 v5 node ::ffff:10.0.0.1"},
        {ADDRESSES("{'type':'internalIP','address':'1.2.3.4'}"), "ADDED n1 v5 node -"},
        {ADDRESSES("{'type':'ExternalIP','address':'1.2.3.4'}"), "ADDED n1 v5 node -"},
        {ADDRESSES("{'type':'Hostname','address':7}"), "ADDED n1 v5 node -"},
        {ADDRESSES(""), "ADDED n1 v5 node -"},
        {NODE("'status':{'addresses':null}"), "ADDED n1 v5 node -"},
        {NODE("'status':{}"), "ADDED n1 v5 node -"},
        {NODE("'status':null"), "ADDED n1 v5 node -"},
        {NODE("'spec':{}"), "ADDED n1 v5 node -"},
        /* nothing but the status counts, wherever else such keys turn up */
        {NODE("'addresses':[" INTERNAL("10.0.0.9") "],'spec':{'status':{'addresses':[" INTERNAL("10.0.0.8") "]}}"),
         "ADDED n1 v5 node -"},
        {NODE("'status':{'addresses':[{'\\u0074ype':'Internal\\u0049P','address':'10\\u002e0.0.1'}]}"),
         "ADDED n1 v5 node 10.0.0.1"},
    };
    text_check_rows(KUBE_NODE, true, rows, array_len(rows));
}
END_TEST

/* A bad one is passed over where there is a good one; where there is none, the node's last good state is better. */
START_TEST(an_address_that_cannot_be_used)
{
    static const struct text_row rows[] = {
        {ADDRESSES(INTERNAL("n1.example") "," INTERNAL("10.0.0.2")),
         "ADDED n1 v5 node 10.0.0.2 PARTIAL (node n1: 1 left out, the first: status.addresses[0]: address "
         "\"n1.example\" "
         "is no IP address)"},
        {ADDRESSES(INTERNAL("10.0.0.1/24") "," INTERNAL("010.0.0.1") "," INTERNAL("10.0.0.2") "," INTERNAL("bad")),
         "ADDED n1 v5 node 10.0.0.2 PARTIAL (node n1: 2 left out, the first: status.addresses[0]: address "
         "\"10.0.0.1/24\" is no IP address)"},
        {ADDRESSES("7," INTERNAL("10.0.0.2")), "ADDED n1 v5 node 10.0.0.2 PARTIAL (node n1: 1 left out, the first: "
                                               "status.addresses[0]: is a number, not an object)"},
        {ADDRESSES("{'type':true}," INTERNAL("10.0.0.2")),
         "ADDED n1 v5 node 10.0.0.2 PARTIAL (node n1: 1 left out, the first: status.addresses[0]: type is a boolean, "
         "not a string)"},
        {ADDRESSES(INTERNAL("0.0.0.0")),
         "ADDED n1 v5 SKIPPED (node n1 is skipped: status.addresses[0]: address 0.0.0.0 "
         "is the unspecified address, not that of a machine)"},
        {ADDRESSES(INTERNAL("::")), "ADDED n1 v5 SKIPPED (node n1 is skipped: status.addresses[0]: address :: is the "
                                    "unspecified address, not that of a machine)"},
        {ADDRESSES(INTERNAL("")), "ADDED n1 v5 SKIPPED (node n1 is skipped: status.addresses[0]: address is absent)"},
        {ADDRESSES("{'type':'InternalIP'}"),
         "ADDED n1 v5 SKIPPED (node n1 is skipped: status.addresses[0]: address is absent)"},
        {ADDRESSES("{'type':'InternalIP','address':['10.0.0.1']}"),
         "ADDED n1 v5 SKIPPED (node n1 is skipped: status.addresses[0]: address is an array, not a string)"},
        {ADDRESSES(INTERNAL("10.0.0.1\\u0000")),
         "ADDED n1 v5 SKIPPED (node n1 is skipped: status.addresses[0]: address "
         "(\"10.0.0.1\") has a control character, 0x00)"},
        {ADDRESSES(INTERNAL("fe80::1%eth0")), "ADDED n1 v5 SKIPPED (node n1 is skipped: status.addresses[0]: address "
                                              "\"fe80::1%eth0\" is no IP address)"},
        {ADDRESSES(INTERNAL(" 10.0.0.1")), "ADDED n1 v5 SKIPPED (node n1 is skipped: status.addresses[0]: address \" "
                                           "10.0.0.1\" is no IP address)"},
        {NODE("'status':{'addresses':{}}"),
         "ADDED n1 v5 SKIPPED (node n1 is skipped: status: addresses is an object, not an array)"},
        {NODE("'status':'up'"), "ADDED n1 v5 SKIPPED (node n1 is skipped: status is a string, not an object)"},
    };
    text_check_rows(KUBE_NODE, true, rows, array_len(rows));
}
END_TEST

static uint64_t uid_hash_of(const char *quoted)
{
    struct kube_event e;
    struct error err;
    char json[512] = {0};
    cleanup(mem_free_ptr) char *text = text_json(quoted);
    snprintf(json, sizeof(json) - KUBE_DECODE_PADDING_BYTES, "%s", text);
    ck_assert_int_eq(kube_decode_item(KUBE_NODE, json, strlen(json), &e, &err), 0);
    uint64_t hash = e.node->uid_hash;
    kube_event_fini(&e);
    return hash;
}

START_TEST(another_uid_is_another_node)
{
    uint64_t a = uid_hash_of("{'metadata':{'name':'n1','uid':'d2c4becb-ad2c-4e56-bfcf-b6ab664209bc'}}");
    uint64_t b = uid_hash_of("{'metadata':{'name':'n1','uid':'d2c4becb-ad2c-4e56-bfcf-b6ab664209bd'}}");
    ck_assert(a != b && a != 0 && b != 0);
    ck_assert(a == uid_hash_of("{'metadata':{'uid':'d2c4becb-ad2c-4e56-bfcf-b6ab664209bc','name':'n1','x':1}}"));
    ck_assert(uid_hash_of("{'metadata':{'name':'n1'}}") == 0);
    static const struct text_row rows[] = {
        {"{'metadata':{'name':'n1','resourceVersion':'5','uid':1}}",
         "ADDED n1 v5 SKIPPED (node n1 is skipped: metadata: uid is a number, not a string)"},
    };
    text_check_rows(KUBE_NODE, true, rows, array_len(rows));
}
END_TEST

START_TEST(what_real_servers_sent)
{
    static const struct text_file files[] = {
        {"tests/data/kubernetes/nodes-list.json", KUBE_NODE, true,
         "ADDED dual v200 node 10.20.0.1\nADDED external-first v202 node 10.20.0.3\nADDED no-address v204 node -\n"
         "ADDED six-first v206 node 2001:db8::2\nlist v212 \"\"\n"},
        {"tests/data/kubernetes/nodes-page1.json", KUBE_NODE, true,
         "ADDED dual v200 node 10.20.0.1\nADDED external-first v202 node 10.20.0.3\nADDED no-address v204 node -\n"
         "list v212 \"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MjEyLCJzdGFydCI6Ii9uby1hZGRyZXNzXHUwMDAwIn0\"\n"},
        {"tests/data/kubernetes/nodes-page2.json", KUBE_NODE, true,
         "ADDED six-first v206 node 2001:db8::2\nlist v212 \"\"\n"},
        {TEXT_RECORDINGS "1.34-etcd-3.6/nodes-list.json", KUBE_NODE, true,
         "ADDED node-00000 v197 node 10.20.0.1\nADDED node-00001 v198 node 10.20.0.2\n"
         "ADDED node-00002 v199 node 10.20.0.3\nADDED plain v200 node 192.0.2.10\nlist v212 \"\"\n"},
        {TEXT_RECORDINGS "1.34-etcd-3.6/nodes-page1.json", KUBE_NODE, true,
         "ADDED node-00000 v197 node 10.20.0.1\nADDED node-00001 v198 node 10.20.0.2\n"
         "list v212 \"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MjEyLCJzdGFydCI6Ii9ub2RlLTAwMDAxXHUwMDAwIn0\"\n"},
        {TEXT_RECORDINGS "1.34-etcd-3.6/nodes-page2.json", KUBE_NODE, true,
         "ADDED node-00002 v199 node 10.20.0.3\nADDED plain v200 node 192.0.2.10\nlist v212 \"\"\n"},
        {TEXT_RECORDINGS "1.34-etcd-3.6/nodes-watch-bookmarks.jsonl", KUBE_NODE, false,
         "BOOKMARK v233\nBOOKMARK v233\nBOOKMARK v233\n"},
    };
    text_check_files(files, array_len(files));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("kube/decode_node");
    TCase *t = tcase_create("node");
    tcase_add_test(t, the_first_internal_ip);
    tcase_add_test(t, an_address_that_cannot_be_used);
    tcase_add_test(t, another_uid_is_another_node);
    tcase_add_test(t, what_real_servers_sent);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
