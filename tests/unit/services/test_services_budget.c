/* What one namespace may have served, so that its size is its own matter. */

#include "services/plan.h"

#include "../test.h"

#define COUNT (SERVICES_NAMESPACE_PORTS + 2)

static struct annotated_service services[COUNT];
static struct service_port ports[COUNT];
static struct object_annotation notes[COUNT][2];

/* Of namespace a; the last, which is the youngest, of b. Each with a path of that length. */
static void make(size_t count, size_t path_bytes)
{
    for (size_t i = 0; i < count; i++) {
        ports[i] = (struct service_port){(char *)(uintptr_t) "web", 80, 30000};
        notes[i][0] = (struct object_annotation){mem_strdup(SERVICES_OWN_PREFIX "web.hostname"),
                                                 mem_printf("h%zu.example.com", i)};
        notes[i][1] = (struct object_annotation){mem_strdup(SERVICES_OWN_PREFIX "web.path"),
                                                 mem_printf("/%0*d", (int)path_bytes, 0)};
        services[i] =
            (struct annotated_service){.service = {.name = mem_printf("%s/s%zu", i + 1 < count ? "a" : "b", i),
                                                   .type = SERVICE_NODE_PORT,
                                                   .ports = &ports[i],
                                                   .port_count = 1},
                                       .annotations = notes[i],
                                       .annotation_count = 2,
                                       .created_us = (int64_t)i + 1};
    }
}

static void drop(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < 2; k++) {
            free(notes[i][k].name);
            free(notes[i][k].value);
        }
        free(services[i].service.name);
    }
}

static const struct {
    size_t count, path_bytes, served;
    const char *says;
} rows[] = {
    {COUNT - 1, 1, COUNT - 1, NULL},
    {COUNT, 1, COUNT - 1, "its namespace has 2000 older ports"},
    {1500, 1000, 0, "as long as those of one may be"},
};

TEST_EACH(what_is_too_much_is_left_out_and_others_go_on, array_len(rows))
{
    size_t count = rows[_i].count, served = 0;
    bool other = false;
    const struct annotated_service *list[COUNT];
    const struct services_rules rules = {.prefix = NULL};
    struct services_plan plan;
    make(count, rows[_i].path_bytes);
    for (size_t i = 0; i < count; i++)
        list[i] = &services[i];
    services_plan_make(list, count, &rules, &plan);
    for (size_t i = 0; i < plan.route_count; i++) {
        served += !plan.routes[i].refused;
        other = other || (!plan.routes[i].refused && str_has_prefix(plan.routes[i].service->service.name, "b/"));
    }
    ck_assert(other);
    ck_assert(served < count || rows[_i].says == NULL);
    ck_assert(rows[_i].served == 0 || served == rows[_i].served);
    ck_assert_uint_eq(plan.remark_count, count - served);
    for (size_t i = 0; i < plan.remark_count; i++)
        ck_assert_msg(plan.remarks[i].refused && strstr(plan.remarks[i].text, rows[_i].says) != NULL, "%s",
                      plan.remarks[i].text);
    services_plan_fini(&plan);
    drop(count);
}
