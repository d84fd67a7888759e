#include "haproxy/dataplane/transaction_steps.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/codec.h"

#define BACKENDS "/configuration/backends"

struct step_list {
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

/* A backend that is made comes with its servers in one request: nothing is there that this could take away, and 500 of
 * them one after the other take the API more than ten times as long. How many: those that follow it in the list. */
static size_t servers_made_with(const struct change *c, size_t count)
{
    size_t n = 1;
    if (c->kind != CHANGE_MAKE_BACKEND || goes_by_order(c->settings.balance))
        return 0;
    while (n < count && c[n].kind == CHANGE_ADD_SERVER && c[n].backend == c->backend)
        n++;
    return n - 1;
}

static int add_backend(struct step_list *l, const struct change *c, size_t with, struct error *err)
{
    cleanup(buf_fini) struct buf body = {0};
    cleanup(mem_free_ptr) const struct backend_server **servers = mem_array(with, sizeof(servers[0]));
    for (size_t i = 0; i < with; i++)
        servers[i] = c[1 + i].server;
    if (codec_write_backend(c->backend, &c->settings, with > 0 ? servers : NULL, with, &body, err) != 0)
        return -1;
    cleanup(mem_free_ptr) char *name = str_url_encode(c->backend->name);
    if (with > 0)
        add_step(l, "POST", mem_strdup(BACKENDS "?full_section=true"), buf_take(&body),
                 mem_printf("create backend %s with its servers (%zu)", c->backend->name, with));
    else if (c->kind == CHANGE_MAKE_BACKEND)
        add_step(l, "POST", mem_strdup(BACKENDS), buf_take(&body), change_text(c));
    else
        add_step(l, "PUT", mem_printf(BACKENDS "/%s", name), buf_take(&body), change_text(c));
    return 0;
}

static int add_server(struct step_list *l, const struct change *c, struct error *err)
{
    cleanup(mem_free_ptr) char *backend = str_url_encode(c->backend->name), *name = str_url_encode(c->server->name);
    cleanup(buf_fini) struct buf body = {0};
    if (c->kind != CHANGE_REMOVE_SERVER && codec_write_server(c->server, &body, err) != 0)
        return -1;
    if (c->kind == CHANGE_ADD_SERVER)
        add_step(l, "POST", mem_printf(BACKENDS "/%s/servers", backend), buf_take(&body), change_text(c));
    else if (c->kind == CHANGE_SET_SERVER)
        add_step(l, "PUT", mem_printf(BACKENDS "/%s/servers/%s", backend, name), buf_take(&body), change_text(c));
    else
        add_step(l, "DELETE", mem_printf(BACKENDS "/%s/servers/%s", backend, name), NULL, change_text(c));
    return 0;
}

int transaction_steps_add(const struct change *changes, size_t change_count, struct transaction_step **steps,
                          size_t *count, struct error *err)
{
    struct step_list l = {.steps = mem_array(change_count, sizeof(*l.steps))};
    int status = 0;
    for (size_t i = 0; i < change_count && status == 0; i++) {
        size_t with = servers_made_with(&changes[i], change_count - i);
        status = changes[i].server != NULL ? add_server(&l, &changes[i], err) : add_backend(&l, &changes[i], with, err);
        i += with;
    }
    if (status != 0) {
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
