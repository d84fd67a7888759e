/* What the engine asks of C: JSON values, and the objects of resources. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <yyjson.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/mem.h"
#include "haproxy/storage_files.h"
#include "model/protection.h"
#include "template/engine.h"
#include "template/objects.h"
#include "template/set.h"

/* yyjson's own functions take values that could be changed; none is here. */
static yyjson_val *engine_value(const struct yyjson_val *node)
{
    return (yyjson_val *)(uintptr_t)node;
}

void engine_node_read(const struct yyjson_val *node, struct engine_scalar *ret)
{
    yyjson_val *v = engine_value(node);
    *ret = (struct engine_scalar){.kind = ENGINE_NULL};
    if (yyjson_is_bool(v)) {
        ret->kind = ENGINE_BOOL;
        ret->truth = yyjson_get_bool(v);
    } else if (yyjson_is_uint(v)) {
        ret->kind = ENGINE_UINT;
        ret->number = yyjson_get_uint(v);
    } else if (yyjson_is_sint(v)) {
        ret->kind = ENGINE_INT;
        ret->number = (uint64_t)yyjson_get_sint(v);
    } else if (yyjson_is_real(v)) {
        ret->kind = ENGINE_REAL;
        ret->real = yyjson_get_real(v);
    } else if (yyjson_is_str(v)) {
        ret->kind = ENGINE_STRING;
        ret->text = (struct engine_text){yyjson_get_str(v), yyjson_get_len(v)};
    } else if (yyjson_is_arr(v) || yyjson_is_obj(v)) {
        ret->kind = yyjson_is_arr(v) ? ENGINE_ARRAY : ENGINE_OBJECT;
        ret->size = yyjson_is_arr(v) ? yyjson_arr_size(v) : yyjson_obj_size(v);
    }
}

const struct yyjson_val *engine_node_get(const struct yyjson_val *object, const char *key, size_t len)
{
    return yyjson_obj_getn(engine_value(object), key, len);
}

const struct yyjson_val *engine_node_at(const struct yyjson_val *array, size_t index)
{
    return yyjson_arr_get(engine_value(array), index);
}

const struct yyjson_val *engine_node_first(const struct yyjson_val *container)
{
    return unsafe_yyjson_get_first(engine_value(container));
}

const struct yyjson_val *engine_node_next(const struct yyjson_val *element, bool is_key)
{
    return unsafe_yyjson_get_next(engine_value(element) + is_key);
}

/* ---- resources ---- */

bool engine_resource_name(const struct objects *all, size_t resource, struct engine_text *ret)
{
    if (resource >= objects_resource_count(all))
        return false;
    const char *name = objects_watch(all, resource)->name;
    *ret = (struct engine_text){name, strlen(name)};
    return true;
}

size_t engine_resource_fetch(struct objects *all, size_t resource, const struct engine_text *keys, size_t count,
                             const struct yyjson_val *const **ret)
{
    cleanup(buf_fini) struct buf all_keys = {0};
    for (size_t i = 0; i < count; i++) { /* as far as C sees them */
        buf_addn(&all_keys, keys[i].bytes, strnlen(keys[i].bytes, keys[i].len));
        buf_addn(&all_keys, "", 1);
    }
    return objects_fetch(all, resource, buf_str(&all_keys), all_keys.len, ret);
}

size_t engine_resource_keys(const struct objects *all, size_t resource)
{
    return objects_watch(all, resource)->index_by.count;
}

void *engine_base64_decode(struct engine_text text, size_t *ret_len)
{
    cleanup(mem_free_ptr) char *copy = mem_strndup(text.bytes, text.len);
    return base64_decode(copy, ret_len);
}

/* A kind of the engine's is one of the storage's. */
_Static_assert(STORAGE_MAP == 0 && STORAGE_CERTIFICATE == 1 && STORAGE_GENERAL == 2, "as src/lib.rs counts them");

char *engine_stored_name(int kind, struct engine_text name)
{
    cleanup(mem_free_ptr) char *copy = mem_strndup(name.bytes, name.len);
    return storage_stored_name((enum storage_kind)kind, copy);
}

char *engine_file_problem(struct storage_known *known, int kind, struct engine_text name, struct engine_text bytes,
                          int *ret_place)
{
    cleanup(storage_files_fini) struct storage_files files = {0};
    cleanup(mem_free_ptr) char *copy = mem_strndup(name.bytes, name.len);
    struct error err = {0};
    if (storage_files_add_known(&files, known, (enum storage_kind)kind, copy, bytes.bytes, bytes.len, &err) != 0)
        return mem_strdup(err.message);
    *ret_place = (int)files.list[0].place;
    return NULL;
}

bool engine_protects(struct engine_text name, struct engine_text value)
{
    cleanup(mem_free_ptr) char *of = mem_strndup(name.bytes, name.len), *is = mem_strndup(value.bytes, value.len);
    return asks_for_protection(of, is);
}

#define HUGE_BYTES ((size_t)2 << 20)

/* In huge pages, where they are allowed: the kernel is asked for memory less often. */
void *engine_piece(size_t bytes)
{
    char *whole =
        mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (whole == MAP_FAILED)
        return NULL;
    char *aligned = whole + (HUGE_BYTES - (uintptr_t)whole % HUGE_BYTES) % HUGE_BYTES;
    (void)madvise(aligned, bytes, MADV_HUGEPAGE);
    return aligned;
}

void engine_prepare(void)
{
    int place;
    free(engine_file_problem(NULL, 1, (struct engine_text){"a.pem", 5}, (struct engine_text){"-", 1}, &place));
}

/* ---- builds without the engine say so where a template is asked for ---- */

#ifdef WITHOUT_TEMPLATES

const char *engine_unavailable(void)
{
    return "this build has no templates: it was made with TEMPLATES=no, or where there was no cargo";
}

int engine_run_job(const struct engine_job *job)
{
    const char *why = engine_unavailable();
    const struct engine_record record = {.what = ENGINE_ERROR, .text = {why, strlen(why)}};
    job->emit(job->arg, &record);
    return -1;
}

#else

const char *engine_unavailable(void)
{
    return "";
}

#endif
