#include "daemon/config/config_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "configuration/file_source.h"
#include "daemon/config/secret_source.h"
#include "daemon/etcd/etcd_source.h"
#include "daemon/host_memory.h"
#include "daemon/quarantine.h"
#include "daemon/services/services_source.h"
#include "daemon/state_text.h"
#include "daemon/template/template_source.h"
#include "haproxy/storage_files.h"
#include "haproxy/storage_known.h"
#include "settings/settings.h"

#define KEYS_SHOWN 8

struct config_source {
    struct config_source_options options;
    const struct settings *settings;
    struct config_source_callbacks callbacks;
    void *arg;
    const struct source_ops *ops;
    void *source;                /* of that kind */
    struct storage_known *known; /* certificates of Secrets and templates */
    struct quarantine *quarantine;
    struct host_memory *hosts;
    struct document *document; /* the last good one; NULL: none yet */
    struct error problem;      /* of what is there now; kind NONE: document is that */
    bool paused;
    bool with_files; /* the source has brought some: when none is left, those go */
};

void config_source_give(struct config_source *s)
{
    s->callbacks.paused(s->arg, s->paused);
    if (s->document != NULL)
        s->callbacks.changed(s->arg, s->document);
    if (s->problem.kind != ERROR_NONE)
        s->callbacks.failed(s->arg, &s->problem);
}

void config_source_begin(struct config_source *s)
{
    if (s->ops->defer == NULL || !s->ops->defer(s->source))
        config_source_give(s);
}

/* The document is still the last good one: given again it would mean that the source has it again. */
static void config_source_fail(void *arg, const struct error *err)
{
    struct config_source *s = arg;
    s->problem = *err;
    s->callbacks.paused(s->arg, s->paused);
    s->callbacks.failed(s->arg, &s->problem);
}

/* hash NULL: not known. files: of a source that may have none at all they are only once it has brought some, so that HAProxy's own are
 * left alone. */
static int config_source_make(struct config_source *s, const char *origin, const char *bytes, size_t len,
                              const char *hash, struct storage_files *files, struct error *err)
{
    s->with_files = s->with_files || !s->ops->may_have_no_files || files->count > 0;
    struct document *d = document_new(s->options.use, origin, bytes, len, hash, s->with_files ? files : NULL, err);
    if (d == NULL)
        return -1;
    const struct etcd_source *etcd = config_source_as(s, &etcd_source_ops);
    d->trial = culprits_trial(quarantine_culprits(s->quarantine)) || (etcd != NULL && etcd_source_trial(etcd));
    quarantine_gives(s->quarantine,
                     s->document != NULL && str_eq(s->document->id, d->id) && s->document->trial == d->trial);
    storage_known_end(s->known);
    document_unref(s->document);
    s->document = d;
    return 0;
}

static int config_source_take(struct config_source *s, const char *origin, const char *bytes, size_t len,
                              const char *hash, struct storage_files *files)
{
    struct error err = {0};
    if (config_source_make(s, origin, bytes, len, hash, files, &err) != 0) {
        quarantine_refuse(s->quarantine, err.message);
        config_source_fail(s, &err);
        return -1;
    }
    error_clear(&s->problem);
    config_source_give(s);
    return 0;
}

static int config_source_on_made(void *arg, const char *origin, const char *bytes, size_t len,
                                 struct storage_files *files)
{
    return config_source_take(arg, origin, bytes, len, NULL, files);
}

/* ---- none ---- */

static void *config_source_make_none(struct config_source *s, struct error *err)
{
    (void)err;
    return s;
}

static const struct source_ops no_ops = {0};

/* ---- a file ---- */

static const struct source_ops file_ops = {
    .free = file_source_free, .start = file_source_start, .poke = file_source_poke};

static void config_source_on_file(void *arg, const char *bytes, size_t len, const char *hash,
                                  struct storage_files *files)
{
    struct config_source *s = arg;
    (void)config_source_take(s, s->settings->config_file, bytes, len, hash, files);
}

static void *config_source_make_file(struct config_source *s, struct error *err)
{
    static const struct file_source_callbacks callbacks = {.changed = config_source_on_file,
                                                           .failed = config_source_fail};
    const struct file_source_options options = {.path = s->settings->config_file,
                                                .folder = s->settings->config_files_dir,
                                                .max_bytes = DOCUMENT_MAX_BYTES,
                                                .reread_ms = s->settings->resync_period_ms,
                                                .once = !s->settings->config_file_watch};
    return file_source_new(s->options.in->base, &options, &callbacks, s, err);
}

/* ---- Secrets: one with the configuration, and those of config_certs_secrets with a certificate each ---- */

struct secrets {
    struct config_source *of;
    struct secret_source **list; /* the configuration's is the first */
    size_t count;
};

/* "maps_hosts.map": keys have no '/', so the folder's name and '_' stand in front of the name. */
static int secrets_add_keys(const struct config_source *s, const struct secret_object *o, struct storage_files *files,
                            struct error *err)
{
    for (size_t i = 0; i < o->value_count; i++)
        for (unsigned kind = 0; kind < STORAGE_KINDS; kind++) {
            const struct secret_value *v = &o->values[i];
            size_t len = strlen(storage_folder(kind));
            if (strncmp(v->key, storage_folder(kind), len) != 0 || v->key[len] != '_')
                continue;
            if (storage_files_add_known(files, s->known, kind, v->key + len + 1, v->bytes, v->len, err) != 0)
                return error_prefix(err, "Secret %s/%s: key %s", s->settings->config_secret_namespace,
                                    s->settings->config_secret_name, v->key);
        }
    return 0;
}

static int secrets_compose(const struct secrets *c, const struct secret_object *o, struct error *err)
{
    struct config_source *s = c->of;
    const char *namespace = s->settings->config_secret_namespace, *name = s->settings->config_secret_name;
    cleanup(storage_files_fini) struct storage_files files = {0};
    const struct secret_value *v = o != NULL ? secret_value_of(o, s->settings->config_secret_key) : NULL;
    if (o == NULL)
        return error_set(err, ERROR_INVALID, "Secret %s/%s does not exist", namespace, name);
    if (v == NULL) {
        struct text_list keys = {.between = ", ", .max = KEYS_SHOWN};
        for (size_t i = 0; i < o->value_count; i++)
            if (text_list_next(&keys))
                buf_add(&keys.text, o->values[i].key);
        cleanup(mem_free_ptr) char *list = text_list_take(&keys);
        return error_set(err, ERROR_INVALID,
                         "Secret %s/%s has no key %s: it has %s; name the right one by CONFIG_SECRET_KEY", namespace,
                         name, s->settings->config_secret_key, list != NULL ? list : "none");
    }
    if (secrets_add_keys(s, o, &files, err) != 0)
        return -1;
    for (size_t i = 1; i < c->count; i++) {
        const char *certificate = s->settings->config_certs_secrets.list[i - 1];
        cleanup(mem_free_ptr) char *file = mem_printf("%s.pem", certificate);
        if (secret_certificate_add(c->list[i]->object, file, s->known, &files, err) != 0)
            return error_prefix(err, "Secret %s/%s", namespace, certificate);
    }
    cleanup(mem_free_ptr) char *origin = mem_printf("Secret %s/%s, key %s", namespace, name, v->key);
    (void)config_source_take(s, origin, v->bytes, v->len, NULL, &files);
    return 0;
}

static void secrets_on_changed(void *arg)
{
    const struct secrets *c = arg;
    struct error err = {0};
    for (size_t i = 0; i < c->count; i++)
        if (!c->list[i]->synced)
            return;
    const struct secret_object *o = c->list[0]->object;
    c->of->paused = o != NULL && o->paused;
    if (secrets_compose(c, o, &err) != 0)
        config_source_fail(c->of, &err);
}

static void secrets_start(void *source)
{
    const struct secrets *c = source;
    for (size_t i = 0; i < c->count; i++)
        informer_start(c->list[i]->source.informer);
}

static void secrets_stop(void *source)
{
    const struct secrets *c = source;
    for (size_t i = 0; i < c->count; i++)
        informer_stop(c->list[i]->source.informer);
}

static void secrets_poke(void *source)
{
    const struct secrets *c = source;
    for (size_t i = 0; i < c->count; i++)
        informer_poke(c->list[i]->source.informer);
}

static bool secrets_ready(const void *source, struct checks *checks)
{
    const struct secrets *c = source;
    bool all = true;
    for (size_t i = 0; i < c->count; i++)
        all = source_ready(&c->list[i]->source, true, checks) && all;
    return all;
}

static const struct secret_object *secrets_object(const void *source)
{
    return (((const struct secrets *)source)->list[0])->object;
}

static void secrets_free(void *source)
{
    struct secrets *c = source;
    for (size_t i = 0; i < c->count; i++)
        secret_source_free(c->list[i]);
    mem_free_all(c->list, c);
}

static const struct source_ops secrets_ops = {.free = secrets_free,
                                              .start = secrets_start,
                                              .stop = secrets_stop,
                                              .poke = secrets_poke,
                                              .ready = secrets_ready,
                                              .object = secrets_object,
                                              .may_have_no_files = true};

static void *config_source_make_secrets(struct config_source *s, struct error *err)
{
    const struct daemon *in = s->options.in;
    const struct settings_names *certificates = &s->settings->config_certs_secrets;
    struct secrets *c = mem_alloc(sizeof(*c));
    (void)err;
    *c = (struct secrets){.of = s, .count = certificates->count + 1};
    c->list = mem_array(c->count, sizeof(c->list[0]));
    for (size_t i = 0; i < c->count; i++) {
        const struct secret_source_options options = {.of = &kube_secrets,
                                                      .namespace = s->settings->config_secret_namespace,
                                                      .name = i == 0 ? s->settings->config_secret_name
                                                                     : certificates->list[i - 1],
                                                      .metrics = in->metrics,
                                                      .log = in->log};
        c->list[i] = secret_source_new(in->base, in->kube, &options, secrets_on_changed, c);
    }
    return c;
}

/* ---- templates ---- */

static int config_source_on_render(void *arg, const char *origin, const char *bytes, size_t len,
                                   struct storage_files *files, struct error *err)
{
    return config_source_make(arg, origin, bytes, len, NULL, files, err);
}

static void config_source_on_rendered(void *arg)
{
    struct config_source *s = arg;
    error_clear(&s->problem);
    config_source_give(s);
}

static void config_source_on_followed(void *arg)
{
    const struct config_source *s = arg;
    s->callbacks.followed(s->arg, s->document);
}

static void *config_source_make_template(struct config_source *s, struct error *err)
{
    static const struct template_source_callbacks callbacks = {.made = config_source_on_render,
                                                               .changed = config_source_on_rendered,
                                                               .followed = config_source_on_followed,
                                                               .failed = config_source_fail};
    const struct daemon *in = s->options.in;
    const struct template_source_options options = {.settings = in->settings,
                                                    .kube = in->kube,
                                                    .pods = s->options.pods,
                                                    .known = s->known,
                                                    .hosts = s->hosts,
                                                    .state_fd = s->options.state_fd,
                                                    .quarantine = s->quarantine,
                                                    .metrics = in->metrics,
                                                    .trace = s->options.trace,
                                                    .log = in->log};
    return template_source_new(in->base, &options, &callbacks, s, err);
}

/* ---- annotated Services ---- */

static void *config_source_make_services(struct config_source *s, struct error *err)
{
    const struct services_source_options options = {.in = s->options.in,
                                                    .known = s->known,
                                                    .quarantine = s->quarantine,
                                                    .hosts = s->hosts,
                                                    .made = config_source_on_made,
                                                    .failed = config_source_fail,
                                                    .arg = s};
    return services_source_new(&options, err);
}

/* ---- etcd ---- */

static void *config_source_make_etcd(struct config_source *s, struct error *err)
{
    const struct etcd_source_options options = {.in = s->options.in,
                                                .client = s->options.etcd,
                                                .made = config_source_on_made,
                                                .failed = config_source_fail,
                                                .arg = s};
    (void)err;
    return etcd_source_new(&options);
}

/* ---- what is the same for all ---- */

static const struct {
    const struct source_ops *ops;
    void *(*make)(struct config_source *s, struct error *err); /* NULL: it failed */
} kinds[] = {
    [SETTINGS_CONFIG_NONE] = {&no_ops, config_source_make_none},
    [SETTINGS_CONFIG_FILE] = {&file_ops, config_source_make_file},
    [SETTINGS_CONFIG_SECRET] = {&secrets_ops, config_source_make_secrets},
    [SETTINGS_CONFIG_TEMPLATE] = {&template_source_ops, config_source_make_template},
    [SETTINGS_CONFIG_SERVICES] = {&services_source_ops, config_source_make_services},
    [SETTINGS_CONFIG_ETCD] = {&etcd_source_ops, config_source_make_etcd},
};

struct config_source *config_source_new(const struct config_source_options *options,
                                        const struct config_source_callbacks *callbacks, void *arg, struct error *err)
{
    struct config_source *s = mem_alloc(sizeof(*s));
    const struct daemon *in = options->in;
    s->options = *options;
    s->settings = in->settings;
    s->callbacks = *callbacks;
    s->arg = arg;
    s->ops = kinds[s->settings->config_source].ops;
    /* Of many authors each gets HAProxy's own words about what is its own; where there is one, HAProxy says them. */
    bool of_objects = s->ops == &template_source_ops || s->ops == &services_source_ops;
    s->known = storage_known_new(of_objects && s->settings->local.file != NULL);
    s->quarantine = quarantine_new(in, options->state_fd);
    s->hosts = host_memory_new(in, options->state_fd);
    s->source = kinds[s->settings->config_source].make(s, err);
    if (s->source != NULL)
        return s;
    config_source_free(s);
    return NULL;
}

void config_source_free(struct config_source *s)
{
    if (s == NULL)
        return;
    if (s->source != NULL && s->ops->free != NULL)
        s->ops->free(s->source);
    quarantine_free(s->quarantine);
    host_memory_free(s->hosts);
    document_unref(s->document);
    storage_known_free(s->known);
    free(s);
}

void config_source_start(struct config_source *s)
{
    host_memory_start(s->hosts);
    if (s->ops->start != NULL)
        s->ops->start(s->source);
}

void config_source_stop(struct config_source *s)
{
    host_memory_stop(s->hosts);
    if (s->ops->stop != NULL)
        s->ops->stop(s->source);
}

void config_source_poke(struct config_source *s)
{
    quarantine_poke(s->quarantine);
    host_memory_poke(s->hosts);
    if (s->ops->poke != NULL)
        s->ops->poke(s->source);
}

void config_source_lead(struct config_source *s, bool leads, struct events *events)
{
    host_memory_lead(s->hosts, leads);
    if (s->ops->lead != NULL)
        s->ops->lead(s->source, leads, events);
    if (leads && s->ops != &template_source_ops) /* what templates saw, Secrets among it, has no use any more */
        state_text_keep(s->settings->state_dir, s->options.state_fd, STATE_OBJECTS, NULL, "", s->options.in->log);
}

void config_source_measure(const struct config_source *s)
{
    quarantine_measure(s->quarantine);
    if (s->ops->measure != NULL)
        s->ops->measure(s->source);
}

bool config_source_ready(const struct config_source *s, struct checks *checks)
{
    bool all = host_memory_ready(s->hosts, checks);
    all = (s->ops->ready == NULL || s->ops->ready(s->source, checks)) && all;
    quarantine_check(s->quarantine, checks);
    return all;
}

const void *config_source_as(const struct config_source *s, const struct source_ops *kind)
{
    return s->ops == kind ? s->source : NULL;
}

const struct secret_object *config_source_object(const struct config_source *s)
{
    return s->ops->object != NULL ? s->ops->object(s->source) : NULL;
}

bool config_source_places(const struct config_source *s)
{
    return s->ops == &template_source_ops && template_source_places(s->source);
}

void config_source_see(struct config_source *s, struct buf *text)
{
    template_source_see(s->source, text);
}

bool config_source_has(const struct config_source *s)
{
    return s->document != NULL;
}

void config_source_judge(struct config_source *s, const struct document *d, const struct culprits_verdict *v)
{
    if (s->document != NULL && d != NULL && str_eq(s->document->id, d->id) && s->document->trial == d->trial)
        quarantine_judge(s->quarantine, v);
    else if (!v->accepted)
        quarantine_miss(s->quarantine);
}

bool config_source_verdict(const struct config_source *s, struct culprits_verdict *ret)
{
    return s->problem.kind == ERROR_NONE && quarantine_verdict(s->quarantine, ret);
}
