/* The commands that do what a reload of the file would do, and servers that are to go once nobody uses them any more. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/backend.h"
#include "haproxy/local/driver_internal.h"

/* HAProxy takes no longer line than tune.bufsize, 16 KiB unless the configuration makes it smaller. */
#define LINE_BYTES 4096
/* Between the commands of a line: what it prints, a line, is no answer of theirs. Those end with an empty line or without
 * one, which differs from command to command, and between HAProxy's versions. */
#define MARK "show version"
#define REMOVAL "del server " /* BACKEND/SERVER follows; refused as long as connections are attached to it */
#define ADDITION "add server "
#define LEAVING_FIRST_MS 500
#define LEAVING_LONGEST_MS 16000

/* ---- servers that leave ---- */

static void leaving_remove(struct local_leaving *l, size_t at)
{
    free(l->list[at]);
    l->list[at] = l->list[--l->count];
}

void local_driver_forget_leaving(struct local_leaving *l)
{
    local_request_cancel(l->request);
    l->request = NULL;
    timer_cancel(&l->again);
    while (l->count > 0)
        leaving_remove(l, 0);
}

static void leaving_wait(struct local_leaving *l)
{
    if (l->count == 0)
        return;
    timer_set(&l->again, l->wait_ms);
    l->wait_ms = l->wait_ms < LEAVING_LONGEST_MS ? 2 * l->wait_ms : LEAVING_LONGEST_MS;
}

static void leaving_next(struct local_driver *d);

static void leaving_on_answer(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_leaving *l = &d->leaving;
    struct error err = {0};
    l->request = NULL;
    bool gone = a->status == LOCAL_OK && cli_read_done(a->data, &err) == 0;
    /* Refused for another reason: another writer has it in use again, which the next comparison shows. */
    if (gone || (a->status == LOCAL_OK && err.kind != ERROR_CONFLICT))
        leaving_remove(l, l->at);
    else
        l->at++;
    leaving_next(d);
}

/* That file has the server of "BACKEND/SERVER": another writer put it there. */
static bool commands_has_line(const struct cfg_file *f, const char *place)
{
    const char *slash = strchr(place, '/');
    cleanup(mem_free_ptr) char *backend = mem_strndup(place, (size_t)(slash - place));
    cleanup(mem_free_ptr) char *server = mem_strndup(slash + 1, strcspn(slash + 1, " "));
    cleanup(cfg_lines_fini) struct cfg_lines lines = {0};
    if (f != NULL)
        cfg_lines_find(&lines, f, backend);
    return cfg_lines_server(&lines, server) != NULL;
}

static void leaving_next(struct local_driver *d)
{
    struct local_leaving *l = &d->leaving;
    const struct cfg_file *f = cfg_content_file(d->file.content, NULL);
    while (l->at < l->count && commands_has_line(f, l->list[l->at] + strlen(REMOVAL)))
        leaving_remove(l, l->at);
    if (l->at >= l->count) {
        leaving_wait(l);
        return;
    }
    /* Set into maintenance once more: HAProxy may have acknowledged that, and not done it. */
    const char *to = d->options.has_stats ? "" : "@1 ", *removal = l->list[l->at];
    cleanup(mem_free_ptr) char *both =
        mem_printf("set server %s state maint; %s%s", removal + strlen(REMOVAL), to, removal);
    l->request = local_command(d->options.commands, LOCAL_SOCKET_STATS, both, leaving_on_answer, d);
}

static void leaving_again(void *driver)
{
    struct local_driver *d = driver;
    struct local_leaving *l = &d->leaving;
    l->at = 0;
    leaving_next(d);
}

static void leaving_add(struct local_leaving *l, const char *command)
{
    l->list = mem_resize(l->list, l->count + 1, sizeof(l->list[0]));
    l->list[l->count++] = mem_strdup(command);
    l->wait_ms = LEAVING_FIRST_MS;
    if (l->request == NULL)
        leaving_wait(l);
}

bool local_driver_leaves(const struct local_leaving *l, const char *backend, const char *server)
{
    if (l->count == 0)
        return false;
    cleanup(mem_free_ptr) char *command = mem_printf(REMOVAL "%s/%s", backend, server);
    for (size_t i = 0; i < l->count; i++)
        if (str_eq(l->list[i], command))
            return true;
    return false;
}

void local_driver_leaving_init(struct local_driver *d, struct event_base *base)
{
    timer_init(&d->leaving.again, base, leaving_again, d);
}

void local_driver_leaving_fini(struct local_leaving *l)
{
    local_driver_forget_leaving(l);
    free(l->list);
    timer_fini(&l->again);
}

/* ---- several at once ---- */

static void run_next(struct local_run *r);

/* The answer that begins at *at, which goes on behind the mark that ends it; "": there is no such mark. */
static const char *run_cut(char **at, const char *mark)
{
    char *answer = *at;
    size_t len = strlen(mark);
    for (char *line = answer; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (len > 0 && str_has_prefix(line, mark) && line[len] == '\n') {
            *line = '\0';
            *at = line + len + 1;
            return answer;
        }
    }
    *at += strlen(*at);
    return *at;
}

/* Of which backend, what of it, and why: the same for each server that it is refused for. */
static void run_refuse(struct local_run *r, const char *command, const char *why)
{
    size_t slash = strcspn(command, "/"), name = slash;
    while (name > 0 && command[name - 1] != ' ')
        name--;
    if (r->why == NULL && name > 0)
        r->why = mem_printf("backend %.*s: %.*s: %s", (int)(slash - name), command + name, (int)name - 1, command, why);
}

static void run_take(struct local_run *r, struct server_command *c, const char *answer)
{
    struct error err = {0};
    bool good = cli_read_done(answer, &err) == 0;
    c->done = good || err.kind == ERROR_RETRY; /* not answered: for all that is known */
    if (good)
        return;
    if (err.kind == ERROR_CONFLICT && str_has_prefix(c->text, REMOVAL))
        leaving_add(&r->driver->leaving, c->text); /* nobody new comes to it, in maintenance */
    else
        run_refuse(r, c->text, err.message);
}

static void run_on_answer(void *arg, const struct local_answer *a)
{
    struct local_run *r = arg;
    cleanup(mem_free_ptr) char *text = mem_strdup(a->data);
    char *at = text + strcspn(text, "\n");
    cleanup(mem_free_ptr) char *mark = mem_strndup(text, (size_t)(at - text));
    r->request = NULL;
    bool reached = a->error_number != ECONNREFUSED && a->error_number != ENOENT;
    for (size_t i = r->sent; i < r->next; i++)
        if (a->status == LOCAL_OK)
            run_take(r, &r->commands.list[i], run_cut(&at, mark));
        else
            r->commands.list[i].done = reached; /* for all that is known */
    if (a->status != LOCAL_OK)
        run_refuse(r, r->commands.list[r->sent].text, a->message);
    run_next(r);
}

/* As many as one line takes, for each line is a connection. HAProxy goes on behind one that it refuses: so what builds
 * upon others has a line of its own, behind theirs. */
static void run_next(struct local_run *r)
{
    const struct local_driver_options *o = &r->driver->options;
    const struct server_commands *c = &r->commands;
    const char *to = o->has_stats ? "" : "@1 ";
    size_t end = r->next < c->first ? c->first : c->count;
    struct buf line = {0};
    buf_add(&line, MARK);
    r->sent = r->next;
    while (r->next < end && (r->why == NULL || r->in_any_case) && (r->next == r->sent || line.len < LINE_BYTES)) {
        buf_printf(&line, "; %s%s; %s" MARK, to, c->list[r->next].text, to);
        r->next++;
    }
    if (r->next > r->sent) {
        r->request = local_command(o->commands, LOCAL_SOCKET_STATS, line.data, run_on_answer, r);
    } else {
        r->running = false;
        r->ended(r->driver);
    }
    buf_fini(&line);
}

void local_run_begin(struct local_run *r, struct local_driver *d, void (*ended)(struct local_driver *d))
{
    r->driver = d;
    r->ended = ended;
    r->running = true;
    run_next(r);
}

void local_run_clear(struct local_run *r)
{
    local_request_cancel(r->request);
    server_commands_fini(&r->commands);
    free(r->why);
    *r = (struct local_run){0};
}

void local_run_take_back(struct local_run *r, const struct local_run *done, const struct cfg_file *is)
{
    struct server_commands *back = &r->commands;
    local_run_clear(r);
    r->in_any_case = true;
    for (size_t i = 0; i < done->commands.count; i++) {
        const struct server_command *c = &done->commands.list[i];
        const char *name = c->text + strlen(ADDITION);
        if (!c->done || !str_has_prefix(c->text, ADDITION))
            continue;
        if (commands_has_line(is, name))
            server_commands_add_ready(back, &done->commands, name, strcspn(name, " "));
        else
            server_commands_add_removal(back, name, strcspn(name, " "));
    }
}
