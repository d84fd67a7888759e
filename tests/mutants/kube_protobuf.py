"""Protobuf of the Kubernetes API: what a message says, where an answer is split, which encoding is asked for."""

from __future__ import annotations

from .mutant import Mutant, room

MESSAGE = "kube/protobuf/message.c"
SCHEMA = "kube/protobuf/schema.c"
FRAME = "kube/protobuf/frame.c"
DECODE = "kube/decode/decode.c"
ANSWER = "kube/answer.c"
CLIENT = "kube/client.c"

room("protobuf messages", ("test_protobuf_message",), (
    Mutant("text that is no UTF-8 passes", MESSAGE, "    if (good < f->len)\n", "    if (false)\n"),
    Mutant("a field that is there twice passes", MESSAGE, "        if (seen[row] && !field->list && field->kind != PROTO_MAP)\n", "        if (false)\n"),
    Mutant("a list may not go on behind another field", MESSAGE, "        if (seen[row] && !field->list && field->kind", "        if (seen[row] && field->kind"),
    Mutant("a zero that Go leaves out is there", MESSAGE, "    if (value == NULL || omitted)\n", "    if (value == NULL || (omitted && false))\n"),
    Mutant("a zero that Go keeps is left out", MESSAGE, "zero && !r->field->keeps_zero && !r->field->list;", "zero && !r->field->list;"),
    Mutant("an empty text in a list is left out", MESSAGE, "zero && !r->field->keeps_zero && !r->field->list;", "zero && !r->field->keeps_zero;"),
    Mutant("a negative number is a large one", MESSAGE, "f->value <= INT64_MAX ? yyjson_mut_uint", "true ? yyjson_mut_uint"),
    Mutant("a time of nothing is 1970", MESSAGE, "    if (f->len == 0)\n        return 0;\n    char text", "    char text"),
    Mutant("a time after the year 9999 overflows", MESSAGE, "seconds > LAST_SECOND ? LAST_SECOND * SECOND_US : seconds * SECOND_US", "seconds * SECOND_US"),
    Mutant("nanoseconds are seconds", MESSAGE, "        if (part.number != 1)\n            continue;\n        if (protobuf_expect(&part, PROTOBUF_VARINT", "        if (protobuf_expect(&part, PROTOBUF_VARINT"),
    Mutant("an entry without a value is none", MESSAGE, "value != NULL ? value : yyjson_mut_str(r->doc, \"\")", "value"),
    Mutant("a field that no row names ends the message", MESSAGE, "of->fields[row].number != f.number)\n            continue;", "of->fields[row].number != f.number)\n            return 0;"),
    Mutant("the field behind the one that is searched for is taken", MESSAGE, "        if (row == of->count || of->fields[row].number != f.number)\n", "        if (row == of->count)\n"),
))
room("protobuf of objects", ("test_decode_both",), (
    Mutant("a node's taints are its config source", SCHEMA, "MANY(5, \"taints\", taint)", "MANY(6, \"taints\", taint)"),
    Mutant("a node's addresses are its conditions", SCHEMA, "MANY(5, \"addresses\", node_address)", "MANY(14, \"addresses\", node_address)"),
    Mutant("a port's nodePort is its targetPort", SCHEMA, "INT(5, \"nodePort\")", "INT(7, \"nodePort\")"),
    Mutant("an endpoint's node is its zone", SCHEMA, "TEXT_KEPT(6, \"nodeName\"));\n\nPART(endpoint_port", "TEXT_KEPT(7, \"nodeName\"));\n\nPART(endpoint_port"),
    Mutant("ready that is false is absent", SCHEMA, "BOOL_KEPT(1, \"ready\")", "BOOL(1, \"ready\")"),
    Mutant("annotations are labels", SCHEMA, "    MAP(12, \"annotations\"));", "    MAP(13, \"annotations\"));"),
    Mutant("a Status has no code", SCHEMA, "    INT(6, \"code\"));", "    INT(7, \"code\"));"),
    Mutant("a Lease's holder is another one's", SCHEMA, "TEXT_KEPT(1, \"holderIdentity\")", "TEXT_KEPT(7, \"holderIdentity\")"),
))
room("protobuf answers", ("test_protobuf_frame",), (
    Mutant("any beginning will do", FRAME, "        if (in->bytes[in->at] != PROTO_MAGIC[f->got])\n", "        if (false)\n"),
    Mutant("a list of another kind passes", FRAME, "else if (strncmp(kind, f->kind, stem) != 0 || !str_eq(kind + stem, LIST_SUFFIX))", "else if (false)"),
    Mutant("a kind's beginning is enough", FRAME, "strncmp(kind, f->kind, stem) != 0 || !str_eq(kind + stem, LIST_SUFFIX)", "strncmp(kind, f->kind, stem) != 0"),
    Mutant("a list before its kind passes", FRAME, "    if (!f->kind_seen)\n", "    if (false)\n"),
    Mutant("a second list passes", FRAME, "        if (f->list_seen)\n            return refuse", "        if (false)\n            return refuse"),
    Mutant("a second metadata is added to the first", FRAME, "        if (metadata && f->meta_seen)\n", "        if (false)\n"),
    Mutant("what is packed is read as it is", FRAME, "        if (len > 0)\n            return refuse(f, in, \"a content encoding", "        if (false)\n            return refuse(f, in, \"a content encoding"),
    Mutant("an object has no cap", FRAME, "    if (len > max)\n        return error_set(err, ERROR_INVALID,\n", "    if (false)\n        return error_set(err, ERROR_INVALID,\n"),
    Mutant("an element may be longer than its list", FRAME, "    if (len > f->list_end - position(f, in))\n", "    if (false)\n"),
    Mutant("a number may lead out of its list", FRAME, "        if (f->got > 0 || f->state != TAG)\n", "        if (false)\n"),
    Mutant("a fixed number may lead out of its list", FRAME, "    if (f->in_list && f->left > f->list_end - position(f, in))", "    if (false)"),
    Mutant("the list has no end", FRAME, "        f->in_list = false;\n    }\n    uint8_t byte", "    }\n    uint8_t byte"),
    Mutant("a length has eleven bytes", FRAME, "    if (f->got == PROTOBUF_VARINT_MAX_BYTES - 1 && byte > 1)\n", "    if (false)\n"),
    Mutant("the length of an event begins with its last byte", FRAME, "f->number = f->number << 8 | (uint8_t)in->bytes[in->at++];", "f->number |= (uint64_t)(uint8_t)in->bytes[in->at++] << (8 * f->got);"),
    Mutant("an object in pieces loses its beginning", FRAME, "        begin = f->part.data;\n        len = f->part.len;\n", "        ;\n"),
    Mutant("an object in pieces stays", FRAME, "    frame_give_back(&f->part);\n    return result;", "    return result;"),
    Mutant("what is empty waits for more", FRAME, "while (in.at < in.len || ((f->state == COLLECT || f->state == SKIP) && f->left == 0))", "while (in.at < in.len)"),
    Mutant("an answer that is cut is whole", FRAME, "    bool at_rest = f->got == 0 && ", "    bool at_rest = f->state != GIVEN_UP || "),
    Mutant("a list that is cut between two elements is whole", FRAME, "(!f->in_list || f->offset >= f->list_end)", "true"),
    Mutant("a broken answer is gone on with", FRAME, "            f->state = GIVEN_UP;\n            return -1;", "            return -1;"),
))
room("protobuf decoded", ("test_decode_protobuf", "test_decode_both"), (
    Mutant("an object of another kind passes", DECODE, "    if (!is_status && !str_eq(unknown.kind, of->message_kind))\n", "    if (false)\n"),
    Mutant("a Status is read as an object", DECODE, "    bool is_status = str_eq(unknown.kind, STATUS_KIND);", "    bool is_status = false;"),
    Mutant("an error does not say whose", DECODE, "    if (len == 0 || len > KUBE_NAME_MAX_BYTES)\n", "    if (true)\n"),
    Mutant("an error within its metadata does not say whose", MESSAGE, "    if (!r->field->list) /*", "    if (false) /*"),
    Mutant("an object without its magic passes", MESSAGE, "    if (len < PROTO_MAGIC_BYTES || memcmp", "    if (len < PROTO_MAGIC_BYTES || 0 && memcmp"),
))
room("encodings", ("test_informer_protobuf",), (
    Mutant("protobuf is asked for what has none", ANSWER, "return protobuf && of->message != NULL ?", "return protobuf ?"),
    Mutant("protobuf is read of what has none", ANSWER, "is_type(content_type, TYPE_PROTOBUF) && a->of->message != NULL", "is_type(content_type, TYPE_PROTOBUF)"),
    Mutant("protobuf that cannot be read is asked for all the same", CLIENT, "return clock_mono_ms() >= c->json_until_ms;", "return true;"),
    Mutant("unreadable protobuf is asked for again", CLIENT, "    c->json_until_ms = clock_mono_ms() + JSON_MS;\n", ""),
    Mutant("JSON in place of unreadable protobuf is waited for", "kube/informer.c", ".other_encoding = is_protobuf && i->asked_protobuf", ".other_encoding = false"),
))
