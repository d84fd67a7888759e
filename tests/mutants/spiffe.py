"""SPIFFE: what a Workload API's answer is taken for, and who is trusted by it."""

from __future__ import annotations

from .mutant import Mutant, room

PROTOBUF = "base/protobuf.c"
GRPC = "net/grpc.c"
ID = "settings/names.c"
IDENTITY = "net/spiffe_identity.c"
SETTINGS = "settings/dataplanes.c"
CLIENT = "net/spiffe.c"

room("protobuf", ("test_protobuf",), (
    Mutant("a number of eleven bytes passes", PROTOBUF, "if (i == PROTOBUF_VARINT_MAX_BYTES - 1 && byte > 1)", "if (0)"),
    Mutant("a length beyond the end passes", PROTOBUF, "    if (len > (uint64_t)(p->end - p->at))\n", "    if (0)\n"),
    Mutant("a number that is cut off is read on", PROTOBUF, "    if ((size_t)(p->end - p->at) < bytes)\n", "    if (0)\n"),
    Mutant("a group is a varint", PROTOBUF, "    case PROTOBUF_VARINT:\n", "    case 3:\n    case PROTOBUF_VARINT:\n"),
    Mutant("a field 0 passes", PROTOBUF, "if (number == 0 || ", "if ("),
    Mutant("a field number of 61 bits passes", PROTOBUF, "number == 0 || number > PROTOBUF_NUMBER_MAX", "number == 0"),
    Mutant("any wire type will do", PROTOBUF, "    if (f->wire != wire)\n", "    if (0)\n"),
    Mutant("any length will do", PROTOBUF, "if (wire == PROTOBUF_BYTES && f->len > max_len)", "if (0)"),
    Mutant("nesting has no end", PROTOBUF, "    if (outer->depth >= PROTOBUF_DEPTH_MAX)\n", "    if (0)\n"),
    Mutant("a message within ends with the one around it", PROTOBUF, ".end = f->data + f->len,", ".end = outer->end,"),
    Mutant("an error does not end the walk", PROTOBUF, "    p->at = p->end;\n    return -1;", "    return -1;"),
))
room("gRPC, frames", ("test_grpc",), (
    Mutant("a compressed message passes", GRPC, "        if (f->in.data[0] != 0)\n", "        if (false)\n"),
    Mutant("a message of any length is waited for", GRPC, "        if (message > f->max_bytes)\n", "        if (false)\n"),
    Mutant("the next message is behind the last one", GRPC, "        buf_fini(&f->in);\n    }\n", "        break;\n    }\n    return 0;\n"),
))
room("SPIFFE, IDs", ("test_spiffe_id",), (
    Mutant("an upper-case trust domain passes", ID, "NAME_LOWER NAME_DIGITS \"-._\"", "NAME_ALNUM \"-._\""),
    Mutant("no trust domain passes", ID, "if (len == 0 || len > SPIFFE_DOMAIN_MAX_BYTES", "if (len > SPIFFE_DOMAIN_MAX_BYTES"),
    Mutant("a path of dots passes", ID, "if ((len == 1 && segment[0] == '.') || ", "if ("),
    Mutant("an empty segment passes", ID, "        if (len == 0)\n", "        if (false)\n"),
    Mutant("any path passes", ID, "        if (!spiffe_id_all_of(segment, len, NAME_ALNUM \"-._\"))\n", "        if (false)\n"),
))
room("SPIFFE, who is trusted", ("test_spiffe_identity",), (
    Mutant("any peer ID will do", IDENTITY, "    if (peer_id != NULL && !str_eq(id, peer_id)) {\n", "    if (false) {\n"),
    Mutant("without a peer ID a federated one passes", IDENTITY, "    if (peer_id == NULL && b != &i->bundles[0]) {\n", "    if (false) {\n"),
    Mutant("a trust domain begins as another one", IDENTITY, "if (strlen(i->bundles[n].domain) == len && strncmp", "if (strncmp"),
    Mutant("the own bundle is for all", IDENTITY, "set0_trusted_stack(context, b->certificates);", "set0_trusted_stack(context, i->bundles[0].certificates);"),
    Mutant("no chain is verified", IDENTITY, "    if (X509_verify_cert(context) == 1)\n", "    if (X509_verify_cert(context) >= 0)\n"),
    Mutant("one of two URIs will do", IDENTITY, "    if (uris != 1) {\n", "    if (uris < 1) {\n"),
    Mutant("any URI will do", IDENTITY, "const char *problem = strlen(id) == f->len ? spiffe_id_problem(id) : ", "const char *problem = strlen(id) == f->len ? NULL : "),
    Mutant("a CA passes for a workload", IDENTITY, "    if ((flags & EXFLAG_CA) != 0)\n", "    if (false)\n"),
    Mutant("who signs others passes for a workload", IDENTITY, "(usage & (KU_KEY_CERT_SIGN | KU_CRL_SIGN)) != 0", "false"),
    Mutant("a refusal leaves no trace in OpenSSL", IDENTITY, "    X509_STORE_CTX_set_error(context, X509_V_ERR_APPLICATION_VERIFICATION);\n", ""),
))
room("SPIFFE, who we are", ("test_spiffe_identity",), (
    Mutant("the last SVID is the default one", IDENTITY, "if (f.number == RESPONSE_SVIDS && !found)", "if (f.number == RESPONSE_SVIDS)"),
    Mutant("another's SVID is taken", IDENTITY, "    if (!str_eq(id, i->id))\n", "    if (false)\n"),
    Mutant("another's key is taken", IDENTITY, "    if (pem_check_key(i->key_pem, i->cert_pem, &why) != 0)\n", "    if (false)\n"),
    Mutant("a changed bundle is the same identity", IDENTITY, " && str_eq(a->bundles_pem, b->bundles_pem);", ";"),
))
room("SPIFFE, the stream", ("test_spiffe",), (
    Mutant("an expired SVID is used on", CLIENT, "    if (!expired(s))\n        return 0;\n", "    if (true)\n        return 0;\n"),
    Mutant("without an agent the identity is gone", CLIENT, "    if (s->identity == NULL)\n        return error_set(err,", "    if (s->identity == NULL || s->problem.kind != ERROR_NONE)\n        return error_set(err,"),
    Mutant("the stream is not opened anew", CLIENT, "    timer_set(&s->retry, wait_ms);\n", "    (void)wait_ms;\n"),
    Mutant("an agent that is away is waited for in silence", CLIENT, "    settle(s, false);\n}\n", "}\n"),
    Mutant("nobody learns of a first identity", CLIENT, "    bool news = old == NULL || expired(s);\n", "    bool news = false;\n"),
    Mutant("a renewal is news to all", CLIENT, "    bool news = old == NULL || expired(s);\n", "    bool news = true;\n"),
    Mutant("the same again is a renewal", CLIENT, "if (old != NULL && spiffe_identity_same(old, fresh))", "if (false)"),
    Mutant("with the new SVID the old certificate is shown", CLIENT, "    s->tls.cert_pem = fresh->cert_pem;\n", "    if (old == NULL)\n        s->tls.cert_pem = fresh->cert_pem;\n"),
    Mutant("an agent whose SVID expired is not asked anew", CLIENT, "    if (s->request == NULL)\n        return;\n", "    if (s->request != NULL)\n        return;\n"),
    Mutant("why an agent refuses is not reported", CLIENT, "    if (code == NULL) {\n", "    if (false) {\n"),
))
room("SPIFFE, settings", ("test_settings_access",), (
    Mutant("files are passed over in silence", SETTINGS, "        if (files[i].set)\n", "        if (false)\n"),
    Mutant("one https URL is enough", SETTINGS, "bool all = https == c->dataplane_count && https > 0;", "bool all = https > 0;"),
    Mutant("a peer ID is passed over in silence", SETTINGS, "if (c->spiffe_peer_id != NULL && c->spire_socket == NULL)", "if (false)"),
))
