/* src/model/service_port: every rule is a row: the Service, what was asked for, the port or the question that is left. */

#include "model/service_port.h"

#include "../test.h"

/* "NodePort http/80:30080 /443": type and ports; the second one has no name and no nodePort. */
struct text_service {
    struct service service;
    struct service_port ports[16];
    char *words;
};

static enum service_type type_of(const char *word)
{
    static const char *const names[] = {[SERVICE_CLUSTER_IP] = "ClusterIP",
                                        [SERVICE_NODE_PORT] = "NodePort",
                                        [SERVICE_LOAD_BALANCER] = "LoadBalancer",
                                        [SERVICE_EXTERNAL_NAME] = "ExternalName"};
    for (size_t i = 0; i < array_len(names); i++)
        if (strcmp(names[i], word) == 0)
            return (enum service_type)i;
    ck_abort_msg("type \"%s\"", word);
}

static void read_service(struct text_service *t, const char *text)
{
    *t = (struct text_service){.words = mem_strdup(text)};
    char *rest = t->words;
    t->service.type = type_of(strsep(&rest, " "));
    t->service.ports = t->ports;
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        uint64_t number = 0, node_port = 0;
        char *name = strsep(&word, "/"), *port = strsep(&word, ":");
        ck_assert(str_parse_uint(port, 65535, &number) == 0);
        ck_assert(word == NULL || str_parse_uint(word, 65535, &node_port) == 0);
        t->ports[t->service.port_count++] = (struct service_port){name, (uint16_t)number, (uint16_t)node_port};
    }
}

#define TWO "NodePort http/80:30080 https/443:30443"
#define TWO_INNER "ClusterIP http/80 https/443"
#define NINE "ClusterIP a/1 b/2 c/3 d/4 e/5 f/6 g/7 h/8 i/9"

static const struct {
    const char *service; /* NULL: not known */
    const char *wanted;  /* NULL: not given */
    uint16_t fixed;
    const char
        *choice; /* "fixed 8080", "nodePort 30443 https", "endpoint https", "undecided"; "-": name NULL, "''": "" */
    const char *says; /* its reason, or what its problem has to say, parts between '|' */
} rows[] = {
    /* one port */
    {"NodePort /80:30080", NULL, 0, "nodePort 30080 ''", "nodePort 30080 of its port 80"},
    {"NodePort http/80:30080", NULL, 0, "nodePort 30080 http", "nodePort 30080 of its port http"},
    {"LoadBalancer http/80:30080", NULL, 0, "nodePort 30080 http", "nodePort 30080 of its port http"},
    {"LoadBalancer http/80", NULL, 0, "endpoint http",
     "the endpoint's own port http"}, /* allocateLoadBalancerNodePorts */
    {"ClusterIP http/80", NULL, 0, "endpoint http", "the endpoint's own port http"},
    {"ClusterIP /80", NULL, 0, "endpoint ''", "the endpoint's own port"},
    {"ClusterIP http/80:30080", NULL, 0, "endpoint http",
     "the endpoint's own port http"}, /* a port of an earlier life */
    {"NodePort http/80:30080", "http", 0, "nodePort 30080 http", "nodePort 30080 of its port http"},
    {"NodePort http/80:30080", "80", 0, "nodePort 30080 http", "nodePort 30080 of its port http"},
    {"NodePort /80:30080", "80", 0, "nodePort 30080 ''", "nodePort 30080 of its port 80"},
    {"NodePort http/80:30080", "", 0, "nodePort 30080 http", "nodePort 30080 of its port http"},
    /* several */
    {TWO, "https", 0, "nodePort 30443 https", "nodePort 30443 of its port https"},
    {TWO, "443", 0, "nodePort 30443 https", "nodePort 30443 of its port https"},
    {TWO, "80", 0, "nodePort 30080 http", "nodePort 30080 of its port http"},
    {TWO_INNER, "https", 0, "endpoint https", "the endpoint's own port https"},
    {TWO_INNER, "443", 0, "endpoint https", "the endpoint's own port https"},
    {TWO, NULL, 0, "undecided",
     "Service ns/web has 2 ports (http 80, https 443)|INGRESS_SERVICE_PORT|INGRESS_SERVICES"},
    {NINE, NULL, 0, "undecided", "has 9 ports (a 1, b 2, c 3, d 4, e 5, f 6, g 7, h 8, ...)"},
    {NINE, "i", 0, "endpoint i", "the endpoint's own port i"},
    {NINE, "9", 0, "endpoint i", "the endpoint's own port i"},
    /* a name goes before a number */
    {"NodePort 443/80:30080 https/443:30443", "443", 0, "nodePort 30080 443", "nodePort 30080 of its port 443"},
    {"NodePort https/443:30443 443/80:30080", "443", 0, "nodePort 30080 443", "nodePort 30080 of its port 443"},
    /* what it lacks */
    {TWO, "httpx", 0, "undecided",
     "Service ns/web has no port \"httpx\"; it has http 80, https 443: fix INGRESS_SERVICE_PORT or INGRESS_SERVICES"},
    {TWO, "HTTP", 0, "undecided", "no port \"HTTP\""},
    {TWO, "8443", 0, "undecided", "no port \"8443\""},
    {TWO, "30443", 0, "undecided", "no port \"30443\""}, /* a nodePort is not its port's number */
    {TWO, "0", 0, "undecided", "no port \"0\""},
    {TWO, "65979", 0, "undecided", "no port \"65979\""}, /* 443 + 65536 */
    {"NodePort /80:30080", "http", 0, "undecided", "no port \"http\"; it has 80: fix"},
    {NINE, "z", 0, "undecided", "g 7, h 8, ...: fix"},
    {"ClusterIP", NULL, 0, "undecided", "Service ns/web has no TCP port"},
    {"ClusterIP", "http", 0, "undecided", "Service ns/web has no TCP port"},
    {"ExternalName", NULL, 0, "undecided", "ns/web is of type ExternalName|without endpoints of its own"},
    {"ExternalName http/80", "http", 0, "undecided", "of type ExternalName"},
    /* the fixed one */
    {"NodePort http/80:30080", NULL, 8080, "fixed 8080 -", "HAPROXY_BACKEND_PORT"},
    {TWO, NULL, 8080, "fixed 8080 -", "HAPROXY_BACKEND_PORT"},
    {"ClusterIP", NULL, 8080, "fixed 8080 -", "HAPROXY_BACKEND_PORT"},
    {"ExternalName", NULL, 8080, "fixed 8080 -", "HAPROXY_BACKEND_PORT"},
    {TWO, "https", 8080, "fixed 8080 https", "HAPROXY_BACKEND_PORT"},
    {TWO, "443", 8080, "fixed 8080 https", "HAPROXY_BACKEND_PORT"},
    {TWO, "httpx", 8080, "undecided", "no port \"httpx\""},
    {"ClusterIP", "http", 8080, "undecided", "has no TCP port"},
    /* a Service that is not known */
    {NULL, NULL, 0, "endpoint -", "the endpoint's own port"},
    {NULL, "", 0, "endpoint -", "the endpoint's own port"},
    {NULL, "https", 0, "endpoint https", "the endpoint's own port https"},
    {NULL, "443", 0, "undecided", "port 443 of Service ns/web|grant list and watch on services|name"},
    {NULL, "65536", 0, "endpoint 65536", "the endpoint's own port 65536"}, /* no port number: then it is a name */
    {NULL, NULL, 8080, "fixed 8080 -", "HAPROXY_BACKEND_PORT"},
    {NULL, "https", 8080, "fixed 8080 https", "HAPROXY_BACKEND_PORT"},
    {NULL, "443", 8080, "fixed 8080 -", "HAPROXY_BACKEND_PORT"},
};

static char *text_of(const struct port_choice *c)
{
    const char *name = c->name == NULL ? "-" : c->name[0] == '\0' ? "''" : c->name;
    switch (c->source) {
    case PORT_UNDECIDED:
        break;
    case PORT_FIXED:
        return mem_printf("fixed %u %s", c->number, name);
    case PORT_NODE_PORT:
        return mem_printf("nodePort %u %s", c->number, name);
    case PORT_ENDPOINT:
        ck_assert_uint_eq(c->number, 0);
        return mem_printf("endpoint %s", name);
    }
    return mem_strdup("undecided");
}

static void assert_says(const char *text, const char *parts)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(parts);
    char *rest = copy;
    for (char *part; (part = strsep(&rest, "|")) != NULL;)
        ck_assert_msg(text != NULL && strstr(text, part) != NULL, "\"%s\" in: %s", part, text);
}

TEST_EACH(choices, array_len(rows))
{
    struct text_service t = {0};
    struct port_choice choice;
    if (rows[_i].service != NULL)
        read_service(&t, rows[_i].service);
    service_port_choose(rows[_i].service != NULL ? &t.service : NULL, "ns/web", rows[_i].wanted, rows[_i].fixed,
                        &choice);
    cleanup(mem_free_ptr) char *text = text_of(&choice);
    ck_assert_msg(strcmp(text, rows[_i].choice) == 0, "%s wanting %s: %s (%s)", rows[_i].service, rows[_i].wanted, text,
                  choice.problem);
    if (choice.source == PORT_UNDECIDED) {
        ck_assert_ptr_null(choice.reason);
        assert_says(choice.problem, rows[_i].says);
    } else {
        ck_assert_ptr_null(choice.problem);
        ck_assert_str_eq(choice.reason, rows[_i].says);
    }
    port_choice_fini(&choice);
    port_choice_fini(&choice);
    free(t.words);
}
