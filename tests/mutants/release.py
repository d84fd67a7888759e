"""What is removed where a backend is given up."""

from __future__ import annotations

from .mutant import Mutant, room

PLAN = "servers/release_command.c"

room("release", ("test_release_command",), (
    Mutant("who is not managed goes, too", PLAN, "if (diff_server_is_foreign(line, rules, NULL)) {", "if (false) {"),
    Mutant("live servers go unasked", PLAN, "servers || line->maintenance", "true"),
    Mutant("live servers stay though they are to go", PLAN, "servers || line->maintenance", "line->maintenance"),
    Mutant("the last servers go unasked", PLAN, "!servers && p.kept == 0 && p.others_live == 0 && p.removed_count > 0", "false"),
    Mutant("an empty backend is refused", PLAN, "p.others_live == 0 && p.removed_count > 0", "p.others_live == 0"),
    Mutant("a server that is another's is none", PLAN, " && p.others_live == 0 &&", " &&"),
    Mutant("a backup server is enough", PLAN, "!line->backup && !line->maintenance", "!line->maintenance"),
    Mutant("a drain stays", PLAN, "                p.undrained[p.undrained_count++] = mem_strdup(line->name);\n", "                ;\n"),
    Mutant("an operator's maintenance ends", PLAN, "if (runs != NULL && runs->admin == RUNTIME_DRAIN)", "if (runs != NULL && runs->admin != RUNTIME_READY)"),
    Mutant("a line that a write would damage is no matter", PLAN, "        if (!actual->unsupported[i].only_shown)\n            refused", "        if (false)\n            refused"),
    Mutant("a drain that is left is nothing to do", PLAN, " && p->undrained_count == 0;", ";"),
))
