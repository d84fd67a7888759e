"""What `doctor` says of a HAProxy on this machine (cli/doctor_local)."""

from .mutant import Mutant, room

FILE = "cli/doctor_local/doctor_local_judge_file.c"
RUNNING = "cli/doctor_local/doctor_local_judge_running.c"
SERVICE = "cli/doctor_local/doctor_local_judge_service.c"
GLOBAL = "cli/doctor_local/doctor_local_file.c"
LINE = "cli/doctor_local/doctor_local_command_line.c"
SYSTEMD = "cli/doctor_local/doctor_local_systemd.c"

room("doctor, what the file says", ("test_doctor_local_judge_service",), (
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
))
room("doctor, what runs", ("test_doctor_local_judge_running",), (
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
    Mutant("doctor: one of two with the file is the one", RUNNING, "return count == 1 ? found : NULL;", "return found;"),
    Mutant("doctor: each HAProxy reads the file", RUNNING, "if (i->files[k] == LOCAL_FILE_OURS)", "if (true)"),
    Mutant("doctor: without -W there is a master", RUNNING, "one != NULL && !one->has_workers && !one->line.master && !f->global.master_worker", "false"),
    Mutant("doctor: master-worker in the file is no master", RUNNING, "!one->line.master && !f->global.master_worker", "!one->line.master"),
    Mutant("doctor: other options are lost from EXTRAOPTS", RUNNING, "strstr(sv->extra_options, \"-S\") == NULL ? sv->extra_options : \"\"", "strstr(sv->extra_options, \"-S\") == NULL ? \"\" : \"\""),
    Mutant("doctor: two -S in EXTRAOPTS", RUNNING, "sv->extra_options != NULL && strstr(sv->extra_options, \"-S\") == NULL ?", "sv->extra_options != NULL ?"),
    Mutant("doctor: a backend that is not loaded is", RUNNING, "b->seen && b->actual.exists && !b->runtime.readable && c == NULL", "false"),
    Mutant("doctor: a file from before is newer", RUNNING, "f->file.modified_s > in->now_s - f->info.uptime_s + 1", "f->file.modified_s > 0"),
))
room("doctor, how it was started", ("test_doctor_local_judge_service",), (
    Mutant("doctor: another file is ours", SERVICE, "if (service_count(files, l->file_count, LOCAL_FILE_OURS) == 0) {", "if (false) {"),
    Mutant("doctor: a file under another name is another one for sure", SERVICE, "bool sure = service_count(files, l->file_count, LOCAL_FILE_UNSEEN) == 0;", "bool sure = true;"),
    Mutant("doctor: further files are no matter", SERVICE, "    if (l->file_count == 0 || others == NULL)", "    if (true)"),
    Mutant("doctor: a second one with the file is no matter", SERVICE, "if (one != ours && local_judge_reads(one) &&", "if (one != ours && false &&"),
    Mutant("doctor: any service is ours", SERVICE, "return pid == 0 || pid == f->service.main_pid;", "return true;"),
    Mutant("doctor: a service need not be active", SERVICE, "    if (!f->service.is_active) {", "    if (false) {"),
    Mutant("doctor: a service without a master", SERVICE, "if (!line->master && !f->global.master_worker) {", "if (false) {"),
    Mutant("doctor: a service with another socket", SERVICE, "if (l->master_socket != NULL && !str_eq(line->socket, l->master_socket)) {", "if (false) {"),
    Mutant("doctor: a stats socket of another section", "cli/doctor_local/doctor_local_file.c", "str_eq(s->kind, \"global\") && k", "k"),
))
room("doctor, command lines", ("test_doctor_local_command_line", "test_doctor_local_systemd"), (
    Mutant("doctor: the options of -S are its path", LINE, "option == 'S' ? strcspn(word, \",\") : strlen(word)", "strlen(word)"),
    Mutant("doctor: -p takes no word", LINE, "\"fCSpnNmLx\"", "\"fCSnNmLx\""),
    Mutant("doctor: -- is no option", LINE, "if (str_eq(w, \"--\")) {", "if (false) {"),
    Mutant("doctor: a check is there to stay", LINE, "            ret->runs = false;\n", "            ;\n"),
    Mutant("doctor: the unit counts more than its files", SYSTEMD, "        systemd_take(&found, systemd_in_file(files[i], name));", "        if (found == NULL)\n            systemd_take(&found, systemd_in_file(files[i], name));"),
    Mutant("doctor: a variable is one word", SYSTEMD, "    if (*word == '$' && word[1] != '{' && word[1] != '$' && word[1] != '\\0') {", "    if (false) {"),
    Mutant("doctor: quotes are part of a word", SYSTEMD, "if (quote == '\\0' && (*p == '\"' || *p == '\\'')) {", "if (false) {"),
))
