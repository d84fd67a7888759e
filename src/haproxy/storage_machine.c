#include "haproxy/storage_machine.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/content.h"
#include "haproxy/storage_foresight.h"
#include "haproxy/map_text.h"

static struct storage_step machine_begin(struct storage_machine *m);
static struct storage_step machine_next(struct storage_machine *m);
static struct storage_step machine_next_name(struct storage_machine *m);
static struct storage_step machine_next_put(struct storage_machine *m);
static struct storage_step machine_next_end(struct storage_machine *m);
static struct storage_step machine_next_back(struct storage_machine *m);
static struct storage_step machine_next_check(struct storage_machine *m);
static struct storage_step machine_wrote(struct storage_machine *m);

void storage_machine_init(struct storage_machine *m, bool by_api)
{
    *m = (struct storage_machine){.by_api = by_api, .held = by_api};
    buf_init_secret(&m->now, 0);
}

void storage_machine_fini(struct storage_machine *m)
{
    storage_entries_fini(&m->entries);
    buf_fini(&m->now);
    buf_fini(&m->grown);
    mem_free_all(m->list, m->differs, m->why);
}

/* ---- steps ---- */

static struct storage_step machine_step(struct storage_machine *m, enum storage_state state, enum storage_kind place,
                                        const char *stored)
{
    m->state = state;
    return (struct storage_step){.state = state, .place = place, .stored = stored};
}

static struct storage_step machine_lock(struct storage_machine *m)
{
    return machine_step(m, STORAGE_LOCK, STORAGE_GENERAL, STORAGE_LIST);
}

/* Whether it is carried out is not known where it fails: by then nothing is known of what is there. */
static struct storage_step machine_write(struct storage_machine *m, struct storage_entry *e, bool new,
                                         const char *bytes, size_t len)
{
    struct storage_step step = machine_step(m, STORAGE_WRITE, e->place, e->stored);
    e->hash[0] = '\0';
    digest_sha256_hex(bytes, len, m->hash);
    step.new = new;
    step.bytes = bytes;
    step.len = len;
    return step;
}

/* Takes the text. */
static struct storage_step machine_write_list(struct storage_machine *m, enum storage_state state, char *text)
{
    struct storage_step step = machine_step(m, state, STORAGE_GENERAL, STORAGE_LIST);
    free(m->list);
    m->list = text;
    step.new = !m->has_list;
    step.bytes = text;
    step.len = strlen(text);
    return step;
}

static struct storage_step machine_done(struct storage_machine *m)
{
    m->news.changed = storage_entries_changed(&m->entries);
    m->news.differs = m->differs;
    m->news.why = m->request.part == STORAGE_RUN ? m->why : NULL;
    m->request = (struct storage_request){0};
    buf_fini(&m->now);
    buf_fini(&m->grown);
    return machine_step(m, STORAGE_DONE, STORAGE_GENERAL, STORAGE_LIST);
}

struct storage_step storage_machine_end(struct storage_machine *m)
{
    m->news.result = TRANSACTION_COMMITTED;
    return machine_done(m);
}

/* ---- events ---- */

struct storage_step storage_machine_start(struct storage_machine *m, const struct storage_request *request)
{
    m->request = *request;
    m->locked = m->by_api;
    return machine_begin(m);
}

static void machine_take(struct storage_machine *m, const struct storage_reply *r)
{
    buf_clear(&m->now);
    m->there = r->outcome == STORAGE_FINE;
    m->is_other = r->outcome == STORAGE_OTHER;
    m->was_read = !m->is_other;
    if (m->there)
        buf_addn(&m->now, r->bytes, r->len);
}

static void machine_past(struct storage_machine *m)
{
    m->at++;
    m->was_read = m->is_other = false;
}

static void machine_drop(struct storage_machine *m)
{
    storage_entries_drop(&m->entries, m->at);
    m->was_read = m->is_other = false;
}

/* What is in the place of a file that is to be there is replaced only if it is a file. */
static bool machine_goes_on(const struct storage_machine *m, enum storage_outcome o)
{
    bool reads = m->state == STORAGE_READ_FILE, deletes = m->state == STORAGE_DELETE;
    bool ends = m->request.part == STORAGE_END || m->request.part == STORAGE_BACK;
    bool only_checks = m->request.part == STORAGE_CHECK && m->request.foresight == NULL;
    switch (o) {
    case STORAGE_FINE:
        return true;
    case STORAGE_NONE:
        return reads || deletes || m->state == STORAGE_READ_LIST;
    case STORAGE_OTHER:
        return reads && (ends || only_checks || m->at >= m->request.files->count);
    case STORAGE_IN_USE:
        return deletes;
    case STORAGE_IS_LOCKED:
    case STORAGE_FAILED:
        break;
    }
    return false;
}

struct storage_step storage_machine_answer(struct storage_machine *m, const struct storage_reply *r)
{
    bool held = m->held;
    if (!machine_goes_on(m, r->outcome)) {
        bool lock = m->state == STORAGE_LOCK;
        m->held = m->held && !(lock && r->outcome == STORAGE_IS_LOCKED);
        m->known = m->known && m->state != STORAGE_ANNOUNCE && m->state != STORAGE_WRITE_LIST && (!lock || m->held);
        if (lock && !m->held)
            storage_entries_fini(&m->entries);
        m->news.result = r->result;
        m->news.error = r->error;
        m->news.retry_after_ms = r->retry_after_ms;
        return machine_done(m);
    }
    switch (m->state) {
    case STORAGE_LOCK: /* until now another daemon may have written to what was read */
        m->locked = m->held = true;
        if (held)
            return machine_next(m);
        m->known = false;
        storage_entries_fini(&m->entries);
        return machine_begin(m);
    case STORAGE_READ_LIST:
        m->known = true;
        m->has_list = r->outcome == STORAGE_FINE;
        free(m->list);
        m->list = m->has_list ? mem_strndup(r->bytes, r->len) : NULL;
        storage_list_read(&m->entries, m->list != NULL ? m->list : "");
        return m->by_api ? machine_next_name(m) : machine_next(m);
    case STORAGE_READ_NAMES:
        m->at++;
        return machine_next_name(m);
    case STORAGE_READ_FILE:
        machine_take(m, r);
        return machine_next(m);
    case STORAGE_ANNOUNCE:
        m->announced = m->has_list = true;
        return machine_next(m);
    case STORAGE_WRITE:
        return machine_wrote(m);
    case STORAGE_DELETE:
        if (r->outcome == STORAGE_IN_USE) { /* it stays, for another time */
            m->news.in_use++;
            machine_past(m);
        } else {
            m->news.deleted++;
            machine_drop(m);
        }
        return machine_next(m);
    case STORAGE_WRITE_LIST:
        m->has_list = true;
        break;
    case STORAGE_RUNNING: /* is not answered here */
    case STORAGE_IDLE:
    case STORAGE_DONE:
        break;
    }
    return storage_machine_end(m);
}

/* ---- what is next ---- */

/* Also once more, where what was known before the lock may be known no more. */
static struct storage_step machine_begin(struct storage_machine *m)
{
    bool looks = m->request.part == STORAGE_ADD || m->request.part == STORAGE_CHECK;
    mem_free_all(m->differs, m->why);
    m->differs = m->why = NULL;
    m->news = (struct stored){.result = TRANSACTION_UNKNOWN, .retry_after_ms = -1};
    m->at = 0;
    m->announced = m->looked = m->was_read = m->is_other = false;
    if (!m->known && (looks || !m->by_api))
        return machine_step(m, STORAGE_READ_LIST, STORAGE_GENERAL, STORAGE_LIST);
    for (size_t i = 0; m->by_api && looks && i < m->entries.count; i++)
        m->entries.list[i].present = false;
    return m->by_api && looks ? machine_next_name(m) : machine_next(m);
}

static struct storage_step machine_next(struct storage_machine *m)
{
    switch (m->request.part) {
    case STORAGE_ADD:
    case STORAGE_FINAL:
        return machine_next_put(m);
    case STORAGE_RUN:
        if (m->no_runtime == NULL)
            return m->locked ? machine_step(m, STORAGE_RUNNING, STORAGE_GENERAL, STORAGE_LIST) : machine_lock(m);
        m->why = mem_strdup(m->no_runtime);
        break;
    case STORAGE_END:
        return machine_next_end(m);
    case STORAGE_BACK:
        return machine_next_back(m);
    case STORAGE_CHECK:
        return machine_next_check(m);
    }
    return storage_machine_end(m);
}

static bool machine_hides(const struct storage_machine *m, enum storage_kind place)
{
    return m->by_api && place == STORAGE_CERTIFICATE;
}

static bool machine_has(const struct storage_machine *m, const struct storage_file *f)
{
    return m->there && m->now.len == f->len && memcmp(buf_str(&m->now), f->bytes, f->len) == 0;
}

/* Nothing is to be written. */
static bool machine_is_put(const struct storage_entry *e, const struct storage_file *f)
{
    return e->present && str_eq(e->hash, f->hash);
}

/* ---- what is there ---- */

/* True: files of this kind are to be there, or were put there. */
static bool machine_has_kind(const struct storage_machine *m, enum storage_kind place)
{
    bool any = false;
    for (size_t i = 0; i < m->entries.count; i++)
        any = any || m->entries.list[i].place == place;
    for (size_t i = 0; i < m->request.files->count; i++)
        any = any || m->request.files->list[i].place == place;
    return any;
}

static struct storage_step machine_next_name(struct storage_machine *m)
{
    while (m->at < STORAGE_KINDS && !machine_has_kind(m, (enum storage_kind)m->at))
        m->at++;
    if (m->at < STORAGE_KINDS)
        return machine_step(m, STORAGE_READ_NAMES, (enum storage_kind)m->at, "");
    for (size_t i = 0; i < m->request.files->count; i++) {
        const struct storage_file *f = &m->request.files->list[i];
        if (storage_entries_find(&m->entries, f->place, f->stored) == NULL)
            storage_entries_add(&m->entries, f->place, f->stored);
    }
    m->at = 0;
    m->looked = true;
    return machine_next(m);
}

void storage_machine_name(struct storage_machine *m, const char *stored)
{
    enum storage_kind place = (enum storage_kind)m->at;
    struct storage_entry *e = storage_entries_find(&m->entries, place, stored);
    if (e == NULL && storage_files_find(m->request.files, place, stored) != NULL) {
        e = storage_entries_add(&m->entries, place, stored);
        e->found = true;
    }
    if (e != NULL)
        e->present = true;
    m->has_list = m->has_list || (place == STORAGE_GENERAL && str_eq(stored, STORAGE_LIST));
}

/* Of a file that was read: is there, is as it is to be, was there before. */
static void machine_look(struct storage_machine *m, const struct storage_file *f)
{
    struct storage_entry *e = storage_entries_find(&m->entries, f->place, f->stored);
    bool new = e == NULL, same = machine_has(m, f);
    if (new)
        e = storage_entries_add(&m->entries, f->place, f->stored);
    e->found = new ? m->there : e->found;
    e->present = m->there;
    if (!same && str_eq(e->hash, f->hash))
        e->hash[0] = '\0';
    if (same && !machine_hides(m, f->place)) {
        e->changed = e->changed || (e->hash[0] != '\0' && !str_eq(e->hash, f->hash)); /* by hand: that does not run */
        memcpy(e->hash, f->hash, sizeof(e->hash));
    }
}

/* ---- ADD and FINAL ---- */

/* The next file that is not as it is to be. It counts as changed before that is known: a request that failed may have been
 * carried out. */
static struct storage_step machine_next_put(struct storage_machine *m)
{
    const struct storage_files *files = m->request.files;
    bool add = m->request.part == STORAGE_ADD;
    /* All of them are read before one is written: what stands in the way of one leaves none changed. */
    for (; add && !m->looked && m->at < files->count; machine_past(m)) {
        if (!m->was_read)
            return machine_step(m, STORAGE_READ_FILE, files->list[m->at].place, files->list[m->at].stored);
        machine_look(m, &files->list[m->at]);
    }
    if (add && !m->looked)
        m->at = 0;
    m->looked = true;
    /* What an earlier run left half done is known until it is settled only while the list is this daemon's. */
    if (!m->held && storage_entries_changed(&m->entries))
        return machine_lock(m);
    for (; m->at < files->count; machine_past(m)) {
        const struct storage_file *f = &files->list[m->at];
        struct storage_entry *e = storage_entries_find(&m->entries, f->place, f->stored);
        if (e == NULL || machine_is_put(e, f))
            continue;
        if (!m->locked)
            return machine_lock(m);
        if (!m->was_read && (!m->by_api || (add && e->present && !machine_hides(m, f->place))))
            return machine_step(m, STORAGE_READ_FILE, f->place, f->stored);
        if (m->was_read)
            machine_look(m, f);
        if (machine_is_put(e, f))
            continue;
        if (add && !m->announced) {
            char *text = storage_list_text(&m->entries, files);
            if (m->by_api || !str_eq(text, m->list != NULL ? m->list : ""))
                return machine_write_list(m, STORAGE_ANNOUNCE, text);
            free(text);
            m->announced = true;
        }
        if (add && m->was_read && m->there && !e->changed && e->good == NULL)
            storage_entry_keep(e, buf_str(&m->now), m->now.len);
        bool grows = add && f->place == STORAGE_MAP && e->present && !m->request.alone;
        bool whole = !grows || map_text_grow(buf_str(&m->now), f->bytes, &m->grown);
        m->news.unfinished = m->news.unfinished || !whole;
        if (!whole && m->grown.len == m->now.len) /* it loses lines, and gains none */
            continue;
        bool new = !e->present;
        e->added = e->added || new;
        e->found = e->found && !new;
        e->changed = true;
        return whole ? machine_write(m, e, new, f->bytes, f->len)
                     : machine_write(m, e, new, buf_str(&m->grown), m->grown.len);
    }
    return storage_machine_end(m);
}

/* ---- END and BACK ---- */

/* Another writer replaced what was put there: it is not the daemon's any more. */
static bool machine_is_anothers(const struct storage_machine *m, const struct storage_entry *e)
{
    char hash[DIGEST_SHA256_HEX_BYTES];
    if (!m->was_read || !m->there || e->hash[0] == '\0')
        return m->is_other;
    digest_sha256_hex(buf_str(&m->now), m->now.len, hash);
    return !str_eq(e->hash, hash);
}

const char *storage_machine_config(const struct storage_machine *m)
{
    return m->request.config != NULL ? m->request.config->text : "";
}

/* What becomes of one that is not in the list of files. */
enum machine_fate { MACHINE_STAYS, MACHINE_FORGOTTEN, MACHINE_UNREAD, MACHINE_DELETED };

static enum machine_fate machine_fate(const struct storage_machine *m, const struct storage_entry *e)
{
    if (m->by_api)
        return e->found || !e->present ? MACHINE_FORGOTTEN : MACHINE_DELETED;
    if (!e->found && storage_is_named(storage_machine_config(m), e->stored))
        return MACHINE_STAYS;
    if (e->found || machine_is_anothers(m, e) || (m->was_read && !m->there))
        return MACHINE_FORGOTTEN;
    return m->was_read ? MACHINE_DELETED : MACHINE_UNREAD;
}

void storage_machine_settle(const struct storage_machine *m, struct storage_entry *e)
{
    const struct storage_file *f = storage_files_find(m->request.files, e->place, e->stored);
    storage_entry_settle(e);
    if (f != NULL && machine_hides(m, f->place))
        storage_entry_keep(e, f->bytes, f->len);
}

/* As it is by now. */
static struct storage_step machine_next_list(struct storage_machine *m)
{
    char *text = storage_list_text(&m->entries, NULL);
    bool same = str_eq(text, m->list != NULL ? m->list : "");
    if (!same && m->locked)
        return machine_write_list(m, STORAGE_WRITE_LIST, text);
    free(text);
    return same ? storage_machine_end(m) : machine_lock(m);
}

static struct storage_step machine_next_end(struct storage_machine *m)
{
    while (m->at < m->entries.count) {
        const struct storage_entry *e = &m->entries.list[m->at];
        bool wanted = storage_files_find(m->request.files, e->place, e->stored) != NULL;
        switch (wanted ? MACHINE_STAYS : machine_fate(m, e)) {
        case MACHINE_STAYS:
            m->news.in_use += !wanted;
            machine_past(m);
            break;
        case MACHINE_FORGOTTEN:
            machine_drop(m);
            break;
        case MACHINE_UNREAD:
            return machine_step(m, STORAGE_READ_FILE, e->place, e->stored);
        case MACHINE_DELETED:
            return m->locked ? machine_step(m, STORAGE_DELETE, e->place, e->stored) : machine_lock(m);
        }
    }
    for (size_t i = 0; i < m->entries.count; i++)
        storage_machine_settle(m, &m->entries.list[i]);
    return machine_next_list(m);
}

static struct storage_step machine_next_back(struct storage_machine *m)
{
    for (; m->at < m->entries.count; machine_past(m)) {
        struct storage_entry *e = &m->entries.list[m->at];
        if (!e->changed || (!e->added && e->good == NULL))
            continue;
        if (!m->locked)
            return machine_lock(m);
        if (!m->by_api && machine_is_anothers(m, e)) { /* that one is never deleted, and it is not what runs */
            e->added = false;
            e->found = true;
            e->hash[0] = '\0';
            storage_entry_keep(e, NULL, 0);
            continue;
        }
        if (!m->by_api && !m->was_read)
            return machine_step(m, STORAGE_READ_FILE, e->place, e->stored);
        return e->added ? machine_step(m, STORAGE_DELETE, e->place, e->stored)
                        : machine_write(m, e, false, e->good, e->good_len);
    }
    /* A file of a name that went which another writer puts there is that one's; one that is there again is what runs, to the
     * next run, too. */
    return m->locked ? machine_next_list(m) : storage_machine_end(m);
}

static struct storage_step machine_wrote(struct storage_machine *m)
{
    bool back = m->request.part == STORAGE_BACK;
    const struct storage_file *f = back ? NULL : &m->request.files->list[m->at];
    struct storage_entry *e = back ? &m->entries.list[m->at] : storage_entries_find(&m->entries, f->place, f->stored);
    e->present = true;
    memcpy(e->hash, m->hash, sizeof(e->hash));
    if (back) {
        e->changed = false;
        if (!machine_hides(m, e->place))
            storage_entry_keep(e, NULL, 0); /* the next write reads again */
    }
    m->news.written++;
    m->news.certificates += f != NULL && f->kind == STORAGE_CERTIFICATE;
    machine_past(m);
    return machine_next(m);
}

/* ---- CHECK: nothing is written ---- */

static void machine_check_file(struct storage_machine *m, const struct storage_file *f)
{
    bool same = machine_has(m, f);
    if (!same && m->news.differing++ == 0)
        m->differs = mem_printf("%s/%s", storage_folder(f->kind), f->name);
    if (m->by_api || m->request.foresight != NULL)
        machine_look(m, f); /* what another writer changed is written anew whenever files are stored */
    if (m->request.foresight == NULL)
        return;
    struct storage_foreseen *seen = storage_foresight_add(m->request.foresight, f->kind, f->name, STORAGE_UNCHANGED);
    if (f->place != STORAGE_MAP || same)
        return;
    struct storage_entry *e = storage_entries_find(&m->entries, f->place, f->stored);
    storage_foreseen_count(seen, buf_str(&m->now), f->bytes);
    if (!m->by_api && m->there && !e->changed && e->good == NULL)
        storage_entry_keep(e, buf_str(&m->now), m->now.len);
}

/* `at` counts files, then entries. */
static struct storage_step machine_next_check(struct storage_machine *m)
{
    const struct storage_files *files = m->request.files;
    struct storage_foresight *foresight = m->request.foresight;
    for (; m->at < files->count; machine_past(m)) {
        const struct storage_file *f = &files->list[m->at];
        const struct storage_entry *e = storage_entries_find(&m->entries, f->place, f->stored);
        if (!m->was_read && !m->is_other && (!m->by_api || e->present))
            return machine_step(m, STORAGE_READ_FILE, f->place, f->stored);
        if (m->by_api && !m->was_read)
            machine_take(m, &(struct storage_reply){.outcome = STORAGE_NONE});
        machine_check_file(m, f);
    }
    if (foresight == NULL)
        return storage_machine_end(m);
    /* One that the configuration has no more, by what decides about it at the END. */
    for (; m->at - files->count < m->entries.count; machine_past(m)) {
        const struct storage_entry *e = &m->entries.list[m->at - files->count];
        if (storage_files_find(files, e->place, e->stored) != NULL)
            continue;
        enum machine_fate fate = machine_fate(m, e);
        if (fate == MACHINE_UNREAD)
            return machine_step(m, STORAGE_READ_FILE, e->place, e->stored);
        if (!e->changed && fate != MACHINE_DELETED)
            continue;
        struct storage_foreseen *seen = storage_foresight_add(foresight, e->place, e->stored, STORAGE_GOES);
        if (e->changed)
            storage_foreseen_reload(seen, m->by_api ? "it is removed" : STORAGE_CHANGED_BEFORE);
    }
    return machine_step(m, STORAGE_RUNNING, STORAGE_GENERAL, STORAGE_LIST);
}

bool storage_machine_concerns(const struct storage_machine *m, const struct storage_file *f)
{
    const struct storage_entry *e = storage_entries_find(&m->entries, f->place, f->stored);
    return e != NULL && (e->changed || (m->request.foresight != NULL && !machine_is_put(e, f)));
}
