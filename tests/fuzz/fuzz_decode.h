/*
 * What holds for whatever a decoder is fed. The first byte says as what: 'I' an item, 'S' a Status body, 'L' the envelope of
 * a list, anything else a watch event; the rest is the text.
 */
#ifndef FUZZ_DECODE_H
#define FUZZ_DECODE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "kube/decode.h"

static inline void check(bool good)
{
    if (!good)
        abort();
}

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

static inline void check_event(enum kube_object_kind kind, const struct kube_event *e)
{
    bool change = e->type == KUBE_ADDED || e->type == KUBE_MODIFIED, skipped = e->skipped.kind != ERROR_NONE;
    check((e->node != NULL) == (kind == KUBE_NODE && change && !skipped));
    check((e->set != NULL) == (kind != KUBE_NODE && change && !skipped));
    check(!skipped || change || e->type == KUBE_DELETED);
    check(e->name != NULL || skipped || !(change || e->type == KUBE_DELETED));
    check((e->status_reason != NULL && e->status_message != NULL) == (e->type == KUBE_ERROR));
    check(e->type != KUBE_BOOKMARK || e->resource_version != NULL);
    check(e->retry_after_seconds >= -1 && e->status_code >= 0);
    check_text(e->skipped.message, ERROR_MESSAGE_BYTES - 1);
    check_text(e->partial.message, ERROR_MESSAGE_BYTES - 1);
    if (e->name != NULL)
        check_text(e->name, KUBE_NAME_MAX_BYTES);
    if (e->node != NULL)
        check(str_eq(e->node->name, e->name) &&
              (e->node->internal_ip == NULL || str_ip_family(e->node->internal_ip) != 0));
    if (e->set != NULL) {
        check(str_eq(e->set->name, e->name));
        for (size_t i = 0; i < e->set->group_count; i++)
            check_group(&e->set->groups[i]);
    }
}

static inline int fuzz_change(enum kube_object_kind kind, bool item, const char *text, size_t len,
                              struct kube_event *ret)
{
    struct error err = {ERROR_NONE, 0, ""};
    char *copy = calloc(1, len + KUBE_DECODE_PADDING_BYTES); /* exactly: a step over its end shows */
    memcpy(copy, text, len);
    int result = item ? kube_decode_item(kind, copy, len, ret, &err) : kube_decode_event(kind, copy, len, ret, &err);
    check(result == 0 || (err.kind == ERROR_INVALID && err.message[0] != '\0'));
    free(copy); /* nothing may point into it */
    if (result == 0)
        check_event(kind, ret);
    return result;
}

static inline void fuzz_decode(enum kube_object_kind kind, const uint8_t *data, size_t size)
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
        check_event(kind, &a);
        kube_event_fini(&a);
        return;
    case 'L':
        if (kube_decode_list_meta(text, size - 1, &meta, NULL) == 0)
            check(meta.resource_version[0] != '\0' && meta.continue_token != NULL);
        kube_list_meta_fini(&meta);
        return;
    default:
        if (fuzz_change(kind, data[0] == 'I', text, size - 1, &a) != 0)
            return;
        check(fuzz_change(kind, data[0] == 'I', text, size - 1, &b) == 0);
        check((a.node == NULL || node_eq(a.node, b.node)) && (a.set == NULL || endpoint_set_eq(a.set, b.set)));
        kube_event_fini(&a);
        kube_event_fini(&b);
    }
}

#endif
