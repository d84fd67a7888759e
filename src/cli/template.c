#include "cli/template.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/inspect.h"
#include "cli/show.h"
#include "cli/template_internal.h"
#include "json/write.h"
#include "settings/environment.h"
#include "template/folder.h"
#include "template/haproxy_check.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/set.h"

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

void template_show(const struct template_run *r, void (*fn)(struct page *p, const void *arg), const void *arg)
{
    cleanup(buf_fini) struct buf out = {0};
    struct page page;
    show_page_init(&page, &out, stdout, r->command, r->trial.environment);
    fn(&page, arg);
    fwrite(buf_str(&out), 1, out.len, stdout);
}

char *template_file_name(const struct render_file *f)
{
    const char *folder = template_kind_folder((enum template_kind)f->kind);
    return mem_printf("%s%s%s", folder, folder[0] != '\0' ? "/" : "", f->name);
}

/* ---- render ---- */

static void template_print(const struct objects *objects, const struct rendered *r)
{
    for (size_t i = 0; i < r->remark_count; i++) {
        FILE *to = stderr;
        const struct render_remark *remark = &r->remarks[i];
        cleanup(mem_free_ptr) char *text = text_shown(remark->text, TEXT_TERMINAL, TEXT_WHOLE);
        fprintf(to, "%s %s: %s%s\n", objects_resource_kind(objects, remark->resource), remark->key, text,
                remark->left_out ? " (left out)" : "");
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
    cleanup(json_free_ptr) yyjson_mut_doc *doc = json_new(&root);
    yyjson_mut_val *files = json_put_list(doc, root, "files"), *remarks = json_put_list(doc, root, "remarks");
    for (size_t i = 0; i < r->file_count; i++) {
        yyjson_mut_val *file = json_add_object(doc, files);
        cleanup(mem_free_ptr) char *name = template_file_name(&r->files[i]);
        json_put_text(doc, file, "name", name);
        json_put_text(doc, file, "content", r->files[i].bytes);
    }
    for (size_t i = 0; i < r->remark_count; i++) {
        yyjson_mut_val *remark = json_add_object(doc, remarks);
        json_put_text(doc, remark, "kind", objects_resource_kind(objects, r->remarks[i].resource));
        json_put_text(doc, remark, "object", r->remarks[i].key);
        json_put_text(doc, remark, "text", r->remarks[i].text);
        json_put_bool(doc, remark, "left_out", r->remarks[i].left_out);
    }
    json_write(doc, true, &out);
    printf("%s\n", buf_str(&out));
}

static int template_render(const struct template_run *r)
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

/* ---- all ---- */

static int template_schema(void)
{
    cleanup(buf_fini) struct buf out = {0};
    template_set_schema(&out);
    return fputs(buf_str(&out), stdout) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int template_start(struct template_run *r)
{
    static int (*const words[])(const struct template_run *r) = {
        [COMMAND_TEMPLATE_RENDER] = template_render,       [COMMAND_TEMPLATE_TEST] = template_test,
        [COMMAND_TEMPLATE_DIFF] = template_diff,           [COMMAND_TEMPLATE_VALIDATE] = template_validate,
        [COMMAND_TEMPLATE_BENCHMARK] = template_benchmark,
    };
    const char *name = r->command->test;
    struct error err = {0};
    r->test = name != NULL ? template_set_test(r->set, name) : NULL;
    if (name == NULL || r->test != NULL)
        return words[r->command->template](r);
    cleanup(mem_free_ptr) char *known = template_set_known_tests(r->set, name);
    (void)error_set(&err, ERROR_INVALID, "there is no test %s%s", name, known);
    return template_fail(r->command->operand, &err);
}

int template_command(const struct command *command, char *const *environ_)
{
    struct error err = {0};
    if (command->template == COMMAND_TEMPLATE_SCHEMA)
        return template_schema();
    if (render_unavailable()[0] != '\0') {
        fprintf(stderr, "error: %s\n", render_unavailable());
        return EXIT_FAILURE;
    }
    cleanup(template_set_free_ptr) struct template_set *set = template_read(command->operand, &err);
    if (set == NULL)
        return template_fail(command->operand, &err);
    bool filtered = true;
    const char *seccomp = environment_get(environ_, "SECCOMP");
    cleanup(mem_free_ptr) char *haproxy = haproxy_check_program(environ_);
    if (!str_empty(seccomp) && str_parse_bool(seccomp, &filtered) != 0)
        return (void)fprintf(stderr, "error: SECCOMP: expected true or false\n"), EXIT_FAILURE;
    struct template_run run = {
        .command = command,
        .set = set,
        .trial = {.haproxy = haproxy,
                  .environment = environ_,
                  .timeout_ms = command->timeout_ms != INSPECT_TIMEOUT_MS ? command->timeout_ms : TRIAL_TIMEOUT_MS,
                  .unfiltered = !filtered}};
    int status = template_start(&run);
    return fflush(stdout) == 0 ? status : EXIT_FAILURE;
}
