#include "servers/change/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/shared_text.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/change.h"
#include "haproxy/siblings.h"
#include "servers/change/diff_internal.h"
#include "servers/change/ownership.h"
#include "servers/change/parking.h"

#define UNSUPPORTED_SHOWN 3

static void change_fini(struct diff_change *c)
{
    backend_server_fini(&c->server);
    mem_free_all(c->detail, c->reason);
}

static void drop_changes(struct diff *d)
{
    for (size_t i = 0; i < d->change_count; i++)
        change_fini(&d->changes[i]);
    d->change_count = 0;
    d->loss_count = 0;
}

void diff_fini(struct diff *d)
{
    drop_changes(d);
    for (size_t i = 0; i < d->skip_count; i++) {
        mem_free_all(d->skips[i].name, d->skips[i].reason);
    }
    mem_free_all(d->changes, d->skips, d->why, d->uneven, d->backend_detail);
    *d = (struct diff){.verdict = DIFF_NOTHING};
}

/* ---- the lines that are there, in the order of their names ---- */

/* The order in the file decides between equal names; they lie in one array, so their addresses give it. */
static int diff_line_order(const void *a, const void *b)
{
    const struct diff_line *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->server > y->server) - (x->server < y->server);
}

void diff_lines_read(struct diff_lines *l, const struct backend *actual, const struct desired *desired,
                     const struct diff_rules *rules)
{
    *l = (struct diff_lines){mem_array(actual->server_count, sizeof(l->list[0])), actual->server_count};
    for (size_t i = 0; i < l->count; i++) {
        const struct backend_server *s = &actual->servers[i];
        l->list[i] = (struct diff_line){s->name, s, diff_server_is_foreign(s, rules, desired), false};
    }
    if (l->count > 1)
        qsort(l->list, l->count, sizeof(l->list[0]), diff_line_order);
    for (size_t i = 1; i < l->count; i++)
        if (strcmp(l->list[i - 1].name, l->list[i].name) == 0)
            l->list[i - 1].doubled = l->list[i].doubled = true;
}

void diff_lines_fini(struct diff_lines *l)
{
    free(l->list);
}

bool diff_line_is_own(const struct diff_line *l)
{
    return !l->foreign && !l->doubled;
}

/* The first line of a name, or the unmanaged one: it decides for all of them. *i moves behind the last. */
static const struct diff_line *lines_next(const struct diff_lines *l, size_t *i)
{
    const struct diff_line *first = &l->list[*i], *decides = first;
    for (; *i < l->count && strcmp(l->list[*i].name, first->name) == 0; (*i)++)
        if (l->list[*i].foreign && !decides->foreign)
            decides = &l->list[*i];
    return decides;
}

/* What all managed lines have in common. */
static const char *diff_common_rest(const struct diff_lines *l)
{
    const char *common = NULL, *last = NULL;
    bool any = false;
    for (size_t i = 0; i < l->count; i++) {
        const char *rest = l->list[i].server->rest;
        if (l->list[i].foreign || (any && rest == last))
            continue;
        const char *both = any ? siblings_common(common, rest) : shared_text(rest);
        shared_text_free(common);
        common = both;
        last = rest;
        any = true;
    }
    return common;
}

/* What one managed line has beyond that. Allocates; NULL: none has. */
static char *diff_uneven(const struct diff_lines *l, const char *common)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct backend_server *s = l->list[i].server;
        if (l->list[i].foreign || s->rest == common)
            continue;
        cleanup(mem_free_ptr) char *words = siblings_beyond(s->rest, common);
        if (words != NULL)
            return mem_printf("server %s has %s, which not all servers of the backend have; a new server gets none of "
                              "it: put it on all of them, or into default-server",
                              s->name, words);
    }
    return NULL;
}

/* ---- clashes ---- */

/* Why a server of this name cannot be managed; NULL: it can. */
static char *clash(const struct backend *actual, const struct diff_line *line, const char *name,
                   const struct diff_rules *rules)
{
    const struct backend_template *t = backend_find_template(actual, name);
    if (t != NULL)
        return mem_printf("the line \"server-template %s %u-%u\" of the backend makes a server of that name", t->prefix,
                          t->first, t->last);
    const char *glob = diff_keep_glob(name, rules);
    if (glob != NULL)
        return mem_printf("the name matches %s in HAPROXY_KEEP_SERVERS, so it would never be changed or removed", glob);
    if (line != NULL && line->foreign)
        return mem_printf("the backend has a backup server of that name (%s:%u), and backup servers are unmanaged",
                          str_empty(line->server->address) ? "?" : line->server->address, line->server->port);
    return NULL;
}

/* ---- parking ---- */

static bool can_be_parked(const struct diff_merge *m, const struct diff_line *line)
{
    return m->rules->parking != NULL && !line->doubled && backend_find_template(m->actual, line->name) == NULL;
}

/* What becomes of a line in maintenance that is not desired. */
static enum parking_verdict parked_verdict(const struct diff_merge *m, const struct diff_line *line)
{
    if (!can_be_parked(m, line))
        return PARKING_NOW;
    if (desired_find_spare(m->desired, line->name) != NULL)
        return PARKING_STAY;
    return parking_verdict(m->rules->parking, line->name);
}

/* A managed line that is not desired; why: it is desired, but not possible. */
static void leave(struct diff_merge *m, const struct diff_line *line, const char *why)
{
    const struct backend_server *is = line->server;
    bool may_stay = why == NULL && can_be_parked(m, line), spare = desired_find_spare(m->desired, is->name) != NULL;
    if (may_stay && is->maintenance) {
        enum parking_verdict verdict = parked_verdict(m, line);
        if (verdict != PARKING_STAY)
            diff_remove_server(m, is, parking_reason(m->rules->parking, is->name))->lazy = verdict == PARKING_LAZY;
    } else if (may_stay && (spare || m->room > 0)) {
        m->room -= !spare;
        m->parked++;
        diff_park_server(m, is);
    } else {
        diff_remove_server(m, is, why);
    }
}

/* Without anything else that goes by a transaction the lazy ones wait. */
static void drop_idle(struct diff *d)
{
    size_t left = 0;
    bool carried = d->backend_change || d->create_backend;
    for (size_t i = 0; i < d->change_count; i++)
        carried = carried || (d->changes[i].structural && !d->changes[i].lazy);
    for (size_t i = 0; i < d->change_count; i++)
        if (d->changes[i].lazy && !carried)
            change_fini(&d->changes[i]);
        else
            d->changes[left++] = d->changes[i];
    d->change_count = left;
}

/* ---- the whole list ---- */

/* One name: what is there (line, or NULL), what is desired (want, or NULL), or both. */
static void merge_one(struct diff_merge *m, const struct diff_line *line, const struct desired_server *want)
{
    char *why = want != NULL ? clash(m->actual, line, want->name, m->rules) : NULL;
    bool ours = line != NULL && !line->foreign;
    size_t before = m->d->change_count;
    if (why != NULL) {
        m->d->skips = mem_one_more(m->d->skips, m->d->skip_count, sizeof(m->d->skips[0]));
        m->d->skips[m->d->skip_count++] = (struct diff_skip){mem_strdup(want->name), why};
    }
    if (want == NULL || why != NULL) {
        if (ours)
            leave(m, line, why);
    } else {
        m->live += want->state == SERVER_LIVE;
        if (line != NULL)
            diff_change_server(m, line->server, want);
        else if (want->state == SERVER_LIVE)
            diff_add_server(m, want);
    }
    /* The change that was made last, if it was made since there were `before` of them. */
    if (m->d->change_count == before)
        return;
    struct diff_change *c = &m->d->changes[before];
    c->structural = !m->rules->runtime || line == NULL || line->doubled ||
                    diff_line_needs_transaction(m->actual, line->server, c, m->rules);
}

/* Both sides in the order of their names, one step each. */
static void diff_servers(struct diff_merge *m)
{
    const struct diff_lines *lines = m->lines;
    size_t i = 0, w = 0;
    if (m->rules->parking != NULL) {
        /* What goes makes room, be it lazy: wherever that matters, there is a transaction that takes it along. */
        size_t stay = 0;
        for (size_t k = 0; k < lines->count; k++) {
            const struct diff_line *l = &lines->list[k];
            const char *name = l->server->name;
            if (l->foreign || !l->server->maintenance || desired_find(m->desired, name) != NULL ||
                parked_verdict(m, l) != PARKING_STAY)
                continue;
            m->parked++;
            stay += desired_find_spare(m->desired, name) == NULL;
        }
        m->room = m->rules->runtime ? PARKING_MAX : stay < PARKING_MAX ? PARKING_MAX - stay : 0;
    }
    while (i < lines->count || w < m->desired->server_count) {
        const struct desired_server *want = w < m->desired->server_count ? &m->desired->servers[w] : NULL;
        int order = want == NULL ? -1 : i == lines->count ? 1 : strcmp(lines->list[i].name, want->name);
        const struct diff_line *line = order <= 0 ? lines_next(lines, &i) : NULL;
        if (order >= 0)
            w++;
        merge_one(m, line, order >= 0 ? want : NULL);
    }
    for (size_t k = 0; m->rules->parking != NULL && k < m->desired->spare_count && m->parked < PARKING_MAX; k++) {
        const struct desired_server *spare = &m->desired->spares[k];
        cleanup(mem_free_ptr) char *why = clash(m->actual, NULL, spare->name, m->rules);
        if (why != NULL || (lines->count > 0 && bsearch(&spare->name, lines->list, lines->count, sizeof(lines->list[0]),
                                                        str_order) != NULL))
            continue;
        diff_add_server(m, spare)->structural = true;
        m->parked++;
    }
}

static int diff_change_order(const void *a, const void *b)
{
    const struct diff_change *x = a, *y = b;
    return x->op != y->op ? (int)x->op - (int)y->op : strcmp(x->server.name, y->server.name);
}

void diff_sort(struct diff *d)
{
    if (d->change_count > 1)
        qsort(d->changes, d->change_count, sizeof(d->changes[0]), diff_change_order);
}

static const char *or_none(const char *s)
{
    return str_empty(s) ? "(none)" : s;
}

static void diff_settings(const struct backend *actual, const struct diff_lines *lines, const struct diff_rules *rules,
                          struct diff *d)
{
    cleanup(buf_fini) struct buf said = {0};
    if (rules->balance != NULL && !str_eq(actual->balance, rules->balance))
        diff_say(&said, "balance %s -> %s", or_none(actual->balance), rules->balance);
    /* An httpchk that the daemon sets asks GET /healthz, unless an operator's line says what to ask for. */
    if (d->settings.adv_check != NULL && !str_eq(actual->adv_check, d->settings.adv_check))
        diff_say(&said, "adv_check %s -> %s", or_none(actual->adv_check), d->settings.adv_check);
    if (d->settings.httpchk_healthz && !actual->httpchk_params)
        diff_say(&said, "httpchk GET /healthz");
    if (rules->proxy_v2 && !actual->default_send_proxy_v2) {
        diff_say(&said, "default-server send-proxy-v2 on");
        d->foreign_inherit_count = actual->template_count;
        for (size_t i = 0; i < lines->count; i++)
            d->foreign_inherit_count += lines->list[i].foreign && !lines->list[i].server->send_proxy_v2;
    }
    if (said.len == 0)
        return;
    d->backend_change = true;
    d->backend_detail = buf_take(&said);
}

/* ---- what stands against a write ---- */

/* The length of `prefix` and the digits after it; 0: words does not begin so. */
static size_t word_and_number(const char *words, const char *prefix)
{
    size_t digits = str_has_prefix(words, prefix) ? strspn(words + strlen(prefix), "0123456789") : 0;
    return digits > 0 ? strlen(prefix) + digits : 0;
}

/* "check", "weight 100", "disabled": all that a line which the daemon wrote may have behind its address. */
static bool only_our_words(const char *words)
{
    static const char *const flags[] = {" check",   " send-proxy-v2", " disabled",
                                        " enabled", " no-backup",     " init-addr last,libc,none"};
    while (*words != '\0') {
        size_t len = word_and_number(words, " weight ");
        if (len == 0)
            len = word_and_number(words, " port ");
        for (size_t i = 0; i < array_len(flags) && len == 0; i++)
            if (str_has_prefix(words, flags[i]))
                len = strlen(flags[i]);
        if (len == 0 || (words[len] != ' ' && words[len] != '\0'))
            return false;
        words += len;
    }
    return true;
}

/* A line that is exactly as desired, and that the API has not read (yet): the write makes it again. */
static bool unsupported_is_among(const struct backend *b, const struct backend_unsupported_line *a,
                                 const struct desired_server *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct desired_server *w = &list[i];
        cleanup(mem_free_ptr) char *place = str_host_port(w->address, w->port);
        cleanup(mem_free_ptr) char *line = mem_printf("server %s %s", w->name, place);
        if (str_has_prefix(a->text, line) && only_our_words(a->text + strlen(line)))
            return backend_find(b, w->name) == NULL;
    }
    return false;
}

/* Lines that only a default-server makes backup servers, and that are not desired: they may be an operator's, or
 * managed ones from before it did. In one sentence; NULL: none. */
static char *backup_problem(const struct backend *actual, const struct desired *desired, const struct diff_rules *rules)
{
    struct text_list list = {.between = ", ", .max = UNSUPPORTED_SHOWN};
    for (size_t i = 0; i < actual->server_count; i++) {
        const struct backend_server *s = &actual->servers[i];
        if (!s->default_backup || s->no_backup || diff_server_is_foreign(s, rules, desired) ||
            desired_find(desired, s->name) != NULL || desired_find_spare(desired, s->name) != NULL)
            continue;
        if (text_list_next(&list))
            buf_add(&list.text, s->name);
    }
    cleanup(mem_free_ptr) char *names = text_list_take(&list);
    if (names == NULL)
        return NULL;
    return mem_printf("line %u of haproxy.cfg (default-server backup) makes backup servers of lines in backend %s that "
                      "do not say so themselves: %s. Add backup to such a line to leave it alone, or no-backup to have "
                      "it managed; or remove backup from line %u",
                      actual->backup_line, actual->name, names, actual->backup_line);
}

/* Why nothing may be written at all; NULL: it may. */
static char *refusal(const struct backend *actual, const struct desired *desired, const struct diff_rules *rules)
{
    if (desired->state == DESIRED_NOT_SYNCED || desired->state == DESIRED_UNDECIDED)
        return mem_strdup(desired->problem != NULL ? desired->problem : "the desired servers are not known yet");
    if (!actual->exists && !rules->create_backend)
        return mem_printf("HAProxy has no backend %s: add it to haproxy.cfg, fix its name in HAPROXY_BACKEND_NAME or "
                          "INGRESS_SERVICES, or create it with HAPROXY_CREATE_BACKEND=true",
                          actual->name);
    char *problem = backup_problem(actual, desired, rules);
    if (problem != NULL)
        return problem;
    struct text_list list = {.between = "; ", .max = UNSUPPORTED_SHOWN};
    size_t spares = rules->parking != NULL ? desired->spare_count : 0;
    bool any = false;
    for (size_t i = 0; i < actual->unsupported_count; i++) {
        const struct backend_unsupported_line *a = &actual->unsupported[i];
        any = any || (!unsupported_is_among(actual, a, desired->servers, desired->server_count) &&
                      !unsupported_is_among(actual, a, desired->spares, spares));
        if (text_list_next(&list))
            buf_printf(&list.text, "line %u \"%s\": %s", a->line, a->text, a->reason);
    }
    cleanup(mem_free_ptr) char *lines = text_list_take(&list);
    return any ? mem_printf("backend %s has lines in haproxy.cfg that a write would damage: %s", actual->name, lines)
               : NULL;
}

static char *no_endpoint_reason(const struct desired *desired, const struct diff_rules *rules, const struct diff *d)
{
    const char *why = desired->problem;
    size_t kept = rules->parking != NULL ? d->managed_count - d->parked_count : d->managed_count;
    if (why == NULL)
        why = d->skip_count > 0 ? "each server's name clashes with an unmanaged server"
                                : "only draining servers would be left";
    if (kept == 0)
        return mem_printf("%s; there is no managed server to keep either", why);
    if (rules->cluster != NULL)
        return mem_printf("%s; no other cluster has a server in this backend that is UP, so the last servers of "
                          "cluster %s stay (%zu)",
                          why, rules->cluster, kept);
    return mem_printf("%s; ALLOW_EMPTY is false, so the last servers stay (%zu)", why, kept);
}

void diff_compute(const struct backend *actual, const struct desired *desired, const struct diff_rules *rules,
                  struct diff *ret)
{
    cleanup(diff_lines_fini) struct diff_lines lines;
    cleanup(desired_outs_fini) struct desired_outs outs = {.count = 0};
    *ret = (struct diff){.verdict = DIFF_NOTHING};
    diff_lines_read(&lines, actual, desired, rules);
    bool known = desired->state == DESIRED_OK || desired->state == DESIRED_EMPTY;
    for (size_t i = 0; i < lines.count; i++) {
        const struct backend_server *s = lines.list[i].server;
        if (lines.list[i].foreign) {
            ret->foreign_count++;
            ret->others_count += diff_server_is_others(s, rules);
            continue;
        }
        ret->managed_count++;
        ret->live_count += !s->maintenance;
        ret->parked_count += s->maintenance && known && desired_find(desired, s->name) == NULL;
    }
    ret->foreign_count += actual->template_count;
    ret->why = refusal(actual, desired, rules);
    if (ret->why != NULL) {
        ret->verdict = DIFF_REFUSE;
        return;
    }
    desired_outs_init(&outs, desired);
    struct diff_merge m = {.actual = actual,
                           .lines = &lines,
                           .desired = desired,
                           .outs = &outs,
                           .rules = rules,
                           .d = ret,
                           .new_weight = diff_common_weight(actual, desired),
                           .common = diff_common_rest(&lines)};
    diff_servers(&m);
    ret->uneven = diff_uneven(&lines, m.common);
    shared_text_free(m.common);
    if (m.live == 0 && !rules->allow_empty && !rules->others_up) {
        drop_changes(ret);
        ret->verdict = DIFF_NO_ENDPOINT;
        ret->why = no_endpoint_reason(desired, rules, ret);
        return;
    }
    ret->leaves_none = m.live == 0 && !rules->allow_empty && ret->change_count > 0;
    diff_sort(ret);
    bool http = diff_check_port(desired, rules) != 0;
    ret->settings = (struct backend_settings){.balance = rules->balance,
                                              .adv_check = http ? "httpchk" : rules->adv_check,
                                              .httpchk_healthz = http,
                                              .proxy_v2 = rules->proxy_v2};
    if (actual->exists)
        diff_settings(actual, &lines, rules, ret);
    else
        ret->create_backend = true;
    drop_idle(ret);
    if (ret->change_count > 0 || ret->backend_change || ret->create_backend)
        ret->verdict = DIFF_WRITE;
}

const struct diff_change *diff_find_change(const struct diff *d, const char *server)
{
    for (size_t i = 0; i < d->change_count; i++)
        if (str_eq(d->changes[i].server.name, server))
            return &d->changes[i];
    return NULL;
}

bool diff_has_parts(const struct diff *d)
{
    size_t removals = 0;
    for (size_t i = 0; i < d->change_count; i++)
        removals += d->changes[i].op == DIFF_REMOVE;
    return removals > 0 && (removals < d->change_count || d->backend_change);
}

size_t diff_configured_count(const struct diff *d)
{
    return d->managed_count - d->parked_count;
}

bool diff_leaves_live(const struct diff *d)
{
    size_t removed = 0;
    for (size_t i = 0; i < d->change_count; i++)
        removed += d->changes[i].op == DIFF_REMOVE && !d->changes[i].server.maintenance;
    return removed < d->live_count;
}

void diff_take_part(struct diff *d, bool removals)
{
    size_t left = 0;
    for (size_t i = 0; i < d->change_count; i++) {
        struct diff_change *c = &d->changes[i];
        if ((c->op == DIFF_REMOVE) == removals) {
            d->changes[left++] = *c;
            continue;
        }
        d->loss_count -= c->loss && !c->announced;
        change_fini(c);
    }
    d->change_count = left;
    d->backend_change = d->backend_change && !removals;
}

bool diff_withhold_losses(struct diff *d, bool (*is_held)(const void *arg, const char *server), const void *arg)
{
    size_t left = 0;
    for (size_t i = 0; i < d->change_count; i++) {
        struct diff_change *c = &d->changes[i];
        if (c->loss && !c->announced && (is_held == NULL || is_held(arg, c->server.name))) {
            change_fini(c);
            d->loss_count--;
        } else {
            d->changes[left++] = *c;
        }
    }
    d->change_count = left;
    drop_idle(d);
    bool any = d->change_count > 0 || d->backend_change || d->create_backend;
    if (d->verdict == DIFF_WRITE && !any)
        d->verdict = DIFF_NOTHING;
    return any;
}

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
