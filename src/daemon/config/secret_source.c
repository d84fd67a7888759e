#include "daemon/config/secret_source.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/storage_files.h"

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
    case SINK_ABORT: /* what is known stays until there is another list */
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
    s->source =
        (struct source){.scope = s->scope, .metrics = options->metrics, .changed = secret_source_on_changed, .arg = s};
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
    mem_free_all(s->scope, s->field_selector, s);
}

struct secret_object *secret_source_take_past(struct secret_source *s)
{
    struct secret_object *past = s->past;
    s->past = NULL;
    return past;
}

/* ---- a certificate ---- */

const struct secret_value *secret_value_of(const struct secret_object *o, const char *key)
{
    for (size_t i = 0; i < o->value_count; i++)
        if (str_eq(o->values[i].key, key))
            return &o->values[i];
    return NULL;
}

int secret_certificate_add(const struct secret_object *o, const char *name, struct storage_known *known,
                           struct storage_files *files, struct error *err)
{
    static const char *const keys[] = {"tls.crt", "ca.crt", "tls.key"};
    cleanup(buf_fini) struct buf pem;
    buf_init_secret(&pem, 0);
    if (o == NULL)
        return error_set(err, ERROR_INVALID, "it does not exist");
    for (size_t i = 0; i < array_len(keys); i++) {
        const struct secret_value *v = secret_value_of(o, keys[i]);
        if (v == NULL && i != 1)
            return error_set(err, ERROR_INVALID, "it has no key %s", keys[i]);
        if (v == NULL)
            continue;
        buf_addn(&pem, v->bytes, v->len);
        if (v->len > 0 && v->bytes[v->len - 1] != '\n')
            buf_add(&pem, "\n");
    }
    return storage_files_add_known(files, known, STORAGE_CERTIFICATE, name, buf_str(&pem), pem.len, err);
}
