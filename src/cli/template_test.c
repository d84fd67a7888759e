/* template test, template validate: what the tests of a set say, and what HAProxy says of what they give. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/template_internal.h"
#include "json/write.h"
#include "template/objects.h"
#include "template/set.h"

#define COLUMN 6
#define OK "ok"
#define FAILED "FAIL"
#define SKIPPED "skip"

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

static void results_print_one(struct page *p, const struct trial_result *t)
{
    page_put(p, t->failed > 0 ? INK_RED : INK_GREEN, t->failed > 0 ? FAILED : OK);
    page_to(p, COLUMN);
    page_put(p, INK_PLAIN, t->test->name);
    if (t->test->description != NULL)
        page_printf(p, INK_DIM, "  %s", t->test->description);
    page_end_line(p);
    for (size_t i = 0; i < t->count; i++) {
        const struct trial_finding *f = &t->findings[i];
        if (f->verdict == TRIAL_PASSED)
            continue;
        cleanup(mem_free_ptr) char *name = finding_name(f);
        page_to(p, COLUMN);
        page_printf(p, INK_DIM, "%s%s: ", f->verdict == TRIAL_SKIPPED ? "skipped: " : "", name);
        page_put(p, INK_PLAIN, f->why);
        page_end_line(p);
    }
}

static void results_print_text(struct page *p, const void *arg)
{
    const struct results *r = arg;
    for (size_t i = 0; i < r->count; i++)
        results_print_one(p, &r->list[i]);
    page_printf(p, INK_BOLD, "%zu tests, %zu failed", r->count, r->failed);
    if (r->skipped > 0)
        page_printf(p, INK_YELLOW, ", %zu assertions skipped", r->skipped);
    page_end_line(p);
}

/* ---- JSON ---- */

static void results_print_json(const struct results *r)
{
    static const char *const verdicts[] = {
        [TRIAL_PASSED] = "passed", [TRIAL_FAILED] = "failed", [TRIAL_SKIPPED] = "skipped"};
    cleanup(buf_fini) struct buf out = {0};
    yyjson_mut_val *root;
    cleanup(json_free_ptr) yyjson_mut_doc *doc = json_new(&root);
    json_put_bool(doc, root, "passed", r->failed == 0);
    yyjson_mut_val *tests = json_put_list(doc, root, "tests");
    for (size_t i = 0; i < r->count; i++) {
        const struct trial_result *t = &r->list[i];
        yyjson_mut_val *test = json_add_object(doc, tests);
        json_put_text(doc, test, "name", t->test->name);
        json_put_text(doc, test, "description", t->test->description);
        json_put_bool(doc, test, "passed", t->failed == 0);
        json_put_count(doc, test, "render_us", t->took_us);
        yyjson_mut_val *assertions = json_put_list(doc, test, "assertions");
        for (size_t k = 0; k < t->count; k++) {
            const struct trial_finding *f = &t->findings[k];
            yyjson_mut_val *assertion = json_add_object(doc, assertions);
            json_put_text(doc, assertion, "type", f->assertion != NULL ? assertion_name(f->assertion->kind) : "render");
            json_put_text(doc, assertion, "description", f->assertion != NULL ? f->assertion->description : NULL);
            json_put_count(doc, assertion, "line", f->assertion != NULL ? f->assertion->line : t->test->line);
            json_put_text(doc, assertion, "result", verdicts[f->verdict]);
            json_put_text(doc, assertion, "why", f->why);
        }
    }
    json_write(doc, true, &out);
    printf("%s\n", buf_str(&out));
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

static void results_print_junit(const struct results *r)
{
    printf("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    printf("  <testsuite name=\"template\" tests=\"%zu\" failures=\"%zu\">\n", r->count, r->failed);
    for (size_t i = 0; i < r->count; i++)
        junit_print_test(&r->list[i]);
    printf("  </testsuite>\n</testsuites>\n");
}

/* ---- test ---- */

int template_test(const struct template_run *r)
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
    if (r->command->json)
        results_print_json(&results);
    else if (r->command->junit)
        results_print_junit(&results);
    else
        template_show(r, results_print_text, &results);
    for (size_t i = 0; i < results.count; i++)
        trial_result_fini(&results.list[i]);
    free(results.list);
    return results.failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- validate ---- */

struct validation {
    const char *name;
    const char *verdict;
    const char *why; /* NULL: none */
};

static void validation_print(struct page *p, const void *arg)
{
    const struct validation *v = arg;
    page_put(p, str_eq(v->verdict, OK) ? INK_GREEN : str_eq(v->verdict, FAILED) ? INK_RED : INK_YELLOW, v->verdict);
    page_to(p, COLUMN);
    page_printf(p, INK_PLAIN, "%s%s%s", v->name, v->why != NULL ? ": " : "", v->why != NULL ? v->why : "");
    page_end_line(p);
}

static bool validation_run(const struct template_run *r, const struct template_test *test, struct validation *ret,
                           struct error *err)
{
    const char *skipped = NULL;
    *ret = (struct validation){.name = test != NULL ? test->name : "without a test's fixtures", .verdict = OK};
    struct objects *objects = trial_objects(r->set, r->set, test, false, err);
    int rc = objects != NULL ? trial_check_haproxy(r->set, objects, &r->trial, &skipped, err) : -1;
    objects_free(objects);
    if (rc == 0 && skipped != NULL) {
        ret->verdict = SKIPPED;
        ret->why = skipped;
    } else if (rc != 0) {
        ret->verdict = FAILED;
        ret->why = err->message;
    }
    return rc == 0;
}

int template_validate(const struct template_run *r)
{
    bool good = true;
    yyjson_mut_val *root;
    cleanup(json_free_ptr) yyjson_mut_doc *doc = json_new(&root);
    yyjson_mut_val *list = json_put_list(doc, root, "tests");
    for (size_t i = 0; i < (r->test != NULL || r->set->test_count == 0 ? 1 : r->set->test_count); i++) {
        const struct template_test *test = r->test != NULL          ? r->test
                                           : r->set->test_count > 0 ? &r->set->tests[i]
                                                                    : NULL;
        struct error err = {0};
        struct validation v;
        if (!trial_is_rendered(test) && r->test == NULL)
            continue;
        good = validation_run(r, test, &v, &err) && good;
        yyjson_mut_val *row = json_add_object(doc, list);
        json_put_text(doc, row, "name", test != NULL ? v.name : NULL);
        json_put_text(doc, row, "result",
                      str_eq(v.verdict, OK)       ? "passed"
                      : str_eq(v.verdict, FAILED) ? "failed"
                                                  : "skipped");
        json_put_text(doc, row, "why", v.why);
        if (!r->command->json)
            template_show(r, validation_print, &v);
    }
    cleanup(buf_fini) struct buf out = {0};
    json_write(doc, true, &out);
    if (r->command->json)
        printf("%s\n", buf_str(&out));
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
