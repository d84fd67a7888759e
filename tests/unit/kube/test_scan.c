#include "kube/scan.h"

#include "../test.h"

#define INTERESTING "\"\"\"\\\\{}[]  ab:,\x80\xff\x7b\x5b\x01"

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 8;
}

/* What scan.c does, the slow and obvious way. */
static enum scan_result scan_slowly(struct scan *s, const char *bytes, size_t len, size_t *ret_taken)
{
    for (size_t i = 0; i < len; i++) {
        char c = bytes[i];
        *ret_taken = i + 1;
        if (s->escaped) {
            s->escaped = false;
            if (c == '"' || c == '\\')
                continue;
        } else if (c == '\\') {
            s->escaped = true;
        } else if (c == '"') {
            s->in_string = !s->in_string;
        }
        if (s->in_string || strchr("{}[]", c) == NULL || c == '\0')
            continue;
        if ((c == '}' || c == ']') && --s->depth == 0)
            return SCAN_CLOSED;
        if ((c == '{' || c == '[') && ++s->depth > SCAN_MAX_DEPTH) {
            *ret_taken = i;
            return SCAN_TOO_DEEP;
        }
    }
    *ret_taken = len;
    return SCAN_MORE;
}

static size_t fill_random(char *to, size_t max, uint64_t *state)
{
    size_t len = 1 + next_random(state) % max;
    bool tame = next_random(state) % 2 == 0; /* long runs without marks: whole blocks of strings */
    for (size_t i = 0; i < len; i++)
        to[i] =
            tame && next_random(state) % 16 != 0 ? 'x' : INTERESTING[next_random(state) % (sizeof(INTERESTING) - 1)];
    to[0] = next_random(state) % 2 == 0 ? '{' : '[';
    return len;
}

/* Feeds in pieces of at most `piece` bytes; from memory that ends where the piece does. */
static enum scan_result scan_pieces(struct scan *s, const char *bytes, size_t len, size_t piece, size_t *ret_taken)
{
    for (size_t at = 0; at < len; at += piece) {
        size_t n = len - at < piece ? len - at : piece, taken = 0;
        char *copy = malloc(n);
        memcpy(copy, bytes + at, n);
        enum scan_result result = scan_value(s, copy, n, &taken);
        free(copy);
        ck_assert_uint_le(taken, n);
        *ret_taken = at + taken;
        if (result != SCAN_MORE)
            return result;
        ck_assert_uint_eq(taken, n);
    }
    return SCAN_MORE;
}

TEST(the_same_as_byte_by_byte_however_it_is_cut)
{
    uint64_t state = 0x9e3779b97f4a7c15;
    size_t closed = 0;
    for (unsigned round = 0; round < 2000; round++) {
        char text[300];
        size_t len = fill_random(text, sizeof(text), &state), want_taken, taken;
        struct scan slow = {0, false, false};
        enum scan_result want = scan_slowly(&slow, text, len, &want_taken);
        closed += want == SCAN_CLOSED;
        const size_t pieces[] = {len, 1, 1 + next_random(&state) % len, 63, 64, 65};
        for (size_t i = 0; i < array_len(pieces); i++) {
            struct scan s = {0, false, false};
            enum scan_result got = scan_pieces(&s, text, len, pieces[i], &taken);
            ck_assert_msg(got == want && taken == want_taken, "round %u, pieces of %zu: %.*s", round, pieces[i],
                          (int)len, text);
            ck_assert(s.depth == slow.depth && (got == SCAN_MORE ? s.in_string == slow.in_string : !s.in_string));
            ck_assert_int_eq(s.escaped, slow.escaped);
        }
    }
    ck_assert_uint_gt(closed, 100);
}

TEST(both_ways_to_the_marks_agree)
{
    uint64_t state = 88172645463325252;
    for (unsigned round = 0; round < 20000; round++) {
        unsigned char block[64];
        for (size_t i = 0; i < sizeof(block); i++)
            block[i] = round % 2 == 0 ? (unsigned char)next_random(&state)
                                      : (unsigned char)INTERESTING[next_random(&state) % (sizeof(INTERESTING) - 1)];
        struct scan_marks a = scan_marks_portable(block), b = scan_marks_native(block), want = {0, 0, 0, 0};
        for (size_t i = 0; i < sizeof(block); i++) {
            want.quotes |= (uint64_t)(block[i] == '"') << i;
            want.backslashes |= (uint64_t)(block[i] == '\\') << i;
            want.opens |= (uint64_t)(block[i] == '{' || block[i] == '[') << i;
            want.closes |= (uint64_t)(block[i] == '}' || block[i] == ']') << i;
        }
        ck_assert(memcmp(&a, &want, sizeof(want)) == 0 && memcmp(&b, &want, sizeof(want)) == 0);
    }
}

/* Every byte value at every place. */
TEST(no_other_byte_is_taken_for_a_mark)
{
    for (unsigned c = 0; c < 256; c++)
        for (unsigned at = 0; at < 64; at++) {
            unsigned char block[64];
            memset(block, ' ', sizeof(block));
            block[at] = (unsigned char)c;
            uint64_t bit = UINT64_C(1) << at;
            struct scan_marks want = {c == '"' ? bit : 0, c == '\\' ? bit : 0, c == '{' || c == '[' ? bit : 0,
                                      c == '}' || c == ']' ? bit : 0};
            struct scan_marks a = scan_marks_portable(block), b = scan_marks_native(block);
            ck_assert(memcmp(&a, &want, sizeof(want)) == 0 && memcmp(&b, &want, sizeof(want)) == 0);
        }
}

TEST(nesting_has_an_end)
{
    char text[2 * SCAN_MAX_DEPTH + 2];
    size_t taken;
    struct scan s = {0, false, false};
    memset(text, '[', SCAN_MAX_DEPTH);
    memset(text + SCAN_MAX_DEPTH, ']', SCAN_MAX_DEPTH);
    ck_assert_int_eq(scan_value(&s, text, 2 * SCAN_MAX_DEPTH, &taken), SCAN_CLOSED);
    ck_assert_uint_eq(taken, 2 * SCAN_MAX_DEPTH);
    s = (struct scan){0, false, false};
    memset(text, '{', SCAN_MAX_DEPTH + 1);
    ck_assert_int_eq(scan_value(&s, text, sizeof(text), &taken), SCAN_TOO_DEEP);
    ck_assert_uint_eq(taken, SCAN_MAX_DEPTH);
}
