/* What the running HAProxy serves: `show info`, and then its proxies. */
#include "haproxy/local/cli_stat.h"
#include "haproxy/local/driver_internal.h"

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
