#include "settings/names.h"

#include "../test.h"

#define SEGMENT "its path has a segment . or .."
#define EMPTY "its path has an empty segment, or ends with '/'"
#define LETTERS "its path has characters other than letters, digits, '-', '.' and '_'"
#define DOMAIN "its trust domain is not 1 to 255 lower-case letters, digits, '-', '.' and '_'"
#define SCHEME "it does not begin with spiffe://"

/* The SPIFFE-ID specification, 2.1 to 2.4. */
static const struct {
    const char *id;
    size_t domain_len;
    const char *problem;
} rows[] = {
    {"spiffe://example.org", 20, NULL},
    {"spiffe://example.org/a", 20, NULL},
    {"spiffe://example.org/ns/lb/sa/a.b_c-D9/...", 20, NULL},
    {"spiffe://a_b-c/x", 14, NULL},
    {"", 0, SCHEME},
    {"https://example.org/a", 6, SCHEME},
    {"spiffe:/example.org/a", 7, SCHEME},
    {"spiffe://", 9, DOMAIN},
    {"spiffe://Example.org/a", 20, DOMAIN},
    {"spiffe://example.org:80/a", 23, DOMAIN},
    {"spiffe://example.org/", 20, EMPTY},
    {"spiffe://example.org/a/", 20, EMPTY},
    {"spiffe://example.org/a//b", 20, EMPTY},
    {"spiffe://example.org/./b", 20, SEGMENT},
    {"spiffe://example.org/a/..", 20, SEGMENT},
    {"spiffe://example.org/a?b", 20, LETTERS},
    {"spiffe://example.org/a\n", 20, LETTERS},
    {"spiffe://example.org/\xc3\xa4", 20, LETTERS},
};

TEST_EACH(ids, array_len(rows))
{
    const char *problem = spiffe_id_problem(rows[_i].id);
    ck_assert_msg(str_eq(problem, rows[_i].problem), "%s: %s", rows[_i].id, problem != NULL ? problem : "(none)");
    ck_assert_uint_eq(spiffe_id_domain_len(rows[_i].id), rows[_i].domain_len);
}

/* At most 255 bytes of a trust domain, 2048 of all. */
TEST(lengths)
{
    char domain[257], path[SPIFFE_ID_MAX_BYTES + 1];
    memset(domain, 'a', sizeof(domain));
    domain[255] = '\0';
    cleanup(mem_free_ptr) char *longest = mem_printf("spiffe://%s", domain);
    domain[255] = 'a';
    domain[256] = '\0';
    cleanup(mem_free_ptr) char *longer = mem_printf("spiffe://%s", domain);
    ck_assert_ptr_null(spiffe_id_problem(longest));
    ck_assert_str_eq(spiffe_id_problem(longer), DOMAIN);
    static const char begin[] = "spiffe://a/";
    memset(path, 'b', sizeof(path));
    memcpy(path, begin, strlen(begin));
    path[SPIFFE_ID_MAX_BYTES] = '\0';
    ck_assert_ptr_null(spiffe_id_problem(path));
    cleanup(mem_free_ptr) char *more = mem_printf("%sb", path);
    ck_assert_str_eq(spiffe_id_problem(more), "it has more than 2048 bytes");
}
