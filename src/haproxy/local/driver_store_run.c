/*
 * Maps and certificates by the runtime, instead of a reload: those that HAProxy has loaded by the path of ours. Each is
 * prepared beside what runs (a map's next version, a certificate's transaction), committed and read back. What cannot be
 * done so, or does not come about, is for a reload, which loads those that went before, too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/local/driver_internal.h"
#include "net/pem.h"

/* HAProxy takes no longer command than tune.bufsize, 16 KiB unless somebody made it smaller. */
#define CHUNK_BYTES 8192
#define PEM_BYTES 15000

/* What HAProxy is told of a file, of which `config plan` shows no more than these. */
#define PREPARE_MAP "prepare map %s"
#define ADD_MAP(version) "add map @" version " %s <<\n"
#define COMMIT_MAP(version) "commit map @" version " %s"
#define SET_CERTIFICATE "set ssl cert %s <<\n"
#define COMMIT_CERTIFICATE "commit ssl cert %s"

static void store_run_next(struct local_driver *d);

static const struct storage_file *store_run_file(const struct local_driver *d)
{
    return &d->store.request.files->list[d->store.at];
}

static const char *store_run_name(const struct local_driver *d)
{
    const struct local_store_run *r = &d->store.run;
    return r->loaded[store_run_file(d)->kind == STORAGE_MAP ? CLI_MAPS : CLI_CERTIFICATES].list[r->name];
}

/* The first reason is the one that is told. */
static void store_run_refuse(struct local_driver *d, const char *why)
{
    const struct storage_file *f = store_run_file(d);
    if (d->store.run.why == NULL)
        d->store.run.why = mem_printf("%s/%s: %s", storage_folder(f->kind), f->name, why);
}

/* True: go on. */
static bool store_run_is_done(struct local_driver *d, int status, const struct error *err)
{
    if (status != 0)
        store_run_refuse(d, err->message);
    return status == 0;
}

/* HAProxy's answer; NULL: there is none. */
static const char *store_run_answer(struct local_driver *d, const struct local_answer *a)
{
    d->request = NULL;
    if (a->status == LOCAL_OK)
        return a->data;
    store_run_refuse(d, a->message);
    return NULL;
}

static void store_run_send(struct local_driver *d, local_answered *answered, const char *format, ...) printf_like(3, 4);

static void store_run_send(struct local_driver *d, local_answered *answered, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    cleanup(mem_free_ptr) char *command = mem_vprintf(format, ap);
    va_end(ap);
    d->request = local_command(d->options.commands, LOCAL_SOCKET_STATS, command, answered, d);
}

/* By one path; HAProxy may have it by others, too. */
static void store_run_next_name(struct local_driver *d)
{
    d->store.run.name++;
    store_run_next(d);
}

/* What was not committed does not stay in HAProxy's memory, where the reload does not come about. */
static void store_run_on_dropped(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    (void)a;
    d->request = NULL;
    store_run_next(d);
}

/* ---- a map ---- */

static void store_run_drop_version(struct local_driver *d)
{
    map_entries_fini(&d->store.run.entries);
    store_run_send(d, store_run_on_dropped, "clear map @%u %s", d->store.run.version, store_run_name(d));
}

static void store_run_on_map_shown(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_store_run *r = &d->store.run;
    cleanup(map_entries_fini) struct map_entries runs = {0};
    struct error err = {0};
    const char *answer = store_run_answer(d, a);
    if (answer != NULL && store_run_is_done(d, cli_read_map(answer, &runs, &err), &err) &&
        !map_entries_same(&runs, &r->entries))
        store_run_refuse(d, "HAProxy took it, and does not show it");
    map_entries_fini(&r->entries);
    store_run_next_name(d);
}

static void store_run_on_map_committed(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct error err = {0};
    const char *answer = store_run_answer(d, a);
    if (answer != NULL && store_run_is_done(d, cli_read_done(answer, &err), &err))
        store_run_send(d, store_run_on_map_shown, "show map %s", store_run_name(d));
    else
        store_run_drop_version(d);
}

static void store_run_add_entries(struct local_driver *d);

static void store_run_on_entries_added(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct error err = {0};
    const char *answer = store_run_answer(d, a);
    if (answer != NULL && store_run_is_done(d, cli_read_done(answer, &err), &err))
        store_run_add_entries(d);
    else
        store_run_drop_version(d);
}

static void store_run_add_entries(struct local_driver *d)
{
    struct local_store_run *r = &d->store.run;
    const char *name = store_run_name(d);
    struct buf chunk = {0};
    if (r->sent == r->entries.count) {
        store_run_send(d, store_run_on_map_committed, COMMIT_MAP("%u"), r->version, name);
        return;
    }
    while (r->sent < r->entries.count && chunk.len < CHUNK_BYTES) {
        const struct map_entry *e = &r->entries.list[r->sent++];
        buf_printf(&chunk, "%.*s %.*s\n", (int)e->key_len, e->key, (int)e->value_len, e->value);
    }
    store_run_send(d, store_run_on_entries_added, ADD_MAP("%u") "%s", r->version, name, buf_str(&chunk));
    buf_fini(&chunk);
}

static void store_run_on_prepared(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_store_run *r = &d->store.run;
    struct error err = {0};
    const char *answer = store_run_answer(d, a);
    if (answer == NULL || !store_run_is_done(d, cli_read_version(answer, &r->version, &err), &err)) {
        store_run_next(d);
        return;
    }
    r->sent = 0;
    map_entries_read(&r->entries, store_run_file(d)->bytes);
    store_run_add_entries(d);
}

/* ---- a certificate ---- */

static void store_run_drop_certificate(struct local_driver *d)
{
    store_run_send(d, store_run_on_dropped, "abort ssl cert %s", store_run_name(d));
}

static void store_run_on_certificate_shown(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    const struct pem_identity wanted = pem_identify(store_run_file(d)->bytes);
    struct pem_identity runs;
    struct error err = {0};
    const char *answer = store_run_answer(d, a);
    /* Where the file has none, HAProxy may have others of its `issuers-chain-path`. */
    if (answer != NULL && store_run_is_done(d, cli_read_certificate(answer, &runs, &err), &err) &&
        (!str_eq(runs.sha1, wanted.sha1) || (wanted.certificates > 1 && runs.certificates != wanted.certificates)))
        store_run_refuse(d, "HAProxy took it, and does not show it");
    store_run_next_name(d);
}

static void store_run_on_certificate_committed(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct error err = {0};
    const char *answer = store_run_answer(d, a);
    if (answer != NULL && store_run_is_done(d, cli_read_certificate_committed(answer, &err), &err))
        store_run_send(d, store_run_on_certificate_shown, "show ssl cert %s", store_run_name(d));
    else
        store_run_drop_certificate(d);
}

static void store_run_on_certificate_set(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct error err = {0};
    const char *answer = store_run_answer(d, a);
    if (answer != NULL && store_run_is_done(d, cli_read_certificate_set(answer, &err), &err))
        store_run_send(d, store_run_on_certificate_committed, COMMIT_CERTIFICATE, store_run_name(d));
    else
        store_run_drop_certificate(d);
}

/* An empty line ends what goes with a command. */
static void store_run_set_certificate(struct local_driver *d)
{
    struct buf command;
    buf_init_secret(&command, 0);
    buf_printf(&command, SET_CERTIFICATE, store_run_name(d));
    for (const char *line = store_run_file(d)->bytes; *line != '\0';) {
        size_t len = strcspn(line, "\r\n");
        buf_addn(&command, line, len);
        buf_add(&command, len > 0 ? "\n" : "");
        line += len + (line[len] != '\0');
    }
    d->request =
        local_command(d->options.commands, LOCAL_SOCKET_STATS, buf_str(&command), store_run_on_certificate_set, d);
    buf_wipe(&command);
}

/* ---- which of them HAProxy has loaded ---- */

static const char *store_run_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The path of ours, or the end of it, from where HAProxy was started. */
static bool store_run_is_ours(const struct local_driver *d, const struct storage_file *f, const char *name)
{
    cleanup(mem_free_ptr) char *path = mem_printf("%s/%s", d->store.folders[f->place], f->stored);
    const char *plain = str_has_prefix(name, "./") ? name + 2 : name;
    size_t len = strlen(path), end = strlen(plain);
    return str_eq(path, plain) || (*plain != '/' && strchr(plain, '/') != NULL && end < len &&
                                   path[len - end - 1] == '/' && str_eq(path + len - end, plain));
}

/* Under its stored name, by whatever path. */
static const char *store_run_find(const struct cli_names *n, const struct storage_file *f)
{
    for (size_t i = 0; i < n->count; i++)
        if (str_eq(store_run_base(n->list[i]), f->stored))
            return n->list[i];
    return NULL;
}

/* A path by which HAProxy has it that we cannot tell to be ours, or that fits into no command; NULL: none. */
static const char *store_run_strange(const struct local_driver *d, const struct storage_file *f,
                                     const struct cli_names *n)
{
    for (size_t i = 0; i < n->count; i++)
        if (str_eq(store_run_base(n->list[i]), f->stored) &&
            (!store_run_is_ours(d, f, n->list[i]) || n->list[i][strspn(n->list[i], STORAGE_NAME_ALPHABET "/")] != '\0'))
            return n->list[i];
    return NULL;
}

static const struct cli_names *store_run_loaded(const struct local_driver *d, const struct storage_file *f)
{
    return &d->store.run.loaded[f->kind == STORAGE_MAP ? CLI_MAPS : CLI_CERTIFICATES];
}

/* UNUSED, BY_RUNTIME or (why) BY_RELOAD; the lists were read. */
static enum storage_effect store_run_judge(const struct local_driver *d, const struct storage_file *f,
                                           struct error *why)
{
    const struct local_store_run *r = &d->store.run;
    bool map = f->kind == STORAGE_MAP;
    const struct cli_names *loaded = store_run_loaded(d, f);
    const char *strange = store_run_strange(d, f, loaded), *says = NULL;
    bool there = store_run_find(loaded, f) != NULL;
    bool otherwise = map ? !there && store_run_find(&r->loaded[CLI_ACLS], f) != NULL
                         : store_run_find(&r->loaded[CLI_CA_FILES], f) != NULL ||
                               store_run_find(&r->loaded[CLI_CRL_FILES], f) != NULL;
    if (f->kind == STORAGE_GENERAL)
        says = "it is neither a map nor a certificate";
    else if (otherwise)
        says = map ? "HAProxy has it as a list for an ACL" : "HAProxy has it as a CA or CRL file, too";
    else if (!there && storage_is_named(local_driver_store_config(d), f->stored))
        says = "haproxy.cfg names it, and HAProxy does not have it loaded";
    else if (!map && there && f->len > PEM_BYTES)
        says = "it is too long for a command";
    else if (strange == NULL)
        return there ? STORAGE_BY_RUNTIME : STORAGE_UNUSED;
    if (says != NULL)
        (void)error_set(why, ERROR_INVALID, "%s", says);
    else
        (void)error_set(why, ERROR_INVALID, "HAProxy has loaded %s, which may be it or another one", strange);
    return STORAGE_BY_RELOAD;
}

/* False: it needs nothing, or (why) the reload. */
static bool store_run_may(struct local_driver *d, const struct storage_file *f)
{
    struct error why = {0};
    enum storage_effect effect = store_run_judge(d, f, &why);
    if (effect == STORAGE_BY_RELOAD)
        store_run_refuse(d, why.message);
    return effect == STORAGE_BY_RUNTIME;
}

/* ---- the lists of what is loaded ---- */

/* It is not what HAProxy runs; beforehand: or will not be once it is stored. */
static bool store_run_concerns(const struct local_store *s, const struct storage_file *f)
{
    const struct storage_entry *e = storage_entries_find(&s->entries, f->place, f->stored);
    return e != NULL && (e->changed || (s->request.foresight != NULL && !local_driver_store_is_put(e, f)));
}

static bool store_run_needs(const struct local_driver *d, enum cli_list list)
{
    const struct local_store *s = &d->store;
    enum storage_kind kind = list == CLI_MAPS || list == CLI_ACLS ? STORAGE_MAP : STORAGE_CERTIFICATE;
    for (size_t i = 0; i < s->request.files->count; i++) {
        const struct storage_file *f = &s->request.files->list[i];
        if (f->kind == kind && store_run_concerns(s, f))
            return true;
    }
    return false;
}

static void store_run_on_list(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_store_run *r = &d->store.run;
    struct error err = {0};
    d->request = NULL;
    enum cli_list list = (enum cli_list)r->lists++;
    int status = a->status == LOCAL_OK ? cli_names_init(&r->loaded[list], list, a->data, &err)
                                       : error_set(&err, ERROR_RETRY, "%s", a->message);
    if (status != 0)
        r->why = mem_printf("%s: %s", cli_list_command(list), err.message);
    if (d->store.request.foresight != NULL)
        local_driver_store_run_foresee(d);
    else
        store_run_next(d);
}

static bool store_run_ask_list(struct local_driver *d)
{
    struct local_store_run *r = &d->store.run;
    while (r->lists < CLI_LISTS && !store_run_needs(d, (enum cli_list)r->lists))
        r->lists++;
    if (r->lists == CLI_LISTS)
        return false;
    store_run_send(d, store_run_on_list, "%s", cli_list_command((enum cli_list)r->lists));
    return true;
}

/* ---- one after the other ---- */

/* What is there is what runs. Only once that goes for all: the reload for one loads all, and may fail. */
static void store_run_end(struct local_driver *d)
{
    struct local_store *s = &d->store;
    for (size_t i = 0; i < s->request.files->count && s->run.why == NULL; i++) {
        const struct storage_file *f = &s->request.files->list[i];
        struct storage_entry *e = storage_entries_find(&s->entries, f->place, f->stored);
        if (e != NULL)
            storage_entry_settle(e);
    }
    if (s->run.why == NULL && storage_entries_changed(&s->entries))
        s->run.why = mem_strdup(LOCAL_STORE_CHANGED_BEFORE);
    s->news.why = s->run.why;
    local_driver_store_end(d);
}

/* The file in hand, by the path in hand. False: it is done, or refused. */
static bool store_run_begin_name(struct local_driver *d)
{
    struct local_store_run *r = &d->store.run;
    const struct storage_file *f = store_run_file(d);
    const struct cli_names *loaded = store_run_loaded(d, f);
    if (!store_run_concerns(&d->store, f) || (r->name == 0 && !store_run_may(d, f)))
        return false;
    while (r->name < loaded->count && !str_eq(store_run_base(loaded->list[r->name]), f->stored))
        r->name++;
    if (r->name == loaded->count) {
        d->store.news.ran++;
        return false;
    }
    if (f->kind == STORAGE_MAP)
        store_run_send(d, store_run_on_prepared, PREPARE_MAP, store_run_name(d));
    else
        store_run_set_certificate(d);
    return true;
}

static void store_run_next(struct local_driver *d)
{
    struct local_store *s = &d->store;
    if (s->run.why == NULL && store_run_ask_list(d))
        return;
    for (; s->run.why == NULL && s->at < s->request.files->count; s->at++, s->run.name = 0)
        if (store_run_begin_name(d))
            return;
    store_run_end(d);
}

/* ---- beforehand ---- */

/* By each path that HAProxy has it by. */
static void store_run_print(const struct local_driver *d, const struct storage_file *f, struct buf *ret)
{
    const struct cli_names *loaded = store_run_loaded(d, f);
    for (size_t i = 0; i < loaded->count; i++) {
        const char *name = loaded->list[i];
        if (!str_eq(store_run_base(name), f->stored))
            continue;
        if (f->kind == STORAGE_MAP) {
            cleanup(map_entries_fini) struct map_entries entries = {0};
            map_entries_read(&entries, f->bytes);
            buf_printf(ret, PREPARE_MAP "\n", name);
            if (entries.count > 0)
                buf_printf(ret, ADD_MAP("VERSION"), name);
            buf_printf(ret, COMMIT_MAP("VERSION") "\n", name);
        } else {
            buf_printf(ret, SET_CERTIFICATE COMMIT_CERTIFICATE "\n", name, name);
        }
    }
}

static void store_run_foresee_file(const struct local_driver *d, const struct storage_file *f,
                                   struct storage_foreseen *seen)
{
    struct error why = {0};
    if (d->store.run.why != NULL) {
        storage_foreseen_reload(seen, d->store.run.why);
        return;
    }
    seen->effect = store_run_judge(d, f, &why);
    if (seen->effect == STORAGE_BY_RELOAD)
        storage_foreseen_reload(seen, why.message);
    else if (seen->effect == STORAGE_BY_RUNTIME)
        store_run_print(d, f, &seen->commands);
}

static void store_run_need_socket(struct local_driver *d)
{
    if (d->options.commands == NULL)
        d->store.run.why = mem_strdup("there is no socket to tell it by");
}

void local_driver_store_run_foresee(struct local_driver *d)
{
    const struct local_store *s = &d->store;
    if (s->run.why == NULL)
        store_run_need_socket(d);
    if (s->run.why == NULL && store_run_ask_list(d))
        return;
    for (size_t i = 0; i < s->request.files->count; i++)
        if (store_run_concerns(s, &s->request.files->list[i]))
            store_run_foresee_file(d, &s->request.files->list[i], &s->request.foresight->list[i]);
    local_driver_store_end(d);
}

void local_driver_store_run(struct local_driver *d)
{
    store_run_need_socket(d);
    if (d->options.commands == NULL || !local_driver_store_lock(d))
        store_run_next(d);
}

void local_driver_store_run_clear(struct local_store_run *r)
{
    for (size_t i = 0; i < CLI_LISTS; i++)
        cli_names_fini(&r->loaded[i]);
    map_entries_fini(&r->entries);
    free(r->why);
    *r = (struct local_store_run){0};
}
