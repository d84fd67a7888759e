/* A SPIFFE Workload API's stream: gRPC's frames, whole and byte by byte, and what each message says. */
#include "net/grpc.h"
#include "net/spiffe_identity.h"
#include "settings/names.h"
#include "fuzz.h"

#define CAP 65536

static int on_message(void *arg, const char *message, size_t len, struct error *err)
{
    size_t *count = arg;
    struct error why = {0};
    struct spiffe_identity *i = spiffe_identity_parse(message, len, &why);
    (void)err;
    check(len <= CAP && (i != NULL || (why.kind == ERROR_INVALID && why.message[0] != '\0')));
    check(i == NULL || spiffe_id_problem(i->id) == NULL);
    spiffe_identity_unref(i);
    ++*count;
    return 0;
}

static size_t feed(const char *text, size_t size, size_t piece)
{
    struct grpc_frames f;
    struct error err = {0};
    size_t count = 0;
    int status = 0;
    grpc_frames_init(&f, CAP);
    for (size_t at = 0; at < size && status == 0; at += piece)
        status = grpc_frames_feed(&f, text + at, size - at < piece ? size - at : piece, on_message, &count, &err);
    check(status == 0 || err.kind == ERROR_INVALID);
    grpc_frames_fini(&f);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    if (size > 0)
        check(feed(text, size, size) == feed(text, size, 1));
    return 0;
}
