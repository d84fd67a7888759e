"""What `doctor` says of a HAProxy on this machine (cli/doctor_local)."""

from .mutant import Mutant, room

FILE = "cli/doctor_local/doctor_local_judge_file.c"
RUNNING = "cli/doctor_local/doctor_local_judge_running.c"
GLOBAL = "cli/doctor_local/doctor_local_file.c"

room("doctor, what the file says", ("test_doctor_local_judge_file",), (
    Mutant("doctor: what is set by the file is missing", GLOBAL, "            file_sets_variable(ret, cfg_word(&words, 1));", "            ;"),
    Mutant("doctor: a comment uses variables", GLOBAL, "else if (*at == '#' && !single && !quoted)", "else if (false)"),
    Mutant("doctor: a conditional uses none", GLOBAL, 'str_has_prefix(at, "defined("))', "false)"),
    Mutant("doctor: a variable is one without quotes", GLOBAL, "else if (*at == '$' && quoted)", "else if (*at == '$')"),
))
room("doctor, the file", ("test_doctor_local_judge_file",), (
    Mutant("doctor: a folder that is closed is open", FILE, "    if (f->file.folder_error != 0)\n        judge_folder_closed(f, s);", "    ;"),
    Mutant("doctor: a file that is mounted is not", FILE, "if (file->is_mount) {", "if (false) {"),
    Mutant("doctor: a file that is only readable is immutable", FILE, "if (file->replace_error == EPERM) {", "if (file->replace_error != 0) {"),
    Mutant("doctor: our own file in a sticky folder is another's", FILE, "file->folder_is_sticky && !file->owner.is_us &&", "file->folder_is_sticky &&"),
    Mutant("doctor: nobody is over a sticky folder", FILE, " && !f->self.is_over_stickies)", ")"),
    Mutant("doctor: whose a file is does not count", FILE, "if (!o->is_us) {", "if (false) {"),
    Mutant("doctor: of which group a file is does not count", FILE, "if (!o->is_our_group) {", "if (false) {"),
    Mutant("doctor: root may not give a file away", FILE, "    if (f->self.may_give_files)\n        return;\n", ""),
    Mutant("doctor: a lock that is closed is free", FILE, "if (f->file.lock_error != 0) {", "if (false) {"),
    Mutant("doctor: an old HAProxy will do", FILE, "v->minor < OLDEST_MINOR", "false"),
    Mutant("doctor: HAProxy 10 is older than 2.6", FILE, "v->major < OLDEST_MAJOR || (v->major == OLDEST_MAJOR && v->minor", "v->major < OLDEST_MAJOR || (v->minor"),
    Mutant("doctor: what haproxy -c refuses is taken", FILE, "if (r->problem == NULL && !r->refused) {", "if (r->problem == NULL) {"),
    Mutant("doctor: what HAProxy has by itself is missing", FILE, "!environment_is_haproxys(name) && ", ""),
    Mutant("doctor: any name of HAPROXY_ is its own", FILE, "(end != NULL && str_eq(end, \"_LOG_FMT\")) || ", "str_has_prefix(name, \"HAPROXY_\") || "),
    Mutant("doctor: another value is the same", FILE, "(len == shown_len && memcmp(value, shown, len) == 0)", "true"),
    Mutant("doctor: one that neither has differs", FILE, "(value != NULL) == (shown != NULL) &&", "value != NULL && shown != NULL &&"),
    Mutant("doctor: the check's own environment is compared with itself", FILE, "f->shows_environment && file == NULL ? NULL : environment_differs(f)", "environment_differs(f)"),
    Mutant("doctor: a check without HAPROXY_CHECK_FILES", FILE, "        buf_printf(&line, \" -f %s\", l->check_files.list[i]);\n", ""),
    Mutant("doctor: the file twice in the check", FILE, "listed = listed || str_eq(l->check_files.list[i], l->file);", ";"),
    Mutant("doctor: a stats socket of another section", "cli/doctor_local/doctor_local_file.c", "str_eq(s->kind, \"global\") && k", "k"),
))
room("doctor, what runs", ("test_doctor_local_judge_running",), (
    Mutant("doctor: HAProxy is started without HAPROXY_CHECK_FILES", FILE, "        buf_printf(&line, \" -f %s\", l->check_files.list[i]);\n", ""),
    Mutant("doctor: an old HAProxy runs well", RUNNING, "local_version_read(said, &v) && local_version_is_old(&v)", "false"),
    Mutant("doctor: another version runs as well", RUNNING, "        !str_eq(program.text, f->info.version)) {", "        false) {"),
    Mutant("doctor: a master without a worker serves", RUNNING, "if (p->worker_pid == 0) {", "if (false) {"),
    Mutant("doctor: a reload that failed did not", RUNNING, "f->has_processes && f->processes.failed_reloads > 0", "false"),
    Mutant("doctor: every signal is allowed", RUNNING, "l->reload == SETTINGS_RELOAD_SIGNAL && f->signal_error != 0", "false"),
    Mutant("doctor: a master of level user reloads", RUNNING, "l->reload == SETTINGS_RELOAD_MASTER && str_eq(f->master.level, \"user\")", "false"),
    Mutant("doctor: a signal needs a level", RUNNING, "l->reload == SETTINGS_RELOAD_MASTER && str_eq(f->master.level", "str_eq(f->master.level"),
    Mutant("doctor: a level below admin will do", RUNNING, "f->stats.level != NULL && !str_eq(f->stats.level, \"admin\")", "false"),
    Mutant("doctor: the stats socket is of any HAProxy", RUNNING, "if (!stats_are_of_master(f)) {", "if (false) {"),
    Mutant("doctor: an old worker is of another HAProxy", RUNNING, "if (f->processes.processes[i].pid == (pid_t)f->info.pid)", "if (f->processes.worker_pid == (pid_t)f->info.pid)"),
    Mutant("doctor: without -W there is a master", RUNNING, "        if (f->has_no_master)\n", "        if (false)\n"),
    Mutant("doctor: without HAPROXY_MASTER_SOCKET there is a master", RUNNING, "if (f->master.path == NULL && f->has_no_master) {", "if (false) {"),
    Mutant("doctor: a backend that is not loaded is", RUNNING, "b->seen && b->actual.exists && !b->runtime.readable && c == NULL", "false"),
    Mutant("doctor: a file from before is newer", RUNNING, "f->file.modified_s > in->now_s - f->info.uptime_s + 1", "f->file.modified_s > 0"),
))
