#include "daemon/services/service_secrets.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/config/secret_source.h"
#include "haproxy/storage_files.h"
#include "services/plan.h"
#include "settings/settings.h"

#define READ_WITHIN_MS 5000
#define ASK_AGAIN_MS 60000 /* for one that was missing, and is watched no more */

struct service_secret {
    UT_hash_handle hh;
    char *name, *namespace;       /* "namespace/name", "namespace" */
    struct secret_source *source; /* NULL: not watched */
    struct secrets_budget *of;    /* of whose Services it is used in this composition; NULL: not used */
    enum secret_admission admission;
    uint64_t since_ms;          /* monotonic; it is watched, was found to be missing, or was named */
    bool missing;               /* when it was watched last */
    struct secret_object *kept; /* as the last good form of a Service has it; NULL: that has none, or it as it is */
    bool held;                  /* in this composition there is such a form, */
    bool shows_now, shows_kept; /* a Service that is served as it is names it; it is shown as it is kept */
    struct buf
        last; /* its certificate as HAProxy has it, of a daemon before, while it cannot be read; NULL data: none */
};

struct namespace_budget {
    UT_hash_handle hh;
    char *namespace;
    struct secrets_budget count;
};

struct service_secrets {
    const struct daemon *in;
    struct storage_known *known;
    void (*changed)(void *arg);
    void *arg;
    struct service_secret *all; /* by name */
    struct namespace_budget *budgets;
    bool complete; /* all were known once */
};

struct service_secrets *service_secrets_new(const struct daemon *in, struct storage_known *known,
                                            void (*changed)(void *arg), void *arg)
{
    struct service_secrets *s = mem_alloc(sizeof(*s));
    *s = (struct service_secrets){.in = in, .known = known, .changed = changed, .arg = arg};
    return s;
}

static void service_secret_drop(struct service_secrets *s, struct service_secret *one)
{
    HASH_DEL(s->all, one); /* NOLINT(clang-analyzer-unix.Malloc) */
    secret_source_free(one->source);
    record_free(&secret_record, one->kept);
    buf_fini(&one->last);
    mem_free_all(one->name, one->namespace, one);
}

static void service_secrets_drop_budgets(struct service_secrets *s)
{
    struct namespace_budget *b, *next;
    HASH_ITER (hh, s->budgets, b, next) {
        HASH_DEL(s->budgets, b); /* NOLINT(clang-analyzer-unix.Malloc) */
        mem_free_all(b->namespace, b);
    }
}

void service_secrets_free(struct service_secrets *s)
{
    struct service_secret *one, *next;
    if (s == NULL)
        return;
    HASH_ITER (hh, s->all, one, next)
        service_secret_drop(s, one);
    service_secrets_drop_budgets(s);
    free(s);
}

void service_secrets_stop(struct service_secrets *s)
{
    for (struct service_secret *one = s->all; one != NULL; one = one->hh.next)
        if (one->source != NULL)
            informer_stop(one->source->source.informer);
}

void service_secrets_poke(struct service_secrets *s)
{
    for (struct service_secret *one = s->all; one != NULL; one = one->hh.next)
        if (one->source != NULL)
            informer_poke(one->source->source.informer);
}

/* ---- how many a namespace may have ---- */

enum secret_admission secrets_admit(struct secrets_budget *b, enum secret_found found)
{
    if (found == SECRET_MISSING)
        return b->missing < SERVICE_SECRETS_MISSING_MAX && ++b->missing > 0 ? SECRET_WATCHED : SECRET_ASKED_LATER;
    if (found == SECRET_THERE)
        return b->there < SERVICE_SECRETS_MAX && ++b->there > 0 ? SECRET_WATCHED : SECRET_TOO_MANY;
    if (b->there + b->unknown < SERVICE_SECRETS_MAX) {
        b->unknown++;
        return SECRET_WATCHED;
    }
    return b->there < SERVICE_SECRETS_MAX ? SECRET_ASKED_LATER : SECRET_TOO_MANY;
}

/* ---- a composition ---- */

static struct service_secret *service_secrets_find(const struct service_secrets *s, const char *name)
{
    struct service_secret *one;
    HASH_FIND_STR(s->all, name, one);
    return one;
}

/* What runs has its certificate, perhaps, where HAProxy's files are on this machine. */
static struct service_secret *service_secrets_add(struct service_secrets *s, const char *name)
{
    const struct settings_local *local = &s->in->settings->local;
    cleanup(mem_free_ptr) char *file = service_secrets_file_name(name);
    struct service_secret *one = mem_alloc(sizeof(*one));
    *one = (struct service_secret){
        .name = mem_strdup(name), .namespace = mem_strndup(name, strcspn(name, "/")), .since_ms = clock_mono_ms()};
    HASH_ADD_STR(s->all, name, one);
    buf_init_secret(&one->last, STORAGE_FILE_MAX_BYTES);
    for (unsigned i = STORAGE_CERTIFICATE; local->file != NULL && i < STORAGE_KINDS && one->last.len == 0; i++) {
        cleanup(mem_free_ptr) char *folder = settings_local_folder(local, (enum settings_folder)i);
        cleanup(mem_free_ptr) char *stored = storage_stored_name((enum storage_kind)i, file);
        cleanup(mem_free_ptr) char *path = mem_printf("%s/%s", folder, stored);
        if (buf_read_file(&one->last, path) != 0)
            buf_wipe(&one->last);
    }
    return one;
}

void service_secrets_begin(struct service_secrets *s)
{
    for (struct service_secret *one = s->all; one != NULL; one = one->hh.next) {
        one->of = NULL;
        one->held = one->shows_now = one->shows_kept = false;
    }
    service_secrets_drop_budgets(s);
}

static bool service_secret_is_read(const struct service_secret *one)
{
    return one->source != NULL && one->source->synced;
}

static enum secret_found service_secret_found(const struct service_secret *one)
{
    if (service_secret_is_read(one))
        return one->source->object != NULL ? SECRET_THERE : SECRET_MISSING;
    return one->missing && clock_mono_ms() - one->since_ms < ASK_AGAIN_MS ? SECRET_MISSING : SECRET_UNKNOWN;
}

static int service_secret_add_to(const struct service_secrets *s, const struct service_secret *one, const char *name,
                                 struct storage_files *files, struct error *err)
{
    const struct secret_object *now = one->source != NULL ? one->source->object : NULL;
    if (one->shows_kept || service_secret_found(one) != SECRET_UNKNOWN)
        return secret_certificate_add(one->shows_kept ? one->kept : now, name, s->known, files, err);
    if (one->last.len == 0)
        return error_set(err, ERROR_INVALID, "it cannot be read");
    return storage_files_add_known(files, s->known, STORAGE_CERTIFICATE, name, buf_str(&one->last), one->last.len, err);
}

/* Of several namespaces that name it the first one with room for it has it: who has none takes it from nobody. */
static void service_secret_admit(struct service_secrets *s, struct service_secret *one, const char *namespace,
                                 enum secret_found found)
{
    struct namespace_budget *b;
    HASH_FIND_STR(s->budgets, namespace, b);
    if (b == NULL) {
        b = mem_alloc(sizeof(*b));
        b->namespace = mem_strdup(namespace);
        HASH_ADD_STR(s->budgets, namespace, b);
    }
    if (one->of == &b->count || (one->of != NULL && one->admission == SECRET_WATCHED))
        return;
    const enum secret_admission admission = secrets_admit(&b->count, found);
    if (one->of == NULL || admission < one->admission) {
        one->of = &b->count;
        one->admission = admission;
    }
}

bool service_secrets_use(struct service_secrets *s, const char *name, const char *namespace, struct buf *why)
{
    struct service_secret *one = service_secrets_find(s, name);
    cleanup(storage_files_fini) struct storage_files files = {0};
    struct error err = {0};
    if (one == NULL)
        one = service_secrets_add(s, name);
    const enum secret_found found = service_secret_found(one);
    service_secret_admit(s, one, namespace, found);
    if (one->admission == SECRET_TOO_MANY) {
        buf_printf(why, "Services of namespace %s name more than %d Secrets; name fewer of them", namespace,
                   SERVICE_SECRETS_MAX);
        return false;
    }
    if (found == SECRET_UNKNOWN && one->last.len == 0) {
        const struct informer_status status =
            one->source != NULL ? source_status(&one->source->source) : (struct informer_status){0};
        buf_printf(why, "it cannot be read%s%s", status.problem[0] != '\0' ? ": " : " yet", status.problem);
        return false;
    }
    if (service_secret_add_to(s, one, "tls", &files, &err) == 0)
        return true;
    buf_add(why, err.message);
    if (one->admission == SECRET_ASKED_LATER)
        buf_printf(why, ", like more than %d others that Services of namespace %s name: it is asked for now and then",
                   SERVICE_SECRETS_MISSING_MAX, namespace);
    return false;
}

void service_secrets_end(struct service_secrets *s)
{
    struct service_secret *one, *next;
    HASH_ITER (hh, s->all, one, next) {
        if (one->of == NULL) {
            service_secret_drop(s, one);
            continue;
        }
        if (!one->held) {
            record_free(&secret_record, one->kept);
            one->kept = NULL;
        }
        if (one->admission == SECRET_WATCHED && one->source == NULL) {
            const struct secret_source_options options = {.of = &kube_secrets,
                                                          .namespace = one->namespace,
                                                          .name = strchr(one->name, '/') + 1,
                                                          .keeps_past = true,
                                                          .metrics = s->in->metrics,
                                                          .log = s->in->log};
            one->source = secret_source_new(s->in->base, s->in->kube, &options, s->changed, s->arg);
            one->since_ms = clock_mono_ms();
            one->missing = false;
            informer_start(one->source->source.informer);
        } else if (one->admission != SECRET_WATCHED && one->source != NULL) {
            one->missing = service_secret_found(one) == SECRET_MISSING;
            one->since_ms = clock_mono_ms();
            secret_source_free(one->source);
            one->source = NULL;
        }
        if (service_secret_is_read(one))
            buf_wipe(&one->last);
    }
}

/* Without an answer the first composition is waited for, as what runs may serve it; later it holds up no other. */
bool service_secrets_settled(struct service_secrets *s)
{
    uint64_t now_ms = clock_mono_ms();
    for (const struct service_secret *one = s->all; one != NULL; one = one->hh.next) {
        bool denied = one->source != NULL && source_status(&one->source->source).denied != INFORMER_ALLOWED;
        bool waits = one->source != NULL && one->last.len == 0 && !s->complete;
        if (service_secret_found(one) == SECRET_UNKNOWN && one->admission != SECRET_TOO_MANY && !denied &&
            (waits || now_ms - one->since_ms < READ_WITHIN_MS))
            return false;
    }
    s->complete = true;
    return true;
}

bool service_secrets_ready(const struct service_secrets *s, struct checks *checks)
{
    bool all = true;
    for (const struct service_secret *one = s->all; one != NULL; one = one->hh.next) {
        bool serves = service_secret_is_read(one) || one->last.len > 0;
        bool denied = one->source != NULL && source_status(&one->source->source).denied != INFORMER_ALLOWED;
        if (one->source != NULL && (denied ? serves : !s->complete))
            all = source_ready(&one->source->source, true, checks) && all;
    }
    return all;
}

uint64_t service_secrets_hash(const struct service_secrets *s, const char *name)
{
    const struct service_secret *one = service_secrets_find(s, name);
    const struct secret_object *o = one != NULL && one->source != NULL ? one->source->object : NULL;
    uint64_t h = HASH_START;
    for (size_t i = 0; o != NULL && i < o->value_count; i++)
        h = hash_bytes(hash_string(h, o->values[i].key), o->values[i].bytes, o->values[i].len);
    return h;
}

/* ---- last good forms ---- */

/* The first Service that asks has it, for all that name it. */
void service_secrets_keep(struct service_secrets *s, const char *name)
{
    struct service_secret *one = service_secrets_find(s, name);
    struct secret_object *past = one != NULL && one->source != NULL ? secret_source_take_past(one->source) : NULL;
    if (past == NULL)
        return;
    record_free(&secret_record, one->kept);
    one->kept = past;
}

void service_secrets_hold(struct service_secrets *s, const char *name)
{
    struct service_secret *one = service_secrets_find(s, name);
    if (one != NULL)
        one->held = true;
}

void service_secrets_show(struct service_secrets *s, const char *name)
{
    struct service_secret *one = service_secrets_find(s, name);
    if (one != NULL)
        one->shows_now = true;
}

void service_secrets_show_kept(struct service_secrets *s, const char *name, bool own)
{
    struct service_secret *one = service_secrets_find(s, name);
    if (one != NULL && (own || !one->shows_now))
        one->shows_kept = one->kept != NULL;
}

void service_secrets_forget_past(struct service_secrets *s)
{
    for (struct service_secret *one = s->all; one != NULL; one = one->hh.next)
        record_free(&secret_record, one->source != NULL ? secret_source_take_past(one->source) : NULL);
}

/* ---- what comes of it ---- */

/* Neither name has a '_', and of them the second alone may have dots, which a Data Plane API makes '_'. */
char *service_secrets_file_name(const char *secret)
{
    const char *name = secret + strcspn(secret, "/");
    return mem_printf(SERVICES_FILES_PREFIX "%.*s_%s.pem", (int)(name - secret), secret, *name != '\0' ? name + 1 : "");
}

int service_secrets_add_files(const struct service_secrets *s, const struct services_plan *p,
                              struct storage_files *files)
{
    const char **list = mem_array(p->route_count, sizeof(list[0]));
    size_t count = 0;
    int status = 0;
    for (size_t i = 0; i < p->route_count; i++)
        if (!p->routes[i].refused && !p->routes[i].redirect && p->routes[i].options.tls &&
            p->routes[i].options.secret != NULL)
            list[count++] = p->routes[i].options.secret;
    if (count > 0)
        qsort(list, count, sizeof(list[0]), str_order);
    for (size_t i = 0; i < count && status == 0; i++) {
        const struct service_secret *one = service_secrets_find(s, list[i]);
        cleanup(mem_free_ptr) char *name = service_secrets_file_name(list[i]);
        struct error err = {0};
        if (i == 0 || !str_eq(list[i - 1], list[i]))
            status = one != NULL ? service_secret_add_to(s, one, name, files, &err) : -1;
    }
    free(list);
    return status;
}
