"""What a Data Plane API sends HAProxy beside a write, instead of a reload, and whether that is read back (haproxy/dataplane)."""

from .mutant import Mutant, room

ACTIONS = "haproxy/dataplane/server_actions.c"
ADDS = "haproxy/dataplane/server_adds.c"
BACK = "haproxy/dataplane/read_back.c"
REPLACEMENT = "haproxy/dataplane/replacement.c"
READER = "haproxy/dataplane/reader.c"
PAYLOAD = "haproxy/dataplane/map_payload.c"
RUN = "haproxy/dataplane/storage_run.c"
STORAGE = "haproxy/dataplane/storage.c"
MACHINE = "haproxy/storage_machine.c"
COUNT = "haproxy/map_text.c"
CHANGE = "haproxy/change.c"

room("beside a write: servers", ("test_server_actions",), (
    Mutant("who leaves comes before who takes over", ACTIONS, "== (leave == 1)", "== (leave == 0)"),
    Mutant("a server comes back at its old address", ACTIONS,
           "    if (c->fields & SERVER_WEIGHT) {\n        actions_begin(b, SET_WEIGHT, c);\n        buf_printf(b, \"%d\", s->weight);\n    }\n    if (c->fields & SERVER_MAINTENANCE) {\n        actions_begin(b, SET_STATE, c);\n        buf_add(b, s->maintenance ? STATE_MAINT : STATE_READY);\n    }\n",
           "    if (c->fields & SERVER_MAINTENANCE) {\n        actions_begin(b, SET_STATE, c);\n        buf_add(b, s->maintenance ? STATE_MAINT : STATE_READY);\n    }\n    if (c->fields & SERVER_WEIGHT) {\n        actions_begin(b, SET_WEIGHT, c);\n        buf_printf(b, \"%d\", s->weight);\n    }\n"),
    Mutant("any name fits into an action", ACTIONS, "return len > 0 && len <= ACTIONS_NAME_BYTES && name[len] == '\\0';", "return len > 0 && len <= ACTIONS_NAME_BYTES;"),
    Mutant("any number of commands", ACTIONS, "if (b.len > ACTIONS_MAX_BYTES)", "if (false)"),
    Mutant("a header has any length", ACTIONS, "    while (len > ACTIONS_HEADER_BYTES || ", "    while ("),
    Mutant("a header ends within a command", ACTIONS, " || (actions[len] != ';' && actions[len] != '\\0'))", ")"),
    Mutant("a name has any length", ACTIONS, "len <= ACTIONS_NAME_BYTES && ", ""),
    Mutant("half of the changes are sent", ACTIONS, "        if (actions_check(changes->list[i], err) != 0)\n            return -1;\n", "        if (actions_check(changes->list[i], err) != 0)\n            continue;\n"),
    Mutant("a drain was sent", ACTIONS, "(s->maintenance || str_eq(value, STATE_READY)) && words == NULL", "words == NULL"),
    Mutant("a name can be read back", CHANGE, "(str_ip_family(c->server->address) == 0 || c->server->port == 0)", "c->server->port == 0"),
    Mutant("checks are set, too", CHANGE, "if (c->fields & ~can)", "if (false)"),
))
room("beside a write: the write", ("test_replacement",), (
    Mutant("nothing is read back", REPLACEMENT, "        r->state = REPLACEMENT_VERIFY;\n        return read_back_start(&r->back, r->request.changes);\n", "        return replacement_delete_next(r);\n"),
    Mutant("whatever runs is what was sent", REPLACEMENT, "        if (r->back.why.kind == ERROR_NONE)\n            return replacement_delete_next(r);", "        if (true)\n            return replacement_delete_next(r);"),
    Mutant("after an action that failed nothing is read", REPLACEMENT, "        r->state = REPLACEMENT_LOOK;\n", "        return replacement_failed(r, a);\n"),
    Mutant("any 500 comes after the write", REPLACEMENT, "a->version == r->version + 1) {", "true) {"),
    Mutant("a 500 without actions comes after the write", REPLACEMENT, "r->state == REPLACEMENT_WRITE && r->tells != NULL && a->error == NULL", "r->state == REPLACEMENT_WRITE && a->error == NULL"),
    Mutant("another writer's file is ours", REPLACEMENT, "if (transaction_is_success(a) && a->version == r->version)", "if (transaction_is_success(a))"),
    Mutant("what goes back runs though HAProxy was sent otherwise", REPLACEMENT, "(r->reload_id != NULL || r->tries ||", "(r->reload_id != NULL ||"),
    Mutant("what was sent stands nowhere", REPLACEMENT, "r->actions.len > 0 &&\n        r->actions.len <= TOLD_MAX_BYTES)", "false)"),
    Mutant("a comment of any length", REPLACEMENT, "r->actions.len > 0 &&\n        r->actions.len <= TOLD_MAX_BYTES)", "r->actions.len > 0)"),
    Mutant("an address is there at once", BACK, "if (problem != NULL && comes && r->reads++ < DRIFT_READS_AGAIN)", "if (false)"),
    Mutant("an address is awaited for ever", BACK, "if (problem != NULL && comes && r->reads++ < DRIFT_READS_AGAIN)", "if (problem != NULL && comes)"),
    Mutant("an address that never comes is good", BACK, "        (void)error_set(&r->why, ERROR_INVALID, \"%s\", problem);\n", ""),
))
room("beside a write: servers that come and go", ("test_replacement_adds", "test_server_adds"), (
    Mutant("a health check begins by itself", ADDS, 'if (a->unchecked == NULL && (server_words_have(&words, "check")', 'if (false && (server_words_have(&words, "check")'),
    Mutant("an API before 3.2 passes on all words", ADDS, "return adds_is_from(api, FIRST_API) && ", "return "),
    Mutant("a word that cannot be said is left out", ADDS, "    if (k == NULL || !adds_has_field(k->key))\n        return error_set(", "    if (k == NULL || !adds_has_field(k->key))\n        return 0 * error_set("),
    Mutant("what was added for a refused file stays", REPLACEMENT, "(result == TRANSACTION_REJECTED || result == TRANSACTION_HARMFUL)", "false"),
    Mutant("a conflict is another writer's", REPLACEMENT, "(result == TRANSACTION_REJECTED || result == TRANSACTION_HARMFUL)", "(result != TRANSACTION_COMMITTED && result != TRANSACTION_UNKNOWN)"),
    Mutant("who goes is not deleted", REPLACEMENT, "    if (r->at == all->count) {", "    if (true) {"),
    Mutant("who is in use is gone", REPLACEMENT, "(a->status == 204 || a->status == 404)) {", "true) {"),
    Mutant("who is in use a moment takes a reload", REPLACEMENT, "r->waits++ < DRIFT_READS_AGAIN", "false"),
    Mutant("who is in use is awaited for ever", REPLACEMENT, "r->waits++ < DRIFT_READS_AGAIN", "++r->waits < 99"),
    Mutant("who is in use is asked about all the time", REPLACEMENT, "        again.delay_ms = DRIFT_AGAIN_MS(r->waits);\n", ""),
    Mutant("an add that failed is one", REPLACEMENT, "    if (a->error == NULL && a->status == 201) {", "    if (true) {"),
    Mutant("commands go though an add failed", REPLACEMENT, "    buf_clear(&r->actions);\n    return replacement_post(", "    return replacement_post("),
    Mutant("what HAProxy refused is not applied", REPLACEMENT, "return r->back.why.kind != ERROR_NONE;", "return r->why != NULL;"),
    Mutant("what HAProxy was not sent runs", REPLACEMENT, "r->tries && r->why == NULL && r->reload_id == NULL)", "r->tries && r->reload_id == NULL)"),
    Mutant("what one header holds is all", REPLACEMENT, "r->reload_id == NULL && r->told < r->actions.len)", "false)"),
    Mutant("commands go though a reload comes", REPLACEMENT, "r->reload_id == NULL && r->told < r->actions.len)", "r->told < r->actions.len)"),
    Mutant("commands go after one that failed", REPLACEMENT, "        r->told = r->actions.len;\n", ""),
    Mutant("a further write that fails is the first one", REPLACEMENT, "    if (!good && r->version != r->from) {", "    if (false) {"),
))
room("beside a write: the start", ("test_instance_replace",), (
    Mutant("what was sent runs", READER, "if (action.type == TRANSACTION_FINISHED && o->back.why.kind == ERROR_NONE) {", "if (true) {"),
    Mutant("what was sent is loaded for nothing", READER, "        o->to->unloaded = false;\n", ""),
    Mutant("weights that nobody sees are as sent", READER, "o->back.strict = true; /*", "o->back.strict = false; /*"),
    Mutant("who is removed still has to run", READER, "            c->kind = CHANGE_REMOVE_SERVER;", "            (void)c;"),
    Mutant("who is removed may stay", BACK, "if (c->kind == CHANGE_REMOVE_SERVER && is != NULL)", "if (false)"),
    Mutant("what was not sent is read back", READER, "    if (o->told.count > 0) {", "    if (false) {"),
    Mutant("what is to be loaded after a write was loaded before", "haproxy/instance.c", "!all.update && !all.replacement && !all.storage;", "!all.update;"),
))
room("beside a write: files", ("test_storage_run", "test_map_payload", "test_storage"), (
    Mutant("few entries are appended", PAYLOAD, "    if (bytes <= BLOCK_BYTES)\n", "    if (bytes < BLOCK_BYTES)\n"),
    Mutant("other entries are the same", RUN, "    if (!map_entries_same(&is, &r->entries))", "    if (is.count != r->entries.count)"),
    Mutant("lines that the API loses are sent", PAYLOAD, "        if (arrived[i] != i)\n            return false;\n", ""),
    Mutant("lines that the API doubles are sent", PAYLOAD, "if (map_payload_arrives(lengths, count, arrived, count) != count)", "if (map_payload_arrives(lengths, count, arrived, count) < count)"),
    Mutant("a full block is a replacement", PAYLOAD, "        } else if (bytes == BLOCK_BYTES) {\n", "        } else if (bytes == BLOCK_BYTES) {\n            exceeded = true;\n"),
    Mutant("a value of several words can be read back", PAYLOAD, "           memchr(e->value, ' ', e->value_len) == NULL &&", "           true &&"),
    Mutant("two commands in one", PAYLOAD, "memchr(e->value, ';', e->value_len) == NULL &&", "true &&"),
    Mutant("a value need not be", PAYLOAD, "return e->value_len > 0 && ", "return "),
    Mutant("any certificate is the one", RUN, "return strcasecmp(own.sha1, sha1) == 0 ? 0", "return true ? 0"),
    Mutant("a reload of the API's is none", RUN, "return a->reload_id == NULL ? storage_run_send", "return true ? storage_run_send"),
    Mutant("a page is sent", RUN, "    if (f->place == STORAGE_GENERAL)\n", "    if (false)\n"),
    Mutant("a map is not read back", RUN, "return a->reload_id == NULL ? storage_run_send(r, STORAGE_RUN_READ)", "return a->reload_id == NULL ? storage_run_done(r)"),
    Mutant("what is sent is not what runs", STORAGE, "    storage_machine_settle(&s->machine, e);\n    s->machine.news.ran++;", "    s->machine.news.ran++;"),
    Mutant("a file that is new is sent", STORAGE, "if (f == NULL || added)", "if (f == NULL)"),
    Mutant("HAProxy gets commands though a reload comes", STORAGE, "        if (e->changed && storage_may_run(", "        if (false && storage_may_run("),
    Mutant("what was not taken runs", STORAGE, "    if (s->run.why.kind != ERROR_NONE)\n        return storage_reloads(s, e, s->run.why.message);\n", ""),
))
room("beside a write: foreseen", ("test_storage_foresight",), (
    Mutant("what was left half done is unchanged", MACHINE, "return e != NULL && (e->changed || (m->request.foresight", "return e != NULL && (false || (m->request.foresight"),
    Mutant("a file that is not there is not new", STORAGE, "e->added || !e->present, &why", "e->added, &why"),
    Mutant("bytes that are there are stored again", MACHINE, "    if (m->by_api || m->request.foresight != NULL)\n        machine_look", "    if (false)\n        machine_look"),
    Mutant("what HAProxy has not loaded is sent", STORAGE, "    if (s->run.why.kind != ERROR_NONE)\n        storage_foreseen_reload", "    if (false)\n        storage_foreseen_reload"),
    Mutant("HAProxy is sent what is only asked about", RUN, "return r->asks ? storage_run_done(r) :", "return false ? storage_run_done(r) :"),
    Mutant("a file that goes costs nothing", MACHINE, "        if (e->changed)\n            storage_foreseen_reload", "        if (false)\n            storage_foreseen_reload"),
    Mutant("what another one put there is deleted", MACHINE, "return e->found || !e->present ? MACHINE_FORGOTTEN", "return !e->present ? MACHINE_FORGOTTEN"),
    Mutant("a key that is there twice counts once", COUNT, "return order != 0 ? order : (x->key > y->key) - (x->key < y->key);", "return order != 0 ? order : map_entry_order(a, b);"),
    Mutant("another value is none", COUNT, "to != NULL && map_entry_order(", "to != NULL && false && map_entry_order("),
))
