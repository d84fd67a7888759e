/* Reads, replaces the whole file, commands. */
#include "haproxy/local/driver.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "haproxy/cfg/content.h"
#include "haproxy/local/config.h"
#include "haproxy/local/driver_internal.h"

#define LOCK_AGAIN_MS 1000
#define TURN_AGAIN_MS 20
#define TURN_MAX_MS 60000 /* of another daemon, whose reload may hang */
/* How long what `haproxy -c` said of a text holds. */
#define CHECKED_MS 60000

/* ---- telling from the loop ---- */

static void local_driver_on_tell(void *arg)
{
    struct local_driver *d = arg;
    d->tells(&d->base);
}

void local_driver_tell(struct local_driver *d, void (*tells)(struct driver *d))
{
    d->tells = tells;
    timer_set(&d->tell, 0);
}

/* ---- written, and not loaded ---- */

struct local_request *local_driver_loaded(struct local_driver *d, local_answered *answered)
{
    d->unloaded = false;
    d->loaded = d->identity;
    return local_note_loaded(d->options.helper, &d->identity, answered, d);
}

/* Our own memory comes first: what is asked for may be older than what was noted. Where the other daemon that wrote it
 * still has the file, it is about to load it. */
static bool local_driver_is_unloaded(struct local_driver *d, const struct local_answer *a, bool same)
{
    if (!a->unloaded || local_identity_same(&d->loaded, &a->identity))
        return d->unloaded && same;
    if (a->pid != 0 && d->waits == NULL)
        timer_set(&d->ask_again, LOCK_AGAIN_MS);
    return a->pid == 0;
}

/* ---- another daemon has the file ---- */

static void local_driver_go_on(struct local_driver *d)
{
    bool waited = d->waits != NULL;
    free(d->waits);
    d->waits = NULL;
    d->base.waits = NULL;
    if (d->base.events->go_on != NULL)
        d->base.events->go_on(d->base.arg, waited);
}

static void local_driver_on_lock(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    d->lock = NULL;
    if (a->status == LOCAL_LOCKED)
        timer_set(&d->ask_again, LOCK_AGAIN_MS);
    else
        local_driver_go_on(d); /* whoever asks next is told what is wrong */
}

static void local_driver_on_ask_again(void *arg)
{
    struct local_driver *d = arg;
    if (d->waits == NULL)
        local_driver_go_on(d);
    else
        d->lock = local_lock_config(d->options.helper, local_driver_on_lock, d);
}

void local_driver_has_lock(struct local_driver *d)
{
    if (d->waits == NULL)
        return;
    timer_cancel(&d->ask_again);
    local_driver_go_on(d);
}

void local_driver_wait(struct local_driver *d, pid_t other)
{
    if (d->waits == NULL)
        timer_set(&d->ask_again, LOCK_AGAIN_MS);
    free(d->waits);
    d->waits =
        mem_printf("another daemon (pid %d) writes %s; this one waits until that ends", (int)other, d->options.file);
    d->base.waits = d->waits;
}

/* ---- one daemon after the other ---- */

void local_driver_release(struct local_driver *d)
{
    enum local_reload_step step = d->reload.step;
    bool loads = d->reload.number > 0 && step < LOCAL_RELOAD_SUCCEEDED;
    if (d->options.takes_turns && !loads)
        local_release_config(d->options.helper);
}

/* ---- reading ---- */

/* Who wrote it meanwhile changed its identity, perhaps with the same bytes. What he loaded lacks who was taken back since. */
static void local_driver_take_file(struct local_driver *d, const struct local_answer *a)
{
    bool known = d->file != NULL && local_identity_same(&d->identity, &a->identity);
    bool same = known || (d->file != NULL && d->file->len == a->len && memcmp(d->file->text, a->data, a->len) == 0);
    d->identity = a->identity;
    d->unloaded = local_driver_is_unloaded(d, a, same) || (d->took_back && !known);
    d->took_back = false;
    if (!known) {
        d->version++;
        if (!same) {
            struct buf text = {0};
            buf_addn(&text, a->data, a->len);
            cfg_content_unref(d->file);
            d->file = cfg_content_take(&text);
        }
    }
    d->to->file = cfg_content_ref(d->file);
    d->to->version = d->version;
    d->to->loaded = a->loaded;
    d->to->unloaded = d->unloaded;
}

/* One backend that cannot be understood keeps no other one up. */
static void local_driver_take_backends(struct local_driver *d)
{
    struct error broken = {0};
    const struct cfg_file *f = d->to->count > 0 ? cfg_content_file(d->file, &broken) : NULL;
    for (size_t i = 0; i < d->to->count; i++) {
        struct reading *r = &d->to->found[i];
        r->backend.version = d->version;
        if (f == NULL)
            r->unreadable = broken;
        else if (local_config_read(f, &r->backend, &r->unreadable) != 0)
            (void)error_prefix(&r->unreadable, "reading backend %s", r->backend.name);
    }
}

static void local_driver_on_file(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    d->request = NULL;
    if (a->status == LOCAL_OK) {
        free(d->defaults_before);
        d->defaults_before = a->error_number == 0 ? mem_strdup(a->message) : NULL;
        local_driver_take_file(d, a);
        local_driver_take_backends(d);
        local_driver_read_running(d);
        return;
    }
    struct error err = {0};
    local_driver_release(d);
    (void)error_set(&err, ERROR_RETRY, "%s", a->message);
    d->base.events->was_read(d->base.arg, &err);
}

/* Amid another one's turn the file is ahead of what runs, or behind it, and that is no drift. */
static void local_driver_on_turn(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    d->request = NULL;
    if (a->status == LOCAL_LOCKED && clock_mono_ms() < d->turn_until_ms)
        timer_set(&d->turn, TURN_AGAIN_MS);
    else
        d->request = local_read_config(d->options.helper, local_driver_on_file, d);
}

static void local_driver_ask_turn(void *arg)
{
    struct local_driver *d = arg;
    d->request = local_lock_config(d->options.helper, local_driver_on_turn, d);
}

static void local_driver_read(struct driver *base, struct readout *to)
{
    struct local_driver *d = local_driver_of(base);
    readout_begin(to);
    d->to = to;
    d->at = 0;
    d->turn_until_ms = clock_mono_ms() + TURN_MAX_MS;
    if (d->options.takes_turns)
        local_driver_ask_turn(d);
    else
        d->request = local_read_config(d->options.helper, local_driver_on_file, d);
}

/* ---- the whole file ---- */

/* What `haproxy -c` took a moment ago is not checked again to be written. */
static void driver_keep_checked(struct local_driver *d, struct cfg_content *c)
{
    cfg_content_unref(d->checked);
    d->checked = c != NULL ? cfg_content_ref(c) : NULL;
    d->checked_ms = clock_mono_ms();
}

static bool driver_is_checked(const struct local_driver *d, const struct cfg_content *c)
{
    return d->checked == c && clock_mono_ms() - d->checked_ms < CHECKED_MS;
}

static void local_driver_on_replaced(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    bool writes = d->replacement.before != NULL;
    struct replaced r = {.version = d->version, .retry_after_ms = -1};
    d->request = NULL;
    if (a->status == LOCAL_OK && !writes)
        driver_keep_checked(d, d->replacement.text);
    if (a->status == LOCAL_OK && writes) {
        local_driver_wrote(d, a, d->replacement.text);
        driver_keep_checked(d, NULL);
        r.result = TRANSACTION_COMMITTED;
        r.version = d->version;
        r.file = d->file;
    } else if (a->status == LOCAL_OK) {
        r.result = TRANSACTION_PREVIEWED;
    } else if (a->status == LOCAL_REJECTED) {
        r.result = TRANSACTION_REJECTED;
        local_driver_rejected(d, a->message, d->replacement.edits, d->replacement.text, &r.error);
    } else {
        r.result = local_driver_failed(d, a, writes, &r.error);
    }
    d->replacement = (struct replacement_request){0};
    d->base.events->replaced(d->base.arg, &r);
}

static void local_driver_tell_replaced(struct driver *base)
{
    struct local_driver *d = local_driver_of(base);
    const struct replaced r = d->replaced;
    base->events->replaced(base->arg, &r);
}

static void local_driver_replace(struct driver *base, int64_t version, const struct replacement_request *request)
{
    struct local_driver *d = local_driver_of(base);
    bool writes = request->before != NULL;
    if (writes && version != d->version) {
        d->replaced = (struct replaced){.result = TRANSACTION_CONFLICT, .version = d->version, .retry_after_ms = -1};
        (void)error_set(&d->replaced.error, ERROR_CONFLICT, "%s was changed meanwhile", d->options.file);
        local_driver_tell(d, local_driver_tell_replaced);
        return;
    }
    unsigned flags = writes ? 0 : LOCAL_WRITE_ONLY_VALIDATE;
    if (writes && (request->plain || driver_is_checked(d, request->text)))
        flags = LOCAL_WRITE_UNCHECKED;
    d->replacement = *request;
    if (writes && request->changes != NULL) {
        driver_keep_checked(d, NULL);
        local_driver_write_whole(d, flags);
        return;
    }
    d->request = local_write_config(d->options.helper, request->text->text, request->text->len,
                                    writes ? &d->identity : NULL, flags, local_driver_on_replaced, d);
}

/* ---- reloads that others asked for ---- */

static void local_driver_tell_last_reload(struct driver *base)
{
    const struct reload_history none = {.unlisted = true};
    base->events->last_reload_told(base->arg, &none, NULL);
}

static void local_driver_ask_last_reload(struct driver *base)
{
    local_driver_tell(local_driver_of(base), local_driver_tell_last_reload);
}

/* ---- commands ---- */

static void local_driver_on_command(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct error err = {0};
    d->command = NULL;
    bool done = a->status == LOCAL_OK && cli_read_done(a->data, &err) == 0;
    if (a->status != LOCAL_OK)
        (void)error_set(&err, ERROR_RETRY, "%s", a->message);
    d->base.events->commanded(d->base.arg, 0, done ? NULL : &err);
}

static void local_driver_command(struct driver *base, const char *backend, const char *server, enum runtime_admin state)
{
    struct local_driver *d = local_driver_of(base);
    cleanup(mem_free_ptr) char *command =
        mem_printf("set server %s/%s state %s", backend, server, runtime_admin_name(state));
    d->command = local_command(d->options.commands, LOCAL_SOCKET_STATS, command, local_driver_on_command, d);
}

/* ---- life ---- */

static bool local_driver_renew(struct driver *d, bool commands)
{
    (void)d;
    (void)commands;
    return false; /* there are no credentials */
}

static void local_driver_cancel(struct driver *base, bool commands)
{
    struct local_driver *d = local_driver_of(base);
    struct local_request **r = commands ? &d->command : &d->request;
    local_request_cancel(*r);
    *r = NULL;
    if (commands)
        return;
    timer_cancel(&d->tell);
    timer_cancel(&d->turn);
    timer_cancel(&d->update.again);
    local_driver_verify_cancel(d);
    local_driver_write_forget(d);
    local_driver_release(d);
    d->reload.waits = NULL;
}

static void local_driver_forget_lock(struct local_driver *d)
{
    local_request_cancel(d->lock);
    timer_fini(&d->ask_again);
    free(d->waits);
}

static void local_driver_free(struct driver *base)
{
    struct local_driver *d = local_driver_of(base);
    local_driver_cancel(base, true);
    local_driver_cancel(base, false);
    local_driver_reload_fini(d);
    local_driver_forget_lock(d);
    timer_fini(&d->tell);
    timer_fini(&d->turn);
    timer_fini(&d->update.again);
    timer_fini(&d->verify.again);
    local_driver_forget_leaving(d);
    free(d->leaving.list);
    timer_fini(&d->leaving.again);
    local_driver_write_fini(d);
    local_driver_store_fini(d);
    cfg_content_unref(d->file);
    cfg_content_unref(d->checked);
    served_fini(&d->served);
    free(d->reload_id);
    free(d->defaults_before);
    free(d);
}

static const struct driver_ops local_driver_ops = {.read = local_driver_read,
                                                   .add = local_driver_add,
                                                   .write = local_driver_write,
                                                   .abort = local_driver_abort,
                                                   .update = local_driver_update,
                                                   .replace = local_driver_replace,
                                                   .foresee = local_driver_foresee,
                                                   .store = local_driver_store,
                                                   .set_running = local_driver_set_running,
                                                   .command = local_driver_command,
                                                   .ask_reload = local_driver_ask_reload,
                                                   .ask_last_reload = local_driver_ask_last_reload,
                                                   .ask_served = local_driver_ask_served,
                                                   .renew = local_driver_renew,
                                                   .cancel = local_driver_cancel,
                                                   .free = local_driver_free};

struct driver *local_driver_new(struct event_base *base, const struct local_driver_options *options)
{
    struct local_driver *d = mem_alloc(sizeof(*d));
    d->base = (struct driver){.ops = &local_driver_ops,
                              .name = options->file,
                              .fails = "cannot change HAProxy's configuration",
                              .runtime = options->commands != NULL,
                              .adds = options->commands != NULL,
                              .tells_ends = true};
    d->options = *options;
    timer_init(&d->tell, base, local_driver_on_tell, d);
    timer_init(&d->update.again, base, local_driver_update_again, d);
    timer_init(&d->turn, base, local_driver_ask_turn, d);
    timer_init(&d->ask_again, base, local_driver_on_ask_again, d);
    local_driver_store_init(d);
    timer_init(&d->leaving.again, base, local_driver_leaving_again, d);
    local_driver_verify_init(d, base);
    local_driver_reload_init(d, base);
    return &d->base;
}
