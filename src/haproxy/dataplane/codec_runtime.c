#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/shared_text.h"
#include "base/str.h"
#include "haproxy/dataplane/codec.h"
#include "json/read.h"

/* A drain of a server whose line was `disabled` at HAProxy's start is reported as maint (all releases of the API so far
 * take the decimal number 12 for hexadecimal); but what is in maint is down. */
static int codec_runtime_read_states(yyjson_val *val, struct runtime_server *ret, struct error *err)
{
    static const enum runtime_admin all[] = {RUNTIME_READY, RUNTIME_DRAIN, RUNTIME_MAINT};
    const char *word, *operational;
    if (json_need_string(val, "admin_state", &word, err) != 0 ||
        json_get_string(val, "operational_state", &operational, err) != 0)
        return -1;
    ret->down = str_eq(operational, "down");
    bool runs = !str_empty(operational) && !ret->down;
    for (size_t i = 0; i < array_len(all); i++) {
        if (str_eq(word, runtime_admin_name(all[i]))) {
            ret->admin = all[i] == RUNTIME_MAINT && runs ? RUNTIME_DRAIN : all[i];
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID, "admin_state is \"%s\", not ready, drain or maint", word);
}

/* Brackets are how some write an IPv6 literal in front of a port. */
static const char *codec_runtime_bare(const char *address)
{
    size_t len = strlen(address);
    bool bracketed = address[0] == '[' && address[len - 1] == ']';
    return bracketed ? shared_text_take(mem_strndup(address + 1, len - 2)) : shared_text(address);
}

static int read_row(yyjson_val *val, const char *object, struct runtime_server *ret, struct error *err)
{
    const char *name, *address;
    int64_t port, weight;
    struct runtime_server read = {.weight = -1};
    if (json_is_object(val, object, err) != 0)
        return -1;
    if (json_need_string(val, "name", &name, err) != 0)
        return error_prefix(err, "%s", object);
    if (codec_runtime_read_states(val, &read, err) != 0 || json_get_string(val, "address", &address, err) != 0 ||
        json_get_int(val, "port", 0, 65535, 0, &port, err) != 0 ||
        json_get_int(val, "weight", 0, INT_MAX, -1, &weight, err) != 0)
        return error_prefix(err, "running server %s", name);
    read.name = shared_text(name);
    read.unresolved = str_eq(address, "-"); /* `show servers state` of a server without one */
    read.address = codec_runtime_bare(address);
    read.port = (uint16_t)port;
    read.weight = (int)weight;
    *ret = read;
    return 0;
}

int codec_read_runtime(const char *json, size_t len, struct runtime *ret, struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, "the list of running servers", err);
    cleanup(runtime_fini) struct runtime read;
    yyjson_val *root, *val;
    runtime_init(&read);
    if (json_list_of(doc, "the list of running servers", &root, err) != 0)
        return -1;
    read.servers = mem_array(yyjson_arr_size(root), sizeof(*read.servers));
    size_t i, count;
    yyjson_arr_foreach (root, i, count, val) {
        char object[64];
        snprintf(object, sizeof(object), "running server %zu of the list", i + 1);
        if (read_row(val, object, &read.servers[i], err) != 0)
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
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, "the running server", err);
    return doc == NULL ? -1 : read_row(yyjson_doc_get_root(doc), "the running server", ret, err);
}

int codec_read_worker(const char *json, size_t len, struct codec_worker *ret, struct error *err)
{
    static const char what[] = "the running HAProxy";
    const char *why, *version;
    struct codec_worker read;
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, what, err);
    yyjson_val *root;
    if (json_object_of(doc, what, &root, err) != 0)
        return -1;
    yyjson_val *info = yyjson_obj_get(root, "info");
    if (json_get_string(root, "error", &why, err) != 0)
        return error_prefix(err, "%s", what);
    if (!yyjson_is_obj(info)) /* a 200 that says in its body that HAProxy did not answer */
        return error_set(err, ERROR_INVALID, "%s: there is no \"info\"%s%s", what, why[0] != '\0' ? ": " : "", why);
    if (json_get_int(info, "pid", 1, INT64_MAX, -1, &read.pid, err) != 0 ||
        json_get_int(info, "uptime", 0, INT64_MAX, -1, &read.uptime_s, err) != 0 ||
        json_get_string(info, "version", &version, err) != 0)
        return error_prefix(err, "%s", what);
    if (read.pid < 0)
        return error_set(err, ERROR_INVALID, "%s: pid is missing", what);
    snprintf(read.version, sizeof(read.version), "%s", version);
    *ret = read;
    return 0;
}
