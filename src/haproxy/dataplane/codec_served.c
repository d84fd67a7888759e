#include <string.h>

#include "base/str.h"
#include "haproxy/dataplane/codec.h"
#include "haproxy/served.h"
#include "json/read.h"

static const char codec_stats[] = "HAProxy's statistics";

static int codec_read_server_stats(yyjson_val *val, const char *name, yyjson_val *stats, const char *status,
                                   struct served *ret, struct error *err)
{
    const char *backend, *check, *detail;
    if (json_need_string(val, "backend_name", &backend, err) != 0 ||
        json_get_string(stats, "check_status", &check, err) != 0 ||
        json_get_string(stats, "last_chk", &detail, err) != 0)
        return error_prefix(err, "%s", name);
    served_add_server(ret, backend, name, status, check, detail);
    return 0;
}

static int codec_read_proxy(yyjson_val *val, enum codec_served of, struct served *ret, struct error *err)
{
    const char *name, *status;
    yyjson_val *stats;
    int64_t active, backup;
    if (json_is_object(val, codec_stats, err) != 0 || json_need_string(val, "name", &name, err) != 0 ||
        json_get_object(val, "stats", &stats, err) != 0)
        return -1;
    if (stats == NULL)
        return error_set(err, ERROR_INVALID, "\"stats\" of %s is absent", name);
    if (json_get_string(stats, "status", &status, err) != 0 ||
        json_get_int(stats, "act", 0, UINT32_MAX / 2, 0, &active, err) != 0 ||
        json_get_int(stats, "bck", 0, UINT32_MAX / 2, 0, &backup, err) != 0)
        return error_prefix(err, "%s", name);
    if (of == CODEC_SERVED_SERVERS)
        return codec_read_server_stats(val, name, stats, status, ret, err);
    if (of == CODEC_SERVED_BACKENDS)
        served_add_backend(ret, name, (unsigned)(active + backup));
    else
        served_add_frontend(ret, name, str_eq(status, "OPEN"));
    return 0;
}

/* What one process has. Without a proxy of that kind there is no list, nor where the API cannot read what HAProxy says:
 * 2.6 through its master socket. */
static int codec_read_process(yyjson_val *val, enum codec_served of, struct served *ret, struct error *err)
{
    const char *why;
    yyjson_val *list, *one;
    size_t i, count;
    if (json_is_object(val, codec_stats, err) != 0 || json_get_string(val, "error", &why, err) != 0 ||
        json_get_array(val, "stats", &list, err) != 0)
        return -1;
    if (!str_empty(why))
        return error_set(err, ERROR_RETRY, "%s", why);
    yyjson_arr_foreach (list, i, count, one)
        if (codec_read_proxy(one, of, ret, err) != 0)
            return -1;
    ret->lists = ret->lists || list != NULL;
    return 0;
}

int codec_read_served(const char *json, size_t len, enum codec_served of, struct served *ret, struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, codec_stats, err);
    yyjson_val *root = yyjson_doc_get_root(doc), *one;
    size_t i, count;
    if (doc == NULL)
        return -1;
    if (!yyjson_is_arr(root))
        return codec_read_process(root, of, ret, err) == 0 ? 0 : error_prefix(err, "%s", codec_stats);
    yyjson_arr_foreach (root, i, count, one)
        if (codec_read_process(one, of, ret, err) != 0)
            return error_prefix(err, "%s", codec_stats);
    return 0;
}
