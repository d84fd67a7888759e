/* Reads the file, then what the running HAProxy has: the servers of each backend, and at last who answers, so that a reload
 * since the file was read shows as another worker than at the last reading. Whatever it says, the file was read. What HAProxy
 * serves is asked for apart. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/shared_text.h"
#include "haproxy/local/cli_stat.h"
#include "haproxy/cfg/backend.h"
#include "haproxy/local/driver_internal.h"

#define TURN_AGAIN_MS 20
#define TURN_MAX_MS 60000 /* of another daemon, whose reload may hang */

static void driver_read_ask_turn(void *driver);
static void driver_read_on_file(void *arg, const struct local_answer *a);
static void driver_read_next(struct local_driver *d);

void local_driver_read(struct driver *base, struct readout *to)
{
    struct local_driver *d = local_driver_of(base);
    struct local_reading *r = &d->reading;
    readout_begin(to);
    r->to = to;
    r->at = 0;
    r->turn_until_ms = clock_mono_ms() + TURN_MAX_MS;
    if (d->options.takes_turns)
        driver_read_ask_turn(d);
    else
        r->request = local_read_config(d->options.helper, driver_read_on_file, d);
}

/* ---- the file ---- */

/* Amid another one's turn the file is ahead of what runs, or behind it, and that is no drift. */
static void driver_read_on_turn(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_reading *r = &d->reading;
    r->request = NULL;
    if (a->status == LOCAL_LOCKED && clock_mono_ms() < r->turn_until_ms)
        timer_set(&r->turn, TURN_AGAIN_MS);
    else
        r->request = local_read_config(d->options.helper, driver_read_on_file, d);
}

static void driver_read_ask_turn(void *arg)
{
    struct local_driver *d = arg;
    struct local_reading *r = &d->reading;
    r->request = local_lock_config(d->options.helper, driver_read_on_turn, d);
}

/* One backend that cannot be understood keeps no other one up. */
static void driver_read_take_file(struct local_driver *d, const struct local_answer *a)
{
    struct local_config_file *file = &d->file;
    struct readout *to = d->reading.to;
    struct error broken = {0};
    local_driver_was_read(d, a);
    to->file = cfg_content_ref(file->content);
    readout_read_at(to, file->version);
    to->loaded = a->loaded;
    to->unloaded = file->unloaded;
    const struct cfg_file *f = to->count > 0 ? cfg_content_file(file->content, &broken) : NULL;
    for (size_t i = 0; i < to->count; i++) {
        struct backend *b = &to->found[i].backend;
        struct error *unreadable = &to->found[i].unreadable;
        if (f == NULL)
            *unreadable = broken;
        else if (cfg_backend_read(f, b, unreadable) != 0)
            (void)error_prefix(unreadable, "reading backend %s", b->name);
    }
}

static void driver_read_finish(struct local_driver *d)
{
    local_driver_release(d);
    d->base.events->was_read(d->base.arg, NULL);
}

static void driver_read_on_file(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_reading *r = &d->reading;
    r->request = NULL;
    if (a->status == LOCAL_OK) {
        free(r->defaults_before);
        r->defaults_before = a->error_number == 0 ? mem_strdup(a->message) : NULL;
        driver_read_take_file(d, a);
        if (d->base.runtime)
            driver_read_next(d);
        else
            driver_read_finish(d);
        return;
    }
    struct error err = {0};
    local_driver_release(d);
    (void)error_set(&err, ERROR_RETRY, "%s", a->message);
    d->base.events->was_read(d->base.arg, &err);
}

/* ---- who answers ---- */

/* What a reading of nobody is worth, for the backends from `at` on. */
static void driver_read_give_up(struct local_driver *d, const char *why)
{
    struct local_reading *r = &d->reading;
    struct readout *to = r->to;
    r->silent = true;
    to->worker_silent = to->worker_pid < 0;
    for (size_t i = r->at; i < to->count; i++)
        runtime_unreadable(&to->found[i].runtime, why);
    driver_read_finish(d);
}

static void driver_read_on_info(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct cli_info info;
    struct error err = {0};
    struct local_reading *r = &d->reading;
    struct readout *to = r->to;
    const struct local_reload *o = &d->reload;
    r->request = NULL;
    if (a->status != LOCAL_OK || cli_info_read(&info, a->data, &err) != 0) {
        driver_read_give_up(d, a->status != LOCAL_OK ? a->message : err.message);
        return;
    }
    r->silent = false;
    to->worker_pid = info.pid;
    to->worker_uptime_s = info.uptime_s;
    memcpy(r->haproxy, info.version, sizeof(r->haproxy));
    snprintf(to->haproxy, sizeof(to->haproxy), "%s", info.version);
    /* Another one than before a reload whose end was never reported: it took place after all. */
    if (d->file.unloaded && o->step == LOCAL_RELOAD_LOST && o->loads == d->file.version && o->worker >= 0 &&
        o->worker != info.pid) {
        local_request_cancel(local_driver_loaded(d, NULL));
        to->unloaded = false;
    }
    driver_read_finish(d);
}

/* ---- servers ---- */

/* CLI_ADMIN_CONFIGURED_MAINTENANCE says only that the line was `disabled` when HAProxy loaded it: such a server is in
 * maintenance by the forced one, too, until it is set ready. */
static enum runtime_admin driver_read_admin(unsigned admin)
{
    return admin & CLI_ADMIN_FORCED_MAINTENANCE ? RUNTIME_MAINT
           : admin & CLI_ADMIN_FORCED_DRAIN     ? RUNTIME_DRAIN
                                                : RUNTIME_READY;
}

struct runtime_server local_driver_running_server(const struct cli_server *s)
{
    return (struct runtime_server){.name = shared_text(s->name),
                                   .address = shared_text(s->address),
                                   .port = (uint16_t)s->port,
                                   .weight = (int)s->weight,
                                   .admin = driver_read_admin(s->admin),
                                   .unresolved = (s->admin & CLI_ADMIN_UNRESOLVED) != 0,
                                   .unchecked =
                                       (s->check & (CLI_CHECK_CONFIGURED | CLI_CHECK_ENABLED)) == CLI_CHECK_CONFIGURED,
                                   .from_file = (s->admin & CLI_ADMIN_CONFIGURED_MAINTENANCE) != 0,
                                   .down = s->operation == CLI_STOPPED};
}

struct runtime local_driver_running(const struct cli_server *servers, size_t count)
{
    struct runtime r = {.readable = true, .servers = mem_array(count, sizeof(r.servers[0])), .count = count};
    for (size_t i = 0; i < count; i++)
        r.servers[i] = local_driver_running_server(&servers[i]);
    runtime_sort(&r);
    return r;
}

/* One that leaves is as good as gone: its line is, and nobody new comes to it. An earlier daemon may have begun that. */
static bool driver_read_leaves(const struct local_driver *d, const struct cli_server *s)
{
    const struct backend *b = &d->reading.to->found[d->reading.at].backend;
    return local_driver_leaves(&d->leaving, b->name, s->name) ||
           (driver_read_admin(s->admin) == RUNTIME_MAINT && backend_find(b, s->name) == NULL &&
            backend_find_template(b, s->name) == NULL);
}

static void driver_read_on_servers(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_reading *r = &d->reading;
    struct runtime *running = &r->to->found[r->at].runtime;
    cleanup(cli_servers_fini) struct cli_servers all = {0};
    struct error err = {0};
    size_t count = 0;
    r->request = NULL;
    if (a->status != LOCAL_OK) {
        driver_read_give_up(d, a->message);
        return;
    }
    if (cli_servers_init(&all, a->data, &err) == 0) {
        for (size_t i = 0; i < all.count; i++)
            if (!driver_read_leaves(d, &all.servers[i]))
                all.servers[count++] = all.servers[i];
        *running = local_driver_running(all.servers, count);
    } else {
        runtime_unreadable(running, err.message);
    }
    r->at++;
    driver_read_next(d);
}

/* The next backend from `at` on that there is. */
static void driver_read_next(struct local_driver *d)
{
    struct local_reading *r = &d->reading;
    while (r->at < r->to->count && !r->to->found[r->at].backend.exists)
        r->at++;
    if (r->at == r->to->count) {
        r->request = local_command(d->options.helper, LOCAL_SOCKET_STATS, "show info", driver_read_on_info, d);
        return;
    }
    cleanup(mem_free_ptr) char *command = mem_printf("show servers state %s", r->to->names[r->at]);
    r->request = local_command(d->options.helper, LOCAL_SOCKET_STATS, command, driver_read_on_servers, d);
}

/* ---- what it serves: `show info`, and then its proxies ---- */

static void driver_served_tell(struct local_driver *d, const struct error *err)
{
    struct local_served *all = &d->served;
    struct served s = all->news;
    all->news = (struct served){0};
    d->base.events->served_told(d->base.arg, err == NULL ? &s : NULL, err);
    served_fini(&s);
}

/* Where the helper is gone nothing is known of HAProxy; else HAProxy is what does not answer. */
static void driver_served_unanswered(struct local_driver *d, const struct local_answer *a)
{
    struct error err = {0};
    served_fini(&d->served.news);
    if (a->status == LOCAL_LOST)
        (void)error_set(&err, ERROR_RETRY, "%s", a->message);
    driver_served_tell(d, err.kind != ERROR_NONE ? &err : NULL);
}

static void driver_served_on_stat(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_served *s = &d->served;
    struct error err = {0};
    s->request = NULL;
    if (a->status != LOCAL_OK || a->len == 0) {
        driver_served_unanswered(d, a);
        return;
    }
    bool read = cli_stat_read(&s->news, a->data, &err) == 0;
    if (!read)
        served_fini(&s->news);
    driver_served_tell(d, read ? NULL : &err);
}

static void driver_served_on_info(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_served *s = &d->served;
    struct cli_info info;
    struct error err = {0};
    s->request = NULL;
    if (a->status != LOCAL_OK || a->len == 0) {
        driver_served_unanswered(d, a);
    } else if (cli_info_read(&info, a->data, &err) != 0) {
        driver_served_tell(d, &err);
    } else {
        s->news = (struct served){.answers = true, .pid = info.pid, .uptime_s = info.uptime_s, .version = -1};
        s->request = local_command(d->options.helper, LOCAL_SOCKET_STATS, s->servers ? CLI_STAT_SERVERS : CLI_STAT,
                                   driver_served_on_stat, d);
    }
}

static void driver_served_tell_none(struct driver *base)
{
    struct error err = {0};
    (void)error_set(&err, ERROR_GONE, "there is no socket of HAProxy to ask");
    driver_served_tell(local_driver_of(base), &err);
}

void local_driver_ask_served(struct driver *base, bool servers)
{
    struct local_driver *d = local_driver_of(base);
    struct local_served *s = &d->served;
    s->servers = servers;
    served_fini(&s->news);
    if (d->base.runtime)
        s->request = local_command(d->options.helper, LOCAL_SOCKET_STATS, "show info", driver_served_on_info, d);
    else
        local_driver_tell(d, driver_served_tell_none);
}

/* ---- life ---- */

void local_driver_read_init(struct local_driver *d, struct event_base *base)
{
    timer_init(&d->reading.turn, base, driver_read_ask_turn, d);
}

void local_driver_read_cancel(struct local_driver *d)
{
    struct local_reading *r = &d->reading;
    struct local_served *s = &d->served;
    local_request_cancel(r->request);
    local_request_cancel(s->request);
    r->request = s->request = NULL;
    timer_cancel(&r->turn);
}

void local_driver_read_fini(struct local_driver *d)
{
    timer_fini(&d->reading.turn);
    free(d->reading.defaults_before);
    served_fini(&d->served.news);
}
