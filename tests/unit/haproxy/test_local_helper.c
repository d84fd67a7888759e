/* haproxy/local/helper and the configuration file, with the real file system and, where it is here, the real HAProxy. */
#include "haproxy/local/helper.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "local_world.h"

#define HAPROXY "/usr/sbin/haproxy"
#define LISTENS "listen l\n    bind 127.0.0.1:18080\n    server s 127.0.0.1:1\n"

FIXTURE(set_up, tear_down)

TEST(test_is_replaced_through_a_link_with_owner_and_mode)
{
    cleanup(mem_free_ptr) char *real = in_folder("real.cfg");
    struct stat st;
    ck_assert_int_eq(rename(config, real), 0);
    ck_assert_int_eq(symlink("real.cfg", config), 0);
    ck_assert_int_eq(chmod(real, 0604), 0);
    if (geteuid() == 0)
        ck_assert_int_eq(chown(real, 12, 34), 0);
    start();
    struct local_identity before = read_identity();
    ck_assert_str_eq(seen.data, GOOD);
    ck_assert_int_eq(write_text(GOOD "# two\n", &before, 0), LOCAL_OK);
    ck_assert_int_eq(lstat(config, &st), 0);
    ck_assert(S_ISLNK(st.st_mode));
    ck_assert_int_eq(stat(real, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0604);
    if (geteuid() == 0)
        ck_assert(st.st_uid == 12 && st.st_gid == 34);
    assert_file(real, GOOD "# two\n");
    ck_assert_uint_eq(left_behind(), 0);
    struct local_identity written = seen.answer.identity, now = read_identity();
    ck_assert(local_identity_same(&written, &now) && !local_identity_same(&before, &now));
}

TEST(test_keeps_extended_attributes)
{
    char value[16];
    if (setxattr(config, "user.note", "kept", 4, 0) != 0) {
        printf("skipped: no attributes of users in /tmp: %m\n");
        return;
    }
    start();
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_OK);
    ck_assert_int_eq(getxattr(config, "user.note", value, sizeof(value)), 4);
    ck_assert_int_eq(memcmp(value, "kept", 4), 0);
}

/* The label of a security module is one of them. */
TEST(test_keeps_the_label)
{
    static const char label[] = "system_u:object_r:haproxy_etc_t:s0";
    char value[64];
    if (setxattr(config, "security.selinux", label, sizeof(label), 0) != 0) {
        printf("SKIPPED: labels: not root, or the file system of /tmp has none: %m\n");
        return;
    }
    start();
    ck_assert_msg(write_text("# two\n", NULL, 0) == LOCAL_OK, "%s", seen.message);
    ck_assert_int_eq(getxattr(config, "security.selinux", value, sizeof(value)), (ssize_t)sizeof(label));
    ck_assert_str_eq(value, label);
}

/* Nor may root do what a user cannot: the helper is one. */
TEST_EACH(test_folder_without_the_right_to_write, 2)
{
    cleanup(mem_free_ptr) char *lock = in_folder(".haproxy.cfg.lock");
    ck_assert_int_eq(chmod(config, 0644), 0);
    if (_i == 1) /* the lock can be opened, a file beside it cannot be made */
        put(lock, "", 0666);
    ck_assert_int_eq(chmod(folder, 0555), 0);
    as_nobody(start);
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_FAILED);
    ck_assert_int_eq(seen.answer.error_number, EACCES);
    cleanup(mem_free_ptr) char *says = mem_printf(
        "cannot %s %s: Permission denied", _i == 0 ? "open the lock" : "create a file beside", _i == 0 ? lock : config);
    ck_assert_str_eq(seen.message, says);
    ck_assert_int_eq(write_text("# two\n", NULL, LOCAL_WRITE_ONLY_VALIDATE), LOCAL_FAILED);
    ck_assert_int_eq(wait_for(local_read_config(helper, on_answer, NULL)), LOCAL_OK);
    ck_assert_int_eq(chmod(folder, 0755), 0);
    assert_config(GOOD);
}

TEST(test_changed_by_hand_is_not_overwritten)
{
    start();
    struct local_identity before = read_identity();
    put(config, "# by hand\n", 0640);
    put(program, "#!/bin/sh\nexit 1\n", 0755); /* is not asked any more */
    ck_assert_int_eq(write_text(GOOD, &before, 0), LOCAL_CHANGED);
    assert_file(config, "# by hand\n");
    ck_assert_uint_eq(seen.answer.identity.size, strlen("# by hand\n"));
    ck_assert_uint_eq(left_behind(), 0);
}

/* The checker itself writes the file: that is after our first reading of it. */
TEST(test_changed_while_it_is_checked_is_not_overwritten)
{
    cleanup(mem_free_ptr) char *text = mem_printf("#!/bin/sh\necho '# by hand' >%s\n", config);
    put(program, text, 0755);
    start();
    struct local_identity before = read_identity();
    ck_assert_int_eq(write_text(GOOD "# two\n", &before, 0), LOCAL_CHANGED);
    assert_config("# by hand\n");
}

/* What says that it is another file: its time alone, then its mode alone. */
TEST(test_of_another_time_or_mode_is_another_file)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
    start();
    struct local_identity before = read_identity();
    ck_assert_int_eq(utimensat(AT_FDCWD, config, times, 0), 0);
    ck_assert_int_eq(write_text("# two\n", &before, 0), LOCAL_CHANGED);
    before = read_identity();
    ck_assert_int_eq(chmod(config, 0600), 0);
    ck_assert_int_eq(write_text("# two\n", &before, 0), LOCAL_CHANGED);
    assert_file(config, GOOD);
}

/* For bytes that HAProxy ran before: a program that would refuse them is not asked. */
TEST(test_unchecked_is_not_checked)
{
    put(program, "#!/bin/sh\nexit 1\n", 0755);
    start();
    ck_assert_int_eq(write_text("# two\n", NULL, LOCAL_WRITE_UNCHECKED), LOCAL_OK);
    assert_file(config, "# two\n");
    ck_assert_int_eq(write_text("# three\n", NULL, 0), LOCAL_REJECTED);
    assert_file(config, "# two\n");
}

/* One that was killed left it. */
TEST(test_temporary_file_of_another_is_not_in_the_way)
{
    cleanup(mem_free_ptr) char *temporary = in_folder(".haproxy.cfg.new");
    put(temporary, "half", 0600);
    start();
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_OK);
    assert_config("# two\n");
}

/* Nothing is waited for, and nothing is put in its place. */
TEST(test_fifo_is_no_file)
{
    struct stat st;
    ck_assert_int_eq(unlink(config), 0);
    ck_assert_int_eq(mkfifo(config, 0600), 0);
    start();
    ck_assert_int_eq(wait_for(local_read_config(helper, on_answer, NULL)), LOCAL_FAILED);
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_FAILED);
    ck_assert_int_eq(lstat(config, &st), 0);
    ck_assert(S_ISFIFO(st.st_mode));
    ck_assert_uint_eq(left_behind(), 0);
}

/* A program that a signal ends says nothing of the file. */
TEST(test_program_that_is_killed)
{
    put(program, "#!/bin/sh\nkill -9 $$\n", 0755);
    start();
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_FAILED);
    ck_assert_ptr_nonnull(strstr(seen.message, "killed by signal 9"));
    assert_file(config, GOOD);
}

TEST(test_only_validated_stays_as_it_is)
{
    start();
    struct local_identity before = read_identity();
    ck_assert_int_eq(write_text("# two\n", &before, LOCAL_WRITE_ONLY_VALIDATE), LOCAL_OK);
    assert_config(GOOD);
}

TEST(test_program_gets_all_files_in_order)
{
    static const char *const before[] = {"/a", NULL}, *const after[] = {"/y", "/z", NULL};
    put(program, "#!/bin/sh\necho \"$*\"\ncat \"$5\"\nexit 1\n", 0755);
    options.files_before = before;
    options.files_after = after;
    start();
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_REJECTED);
    cleanup(mem_free_ptr) char *wanted = mem_printf("-c -f /a -f %s -f /y -f /z\n# two\n", config);
    ck_assert_str_eq(seen.message, wanted);
    assert_config(GOOD);
}

TEST(test_program_that_is_missing)
{
    options.haproxy = "/nowhere/haproxy";
    start();
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_FAILED);
    ck_assert_ptr_nonnull(strstr(seen.message, "/nowhere/haproxy"));
    assert_config(GOOD);
}

TEST(test_program_that_hangs_is_killed_with_its_children)
{
    cleanup(mem_free_ptr) char *text = mem_printf("#!/bin/sh\nsleep 1000 &\necho $! >%s/pid\nwait\n", folder);
    cleanup(mem_free_ptr) char *pid_file = in_folder("pid");
    put(program, text, 0755);
    options.check_timeout_ms = 3000; /* enough for the shell to tell */
    start();
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_FAILED);
    ck_assert_ptr_nonnull(strstr(seen.message, "still running"));
    ck_assert_uint_eq(left_behind(), 0);
    cleanup(buf_fini) struct buf b = {0};
    uint64_t pid = 0;
    ck_assert_int_eq(buf_read_file(&b, pid_file), 0);
    b.data[b.len - 1] = '\0';
    ck_assert_int_eq(str_parse_uint(b.data, INT32_MAX, &pid), 0);
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0), .events = POLLIN};
    ck_assert(end.fd >= 0 || errno == ESRCH); /* gone already */
    ck_assert(end.fd < 0 || poll(&end, 1, 20000) == 1);
    if (end.fd >= 0)
        close(end.fd);
}

TEST(test_nothing_stays_when_the_disk_is_full)
{
    start();
    (void)limit_files(local_helper_pid(helper), 4096);
    cleanup(mem_free_ptr) char *text = mem_alloc(10001);
    memset(text, '#', 10000);
    ck_assert_int_eq(write_text(text, NULL, 0), LOCAL_FAILED);
    ck_assert_int_eq(seen.answer.error_number, EFBIG);
    assert_config(GOOD);
}

TEST(test_of_20_mb_there_and_back)
{
    size_t len = (size_t)20 << 20;
    cleanup(mem_free_ptr) char *text = mem_alloc(len + 1);
    memset(text, '#', len);
    start();
    ck_assert_int_eq(wait_for(local_write_config(helper, text, len, NULL, 0, on_answer, NULL)), LOCAL_OK);
    struct local_identity now = read_identity();
    ck_assert_uint_eq(now.size, len);
    ck_assert(seen.answer.len == len && memcmp(seen.data, text, len) == 0);
}

TEST(test_has_one_daemon)
{
    start();
    struct local_helper *first = helper;
    ck_assert_int_eq(lock_by(first), LOCAL_OK);
    ck_assert_int_eq(lock_by(first), LOCAL_OK);
    start();
    ck_assert_int_eq(lock_by(helper), LOCAL_LOCKED);
    ck_assert_int_eq(seen.answer.pid, getpid());
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_LOCKED);
    assert_file(config, GOOD);
    local_helper_free(first);
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_OK);
}

TEST(test_by_haproxy_itself)
{
    if (access(HAPROXY, X_OK) != 0) {
        printf("skipped: no %s here\n", HAPROXY);
        return;
    }
    options.haproxy = HAPROXY;
    start();
    ck_assert_int_eq(write_text(GOOD "nonsense\n", NULL, 0), LOCAL_REJECTED);
    cleanup(mem_free_ptr) char *wanted = mem_printf("[%s:8]", config);
    ck_assert_msg(strstr(seen.message, wanted) != NULL, "%s", seen.message);
    ck_assert_ptr_null(strstr(seen.message, ".new"));
    ck_assert_int_eq(write_text(GOOD, NULL, 0), LOCAL_REJECTED); /* nothing to listen on */
    ck_assert_int_eq(write_text(GOOD LISTENS, NULL, 0), LOCAL_OK);
    assert_file(config, GOOD LISTENS);
}
