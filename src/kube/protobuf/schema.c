#include "kube/protobuf/message.h"

#include "base/compiler.h"

/* A table is read by its columns. */
/* clang-format off */
#define TEXT(n, name)            {name, NULL, n, PROTO_TEXT, false, false}
#define TEXT_KEPT(n, name)    {name, NULL, n, PROTO_TEXT, false, true}
#define TEXTS(n, name)           {name, NULL, n, PROTO_TEXT, true, false}
#define BOOL(n, name)            {name, NULL, n, PROTO_BOOL, false, false}
#define BOOL_KEPT(n, name)    {name, NULL, n, PROTO_BOOL, false, true}
#define INT(n, name)             {name, NULL, n, PROTO_INT, false, false}
#define INT_KEPT(n, name)     {name, NULL, n, PROTO_INT, false, true}
#define TIME(n, name)            {name, NULL, n, PROTO_TIME, false, false}
#define MAP(n, name)             {name, NULL, n, PROTO_MAP, false, false}
#define ONE(n, name, message)    {name, &(message), n, PROTO_MESSAGE, false, false}
#define MANY(n, name, message)   {name, &(message), n, PROTO_MESSAGE, true, false}
#define MESSAGE(message, ...)                                                     \
    static const struct proto_field message##_fields[] = {__VA_ARGS__};           \
    _Static_assert(array_len(message##_fields) <= PROTO_FIELDS_MAX, #message);    \
    const struct proto_message message = {message##_fields, array_len(message##_fields)}
#define PART(message, ...)                                                        \
    static const struct proto_field message##_fields[] = {__VA_ARGS__};           \
    _Static_assert(array_len(message##_fields) <= PROTO_FIELDS_MAX, #message);    \
    static const struct proto_message message = {message##_fields, array_len(message##_fields)}

/* ---- k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto ---- */

PART(object_meta, /* ObjectMeta */
    TEXT(1, "name"),
    TEXT(3, "namespace"),
    TEXT(5, "uid"),
    TEXT(6, "resourceVersion"),
    TIME(8, "creationTimestamp"),
    TIME(9, "deletionTimestamp"),
    MAP(11, "labels"),
    MAP(12, "annotations"));

MESSAGE(proto_list_meta, /* ListMeta */
    TEXT(2, "resourceVersion"),
    TEXT(3, "continue"));

PART(status_cause, /* StatusCause */
    TEXT(1, "reason"));

PART(status_details, /* StatusDetails */
    MANY(4, "causes", status_cause),
    INT(5, "retryAfterSeconds"));

MESSAGE(proto_status, /* Status */
    TEXT(3, "message"),
    TEXT(4, "reason"),
    ONE(5, "details", status_details),
    INT(6, "code"));

/* ---- k8s.io/api/core/v1/generated.proto ---- */

PART(taint, /* Taint */
    TEXT_KEPT(1, "key"));

PART(node_spec, /* NodeSpec */
    BOOL(4, "unschedulable"),
    MANY(5, "taints", taint));

PART(node_condition, /* NodeCondition */
    TEXT_KEPT(1, "type"),
    TEXT_KEPT(2, "status"));

PART(node_address, /* NodeAddress */
    TEXT_KEPT(1, "type"),
    TEXT_KEPT(2, "address"));

PART(node_status, /* NodeStatus */
    MANY(4, "conditions", node_condition),
    MANY(5, "addresses", node_address));

MESSAGE(proto_node, /* Node */
    ONE(1, "metadata", object_meta),
    ONE(2, "spec", node_spec),
    ONE(3, "status", node_status));

PART(service_port, /* ServicePort */
    TEXT(1, "name"),
    TEXT(2, "protocol"),
    INT_KEPT(3, "port"),
    INT(5, "nodePort"));

PART(service_spec, /* ServiceSpec */
    MANY(1, "ports", service_port),
    TEXT(4, "type"),
    TEXT(11, "externalTrafficPolicy"),
    INT(12, "healthCheckNodePort"),
    TEXTS(19, "ipFamilies"));

MESSAGE(proto_service, /* Service */
    ONE(1, "metadata", object_meta),
    ONE(2, "spec", service_spec));

PART(core_endpoint_address, /* EndpointAddress */
    TEXT_KEPT(1, "ip"),
    TEXT_KEPT(4, "nodeName"));

PART(core_endpoint_port, /* EndpointPort */
    TEXT(1, "name"),
    INT_KEPT(2, "port"),
    TEXT(3, "protocol"));

PART(endpoint_subset, /* EndpointSubset */
    MANY(1, "addresses", core_endpoint_address),
    MANY(2, "notReadyAddresses", core_endpoint_address),
    MANY(3, "ports", core_endpoint_port));

MESSAGE(proto_endpoints, /* Endpoints */
    ONE(1, "metadata", object_meta),
    MANY(2, "subsets", endpoint_subset));

PART(pod_status, /* PodStatus */
    TEXT(1, "phase"),
    TEXT(6, "podIP"));

MESSAGE(proto_pod, /* Pod */
    ONE(1, "metadata", object_meta),
    ONE(3, "status", pod_status));

/* ---- k8s.io/api/discovery/v1/generated.proto ---- */

PART(endpoint_conditions, /* EndpointConditions */
    BOOL_KEPT(1, "ready"),
    BOOL_KEPT(2, "serving"),
    BOOL_KEPT(3, "terminating"));

PART(endpoint, /* Endpoint */
    TEXTS(1, "addresses"),
    ONE(2, "conditions", endpoint_conditions),
    TEXT_KEPT(6, "nodeName"));

PART(endpoint_port, /* EndpointPort */
    TEXT_KEPT(1, "name"),
    TEXT_KEPT(2, "protocol"),
    INT_KEPT(3, "port"));

MESSAGE(proto_endpoint_slice, /* EndpointSlice */
    ONE(1, "metadata", object_meta),
    MANY(2, "endpoints", endpoint),
    MANY(3, "ports", endpoint_port),
    TEXT_KEPT(4, "addressType"));

/* ---- k8s.io/api/coordination/v1/generated.proto ---- */

PART(lease_spec, /* LeaseSpec */
    TEXT_KEPT(1, "holderIdentity"));

MESSAGE(proto_lease, /* Lease */
    ONE(1, "metadata", object_meta),
    ONE(2, "spec", lease_spec));
/* clang-format on */
