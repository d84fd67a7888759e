#include "json/yaml_tree.h"

#include <string.h>
#include <yaml.h>

#include "base/mem.h"
#include "base/str.h"

#define ANCHORS_MAX 1000u

struct builder {
    yaml_parser_t parser;
    struct yaml_tree tree;
    struct yaml_node *anchored[ANCHORS_MAX];
    size_t anchor_count;
    struct yaml_node *stack[YAML_TREE_MAX_DEPTH]; /* open collections, outermost first */
    unsigned depth;
    unsigned documents;
    struct error *err;
};

static int yaml_tree_fail(struct builder *b, size_t line, const char *what)
{
    return error_set(b->err, ERROR_FATAL, "line %zu: %s", line, what);
}

static size_t line_of(const yaml_mark_t *mark)
{
    return mark->line + 1;
}

static struct yaml_node *yaml_tree_add_node(struct builder *b, enum yaml_node_kind kind, const yaml_event_t *e,
                                            const yaml_char_t *anchor)
{
    struct yaml_tree *t = &b->tree;
    if (t->count == YAML_TREE_MAX_NODES) {
        yaml_tree_fail(b, line_of(&e->start_mark), "more than 100000 values");
        return NULL;
    }
    if (t->count == t->size) {
        t->size = t->size == 0 ? 64 : t->size * 2;
        t->nodes = mem_resize(t->nodes, t->size, sizeof(struct yaml_node *));
    }
    struct yaml_node *n = mem_alloc(sizeof(*n));
    n->kind = kind;
    n->line = line_of(&e->start_mark);
    n->weight = 1;
    t->nodes[t->count++] = n;
    if (anchor == NULL)
        return n;
    if (b->anchor_count == ANCHORS_MAX) {
        yaml_tree_fail(b, n->line, "more than 1000 anchors (&name)");
        return NULL;
    }
    n->anchor = mem_strdup((const char *)anchor);
    b->anchored[b->anchor_count++] = n;
    return n;
}

/* Puts a finished node, or the target of an alias, below the innermost open collection. */
static int attach(struct builder *b, struct yaml_node *n, size_t line)
{
    if (b->depth == 0) {
        b->tree.root = n;
        return 0;
    }
    struct yaml_node *parent = b->stack[b->depth - 1];
    if (parent->kid_count == parent->kid_size) {
        parent->kid_size = parent->kid_size == 0 ? 8 : parent->kid_size * 2;
        parent->kids = mem_resize(parent->kids, parent->kid_size, sizeof(struct yaml_node *));
    }
    parent->kids[parent->kid_count++] = n;
    parent->weight += n->weight;
    if (parent->height < n->height + 1)
        parent->height = n->height + 1;
    if (parent->weight > YAML_TREE_MAX_NODES)
        return yaml_tree_fail(b, line, "aliases (*name) make more than 100000 values of it");
    if (b->depth + n->height > YAML_TREE_MAX_DEPTH)
        return yaml_tree_fail(b, line, "nested more than 32 levels deep");
    return 0;
}

static int on_alias(struct builder *b, const yaml_event_t *e)
{
    const char *anchor = (const char *)e->data.alias.anchor;
    size_t line = line_of(&e->start_mark);
    /* The last one of that name: an anchor may be defined again. */
    for (size_t i = b->anchor_count; i > 0; i--) {
        struct yaml_node *n = b->anchored[i - 1];
        if (!str_eq(n->anchor, anchor))
            continue;
        if (n->open)
            return yaml_tree_fail(b, line, "an alias (*name) inside the value that it names: a circle");
        return attach(b, n, line);
    }
    return yaml_tree_fail(b, line, "an alias (*name) of an anchor (&name) that does not exist");
}

static int on_scalar(struct builder *b, const yaml_event_t *e)
{
    struct yaml_node *n = yaml_tree_add_node(b, NODE_SCALAR, e, e->data.scalar.anchor);
    if (n == NULL)
        return -1;
    if (memchr(e->data.scalar.value, '\0', e->data.scalar.length) != NULL)
        return yaml_tree_fail(b, n->line, "a NUL character inside a text");
    n->text = mem_strndup((const char *)e->data.scalar.value, e->data.scalar.length);
    n->plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return attach(b, n, n->line);
}

static int yaml_tree_on_start(struct builder *b, enum yaml_node_kind kind, const yaml_event_t *e,
                              const yaml_char_t *anchor)
{
    if (b->depth == YAML_TREE_MAX_DEPTH)
        return yaml_tree_fail(b, line_of(&e->start_mark), "nested more than 32 levels deep");
    struct yaml_node *n = yaml_tree_add_node(b, kind, e, anchor);
    if (n == NULL)
        return -1;
    n->open = true;
    n->height = 1; /* an empty one is a level, too */
    b->stack[b->depth++] = n;
    return 0;
}

static int on_end(struct builder *b)
{
    struct yaml_node *n = b->stack[--b->depth];
    n->open = false;
    return attach(b, n, n->line);
}

/* 1: the stream is over. */
static int yaml_tree_on_event(struct builder *b, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (b->documents++ > 0)
            return yaml_tree_fail(b, line_of(&e->start_mark), "a second document (---): expected one");
        return 0;
    case YAML_ALIAS_EVENT:
        return on_alias(b, e);
    case YAML_SCALAR_EVENT:
        return on_scalar(b, e);
    case YAML_SEQUENCE_START_EVENT:
        return yaml_tree_on_start(b, NODE_SEQUENCE, e, e->data.sequence_start.anchor);
    case YAML_MAPPING_START_EVENT:
        return yaml_tree_on_start(b, NODE_MAPPING, e, e->data.mapping_start.anchor);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_end(b);
    case YAML_STREAM_END_EVENT:
        return 1;
    default:
        return 0;
    }
}

static int parse_failed(struct builder *b)
{
    const yaml_parser_t *p = &b->parser;
    if (p->error == YAML_READER_ERROR)
        return error_set(b->err, ERROR_FATAL, "invalid YAML: %s at byte %zu", p->problem, p->problem_offset);
    return error_set(b->err, ERROR_FATAL, "line %zu: invalid YAML: %s%s%s", line_of(&p->problem_mark),
                     p->problem != NULL ? p->problem : "it cannot be read", p->context != NULL ? " " : "",
                     p->context != NULL ? p->context : "");
}

static int yaml_tree_build(struct builder *b)
{
    for (int rc = 0; rc == 0;) {
        yaml_event_t event;
        if (yaml_parser_parse(&b->parser, &event) == 0)
            return parse_failed(b);
        rc = yaml_tree_on_event(b, &event);
        /* What libyaml frees here is not overwritten; it gives us no way to. */
        yaml_event_delete(&event);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int yaml_tree_parse(const char *text, size_t len, struct yaml_tree *ret, struct error *err)
{
    struct builder b = {.err = err};
    if (yaml_parser_initialize(&b.parser) == 0)
        return error_set(err, ERROR_FATAL, "no memory for a YAML parser");
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, len);
    int rc = yaml_tree_build(&b);
    yaml_parser_delete(&b.parser);
    if (rc != 0)
        yaml_tree_fini(&b.tree);
    else
        *ret = b.tree;
    return rc;
}

void yaml_tree_fini(struct yaml_tree *t)
{
    for (size_t i = 0; i < t->count; i++) {
        mem_wipe_free(t->nodes[i]->text);
        free(t->nodes[i]->kids);
        free(t->nodes[i]->anchor);
        free(t->nodes[i]);
    }
    free(t->nodes);
    *t = (struct yaml_tree){0};
}

bool yaml_node_is_null(const struct yaml_node *n)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    if (n == NULL)
        return true;
    if (n->kind != NODE_SCALAR || !n->plain)
        return false;
    for (size_t i = 0; i < array_len(nulls); i++)
        if (str_eq(n->text, nulls[i]))
            return true;
    return false;
}

static const struct yaml_node *own_value(const struct yaml_node *mapping, const char *key, size_t *ret_twice)
{
    const struct yaml_node *found = NULL;
    for (size_t i = 0; i + 1 < mapping->kid_count; i += 2) {
        const struct yaml_node *k = mapping->kids[i];
        if (k->kind != NODE_SCALAR || !str_eq(k->text, key))
            continue;
        if (found != NULL && *ret_twice == 0)
            *ret_twice = k->line;
        found = found != NULL ? found : mapping->kids[i + 1];
    }
    return found;
}

const struct yaml_node *yaml_node_get(const struct yaml_node *mapping, const char *key, size_t *ret_twice)
{
    *ret_twice = 0;
    if (mapping == NULL || mapping->kind != NODE_MAPPING)
        return NULL;
    const struct yaml_node *found = own_value(mapping, key, ret_twice);
    if (found != NULL || str_eq(key, "<<"))
        return found;
    const struct yaml_node *merged = own_value(mapping, "<<", ret_twice);
    if (merged == NULL || merged->kind != NODE_SEQUENCE)
        return yaml_node_get(merged, key, ret_twice);
    for (size_t i = 0; i < merged->kid_count && found == NULL; i++)
        found = yaml_node_get(merged->kids[i], key, ret_twice);
    return found;
}
