/* A Lease of any writer: what is taken can be written again, and is the same when it is read once more. */
#include "base/str.h"
#include "kube/decode/decode.h"
#include "kube/lease/lease.h"
#include "fuzz.h"

static void edit(const char *json, size_t len, const struct lease *l)
{
    struct error err = {0};
    struct lease again;
    char *text = lease_encode(json, len, l, &err);
    check(text != NULL);
    check(lease_decode(text, strlen(text), &again, &err) == 0);
    check(lease_same_record(l, &again) && str_eq(l->version, again.version));
    free(text);
}

/* The same as an event of a watch: who is without a holder has one that can be read. */
static void event(const char *json, size_t len)
{
    struct error err = {0};
    struct kube_event e = {0};
    char *copy = calloc(1, len + KUBE_DECODE_PADDING_BYTES);
    memcpy(copy, json, len);
    int result = kube_decode_event(&kube_leases, copy, len, &e, &err);
    free(copy); /* nothing may point into it */
    check(result == 0 || (err.kind == ERROR_INVALID && err.message[0] != '\0'));
    check(!lease_is_free(e.object) || (e.object != NULL && e.name != NULL));
    kube_event_fini(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    struct lease l;
    char *json = malloc(size + 1); /* exactly: a step over its end shows */
    char *exact = size > 0 ? realloc(json, size) : json;
    memcpy(exact, data, size);
    if (lease_decode(exact, size, &l, &err) == 0) {
        check(l.duration_s >= 0 && l.transitions >= 0 && l.version[0] != '\0');
        edit(exact, size, &l);
        l.transitions = 5;
        memcpy(l.holder, "me", 3);
        edit(exact, size, &l);
    } else {
        check(err.kind == ERROR_INVALID && err.message[0] != '\0');
    }
    event(exact, size);
    free(exact);
    return 0;
}
