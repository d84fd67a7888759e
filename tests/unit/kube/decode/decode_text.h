/*
 * Decoded events as lines of text, and JSON written with ' for ", so that a table of rules reads as what it means.
 *
 *     ADDED n1 v5 node 10.0.0.1 external:1.2.3.4 name:n1 excluded deleting
 *     ADDED web v5 service NodePort local check/30999 IPv4 IPv6 : http/80/30080 /443
 *     MODIFIED web v7 set https/8443 : 10.0.0.1@n1 10.0.0.2@n2=no | /9443 : fd00::1=leaving
 *     ADDED n1 v5 SKIPPED (the reason)        ADDED web v5 set : 10.0.0.1 PARTIAL (the reason)
 *     ADDED web v5 secret uid/u paused haproxy.operator/status=x : haproxy.cfg[6]global
 *     ADDED lb/a v5 pod u 10.0.0.7 running terminating        ADDED l v5 lease held
 *     BOOKMARK v9 end                         ERROR 410 Expired "too old" retry 1 too-large
 *
 * An InternalIP stands alone; "-" is a node without any address. A Service's port is NAME/PORT, and /NODEPORT where it has one.
 * An endpoint's state is left out where it is ready; "no", "serving", "leaving" (terminating, serving), "gone"; "odd" for
 * any other mix.
 */
#pragma once

#include <arpa/inet.h>
#include "../../test.h"

#include "kube/decode/decode.h"
#include "kube/answer.h"
#include "kube/lease/lease.h"
#include "model/node_rules.h"
#include "model/objects.h"
#include "../protobuf_write.h"

/* ' becomes ". */
static inline char *text_json(const char *quoted)
{
    char *s = mem_strdup(quoted);
    for (char *c = s; *c != '\0'; c++)
        if (*c == '\'')
            *c = '"';
    return s;
}

static inline const char *text_state(const struct endpoint *e)
{
    static const char *const names[8] = {"=no", "=gone", "=serving", "=leaving", "=odd", "=odd", "", "=ready-leaving"};
    return names[e->ready * 4 + e->serving * 2 + e->terminating];
}

static inline void text_of_set(struct buf *to, const struct endpoint_set *s)
{
    buf_add(to, " set");
    for (size_t g = 0; g < s->group_count; g++) {
        const struct endpoint_group *group = &s->groups[g];
        if (g > 0)
            buf_add(to, " |");
        for (size_t i = 0; i < group->port_count; i++)
            buf_printf(to, " %s/%u", group->ports[i].name, group->ports[i].number);
        buf_add(to, " :");
        for (size_t i = 0; i < group->endpoint_count; i++) {
            const struct endpoint *e = &group->endpoints[i];
            buf_printf(to, " %s%s%s%s", e->address, e->node_name != NULL ? "@" : "",
                       e->node_name != NULL ? e->node_name : "", text_state(e));
        }
    }
}

static inline void text_of_node(struct buf *to, const struct node *n)
{
    static const char *const types[NODE_ADDRESS_TYPES] = {"", "external:", "name:"};
    buf_add(to, n->address_count > 0 ? " node" : " node -");
    for (size_t i = 0; i < n->address_count; i++)
        buf_printf(to, " %s%s", types[n->addresses[i].type], n->addresses[i].text);
    static const char *const exclusions[NODE_EXCLUSIONS] = {" excluded", " to-be-deleted", " deleting"};
    for (size_t row = 0; row < NODE_EXCLUSIONS; row++)
        buf_add(to, n->excluded_by & (1u << row) ? exclusions[row] : "");
    buf_printf(to, "%s%s", n->cordoned ? " cordoned" : "", n->not_ready ? " not-ready" : "");
}

static inline void text_of_service(struct buf *to, const struct service *s)
{
    static const char *const types[] = {"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"};
    buf_printf(to, " service %s%s", types[s->type], s->local ? " local" : "");
    if (s->health_check_node_port != 0)
        buf_printf(to, " check/%u", s->health_check_node_port);
    if (s->paused)
        buf_add(to, " paused");
    for (size_t i = 0; i < array_len(s->families) && s->families[i] != 0; i++)
        buf_add(to, s->families[i] == AF_INET ? " IPv4" : s->families[i] == AF_INET6 ? " IPv6" : " ?");
    buf_add(to, " :");
    for (size_t i = 0; i < s->port_count; i++) {
        buf_printf(to, " %s/%u", s->ports[i].name, s->ports[i].number);
        if (s->ports[i].node_port != 0)
            buf_printf(to, "/%u", s->ports[i].node_port);
    }
}

/* Its record says that it is one: the resource is made at run time. */
static inline void text_of_annotated(struct buf *to, const struct annotated_service *s)
{
    text_of_service(to, &s->service);
    buf_printf(to, " created %lld", (long long)s->created_us);
    for (size_t i = 0; i < s->annotation_count; i++)
        buf_printf(to, " %s=%s", s->annotations[i].name, s->annotations[i].value);
}

static inline void text_of_secret(struct buf *to, const struct secret_object *s)
{
    buf_printf(to, " secret%s%s%s", s->uid != NULL ? " uid/" : "", s->uid != NULL ? s->uid : "",
               s->paused ? " paused" : "");
    for (size_t i = 0; i < s->annotation_count; i++)
        buf_printf(to, " %s=%s", s->annotations[i].name, s->annotations[i].value);
    buf_add(to, " :");
    for (size_t i = 0; i < s->value_count; i++)
        buf_printf(to, " %s[%zu]%s", s->values[i].key, s->values[i].len, s->values[i].bytes);
}

static inline void text_of_pod(struct buf *to, const struct pod *p)
{
    buf_printf(to, " pod %s%s%s%s%s", p->uid, p->address != NULL ? " " : "", p->address != NULL ? p->address : "",
               p->running ? " running" : "", p->terminating ? " terminating" : "");
}

static inline void text_of_status(struct buf *to, const struct kube_event *e)
{
    buf_printf(to, " %d %s \"%s\"", e->status_code, e->status_reason, e->status_message);
    if (e->retry_after_seconds != -1)
        buf_printf(to, " retry %d", e->retry_after_seconds);
    if (e->cause_too_large)
        buf_add(to, " too-large");
}

static inline void text_of_event(struct buf *to, const struct kube_event *e)
{
    static const char *const types[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "UNKNOWN"};
    buf_add(to, types[e->type]);
    if (e->name != NULL)
        buf_printf(to, " %s", e->name);
    if (e->resource_version != NULL)
        buf_printf(to, " v%s", e->resource_version);
    if (e->initial_events_end)
        buf_add(to, " end");
    if (e->object != NULL) {
        ck_assert_str_eq(record_name(e->object), e->name);
        if (e->of == &kube_nodes)
            text_of_node(to, e->object);
        else if (e->of == &kube_services)
            text_of_service(to, e->object);
        else if (e->of->record == &annotated_service_record)
            text_of_annotated(to, e->object);
        else if (e->of == &kube_pods)
            text_of_pod(to, e->object);
        else if (e->of == &kube_leases)
            buf_add(to, lease_is_free(e->object) ? " lease free" : " lease held");
        else if (e->of == &kube_secrets || e->of == &kube_config_maps)
            text_of_secret(to, e->object);
        else
            text_of_set(to, e->object);
        if (e->of == &kube_service_slices && ((const struct service_slice *)e->object)->service != NULL)
            buf_printf(to, " of %s", ((const struct service_slice *)e->object)->service);
    }
    if (e->type == KUBE_ERROR)
        text_of_status(to, e);
    if (e->skipped.kind != ERROR_NONE) {
        ck_assert_int_eq(e->skipped.kind, ERROR_INVALID);
        ck_assert(e->object == NULL && e->partial.kind == ERROR_NONE);
        buf_printf(to, " SKIPPED (%s)", e->skipped.message);
    }
    if (e->partial.kind != ERROR_NONE) {
        ck_assert_int_eq(e->partial.kind, ERROR_INVALID);
        buf_printf(to, " PARTIAL (%s)", e->partial.message);
    }
}

static inline void text_of_result(struct buf *to, int result, struct kube_event *e, const struct error *err)
{
    if (result != 0) {
        ck_assert_int_eq(result, -1);
        ck_assert_int_eq(err->kind, ERROR_INVALID);
        ck_assert(e->name == NULL && e->resource_version == NULL);
        ck_assert_ptr_null(e->object);
        buf_printf(to, "-1 (%s)", err->message);
    } else {
        text_of_event(to, e);
    }
    kube_event_fini(e); /* where it failed there is nothing to do, and it is allowed */
}

/* What a message gives, from memory of its very size. */
static inline void text_decode_protobuf(struct buf *to, const struct kube_resource *of, bool item, const char *bytes,
                                        size_t len)
{
    struct kube_event e;
    struct error err = {ERROR_NONE, 0, ""};
    cleanup(mem_free_ptr) char *copy = malloc(len > 0 ? len : 1);
    memcpy(copy, bytes, len);
    int result =
        item ? kube_decode_item_protobuf(of, copy, len, &e, &err) : kube_decode_event_protobuf(of, copy, len, &e, &err);
    text_of_result(to, result, &e, &err);
}

/* What one JSON text gives, from memory that ends right behind the padding (so that sanitizers see a step over it). */
static inline void text_decode(struct buf *to, const struct kube_resource *of, bool item, const char *json, size_t len)
{
    struct kube_event e;
    struct error err = {ERROR_NONE, 0, ""};
    cleanup(mem_free_ptr) char *copy = mem_alloc(len + KUBE_DECODE_PADDING_BYTES);
    memcpy(copy, json, len);
    int result = item ? kube_decode_item(of, copy, len, &e, &err) : kube_decode_event(of, copy, len, &e, &err);
    text_of_result(to, result, &e, &err);
}

/* A row of a table: an object (or event) and what it must give. */
struct text_row {
    const char *json; /* with ' for " */
    const char *want;
};

/* Where protobuf can say it, it gives the same. */
static inline void text_check_protobuf(const struct kube_resource *of, bool item, const char *json, const char *want)
{
    cleanup(buf_fini) struct buf message = {0}, got = {0};
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (of->message != NULL &&
        (item ? proto_write_message(&message, of->message, root) : proto_write_event(&message, of, root))) {
        text_decode_protobuf(&got, of, item, buf_str(&message), message.len);
        ck_assert_msg(strcmp(buf_str(&got), want) == 0, "in protobuf: %s\n got: %s\nwant: %s", json, buf_str(&got),
                      want);
    }
    yyjson_doc_free(doc);
}

static inline void text_check_rows(const struct kube_resource *of, bool item, const struct text_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cleanup(buf_fini) struct buf got = {0};
        cleanup(mem_free_ptr) char *json = text_json(rows[i].json);
        text_decode(&got, of, item, json, strlen(json));
        ck_assert_msg(strcmp(buf_str(&got), rows[i].want) == 0, "row %zu: %s\n got: %s\nwant: %s", i, json,
                      buf_str(&got), rows[i].want);
        text_check_protobuf(of, item, json, rows[i].want);
    }
}

static inline int text_on_event(void *arg, struct kube_event *e, struct error *err)
{
    struct buf *out = arg;
    text_of_event(out, e);
    buf_add(out, "\n");
    return 0;
}

/* All objects of an answer, a line each; for a list a last line with its version and continue token. `chunk` bytes at a
 * time. */
static inline char *text_of_answer(const struct kube_resource *of, bool list, const char *type, const struct buf *body,
                                   size_t chunk)
{
    struct buf out = {0};
    struct error err = {ERROR_NONE, 0, ""};
    struct kube_answer answer;
    struct kube_list_meta meta = {0};
    kube_answer_init(&answer, of, list);
    ck_assert_int_ne(kube_answer_head(&answer, type), KUBE_NOT_READABLE);
    for (size_t at = 0; at < body->len; at += chunk) {
        size_t n = body->len - at < chunk ? body->len - at : chunk;
        cleanup(mem_free_ptr) char *piece = malloc(n); /* of its very size */
        memcpy(piece, body->data + at, n);
        ck_assert_msg(kube_answer_feed(&answer, piece, n, text_on_event, &out, &err) == 0, "%s", err.message);
    }
    ck_assert_msg(kube_answer_end(&answer, &meta, &err) == 0, "%s", err.message);
    if (list)
        buf_printf(&out, "list v%s \"%s\"\n", meta.resource_version, meta.continue_token);
    kube_list_meta_fini(&meta);
    kube_answer_fini(&answer);
    return buf_take(&out);
}

/* The same body in protobuf. False: it cannot say it. */
static inline bool text_in_protobuf(const struct kube_resource *of, bool list, const struct buf *json, struct buf *to)
{
    yyjson_read_err stop;
    size_t at = 0;
    bool can = of->message != NULL;
    while (can && at < json->len) {
        struct buf event = {0};
        yyjson_doc *doc = yyjson_read_opts(json->data + at, json->len - at, YYJSON_READ_STOP_WHEN_DONE, NULL, &stop);
        yyjson_val *root = yyjson_doc_get_root(doc);
        if (root == NULL)
            break; /* the white space at the end */
        can = list ? proto_write_list(to, of, root) : proto_write_event(&event, of, root);
        if (!list)
            proto_write_frame(to, &event);
        at += yyjson_doc_get_read_size(doc);
        yyjson_doc_free(doc);
        buf_fini(&event);
    }
    return can;
}

struct text_file {
    const char *path;
    const struct kube_resource *of;
    bool list;
    const char *want;
};

/* Each file whole and one byte at a time, as it is and in protobuf. */
static inline void text_check_files(const struct text_file *files, size_t count)
{
    static const size_t chunks[] = {1u << 20, 1};
    for (size_t i = 0; i < count; i++) {
        const struct text_file *file = &files[i];
        cleanup(buf_fini) struct buf body = {0}, protobuf = {0};
        ck_assert_msg(buf_read_file(&body, file->path) == 0, "%s cannot be read", file->path);
        bool both = text_in_protobuf(file->of, file->list, &body, &protobuf);
        for (size_t k = 0; k < array_len(chunks); k++) {
            cleanup(mem_free_ptr) char *json =
                text_of_answer(file->of, file->list, "application/json", &body, chunks[k]);
            ck_assert_str_eq(json, file->want);
            cleanup(mem_free_ptr) char *same =
                both ? text_of_answer(file->of, file->list, "application/vnd.kubernetes.protobuf;stream=watch",
                                      &protobuf, chunks[k])
                     : mem_strdup(file->want);
            ck_assert_str_eq(same, file->want);
        }
    }
}
