#include "haproxy/dataplane/storage_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/client.h"
#include "haproxy/storage_map.h"
#include "haproxy/dataplane/transaction_verdict.h"
#include "json/read.h"

void storage_init(struct storage *s)
{
    *s = (struct storage){.result = TRANSACTION_UNKNOWN, .retry_after_ms = -1};
    buf_init_secret(&s->body, 0);
    buf_init_secret(&s->now, 0);
    storage_run_init(&s->run);
}

void storage_fini(struct storage *s)
{
    storage_entries_fini(&s->entries);
    free(s->list);
    free(s->differs);
    free(s->why);
    storage_run_fini(&s->run);
    buf_fini(&s->path);
    buf_fini(&s->body);
    buf_fini(&s->type);
    buf_fini(&s->now);
}

/* ---- requests ---- */

struct storage_action storage_done(struct storage *s, enum transaction_result result)
{
    s->state = STORAGE_DONE;
    s->result = result;
    s->request = (struct storage_request){0};
    s->changed = storage_entries_changed(&s->entries);
    buf_fini(&s->now);
    buf_fini(&s->body);
    return (struct storage_action){0};
}

struct storage_action storage_get(struct storage *s, enum storage_state state, enum storage_kind place,
                                  const char *stored)
{
    s->state = state;
    buf_clear(&s->path);
    buf_printf(&s->path, "/storage/%s%s%s", storage_place_name(place), stored[0] != '\0' ? "/" : "", stored);
    return (struct storage_action){.send = true, .method = "GET", .path = buf_str(&s->path)};
}

/* General files, and any new one, are forms; what is sent of an empty map is an empty line, for a PUT has to have a
 * body. */
static struct storage_action storage_send(struct storage *s, enum storage_state state, enum storage_kind place,
                                          const char *stored, bool new, const char *bytes, size_t len)
{
    bool form = new || place == STORAGE_GENERAL;
    char mark[DIGEST_SHA256_HEX_BYTES];
    s->state = state;
    if (len == 0 && place == STORAGE_MAP) {
        bytes = "\n";
        len = 1;
    }
    digest_sha256_hex(bytes, len, mark);
    buf_clear(&s->path);
    buf_clear(&s->type);
    buf_clear(&s->body);
    buf_printf(&s->path, "/storage/%s%s%s?skip_reload=true", storage_place_name(place), new ? "" : "/",
               new ? "" : stored);
    if (form) {
        buf_printf(&s->type, "multipart/form-data; boundary=%s", mark);
        buf_printf(&s->body,
                   "--%s\r\nContent-Disposition: form-data; name=\"file_upload\"; filename=\"%s\"\r\n"
                   "Content-Type: application/octet-stream\r\n\r\n",
                   mark, stored);
    } else {
        buf_add(&s->type, "text/plain");
    }
    buf_addn(&s->body, bytes, len);
    if (form)
        buf_printf(&s->body, "\r\n--%s--\r\n", mark);
    return (struct storage_action){.send = true,
                                   .method = new ? "POST" : "PUT",
                                   .path = buf_str(&s->path),
                                   .type = buf_str(&s->type),
                                   .body = buf_str(&s->body),
                                   .body_len = s->body.len};
}

static struct storage_action storage_send_list(struct storage *s, enum storage_state state, char *text)
{
    free(s->list);
    s->list = text;
    return storage_send(s, state, STORAGE_GENERAL, STORAGE_LIST, !s->has_list, text, strlen(text));
}

/* ---- what is next ---- */

static struct storage_action storage_next(struct storage *s);

static struct storage_action storage_next_file(struct storage *s)
{
    s->at++;
    s->was_read = false;
    return storage_next(s);
}

bool storage_is_put(const struct storage_entry *e, const struct storage_file *f)
{
    return e->present && str_eq(e->hash, f->hash);
}

bool storage_take_as_put(const struct storage *s, const struct storage_file *f, struct storage_entry *e)
{
    bool same = s->was_read && s->now.len == f->len && memcmp(buf_str(&s->now), f->bytes, f->len) == 0;
    if (same)
        memcpy(e->hash, f->hash, sizeof(e->hash));
    return same;
}

/* The next file of the list that is not as it is to be. */
static struct storage_action storage_next_put(struct storage *s)
{
    for (; s->at < s->request.files->count; s->at++, s->was_read = false) {
        const struct storage_file *f = &s->request.files->list[s->at];
        struct storage_entry *e = storage_entries_find(&s->entries, f->place, f->stored);
        if (e == NULL || storage_is_put(e, f))
            continue;
        if (e->present && !s->was_read && f->place != STORAGE_CERTIFICATE && s->request.part == STORAGE_ADD)
            return storage_get(s, STORAGE_READ_FILE, f->place, f->stored);
        if (storage_take_as_put(s, f, e))
            continue;
        /* What a file is to have is known; so is what it has, but of a certificate. */
        bool add = s->request.part == STORAGE_ADD, grows = add && f->place == STORAGE_MAP && !s->request.alone;
        cleanup(buf_fini) struct buf grown = {0};
        const char *bytes = f->bytes;
        size_t len = f->len;
        if (add && !s->announced)
            return storage_send_list(s, STORAGE_ANNOUNCE, storage_list_text(&s->entries, s->request.files));
        if (e->present && !e->changed && e->good == NULL && s->was_read)
            storage_entry_keep(e, buf_str(&s->now), s->now.len);
        s->whole = !(grows && e->present) || storage_map_grow(buf_str(&s->now), f->bytes, &grown);
        if (!s->whole) {
            s->unfinished = true;
            bytes = buf_str(&grown);
            len = grown.len;
        }
        if (!s->whole && len == s->now.len) /* it loses lines, and gains none */
            return storage_next_file(s);
        return storage_send(s, STORAGE_WRITE, f->place, f->stored, !e->present, bytes, len);
    }
    return storage_done(s, TRANSACTION_COMMITTED);
}

/* What runs now is good. */
static void storage_settle_one(const struct storage *s, struct storage_entry *e)
{
    const struct storage_file *f = storage_files_find(s->request.files, e->place, e->stored);
    storage_entry_settle(e);
    if (f != NULL && f->place == STORAGE_CERTIFICATE)
        storage_entry_keep(e, f->bytes, f->len);
}

/* ---- by the runtime ---- */

static struct storage_action storage_reloads(struct storage *s, const struct storage_entry *e, const char *why)
{
    const struct storage_file *f = storage_files_find(s->request.files, e->place, e->stored);
    s->why = mem_printf("%s/%s: %s", f != NULL ? storage_folder(f->kind) : storage_place_name(e->place),
                        f != NULL ? f->name : e->stored, why);
    return storage_done(s, TRANSACTION_COMMITTED);
}

static struct storage_action storage_next_run(struct storage *s);

int storage_may_run(struct storage *s, const struct storage_file *f, bool added, struct error *err)
{
    if (f == NULL || added)
        return error_set(err, ERROR_INVALID, f == NULL ? "it is removed" : "it is new");
    return storage_run_check(&s->run, f, err);
}

/* Where one of them takes a reload, HAProxy need not be told of the others. */
static struct storage_action storage_begin_run(struct storage *s)
{
    for (size_t i = 0; i < s->entries.count; i++) {
        const struct storage_entry *e = &s->entries.list[i];
        const struct storage_file *f = storage_files_find(s->request.files, e->place, e->stored);
        struct error err = {0};
        if (e->changed && storage_may_run(s, f, e->added, &err) != 0)
            return storage_reloads(s, e, err.message);
    }
    return storage_next_run(s);
}

static struct storage_action storage_next_run(struct storage *s)
{
    while (s->at < s->entries.count && !s->entries.list[s->at].changed)
        s->at++;
    if (s->at == s->entries.count)
        return storage_done(s, TRANSACTION_COMMITTED);
    const struct storage_entry *e = &s->entries.list[s->at];
    s->state = STORAGE_RUNNING;
    return storage_run_start(&s->run, storage_files_find(s->request.files, e->place, e->stored));
}

static struct storage_action storage_ran(struct storage *s, const struct dataplane_answer *a)
{
    struct storage_entry *e = &s->entries.list[s->at];
    struct storage_action next = storage_run_answer(&s->run, a);
    if (next.send)
        return next;
    if (s->run.why.kind != ERROR_NONE)
        return storage_reloads(s, e, s->run.why.message);
    storage_settle_one(s, e);
    s->ran++;
    return storage_next_run(s);
}

static struct storage_action storage_delete(struct storage *s, const struct storage_entry *e)
{
    s->state = STORAGE_DELETE;
    buf_clear(&s->path);
    buf_printf(&s->path, "/storage/%s/%s?skip_reload=true", storage_place_name(e->place), e->stored);
    return (struct storage_action){.send = true, .method = "DELETE", .path = buf_str(&s->path)};
}

/* As it is by now. */
static struct storage_action storage_next_list(struct storage *s)
{
    char *text = storage_list_text(&s->entries, NULL);
    if (!str_eq(text, s->list != NULL ? s->list : ""))
        return storage_send_list(s, STORAGE_WRITE_LIST, text);
    free(text);
    return storage_done(s, TRANSACTION_COMMITTED);
}

static struct storage_action storage_next_end(struct storage *s)
{
    while (s->at < s->entries.count) {
        struct storage_entry *e = &s->entries.list[s->at];
        if (storage_files_find(s->request.files, e->place, e->stored) != NULL) {
            s->at++;
            continue;
        }
        if (e->found || !e->present) {
            storage_entries_drop(&s->entries, s->at);
            continue;
        }
        return storage_delete(s, e);
    }
    for (size_t i = 0; i < s->entries.count; i++)
        storage_settle_one(s, &s->entries.list[i]);
    return storage_next_list(s);
}

static struct storage_action storage_next_back(struct storage *s)
{
    for (; s->at < s->entries.count; s->at++) {
        struct storage_entry *e = &s->entries.list[s->at];
        if (e->changed && e->added)
            return storage_delete(s, e);
        if (!e->changed || e->good == NULL)
            continue;
        s->whole = true;
        return storage_send(s, STORAGE_WRITE, e->place, e->stored, false, e->good, e->good_len);
    }
    /* A file of a name that went which another writer puts there is his; one that is there again is what runs, to the next run,
     * too. */
    return storage_next_list(s);
}

/* True: files of this kind are to be there, or were put there. */
static bool storage_concerns(const struct storage *s, enum storage_kind place)
{
    bool any = false;
    for (size_t i = 0; i < s->entries.count; i++)
        any = any || s->entries.list[i].place == place;
    for (size_t i = 0; i < s->request.files->count; i++)
        any = any || s->request.files->list[i].place == place;
    return any;
}

static struct storage_action storage_next_names(struct storage *s)
{
    while (s->at < STORAGE_KINDS && !storage_concerns(s, (enum storage_kind)s->at))
        s->at++;
    if (s->at < STORAGE_KINDS)
        return storage_get(s, STORAGE_READ_NAMES, (enum storage_kind)s->at, "");
    for (size_t i = 0; i < s->request.files->count; i++) {
        const struct storage_file *f = &s->request.files->list[i];
        if (storage_entries_find(&s->entries, f->place, f->stored) == NULL)
            storage_entries_add(&s->entries, f->place, f->stored);
    }
    s->at = 0;
    s->state = STORAGE_WRITE;
    return storage_next(s);
}

static struct storage_action storage_next(struct storage *s)
{
    if (s->request.part == STORAGE_RUN)
        return storage_begin_run(s);
    if (s->request.part == STORAGE_END)
        return storage_next_end(s);
    if (s->request.part == STORAGE_CHECK)
        return storage_check_next(s);
    return s->request.part == STORAGE_BACK ? storage_next_back(s) : storage_next_put(s);
}

struct storage_action storage_start(struct storage *s, const struct storage_request *request)
{
    s->request = *request;
    s->at = s->written = s->certificates = s->deleted = s->in_use = s->differing = s->ran = 0;
    free(s->differs);
    free(s->why);
    s->differs = s->why = NULL;
    s->announced = s->was_read = s->unfinished = false;
    s->retry_after_ms = -1;
    error_clear(&s->error);
    if (request->part != STORAGE_ADD && request->part != STORAGE_CHECK)
        return storage_next(s);
    if (!s->known)
        return storage_get(s, STORAGE_READ_LIST, STORAGE_GENERAL, STORAGE_LIST);
    for (size_t i = 0; i < s->entries.count; i++)
        s->entries.list[i].present = false;
    return storage_next_names(s);
}

/* ---- what came of it ---- */

/* That is written. */
static struct storage_entry *storage_in_hand(const struct storage *s)
{
    if (s->request.part == STORAGE_BACK)
        return &s->entries.list[s->at];
    const struct storage_file *f = &s->request.files->list[s->at];
    return storage_entries_find(&s->entries, f->place, f->stored);
}

/* Of what was sent to be stored nobody knows whether it is there: it counts as stored, so that it can go back. */
static void storage_may_have_written(struct storage *s)
{
    struct storage_entry *e = storage_in_hand(s);
    e->added = e->added || !e->present;
    e->changed = true;
    e->hash[0] = '\0';
}

static struct storage_action storage_failed(struct storage *s, const struct dataplane_answer *a, const char *but)
{
    cleanup(mem_free_ptr) char *doing =
        mem_printf(s->state == STORAGE_WRITE || s->state == STORAGE_ANNOUNCE ? "storing a file (%s)" : "storage (%s)",
                   buf_str(&s->path));
    enum transaction_result result = transaction_result_of(TRANSACTION_CHANGE, a);
    transaction_explain(&s->error, a, doing, but);
    s->retry_after_ms = a->retry_after_ms;
    s->known = s->known && s->state != STORAGE_ANNOUNCE && s->state != STORAGE_WRITE_LIST;
    if (s->state == STORAGE_WRITE)
        storage_may_have_written(s);
    /* It says nothing of the configuration. */
    return storage_done(s, result == TRANSACTION_UNAUTHORIZED || result == TRANSACTION_LIMIT ? result
                                                                                             : TRANSACTION_UNAVAILABLE);
}

static int storage_take_names(struct storage *s, const struct dataplane_answer *a, struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(a->body, a->body_len, 0, "the list of files", err);
    yyjson_val *root, *val;
    if (json_list_of(doc, "the list of files", &root, err) != 0)
        return -1;
    yyjson_arr_iter iter = yyjson_arr_iter_with(root);
    while ((val = yyjson_arr_iter_next(&iter)) != NULL) {
        const char *stored;
        if (json_is_object(val, "a file", err) != 0 || json_need_string(val, "storage_name", &stored, err) != 0)
            return -1;
        enum storage_kind place = (enum storage_kind)s->at;
        struct storage_entry *e = storage_entries_find(&s->entries, place, stored);
        if (e == NULL && storage_files_find(s->request.files, place, stored) != NULL) {
            e = storage_entries_add(&s->entries, place, stored);
            e->found = true;
        }
        if (e != NULL)
            e->present = true;
        s->has_list = s->has_list || (place == STORAGE_GENERAL && str_eq(stored, STORAGE_LIST));
    }
    return 0;
}

static struct storage_action storage_wrote(struct storage *s)
{
    bool back = s->request.part == STORAGE_BACK;
    const struct storage_file *f = back ? NULL : &s->request.files->list[s->at];
    struct storage_entry *e = storage_in_hand(s);
    e->added = !back && (e->added || !e->present);
    e->changed = !back;
    e->found = e->found && e->present;
    e->present = true;
    e->hash[0] = '\0';
    if (back)
        digest_sha256_hex(e->good, e->good_len, e->hash);
    else if (s->whole)
        memcpy(e->hash, f->hash, sizeof(e->hash));
    s->written++;
    s->certificates += f != NULL && f->kind == STORAGE_CERTIFICATE;
    return storage_next_file(s);
}

static struct storage_action storage_succeeded(struct storage *s, const struct dataplane_answer *a)
{
    struct error err = {0};
    switch (s->state) {
    case STORAGE_READ_LIST:
        s->known = true;
        s->has_list = a->status == 200;
        free(s->list);
        s->list = s->has_list ? mem_strndup(a->body, a->body_len) : NULL;
        storage_list_read(&s->entries, s->list != NULL ? s->list : "");
        return storage_next_names(s);
    case STORAGE_READ_NAMES:
        if (storage_take_names(s, a, &err) != 0)
            return storage_failed(s, a, err.message);
        s->at++;
        return storage_next_names(s);
    case STORAGE_READ_FILE:
        buf_clear(&s->now);
        buf_addn(&s->now, a->body, a->body_len);
        s->was_read = true;
        return storage_next(s);
    case STORAGE_ANNOUNCE:
        s->announced = s->has_list = true;
        return storage_next_put(s);
    case STORAGE_WRITE:
        return storage_wrote(s);
    case STORAGE_DELETE:
        storage_entries_drop(&s->entries, s->at);
        s->deleted++;
        return storage_next(s);
    case STORAGE_WRITE_LIST:
        s->has_list = true;
        break;
    case STORAGE_RUNNING: /* is not asked here */
    case STORAGE_IDLE:
    case STORAGE_DONE:
        break;
    }
    return storage_done(s, TRANSACTION_COMMITTED);
}

struct storage_action storage_answer(struct storage *s, const struct dataplane_answer *a)
{
    if (s->state == STORAGE_RUNNING)
        return s->request.foresight != NULL ? storage_check_asked(s, a) : storage_ran(s, a);
    /* The version shows that the API answered, not a page in front of it. */
    bool ours = a->error == NULL && a->version >= 0;
    bool none = ours && a->status == 404 && (s->state == STORAGE_READ_LIST || s->state == STORAGE_DELETE);
    if (ours && a->status == 409 && s->state == STORAGE_DELETE) { /* it stays, for another time */
        s->in_use++;
        s->at++;
        return storage_next(s);
    }
    if (!none && !(ours && transaction_is_success(a)))
        return storage_failed(s, a, ours ? transaction_wrong_answer(a) : "not an answer of a Data Plane API");
    return storage_succeeded(s, a);
}
