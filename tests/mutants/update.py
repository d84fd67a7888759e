"""The desired state from event to event (servers/desired/update): a change that concerns more places than are read, and what is
taken over that is no more."""

from .mutant import Mutant, room

UPDATE = "servers/desired/update.c"
WHERE = "servers/desired/update.c"
STATES = "servers/desired/server_state.c"
CACHE = "model/cache.c"

room("desired updates", ("test_cache", "test_update", "test_server_state"), (
    Mutant("desired: a Node that went is still there", UPDATE, "cache_removed(in->caches->nodes) <= m->nodes_version &&", ""),
    Mutant("desired: a Service changed, and no place did", UPDATE, "m->services_version == cache_version(in->caches->services) &&", ""),
    Mutant("desired: a slice that went is still there", UPDATE, "m->where.set_count == cache_count(m->cache) &&", ""),
    Mutant("desired: texts pile up", UPDATE, "text_pool_bytes(m->where.texts) <= m->where.texts_bytes * 2 + WASTE_BYTES &&", "true &&"),
    Mutant("desired: with NODE_MODE all a slice is of some places", UPDATE, "shared->state == DESIRED_OK && !r.all &&", "shared->state == DESIRED_OK &&"),
    Mutant("desired: the last ready one went, and the others drain", UPDATE, "r->problem == NULL && r->any_ready ?", "r->problem == NULL ?"),
    Mutant("desired: the user has to decide, and gets no reason", UPDATE, "return r->problem == NULL && r->any_ready ?", "return r->any_ready ?"),
    Mutant("desired: the others have no port", UPDATE, ".port = (says & KNOWN_PORT) != 0,", ".port = false,"),
    Mutant("desired: the others are of no family", UPDATE, ".same_family = (says & KNOWN_FAMILY) != 0,", ".same_family = false,"),
    Mutant("desired: the others are not ready", UPDATE, ".ready = (says & KNOWN_READY) != 0,", ".ready = false,"),
    Mutant("desired: the others are ready", UPDATE, ".ready = (says & KNOWN_READY) != 0,", ".ready = true,"),
    Mutant("desired: no other is alone", UPDATE, ".alone = (says & KNOWN_ALONE) != 0", ".alone = false"),
    Mutant("desired: a second port is none", WHERE, "clear = clear && set->groups[g].port_count <= 1 &&", "clear = clear &&"),
    Mutant("desired: another port is the same", WHERE, "str_eq(set->groups[g].ports[0].name, w->port));", "true);"),
    Mutant("desired: two places share a name", WHERE, "str_eq(r->order[i - 1]->server, r->order[i]->server))", "false)"),
    Mutant("desired: a name may be taken by what comes", WHERE, "if (w->odd || !named ||", "if (!named ||"),
    Mutant("desired: an address may be taken by what comes", WHERE, "if (w->odd || !named ||", "if (w->odd ||"),
    Mutant("desired: names are as they stand", WHERE, "!desired_is_server_name(e->node_name) ||", ""),
    Mutant("desired: names are all plain", WHERE, "w->odd = w->odd || !plain || !p->named;", ""),
    Mutant("desired: places without end", WHERE, "|| (w->place_count + 1) * 2 > w->slot_count)", ")"),
    Mutant("desired: where an endpoint was it stays", WHERE, "    for (size_t i = 0; i < s->count; i++)\n        w->places[s->places[i]].touched = true;\n    w->endpoint_count -=", "    w->endpoint_count -="),
    Mutant("desired: where an endpoint comes nothing is seen", WHERE, "                return;\n            }\n    for (size_t i = 0; i < s->count; i++)\n        w->places[s->places[i]].touched = true;\n", "                return;\n            }\n"),
    Mutant("desired: endpoints are counted twice", WHERE, "    w->endpoint_count -= s->count;\n", ""),
    Mutant("desired: time changes nothing", UPDATE, "p->touched = p->touched || (p->flags & (KNOWN_STEADY | KNOWN_EMPTY)) == 0;", ""),
    Mutant("desired: a server that drains is steady", WHERE, "serves && p->sign == SIGN_USABLE;", "serves;"),
    Mutant("desired: what is gone has a server", UPDATE, "if (!m->replaced[m->at])", "if (true)"),
    Mutant("desired: what is gone is remembered as seen", UPDATE, "            server_states_unsee(states, p->server);\n", "            ;\n"),
    Mutant("desired: what a place says is never forgotten", UPDATE, "            p->flags = p->part != 0 ?", "            p->flags |= p->part != 0 ?"),
    Mutant("desired: a Node changed, and no place did", WHERE, "    if (slot != 0)\n        w->places[slot - 1].touched = true;\n", "    (void)slot;\n"),
    Mutant("desired: no spare for a Node that came", UPDATE, "merge.moved || m->nodes_version != cache_version(r->in->caches->nodes)", "merge.moved"),
    Mutant("desired: what is deleted is not removed", CACHE, "            c->removed = c->version;\n        }\n        return", "        }\n        return"),
    Mutant("desired: what is not listed is not removed", CACHE, "        c->removed = c->version;\n        changed", "        changed"),
    Mutant("desired: a pause ends by an event", UPDATE, "    d.paused = m->last->paused;\n", ""),
    Mutant("desired: spares for servers that came", UPDATE, "m->moved = m->moved || was == m->last->server_count;", ""),
    Mutant("desired: no spare for what went", UPDATE, "m->moved = m->moved || again != replaced;", ""),
    Mutant("desired: spares keep a port", "servers/desired/desired_servers.c", "        s->port = spare_port(r, d);\n", ""),
    Mutant("desired: a pass sees what went", STATES, "        e->pass = 0;\n", "        ;\n"),
    Mutant("desired: time stands still", STATES, "void server_states_resume(struct server_states *s, uint64_t now_ms, uint64_t drain_timeout_ms)\n{\n    s->now_ms = now_ms;\n",
           "void server_states_resume(struct server_states *s, uint64_t now_ms, uint64_t drain_timeout_ms)\n{\n    (void)now_ms;\n"),
    Mutant("desired: a change has no version", CACHE, "        e->version = ++c->version;\n", "        e->version = c->version;\n"),
    Mutant("desired: a first list has no version", CACHE, "    e->version = c->version + 1;\n", "    ;\n"),
    Mutant("desired: a deletion has no version", CACHE, "        c->bytes -= e->bytes;\n        c->version++;\n", "        c->bytes -= e->bytes;\n"),
))

PLACES = "servers/desired/desired_places.c"

room("ports of endpoints", ("test_desired",), (
    Mutant("desired: in mode all a port needs its name", PLACES, "|| (r->all && str_empty(g->ports[0].name))", ""),
    Mutant("desired: a port without a name is each of them", PLACES, "(r->all && str_empty(g->ports[0].name))", "str_empty(g->ports[0].name)"),
))
