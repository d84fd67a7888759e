/*
 * The mappings of a set.yaml: each key is a row, which says how its value is read, which member it becomes, and what the
 * JSON Schema says of it. Only template/set and what it is made of include this.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "json/yaml_tree.h"
#include "template/set.h"

struct set_key;

/* A pair of a mapping. */
struct set_pair {
    const struct yaml_node *at; /* the key */
    const char *key;            /* as it was written, for messages */
    const struct yaml_node *value;
    const struct set_key *row; /* NULL: the mapping has any keys */
};

typedef int set_read_fn(void *of, const struct set_pair *p, struct error *err);

/* What a member is, for reading and freeing it. */
enum set_value {
    SET_OWN,      /* `read` alone knows */
    SET_TEXT,     /* char * */
    SET_SELECTOR, /* char *: "a=b,c=d" as it is, or a mapping of them, also below match_labels or matchLabels */
    SET_CHOICE,   /* bool: whether it is the word `which` of the two `words` */
    SET_INT,      /* int64_t from `min` on */
    SET_NAMES,    /* char **, ends with NULL: a text or a list of them */
    SET_PATHS,    /* struct template_paths: likewise */
    SET_JSON,     /* yyjson_doc * */
};

#define SET_NOWHERE SIZE_MAX

struct set_key {
    const char *name;
    enum set_value value;
    size_t at;            /* of the member; SET_NOWHERE: it is read and forgotten */
    const char *alias;    /* of the older controller; NULL: none */
    set_read_fn *read;    /* NULL: as `value` is read */
    const char *schema;   /* JSON; NULL: that of `value` */
    const char *help;     /* a sentence */
    const char *words[2]; /* of a CHOICE; otherwise as `read` takes them, as `which` */
    unsigned which;
    int64_t min; /* of an INT */
    bool late;   /* it is read once all others are */
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
#define SCHEMA_TEXTS "{\"$ref\": \"#/$defs/texts\"}"
#define SCHEMA_EACH(of) "{\"type\": \"object\", \"additionalProperties\": {\"$ref\": \"#/$defs/" of "\"}}"

/* "set.yaml:12: ..."; -1. */
int set_wrong(const struct yaml_node *at, struct error *err, const char *fmt, ...) printf_like(3, 4);

/* Each key by its row, none twice, also by another name. what: how messages call the mapping. ret_given: a bit for each
 * row; NULL: not asked for. */
int set_read_mapping(void *of, const char *what, const struct yaml_node *mapping, const struct set_keys *keys,
                     unsigned *ret_given, struct error *err) must_check;
/* Frees what the rows have read. */
void set_keys_fini(void *of, const struct set_keys *keys);
/* fn for each pair. Keys have to be texts, and no two are the same. */
int set_each_pair(const char *what, const struct yaml_node *mapping, set_read_fn *fn, void *arg,
                  struct error *err) must_check;
/* A name that is none of the known: "; did you mean a, b?", or "; there are a, b, c"; to be freed. */
char *set_known(const char *name, const char *const *known, size_t count) must_check;

/* As rows are read without a `read`. */
int set_read_text(const struct set_pair *p, char **ret, struct error *err) must_check;
int set_read_int(const struct set_pair *p, int64_t min, int64_t max, int64_t *ret, struct error *err) must_check;
/* A text, or each of a list of them, as a name or as a path; the other one is NULL. */
int set_read_texts(const struct set_pair *p, char ***names, struct template_paths *paths, struct error *err) must_check;
int set_read_selector(const struct set_pair *p, char **ret, struct error *err) must_check;
int set_read_json(const struct set_pair *p, struct yyjson_doc **ret, struct error *err) must_check;
void set_free_paths(struct template_paths *p);
void set_add_name(char ***list, const char *name);

/* ---- parts of a set: template/set_tests */

set_read_fn set_read_tests; /* of: a struct template_set whose watches are read */
void set_test_fini(struct template_test *t);

/* All kinds of mappings, for the JSON Schema; the first is the whole set. */
extern const struct set_keys set_root_keys, set_text_keys, set_target_keys, set_settings_keys, set_watch_keys,
    set_test_keys, set_assertion_keys;
