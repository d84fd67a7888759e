#include "haproxy/change.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

char *change_text(const struct change *c)
{
    static const char *const doing[] = {[CHANGE_MAKE_BACKEND] = "create backend",
                                        [CHANGE_SET_BACKEND] = "change backend",
                                        [CHANGE_SET_SERVER] = "change server",
                                        [CHANGE_ADD_SERVER] = "add server",
                                        [CHANGE_REMOVE_SERVER] = "remove server"};
    return mem_printf("%s %s", doing[c->kind], c->server != NULL ? c->server->name : c->backend->name);
}

int change_can_be_set(const struct change *c, struct error *err)
{
    const unsigned can = SERVER_ADDRESS | SERVER_PORT | SERVER_WEIGHT | SERVER_MAINTENANCE;
    if (c->fields & ~can)
        return error_set(err, ERROR_INVALID, "its check or its PROXY protocol changes");
    if ((c->fields & (SERVER_ADDRESS | SERVER_PORT)) &&
        (str_ip_family(c->server->address) == 0 || c->server->port == 0))
        return error_set(err, ERROR_INVALID, "its address is a name, or without a port");
    return 0;
}

/* A change with what it points to. */
struct change_kept {
    struct change change; /* the first one: a struct change * of the list is one of it */
    struct backend backend;
    struct backend_server server;
    char *balance, *adv_check; /* of the settings */
};

void changes_add(struct changes *list, const struct change *c)
{
    struct change_kept *kept = mem_alloc(sizeof(*kept));
    *kept = (struct change_kept){.change = {.kind = c->kind, .fields = c->fields}};
    backend_init(&kept->backend);
    kept->backend.name = mem_strdup(c->backend->name);
    kept->change.backend = &kept->backend;
    if (c->kind == CHANGE_SET_BACKEND) {
        kept->backend.balance = mem_strdup(c->backend->balance);
        kept->backend.adv_check = mem_strdup(c->backend->adv_check);
        kept->backend.httpchk_params = c->backend->httpchk_params;
        kept->backend.default_send_proxy_v2 = c->backend->default_send_proxy_v2;
        kept->change.settings = c->settings;
        kept->change.settings.balance = kept->balance = mem_strdup(c->settings.balance);
        kept->change.settings.adv_check = kept->adv_check = mem_strdup(c->settings.adv_check);
    }
    if (c->server != NULL) {
        backend_server_copy(&kept->server, c->server);
        kept->change.server = &kept->server;
    }
    list->list = mem_one_more(list->list, list->count, sizeof(list->list[0]));
    list->list[list->count++] = &kept->change;
}

void changes_fini(struct changes *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct change_kept *kept = (struct change_kept *)(void *)list->list[i];
        backend_fini(&kept->backend);
        backend_server_fini(&kept->server);
        mem_free_all(kept->balance, kept->adv_check, kept);
    }
    free(list->list);
    *list = (struct changes){0};
}
