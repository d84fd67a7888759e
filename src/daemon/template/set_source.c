#include "daemon/template/set_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/config/secret_source.h"
#include "daemon/template/pods_source.h"
#include "host/path_watch.h"
#include "host/timer.h"
#include "kube/resource.h"
#include "model/objects.h"
#include "net/digest.h"
#include "settings/settings.h"
#include "template/folder.h"
#include "template/set.h"

struct set_source {
    struct set_source_options options;
    struct set_source_callbacks callbacks;
    void *arg;
    char *name;
    struct path_watch *watch; /* NULL: no folder */
    struct timer read;
    struct secret_source *config_map;   /* NULL: no ConfigMap */
    struct pods_source *pods;           /* NULL: no pods */
    char hash[DIGEST_SHA256_HEX_BYTES]; /* of what was given last; "": nothing, or it was wrong */
};

static void set_source_fail(struct set_source *s, struct error *err)
{
    s->hash[0] = '\0';
    s->callbacks.failed(s->arg, err);
}

static void set_source_digest(const struct template_file *files, size_t count, char ret[DIGEST_SHA256_HEX_BYTES])
{
    cleanup(buf_fini) struct buf all = {0};
    for (size_t i = 0; i < count; i++) {
        buf_printf(&all, "%s %zu\n", files[i].name, files[i].len);
        buf_addn(&all, files[i].bytes, files[i].len);
    }
    digest_sha256_hex(buf_str(&all), all.len, ret);
}

static void set_source_take(struct set_source *s, const struct template_file *files, size_t count)
{
    struct error err = {0};
    char hash[DIGEST_SHA256_HEX_BYTES];
    size_t bytes = 0;
    set_source_digest(files, count, hash);
    if (str_eq(hash, s->hash))
        return;
    struct template_set *set = template_set_parse(files, count, &err);
    if (set == NULL) {
        error_prefix(&err, "%s", s->name);
        set_source_fail(s, &err);
        return;
    }
    for (size_t i = 0; i < count; i++)
        bytes += files[i].len;
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

static int set_source_compare(const void *a, const void *b)
{
    return strcmp(((const struct template_file *)a)->name, ((const struct template_file *)b)->name);
}

static void set_source_on_config_map(void *arg)
{
    struct set_source *s = arg;
    const struct secret_object *o = s->config_map->object;
    struct error err = {0};
    if (!s->config_map->synced)
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
        qsort(files, o->value_count, sizeof(files[0]), set_source_compare);
    set_source_take(s, files, o->value_count);
}

/* ---- life ---- */

struct set_source *set_source_new(struct event_base *base, const struct set_source_options *options,
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
        return s;
    }
    if (from->name == NULL) {
        s->name = mem_printf("pods:%s", from->namespace);
        s->pods = pods_source_new(base, options, callbacks, arg);
        return s;
    }
    const struct secret_source_options object = {.of = &kube_config_maps,
                                                 .namespace = from->namespace,
                                                 .name = from->name,
                                                 .telemetry = options->telemetry,
                                                 .log = options->log};
    s->name = mem_printf("ConfigMap %s/%s", from->namespace, from->name);
    s->config_map = secret_source_new(base, options->kube, &object, set_source_on_config_map, s);
    return s;
}

void set_source_free(struct set_source *s)
{
    if (s == NULL)
        return;
    path_watch_free(s->watch);
    secret_source_free(s->config_map);
    pods_source_free(s->pods);
    timer_fini(&s->read);
    free(s->name);
    free(s);
}

void set_source_start(struct set_source *s)
{
    if (s->config_map != NULL)
        informer_start(s->config_map->source.informer);
    else if (s->pods != NULL)
        pods_source_start(s->pods);
    else
        timer_set(&s->read, 0);
}

void set_source_stop(struct set_source *s)
{
    if (s->config_map != NULL)
        informer_stop(s->config_map->source.informer);
    else if (s->pods != NULL)
        pods_source_stop(s->pods);
    else
        timer_cancel(&s->read);
}

void set_source_poke(struct set_source *s)
{
    if (s->config_map != NULL)
        informer_poke(s->config_map->source.informer);
    else if (s->pods != NULL)
        pods_source_poke(s->pods);
    else
        timer_set(&s->read, 0);
}

const char *set_source_name(const struct set_source *s)
{
    return s->name;
}

struct pods_source *set_source_pods(const struct set_source *s)
{
    return s->pods;
}

const char *set_source_hash(const struct set_source *s)
{
    return s->hash;
}

const struct secret_object *set_source_config_map(const struct set_source *s)
{
    return s->config_map != NULL ? s->config_map->object : s->pods != NULL ? pods_source_config(s->pods) : NULL;
}

bool set_source_ready(const struct set_source *s, struct checks *checks)
{
    return s->config_map != NULL ? source_ready(&s->config_map->source, true, checks)
                                 : s->pods == NULL || pods_source_ready(s->pods, checks);
}
