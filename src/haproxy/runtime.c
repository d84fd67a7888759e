#include "haproxy/runtime.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "model/address.h"
#include "haproxy/backend.h"

#define PROBLEMS_SHOWN 3

void runtime_init(struct runtime *r)
{
    *r = (struct runtime){.readable = false};
}

void runtime_server_fini(struct runtime_server *s)
{
    free(s->name);
    free(s->address);
    *s = (struct runtime_server){.weight = -1};
}

void runtime_fini(struct runtime *r)
{
    for (size_t i = 0; i < r->count; i++)
        runtime_server_fini(&r->servers[i]);
    free(r->servers);
    free(r->why);
    runtime_init(r);
}

static int runtime_name_order(const void *a, const void *b)
{
    return strcmp(((const struct runtime_server *)a)->name, ((const struct runtime_server *)b)->name);
}

void runtime_sort(struct runtime *r)
{
    if (r->count > 1)
        qsort(r->servers, r->count, sizeof(r->servers[0]), runtime_name_order);
}

static int compare_name(const void *name, const void *server)
{
    return strcmp(name, ((const struct runtime_server *)server)->name);
}

const struct runtime_server *runtime_find(const struct runtime *r, const char *name)
{
    return r->count > 0 ? bsearch(name, r->servers, r->count, sizeof(r->servers[0]), compare_name) : NULL;
}

const char *runtime_admin_name(enum runtime_admin a)
{
    static const char *const names[] = {
        [RUNTIME_READY] = "ready", [RUNTIME_DRAIN] = "drain", [RUNTIME_MAINT] = "maint"};
    return (size_t)a < array_len(names) ? names[a] : "invalid";
}

void runtime_set_admin(struct runtime_server *s, enum runtime_admin admin)
{
    if ((s->admin == RUNTIME_MAINT) != (admin == RUNTIME_MAINT))
        s->down = admin == RUNTIME_MAINT;
    s->admin = admin;
}

bool runtime_fails_check(const struct runtime_server *s)
{
    return s->down && s->admin != RUNTIME_MAINT;
}

/* ---- against the file ---- */

static char *place(const char *address, uint16_t port)
{
    bool v6 = strchr(address, ':') != NULL;
    return mem_printf("%s%s%s:%u", v6 ? "[" : "", address, v6 ? "]" : "", port);
}

/* A line without a port says nothing about it. */
static char *place_problem(const struct backend_server *line, const struct runtime_server *is)
{
    if (line->address == NULL || is->address == NULL || str_ip_family(line->address) == 0 ||
        str_ip_family(is->address) == 0)
        return NULL;
    if (address_eq(line->address, is->address) && (line->port == 0 || line->port == is->port))
        return NULL;
    cleanup(mem_free_ptr) char *runs = place(is->address, is->port), *wanted = place(line->address, line->port);
    return mem_printf("HAProxy runs it at %s, not at %s", runs, wanted);
}

char *runtime_server_problem(const struct backend_server *line, const struct runtime_server *is)
{
    if (line->maintenance && is->admin != RUNTIME_MAINT)
        return mem_printf("HAProxy has it in %s, not in maint", runtime_admin_name(is->admin));
    return place_problem(line, is);
}

/* ---- the whole backend ---- */

static void runtime_tell(struct text_list *p, const char *server, const char *what)
{
    if (text_list_next(p))
        buf_printf(&p->text, "server %s: %s", server, what);
}

static void look_at_lines(const struct backend *file, const struct runtime *r, runtime_manages *manages,
                          const void *arg, struct text_list *p)
{
    for (size_t i = 0; i < file->server_count; i++) {
        const struct backend_server *line = &file->servers[i];
        const struct runtime_server *is = runtime_find(r, line->name);
        if (is == NULL) {
            runtime_tell(p, line->name, "HAProxy does not have it");
            continue;
        }
        cleanup(mem_free_ptr) char *moved = manages(arg, line) ? place_problem(line, is) : NULL;
        if (moved != NULL)
            runtime_tell(p, line->name, moved);
    }
}

/* Such a line may make any server. */
static bool has_hidden_lines(const struct backend *file)
{
    for (size_t i = 0; i < file->unsupported_count; i++)
        if (!file->unsupported[i].only_shown)
            return true;
    return false;
}

static void look_at_rows(const struct backend *file, const struct runtime *r, struct text_list *p)
{
    cleanup(mem_free_ptr) const char **names = mem_array(file->server_count, sizeof(names[0]));
    for (size_t i = 0; i < file->server_count; i++)
        names[i] = file->servers[i].name;
    if (file->server_count > 1)
        qsort(names, file->server_count, sizeof(names[0]), str_order);
    for (size_t i = 0; i < r->count; i++) {
        const char *name = r->servers[i].name;
        bool has_line =
            file->server_count > 0 && bsearch(&name, names, file->server_count, sizeof(names[0]), str_order) != NULL;
        if (!has_line && backend_find_template(file, name) == NULL)
            runtime_tell(p, name, "HAProxy runs it, the file has no such line");
    }
}

char *runtime_problem(const struct backend *file, const struct runtime *r, runtime_manages *manages, const void *arg)
{
    struct text_list p = {.between = "; ", .max = PROBLEMS_SHOWN};
    if (!file->exists || !r->readable)
        return NULL;
    look_at_lines(file, r, manages, arg, &p);
    if (!has_hidden_lines(file))
        look_at_rows(file, r, &p);
    cleanup(mem_free_ptr) char *what = text_list_take(&p);
    return what != NULL ? mem_printf("backend %s: %s", file->name, what) : NULL;
}
