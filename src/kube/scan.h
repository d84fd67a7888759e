/*
 * Finds where a JSON object or array ends, 64 bytes at a time, without reading what it says: strings (with escapes)
 * and brackets are all that count. Brackets are counted, not paired; a parser sees the text afterwards and is stricter.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCAN_MAX_DEPTH 256u

/* Where the scan is in the text; zeroed at the start of a value. Bytes may come in any split. */
struct scan {
    unsigned depth; /* open brackets */
    bool in_string;
    bool escaped; /* the byte before was a backslash that escapes */
};

enum scan_result {
    SCAN_MORE,     /* all bytes were taken and the value goes on */
    SCAN_CLOSED,   /* the byte before *ret_taken closed the value */
    SCAN_TOO_DEEP, /* the byte at *ret_taken would open more than SCAN_MAX_DEPTH brackets */
};

/* The first byte of a value must be its opening bracket. */
enum scan_result scan_value(struct scan *s, const char *bytes, size_t len, size_t *ret_taken);

/* Bit n of each: byte n is such a one. */
struct scan_marks {
    uint64_t quotes, backslashes, opens, closes;
};

/* Of 64 bytes. Two ways to the same answer: plain C for any machine, and what this machine is fastest at. */
struct scan_marks scan_marks_portable(const unsigned char *block);
struct scan_marks scan_marks_native(const unsigned char *block);
