#include "daemon/template/renders.h"

#include "haproxy/storage_files.h"
#include "template/render.h"

#include "../../test.h"

/* A render that gave this haproxy.cfg, a map, and a certificate; NULL: not. */
static void took(struct renders *r, const char *cfg, const char *map, const char *pem, bool same)
{
    struct render_file file = {.kind = ENGINE_HAPROXY_CFG, .name = NULL, .bytes = mem_strdup(cfg), .len = strlen(cfg)};
    const struct rendered rendered = {.files = &file, .file_count = 1, .took_us = 1500};
    cleanup(storage_files_fini) struct storage_files files = {0};
    if (map != NULL)
        ck_assert_int_eq(storage_files_add(&files, STORAGE_MAP, "hosts.map", map, strlen(map), &flaw), 0);
    if (pem != NULL)
        ck_assert_int_eq(storage_files_add(&files, STORAGE_GENERAL, "key.txt", pem, strlen(pem), &flaw), 0);
    renders_succeeded(r, &rendered, &files, same, true);
    free(file.bytes);
}

static const struct render_change *change_of(const struct renders_view *v, const char *name)
{
    for (size_t i = 0; i < v->change_count; i++)
        if (str_eq(v->changes[i].name, name))
            return &v->changes[i];
    return NULL;
}

TEST(what_the_last_one_changed)
{
    struct renders *r = renders_new(NULL);
    struct renders_view v = renders_view(r);
    ck_assert(v.changed_wall_ms == 0 && v.succeeded_wall_ms == 0 && v.failure == NULL);

    took(r, "global\n", "a x\nb y\n", NULL, false);
    v = renders_view(r);
    ck_assert(v.first && v.change_count == 2 && v.added == 3 && v.removed == 0 && v.files == 1 && v.took_us == 1500);
    ck_assert_str_eq(v.changes[0].kind, "haproxy.cfg");
    ck_assert_str_eq(v.changes[1].what, "new");

    took(r, "global\n", "a x\nb z\nc z\n", "k\n", false);
    v = renders_view(r);
    ck_assert(!v.first && v.change_count == 2 && v.added == 3 && v.removed == 1);
    ck_assert_ptr_null(change_of(&v, "haproxy.cfg"));
    ck_assert(change_of(&v, "hosts.map")->added == 2 && change_of(&v, "hosts.map")->removed == 1);
    ck_assert_str_eq(change_of(&v, "hosts.map")->what, "changed");
    ck_assert_str_eq(change_of(&v, "key.txt")->kind, "file");

    took(r, "global\n", "a x\nb z\nc z\n", "k\n", true); /* the same: what changed last stays */
    v = renders_view(r);
    ck_assert(v.change_count == 2 && v.changed == 2 && v.unchanged == 1);

    took(r, "global\ndefaults\n", "b z\na x\nc z\n", NULL, false);
    v = renders_view(r);
    ck_assert(v.change_count == 3 && change_of(&v, "haproxy.cfg")->added == 1);
    ck_assert(change_of(&v, "hosts.map")->added == 0 && change_of(&v, "hosts.map")->removed == 0);
    ck_assert_str_eq(change_of(&v, "key.txt")->what, "gone");
    renders_free(r);
}

TEST(a_failure_changes_nothing)
{
    struct renders *r = renders_new(NULL);
    took(r, "global\n", NULL, NULL, false);
    (void)error_set(&flaw, ERROR_INVALID, "haproxy.cfg:1:3: no");
    renders_failed(r, &flaw, true);
    renders_failed(r, &flaw, false); /* of the set: no render */
    took(r, "global\n", NULL, NULL, false);
    struct renders_view v = renders_view(r);
    ck_assert(v.failed == 1 && v.failed_wall_ms != 0 && v.first && v.change_count == 1);
    ck_assert_str_eq(v.failure, "haproxy.cfg:1:3: no");
    renders_free(r);
}

TEST(of_many_files_some_are_named)
{
    struct renders *r = renders_new(NULL);
    struct render_file file = {.kind = ENGINE_HAPROXY_CFG, .bytes = mem_strdup("global\n"), .len = 7};
    const struct rendered rendered = {.files = &file, .file_count = 1};
    cleanup(storage_files_fini) struct storage_files files = {0};
    for (unsigned i = 0; i < 2 * RENDERS_CHANGES_MAX; i++) {
        cleanup(mem_free_ptr) char *name = mem_printf("m%u.map", i);
        ck_assert_int_eq(storage_files_add(&files, STORAGE_MAP, name, "a b\n", 4, &flaw), 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        renders_succeeded(r, &rendered, &files, false, true);
        struct renders_view v = renders_view(r);
        ck_assert(v.change_count == 2 * RENDERS_CHANGES_MAX + 1 && v.added == 2 * RENDERS_CHANGES_MAX + 1);
        ck_assert_ptr_nonnull(v.changes[RENDERS_CHANGES_MAX - 1].name);
    }
    free(file.bytes);
    renders_free(r);
}
