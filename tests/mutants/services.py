"""Annotated Services: what each option takes, and who keeps what of those who want the same."""

from .mutant import Mutant, room

OPTION = "services/option.c"
PLAN = "services/plan.c"
NOTES = "services/option.c"
PRINT = "services/print.c"
MAP = "services/print.c"
BINDS = "haproxy/cfg/binds.c"
DECODE = "kube/decode/decode_service.c"
PORTS = "settings/services.c"

room("services: options", ("test_service_option",), (
    Mutant("a label may begin with a dash", OPTION, "(s[i] != '-' || label == 0)", "s[i] != '-'"),
    Mutant("a label may end with a dash", OPTION, " || s[i - 1] == '-')", ")"),
    Mutant("a label may be longer", OPTION, "label > LABEL_MAX", "label > LABEL_MAX + 1"),
    Mutant("a host name keeps its capitals", OPTION, "*c = (char)tolower((unsigned char)*c);", "*c = *c;"),
    Mutant("CLUSTER stays without a name", OPTION, "if (at != NULL && rules->cluster == NULL) {", "if (false) {"),
    Mutant("an address may be any", OPTION, "bool allowed = rules->address_count == 0;", "bool allowed = true;"),
    Mutant("a port may be any", OPTION, "bool allowed = rules->port_count == 0;", "bool allowed = true;"),
    Mutant("the last port of a range is none", OPTION, "port <= rules->ports[i].to", "port < rules->ports[i].to"),
    Mutant("port 0 is one", OPTION, " || port == 0)", ")"),
    Mutant("a certificate may be anywhere", OPTION, "(!first && (value[i] == '/'", "((value[i] == '/'"),
    Mutant("a certificate may be a folder", OPTION, " && value[len - 1] != '/';", ";"),
    Mutant("Secrets of any namespace may be named", OPTION, "    bool may = str_eq(namespace, rules->namespace);", "    bool may = true;"),
    Mutant("a file may be another one's Secret", OPTION, "if (first && str_has_prefix(value + i, SERVICES_FILES_PREFIX)) {", "if (false) {"),
    Mutant("a file in a folder may be another one's Secret", OPTION, "if (first && str_has_prefix(value + i,", "if (i == 0 && str_has_prefix(value + i,"),
    Mutant("a Secret's name may end with a dash", OPTION, "(i == 0 || i == len - 1 || strchr(between, s[i]) == NULL)", "(i == 0 || strchr(between, s[i]) == NULL)"),
    Mutant("a Secret's certificate is a file's, too", OPTION, " && o->secret == NULL && o->hostname", " && o->hostname"),
    Mutant("a path may have what haproxy.cfg reads", OPTION, 'strpbrk(s, "$()") == NULL;', "true;"),
    Mutant("a path need not begin with a slash", OPTION, "return *s == '/' && len", "return len"),
    Mutant("a path keeps its slash", OPTION, "while (len > 1 && value[len - 1] == '/')", "while (false)"),
    Mutant("true is what is not false", OPTION, 'return *ret || str_eq(value, "false") ? 0 : -1;', "return 0;"),
    Mutant("TLS is as HTTP says, whatever is given", OPTION, "    if (!o->tls_given)\n", "    if (true)\n"),
    Mutant("backends are as clients, whatever is given", OPTION, "    if (!o->backends_tls_given)\n", "    if (true)\n"),
))
room("services: plan", ("test_services_plan",), (
    Mutant("who asks for a protection that is not there is served", PLAN, "return unmet && !rules->unprotected;", "return unmet && false;"),
    Mutant("a mistake gives a host away", PLAN, "if (before != NULL && is_of_namespace(&made, before))", "if (false)"),
    Mutant("what is wrong takes a host", PLAN, "if (before != NULL && is_of_namespace(&made, before))", "if (before != NULL)"),
    Mutant("FOREIGN_PROTECTION=warn refuses, too", PLAN, "return unmet && !rules->unprotected;", "return unmet;"),
    Mutant("a port's own option asks for a protection", PLAN, "if ((rest != NULL && strchr(rest, '.') != NULL) || !asks", "if (!asks"),
    Mutant("no annotation of this program's asks for a protection", PLAN, "(rest != NULL && strchr(rest, '.') != NULL)", "(rest != NULL)"),
    Mutant("the younger keeps it", PLAN, "int order = (x->created_us > y->created_us) - (x->created_us < y->created_us);", "int order = (x->created_us < y->created_us) - (x->created_us > y->created_us);"),
    Mutant("names do not decide", PLAN, "return order != 0 ? order : strcmp(x->service.name, y->service.name);\n}\n\nstatic int order_of_texts", "return order;\n}\n\nstatic int order_of_texts"),
    Mutant("the shortest path stands first", PLAN, "order = (x_len < y_len) - (x_len > y_len);", "order = (x_len > y_len) - (x_len < y_len);"),
    Mutant("TCP is no conflict", PLAN, "    if (r->options.tcp != other->options.tcp)\n", "    if (false)\n"),
    Mutant("two TCP Services share a port", PLAN, "    if (r->options.tcp)\n        return \"it is TCP, and", "    if (false)\n        return \"it is TCP, and"),
    Mutant("TLS is no conflict", PLAN, "if (has_tls(r) != has_tls(other))", "if (false)"),
    Mutant("TLS is no conflict with an address of all", PLAN, "if (has_tls(r) != has_tls(other))", "if (str_eq(r->place, other->place) && has_tls(r) != has_tls(other))"),
    Mutant("a listener at one address hides the hosts of all", PLAN, "    add_routes_of_all(p, &f);\n", "    if (false)\n        add_routes_of_all(p, &f);\n"),
    Mutant("at one address what is for all counts more", PLAN, "strcmp((*y)->place, (*x)->place)", "strcmp((*x)->place, (*y)->place)"),
    Mutant("all addresses have none", PLAN, "if (!same && !str_eq(r->place, ALL_ADDRESSES) && !str_eq(other->place, ALL_ADDRESSES))", "if (!same)"),
    Mutant("two have one host and path", PLAN, "    if (by != NULL) {\n        refuse(p, r, by,", "    if (false) {\n        refuse(p, r, by,"),
    Mutant("paths distinguish nobody", PLAN, "                   r->options.path != NULL ? r->options.path : \"\");\n    const char *by", "                   \"\");\n    const char *by"),
    Mutant("a redirect stays without its port", PLAN, "r->refused || (r->redirect && p->routes[i - 1].refused);", "r->refused;"),
    Mutant("a host name is any namespace's", PLAN, "} else if (!incumbents && !is_of_namespace(r, owner)) {", "} else if (false) {"),
    Mutant("who was served before is nobody", PLAN, "(!incumbents || (before != NULL && is_of_namespace(r, before)))", "true"),
    Mutant("a namespace is a word's beginning", PLAN, " && r->service->service.name[len] == '/';", ";"),
    Mutant("a host name that is shared is one's", PLAN, "host == NULL || r->refused || shared)", "host == NULL || r->refused)"),
    Mutant("how a port was served before is nothing", PLAN, "bool waits = incumbents && !str_eq(service_owners_find(rules->incumbents, at), mode);", "bool waits = false;"),
    Mutant("Services of any namespace are served", PLAN, "served = rules->namespace_count == 0, unprotected;", "served = true, unprotected;"),
    Mutant("what is refused owns its host name", PLAN, "        if (r->refused && !r->withheld)\n            continue;\n        if (r->options.hostname != NULL)", "        if (r->options.hostname != NULL)"),
    Mutant("the older system's annotation counts more", NOTES, "order : x->own - y->own;", "order : y->own - x->own;"),
    Mutant("the annotations of a port are those of all before it", NOTES, "            first = middle + 1;", "            first = middle + 2;"),
    Mutant("a pause is an option", NOTES, "return str_eq(annotation, PAUSED) ? NULL : annotation", "return annotation"),
    Mutant("a prefix is a word's beginning", NOTES, " && annotation[len] == '.' ? annotation", " ? annotation"),
    Mutant("a port without a node port is served", PLAN, "unprotected || port->node_port == 0);", "unprotected);"),
    Mutant("a bad value is none", PLAN, "        good = false;\n", ""),
    Mutant("a certificate that is missing is served", PLAN, "!rules->has_certificate(rules->arg, o->certificate)\n", "false\n"),
    Mutant("a Secret that is missing is served", PLAN, "!rules->has_secret(rules->arg, o->secret, r->service->service.name, said)", "false"),
    Mutant("a port of the operator's is taken", PLAN, "rules->is_taken != NULL && rules->is_taken(", "false && rules->is_taken("),
    Mutant("what is taken has a host name", PLAN, " || refused || refuse_taken(p, &made, rules)) {", " || refused) {"),
    Mutant("HTTP without a host is served", PLAN, "if (!o->tcp && o->hostname == NULL)", "if (false)"),
    Mutant("a refused route is served", PLAN, "        if (!p->routes[i].refused)\n            f.routes", "        if (true)\n            f.routes"),
    Mutant("a host is in its map for each path", MAP, "else if (!str_eq(before, host))", "else"),
    Mutant("a path is the beginning of a word", MAP, '"%s%s/ %s\\n", host', '"%s%s %s\\n", host'),
    Mutant("a host is unknown with its port", MAP, '"%s %s\\n%s:%u %s\\n", host, host, host, r->listen_port, host);', '"%s %s\\n", host, host);'),
    Mutant("a redirect is to port 443, whichever it is", MAP, "return o->listen_port == 443 ?", "return true ?"),
    Mutant("a Data Plane API renames a map", MAP, "*c == '.' ? '_'", "*c == '.' ? '.'"),
    Mutant("a line of certificates has no end", MAP, "same && names < NAMES_A_LINE ?", "same ?"),
    Mutant("no frontend redirects but one that does now", MAP, "(first->redirect || !first->options.tls)", "first->redirect"),
    Mutant("the backend of a refused route is printed", PRINT, "if (!p->routes[i].refused && !p->routes[i].redirect)", "if (!p->routes[i].redirect)"),
    Mutant("certificates are verified by nobody", PRINT, "o->backends_verify ? ", "false ? "),
))
room("services: decoded", ("test_decode_annotated",), (
    Mutant("annotations of others are kept", DECODE, "kept = kept || (p->list[k] != NULL && str_has_prefix(name, p->list[k]));", "kept = kept || p->list[k] != NULL;"),
    Mutant("a value may be longer", DECODE, "> VALUE_MAX_BYTES)", "> VALUE_MAX_BYTES + 1)"),
    Mutant("a NUL cuts a value", DECODE, "if (strlen(yyjson_get_str(value)) != yyjson_get_len(value))", "if (false)"),
    Mutant("a time that is none is taken", DECODE, "if (created != NULL && rfc3339_parse(created, &s->created_us) != 0)", "if (created != NULL && rfc3339_parse(created, &s->created_us) > 0)"),
))
room("services: settings", ("test_config_source",), (
    Mutant("a range may end before it begins", PORTS, " || from > to)", ")"),
    Mutant("a range may begin with 0", PORTS, " || from == 0", ""),
    Mutant("a prefix may have two slashes", PORTS, "(slash == NULL || strchr(slash + 1, '/') == NULL)", "true"),
    Mutant("a prefix may end with a dot", PORTS, """strchr("._/", s[len - 1]) == NULL &&""", ""),
))
room("services: binds", ("test_cfg_binds",), (
    Mutant("all addresses are no address", BINDS, 'str_eq(address, "0.0.0.0") || str_eq(address, "::");', "false;"),
    Mutant("the last port of a range is free", BINDS, "one->from <= port && port <= one->to", "one->from <= port && port < one->to"),
    Mutant("a protocol is no matter", BINDS, "if (!cfg_is_among(text, families, array_len(families)))", "if (false)"),
    Mutant("IPv6 alone is IPv4, too", BINDS, "if (is_all(address) && of->v6only && new.six)", "if (false)"),
    Mutant("an address in brackets is none", BINDS, "len >= 2 && address[0] == '[' &&", "false && address[0] == '[' &&"),
    Mutant("any address takes all of them", BINDS, ": str_eq(one->address, wanted);", ": true;"),
))
