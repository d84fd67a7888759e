#include "cli/template.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "json/read.h"
#include "template/fixtures.h"
#include "template/folder.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/set.h"

static const char *const titles[] = {"", "maps", "certificates", "files"};

static int template_fail(const char *dir, const struct error *err)
{
    fprintf(stderr, "error: %s: %s\n", dir, err->message);
    return EXIT_FAILURE;
}

static int template_read(const char *dir, struct template_set **ret, struct error *err)
{
    cleanup(template_folder_fini) struct template_folder folder = {0};
    if (template_folder_read(dir, &folder, err) != 0)
        return -1;
    *ret = template_set_parse(folder.files, folder.count, err);
    return *ret != NULL ? 0 : -1;
}

static int template_add_fixtures(struct objects *o, const struct template_set *set, const char *test, struct error *err)
{
    yyjson_val *of = set->tests != NULL ? yyjson_obj_get(yyjson_doc_get_root(set->tests), test) : NULL;
    yyjson_val *fixtures = yyjson_obj_get(of, "fixtures");
    return fixtures != NULL ? fixtures_add(o, set, fixtures, err) : 0;
}

static void template_print(const struct objects *objects, const struct rendered *r)
{
    for (size_t i = 0; i < r->remark_count; i++)
        fprintf(stderr, "%s %s: %s%s\n", objects_resource_kind(objects, r->remarks[i].resource), r->remarks[i].key,
                r->remarks[i].text, r->remarks[i].left_out ? " (left out)" : "");
    for (size_t i = 0; i < r->file_count; i++) {
        const struct render_file *f = &r->files[i];
        if (r->file_count > 1)
            printf("%s### %s%s%s\n", i > 0 ? "\n" : "", titles[f->kind], f->kind != ENGINE_HAPROXY_CFG ? "/" : "", f->name);
        fwrite(f->bytes, 1, f->len, stdout);
    }
}

static int template_render(const char *dir, const struct template_set *set)
{
    struct error err = {0};
    struct objects *objects = fixtures_new(set);
    cleanup(rendered_fini) struct rendered rendered = {0};
    const struct render_options options = {.set = set,
                                           .objects = objects,
                                           .folders = {"/etc/haproxy/maps/", "/etc/haproxy/ssl/", "/etc/haproxy/general/"},
                                           .timeout_ms = 10000,
                                           .memory_bytes = 512u << 20,
                                           .output_bytes = 64u << 20};
    int rc = template_add_fixtures(objects, set, "_global", &err);
    if (rc == 0)
        rc = render_now(&options, &rendered, &err);
    if (rc == 0)
        template_print(objects, &rendered);
    objects_free(objects);
    return rc == 0 ? EXIT_SUCCESS : template_fail(dir, &err);
}

int template_command(const struct command *command, char *const *environ_)
{
    struct error err = {0};
    cleanup(template_set_free_ptr) struct template_set *set = NULL;
    (void)environ_;
    if (render_unavailable()[0] != '\0') {
        fprintf(stderr, "error: %s\n", render_unavailable());
        return EXIT_FAILURE;
    }
    if (template_read(command->operand, &set, &err) != 0)
        return template_fail(command->operand, &err);
    return template_render(command->operand, set);
}
