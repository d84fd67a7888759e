#include "settings/secrets/secret.h"

#include "../folder.h"

static char path[64];

static void set_up(void)
{
    folder_make();
    snprintf(path, sizeof(path), "%s/secret", folder);
}

/* Refreshes, expecting success; whether it changed. */
static bool refresh(struct secret *s, bool force)
{
    bool changed = false;
    int rc = secret_refresh(s, force, &changed, &flaw);
    ck_assert_msg(rc == 0, "%s", rc == 0 ? "" : flaw.message);
    return changed;
}

FIXTURE(set_up, folder_remove)

TEST(a_value_stays)
{
    cleanup(secret_fini) struct secret s = {0};
    ck_assert(!secret_is_set(&s));
    ck_assert(!refresh(&s, true));
    secret_set_value(&s, "x\n ");
    ck_assert(secret_is_set(&s));
    ck_assert(!refresh(&s, true));
    ck_assert_str_eq(s.value, "x\n ");
    secret_set_value(&s, "y");
    ck_assert_str_eq(s.value, "y");
}

TEST(one_line_break_at_the_end_is_dropped)
{
    static const char *const pairs[][2] = {
        {"abc", "abc"}, {"abc\n", "abc"}, {"abc\r\n", "abc"}, {" a b ", " a b "}, {"\xc3\xa4\n", "\xc3\xa4"},
    };
    for (size_t i = 0; i < array_len(pairs); i++) {
        cleanup(secret_fini) struct secret s = {0};
        write_file(path, pairs[i][0]);
        secret_set_path(&s, path);
        ck_assert(secret_is_set(&s));
        ck_assert_ptr_null(s.value);
        ck_assert(refresh(&s, false));
        ck_assert_str_eq(s.value, pairs[i][1]);
        ck_assert(!refresh(&s, true));
    }
}

/* Written twice within one tick of a coarse clock: the same size, the same time, the same inode. */
TEST(a_rewritten_file_is_read_again)
{
    cleanup(secret_fini) struct secret s = {0};
    struct stat st;
    write_file(path, "one");
    ck_assert_int_eq(stat(path, &st), 0);
    secret_set_path(&s, path);
    ck_assert(refresh(&s, false));
    write_file(path, "two");
    ck_assert_int_eq(utimensat(AT_FDCWD, path, (struct timespec[]){st.st_atim, st.st_mtim}, 0), 0);
    ck_assert(refresh(&s, false));
    ck_assert_str_eq(s.value, "two");
}

TEST(an_old_file_is_trusted_until_its_stamp_differs)
{
    cleanup(secret_fini) struct secret s = {0};
    write_file(path, "one");
    set_mtime(path, 1000000000);
    secret_set_path(&s, path);
    ck_assert(refresh(&s, false));
    write_file(path, "two");
    set_mtime(path, 1000000000);
    ck_assert(!refresh(&s, false));
    ck_assert_str_eq(s.value, "one");
    ck_assert(refresh(&s, true));
    ck_assert_str_eq(s.value, "two");
    set_mtime(path, 1000000001);
    ck_assert(!refresh(&s, false));
    write_file(path, "three");
    set_mtime(path, 1000000001);
    ck_assert(refresh(&s, false));
    ck_assert_str_eq(s.value, "three");
}

/* An atomic replacement with the same size and time: only the inode shows it. */
TEST(a_renamed_file_is_noticed)
{
    char other[128];
    snprintf(other, sizeof(other), "%s/new", folder);
    cleanup(secret_fini) struct secret s = {0};
    write_file(path, "one");
    set_mtime(path, 1000000000);
    secret_set_path(&s, path);
    ck_assert(refresh(&s, false));
    write_file(other, "two");
    set_mtime(other, 1000000000);
    ck_assert_int_eq(rename(other, path), 0);
    ck_assert(refresh(&s, false));
    ck_assert_str_eq(s.value, "two");
}

static void make_version(const char *name, const char *text)
{
    char at[128];
    snprintf(at, sizeof(at), "%s/%s", folder, name);
    ck_assert_int_eq(mkdir(at, 0700), 0);
    snprintf(at, sizeof(at), "%s/%s/secret", folder, name);
    write_file(at, text);
    set_mtime(at, 1000000000);
}

/* What kubelet does: secret -> ..data/secret, ..data -> a, and then ..data is replaced. */
TEST(a_mounted_secret_swaps_its_folder)
{
    char data[128], fresh[128];
    snprintf(data, sizeof(data), "%s/..data", folder);
    snprintf(fresh, sizeof(fresh), "%s/new", folder);
    make_version("a", "one");
    make_version("b", "two");
    ck_assert_int_eq(symlink("a", data), 0);
    ck_assert_int_eq(symlink("..data/secret", path), 0);
    cleanup(secret_fini) struct secret s = {0};
    secret_set_path(&s, path);
    ck_assert(refresh(&s, false));
    ck_assert_str_eq(s.value, "one");
    ck_assert(!refresh(&s, false));
    ck_assert_int_eq(symlink("b", fresh), 0);
    ck_assert_int_eq(rename(fresh, data), 0);
    ck_assert(refresh(&s, false));
    ck_assert_str_eq(s.value, "two");
}

static void assert_refused(struct secret *s, const char *why)
{
    bool changed = true;
    ck_assert_int_eq(secret_refresh(s, false, &changed, &flaw), -1);
    ck_assert_int_eq(flaw.kind, ERROR_INVALID);
    ck_assert(changed); /* untouched */
    ck_assert_msg(strstr(flaw.message, why) != NULL && strstr(flaw.message, s->path) != NULL, "%s", flaw.message);
    ck_assert_msg(strstr(flaw.message, "hunter2") == NULL, "%s", flaw.message);
}

TEST(what_cannot_be_used_keeps_the_old_value)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *why;
    } rows[] = {
        {"", 0, "is empty"},
        {"\r\n", 2, "is empty"},
        {"hunter2\n\n", 9, "control character"},
        {"hunter2\0x", 9, "control character"},
        {"\x7fhunter2", 8, "control character"},
    };
    cleanup(secret_fini) struct secret s = {0};
    write_file(path, "good");
    secret_set_path(&s, path);
    ck_assert(refresh(&s, false));
    for (size_t i = 0; i < array_len(rows); i++) {
        write_bytes(path, rows[i].bytes, rows[i].len);
        assert_refused(&s, rows[i].why);
        ck_assert_str_eq(s.value, "good");
    }
    /* One that was broken long ago is no better the second time. */
    set_mtime(path, 1000000000);
    assert_refused(&s, "control character");
    assert_refused(&s, "control character");
    ck_assert_int_eq(unlink(path), 0);
    assert_refused(&s, "No such file");
    ck_assert_str_eq(s.value, "good");
    write_file(path, "better");
    ck_assert(refresh(&s, false));
    ck_assert_str_eq(s.value, "better");
}

TEST(sizes_at_the_cap)
{
    enum { CAP = 64 * 1024 };
    char *big = mem_alloc(CAP + 2);
    memset(big, 'x', CAP + 1);
    cleanup(secret_fini) struct secret s = {0};
    secret_set_path(&s, path);
    write_bytes(path, big, CAP + 1);
    assert_refused(&s, "64 KiB");
    ck_assert_ptr_null(s.value);
    write_bytes(path, big, CAP);
    ck_assert(refresh(&s, false));
    ck_assert_uint_eq(strlen(s.value), CAP);
    free(big);
}

/* A pipe without a writer would block for ever, a device may do anything. */
TEST(only_regular_files_are_read)
{
    cleanup(secret_fini) struct secret s = {0};
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    secret_set_path(&s, path);
    assert_refused(&s, "is not a regular file");
    secret_set_path(&s, folder);
    assert_refused(&s, "is not a regular file");
    secret_set_path(&s, "/dev/zero");
    assert_refused(&s, "is not a regular file");
}

/* A regular file by its mode, whose first byte cannot be read. */
TEST(a_read_that_fails_is_reported)
{
    cleanup(secret_fini) struct secret s = {0};
    secret_set_path(&s, "/proc/self/mem");
    assert_refused(&s, "Input/output error");
}

/* What a client holds of one URL. */
static struct secret user, password, token;

static void set_lines(const char *url)
{
    secret_set_line(&user, path, url, SECRET_USER);
    secret_set_line(&password, path, url, SECRET_PASSWORD);
    secret_set_line(&token, path, url, SECRET_TOKEN);
}

static void lines_fini(void)
{
    secret_fini(&user);
    secret_fini(&password);
    secret_fini(&token);
}

/* Refreshes all, expecting success; how many changed. */
static int refresh_lines(void)
{
    return refresh(&user, false) + refresh(&password, false) + refresh(&token, false);
}

static void assert_lines(const char *u, const char *p, const char *t)
{
    ck_assert_pstr_eq(user.value, u);
    ck_assert_pstr_eq(password.value, p);
    ck_assert_pstr_eq(token.value, t);
    ck_assert(secret_is_set(&user) == (u != NULL) && secret_is_set(&token) == (t != NULL));
}

TEST(a_line_gives_its_parts)
{
    write_file(path, "# x\nhttp://a:1 admin:a:b c\nhttp://b:1/ Bearer t0ken\n");
    set_lines("http://a:1");
    assert_lines(NULL, NULL, NULL);
    ck_assert_int_eq(refresh_lines(), 2);
    assert_lines("admin", "a:b c", NULL);
    ck_assert_int_eq(refresh_lines(), 0);
    set_lines("http://b:1");
    ck_assert_int_eq(refresh_lines(), 1);
    assert_lines(NULL, NULL, "t0ken");
    lines_fini();
}

TEST(a_line_turns_into_the_other_kind_and_back)
{
    write_file(path, "http://a:1 u:p");
    set_lines("http://a:1");
    refresh_lines();
    write_file(path, "http://a:1 Bearer t");
    ck_assert_int_eq(refresh_lines(), 3);
    assert_lines(NULL, NULL, "t");
    write_file(path, "http://a:1 Bearer t2");
    ck_assert_int_eq(refresh_lines(), 1);
    write_file(path, "http://a:1 u2:p");
    ck_assert_int_eq(refresh_lines(), 3);
    assert_lines("u2", "p", NULL);
    lines_fini();
}

/* Each part reports the same, so that one trouble is one line of the log. */
static void assert_lines_refused(const char *message)
{
    struct secret *const all[] = {&user, &password, &token};
    for (size_t i = 0; i < array_len(all); i++) {
        bool changed = true;
        ck_assert_int_eq(secret_refresh(all[i], false, &changed, &flaw), -1);
        ck_assert_int_eq(flaw.kind, ERROR_INVALID);
        ck_assert(changed); /* untouched */
        ck_assert_str_eq(flaw.message, message);
    }
}

TEST(a_broken_file_or_a_lost_line_keeps_the_old_parts)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"http://a:1 hunter2", ", line 1: expected URL user:password or URL Bearer TOKEN; there is no ':' between user "
                               "name and password"},
        {"http://a:1 u:good\nhttp://b:1 hunter2",
         ", line 2: expected URL user:password or URL Bearer TOKEN; there is no "
         "':' between user name and password"},
        {"http://b:1 u:hunter2", ": the line for http://a:1 was removed; put it back, or restart to use the settings"},
        {"# http://a:1 u:hunter2\n",
         ": the line for http://a:1 was removed; put it back, or restart to use the settings"},
    };
    write_file(path, "http://a:1 u:good");
    set_lines("http://a:1");
    refresh_lines();
    for (size_t i = 0; i < array_len(rows); i++) {
        cleanup(mem_free_ptr) char *message = mem_printf("%s%s", path, rows[i].says);
        write_file(path, rows[i].text);
        assert_lines_refused(message);
        assert_lines("u", "good", NULL);
    }
    cleanup(mem_free_ptr) char *gone = mem_printf("%s: No such file or directory", path);
    ck_assert_int_eq(unlink(path), 0);
    assert_lines_refused(gone);
    assert_lines("u", "good", NULL);
    write_file(path, "http://b:1 u:p\n\nhttp://A:1/ u:better");
    ck_assert_int_eq(refresh_lines(), 1);
    assert_lines("u", "better", NULL);
    lines_fini();
}

TEST(a_copy_is_its_own)
{
    cleanup(secret_fini) struct secret value = {0}, file = {0}, copy = {0};
    secret_copy(&copy, &value);
    ck_assert(!secret_is_set(&copy));
    secret_set_value(&value, "x");
    secret_copy(&copy, &value);
    ck_assert_str_eq(copy.value, "x");
    write_file(path, "one");
    secret_set_path(&file, path);
    ck_assert(refresh(&file, false));
    secret_copy(&copy, &file);
    ck_assert_str_eq(copy.value, "one");
    write_file(path, "two");
    ck_assert(refresh(&file, true));
    ck_assert_str_eq(copy.value, "one");
    ck_assert(refresh(&copy, true));
    ck_assert_str_eq(copy.value, "two");
    write_file(path, "http://a:1 u:p");
    set_lines("http://a:1");
    secret_copy(&copy, &password);
    ck_assert(refresh(&copy, false));
    ck_assert_str_eq(copy.value, "p");
    lines_fini();
}
