/*
 * The port that HAProxy connects to, as far as the settings and the Service decide it. Pure.
 *
 * HAPROXY_BACKEND_PORT wins; else the nodePort of the chosen port, where the Service is of type NodePort or
 * LoadBalancer and has one; else the endpoint's own, which servers/desired/desired allows where the endpoint's address
 * is the server's.
 */
#pragma once

#include <stdint.h>

#include "model/objects.h"

enum port_source {
    PORT_UNDECIDED, /* `problem` says what the settings must decide */
    PORT_FIXED,     /* number */
    PORT_NODE_PORT, /* number; name is that of the Service's port */
    PORT_ENDPOINT,  /* the endpoint's own of that name; name NULL: its only one */
};

struct port_choice {
    enum port_source source;
    uint16_t number;
    /* Of the Service's port; endpoints without a port of that name (of those that have any) do not serve it. NULL: not
     * known, or not asked for: every endpoint counts. Borrowed from service or asked. */
    const char *name;
    char *problem; /* PORT_UNDECIDED: "Service ns/web has 2 ports (http 80, https 443): set INGRESS_SERVICE_PORT ..." */
    char *reason; /* otherwise: "nodePort 30443 of its port https", "HAPROXY_BACKEND_PORT", "the endpoint's own port" */
};

/* service NULL: it cannot be read, or there is none. asked: INGRESS_SERVICE_PORT or the port of a mapping, a name or a
 * number of the Service's port; NULL: not given. fixed_port 0: not given. where: "ns/web" for messages. */
void service_port_choose(const struct service *service, const char *where, const char *asked, uint16_t fixed_port,
                         struct port_choice *ret);
void port_choice_fini(struct port_choice *c);
