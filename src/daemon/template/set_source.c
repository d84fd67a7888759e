#include "daemon/template/template_source.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/config/secret_source.h"
#include "daemon/template/remarks.h"
#include "host/path_watch.h"
#include "host/timer.h"
#include "kube/resource.h"
#include "model/objects.h"
#include "net/digest.h"
#include "settings/settings.h"
#include "template/folder.h"
#include "template/objects.h"
#include "template/pods.h"
#include "template/render.h"
#include "template/set.h"

/* Of TEMPLATE_FROM=pods:NAMESPACE. */
struct of_pods {
    struct pods pods; /* of the last four objects that could be used; its set is the callee's */
    struct remarks *remarks;
    struct secret password;
    char *ssldir;
};

struct set_source {
    struct template_source_options options;
    struct set_source_callbacks callbacks;
    void *arg;
    char *name;
    struct path_watch *watch; /* NULL: no folder */
    struct timer read;        /* of the folder */
    struct secret_source *objects[PODS_OBJECTS];
    size_t object_count;                /* 0: a folder; 1: a ConfigMap; PODS_OBJECTS */
    struct of_pods *pods;               /* NULL: no pods */
    char hash[DIGEST_SHA256_HEX_BYTES]; /* of what was given last; "": nothing, or it was wrong */
};

static void set_source_fail(struct set_source *s, struct error *err)
{
    s->hash[0] = '\0';
    s->callbacks.failed(s->arg, err);
}

static void set_source_take(struct set_source *s, const struct template_file *files, size_t count)
{
    struct error err = {0};
    char hash[DIGEST_SHA256_HEX_BYTES];
    cleanup(buf_fini) struct buf all = {0};
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        buf_printf(&all, "%s %zu\n", files[i].name, files[i].len);
        buf_addn(&all, files[i].bytes, files[i].len);
        bytes += files[i].len;
    }
    digest_sha256_hex(buf_str(&all), all.len, hash);
    if (str_eq(hash, s->hash))
        return;
    struct template_set *set = template_set_parse(files, count, &err);
    if (set == NULL) {
        error_prefix(&err, "%s", s->name);
        set_source_fail(s, &err);
        return;
    }
    memcpy(s->hash, hash, sizeof(hash));
    s->callbacks.changed(s->arg, set, bytes);
}

/* ---- a folder ---- */

static void set_source_read(void *arg)
{
    struct set_source *s = arg;
    struct error err = {0};
    cleanup(template_folder_fini) struct template_folder folder = {0};
    static const char *const below[] = {"", "/maps", "/certificates", "/files", "/snippets"};
    path_watch_begin(s->watch);
    for (size_t i = 0; i < array_len(below); i++) {
        cleanup(mem_free_ptr) char *any = mem_printf("%s%s/" PATH_WATCH_ANY, s->name, below[i]);
        path_watch_add(s->watch, any);
    }
    path_watch_end(s->watch);
    if (s->options.settings->resync_period_ms > 0)
        timer_set(&s->read, s->options.settings->resync_period_ms);
    if (template_folder_read(s->name, &folder, &err) != 0) {
        set_source_fail(s, &err);
        return;
    }
    int64_t age_ms = (int64_t)clock_wall_ms() - folder.newest_ms;
    if (age_ms >= 0 && age_ms < PATH_WATCH_SETTLE_MS) /* half of a template may be one, too */
        timer_set_sooner(&s->read, PATH_WATCH_SETTLE_MS);
    else
        set_source_take(s, folder.files, folder.count);
}

static void set_source_on_event(void *arg, uint64_t wait_ms)
{
    timer_set_sooner(&((struct set_source *)arg)->read, wait_ms);
}

/* ---- a ConfigMap ---- */

static void set_source_on_config_map(void *arg)
{
    struct set_source *s = arg;
    const struct secret_object *o = s->objects[0]->object;
    struct error err = {0};
    if (!s->objects[0]->synced)
        return;
    if (o == NULL) {
        (void)error_set(&err, ERROR_INVALID, "%s does not exist", s->name);
        set_source_fail(s, &err);
        return;
    }
    cleanup(mem_free_ptr) struct template_file *files = mem_array(o->value_count, sizeof(files[0]));
    for (size_t i = 0; i < o->value_count; i++)
        files[i] = (struct template_file){o->values[i].key, o->values[i].bytes, o->values[i].len};
    if (o->value_count > 0)
        qsort(files, o->value_count, sizeof(files[0]), template_file_order);
    set_source_take(s, files, o->value_count);
}

/* ---- the four objects of pods:NAMESPACE ---- */

static void set_source_on_pods_object(void *arg)
{
    struct set_source *s = arg;
    struct pods *p = &s->pods->pods;
    const char *namespace = s->options.settings->template_from.namespace;
    const struct secret_object *of[PODS_OBJECTS];
    struct error err = {0};
    size_t bytes = 0;
    for (size_t i = 0; i < PODS_OBJECTS; i++) {
        if (!s->objects[i]->synced)
            return;
        of[i] = s->objects[i]->object;
        for (size_t k = 0; of[i] != NULL && k < of[i]->value_count; k++)
            bytes += of[i]->values[k].len;
    }
    pods_fini(p);
    if (pods_read(of, p, &err) != 0) {
        error_prefix(&err, "%s", s->name);
        set_source_fail(s, &err);
        return;
    }
    pods_check_certificates(p, s->options.known);
    struct remark *list = mem_array(p->left_out_count, sizeof(list[0]));
    for (size_t i = 0; i < p->left_out_count; i++) {
        const struct pods_left_out *left = &p->left_out[i];
        list[i] = (struct remark){.api_version = mem_strdup("v1"),
                                  .kind = mem_strdup(pods_object_kind(left->of)),
                                  .namespace = mem_strdup(namespace),
                                  .name = mem_strdup(pods_object_name(left->of)),
                                  .uid = of[left->of] != NULL ? mem_strdup(of[left->of]->uid) : NULL,
                                  .text = mem_strdup(left->text),
                                  .left_out = true,
                                  .part = true};
    }
    remarks_replace(s->pods->remarks, list, p->left_out_count);
    struct template_set *set = p->set;
    p->set = NULL;
    s->callbacks.changed(s->arg, set, bytes);
}

void set_source_prepare(struct set_source *s, struct render_options *options)
{
    if (s->pods == NULL)
        return;
    struct pods *p = &s->pods->pods;
    const yyjson_val *const *list;
    size_t count = objects_list(options->objects, 0, &list);
    const struct pods_view view = {.pods = list,
                                   .pod_count = count,
                                   .ssldir = s->pods->ssldir,
                                   .statistics_password = s->pods->password.value,
                                   .env = environ};
    pods_see(p, &view);
    struct render_file *files = mem_array(p->certificate_count, sizeof(files[0]));
    for (size_t i = 0; i < p->certificate_count; i++) {
        const struct pods_certificate *c = &p->certificates[i];
        files[i] = (struct render_file){ENGINE_CERTIFICATE, mem_printf("%s.pem", c->name), c->pem, c->len};
    }
    options->variables = p->variables;
    options->variable_count = array_len(p->variables);
    options->unset = p->unset;
    options->files = files;
    options->file_count = p->certificate_count;
}

void set_source_refresh(struct set_source *s)
{
    struct error err = {0};
    if (s->pods != NULL && secret_is_set(&s->pods->password) &&
        secret_refresh(&s->pods->password, false, NULL, &err) != 0)
        log_warn(s->options.log, "cannot read STATISTICS_PASSWORD_FILE; the last value stays in use",
                 log_str("error", err.message));
}

/* ---- life ---- */

/* Each object is watched by its name. */
static void set_source_watch(struct set_source *s, struct event_base *base, const struct kube_resource *of,
                             const char *name, void (*changed)(void *arg))
{
    const struct secret_source_options object = {.of = of,
                                                 .namespace = s->options.settings->template_from.namespace,
                                                 .name = name,
                                                 .metrics = s->options.metrics,
                                                 .log = s->options.log};
    s->objects[s->object_count++] = secret_source_new(base, s->options.kube, &object, changed, s);
}

struct set_source *set_source_new(struct event_base *base, const struct template_source_options *options,
                                  const struct set_source_callbacks *callbacks, void *arg, struct error *err)
{
    const struct settings_template_from *from = &options->settings->template_from;
    struct set_source *s = mem_alloc(sizeof(*s));
    *s = (struct set_source){.options = *options, .callbacks = *callbacks, .arg = arg};
    timer_init(&s->read, base, set_source_read, s);
    if (from->folder != NULL) {
        s->name = mem_strdup(from->folder);
        s->watch = path_watch_new(base, s->name, set_source_on_event, s, err);
        if (s->watch == NULL) {
            set_source_free(s);
            return NULL;
        }
    } else if (from->name != NULL) {
        s->name = mem_printf("ConfigMap %s/%s", from->namespace, from->name);
        set_source_watch(s, base, &kube_config_maps, from->name, set_source_on_config_map);
    } else {
        s->name = mem_printf("pods:%s", from->namespace);
        s->pods = mem_alloc(sizeof(*s->pods));
        s->pods->remarks = remarks_new(REMARKS_OF_TEMPLATES, options->log);
        s->pods->ssldir = settings_local_folder(&options->settings->local, SETTINGS_FOLDER_CERTS);
        secret_copy(&s->pods->password, &options->settings->statistics_password);
        for (enum pods_object i = 0; i < PODS_OBJECTS; i++)
            set_source_watch(s, base, i == PODS_KEYS ? &kube_secrets : &kube_config_maps, pods_object_name(i),
                             set_source_on_pods_object);
    }
    return s;
}

void set_source_free(struct set_source *s)
{
    if (s == NULL)
        return;
    path_watch_free(s->watch);
    for (size_t i = 0; i < s->object_count; i++)
        secret_source_free(s->objects[i]);
    if (s->pods != NULL) {
        pods_fini(&s->pods->pods);
        remarks_free(s->pods->remarks);
        secret_fini(&s->pods->password);
        free(s->pods->ssldir);
    }
    free(s->pods);
    timer_fini(&s->read);
    mem_free_all(s->name, s);
}

void set_source_start(struct set_source *s)
{
    for (size_t i = 0; i < s->object_count; i++)
        informer_start(s->objects[i]->source.informer);
    if (s->watch != NULL)
        timer_set(&s->read, 0);
}

void set_source_stop(struct set_source *s)
{
    for (size_t i = 0; i < s->object_count; i++)
        informer_stop(s->objects[i]->source.informer);
    timer_cancel(&s->read);
}

void set_source_poke(struct set_source *s)
{
    for (size_t i = 0; i < s->object_count; i++)
        informer_poke(s->objects[i]->source.informer);
    if (s->watch != NULL)
        timer_set(&s->read, 0);
}

void set_source_tell_to(struct set_source *s, struct events *events)
{
    if (s->pods != NULL)
        remarks_tell_to(s->pods->remarks, events);
}

const char *set_source_name(const struct set_source *s)
{
    return s->name;
}

const struct remarks *set_source_remarks(const struct set_source *s)
{
    return s->pods != NULL ? s->pods->remarks : NULL;
}

const char *set_source_hash(const struct set_source *s)
{
    return s->hash;
}

const struct secret_object *set_source_config_map(const struct set_source *s)
{
    return s->object_count == 0 ? NULL : s->objects[s->pods != NULL ? PODS_CONFIG : 0]->object;
}

bool set_source_ready(const struct set_source *s, struct checks *checks)
{
    bool all = true;
    for (size_t i = 0; i < s->object_count; i++)
        all = source_ready(&s->objects[i]->source, true, checks) && all;
    return all;
}
