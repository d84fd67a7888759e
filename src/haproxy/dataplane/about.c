#include "haproxy/dataplane/about.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "json/read.h"

/* A text of that object, NULL where there is none. */
static char *about_text_of(yyjson_val *obj, const char *key)
{
    const char *text = yyjson_get_str(yyjson_obj_get(obj, key));
    return str_empty(text) ? NULL : mem_strdup(text);
}

int about_read_api(const char *json, size_t len, char **ret_version, struct error *err)
{
    static const char what[] = "the API's description of itself";
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, what, err);
    if (doc == NULL)
        return -1;
    yyjson_val *api = yyjson_obj_get(yyjson_doc_get_root(doc), "api");
    if (!yyjson_is_obj(api))
        return error_set(err, ERROR_INVALID, "%s has no \"api\"", what);
    /* "v3.3.0 679db0ea"; " dev.dirty" of one that was built without a version */
    const char *version = yyjson_get_str(yyjson_obj_get(api, "version"));
    if (version != NULL && version[0] == 'v')
        version++;
    size_t size = version != NULL ? strcspn(version, " ") : 0;
    *ret_version = size > 0 ? mem_strndup(version, size) : NULL;
    return 0;
}

int about_read_haproxy(const char *json, size_t len, struct about_haproxy *ret, struct error *err)
{
    static const char what[] = "the running HAProxy";
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, what, err);
    yyjson_val *root;
    if (json_object_of(doc, what, &root, err) != 0)
        return -1;
    yyjson_val *info = yyjson_obj_get(root, "info");
    *ret = (struct about_haproxy){
        .version = about_text_of(info, "version"), .socket = about_text_of(root, "runtimeAPI"), .pid = -1};
    if (yyjson_is_int(yyjson_obj_get(info, "pid")))
        ret->pid = yyjson_get_sint(yyjson_obj_get(info, "pid"));
    if (!yyjson_is_obj(info))
        ret->problem = about_text_of(root, "error");
    if (!yyjson_is_obj(info) && ret->problem == NULL)
        ret->problem = mem_strdup("the answer says nothing about it");
    return 0;
}

void about_haproxy_fini(struct about_haproxy *a)
{
    free(a->version);
    free(a->socket);
    free(a->problem);
    *a = (struct about_haproxy){0};
}

int about_read_global(const char *json, size_t len, struct about_global *ret, struct error *err)
{
    static const char what[] = "the global section";
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, 0, what, err);
    yyjson_val *root, *socket;
    if (json_object_of(doc, what, &root, err) != 0)
        return -1;
    *ret = (struct about_global){.master_worker = yyjson_is_true(yyjson_obj_get(root, "master-worker"))};
    yyjson_val *sockets = yyjson_obj_get(root, "runtime_apis");
    size_t i, count;
    yyjson_arr_foreach (sockets, i, count, socket) {
        ret->sockets++;
        if (yyjson_equals_str(yyjson_obj_get(socket, "level"), "admin"))
            ret->admin_socket = true;
    }
    return 0;
}
