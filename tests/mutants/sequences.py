"""What only many events in a row show: noticed by the streams of tests/sequences."""

from .mutant import Mutant, Room

MEMORY = "model/lane_memory.c"
LOOK = "sync/target_look.c"
HANDOVER = "sync/target_handover.c"
DECIDE = "sync/target_decide.c"
BRAKE = "sync/brake.c"
WRITE = "dataplane/codec_write.c"
TELL = "sync/target_tell.c"
OBSERVE = "sync/observe.c"

STREAMS = (
    Mutant("a file that went back is at rest", LOOK, "t->drift == NULL && t->split_version < 0 &&", "t->drift == NULL &&"),
    Mutant("the end takes out who is to serve", HANDOVER, "return !stays || (row != NULL && row->admin != RUNTIME_READY);", "return true;"),
    Mutant("who is left to another writer is told nothing though the file is as wanted", DECIDE,
           "if (p->verdict != PLAN_IN_STEP && rivalry_pauses(&s->rivalry, clock_mono_ms()))",
           "if (rivalry_pauses(&s->rivalry, clock_mono_ms()))"),
)

# Others that the tests of their own rooms notice, too: the streams are to find them without being told where to look.
FOUND = (
    Mutant("a loss is forgotten as soon as it is over", BRAKE, "return !l->held && counts(l, r->now_ms) && !r->returned(r->arg, l->server);", "return false;"),
    Mutant("no loss is held", BRAKE, "bool held = (uint64_t)lost * 100 > (uint64_t)base * r->max_percent;", "bool held = false;"),
    Mutant("who drains is told again and again", TELL, "    t->calls.failures = 0;\n    lane_memory_called(&c->slot->memory, c->name, c->state);\n", "    t->calls.failures = 0;\n"),
    Mutant("a line is made anew instead of changed", WRITE, "start_from(change->op == DIFF_CHANGE ? s->json : NULL, what, err);", "start_from(NULL, what, err);"),
    Mutant("a file that is behind is not seen", OBSERVE, "f->backend.split = file->version >= 0 && file->version != f->backend.version;", "f->backend.split = false;"),
)

ROOMS = (Room("sequences", ("test_sequences",), (*STREAMS, *FOUND)),)
