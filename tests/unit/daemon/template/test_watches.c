/* What a render waits for; which sets share watches, so that nothing is listed anew where one takes the other's place, and which
 * of them frees what, whichever goes first. */
#include <event2/event.h>

#include "daemon/template/template_source.h"
#include "daemon/template/watches.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "net/http.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "settings/settings.h"
#include "template/set.h"

#include "../../test.h"

static struct world {
    struct event_base *base;
    struct http *http;
    struct kube_client *kube;
    struct log log;
} w;

static void setup(void)
{
    const struct kube_access access = {
        .server = (char[]){"http://127.0.0.1:1"}, .token = (char[]){"t"}, .source = (char[]){"test"}};
    w.log = (struct log){.fd = 2};
    w.base = event_base_new();
    w.http = http_new(w.base, "test/1", &flaw);
    ck_assert_ptr_nonnull(w.http);
    w.kube = kube_client_new(w.http, &access, &w.log, &flaw);
    ck_assert_msg(w.kube != NULL, "%s", flaw.message);
}

static void teardown(void)
{
    kube_client_free(w.kube);
    http_free(w.http);
    event_base_free(w.base);
}

static void changed(void *arg, const char *cause)
{
    ck_abort_msg("%s, of watches that were never started (%p)", cause, arg);
}

/* The set's reference is the watches'. */
static struct watches *watches_of(struct template_set *set)
{
    static const struct settings settings;
    const struct template_source_options options = {.settings = &settings, .kube = w.kube, .log = &w.log};
    struct watches *watches = watches_new(w.base, set, &options, changed, NULL);
    template_set_free(set);
    return watches;
}

FIXTURE(setup, teardown)

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

static bool shares(const char *one, const char *other, bool follows)
{
    struct template_set *of_other = set(other, "haproxy.cfg: another\nextra: {a: b}");
    struct watches *watches = watches_of(set(one, CFG)), *shared = watches_share(watches, of_other, follows);
    ck_assert(shared == NULL || shared == watches);
    watches_free(watches);
    watches_free(shared);
    template_set_free(of_other);
    return shared != NULL;
}

TEST_EACH(the_same, array_len(rows))
{
    const char *one = rows[_i].one, *other = rows[_i].other;
    ck_assert_msg(shares(one, other, true) == rows[_i].same, "%s and %s", one, other);
    ck_assert_msg(shares(other, one, true) == rows[_i].same, "%s and %s", other, one);
}

static const struct {
    const char *one, *other;
    bool shares;
} namespaces[] = {
    {"", "", true},
    {", namespaces: [x, y]", ", namespaces: [x, y]", true},
    {", namespaces: [x, y]", ", namespaces: [x]", false},
    {", namespaces: [x]", ", namespaces: [x, y]", false},
    {", namespaces: [x, y]", ", namespaces: [x, z]", false},
    {", namespaces: [x, y]", "", false},
};

TEST_EACH(the_same_namespaces, array_len(namespaces))
{
    cleanup(mem_free_ptr) char *one = mem_printf("a: {" A "%s}", namespaces[_i].one);
    cleanup(mem_free_ptr) char *other = mem_printf("a: {" A "%s}", namespaces[_i].other);
    ck_assert_msg(shares(one, other, false) == namespaces[_i].shares, "%s and %s", one, other);
}

static void works(const struct watches *watches)
{
    struct watch_view v;
    ck_assert_uint_eq(watches_count(watches), 1);
    watches_view(watches, 0, &v);
    ck_assert_str_eq(v.name, "a");
}

/* _i: whether the watches follow the namespaces of the set that shares them. */
TEST_EACH(watches_outlive_the_set_that_they_began_with, 2)
{
    struct template_set *second = set("a: {" A "}", CFG);
    struct watches *first = watches_of(set("a: {" A "}", CFG)), *shared = watches_share(first, second, _i == 1);
    ck_assert_ptr_eq(first, shared);
    template_set_free(second);
    watches_free(first);
    works(shared);
    struct template_set *third = set("a: {" A "}", CFG);
    ck_assert_ptr_eq(watches_share(shared, third, _i == 1), shared);
    watches_free(shared);
    works(shared);
    watches_free(shared);
    works(shared = watches_of(template_set_ref(third)));
    watches_free(shared);
    template_set_free(third);
    ck_assert_ptr_null(watches_share(NULL, NULL, false));
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
