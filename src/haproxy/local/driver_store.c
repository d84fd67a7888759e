/*
 * The files beside the configuration, each kind in a folder of the helper's: each step of haproxy/storage_machine as a
 * request to the helper. The list of what was put there is the one that the driver of a Data Plane API keeps, in the same place.
 *
 * Maps and certificates that HAProxy has loaded by the path of the daemon's it gets by the runtime, instead of a reload. Each is
 * prepared beside what runs (a map's next version, a certificate's transaction), committed and read back; or a few entries
 * of a map are changed. What cannot be done so, or does not come about, is for a reload, which loads what went before, too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/local/driver_internal.h"
#include "haproxy/map_commands.h"
#include "net/pem.h"

/* HAProxy takes no longer command than tune.bufsize, 16 KiB unless an operator made it smaller. */
#define CHUNK_BYTES 8192
#define PEM_BYTES 15000

/* Commands for a file, of which `config plan` shows no more than these. */
#define PREPARE_MAP "prepare map %s"
#define ADD_MAP(version) "add map @" version " %s <<\n"
#define COMMIT_MAP(version) "commit map @" version " %s"
#define SET_CERTIFICATE "set ssl cert %s <<\n"
#define COMMIT_CERTIFICATE "commit ssl cert %s"

static void driver_store_perform(struct local_driver *d, struct storage_step step);
static void driver_store_on_answer(void *arg, const struct local_answer *a);
static void store_run_next(struct local_driver *d);
static bool store_run_ask_list(struct local_driver *d);
static bool store_run_begin_name(struct local_driver *d);
static void store_run_settle(struct storage_machine *m);
static void store_run_foresee(struct local_driver *d);
static int store_run_take(struct local_driver *d, const char *answer, struct error *err);
static void store_run_all_entries(struct local_driver *d);
static void store_run_some_entries(struct local_driver *d);
static void store_run_add_entries(struct local_driver *d);
static void store_run_clear(struct local_store_run *r);

/* ---- step by step ---- */

void local_driver_store(struct driver *base, const struct storage_request *request)
{
    struct local_driver *d = local_driver_of(base);
    struct storage_request r = *request;
    if (r.foresight == NULL)
        r.config = d->file.content;
    if (r.part != STORAGE_CHECK) /* what `haproxy -c` took, it took with the files that there were */
        local_driver_forget_checked(d);
    store_run_clear(&d->store.run);
    driver_store_perform(d, storage_machine_start(&d->store.machine, &r));
}

static void driver_store_tell(struct driver *base)
{
    const struct stored news = local_driver_of(base)->store.machine.news;
    base->events->stored(base->arg, &news);
}

static void driver_store_perform(struct local_driver *d, struct storage_step step)
{
    struct local_store *s = &d->store;
    struct storage_machine *m = &s->machine;
    struct local_helper *h = d->options.helper;
    switch (step.state) {
    case STORAGE_LOCK:
        s->request = local_lock_config(h, driver_store_on_answer, d);
        break;
    case STORAGE_READ_LIST:
    case STORAGE_READ_FILE:
        s->request = local_read_folder_file(h, step.place, step.stored, driver_store_on_answer, d);
        break;
    case STORAGE_ANNOUNCE:
    case STORAGE_WRITE_LIST:
    case STORAGE_WRITE:
        if (step.len > 0 || step.state == STORAGE_WRITE)
            s->request = local_put_file(h, step.place, step.stored, step.bytes, step.len, driver_store_on_answer, d);
        else /* a list of nothing */
            s->request = local_delete_file(h, step.place, step.stored, driver_store_on_answer, d);
        break;
    case STORAGE_DELETE:
        s->request = local_delete_file(h, step.place, step.stored, driver_store_on_answer, d);
        break;
    case STORAGE_RUNNING:
        if (m->no_runtime != NULL)
            m->why = mem_strdup(m->no_runtime);
        store_run_next(d);
        break;
    case STORAGE_DONE:
        local_driver_tell(d, driver_store_tell);
        break;
    case STORAGE_READ_NAMES: /* each file is read */
    case STORAGE_IDLE:
        break;
    }
}

/* A link or a fifo is no file that the daemon put there. */
static enum storage_outcome driver_store_outcome(const struct local_answer *a)
{
    if (a->status == LOCAL_OK)
        return STORAGE_FINE;
    if (a->status == LOCAL_FAILED && (a->error_number == ENOENT || a->error_number == ENOTDIR))
        return STORAGE_NONE;
    if (a->status == LOCAL_FAILED && (a->error_number == ELOOP || a->error_number == EINVAL))
        return STORAGE_OTHER;
    return a->status == LOCAL_LOCKED ? STORAGE_IS_LOCKED : STORAGE_FAILED;
}

static void driver_store_on_answer(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_store *s = &d->store;
    struct storage_reply r = {
        .outcome = driver_store_outcome(a), .bytes = a->data, .len = a->len, .retry_after_ms = -1};
    s->request = NULL;
    if (r.outcome != STORAGE_FINE) {
        r.result = local_driver_failed(d, a, false, &r.error);
        (void)error_prefix(&r.error, "files of the configuration");
    }
    driver_store_perform(d, storage_machine_answer(&s->machine, &r));
}

/* ---- one command after the other ---- */

static const struct storage_file *store_run_file(const struct local_driver *d)
{
    return &d->store.machine.request.files->list[d->store.run.at];
}

static const struct cli_names *store_run_loaded(const struct local_driver *d, const struct storage_file *f)
{
    return &d->store.run.loaded[f->kind == STORAGE_MAP ? CLI_MAPS : CLI_CERTIFICATES];
}

static const char *store_run_name(const struct local_driver *d)
{
    return store_run_loaded(d, store_run_file(d))->list[d->store.run.name];
}

/* What HAProxy has loaded, then each file by each path that HAProxy has it by. */
static void store_run_next(struct local_driver *d)
{
    struct storage_machine *m = &d->store.machine;
    struct local_store_run *r = &d->store.run;
    if (m->why == NULL && store_run_ask_list(d))
        return;
    if (m->request.foresight != NULL) {
        store_run_foresee(d);
    } else {
        for (; m->why == NULL && r->at < m->request.files->count; r->at++, r->name = 0)
            if (store_run_begin_name(d))
                return;
        store_run_settle(m);
    }
    driver_store_perform(d, storage_machine_end(m));
}

static void store_run_on_answer(void *arg, const struct local_answer *a);

static void store_run_send(struct local_driver *d, enum local_store_step step, const char *format, ...)
    printf_like(3, 4);

static void store_run_send(struct local_driver *d, enum local_store_step step, const char *format, ...)
{
    struct local_store *s = &d->store;
    va_list ap;
    va_start(ap, format);
    cleanup(mem_free_ptr) char *command = mem_vprintf(format, ap);
    va_end(ap);
    s->run.step = step;
    s->request = local_command(d->options.commands, LOCAL_SOCKET_STATS, command, store_run_on_answer, d);
}

/* The first reason is the one that is reported. */
static void store_run_refuse(struct local_driver *d, const char *why)
{
    struct storage_machine *m = &d->store.machine;
    const struct storage_file *f = store_run_file(d);
    if (m->why == NULL)
        m->why = mem_printf("%s/%s: %s", storage_folder(f->kind), f->name, why);
}

/* What was prepared and not committed does not stay in HAProxy's memory, where the reload does not come about. */
static void store_run_give_up(struct local_driver *d, bool answered, const struct error *err)
{
    struct storage_machine *m = &d->store.machine;
    const struct local_store_run *r = &d->store.run;
    bool others = r->step == LOCAL_STORE_SHOW_MAP && r->single && err->kind == ERROR_CONFLICT;
    if (answered && (r->step == LOCAL_STORE_SINGLE || others)) { /* HAProxy had others than were known of */
        store_run_all_entries(d);
        return;
    }
    if (r->step == LOCAL_STORE_LIST)
        m->why = mem_printf("%s: %s", cli_list_command((enum cli_list)(r->lists - 1)), err->message);
    else
        store_run_refuse(d, err->message);
    if (r->step == LOCAL_STORE_ADD || r->step == LOCAL_STORE_COMMIT_MAP)
        store_run_send(d, LOCAL_STORE_DROP, "clear map @%u %s", r->version, store_run_name(d));
    else if (r->step == LOCAL_STORE_SET || r->step == LOCAL_STORE_COMMIT)
        store_run_send(d, LOCAL_STORE_DROP, "abort ssl cert %s", store_run_name(d));
    else
        store_run_next(d);
}

static void store_run_on_answer(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_store *s = &d->store;
    struct local_store_run *r = &s->run;
    struct error err = {0};
    s->request = NULL;
    r->lists += r->step == LOCAL_STORE_LIST;
    int status =
        a->status == LOCAL_OK ? store_run_take(d, a->data, &err) : error_set(&err, ERROR_RETRY, "%s", a->message);
    if (status != 0) {
        store_run_give_up(d, a->status == LOCAL_OK, &err);
        return;
    }
    switch (r->step) {
    case LOCAL_STORE_SINGLE:
        store_run_some_entries(d);
        break;
    case LOCAL_STORE_PREPARE:
    case LOCAL_STORE_ADD:
        store_run_add_entries(d);
        break;
    case LOCAL_STORE_COMMIT_MAP:
        store_run_send(d, LOCAL_STORE_SHOW_MAP, "show map %s", store_run_name(d));
        break;
    case LOCAL_STORE_SET:
        store_run_send(d, LOCAL_STORE_COMMIT, COMMIT_CERTIFICATE, store_run_name(d));
        break;
    case LOCAL_STORE_COMMIT:
        store_run_send(d, LOCAL_STORE_SHOW, "show ssl cert %s", store_run_name(d));
        break;
    case LOCAL_STORE_SHOW_MAP:
    case LOCAL_STORE_SHOW:
        r->name++;
        store_run_next(d);
        break;
    case LOCAL_STORE_LIST:
    case LOCAL_STORE_DROP:
        store_run_next(d);
        break;
    }
}

/* HAProxy's answer to the command in hand. */
static int store_run_take(struct local_driver *d, const char *answer, struct error *err)
{
    struct local_store_run *r = &d->store.run;
    switch (r->step) {
    case LOCAL_STORE_LIST:
        return cli_names_init(&r->loaded[r->lists - 1], (enum cli_list)(r->lists - 1), answer, err);
    case LOCAL_STORE_SINGLE:
    case LOCAL_STORE_ADD:
    case LOCAL_STORE_COMMIT_MAP:
        return cli_read_done(answer, err);
    case LOCAL_STORE_PREPARE:
        return cli_read_version(answer, &r->version, err);
    case LOCAL_STORE_SET:
        return cli_read_certificate_set(answer, err);
    case LOCAL_STORE_COMMIT:
        return cli_read_certificate_committed(answer, err);
    case LOCAL_STORE_SHOW_MAP:
    case LOCAL_STORE_SHOW:
    case LOCAL_STORE_DROP:
        break;
    }
    bool same = true;
    if (r->step == LOCAL_STORE_SHOW_MAP) {
        cleanup(map_entries_fini) struct map_entries runs = {0};
        if (cli_read_map(answer, &runs, err) != 0)
            return -1;
        if (r->single) {
            map_entries_sort(&runs, map_entry_order);
            map_entries_sort(&r->entries, map_entry_order);
        }
        same = map_entries_same(&runs, &r->entries);
    } else if (r->step == LOCAL_STORE_SHOW) {
        const struct pem_identity wanted = pem_identify(store_run_file(d)->bytes);
        struct pem_identity runs;
        if (cli_read_certificate(answer, &runs, err) != 0)
            return -1;
        /* Where the file has none behind its own, HAProxy may have others of its `issuers-chain-path`. */
        same = str_eq(runs.sha1, wanted.sha1) && (wanted.certificates <= 1 || runs.certificates == wanted.certificates);
    }
    return same ? 0 : error_set(err, ERROR_CONFLICT, "HAProxy took it, and does not show it");
}

/* ---- a map ---- */

/* The commands for those that differ from what runs. False: all are to be sent. */
static bool store_run_print_single(const struct local_driver *d, const struct storage_file *f, const char *name,
                                   struct buf *ret)
{
    const struct storage_machine *m = &d->store.machine;
    const struct storage_entry *e = storage_entries_find(&m->entries, f->place, f->stored);
    return e->good != NULL && map_is_unordered(storage_machine_config(m), f->stored) &&
           map_commands_print(e->good, f->bytes, name, ret);
}

static void store_run_all_entries(struct local_driver *d)
{
    struct local_store_run *r = &d->store.run;
    r->single = false;
    r->sent = 0;
    map_entries_fini(&r->entries);
    map_entries_read(&r->entries, store_run_file(d)->bytes);
    store_run_send(d, LOCAL_STORE_PREPARE, PREPARE_MAP, store_run_name(d));
}

/* The next ones of the version that is prepared. */
static void store_run_add_entries(struct local_driver *d)
{
    struct local_store_run *r = &d->store.run;
    const char *name = store_run_name(d);
    cleanup(buf_fini) struct buf chunk = {0};
    if (r->sent == r->entries.count) {
        store_run_send(d, LOCAL_STORE_COMMIT_MAP, COMMIT_MAP("%u"), r->version, name);
        return;
    }
    while (r->sent < r->entries.count && chunk.len < CHUNK_BYTES) {
        const struct map_entry *e = &r->entries.list[r->sent++];
        buf_printf(&chunk, "%.*s %.*s\n", (int)e->key_len, e->key, (int)e->value_len, e->value);
    }
    store_run_send(d, LOCAL_STORE_ADD, ADD_MAP("%u") "%s", r->version, name, buf_str(&chunk));
}

/* As many single ones as one line takes, for each line is a connection. */
static void store_run_some_entries(struct local_driver *d)
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
        store_run_send(d, LOCAL_STORE_SINGLE, "%s", buf_str(&line));
    else
        store_run_send(d, LOCAL_STORE_SHOW_MAP, "show map %s", store_run_name(d));
}

/* ---- a certificate ---- */

/* An empty line ends what goes with a command. */
static void store_run_set_certificate(struct local_driver *d)
{
    struct local_store *s = &d->store;
    struct buf command;
    buf_init_secret(&command, 0);
    buf_printf(&command, SET_CERTIFICATE, store_run_name(d));
    for (const char *line = store_run_file(d)->bytes; *line != '\0';) {
        size_t len = strcspn(line, "\r\n");
        buf_addn(&command, line, len);
        buf_add(&command, len > 0 ? "\n" : "");
        line += len + (line[len] != '\0');
    }
    s->run.step = LOCAL_STORE_SET;
    s->request = local_command(d->options.commands, LOCAL_SOCKET_STATS, buf_str(&command), store_run_on_answer, d);
    buf_wipe(&command);
}

/* ---- what HAProxy has loaded ---- */

static bool store_run_ask_list(struct local_driver *d)
{
    const struct storage_machine *m = &d->store.machine;
    struct local_store_run *r = &d->store.run;
    for (; r->lists < CLI_LISTS; r->lists++) {
        enum storage_kind kind = r->lists == CLI_MAPS || r->lists == CLI_ACLS ? STORAGE_MAP : STORAGE_CERTIFICATE;
        for (size_t i = 0; i < m->request.files->count; i++) {
            const struct storage_file *f = &m->request.files->list[i];
            if (f->kind != kind || !storage_machine_concerns(m, f))
                continue;
            store_run_send(d, LOCAL_STORE_LIST, "%s", cli_list_command((enum cli_list)r->lists));
            return true;
        }
    }
    return false;
}

/* From the path `at` on, the next one with its stored name at the end; their count: there are no more. */
static size_t store_run_find(const struct cli_names *n, const struct storage_file *f, size_t at)
{
    for (; at < n->count; at++) {
        const char *slash = strrchr(n->list[at], '/');
        if (str_eq(slash != NULL ? slash + 1 : n->list[at], f->stored))
            break;
    }
    return at;
}

static bool store_run_lists(const struct cli_names *n, const struct storage_file *f)
{
    return store_run_find(n, f, 0) < n->count;
}

/* It is the daemon's own path, or the end of it, from where HAProxy was started. */
static bool store_run_is_own(const struct local_driver *d, const struct storage_file *f, const char *name)
{
    cleanup(mem_free_ptr) char *path = mem_printf("%s/%s", d->store.folders[f->place], f->stored);
    const char *plain = str_has_prefix(name, "./") ? name + 2 : name;
    size_t len = strlen(path), end = strlen(plain);
    return str_eq(path, plain) || (*plain != '/' && strchr(plain, '/') != NULL && end < len &&
                                   path[len - end - 1] == '/' && str_eq(path + len - end, plain));
}

/* A path by which HAProxy has it that may be another file's, or that fits into no command; NULL: none. */
static const char *store_run_strange(const struct local_driver *d, const struct storage_file *f,
                                     const struct cli_names *n)
{
    for (size_t i = store_run_find(n, f, 0); i < n->count; i = store_run_find(n, f, i + 1))
        if (!store_run_is_own(d, f, n->list[i]) || n->list[i][strspn(n->list[i], STORAGE_NAME_ALPHABET "/")] != '\0')
            return n->list[i];
    return NULL;
}

/* UNUSED, BY_RUNTIME or (why) BY_RELOAD. */
static enum storage_effect store_run_judge(const struct local_driver *d, const struct storage_file *f,
                                           struct error *why)
{
    const struct cli_names *lists = d->store.run.loaded, *loaded = store_run_loaded(d, f);
    bool map = f->kind == STORAGE_MAP, there = store_run_lists(loaded, f);
    const char *strange = store_run_strange(d, f, loaded), *says = NULL;
    if (f->kind == STORAGE_GENERAL)
        says = "it is neither a map nor a certificate";
    else if (map && !there && store_run_lists(&lists[CLI_ACLS], f))
        says = "HAProxy has it as a list for an ACL";
    else if (!map && (store_run_lists(&lists[CLI_CA_FILES], f) || store_run_lists(&lists[CLI_CRL_FILES], f)))
        says = "HAProxy has it as a CA or CRL file, too";
    else if (!there && storage_is_named(storage_machine_config(&d->store.machine), f->stored))
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

/* The file in hand, by the path in hand. False: it is done, or refused. */
static bool store_run_begin_name(struct local_driver *d)
{
    struct storage_machine *m = &d->store.machine;
    struct local_store_run *r = &d->store.run;
    const struct storage_file *f = store_run_file(d);
    const struct cli_names *loaded = store_run_loaded(d, f);
    struct error why = {0};
    if (!storage_machine_concerns(m, f))
        return false;
    enum storage_effect effect = r->name == 0 ? store_run_judge(d, f, &why) : STORAGE_BY_RUNTIME;
    if (effect == STORAGE_BY_RELOAD)
        store_run_refuse(d, why.message);
    if (effect != STORAGE_BY_RUNTIME)
        return false;
    r->name = store_run_find(loaded, f, r->name);
    if (r->name == loaded->count) {
        m->news.ran++;
        return false;
    }
    if (f->kind != STORAGE_MAP) {
        store_run_set_certificate(d);
        return true;
    }
    r->sent = 0;
    r->single = store_run_print_single(d, f, store_run_name(d), &r->commands);
    if (r->single) {
        map_entries_fini(&r->entries);
        map_entries_read(&r->entries, f->bytes);
        store_run_some_entries(d);
    } else {
        store_run_all_entries(d);
    }
    return true;
}

/* What is there is what runs. Only once that goes for all: the reload for one loads all, and may fail. */
static void store_run_settle(struct storage_machine *m)
{
    for (size_t i = 0; i < m->request.files->count && m->why == NULL; i++) {
        const struct storage_file *f = &m->request.files->list[i];
        struct storage_entry *e = storage_entries_find(&m->entries, f->place, f->stored);
        if (e != NULL)
            storage_machine_settle(m, e);
    }
    if (m->why == NULL && storage_entries_changed(&m->entries))
        m->why = mem_strdup(STORAGE_CHANGED_BEFORE);
}

/* ---- beforehand ---- */

/* By each path that HAProxy has it by. */
static void store_run_print(const struct local_driver *d, const struct storage_file *f, struct buf *ret)
{
    const struct cli_names *n = store_run_loaded(d, f);
    cleanup(map_entries_fini) struct map_entries entries = {0};
    cleanup(buf_fini) struct buf single = {0};
    if (f->kind == STORAGE_MAP)
        map_entries_read(&entries, f->bytes);
    for (size_t i = store_run_find(n, f, 0); i < n->count; i = store_run_find(n, f, i + 1)) {
        const char *name = n->list[i];
        if (f->kind != STORAGE_MAP) {
            buf_printf(ret, SET_CERTIFICATE COMMIT_CERTIFICATE "\n", name, name);
        } else if (store_run_print_single(d, f, name, &single)) {
            buf_add(ret, buf_str(&single));
        } else {
            buf_printf(ret, PREPARE_MAP "\n", name);
            if (entries.count > 0)
                buf_printf(ret, ADD_MAP("VERSION"), name);
            buf_printf(ret, COMMIT_MAP("VERSION") "\n", name);
        }
    }
}

static void store_run_foresee(struct local_driver *d)
{
    const struct storage_machine *m = &d->store.machine;
    for (size_t i = 0; i < m->request.files->count; i++) {
        const struct storage_file *f = &m->request.files->list[i];
        struct storage_foreseen *seen = &m->request.foresight->list[i];
        struct error why = {0};
        if (!storage_machine_concerns(m, f))
            continue;
        seen->effect = m->why == NULL ? store_run_judge(d, f, &why) : STORAGE_BY_RELOAD;
        if (seen->effect == STORAGE_BY_RELOAD)
            storage_foreseen_reload(seen, m->why != NULL ? m->why : why.message);
        else if (seen->effect == STORAGE_BY_RUNTIME)
            store_run_print(d, f, &seen->commands);
    }
}

/* ---- life ---- */

static void store_run_clear(struct local_store_run *r)
{
    for (size_t i = 0; i < CLI_LISTS; i++)
        cli_names_fini(&r->loaded[i]);
    map_entries_fini(&r->entries);
    buf_fini(&r->commands);
    *r = (struct local_store_run){0};
}

void local_driver_store_init(struct local_driver *d)
{
    struct storage_machine *m = &d->store.machine;
    struct local_store *s = &d->store;
    storage_machine_init(m, false);
    if (d->options.commands == NULL)
        m->no_runtime = "there is no socket for runtime commands";
    for (size_t i = 0; i < STORAGE_KINDS && d->options.folders != NULL; i++)
        s->folders[i] = mem_strdup(d->options.folders[i]);
}

void local_driver_store_cancel(struct local_driver *d)
{
    struct local_store *s = &d->store;
    local_request_cancel(s->request);
    s->request = NULL;
}

void local_driver_store_fini(struct local_driver *d)
{
    storage_machine_fini(&d->store.machine);
    store_run_clear(&d->store.run);
    for (size_t i = 0; i < STORAGE_KINDS; i++)
        free(d->store.folders[i]);
}
