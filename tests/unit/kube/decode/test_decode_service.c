#include "decode_text.h"

#define PAUSE "haproxy-k8s-sync/paused"
#define SERVICE(rest) "{'metadata':{'name':'web','resourceVersion':'5','uid':'u'}," rest "}"
#define SPEC(rest) SERVICE("'spec':{" rest "}")
#define PORTS(list) SPEC("'ports':[" list "]")
#define ANNOTATIONS(value) "{'metadata':{'name':'web','resourceVersion':'5','annotations':" value "}}"
#define PAUSED(value) ANNOTATIONS("{'a':'b','" PAUSE "':" value "}")
#define GOT(what) "ADDED web v5 service " what
#define PARTIAL(count, why) " PARTIAL (service web: " #count " left out, the first: " why ")"
#define SKIPPED(why) "ADDED web v5 SKIPPED (service web is skipped: " why ")"

TEST(what_is_kept)
{
    static const struct text_row rows[] = {
        /* types */
        {SPEC("'type':'ClusterIP'"), GOT("ClusterIP :")},
        {SPEC("'type':'NodePort'"), GOT("NodePort :")},
        {SPEC("'type':'LoadBalancer'"), GOT("LoadBalancer :")},
        {SPEC("'type':'ExternalName','externalName':'example.com'"), GOT("ExternalName :")},
        {SPEC("'type':null"), GOT("ClusterIP :")},
        {SERVICE("'spec':null"), GOT("ClusterIP :")},
        {SERVICE("'status':{'type':'NodePort'},'type':'NodePort'"), GOT("ClusterIP :")},
        {SPEC("'type':'nodePort'"),
         GOT("ClusterIP :") PARTIAL(1, "spec: type is \"nodePort\", which is unknown: ClusterIP is used")},
        {SPEC("'type':7"), GOT("ClusterIP :") PARTIAL(1, "spec: type is a number, not a string")},
        {SERVICE("'spec':[]"), SKIPPED("spec is an array, not an object")},
        /* policies */
        {SPEC("'externalTrafficPolicy':'Local'"), GOT("ClusterIP local :")},
        {SPEC("'externalTrafficPolicy':'Cluster'"), GOT("ClusterIP :")},
        {SPEC("'externalTrafficPolicy':null"), GOT("ClusterIP :")},
        {SPEC("'internalTrafficPolicy':'Local'"), GOT("ClusterIP :")},
        {SPEC("'externalTrafficPolicy':'local'"),
         GOT("ClusterIP :") PARTIAL(1, "spec: externalTrafficPolicy is \"local\", which is unknown: Cluster is used")},
        {SPEC("'externalTrafficPolicy':['Local']"),
         GOT("ClusterIP :") PARTIAL(1, "spec: externalTrafficPolicy is an array, not a string")},
        /* health check ports */
        {SPEC("'healthCheckNodePort':32000"), GOT("ClusterIP check/32000 :")},
        {SPEC("'healthCheckNodePort':65535"), GOT("ClusterIP check/65535 :")},
        {SPEC("'healthCheckNodePort':null"), GOT("ClusterIP :")},
        {SPEC("'healthCheckNodePort':65536"),
         GOT("ClusterIP :") PARTIAL(1, "spec: healthCheckNodePort is 65536, not in 0..65535")},
        {SPEC("'healthCheckNodePort':'32000'"),
         GOT("ClusterIP :") PARTIAL(1, "spec: healthCheckNodePort is a string, not a whole number")},
        /* families */
        {SPEC("'ipFamilies':['IPv4']"), GOT("ClusterIP IPv4 :")},
        {SPEC("'ipFamilies':['IPv4','IPv6']"), GOT("ClusterIP IPv4 IPv6 :")},
        {SPEC("'ipFamilies':['IPv6','IPv6']"), GOT("ClusterIP IPv6 :")},
        {SPEC("'ipFamilies':['IPv6','IPv4','IPv6','IPv4']"), GOT("ClusterIP IPv6 IPv4 :")},
        {SPEC("'ipFamilies':null"), GOT("ClusterIP :")},
        {SPEC("'ipFamilies':['IPv7','IPv6']"),
         GOT("ClusterIP IPv6 :") PARTIAL(1, "spec.ipFamilies[0]: is \"IPv7\", neither IPv4 nor IPv6")},
        {SPEC("'ipFamilies':[4,null,'IPv4']"),
         GOT("ClusterIP IPv4 :") PARTIAL(2, "spec.ipFamilies[0]: is a number, not a string")},
        {SPEC("'ipFamilies':'IPv4'"), GOT("ClusterIP :") PARTIAL(1, "spec: ipFamilies is a string, not an array")},
        /* ports */
        {PORTS("{'name':'https','protocol':'TCP','port':443,'targetPort':8443,'nodePort':30443}"),
         GOT("ClusterIP : https/443/30443")},
        {PORTS("{'name':'b','port':2,'targetPort':'name'},{'name':'a','port':1,'appProtocol':'http'}"),
         GOT("ClusterIP : b/2 a/1")},
        {PORTS("{'port':1},{'port':65535,'name':null,'protocol':null,'nodePort':null}"), GOT("ClusterIP : /1 /65535")},
        {PORTS("{'port':80,'protocol':'','name':'','nodePort':0}"), GOT("ClusterIP : /80")},
        {PORTS("{'name':'dns','port':53,'protocol':'UDP','nodePort':30053},{'name':'dns','port':53}"),
         GOT("ClusterIP : dns/53")},
        {PORTS("{'name':'s','port':9,'protocol':'SCTP'},{'name':'t','port':9,'protocol':'tcp'}"), GOT("ClusterIP :")},
        {SPEC("'ports':null"), GOT("ClusterIP :")},
        {SERVICE("'ports':[{'port':80}]"), GOT("ClusterIP :")},
        /* what is wrong with a port that is none of ours does not matter */
        {PORTS("{'port':'x','name':7,'nodePort':[],'protocol':'UDP'}"), GOT("ClusterIP :")},
        /* pausing */
        {PAUSED("'true'"), GOT("ClusterIP paused :")},
        {PAUSED("'until the migration is over'"), GOT("ClusterIP paused :")},
        {PAUSED("''"), GOT("ClusterIP paused :")},
        {PAUSED("null"), GOT("ClusterIP paused :")}, /* "" to Kubernetes */
        {PAUSED("'0'"), GOT("ClusterIP :")},
        {PAUSED("'false'"), GOT("ClusterIP :")},
        {ANNOTATIONS("{'paused':'true','x/" PAUSE "':'true','" PAUSE "2':'true'}"), GOT("ClusterIP :")},
        {ANNOTATIONS("null"), GOT("ClusterIP :")},
        {"{'metadata':{'name':'web','resourceVersion':'5','labels':{'" PAUSE "':'true'}}}", GOT("ClusterIP :")},
        /* it is there, whatever it holds */
        {PAUSED("false"),
         GOT("ClusterIP paused :") PARTIAL(1, "metadata.annotations: " PAUSE " is a boolean, not a string")},
        /* nobody knows whether it is there: as before */
        {ANNOTATIONS("[]"), SKIPPED("metadata: annotations is an array, not an object")},
    };
    text_check_rows(&kube_services, true, rows, array_len(rows));
}

/* One of several: the others stay. */
TEST(a_port_that_cannot_be_used)
{
    static const struct {
        const char *port, *why;
    } rows[] = {
        {"7", "is a number, not an object"},
        {"{'name':'x'}", "port is absent"},
        {"{'name':'x','port':0}", "port is 0, not in 1..65535"},
        {"{'name':'x','port':65536}", "port is 65536, not in 1..65535"},
        {"{'name':'x','port':'80'}", "port is a string, not a whole number"},
        {"{'name':'x','port':80,'nodePort':'30080'}", "nodePort is a string, not a whole number"},
        {"{'name':'x','port':80,'nodePort':70000}", "nodePort is 70000, not in 0..65535"},
        {"{'name':7,'port':80}", "name is a number, not a string"},
        {"{'name':'a\\nb','port':80}", "name (\"a b\") has a control character, 0x0a"},
        {"{'port':80,'protocol':6}", "protocol is a number, not a string"},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        cleanup(mem_free_ptr) char *json =
            mem_printf(PORTS("{'name':'a','port':1,'nodePort':2},%s,{'name':'c','port':3}"), rows[i].port);
        cleanup(mem_free_ptr) char *want =
            mem_printf(GOT("ClusterIP : a/1/2 c/3") PARTIAL(1, "spec.ports[1]: %s"), rows[i].why);
        text_check_rows(&kube_services, true, &(struct text_row){json, want}, 1);
    }
    static const struct text_row whole[] = {
        {SPEC("'ports':{'port':80}"), SKIPPED("spec: ports is an object, not an array")},
    };
    text_check_rows(&kube_services, true, whole, array_len(whole));
}

TEST(all_at_once)
{
    static const struct text_row rows[] = {
        {"{'metadata':{'name':'web','resourceVersion':'5','annotations':{'" PAUSE "':'true'}},'spec':{"
         "'type':'LoadBalancer','externalTrafficPolicy':'Local','healthCheckNodePort':32000,"
         "'ipFamilies':['IPv6','IPv4'],'ports':[{'name':'http','port':80,'nodePort':30080}]}}",
         GOT("LoadBalancer local check/32000 paused IPv6 IPv4 : http/80/30080")},
        /* one report for all that was left out, the first by name */
        {"{'metadata':{'name':'web','resourceVersion':'5','annotations':{'" PAUSE "':1}},'spec':{"
         "'type':1,'externalTrafficPolicy':1,'healthCheckNodePort':'1','ipFamilies':[1],'ports':[1,{'port':80}]}}",
         GOT("ClusterIP paused : /80") PARTIAL(6, "spec.ports[0]: is a number, not an object")},
    };
    text_check_rows(&kube_services, true, rows, array_len(rows));
    static const struct text_row events[] = {
        {"{'type':'MODIFIED','object':" SPEC("'type':'NodePort'") "}", "MODIFIED web v5 service NodePort :"},
        {"{'type':'DELETED','object':" SERVICE("'spec':7") "}", "DELETED web v5"},
        {"{'type':'ADDED','object':{}}",
         "ADDED SKIPPED (service without a usable name is skipped: metadata: name is absent)"},
        {"{'type':'ADDED'}", "-1 (watch event of service: ADDED: object is absent, not an object)"},
    };
    text_check_rows(&kube_services, false, events, array_len(events));
}

TEST(what_real_servers_sent)
{
    static const struct text_file files[] = {
        {"tests/data/kubernetes/services-list.json", &kube_services, true,
         "ADDED balanced v212 service LoadBalancer local check/32000 paused IPv4 : https/443/30443\n"
         "ADDED elsewhere v213 service ExternalName :\nADDED inside v214 service ClusterIP IPv4 IPv6 : http/80\n"
         "ADDED two v218 service NodePort IPv4 : http/80/30080 https/443/30444\nlist v219 \"\"\n"},
        {"tests/data/kubernetes/services-watch.jsonl", &kube_services, false,
         "MODIFIED two v220 service NodePort paused IPv4 : http/80/30080 https/443/30444\n"
         "MODIFIED two v222 service NodePort local IPv4 : http/80/30080 https/443/30444\nDELETED two v223\n"},
    };
    text_check_files(files, array_len(files));
}

/* Events on it are found by its uid, so it is kept as it is. */
TEST(the_uid)
{
    static const char *const texts[] = {SPEC(""), "{'metadata':{'name':'web','resourceVersion':'5'}}"};
    static const char *const uids[] = {"u", NULL};
    for (size_t i = 0; i < array_len(texts); i++) {
        struct kube_event e;
        char json[512] = {0};
        cleanup(mem_free_ptr) char *text = text_json(texts[i]);
        snprintf(json, sizeof(json) - KUBE_DECODE_PADDING_BYTES, "%s", text);
        ck_assert_int_eq(kube_decode_item(&kube_services, json, strlen(json), &e, &flaw), 0);
        ck_assert_pstr_eq(((const struct service *)e.object)->uid, uids[i]);
        kube_event_fini(&e);
    }
}
