#include <string.h>

#include "base/str.h"
#include "base/text.h"
#include "json/yaml_tree.h"

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

static void add_pair(const struct yaml_node *key, const struct yaml_node *value, struct buf *out)
{
    add_text(key->kind == NODE_SCALAR ? key->text : "", out);
    buf_add(out, ":");
    yaml_json_add(value, out);
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
        if (mapping)
            add_pair(n->kids[i], n->kids[i + 1], out);
        else
            yaml_json_add(n->kids[i], out);
    }
    buf_add(out, mapping ? "}" : "]");
}
