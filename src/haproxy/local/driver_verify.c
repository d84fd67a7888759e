/* Whether what commands changed is what runs: read back, backend by backend. */
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/drift.h"
#include "haproxy/local/driver_internal.h"

static void driver_verify_read(void *driver);

static void driver_verify_end(struct local_driver *d, const char *why)
{
    d->verify.changes = NULL;
    d->verify.ended(d, why);
}

static void driver_verify_on_read(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct local_verify *v = &d->verify;
    cleanup(cli_servers_fini) struct cli_servers all = {0};
    cleanup(runtime_fini) struct runtime running = {0};
    struct error err = {0};
    size_t next;
    bool comes;
    d->request = NULL;
    if (a->status != LOCAL_OK || cli_servers_init(&all, a->data, &err) != 0) {
        driver_verify_end(d, a->status != LOCAL_OK ? a->message : err.message);
        return;
    }
    running.servers = mem_array(all.count, sizeof(running.servers[0]));
    for (size_t i = 0; i < all.count; i++)
        local_driver_take_server(&running.servers[running.count++], &all.servers[i]);
    runtime_sort(&running);
    cleanup(mem_free_ptr) char *problem = drift_of_changes(v->changes, v->at, &running, &next, &comes);
    if (problem != NULL && comes && ++v->reads <= DRIFT_READS_AGAIN) {
        timer_set(&v->again, DRIFT_AGAIN_MS(v->reads));
        return;
    }
    v->at = next;
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
