#include "daemon/template/pods_source.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/config/secret_source.h"
#include "daemon/template/remarks.h"
#include "daemon/template/set_source.h"
#include "kube/resource.h"
#include "model/cache.h"
#include "settings/settings.h"
#include "template/objects.h"
#include "template/pods.h"
#include "template/render.h"

struct pods_source {
    struct set_source_options options;
    struct set_source_callbacks callbacks;
    void *arg;
    struct secret_source *of[PODS_OBJECTS];
    struct pods pods; /* of the last four that could be used; its set is the callee's */
    struct remarks *remarks;
    struct secret password;
    char *ssldir;
    /* Of the render that begins, for the child. */
    const struct objects *objects;
};

/* ---- the four objects ---- */

static void pods_source_note_left_out(struct pods_source *s)
{
    struct remark *list = mem_array(s->pods.left_out_count, sizeof(list[0]));
    for (size_t i = 0; i < s->pods.left_out_count; i++) {
        const struct pods_left_out *left = &s->pods.left_out[i];
        const struct secret_object *o = s->of[left->of]->object;
        list[i] = (struct remark){.api_version = mem_strdup("v1"),
                                  .kind = mem_strdup(pods_object_kind(left->of)),
                                  .namespace = mem_strdup(s->options.settings->template_from.namespace),
                                  .name = mem_strdup(pods_object_name(left->of)),
                                  .uid = o != NULL ? mem_strdup(o->uid) : NULL,
                                  .text = mem_strdup(left->text),
                                  .left_out = true,
                                  .part = true};
    }
    remarks_replace(s->remarks, list, s->pods.left_out_count);
}

static void pods_source_on_object(void *arg)
{
    struct pods_source *s = arg;
    const struct secret_object *of[PODS_OBJECTS];
    struct error err = {0};
    size_t bytes = 0;
    for (size_t i = 0; i < PODS_OBJECTS; i++) {
        if (!s->of[i]->synced)
            return;
        of[i] = s->of[i]->object;
        for (size_t k = 0; of[i] != NULL && k < of[i]->value_count; k++)
            bytes += of[i]->values[k].len;
    }
    pods_fini(&s->pods);
    if (pods_read(of, &s->pods, &err) != 0) {
        error_prefix(&err, "pods:%s", s->options.settings->template_from.namespace);
        s->callbacks.failed(s->arg, &err);
        return;
    }
    pods_check_certificates(&s->pods, s->options.known);
    pods_source_note_left_out(s);
    struct template_set *set = s->pods.set;
    s->pods.set = NULL;
    s->callbacks.changed(s->arg, set, bytes);
}

/* ---- a render ---- */

struct pods_list {
    const char **list;
    size_t count;
};

static void pods_list_add(void *arg, const void *object)
{
    struct pods_list *l = arg;
    l->list[l->count++] = ((const struct template_object *)object)->json;
}

/* In the child, which ends with all of it. */
static void pods_source_on_prepare(void *arg, struct render_options *options)
{
    struct pods_source *s = arg;
    struct cache *cache = objects_cache(s->objects, 0);
    struct pods_list pods = {.list = mem_array(cache_count(cache), sizeof(pods.list[0]))};
    cache_each(cache, pods_list_add, &pods);
    const struct pods_view view = {.pods = pods.list,
                                   .pod_count = pods.count,
                                   .ssldir = s->ssldir,
                                   .statistics_password = s->password.value,
                                   .env = environ};
    pods_see(&s->pods, &view);
    struct render_file *files = mem_array(s->pods.certificate_count, sizeof(files[0]));
    for (size_t i = 0; i < s->pods.certificate_count; i++) {
        const struct pods_certificate *c = &s->pods.certificates[i];
        files[i] = (struct render_file){ENGINE_CERTIFICATE, mem_printf("%s.pem", c->name), c->pem, c->len};
    }
    options->variables = s->pods.variables;
    options->variable_count = array_len(s->pods.variables);
    options->unset = s->pods.unset;
    options->files = files;
    options->file_count = s->pods.certificate_count;
}

void pods_source_prepare(struct pods_source *s, const struct objects *objects, struct render_options *options)
{
    struct error err = {0};
    if (secret_is_set(&s->password) && secret_refresh(&s->password, false, NULL, &err) != 0)
        log_warn(s->options.log, "cannot read STATISTICS_PASSWORD_FILE; the last value stays in use",
                 log_str("error", err.message));
    s->objects = objects;
    options->prepare = pods_source_on_prepare;
    options->prepare_arg = s;
}

/* ---- life ---- */

struct pods_source *pods_source_new(struct event_base *base, const struct set_source_options *options,
                                    const struct set_source_callbacks *callbacks, void *arg)
{
    struct pods_source *s = mem_alloc(sizeof(*s));
    *s = (struct pods_source){.options = *options, .callbacks = *callbacks, .arg = arg};
    s->remarks = remarks_new(REMARKS_OF_TEMPLATES, options->log);
    s->ssldir = settings_local_folder(&options->settings->local, SETTINGS_FOLDER_CERTS);
    secret_copy(&s->password, &options->settings->statistics_password);
    for (enum pods_object i = 0; i < PODS_OBJECTS; i++) {
        const struct secret_source_options object = {.of = i == PODS_KEYS ? &kube_secrets : &kube_config_maps,
                                                     .namespace = options->settings->template_from.namespace,
                                                     .name = pods_object_name(i),
                                                     .telemetry = options->telemetry,
                                                     .log = options->log};
        s->of[i] = secret_source_new(base, options->kube, &object, pods_source_on_object, s);
    }
    return s;
}

void pods_source_free(struct pods_source *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < PODS_OBJECTS; i++)
        secret_source_free(s->of[i]);
    pods_fini(&s->pods);
    remarks_free(s->remarks);
    secret_fini(&s->password);
    free(s->ssldir);
    free(s);
}

void pods_source_start(struct pods_source *s)
{
    for (size_t i = 0; i < PODS_OBJECTS; i++)
        informer_start(s->of[i]->source.informer);
}

void pods_source_stop(struct pods_source *s)
{
    for (size_t i = 0; i < PODS_OBJECTS; i++)
        informer_stop(s->of[i]->source.informer);
}

void pods_source_poke(struct pods_source *s)
{
    for (size_t i = 0; i < PODS_OBJECTS; i++)
        informer_poke(s->of[i]->source.informer);
}

void pods_source_tell_to(struct pods_source *s, struct events *events)
{
    remarks_tell_to(s->remarks, events);
}

const struct secret_object *pods_source_config(const struct pods_source *s)
{
    return s->of[PODS_CONFIG]->object;
}

const struct remarks *pods_source_remarks(const struct pods_source *s)
{
    return s->remarks;
}

bool pods_source_ready(const struct pods_source *s, struct checks *checks)
{
    bool all = true;
    for (size_t i = 0; i < PODS_OBJECTS; i++)
        all = source_ready(&s->of[i]->source, true, checks) && all;
    return all;
}
