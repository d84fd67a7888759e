/* A row for each member. What has none never comes out of a cache. */
#include "model/objects.h"

const char *const service_type_names[] = {[SERVICE_CLUSTER_IP] = "ClusterIP",
                                          [SERVICE_NODE_PORT] = "NodePort",
                                          [SERVICE_LOAD_BALANCER] = "LoadBalancer",
                                          [SERVICE_EXTERNAL_NAME] = "ExternalName"};

#define RECORD(rows) .members = (rows), .member_count = array_len(rows)

static const struct record_member node_address_rows[] = {
    RECORD_PLAIN(struct node_address, type),
    RECORD_TEXT(struct node_address, text),
};
static const struct record node_address_record = {sizeof(struct node_address), RECORD(node_address_rows)};

static const struct record_member node_rows[] = {
    RECORD_TEXT(struct node, name),
    RECORD_PLAIN(struct node, uid_hash),
    RECORD_LIST(struct node, addresses, address_count, &node_address_record),
    RECORD_PLAIN(struct node, excluded_by),
    RECORD_PLAIN(struct node, cordoned),
    RECORD_PLAIN(struct node, not_ready),
};
const struct record node_record = {sizeof(struct node), RECORD(node_rows)};

static const struct record_member service_port_rows[] = {
    RECORD_TEXT(struct service_port, name),
    RECORD_PLAIN(struct service_port, number),
    RECORD_PLAIN(struct service_port, node_port),
};
static const struct record service_port_record = {sizeof(struct service_port), RECORD(service_port_rows)};

static const struct record_member service_rows[] = {
    RECORD_TEXT(struct service, name),
    RECORD_PLAIN(struct service, uid_hash),
    RECORD_TEXT(struct service, uid),
    RECORD_PLAIN(struct service, type),
    RECORD_PLAIN(struct service, local),
    RECORD_PLAIN(struct service, health_check_node_port),
    RECORD_PLAIN(struct service, paused),
    RECORD_PLAIN(struct service, families),
    RECORD_LIST(struct service, ports, port_count, &service_port_record),
};
const struct record service_record = {sizeof(struct service), RECORD(service_rows)};

static const struct record_member object_annotation_rows[] = {
    RECORD_TEXT(struct object_annotation, name),
    RECORD_TEXT(struct object_annotation, value),
};
static const struct record object_annotation_record = {sizeof(struct object_annotation),
                                                       RECORD(object_annotation_rows)};

static const struct record_member annotated_service_rows[] = {
    RECORD_TEXT(struct annotated_service, service.name),
    RECORD_PLAIN(struct annotated_service, service.uid_hash),
    RECORD_TEXT(struct annotated_service, service.uid),
    RECORD_PLAIN(struct annotated_service, service.type),
    RECORD_PLAIN(struct annotated_service, service.local),
    RECORD_PLAIN(struct annotated_service, service.health_check_node_port),
    RECORD_PLAIN(struct annotated_service, service.paused),
    RECORD_PLAIN(struct annotated_service, service.families),
    RECORD_LIST(struct annotated_service, service.ports, service.port_count, &service_port_record),
    RECORD_PLAIN(struct annotated_service, created_us),
    RECORD_LIST(struct annotated_service, annotations, annotation_count, &object_annotation_record),
};
const struct record annotated_service_record = {sizeof(struct annotated_service), RECORD(annotated_service_rows)};

static const struct record_member endpoint_port_rows[] = {
    RECORD_TEXT(struct endpoint_port, name),
    RECORD_PLAIN(struct endpoint_port, number),
};
static const struct record endpoint_port_record = {sizeof(struct endpoint_port), RECORD(endpoint_port_rows)};

static const struct record_member endpoint_rows[] = {
    RECORD_TEXT(struct endpoint, address),      RECORD_TEXT(struct endpoint, node_name),
    RECORD_PLAIN(struct endpoint, ready),       RECORD_PLAIN(struct endpoint, serving),
    RECORD_PLAIN(struct endpoint, terminating),
};
static const struct record endpoint_record = {sizeof(struct endpoint), RECORD(endpoint_rows)};

static const struct record_member endpoint_group_rows[] = {
    RECORD_LIST(struct endpoint_group, ports, port_count, &endpoint_port_record),
    RECORD_LIST(struct endpoint_group, endpoints, endpoint_count, &endpoint_record),
};
static const struct record endpoint_group_record = {sizeof(struct endpoint_group), RECORD(endpoint_group_rows)};

static const struct record_member endpoint_set_rows[] = {
    RECORD_TEXT(struct endpoint_set, name),
    RECORD_PLAIN(struct endpoint_set, uid_hash),
    RECORD_LIST(struct endpoint_set, groups, group_count, &endpoint_group_record),
};
const struct record endpoint_set_record = {sizeof(struct endpoint_set), RECORD(endpoint_set_rows)};

static const struct record_member service_slice_rows[] = {
    RECORD_TEXT(struct service_slice, set.name),
    RECORD_PLAIN(struct service_slice, set.uid_hash),
    RECORD_LIST(struct service_slice, set.groups, set.group_count, &endpoint_group_record),
    RECORD_TEXT(struct service_slice, service),
};
const struct record service_slice_record = {sizeof(struct service_slice), RECORD(service_slice_rows)};

static const struct record_member pod_rows[] = {
    RECORD_TEXT(struct pod, name),     RECORD_TEXT(struct pod, uid),          RECORD_TEXT(struct pod, address),
    RECORD_PLAIN(struct pod, running), RECORD_PLAIN(struct pod, terminating),
};
const struct record pod_record = {sizeof(struct pod), RECORD(pod_rows)};

static const struct record_member secret_value_rows[] = {
    RECORD_TEXT(struct secret_value, key),
    RECORD_TEXT(struct secret_value, bytes),
    RECORD_PLAIN(struct secret_value, len),
};
static const struct record secret_value_record = {sizeof(struct secret_value), RECORD(secret_value_rows)};

static const struct record_member secret_rows[] = {
    RECORD_TEXT(struct secret_object, name),
    RECORD_TEXT(struct secret_object, uid),
    RECORD_TEXT(struct secret_object, version),
    RECORD_PLAIN(struct secret_object, paused),
    RECORD_LIST(struct secret_object, annotations, annotation_count, &object_annotation_record),
    RECORD_LIST(struct secret_object, values, value_count, &secret_value_record),
};
const struct record secret_record = {sizeof(struct secret_object), RECORD(secret_rows), .secret = true};
