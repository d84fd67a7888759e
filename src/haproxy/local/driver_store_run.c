/*
 * Maps and certificates by the runtime, instead of a reload: those that HAProxy has loaded by the path of ours. Each is
 * prepared beside what runs (a map's next version, a certificate's transaction), committed and read back; or a few entries
 * of a map are changed. What cannot be done so, or does not come about, is for a reload, which loads what went before, too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/local/driver_internal.h"
#include "haproxy/map_commands.h"
#include "net/pem.h"

/* HAProxy takes no longer command than tune.bufsize, 16 KiB unless somebody made it smaller. */
#define CHUNK_BYTES 8192

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

static void store_run_end_map(struct local_driver *d)
{
    map_entries_fini(&d->store.run.entries);
    store_run_next_name(d);
}

static void store_run_drop_version(struct local_driver *d)
{
    map_entries_fini(&d->store.run.entries);
    store_run_send(d, store_run_on_dropped, "clear map @%u %s", d->store.run.version, store_run_name(d));
}

static void store_run_all_entries(struct local_driver *d);

static void store_run_on_map_shown(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_store_run *r = &d->store.run;
    cleanup(map_entries_fini) struct map_entries runs = {0};
    struct error err = {0};
    const char *answer = store_run_answer(d, a);
    bool read = answer != NULL && store_run_is_done(d, cli_read_map(answer, &runs, &err), &err);
    if (r->single) {
        map_entries_sort(&runs, map_entry_order);
        map_entries_sort(&r->entries, map_entry_order);
    }
    bool differs = read && !map_entries_same(&runs, &r->entries);
    if (differs && r->single) { /* it had others than we knew of */
        store_run_all_entries(d);
        return;
    }
    if (differs)
        store_run_refuse(d, "HAProxy took it, and does not show it");
    store_run_end_map(d);
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

static void store_run_all_entries(struct local_driver *d)
{
    d->store.run.single = false;
    map_entries_fini(&d->store.run.entries);
    store_run_send(d, store_run_on_prepared, PREPARE_MAP, store_run_name(d));
}

/* The commands for those that differ from what runs. False: all are to be told. */
static bool store_run_print_single(const struct local_driver *d, const struct storage_file *f, const char *name,
                                   struct buf *ret)
{
    const struct storage_entry *e = storage_entries_find(&d->store.entries, f->place, f->stored);
    return e->good != NULL && map_is_unordered(local_driver_store_config(d), f->stored) &&
           map_commands_print(e->good, f->bytes, name, ret);
}

static void store_run_single_entries(struct local_driver *d);

static void store_run_on_single_entries(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct error refused = {0};
    const char *answer = store_run_answer(d, a);
    if (answer == NULL)
        store_run_end_map(d);
    else if (cli_read_done(answer, &refused) != 0)
        store_run_all_entries(d);
    else
        store_run_single_entries(d);
}

/* As many as one line takes, for each line is a connection. */
static void store_run_single_entries(struct local_driver *d)
{
    struct local_store_run *r = &d->store.run;
    const char *between = d->options.has_stats ? "; " : "; @1 ";
    cleanup(buf_fini) struct buf line = {0};
    while (r->sent < r->commands.len && line.len < CHUNK_BYTES) {
        const char *one = buf_str(&r->commands) + r->sent;
        size_t len = strcspn(one, "\n");
        buf_printf(&line, "%s%.*s", line.len > 0 ? between : "", (int)len, one);
        r->sent += len + 1;
    }
    if (line.len > 0)
        store_run_send(d, store_run_on_single_entries, "%s", buf_str(&line));
    else
        store_run_send(d, store_run_on_map_shown, "show map %s", store_run_name(d));
}

static void store_run_map(struct local_driver *d)
{
    struct local_store_run *r = &d->store.run;
    const struct storage_file *f = store_run_file(d);
    r->sent = 0;
    r->single = store_run_print_single(d, f, store_run_name(d), &r->commands);
    if (r->single) {
        map_entries_read(&r->entries, f->bytes);
        store_run_single_entries(d);
    } else {
        store_run_all_entries(d);
    }
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

/* False: it needs nothing, or (why) the reload. */
static bool store_run_may(struct local_driver *d, const struct storage_file *f)
{
    struct error why = {0};
    enum storage_effect effect = local_store_judge(d, f, &why);
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
    const struct cli_names *loaded = local_store_loaded(d, f);
    if (!store_run_concerns(&d->store, f) || (r->name == 0 && !store_run_may(d, f)))
        return false;
    while (r->name < loaded->count && !str_eq(local_store_base(loaded->list[r->name]), f->stored))
        r->name++;
    if (r->name == loaded->count) {
        d->store.news.ran++;
        return false;
    }
    if (f->kind == STORAGE_MAP)
        store_run_map(d);
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

static void store_run_print_map(const struct local_driver *d, const struct storage_file *f, const char *name,
                                struct buf *ret)
{
    cleanup(map_entries_fini) struct map_entries entries = {0};
    cleanup(buf_fini) struct buf single = {0};
    if (store_run_print_single(d, f, name, &single)) {
        buf_add(ret, buf_str(&single));
        return;
    }
    map_entries_read(&entries, f->bytes);
    buf_printf(ret, PREPARE_MAP "\n", name);
    if (entries.count > 0)
        buf_printf(ret, ADD_MAP("VERSION"), name);
    buf_printf(ret, COMMIT_MAP("VERSION") "\n", name);
}

/* By each path that HAProxy has it by. */
static void store_run_print(const struct local_driver *d, const struct storage_file *f, struct buf *ret)
{
    const struct cli_names *loaded = local_store_loaded(d, f);
    for (size_t i = 0; i < loaded->count; i++) {
        const char *name = loaded->list[i];
        if (!str_eq(local_store_base(name), f->stored))
            continue;
        if (f->kind == STORAGE_MAP) {
            store_run_print_map(d, f, name, ret);
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
    seen->effect = local_store_judge(d, f, &why);
    if (seen->effect == STORAGE_BY_RELOAD)
        storage_foreseen_reload(seen, why.message);
    else if (seen->effect == STORAGE_BY_RUNTIME)
        store_run_print(d, f, &seen->commands);
}

static void store_run_need_socket(struct local_driver *d)
{
    if (d->options.commands == NULL)
        d->store.run.why = mem_strdup("there is no socket for runtime commands");
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
    buf_fini(&r->commands);
    free(r->why);
    *r = (struct local_store_run){0};
}
