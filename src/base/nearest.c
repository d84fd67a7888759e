#include "base/nearest.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#define FAR 1000 /* more than two names of Kubernetes can differ in */

static size_t nearest_limit(const char *name)
{
    return 1 + strlen(name) / 4;
}

void nearest_init(struct nearest *n, const char *name)
{
    *n = (struct nearest){.name = name, .limit = nearest_limit(name), .most = NEAREST_SHOWN};
}

void nearest_init_all(struct nearest *n, const char *name)
{
    *n = (struct nearest){.name = name, .limit = FAR, .most = NEAREST_MAX};
}

void nearest_fini(struct nearest *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->list[i].name);
    n->count = 0;
}

/* Behind all that are as near. */
static void nearest_move_up(struct nearest *n, size_t at)
{
    struct near_name name = n->list[at];
    for (; at > 0 && n->list[at - 1].distance > name.distance; at--)
        n->list[at] = n->list[at - 1];
    n->list[at] = name;
}

void nearest_add(struct nearest *n, const char *name, size_t distance)
{
    if (distance > n->limit && n->most < NEAREST_MAX)
        return;
    for (size_t i = 0; i < n->count; i++) {
        if (!str_eq(n->list[i].name, name))
            continue;
        if (distance < n->list[i].distance)
            n->list[i].distance = distance;
        nearest_move_up(n, i);
        return;
    }
    size_t last = n->count;
    n->more += n->count >= n->most;
    if (n->count < n->most)
        n->count++;
    else if (distance < n->list[--last].distance)
        free(n->list[last].name);
    else
        return;
    n->list[last] = (struct near_name){mem_strdup(name), distance};
    nearest_move_up(n, last);
}

size_t nearest_distance(const struct nearest *n, const char *of)
{
    size_t d = str_distance(n->name, of, n->limit);
    bool within = !str_empty(n->name) && (strstr(of, n->name) != NULL || strstr(n->name, of) != NULL);
    return within && d > 1 ? 1 : d;
}

const char *nearest_name(const struct nearest *n)
{
    return n->count > 0 && n->list[0].distance <= nearest_limit(n->name) ? n->list[0].name : NULL;
}

char *nearest_question(const struct nearest *n)
{
    return nearest_name(n) != NULL ? mem_printf("; did you mean \"%s\"?", nearest_name(n)) : mem_strdup("");
}

char *nearest_text(const struct nearest *n)
{
    cleanup(buf_fini) struct buf out = {0};
    for (size_t i = 0; i < n->count; i++)
        buf_printf(&out, "%s%s", i > 0 ? ", " : "", n->list[i].name);
    if (n->more > 0 && n->most == NEAREST_MAX)
        buf_printf(&out, " and %zu more", n->more);
    return n->count > 0 ? buf_take(&out) : NULL;
}
