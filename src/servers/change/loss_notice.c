#include "servers/change/loss_notice.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "servers/desired/desired.h"

void loss_notice_init(struct loss_notice *n, const struct desired *desired)
{
    *n = (struct loss_notice){.desired = desired, .announced = mem_array(desired->skip_count, sizeof(n->announced[0]))};
    for (size_t i = 0; i < desired->skip_count; i++)
        if (desired->skips[i].announced && desired->skips[i].server != NULL)
            n->announced[n->count++] = desired->skips[i].server;
    if (n->count > 1)
        qsort(n->announced, n->count, sizeof(n->announced[0]), str_order);
}

void loss_notice_fini(struct loss_notice *n)
{
    free(n->announced);
    *n = (struct loss_notice){.count = 0};
}

bool loss_notice_announced(const struct loss_notice *n, const char *server)
{
    return n->count > 0 && bsearch(&server, n->announced, n->count, sizeof(n->announced[0]), str_order) != NULL;
}

bool loss_notice_returned(const void *notice, const char *server)
{
    const struct loss_notice *n = notice;
    return desired_find(n->desired, server) != NULL || loss_notice_announced(n, server);
}
