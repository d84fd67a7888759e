"""What only many events in a row show: noticed by the streams of tests/sequences."""

from .mutant import Mutant, room

FILE = "configuration/target_file.c"
TURNS = "configuration/turns.c"
LOSS_LIMIT = "servers/change/loss_limit.c"
NAMES = "servers/names.c"
DIFF = "servers/change/diff.c"
STATUS = "daemon/status/status_haproxy.c"

STREAMS = (
    Mutant("a file that went back is at rest", "haproxy/instance_read.c",
           "in->running.drift == NULL && in->running.split_version < 0 &&", "in->running.drift == NULL &&"),
    Mutant("the end takes out who is to serve", "servers/shutdown.c", "if (!stays || (row != NULL && row->admin != RUNTIME_READY))", "if (true)"),
    Mutant("the end takes out who is held by the loss limit", "servers/shutdown.c",
           "(want != NULL && want->state == SERVER_LIVE) ||\n                     loss_limit_delays(&s->loss_limit, line->name, clock_mono_ms(), &until_ms);", "(want != NULL && want->state == SERVER_LIVE) || (until_ms = 0, false);"),
    Mutant("what an earlier run wrote and did not see run is applied", "configuration/target.c", "    if (first && store_was_writing(", "    if (false && store_was_writing("),
    Mutant("a difference begins anew with each write", "haproxy/instance_read.c", "(r->drift == NULL || !str_eq(r->drift, what))", "true"),
    Mutant("what was written is read once its reload has ended", "haproxy/instance.c", "    if (!in->fresh) {\n",
           "    if (!in->fresh && l->reload.state != RELOAD_PENDING) {\n"),
    Mutant("what is paused while something is under way is in sync", "servers/runtime_commands.c", "plan.verdict != PLAN_IN_SYNC", "plan.verdict == PLAN_WRITE"),
    Mutant("who is left to another writer is sent nothing though the file is as desired", "servers/change/plan.c",
           "(v == PLAN_IN_SYNC || !in->conflict)", "!in->conflict"),
)

REPAIRS = (
    Mutant("one backend's commit speaks for all", "haproxy/instance_write.c", "in->backends[i].reviewed || in->backends[i].writing;", "true;"),
    Mutant("the end knows what a call under way will do", "haproxy/instance.c", "    if (in->commands.busy) /*", "    if (false) /*"),
    Mutant("a server that is renamed is two", "servers/report.c",
           "i < s->by_node->server_count; i++)\n        count += s->by_node->servers[i].state == state;",
           "i < s->desired->server_count; i++)\n        count += s->desired->servers[i].state == state;"),
    Mutant("a harmful file passes", "haproxy/guard.c", "return found == NULL ?", "return true ?"),
    Mutant("an edit while the API is down is not seen", "haproxy/guard.c", "if (guard_is_other(g, file))", "if (false)"),
    Mutant("no commit is read", "haproxy/instance_write.c",
           "review = review && guard_passed(", "review = false && guard_passed("),
    Mutant("nothing is adopted", NAMES, "if (w->in->rules->adopt == ADOPT_KEEP) {", "if (false) {"),
    Mutant("lines do not say enabled against a default", "servers/change/diff_server.c", "(s->enabled || s->default_disabled);", "s->enabled;"),
)

REPORTS = (
    Mutant("a drain that comes late is an operator's", "servers/change/admin_states.c", "mark->late_periods > 0 && mark->late == l->row->admin;", "false;"),
    Mutant("a server that is down is up", "servers/report.c", "is != NULL && !is->down;", "is != NULL;"),
    Mutant("a held server is not set to ready", "servers/change/route.c", "want != NULL ? WHY_BACK : WHY_DELAYED;", "want != NULL ? WHY_BACK : NULL;"),
    Mutant("without room for a transaction nothing is written", "servers/decide.c",
           "(v.dirty || decide_overdue(s)) && v.may_begin && !rejected;", "(v.dirty || decide_overdue(s)) && !rejected;"),
    Mutant("a dry run reads what a transaction would write", "servers/servers.c", "s < e->end && !e->options.rules.dry_run; s++)", "s < e->end; s++)"),
    Mutant("a spare is parked", "daemon/status/status_haproxy.c",
           "desired_find_spare(s->desired, line->name) != NULL ? PLACE_SPARE", "false ? PLACE_SPARE"),
    Mutant("a pause hides who was sent away before it", "servers/decide.c", "    if (would.command_count == 0 && parked == NULL)\n", "    if (true)\n"),
    Mutant("who joins a transaction is in sync before its reload", "servers/write.c",
           "    servers_set_in_sync(s, false); /* until its reload, also where it joined another's transaction */\n", ""),
    Mutant("a backend that is missing is not made", DIFF, "if (!actual->exists && !rules->create_backend)", "if (!actual->exists)"),
)

LOCAL_WRITE = "haproxy/local/driver_write.c"

LOCAL = (
    Mutant("each write of a local HAProxy is loaded by a reload", LOCAL_WRITE, "    if (why != NULL)\n        w->reloads = true;", "    w->reloads = true;"),
    Mutant("servers that were added for a write that failed stay in a local HAProxy", LOCAL_WRITE,
           "local_run_take_back(&w->late, &w->early, &is);", "local_run_clear(&w->late);"),
    Mutant("who was added beside another writer's line stays in maintenance", "haproxy/local/driver_commands.c",
           "            server_commands_add_ready(back, &done->commands, name, strcspn(name, \" \"));\n", "            ;\n"),
    Mutant("a local file is written whatever it is by now", LOCAL_WRITE, "w->text->len, &d->file.identity, flags,", "w->text->len, NULL, flags,"),
    Mutant("the end waits for a local file that is checked for a minute", LOCAL_WRITE, "local_driver_tell_in(d, ABORT_MS, driver_write_give_up);", ";"),
    Mutant("a local HAProxy does not check who is new", "haproxy/local/server_command.c",
           'command_put_plain(c, "enable health "', 'command_put_plain(c, "enable server "'),
    Mutant("a driver without a preview is asked for one", "haproxy/instance_write.c", "instance_driver(in)->ops->preview != NULL &&", "true &&"),
)

# Others that the tests of their own rooms notice, too: the streams are to find them without being shown where to search.
FOUND = (
    Mutant("a loss is forgotten as soon as it is over", LOSS_LIMIT, "bool counts_on = !l->held && counts(l, r->now_ms) && !r->returned(r->arg, l->server);", "bool counts_on = false;"),
    Mutant("no loss is held", LOSS_LIMIT, "bool held = (uint64_t)lost * 100 > (uint64_t)base * r->max_percent;", "bool held = false;"),
    Mutant("who drains is sent again and again", "servers/runtime_commands.c", "    admin_states_called(&s->states, c->name, c->state);\n", ""),
    Mutant("a line is made anew instead of changed", "haproxy/dataplane/codec_write.c", "start_from(s->json != NULL ? s->json : s->rest, what, err);", "start_from(NULL, what, err);"),
    Mutant("a file that is behind is not seen", "haproxy/dataplane/reader.c", "o->to->split = o->file_version >= 0 && o->file_version != o->to->version;", "o->to->split = false;"),
)

DRIVER_WRITE = "haproxy/dataplane/driver_write.c"

# Behind an API that adds servers.
ADDS = (
    Mutant("a write that another writer kept from being loaded is loaded", DRIVER_WRITE, "(t->step_count == 0 && !t->cleanup_only) ||", ""),
    Mutant("the file that a failed reload put back is written on", DRIVER_WRITE, " || (f->version >= 0 && f->version != s->version) ||", " ||"),
    Mutant("a server that an edit has put back is added to its file again", "haproxy/cfg/backend_edit.c",
           "if (cfg_lines_server(b, c->server->name) != NULL)", "if (false)"),
)

TARGET = "configuration/target.c"
RUNS = "configuration/target_runs.c"

WHOLE = (
    Mutant("a document that comes back is compared with a file that is being written", TARGET, "if (writes || !instance_view(t->in).fresh)",
           "if ((false && writes) || !instance_view(t->in).fresh)"),
    Mutant("what this run wrote is another writer's", RUNS, "!t->has.unloaded &&\n           store_ran(s, target_document(t), target_name(t)) && !store_was_writing(s, target_name(t))",
           "store_ran(s, target_document(t), target_name(t))"),
    Mutant("what was sent of a document that was replaced is not known to run", RUNS,
           "        target_note_document_runs(t, d);\n        target_note_file_runs(t);\n    }\n}", "        target_note_document_runs(t, d);\n    }\n}"),
    Mutant("another HAProxy runs what the former did", TARGET, "if (other_worker && t->has.version", "if (false && t->has.version"),
    Mutant("a document that a hand replaced before its load is a version", RUNS, "    if (t->has.effect == CFG_EFFECT_NONE) {\n        target_note", "    if (true) {\n        target_note"),
    Mutant("any file is known to run", TARGET, "has->running != NULL && target_file_means(t, has->running);", "true;"),
    Mutant("the difference is sent to whatever runs", TARGET, "target_runs_another(t) == NULL ? target_difference(t) : NULL;",
           "target_difference(t);"),
    Mutant("what an API puts back after a failed reload is an operator's repair", RUNS, "!t->failed.restores || instance_view(t->in).behind ||", "!t->failed.restores ||"),
    Mutant("what an API puts back before the failure is reported is drift", RUNS, "s->progress == PROGRESS_WRITTEN && instance_view(t->in).behind)", "false)"),
    Mutant("the entries of a map are not read back", "haproxy/dataplane/storage_run.c", "if (!map_entries_same(&is, &r->entries))", "if (false)"),
    Mutant("a file that was edited while its API was down is known to run", FILE, "(!v.loaded || same_version)",
           "(!v.loaded || (false && same_version))"),
    Mutant("superseded with files, it is another writer's file", "configuration/target_runs.c",
           "        t->sent.writing = NULL;\n        document_unref(d);\n", "        target_writes(t, NULL);\n"),
    Mutant("files that cannot go back are tried again and again", "configuration/target_files.c", " && nothing && !s->files_stay)", " && nothing)"),
    Mutant("any other process is the reload that was forgotten", "haproxy/reload_confirm.c",
           "(s->other ? !s->started_since : s->tells_ends)", "(!s->other && s->tells_ends)"),
    Mutant("a process that another's reload started took the commands", "haproxy/instance_read.c",
           "l->commanded_ms != 0 && in->version", "false && in->version"),
    Mutant("an API that knows of no reload had none to come", "haproxy/instance_reload.c", "history->response == NULL && !history->unlisted", "false"),
    Mutant("who was added in maintenance is an operator's", "servers/write.c", "                admin_states_written(&s->states, c->server.name, true);\n", "                ;\n"),
    Mutant("a line that was loaded in maintenance is an operator's", "servers/change/admin_states.c", " || late || again || loaded)", " || late || again)"),
    Mutant("commands go to servers that HAProxy does not run", "haproxy/instance_write.c", "reload = drift != NULL;", "(void)drift;"),
    Mutant("what runs beside its file is in sync in a dry run", "servers/decide.c", "if (!s->desired->paused && !dry_run)", "if (!s->desired->paused)"),
    Mutant("a first HAProxy that does not answer any more is none", TURNS,
           " || w->probation.state != PROBATION_NONE;", " || (w->probation.state != PROBATION_NONE && !t->failed.away);"),
    Mutant("a new server whose health nobody checks is as its line says", "haproxy/drift.c", "    if (adds && is->unchecked)\n", "    if (false)\n"),
    Mutant("what is withdrawn repairs drift", "configuration/target.c", "configuration_next_is_due(c) || withdrawn)", "configuration_next_is_due(c))"),
    Mutant("what is served amid a watch is from before it", TARGET, "!w->asked && !watched;", "!w->asked;"),
    Mutant("what went back is listed as half done", "haproxy/storage_machine.c", "    memcpy(e->hash, m->hash, sizeof(e->hash));\n    if (back) {", "    if (!back)\n        memcpy(e->hash, m->hash, sizeof(e->hash));\n    if (back) {"),
    Mutant("a file over which the API writes what could not be loaded is as desired", RUNS, "    if (over)\n        t->has.effect", "    if (false)\n        t->has.effect"),
    Mutant("files that went back are what runs", TARGET, "    if (!s->files_back)\n        return false;", "    if (true)\n        return false;"),
    Mutant("what was sent of a whole configuration is not read back", LOCAL_WRITE, "if (w->late.why == NULL && v->changes->count > 0)", "if (false)"),
    Mutant("a command that fails is none", "haproxy/local/driver_commands.c", "        run_refuse(r, c->text, err.message);\n", "        (void)0;\n"),
    Mutant("a pause writes", TURNS, "return !c->options.dry_run && !c->paused;", "return !c->options.dry_run;"),
    Mutant("who has it by a hand's doing is good", RUNS, "!unfinished && !first))", "!unfinished))"),
    Mutant("who was written to is the first one no more", TURNS, "(written && !t->failed.away) ||", "false ||"),
    Mutant("a first HAProxy whose file was edited before its load is none", TURNS, "t->sent.writing == c->document || w->written;", "t->sent.writing == c->document;"),
    Mutant("who was edited amid the watch is the first one no more", TURNS, " || w->probation.state != PROBATION_NONE;", ";"),
    Mutant("what an earlier daemon wrote, and nobody can load, stays", RUNS,
           "    t->has.good = cfg_content_ref(d->content);\n    t->sent.files_changed", "    return false;\n    t->sent.files_changed"),
    Mutant("what cannot be loaded stays", RUNS, "    t->failed.restores = true;\n    cfg_content_hold", "    t->failed.restores = false;\n    cfg_content_hold"),
)

# By the streams with another cluster; test_clusters and test_engine_clusters notice most of them, too (tests/mutants/clusters.py).
CLUSTERS = (
    Mutant("who is rejected joins another one's transaction", "servers/write.c", "s->have_desired && servers_may_write(s) &&", "s->have_desired &&"),
    Mutant("whose a server is is the other way round", "servers/change/ownership.c",
           "return OWNERSHIP_OWN;\n    return ownership_fits(format, name, NULL) ? OWNERSHIP_OTHER : OWNERSHIP_NONE;",
           "return ownership_fits(format, name, NULL) ? OWNERSHIP_OTHER : OWNERSHIP_NONE;\n    return OWNERSHIP_OWN;"),
    Mutant("another cluster's server is managed where streams have one", "servers/change/ownership.c",
           "ownership_of(rules->server_name_format, rules->cluster, s->name) != OWNERSHIP_OWN &&", "ownership_of(rules->server_name_format, rules->cluster, s->name) == OWNERSHIP_NONE &&"),
    Mutant("the last own server goes though no other cluster's is UP", "servers/change/plan.c",
           "rules.diff.others_up = diff_others_up(in->at.actual, in->at.runtime, &rules.diff);", "rules.diff.others_up = rules.diff.cluster != NULL;"),
    Mutant("a server that is DOWN lets the last own one go", "servers/change/ownership.c", "is->admin == RUNTIME_READY && !is->down &&", "is->admin == RUNTIME_READY &&"),
    Mutant("the last own server goes by an old reading", "servers/decide.c", "if (s->plan.diff.leaves_none && v.read_began_ms < s->leaves_none_since_ms)", "if (false)"),
    Mutant("the loss limit counts another cluster's servers", DIFF, "        if (lines.list[i].foreign) {\n            ret->foreign_count++;", "        if (lines.list[i].foreign) {\n            ret->foreign_count++;\n            ret->live_count += !s->maintenance;"),
    Mutant("a command takes the last own server, as another cluster's serves", "servers/change/route.c",
           "(c->in->rules->cluster != NULL && diff_server_is_foreign(line, c->in->rules, c->in->desired)) ||", "false ||"),
    Mutant("a daemon does not give the file to the next one", "haproxy/local/driver_file.c", "if (d->options.takes_turns && !loads)", "if (false && !loads)"),
)

room("sequences", ("test_sequences",), (*STREAMS, *REPAIRS, *REPORTS, *LOCAL, *CLUSTERS, *ADDS, *WHOLE, *FOUND))
