/* daemon/services/service_document: what is kept of a plan for /status, and how much of it. */

#include <yyjson.h>

#include "daemon/services/service_document.h"
#include "json/write.h"
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

static yyjson_mut_val *frontends_of(yyjson_mut_doc *report)
{
    return yyjson_mut_obj_get(yyjson_mut_doc_get_root(report), "frontends");
}

static uint64_t frontend_count(yyjson_mut_doc *report)
{
    return yyjson_mut_get_uint(yyjson_mut_obj_get(yyjson_mut_doc_get_root(report), "frontend_count"));
}

/* As JSON. */
static void check(yyjson_mut_val *value, const char *expected)
{
    char *text = yyjson_mut_val_write(value, 0, NULL);
    ck_assert_str_eq(text, expected);
    free(text);
}

TEST(what_is_kept)
{
    struct services_plan p;
    make(2, (const char *const[]){"443", "8443"}, 2, &p);
    yyjson_mut_doc *r = service_report_new(&p);
    unmake(2, &p); /* nothing of it is borrowed */
    ck_assert_uint_eq(yyjson_mut_arr_size(frontends_of(r)), 3);
    ck_assert_uint_eq(frontend_count(r), 3);
    check(yyjson_mut_arr_get(frontends_of(r), 0),
          "{\"address\":\"*\",\"port\":80,\"mode\":\"http\",\"tls\":false,\"route_count\":1,\"routes\":[{\"host\":"
          "\"h0.example\",\"path\":null,\"service\":\"ns/s0\",\"port\":\"web\",\"backend\":null,\"redirect\":"
          "\"https://h0.example\"}]}");
    check(yyjson_mut_arr_get(frontends_of(r), 1),
          "{\"address\":\"*\",\"port\":443,\"mode\":\"http\",\"tls\":true,\"route_count\":1,\"routes\":[{\"host\":"
          "\"h0.example\",\"path\":null,\"service\":\"ns/s0\",\"port\":\"web\",\"backend\":"
          "\"k8s-service_ns_s0_web_backend\",\"redirect\":null}]}");
    json_free(r);
}

/* So many routes of all frontends together; the counts are of all. */
TEST(how_much)
{
    struct services_plan p;
    size_t kept = 0, routes = 0, i, max;
    yyjson_mut_val *one;
    make(SERVICES, (const char *const[]){"8001", "8002", "8003"}, 3, &p);
    yyjson_mut_doc *r = service_report_new(&p);
    yyjson_mut_arr_foreach (frontends_of(r), i, max, one) {
        kept += yyjson_mut_arr_size(yyjson_mut_obj_get(one, "routes"));
        routes += yyjson_mut_get_uint(yyjson_mut_obj_get(one, "route_count"));
    }
    ck_assert_uint_eq(kept, SERVICE_REPORT_MAX);
    ck_assert_uint_eq(frontend_count(r), 3);
    ck_assert_uint_eq(routes, SERVICES);
    json_free(r);
    unmake(SERVICES, &p);
    make(0, (const char *const[]){"1"}, 1, &p);
    r = service_report_new(&p);
    ck_assert(yyjson_mut_arr_size(frontends_of(r)) == 0 && frontend_count(r) == 0);
    unmake(0, &p);
    json_free(r);
}

/* Frontends whose routes are all beyond the bound are counted alone. */
TEST(how_many_frontends)
{
    struct services_plan p;
    char *listen_ports[SERVICES];
    for (size_t i = 0; i < SERVICES; i++)
        listen_ports[i] = mem_printf("%zu", 1000 + i);
    make(SERVICES, (const char *const *)listen_ports, SERVICES, &p);
    yyjson_mut_doc *r = service_report_new(&p);
    ck_assert_uint_eq(yyjson_mut_arr_size(frontends_of(r)), SERVICE_REPORT_MAX);
    ck_assert_uint_eq(frontend_count(r), SERVICES);
    unmake(SERVICES, &p);
    for (size_t i = 0; i < SERVICES; i++)
        free(listen_ports[i]);
    json_free(r);
}
