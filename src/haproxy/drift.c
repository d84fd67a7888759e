#include "haproxy/drift.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/backend.h"
#include "haproxy/change.h"
#include "haproxy/runtime.h"
#include "model/address.h"

#define PROBLEMS_SHOWN 3

/* A line without a port says nothing about it. */
static char *place_problem(const struct backend_server *line, const struct runtime_server *is)
{
    if (is->unresolved && line->address != NULL && str_ip_family(line->address) != 0)
        return mem_strdup("HAProxy has no address for it");
    if (str_eq(line->address, is->address) && (line->port == 0 || line->port == is->port))
        return NULL;
    if (line->address == NULL || is->address == NULL || str_ip_family(line->address) == 0 ||
        str_ip_family(is->address) == 0)
        return NULL;
    if (address_eq(line->address, is->address) && (line->port == 0 || line->port == is->port))
        return NULL;
    cleanup(mem_free_ptr) char *runs = str_host_port(is->address, is->port);
    cleanup(mem_free_ptr) char *wanted = str_host_port(line->address, line->port);
    return mem_printf("HAProxy runs it at %s, not at %s", runs, wanted);
}

char *drift_of_server(const struct backend_server *line, unsigned fields, const struct runtime_server *is)
{
    bool set = (fields & SERVER_MAINTENANCE) != 0;
    if (set && line->maintenance && is->admin != RUNTIME_MAINT && !is->unresolved)
        return mem_printf("HAProxy has it in %s, not in maint", runtime_admin_name(is->admin));
    if (set && !line->maintenance && is->admin == RUNTIME_MAINT)
        return mem_strdup("HAProxy still has it in maint");
    return place_problem(line, is);
}

char *drift_of_change(const struct change *c, const struct runtime_server *is)
{
    bool adds = c->kind == CHANGE_ADD_SERVER;
    if (c->kind == CHANGE_REMOVE_SERVER)
        return is == NULL || is->admin == RUNTIME_MAINT ? NULL : mem_strdup("HAProxy still runs it");
    if (is == NULL)
        return mem_strdup("HAProxy does not run it");
    if ((adds || (c->fields & SERVER_MAINTENANCE)) && c->server->maintenance != (is->admin == RUNTIME_MAINT))
        return mem_printf("HAProxy has it in %s", runtime_admin_name(is->admin));
    if (adds && is->unchecked)
        return mem_strdup("HAProxy does not check its health");
    bool weighs = (adds || (c->fields & SERVER_WEIGHT)) && c->server->weight >= 0 && is->weight >= 0;
    if (weighs && c->server->weight != is->weight)
        return mem_printf("HAProxy has its weight at %d, not at %d", is->weight, c->server->weight);
    return adds || (c->fields & (SERVER_ADDRESS | SERVER_PORT)) ? place_problem(c->server, is) : NULL;
}

char *drift_of_changes(const struct changes *all, size_t at, const struct runtime *r, size_t *ret_next, bool *ret_comes)
{
    const char *backend = all->list[at]->backend->name;
    char *first = NULL;
    size_t i = at;
    *ret_comes = false;
    for (; i < all->count && str_eq(all->list[i]->backend->name, backend); i++) {
        const struct change *c = all->list[i];
        cleanup(mem_free_ptr) char *problem =
            first == NULL ? drift_of_change(c, runtime_find(r, c->server->name)) : NULL;
        if (problem == NULL)
            continue;
        first = mem_printf("backend %s: server %s: %s", backend, c->server->name, problem);
        *ret_comes = (c->fields & (SERVER_ADDRESS | SERVER_PORT)) != 0;
    }
    *ret_next = i;
    return first;
}

/* ---- the whole backend ---- */

static void drift_add(struct text_list *p, const char *server, const char *what)
{
    if (text_list_next(p))
        buf_printf(&p->text, "server %s: %s", server, what);
}

void drift_places(const struct backend *file, const struct runtime *r, drift_manages *manages, const void *arg,
                  struct changes *ret)
{
    for (size_t i = 0, at = 0; r->readable && i < file->server_count; i++) {
        const struct backend_server *line = &file->servers[i];
        const struct runtime_server *is = runtime_find_next(r, line->name, &at);
        cleanup(mem_free_ptr) char *moved = is != NULL && manages(arg, line) ? place_problem(line, is) : NULL;
        const struct change c = {
            .kind = CHANGE_SET_SERVER, .backend = file, .server = line, .fields = SERVER_ADDRESS | SERVER_PORT};
        if (moved != NULL && line->port != 0)
            changes_add(ret, &c);
    }
}

static void compare_rows(const struct backend *file, const struct runtime *r, struct text_list *p)
{
    cleanup(mem_free_ptr) const char **names = mem_array(file->server_count, sizeof(names[0]));
    for (size_t i = 0; i < file->server_count; i++)
        names[i] = file->servers[i].name;
    if (file->server_count > 1)
        qsort(names, file->server_count, sizeof(names[0]), str_order);
    for (size_t i = 0, at = 0; i < r->count; i++) { /* both in the order of their names */
        const char *name = r->servers[i].name;
        while (at < file->server_count && strcmp(names[at], name) < 0)
            at++;
        bool has_line = at < file->server_count && strcmp(names[at], name) == 0;
        if (!has_line && backend_find_template(file, name) == NULL)
            drift_add(p, name, "HAProxy runs it, haproxy.cfg has no such line");
    }
}

char *drift_of_backend(const struct backend *file, const struct runtime *r, drift_manages *manages, const void *arg)
{
    struct text_list p = {.between = "; ", .max = PROBLEMS_SHOWN};
    bool hidden = false; /* a line that the API does not show, which may make any server */
    if (!file->exists || !r->readable)
        return NULL;
    for (size_t i = 0, at = 0; i < file->server_count; i++) {
        const struct backend_server *line = &file->servers[i];
        const struct runtime_server *is = runtime_find_next(r, line->name, &at);
        cleanup(mem_free_ptr) char *moved = is != NULL && manages(arg, line) ? place_problem(line, is) : NULL;
        if (is == NULL || moved != NULL)
            drift_add(&p, line->name, is == NULL ? "HAProxy does not run it" : moved);
    }
    for (size_t i = 0; i < file->unsupported_count; i++)
        hidden = hidden || !file->unsupported[i].only_shown;
    if (!hidden)
        compare_rows(file, r, &p);
    cleanup(mem_free_ptr) char *what = text_list_take(&p);
    return what != NULL ? mem_printf("backend %s: %s", file->name, what) : NULL;
}
