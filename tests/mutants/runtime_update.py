"""What goes without a reload: the choice and the memory of who set what (servers/change/route*), and the machine of one write."""

from .mutant import Mutant, Room

LANE = "servers/change/route.c"
MEMORY = "servers/change/admin_states.c"
MACHINE = "haproxy/dataplane/runtime_update.c"

CHOICE = (
    Mutant("equal names are told something", LANE, "if (i - first == 1 && !diff_server", "if (!diff_server"),
    Mutant("foreign lines are told something", LANE, "if (i - first == 1 && !diff_server_is_foreign(l->list[first], rules, desired))", "if (i - first == 1)"),
    Mutant("a removal tells nobody", LANE, "d->changes[i].op == DIFF_REMOVE || sets_maintenance", "sets_maintenance"),
    Mutant("backup servers count as serving", LANE, "return line->backup ||\n           (c->", "return (c->"),
    Mutant("who is being written counts as serving", LANE, "is_being_written(c, line->name) || str_eq(c->in->being_stopped", "str_eq(c->in->being_stopped"),
    Mutant("who may be taken out by a call under way counts as serving", LANE, "str_eq(c->in->being_stopped, line->name) ||", ""),
    Mutant("a server of weight 0 counts as serving", LANE, "(row->weight >= 0 ? row->weight : line->weight) == 0;", "false;"),
    Mutant("the weight in the file counts though HAProxy runs another", LANE, "(row->weight >= 0 ? row->weight : line->weight) == 0;", "line->weight == 0;"),
    Mutant("a clash of names does not matter", LANE,
           "if (strcmp(c->in->diff->skips[i].name, name) == 0)", "if (false)"),
    Mutant("an operator's state gives way to ours", LANE, "if (mark->theirs != RUNTIME_READY) {\n        *ret = mark->theirs;", "if (false) {\n        *ret = mark->theirs;"),
    Mutant("what an operator set and HAProxy forgot is not set again", LANE,
           "return now != mark->theirs && (mark->lost || mark->parked || by_us) ? WHY_OPERATOR : NULL;", "return NULL;"),
    Mutant("what an operator took back is set again", LANE,
           "now != mark->theirs && (mark->lost || mark->parked || by_us) ?", "now != mark->theirs ?"),
    Mutant("who drains is not told", LANE, "(now == RUNTIME_MAINT && mark->ours == RUNTIME_MAINT) ? WHY_DRAINS : NULL;", "false ? WHY_DRAINS : NULL;"),
    Mutant("who is wanted again stays away", LANE, "return now == RUNTIME_READY || !by_us ? NULL : want != NULL ?", "return now == RUNTIME_READY || !by_us || want != NULL ? NULL : want != NULL ?"),
    Mutant("who is held stays away", LANE, "return now == RUNTIME_READY || !by_us ? NULL :", "return now == RUNTIME_READY || !by_us || want == NULL ? NULL :"),
    Mutant("who is out by an operator is brought back", LANE, "return now == RUNTIME_READY || !by_us ? NULL :", "return now == RUNTIME_READY ? NULL :"),
    Mutant("the last one drains", LANE, "    if (any_ready(c))\n        return;\n    delay_leaving_commands", "    return;\n    delay_leaving_commands"),
    Mutant("calls take away before they bring back", LANE,
           "    add_calls(c, true);\n    add_calls(c, false);\n", "    add_calls(c, false);\n    add_calls(c, true);\n"),
    Mutant("a server that is to come is one that an operator keeps out", LANE, "&& !overridden &&", "&&"),
    Mutant("a lazy removal makes a transaction", LANE, "return change->lazy ? NULL : mem_printf", "return mem_printf"),
    Mutant("what HAProxy cannot be told is told", LANE, "if (!open || change->structural)", "if (!open)"),
    Mutant("a server that HAProxy does not run is told", LANE,
           "return runtime_find(c->in->runtime, name) == NULL ? mem_printf", "return false ? mem_printf"),
    Mutant("settings of the backend wait for ever", LANE, "    if (d->backend_change)\n", "    if (false)\n"),
    Mutant("a new backend waits for ever", LANE, "    if (d->create_backend)\n", "    if (false)\n"),
    Mutant("who goes is written before who comes", LANE, "    for (unsigned i = 0; i <= 2; i++)\n        add_writes(c, i);", "    for (unsigned i = 3; i-- > 0;)\n        add_writes(c, i);"),
    Mutant("a server is brought back at its old address", LANE, "&& !c->server.maintenance && (c->fields & (SERVER_ADDRESS | SERVER_PORT));", "&& false;"),
    Mutant("a hundred writes go one by one", LANE, "if (ret->update_count > ROUTE_UPDATES_MAX) {", "if (false) {"),
    Mutant("the last one goes before another is there", LANE,
           "if (!any_ready(c) && (ret->transaction || one_is_to_come(c)))", "if (false)"),
    Mutant("a held plan writes", LANE, "in->diff->verdict == DIFF_NO_ENDPOINT ||", ""),
    Mutant("what may not be written is written", LANE, "if (!in->may_write || in->diff->verdict", "if (in->diff->verdict"),
)

REMEMBERED = (
    Mutant("a mark without anybody is told of", MEMORY, "return mark != NULL && anybody_set_it(mark) ? mark : NULL;", "return mark;"),
    Mutant("what we told last does not count", MEMORY, "return mark != NULL && mark->asked ? mark->told : row->admin;", "return row->admin;"),
    Mutant("a reload takes an operator's state away for good", MEMORY, "if (mark->theirs != RUNTIME_READY && l->worker != WORKER_SAME)", "if (false)"),
    Mutant("an operator can take nothing back", MEMORY, "        mark->theirs = RUNTIME_READY; /* taken back */\n", "        ;\n"),
    Mutant("an old reading ends our drain", MEMORY, "if (is_desired_live(l) && !l->stale)", "if (is_desired_live(l))"),
    Mutant("an old reading is an operator's", MEMORY, "    if (l->stale)\n        return;\n", ""),
    Mutant("after our own reload everything is an operator's", MEMORY, "mark->theirs == RUNTIME_READY && (l->worker == WORKER_BY_OUR_RELOAD || late)) {", "false) {"),
    Mutant("what we have set is an operator's", MEMORY, "} else if (mark->ours == RUNTIME_READY) {", "} else {"),
    Mutant("what an earlier run of ours has set is an operator's", MEMORY,
           "if (l->first && mark->ours == RUNTIME_READY && adopted) {", "if (false) {"),
    Mutant("any drain is one of ours", MEMORY, "if (l->first && mark->ours == RUNTIME_READY && adopted) {", "if (adopted) {"),
    Mutant("drains that leave nothing are an operator's", MEMORY, "!is_desired_live(l) || (l->empty && ", "!is_desired_live(l) || (false && "),
    Mutant("what leaves nothing is ours, maint as well", MEMORY, "(l->empty && l->row->admin == RUNTIME_DRAIN);", "l->empty;"),
    Mutant("a parked server forgets its operator", MEMORY, "        mark->parked = mark->theirs != RUNTIME_READY;\n", ""),
    Mutant("a server that comes back is not told its operator's state", MEMORY, "    mark->lost = mark->lost || mark->parked;\n", ""),
    Mutant("the answer to a call is believed for ever", MEMORY, "    mark->asked = false;\n    if (l->line->maintenance) {", "    if (l->line->maintenance) {"),
    Mutant("a state of HAProxy's that cannot be read empties the memory", MEMORY, "    if (!r->readable)\n        return;\n", ""),
    Mutant("a call whose answer is lost is an operator's", MEMORY, "        mark->ours = state;\n}\n\nvoid admin_states_unanswered", "        ;\n}\n\nvoid admin_states_unanswered"),
    Mutant("ready by us leaves the operator's mark", MEMORY, "    if (state == RUNTIME_READY)\n        mark->theirs = RUNTIME_READY;\n", ""),
    Mutant("a reload leaves our drains", MEMORY, "        m->marks[i].ours = RUNTIME_READY;\n        m->marks[i].asked", "        m->marks[i].asked"),
    Mutant("parked servers are shown as an operator's", MEMORY, "mark->theirs != RUNTIME_READY && !mark->parked && ", "mark->theirs != RUNTIME_READY && "),
)

WRITE = (
    Mutant("a write that keeps maintenance ends it", MACHINE, "as.maintenance = !server->maintenance;", ";"),
    Mutant("a login page is a write", MACHINE, "if (!transaction_is_success(a) || a->version <= 0)", "if (!transaction_is_success(a))"),
    Mutant("a write that needs a reload is proven", MACHINE, "    if (a->reload_id != NULL) {\n", "    if (false) {\n"),
    Mutant("202 without a name of the reload is proven", MACHINE, "if (a->status == 202)", "if (false)"),
    Mutant("the answer about another server proves", MACHINE, "if (!str_eq(is->name, l->wanted.name))", "if (false)"),
    Mutant("a server that is in maint still is proven", MACHINE,
           "if ((l->fields & SERVER_MAINTENANCE) && !l->wanted.maintenance && is->admin == RUNTIME_MAINT)", "if (false)"),
    Mutant("another weight is proven", MACHINE, "is->weight != l->wanted.weight &&", "false &&"),
    Mutant("an address that comes a moment later is unproven", MACHINE, "l->reads++ < DRIFT_READS_AGAIN", "false"),
    Mutant("an address that does not come is read for ever", MACHINE, "l->reads++ < DRIFT_READS_AGAIN", "true"),
    Mutant("an address is read again at once", MACHINE, "l->reads > 0 ? DRIFT_AGAIN_MS(l->reads) : 0", "0"),
    Mutant("the answer about another server is waited out", MACHINE, "(SERVER_ADDRESS | SERVER_PORT)) && str_eq(is.name, l->wanted.name);", "(SERVER_ADDRESS | SERVER_PORT));"),
    Mutant("what is no address is waited for", MACHINE, "(l->fields & (SERVER_ADDRESS | SERVER_PORT)) && str_eq", "str_eq"),
    Mutant("what the API says of a write is not kept", MACHINE, "        l->refusal = codec_refusal(a->body, a->body_len);\n", "        ;\n"),
    Mutant("an agent's weight is a failure", MACHINE, "!codec_has_agent(l->wanted.json))", "true)"),
    Mutant("another address is proven", MACHINE, "    return drift_of_server(&l->wanted, is);", "    return NULL;"),
    Mutant("a conflict is a refusal", MACHINE, "        return UPDATE_CONFLICT;\n", "        return UPDATE_REJECTED;\n"),
    Mutant("a call that did nothing is believed", MACHINE, "if (is.admin != wanted && !kept_away)", "if (false)"),
    Mutant("drain in place of maint is a failure", MACHINE, "if (is.admin != wanted && !kept_away)", "if (is.admin != wanted)"),
    Mutant("the version of a write is not kept", MACHINE, "    l->version = a->version;\n", ""),
)

CROSSED = (
    Mutant("what is desired anew while something is under way is in sync", "servers/runtime.c",
           "    if (plan.verdict == PLAN_WRITE)\n", "    if (false)\n"),
    Mutant("a call that crosses a look is made twice", "haproxy/instance_command.c", "in->phase == INSTANCE_READING,", "false,"),
    Mutant("what a crossed look could not show is not looked at", "haproxy/instance_read.c",
           "            in->unverified = true;\n", "            ;\n"),
    Mutant("who is back amid a look stays down", MEMORY,
           "runtime_set_admin(&r->servers[i], mark->told);", "r->servers[i].admin = mark->told;"),
    Mutant("another process was told, too", MEMORY, "mark->crossed && !other_worker && ", "mark->crossed && "),
    Mutant("a call crosses the next look as well", MEMORY, "            mark->crossed = false;\n", "            ;\n"),
)

ROOMS = (
    Room("runtime updates", ("test_route", "test_admin_states"), CHOICE + REMEMBERED),
    Room("write without a reload", ("test_runtime_update",), WRITE),
    Room("calls and looks that cross", ("test_engine_running_state", "test_admin_states"), CROSSED),
)
