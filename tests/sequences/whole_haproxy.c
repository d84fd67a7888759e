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
    struct whole_target *w = &a->whole;
    if (a->world->settings.whole == 0)
        return;
    cleanup(mem_free_ptr) char *rest = whole_meaning(a->local.text, false);
    if (snprintf(w->runs, sizeof(w->runs), "%s", rest) >= (int)sizeof(w->runs))
        violate(a->world, "room", "more is loaded than the model has room for");
    free(w->loaded);
    w->loaded = mem_strdup(a->local.text);
    w->removed_count = 0;
    whole_files_load(a);
    a->world->whole.sick_before = a->world->whole.sick_before || (w->hand_file && whole_is_sick(a));
    w->files_left = false;
    w->unknowable = w->left_to_other = w->load_lost = w->hand_unloaded = w->owes_reload = w->tells = false;
}

/* ---- hands ---- */

void whole_hand_writes(struct api *a, char *text, bool loads)
{
    struct whole_target *w = &a->whole;
    struct conf to = a->on_disk;
    local_put_text(a, text);
    local_text_read(a, text, &to);
    to.version = a->api_back_us > a->world->now_us ? a->on_disk.version : a->memory.version + 1; /* nobody counts on */
    a->memory = a->on_disk = to;
    a->touched_us = a->world->now_us;
    free(w->by_hand);
    w->by_hand = mem_strdup(text);
    free(w->answered);
    w->answered = mem_strdup(text);
    cleanup(mem_free_ptr) char *meaning = whole_meaning(text, true);
    whole_texts_add(&a->world->whole.meant, meaning);
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
    whole_hand_writes(a, mem_strdup(a->whole.loaded), false);
    return true;
}

bool whole_is_by_hand(const struct api *a, const char *text)
{
    const char *his = a->whole.by_hand;
    if (his == NULL || a->world->settings.local != LOCAL_NONE)
        return str_eq(his, text);
    cleanup(mem_free_ptr) char *meant = whole_meaning(his, true), *means = whole_meaning(text, true);
    return strcmp(meant, means) == 0;
}

void whole_put_back(struct api *a)
{
    if (a->whole.kept != NULL)
        whole_hand_writes(a, mem_strdup(a->whole.kept), true);
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
    struct whole_target *w = &a->whole;
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

/* Two loads since it was read last, the daemon's and a hand's, are seen as one. */
void whole_is_read(struct api *a)
{
    struct whole_target *w = &a->whole;
    w->unknowable = w->unknowable || (a->reloaded_us > w->read_us && a->touched_us > w->read_us);
    w->read_us = a->world->now_us;
}

/* What is sent then is the difference from the file that is there. */
static void telling_begins(struct api *a)
{
    cleanup(buf_fini) struct buf why = {0};
    buf_init(&why, 0);
    whole_difference(a, &why);
    a->whole.base_ran = why.len == 0 || a->whole.unknowable || a->whole.read_us < a->touched_us;
    a->whole.tells = true;
}

/* A server that is new may come before the write that is to have it. */
void whole_commands_begin(struct api *a)
{
    if (a->world->settings.whole == 0 || a->whole.tells_early)
        return;
    telling_begins(a);
    a->whole.tells_early = true;
    a->whole.tells_since_us = a->world->now_us;
}

void whole_write_begins(struct api *a, const char *text, bool writes)
{
    struct world *w = a->world;
    if (w->settings.whole == 0)
        return;
    a->whole.superseded = false;
    bool back = a->whole.load_failed && whole_is_by_hand(a, text); /* a hand had put it where it goes back to */
    bool known = a->whole.rejected_by_known == a->whole.version_known;
    if (str_eq(a->whole.rejected, text) && known && !back)
        violate(w, "asked-again", "%s: HAProxy rejected this, and is asked about it again", a->url);
    if (!writes)
        return;
    if (!a->whole.tells_early)
        telling_begins(a);
    a->whole.tells_early = false;
}

void whole_written(struct api *a, const char *text, uint64_t asked_us)
{
    struct world *w = a->world;
    if (whole_is_bad(text))
        violate(w, "rejected", "%s: the file has what `haproxy -c` refuses", a->url);
    cleanup(mem_free_ptr) char *document = whole_print(&w->whole.document), *meaning = whole_meaning(text, true);
    if (!whole_texts_has(&w->whole.meant, meaning))
        violate(w, "meant", "%s: this is written, which neither the source nor a hand ever had:\n%s", a->url, text);
    /* Where what it went back to cannot be loaded, the file has again what HAProxy still runs. */
    bool asked_since = w->whole.given_us <= asked_us && w->whole.withdrawn_us < asked_us;
    bool tried = asked_since && str_eq(w->whole.withdrawn, text) && !whole_is_by_hand(a, text);
    if (tried && !a->whole.load_failed)
        violate(w, "tried-again", "%s: it was rolled back, and is written again", a->url);
    if (w->whole.given_us <= asked_us && str_eq(document, text))
        whole_canary_written(a, document, asked_us);
    if (w->whole.paused && w->whole.paused_us < asked_us && str_eq(document, text) && !a->whole.load_failed)
        violate(w, "paused", "%s: it is paused, and the document is written", a->url);
    a->whole.hand_file = whole_is_by_hand(a, text); /* it goes back */
    a->whole.hand_unloaded = a->whole.load_failed = false;
}

/* What goes back is asked about as often as it is to be, and so is what was another document meanwhile. */
void whole_write_ends(struct api *a, const char *text, bool rejected, bool written)
{
    struct whole_target *w = &a->whole;
    if (a->world->settings.whole == 0)
        return;
    cleanup(mem_free_ptr) char *document = whole_print(&a->world->whole.document);
    w->tells = w->tells && written;
    w->owes_reload = w->owes_reload && written;
    if (!rejected || w->superseded || !str_eq(document, text))
        return;
    free(w->rejected);
    w->rejected = mem_strdup(text);
    w->rejected_by_known = w->version_known;
}

void whole_version_is_known(struct api *a)
{
    struct whole_target *w = &a->whole;
    if (!w->version_known && !w->rejected_by_known)
        whole_refresh(a->world);
    w->version_known = true;
}

/* A server that was added for a write that failed is taken back; one that is still in use is deleted later. */
static bool tells(const struct whole_target *w, const char *command)
{
    return w->tells && !str_has_prefix(command, "del server ");
}

void whole_command_begins(struct api *a, const char *command)
{
    if (tells(&a->whole, command) && !a->whole.base_ran)
        violate(a->world, "tells", "%s: %s, and what HAProxy ran before was not the file", a->url, command);
}

void whole_command_ends(struct api *a, const char *command, bool failed)
{
    struct whole_target *w = &a->whole;
    w->owes_reload = w->owes_reload || (failed && tells(w, command));
}

void whole_server_set(struct api *a, size_t backend, const char *name, enum whole_hand what)
{
    struct running_server *is = running_find(&a->running, backend, name);
    struct whole_target *w = &a->whole;
    if (is != NULL)
        is->hand &= ~(unsigned)what;
    for (size_t i = 0; i < w->removed_count; i++)
        if (what == WHOLE_HAND_ALL && w->removed[i].backend == backend && str_eq(w->removed[i].name, name))
            w->removed[i] = w->removed[--w->removed_count];
}
