#include <yyjson.h>

#include "daemon/etcd/etcd_source.h"
#include "daemon/etcd/load_balancers.h"
#include "daemon/etcd/publisher.h"
#include "daemon/status/status_parts.h"
#include "json/write.h"

/* Those that are not in sync come first. */
static void status_etcd_put_list(const struct load_balancers *l, uint64_t version, yyjson_mut_doc *doc,
                                 yyjson_mut_val *obj)
{
    size_t counts[LOAD_BALANCER_STATES] = {0}, left = STATUS_LIST_MAX;
    yyjson_mut_val *list = json_put_list(doc, obj, "list");
    for (unsigned state = LOAD_BALANCER_STATES; state-- > 0;)
        for (size_t i = 0; i < load_balancers_count(l); i++) {
            const struct load_balancer *one = load_balancers_at(l, i);
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

void status_etcd_put(const struct publisher *p, const struct load_balancers *l, const struct etcd_source *s,
                     yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    if (p == NULL && s == NULL) {
        json_put_text(doc, root, "etcd", NULL);
        return;
    }
    yyjson_mut_val *obj = json_put_object(doc, root, "etcd");
    json_put_text(doc, obj, "role", p != NULL ? "producer" : "load balancer");
    if (p == NULL) {
        json_put_count(doc, obj, "version", etcd_source_version(s));
        json_put_text(doc, obj, "problem", etcd_source_problem(s));
        return;
    }
    struct publisher_view v = publisher_view(p);
    json_put_bool(doc, obj, "leading", v.leads);
    json_put_count(doc, obj, "version", v.version);
    json_put_text(doc, obj, "sha256", v.sha256);
    json_put_time(doc, obj, "published_at", v.published_ms);
    json_put_text(doc, obj, "problem", v.problem);
    status_etcd_put_list(l, v.version, doc, json_put_object(doc, obj, "load_balancers"));
}
