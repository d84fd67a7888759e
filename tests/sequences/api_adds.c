/* An API that adds servers: what it sends the running HAProxy, and the write of the whole file that goes with that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "world.h"

#define MARK "# haproxy-k8s-sync: "
#define VERSION "# _version="
#define SETTLES_US 1500000 /* what another writer did so long ago is not amid what the daemon does */

/* ---- servers ---- */

static void check_ours(const struct api *a, size_t backend, const char *name, const char *what)
{
    struct server as = {.port = 0};
    snprintf(as.name, NAME_BYTES, "%s", name);
    if (a->world->settings.whole == 0 && (backend >= OURS || str_eq(name, "spare") || !server_is_ours(&as)))
        violate(a->world, "unmanaged", "%s: %s %s/%s, which is not ours", a->url, what, conf_backends[backend], name);
}

/* In maintenance; a health check does not begin. */
void api_add_server(struct api *a, struct request *r, size_t backend)
{
    struct server said = {.port = 0};
    char why[512];
    size_t *count = &a->running.of[backend].count;
    if (a->world->settings.adds == 0 || server_read(r->json, &said, why, sizeof(why)) != 0)
        api_unexpected(a, r);
    check_ours(a, backend, said.name, "it adds");
    bool fixed = strcmp(a->running.of[backend].balance, "static-rr") == 0;
    if (fixed || !a->running.of[backend].exists || *count == SERVERS_MAX || a->local.refuse_adds > 0) {
        a->local.refuse_adds -= a->local.refuse_adds > 0;
        api_message(r, 500, "words of HAProxy");
    } else if (running_find(&a->running, backend, said.name) != NULL) {
        api_message(r, 409, "Already exists");
    } else {
        struct running_server is = {.port = said.port,
                                    .weight = said.weight >= 0 ? said.weight : 1,
                                    .admin = MAINT,
                                    .added = true,
                                    .unchecked = said.check == ON,
                                    .line = said};
        memcpy(is.name, said.name, NAME_BYTES);
        memcpy(is.address, said.address, NAME_BYTES);
        if (!r->deaf)
            a->running.of[backend].servers[(*count)++] = is;
        whole_server_set(a, backend, said.name, WHOLE_HAND_ALL);
        api_message(r, 201, "added");
    }
}

/* HAProxy deletes none that is in use. */
void api_delete_server(struct api *a, struct request *r, size_t backend, struct running_server *is)
{
    struct serving before;
    const struct server *line = section_find(&a->memory.of[backend], is->name);
    check_ours(a, backend, is->name, "it deletes");
    if (a->world->settings.whole == 0 && line != NULL && a->world->now_us > a->touched_us + SETTLES_US &&
        a->on_disk.version == a->memory.version && r->life == a->world->life)
        violate(a->world, "lineless", "%s: it deletes %s/%s, which has a line", a->url, conf_backends[backend],
                is->name);
    serving_of(a, &before);
    is->admin = MAINT;
    r->reply.status = 204;
    if (is->used_until_us > a->world->now_us) {
        api_message(r, 500, "words of HAProxy");
    } else if (!r->deaf) {
        size_t at = (size_t)(is - a->running.of[backend].servers);
        memmove(is, is + 1, (--a->running.of[backend].count - at) * sizeof(*is));
    }
    check_taken(a, &before, &r->decided, true, "a deletion");
}

/* ---- what HAProxy is sent beside a write ---- */

static bool set_address(struct running_server *is, char *words)
{
    const char *address = strsep(&words, " "), *port = words;
    if (address == NULL || port == NULL || strlen(address) >= NAME_BYTES)
        return false;
    snprintf(is->address, NAME_BYTES, "%s", address);
    is->port = (unsigned)strtoul(port, NULL, 10);
    return true;
}

static bool set_state(struct running_server *is, const char *word)
{
    if (!str_eq(word, "maint") && !str_eq(word, "ready"))
        return false;
    is->admin = str_eq(word, "maint") ? MAINT : READY;
    return true;
}

/* One that was added gets ready: as a reload of the file, which has it by now, would have it. */
static void check_ready(struct api *a, size_t backend, const struct running_server *is)
{
    const struct server *line = section_find(&a->memory.of[backend], is->name);
    if (a->world->settings.whole != 0 || !is->added)
        return;
    if (line == NULL)
        violate(a->world, "lineless", "%s: %s/%s gets ready, and the file does not have it", a->url,
                conf_backends[backend], is->name);
    struct server as = *line;
    as.maintenance = UNSAID;
    as.backup = as.backup == OFF ? UNSAID : as.backup;
    if (!server_eq(&as, &is->line))
        violate(a->world, "added", "%s: %s/%s was added, and its line says something else", a->url,
                conf_backends[backend], is->name);
}

static bool act_on(struct api *a, size_t kind, char *words, size_t backend, struct running_server *is)
{
    if (kind == 1)
        is->weight = (int)strtol(words, NULL, 10);
    else if (!(kind == 0 ? set_address(is, words) : set_state(is, words)))
        return false;
    if (kind == 2 && is->admin == READY)
        check_ready(a, backend, is);
    return true;
}

/* "SetServerAddr BACKEND SERVER ..." False: HAProxy refuses it. */
static bool act(struct api *a, char *words, bool deaf)
{
    static const char *const actions[] = {"SetServerAddr", "SetServerWeight", "SetServerState"};
    cleanup(mem_free_ptr) char *whole = mem_strdup(words);
    const char *action = strsep(&words, " ");
    size_t kind = 0, backend = conf_backend(strsep(&words, " "));
    const char *name = words != NULL ? strsep(&words, " ") : NULL;
    while (kind < array_len(actions) && !str_eq(actions[kind], action))
        kind++;
    if (kind == array_len(actions) || backend == BACKENDS || words == NULL)
        violate(a->world, "known-request", "%s: the action %s", a->url, whole);
    check_ours(a, backend, name, whole);
    struct running_server *is = running_find(&a->running, backend, name);
    whole_command_begins(a, whole);
    bool refused = a->whole.refuse_actions == 1 || is == NULL || a->haproxy_back_us != 0;
    a->whole.refuse_actions -= a->whole.refuse_actions > 0;
    world_say(a->world, "  %s: %s%s", a->url, whole, refused ? ": refused" : "");
    whole_command_ends(a, whole, refused);
    if (refused || deaf)
        return !refused;
    if (!act_on(a, kind, words, backend, is))
        violate(a->world, "known-request", "%s: the action %s", a->url, whole);
    whole_server_set(a, backend, name, (enum whole_hand)(kind == 0 ? WHOLE_HAND_ADDRESS : 1u << kind));
    return true;
}

/* Of several the first that fails ends it. */
bool api_act(struct api *a, const struct request *r)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(r->actions);
    bool good = true;
    for (char *rest = copy, *one; good && (one = strsep(&rest, ";")) != NULL;)
        good = act(a, one, r->deaf);
    if (!good || r->deaf)
        a->whole.not_told_us = a->world->now_us;
    return good;
}

/* ---- the file ---- */

/* Its comments, but for the version of a file that goes back, which is the API's own. What is behind them. */
static const char *take_head(struct api *a, const char *text, char *ret)
{
    size_t len = 0, line;
    for (; str_has_prefix(text, MARK) || str_has_prefix(text, VERSION); text += line) {
        line = strcspn(text, "\n") + 1;
        if (str_has_prefix(text, VERSION))
            continue;
        if (len + line >= HEAD_BYTES)
            violate(a->world, "room", "%s: more comments than the model has room for: %s", a->url, text);
        memcpy(ret + len, text, line);
        len += line;
    }
    ret[len] = '\0';
    return text;
}

/* What is not ours of it stays to the byte. */
static void check_rest_of(struct api *a, const char *text)
{
    struct conf was = a->on_disk;
    cleanup(buf_fini) struct buf plain;
    buf_init(&plain, 0);
    was.head[0] = '\0';
    conf_print(&was, &plain);
    const char *before = strchr(buf_str(&plain), '\n') + 1;
    if (was.oddity == ODDITY_NONE) /* else it may be what goes back */
        local_text_compare(a, before, text, false);
}

static void check_lines(struct api *a, struct conf *to)
{
    for (size_t b = 0; b < BACKENDS; b++) {
        struct section *was = &a->memory.of[b], *is = &to->of[b];
        for (size_t i = 0; i < was->count; i++) {
            const struct server *line = section_find(is, was->servers[i].name);
            if (line == NULL || !server_eq(line, &was->servers[i]))
                check_line(a, b, &was->servers[i], line, "a raw write");
        }
        for (size_t i = 0; i < is->count; i++)
            if (section_find(was, is->servers[i].name) == NULL)
                check_line(a, b, NULL, &is->servers[i], "a raw write");
    }
}

static void reply(struct api *a, struct request *r, int status, const char *why)
{
    if (why != NULL)
        api_message(r, status, why);
    r->reply.status = status;
    r->reply.version = a->memory.version;
}

/* The file has the servers that are new before any of them gets ready. */
static void write_file(struct api *a, struct request *r)
{
    struct serving before;
    struct conf to = a->memory;
    const char *text = take_head(a, r->json, to.head);
    local_text_read(a, text, &to);
    for (size_t b = 0; b < BACKENDS; b++)
        if (!to.of[b].exists && !a->memory.of[b].exists)
            to.of[b] = a->memory.of[b];
    check_rest_of(a, text);
    check_lines(a, &to);
    check_written(a, false, "a raw write");
    check_adoption(a, &to);
    a->written++;
    serving_of(a, &before);
    api_outdate(a, a->memory.version);
    to.version = a->memory.version + 1;
    to.changed = false;
    a->memory = a->on_disk = to;
    a->local.unloaded_life = a->local.unloaded ? a->local.unloaded_life : r->life;
    a->local.unloaded = to.head[0] != '\0';
    api_provoke(a);
    bool told = r->actions != NULL && api_act(a, r);
    a->commits = !told || r->deaf; /* then one reload loads all of it */
    check_taken(a, &before, &r->decided, false, "a raw write");
    a->commits = false;
    bool fails = r->actions != NULL && !told;
    conf_print_written(&a->memory, &r->reply.body);
    reply(a, r, fails ? 500 : 201, fails ? "words of HAProxy" : NULL);
}

void api_post_file(struct api *a, struct request *r, const char *query)
{
    const char *version = strstr(query, "version=");
    if (version == NULL || strstr(query, "skip_reload=true") == NULL || r->json == NULL)
        api_unexpected(a, r);
    if (strtoll(version + strlen("version="), NULL, 10) != a->memory.version)
        reply(a, r, 409, "version mismatch");
    else
        write_file(a, r);
}
