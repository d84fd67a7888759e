/* template/pods: the objects of an older system of templates, and what such templates make of them. */
#include "template/pods.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "json/read.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/set.h"

#define FOLDER "tests/data/templates/pods/"

static struct pods pods;
static struct error err;

/* What pods_read is given, made of the one file. */
static struct {
    yyjson_doc *doc;
    char *text[4];
    char *pod[16], *env[8];
    struct pods_input in;
} cluster;

static char *text_of(const char *file)
{
    struct buf text = {0};
    ck_assert_int_eq(buf_read_file(&text, file), 0);
    return buf_take(&text);
}

static void set_up(void)
{
    cleanup(mem_free_ptr) char *json = text_of(FOLDER "cluster.json");
    cluster.doc = yyjson_read(json, strlen(json), 0);
    yyjson_val *root = yyjson_doc_get_root(cluster.doc), *one;
    static const char *const keys[] = {"services", "config", "certificates", "keys"};
    for (size_t i = 0; i < array_len(keys); i++)
        cluster.text[i] = json_text_of(yyjson_obj_get(root, keys[i]));
    size_t i, max;
    yyjson_arr_foreach (yyjson_obj_get(root, "pods"), i, max, one)
        cluster.pod[i] = json_text_of(one);
    cluster.in.pod_count = max;
    yyjson_arr_foreach (yyjson_obj_get(root, "env"), i, max, one)
        cluster.env[i] = mem_strdup(yyjson_get_str(one));
    cluster.in.services = cluster.text[0];
    cluster.in.config = cluster.text[1];
    cluster.in.certificates = cluster.text[2];
    cluster.in.keys = cluster.text[3];
    cluster.in.pods = (const char *const *)cluster.pod;
    cluster.in.ssldir = "/etc/haproxy/ssl";
    cluster.in.statistics_password = "s3cr3t";
    cluster.in.env = cluster.env;
}

static void tear_down(void)
{
    pods_fini(&pods);
    yyjson_doc_free(cluster.doc);
    for (size_t i = 0; i < array_len(cluster.text); i++)
        free(cluster.text[i]);
    for (size_t i = 0; i < array_len(cluster.pod); i++)
        free(cluster.pod[i]);
    for (size_t i = 0; i < array_len(cluster.env); i++)
        free(cluster.env[i]);
    memset(&cluster, 0, sizeof(cluster));
    error_clear(&err);
}

/* ConfigMap config with this template. Allocates. */
static char *config_of(const char *template)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_val *data = yyjson_mut_obj_add_obj(doc, root, "data");
    yyjson_mut_obj_add_str(doc, data, "template", template);
    char *text = yyjson_mut_write(doc, 0, NULL);
    yyjson_mut_doc_free(doc);
    return text;
}

static int read_with(const char *template)
{
    free(cluster.text[1]);
    cluster.in.config = cluster.text[1] = config_of(template);
    return pods_read(&cluster.in, &pods, &err);
}

/* haproxy.cfg, or the error. Allocates. */
static char *rendered_with(const char *template)
{
    ck_assert_msg(read_with(template) == 0, "%s", err.message);
    struct rendered r = {0};
    struct objects *none = objects_new();
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

START_TEST(templates_give_what_jinja2_gives)
{
    cleanup(mem_free_ptr) char *template_file = mem_printf(FOLDER "%s.j2", examples[_i]);
    cleanup(mem_free_ptr) char *expected_file = mem_printf(FOLDER "%s.expected", examples[_i]);
    cleanup(mem_free_ptr) char *template = text_of(template_file);
    cleanup(mem_free_ptr) char *expected = text_of(expected_file);
    cleanup(mem_free_ptr) char *got = rendered_with(template);
    ck_assert_str_eq(got, expected);
}
END_TEST

START_TEST(one_line_break_at_the_end_is_cut)
{
    cleanup(mem_free_ptr) char *got = rendered_with("a\n\n");
    ck_assert_str_eq(got, "a\n");
}
END_TEST

START_TEST(only_ready_pods_with_an_address_are_there)
{
    cleanup(mem_free_ptr) char *got =
        rendered_with("{% for s in services %}{{ s.name }}: {{ s.pods|list|join(' ') }};{% endfor %}");
    ck_assert_str_eq(got, "api: api-0 api-1;blog: blog-0;idle: ;web: web-a web-b;");
}
END_TEST

START_TEST(a_key_goes_before_its_certificate)
{
    ck_assert_int_eq(read_with("x"), 0);
    ck_assert_uint_eq(pods.certificate_count, 2);
    ck_assert_str_eq(pods.certificates[0].file, "blog.example.pem");
    ck_assert_str_eq(pods.certificates[0].pem, "KEY OF BLOG\nCERTIFICATE OF BLOG\n");
    ck_assert_str_eq(pods.certificates[1].pem, "KEY OF SHOP\nCERTIFICATE OF SHOP\n");
    ck_assert_uint_eq(pods.certificates[1].len, strlen(pods.certificates[1].pem));
    ck_assert_uint_eq(pods.left_out_count, 0);
}
END_TEST

static const struct {
    const char *key, *service, *said;
} broken[] = {
    {"web", "{\"namespace\": \"a\",", "ConfigMap services, key web: "},
    {"web", "[]", "ConfigMap services, key web: expected a JSON object"},
    {"web", "{\"selector\": \"a=b\"}", "ConfigMap services, key web: it has no namespace"},
    {"web", "{\"namespace\": \"a\"}", "ConfigMap services, key web: it has no selector"},
    {"web", "{\"namespace\": \"a\", \"selector\": {}}", "ConfigMap services, key web: an empty selector"},
    {"web", "{\"namespace\": \"a\", \"selector\": \"\"}", "ConfigMap services, key web: an empty selector"},
};

START_TEST(what_is_wrong_in_one_service_leaves_it_out)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc), *data = yyjson_mut_obj_add_obj(doc, root, "data");
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, data, broken[_i].key, broken[_i].service);
    yyjson_mut_obj_add_str(doc, data, "good", "{\"namespace\": \"blog\", \"selector\": \"app\"}");
    free(cluster.text[0]);
    cluster.in.services = cluster.text[0] = yyjson_mut_write(doc, 0, NULL);
    yyjson_mut_doc_free(doc);
    cleanup(mem_free_ptr) char *got = rendered_with("{% for s in services %}{{ s.name }}{{ s.pods|list }}{% endfor %}");
    ck_assert_str_eq(got, "good['blog-0', 'web-a']");
    ck_assert_uint_eq(pods.left_out_count, 1);
    ck_assert_msg(str_has_prefix(pods.left_out[0], broken[_i].said), "%s", pods.left_out[0]);
}
END_TEST

START_TEST(a_key_that_is_no_base64_leaves_its_certificate_out)
{
    cluster.in.keys =
        "{\"data\": {\"shop.example\": \"S0VZ\", \"blog.example\": \"%%\", \"..x\": \"S0VZ\", \"a/x\": \"S0VZ\"}}";
    cluster.in.certificates =
        "{\"data\": {\"shop.example\": \"A\", \"blog.example\": \"B\", \"..x\": \"C\", \"a/x\": \"C\"}}";
    cleanup(mem_free_ptr) char *got = rendered_with("{{ certificates }}");
    ck_assert_str_eq(got, "['shop.example']");
    ck_assert_uint_eq(pods.left_out_count, 3);
    ck_assert_str_eq(pods.left_out[0], "ConfigMap certificates, key ..x: it is no name of a file");
    ck_assert_str_eq(pods.left_out[1], "ConfigMap certificates, key a/x: it is no name of a file");
    ck_assert_str_eq(pods.left_out[2], "Secret keys, key blog.example: it is no base64");
}
END_TEST

START_TEST(a_password_that_is_not_set_is_an_error_where_it_is_used)
{
    cluster.in.statistics_password = NULL;
    cleanup(mem_free_ptr) char *got = rendered_with("a\nb {{ stats.password }}");
    ck_assert_msg(strstr(got, "STATISTICS_PASSWORD is not set") != NULL && str_has_prefix(got, "haproxy.cfg:2:"), "%s",
                  got);
    pods_fini(&pods);
    cleanup(mem_free_ptr) char *unused = rendered_with("{{ stats.username }}");
    ck_assert_str_eq(unused, "stats");
}
END_TEST

START_TEST(no_credential_of_ours_is_in_env)
{
    char password[] = "DATAPLANE_PASSWORD=p", file[] = "DATAPLANE_PASSWORD_FILE=/p",
         token[] = "HAPROXY_DATAPLANE_TOKEN=t";
    char own[] = "A=b=c", bare[] = "BARE";
    char *const env[] = {password, file, token, own, bare, NULL};
    cluster.in.env = env;
    cleanup(mem_free_ptr) char *got = rendered_with("{{ env }}");
    ck_assert_str_eq(got, "{'A': 'b=c'}");
}
END_TEST

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

START_TEST(selectors_choose_pods)
{
    cleanup(mem_free_ptr) char *service =
        mem_printf("{\"namespace\": \"shop\", \"selector\": %s}", selectors[_i].selector);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc), *data = yyjson_mut_obj_add_obj(doc, root, "data");
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, data, "s", service);
    free(cluster.text[0]);
    cluster.in.services = cluster.text[0] = yyjson_mut_write(doc, 0, NULL);
    yyjson_mut_doc_free(doc);
    cleanup(mem_free_ptr) char *got = rendered_with("{{ services[0].pods|list|join(' ') }}");
    ck_assert_str_eq(got, selectors[_i].names);
}
END_TEST

START_TEST(without_its_objects_nothing_is_made)
{
    cluster.in.services = NULL;
    ck_assert_int_eq(read_with("x"), -1);
    ck_assert_str_eq(err.message, "ConfigMap services is not there");
    cluster.in.services = cluster.text[0];
    cluster.in.config = "{\"data\": {}}";
    ck_assert_int_eq(pods_read(&cluster.in, &pods, &err), -1);
    ck_assert_str_eq(err.message, "ConfigMap config has no key template");
    cluster.in.config = "{";
    ck_assert_int_eq(pods_read(&cluster.in, &pods, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_INVALID);
    cluster.in.certificates = cluster.in.keys = NULL;
    ck_assert_int_eq(read_with("x"), 0);
    ck_assert_uint_eq(pods.certificate_count, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pods");
    TCase *tcase = tcase_create("pods");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, templates_give_what_jinja2_gives, 0, (int)array_len(examples));
    tcase_add_test(tcase, one_line_break_at_the_end_is_cut);
    tcase_add_test(tcase, only_ready_pods_with_an_address_are_there);
    tcase_add_test(tcase, a_key_goes_before_its_certificate);
    tcase_add_loop_test(tcase, what_is_wrong_in_one_service_leaves_it_out, 0, (int)array_len(broken));
    tcase_add_test(tcase, a_key_that_is_no_base64_leaves_its_certificate_out);
    tcase_add_test(tcase, a_password_that_is_not_set_is_an_error_where_it_is_used);
    tcase_add_test(tcase, no_credential_of_ours_is_in_env);
    tcase_add_loop_test(tcase, selectors_choose_pods, 0, (int)array_len(selectors));
    tcase_add_test(tcase, without_its_objects_nothing_is_made);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
