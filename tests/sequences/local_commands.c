/* What HAProxy's sockets answer, and what commands do. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/local/cli.h"
#include "haproxy/local/cli_stat.h"
#include "world.h"

#define MARK "show version" /* stands between the commands of a line */

static void unexpected(const struct api *a, const char *command)
{
    violate(a->world, "known-request", "%s: command %s", a->url, command);
}

/* ---- what is asked ---- */

static void show_info(const struct api *a, struct buf *out)
{
    buf_printf(out, "Name: HAProxy\nVersion: 2.6.12\nPid: %u\nUptime_sec: %llu\n\n", a->pid,
               (unsigned long long)(a->world->now_us - a->pid_since_us) / 1000000);
}

static void show_proc(const struct api *a, struct buf *out)
{
    buf_printf(out,
               "#<PID>          <type>          <reloads>       <uptime>        <version>\n"
               "50 master 1 [failed: %u] 0d00h00m08s 2.6.12\n# workers\n%u worker 0 0d00h00m08s 2.6.12\n# programs\n\n",
               a->local.failed_reloads, a->pid);
}

static void show_servers(const struct api *a, size_t backend, struct buf *out)
{
    static const unsigned admins[] = {
        [READY] = 0, [DRAIN] = CLI_ADMIN_FORCED_DRAIN, [MAINT] = CLI_ADMIN_FORCED_MAINTENANCE};
    if (!a->running.of[backend].exists) {
        buf_add(out, "Can't find backend.\n\n");
        return;
    }
    buf_add(out, "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight "
                 "srv_time_since_last_change srv_check_state srv_fqdn srv_port\n");
    for (size_t i = 0; i < a->running.of[backend].count; i++) {
        const struct running_server *is = &a->running.of[backend].servers[i];
        buf_printf(out, "%zu %s %zu %s %s %d %u %d 1 7 %d - %u\n", backend + 2, conf_backends[backend], i + 1, is->name,
                   is->address, is->admin == MAINT || is->down ? CLI_STOPPED : CLI_RUNNING,
                   admins[is->admin] | (is->disabled ? CLI_ADMIN_CONFIGURED_MAINTENANCE : 0), is->weight,
                   is->unchecked ? CLI_CHECK_CONFIGURED : CLI_CHECK_CONFIGURED | CLI_CHECK_ENABLED, is->port);
    }
    buf_add(out, "\n");
}

/* Traffic finds servers all along: what is judged by that is not these streams'. */
static void show_stat(struct buf *out)
{
    buf_add(out, "# pxname,svname,status,act,bck,\nsetting,FRONTEND,OPEN,,,\n");
    for (size_t b = 0; b < BACKENDS; b++)
        buf_printf(out, "%s,BACKEND,UP,1,0,\n", conf_backends[b]);
    buf_add(out, "\n");
}

/* ---- what changes something ---- */

struct command {
    struct api *api;
    struct local_request *request;
    size_t backend;
    char name[NAME_BYTES];
    char *rest;
    const char *whole;
    struct buf *out;
    bool refused;
    unsigned sets; /* of enum whole_hand */
};

/* "BACKEND/SERVER" */
static void take_name(struct command *c)
{
    char *word = strsep(&c->rest, " "), *slash = word != NULL ? strchr(word, '/') : NULL;
    if (slash == NULL)
        unexpected(c->api, c->whole);
    *slash = '\0';
    c->backend = conf_backend(word);
    snprintf(c->name, NAME_BYTES, "%s", slash + 1);
    if (c->api->world->settings.whole != 0)
        return;
    if (c->backend >= OURS || str_has_prefix(c->name, "keep") || str_eq(c->name, "spare") || name_is_anothers(c->name))
        violate(c->api->world, "unmanaged", "%s: %s, which is not ours", c->api->url, c->whole);
}

static void answer(const struct command *c, const char *text)
{
    buf_printf(c->out, "%s\n\n", text);
}

static void refuse(struct command *c, const char *text)
{
    c->api->local.excused_us = c->api->world->now_us;
    c->refused = true;
    answer(c, text);
}

/* As a reload of what is about to be written would have it. */
static void check_words(const struct command *c, const struct server *said)
{
    struct api *a = c->api;
    const struct local_request *w = a->local.file.first;
    if (w == NULL || w->ask.kind != LOCAL_KIND_WRITE_CONFIG)
        return;
    struct conf to = a->memory;
    local_text_read(a, w->ask.bytes, &to);
    const struct server *line = section_find(&to.of[c->backend], c->name);
    if (line == NULL)
        violate(a->world, "added", "%s: %s, which the file is not to have", a->url, c->whole);
    struct server as = *line;
    as.maintenance = UNSAID;
    as.backup = as.backup == OFF ? UNSAID : as.backup;
    if (!server_eq(&as, said))
        violate(a->world, "added", "%s: %s, and its line is to say something else", a->url, c->whole);
}

static void add_server(struct command *c)
{
    struct api *a = c->api;
    struct server said = {.port = 0};
    char why[64];
    size_t *count = &a->running.of[c->backend].count;
    memcpy(said.name, c->name, NAME_BYTES);
    if (local_text_server(c->rest, &said, why, sizeof(why)) != 0)
        violate(a->world, "known-fields", "%s: %s in %s", a->url, why, c->whole);
    check_words(c, &said);
    bool fixed = strcmp(a->running.of[c->backend].balance, "static-rr") == 0;
    if (fixed || a->local.refuse_adds > 0) {
        a->local.refuse_adds -= a->local.refuse_adds > 0;
        refuse(c, "Backend must use a dynamic load balancing to support dynamic servers.");
    } else if (!a->running.of[c->backend].exists) {
        refuse(c, "No such backend.");
    } else if (running_find(&a->running, c->backend, c->name) != NULL) {
        refuse(c, "Already exists a server with the same name in backend.");
    } else if (*count == SERVERS_MAX) {
        violate(a->world, "room", "%s: more servers run than the model has room for", a->url);
    } else {
        struct running_server *is = &a->running.of[c->backend].servers[(*count)++];
        *is = (struct running_server){.port = said.port,
                                      .weight = said.weight >= 0 ? said.weight : 1,
                                      .admin = MAINT,
                                      .added = true,
                                      .unchecked = said.check == ON};
        memcpy(is->name, said.name, NAME_BYTES);
        memcpy(is->address, said.address, NAME_BYTES);
        is->line = said;
        c->sets = WHOLE_HAND_ALL;
        answer(c, "New server registered.");
    }
}

static struct running_server *find(struct command *c)
{
    struct running_server *is = running_find(&c->api->running, c->backend, c->name);
    if (is == NULL)
        refuse(c, "No such server.");
    return is;
}

static void del_server(struct command *c)
{
    struct api *a = c->api;
    struct running_server *is = find(c);
    if (is == NULL)
        return;
    if (is->admin != MAINT) {
        refuse(c, "Only servers in maintenance mode can be deleted.");
    } else if (is->used_until_us > a->world->now_us) {
        answer(c, "Server still has connections attached to it, cannot remove it."); /* no reason for a reload */
    } else {
        size_t at = (size_t)(is - a->running.of[c->backend].servers);
        memmove(is, is + 1, (--a->running.of[c->backend].count - at) * sizeof(*is));
        answer(c, "Server deleted.");
    }
}

static void set_address(struct command *c, struct running_server *is)
{
    const char *address = strsep(&c->rest, " ");
    if (c->rest == NULL || !str_has_prefix(c->rest, "port ") || strlen(address) >= NAME_BYTES)
        unexpected(c->api, c->whole);
    snprintf(is->address, NAME_BYTES, "%s", address);
    is->port = (unsigned)strtoul(c->rest + strlen("port "), NULL, 10);
    answer(c, "IP changed from '10.0.0.1' to '10.0.0.2', no need to change the port by 'stats socket command'");
}

static void set_state(struct command *c, struct running_server *is, bool deaf)
{
    static const char *const states[] = {[READY] = "ready", [DRAIN] = "drain", [MAINT] = "maint"};
    struct api *a = c->api;
    size_t admin = 0;
    while (admin < array_len(states) && !str_eq(states[admin], c->rest))
        admin++;
    if (admin == array_len(states))
        unexpected(a, c->whole);
    if (!deaf)
        is->admin = (enum admin)admin;
    if (c->request->life != a->world->life || a->world->targets == NULL) /* nobody knows any more whose it is */
        api_operate(a, c->backend, c->name, (enum admin)admin);
    buf_add(c->out, "\n");
}

static void set_weight(struct command *c, struct running_server *is)
{
    if (strcmp(c->api->running.of[c->backend].balance, "static-rr") == 0) {
        refuse(c, "Backend is using a static LB algorithm and only accepts weights '0%' and '100%'.");
        return;
    }
    is->weight = (int)strtoul(c->rest, NULL, 10);
    buf_add(c->out, "\n");
}

static void set_server(struct command *c)
{
    struct running_server *is = find(c);
    const char *what = strsep(&c->rest, " ");
    if (is == NULL)
        return;
    if (what == NULL || c->rest == NULL)
        unexpected(c->api, c->whole);
    if (strcmp(what, "addr") == 0) {
        c->sets = WHOLE_HAND_ADDRESS;
        set_address(c, is);
    } else if (strcmp(what, "weight") == 0) {
        c->sets = WHOLE_HAND_WEIGHT;
        set_weight(c, is);
    } else if (strcmp(what, "state") == 0) {
        c->sets = WHOLE_HAND_STATE;
        set_state(c, is, c->request->deaf);
    } else {
        unexpected(c->api, c->whole);
    }
}

static void enable_server(struct command *c)
{
    struct running_server *is = find(c);
    if (is == NULL)
        return;
    is->admin = is->admin == MAINT ? READY : is->admin;
    buf_add(c->out, "\n");
}

static void enable_health(struct command *c)
{
    struct running_server *is = find(c);
    if (is == NULL)
        return;
    is->unchecked = false;
    buf_add(c->out, "\n");
}

static const struct {
    const char *begin;
    void (*carry_out)(struct command *c);
} changes[] = {{"add server ", add_server},
               {"del server ", del_server},
               {"set server ", set_server},
               {"enable server ", enable_server},
               {"enable health ", enable_health}};

/* A HAProxy that says yes and does nothing does so to each command. For a server that has left already it is sent once more, in a line
 * without marks, whatever else goes on. */
static void carry_out_of_whole(struct command *c, void (*carry_out)(struct command *c))
{
    struct api *a = c->api;
    const struct running before = a->running;
    bool leaves = !str_has_prefix(c->request->ask.bytes, MARK);
    c->refused = false;
    if (!leaves)
        whole_command_begins(a, c->whole);
    if (c->request->refused)
        refuse(c, "words of HAProxy");
    else
        carry_out(c);
    if (c->request->deaf)
        a->running = before;
    else if (!c->refused)
        whole_server_set(a, c->backend, c->name, c->sets);
    if (!leaves)
        whole_command_ends(a, c->whole, c->refused);
}

static bool carry_out_change(struct api *a, struct local_request *r, const char *text)
{
    for (size_t i = 0; i < array_len(changes); i++) {
        if (!str_has_prefix(text, changes[i].begin))
            continue;
        struct serving before;
        cleanup(mem_free_ptr) char *copy = mem_strdup(text + strlen(changes[i].begin));
        struct command c = {.api = a, .request = r, .rest = copy, .whole = text, .out = &r->data};
        take_name(&c);
        if (a->world->settings.whole != 0) {
            carry_out_of_whole(&c, changes[i].carry_out);
            return true;
        }
        serving_of(a, &before);
        if (r->refused)
            refuse(&c, "words of HAProxy");
        else
            changes[i].carry_out(&c);
        if (!r->takes_back)
            check_taken(a, &before, &r->decided, true, text);
        return true;
    }
    return false;
}

static const char *command_behind(const char *text, const char *prefix)
{
    return str_has_prefix(text, prefix) ? text + strlen(prefix) : text;
}

/* Through the master each command but the first, which the helper begins, names the worker. */
const char *local_first_command(const char *line)
{
    return command_behind(command_behind(line, MARK "; "), "@1 ");
}

/* "set server BACKEND/SERVER state maint" of one that was added for a file that did not come. */
bool local_takes_back(struct api *a, const struct local_ask *k)
{
    const char *first = local_first_command(k->bytes);
    if (k->kind != LOCAL_KIND_COMMAND || !str_has_prefix(first, "set server "))
        return false;
    cleanup(mem_free_ptr) char *copy = mem_strdup(first + strlen("set server "));
    char *rest = copy;
    size_t b = conf_backend(strsep(&rest, "/"));
    const char *name = rest != NULL ? strsep(&rest, " ") : NULL;
    return name != NULL && b < BACKENDS && section_find(&a->memory.of[b], name) == NULL;
}

/* One that is refused keeps none behind it. */
void local_carry_out_commands(struct api *a, struct local_request *r)
{
    const char *text = r->ask.bytes;
    if (a->haproxy_back_us != 0) {
        local_fail(r, ECONNREFUSED, "cannot connect to the socket: Connection refused");
        return;
    }
    if (r->ask.where == LOCAL_SOCKET_MASTER) {
        if (!str_eq(text, "show proc"))
            unexpected(a, text);
        show_proc(a, &r->data);
    } else if (str_eq(text, CLI_STAT)) {
        show_stat(&r->data);
    } else if (str_eq(text, "show info")) {
        show_info(a, &r->data);
    } else if (str_has_prefix(text, "show servers state ")) {
        size_t backend = conf_backend(text + strlen("show servers state "));
        if (backend == BACKENDS)
            unexpected(a, text);
        if (backend < OURS && a->local.reads)
            clusters_note_running(a, backend);
        show_servers(a, backend, &r->data);
    } else {
        cleanup(mem_free_ptr) char *copy = mem_strdup(text);
        char *rest = copy;
        a->writes++;
        for (const char *one; (one = strsep(&rest, ";")) != NULL;) {
            one = command_behind(one + strspn(one, " "), "@1 ");
            if (str_eq(one, MARK))
                buf_add(&r->data, "3.4.0\n\n");
            else if (!carry_out_change(a, r, one))
                unexpected(a, one);
        }
    }
}
