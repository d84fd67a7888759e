#include "haproxy/change.h"

#include "base/mem.h"

char *change_text(const struct change *c)
{
    static const char *const doing[] = {[CHANGE_MAKE_BACKEND] = "create backend",
                                        [CHANGE_SET_BACKEND] = "change backend",
                                        [CHANGE_SET_SERVER] = "change server",
                                        [CHANGE_ADD_SERVER] = "add server",
                                        [CHANGE_REMOVE_SERVER] = "remove server"};
    return mem_printf("%s %s", doing[c->kind], c->server != NULL ? c->server->name : c->backend->name);
}
