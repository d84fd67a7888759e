/*
 * The answer to a list or a watch, in the encoding that the API server chose of those that were offered: its objects
 * one by one as they arrive, and what is around them at its end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "kube/decode/decode.h"
#include "kube/frame.h"
#include "kube/protobuf/frame.h"

enum kube_encoding { KUBE_NOT_READABLE, KUBE_JSON, KUBE_PROTOBUF };

struct kube_answer {
    const struct kube_resource *of;
    bool is_list;
    enum kube_encoding encoding; /* as its headers say; KUBE_NOT_READABLE before them */
    struct frame json;
    struct proto_frame protobuf;
};

/* What to ask for (RFC 9110, Accept): JSON alone where protobuf is not asked for or the resource has none. A constant. */
const char *kube_answer_accept(const struct kube_resource *of, bool protobuf) must_check;

/* A zeroed one is allowed for _fini, which leaves it so. */
void kube_answer_init(struct kube_answer *a, const struct kube_resource *of, bool is_list);
void kube_answer_fini(struct kube_answer *a);

/* The media type of its headers; NULL: they have none. */
enum kube_encoding kube_answer_head(struct kube_answer *a, const char *content_type);

/* After a head that is readable. fn may take the event's object; it returns -1 with *err to stop. As frame_feed. */
int kube_answer_feed(struct kube_answer *a, const char *bytes, size_t len,
                     int (*fn)(void *arg, struct kube_event *event, struct error *err), void *arg,
                     struct error *err) must_check;

/* ret_meta: of a list; of a watch it is left alone. ERROR_RETRY: cut off. */
int kube_answer_end(struct kube_answer *a, struct kube_list_meta *ret_meta, struct error *err) must_check;
