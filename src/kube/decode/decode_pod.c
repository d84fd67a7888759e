#include "base/mem.h"
#include "base/str.h"
#include "kube/decode/decode_field.h"
#include "kube/protobuf/schema.h"

#define PHASE_MAX_BYTES 64u
#define ADDRESS_MAX_BYTES 64u

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
        json_get_line(status, "podIP", ADDRESS_MAX_BYTES, &address, err) != 0 ||
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
