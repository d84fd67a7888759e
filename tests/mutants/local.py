"""A HAProxy by its own file and sockets (haproxy/local), against one that runs."""

from .mutant import Mutant, room

DRIVER = "haproxy/local/driver.c"
READ = "haproxy/local/driver_read.c"
RELOAD = "haproxy/local/driver_reload.c"
CLI = "haproxy/local/cli.c"
TEXT = "haproxy/validation_text.c"
FILES = "haproxy/local/files.c"
CONFIG = "haproxy/local/helper_config.c"
PROCESS = "haproxy/local/helper_process.c"
HELPER = "haproxy/local/helper.c"
TALK = "haproxy/local/talk.c"
MESSAGE = "haproxy/local/message.c"

room("local, the file", ("test_local_driver",), (
    Mutant("a text is checked twice", DRIVER, "return d->checked == c && clock", "return false && clock"),
    Mutant("what was checked vouches for another text", DRIVER, "return d->checked == c && clock", "return clock"),
    Mutant("a validation writes", DRIVER, "unsigned flags = writes ? 0 : LOCAL_WRITE_ONLY_VALIDATE", "unsigned flags = 0"),
    Mutant("somebody's file is overwritten", DRIVER, "writes ? &d->identity : NULL,", "NULL,"),
    Mutant("a file of another version is overwritten", DRIVER, "if (writes && version != d->version) {", "if (false) {"),
    Mutant("a write is no new version", "haproxy/local/driver_write.c", "    d->locked = !d->options.takes_turns;\n    d->version++;\n", "    d->locked = !d->options.takes_turns;\n"),
    Mutant("the same file is another version", DRIVER, "bool known = d->file != NULL && local_identity_same(&d->identity, &a->identity);", "bool known = false;"),
    Mutant("what somebody wrote is not seen", DRIVER, "bool known = d->file != NULL && local_identity_same(&d->identity, &a->identity);", "bool known = d->file != NULL;"),
    Mutant("HAProxy's own words are told", "haproxy/local/driver_write.c", "validation_text_of_program(said, d->options.file, edits)", "mem_strdup(said)"),
    Mutant("a command that HAProxy refuses is done", DRIVER, "a->status == LOCAL_OK && cli_read_done(a->data, &err) == 0", "a->status == LOCAL_OK"),
))
room("local, reloads", ("test_local_driver",), (
    Mutant("what was loaded is not loaded", RELOAD, "        local_request_cancel(local_driver_loaded(d, NULL));\n", "        ;\n"),
    Mutant("any end is a good one", RELOAD, "if (o->step == LOCAL_RELOAD_SUCCEEDED)\n        reload_succeeded(r);", "if (o->step >= LOCAL_RELOAD_SUCCEEDED)\n        reload_succeeded(r);"),
    Mutant("who ran before is not looked at", RELOAD, "worker >= 0 && worker != o->worker", "worker >= 0"),
    Mutant("a master that does not listen yet is lost", RELOAD, "    if (o->step == LOCAL_RELOAD_BEFORE && worker < 0 && clock_mono_ms() < o->until_ms) {", "    if (false) {"),
    Mutant("a reload that nobody was asked for failed", RELOAD, "says == CLI_RELOAD_FAILED || a->status == LOCAL_REJECTED", "says == CLI_RELOAD_FAILED || a->status != LOCAL_OK"),
    Mutant("a lost reload is never found", READ, "    driver_read_find_lost_reload(d);\n", "    (void)driver_read_find_lost_reload;\n"),
    Mutant("who ran before a lost reload came by it", READ, "        o->worker == d->to->worker_pid)", "        false)"),
    Mutant("it is told within the question", RELOAD, "        local_driver_tell(d, driver_reload_tell_asked);", "        driver_reload_tell_asked(base);"),
))
room("local, what runs", ("test_local_driver", "test_local_cli", "test_validation_text"), (
    Mutant("a HAProxy that is gone runs", READ, "d->to->worker_silent = d->to->worker_pid < 0;", "d->to->worker_silent = false;"),
    Mutant("the worker is not known", READ, "    d->to->worker_pid = info.pid;\n", ""),
    Mutant("a word of another name is the pid", CLI, 'return str_has_prefix(line, name) && str_has_prefix(line + len, ": ") ?', "return str_has_prefix(line, name) ?"),
    Mutant("a process without a number answers", CLI, "return ret->pid > 0 ? 0", "return ret->pid != 0 ? 0"),
    Mutant("a line of another file is the user's", TEXT, "if (line > 0 && strlen(file) == len && memcmp(name, file, len) == 0)", "if (line > 0)"),
    Mutant("the beginning of a name is the name", TEXT, "if (line > 0 && strlen(file) == len && ", "if (line > 0 && "),
))
room("local, what a document is for", ("test_document", "test_store"), (
    Mutant("a HAProxy that reads the file itself gets what an API gets", "configuration/document.c", "use == DOCUMENT_FOR_FILE || cfg_source_is_as_sent(file)", "cfg_source_is_as_sent(file)"),
    Mutant("what an API cannot keep is refused for a file", "configuration/document.c", "use == DOCUMENT_FOR_FILE ? cfg_source_init_as_it_is(&file, buf_str(&text), len, err)", "false ? cfg_source_init_as_it_is(&file, buf_str(&text), len, err)"),
    Mutant("a carriage return is refused for a file", "haproxy/cfg/source.c", "if (!as_it_is && memchr(line.text, '\\r', line.len) != NULL)", "if (memchr(line.text, '\\r', line.len) != NULL)"),
    Mutant("any bytes are a file", "haproxy/cfg/source.c", "if (check_bytes(f, true, err) == 0 && check_is_one(f, err) == 0)", "if (check_is_one(f, err) == 0)"),
    Mutant("versions are read for APIs", "configuration/store.c", "    s->use = use;\n", "    (void)use;\n"),
))
room("local, settings", ("test_settings_local",), (
    Mutant("both ways to HAProxy are taken", "settings/local.c", "    if (setting_is_given(s, SETTING(dataplanes)))\n        finding_error", "    if (false)\n        finding_error"),
    Mutant("the default URL is a HAProxy, too", "settings/parse.c", "(s->local.file == NULL && s->config_source != SETTINGS_CONFIG_TEMPLATE &&", "(s->config_source != SETTINGS_CONFIG_TEMPLATE &&"),
    Mutant("a reload without a way to it", "settings/local.c", "l->reload != SETTINGS_RELOAD_COMMAND && l->master_socket == NULL &&", "false && l->master_socket == NULL &&"),
    Mutant("the source may be HAProxy's own file", "settings/local.c", "local_same_path(s->config_file, s->local.file)", "false"),
    Mutant("a name alone is a file to check", "settings/services.c", "        return check_absolute_path(name, note);", "        return 0;"),
    Mutant("an API without credentials is warned of where there is none", "settings/secrets/credentials.c", "if (!variables && c->local.file == NULL && c->config_target", "if (!variables && c->config_target"),
))
READ_CFG = "haproxy/local/config.c"
EDIT = "haproxy/local/config_edit.c"
LINE = "haproxy/local/config_line.c"
WRITE = "haproxy/local/driver_write.c"
UPDATE = "haproxy/local/driver_update.c"
RUN = "haproxy/local/driver_commands.c"

room("local, lines", ("test_local_config", "test_local_config_edit"), (
    Mutant("what a conditional decides is read", READ_CFG, "if (line->conditional)", "if (false)"),
    Mutant("a conditional behind the backend is within it", READ_CFG, "line = s->line; line < s->lines + s->line_count; line++", "line = s->line; line <= s->lines + s->line_count; line++"),
    Mutant("a conditional never ends", "haproxy/cfg/file.c", 'str_eq(cfg_word(words, 0), ".endif") ? -1 : 0', "0"),
    Mutant("every directive begins a conditional", "haproxy/cfg/file.c", 'depth += str_eq(cfg_word(words, 0), ".if") ? 1', "depth += true ? 1"),
    Mutant("defaults under a conditional are read", READ_CFG, "for (; s != NULL; s = s->defaults) {", "for (; s != NULL; s = NULL) {"),
    Mutant("a variable is its name", "haproxy/cfg/words.c", "for (size_t i = 0; !w->plain && i + 1 < w->raw_len; i++)", "for (size_t i = 0; false && i + 1 < w->raw_len; i++)"),
    Mutant("the first of two backends is the one", READ_CFG, "cfg_file_backend_again(f, first);", "NULL;"),
    Mutant("an argument of nobody knows what is a keyword", READ_CFG, "return !word->known && cfg_is_among(", "return false && cfg_is_among("),
    Mutant("a port with a sign is a number", READ_CFG, "bool has_port = colon != NULL && str_parse_uint(colon + 1, UINT16_MAX, &port) == 0;", "bool has_port = colon != NULL && (str_parse_uint(colon + 1, UINT16_MAX, &port) == 0 || true);"),
    Mutant("a default-server says nothing of a line's state", READ_CFG, "    cfg_inherit_apply(&inherit, w->b);\n", ""),
    Mutant("a variable in inherited defaults is its name", READ_CFG, "if (config_is_of(own, s) && ", "if (false && "),
    Mutant("a variable in anybody's defaults is ours", READ_CFG, "if (config_is_of(own, s) && ", "if ("),
    Mutant("a new line stands in a conditional", "haproxy/cfg/file.c", "        if (!cfg_file_is_directive(&s->lines[i]))\n            return", "        if (true)\n            return"),
    Mutant("a directive is what a line looks like", EDIT, "cfg_file_is_directive(&s->lines[i]) ? NULL : ", ""),
    Mutant("HAProxy does not start while DNS is away", EDIT, "if ((fields & SERVER_ADDRESS) && e->instead[2]", "if (false && e->instead[2]"),
    Mutant("a name that was there is ours", EDIT, "(fields & SERVER_ADDRESS) && e->instead[2] != NULL && ", "(fields & SERVER_ADDRESS) && "),
    Mutant("an operator's init-addr stands twice", LINE, "        there = str_eq(w.name, keyword);\n", ""),
    Mutant("arguments of httpchk are none", READ_CFG, "!off && str_eq(option, \"httpchk\") && w->words.count > 2;", "false;"),
    Mutant("`no option` takes no check away", READ_CFG, "config_replace(&w->b->adv_check, off ? \"\" : option);", "config_replace(&w->b->adv_check, option);"),
    Mutant("blanks in front of what goes stay", LINE, "        if (!e->gone[i]) {\n            buf_addn(out, at, (size_t)(w->raw - at));", "        buf_addn(out, at, (size_t)(w->raw - at));\n        if (!e->gone[i]) {"),
    Mutant("a comment goes", LINE, "    buf_addn(out, at, (size_t)(end - at));\n}", "    (void)end;\n}"),
    Mutant("a word that contradicts stays", LINE, "if (off != NULL && str_eq(w.name, off))", "if (false)"),
    Mutant("a word that is there stands twice", LINE, "if (on != NULL && !there)", "if (on != NULL)"),
    Mutant("the first weight counts", LINE, "else if (str_eq(w.name, keyword) && w.last > w.at && ", "else if (!there && str_eq(w.name, keyword) && w.last > w.at && "),
    Mutant("any server of that name is meant", READ_CFG, "return n != 0 ? n : (x->line->number > y->line->number) - (x->line->number < y->line->number);", "return n != 0 ? n : (x->line->number < y->line->number) - (x->line->number > y->line->number);"),
    Mutant("a new line has nothing of its siblings", EDIT, "if (!str_empty(s->rest))", "if (false)"),
    Mutant("a new line looks like none", EDIT, "size_t indent_len = edit_indent(s, b->last, &indent);", "size_t indent_len = edit_indent(s, s->line, &indent);"),
    Mutant("a name with a blank is two words", EDIT, 'if (word[strcspn(word, " \\t\\"\'\\\\#$")] == \'\\0\') {', "if (true) {"),
    Mutant("parameters of the check from before stay", EDIT, "for (size_t i = first; i < e.words.count; i++)\n        e.gone[i] = true;", "for (size_t i = first; i < e.words.count && i < first + 1; i++)\n        e.gone[i] = true;"),
    Mutant("an operator's httpchk is asked anew", EDIT, "settings->httpchk_healthz && !(str_eq(b->adv_check, \"httpchk\") && b->httpchk_params)", "settings->httpchk_healthz"),
    Mutant("a keyword that nobody knows takes the next word", LINE, "if (!w.known && (e->unknown == 0 || at < e->unknown))", "if (false)"),
    Mutant("a default-server behind servers is in front of them", EDIT, "        if (edit_begins_with(&s->lines[i], \"server\"))\n            break;\n", ""),
))
COMMAND = "haproxy/local/server_command.c"

room("local, commands", ("test_server_command",), (
    Mutant("who comes has no share of a hash", COMMAND, "strverscmp(haproxy, \"3.0\") < 0 && lines->hashed)", "false)"),
    Mutant("who comes has no share of any backend", COMMAND, "strverscmp(haproxy, \"3.0\") < 0 && lines->hashed)", "strverscmp(haproxy, \"3.0\") < 0)"),
    Mutant("no HAProxy gives a share of a hash", COMMAND, "strverscmp(haproxy, \"3.0\") < 0 && lines", "lines"),
    Mutant("the hash of defaults is none", READ_CFG, "backend_algorithm_is_hashed(cfg_inherit_balance(l->section, &words));", "backend_algorithm_is_hashed(cfg_inherit_balance(&(struct cfg_file_section){.lines = l->section->lines, .line_count = l->section->line_count}, &words));"),
    Mutant("a default-server behind the line reaches it", COMMAND, "if (before != 0 && lines[i]->number >= before)", "if (false)"),
    Mutant("defaults of defaults are none", COMMAND, "int status = command_words_inherit(w, s->defaults, err);", "int status = 0;"),
    Mutant("what is said again stands twice", COMMAND, "    command_words_drop(w, keyword);\n    if (off)", "    if (off)"),
    Mutant("what is taken back stays", COMMAND, "        command_words_drop(w, keyword + strlen(\"no-\"));", "        ;"),
    Mutant("what is of the file goes with it", COMMAND, "if (command_is_of_file(keyword) || ", "if ("),
    Mutant("a check is not begun", COMMAND, "if (command_words_have(&all, \"check\"))", "if (false)"),
    Mutant("an agent is not begun", COMMAND, "if (command_words_have(&all, \"agent-check\"))", "if (false)"),
    Mutant("a check speaks otherwise than the traffic", COMMAND, "    command_words_add_checks(&all);\n", ""),
    Mutant("a check elsewhere speaks as the traffic", COMMAND, "|| command_words_have(w, \"port\") || command_words_have(w, \"addr\"))", "|| false)"),
    Mutant("plain checks are not", COMMAND, "        w->plain_checks = off;", "        w->plain_checks = false;"),
    Mutant("who is in maintenance is enabled", COMMAND, "    if (!s->maintenance)\n        command_put", "    if (true)\n        command_put"),
    Mutant("a keyword that nobody knows is a command's", COMMAND, "        if (!word.known)\n            return", "        if (false)\n            return"),
    Mutant("a second command may hide in a word", COMMAND, "strchr(\";\\\\\\\"'<#\", *c) != NULL", "false"),
    Mutant("a live server is deleted", COMMAND, '    command_put(c, mem_printf("set server %.*s state maint", (int)len, place));\n', ""),
    Mutant("defaults are in no other file", COMMAND, "return s == backend || *s->from != '\\0';", "return false;"),
    Mutant("a name of another file's defaults is none", COMMAND, "return s == backend || *s->from != '\\0';", "return s == backend;"),
))
ALIKE = "haproxy/local/alike.c"

room("local, without haproxy -c", ("test_local_alike", "test_local_whole"), (
    Mutant("what HAProxy did not take is not checked", WRITE, "d->early.why == NULL ? LOCAL_WRITE_UNCHECKED : 0", "LOCAL_WRITE_UNCHECKED"),
    Mutant("what HAProxy took is checked", WRITE, "d->early.why == NULL ? LOCAL_WRITE_UNCHECKED : 0", "0"),
    Mutant("files that changed are not checked", WRITE, "d->replacement.files_stay && ", ""),
    Mutant("another file before is no matter", WRITE, "!d->options.files_before && !d->options.files_after &&", "!d->options.files_after &&"),
    Mutant("another file behind is no matter", WRITE, "!d->options.files_before && !d->options.files_after &&", "!d->options.files_before &&"),
    Mutant("one fewer may change", ALIKE, "changes->count > LOCAL_ALIKE_MAX_CHANGES", "changes->count >= LOCAL_ALIKE_MAX_CHANGES"),
    Mutant("any new server is alike", ALIKE, "found = found || (alike_is_server(&a->other) && alike_same_words(&a->words, line, &a->other, &s->lines[i]));", "found = true;"),
    Mutant("who is like one with a name is alike", ALIKE, "found = found || (alike_is_server(&a->other) && ", "found = found || (a->other.count > 2 && "),
    Mutant("a new server may have a name", ALIKE, "if (!alike_is_server(&a->words) || !alike_has_sibling(a, line, was))", "if (!alike_has_sibling(a, line, was))"),
    Mutant("an id may be there twice", ALIKE, "if (alike_is_own(cfg_word(&a->words, i)))", "if (false)"),
    Mutant("a name may be there twice", ALIKE, "line == NULL || twice)", "line == NULL)"),
    Mutant("a template's servers are none", ALIKE, 'if (str_eq(cfg_word(&a->other, 0), "server-template"))', "if (false)"),
    Mutant("who goes may be named", ALIKE, "(goes && alike_line_names(a, &to->lines[i]))", "false"),
    Mutant("a name in quotes is none", ALIKE, "if (line->plain != NULL && !alike_names(a, line->plain, line->plain_len))", "if (line->plain == NULL || !alike_names(a, line->plain, line->plain_len))"),
    Mutant("a variable is no name", ALIKE, "if (cfg_word_has_variable(w) || ", "if ("),
    Mutant("a name in a word is one", ALIKE, "(at == text || strchr(NAME_BYTES, at[-1]) == NULL) && ", ""),
    Mutant("a word that begins with it is a name", ALIKE, " && (at + n == end || strchr(NAME_BYTES, at[n]) == NULL)", ""),
    Mutant("a condition is no matter", ALIKE, "cfg_file_is_directive(&to->lines[i]) || ", ""),
))
room("local, servers", ("test_local_servers", "test_local_commands"), (
    Mutant("a reload that has to be is none", WRITE, "} else if (d->in_file && (d->reloads || why != NULL)) {", "} else if (d->in_file && why != NULL) {"),
    Mutant("what is not loaded yet needs no reload", WRITE, "           : d->unloaded    ? \"haproxy.cfg was written and is not loaded yet\"\n", ""),
    Mutant("what another daemon is loading is known to run", WRITE, "timer_is_set(&d->ask_again) ? \"another", "false ? \"another"),
    Mutant("secrets of a server that comes are shown", WRITE, "cfg_mask_line(rest, strlen(rest), TEXT_WHOLE, ret);", "buf_add(ret, rest);"),
    Mutant("what commands brought about is not loaded", WRITE, "        d->request = local_driver_loaded(d, driver_write_on_noted);\n", "        d->request = local_note_loaded(d->options.helper, &d->identity, driver_write_on_noted, d);\n"),
    Mutant("who was added and is not in the file stays", WRITE, "local_run_take_back(&d->late, &d->early, &is);", "local_run_clear(&d->late);"),
    Mutant("who was there before is taken back", RUN, "if (c->done && str_has_prefix(c->text, ADDITION) &&", "if (str_has_prefix(c->text, ADDITION) &&"),
    Mutant("who is new waits for the check", WRITE, "c->kind == CHANGE_ADD_SERVER ? early : late", "late"),
    Mutant("who leaves is gone before the file is written", WRITE, "c->kind == CHANGE_ADD_SERVER ? early : late", "early"),
    Mutant("a command that is refused is done", RUN, "bool good = cli_read_done(answer, &err) == 0;", "bool good = cli_read_done(answer, &err) <= 0;"),
    Mutant("only the first of several commands is looked at", RUN, "for (size_t i = r->sent; i < r->next; i++)", "for (size_t i = r->sent; i < r->sent + 1; i++)"),
    Mutant("who is still in use takes a reload", RUN, "if (err.kind == ERROR_CONFLICT && commands_is_removal(c->text))", "if (false)"),
    Mutant("who was loaded disabled is in maintenance for ever", READ, "return admin & CLI_ADMIN_FORCED_MAINTENANCE ?", "return admin & (CLI_ADMIN_FORCED_MAINTENANCE | CLI_ADMIN_CONFIGURED_MAINTENANCE) ?"),
    Mutant("who leaves is still a server", "haproxy/local/driver_read.c", "if (!driver_read_leaves(d, &all->servers[i]))", "if (true)"),
    Mutant("who left before the start is still a server", READ, "(driver_read_admin(s->admin) == RUNTIME_MAINT && backend_find(b", "(false && backend_find(b"),
    Mutant("a server without a line is as good as gone", READ, "(driver_read_admin(s->admin) == RUNTIME_MAINT && ", "("),
    Mutant("who is in use is never deleted", RUN, "leaving_add(r->driver, c->text); /* nobody new comes to it, in maintenance */", ";"),
    Mutant("who leaves is asked once", RUN, "    timer_set(&l->again, l->wait_ms);\n", ""),
    Mutant("who is back in the file is deleted", RUN, "while (l->at < l->count && leaving_is_back(d, l->list[l->at]))", "while (false)"),
    Mutant("changes are written without a look at the version", WRITE, "if (d->edits.count > 0 && version != d->version) {", "if (false) {"),
    Mutant("what was refused is written with the next", WRITE, "    bool whole = d->replaces;\n    timer_cancel(&d->tell);\n    local_driver_release(d);\n    local_driver_write_forget(d);", "    bool whole = d->replaces;\n    timer_cancel(&d->tell);\n    if (d->written.result == TRANSACTION_COMMITTED)\n        local_driver_write_forget(d);"),
    Mutant("changes are written unchecked", WRITE, "driver_write_begin(d, &d->changes, 0);", "driver_write_begin(d, &d->changes, LOCAL_WRITE_UNCHECKED);"),
    Mutant("an update is not read back", UPDATE, "cleanup(mem_free_ptr) char *problem = driver_update_problem(u, &all);", "cleanup(mem_free_ptr) char *problem = NULL;"),
    Mutant("an update waits for a reload", UPDATE, "        d->unloaded = was_unloaded; /* the running HAProxy gets it now */\n", "        (void)was_unloaded;\n"),
    Mutant("maintenance that is kept ends", UPDATE, "        as.maintenance = !as.maintenance;\n", "        ;\n"),
    Mutant("a weight is in the file alone", COMMAND, "if (change->fields & SERVER_WEIGHT)", "if (false)"),
    Mutant("a state is in the file alone", COMMAND, "if (change->fields & SERVER_MAINTENANCE)", "if (false)"),
    Mutant("what builds upon others is sent with them", RUN, "size_t end = r->next < c->first ? c->first : c->count;", "size_t end = c->count;"),
    Mutant("a refusal ends nothing", RUN, "(r->why == NULL || r->in_any_case)", "true"),
    Mutant("who cannot write speaks to HAProxy", WRITE, "(writes && a->status != LOCAL_OK)", "false"),
    Mutant("an update of another version is made", UPDATE, "    if (version != d->version) {\n        driver_update_conflict(d);", "    if (false) {\n        driver_update_conflict(d);"),
    Mutant("a backend that cannot be read keeps others up", DRIVER, "            (void)error_prefix(&r->unreadable, \"reading backend %s\", r->backend.name);\n", "            d->to->found[0].unreadable = (struct error){0};\n"),
))
room("local, the helper's file", ("test_local_helper", "test_local_files"), (
    Mutant("the lock is not taken", CONFIG, "if (helper_flock(fd, F_OFD_SETLK, &lock) != 0) {", "if (false) {"),
    Mutant("who has no lock writes", CONFIG, "if ((a->flags & LOCAL_WRITE_ONLY_VALIDATE) == 0 && helper_config_lock(w) != 0)", "if (false)"),
    Mutant("who has the lock is not noted", CONFIG, "mem_printf(\"%d\\n%s%s\", (int)h->daemon, new, old)", "mem_printf(\"%d\\n%s%s\", 0, new, old)"),
    Mutant("a file that was changed is checked", CONFIG, "else if (a->expects && !local_identity_same(&now, &a->expected))", "else if (false)"),
    Mutant("what changed while it was checked is overwritten", CONFIG, "helper_write(w, &p, a, a->expects ? &a->expected : NULL);", "helper_write(w, &p, a, NULL);"),
    Mutant("a question is a write", CONFIG, "helper_check(w, path) == 0) && !validate)", "helper_check(w, path) == 0))"),
    Mutant("what was refused is written", CONFIG, "if ((unchecked || helper_check(w, path) == 0)", "if ((helper_check(w, path) <= 0)"),
    Mutant("what HAProxy ran before is checked", CONFIG, "unchecked = (a->flags & LOCAL_WRITE_UNCHECKED) != 0", "unchecked = false"),
    Mutant("what was refused stays beside", CONFIG, "    else\n        (void)unlinkat(p->folder, temporary, 0);", "    else\n        ;"),
    Mutant("the temporary name is told", CONFIG, "            buf_add(&line, name);", "            buf_add(&line, temporary);"),
    Mutant("a check that was killed refuses the file", CONFIG, "if (w->outcome != CHILD_EXITED || w->exit_status > CHECK_WOULD_NOT_START) {", "if (false) {"),
    Mutant("the check has no end", CONFIG, "o->check_timeout_ms > 0 ? o->check_timeout_ms : CHECK_TIMEOUT_MS", "1000000"),
    Mutant("the files in front are left out", CONFIG, "for (size_t i = 0; i < before; i++) {", "for (size_t i = before; i < before; i++) {"),
    Mutant("the files behind are left out", CONFIG, "for (size_t i = 0; i < after; i++) {", "for (size_t i = after; i < after; i++) {"),
    Mutant("what is there after a write is not told", CONFIG, "    w->answer.identity = now;\n}\n\nstatic void helper_write", "}\n\nstatic void helper_write"),
    Mutant("an identity is a size", FILES, "return a->device == b->device && a->inode == b->inode && a->size == b->size && a->modified_ns == b->modified_ns &&\n           a->owner == b->owner && a->group == b->group && a->mode == b->mode;", "return a->size == b->size;"),
    Mutant("an identity has no time", FILES, "a->modified_ns == b->modified_ns &&", "true &&"),
    Mutant("an identity has no mode", FILES, "a->mode == b->mode;", "true;"),
    Mutant("the link is replaced", FILES, "realpath(path, NULL)", "mem_strdup(path)"),
    Mutant("the mode is not kept", FILES, "return fchmod(fd, like->st_mode & 07777);", "return 0;"),
    Mutant("the group is not kept", FILES, "if (st.st_gid != like->st_gid && ", "if (false && "),
    Mutant("attributes are not kept", FILES, "if (from >= 0 && file_copy_attributes(from, to) != 0)", "if (false)"),
    Mutant("a file that could not be written stays", FILES, "    int saved = errno;\n    (void)unlinkat(p->folder, temporary, 0);\n    errno = saved;\n    return -1;", "    return -1;"),
    Mutant("a file of one that was killed is in the way", FILES, "    (void)unlinkat(p->folder, temporary, 0); /* of one of us that was killed */\n", ""),
    Mutant("what was exchanged stays", FILES, "    else\n        (void)unlinkat(p->folder, temporary, 0);\n    return *ret_changed", "    return *ret_changed"),
    Mutant("the file comes to the disk after its name", FILES, "    return fsync(to);", "    return 0;"),
    Mutant("the name never comes to the disk", FILES, "return fsync(p->folder) == 0 ?", "return true ?"),
    Mutant("a name that may be lost was never written", FILES, "LOCAL_SWAPPED : LOCAL_SWAPPED_UNSYNCED;", "LOCAL_SWAPPED : LOCAL_SWAP_FAILED;"),
    Mutant("what somebody wrote at that moment is lost", FILES, "        file_give_back(p, temporary, ours);\n", "        ;\n"),
    Mutant("what somebody wrote stays beside", FILES, "        renameat2(p->folder, temporary, p->folder, p->name, RENAME_NOREPLACE) == 0)\n        return;", "        false)\n        return;"),
    Mutant("what somebody wrote is where we write next", FILES, "    (void)renameat2(p->folder, temporary, p->folder, aside, RENAME_NOREPLACE);\n", "    (void)aside;\n"),
    Mutant("a fifo is a file", FILES, "(fstat(fd, st) == 0 && S_ISREG(st->st_mode))", "fstat(fd, st) == 0"),
))
ENVIRONMENT = "haproxy/local/helper_environment.c"
room("local, the environment of a check", ("test_local_requests",), (
    Mutant("variables of another process are there", ENVIRONMENT, 'str_has_prefix(line, "HAPROXY_") || ', ""),
    Mutant("a check is another one's to notify", ENVIRONMENT, ' || str_has_prefix(line, "NOTIFY_");', ";"),
    Mutant("a value is one line", ENVIRONMENT, "if (name == 0 && count > 0 && !skips && len > 0) {", "if (false) {"),
    Mutant("what is left out leaves its other lines", ENVIRONMENT, "count > 0 && !skips && len > 0", "count > 0 && len > 0"),
    Mutant("quotes are part of a value", ENVIRONMENT, "    environment_unquote(list);\n    return list;", "    return list;"),
    Mutant("half of a pair of quotes goes", ENVIRONMENT, " && value[len - 1] == *value) {", ") {"),
    Mutant("there are two PATHs", ENVIRONMENT, "    if (!has_path)\n", "    if (true)\n"),
    Mutant("what the file sets is there before it", ENVIRONMENT, "        environment_drop_set(w, list);\n", "        ;\n"),
    Mutant("each HAProxy begins a reload anew", ENVIRONMENT, "strverscmp(branch + strlen(\"HAPROXY_BRANCH=\"), RESTORES) >= 0)", "true)"),
    Mutant("presetenv sets nothing", ENVIRONMENT, ' || str_eq(cfg_word(&words, 0), "presetenv"))', ")"),
))
room("local, what the helper is asked", ("test_local_requests",), (
    Mutant("a name with a slash is one of the folder", MESSAGE, "strchr(name, '/') == NULL", "true"),
    Mutant("a name with a dot in front is one", MESSAGE, "*name != '.' && ", ""),
    Mutant("a name with a control character is one", MESSAGE, "!str_has_control(name)", "true"),
    Mutant("a message of any length is one", MESSAGE, "    *ret = len;\n    return len <= LOCAL_FRAME_MAX_BYTES ? 0 : -1;", "    *ret = len;\n    return 0;"),
    Mutant("a request of no known kind is one", MESSAGE, "message_get_number(&r, LOCAL_KIND_RELEASE_CONFIG)", "message_get_number(&r, UINT64_MAX)"),
    Mutant("bytes behind a request are none of its", MESSAGE, "    ret->bytes = message_get_bytes(&r, &ret->len);\n    return r.bad || r.left > 0", "    ret->bytes = message_get_bytes(&r, &ret->len);\n    return r.bad"),
    Mutant("any folder is one", PROCESS, "if (a->where >= count || ", "if ("),
    Mutant("any name is one of the folder", PROCESS, "!local_message_name_fits(a->name)) {", "false) {"),
    Mutant("a file that is not there cannot be deleted", PROCESS, "AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)", "AT_SYMLINK_NOFOLLOW) != 0 && false)"),
    Mutant("the worker is asked as the master", PROCESS, 'through_master ? "@1 " : ""', '""'),
    Mutant("half an answer is one", PROCESS, "        return 0;\n    buf_clear(&w->data);\n    helper_fail(w, \"%s\", err.message);", "        return 0;\n    helper_fail(w, \"%s\", err.message);"),
    Mutant("process 1 gets the signal", PROCESS, "return rc != 0 || *ret <= 1 ? -1 : 0;", "return rc != 0 || *ret <= 0 ? -1 : 0;"),
    Mutant("any process is HAProxy's master", PROCESS, "helper_check_master(w, pid) != 0)", "false)"),
    Mutant("a long name is another program's", PROCESS, "strncmp(buf_str(&comm), name, COMM_BYTES) == 0", "str_eq(buf_str(&comm), name)"),
    Mutant("a reload command that failed is done", PROCESS, "    if (w->outcome != CHILD_EXITED || w->exit_status != 0)\n", "    if (false)\n"),
    Mutant("the end of the daemon is not seen", PROCESS, "    w->helper->peer_gone = true;\n", ""),
    Mutant("a socket is waited for forever", TALK, "        if (now >= t->until_ms)\n            return -1;\n        int n = poll(fds, array_len(fds), (int)(t->until_ms - now));", "        int n = poll(fds, array_len(fds), -1);"),
    Mutant("the end of a question is not told", TALK, "if (shutdown(t->fd, SHUT_WR) != 0 && errno != ENOTCONN)", "if (false)"),
    Mutant("the daemon's files are open there", HELPER, "return close_range(HELPER_SOCKET + 1, ~0u, 0);", "return 0;"),
    Mutant("the helper has no filter", HELPER, "(!options->without_seccomp && sandbox_enter_wide(&err) != 0)", "false"),
    Mutant("a signal to the group ends it", HELPER, "        sigaction(numbers[i], &quiet, NULL);\n", "        (void)quiet;\n"),
    Mutant("a cancelled request is told", HELPER, "        r->answered = NULL;", "        ;"),
))
room("local, what HAProxy said", ("test_local_cli",), (
    Mutant("a worker that leaves is the one that serves", CLI, "(newest->is_old && !p->is_old) ||", "(!newest->is_old && p->is_old) ||"),
    Mutant("a refused reload succeeded", CLI, "if (answer[strlen(\"Success=\")] == '1')", "if (answer[strlen(\"Success=\")] != '2')"),
    Mutant("the end of a connection is a success", CLI, "return *answer != '\\0' ? 0 :", "return true ? 0 :"),
    Mutant("a reload beside another one failed", CLI, "        return CLI_RELOAD_BUSY;", "        return CLI_RELOAD_FAILED;"),
    Mutant("what HAProxy says is a success", CLI, "    return cli_refuse(err, ERROR_INVALID, start);\n}", "    return 0;\n}"),
    Mutant("any columns are the ones", CLI, "return found == (1u << COLUMN_COUNT) - 1 ? 0 : -1;", "return 0;"),
    Mutant("a line that ends early is a server", CLI, "        if (*word == '\\0')\n            return -1;", "        if (*word == '\\0')\n            return 0;"),
))
room("local, states that somebody set", ("test_local_cli",), (
    Mutant("who follows another one was taken out by somebody", READ, "return admin & CLI_ADMIN_FORCED_MAINTENANCE ?", "return admin & (CLI_ADMIN_FORCED_MAINTENANCE | CLI_ADMIN_INHERITED_MAINTENANCE) ?"),
    Mutant("who has no address was taken out by somebody", READ, "return admin & CLI_ADMIN_FORCED_MAINTENANCE ?", "return admin & (CLI_ADMIN_FORCED_MAINTENANCE | CLI_ADMIN_UNRESOLVED) ?"),
    Mutant("who follows one that drains was told to", READ, "admin & CLI_ADMIN_FORCED_DRAIN     ?", "admin & (CLI_ADMIN_FORCED_DRAIN | CLI_ADMIN_INHERITED_DRAIN) ?"),
    Mutant("who has no address has one", READ, ".unresolved = (s->admin & CLI_ADMIN_UNRESOLVED) != 0,", ".unresolved = false,"),
))
room("local, plan", ("test_inspect_decide",), (
    Mutant("who comes takes a reload, says plan", "cli/inspect_decide.c", "bool adds = t->adds && ", "bool adds = false && "),
    Mutant("every balance takes servers, says plan", "cli/inspect_decide.c", "!b->actual.takes_no_weights;", "true;"),
    Mutant("what is not loaded is no matter, says plan", "cli/inspect_decide.c", "inspect_updates(b) && !is_dirty(t, b) && ", "inspect_updates(b) && "),
))
room("local, the lock", ("test_local_lock",), (
    Mutant("what is about to come is not noted", CONFIG, "helper_note(h, h->lock, &coming) == 0)", "true)"),
    Mutant("what cannot be noted is written", CONFIG, "helper_note(h, h->lock, &coming) == 0)", "helper_note(h, h->lock, &coming) <= 0)"),
    Mutant("half a note stays", CONFIG, "    (void)helper_note(h, h->lock, NULL);\n    (void)unlinkat", "    (void)unlinkat"),
    Mutant("a lock that was removed is ours", CONFIG, "if (h->lock >= 0 && helper_lock_is_there(h, &p))", "if (h->lock >= 0)"),
    Mutant("what was written is forgotten with the lock", CONFIG, "h->has_written = loaded || unloaded || ours;", "h->has_written = loaded || unloaded;"),
    Mutant("what was there goes before what comes is there", CONFIG, "char *old = h->has_written ? helper_note_line(&h->written, h->loaded) : mem_strdup(\"\");", "char *old = mem_strdup(\"\");"),
    Mutant("what is in its place is not looked at", CONFIG, "    helper_take_notes(w->helper, w->helper->lock, p); /* of which one is in its place now */\n", ""),
    Mutant("who takes the lock forgets what was noted", CONFIG, "h->has_written = loaded || unloaded || ours;", "h->has_written = ours;"),
    Mutant("who takes the lock takes what runs for not loaded", CONFIG, "h->loaded = loaded || (ours && h->loaded);", "h->loaded = ours && h->loaded;"),
    Mutant("any file is the one that was noted", CONFIG, "    return strstr(text, behind_another) != NULL;", "    return strchr(text, '\\n') != NULL;"),
    Mutant("who has no lock learns nothing", CONFIG, "    w->answer.unloaded = helper_is_noted(text, &w->answer.identity, false);\n", ""),
    Mutant("who has no lock does not learn what runs", CONFIG, "    w->answer.loaded = helper_is_noted(text, &w->answer.identity, true);\n", ""),
    Mutant("a writer that lives is none", CONFIG, "lock.l_type != F_UNLCK)", "false)"),
    Mutant("a writer that is dead lives", CONFIG, "lock.l_type != F_UNLCK)", "true)"),
    Mutant("of another mode it is another file", CONFIG, "           u->modified_ns == i->modified_ns;", "           u->modified_ns == i->modified_ns && u->mode == i->mode;"),
    Mutant("what was loaded before is this file", CONFIG, "if (h->lock < 0 || !helper_is_written_file(h, &a->expected))", "if (h->lock < 0)"),
    Mutant("it is loaded until we end", CONFIG, "    if (helper_note(h, h->lock, NULL) != 0)\n        helper_fail", "    if (false)\n        helper_fail"),
    Mutant("it is loaded when we end", CONFIG, "    h->loaded = true;\n    if (helper_note", "    if (helper_note"),
    Mutant("more lines stay than are noted", CONFIG, "&& ftruncate(fd, (off_t)len) == 0 ? 0 : -1", "? 0 : -1"),
    Mutant("an answer does not say it", MESSAGE, "    ret->unloaded = message_get_number(&r, 1) == 1;\n", "    (void)message_get_number(&r, 1);\n"),
))
room("local, daemons on one file", ("test_local_driver_lock",), (
    Mutant("what was written is loaded", WRITE, "    d->unloaded = true;\n    d->locked", "    d->locked"),
    Mutant("what an earlier daemon wrote is loaded", DRIVER, "    return a->pid == 0;\n", "    return false;\n"),
    Mutant("what a daemon loads right now is ours to load", DRIVER, "    return a->pid == 0;\n", "    return true;\n"),
    Mutant("what another daemon leaves is never looked at", DRIVER, "    if (a->pid != 0 && d->waits == NULL)\n        timer_set", "    if (false)\n        timer_set"),
    Mutant("an answer that is older than the reload counts", DRIVER, "if (!a->unloaded || local_identity_same(&d->loaded, &a->identity))", "if (!a->unloaded)"),
    Mutant("what was loaded is loaded at each start", DRIVER, "    return local_note_loaded(d->options.helper, &d->identity, answered, d);", "    return local_lock_config(d->options.helper, answered, d);"),
    Mutant("an update is never noted", UPDATE, "        if (d->unloaded)\n            driver_update_tell(&d->base);", "        if (true)\n            driver_update_tell(&d->base);"),
    Mutant("an update loads the whole file", UPDATE, "        if (d->unloaded)\n            driver_update_tell(&d->base);", "        if (false)\n            driver_update_tell(&d->base);"),
    Mutant("the lock is asked for once", DRIVER, "    if (a->status == LOCAL_LOCKED)\n        timer_set(&d->ask_again, LOCK_AGAIN_MS);\n", "    if (a->status == LOCAL_LOCKED)\n        return;\n"),
    Mutant("the lock is never asked for", DRIVER, "    if (d->waits == NULL)\n        timer_set(&d->ask_again, LOCK_AGAIN_MS);\n", ""),
    Mutant("nobody is told that the wait is over", DRIVER, "    d->base.waits = NULL;\n    if (", "    d->base.waits = NULL;\n    if (!waited && "),
    Mutant("the wait is never over", DRIVER, "    d->base.waits = NULL;\n    if (", "    if ("),
    Mutant("who waits is not known", DRIVER, "    d->base.waits = d->waits;\n", ""),
    Mutant("who has no lock reloads", WRITE, "if (a->status == LOCAL_LOCKED || a->status == LOCAL_LOST ||", "if (a->status == LOCAL_LOST ||"),
))
