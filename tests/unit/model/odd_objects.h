/*
 * A Node and a Service in which everything has a value, and their twins in which one thing is another: what is kept must distinguish
 * them all apart.
 */
#pragma once

#include <arpa/inet.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/objects.h"

static inline void node_free_ptr(struct node **n)
{
    record_free(&node_record, *n);
}

static inline void service_free_ptr(struct service **s)
{
    record_free(&service_record, *s);
}

static inline void endpoint_set_free_ptr(struct endpoint_set **s)
{
    record_free(&endpoint_set_record, *s);
}

enum node_thing {
    NODE_AS_IT_IS,
    NODE_UID,
    NODE_NO_ADDRESS,
    NODE_FEWER_ADDRESSES,
    NODE_ALL_ADDRESSES,
    NODE_FIRST_TEXT,
    NODE_LAST_TEXT,
    NODE_ADDRESS_TYPE,
    NODE_ADDRESS_ORDER,
    NODE_EXCLUDED,
    NODE_TO_BE_DELETED,
    NODE_DELETING,
    NODE_CORDONED,
    NODE_NOT_READY,
    NODE_THINGS
};

static inline void odd_address(struct node *n, enum node_address_type type, const char *text)
{
    n->addresses[n->address_count++] = (struct node_address){type, mem_strdup(text)};
}

static inline void odd_addresses(struct node *n, enum node_thing thing)
{
    n->addresses = mem_array(NODE_ADDRESSES_MAX, sizeof(*n->addresses));
    if (thing == NODE_ADDRESS_ORDER)
        odd_address(n, NODE_EXTERNAL_IP, "fd00::1");
    odd_address(n, thing == NODE_ADDRESS_TYPE ? NODE_EXTERNAL_IP : NODE_INTERNAL_IP,
                thing == NODE_FIRST_TEXT ? "10.0.0.2" : "10.0.0.1");
    if (thing != NODE_ADDRESS_ORDER)
        odd_address(n, NODE_EXTERNAL_IP, "fd00::1");
    if (thing != NODE_FEWER_ADDRESSES)
        odd_address(n, NODE_HOSTNAME, thing == NODE_LAST_TEXT ? "n1.example" : n->name);
    if (thing != NODE_ALL_ADDRESSES)
        return;
    odd_address(n, NODE_INTERNAL_IP, "fd00::2");
    odd_address(n, NODE_EXTERNAL_IP, "192.0.2.1");
    odd_address(n, NODE_HOSTNAME, "192.0.2.2");
    odd_address(n, NODE_HOSTNAME, "fd00::3");
}

static inline struct node *odd_node(const char *name, enum node_thing thing)
{
    struct node *n = mem_alloc(sizeof(*n));
    *n = (struct node){.name = mem_strdup(name),
                       .uid_hash = thing == NODE_UID ? 8 : 7,
                       .excluded_by = thing == NODE_EXCLUDED        ? 1
                                      : thing == NODE_TO_BE_DELETED ? 2
                                      : thing == NODE_DELETING      ? 4
                                                                    : 0,
                       .cordoned = thing == NODE_CORDONED,
                       .not_ready = thing == NODE_NOT_READY};
    if (thing != NODE_NO_ADDRESS)
        odd_addresses(n, thing);
    return n;
}

enum service_thing {
    SERVICE_AS_IT_IS,
    SERVICE_UID,
    SERVICE_UID_TEXT,
    SERVICE_NO_UID_TEXT,
    SERVICE_TYPE,
    SERVICE_LOCAL,
    SERVICE_CHECK_PORT,
    SERVICE_PAUSED,
    SERVICE_FIRST_FAMILY,
    SERVICE_SECOND_FAMILY,
    SERVICE_NO_PORT,
    SERVICE_FEWER_PORTS,
    SERVICE_PORT_NAME,
    SERVICE_LAST_PORT_NAME,
    SERVICE_PORT_NUMBER,
    SERVICE_PORT_NODE_PORT,
    SERVICE_THINGS
};

static inline void odd_ports(struct service *s, enum service_thing thing)
{
    s->ports = mem_array(2, sizeof(*s->ports));
    s->port_count = thing == SERVICE_FEWER_PORTS ? 1 : 2;
    s->ports[0] =
        (struct service_port){mem_strdup(thing == SERVICE_PORT_NAME ? "" : "http"),
                              thing == SERVICE_PORT_NUMBER ? 81 : 80, thing == SERVICE_PORT_NODE_PORT ? 0 : 30080};
    if (s->port_count > 1)
        s->ports[1] = (struct service_port){mem_strdup(thing == SERVICE_LAST_PORT_NAME ? "tls" : "https"), 443, 30443};
}

static inline struct service *odd_service(const char *name, enum service_thing thing)
{
    struct service *s = mem_alloc(sizeof(*s));
    *s = (struct service){.name = mem_strdup(name),
                          .uid_hash = thing == SERVICE_UID ? 8 : 7,
                          .uid =
                              thing == SERVICE_NO_UID_TEXT ? NULL : mem_strdup(thing == SERVICE_UID_TEXT ? "u8" : "u7"),
                          .type = thing == SERVICE_TYPE ? SERVICE_NODE_PORT : SERVICE_LOAD_BALANCER,
                          .local = thing != SERVICE_LOCAL,
                          .health_check_node_port = thing == SERVICE_CHECK_PORT ? 0 : 32000,
                          .paused = thing == SERVICE_PAUSED,
                          .families = {thing == SERVICE_FIRST_FAMILY ? AF_INET6 : AF_INET,
                                       thing == SERVICE_SECOND_FAMILY ? 0 : AF_INET6}};
    if (thing != SERVICE_NO_PORT)
        odd_ports(s, thing);
    return s;
}
