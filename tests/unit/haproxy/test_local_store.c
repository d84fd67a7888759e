/* src/haproxy/local/driver_store: files beside the configuration, with the real helper in a folder. */
#include "local_store.h"

#include "../certs.h"

/* ---- what is put there ---- */

FIXTURE(set_up_store, tear_down_store)

TEST(each_kind_goes_into_its_folder_by_its_stored_name)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    cleanup(mem_free_ptr) char *cert_pem = certs_cert_pem(key), *key_pem = certs_key_pem(key, NULL);
    cleanup(mem_free_ptr) char *pem = mem_printf("%s%s", cert_pem, key_pem);
    EVP_PKEY_free(key);
    want(STORAGE_MAP, "hosts", "a b\n");
    want(STORAGE_CERTIFICATE, "www.example.com.pem", pem);
    want(STORAGE_GENERAL, "sorry.page.http", "HTTP/1.0 503\r\n\r\n");
    must(STORAGE_ADD);
    ck_assert_uint_eq(last.news.written, 3);
    ck_assert_uint_eq(last.news.certificates, 1);
    ck_assert(last.news.changed && !last.news.unfinished);
    assert_at(maps, "hosts.map", "a b\n");
    assert_at(ssl_dir, "www_example_com.pem", pem);
    assert_at(general, "sorry_page.http", "HTTP/1.0 503\r\n\r\n");
    cleanup(mem_free_ptr) char *file = path_of(ssl_dir, "www_example_com.pem");
    ck_assert_uint_eq(mode_of(file), 0640);
    ck_assert_uint_eq(mode_of(ssl_dir) & 0007, 0);
    ck_assert_uint_eq(temporary_files(maps) + temporary_files(ssl_dir) + temporary_files(general), 0);
    assert_list("maps hosts.map - put\nssl_certificates www_example_com.pem - put\ngeneral sorry_page.http - put\n");
    must(STORAGE_END);
    ck_assert(!last.news.changed && last.news.deleted == 0);
    cleanup(mem_free_ptr) char *text = list_text();
    ck_assert(strstr(text, " - ") == NULL && strstr(text, hash_of("a b\n")) != NULL);
    must(STORAGE_CHECK);
    ck_assert_uint_eq(last.news.differing, 0);
}

TEST(what_is_the_same_is_not_written)
{
    struct stat before, after;
    want(STORAGE_MAP, "a.map", "a b\n");
    want(STORAGE_MAP, "empty.map", "");
    loaded();
    cleanup(mem_free_ptr) char *path = path_of(maps, "a.map");
    ck_assert_int_eq(stat(path, &before), 0);
    begin_again();
    must(STORAGE_ADD);
    ck_assert(last.news.written == 0 && !last.news.changed);
    must(STORAGE_END);
    ck_assert_int_eq(stat(path, &after), 0);
    ck_assert_uint_eq(before.st_ino, after.st_ino);
    assert_at(maps, "empty.map", "");
}

TEST(a_file_that_was_there_is_replaced_and_never_deleted)
{
    put_at(maps, "a.map", "by hand\n");
    put_at(maps, "b.map", "the same\n");
    want(STORAGE_MAP, "a.map", "by hand\nnew line\n");
    want(STORAGE_MAP, "b.map", "the same\n");
    loaded();
    assert_at(maps, "a.map", "by hand\nnew line\n");
    cleanup(mem_free_ptr) char *path = path_of(maps, "a.map");
    ck_assert_uint_eq(mode_of(path), 0644); /* as it was */
    cleanup(mem_free_ptr) char *text = list_text();
    ck_assert(strstr(text, " found\n") != NULL && strstr(text, " put\n") == NULL);
    begin_again();
    want_none();
    loaded();
    ck_assert_uint_eq(last.news.deleted, 0);
    assert_at(maps, "a.map", "by hand\nnew line\n");
    assert_at(maps, "b.map", "the same\n");
    assert_at(general, STORAGE_LIST, NULL);
}

/* ---- what is deleted ---- */

TEST(what_was_put_there_is_deleted_when_the_other_runs)
{
    put_at(general, "by-hand", "x");
    want(STORAGE_MAP, "a.map", "a b\n");
    want(STORAGE_GENERAL, "one", "1");
    loaded();
    begin_again();
    want_only(STORAGE_GENERAL, "one", "1");
    must(STORAGE_ADD);
    assert_at(maps, "a.map", "a b\n"); /* what runs may need it */
    must(STORAGE_END);
    ck_assert_uint_eq(last.news.deleted, 1);
    assert_at(maps, "a.map", NULL);
    assert_at(general, "one", "1");
    assert_at(general, "by-hand", "x");
    assert_list("general one %s put\n", hash_of("1"));
}

TEST(what_another_one_has_put_in_its_place_stays)
{
    want(STORAGE_GENERAL, "one", "1");
    want(STORAGE_GENERAL, "two", "2");
    want(STORAGE_GENERAL, "three", "3");
    loaded();
    put_at(general, "one", "another one's");
    cleanup(mem_free_ptr) char *two = path_of(general, "two");
    ck_assert_int_eq(unlink(two), 0);
    ck_assert_int_eq(symlink("one", two), 0);
    unlink_at(general, "three");
    want_none();
    loaded();
    ck_assert_uint_eq(last.news.deleted, 0);
    assert_at(general, "one", "another one's");
    assert_at(general, "two", "another one's");
}

static const struct {
    const char *line;
    bool stays;
} named[] = {
    {"    errorfile 503 /etc/haproxy/general/one.http\n", true},
    {"    errorfile 503 one.http # by default-path\n", true},
    {"    use_backend %[path,map(/x/one.http,none)]\n", true},
    {"  # errorfile 503 /etc/haproxy/general/one.http\n", false},
    {"    errorfile 503 /etc/someone.http\n", false},
    {"    errorfile 503 /etc/one.http.old\n", false},
    {"    errorfile 503 /etc/someone.http /etc/one.http\n", true},
    {"", false},
};

TEST_EACH(what_haproxy_cfg_still_names_stays, array_len(named))
{
    cleanup(mem_free_ptr) char *text = mem_printf("%s%s", GOOD, named[_i].line);
    want(STORAGE_GENERAL, "one.http", "1");
    loaded();
    put(config, text, 0640);
    read_it();
    want_none();
    loaded();
    ck_assert_uint_eq(last.news.in_use, named[_i].stays ? 1 : 0);
    assert_at(general, "one.http", named[_i].stays ? "1" : NULL);
    if (named[_i].stays)
        assert_list("general one.http %s put\n", hash_of("1"));
}

/* ---- what changes ---- */

TEST(a_map_gains_lines_first_and_loses_them_at_the_end)
{
    want(STORAGE_MAP, "a.map", "a 1\nb 2\n");
    want(STORAGE_MAP, "less.map", "a 1\nb 2\n");
    loaded();
    want_only(STORAGE_MAP, "a.map", "b 2\nc 3\n");
    want(STORAGE_MAP, "less.map", "a 1\n");
    must(STORAGE_ADD);
    ck_assert(last.news.unfinished && last.news.written == 1);
    assert_at(maps, "a.map", "a 1\nb 2\nc 3\n");
    assert_at(maps, "less.map", "a 1\nb 2\n");
    must(STORAGE_FINAL);
    ck_assert(!last.news.unfinished && last.news.written == 2 && last.news.changed);
    assert_at(maps, "a.map", "b 2\nc 3\n");
    assert_at(maps, "less.map", "a 1\n");
    must(STORAGE_END);
    ck_assert(!last.news.changed);
}

TEST(a_map_that_changes_alone_is_written_once)
{
    want(STORAGE_MAP, "a.map", "a 1\nb 2\n");
    loaded();
    want_only(STORAGE_MAP, "a.map", "b 2\nc 3\n");
    alone = true;
    must(STORAGE_ADD);
    ck_assert(!last.news.unfinished && last.news.written == 1 && last.news.changed);
    assert_at(maps, "a.map", "b 2\nc 3\n");
    must(STORAGE_BACK);
    assert_at(maps, "a.map", "a 1\nb 2\n");
}

static void assert_back(void)
{
    must(STORAGE_BACK);
    ck_assert_uint_eq(last.news.written, 2);
    ck_assert_uint_eq(last.news.deleted, 1);
    ck_assert(!last.news.changed);
    assert_at(maps, "a.map", "a 1\nb 2\n");
    assert_at(general, "by-hand", "x");
    assert_at(general, "new", NULL);
}

TEST_EACH(what_will_not_run_gets_its_former_bytes, 2)
{
    put_at(general, "by-hand", "x");
    want(STORAGE_MAP, "a.map", "a 1\nb 2\n");
    loaded();
    cleanup(mem_free_ptr) char *before = list_text();
    want_only(STORAGE_MAP, "a.map", "b 2\nc 3\n");
    want(STORAGE_GENERAL, "by-hand", "another");
    want(STORAGE_GENERAL, "new", "1");
    must(STORAGE_ADD);
    assert_at(general, "by-hand", "another");
    if (_i > 0)
        must(STORAGE_FINAL);
    assert_back();
    cleanup(mem_free_ptr) char *after = list_text();
    ck_assert_msg(strncmp(after, before, strlen(before)) == 0, "%s", after); /* its digest is of what is there again */
    must(STORAGE_BACK);
    ck_assert(last.news.written == 0 && last.news.deleted == 0);
    must(STORAGE_ADD); /* and once more */
    must(STORAGE_FINAL);
    assert_at(maps, "a.map", "b 2\nc 3\n");
    assert_back();
}

static unsigned checks(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (unsigned)st.st_size : 0;
}

static void replace(struct cfg_content *c, bool writes)
{
    driver->ops->replace(driver, readout.version,
                         &(struct replacement_request){.text = c, .before = writes ? readout.file : NULL});
    await_told();
}

/* HAProxy took it with other files. */
TEST(what_was_checked_before_files_changed_is_checked_again)
{
    cleanup(mem_free_ptr) char *count = in_folder("checks");
    cleanup(mem_free_ptr) char *script = mem_printf("#!/bin/sh\nprintf x >>%s\n", count);
    struct cfg_content *c = cfg_content_new(mem_strdup(GOOD "# two\n"), strlen(GOOD "# two\n"));
    put(program, script, 0755);
    read_it();
    replace(c, false);
    ck_assert_uint_eq(checks(count), 1);
    must(STORAGE_CHECK); /* changes none */
    want(STORAGE_GENERAL, "one", "1");
    must(STORAGE_ADD);
    last.told = 0;
    replace(c, true);
    ck_assert_uint_eq(checks(count), 2);
    cfg_content_unref(c);
}

/* A newer one came before that: what runs is older than both. */
TEST(what_was_put_twice_gets_the_bytes_that_run)
{
    want(STORAGE_GENERAL, "one", "1");
    loaded();
    want_only(STORAGE_GENERAL, "one", "2");
    want(STORAGE_GENERAL, "new", "2");
    must(STORAGE_ADD);
    want_only(STORAGE_GENERAL, "one", "3");
    want(STORAGE_GENERAL, "new", "3");
    must(STORAGE_ADD);
    must(STORAGE_BACK);
    assert_at(general, "one", "1");
    assert_at(general, "new", NULL);
}

/* What was good is what was there last, not what went back once. */
TEST(what_goes_back_is_what_was_there_last)
{
    put_at(general, "one", "1");
    want(STORAGE_GENERAL, "one", "2");
    must(STORAGE_ADD);
    must(STORAGE_BACK);
    assert_at(general, "one", "1");
    put_at(general, "one", "by hand");
    must(STORAGE_ADD);
    assert_at(general, "one", "2");
    must(STORAGE_BACK);
    assert_at(general, "one", "by hand");
}

TEST(what_another_one_changed_meanwhile_does_not_go_back)
{
    cleanup(mem_free_ptr) char *link = path_of(general, "link");
    want(STORAGE_GENERAL, "one", "1");
    want(STORAGE_MAP, "grown.map", "a 1\nb 2\n");
    want(STORAGE_GENERAL, "gone", "1");
    loaded();
    want_only(STORAGE_GENERAL, "one", "2");
    want(STORAGE_MAP, "grown.map", "b 2\nc 3\n");
    want(STORAGE_GENERAL, "gone", "2");
    want(STORAGE_GENERAL, "new", "2");
    want(STORAGE_GENERAL, "link", "2");
    must(STORAGE_ADD);
    put_at(general, "one", "by hand");
    put_at(general, "new", "by hand");
    put_at(maps, "grown.map", "by hand\n");
    ck_assert_int_eq(unlink(link), 0);
    ck_assert_int_eq(symlink("one", link), 0);
    unlink_at(general, "gone");
    must(STORAGE_BACK);
    ck_assert(last.news.written == 1 && last.news.deleted == 0);
    ck_assert(last.news.changed); /* that does not run */
    assert_at(general, "one", "by hand");
    assert_at(general, "new", "by hand");
    assert_at(general, "link", "by hand");
    assert_at(maps, "grown.map", "by hand\n");
    assert_at(general, "gone", "1"); /* haproxy.cfg may name it */
    assert_list("maps grown.map - found\ngeneral gone %s put\ngeneral link - found\ngeneral new - found\ngeneral one - "
                "found\n",
                hash_of("1"));
    must(STORAGE_BACK);
    ck_assert_uint_eq(last.news.written, 0);
    want_none();
    loaded();
    ck_assert_uint_eq(last.news.deleted, 1);
    assert_at(general, "new", "by hand");
}

/* HAProxy does not run what is there, whatever the configuration says now. */
TEST_EACH(what_a_killed_run_changed_is_to_be_loaded, 3)
{
    want(STORAGE_GENERAL, "one", "1");
    want(STORAGE_GENERAL, "two", "2");
    loaded();
    want_only(STORAGE_GENERAL, "one", "changed");
    want(STORAGE_GENERAL, "two", "2");
    want(STORAGE_GENERAL, "three", "3");
    must(STORAGE_ADD);
    ck_assert_uint_eq(last.news.written, 2);
    assert_list("general one - put\ngeneral three - put\ngeneral two %s put\n", hash_of("2"));
    begin_again();
    if (_i == 2) { /* which the next one has no more */
        want_none();
        loaded();
        ck_assert_uint_eq(last.news.deleted, 3);
        return;
    }
    must(_i == 0 ? STORAGE_ADD : STORAGE_CHECK);
    ck_assert(last.news.written == 0 && last.news.changed);
    must(STORAGE_BACK); /* nobody knows what that was: it stays */
    assert_at(general, "one", "changed");
    must(STORAGE_ADD);
    must(STORAGE_END);
    ck_assert(!last.news.changed);
    want_none();
    loaded();
    ck_assert_uint_eq(last.news.deleted, 3);
}

TEST(what_was_changed_by_hand_to_what_is_desired_is_to_be_loaded)
{
    want(STORAGE_GENERAL, "one", "1");
    loaded();
    put_at(general, "one", "2");
    want_only(STORAGE_GENERAL, "one", "2");
    must(STORAGE_ADD);
    ck_assert(last.news.written == 0 && last.news.changed);
    put_at(general, "one", "3"); /* and what is not, is written anew */
    must(STORAGE_ADD);
    ck_assert_uint_eq(last.news.written, 1);
    assert_at(general, "one", "2");
}

TEST(each_byte_is_compared)
{
    want(STORAGE_GENERAL, "one", "12345");
    want(STORAGE_MAP, "a.map", "a b\n");
    loaded();
    put_at(general, "one", "12346");
    must(STORAGE_CHECK);
    ck_assert_uint_eq(last.news.differing, 1);
    ck_assert_str_eq(last.differs, "files/one");
    assert_at(general, "one", "12346"); /* it only reads */
    cleanup(mem_free_ptr) char *path = path_of(maps, "a.map");
    ck_assert_int_eq(unlink(path), 0);
    must(STORAGE_CHECK);
    ck_assert_uint_eq(last.news.differing, 2);
    ck_assert_str_eq(last.differs, "maps/a.map");
    ck_assert_int_eq(symlink("/dev/null", path), 0);
    must(STORAGE_CHECK);
    ck_assert_uint_eq(last.news.differing, 2);
    ck_assert_int_eq(unlink(path), 0);
    must(STORAGE_ADD);
    ck_assert_uint_eq(last.news.written, 2);
    must(STORAGE_CHECK);
    ck_assert_uint_eq(last.news.differing, 0);
}
