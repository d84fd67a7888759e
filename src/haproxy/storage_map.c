#include "haproxy/storage_map.h"

#include <stdlib.h>
#include <string.h>

#include "haproxy/map_text.h"

static bool map_has(const struct map_entries *m, const struct map_entry *e, int (*order)(const void *, const void *))
{
    return m->count > 0 && bsearch(e, m->list, m->count, sizeof(*m->list), order) != NULL;
}

/* By keys; of one key as they stand in the text. */
static int order_of_places(const void *a, const void *b)
{
    const struct map_entry *x = a, *y = b;
    int order = map_entry_order_of_keys(a, b);
    return order != 0 ? order : (x->key > y->key) - (x->key < y->key);
}

void storage_map_compare(const char *now, const char *next, struct map_changes *ret)
{
    cleanup(map_entries_fini) struct map_entries is = {0}, wanted = {0};
    *ret = (struct map_changes){0};
    map_entries_read(&is, now);
    map_entries_read(&wanted, next);
    map_entries_sort(&is, order_of_places);
    map_entries_sort(&wanted, order_of_places);
    struct map_walk walk = {.a = &is, .b = &wanted};
    const struct map_entry *from, *to;
    while (map_walk_next(&walk, &from, &to)) {
        ret->go += to == NULL;
        ret->come += from == NULL;
        ret->change += from != NULL && to != NULL && map_entry_order(from, to) != 0;
    }
}

bool storage_map_grow(const char *now, const char *next, struct buf *ret)
{
    cleanup(map_entries_fini) struct map_entries is = {0}, wanted = {0}, in_order = {0};
    bool kept = true;
    buf_clear(ret);
    map_entries_read(&is, now);
    map_entries_read(&wanted, next);
    map_entries_sort(&wanted, map_entry_order);
    for (size_t i = 0; i < is.count && kept; i++)
        kept = map_has(&wanted, &is.list[i], map_entry_order);
    if (kept)
        return true;
    map_entries_sort(&is, map_entry_order_of_keys);
    buf_add(ret, now);
    if (ret->len > 0 && ret->data[ret->len - 1] != '\n')
        buf_add(ret, "\n");
    map_entries_read(&in_order, next);
    for (size_t i = 0; i < in_order.count; i++) {
        const struct map_entry *e = &in_order.list[i];
        if (map_has(&is, e, map_entry_order_of_keys))
            continue;
        buf_add(ret, *e->key == '#' ? " " : ""); /* else it were a comment */
        buf_addn(ret, e->key, (size_t)(e->value + e->value_len - e->key));
        buf_add(ret, "\n");
    }
    return false;
}
