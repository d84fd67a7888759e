"""What a server inherits from default-server lines (haproxy/cfg/inherit), and how our lines answer it."""

from .mutant import Mutant, room

INHERIT = "haproxy/cfg/inherit.c"
SERVER = "servers/change/diff_server.c"
ALIENS = "servers/change/diff.c"
WRITE = "haproxy/dataplane/codec_write.c"

room("default-server", ("test_cfg_unsupported_lines", "test_codec"), (
    Mutant("states come from a file whatever a backend says", INHERIT, 'line != NULL && !str_eq(cfg_word(&words, 1), "none"))', "line != NULL)"),
    Mutant("states of another backend are its own", INHERIT, "(backend != NULL && !str_eq(s->name, backend))", "false"),
    Mutant("the defaults section does not count", INHERIT,
           "s != NULL; s = s->defaults)\n        chain[at++] = s;", "s != NULL; s = NULL)\n        chain[at++] = s;"),
    Mutant("`from` is not followed by a backend", "haproxy/cfg/file.c", "            s->defaults = found != NULL &&", "            s->defaults = !cfg_file_is_proxy(s->kind) && found != NULL &&"),
    Mutant("`from` is not followed by a defaults section", "haproxy/cfg/file.c", "            s->defaults = found != NULL &&", "            s->defaults = cfg_file_is_proxy(s->kind) && found != NULL &&"),
    Mutant("the first defaults section counts", "haproxy/cfg/file.c", 'last = str_eq(s->kind, "defaults") ? s : last;', 'last = last == NULL && str_eq(s->kind, "defaults") ? s : last;'),
    Mutant("an argument is a keyword", INHERIT, "i += k != NULL && cfg_keyword_takes_argument(k);", "i += 0;"),
    Mutant("enabled does not take disabled back", INHERIT, "            at->disabled_line = 0;", "            ;"),
    Mutant("no-backup does not take backup back", INHERIT, "            at->backup_line = 0;", "            ;"),
    Mutant("a line that says enabled is in maintenance", INHERIT, "(s->default_disabled && !s->enabled)", "s->default_disabled"),
    Mutant("no line is in maintenance by default", INHERIT, "s->maintenance || (s->default_disabled && !s->enabled)", "s->maintenance"),
    Mutant("`enabled` is not read", "haproxy/dataplane/codec.c", 'yyjson_equals_str(yyjson_obj_get(val, key), "disabled")', "false"),
))
room("answers to a default-server", ("test_diff",), (
    Mutant("our lines do not say enabled", SERVER, "s->enabled = !on && (s->enabled || s->default_disabled);", "s->enabled = false;"),
    Mutant("a parked line says enabled", SERVER, "s->enabled = !on && ", "s->enabled = "),
    Mutant("a new line does not answer disabled", SERVER,
           "c->server.default_disabled = c->server.maintenance = m->actual->disabled_line != 0;", ""),
    Mutant("a new line does not answer backup", SERVER, "c->server.default_backup = m->actual->backup_line != 0;", ""),
    Mutant("no line answers backup", SERVER, "if (s->default_backup && !s->backup && !s->no_backup)", "if (false)"),
    Mutant("no-backup is written again and again", SERVER, "if (s->default_backup && !s->backup && !s->no_backup)", "if (s->default_backup)"),
    Mutant("backup servers by default are taken over", ALIENS, "    if (names == NULL)\n", "    if (true)\n"),
    Mutant("our own lines stop the daemon", ALIENS, "            desired_find(desired, s->name) != NULL || ", "            "),
    Mutant("spares stop the daemon", ALIENS, "|| desired_find_spare(desired, s->name) != NULL)", ")"),
))
room("words of an answer", ("test_codec_write",), (
    Mutant("a new line has nothing of its siblings", WRITE, "start_from(s->json != NULL ? s->json : s->rest,", "start_from(s->json,"),
    Mutant("a line has what its siblings have alone", WRITE, "start_from(s->json != NULL ? s->json : s->rest,", "start_from(s->rest,"),
    Mutant("enabled is not written", WRITE, "if (s->enabled && !s->maintenance)", "if (false)"),
    Mutant("maintenance of a line that said enabled is not written", WRITE, "if (s->enabled && !s->maintenance)", "if (s->enabled)"),
    Mutant("no-backup is not written", WRITE, "    if (s->no_backup)\n", "    if (false)\n"),
))
