/* The daemon's configuration engine, as daemon/config attaches it to the targets. */
#include "whole.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "world.h"

static enum document_use use(const struct world *w)
{
    return w->settings.local != LOCAL_NONE ? DOCUMENT_FOR_FILE : DOCUMENT_FOR_APIS;
}

static void store_begin(struct world *w)
{
    struct error err = {0};
    if (w->whole.store != NULL && w->settings.kept == 0) {
        store_free(w->whole.store);
        w->whole.store = NULL;
        whole_refresh(w);
    }
    if (w->whole.store == NULL)
        w->whole.store = store_new(NULL, &w->log, &err);
    store_use(w->whole.store, use(w));
}

void whole_open(struct world *w)
{
    struct whole_text *d = &w->whole.document;
    if (w->settings.whole == 0)
        return;
    d->conf = w->apis[0].on_disk;
    for (size_t b = 0; b < BACKENDS; b++) {
        snprintf(d->conf.of[b].balance, sizeof(d->conf.of[b].balance), "roundrobin");
        for (size_t i = 0; i < d->conf.of[b].count; i++) /* a keyword that has no table takes a reload with any other */
            d->conf.of[b].servers[i].options[0] = '\0';
    }
    d->files = w->settings.files != 0;
    w->whole.former = *d;
    for (size_t i = 0; i < w->settings.targets; i++) {
        struct api *a = &w->apis[i];
        whole_hand_writes(a, whole_print(d), true);
        free(a->whole.by_hand);
        a->whole.by_hand = NULL;
        a->whole.hand_file = false;
    }
}

void whole_close(struct world *w)
{
    store_free(w->whole.store);
    free(w->whole.withdrawn);
    free(w->whole.given);
    for (size_t i = 0; i < w->settings.targets; i++) {
        struct whole_target *t = &w->apis[i].whole;
        free(t->rejected);
        free(t->kept);
        free(t->loaded);
        free(t->by_hand);
        free(t->answered);
        whole_files_free(&w->apis[i]);
        free(t->good);
    }
}

static bool has_unloadable(const struct api *a)
{
    const char *answered = a->whole.answered; /* what a Data Plane API loads, whatever it has put back into the file */
    return whole_is_unloadable(a->local.text) || (answered != NULL && whole_is_unloadable(answered));
}

/* Where no version is kept, nobody else knows what ran before: an operator repairs what cannot be loaded. Nor does a person
 * know of a load that the API forgot, where nothing at all is kept. */
static void target_begin(struct world *w, struct api *a)
{
    if (store_latest(w->whole.store, a->url) == NULL && has_unloadable(a))
        whole_hand_writes(a, mem_strdup(a->whole.loaded), false);
    cleanup(buf_fini) struct buf left = {0};
    whole_files_unloaded(a, &left);
    a->whole.files_left = left.len > 0;
    if (a->whole.load_lost && !a->reload_pending && w->settings.kept == 0)
        a->whole.unknowable = a->whole.left_to_other = a->whole.hand_unloaded = true;
    a->whole.version_known = a->whole.known = a->whole.tells = a->whole.tells_early = a->whole.owes_reload = false;
}

struct configuration *whole_begin(struct world *w)
{
    if (w->settings.whole == 0)
        return NULL;
    store_begin(w);
    whole_canary_restarts(&w->whole);
    for (size_t i = 0; i < w->settings.targets; i++)
        target_begin(w, &w->apis[i]);
    const struct configuration_options options = {.target_count = w->settings.targets,
                                                  .dry_run = w->settings.dry != 0,
                                                  .drift = (enum configuration_drift)w->settings.drift,
                                                  /* CONFIG_CANARY has to leave some that wait */
                                                  .canary =
                                                      w->settings.targets > w->settings.canary ? w->settings.canary : 0,
                                                  .canary_time_ms = WHOLE_CANARY_US / 1000,
                                                  .min_interval_ms = (uint64_t)w->settings.apart_s * 1000,
                                                  .store = w->whole.store,
                                                  .listener = {.happened = whole_event, .arg = w},
                                                  .log = &w->log};
    w->whole.configuration = configuration_new(NULL, &options);
    return w->whole.configuration;
}

void whole_give(struct world *w)
{
    struct error err = {0};
    cleanup(mem_free_ptr) char *text = whole_print(&w->whole.document);
    if (w->whole.configuration == NULL)
        return;
    configuration_pause(w->whole.configuration, w->whole.paused);
    cleanup(storage_files_fini) struct storage_files files = {0};
    if (w->whole.document.files)
        whole_files_of(w, &files);
    struct document *d =
        document_new(use(w), "a file", text, strlen(text), NULL, w->whole.document.files ? &files : NULL, &err);
    if (d == NULL)
        violate(w, "document", "%s", err.message);
    cleanup(mem_free_ptr) char *meaning = whole_meaning(text, true);
    whole_texts_add(&w->whole.meant, meaning);
    w->whole.document_us = w->now_us;
    configuration_set(w->whole.configuration, d);
    document_unref(d);
}

void whole_end(struct world *w)
{
    configuration_free(w->whole.configuration);
    w->whole.configuration = NULL;
}

void whole_pause(struct world *w, bool paused)
{
    w->whole.paused = paused;
    w->whole.paused_us = w->now_us;
    if (w->whole.configuration != NULL)
        configuration_pause(w->whole.configuration, paused);
}

/* An operator who asks for it wants what was rejected to be asked about again. */
void whole_refresh(struct world *w)
{
    whole_try_again(w);
    for (size_t i = 0; i < w->settings.targets; i++) {
        free(w->apis[i].whole.rejected);
        w->apis[i].whole.rejected = NULL;
    }
}
