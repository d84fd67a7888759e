"""Under which names servers stand in one HAProxy (servers/names)."""

from .mutant import Mutant, room

NAMES = "servers/names.c"
DESIRED = "servers/desired/desired.c"

room("names", ("test_names", "test_desired"), (
    Mutant("nothing is adopted", NAMES, "if (w->in->rules->adopt == ADOPT_KEEP) {", "if (false) {"),
    Mutant("strangers are adopted though nobody wishes it", NAMES, "if (w->in->rules->adopt == ADOPT_KEEP) {", "if (true) {"),
    Mutant("backup servers and what is kept are adopted", NAMES, "return !diff_server_is_foreign(line, w->in->rules, &stranger) && ", "return "),
    Mutant("backup servers by default are adopted", NAMES, "&& !implied_backup &&", "&&"),
    Mutant("a desired name is adopted for another", NAMES, "           !has_name(w, line->name) && ", "           "),
    Mutant("what a server-template makes is adopted", NAMES,
           " && backend_find_template(w->in->actual, line->name) == NULL;", ";"),
    Mutant("one of equal names is adopted", NAMES, "if (!doubled && is_free(w, lines[i]))", "if (is_free(w, lines[i]))"),
    Mutant("two servers adopt one line", NAMES, "found->taken = w->differs = true;\n        call_it", "w->differs = true;\n        call_it"),
    Mutant("the own line does not win", NAMES, "own_line(w, list[i].name) == NULL ? find_spot(w, &list[i]) : w->spot_count;", "find_spot(w, &list[i]);"),
    Mutant("another port is the same place", NAMES, "order != 0 ? order : (int)s->line->port - (int)port;", "order;"),
    Mutant("one in maintenance goes before a live one", NAMES,
           "unsigned rank = line->maintenance ", "unsigned rank = false "),
    Mutant("of two the one that HAProxy does not run is adopted", NAMES, "known && runtime_find(in->runtime, line->name) == NULL ", "false "),
    Mutant("of two the one that was adopted does not stay so", NAMES, "in->before != NULL && desired_find(in->before, line->name) != NULL ", "false "),
    Mutant("of two the last by name is adopted", NAMES, "order : strcmp(x->line->name, y->line->name);", "order : strcmp(y->line->name, x->line->name);"),
    Mutant("the line of a node that is out is adopted", NAMES,
           "if (!w->spots[*i]->taken && !names_is_out(w, w->spots[*i]->line->name))", "if (!w->spots[*i]->taken)"),
    Mutant("spares adopt nothing", NAMES, "        adopt_list(w, d->spares, d->spare_count);\n", ""),
    Mutant("servers are not in the order of their new names", NAMES, "    sort(d->servers, d->server_count);\n    sort(d->spares", "    sort(d->spares"),
    Mutant("an IPv6 address in another spelling is another", NAMES,
           "address_canonical(line->address, s->canonical) == 0 ? s->canonical : line->address;", "line->address;"),
    Mutant("the old one goes before the new one is there", NAMES,
           "if (own != NULL && (s->state != SERVER_LIVE || serves(w->in, own)))", "if (true)"),
    Mutant("the old one stays for ever", NAMES,
           "if (own != NULL && (s->state != SERVER_LIVE || serves(w->in, own)))", "if (false)"),
    Mutant("a new one in maintenance serves", NAMES, "    if (own->maintenance)\n        return false;\n", ""),
    Mutant("what runs is not asked", NAMES, "(is != NULL && is->admin == RUNTIME_READY);", "true;"),
    Mutant("what goes for its successor counts as lost", NAMES, "found->line->name,\n                           true);", "found->line->name,\n                           false);"),
    Mutant("what was in maintenance is brought back for a while", NAMES, "else if (!found->line->maintenance)", "else"),
    Mutant("the names before are forgotten", NAMES, "w->in->before != NULL ? desired_node(w->in->before, of->name) : NULL;", "NULL;"),
    Mutant("NODE-PORT shows nothing", NAMES, '        node = node_in_name("{node}-{port}", NULL, of);\n', "        ;\n"),
    Mutant("the format shows nothing", NAMES, "if (node == NULL && !is_plain(rules->server_name_format))", "if (false)"),
    Mutant("why a node is out does not hold for its line", NAMES, "        if (!str_eq(s->server, node))\n", "        if (true)\n"),
    Mutant("two servers have one name", NAMES, "            if (str_eq(list[i].name, list[i - 1].name)) {", "            if (false) {"),
    Mutant("a spare has a server's name", NAMES, "            if (desired_find(&out, out.spares[i].name) != NULL)\n", "            if (false)\n"),
    Mutant("an alias is not found", DESIRED, "return a != NULL ? a->node : NULL;", "return NULL;"),
    Mutant("aliases are not in order", NAMES, "    if (d->alias_count > 1)\n", "    if (false)\n"),
    Mutant("why it is out is said in any order", DESIRED, "        order = (int)x->ordinary - (int)y->ordinary;\n", "        ;\n"),
    Mutant("a node's own line is taken for another's", NAMES, "    if (names_is_out(w, line->name)) /*", "    if (false) /*"),
))
room("parked by another name", ("test_parking",),
         (Mutant("a parked line is looked up by its own name", "servers/change/parking.c", "node != NULL ? node : e->name", "e->name"),))
