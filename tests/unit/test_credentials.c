#include "config/credentials.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/config.h"
#include "config/fields.h"

#define USER "HAPROXY_DATAPLANE_USERNAME="
#define PASSWORD "HAPROXY_DATAPLANE_PASSWORD="
#define TOKEN "HAPROXY_DATAPLANE_TOKEN="

static char file[] = "/tmp/test_credentials.XXXXXX";

static void set_up(void)
{
    int fd = mkstemp(file);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

static void tear_down(void)
{
    unlink(file);
}

static void write_file(const char *text)
{
    FILE *f = fopen(file, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

struct parsed {
    struct config config;
    struct config_report report;
    char *text; /* all findings */
};

static void parsed_fini(struct parsed *p)
{
    config_fini(&p->config);
    config_report_fini(&p->report);
    free(p->text);
}

static struct parsed parse_env(const char *const *env)
{
    struct parsed p = {0};
    credentials_parse((char *const *)env, &p.config, &p.report);
    struct buf out;
    buf_init(&out, 0);
    for (size_t i = 0; i < p.report.count; i++)
        buf_printf(&out, "%s\n", p.report.findings[i].text);
    p.text = buf_take(&out);
    ck_assert_msg(strstr(p.text, "hunter2") == NULL, "a secret is shown: %s", p.text);
    return p;
}

#define parse(...) parse_env((const char *[]){__VA_ARGS__, NULL})

/* errors and warnings expected, and a part of what is said. */
static const struct {
    const char *env[4];
    size_t errors, warnings;
    const char *says;
} rows[] = {
    {{USER "u", PASSWORD "hunter2"}, 0, 0, ""},
    {{TOKEN "hunter2"}, 0, 0, ""},
    {{NULL}, 0, 1, "without credentials"},
    {{USER "", PASSWORD "", TOKEN ""}, 0, 1, "without credentials"},
    {{TOKEN "hunter2", USER "", PASSWORD ""}, 0, 0, ""},
    {{USER "u"}, 1, 0, "HAPROXY_DATAPLANE_PASSWORD (or HAPROXY_DATAPLANE_PASSWORD_FILE) is not: expected both or none"},
    {{USER "u", PASSWORD ""}, 1, 0, "HAPROXY_DATAPLANE_PASSWORD (or HAPROXY_DATAPLANE_PASSWORD_FILE) is empty"},
    {{USER "u", "HAPROXY_DATAPLANE_PASSWORD_FILE="}, 1, 0, "is empty"},
    {{PASSWORD "hunter2"}, 1, 0, "HAPROXY_DATAPLANE_PASSWORD is set, but HAPROXY_DATAPLANE_USERNAME"},
    {{USER "u", PASSWORD "hunter2", TOKEN "hunter2"}, 1, 0, "HAPROXY_DATAPLANE_TOKEN is set beside"},
    {{USER "u", TOKEN "hunter2"}, 1, 0, "HAPROXY_DATAPLANE_TOKEN is set beside"},
    {{PASSWORD "hunter2", TOKEN "hunter2"}, 1, 0, "HAPROXY_DATAPLANE_TOKEN is set beside"},
    {{TOKEN "hunter2", "HAPROXY_DATAPLANE_TOKEN_FILE=/x"}, 1, 0, "HAPROXY_DATAPLANE_TOKEN_FILE are both set"},
    {{USER "a:hunter2", PASSWORD "p"}, 1, 0, "a ':'"},
    {{USER "u", PASSWORD "hunter2\n"}, 0, 1, "HAPROXY_DATAPLANE_PASSWORD: ends with a line break"},
    {{USER "u", PASSWORD "hunter2\r\n"}, 0, 1, "ends with a line break"},
    {{USER "u", PASSWORD "hunter2\n\n"}, 1, 1, "control character"},
    {{USER "u", PASSWORD "\n"}, 1, 1, "it is empty"},
    {{USER "u", PASSWORD "hunter2\x01"}, 1, 0, "control character"},
    {{USER "u", PASSWORD " hunter2: \xc3\xa4\""}, 0, 0, ""},
    {{TOKEN "Bearer hunter2"}, 1, 0, "leave out the word Bearer"},
    {{TOKEN "hunter2 x"}, 1, 0, "a space"},
    {{TOKEN "hunter2\xc3\xa4"}, 1, 0, "not ASCII"},
    {{"HAPROXY_DATAPLANE_TOKEN_FILE=hunter2"}, 1, 0, "which would belong into HAPROXY_DATAPLANE_TOKEN)"},
    {{"HAPROXY_DATAPLANE_TOKEN_FILE=hunter2/x"}, 1, 0, "the value is not shown"},
    {{"HAPROXY_DATAPLANE_TOKEN_FILE=/nowhere/token"},
     1,
     0,
     "HAPROXY_DATAPLANE_TOKEN_FILE: expected a readable file that holds it; /nowhere/token: No such file"},
    {{"HAPROXY_DATAPLANE_TOKEN_FILE=/dev/null"}, 1, 0, "/dev/null: is not a regular file"},
    {{"HAPROXY_DATAPLANE_TOKEN_FILE=./nowhere"}, 1, 0, "./nowhere: No such file"},
};

START_TEST(what_goes_together)
{
    cleanup(parsed_fini) struct parsed p = parse_env(rows[_i].env);
    ck_assert_msg(p.report.error_count == rows[_i].errors && p.report.count == rows[_i].errors + rows[_i].warnings,
                  "%zu errors of %zu findings: %s", p.report.error_count, p.report.count, p.text);
    ck_assert_msg(strstr(p.text, rows[_i].says) != NULL, "expected \"%s\" in: %s", rows[_i].says, p.text);
}
END_TEST

START_TEST(values_are_taken)
{
    cleanup(parsed_fini) struct parsed p = parse(USER "u", PASSWORD "hunter2\n");
    ck_assert_str_eq(p.config.dataplane_username.value, "u");
    ck_assert_str_eq(p.config.dataplane_password.value, "hunter2");
    ck_assert(!secret_is_set(&p.config.dataplane_token));
    ck_assert(config_is_given(&p.config, CONFIG_DATAPLANE_PASSWORD));
    ck_assert(!config_is_given(&p.config, CONFIG_DATAPLANE_TOKEN));
}
END_TEST

START_TEST(files_are_read)
{
    char entry[128];
    snprintf(entry, sizeof(entry), "HAPROXY_DATAPLANE_PASSWORD_FILE=%s", file);
    write_file("hunter2\n");
    cleanup(parsed_fini) struct parsed p = parse(USER "u", entry);
    ck_assert_uint_eq(p.report.count, 0);
    ck_assert_str_eq(p.config.dataplane_password.value, "hunter2");
    ck_assert_str_eq(p.config.dataplane_password.path, file);
    ck_assert(config_is_given(&p.config, CONFIG_DATAPLANE_PASSWORD));
    cleanup(buf_fini) struct buf out;
    buf_init(&out, 0);
    /* check-config needs the rest, too. */
    p.config.ingress_namespace = mem_strdup("n");
    p.config.ingress_service = mem_strdup("s");
    p.config.dataplane_url = mem_strdup("http://h:1");
    p.config.backend_name = mem_strdup("b");
    p.config.listen_host = mem_strdup("");
    config_print(&p.config, &out);
    ck_assert_ptr_null(strstr(buf_str(&out), "hunter2"));
    char line[256];
    snprintf(line, sizeof(line), "HAPROXY_DATAPLANE_PASSWORD=***  # from the file %s\n", file);
    ck_assert_ptr_nonnull(strstr(buf_str(&out), line));
    ck_assert_ptr_nonnull(strstr(buf_str(&out), "HAPROXY_DATAPLANE_USERNAME=u  # from the environment\n"));
}
END_TEST

START_TEST(what_a_file_holds_is_checked)
{
    char user[128], token[128];
    snprintf(user, sizeof(user), "HAPROXY_DATAPLANE_USERNAME_FILE=%s", file);
    snprintf(token, sizeof(token), "HAPROXY_DATAPLANE_TOKEN_FILE=%s", file);
    write_file("");
    cleanup(parsed_fini) struct parsed empty = parse(token);
    ck_assert_ptr_nonnull(strstr(empty.text, "is empty"));
    ck_assert_ptr_nonnull(strstr(empty.text, file));
    write_file("a:hunter2");
    cleanup(parsed_fini) struct parsed colon = parse(user, PASSWORD "p");
    ck_assert_uint_eq(colon.report.error_count, 1);
    ck_assert_ptr_nonnull(strstr(colon.text, "a ':'"));
    ck_assert_ptr_nonnull(strstr(colon.text, file));
    write_file("Bearer hunter2");
    cleanup(parsed_fini) struct parsed bearer = parse(token);
    ck_assert_ptr_nonnull(strstr(bearer.text, "leave out the word Bearer"));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("credentials");
    TCase *t = tcase_create("credentials");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, what_goes_together, 0, array_len(rows));
    tcase_add_test(t, values_are_taken);
    tcase_add_test(t, files_are_read);
    tcase_add_test(t, what_a_file_holds_is_checked);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *sr = srunner_create(suite());
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? 0 : 1;
}
