#include "decode_text.h"

#define META "'metadata':{'name':'web','resourceVersion':'5'}"
#define SLICE(rest) "{" META ",'addressType':'IPv4'" rest "}"
#define SIX(rest) "{" META ",'addressType':'IPv6'" rest "}"
#define ENDPOINTS(list) SLICE(",'endpoints':[" list "]")
#define CONDITIONS(c) ENDPOINTS("{'addresses':['10.0.0.1'],'conditions':" c "}")
#define PORTS(list) SLICE(",'ports':[" list "]")
#define GOOD "{'addresses':['10.0.0.9'],'nodeName':'n9'}"
#define PARTIAL_1(why) " PARTIAL (endpointslice web: 1 left out, the first: " why ")"
#define SKIPPED(why) "ADDED web v5 SKIPPED (endpointslice web is skipped: " why ")"

TEST(what_is_kept)
{
    static const struct text_row rows[] = {
        /* conditions */
        {ENDPOINTS("{'addresses':['10.0.0.1']}"), "ADDED web v5 set : 10.0.0.1"},
        {CONDITIONS("null"), "ADDED web v5 set : 10.0.0.1"},
        {CONDITIONS("{'ready':true}"), "ADDED web v5 set : 10.0.0.1"},
        {CONDITIONS("{'ready':false}"), "ADDED web v5 set : 10.0.0.1=no"},
        {CONDITIONS("{'ready':false,'serving':true}"), "ADDED web v5 set : 10.0.0.1=serving"},
        {CONDITIONS("{'ready':false,'serving':true,'terminating':true}"), "ADDED web v5 set : 10.0.0.1=leaving"},
        {CONDITIONS("{'ready':false,'terminating':true}"), "ADDED web v5 set : 10.0.0.1=gone"},
        {CONDITIONS("{'serving':false}"), "ADDED web v5 set : 10.0.0.1=odd"},
        {CONDITIONS("{'terminating':true}"), "ADDED web v5 set : 10.0.0.1=ready-leaving"},
        /* endpoints */
        {ENDPOINTS("{'addresses':['10.0.0.1','10.0.0.2'],'nodeName':'n1','targetRef':{'name':'p'},'zone':'z'}"),
         "ADDED web v5 set : 10.0.0.1@n1"},
        {ENDPOINTS("{'addresses':['10.0.0.1'],'nodeName':null},{'addresses':['10.0.0.2'],'nodeName':''}"),
         "ADDED web v5 set : 10.0.0.1 10.0.0.2"},
        {ENDPOINTS("{'addresses':['10.0.0.1'],'nodeName':'n/1\\\"\\\\x'}"), "ADDED web v5 set : 10.0.0.1@n/1\"\\x"},
        {SIX(",'endpoints':[{'addresses':['fd00::1']}]"), "ADDED web v5 set : fd00::1"},
        {SLICE(",'endpoints':null,'ports':null"), "ADDED web v5 set :"},
        {SLICE(""), "ADDED web v5 set :"},
        /* several that cannot be used are counted */
        {SLICE(",'endpoints':[" GOOD ",{},7,{'addresses':['x']}," GOOD "],'ports':[{'port':80},{'port':0}]"),
         "ADDED web v5 set /80 : 10.0.0.9@n9 10.0.0.9@n9 PARTIAL (endpointslice web: 4 left out, the first: ports[1]: "
         "port "
         "is 0, not in 1..65535)"},
        {ENDPOINTS("{},{},{}"),
         "ADDED web v5 set : PARTIAL (endpointslice web: 3 left out, the first: endpoints[0]: addresses has none)"},
        /* ports */
        {PORTS("{'name':'https','port':8443,'protocol':'TCP'}"), "ADDED web v5 set https/8443 :"},
        {PORTS("{'port':1},{'port':65535,'name':null,'protocol':null},{'port':80,'name':'','protocol':''}"),
         "ADDED web v5 set /1 /65535 /80 :"},
        {PORTS("{'name':'b','port':2,'appProtocol':'https'},{'name':'a','port':1}"), "ADDED web v5 set b/2 a/1 :"},
        {PORTS("{'port':53,'protocol':'UDP'},{'port':80,'protocol':'TCP'},{'port':9,'protocol':'SCTP'}"),
         "ADDED web v5 set /80 :"},
        {PORTS("{'name':'any'},{'name':'null','port':null}"), "ADDED web v5 set :"},
        {SLICE(",'ports':null"), "ADDED web v5 set :"},
        /* a slice that cannot be used */
        {"{" META ",'addressType':'FQDN','endpoints':[{'addresses':['a.example']}]}",
         SKIPPED("addressType is \"FQDN\": only IPv4 and IPv6 are supported")},
        {"{" META "}", SKIPPED("addressType is absent")},
        {"{" META ",'addressType':4}", SKIPPED("addressType is a number, not a string")},
        {SLICE(",'endpoints':{}"), SKIPPED("endpoints is an object, not an array")},
        {SLICE(",'ports':'http'"), SKIPPED("ports is a string, not an array")},
        {SLICE(",'ports':[{'port':0},{'port':1}],'endpoints':true"), SKIPPED("endpoints is a boolean, not an array")},
    };
    text_check_rows(&kube_slices, true, rows, array_len(rows));
}

/* One of many: the others stay. */
TEST(an_endpoint_that_cannot_be_used)
{
    static const struct {
        const char *endpoint, *why;
    } rows[] = {
        {"7", "is a number, not an object"},
        {"{}", "addresses has none"},
        {"{'addresses':'10.0.0.1'}", "addresses is a string, not an array"},
        {"{'addresses':[1]}", "addresses[0] is a number, not a string"},
        {"{'addresses':['host','10.0.0.1']}", "addresses[0] \"host\" is not an IPv4 address"},
        {"{'addresses':['fd00::1']}", "addresses[0] \"fd00::1\" is not an IPv4 address"},
        {"{'addresses':['0.0.0.0']}", "addresses[0] 0.0.0.0 is the unspecified address, not that of a machine"},
        {"{'addresses':['10.0.0.1'],'conditions':[]}", "conditions is an array, not an object"},
        {"{'addresses':['10.0.0.1'],'conditions':{'ready':'true'}}", "conditions: ready is a string, not a boolean"},
        {"{'addresses':['10.0.0.1'],'conditions':{'serving':1}}", "conditions: serving is a number, not a boolean"},
        {"{'addresses':['10.0.0.1'],'conditions':{'terminating':{}}}",
         "conditions: terminating is an object, not a boolean"},
        {"{'addresses':['10.0.0.1'],'nodeName':5}", "nodeName is a number, not a string"},
        {"{'addresses':['10.0.0.1'],'nodeName':'n\\u00001'}", "nodeName (\"n\") has a control character, 0x00"},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        cleanup(mem_free_ptr) char *json = mem_printf(ENDPOINTS("%s," GOOD), rows[i].endpoint);
        cleanup(mem_free_ptr) char *want =
            mem_printf("ADDED web v5 set : 10.0.0.9@n9" PARTIAL_1("endpoints[0]: %s"), rows[i].why);
        struct text_row row = {json, want};
        text_check_rows(&kube_slices, true, &row, 1);
    }
}

TEST(a_port_that_cannot_be_used)
{
    static const struct {
        const char *port, *why;
    } rows[] = {
        {"8443", "is a number, not an object"},
        {"{'port':0}", "port is 0, not in 1..65535"},
        {"{'port':65536}", "port is 65536, not in 1..65535"},
        {"{'port':18446744073709551615}", "port is 18446744073709551615, not in 1..65535"},
        {"{'port':80.0}", "port is 80, not a whole number"},
        {"{'port':'80'}", "port is a string, not a whole number"},
        {"{'port':80,'protocol':6}", "protocol is a number, not a string"},
        {"{'port':80,'name':[]}", "name is an array, not a string"},
        {"{'port':80,'name':'a\\tb'}", "name (\"a b\") has a control character, 0x09"},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        cleanup(mem_free_ptr) char *json = mem_printf(PORTS("{'port':79},%s,{'port':81}"), rows[i].port);
        cleanup(mem_free_ptr) char *want =
            mem_printf("ADDED web v5 set /79 /81 :" PARTIAL_1("ports[1]: %s"), rows[i].why);
        struct text_row row = {json, want};
        text_check_rows(&kube_slices, true, &row, 1);
    }
}

static char *repeated(const char *before, const char *part, size_t count, const char *after)
{
    struct buf b = {0};
    buf_add(&b, before);
    for (size_t i = 0; i < count; i++) {
        buf_add(&b, i > 0 ? "," : "");
        buf_add(&b, part);
    }
    buf_add(&b, after);
    return buf_take(&b);
}

static void decode_parts(const char *start, const char *part, size_t count, const char *end, struct kube_event *ret)
{
    cleanup(mem_free_ptr) char *quoted = repeated(start, part, count, end), *json = text_json(quoted);
    size_t len = strlen(json);
    json = mem_resize(json, len + 1 + KUBE_DECODE_PADDING_BYTES, 1);
    memset(json + len, 0, KUBE_DECODE_PADDING_BYTES);
    ck_assert_int_eq(kube_decode_item(&kube_slices, json, len, ret, &flaw), 0);
}

TEST(more_parts_than_any_object_has)
{
    struct kube_event e;
    decode_parts("{" META ",'addressType':'IPv4','ports':[{'port':1}],'endpoints':[", GOOD, KUBE_MAX_PARTS - 1, "]}",
                 &e);
    ck_assert_msg(e.object != NULL, "%s", e.skipped.message);
    ck_assert_uint_eq(((const struct endpoint_set *)e.object)->groups[0].endpoint_count, KUBE_MAX_PARTS - 1);
    kube_event_fini(&e);
    decode_parts("{" META ",'addressType':'IPv4','ports':[{'port':1}],'endpoints':[", GOOD, KUBE_MAX_PARTS, "]}", &e);
    ck_assert_ptr_null(e.object);
    ck_assert_str_eq(e.skipped.message, "endpointslice web is skipped: endpoints: more than 65536 ports, endpoints and "
                                        "subsets in one object");
    kube_event_fini(&e);
    /* a message for the first, a count for the others */
    decode_parts("{" META ",'addressType':'IPv4','ports':[", "{'port':0}", KUBE_MAX_PARTS, "]}", &e);
    ck_assert_str_eq(e.partial.message,
                     "endpointslice web: 65536 left out, the first: ports[0]: port is 0, not in 1..65535");
    kube_event_fini(&e);
}

TEST(what_real_servers_sent)
{
    static const char ours[] =
        "ADDED four v207 set https/8443 http/8080 : 10.244.0.1@dual 10.244.0.2@six-first=leaving 10.244.0.3 "
        "10.244.0.4@no-address=no\n"
        "ADDED named v209 SKIPPED (endpointslice named is skipped: addressType is \"FQDN\": only IPv4 and IPv6 are "
        "supported)\n"
        "ADDED no-ports v210 set : 10.244.0.7@dual\nADDED nothing v211 set https/8443 :\n"
        "ADDED six v208 set https/8443 : 2001:db8::5@six-first\nlist v212 \"\"\n";
    static const char changes[] = "MODIFIED six v213 set https/8443 : 2001:db8::6@six-first\nDELETED nothing v214\n";
    const struct text_file files[] = {
        {"tests/data/kubernetes/slices-list.json", &kube_slices, true, ours},
        {"tests/data/kubernetes/slices-watch.jsonl", &kube_slices, false, changes},
    };
    text_check_files(files, array_len(files));
}

/* Of all Services: in its namespace, by the label. */
TEST(whose_slice_it_is)
{
#define OF(metadata) \
    "{'metadata':{'name':'web-1','namespace':'shop','resourceVersion':'5'" metadata "},'addressType':'IPv4'}"
    static const struct text_row rows[] = {
        {OF(",'labels':{'kubernetes.io/service-name':'web','a':'b'}"), "ADDED shop/web-1 v5 set : of shop/web"},
        {OF(",'labels':{'kubernetes.io/service-name':''}"), "ADDED shop/web-1 v5 set :"},
        {OF(",'labels':{'a':'b'}"), "ADDED shop/web-1 v5 set :"},
        {OF(",'labels':{'kubernetes.io/service-name':7}"),
         "ADDED shop/web-1 v5 SKIPPED (endpointslice shop/web-1 is skipped: metadata.labels: "
         "kubernetes.io/service-name is a number, not a string)"},
        {"{'metadata':{'name':'web-1','resourceVersion':'5','labels':{'kubernetes.io/service-name':'web'}},"
         "'addressType':'IPv4'}",
         "ADDED web-1 v5 set :"},
    };
    text_check_rows(&kube_service_slices, true, rows, array_len(rows));
}
