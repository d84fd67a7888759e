#include "daemon/status/status.h"

#include <stdlib.h>
#include <yyjson.h>

#include "base/clock.h"
#include "base/rfc3339.h"
#include "base/mem.h"
#include "base/str.h"
#include "settings/settings.h"
#include "daemon/clients.h"
#include "report/history.h"
#include "json/write.h"
#include "daemon/leadership.h"
#include "daemon/mappings.h"
#include "daemon/source.h"
#include "daemon/sources.h"
#include "report/checks.h"
#include "daemon/status/status_parts.h"
#include "daemon/targets.h"
#include "servers/desired/desired.h"

struct status {
    const struct daemon *in;
    struct status_parts of;
    const struct desired **desired; /* shared; mappings->count; NULL: not computed yet */
    uint64_t started_mono_ms;
    int64_t started_wall_ms;
    struct history_listener decided;
    struct status_since since;
    void (*changed)(void *arg);
    void *arg;
};

static void on_history(void *arg, const struct history_entry *e)
{
    const struct status *s = arg;
    (void)e;
    s->changed(s->arg);
}

struct status *status_new(const struct daemon *in, const struct status_parts *parts, void (*changed)(void *arg),
                          void *arg)
{
    struct status *s = mem_alloc(sizeof(*s));
    *s = (struct status){.in = in,
                         .of = *parts,
                         .desired = mem_array(parts->mappings->count, sizeof(s->desired[0])),
                         .started_mono_ms = clock_mono_ms(),
                         .started_wall_ms = (int64_t)clock_wall_ms(),
                         .decided = {.added = on_history, .arg = s},
                         .changed = changed,
                         .arg = arg};
    history_listen(in->history, &s->decided);
    return s;
}

void status_free(struct status *s)
{
    if (s == NULL)
        return;
    history_forget_listener(&s->decided);
    for (size_t i = 0; i < s->of.mappings->count; i++)
        desired_unref(s->desired[i]);
    status_since_fini(&s->since);
    mem_free_all(s->desired, s);
}

void status_look(struct status *s, const struct checks *checks)
{
    status_since_look(&s->since, checks, clock_mono_ms());
}

void status_take(struct status *s, size_t mapping, const struct desired *desired)
{
    if (s == NULL)
        return;
    desired_unref(s->desired[mapping]);
    s->desired[mapping] = desired_ref(desired);
    s->changed(s->arg);
}

/* ---- since when a check fails ---- */

uint64_t status_since_of(const struct status_since *s, const struct check *c)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].state == c->state && str_eq(s->list[i].name, c->name))
            return s->list[i].since_ms;
    return 0;
}

uint64_t status_since_oldest(const struct status_since *s, enum check_state state)
{
    uint64_t oldest = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].state == state && (oldest == 0 || s->list[i].since_ms < oldest))
            oldest = s->list[i].since_ms;
    return oldest;
}

void status_since_look(struct status_since *s, const struct checks *checks, uint64_t now_ms)
{
    struct status_since next = {0};
    for (size_t i = 0; i < checks->count; i++) {
        const struct check *c = &checks->list[i];
        if (c->state != CHECK_FAIL && c->state != CHECK_WARN)
            continue;
        uint64_t since_ms = status_since_of(s, c);
        next.list = mem_resize(next.list, next.count + 1, sizeof(next.list[0]));
        next.list[next.count++] = (struct status_since_entry){
            .name = mem_strdup(c->name), .state = c->state, .since_ms = since_ms != 0 ? since_ms : now_ms};
    }
    status_since_fini(s);
    *s = next;
}

void status_since_fini(struct status_since *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->list[i].name);
    free(s->list);
    *s = (struct status_since){0};
}

/* ---- a desired state ---- */

struct node_listing {
    const struct desired *desired;
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
    size_t room;
};

static yyjson_mut_val *status_nodes_add(struct node_listing *l, const char *name, const char *state,
                                        const struct desired_server *s, const char *reason)
{
    yyjson_mut_val *obj = json_add_object(l->doc, l->list);
    l->room--;
    json_fields(l->doc, obj, json_str("name", name), json_str("state", state),
                json_str("address", s != NULL ? s->address : NULL),
                json_int("port", s != NULL && s->port != 0 ? s->port : -1),
                json_int("weight", s != NULL ? s->weight : -1), json_str("reason", reason));
    return obj;
}

static void status_nodes_add_servers(struct node_listing *l, const struct desired_server *from, size_t count,
                                     enum server_state which, const char *state)
{
    for (size_t i = 0; i < count && l->room > 0; i++) {
        if (from[i].state != which)
            continue;
        cleanup(mem_free_ptr) char *reason = desired_server_reason(l->desired, &from[i]);
        status_nodes_add(l, from[i].name, state, &from[i], reason);
    }
}

static void add_skips(struct node_listing *l, bool ordinary)
{
    const struct desired *d = l->desired;
    for (size_t i = 0; i < d->skip_count && l->room > 0; i++) {
        const struct desired_skip *s = &d->skips[i];
        if (s->ordinary != ordinary)
            continue;
        cleanup(mem_free_ptr) char *subject = desired_skip_subject(d, s), *reason = desired_skip_reason(d, s);
        yyjson_mut_val *obj = status_nodes_add(l, s->server, "out", NULL, reason);
        json_fields(l->doc, obj, json_str("subject", subject), json_bool("ordinary", s->ordinary),
                    json_bool("announced", s->announced));
    }
}

void status_nodes_put(const struct desired *d, yyjson_mut_doc *doc, yyjson_mut_val *obj, size_t *left)
{
    static const char *const states[] = {[DESIRED_OK] = "ok",
                                         [DESIRED_EMPTY] = "empty",
                                         [DESIRED_NOT_SYNCED] = "waiting",
                                         [DESIRED_UNDECIDED] = "undecided"};
    static const struct desired nothing = {.state = DESIRED_NOT_SYNCED};
    if (d == NULL)
        d = &nothing;
    size_t draining = 0, listed = d->server_count + d->skip_count + d->spare_count;
    listed = listed < STATUS_LIST_MAX ? listed : STATUS_LIST_MAX;
    listed = listed < *left ? listed : *left;
    *left -= listed;
    for (size_t i = 0; i < d->server_count; i++)
        draining += d->servers[i].state == SERVER_DRAINING;
    json_fields(doc, obj, json_str("state", states[d->state]), json_str("problem", d->problem),
                json_str("note", d->note), json_bool("paused", d->paused), json_uint("endpoints", d->endpoint_count));
    yyjson_mut_val *nodes = json_put_object(doc, obj, "nodes");
    json_fields(doc, nodes, json_uint("live", d->server_count - draining), json_uint("draining", draining),
                json_uint("out", d->skip_count), json_uint("spare", d->spare_count), json_uint("listed", listed));
    struct node_listing l = {.desired = d, .doc = doc, .list = json_put_list(doc, nodes, "list"), .room = listed};
    status_nodes_add_servers(&l, d->servers, d->server_count, SERVER_DRAINING, "draining");
    add_skips(&l, false);
    status_nodes_add_servers(&l, d->servers, d->server_count, SERVER_LIVE, "live");
    add_skips(&l, true);
    status_nodes_add_servers(&l, d->spares, d->spare_count, SERVER_OUT, "spare");
}

/* ---- Kubernetes ---- */

struct listing {
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
    const struct checks *checks;
    enum status_state worst;
};

static void add_watch(void *arg, const struct source *of)
{
    struct listing *l = arg;
    const struct informer_status is = source_status(of);
    json_fields(
        l->doc, json_add_object(l->doc, l->list), json_str("resource", of->resource), json_str("service", of->scope),
        json_str("state", is.denied != INFORMER_ALLOWED ? "refused"
                          : is.synced && is.stale       ? "stale"
                          : is.synced                   ? "synced"
                                                        : "waiting"),
        json_uint("objects", cache_count(of->cache)), json_str("problem", is.problem[0] != '\0' ? is.problem : NULL));
    /* As /readyz has it: a Service that may not be read is no failure there. */
    cleanup(mem_free_ptr) char *name = source_check_name(of);
    const struct check *check = checks_find(l->checks, name);
    if (check != NULL && check->state == CHECK_FAIL && l->worst != STATUS_PROBLEM)
        l->worst = is.problem[0] != '\0' ? STATUS_PROBLEM : STATUS_WAITING;
}

static void add_certificate(void *arg, const char *peer, const char *which, int64_t not_after_s)
{
    struct listing *l = arg;
    json_fields(l->doc, json_add_object(l->doc, l->list), json_str("peer", peer), json_str("certificate", which),
                json_ms("not_after", not_after_s * 1000));
}

/* ---- backends and HAProxies ---- */

static int64_t wall_minus_mono_ms(const struct status *s)
{
    return s->started_wall_ms - (int64_t)s->started_mono_ms;
}

static void put_backends(const struct status *s, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    yyjson_mut_val *list = json_put_list(doc, root, "backends");
    size_t left = STATUS_LISTS_MAX;
    for (size_t i = 0; i < s->of.mappings->count; i++) {
        const struct mapping *m = &s->of.mappings->list[i];
        yyjson_mut_val *obj = json_add_object(doc, list), *service = NULL;
        json_fields(doc, obj, json_str("backend", m->backend));
        service = json_put_object(doc, obj, "service");
        json_fields(doc, service, json_str("namespace", m->rules.namespace), json_str("name", m->rules.service),
                    json_str("port", m->rules.port));
        status_nodes_put(s->desired[i], doc, obj, &left);
    }
}

/* ---- the whole ---- */

static const char *overall(const struct status_now *now, enum status_state worst)
{
    if (now->stopping)
        return "stopping";
    if (worst < STATUS_WAITING && now->targets == NULL)
        return now->ready ? "standby" : status_state_name(STATUS_PROBLEM);
    if (worst == STATUS_IN_SYNC && !now->ready)
        return status_state_name(STATUS_PROBLEM); /* a check of no HAProxy */
    return status_state_name(worst);
}

static int64_t status_wall_ms(const struct status *s, uint64_t mono_ms)
{
    return mono_ms != 0 ? (int64_t)mono_ms + wall_minus_mono_ms(s) : 0;
}

/* The part of the document that stays the same while nothing happens. */
static void print_news(const struct status *s, const struct status_now *now, struct buf *json)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    struct listing watches = {.doc = doc, .list = yyjson_mut_arr(doc), .checks = now->checks},
                   certificates = {.doc = doc, .list = yyjson_mut_arr(doc)},
                   haproxies = {.doc = doc, .list = yyjson_mut_arr(doc)};
    sources_each(s->of.sources, add_watch, &watches);
    certificates_each(s->of.clients, add_certificate, &certificates);
    struct status_haproxies h = {
        .checks = now->checks, .wall_minus_mono_ms = wall_minus_mono_ms(s), .left = STATUS_LISTS_MAX};
    for (size_t i = 0; now->targets == NULL && i < settings_haproxy_count(s->in->settings); i++)
        status_haproxy_add_standby(settings_haproxy_name(s->in->settings, i), doc, haproxies.list);
    for (size_t i = 0; now->targets != NULL && i < targets_count(now->targets); i++)
        status_haproxy_add(targets_at(now->targets, i), &h, doc, haproxies.list, &haproxies.worst);
    cleanup(mem_free_ptr) char *summary = checks_summary(now->checks, "in sync");
    json_fields(doc, root, json_str("version", s->in->version), json_str("cluster", s->in->settings->cluster_name),
                json_ms("started_at", s->started_wall_ms), json_bool("dry_run", s->in->settings->dry_run),
                json_bool("stopping", now->stopping));
    const char *state = overall(now, watches.worst > haproxies.worst ? watches.worst : haproxies.worst);
    json_fields(doc, root, json_str("state", state));
    /* In sync: since the last HAProxy became so. Else what fails first, or has a remark, says it. */
    uint64_t fails_ms = status_since_oldest(&s->since, CHECK_FAIL);
    uint64_t since_ms = fails_ms != 0 ? fails_ms : status_since_oldest(&s->since, CHECK_WARN);
    bool in_sync = str_eq(state, status_state_name(STATUS_IN_SYNC));
    json_fields(doc, root, json_ms("since", in_sync ? h.in_sync_since_ms : status_wall_ms(s, since_ms)),
                json_str("summary", summary), json_bool("ready", now->ready));
    yyjson_mut_val *obj, *checks = json_put_list(doc, root, "checks");
    for (size_t i = 0; i < now->checks->count; i++) {
        const struct check *c = &now->checks->list[i];
        obj = json_add_object(doc, checks);
        json_fields(doc, obj, json_str("name", c->name), json_str("state", check_state_word(c->state)),
                    json_str("reason", c->reason), json_str("hint", c->hint),
                    json_ms("since", status_wall_ms(s, status_since_of(&s->since, c))));
    }
    const struct leadership_status is = leadership_status(s->of.leadership);
    obj = json_put_object(doc, root, "leader");
    json_fields(doc, obj, json_bool("election", is.election), json_bool("leading", is.leading),
                json_str("lease", is.lease), json_str("holder", is.holder), json_str("problem", is.problem));
    json_fields(doc, root,
                json_uint("nodes_known", s->of.sources != NULL ? cache_count(sources_nodes(s->of.sources)) : 0));
    json_put(doc, root, "watches", watches.list);
    json_put(doc, root, "certificates", certificates.list);
    const struct plan_rules rules = rules_for_plan(s->in->settings);
    obj = json_put_object(doc, root, "loss_limit");
    json_fields(doc, obj, json_uint("max_loss_percent", rules.max_loss_percent),
                json_uint("delay_seconds", rules.loss_window_ms / 1000));
    put_backends(s, doc, root);
    json_put(doc, root, "haproxies", haproxies.list);
    status_source_put(s->of.config, doc, root);
    yyjson_mut_val *history = json_put_list(doc, root, "history");
    for (size_t i = 0; i < history_count(s->in->history); i++) {
        const struct history_entry *e = history_at(s->in->history, i);
        json_fields(doc, json_add_object(doc, history), json_uint("number", e->number), json_ms("at", e->wall_ms),
                    json_str("kind", history_kind_name(e->kind)), json_str("haproxy", e->target),
                    json_str("backend", e->backend), json_str("server", e->server), json_str("state", e->state),
                    json_str("text", e->text), json_str("why", e->why), json_str("cause", e->cause),
                    json_int("took_us", e->took_us > 0 ? (int64_t)e->took_us : -1),
                    json_int("latency_us", e->latency_us > 0 ? (int64_t)e->latency_us : -1));
    }
    json_write(doc, false, json);
    json_free(doc);
}

void status_print(const struct status *s, const struct status_now *now, struct buf *json, size_t *ret_news_at)
{
    cleanup(buf_fini) struct buf news = {0};
    char generated_at[RFC3339_BYTES];
    print_news(s, now, &news);
    rfc3339_format((int64_t)clock_wall_ms() * 1000, 3, generated_at);
    buf_printf(json, "{\"schema_version\":%d,\"generated_at\":\"%s\",\"uptime_seconds\":%llu,", STATUS_SCHEMA_VERSION,
               generated_at, (unsigned long long)((clock_mono_ms() - s->started_mono_ms) / 1000));
    *ret_news_at = json->len;
    buf_add(json, buf_str(&news) + 1); /* behind its '{' */
}
