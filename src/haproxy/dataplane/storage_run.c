#include "haproxy/dataplane/storage_run.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/map_payload.h"
#include "haproxy/dataplane/transaction_verdict.h"
#include "haproxy/storage_files.h"
#include "haproxy/storage_list.h"
#include "json/read.h"
#include "net/pem.h"

void storage_run_init(struct storage_run *r)
{
    *r = (struct storage_run){.state = STORAGE_RUN_IDLE};
    buf_init_secret(&r->body, 0);
}

void storage_run_fini(struct storage_run *r)
{
    map_entries_fini(&r->entries);
    buf_fini(&r->path);
    buf_fini(&r->body);
    free(r->place);
    storage_run_init(r);
}

/* Where the API gets it. A certificate is stored once more. */
static void storage_run_path(const struct storage_file *f, struct buf *ret)
{
    if (f->place == STORAGE_MAP)
        buf_printf(ret, "/runtime/maps/%s", f->stored);
    else
        buf_printf(ret, "/storage/%s/%s", storage_place_name(STORAGE_CERTIFICATE), f->stored);
}

void storage_run_print(const struct storage_file *f, struct buf *ret)
{
    buf_add(ret, "PUT " DATAPLANE_API);
    storage_run_path(f, ret);
    buf_add(ret, "\n");
}

static struct storage_action storage_run_send(struct storage_run *r, enum storage_run_state state)
{
    const struct storage_file *f = r->file;
    bool map = f->place == STORAGE_MAP;
    r->state = state;
    buf_clear(&r->path);
    if (state == STORAGE_RUN_LOOK || state == STORAGE_RUN_READ)
        buf_add(&r->path, r->place);
    else
        storage_run_path(f, &r->path);
    if (state != STORAGE_RUN_TELL)
        return (struct storage_action){.send = true, .method = "GET", .path = buf_str(&r->path)};
    return (struct storage_action){.send = true,
                                   .method = "PUT",
                                   .path = buf_str(&r->path),
                                   .type = map ? NULL : "text/plain",
                                   .body = map ? buf_str(&r->body) : f->bytes,
                                   .body_len = map ? r->body.len : f->len};
}

static struct storage_action storage_run_done(struct storage_run *r)
{
    struct error why = r->why;
    storage_run_fini(r);
    r->why = why;
    return (struct storage_action){0};
}

static struct storage_action storage_run_refuse(struct storage_run *r, const char *why)
{
    (void)error_set(&r->why, ERROR_INVALID, "%s", why);
    return storage_run_done(r);
}

/* ---- a map ---- */

static int storage_run_compare_map(const struct storage_run *r, const struct dataplane_answer *a, struct error *err)
{
    static const char what[] = "the list of map entries";
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(a->body, a->body_len, 0, what, err);
    cleanup(map_entries_fini) struct map_entries is = {0};
    yyjson_val *root, *val;
    if (json_list_of(doc, what, &root, err) != 0)
        return -1;
    yyjson_arr_iter iter = yyjson_arr_iter_with(root);
    while ((val = yyjson_arr_iter_next(&iter)) != NULL) {
        struct map_entry e;
        if (json_is_object(val, "an entry", err) != 0 || json_get_string(val, "key", &e.key, err) != 0 ||
            json_get_string(val, "value", &e.value, err) != 0)
            return -1;
        e.key_len = strlen(e.key);
        e.value_len = strlen(e.value);
        map_entries_add(&is, &e);
    }
    if (!map_entries_same(&is, &r->entries))
        return error_set(err, ERROR_INVALID, "HAProxy has other entries (%zu, not %zu, or others)", is.count,
                         r->entries.count);
    return 0;
}

/* ---- a certificate ---- */

static struct storage_action storage_run_found(struct storage_run *r, const struct dataplane_answer *a)
{
    static const char what[] = "the certificate";
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(a->body, a->body_len, 0, what, &r->why);
    const char *file;
    yyjson_val *root;
    if (json_object_of(doc, what, &root, &r->why) != 0 || json_need_string(root, "file", &file, &r->why) != 0)
        return storage_run_done(r);
    cleanup(mem_free_ptr) char *name = str_url_encode(file);
    r->place = mem_printf("/runtime/ssl_certs/%s", name);
    return storage_run_send(r, STORAGE_RUN_LOOK);
}

static int storage_run_compare_certificate(const struct storage_run *r, const struct dataplane_answer *a,
                                           struct error *err)
{
    static const char what[] = "the certificate that runs";
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(a->body, a->body_len, 0, what, err);
    const char *sha1;
    yyjson_val *root;
    if (json_object_of(doc, what, &root, err) != 0 || json_need_string(root, "sha1_finger_print", &sha1, err) != 0)
        return -1;
    const struct pem_identity own = pem_identify(r->file->bytes);
    return strcasecmp(own.sha1, sha1) == 0 ? 0 : error_set(err, ERROR_INVALID, "HAProxy shows another certificate");
}

/* ---- any ---- */

int storage_run_check(struct storage_run *r, const struct storage_file *f, struct error *err)
{
    if (f->place == STORAGE_GENERAL)
        return error_set(err, ERROR_INVALID, "HAProxy reads it when it starts");
    if (f->place == STORAGE_CERTIFICATE)
        return 0;
    map_entries_read(&r->entries, f->bytes);
    int status = map_payload_print(&r->entries, &r->body, err);
    storage_run_fini(r);
    return status;
}

struct storage_action storage_run_start(struct storage_run *r, const struct storage_file *f, bool asks)
{
    storage_run_fini(r);
    r->file = f;
    r->asks = asks;
    if (f->place != STORAGE_MAP)
        return storage_run_send(r, STORAGE_RUN_FIND);
    r->place = mem_printf("/runtime/maps/%s/entries", f->stored);
    if (asks)
        return storage_run_send(r, STORAGE_RUN_LOOK);
    map_entries_read(&r->entries, f->bytes);
    if (map_payload_print(&r->entries, &r->body, &r->why) != 0)
        return storage_run_done(r);
    return storage_run_send(r, STORAGE_RUN_TELL);
}

static struct storage_action storage_run_failed(struct storage_run *r, const struct dataplane_answer *a)
{
    static const char *const doing[] = {[STORAGE_RUN_FIND] = "finding it",
                                        [STORAGE_RUN_TELL] = "updating HAProxy",
                                        [STORAGE_RUN_READ] = "reading what HAProxy has"};
    if (r->state == STORAGE_RUN_LOOK && transaction_is_gone(a))
        return storage_run_refuse(r, r->file->place == STORAGE_MAP
                                         ? "HAProxy has none by its path"
                                         : "HAProxy has none by its path, or this Data Plane API is older than 3.2");
    transaction_explain(&r->why, a, r->state == STORAGE_RUN_LOOK ? "reading what HAProxy has" : doing[r->state], NULL);
    return storage_run_done(r);
}

struct storage_action storage_run_answer(struct storage_run *r, const struct dataplane_answer *a)
{
    if (!transaction_is_success(a) || a->version < 0)
        return storage_run_failed(r, a);
    switch (r->state) {
    case STORAGE_RUN_FIND:
        return storage_run_found(r, a);
    case STORAGE_RUN_LOOK:
        return r->asks ? storage_run_done(r) : storage_run_send(r, STORAGE_RUN_TELL);
    case STORAGE_RUN_TELL:
        return a->reload_id == NULL ? storage_run_send(r, STORAGE_RUN_READ)
                                    : storage_run_refuse(r, "HAProxy did not take it from the Data Plane API");
    case STORAGE_RUN_READ:
        (void)(r->file->place == STORAGE_MAP ? storage_run_compare_map(r, a, &r->why)
                                             : storage_run_compare_certificate(r, a, &r->why));
        break;
    case STORAGE_RUN_IDLE:
        break;
    }
    return storage_run_done(r);
}
