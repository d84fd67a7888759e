#include "json/yaml_tree.h"

#include "../test.h"

static int parse(const char *text, struct yaml_tree *ret, struct error *err)
{
    return yaml_tree_parse(text, strlen(text), ret, err);
}

static void assert_refused(const char *text, const char *why)
{
    struct yaml_tree t;
    ck_assert_msg(parse(text, &t, &flaw) == -1, "taken: %.60s", text);
    ck_assert_int_eq(flaw.kind, ERROR_FATAL);
    ck_assert_msg(strstr(flaw.message, why) != NULL, "expected \"%s\": %s", why, flaw.message);
}

/* The text at a path of keys, "" for the path's own end. */
static const char *text_at(const struct yaml_tree *t, const char *first, const char *second)
{
    size_t twice;
    const struct yaml_node *n = yaml_node_get(t->root, first, &twice);
    ck_assert_uint_eq(twice, 0);
    if (second != NULL)
        n = yaml_node_get(n, second, &twice);
    return n != NULL ? n->text : NULL;
}

TEST(block_flow_and_json_are_the_same)
{
    static const char *const texts[] = {
        "a:\n  b: x\nc: [1, 'two']\n",
        "{a: {b: x}, c: [1, two]}",
        "{\"a\":{\"b\":\"x\"},\"c\":[1,\"two\"]}",
        "\xef\xbb\xbf# with a mark\n---\na:\n    b: \"x\"\nc:\n- 1\n- two\n...\n",
    };
    for (size_t i = 0; i < array_len(texts); i++) {
        cleanup(yaml_tree_fini) struct yaml_tree t = {0};
        ck_assert_msg(parse(texts[i], &t, &flaw) == 0, "%s", flaw.message);
        ck_assert_str_eq(text_at(&t, "a", "b"), "x");
        size_t twice;
        const struct yaml_node *c = yaml_node_get(t.root, "c", &twice);
        ck_assert_int_eq(c->kind, NODE_SEQUENCE);
        ck_assert_uint_eq(c->kid_count, 2);
        ck_assert_str_eq(c->kids[1]->text, "two");
        ck_assert_ptr_null(yaml_node_get(t.root, "d", &twice));
        ck_assert_ptr_null(yaml_node_get(c, "a", &twice));
        ck_assert_ptr_null(yaml_node_get(NULL, "a", &twice));
    }
}

TEST(nothing_is_a_tree_without_root)
{
    static const char *const texts[] = {"", "\n", "# a remark\n"};
    for (size_t i = 0; i < array_len(texts); i++) {
        cleanup(yaml_tree_fini) struct yaml_tree t = {0};
        ck_assert_int_eq(parse(texts[i], &t, NULL), 0);
        ck_assert(yaml_node_is_null(t.root));
    }
}

TEST(null_is_told_apart_from_text)
{
    cleanup(yaml_tree_fini) struct yaml_tree t = {0};
    ck_assert_int_eq(parse("[ , null, ~, 'null', \"\", nil, [], {}]", &t, NULL), -1);
    ck_assert_int_eq(parse("- \n- null\n- ~\n- 'null'\n- \"\"\n- nil\n- []\n- {}\n", &t, NULL), 0);
    for (size_t i = 0; i < t.root->kid_count; i++)
        ck_assert_msg(yaml_node_is_null(t.root->kids[i]) == (i < 3), "item %zu", i);
}

TEST(lines_are_counted_from_one)
{
    cleanup(yaml_tree_fini) struct yaml_tree t = {0};
    ck_assert_int_eq(parse("a: 1\n\nb:\n  c: 2\n", &t, NULL), 0);
    size_t twice;
    ck_assert_uint_eq(t.root->line, 1);
    const struct yaml_node *b = yaml_node_get(t.root, "b", &twice);
    ck_assert_uint_eq(b->line, 4);
    assert_refused("a: 1\nb: [1\nc: 2\n", "line 3: invalid YAML");
    assert_refused("a: 1\n\tb: 2\n", "line 2: invalid YAML");
}

TEST(a_key_that_is_there_twice_is_reported)
{
    cleanup(yaml_tree_fini) struct yaml_tree t = {0};
    ck_assert_int_eq(parse("a: 1\nb: 2\na: 3\na: 4\n", &t, NULL), 0);
    size_t twice = 99;
    ck_assert_str_eq(yaml_node_get(t.root, "a", &twice)->text, "1");
    ck_assert_uint_eq(twice, 3);
    ck_assert_str_eq(yaml_node_get(t.root, "b", &twice)->text, "2");
    ck_assert_uint_eq(twice, 0);
}

TEST(aliases_and_merged_mappings)
{
    cleanup(yaml_tree_fini) struct yaml_tree t = {0};
    ck_assert_msg(
        parse("x: &x {p: 1, q: 2}\ny: *x\nz: {<<: *x, q: 3}\nw: {<<: [{r: 5}, *x]}\nv: &x 7\nu: *x\n", &t, &flaw) == 0,
        "%s", flaw.message);
    ck_assert_str_eq(text_at(&t, "y", "q"), "2");
    ck_assert_str_eq(text_at(&t, "z", "p"), "1");
    ck_assert_str_eq(text_at(&t, "z", "q"), "3");
    ck_assert_str_eq(text_at(&t, "w", "r"), "5");
    ck_assert_str_eq(text_at(&t, "w", "p"), "1");
    ck_assert_ptr_null(text_at(&t, "w", "no"));
    ck_assert_str_eq(text_at(&t, "u", NULL), "7"); /* the last anchor of that name */
}

TEST(circles_and_unknown_anchors)
{
    assert_refused("a: &a [*a]", "line 1: an alias (*name) inside the value");
    assert_refused("a: &a\n  b:\n    c: *a\n", "line 3: an alias (*name) inside");
    assert_refused("a: 1\nb: *x\n", "line 2: an alias (*name) of an anchor");
}

/* Ten levels of ten: ten billion values out of a hundred. */
TEST(an_alias_bomb_is_refused)
{
    cleanup(buf_fini) struct buf text = {0};
    buf_add(&text, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 10; i++) {
        buf_printf(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            buf_printf(&text, "%s*a%d", k > 0 ? "," : "", i - 1);
        buf_add(&text, "]\n");
    }
    assert_refused(buf_str(&text), "line 5: aliases (*name) make more than 100000 values");
}

static char *nested(size_t depth)
{
    struct buf text = {0};
    for (size_t i = 0; i < depth; i++)
        buf_add(&text, "[");
    for (size_t i = 0; i < depth; i++)
        buf_add(&text, "]");
    return buf_take(&text);
}

TEST(depth_has_a_cap)
{
    cleanup(mem_free_ptr) char *fits = nested(YAML_TREE_MAX_DEPTH), *deep = nested(YAML_TREE_MAX_DEPTH + 1);
    cleanup(mem_free_ptr) char *abyss = nested(200000);
    cleanup(yaml_tree_fini) struct yaml_tree t = {0};
    ck_assert_int_eq(parse(fits, &t, NULL), 0);
    assert_refused(deep, "nested more than 32 levels");
    assert_refused(abyss, "nested more than 32 levels");
}

/* What an alias brings along counts, too. */
TEST(depth_by_aliases_has_a_cap)
{
    cleanup(mem_free_ptr) char *half = nested(20);
    cleanup(mem_free_ptr) char *fits = mem_printf("a: &a %s\nb: [[[[[[[[[[[*a]]]]]]]]]]]\n", half);
    cleanup(mem_free_ptr) char *deep = mem_printf("a: &a %s\nb: [[[[[[[[[[[[*a]]]]]]]]]]]]\n", half);
    cleanup(yaml_tree_fini) struct yaml_tree t = {0};
    ck_assert_int_eq(parse(fits, &t, NULL), 0);
    assert_refused(deep, "line 2: nested more than 32 levels");
}

static char *list_of(size_t count, const char *item)
{
    struct buf text = {0};
    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "- %s\n", item);
    return buf_take(&text);
}

TEST(numbers_have_caps)
{
    cleanup(mem_free_ptr) char *fits = list_of(YAML_TREE_MAX_NODES - 1, "x");
    cleanup(mem_free_ptr) char *many = list_of(YAML_TREE_MAX_NODES, "x"),
                               *many_lists = list_of(YAML_TREE_MAX_NODES, "[]");
    cleanup(mem_free_ptr) char *anchors = list_of(1001, "&a x");
    cleanup(mem_free_ptr) char *few_anchors = list_of(1000, "&a x");
    cleanup(yaml_tree_fini) struct yaml_tree t = {0}, u = {0};
    ck_assert_int_eq(parse(fits, &t, NULL), 0);
    assert_refused(many, "line 100000: more than 100000 values");
    assert_refused(many_lists, "line 100000: more than 100000 values");
    assert_refused(anchors, "line 1001: more than 1000 anchors");
    ck_assert_int_eq(parse(few_anchors, &u, NULL), 0);
}

TEST(what_is_no_yaml)
{
    assert_refused("a: b: c", "line 1: invalid YAML");
    assert_refused("a: \xff\xfe", "invalid YAML");
    assert_refused("%YAML 9.9\n---\na", "invalid YAML");
    assert_refused("a: \"x\\0y\"", "a NUL character");
    assert_refused("a: 1\n---\nb: 2\n", "line 2: a second document");
}
