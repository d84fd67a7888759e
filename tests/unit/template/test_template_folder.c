/* template/folder: how much a set in a folder may be. */
#include "template/folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#include "../test.h"

#define MAX ((off_t)TEMPLATE_SET_MAX_BYTES)

static char directory[] = "/tmp/test_template_folder.XXXXXX";

static void put(const char *name, off_t bytes)
{
    cleanup(mem_free_ptr) char *path = mem_printf("%s/%s", directory, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, bytes), 0);
    close(fd);
}

static void take_away(const char *name)
{
    cleanup(mem_free_ptr) char *path = mem_printf("%s/%s", directory, name);
    unlink(path);
}

/* Whichever of the two the folder has first. */
static const struct {
    off_t one, other;
    bool good;
} rows[] = {
    {10, 20, true},  {MAX, 0, true},    {MAX - 1, 1, true},  {MAX / 2, MAX / 2, true},
    {MAX, 1, false}, {MAX, MAX, false}, {MAX - 1, 2, false}, {MAX + 1, 0, false},
};

FORKED

TEST_EACH(as_much_as_there_may_be, sizeof(rows) / sizeof(rows[0]))
{
    struct template_folder f;
    struct error err = {0};
    ck_assert_ptr_nonnull(mkdtemp(directory));
    put("a", rows[_i].one);
    put("b", rows[_i].other);
    int rc = template_folder_read(directory, &f, &err);
    take_away("a");
    take_away("b");
    rmdir(directory);
    ck_assert_msg((rc == 0) == rows[_i].good, "row %d: %s", _i, err.message);
    if (rc == 0) {
        ck_assert_uint_eq(f.count, 2);
        ck_assert_uint_eq(f.bytes, (size_t)(rows[_i].one + rows[_i].other));
        template_folder_fini(&f);
    } else {
        ck_assert_ptr_nonnull(strstr(err.message, "a template set has at most 8 MB"));
    }
}
