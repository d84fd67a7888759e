"""The log: nobody waits for who reads it, no line is cut, none is lost without being counted."""

from __future__ import annotations

from .mutant import Mutant, Room

LOG = "base/log.c"

LOSSES = (
    Mutant("a full pipe is waited for", LOG, "n = has_room(fd, len) ? write(fd, text, len) : 0;", "n = write(fd, text, len);"),
    Mutant("a full socket is waited for", LOG, "MSG_DONTWAIT | MSG_NOSIGNAL", "MSG_NOSIGNAL"),
    Mutant("a long line goes into a pipe that has room for a part", LOG, "(len <= PIPE_BUF || pipe_takes(fd, len))", "(len != 0)"),
    Mutant("a long line never goes into a pipe", LOG, "(len <= PIPE_BUF || pipe_takes(fd, len))", "len <= PIPE_BUF"),
    Mutant("pages of a pipe are taken for full", LOG, "2 * (size_t)queued", "(size_t)queued"),
    Mutant("what was dropped is not counted", LOG, "        log->losses->dropped++;\n", "        ;\n"),
    Mutant("what was dropped is told again and again", LOG, "        l->told = l->dropped;\n", "        ;\n"),
    Mutant("what was dropped is told into a full pipe", LOG, "    return n == (ssize_t)len;\n", "    return n >= 0;\n"),
    Mutant("what was dropped is told by nobody but the clock", LOG, "    log_tell_losses(log);\n    if (!write_line", "    if (!write_line"),
    Mutant("what was dropped before is counted again", LOG, "l->dropped - l->told)", "l->dropped)"),
)

ROOMS = (Room("log", ("test_log",), LOSSES),)
