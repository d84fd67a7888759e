#include "cli/doctor_local/doctor_local_facts.h"

#include <stdlib.h>

static void facts_free_owner(struct local_owner *o)
{
    free(o->user);
    free(o->group);
}

static void facts_free_file(struct local_file_facts *f)
{
    facts_free_owner(&f->owner);
    facts_free_owner(&f->folder_owner);
    free(f->real);
    free(f->link);
    free(f->folder);
    free(f->lock);
}

static void facts_free_run(struct local_run *r)
{
    free(r->problem);
    free(r->out);
}

static void facts_free_socket(struct local_socket_facts *s)
{
    facts_free_owner(&s->owner);
    free(s->problem);
    free(s->level);
}

static void facts_free_list(char **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

void local_facts_fini(struct local_facts *f)
{
    free(f->self.user);
    free(f->self.group);
    facts_free_file(&f->file);
    free(f->global.chroot);
    facts_free_list(f->global.sockets, f->global.socket_count);
    facts_free_list(f->global.variables, f->global.variable_count);
    buf_wipe(&f->environment);
    buf_wipe(&f->shown_environment);
    free(f->program);
    facts_free_run(&f->version);
    facts_free_run(&f->check);
    facts_free_socket(&f->master);
    facts_free_socket(&f->stats);
    cli_processes_fini(&f->processes);
    free(f->reload_program);
    *f = (struct local_facts){0};
}
