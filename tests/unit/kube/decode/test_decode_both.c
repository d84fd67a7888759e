/* What a real API server said in both encodings (tests/data/kubernetes/both, by capture.py) is the same to us. */
#include "decode_text.h"

#include "../../effort.h"

#define FOLDER "tests/data/kubernetes/both/"

static const struct {
    const char *name;
    const struct kube_resource *of;
    bool list;
    const char *has; /* in what it says */
} pairs[] = {
    {"nodes", &kube_nodes, true, " 10.20.0.1 2001:db8::1 name:dual\n"},
    {"nodes-watch", &kube_nodes, false, "DELETED cordoned "},
    {"services", &kube_services, true, " service LoadBalancer local check/32000 paused IPv4 : https/443/30443\n"},
    {"services-watch", &kube_services, false, "DELETED two "},
    {"slices", &kube_slices, true,
     " set https/8443 http/8080 : 10.244.0.1@dual 10.244.0.2@six-first=leaving 10.244.0.3"},
    {"slices-watch", &kube_slices, false, "MODIFIED six "},
    {"slices-watch", &kube_service_slices, false, " of ingress-nginx/ingress-nginx\n"},
    {"slices-streaming", &kube_slices, false, " end\n"},
    {"endpoints", &kube_endpoints, true, " | https/9443 : 10.244.0.8@dual\n"},
    {"endpoints-watch", &kube_endpoints, false, "ADDED ingress-nginx "},
    {"leases", &kube_leases, true, "ADDED held "},
    {"leases-watch", &kube_leases, false, " lease free\n"},
};

static struct buf read_pair(const char *name, const char *suffix)
{
    struct buf body = {0};
    cleanup(mem_free_ptr) char *path = mem_printf(FOLDER "%s.%s", name, suffix);
    ck_assert_msg(buf_read_file(&body, path) == 0, "%s cannot be read", path);
    return body;
}

TEST_EACH(both_say_the_same, array_len(pairs))
{
    cleanup(buf_fini) struct buf json = read_pair(pairs[_i].name, "json"), protobuf = read_pair(pairs[_i].name, "pb");
    const struct kube_resource *of = pairs[_i].of;
    cleanup(mem_free_ptr) char *want = text_of_answer(of, pairs[_i].list, "application/json", &json, json.len);
    ck_assert_msg(strstr(want, pairs[_i].has) != NULL, "%s has no %s", want, pairs[_i].has);
    for (size_t chunk = 1; chunk <= protobuf.len; chunk = chunk == 1 ? protobuf.len : protobuf.len + 1) {
        cleanup(mem_free_ptr) char *got =
            text_of_answer(of, pairs[_i].list, "application/vnd.kubernetes.protobuf", &protobuf, chunk);
        ck_assert_str_eq(got, want);
    }
}

TEST(a_refusal_says_the_same)
{
    cleanup(buf_fini) struct buf json = read_pair("status", "json"), protobuf = read_pair("status", "pb"), a = {0},
                                 b = {0};
    struct kube_event e;
    kube_decode_status(json.data, json.len, &e);
    text_of_event(&a, &e);
    kube_event_fini(&e);
    kube_decode_status(protobuf.data, protobuf.len, &e);
    text_of_event(&b, &e);
    kube_event_fini(&e);
    ck_assert_str_eq(a.data, b.data);
    ck_assert_ptr_nonnull(strstr(a.data, "ERROR 504 Timeout "));
    ck_assert_ptr_nonnull(strstr(a.data, " retry 1 too-large"));
}

/* One that is cut at each of its bytes, or at some: an error, or the same beginning of what it says. */
TEST_EACH(an_answer_that_is_cut, array_len(pairs))
{
    cleanup(buf_fini) struct buf body = read_pair(pairs[_i].name, "pb");
    size_t step = (size_t)(100 / effort(100));
    for (size_t len = (size_t)_i % step; len < body.len; len += step) {
        struct buf out = {0};
        struct kube_answer a;
        struct kube_list_meta meta = {0};
        cleanup(mem_free_ptr) char *copy = malloc(len > 0 ? len : 1);
        memcpy(copy, body.data, len);
        kube_answer_init(&a, pairs[_i].of, pairs[_i].list);
        ck_assert_int_eq(kube_answer_head(&a, "application/vnd.kubernetes.protobuf"), KUBE_PROTOBUF);
        ck_assert_msg(kube_answer_feed(&a, copy, len, text_on_event, &out, &flaw) == 0, "%zu: %s", len, flaw.message);
        if (kube_answer_end(&a, &meta, &flaw) != 0)
            ck_assert_msg(flaw.kind == ERROR_RETRY && strstr(flaw.message, "bytes") != NULL, "%zu: %s", len,
                          flaw.message);
        else if (pairs[_i].list) /* complete but for the empty fields behind the list */
            ck_assert_uint_le(body.len - len, 4);
        kube_list_meta_fini(&meta);
        kube_answer_fini(&a);
        buf_fini(&out);
    }
}
