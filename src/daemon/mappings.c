#include "daemon/mappings.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/settings.h"
#include "servers/desired/explain.h"
#include "servers/desired/update.h"

static size_t service_index(struct mappings *m, const struct settings_mapping *of)
{
    for (size_t i = 0; i < m->service_count; i++)
        if (str_eq(m->services[i].namespace, of->namespace) && str_eq(m->services[i].name, of->service))
            return i;
    m->services[m->service_count] = (struct sources_service){of->namespace, of->service};
    return m->service_count++;
}

void mappings_init(struct mappings *m, const struct settings *settings)
{
    size_t count = settings->mapping_count;
    *m = (struct mappings){.list = mem_array(count, sizeof(m->list[0])),
                           .count = count,
                           .backends = mem_array(count, sizeof(m->backends[0])),
                           .services = mem_array(count, sizeof(m->services[0])),
                           .keep = rules_for_keep(settings)};
    for (size_t i = 0; i < count; i++) {
        const struct settings_mapping *of = &settings->mappings[i];
        m->list[i] = (struct mapping){.backend = of->backend,
                                      .service = service_index(m, of),
                                      .rules = rules_for_mapping(settings, of),
                                      .states = server_states_new(),
                                      .memory = desired_memory_new()};
        m->backends[i] = of->backend;
    }
}

void mappings_fini(struct mappings *m)
{
    for (size_t i = 0; i < m->count; i++) {
        server_states_free(m->list[i].states);
        desired_memory_free(m->list[i].memory);
    }
    free((void *)m->keep.list);
    free(m->list);
    free(m->backends);
    free(m->services);
    *m = (struct mappings){0};
}

static struct desired_input input_of(const struct mapping *m, const struct sources *sources)
{
    return (struct desired_input){.caches = sources_caches(sources, m->service),
                                  .service_denied = sources_service_denied(sources, m->service),
                                  .rules = &m->rules};
}

void mapping_compute(const struct mapping *m, const struct sources *sources, uint64_t now_ms, struct desired *ret)
{
    struct desired_input in = input_of(m, sources);
    in.states = m->states;
    in.now_ms = now_ms;
    desired_compute(&in, ret);
}

const struct desired *mapping_update(const struct mapping *m, const struct sources *sources, uint64_t now_ms)
{
    struct desired_input in = input_of(m, sources);
    in.states = m->states;
    in.now_ms = now_ms;
    return desired_update(m->memory, &in);
}

int mapping_explain(const struct mapping *m, const struct sources *sources, const char *node, struct explanation *ret)
{
    struct desired_input in = input_of(m, sources);
    *ret = (struct explanation){.state = SERVER_OUT};
    return sources_synced(sources, m->service) ? explain_node(&in, node, ret) : -1;
}
