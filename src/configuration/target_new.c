/* A HAProxy that has run nothing yet, while the latest document is rejected: it gets the one that ran last, as others run it,
 * and waits for the next one with them. */
#include "configuration/configuration_internal.h"
#include "configuration/document.h"
#include "configuration/store.h"

bool target_may_write(const struct target *t)
{
    return t->own != NULL ? configuration_writes(t->of) : configuration_may_write(t->of);
}

/* As far as is known: perhaps it did so before a restart of the daemon. */
static bool target_new_has_none(const struct target *t)
{
    bool begins = t->progress == PROGRESS_NEW || t->progress == PROGRESS_VALID;
    return begins && t->own == NULL && t->in != NULL && t->runs[0] == '\0' && t->writing == NULL &&
           store_latest(t->of->options.store, target_name(t)) == NULL;
}

/* NULL: there is none. */
static struct document *target_new_last(const struct configuration *c, unsigned *ret_number)
{
    const struct store *store = c->options.store;
    struct error err = {0}; /* its text is lost: it gets none */
    size_t i = 0;
    while (i < store_count(store) && store_is_rejected(store, store_version(store, i)->id))
        i++; /* it ran, and was rolled back */
    if (i == store_count(store))
        return NULL;
    const struct store_version *v = store_version(store, i);
    *ret_number = v->number;
    return store_document(store, v->number, &err);
}

static void target_new_take(struct target *t)
{
    const struct configuration *c = t->of;
    unsigned number = 0;
    struct document *d = target_new_last(c, &number);
    if (d == NULL)
        return;
    log_info(c->options.log, "HAProxy is new, and the latest configuration is rejected: it gets the last one that ran",
             log_str("target", target_url(t)), log_str("sha256", d->hash), log_int("version", number));
    t->own = d;
    t->joins = true;
    target_set(t);
}

void target_new_end(struct target *t)
{
    document_unref(t->own);
    t->own = NULL;
}

void target_new_step(struct configuration *c)
{
    if (c->document == NULL || c->next != NULL)
        return;
    bool rejected = configuration_rejected(c);
    for (struct target *t = target_next(c, NULL); t != NULL; t = target_next(c, t)) {
        if (rejected && target_new_has_none(t)) {
            target_new_take(t);
        } else if (!rejected && t->own != NULL && !target_files_half_way(t)) { /* as configuration_half_way has it */
            target_new_end(t);
            target_set(t);
        }
    }
}
