/* What the running HAProxy serves: which process answers, its frontends, its backends. */
#include "haproxy/dataplane/codec.h"
#include "haproxy/dataplane/driver_internal.h"

static void driver_served_ask(struct dataplane_driver *d);

static const char *const served_paths[SERVED_STEPS] = {
    [SERVED_WORKER] = "/runtime/info",
    [SERVED_FRONTENDS] = "/stats/native?type=frontend",
    [SERVED_BACKENDS] = "/stats/native?type=backend",
    [SERVED_SERVERS] = "/stats/native?type=server",
};

static void driver_served_tell(struct dataplane_driver *d, const struct error *err)
{
    struct served s = d->served;
    d->served = (struct served){0};
    if (err == NULL)
        served_sort(&s);
    d->base.events->served_told(d->base.arg, err == NULL ? &s : NULL, err);
    served_fini(&s);
}

static int driver_served_take(struct dataplane_driver *d, const struct dataplane_answer *a, struct error *err)
{
    static const enum codec_served of[SERVED_STEPS] = {[SERVED_FRONTENDS] = CODEC_SERVED_FRONTENDS,
                                                       [SERVED_BACKENDS] = CODEC_SERVED_BACKENDS,
                                                       [SERVED_SERVERS] = CODEC_SERVED_SERVERS};
    struct codec_worker worker;
    if (d->serving != SERVED_WORKER)
        return codec_read_served(a->body, a->body_len, of[d->serving], &d->served, err);
    if (codec_read_worker(a->body, a->body_len, &worker, err) != 0)
        return -1;
    d->served = (struct served){.answers = true, .pid = worker.pid, .uptime_s = worker.uptime_s, .version = a->version};
    return 0;
}

/* An API that answers, with a 200 that has no process or with a 500, got none from HAProxy. */
static bool driver_served_is_silent(const struct dataplane_driver *d, const struct dataplane_answer *a)
{
    return a->error == NULL && (a->status == 200 ? d->serving == SERVED_WORKER : a->status == 500);
}

static void driver_served_on_answer(void *arg, const struct dataplane_answer *a)
{
    struct dataplane_driver *d = arg;
    struct error err = {0};
    if (dataplane_answer_check(a, &err) == 0 && driver_served_take(d, a, &err) == 0) {
        if (++d->serving < (d->serves_servers ? SERVED_STEPS : SERVED_SERVERS))
            driver_served_ask(d);
        else
            driver_served_tell(d, NULL);
        return;
    }
    served_fini(&d->served);
    driver_served_tell(d, driver_served_is_silent(d, a) ? NULL : &err);
}

static void driver_served_ask(struct dataplane_driver *d)
{
    dataplane_send(d->client, "GET", served_paths[d->serving], NULL, driver_served_on_answer, d);
}

void dataplane_driver_ask_served(struct driver *base, bool servers)
{
    struct dataplane_driver *d = dataplane_driver_of(base);
    d->serves_servers = servers;
    served_fini(&d->served);
    d->serving = SERVED_WORKER;
    driver_served_ask(d);
}
