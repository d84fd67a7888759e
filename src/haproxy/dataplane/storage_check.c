/* Whether the files in a storage are as they are to be; and what they would take, where that is asked: by what decides
 * about it once they are stored. Nothing is written. */
#include "haproxy/dataplane/storage_internal.h"

#include <string.h>

#include "base/mem.h"
#include "haproxy/storage_foresight.h"
#include "json/read.h"
#include "net/pem.h"

/* The API tells of a certificate what it is, and never its bytes: what it does not tell is as it was. */
static bool storage_shows_certificate(const struct storage *s, const struct storage_file *f)
{
    static const char what[] = "the certificate";
    struct error err = {0};
    const char *serial = "";
    int64_t size = -1;
    yyjson_val *root;
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(buf_str(&s->now), s->now.len, 0, what, &err);
    if (json_object_of(doc, what, &root, &err) != 0)
        return true;
    if (json_get_int(root, "size", 0, INT64_MAX, -1, &size, &err) == 0 && size >= 0 && (size_t)size != f->len)
        return false;
    return json_get_string(root, "serial", &serial, &err) != 0 || serial[0] == '\0' || pem_has_serial(f->bytes, serial);
}

static bool storage_is_as_put(const struct storage *s, const struct storage_file *f)
{
    if (f->place == STORAGE_CERTIFICATE)
        return storage_shows_certificate(s, f);
    bool empty = f->len == 0 && f->place == STORAGE_MAP; /* which was sent as a line */
    const char *bytes = empty ? "\n" : f->bytes;
    size_t len = empty ? 1 : f->len;
    return s->now.len == len && memcmp(buf_str(&s->now), bytes, len) == 0;
}

static void storage_check_file(struct storage *s, const struct storage_file *f, struct storage_entry *e)
{
    bool same = e->present && storage_is_as_put(s, f);
    if (!same) {
        /* Another writer changed it: it is written anew whenever files are stored. */
        e->hash[0] = '\0';
        if (s->differing++ == 0)
            s->differs = mem_printf("%s/%s", storage_folder(f->kind), f->name);
    }
    if (f->place != STORAGE_CERTIFICATE)
        (void)storage_take_as_put(s, f, e);
    if (s->request.foresight == NULL)
        return;
    struct storage_foreseen *seen = storage_foresight_add(s->request.foresight, f->kind, f->name);
    if (f->place == STORAGE_MAP && !same)
        storage_foreseen_count(seen, e->present ? buf_str(&s->now) : "", f->bytes);
}

/* ---- what they would take ---- */

static void storage_foresee_entry(struct storage *s, const struct storage_entry *e)
{
    struct error why = {0};
    if (!e->changed && (e->found || !e->present))
        return;
    struct storage_foreseen *seen = storage_foresight_add(s->request.foresight, e->place, e->stored);
    seen->effect = STORAGE_GOES;
    if (e->changed && storage_may_run(s, NULL, false, &why) != 0)
        storage_foreseen_reload(seen, why.message);
}

/* From the file `at` on: asks of each that HAProxy might be told of whether it has it. */
static struct storage_action storage_foresee_next(struct storage *s)
{
    const struct storage_files *files = s->request.files;
    for (; s->at < files->count; s->at++) {
        const struct storage_file *f = &files->list[s->at];
        const struct storage_entry *e = storage_entries_find(&s->entries, f->place, f->stored);
        struct error why = {0};
        if (e == NULL || (!e->changed && storage_is_put(e, f)))
            continue;
        if (storage_may_run(s, f, e->added || !e->present, &why) == 0) {
            s->state = STORAGE_RUNNING;
            return storage_run_foresee(&s->run, f);
        }
        storage_foreseen_reload(&s->request.foresight->list[s->at], why.message);
    }
    for (size_t i = 0; i < s->entries.count; i++)
        if (storage_files_find(files, s->entries.list[i].place, s->entries.list[i].stored) == NULL)
            storage_foresee_entry(s, &s->entries.list[i]);
    return storage_done(s, TRANSACTION_COMMITTED);
}

struct storage_action storage_check_asked(struct storage *s, const struct dataplane_answer *a)
{
    struct storage_foreseen *seen = &s->request.foresight->list[s->at];
    struct storage_action next = storage_run_answer(&s->run, a);
    if (next.send)
        return next;
    seen->effect = STORAGE_BY_RUNTIME;
    if (s->run.why.kind != ERROR_NONE)
        storage_foreseen_reload(seen, s->run.why.message);
    else
        storage_run_print(&s->request.files->list[s->at], &seen->commands);
    s->at++;
    return storage_foresee_next(s);
}

struct storage_action storage_check_next(struct storage *s)
{
    for (; s->at < s->request.files->count; s->at++, s->was_read = false) {
        const struct storage_file *f = &s->request.files->list[s->at];
        struct storage_entry *e = storage_entries_find(&s->entries, f->place, f->stored);
        if (e == NULL)
            continue;
        if (e->present && !s->was_read)
            return storage_get(s, STORAGE_READ_FILE, f->place, f->stored);
        storage_check_file(s, f, e);
    }
    s->at = 0;
    return s->request.foresight != NULL ? storage_foresee_next(s) : storage_done(s, TRANSACTION_COMMITTED);
}
