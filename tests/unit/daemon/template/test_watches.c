/* What a render waits for; whether two sets watch the same, but for namespaces: then nothing is listed anew where one takes the other's
 * place. */

#include "daemon/template/watches.h"
#include "kube/informer.h"
#include "template/set.h"

#include "../../test.h"

static struct template_set *set(const char *watch, const char *rest)
{
    cleanup(mem_free_ptr) char *text = mem_printf("watch: {%s}\n%s\n", watch, rest);
    const struct template_file file = {TEMPLATE_SET_FILE, text, strlen(text)};
    struct template_set *s = template_set_parse(&file, 1, &flaw);
    ck_assert_msg(s != NULL, "%s: %s", text, flaw.message);
    return s;
}

#define A "apiVersion: v1, kind: Pod"
#define CFG "haproxy.cfg: x"

static const struct {
    const char *one, *other;
    bool same;
} rows[] = {
    {"", "", true},
    {"a: {" A "}", "a: {" A "}", true},
    {"a: {" A "}", "", false},
    {"a: {" A "}", "b: {" A "}", false},
    {"a: {" A "}", "a: {apiVersion: v2, kind: Pod}", false},
    {"a: {" A "}", "a: {apiVersion: v1, kind: Node}", false},
    {"a: {" A "}", "a: {apiVersion: v1, resources: pods}", false},
    {"a: {" A ", namespaces: [x, y]}", "a: {" A ", namespaces: [x, y]}", true},
    {"a: {" A ", namespaces: [x, y]}", "a: {" A ", namespaces: [z]}", true},
    {"a: {" A ", namespaces: [x]}", "a: {" A "}", false},
    {"a: {" A ", labelSelector: x}", "a: {" A ", labelSelector: y}", false},
    {"a: {" A ", fieldSelector: x=y}", "a: {" A "}", false},
    {"a: {" A ", index_by: [metadata.name]}", "a: {" A ", index_by: [metadata.name]}", true},
    {"a: {" A ", index_by: [metadata.name]}", "a: {" A ", index_by: [metadata.uid]}", false},
    {"a: {" A ", index_by: ['a[0]']}", "a: {" A ", index_by: ['a[1]']}", false},
    {"a: {" A ", index_by: ['a[0]']}", "a: {" A ", index_by: ['a[*]']}", false},
    {"a: {" A ", keep: [spec]}", "a: {" A ", keep: [spec.x]}", false},
    {"a: {" A ", drop: [spec]}", "a: {" A "}", false},
};

TEST_EACH(the_same, array_len(rows))
{
    struct template_set *one = set(rows[_i].one, CFG),
                        *other = set(rows[_i].other, "haproxy.cfg: another\nextra: {a: b}");
    ck_assert_msg(watches_same(one, other) == rows[_i].same, "%s and %s", rows[_i].one, rows[_i].other);
    ck_assert_msg(watches_same(other, one) == rows[_i].same, "%s and %s", rows[_i].other, rows[_i].one);
    template_set_free(one);
    template_set_free(other);
}

static const struct {
    struct informer_status status;
    bool first, later;
} decisions[] = {
    {{.synced = false}, false, false},
    {{.synced = true}, true, true},
    {{.synced = true, .stale = true, .denied = INFORMER_FORBIDDEN}, true, true},
    {{.denied = INFORMER_FORBIDDEN}, false, true},
    {{.denied = INFORMER_NOT_SERVED}, true, true},
};

TEST_EACH(what_a_render_waits_for, array_len(decisions))
{
    ck_assert(watches_decides(&decisions[_i].status, false) == decisions[_i].first);
    ck_assert(watches_decides(&decisions[_i].status, true) == decisions[_i].later);
}
