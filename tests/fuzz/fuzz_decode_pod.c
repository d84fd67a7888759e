#include "fuzz_decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_decode(&kube_pods, data, size);
    return 0;
}
