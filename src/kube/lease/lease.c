#include "kube/lease/lease.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "json/write.h"
#include "kube/decode/decode_field.h"
#include "kube/informer.h"
#include "kube/protobuf/message.h"
#include "kube/watch.h"
#include "model/record.h"

#define API_VERSION "coordination.k8s.io/v1"

/* ---- reading ---- */

/* Absent is "", which every member of a Lease may be. */
static int lease_text_of(yyjson_val *of, const char *key, size_t max_bytes, const char **ret, struct error *err)
{
    if (json_get_line(of, key, max_bytes, ret, err) != 0)
        return -1;
    if (*ret == NULL)
        *ret = "";
    return 0;
}

static int read_lease(yyjson_val *root, struct lease *l, struct error *err)
{
    yyjson_val *metadata;
    const char *version;
    if (!yyjson_equals_str(yyjson_obj_get(root, "kind"), "Lease"))
        return error_set(err, ERROR_INVALID, "this is not a Lease");
    if (json_get_object(root, "metadata", &metadata, err) != 0 ||
        lease_text_of(metadata, "resourceVersion", LEASE_MAX_VERSION_BYTES, &version, err) != 0)
        return -1;
    if (version[0] == '\0')
        return error_set(err, ERROR_INVALID, "it has no resourceVersion");
    snprintf(l->version, sizeof(l->version), "%s", version);
    const struct {
        const char *key;
        char *text;
        size_t max_bytes;
    } texts[] = {{"holderIdentity", l->holder, LEASE_MAX_HOLDER_BYTES},
                 {"acquireTime", l->acquire_time, LEASE_TIME_BYTES},
                 {"renewTime", l->renew_time, LEASE_TIME_BYTES}};
    yyjson_val *spec;
    const char *text;
    int64_t duration_s, transitions;
    if (json_get_object(root, "spec", &spec, err) != 0)
        return -1;
    for (size_t i = 0; i < array_len(texts); i++) {
        if (lease_text_of(spec, texts[i].key, texts[i].max_bytes, &text, err) != 0)
            return error_prefix(err, "spec");
        snprintf(texts[i].text, texts[i].max_bytes + 1, "%s", text);
    }
    if (json_get_int(spec, "leaseDurationSeconds", 0, INT32_MAX, 0, &duration_s, err) != 0 ||
        json_get_int(spec, "leaseTransitions", 0, INT32_MAX, 0, &transitions, err) != 0)
        return error_prefix(err, "spec");
    l->duration_s = (int32_t)duration_s;
    l->transitions = (int32_t)transitions;
    return 0;
}

static yyjson_doc *lease_parse(const char *json, size_t len, yyjson_read_flag flags, struct error *err)
{
    if (len <= LEASE_MAX_BYTES)
        return json_parse(json, len, flags, "it", err);
    (void)error_set(err, ERROR_INVALID, "it has %zu bytes, at most %u are accepted", len, LEASE_MAX_BYTES);
    return NULL;
}

int lease_decode(const char *json, size_t len, struct lease *ret, struct error *err)
{
    struct lease l = {0};
    cleanup(json_doc_free_ptr) yyjson_doc *doc = lease_parse(json, len, 0, err);
    if (doc == NULL || read_lease(yyjson_doc_get_root(doc), &l, err) != 0)
        return -1;
    *ret = l;
    return 0;
}

bool lease_same_record(const struct lease *a, const struct lease *b)
{
    return str_eq(a->holder, b->holder) && str_eq(a->acquire_time, b->acquire_time) &&
           str_eq(a->renew_time, b->renew_time) && a->duration_s == b->duration_s && a->transitions == b->transitions;
}

/* ---- in a watch ---- */

struct held_lease {
    char *name, *holder; /* "": it has no holder */
};

static const struct record_member held_lease_rows[] = {RECORD_TEXT(struct held_lease, name),
                                                       RECORD_TEXT(struct held_lease, holder)};
static const struct record held_lease_record = {
    .bytes = sizeof(struct held_lease), .members = held_lease_rows, .member_count = array_len(held_lease_rows)};

static int decode_held_lease(struct decode *d, yyjson_val *from, void *object, struct error *err)
{
    struct held_lease *l = object;
    yyjson_val *spec;
    const char *holder;
    (void)d;
    if (json_get_object(from, "spec", &spec, err) != 0)
        return -1;
    if (lease_text_of(spec, "holderIdentity", LEASE_MAX_HOLDER_BYTES, &holder, err) != 0)
        return error_prefix(err, "spec");
    l->holder = mem_strdup(holder);
    return 0;
}

const struct kube_resource kube_leases = {
    .kind = "lease",
    .plural = "leases",
    .api = "/apis/" API_VERSION,
    .record = &held_lease_record,
    .decode = decode_held_lease,
    .message = &proto_lease,
    .message_kind = "Lease",
    .max_object_bytes = LEASE_MAX_BYTES,
};

bool lease_is_free(const void *object)
{
    const struct held_lease *l = object;
    return l != NULL && l->holder[0] == '\0';
}

static bool take_hint(void *arg, const struct sink_change *change, size_t *ret_count)
{
    const struct lease_hint *to = arg;
    (void)ret_count;
    bool is_free = change->step == SINK_REMOVE || (change->step == SINK_PUT && lease_is_free(change->object));
    if (change->step == SINK_PUT)
        record_free(&held_lease_record, change->object);
    if (is_free)
        to->free_now(to->arg);
    return false;
}

static void on_watch_status(void *arg)
{
    struct lease_hint *to = arg;
    struct informer_status s;
    informer_get_status(to->watch, &s);
    if (s.denied == INFORMER_FORBIDDEN && !to->denied)
        log_debug(to->log, "watching the Lease is denied; reading it every two seconds", log_str("error", s.problem));
    to->denied = s.denied == INFORMER_FORBIDDEN;
}

struct informer *lease_watch_new(struct event_base *base, struct kube_client *client, const struct log *log,
                                 const char *namespace, const char *name, struct lease_hint *to)
{
    static const struct watch_deadlines deadlines = {
        .answer_ms = 60000, .grace_ms = 30000, .timeout_least_s = 240, .timeout_most_s = 300};
    static const struct informer_callbacks callbacks = {.status = on_watch_status};
    cleanup(mem_free_ptr) char *field = mem_printf("metadata.name=%s", name);
    const struct informer_options options = {.resource = &kube_leases,
                                             .namespace = namespace,
                                             .field_selector = field,
                                             .changes_only = true,
                                             .deadlines = &deadlines};
    const struct informer_sink sink = {take_hint, to};
    to->log = log;
    to->watch = informer_new(base, client, &sink, log, &options, &callbacks, to);
    return to->watch;
}

/* ---- writing ---- */

static void lease_put_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, const char *text)
{
    if (text[0] != '\0')
        json_set(doc, object, key, json_text(doc, text));
    else
        yyjson_mut_obj_remove_key(object, key); /* no time is absent, not "" */
}

static void put_spec(yyjson_mut_doc *doc, yyjson_mut_val *spec, const struct lease *l)
{
    json_set(doc, spec, "holderIdentity", json_text(doc, l->holder));
    json_set(doc, spec, "leaseDurationSeconds", yyjson_mut_int(doc, l->duration_s));
    lease_put_text(doc, spec, "acquireTime", l->acquire_time);
    lease_put_text(doc, spec, "renewTime", l->renew_time);
    json_set(doc, spec, "leaseTransitions", yyjson_mut_int(doc, l->transitions));
}

char *lease_encode_new(const char *namespace, const char *name, const struct lease *l)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    lease_put_text(doc, root, "apiVersion", API_VERSION);
    lease_put_text(doc, root, "kind", "Lease");
    yyjson_mut_val *metadata = json_put_object(doc, root, "metadata");
    lease_put_text(doc, metadata, "namespace", namespace);
    lease_put_text(doc, metadata, "name", name);
    put_spec(doc, json_put_object(doc, root, "spec"), l);
    return json_take(doc);
}

char *lease_encode(const char *read_json, size_t len, const struct lease *l, struct error *err)
{
    /* Numbers of others stay the digits they are, however long. */
    cleanup(json_doc_free_ptr) yyjson_doc *read = lease_parse(read_json, len, YYJSON_READ_NUMBER_AS_RAW, err);
    if (read == NULL)
        return NULL;
    if (!yyjson_is_obj(yyjson_obj_get(yyjson_doc_get_root(read), "metadata"))) {
        (void)error_set(err, ERROR_INVALID, "it has no metadata");
        return NULL;
    }
    yyjson_mut_doc *doc = yyjson_doc_mut_copy(read, NULL);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *spec = yyjson_mut_obj_get(root, "spec");
    if (!yyjson_mut_is_obj(spec)) {
        spec = yyjson_mut_obj(doc);
        json_set(doc, root, "spec", spec);
    }
    lease_put_text(doc, yyjson_mut_obj_get(root, "metadata"), "resourceVersion", l->version);
    put_spec(doc, spec, l);
    return json_take(doc);
}
