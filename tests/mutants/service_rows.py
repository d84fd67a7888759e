"""The servers of annotated Services: whose slices they come of, which lines stay, and what is computed again."""

from .mutant import Mutant, room

SLICES = "model/service_slices.c"
ROW = "daemon/services/service_row.c"
ROWS = "daemon/services/service_rows.c"
SECRETS = "daemon/services/service_secrets.c"
DECODE = "kube/decode/decode_slice.c"

room("service rows: slices", ("test_service_slices",), (
    Mutant("the index is not made anew", SLICES, "    if (s->stale)\n        slices_index", "    if (s->sets == NULL)\n        slices_index"),
    Mutant("a slice that changes hands is no change of its old Service", SLICES, "        note(s, from);\n        note(s, to);", "        note(s, to);"),
    Mutant("a slice that comes is no change", SLICES, "        note(s, from);\n        note(s, to);", "        note(s, from);"),
    Mutant("a slice that goes is no change", SLICES, "    if (changed)\n        note(s, from);\n    return changed;\n}\n\nvoid service_slices_keep", "    (void)from;\n    s->stale = true;\n    return changed;\n}\n\nvoid service_slices_keep"),
    Mutant("a relist is no change", SLICES, "    if (changed)\n        note_all(s);", "    s->stale = s->stale || changed;"),
    Mutant("what is listed has no number", SLICES, "g->changed = s->changes;\n    g->count++;", "g->changed = 0;\n    g->count++;"),
))
room("service rows: decoded", ("test_decode_slice",), (
    Mutant("a slice is of a Service of any namespace", DECODE, 'mem_printf("%.*s/%s", (int)(slash - d->name), d->name, service)', "mem_strdup(service)"),
    Mutant("an empty label is a Service", DECODE, "if (!str_empty(service) && slash != NULL)", "if (service != NULL && slash != NULL)"),
))
room("service rows: lines", ("test_service_rows",), (
    Mutant("a line that is delayed stands there twice", ROW, "kept == 0 || bsearch(", "true || bsearch("),
    Mutant("what drains takes part in losses", ROW, "        if (s->state != SERVER_LIVE)\n            continue;\n        report.live++;", "        report.live++;"),
    Mutant("a guess is a loss", ROW, "!r->guess || guess,", "true,"),
    Mutant("nothing is a loss", ROW, "!r->guess || guess,", "false,"),
    Mutant("a delay has no end", ROW, "        if (until_ms != 0 && (r->due_ms == 0 || until_ms < r->due_ms))\n", "        if (false)\n"),
    Mutant("a drain stays though nothing is desired", ROW, "if (to.list[to.count].state == SERVER_DRAINING)", "if (false)"),
    Mutant("ALLOW_EMPTY is not asked", ROW, "rules->allow_empty && d->state", "false && d->state"),
    Mutant("a pause is not asked", ROW, "bool paused = d->paused && service_row_is_live(r);", "bool paused = false;"),
    Mutant("a pause holds what never was", ROW, "d->paused && service_row_is_live(r);", "d->paused;"),
    Mutant("a node port that changes is not one of lines that stay", ROW, "            r->servers->list[i].port = is;", "            (void)is;"),
    Mutant("a drain is by a weight that nobody asks", ROW, "(s->state == SERVER_DRAINING && !how->by_weight)", "false"),
    Mutant("an IPv6 address has no brackets", ROW, 'six ? " [%s]:%u" :', 'false ? " [%s]:%u" :'),
    Mutant("a health path is not asked", ROWS, ".node_check = route->options.health_path == NULL,", ".node_check = true,"),
    Mutant("kube-proxy is spoken to by PROXY v2", ROW, 'how->proxy_v2 ? " no-check-send-proxy" : ""', '""'),
    Mutant("weights are not said", ROW, "else if (s->weight >= 0)", "else if (false)"),
    Mutant("a node is no news", ROWS, "e->nodes == r->nodes &&", "true &&"),
    Mutant("a slice is no news", ROWS, "&& e->slices == slices &&", "&&"),
    Mutant("a Service is no news", ROWS, "           record_eq(&service_record, e->service, &route->service->service);", "           true;"),
    Mutant("time is no news", ROWS, "(e->row.due_ms == 0 || r->now_ms < e->row.due_ms) &&", "true &&"),
    Mutant("NODE_MODE is what it is without being set", ROWS, "        ret->mapping.node_mode = NODE_MODE_ALL;\n", ""),
    Mutant("NODE_MODE is not asked", ROWS, "if (!setting_is_given(settings, SETTING(node_mode)))", "if (true)"),
    Mutant("an excluded node is a server where no endpoint is usable", ROWS, "node_exclusion(n, s->rules) == NULL\n", "true\n"),
    Mutant("a backend without endpoints begins empty", ROWS, "(e != NULL && !e->row.guess && service_row_is_live(&e->row))", "true"),
    Mutant("a guess stays though a node comes", ROWS, "(e != NULL && !e->row.guess && service_row", "(e != NULL && service_row"),
    Mutant("what is explained is what is desired alone", ROWS, "i < e->row.servers->count; i++)\n        explain_server", "false; i++)\n        explain_server"),
    Mutant("a row of a Service that is gone stays", ROWS, "if (e->pass != r->pass)", "if (false)"),
    Mutant("what drains is forgotten", ROWS, "if (!drains(r, route)) {", "if (true) {"),
    Mutant("an announcement is not heard", "servers/desired/desired.c", "        returned = o->list[i]->announced;\n", "        returned = false;\n"),
))
room("service rows: budgets of Secrets", ("test_service_secrets",), (
    Mutant("a missing one takes the place of another", SECRETS, "    if (found == SECRET_MISSING)\n        return b->missing", "    if (found == SECRET_MISSING && b->there++ < 99)\n        return b->missing"),
    Mutant("any number of missing ones is watched", SECRETS, "b->missing < SERVICE_SECRETS_MISSING_MAX &&", "true &&"),
    Mutant("any number is watched", SECRETS, "b->there < SERVICE_SECRETS_MAX && ++b->there > 0", "++b->there > 0"),
    Mutant("any number is asked at once", SECRETS, "if (b->there + b->unknown < SERVICE_SECRETS_MAX) {", "if (b->there < SERVICE_SECRETS_MAX) {"),
    Mutant("one that cannot be taken is asked", SECRETS, "return b->there < SERVICE_SECRETS_MAX ? SECRET_ASKED_LATER : SECRET_TOO_MANY;", "return SECRET_ASKED_LATER;"),
))
room("service rows: budgets of ports", ("test_services_budget",), (
    Mutant("any number of ports", "services/plan.c", "if (tally_add(&p->ports, namespace, 1) >= SERVICES_NAMESPACE_PORTS)", "if (tally_add(&p->ports, namespace, 1) > 99999)"),
    Mutant("ports of all namespaces are counted", "services/plan.c", "if (tally_add(&p->ports, namespace, 1)", 'if (tally_add(&p->ports, "", 1)'),
    Mutant("any length of paths", "services/plan.c", "+ bytes > SERVICES_NAMESPACE_BYTES", "+ bytes > (SERVICES_NAMESPACE_BYTES << 9)"),
    Mutant("a tally forgets", "base/tally.c", "    row->sum += n;", "    row->sum = n;"),
))
