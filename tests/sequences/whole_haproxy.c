/* What is otherwise with a HAProxy whose whole file is written: hands at its file and sockets, and what the daemon may ask. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/local/helper.h"
#include "world.h"

/* ---- what runs ---- */

void whole_loaded(struct api *a)
{
    struct whole *w = &a->world->whole;
    if (a->world->settings.whole == 0)
        return;
    cleanup(mem_free_ptr) char *rest = whole_meaning(a->local.text, false);
    if (snprintf(w->runs, sizeof(w->runs), "%s", rest) >= (int)sizeof(w->runs))
        violate(a->world, "room", "more is loaded than the model has room for");
    free(w->loaded);
    w->loaded = mem_strdup(a->local.text);
    w->removed_count = 0;
    w->unknowable = w->left_to_other = w->hand_unloaded = w->owes_reload = w->tells = false;
}

/* ---- hands ---- */

void whole_hand_writes(struct api *a, char *text, bool loads)
{
    struct whole *w = &a->world->whole;
    struct conf to = a->on_disk;
    local_put_text(a, text);
    local_text_read(a, text, &to);
    to.version++;
    a->memory = a->on_disk = to;
    a->touched_us = a->world->now_us;
    free(w->by_hand);
    w->by_hand = mem_strdup(text);
    w->hand_file = w->hand_unloaded = true;
    w->known = false;
    if (loads)
        api_reload_by_hand(a);
}

/* A HAProxy that was to be started with what it cannot load stays down: the daemon cannot know why, an operator does. */
bool whole_starts(struct api *a)
{
    if (a->world->settings.whole == 0 || !whole_is_unloadable(a->local.text))
        return !a->local.broken;
    whole_hand_writes(a, mem_strdup(a->world->whole.loaded), false);
    return true;
}

void whole_put_back(struct api *a)
{
    if (a->world->whole.kept != NULL)
        whole_hand_writes(a, mem_strdup(a->world->whole.kept), true);
}

static struct running_server *at_hand(struct api *a, size_t backend, const char *name)
{
    if (a->haproxy_back_us != 0)
        return NULL;
    a->touched_us = a->world->now_us;
    return running_find(&a->running, backend, name);
}

bool whole_hand_command(struct api *a, size_t backend, const char *name, enum whole_hand what, unsigned value)
{
    struct running_server *is = at_hand(a, backend, name);
    if (is == NULL)
        return false;
    is->hand |= what;
    if (what & WHOLE_HAND_ADDRESS)
        snprintf(is->address, NAME_BYTES, "10.6.0.%u", value % 250);
    if (what & WHOLE_HAND_WEIGHT)
        is->weight = (int)(value % 250);
    if (what & WHOLE_HAND_STATE)
        is->admin = (enum admin)(value % 3);
    return true;
}

bool whole_hand_adds(struct api *a, size_t backend, const char *name, unsigned value)
{
    struct running_server *is = at_hand(a, backend, name);
    if (is != NULL || a->haproxy_back_us != 0 || a->running.of[backend].count == SERVERS_MAX)
        return false;
    is = &a->running.of[backend].servers[a->running.of[backend].count++];
    *is = (struct running_server){.port = 80, .weight = 1, .admin = READY, .hand = WHOLE_HAND_ALL};
    snprintf(is->name, NAME_BYTES, "%s", name);
    snprintf(is->address, NAME_BYTES, "10.5.0.%u", value % 250);
    return true;
}

bool whole_hand_removes(struct api *a, size_t backend, const char *name)
{
    struct whole *w = &a->world->whole;
    const struct running_server *is = at_hand(a, backend, name);
    size_t *count = &a->running.of[backend].count;
    if (is == NULL || w->removed_count == WHOLE_REMOVED_MAX)
        return false;
    size_t at = (size_t)(is - a->running.of[backend].servers);
    memmove(&a->running.of[backend].servers[at], &a->running.of[backend].servers[at + 1],
            (--*count - at) * sizeof(*is));
    w->removed[w->removed_count].backend = backend;
    snprintf(w->removed[w->removed_count++].name, NAME_BYTES, "%s", name);
    return true;
}

/* ---- the daemon ---- */

static bool is_write(unsigned flags)
{
    return (flags & LOCAL_WRITE_ONLY_VALIDATE) == 0;
}

/* Two loads since it was read last, the daemon's and a hand's, look as one. */
void whole_is_read(struct api *a)
{
    struct whole *w = &a->world->whole;
    w->unknowable = w->unknowable || (a->reloaded_us > w->read_us && a->touched_us > w->read_us);
    w->read_us = a->world->now_us;
}

/* What is told then is the difference from the file that is there. */
void whole_write_begins(struct api *a, const char *text, unsigned flags)
{
    struct world *w = a->world;
    cleanup(buf_fini) struct buf why = {0};
    if (w->settings.whole == 0)
        return;
    if (w->whole.rejected != NULL && str_eq(w->whole.rejected, text))
        violate(w, "asked-again", "%s: HAProxy rejected this, and is asked about it again", a->url);
    if (!is_write(flags))
        return;
    buf_init(&why, 0);
    whole_difference(a, &why);
    w->whole.base_ran = why.len == 0 || w->whole.unknowable || w->whole.read_us < a->touched_us;
    w->whole.tells = true;
}

void whole_written(struct api *a, const char *text, uint64_t asked_us)
{
    struct world *w = a->world;
    struct conf to = a->on_disk;
    if (whole_is_bad(text))
        violate(w, "rejected", "%s: the file has what `haproxy -c` refuses", a->url);
    cleanup(mem_free_ptr) char *document = whole_print(&w->whole.document);
    if (w->whole.paused && w->whole.paused_us < asked_us && str_eq(document, text) && !w->whole.load_failed)
        violate(w, "paused", "%s: it is paused, and the document is written", a->url);
    local_text_read(a, text, &to);
    to.version++;
    a->memory = a->on_disk = to;
    w->whole.hand_file = str_eq(w->whole.by_hand, text); /* it goes back */
    w->whole.hand_unloaded = w->whole.load_failed = false;
}

/* What goes back is asked about as often as it is to be, and so is what was another document meanwhile. */
void whole_write_ends(struct api *a, const struct local_request *r)
{
    struct whole *w = &a->world->whole;
    bool written = r->answer.status == LOCAL_OK && is_write(r->ask.flags);
    if (a->world->settings.whole == 0)
        return;
    cleanup(mem_free_ptr) char *document = whole_print(&w->document);
    w->tells = w->tells && written;
    w->owes_reload = w->owes_reload && written;
    if (r->answer.status != LOCAL_REJECTED || w->document_us > r->asked_us || !str_eq(document, r->ask.bytes))
        return;
    free(w->rejected);
    w->rejected = mem_strdup(r->ask.bytes);
}

void whole_version_is_known(struct api *a)
{
    struct whole *w = &a->world->whole;
    if (!w->version_known)
        whole_refresh(a->world);
    w->version_known = true;
}

/* Whoever was added for a write that failed is taken back; one that is still in use is deleted later. */
static bool tells(const struct whole *w, const char *command)
{
    return w->tells && !str_has_prefix(command, "del server ");
}

void whole_command_begins(struct api *a, const char *command)
{
    if (tells(&a->world->whole, command) && !a->world->whole.base_ran)
        violate(a->world, "tells", "%s: %s, and what HAProxy ran before was not the file", a->url, command);
}

void whole_command_ends(struct api *a, const char *command, bool failed)
{
    struct whole *w = &a->world->whole;
    w->owes_reload = w->owes_reload || (failed && tells(w, command));
}

void whole_server_set(struct api *a, size_t backend, const char *name, enum whole_hand what)
{
    struct running_server *is = running_find(&a->running, backend, name);
    struct whole *w = &a->world->whole;
    if (is != NULL)
        is->hand &= ~(unsigned)what;
    for (size_t i = 0; i < w->removed_count; i++)
        if (what == WHOLE_HAND_ALL && w->removed[i].backend == backend && str_eq(w->removed[i].name, name))
            w->removed[i] = w->removed[--w->removed_count];
}
