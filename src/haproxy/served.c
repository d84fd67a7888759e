#include "haproxy/served.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static void served_list_fini(struct served_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->list[i].name);
    free(l->list);
}

void served_fini(struct served *s)
{
    served_list_fini(&s->frontends);
    served_list_fini(&s->backends);
    for (size_t i = 0; i < s->failures.count; i++) {
        const struct served_failure *f = &s->failures.list[i];
        mem_free_all(f->backend, f->server, f->check, f->detail);
    }
    free(s->failures.list);
    *s = (struct served){0};
}

static void served_add(struct served_list *l, struct served_proxy p)
{
    l->list = mem_one_more(l->list, l->count, sizeof(l->list[0]));
    l->list[l->count++] = p;
}

void served_add_frontend(struct served *s, const char *name, bool open)
{
    served_add(&s->frontends, (struct served_proxy){.name = mem_strdup(name), .open = open});
}

void served_add_backend(struct served *s, const char *name, unsigned up)
{
    served_add(&s->backends, (struct served_proxy){.name = mem_strdup(name), .up = up});
}

static void served_add_failure(struct served_failures *f, const char *backend, const char *server, const char *check,
                               const char *detail)
{
    f->list = mem_one_more(f->list, f->count, sizeof(f->list[0]));
    f->list[f->count++] =
        (struct served_failure){mem_strdup(backend), mem_strdup(server), mem_strdup(check), mem_strdup(detail)};
}

/* "* L4TOUT" is the last result while the next check runs; "DOWN 1/2" is on its way up. */
void served_add_server(struct served *s, const char *backend, const char *server, const char *status, const char *check,
                       const char *detail)
{
    if (status == NULL || !str_has_prefix(status, "DOWN"))
        return;
    if (check != NULL && str_has_prefix(check, "* "))
        check += 2;
    served_add_failure(&s->failures, backend, server, check != NULL ? check : "", detail != NULL ? detail : "");
}

const struct served_failure *served_failure_of(const struct served *s, const char *backend, const char *server)
{
    for (size_t i = 0; i < s->failures.count; i++)
        if (str_eq(s->failures.list[i].backend, backend) && str_eq(s->failures.list[i].server, server))
            return &s->failures.list[i];
    return NULL;
}

static int served_order(const void *a, const void *b)
{
    return strcmp(((const struct served_proxy *)a)->name, ((const struct served_proxy *)b)->name);
}

static void served_list_sort(struct served_list *l)
{
    if (l->count > 0)
        qsort(l->list, l->count, sizeof(l->list[0]), served_order);
}

void served_sort(struct served *s)
{
    served_list_sort(&s->frontends);
    served_list_sort(&s->backends);
}

static void served_list_copy(struct served_list *ret, const struct served_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        served_add(ret,
                   (struct served_proxy){mem_strdup(l->list[i].name), .open = l->list[i].open, .up = l->list[i].up});
}

void served_copy(struct served *ret, const struct served *s)
{
    struct served copy = {
        .answers = s->answers, .pid = s->pid, .uptime_s = s->uptime_s, .version = s->version, .lists = s->lists};
    served_list_copy(&copy.frontends, &s->frontends);
    served_list_copy(&copy.backends, &s->backends);
    for (size_t i = 0; i < s->failures.count; i++) {
        const struct served_failure *f = &s->failures.list[i];
        served_add_failure(&copy.failures, f->backend, f->server, f->check, f->detail);
    }
    served_fini(ret);
    *ret = copy;
}

static int served_name_order(const void *name, const void *proxy)
{
    return strcmp(name, ((const struct served_proxy *)proxy)->name);
}

const struct served_proxy *served_find(const struct served_list *l, const char *name)
{
    return l->count > 0 ? bsearch(name, l->list, l->count, sizeof(l->list[0]), served_name_order) : NULL;
}

unsigned served_up(const struct served *s, const char *backend)
{
    const struct served_proxy *p = served_find(&s->backends, backend);
    return p != NULL ? p->up : 0;
}
