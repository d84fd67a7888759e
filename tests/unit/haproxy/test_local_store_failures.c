/* src/haproxy/local/driver_store where files cannot be put, read or deleted, and where another writer changes them. */
#include "local_store.h"

FIXTURE(set_up_store, tear_down_store)

TEST(a_link_is_left_alone_and_nothing_is_written)
{
    struct stat st;
    put_at(general, "elsewhere", "x");
    cleanup(mem_free_ptr) char *link = path_of(general, "two");
    ck_assert_int_eq(symlink("elsewhere", link), 0);
    want(STORAGE_GENERAL, "one", "1");
    want(STORAGE_GENERAL, "two", "2");
    must_fail(STORAGE_ADD, "general/two is a symbolic link, which is not followed");
    ck_assert(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    assert_at(general, "elsewhere", "x");
    assert_at(general, "one", NULL);
    assert_at(general, STORAGE_LIST, NULL);
    ck_assert_int_eq(unlink(link), 0);
    ck_assert_int_eq(mkdir(link, 0755), 0);
    must_fail(STORAGE_ADD, "cannot read ");
    ck_assert_int_eq(rmdir(link), 0);
    loaded();
    assert_at(general, "two", "2");
}

TEST(a_full_disk_leaves_what_runs)
{
    char big[8193];
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    want(STORAGE_GENERAL, "one", "1");
    want(STORAGE_GENERAL, "two", "2");
    loaded();
    (void)limit_files(local_helper_pid(helper), 4096);
    want_only(STORAGE_GENERAL, "one", "changed");
    want(STORAGE_GENERAL, "two", big);
    must_fail(STORAGE_ADD, "cannot write ");
    assert_at(general, "one", "changed");
    assert_at(general, "two", "2");
    ck_assert_uint_eq(temporary_files(general), 0);
    must(STORAGE_BACK);
    assert_at(general, "one", "1");
    assert_at(general, "two", "2");
    ck_assert(!last.news.changed);
}

/* What is not in the list would be nobody's: no file is written then. */
TEST(a_disk_that_is_full_for_the_list_leaves_all)
{
    want(STORAGE_GENERAL, "one", "1");
    loaded();
    cleanup(mem_free_ptr) char *before = list_text();
    rlim_t most = limit_files(local_helper_pid(helper), strlen(before) + 4);
    want(STORAGE_GENERAL, "two", "2");
    must_fail(STORAGE_ADD, "cannot write ");
    assert_at(general, "two", NULL);
    assert_at(general, STORAGE_LIST, before);
    (void)limit_files(local_helper_pid(helper), most);
    loaded();
    assert_at(general, "two", "2");
}

TEST(a_folder_that_goes_is_made_again_with_all_in_it)
{
    want(STORAGE_MAP, "a.map", "a b\n");
    want(STORAGE_MAP, "b.map", "b c\n");
    loaded();
    cleanup(mem_free_ptr) char *aside = in_folder("aside");
    ck_assert_int_eq(rename(maps, aside), 0);
    must(STORAGE_CHECK);
    ck_assert_uint_eq(last.news.differing, 2);
    ck_assert_int_ne(access(maps, F_OK), 0);
    must(STORAGE_ADD);
    ck_assert(last.news.written == 2 && last.news.changed);
    assert_at(maps, "a.map", "a b\n");
    must(STORAGE_END);
    cleanup(mem_free_ptr) char *gone = in_folder("gone");
    want(STORAGE_MAP, "c.map", "c d\n");
    must(STORAGE_ADD);
    ck_assert_int_eq(rename(maps, gone), 0);
    must(STORAGE_BACK);
    want_none();
    loaded(); /* there is nothing to delete */
    ck_assert_uint_eq(last.news.deleted, 0);
}

TEST(a_folder_that_cannot_be_made_is_named)
{
    cleanup(mem_free_ptr) char *nowhere = in_folder("no/where");
    end();
    folders[STORAGE_MAP] = nowhere;
    begin();
    want(STORAGE_MAP, "a.map", "a b\n");
    must_fail(STORAGE_ADD, "cannot make the folder ");
    ck_assert_ptr_nonnull(strstr(last.news.error.message, "no/where: No such file or directory; make it, with the "));
    cleanup(mem_free_ptr) char *above = in_folder("no");
    ck_assert_int_eq(mkdir(above, 0755), 0);
    put(nowhere, "no folder", 0644);
    must_fail(STORAGE_ADD, "no/where: Not a directory");
}

TEST(no_right_is_said)
{
    cleanup(mem_free_ptr) char *path = path_of(maps, "a.map");
    put_at(maps, "a.map", "a b\n");
    put_at(general, "x", "x");
    ck_assert_int_eq(chmod(folder, 0777), 0);
    ck_assert_int_eq(chmod(general, 0777), 0);
    ck_assert_int_eq(chmod(maps, 0555), 0);
    ck_assert_int_eq(chmod(config, 0644), 0);
    end();
    as_nobody(begin);
    want(STORAGE_MAP, "a.map", "b c\n");
    must_fail(STORAGE_ADD, "maps/a.map: Permission denied");
    ck_assert_int_eq(chmod(path, 0), 0);
    must_fail(STORAGE_CHECK, "cannot read ");
    ck_assert_int_eq(chmod(path, 0644), 0);
    assert_at(maps, "a.map", "a b\n");
}

TEST(two_daemons_do_not_write_at_once)
{
    want(STORAGE_GENERAL, "one", "1");
    loaded();
    end();
    struct local_helper *first = local_helper_start(&options, &flaw);
    local_helper_attach(first, base, NULL);
    ck_assert_int_eq(lock_by(first), LOCAL_OK);
    begin();
    must(STORAGE_ADD); /* it only reads */
    must(STORAGE_END);
    want(STORAGE_GENERAL, "two", "2");
    must_fail(STORAGE_ADD, "another daemon (pid ");
    assert_at(general, "two", NULL);
    want_none();
    must_fail(STORAGE_END, "another daemon (pid ");
    assert_at(general, "one", "1");
    local_helper_free(first);
    loaded();
    assert_at(general, "one", NULL);
}

/* What it put there while we waited, or right before, is in its list, not in the one that we have read. */
TEST_EACH(what_another_daemon_put_there_before_us_is_known, 2)
{
    cleanup(mem_free_ptr) char *list = mem_printf("general two %s put\n", hash_of("2"));
    struct local_helper *first = local_helper_start(&options, &flaw);
    want(STORAGE_GENERAL, "one", "1");
    if (_i == 0) {
        local_helper_attach(first, base, NULL);
        ck_assert_int_eq(lock_by(first), LOCAL_OK);
        must_fail(STORAGE_ADD, "another daemon (pid ");
    } else {
        must(STORAGE_CHECK);
    }
    put_at(general, "two", "2");
    put_at(general, STORAGE_LIST, list);
    local_helper_free(first);
    loaded();
    assert_at(general, "one", "1");
    assert_at(general, "two", NULL);
}

TEST(a_helper_that_is_gone_is_reported)
{
    want(STORAGE_GENERAL, "one", "1");
    must(STORAGE_ADD);
    ck_assert_int_eq(kill(local_helper_pid(helper), SIGKILL), 0);
    must_fail(STORAGE_BACK, "the helper process is gone");
    must_fail(STORAGE_CHECK, "the helper process is gone");
    must_fail(STORAGE_END, "the helper process is gone");
}

/* A writer of the list names no file outside of the folders, and makes nothing ours that was not. */
TEST(a_list_of_another_one_does_no_harm)
{
    put_at(general, "x", "x");
    put_at(general, STORAGE_LIST,
           "general .. - put\ngeneral .hidden - put\nmaps ../haproxy.cfg - put\nnowhere a - put\n\nx\ngeneral x 12 "
           "found\n");
    put_at(general, ".hidden", "x");
    loaded();
    ck_assert_uint_eq(last.news.deleted, 0);
    assert_at(general, "x", "x");
    assert_at(general, ".hidden", "x");
    assert_file(config, GOOD);
}
