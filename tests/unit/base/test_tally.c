#include "base/tally.h"

#include "../test.h"

TEST(each_text_has_its_sum)
{
    cleanup(tally_fini) struct tally t = {0};
    ck_assert_uint_eq(tally_add(&t, "a", 3), 0);
    ck_assert_uint_eq(tally_add(&t, "b", 1), 0);
    ck_assert_uint_eq(tally_add(&t, "a", 4), 3);
    ck_assert_uint_eq(tally_add(&t, "a", 0), 7);
    ck_assert_uint_eq(tally_add(&t, NULL, 5), 0);
    ck_assert_uint_eq(tally_add(&t, "", 0), 5);
    ck_assert_uint_eq(tally_count(&t), 3);
}
