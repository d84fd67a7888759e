#include "decode_text.h"

#include "kube/resource.h"

#define SERVICE(metadata)                                                                        \
    "{'metadata':{'name':'web','namespace':'shop','resourceVersion':'5','uid':'u'" metadata "}," \
    "'spec':{'type':'NodePort','ports':[{'name':'http','port':80,'nodePort':30080}]}}"
#define GOT(what) "ADDED shop/web v5 service NodePort : http/80/30080 created " what
#define SKIPPED(why) "ADDED shop/web v5 SKIPPED (service shop/web is skipped: " why ")"
#define LEFT_OUT(what, why) GOT(what) " PARTIAL (service shop/web: 1 left out, the first: " why ")"

static const struct annotated_prefixes prefixes = {{"ours/", "theirs."}};

TEST(what_is_kept)
{
    static const struct text_row rows[] = {
        {SERVICE(",'creationTimestamp':'1970-01-01T00:00:01Z'"), GOT("1000000")},
        {SERVICE(""), GOT("0")},
        {SERVICE(",'annotations':{'theirs.http.hostname':'a','ours/http.path':'/b','other/x':'c','theirs':'d'}"),
         GOT("0 theirs.http.hostname=a ours/http.path=/b")},
        {SERVICE(
             ",'annotations':{'haproxy.org/auth-type':'basic','haproxy.org/check':'true','haproxy.org/whitelist':7}"),
         GOT("0 haproxy.org/auth-type=basic")},
        {SERVICE(",'annotations':null"), GOT("0")},
        {SERVICE(",'annotations':{'theirs.a':''}"), GOT("0 theirs.a=")},
    };
    struct kube_resource of = kube_annotated_services(&prefixes);
    text_check_rows(&of, true, rows, array_len(rows));
}

TEST(what_is_not)
{
    static const struct text_row rows[] = {
        {SERVICE(",'creationTimestamp':'yesterday'"),
         SKIPPED("metadata.creationTimestamp is \"yesterday\", no time of RFC 3339")},
        {SERVICE(",'creationTimestamp':7"), SKIPPED("metadata: creationTimestamp is a number, not a string")},
        {SERVICE(",'annotations':[]"), SKIPPED("metadata: annotations is an array, not an object")},
        {SERVICE(",'annotations':{'theirs.a':7,'theirs.b':'x'}"),
         LEFT_OUT("0 theirs.b=x", "metadata.annotations[\"theirs.a\"]: is a number, not a string")},
        {SERVICE(",'annotations':{'theirs.a':'\\u0000','other':7}"),
         LEFT_OUT("0", "metadata.annotations[\"theirs.a\"]: has a NUL")},
    };
    struct kube_resource of = kube_annotated_services(&prefixes);
    text_check_rows(&of, true, rows, array_len(rows));
}

/* 4096 bytes are kept, one more is not. */
TEST(long_values)
{
    struct kube_resource of = kube_annotated_services(&prefixes);
    for (int len = 4096; len <= 4097; len++) {
        cleanup(mem_free_ptr) char *value = mem_printf("%0*d", len, 0),
                                   *quoted = mem_printf(SERVICE(",'annotations':{'theirs.a':'%s'}"), value),
                                   *json = text_json(quoted);
        cleanup(buf_fini) struct buf got = {0};
        text_decode(&got, &of, true, json, strlen(json));
        ck_assert_int_eq(strstr(buf_str(&got), "has 4097 bytes, more than 4096") != NULL, len == 4097);
        ck_assert_int_eq(strstr(buf_str(&got), value) != NULL, len == 4096);
    }
}
