#include "model/service_port.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#define PORTS_SHOWN 8

void port_choice_fini(struct port_choice *c)
{
    mem_free_all(c->problem, c->reason);
    *c = (struct port_choice){.source = PORT_UNDECIDED};
}

/* "http 80, https 443". */
static char *list_ports(const struct service *s)
{
    struct buf b = {0};
    for (size_t i = 0; i < s->port_count && i < PORTS_SHOWN; i++) {
        const struct service_port *p = &s->ports[i];
        const char *name = p->name; /* NOLINT(clang-analyzer-core.NullDereference) */
        buf_printf(&b, "%s%s%s%u", i > 0 ? ", " : "", name, str_empty(name) ? "" : " ", p->number);
    }
    if (s->port_count > PORTS_SHOWN)
        buf_add(&b, ", ...");
    return buf_take(&b);
}

static bool service_port_is_number(const char *asked, uint64_t *ret)
{
    return str_parse_uint(asked, UINT16_MAX, ret) == 0;
}

/* A name first: Kubernetes allows names that are all digits. */
static const struct service_port *service_port_find_port(const struct service *s, const char *asked)
{
    uint64_t number = 0;
    for (size_t i = 0; i < s->port_count; i++)
        if (str_eq(s->ports[i].name, asked))
            return &s->ports[i];
    if (!service_port_is_number(asked, &number))
        return NULL;
    for (size_t i = 0; i < s->port_count; i++)
        if (s->ports[i].number == number)
            return &s->ports[i];
    return NULL;
}

/* What the settings and the Service leave open; NULL: *ret is the port, or NULL where none was asked for. */
static char *service_port_find_problem(const struct service *s, const char *where, const char *asked, bool fixed,
                                       const struct service_port **ret)
{
    if (fixed && asked == NULL)
        return NULL;
    if (s->type == SERVICE_EXTERNAL_NAME)
        return mem_printf("Service %s is of type ExternalName, a DNS alias without endpoints of its own: name the "
                          "Service whose pods take the traffic",
                          where);
    if (s->port_count == 0)
        return mem_printf("Service %s has no TCP port, and servers of HAProxy speak TCP: give it one, or name another "
                          "Service",
                          where);
    if (asked == NULL && s->port_count > 1) {
        cleanup(mem_free_ptr) char *ports = list_ports(s);
        return mem_printf("Service %s has %u ports (%s): set INGRESS_SERVICE_PORT to the name or number of one, or "
                          "give it in INGRESS_SERVICES",
                          where, s->port_count, ports);
    }
    *ret = asked != NULL ? service_port_find_port(s, asked) : &s->ports[0];
    if (*ret != NULL)
        return NULL;
    cleanup(mem_free_ptr) char *ports = list_ports(s);
    return mem_printf("Service %s has no port \"%s\"; it has %s: fix INGRESS_SERVICE_PORT or INGRESS_SERVICES", where,
                      asked, ports);
}

static char *endpoint_reason(const char *name)
{
    return str_empty(name) ? mem_strdup("the endpoint's own port") : mem_printf("the endpoint's own port %s", name);
}

static void choose_known(const struct service *s, const char *where, const char *asked, uint16_t fixed_port,
                         struct port_choice *ret)
{
    const struct service_port *port = NULL;
    ret->problem = service_port_find_problem(s, where, asked, fixed_port != 0, &port);
    if (ret->problem != NULL)
        return;
    ret->name = port != NULL ? port->name : NULL;
    if (port == NULL || fixed_port != 0) {
        ret->source = PORT_FIXED;
        ret->number = fixed_port;
        ret->reason = mem_strdup("HAPROXY_BACKEND_PORT");
    } else if ((s->type == SERVICE_NODE_PORT || s->type == SERVICE_LOAD_BALANCER) && port->node_port != 0) {
        ret->source = PORT_NODE_PORT;
        ret->number = port->node_port;
        ret->reason = str_empty(port->name) ? mem_printf("nodePort %u of its port %u", port->node_port, port->number)
                                            : mem_printf("nodePort %u of its port %s", port->node_port, port->name);
    } else {
        ret->source = PORT_ENDPOINT;
        ret->reason = endpoint_reason(port->name);
    }
}

static void choose_unknown(const char *where, const char *asked, uint16_t fixed_port, struct port_choice *ret)
{
    uint64_t number = 0;
    bool numeric = asked != NULL && service_port_is_number(asked, &number);
    if (numeric && fixed_port == 0) {
        ret->problem = mem_printf("port %s of Service %s is a number, which needs the Service, and that does not exist "
                                  "or may not be read: grant list and watch on services, or give the port's "
                                  "name in INGRESS_SERVICE_PORT or INGRESS_SERVICES",
                                  asked, where);
        return;
    }
    ret->name = numeric ? NULL : asked;
    ret->source = fixed_port != 0 ? PORT_FIXED : PORT_ENDPOINT;
    ret->number = fixed_port;
    ret->reason = fixed_port != 0 ? mem_strdup("HAPROXY_BACKEND_PORT") : endpoint_reason(asked);
}

void service_port_choose(const struct service *service, const char *where, const char *asked, uint16_t fixed_port,
                         struct port_choice *ret)
{
    *ret = (struct port_choice){.source = PORT_UNDECIDED};
    if (str_empty(asked))
        asked = NULL;
    if (service != NULL)
        choose_known(service, where, asked, fixed_port, ret);
    else
        choose_unknown(where, asked, fixed_port, ret);
}
