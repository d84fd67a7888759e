#include "daemon/config/config_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "configuration/document.h"
#include "configuration/file_source.h"
#include "daemon/config/secret_certificate.h"
#include "daemon/config/secret_source.h"
#include "daemon/etcd/etcd_source.h"
#include "daemon/quarantine.h"
#include "daemon/state_text.h"
#include "daemon/services/services_source.h"
#include "daemon/template/template_source.h"
#include "haproxy/storage_files.h"
#include "haproxy/storage_known.h"
#include "kube/client.h"
#include "kube/resource.h"
#include "settings/settings.h"

#define KEYS_SHOWN 8

struct config_source {
    struct config_source_options options;
    struct config_source_callbacks callbacks;
    void *arg;
    struct file_source *file;         /* NULL: not a file */
    struct template_source *template; /* NULL: no templates */
    struct services_source *services; /* NULL: no annotated Services */
    struct etcd_source *etcd;         /* NULL: not in etcd */
    struct secret_source *secret;     /* NULL: no Secret */
    struct secret_source **certs;     /* config_certs_secrets; NULL: no Secret */
    struct kube_client_listener listener;
    struct storage_known *known; /* certificates of Secrets and templates */
    struct quarantine *quarantine;
    struct document *document; /* the last good one; NULL: none yet */
    struct error problem;      /* of what is there now; kind NONE: document is that */
    bool paused;
    bool with_files; /* a Secret or templates have brought some: when none is left, those go */
};

void config_source_give(struct config_source *s)
{
    if (s == NULL)
        return;
    s->callbacks.paused(s->arg, s->paused);
    if (s->document != NULL)
        s->callbacks.changed(s->arg, s->document);
    if (s->problem.kind != ERROR_NONE)
        s->callbacks.failed(s->arg, &s->problem);
}

/* The document is still the last good one: given again it would mean that the source has it again. */
static void config_source_fail(struct config_source *s, const struct error *err)
{
    s->problem = *err;
    s->callbacks.paused(s->arg, s->paused);
    s->callbacks.failed(s->arg, &s->problem);
}

/* hash NULL: not known; files NULL: it has none. */
static int config_source_make(struct config_source *s, const char *origin, const char *bytes, size_t len,
                              const char *hash, struct storage_files *files, struct error *err)
{
    struct document *d = document_new_of(s->options.use, origin, bytes, len, hash, files, err);
    if (d == NULL)
        return -1;
    d->trial = quarantine_trial(s->quarantine) || etcd_source_trial(s->etcd);
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

/* ---- a file ---- */

static void config_source_on_failed(void *arg, const struct error *err)
{
    config_source_fail(arg, err);
}

static void config_source_on_file(void *arg, const char *bytes, size_t len, const char *hash,
                                  struct storage_files *files)
{
    struct config_source *s = arg;
    (void)config_source_take(s, s->options.settings->config_file, bytes, len, hash, files);
}

static int config_source_make_file(struct config_source *s, struct event_base *base, struct error *err)
{
    static const struct file_source_callbacks callbacks = {.changed = config_source_on_file,
                                                           .failed = config_source_on_failed};
    const struct settings *settings = s->options.settings;
    const struct file_source_options options = {.path = settings->config_file,
                                                .folder = settings->config_files_dir,
                                                .max_bytes = DOCUMENT_MAX_BYTES,
                                                .reread_ms = settings->resync_period_ms,
                                                .once = !settings->config_file_watch};
    s->file = file_source_new(base, &options, &callbacks, s, err);
    return s->file != NULL ? 0 : -1;
}

/* ---- a Secret ---- */

static int config_source_no_key(const struct settings *settings, const struct secret_object *o, struct error *err)
{
    struct text_list keys = {.between = ", ", .max = KEYS_SHOWN};
    for (size_t i = 0; i < o->value_count; i++)
        if (text_list_next(&keys))
            buf_add(&keys.text, o->values[i].key);
    cleanup(mem_free_ptr) char *list = text_list_take(&keys);
    return error_set(err, ERROR_INVALID,
                     "Secret %s/%s has no key %s: it has %s; name the right one by CONFIG_SECRET_KEY",
                     settings->config_secret_namespace, settings->config_secret_name, settings->config_secret_key,
                     list != NULL ? list : "none");
}

/* "maps_hosts.map": keys have no '/', so the folder's name and '_' stand in front of the name. */
static int config_source_add_keys(const struct config_source *s, const struct secret_object *o,
                                  struct storage_files *files, struct error *err)
{
    for (size_t i = 0; i < o->value_count; i++)
        for (unsigned kind = 0; kind < STORAGE_KINDS; kind++) {
            const struct secret_value *v = &o->values[i];
            size_t len = strlen(storage_folder(kind));
            if (strncmp(v->key, storage_folder(kind), len) != 0 || v->key[len] != '_')
                continue;
            if (storage_files_add_known(files, s->known, kind, v->key + len + 1, v->bytes, v->len, err) != 0)
                return error_prefix(err, "key %s", v->key);
        }
    return 0;
}

static int config_source_add_files(const struct config_source *s, const struct secret_object *o,
                                   struct storage_files *files, struct error *err)
{
    const struct settings *settings = s->options.settings;
    const struct settings_names *certs = &settings->config_certs_secrets;
    if (config_source_add_keys(s, o, files, err) != 0)
        return error_prefix(err, "Secret %s/%s", settings->config_secret_namespace, settings->config_secret_name);
    for (size_t i = 0; i < certs->count; i++) {
        cleanup(mem_free_ptr) char *name = mem_printf("%s.pem", certs->list[i]);
        if (secret_certificate_add(secret_source_object(s->certs[i]), name, s->known, files, err) != 0)
            return error_prefix(err, "Secret %s/%s", settings->config_secret_namespace, certs->list[i]);
    }
    return 0;
}

static int config_source_compose(struct config_source *s, const struct secret_object *o, struct error *err)
{
    const struct settings *settings = s->options.settings;
    cleanup(storage_files_fini) struct storage_files files = {0};
    const struct secret_value *v = o != NULL ? secret_value_of(o, settings->config_secret_key) : NULL;
    if (o == NULL)
        return error_set(err, ERROR_INVALID, "Secret %s/%s does not exist", settings->config_secret_namespace,
                         settings->config_secret_name);
    if (v == NULL)
        return config_source_no_key(settings, o, err);
    if (config_source_add_files(s, o, &files, err) != 0)
        return -1;
    cleanup(mem_free_ptr) char *origin =
        mem_printf("Secret %s/%s, key %s", settings->config_secret_namespace, settings->config_secret_name, v->key);
    s->with_files = s->with_files || files.count > 0;
    (void)config_source_take(s, origin, v->bytes, v->len, NULL, s->with_files ? &files : NULL);
    return 0;
}

static void config_source_on_secret(void *arg)
{
    struct config_source *s = arg;
    const struct secret_object *o = secret_source_object(s->secret);
    struct error err = {0};
    for (size_t i = 0; i < s->options.settings->config_certs_secrets.count; i++)
        if (!secret_source_synced(s->certs[i]))
            return;
    if (!secret_source_synced(s->secret))
        return;
    s->paused = o != NULL && o->paused;
    if (config_source_compose(s, o, &err) != 0)
        config_source_fail(s, &err);
}

static void config_source_each(struct config_source *s, void (*fn)(struct secret_source *))
{
    if (s->secret != NULL)
        fn(s->secret);
    for (size_t i = 0; s->certs != NULL && i < s->options.settings->config_certs_secrets.count; i++)
        fn(s->certs[i]);
}

static void config_source_on_credentials(void *arg)
{
    struct config_source *s = arg;
    config_source_each(s, secret_source_poke);
}

static struct secret_source *config_source_watch(struct config_source *s, struct event_base *base, const char *name)
{
    const struct config_source_options *o = &s->options;
    const struct secret_source_options options = {.of = &kube_secrets,
                                                  .namespace = o->settings->config_secret_namespace,
                                                  .name = name,
                                                  .telemetry = o->telemetry,
                                                  .log = o->log};
    return secret_source_new(base, o->kube, &options, config_source_on_secret, s);
}

static int config_source_make_secret(struct config_source *s, struct event_base *base, struct error *err)
{
    (void)err;
    const struct settings_names *certs = &s->options.settings->config_certs_secrets;
    s->secret = config_source_watch(s, base, s->options.settings->config_secret_name);
    s->certs = mem_array(certs->count, sizeof(s->certs[0]));
    for (size_t i = 0; i < certs->count; i++)
        s->certs[i] = config_source_watch(s, base, certs->list[i]);
    s->listener = (struct kube_client_listener){.on_credentials = config_source_on_credentials, .arg = s};
    kube_client_on_credentials(s->options.kube, &s->listener);
    return 0;
}

/* ---- templates ---- */

static int config_source_on_made(void *arg, const char *origin, const char *bytes, size_t len,
                                 struct storage_files *files, struct error *err)
{
    struct config_source *s = arg;
    s->with_files = s->with_files || files->count > 0;
    return config_source_make(s, origin, bytes, len, NULL, s->with_files ? files : NULL, err);
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

static int config_source_make_template(struct config_source *s, struct event_base *base, struct error *err)
{
    static const struct template_source_callbacks callbacks = {.made = config_source_on_made,
                                                               .changed = config_source_on_rendered,
                                                               .followed = config_source_on_followed,
                                                               .failed = config_source_on_failed};
    const struct config_source_options *o = &s->options;
    const struct template_source_options options = {.settings = o->settings,
                                                    .kube = o->kube,
                                                    .pods = o->pods,
                                                    .known = s->known,
                                                    .state_fd = o->state_fd,
                                                    .quarantine = s->quarantine,
                                                    .telemetry = o->telemetry,
                                                    .trace = o->trace,
                                                    .log = o->log};
    s->template = template_source_new(base, &options, &callbacks, s, err);
    return s->template != NULL ? 0 : -1;
}

/* ---- annotated Services ---- */

static int config_source_on_services(void *arg, const char *origin, const char *bytes, size_t len,
                                     struct storage_files *files)
{
    return config_source_take(arg, origin, bytes, len, NULL, files);
}

static int config_source_make_services(struct config_source *s, struct event_base *base, struct error *err)
{
    static const struct services_source_callbacks callbacks = {.made = config_source_on_services,
                                                               .failed = config_source_on_failed};
    const struct config_source_options *o = &s->options;
    const struct services_source_options options = {.settings = o->settings,
                                                    .kube = o->kube,
                                                    .known = s->known,
                                                    .quarantine = s->quarantine,
                                                    .state_fd = o->state_fd,
                                                    .telemetry = o->telemetry,
                                                    .log = o->log};
    s->services = services_source_new(base, &options, &callbacks, s, err);
    return s->services != NULL ? 0 : -1;
}

/* ---- etcd ---- */

static void config_source_on_published(void *arg, const char *origin, const char *bytes, size_t len,
                                       struct storage_files *files)
{
    struct config_source *s = arg;
    s->with_files = s->with_files || files->count > 0;
    (void)config_source_take(s, origin, bytes, len, NULL, s->with_files ? files : NULL);
}

static int config_source_make_etcd(struct config_source *s, struct event_base *base, struct error *err)
{
    static const struct etcd_source_callbacks callbacks = {.made = config_source_on_published,
                                                           .failed = config_source_on_failed};
    const struct etcd_source_options options = {
        .settings = s->options.settings, .client = s->options.etcd, .log = s->options.log};
    (void)err;
    s->etcd = etcd_source_new(base, &options, &callbacks, s);
    return 0;
}

/* ---- life ---- */

struct config_source *config_source_new(struct event_base *base, const struct config_source_options *options,
                                        const struct config_source_callbacks *callbacks, void *arg, struct error *err)
{
    struct config_source *s = mem_alloc(sizeof(*s));
    s->options = *options;
    s->callbacks = *callbacks;
    s->arg = arg;
    /* One of many authors is told what HAProxy would say; of one alone HAProxy itself says it. */
    bool of_objects = options->settings->config_source == SETTINGS_CONFIG_TEMPLATE ||
                      options->settings->config_source == SETTINGS_CONFIG_SERVICES;
    s->known = storage_known_new(of_objects && options->settings->local.file != NULL);
    const struct quarantine_options quarantine = {.folder = options->settings->state_dir,
                                                  .folder_fd = options->state_fd,
                                                  .telemetry = options->telemetry,
                                                  .log = options->log};
    s->quarantine = quarantine_new(base, &quarantine);
    static int (*const make[])(struct config_source *, struct event_base *, struct error *) = {
        [SETTINGS_CONFIG_FILE] = config_source_make_file,
        [SETTINGS_CONFIG_SECRET] = config_source_make_secret,
        [SETTINGS_CONFIG_TEMPLATE] = config_source_make_template,
        [SETTINGS_CONFIG_SERVICES] = config_source_make_services,
        [SETTINGS_CONFIG_ETCD] = config_source_make_etcd,
    };
    if (make[options->settings->config_source](s, base, err) != 0) {
        quarantine_free(s->quarantine);
        storage_known_free(s->known);
        free(s);
        return NULL;
    }
    return s;
}

void config_source_free(struct config_source *s)
{
    if (s == NULL)
        return;
    if (s->secret != NULL)
        kube_client_forget_listener(&s->listener);
    file_source_free(s->file);
    template_source_free(s->template);
    services_source_free(s->services);
    etcd_source_free(s->etcd);
    config_source_each(s, secret_source_free);
    free(s->certs);
    quarantine_free(s->quarantine);
    document_unref(s->document);
    storage_known_free(s->known);
    free(s);
}

void config_source_start(struct config_source *s)
{
    if (s == NULL)
        return;
    if (s->file != NULL)
        file_source_start(s->file);
    template_source_start(s->template);
    services_source_start(s->services);
    etcd_source_start(s->etcd);
    config_source_each(s, secret_source_start);
}

void config_source_stop(struct config_source *s)
{
    if (s == NULL)
        return;
    template_source_stop(s->template);
    services_source_stop(s->services);
    etcd_source_stop(s->etcd);
    config_source_each(s, secret_source_stop);
}

void config_source_poke(struct config_source *s)
{
    if (s == NULL)
        return;
    quarantine_poke(s->quarantine);
    if (s->file != NULL)
        file_source_poke(s->file);
    template_source_poke(s->template);
    services_source_poke(s->services);
    etcd_source_poke(s->etcd);
    config_source_each(s, secret_source_poke);
}

void config_source_tell_to(struct config_source *s, struct events *events)
{
    if (s == NULL)
        return;
    template_source_tell_to(s->template, events);
    services_source_tell_to(s->services, events);
}

void config_source_lead(struct config_source *s, bool leads)
{
    if (s == NULL)
        return;
    template_source_lead(s->template, leads);
    if (leads && s->template == NULL) /* what templates saw, Secrets among it, is nobody's any more */
        state_text_keep(s->options.settings->state_dir, s->options.state_fd, STATE_OBJECTS, NULL, "", s->options.log);
}

bool config_source_places(const struct config_source *s)
{
    return template_source_places(s->template);
}

void config_source_see(struct config_source *s, struct buf *text)
{
    template_source_see(s->template, text);
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

void config_source_measure(const struct config_source *s)
{
    if (s == NULL)
        return;
    quarantine_measure(s->quarantine);
    template_source_measure(s->template);
    services_source_measure(s->services);
}

const struct etcd_source *config_source_etcd(const struct config_source *s)
{
    return s != NULL ? s->etcd : NULL;
}

bool config_source_has(const struct config_source *s)
{
    return s->document != NULL;
}

const struct template_source *config_source_template(const struct config_source *s)
{
    return s != NULL ? s->template : NULL;
}

const struct services_source *config_source_services(const struct config_source *s)
{
    return s != NULL ? s->services : NULL;
}

const struct secret_object *config_source_secret(const struct config_source *s)
{
    if (s != NULL && s->template != NULL)
        return template_source_config_map(s->template);
    return s != NULL && s->secret != NULL ? secret_source_object(s->secret) : NULL;
}

bool config_source_ready(const struct config_source *s, struct checks *checks)
{
    if (s == NULL)
        return true;
    bool all = s->secret == NULL || secret_source_ready(s->secret, checks);
    all = template_source_ready(s->template, checks) && all;
    all = services_source_ready(s->services, checks) && all;
    all = etcd_source_ready(s->etcd, checks) && all;
    quarantine_check(s->quarantine, checks);
    for (size_t i = 0; s->certs != NULL && i < s->options.settings->config_certs_secrets.count; i++)
        all = secret_source_ready(s->certs[i], checks) && all;
    return all;
}
