#include "haproxy/dataplane/codec.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "json/read.h"
#include "json/write.h"
#include "haproxy/backend.h"

/* The document to change: a copy of what the API gave, or an empty object. */
static yyjson_mut_doc *start_from(const char *json, const char *what, struct error *err)
{
    if (json == NULL) {
        yyjson_mut_val *root;
        return json_new(&root);
    }
    cleanup(json_doc_free_ptr) yyjson_doc *old = json_parse(json, strlen(json), YYJSON_READ_BIGNUM_AS_RAW, what, err);
    if (old == NULL)
        return NULL;
    if (!yyjson_is_obj(yyjson_doc_get_root(old))) {
        (void)error_set(err, ERROR_INVALID, "%s: the old object is no JSON object", what);
        return NULL;
    }
    yyjson_mut_doc *copy = yyjson_doc_mut_copy(old, NULL);
    if (copy == NULL)
        abort();
    return copy;
}

static void put_string(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, const char *s)
{
    json_set(doc, obj, key, yyjson_mut_strcpy(doc, s));
}

static void put_int(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, int64_t n)
{
    json_set(doc, obj, key, yyjson_mut_int(doc, n));
}

/* Off removes our "enabled"; a "disabled" is an operator's `no-...` that overrides the default-server, and stays. */
static void put_switch(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, bool on)
{
    yyjson_mut_val *old = yyjson_mut_obj_get(obj, key);
    if (on)
        put_string(doc, obj, key, "enabled");
    else if (old != NULL && !yyjson_mut_equals_str(old, "disabled"))
        yyjson_mut_obj_remove_key(obj, key);
}

static int codec_write_finish(yyjson_mut_doc *doc, const char *what, struct buf *out, struct error *err)
{
    size_t len = 0;
    yyjson_write_err why = {0};
    /* Fails where a text that is to be written is no UTF-8. */
    cleanup(mem_free_ptr) char *text = yyjson_mut_write_opts(doc, YYJSON_WRITE_NOFLAG, NULL, &len, &why);
    if (text == NULL)
        return error_set(err, ERROR_INVALID, "%s cannot be written as JSON: %s", what, why.msg ? why.msg : "unknown");
    buf_clear(out);
    if (buf_append(out, text, len) != 0)
        return error_set(err, ERROR_INVALID, "%s: %zu bytes of JSON are over the limit of %zu", what, len,
                         out->max_bytes);
    return 0;
}

/* 0 stands for "none". */
static void put_port(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, uint16_t port)
{
    if (port != 0)
        put_int(doc, obj, key, port);
    else
        yyjson_mut_obj_remove_key(obj, key);
}

static void fill_server(yyjson_mut_doc *doc, yyjson_mut_val *obj, const struct backend_server *s)
{
    put_string(doc, obj, "name", s->name);
    /* A DNS name that we put there: HAProxy is to start, and to take what it knew, though DNS is away. */
    const char *address = s->address;
    bool ours = !yyjson_mut_equals_str(yyjson_mut_obj_get(obj, "address"), address);
    put_string(doc, obj, "address", address);
    if (ours && str_ip_family(address) == 0 && strpbrk(address, "/@") == NULL &&
        yyjson_mut_obj_get(obj, "init-addr") == NULL)
        put_string(doc, obj, "init-addr", "last,libc,none");
    put_port(doc, obj, "port", s->port);
    put_switch(doc, obj, "check", s->check);
    put_port(doc, obj, "health_check_port", s->check_port);
    put_int(doc, obj, "weight", s->weight >= 0 ? s->weight : SERVER_WEIGHT_DEFAULT);
    if (s->enabled && !s->maintenance)
        put_string(doc, obj, "maintenance", "disabled"); /* the line says `enabled` */
    else
        put_switch(doc, obj, "maintenance", s->maintenance);
    if (s->no_backup)
        put_string(doc, obj, "backup", "disabled");
    put_switch(doc, obj, "send-proxy-v2", s->send_proxy_v2);
}

int codec_write_server(const struct backend_server *s, struct buf *out, struct error *err)
{
    cleanup(mem_free_ptr) char *what = mem_printf("server %s", s->name);
    cleanup(json_free_ptr) yyjson_mut_doc *doc = start_from(s->json != NULL ? s->json : s->rest, what, err);
    if (doc == NULL)
        return -1;
    fill_server(doc, yyjson_mut_doc_get_root(doc), s);
    return codec_write_finish(doc, what, out, err);
}

/* Parameters of another algorithm (hash expression, URL parameter) go with it. */
static void put_balance(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *algorithm)
{
    yyjson_mut_val *old = yyjson_mut_obj_get(root, "balance");
    if (yyjson_mut_equals_str(yyjson_mut_obj_get(old, "algorithm"), algorithm))
        return;
    yyjson_mut_val *balance = yyjson_mut_obj(doc);
    put_string(doc, balance, "algorithm", algorithm);
    json_set(doc, root, "balance", balance);
}

static void put_adv_check(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *check)
{
    /* Each belongs to one kind of check; beside another kind it would be refused or come back as a line. */
    static const char *const params[] = {"httpchk_params", "mysql_check_params", "pgsql_check_params",
                                         "smtpchk_params"};
    if (yyjson_mut_equals_str(yyjson_mut_obj_get(root, "adv_check"), check))
        return;
    for (size_t i = 0; i < array_len(params); i++)
        yyjson_mut_obj_remove_key(root, params[i]);
    put_string(doc, root, "adv_check", check);
}

static void put_httpchk(yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    if (yyjson_mut_obj_size(yyjson_mut_obj_get(root, "httpchk_params")) > 0)
        return; /* an operator's */
    yyjson_mut_val *params = yyjson_mut_obj(doc);
    put_string(doc, params, "method", "GET");
    put_string(doc, params, "uri", "/healthz");
    json_set(doc, root, "httpchk_params", params);
}

/* Each name is there once, so none is searched: with thousands that would take longer than the request. */
static void codec_write_put_servers(yyjson_mut_doc *doc, const struct backend_server *const *list, size_t count)
{
    yyjson_mut_val *servers = yyjson_mut_obj(doc);
    for (size_t i = 0; i < count; i++) {
        yyjson_mut_val *server = yyjson_mut_obj(doc);
        fill_server(doc, server, list[i]);
        if (!yyjson_mut_obj_add(servers, yyjson_mut_strcpy(doc, list[i]->name), server))
            abort(); /* out of memory */
    }
    json_set(doc, yyjson_mut_doc_get_root(doc), "servers", servers);
}

int codec_write_backend(const struct backend *actual, const struct backend_settings *settings,
                        const struct backend_server *const *servers, size_t count, struct buf *out, struct error *err)
{
    cleanup(mem_free_ptr) char *what = mem_printf("backend %s", actual->name);
    cleanup(json_free_ptr) yyjson_mut_doc *doc = start_from(actual->json, what, err);
    if (doc == NULL)
        return -1;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    put_string(doc, root, "name", actual->name);
    if (!actual->exists)
        put_string(doc, root, "mode", "tcp"); /* TLS and PROXY v2 go through to the ingress untouched */
    if (settings->balance != NULL)
        put_balance(doc, root, settings->balance);
    if (settings->adv_check != NULL)
        put_adv_check(doc, root, settings->adv_check);
    if (settings->httpchk_healthz)
        put_httpchk(doc, root);
    if (settings->proxy_v2) {
        yyjson_mut_val *old = yyjson_mut_obj_get(root, "default_server");
        yyjson_mut_val *defaults = yyjson_mut_is_obj(old) ? old : yyjson_mut_obj(doc);
        put_string(doc, defaults, "send-proxy-v2", "enabled");
        if (defaults != old)
            json_set(doc, root, "default_server", defaults); /* when it is complete: a replacement is copied */
    }
    if (servers != NULL)
        codec_write_put_servers(doc, servers, count);
    return codec_write_finish(doc, what, out, err);
}
