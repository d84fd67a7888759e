/*
 * What the decoders make of an answer of a Kubernetes API, a line for each object, for tests that have one in both
 * encodings: build/decoded PLURAL list|watch CONTENT-TYPE < body, or build/decoded status < body. Status 1, and what is wrong,
 * where it cannot be read.
 */
#include <check.h>
#include <stdlib.h>

/* What a test's program checks is checked here, too, where libcheck runs no test. */
#undef ck_assert_msg
#define ck_assert_msg(holds, ...)            \
    do {                                     \
        if (!(holds)) {                      \
            fprintf(stderr, "" __VA_ARGS__); \
            abort();                         \
        }                                    \
    } while (0)
#undef ck_assert
#define ck_assert(holds) ck_assert_msg(holds, "%s\n", #holds)
#undef ck_assert_str_eq
#define ck_assert_str_eq(a, b) ck_assert(strcmp(a, b) == 0)

#include "../unit/kube/decode/decode_text.h"

static int decoded_answer(const struct kube_resource *of, bool list, const char *type, const struct buf *body,
                          struct buf *out, struct error *err)
{
    struct kube_answer answer;
    struct kube_list_meta meta = {0};
    kube_answer_init(&answer, of, list);
    int result = kube_answer_head(&answer, type) == KUBE_NOT_READABLE
                     ? error_set(err, ERROR_INVALID, "%s is not read", type)
                     : kube_answer_feed(&answer, buf_str(body), body->len, text_on_event, out, err);
    if (result == 0)
        result = kube_answer_end(&answer, &meta, err);
    if (result == 0 && list)
        buf_printf(out, "list v%s \"%s\"\n", meta.resource_version, meta.continue_token);
    kube_list_meta_fini(&meta);
    kube_answer_fini(&answer);
    return result;
}

int main(int argc, char **argv)
{
    static const struct kube_resource *const all[] = {&kube_nodes,     &kube_services, &kube_slices,
                                                      &kube_endpoints, &kube_pods,     &kube_leases};
    cleanup(buf_fini) struct buf body = {0}, out = {0};
    struct error err = {0};
    int result = -1;
    if (buf_read_file(&body, "/dev/stdin") != 0 || (argc != 4 && !(argc == 2 && str_eq(argv[1], "status")))) {
        fprintf(stderr, "usage: decoded PLURAL list|watch CONTENT-TYPE, or status\n");
        return 2;
    }
    if (argc == 2) {
        struct kube_event e;
        kube_decode_status(buf_str(&body), body.len, &e);
        text_of_event(&out, &e);
        kube_event_fini(&e);
        result = 0;
    }
    for (size_t i = 0; argc == 4 && i < array_len(all); i++)
        if (str_eq(argv[1], all[i]->plural))
            result = decoded_answer(all[i], str_eq(argv[2], "list"), argv[3], &body, &out, &err);
    printf("%s", buf_str(&out));
    if (result != 0)
        fprintf(stderr, "%s\n", err.message);
    return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
