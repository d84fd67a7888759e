#include "json/yaml_tree.h"

#include <string.h>
#include <yaml.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

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
    case YAML_MAPPING_END_EVENT: {
        struct yaml_node *n = b->stack[--b->depth];
        n->open = false;
        return attach(b, n, n->line);
    }
    case YAML_STREAM_END_EVENT:
        return 1;
    default:
        return 0;
    }
}

int yaml_tree_parse(const char *text, size_t len, struct yaml_tree *ret, struct error *err)
{
    struct builder b = {.err = err};
    if (yaml_parser_initialize(&b.parser) == 0)
        return error_set(err, ERROR_FATAL, "no memory for a YAML parser");
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, len);
    int rc = 0;
    while (rc == 0) {
        yaml_event_t event;
        if (yaml_parser_parse(&b.parser, &event) == 0) {
            const yaml_parser_t *p = &b.parser;
            rc = p->error == YAML_READER_ERROR
                     ? error_set(err, ERROR_FATAL, "invalid YAML: %s at byte %zu", p->problem, p->problem_offset)
                     : error_set(err, ERROR_FATAL, "line %zu: invalid YAML: %s%s%s", line_of(&p->problem_mark),
                                 p->problem != NULL ? p->problem : "it cannot be read", p->context != NULL ? " " : "",
                                 p->context != NULL ? p->context : "");
            break;
        }
        rc = yaml_tree_on_event(&b, &event);
        /* What libyaml frees here is not overwritten; it gives us no way to. */
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&b.parser);
    if (rc < 0)
        yaml_tree_fini(&b.tree);
    else
        *ret = b.tree;
    return rc < 0 ? -1 : 0;
}

void yaml_tree_fini(struct yaml_tree *t)
{
    for (size_t i = 0; i < t->count; i++) {
        mem_wipe_free(t->nodes[i]->text);
        mem_free_all(t->nodes[i]->kids, t->nodes[i]->anchor, t->nodes[i]);
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

/* ---- as JSON ---- */

static const char digits[] = "0123456789";

/* RFC 8259's number, so that it can be passed on as it is written. */
static bool yaml_json_is_number(const char *s)
{
    s += *s == '-';
    size_t n = strspn(s, digits);
    if (n == 0 || (n > 1 && s[0] == '0'))
        return false;
    s += n;
    if (*s == '.') {
        n = strspn(s + 1, digits);
        if (n == 0)
            return false;
        s += n + 1;
    }
    if (*s == 'e' || *s == 'E') {
        s += s[1] == '+' || s[1] == '-' ? 2 : 1;
        n = strspn(s, digits);
        if (n == 0)
            return false;
        s += n;
    }
    return *s == '\0';
}

static void add_text(const char *s, struct buf *out)
{
    buf_add(out, "\"");
    text_add(out, s, TEXT_QUOTED, TEXT_WHOLE);
    buf_add(out, "\"");
}

static void add_scalar(const struct yaml_node *n, struct buf *out)
{
    static const char *const truths[][3] = {{"true", "True", "TRUE"}, {"false", "False", "FALSE"}};
    if (yaml_node_is_null(n)) {
        buf_add(out, "null");
        return;
    }
    for (size_t i = 0; n->plain && i < array_len(truths); i++)
        for (size_t k = 0; k < array_len(truths[i]); k++)
            if (str_eq(n->text, truths[i][k])) {
                buf_add(out, truths[i][0]);
                return;
            }
    if (n->plain && yaml_json_is_number(n->text))
        buf_add(out, n->text);
    else
        add_text(n->text, out);
}

/* Recursive: the tree's depth has a cap. */
void yaml_json_add(const struct yaml_node *n, struct buf *out)
{
    bool mapping = n->kind == NODE_MAPPING;
    if (n->kind == NODE_SCALAR) {
        add_scalar(n, out);
        return;
    }
    buf_add(out, mapping ? "{" : "[");
    for (size_t i = 0; i < n->kid_count; i += mapping ? 2 : 1) {
        buf_add(out, i > 0 ? "," : "");
        if (mapping) {
            add_text(n->kids[i]->kind == NODE_SCALAR ? n->kids[i]->text : "", out);
            buf_add(out, ":");
        }
        yaml_json_add(n->kids[mapping ? i + 1 : i], out);
    }
    buf_add(out, mapping ? "}" : "]");
}
