/*
 * The mappings of a set.yaml: each key is a row, which reads its value and says what the JSON Schema says of it. Only
 * template/set and what it is made of include this.
 */
#ifndef TEMPLATE_SET_KEYS_H
#define TEMPLATE_SET_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "json/yaml_tree.h"
#include "template/set.h"

struct yyjson_doc;

struct set_key {
    const char *name;
    /* key: as it was written, for messages. */
    int (*read)(void *of, const char *key, const struct yaml_node *value, struct error *err);
    const char *schema; /* JSON */
    const char *help;   /* a sentence; NULL: another name of the key that has the same `read` */
};

struct set_keys {
    const char *name; /* in the JSON Schema's $defs */
    const char *help;
    const struct set_key *list;
    size_t count;
};

#define SET_KEYS(name_, help_, list_)                                                \
    {                                                                                \
        .name = (name_), .help = (help_), .list = (list_), .count = array_len(list_) \
    }

/* What rows have as `schema`. */
#define SCHEMA_TEXT "{\"type\": \"string\"}"
#define SCHEMA_BOOL "{\"type\": \"boolean\"}"
#define SCHEMA_TEXTS "{\"$ref\": \"#/$defs/texts\"}"
#define SCHEMA_SELECTOR "{\"$ref\": \"#/$defs/selector\"}"
#define SCHEMA_EACH(of) "{\"type\": \"object\", \"additionalProperties\": {\"$ref\": \"#/$defs/" of "\"}}"

/* "set.yaml:12: ..."; -1. */
int set_wrong(const struct yaml_node *at, struct error *err, const char *fmt, ...) printf_like(3, 4);

/* Each key by its row, none twice, also by another name. what: how messages call the mapping. */
int set_read_mapping(void *of, const char *what, const struct yaml_node *mapping, const struct set_keys *keys,
                     struct error *err) must_check;
/* fn for each pair. key: has to be a text, and no two are the same. */
int set_each_pair(const char *what, const struct yaml_node *mapping,
                  int (*fn)(void *arg, const struct yaml_node *key, const struct yaml_node *value, struct error *err),
                  void *arg, struct error *err) must_check;
/* A name that is none of the known: "; did you mean a, b?", or "; there are a, b, c"; to be freed. */
char *set_known(const char *name, const char *const *known, size_t count) must_check;

int set_read_text(const char *key, const struct yaml_node *value, char **ret, struct error *err) must_check;
int set_read_bool(const char *key, const struct yaml_node *value, bool *ret, struct error *err) must_check;
int set_read_int(const char *key, const struct yaml_node *value, int64_t min, int64_t max, int64_t *ret,
                 struct error *err) must_check;
/* fn for a text, or for each of a list of them; what it finds wrong gets the place. */
int set_each_text(const char *key, const struct yaml_node *value,
                  int (*fn)(void *arg, const char *text, struct error *err), void *arg, struct error *err) must_check;
/* For set_each_text; arg: a list that ends with NULL (NULL: empty), a struct template_paths. */
int set_add_name(void *arg, const char *text, struct error *err) must_check;
int set_add_path(void *arg, const char *text, struct error *err) must_check;
void set_free_names(char **list); /* NULL is allowed */
void set_free_paths(struct template_paths *p);
/* "a=b,c=d" as it is, or a mapping of them, also below match_labels or matchLabels. */
int set_read_selector(const char *key, const struct yaml_node *value, char **ret, struct error *err) must_check;
int set_read_json(const char *key, const struct yaml_node *value, struct yyjson_doc **ret,
                  struct error *err) must_check;

/* ---- parts of a set: template/set_watch, template/set_tests */

int set_read_watches(void *set, const char *key, const struct yaml_node *value, struct error *err) must_check;
/* Of all watches that were read: what none of them keeps. */
int set_read_ignored(struct template_set *s, const char *key, const struct yaml_node *value,
                     struct error *err) must_check;
int set_check_uses(const struct template_set *s, struct error *err) must_check;
void set_watch_fini(struct template_watch *w);
/* Once the watches are read, which fixtures are of. */
int set_read_tests(struct template_set *s, const char *key, const struct yaml_node *value,
                   struct error *err) must_check;
void set_test_fini(struct template_test *t);

/* All kinds of mappings, for the JSON Schema; the first is the whole set. */
extern const struct set_keys set_root_keys, set_text_keys, set_target_keys, set_settings_keys, set_watch_keys,
    set_test_keys, set_assertion_keys;

#endif
