/* cli/doctor/doctor_service: thousands of nodes and endpoints in a few words. */
#include "cli/doctor/doctor_service.h"

#include <sys/socket.h>

#include "model/cache.h"
#include "model/node_rules.h"

#include "../test.h"

static void put_node(struct cache *c, const char *name, const char *ip, bool excluded, bool not_ready)
{
    struct node *n = mem_alloc(sizeof(*n));
    n->name = mem_strdup(name);
    if (ip != NULL) {
        n->addresses = mem_alloc(sizeof(n->addresses[0]));
        n->addresses[0] = (struct node_address){.type = NODE_INTERNAL_IP, .text = mem_strdup(ip)};
        n->address_count = 1;
    }
    n->excluded_by = excluded ? 1 : 0;
    n->not_ready = not_ready;
    cache_put(c, n);
}

TEST(nodes)
{
    cleanup(doctor_nodes_fini) struct doctor_nodes n;
    struct cache *c = cache_new(&node_record);
    const struct object_caches caches = {.nodes = c};
    char name[16];
    put_node(c, "a", "10.0.0.1", false, false);
    put_node(c, "b", "10.0.0.2", false, true);
    put_node(c, "c", NULL, false, false);
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof(name), "x%d", i);
        put_node(c, name, "10.0.1.1", true, false);
    }
    doctor_count_nodes(&caches, &node_rules_default, NULL, false, &n);
    ck_assert_uint_eq(n.all, 8);
    ck_assert_uint_eq(n.usable, 2);
    cleanup(mem_free_ptr) char *text = doctor_groups_text(n.left_out);
    ck_assert_msg(strstr(text,
                         "c: no address of the configured type and family; x0, x1, x2 and 2 more: it has the label "
                         "node.kubernetes.io/exclude-from-external-load-balancers") == text,
                  "%s", text);
    cache_free(c);
}

TEST(a_family_that_the_service_lacks)
{
    cleanup(doctor_nodes_fini) struct doctor_nodes n;
    struct cache *c = cache_new(&node_record);
    const struct object_caches caches = {.nodes = c};
    const struct service v6 = {.families = {AF_INET6, 0}};
    put_node(c, "a", "10.0.0.1", false, false);
    doctor_count_nodes(&caches, &node_rules_default, &v6, true, &n);
    ck_assert_uint_eq(n.usable, 0);
    cache_free(c);
}

TEST(more_reasons_than_there_is_room_for)
{
    struct doctor_group groups[DOCTOR_REASONS_MAX] = {0};
    static const char *const reasons[] = {"r1", "r2", "r3", "r4", "r5", "r6", "r1"};
    for (size_t i = 0; i < array_len(reasons); i++)
        doctor_group_add(groups, reasons[i], "n");
    cleanup(mem_free_ptr) char *text = doctor_groups_text(groups);
    ck_assert_str_eq(text, "n, n: r1; n: r2; n: r3; n, n, n: several reasons");
}

static void put_set(struct cache *c, const char *name, const char *endpoints)
{
    struct endpoint_set *s = mem_alloc(sizeof(*s));
    s->name = mem_strdup(name);
    s->groups = mem_alloc(sizeof(s->groups[0]));
    s->group_count = 1;
    s->groups[0].endpoints = mem_array(strlen(endpoints), sizeof(s->groups[0].endpoints[0]));
    s->groups[0].endpoint_count = strlen(endpoints);
    for (size_t i = 0; endpoints[i] != '\0'; i++)
        s->groups[0].endpoints[i] = (struct endpoint){
            .address = mem_strdup("10.1.1.1"), .ready = endpoints[i] == 'r', .terminating = endpoints[i] == 't'};
    cache_put(c, s);
}

TEST(endpoints)
{
    struct doctor_endpoints e;
    struct object_caches c = {.slices = cache_new(&endpoint_set_record), .endpoints = cache_new(&endpoint_set_record)};
    put_set(c.endpoints, "web", "rr");
    doctor_count_endpoints(&c, &e);
    ck_assert(!e.slices && e.ready == 2 && e.objects == 1);
    cache_replace_begin(c.slices);
    put_set(c.slices, "web-1", "rrt-");
    put_set(c.slices, "web-2", "r");
    ck_assert(cache_replace_end(c.slices));
    doctor_count_endpoints(&c, &e);
    ck_assert(e.slices && e.all == 5 && e.ready == 3 && e.objects == 2);
    cache_free(c.slices);
    cache_free(c.endpoints);
}
