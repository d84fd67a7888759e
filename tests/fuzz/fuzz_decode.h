/*
 * What holds for whatever a decoder is fed. The first byte says as what: 'I' an item, 'S' a Status body, 'L' the envelope of
 * a list, anything else a watch event; the rest is the text.
 */
#pragma once

#include <arpa/inet.h>

#include "base/str.h"
#include "kube/decode/decode.h"
#include "model/cache.h"
#include "model/objects.h"
#include "../unit/kube/protobuf_write.h"
#include "fuzz.h"

static inline void check_text(const char *s, size_t max_bytes)
{
    check(s != NULL && strlen(s) <= max_bytes);
    for (; *s != '\0'; s++)
        check((unsigned char)*s >= 0x20 && *s != 0x7f);
}

static inline void check_group(const struct endpoint_group *g)
{
    for (size_t i = 0; i < g->port_count; i++) {
        check(g->ports[i].number != 0);
        check_text(g->ports[i].name, KUBE_NAME_MAX_BYTES);
    }
    for (size_t i = 0; i < g->endpoint_count; i++) {
        check(str_ip_family(g->endpoints[i].address) != 0);
        if (g->endpoints[i].node_name != NULL)
            check_text(g->endpoints[i].node_name, KUBE_NAME_MAX_BYTES);
    }
}

/* No two of one type and family: that is why NODE_ADDRESSES_MAX is enough. */
static inline void check_node(const struct node *n)
{
    check(n->address_count <= NODE_ADDRESSES_MAX);
    for (size_t i = 0; i < n->address_count; i++) {
        const struct node_address *a = &n->addresses[i];
        check(a->type < NODE_ADDRESS_TYPES && (a->type == NODE_HOSTNAME || str_ip_family(a->text) != 0));
        check(a->text[0] != '\0' && strpbrk(a->text, " @/%\"'#") == NULL);
        check_text(a->text, KUBE_NAME_MAX_BYTES);
        for (size_t k = 0; k < i; k++)
            check(n->addresses[k].type != a->type || str_ip_family(n->addresses[k].text) != str_ip_family(a->text));
    }
}

static inline void check_service(const struct service *s)
{
    check(s->type <= SERVICE_EXTERNAL_NAME && (s->families[0] != 0 || s->families[1] == 0));
    check(s->families[0] == 0 || s->families[0] != s->families[1]);
    for (size_t i = 0; i < array_len(s->families); i++)
        check(s->families[i] == 0 || s->families[i] == AF_INET || s->families[i] == AF_INET6);
    for (size_t i = 0; i < s->port_count; i++) {
        check(s->ports[i].number != 0);
        check_text(s->ports[i].name, KUBE_NAME_MAX_BYTES);
    }
}

static inline void check_set(const struct endpoint_set *s)
{
    for (size_t i = 0; i < s->group_count; i++)
        check_group(&s->groups[i]);
}

/* Each with a NUL behind its bytes. */
static inline void check_secret(const struct secret_object *s)
{
    for (size_t i = 0; i < s->value_count; i++)
        check(s->values[i].key != NULL && s->values[i].bytes[s->values[i].len] == '\0');
    for (size_t i = 0; i < s->annotation_count; i++)
        check(str_has_prefix(s->annotations[i].name, SECRET_ANNOTATIONS) && s->annotations[i].value != NULL);
}

static inline void check_pod(const struct pod *p)
{
    check_text(p->uid, KUBE_NAME_MAX_BYTES);
    check(p->address == NULL || str_ip_family(p->address) != 0);
}

static inline void check_event(const struct kube_resource *of, const struct kube_event *e)
{
    bool change = e->type == KUBE_ADDED || e->type == KUBE_MODIFIED, skipped = e->skipped.kind != ERROR_NONE;
    check((e->object != NULL) == (change && !skipped));
    check(!skipped || change || e->type == KUBE_DELETED);
    check(e->name != NULL || skipped || !(change || e->type == KUBE_DELETED));
    check((e->status_reason != NULL && e->status_message != NULL) == (e->type == KUBE_ERROR));
    check(e->type != KUBE_BOOKMARK || e->resource_version != NULL);
    check(e->retry_after_seconds >= -1 && e->status_code >= 0);
    check_text(e->skipped.message, ERROR_MESSAGE_BYTES - 1);
    check_text(e->partial.message, ERROR_MESSAGE_BYTES - 1);
    if (e->name != NULL)
        check_text(e->name, of->by_namespace ? 2 * KUBE_NAME_MAX_BYTES + 1 : KUBE_NAME_MAX_BYTES);
    if (e->object == NULL)
        return;
    check(str_eq(record_name(e->object), e->name));
    if (of == &kube_nodes)
        check_node(e->object);
    else if (of == &kube_services)
        check_service(e->object);
    else if (of == &kube_pods)
        check_pod(e->object);
    else if (of == &kube_secrets)
        check_secret(e->object);
    else
        check_set(e->object);
}

static inline int fuzz_change(const struct kube_resource *of, bool item, const char *text, size_t len,
                              struct kube_event *ret)
{
    struct error err = {ERROR_NONE, 0, ""};
    char *copy = calloc(1, len + KUBE_DECODE_PADDING_BYTES); /* exactly: a step over its end shows */
    memcpy(copy, text, len);
    int result = item ? kube_decode_item(of, copy, len, ret, &err) : kube_decode_event(of, copy, len, ret, &err);
    check(result == 0 || (err.kind == ERROR_INVALID && err.message[0] != '\0'));
    free(copy); /* nothing may point into it */
    if (result == 0)
        check_event(of, ret);
    return result;
}

static inline void check_same(const struct kube_event *a, const struct kube_event *b)
{
    check(a->type == b->type && str_eq(a->name, b->name) && str_eq(a->resource_version, b->resource_version));
    check(a->initial_events_end == b->initial_events_end && (a->object == NULL) == (b->object == NULL));
    check(a->object == NULL || record_eq(a->of->record, a->object, b->object));
    check(str_eq(a->skipped.message, b->skipped.message) && str_eq(a->partial.message, b->partial.message));
    check(a->status_code == b->status_code && a->retry_after_seconds == b->retry_after_seconds);
    check(str_eq(a->status_reason, b->status_reason) && a->cause_too_large == b->cause_too_large);
}

/* What protobuf can say it says alike. */
static inline void fuzz_protobuf(const struct kube_resource *of, bool item, const char *text, size_t len,
                                 const struct kube_event *json)
{
    struct buf bytes = {0};
    struct kube_event e;
    yyjson_doc *doc = of->message != NULL ? yyjson_read(text, len, 0) : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (root != NULL && (item ? proto_write_message(&bytes, of->message, root) : proto_write_event(&bytes, of, root))) {
        check((item ? kube_decode_item_protobuf : kube_decode_event_protobuf)(of, buf_str(&bytes), bytes.len, &e,
                                                                              NULL) == 0);
        check_same(json, &e);
        kube_event_fini(&e);
    }
    yyjson_doc_free(doc);
    buf_fini(&bytes);
}

/* What was decoded is the same once more out of the cache, where it is packed together. Takes from a, compares with b. */
static inline void keep(const struct kube_resource *of, struct kube_event *a, const struct kube_event *b)
{
    struct cache *c = cache_new(of->record);
    check(a->object == NULL || (cache_put(c, a->object) && record_eq(of->record, cache_find(c, b->name), b->object)));
    a->object = NULL;
    cache_free(c);
}

static inline void fuzz_decode(const struct kube_resource *of, const uint8_t *data, size_t size)
{
    if (size == 0)
        return;
    const char *text = (const char *)data + 1;
    struct kube_event a, b;
    struct kube_list_meta meta = {NULL, NULL};
    switch (data[0]) {
    case 'S':
        kube_decode_status(text, size - 1, &a);
        check(a.type == KUBE_ERROR && strlen(a.status_message) <= 515);
        check_event(of, &a);
        kube_event_fini(&a);
        return;
    case 'L':
        if (kube_decode_list_meta(text, size - 1, &meta, NULL) == 0)
            check(meta.resource_version[0] != '\0' && meta.continue_token != NULL);
        kube_list_meta_fini(&meta);
        return;
    default:
        if (fuzz_change(of, data[0] == 'I', text, size - 1, &a) != 0)
            return;
        check(fuzz_change(of, data[0] == 'I', text, size - 1, &b) == 0);
        check(a.object == NULL || record_eq(of->record, a.object, b.object));
        fuzz_protobuf(of, data[0] == 'I', text, size - 1, &b);
        keep(of, &a, &b);
        kube_event_fini(&a);
        kube_event_fini(&b);
    }
}
