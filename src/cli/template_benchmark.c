/* template benchmark: how long renders of a set take over the fixtures of its tests. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cli/template_internal.h"
#include "json/write.h"
#include "model/cache.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/set.h"

#define COUNT 20

struct figures {
    const char *test;  /* NULL: without one */
    uint64_t *took_us; /* in order */
    size_t count, objects, bytes;
};

static int order_of_times(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The least that so many of a hundred do not pass. */
static double figures_ms(const struct figures *f, size_t percent)
{
    size_t rank = (f->count * percent + 99) / 100;
    return (double)f->took_us[rank > 0 ? rank - 1 : 0] / 1000;
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
        qsort(f->took_us, f->count, sizeof(f->took_us[0]), order_of_times);
    return rc;
}

static void figures_print_json(const struct figures *f)
{
    cleanup(buf_fini) struct buf out = {0};
    yyjson_mut_val *root;
    cleanup(json_free_ptr) yyjson_mut_doc *doc = json_new(&root);
    json_put_text(doc, root, "test", f->test);
    json_put_count(doc, root, "renders", f->count);
    json_put_count(doc, root, "objects", f->objects);
    json_put_count(doc, root, "bytes", f->bytes);
    json_put(doc, root, "p50_ms", yyjson_mut_real(doc, figures_ms(f, 50)));
    json_put(doc, root, "p95_ms", yyjson_mut_real(doc, figures_ms(f, 95)));
    json_write(doc, false, &out);
    printf("%s\n", buf_str(&out));
}

int template_benchmark(const struct template_run *r)
{
    bool alone = r->test != NULL || r->set->test_count == 0;
    uint64_t count = r->command->count > 0 ? r->command->count : COUNT;
    for (size_t i = 0; i < (alone ? 1 : r->set->test_count); i++) {
        const struct template_test *test = alone ? r->test : &r->set->tests[i];
        cleanup(mem_free_ptr) uint64_t *took_us = mem_array(count, sizeof(took_us[0]));
        struct figures f = {.test = test != NULL ? test->name : NULL, .took_us = took_us, .count = count};
        struct error err = {0};
        if (!trial_is_rendered(test) && r->test == NULL)
            continue;
        if (figures_take(r, test, &f, &err) != 0)
            return template_fail(r->command->operand, &err);
        if (r->command->json)
            figures_print_json(&f);
        else
            printf("%s: %zu renders of %zu objects to %zu bytes: p50 %.1f ms, p95 %.1f ms\n",
                   f.test != NULL ? f.test : "without a test's fixtures", f.count, f.objects, f.bytes,
                   figures_ms(&f, 50), figures_ms(&f, 95));
    }
    return EXIT_SUCCESS;
}
