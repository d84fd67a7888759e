/* The file, as all parts of the driver know it: whether it is loaded, who may write it, and what became of a write. */
#include <stdlib.h>

#include "base/mem.h"
#include "haproxy/cfg/mask.h"
#include "haproxy/local/driver_internal.h"
#include "haproxy/validation_text.h"

/* ---- reporting from the loop ---- */

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

/* ---- written, and loaded ---- */

void local_driver_wrote(struct local_driver *d, const struct local_answer *a, struct cfg_content *text)
{
    d->identity = a->identity;
    cfg_content_hold(&d->file, text);
    d->unloaded = true;
    d->version++;
}

struct local_request *local_driver_loaded(struct local_driver *d, local_answered *answered)
{
    d->unloaded = false;
    d->loaded = d->identity;
    return local_note_loaded(d->options.helper, &d->identity, answered, d);
}

struct cfg_content *local_driver_text(struct local_driver *d, const struct cfg_edits *edits)
{
    struct buf text;
    const struct cfg_file *f = cfg_content_file(d->file, NULL);
    buf_init_secret(&text, 0);
    cfg_file_print(f, edits, NULL, &text);
    return cfg_content_take(&text);
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
        timer_set(&d->ask_again, LOCAL_LOCK_AGAIN_MS);
    else
        local_driver_go_on(d); /* the next request reports what is wrong */
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

void local_driver_release(struct local_driver *d)
{
    enum local_reload_step step = d->reload.step;
    bool loads = d->reload.number > 0 && step < LOCAL_RELOAD_SUCCEEDED;
    if (d->options.takes_turns && !loads)
        local_release_config(d->options.helper);
}

/* ---- a request about it that failed ---- */

static void local_driver_wait(struct local_driver *d, pid_t other)
{
    if (d->waits == NULL)
        timer_set(&d->ask_again, LOCAL_LOCK_AGAIN_MS);
    free(d->waits);
    d->waits =
        mem_printf("another daemon (pid %d) writes %s; this one waits until that ends", (int)other, d->options.file);
    d->base.waits = d->waits;
}

enum transaction_result local_driver_failed(struct local_driver *d, const struct local_answer *a, bool wrote,
                                            struct error *err)
{
    switch (a->status) {
    case LOCAL_CHANGED:
        (void)error_set(err, ERROR_CONFLICT, "%s was changed meanwhile; it is read again", d->options.file);
        return TRANSACTION_CONFLICT;
    case LOCAL_LOCKED:
        if (d->options.takes_turns) { /* the next reading waits until that one has ended */
            (void)error_set(err, ERROR_CONFLICT, "another daemon (pid %d) writes %s; it is read again", (int)a->pid,
                            d->options.file);
            return TRANSACTION_CONFLICT;
        }
        local_driver_wait(d, a->pid);
        (void)error_set(err, ERROR_RETRY, "%s", d->waits);
        return TRANSACTION_UNAVAILABLE;
    case LOCAL_LOST:
        (void)error_set(err, ERROR_RETRY, "%s", a->message);
        return wrote ? TRANSACTION_UNKNOWN : TRANSACTION_UNAVAILABLE;
    case LOCAL_OK:
    case LOCAL_REJECTED:
    case LOCAL_FAILED:
        break;
    }
    (void)error_set(err, ERROR_RETRY, "%s", a->message);
    return TRANSACTION_UNAVAILABLE;
}

enum transaction_result local_driver_refused(struct local_driver *d, const struct local_answer *a,
                                             const struct cfg_edits *edits, const struct cfg_content *text,
                                             struct error *err)
{
    if (a->status != LOCAL_REJECTED)
        return local_driver_failed(d, a, true, err);
    cleanup(mem_free_ptr) char *says = validation_text_of_program(a->message, d->options.file, edits);
    cleanup(mem_free_ptr) char *masked = cfg_mask_message(says, text->text);
    (void)error_set(err, ERROR_INVALID, "%s", masked);
    return TRANSACTION_REJECTED;
}

/* ---- life ---- */

void local_driver_file_init(struct local_driver *d, struct event_base *base)
{
    timer_init(&d->tell, base, local_driver_on_tell, d);
    timer_init(&d->ask_again, base, local_driver_on_ask_again, d);
}

void local_driver_file_fini(struct local_driver *d)
{
    local_request_cancel(d->lock);
    timer_fini(&d->tell);
    timer_fini(&d->ask_again);
    free(d->waits);
    cfg_content_unref(d->file);
    cfg_content_unref(d->checked);
}
