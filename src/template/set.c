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
#define TARGETS_PORT 5555
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

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

static const struct set_key text_keys[] = {
    {"template", SET_TEXT, offsetof(struct template_text, text), .help = "The template."},
    {"priority", SET_INT, offsetof(struct template_text, priority), .min = INT64_MIN,
     .schema = "{\"type\": \"integer\"}",
     .help = "Order of a snippet among those that snippets() finds: the lowest comes first."},
    {"name", SET_TEXT, SET_NOWHERE, .help = "Of an older controller; without effect."},
};
const struct set_keys set_text_keys = SET_KEYS("text", "A template with further settings.", text_keys);

static int set_take_text(struct template_set *s, enum template_kind kind, const struct yaml_node *at, const char *name,
                         const struct set_pair *p, struct error *err)
{
    struct error why = {0};
    struct template_text *t = set_add(s, kind, name, &why);
    if (t == NULL)
        return set_wrong(at, err, "%s", why.message);
    if (p->value->kind == NODE_SCALAR)
        return set_read_text(p, &t->text, err);
    if (set_read_mapping(t, t->source, p->value, &set_text_keys, NULL, err) != 0)
        return -1;
    return t->text != NULL ? 0 : set_wrong(p->value, err, "%s: expected a template", t->source);
}

static int set_take_haproxy(void *of, const struct set_pair *p, struct error *err)
{
    return set_take_text(of, TEMPLATE_HAPROXY_CFG, p->value, "haproxy.cfg", p, err);
}

struct texts_of {
    struct template_set *set;
    enum template_kind kind;
};

static int set_take_one(void *arg, const struct set_pair *p, struct error *err)
{
    const struct texts_of *of = arg;
    return set_take_text(of->set, of->kind, p->at, p->key, p, err);
}

static int set_take_texts(void *of, const struct set_pair *p, struct error *err)
{
    struct texts_of texts = {of, (enum template_kind)p->row->which};
    return set_each_pair(p->key, p->value, set_take_one, &texts, err);
}

/* ---- what is watched ---- */

/* It becomes a part of a URL. words: the letters that it may have, and what was expected. */
static int watch_word(void *of, const struct set_pair *p, struct error *err)
{
    const char *const *words = p->row->words, *text = p->value->kind == NODE_SCALAR ? p->value->text : "";
    if (str_empty(text) || text[strspn(text, words[0])] != '\0')
        return set_wrong(p->value, err, "%s: expected %s", p->key, words[1]);
    return set_read_text(p, (char **)((char *)of + p->row->at), err);
}

static int watch_api(void *of, const struct set_pair *p, struct error *err)
{
    const struct template_watch *w = of;
    if (watch_word(of, p, err) != 0)
        return -1;
    const char *slash = strchr(w->api_version, '/');
    bool good = slash == NULL || (slash != w->api_version && slash[1] != '\0' && strchr(slash + 1, '/') == NULL);
    return good && w->api_version[0] != '.' ? 0 : set_wrong(p->value, err, "%s: expected %s", p->key, p->row->words[1]);
}

static int watch_namespaces(void *of, const struct set_pair *p, struct error *err)
{
    struct template_watch *w = of;
    if (set_read_texts(p, &w->namespaces, NULL, err) != 0)
        return -1;
    for (char *const *name = w->namespaces; name != NULL && *name != NULL; name++)
        if (**name == '\0' || (*name)[strspn(*name, LETTERS DIGITS "-")] != '\0')
            return set_wrong(p->value, err, "%s: \"%s\" can be no namespace", p->key, *name);
    return 0;
}

static int watch_use(void *arg, const struct set_pair *p, struct error *err)
{
    struct template_watch *w = arg;
    w->uses = mem_resize(w->uses, w->use_count + 1, sizeof(w->uses[0]));
    struct template_use *use = &w->uses[w->use_count++];
    *use = (struct template_use){.resource = mem_strdup(p->key)};
    return set_read_texts(p, NULL, &use->names, err);
}

static int watch_quarantine(void *of, const struct set_pair *p, struct error *err)
{
    struct template_watch *w = of;
    w->quarantine = true;
    return set_each_pair(p->key, p->value, watch_use, w, err);
}

static int watch_budget(void *of, const struct set_pair *p, struct error *err)
{
    int64_t bytes = 0;
    int rc = set_read_int(p, 1, INT32_MAX, &bytes, err);
    ((struct template_watch *)of)->namespace_bytes = (size_t)bytes;
    return rc;
}

#define WATCH(member) offsetof(struct template_watch, member)

static const struct set_key watch_keys[] = {
    {"apiVersion", SET_TEXT, WATCH(api_version), .alias = "api_version", .read = watch_api,
     .help = "Group and version: networking.k8s.io/v1, or v1.",
     .words = {LETTERS DIGITS ".-/", "a version like v1, or a group with one like networking.k8s.io/v1"}},
    {"kind", SET_TEXT, WATCH(kind), .read = watch_word, .help = "Ingress.",
     .words = {LETTERS DIGITS, "a kind like Ingress"}},
    {"resources", SET_TEXT, WATCH(plural), .read = watch_word,
     .help = "The kind's plural as the API has it, ingresses: instead of kind.",
     .words = {LETTERS DIGITS "-", "a kind's plural like ingresses"}},
    {"namespaces", SET_NAMES, WATCH(namespaces), .alias = "namespace", .read = watch_namespaces,
     .help = "Only these; default: all."},
    {"labelSelector", SET_SELECTOR, WATCH(label_selector), .alias = "label_selector",
     .help = "Only objects with these labels."},
    {"fieldSelector", SET_SELECTOR, WATCH(field_selector), .alias = "field_selector",
     .help = "Only objects with these fields."},
    {"index_by", SET_PATHS, WATCH(index_by),
     .help = "Paths of the keys that Fetch finds by, in the order of its arguments."},
    {"keep", SET_PATHS, WATCH(keep),
     .help = "Paths of the fields that are kept, besides what identifies an object; default: all."},
    {"drop", SET_PATHS, WATCH(drop), .help = "Paths of fields that are not kept."},
    {"quarantine", .read = watch_quarantine,
     .help =
         "An object that HAProxy refuses a configuration for is left out until it changes, or one that it names in its "
         "namespace: by a resource of the set, the paths of their names.",
     .schema = "{\"type\": \"object\", \"additionalProperties\": " SCHEMA_TEXTS "}"},
    {"namespace_bytes", .read = watch_budget,
     .help = "What the objects of one namespace may take, as they are kept: of one that has more the youngest are left "
             "out.",
     .schema = "{\"type\": \"integer\", \"minimum\": 1}"},
    /* The older controller's: what it kept in memory. Here all is, in fewer bytes. */
    {"store", SET_CHOICE, SET_NOWHERE, .help = "Of an older controller; without effect.",
     .words = {"full", "on-demand"}, .schema = "{\"enum\": [\"full\", \"on-demand\"]}"},
};
const struct set_keys set_watch_keys = SET_KEYS("watch", "A resource whose objects templates see.", watch_keys);

static int set_take_watch(void *arg, const struct set_pair *p, struct error *err)
{
    struct template_set *s = arg;
    if (strspn(p->key, LETTERS DIGITS "_-") != strlen(p->key) || strspn(p->key, DIGITS "-") > 0)
        return set_wrong(p->at, err,
                         "watch: \"%s\" is no name for templates: letters, digits, _ and -, the first a letter or _",
                         p->key);
    s->watches = mem_resize(s->watches, s->watch_count + 1, sizeof(s->watches[0]));
    struct template_watch *w = &s->watches[s->watch_count++];
    *w = (struct template_watch){.name = mem_strdup(p->key), .line = p->at->line};
    cleanup(mem_free_ptr) char *what = mem_printf("watch.%s", w->name);
    if (set_read_mapping(w, what, p->value, &set_watch_keys, NULL, err) != 0)
        return -1;
    if (w->api_version == NULL || (w->kind == NULL && w->plural == NULL))
        return set_wrong(p->at, err, "%s: expected apiVersion and kind", what);
    return 0;
}

static int set_take_watches(void *of, const struct set_pair *p, struct error *err)
{
    const struct template_set *s = of;
    if (set_each_pair(p->key, p->value, set_take_watch, of, err) != 0)
        return -1;
    for (const struct template_watch *w = s->watches; w < s->watches + s->watch_count; w++)
        for (size_t i = 0; i < w->use_count; i++)
            if (template_set_find_watch(s, w->uses[i].resource) == NULL)
                return error_set(err, ERROR_INVALID, TEMPLATE_SET_FILE ":%zu: watch.%s.quarantine: %s is not watched",
                                 w->line, w->name, w->uses[i].resource);
    return 0;
}

/* What no watch keeps. */
static int set_take_ignored(void *of, const struct set_pair *p, struct error *err)
{
    const struct template_set *s = of;
    struct template_paths checked = {0}; /* where there are no watches, too */
    if (p->value->kind == NODE_MAPPING)
        return set_wrong(p->value, err, "%s: expected a list of paths", p->key);
    int rc = set_read_texts(p, NULL, &checked, err);
    for (size_t i = 0; rc == 0 && i < s->watch_count; i++)
        rc = set_read_texts(p, NULL, &s->watches[i].drop, err);
    set_free_paths(&checked);
    return rc;
}

/* ---- values of its own ---- */

static int set_check_extra(void *key, const struct set_pair *p, struct error *err)
{
    if (str_eq(p->key, "resources") || str_eq(p->key, "extra"))
        return set_wrong(p->at, err, "%s: templates call something else %s", (const char *)key, p->key);
    return 0;
}

static int set_take_extra(void *of, const struct set_pair *p, struct error *err)
{
    struct template_set *s = of;
    if (s->extra != NULL)
        return set_wrong(p->value, err, "%s: there are such values already", p->key);
    if (set_each_pair(p->key, p->value, set_check_extra, (char *)(uintptr_t)p->key, err) != 0)
        return -1;
    return set_read_json(p, &s->extra, err);
}

static const struct set_key settings_keys[] = {
    {"extra_context", SET_JSON, SET_NOWHERE, .read = set_take_extra, .help = "As `extra`."},
};
const struct set_keys set_settings_keys = SET_KEYS("settings", "Of an older controller.", settings_keys);

static int set_take_settings(void *of, const struct set_pair *p, struct error *err)
{
    return set_read_mapping(of, p->key, p->value, &set_settings_keys, NULL, err);
}

/* ---- where it goes to ---- */

static int targets_port(void *of, const struct set_pair *p, struct error *err)
{
    int64_t port = 0;
    int rc = set_read_int(p, 1, UINT16_MAX, &port, err);
    ((struct template_targets *)of)->port = (uint16_t)port;
    return rc;
}

#define TARGETS(member) offsetof(struct template_targets, member)

static const struct set_key target_keys[] = {
    {"namespace", SET_TEXT, TARGETS(namespace),
     .help = "Of the pods; default: that of the template set, or of the daemon."},
    {"labelSelector", SET_SELECTOR, TARGETS(label_selector), .alias = "label_selector", .help = "Of the pods."},
    {"port", .read = targets_port, .help = "Of each pod's Data Plane API; default: 5555.",
     .schema = "{\"type\": \"integer\", \"minimum\": 1, \"maximum\": 65535}"},
    {"scheme", SET_CHOICE, TARGETS(https), .help = "Of each pod's Data Plane API; default: http.",
     .words = {"http", "https"}, .which = 1, .schema = "{\"enum\": [\"http\", \"https\"]}"},
};
const struct set_keys set_target_keys = SET_KEYS(
    "targets", "Pods of HAProxy, each with a Data Plane API; otherwise the HAProxies of the settings.", target_keys);

static int set_take_targets(void *of, const struct set_pair *p, struct error *err)
{
    struct template_set *s = of;
    s->targets.port = TARGETS_PORT;
    if (set_read_mapping(&s->targets, p->key, p->value, &set_target_keys, NULL, err) != 0)
        return -1;
    return !str_empty(s->targets.label_selector) ? 0 : set_wrong(p->value, err, "%s: expected a labelSelector", p->key);
}

static int set_take_pod_selector(void *of, const struct set_pair *p, struct error *err)
{
    struct template_set *s = of;
    if (s->targets.port != 0)
        return set_wrong(p->value, err, "%s: there are targets already", p->key);
    s->targets.port = TARGETS_PORT;
    return set_read_selector(p, &s->targets.label_selector, err);
}

/* ---- all of it ---- */

#define SCHEMA_TEMPLATE "{\"$ref\": \"#/$defs/template\"}"

static const struct set_key root_keys[] = {
    {"watch", .alias = "watched_resources", .read = set_take_watches,
     .help = "Watched resources, by the names that templates use.", .schema = SCHEMA_EACH("watch")},
    {"watched_resources_ignore_fields", .read = set_take_ignored, .help = "Paths of fields that no watch keeps.",
     .schema = SCHEMA_TEXTS, .late = true},
    {"haproxy.cfg", .alias = "haproxy_config", .read = set_take_haproxy,
     .help = "The template of haproxy.cfg, unless it is in haproxy.cfg.j2.", .schema = SCHEMA_TEMPLATE},
    {"maps", .read = set_take_texts, .help = "Templates of maps, by their names; also maps/NAME.j2.",
     .which = TEMPLATE_MAP, .schema = SCHEMA_EACH("template")},
    {"certificates", .alias = "ssl_certificates", .read = set_take_texts,
     .help = "Templates of certificates with their keys; also certificates/NAME.j2.", .which = TEMPLATE_CERTIFICATE,
     .schema = SCHEMA_EACH("template")},
    {"files", .read = set_take_texts, .help = "Templates of other files; also files/NAME.j2.", .which = TEMPLATE_FILE,
     .schema = SCHEMA_EACH("template")},
    {"snippets", .alias = "template_snippets", .read = set_take_texts,
     .help = "Templates that others include or import; also snippets/NAME.j2.", .which = TEMPLATE_SNIPPET,
     .schema = SCHEMA_EACH("template")},
    {"extra", SET_JSON, offsetof(struct template_set, extra), .alias = "extra_context", .read = set_take_extra,
     .help = "Values that templates have as variables of these names, and as `extra`."},
    {"templating_settings", .read = set_take_settings, .help = "Of an older controller.",
     .schema = "{\"$ref\": \"#/$defs/settings\"}"},
    {"undefined", SET_CHOICE, offsetof(struct template_set, lenient),
     .help = "strict: an undefined value is an error (default); lenient: it is empty.", .words = {"strict", "lenient"},
     .which = 1, .schema = "{\"enum\": [\"strict\", \"lenient\"]}"},
    {"trim_blocks", SET_CHOICE, offsetof(struct template_set, trim_blocks),
     .help = "Whether a line with only a block leaves no line; default: true.", .words = {"true", "false"},
     .schema = "{\"type\": \"boolean\"}"},
    {"targets", .read = set_take_targets, .help = "Where the configuration is applied.",
     .schema = "{\"$ref\": \"#/$defs/targets\"}"},
    {"pod_selector", .read = set_take_pod_selector, .help = "Of an older controller: as targets.labelSelector.",
     .schema = "{\"$ref\": \"#/$defs/selector\"}"},
    {"tests", .alias = "validation_tests", .read = set_read_tests, .help = "What `template test` tries.",
     .schema = "{\"$ref\": \"#/$defs/tests\"}", .late = true},
};
const struct set_keys set_root_keys =
    SET_KEYS("set", "A template set of haproxy-k8s-sync: docs/templates.md.", root_keys);

/* ---- files in the same place ---- */

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
    if (set_read_mapping(s, "a template set", tree.root, &set_root_keys, NULL, err) != 0)
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

struct template_set *template_set_ref(struct template_set *s)
{
    s->references++;
    return s;
}

void template_set_free(struct template_set *s)
{
    if (s == NULL || s->references-- > 0)
        return;
    for (size_t i = 0; i < s->watch_count; i++) {
        struct template_watch *w = &s->watches[i];
        set_keys_fini(w, &set_watch_keys);
        for (size_t k = 0; k < w->use_count; k++) {
            free(w->uses[k].resource);
            set_free_paths(&w->uses[k].names);
        }
        mem_free_all(w->uses, w->name);
    }
    for (size_t i = 0; i < s->text_count; i++) {
        set_keys_fini(&s->texts[i], &set_text_keys);
        mem_free_all(s->texts[i].name, s->texts[i].source);
    }
    for (size_t i = 0; i < s->test_count; i++)
        set_test_fini(&s->tests[i]);
    mem_free_all(s->watches, s->texts, s->tests);
    set_keys_fini(&s->targets, &set_target_keys);
    set_keys_fini(s, &set_root_keys);
    yyjson_doc_free(s->global_fixtures);
    free(s);
}
