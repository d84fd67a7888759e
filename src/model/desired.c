#include "model/desired.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

void desired_init(struct desired *d)
{
    *d = (struct desired){.state = DESIRED_NOT_SYNCED};
}

void desired_fini(struct desired *d)
{
    for (size_t i = 0; i < d->server_count; i++) {
        free(d->servers[i].name);
        free(d->servers[i].address);
        free(d->servers[i].reason);
    }
    for (size_t i = 0; i < d->skip_count; i++) {
        free(d->skips[i].subject);
        free(d->skips[i].reason);
        free(d->skips[i].server);
    }
    free(d->servers);
    free(d->skips);
    free(d->problem);
    free(d->note);
    desired_init(d);
}

void desired_copy(struct desired *to, const struct desired *from)
{
    *to = *from;
    to->skips = NULL;
    to->skip_count = 0;
    to->problem = mem_strdup(from->problem);
    to->note = mem_strdup(from->note);
    to->servers = mem_array(from->server_count, sizeof(to->servers[0]));
    for (size_t i = 0; i < from->server_count; i++) {
        struct desired_server *s = &to->servers[i];
        *s = from->servers[i];
        s->name = mem_strdup(s->name);
        s->address = mem_strdup(s->address);
        s->reason = mem_strdup(s->reason);
    }
}

static bool server_eq(const struct desired_server *a, const struct desired_server *b)
{
    return a->port == b->port && a->state == b->state && a->weight == b->weight && str_eq(a->name, b->name) &&
           str_eq(a->address, b->address);
}

bool desired_eq(const struct desired *a, const struct desired *b)
{
    if (a->state != b->state || a->server_count != b->server_count || a->check_port != b->check_port ||
        a->paused != b->paused || !str_eq(a->problem, b->problem))
        return false;
    for (size_t i = 0; i < a->server_count; i++)
        if (!server_eq(&a->servers[i], &b->servers[i]))
            return false;
    return true;
}

static int compare_name(const void *name, const void *server)
{
    return strcmp(name, ((const struct desired_server *)server)->name);
}

const struct desired_server *desired_find(const struct desired *d, const char *server_name)
{
    return d->server_count > 0 ? bsearch(server_name, d->servers, d->server_count, sizeof(d->servers[0]), compare_name)
                               : NULL;
}

const struct desired_skip *desired_why_out(const struct desired *d, const char *server_name)
{
    const struct desired_skip *found = NULL;
    if (desired_find(d, server_name) != NULL)
        return NULL;
    /* Several places may have one server name: what is worth a warning says more. */
    for (size_t i = 0; i < d->skip_count; i++)
        if (str_eq(d->skips[i].server, server_name) && (found == NULL || (found->ordinary && !d->skips[i].ordinary)))
            found = &d->skips[i];
    return found;
}

static bool is_allowed(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == ':' || c == '-';
}

char *desired_server_name(const char *node_name)
{
    char *name = mem_strdup(node_name[0] != '\0' ? node_name : "_");
    for (char *c = name; *c != '\0'; c++)
        if (!is_allowed(*c))
            *c = '_';
    return name;
}
