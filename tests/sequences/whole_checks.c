/* What has to hold of whole configurations. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "configuration/document.h"
#include "configuration/store.h"
#include "haproxy/cfg/content.h"
#include "net/digest.h"
#include "world.h"

#define CONVERGES_US 3600000000
#define RESTS_US 180000000
#define NOT_TOLD_US 3700000000 /* so long HAProxy is perhaps sent nothing after it did not do what it was sent */
#define FAULTS_END_US 61000000 /* of requests that are under way */

/* ---- what runs ---- */

static bool is_removed(const struct whole_target *w, size_t backend, const char *name)
{
    for (size_t i = 0; i < w->removed_count; i++)
        if (w->removed[i].backend == backend && str_eq(w->removed[i].name, name))
            return true;
    return false;
}

/* What no command changes. */
static bool is_same_line(const struct server *a, const struct server *b)
{
    return (a->check == ON) == (b->check == ON) && a->check_port == b->check_port && a->maxconn == b->maxconn &&
           (a->backup == ON) == (b->backup == ON) && strcmp(a->options, b->options) == 0;
}

static void difference_of_line(const struct api *a, size_t backend, const struct server *line,
                               const struct running_server *is, struct buf *why)
{
    const struct section *s = &a->on_disk.of[backend];
    int weight = line->weight >= 0 ? line->weight : 1;
    enum admin admin = section_says_maintenance(s, line) ? MAINT : READY;
    if (is == NULL)
        buf_printf(why, "HAProxy does not run %s", line->name);
    else if (!(is->hand & WHOLE_HAND_ADDRESS) && (strcmp(line->address, is->address) != 0 || line->port != is->port))
        buf_printf(why, "HAProxy runs %s at %s:%u, its line says %s:%u", line->name, is->address, is->port,
                   line->address, line->port);
    else if (!(is->hand & WHOLE_HAND_WEIGHT) && is->weight != weight)
        buf_printf(why, "HAProxy runs %s with weight %d, its line says %d", line->name, is->weight, weight);
    else if (!(is->hand & WHOLE_HAND_STATE) && is->admin != admin)
        buf_printf(why, "HAProxy runs %s in state %d, its line says %d", line->name, (int)is->admin, (int)admin);
    else if (is->hand != WHOLE_HAND_ALL && (is->unchecked || !is_same_line(&is->line, line)))
        buf_printf(why, "HAProxy runs %s otherwise than its line says", line->name);
}

void whole_difference(struct api *a, struct buf *why)
{
    const struct whole_target *w = &a->whole;
    cleanup(mem_free_ptr) char *rest = whole_meaning(a->local.text, false);
    if (strcmp(rest, w->runs) != 0)
        buf_add(why, "HAProxy runs other settings than the file has");
    for (size_t b = 0; b < BACKENDS && why->len == 0; b++) {
        struct section *s = &a->on_disk.of[b];
        for (size_t i = 0; i < s->count && why->len == 0; i++)
            if (!is_removed(w, b, s->servers[i].name))
                difference_of_line(a, b, &s->servers[i], running_find(&a->running, b, s->servers[i].name), why);
        for (size_t i = 0; i < a->running.of[b].count && why->len == 0; i++) {
            const struct running_server *is = &a->running.of[b].servers[i];
            /* Who leaves is in maintenance as long as connections are there. */
            if (section_find(s, is->name) == NULL && is->admin != MAINT && !(is->hand & WHOLE_HAND_STATE))
                buf_printf(why, "HAProxy runs %s, which has no line", is->name);
        }
        if (why->len > 0)
            buf_printf(why, " (backend %s)", conf_backends[b]);
    }
}

/* ---- what is said ---- */

/* The version that it went back to by itself: a HAProxy that is started again and again after a change is taken for one that
 * breaks by it. */
static unsigned rolled_back(const struct whole *w)
{
    return w->configuration != NULL ? configuration_view(w->configuration, 0).version : 0;
}

static char *wanted_text(const struct whole *w)
{
    struct error err = {0};
    unsigned number = rolled_back(w);
    struct document *d = number != 0 ? store_document(w->store, number, &err) : NULL;
    char *text = d != NULL ? mem_strdup(d->content->text) : whole_print(&w->document);
    document_unref(d);
    return text;
}

static void difference_of_files(struct api *a, struct buf *why)
{
    struct world *w = a->world;
    struct error err = {0};
    unsigned number = rolled_back(&w->whole);
    cleanup(storage_files_fini) struct storage_files files = {0};
    cleanup(document_unref_ptr) struct document *d = number != 0 ? store_document(w->whole.store, number, &err) : NULL;
    if (!w->whole.document.files || why->len > 0)
        return;
    whole_files_of(w, &files);
    whole_files_difference(a, d != NULL ? &d->files : &files, why);
}

static bool has_document(const struct api *a)
{
    cleanup(mem_free_ptr) char *document = wanted_text(&a->world->whole);
    cleanup(mem_free_ptr) char *wanted = whole_meaning(document, true), *is = whole_meaning(a->local.text, true);
    return strcmp(wanted, is) == 0;
}

/* Of a document with files the next one waits for the end. */
static bool is_current(const struct world *w, const char *hash)
{
    cleanup(mem_free_ptr) char *document = whole_print(&w->whole.document);
    char sha256[DIGEST_SHA256_HEX_BYTES];
    digest_sha256_hex(document, strlen(document), sha256);
    return str_eq(sha256, hash);
}

/* What a hand has written is not known to the daemon before it reads, and whether he loaded it never. */
static void check_applied(struct api *a)
{
    struct world *w = a->world;
    cleanup(buf_fini) struct buf why = {0};
    buf_init(&why, 0);
    a->whole.left_to_other = a->whole.left_to_other || (a->local.unloaded && local_is_locked(a));
    bool current =
        rolled_back(&w->whole) != 0 || is_current(w, configuration_view(w->whole.configuration, a->number).sha256);
    if (a->whole.hand_file || a->whole.left_to_other || !current)
        return;
    if (!has_document(a))
        violate(w, "applied", "%s: it is said to be applied, and the file has something else", a->url);
    if (a->haproxy_back_us != 0)
        return;
    whole_difference(a, &why);
    difference_of_files(a, &why);
    if (why.len > 0)
        violate(w, "applied", "%s: it is said to be applied, and %s", a->url, buf_str(&why));
    if (a->whole.owes_reload)
        violate(w, "failed-command", "%s: it is said to be applied, a command failed, and no reload came", a->url);
}

void whole_event(void *arg, const struct configuration_event *e)
{
    struct world *w = arg;
    static const char *const names[] = {[CONFIGURATION_CHANGED] = "changed",
                                        [CONFIGURATION_VALIDATED] = "validated",
                                        [CONFIGURATION_APPLIED] = "applied",
                                        [CONFIGURATION_UNCHANGED] = "unchanged",
                                        [CONFIGURATION_REJECTED] = "rejected",
                                        [CONFIGURATION_LOAD_FAILED] = "load failed",
                                        [CONFIGURATION_DRIFTED] = "drifted",
                                        [CONFIGURATION_FAILED] = "failed",
                                        [CONFIGURATION_WRITING] = "writing",
                                        [CONFIGURATION_CANARY_PASSED] = "canary passed",
                                        [CONFIGURATION_CANARY_FAILED] = "canary failed",
                                        [CONFIGURATION_ROLLED_BACK] = "rolled back"};
    bool known = e->kind < array_len(names) && names[e->kind] != NULL;
    world_say(w, "  said: %s", known ? names[e->kind] : "another event");
    if (e->kind == CONFIGURATION_CHANGED && rolled_back(&w->whole) == 0) /* it may have been given long before */
        whole_canary_begins(w, e->document->content->text);
    bool applied = e->kind == CONFIGURATION_APPLIED || e->kind == CONFIGURATION_UNCHANGED;
    if (applied && str_eq(e->document->content->text, w->whole.given)) /* and no version that was gone back to */
        whole_canary_applied(&w->apis[e->target], e->kind == CONFIGURATION_UNCHANGED);
    if (e->document != NULL && rolled_back(&w->whole) == 0 && !is_current(w, e->document->hash))
        return;
    if (e->kind == CONFIGURATION_CANARY_PASSED)
        whole_canary_passed(w);
    if (e->kind == CONFIGURATION_ROLLED_BACK)
        whole_rolled_back(w);
    if (!applied)
        return;
    struct api *a = &w->apis[e->target];
    check_applied(a);
    a->whole.known = a->whole.known || (e->kind == CONFIGURATION_APPLIED && !a->whole.hand_file);
}

void whole_check_step(struct world *w)
{
    for (size_t i = 0; i < w->settings.targets && w->whole.configuration != NULL; i++)
        if (str_eq(configuration_view(w->whole.configuration, i).state, "applied"))
            check_applied(&w->apis[i]);
}

/* ---- at rest ---- */

static bool is_left_to_hand(const struct api *a)
{
    const struct world *w = a->world;
    return a->whole.hand_file && w->settings.drift != CONFIGURATION_DRIFT_REPAIR;
}

/* The first one's file is a hand's, which is left so: nobody can say that it is good. */
static bool waits_for_a_hand(const struct api *a)
{
    const struct world *w = a->world;
    bool any = false;
    for (size_t i = 0; i < w->settings.targets; i++)
        any = any || (i != a->number && is_left_to_hand(&w->apis[i]) && !has_document(&w->apis[i]));
    return any && str_eq(configuration_view(w->whole.configuration, a->number).canary, "waits");
}

/* The first one does badly with it, which is said, and there is nothing to go back to: no other one gets it. */
static bool waits_for_a_failed_one(const struct api *a)
{
    const struct world *w = a->world;
    bool any = false;
    for (size_t i = 0; i < w->settings.targets; i++)
        any = any || str_eq(configuration_view(w->whole.configuration, i).canary, "failed");
    return any && w->whole.document.sick &&
           str_eq(configuration_view(w->whole.configuration, a->number).canary, "waits");
}

static bool any_is(const struct world *w, const char *state)
{
    bool any = false;
    for (size_t i = 0; i < w->settings.targets; i++)
        any = any || str_eq(configuration_view(w->whole.configuration, i).state, state);
    return any;
}

/* What was rolled back with nothing to go back to but the file from before is rejected. */
static bool is_good(const struct world *w)
{
    const struct whole_text *d = &w->whole.document;
    cleanup(mem_free_ptr) char *document = whole_print(d);
    return rolled_back(&w->whole) != 0 || (!d->bad && !d->unloadable && !str_eq(document, w->whole.withdrawn));
}

static void unfinished_at(struct api *a, struct buf *why)
{
    struct world *w = a->world;
    const char *state = configuration_view(w->whole.configuration, a->number).state;
    bool good = is_good(w), there = has_document(a), left = is_left_to_hand(a) && !there;
    bool waits = waits_for_a_hand(a) || waits_for_a_failed_one(a);
    if (str_eq(configuration_view(w->whole.configuration, a->number).canary, "watched") && !left)
        buf_add(why, "it is watched");
    else if (!a->whole.hand_file && whole_is_unloadable(a->local.text))
        buf_add(why, "the file has what HAProxy cannot load");
    else if (good && !there && !left && !waits)
        buf_add(why, "the file has not what the document has");
    else if (good && !left && !str_eq(state, "applied") && !waits)
        buf_printf(why, "it is %s", state);
    else if (!good && !left && (there || !any_is(w, "rejected")))
        buf_printf(why, "HAProxy rejects it, and it is %s", state);
    else if (a->haproxy_back_us != 0)
        buf_add(why, "HAProxy does not run");
    if (why->len == 0 && !a->whole.hand_unloaded)
        whole_difference(a, why);
    if (why->len == 0 && !a->whole.hand_unloaded && !a->whole.files_left && !waits)
        whole_files_unloaded(a, why);
}

static void unfinished(struct world *w, struct buf *why)
{
    for (size_t i = 0; i < w->settings.targets && why->len == 0; i++) {
        unfinished_at(&w->apis[i], why);
        if (why->len > 0)
            buf_printf(why, " (%s)", w->apis[i].url);
    }
}

static unsigned writes_of(const struct world *w)
{
    unsigned writes = 0;
    for (size_t i = 0; i < w->settings.targets; i++)
        writes += w->apis[i].writes;
    return writes;
}

static void converge(struct world *w)
{
    cleanup(buf_fini) struct buf why = {0};
    uint64_t end_us = w->now_us + CONVERGES_US;
    unsigned writes;
    buf_init(&why, 0);
    do {
        if (w->now_us >= end_us)
            violate(w, "converges", "an hour after all faults ended, %s", buf_str(&why));
        world_pass(w, 20000000);
        buf_clear(&why);
        unfinished(w, &why);
    } while (why.len > 0);
    world_say(w, "converged");
    writes = writes_of(w);
    world_pass(w, RESTS_US);
    if (writes_of(w) != writes)
        violate(w, "rests", "nothing is to be done, and %u requests that write were sent", writes_of(w) - writes);
    unfinished(w, &why);
    if (why.len > 0)
        violate(w, "rests", "it had converged, and now %s", buf_str(&why));
    for (size_t i = 0; i < w->settings.targets; i++)
        if (api_count_forgotten(&w->apis[i]) > 0)
            violate(w, "left-behind", "%s at rest: %u transactions", w->apis[i].url, api_count_forgotten(&w->apis[i]));
}

/* A rollback goes there. */
static void check_versions(struct world *w)
{
    for (size_t i = 0; i < store_count(w->whole.store); i++) {
        const struct store_version *v = store_version(w->whole.store, i);
        struct error err = {0};
        struct document *d = store_document(w->whole.store, v->number, &err);
        if (d != NULL && (whole_is_bad(d->content->text) || whole_is_unloadable(d->content->text)))
            violate(w, "versions", "version %u is said to have run, and HAProxy cannot load it", v->number);
        document_unref(d);
    }
}

void whole_check_rest(struct world *w)
{
    world_say(w, "faults end");
    daemon_start(w);
    for (size_t i = 0; i < w->settings.targets; i++) {
        struct api *a = &w->apis[i];
        api_mend(a);
        if (api_count_transactions(a, false) >= TRANSACTIONS_MAX)
            api_end_transactions(a, false); /* whose ids were lost: an operator has to */
    }
    whole_pause(w, false);
    world_pass(w, FAULTS_END_US);
    whole_refresh(w);
    targets_refresh(w->targets);
    if (w->settings.dry != 0)
        world_pass(w, RESTS_US);
    else
        converge(w);
    check_versions(w);
}

/* ---- what a change costs ---- */

/* No hand has touched what runs, and nobody is still in use who has left. */
static bool is_plain(const struct api *a)
{
    const struct whole_target *w = &a->whole;
    bool told = w->not_told_us == 0 || w->not_told_us + NOT_TOLD_US < a->world->now_us;
    bool plain = w->known && w->removed_count == 0 && !w->hand_file && told;
    for (size_t b = 0; b < BACKENDS; b++) {
        struct section *s = (struct section *)(uintptr_t)&a->on_disk.of[b];
        for (size_t i = 0; i < a->running.of[b].count; i++) {
            const struct running_server *is = &a->running.of[b].servers[i];
            bool in_use =
                a->world->settings.adds != 0 && is->used_until_us > a->world->now_us; /* who goes takes a reload */
            plain = plain && is->hand == 0 && !in_use && section_find(s, is->name) != NULL;
        }
    }
    return plain && a->world->settings.routes != 0;
}

/* No API begins its check. */
static bool brings_a_check(const struct whole_text *from, const struct whole_text *to)
{
    for (size_t b = 0; b < BACKENDS; b++)
        for (size_t i = 0; i < to->conf.of[b].count; i++) {
            const struct server *line = &to->conf.of[b].servers[i];
            if (line->check == ON && section_find((struct section *)(uintptr_t)&from->conf.of[b], line->name) == NULL)
                return true;
        }
    return false;
}

void whole_check_change(struct world *w, const struct whole_text *to)
{
    struct api *a = &w->apis[0];
    const struct whole_text was = w->whole.document;
    whole_check_rest(w);
    cleanup(mem_free_ptr) char *before = whole_print(&was), *after = whole_print(to);
    cleanup(mem_free_ptr) char *meant = whole_meaning(before, true), *means = whole_meaning(after, true);
    bool plain = is_plain(a) && rolled_back(&w->whole) == 0 && !was.bad && !was.unloadable && has_document(a) &&
                 w->settings.dry == 0;
    bool same = strcmp(meant, means) == 0,
         reloads = whole_takes_reload(&was, to, w->settings.local != LOCAL_NONE || w->settings.adds != 0) ||
                   (w->settings.adds != 0 && brings_a_check(&was, to));
    unsigned writes = a->writes, loads = a->reload_number;
    w->whole.former = was;
    w->whole.document = *to;
    whole_give(w);
    if (w->settings.dry != 0)
        return;
    if (str_eq(configuration_view(w->whole.configuration, 0).state, "rejected")) { /* as it was, by a fault */
        whole_refresh(w);
        targets_refresh(w->targets);
        plain = false;
    }
    converge(w);
    if (!plain)
        return;
    if (same && a->writes != writes)
        violate(w, "cost", "%s: the document means the same, and %u requests that write were sent", a->url,
                a->writes - writes);
    if (a->reload_number - loads != reloads)
        violate(w, "cost", "%s: a change that takes %s cost %u", a->url, reloads ? "a reload" : "no reload",
                a->reload_number - loads);
}
