"""A HAProxy by its own file and sockets (haproxy/local), against one that runs."""

from .mutant import Mutant, Room

DRIVER = "haproxy/local/driver.c"
READ = "haproxy/local/driver_read.c"
RELOAD = "haproxy/local/driver_reload.c"
CLI = "haproxy/local/cli.c"
TEXT = "haproxy/validation_text.c"

FILE = (
    Mutant("a validation writes", DRIVER, "writes ? 0 : LOCAL_WRITE_ONLY_VALIDATE", "0"),
    Mutant("somebody's file is overwritten", DRIVER, "writes ? &d->identity : NULL,", "NULL,"),
    Mutant("a file of another version is overwritten", DRIVER, "if (writes && version != d->version) {", "if (false) {"),
    Mutant("a write is no new version", DRIVER, "r.version = ++d->version;", "r.version = d->version;"),
    Mutant("what was written is loaded", DRIVER, "        d->unloaded = true;\n", ""),
    Mutant("the same file is another version", DRIVER, "bool known = d->file != NULL && local_identity_same(&d->identity, &a->identity);", "bool known = false;"),
    Mutant("what somebody wrote is not seen", DRIVER, "bool known = d->file != NULL && local_identity_same(&d->identity, &a->identity);", "bool known = d->file != NULL;"),
    Mutant("HAProxy's own words are told", DRIVER, "validation_text_of_program(said, d->options.file, r->edits)", "mem_strdup(said)"),
    Mutant("a command that HAProxy refuses is done", DRIVER, "a->status == LOCAL_OK && cli_read_done(a->data, &err) == 0", "a->status == LOCAL_OK"),
)

RELOADED = (
    Mutant("what was loaded is not loaded", RELOAD, "        d->unloaded = false;\n", "        ;\n"),
    Mutant("any end is a good one", RELOAD, "if (o->step == LOCAL_RELOAD_SUCCEEDED)\n        reload_succeeded(r);", "if (o->step >= LOCAL_RELOAD_SUCCEEDED)\n        reload_succeeded(r);"),
    Mutant("who ran before is not looked at", RELOAD, "worker >= 0 && worker != o->worker", "worker >= 0"),
    Mutant("it is told within the question", RELOAD, "        local_driver_tell(d, driver_reload_tell_asked);", "        driver_reload_tell_asked(base);"),
)

SEEN = (
    Mutant("a HAProxy that is gone runs", READ, "d->to->worker_silent = d->to->worker_pid < 0;", "d->to->worker_silent = false;"),
    Mutant("the worker is not known", READ, "    d->to->worker_pid = info.pid;\n", ""),
    Mutant("a word of another name is the pid", CLI, 'return str_has_prefix(line, name) && str_has_prefix(line + len, ": ") ?', "return str_has_prefix(line, name) ?"),
    Mutant("a process without a number answers", CLI, "return ret->pid > 0 ? 0", "return ret->pid != 0 ? 0"),
    Mutant("a line of another file is the user's", TEXT, "if (line > 0 && strlen(file) == len && memcmp(name, file, len) == 0)", "if (line > 0)"),
    Mutant("the beginning of a name is the name", TEXT, "if (line > 0 && strlen(file) == len && ", "if (line > 0 && "),
)

ROOMS = (
    Room("local, the file", ("test_local_driver",), FILE),
    Room("local, reloads", ("test_local_driver",), RELOADED),
    Room("local, what runs", ("test_local_driver", "test_local_cli", "test_validation_text"), SEEN),
)
