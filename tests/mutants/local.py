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

USED = (
    Mutant("a HAProxy that reads the file itself gets what an API gets", "configuration/document.c", "use == DOCUMENT_FOR_FILE || cfg_source_is_as_sent(file)", "cfg_source_is_as_sent(file)"),
    Mutant("what an API cannot keep is refused for a file", "configuration/document.c", "use == DOCUMENT_FOR_FILE ? cfg_source_init_as_it_is(&file, buf_str(&text), len, err)", "false ? cfg_source_init_as_it_is(&file, buf_str(&text), len, err)"),
    Mutant("a carriage return is refused for a file", "haproxy/cfg/source.c", "if (!as_it_is && memchr(line.text, '\\r', line.len) != NULL)", "if (memchr(line.text, '\\r', line.len) != NULL)"),
    Mutant("any bytes are a file", "haproxy/cfg/source.c", "if (check_bytes(f, true, err) == 0 && check_is_one(f, err) == 0)", "if (check_is_one(f, err) == 0)"),
    Mutant("versions are read for APIs", "configuration/store.c", "    s->use = use;\n", "    (void)use;\n"),
)

SET = (
    Mutant("both ways to HAProxy are taken", "settings/local.c", "    if (setting_is_given(s, SETTING(dataplanes)))\n        finding_error", "    if (false)\n        finding_error"),
    Mutant("the default URL is a HAProxy, too", "settings/parse.c", "} else if (row != SETTING(dataplanes) || s->local.file == NULL) {", "} else {"),
    Mutant("a reload without a way to it", "settings/local.c", "l->reload != SETTINGS_RELOAD_COMMAND && l->master_socket == NULL &&", "false && l->master_socket == NULL &&"),
    Mutant("the source may be HAProxy's own file", "settings/local.c", "str_eq(s->config_file, s->local.file)", "false"),
    Mutant("a name alone is a file to check", "settings/services.c", "        return check_absolute_path(name, note);", "        return 0;"),
    Mutant("an API without credentials is warned of where there is none", "settings/secrets/credentials.c", "if (!variables && c->local.file == NULL)", "if (!variables)"),
)

ROOMS = (
    Room("local, the file", ("test_local_driver",), FILE),
    Room("local, reloads", ("test_local_driver",), RELOADED),
    Room("local, what a document is for", ("test_document", "test_store"), USED),
    Room("local, settings", ("test_settings_local",), SET),
    Room("local, what runs", ("test_local_driver", "test_local_cli", "test_validation_text"), SEEN),
)
