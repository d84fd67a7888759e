#include "servers/change/changes.h"

#include "base/mem.h"
#include "base/str.h"
#include "servers/change/diff.h"

struct change *changes_of(const struct backend *actual, const struct diff *d, size_t *ret_count)
{
    static const struct {
        enum diff_op op;
        enum change_kind kind;
    } order[] = {{DIFF_CHANGE, CHANGE_SET_SERVER}, {DIFF_ADD, CHANGE_ADD_SERVER}, {DIFF_REMOVE, CHANGE_REMOVE_SERVER}};
    struct change *list = mem_array(d->change_count + 1, sizeof(list[0]));
    size_t count = 0;
    if (d->create_backend || d->backend_change)
        list[count++] = (struct change){.kind = d->create_backend ? CHANGE_MAKE_BACKEND : CHANGE_SET_BACKEND,
                                        .backend = actual,
                                        .settings = d->settings};
    for (size_t o = 0; o < array_len(order); o++)
        for (size_t i = 0; i < d->change_count; i++)
            if (d->changes[i].op == order[o].op)
                list[count++] = (struct change){.kind = order[o].kind,
                                                .backend = actual,
                                                .server = &d->changes[i].server,
                                                .fields = d->changes[i].fields};
    *ret_count = count;
    return list;
}
