#include "haproxy/storage_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct map_line {
    const char *at;
    size_t key_len, len;
};

struct map_lines {
    struct map_line *list;
    size_t count;
};

static void map_lines_fini(struct map_lines *l)
{
    free(l->list);
}

/* Without blanks around; what is empty or a comment is none. */
static struct map_lines map_lines_of(const char *text)
{
    struct map_lines l = {0};
    size_t lines = 1;
    for (const char *c = text; *c != '\0'; c++)
        lines += *c == '\n';
    l.list = mem_array(lines, sizeof(*l.list));
    while (*text != '\0') {
        size_t whole = strcspn(text, "\n"), blank = strspn(text, " \t\r");
        const char *at = text + (blank < whole ? blank : whole);
        size_t len = (size_t)(text + whole - at);
        while (len > 0 && strchr(" \t\r", at[len - 1]) != NULL)
            len--;
        if (len > 0 && *at != '#') {
            size_t key = strcspn(at, " \t\r\n");
            l.list[l.count++] = (struct map_line){.at = at, .key_len = key < len ? key : len, .len = len};
        }
        text += whole + (text[whole] == '\n');
    }
    return l;
}

static int order_of_text(const char *a, size_t a_len, const char *b, size_t b_len)
{
    int order = memcmp(a, b, a_len < b_len ? a_len : b_len);
    return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

static int order_of_keys(const void *a, const void *b)
{
    const struct map_line *x = a, *y = b;
    return order_of_text(x->at, x->key_len, y->at, y->key_len);
}

static int order_of_lines(const void *a, const void *b)
{
    const struct map_line *x = a, *y = b;
    return order_of_text(x->at, x->len, y->at, y->len);
}

static bool map_lines_has(const struct map_lines *l, const struct map_line *line,
                          int (*order)(const void *, const void *))
{
    return l->count > 0 && bsearch(line, l->list, l->count, sizeof(*l->list), order) != NULL;
}

static void map_lines_sort(struct map_lines *l, int (*order)(const void *, const void *))
{
    if (l->count > 0)
        qsort(l->list, l->count, sizeof(*l->list), order);
}

bool storage_map_grow(const char *now, const char *next, struct buf *ret)
{
    cleanup(map_lines_fini) struct map_lines is = map_lines_of(now);
    cleanup(map_lines_fini) struct map_lines wanted = map_lines_of(next);
    bool kept = true;
    buf_clear(ret);
    map_lines_sort(&wanted, order_of_lines);
    for (size_t i = 0; i < is.count && kept; i++)
        kept = map_lines_has(&wanted, &is.list[i], order_of_lines);
    if (kept)
        return true;
    map_lines_sort(&is, order_of_keys);
    buf_add(ret, now);
    if (ret->len > 0 && ret->data[ret->len - 1] != '\n')
        buf_add(ret, "\n");
    cleanup(map_lines_fini) struct map_lines in_order = map_lines_of(next);
    for (size_t i = 0; i < in_order.count; i++) {
        if (map_lines_has(&is, &in_order.list[i], order_of_keys))
            continue;
        buf_addn(ret, in_order.list[i].at, in_order.list[i].len);
        buf_add(ret, "\n");
    }
    return false;
}
