#include "daemon/services/service_secrets.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/config/secret_certificate.h"
#include "daemon/config/secret_source.h"
#include "haproxy/storage_files.h"
#include "kube/resource.h"
#include "services/plan.h"

#define READ_WITHIN_MS 5000

struct service_secret {
    char *name, *namespace;       /* "namespace/name", "namespace" */
    struct secret_source *source; /* NULL: not watched yet */
    uint64_t since_ms;            /* monotonic */
    bool used;
};

struct service_secrets {
    struct event_base *base;
    struct service_secrets_options options;
    void (*changed)(void *arg);
    void *arg;
    struct service_secret *list;
    size_t count;
};

struct service_secrets *service_secrets_new(struct event_base *base, const struct service_secrets_options *options,
                                            void (*changed)(void *arg), void *arg)
{
    struct service_secrets *s = mem_alloc(sizeof(*s));
    *s = (struct service_secrets){.base = base, .options = *options, .changed = changed, .arg = arg};
    return s;
}

static void service_secret_fini(struct service_secret *one)
{
    secret_source_free(one->source);
    free(one->name);
    free(one->namespace);
}

void service_secrets_free(struct service_secrets *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->count; i++)
        service_secret_fini(&s->list[i]);
    free(s->list);
    free(s);
}

void service_secrets_stop(struct service_secrets *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].source != NULL)
            secret_source_stop(s->list[i].source);
}

void service_secrets_poke(struct service_secrets *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].source != NULL)
            secret_source_poke(s->list[i].source);
}

/* ---- a composition ---- */

static struct service_secret *service_secrets_find(const struct service_secrets *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (str_eq(s->list[i].name, name))
            return &s->list[i];
    return NULL;
}

static struct service_secret *service_secrets_add(struct service_secrets *s, const char *name)
{
    s->list = mem_resize(s->list, s->count + 1, sizeof(s->list[0]));
    struct service_secret *one = &s->list[s->count++];
    *one = (struct service_secret){.name = mem_strdup(name), .namespace = mem_strndup(name, strcspn(name, "/"))};
    return one;
}

static size_t service_secrets_used(const struct service_secrets *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        count += s->list[i].used;
    return count;
}

void service_secrets_begin(struct service_secrets *s)
{
    for (size_t i = 0; i < s->count; i++)
        s->list[i].used = false;
}

static bool service_secret_is_good(const struct service_secrets *s, const struct service_secret *one, struct buf *why)
{
    cleanup(storage_files_fini) struct storage_files files = {0};
    struct error err = {0};
    if (secret_certificate_add(secret_source_object(one->source), "tls", s->options.known, &files, &err) == 0)
        return true;
    buf_add(why, err.message);
    return false;
}

bool service_secrets_use(void *arg, const char *name, struct buf *why)
{
    struct service_secrets *s = arg;
    struct service_secret *one = service_secrets_find(s, name);
    if ((one == NULL || !one->used) && service_secrets_used(s) == SERVICE_SECRETS_MAX) {
        buf_printf(why, "more than %d Secrets are named", SERVICE_SECRETS_MAX);
        return false;
    }
    if (one == NULL)
        one = service_secrets_add(s, name);
    one->used = true;
    if (one->source != NULL && secret_source_synced(one->source))
        return service_secret_is_good(s, one, why);
    const struct informer_status status =
        one->source != NULL ? secret_source_status(one->source) : (struct informer_status){0};
    buf_printf(why, "it cannot be read%s%s", status.problem[0] != '\0' ? ": " : " yet", status.problem);
    return false;
}

static void service_secret_watch(const struct service_secrets *s, struct service_secret *one)
{
    const struct secret_source_options options = {.of = &kube_secrets,
                                                  .namespace = one->namespace,
                                                  .name = strchr(one->name, '/') + 1,
                                                  .telemetry = s->options.telemetry,
                                                  .log = s->options.log};
    one->source = secret_source_new(s->base, s->options.kube, &options, s->changed, s->arg);
    one->since_ms = clock_mono_ms();
    secret_source_start(one->source);
}

void service_secrets_end(struct service_secrets *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (!s->list[i].used) {
            service_secret_fini(&s->list[i]);
            continue;
        }
        s->list[kept] = s->list[i];
        if (s->list[kept].source == NULL)
            service_secret_watch(s, &s->list[kept]);
        kept++;
    }
    s->count = kept;
}

bool service_secrets_settled(const struct service_secrets *s)
{
    uint64_t now_ms = clock_mono_ms();
    for (size_t i = 0; i < s->count; i++) {
        const struct service_secret *one = &s->list[i];
        if (one->source == NULL)
            continue;
        bool known = secret_source_synced(one->source) || secret_source_status(one->source).denied != INFORMER_ALLOWED;
        if (!known && now_ms - one->since_ms < READ_WITHIN_MS)
            return false;
    }
    return true;
}

uint64_t service_secrets_hash(const struct service_secrets *s, const char *name)
{
    const struct service_secret *one = service_secrets_find(s, name);
    const struct secret_object *o = one != NULL && one->source != NULL ? secret_source_object(one->source) : NULL;
    uint64_t h = HASH_START;
    for (size_t i = 0; o != NULL && i < o->value_count; i++)
        h = hash_bytes(hash_string(h, o->values[i].key), o->values[i].bytes, o->values[i].len);
    return h;
}

/* ---- what comes of it ---- */

/* Neither name has a '_', and of them the second alone may have dots, which a Data Plane API makes '_'. */
char *service_secrets_file_name(const char *secret)
{
    const char *name = secret + strcspn(secret, "/");
    return mem_printf(SERVICES_FILES_PREFIX "%.*s_%s.pem", (int)(name - secret), secret, *name != '\0' ? name + 1 : "");
}

static int service_secrets_add_file(const struct service_secrets *s, const char *secret, struct storage_files *files)
{
    const struct service_secret *one = service_secrets_find(s, secret);
    cleanup(mem_free_ptr) char *name = service_secrets_file_name(secret);
    struct error err = {0};
    if (one == NULL || one->source == NULL)
        return -1;
    return secret_certificate_add(secret_source_object(one->source), name, s->options.known, files, &err);
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
    for (size_t i = 0; i < count && status == 0; i++)
        if (i == 0 || !str_eq(list[i - 1], list[i]))
            status = service_secrets_add_file(s, list[i], files);
    free(list);
    return status;
}
