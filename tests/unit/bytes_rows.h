/* Rows of a table: bytes, with each NUL in them, and what is made of them. */
#pragma once

#include <stddef.h>

struct bytes_row {
    const char *bytes;
    size_t len;
    const char *text;
};

#define ROW(bytes, text)                 \
    {                                    \
        bytes, sizeof(bytes) - 1, (text) \
    }
#define NINE_FF "\xff\xff\xff\xff\xff\xff\xff\xff\xff"
