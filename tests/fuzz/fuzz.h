/* The entry of a fuzz target, and what has to hold in it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void check(bool good)
{
    if (!good)
        abort();
}
