#include "kube/scan.h"

#include <endian.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define BLOCK_BYTES 64u
#define EACH_BYTE(c) (UINT64_C(0x0101010101010101) * (c))
#define CASE_BIT 0x20u /* the one bit between [ and {, and between ] and } */

/* Eight bytes to eight bits: bit n is set where byte n of the word equals c. */
static uint64_t equal_bits(uint64_t word, unsigned char c)
{
    uint64_t low7 = EACH_BYTE(0x7f), difference = word ^ EACH_BYTE(c);
    /* Exact for each byte: no carry leaves its byte, so that a match never shows up in a neighbour. */
    uint64_t match = ~(((difference & low7) + low7) | difference | low7);
    return ((match >> 7) * UINT64_C(0x0102040810204080)) >> 56;
}

struct scan_marks scan_marks_portable(const unsigned char *block)
{
    struct scan_marks m = {0, 0, 0, 0};
    for (unsigned i = 0; i < BLOCK_BYTES; i += 8) {
        uint64_t word;
        memcpy(&word, block + i, sizeof(word));
        word = le64toh(word); /* byte n in bits 8n and up, on any machine */
        m.quotes |= equal_bits(word, '"') << i;
        m.backslashes |= equal_bits(word, '\\') << i;
        m.opens |= equal_bits(word | EACH_BYTE(CASE_BIT), '{') << i;
        m.closes |= equal_bits(word | EACH_BYTE(CASE_BIT), '}') << i;
    }
    return m;
}

#ifdef __SSE2__
static uint64_t equal_bits_of_16(__m128i bytes, char c)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)));
}

struct scan_marks scan_marks_native(const unsigned char *block)
{
    struct scan_marks m = {0, 0, 0, 0};
    for (unsigned i = 0; i < BLOCK_BYTES; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(block + i));
        __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(CASE_BIT));
        m.quotes |= equal_bits_of_16(bytes, '"') << i;
        m.backslashes |= equal_bits_of_16(bytes, '\\') << i;
        m.opens |= equal_bits_of_16(folded, '{') << i;
        m.closes |= equal_bits_of_16(folded, '}') << i;
    }
    return m;
}
#else
struct scan_marks scan_marks_native(const unsigned char *block)
{
    return scan_marks_portable(block);
}
#endif

/* The bytes of this block (len of them) that a backslash escapes; escapes are few, so one round for each. */
static uint64_t escaped_bytes(uint64_t backslashes, size_t len, bool *escaped)
{
    uint64_t result = *escaped ? 1 : 0;
    bool next_block = false;
    backslashes &= ~result;
    while (backslashes != 0) {
        uint64_t first = backslashes & -backslashes, target = first << 1;
        result |= target;
        next_block = target == 0 || (len < BLOCK_BYTES && target >> len != 0);
        backslashes &= ~(first | target);
    }
    *escaped = next_block;
    return result;
}

/* Bit n is set where an odd number of bits is set in 0..n: from an opening quote up to before its closing one. */
static uint64_t inside_quotes(uint64_t quotes)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        quotes ^= quotes << shift;
    return quotes;
}

static enum scan_result count_brackets(struct scan *s, uint64_t opens, uint64_t closes, unsigned *ret_bit)
{
    for (uint64_t all = opens | closes; all != 0; all &= all - 1) {
        *ret_bit = (unsigned)__builtin_ctzll(all);
        if ((closes >> *ret_bit & 1) != 0) {
            if (--s->depth == 0)
                return SCAN_CLOSED;
        } else if (++s->depth > SCAN_MAX_DEPTH) {
            return SCAN_TOO_DEEP;
        }
    }
    return SCAN_MORE;
}

static enum scan_result scan_block(struct scan *s, const unsigned char *block, size_t len, unsigned *ret_bit)
{
    struct scan_marks m = scan_marks_native(block);
    uint64_t quotes = m.quotes & ~escaped_bytes(m.backslashes, len, &s->escaped);
    uint64_t strings = inside_quotes(quotes) ^ (s->in_string ? ~UINT64_C(0) : 0);
    s->in_string = strings >> 63 != 0;
    enum scan_result result = count_brackets(s, m.opens & ~strings, m.closes & ~strings, ret_bit);
    if (result == SCAN_CLOSED) /* what follows in this block belongs to another */
        s->in_string = s->escaped = false;
    return result;
}

enum scan_result scan_value(struct scan *s, const char *bytes, size_t len, size_t *ret_taken)
{
    size_t at = 0;
    while (at < len) {
        unsigned char rest[BLOCK_BYTES];
        const unsigned char *block = (const unsigned char *)bytes + at;
        size_t n = len - at < BLOCK_BYTES ? len - at : BLOCK_BYTES;
        if (n < BLOCK_BYTES) { /* blanks change nothing */
            memset(rest, ' ', sizeof(rest));
            memcpy(rest, block, n);
            block = rest;
        }
        unsigned bit = 0;
        enum scan_result result = scan_block(s, block, n, &bit);
        if (result != SCAN_MORE) {
            *ret_taken = at + bit + (result == SCAN_CLOSED ? 1 : 0);
            return result;
        }
        at += n;
    }
    *ret_taken = len;
    return SCAN_MORE;
}
