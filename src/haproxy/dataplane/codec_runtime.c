#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/codec.h"
#include "haproxy/dataplane/codec_json.h"

/* A drain of a server whose line was `disabled` at HAProxy's start is called maint (all releases of the API so far take the
 * decimal number 12 for hexadecimal); but what is in maint is down. */
static int read_states(yyjson_val *val, const char *object, struct runtime_server *ret, struct error *err)
{
    static const enum runtime_admin all[] = {RUNTIME_READY, RUNTIME_DRAIN, RUNTIME_MAINT};
    const char *word, *operational;
    if (codec_need_string(val, "admin_state", object, &word, err) != 0 ||
        codec_get_string(val, "operational_state", object, &operational, err) != 0)
        return -1;
    ret->down = str_eq(operational, "down");
    bool runs = !str_empty(operational) && !ret->down;
    for (size_t i = 0; i < array_len(all); i++) {
        if (str_eq(word, runtime_admin_name(all[i]))) {
            ret->admin = all[i] == RUNTIME_MAINT && runs ? RUNTIME_DRAIN : all[i];
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID, "%s: field \"admin_state\" is \"%s\", expected ready, drain or maint", object,
                     word);
}

/* Brackets are how some write an IPv6 literal in front of a port. */
static char *bare(const char *address)
{
    size_t len = strlen(address);
    bool bracketed = address[0] == '[' && address[len - 1] == ']';
    return bracketed ? mem_strndup(address + 1, len - 2) : mem_strdup(address);
}

static int read_row(yyjson_val *val, const char *object, struct runtime_server *ret, struct error *err)
{
    const char *name, *address;
    int64_t port, weight;
    struct runtime_server read = {.weight = -1};
    if (!yyjson_is_obj(val))
        return error_set(err, ERROR_INVALID, "%s is %s, expected an object", object, yyjson_get_type_desc(val));
    if (codec_need_string(val, "name", object, &name, err) != 0)
        return -1;
    cleanup(mem_free_ptr) char *named = mem_printf("running server %s", name);
    if (read_states(val, named, &read, err) != 0 || codec_get_string(val, "address", named, &address, err) != 0 ||
        codec_get_int(val, "port", named, 0, 65535, 0, &port, err) != 0 ||
        codec_get_int(val, "weight", named, 0, INT_MAX, -1, &weight, err) != 0)
        return -1;
    read.name = mem_strdup(name);
    read.address = bare(address);
    read.port = (uint16_t)port;
    read.weight = (int)weight;
    *ret = read;
    return 0;
}

int codec_read_runtime(const char *json, size_t len, struct runtime *ret, struct error *err)
{
    cleanup(codec_doc_free_ptr) yyjson_doc *doc = codec_parse(json, len, "the list of running servers", err);
    cleanup(runtime_fini) struct runtime read;
    runtime_init(&read);
    if (doc == NULL)
        return -1;
    yyjson_val *root = yyjson_doc_get_root(doc), *val;
    if (!yyjson_is_arr(root) && !yyjson_is_null(root))
        return error_set(err, ERROR_INVALID, "the list of running servers is %s, expected an array",
                         yyjson_get_type_desc(root));
    read.servers = mem_array(yyjson_arr_size(root), sizeof(*read.servers));
    yyjson_arr_iter iter = yyjson_arr_iter_with(root);
    while ((val = yyjson_arr_iter_next(&iter)) != NULL) {
        char object[64];
        snprintf(object, sizeof(object), "running server %zu of the list", read.count + 1);
        if (read_row(val, object, &read.servers[read.count], err) != 0)
            return -1;
        read.count++;
    }
    read.readable = true;
    runtime_sort(&read);
    struct runtime old = *ret;
    *ret = read;
    read = old;
    return 0;
}

int codec_read_runtime_server(const char *json, size_t len, struct runtime_server *ret, struct error *err)
{
    cleanup(codec_doc_free_ptr) yyjson_doc *doc = codec_parse(json, len, "the running server", err);
    return doc == NULL ? -1 : read_row(yyjson_doc_get_root(doc), "the running server", ret, err);
}

int codec_read_worker(const char *json, size_t len, struct codec_worker *ret, struct error *err)
{
    static const char what[] = "the running HAProxy";
    const char *why;
    struct codec_worker read;
    cleanup(codec_doc_free_ptr) yyjson_doc *doc = codec_parse(json, len, what, err);
    if (doc == NULL)
        return -1;
    yyjson_val *root = yyjson_doc_get_root(doc), *info = yyjson_obj_get(root, "info");
    if (!yyjson_is_obj(root))
        return error_set(err, ERROR_INVALID, "%s is %s, expected an object", what, yyjson_get_type_desc(root));
    if (codec_get_string(root, "error", what, &why, err) != 0)
        return -1;
    if (!yyjson_is_obj(info)) /* a 200 that says in its body that HAProxy did not answer */
        return error_set(err, ERROR_INVALID, "%s: there is no \"info\"%s%s", what, why[0] != '\0' ? ": " : "", why);
    if (codec_get_int(info, "pid", what, 1, INT64_MAX, -1, &read.pid, err) != 0 ||
        codec_get_int(info, "uptime", what, 0, INT64_MAX, -1, &read.uptime_s, err) != 0)
        return -1;
    if (read.pid < 0)
        return error_set(err, ERROR_INVALID, "%s: field \"pid\" is missing", what);
    *ret = read;
    return 0;
}
