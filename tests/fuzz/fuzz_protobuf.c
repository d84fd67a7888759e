/* The walker: whatever a field says of itself lies within the message and behind the field before, and a message within
 * one is walked as it would be by itself. */
#include "base/protobuf.h"
#include "fuzz.h"

static size_t walk(struct protobuf *p, const uint8_t *data, size_t size, size_t budget)
{
    struct protobuf_field f;
    struct error err = {0};
    size_t fields = 0, last = 0;
    int status;
    while (fields < budget && (status = protobuf_next(p, &f, &err)) != 0) {
        if (status < 0) {
            check(err.kind == ERROR_INVALID && err.message[0] != '\0');
            break;
        }
        check(f.number > 0 && f.number < 1u << 29 && f.offset < size && (fields == 0 || f.offset > last));
        last = f.offset;
        fields++;
        if (f.wire != PROTOBUF_BYTES)
            continue;
        check(f.data > data && f.data <= data + size && f.len <= (size_t)(data + size - f.data));
        struct protobuf inner;
        if (protobuf_enter(p, &f, "field", &inner, &err) == 0)
            fields += walk(&inner, data, size, budget - fields);
    }
    return fields;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct protobuf p;
    protobuf_init(&p, data, size);
    (void)walk(&p, data, size, 10000);
    return 0;
}
