/* src/template/set_tests: the tests that a set has; src/template/set_schema: docs/template-set.schema.json is of the tables. */

#include "set_text.h"

#define HEAD "haproxy.cfg: x\nwatch: {r: {apiVersion: v1, kind: K}, services: {apiVersion: v1, kind: S}}\n"
#define ONE HEAD "tests:\n  t:\n    assertions:\n    - "

static const struct {
    const char *yaml, *says;
} bad[] = {
    {HEAD "tests: 5\n", "set.yaml:3: tests: expected tests"},
    {HEAD "tests: {t: []}\n", "set.yaml:3: tests.t: expected a mapping"},
    {HEAD "tests: {t: {assertion: []}}\n", "set.yaml:3: tests.t has no key assertion; did you mean assertions?"},
    {HEAD "tests: {t: {assertions: {}}}\n", "set.yaml:3: assertions: expected a list"},
    {HEAD "tests: {t: {name: u}}\n", "set.yaml:3: name: the test already has the name t"},
    {HEAD "tests:\n- {}\n", "set.yaml:4: tests: a test in a list needs a name"},
    {HEAD "tests:\n- name: a\n- name: a\n", "set.yaml:5: there are two tests a"},
    {HEAD "tests:\n- name: _global\n  fixtures: {}\n- name: _global\n  fixtures: {}\n",
     "set.yaml:6: there are two tests _global"},
    {HEAD "tests:\n  _global:\n    assertions: []\n", "set.yaml:5: tests._global has fixtures alone"},
    {HEAD "tests: {}\nvalidation_tests: {}\n", "a template set has validation_tests already, as tests"},
    {HEAD "tests:\n  t:\n    fixtures: []\n", "set.yaml:5: fixtures: expected a mapping"},
    {HEAD "tests:\n  t:\n    fixtures:\n      service: []\n",
     "set.yaml:6: fixtures: the set watches no service; did you mean services?"},
    {HEAD "tests:\n  t:\n    fixtures:\n      ingresses: []\n",
     "set.yaml:6: fixtures: the set watches no ingresses; there are r, services"},
    {HEAD "tests:\n  t:\n    fixtures:\n      r: {}\n", "set.yaml:6: fixtures: r: expected a list of objects"},
    {HEAD "tests:\n  t:\n    fixtures:\n      r:\n      - {metadata: {name: a}}\n      - {metadata: {}}\n",
     "set.yaml:8: fixtures: r: an object needs metadata.name"},
    {HEAD "tests:\n  t:\n    fixtures:\n      r: [x]\n", "set.yaml:6: fixtures: r: an object needs metadata.name"},
    {ONE "{}\n", "set.yaml:6: tests.t: an assertion needs a type"},
    {ONE "{type: contain, pattern: x}\n",
     "set.yaml:6: type: there is no assertion contain; did you mean contains, not_contains?"},
    {ONE "{type: xyz}\n", "there is no assertion xyz; there are haproxy_valid, contains, not_contains"},
    {ONE "{type: contains}\n", "set.yaml:6: tests.t: contains needs pattern"},
    {ONE "{type: contains, pattern: a, count: 1}\n", "set.yaml:6: tests.t: contains takes no count"},
    {ONE "{type: contains, patern: a}\n", "set.yaml:6: tests.t has no key patern; did you mean pattern"},
    {ONE "{type: haproxy_valid, target: haproxy.cfg}\n", "tests.t: haproxy_valid takes no target"},
    {ONE "{type: deterministic, expected: a}\n", "tests.t: deterministic takes no expected"},
    {ONE "{type: equals, pattern: a}\n", "tests.t: equals takes no pattern"},
    {ONE "{type: equals}\n", "tests.t: equals needs expected"},
    {ONE "{type: equals, expected: [a]}\n", "set.yaml:6: expected: expected a text"},
    {ONE "{type: match_count, pattern: a}\n", "tests.t: match_count needs count"},
    {ONE "{type: match_count, pattern: a, count: -1}\n",
     "set.yaml:6: count: expected a whole number that is not negative"},
    {ONE "{type: match_count, pattern: a, expected: two}\n", "set.yaml:6: expected: \"two\" is no number of matches"},
    {ONE "{type: match_count, pattern: a, expected: 2, count: 2}\n", "tests.t: match_count takes no expected"},
    {ONE "{type: match_order, pattern: a}\n", "tests.t: match_order takes no pattern"},
    {ONE "{type: match_order, patterns: []}\n", "set.yaml:6: patterns: expected a list of patterns"},
    {ONE "{type: match_order, patterns: a}\n", "set.yaml:6: patterns: expected a list of patterns"},
    {ONE "{type: jsonpath}\n", "tests.t: jsonpath needs jsonpath"},
    {ONE "{type: jsonpath, jsonpath: 'a['}\n", "set.yaml:6: jsonpath: path \"a[\""},
    {ONE "{type: rendering_error, target: haproxy.cfg}\n", "rendering_error takes no target"},
    {ONE "{type: contains, pattern: a, target: haproxy}\n",
     "set.yaml:6: target: \"haproxy\" is none of haproxy.cfg, map:NAME, file:NAME, certificate:NAME"},
    {ONE "{type: contains, pattern: a, target: 'map:'}\n", "target: \"map:\" is none of"},
};

TEST_EACH(what_is_wrong_and_where, array_len(bad))
{
    struct template_set *s = set_of(bad[_i].yaml, &flaw);
    ck_assert_msg(s == NULL, "%s", bad[_i].yaml);
    ck_assert_msg(flaw.kind == ERROR_INVALID && strstr(flaw.message, bad[_i].says) != NULL, "%s\n%s", bad[_i].yaml,
                  flaw.message);
}

TEST(what_they_are)
{
    struct template_set *s =
        good_set("watch: {r: {apiVersion: v1, kind: K}}\ntests:\n  _global: {fixtures: {r: [{metadata: {name: g}}]}}\n "
                 " one:\n    description: d\n"
                 "    fixtures: {r: [{metadata: {name: a}}]}\n    assertions:\n"
                 "    - {type: match_count, pattern: ^x, expected: \"2\", target: 'map:m', description: e}\n"
                 "    - {type: match_order, patterns: [a, b]}\n    - {type: equals, expected: }\n"
                 "    - {type: contains, pattern: p, target: 'cert:c'}\n    - {type: jsonpath, jsonpath: a.b, "
                 "expected: 5}\n  two: {}\n");
    ck_assert_uint_eq(s->test_count, 2);
    ck_assert_ptr_nonnull(yyjson_obj_get(yyjson_doc_get_root(s->global_fixtures), "r"));
    const struct template_test *t = template_set_test(s, "one");
    ck_assert(t == &s->tests[0] && template_set_test(s, "_global") == NULL);
    ck_assert_uint_eq(t->line, 4);
    ck_assert_uint_eq(t->assertion_count, 5);
    const struct template_assertion *a = t->assertions;
    ck_assert(a[0].kind == ASSERT_MATCH_COUNT && a[0].count == 2 && a[0].line == 8);
    ck_assert(str_eq(a[0].patterns[0], "^x") && str_eq(a[0].target, "map:m") && str_eq(a[0].description, "e"));
    ck_assert(a[1].kind == ASSERT_MATCH_ORDER && str_eq(a[1].patterns[1], "b") && a[1].patterns[2] == NULL &&
              a[1].target == NULL);
    ck_assert_str_eq(a[2].expected, "");
    ck_assert_str_eq(a[3].target, "certificate:c");
    ck_assert(a[4].path != NULL && str_eq(a[4].expected, "5"));
    char *known = template_set_known_tests(s, "three");
    ck_assert_str_eq(known, "; there are one, two");
    free(known);
    template_set_free(s);
    s = good_set("tests:\n- {name: one}\n- {name: two}\n");
    ck_assert_uint_eq(s->test_count, 2);
    template_set_free(s);
}

#define SCHEMA "docs/template-set.schema.json"

TEST(the_schema_is_of_the_tables)
{
    struct buf schema = {0}, file;
    template_set_schema(&schema);
    if (getenv("RENEW_TEMPLATE_SCHEMA") != NULL) {
        FILE *to = fopen(SCHEMA, "w");
        ck_assert(to != NULL && fputs(buf_str(&schema), to) >= 0 && fclose(to) == 0);
    }
    buf_init(&file, 1u << 20);
    ck_assert_msg(buf_read_file(&file, SCHEMA) == 0, "cannot read " SCHEMA);
    ck_assert_msg(str_eq(buf_str(&file), buf_str(&schema)), SCHEMA
                  " is not of src/template; renew it by RENEW_TEMPLATE_SCHEMA=1 build/unit/test_template_set_tests");
    yyjson_doc *doc = yyjson_read(buf_str(&schema), schema.len, 0);
    ck_assert(doc != NULL && yyjson_is_obj(yyjson_obj_get(yyjson_doc_get_root(doc), "$defs")));
    yyjson_doc_free(doc);
    buf_fini(&schema);
    buf_fini(&file);
}
