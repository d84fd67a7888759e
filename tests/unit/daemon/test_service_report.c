/* daemon/services/service_report: what is kept of a plan for /status, and how much of it. */

#include "daemon/services/service_report.h"
#include "services/plan.h"

#include "../test.h"

#define SERVICES 700

static struct annotated_service services[SERVICES];
static const struct annotated_service *pointers[SERVICES];
static struct object_annotation notes[SERVICES][4];
static struct service_port port = {(char *)"web", 80, 30080};
static const struct services_rules rules = {.prefix = "p"};

/* One after the other at these ports, each with a host name of its own; at port 443 it redirects. */
static void make(size_t count, const char *const *listen_ports, size_t port_count, struct services_plan *ret)
{
    for (size_t i = 0; i < count; i++) {
        const char *at = listen_ports[i % port_count];
        services[i] = (struct annotated_service){
            .service = {.name = mem_printf("ns/s%zu", i), .type = SERVICE_NODE_PORT, .ports = &port, .port_count = 1},
            .annotations = notes[i],
            .annotation_count = array_len(notes[i])};
        notes[i][0] = (struct object_annotation){(char *)"p.web.hostname", mem_printf("h%zu.example", i)};
        notes[i][1] = (struct object_annotation){(char *)"p.web.listen-port", mem_strdup(at)};
        notes[i][2] = (struct object_annotation){(char *)"p.web.use-ssl", mem_strdup("true")};
        notes[i][3] =
            (struct object_annotation){(char *)"p.web.http-redirect", mem_strdup(str_eq(at, "443") ? "true" : "false")};
        pointers[i] = &services[i];
    }
    services_plan_make(pointers, count, &rules, ret);
}

static void unmake(size_t count, struct services_plan *p)
{
    services_plan_fini(p);
    for (size_t i = 0; i < count; i++) {
        free(services[i].service.name);
        for (size_t k = 0; k < array_len(notes[i]); k++)
            free(notes[i][k].value);
    }
}

TEST(what_is_kept)
{
    struct services_plan p;
    struct service_report r = {0};
    make(2, (const char *const[]){"443", "8443"}, 2, &p);
    service_report_take(&r, &p);
    unmake(2, &p); /* nothing of it is borrowed */
    ck_assert_uint_eq(r.count, 3);
    ck_assert_uint_eq(r.frontend_count, 3);
    const struct reported_frontend *http = &r.frontends[0], *https = &r.frontends[1];
    ck_assert(http->port == 80 && !http->tls && !http->tcp && http->route_count == 1 && http->kept == 1);
    ck_assert_str_eq(http->address, "*");
    ck_assert_str_eq(http->routes[0].sends, "https://h0.example");
    ck_assert_ptr_null(http->routes[0].backend);
    ck_assert(https->port == 443 && https->tls);
    ck_assert_str_eq(https->routes[0].host, "h0.example");
    ck_assert_str_eq(https->routes[0].service, "ns/s0");
    ck_assert_str_eq(https->routes[0].port, "web");
    ck_assert_str_eq(https->routes[0].backend, "k8s-service_ns_s0_web_backend");
    ck_assert_ptr_null(https->routes[0].sends);
    ck_assert_ptr_null(https->routes[0].path);
    service_report_fini(&r);
}

/* So many routes of all frontends together; the counts are of all. */
TEST(how_much)
{
    struct services_plan p;
    struct service_report r = {0};
    make(SERVICES, (const char *const[]){"8001", "8002", "8003"}, 3, &p);
    for (int times = 0; times < 2; times++)
        service_report_take(&r, &p);
    size_t kept = 0, routes = 0;
    for (size_t i = 0; i < r.count; i++) {
        kept += r.frontends[i].kept;
        routes += r.frontends[i].route_count;
    }
    ck_assert_uint_eq(kept, SERVICE_REPORT_MAX);
    ck_assert_uint_eq(r.frontend_count, 3);
    ck_assert_uint_eq(routes, SERVICES);
    unmake(SERVICES, &p);
    make(0, (const char *const[]){"1"}, 1, &p);
    service_report_take(&r, &p);
    ck_assert(r.count == 0 && r.frontend_count == 0);
    unmake(0, &p);
    service_report_fini(&r);
}

/* Frontends whose routes are all beyond the bound are counted alone. */
TEST(how_many_frontends)
{
    struct services_plan p;
    struct service_report r = {0};
    char *listen_ports[SERVICES];
    for (size_t i = 0; i < SERVICES; i++)
        listen_ports[i] = mem_printf("%zu", 1000 + i);
    make(SERVICES, (const char *const *)listen_ports, SERVICES, &p);
    service_report_take(&r, &p);
    ck_assert_uint_eq(r.count, SERVICE_REPORT_MAX);
    ck_assert_uint_eq(r.frontend_count, SERVICES);
    unmake(SERVICES, &p);
    for (size_t i = 0; i < SERVICES; i++)
        free(listen_ports[i]);
    service_report_fini(&r);
}
