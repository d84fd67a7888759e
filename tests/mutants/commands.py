"""The queue of runtime commands."""

from __future__ import annotations

from .mutant import Mutant, room

QUEUE = "haproxy/commands.c"

room("runtime commands", ("test_commands",), (
    Mutant("what is wanted no more is still sent", QUEUE, "        if (old->backend == b && c == NULL) {\n", "        if (false) {\n"),
    Mutant("another backend's commands are dropped", QUEUE, "        if (old->backend == b && c == NULL) {\n", "        if (c == NULL) {\n"),
    Mutant("what is under way is dropped", QUEUE, "    size_t first = q->busy ? 1 : 0, kept = first;", "    size_t first = 0, kept = first;"),
    Mutant("what waits goes on to its former state", QUEUE, "            old->state = c->state;\n", "            ;\n"),
    Mutant("why it waits is forgotten", QUEUE, "old->why = old->state == c->state ? old->why : c->why;", "old->why = c->why;"),
    Mutant("in a pause what waits is changed", QUEUE, "        if (c != NULL && add) {\n", "        if (c != NULL) {\n"),
    Mutant("what waits is queued again", QUEUE, "        if (!queued[i])\n", "        if (true)\n"),
    Mutant("what is under way is given twice", QUEUE, "    if (under_way && q->list[0].state == c->state)\n", "    if (false)\n"),
    Mutant("what is under way is never taken back", QUEUE, "    if (under_way && q->list[0].state == c->state)\n", "    if (under_way)\n"),
    Mutant("any backend's is the one under way", QUEUE, "q->busy && q->list[0].backend == b && str_eq", "q->busy && str_eq"),
    Mutant("who comes back waits for who leaves", QUEUE, "            commands_add(q, b, &list[i], event_us);\n    commands_put_back_first(q);\n", "            commands_add(q, b, &list[i], event_us);\n"),
))
