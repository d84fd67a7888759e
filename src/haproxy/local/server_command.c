#include "haproxy/local/server_command.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/backend.h"
#include "haproxy/server_words.h"

#define COMMAND_BYTES 128 /* of most commands */

void server_commands_fini(struct server_commands *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->list[i].text);
    free(c->list);
    *c = (struct server_commands){0};
}

/* Both take the text over. */
static void command_put(struct server_commands *c, char *text)
{
    c->list = mem_one_more(c->list, c->count, sizeof(c->list[0]));
    c->list[c->count++] = (struct server_command){.text = text};
}

static void command_put_first(struct server_commands *c, char *text)
{
    command_put(c, text);
    c->list[c->count - 1].is_first = true;
}

void server_commands_order(struct server_commands *c)
{
    cleanup(mem_free_ptr) struct server_command *all = c->list;
    size_t to = 0;
    c->list = mem_array(c->count, sizeof(c->list[0]));
    for (int first = 1; first >= 0; first--) {
        for (size_t i = 0; i < c->count; i++)
            if (all[i].is_first == first)
                c->list[to++] = all[i];
        c->first = first ? to : c->first;
    }
}

/* HAProxy carries the last defaults section of a file, and all that have a name, over into the next. */
static bool command_defaults_may_be_before(const struct cfg_file_section *backend)
{
    const struct cfg_file_section *s = backend;
    while (s->defaults != NULL)
        s = s->defaults;
    return s == backend || *s->from != '\0';
}

/* ---- commands ---- */

/* Thousands are made at once: without printf. */
static struct buf command_begin(const char *verb, const struct change *change)
{
    struct buf text = {0};
    buf_reserve(&text, COMMAND_BYTES);
    buf_add(&text, verb);
    buf_add(&text, change->backend->name);
    buf_add(&text, "/");
    buf_add(&text, change->server->name);
    return text;
}

static void command_put_plain(struct server_commands *c, const char *verb, const struct change *change)
{
    struct buf text = command_begin(verb, change);
    command_put(c, buf_take(&text));
}

/* Into lines->said. */
static int command_say_words(struct cfg_lines *lines, const struct cfg_file_line *line, const struct cfg_line *words,
                             struct error *err)
{
    cleanup(server_words_fini) struct server_words all = {0};
    struct cfg_lines_said *said = &lines->said;
    const char *tail = words->count > 3 ? words->words[3].raw : "";
    size_t len = words->count > 3 ? (size_t)(line->text + line->len - tail) : 0, before = 0;
    while (before < lines->default_count && lines->defaults[before]->number < line->number)
        before++;
    if (said->tail != NULL && said->default_count == before && strlen(said->tail) == len &&
        memcmp(said->tail, tail, len) == 0)
        return 0;
    if (server_words_of(lines, line, words, &all, err) != 0)
        return -1;
    struct buf text = {0};
    for (size_t i = 0; i < all.count; i++) {
        const struct server_word *w = &all.list[i];
        buf_printf(&text, " %s%s%s", w->keyword, w->argument != NULL ? " " : "",
                   w->argument != NULL ? w->argument : "");
    }
    mem_free_all(said->tail, said->text);
    *said = (struct cfg_lines_said){.tail = mem_strndup(tail, len),
                                    .default_count = before,
                                    .text = buf_take(&text),
                                    .check = server_words_have(&all, "check"),
                                    .agent = server_words_have(&all, "agent-check")};
    return 0;
}

static int command_add_server(struct server_commands *c, struct cfg_lines *lines, const struct change *change,
                              struct error *err)
{
    const struct backend_server *s = change->server;
    cleanup(cfg_line_fini) struct cfg_line words;
    cfg_line_init(&words);
    const struct cfg_file_line *line = lines != NULL ? cfg_lines_server(lines, s->name) : NULL;
    if (line == NULL || lines->section == NULL)
        return error_set(err, ERROR_INVALID, "haproxy.cfg has no server %s", s->name);
    cfg_line_split(&words, line->text, line->len);
    if (str_ip_family(s->address) == 0 || s->port == 0)
        return error_set(err, ERROR_INVALID, "its address is a name, or without a port");
    if (command_say_words(lines, line, &words, err) != 0)
        return -1;
    struct buf text = command_begin("add server ", change);
    cleanup(mem_free_ptr) char *place = str_host_port(s->address, s->port);
    buf_add(&text, " ");
    buf_add(&text, place);
    buf_add(&text, lines->said.text);
    command_put_first(c, buf_take(&text));
    if (lines->said.agent)
        command_put_plain(c, "enable agent ", change);
    if (lines->said.check)
        command_put_plain(c, "enable health ", change);
    if (!s->maintenance)
        command_put_plain(c, "enable server ", change);
    return 0;
}

static int command_set_server(struct server_commands *c, const struct change *change, struct error *err)
{
    const struct backend_server *s = change->server;
    const char *backend = change->backend->name;
    if (change_can_be_set(change, err) != 0)
        return -1;
    if (change->fields & (SERVER_ADDRESS | SERVER_PORT)) /* it must not come back at its old one */
        command_put_first(c, mem_printf("set server %s/%s addr %s port %u", backend, s->name, s->address, s->port));
    if (change->fields & SERVER_WEIGHT)
        command_put(c, mem_printf("set server %s/%s weight %d", backend, s->name, s->weight));
    if (change->fields & SERVER_MAINTENANCE)
        command_put(c, mem_printf("set server %s/%s state %s", backend, s->name, s->maintenance ? "maint" : "ready"));
    return 0;
}

void server_commands_add_removal(struct server_commands *c, const char *place, size_t len)
{
    command_put(c, mem_printf("set server %.*s state maint", (int)len, place));
    command_put(c, mem_printf("del server %.*s", (int)len, place));
}

void server_commands_add_ready(struct server_commands *c, const struct server_commands *of, const char *place,
                               size_t len)
{
    for (size_t i = 0; i < of->count; i++) {
        const char *name = strrchr(of->list[i].text, ' ');
        if (str_has_prefix(of->list[i].text, "enable ") && strncmp(name + 1, place, len) == 0 && name[1 + len] == '\0')
            command_put(c, mem_strdup(of->list[i].text));
    }
}

int server_commands_add(struct server_commands *c, struct cfg_lines *lines, const char *haproxy, bool elsewhere,
                        const struct change *change, struct error *err)
{
    const char *backend = change->backend->name;
    const struct cfg_file_section *s = lines != NULL ? lines->section : NULL;
    if (change->server == NULL)
        return error_set(err, ERROR_INVALID, "backend %s itself changes", backend);
    if (!cfg_fits_command(backend) || !cfg_fits_command(change->server->name) || strchr(backend, '/') != NULL ||
        strchr(change->server->name, '/') != NULL)
        return error_set(err, ERROR_INVALID, "server %s/%s has a name that fits into no command", backend,
                         change->server->name);
    if (change->kind == CHANGE_ADD_SERVER && s != NULL && server_is_without_share(lines, haproxy))
        return error_set(err, ERROR_INVALID, "backend %s: %s", backend, SERVER_WITHOUT_SHARE);
    if (change->kind == CHANGE_ADD_SERVER && elsewhere && s != NULL && command_defaults_may_be_before(s))
        return error_set(err, ERROR_INVALID,
                         "backend %s: its defaults may be in a file of HAPROXY_CHECK_FILES, so they are unknown",
                         backend);
    int status = 0;
    if (change->kind == CHANGE_ADD_SERVER)
        status = command_add_server(c, lines, change, err);
    else if (change->kind == CHANGE_SET_SERVER)
        status = command_set_server(c, change, err);
    if (change->kind == CHANGE_REMOVE_SERVER) {
        cleanup(mem_free_ptr) char *place = mem_printf("%s/%s", backend, change->server->name);
        server_commands_add_removal(c, place, strlen(place));
    }
    return status == 0 ? 0 : error_prefix(err, "server %s/%s", backend, change->server->name);
}
