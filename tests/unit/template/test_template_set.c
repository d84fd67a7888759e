/* src/template/set: a set.yaml and the files beside it. */

#include "json/read.h"
#include "set_text.h"
#include "template/json_path.h"

#define HAPROXY "haproxy.cfg: x\n"
#define WATCH "watch: {r: {apiVersion: v1, kind: K"

static const struct {
    const char *yaml, *says;
} bad[] = {
    {"", "set.yaml is empty"},
    {"# nothing\n", "set.yaml is empty"},
    {"a: [", "set.yaml:2: invalid YAML"},
    {"haproxy.cfg: x\n\tb: 1\n", "set.yaml:2: invalid YAML"},
    {"a: \xff\n", "set.yaml: invalid YAML"},
    {"[]", "set.yaml:1: a template set: expected a mapping of keys to values"},
    {"x: 1\n", "set.yaml:1: a template set has no key x; there are watch, watched_resources"},
    {"watch: {}",
     "there is no template of haproxy.cfg: give set.yaml a key haproxy.cfg, or put a file haproxy.cfg.j2 beside it"},
    {HAPROXY "wacth: {}\n", "set.yaml:2: a template set has no key wacth; did you mean watch?"},
    {HAPROXY "snipets: {}\n", "set.yaml:2: a template set has no key snipets; did you mean snippets?"},
    {HAPROXY "haproxy_config: {template: y}\n",
     "set.yaml:2: a template set has haproxy_config already, as haproxy.cfg"},
    {HAPROXY "maps: {}\nmaps: {}\n", "set.yaml:3: a template set has the key maps twice"},
    {"haproxy.cfg: null\n", "set.yaml:1: haproxy.cfg: expected a text"},
    {"haproxy.cfg: {}\n", "set.yaml:1: haproxy.cfg: expected a template"},
    {"haproxy.cfg: {templat: x}\n", "set.yaml:1: haproxy.cfg has no key templat; did you mean template?"},
    {"haproxy.cfg: {template: [x]}\n", "set.yaml:1: template: expected a text"},
    {HAPROXY "maps: [a]\n", "set.yaml:2: maps: expected a mapping"},
    {HAPROXY "maps:\n  ../x: y\n", "set.yaml:3: \"../x\" is no name of a file: letters, digits"},
    {HAPROXY "maps:\n  .x: y\n", "set.yaml:3: \".x\" is no name"},
    {HAPROXY "files:\n  a/b: y\n", "set.yaml:3: \"a/b\" is no name"},
    {HAPROXY "certificates:\n  \"a\\nb\": y\n", "is no name of a file"},
    {HAPROXY "maps:\n  ? [a]\n  : y\n", "set.yaml:3: maps: expected a name"},
    {HAPROXY "maps:\n  \"\": y\n", "set.yaml:3: maps: expected a name"},
    {HAPROXY "maps:\n  a.b.map: y\n  a_b.map: y\n",
     "set.yaml:4: maps/a.b.map and maps/a_b.map are both stored as a_b.map"},
    {HAPROXY "snippets:\n  haproxy.cfg: y\n", "set.yaml:3: there are two templates haproxy.cfg"},
    {HAPROXY "maps: {a.map: y}\nsnippets:\n  maps/a.map: y\n", "set.yaml:4: there are two templates maps/a.map"},
    {HAPROXY "snippets:\n  \"a\\nb\": y\n", "the name of a snippet has no control characters"},
    {HAPROXY "snippets:\n  a: {template: y, priority: high}\n", "set.yaml:3: priority: expected a whole number"},
    {HAPROXY "extra: [1]\n", "set.yaml:2: extra: expected a mapping"},
    {HAPROXY "extra:\n  resources: 1\n", "set.yaml:3: extra: templates call something else resources"},
    {HAPROXY "extra: {a: 1}\ntemplating_settings:\n  extra_context: {a: 1}\n",
     "set.yaml:4: extra_context: there are such values already"},
    {HAPROXY "templating_settings: {engine: go}\n", "set.yaml:2: templating_settings has no key engine"},
    {HAPROXY "undefined: loose\n", "set.yaml:2: undefined: expected strict or lenient"},
    {HAPROXY "trim_blocks: yes\n", "set.yaml:2: trim_blocks: expected true or false"},
    {HAPROXY "targets: {port: 5555}\n", "set.yaml:2: targets: expected a labelSelector"},
    {HAPROXY "targets: {labelSelector: a=b, port: 65536}\n", "set.yaml:2: port: expected a whole number"},
    {HAPROXY "targets: {labelSelector: a=b, scheme: ftp}\n", "set.yaml:2: scheme: expected http or https"},
    {HAPROXY "targets: {labelSelector: a=b, port: 0}\n", "set.yaml:2: port: expected a whole number"},
    {HAPROXY "targets: {labelSelector: a=b}\npod_selector: {a: b}\n",
     "set.yaml:3: pod_selector: there are targets already"},
    {HAPROXY "pod_selector: [a]\n", "set.yaml:2: pod_selector: expected a selector"},
    {HAPROXY "watch: [r]\n", "set.yaml:2: watch: expected a mapping"},
    {HAPROXY "watch:\n  a b: {apiVersion: v1, kind: K}\n", "set.yaml:3: watch: \"a b\" is no name for templates"},
    {HAPROXY "watch:\n  1a: {apiVersion: v1, kind: K}\n", "set.yaml:3: watch: \"1a\" is no name for templates"},
    {HAPROXY "watch:\n  r: {kind: K}\n", "set.yaml:3: watch.r: expected apiVersion and kind"},
    {HAPROXY "watch:\n  r: {apiVersion: v1}\n", "set.yaml:3: watch.r: expected apiVersion and kind"},
    {HAPROXY "watch:\n  r: {apiVersion: v1, kind: K, indexBy: [a]}\n",
     "set.yaml:3: watch.r has no key indexBy; did you mean index_by?"},
    {HAPROXY "watch:\n  r: {apiVersion: v1, api_version: v1, kind: K}\n",
     "watch.r has api_version already, as apiVersion"},
    {HAPROXY "watch:\n  r: {apiVersion: a/b/c, kind: K}\n", "set.yaml:3: apiVersion: expected a version like v1"},
    {HAPROXY "watch:\n  r: {apiVersion: /v1, kind: K}\n", "apiVersion: expected a version"},
    {HAPROXY "watch:\n  r: {apiVersion: ../v1, kind: K}\n", "apiVersion: expected a version"},
    {HAPROXY "watch:\n  r: {apiVersion: \"v1?x\", kind: K}\n", "apiVersion: expected a version"},
    {HAPROXY "watch:\n  r: {apiVersion: v1, kind: K/x}\n", "set.yaml:3: kind: expected a kind like Ingress"},
    {HAPROXY "watch:\n  r: {apiVersion: v1, resources: a/b}\n", "set.yaml:3: resources: expected a kind's plural"},
    {HAPROXY WATCH ", namespaces: [a/b]}}\n", "set.yaml:2: namespaces: \"a/b\" can be no namespace"},
    {HAPROXY WATCH ", namespaces: [[a]]}}\n", "set.yaml:2: namespaces: expected a text or a list of them"},
    {HAPROXY WATCH ", index_by: ['a[']}}\n", "set.yaml:2: index_by: path \"a[\": \"[\" is no field"},
    {HAPROXY WATCH ", keep: {}}}\n", "set.yaml:2: keep: expected a text or a list of them"},
    {HAPROXY WATCH ", quarantine: true}}\n", "set.yaml:2: quarantine: expected a mapping of keys to values"},
    {HAPROXY WATCH ", quarantine: {r: 'a['}}}\n", "set.yaml:2: r: path \"a[\": \"[\" is no field"},
    {HAPROXY WATCH ", quarantine: {gone: a}}}\n", "set.yaml:2: watch.r.quarantine: gone is not watched"},
    {HAPROXY WATCH ", store: none}}\n", "set.yaml:2: store: expected full or on-demand"},
    {HAPROXY WATCH ", labelSelector: {a: [b]}}}\n", "set.yaml:2: labelSelector: a: expected a text"},
    {HAPROXY "watched_resources_ignore_fields: ['a..b']\n",
     "set.yaml:2: watched_resources_ignore_fields: path \"a..b\""},
    {HAPROXY "watched_resources_ignore_fields: {}\n",
     "set.yaml:2: watched_resources_ignore_fields: expected a list of paths"},
};

TEST_EACH(what_is_wrong_and_where, array_len(bad))
{
    struct template_set *s = set_of(bad[_i].yaml, &flaw);
    ck_assert_msg(s == NULL, "%s", bad[_i].yaml);
    ck_assert_msg(flaw.kind == ERROR_INVALID && strstr(flaw.message, bad[_i].says) != NULL, "%s\n%s", bad[_i].yaml,
                  flaw.message);
}

static const char of_old[] = "watched_resources:\n"
                             "  ingresses:\n"
                             "    api_version: networking.k8s.io/v1\n"
                             "    resources: ingresses\n"
                             "    label_selector: {a: b, c: d}\n"
                             "    index_by: [\"metadata.namespace\", \"metadata.name\"]\n"
                             "    store: on-demand\n"
                             "watched_resources_ignore_fields: [metadata.managedFields, status]\n"
                             "pod_selector:\n  match_labels: {app: haproxy, tier: lb}\n"
                             "template_snippets:\n  util: {name: util, template: u, priority: -5}\n"
                             "maps:\n  hosts.map: {template: m}\n"
                             "files:\n  503.http: {template: f}\n"
                             "ssl_certificates:\n  a.pem: {template: c}\n"
                             "haproxy_config: {template: h}\n"
                             "templating_settings:\n  extra_context: {debug: true}\n"
                             "validation_tests:\n  t: {description: d, assertions: [{type: haproxy_valid}]}\n";

TEST(the_older_names)
{
    struct template_set *s = set_of(of_old, &flaw);
    ck_assert_msg(s != NULL, "%s", flaw.message);
    ck_assert_uint_eq(s->watch_count, 1);
    const struct template_watch *w = &s->watches[0];
    ck_assert_str_eq(w->api_version, "networking.k8s.io/v1");
    ck_assert_ptr_null(w->kind);
    ck_assert_str_eq(w->plural, "ingresses");
    ck_assert_str_eq(w->label_selector, "a=b,c=d");
    ck_assert_uint_eq(w->index_by.count, 2);
    ck_assert_uint_eq(w->drop.count, 2);
    ck_assert_str_eq(w->drop.list[1]->steps[0].field, "status");
    ck_assert_uint_eq(w->line, 2);
    ck_assert_str_eq(s->targets.label_selector, "app=haproxy,tier=lb");
    ck_assert_uint_eq(s->targets.port, 5555);
    static const char *const sources[] = {"haproxy.cfg", "maps/hosts.map", "certificates/a.pem", "files/503.http",
                                          "util"};
    ck_assert_uint_eq(s->text_count, array_len(sources));
    for (size_t i = 0; i < s->text_count; i++) {
        ck_assert_str_eq(s->texts[i].source, sources[i]);
        ck_assert_int_eq(s->texts[i].kind, (int)i);
    }
    ck_assert_int_eq(s->texts[4].priority, -5);
    ck_assert(yyjson_get_bool(yyjson_obj_get(yyjson_doc_get_root(s->extra), "debug")));
    ck_assert_uint_eq(s->test_count, 1);
    ck_assert_str_eq(s->tests[0].description, "d");
    template_set_free(s);
}

TEST(its_own_names)
{
    struct template_set *s = good_set(
        "watch:\n  r: {apiVersion: v1, kind: K, namespaces: [a, b], fieldSelector: x=y, keep: spec, drop: [status, "
        "s.t], quarantine: {q: [a, b.c]}}\n  q: {apiVersion: v1, kind: Q}\n"
        "targets: {namespace: n, labelSelector: 'app in (a,b)', port: 1, scheme: https}\nundefined: "
        "lenient\ntrim_blocks: false\n");
    const struct template_watch *w = &s->watches[0];
    ck_assert_str_eq(w->kind, "K");
    ck_assert_str_eq(w->namespaces[1], "b");
    ck_assert_ptr_null(w->namespaces[2]);
    ck_assert_str_eq(w->field_selector, "x=y");
    ck_assert_uint_eq(w->keep.count, 1);
    ck_assert_uint_eq(w->drop.count, 2);
    ck_assert(w->quarantine && !s->watches[1].quarantine);
    ck_assert_uint_eq(w->use_count, 1);
    ck_assert_str_eq(w->uses[0].resource, "q");
    ck_assert_uint_eq(w->uses[0].names.count, 2);
    ck_assert_str_eq(s->targets.namespace, "n");
    ck_assert(s->targets.https);
    ck_assert_str_eq(s->targets.label_selector, "app in (a,b)");
    ck_assert_uint_eq(s->targets.port, 1);
    ck_assert(s->lenient && !s->trim_blocks && s->keep_newline);
    template_set_free(s);
    s = good_set("{}");
    ck_assert(!s->lenient && s->trim_blocks && s->targets.port == 0 && s->extra == NULL);
    template_set_free(s);
}

TEST(files_beside_it)
{
    static const struct template_file files[] = {
        {"set.yaml", "{}", 2},       {"haproxy.cfg.j2", "h", 1},
        {"maps/a.map.j2", "m", 1},   {"certificates_b.pem.j2", "c", 1},
        {"files/c.http.j2", "f", 1}, {"snippets/d.j2", "s", 1},
        {"README.md", "\xff", 1},    {"other/x.j2", "o", 1},
        {"mapsx.j2", "o", 1},
    };
    struct template_set *s = template_set_parse(files, array_len(files), &flaw);
    ck_assert_msg(s != NULL, "%s", flaw.message);
    static const char *const sources[] = {"haproxy.cfg", "maps/a.map", "certificates/b.pem", "files/c.http", "d"};
    ck_assert_uint_eq(s->text_count, array_len(sources));
    for (size_t i = 0; i < s->text_count; i++)
        ck_assert_str_eq(s->texts[i].source, sources[i]);
    template_set_free(s);
}

static const struct {
    const char *name, *bytes;
    size_t len;
    const char *says;
} bad_files[] = {
    {"haproxy.cfg.j2", "y", 1, "haproxy.cfg.j2: set.yaml has a template of that name, too"},
    {"maps/.x.j2", "y", 1, "maps/.x.j2: \".x\" is no name of a file"},
    {"maps_a b.j2", "y", 1, "maps_a b.j2: \"a b\" is no name of a file"},
    {"maps/a_b.map.j2", "y", 1, "maps/a_b.map.j2: maps/a.b.map and maps/a_b.map are both stored as a_b.map"},
    {"snippets/x.j2", "a\0b", 3, "snippets/x.j2: a template is text in UTF-8, without NUL characters"},
    {"snippets/x.j2", "\xff", 1, "snippets/x.j2: a template is text in UTF-8"},
};

TEST_EACH(files_that_are_none, array_len(bad_files))
{
    static const char yaml[] = "haproxy.cfg: x\nmaps: {a.b.map: y}\n";
    const struct template_file files[] = {{"set.yaml", yaml, strlen(yaml)},
                                          {bad_files[_i].name, bad_files[_i].bytes, bad_files[_i].len}};
    ck_assert_ptr_null(template_set_parse(files, 2, &flaw));
    ck_assert_msg(strstr(flaw.message, bad_files[_i].says) != NULL, "%s", flaw.message);
    ck_assert_ptr_null(template_set_parse(files + 1, 1, &flaw));
    ck_assert_str_eq(flaw.message, "there is no set.yaml");
}
