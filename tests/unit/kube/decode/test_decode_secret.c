#include "decode_text.h"

#define SECRET(rest) "{'metadata':{'name':'cfg','resourceVersion':'5','uid':'u'}," rest "}"
#define DATA(rest) SECRET("'data':{" rest "}")
#define ANNOTATIONS(value) "{'metadata':{'name':'cfg','resourceVersion':'5','annotations':" value "}}"
#define GOT(what) "ADDED cfg v5 secret" what
#define PARTIAL(why) " PARTIAL (secret cfg: 1 left out, the first: " why ")"
#define SKIPPED(why) "ADDED cfg v5 SKIPPED (secret cfg is skipped: " why ")"

TEST(what_is_kept)
{
    static const struct text_row rows[] = {
        /* values */
        {DATA("'haproxy.cfg':'Z2xvYmFs'"), GOT(" uid/u : haproxy.cfg[6]global")},
        {DATA("'a':'Z2xvYmFs','b':'YQBi'"), GOT(" uid/u : a[6]global b[3]a")}, /* with a NUL in it */
        {DATA("'a':''"), GOT(" uid/u : a[0]")},
        {DATA("'a':null"), GOT(" uid/u :") PARTIAL("data: a is null, not a string")},
        {SECRET("'stringData':{'a':'b'}"), GOT(" uid/u :")},
        {DATA("'a':'Z2xvYmFs','b':'a?b='"), GOT(" uid/u : a[6]global") PARTIAL("data: b is no base64")},
        {DATA("'a':'Z2xvYmFs','b':7"), GOT(" uid/u : a[6]global") PARTIAL("data: b is a number, not a string")},
        {SECRET("'data':[]"), SKIPPED("data is an array, not an object")},
        /* annotations */
        {ANNOTATIONS("{'a':'b'}"), GOT(" :")},
        {ANNOTATIONS("{'haproxy.operator/status':'Applied','a':'b'}"), GOT(" haproxy.operator/status=Applied :")},
        {ANNOTATIONS("{'haproxy.operator/status':7}"), GOT(" :")},
        {ANNOTATIONS("{'haproxy-k8s-sync/paused':''}"), GOT(" paused :")},
        {ANNOTATIONS("{'haproxy-k8s-sync/paused':'false'}"), GOT(" :")},
        {ANNOTATIONS("{'haproxy.operator/paused':'true'}"), GOT(" paused haproxy.operator/paused=true :")},
        {ANNOTATIONS("{'haproxy.operator/paused':'true','haproxy-k8s-sync/paused':'false'}"),
         GOT(" paused haproxy.operator/paused=true :")},
        {ANNOTATIONS("{'haproxy-k8s-sync/paused':7}"),
         GOT(" paused :") PARTIAL("metadata.annotations: haproxy-k8s-sync/paused is a number, not a string")},
        {ANNOTATIONS("[]"), SKIPPED("metadata: annotations is an array, not an object")},
    };
    text_check_rows(&kube_secrets, true, rows, array_len(rows));
}

#define MAP_SKIPPED(why) "ADDED cfg v5 SKIPPED (configmap cfg is skipped: " why ")"

/* A ConfigMap is read as a Secret: texts as they are, bytes decoded. */
TEST(config_maps)
{
    static const struct text_row rows[] = {
        {DATA("'haproxy.cfg':'global'"), GOT(" uid/u : haproxy.cfg[6]global")},
        {SECRET("'data':{'a':'x'},'binaryData':{'b':'YQBi'}"), GOT(" uid/u : a[1]x b[3]a")},
        {SECRET("'binaryData':{'b':'a?b='}"),
         GOT(" uid/u :") " PARTIAL (configmap cfg: 1 left out, the first: binaryData: b is no base64)"},
        {DATA("'a':'x','b':7"),
         GOT(" uid/u : a[1]x") " PARTIAL (configmap cfg: 1 left out, the first: data: b is a number, not a text)"},
        {SECRET("'data':[]"), MAP_SKIPPED("data is an array, not an object")},
        {SECRET("'binaryData':'x'"), MAP_SKIPPED("binaryData is a string, not an object")},
    };
    text_check_rows(&kube_config_maps, true, rows, array_len(rows));
}
