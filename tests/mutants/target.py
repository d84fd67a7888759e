"""One HAProxy (servers/target*): what waits for what."""

from .mutant import Mutant, Room

DECIDE = "servers/target_decide.c"
FAST = "servers/target_runtime_update.c"
WRITE = "servers/target_write.c"
END_FILE = "servers/target_shutdown.c"

ROOM = (
    Mutant("without room for a transaction nothing is written", DECIDE,
           "(s->target->dirty || is_overdue(s)) && !target_waits_for_room(s->target);", "s->target->dirty || is_overdue(s);"),
    Mutant("without room an empty commit is tried again and again", DECIDE,
           "may_write(s) && !target_waits_for_room(s->target) ? NEED_RELOAD", "may_write(s) ? NEED_RELOAD"),
    Mutant("a doubt that no reload can end stops all writes", FAST, "(t->trust == TRUST_DOUBTED && t->no_room);", "false;"),
    Mutant("there is no room for ever", WRITE, "    t->no_room = false;\n", ""),
    Mutant("without room reading waits, too", WRITE, "    t->no_room = true;\n", "    t->no_room = true;\n    t->wait_until_ms = clock_mono_ms() + wait_ms;\n"),
)

UNDONE = (
    Mutant("what a failed reload took back was undone by somebody", DECIDE, "    if (undone && may_be_put_back(s))\n        return true;\n", ""),
    Mutant("what a failed reload took back does not stick", DECIDE, "    if (may_be_put_back(s))\n        return true;\n", ""),
    Mutant("what is undone during a reload of ours counts never", DECIDE, "    if (undone)\n        count_undone(s, now);", "    if (undone && s->in_step)\n        count_undone(s, now);"),
)

END = (
    Mutant("drains that a commit carried are left once more", END_FILE, "if (!t->seen && !t->looked_at_end && any_drained(t)) {", "if (false) {"),
    Mutant("the end looks for nothing", END_FILE, "!t->looked_at_end && any_drained(t)) {", "!t->looked_at_end) {"),
    Mutant("the end looks again and again", END_FILE, "        t->looked_at_end = true;\n", ""),
    Mutant("a stranger's write keeps a drain from being left", END_FILE, "t->runtime_update.result == UPDATE_CONFLICT && !t->looked_at_end;", "false;"),
)

ROOMS = (
    Room("target", ("test_target", "test_target_runtime_update"), ROOM),
    Room("what was undone", ("test_target_safety",), UNDONE),
    Room("end of a target", ("test_target_shutdown",), END),
)
