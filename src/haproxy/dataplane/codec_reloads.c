#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/dataplane/codec.h"
#include "json/read.h"

static int read_one(yyjson_val *val, struct reload_history *history, int64_t *newest, struct error *err)
{
    const char *status, *response;
    int64_t at;
    if (json_is_object(val, "it", err) != 0 || json_need_string(val, "status", &status, err) != 0 ||
        json_get_string(val, "response", &response, err) != 0 ||
        json_get_int(val, "reload_timestamp", 0, INT64_MAX, 0, &at, err) != 0)
        return error_prefix(err, "a reload in the list");
    if (str_eq(status, "in_progress")) {
        history->pending = true;
        return 0;
    }
    bool failed = str_eq(status, "failed");
    /* In the same second a failure wins: to reload once more than needed is the smaller evil. */
    if (at > *newest || (at == *newest && failed)) {
        *newest = at;
        history->last_failed = failed;
        free(history->response);
        history->response = mem_strdup(response);
    }
    return 0;
}

int codec_read_reloads(const char *json, size_t len, struct reload_history *ret, struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, "the list of reloads", err);
    yyjson_val *root, *val;
    if (json_list_of(doc, "the list of reloads", &root, err) != 0)
        return -1;
    struct reload_history history = {0};
    int64_t newest = -1;
    yyjson_arr_iter iter = yyjson_arr_iter_with(root);
    while ((val = yyjson_arr_iter_next(&iter)) != NULL) {
        if (read_one(val, &history, &newest, err) != 0) {
            reload_history_fini(&history);
            return -1;
        }
    }
    *ret = history;
    return 0;
}
