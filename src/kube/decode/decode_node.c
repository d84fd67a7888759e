#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/decode/decode_field.h"
#include "kube/protobuf/message.h"
#include "model/node_rules.h"

#define ADDRESS_TYPE_MAX_BYTES 64u
#define ADDRESS_MAX_BYTES 253u
#define LABEL_BYTES 63u
#define PHASE_MAX_BYTES 64u
#define POD_IP_MAX_BYTES 64u

/* ---- addresses ---- */

/* As HAProxy's resolvers take them: RFC 1123, and underscores. */
static bool is_dns_name(const char *name)
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    for (const char *label = name;; label++) {
        size_t len = strspn(label, chars);
        if (len == 0 || len > LABEL_BYTES || label[0] == '-' || label[len - 1] == '-')
            return false;
        if (label[len] == '\0') { /* "10.1" and "0x7f000001" are addresses to a resolver */
            bool hex = len >= 2 && label[0] == '0' && (label[1] == 'x' || label[1] == 'X');
            return hex ? strspn(label + 2, "0123456789abcdefABCDEF") < len - 2 : strspn(label, "0123456789") < len;
        }
        if (label[len] != '.')
            return false;
        label += len;
    }
}

/* *ret_text stays NULL where the type is not used; *ret_type as far as it can be read. */
static int node_address_of(yyjson_val *address, enum node_address_type *ret_type, const char **ret_text,
                           struct error *err)
{
    static const char *const names[NODE_ADDRESS_TYPES] = {"InternalIP", "ExternalIP", "Hostname"};
    const char *name, *text;
    if (!yyjson_is_obj(address))
        return error_set(err, ERROR_INVALID, "is %s, not an object", json_type(address));
    if (json_get_line(address, "type", ADDRESS_TYPE_MAX_BYTES, &name, err) != 0)
        return -1;
    size_t type = 0;
    while (type < NODE_ADDRESS_TYPES && !str_eq(name, names[type]))
        type++;
    *ret_type = (enum node_address_type)type;
    if (type == NODE_ADDRESS_TYPES)
        return 0;
    if (json_get_line(address, "address", ADDRESS_MAX_BYTES, &text, err) != 0)
        return -1;
    if (str_empty(text))
        return error_set(err, ERROR_INVALID, "address is absent");
    bool named = *ret_type == NODE_HOSTNAME && str_ip_family(text) == 0;
    if (named && !is_dns_name(text))
        return error_set(err, ERROR_INVALID, "address \"%.80s\" is not a DNS name", text);
    if (!named && check_ip(text, "address", 0, err) != 0)
        return -1;
    *ret_text = text;
    return 0;
}

/* No InternalIP (or nothing at all) although there seems to be one: an error, so that the state before it is kept. */
static int read_addresses(struct decode *d, yyjson_val *status, struct node *n, struct error *err)
{
    size_t i, max;
    yyjson_val *addresses, *address;
    bool lost_internal = false, has_internal = false;
    if (json_get_array(status, "addresses", &addresses, err) != 0)
        return error_prefix(err, "status");
    if (yyjson_arr_size(addresses) > 0)
        n->addresses = mem_array(NODE_ADDRESSES_MAX, sizeof(*n->addresses));
    yyjson_arr_foreach (addresses, i, max, address) {
        enum node_address_type type = NODE_INTERNAL_IP; /* for all we know */
        const char *text = NULL;
        if (node_address_of(address, &type, &text, decode_part_error(d)) != 0) {
            lost_internal |= type == NODE_INTERNAL_IP;
            decode_left_out(d, "status.addresses[%zu]", i);
        } else if (text != NULL) {
            /* Only the first of each type and family is kept: so NODE_ADDRESSES_MAX is enough. */
            size_t k = 0;
            while (k < n->address_count &&
                   (n->addresses[k].type != type || str_ip_family(n->addresses[k].text) != str_ip_family(text)))
                k++;
            if (k == n->address_count)
                n->addresses[n->address_count++] = (struct node_address){type, mem_strdup(text)};
            has_internal |= type == NODE_INTERNAL_IP;
        }
    }
    if (d->left_out == 0 || has_internal || (n->address_count > 0 && !lost_internal))
        return 0;
    *err = *d->partial;
    return -1;
}

/* ---- which nodes may serve ---- */

/* The taint that matters may be the one that cannot be read. */
static int read_taints(yyjson_val *object, struct node *n, struct error *err)
{
    size_t i, max;
    yyjson_val *spec, *taints, *taint;
    if (json_get_object(object, "spec", &spec, err) != 0)
        return -1;
    if (json_get_array(spec, "taints", &taints, err) != 0)
        return error_prefix(err, "spec");
    yyjson_arr_foreach (taints, i, max, taint) {
        yyjson_val *key = yyjson_obj_get(taint, "key");
        if (!yyjson_is_obj(taint))
            return error_set(err, ERROR_INVALID, "spec.taints[%zu] is %s, not an object", i, json_type(taint));
        if (key != NULL && !yyjson_is_str(key) && !yyjson_is_null(key))
            return error_set(err, ERROR_INVALID, "spec.taints[%zu]: key is %s, not a string", i, json_type(key));
        n->excluded_by |= node_excluded_by(EXCLUDED_BY_TAINT, yyjson_get_str(key));
    }
    return 0;
}

static int decode_node(struct decode *d, yyjson_val *from, void *object, struct error *err)
{
    struct node *n = object;
    yyjson_val *status, *labels, *metadata = yyjson_obj_get(from, "metadata");
    n->uid_hash = d->uid_hash;
    if (json_get_object(from, "status", &status, err) != 0 || read_addresses(d, status, n, err) != 0 ||
        read_taints(from, n, err) != 0)
        return -1;
    /* A label or a deletionTimestamp that is there is there, whatever its value. */
    if (json_get_object(metadata, "labels", &labels, err) != 0)
        return error_prefix(err, "metadata");
    for (size_t row = 0; row < NODE_EXCLUSIONS; row++)
        if (node_exclusions[row].by == EXCLUDED_BY_LABEL && yyjson_obj_get(labels, node_exclusions[row].key) != NULL)
            n->excluded_by |= (uint8_t)(1u << row);
    yyjson_val *deleted = yyjson_obj_get(metadata, "deletionTimestamp"), *spec = yyjson_obj_get(from, "spec");
    if (deleted != NULL && !yyjson_is_null(deleted))
        n->excluded_by |= node_excluded_by(EXCLUDED_BY_DELETION, NULL);
    /* What is only reported. */
    size_t i, max;
    yyjson_val *conditions = NULL, *condition;
    if (json_get_bool(spec, "unschedulable", false, &n->cordoned, decode_part_error(d)) != 0)
        decode_left_out(d, "spec");
    if (json_get_array(status, "conditions", &conditions, decode_part_error(d)) != 0)
        decode_left_out(d, "status");
    yyjson_arr_foreach (conditions, i, max, condition) {
        if (!yyjson_is_obj(condition)) {
            (void)error_set(decode_part_error(d), ERROR_INVALID, "is %s, not an object", json_type(condition));
            decode_left_out(d, "status.conditions[%zu]", i);
        } else if (yyjson_equals_str(yyjson_obj_get(condition, "type"), "Ready")) {
            n->not_ready = !yyjson_equals_str(yyjson_obj_get(condition, "status"), "True");
        }
    }
    return 0;
}

const struct kube_resource kube_nodes = {
    .kind = "node",
    .plural = "nodes",
    .api = "/api/v1",
    .record = &node_record,
    .decode = decode_node,
    .message = &proto_node,
    .message_kind = "Node",
};

/* ---- Pods ---- */

static int decode_pod(struct decode *d, yyjson_val *from, void *object, struct error *err)
{
    struct pod *p = object;
    yyjson_val *status, *metadata = yyjson_obj_get(from, "metadata");
    const char *phase, *address;
    if (d->uid == NULL)
        return error_set(err, ERROR_INVALID, "metadata.uid is absent");
    if (json_get_object(from, "status", &status, err) != 0)
        return -1;
    if (json_get_line(status, "phase", PHASE_MAX_BYTES, &phase, err) != 0 ||
        json_get_line(status, "podIP", POD_IP_MAX_BYTES, &address, err) != 0 ||
        (!str_empty(address) && check_ip(address, "podIP", 0, err) != 0))
        return error_prefix(err, "status");
    p->uid = mem_strdup(d->uid);
    p->address = str_empty(address) ? NULL : mem_strdup(address);
    p->running = str_eq(phase, "Running");
    p->terminating = yyjson_is_str(yyjson_obj_get(metadata, "deletionTimestamp"));
    return 0;
}

const struct kube_resource kube_pods = {
    .kind = "pod",
    .plural = "pods",
    .api = "/api/v1",
    .record = &pod_record,
    .decode = decode_pod,
    .message = &proto_pod,
    .message_kind = "Pod",
    .by_namespace = true,
};
