"""One HAProxy (haproxy/instance, servers/): what waits for what."""

from .mutant import Mutant, room

room("no room for a transaction", ("test_engine", "test_instance_endings", "test_instance_reload", "test_instance_stop", "test_engine_runtime_update", "test_engine_verification"), (
    Mutant("without room for a transaction nothing is written", "servers/decide.c",
           "(v.dirty || decide_overdue(s)) && v.may_begin && !rejected;", "(v.dirty || decide_overdue(s)) && !rejected;"),
    Mutant("without room an empty commit is tried again and again", "servers/decide.c",
           "servers_may_write(s) && v.may_begin ? NEED_RELOAD", "servers_may_write(s) ? NEED_RELOAD"),
    Mutant("a doubt that no reload can end stops all writes", "haproxy/verification.c", "(v->state == VERIFICATION_SUSPENDED && no_room);", "false;"),
    Mutant("there is no room for ever", "haproxy/backoffs.c", "    b->no_room = false;\n", ""),
    Mutant("without room reading waits, too", "haproxy/backoffs.c",
           "    b->no_room = true;\n", "    b->no_room = true;\n    b->quiet_until_ms = now_ms + 5000;\n"),
))
DECIDE = "servers/decide.c"
WRITE = "servers/write.c"

room("what was refused", ("test_engine", "test_engine_runtime_update", "test_instance_endings", "test_engine_verification"), (
    Mutant("what is refused together is never tried apart", WRITE, "bool again = s->may_part && (was == WRITE_ALL ||", "bool again = s->may_part && (false ||"),
    Mutant("what is to be apart is together again", WRITE, "bool apart = s->last.apart_until_ms > clock_mono_ms();", "bool apart = false;"),
    Mutant("it stays apart for ever", WRITE, "bool apart = s->last.apart_until_ms > clock_mono_ms();", "bool apart = s->last.apart_until_ms > 0;"),
    Mutant("a removal alone is one of two parts", WRITE, "s->may_part = diff_has_parts(d);", "s->may_part = true;"),
    Mutant("removals that leave nobody go first", WRITE, "s->removals_may_go_first = s->may_part && diff_leaves_live(d);", "s->removals_may_go_first = s->may_part;"),
    Mutant("removals never go first", WRITE, "s->removals_may_go_first = s->may_part && diff_leaves_live(d);", "s->removals_may_go_first = false;"),
    Mutant("removals are tried with nothing else at first", WRITE, "s->last.next_part == WRITE_REMOVALS && s->removals", "s->removals"),
    Mutant("a part counts as all", WRITE, "(s->at->writing && s->part == WRITE_ALL) ||", "s->at->writing ||"),
    Mutant("what is refused holds up runtime updates", DECIDE, "if (servers_pause_writes(s) || !v.may_write ||", "if (servers_pause_writes(s) || rejected || !v.may_write ||"),
    Mutant("a transaction that is refused goes before a runtime update", DECIDE, "&& v.may_begin && !rejected;", "&& v.may_begin;"),
    Mutant("a runtime update that is refused is made again at once", DECIDE, "(!rejected || s->last.updates_after_ms <= clock_mono_ms()))", "true)"),
    Mutant("what is refused is tried again at once", DECIDE, "    if (rejected)\n        return NEED_TIME;\n", ""),
))
room("what was undone", ("test_engine_conflict",), (
    Mutant("what a failed reload took back was undone by another writer", "servers/other_writer.c",
           "if (!write_is_undone(s) || write_may_be_put_back(s))", "if (!write_is_undone(s))"),
    Mutant("what a failed reload took back does not stick", "servers/other_writer.c", "    if (write_may_be_put_back(s))\n        return true;\n", ""),
    Mutant("what is undone during a reload of ours counts never", "servers/other_writer.c",
           "if (!write_is_undone(s) || write_may_be_put_back(s))", "if (!write_is_undone(s) || write_may_be_put_back(s) || !s->report.in_sync)"),
))
room("end of an engine", ("test_engine_shutdown",), (
    Mutant("drains that a commit carried are left once more", "haproxy/instance.c",
           "if (!ends && !in->fresh && !in->read_at_end) {", "if (false) {"),
    Mutant("the end searches for nothing", "haproxy/instance.c", "if (!ends && !in->fresh && ", "if (!in->fresh && "),
    Mutant("the end searches again and again", "haproxy/instance.c", "        in->read_at_end = true;\n", ""),
    Mutant("a stranger's write keeps a drain from being left", "haproxy/instance.c",
           "u->result == UPDATE_CONFLICT && !in->read_at_end;", "false;"),
))
room("engines", ("test_instance",), (
    Mutant("what runs and a file from before it are one reading", "haproxy/instance_read.c", "r->read_again = other && !r->read_again && !by_daemon;", "r->read_again = false;"),
    Mutant("two may own a backend's servers", "haproxy/instance.c", "        if (*parts[i].owner != NULL)\n", "        if (false)\n"),
    Mutant("two may own the rest", "haproxy/instance.c", "if (e->rest && rest != NULL)", "if (false)"),
    Mutant("another engine's update cures a refusal", "servers/write.c",
           "            write_passed_by(s, was, u->version);\n", "            ;\n"),
    Mutant("another engine's commit cures a refusal", "servers/write.c",
           "            write_passed_by(s, s->at->actual.version, t->version);\n", "            ;\n"),
    Mutant("refused together, all are tried again", "haproxy/instance_write.c", "if (!(in->one_by_one && wanted) && ", "if ("),
    Mutant("what another engine adds is harm", "haproxy/instance_write.c",
           "if (e->ops->may_change != NULL && e->ops->may_change(e->self, kind, name, first, second))",
           "if (i == 0 && e->ops->may_change(e->self, kind, name, first, second))"),
))
