/* "templates", "services" and "etcd" of the document: where a whole configuration comes from, or goes to; each null where it does not. */
#include <yyjson.h>

#include "daemon/config/config_engine.h"
#include "daemon/config/config_source.h"
#include "daemon/etcd/etcd_source.h"
#include "daemon/etcd/load_balancers.h"
#include "daemon/etcd/publisher.h"
#include "daemon/services/services_source.h"
#include "daemon/status/status_parts.h"
#include "daemon/template/remarks.h"
#include "daemon/template/template_source.h"
#include "daemon/template/watches.h"
#include "json/write.h"

#define REMARKS_LISTED 50

/* Those that left something out, or the others. of_any: of any kind of object, not of Services alone. */
static void add_remarks(const struct remarks *remarks, bool of_any, bool left_out, size_t *room, yyjson_mut_doc *doc,
                        yyjson_mut_val *list)
{
    for (size_t i = 0; remarks != NULL && i < remarks_count(remarks) && *room > 0; i++) {
        const struct remark *m = remarks_at(remarks, i);
        if (m->left_out != left_out)
            continue;
        yyjson_mut_val *obj = json_add_object(doc, list);
        if (of_any) {
            json_put_text(doc, obj, "resource", m->resource);
            json_put_text(doc, obj, "kind", m->kind);
        }
        json_put_text(doc, obj, "namespace", m->namespace);
        json_put_text(doc, obj, "name", m->name);
        json_put_bool(doc, obj, "left_out", m->left_out);
        json_put_bool(doc, obj, "as_before", m->as_before);
        json_put_text(doc, obj, "text", m->text);
        (*room)--;
    }
}

/* ---- templates ---- */

static void put_change(const struct renders_view *v, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    yyjson_mut_val *obj = json_put_object(doc, root, "change");
    json_put_time(doc, obj, "at", v->changed_wall_ms);
    json_put_bool(doc, obj, "first", v->first);
    json_put_count(doc, obj, "added", v->added);
    json_put_count(doc, obj, "removed", v->removed);
    json_put_count(doc, obj, "file_count", v->change_count);
    yyjson_mut_val *list = json_put_list(doc, obj, "files");
    for (size_t i = 0; i < v->change_count && i < RENDERS_CHANGES_MAX; i++) {
        const struct render_change *c = &v->changes[i];
        yyjson_mut_val *file = json_add_object(doc, list);
        json_put_text(doc, file, "kind", c->kind);
        json_put_text(doc, file, "name", c->name);
        json_put_text(doc, file, "change", c->what);
        json_put_int_or_null(doc, file, "added", c->counted ? (int64_t)c->added : -1);
        json_put_int_or_null(doc, file, "removed", c->counted ? (int64_t)c->removed : -1);
    }
}

static void put_renders(const struct renders_view *v, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    json_put_time(doc, root, "rendered_at", v->succeeded_wall_ms);
    json_put_int_or_null(doc, root, "took_us", v->succeeded_wall_ms != 0 ? (int64_t)v->took_us : -1);
    json_put_count(doc, root, "files", v->files);
    yyjson_mut_val *renders = json_put_object(doc, root, "renders");
    json_put_count(doc, renders, "changed", v->changed);
    json_put_count(doc, renders, "unchanged", v->unchanged);
    json_put_count(doc, renders, "failed", v->failed);
    if (v->changed_wall_ms == 0)
        json_put_text(doc, root, "change", NULL);
    else
        put_change(v, doc, root);
    if (v->failure == NULL) {
        json_put_text(doc, root, "failure", NULL);
        return;
    }
    yyjson_mut_val *failure = json_put_object(doc, root, "failure");
    json_put_time(doc, failure, "at", v->failed_wall_ms);
    json_put_text(doc, failure, "text", v->failure);
}

static void put_templates(const struct template_source *t, yyjson_mut_doc *doc, yyjson_mut_val *obj)
{
    const struct template_view v = template_source_view(t);
    json_put_text(doc, obj, "from", v.from);
    if (v.set_hash == NULL) {
        json_put_text(doc, obj, "set", NULL);
    } else {
        yyjson_mut_val *set = json_put_object(doc, obj, "set");
        json_put_text(doc, set, "sha256", v.set_hash);
        json_put_count(doc, set, "bytes", v.set_bytes);
        json_put_count(doc, set, "templates", v.templates);
        json_put_text(doc, set, "last_good", v.good_hash);
    }
    put_renders(&v.renders, doc, obj);
    size_t room = REMARKS_LISTED;
    json_put_count(doc, obj, "remarks", remarks_count(v.remarks) + (v.of_pods != NULL ? remarks_count(v.of_pods) : 0));
    yyjson_mut_val *list = json_put_list(doc, obj, "remark_list");
    add_remarks(v.of_pods, true, true, &room, doc, list);
    add_remarks(v.remarks, true, true, &room, doc, list);
    add_remarks(v.remarks, true, false, &room, doc, list);
    json_put_text(doc, obj, "problem", v.problem->kind != ERROR_NONE ? v.problem->message : NULL);
    list = json_put_list(doc, obj, "watches");
    for (size_t i = 0; v.watches != NULL && i < watches_count(v.watches); i++) {
        struct watch_view watch;
        watches_view(v.watches, i, &watch);
        yyjson_mut_val *row = json_add_object(doc, list);
        json_put_text(doc, row, "name", watch.name);
        json_put_text(doc, row, "resource", watch.resource);
        json_put_text(doc, row, "state", watch.state);
        json_put_count(doc, row, "objects", watch.objects);
        json_put_count(doc, row, "bytes", watch.bytes);
        json_put_count(doc, row, "removal_delayed", watch.delayed);
        json_put_count(doc, row, "left_out", remarks_left_out(v.remarks, watch.name));
        json_put_text(doc, row, "problem", watch.problem[0] != '\0' ? watch.problem : NULL);
    }
}

/* ---- annotated Services ---- */

static void put_services(const struct services_source *s, yyjson_mut_doc *doc, yyjson_mut_val *obj)
{
    const struct services_view v = services_source_view(s);
    size_t room = REMARKS_LISTED;
    json_put_count(doc, obj, "services", v.services);
    json_put_count(doc, obj, "served", v.served);
    json_put_count(doc, obj, "refused", v.refused);
    json_put_count(doc, obj, "no_endpoint", v.no_endpoint);
    json_put_count(doc, obj, "removal_delayed", v.delayed);
    json_put_text(doc, obj, "problem", v.problem);
    yyjson_mut_val *report = yyjson_mut_doc_get_root(v.report);
    json_put_count(doc, obj, "frontend_count", yyjson_mut_get_uint(yyjson_mut_obj_get(report, "frontend_count")));
    json_put(doc, obj, "frontends", yyjson_mut_val_mut_copy(doc, yyjson_mut_obj_get(report, "frontends")));
    json_put_count(doc, obj, "remarks", remarks_count(v.remarks));
    yyjson_mut_val *list = json_put_list(doc, obj, "remark_list");
    add_remarks(v.remarks, false, true, &room, doc, list);
    add_remarks(v.remarks, false, false, &room, doc, list);
}

/* ---- etcd ---- */

/* Those that are not in sync come first. */
static void put_load_balancers(const struct load_balancers *l, uint64_t version, yyjson_mut_doc *doc,
                               yyjson_mut_val *obj)
{
    size_t counts[LOAD_BALANCER_STATES] = {0}, left = STATUS_LIST_MAX, count;
    const struct load_balancer *all = load_balancers_list(l, &count);
    yyjson_mut_val *list = json_put_list(doc, obj, "list");
    for (unsigned state = LOAD_BALANCER_STATES; state-- > 0;)
        for (size_t i = 0; i < count; i++) {
            const struct load_balancer *one = &all[i];
            if (load_balancer_stands(one, version) != (enum load_balancer_state)state)
                continue;
            counts[state]++;
            if (left == 0)
                continue;
            left--;
            yyjson_mut_val *row = json_add_object(doc, list);
            json_put_text(doc, row, "name", one->name);
            json_put_text(doc, row, "state", load_balancer_state_name((enum load_balancer_state)state));
            json_put_count(doc, row, "version", one->version);
            json_put_text(doc, row, "sha256", one->sha256);
            json_put_text(doc, row, "reason", one->reason);
            json_put_time(doc, row, "since", one->since_ms);
        }
    for (unsigned state = 0; state < LOAD_BALANCER_STATES; state++)
        json_put_count(doc, obj, load_balancer_state_name((enum load_balancer_state)state), counts[state]);
}

void status_source_put(const struct config_engine *e, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    const struct config_source *source = config_engine_source(e);
    const struct template_source *templates = config_source_as(source, &template_source_ops);
    const struct services_source *services = config_source_as(source, &services_source_ops);
    const struct etcd_source *etcd = config_source_as(source, &etcd_source_ops);
    if (templates != NULL)
        put_templates(templates, doc, json_put_object(doc, root, "templates"));
    else
        json_put_text(doc, root, "templates", NULL);
    if (services != NULL)
        put_services(services, doc, json_put_object(doc, root, "services"));
    else
        json_put_text(doc, root, "services", NULL);
    if (config_engine_publisher(e) != NULL) {
        yyjson_mut_val *obj = json_put_object(doc, root, "etcd");
        struct publisher_view v = publisher_view(config_engine_publisher(e));
        json_put_text(doc, obj, "role", "producer");
        json_put_bool(doc, obj, "leading", v.leads);
        json_put_count(doc, obj, "version", v.version);
        json_put_text(doc, obj, "sha256", v.sha256);
        json_put_time(doc, obj, "published_at", v.published_ms);
        json_put_text(doc, obj, "problem", v.problem);
        put_load_balancers(config_engine_load_balancers(e), v.version, doc,
                           json_put_object(doc, obj, "load_balancers"));
    } else if (etcd == NULL) {
        json_put_text(doc, root, "etcd", NULL);
    }
    if (etcd == NULL)
        return;
    yyjson_mut_val *obj = json_put_object(doc, root, "etcd");
    json_put_text(doc, obj, "role", "load balancer");
    json_put_count(doc, obj, "version", etcd_source_version(etcd));
    json_put_text(doc, obj, "problem", etcd_source_problem(etcd));
}
