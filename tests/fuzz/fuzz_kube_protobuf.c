/*
 * An answer in protobuf, whatever it says: either it is refused with an error that says where, or each of its objects is one
 * that the rest of the program may see. In pieces it says what it says whole. The first byte chooses the resource and whether it is a list, a
 * watch or the body of a refusal; the second how long the pieces are.
 */
#include "fuzz_decode.h"

#include "kube/answer.h"
#include "kube/lease/lease.h"

struct seen {
    size_t events;
    uint64_t sum; /* of what they said */
};

static int on_event(void *arg, struct kube_event *e, struct error *err)
{
    struct seen *s = arg;
    (void)err;
    if (e->of != &kube_leases)
        check_event(e->of, e);
    s->events++;
    s->sum = s->sum * 31 + (uint64_t)e->type + (e->name != NULL ? strlen(e->name) : 0) + (e->object != NULL) * 7u;
    return 0;
}

static int answer(const struct kube_resource *of, bool list, const char *bytes, size_t len, size_t chunk,
                  struct seen *ret, struct error *err)
{
    struct kube_answer a;
    struct kube_list_meta meta = {0};
    int result = 0;
    kube_answer_init(&a, of, list);
    check(kube_answer_head(&a, "application/vnd.kubernetes.protobuf;stream=watch") == KUBE_PROTOBUF);
    for (size_t at = 0; result == 0 && at < len; at += chunk) {
        size_t n = len - at < chunk ? len - at : chunk;
        char *piece = malloc(n); /* of its very size */
        memcpy(piece, bytes + at, n);
        result = kube_answer_feed(&a, piece, n, on_event, ret, err);
        free(piece);
    }
    if (result == 0)
        result = kube_answer_end(&a, &meta, err);
    check(result == 0 || ((err->kind == ERROR_INVALID || err->kind == ERROR_RETRY) && err->message[0] != '\0'));
    kube_list_meta_fini(&meta);
    kube_answer_fini(&a);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct kube_resource *const all[] = {&kube_nodes, &kube_services, &kube_slices,        &kube_endpoints,
                                                      &kube_pods,  &kube_leases,   &kube_service_slices};
    struct error whole_error = {0}, pieces_error = {0};
    struct seen whole = {0}, pieces = {0};
    if (size < 2)
        return 0;
    const struct kube_resource *of = all[data[0] / 3 % array_len(all)];
    const char *bytes = (const char *)data + 2;
    if (data[0] % 3 == 2) {
        struct kube_event e;
        kube_decode_status(bytes, size - 2, &e);
        check_event(of, &e);
        kube_event_fini(&e);
        return 0;
    }
    int a = answer(of, data[0] % 3 == 0, bytes, size - 2, size, &whole, &whole_error);
    int b = answer(of, data[0] % 3 == 0, bytes, size - 2, 1u + data[1], &pieces, &pieces_error);
    check(a == b && whole.events == pieces.events && whole.sum == pieces.sum);
    check(a == 0 || (whole_error.kind == pieces_error.kind && str_eq(whole_error.message, pieces_error.message)));
    return 0;
}
