/* Files beside a haproxy.cfg, as a Data Plane API stores them and HAProxy has them: a map, and one that takes a reload. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/storage_files.h"
#include "world.h"

#define MAP "hosts.map"
#define PAGE "page.http"

/* ---- of the document ---- */

bool whole_map_is_small(const struct whole_text *t)
{
    return t->map % 2 == 0;
}

static char *map_of(const struct whole_text *t)
{
    struct buf out = {0};
    if (!whole_map_is_small(t))
        buf_printf(&out, "l %04200d\nm %04200d\n", 0, 0);
    for (unsigned i = 0; i <= t->map % 3; i++)
        buf_printf(&out, "host%u value%u\n", i, t->map);
    return buf_take(&out);
}

void whole_files_of(const struct world *w, struct storage_files *ret)
{
    const struct whole_text *t = &w->whole.document;
    struct error err = {0};
    cleanup(mem_free_ptr) char *map = map_of(t), *page = mem_printf("page %u\n", t->page);
    if (storage_files_add(ret, STORAGE_MAP, MAP, map, strlen(map), &err) != 0 ||
        storage_files_add(ret, STORAGE_GENERAL, PAGE, page, strlen(page), &err) != 0)
        violate((struct world *)(uintptr_t)w, "document", "%s", err.message);
}

/* ---- what is there ---- */

static struct whole_file *find(struct api *a, const char *place, const char *name)
{
    for (size_t i = 0; i < WHOLE_FILES_MAX; i++) {
        struct whole_file *f = &a->whole.files[i];
        if (f->bytes != NULL && strcmp(f->place, place) == 0 && str_eq(f->name, name))
            return f;
    }
    return NULL;
}

static void put(struct api *a, const char *place, const char *name, const char *bytes, size_t len)
{
    struct whole_file *f = find(a, place, name);
    for (size_t i = 0; f == NULL && i < WHOLE_FILES_MAX; i++)
        f = a->whole.files[i].bytes == NULL ? &a->whole.files[i] : NULL;
    if (f == NULL)
        violate(a->world, "room", "more files are stored than the model has room for");
    snprintf(f->place, sizeof(f->place), "%s", place);
    snprintf(f->name, sizeof(f->name), "%s", name);
    free(f->bytes);
    f->bytes = mem_strndup(bytes, len);
}

void whole_files_load(struct api *a)
{
    for (size_t i = 0; i < WHOLE_FILES_MAX; i++) {
        struct whole_file *f = &a->whole.files[i];
        free(f->runs);
        f->runs = mem_strdup(f->bytes);
    }
}

void whole_files_free(struct api *a)
{
    for (size_t i = 0; i < WHOLE_FILES_MAX; i++) {
        free(a->whole.files[i].bytes);
        free(a->whole.files[i].runs);
    }
}

void whole_files_difference(struct api *a, const struct storage_files *wanted, struct buf *why)
{
    for (size_t i = 0; i < wanted->count && why->len == 0; i++) {
        const struct storage_file *want = &wanted->list[i];
        const struct whole_file *is = find(a, want->place == STORAGE_MAP ? "maps" : "general", want->stored);
        if (is == NULL || !str_eq(is->bytes, want->bytes))
            buf_printf(why, "%s is not stored as the document has it", want->stored);
        else if (!str_eq(is->runs, want->bytes))
            buf_printf(why, "HAProxy has another %s", want->stored);
    }
}

void whole_files_unloaded(const struct api *a, struct buf *why)
{
    for (size_t i = 0; i < WHOLE_FILES_MAX && why->len == 0; i++) {
        const struct whole_file *f = &a->whole.files[i];
        bool uses = storage_is_named(a->whole.loaded, f->name);
        if (uses && f->bytes != NULL && f->runs != NULL && strcmp(f->runs, f->bytes) != 0)
            buf_printf(why, "HAProxy has another %s than is stored", f->name);
    }
}

/* ---- requests ---- */

static void say(struct request *r, int status)
{
    r->reply.status = status;
    buf_clear(&r->reply.body);
    if (status >= 400)
        buf_printf(&r->reply.body, "{\"code\":%d,\"message\":\"by the storage\"}", status);
}

static void list(struct api *a, struct request *r, const char *place)
{
    const char *between = "";
    say(r, 200);
    buf_add(&r->reply.body, "[");
    for (size_t i = 0; i < WHOLE_FILES_MAX; i++) {
        const struct whole_file *f = &a->whole.files[i];
        if (f->bytes == NULL || strcmp(f->place, place) != 0)
            continue;
        buf_printf(&r->reply.body, "%s{\"storage_name\":\"%s\"}", between, f->name);
        between = ",";
    }
    buf_add(&r->reply.body, "]");
}

/* A form of one file, or the bytes alone. */
static void store(struct api *a, struct request *r, const char *place, const char *name)
{
    const char *body = r->json != NULL ? r->json : "", *form = strstr(body, "filename=\"");
    if (form == NULL) {
        put(a, place, name, body, strlen(body));
        return;
    }
    cleanup(mem_free_ptr) char *of = mem_strndup(form + 10, strcspn(form + 10, "\""));
    const char *begin = strstr(form, "\r\n\r\n"), *end = begin != NULL ? strstr(begin + 4, "\r\n--") : NULL;
    if (end == NULL)
        violate(a->world, "known-request", "%s: a form without an end", a->url);
    put(a, place, of, begin + 4, (size_t)(end - begin) - 4);
}

void whole_storage(struct api *a, struct request *r, const char *place, const char *name)
{
    struct whole_file *f = find(a, place, name);
    a->whole.files_left =
        a->whole.files_left || r->life != a->world->life; /* an earlier daemon's: nobody asks for it again */
    if (str_eq(r->method, "GET") && name == NULL) {
        list(a, r, place);
    } else if (str_eq(r->method, "GET")) {
        say(r, f != NULL ? 200 : 404);
        if (f != NULL)
            buf_add(&r->reply.body, f->bytes);
    } else if (str_eq(r->method, "POST")) {
        store(a, r, place, NULL);
        say(r, 201);
    } else if (f == NULL) {
        say(r, 404);
    } else if (str_eq(r->method, "PUT")) {
        store(a, r, place, name);
        say(r, 204);
    } else if (storage_is_named(a->local.text, name)) {
        say(r, 409);
    } else {
        free(f->bytes);
        f->bytes = NULL;
        say(r, 204);
    }
}

/* ---- the map that runs ---- */

#define BLOCK 8192 /* so many bytes replace what is there; fewer are appended */

/* An API that does not know which HAProxy it has appends the first of them in any case. */
static char *entries_of(struct api *a, const char *json, const char *there)
{
    bool appends = a == &a->world->apis[1];
    struct buf out = {0}, first = {0};
    size_t bytes = 0;
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    yyjson_arr_iter iter = yyjson_arr_iter_with(yyjson_doc_get_root(doc));
    for (yyjson_val *v; (v = yyjson_arr_iter_next(&iter)) != NULL;) {
        const char *key = yyjson_get_str(yyjson_obj_get(v, "key")), *value = yyjson_get_str(yyjson_obj_get(v, "value"));
        if (key == NULL || value == NULL)
            violate(a->world, "known-request", "%s: an entry of a map without key or value", a->url);
        buf_printf(&out, "%s %s\n", key, value + strspn(value, " "));
        if (bytes == 0)
            buf_add(&first, buf_str(&out));
        bytes += strlen(key) + strlen(value) + 2;
    }
    yyjson_doc_free(doc);
    bool replaces = bytes > BLOCK && !appends;
    char *ret = mem_join(replaces ? "" : there, bytes > BLOCK && appends ? buf_str(&first) : buf_str(&out));
    buf_fini(&out);
    buf_fini(&first);
    return ret;
}

/* The id of an entry is what it says. */
static void id_of(const char *line, struct buf *ret)
{
    buf_add(ret, "0x");
    for (; *line != '\0' && *line != '\n'; line++)
        buf_printf(ret, "%02x", (unsigned)*line);
}

static void show_entries(const char *map, struct buf *out)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(map);
    const char *between = "";
    buf_add(out, "[");
    for (char *rest = copy, *line; (line = strsep(&rest, "\n")) != NULL && *line != '\0'; between = ",") {
        buf_printf(out, "%s{\"id\":\"", between);
        id_of(line, out);
        const char *key = strsep(&line, " ");
        buf_printf(out, "\",\"key\":\"%s\",\"value\":\"%s\"}", key, line);
    }
    buf_add(out, "]");
}

/* False: it is not there. */
static bool delete_entry(char *map, const char *id)
{
    for (char *line = map; *line != '\0'; line = strchr(line, '\n') + 1) {
        cleanup(buf_fini) struct buf is = {0};
        char *next = strchr(line, '\n') + 1;
        id_of(line, &is);
        if (!str_eq(buf_str(&is), id))
            continue;
        memmove(line, next, strlen(next) + 1);
        return true;
    }
    return false;
}

void whole_runtime_map(struct api *a, struct request *r, const char *name, const char *id)
{
    struct whole_file *f = find(a, "maps", name);
    bool deletes = str_eq(r->method, "DELETE"), changes = deletes || r->json != NULL;
    if (f == NULL || f->runs == NULL || a->haproxy_back_us != 0 || (a->whole.refuse_actions == 1 && changes)) {
        a->whole.refuse_actions -= a->whole.refuse_actions > 0;
        say(r, f == NULL || f->runs == NULL ? 404 : 500);
        return;
    }
    say(r, 200);
    if (deletes && (id == NULL || !str_has_prefix(id, "%23")))
        violate(a->world, "known-request", "%s: DELETE of an entry without its id", a->url);
    if (!changes) {
        show_entries(f->runs, &r->reply.body);
    } else if (!r->deaf && deletes) {
        if (!delete_entry(f->runs, id + strlen("%23")))
            say(r, 404);
    } else if (!r->deaf) {
        char *runs = entries_of(a, r->json, f->runs);
        free(f->runs);
        f->runs = runs;
    }
}
