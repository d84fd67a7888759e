/* src/haproxy/storage_foresight, and what src/haproxy/dataplane/storage foresees of files in an API's storage. */
#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/storage.h"
#include "haproxy/storage_foresight.h"

#include "../test.h"

static const struct {
    const char *now, *next;
    struct map_changes expected;
} maps[] = {
    {"", "", {0, 0, 0}},
    {"", "a 1\n", {1, 0, 0}},
    {"a 1\n", "# none\n", {0, 1, 0}},
    {"a 1\n", "a 2\n", {0, 0, 1}},
    {"a 1\nb 1\n", "# said\n b  1\na 1", {0, 0, 0}},
    {"a 1\nb 1\nc 1\n", "b 2\nd 1\ne 1\n", {2, 2, 1}},
    {"a 1\na 2\n", "a 1\n", {0, 1, 0}},
    {"a 1\na 2\n", "a 2\na 1\n", {0, 0, 2}},
    {"a 1\n", "ab 1\n", {1, 1, 0}},
    {"a\n", "a 1\n", {0, 0, 1}},
};

TEST_EACH(entries, sizeof(maps) / sizeof(maps[0]))
{
    struct map_changes is;
    map_text_compare(maps[_i].now, maps[_i].next, &is);
    ck_assert_uint_eq(is.come, maps[_i].expected.come);
    ck_assert_uint_eq(is.go, maps[_i].expected.go);
    ck_assert_uint_eq(is.change, maps[_i].expected.change);
}

struct stored_text {
    const char *path, *text;
};

static const char *answer_of(const struct stored_text *there, const char *path)
{
    for (; there->path != NULL; there++)
        if (str_eq(there->path, path))
            return there->text;
    return NULL;
}

/* "maps/a.map runtime (PUT ...)", one a line. */
static void foresee(const struct storage_files *files, const struct stored_text *there, struct buf *ret)
{
    cleanup(storage_fini) struct storage s;
    cleanup(storage_foresight_fini) struct storage_foresight seen = {0};
    const struct storage_request request = {.part = STORAGE_CHECK, .files = files, .foresight = &seen};
    storage_init(&s);
    for (struct storage_action x = storage_start(&s, &request); x.send;) {
        ck_assert_str_eq(x.method, "GET");
        const char *text = answer_of(there, x.path);
        const struct dataplane_answer a = {.status = text != NULL ? 200 : 404,
                                           .version = 1,
                                           .body = text != NULL ? text : "",
                                           .body_len = text != NULL ? strlen(text) : 0};
        x = storage_answer(&s, &a);
    }
    ck_assert_int_eq(s.machine.news.result, TRANSACTION_COMMITTED);
    for (size_t i = 0; i < seen.count; i++) {
        const struct storage_foreseen *f = &seen.list[i];
        const char *why = f->why != NULL ? f->why : "", *commands = buf_str(&f->commands);
        buf_printf(ret, "%s %s%s%s%s%.*s\n", f->name, storage_effect_name(f->effect), *why != '\0' ? ": " : "", why,
                   *commands != '\0' ? " " : "", (int)strcspn(commands, "\n"), commands);
    }
}

static void want(struct storage_files *files, enum storage_kind kind, const char *name, const char *bytes)
{
    ck_assert_int_eq(storage_files_add(files, kind, name, bytes, strlen(bytes), &flaw), 0);
}

#define MAPS                                                                                                         \
    "[{\"storage_name\":\"changes.map\"},{\"storage_name\":\"cold.map\"},{\"storage_name\":\"few.map\"},{\"storage_" \
    "name\":\"goes.map\"},"                                                                                          \
    "{\"storage_name\":\"half.map\"},{\"storage_name\":\"same.map\"},{\"storage_name\":\"theirs.map\"},{\"storage_"  \
    "name\":\"words.map\"}]"

TEST(by_an_api)
{
    cleanup(storage_files_fini) struct storage_files files = {0};
    cleanup(buf_fini) struct buf is = {0}, list = {0};
    cleanup(mem_free_ptr) char *many = mem_printf("l %04200d\nm %04200d\na 2\n", 0, 0); /* as an API replaces them */
    want(&files, STORAGE_MAP, "changes.map", many);
    want(&files, STORAGE_MAP, "cold.map", many);
    want(&files, STORAGE_MAP, "few.map", "a 2\n");
    want(&files, STORAGE_MAP, "half.map", many);
    want(&files, STORAGE_MAP, "new.map", "a 1\n");
    want(&files, STORAGE_MAP, "same.map", "a 1\n");
    want(&files, STORAGE_MAP, "words.map", "a 1 2\n");
    want(&files, STORAGE_GENERAL, "page", "b");
    /* An earlier run changed half.map and did not come to its end. */
    buf_add(&list,
            "maps half.map - put\nmaps goes.map 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 put\n"
            "maps theirs.map 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 found\n");
    const struct stored_text there[] = {
        {"/storage/general/" STORAGE_LIST, buf_str(&list)},
        {"/storage/maps", MAPS},
        {"/storage/general", "[{\"storage_name\":\"page\"}]"},
        {"/storage/maps/changes.map", "a 1\n"},
        {"/storage/maps/cold.map", "a 1\n"},
        {"/storage/maps/few.map", "a 1\n"},
        {"/storage/maps/half.map", many},
        {"/storage/maps/same.map", "a 1\n"},
        {"/storage/maps/words.map", "a 1\n"},
        {"/storage/general/page", "a"},
        {"/runtime/maps/changes.map/entries", "[]"},
        {"/runtime/maps/half.map/entries", "[]"},
        {"/runtime/maps/words.map/entries", "[]"},
        {NULL, NULL},
    };
    foresee(&files, there, &is);
    ck_assert_str_eq(buf_str(&is),
                     "maps/changes.map runtime PUT /v3/services/haproxy/runtime/maps/changes.map\n"
                     "maps/cold.map reload: HAProxy has none by its path\n"
                     "maps/few.map reload: the Data Plane API replaces no map of at most 8 KiB, but adds to it what it "
                     "is to have\n"
                     "maps/half.map runtime PUT /v3/services/haproxy/runtime/maps/half.map\n"
                     "maps/new.map reload: it is new\n"
                     "maps/same.map unchanged\n"
                     "maps/words.map reload: the Data Plane API cannot set or cannot show the value of a (several "
                     "words, none, a ';')\n"
                     "files/page reload: HAProxy reads it when it starts\n"
                     "maps/goes.map deleted\n");
}

TEST(a_file_that_is_half_done_and_goes)
{
    cleanup(storage_files_fini) struct storage_files files = {0};
    cleanup(buf_fini) struct buf is = {0};
    const struct stored_text there[] = {
        {"/storage/general/" STORAGE_LIST, "maps goes.map - put\nmaps gone.map - found\n"},
        {"/storage/maps", "[{\"storage_name\":\"goes.map\"}]"},
        {NULL, NULL}};
    foresee(&files, there, &is);
    ck_assert_str_eq(buf_str(&is), "maps/goes.map reload: it is removed\nmaps/gone.map reload: it is removed\n");
}
