/* A path, a line break, and the JSON that it is searched for in, and kept of and dropped from. The engine, whose filters take such paths, too,
 * knows the same ones. */
#include "base/mem.h"
#include "base/str.h"
#include "template/engine.h"
#include "template/json_path.h"
#include "template/keep.h"
#include "template/objects.h"
#include "template/set.h"
#include "fuzz.h"

static bool count(void *arg, yyjson_val *found)
{
    if (found == NULL)
        abort();
    return ++*(size_t *)arg < 1000;
}

static void keep(struct json_path *path, yyjson_val *root, bool drop)
{
    struct error err = {0};
    const struct template_paths one = {&path, 1}, none = {0};
    const struct template_watch w = {.keep = drop ? none : one, .drop = drop ? one : none};
    struct template_object *o = template_keep(&w, root, &err);
    if (o == NULL)
        return;
    yyjson_doc *kept = yyjson_read(o->json, strlen(o->json), 0);
    yyjson_val *metadata = yyjson_obj_get(yyjson_doc_get_root(kept), "metadata");
    if (!yyjson_is_str(yyjson_obj_get(metadata, "name"))) /* whatever is dropped */
        abort();
    yyjson_doc_free(kept);
    record_free(&template_object_record, o);
}

static void on_record(void *arg, const struct engine_record *record)
{
    *(bool *)arg |= record->what == ENGINE_ERROR;
}

/* Of JSON's texts, which are UTF-8 and have no NUL. */
static bool engine_takes(const yyjson_val *path)
{
    engine_prepare();
    bool failed = false;
    const struct engine_source source = {{"t", 1}, {"{{ [1]|extract(p) }}", strlen("{{ [1]|extract(p) }}")}, 0};
    const struct engine_variable variable = {{"p", 1}, path};
    const struct engine_output output = {ENGINE_HAPROXY_CFG, source.name, source.name};
    const struct engine_job job = {.sources = &source,
                                   .source_count = 1,
                                   .variables = &variable,
                                   .variable_count = 1,
                                   .outputs = &output,
                                   .output_count = 1,
                                   .arg = &failed,
                                   .emit = on_record};
    (void)engine_run_job(&job);
    return !failed;
}

/* The engine has no limits on steps and indexes, and to its filters nothing is a path, too: the value itself. */
static void compare(const char *line, bool taken)
{
    yyjson_mut_doc *made = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(made, yyjson_mut_str(made, line));
    char *json = yyjson_mut_write(made, 0, NULL);
    yyjson_mut_doc_free(made);
    yyjson_doc *doc = json != NULL ? yyjson_read(json, strlen(json), 0) : NULL;
    bool within = strlen(line) < 32 && strcspn(line, "0123456789") + 6 >= strlen(line);
    bool nothing =
        strcmp(line, "") == 0 || strcmp(line, "$") == 0 || strcmp(line, "{}") == 0 || strcmp(line, "{$}") == 0;
    if (doc != NULL && (taken || (within && !nothing)) && engine_takes(yyjson_doc_get_root(doc)) != taken)
        abort();
    yyjson_doc_free(doc);
    free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    const char *text = (const char *)data, *end = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t len = end != NULL ? (size_t)(end - text) : size, seen = 0;
    char *line = mem_strndup(text, len);
    struct json_path *path = json_path_parse(line, &err);
    if (path == NULL && (err.kind != ERROR_INVALID || err.message[0] == '\0'))
        abort();
    if (size % 4 == 0) /* the engine takes much longer than all else here */
        compare(line, path != NULL);
    yyjson_doc *doc = end != NULL ? yyjson_read(end + 1, size - len - 1, 0) : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (path != NULL && root != NULL) {
        json_path_each(path, root, count, &seen);
        if ((json_path_first(path, root) != NULL) != (seen > 0))
            abort();
        keep(path, root, false);
        keep(path, root, true);
    }
    yyjson_doc_free(doc);
    json_path_free(path);
    free(line);
    return 0;
}
