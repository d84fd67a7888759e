/*
 * How long a render takes: the template set in the folder DIR over the objects of FIXTURES (JSON: name of a watch -> objects), RUNS
 * times. Prints one line of key=value: from the fork to all of the output read; the time that the child itself ran, whatever else the
 * machine did; the bytes of the output; the most memory that a child had. OUT gets what was rendered: haproxy.cfg and all files behind it, in order.
 *
 *     render DIR FIXTURES [RUNS [OUT]]      10
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/mem.h"
#include "json/read.h"
#include "template/folder.h"
#include "template/objects.h"
#include "template/trial.h"
#include "template/render.h"

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Of all children that ended. */
static double children_ms(void)
{
    struct rusage r;
    if (getrusage(RUSAGE_CHILDREN, &r) != 0)
        return 0;
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000 +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1000;
}

static int rendered_write(const struct rendered *r, const char *path, struct error *err)
{
    FILE *out = fopen(path, "w");
    bool good = out != NULL;
    for (size_t i = 0; good && i < r->file_count; i++)
        good = fwrite(r->files[i].bytes, 1, r->files[i].len, out) == r->files[i].len;
    if (out != NULL && fclose(out) != 0)
        good = false;
    return good ? 0 : error_set(err, ERROR_INVALID, "%s: %m", path);
}

static int render_all(const struct template_set *set, struct objects *objects, unsigned runs, const char *path,
                      struct error *err)
{
    const struct render_options options = {
        .set = set,
        .objects = objects,
        .folders = {"/etc/haproxy/maps/", "/etc/haproxy/ssl/", "/etc/haproxy/general/"},
        .timeout_ms = 60000,
        .memory_bytes = 1u << 30,
        .output_bytes = 256u << 20};
    double *ms = mem_array(runs, sizeof(ms[0]));
    size_t bytes = 0, remarks = 0;
    for (unsigned i = 0; i < runs; i++) {
        cleanup(rendered_fini) struct rendered rendered = {0};
        if (render_now(&options, &rendered, err) != 0) {
            free(ms);
            return -1;
        }
        ms[i] = (double)rendered.took_us / 1000;
        bytes = 0;
        remarks = rendered.remark_count;
        for (size_t f = 0; f < rendered.file_count; f++)
            bytes += rendered.files[f].len;
        if (i == 0 && path != NULL && rendered_write(&rendered, path, err) != 0) {
            free(ms);
            return -1;
        }
    }
    qsort(ms, runs, sizeof(ms[0]), compare);
    struct rusage all = {0};
    (void)getrusage(RUSAGE_CHILDREN, &all);
    printf("runs=%u min_ms=%.1f median_ms=%.1f max_ms=%.1f cpu_ms=%.1f bytes=%zu remarks=%zu most_kib=%ld\n", runs,
           ms[0], ms[runs / 2], ms[runs - 1], children_ms() / runs, bytes, remarks, all.ru_maxrss);
    free(ms);
    return 0;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    cleanup(template_folder_fini) struct template_folder folder = {0};
    cleanup(buf_fini) struct buf json = {0};
    cleanup(json_doc_free_ptr) yyjson_doc *doc = NULL;
    unsigned runs = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 10;
    if (argc < 3 || runs == 0) {
        fprintf(stderr, "usage: render DIR FIXTURES [RUNS [OUT]]\n");
        return 2;
    }
    buf_init(&json, 1u << 30);
    if (buf_read_file(&json, argv[2]) != 0) {
        fprintf(stderr, "%s: %m\n", argv[2]);
        return 1;
    }
    struct objects *objects = NULL;
    struct template_set *set = NULL;
    int rc = template_folder_read(argv[1], &folder, &err);
    if (rc == 0)
        rc = (set = template_set_parse(folder.files, folder.count, &err)) != NULL ? 0 : -1;
    if (rc == 0)
        rc = (doc = json_parse(buf_str(&json), json.len, 0, "the fixtures", &err)) != NULL ? 0 : -1;
    if (rc == 0)
        rc = fixtures_add(objects = objects_new(set), set, yyjson_doc_get_root(doc), false, &err);
    if (rc == 0)
        rc = render_all(set, objects, runs, argc > 4 ? argv[4] : NULL, &err);
    if (rc != 0)
        fprintf(stderr, "error: %s\n", err.message);
    objects_free(objects);
    template_set_free(set);
    return rc == 0 ? 0 : 1;
}
