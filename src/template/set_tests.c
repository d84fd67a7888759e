/* The tests of a template set: fixtures, and what is to hold of what is rendered of them. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "template/json_path.h"
#include "template/set_keys.h"

#define GLOBAL "_global"

/* ---- assertions ---- */

/* The rows of assertion_keys, and their bits. */
enum { ROW_TYPE, ROW_DESCRIPTION, ROW_TARGET, ROW_PATTERN, ROW_PATTERNS, ROW_EXPECTED, ROW_COUNT, ROW_PATH };
enum {
    PART_TARGET = 1 << ROW_TARGET,
    PART_PATTERN = 1 << ROW_PATTERN,
    PART_PATTERNS = 1 << ROW_PATTERNS,
    PART_EXPECTED = 1 << ROW_EXPECTED,
    PART_COUNT = 1 << ROW_COUNT,
    PART_PATH = 1 << ROW_PATH
};

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

static int assertion_type(void *of, const struct set_pair *p, struct error *err)
{
    const char *names[ASSERTION_KINDS], *text = p->value->kind == NODE_SCALAR ? p->value->text : "";
    for (size_t i = 0; i < ASSERTION_KINDS; i++) {
        names[i] = assertions[i].name;
        if (str_eq(text, names[i])) {
            ((struct template_assertion *)of)->kind = (enum assertion_kind)i;
            return 0;
        }
    }
    cleanup(mem_free_ptr) char *known = set_known(text, names, ASSERTION_KINDS);
    return set_wrong(p->value, err, "%s: there is no assertion %s%s", p->key, text, known);
}

static int assertion_target(void *of, const struct set_pair *p, struct error *err)
{
    static const char *const prefixes[] = {"map:", "file:", "certificate:"};
    struct template_assertion *a = of;
    if (set_read_text(p, &a->target, err) != 0)
        return -1;
    for (size_t i = 0; i < array_len(prefixes); i++)
        if (str_has_prefix(a->target, prefixes[i]) && a->target[strlen(prefixes[i])] != '\0')
            return 0;
    if (str_eq(a->target, "haproxy.cfg"))
        return 0;
    if (str_has_prefix(a->target, "cert:")) { /* the older controller's */
        char *target = mem_printf("certificate:%s", a->target + strlen("cert:"));
        free(a->target);
        a->target = target;
        return 0;
    }
    return set_wrong(p->value, err, "%s: \"%s\" is none of haproxy.cfg, map:NAME, file:NAME, certificate:NAME", p->key,
                     a->target);
}

static int assertion_pattern(void *of, const struct set_pair *p, struct error *err)
{
    cleanup(mem_free_ptr) char *pattern = NULL;
    if (set_read_text(p, &pattern, err) != 0)
        return -1;
    set_add_name(&((struct template_assertion *)of)->patterns, pattern);
    return 0;
}

static int assertion_patterns(void *of, const struct set_pair *p, struct error *err)
{
    if (p->value->kind != NODE_SEQUENCE || p->value->kid_count == 0)
        return set_wrong(p->value, err, "%s: expected a list of patterns", p->key);
    return set_read_texts(p, &((struct template_assertion *)of)->patterns, NULL, err);
}

/* null and nothing are texts here, too. */
static int assertion_expected(void *of, const struct set_pair *p, struct error *err)
{
    if (p->value->kind != NODE_SCALAR)
        return set_wrong(p->value, err, "%s: expected a text", p->key);
    ((struct template_assertion *)of)->expected = mem_strdup(p->value->text);
    return 0;
}

static int assertion_path(void *of, const struct set_pair *p, struct error *err)
{
    struct error why = {.message = "expected a path"};
    struct json_path *path = p->value->kind == NODE_SCALAR ? json_path_parse(p->value->text, &why) : NULL;
    ((struct template_assertion *)of)->path = path;
    return path != NULL ? 0 : set_wrong(p->value, err, "%s: %s", p->key, why.message);
}

#define ASSERTION(member) offsetof(struct template_assertion, member)

static const struct set_key assertion_keys[] = {
    [ROW_TYPE] = {"type", .read = assertion_type, .help = "What is asserted.",
                  .schema = "{\"$ref\": \"#/$defs/assertion_type\"}"},
    [ROW_DESCRIPTION] = {"description", SET_TEXT, ASSERTION(description), .help = "For people."},
    [ROW_TARGET] = {"target", SET_TEXT, ASSERTION(target), .read = assertion_target,
                    .help = "haproxy.cfg (default), map:NAME, file:NAME, certificate:NAME."},
    [ROW_PATTERN] = {"pattern", .read = assertion_pattern,
                     .help = "An extended regular expression; ^ and $ are those of a line.", .schema = SCHEMA_TEXT},
    [ROW_PATTERNS] = {"patterns", SET_NAMES, ASSERTION(patterns), .read = assertion_patterns,
                      .help = "For match_order: patterns in their order.",
                      .schema = "{\"type\": \"array\", \"items\": {\"type\": \"string\"}, \"minItems\": 1}"},
    [ROW_EXPECTED] = {"expected", SET_TEXT, ASSERTION(expected), .read = assertion_expected,
                      .help = "The expected text.",
                      .schema = "{\"type\": [\"string\", \"number\", \"boolean\", \"null\"]}"},
    [ROW_COUNT] = {"count", SET_INT, ASSERTION(count), .help = "For match_count: the number of matches.",
                   .schema = "{\"type\": \"integer\", \"minimum\": 0}"},
    [ROW_PATH] = {"jsonpath", .read = assertion_path,
                  .help = "Of a target that is JSON; without a target, of resources and extra.", .schema = SCHEMA_TEXT},
};
const struct set_keys set_assertion_keys = SET_KEYS("assertion", "What has to hold.", assertion_keys);

/* It has what it needs, and nothing that it does not use. given: a bit for each row. */
static int assertion_check(struct template_assertion *a, unsigned given, const struct yaml_node *at, const char *what,
                           struct error *err)
{
    const struct assertion_row *row = &assertions[a->kind];
    /* The older controller counted by `expected`. */
    if (a->kind == ASSERT_MATCH_COUNT && (given & (PART_EXPECTED | PART_COUNT)) == PART_EXPECTED) {
        uint64_t count;
        if (str_parse_uint(a->expected, INT64_MAX, &count) != 0)
            return set_wrong(at, err, "expected: \"%s\" is no number of matches", a->expected);
        a->count = (int64_t)count;
        given ^= PART_EXPECTED | PART_COUNT;
    }
    if ((given & 1 << ROW_TYPE) == 0)
        return set_wrong(at, err, "%s: an assertion needs a type", what);
    for (unsigned i = ROW_TARGET; i < array_len(assertion_keys); i++) {
        unsigned bit = 1u << i;
        if ((row->needs & bit) != 0 && (given & bit) == 0)
            return set_wrong(at, err, "%s: %s needs %s", what, row->name, assertion_keys[i].name);
        if (((row->needs | row->takes) & bit) == 0 && (given & bit) != 0)
            return set_wrong(at, err, "%s: %s takes no %s", what, row->name, assertion_keys[i].name);
    }
    return 0;
}

/* ---- tests ---- */

struct test_reader {
    struct template_test test; /* the first, for the rows are of its members */
    const struct template_set *set;
    bool global;
};

static int test_assertions(void *of, const struct set_pair *p, struct error *err)
{
    struct test_reader *r = of;
    if (r->global)
        return set_wrong(p->value, err, "tests.%s has fixtures alone, for all tests", GLOBAL);
    if (p->value->kind != NODE_SEQUENCE)
        return set_wrong(p->value, err, "%s: expected a list", p->key);
    cleanup(mem_free_ptr) char *what = mem_printf("tests.%s", r->test.name);
    r->test.assertions = mem_array(p->value->kid_count + 1, sizeof(r->test.assertions[0]));
    for (size_t i = 0; i < p->value->kid_count; i++) {
        const struct yaml_node *at = p->value->kids[i];
        struct template_assertion *a = &r->test.assertions[r->test.assertion_count++];
        unsigned given = 0;
        a->line = at->line;
        if (set_read_mapping(a, what, at, &set_assertion_keys, &given, err) != 0 ||
            assertion_check(a, given, at, what, err) != 0)
            return -1;
    }
    return 0;
}

static int fixture_check(void *arg, const struct set_pair *p, struct error *err)
{
    const struct template_set *s = ((const struct test_reader *)arg)->set;
    if (template_set_find_watch(s, p->key) == NULL) {
        cleanup(mem_free_ptr) const char **names = mem_array(s->watch_count + 1, sizeof(names[0]));
        for (size_t i = 0; i < s->watch_count; i++)
            names[i] = s->watches[i].name;
        cleanup(mem_free_ptr) char *others = set_known(p->key, names, s->watch_count);
        return set_wrong(p->at, err, "fixtures: the set watches no %s%s", p->key, others);
    }
    if (p->value->kind != NODE_SEQUENCE)
        return set_wrong(p->value, err, "fixtures: %s: expected a list of objects", p->key);
    for (size_t i = 0; i < p->value->kid_count; i++) {
        size_t twice;
        const struct yaml_node *metadata = yaml_node_get(p->value->kids[i], "metadata", &twice);
        const struct yaml_node *own = yaml_node_get(metadata, "name", &twice);
        if (own == NULL || own->kind != NODE_SCALAR || yaml_node_is_null(own))
            return set_wrong(p->value->kids[i], err, "fixtures: %s: an object needs metadata.name", p->key);
    }
    return 0;
}

static int test_fixtures(void *of, const struct set_pair *p, struct error *err)
{
    struct test_reader *r = of;
    if (set_each_pair(p->key, p->value, fixture_check, r, err) != 0)
        return -1;
    return set_read_json(p, &r->test.fixtures, err);
}

/* In a list it was read before; in a mapping the key is the name. */
static int test_name(void *of, const struct set_pair *p, struct error *err)
{
    const char *name = ((struct test_reader *)of)->test.name;
    if (p->value->kind != NODE_SCALAR || !str_eq(p->value->text, name))
        return set_wrong(p->value, err, "%s: the test already has the name %s", p->key, name);
    return 0;
}

#define TEST(member) offsetof(struct template_test, member)

static const struct set_key test_keys[] = {
    {"name", SET_TEXT, TEST(name), .read = test_name, .help = "Where tests are a list."},
    {"description", SET_TEXT, TEST(description), .help = "For people."},
    {"fixtures", SET_JSON, TEST(fixtures), .read = test_fixtures, .help = "Objects, by the names of their watches.",
     .schema =
         "{\"type\": \"object\", \"additionalProperties\": {\"type\": \"array\", \"items\": {\"type\": \"object\"}}}"},
    {"assertions", .read = test_assertions, .help = "What has to hold.",
     .schema = "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/assertion\"}}"},
};
const struct set_keys set_test_keys = SET_KEYS("test", "A test; _global has the fixtures of all tests.", test_keys);

void set_test_fini(struct template_test *t)
{
    for (size_t i = 0; i < t->assertion_count; i++) {
        set_keys_fini(&t->assertions[i], &set_assertion_keys);
        json_path_free(t->assertions[i].path);
    }
    free(t->assertions);
    set_keys_fini(t, &set_test_keys);
}

static int test_read(void *of, const struct set_pair *p, struct error *err)
{
    struct template_set *s = of;
    struct test_reader r = {.set = s, .global = str_eq(p->key, GLOBAL)};
    r.test = (struct template_test){.name = mem_strdup(p->key), .line = p->at->line};
    cleanup(mem_free_ptr) char *what = mem_printf("tests.%s", p->key);
    int rc = set_read_mapping(&r, what, p->value, &set_test_keys, NULL, err);
    bool twice = r.global ? s->global_fixtures != NULL : template_set_test(s, p->key) != NULL;
    if (rc == 0 && r.global && !twice) {
        s->global_fixtures = r.test.fixtures;
        r.test.fixtures = NULL;
    }
    if (rc != 0 || r.global || twice) {
        set_test_fini(&r.test);
        return rc == 0 && twice ? set_wrong(p->at, err, "there are two tests %s", p->key) : rc;
    }
    s->tests = mem_resize(s->tests, s->test_count + 1, sizeof(s->tests[0]));
    s->tests[s->test_count++] = r.test;
    return 0;
}

int set_read_tests(void *of, const struct set_pair *p, struct error *err)
{
    if (p->value->kind == NODE_SCALAR)
        return set_wrong(p->value, err, "%s: expected tests", p->key);
    if (p->value->kind == NODE_MAPPING)
        return set_each_pair(p->key, p->value, test_read, of, err);
    for (size_t i = 0; i < p->value->kid_count; i++) {
        size_t twice;
        const struct yaml_node *one = p->value->kids[i], *name = yaml_node_get(one, "name", &twice);
        if (name == NULL || name->kind != NODE_SCALAR || str_empty(name->text))
            return set_wrong(one, err, "%s: a test in a list needs a name", p->key);
        const struct set_pair pair = {.at = one, .key = name->text, .value = one};
        if (test_read(of, &pair, err) != 0)
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
