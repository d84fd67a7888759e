/* A haproxy.cfg and what is done with it: read, locked, checked and replaced, loaded. */
#include "local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/local/helper.h"
#include "world.h"

#define RELOAD_US 200000
#define OTHER_DAEMON 4711
#define VAIN_US 3660000000
#define LINELESS_US 500000
#define LINELESS_OTHERS_US 45000000 /* another writer changed something, or the daemon began */

/* ---- the file ---- */

void local_put_text(struct api *a, char *text)
{
    free(a->local.text);
    a->local.text = text;
    a->local.stamp++;
    a->local.unloaded = false;
}

bool local_is_broken(const struct api *a)
{
    return a->local.broken || (a->world->settings.whole != 0 && whole_is_unloadable(a->local.text));
}

static struct local_identity identity(const struct api *a)
{
    return (struct local_identity){
        .device = 1, .inode = (uint64_t)a->local.stamp, .size = strlen(a->local.text), .modified_ns = a->local.stamp};
}

void local_edited(struct api *a)
{
    if (a->world->settings.local == LOCAL_NONE)
        return;
    local_put_text(a, local_text_print(&a->memory));
    local_text_read(a, a->local.text, &a->memory); /* what stands in no backend is nowhere */
    a->on_disk = a->memory;
}

void local_init(struct api *a)
{
    a->local.file.api = a->local.commands.api = a;
    a->local.excused_us = a->world->now_us;
    local_edited(a);
}
void local_mend(struct api *a)
{
    a->local.refuse_adds = 0;
    a->local.broken = false;
    a->local.locked_until_us = 0;
    if (a->local.file.first != NULL && a->local.file.first->answer_us > a->world->now_us + TIMEOUT_US)
        a->local.file.first->answer_us = a->troubled_us = a->world->now_us + TIMEOUT_US; /* what hangs is ended */
    for (size_t b = 0; b < OURS; b++)
        for (size_t i = 0; i < a->running.of[b].count; i++)
            a->running.of[b].servers[i].used_until_us = 0;
}

void local_use(struct api *a, size_t backend, unsigned servers, uint64_t us)
{
    for (size_t i = 0; i < a->running.of[backend].count; i++)
        if (servers & (1u << (i % 32)))
            a->running.of[backend].servers[i].used_until_us = a->world->now_us + us;
}

/* ---- what they do ---- */

bool local_is_locked(const struct api *a)
{
    const struct local_request *ends = a->local.orphans[0];
    return a->local.locked_until_us > a->world->now_us || (ends != NULL && ends->at_us > a->world->now_us);
}

static void answer_locked(struct local_request *r)
{
    r->answer.status = LOCAL_LOCKED;
    r->answer.pid = OTHER_DAEMON;
}

/* ret: what it makes of the file. */
static void check_write(struct api *a, const struct local_request *r, struct conf *ret)
{
    bool grows = false;
    *ret = a->memory;
    local_text_read(a, r->ask.bytes, ret);
    for (size_t b = 0; b < OURS; b++)
        grows = grows || (a->world->settings.create != 0 && ret->of[b].exists && !a->memory.of[b].exists);
    local_text_compare(a, a->local.text, r->ask.bytes, grows);
    for (size_t b = 0; b < BACKENDS; b++) {
        struct section *was = &a->memory.of[b], *is = &ret->of[b];
        for (size_t i = 0; i < was->count; i++) {
            const struct server *to = section_find(is, was->servers[i].name);
            if (to == NULL || !server_eq(to, &was->servers[i]))
                check_line(a, b, &was->servers[i], to, "a write");
        }
        for (size_t i = 0; i < is->count; i++)
            if (section_find(was, is->servers[i].name) == NULL)
                check_line(a, b, NULL, &is->servers[i], "a write");
    }
}

static void put_file(struct api *a, const struct local_request *r)
{
    struct serving before;
    struct conf to;
    if (a->world->settings.whole != 0) {
        a->written++;
        local_put_text(a, mem_strdup(r->ask.bytes));
        whole_written(a, r->ask.bytes, r->asked_us);
        to = a->on_disk;
        local_text_read(a, r->ask.bytes, &to);
        to.version++;
        a->memory = a->on_disk = to;
        a->local.unloaded = true;
        api_provoke(a);
        return;
    }
    check_write(a, r, &to);
    check_adoption(a, &to);
    bool was_unloaded = a->local.unloaded;
    serving_of(a, &before);
    a->written++;
    to.version++;
    a->memory = a->on_disk = to;
    local_put_text(a, mem_strdup(r->ask.bytes));
    a->local.unloaded_life = was_unloaded ? a->local.unloaded_life : r->life;
    a->local.unloaded = true;
    api_provoke(a);
    check_taken(a, &before, &r->decided, false, "a write");
}

static bool is_refused(const struct api *a, const char *text)
{
    return a->local.broken || (a->world->settings.whole != 0 && whole_is_bad(text));
}

static void write_file(struct api *a, struct local_request *r)
{
    bool writes = (r->ask.flags & LOCAL_WRITE_ONLY_VALIDATE) == 0;
    struct local_identity now = identity(a);
    a->writes += writes;
    if (writes && !r->ask.expects)
        violate(a->world, "blind", "%s: a write to whatever the file is", a->url);
    if (writes && local_is_locked(a) && r != a->local.orphans[0]) {
        answer_locked(r);
    } else if (writes && !local_identity_same(&now, &r->ask.expected)) {
        r->answer.status = LOCAL_CHANGED;
    } else if ((r->refused || is_refused(a, r->ask.bytes)) && (r->ask.flags & LOCAL_WRITE_UNCHECKED) == 0) {
        a->refused_us = a->world->now_us;
        r->answer.status = LOCAL_REJECTED;
        r->answer.message = "[ALERT] words of HAProxy";
    } else if (r->refused) {
        local_fail(r, EIO, "Input/output error");
    } else if (writes) {
        put_file(a, r);
    }
    r->answer.identity = identity(a);
}

static uint64_t last_trouble_us(const struct api *a)
{
    uint64_t last = a->local.excused_us;
    last = a->touched_us > last ? a->touched_us : last;
    last = a->troubled_us > last ? a->troubled_us : last;
    return a->refused_us > last ? a->refused_us : last;
}

bool local_commands_are_in_vain(const struct api *a)
{
    const struct world *w = a->world;
    return w->targets != NULL && w->now_us < last_trouble_us(a) + VAIN_US &&
           metric_value(w->metrics.runtime_verification, a->url, verification_state_name(VERIFICATION_FAILED), NULL) ==
               1;
}

/* With a reason, or where there is no other way. */
static void check_reload(const struct api *a)
{
    const struct world *w = a->world;
    uint64_t last = last_trouble_us(a);
    if (a->others.loads || w->targets == NULL) /* what another daemon wrote, and did not live to load; ours neither */
        return;
    if (local_commands_are_in_vain(a))
        return;
    if (w->settings.whole == 0 && w->settings.routes != 0 && w->settings.create == 0 &&
        w->now_us > last + LOCAL_EXCUSED_US)
        violate(a->world, "reload", "%s: a reload, and all was well for %.0f s", a->url,
                (double)(w->now_us - last) / 1e6);
}

static void reload(struct api *a, struct local_request *r)
{
    a->writes++;
    if (a->haproxy_back_us != 0 || r->refused) {
        local_fail(r, ECONNREFUSED, "Connection refused");
        return;
    }
    check_reload(a);
    a->local.asked = true;
    a->reload_pending = true;
    a->reload_number++;
    a->reload_due_us = a->world->now_us + RELOAD_US;
    if (a->world->settings.local == LOCAL_SAYS && r->answer_us < a->reload_due_us)
        r->answer_us = a->reload_due_us + 1;
}

void local_reload_ends(struct api *a)
{
    struct local_model *l = &a->local;
    l->reload_failed = a->fail_reloads > 0 || a->haproxy_back_us != 0 || local_is_broken(a);
    l->owes = l->asked ? l->reload_failed : l->owes;
    l->asked = false;
    a->reload_pending = false;
    a->reloaded_us = a->world->now_us;
    clusters_loaded(a, l->reload_failed);
    world_say(a->world, "  %s: reload %s", a->url, l->reload_failed ? "fails" : "is done");
    if (l->reload_failed) {
        a->fail_reloads -= a->fail_reloads > 0;
        l->failed_reloads++;
        l->behind = true;
        a->whole.known = false;
        a->whole.load_failed = true;
        a->troubled_us = a->refused_us = a->world->now_us;
        return;
    }
    a->good = a->on_disk;
    running_load(&a->running, &a->on_disk);
    whole_loaded(a);
    a->pid++;
    a->pid_since_us = a->world->now_us;
}

static void read_file(struct api *a, struct local_request *r)
{
    whole_is_read(a);
    clusters_note_file(a);
    buf_add(&r->data, a->local.text);
    r->answer.identity = identity(a);
    r->answer.unloaded = a->local.unloaded;
    r->answer.pid = r->answer.unloaded && local_is_locked(a) ? OTHER_DAEMON : 0;
}

void local_carry_out(struct api *a, struct local_request *r)
{
    struct local_identity now = identity(a);
    enum local_status failed = r->answer.status;
    switch (r->ask.kind) {
    case LOCAL_KIND_READ_CONFIG:
        read_file(a, r);
        break;
    case LOCAL_KIND_WRITE_CONFIG:
        write_file(a, r);
        break;
    case LOCAL_KIND_LOCK_CONFIG:
        if (local_is_locked(a) || r->refused)
            answer_locked(r);
        else
            clusters_hold(a);
        break;
    case LOCAL_KIND_RELEASE_CONFIG:
        a->local.held = false;
        break;
    case LOCAL_KIND_NOTE_LOADED:
        if (local_identity_same(&now, &r->ask.expected))
            a->local.unloaded = false;
        break;
    case LOCAL_KIND_COMMAND:
        local_carry_out_commands(a, r);
        break;
    case LOCAL_KIND_RELOAD:
        reload(a, r);
        break;
    default:
        violate(a->world, "known-request", "%s: request %d", a->url, (int)r->ask.kind);
    }
    r->answer.status = failed != LOCAL_OK ? failed : r->answer.status;
}

/* ---- who serves without a line ---- */

/* Of those that were added for a file that is still to come. */
static const struct running_server *find_lineless(struct api *a)
{
    const struct running_server *found = NULL;
    for (size_t b = 0; b < OURS; b++) {
        for (size_t i = 0; i < a->running.of[b].count; i++) {
            struct running_server *is = &a->running.of[b].servers[i];
            is->added = is->added && section_find(&a->memory.of[b], is->name) == NULL;
            found = is->added && is->admin == READY ? is : found;
        }
    }
    return found;
}

/* Whether one that serves without a line may be another writer's, or a daemon's before this one. What fails meanwhile keeps this
 * one from putting it right. */
static bool lineless_is_excused(struct api *a, bool any, bool writes)
{
    struct local_model *l = &a->local;
    uint64_t now = a->world->now_us, since = a->touched_us > l->excused_us ? a->touched_us : l->excused_us;
    if (any && (writes || now < l->lineless_until_us) && a->troubled_us > since)
        since = a->troubled_us;
    if (local_is_broken(
            a)) /* it can neither be written nor loaded until an operator repairs it; who is desired serves on */
        since = now;
    l->lineless_until_us = since + LINELESS_OTHERS_US;
    return now < l->lineless_until_us;
}

/* Not its commands alone: whether they are in it is not the file's. */
static bool runs_otherwise(const struct api *a)
{
    struct running loads;
    running_load(&loads, &a->on_disk);
    for (size_t b = 0; b < BACKENDS; b++) {
        for (size_t i = 0; i < loads.of[b].count; i++) {
            const struct running_server *to = &loads.of[b].servers[i],
                                        *is = running_find((struct running *)(uintptr_t)&a->running, b, to->name);
            if (is == NULL || strcmp(is->address, to->address) != 0 || is->port != to->port ||
                is->weight != to->weight || (to->disabled && is->admin == READY))
                return true;
        }
        for (size_t i = 0; i < a->running.of[b].count; i++)
            if (a->running.of[b].servers[i].admin == READY &&
                running_find(&loads, b, a->running.of[b].servers[i].name) == NULL)
                return true;
    }
    return false;
}

/* Only while the file is being written, or read to see whether that failed. */
void check_local(struct api *a)
{
    struct local_model *l = &a->local;
    l->behind = l->behind && runs_otherwise(a);
    if (l->behind || l->owes) /* however long the daemon leaves it so: a reload is what loads it */
        l->excused_us = a->world->now_us;
    const struct world *w = a->world;
    const struct running_server *is =
        w->settings.local != LOCAL_NONE && w->settings.routes != 0 ? find_lineless(a) : NULL;
    bool writes = l->file.first != NULL && (l->file.first->ask.kind == LOCAL_KIND_WRITE_CONFIG ||
                                            l->file.first->ask.kind == LOCAL_KIND_READ_CONFIG);
    bool excused = lineless_is_excused(a, is != NULL, writes);
    if (is == NULL || writes || excused || a->reload_pending || w->now_us <= l->talk_troubled_us)
        l->lineless_us = 0;
    else if (l->lineless_us == 0)
        l->lineless_us = w->now_us;
    else if (w->now_us > l->lineless_us + LINELESS_US)
        violate(a->world, "lineless", "%s: %s serves, and the file does not have it", a->url, is->name);
}
