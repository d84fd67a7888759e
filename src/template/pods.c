#include "template/pods.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "json/read.h"
#include "json/write.h"
#include "settings/table.h"
#include "template/set.h"

#define SET "undefined: lenient\ntrim_blocks: false\n"

/* A pod that may be a server. */
struct pod {
    yyjson_doc *doc;
    const char *name, *namespace;
    yyjson_val *labels;
};

struct pod_list {
    struct pod *list;
    size_t count;
};

static void pods_leave_out(struct pods *p, const char *object, const char *key, const char *why)
{
    p->left_out = mem_resize(p->left_out, p->left_out_count + 2, sizeof(p->left_out[0]));
    p->left_out[p->left_out_count++] = mem_printf("%s, key %s: %s", object, key, why);
    p->left_out[p->left_out_count] = NULL;
}

/* ---- pods ---- */

static bool pod_is_ready(yyjson_val *pod)
{
    yyjson_val *status = yyjson_obj_get(pod, "status"), *one;
    yyjson_val *containers = yyjson_obj_get(status, "containerStatuses");
    if (str_empty(yyjson_get_str(yyjson_obj_get(status, "podIP"))) || yyjson_arr_size(containers) == 0)
        return false;
    size_t i, max;
    yyjson_arr_foreach (containers, i, max, one)
        if (!yyjson_get_bool(yyjson_obj_get(one, "ready")))
            return false;
    return true;
}

static int pod_compare(const void *a, const void *b)
{
    const struct pod *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : strcmp(x->namespace, y->namespace);
}

static void pod_list_fini(struct pod_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        yyjson_doc_free(l->list[i].doc);
    free(l->list);
}

/* By name. What is no pod with a name is none of ours. */
static void pod_list_fill(struct pod_list *l, const struct pods_input *in)
{
    l->list = mem_array(in->pod_count + 1, sizeof(l->list[0]));
    for (size_t i = 0; i < in->pod_count; i++) {
        yyjson_doc *doc = yyjson_read(in->pods[i], strlen(in->pods[i]), 0);
        yyjson_val *root = yyjson_doc_get_root(doc), *meta = yyjson_obj_get(root, "metadata");
        struct pod pod = {doc, yyjson_get_str(yyjson_obj_get(meta, "name")),
                          yyjson_get_str(yyjson_obj_get(meta, "namespace")), yyjson_obj_get(meta, "labels")};
        if (pod.name != NULL && pod.namespace != NULL && pod_is_ready(root))
            l->list[l->count++] = pod;
        else
            yyjson_doc_free(doc);
    }
    qsort(l->list, l->count, sizeof(l->list[0]), pod_compare);
}

/* ---- selectors: {"app": "web"}, or a label selector in words ---- */

static const char *label_of(yyjson_val *labels, const char *key, size_t len)
{
    return yyjson_get_str(yyjson_obj_getn(labels, key, len));
}

static char *selector_word(const char *from, size_t len)
{
    while (len > 0 && (*from == ' ' || *from == '\t'))
        from++, len--;
    while (len > 0 && (from[len - 1] == ' ' || from[len - 1] == '\t'))
        len--;
    return mem_strndup(from, len);
}

/* Whether a value is among "a, b)". */
static bool selector_lists(const char *list, const char *value)
{
    for (const char *at = list; *at != '\0' && *at != ')'; at += strspn(at, ",")) {
        size_t len = strcspn(at, ",)");
        cleanup(mem_free_ptr) char *word = selector_word(at, len);
        if (value != NULL && str_eq(word, value))
            return true;
        at += len;
    }
    return false;
}

/* One of: a=b, a==b, a!=b, a, !a, a in (b,c), a notin (b,c). */
static bool selector_holds(const char *requirement, yyjson_val *labels)
{
    const char *open = strchr(requirement, '(');
    size_t len = strcspn(requirement, "=!");
    if (open != NULL) {
        size_t key = strcspn(requirement, " \t");
        const char *word = requirement + key + strspn(requirement + key, " \t");
        return selector_lists(open + 1, label_of(labels, requirement, key)) == str_has_prefix(word, "in");
    }
    if (requirement[0] == '!') {
        cleanup(mem_free_ptr) char *key = selector_word(requirement + 1, strlen(requirement + 1));
        return label_of(labels, key, strlen(key)) == NULL;
    }
    cleanup(mem_free_ptr) char *key = selector_word(requirement, len);
    const char *has = label_of(labels, key, strlen(key));
    if (requirement[len] == '\0')
        return has != NULL;
    const char *behind = requirement + len + strspn(requirement + len, "=!");
    cleanup(mem_free_ptr) char *value = selector_word(behind, strlen(behind));
    return (has != NULL && str_eq(has, value)) == (requirement[len] == '=');
}

static bool selector_matches(yyjson_val *selector, yyjson_val *labels)
{
    yyjson_val *key, *value;
    size_t i, max;
    yyjson_obj_foreach (selector, i, max, key, value) {
        const char *has = label_of(labels, yyjson_get_str(key), yyjson_get_len(key));
        if (has == NULL || !yyjson_equals_str(value, has))
            return false;
    }
    const char *at = yyjson_is_str(selector) ? yyjson_get_str(selector) : "";
    while (*at != '\0') {
        const char *close = strchr(at, '(') != NULL && strchr(at, '(') < at + strcspn(at, ",") ? strchr(at, ')') : NULL;
        size_t len = close != NULL ? (size_t)(close - at) + 1 : strcspn(at, ",");
        cleanup(mem_free_ptr) char *requirement = selector_word(at, len);
        if (!selector_holds(requirement, labels))
            return false;
        at += len;
        at += strspn(at, ", \t");
    }
    return true;
}

/* ---- services ---- */

/* "" where it is one. */
static const char *service_wrong(yyjson_val *service)
{
    if (!yyjson_is_obj(service))
        return "expected a JSON object with namespace and selector";
    if (str_empty(yyjson_get_str(yyjson_obj_get(service, "namespace"))))
        return "it has no namespace";
    yyjson_val *selector = yyjson_obj_get(service, "selector");
    if (!yyjson_is_str(selector) && !yyjson_is_obj(selector))
        return "it has no selector, neither labels nor text";
    return yyjson_get_len(selector) == 0 ? "an empty selector: it would be of all pods" : "";
}

static void add_service(yyjson_mut_doc *doc, yyjson_mut_val *list, const char *name, yyjson_val *service,
                        const struct pod_list *pods)
{
    yyjson_mut_val *of = yyjson_val_mut_copy(doc, service);
    json_set(doc, of, "name", yyjson_mut_strcpy(doc, name));
    yyjson_mut_val *own = yyjson_mut_obj(doc);
    const char *namespace = yyjson_get_str(yyjson_obj_get(service, "namespace"));
    yyjson_val *selector = yyjson_obj_get(service, "selector");
    for (size_t i = 0; i < pods->count; i++) {
        const struct pod *pod = &pods->list[i];
        if (str_eq(pod->namespace, namespace) && selector_matches(selector, pod->labels))
            yyjson_mut_obj_add(own, yyjson_mut_strcpy(doc, pod->name),
                               yyjson_val_mut_copy(doc, yyjson_doc_get_root(pod->doc)));
    }
    json_set(doc, of, "pods", own);
    json_add(list, of);
}

static int key_compare(const void *a, const void *b)
{
    return strcmp(yyjson_get_str(*(yyjson_val *const *)a), yyjson_get_str(*(yyjson_val *const *)b));
}

/* The keys of an object in order; NULL behind the last. */
static yyjson_val **sorted_keys(yyjson_val *of)
{
    yyjson_val **keys = mem_array(yyjson_obj_size(of) + 1, sizeof(keys[0])), *key, *value;
    size_t i, max;
    yyjson_obj_foreach (of, i, max, key, value)
        keys[i] = key;
    qsort(keys, yyjson_obj_size(of), sizeof(keys[0]), key_compare);
    return keys;
}

static void add_services(struct pods *p, yyjson_mut_doc *doc, yyjson_mut_val *list, yyjson_val *data,
                         const struct pod_list *pods)
{
    cleanup(mem_free_ptr) yyjson_val **keys = sorted_keys(data);
    for (size_t i = 0; keys[i] != NULL; i++) {
        const char *name = yyjson_get_str(keys[i]);
        yyjson_val *text = unsafe_yyjson_get_next(keys[i]);
        struct error why = {0};
        yyjson_doc *service = json_parse(yyjson_get_str(text), yyjson_get_len(text), 0, "the service", &why);
        const char *wrong = service != NULL ? service_wrong(yyjson_doc_get_root(service)) : why.message;
        if (wrong[0] == '\0')
            add_service(doc, list, name, yyjson_doc_get_root(service), pods);
        else
            pods_leave_out(p, "ConfigMap services", name, wrong);
        yyjson_doc_free(service);
    }
}

/* ---- certificates ---- */

static void add_certificate(struct pods *p, const char *name, const char *certificate, char *key, size_t key_len)
{
    struct buf pem;
    buf_init_secret(&pem, 0);
    buf_addn(&pem, key, key_len);
    if (key_len > 0 && key[key_len - 1] != '\n')
        buf_add(&pem, "\n");
    buf_add(&pem, certificate);
    size_t len = pem.len;
    p->certificates = mem_resize(p->certificates, p->certificate_count + 1, sizeof(p->certificates[0]));
    p->certificates[p->certificate_count++] =
        (struct pods_certificate){mem_printf("%s.pem", name), buf_take(&pem), len};
    buf_fini(&pem);
}

/* A name that is no name of a file would be one elsewhere. */
static void add_certificates(struct pods *p, yyjson_mut_doc *doc, yyjson_mut_val *list, yyjson_val *data,
                             yyjson_val *keys)
{
    cleanup(mem_free_ptr) yyjson_val **names = sorted_keys(data);
    for (size_t i = 0; names[i] != NULL; i++) {
        const char *name = yyjson_get_str(names[i]);
        const char *certificate = yyjson_get_str(unsafe_yyjson_get_next(names[i]));
        const char *encoded = yyjson_get_str(yyjson_obj_getn(keys, name, yyjson_get_len(names[i])));
        size_t len = 0;
        if (encoded == NULL || certificate == NULL)
            continue;
        char *key = base64_decode(encoded, &len);
        if (key == NULL) {
            pods_leave_out(p, "Secret keys", name, "it is no base64");
        } else if (strchr(name, '/') != NULL || name[0] == '.') {
            pods_leave_out(p, "ConfigMap certificates", name, "it is no name of a file");
        } else {
            add_certificate(p, name, certificate, key, len);
            json_add(list, yyjson_mut_strcpy(doc, name));
        }
        mem_wipe_free(key);
    }
}

/* ---- the environment ---- */

/* DATAPLANE_PASSWORD, DATAPLANE_PASSWORD_FILE, and what an operator calls them. */
static bool is_credential(const char *name, size_t len)
{
    if (len > 5 && strncmp(name + len - 5, "_FILE", 5) == 0 && is_credential(name, len - 5))
        return true;
    for (const struct setting *row = setting_table; row->name != NULL; row++) {
        const char *const names[] = {row->name, row->alias};
        for (size_t i = 0; row->or_file && i < array_len(names); i++)
            if (names[i] != NULL && strlen(names[i]) == len && strncmp(names[i], name, len) == 0)
                return true;
    }
    return false;
}

static void add_env(yyjson_mut_doc *doc, yyjson_mut_val *of, char *const *env)
{
    for (; env != NULL && *env != NULL; env++) {
        size_t len = strcspn(*env, "=");
        if ((*env)[len] == '=' && !is_credential(*env, len))
            yyjson_mut_obj_add(of, yyjson_mut_strncpy(doc, *env, len), json_text(doc, *env + len + 1));
    }
}

/* ---- all of it ---- */

static int pods_data(const char *json, const char *what, yyjson_doc **ret_doc, yyjson_val **ret, struct error *err)
{
    *ret = NULL;
    if (json == NULL)
        return 0;
    *ret_doc = json_parse(json, strlen(json), 0, what, err);
    yyjson_val *root = NULL;
    if (json_object_of(*ret_doc, what, &root, err) == 0 && json_get_object(root, "data", ret, err) == 0)
        return 0;
    err->kind = ERROR_INVALID;
    return -1;
}

static int pods_read_set(struct pods *p, const char *text, struct error *err)
{
    const struct template_file files[] = {{TEMPLATE_SET_FILE, SET, strlen(SET)},
                                          {"haproxy.cfg.j2", text, strlen(text)}};
    p->set = template_set_parse(files, array_len(files), err);
    if (p->set == NULL)
        return -1;
    p->set->keep_newline = false;
    return 0;
}

static void pods_finish(struct pods *p, yyjson_mut_doc *doc, const struct pods_input *in)
{
    static const char *const names[] = {"services", "certificates", "ssldir", "stats", "env"};
    p->doc = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_val *root = yyjson_doc_get_root(p->doc);
    for (size_t i = 0; i < array_len(names); i++)
        p->variables[i] = (struct engine_variable){{names[i], strlen(names[i])}, yyjson_obj_get(root, names[i])};
    static const char text[] = "stats.password: STATISTICS_PASSWORD is not set";
    if (in->statistics_password == NULL)
        p->unset =
            (struct engine_unset){yyjson_obj_get(yyjson_obj_get(root, "stats"), "password"), {text, strlen(text)}};
}

/* services, config, certificates, keys. */
struct pods_sources {
    yyjson_doc *doc[4];
    yyjson_val *data[4];
};

static void pods_sources_fini(struct pods_sources *s)
{
    for (size_t i = 0; i < array_len(s->doc); i++)
        yyjson_doc_free(s->doc[i]);
}

static int pods_fill(struct pods *p, const struct pods_input *in, struct error *err)
{
    static const char *const what[] = {"ConfigMap services", "ConfigMap config", "ConfigMap certificates",
                                       "Secret keys"};
    const char *const json[] = {in->services, in->config, in->certificates, in->keys};
    cleanup(pods_sources_fini) struct pods_sources s = {0};
    cleanup(pod_list_fini) struct pod_list pods = {0};
    for (size_t i = 0; i < array_len(json); i++)
        if (pods_data(json[i], what[i], &s.doc[i], &s.data[i], err) != 0)
            return -1;
    for (size_t i = 0; i < 2; i++)
        if (json[i] == NULL)
            return error_set(err, ERROR_INVALID, "%s is not there", what[i]);
    const char *text = yyjson_get_str(yyjson_obj_get(s.data[1], "template"));
    if (text == NULL)
        return error_set(err, ERROR_INVALID, "ConfigMap config has no key template");
    if (pods_read_set(p, text, err) != 0)
        return -1;
    pod_list_fill(&pods, in);
    yyjson_mut_val *root;
    cleanup(json_free_ptr) yyjson_mut_doc *doc = json_new(&root);
    add_services(p, doc, json_put_list(doc, root, "services"), s.data[0], &pods);
    add_certificates(p, doc, json_put_list(doc, root, "certificates"), s.data[2], s.data[3]);
    json_put(doc, root, "ssldir", json_text(doc, in->ssldir));
    yyjson_mut_val *stats = json_put_object(doc, root, "stats");
    json_put_text(doc, stats, "username", "stats");
    json_put_text(doc, stats, "password", in->statistics_password);
    add_env(doc, json_put_object(doc, root, "env"), in->env);
    pods_finish(p, doc, in);
    return 0;
}

int pods_read(const struct pods_input *in, struct pods *ret, struct error *err)
{
    *ret = (struct pods){0};
    if (pods_fill(ret, in, err) == 0)
        return 0;
    pods_fini(ret);
    return -1;
}

void pods_fini(struct pods *p)
{
    template_set_free(p->set);
    yyjson_doc_free(p->doc);
    for (size_t i = 0; i < p->certificate_count; i++) {
        explicit_bzero(p->certificates[i].pem, p->certificates[i].len);
        free(p->certificates[i].pem);
        free(p->certificates[i].file);
    }
    free(p->certificates);
    for (size_t i = 0; i < p->left_out_count; i++)
        free(p->left_out[i]);
    free(p->left_out);
    *p = (struct pods){0};
}
