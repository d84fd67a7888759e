#include "haproxy/storage_map.h"

#include <stdlib.h>
#include <string.h>

#include "haproxy/map_text.h"

static int order_of_text(const char *a, size_t a_len, const char *b, size_t b_len)
{
    int order = memcmp(a, b, a_len < b_len ? a_len : b_len);
    return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

static int order_of_keys(const void *a, const void *b)
{
    const struct map_entry *x = a, *y = b;
    return order_of_text(x->key, x->key_len, y->key, y->key_len);
}

static int order_of_entries(const void *a, const void *b)
{
    const struct map_entry *x = a, *y = b;
    int order = order_of_keys(a, b);
    return order != 0 ? order : order_of_text(x->value, x->value_len, y->value, y->value_len);
}

static bool map_has(const struct map_entries *m, const struct map_entry *e, int (*order)(const void *, const void *))
{
    return m->count > 0 && bsearch(e, m->list, m->count, sizeof(*m->list), order) != NULL;
}

static void map_sort(struct map_entries *m, int (*order)(const void *, const void *))
{
    if (m->count > 0)
        qsort(m->list, m->count, sizeof(*m->list), order);
}

/* By keys; of one key as they stand in the text. */
static int order_of_places(const void *a, const void *b)
{
    const struct map_entry *x = a, *y = b;
    int order = order_of_keys(a, b);
    return order != 0 ? order : (x->key > y->key) - (x->key < y->key);
}

void storage_map_compare(const char *now, const char *next, struct map_changes *ret)
{
    cleanup(map_entries_fini) struct map_entries is = {0}, wanted = {0};
    *ret = (struct map_changes){0};
    map_entries_read(&is, now);
    map_entries_read(&wanted, next);
    map_sort(&is, order_of_places);
    map_sort(&wanted, order_of_places);
    for (size_t i = 0, k = 0; i < is.count || k < wanted.count;) {
        int order = i == is.count ? 1 : k == wanted.count ? -1 : order_of_keys(&is.list[i], &wanted.list[k]);
        ret->go += order < 0;
        ret->come += order > 0;
        ret->change += order == 0 && order_of_entries(&is.list[i], &wanted.list[k]) != 0;
        i += order <= 0;
        k += order >= 0;
    }
}

bool storage_map_grow(const char *now, const char *next, struct buf *ret)
{
    cleanup(map_entries_fini) struct map_entries is = {0}, wanted = {0}, in_order = {0};
    bool kept = true;
    buf_clear(ret);
    map_entries_read(&is, now);
    map_entries_read(&wanted, next);
    map_sort(&wanted, order_of_entries);
    for (size_t i = 0; i < is.count && kept; i++)
        kept = map_has(&wanted, &is.list[i], order_of_entries);
    if (kept)
        return true;
    map_sort(&is, order_of_keys);
    buf_add(ret, now);
    if (ret->len > 0 && ret->data[ret->len - 1] != '\n')
        buf_add(ret, "\n");
    map_entries_read(&in_order, next);
    for (size_t i = 0; i < in_order.count; i++) {
        const struct map_entry *e = &in_order.list[i];
        if (map_has(&is, e, order_of_keys))
            continue;
        buf_add(ret, *e->key == '#' ? " " : ""); /* else it were a comment */
        buf_addn(ret, e->key, (size_t)(e->value + e->value_len - e->key));
        buf_add(ret, "\n");
    }
    return false;
}
