/* template/folder: how much a set in a folder may be. */
#include "template/folder.h"

#include "../folder.h"

#define MAX ((off_t)TEMPLATE_SET_MAX_BYTES)

static void put(const char *name, off_t bytes)
{
    cleanup(mem_free_ptr) char *path = in_folder(name);
    write_file(path, "");
    ck_assert_int_eq(truncate(path, bytes), 0);
}

/* Whichever of the two the folder has first. */
static const struct {
    off_t one, other;
    bool good;
} rows[] = {
    {10, 20, true},  {MAX, 0, true},    {MAX - 1, 1, true},  {MAX / 2, MAX / 2, true},
    {MAX, 1, false}, {MAX, MAX, false}, {MAX - 1, 2, false}, {MAX + 1, 0, false},
};

FIXTURE(folder_make, folder_remove)

TEST_EACH(as_much_as_there_may_be, sizeof(rows) / sizeof(rows[0]))
{
    struct template_folder f;
    put("a", rows[_i].one);
    put("b", rows[_i].other);
    int rc = template_folder_read(folder, &f, &flaw);
    ck_assert_msg((rc == 0) == rows[_i].good, "row %d: %s", _i, flaw.message);
    if (rc == 0) {
        ck_assert_uint_eq(f.count, 2);
        ck_assert_uint_eq(f.bytes, (size_t)(rows[_i].one + rows[_i].other));
        template_folder_fini(&f);
    } else {
        ck_assert_ptr_nonnull(strstr(flaw.message, "a template set has at most 8 MB"));
    }
}
