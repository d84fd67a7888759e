#include "haproxy/dataplane/codec.h"

#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "base/shared_text.h"
#include "base/str.h"
#include "haproxy/siblings.h"
#include "json/read.h"

int codec_get_switch(yyjson_val *obj, const char *key, bool *ret, struct error *err)
{
    const char *s;
    if (json_get_string(obj, key, &s, err) != 0)
        return -1;
    if (!str_eq(s, "enabled") && !str_eq(s, "disabled") && s[0] != '\0')
        return error_set(err, ERROR_INVALID, "%s is \"%s\", not \"enabled\" or \"disabled\"", key, s);
    *ret = str_eq(s, "enabled");
    return 0;
}

/* Names go into paths, the file and log lines. HAProxy takes any run without white space. */
static int need_name(yyjson_val *of, const char *key, const char **ret, struct error *err)
{
    if (json_need_string(of, key, ret, err) != 0)
        return -1;
    if (strchr(*ret, ' ') != NULL || str_has_control(*ret))
        return error_set(err, ERROR_INVALID, "%s is \"%s\", not a name without white space", key, *ret);
    return 0;
}

static int read_proxy_default(yyjson_val *root, bool *ret, struct error *err)
{
    yyjson_val *val;
    if (json_get_object(root, "default_server", &val, err) != 0)
        return -1;
    return codec_get_switch(val, "send-proxy-v2", ret, err) == 0 ? 0 : error_prefix(err, "default_server");
}

static int read_balance(yyjson_val *root, const char **ret, struct error *err)
{
    yyjson_val *val;
    if (json_get_object(root, "balance", &val, err) != 0)
        return -1;
    return json_get_string(val, "algorithm", ret, err) == 0 ? 0 : error_prefix(err, "balance");
}

static void replace(char **to, const char *with)
{
    char *copy = mem_strdup(with);
    free(*to);
    *to = copy;
}

/* json: the text of its base fields; taken over. */
static int read_base(yyjson_val *root, char *json, struct backend *ret, struct error *err)
{
    cleanup(mem_free_ptr) char *text = json;
    const char *name, *mode, *balance, *adv_check;
    bool proxy;
    yyjson_val *httpchk;
    if (need_name(root, "name", &name, err) != 0)
        return error_prefix(err, "the backend");
    if (ret->name != NULL && !str_eq(ret->name, name))
        return error_set(err, ERROR_INVALID, "asked for backend %s, the answer is about \"%s\"", ret->name, name);
    if (json_get_string(root, "mode", &mode, err) != 0 || read_balance(root, &balance, err) != 0 ||
        json_get_string(root, "adv_check", &adv_check, err) != 0 ||
        json_get_object(root, "httpchk_params", &httpchk, err) != 0 || read_proxy_default(root, &proxy, err) != 0)
        return error_prefix(err, "backend %s", name);
    replace(&ret->name, name);
    replace(&ret->mode, mode);
    replace(&ret->balance, balance);
    replace(&ret->adv_check, adv_check);
    ret->httpchk_params = yyjson_obj_size(httpchk) > 0; /* `option httpchk` says what to ask for */
    ret->default_send_proxy_v2 = proxy;
    ret->exists = true;
    free(ret->json);
    ret->json = text;
    text = NULL;
    return 0;
}

int codec_read_backend(const char *json, size_t len, struct backend *ret, struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc = json_parse(json, len, YYJSON_READ_BIGNUM_AS_RAW, "the backend", err);
    yyjson_val *root;
    if (json_object_of(doc, "the backend", &root, err) != 0)
        return -1;
    return read_base(root, json_text_of(root), ret, err);
}

/* "disabled" is the word that answers a default-server: `enabled`, `no-backup`. */
static int read_state(yyjson_val *val, const char *key, bool *ret_on, bool *ret_off, struct error *err)
{
    if (codec_get_switch(val, key, ret_on, err) != 0)
        return -1;
    *ret_off = yyjson_equals_str(yyjson_obj_get(val, key), "disabled");
    return 0;
}

static int read_server(yyjson_val *val, size_t index, struct backend_server *ret, struct error *err)
{
    const char *name, *address;
    int64_t port, weight, check_port;
    if (json_is_object(val, "it", err) != 0 || need_name(val, "name", &name, err) != 0)
        return error_prefix(err, "server %zu of the list", index + 1);
    *ret = (struct backend_server){0};
    if (json_need_string(val, "address", &address, err) != 0 ||
        json_get_int(val, "port", 0, 65535, 0, &port, err) != 0 ||
        json_get_int(val, "weight", 0, INT_MAX, -1, &weight, err) != 0 ||
        json_get_int(val, "health_check_port", 0, 65535, 0, &check_port, err) != 0 ||
        codec_get_switch(val, "check", &ret->check, err) != 0 ||
        read_state(val, "backup", &ret->backup, &ret->no_backup, err) != 0 ||
        read_state(val, "maintenance", &ret->maintenance, &ret->enabled, err) != 0 ||
        codec_get_switch(val, "send-proxy-v2", &ret->send_proxy_v2, err) != 0)
        return error_prefix(err, "server %s", name);
    ret->name = shared_text(name);
    ret->address = shared_text(address);
    ret->port = (uint16_t)port;
    ret->weight = (int)weight;
    ret->check_port = (uint16_t)check_port;
    ret->json = shared_text_take(json_text_of(val));
    ret->tracks = yyjson_obj_get(val, "track") != NULL;
    ret->rest = siblings_rest_of_object(val);
    return 0;
}

/* Of an array, or of an object that has them by their names; list NULL: there is none. */
static yyjson_val **members_of(yyjson_val *list, size_t *ret_count)
{
    yyjson_val **ret, *key, *val;
    size_t i, count;
    *ret_count = yyjson_is_obj(list) ? yyjson_obj_size(list) : yyjson_arr_size(list);
    ret = mem_array(*ret_count, sizeof(yyjson_val *));
    yyjson_arr_foreach (list, i, count, val)
        ret[i] = val;
    /* The macro for objects adds to a pointer that is NULL where there is none. */
    if (yyjson_is_obj(list))
        yyjson_obj_foreach (list, i, count, key, val)
            ret[i] = val;
    return ret;
}

static int read_servers(yyjson_val *list, struct backend *ret, struct error *err)
{
    cleanup(backend_fini) struct backend read;
    size_t count;
    cleanup(mem_free_ptr) yyjson_val **members = members_of(list, &count);
    backend_init(&read);
    read.servers = mem_array(count, sizeof(*read.servers));
    for (size_t i = 0; i < count; i++) {
        if (read_server(members[i], i, &read.servers[i], err) != 0)
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

int codec_read_servers(const char *json, size_t len, struct backend *ret, struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc =
        json_parse(json, len, YYJSON_READ_BIGNUM_AS_RAW, "the list of servers", err);
    yyjson_val *list;
    return json_list_of(doc, "the list of servers", &list, err) == 0 ? read_servers(list, ret, err) : -1;
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
    if (json_is_object(val, "it", err) != 0 || need_name(val, "prefix", &prefix, err) != 0 ||
        json_need_string(val, "num_or_range", &range, err) != 0)
        return error_prefix(err, "server-template %zu of the list", index + 1);
    if (parse_range(range, ret) != 0)
        return error_set(err, ERROR_INVALID, "server-template %s: num_or_range is \"%s\", not a number or FIRST-LAST",
                         prefix, range);
    ret->prefix = mem_strdup(prefix);
    return 0;
}

static int read_templates(yyjson_val *list, struct backend *ret, struct error *err)
{
    cleanup(backend_fini) struct backend read;
    size_t count;
    cleanup(mem_free_ptr) yyjson_val **members = members_of(list, &count);
    backend_init(&read);
    read.templates = mem_array(count, sizeof(*read.templates));
    for (size_t i = 0; i < count; i++) {
        if (read_template(members[i], i, &read.templates[i], err) != 0)
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

int codec_read_templates(const char *json, size_t len, struct backend *ret, struct error *err)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc =
        json_parse(json, len, YYJSON_READ_BIGNUM_AS_RAW, "the list of server-templates", err);
    yyjson_val *list;
    return json_list_of(doc, "the list of server-templates", &list, err) == 0 ? read_templates(list, ret, err) : -1;
}

/* ---- several backends, whole ---- */

/* What full_section adds to the base fields. A write of those does not take it, but it would be checked all the same. */
static bool is_of_full_section(const char *key)
{
    static const char *const all[] = {"servers",        "server_templates",     "acl_list",
                                      "filter_list",    "filter_sequence_list", "http_check_list",
                                      "log_target_list"};
    for (size_t i = 0; i < array_len(all); i++)
        if (str_eq(key, all[i]))
            return true;
    return str_has_suffix(key, "_rule_list");
}

static char *base_text(yyjson_val *root)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *to = yyjson_mut_obj(doc);
    yyjson_val *key, *val;
    size_t i, count, len;
    yyjson_obj_foreach (root, i, count, key, val)
        if (!is_of_full_section(yyjson_get_str(key)) &&
            !yyjson_mut_obj_add(to, yyjson_val_mut_copy(doc, key), yyjson_val_mut_copy(doc, val)))
            abort(); /* only memory can be short */
    cleanup(mem_free_ptr) char *text = yyjson_mut_val_write(to, YYJSON_WRITE_NOFLAG, &len);
    if (text == NULL)
        abort();
    yyjson_mut_doc_free(doc);
    return mem_strndup(text, len);
}

/* All of it, or nothing. */
static void read_full_section(yyjson_val *root, struct backend *ret)
{
    cleanup(backend_fini) struct backend read;
    yyjson_val *servers, *templates;
    backend_init(&read);
    read.name = mem_strdup(ret->name);
    read.version = ret->version;
    if (json_get_object(root, "servers", &servers, NULL) != 0 ||
        json_get_object(root, "server_templates", &templates, NULL) != 0 || read_servers(servers, &read, NULL) != 0 ||
        read_templates(templates, &read, NULL) != 0 || read_base(root, base_text(root), &read, NULL) != 0)
        return;
    struct backend old = *ret;
    *ret = read;
    read = old;
}

int codec_list_begin(struct codec_list *l, const char *json, size_t len, struct error *err)
{
    static const char what[] = "the list of backends";
    yyjson_val *all;
    *l = (struct codec_list){.doc = json_parse(json, len, YYJSON_READ_BIGNUM_AS_RAW, what, err)};
    if (json_list_of(l->doc, what, &all, err) != 0) {
        codec_list_fini(l);
        return -1;
    }
    l->at = yyjson_arr_get_first(all);
    l->left = yyjson_arr_size(all);
    return 0;
}

bool codec_list_read(struct codec_list *l, struct backend *const *list, size_t count, size_t at_most)
{
    for (; at_most > 0 && l->left > 0; at_most--, l->left--, l->at = unsafe_yyjson_get_next(l->at)) {
        const char *name = yyjson_get_str(yyjson_obj_get(l->at, "name"));
        for (size_t k = 0; name != NULL && k < count; k++)
            if (str_eq(list[k]->name, name) && !list[k]->exists)
                read_full_section(l->at, list[k]);
    }
    return l->left > 0;
}

void codec_list_fini(struct codec_list *l)
{
    json_doc_free_ptr(&l->doc);
    *l = (struct codec_list){.doc = NULL};
}
