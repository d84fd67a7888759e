/* Of whose objects is reported how much. */

#include "base/log.h"
#include "daemon/template/remarks.h"

#include "../../test.h"

static const struct log quiet = {.level = LOG_LEVEL_ERROR, .fd = 2};

/* So many of a namespace each, in this order; how many of the last one are kept. */
static size_t kept_of_last(const size_t *counts, size_t namespaces)
{
    size_t count = 0, total = 0, kept = 0;
    for (size_t i = 0; i < namespaces; i++)
        total += counts[i];
    struct remarks *r = remarks_new(REMARKS_OF_ANNOTATIONS, &quiet);
    struct remark *list = mem_array(total, sizeof(list[0]));
    for (size_t i = 0; i < namespaces; i++)
        for (size_t k = 0; k < counts[i]; k++)
            list[count++] = (struct remark){.kind = mem_strdup("Service"),
                                            .namespace = mem_printf("n%zu", i),
                                            .name = mem_printf("s%zu", k),
                                            .text = mem_strdup("wrong")};
    remarks_replace(r, list, total);
    ck_assert_uint_le(remarks_count(r), REMARKS_MAX);
    cleanup(mem_free_ptr) char *last = mem_printf("n%zu", namespaces - 1);
    for (size_t i = 0; i < remarks_count(r); i++)
        kept += str_eq(remarks_at(r, i)->namespace, last);
    remarks_free(r);
    return kept;
}

TEST(one_namespace_does_not_take_the_place_of_others)
{
    ck_assert_uint_eq(kept_of_last((const size_t[]){900, 100}, 2), 100);
    ck_assert_uint_eq(kept_of_last((const size_t[]){100, 900}, 2), 900);
    ck_assert_uint_eq(kept_of_last((const size_t[]){5000, 3}, 2), 3);
    ck_assert_uint_eq(kept_of_last((const size_t[]){3, 5000}, 2), REMARKS_MAX / 2);
    ck_assert_uint_eq(kept_of_last((const size_t[]){5000}, 1), REMARKS_MAX);
}
