/* Who gets a document first, and what comes of it: no other HAProxy has it before the first one was watched and is well, and what
 * was rolled back is not tried again. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "haproxy/cfg/content.h"
#include "world.h"

#define WATCHED_US 15000000 /* who is not first, at most */

static uint64_t hash(const char *text)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++)
        sum = (sum ^ (unsigned char)*text) * 0x100000001b3u;
    return sum;
}

static size_t place(const struct whole_texts *t, const char *text)
{
    uint64_t key = hash(text);
    size_t i = 0;
    while (i < t->count && t->list[i] != key)
        i++;
    return i;
}

bool whole_texts_has(const struct whole_texts *t, const char *text)
{
    return place(t, text) < t->count;
}

void whole_texts_add(struct whole_texts *t, const char *text)
{
    if (!whole_texts_has(t, text) && t->count < WHOLE_TEXTS_MAX)
        t->list[t->count++] = hash(text);
}

static void texts_remove(struct whole_texts *t, const char *text)
{
    size_t i = place(t, text);
    if (i < t->count)
        t->list[i] = t->list[--t->count];
}

/* It was watched wherever it was by then, and is well. */
static bool is_proven(const struct world *w, const char *document)
{
    const struct store *s = w->whole.store;
    struct error err = {0};
    size_t i = 0;
    while (i < store_count(s) && !store_is_proven(s, store_version(s, i)->id))
        i++;
    cleanup(document_unref_ptr) struct document *d =
        i < store_count(s) ? store_document(s, store_version(s, i)->number, &err) : NULL;
    return d != NULL && strcmp(d->content->text, document) == 0;
}

/* What runs is read anew before the next one comes: what of it takes no connections is promised by none. */
static bool all_do_well(const struct world *w)
{
    bool all = w->whole.given != NULL && is_proven(w, w->whole.given);
    for (size_t i = 0; i < w->settings.targets; i++)
        all = all && str_eq(configuration_view(w->whole.configuration, i).state, "applied") &&
              w->now_us >= w->apis[i].whole.applied_us + WATCHED_US;
    return all;
}

/* ---- who is first ---- */

void whole_canary_begins(struct world *w, const char *document)
{
    if (str_eq(document, w->whole.given))
        return;
    w->whole.sick_before = w->whole.sick_before && !all_do_well(w);
    whole_try_again(w); /* the source has changed, perhaps to what it had before */
    free(w->whole.given);
    w->whole.given = mem_strdup(document);
    w->whole.given_us = w->now_us;
    w->whole.first = NULL;
    w->whole.watched_us = 0;
    w->whole.taken_back = false;
    w->whole.was_there = false;
    for (size_t i = 0; i < w->settings.targets; i++) {
        w->whole.sick_before = w->whole.sick_before || whole_is_sick(&w->apis[i]);
        w->apis[i].whole.superseded = true;
    }
}

static void whole_canary_is_first(struct whole *w, struct api *a)
{
    if (w->first != a)
        w->first_us = a->world->now_us;
    w->first = a;
}

static bool first_has(const struct whole *w, const char *document)
{
    cleanup(mem_free_ptr) char *meant = whole_meaning(document, true), *is = whole_meaning(w->first->local.text, true);
    return strcmp(meant, is) == 0;
}

/* Who has it is read again before this daemon knows, and only in the file. */
void whole_canary_restarts(struct whole *w)
{
    w->watched_us = 0;
    if (w->first != NULL &&
        (w->document.files || !first_has(w, w->given))) /* a file may mean the same, and have others beside it */
        w->first = NULL;
}

/* It was rolled back, and the first one has it no more: who gets it when it is tried again is the first one. */
static void forget_first(struct whole *w, const char *document)
{
    if (w->first == NULL || !w->taken_back || first_has(w, document))
        return;
    w->first = NULL;
    w->watched_us = 0;
    w->taken_back = false;
}

/* One that was written to, and whose answer does not come, may be followed by another one; what was asked of it is carried out
 * then, or later. */
void whole_canary_written(struct api *a, const char *document, uint64_t asked_us)
{
    struct whole *w = &a->world->whole;
    forget_first(w, document);
    const struct api *first = w->first;
    if (first != NULL && w->first_us > asked_us)
        return;
    bool good = whole_texts_has(&w->passed, document) || is_proven(a->world, document);
    if (first != NULL && first != a && a->world->settings.canary != 0 && !good &&
        ((w->watched_us != 0 && w->watched_us <= asked_us) || first->troubled_us < w->given_us))
        violate(a->world, "canary", "%s: it gets the document, which %s has first, and nobody has said that it is good",
                a->url, first->url);
    if (w->watched_us == 0)
        whole_canary_is_first(w, a);
}

void whole_canary_applied(struct api *a, bool unchanged)
{
    struct whole *w = &a->world->whole;
    a->whole.applied_us = a->world->now_us;
    w->was_there = w->was_there || unchanged;
    if (w->first == NULL || (unchanged && w->watched_us == 0))
        whole_canary_is_first(w, a); /* it has it from before */
    if (w->first == a)
        w->watched_us = a->world->now_us;
}

void whole_canary_passed(struct world *w)
{
    cleanup(mem_free_ptr) char *document = whole_print(&w->whole.document);
    const struct whole *h = &w->whole;
    bool watched = h->watched_us != 0 && w->now_us >= h->watched_us + WHOLE_CANARY_US;
    bool promised = !h->was_there && !h->sick_before;
    if (!watched)
        violate(w, "canary", "it is said to have passed, and was not watched for %d s", WHOLE_CANARY_US / 1000000);
    if (h->document.sick && promised)
        violate(w, "canary", "it is said to have passed, and takes no connections");
    whole_texts_add(&w->whole.passed, document);
}

/* ---- what goes back ---- */

/* Another writer touched a HAProxy, it did not load what it was to, or it does not do what the document promises. */
static bool has_cause(const struct world *w)
{
    bool any = w->whole.document.sick;
    for (size_t i = 0; i < w->settings.targets; i++) {
        const struct api *a = &w->apis[i];
        any = any || a->touched_us + WHOLE_CAUSE_US >= w->whole.document_us ||
              a->troubled_us + WHOLE_CAUSE_US >= w->whole.document_us;
    }
    return any;
}

void whole_rolled_back(struct world *w)
{
    char *document = whole_print(&w->whole.document);
    if (!has_cause(w))
        violate(w, "rolled-back", "the document was rolled back, and all was well");
    texts_remove(&w->whole.passed, document);
    free(w->whole.withdrawn);
    w->whole.withdrawn = document;
    w->whole.withdrawn_us = w->now_us;
    w->whole.taken_back = true;
}

void whole_try_again(struct world *w)
{
    free(w->whole.withdrawn);
    w->whole.withdrawn = NULL;
}
