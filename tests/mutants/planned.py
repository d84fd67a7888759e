"""Which plans still stand: the engine's events in the test's world end the program where one does not (SERVERS_CHECK_STANDING)."""

from __future__ import annotations

from .mutant import Mutant, room

PLANNED = "servers/planned.c"
PARKING = "servers/change/parking.c"

room("plans that stand", ("test_engine", "test_engine_backends", "test_engine_turns", "test_engine_runtime_update", "test_engine_verification", "test_instance_guard", "test_engine_running_state"), (
    Mutant("nothing stands", PLANNED, "    s->planned.stands = planned_is_ordinary(in) &&", "    s->planned.stands = false && planned_is_ordinary(in) &&"),
    Mutant("what is to be written stands", PLANNED, " && s->plan.verdict == PLAN_IN_SYNC &&", " &&"),
    Mutant("a reload that is due is none", PLANNED, " && !in->dirty &&", " &&"),
    Mutant("a file that may not be written is no matter", PLANNED, " && in->file_problem == NULL &&", " &&"),
    Mutant("what is desired is no matter", "servers/servers.c", "    servers_replan(s);\n    s->by_node", "    s->by_node"),
    Mutant("who set what is judged once for all", "servers/read.c", "bool known = s->remembered && s->at", "bool known = s->at"),
    Mutant("a command is no matter", "servers/runtime_commands.c", "    servers_replan(s);\n    admin_states_called", "    admin_states_called"),
))
room("parked as before", ("test_parking",), (
    Mutant("every refresh changes what is parked", PARKING, "    p->changes += parking_differs(p, before, before_count);\n", "    p->changes++;\n"),
    Mutant("who is parked never changes", PARKING, "    p->changes += parking_differs(p, before, before_count);\n", ""),
    Mutant("another name says the same", PARKING, "strcmp(is->name, was->name) != 0 || ", ""),
    Mutant("a spare says the same", PARKING, "is->spare != was->spare || ", ""),
    Mutant("a verdict says the same", PARKING, " || is->reason != was->reason)", ")"),
))
room("slow commands", ("test_engine_turns",), (
    Mutant("a transaction waits for every command", "servers/decide.c", "|| !decide_overdue(s) || !v.file_allows", "|| true || !v.file_allows"),
    Mutant("a transaction waits for none", "servers/decide.c", "|| !decide_overdue(s) || !v.file_allows", "|| !v.file_allows"),
    Mutant("nobody looks when its time has come", "servers/servers.c",
           "engine_sooner(&due, servers_overdue_ms(s), now);", ";"),
))
