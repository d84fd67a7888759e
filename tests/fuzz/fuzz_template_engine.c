/*
 * Any template over any JSON: options, the template, a NUL, the JSON, which it sees as `v`, and, as far as it has such objects, as
 * `resources.r` and `resources.s`. Whatever it is: it ends by its fuel; an error's line is one of the template's, and what is given as this
 * line is that; what is left out is one of the objects.
 */
#include <yyjson.h>

#include "base/mem.h"
#include "base/str.h"
#include "template/engine.h"
#include "template/objects.h"
#include "template/set.h"
#include "template/trial.h"
#include "fuzz.h"

#define FUEL 20000u
#define SET                                                                           \
    "haproxy.cfg: x\n"                                                                \
    "watch:\n"                                                                        \
    "  r: {apiVersion: v1, kind: R, index_by: [metadata.namespace, metadata.name]}\n" \
    "  s: {apiVersion: v1, kind: S, index_by: ['spec.hosts[*]'], keep: [spec]}\n"

/* Of the sanitizer: a template can make values that hold each other, which the engine counts and so never frees; a render's process
 * ends with them. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

/* Whether this is line n, from 1, of the text. */
static bool is_line(const struct engine_text *text, uint64_t n, const struct engine_text *line)
{
    const char *at = text->bytes, *end = at + text->len;
    for (; n > 1; n--) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        if (next == NULL)
            return false;
        at = next + 1;
    }
    return line->len <= (size_t)(end - at) && memcmp(at, line->bytes, line->len) == 0;
}

struct world {
    struct engine_text template;
    struct objects *objects;
};

static void on_record(void *arg, const struct engine_record *record)
{
    const struct world *w = arg;
    const struct engine_text *template = &w->template;
    size_t resource;
    const char *key;
    if (record->what == ENGINE_WARNING || (record->what == ENGINE_ERROR && record->object != NULL))
        check(objects_find(w->objects, record->object, &resource, &key) && resource < 2 && key[0] != '\0');
    if (record->what != ENGINE_ERROR)
        return;
    check(record->text.len > 0);
    /* A panic has no place; a template could say the same. */
    check(record->line > 0 ||
          memmem(record->text.bytes, record->text.len, "please report", strlen("please report")) == NULL);
    if (record->source_line.len > 0)
        check(is_line(template, record->line, &record->source_line));
    if (record->column > 1)
        check(record->column <= template->len + 1);
}

static bool is_utf8(const char *text, size_t len)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(doc, yyjson_mut_strn(doc, text, len));
    char *json = yyjson_mut_write(doc, 0, NULL);
    yyjson_mut_doc_free(doc);
    bool good = json != NULL;
    free(json);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    engine_prepare();
    const char *from = (const char *)data + 1, *nul = memchr(from, '\0', size - 1);
    struct engine_text template = {from, nul != NULL ? (size_t)(nul - from) : size - 1};
    if (!is_utf8(template.bytes, template.len))
        return 0;
    yyjson_doc *doc = nul != NULL ? yyjson_read(nul + 1, size - 2 - template.len, 0) : NULL;
    struct error err = {0};
    const struct template_file file = {TEMPLATE_SET_FILE, SET, strlen(SET)};
    struct template_set *set = template_set_parse(&file, 1, &err);
    check(set != NULL);
    struct world world = {template, objects_new(set)};
    if (yyjson_is_obj(yyjson_doc_get_root(doc)) &&
        fixtures_add(world.objects, set, yyjson_doc_get_root(doc), true, &err) != 0)
        check(err.kind == ERROR_INVALID);
    const struct engine_source source = {{"haproxy.cfg", strlen("haproxy.cfg")}, template, 0};
    const struct engine_variable variable = {{"v", 1}, yyjson_doc_get_root(doc)};
    const struct engine_output output = {ENGINE_HAPROXY_CFG, source.name, source.name};
    const struct engine_job job = {.lenient = data[0] & 1,
                                   .keep_newline = data[0] & 2,
                                   .trim_blocks = data[0] & 4,
                                   .fuel = FUEL,
                                   .sources = &source,
                                   .source_count = 1,
                                   .variables = &variable,
                                   .variable_count = 1,
                                   .outputs = &output,
                                   .output_count = 1,
                                   .folders = {{"/m/", 3}, {"/c/", 3}, {"/f/", 3}},
                                   .objects = world.objects,
                                   .arg = &world,
                                   .emit = on_record};
    (void)engine_run_job(&job);
    objects_free(world.objects);
    template_set_free(set);
    yyjson_doc_free(doc);
    return 0;
}
