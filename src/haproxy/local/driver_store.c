/*
 * The files beside the configuration, each kind in a folder of the helper's: one request after the other, in the order that
 * storage_part says. What is there is read, byte for byte, before anything is decided by it. The list of what was put there
 * (haproxy/storage_list) is the one that the driver of a Data Plane API keeps, in the same place.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/local/driver_internal.h"
#include "haproxy/storage_map.h"

static void driver_store_next(struct local_driver *d);
static void driver_store_begin(struct local_driver *d);

/* ---- the end ---- */

static void driver_store_tell(struct driver *base)
{
    const struct stored news = local_driver_of(base)->store.news;
    base->events->stored(base->arg, &news);
}

void local_driver_store_end(struct local_driver *d)
{
    struct local_store *s = &d->store;
    s->request = (struct storage_request){0};
    s->news.changed = storage_entries_changed(&s->entries);
    s->news.differs = s->differs;
    buf_fini(&s->now);
    local_driver_tell(d, driver_store_tell);
}

/* It says nothing of the configuration. */
static void driver_store_fail(struct local_driver *d, const struct local_answer *a)
{
    struct stored *news = &d->store.news;
    news->result = local_driver_failed(d, a, false, &news->error);
    (void)error_prefix(&news->error, "files of the configuration");
    local_driver_store_end(d);
}

/* ---- what is there ---- */

/* A link or a fifo is no file of ours. False: it cannot be told. */
static bool driver_store_take(struct local_store *s, const struct local_answer *a)
{
    bool none = a->error_number == ENOENT || a->error_number == ENOTDIR;
    buf_clear(&s->now);
    s->there = a->status == LOCAL_OK;
    s->was_read = s->there || (a->status == LOCAL_FAILED && none);
    s->is_other = a->status == LOCAL_FAILED && (a->error_number == ELOOP || a->error_number == EINVAL);
    if (s->there)
        buf_addn(&s->now, a->data, a->len);
    return s->was_read || s->is_other;
}

bool local_driver_store_has(const struct local_store *s, const struct storage_file *f)
{
    return s->there && s->now.len == f->len && memcmp(buf_str(&s->now), f->bytes, f->len) == 0;
}

static void driver_store_on_read(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_store *s = &d->store;
    d->request = NULL;
    bool known = driver_store_take(s, a);
    bool writes = s->request.part == STORAGE_ADD || s->request.part == STORAGE_FINAL || s->request.foresight != NULL;
    if (!known || (s->is_other && writes && s->at < s->request.files->count))
        driver_store_fail(d, a);
    else
        driver_store_next(d);
}

void local_driver_store_read(struct local_driver *d, enum storage_kind place, const char *stored)
{
    d->request = local_read_folder_file(d->options.helper, place, stored, driver_store_on_read, d);
}

void local_driver_store_past(struct local_store *s)
{
    s->at++;
    s->was_read = s->is_other = false;
}

/* ---- the list ---- */

static void driver_store_on_list(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_store *s = &d->store;
    d->request = NULL;
    if (!driver_store_take(s, a) || s->is_other) {
        driver_store_fail(d, a);
        return;
    }
    s->known = true;
    free(s->list);
    s->list = mem_strdup(buf_str(&s->now));
    s->was_read = false;
    storage_list_read(&s->entries, s->list);
    driver_store_next(d);
}

static void driver_store_on_list_written(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_store *s = &d->store;
    d->request = NULL;
    if (a->status != LOCAL_OK) {
        driver_store_fail(d, a);
        return;
    }
    free(s->list);
    s->list = s->writes;
    s->writes = NULL;
    driver_store_next(d);
}

/* False: it is there as it is to be. */
static bool driver_store_write_list(struct local_driver *d, char *text)
{
    struct local_store *s = &d->store;
    free(s->writes);
    s->writes = text;
    if (str_eq(text, s->list != NULL ? s->list : ""))
        return false;
    if (text[0] == '\0')
        d->request =
            local_delete_file(d->options.helper, STORAGE_GENERAL, STORAGE_LIST, driver_store_on_list_written, d);
    else
        d->request = local_put_file(d->options.helper, STORAGE_GENERAL, STORAGE_LIST, text, strlen(text),
                                    driver_store_on_list_written, d);
    return true;
}

/* ---- before anything is written ---- */

/* Until the lock was ours another daemon may have written to what was read. */
static void driver_store_on_locked(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_store *s = &d->store;
    bool held = s->held && a->status != LOCAL_LOCKED;
    d->request = NULL;
    s->locked = a->status == LOCAL_OK;
    s->held = held || s->locked;
    if (!held) {
        s->known = false;
        storage_entries_fini(&s->entries);
    }
    if (!s->locked)
        driver_store_fail(d, a);
    else if (held)
        driver_store_next(d);
    else
        driver_store_begin(d);
}

bool local_driver_store_lock(struct local_driver *d)
{
    if (d->store.locked)
        return false;
    d->request = local_lock_config(d->options.helper, driver_store_on_locked, d);
    return true;
}

/* ---- ADD and FINAL ---- */

static void driver_store_on_put(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_store *s = &d->store;
    const struct storage_file *f = &s->request.files->list[s->at];
    struct storage_entry *e = storage_entries_find(&s->entries, f->place, f->stored);
    d->request = NULL;
    if (a->status != LOCAL_OK) {
        driver_store_fail(d, a);
        return;
    }
    e->present = true;
    memcpy(e->hash, s->hash, sizeof(e->hash));
    s->news.written++;
    s->news.certificates += f->kind == STORAGE_CERTIFICATE;
    local_driver_store_past(s);
    driver_store_next(d);
}

/* What is there was read. It counts as changed before that is known: a request that failed may have been carried out. */
static void driver_store_put(struct local_driver *d, const struct storage_file *f, struct storage_entry *e)
{
    struct local_store *s = &d->store;
    cleanup(buf_fini) struct buf grown = {0};
    bool grows = s->request.part == STORAGE_ADD && f->place == STORAGE_MAP && s->there && !s->request.alone;
    if (s->request.part == STORAGE_ADD && s->there && !e->changed && e->good == NULL)
        storage_entry_keep(e, buf_str(&s->now), s->now.len);
    bool whole = !grows || storage_map_grow(buf_str(&s->now), f->bytes, &grown);
    s->news.unfinished = s->news.unfinished || !whole;
    if (!whole && grown.len == s->now.len) { /* it loses lines, and gains none */
        local_driver_store_past(s);
        driver_store_next(d);
        return;
    }
    e->added = e->added || !e->present;
    e->found = e->found && e->present;
    e->changed = true;
    e->hash[0] = '\0';
    const char *bytes = whole ? f->bytes : buf_str(&grown);
    size_t len = whole ? f->len : grown.len;
    digest_sha256_hex(bytes, len, s->hash);
    d->request = local_put_file(d->options.helper, f->place, f->stored, bytes, len, driver_store_on_put, d);
}

void local_driver_store_look(struct local_store *s, const struct storage_file *f)
{
    struct storage_entry *e = storage_entries_find(&s->entries, f->place, f->stored);
    bool new = e == NULL, same = local_driver_store_has(s, f);
    if (new)
        e = storage_entries_add(&s->entries, f->place, f->stored);
    e->found = new ? s->there : e->found;
    e->present = s->there;
    if (same) {
        e->changed = e->changed || (e->hash[0] != '\0' && !str_eq(e->hash, f->hash)); /* by hand: that does not run */
        memcpy(e->hash, f->hash, sizeof(e->hash));
    } else if (str_eq(e->hash, f->hash)) {
        e->hash[0] = '\0';
    }
    local_driver_store_past(s);
}

bool local_driver_store_is_put(const struct storage_entry *e, const struct storage_file *f)
{
    return e->present && str_eq(e->hash, f->hash);
}

/* All of them are looked at before one is written: what stands in the way of one leaves none changed. */
static bool driver_store_look_on(struct local_driver *d)
{
    struct local_store *s = &d->store;
    const struct storage_files *files = s->request.files;
    if (s->was_read)
        local_driver_store_look(s, &files->list[s->at]);
    if (s->at < files->count) {
        local_driver_store_read(d, files->list[s->at].place, files->list[s->at].stored);
        return true;
    }
    s->looked = true;
    s->at = 0;
    return false;
}

static bool driver_store_announce(struct local_driver *d)
{
    struct local_store *s = &d->store;
    if (s->request.part != STORAGE_ADD || s->announced)
        return false;
    s->announced = true;
    return driver_store_write_list(d, storage_list_text(&s->entries, s->request.files));
}

static void driver_store_next_put(struct local_driver *d)
{
    struct local_store *s = &d->store;
    const struct storage_files *files = s->request.files;
    if (!s->looked && s->request.part == STORAGE_ADD && driver_store_look_on(d))
        return;
    /* What an earlier run left half done is known until it is settled only while the list is ours. */
    if (!s->held && storage_entries_changed(&s->entries) && local_driver_store_lock(d))
        return;
    for (; s->at < files->count; local_driver_store_past(s)) {
        const struct storage_file *f = &files->list[s->at];
        struct storage_entry *e = storage_entries_find(&s->entries, f->place, f->stored);
        if (e == NULL || local_driver_store_is_put(e, f))
            continue;
        if (local_driver_store_lock(d) || driver_store_announce(d))
            return;
        if (!s->was_read)
            local_driver_store_read(d, f->place, f->stored);
        else
            driver_store_put(d, f, e);
        return;
    }
    local_driver_store_end(d);
}

/* ---- END and BACK ---- */

static void driver_store_on_deleted(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_store *s = &d->store;
    d->request = NULL;
    if (a->status != LOCAL_OK) {
        driver_store_fail(d, a);
        return;
    }
    storage_entries_drop(&s->entries, s->at);
    s->was_read = s->is_other = false;
    s->news.deleted++;
    driver_store_next(d);
}

static void driver_store_delete(struct local_driver *d, const struct storage_entry *e)
{
    d->request = local_delete_file(d->options.helper, e->place, e->stored, driver_store_on_deleted, d);
}

/* Somebody replaced what was put there: it is not ours any more. */
static bool driver_store_is_anothers(const struct local_store *s, const struct storage_entry *e)
{
    char hash[DIGEST_SHA256_HEX_BYTES];
    if (!s->was_read || !s->there || e->hash[0] == '\0')
        return s->is_other;
    digest_sha256_hex(buf_str(&s->now), s->now.len, hash);
    return !str_eq(e->hash, hash);
}

const char *local_driver_store_config(const struct local_driver *d)
{
    const struct cfg_content *c = d->store.request.foresight != NULL ? d->store.request.config : d->file;
    return c != NULL ? c->text : "";
}

enum local_store_fate local_driver_store_fate(const struct local_driver *d, const struct storage_entry *e)
{
    const struct local_store *s = &d->store;
    if (!e->found && storage_is_named(local_driver_store_config(d), e->stored))
        return LOCAL_STORE_STAYS;
    if (e->found || driver_store_is_anothers(s, e) || (s->was_read && !s->there))
        return LOCAL_STORE_FORGOTTEN;
    return s->was_read ? LOCAL_STORE_DELETED : LOCAL_STORE_UNREAD;
}

static void driver_store_next_end(struct local_driver *d)
{
    struct local_store *s = &d->store;
    while (s->at < s->entries.count) {
        struct storage_entry *e = &s->entries.list[s->at];
        bool wanted = storage_files_find(s->request.files, e->place, e->stored) != NULL;
        switch (wanted ? LOCAL_STORE_STAYS : local_driver_store_fate(d, e)) {
        case LOCAL_STORE_STAYS:
            s->news.in_use += !wanted;
            local_driver_store_past(s);
            break;
        case LOCAL_STORE_FORGOTTEN:
            storage_entries_drop(&s->entries, s->at);
            s->was_read = s->is_other = false;
            break;
        case LOCAL_STORE_UNREAD:
            local_driver_store_read(d, e->place, e->stored);
            return;
        case LOCAL_STORE_DELETED:
            if (!local_driver_store_lock(d))
                driver_store_delete(d, e);
            return;
        }
    }
    for (size_t i = 0; i < s->entries.count; i++)
        storage_entry_settle(&s->entries.list[i]);
    cleanup(mem_free_ptr) char *text = storage_list_text(&s->entries, NULL);
    bool same = str_eq(text, s->list != NULL ? s->list : "");
    if (same)
        local_driver_store_end(d);
    else if (!local_driver_store_lock(d))
        (void)driver_store_write_list(d, mem_strdup(text));
}

static void driver_store_on_put_back(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_store *s = &d->store;
    struct storage_entry *e = &s->entries.list[s->at];
    d->request = NULL;
    if (a->status != LOCAL_OK) {
        driver_store_fail(d, a);
        return;
    }
    e->changed = false;
    digest_sha256_hex(e->good, e->good_len, e->hash);
    storage_entry_keep(e, NULL, 0); /* who writes next looks again */
    s->news.written++;
    local_driver_store_past(s);
    driver_store_next(d);
}

/* That one is never deleted, and it is not what runs. */
static void driver_store_leave(struct storage_entry *e)
{
    e->added = false;
    e->found = true;
    e->hash[0] = '\0';
    storage_entry_keep(e, NULL, 0);
}

/* What was read there is ours, or nothing. */
static void driver_store_put_back(struct local_driver *d, const struct storage_entry *e)
{
    if (e->added)
        driver_store_delete(d, e);
    else
        d->request =
            local_put_file(d->options.helper, e->place, e->stored, e->good, e->good_len, driver_store_on_put_back, d);
}

static void driver_store_next_back(struct local_driver *d)
{
    struct local_store *s = &d->store;
    for (; s->at < s->entries.count; local_driver_store_past(s)) {
        struct storage_entry *e = &s->entries.list[s->at];
        if (!e->changed || (!e->added && e->good == NULL))
            continue;
        if (local_driver_store_lock(d))
            return;
        if (driver_store_is_anothers(s, e)) {
            driver_store_leave(e);
            continue;
        }
        if (s->was_read)
            driver_store_put_back(d, e);
        else
            local_driver_store_read(d, e->place, e->stored);
        return;
    }
    if (!s->locked || !driver_store_write_list(d, storage_list_text(&s->entries, NULL)))
        local_driver_store_end(d);
}

/* ---- the beginning ---- */

static void driver_store_next(struct local_driver *d)
{
    switch (d->store.request.part) {
    case STORAGE_ADD:
    case STORAGE_FINAL:
        driver_store_next_put(d);
        break;
    case STORAGE_RUN:
        local_driver_store_run(d);
        break;
    case STORAGE_END:
        driver_store_next_end(d);
        break;
    case STORAGE_BACK:
        driver_store_next_back(d);
        break;
    case STORAGE_CHECK:
        local_driver_store_check(d);
        break;
    }
}

static void driver_store_begin(struct local_driver *d)
{
    struct local_store *s = &d->store;
    free(s->differs);
    s->differs = NULL;
    local_driver_store_run_clear(&s->run);
    s->news = (struct stored){.result = TRANSACTION_COMMITTED, .retry_after_ms = -1};
    s->at = 0;
    s->announced = s->looked = s->was_read = s->is_other = false;
    if (s->known)
        driver_store_next(d);
    else
        d->request = local_read_folder_file(d->options.helper, STORAGE_GENERAL, STORAGE_LIST, driver_store_on_list, d);
}

void local_driver_store(struct driver *base, const struct storage_request *request)
{
    struct local_driver *d = local_driver_of(base);
    d->store.request = *request;
    d->store.locked = false;
    if (request->part != STORAGE_CHECK) { /* what `haproxy -c` took, it took with the files that there were */
        cfg_content_unref(d->checked);
        d->checked = NULL;
    }
    driver_store_begin(d);
}

void local_driver_store_init(struct local_driver *d)
{
    buf_init_secret(&d->store.now, 0);
    for (size_t i = 0; i < STORAGE_KINDS && d->options.folders != NULL; i++)
        d->store.folders[i] = mem_strdup(d->options.folders[i]);
}

void local_driver_store_fini(struct local_driver *d)
{
    storage_entries_fini(&d->store.entries);
    buf_fini(&d->store.now);
    free(d->store.list);
    free(d->store.writes);
    free(d->store.differs);
    local_driver_store_run_clear(&d->store.run);
    for (size_t i = 0; i < STORAGE_KINDS; i++)
        free(d->store.folders[i]);
}
