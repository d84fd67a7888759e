/* The tests of a template set: fixtures, and what is to hold of what is rendered of them. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "template/json_path.h"
#include "template/set_keys.h"

#define GLOBAL "_global"

/* ---- assertions ---- */

enum { PART_PATTERN = 1, PART_PATTERNS = 2, PART_EXPECTED = 4, PART_COUNT = 8, PART_PATH = 16, PART_TARGET = 32 };

/* Their parts, in the order of the bits. */
static const char *const parts[] = {"pattern", "patterns", "expected", "count", "jsonpath", "target"};

static const struct assertion_row {
    const char *name;
    unsigned needs, takes;
} assertions[ASSERTION_KINDS] = {
    [ASSERT_HAPROXY_VALID] = {"haproxy_valid", 0, 0},
    [ASSERT_CONTAINS] = {"contains", PART_PATTERN, PART_TARGET},
    [ASSERT_NOT_CONTAINS] = {"not_contains", PART_PATTERN, PART_TARGET},
    [ASSERT_EQUALS] = {"equals", PART_EXPECTED, PART_TARGET},
    [ASSERT_MATCH_COUNT] = {"match_count", PART_PATTERN | PART_COUNT, PART_TARGET},
    [ASSERT_MATCH_ORDER] = {"match_order", PART_PATTERNS, PART_TARGET},
    [ASSERT_JSONPATH] = {"jsonpath", PART_PATH, PART_EXPECTED | PART_TARGET},
    [ASSERT_RENDERING_ERROR] = {"rendering_error", 0, PART_PATTERN},
    [ASSERT_DETERMINISTIC] = {"deterministic", 0, 0},
};

const char *assertion_name(enum assertion_kind kind)
{
    return assertions[kind].name;
}

/* While it is read. */
struct assertion_reader {
    struct template_assertion *into;
    bool typed;
    unsigned given;
};

static int assertion_type(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct assertion_reader *r = of;
    const char *names[ASSERTION_KINDS], *text = value->kind == NODE_SCALAR ? value->text : "";
    for (size_t i = 0; i < ASSERTION_KINDS; i++) {
        names[i] = assertions[i].name;
        if (str_eq(text, names[i])) {
            r->into->kind = (enum assertion_kind)i;
            r->typed = true;
            return 0;
        }
    }
    cleanup(mem_free_ptr) char *known = set_known(text, names, ASSERTION_KINDS);
    return set_wrong(value, err, "%s: there is no assertion %s%s", key, text, known);
}

static int assertion_description(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_read_text(key, value, &((struct assertion_reader *)of)->into->description, err);
}

static int assertion_target(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct assertion_reader *r = of;
    r->given |= PART_TARGET;
    if (set_read_text(key, value, &r->into->target, err) != 0)
        return -1;
    static const char *const prefixes[] = {"map:", "file:", "certificate:"};
    for (size_t i = 0; i < array_len(prefixes); i++)
        if (str_has_prefix(r->into->target, prefixes[i]) && r->into->target[strlen(prefixes[i])] != '\0')
            return 0;
    if (str_eq(r->into->target, "haproxy.cfg"))
        return 0;
    if (str_has_prefix(r->into->target, "cert:")) { /* the older controller's */
        char *target = mem_printf("certificate:%s", r->into->target + strlen("cert:"));
        free(r->into->target);
        r->into->target = target;
        return 0;
    }
    return set_wrong(value, err, "%s: \"%s\" is none of haproxy.cfg, map:NAME, file:NAME, certificate:NAME", key,
                     value->text);
}

static int assertion_pattern(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct assertion_reader *r = of;
    cleanup(mem_free_ptr) char *pattern = NULL;
    r->given |= PART_PATTERN;
    if (set_read_text(key, value, &pattern, err) != 0)
        return -1;
    return set_add_name(&r->into->patterns, pattern, err);
}

static int assertion_patterns(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct assertion_reader *r = of;
    r->given |= PART_PATTERNS;
    if (value->kind != NODE_SEQUENCE || value->kid_count == 0)
        return set_wrong(value, err, "%s: expected a list of patterns", key);
    return set_each_text(key, value, set_add_name, &r->into->patterns, err);
}

static int assertion_expected(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct assertion_reader *r = of;
    r->given |= PART_EXPECTED;
    if (value->kind != NODE_SCALAR)
        return set_wrong(value, err, "%s: expected a text", key);
    r->into->expected = mem_strdup(value->text); /* null and nothing are texts here, too */
    return 0;
}

static int assertion_count(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct assertion_reader *r = of;
    r->given |= PART_COUNT;
    return set_read_int(key, value, 0, INT64_MAX, &r->into->count, err);
}

static int assertion_path(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct assertion_reader *r = of;
    r->given |= PART_PATH;
    struct error why = {0};
    if (value->kind != NODE_SCALAR || (r->into->path = json_path_parse(value->text, &why)) == NULL)
        return set_wrong(value, err, "%s: %s", key, value->kind == NODE_SCALAR ? why.message : "expected a path");
    return 0;
}

static const struct set_key assertion_keys[] = {
    {"type", assertion_type, "{\"$ref\": \"#/$defs/assertion_type\"}", "What is asserted."},
    {"description", assertion_description, SCHEMA_TEXT, "For people."},
    {"target", assertion_target, SCHEMA_TEXT, "haproxy.cfg (default), map:NAME, file:NAME, certificate:NAME."},
    {"pattern", assertion_pattern, SCHEMA_TEXT, "An extended regular expression; ^ and $ are those of a line."},
    {"patterns", assertion_patterns, "{\"type\": \"array\", \"items\": {\"type\": \"string\"}, \"minItems\": 1}",
     "For match_order: patterns in their order."},
    {"expected", assertion_expected, "{\"type\": [\"string\", \"number\", \"boolean\", \"null\"]}",
     "The expected text."},
    {"count", assertion_count, "{\"type\": \"integer\", \"minimum\": 0}", "For match_count: the number of matches."},
    {"jsonpath", assertion_path, SCHEMA_TEXT, "Of a target that is JSON; without a target, of resources and extra."},
};
const struct set_keys set_assertion_keys = SET_KEYS("assertion", "What has to hold.", assertion_keys);

/* What it needs, and nothing that it does not look at. */
static int assertion_check(const struct assertion_reader *r, const struct yaml_node *at, const char *what,
                           struct error *err)
{
    const struct assertion_row *row = &assertions[r->into->kind];
    if (!r->typed)
        return set_wrong(at, err, "%s: an assertion needs a type", what);
    for (unsigned i = 0; i < array_len(parts); i++) {
        unsigned bit = 1u << i;
        if ((row->needs & bit) != 0 && (r->given & bit) == 0)
            return set_wrong(at, err, "%s: %s needs %s", what, row->name, parts[i]);
        if (((row->needs | row->takes) & bit) == 0 && (r->given & bit) != 0)
            return set_wrong(at, err, "%s: %s takes no %s", what, row->name, parts[i]);
    }
    return 0;
}

/* The older controller counted by `expected`. */
static int assertion_count_expected(struct assertion_reader *r, const struct yaml_node *at, struct error *err)
{
    uint64_t count;
    if (r->into->kind != ASSERT_MATCH_COUNT || (r->given & PART_EXPECTED) == 0 || (r->given & PART_COUNT) != 0)
        return 0;
    if (str_parse_uint(r->into->expected, INT64_MAX, &count) != 0)
        return set_wrong(at, err, "expected: \"%s\" is no number of matches", r->into->expected);
    r->into->count = (int64_t)count;
    r->given = (r->given | PART_COUNT) & ~(unsigned)PART_EXPECTED;
    return 0;
}

struct test_reader {
    const struct template_set *set;
    struct template_test *test;
    bool global;
};

static int test_assertions(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct test_reader *r = of;
    if (r->global)
        return set_wrong(value, err, "tests.%s has fixtures alone, for all tests", GLOBAL);
    if (value->kind != NODE_SEQUENCE)
        return set_wrong(value, err, "%s: expected a list", key);
    cleanup(mem_free_ptr) char *what = mem_printf("tests.%s", r->test->name);
    r->test->assertions = mem_array(value->kid_count + 1, sizeof(r->test->assertions[0]));
    for (size_t i = 0; i < value->kid_count; i++) {
        struct assertion_reader a = {.into = &r->test->assertions[r->test->assertion_count++]};
        a.into->line = value->kids[i]->line;
        if (set_read_mapping(&a, what, value->kids[i], &set_assertion_keys, err) != 0 ||
            assertion_count_expected(&a, value->kids[i], err) != 0 ||
            assertion_check(&a, value->kids[i], what, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- fixtures ---- */

static int fixture_check(void *arg, const struct yaml_node *name, const struct yaml_node *list, struct error *err)
{
    const struct test_reader *r = arg;
    const struct template_set *s = r->set;
    cleanup(mem_free_ptr) const char **names = mem_array(s->watch_count + 1, sizeof(names[0]));
    bool known = false;
    for (size_t i = 0; i < s->watch_count; i++) {
        names[i] = s->watches[i].name;
        known = known || str_eq(names[i], name->text);
    }
    cleanup(mem_free_ptr) char *others = set_known(name->text, names, s->watch_count);
    if (!known)
        return set_wrong(name, err, "fixtures: the set watches no %s%s", name->text, others);
    if (list->kind != NODE_SEQUENCE)
        return set_wrong(list, err, "fixtures: %s: expected a list of objects", name->text);
    for (size_t i = 0; i < list->kid_count; i++) {
        size_t twice;
        const struct yaml_node *metadata = yaml_node_get(list->kids[i], "metadata", &twice);
        const struct yaml_node *own = yaml_node_get(metadata, "name", &twice);
        if (own == NULL || own->kind != NODE_SCALAR || yaml_node_is_null(own))
            return set_wrong(list->kids[i], err, "fixtures: %s: an object needs metadata.name", name->text);
    }
    return 0;
}

static int test_fixtures(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct test_reader *r = of;
    if (set_each_pair(key, value, fixture_check, r, err) != 0)
        return -1;
    return set_read_json(key, value, &r->test->fixtures, err);
}

/* ---- tests ---- */

static int test_description(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_read_text(key, value, &((struct test_reader *)of)->test->description, err);
}

/* In a list it was read before; in a mapping the key is the name. */
static int test_name(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    const char *name = ((struct test_reader *)of)->test->name;
    if (value->kind != NODE_SCALAR || !str_eq(value->text, name))
        return set_wrong(value, err, "%s: the test already has the name %s", key, name);
    return 0;
}

static const struct set_key test_keys[] = {
    {"name", test_name, SCHEMA_TEXT, "Where tests are a list."},
    {"description", test_description, SCHEMA_TEXT, "For people."},
    {"fixtures", test_fixtures,
     "{\"type\": \"object\", \"additionalProperties\": {\"type\": \"array\", \"items\": {\"type\": \"object\"}}}",
     "Objects, by the names of their watches."},
    {"assertions", test_assertions, "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/assertion\"}}",
     "What has to hold."},
};
const struct set_keys set_test_keys = SET_KEYS("test", "A test; _global has the fixtures of all tests.", test_keys);

void set_test_fini(struct template_test *t)
{
    for (size_t i = 0; i < t->assertion_count; i++) {
        struct template_assertion *a = &t->assertions[i];
        free(a->description);
        free(a->target);
        set_free_names(a->patterns);
        free(a->expected);
        json_path_free(a->path);
    }
    free(t->assertions);
    free(t->name);
    free(t->description);
    yyjson_doc_free(t->fixtures);
}

/* What it has is the set's, whether it is right or not. */
static int test_keep(struct template_set *s, const struct template_test *t, const struct yaml_node *at,
                     struct error *err)
{
    bool twice = template_set_test(s, t->name) != NULL;
    s->tests = mem_resize(s->tests, s->test_count + 1, sizeof(s->tests[0]));
    s->tests[s->test_count++] = *t;
    return !twice ? 0 : set_wrong(at, err, "there are two tests %s", t->name);
}

static int test_keep_global(struct template_set *s, struct template_test *t, const struct yaml_node *at,
                            struct error *err)
{
    bool twice = s->global_fixtures != NULL;
    if (!twice) {
        s->global_fixtures = t->fixtures;
        t->fixtures = NULL;
    }
    set_test_fini(t);
    return !twice ? 0 : set_wrong(at, err, "there are two tests " GLOBAL);
}

static int test_read(struct template_set *s, const struct yaml_node *at, const char *name,
                     const struct yaml_node *value, struct error *err)
{
    struct template_test t = {.name = mem_strdup(name), .line = at->line};
    struct test_reader r = {.set = s, .test = &t, .global = str_eq(name, GLOBAL)};
    cleanup(mem_free_ptr) char *what = mem_printf("tests.%s", name);
    if (set_read_mapping(&r, what, value, &set_test_keys, err) != 0) {
        set_test_fini(&t);
        return -1;
    }
    return r.global ? test_keep_global(s, &t, at, err) : test_keep(s, &t, at, err);
}

static int test_read_pair(void *set, const struct yaml_node *name, const struct yaml_node *value, struct error *err)
{
    return test_read(set, name, name->text, value, err);
}

int set_read_tests(struct template_set *s, const char *key, const struct yaml_node *value, struct error *err)
{
    if (value->kind == NODE_MAPPING)
        return set_each_pair(key, value, test_read_pair, s, err);
    for (size_t i = 0; i < value->kid_count; i++) {
        size_t twice;
        const struct yaml_node *name = yaml_node_get(value->kids[i], "name", &twice);
        if (name == NULL || name->kind != NODE_SCALAR || str_empty(name->text))
            return set_wrong(value->kids[i], err, "%s: a test in a list needs a name", key);
        if (test_read(s, value->kids[i], name->text, value->kids[i], err) != 0)
            return -1;
    }
    return 0;
}

const struct template_test *template_set_test(const struct template_set *s, const char *name)
{
    for (size_t i = 0; i < s->test_count; i++)
        if (str_eq(s->tests[i].name, name))
            return &s->tests[i];
    return NULL;
}

char *template_set_known_tests(const struct template_set *s, const char *name)
{
    cleanup(mem_free_ptr) const char **names = mem_array(s->test_count + 1, sizeof(names[0]));
    for (size_t i = 0; i < s->test_count; i++)
        names[i] = s->tests[i].name;
    return set_known(name, names, s->test_count);
}
