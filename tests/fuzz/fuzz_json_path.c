/* A path, a line break, and the JSON that it is looked for in, and kept of and dropped from. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "template/json_path.h"
#include "template/keep.h"
#include "template/objects.h"
#include "template/set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    const char *text = (const char *)data, *end = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t len = end != NULL ? (size_t)(end - text) : size, seen = 0;
    char *line = mem_strndup(text, len);
    struct json_path *path = json_path_parse(line, &err);
    if (path == NULL && (err.kind != ERROR_INVALID || err.message[0] == '\0'))
        abort();
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
