/*
 * How long the mapping takes, and how much memory: ENDPOINTS over NODES in the caches, mapped once cold and RUNS times warm
 * with one endpoint changed before each, as in the daemon. Prints one line of key=value; cpu_: the time that this program itself ran, whatever else the machine did.
 *
 *     mapping [NODES [ENDPOINTS [RUNS]]]      2000 20000 200
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "model/cache.h"
#include "servers/desired/update.h"

#define IN_A_SLICE 100 /* what Kubernetes puts into one */

struct size {
    unsigned nodes, endpoints, runs;
};

static void put_node(struct cache *c, unsigned i)
{
    struct node *n = mem_alloc(sizeof(*n));
    n->name = mem_printf("worker-%05u.example.internal", i);
    n->addresses = mem_array(1, sizeof(n->addresses[0]));
    n->addresses[0].text = mem_printf("10.%u.%u.%u", i / 62500, i / 250 % 250, i % 250 + 1);
    n->address_count = 1;
    cache_put(c, n);
}

/* changed: one that is not ready, for a difference from the last time. */
static void put_slice(struct cache *c, const struct size *size, unsigned slice, unsigned changed)
{
    struct endpoint_set *s = mem_alloc(sizeof(*s));
    s->name = mem_printf("web-%05u", slice);
    s->group_count = 1;
    s->groups = mem_array(1, sizeof(s->groups[0]));
    struct endpoint_group *g = s->groups;
    g->port_count = 1;
    g->ports = mem_array(1, sizeof(g->ports[0]));
    g->ports[0] = (struct endpoint_port){mem_strdup("https"), 8443};
    g->endpoints = mem_array(IN_A_SLICE, sizeof(g->endpoints[0]));
    for (unsigned i = slice * IN_A_SLICE; i < size->endpoints && g->endpoint_count < IN_A_SLICE; i++) {
        bool ready = i != changed;
        g->endpoints[g->endpoint_count++] =
            (struct endpoint){.address = mem_printf("10.%u.%u.%u", 128 + i / 62500, i / 250 % 250, i % 250 + 1),
                              .node_name = mem_printf("worker-%05u.example.internal", i % size->nodes),
                              .ready = ready,
                              .serving = ready};
    }
    cache_put(c, s);
}

static void put_service(struct cache *c)
{
    struct service *s = mem_alloc(sizeof(*s));
    *s = (struct service){.name = mem_strdup("web"), .type = SERVICE_NODE_PORT, .local = true, .port_count = 1};
    s->ports = mem_array(1, sizeof(s->ports[0]));
    s->ports[0] = (struct service_port){mem_strdup("https"), 443, 30443};
    cache_put(c, s);
}

static struct object_caches fill(const struct size *size)
{
    const struct object_caches c = {cache_new(&node_record), cache_new(&endpoint_set_record),
                                    cache_new(&endpoint_set_record), cache_new(&service_record)};
    struct cache *const listed[] = {c.nodes, c.slices, c.services};
    for (size_t i = 0; i < array_len(listed); i++)
        cache_replace_begin(listed[i]);
    for (unsigned i = 0; i < size->nodes; i++)
        put_node(c.nodes, i);
    for (unsigned i = 0; i * IN_A_SLICE < size->endpoints; i++)
        put_slice(c.slices, size, i, size->endpoints);
    put_service(c.services);
    for (size_t i = 0; i < array_len(listed); i++)
        cache_replace_end(listed[i]);
    return c;
}

struct took {
    uint64_t wall_us, cpu_us;
    unsigned differs;
};

static uint64_t cpu_us(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void check(const struct desired *d, const struct size *size)
{
    if (d->state == DESIRED_OK && d->endpoint_count == size->endpoints && d->server_count <= size->nodes)
        return;
    fprintf(stderr, "mapping: not what was expected: state %d, %zu servers: %s\n", d->state, d->server_count,
            d->problem != NULL ? d->problem : "no problem");
    exit(1);
}

/* *last: as the daemon keeps it until the next, and compares. */
static struct took map(struct desired_memory *m, const struct desired_input *in, const struct size *size,
                       const struct desired **last)
{
    uint64_t cpu = cpu_us(), wall = clock_mono_us();
    const struct desired *d = desired_update(m, in);
    unsigned differs = *last == NULL || !desired_eq(*last, d);
    desired_unref(*last);
    *last = d;
    struct took took = {clock_mono_us() - wall, cpu_us() - cpu, differs};
    check(d, size);
    return took;
}

/* The same without a memory. */
static struct took map_all(const struct desired_input *in, const struct size *size)
{
    struct desired d;
    uint64_t cpu = cpu_us(), wall = clock_mono_us();
    desired_compute(in, &d);
    struct took took = {clock_mono_us() - wall, cpu_us() - cpu, 0};
    check(&d, size);
    desired_fini(&d);
    return took;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void print_spread(const char *prefix, uint64_t *us, unsigned count)
{
    unsigned middle = count / 2;
    qsort(us, count, sizeof(us[0]), by_value);
    printf(" %smin_ms=%.2f %smedian_ms=%.2f", prefix, (double)us[0] / 1000, prefix, (double)us[middle] / 1000);
}

/* Of /proc/self/status; 0 where there is none. */
static unsigned long status_kib(const char *key)
{
    char line[256];
    unsigned long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && kib == 0 && fgets(line, sizeof(line), f) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtoul(line + strlen(key), NULL, 10);
    if (f != NULL)
        fclose(f);
    return kib;
}

static unsigned argument(int argc, char **argv, int i, unsigned otherwise)
{
    unsigned long n = argc > i ? strtoul(argv[i], NULL, 10) : otherwise;
    return n > 0 && n <= 10000000 ? (unsigned)n : otherwise;
}

int main(int argc, char **argv)
{
    struct size size = {argument(argc, argv, 1, 2000), argument(argc, argv, 2, 20000), argument(argc, argv, 3, 200)};
    struct mapping_rules rules = {
        .namespace = "ns", .service = "web", .nodes = node_rules_default, .drain_timeout_ms = 30000};
    struct object_caches c = fill(&size);
    struct desired_input in = {.caches = &c, .rules = &rules, .states = server_states_new()};
    struct desired_memory *memory = desired_memory_new();
    const struct desired *last = NULL;
    struct figures {
        uint64_t *wall, *cpu, *all;
        unsigned same;
    } f = {mem_array(size.runs, sizeof(uint64_t)), mem_array(size.runs, sizeof(uint64_t)),
           mem_array(size.runs, sizeof(uint64_t)), 0};
    struct took cold = map(memory, &in, &size, &last);
    for (unsigned i = 0; i < size.runs; i++) {
        unsigned changed = (unsigned)((i * 7919ull) % size.endpoints);
        put_slice(c.slices, &size, changed / IN_A_SLICE, changed);
        in.now_ms += 100;
        struct took warm = map(memory, &in, &size, &last);
        f.wall[i] = warm.wall_us;
        f.cpu[i] = warm.cpu_us;
        f.same += !warm.differs;
        put_slice(c.slices, &size, changed / IN_A_SLICE, size.endpoints);
    }
    printf("nodes=%u endpoints=%u cold_ms=%.2f", size.nodes, size.endpoints, (double)cold.wall_us / 1000);
    print_spread("", f.wall, size.runs);
    print_spread("cpu_", f.cpu, size.runs);
    /* Not ru_maxrss: that is inherited from the process that started this one. */
    printf(" peak_kib=%lu anon_kib=%lu", status_kib("VmHWM:"), status_kib("RssAnon:"));
    printf(" computed_in_full=%zu same=%u", desired_memory_full(memory), f.same);
    for (unsigned i = 0; i < size.runs; i++)
        f.all[i] = map_all(&in, &size).cpu_us;
    print_spread("all_cpu_", f.all, size.runs);
    printf("\n");
    free(f.wall);
    free(f.cpu);
    free(f.all);
    desired_unref(last);
    desired_memory_free(memory);
    server_states_free(in.states);
    cache_free(c.nodes);
    cache_free(c.slices);
    cache_free(c.endpoints);
    cache_free(c.services);
    return 0;
}
