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
#include "haproxy/local/config.h"
#include "haproxy/local/driver_internal.h"

#define TURN_AGAIN_MS 20
#define TURN_MAX_MS 60000 /* of another daemon, whose reload may hang */

static void driver_read_ask_turn(void *driver);
static void driver_read_on_file(void *arg, const struct local_answer *a);
static void driver_read_next(struct local_driver *d);

void local_driver_read(struct driver *base, struct readout *to)
{
    struct local_driver *d = local_driver_of(base);
    readout_begin(to);
    d->to = to;
    d->at = 0;
    d->turn_until_ms = clock_mono_ms() + TURN_MAX_MS;
    if (d->options.takes_turns)
        driver_read_ask_turn(d);
    else
        d->request = local_read_config(d->options.helper, driver_read_on_file, d);
}

/* ---- the file ---- */

/* Amid another one's turn the file is ahead of what runs, or behind it, and that is no drift. */
static void driver_read_on_turn(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    d->request = NULL;
    if (a->status == LOCAL_LOCKED && clock_mono_ms() < d->turn_until_ms)
        timer_set(&d->turn, TURN_AGAIN_MS);
    else
        d->request = local_read_config(d->options.helper, driver_read_on_file, d);
}

static void driver_read_ask_turn(void *arg)
{
    struct local_driver *d = arg;
    d->request = local_lock_config(d->options.helper, driver_read_on_turn, d);
}

/* Our own memory comes first: what is asked for may be older than what was noted. Where the other daemon that wrote it
 * still has the file, it is about to load it. */
static bool driver_read_is_unloaded(struct local_driver *d, const struct local_answer *a, bool same)
{
    if (!a->unloaded || local_identity_same(&d->loaded, &a->identity))
        return d->unloaded && same;
    if (a->pid != 0 && d->waits == NULL)
        timer_set(&d->ask_again, LOCAL_LOCK_AGAIN_MS);
    return a->pid == 0;
}

/* Who wrote it meanwhile changed its identity, perhaps with the same bytes. What he loaded lacks who was taken back since. */
static void driver_read_take_file(struct local_driver *d, const struct local_answer *a)
{
    bool known = d->file != NULL && local_identity_same(&d->identity, &a->identity);
    bool same = known || (d->file != NULL && d->file->len == a->len && memcmp(d->file->text, a->data, a->len) == 0);
    d->identity = a->identity;
    d->unloaded = driver_read_is_unloaded(d, a, same) || (d->took_back && !known);
    d->took_back = false;
    if (!known) {
        d->version++;
        if (!same) {
            struct buf text = {0};
            buf_addn(&text, a->data, a->len);
            cfg_content_unref(d->file);
            d->file = cfg_content_take(&text);
        }
    }
    d->to->file = cfg_content_ref(d->file);
    d->to->version = d->version;
    d->to->loaded = a->loaded;
    d->to->unloaded = d->unloaded;
}

/* One backend that cannot be understood keeps no other one up. */
static void driver_read_take_backends(struct local_driver *d)
{
    struct error broken = {0};
    const struct cfg_file *f = d->to->count > 0 ? cfg_content_file(d->file, &broken) : NULL;
    for (size_t i = 0; i < d->to->count; i++) {
        struct reading *r = &d->to->found[i];
        r->backend.version = d->version;
        if (f == NULL)
            r->unreadable = broken;
        else if (local_config_read(f, &r->backend, &r->unreadable) != 0)
            (void)error_prefix(&r->unreadable, "reading backend %s", r->backend.name);
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
    d->request = NULL;
    if (a->status == LOCAL_OK) {
        free(d->defaults_before);
        d->defaults_before = a->error_number == 0 ? mem_strdup(a->message) : NULL;
        driver_read_take_file(d, a);
        driver_read_take_backends(d);
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
    d->silent = true;
    d->to->worker_silent = d->to->worker_pid < 0;
    for (size_t i = d->at; i < d->to->count; i++)
        d->to->found[i].runtime.why = mem_strdup(why);
    driver_read_finish(d);
}

/* Another one than before a reload whose end was never reported: it took place after all. */
static void driver_read_find_lost_reload(struct local_driver *d)
{
    const struct local_reload *o = &d->reload;
    if (!d->unloaded || o->step != LOCAL_RELOAD_LOST || o->loads != d->version || o->worker < 0 ||
        o->worker == d->to->worker_pid)
        return;
    local_request_cancel(local_driver_loaded(d, NULL));
    d->to->unloaded = false;
}

static void driver_read_on_info(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct cli_info info;
    struct error err = {0};
    d->request = NULL;
    if (a->status != LOCAL_OK || cli_info_read(&info, a->data, &err) != 0) {
        driver_read_give_up(d, a->status != LOCAL_OK ? a->message : err.message);
        return;
    }
    d->silent = false;
    d->to->worker_pid = info.pid;
    d->to->worker_uptime_s = info.uptime_s;
    memcpy(d->haproxy, info.version, sizeof(d->haproxy));
    snprintf(d->to->haproxy, sizeof(d->to->haproxy), "%s", info.version);
    driver_read_find_lost_reload(d);
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

void local_driver_take_server(struct runtime_server *ret, const struct cli_server *s)
{
    *ret = (struct runtime_server){.name = shared_text(s->name),
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

/* One that leaves is as good as gone: its line is, and nobody new comes to it. An earlier daemon may have begun that. */
static bool driver_read_leaves(const struct local_driver *d, const struct cli_server *s)
{
    const struct backend *b = &d->to->found[d->at].backend;
    return local_driver_leaves(d, b->name, s->name) ||
           (driver_read_admin(s->admin) == RUNTIME_MAINT && backend_find(b, s->name) == NULL &&
            backend_find_template(b, s->name) == NULL);
}

static void driver_read_take_servers(const struct local_driver *d, struct runtime *r, const struct cli_servers *all)
{
    r->servers = mem_array(all->count, sizeof(r->servers[0]));
    for (size_t i = 0; i < all->count; i++)
        if (!driver_read_leaves(d, &all->servers[i]))
            local_driver_take_server(&r->servers[r->count++], &all->servers[i]);
    r->readable = true;
    runtime_sort(r);
}

static void driver_read_on_servers(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct runtime *r = &d->to->found[d->at].runtime;
    cleanup(cli_servers_fini) struct cli_servers all = {0};
    struct error err = {0};
    d->request = NULL;
    if (a->status != LOCAL_OK) {
        driver_read_give_up(d, a->message);
        return;
    }
    if (cli_servers_init(&all, a->data, &err) == 0)
        driver_read_take_servers(d, r, &all);
    else
        r->why = mem_strdup(err.message);
    d->at++;
    driver_read_next(d);
}

/* The next backend from `at` on that there is. */
static void driver_read_next(struct local_driver *d)
{
    while (d->at < d->to->count && !d->to->found[d->at].backend.exists)
        d->at++;
    if (d->at == d->to->count) {
        d->request = local_command(d->options.helper, LOCAL_SOCKET_STATS, "show info", driver_read_on_info, d);
        return;
    }
    cleanup(mem_free_ptr) char *command = mem_printf("show servers state %s", d->to->names[d->at]);
    d->request = local_command(d->options.helper, LOCAL_SOCKET_STATS, command, driver_read_on_servers, d);
}

/* ---- what it serves: `show info`, and then its proxies ---- */

static void driver_served_tell(struct local_driver *d, const struct error *err)
{
    struct served s = d->served;
    d->served = (struct served){0};
    d->base.events->served_told(d->base.arg, err == NULL ? &s : NULL, err);
    served_fini(&s);
}

/* Where the helper is gone nothing is known of HAProxy; else HAProxy is what does not answer. */
static void driver_served_unanswered(struct local_driver *d, const struct local_answer *a)
{
    struct error err = {0};
    served_fini(&d->served);
    if (a->status == LOCAL_LOST)
        (void)error_set(&err, ERROR_RETRY, "%s", a->message);
    driver_served_tell(d, err.kind != ERROR_NONE ? &err : NULL);
}

static void driver_served_on_stat(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct error err = {0};
    d->request = NULL;
    if (a->status != LOCAL_OK || a->len == 0) {
        driver_served_unanswered(d, a);
        return;
    }
    bool read = cli_stat_read(&d->served, a->data, &err) == 0;
    if (!read)
        served_fini(&d->served);
    driver_served_tell(d, read ? NULL : &err);
}

static void driver_served_on_info(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct cli_info info;
    struct error err = {0};
    d->request = NULL;
    if (a->status != LOCAL_OK || a->len == 0) {
        driver_served_unanswered(d, a);
    } else if (cli_info_read(&info, a->data, &err) != 0) {
        driver_served_tell(d, &err);
    } else {
        d->served = (struct served){.answers = true, .pid = info.pid, .uptime_s = info.uptime_s, .version = -1};
        d->request = local_command(d->options.helper, LOCAL_SOCKET_STATS,
                                   d->served_servers ? CLI_STAT_SERVERS : CLI_STAT, driver_served_on_stat, d);
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
    d->served_servers = servers;
    served_fini(&d->served);
    if (d->base.runtime)
        d->request = local_command(d->options.helper, LOCAL_SOCKET_STATS, "show info", driver_served_on_info, d);
    else
        local_driver_tell(d, driver_served_tell_none);
}

/* ---- life ---- */

void local_driver_read_init(struct local_driver *d, struct event_base *base)
{
    timer_init(&d->turn, base, driver_read_ask_turn, d);
}
