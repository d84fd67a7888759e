#include "daemon/inspect/inspect.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/page.h"
#include "base/str.h"
#include "daemon/inspect/inspect_print.h"
#include "daemon/inspect/inspect_report.h"
#include "daemon/sources.h"
#include "haproxy/driver.h"
#include "json/write.h"
#include "model/cache.h"
#include "servers/servers_internal.h"
#include "settings/settings.h"
#include "settings/table.h"

/* For so many servers of a backend the rules are asked one by one. */
#define REASONS_MAX 100

/* ---- the report ---- */

static void inspect_fill_mapping(const struct inspect_of *of, const struct mapping *from, struct inspect_mapping *m)
{
    m->backend = from->backend;
    m->rules = &from->rules;
    m->source = from->service;
    if (of->sources == NULL)
        return;
    const struct cache *services = sources_caches(of->sources, from->service)->services;
    m->service = cache_find(services, from->rules.service);
    m->service_state = m->service != NULL                                   ? INSPECT_SERVICE_KNOWN
                       : sources_service_denied(of->sources, from->service) ? INSPECT_SERVICE_DENIED
                       : cache_synced(services)                             ? INSPECT_SERVICE_ABSENT
                                                                            : INSPECT_SERVICE_WAITING;
    if (of->node == NULL)
        return;
    m->node_known = mapping_explain(from, of->sources, of->node, &m->explanation) == 0;
    m->is_node = str_ip_family(of->node) == 0 || cache_find(sources_nodes(of->sources), of->node) != NULL;
}

/* The desired state has only nodes of the Service. For the others, the rules say why. */
static void inspect_fill_reasons(const struct inspect_of *of, const struct mapping *from, struct inspect_backend *b)
{
    const struct desired *desired = b->desired;
    b->reasons = mem_array(b->actual.server_count, sizeof(b->reasons[0]));
    for (size_t k = 0; of->sources != NULL && k < b->actual.server_count && b->reason_count < REASONS_MAX; k++) {
        cleanup(explanation_fini) struct explanation e = {.state = SERVER_OUT};
        const char *server = b->actual.servers[k].name;
        if (desired_find(desired, server) != NULL || desired_why_out(desired, server) != NULL)
            continue;
        const char *node = desired_node(desired, server);
        bool known = mapping_explain(from, of->sources, node != NULL ? node : server, &e) == 0;
        const char *why = known && e.state == SERVER_OUT ? e.verdict
                          : !known && sources_synced(of->sources, from->service)
                              ? "no node and no endpoint has this name"
                              : NULL;
        if (why != NULL)
            b->reasons[b->reason_count++] =
                (struct inspect_reason){.server = mem_strdup(server), .text = mem_strdup(why)};
    }
}

static void inspect_fill_target(const struct inspect_of *of, const struct target *from, const struct inspect_report *r,
                                struct inspect_target *t)
{
    const struct instance_view v = instance_view(from->instance);
    bool readable = v.worker_pid >= 0;
    t->url = v.url;
    t->adds = v.adds;
    t->instance = from->instance;
    t->file = instance_file(from->instance);
    t->drift = v.drift;
    t->dirty = v.dirty || v.drift != NULL;
    t->file_problem = v.file_problem;
    t->file_warning = v.file_warning;
    t->warning = v.last_reload;
    for (size_t i = 0; i < r->mapping_count; i++) {
        struct servers_backend *s = &from->servers->backends[i];
        struct inspect_backend *b = &t->backends[i];
        b->desired = r->mappings[i].desired;
        if (v.away || !s->at->was_read || s->at->unreadable.kind != ERROR_NONE) {
            b->unseen = s->at->unreadable.kind != ERROR_NONE ? s->at->unreadable : *v.problem;
            if (str_has_prefix(b->unseen.message, INSTANCE_CANNOT_READ ": "))
                error_set(&b->unseen, v.problem->kind, "%s", v.problem->message + strlen(INSTANCE_CANNOT_READ ": "));
            continue;
        }
        b->seen = true;
        b->desired = s->desired;
        b->actual = s->at->actual;
        b->runtime = s->at->runtime;
        b->memory = s->states;
        loss_limit_copy(&b->losses, &s->loss_limit);
        b->in = servers_decision_input(s);
        b->in.rules = r->rules;
        b->in.loss_limit = &b->losses;
        b->in.dirty = b->in.dirty || t->dirty;
        b->paused_until_ms = b->in.conflict ? s->pause.until_ms : 0;
        b->reverted = s->last.reverted_how;
        inspect_fill_reasons(of, &of->mappings->list[i], b);
        readable = readable && (!b->actual.exists || b->runtime.readable);
    }
    t->unverified = t->dirty && !readable;
}

void inspect_fill(const struct inspect_of *of, struct inspect_report *r)
{
    r->rules = of->rules;
    r->sources = of->sources;
    r->node = of->node;
    r->node_exists = of->sources != NULL ? sources_node_exists : NULL;
    r->node_arg = of->sources;
    r->wall_minus_mono_ms = (int64_t)clock_wall_ms() - (int64_t)clock_mono_ms();
    for (size_t i = 0; i < r->mapping_count; i++)
        inspect_fill_mapping(of, &of->mappings->list[i], &r->mappings[i]);
    for (size_t i = 0; i < r->target_count; i++)
        inspect_fill_target(of, targets_at(of->targets, i), r, &r->targets[i]);
}

void inspect_show(const struct inspect_report *r, const struct inspect_page *how, struct buf *out, struct buf *problems)
{
    struct page page;
    page_init(&page, out, how->colour, how->width);
    if (r->node != NULL && how->json)
        inspect_print_explain_json(r, out);
    else if (r->node != NULL)
        inspect_print_explain(r, &page);
    else if (how->json)
        inspect_print_json(r, out);
    else
        inspect_print_plan(r, &page);
    page_init(&page, problems, how->colour_of_problems, how->width_of_problems);
    inspect_print_problems(r, &page);
}

/* ---- the daemon's own ---- */

void inspect_print_settings(const struct settings *s, struct buf *out)
{
    static const struct {
        size_t first, last;
    } parts[] = {{offsetof(struct settings, node_mode), offsetof(struct settings, nodes.family)},
                 {offsetof(struct settings, backend_port), offsetof(struct settings, resync_period_ms)},
                 {offsetof(struct settings, cluster_name), offsetof(struct settings, cluster_name)}};
    buf_add(out, "backends=");
    for (size_t i = 0; i < s->mapping_count; i++)
        buf_printf(out, " %s %s/%s:%s", s->mappings[i].backend, s->mappings[i].namespace, s->mappings[i].service,
                   s->mappings[i].port != NULL ? s->mappings[i].port : "");
    buf_add(out, "\nHAProxies=");
    for (size_t i = 0; i < settings_haproxy_count(s); i++)
        buf_printf(out, " %s", settings_haproxy_name(s, i));
    for (size_t i = 0; i < array_len(parts); i++)
        for (const struct setting *row = setting_of(parts[i].first);; row++) {
            buf_printf(out, "\nsettings (%s)=", row->name);
            row->type->print(row, s, out);
            if (row == setting_of(parts[i].last))
                break;
        }
    buf_add(out, "\n");
}

char *inspect_query(const struct inspect_page *how, const char *url)
{
    return mem_printf("/plan?%s,%zu,%d,%zu,%d,%s", how->json ? "json" : "text", how->width, how->colour,
                      how->width_of_problems, how->colour_of_problems, url);
}

static void inspect_answer_plan(const struct inspect_of *of, const struct mapping_state *states, const char *query,
                                yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    cleanup(buf_fini) struct buf settings = {0}, out = {0}, problems = {0};
    cleanup(inspect_report_fini) struct inspect_report r;
    cleanup(mem_free_ptr) char *words = mem_strdup(query);
    char *rest = words;
    const char *word = strsep(&rest, ",");
    struct inspect_page how = {.json = str_eq(word, "json")};
    uint64_t numbers[4] = {0};
    for (size_t i = 0; i < array_len(numbers) && (word = strsep(&rest, ",")) != NULL; i++)
        if (str_parse_uint(word, UINT16_MAX, &numbers[i]) != 0)
            numbers[i] = 0;
    how.width = numbers[0];
    how.colour = numbers[1] != 0;
    how.width_of_problems = numbers[2];
    how.colour_of_problems = numbers[3] != 0;
    inspect_report_init(&r, targets_count(of->targets), of->mappings->count);
    r.daemon = (struct inspect_daemon){.url = rest != NULL ? rest : "", .used = true};
    for (size_t i = 0; i < r.mapping_count; i++)
        r.mappings[i].desired = desired_ref(states[i].last);
    inspect_fill(of, &r);
    for (size_t i = 0; i < r.target_count; i++)
        inspect_decide(&r, &r.targets[i]);
    inspect_show(&r, &how, &out, &problems);
    inspect_print_settings(of->settings, &settings);
    json_fields(doc, root, json_str("settings", buf_str(&settings)),
                json_uint("status", (size_t)inspect_plan_status(&r)), json_str("out", buf_str(&out)),
                json_str("problems", buf_str(&problems)));
}

void inspect_answer(const struct inspect_of *of, const struct mapping_state *states, const char *query,
                    struct buf *body)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    bool leads = of->targets != NULL, read = true, rejected = false;
    for (size_t i = 0; i < of->mappings->count; i++)
        read = read && states[i].last != NULL;
    for (size_t i = 0; leads && i < targets_count(of->targets); i++) {
        const struct target *t = targets_at(of->targets, i);
        const struct instance_view v = instance_view(t->instance);
        for (size_t k = 0; k < of->mappings->count; k++) {
            const struct servers_backend *s = &t->servers->backends[k];
            rejected = rejected || (s->last.rejected_version >= 0 && s->report.problem.kind != ERROR_NONE);
        }
        read = read && v.version >= 0 && !v.away && v.last_reload_known;
    }
    const char *why_not = !leads     ? "it is not the leader"
                          : !read    ? "it has not read everything yet"
                          : rejected ? "HAProxy rejected its change, and is asked again here"
                                     : NULL;
    json_fields(doc, root, json_str("why", why_not));
    if (why_not == NULL)
        inspect_answer_plan(of, states, query, doc, root);
    json_write(doc, false, body);
    json_free(doc);
}
