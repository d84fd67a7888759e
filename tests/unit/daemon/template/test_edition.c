/* Two editions of a template set: which of them share watches, and who frees what, whichever goes first. */
#include <event2/event.h>

#include "daemon/template/edition.h"
#include "daemon/template/watches.h"
#include "kube/client.h"
#include "net/http.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "template/set.h"

#include "../../test.h"

static struct world {
    struct event_base *base;
    struct http *http;
    struct kube_client *kube;
    struct log log;
} w;

static struct template_set *set(const char *watch)
{
    cleanup(mem_free_ptr) char *text = mem_printf("watch: {a: {apiVersion: v1, kind: Pod%s}}\nhaproxy.cfg: x\n", watch);
    const struct template_file file = {TEMPLATE_SET_FILE, text, strlen(text)};
    struct template_set *s = template_set_parse(&file, 1, &flaw);
    ck_assert_msg(s != NULL, "%s: %s", text, flaw.message);
    return s;
}

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

static bool init(struct edition *e, const char *watch, const struct edition *of, bool follows)
{
    const struct watches_options options = {.kube = w.kube, .log = &w.log};
    return edition_init(e, set(watch), of != NULL ? of->watched : NULL, follows, w.base, &options, changed, NULL);
}

static void works(const struct edition *e)
{
    struct watch_view v;
    ck_assert_ptr_nonnull(e->set);
    ck_assert_uint_eq(e->set->watch_count, 1);
    ck_assert_uint_eq(watches_count(e->watched->watches), 1);
    watches_view(e->watched->watches, 0, &v);
    ck_assert_str_eq(v.name, "a");
}

static const struct {
    const char *one, *other;
    bool follows, shares;
} rows[] = {
    {"", "", false, true},
    {"", ", keep: [spec]", false, false},
    {"", ", keep: [spec]", true, false},
    {", namespaces: [x, y]", ", namespaces: [x, y]", false, true},
    {", namespaces: [x, y]", ", namespaces: [x]", false, false},
    {", namespaces: [x]", ", namespaces: [x, y]", false, false},
    {", namespaces: [x, y]", ", namespaces: [x, z]", false, false},
    {", namespaces: [x, y]", ", namespaces: [z]", true, true},
};

/* _i: the second half of the rows' numbers: the one that shares goes first. */
FIXTURE(setup, teardown)

TEST_EACH(two_that_watch_the_same_share, 2 * (int)array_len(rows))
{
    size_t row = (size_t)_i % array_len(rows);
    bool other_first = (size_t)_i >= array_len(rows);
    struct edition one, other;
    ck_assert(!init(&one, rows[row].one, NULL, false));
    ck_assert_msg(init(&other, rows[row].other, &one, rows[row].follows) == rows[row].shares, "%s and %s",
                  rows[row].one, rows[row].other);
    ck_assert((one.watched == other.watched) == rows[row].shares);
    ck_assert_ptr_ne(one.set, other.set);
    edition_fini(other_first ? &other : &one);
    works(other_first ? &one : &other);
    edition_fini(other_first ? &one : &other);
    ck_assert_ptr_null(one.watched);
}

/* The next takes the place of the first, and a third one shares still: what the first began is freed with the last. */
TEST(watches_outlive_the_set_that_they_began_with)
{
    struct edition first, second, third, none = {0};
    ck_assert(!init(&first, "", NULL, false));
    ck_assert(init(&second, "", &first, false));
    edition_fini(&first);
    ck_assert(init(&third, "", &second, false));
    works(&third);
    edition_fini(&second);
    works(&third);
    edition_fini(&third);
    edition_fini(&none);
}
