/* The file, as all parts of the driver know it: whether it is loaded, who may write it, and what became of a write. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "haproxy/cfg/mask.h"
#include "haproxy/local/driver_internal.h"
#include "haproxy/validation_text.h"

#define LOCK_AGAIN_MS 1000

/* ---- reporting from the loop ---- */

static void local_driver_on_tell(void *arg)
{
    struct local_driver *d = arg;
    d->news.tells(&d->base);
}

void local_driver_tell(struct local_driver *d, void (*tells)(struct driver *d))
{
    local_driver_tell_in(d, 0, tells);
}

void local_driver_tell_in(struct local_driver *d, uint64_t in_ms, void (*tells)(struct driver *d))
{
    struct local_news *n = &d->news;
    n->tells = tells;
    timer_set(&n->timer, in_ms);
}

/* ---- read, written, and loaded ---- */

/* Our own memory comes first: what is asked for may be older than what was noted. Where the other daemon that wrote it
 * still has the file, it is about to load it. */
static bool local_driver_is_unloaded(struct local_config_file *f, const struct local_answer *a, bool same)
{
    if (!a->unloaded || local_identity_same(&f->loaded, &a->identity))
        return f->unloaded && same;
    if (a->pid != 0 && f->waits == NULL)
        timer_set(&f->ask_again, LOCK_AGAIN_MS);
    return a->pid == 0;
}

/* Who wrote it meanwhile changed its identity, perhaps with the same bytes. What he loaded lacks who was taken back since. */
void local_driver_was_read(struct local_driver *d, const struct local_answer *a)
{
    struct local_config_file *f = &d->file;
    const struct cfg_content *c = f->content;
    bool known = c != NULL && local_identity_same(&f->identity, &a->identity);
    bool same = known || (c != NULL && c->len == a->len && memcmp(c->text, a->data, a->len) == 0);
    f->identity = a->identity;
    f->unloaded = local_driver_is_unloaded(f, a, same) || (f->took_back && !known);
    f->took_back = false;
    f->version += !known;
    if (!same) {
        struct buf text = {0};
        buf_addn(&text, a->data, a->len);
        cfg_content_unref(f->content);
        f->content = cfg_content_take(&text);
    }
}

void local_driver_wrote(struct local_driver *d, const struct local_answer *a, struct cfg_content *text, bool unloaded)
{
    struct local_config_file *f = &d->file;
    f->identity = a->identity;
    cfg_content_hold(&f->content, text);
    f->unloaded = f->unloaded || unloaded;
    f->version++;
}

struct local_request *local_driver_loaded(struct local_driver *d, local_answered *answered)
{
    struct local_config_file *f = &d->file;
    f->unloaded = false;
    f->loaded = f->identity;
    return local_note_loaded(d->options.helper, &f->identity, answered, d);
}

struct cfg_content *local_driver_text(struct local_driver *d, const struct cfg_edits *edits)
{
    struct buf text;
    const struct cfg_file *f = cfg_content_file(d->file.content, NULL);
    buf_init_secret(&text, 0);
    cfg_file_print(f, edits, NULL, &text);
    return cfg_content_take(&text);
}

/* ---- another daemon has the file ---- */

static void local_driver_go_on(struct local_driver *d)
{
    struct local_config_file *f = &d->file;
    bool waited = f->waits != NULL;
    free(f->waits);
    f->waits = NULL;
    d->base.waits = NULL;
    if (d->base.events->go_on != NULL)
        d->base.events->go_on(d->base.arg, waited);
}

static void local_driver_on_lock(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_config_file *f = &d->file;
    f->lock = NULL;
    if (a->status == LOCAL_LOCKED)
        timer_set(&f->ask_again, LOCK_AGAIN_MS);
    else
        local_driver_go_on(d); /* the next request reports what is wrong */
}

static void local_driver_on_ask_again(void *arg)
{
    struct local_driver *d = arg;
    struct local_config_file *f = &d->file;
    if (f->waits == NULL)
        local_driver_go_on(d);
    else
        f->lock = local_lock_config(d->options.helper, local_driver_on_lock, d);
}

void local_driver_has_lock(struct local_driver *d)
{
    if (d->file.waits == NULL)
        return;
    timer_cancel(&d->file.ask_again);
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

enum transaction_result local_driver_failed(struct local_driver *d, const struct local_answer *a, bool wrote,
                                            struct error *err)
{
    struct local_config_file *f = &d->file;
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
        if (f->waits == NULL)
            timer_set(&f->ask_again, LOCK_AGAIN_MS);
        free(f->waits);
        f->waits = mem_printf("another daemon (pid %d) writes %s; this one waits until that ends", (int)a->pid,
                              d->options.file);
        d->base.waits = f->waits;
        (void)error_set(err, ERROR_RETRY, "%s", f->waits);
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
    timer_init(&d->news.timer, base, local_driver_on_tell, d);
    timer_init(&d->file.ask_again, base, local_driver_on_ask_again, d);
}

void local_driver_file_fini(struct local_driver *d)
{
    struct local_config_file *f = &d->file;
    local_request_cancel(f->lock);
    timer_fini(&d->news.timer);
    timer_fini(&f->ask_again);
    free(f->waits);
    cfg_content_unref(f->content);
}
