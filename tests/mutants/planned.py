"""Which plans still stand: the engine's events in the test's world end the program where one does not (SERVERS_CHECK_STANDING)."""

from __future__ import annotations

from .mutant import Mutant, room

PLANNED = "servers/decide.c"
PARKING = "servers/change/parking.c"

room("plans that stand", ("test_engine", "test_engine_backends", "test_engine_turns", "test_engine_runtime_update", "test_engine_verification", "test_instance_guard", "test_engine_running_state"), (
    Mutant("nothing stands", PLANNED, "    s->planned.stands = ordinary &&", "    s->planned.stands = false && ordinary &&"),
    Mutant("what is to be written stands", PLANNED, " && s->plan.verdict == PLAN_IN_SYNC &&", " &&"),
    Mutant("a reload that is due is none", PLANNED, "                    !input.dirty && !input.conflict", "                    !input.conflict"),
    Mutant("a file that may not be written is no matter", PLANNED, " && input.file_problem == NULL &&", " &&"),
    Mutant("what is desired is no matter", "servers/servers.c", "    servers_replan(s);\n    s->by_node", "    s->by_node"),
    Mutant("who set what is judged once for all", "servers/servers.c", "bool known = s->remembered && s->at", "bool known = s->at"),
    Mutant("a command is no matter", "servers/decide.c", "    s->commanded = true;\n    servers_replan(s);\n", "    s->commanded = true;\n"),
))
room("parked as before", ("test_parking",), (
    Mutant("every refresh changes what is parked", PARKING, "    p->changes += !same;\n", "    p->changes++;\n"),
    Mutant("who is parked never changes", PARKING, "    p->changes += !same;\n", ""),
    Mutant("another name says the same", PARKING, "strcmp(p->list[i].name, before[i].name) == 0 && ", ""),
    Mutant("a spare says the same", PARKING, "p->list[i].spare == before[i].spare &&\n", "true &&\n"),
    Mutant("a verdict says the same", PARKING, "p->list[i].reason == before[i].reason;", "true;"),
))
room("slow commands", ("test_engine_turns",), (
    Mutant("a transaction waits for every command", "servers/decide.c", "&& decide_overdue(s) && v.file_allows", "&& false && v.file_allows"),
    Mutant("a transaction waits for none", "servers/decide.c", "&& decide_overdue(s) && v.file_allows", "&& v.file_allows"),
    Mutant("nothing is read when its time has come", "servers/servers.c",
           "engine_sooner(&due, servers_overdue_ms(s), now);", ";"),
))
