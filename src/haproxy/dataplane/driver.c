/* Reads, asks about reloads, commands. */
#include "haproxy/dataplane/driver.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/content.h"
#include "haproxy/dataplane/codec.h"
#include "haproxy/dataplane/driver_internal.h"
#include "haproxy/dataplane/reload_answer.h"
#include "haproxy/reload_poll.h"

/* ---- reading ---- */

static void dataplane_driver_was_read(void *arg, const struct error *err)
{
    struct driver *d = arg;
    d->adds = dataplane_driver_of(d)->reader.adds;
    d->events->was_read(d->arg, err);
}

static void dataplane_driver_read(struct driver *d, struct readout *to)
{
    reader_start(&dataplane_driver_of(d)->reader, to);
}

/* ---- reloads ---- */

static void dataplane_driver_on_reload(void *arg, const struct dataplane_answer *a)
{
    struct dataplane_driver *d = arg;
    reload_answer(d->reload, a, clock_mono_ms());
    if (d->reload->state == RELOAD_DONE)
        verification_reloaded(&d->verification);
    d->base.events->reload_told(d->base.arg);
}

static void dataplane_driver_ask_reload(struct driver *base, struct reload *r)
{
    struct dataplane_driver *d = dataplane_driver_of(base);
    cleanup(mem_free_ptr) char *id = str_url_encode(r->id);
    cleanup(mem_free_ptr) char *path = mem_printf("/reloads/%s", id);
    d->reload = r;
    dataplane_send(d->client, "GET", path, NULL, dataplane_driver_on_reload, d);
}

static void dataplane_driver_on_list(void *arg, const struct dataplane_answer *a)
{
    struct driver *d = arg;
    struct reload_history history = {0};
    struct error err = {0};
    bool known = dataplane_answer_check(a, &err) == 0 && codec_read_reloads(a->body, a->body_len, &history, &err) == 0;
    d->events->last_reload_told(d->arg, &history, known ? NULL : &err);
    reload_history_fini(&history);
}

static void dataplane_driver_ask_last_reload(struct driver *d)
{
    dataplane_send(dataplane_driver_of(d)->client, "GET", "/reloads", NULL, dataplane_driver_on_list, d);
}

/* ---- commands ---- */

static void dataplane_driver_on_command(void *arg, const struct dataplane_answer *a)
{
    struct dataplane_driver *d = arg;
    struct error err = {0};
    bool done = runtime_command_answer(a, d->commanded, &err) == 0;
    d->base.events->commanded(d->base.arg, a->duration_us, done ? NULL : &err);
}

static void dataplane_driver_command(struct driver *base, const char *backend, const char *server,
                                     enum runtime_admin state)
{
    struct dataplane_driver *d = dataplane_driver_of(base);
    cleanup(mem_free_ptr) char *path = runtime_command_path(backend, server);
    cleanup(mem_free_ptr) char *body = mem_printf("{\"admin_state\":\"%s\"}", runtime_admin_name(state));
    d->commanded = state;
    dataplane_send(d->runtime, "PUT", path, body, dataplane_driver_on_command, d);
}

/* ---- what takes a moment to come about ---- */

static void dataplane_driver_again(void *driver)
{
    struct dataplane_driver *d = driver;
    d->reads(d, d->reading);
}

void dataplane_driver_read_again(struct dataplane_driver *d, struct transaction_action action,
                                 void (*reads)(struct dataplane_driver *d, struct transaction_action action))
{
    d->reads = reads;
    d->reading = action;
    d->reading.delay_ms = 0;
    timer_set(&d->again, action.delay_ms);
}

void dataplane_driver_forget_steps(struct dataplane_driver *d)
{
    struct dataplane_servers *s = &d->servers;
    transaction_steps_free(d->steps, d->step_count);
    d->steps = NULL;
    d->step_count = 0;
    changes_fini(&s->changes);
    cfg_edits_fini(&s->edits);
    cfg_content_unref(s->before);
    cfg_content_unref(s->text);
    *s = (struct dataplane_servers){0};
}

/* ---- life ---- */

static bool dataplane_driver_renew(struct driver *d, bool commands)
{
    struct dataplane_driver *own = dataplane_driver_of(d);
    return dataplane_credentials_refused(commands ? own->runtime : own->client);
}

static void dataplane_driver_cancel(struct driver *d, bool commands)
{
    struct dataplane_driver *own = dataplane_driver_of(d);
    if (!commands) {
        timer_cancel(&own->again);
        reader_cancel(&own->reader);
        dataplane_driver_forget_steps(own);
    }
    dataplane_cancel(commands ? own->runtime : own->client);
}

static void dataplane_driver_login(const struct driver *d, const char **ret_user, const char **ret_password)
{
    const struct dataplane_driver *own = (const void *)d;
    *ret_user = dataplane_client_user(own->client);
    *ret_password = dataplane_client_password(own->client);
}

static bool dataplane_driver_wants_cleaning(const struct driver *d)
{
    return !((const struct dataplane_driver *)(const void *)d)->cleaned;
}

static void dataplane_driver_resync(struct driver *d)
{
    struct dataplane_driver *own = dataplane_driver_of(d);
    own->cleaned = own->cleaned && own->transaction.noted == NULL && own->transaction.held_count == 0;
}

static void dataplane_driver_free(struct driver *d)
{
    struct dataplane_driver *own = dataplane_driver_of(d);
    dataplane_cancel(own->client);
    if (own->runtime != NULL)
        dataplane_cancel(own->runtime);
    timer_fini(&own->again);
    reader_fini(&own->reader);
    transaction_fini(&own->transaction);
    dataplane_driver_forget_steps(own);
    free(own->load_why);
    runtime_update_fini(&own->update);
    replacement_fini(&own->replacement);
    cfg_content_unref(own->file);
    storage_fini(&own->storage);
    served_fini(&own->served);
    free(own);
}

static const struct driver_ops dataplane_driver_ops = {.read = dataplane_driver_read,
                                                       .add = dataplane_driver_add,
                                                       .write = dataplane_driver_write,
                                                       .abort = dataplane_driver_abort,
                                                       .wants_cleaning = dataplane_driver_wants_cleaning,
                                                       .clean = dataplane_driver_clean,
                                                       .resync = dataplane_driver_resync,
                                                       .preview = dataplane_driver_preview,
                                                       .replace = dataplane_driver_replace,
                                                       .foresee = dataplane_driver_foresee,
                                                       .store = dataplane_driver_store,
                                                       .update = dataplane_driver_update,
                                                       .command = dataplane_driver_command,
                                                       .ask_reload = dataplane_driver_ask_reload,
                                                       .ask_last_reload = dataplane_driver_ask_last_reload,
                                                       .ask_served = dataplane_driver_ask_served,
                                                       .renew = dataplane_driver_renew,
                                                       .cancel = dataplane_driver_cancel,
                                                       .login = dataplane_driver_login,
                                                       .free = dataplane_driver_free};

struct driver *dataplane_driver_new(struct event_base *base, struct dataplane_client *client,
                                    struct dataplane_client *runtime)
{
    struct dataplane_driver *d = mem_alloc(sizeof(*d));
    d->base = (struct driver){.ops = &dataplane_driver_ops,
                              .name = dataplane_client_url(client),
                              .fails = "the Data Plane API is not available",
                              .regroups = true,
                              .runtime = runtime != NULL};
    d->client = client;
    d->runtime = runtime;
    reader_init(&d->reader, base, client, dataplane_driver_was_read, &d->base);
    d->reader.with_runtime = runtime != NULL;
    transaction_init(&d->transaction);
    runtime_update_init(&d->update);
    replacement_init(&d->replacement);
    storage_init(&d->storage);
    timer_init(&d->again, base, dataplane_driver_again, d);
    return &d->base;
}
