"""Several clusters in one backend: whose a server is, and what that means."""

from .mutant import Mutant, room

OWNERSHIP = "servers/change/ownership.c"
DIFF = "servers/change/diff.c"
NAMES = "servers/names.c"
ROUTE = "servers/change/route.c"

room("clusters, names", ("test_ownership",), (
    Mutant("a placeholder takes a '_', too", OWNERSHIP, "while (*name != '\\0' && *name != '_')", "while (*name != '\\0')"),
    Mutant("a cluster's name is any text", OWNERSHIP, "if (!str_has_prefix(name, cluster))", "if (false)"),
    Mutant("each name is of some cluster", OWNERSHIP, "return ownership_fits(format, name, NULL) ? OWNERSHIP_OTHER : OWNERSHIP_NONE;",
           "return OWNERSHIP_OTHER;"),
    Mutant("what is behind the cluster's name is not compared", OWNERSHIP, "return *name == '\\0';", "return true;"),
    Mutant("an extension goes to the end of the name", OWNERSHIP, "const char *end = part + strcspn(part, \"_\") - strcspn(last, \"_\");",
           "const char *end = name + strlen(name);"),
))
room("clusters", ("test_clusters", "test_ownership", "test_engine_clusters"), (
    Mutant("other clusters' servers are managed", "servers/change/ownership.c", "return rules->cluster != NULL &&\n           ownership_of(rules->server_name_format, rules->cluster, s->name) != OWNERSHIP_OWN &&", "return false &&"),
    Mutant("other clusters' servers are not counted as such", DIFF, "ret->others_count += diff_server_is_others(s, rules);", ""),
    Mutant("what was taken over is not managed", "servers/change/ownership.c", "(desired == NULL || !desired_took_over(desired, s->name));", "true;"),
    Mutant("strangers are taken over though nobody wishes it", NAMES, "return rules->cluster != NULL && rules->adopt == ADOPT_RENAME &&", "return rules->cluster != NULL &&"),
    Mutant("other clusters' servers are taken over", NAMES, "ownership_of(rules->server_name_format, rules->cluster, line->name) == OWNERSHIP_NONE;",
           "ownership_of(rules->server_name_format, rules->cluster, line->name) != OWNERSHIP_OWN;"),
    Mutant("what was taken over is forgotten with its node", NAMES, "        if (by != NULL && s->stranger) {", "        if (by != NULL && s->stranger) {\n            by = NULL;\n        } else if (false) {"),
    Mutant("a '_' of a node's name shifts the cluster's part", NAMES, "cluster != NULL && *text == '_' ? \"-\" : text", "text"),
    Mutant("two nodes at one address get a name of another cluster", NAMES, "rules->cluster != NULL ? ownership_extend(", "false ? ownership_extend("),
    Mutant("the last own server never goes", "servers/change/plan.c", "rules.diff.others_up = diff_others_up(in->at.actual, in->at.runtime, &rules.diff);", ""),
    Mutant("a server that is DOWN is one to rely on", "servers/change/ownership.c", "is->admin == RUNTIME_READY && !is->down &&", "is->admin == RUNTIME_READY &&"),
    Mutant("a server that drains is one to rely on", "servers/change/ownership.c", "is != NULL && is->admin == RUNTIME_READY &&", "is != NULL &&"),
    Mutant("a server of no weight is one to rely on", "servers/change/ownership.c", "(is->weight >= 0 ? is->weight : s->weight) != 0 && diff_server_is_others(s, rules))", "diff_server_is_others(s, rules))"),
    Mutant("one of no cluster is one to rely on", "servers/change/ownership.c", "!= 0 && diff_server_is_others(s, rules))", "!= 0)"),
    Mutant("it goes by whatever was read before", "servers/decide.c", "if (s->plan.diff.leaves_none && v.read_began_ms < s->leaves_none_since_ms)", "if (false)"),
    Mutant("one that runs without a line is one to rely on", ROUTE, "bool shared = c->in->rules->cluster != NULL;", "bool shared = false;"),
    Mutant("another cluster's server stands in for one that is to come", ROUTE,
           "(c->in->rules->cluster != NULL && diff_server_is_foreign(line, c->in->rules, c->in->desired)) ||", "false ||"),
))
room("clusters, turns", ("test_local_driver_lock",), (
    Mutant("a daemon reads amid another one's turn", "haproxy/local/driver_read.c", "if (d->options.takes_turns)\n        driver_read_ask_turn(d);",
           "if (false)\n        driver_read_ask_turn(d);"),
    Mutant("a daemon keeps the file after it has read", "haproxy/local/driver_read.c", "    local_driver_release(d);\n    d->base.events->was_read(d->base.arg, NULL);", "    d->base.events->was_read(d->base.arg, NULL);"),
    Mutant("a daemon keeps the file after it has loaded it", "haproxy/local/driver_reload.c", "    local_driver_release(d);\n", ""),
    Mutant("another one's turn is the end of writing", "haproxy/local/driver_file.c", "if (d->options.takes_turns) { /* the next", "if (false) { /* the next"),
))
