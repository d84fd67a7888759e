#include "servers/change/transaction_steps.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/codec.h"
#include "servers/change/diff.h"

#define BACKENDS "/configuration/backends"

struct step_list {
    const char *backend; /* percent-encoded */
    struct transaction_step *steps;
    size_t count;
};

/* Takes ownership of path, body (may be NULL) and what. */
static void add_step(struct step_list *l, const char *method, char *path, char *body, char *what)
{
    l->steps[l->count++] = (struct transaction_step){.method = method, .path = path, .body = body, .what = what};
}

/* With full_section, Data Plane APIs before 3.2.8 write the servers in an order of chance. Where HAProxy chooses by
 * their order or number, each HAProxy would choose another one. Not set: what the defaults section says, which is not
 * known. */
static bool goes_by_order(const char *balance)
{
    static const char *const others[] = {"roundrobin", "static-rr", "leastconn", "random"};
    for (size_t i = 0; i < array_len(others); i++)
        if (str_eq(balance, others[i]))
            return false;
    return true;
}

static size_t transaction_steps_count_new(const struct diff *d)
{
    size_t count = 0;
    for (size_t i = 0; i < d->change_count; i++)
        count += d->changes[i].op == DIFF_ADD;
    return count;
}

static const struct backend_server **new_servers(const struct diff *d)
{
    const struct backend_server **list = mem_array(d->change_count, sizeof(list[0]));
    size_t count = 0;
    for (size_t i = 0; i < d->change_count; i++)
        if (d->changes[i].op == DIFF_ADD)
            list[count++] = &d->changes[i].server;
    return list;
}

/* A backend that is made comes with its servers in one request: nothing is there that this could take away, and 500 of
 * them one after the other take the API more than ten times as long. */
static bool is_made_whole(const struct diff *d)
{
    return d->create_backend && transaction_steps_count_new(d) > 0 && !goes_by_order(d->settings.balance);
}

static int transaction_steps_add_backend(struct step_list *l, const struct backend *actual, const struct diff *d,
                                         struct error *err)
{
    cleanup(buf_fini) struct buf body = {0};
    bool whole = is_made_whole(d);
    if (!d->create_backend && !d->backend_change)
        return 0;
    cleanup(mem_free_ptr) const struct backend_server **servers = whole ? new_servers(d) : NULL;
    if (codec_write_backend(actual, &d->settings, servers, whole ? transaction_steps_count_new(d) : 0, &body, err) != 0)
        return -1;
    if (whole)
        add_step(l, "POST", mem_strdup(BACKENDS "?full_section=true"), buf_take(&body),
                 mem_printf("create backend %s with its servers (%zu)", actual->name, transaction_steps_count_new(d)));
    else if (d->create_backend)
        add_step(l, "POST", mem_strdup(BACKENDS), buf_take(&body), mem_printf("create backend %s", actual->name));
    else
        add_step(l, "PUT", mem_printf(BACKENDS "/%s", l->backend), buf_take(&body),
                 mem_printf("change backend %s", actual->name));
    return 0;
}

static int transaction_steps_add_server(struct step_list *l, const struct diff_change *c, struct error *err)
{
    cleanup(mem_free_ptr) char *name = str_url_encode(c->server.name);
    cleanup(buf_fini) struct buf body = {0};
    if (c->op != DIFF_REMOVE && codec_write_server(&c->server, &body, err) != 0)
        return -1;
    switch (c->op) {
    case DIFF_ADD:
        add_step(l, "POST", mem_printf(BACKENDS "/%s/servers", l->backend), buf_take(&body),
                 mem_printf("add server %s", c->server.name));
        break;
    case DIFF_CHANGE:
        add_step(l, "PUT", mem_printf(BACKENDS "/%s/servers/%s", l->backend, name), buf_take(&body),
                 mem_printf("change server %s", c->server.name));
        break;
    case DIFF_REMOVE:
        add_step(l, "DELETE", mem_printf(BACKENDS "/%s/servers/%s", l->backend, name), NULL,
                 mem_printf("remove server %s", c->server.name));
        break;
    }
    return 0;
}

/* Changes before additions before removals: at no point has the backend fewer servers than before or after. */
static int transaction_steps_add_servers(struct step_list *l, const struct diff *d, bool made_whole, struct error *err)
{
    static const enum diff_op order[] = {DIFF_CHANGE, DIFF_ADD, DIFF_REMOVE};
    for (size_t o = 0; o < array_len(order); o++) {
        if (made_whole && order[o] == DIFF_ADD)
            continue; /* they are there already */
        for (size_t i = 0; i < d->change_count; i++)
            if (d->changes[i].op == order[o] && transaction_steps_add_server(l, &d->changes[i], err) != 0)
                return -1;
    }
    return 0;
}

int transaction_steps_add(const struct backend *actual, const struct diff *d, struct transaction_step **steps,
                          size_t *count, struct error *err)
{
    cleanup(mem_free_ptr) char *backend = str_url_encode(actual->name);
    struct step_list l = {.backend = backend, .steps = mem_array(d->change_count + 1, sizeof(*l.steps))};
    if (transaction_steps_add_backend(&l, actual, d, err) != 0 ||
        transaction_steps_add_servers(&l, d, is_made_whole(d), err) != 0) {
        transaction_steps_free(l.steps, l.count);
        return -1;
    }
    if (l.count > 0) {
        *steps = mem_resize(*steps, *count + l.count, sizeof(**steps));
        memcpy(*steps + *count, l.steps, l.count * sizeof(*l.steps));
        *count += l.count;
    }
    free(l.steps);
    return 0;
}
