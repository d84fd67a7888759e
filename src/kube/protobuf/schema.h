/* The messages that are read, field by field as far as kube/decode reads them. Numbers and types are those of the
 * generated.proto of each package, which schema.c names. */
#ifndef KUBE_PROTOBUF_SCHEMA_H
#define KUBE_PROTOBUF_SCHEMA_H

#include "kube/protobuf/message.h"

extern const struct proto_message proto_node, proto_service, proto_endpoint_slice, proto_endpoints, proto_pod,
    proto_lease;
/* Of every list: its metadata; and what the API server sends instead of an object or list. */
extern const struct proto_message proto_list_meta, proto_status;

#define PROTO_LIST_METADATA 1u /* of every XList: ListMeta metadata = 1, repeated X items = 2 */
#define PROTO_LIST_ITEMS 2u

#endif
