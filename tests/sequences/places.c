/*
 * ADOPT_SERVERS, as a simple model: a server of ours has the line of its name. Where it has none, keep takes the line that stands at its
 * address and port, and rename lets that serve until its own does.
 */
#include <stdio.h>
#include <string.h>

#include "servers/change/diff.h"
#include "world.h"

#define ADOPTED_US 45000000

/* n1, which no other controller calls a server. */
static bool is_own_name(const char *name)
{
    if (name_is_anothers(name))
        return false;
    name += strlen(own_prefix());
    return name[0] == 'n' && name[1] != '\0' && strspn(name + 1, "0123456789") == strlen(name + 1);
}

static bool is_at(const struct server *line, const struct want *want)
{
    return server_is_ours(line) && !is_own_name(line->name) && line->port == want->port &&
           strcmp(line->address, want->address) == 0;
}

/* Live ones first, then by name; of several that are live it is the daemon's choice which stays. */
static bool goes_before(const struct section *s, const struct server *a, const struct server *b)
{
    bool rests = section_says_maintenance(s, a), other_rests = b != NULL && section_says_maintenance(s, b);
    return b == NULL || (rests != other_rests ? other_rests : strcmp(a->name, b->name) < 0);
}

static const struct server *line_at(const struct section *s, const struct want *want)
{
    const struct server *first = NULL;
    for (size_t i = 0; i < s->count; i++)
        if (is_at(&s->servers[i], want) && goes_before(s, &s->servers[i], first))
            first = &s->servers[i];
    return first;
}

const struct server *place_line(const struct api *a, size_t backend, const struct want *want)
{
    const struct section *s = &a->memory.of[backend];
    const struct server *own = section_find((struct section *)(uintptr_t)s, want->name);
    return own != NULL || a->world->settings.adopt == ADOPT_NO ? own : line_at(s, want);
}

const struct want *place_want(const struct api *a, size_t backend, const struct server *line)
{
    const struct world *w = a->world;
    for (size_t i = 0; i < w->want_counts[backend]; i++) {
        const struct server *is = place_line(a, backend, &w->wants[backend][i]);
        if (is != NULL && strcmp(is->name, line->name) == 0)
            return &w->wants[backend][i];
    }
    return NULL;
}

bool place_stands_in(const struct api *a, size_t backend, const struct server *line)
{
    const struct world *w = a->world;
    for (size_t i = 0; i < w->want_counts[backend] && w->settings.adopt == ADOPT_RENAME; i++)
        if (w->wants[backend][i].state == WANT_LIVE && is_at(line, &w->wants[backend][i]) &&
            !place_runs(a, backend, &w->wants[backend][i]))
            return true;
    return false;
}

bool place_is_spare(const struct api *a, size_t backend, const struct server *line)
{
    const struct desired *d = &a->world->desired_states[backend];
    for (size_t i = 0; i < d->spare_count; i++) {
        struct want at = {.port = d->spares[i].port};
        snprintf(at.name, NAME_BYTES, "%s", d->spares[i].name);
        snprintf(at.address, NAME_BYTES, "%s", d->spares[i].address);
        const struct server *is = place_line(a, backend, &at);
        if (is != NULL && strcmp(is->name, line->name) == 0)
            return true;
    }
    return false;
}

static bool is_one_of(const struct api *a, const struct server *line, const struct want *want)
{
    return strcmp(line->name, want->name) == 0 || (a->world->settings.adopt != ADOPT_NO && is_at(line, want));
}

/* Another writer has put it out, or taken it away, since the daemon read it last, be it in the file alone or with a reload: to the
 * daemon it is there, until it takes it out itself. */
static bool serves_unseen(const struct api *a, size_t backend, const struct want *want)
{
    const struct section *s = &a->others.lines.of[backend];
    for (size_t i = 0; i < s->count && a->edited_us > a->read_us; i++) {
        const struct server *line = &s->servers[i];
        const struct running_server *is = running_find((struct running *)(uintptr_t)&a->running, backend, line->name),
                                    *was = running_find((struct running *)(uintptr_t)&a->others.running, backend,
                                                        line->name);
        bool by_load = a->pid_since_us > a->others.running_us[backend] && (is == NULL || is->disabled);
        if (is_one_of(a, line, want) && server_is_ours(line) && !section_says_maintenance(s, line) && was != NULL &&
            was->admin == READY && (by_load || (is != NULL && is->admin == READY)))
            return true;
    }
    return false;
}

bool place_serves(const struct api *a, size_t backend, const struct want *want)
{
    const struct section *s = &a->memory.of[backend];
    for (size_t i = 0; i < s->count; i++) {
        const struct server *line = &s->servers[i];
        const struct running_server *is = running_find((struct running *)(uintptr_t)&a->running, backend, line->name);
        /* What does not run serves with the reload that takes the other one out, as what is committed together does. */
        bool blind = a->world->settings.routes == 0 || a->unread[backend] || a->commits;
        if (is_one_of(a, line, want) && server_is_ours(line) && !section_says_maintenance(s, line) &&
            (blind || (is != NULL && is->admin == READY)))
            return true;
    }
    return serves_unseen(a, backend, want);
}

/* What runs, as a line. */
static struct server running_line(const struct running_server *is)
{
    struct server as = {.port = is->port, .backup = is->backup ? ON : UNSAID};
    memcpy(as.name, is->name, NAME_BYTES);
    memcpy(as.address, is->address, NAME_BYTES);
    return as;
}

bool place_is_ready(const struct api *a, size_t backend, const struct want *want)
{
    for (size_t i = 0; i < a->running.of[backend].count; i++) {
        const struct running_server *is = &a->running.of[backend].servers[i];
        const struct server as = running_line(is);
        if (is->admin == READY && is_one_of(a, &as, want) && server_is_ours(&as))
            return true;
    }
    return serves_unseen(a, backend, want);
}

bool place_has_live_line(const struct api *a, size_t backend, const struct want *want)
{
    const struct section *s = &a->memory.of[backend];
    for (size_t i = 0; i < s->count; i++)
        if (is_one_of(a, &s->servers[i], want) && server_is_ours(&s->servers[i]) &&
            !section_says_maintenance(s, &s->servers[i]))
            return true;
    return false;
}

bool place_runs(const struct api *a, size_t backend, const struct want *want)
{
    const struct server *line = place_line(a, backend, want);
    const struct running_server *is =
        line != NULL ? running_find((struct running *)(uintptr_t)&a->running, backend, line->name) : NULL;
    return is != NULL && is->admin == READY;
}

/* By its line, or by what runs there where another writer has written another address into that line. */
bool place_is_operated(const struct api *a, size_t backend, const struct want *want)
{
    const struct section *s = &a->memory.of[backend];
    bool any = api_is_operated(a, backend, want->name);
    for (size_t i = 0; i < s->count && !any; i++)
        any = is_one_of(a, &s->servers[i], want) && api_is_operated(a, backend, s->servers[i].name);
    for (size_t i = 0; i < a->running.of[backend].count && !any; i++) {
        const struct server as = running_line(&a->running.of[backend].servers[i]);
        any = is_one_of(a, &as, want) && api_is_operated(a, backend, as.name);
    }
    return any;
}

/* ---- what is not to be done with it ---- */

static void check_added(struct api *a, size_t backend, const struct server *line)
{
    struct want place = {.port = line->port};
    memcpy(place.address, line->address, sizeof(place.address));
    const struct server *there = line_at(&a->memory.of[backend], &place);
    if (there != NULL)
        violate(a->world, "adoption", "%s backend %s: %s is added at %s:%u, where %s stands", a->url,
                conf_backends[backend], line->name, line->address, line->port, there->name);
}

static void check_kept(struct api *a, size_t backend, const struct server *was, const struct server *is)
{
    bool weighed = was->weight != is->weight && was->weight >= 0 && a->world->settings.weights == 0;
    if (strcmp(was->address, is->address) != 0 || was->port != is->port || weighed)
        violate(a->world, "adoption",
                "%s backend %s: another controller's %s at %s:%u weight %d is made %s:%u weight %d", a->url,
                conf_backends[backend], was->name, was->address, was->port, was->weight, is->address, is->port,
                is->weight);
}

void check_adoption(struct api *a, const struct conf *to)
{
    for (size_t b = 0; b < OURS; b++) {
        for (size_t i = 0; i < to->of[b].count; i++) {
            const struct server *line = &to->of[b].servers[i], *was = section_find(&a->memory.of[b], line->name);
            if (was == NULL && a->world->settings.adopt == ADOPT_KEEP)
                check_added(a, b, line);
            else if (was != NULL && !is_own_name(line->name))
                check_kept(a, b, was, line);
        }
    }
}

static bool is_wanted(const struct world *w)
{
    for (size_t b = 0; b < OURS; b++)
        if (w->desired_states[b].state != DESIRED_OK)
            return false;
    return true;
}

void check_adopted(struct api *a)
{
    struct world *w = a->world;
    unsigned written = a->written, reloads = a->reload_number;
    bool weighs = w->settings.weights != 0;
    if (w->settings.adopt != ADOPT_KEEP || !is_wanted(w) || w->settings.create != 0 || w->settings.dry != 0 ||
        (weighs && w->settings.routes == 0))
        return;
    world_pass(w, ADOPTED_US);
    bool reloaded = a->reload_number != reloads && !(weighs && local_commands_are_in_vain(a));
    if (reloaded || (!weighs && a->written != written))
        violate(w, "adoption",
                "%s: servers that another controller has put where they are wanted bring %u writes and %u reloads",
                a->url, a->written - written, a->reload_number - reloads);
    for (size_t b = 0; b < OURS; b++)
        if (metric_value(w->metrics.in_sync, conf_backends[b], a->url, NULL) != 1)
            violate(w, "adoption",
                    "%s backend %s: another controller's servers are where they are wanted, and it is not in sync",
                    a->url, conf_backends[b]);
}

void place_take_over(struct api *a, size_t backend, int weight, struct conf *to)
{
    const struct world *w = a->world;
    for (size_t i = 0; i < w->want_counts[backend]; i++) {
        struct server *line = section_find(&to->of[backend], w->wants[backend][i].name), as;
        if (w->wants[backend][i].state != WANT_LIVE || line == NULL || section_says_maintenance(&to->of[backend], line))
            continue;
        as = *line;
        snprintf(as.name, NAME_BYTES, "%.10s-%u", line->name, line->port);
        as.weight = weight;
        (void)section_remove(&to->of[backend], line->name);
        section_put(&to->of[backend], &as);
    }
}
