#include "services/notes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define PAUSED SERVICES_OWN_PREFIX "paused"

const char *service_note_rest(const char *annotation, const char *prefix, bool *ret_own)
{
    *ret_own = str_has_prefix(annotation, SERVICES_OWN_PREFIX);
    if (*ret_own)
        return str_eq(annotation, PAUSED) ? NULL : annotation + strlen(SERVICES_OWN_PREFIX);
    size_t len = prefix != NULL ? strlen(prefix) : 0;
    return len > 0 && strncmp(annotation, prefix, len) == 0 && annotation[len] == '.' ? annotation + len + 1 : NULL;
}

static int order_of_ports(const struct service_note *n, const char *port, size_t len)
{
    int order = (n->port_len > len) - (n->port_len < len);
    return order != 0 ? order : strncmp(n->port, port, len);
}

static int order_of_notes(const void *a, const void *b)
{
    const struct service_note *x = a, *y = b;
    int order = order_of_ports(x, y->port, y->port_len);
    if (order == 0)
        order = strcmp(x->option, y->option);
    return order != 0 ? order : x->own - y->own;
}

void service_notes_init(struct service_notes *n, const struct annotated_service *s, const char *prefix)
{
    *n = (struct service_notes){.list = mem_array(s->annotation_count, sizeof(n->list[0]))};
    for (size_t i = 0; i < s->annotation_count; i++) {
        bool own;
        const char *rest = service_note_rest(s->annotations[i].name, prefix, &own);
        const char *dot = rest != NULL ? strrchr(rest, '.') : NULL;
        if (rest != NULL)
            n->list[n->count++] = (struct service_note){.annotation = &s->annotations[i],
                                                        .port = rest,
                                                        .option = dot != NULL ? dot + 1 : rest,
                                                        .port_len = dot != NULL ? (size_t)(dot - rest) : 0,
                                                        .own = own};
    }
    if (n->count > 0)
        qsort(n->list, n->count, sizeof(n->list[0]), order_of_notes);
}

void service_notes_fini(struct service_notes *n)
{
    free(n->list);
    *n = (struct service_notes){0};
}

struct service_note *service_notes_of(const struct service_notes *n, const char *port, size_t *ret_count)
{
    size_t first = 0, end = n->count, len = strlen(port);
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (order_of_ports(&n->list[middle], port, len) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    while (end < n->count && order_of_ports(&n->list[end], port, len) == 0)
        end++;
    *ret_count = end - first;
    return n->list + first;
}

const struct object_annotation *service_notes_find(const struct service_notes *n, const char *port, const char *option)
{
    size_t count;
    const struct object_annotation *found = NULL;
    const struct service_note *of = service_notes_of(n, port, &count);
    for (size_t i = 0; i < count; i++)
        if (str_eq(of[i].option, option))
            found = of[i].annotation;
    return found;
}
