/*
 * The files beside the configuration, each kind in a folder of the helper's: each step of haproxy/storage_machine as a
 * request to the helper. The list of what was put there is the one that the driver of a Data Plane API keeps, in the same place.
 */
#include "haproxy/local/driver_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"

static void driver_store_on_answer(void *arg, const struct local_answer *a);

static void driver_store_tell(struct driver *base)
{
    const struct stored news = local_driver_of(base)->store.machine.news;
    base->events->stored(base->arg, &news);
}

static void driver_store_perform(struct local_driver *d, struct storage_step step)
{
    struct local_helper *h = d->options.helper;
    switch (step.state) {
    case STORAGE_LOCK:
        d->request = local_lock_config(h, driver_store_on_answer, d);
        break;
    case STORAGE_READ_LIST:
    case STORAGE_READ_FILE:
        d->request = local_read_folder_file(h, step.place, step.stored, driver_store_on_answer, d);
        break;
    case STORAGE_ANNOUNCE:
    case STORAGE_WRITE_LIST:
    case STORAGE_WRITE:
        if (step.len > 0 || step.state == STORAGE_WRITE)
            d->request = local_put_file(h, step.place, step.stored, step.bytes, step.len, driver_store_on_answer, d);
        else /* a list of nothing */
            d->request = local_delete_file(h, step.place, step.stored, driver_store_on_answer, d);
        break;
    case STORAGE_DELETE:
        d->request = local_delete_file(h, step.place, step.stored, driver_store_on_answer, d);
        break;
    case STORAGE_RUNNING:
        local_driver_store_run(d);
        break;
    case STORAGE_DONE:
        local_driver_tell(d, driver_store_tell);
        break;
    case STORAGE_READ_NAMES: /* each file is read */
    case STORAGE_IDLE:
        break;
    }
}

/* A link or a fifo is no file that the daemon put there. */
static enum storage_outcome driver_store_outcome(const struct local_answer *a)
{
    if (a->status == LOCAL_OK)
        return STORAGE_FINE;
    if (a->status == LOCAL_FAILED && (a->error_number == ENOENT || a->error_number == ENOTDIR))
        return STORAGE_NONE;
    if (a->status == LOCAL_FAILED && (a->error_number == ELOOP || a->error_number == EINVAL))
        return STORAGE_OTHER;
    return a->status == LOCAL_LOCKED ? STORAGE_IS_LOCKED : STORAGE_FAILED;
}

static void driver_store_on_answer(void *arg, const struct local_answer *a)
{
    struct local_driver *d = arg;
    struct storage_reply r = {
        .outcome = driver_store_outcome(a), .bytes = a->data, .len = a->len, .retry_after_ms = -1};
    d->request = NULL;
    if (r.outcome != STORAGE_FINE) {
        r.result = local_driver_failed(d, a, false, &r.error);
        (void)error_prefix(&r.error, "files of the configuration");
    }
    driver_store_perform(d, storage_machine_answer(&d->store.machine, &r));
}

void local_driver_store_end(struct local_driver *d)
{
    driver_store_perform(d, storage_machine_end(&d->store.machine));
}

void local_driver_store(struct driver *base, const struct storage_request *request)
{
    struct local_driver *d = local_driver_of(base);
    struct storage_request r = *request;
    if (r.foresight == NULL)
        r.config = d->file;
    if (r.part != STORAGE_CHECK) { /* what `haproxy -c` took, it took with the files that there were */
        cfg_content_unref(d->checked);
        d->checked = NULL;
    }
    local_driver_store_run_clear(&d->store.run);
    driver_store_perform(d, storage_machine_start(&d->store.machine, &r));
}

void local_driver_store_init(struct local_driver *d)
{
    storage_machine_init(&d->store.machine, false);
    if (d->options.commands == NULL)
        d->store.machine.no_runtime = "there is no socket for runtime commands";
    for (size_t i = 0; i < STORAGE_KINDS && d->options.folders != NULL; i++)
        d->store.folders[i] = mem_strdup(d->options.folders[i]);
}

void local_driver_store_fini(struct local_driver *d)
{
    storage_machine_fini(&d->store.machine);
    local_driver_store_run_clear(&d->store.run);
    for (size_t i = 0; i < STORAGE_KINDS; i++)
        free(d->store.folders[i]);
}
