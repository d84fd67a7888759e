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
    {"received message larger than max", ETCD_REFUSED_TOO_LARGE}, /* by gRPC, before etcd handles it */
    {"no leader", ETCD_REFUSED_NOT_NOW},
    {"too many requests", ETCD_REFUSED_NOT_NOW},
    {"not supported for learner", ETCD_REFUSED_NOT_NOW},
    {"not capable", ETCD_REFUSED_NOT_NOW},
    {"Not Found", ETCD_REFUSED_UNKNOWN}, /* the path: etcd itself writes "not found" */
    {"connection closed", ETCD_REFUSED_GATEWAY},
    {"connection error: desc", ETCD_REFUSED_GATEWAY},
    {"SubConns are in TransientFailure", ETCD_REFUSED_GATEWAY},
};

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
    /* Codes of gRPC (google/rpc/code.proto) that say nothing about the request: another endpoint, or the same later, may
     * do it. */
    bool trouble = grpc_code == 1 || grpc_code == 2 || grpc_code == 4 || grpc_code == 8 || grpc_code == 10 ||
                   (grpc_code >= 13 && grpc_code <= 15);
    if (!known(message, ret))
        ret->kind = trouble ? ETCD_REFUSED_UNSURE : ETCD_REFUSED_OTHERWISE;
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

void etcd_refusal_explain(const struct etcd_refusal *r, int status, const char *user, const char *about,
                          struct error *err)
{
    static const struct {
        enum error_kind kind;
        const char *behind; /* what etcd says */
    } meaning[] = {
        [ETCD_REFUSED_OTHERWISE] = {ERROR_INVALID, ""},
        [ETCD_REFUSED_NOT_NOW] = {ERROR_RETRY, ""},
        [ETCD_REFUSED_UNSURE] = {ERROR_RETRY, ""},
        [ETCD_REFUSED_COMPACTED] = {ERROR_GONE, ""},
        [ETCD_REFUSED_NO_LEASE] = {ERROR_GONE, ""},
        [ETCD_REFUSED_TOKEN] = {ERROR_AUTH, ", though the token is new; do all endpoints belong to one cluster?"},
        [ETCD_REFUSED_AUTH_OFF] = {ERROR_AUTH, ""},
        [ETCD_REFUSED_NO_USER] = {ERROR_AUTH, ": etcd has authentication enabled; set ETCD_USER and ETCD_PASSWORD"},
        [ETCD_REFUSED_GATEWAY] = {ERROR_RETRY,
                                  ": etcd's gateway does not reach the server beside it; with --client-cert-auth it "
                                  "shows the server's certificate there, which then has to be one for clients, too "
                                  "(clientAuth)"},
        [ETCD_REFUSED_TOO_LARGE] = {ERROR_INVALID, ": --max-request-bytes of etcd is the limit"},
        [ETCD_REFUSED_NO_SPACE] = {ERROR_RETRY, ": compact and defragment it, then etcdctl alarm disarm"},
    };
    if (r->kind == ETCD_REFUSED_UNKNOWN)
        error_set(err, ERROR_INVALID,
                  "status %d, which is not how etcd refuses; is this etcd 3.4 or newer with --enable-grpc-gateway? It "
                  "answered: %s",
                  status, r->message);
    else if (r->kind == ETCD_REFUSED_PASSWORD)
        error_set(err, ERROR_AUTH,
                  "%s: there is no user \"%s\", or the password is another one; see ETCD_USER and ETCD_PASSWORD",
                  r->message, user != NULL ? user : "");
    else if (r->kind == ETCD_REFUSED_PERMISSION)
        error_set(err, ERROR_AUTH, "%s: user \"%s\" may not do this to %s; etcdctl role grant-permission allows it",
                  r->message, user != NULL ? user : "", about != NULL ? about : "what was asked for");
    else
        error_set(err, meaning[r->kind].kind, "%s%s", r->message, meaning[r->kind].behind);
    err->http_status = status;
}
