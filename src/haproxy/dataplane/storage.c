#include "haproxy/dataplane/storage.h"

#include <string.h>

#include "base/mem.h"
#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/transaction_verdict.h"
#include "haproxy/storage_foresight.h"
#include "json/read.h"
#include "net/pem.h"

static struct storage_action storage_get(struct storage *s);
static struct storage_action storage_send(struct storage *s);
static struct storage_action storage_delete(struct storage *s);
static struct storage_action storage_begin_run(struct storage *s);
static struct storage_action storage_ran(struct storage *s, const struct dataplane_answer *a);
static struct storage_action storage_foresee_next(struct storage *s);
static struct storage_action storage_asked(struct storage *s, const struct dataplane_answer *a);
static int storage_take_names(struct storage *s, const struct dataplane_answer *a, struct error *err);
static void storage_take_file(const struct storage *s, struct storage_reply *r);
static void storage_failed(const struct storage *s, const struct dataplane_answer *a, const char *but,
                           struct storage_reply *ret);

void storage_init(struct storage *s)
{
    *s = (struct storage){.at = 0};
    storage_machine_init(&s->machine, true);
    buf_init_secret(&s->body, 0);
    storage_run_init(&s->run);
}

void storage_fini(struct storage *s)
{
    storage_machine_fini(&s->machine);
    storage_run_fini(&s->run);
    buf_fini(&s->path);
    buf_fini(&s->body);
    buf_fini(&s->type);
}

/* ---- steps and answers ---- */

static struct storage_action storage_perform(struct storage *s, struct storage_step step)
{
    s->step = step;
    buf_clear(&s->path);
    switch (step.state) {
    case STORAGE_READ_LIST:
    case STORAGE_READ_NAMES:
    case STORAGE_READ_FILE:
        return storage_get(s);
    case STORAGE_ANNOUNCE:
    case STORAGE_WRITE:
    case STORAGE_WRITE_LIST:
        return storage_send(s);
    case STORAGE_DELETE:
        return storage_delete(s);
    case STORAGE_RUNNING:
        s->at = 0;
        return s->machine.request.foresight != NULL ? storage_foresee_next(s) : storage_begin_run(s);
    case STORAGE_LOCK: /* an API serves one request after the other */
    case STORAGE_IDLE:
    case STORAGE_DONE:
        break;
    }
    buf_fini(&s->body);
    return (struct storage_action){0};
}

struct storage_action storage_start(struct storage *s, const struct storage_request *request)
{
    return storage_perform(s, storage_machine_start(&s->machine, request));
}

struct storage_action storage_answer(struct storage *s, const struct dataplane_answer *a)
{
    enum storage_state state = s->step.state;
    struct storage_reply r = {.bytes = a->body, .len = a->body_len, .retry_after_ms = a->retry_after_ms};
    struct error err = {0};
    /* The version shows that the API answered, not a page in front of it. */
    bool ours = a->error == NULL && a->version >= 0;
    if (state == STORAGE_RUNNING)
        return s->machine.request.foresight != NULL ? storage_asked(s, a) : storage_ran(s, a);
    if (ours && a->status == 404 && (state == STORAGE_READ_LIST || state == STORAGE_DELETE))
        r.outcome = STORAGE_NONE;
    else if (ours && a->status == 409 && state == STORAGE_DELETE)
        r.outcome = STORAGE_IN_USE;
    else if (!ours || !transaction_is_success(a))
        storage_failed(s, a, ours ? transaction_wrong_answer(a) : "not an answer of a Data Plane API", &r);
    else if (state == STORAGE_READ_NAMES && storage_take_names(s, a, &err) != 0)
        storage_failed(s, a, err.message, &r);
    else if (state == STORAGE_READ_FILE)
        storage_take_file(s, &r);
    return storage_perform(s, storage_machine_answer(&s->machine, &r));
}

/* It says nothing of the configuration. */
static void storage_failed(const struct storage *s, const struct dataplane_answer *a, const char *but,
                           struct storage_reply *ret)
{
    bool stores = s->step.state == STORAGE_WRITE || s->step.state == STORAGE_ANNOUNCE;
    enum transaction_result result = transaction_result_of(TRANSACTION_CHANGE, a);
    cleanup(mem_free_ptr) char *doing = mem_printf(stores ? "storing a file (%s)" : "storage (%s)", buf_str(&s->path));
    ret->outcome = STORAGE_FAILED;
    ret->result = result == TRANSACTION_UNAUTHORIZED || result == TRANSACTION_LIMIT ? result : TRANSACTION_UNAVAILABLE;
    transaction_explain(&ret->error, a, doing, but);
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
        storage_machine_name(&s->machine, stored);
    }
    return 0;
}

/* The API says of a certificate what it is, and never shows its bytes: what it does not say is as it was. */
static bool storage_shows_certificate(const struct storage_reply *r, const struct storage_file *f)
{
    static const char what[] = "the certificate";
    struct error err = {0};
    const char *serial = "";
    int64_t size = -1;
    yyjson_val *root;
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(r->bytes, r->len, 0, what, &err);
    if (json_object_of(doc, what, &root, &err) != 0)
        return true;
    if (json_get_int(root, "size", 0, INT64_MAX, -1, &size, &err) == 0 && size >= 0 && (size_t)size != f->len)
        return false;
    return json_get_string(root, "serial", &serial, &err) != 0 || serial[0] == '\0' || pem_has_serial(f->bytes, serial);
}

/* An empty map was sent as a line. A certificate that may be the one that was put there is taken for it. */
static void storage_take_file(const struct storage *s, struct storage_reply *r)
{
    const struct storage_file *f = storage_files_find(s->machine.request.files, s->step.place, s->step.stored);
    if (f->place == STORAGE_CERTIFICATE) {
        bool same = storage_shows_certificate(r, f);
        r->bytes = same ? f->bytes : "";
        r->len = same ? f->len : 0;
    } else if (f->place == STORAGE_MAP && f->len == 0 && r->len == 1 && r->bytes[0] == '\n') {
        r->len = 0;
    }
}

/* ---- requests ---- */

static struct storage_action storage_get(struct storage *s)
{
    const char *stored = s->step.stored;
    buf_printf(&s->path, "/storage/%s%s%s", storage_place_name(s->step.place), stored[0] != '\0' ? "/" : "", stored);
    return (struct storage_action){.send = true, .method = "GET", .path = buf_str(&s->path)};
}

/* General files, and any new one, are forms; what is sent of an empty map is an empty line, for a PUT has to have a
 * body. */
static struct storage_action storage_send(struct storage *s)
{
    const struct storage_step *step = &s->step;
    bool form = step->new || step->place == STORAGE_GENERAL, empty = step->len == 0 && step->place == STORAGE_MAP;
    const char *bytes = empty ? "\n" : step->bytes;
    size_t len = empty ? 1 : step->len;
    char mark[DIGEST_SHA256_HEX_BYTES];
    digest_sha256_hex(bytes, len, mark);
    buf_clear(&s->type);
    buf_clear(&s->body);
    buf_printf(&s->path, "/storage/%s%s%s?skip_reload=true", storage_place_name(step->place), step->new ? "" : "/",
               step->new ? "" : step->stored);
    if (form) {
        buf_printf(&s->type, "multipart/form-data; boundary=%s", mark);
        buf_printf(&s->body,
                   "--%s\r\nContent-Disposition: form-data; name=\"file_upload\"; filename=\"%s\"\r\n"
                   "Content-Type: application/octet-stream\r\n\r\n",
                   mark, step->stored);
    } else {
        buf_add(&s->type, "text/plain");
    }
    buf_addn(&s->body, bytes, len);
    if (form)
        buf_printf(&s->body, "\r\n--%s--\r\n", mark);
    return (struct storage_action){.send = true,
                                   .method = step->new ? "POST" : "PUT",
                                   .path = buf_str(&s->path),
                                   .type = buf_str(&s->type),
                                   .body = buf_str(&s->body),
                                   .body_len = s->body.len};
}

static struct storage_action storage_delete(struct storage *s)
{
    buf_printf(&s->path, "/storage/%s/%s?skip_reload=true", storage_place_name(s->step.place), s->step.stored);
    return (struct storage_action){.send = true, .method = "DELETE", .path = buf_str(&s->path)};
}

/* ---- by the runtime ---- */

static struct storage_action storage_end(struct storage *s)
{
    return storage_perform(s, storage_machine_end(&s->machine));
}

static struct storage_action storage_reloads(struct storage *s, const struct storage_entry *e, const char *why)
{
    const struct storage_file *f = storage_files_find(s->machine.request.files, e->place, e->stored);
    s->machine.why = mem_printf("%s/%s: %s", f != NULL ? storage_folder(f->kind) : storage_place_name(e->place),
                                f != NULL ? f->name : e->stored, why);
    return storage_end(s);
}

/* -1: runtime commands cannot change that one, and why. f NULL: the configuration has it no more. */
static int storage_may_run(struct storage *s, const struct storage_file *f, bool added, struct error *err)
{
    if (f == NULL || added)
        return error_set(err, ERROR_INVALID, f == NULL ? "it is removed" : "it is new");
    return storage_run_check(&s->run, f, err);
}

static const struct storage_file *storage_file_of(const struct storage *s, const struct storage_entry *e)
{
    return storage_files_find(s->machine.request.files, e->place, e->stored);
}

static struct storage_action storage_run_next(struct storage *s)
{
    const struct storage_entries *all = &s->machine.entries;
    while (s->at < all->count && !all->list[s->at].changed)
        s->at++;
    return s->at < all->count ? storage_run_start(&s->run, storage_file_of(s, &all->list[s->at]), false)
                              : storage_end(s);
}

/* Where one of them takes a reload, HAProxy does not get the others either. */
static struct storage_action storage_begin_run(struct storage *s)
{
    for (size_t i = 0; i < s->machine.entries.count; i++) {
        const struct storage_entry *e = &s->machine.entries.list[i];
        struct error err = {0};
        if (e->changed && storage_may_run(s, storage_file_of(s, e), e->added, &err) != 0)
            return storage_reloads(s, e, err.message);
    }
    return storage_run_next(s);
}

static struct storage_action storage_ran(struct storage *s, const struct dataplane_answer *a)
{
    struct storage_entry *e = &s->machine.entries.list[s->at];
    struct storage_action next = storage_run_answer(&s->run, a);
    if (next.send)
        return next;
    if (s->run.why.kind != ERROR_NONE)
        return storage_reloads(s, e, s->run.why.message);
    storage_machine_settle(&s->machine, e);
    s->machine.news.ran++;
    return storage_run_next(s);
}

/* ---- what that would come to ---- */

/* From the file `at` on: of each that the API might change in HAProxy it asks whether HAProxy has it. */
static struct storage_action storage_foresee_next(struct storage *s)
{
    const struct storage_request *request = &s->machine.request;
    for (; s->at < request->files->count; s->at++) {
        const struct storage_file *f = &request->files->list[s->at];
        const struct storage_entry *e = storage_entries_find(&s->machine.entries, f->place, f->stored);
        struct error why = {0};
        if (!storage_machine_concerns(&s->machine, f))
            continue;
        if (storage_may_run(s, f, e->added || !e->present, &why) == 0)
            return storage_run_start(&s->run, f, true);
        storage_foreseen_reload(&request->foresight->list[s->at], why.message);
    }
    return storage_end(s);
}

static struct storage_action storage_asked(struct storage *s, const struct dataplane_answer *a)
{
    struct storage_foreseen *seen = &s->machine.request.foresight->list[s->at];
    struct storage_action next = storage_run_answer(&s->run, a);
    if (next.send)
        return next;
    seen->effect = STORAGE_BY_RUNTIME;
    if (s->run.why.kind != ERROR_NONE)
        storage_foreseen_reload(seen, s->run.why.message);
    else
        storage_run_print(&s->machine.request.files->list[s->at], &seen->commands);
    s->at++;
    return storage_foresee_next(s);
}
