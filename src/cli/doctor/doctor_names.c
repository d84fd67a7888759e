#include "cli/doctor/doctor_names.h"

#include <event2/event.h>
#include <stdlib.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "json/read.h"
#include "kube/client.h"
#include "net/http.h"

#define LIMIT "500" /* Services of a namespace; further ones are not looked at */
#define TIMEOUT_MS 5000
#define ANSWER_MAX_BYTES ((size_t)16 << 20)

struct names_question {
    struct event_base *base;
    size_t *asking;
    const char *key; /* of each item's metadata */
    struct nearest *into;
};

/* What is refused, or no list, is no answer: the names are a help and no check. */
static void names_take(const struct names_question *q, const struct buf *body)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(buf_str(body), body->len, 0, "the list of Services", NULL);
    yyjson_val *items = yyjson_obj_get(yyjson_doc_get_root(doc), "items"), *item;
    size_t i, max;
    yyjson_arr_foreach (items, i, max, item) {
        const char *name = yyjson_get_str(yyjson_obj_get(yyjson_obj_get(item, "metadata"), q->key));
        if (name != NULL)
            nearest_add(q->into, name, nearest_distance(q->into, name));
    }
}

static void names_on_done(void *arg, const struct http_response *r, const struct error *err)
{
    const struct names_question *q = arg;
    if (err == NULL && r->status == 200)
        names_take(q, r->body);
    if (--*q->asking == 0)
        event_base_loopbreak(q->base);
}

static void names_ask(struct names_question *q, struct kube_client *kube, const char *path)
{
    static const struct http_callbacks callbacks = {.on_done = names_on_done};
    struct http_request_options options = {.method = "GET",
                                           .path = path,
                                           .max_body_bytes = ANSWER_MAX_BYTES,
                                           .connect_timeout_ms = TIMEOUT_MS,
                                           .total_timeout_ms = TIMEOUT_MS};
    struct error err = {0};
    if (kube_client_start(kube, &options, &callbacks, q, &err) != NULL)
        ++*q->asking;
}

void doctor_names_find(struct doctor_names *ret, struct event_base *base, struct kube_client *kube,
                       const char *namespace, const char *service)
{
    size_t asking = 0;
    cleanup(nearest_fini) struct nearest here, other;
    cleanup(mem_free_ptr) char *in_namespace = mem_printf("/api/v1/namespaces/%s/services?limit=" LIMIT, namespace);
    cleanup(mem_free_ptr) char *anywhere =
        mem_printf("/api/v1/services?fieldSelector=metadata.name%%3D%s&limit=" LIMIT, service);
    nearest_init_all(&here, service);
    nearest_init_all(&other, namespace);
    struct names_question questions[] = {{base, &asking, "name", &here}, {base, &asking, "namespace", &other}};
    names_ask(&questions[0], kube, in_namespace);
    names_ask(&questions[1], kube, anywhere);
    if (asking > 0)
        event_base_dispatch(base);
    *ret = (struct doctor_names){.here = nearest_text(&here),
                                 .first = here.count > 0 ? mem_strdup(here.list[0].name) : NULL,
                                 .other = nearest_text(&other)};
}

void doctor_names_fini(struct doctor_names *n)
{
    free(n->here);
    free(n->first);
    free(n->other);
    *n = (struct doctor_names){0};
}
