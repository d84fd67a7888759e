/* src/configuration/file_source: what is given of a file whatever is done to it and to the folders on its way. */
#include <event2/event.h>
#include <sys/mman.h>

#include "configuration/file_source.h"
#include "haproxy/storage_files.h"
#include "host/timer.h"
#include "net/digest.h"

#include "../folder.h"

#define MAX_BYTES 64

/* What came last: the text, or "!" and the error. */
static struct {
    struct event_base *base;
    struct file_source *source;
    char *path, *files_folder, *said, *files; /* the name of the last file of the folder */
    unsigned times;
} w;

static void say(char *text)
{
    free(w.said);
    w.said = text;
    w.times++;
    event_base_loopbreak(w.base);
}

static void on_changed(void *arg, const char *bytes, size_t len, const char *hash, struct storage_files *files)
{
    char is[DIGEST_SHA256_HEX_BYTES];
    digest_sha256_hex(bytes, len, is);
    ck_assert_str_eq(hash, is);
    free(w.files);
    w.files = files != NULL && files->count > 0 ? mem_strdup(files->list[files->count - 1].stored) : NULL;
    say(mem_strndup(bytes, len));
}

static void on_failed(void *arg, const struct error *err)
{
    if (w.said == NULL || strcmp(w.said + 1, err->message) != 0) /* it is logged each time */
        say(mem_printf("!%s", err->message));
}

static void on_late(void *arg)
{
    ck_abort_msg("nothing comes; last: %s", w.said != NULL ? w.said : "(nothing)");
}

static void world_as(const char *name, const char *files, uint64_t reread_ms, bool once)
{
    static const struct file_source_callbacks callbacks = {.changed = on_changed, .failed = on_failed};
    memset(&w, 0, sizeof(w));
    folder_make();
    w.path = in_folder(name);
    w.base = event_base_new();
    w.files_folder = mem_printf("%s%s", folder, files);
    const struct file_source_options options = {
        .path = w.path, .folder = w.files_folder, .max_bytes = MAX_BYTES, .reread_ms = reread_ms, .once = once};
    w.source = file_source_new(w.base, &options, &callbacks, NULL, &flaw);
    ck_assert_msg(w.source != NULL, "%s", flaw.message);
}

static void world(void)
{
    world_as("f", "", 0, false);
}

static void world_end(void)
{
    file_source_free(w.source);
    event_base_free(w.base);
    folder_remove();
    free(w.path);
    free(w.files_folder);
    free(w.said);
    free(w.files);
}

static void put(const char *name, const char *text)
{
    cleanup(mem_free_ptr) char *path = in_folder(name);
    write_file(path, text);
}

static void move(const char *from, const char *to)
{
    cleanup(mem_free_ptr) char *a = in_folder(from), *b = in_folder(to);
    ck_assert_int_eq(rename(a, b), 0);
}

static void make_folder(const char *name)
{
    cleanup(mem_free_ptr) char *path = in_folder(name);
    ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void point(const char *name, const char *to)
{
    cleanup(mem_free_ptr) char *path = in_folder(name);
    ck_assert_int_eq(symlink(to, path), 0);
}

static void away(const char *name)
{
    cleanup(mem_free_ptr) char *path = in_folder(name);
    ck_assert_int_eq(remove(path), 0);
}

/* Lets the loop run until something else was said, which is `what`: a text, or a part of an error behind "!". */
static void expect(const char *what)
{
    struct timer late;
    unsigned times = w.times;
    timer_init(&late, w.base, on_late, NULL);
    timer_set(&late, 20000);
    while (w.times == times || (what[0] == '!' ? strstr(w.said, what + 1) == NULL : !str_eq(w.said, what)))
        event_base_loop(w.base, EVLOOP_ONCE);
    timer_fini(&late);
}

static void expect_file(const char *stored)
{
    while (w.files == NULL || !str_eq(w.files, stored))
        expect("one");
}

static void begins_with_one(void)
{
    put("f", "one");
    file_source_start(w.source);
    expect("one");
}

FIXTURE(world, world_end)

TEST(a_folder_of_files)
{
    begins_with_one();
    ck_assert_ptr_null(w.files);
    make_folder("maps");
    put("maps/.hidden", "k v\n");
    put("maps/a.b.map", "k v\n");
    expect_file("a_b.map");
    make_folder("first");
    make_folder("second");
    put("first/x", "1");
    put("second/y", "2");
    point("files", "first");
    expect_file("x");
    point("next", "second");
    move("next", "files");
    expect_file("y");
    away("second/y");
    expect_file("a_b.map");
    make_folder("maps/b.map");
    expect("!maps/b.map is no regular file");
    away("maps/b.map");
    expect_file("a_b.map");
    put("maps/b c.map", "k v\n");
    expect("!maps/b c.map: the name of a file has letters");
}

/* As a volume that is not mounted: not one without files, which would all be deleted. */
TEST(a_folder_that_is_gone)
{
    world_end();
    world_as("f", "/d", 0, false);
    put("f", "one");
    file_source_start(w.source);
    expect("!/d: No such file or directory");
    make_folder("d");
    expect("one");
    ck_assert_ptr_null(w.files);
    make_folder("d/files");
    put("d/files/x", "1");
    expect_file("x");
    move("d", "gone");
    expect("!/d: No such file or directory");
    move("gone", "d");
    expect_file("x");
    away("d/files/x");
    away("d/files"); /* one of its folders may be */
    expect("one");
    ck_assert_ptr_null(w.files);
}

TEST(each_way_of_writing_is_seen)
{
    begins_with_one();
    put("f", "two"); /* truncated and written */
    expect("two");
    put("g", "three");
    move("g", "f"); /* as editors and git do */
    expect("three");
    away("f");
    expect("!No such file or directory");
    put("f", "three"); /* it is back */
    expect("three");
    away("f");
    expect("!No such file or directory");
    put("g", "four");
    cleanup(mem_free_ptr) char *from = in_folder("g"), *to = in_folder("f");
    ck_assert_int_eq(link(from, to), 0);
    expect("four");
    put("other", "nothing"); /* concerns nobody */
    put("f", "five");
    expect("five");
    ck_assert_uint_eq(w.times, 8);
}

TEST(the_same_bytes_are_said_once)
{
    begins_with_one();
    put("g", "one");
    move("g", "f");
    for (unsigned i = 0; i < 5; i++) /* the event, and what it sets off */
        event_base_loop(w.base, EVLOOP_NONBLOCK);
    put("f", "two");
    expect("two");
    ck_assert_uint_eq(w.times, 2);
    file_source_poke(w.source); /* but where it is asked for */
    expect("two");
}

TEST(links_are_followed)
{
    make_folder("1");
    make_folder("2");
    put("1/f", "one");
    put("2/f", "two");
    point("..data", "1");
    point("f", "..data/f");
    file_source_start(w.source);
    expect("one");
    point("..new", "2");
    move("..new", "..data");
    expect("two");
    put("2/f", "three");
    expect("three");
    put("1/f", "not on the way any more");
    cleanup(mem_free_ptr) char *far = in_folder("far");
    mkdir(far, 0700);
    put("far/f", "four");
    point("g", "far/f");
    move("g", "f");
    expect("four");
    away("f");
    point("f", "f");
    expect("!Too many levels of symbolic links");
}

TEST(folders_come_and_go)
{
    world_end();
    world_as("a/b/f", "", 0, false);
    file_source_start(w.source);
    expect("!No such file or directory");
    make_folder("a");
    make_folder("a/b");
    put("a/b/f", "one");
    expect("one");
    move("a", "gone");
    expect("!No such file or directory");
    make_folder("a");
    make_folder("a/b");
    put("a/b/f", "two");
    expect("two");
    away("a/b/f");
    make_folder("a/b/f");
    expect("!no regular file");
}

TEST(what_is_no_file_harms_nothing)
{
    cleanup(mem_free_ptr) char *path = in_folder("f");
    ck_assert_int_eq(mkfifo(path, 0600), 0); /* nobody writes to it */
    file_source_start(w.source);
    expect("!no regular file");
    put("g", "0123456789012345678901234567890123456789012345678901234567890123456789");
    move("g", "f");
    expect("!: more than 64 bytes, which are not taken");
    put("g", "one");
    move("g", "f");
    expect("one");
}

/* As much as there is to do now. */
static void run_now(void)
{
    for (int i = 0; i < 5; i++)
        event_base_loop(w.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

/* Half of it may be a configuration, too. Where this process is held up, it is not written to any more. */
TEST(who_writes_to_it_is_waited_for)
{
    bool waited = false;
    for (int i = 0; i < 50 && !waited; i++) {
        world_end();
        world();
        put("f", "half");
        file_source_start(w.source);
        run_now();
        waited = w.times == 0;
        if (waited)
            expect("half"); /* nobody did, after all */
    }
    ck_assert(waited);
}

/* As on a file system that has no events. */
TEST(it_is_read_again_without_any_event)
{
    world_end();
    world_as("f", "", 50, false);
    begins_with_one();
    int fd = open(w.path, O_RDWR | O_CLOEXEC);
    char *text = mmap(NULL, 3, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(text, MAP_FAILED);
    text[2] = '!';
    expect("on!");
    ck_assert_int_eq(munmap(text, 3), 0);
    close(fd);
}

TEST(what_is_not_followed_is_read_when_asked)
{
    world_end();
    world_as("f", "", 50, true);
    begins_with_one();
    put("f", "two");
    run_now();
    ck_assert_uint_eq(w.times, 1);
    file_source_poke(w.source);
    expect("two");
}

TEST(events_that_were_lost_are_no_matter)
{
    char text[16] = "";
    FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
    ck_assert(f != NULL && fgets(text, sizeof(text), f) != NULL);
    ck_assert_int_eq(fclose(f), 0);
    unsigned long max = strtoul(text, NULL, 10);
    begins_with_one();
    for (unsigned long i = 0; i <= max / 2; i++) {
        make_folder("x");
        away("x");
    }
    put("f", "two");
    expect("two");
}
