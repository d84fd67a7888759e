/* The commands that do what a reload of the file would do, and servers that are to go once nobody uses them any more. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/words.h"
#include "haproxy/local/config.h"
#include "haproxy/local/driver_internal.h"

/* HAProxy takes no longer line than tune.bufsize, 16 KiB unless somebody made it smaller. */
#define LINE_BYTES 4096
#define REMOVAL "del server "
#define ADDITION "add server "
#define LEAVING_FIRST_MS 500
#define LEAVING_LONGEST_MS 16000

/* ---- servers that leave ---- */

/* BACKEND/SERVER follows; refused as long as connections are attached to it. */
static bool commands_is_removal(const char *command)
{
    return str_has_prefix(command, REMOVAL);
}

static void leaving_remove(struct local_leaving *l, size_t at)
{
    free(l->list[at]);
    l->list[at] = l->list[--l->count];
}

void local_driver_forget_leaving(struct local_driver *d)
{
    struct local_leaving *l = &d->leaving;
    local_request_cancel(l->request);
    l->request = NULL;
    timer_cancel(&l->again);
    while (l->count > 0)
        leaving_remove(l, 0);
}

static void leaving_wait(struct local_driver *d)
{
    struct local_leaving *l = &d->leaving;
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
    /* Refused for another reason: somebody else has it in use again, which the next comparison shows. */
    if (gone || (a->status == LOCAL_OK && err.kind != ERROR_CONFLICT))
        leaving_remove(l, l->at);
    else
        l->at++;
    leaving_next(d);
}

/* The file has that server again: somebody wrote it there. */
static bool leaving_is_back(const struct local_driver *d, const char *command)
{
    const struct cfg_file *f = d->file != NULL ? cfg_content_file(d->file, NULL) : NULL;
    const char *backend = command + strlen(REMOVAL), *slash = strchr(backend, '/');
    cleanup(mem_free_ptr) char *name = mem_strndup(backend, (size_t)(slash - backend));
    const struct cfg_file_section *section = f != NULL ? local_config_section(f, name) : NULL;
    cleanup(cfg_line_fini) struct cfg_line words;
    cfg_line_init(&words);
    return section != NULL && local_config_server(section, slash + 1, &words) != NULL;
}

static void leaving_next(struct local_driver *d)
{
    struct local_leaving *l = &d->leaving;
    while (l->at < l->count && leaving_is_back(d, l->list[l->at]))
        leaving_remove(l, l->at);
    if (l->at >= l->count)
        leaving_wait(d);
    else
        l->request = local_command(d->options.commands, LOCAL_SOCKET_STATS, l->list[l->at], leaving_on_answer, d);
}

void local_driver_leaving_again(void *driver)
{
    struct local_driver *d = driver;
    d->leaving.at = 0;
    leaving_next(d);
}

static void leaving_add(struct local_driver *d, const char *command)
{
    struct local_leaving *l = &d->leaving;
    l->list = mem_resize(l->list, l->count + 1, sizeof(l->list[0]));
    l->list[l->count++] = mem_strdup(command);
    l->wait_ms = LEAVING_FIRST_MS;
    if (l->request == NULL)
        leaving_wait(d);
}

bool local_driver_leaves(const struct local_driver *d, const char *backend, const char *server)
{
    if (d->leaving.count == 0)
        return false;
    cleanup(mem_free_ptr) char *command = mem_printf(REMOVAL "%s/%s", backend, server);
    for (size_t i = 0; i < d->leaving.count; i++)
        if (str_eq(d->leaving.list[i], command))
            return true;
    return false;
}

/* ---- one after the other ---- */

static void run_next(struct local_run *r);

/* Each of them says nothing, or a line, and an empty one. *ret_at goes on to the first that was refused, which keeps none
 * behind it. */
static int run_read(struct local_run *r, const struct local_answer *a, size_t *ret_at, struct error *err)
{
    int status = 0;
    if (a->status != LOCAL_OK)
        return error_set(err, ERROR_RETRY, "%s", a->message);
    cleanup(mem_free_ptr) char *text = mem_strdup(a->data);
    char *rest = text;
    size_t at = r->first;
    for (char *line; at < r->next && (line = strsep(&rest, "\n")) != NULL; at += *line == '\0') {
        struct error why = {0};
        if (cli_read_done(line, &why) == 0)
            continue;
        *ret_at = status == 0 ? at : *ret_at;
        *err = status == 0 ? why : *err;
        r->refused[at] = true;
        status = -1;
    }
    return status;
}

static void run_end(struct local_run *r, char *why)
{
    r->running = false;
    free(r->why);
    r->why = why;
    r->ended(r->driver);
}

static void run_on_answer(void *arg, const struct local_answer *a)
{
    struct local_run *r = arg;
    struct error err = {0};
    size_t at = r->first;
    r->request = NULL;
    int status = run_read(r, a, &at, &err);
    bool nobody_listens = a->error_number == ECONNREFUSED || a->error_number == ENOENT;
    r->done = a->status != LOCAL_OK && nobody_listens ? r->first : r->next;
    const char *refused = r->commands.list[at < r->next ? at : r->next - 1];
    if (status != 0 && err.kind == ERROR_CONFLICT && commands_is_removal(refused)) {
        leaving_add(r->driver, refused); /* nobody new comes to it, in maintenance */
        status = 0;
    }
    if (status == 0)
        run_next(r);
    else
        run_end(r, mem_printf("%s: %s", refused, err.message));
}

/* As many as one line takes, for each line is a connection; through the master it is one. What may be refused without a
 * reload is alone. */
static void run_next(struct local_run *r)
{
    const struct local_driver_options *o = &r->driver->options;
    const struct server_commands *c = &r->commands;
    struct buf line = {0};
    r->first = r->next;
    while (r->next < c->count) {
        const char *command = c->list[r->next];
        bool alone = !o->has_stats || commands_is_removal(command);
        if (r->next > r->first && (alone || line.len + strlen(command) > LINE_BYTES))
            break;
        buf_printf(&line, "%s%s", r->next > r->first ? "; " : "", command);
        r->next++;
        if (alone)
            break;
    }
    if (line.len > 0)
        r->request = local_command(o->commands, LOCAL_SOCKET_STATS, line.data, run_on_answer, r);
    else
        run_end(r, NULL);
    buf_fini(&line);
}

void local_run_begin(struct local_run *r, struct local_driver *d, void (*ended)(struct local_driver *d))
{
    r->driver = d;
    r->ended = ended;
    r->running = true;
    r->next = 0;
    free(r->refused);
    r->refused = mem_array(r->commands.count + 1, sizeof(r->refused[0]));
    run_next(r);
}

void local_run_clear(struct local_run *r)
{
    local_request_cancel(r->request);
    server_commands_fini(&r->commands);
    free(r->why);
    free(r->refused);
    *r = (struct local_run){0};
}

/* ---- what was not to be ---- */

static void run_on_undone(void *arg, const struct local_answer *a)
{
    (void)arg;
    (void)a;
}

void local_driver_take_back(struct local_driver *d, const char *command)
{
    if (!str_has_prefix(command, ADDITION))
        return;
    const char *name = command + strlen(ADDITION);
    int len = (int)strcspn(name, " ");
    cleanup(mem_free_ptr) char *out = mem_printf("set server %.*s state maint", len, name);
    cleanup(mem_free_ptr) char *removal = mem_printf(REMOVAL "%.*s", len, name);
    (void)!local_command(d->options.commands, LOCAL_SOCKET_STATS, out, run_on_undone, NULL);
    leaving_add(d, removal);
}
