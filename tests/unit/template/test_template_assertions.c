/* src/template/assertions: what is asserted of what was rendered. */

#include "set_text.h"
#include "template/assertions.h"

static char cfg[] = "global\n    maxconn 5\nbackend a\n    server s1 h:1\nbackend b\n    server s1 h:2\n";
static char map[] = "a be_a\nb be_b\n";
static char json[] = "{\"routes\": [{\"host\": \"h\", \"port\": 80}], \"on\": true, \"none\": null}";
static char certificate[] = "-----BEGIN PRIVATE KEY-----\nsecret\n";
static char empty[] = "";

static struct render_file files[] = {
    {ENGINE_HAPROXY_CFG, (char[]){"haproxy.cfg"}, cfg, sizeof(cfg) - 1},
    {ENGINE_MAP, (char[]){"hosts.map"}, map, sizeof(map) - 1},
    {ENGINE_CERTIFICATE, (char[]){"a.pem"}, certificate, sizeof(certificate) - 1},
    {ENGINE_FILE, (char[]){"r.json"}, json, sizeof(json) - 1},
    {ENGINE_FILE, (char[]){"empty"}, empty, 0},
};

static const struct {
    const char *assertion, *why; /* NULL: it holds */
} rows[] = {
    {"contains, pattern: 'maxconn [0-9]+'", NULL},
    {"contains, pattern: '^backend a$'", NULL},
    {"contains, pattern: '^server'", "haproxy.cfg has no \"^server\""},
    {"contains, pattern: '5.backend'", "haproxy.cfg has no \"5.backend\""}, /* . is within a line */
    {"contains, pattern: be_b, target: 'map:hosts.map'", NULL},
    {"contains, pattern: backend, target: 'map:hosts.map'", "map:hosts.map has no \"backend\""},
    {"contains, pattern: x, target: 'map:host.map'",
     "there is no map:host.map: there are haproxy.cfg, map:hosts.map, certificate:a.pem, file:r.json, file:empty"},
    {"contains, pattern: x, target: 'file:hosts.map'", "there is no file:hosts.map: there are"},
    {"contains, pattern: '^$', target: 'file:empty'", NULL},
    {"contains, pattern: 'a('", "\"a(\" is no extended regular expression: "},
    {"not_contains, pattern: listen", NULL},
    {"not_contains, pattern: 'h:2'", "haproxy.cfg:6 has \"h:2\": server s1 h:2"},
    {"not_contains, pattern: PRIVATE, target: 'certificate:a.pem'", "certificate:a.pem:1 has \"PRIVATE\": ..."},
    {"not_contains, pattern: '['", "is no extended regular expression"},
    {"equals, expected: \"a be_a\\nb be_b\\n\", target: 'map:hosts.map'", NULL},
    {"equals, expected: \"a be_a\\nb be_c\\n\", target: 'map:hosts.map'",
     "map:hosts.map:2 is \"b be_b\", expected \"b be_c\""},
    {"equals, expected: \"a be_a\\nb be_b\", target: 'map:hosts.map'", "(white space, or the end, differs)"},
    {"equals, expected: \"a be_a\\nb be_b\\nc\\n\", target: 'map:hosts.map'",
     "map:hosts.map:3 is \"\", expected \"c\""},
    {"equals, expected: '', target: 'file:empty'", NULL},
    {"equals, expected: '', target: 'certificate:a.pem'", "certificate:a.pem:1 is \"...\", expected \"...\""},
    {"match_count, pattern: ^backend, count: 2", NULL},
    {"match_count, pattern: ^backend, expected: 3", "haproxy.cfg has \"^backend\" 2 times, expected 3"},
    {"match_count, pattern: server s1, count: 2", NULL},
    {"match_count, pattern: e, count: 6", NULL},
    {"match_count, pattern: '^a', count: 1, target: 'map:hosts.map'",
     NULL}, /* that of be_a is not the first in its line */
    {"match_count, pattern: $, count: 3, target: 'map:hosts.map'", NULL},
    {"match_count, pattern: x, count: 0, target: 'file:empty'", NULL},
    {"match_count, pattern: '*', count: 0", "\"*\" is no extended regular expression: "},
    {"match_order, patterns: [global, backend a, backend b]", NULL},
    {"match_order, patterns: [server s1, server s1]", NULL},
    {"match_order, patterns: [server s1, server s1, server s1]",
     "haproxy.cfg has \"server s1\" before \"server s1\", in line 4"},
    {"match_order, patterns: [backend b, backend a]",
     "haproxy.cfg has \"backend a\" before \"backend b\", in line 3, and not behind it"},
    {"match_order, patterns: [backend a, listen]", "haproxy.cfg has no \"listen\""},
    {"match_order, patterns: ['bac', '^kend']", "haproxy.cfg has no \"^kend\""},
    {"match_order, patterns: ['(']", "is no extended regular expression"},
    {"jsonpath, jsonpath: 'routes[0].port', expected: 80, target: 'file:r.json'", NULL},
    {"jsonpath, jsonpath: 'routes[0].host', expected: h, target: 'file:r.json'", NULL},
    {"jsonpath, jsonpath: on, expected: true, target: 'file:r.json'", NULL},
    {"jsonpath, jsonpath: none, target: 'file:r.json'", NULL},
    {"jsonpath, jsonpath: 'routes[0].host', expected: i, target: 'file:r.json'",
     "file:r.json: the path leads to \"h\", expected \"i\""},
    {"jsonpath, jsonpath: 'routes[1]', target: 'file:r.json'", "file:r.json: the path leads to nothing"},
    {"jsonpath, jsonpath: a, target: 'map:hosts.map'", "map:hosts.map"},
    {"jsonpath, jsonpath: a, target: 'map:x'", "there is no map:x"},
    {"jsonpath, jsonpath: extra.a, expected: 1", NULL},
    {"jsonpath, jsonpath: extra.b", "what templates see: the path leads to nothing"},
    {"rendering_error", "the render did not fail"},
};

static struct template_set *with(const char *assertion)
{
    cleanup(mem_free_ptr) char *yaml = mem_printf("tests:\n  t:\n    assertions:\n    - {type: %s}\n", assertion);
    return good_set(yaml);
}

static void assert_why(const char *assertion, const struct assertion_subject *subject, const char *wanted)
{
    struct template_set *s = with(assertion);
    cleanup(mem_free_ptr) char *why = assertion_failure(&s->tests[0].assertions[0], subject);
    ck_assert_msg((why == NULL) == (wanted == NULL) && (why == NULL || strstr(why, wanted) != NULL), "%s: %s",
                  assertion, why);
    template_set_free(s);
}

TEST_EACH(of_what_was_rendered, array_len(rows))
{
    static const char document[] = "{\"extra\": {\"a\": 1}}";
    const struct rendered r = {.files = files, .file_count = array_len(files)};
    yyjson_doc *doc = yyjson_read(document, strlen(document), 0);
    assert_why(rows[_i].assertion, &(struct assertion_subject){.rendered = &r, .document = yyjson_doc_get_root(doc)},
               rows[_i].why);
    yyjson_doc_free(doc);
}

TEST(of_an_error)
{
    const struct assertion_subject failed = {.error = "haproxy.cfg:1:2: no host"};
    assert_why("rendering_error", &failed, NULL);
    assert_why("rendering_error, pattern: no h.st", &failed, NULL);
    assert_why("rendering_error, pattern: no port", &failed, "the error has no \"no port\": haproxy.cfg:1:2: no host");
    assert_why("rendering_error, pattern: '('", &failed, "is no extended regular expression");
    assert_why("contains, pattern: x", &failed, "nothing was rendered");
    assert_why("jsonpath, jsonpath: extra", &failed, "nothing was rendered");
}

static void assert_difference(const struct render_file *a, size_t count_a, const struct render_file *b, size_t count_b,
                              const char *wanted)
{
    const struct rendered x = {.files = (struct render_file *)(uintptr_t)a, .file_count = count_a};
    const struct rendered y = {.files = (struct render_file *)(uintptr_t)b, .file_count = count_b};
    cleanup(mem_free_ptr) char *why = assertion_difference(&x, &y);
    ck_assert_msg((why == NULL) == (wanted == NULL) && (why == NULL || str_eq(why, wanted)), "%s", why);
}

TEST(of_two_renders)
{
    char other[] = "a be_a\nb be_x\n";
    struct render_file b[array_len(files)];
    memcpy(b, files, sizeof(b));
    assert_difference(files, array_len(files), b, array_len(files), NULL);
    b[1].bytes = other;
    assert_difference(files, array_len(files), b, array_len(files),
                      "two renders differ: map:hosts.map:2 is \"b be_b\", expected \"b be_x\"");
    assert_difference(files, array_len(files), files, 1, "two renders made different numbers of files");
    assert_difference(files, 1, files, array_len(files), "two renders made different numbers of files");
    memcpy(b, files, sizeof(b));
    b[4].name = (char[]){"full"};
    assert_difference(files, array_len(files), b, array_len(files),
                      "two renders made different files: only one has file:empty");
}
