"""What only many events in a row show: noticed by the streams of tests/sequences."""

from .mutant import Mutant, Room

MEMORY = "model/lane_memory.c"
LOOK = "sync/target_look.c"
HANDOVER = "sync/target_handover.c"

STREAMS = (
    Mutant("the maint of a line that somebody brought back is an operator's", MEMORY,
           "if (mark->in_file && mark->theirs == RUNTIME_READY && l->row->admin == RUNTIME_MAINT)", "if (false)"),
    Mutant("a file that went back is at rest", LOOK, "t->drift == NULL && t->split_version < 0 &&", "t->drift == NULL &&"),
    Mutant("the end takes out who is to serve", HANDOVER, "return !stays || (row != NULL && row->admin != RUNTIME_READY);", "return true;"),
)

ROOMS = (Room("sequences", ("test_sequences",), STREAMS),)
