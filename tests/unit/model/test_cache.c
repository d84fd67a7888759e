#include "../model_text.h"
#include "odd_objects.h"

static const char *address_of(const struct node *n)
{
    return n->address_count > 0 ? n->addresses[0].text : "-";
}

static bool put(struct cache *c, const char *line)
{
    return text_put(&(struct object_caches){c, c, c, c}, line); /* the line's kind is the cache's */
}

static const struct node *node_of(const struct cache *c, const char *name)
{
    return cache_find(c, name);
}

static const struct service *service_of(const struct cache *c, const char *name)
{
    return cache_find(c, name);
}

TEST(a_put_says_whether_anything_changed)
{
    struct cache *c = cache_new(&node_record);
    ck_assert(put(c, "node n1 10.0.0.1"));
    ck_assert_msg(!put(c, "node n1 10.0.0.1"), "a heartbeat is no change");
    ck_assert(put(c, "node n1 10.0.0.2"));
    ck_assert_str_eq(address_of(node_of(c, "n1")), "10.0.0.2");
    ck_assert(put(c, "node n1"));
    ck_assert_uint_eq(node_of(c, "n1")->address_count, 0);
    ck_assert_msg(cache_put(c, text_node_new("n1", NULL, 2)), "another UID is another node");
    ck_assert_uint_eq(cache_count(c), 1);
    cache_free(c);
    c = cache_new(&endpoint_set_record);
    ck_assert(put(c, "slice a http/80 : 10.0.0.1@n1"));
    ck_assert(!put(c, "slice a http/80 : 10.0.0.1@n1"));
    ck_assert(put(c, "slice a http/80 : 10.0.0.1@n1=no"));
    ck_assert(put(c, "slice a http/81 : 10.0.0.1@n1=no"));
    ck_assert(put(c, "slice a http/81 :"));
    ck_assert(put(c, "slice a"));
    ck_assert(!put(c, "slice a"));
    ck_assert_uint_eq(cache_count(c), 1);
    cache_free(c);
}

TEST(what_was_is_kept_until_it_is_forgotten)
{
    struct cache *c = cache_new(&node_record), *copies = cache_new(&node_record);
    put(c, "node n1 10.0.0.1");
    put(c, "node n1 10.0.0.2");
    ck_assert_ptr_null(cache_past(c, "n1"));
    cache_keep_past(c);
    put(c, "node n2 10.0.0.9");
    put(c, "node n1 10.0.0.3");
    put(c, "node n1 10.0.0.4");
    ck_assert_str_eq(address_of(cache_past(c, "n1")), "10.0.0.2");
    ck_assert_ptr_null(cache_past(c, "n2"));
    cache_put_copy(copies, cache_past(c, "n1"));
    cache_replace_begin(c);
    put(c, "node n1 10.0.0.4");
    ck_assert_ptr_null(cache_past(c, "n2"));
    cache_replace_end(c);
    ck_assert_str_eq(address_of(cache_past(c, "n2")), "10.0.0.9");
    cache_forget_past(c);
    ck_assert_ptr_null(cache_past(c, "n1"));
    cache_put_copy(copies, cache_find(c, "n1"));
    ck_assert_str_eq(address_of(node_of(copies, "n1")), "10.0.0.4");
    put(c, "node n1");
    cache_free(c);
    cache_free(copies);
}

TEST(deleting)
{
    struct cache *c = cache_new(&node_record), *services = cache_new(&service_record);
    ck_assert(!cache_delete(c, "n1"));
    put(c, "node n1 10.0.0.1");
    cache_put(services, odd_service("n1", SERVICE_AS_IT_IS));
    ck_assert(cache_delete(c, "n1"));
    ck_assert(!cache_delete(c, "n1"));
    ck_assert_ptr_null(cache_find(c, "n1"));
    ck_assert(cache_delete(services, "n1"));
    ck_assert(!cache_delete(services, "n1"));
    ck_assert_ptr_null(cache_find(services, "n1"));
    cache_free(c);
    cache_free(services);
}

static void compare_set(void *arg, const void *s)
{
    const struct endpoint_set *want = *(struct endpoint_set **)arg;
    ck_assert(record_eq(&endpoint_set_record, s, want));
    ck_assert_str_eq(record_name(s), want->name);
}

TEST(all_that_is_kept_comes_back)
{
    static const char words[] =
        "http/80 https/443 : 10.0.0.1@n1 10.0.0.2=no | /8080 : fd00::1@n2=leaving | | : 10.0.0.9=gone";
    char *copy = mem_strdup(words), *again = mem_strdup(words);
    struct endpoint_set *want = text_set_new("web", again);
    struct cache *c = cache_new(&endpoint_set_record);
    want->uid_hash = UINT64_C(0xfeedfacecafebeef);
    struct endpoint_set *in = text_set_new("web", copy);
    in->uid_hash = want->uid_hash;
    ck_assert(cache_put(c, in));
    ck_assert_uint_eq(want->group_count, 4);
    cache_each(c, compare_set, &want);
    cache_free(c);
    record_free(&endpoint_set_record, want);
    free(copy);
    free(again);
}

/* Each difference in turn, over each other: in a copy of its own, of which nothing else is left. */
TEST(nodes_are_kept_whole)
{
    struct cache *c = cache_new(&node_record);
    cache_put(c, odd_node("n1", NODE_AS_IT_IS));
    for (unsigned i = 0; i < NODE_THINGS; i++)
        for (unsigned k = 0; k < NODE_THINGS; k++) {
            cleanup(node_free_ptr) struct node *want = odd_node("n1", k);
            cache_put(c, odd_node("n1", i));
            ck_assert_msg(cache_put(c, odd_node("n1", k)) == (i != k), "%u, then %u", i, k);
            ck_assert_msg(record_eq(&node_record, cache_find(c, "n1"), want), "%u, then %u", i, k);
        }
    ck_assert_uint_eq(cache_count(c), 1);
    cache_free(c);
}

TEST(a_hostname_that_is_the_name_is_kept_once)
{
    struct cache *c = cache_new(&node_record);
    cache_put(c, odd_node("n1", NODE_ALL_ADDRESSES));
    const struct node *n = cache_find(c, "n1");
    ck_assert_ptr_eq(n->addresses[2].text, n->name);
    cache_put(c, odd_node("n1.example", NODE_LAST_TEXT));
    n = cache_find(c, "n1.example");
    ck_assert_ptr_eq(n->addresses[2].text, n->name);
    cache_free(c);
}

TEST(services_are_kept_whole)
{
    struct cache *c = cache_new(&service_record);
    ck_assert_ptr_null(cache_find(c, "web"));
    ck_assert(cache_put(c, odd_service("web", SERVICE_AS_IT_IS)));
    for (unsigned i = 0; i < SERVICE_THINGS; i++)
        for (unsigned k = 0; k < SERVICE_THINGS; k++) {
            cleanup(service_free_ptr) struct service *want = odd_service("web", k);
            cache_put(c, odd_service("web", i));
            ck_assert_msg(cache_put(c, odd_service("web", k)) == (i != k), "%u, then %u", i, k);
            ck_assert_msg(record_eq(&service_record, cache_find(c, "web"), want), "%u, then %u", i, k);
        }
    ck_assert_ptr_null(cache_find(c, "we"));
    ck_assert_uint_eq(cache_count(c), 1);
    cache_free(c);
}

TEST(a_replace_of_services)
{
    struct cache *c = cache_new(&service_record);
    cache_replace_begin(c);
    ck_assert_msg(cache_replace_end(c) && cache_synced(c), "there is none, now known");
    ck_assert(cache_put(c, odd_service("web", SERVICE_AS_IT_IS)));
    cache_replace_begin(c);
    ck_assert(!cache_put(c, odd_service("web", SERVICE_AS_IT_IS)));
    ck_assert(!cache_replace_end(c));
    cache_replace_begin(c);
    ck_assert(!cache_put(c, odd_service("web", SERVICE_PAUSED)));
    ck_assert(!service_of(c, "web")->paused);
    ck_assert(cache_replace_end(c));
    ck_assert(service_of(c, "web")->paused);
    cache_replace_begin(c);
    ck_assert(cache_replace_end(c));
    ck_assert_ptr_null(cache_find(c, "web"));
    ck_assert(cache_synced(c));
    cache_put(c, odd_service("web", SERVICE_AS_IT_IS));
    cache_forget(c);
    ck_assert(cache_find(c, "web") == NULL && !cache_synced(c));
    cache_free(c);
}

struct listed {
    struct buf text;
    size_t bytes;
};

static void append_node(void *arg, const void *node)
{
    const struct node *n = node;
    struct listed *l = arg;
    size_t bytes;
    free(record_pack(&node_record, n, 0, &bytes));
    l->bytes += bytes;
    buf_printf(&l->text, "%s=%s ", n->name, address_of(n));
}

static void expect_nodes(const struct cache *c, const char *want)
{
    struct listed have = {.bytes = 0};
    buf_init(&have.text, 0);
    cache_each(c, append_node, &have);
    ck_assert_str_eq(buf_str(&have.text), want);
    ck_assert_uint_eq(cache_bytes(c), have.bytes);
    buf_fini(&have.text);
}

TEST(a_search_goes_by_name)
{
    struct cache *c = cache_new(&node_record);
    expect_nodes(c, "");
    static const char *const names[] = {"c", "a", "e", "b", "d", "aa"};
    for (size_t i = 0; i < array_len(names); i++) {
        cleanup(mem_free_ptr) char *node = mem_printf("node %s", names[i]);
        put(c, node);
    }
    expect_nodes(c, "a=- aa=- b=- c=- d=- e=- ");
    cache_free(c);
}

TEST(a_replace_is_seen_only_at_its_end)
{
    struct cache *c = cache_new(&node_record);
    put(c, "node n1 10.0.0.1");
    put(c, "node n2 10.0.0.2");
    cache_replace_begin(c);
    ck_assert(!put(c, "node n2 10.0.0.9"));
    ck_assert(!put(c, "node n3 10.0.0.3"));
    ck_assert(!put(c, "node n4 10.0.0.4"));
    ck_assert(!cache_delete(c, "n4"));
    ck_assert(!cache_delete(c, "n1"));
    expect_nodes(c, "n1=10.0.0.1 n2=10.0.0.2 ");
    ck_assert_uint_eq(cache_count(c), 2);
    ck_assert(!cache_synced(c));
    uint64_t before = cache_version(c);
    ck_assert(cache_replace_end(c));
    ck_assert(cache_removed(c) > before && cache_version(c) > before);
    expect_nodes(c, "n2=10.0.0.9 n3=10.0.0.3 ");
    ck_assert(cache_synced(c));
    cache_free(c);
}

TEST(a_replace_says_whether_anything_differs)
{
    struct cache *c = cache_new(&node_record);
    cache_replace_begin(c);
    ck_assert_msg(cache_replace_end(c), "synced for the first time, though empty");
    cache_replace_begin(c);
    ck_assert_msg(!cache_replace_end(c), "empty still");
    ck_assert_msg(!cache_replace_end(c), "none is open");
    static const struct {
        const char *lines;
        bool differs;
    } lists[] = {
        {"node n1 10.0.0.1\nnode n2 10.0.0.2", true},
        {"node n2 10.0.0.2\nnode n1 10.0.0.1", false},
        {"node n1 10.0.0.1\nnode n2 10.0.0.3", true},
        {"node n1 10.0.0.1", true},
        {"node n1 10.0.0.1\nnode n1 10.0.0.9\nnode n1 10.0.0.1", false},
        {"node n1 10.0.0.1\nnode n1 10.0.0.9", true},
        {"node n2 10.0.0.9", true},
        {"", true},
        {"", false},
    };
    for (size_t i = 0; i < array_len(lists); i++) {
        cache_replace_begin(c);
        text_put_all(&(struct object_caches){.nodes = c}, lists[i].lines);
        ck_assert_msg(cache_replace_end(c) == lists[i].differs, "list %zu", i);
    }
    cache_free(c);
}

TEST(an_aborted_replace_leaves_nothing)
{
    struct cache *c = cache_new(&node_record);
    put(c, "node n1 10.0.0.1");
    cache_replace_begin(c);
    put(c, "node n1 10.0.0.1");
    put(c, "node n2 10.0.0.2");
    cache_replace_abort(c);
    ck_assert_msg(put(c, "node n3 10.0.0.3"), "puts go to the live set again");
    expect_nodes(c, "n1=10.0.0.1 n3=10.0.0.3 ");
    ck_assert(!cache_synced(c));
    ck_assert_msg(!cache_replace_end(c), "none is open");
    cache_replace_begin(c);
    put(c, "node n1 10.0.0.1");
    put(c, "node n4 10.0.0.4");
    cache_replace_begin(c);
    put(c, "node n3 10.0.0.3");
    ck_assert(cache_replace_end(c));
    expect_nodes(c, "n3=10.0.0.3 ");
    cache_free(c);
}

/* What was listed and cannot be read: its last good state is better than none. */
TEST(keeping_through_a_replace)
{
    struct cache *c = cache_new(&node_record);
    text_sync(c);
    put(c, "node n1 10.0.0.1");
    put(c, "node n2 10.0.0.2");
    cache_keep(c, "n1"); /* no replace: it stays anyway */
    cache_replace_begin(c);
    cache_keep(c, "n9");
    cache_keep(c, "n2");
    put(c, "node n1 10.0.0.1");
    ck_assert_msg(!cache_replace_end(c), "all of it as before");
    expect_nodes(c, "n1=10.0.0.1 n2=10.0.0.2 ");
    cache_replace_begin(c);
    cache_keep(c, "n2");
    put(c, "node n2 10.0.0.8");
    put(c, "node n3 10.0.0.3");
    cache_keep(c, "n3");
    ck_assert(cache_replace_end(c));
    expect_nodes(c, "n2=10.0.0.8 n3=10.0.0.3 ");
    cache_replace_begin(c);
    put(c, "node n2 10.0.0.9");
    cache_keep(c, "n2");
    cache_keep(c, "n3");
    cache_delete(c, "n3");
    ck_assert(cache_replace_end(c));
    expect_nodes(c, "n2=10.0.0.9 ");
    cache_replace_begin(c);
    ck_assert_msg(cache_replace_end(c), "for the one replace only");
    expect_nodes(c, "");
    cache_free(c);
}

TEST(forgetting)
{
    struct cache *c = cache_new(&node_record);
    text_sync(c);
    put(c, "node n1 10.0.0.1");
    cache_replace_begin(c);
    put(c, "node n2");
    cache_forget(c);
    ck_assert_uint_eq(cache_count(c), 0);
    ck_assert(!cache_synced(c));
    ck_assert(!cache_replace_end(c));
    cache_free(c);
    cache_free(NULL);
}

static void note_comes(void *arg, const void *object)
{
    const struct node *n = object;
    buf_printf(arg, "+%s=%s ", n->name, address_of(n));
}

static void note_goes(void *arg, const void *object)
{
    const struct node *n = object;
    buf_printf(arg, "-%s=%s ", n->name, address_of(n));
}

static void check_notes(struct buf *notes, const char *says)
{
    ck_assert_str_eq(notes->len > 0 ? buf_str(notes) : "", says);
    buf_clear(notes);
}

TEST(who_follows_gets_what_readers_see)
{
    struct cache *c = cache_new(&node_record);
    cleanup(buf_fini) struct buf notes = {0};
    cache_follow(c, note_comes, note_goes, &notes);
    cache_replace_begin(c);
    put(c, "node n1 1.1.1.1");
    put(c, "node n2 1.1.1.2");
    check_notes(&notes, "");
    cache_replace_end(c);
    check_notes(&notes, "+n1=1.1.1.1 +n2=1.1.1.2 ");
    put(c, "node n1 1.1.1.1");
    check_notes(&notes, "");
    put(c, "node n1 2.2.2.2");
    check_notes(&notes, "-n1=1.1.1.1 +n1=2.2.2.2 ");
    cache_delete(c, "n2");
    check_notes(&notes, "-n2=1.1.1.2 ");
    cache_replace_begin(c);
    put(c, "node n1 3.3.3.3");
    put(c, "node n3 1.1.1.3");
    cache_replace_end(c);
    check_notes(&notes, "-n1=2.2.2.2 +n1=3.3.3.3 +n3=1.1.1.3 ");
    cache_replace_begin(c);
    put(c, "node n3 1.1.1.3");
    cache_replace_end(c);
    check_notes(&notes, "-n1=3.3.3.3 ");
    cache_free(c);
    check_notes(&notes, "");
}
