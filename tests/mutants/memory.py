"""What `plan` takes of the running daemon: what is believed (cli/daemon_memory), and what is decided by it (cli/inspect_report). That
/status says it, the streams notice (tests/sequences/planned.c)."""

from .mutant import Mutant, room

MEMORY = "cli/daemon_memory.c"
DECIDE = "cli/inspect_report.c"
STATUS = "daemon/status/status_haproxy.c"

room("memory", ("test_daemon_memory", "test_inspect_decide", "test_server_state"), (
    Mutant("a daemon that does not lead is believed", MEMORY, "if (stopping || !leading)", "if (stopping)"),
    Mutant("a daemon that stops is believed", MEMORY, "if (stopping || !leading)", "if (!leading)"),
    Mutant("another version's status is believed", MEMORY, "if (schema != STATUS_SCHEMA_VERSION)", "if (schema < 0)"),
    Mutant("more backends are the same ones", MEMORY, "bool same = yyjson_arr_size(list) == s->mapping_count;", "bool same = true;"),
    Mutant("more HAProxies are the same ones", MEMORY, "bool same = yyjson_arr_size(list) == settings_haproxy_count(s);", "bool same = true;"),
    Mutant("another HAProxy is the same one", MEMORY, 'same = memory_find(list, "url", settings_haproxy_name(s, i)) != NULL;', "same = true;"),
    Mutant("another Service's backend is the same one", MEMORY, '"name")), of->service) &&', '"name")), of->service) ||'),
    Mutant("another port is the same one", MEMORY, 'str_eq(yyjson_get_str(yyjson_obj_get(service, "port")), of->port);', "true;"),
    Mutant("a part of a memory is a memory", MEMORY, "    return complete ? 0 :", "    return true ? 0 :"),
    Mutant("a list without end is taken", MEMORY, "list == NULL || yyjson_arr_size(list) > STATUS_LIST_MAX", "list == NULL"),
    Mutant("a Service's memory that is wrong is found out too late", MEMORY,
           "status = memory_each(m, memory, \"nodes\", memory_take_node, states, err);", "status = 0;"),
    Mutant("a backend's memory that is wrong is found out too late", MEMORY,
           "int status = memory_take_backend(m, memory, &backend, err);", "int status = 0;"),
    Mutant("the names of a memory are not tried", MEMORY, "            if (status == 0)\n                status = memory_each(m, memory, \"nodes\", memory_take_alias", "            if (false)\n                status = memory_each(m, memory, \"nodes\", memory_take_alias"),
    Mutant("times are the daemon's", MEMORY, "int64_t ms = us / 1000 - m->wall_minus_mono_ms;", "int64_t ms = us / 1000;"),
    Mutant("what is over is far ahead", MEMORY, "*ret_mono_ms = ms > 0 ? (uint64_t)ms : 0;", "*ret_mono_ms = (uint64_t)ms;"),
    Mutant("the states are known before anything was read", MEMORY,
           'json_get_bool(of, "admin_states_known", false, &to->memory.known, err) != 0 ||', ""),
    Mutant("what drained is forgotten at once", "servers/desired/server_state.c", "    e->last_ms = now_ms;\n}", "}"),
    Mutant("a drain that is recalled ends without notice", "servers/desired/server_state.c",
           "    e->until_ms = m->until_ms;\n", ""),
    Mutant("runtime updates that failed are tried", "cli/inspect_report.c", "(!b->daemon.used || b->daemon.runtime_updates)", "true"),
    Mutant("a reload that is due is none", DECIDE, "t->dirty || b->daemon.reload_due", "t->dirty"),
    Mutant("a file that may not be written to is written to", DECIDE,
           "t->file_problem != NULL ? t->file_problem : b->daemon.file_problem", "t->file_problem"),
    Mutant("losses of before do not count", DECIDE, "        .loss_limit = &b->daemon.loss_limit,\n        .now", "        .loss_limit = NULL,\n        .now"),
    Mutant("a pause is none", DECIDE, "return b->daemon.paused_until_ms != 0 && v != PLAN_IN_SYNC;", "return false;"),
    Mutant("a pause is none for commands", DECIDE, "if (suspended || decide_pauses(b, b->first.verdict))", "if (suspended)"),
    Mutant("a pause lasts where the file is as desired", DECIDE, "b->daemon.paused_until_ms != 0 && v != PLAN_IN_SYNC", "b->daemon.paused_until_ms != 0"),
    Mutant("what was written counts as returned", DECIDE, "    input.loss_limit = &losses;\n", ""),
    Mutant("a memory that is not used is shown", "cli/inspect_print.c", "return daemon_memory_used(r->daemon) && until_ms != 0 ?", "return until_ms != 0 ?"),
))
# Of the daemon's side; what it lacks, plan decides otherwise than the daemon.
room("memory reported", ("test_status_memory", "test_sequences"), (
    Mutant("whether a removal is delayed is not reported", STATUS, '    json_put_bool(doc, row, "delayed", l->losses[i].held);\n', "") ,
    Mutant("losses that may leave are not reported", STATUS, "i < l->count; i++) {", "i < l->count && l->losses[i].held; i++) {"),
    Mutant("since when a server is parked is not reported", STATUS, "    memory_time(&j, row, \"since\", is.since_ms);\n", ""),
    Mutant("what an operator has set is not reported", STATUS, "runtime_admin_name(mark->theirs)", "runtime_admin_name(RUNTIME_READY)"),
    Mutant("what the daemon has commanded is not reported", STATUS, "runtime_admin_name(mark->ours)", "runtime_admin_name(RUNTIME_READY)"),
    Mutant("runtime updates that failed are not reported", STATUS, '"runtime_updates", in.at.open', '"runtime_updates", true'),
    Mutant("a reload that is due is not reported", STATUS, '"reload_due", in.dirty', '"reload_due", false'),
    Mutant("a file that may not be written to is not reported", STATUS, '"file_problem", in.file_problem', '"file_problem", NULL'),
    Mutant("a pause is not reported", STATUS, "in.conflict ? s->pause.until_ms : 0", "0"),
))
