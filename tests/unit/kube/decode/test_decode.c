#include "decode_text.h"

#define EVENT(type, object) "{'type':'" type "','object':" object "}"
#define NODE                                                                                                           \
    "{'metadata':{'name':'n1','resourceVersion':'5'},'status':{'addresses':[{'type':'InternalIP','address':'10.0.0.1'" \
    "}]}}"
#define META(rest) "{'metadata':{" rest "}}"
#define NAMELESS(why) "SKIPPED (node without a usable name is skipped: metadata" why ")"
#define NAMED(why) "SKIPPED (node n1 is skipped: metadata: " why ")"
#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X253 X50 X50 X50 X50 X50 "xxx"

TEST(events)
{
    static const struct text_row rows[] = {
        /* types */
        {EVENT("ADDED", NODE), "ADDED n1 v5 node 10.0.0.1"},
        {EVENT("MODIFIED", NODE), "MODIFIED n1 v5 node 10.0.0.1"},
        {EVENT("DELETED", NODE), "DELETED n1 v5"},
        {EVENT("DELETED", "{'metadata':{'name':'n1','resourceVersion':'5'},'status':7}"), "DELETED n1 v5"},
        {"{'object':" NODE ",'new':[{}],'type':'ADDED'}", "ADDED n1 v5 node 10.0.0.1"},
        {"\n {\r\n\t'type' : 'DELETED' , 'object' : " NODE " } \n", "DELETED n1 v5"},
        {EVENT("BOOKMARK", META("'resourceVersion':'9'")), "BOOKMARK v9"},
        {EVENT("BOOKMARK", META("'resourceVersion':'9','annotations':{'k8s.io/initial-events-end':'true'}")),
         "BOOKMARK v9 end"},
        {EVENT("BOOKMARK", META("'resourceVersion':'9','annotations':{'k8s.io/initial-events-end':'false'}")),
         "BOOKMARK v9"},
        {EVENT("BOOKMARK", META("'resourceVersion':'9','annotations':{'k8s.io/initial-events-end':true}")),
         "BOOKMARK v9"},
        {EVENT("BOOKMARK", META("'resourceVersion':'9','labels':{'k8s.io/initial-events-end':'true'}")), "BOOKMARK v9"},
        {EVENT("SOMETHING", "{'of':'the future'}"), "UNKNOWN"},
        /* no event at all */
        {"{}", "-1 (watch event of node: type is absent, not a string)"},
        {"{'type':5,'object':{}}", "-1 (watch event of node: type is a number, not a string)"},
        {"{'type':'ADDED'}", "-1 (watch event of node: ADDED: object is absent, not an object)"},
        {EVENT("BOOKMARK", META("'resourceVersion':''")),
         "-1 (watch event of node: BOOKMARK: metadata: resourceVersion is absent)"},
        {EVENT("BOOKMARK", META("'resourceVersion':9")),
         "-1 (watch event of node: BOOKMARK: metadata: resourceVersion is a number, not a string)"},
        {EVENT("BOOKMARK", "{'metadata':9}"),
         "-1 (watch event of node: BOOKMARK: metadata is a number, not an object)"},
        {"[]", "-1 (watch event of node: it is an array, not an object)"},
        /* A name or version that is no good is this object's trouble alone. */
        {EVENT("ADDED", "{}"), "ADDED " NAMELESS(": name is absent")},
        {EVENT("ADDED", "{'metadata':[]}"),
         "ADDED SKIPPED (node without a usable name is skipped: metadata is an array, not an object)"},
        {EVENT("ADDED", META("'resourceVersion':'5'")), "ADDED v5 " NAMELESS(": name is absent")},
        {EVENT("MODIFIED", META("'resourceVersion':'5','name':7")),
         "MODIFIED v5 " NAMELESS(": name is a number, not a string")},
        {EVENT("ADDED", META("'resourceVersion':'5','name':'a\\nb'")),
         "ADDED v5 " NAMELESS(": name (\"a b\") has a control character, 0x0a")},
        {EVENT("ADDED", META("'resourceVersion':'5','name':'" X253 "x'")),
         "ADDED v5 " NAMELESS(
             ": name has 254 bytes (\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\"), at most 253 are accepted")},
        {EVENT("ADDED", META("'resourceVersion':'5','name':'" X253 "'")), "ADDED " X253 " v5 node -"},
        {EVENT("ADDED", META("'resourceVersion':'5','name':'q\\\"/\\\\\\u00fc n'")),
         "ADDED q\"/\\\xc3\xbc n v5 node -"},
        {EVENT("ADDED", META("'name':'n1'")), "ADDED n1 " NAMED("resourceVersion is absent")},
        {EVENT("ADDED", META("'name':'n1','resourceVersion':5")),
         "ADDED n1 " NAMED("resourceVersion is a number, not a string")},
        {EVENT("ADDED", META("'name':'n1','resourceVersion':'5\\r\\n'")),
         "ADDED n1 " NAMED("resourceVersion (\"5  \") has a control character, 0x0d")},
        {EVENT("ADDED", META("'name':'n1','resourceVersion':'not a number'")), "ADDED n1 vnot a number node -"},
        /* errors in the stream */
        {EVENT("ERROR", "{'kind':'Status','message':'too old','reason':'Expired','code':410}"),
         "ERROR 410 Expired \"too old\""},
        {EVENT("ERROR", "{'kind':'Status','code':504,'reason':'Timeout','message':'m','details':{'retryAfterSeconds':1,"
                        "'causes':[{'reason':'Other'},{'reason':'ResourceVersionTooLarge'}]}}"),
         "ERROR 504 Timeout \"m\" retry 1 too-large"},
        {EVENT("ERROR", "{'code':429,'details':{'retryAfterSeconds':0,'causes':[]}}"), "ERROR 429  \"\" retry 0"},
        {EVENT("ERROR", "{'code':'410','reason':410,'message':{},'details':[1]}"), "ERROR 0  \"\""},
        {EVENT("ERROR", "{'code':-1,'details':{'retryAfterSeconds':-5,'causes':{'reason':'ResourceVersionTooLarge'}}}"),
         "ERROR 0  \"\""},
        {EVENT("ERROR", "{'code':4294967706,'details':{'retryAfterSeconds':4294967296,'causes':[7,null]}}"),
         "ERROR 0  \"\""},
        {EVENT("ERROR", "{'code':2147483648,'details':{'retryAfterSeconds':2147483647}}"),
         "ERROR 0  \"\" retry 2147483647"},
        {"{'type':'ERROR'}", "ERROR 0  \"\""},
    };
    text_check_rows(&kube_nodes, false, rows, array_len(rows));
}

TEST(no_json_at_all)
{
    static const char *const texts[] = {
        "",
        "{",
        "{\"type\":\"ADDED\",\"object\":{}",
        "{\"type\":\"ADDED\" \"object\":{}}",
        "<html><body>502 Bad Gateway</body></html>",
        "{\"type\":\"ADDED\xff\"}",
        "{\"type\":\"\\ud800\"}",
    };
    for (size_t i = 0; i < array_len(texts); i++)
        for (int item = 0; item < 2; item++) {
            const char *want = item ? "-1 (list item of endpointslice: it is not JSON: "
                                    : "-1 (watch event of endpointslice: it is not JSON: ";
            cleanup(buf_fini) struct buf got = {0};
            text_decode(&got, &kube_slices, item, texts[i], strlen(texts[i]));
            ck_assert_msg(str_has_prefix(buf_str(&got), want), "%s: %s", texts[i], buf_str(&got));
        }
}

/* The list has a version, so that an item needs none. */
TEST(names_and_versions_of_items)
{
    static const struct text_row rows[] = {
        {NODE, "ADDED n1 v5 node 10.0.0.1"},
        {META("'name':'n1'"), "ADDED n1 node -"},
        {META("'name':'n1','resourceVersion':5"), "ADDED n1 node -"},
        {META("'resourceVersion':'5'"), "ADDED v5 " NAMELESS(": name is absent")},
        {"{}", "ADDED " NAMELESS(": name is absent")},
        {"[]", "-1 (list item of node: it is an array, not an object)"},
    };
    text_check_rows(&kube_nodes, true, rows, array_len(rows));
}

TEST(megabytes_in_one_field)
{
    static const char *const before[] = {"{\"metadata\":{\"resourceVersion\":\"5\",\"name\":\"",
                                         "{\"metadata\":{\"name\":\"n1\",\"resourceVersion\":\"5\",\"uid\":\"",
                                         "{\"metadata\":{\"name\":\"n1\",\"resourceVersion\":\""};
    static const char *const want[] = {"node without a usable name is skipped: metadata: name has 5000000 bytes",
                                       "node n1 is skipped: metadata: uid has 5000000 bytes", ""};
    for (size_t i = 0; i < array_len(before); i++) {
        struct kube_event e;
        cleanup(buf_fini) struct buf b = {0};
        buf_add(&b, before[i]);
        for (size_t k = 0; k < 100000; k++)
            buf_add(&b, X50);
        buf_add(&b, "\"}}");
        size_t len = b.len;
        buf_addn(&b, "\0\0\0\0", KUBE_DECODE_PADDING_BYTES);
        ck_assert_int_eq(kube_decode_item(&kube_nodes, b.data, len, &e, &flaw), 0);
        ck_assert_msg(str_has_prefix(e.skipped.message, want[i]), "%s", e.skipped.message);
        ck_assert(strlen(e.skipped.message) < 200 && (e.object == NULL) == (want[i][0] != '\0'));
        kube_event_fini(&e);
    }
}

TEST(errors_that_real_servers_sent)
{
    static const struct text_file files[] = {
        {"tests/data/kubernetes/watch-expired.jsonl", &kube_slices, false,
         "ERROR 410 Expired \"too old resource version: 1 (214)\"\n"},
    };
    text_check_files(files, array_len(files));
}

static char *text_of_body(const char *body, size_t len)
{
    struct kube_event e;
    struct buf b = {0};
    char *copy = malloc(len); /* exactly: a step over its end shows */
    if (len > 0)
        memcpy(copy, body, len);
    kube_decode_status(copy, len, &e);
    free(copy);
    text_of_event(&b, &e);
    kube_event_fini(&e);
    return buf_take(&b);
}

TEST(bodies_of_failed_requests)
{
    static const struct text_row rows[] = {
        {"{'kind':'Status','code':403,'reason':'Forbidden','message':'nodes is forbidden'}",
         "ERROR 403 Forbidden \"nodes is forbidden\""},
        {"{'kind':'Status','code':403,'message':'two\\nlines\\u0000'}", "ERROR 403  \"two lines\""},
        {"", "ERROR 0  \"\""},
        {"<html>\n<head><title>502</title>\r\n\t</head>", "ERROR 0  \"<html> <head><title>502</title> </head>\""},
        {"{'code':403,'message':'not kind Status'}", "ERROR 0  \"{\"code\":403,\"message\":\"not kind Status\"}\""},
        {"[{'kind':'Status','code':403}]", "ERROR 0  \"[{\"kind\":\"Status\",\"code\":403}]\""},
        {"\xff\xfe", "ERROR 0  \"\xff\xfe\""},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        cleanup(mem_free_ptr) char *body = text_json(rows[i].json), *got = text_of_body(body, strlen(body));
        ck_assert_str_eq(got, rows[i].want);
    }
    cleanup(mem_free_ptr) char *got = text_of_body("a\0b", 3);
    ck_assert_str_eq(got, "ERROR 0  \"a b\"");
}

/* Cut between characters, whatever their length: at every offset of a run of each. */
TEST(long_messages_are_cut)
{
    static const char *const characters[] = {"x", "\xc3\xbc", "\xe2\x82\xac", "\xf0\x9f\x90\x8b", "\x80"};
    for (size_t i = 0; i < array_len(characters); i++)
        for (size_t shift = 0; shift < 4; shift++) {
            cleanup(buf_fini) struct buf b = {0};
            buf_addn(&b, "abc", shift);
            while (b.len < 600000)
                buf_add(&b, characters[i]);
            struct kube_event e;
            kube_decode_status(b.data, b.len, &e);
            size_t len = strlen(e.status_message), one = strlen(characters[i]);
            ck_assert_uint_le(len, 512 + 3);
            ck_assert(characters[i][0] == '\x80' || len > 512 + 3 - 4);
            ck_assert(str_has_suffix(e.status_message, "..."));
            ck_assert_uint_eq((len - 3 - shift) % one, 0);
            ck_assert_int_eq(memcmp(e.status_message, b.data, len - 3), 0);
            kube_event_fini(&e);
        }
}

static void check_body(const char *path, const char *want)
{
    cleanup(buf_fini) struct buf body = {0};
    ck_assert_msg(buf_read_file(&body, path) == 0, "%s cannot be read", path);
    cleanup(mem_free_ptr) char *got = text_of_body(buf_str(&body), body.len);
    ck_assert_str_eq(got, want);
}

TEST(bodies_that_real_servers_sent)
{
    check_body("tests/data/kubernetes/too-large-version.json",
               "ERROR 504 Timeout \"Timeout: Too large resource version: 99999999, current: 214\" retry 1 too-large");
    check_body(
        "tests/data/kubernetes/forbidden.json",
        "ERROR 403 Forbidden \"nodes is forbidden: User \"haproxy-k8s-sync\" cannot list resource \"nodes\" in API "
        "group \"\" at the cluster scope\"");
}

TEST(what_is_around_the_items)
{
    static const struct text_row rows[] = {
        {"{'kind':'NodeList','metadata':{'resourceVersion':'212'},'items':[]}", "212 ''"},
        {"{'metadata':{'resourceVersion':'212','continue':'abc'}}", "212 'abc'"},
        {"{'metadata':{'resourceVersion':'212','continue':null},'items':null}", "212 ''"},
        {"{'items':[]}", "list: metadata: resourceVersion is absent"},
        {"{'metadata':{'resourceVersion':''}}", "list: metadata: resourceVersion is absent"},
        {"{'metadata':{'resourceVersion':212}}", "list: metadata: resourceVersion is a number, not a string"},
        {"{'metadata':{'resourceVersion':'1','continue':{}}}", "list: metadata: continue is an object, not a string"},
        {"{'metadata':7}", "list: metadata is a number, not an object"},
        {"{'kind':'Status','message':'no\\nsuch','metadata':{'resourceVersion':'1'}}",
         "list: a Status instead: no such"},
        {"{'kind':'Status','message':1}", "list: a Status instead: without a message"},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        struct kube_list_meta meta = {NULL, NULL};
        struct error err = {ERROR_NONE, 0, ""};
        cleanup(mem_free_ptr) char *json = text_json(rows[i].json);
        bool good = kube_decode_list_meta(json, strlen(json), &meta, &err) == 0;
        cleanup(mem_free_ptr) char *got =
            good ? mem_printf("%s '%s'", meta.resource_version, meta.continue_token) : mem_strdup(err.message);
        ck_assert_str_eq(got, rows[i].want);
        ck_assert(good || (err.kind == ERROR_INVALID && meta.resource_version == NULL && meta.continue_token == NULL));
        kube_list_meta_fini(&meta);
    }
    struct kube_list_meta meta;
    struct error err;
    ck_assert_int_eq(kube_decode_list_meta("", 0, &meta, &err), -1);
    ck_assert(err.kind == ERROR_INVALID && str_has_prefix(err.message, "list: it is not JSON: "));
    ck_assert_int_eq(kube_decode_list_meta(NULL, 0, &meta, &err), -1);
}
