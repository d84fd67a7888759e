/* The daemon's configuration engine, as daemon/config attaches it to the targets. */
#include "whole.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "world.h"

static void store_begin(struct world *w)
{
    struct error err = {0};
    if (w->whole.store != NULL && w->settings.kept == 0) {
        store_free(w->whole.store);
        w->whole.store = NULL;
        free(w->whole.rejected);
        w->whole.rejected = NULL;
    }
    if (w->whole.store == NULL)
        w->whole.store = store_new(NULL, &w->log, &err);
    store_use(w->whole.store, DOCUMENT_FOR_FILE);
}

void whole_open(struct world *w)
{
    struct api *a = &w->apis[0];
    struct whole_text *d = &w->whole.document;
    if (w->settings.whole == 0)
        return;
    d->conf = a->on_disk;
    for (size_t b = 0; b < BACKENDS; b++) {
        snprintf(d->conf.of[b].balance, sizeof(d->conf.of[b].balance), "roundrobin");
        for (size_t i = 0; i < d->conf.of[b].count; i++) /* a keyword that has no table takes a reload with any other */
            d->conf.of[b].servers[i].options[0] = '\0';
    }
    w->whole.former = *d;
    whole_hand_writes(a, whole_print(d), true);
    free(w->whole.by_hand);
    w->whole.by_hand = NULL;
    w->whole.hand_file = false;
}

void whole_close(struct world *w)
{
    store_free(w->whole.store);
    free(w->whole.rejected);
    free(w->whole.kept);
    free(w->whole.loaded);
    free(w->whole.by_hand);
}

struct configuration *whole_begin(struct world *w)
{
    if (w->settings.whole == 0)
        return NULL;
    store_begin(w);
    if (w->settings.kept == 0 && whole_is_unloadable(w->apis[0].local.text)) /* nobody else knows what ran before */
        whole_hand_writes(&w->apis[0], mem_strdup(w->whole.loaded), false);
    const struct configuration_options options = {.target_count = w->settings.targets,
                                                  .dry_run = w->settings.dry != 0,
                                                  .drift = (enum configuration_drift)w->settings.drift,
                                                  .min_interval_ms = (uint64_t)w->settings.apart_s * 1000,
                                                  .store = w->whole.store,
                                                  .listener = {.happened = whole_event, .arg = w},
                                                  .log = &w->log};
    w->whole.configuration = configuration_new(NULL, &options);
    w->whole.version_known = w->whole.known = w->whole.tells = w->whole.owes_reload = false;
    return w->whole.configuration;
}

void whole_give(struct world *w)
{
    struct error err = {0};
    cleanup(mem_free_ptr) char *text = whole_print(&w->whole.document);
    if (w->whole.configuration == NULL)
        return;
    configuration_pause(w->whole.configuration, w->whole.paused);
    struct document *d = document_new_of(DOCUMENT_FOR_FILE, "a file", text, strlen(text), NULL, NULL, &err);
    if (d == NULL)
        violate(w, "document", "%s", err.message);
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

/* Whoever asks for it wants what was rejected to be asked about again. */
void whole_refresh(struct world *w)
{
    free(w->whole.rejected);
    w->whole.rejected = NULL;
}
