/* haproxy/local/helper: one daemon for each file, and what the next one learns of one that was killed. */
#include <errno.h>

#include "local_world.h"

static enum local_status note_loaded(const struct local_identity *i)
{
    return wait_for(local_note_loaded(helper, i, on_answer, NULL));
}

static bool is_unloaded(void)
{
    (void)read_identity();
    ck_assert(!seen.answer.unloaded || !seen.answer.loaded);
    return seen.answer.unloaded;
}

static bool is_loaded(void)
{
    return !is_unloaded() && seen.answer.loaded;
}

/* As a daemon that is killed leaves it, and with it its helper; and the next one. */
static void die_and_start(void)
{
    ck_assert_int_eq(kill(local_helper_pid(helper), SIGKILL), 0);
    local_helper_free(helper);
    start();
}

/* The line of a file in the lock. */
static char *line_of(const char *path)
{
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    return mem_printf("%llu %llu %llu %lld%09ld\n", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
                      (unsigned long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

FIXTURE(set_up, tear_down)

TEST(test_who_comes_next_learns_what_was_not_loaded)
{
    start();
    ck_assert(!is_unloaded() && !is_loaded());
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_OK);
    ck_assert(is_unloaded());
    for (int i = 0; i < 2;
         i++) { /* one that dies without having done anything takes nothing away, with the lock or without */
        die_and_start();
        ck_assert(is_unloaded() && seen.answer.pid == 0);
        if (i == 1)
            ck_assert_int_eq(lock_by(helper), LOCAL_OK);
        ck_assert(is_unloaded() && seen.answer.pid == 0);
    }
    die_and_start();
    ck_assert_int_eq(lock_by(helper), LOCAL_OK);
    struct local_identity is = read_identity();
    ck_assert_int_eq(note_loaded(&is), LOCAL_OK);
    ck_assert(is_loaded());
    for (int i = 0; i < 2; i++) {
        die_and_start();
        ck_assert(is_loaded());
        ck_assert_int_eq(lock_by(helper), LOCAL_OK);
        ck_assert(is_loaded());
    }
    put(config, "# by hand\n", 0640);
    ck_assert(!is_loaded());
    die_and_start();
    ck_assert(!is_loaded());
}

/* A reload that ends behind the next write has loaded the one before. */
TEST(test_what_was_loaded_is_that_file_alone)
{
    start();
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_OK);
    struct local_identity two = seen.answer.identity;
    ck_assert_int_eq(write_text("# three\n", NULL, 0), LOCAL_OK);
    struct local_identity three = seen.answer.identity;
    ck_assert_int_eq(note_loaded(&two), LOCAL_OK);
    ck_assert(is_unloaded());
    die_and_start();
    ck_assert(is_unloaded());
    ck_assert_int_eq(note_loaded(&three), LOCAL_OK); /* who has no lock notes nothing */
    ck_assert(is_unloaded());
}

TEST(test_of_another_mode_it_is_the_same_file)
{
    start();
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_OK);
    ck_assert_int_eq(chmod(config, 0600), 0);
    ck_assert(is_unloaded());
    die_and_start();
    ck_assert(is_unloaded());
    ck_assert_int_eq(lock_by(helper), LOCAL_OK);
    ck_assert_int_eq(chmod(config, 0640), 0);
    struct local_identity is = read_identity();
    ck_assert_int_eq(note_loaded(&is), LOCAL_OK);
    ck_assert(!is_unloaded());
}

TEST(test_what_another_writer_wrote_is_not_ours_to_load)
{
    start();
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_OK);
    put(config, "# by hand\n", 0640);
    ck_assert(!is_unloaded());
    die_and_start();
    ck_assert(!is_unloaded());
}

/* Killed between the note and the rename: whichever of the two files is there, it was not loaded. */
TEST(test_killed_before_the_rename)
{
    start();
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_OK);
    die_and_start();
    cleanup(mem_free_ptr) char *lock = in_folder(".haproxy.cfg.lock"), *coming = in_folder("coming");
    put(coming, "# three\n", 0640);
    cleanup(mem_free_ptr) char *two = line_of(config), *three = line_of(coming),
                               *text = mem_printf("%d\n%s%s", (int)getpid(), three, two);
    put(lock, text, 0640);
    ck_assert(is_unloaded());
    ck_assert_int_eq(rename(coming, config), 0);
    ck_assert(is_unloaded());
    ck_assert_int_eq(lock_by(helper), LOCAL_OK);
    free(text);
    text = mem_printf("%d\n%s", (int)getpid(), three); /* the other one is gone for good */
    assert_file(lock, text);
}

/* A write that failed at its end has left the file that was there, and what is known of it. */
TEST(test_what_was_not_replaced_is_still_not_loaded)
{
    cleanup(mem_free_ptr) char *text =
        mem_printf("#!/bin/sh\ntest ! -e %s/by-hand || mv %s/by-hand %s\n", folder, folder, config);
    cleanup(mem_free_ptr) char *by_hand = in_folder("by-hand");
    put(program, text, 0755);
    start();
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_OK);
    put(by_hand, "# by hand\n", 0640);
    struct local_identity two = seen.answer.identity;
    ck_assert_int_eq(write_text("# three\n", &two, 0), LOCAL_CHANGED);
    ck_assert(!is_unloaded());
    struct local_identity is = seen.answer.identity;
    ck_assert_int_eq(write_text("# three\n", &is, 0), LOCAL_OK);
    cleanup(mem_free_ptr) char *three = line_of(config), *lock = in_folder(".haproxy.cfg.lock");
    cleanup(mem_free_ptr) char *wanted = mem_printf("%d\n%s", (int)getpid(), three);
    assert_file(lock, wanted);
}

/* It is reported whose it is: that one may be about to load it. */
TEST(test_while_its_writer_lives)
{
    start();
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_OK);
    struct local_helper *writer = helper;
    start();
    ck_assert(is_unloaded());
    ck_assert_int_eq(seen.answer.pid, getpid());
    ck_assert_int_eq(lock_by(helper), LOCAL_LOCKED);
    ck_assert_int_eq(seen.answer.pid, getpid());
    local_helper_free(writer);
    ck_assert(is_unloaded());
    ck_assert_int_eq(seen.answer.pid, 0);
}

/* The next program would lock another file. */
TEST(test_lock_that_was_removed_is_taken_anew)
{
    cleanup(mem_free_ptr) char *lock = in_folder(".haproxy.cfg.lock");
    start();
    struct local_helper *first = helper;
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_OK);
    ck_assert_int_eq(unlink(lock), 0);
    ck_assert_int_eq(lock_by(first), LOCAL_OK);
    ck_assert_int_eq(access(lock, F_OK), 0);
    ck_assert(is_unloaded()); /* is not forgotten with it */
    start();
    ck_assert(is_unloaded());
    ck_assert_int_eq(lock_by(helper), LOCAL_LOCKED);
    ck_assert_int_eq(unlink(lock), 0);
    ck_assert_int_eq(lock_by(helper), LOCAL_OK);
    ck_assert_int_eq(wait_for(local_write_config(first, "# three\n", 8, NULL, 0, on_answer, NULL)), LOCAL_LOCKED);
    assert_file(config, "# two\n");
    local_helper_free(first);
}

TEST(test_lock_is_of_the_file_that_the_link_leads_to)
{
    cleanup(mem_free_ptr) char *one = in_folder("one.cfg"), *two = in_folder("two.cfg");
    put(one, "# one\n", 0640);
    put(two, "# two\n", 0640);
    ck_assert_int_eq(unlink(config), 0);
    ck_assert_int_eq(symlink("one.cfg", config), 0);
    start();
    struct local_helper *first = helper;
    ck_assert_int_eq(lock_by(first), LOCAL_OK);
    ck_assert_int_eq(unlink(config), 0);
    ck_assert_int_eq(symlink("two.cfg", config), 0);
    start();
    ck_assert_int_eq(write_text("# three\n", NULL, 0), LOCAL_OK);
    ck_assert_int_eq(wait_for(local_write_config(first, "# four\n", 7, NULL, 0, on_answer, NULL)), LOCAL_LOCKED);
    assert_file(two, "# three\n");
    local_helper_free(first);
}

/* Then nobody would know that it is to be loaded. The disk takes the file, and not all of the note. */
TEST(test_what_cannot_be_noted_is_not_written)
{
    cleanup(mem_free_ptr) char *lock = in_folder(".haproxy.cfg.lock");
    start();
    ck_assert_int_eq(write_text("# two\n", NULL, 0), LOCAL_OK);
    cleanup(mem_free_ptr) char *two = line_of(config), *noted = mem_printf("%d\n%s", (int)getpid(), two);
    (void)limit_files(local_helper_pid(helper), strlen(noted) + 4);
    ck_assert_int_eq(write_text("# three\n", NULL, 0), LOCAL_FAILED);
    ck_assert_int_eq(seen.answer.error_number, ENOSPC);
    ck_assert_msg(strstr(seen.message, "cannot write to the lock ") != NULL, "%s", seen.message);
    assert_file(config, "# two\n");
    assert_file(lock, noted);
    ck_assert_uint_eq(left_behind(), 0);
    ck_assert(is_unloaded());
}
