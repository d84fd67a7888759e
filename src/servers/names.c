#include "servers/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorted.h"
#include "base/str.h"
#include "base/text.h"
#include "model/address.h"
#include "haproxy/backend.h"
#include "servers/change/diff.h"
#include "servers/change/ownership.h"
#include "haproxy/runtime.h"

#define ADOPTED_SHOWN 5

/* ---- the format ---- */

static bool is_plain(const char *format)
{
    return format == NULL || str_eq(format, "{node}");
}

/* A '_' would shift the part of the name that is the cluster's. */
static void fill_in_text(struct buf *out, const char *text, const char *cluster)
{
    for (; *text != '\0'; text++)
        buf_addn(out, cluster != NULL && *text == '_' ? "-" : text, 1);
}

/* format[0..len) with its placeholders filled in. */
static void fill_in(struct buf *out, const char *format, size_t len, const char *cluster, const char *node,
                    const char *address, uint16_t port)
{
    for (const char *at = format, *end = format + len; at < end;) {
        if (str_has_prefix(at, "{node}")) {
            fill_in_text(out, node, cluster);
            at += strlen("{node}");
        } else if (str_has_prefix(at, "{address}")) {
            fill_in_text(out, address, cluster);
            at += strlen("{address}");
        } else if (cluster != NULL && str_has_prefix(at, "{cluster}")) {
            buf_add(out, cluster);
            at += strlen("{cluster}");
        } else if (str_has_prefix(at, "{port}")) {
            buf_printf(out, "%u", port);
            at += strlen("{port}");
        } else {
            buf_addn(out, at++, 1);
        }
    }
}

static char *own_name(const struct diff_rules *rules, const char *node, const char *address, uint16_t port)
{
    const char *format = rules->server_name_format;
    struct buf text = {0};
    if (is_plain(format))
        return mem_strdup(node);
    fill_in(&text, format, strlen(format), rules->cluster, node, address, port);
    return buf_take(&text);
}

/* The node that the format put into the name of this line; NULL: none. */
static char *node_in_name(const char *format, const char *cluster, const struct backend_server *line)
{
    const char *at = strstr(format, "{node}"), *rest = at != NULL ? at + strlen("{node}") : NULL;
    if (at == NULL)
        return NULL;
    cleanup(buf_fini) struct buf head = {0};
    cleanup(buf_fini) struct buf tail = {0};
    fill_in(&head, format, (size_t)(at - format), cluster, "", line->address, line->port);
    fill_in(&tail, rest, strlen(rest), cluster, "", line->address, line->port);
    size_t len = strlen(line->name);
    if (len <= head.len + tail.len || !str_has_prefix(line->name, buf_str(&head)) ||
        strcmp(line->name + len - tail.len, buf_str(&tail)) != 0)
        return NULL;
    return mem_strndup(line->name + head.len, len - head.len - tail.len);
}

/* ---- lines that are desired by no name ---- */

struct spot {
    const struct backend_server *line;
    const char *address; /* in its usual spelling */
    char canonical[ADDRESS_TEXT_BYTES];
    unsigned rank; /* among those of one place */
    bool stranger; /* of no cluster's name */
    bool taken;
};

struct work {
    const struct names_input *in;
    struct desired *out;
    const char **names; /* of all servers and spares, in their order */
    size_t name_count;
    size_t name_next;                    /* behind the one that was found last: lines are mostly in that order, too */
    const struct backend_server **lines; /* all of the backend's, by name; NULL where there is no spot */
    struct spot **spots;                 /* by address, port, live ones first, name */
    size_t spot_count;
    struct desired_outs outs; /* of in->desired */
    bool differs;
};

static void work_fini(struct work *w)
{
    for (size_t i = 0; i < w->spot_count; i++)
        free(w->spots[i]);
    mem_free_all(w->spots, w->lines, w->names);
    desired_outs_fini(&w->outs);
}

static int names_line_order(const void *a, const void *b)
{
    return strcmp((*(const struct backend_server *const *)a)->name, (*(const struct backend_server *const *)b)->name);
}

/* The line of that name; NULL: none. */
static const struct backend_server *own_line(const struct work *w, const char *name)
{
    const struct backend_server key = {.name = name}, *at = &key;
    const struct backend_server **found =
        bsearch(&at, w->lines, w->in->actual->server_count, sizeof(w->lines[0]), names_line_order);
    return found != NULL ? *found : NULL;
}

static int names_place_order(const struct spot *s, const char *address, uint16_t port)
{
    int order = strcmp(s->address, address);
    return order != 0 ? order : (int)s->line->port - (int)port;
}

static int spot_order(const void *a, const void *b)
{
    const struct spot *x = *(struct spot *const *)a, *y = *(struct spot *const *)b;
    int order = names_place_order(x, y->address, y->line->port);
    if (order == 0)
        order = (int)x->rank - (int)y->rank;
    return order != 0 ? order : strcmp(x->line->name, y->line->name);
}

static bool has_name(struct work *w, const char *name)
{
    const char **found = w->names + w->name_next;
    if (w->name_next == w->name_count || strcmp(*found, name) != 0)
        found = w->name_count > 0 ? bsearch(&name, w->names, w->name_count, sizeof(w->names[0]), str_order) : NULL;
    if (found != NULL)
        w->name_next = (size_t)(found - w->names) + 1;
    return found != NULL;
}

/* Where several clusters share the backend, and this one is to rename what was there before. */
static bool is_stranger(const struct work *w, const struct backend_server *line)
{
    const struct diff_rules *rules = w->in->rules;
    return rules->cluster != NULL && rules->adopt == ADOPT_RENAME &&
           ownership_of(rules->server_name_format, rules->cluster, line->name) == OWNERSHIP_NONE;
}

/* It may be changed, and is not there by its own right. */
static bool is_free(struct work *w, const struct backend_server *line)
{
    struct desired stranger = {.took_over = (const char *[]){line->name}, .took_over_count = is_stranger(w, line)};
    bool implied_backup = line->default_backup && !line->no_backup;
    return !diff_server_is_foreign(line, w->in->rules, &stranger) && !implied_backup && line->address != NULL &&
           !has_name(w, line->name) && backend_find_template(w->in->actual, line->name) == NULL;
}

/* Names that several lines have are taken by none. */
static void find_spots(struct work *w)
{
    const struct backend *b = w->in->actual;
    size_t count = b->exists ? b->server_count : 0, first = 0;
    while (first < count && !is_free(w, &b->servers[first]))
        first++;
    if (first == count) /* as it is nearly always */
        return;
    const struct backend_server **lines = w->lines = mem_array(count, sizeof(lines[0]));
    w->spots = mem_array(count, sizeof(w->spots[0]));
    for (size_t i = 0; i < count; i++)
        lines[i] = &b->servers[i];
    if (count > 1)
        qsort(lines, count, sizeof(lines[0]), names_line_order);
    for (size_t i = 0; i < count; i++) {
        bool doubled = (i > 0 && names_line_order(&lines[i - 1], &lines[i]) == 0) ||
                       (i + 1 < count && names_line_order(&lines[i], &lines[i + 1]) == 0);
        if (!doubled && is_free(w, lines[i])) {
            const struct backend_server *line = lines[i];
            struct spot *s = mem_alloc(sizeof(*s));
            /* A line that serves already goes before one that was just put next to it. */
            const struct names_input *in = w->in;
            bool known = in->runtime != NULL && in->runtime->readable;
            unsigned rank = line->maintenance                                                    ? 3
                            : known && runtime_find(in->runtime, line->name) == NULL             ? 2
                            : in->before != NULL && desired_find(in->before, line->name) != NULL ? 0
                                                                                                 : 1;
            *s = (struct spot){.line = line, .rank = rank, .stranger = is_stranger(w, line)};
            s->address = address_canonical(line->address, s->canonical) == 0 ? s->canonical : line->address;
            w->spots[w->spot_count++] = s;
        }
    }
    if (w->spot_count > 1)
        qsort(w->spots, w->spot_count, sizeof(w->spots[0]), spot_order);
}

static int compare_spot(const void *server, const void *spot)
{
    const struct desired_server *s = server;
    int order = names_place_order(*(const struct spot *const *)spot, s->address, s->port);
    return (order < 0) - (order > 0);
}

/* The first of its place. */
static size_t find_spot(const struct work *w, const struct desired_server *s)
{
    return sorted_place(s, w->spots, w->spot_count, sizeof(w->spots[0]), compare_spot);
}

/* ---- each server ---- */

static void call_it(struct work *w, struct desired_server *s, char *name)
{
    if (s->node == NULL)
        s->node = s->name;
    s->name = desired_text_take(w->out, name);
}

static void format_list(struct work *w, struct desired_server *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cleanup(mem_free_ptr) char *name = own_name(w->in->rules, list[i].name, list[i].address, list[i].port);
        if (str_eq(name, list[i].name))
            continue;
        call_it(w, &list[i], mem_strdup(name));
        w->differs = true;
    }
}

static int server_order(const void *a, const void *b)
{
    const struct desired_server *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 || x->node == NULL || y->node == NULL ? order : strcmp(x->node, y->node);
}

static void sort(struct desired_server *list, size_t count)
{
    if (count > 1)
        qsort(list, count, sizeof(list[0]), server_order);
}

static void names_add_node(struct work *w, struct desired_server *s)
{
    const struct diff_rules *rules = w->in->rules;
    cleanup(buf_fini) struct buf more = {0};
    buf_add(&more, "-");
    fill_in_text(&more, s->node != NULL ? s->node : s->name, rules->cluster);
    call_it(w, s,
            rules->cluster != NULL ? ownership_extend(rules->server_name_format, s->name, buf_str(&more))
                                   : mem_printf("%s%s", s->name, buf_str(&more)));
}

/* Two nodes at one address have one name by {address} alone: the later gets that of its node added. */
static void make_distinct(struct work *w, struct desired_server *list, size_t count)
{
    bool again = true;
    while (again) {
        again = false;
        sort(list, count);
        for (size_t i = 1; i < count; i++)
            if (str_eq(list[i].name, list[i - 1].name)) {
                names_add_node(w, &list[i]);
                again = true;
            }
    }
}

/* By the line of a node that is out its return is to be recognised. */
static bool names_is_out(const struct work *w, const char *name)
{
    return desired_outs_find(&w->outs, name) != NULL;
}

static struct spot *next_at(const struct work *w, size_t *i, const struct desired_server *s)
{
    for (; *i < w->spot_count && names_place_order(w->spots[*i], s->address, s->port) == 0; (*i)++)
        if (!w->spots[*i]->taken && !names_is_out(w, w->spots[*i]->line->name))
            return w->spots[(*i)++];
    return NULL;
}

static void adopt_list(struct work *w, struct desired_server *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = own_line(w, list[i].name) == NULL ? find_spot(w, &list[i]) : w->spot_count;
        struct spot *found = next_at(w, &at, &list[i]);
        if (found == NULL)
            continue;
        found->taken = w->differs = true;
        call_it(w, &list[i], mem_strdup(found->line->name));
    }
}

/* ---- renaming ---- */

static void names_add_skip(struct desired *d, char *subject, char *reason, const char *server, bool announced)
{
    struct desired_skip *s = desired_add_skip(d, subject, reason, server);
    s->ordinary = true;
    s->announced = announced;
}

static bool serves(const struct names_input *in, const struct backend_server *own)
{
    const struct runtime_server *is =
        in->runtime != NULL && in->runtime->readable ? runtime_find(in->runtime, own->name) : NULL;
    if (own->maintenance)
        return false;
    return in->runtime == NULL || !in->runtime->readable || (is != NULL && is->admin == RUNTIME_READY);
}

/* From now on its line is managed, whatever its name is. */
static void names_take_over(struct work *w, const struct spot *s)
{
    if (!s->stranger)
        return;
    w->differs = true;
    desired_take_over(w->out, s->line->name);
}

static void rename_one(struct work *w, size_t which)
{
    struct desired *d = w->out;
    const struct backend_server *own = own_line(w, d->servers[which].name);
    size_t i = find_spot(w, &d->servers[which]);
    for (struct spot *found; (found = next_at(w, &i, &d->servers[which])) != NULL;) {
        const struct desired_server *s = &d->servers[which];
        found->taken = w->differs = true;
        names_take_over(w, found);
        if (own != NULL && (s->state != SERVER_LIVE || serves(w->in, own)))
            names_add_skip(d, mem_printf("server %s", found->line->name),
                           mem_printf("server %s has replaced it (ADOPT_SERVERS=rename)", s->name), found->line->name,
                           true);
        else if (!found->line->maintenance) {
            desired_make_room(d, 1);
            const struct desired_server *like = &d->servers[which];
            struct desired_why why =
                desired_why_take(d, mem_printf("it serves until %s, with the same address and port, "
                                               "does (ADOPT_SERVERS=rename)",
                                               like->name));
            desired_add_server(d, (struct desired_server){.name = desired_text(d, found->line->name),
                                                          .node = like->node != NULL ? like->node : like->name,
                                                          .address = like->address,
                                                          .port = like->port,
                                                          .state = like->state,
                                                          .weight = -1,
                                                          .why = why});
        }
    }
}

/* ---- lines whose server is out ---- */

/* of: the line that says which node's it is, itself or the one that replaces it. */
static void add_alias(struct work *w, const struct backend_server *line, const struct backend_server *of)
{
    struct desired *d = w->out;
    const struct diff_rules *rules = w->in->rules;
    if (names_is_out(w, line->name)) /* it is that node's */
        return;
    const char *known = w->in->before != NULL ? desired_node(w->in->before, of->name) : NULL;
    cleanup(mem_free_ptr) char *node = known != NULL && !str_eq(known, of->name) ? mem_strdup(known) : NULL;
    if (node == NULL && !is_plain(rules->server_name_format))
        node = node_in_name(rules->server_name_format, rules->cluster, of);
    if (node == NULL)
        node = node_in_name("{node}-{port}", NULL, of);
    if (node == NULL)
        return;
    for (size_t i = desired_outs_place(&w->outs, node); i < w->outs.count; i++) {
        const struct desired_skip *s = w->outs.list[i];
        if (!str_eq(s->server, node))
            break;
        names_add_skip(d, desired_skip_subject(w->in->desired, s), desired_skip_reason(w->in->desired, s), line->name,
                       s->announced);
        d->skips[d->skip_count - 1].ordinary = s->ordinary;
    }
    desired_add_alias(d, line->name, node);
    w->differs = true;
}

static void add_aliases(struct work *w)
{
    struct desired *d = w->out;
    for (size_t i = 0; i < w->spot_count; i++) {
        struct spot *s = w->spots[i];
        const struct spot *by = s->taken ? NULL : s;
        if (by != NULL && s->stranger) {
            /* The own line at its place, by which it was taken over, also when neither is desired any more. */
            size_t k = 0;
            while (k < w->spot_count && (w->spots[k]->stranger || w->spots[k]->taken ||
                                         names_place_order(w->spots[k], s->address, s->line->port) != 0))
                k++;
            by = k < w->spot_count ? w->spots[k] : NULL;
        }
        if (by == NULL)
            continue;
        names_take_over(w, s);
        add_alias(w, s->line, by->line);
    }
    if (d->took_over_count > 1)
        qsort(d->took_over, d->took_over_count, sizeof(d->took_over[0]), str_order);
    if (d->alias_count > 1)
        qsort(d->aliases, d->alias_count, sizeof(d->aliases[0]), str_order);
}

/* ---- the whole ---- */

static void names_settle(struct work *w)
{
    struct desired *d = w->out;
    size_t count = d->server_count; /* renaming adds to them */
    desired_outs_init(&w->outs, w->in->desired);
    if (w->in->rules->adopt == ADOPT_KEEP) {
        adopt_list(w, d->servers, count);
        adopt_list(w, d->spares, d->spare_count);
    } else if (w->in->rules->adopt == ADOPT_RENAME) {
        for (size_t i = 0; i < count; i++)
            rename_one(w, i);
    }
    add_aliases(w);
    sort(d->servers, d->server_count);
    sort(d->spares, d->spare_count);
}

bool names_apply(const struct names_input *in, struct desired *ret)
{
    struct desired out;
    cleanup(work_fini) struct work w = {.in = in, .out = &out};
    bool plain = is_plain(in->rules->server_name_format);
    if (plain && in->rules->adopt == ADOPT_NO)
        return false;
    desired_init(&out);
    if (!plain) {
        desired_copy(&out, in->desired);
        format_list(&w, out.servers, out.server_count);
        format_list(&w, out.spares, out.spare_count);
        make_distinct(&w, out.servers, out.server_count);
        for (size_t i = 0; i < out.spare_count; i++)
            if (desired_find(&out, out.spares[i].name) != NULL)
                names_add_node(&w, &out.spares[i]);
        make_distinct(&w, out.spares, out.spare_count);
    }
    const struct desired *d = plain ? in->desired : &out;
    w.names = mem_array(d->server_count + d->spare_count, sizeof(w.names[0]));
    for (size_t i = 0, k = 0; w.name_count < d->server_count + d->spare_count;) {
        bool spare = i == d->server_count || (k < d->spare_count && strcmp(d->spares[k].name, d->servers[i].name) < 0);
        w.names[w.name_count++] = spare ? d->spares[k].name : d->servers[i].name;
        *(spare ? &k : &i) += 1;
    }
    find_spots(&w);
    if (plain && w.spot_count == 0)
        return false;
    if (plain)
        desired_copy(&out, in->desired);
    if (w.spot_count > 0)
        names_settle(&w);
    if (w.differs)
        *ret = out;
    else
        desired_fini(&out);
    return w.differs;
}

char *names_adopted(const struct desired *named, const struct diff_rules *rules)
{
    struct text_list adopted = {.between = ", ", .max = ADOPTED_SHOWN};
    for (size_t i = 0; i < named->server_count; i++) {
        const struct desired_server *s = &named->servers[i];
        cleanup(mem_free_ptr) char *own = own_name(rules, s->node != NULL ? s->node : s->name, s->address, s->port);
        if (s->node != NULL && !str_eq(own, s->name) && text_list_next(&adopted))
            buf_printf(&adopted.text, "%s (node %s)", s->name, s->node);
    }
    return text_list_take(&adopted);
}
