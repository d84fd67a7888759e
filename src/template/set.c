#include "template/set.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/storage_files.h"
#include "json/yaml_tree.h"
#include "template/set_keys.h"

#define SUFFIX ".j2"

const char *template_kind_folder(enum template_kind kind)
{
    static const char *const folders[TEMPLATE_KINDS] = {"", "maps", "certificates", "files", "snippets"};
    return folders[kind];
}

/* ---- templates ---- */

static const struct template_text *set_find(const struct template_set *s, enum template_kind kind, const char *name)
{
    for (size_t i = 0; i < s->text_count; i++)
        if (s->texts[i].kind == kind && str_eq(s->texts[i].name, name))
            return &s->texts[i];
    return NULL;
}

/* A map, a certificate or another file is stored by that name; a snippet is only named by templates. */
static int set_check_name(enum template_kind kind, const char *name, struct error *err)
{
    if (kind == TEMPLATE_HAPROXY_CFG)
        return 0;
    if (kind == TEMPLATE_SNIPPET)
        return !str_has_control(name)
                   ? 0
                   : error_set(err, ERROR_INVALID, "the name of a snippet has no control characters");
    if (name[0] == '\0' || name[0] == '.' || name[strspn(name, STORAGE_NAME_ALPHABET)] != '\0' ||
        strlen(name) > STORAGE_NAME_MAX_BYTES)
        return error_set(err, ERROR_INVALID,
                         "\"%s\" is no name of a file: letters, digits, -, _ and ., the first no ., at most %d "
                         "bytes",
                         name, STORAGE_NAME_MAX_BYTES);
    return 0;
}

/* Two templates of one name for include, two files of one name in the place where they are stored. */
static int set_check_alone(const struct template_set *s, const struct template_text *t, struct error *err)
{
    static const enum storage_kind places[TEMPLATE_KINDS] = {
        [TEMPLATE_MAP] = STORAGE_MAP, [TEMPLATE_CERTIFICATE] = STORAGE_CERTIFICATE, [TEMPLATE_FILE] = STORAGE_GENERAL};
    for (const struct template_text *other = s->texts; other < s->texts + s->text_count; other++) {
        if (other == t)
            continue;
        if (str_eq(other->source, t->source))
            return error_set(err, ERROR_INVALID, "there are two templates %s", t->source);
        if (other->kind != t->kind || t->kind == TEMPLATE_HAPROXY_CFG || t->kind == TEMPLATE_SNIPPET)
            continue;
        cleanup(mem_free_ptr) char *a = storage_stored_name(places[t->kind], other->name);
        cleanup(mem_free_ptr) char *b = storage_stored_name(places[t->kind], t->name);
        if (str_eq(a, b))
            return error_set(err, ERROR_INVALID, "%s and %s are both stored as %s", other->source, t->source, a);
    }
    return 0;
}

/* NULL: it can be none. */
static struct template_text *set_add(struct template_set *s, enum template_kind kind, const char *name,
                                     struct error *err)
{
    if (set_check_name(kind, name, err) != 0)
        return NULL;
    s->texts = mem_resize(s->texts, s->text_count + 1, sizeof(s->texts[0]));
    struct template_text *t = &s->texts[s->text_count++];
    bool plain = kind == TEMPLATE_HAPROXY_CFG || kind == TEMPLATE_SNIPPET;
    *t = (struct template_text){.kind = kind,
                                .name = mem_strdup(name),
                                .source =
                                    plain ? mem_strdup(name) : mem_printf("%s/%s", template_kind_folder(kind), name)};
    return set_check_alone(s, t, err) == 0 ? t : NULL;
}

static int text_template(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_read_text(key, value, &((struct template_text *)of)->text, err);
}

static int text_priority(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_read_int(key, value, INT64_MIN, INT64_MAX, &((struct template_text *)of)->priority, err);
}

/* The older controller named its snippets twice. */
static int text_name(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    cleanup(mem_free_ptr) char *ignored = NULL;
    (void)of;
    return set_read_text(key, value, &ignored, err);
}

static const struct set_key text_keys[] = {
    {"template", text_template, SCHEMA_TEXT, "The template."},
    {"priority", text_priority, "{\"type\": \"integer\"}",
     "Order of a snippet among those that snippets() finds: the lowest comes first."},
    {"name", text_name, SCHEMA_TEXT, "Of an older controller; without effect."},
};
const struct set_keys set_text_keys = SET_KEYS("text", "A template with further settings.", text_keys);

static int set_take_text(struct template_set *s, enum template_kind kind, const struct yaml_node *at, const char *name,
                         const struct yaml_node *value, struct error *err)
{
    struct error why = {0};
    struct template_text *t = set_add(s, kind, name, &why);
    if (t == NULL)
        return set_wrong(at, err, "%s", why.message);
    if (value->kind == NODE_SCALAR)
        return set_read_text(name, value, &t->text, err);
    if (set_read_mapping(t, t->source, value, &set_text_keys, err) != 0)
        return -1;
    return t->text != NULL ? 0 : set_wrong(value, err, "%s: expected a template", t->source);
}

static int set_take_haproxy(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    (void)key;
    return set_take_text(of, TEMPLATE_HAPROXY_CFG, value, "haproxy.cfg", value, err);
}

struct texts_of {
    struct template_set *set;
    enum template_kind kind;
};

static int set_take_one(void *arg, const struct yaml_node *key, const struct yaml_node *value, struct error *err)
{
    const struct texts_of *of = arg;
    return set_take_text(of->set, of->kind, key, key->text, value, err);
}

static int set_take_maps(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_each_pair(key, value, set_take_one, &(struct texts_of){of, TEMPLATE_MAP}, err);
}

static int set_take_certificates(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_each_pair(key, value, set_take_one, &(struct texts_of){of, TEMPLATE_CERTIFICATE}, err);
}

static int set_take_files(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_each_pair(key, value, set_take_one, &(struct texts_of){of, TEMPLATE_FILE}, err);
}

static int set_take_snippets(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_each_pair(key, value, set_take_one, &(struct texts_of){of, TEMPLATE_SNIPPET}, err);
}

/* ---- values of its own ---- */

static int set_check_extra(void *arg, const struct yaml_node *key, const struct yaml_node *value, struct error *err)
{
    (void)value;
    if (str_eq(key->text, "resources") || str_eq(key->text, "extra"))
        return set_wrong(key, err, "%s: templates call something else %s", (const char *)arg, key->text);
    return 0;
}

static int set_take_extra(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct template_set *s = of;
    if (s->extra != NULL)
        return set_wrong(value, err, "%s: there are such values already", key);
    if (set_each_pair(key, value, set_check_extra, (char *)(uintptr_t)key, err) != 0)
        return -1;
    return set_read_json(key, value, &s->extra, err);
}

#define SCHEMA_OBJECT "{\"type\": \"object\"}"

static const struct set_key settings_keys[] = {
    {"extra_context", set_take_extra, SCHEMA_OBJECT, "As `extra`."},
};
const struct set_keys set_settings_keys = SET_KEYS("settings", "Of an older controller.", settings_keys);

static int set_take_settings(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_read_mapping(of, key, value, &set_settings_keys, err);
}

/* ---- where it goes to ---- */

static int targets_namespace(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_read_text(key, value, &((struct template_targets *)of)->namespace, err);
}

static int targets_labels(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_read_selector(key, value, &((struct template_targets *)of)->label_selector, err);
}

static int targets_port(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    int64_t port;
    if (set_read_int(key, value, 1, UINT16_MAX, &port, err) != 0)
        return -1;
    ((struct template_targets *)of)->port = (uint16_t)port;
    return 0;
}

static int targets_scheme(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    cleanup(mem_free_ptr) char *scheme = NULL;
    if (set_read_text(key, value, &scheme, err) != 0)
        return -1;
    ((struct template_targets *)of)->https = str_eq(scheme, "https");
    if (str_eq(scheme, "https") || str_eq(scheme, "http"))
        return 0;
    return set_wrong(value, err, "%s: expected http or https", key);
}

static const struct set_key target_keys[] = {
    {"namespace", targets_namespace, SCHEMA_TEXT, "Of the pods; default: that of the template set, or of the daemon."},
    {"labelSelector", targets_labels, SCHEMA_SELECTOR, "Of the pods."},
    {"label_selector", targets_labels, SCHEMA_SELECTOR, NULL},
    {"port", targets_port, "{\"type\": \"integer\", \"minimum\": 1, \"maximum\": 65535}",
     "Of each pod's Data Plane API; default: 5555."},
    {"scheme", targets_scheme, "{\"enum\": [\"http\", \"https\"]}", "Of each pod's Data Plane API; default: http."},
};
const struct set_keys set_target_keys = SET_KEYS(
    "targets", "Pods of HAProxy, each with a Data Plane API; otherwise the HAProxies of the settings.", target_keys);

#define TARGETS_PORT 5555

static int set_take_targets(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct template_set *s = of;
    s->targets.port = TARGETS_PORT;
    if (set_read_mapping(&s->targets, key, value, &set_target_keys, err) != 0)
        return -1;
    return !str_empty(s->targets.label_selector) ? 0 : set_wrong(value, err, "%s: expected a labelSelector", key);
}

static int set_take_pod_selector(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct template_set *s = of;
    if (s->targets.port != 0)
        return set_wrong(value, err, "%s: there are targets already", key);
    s->targets.port = TARGETS_PORT;
    return set_read_selector(key, value, &s->targets.label_selector, err);
}

/* ---- the rest ---- */

/* What needs to know all watches is read at the end. */
static int set_later_tests(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    (void)of;
    return value->kind != NODE_SCALAR ? 0 : set_wrong(value, err, "%s: expected tests", key);
}

static int set_later_ignored(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    (void)of;
    return value->kind != NODE_MAPPING ? 0 : set_wrong(value, err, "%s: expected a list of paths", key);
}

static int set_take_undefined(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    struct template_set *s = of;
    s->lenient = value->kind == NODE_SCALAR && str_eq(value->text, "lenient");
    if (s->lenient || (value->kind == NODE_SCALAR && str_eq(value->text, "strict")))
        return 0;
    return set_wrong(value, err, "%s: expected strict or lenient", key);
}

static int set_take_trim(void *of, const char *key, const struct yaml_node *value, struct error *err)
{
    return set_read_bool(key, value, &((struct template_set *)of)->trim_blocks, err);
}

#define SCHEMA_TEMPLATE "{\"$ref\": \"#/$defs/template\"}"

static const struct set_key root_keys[] = {
    {"watch", set_read_watches, SCHEMA_EACH("watch"), "Watched resources, by the names that templates use."},
    {"watched_resources", set_read_watches, SCHEMA_EACH("watch"), NULL},
    {"watched_resources_ignore_fields", set_later_ignored, SCHEMA_TEXTS, "Paths of fields that no watch keeps."},
    {"haproxy.cfg", set_take_haproxy, SCHEMA_TEMPLATE, "The template of haproxy.cfg, unless it is in haproxy.cfg.j2."},
    {"haproxy_config", set_take_haproxy, SCHEMA_TEMPLATE, NULL},
    {"maps", set_take_maps, SCHEMA_EACH("template"), "Templates of maps, by their names; also maps/NAME.j2."},
    {"certificates", set_take_certificates, SCHEMA_EACH("template"),
     "Templates of certificates with their keys; also certificates/NAME.j2."},
    {"ssl_certificates", set_take_certificates, SCHEMA_EACH("template"), NULL},
    {"files", set_take_files, SCHEMA_EACH("template"), "Templates of other files; also files/NAME.j2."},
    {"snippets", set_take_snippets, SCHEMA_EACH("template"),
     "Templates that others include or import; also snippets/NAME.j2."},
    {"template_snippets", set_take_snippets, SCHEMA_EACH("template"), NULL},
    {"extra", set_take_extra, SCHEMA_OBJECT, "Values that templates have as variables of these names, and as `extra`."},
    {"extra_context", set_take_extra, SCHEMA_OBJECT, NULL},
    {"templating_settings", set_take_settings, "{\"$ref\": \"#/$defs/settings\"}", "Of an older controller."},
    {"undefined", set_take_undefined, "{\"enum\": [\"strict\", \"lenient\"]}",
     "strict: an undefined value is an error (default); lenient: it is empty."},
    {"trim_blocks", set_take_trim, SCHEMA_BOOL, "Whether a line with only a block leaves no line; default: true."},
    {"targets", set_take_targets, "{\"$ref\": \"#/$defs/targets\"}", "Where the configuration is applied."},
    {"pod_selector", set_take_pod_selector, SCHEMA_SELECTOR, "Of an older controller: as targets.labelSelector."},
    {"tests", set_later_tests, "{\"$ref\": \"#/$defs/tests\"}", "What `template test` tries."},
    {"validation_tests", set_later_tests, "{\"$ref\": \"#/$defs/tests\"}", NULL},
};
const struct set_keys set_root_keys =
    SET_KEYS("set", "A template set of haproxy-k8s-sync: docs/templates.md.", root_keys);

/* ---- files beside it ---- */

/* Which template a file is: true, and *ret_name begins in its name. */
static bool set_is_template(const char *file, enum template_kind *ret, const char **ret_name)
{
    if (str_eq(file, "haproxy.cfg" SUFFIX)) {
        *ret = TEMPLATE_HAPROXY_CFG;
        *ret_name = file;
        return true;
    }
    for (unsigned kind = TEMPLATE_MAP; kind < TEMPLATE_KINDS; kind++) {
        const char *folder = template_kind_folder(kind);
        size_t len = strlen(folder);
        if (str_has_prefix(file, folder) && (file[len] == '/' || file[len] == '_')) {
            *ret = kind;
            *ret_name = file + len + 1;
            return true;
        }
    }
    return false;
}

static int set_read_file(struct template_set *s, const struct template_file *f, struct error *err)
{
    enum template_kind kind;
    const char *name;
    if (!str_has_suffix(f->name, SUFFIX) || !set_is_template(f->name, &kind, &name))
        return 0; /* a README, fixtures, ... */
    cleanup(mem_free_ptr) char *own = mem_strndup(name, strlen(name) - strlen(SUFFIX));
    if (set_find(s, kind, own) != NULL)
        return error_set(err, ERROR_INVALID, "%s: " TEMPLATE_SET_FILE " has a template of that name, too", f->name);
    if (memchr(f->bytes, '\0', f->len) != NULL || text_utf8_len(f->bytes, f->len) != f->len)
        return error_set(err, ERROR_INVALID, "%s: a template is text in UTF-8, without NUL characters", f->name);
    struct template_text *t = set_add(s, kind, own, err);
    if (t == NULL)
        return error_prefix(err, "%s", f->name);
    t->text = mem_strndup(f->bytes, f->len);
    return 0;
}

static int set_compare(const void *a, const void *b)
{
    const struct template_text *x = a, *y = b;
    return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind) : strcmp(x->name, y->name);
}

/* By any of its names. */
static int set_read_late(struct template_set *s, const struct yaml_node *root, const char *const names[2],
                         int (*read)(struct template_set *s, const char *key, const struct yaml_node *value,
                                     struct error *err),
                         struct error *err)
{
    size_t twice;
    for (size_t i = 0; i < 2 && names[i] != NULL; i++) {
        const struct yaml_node *value = yaml_node_get(root, names[i], &twice);
        if (value != NULL && read(s, names[i], value, err) != 0)
            return -1;
    }
    return 0;
}

static int set_read_rest(struct template_set *s, const struct yaml_node *root, struct error *err)
{
    static const char *const ignored[] = {"watched_resources_ignore_fields", NULL}, *const tests[] = {
                                                                                        "tests", "validation_tests"};
    if (set_check_uses(s, err) != 0 || set_read_late(s, root, ignored, set_read_ignored, err) != 0)
        return -1;
    return set_read_late(s, root, tests, set_read_tests, err);
}

static int set_fill(struct template_set *s, const struct template_file *files, size_t count, struct error *err)
{
    const struct template_file *main = NULL;
    for (size_t i = 0; i < count; i++)
        if (str_eq(files[i].name, TEMPLATE_SET_FILE))
            main = &files[i];
    if (main == NULL)
        return error_set(err, ERROR_INVALID, "there is no " TEMPLATE_SET_FILE);
    cleanup(yaml_tree_fini) struct yaml_tree tree = {0};
    if (yaml_tree_parse(main->bytes, main->len, &tree, err) != 0) {
        /* "line 7: ..." becomes "set.yaml:7: ...". */
        char *end = err->message;
        unsigned long line =
            str_has_prefix(err->message, "line ") ? strtoul(err->message + strlen("line "), &end, 10) : 0;
        cleanup(mem_free_ptr) char *text = mem_strdup(*end == ':' ? end + strspn(end, ": ") : err->message);
        return *end == ':' ? error_set(err, ERROR_INVALID, TEMPLATE_SET_FILE ":%lu: %s", line, text)
                           : error_set(err, ERROR_INVALID, TEMPLATE_SET_FILE ": %s", text);
    }
    if (tree.root == NULL)
        return error_set(err, ERROR_INVALID, TEMPLATE_SET_FILE " is empty");
    if (set_read_mapping(s, "a template set", tree.root, &set_root_keys, err) != 0 ||
        set_read_rest(s, tree.root, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (set_read_file(s, &files[i], err) != 0)
            return -1;
    if (set_find(s, TEMPLATE_HAPROXY_CFG, "haproxy.cfg") == NULL)
        return error_set(err, ERROR_INVALID,
                         "there is no template of haproxy.cfg: give " TEMPLATE_SET_FILE
                         " a key haproxy.cfg, or put a file haproxy.cfg" SUFFIX " beside it");
    qsort(s->texts, s->text_count, sizeof(s->texts[0]), set_compare);
    return 0;
}

struct template_set *template_set_parse(const struct template_file *files, size_t count, struct error *err)
{
    struct template_set *s = mem_alloc(sizeof(*s));
    s->trim_blocks = true;
    s->keep_newline = true;
    if (set_fill(s, files, count, err) == 0)
        return s;
    template_set_free(s);
    return NULL;
}

/* ---- its end ---- */

void template_set_free(struct template_set *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->watch_count; i++)
        set_watch_fini(&s->watches[i]);
    for (size_t i = 0; i < s->text_count; i++) {
        free(s->texts[i].name);
        free(s->texts[i].source);
        free(s->texts[i].text);
    }
    for (size_t i = 0; i < s->test_count; i++)
        set_test_fini(&s->tests[i]);
    free(s->watches);
    free(s->texts);
    free(s->tests);
    free(s->targets.namespace);
    free(s->targets.label_selector);
    yyjson_doc_free(s->extra);
    yyjson_doc_free(s->global_fixtures);
    free(s);
}
