/* Whether what commands changed is what runs: read back, backend by backend. */
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/drift.h"
#include "haproxy/local/driver_internal.h"

#define VERIFY_READS 6
#define VERIFY_AGAIN_MS 10u

static void driver_verify_read(void *driver);

static void driver_verify_end(struct local_driver *d, const char *why)
{
    d->verify.changes = NULL;
    d->verify.ended(d, why);
}

/* The first change behind those of the backend in hand; the number of all: there is none. */
static size_t driver_verify_next(const struct local_verify *v)
{
    size_t i = v->at;
    while (i < v->changes->count && str_eq(v->changes->list[i]->backend->name, v->changes->list[v->at]->backend->name))
        i++;
    return i;
}

/* What of the backend in hand is not what runs. Allocates; NULL: nothing. *ret_comes: it may come about yet. */
static char *driver_verify_problem(const struct local_verify *v, const struct runtime *r, bool *ret_comes)
{
    for (size_t i = v->at, end = driver_verify_next(v); i < end; i++) {
        const struct change *c = v->changes->list[i];
        cleanup(mem_free_ptr) char *problem = drift_of_change(c, runtime_find(r, c->server->name));
        *ret_comes = (c->fields & (SERVER_ADDRESS | SERVER_PORT)) != 0;
        if (problem != NULL)
            return mem_printf("backend %s: server %s: %s", c->backend->name, c->server->name, problem);
    }
    return NULL;
}

static void driver_verify_on_read(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_verify *v = &d->verify;
    cleanup(cli_servers_fini) struct cli_servers all = {0};
    cleanup(runtime_fini) struct runtime running = {0};
    struct error err = {0};
    bool comes = false;
    d->request = NULL;
    if (a->status != LOCAL_OK || cli_servers_init(&all, a->data, &err) != 0) {
        driver_verify_end(d, a->status != LOCAL_OK ? a->message : err.message);
        return;
    }
    running.servers = mem_array(all.count, sizeof(running.servers[0]));
    for (size_t i = 0; i < all.count; i++)
        local_driver_take_server(&running.servers[running.count++], &all.servers[i]);
    runtime_sort(&running);
    cleanup(mem_free_ptr) char *problem = driver_verify_problem(v, &running, &comes);
    if (problem != NULL && comes && ++v->reads < VERIFY_READS) {
        timer_set(&v->again, VERIFY_AGAIN_MS << v->reads); /* from 3.0 on a task of its own brings addresses about */
        return;
    }
    v->at = driver_verify_next(v);
    v->reads = 0;
    if (problem != NULL || v->at == v->changes->count)
        driver_verify_end(d, problem);
    else
        driver_verify_read(d);
}

static void driver_verify_read(void *driver)
{
    struct local_driver *d = driver;
    const struct local_verify *v = &d->verify;
    cleanup(mem_free_ptr) char *command = mem_printf("show servers state %s", v->changes->list[v->at]->backend->name);
    d->request = local_command(d->options.helper, LOCAL_SOCKET_STATS, command, driver_verify_on_read, d);
}

void local_driver_verify(struct local_driver *d, const struct changes *changes,
                         void (*ended)(struct local_driver *d, const char *why))
{
    d->verify.changes = changes;
    d->verify.ended = ended;
    d->verify.at = 0;
    d->verify.reads = 0;
    if (changes->count > 0)
        driver_verify_read(d);
    else
        driver_verify_end(d, NULL);
}

void local_driver_verify_init(struct local_driver *d, struct event_base *base)
{
    timer_init(&d->verify.again, base, driver_verify_read, d);
}

void local_driver_verify_cancel(struct local_driver *d)
{
    timer_cancel(&d->verify.again);
}
