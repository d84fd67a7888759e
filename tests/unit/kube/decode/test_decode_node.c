#include "decode_text.h"

#define EXCLUDE "node.kubernetes.io/exclude-from-external-load-balancers"
#define TAINT "ToBeDeletedByClusterAutoscaler"
#define NODE(rest) "{'metadata':{'name':'n1','resourceVersion':'5','uid':'u'}," rest "}"
#define ADDRESSES(list) NODE("'status':{'addresses':[" list "]}")
#define INTERNAL(ip) "{'type':'InternalIP','address':'" ip "'}"
#define EXTERNAL(ip) "{'type':'ExternalIP','address':'" ip "'}"
#define NAME(name) "{'type':'Hostname','address':'" name "'}"
#define SEVEN                                                                                             \
    NAME("a")                                                                                             \
    "," NAME("9.9.9.9") "," NAME("fd00::9") "," EXTERNAL("8.8.8.8") "," EXTERNAL("fd00::8") "," INTERNAL( \
        "10.0.0.1") "," INTERNAL("fd00::1")
#define SEVEN_MORE                                                                                        \
    NAME("b")                                                                                             \
    "," NAME("9.9.9.8") "," NAME("fd00::8") "," EXTERNAL("8.8.8.7") "," EXTERNAL("fd00::7") "," INTERNAL( \
        "10.0.0.2") "," INTERNAL("fd00::2")
#define UP "'status':{'addresses':[" INTERNAL("10.0.0.1") "]}"
#define META(rest) "{'metadata':{'name':'n1','resourceVersion':'5'," rest "}," UP "}"
#define LABELS(value) META("'labels':" value)
#define LABEL(value) LABELS("{'" EXCLUDE "':" value ",'zone':'z'}")
#define TAINTS(value) NODE(UP ",'spec':{'taints':" value "}")
#define CONDITIONS(value) NODE("'status':{'addresses':[" INTERNAL("10.0.0.1") "],'conditions':" value "}")
#define GOT(what) "ADDED n1 v5 node " what
#define PARTIAL(count, why) " PARTIAL (node n1: " #count " left out, the first: " why ")"
#define SKIPPED(why) "ADDED n1 v5 SKIPPED (node n1 is skipped: " why ")"
#define NO_IP(text) "address \"" text "\" is not an IP address"
#define NO_NAME(text) "address \"" text "\" is not a DNS name"
#define X21 "xxxxxxxxxxxxxxxxxxxxx"
#define X63 X21 X21 X21

TEST(what_is_kept)
{
    static const struct text_row rows[] = {
        /* addresses */
        {ADDRESSES(INTERNAL("10.0.0.1")), GOT("10.0.0.1")},
        {ADDRESSES(NAME("n1") "," EXTERNAL("1.2.3.4") "," INTERNAL("10.0.0.2")),
         GOT("name:n1 external:1.2.3.4 10.0.0.2")},
        /* the first of each type and family */
        {ADDRESSES(INTERNAL("10.0.0.1") "," INTERNAL("10.0.0.2") "," INTERNAL("fd00::1") "," INTERNAL("fd00::2")),
         GOT("10.0.0.1 fd00::1")},
        {ADDRESSES(EXTERNAL("fd00::1") "," EXTERNAL("1.2.3.4") "," EXTERNAL("1.2.3.5") "," EXTERNAL("fd00::2")),
         GOT("external:fd00::1 external:1.2.3.4")},
        {ADDRESSES(NAME("a") "," NAME("1.2.3.4") "," NAME("b") "," NAME("fd00::1") "," NAME("1.2.3.5")),
         GOT("name:a name:1.2.3.4 name:fd00::1")},
        {ADDRESSES(SEVEN "," SEVEN_MORE), GOT("name:a name:9.9.9.9 name:fd00::9 external:8.8.8.8 external:fd00::8 "
                                              "10.0.0.1 fd00::1")},
        {ADDRESSES("{'type':'SomethingNew','address':'1.2.3.4'}," INTERNAL("127.0.0.1")), GOT("127.0.0.1")},
        {ADDRESSES("{'type':'InternalDNS','address':7},{'type':'ExternalDNS'}"), GOT("-")},
        {ADDRESSES("{'address':'1.2.3.4'}," INTERNAL("::ffff:10.0.0.1")), GOT("::ffff:10.0.0.1")},
        {ADDRESSES(""), GOT("-")},
        {NODE("'spec':{}"), GOT("-")},
        /* nothing but the status counts, wherever else such keys turn up */
        {NODE("'addresses':[" INTERNAL("10.0.0.9") "],'spec':{'status':{'addresses':[" INTERNAL("10.0.0.8") "]}}"),
         GOT("-")},
        {NODE("'status':{'addresses':[{'\\u0074ype':'Internal\\u0049P','address':'10\\u002e0.0.1'}]}"),
         GOT("10.0.0.1")},
        /* A bad one is passed over where there is a good one; where there is none, the node's last good state is better. */
        {ADDRESSES(INTERNAL("n1.example") "," INTERNAL("10.0.0.2")),
         GOT("10.0.0.2") PARTIAL(1, "status.addresses[0]: address \"n1.example\" is not an IP address")},
        {ADDRESSES(INTERNAL("10.0.0.1/24") "," INTERNAL("010.0.0.1") "," INTERNAL("10.0.0.2") "," INTERNAL("bad")),
         GOT("10.0.0.2") PARTIAL(3, "status.addresses[0]: address \"10.0.0.1/24\" is not an IP address")},
        {ADDRESSES("7," INTERNAL("10.0.0.2")),
         GOT("10.0.0.2") PARTIAL(1, "status.addresses[0]: is a number, not an object")},
        {ADDRESSES("{'type':true}," INTERNAL("10.0.0.2")),
         GOT("10.0.0.2") PARTIAL(1, "status.addresses[0]: type is a boolean, not a string")},
        {ADDRESSES(INTERNAL("10.0.0.1") "," EXTERNAL("node.example") "," NAME("-")),
         GOT("10.0.0.1") PARTIAL(2, "status.addresses[1]: address \"node.example\" is not an IP address")},
        /* that of another type is not missed, unless it is all there is */
        {ADDRESSES(NAME("n1") "," EXTERNAL("")), GOT("name:n1") PARTIAL(1, "status.addresses[1]: address is absent")},
        {ADDRESSES(NAME("n1") "," EXTERNAL("1.2.3.4") "," INTERNAL("bad")),
         SKIPPED("status.addresses[2]: address \"bad\" is not an IP address")},
        {ADDRESSES(NAME("n1") ",{'type':7,'address':'10.0.0.1'}"),
         SKIPPED("status.addresses[1]: type is a number, not a string")},
        {ADDRESSES("{'type':'InternalIP'}"), SKIPPED("status.addresses[0]: address is absent")},
        {ADDRESSES(INTERNAL("10.0.0.1\\u0000")),
         SKIPPED("status.addresses[0]: address (\"10.0.0.1\") has a control character, 0x00")},
        {NODE("'status':{'addresses':{}}"), SKIPPED("status: addresses is an object, not an array")},
        {NODE("'status':'up'"), SKIPPED("status is a string, not an object")},
        /* the exclude label */
        {LABEL("'true'"), GOT("10.0.0.1 excluded")},
        {LABEL("''"), GOT("10.0.0.1 excluded")},
        {LABEL("null"), GOT("10.0.0.1 excluded")}, /* "" to Kubernetes */
        {LABEL("'fALSE'"), GOT("10.0.0.1 excluded")},
        {LABEL("'false\\u0000'"), GOT("10.0.0.1 excluded")},
        {LABEL("'1'"), GOT("10.0.0.1 excluded")},
        {LABEL("'0'"), GOT("10.0.0.1 excluded")},
        {LABEL("'false'"), GOT("10.0.0.1 excluded")},
        {LABELS("{'exclude-from-external-load-balancers':'true','x/" EXCLUDE "':'true'}"), GOT("10.0.0.1")},
        {LABELS("null"), GOT("10.0.0.1")},
        {NODE(UP ",'labels':{'" EXCLUDE "':'true'}"), GOT("10.0.0.1")}, /* not in the metadata */
        /* it is there, whatever it holds */
        {LABEL("false"), GOT("10.0.0.1 excluded")},
        /* nobody knows whether it is there: as before */
        {LABELS("[]"), SKIPPED("metadata: labels is an array, not an object")},
        /* the taint of the autoscaler */
        {TAINTS("[{'key':'" TAINT "','value':'1732181234','effect':'NoSchedule'}]"), GOT("10.0.0.1 to-be-deleted")},
        {TAINTS("[{'key':'x'},{'key':'" TAINT "','effect':7,'value':{}}]"), GOT("10.0.0.1 to-be-deleted")},
        {TAINTS("[{'key':'DeletionCandidateOfClusterAutoscaler'},{'key':'x/" TAINT "'},{'key':'" TAINT "s'},"
                "{'key':'node.kubernetes.io/unreachable'},{'value':'" TAINT "'},{'key':null},{}]"),
         GOT("10.0.0.1")},
        {TAINTS("null"), GOT("10.0.0.1")},
        {NODE(UP ",'spec':null"), GOT("10.0.0.1")},
        {NODE(UP ",'taints':[{'key':'" TAINT "'}]"), GOT("10.0.0.1")}, /* not in the spec */
        /* nobody knows whether it is there: as before */
        {TAINTS("{'key':'" TAINT "'}"), SKIPPED("spec: taints is an object, not an array")},
        {TAINTS("[{'key':'x'},'" TAINT "']"), SKIPPED("spec.taints[1] is a string, not an object")},
        {TAINTS("[{'key':['" TAINT "']}]"), SKIPPED("spec.taints[0]: key is an array, not a string")},
        {TAINTS("[{'key':'" TAINT "'},{'key':1}]"), SKIPPED("spec.taints[1]: key is a number, not a string")},
        {NODE(UP ",'spec':[]"), SKIPPED("spec is an array, not an object")},
        /* a node that is being deleted */
        {META("'deletionTimestamp':'2026-11-21T11:28:14Z','deletionGracePeriodSeconds':0"), GOT("10.0.0.1 deleting")},
        {META("'deletionTimestamp':null"), GOT("10.0.0.1")},
        {META("'creationTimestamp':'2026-11-21T11:28:14Z'"), GOT("10.0.0.1")},
        {META("'deletionTimestamp':false"), GOT("10.0.0.1 deleting")},
        /* Shown by `explain`; nothing depends on them, so that wrong ones are only reported. */
        {NODE(UP ",'spec':{'unschedulable':true}"), GOT("10.0.0.1 cordoned")},
        {NODE(UP ",'spec':{'unschedulable':false}"), GOT("10.0.0.1")},
        {NODE(UP ",'spec':{'unschedulable':'true'}"),
         GOT("10.0.0.1") PARTIAL(1, "spec: unschedulable is a string, not a boolean")},
        {CONDITIONS("[{'type':'Ready','status':'True'}]"), GOT("10.0.0.1")},
        {CONDITIONS("[{'type':'Ready','status':'False'}]"), GOT("10.0.0.1 not-ready")},
        {CONDITIONS("[{'type':'Ready','status':'Unknown'}]"), GOT("10.0.0.1 not-ready")},
        {CONDITIONS("[{'type':'Ready','status':true}]"), GOT("10.0.0.1 not-ready")},
        {CONDITIONS("[{'type':'MemoryPressure','status':'False'},{'type':'Ready','status':'True'}]"), GOT("10.0.0.1")},
        {CONDITIONS("[{'type':7,'status':'False'},{'status':'False'}]"), GOT("10.0.0.1")},
        {CONDITIONS("null"), GOT("10.0.0.1")},
        {CONDITIONS("{}"), GOT("10.0.0.1") PARTIAL(1, "status: conditions is an object, not an array")},
        {CONDITIONS("[7,{'type':'Ready','status':'False'},null]"),
         GOT("10.0.0.1 not-ready") PARTIAL(2, "status.conditions[0]: is a number, not an object")},
        /* all at once */
        {"{'metadata':{'name':'n1','resourceVersion':'5','labels':{'a':'b','" EXCLUDE "':'yes'},"
         "'deletionTimestamp':'2026-11-21T11:28:14Z'},'spec':{'unschedulable':true,'taints':[{'key':'" TAINT "'}]},"
         "'status':{'conditions':[{'type':'Ready','status':'Unknown'}],'addresses':[" INTERNAL("10.0.0.1") "]}}",
         GOT("10.0.0.1 excluded to-be-deleted deleting cordoned not-ready")},
        /* one report for all that was left out, the first by name */
        {"{'metadata':{'name':'n1','resourceVersion':'5','labels':{'" EXCLUDE "':1}},'spec':{'unschedulable':1},"
         "'status':{'conditions':[1],'addresses':[" INTERNAL("10.0.0.1") ",1]}}",
         GOT("10.0.0.1 excluded") PARTIAL(3, "status.addresses[1]: is a number, not an object")},
        /* no state of a node that is gone */
        {"{'metadata':{'name':'n1','resourceVersion':'5','labels':[]},'spec':7,'status':{'addresses':['x']}}",
         SKIPPED("status.addresses[0]: is a string, not an object")},
    };
    text_check_rows(&kube_nodes, true, rows, array_len(rows));
}

/* What a packet can be sent to, by an IP literal and by a name that is not one in disguise. */
TEST(which_texts_are_addresses)
{
    static const struct {
        const char *text, *ip_why, *name_why; /* NULL: good as that */
    } rows[] = {
        {"10.0.0.1", NULL, NULL},
        {"fd00::1", NULL, NULL},
        {"0.0.0.0", "address 0.0.0.0 is the unspecified address, not that of a machine", "same"},
        {"::", "address :: is the unspecified address, not that of a machine", "same"},
        {"224.0.0.1", "address 224.0.0.1 is a multicast or broadcast address, not that of a machine", "same"},
        {"255.255.255.255", "address 255.255.255.255 is a multicast or broadcast address, not that of a machine",
         "same"},
        {"ff02::1", "address ff02::1 is a multicast or broadcast address, not that of a machine", "same"},
        {"febf::1", "address febf::1 is link-local, which needs an interface", "same"},
        {"240.0.0.1", NULL, NULL},
        {"255.255.255.254", NULL, NULL},
        {"fe80::1%eth0", "address \"fe80::1%eth0\" is not an IP address", "address \"fe80::1%eth0\" is not a DNS name"},
        {"n1", NO_IP("n1"), NULL},
        {"Node_1.rack-7.example", NO_IP("Node_1.rack-7.example"), NULL},
        {"0x.example", NO_IP("0x.example"), NULL},
        {"10.1", NO_IP("10.1"), NO_NAME("10.1")},
        {"1234", NO_IP("1234"), NO_NAME("1234")},
        {"0x7f000001", NO_IP("0x7f000001"), NO_NAME("0x7f000001")},
        {"n1.0x", NO_IP("n1.0x"), NO_NAME("n1.0x")},
        {"n1.", NO_IP("n1."), NO_NAME("n1.")},
        {"-n1", NO_IP("-n1"), NO_NAME("-n1")},
        {"n1-.example", NO_IP("n1-.example"), NO_NAME("n1-.example")},
        {"n1:80", NO_IP("n1:80"), NO_NAME("n1:80")},
        {"n\xc3\xbc", NO_IP("n\xc3\xbc"), NO_NAME("n\xc3\xbc")},
        {X63 ".example", NO_IP(X63 ".example"), NULL},
        {X63 "x", NO_IP(X63 "x"), NO_NAME(X63 "x")},
    };
    for (size_t i = 0; i < array_len(rows); i++)
        for (int name = 0; name < 2; name++) {
            const char *why = name && str_eq(rows[i].name_why, "same") ? rows[i].ip_why
                              : name                                   ? rows[i].name_why
                                                                       : rows[i].ip_why;
            cleanup(mem_free_ptr) char *json =
                mem_printf(ADDRESSES("{'type':'%s','address':'%s'}"), name ? "Hostname" : "InternalIP", rows[i].text);
            cleanup(mem_free_ptr) char *want = why == NULL ? mem_printf(GOT("%s%s"), name ? "name:" : "", rows[i].text)
                                                           : mem_printf(SKIPPED("status.addresses[0]: %s"), why);
            text_check_rows(&kube_nodes, true, &(struct text_row){json, want}, 1);
        }
}

static uint64_t uid_hash_of(const char *quoted)
{
    struct kube_event e;
    char json[512] = {0};
    cleanup(mem_free_ptr) char *text = text_json(quoted);
    snprintf(json, sizeof(json) - KUBE_DECODE_PADDING_BYTES, "%s", text);
    ck_assert_int_eq(kube_decode_item(&kube_nodes, json, strlen(json), &e, &flaw), 0);
    uint64_t hash = ((const struct node *)e.object)->uid_hash;
    kube_event_fini(&e);
    return hash;
}

TEST(another_uid_is_another_node)
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
    text_check_rows(&kube_nodes, true, rows, array_len(rows));
}

TEST(what_real_servers_sent)
{
    static const struct text_file files[] = {
        {"tests/data/kubernetes/nodes-list.json", &kube_nodes, true,
         "ADDED dual v200 node 10.20.0.1 2001:db8::1 name:dual\n"
         "ADDED external-first v202 node external:198.51.100.7 10.20.0.3\nADDED no-address v204 node -\n"
         "ADDED six-first v206 node 2001:db8::2 10.20.0.2 name:six-first\nlist v212 \"\"\n"},
        {"tests/data/kubernetes/nodes-page1.json", &kube_nodes, true,
         "ADDED dual v200 node 10.20.0.1 2001:db8::1 name:dual\n"
         "ADDED external-first v202 node external:198.51.100.7 10.20.0.3\nADDED no-address v204 node -\n"
         "list v212 \"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MjEyLCJzdGFydCI6Ii9uby1hZGRyZXNzXHUwMDAwIn0\"\n"},
        {"tests/data/kubernetes/nodes-page2.json", &kube_nodes, true,
         "ADDED six-first v206 node 2001:db8::2 10.20.0.2 name:six-first\nlist v212 \"\"\n"},
        {"tests/data/kubernetes/nodes-signs.json", &kube_nodes, true,
         "ADDED cordoned v198 node 10.20.1.1 name:cordoned cordoned not-ready\n"
         "ADDED deleting v219 node 10.20.1.2 name:deleting deleting\n"
         "ADDED excluded v204 node 10.20.1.3 name:excluded excluded\n"
         "ADDED not-excluded v206 node 10.20.1.4 name:not-excluded excluded\n"
         "ADDED to-be-deleted v208 node 10.20.1.5 name:to-be-deleted to-be-deleted\nlist v219 \"\"\n"},
    };
    text_check_files(files, array_len(files));
}
