/* src/configuration/store: versions, rejections and a rollback, in memory and over a restart, with what can go wrong in a folder. */
#include <dirent.h>

#include "configuration/document.h"
#include "haproxy/cfg/content.h"
#include "configuration/store.h"

#include "../folder.h"

static struct {
    char *state; /* in the folder */
    struct store *s;
} w;

/* It begins, or begins again with what is in the folder. */
static void start(bool in_memory)
{
    store_free(w.s);
    w.s = store_new(in_memory ? NULL : w.state, NULL, &flaw);
    ck_assert_msg(w.s != NULL, "%s", flaw.message);
    ck_assert(store_take(w.s));
}

static void world_begin(void)
{
    memset(&w, 0, sizeof(w));
    folder_make();
    w.state = in_folder("state");
    start(false);
}

static void world_again(void)
{
    start(false);
}

static size_t remove_all(const char *at)
{
    size_t count = 0;
    DIR *dir = opendir(at);
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        cleanup(mem_free_ptr) char *path = mem_printf("%s/%s", at, e->d_name);
        if (e->d_name[0] == '.')
            continue;
        count++;
        ck_assert_int_eq(remove(path), 0);
    }
    if (dir != NULL)
        closedir(dir);
    return count;
}

static void world_end(void)
{
    store_free(w.s);
    folder_remove();
    free(w.state);
}

static struct document *document_of(unsigned number)
{
    cleanup(mem_free_ptr) char *text = mem_printf("global\n  description %u\n", number);
    struct document *d = document_new(DOCUMENT_FOR_APIS, "/etc/a.cfg", text, strlen(text), NULL, NULL, &flaw);
    ck_assert_msg(d != NULL, "%s", flaw.message);
    return d;
}

static void applied(unsigned number, const char *url)
{
    struct document *d = document_of(number);
    store_applied(w.s, d, url);
    ck_assert(store_ran(w.s, d, url));
    document_unref(d);
}

static void check_version(size_t i, unsigned number, unsigned content)
{
    const struct store_version *v = store_version(w.s, i);
    struct document *is = document_of(content), *d = store_document(w.s, number, &flaw);
    ck_assert_msg(d != NULL, "%s", flaw.message);
    ck_assert_uint_eq(v->number, number);
    ck_assert_str_eq(v->hash, is->hash);
    ck_assert_str_eq(v->origin, "/etc/a.cfg");
    ck_assert_uint_eq(v->bytes, is->content->len);
    ck_assert_int_gt(v->applied_ms, 1700000000000);
    ck_assert_str_eq(d->content->text, is->content->text);
    ck_assert_str_eq(d->hash, is->hash);
    ck_assert_str_eq(d->origin, "/etc/a.cfg");
    document_unref(is);
    document_unref(d);
}

FIXTURE(world_begin, world_end)

/* _i: 0 in memory, 1 in a folder, 2 in a folder and read anew */
TEST_EACH(the_last_versions_are_kept, 3)
{
    start(_i == 0);
    ck_assert_int_eq(store_view(w.s).folder_fd >= 0, _i != 0);
    for (unsigned i = 1; i <= STORE_VERSIONS + 3; i++) {
        applied(i, "http://a");
        applied(i, "http://b");
        applied(i, "http://a");
    }
    if (_i == 2)
        world_again();
    ck_assert_uint_eq(store_count(w.s), STORE_VERSIONS);
    for (unsigned i = 0; i < STORE_VERSIONS; i++)
        check_version(i, STORE_VERSIONS + 3 - i, STORE_VERSIONS + 3 - i);
    ck_assert_uint_eq(store_version(w.s, 0)->target_count, 2);
    ck_assert_str_eq(store_version(w.s, 0)->targets[1], "http://b");
    ck_assert_ptr_null(store_document(w.s, 3, &flaw));
    ck_assert_msg(strstr(flaw.message, "no version 3") != NULL, "%s", flaw.message);
    applied(5, "http://a"); /* what ran before is a new version */
    check_version(0, STORE_VERSIONS + 4, 5);
    struct document *d = document_of(5);
    ck_assert(!store_ran(w.s, d, "http://b"));
    document_unref(d);
    store_free(w.s);
    w.s = NULL;
    ck_assert_uint_eq(remove_all(w.state), _i != 0 ? STORE_VERSIONS + 2 : 1); /* and the list and the lock */
}

static void overwrite(const char *name, const char *text)
{
    cleanup(mem_free_ptr) char *path = mem_printf("%s/%s", w.state, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

/* _i: 0 in memory, 1 in a folder and read anew, 2 and damaged */
TEST_EACH(files_belong_to_a_version, 3)
{
    static const char text[] = "global\n";
    struct storage_files files = {0};
    start(_i == 0);
    ck_assert_int_eq(storage_files_add(&files, STORAGE_MAP, "a.map", "x y\n", 4, &flaw), 0);
    ck_assert_int_eq(storage_files_add(&files, STORAGE_GENERAL, "b.bin", "\0\xff\n", 3, &flaw), 0);
    struct document *d = document_new(DOCUMENT_FOR_APIS, "/etc/a.cfg", text, strlen(text), NULL, &files, &flaw);
    ck_assert_msg(d != NULL, "%s", flaw.message);
    store_applied(w.s, d, "http://a");
    if (_i > 0)
        world_again();
    if (_i == 2)
        overwrite("version-1.json", "{\"files\":[]}");
    struct document *is = store_document(w.s, 1, &flaw);
    if (_i == 2) {
        ck_assert_ptr_null(is);
        ck_assert_msg(strstr(flaw.message, "version-1.json: it is not what was written") != NULL, "%s", flaw.message);
    } else {
        ck_assert_msg(is != NULL, "%s", flaw.message);
        ck_assert_str_eq(is->id, d->id);
        ck_assert_uint_eq(is->files.count, 2);
        ck_assert_mem_eq(is->files.list[1].bytes, "\0\xff\n", 3);
    }
    document_unref(is);
    struct document *without = document_new(DOCUMENT_FOR_APIS, "/etc/a.cfg", text, strlen(text), NULL, NULL, &flaw);
    ck_assert(store_ran(w.s, d, "http://a") && !store_ran(w.s, without, "http://a"));
    document_unref(without);
    document_unref(d);
}

TEST(what_is_being_written_is_kept)
{
    store_writing(w.s, "http://a", true);
    store_writing(w.s, "http://b", true);
    store_writing(w.s, "http://c", true);
    store_writing(w.s, "http://c", true);
    store_writing(w.s, "http://c", false);
    applied(1, "http://b");
    for (int again = 0; again < 2; again++) {
        ck_assert(store_was_writing(w.s, "http://a"));
        ck_assert(!store_was_writing(w.s, "http://b") && !store_was_writing(w.s, "http://c"));
        world_again();
    }
    store_forget_target(w.s, "http://a");
    world_again();
    ck_assert(!store_was_writing(w.s, "http://a"));
}

TEST(rejections_are_kept)
{
    store_reject(w.s, "aa", "http://a", "3.0.1", "line 7: \"no\"\nsuch");
    store_reject(w.s, "aa", "http://b", "3.0.1", "");
    for (int again = 0; again < 2; again++) {
        ck_assert_str_eq(store_rejection(w.s, "aa", "http://a", "3.0.1"), "line 7: \"no\"\nsuch");
        ck_assert_str_eq(store_rejection(w.s, "aa", "http://b", "3.0.1"), "");
        ck_assert_ptr_null(store_rejection(w.s, "aa", "http://a", "3.0.2"));
        ck_assert_ptr_nonnull(store_rejection(w.s, "aa", "http://a", "")); /* it does not answer yet */
        ck_assert_ptr_null(store_rejection(w.s, "ab", "http://a", "3.0.1"));
        world_again();
    }
    store_forget_rejections(w.s, "aa", "http://b");
    world_again();
    ck_assert_ptr_null(store_rejection(w.s, "aa", "http://b", "3.0.1"));
    ck_assert_ptr_nonnull(store_rejection(w.s, "aa", "http://a", "3.0.1"));
    for (unsigned i = 0; i < 150; i++) { /* the oldest goes */
        char hash[8];
        snprintf(hash, sizeof(hash), "%u", i);
        store_reject(w.s, hash, "http://a", "3.0.1", "no");
    }
    ck_assert_ptr_null(store_rejection(w.s, "49", "http://a", "3.0.1"));
    ck_assert_ptr_nonnull(store_rejection(w.s, "50", "http://a", "3.0.1"));
    world_again();
    ck_assert_ptr_nonnull(store_rejection(w.s, "50", "http://a", "3.0.1"));
    store_reject(w.s, "aa", "http://b", "3.0.1", "no");
    store_forget_rejections(w.s, NULL, "http://a"); /* all of it */
    ck_assert_ptr_null(store_rejection(w.s, "149", "http://a", "3.0.1"));
    ck_assert_ptr_nonnull(store_rejection(w.s, "aa", "http://b", "3.0.1"));
}

TEST(a_rollback_is_kept)
{
    ck_assert_uint_eq(store_held(w.s, "aa"), 0);
    store_hold(w.s, "aa", 4, NULL);
    world_again();
    ck_assert_uint_eq(store_held(w.s, "aa"), 4);
    ck_assert_uint_eq(store_held(w.s, "ab"), 0);
    ck_assert_ptr_null(store_view(w.s).held_why);
    store_hold(w.s, "aa", 5, "evidence");
    world_again();
    ck_assert_uint_eq(store_held(w.s, "aa"), 5);
    ck_assert_str_eq(store_view(w.s).held_why, "evidence");
    store_release(w.s);
    world_again();
    ck_assert_uint_eq(store_held(w.s, "aa"), 0);
    ck_assert_ptr_null(store_view(w.s).held_why);
}

/* What one HAProxy read as it was is nothing that a Data Plane API may get. */
TEST(a_version_is_read_for_its_use)
{
    static const char text[] = "global\n.if defined(X)\n maxconn 5\n.endif\n";
    struct document *d = document_new(DOCUMENT_FOR_FILE, "/etc/a.cfg", text, strlen(text), NULL, NULL, &flaw);
    store_applied(w.s, d, "/etc/haproxy.cfg");
    document_unref(d);
    world_again();
    store_use(w.s, DOCUMENT_FOR_FILE);
    d = store_document(w.s, 1, &flaw);
    ck_assert_msg(d != NULL, "%s", flaw.message);
    ck_assert_str_eq(d->content->text, text);
    document_unref(d);
    world_again();
    ck_assert_ptr_null(store_document(w.s, 1, &flaw));
    ck_assert_msg(strstr(flaw.message, "a conditional") != NULL, "%s", flaw.message);
}

/* A version whose text is lost is not half a configuration. */
TEST(a_damaged_text_is_not_used)
{
    applied(1, "http://a");
    applied(2, "http://a");
    overwrite("version-1.cfg", "global\n");
    ck_assert_ptr_null(store_document(w.s, 1, &flaw));
    ck_assert_msg(strstr(flaw.message, "version-1.cfg: it is not what was written") != NULL, "%s", flaw.message);
    remove_all(w.state);
    ck_assert_ptr_null(store_document(w.s, 2, &flaw));
    ck_assert_msg(strstr(flaw.message, "version-2.cfg: No such file") != NULL, "%s", flaw.message);
}

static const char *const damaged[] = {
    "",
    "{",
    "[]",
    "{\"versions\":7}",
    "{\"versions\":[7]}",
    "{\"versions\":[{\"number\":1}]}",
    "{\"rejections\":[{}]}",
    "{\"rolled_back\":{\"from\":\"aa\"}}",
    "{\"rolled_back\":[]}",
    "{\"versions\":[{\"number\":1,\"bytes\":1,\"sha256\":\"aa\",\"id\":\"aa\",\"text_sha256\":\"aa\",\"source\":\"a\"}]"
    "}",
};

/* The daemon starts, and goes on keeping. */
TEST_EACH(a_damaged_list_is_forgotten, array_len(damaged))
{
    overwrite("configuration.json", damaged[_i]);
    world_again();
    ck_assert_uint_eq(store_count(w.s), 0);
    ck_assert_uint_eq(store_held(w.s, "aa"), 0);
    applied(1, "http://a");
    world_again();
    ck_assert_uint_eq(store_count(w.s), 1);
    check_version(0, 1, 1);
}

TEST(one_daemon_for_each_folder)
{
    applied(1, "http://a");
    struct store *next = store_new(w.state, NULL, &flaw);
    ck_assert_msg(next != NULL, "%s", flaw.message);
    for (int round = 0; round < 2; round++) { /* one leads, then the other one, and so on */
        struct store *leads = round == 0 ? w.s : next, *waits = round == 0 ? next : w.s;
        store_reject(leads, "hash", "http://a", "3.0", "no");
        ck_assert(!store_take(waits));
        store_forget_rejections(waits, "hash", "http://a"); /* is written nowhere */
        store_give_back(leads);
        ck_assert(store_take(waits));
        ck_assert_str_eq(store_rejection(waits, "hash", "http://a", "3.0"), "no");
        ck_assert_uint_eq(store_count(waits), 1);
    }
    store_free(next);
    struct store *other = store_read(w.state, NULL, &flaw); /* `config history`, beside it */
    ck_assert_msg(other != NULL, "%s", flaw.message);
    ck_assert_uint_eq(store_count(other), 1);
    ck_assert_int_eq(store_view(other).folder_fd, -1);
    store_free(other);
    struct stat st;
    ck_assert_int_eq(stat(w.state, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0700);
}

TEST(a_folder_that_cannot_be_used)
{
    cleanup(mem_free_ptr) char *deep = mem_printf("%s/deep/er", folder);
    ck_assert_ptr_null(store_new(deep, NULL, &flaw));
    ck_assert_msg(strstr(flaw.message, "deep/er: cannot be made: No such file") != NULL, "%s", flaw.message);
    ck_assert_ptr_null(store_read(deep, NULL, &flaw));
    overwrite("../file", "x");
    cleanup(mem_free_ptr) char *file = mem_printf("%s/file", folder);
    ck_assert_ptr_null(store_new(file, NULL, &flaw));
    ck_assert_msg(strstr(flaw.message, "Not a directory") != NULL, "%s", flaw.message);
}

/* What cannot be written is still there until the end: here a folder has the name of the file that comes. */
TEST(what_cannot_be_written_is_kept_in_memory)
{
    cleanup(mem_free_ptr) char *in_the_way = mem_printf("%s/new", w.state);
    ck_assert_int_eq(mkdir(in_the_way, 0700), 0);
    applied(1, "http://a");
    check_version(0, 1, 1);
    ck_assert_int_eq(rmdir(in_the_way), 0);
    applied(2, "http://a");
    check_version(1, 1, 1);
    check_version(0, 2, 2);
}

TEST(what_was_proven_is_kept)
{
    char hash[DIGEST_SHA256_HEX_BYTES];
    applied(1, "http://a");
    applied(2, "http://a");
    memcpy(hash, store_version(w.s, 1)->id, sizeof(hash));
    store_prove(w.s, hash);
    world_again();
    ck_assert(store_is_proven(w.s, hash));
    ck_assert_uint_eq(store_good(w.s, "x"), 1);
}

/* What was rejected by any HAProxy is none to go back to, and what was taken back ran nowhere. */
TEST(what_was_rejected_is_not_gone_back_to)
{
    applied(1, "http://a");
    applied(2, "http://a");
    applied(3, "http://a");
    const char *second = store_version(w.s, 1)->id, *third = store_version(w.s, 0)->id;
    ck_assert_uint_eq(store_good(w.s, third), 2);
    ck_assert(!store_is_rejected(w.s, second));
    store_reject(w.s, second, "http://b", "3.0.1", "no");
    ck_assert(store_is_rejected(w.s, second) && !store_is_rejected(w.s, third));
    ck_assert_uint_eq(store_good(w.s, third), 1);
    store_taken_back(w.s, third, "http://a");
    world_again();
    ck_assert_uint_eq(store_latest(w.s, "http://a")->number, 2);
}

/* An earlier daemon wrote that, and watched nothing. */
TEST(what_ran_last_counts_as_good_where_nothing_is_said)
{
    applied(1, "http://a");
    applied(2, "http://a");
    cleanup(mem_free_ptr) char *path = mem_printf("%s/configuration.json", w.state);
    cleanup(buf_fini) struct buf text = {.max_bytes = 1 << 20};
    ck_assert_int_eq(buf_read_file(&text, path), 0);
    char *last = strstr(text.data, ",\n  \"proven\": 0\n");
    ck_assert_ptr_nonnull(last);
    memcpy(last, "\n}\n", sizeof("\n}\n"));
    overwrite("configuration.json", text.data);
    world_again();
    ck_assert(store_is_proven(w.s, store_version(w.s, 0)->id));
}

/* However many come after it. */
TEST(the_last_good_one_is_kept)
{
    struct store *s = store_new(NULL, NULL, &flaw);
    char text[64], first[DIGEST_SHA256_HEX_BYTES] = "", last[DIGEST_SHA256_HEX_BYTES] = "";
    ck_assert_uint_eq(store_good(s, "x"), 0);
    for (unsigned i = 1; i <= 3 * STORE_VERSIONS; i++) {
        snprintf(text, sizeof(text), "global\n  description %u\n", i);
        struct document *d = document_new(DOCUMENT_FOR_APIS, "f", text, strlen(text), NULL, NULL, &flaw);
        store_applied(s, d, "http://a");
        if (i == 1)
            ck_assert_uint_eq(store_good(s, d->id), 0); /* there is no other one */
        if (i == 2)
            ck_assert_uint_eq(store_good(s, d->id), 1); /* the one before, which nobody watched */
        if (i == 3) {
            memcpy(first, d->id, sizeof(first));
            store_prove(s, d->id);
        }
        memcpy(last, d->id, sizeof(last));
        document_unref(d);
    }
    ck_assert_uint_eq(store_count(s), STORE_VERSIONS);
    ck_assert_uint_eq(store_version(s, 0)->number, 3 * STORE_VERSIONS);
    ck_assert_uint_eq(store_version(s, STORE_VERSIONS - 1)->number, 3);
    ck_assert_uint_eq(store_version(s, STORE_VERSIONS - 2)->number, 2 * STORE_VERSIONS + 2);
    ck_assert_uint_eq(store_good(s, last), 3);
    ck_assert_uint_eq(store_good(s, first), 0); /* from itself to nowhere */
    ck_assert(store_is_proven(s, first) && !store_is_proven(s, last));
    struct document *kept = store_document(s, 3, &flaw);
    ck_assert_msg(kept != NULL, "%s", flaw.message);
    document_unref(kept);
    store_prove(s, last);
    ck_assert_uint_eq(store_good(s, first), 3 * STORE_VERSIONS);
    store_free(s);
}
