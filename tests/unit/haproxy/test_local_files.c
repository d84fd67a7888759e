/* haproxy/local/files: what is done in which order, with a writer who comes between two calls and a disk that fails. */
#include "haproxy/local/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "local_world.h"

/* What was done so far, here and by a helper, a letter each: f and F, a file and a folder brought to the disk; x, exchanged; n, renamed to where
 * nothing is; r, renamed. */
#define DONE_BYTES 32
static char *done;
static int fsync_error;
static void (*before_call)(char what); /* NULL: nobody comes between */

static void note(char what)
{
    if (strlen(done) == DONE_BYTES - 1)
        abort();
    if (before_call != NULL)
        before_call(what);
    done[strlen(done)] = what;
}

/* In place of those of the C library. */
int fsync(int fd)
{
    struct stat st;
    note(fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? 'F' : 'f');
    errno = fsync_error;
    return fsync_error != 0 ? -1 : (int)syscall(SYS_fsync, fd);
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags)
{
    note(flags == RENAME_EXCHANGE ? 'x' : 'n');
    return (int)syscall(SYS_renameat2, from, old, to, new, flags);
}

int renameat(int from, const char *old, int to, const char *new)
{
    note('r');
    return (int)syscall(SYS_renameat2, from, old, to, new, 0);
}

static struct local_place place;

static void set_up_place(void)
{
    set_up();
    done = mmap(NULL, DONE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(done, MAP_FAILED);
    fsync_error = 0;
    before_call = NULL;
    ck_assert_int_eq(local_place_of_file(&place, config), 0);
}

static void tear_down_place(void)
{
    local_place_fini(&place);
    munmap(done, DONE_BYTES);
    tear_down();
}

static enum local_swap swap(const struct local_identity *expected)
{
    const char *step;
    ck_assert_msg(local_file_write_beside(&place, ".new", "# ours\n", 7, &step) == 0, "%s", step);
    return local_file_swap(&place, ".new", expected);
}

static struct local_identity identity(void)
{
    struct local_identity i;
    ck_assert_int_eq(local_file_read(&place, NULL, &i), 0);
    return i;
}

/* His file in place of the one there, as an editor has it. */
static void he_writes(const char *text)
{
    cleanup(mem_free_ptr) char *his = in_folder("his");
    put(his, text, 0640);
    ck_assert_int_eq((int)syscall(SYS_renameat2, AT_FDCWD, his, AT_FDCWD, config, 0), 0);
}

FIXTURE(set_up_place, tear_down_place)

TEST_EACH(the_file_is_on_the_disk_before_the_name_and_the_name_before_the_answer, 2)
{
    struct local_identity is = identity();
    ck_assert_int_eq(swap(_i == 0 ? &is : NULL), LOCAL_SWAPPED);
    ck_assert_str_eq(done, _i == 0 ? "fxF" : "frF");
    assert_file(config, "# ours\n");
    ck_assert_uint_eq(left_behind(), 0);
}

TEST(a_file_that_does_not_come_to_the_disk_is_not_put_in_place)
{
    const char *step;
    fsync_error = EIO;
    ck_assert_int_eq(local_file_write_beside(&place, ".new", "# ours\n", 7, &step), -1);
    ck_assert_int_eq(errno, EIO);
    ck_assert_str_eq(step, "sync to the disk");
    ck_assert_uint_eq(left_behind(), 0);
}

static void disk_fails(char what)
{
    fsync_error = what == 'F' ? EIO : 0;
}

TEST(a_name_that_does_not_come_to_the_disk_is_written_all_the_same)
{
    before_call = disk_fails;
    ck_assert_int_eq(swap(NULL), LOCAL_SWAPPED_UNSYNCED);
    ck_assert_int_eq(errno, EIO);
    assert_file(config, "# ours\n");
}

static void he_is_first(char what)
{
    if (what == 'x' && strcmp(done, "f") == 0)
        he_writes("# his\n");
}

TEST(who_is_first_keeps_his_file)
{
    struct local_identity is = identity();
    before_call = he_is_first;
    ck_assert_int_eq(swap(&is), LOCAL_SWAP_CHANGED);
    ck_assert_str_eq(done, "fxx");
    assert_file(config, "# his\n");
    ck_assert_uint_eq(left_behind(), 0);
}

static void he_is_first_and_deletes(char what)
{
    he_is_first(what);
    if (strcmp(done, "fx") == 0)
        ck_assert_int_eq(unlink(config), 0);
}

TEST(his_file_goes_back_to_where_nothing_is)
{
    struct local_identity is = identity();
    before_call = he_is_first_and_deletes;
    ck_assert_int_eq(swap(&is), LOCAL_SWAP_CHANGED);
    ck_assert_str_eq(done, "fxxn");
    assert_file(config, "# his\n");
    ck_assert_uint_eq(left_behind(), 0);
}

static void he_writes_twice(char what)
{
    he_is_first(what);
    if (strcmp(done, "fx") == 0)
        he_writes("# his second\n");
}

/* The exchange puts his first file in place of his second one, which was there a moment later: both stay. */
TEST(no_bytes_of_his_are_deleted)
{
    struct local_identity is = identity();
    struct buf b = {0};
    before_call = he_writes_twice;
    ck_assert_int_eq(swap(&is), LOCAL_SWAP_CHANGED);
    assert_file(config, "# his\n");
    ck_assert_uint_eq(left_behind(), 1);
    DIR *d = opendir(folder);
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        if (str_has_prefix(e->d_name, ".new.")) {
            char *path = in_folder(e->d_name);
            ck_assert_int_eq(buf_read_file(&b, path), 0);
            free(path);
        }
    closedir(d);
    ck_assert_str_eq(buf_str(&b), "# his second\n");
    buf_fini(&b);
    const char *step;
    ck_assert_int_eq(local_file_write_beside(&place, ".new", "# ours\n", 7, &step), 0);
    ck_assert_uint_eq(left_behind(), 2);
}

/* Its name in the folder above, the file, and its name. */
TEST(a_folder_that_is_made_is_on_the_disk_before_what_is_in_it)
{
    cleanup(mem_free_ptr) char *maps = in_folder("maps");
    const char *const folders[] = {maps, NULL};
    options.folders = folders;
    start();
    ck_assert_int_eq(wait_for(local_put_file(helper, 0, "a", "x", 1, on_answer, NULL)), LOCAL_OK);
    ck_assert_str_eq(done, "FfrF");
    ck_assert_int_eq(wait_for(local_put_file(helper, 0, "b", "x", 1, on_answer, NULL)), LOCAL_OK);
    ck_assert_str_eq(done, "FfrFfrF");
}
