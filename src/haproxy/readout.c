#include "haproxy/readout.h"

#include <stdlib.h>

#include "base/mem.h"
#include "haproxy/cfg/content.h"

void readout_init(struct readout *o, const char *const *names, size_t count)
{
    *o = (struct readout){.names = names, .count = count, .worker_pid = -1};
    o->found = mem_array(count, sizeof(o->found[0]));
    for (size_t i = 0; i < count; i++) {
        backend_init(&o->found[i].backend);
        runtime_init(&o->found[i].runtime);
    }
}

void readout_let_file_go(struct readout *o, bool keep)
{
    if (o->file != NULL || !keep) {
        cfg_content_unref(o->before);
        o->before = keep ? cfg_content_ref(o->file) : NULL;
    }
    cfg_content_unref(o->file);
    o->file = NULL;
}

static void readout_forget_configuration(struct readout *o)
{
    readout_let_file_go(o, true);
    mem_free_all(o->file_problem, o->defaults_problem);
    o->file_problem = o->defaults_problem = NULL;
    for (size_t i = 0; i < o->count; i++) {
        backend_fini(&o->found[i].backend);
        o->found[i].as_last = false;
        error_clear(&o->found[i].unreadable);
    }
}

void readout_read_at(struct readout *o, int64_t version)
{
    o->version = version;
    for (size_t i = 0; i < o->count; i++)
        o->found[i].backend.version = version;
}

void readout_as_last(struct reading *r, int64_t version)
{
    r->as_last = true;
    r->backend.exists = r->last->exists;
    r->backend.version = version;
}

const struct backend *readout_backend(const struct reading *r)
{
    return r->as_last ? r->last : &r->backend;
}

void readout_begin_configuration(struct readout *o)
{
    readout_forget_configuration(o);
    for (size_t i = 0; i < o->count; i++)
        o->found[i].backend.name = mem_strdup(o->names[i]);
    o->version = -1;
    o->outdated = o->split = o->loaded = o->unloaded = false;
}

void readout_begin(struct readout *o)
{
    readout_begin_configuration(o);
    for (size_t i = 0; i < o->count; i++)
        runtime_fini(&o->found[i].runtime);
    o->worker_pid = o->worker_uptime_s = -1;
    o->worker_silent = false;
}

void readout_fini(struct readout *o)
{
    readout_forget_configuration(o);
    for (size_t i = 0; i < o->count; i++)
        runtime_fini(&o->found[i].runtime);
    readout_let_file_go(o, false);
    free(o->found);
    o->found = NULL;
    o->count = 0;
}
