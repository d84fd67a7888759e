#include "config/services.h"

#include <stdlib.h>

#include "base/mem.h"
#include "config/config.h"

void services_parse(struct config *c, struct config_report *report)
{
    (void)report;
    c->mappings = mem_array(1, sizeof(c->mappings[0]));
    c->mapping_count = 1;
    c->mappings[0] = (struct config_mapping){.namespace = mem_strdup(c->ingress_namespace),
                                             .service = mem_strdup(c->ingress_service),
                                             .port = mem_strdup(c->ingress_port),
                                             .backend = mem_strdup(c->backend_name)};
}

void services_fini(struct config *c)
{
    for (size_t i = 0; i < c->mapping_count; i++) {
        struct config_mapping *m = &c->mappings[i];
        free(m->namespace);
        free(m->service);
        free(m->port);
        free(m->backend);
    }
    free(c->mappings);
}
