#include "template/pods.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "json/read.h"
#include "json/write.h"
#include "model/objects.h"
#include "settings/names.h"
#include "settings/table.h"
#include "template/set.h"

#define SET "undefined: lenient\ntrim_blocks: false\nwatch: {pods: {apiVersion: v1, kind: Pod, namespaces: ["

const char *pods_object_name(enum pods_object o)
{
    static const char *const names[] = {[PODS_SERVICES] = "services",
                                        [PODS_CONFIG] = "config",
                                        [PODS_CERTIFICATES] = "certificates",
                                        [PODS_KEYS] = "keys"};
    return names[o];
}

const char *pods_object_kind(enum pods_object o)
{
    return o == PODS_KEYS ? "Secret" : "ConfigMap";
}

/* A pod that may be a server. */
struct ready_pod {
    yyjson_val *root;
    const char *name, *namespace;
    yyjson_val *labels;
};

struct pod_list {
    struct ready_pod *list;
    size_t count;
};

static void pods_leave_out(struct pods *p, enum pods_object of, const char *key, const char *why)
{
    p->left_out = mem_resize(p->left_out, p->left_out_count + 1, sizeof(p->left_out[0]));
    p->left_out[p->left_out_count++] = (struct pods_left_out){of, mem_printf("key %s: %s", key, why)};
}

static int value_compare(const void *a, const void *b)
{
    const struct secret_value *const *x = a, *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

/* Those of an object by their keys; NULL behind the last. o NULL: none. */
static const struct secret_value **values_sorted(const struct secret_object *o)
{
    size_t count = o != NULL ? o->value_count : 0;
    const struct secret_value **list = mem_array(count + 1, sizeof(list[0]));
    for (size_t i = 0; i < count; i++)
        list[i] = &o->values[i];
    if (count > 0)
        qsort(list, count, sizeof(list[0]), value_compare);
    return list;
}

/* ---- pods ---- */

bool pods_is_ready(struct yyjson_val *pod)
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
    const struct ready_pod *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : strcmp(x->namespace, y->namespace);
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
    const char *namespace = yyjson_get_str(yyjson_obj_get(service, "namespace"));
    cleanup(buf_fini) struct buf note = {0};
    if (str_empty(namespace))
        return "it has no namespace";
    if (name_check_label(namespace, &note) != 0) /* it becomes a part of a path */
        return "what it has as namespace can be none";
    yyjson_val *selector = yyjson_obj_get(service, "selector");
    if (!yyjson_is_str(selector) && !yyjson_is_obj(selector))
        return "it has no selector, neither labels nor text";
    return yyjson_get_len(selector) == 0 ? "an empty selector: it would be of all pods" : "";
}

static void add_service(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct pods_service *s,
                        const struct pod_list *pods)
{
    yyjson_val *service = yyjson_doc_get_root(s->doc);
    yyjson_mut_val *of = yyjson_val_mut_copy(doc, service);
    json_set(doc, of, "name", yyjson_mut_strcpy(doc, s->name));
    yyjson_mut_val *own = yyjson_mut_obj(doc);
    const char *namespace = yyjson_get_str(yyjson_obj_get(service, "namespace"));
    yyjson_val *selector = yyjson_obj_get(service, "selector");
    for (size_t i = 0; i < pods->count; i++) {
        const struct ready_pod *pod = &pods->list[i];
        if (str_eq(pod->namespace, namespace) && selector_matches(selector, pod->labels))
            yyjson_mut_obj_add(own, yyjson_mut_strcpy(doc, pod->name), yyjson_val_mut_copy(doc, pod->root));
    }
    json_set(doc, of, "pods", own);
    json_add(list, of);
}

/* "" where there is room. */
static const char *pods_add_namespace(struct pods *p, yyjson_val *service)
{
    const char *namespace = yyjson_get_str(yyjson_obj_get(service, "namespace"));
    for (size_t i = 0; i < p->namespace_count; i++)
        if (str_eq(p->namespaces[i], namespace))
            return "";
    if (p->namespace_count == array_len(p->namespaces))
        return "its namespace is one too many: pods of 100 are watched";
    p->namespaces[p->namespace_count++] = namespace;
    return "";
}

static void pods_read_services(struct pods *p, const struct secret_object *o)
{
    cleanup(mem_free_ptr) const struct secret_value **values = values_sorted(o);
    p->services = mem_array(o->value_count, sizeof(p->services[0]));
    for (size_t i = 0; values[i] != NULL; i++) {
        struct error why = {0};
        yyjson_doc *service = json_parse(values[i]->bytes, values[i]->len, 0, "the service", &why);
        const char *wrong = service != NULL ? service_wrong(yyjson_doc_get_root(service)) : why.message;
        if (wrong[0] == '\0')
            wrong = pods_add_namespace(p, yyjson_doc_get_root(service));
        if (wrong[0] == '\0') {
            p->services[p->service_count++] = (struct pods_service){mem_strdup(values[i]->key), service};
        } else {
            pods_leave_out(p, PODS_SERVICES, values[i]->key, wrong);
            yyjson_doc_free(service);
        }
    }
}

/* ---- certificates ---- */

/* A name that is no name of a file would be one elsewhere. */
static void pods_read_certificates(struct pods *p, const struct secret_object *certificates,
                                   const struct secret_object *keys)
{
    cleanup(mem_free_ptr) const struct secret_value **values = values_sorted(certificates);
    cleanup(mem_free_ptr) const struct secret_value **halves = values_sorted(keys);
    p->certificates = mem_array(certificates != NULL ? certificates->value_count : 0, sizeof(p->certificates[0]));
    for (size_t i = 0, k = 0; values[i] != NULL; i++) {
        const char *name = values[i]->key;
        while (halves[k] != NULL && strcmp(halves[k]->key, name) < 0)
            k++;
        if (halves[k] == NULL || !str_eq(halves[k]->key, name))
            continue;
        if (strchr(name, '/') != NULL || name[0] == '.') {
            pods_leave_out(p, PODS_CERTIFICATES, name, "it is no name of a file");
            continue;
        }
        const struct secret_value *certificate = values[i], *key = halves[k];
        struct buf pem;
        buf_init_secret(&pem, 0);
        buf_addn(&pem, key->bytes, key->len);
        if (key->len > 0 && key->bytes[key->len - 1] != '\n')
            buf_add(&pem, "\n");
        buf_addn(&pem, certificate->bytes, certificate->len);
        size_t len = pem.len;
        p->certificates[p->certificate_count++] = (struct pods_certificate){mem_strdup(name), buf_take(&pem), len};
        buf_fini(&pem);
    }
}

static void certificate_fini(struct pods_certificate *c)
{
    explicit_bzero(c->pem, c->len);
    mem_free_all(c->pem, c->name);
}

void pods_check_certificates(struct pods *p, struct storage_known *known)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->certificate_count; i++) {
        struct pods_certificate *c = &p->certificates[i];
        cleanup(mem_free_ptr) char *file = mem_printf("%s.pem", c->name);
        const struct engine_text name = {file, strlen(file)}, bytes = {c->pem, c->len};
        int place;
        cleanup(mem_free_ptr) char *wrong =
            engine_file_problem(known, ENGINE_CERTIFICATE - ENGINE_MAP, name, bytes, &place);
        if (wrong == NULL) {
            p->certificates[kept++] = *c;
            continue;
        }
        pods_leave_out(p, PODS_CERTIFICATES, c->name, wrong);
        certificate_fini(c);
    }
    p->certificate_count = kept;
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

/* ---- all of it ---- */

static int pods_fill(struct pods *p, const struct secret_object *const of[PODS_OBJECTS], struct error *err)
{
    static const enum pods_object needed[] = {PODS_SERVICES, PODS_CONFIG};
    const struct secret_value *text = NULL;
    cleanup(buf_fini) struct buf set = {0};
    for (size_t i = 0; i < array_len(needed); i++)
        if (of[needed[i]] == NULL)
            return error_set(err, ERROR_INVALID, "ConfigMap %s does not exist", pods_object_name(needed[i]));
    for (size_t i = 0; i < of[PODS_CONFIG]->value_count; i++)
        if (str_eq(of[PODS_CONFIG]->values[i].key, "template"))
            text = &of[PODS_CONFIG]->values[i];
    if (text == NULL)
        return error_set(err, ERROR_INVALID, "ConfigMap config has no key template");
    pods_read_services(p, of[PODS_SERVICES]);
    pods_read_certificates(p, of[PODS_CERTIFICATES], of[PODS_KEYS]);
    buf_add(&set, SET);
    for (size_t i = 0; i < p->namespace_count; i++)
        buf_printf(&set, "'%s', ", p->namespaces[i]);
    buf_add(&set, "]}}\n");
    const struct template_file files[] = {{TEMPLATE_SET_FILE, buf_str(&set), set.len},
                                          {"haproxy.cfg.j2", text->bytes, text->len}};
    p->set = template_set_parse(files, array_len(files), err);
    if (p->set == NULL)
        return -1;
    p->set->keep_newline = false;
    if (p->namespace_count == 0) /* none, and not all */
        p->set->watches[0].namespaces = mem_array(1, sizeof(char *));
    return 0;
}

int pods_read(const struct secret_object *const of[PODS_OBJECTS], struct pods *ret, struct error *err)
{
    *ret = (struct pods){0};
    int rc = pods_fill(ret, of, err);
    if (rc != 0)
        pods_fini(ret);
    return rc;
}

void pods_see(struct pods *p, const struct pods_view *view)
{
    static const char *const names[] = {"services", "certificates", "ssldir", "stats", "env"};
    static const char unset[] = "stats.password: STATISTICS_PASSWORD is not set";
    struct pod_list pods = {.list = mem_array(view->pod_count + 1, sizeof(pods.list[0]))};
    yyjson_mut_val *root;
    cleanup(json_free_ptr) yyjson_mut_doc *doc = json_new(&root);
    for (size_t i = 0; i < view->pod_count; i++) { /* what is no pod with a name is not used */
        yyjson_val *one = (yyjson_val *)(uintptr_t)view->pods[i], *meta = yyjson_obj_get(one, "metadata");
        const struct ready_pod pod = {one, yyjson_get_str(yyjson_obj_get(meta, "name")),
                                      yyjson_get_str(yyjson_obj_get(meta, "namespace")),
                                      yyjson_obj_get(meta, "labels")};
        if (pod.name != NULL && pod.namespace != NULL && pods_is_ready(one))
            pods.list[pods.count++] = pod;
    }
    qsort(pods.list, pods.count, sizeof(pods.list[0]), pod_compare);
    yyjson_mut_val *services = json_put_list(doc, root, "services");
    for (size_t i = 0; i < p->service_count; i++)
        add_service(doc, services, &p->services[i], &pods);
    free(pods.list);
    yyjson_mut_val *certificates = json_put_list(doc, root, "certificates");
    for (size_t i = 0; i < p->certificate_count; i++)
        json_add(certificates, yyjson_mut_strcpy(doc, p->certificates[i].name));
    json_put(doc, root, "ssldir", json_text(doc, view->ssldir));
    yyjson_mut_val *stats = json_put_object(doc, root, "stats");
    json_fields(doc, stats, json_str("username", "stats"), json_str("password", view->statistics_password));
    yyjson_mut_val *environment = json_put_object(doc, root, "env");
    for (char *const *env = view->env; env != NULL && *env != NULL; env++) {
        size_t len = strcspn(*env, "=");
        if ((*env)[len] == '=' && !is_credential(*env, len))
            yyjson_mut_obj_add(environment, yyjson_mut_strncpy(doc, *env, len), json_text(doc, *env + len + 1));
    }
    p->doc = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_val *all = yyjson_doc_get_root(p->doc);
    for (size_t i = 0; i < array_len(names); i++)
        p->variables[i] = (struct engine_variable){{names[i], strlen(names[i])}, yyjson_obj_get(all, names[i])};
    if (view->statistics_password == NULL)
        p->unset =
            (struct engine_unset){yyjson_obj_get(yyjson_obj_get(all, "stats"), "password"), {unset, strlen(unset)}};
}

void pods_fini(struct pods *p)
{
    template_set_free(p->set);
    yyjson_doc_free(p->doc);
    for (size_t i = 0; i < p->service_count; i++) {
        yyjson_doc_free(p->services[i].doc);
        free(p->services[i].name);
    }
    for (size_t i = 0; i < p->certificate_count; i++)
        certificate_fini(&p->certificates[i]);
    for (size_t i = 0; i < p->left_out_count; i++)
        free(p->left_out[i].text);
    mem_free_all(p->services, p->certificates, p->left_out);
    *p = (struct pods){0};
}
