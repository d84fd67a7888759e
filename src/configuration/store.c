#include "configuration/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "configuration/document.h"
#include "configuration/store_content.h"
#include "haproxy/cfg/content.h"
#include "json/read.h"
#include "json/write.h"

#define STORE_INDEX "configuration.json"
#define STORE_REJECTIONS 100
#define STORE_INDEX_MAX_BYTES (1u << 20)

struct store_entry {
    struct store_version v;
    char text_hash[DIGEST_SHA256_HEX_BYTES]; /* a file that was cut or changed is not used */
    struct document *kept;                   /* NULL: in the folder */
};

struct store_refusal {
    char *hash, *url, *haproxy, *message;
};

struct store {
    char *folder; /* NULL: memory only */
    int fd, lock; /* -1: none; lock -1: it is only read */
    bool taken;
    const struct log *log;
    struct log_limit trouble;
    struct store_entry entries[STORE_VERSIONS]; /* the latest first */
    size_t count;
    unsigned last_number, proven;                    /* 0: none */
    struct store_refusal refusals[STORE_REJECTIONS]; /* the oldest first */
    size_t refusal_count;
    struct store_version writing; /* its targets alone: what was written there last is not known to run */
    char *held_from, *held_why;
    unsigned held;
    bool paused;
    enum document_use use;
};

/* ---- the folder ---- */

static void store_trouble(struct store *s)
{
    cleanup(mem_free_ptr) char *why = mem_printf("%s: %m", s->folder);
    unsigned held_back;
    if (log_limit_pass_message(&s->trouble, clock_mono_ms(), why, &held_back))
        log_warn(s->log, "cannot write to STATE_DIR; the history of configurations is lost at the next restart",
                 log_str("error", why));
}

void store_put_version(const struct store *s, size_t i, struct yyjson_mut_doc *doc, struct yyjson_mut_val *list)
{
    const struct store_version *v = &s->entries[i].v;
    struct yyjson_mut_val *obj = json_add_object(doc, list);
    json_fields(doc, obj, json_uint("number", v->number), json_str("sha256", v->hash), json_str("id", v->id),
                json_bool("with_files", v->with_files), json_str("text_sha256", s->entries[i].text_hash),
                json_str("source", v->origin), json_ms("applied", v->applied_ms), json_uint("bytes", v->bytes));
    json_put_texts(doc, obj, "targets", (const char *const *)v->targets, v->target_count);
}

static void store_save(struct store *s)
{
    if (!s->taken)
        return;
    struct yyjson_mut_val *root;
    cleanup(json_free_ptr) struct yyjson_mut_doc *doc = json_new(&root);
    struct yyjson_mut_val *versions = json_put_list(doc, root, "versions");
    for (size_t i = 0; i < s->count; i++)
        store_put_version(s, i, doc, versions);
    struct yyjson_mut_val *rejections = json_put_list(doc, root, "rejections");
    for (size_t i = 0; i < s->refusal_count; i++) {
        const struct store_refusal *r = &s->refusals[i];
        json_fields(doc, json_add_object(doc, rejections), json_str("sha256", r->hash), json_str("target", r->url),
                    json_str("haproxy", r->haproxy), json_str("message", r->message));
    }
    if (s->held != 0) {
        struct yyjson_mut_val *held = json_put_object(doc, root, "rolled_back");
        json_fields(doc, held, json_str("from", s->held_from), json_uint("to", s->held));
        if (s->held_why != NULL)
            json_fields(doc, held, json_str("why", s->held_why));
    }
    json_put_texts(doc, root, "writing", (const char *const *)s->writing.targets, s->writing.target_count);
    json_fields(doc, root, json_uint("proven", s->proven));
    if (s->paused)
        json_fields(doc, root, json_bool("paused", true));
    cleanup(buf_fini) struct buf out = {0};
    json_write(doc, true, &out);
    buf_add(&out, "\n");
    if (store_content_write(s->fd, STORE_INDEX, out.data, out.len) != 0)
        store_trouble(s);
    else
        log_limit_reset(&s->trouble);
}

/* ---- reading it ---- */

/* NULL: it is not kept. */
static const struct store_entry *store_find(const struct store *s, unsigned number)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->entries[i].v.number == number)
            return &s->entries[i];
    return NULL;
}

static bool store_has_target(const struct store_version *v, const char *url)
{
    for (size_t i = 0; i < v->target_count; i++)
        if (str_eq(v->targets[i], url))
            return true;
    return false;
}

static void store_add_target(struct store_version *v, const char *url)
{
    v->targets = mem_resize(v->targets, v->target_count + 1, sizeof(v->targets[0]));
    v->targets[v->target_count++] = mem_strdup(url);
}

static bool store_version_forget(struct store_version *v, const char *url)
{
    for (size_t i = 0; i < v->target_count; i++) {
        if (!str_eq(v->targets[i], url))
            continue;
        free(v->targets[i]);
        v->targets[i] = v->targets[--v->target_count];
        return true;
    }
    return false;
}

static int store_get_targets(yyjson_val *obj, const char *key, struct store_version *v, struct error *err)
{
    yyjson_val *list, *url;
    size_t i, count;
    if (json_get_array(obj, key, &list, err) != 0)
        return -1;
    yyjson_arr_foreach (list, i, count, url)
        if (yyjson_is_str(url))
            store_add_target(v, yyjson_get_str(url));
    return 0;
}

static int store_get_version(struct store *s, yyjson_val *obj, struct error *err)
{
    struct store_entry e = {0};
    const char *hash, *id, *text_hash, *origin, *applied;
    int64_t number, bytes, applied_us;
    if (json_get_int(obj, "number", 1, UINT32_MAX, 0, &number, err) != 0 ||
        json_get_int(obj, "bytes", 0, DOCUMENT_MAX_BYTES, 0, &bytes, err) != 0 ||
        json_need_string(obj, "sha256", &hash, err) != 0 || json_need_string(obj, "id", &id, err) != 0 ||
        json_get_bool(obj, "with_files", false, &e.v.with_files, err) != 0 ||
        json_need_string(obj, "text_sha256", &text_hash, err) != 0 ||
        json_need_string(obj, "source", &origin, err) != 0 || json_get_string(obj, "applied", &applied, err) != 0)
        return -1;
    if (strlen(hash) + 1 != sizeof(e.v.hash) || strlen(id) + 1 != sizeof(e.v.id) ||
        strlen(text_hash) + 1 != sizeof(e.text_hash) || number == 0 || s->count == STORE_VERSIONS ||
        (s->count > 0 && number >= s->entries[s->count - 1].v.number))
        return error_set(err, ERROR_INVALID, "\"versions\" are not as the daemon writes them");
    e.v.number = (unsigned)number;
    e.v.bytes = (size_t)bytes;
    memcpy(e.v.hash, hash, sizeof(e.v.hash));
    memcpy(e.v.id, id, sizeof(e.v.id));
    memcpy(e.text_hash, text_hash, sizeof(e.text_hash));
    e.v.origin = mem_strdup(origin);
    e.v.applied_ms = rfc3339_parse(applied, &applied_us) == 0 ? applied_us / 1000 : 0;
    s->entries[s->count++] = e;
    s->last_number = s->last_number > e.v.number ? s->last_number : e.v.number;
    return store_get_targets(obj, "targets", &s->entries[s->count - 1].v, err);
}

static void store_add_refusal(struct store *s, const char *hash, const char *url, const char *haproxy,
                              const char *message)
{
    s->refusals[s->refusal_count++] = (struct store_refusal){.hash = mem_strdup(hash),
                                                             .url = mem_strdup(url),
                                                             .haproxy = mem_strdup(haproxy),
                                                             .message = mem_strdup(message)};
}

static int store_get_refusal(struct store *s, yyjson_val *obj, struct error *err)
{
    const char *hash, *url, *haproxy, *message;
    if (json_need_string(obj, "sha256", &hash, err) != 0 || json_need_string(obj, "target", &url, err) != 0 ||
        json_get_string(obj, "haproxy", &haproxy, err) != 0 || json_get_string(obj, "message", &message, err) != 0)
        return -1;
    if (s->refusal_count < STORE_REJECTIONS)
        store_add_refusal(s, hash, url, haproxy, message);
    return 0;
}

static int store_get_list(struct store *s, yyjson_val *root, const char *key,
                          int (*get)(struct store *s, yyjson_val *obj, struct error *err), struct error *err)
{
    yyjson_val *list, *one;
    size_t i, count;
    if (json_get_array(root, key, &list, err) != 0)
        return -1;
    yyjson_arr_foreach (list, i, count, one)
        if (json_is_object(one, key, err) != 0 || get(s, one, err) != 0)
            return -1;
    return 0;
}

/* What is neither a version nor a rejection. */
static int store_get_rest(struct store *s, yyjson_val *root, struct error *err)
{
    yyjson_val *held;
    const char *from, *why;
    int64_t number;
    if (json_get_object(root, "rolled_back", &held, err) != 0)
        return -1;
    if (held != NULL) {
        if (json_need_string(held, "from", &from, err) != 0 ||
            json_get_int(held, "to", 1, UINT32_MAX, 0, &number, err) != 0 ||
            json_get_string(held, "why", &why, err) != 0)
            return -1;
        s->held_from = mem_strdup(from);
        s->held_why = str_empty(why) ? NULL : mem_strdup(why);
        s->held = (unsigned)number;
    }
    /* A daemon that noted none watched nothing: what ran last ran well as far as is known. */
    if (json_get_int(root, "proven", 0, UINT32_MAX, s->count > 0 ? s->entries[0].v.number : 0, &number, err) != 0)
        return -1;
    s->proven = store_find(s, (unsigned)number) != NULL ? (unsigned)number : 0;
    if (store_get_targets(root, "writing", &s->writing, err) != 0)
        return -1;
    return json_get_bool(root, "paused", false, &s->paused, err);
}

static void store_load(struct store *s)
{
    struct error err = {0};
    yyjson_val *root;
    cleanup(mem_free_ptr) char *path = mem_printf("%s/" STORE_INDEX, s->folder);
    cleanup(buf_fini) struct buf text = {.max_bytes = STORE_INDEX_MAX_BYTES};
    int status = buf_read_file(&text, path);
    if (status != 0 && errno == ENOENT)
        return;
    if (status != 0) {
        (void)error_set(&err, ERROR_INVALID, "%m");
    } else {
        cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(text.data, text.len, 0, "it", &err);
        if (json_object_of(doc, "it", &root, &err) == 0 &&
            store_get_list(s, root, "versions", store_get_version, &err) == 0 &&
            store_get_list(s, root, "rejections", store_get_refusal, &err) == 0 && store_get_rest(s, root, &err) == 0)
            return;
    }
    log_warn(s->log, "the history of configurations cannot be read completely; the rest is dropped",
             log_str("file", path), log_str("error", err.message));
}

/* ---- versions ---- */

size_t store_count(const struct store *s)
{
    return s->count;
}

const struct store_version *store_version(const struct store *s, size_t i)
{
    return &s->entries[i].v;
}

static void store_targets_fini(struct store_version *v)
{
    while (v->target_count > 0)
        free(v->targets[--v->target_count]);
    free(v->targets);
    v->targets = NULL;
}

static void store_entry_fini(struct store_entry *e)
{
    store_targets_fini(&e->v);
    free(e->v.origin);
    document_unref(e->kept);
    *e = (struct store_entry){0};
}

bool store_ran(const struct store *s, const struct document *d, const char *url)
{
    return s->count > 0 && str_eq(s->entries[0].v.id, d->id) && store_has_target(&s->entries[0].v, url);
}

const struct store_version *store_latest(const struct store *s, const char *url)
{
    for (size_t i = 0; i < s->count; i++)
        if (store_has_target(&s->entries[i].v, url))
            return &s->entries[i].v;
    return NULL;
}

static void store_add_version(struct store *s, struct document *d)
{
    if (s->count == STORE_VERSIONS) { /* the oldest goes, but for the one that is gone back to */
        size_t oldest = s->count - 1;
        oldest -= s->entries[oldest].v.number == s->proven;
        if (s->taken)
            store_content_remove(s->fd, s->entries[oldest].v.number);
        store_entry_fini(&s->entries[oldest]);
        memmove(&s->entries[oldest], &s->entries[oldest + 1], (--s->count - oldest) * sizeof(s->entries[0]));
    }
    memmove(&s->entries[1], &s->entries[0], s->count * sizeof(s->entries[0]));
    struct store_entry *e = &s->entries[0];
    *e = (struct store_entry){.v = {.number = ++s->last_number,
                                    .origin = mem_strdup(d->origin),
                                    .applied_ms = (int64_t)clock_wall_ms(),
                                    .bytes = d->content->len,
                                    .with_files = d->with_files}};
    memcpy(e->v.hash, d->hash, sizeof(e->v.hash));
    memcpy(e->v.id, d->id, sizeof(e->v.id));
    memcpy(e->text_hash, d->text_hash, sizeof(e->text_hash));
    s->count++;
    if (s->taken && store_content_put(s->fd, e->v.number, d) == 0)
        return;
    if (s->taken)
        store_trouble(s);
    e->kept = document_ref(d);
    for (size_t i = 1; i < s->count; i++)
        if (s->entries[i].kept != NULL && s->entries[i].kept->references == 1)
            cfg_content_rest(s->entries[i].kept->content, 1);
}

void store_applied(struct store *s, struct document *d, const char *url)
{
    if (store_ran(s, d, url))
        return;
    if (s->count == 0 || !str_eq(s->entries[0].v.id, d->id))
        store_add_version(s, d);
    store_add_target(&s->entries[0].v, url);
    (void)store_version_forget(&s->writing, url);
    store_save(s);
}

void store_taken_back(struct store *s, const char *id, const char *url)
{
    for (size_t i = 0; i < s->count; i++)
        if (str_eq(s->entries[i].v.id, id) && store_version_forget(&s->entries[i].v, url))
            store_save(s);
}

void store_prove(struct store *s, const char *id)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct store_version *v = &s->entries[i].v;
        if (!str_eq(v->id, id))
            continue;
        if (s->proven == v->number)
            return;
        s->proven = v->number;
        store_save(s);
        return;
    }
}

bool store_is_proven(const struct store *s, const char *id)
{
    const struct store_entry *e = store_find(s, s->proven);
    return e != NULL && str_eq(e->v.id, id);
}

bool store_is_rejected(const struct store *s, const char *id)
{
    for (size_t i = 0; i < s->refusal_count; i++)
        if (str_eq(s->refusals[i].hash, id))
            return true;
    return false;
}

unsigned store_good(const struct store *s, const char *id)
{
    if (s->proven != 0)
        return store_is_proven(s, id) ? 0 : s->proven;
    for (size_t i = 0; i < s->count; i++)
        if (!str_eq(s->entries[i].v.id, id) && !store_is_rejected(s, s->entries[i].v.id))
            return s->entries[i].v.number;
    return 0;
}

struct document *store_document(const struct store *s, unsigned number, struct error *err)
{
    const struct store_entry *e = store_find(s, number);
    if (e == NULL) {
        (void)error_set(err, ERROR_INVALID, "there is no version %u; `config history` lists those that are kept",
                        number);
        return NULL;
    }
    return e->kept != NULL ? document_ref(e->kept) : store_content_get(s->folder, &e->v, e->text_hash, s->use, err);
}

/* ---- rejections ---- */

static void store_refusal_fini(struct store_refusal *r)
{
    mem_free_all(r->hash, r->url, r->haproxy, r->message);
}

static void store_drop_refusal(struct store *s, size_t i)
{
    store_refusal_fini(&s->refusals[i]);
    memmove(&s->refusals[i], &s->refusals[i + 1], (--s->refusal_count - i) * sizeof(s->refusals[0]));
}

void store_reject(struct store *s, const char *hash, const char *url, const char *haproxy, const char *message)
{
    if (store_rejection(s, hash, url, haproxy) != NULL)
        return;
    if (s->refusal_count == STORE_REJECTIONS)
        store_drop_refusal(s, 0);
    store_add_refusal(s, hash, url, haproxy, message);
    store_save(s);
}

const char *store_rejection(const struct store *s, const char *hash, const char *url, const char *haproxy)
{
    for (size_t i = 0; i < s->refusal_count; i++) {
        const struct store_refusal *r = &s->refusals[i];
        if (str_eq(r->hash, hash) && str_eq(r->url, url) && (haproxy[0] == '\0' || str_eq(r->haproxy, haproxy)))
            return r->message;
    }
    return NULL;
}

static bool store_drop_refusals(struct store *s, const char *hash, const char *url)
{
    size_t before = s->refusal_count;
    for (size_t i = s->refusal_count; i-- > 0;)
        if ((hash == NULL || str_eq(s->refusals[i].hash, hash)) && str_eq(s->refusals[i].url, url))
            store_drop_refusal(s, i);
    return s->refusal_count != before;
}

void store_forget_rejections(struct store *s, const char *hash, const char *url)
{
    if (store_drop_refusals(s, hash, url))
        store_save(s);
}

/* ---- what is under way at a HAProxy, and one that is no more ---- */

void store_writing(struct store *s, const char *url, bool writes)
{
    if (store_was_writing(s, url) == writes)
        return;
    if (writes)
        store_add_target(&s->writing, url);
    else
        (void)store_version_forget(&s->writing, url);
    store_save(s);
}

bool store_was_writing(const struct store *s, const char *url)
{
    return store_has_target(&s->writing, url);
}

void store_forget_target(struct store *s, const char *url)
{
    bool any = store_version_forget(&s->writing, url);
    for (size_t i = 0; i < s->count; i++)
        any = store_version_forget(&s->entries[i].v, url) || any;
    if (store_drop_refusals(s, NULL, url) || any)
        store_save(s);
}

/* ---- a pause ---- */

void store_pause(struct store *s, bool paused)
{
    if (s->paused == paused)
        return;
    s->paused = paused;
    store_save(s);
}

/* ---- a rollback ---- */

static void store_let_go(struct store *s)
{
    mem_free_all(s->held_from, s->held_why);
    s->held_from = s->held_why = NULL;
    s->held = 0;
}

void store_hold(struct store *s, const char *from_hash, unsigned number, const char *why)
{
    store_let_go(s);
    s->held_from = mem_strdup(from_hash);
    s->held_why = why != NULL ? mem_strdup(why) : NULL;
    s->held = number;
    store_save(s);
}

unsigned store_held(const struct store *s, const char *from_hash)
{
    return s->held != 0 && str_eq(s->held_from, from_hash) ? s->held : 0;
}

void store_release(struct store *s)
{
    if (s->held == 0)
        return;
    store_let_go(s);
    store_save(s);
}

/* ---- life ---- */

/* As store_open would, which makes what is missing. */
int store_check(const char *folder, struct error *err)
{
    cleanup(mem_free_ptr) char *lock = mem_printf("%s/lock", folder);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        return error_set(err, ERROR_FATAL, "STATE_DIR: %s: %m", folder);
    if (fd < 0) {
        char *slash = strrchr(folder, '/');
        cleanup(mem_free_ptr) char *parent = mem_strndup(folder, slash > folder ? (size_t)(slash - folder) : 1);
        return access(parent, W_OK | X_OK) == 0
                   ? 0
                   : error_set(err, ERROR_FATAL, "STATE_DIR: %s: cannot be made: %m", folder);
    }
    close(fd);
    bool there = access(lock, F_OK) == 0;
    return access(there ? lock : folder, there ? R_OK | W_OK : W_OK | X_OK) == 0
               ? 0
               : error_set(err, ERROR_FATAL, "STATE_DIR: %s: cannot be written: %m", lock);
}

static struct store *store_open(const char *folder, bool writes, const struct log *log, struct error *err)
{
    struct store *s = mem_alloc(sizeof(*s));
    int status = 0;
    *s =
        (struct store){.folder = mem_strdup(folder), .fd = -1, .lock = -1, .log = log, .trouble = {.period_ms = 60000}};
    if (folder == NULL)
        return s;
    if (writes && mkdir(folder, 0700) != 0 && errno != EEXIST)
        status = error_set(err, ERROR_FATAL, "STATE_DIR: %s: cannot be made: %m", folder);
    else if ((s->fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        status = error_set(err, ERROR_FATAL, "STATE_DIR: %s: %m", folder);
    else if (!writes)
        store_load(s);
    else if ((s->lock = openat(s->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) < 0)
        status = error_set(err, ERROR_FATAL, "STATE_DIR: %s/lock: cannot be written: %m", folder);
    if (status == 0)
        return s;
    store_free(s);
    return NULL;
}

struct store *store_new(const char *folder, const struct log *log, struct error *err)
{
    return store_open(folder, true, log, err);
}

struct store *store_read(const char *folder, const struct log *log, struct error *err)
{
    return store_open(folder, false, log, err);
}

static void store_forget(struct store *s)
{
    while (s->count > 0)
        store_entry_fini(&s->entries[--s->count]);
    while (s->refusal_count > 0)
        store_refusal_fini(&s->refusals[--s->refusal_count]);
    store_targets_fini(&s->writing);
    store_let_go(s);
    s->last_number = s->proven = 0;
    s->paused = false;
}

bool store_take(struct store *s)
{
    if (s->lock < 0 || s->taken)
        return true;
    if (flock(s->lock, LOCK_EX | LOCK_NB) != 0)
        return false;
    s->taken = true;
    store_forget(s);
    store_load(s);
    return true;
}

void store_give_back(struct store *s)
{
    if (s->taken)
        flock(s->lock, LOCK_UN);
    s->taken = false;
}

struct store_view store_view(const struct store *s)
{
    return (struct store_view){
        .folder_fd = s->lock >= 0 ? s->fd : -1, .paused = s->paused, .held = s->held, .held_why = s->held_why};
}

void store_use(struct store *s, enum document_use use)
{
    s->use = use;
}

void store_free(struct store *s)
{
    if (s == NULL)
        return;
    store_forget(s);
    if (s->fd >= 0)
        close(s->fd);
    if (s->lock >= 0)
        close(s->lock);
    mem_free_all(s->folder, s);
}
