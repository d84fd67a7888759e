/* Which backend is for which port of which Service: from INGRESS_SERVICES, or from the variables of the single form. */
#ifndef SETTINGS_SERVICES_H
#define SETTINGS_SERVICES_H

struct settings;
struct settings_findings;

/* Makes c->mappings and c's default of the backend's name of what the other fields hold, and reports everything that is
 * wrong with INGRESS_SERVICES and beside it. The mappings are whole only where nothing was reported, by anybody. */
void services_parse(struct settings *c, struct settings_findings *found);

#endif
