"""What is kept of an object, and how an informer hands it to its sink."""

from __future__ import annotations

from .mutant import Mutant, room

RECORD = "model/record.c"
CACHE = "model/cache.c"
OBJECTS = "model/objects.c"
RULES = "model/node_rules.c"
INFORMER = "kube/informer.c"

room("objects", ("test_objects", "test_cache"), (
    Mutant("the last member is not compared", RECORD, "    for (size_t i = 0; i < r->member_count; i++)\n        if (!member_eq(",
           "    for (size_t i = 0; i + 1 < r->member_count; i++)\n        if (!member_eq("),
    Mutant("a list that grew is the same", RECORD, "    if (count != count_at(b, m))\n        return false;\n", ""),
    Mutant("two texts for a Hostname that is the name", RECORD, "if (text == NULL || str_eq(text, p->name))", "if (text == NULL)"),
    Mutant("a packed list has no count", RECORD, "            *(uint32_t *)at(to, m->count_at) = count;\n", ""),
    Mutant("a fact without a row", OBJECTS, "    RECORD_PLAIN(struct node, not_ready),\n", ""),
    Mutant("a port without a row", OBJECTS, "    RECORD_PLAIN(struct service_port, node_port),\n", ""),
    Mutant("what was listed anew is dropped as not listed", CACHE, "    live->listed = c->replace;\n", ""),
    Mutant("a list is counted on top of the one before", CACHE, "        c->bytes -= e->bytes;\n", "        ;\n"),
    Mutant("what a list brought has no size", CACHE, "    c->bytes += e->bytes;\n    e->version", "    e->version"),
    Mutant("a count that forgets who went", CACHE, "    from->count--;\n", ""),
    Mutant("what could not be read is dropped", CACHE, "        e->listed = c->replace;\n", "        ;\n"),
))
room("exclusions", ("test_node_rules", "test_decode_node"), (
    Mutant("each taint excludes", RULES, "node_exclusions[row].by == by && str_eq(node_exclusions[row].key, key)",
           "node_exclusions[row].by == by"),
    Mutant("a label of the taint's name excludes", RULES, "node_exclusions[row].by == by && str_eq", "str_eq"),
    Mutant("a node that is deleted is not excluded", "kube/decode/decode_node.c", "n->excluded_by |= node_excluded_by(EXCLUDED_BY_DELETION, NULL);", ";"),
))
room("sinks", ("test_informer_resource",), (
    Mutant("what cannot be read is not kept", INFORMER, "SINK_KEEP : SINK_REMOVE", "SINK_REMOVE : SINK_REMOVE"),
    Mutant("a list that was cut stays open", INFORMER, "        informer_sink_take(i, SINK_ABORT, NULL, NULL);\n", "        ;\n"),
    Mutant("a sink is not called to forget", INFORMER, "    informer_sink_take(i, SINK_FORGET, NULL, NULL);\n", ""),
    Mutant("a namespace is not asked for", INFORMER, 'options->namespace != NULL ? options->namespace : ""', '"other"'),
))
