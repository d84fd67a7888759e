/* src/configuration/target: what the document would cost one HAProxy, as far as is known before it is written. */
#include "target_world.h"

#include "haproxy/storage_foresight.h"

#define FILE_TEXT "backend b\n  balance roundrobin\n  server n1 10.0.0.1:80 weight 1\n"
#define HEAVIER "backend b\n  balance roundrobin\n  server n1 10.0.0.1:80 weight 2\n"
#define LIGHTER "backend b\n  balance roundrobin\n  server n1 10.0.0.1:80 weight 0\n"
#define MORE "backend b\n  balance roundrobin\n  server n1 10.0.0.1:80 weight 1\n  server n2 10.0.0.2:80\n"

/* The commands, or "a reload: why". */
static void assert_foreseen(const char *expected)
{
    struct buf is = {0};
    if (configuration_foresee(w.c, 0, &is, &flaw) != 0)
        buf_printf(&is, "a reload: %s", flaw.message);
    ck_assert_str_eq(buf_str(&is), expected);
    buf_fini(&is);
}

static void begin(void)
{
    world_begin_as(CONFIGURATION_DRIFT_REPORT, true);
    w.in.loaded = true;
    file_is(FILE_TEXT);
}

FIXTURE(begin, world_end)

TEST(it_is_what_differs_from_the_file)
{
    set_document("# a comment\n" FILE_TEXT);
    assert_foreseen("");
    set_document(HEAVIER);
    assert_foreseen("change b/n1\n");
    set_document(MORE);
    assert_foreseen("change b/n2\n");
    set_document("backend b\n  balance source\n  server n1 10.0.0.1:80 weight 2\n");
    assert_foreseen("a reload: backend b: balance");
    set_document(MORE "frontend f\n  bind :81\n");
    assert_foreseen("a reload: frontend f: new");
}

static const struct {
    bool unknown, dirty, ends_unknown, differs;
    enum reload_state reload;
    const char *why;
} others[] = {
    {.unknown = true, .why = "haproxy.cfg is not known to be what HAProxy runs"},
    {.dirty = true, .why = "haproxy.cfg was written and is not loaded yet"},
    {.ends_unknown = true, .why = "how HAProxy's last reload ended is not known"},
    {.differs = true, .why = "HAProxy runs something else than its haproxy.cfg"},
    {.reload = RELOAD_PENDING, .why = "a reload is under way"},
};

TEST_EACH(a_haproxy_that_runs_something_else_is_reloaded, array_len(others))
{
    cleanup(mem_free_ptr) char *expected = mem_printf("a reload: %s", others[_i].why);
    set_document(HEAVIER);
    assert_foreseen("change b/n1\n");
    w.in.loaded = !others[_i].unknown;
    w.in.dirty = others[_i].dirty;
    w.in.ends_unknown = others[_i].ends_unknown;
    w.in.differs = others[_i].differs;
    w.in.reload = others[_i].reload;
    assert_foreseen(expected);
    set_document(FILE_TEXT);
    assert_foreseen("");
}

/* Edited while the Data Plane API is down it has the notes of the one that ran, and nobody counted it. */
TEST(another_file_of_the_version_that_runs_is_loaded)
{
    world_anew(CONFIGURATION_DRIFT_IGNORE, false);
    set_document(FILE_TEXT);
    is_written();
    file_is(FILE_TEXT);
    ck_assert_str_eq(state(), "applied");
    w.in.loaded = true;
    file_is(LIGHTER);
    set_document(HEAVIER);
    assert_foreseen("a reload: haproxy.cfg is not known to be what HAProxy runs");
    w.in.version++;
    read_it();
    assert_foreseen("change b/n1\n");
}

/* Another writer replaced it before its load, and then put it back: what was loaded is not known. */
TEST(a_file_that_another_writer_put_back_is_loaded)
{
    for (int other = 0; other < 2; other++) {
        world_anew(CONFIGURATION_DRIFT_IGNORE, false);
        set_document(FILE_TEXT);
        is_written();
        w.in.other_wrote = other != 0;
        file_is(FILE_TEXT);
        ck_assert_str_eq(state(), "applied");
        set_document(HEAVIER);
        assert_foreseen(other != 0 ? "a reload: haproxy.cfg is not known to be what HAProxy runs" : "change b/n1\n");
    }
}

/* What the driver says of the document's file, and then of another one. */
static struct storage_foreseen *driver_says(enum storage_effect effect)
{
    struct storage_request r = {0};
    w.in.engine->ops->store(w.in.engine->self, &r);
    ck_assert_int_eq(r.part, STORAGE_CHECK);
    ck_assert_ptr_nonnull(r.foresight);
    ck_assert_str_eq(r.config->text, DOCUMENT);
    ck_assert_uint_eq(r.foresight->count, 0);
    storage_foresight_add(r.foresight, STORAGE_MAP, "a.map", STORAGE_UNCHANGED);
    struct storage_foreseen *f = storage_foresight_add(r.foresight, STORAGE_MAP, "b.map", STORAGE_UNCHANGED);
    f->effect = effect;
    return f;
}

static const struct {
    enum storage_effect effect;
    bool unknown;
    const char *foreseen;
    enum storage_effect becomes;
} with_files[] = {
    {STORAGE_UNCHANGED, false, "", STORAGE_UNCHANGED},
    {STORAGE_UNCHANGED, true, "", STORAGE_UNCHANGED},
    {STORAGE_GOES, true, "", STORAGE_GOES},
    {STORAGE_UNUSED, false, "", STORAGE_UNUSED},
    {STORAGE_UNUSED, true, "a reload: haproxy.cfg is not known to be what HAProxy runs", STORAGE_UNUSED},
    {STORAGE_BY_RUNTIME, false, "", STORAGE_BY_RUNTIME},
    {STORAGE_BY_RUNTIME, true, "a reload: haproxy.cfg is not known to be what HAProxy runs", STORAGE_BY_RELOAD},
    {STORAGE_BY_RELOAD, false, "a reload: maps/b.map: it is new", STORAGE_BY_RELOAD},
};

TEST_EACH(files, array_len(with_files))
{
    file_is(DOCUMENT);
    set_document_with_file();
    struct storage_foreseen *f = driver_says(with_files[_i].effect);
    if (f->effect == STORAGE_BY_RELOAD)
        storage_foreseen_reload(f, "it is new");
    w.in.loaded = !with_files[_i].unknown;
    assert_foreseen(with_files[_i].foreseen);
    ck_assert_int_eq(configuration_foresight(w.c, 0)->list[1].effect, with_files[_i].becomes);
}

TEST(what_haproxy_cfg_needs_goes_for_its_files)
{
    file_is("frontend f\n  bind :82\n");
    set_document_with_file();
    driver_says(STORAGE_BY_RUNTIME);
    cleanup(buf_fini) struct buf is = {0};
    ck_assert_int_eq(configuration_foresee(w.c, 0, &is, &flaw), -1);
    ck_assert_int_eq(configuration_foresight(w.c, 0)->list[1].effect, STORAGE_BY_RELOAD);
}
