"""The queue of runtime commands."""

from __future__ import annotations

from .mutant import Mutant, room

QUEUE = "haproxy/commands.c"

room("runtime commands", ("test_commands",), (
    Mutant("what is desired no more is still sent", QUEUE, "        if (old->backend == b && c == NULL) {\n", "        if (false) {\n"),
    Mutant("another backend's commands are dropped", QUEUE, "        if (old->backend == b && c == NULL) {\n", "        if (c == NULL) {\n"),
    Mutant("what is under way is dropped", QUEUE, "    for (size_t i = first; i < q->count; i++) {\n        struct command *old", "    kept = 0;\n    for (size_t i = 0; i < q->count; i++) {\n        struct command *old"),
    Mutant("what waits goes on to its former state", QUEUE, "            old->state = c->state;\n", "            ;\n"),
    Mutant("why it waits is forgotten", QUEUE, "old->why = old->state == c->state ? old->why : c->why;", "old->why = c->why;"),
    Mutant("in a pause what waits is changed", QUEUE, "        if (c != NULL && add) {\n", "        if (c != NULL) {\n"),
    Mutant("what waits is queued again", QUEUE, "if (queued[i] || (under_way", "if ((under_way"),
    Mutant("what is under way is given twice", QUEUE, " || (under_way && q->list[0].state == c->state))", ")"),
    Mutant("what is under way is never taken back", QUEUE, " || (under_way && q->list[0].state == c->state))", " || under_way)"),
    Mutant("any backend's is the one under way", QUEUE, "q->busy && q->list[0].backend == b && str_eq", "q->busy && str_eq"),
    Mutant("who comes back waits for who leaves", QUEUE, "    for (size_t i = next; i < q->count; i++) {\n        if (q->list[i].state", "    for (size_t i = q->count; i < q->count; i++) {\n        if (q->list[i].state"),
))
