#include "kube/answer.h"

#include <string.h>
#include <strings.h>

#define TYPE_JSON "application/json"
#define TYPE_PROTOBUF "application/vnd.kubernetes.protobuf"

const char *kube_answer_accept(const struct kube_resource *of, bool protobuf)
{
    return protobuf && of->message != NULL ? TYPE_PROTOBUF "," TYPE_JSON : TYPE_JSON;
}

void kube_answer_init(struct kube_answer *a, const struct kube_resource *of, bool is_list)
{
    enum frame_mode mode = is_list ? FRAME_LIST : FRAME_WATCH;
    *a = (struct kube_answer){.of = of, .is_list = is_list, .encoding = KUBE_NOT_READABLE};
    frame_init(&a->json, mode, of->max_object_bytes);
    a->json.object.secret = of->record->secret; /* parsed in place: its strings are nowhere else */
    proto_frame_init(&a->protobuf, mode, of->message_kind, of->max_object_bytes);
}

void kube_answer_fini(struct kube_answer *a)
{
    frame_fini(&a->json);
    proto_frame_fini(&a->protobuf);
    a->encoding = KUBE_NOT_READABLE;
}

static bool is_type(const char *is, const char *type)
{
    size_t len = strlen(type);
    return is != NULL && strncasecmp(is, type, len) == 0 && strchr("; \t", is[len]) != NULL; /* NUL, too */
}

enum kube_encoding kube_answer_head(struct kube_answer *a, const char *content_type)
{
    if (is_type(content_type, TYPE_JSON))
        a->encoding = KUBE_JSON;
    else if (is_type(content_type, TYPE_PROTOBUF) && a->of->message != NULL)
        a->encoding = KUBE_PROTOBUF;
    return a->encoding;
}

struct receiver {
    const struct kube_answer *answer;
    int (*fn)(void *arg, struct kube_event *event, struct error *err);
    void *arg;
};

static int answer_on_json(void *arg, char *json, size_t len, struct error *err)
{
    const struct receiver *r = arg;
    cleanup(kube_event_fini) struct kube_event e = {0};
    if ((r->answer->is_list ? kube_decode_item : kube_decode_event)(r->answer->of, json, len, &e, err) != 0)
        return -1;
    return r->fn(r->arg, &e, err);
}

static int answer_on_protobuf(void *arg, const char *bytes, size_t len, struct error *err)
{
    const struct receiver *r = arg;
    cleanup(kube_event_fini) struct kube_event e = {0};
    if ((r->answer->is_list ? kube_decode_item_protobuf : kube_decode_event_protobuf)(r->answer->of, bytes, len, &e,
                                                                                      err) != 0)
        return -1;
    return r->fn(r->arg, &e, err);
}

int kube_answer_feed(struct kube_answer *a, const char *bytes, size_t len,
                     int (*fn)(void *arg, struct kube_event *event, struct error *err), void *arg, struct error *err)
{
    struct receiver r = {a, fn, arg};
    if (a->encoding == KUBE_PROTOBUF)
        return proto_frame_feed(&a->protobuf, bytes, len, answer_on_protobuf, &r, err);
    return frame_feed(&a->json, bytes, len, answer_on_json, &r, err);
}

int kube_answer_end(struct kube_answer *a, struct kube_list_meta *ret_meta, struct error *err)
{
    const struct buf *json = &a->json.envelope, *protobuf = &a->protobuf.meta;
    bool is_protobuf = a->encoding == KUBE_PROTOBUF;
    if ((is_protobuf ? proto_frame_end(&a->protobuf, err) : frame_end(&a->json, err)) != 0)
        return -1;
    if (!a->is_list)
        return 0;
    return is_protobuf ? kube_decode_list_meta_protobuf(buf_str(protobuf), protobuf->len, ret_meta, err)
                       : kube_decode_list_meta(json->data, json->len, ret_meta, err);
}
