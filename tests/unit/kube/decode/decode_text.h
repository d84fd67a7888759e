/*
 * Decoded events as lines of text, and JSON written with ' for ", so that a table of rules reads as what it means.
 *
 *     ADDED n1 v5 node 10.0.0.1 external:1.2.3.4 name:n1 excluded deleting
 *     ADDED web v5 service NodePort local check/30999 IPv4 IPv6 : http/80/30080 /443
 *     MODIFIED web v7 set https/8443 : 10.0.0.1@n1 10.0.0.2@n2=no | /9443 : fd00::1=leaving
 *     ADDED n1 v5 SKIPPED (the reason)        ADDED web v5 set : 10.0.0.1 PARTIAL (the reason)
 *     ADDED web v5 secret uid/u paused haproxy.operator/status=x : haproxy.cfg[6]global
 *     ADDED lb/a v5 pod u 10.0.0.7 running terminating
 *     BOOKMARK v9 end                         ERROR 410 Expired "too old" retry 1 too-large
 *
 * An InternalIP stands alone; "-" is a node without any address. A Service's port is NAME/PORT, and /NODEPORT where it has one.
 * An endpoint's state is left out where it is ready; "no", "serving", "leaving" (terminating, serving), "gone"; "odd" for
 * any other mix.
 */
#ifndef TESTS_DECODE_TEXT_H
#define TESTS_DECODE_TEXT_H

#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/decode/decode.h"
#include "kube/frame.h"
#include "model/node_rules.h"
#include "model/objects.h"

#define TEXT_RECORDINGS "../shared/data/kubernetes/"

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

/* What one JSON text gives, from memory that ends right behind the padding (so that sanitizers see a step over it). */
static inline void text_decode(struct buf *to, const struct kube_resource *of, bool item, const char *json, size_t len)
{
    struct kube_event e;
    struct error err = {ERROR_NONE, 0, ""};
    cleanup(mem_free_ptr) char *copy = mem_alloc(len + KUBE_DECODE_PADDING_BYTES);
    memcpy(copy, json, len);
    int result = item ? kube_decode_item(of, copy, len, &e, &err) : kube_decode_event(of, copy, len, &e, &err);
    if (result != 0) {
        ck_assert_int_eq(result, -1);
        ck_assert_int_eq(err.kind, ERROR_INVALID);
        ck_assert(e.name == NULL && e.resource_version == NULL);
        ck_assert_ptr_null(e.object);
        buf_printf(to, "-1 (%s)", err.message);
        kube_event_fini(&e); /* nothing to do, and allowed */
        return;
    }
    text_of_event(to, &e);
    kube_event_fini(&e);
}

/* A row of a table: an object (or event) and what it must give. */
struct text_row {
    const char *json; /* with ' for " */
    const char *want;
};

static inline void text_check_rows(const struct kube_resource *of, bool item, const struct text_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cleanup(buf_fini) struct buf got;
        buf_init(&got, 0);
        cleanup(mem_free_ptr) char *json = text_json(rows[i].json);
        text_decode(&got, of, item, json, strlen(json));
        ck_assert_msg(strcmp(buf_str(&got), rows[i].want) == 0, "row %zu: %s\n got: %s\nwant: %s", i, json,
                      buf_str(&got), rows[i].want);
    }
}

struct text_stream {
    struct buf out;
    const struct kube_resource *of;
    bool list;
};

static inline int text_on_frame(void *arg, char *json, size_t len, struct error *err)
{
    struct text_stream *s = arg;
    (void)err;
    text_decode(&s->out, s->of, s->list, json, len);
    buf_add(&s->out, "\n");
    return 0;
}

/* All objects of a file, a line each; for a list a last line with its version and continue token. `chunk` bytes at a time.
 * NULL where there is no such file. */
static inline char *text_of_file(const char *path, const struct kube_resource *of, bool list, size_t chunk)
{
    struct text_stream s = {.of = of, .list = list};
    struct error err = {ERROR_NONE, 0, ""};
    struct frame f;
    cleanup(buf_fini) struct buf body;
    buf_init(&body, 0);
    buf_init(&s.out, 0);
    if (buf_read_file(&body, path) != 0)
        return NULL;
    frame_init(&f, list ? FRAME_LIST : FRAME_WATCH, 0);
    for (size_t at = 0; at < body.len; at += chunk) {
        size_t n = body.len - at < chunk ? body.len - at : chunk;
        ck_assert_msg(frame_feed(&f, body.data + at, n, text_on_frame, &s, &err) == 0, "%s: %s", path, err.message);
    }
    ck_assert_msg(frame_end(&f, &err) == 0, "%s: %s", path, err.message);
    if (list) {
        struct kube_list_meta meta;
        ck_assert_msg(kube_decode_list_meta(buf_str(&f.envelope), f.envelope.len, &meta, &err) == 0, "%s: %s", path,
                      err.message);
        buf_printf(&s.out, "list v%s \"%s\"\n", meta.resource_version, meta.continue_token);
        kube_list_meta_fini(&meta);
    }
    frame_fini(&f);
    return buf_take(&s.out);
}

struct text_file {
    const char *path;
    const struct kube_resource *of;
    bool list;
    const char *want;
};

/* Each file whole and one byte at a time. Recordings that a public clone lacks are named; our own must be there. */
static inline void text_check_files(const struct text_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct text_file *file = &files[i];
        cleanup(mem_free_ptr) char *whole = text_of_file(file->path, file->of, file->list, 1u << 20);
        if (whole == NULL && str_has_prefix(file->path, TEXT_RECORDINGS)) {
            printf("SKIPPED: %s: recorded answers not found\n", file->path);
            continue;
        }
        ck_assert_msg(whole != NULL, "%s cannot be read", file->path);
        ck_assert_str_eq(whole, file->want);
        cleanup(mem_free_ptr) char *bytes = text_of_file(file->path, file->of, file->list, 1);
        ck_assert_str_eq(bytes, file->want);
    }
}

#endif
