"""What `doctor` says of a HAProxy on this machine (cli/doctor/doctor_local_judge)."""

from .mutant import Mutant, room

JUDGE = "cli/doctor/doctor_local_judge.c"
GLOBAL = "cli/doctor/doctor_local_file.c"

room("doctor, what the file says", ("test_doctor_local_judge_file",), (
    Mutant("doctor: what is set by the file is missing", GLOBAL, "        if (own == ret->variable_count)\n            continue;\n", "        continue;\n"),
    Mutant("doctor: a comment uses variables", GLOBAL, "else if (*at == '#' && !single && !quoted)", "else if (false)"),
    Mutant("doctor: a conditional uses none", GLOBAL, 'str_has_prefix(at, "defined("))', "false)"),
    Mutant("doctor: a variable is one without quotes", GLOBAL, "else if (*at == '$' && quoted)", "else if (*at == '$')"),
))
room("doctor, the file", ("test_doctor_local_judge_file",), (
    Mutant("doctor: a folder that is closed is open", JUDGE, "int closed = file->folder_error;", "int closed = 0;"),
    Mutant("doctor: a file that is mounted is not", JUDGE, "{file->is_mount, CHECK_FAIL,", "{false, CHECK_FAIL,"),
    Mutant("doctor: a file that is only readable is immutable", JUDGE, "{file->replace_error == EPERM, CHECK_FAIL,", "{file->replace_error != 0, CHECK_FAIL,"),
    Mutant("doctor: our own file in a sticky folder is another's", JUDGE, "file->folder_is_sticky && !o->is_us &&", "file->folder_is_sticky &&"),
    Mutant("doctor: nobody is over a sticky folder", JUDGE, " && !f->self.is_over_stickies, CHECK_FAIL,", ", CHECK_FAIL,"),
    Mutant("doctor: whose a file is does not count", JUDGE, "{!gives && !o->is_us, CHECK_FAIL,", "{false, CHECK_FAIL,"),
    Mutant("doctor: of which group a file is does not count", JUDGE, "{!gives && !o->is_our_group, CHECK_FAIL,", "{false, CHECK_FAIL,"),
    Mutant("doctor: root may not give a file away", JUDGE, "f->self.may_give_files || closed != 0;", "closed != 0;"),
    Mutant("doctor: a lock that is closed is free", JUDGE, "{file->lock_error != 0, CHECK_FAIL,", "{false, CHECK_FAIL,"),
    Mutant("doctor: an old HAProxy will do", JUDGE, "v->minor < OLDEST_MINOR", "false"),
    Mutant("doctor: HAProxy 10 is older than 2.6", JUDGE, "v->major < OLDEST_MAJOR || (v->major == OLDEST_MAJOR && v->minor", "v->major < OLDEST_MAJOR || (v->minor"),
    Mutant("doctor: what haproxy -c refuses is taken", JUDGE, "{r->problem == NULL && !r->refused, CHECK_OK,", "{r->problem == NULL, CHECK_OK,"),
    Mutant("doctor: what HAProxy has by itself is missing", JUDGE, "!environment_is_haproxys(name) && ", ""),
    Mutant("doctor: any name of HAPROXY_ is its own", JUDGE, "(end != NULL && str_eq(end, \"_LOG_FMT\")) || ", "str_has_prefix(name, \"HAPROXY_\") || "),
    Mutant("doctor: another value is the same", JUDGE, "(len == shown_len && memcmp(value, shown, len) == 0)", "true"),
    Mutant("doctor: one that neither has differs", JUDGE, "(value != NULL) == (shown != NULL) &&", "value != NULL && shown != NULL &&"),
    Mutant("doctor: the check's own environment is compared with itself", JUDGE, "shown && file == NULL ? NULL : environment_differs(f)", "environment_differs(f)"),
    Mutant("doctor: a check without HAPROXY_CHECK_FILES", JUDGE, "        buf_printf(&line, \" -f %s\", l->check_files.list[i]);\n", ""),
    Mutant("doctor: the file twice in the check", JUDGE, "listed = listed || str_eq(l->check_files.list[i], l->file);", ";"),
    Mutant("doctor: a stats socket of another section", GLOBAL, "str_eq(s->kind, \"global\") && k", "k"),
))
room("doctor, what runs", ("test_doctor_local_judge_running",), (
    Mutant("doctor: HAProxy is started without HAPROXY_CHECK_FILES", JUDGE, "        buf_printf(&line, \" -f %s\", l->check_files.list[i]);\n", ""),
    Mutant("doctor: an old HAProxy runs well", JUDGE, "local_version_read(said, &v) && local_version_is_old(&v);", "false;"),
    Mutant("doctor: another version runs as well", JUDGE, "!str_eq(program.text, f->info.version);", "false;"),
    Mutant("doctor: a master without a worker serves", JUDGE, "{m->answered && p->worker_pid == 0, CHECK_FAIL,", "{false, CHECK_FAIL,"),
    Mutant("doctor: a reload that failed did not", JUDGE, "{f->has_processes && p->failed_reloads > 0, CHECK_FAIL,", "{false, CHECK_FAIL,"),
    Mutant("doctor: a master of level user reloads", JUDGE, "!by_command && str_eq(f->master.level, \"user\")", "false"),
    Mutant("doctor: a command needs a level", JUDGE, "!by_command && str_eq(f->master.level", "str_eq(f->master.level"),
    Mutant("doctor: a level below admin will do", JUDGE, "low = k->level != NULL && !str_eq(k->level, \"admin\")", "low = false"),
    Mutant("doctor: the stats socket is of any HAProxy", JUDGE, "foreign = k->answered && f->has_processes;", "foreign = false;"),
    Mutant("doctor: an old worker is of another HAProxy", JUDGE, "f->processes.processes[i].pid != (pid_t)f->info.pid", "f->processes.worker_pid != (pid_t)f->info.pid"),
    Mutant("doctor: without -W there is a master", JUDGE, "        {f->has_no_master, CHECK_FAIL,", "        {false, CHECK_FAIL,"),
    Mutant("doctor: without HAPROXY_MASTER_SOCKET there is a master", JUDGE, "{m->path == NULL && f->has_no_master, CHECK_FAIL,", "{false, CHECK_FAIL,"),
    Mutant("doctor: a backend that is not loaded is", JUDGE, "if (t->backends[i].seen && t->backends[i].actual.exists && !t->backends[i].runtime.readable)", "if (false)"),
    Mutant("doctor: a file from before is newer", JUDGE, "f->file.modified_s > now_s - f->info.uptime_s + 1", "f->file.modified_s > 0"),
))
