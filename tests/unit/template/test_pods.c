/* template/pods: the objects of an older system of templates, and what such templates make of them. */
#include "template/pods.h"

#include "base/base64.h"
#include "json/read.h"
#include "model/objects.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/set.h"

#include "../test.h"

#define FOLDER "tests/data/templates/pods/"

static struct pods pods;
static struct error err;

/* What pods_read and pods_see are given, made of the one file. */
static struct {
    yyjson_doc *doc;
    struct secret_object object[PODS_OBJECTS];
    const struct secret_object *of[PODS_OBJECTS];
    const yyjson_val *pod[16];
    char *env[8];
    struct pods_view view;
} cluster;

static char *text_of(const char *file)
{
    struct buf text = {0};
    ck_assert_int_eq(buf_read_file(&text, file), 0);
    return buf_take(&text);
}

static void forget(enum pods_object which)
{
    struct secret_object *o = &cluster.object[which];
    for (size_t i = 0; i < o->value_count; i++) {
        free(o->values[i].key);
        free(o->values[i].bytes);
    }
    free(o->values);
    *o = (struct secret_object){0};
}

static void add(enum pods_object which, const char *key, const char *value)
{
    struct secret_object *o = &cluster.object[which];
    o->values = mem_resize(o->values, o->value_count + 1, sizeof(o->values[0]));
    o->values[o->value_count++] = (struct secret_value){mem_strdup(key), mem_strdup(value), strlen(value)};
}

static void set_up(void)
{
    cleanup(mem_free_ptr) char *json = text_of(FOLDER "cluster.json");
    cluster.doc = yyjson_read(json, strlen(json), 0);
    yyjson_val *root = yyjson_doc_get_root(cluster.doc), *one, *key;
    size_t i, max;
    for (enum pods_object o = 0; o < PODS_OBJECTS; o++) {
        cluster.of[o] = &cluster.object[o];
        yyjson_obj_foreach (yyjson_obj_get(yyjson_obj_get(root, pods_object_name(o)), "data"), i, max, key, one) {
            size_t len;
            char *decoded = o == PODS_KEYS ? base64_decode(yyjson_get_str(one), &len) : NULL;
            add(o, yyjson_get_str(key), decoded != NULL ? decoded : yyjson_get_str(one));
            free(decoded);
        }
    }
    yyjson_arr_foreach (yyjson_obj_get(root, "pods"), i, max, one)
        cluster.pod[i] = one;
    cluster.view.pod_count = max;
    yyjson_arr_foreach (yyjson_obj_get(root, "env"), i, max, one)
        cluster.env[i] = mem_strdup(yyjson_get_str(one));
    cluster.view.pods = cluster.pod;
    cluster.view.ssldir = "/etc/haproxy/ssl";
    cluster.view.statistics_password = "s3cr3t";
    cluster.view.env = cluster.env;
}

static void tear_down(void)
{
    pods_fini(&pods);
    yyjson_doc_free(cluster.doc);
    for (enum pods_object o = 0; o < PODS_OBJECTS; o++)
        forget(o);
    for (size_t i = 0; i < array_len(cluster.env); i++)
        free(cluster.env[i]);
    memset(&cluster, 0, sizeof(cluster));
    error_clear(&err);
}

/* ConfigMap config with this template. */
static int read_with(const char *template)
{
    forget(PODS_CONFIG);
    add(PODS_CONFIG, "template", template);
    return pods_read(cluster.of, &pods, &err);
}

/* haproxy.cfg, or the error. Allocates. */
static char *rendered_with(const char *template)
{
    ck_assert_msg(read_with(template) == 0, "%s", err.message);
    pods_see(&pods, &cluster.view);
    struct rendered r = {0};
    struct objects *none = objects_new(pods.set);
    const struct render_options options = {.set = pods.set,
                                           .objects = none,
                                           .variables = pods.variables,
                                           .variable_count = array_len(pods.variables),
                                           .unset = pods.unset,
                                           .folders = {"/m/", "/c/", "/f/"},
                                           .timeout_ms = 60000,
                                           .memory_bytes = 256u << 20,
                                           .output_bytes = 16u << 20,
                                           .unfiltered = true};
    char *text = render_now(&options, &r, &err) == 0 ? mem_strdup(r.files[0].bytes) : mem_strdup(err.message);
    rendered_fini(&r);
    objects_free(none);
    return text;
}

static const char *const examples[] = {"routes", "stats", "facts"};

FIXTURE(set_up, tear_down)

TEST_EACH(templates_give_what_jinja2_gives, array_len(examples))
{
    cleanup(mem_free_ptr) char *template_file = mem_printf(FOLDER "%s.j2", examples[_i]);
    cleanup(mem_free_ptr) char *expected_file = mem_printf(FOLDER "%s.expected", examples[_i]);
    cleanup(mem_free_ptr) char *template = text_of(template_file);
    cleanup(mem_free_ptr) char *expected = text_of(expected_file);
    cleanup(mem_free_ptr) char *got = rendered_with(template);
    ck_assert_str_eq(got, expected);
}

TEST(one_line_break_at_the_end_is_cut)
{
    cleanup(mem_free_ptr) char *got = rendered_with("a\n\n");
    ck_assert_str_eq(got, "a\n");
}

TEST(only_ready_pods_with_an_address_are_there)
{
    cleanup(mem_free_ptr) char *got =
        rendered_with("{% for s in services %}{{ s.name }}: {{ s.pods|list|join(' ') }};{% endfor %}");
    ck_assert_str_eq(got, "api: api-0 api-1;blog: blog-0;idle: ;web: web-a web-b;");
}

TEST(a_key_goes_before_its_certificate)
{
    ck_assert_int_eq(read_with("x"), 0);
    ck_assert_uint_eq(pods.certificate_count, 2);
    ck_assert_str_eq(pods.certificates[0].name, "blog.example");
    ck_assert_str_eq(pods.certificates[0].pem, "KEY OF BLOG\nCERTIFICATE OF BLOG\n");
    ck_assert_str_eq(pods.certificates[1].pem, "KEY OF SHOP\nCERTIFICATE OF SHOP\n");
    ck_assert_uint_eq(pods.certificates[1].len, strlen(pods.certificates[1].pem));
    ck_assert_uint_eq(pods.left_out_count, 0);
}

static const struct {
    const char *key, *service, *said;
} broken[] = {
    {"web", "{\"namespace\": \"a\",", "key web: "},
    {"web", "[]", "key web: expected a JSON object"},
    {"web", "{\"selector\": \"a=b\"}", "key web: it has no namespace"},
    {"web", "{\"namespace\": \"a/../b\", \"selector\": \"a\"}", "key web: what it has as namespace"},
    {"web", "{\"namespace\": \"a\"}", "key web: it has no selector"},
    {"web", "{\"namespace\": \"a\", \"selector\": {}}", "key web: an empty selector"},
    {"web", "{\"namespace\": \"a\", \"selector\": \"\"}", "key web: an empty selector"},
};

TEST_EACH(what_is_wrong_in_one_service_leaves_it_out, array_len(broken))
{
    forget(PODS_SERVICES);
    add(PODS_SERVICES, "good", "{\"namespace\": \"blog\", \"selector\": \"app\"}");
    add(PODS_SERVICES, broken[_i].key, broken[_i].service);
    cleanup(mem_free_ptr) char *got = rendered_with("{% for s in services %}{{ s.name }}{{ s.pods|list }}{% endfor %}");
    ck_assert_str_eq(got, "good['blog-0', 'web-a']");
    ck_assert_uint_eq(pods.left_out_count, 1);
    ck_assert_msg(str_has_prefix(pods.left_out[0].text, broken[_i].said), "%s", pods.left_out[0].text);
    ck_assert_int_eq(pods.left_out[0].of, PODS_SERVICES);
}

TEST(a_name_that_is_none_of_a_file_leaves_its_certificate_out)
{
    static const char *const names[] = {"shop.example", "..x", "a/x"};
    forget(PODS_CERTIFICATES);
    forget(PODS_KEYS);
    for (size_t i = 0; i < array_len(names); i++) {
        add(PODS_CERTIFICATES, names[i], "C");
        add(PODS_KEYS, names[i], "K");
    }
    cleanup(mem_free_ptr) char *got = rendered_with("{{ certificates }}");
    ck_assert_str_eq(got, "['shop.example']");
    ck_assert_uint_eq(pods.left_out_count, 2);
    ck_assert_str_eq(pods.left_out[0].text, "key ..x: it is no name of a file");
    ck_assert_str_eq(pods.left_out[1].text, "key a/x: it is no name of a file");
    ck_assert_int_eq(pods.left_out[1].of, PODS_CERTIFICATES);
}

TEST(a_certificate_that_haproxy_cannot_use_is_left_out)
{
    ck_assert_int_eq(read_with("x"), 0);
    pods_check_certificates(&pods, NULL);
    ck_assert_uint_eq(pods.certificate_count, 0);
    ck_assert_uint_eq(pods.left_out_count, 2);
    ck_assert_msg(str_has_prefix(pods.left_out[1].text, "key shop.example: "), "%s", pods.left_out[1].text);
    pods_see(&pods, &cluster.view);
    ck_assert_uint_eq(yyjson_arr_size((yyjson_val *)(uintptr_t)pods.variables[1].value), 0);
}

TEST(the_namespaces_of_services_are_watched_each_once)
{
    ck_assert_int_eq(read_with("x"), 0);
    ck_assert_uint_eq(pods.set->watch_count, 1);
    char **namespaces = pods.set->watches[0].namespaces;
    ck_assert_str_eq(namespaces[0], "shop");
    ck_assert_str_eq(namespaces[1], "blog");
    ck_assert_str_eq(namespaces[2], "none");
    ck_assert_ptr_null(namespaces[3]);
    pods_fini(&pods);
    forget(PODS_SERVICES);
    ck_assert_int_eq(read_with("x"), 0);
    ck_assert_ptr_null(pods.set->watches[0].namespaces[0]); /* none, and not all */
}

TEST(namespaces_are_so_many_at_most)
{
    forget(PODS_SERVICES);
    for (unsigned i = 0; i <= PODS_NAMESPACES_MAX; i++) {
        cleanup(mem_free_ptr) char *key = mem_printf("s%03u", i);
        cleanup(mem_free_ptr) char *service = mem_printf("{\"namespace\": \"n%u\", \"selector\": \"a\"}", i);
        add(PODS_SERVICES, key, service);
    }
    add(PODS_SERVICES, "t", "{\"namespace\": \"n7\", \"selector\": \"b\"}");
    ck_assert_int_eq(read_with("x"), 0);
    ck_assert_uint_eq(pods.service_count, PODS_NAMESPACES_MAX + 1);
    ck_assert_uint_eq(pods.left_out_count, 1);
    ck_assert_msg(str_has_prefix(pods.left_out[0].text, "key s100: its namespace is one too many"), "%s",
                  pods.left_out[0].text);
}

TEST(a_password_that_is_not_set_is_an_error_where_it_is_used)
{
    cluster.view.statistics_password = NULL;
    cleanup(mem_free_ptr) char *got = rendered_with("a\nb {{ stats.password }}");
    ck_assert_msg(strstr(got, "STATISTICS_PASSWORD is not set") != NULL && str_has_prefix(got, "haproxy.cfg:2:"), "%s",
                  got);
    pods_fini(&pods);
    cleanup(mem_free_ptr) char *unused = rendered_with("{{ stats.username }}");
    ck_assert_str_eq(unused, "stats");
}

TEST(no_credential_of_ours_is_in_env)
{
    char password[] = "DATAPLANE_PASSWORD=p", file[] = "DATAPLANE_PASSWORD_FILE=/p",
         token[] = "HAPROXY_DATAPLANE_TOKEN=t";
    char own[] = "A=b=c", bare[] = "BARE";
    char *const env[] = {password, file, token, own, bare, NULL};
    cluster.view.env = env;
    cleanup(mem_free_ptr) char *got = rendered_with("{{ env }}");
    ck_assert_str_eq(got, "{'A': 'b=c'}");
}

static const struct {
    const char *selector;
    const char *names;
} selectors[] = {
    {"\"app=web\"", "web-a web-b"},
    {"\"app==web , tier=front\"", "web-a web-b"},
    {"\"app!=web\"", "api-0 api-1"},
    {"\"tier\"", "api-0 api-1 web-a web-b"},
    {"\"!tier\"", ""},
    {"\"app in (api, web),tier notin (front)\"", "api-0 api-1"},
    {"\"tier in (none)\"", ""},
    {"{\"app\": \"web\", \"tier\": \"front\"}", "web-a web-b"},
    {"{\"app\": \"web\", \"tier\": \"back\"}", ""},
    {"\"nowhere=x\"", ""},
    {"\"nowhere!=x\"", "api-0 api-1 web-a web-b"},
};

TEST_EACH(selectors_choose_pods, array_len(selectors))
{
    cleanup(mem_free_ptr) char *service =
        mem_printf("{\"namespace\": \"shop\", \"selector\": %s}", selectors[_i].selector);
    forget(PODS_SERVICES);
    add(PODS_SERVICES, "s", service);
    cleanup(mem_free_ptr) char *got = rendered_with("{{ services[0].pods|list|join(' ') }}");
    ck_assert_str_eq(got, selectors[_i].names);
}

TEST(without_its_objects_nothing_is_made)
{
    cluster.of[PODS_SERVICES] = NULL;
    ck_assert_int_eq(read_with("x"), -1);
    ck_assert_str_eq(err.message, "ConfigMap services does not exist");
    ck_assert_int_eq(err.kind, ERROR_INVALID);
    cluster.of[PODS_SERVICES] = &cluster.object[PODS_SERVICES];
    forget(PODS_CONFIG);
    ck_assert_int_eq(pods_read(cluster.of, &pods, &err), -1);
    ck_assert_str_eq(err.message, "ConfigMap config has no key template");
    cluster.of[PODS_CERTIFICATES] = cluster.of[PODS_KEYS] = NULL;
    ck_assert_int_eq(read_with("x"), 0);
    ck_assert_uint_eq(pods.certificate_count, 0);
}
