#include "haproxy/dataplane/codec.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/codec_json.h"

/* Names go into paths, the file and log lines. HAProxy takes any run without white space. */
static int check_name(const char *name, const char *object, const char *key, struct error *err)
{
    for (const unsigned char *p = (const unsigned char *)name; *p != '\0'; p++)
        if (*p <= ' ' || *p == 0x7f)
            return error_set(err, ERROR_INVALID, "%s: field \"%s\" is \"%s\", expected a name without white space",
                             object, key, name);
    return 0;
}

static int read_proxy_default(yyjson_val *root, const char *object, bool *ret, struct error *err)
{
    yyjson_val *val = yyjson_obj_get(root, "default_server");
    if (val == NULL || yyjson_is_null(val)) {
        *ret = false;
        return 0;
    }
    if (!yyjson_is_obj(val))
        return error_set(err, ERROR_INVALID, "%s: field \"default_server\" is %s, expected an object", object,
                         yyjson_get_type_desc(val));
    if (codec_get_switch(val, "send-proxy-v2", object, ret, err) != 0)
        return error_prefix(err, "default_server");
    return 0;
}

static int read_balance(yyjson_val *root, const char *object, const char **ret, struct error *err)
{
    yyjson_val *val = yyjson_obj_get(root, "balance");
    if (val == NULL || yyjson_is_null(val)) {
        *ret = "";
        return 0;
    }
    if (!yyjson_is_obj(val))
        return error_set(err, ERROR_INVALID, "%s: field \"balance\" is %s, expected an object", object,
                         yyjson_get_type_desc(val));
    if (codec_get_string(val, "algorithm", object, ret, err) != 0)
        return error_prefix(err, "balance");
    return 0;
}

/* Whether `option httpchk` says anything about what to ask for. */
static int read_httpchk(yyjson_val *root, const char *object, bool *ret, struct error *err)
{
    yyjson_val *val = yyjson_obj_get(root, "httpchk_params");
    if (val != NULL && !yyjson_is_null(val) && !yyjson_is_obj(val))
        return error_set(err, ERROR_INVALID, "%s: field \"httpchk_params\" is %s, expected an object", object,
                         yyjson_get_type_desc(val));
    *ret = yyjson_obj_size(val) > 0;
    return 0;
}

static void replace(char **to, const char *with)
{
    char *copy = mem_strdup(with);
    free(*to);
    *to = copy;
}

int codec_read_backend(const char *json, size_t len, struct backend *ret, struct error *err)
{
    const char *name, *mode, *balance, *adv_check;
    bool proxy, httpchk = false;
    cleanup(codec_doc_free_ptr) yyjson_doc *doc = codec_parse(json, len, "the backend", err);
    if (doc == NULL)
        return -1;
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!yyjson_is_obj(root))
        return error_set(err, ERROR_INVALID, "the backend is %s, expected an object", yyjson_get_type_desc(root));
    if (codec_need_string(root, "name", "the backend", &name, err) != 0 ||
        check_name(name, "the backend", "name", err) != 0)
        return -1;
    if (ret->name != NULL && !str_eq(ret->name, name))
        return error_set(err, ERROR_INVALID, "asked for backend %s, the answer is about \"%s\"", ret->name, name);
    cleanup(mem_free_ptr) char *object = mem_printf("backend %s", name);
    if (codec_get_string(root, "mode", object, &mode, err) != 0 || read_balance(root, object, &balance, err) != 0 ||
        codec_get_string(root, "adv_check", object, &adv_check, err) != 0 ||
        read_httpchk(root, object, &httpchk, err) != 0 || read_proxy_default(root, object, &proxy, err) != 0)
        return -1;
    replace(&ret->name, name);
    replace(&ret->mode, mode);
    replace(&ret->balance, balance);
    replace(&ret->adv_check, adv_check);
    ret->httpchk_params = httpchk;
    ret->default_send_proxy_v2 = proxy;
    ret->exists = true;
    free(ret->json);
    ret->json = codec_text_of(root);
    return 0;
}

/* "disabled" is the word that answers a default-server: `enabled`, `no-backup`. */
static int read_state(yyjson_val *val, const char *key, const char *object, bool *ret_on, bool *ret_off,
                      struct error *err)
{
    if (codec_get_switch(val, key, object, ret_on, err) != 0)
        return -1;
    *ret_off = yyjson_equals_str(yyjson_obj_get(val, key), "disabled");
    return 0;
}

static int read_server(yyjson_val *val, size_t index, struct backend_server *ret, struct error *err)
{
    const char *name, *address;
    int64_t port, weight, check_port;
    char object[64];
    snprintf(object, sizeof(object), "server %zu of the list", index + 1);
    if (!yyjson_is_obj(val))
        return error_set(err, ERROR_INVALID, "%s is %s, expected an object", object, yyjson_get_type_desc(val));
    if (codec_need_string(val, "name", object, &name, err) != 0 || check_name(name, object, "name", err) != 0)
        return -1;
    cleanup(mem_free_ptr) char *named = mem_printf("server %s", name);
    *ret = (struct backend_server){0};
    if (codec_need_string(val, "address", named, &address, err) != 0 ||
        codec_get_int(val, "port", named, 0, 65535, 0, &port, err) != 0 ||
        codec_get_int(val, "weight", named, 0, INT_MAX, -1, &weight, err) != 0 ||
        codec_get_int(val, "health_check_port", named, 0, 65535, 0, &check_port, err) != 0 ||
        codec_get_switch(val, "check", named, &ret->check, err) != 0 ||
        read_state(val, "backup", named, &ret->backup, &ret->no_backup, err) != 0 ||
        read_state(val, "maintenance", named, &ret->maintenance, &ret->enabled, err) != 0 ||
        codec_get_switch(val, "send-proxy-v2", named, &ret->send_proxy_v2, err) != 0)
        return -1;
    ret->name = mem_strdup(name);
    ret->address = mem_strdup(address);
    ret->port = (uint16_t)port;
    ret->weight = (int)weight;
    ret->check_port = (uint16_t)check_port;
    ret->json = codec_text_of(val);
    return 0;
}

/* NULL for an empty list (`null` or `[]`); -1 where root is no list. */
static int list_of(yyjson_doc *doc, const char *what, yyjson_val **ret, struct error *err)
{
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!yyjson_is_arr(root) && !yyjson_is_null(root))
        return error_set(err, ERROR_INVALID, "%s is %s, expected an array", what, yyjson_get_type_desc(root));
    *ret = yyjson_is_arr(root) ? root : NULL;
    return 0;
}

int codec_read_servers(const char *json, size_t len, struct backend *ret, struct error *err)
{
    cleanup(codec_doc_free_ptr) yyjson_doc *doc = codec_parse(json, len, "the list of servers", err);
    cleanup(backend_fini) struct backend read;
    yyjson_val *list, *val;
    yyjson_arr_iter iter;
    backend_init(&read);
    if (doc == NULL || list_of(doc, "the list of servers", &list, err) != 0)
        return -1;
    read.servers = mem_array(yyjson_arr_size(list), sizeof(*read.servers));
    iter = yyjson_arr_iter_with(list);
    while ((val = yyjson_arr_iter_next(&iter)) != NULL) {
        if (read_server(val, read.server_count, &read.servers[read.server_count], err) != 0)
            return -1;
        read.server_count++;
    }
    struct backend old = {.servers = ret->servers, .server_count = ret->server_count};
    ret->servers = read.servers;
    ret->server_count = read.server_count;
    read.servers = old.servers;
    read.server_count = old.server_count;
    return 0;
}

/* HAProxy: "3" is 1 to 3, "5-8" is as it says. */
static int parse_range(const char *text, struct backend_template *ret)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(text);
    uint64_t first = 1, last;
    char *dash = strchr(copy, '-');
    if (dash != NULL)
        *dash = '\0';
    if (dash != NULL && str_parse_uint(copy, UINT_MAX, &first) != 0)
        return -1;
    if (str_parse_uint(dash != NULL ? dash + 1 : copy, UINT_MAX, &last) != 0 || last < first)
        return -1;
    ret->first = (unsigned)first;
    ret->last = (unsigned)last;
    return 0;
}

static int read_template(yyjson_val *val, size_t index, struct backend_template *ret, struct error *err)
{
    const char *prefix, *range;
    char object[64];
    snprintf(object, sizeof(object), "server-template %zu of the list", index + 1);
    if (!yyjson_is_obj(val))
        return error_set(err, ERROR_INVALID, "%s is %s, expected an object", object, yyjson_get_type_desc(val));
    if (codec_need_string(val, "prefix", object, &prefix, err) != 0 || check_name(prefix, object, "prefix", err) != 0 ||
        codec_need_string(val, "num_or_range", object, &range, err) != 0)
        return -1;
    if (parse_range(range, ret) != 0)
        return error_set(err, ERROR_INVALID,
                         "server-template %s: field \"num_or_range\" is \"%s\", expected a number or FIRST-LAST",
                         prefix, range);
    ret->prefix = mem_strdup(prefix);
    return 0;
}

int codec_read_templates(const char *json, size_t len, struct backend *ret, struct error *err)
{
    cleanup(codec_doc_free_ptr) yyjson_doc *doc = codec_parse(json, len, "the list of server-templates", err);
    cleanup(backend_fini) struct backend read;
    yyjson_val *list, *val;
    yyjson_arr_iter iter;
    backend_init(&read);
    if (doc == NULL || list_of(doc, "the list of server-templates", &list, err) != 0)
        return -1;
    read.templates = mem_array(yyjson_arr_size(list), sizeof(*read.templates));
    iter = yyjson_arr_iter_with(list);
    while ((val = yyjson_arr_iter_next(&iter)) != NULL) {
        if (read_template(val, read.template_count, &read.templates[read.template_count], err) != 0)
            return -1;
        read.template_count++;
    }
    struct backend old = {.templates = ret->templates, .template_count = ret->template_count};
    ret->templates = read.templates;
    ret->template_count = read.template_count;
    read.templates = old.templates;
    read.template_count = old.template_count;
    return 0;
}
