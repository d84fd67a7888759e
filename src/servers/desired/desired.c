#include "servers/desired/desired.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorted.h"
#include "base/str.h"
#include "base/text_pool.h"
#include "servers/desired/desired_internal.h"

void desired_init(struct desired *d)
{
    *d = (struct desired){.state = DESIRED_NOT_SYNCED};
}

void desired_fini(struct desired *d)
{
    mem_free_all(d->servers, d->spares, d->skips, d->aliases, d->took_over, d->problem, d->note);
    text_pool_unref(d->texts);
    desired_init(d);
}

static void *desired_copy_list(const void *list, size_t count, size_t size)
{
    void *copy = mem_array(count, size);
    return count > 0 ? memcpy(copy, list, count * size) : copy;
}

void desired_copy(struct desired *to, const struct desired *from)
{
    *to = *from;
    to->refs = 0;
    to->skips = desired_copy_list(from->skips, from->skip_count, sizeof(to->skips[0]));
    to->skip_room = from->skip_count;
    to->aliases = NULL;
    to->alias_count = 0;
    to->took_over = NULL;
    to->took_over_count = 0;
    to->problem = mem_strdup(from->problem);
    to->note = mem_strdup(from->note);
    to->servers = desired_copy_list(from->servers, from->server_count, sizeof(to->servers[0]));
    to->spares = desired_copy_list(from->spares, from->spare_count, sizeof(to->spares[0]));
    to->texts = text_pool_new(from->texts); /* what one adds to its own lives no longer than it */
}

/* ---- texts ---- */

const char *desired_text(struct desired *d, const char *s)
{
    if (d->texts == NULL)
        d->texts = text_pool_new(NULL);
    return text_pool_add(d->texts, s);
}

const char *desired_text_take(struct desired *d, char *s)
{
    const char *text = desired_text(d, s);
    free(s);
    return text;
}

struct desired_why desired_why_take(struct desired *d, char *reason)
{
    return (struct desired_why){.text = desired_text_take(d, reason), .kind = WHY_TEXT};
}

void desired_make_room(struct desired *d, size_t count)
{
    d->servers = mem_resize(d->servers, d->server_count + count, sizeof(d->servers[0]));
}

void desired_add_server(struct desired *d, struct desired_server s)
{
    d->servers[d->server_count++] = s;
}

struct desired_skip *desired_new_skip(struct desired *d)
{
    if (d->skip_count == d->skip_room) {
        d->skip_room = d->skip_room != 0 ? d->skip_room * 2 : 4;
        d->skips = mem_resize(d->skips, d->skip_room, sizeof(d->skips[0]));
    }
    return memset(&d->skips[d->skip_count++], 0, sizeof(d->skips[0]));
}

void desired_add_alias(struct desired *d, const char *name, const char *node)
{
    d->aliases = mem_resize(d->aliases, d->alias_count + 1, sizeof(d->aliases[0]));
    d->aliases[d->alias_count++] = (struct desired_alias){desired_text(d, name), desired_text(d, node)};
}

void desired_take_over(struct desired *d, const char *name)
{
    d->took_over = mem_resize(d->took_over, d->took_over_count + 1, sizeof(d->took_over[0]));
    d->took_over[d->took_over_count++] = desired_text(d, name);
}

struct desired_skip *desired_add_skip(struct desired *d, char *subject, char *reason, const char *server)
{
    struct desired_skip *s = desired_new_skip(d);
    s->place = desired_text_take(d, subject);
    s->detail = desired_text_take(d, reason);
    s->server = desired_text(d, server);
    return s;
}

/* ---- shared ---- */

const struct desired *desired_share(struct desired *d)
{
    struct desired *shared = mem_alloc(sizeof(*shared));
    *shared = *d;
    shared->refs = 1;
    desired_init(d);
    return shared;
}

/* The count alone changes. */
static struct desired *counted(const struct desired *shared)
{
    return (struct desired *)(uintptr_t)shared;
}

const struct desired *desired_ref(const struct desired *shared)
{
    counted(shared)->refs++;
    return shared;
}

void desired_unref(const struct desired *shared)
{
    if (shared == NULL || --counted(shared)->refs > 0)
        return;
    desired_fini(counted(shared));
    free(counted(shared));
}

void desired_unref_ptr(const struct desired **shared)
{
    desired_unref(*shared);
}

/* Successive states have most texts in common. */
static bool desired_same_text(const char *a, const char *b)
{
    return a == b || str_eq(a, b);
}

static bool servers_eq(const struct desired_server *a, const struct desired_server *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i].port != b[i].port || a[i].state != b[i].state || a[i].weight != b[i].weight ||
            !desired_same_text(a[i].name, b[i].name) || !desired_same_text(a[i].address, b[i].address))
            return false;
    return true;
}

bool desired_eq(const struct desired *a, const struct desired *b)
{
    return a->state == b->state && a->server_count == b->server_count && a->spare_count == b->spare_count &&
           a->check_port == b->check_port && a->paused == b->paused && str_eq(a->problem, b->problem) &&
           servers_eq(a->servers, b->servers, a->server_count) && servers_eq(a->spares, b->spares, a->spare_count);
}

static const struct desired_server *find_name(const struct desired_server *list, size_t count, const char *name)
{
    return count > 0 ? bsearch(&name, list, count, sizeof(list[0]), str_order) : NULL;
}

const struct desired_server *desired_find(const struct desired *d, const char *server_name)
{
    return find_name(d->servers, d->server_count, server_name);
}

const struct desired_server *desired_find_spare(const struct desired *d, const char *server_name)
{
    return find_name(d->spares, d->spare_count, server_name);
}

const struct desired_skip *desired_why_out(const struct desired *d, const char *server_name)
{
    const struct desired_skip *found = NULL;
    if (desired_find(d, server_name) != NULL)
        return NULL;
    /* Several places may have one server name: what is worth a warning says more. */
    for (size_t i = 0; i < d->skip_count; i++)
        if (str_eq(d->skips[i].server, server_name) && (found == NULL || (found->ordinary && !d->skips[i].ordinary)))
            found = &d->skips[i];
    return found;
}

static int out_order(const void *a, const void *b)
{
    const struct desired_skip *x = *(const struct desired_skip *const *)a, *y = *(const struct desired_skip *const *)b;
    int order = strcmp(x->server, y->server);
    if (order == 0)
        order = (int)x->ordinary - (int)y->ordinary;
    return order != 0 ? order : (x > y) - (x < y);
}

void desired_outs_init(struct desired_outs *o, const struct desired *d)
{
    *o = (struct desired_outs){.of = d, .list = mem_array(d->skip_count, sizeof(o->list[0]))};
    for (size_t i = 0; i < d->skip_count; i++)
        if (d->skips[i].server != NULL)
            o->list[o->count++] = &d->skips[i];
    if (o->count > 1)
        qsort(o->list, o->count, sizeof(o->list[0]), out_order);
}

void desired_outs_fini(struct desired_outs *o)
{
    free(o->list);
    *o = (struct desired_outs){.count = 0};
}

static int compare_out(const void *server_name, const void *out)
{
    return strcmp(server_name, (*(const struct desired_skip *const *)out)->server);
}

size_t desired_outs_place(const struct desired_outs *o, const char *server_name)
{
    return sorted_place(server_name, o->list, o->count, sizeof(o->list[0]), compare_out);
}

const struct desired_skip *desired_outs_find(const struct desired_outs *o, const char *server_name)
{
    size_t at = desired_outs_place(o, server_name);
    return at < o->count && str_eq(o->list[at]->server, server_name) ? o->list[at] : NULL;
}

bool desired_outs_returned(const void *outs, const char *server_name)
{
    const struct desired_outs *o = outs;
    bool returned = desired_find(o->of, server_name) != NULL;
    for (size_t i = desired_outs_place(o, server_name); !returned && i < o->count; i++) {
        if (!str_eq(o->list[i]->server, server_name))
            break;
        returned = o->list[i]->announced;
    }
    return returned;
}

bool desired_took_over(const struct desired *d, const char *server_name)
{
    return d->took_over_count > 0 &&
           bsearch(&server_name, d->took_over, d->took_over_count, sizeof(d->took_over[0]), str_order) != NULL;
}

const char *desired_node(const struct desired *d, const char *server_name)
{
    const struct desired_server *s = desired_find(d, server_name);
    if (s == NULL)
        s = desired_find_spare(d, server_name);
    if (s != NULL)
        return s->node != NULL ? s->node : s->name;
    const struct desired_alias *a =
        d->alias_count > 0 ? bsearch(&server_name, d->aliases, d->alias_count, sizeof(d->aliases[0]), str_order) : NULL;
    return a != NULL ? a->node : NULL;
}

static const char *name_among(const struct desired_server *list, size_t count, const char *node)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(list[i].node, node))
            return list[i].name;
    return NULL;
}

const char *desired_name_of_node(const struct desired *d, const char *node)
{
    const struct desired_server *own = desired_find(d, node);
    if (own != NULL && own->node == NULL)
        return NULL;
    const char *name = name_among(d->servers, d->server_count, node);
    if (name == NULL)
        name = name_among(d->spares, d->spare_count, node);
    for (size_t i = 0; i < d->alias_count && name == NULL; i++)
        if (str_eq(d->aliases[i].node, node))
            name = d->aliases[i].name;
    return name;
}

static bool is_allowed(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == ':' || c == '-';
}

bool desired_is_server_name(const char *node_name)
{
    const char *c = node_name;
    while (is_allowed(*c))
        c++;
    return c > node_name && *c == '\0';
}

char *desired_server_name(const char *node_name)
{
    char *name = mem_strdup(node_name[0] != '\0' ? node_name : "_");
    for (char *c = name; *c != '\0'; c++)
        if (!is_allowed(*c))
            *c = '_';
    return name;
}
