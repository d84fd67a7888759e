/* `config plan` as text and as JSON (src/cli/config_print); the engine is played by what it would say. */
#include <yyjson.h>

#include "base/page.h"
#include "cli/config.h"
#include "configuration/configuration.h"
#include "configuration/document.h"
#include "haproxy/cfg/difference.h"
#include "haproxy/storage_foresight.h"

#include "../test.h"

static struct {
    struct configuration_view view;
    struct cfg_difference differs;
    const char *commands, *why; /* why NULL: no reload */
    struct storage_foresight files;
} engine;

struct configuration_view configuration_view(const struct configuration *c, size_t target)
{
    return engine.view;
}

const struct cfg_difference *configuration_difference(const struct configuration *c, size_t target)
{
    return &engine.differs;
}

void configuration_line_difference(const struct configuration *c, size_t target, struct cfg_line_difference *ret)
{
    *ret = (struct cfg_line_difference){0};
}

int configuration_foresee(const struct configuration *c, size_t target, struct buf *ret, struct error *err)
{
    buf_add(ret, engine.commands);
    return engine.why == NULL ? 0 : error_set(err, ERROR_INVALID, "%s", engine.why);
}

const struct storage_foresight *configuration_foresight(const struct configuration *c, size_t target)
{
    return &engine.files;
}

static void says(enum cfg_effect effect, const char *commands, const char *why)
{
    engine.view = (struct configuration_view){.state = "valid"};
    engine.differs = (struct cfg_difference){.effect = effect};
    engine.commands = commands;
    engine.why = why;
}

static void report(void (*print)(const struct config_report *r, struct buf *out), struct buf *out)
{
    struct document *d = document_new(DOCUMENT_FOR_APIS, "a file", "global\n", 7, NULL, NULL, &flaw);
    ck_assert_msg(d != NULL, "%s", flaw.message);
    const struct config_target target = {.url = "http://lb1:5555", .problem = ""};
    const struct config_report r = {.what = COMMAND_CONFIG_PLAN, .document = d, .targets = &target, .count = 1};
    print(&r, out);
    document_unref(d);
}

static void print_text(const struct config_report *r, struct buf *out)
{
    struct page page;
    page_init(&page, out, false, PAGE_WIDTH_DEFAULT);
    config_print(r, &page);
}

/* What stands behind the heading. */
static void expect_text(const char *expected)
{
    cleanup(buf_fini) struct buf out = {0};
    report(print_text, &out);
    ck_assert_str_eq(strchr(buf_str(&out), '\n') + 1, expected);
}

static void expect_json(const char *effect, const char *why, const char *commands)
{
    cleanup(buf_fini) struct buf out = {0};
    report(config_print_json, &out);
    yyjson_doc *doc = yyjson_read(buf_str(&out), out.len, 0);
    yyjson_val *target = yyjson_doc_ptr_get(doc, "/targets/0");
    ck_assert_str_eq(yyjson_get_str(yyjson_obj_get(target, "effect")), effect);
    if (why != NULL)
        ck_assert_str_eq(yyjson_get_str(yyjson_obj_get(target, "reload_why")), why);
    else
        ck_assert(yyjson_is_null(yyjson_obj_get(target, "reload_why")));
    char *is = yyjson_val_write(yyjson_obj_get(target, "commands"), 0, NULL);
    ck_assert_str_eq(is, commands);
    free(is);
    yyjson_doc_free(doc);
}

TEST(nothing)
{
    says(CFG_EFFECT_NONE, "", NULL);
    expect_text("http://lb1:5555: accepted; no change\n");
    expect_json("none", NULL, "[]");
}

TEST(commands)
{
    says(CFG_EFFECT_RUNTIME, "set server b/n1 weight 5\nset server b/n2 state maint\n", NULL);
    expect_text("http://lb1:5555: accepted; no reload: by the runtime API\n"
                "    set server b/n1 weight 5\n"
                "    set server b/n2 state maint\n");
    expect_json("runtime", NULL, "[\"set server b/n1 weight 5\",\"set server b/n2 state maint\"]");
}

TEST(not_all_of_many)
{
    cleanup(buf_fini) struct buf many = {0};
    for (int i = 0; i < 21; i++)
        buf_add(&many, "x\n");
    says(CFG_EFFECT_RUNTIME, buf_str(&many), NULL);
    cleanup(buf_fini) struct buf out = {0};
    report(print_text, &out);
    const char *last = strstr(buf_str(&out), "    and more commands\n");
    ck_assert_ptr_nonnull(last);
    ck_assert_str_eq(last - strlen("    x\n"), "    x\n    and more commands\n");
}

TEST(a_reload)
{
    says(CFG_EFFECT_RUNTIME, "", "HAProxy does not answer");
    expect_text("http://lb1:5555: accepted; a reload: HAProxy does not answer\n");
    expect_json("reload", "HAProxy does not answer", "[]");
}

/* Of what is rejected nothing is foreseen; of files that are to be stored first it is. */
TEST(without_a_verdict)
{
    says(CFG_EFFECT_RUNTIME, "set server b/n1 weight 5\n", NULL);
    engine.view.state = "rejected";
    expect_text("http://lb1:5555: rejected\n");
    says(CFG_EFFECT_NONE, "", "files of the configuration change");
    engine.view = (struct configuration_view){.state = "new", .files_missing = true};
    expect_text(
        "http://lb1:5555: no verdict before its files are stored; a reload: files of the configuration change\n");
}

static struct storage_foreseen *a_file(const char *name, enum storage_effect effect)
{
    struct storage_foreseen *f = storage_foresight_add(&engine.files, STORAGE_MAP, name, STORAGE_UNCHANGED);
    f->effect = effect;
    return f;
}

static int status_of(void)
{
    struct document *d = document_new(DOCUMENT_FOR_APIS, "a file", "global\n", 7, NULL, NULL, &flaw);
    const struct config_report r = {.what = COMMAND_CONFIG_PLAN, .document = d, .count = 1};
    int status = config_status(&r);
    document_unref(d);
    return status;
}

TEST(files)
{
    says(CFG_EFFECT_NONE, "", NULL);
    a_file("a.map", STORAGE_UNCHANGED);
    a_file("b.map", STORAGE_UNCHANGED);
    expect_text("http://lb1:5555: accepted; no change\n    unchanged: maps/a.map, maps/b.map\n");
    ck_assert_int_eq(status_of(), 0);
    a_file("c.map", STORAGE_GOES);
    expect_text("http://lb1:5555: accepted; no reload\n"
                "    maps/c.map: deleted, once the configuration runs\n"
                "    unchanged: maps/a.map, maps/b.map\n");
    expect_json("none", NULL, "[]");
    ck_assert_int_eq(status_of(), 2);
    struct storage_foreseen *f = a_file("d.map", STORAGE_BY_RUNTIME);
    storage_foreseen_count(f, "a 1\nb 1\nc 1\n", "b 2\nd 1\n");
    buf_add(&f->commands, "prepare map d\ncommit map d\n");
    cleanup(buf_fini) struct buf out = {0};
    expect_text("http://lb1:5555: accepted; no reload: by the runtime API\n"
                "    maps/c.map: deleted, once the configuration runs\n"
                "    maps/d.map: no reload: by the runtime API; entries: 1 new, 2 gone, 1 changed\n"
                "        prepare map d\n"
                "        commit map d\n"
                "    unchanged: maps/a.map, maps/b.map\n");
    expect_json("runtime", NULL, "[]");
    report(config_print_json, &out);
    yyjson_doc *doc = yyjson_read(buf_str(&out), out.len, 0);
    char *is = yyjson_val_write(yyjson_doc_ptr_get(doc, "/targets/0/files/3"), 0, NULL);
    ck_assert_str_eq(is, "{\"name\":\"maps/d.map\",\"effect\":\"runtime\",\"why\":null,"
                         "\"entries\":{\"new\":1,\"gone\":2,\"changed\":1},"
                         "\"commands\":[\"prepare map d\",\"commit map d\"]}");
    free(is);
    yyjson_doc_free(doc);
    storage_foreseen_reload(f, "it is new");
    engine.why = "maps/d.map: it is new";
    expect_text("http://lb1:5555: accepted; a reload: maps/d.map: it is new\n"
                "    maps/c.map: deleted, once the configuration runs\n"
                "    maps/d.map: a reload: it is new; entries: 1 new, 2 gone, 1 changed\n"
                "    unchanged: maps/a.map, maps/b.map\n");
    storage_foresight_fini(&engine.files);
}
