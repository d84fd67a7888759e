#include "model/objects.h"

#include "odd_objects.h"

#include "../test.h"

TEST(nodes_are_equal_in_everything_kept)
{
    for (unsigned i = 0; i < NODE_THINGS; i++)
        for (unsigned k = 0; k < NODE_THINGS; k++) {
            cleanup(node_free_ptr) struct node *a = odd_node("n1", i), *b = odd_node("n1", k);
            ck_assert_msg(record_eq(&node_record, a, b) == (i == k), "%u and %u", i, k);
        }
    cleanup(node_free_ptr) struct node *a = odd_node("n1", NODE_NO_ADDRESS), *b = odd_node("n2", NODE_NO_ADDRESS);
    ck_assert(!record_eq(&node_record, a, b));
}

TEST(services_are_equal_in_everything_kept)
{
    for (unsigned i = 0; i < SERVICE_THINGS; i++)
        for (unsigned k = 0; k < SERVICE_THINGS; k++) {
            cleanup(service_free_ptr) struct service *a = odd_service("web", i), *b = odd_service("web", k);
            ck_assert_msg(record_eq(&service_record, a, b) == (i == k), "%u and %u", i, k);
        }
    cleanup(service_free_ptr) struct service *a = odd_service("web", 0), *b = odd_service("api", 0);
    ck_assert(!record_eq(&service_record, a, b));
}

/* A set with two groups; each bit of `other` changes one thing in it. */
enum {
    NAME,
    UID,
    GROUP_COUNT,
    PORT_COUNT,
    PORT_NAME,
    PORT_NUMBER,
    ENDPOINT_COUNT,
    ADDRESS,
    NODE_NAME,
    NO_NODE_NAME,
    READY,
    SERVING,
    TERMINATING,
    LAST_ADDRESS,
    THINGS
};

static void fill_first_group(struct endpoint_group *g, unsigned thing)
{
    g->port_count = thing == PORT_COUNT ? 1 : 2;
    g->ports = mem_array(2, sizeof(*g->ports));
    for (size_t i = 0; i < g->port_count; i++)
        g->ports[i] = (struct endpoint_port){mem_strdup(i == 0 ? "http" : "https"), (uint16_t)(80 + i)};
    if (thing == PORT_NAME)
        g->ports[0].name[0] = 'x';
    if (thing == PORT_NUMBER)
        g->ports[0].number = 81;
    g->endpoint_count = thing == ENDPOINT_COUNT ? 0 : 1;
    g->endpoints = mem_array(1, sizeof(*g->endpoints));
    if (thing == ENDPOINT_COUNT)
        return;
    const char *node_name = thing == NO_NODE_NAME ? NULL : thing == NODE_NAME ? "n2" : "n1";
    g->endpoints[0] = (struct endpoint){mem_strdup(thing == ADDRESS ? "10.0.0.2" : "10.0.0.1"), mem_strdup(node_name),
                                        thing != READY, thing != SERVING, thing == TERMINATING};
}

static struct endpoint_set *new_set(unsigned thing)
{
    struct endpoint_set *s = mem_alloc(sizeof(*s));
    *s = (struct endpoint_set){mem_strdup(thing == NAME ? "x" : "web"), thing == UID ? 8 : 7, NULL, 0};
    s->group_count = thing == GROUP_COUNT ? 3 : 2;
    s->groups = mem_array(s->group_count, sizeof(*s->groups));
    fill_first_group(&s->groups[0], thing);
    s->groups[1].endpoint_count = 1;
    s->groups[1].endpoints = mem_array(1, sizeof(*s->groups[1].endpoints));
    s->groups[1].endpoints[0].address = mem_strdup(thing == LAST_ADDRESS ? "fd00::2" : "fd00::1");
    return s;
}

TEST(sets_are_equal_in_everything_kept)
{
    for (unsigned i = 0; i <= THINGS; i++)
        for (unsigned k = 0; k <= THINGS; k++) {
            cleanup(endpoint_set_free_ptr) struct endpoint_set *a = new_set(i), *b = new_set(k);
            ck_assert_msg(record_eq(&endpoint_set_record, a, b) == (i == k), "%u and %u", i, k);
        }
}

TEST(nothing_and_half_filled_objects_are_freed)
{
    record_free(&node_record, NULL);
    record_free(&service_record, NULL);
    record_free(&endpoint_set_record, NULL);
    record_free(&node_record, mem_alloc(sizeof(struct node)));
    record_free(&service_record, mem_alloc(sizeof(struct service)));
    record_free(&endpoint_set_record, mem_alloc(sizeof(struct endpoint_set)));
    struct node *n = NULL;
    struct service *service = NULL;
    struct endpoint_set *s = NULL;
    node_free_ptr(&n);
    service_free_ptr(&service);
    endpoint_set_free_ptr(&s);
    n = mem_alloc(sizeof(*n));
    n->addresses = mem_array(NODE_ADDRESSES_MAX, sizeof(*n->addresses)); /* room for more than there are */
    record_free(&node_record, n);
    service = mem_alloc(sizeof(*service));
    service->ports = mem_array(3, sizeof(*service->ports));
    record_free(&service_record, service);
    s = mem_alloc(sizeof(*s));
    s->groups = mem_array(2, sizeof(*s->groups));
    s->group_count = 2;
    s->groups[1].ports = mem_array(5, sizeof(*s->groups[1].ports)); /* room for more than there are */
    record_free(&endpoint_set_record, s);
}
