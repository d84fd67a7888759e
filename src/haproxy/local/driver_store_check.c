/* Whether the files beside the configuration are as they are to be; and what they would take, where that is asked: as
 * ADD would look at them, RUN would tell them (driver_store_run.c) and END would delete them. Nothing is written. */
#include "base/mem.h"
#include "haproxy/local/driver_internal.h"

/* A file that was read. */
static void store_check_file(struct local_store *s, const struct storage_file *f)
{
    bool same = local_driver_store_has(s, f);
    if (!same && s->news.differing++ == 0)
        s->differs = mem_printf("%s/%s", storage_folder(f->kind), f->name);
    if (s->request.foresight == NULL) {
        local_driver_store_past(s);
        return;
    }
    struct storage_foreseen *seen = storage_foresight_add(s->request.foresight, f->kind, f->name);
    if (f->kind == STORAGE_MAP && !same)
        storage_foreseen_count(seen, buf_str(&s->now), f->bytes);
    local_driver_store_look(s, f);
    struct storage_entry *e = storage_entries_find(&s->entries, f->place, f->stored);
    if (f->kind == STORAGE_MAP && s->there && !same && !e->changed && e->good == NULL)
        storage_entry_keep(e, buf_str(&s->now), s->now.len);
}

/* One that the configuration has no more. False: it has to be read first. */
static bool store_check_entry(struct local_driver *d, const struct storage_entry *e)
{
    enum local_store_fate fate = local_driver_store_fate(d, e);
    if (fate == LOCAL_STORE_UNREAD)
        return false;
    if (e->changed || fate == LOCAL_STORE_DELETED) {
        struct storage_foreseen *seen = storage_foresight_add(d->store.request.foresight, e->place, e->stored);
        seen->effect = STORAGE_GOES;
        if (e->changed)
            storage_foreseen_reload(seen, LOCAL_STORE_CHANGED_BEFORE);
    }
    return true;
}

/* `at` counts files, then entries. */
void local_driver_store_check(struct local_driver *d)
{
    struct local_store *s = &d->store;
    const struct storage_files *files = s->request.files;
    if (s->at < files->count && (s->was_read || s->is_other))
        store_check_file(s, &files->list[s->at]);
    if (s->at < files->count) {
        local_driver_store_read(d, files->list[s->at].place, files->list[s->at].stored);
        return;
    }
    while (s->request.foresight != NULL && s->at - files->count < s->entries.count) {
        const struct storage_entry *e = &s->entries.list[s->at - files->count];
        if (storage_files_find(files, e->place, e->stored) == NULL && !store_check_entry(d, e)) {
            local_driver_store_read(d, e->place, e->stored);
            return;
        }
        local_driver_store_past(s);
    }
    if (s->request.foresight != NULL)
        local_driver_store_run_foresee(d);
    else
        local_driver_store_end(d);
}
