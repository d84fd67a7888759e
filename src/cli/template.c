/* `haproxy-k8s-sync template`; itself test and validate: what the tests of a set say, and what HAProxy says of what they give. */
#include <inttypes.h>
#include <stdlib.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/inspect.h"
#include "cli/template.h"
#include "json/write.h"
#include "settings/environment.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/set.h"

#define COLUMN 6
#define OK "ok"
#define FAILED "FAIL"

/* "set.yaml:12: contains" */
static char *finding_name(const struct trial_finding *f)
{
    if (f->assertion == NULL)
        return mem_strdup("render");
    const char *described = f->assertion->description;
    return mem_printf(TEMPLATE_SET_FILE ":%zu: %s%s%s%s", f->assertion->line, assertion_name(f->assertion->kind),
                      described != NULL ? " (" : "", described != NULL ? described : "", described != NULL ? ")" : "");
}

struct results {
    struct trial_result *list;
    size_t count;
    size_t failed, skipped; /* tests; assertions */
};

/* ---- text ---- */

static void results_print_text(const struct results *r, struct page *p)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct trial_result *t = &r->list[i];
        page_put(p, t->failed > 0 ? INK_RED : INK_GREEN, t->failed > 0 ? FAILED : OK);
        page_to(p, COLUMN);
        page_put(p, INK_PLAIN, t->test->name);
        if (t->test->description != NULL)
            page_printf(p, INK_DIM, "  %s", t->test->description);
        page_end_line(p);
        for (size_t k = 0; k < t->count; k++) {
            const struct trial_finding *f = &t->findings[k];
            if (f->verdict == TRIAL_PASSED)
                continue;
            cleanup(mem_free_ptr) char *name = finding_name(f);
            page_to(p, COLUMN);
            page_printf(p, INK_DIM, "%s%s: ", f->verdict == TRIAL_SKIPPED ? "skipped: " : "", name);
            page_put(p, INK_PLAIN, f->why);
            page_end_line(p);
        }
    }
    page_printf(p, INK_BOLD, "%zu tests, %zu failed", r->count, r->failed);
    if (r->skipped > 0)
        page_printf(p, INK_YELLOW, ", %zu assertions skipped", r->skipped);
    page_end_line(p);
}

/* ---- JSON ---- */

static const char *const results_words[] = {
    [TRIAL_PASSED] = "passed", [TRIAL_FAILED] = "failed", [TRIAL_SKIPPED] = "skipped"};

static void results_print_json(const struct results *r, struct buf *out)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    json_fields(doc, root, json_bool("passed", r->failed == 0));
    yyjson_mut_val *tests = json_put_list(doc, root, "tests");
    for (size_t i = 0; i < r->count; i++) {
        const struct trial_result *t = &r->list[i];
        yyjson_mut_val *test = json_add_object(doc, tests);
        json_fields(doc, test, json_str("name", t->test->name), json_str("description", t->test->description),
                    json_bool("passed", t->failed == 0), json_uint("render_us", t->took_us));
        yyjson_mut_val *assertions = json_put_list(doc, test, "assertions");
        for (size_t k = 0; k < t->count; k++) {
            const struct trial_finding *f = &t->findings[k];
            yyjson_mut_val *assertion = json_add_object(doc, assertions);
            json_fields(doc, assertion,
                        json_str("type", f->assertion != NULL ? assertion_name(f->assertion->kind) : "render"),
                        json_str("description", f->assertion != NULL ? f->assertion->description : NULL),
                        json_uint("line", f->assertion != NULL ? f->assertion->line : t->test->line),
                        json_str("result", results_words[f->verdict]), json_str("why", f->why));
        }
    }
    json_print(doc, out);
}

/* ---- JUnit: what CI systems read */

/* XML 1.0, 2.2: controls cannot be in it, not even escaped. */
static void xml_print(const char *text)
{
    cleanup(mem_free_ptr) char *shown = text_shown(text, TEXT_TERMINAL, TEXT_WHOLE);
    for (const char *c = shown; *c != '\0'; c++) {
        if (*c == '<' || *c == '&' || *c == '"')
            printf("&#%d;", *c);
        else
            putchar(*c);
    }
}

static void junit_print_test(const struct trial_result *t)
{
    printf("    <testcase classname=\"template\" name=\"");
    xml_print(t->test->name);
    printf("\" time=\"%" PRIu64 ".%06" PRIu64 "\">\n", t->took_us / 1000000, t->took_us % 1000000);
    for (size_t i = 0; i < t->count; i++) {
        const struct trial_finding *f = &t->findings[i];
        if (f->verdict != TRIAL_FAILED)
            continue;
        cleanup(mem_free_ptr) char *name = finding_name(f);
        printf("      <failure message=\"");
        xml_print(name);
        printf(": ");
        xml_print(f->why);
        printf("\"/>\n");
    }
    if (t->failed == 0 && t->skipped == t->count && t->count > 0) { /* there is no skipped assertion, only a test */
        printf("      <skipped message=\"");
        xml_print(t->findings[0].why);
        printf("\"/>\n");
    }
    printf("    </testcase>\n");
}

/* ---- test ---- */

static int template_run_tests(const struct template_run *r)
{
    const struct template_set *set = r->set;
    struct error err = {0};
    if (set->test_count == 0) {
        (void)error_set(&err, ERROR_INVALID, TEMPLATE_SET_FILE " has no tests");
        return template_fail(r->command->operand, &err);
    }
    struct results results = {.list = mem_array(set->test_count, sizeof(results.list[0]))};
    for (size_t i = 0; i < set->test_count; i++) {
        if (r->test != NULL && r->test != &set->tests[i])
            continue;
        struct trial_result *result = &results.list[results.count++];
        trial_run(set, &set->tests[i], &r->trial, result);
        results.failed += result->failed > 0;
        results.skipped += result->skipped;
    }
    cleanup(show_fini) struct show show = {0};
    show_init(&show, r->run);
    if (r->command->json)
        results_print_json(&results, &show.out);
    else if (!r->command->junit)
        results_print_text(&results, &show.page);
    if (r->command->junit) {
        printf("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
        printf("  <testsuite name=\"template\" tests=\"%zu\" failures=\"%zu\">\n", results.count, results.failed);
        for (size_t i = 0; i < results.count; i++)
            junit_print_test(&results.list[i]);
        printf("  </testsuite>\n</testsuites>\n");
    }
    for (size_t i = 0; i < results.count; i++)
        trial_result_fini(&results.list[i]);
    free(results.list);
    return show_end(&show, results.failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* ---- validate ---- */

static int template_validate(const struct template_run *r)
{
    const struct template_test *test;
    cleanup(buf_fini) struct buf out = {0};
    int status = EXIT_SUCCESS;
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    yyjson_mut_val *list = json_put_list(doc, root, "tests");
    for (size_t at = 0; template_next(r, &at, &test);) {
        const char *skipped = NULL, *name = test != NULL ? test->name : NULL;
        struct error err = {0};
        cleanup(show_fini) struct show show = {0};
        show_init(&show, r->run);
        struct objects *objects = trial_objects(r->set, r->set, test, false, &err);
        int rc = objects != NULL ? trial_check_haproxy(r->set, objects, &r->trial, &skipped, &err) : -1;
        objects_free(objects);
        enum trial_verdict verdict = rc != 0 ? TRIAL_FAILED : skipped != NULL ? TRIAL_SKIPPED : TRIAL_PASSED;
        const char *why = rc != 0 ? err.message : skipped;
        json_fields(doc, json_add_object(doc, list), json_str("name", name), json_str("result", results_words[verdict]),
                    json_str("why", why));
        if (!r->command->json) {
            static const char *const words[] = {[TRIAL_PASSED] = OK, [TRIAL_FAILED] = FAILED, [TRIAL_SKIPPED] = "skip"};
            static const enum page_ink inks[] = {
                [TRIAL_PASSED] = INK_GREEN, [TRIAL_FAILED] = INK_RED, [TRIAL_SKIPPED] = INK_YELLOW};
            page_put(&show.page, inks[verdict], words[verdict]);
            page_to(&show.page, COLUMN);
            page_printf(&show.page, INK_PLAIN, "%s%s%s", name != NULL ? name : "without a test's fixtures",
                        why != NULL ? ": " : "", why != NULL ? why : "");
            page_end_line(&show.page);
        }
        status = show_end(&show, rc == 0 ? status : EXIT_FAILURE);
    }
    json_print(doc, &out);
    if (r->command->json)
        fputs(buf_str(&out), stdout);
    return status;
}

/* ---- all of them */

static int template_start(struct template_run *r)
{
    const char *name = r->command->test;
    struct error err = {0};
    r->test = name != NULL ? template_set_test(r->set, name) : NULL;
    if (name != NULL && r->test == NULL) {
        cleanup(mem_free_ptr) char *known = template_set_known_tests(r->set, name);
        (void)error_set(&err, ERROR_INVALID, "there is no test %s%s", name, known);
        return template_fail(r->command->operand, &err);
    }
    switch (r->command->kind) {
    case COMMAND_TEMPLATE_RENDER:
        return template_render(r);
    case COMMAND_TEMPLATE_TEST:
        return template_run_tests(r);
    case COMMAND_TEMPLATE_DIFF:
        return template_diff(r);
    case COMMAND_TEMPLATE_VALIDATE:
        return template_validate(r);
    default:
        return template_benchmark(r);
    }
}

int run_template(const struct run *r)
{
    const struct command *command = r->command;
    cleanup(buf_fini) struct buf schema = {0};
    struct error err = {0};
    if (command->kind == COMMAND_TEMPLATE_SCHEMA) {
        template_set_schema(&schema);
        return fputs(buf_str(&schema), stdout) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    if (engine_unavailable()[0] != '\0') {
        (void)error_set(&err, ERROR_INVALID, "%s", engine_unavailable());
        return run_fail(&err, EXIT_FAILURE);
    }
    cleanup(template_set_free_ptr) struct template_set *set = template_read(command->operand, &err);
    if (set == NULL)
        return template_fail(command->operand, &err);
    bool filtered = true;
    const char *seccomp = environment_get(r->environ, "SECCOMP");
    cleanup(mem_free_ptr) char *haproxy = trial_haproxy(r->environ);
    if (!str_empty(seccomp) && str_parse_bool(seccomp, &filtered) != 0) {
        (void)error_set(&err, ERROR_INVALID, "SECCOMP: expected true or false");
        return run_fail(&err, EXIT_FAILURE);
    }
    struct template_run run = {
        .run = r,
        .command = command,
        .set = set,
        .trial = {.haproxy = haproxy,
                  .environment = r->environ,
                  .timeout_ms = command->timeout_ms != INSPECT_TIMEOUT_MS ? command->timeout_ms : TRIAL_TIMEOUT_MS,
                  .unfiltered = !filtered}};
    int status = template_start(&run);
    return fflush(stdout) == 0 ? status : EXIT_FAILURE;
}
