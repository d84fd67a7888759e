#include "haproxy/map_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

#define BLANKS " \t"
#define ENDS "\r\n" /* of a value; what is behind a CR is nothing */

void map_entries_fini(struct map_entries *m)
{
    free(m->list);
    *m = (struct map_entries){0};
}

void map_entries_add(struct map_entries *m, const struct map_entry *e)
{
    m->list = mem_one_more(m->list, m->count, sizeof(*m->list));
    m->list[m->count++] = *e;
}

void map_entries_read(struct map_entries *m, const char *text)
{
    for (const char *line = text; *line != '\0';) {
        struct map_entry e = {.key = line + strspn(line, BLANKS)};
        e.key_len = strcspn(e.key, BLANKS ENDS);
        e.value = e.key + e.key_len;
        e.value += strspn(e.value, BLANKS);
        e.value_len = strcspn(e.value, ENDS);
        while (e.value_len > 0 && strchr(BLANKS, e.value[e.value_len - 1]) != NULL)
            e.value_len--;
        if (*line != '#' && e.key_len > 0)
            map_entries_add(m, &e);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
}

static int map_text_order(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t len = a_len < b_len ? a_len : b_len;
    int order = len > 0 ? memcmp(a, b, len) : 0;
    return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

int map_entry_order_of_keys(const void *a, const void *b)
{
    const struct map_entry *x = a, *y = b;
    return map_text_order(x->key, x->key_len, y->key, y->key_len);
}

int map_entry_order(const void *a, const void *b)
{
    const struct map_entry *x = a, *y = b;
    int order = map_entry_order_of_keys(a, b);
    return order != 0 ? order : map_text_order(x->value, x->value_len, y->value, y->value_len);
}

void map_entries_sort(struct map_entries *m, int (*order)(const void *, const void *))
{
    bool sorted = true; /* which takes a tenth of the time to see, and most files are */
    for (size_t i = 1; i < m->count && sorted; i++)
        sorted = order(&m->list[i - 1], &m->list[i]) <= 0;
    if (!sorted)
        qsort(m->list, m->count, sizeof(*m->list), order);
}

bool map_walk_next(struct map_walk *w, const struct map_entry **ret_a, const struct map_entry **ret_b)
{
    const struct map_entry *a = w->at_a < w->a->count ? &w->a->list[w->at_a] : NULL;
    const struct map_entry *b = w->at_b < w->b->count ? &w->b->list[w->at_b] : NULL;
    if (a == NULL && b == NULL)
        return false;
    int order = a == NULL ? 1 : b == NULL ? -1 : map_entry_order_of_keys(a, b);
    *ret_a = order <= 0 ? a : NULL;
    *ret_b = order >= 0 ? b : NULL;
    w->at_a += order <= 0;
    w->at_b += order >= 0;
    return true;
}

bool map_entries_same(const struct map_entries *a, const struct map_entries *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++)
        same = map_entry_order(&a->list[i], &b->list[i]) == 0;
    return same;
}

/* ---- two files of a map ---- */

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

void map_text_compare(const char *now, const char *next, struct map_changes *ret)
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

bool map_text_grow(const char *now, const char *next, struct buf *ret)
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
