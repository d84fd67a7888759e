"""The log: nobody waits for who reads it, no line is cut, none is lost without being counted; and what is shown of others' text."""

from __future__ import annotations

from .mutant import Mutant, room

LOG = "base/log.c"
FD = "base/fd.c"
TEXT = "base/text.c"
TIME = "base/rfc3339.c"

room("log", ("test_log",), (
    Mutant("a full pipe is waited for", FD, "n = has_room(fd, len) ? write(fd, text, len) : 0;", "n = write(fd, text, len);"),
    Mutant("a full socket is waited for", FD, "MSG_DONTWAIT | MSG_NOSIGNAL", "MSG_NOSIGNAL"),
    Mutant("a long line goes into a pipe that has room for a part", FD, "    if (len <= PIPE_BUF || (size = fcntl(fd, F_GETPIPE_SZ)) < 0)", "    size = 0;\n    if (len != 0)"),
    Mutant("a long line never goes into a pipe", FD, "return ioctl(fd, FIONREAD, &queued) == 0 &&", "return false &&"),
    Mutant("pages of a pipe are taken for full", FD, "2 * (size_t)queued", "(size_t)queued"),
    Mutant("what was dropped is not counted", LOG, "        log->losses->dropped++;\n", "        ;\n"),
    Mutant("dropped lines are reported again and again", LOG, "        l->reported = l->dropped;\n", "        ;\n"),
    Mutant("dropped lines are reported into a full pipe", FD, "    return n == (ssize_t)len;\n", "    return n >= 0;\n"),
    Mutant("dropped lines are reported by the clock alone", LOG, "    log_report_losses(log);\n    if (!log_write_line", "    if (!log_write_line"),
    Mutant("what was dropped before is counted again", LOG, "l->dropped - l->reported)", "l->dropped)"),
))
room("text", ("test_text",), (
    Mutant("a text ends in half a character", TEXT, "            out->len = whole;\n", "            out->len = start + max_bytes - 3;\n"),
    Mutant("a text is longer than its room", TEXT, "if (out->len - start <= max_bytes - strlen(\"...\"))", "if (true)"),
    Mutant("a line has several lines", TEXT, "(is_control(c) || c == ' ')", "c == ' '"),
    Mutant("a line begins with a blank", TEXT, "blank = out->len > start;", "blank = true;"),
    Mutant("a value ends its label", TEXT, "quote = c == '\"' || c == '\\\\';", "quote = c == '\\\\';"),
    Mutant("text is turned around", TEXT, "{0x2028, 0x202e}", "{0x2028, 0x2029}"),
    Mutant("a byte behind the text is read", TEXT, "    if (len > left)\n        return 0;\n", ""),
    Mutant("an overlong form is a character", TEXT, "c < least[len] || ", ""),
))
room("rfc3339", ("test_rfc3339",), (
    Mutant("a day that is not there is another day", TIME, " || normal.tm_mon != t.tm_mon ||\n        normal.tm_mday != t.tm_mday", ""),
    Mutant("a zone is passed over", TIME, "(seconds - zone_s)", "(seconds)"),
    Mutant("west is east", TIME, "(*s == '-' ? -60 : 60)", "60"),
    Mutant("a fraction is a number", TIME, "scale /= 10", "scale /= 1"),
    Mutant("the year 10000 has five digits", TIME, "wall_us > LAST_US ? LAST_US : wall_us", "wall_us"),
))
