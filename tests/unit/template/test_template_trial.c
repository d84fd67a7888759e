/* src/template/trial: a test of a set, from its fixtures to what its assertions say. */
#include "../folder.h"
#include "set_text.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/trial.h"

#define SET                                                                                                            \
    "watch: {r: {apiVersion: v1, kind: K}}\nhaproxy.cfg: |\n  {% for o in resources.r %}\n  {{ o.metadata.name }}\n  " \
    "{% endfor %}\n"                                                                                                   \
    "  {{ resources.r[0].spec.x }}\n"                                                                                  \
    "tests:\n  _global: {fixtures: {r: [{metadata: {name: a}, spec: {x: 5}}]}}\n  t:\n    assertions:\n    - {type: "

static char *const nothing[] = {NULL};
/* Sanitizers and the filter do not go together. */
static const struct trial_options options = {.environment = nothing, .timeout_ms = 60000, .unfiltered = true};

static void run(const char *assertion, const char *fixtures, struct trial_result *ret)
{
    cleanup(mem_free_ptr) char *yaml = mem_printf("%s%s}\n%s", SET, assertion, fixtures);
    struct template_set *s = set_of(yaml, &flaw);
    ck_assert_msg(s != NULL, "%s", flaw.message);
    trial_run(s, &s->tests[0], &options, ret);
    ret->test = NULL;
    for (size_t i = 0; i < ret->count; i++)
        ret->findings[i].assertion = NULL;
    template_set_free(s);
}

static const struct {
    const char *assertion, *fixtures;
    enum trial_verdict verdict;
    const char *why;
} rows[] = {
    {"contains, pattern: ^a$", "", TRIAL_PASSED, NULL},
    {"contains, pattern: ^b$", "    fixtures: {r: [{metadata: {name: b}}]}\n", TRIAL_PASSED, NULL},
    {"contains, pattern: ^b$", "", TRIAL_FAILED, "haproxy.cfg has no \"^b$\""},
    {"deterministic", "", TRIAL_PASSED, NULL},
    {"jsonpath, jsonpath: 'resources.r[0].metadata.name', expected: a", "", TRIAL_PASSED, NULL},
    {"haproxy_valid", "", TRIAL_SKIPPED, "haproxy_valid: there is no haproxy here, and HAPROXY_BIN names none"},
    {"rendering_error", "", TRIAL_FAILED, "the render did not fail"},
    {"rendering_error, pattern: 'haproxy.cfg:'", "    fixtures: {r: [{metadata: {name: A}}]}\n", TRIAL_PASSED, NULL},
    {"deterministic", "    fixtures: {r: [{metadata: {name: A}}]}\n", TRIAL_FAILED,
     "haproxy.cfg:4:"}, /* of the render */
    {"haproxy_valid", "    fixtures: {r: [{metadata: {name: A}}]}\n", TRIAL_FAILED, "haproxy.cfg:4:"},
};

TEST_EACH(a_test, array_len(rows))
{
    if (engine_unavailable()[0] != '\0') {
        printf("SKIPPED: what templates give: %s\n", engine_unavailable());
        return;
    }
    struct trial_result r;
    run(rows[_i].assertion, rows[_i].fixtures, &r);
    ck_assert_uint_eq(r.count, 1);
    ck_assert_msg(r.findings[0].verdict == rows[_i].verdict, "%s: %s", rows[_i].assertion, r.findings[0].why);
    ck_assert_uint_eq(r.failed, rows[_i].verdict == TRIAL_FAILED);
    ck_assert_uint_eq(r.skipped, rows[_i].verdict == TRIAL_SKIPPED);
    if (rows[_i].why != NULL)
        ck_assert_msg(strstr(r.findings[0].why, rows[_i].why) != NULL, "%s", r.findings[0].why);
    trial_result_fini(&r);
}

TEST(the_program)
{
    folder_make();
    cleanup(mem_free_ptr) char *own = in_folder("haproxy-of-ours"), *path = mem_printf("PATH=relative:%s", folder);
    write_file(own, "");
    ck_assert_int_eq(chmod(own, 0700), 0);
    char name[] = "HAPROXY_BIN=haproxy-of-ours", slash[] = "HAPROXY_BIN=/a/haproxy",
         lost[] = "HAPROXY_BIN=no-such-haproxy";
    const struct {
        char *env[3];
        const char *found;
    } cases[] = {{{name, path, NULL}, own},
                 {{slash, path, NULL}, "/a/haproxy"},
                 {{lost, path, NULL}, "no-such-haproxy"},
                 {{lost, NULL}, "no-such-haproxy"}};
    for (size_t i = 0; i < array_len(cases); i++) {
        cleanup(mem_free_ptr) char *found = trial_haproxy(cases[i].env);
        ck_assert_str_eq(found, cases[i].found);
    }
    folder_remove();
}

TEST(a_folder_that_cannot_be_made)
{
    const char *skipped;
    const struct trial_options with = {.haproxy = "/bin/true", .timeout_ms = 10000};
    struct template_set *set = good_set("trim_blocks: true\n");
    struct objects *objects = objects_new(set);
    ck_assert_int_eq(setenv("TMPDIR", "/nonexistent", 1), 0);
    ck_assert_int_eq(trial_check_haproxy(set, objects, &with, &skipped, &flaw), -1);
    ck_assert_msg(strstr(flaw.message, "cannot make a folder /nonexistent/") != NULL, "%s", flaw.message);
    ck_assert_int_eq(unsetenv("TMPDIR"), 0);
    objects_free(objects);
    template_set_free(set);
}
