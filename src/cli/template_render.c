/* template render, template benchmark; and what all words of `template` share. */
#include "cli/template.h"

#include <stdlib.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/text.h"
#include "json/write.h"
#include "model/cache.h"
#include "template/folder.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/set.h"

#define RENDERS 20 /* of a benchmark, by default */

int template_fail(const char *dir, const struct error *err)
{
    fflush(stdout); /* in their order where both go to one place */
    fprintf(stderr, "error: %s: %s\n", dir, err->message);
    return EXIT_FAILURE;
}

struct template_set *template_read(const char *dir, struct error *err)
{
    cleanup(template_folder_fini) struct template_folder folder = {0};
    if (template_folder_read(dir, &folder, err) != 0)
        return NULL;
    return template_set_parse(folder.files, folder.count, err);
}

bool template_next(const struct template_run *r, size_t *at, const struct template_test **ret)
{
    bool alone = r->test != NULL || r->set->test_count == 0;
    while (*at < (alone ? 1 : r->set->test_count)) {
        *ret = alone ? r->test : &r->set->tests[*at];
        (*at)++;
        if (alone || trial_is_rendered(*ret))
            return true;
    }
    return false;
}

char *template_file_name(const struct render_file *f)
{
    const char *folder = template_kind_folder((enum template_kind)f->kind);
    return mem_printf("%s%s%s", folder, folder[0] != '\0' ? "/" : "", f->name);
}

/* ---- render */

static void template_print(const struct objects *objects, const struct rendered *r)
{
    for (size_t i = 0; i < r->remark_count; i++) {
        const struct render_remark *remark = &r->remarks[i];
        cleanup(mem_free_ptr) char *text = text_shown(remark->text, TEXT_TERMINAL, TEXT_WHOLE);
        fprintf(stderr, "%s %s: %s%s\n", template_watch_kind(objects_watch(objects, remark->resource)), remark->key,
                text, remark->left_out ? " (left out)" : "");
    }
    for (size_t i = 0; i < r->file_count; i++) {
        cleanup(mem_free_ptr) char *name = template_file_name(&r->files[i]);
        if (r->file_count > 1)
            printf("%s### %s\n", i > 0 ? "\n" : "", name);
        fwrite(r->files[i].bytes, 1, r->files[i].len, stdout);
    }
}

static void template_print_json(const struct objects *objects, const struct rendered *r)
{
    cleanup(buf_fini) struct buf out = {0};
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    yyjson_mut_val *files = json_put_list(doc, root, "files"), *remarks = json_put_list(doc, root, "remarks");
    for (size_t i = 0; i < r->file_count; i++) {
        yyjson_mut_val *file = json_add_object(doc, files);
        cleanup(mem_free_ptr) char *name = template_file_name(&r->files[i]);
        json_fields(doc, file, json_str("name", name), json_str("content", r->files[i].bytes));
    }
    for (size_t i = 0; i < r->remark_count; i++) {
        json_fields(doc, json_add_object(doc, remarks),
                    json_str("kind", template_watch_kind(objects_watch(objects, r->remarks[i].resource))),
                    json_str("object", r->remarks[i].key), json_str("text", r->remarks[i].text),
                    json_bool("left_out", r->remarks[i].left_out));
    }
    json_print(doc, &out);
    fputs(buf_str(&out), stdout);
}

int template_render(const struct template_run *r)
{
    struct error err = {0};
    cleanup(rendered_fini) struct rendered rendered = {0};
    struct objects *objects = trial_objects(r->set, r->set, r->test, false, &err);
    int rc = objects != NULL ? trial_render(r->set, objects, &r->trial, &rendered, &err) : -1;
    if (rc == 0)
        (r->command->json ? template_print_json : template_print)(objects, &rendered);
    objects_free(objects);
    return rc == 0 ? EXIT_SUCCESS : template_fail(r->command->operand, &err);
}

/* ---- benchmark: how long renders of a set take over the fixtures of its tests */

struct figures {
    uint64_t *took_us; /* in order */
    size_t count, objects, bytes;
};

static int figures_order(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int figures_take(const struct template_run *r, const struct template_test *test, struct figures *f,
                        struct error *err)
{
    struct objects *objects = trial_objects(r->set, r->set, test, false, err);
    int rc = objects != NULL ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < objects_resource_count(objects); i++)
        f->objects += cache_count(objects_cache(objects, i));
    for (size_t i = 0; rc == 0 && i < f->count; i++) {
        cleanup(rendered_fini) struct rendered rendered = {0};
        rc = trial_render(r->set, objects, &r->trial, &rendered, err);
        f->took_us[i] = rendered.took_us;
        f->bytes = 0;
        for (size_t k = 0; k < rendered.file_count; k++)
            f->bytes += rendered.files[k].len;
    }
    objects_free(objects);
    if (rc == 0)
        qsort(f->took_us, f->count, sizeof(f->took_us[0]), figures_order);
    return rc;
}

/* The least that so many of a hundred do not pass. */
static double figures_ms(const struct figures *f, size_t percent)
{
    size_t rank = (f->count * percent + 99) / 100;
    return (double)f->took_us[rank > 0 ? rank - 1 : 0] / 1000;
}

int template_benchmark(const struct template_run *r)
{
    const struct template_test *test;
    uint64_t count = r->command->count > 0 ? r->command->count : RENDERS;
    cleanup(mem_free_ptr) uint64_t *took_us = mem_array(count, sizeof(took_us[0]));
    for (size_t at = 0; template_next(r, &at, &test);) {
        struct figures f = {.took_us = took_us, .count = count};
        const char *name = test != NULL ? test->name : NULL;
        struct error err = {0};
        if (figures_take(r, test, &f, &err) != 0)
            return template_fail(r->command->operand, &err);
        if (r->command->json) {
            cleanup(buf_fini) struct buf out = {0};
            yyjson_mut_val *root;
            cleanup(json_free_ptr) yyjson_mut_doc *doc = json_new(&root);
            json_fields(doc, root, json_str("test", name), json_uint("renders", f.count),
                        json_uint("objects", f.objects), json_uint("bytes", f.bytes));
            json_put(doc, root, "p50_ms", yyjson_mut_real(doc, figures_ms(&f, 50)));
            json_put(doc, root, "p95_ms", yyjson_mut_real(doc, figures_ms(&f, 95)));
            json_write(doc, false, &out);
            printf("%s\n", buf_str(&out));
        } else {
            printf("%s: %zu renders of %zu objects to %zu bytes: p50 %.1f ms, p95 %.1f ms\n",
                   name != NULL ? name : "without a test's fixtures", f.count, f.objects, f.bytes, figures_ms(&f, 50),
                   figures_ms(&f, 95));
        }
    }
    return EXIT_SUCCESS;
}
