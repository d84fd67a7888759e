#include "daemon/config/secret_source.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "daemon/source.h"
#include "host/timer.h"
#include "kube/informer.h"

struct secret_source {
    struct source source;
    char *scope, *field_selector;
    struct secret_object *object; /* NULL: there is none */
    struct secret_object *past;   /* as it was when that was taken last; NULL: it is so, or none is kept */
    bool keeps_past;
    bool seen;   /* in the list that comes in */
    bool synced; /* a list was complete */
    struct timer changed;
    void (*callback)(void *arg);
    void *arg;
};

static void secret_source_drop(struct secret_source *s)
{
    if (s->keeps_past && s->past == NULL)
        s->past = s->object;
    else
        record_free(&secret_record, s->object);
    s->object = NULL;
}

/* ---- the informer's sink ---- */

static bool secret_source_take(void *arg, const struct sink_change *change, size_t *ret_count)
{
    struct secret_source *s = arg;
    struct secret_object *o = change->object;
    switch (change->step) {
    case SINK_BEGIN:
        s->seen = false;
        return false;
    case SINK_PUT: {
        bool same = s->object != NULL && o->version != NULL && str_eq(s->object->version, o->version);
        s->seen = true;
        secret_source_drop(s);
        s->object = o;
        return !same;
    }
    case SINK_REMOVE:
        secret_source_drop(s);
        return true;
    case SINK_KEEP:
        s->seen = true;
        return false;
    case SINK_END: {
        bool changed = !s->synced || (!s->seen && s->object != NULL);
        if (!s->seen)
            secret_source_drop(s);
        s->synced = true;
        *ret_count = s->object != NULL ? 1 : 0;
        return changed;
    }
    case SINK_ABORT:
    case SINK_FORGET:
        break;
    }
    return false;
}

/* ---- the informer's callbacks, from inside libcurl's ---- */

static void secret_source_on_changed(void *arg, const char *cause, uint64_t received_us)
{
    struct secret_source *s = arg;
    (void)cause;
    (void)received_us;
    if (s->synced)
        timer_set(&s->changed, 0);
}

static void secret_source_on_moved(void *arg)
{
    (void)arg;
}

static void secret_source_tell(void *arg)
{
    struct secret_source *s = arg;
    s->callback(s->arg);
}

/* ---- life ---- */

struct secret_source *secret_source_new(struct event_base *base, struct kube_client *client,
                                        const struct secret_source_options *options, void (*changed)(void *arg),
                                        void *arg)
{
    struct secret_source *s = mem_alloc(sizeof(*s));
    const struct informer_sink sink = {.take = secret_source_take, .arg = s};
    s->callback = changed;
    s->arg = arg;
    s->keeps_past = options->keeps_past;
    s->scope = mem_printf("%s/%s", options->namespace, options->name);
    s->field_selector = mem_printf("metadata.name=%s", options->name);
    timer_init(&s->changed, base, secret_source_tell, s);
    s->source = (struct source){.scope = s->scope,
                                .telemetry = options->telemetry,
                                .changed = secret_source_on_changed,
                                .moved = secret_source_on_moved,
                                .arg = s};
    const struct informer_options watch = {.resource = options->of,
                                           .namespace = options->namespace,
                                           .field_selector = s->field_selector,
                                           .scope = s->scope,
                                           .scope_is = "object"};
    source_init(&s->source, base, client, options->log, &watch, &sink);
    return s;
}

void secret_source_free(struct secret_source *s)
{
    if (s == NULL)
        return;
    source_fini(&s->source);
    record_free(&secret_record, s->object);
    record_free(&secret_record, s->past);
    timer_fini(&s->changed);
    free(s->scope);
    free(s->field_selector);
    free(s);
}

void secret_source_start(struct secret_source *s)
{
    informer_start(s->source.informer);
}

void secret_source_stop(struct secret_source *s)
{
    informer_stop(s->source.informer);
}

void secret_source_poke(struct secret_source *s)
{
    informer_poke(s->source.informer);
}

const struct secret_object *secret_source_object(const struct secret_source *s)
{
    return s->object;
}

struct secret_object *secret_source_take_past(struct secret_source *s)
{
    struct secret_object *past = s->past;
    s->past = NULL;
    return past;
}

bool secret_source_synced(const struct secret_source *s)
{
    return s->synced;
}

struct informer_status secret_source_status(const struct secret_source *s)
{
    return source_status(&s->source);
}

bool secret_source_ready(const struct secret_source *s, struct checks *checks)
{
    return source_ready(&s->source, true, checks);
}
