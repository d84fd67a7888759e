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
            json_fields(doc, obj, json_str("resource", m->resource), json_str("kind", m->kind));
        }
        json_fields(doc, obj, json_str("namespace", m->namespace), json_str("name", m->name),
                    json_bool("left_out", m->left_out), json_bool("as_before", m->as_before),
                    json_str("text", m->text));
        (*room)--;
    }
}

/* ---- templates ---- */

static void put_renders(const struct renders_view *v, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    json_fields(doc, root, json_ms("rendered_at", v->succeeded_wall_ms),
                json_int("took_us", v->succeeded_wall_ms != 0 ? (int64_t)v->took_us : -1),
                json_uint("files", v->files));
    json_fields(doc, json_put_object(doc, root, "renders"), json_uint("changed", v->changed),
                json_uint("unchanged", v->unchanged), json_uint("failed", v->failed));
    if (v->changed_wall_ms == 0) {
        json_fields(doc, root, json_str("change", NULL));
    } else {
        yyjson_mut_val *obj = json_put_object(doc, root, "change");
        json_fields(doc, obj, json_ms("at", v->changed_wall_ms), json_bool("first", v->first),
                    json_uint("added", v->added), json_uint("removed", v->removed),
                    json_uint("file_count", v->change_count));
        yyjson_mut_val *list = json_put_list(doc, obj, "files");
        for (size_t i = 0; i < v->change_count && i < RENDERS_CHANGES_MAX; i++) {
            const struct render_change *c = &v->changes[i];
            json_fields(doc, json_add_object(doc, list), json_str("kind", c->kind), json_str("name", c->name),
                        json_str("change", c->what), json_int("added", c->counted ? (int64_t)c->added : -1),
                        json_int("removed", c->counted ? (int64_t)c->removed : -1));
        }
    }
    if (v->failure == NULL) {
        json_fields(doc, root, json_str("failure", NULL));
        return;
    }
    json_fields(doc, json_put_object(doc, root, "failure"), json_ms("at", v->failed_wall_ms),
                json_str("text", v->failure));
}

static void put_templates(const struct template_source *t, yyjson_mut_doc *doc, yyjson_mut_val *obj)
{
    const struct template_view v = template_source_view(t);
    json_fields(doc, obj, json_str("from", v.from));
    if (v.set_hash == NULL) {
        json_fields(doc, obj, json_str("set", NULL));
    } else {
        json_fields(doc, json_put_object(doc, obj, "set"), json_str("sha256", v.set_hash),
                    json_uint("bytes", v.set_bytes), json_uint("templates", v.templates),
                    json_str("last_good", v.good_hash));
    }
    put_renders(&v.renders, doc, obj);
    size_t room = REMARKS_LISTED;
    json_fields(doc, obj,
                json_uint("remarks", remarks_count(v.remarks) + (v.of_pods != NULL ? remarks_count(v.of_pods) : 0)));
    yyjson_mut_val *list = json_put_list(doc, obj, "remark_list");
    add_remarks(v.of_pods, true, true, &room, doc, list);
    add_remarks(v.remarks, true, true, &room, doc, list);
    add_remarks(v.remarks, true, false, &room, doc, list);
    json_fields(doc, obj, json_str("problem", v.problem->kind != ERROR_NONE ? v.problem->message : NULL));
    list = json_put_list(doc, obj, "watches");
    for (size_t i = 0; v.watches != NULL && i < watches_count(v.watches); i++) {
        struct watch_view watch;
        watches_view(v.watches, i, &watch);
        json_fields(doc, json_add_object(doc, list), json_str("name", watch.name), json_str("resource", watch.resource),
                    json_str("state", watch.state), json_uint("objects", watch.objects),
                    json_uint("bytes", watch.bytes), json_uint("removal_delayed", watch.delayed),
                    json_uint("left_out", remarks_left_out(v.remarks, watch.name)),
                    json_str("problem", watch.problem[0] != '\0' ? watch.problem : NULL));
    }
}

/* ---- annotated Services ---- */

static void put_services(const struct services_source *s, yyjson_mut_doc *doc, yyjson_mut_val *obj)
{
    const struct services_view v = services_source_view(s);
    size_t room = REMARKS_LISTED;
    json_fields(doc, obj, json_uint("services", v.services), json_uint("served", v.served),
                json_uint("refused", v.refused), json_uint("no_endpoint", v.no_endpoint),
                json_uint("removal_delayed", v.delayed), json_str("problem", v.problem));
    yyjson_mut_val *report = yyjson_mut_doc_get_root(v.report);
    json_fields(doc, obj,
                json_uint("frontend_count", yyjson_mut_get_uint(yyjson_mut_obj_get(report, "frontend_count"))));
    json_put(doc, obj, "frontends", yyjson_mut_val_mut_copy(doc, yyjson_mut_obj_get(report, "frontends")));
    json_fields(doc, obj, json_uint("remarks", remarks_count(v.remarks)));
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
            json_fields(doc, json_add_object(doc, list), json_str("name", one->name),
                        json_str("state", load_balancer_state_name((enum load_balancer_state)state)),
                        json_uint("version", one->version), json_str("sha256", one->sha256),
                        json_str("reason", one->reason), json_ms("since", one->since_ms));
        }
    for (unsigned state = 0; state < LOAD_BALANCER_STATES; state++)
        json_fields(doc, obj, json_uint(load_balancer_state_name((enum load_balancer_state)state), counts[state]));
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
        json_fields(doc, root, json_str("templates", NULL));
    if (services != NULL)
        put_services(services, doc, json_put_object(doc, root, "services"));
    else
        json_fields(doc, root, json_str("services", NULL));
    if (config_engine_publisher(e) != NULL) {
        yyjson_mut_val *obj = json_put_object(doc, root, "etcd");
        struct publisher_view v = publisher_view(config_engine_publisher(e));
        json_fields(doc, obj, json_str("role", "producer"), json_bool("leading", v.leads),
                    json_uint("version", v.version), json_str("sha256", v.sha256),
                    json_ms("published_at", v.published_ms), json_str("problem", v.problem));
        put_load_balancers(config_engine_load_balancers(e), v.version, doc,
                           json_put_object(doc, obj, "load_balancers"));
    } else if (etcd == NULL) {
        json_fields(doc, root, json_str("etcd", NULL));
    }
    if (etcd == NULL)
        return;
    json_fields(doc, json_put_object(doc, root, "etcd"), json_str("role", "load balancer"),
                json_uint("version", etcd_source_version(etcd)), json_str("problem", etcd_source_problem(etcd)));
}
