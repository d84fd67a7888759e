#include "etcd/refusal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "json/read.h"

#define EXCERPT_BYTES 200

static const struct {
    const char *part;
    enum etcd_refusal_kind kind;
} meanings[] = {
    {"required revision has been compacted", ETCD_REFUSED_COMPACTED},
    {"requested lease not found", ETCD_REFUSED_NO_LEASE},
    {"invalid auth token", ETCD_REFUSED_TOKEN},
    {"revision of auth store is old", ETCD_REFUSED_TOKEN},
    {"authentication is not enabled", ETCD_REFUSED_AUTH_OFF},
    {"user name is empty", ETCD_REFUSED_NO_USER},
    {"authentication failed", ETCD_REFUSED_PASSWORD},
    {"permission denied", ETCD_REFUSED_PERMISSION},
    {"database space exceeded", ETCD_REFUSED_NO_SPACE},
    {"request is too large", ETCD_REFUSED_TOO_LARGE},
    {"received message larger than max", ETCD_REFUSED_TOO_LARGE}, /* gRPC, before etcd looks at it */
    {"no leader", ETCD_REFUSED_NOT_NOW},
    {"too many requests", ETCD_REFUSED_NOT_NOW},
    {"not supported for learner", ETCD_REFUSED_NOT_NOW},
    {"not capable", ETCD_REFUSED_NOT_NOW},
    {"Not Found", ETCD_REFUSED_UNKNOWN}, /* the path: etcd itself writes "not found" */
    {"connection closed", ETCD_REFUSED_GATEWAY},
    {"connection error: desc", ETCD_REFUSED_GATEWAY},
    {"SubConns are in TransientFailure", ETCD_REFUSED_GATEWAY},
};

/* Codes of gRPC (google/rpc/code.proto) that say nothing about the request: another endpoint, or the same later, may
 * do it. */
static bool is_trouble(int64_t code)
{
    return code == 1 || code == 2 || code == 4 || code == 8 || code == 10 || (code >= 13 && code <= 15);
}

static void set_message(const char *message, struct etcd_refusal *ret)
{
    cleanup(mem_free_ptr) char *shown = text_shown(message, TEXT_LINE, sizeof(ret->message) - 1);
    snprintf(ret->message, sizeof(ret->message), "%s", shown);
}

static bool known(const char *message, struct etcd_refusal *ret)
{
    for (size_t i = 0; i < array_len(meanings); i++)
        if (strstr(message, meanings[i].part) != NULL) {
            ret->kind = meanings[i].kind;
            return true;
        }
    return false;
}

/* false: there is no code, or it is no object at all. */
static bool refusal_of_status(yyjson_val *from, struct etcd_refusal *ret)
{
    int64_t code, grpc_code;
    const char *message;
    if (json_get_int(from, "code", 0, INT32_MAX, 0, &code, NULL) != 0 ||
        json_get_int(from, "grpc_code", 0, INT32_MAX, code, &grpc_code, NULL) != 0 ||
        json_get_string(from, "message", &message, NULL) != 0 || grpc_code == 0)
        return false;
    set_message(message, ret);
    if (!known(message, ret))
        ret->kind = is_trouble(grpc_code) ? ETCD_REFUSED_UNSURE : ETCD_REFUSED_OTHERWISE;
    return true;
}

bool etcd_refusal_of_object(yyjson_val *root, struct etcd_refusal *ret)
{
    yyjson_val *status;
    *ret = (struct etcd_refusal){0};
    return json_get_object(root, "error", &status, NULL) == 0 && status != NULL && refusal_of_status(status, ret);
}

/* A stream that was refused before its first line has the status of that, and the shape of a line. */
void etcd_refusal_read(int status, const char *body, size_t len, struct etcd_refusal *ret)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(body, len, YYJSON_READ_STOP_WHEN_DONE, "the answer", NULL);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (etcd_refusal_of_object(root, ret) || refusal_of_status(root, ret))
        return;
    cleanup(mem_free_ptr) char *excerpt = mem_strndup(body, len < EXCERPT_BYTES ? len : EXCERPT_BYTES);
    set_message(excerpt, ret);
    ret->kind = status >= 500 ? ETCD_REFUSED_UNSURE : ETCD_REFUSED_UNKNOWN;
}

bool etcd_refusal_in_stream(const char *json, size_t len, struct etcd_refusal *ret)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, YYJSON_READ_STOP_WHEN_DONE, "the line", NULL);
    return etcd_refusal_of_object(yyjson_doc_get_root(doc), ret);
}

void etcd_refusal_of_message(const char *message, struct etcd_refusal *ret)
{
    *ret = (struct etcd_refusal){.kind = ETCD_REFUSED_UNSURE};
    set_message(message, ret);
    (void)known(message, ret);
}
