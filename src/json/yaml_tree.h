/*
 * YAML (and so JSON) text as a tree of nodes, with a cap on everything: libyaml's events, collected. Aliases point to
 * the node that they name, so a node can have several parents; what they expand to is counted, and cycles are refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define YAML_TREE_MAX_NODES 100000u /* with aliases expanded */
#define YAML_TREE_MAX_DEPTH 32u

enum yaml_node_kind { NODE_SCALAR, NODE_SEQUENCE, NODE_MAPPING };

struct yaml_node {
    enum yaml_node_kind kind;
    size_t line;             /* from 1 */
    char *text;              /* of a scalar; holds no NUL */
    bool plain;              /* a scalar without quotes: this distinguishes null, true and numbers from text */
    struct yaml_node **kids; /* items of a sequence; key, value, key, value, ... of a mapping */
    size_t kid_count;
    /* of the builder */
    size_t kid_size;
    size_t weight;   /* nodes below and itself, aliases expanded */
    unsigned height; /* levels of collections from here down; 0: a scalar */
    char *anchor;    /* NULL: none */
    bool open;       /* its end has not been seen */
};

struct yaml_tree {
    struct yaml_node *root; /* NULL: the text holds nothing */
    struct yaml_node **nodes;
    size_t count, size;
};

/* ERROR_FATAL "line N: what is wrong". */
int yaml_tree_parse(const char *text, size_t len, struct yaml_tree *ret, struct error *err) must_check;

/* Overwrites all scalars: kubeconfigs hold keys. */
void yaml_tree_fini(struct yaml_tree *t);

/* null, ~ or nothing at all. */
bool yaml_node_is_null(const struct yaml_node *n);

/* The value of a key in a mapping (also one merged in by "<<"), NULL where there is none. *ret_twice: the key is there
 * more than once; the second one's line in it, else 0. */
const struct yaml_node *yaml_node_get(const struct yaml_node *mapping, const char *key, size_t *ret_twice);

/* Adds the tree as JSON text. Plain scalars by YAML 1.2's core schema: null, true, false, JSON's numbers, else text. */
void yaml_json_add(const struct yaml_node *n, struct buf *out);
