"""The configuration engine: one document for all HAProxies (configuration/), validated and written (haproxy/dataplane/replacement)."""

from .mutant import Mutant, Room

ENGINE = "configuration/configuration.c"
TARGET = "configuration/target.c"
RUNS = "configuration/target_runs.c"
BY_RUNTIME_FILE = "configuration/target_runtime.c"
RESTORE = "configuration/target_restore.c"
RETRY = "configuration/retry.c"
ANNOTATE = "kube/annotate.c"
REPORT = "daemon/config/config_report.c"
OPERATOR = "daemon/config/operator_metrics.c"
FILES_OF_TARGET = "configuration/target_files.c"
STORE = "configuration/store.c"
CONTENT = "configuration/store_content.c"
FOLLOWED = "configuration/file_source.c"
PATHS = "host/path_watch.c"
FOLDER = "configuration/files_folder.c"
STORAGE = "haproxy/dataplane/storage.c"
CHECK = "haproxy/dataplane/storage_check.c"
MAP = "haproxy/storage_map.c"
LIST = "haproxy/storage_list.c"
FILES = "haproxy/storage_files.c"
REPLACEMENT = "haproxy/dataplane/replacement.c"
KEEP = "configuration/keep.c"
LOCKOUT = "configuration/lockout.c"
TEXT = "haproxy/validation_text.c"
READ = "haproxy/instance_read.c"
PACE = "haproxy/pace.c"

SETTINGS = (
    Mutant("a file's path that is none is none, too", "settings/parse.c", " &&\n        !setting_is_given(s, SETTING(config_file)))", ")"),
    Mutant("the trust store of a program in Go is told beside a CA file", "settings/parse.c", "s->dataplane_ca_file != NULL || s->dataplane_insecure || ", "s->dataplane_insecure || "),
    Mutant("a Secret's name that is none is none, too", "settings/parse.c", "== NULL && !setting_is_given(s, needed[i]))", "== NULL)"),
)

FREED = (
    Mutant("a secret behind a NUL stays", "base/mem.c", "    mem_wiping_free(secret); ", "    if (secret != NULL)\n        explicit_bzero(secret, strlen(secret));\n    free(secret); "),
)

WITH_FILES = (
    Mutant("files do not wait for the interval", TARGET, "bool early = (part == STORAGE_ADD && soon) ||", "bool early ="),
    Mutant("files that HAProxy has half of wait for a pause", TARGET, "(retries || urgent);", "retries;"),
    Mutant("files of what another one rejects are added", FILES_OF_TARGET, "(begun && t->own == NULL && configuration_rejected(t->of));", "false;"),
    Mutant("what lost its files is valid all the same", FILES_OF_TARGET, "    if (begun)\n        t->progress = PROGRESS_NEW;\n", ""),
    Mutant("what a reload loaded of files that went back runs on", FILES_OF_TARGET,
           "if (target_files_were_loaded(t, s))", "if (target_files_were_loaded(t, s) && false)"),
    Mutant("a reload that was under way loads no files", FILES_OF_TARGET, "t->files_met_reload || instance_view", "instance_view"),
    Mutant("a reload for something else loads no files", FILES_OF_TARGET,
           " || instance_view(t->in).reloads != t->files_reloads;", ";"),
    Mutant("the last document's files alone may have been loaded", FILES_OF_TARGET, "    if (!t->files_changed) {\n", "    if (t->part != STORAGE_BACK) {\n"),
    Mutant("a document waits for a pause of the one before", "configuration/configuration.c", "t = waited ? NULL : target_next(c, NULL);", "t = NULL;"),
    Mutant("one that waits ends each pause", "configuration/configuration.c", "t = waited ? NULL : target_next(c, NULL);", "t = target_next(c, NULL);"),
    Mutant("files that went back are there", FILES_OF_TARGET, "        target_files_go_back(t);\n", ""),
    Mutant("files of what cannot be loaded stay", FILES_OF_TARGET, "t->progress == PROGRESS_RESTORING || t->restores ||", ""),
    Mutant("the next one does not wait for what is half way", FILES_OF_TARGET, "(ends || sent) && !t->of->paused", "false && !t->of->paused"),
    Mutant("a write under way is not half way", FILES_OF_TARGET, "(ends || sent)", "ends"),
    Mutant("the next one waits for ever", ENGINE, "    configuration_take_next(c);\n", ""),
    Mutant("a write without an answer was none", TARGET, "bool lost = t->writing == d && t->unloaded && !t->needs_verdict;", "bool lost = false;"),
    Mutant("what could not be told was written", TARGET, "bool lost = t->writing == d && t->unloaded && !t->needs_verdict;", "bool lost = t->writing == d && t->unloaded;"),
    Mutant("what was written waits for files of the next", TARGET, "        if (early)\n            target_load(t, &v, ret);\n", ""),
    Mutant("what was written waits for one that is rejected", TARGET,
           "without its files */\n        target_load(t, &v, ret);\n", "without its files */\n"),
    Mutant("files of an earlier run are added once more", TARGET, "    t->files = FILES_DONE; /* as it put them then: they are looked at as any others */\n", ""),
    Mutant("a version with files is none to go back to", RESTORE, "return v != NULL ? store_document", "return v != NULL && !v->with_files ? store_document"),
    Mutant("superseded, the one before it runs", RUNS, "        t->runs[0] = '\\0';\n", "        ;\n"),
    Mutant("superseded, it runs with files that may be half there", RUNS, "if (loaded && !d->with_files) {", "if (loaded) {"),
)

PACING = (
    Mutant("a new document has the pauses of the old one's repairs", TARGET, "    t->repairs = 0;\n    t->repair_after_ms = 0;\n", ""),
    Mutant("repairs follow at once", TARGET, "(t->repairs > 0 ? pause : 0)", "0"),
    Mutant("it runs since it was looked at", RUNS, "    if (!str_eq(t->runs, d->hash)) {", "    if (true) {"),
    Mutant("a rollback needs no source", ENGINE, "    if (c->from_source[0] == '\\0')\n", "    if (false)\n"),
)

ENGINE_MUTANTS = (
    Mutant("a rejection by one stops none", ENGINE, "        if (t->progress == PROGRESS_REJECTED || t->progress == PROGRESS_RESTORING || t->progress == PROGRESS_RESTORED)\n            return false;\n", ""),
    Mutant("none waits for the others", ENGINE, "if (t->progress == PROGRESS_NEW && !target_is_valid(t) && (!t->away || c->options.require_all))", "if (false)"),
    Mutant("all are always waited for", ENGINE, "(!t->away || c->options.require_all)", "true"),
    Mutant("a dry run writes", ENGINE, "return !c->options.dry_run && !c->paused;", "return !c->paused;"),
    Mutant("what is paused is written", ENGINE, "return !c->options.dry_run && !c->paused;", "return !c->options.dry_run;"),
    Mutant("what was validated once is never validated again", TARGET, "    t->progress = PROGRESS_NEW;\n    t->files = ", "    t->progress = t->progress == PROGRESS_NEW ? PROGRESS_NEW : PROGRESS_VALID;\n    t->files = "),
    Mutant("nothing is loaded", TARGET, "bool loads = v->dirty && !t->of->options.dry_run;", "bool loads = false;"),
    Mutant("what cannot be loaded stays", RESTORE, "    t->restores = true;\n", ""),
    Mutant("what is superseded and cannot be loaded stays", RESTORE, "        return latest || t->unloaded;", "        return latest;"),
    Mutant("what an earlier run could not load stays", RESTORE, "    t->good = cfg_content_ref(d->content);\n", "    return false;\n"),
    Mutant("what goes back is forgotten with a new document", TARGET, "write = t->restores || (", "write = t->progress == PROGRESS_RESTORING || ("),
    Mutant("it is written while a reload is under way", TARGET, "bool loading = write && v.reload == RELOAD_PENDING;", "bool loading = false;"),
    Mutant("the wrong file goes back", TARGET, "target_text(t, restores ? t->good : t->asked->content)", "target_text(t, restores ? t->of->document->content : t->asked->content)"),
    Mutant("a lockout is sent", TARGET, "else if (!t->of->options.allow_lockout && is != NULL", "else if (false && is != NULL"),
    Mutant("a lockout is never wanted", TARGET, "else if (!t->of->options.allow_lockout && is != NULL", "else if (is != NULL"),
    Mutant("what was asked about an older document counts", TARGET, "    if (asked != target_document(t)) {", "    if (false) {"),
    Mutant("applied before it runs", RUNS, "if (d == NULL || !instance_at_rest(t->in) || ", "if (d == NULL || "),
    Mutant("applied while a reload before the start is under way", RUNS, " || !instance_view(t->in).last_reload_known)\n        return;", ")\n        return;"),
    Mutant("what is superseded is not known to run", RUNS, "    target_superseded(t);\n", ""),
    Mutant("what was sent last is taken for what runs", RUNS, "bool loaded = target_file_means(t, d->content);", "bool loaded = true;"),
    Mutant("a lost reload is a rejection", RESTORE, "if (lost || c->document == NULL", "if (c->document == NULL"),
    Mutant("applied is never said where a reload was awaited", TARGET, "                                      .reloads_known = target_concluded", "                                      .reloads_known = NULL"),
    Mutant("a rejection is one of any files", "configuration/document.c", "    if (d->files.count == 0)\n        return;\n", "    return;\n"),
    Mutant("a rejection is forgotten by a restart", TARGET, "    if (t->progress != PROGRESS_NEW || message == NULL)\n        return;\n", "    return;\n"),
    Mutant("another version of HAProxy is not asked", TARGET, "if (t->progress == PROGRESS_REJECTED && !str_eq(t->judge, haproxy))", "if (false)"),
    Mutant("what is rejected is not kept", TARGET, "    store_reject(t->of->options.store,", "    if (false)\n        store_reject(t->of->options.store,"),
    Mutant("SIGHUP asks nobody again", TARGET, "    store_forget_rejections(t->of->options.store, d->id, target_name(t));\n", ""),
    Mutant("drift is not seen", TARGET, "    if (o->drift == CONFIGURATION_DRIFT_IGNORE)\n        return;\n", "    return;\n"),
    Mutant("drift is told with each reading", TARGET, "    if (news) {", "    if (true) {"),
    Mutant("drift is never ignored", TARGET, "if (o->drift == CONFIGURATION_DRIFT_IGNORE)", "if (false)"),
    Mutant("drift is always repaired", TARGET, "bool repair = target_may_repair(t);", "bool repair = true;"),
    Mutant("drift of an earlier run is not seen", TARGET, "!t->unloaded && store_ran(t->of->options.store, target_document(t), target_name(t));", "false;"),
    Mutant("what is as it was again stays drifted", TARGET, "t->progress == PROGRESS_VALID || t->progress == PROGRESS_DRIFTED) {", "t->progress == PROGRESS_VALID) {"),
    Mutant("what ran is no version", RUNS, "    store_applied(t->of->options.store, d, target_name(t));\n", ""),
    Mutant("nothing waits for CONFIG_MIN_INTERVAL", ENGINE, "return !c->begun && now_ms < c->not_before_ms;", "return false;"),
    Mutant("what was begun waits, too", ENGINE, "return !c->begun && now_ms < c->not_before_ms;", "return now_ms < c->not_before_ms;"),
    Mutant("what failed before keeps a new document waiting", TARGET, "    if (t->in != NULL)\n        target_begin_anew(t, clock_mono_ms());\n", ""),
    Mutant("documents that change all the time set the pace", TARGET, "t->anew_ms != 0 ? t->anew_ms + t->of->options.min_interval_ms : 0;", "0;"),
    Mutant("what cannot be used is said with each reading", ENGINE, "if (c->problem.kind != ERROR_NONE && str_eq(c->problem.message, err->message))", "if (false)"),
    Mutant("another thing that is wrong is not said", ENGINE, "if (c->problem.kind != ERROR_NONE && str_eq(c->problem.message, err->message))", "if (c->problem.kind != ERROR_NONE)"),
    Mutant("a rollback ends with the daemon", ENGINE, "struct document *held = number != 0 ?", "struct document *held = false ?"),
    Mutant("a rollback never ends", ENGINE, "    if (held == NULL)\n        store_release(c->options.store);\n", ""),
    Mutant("a rollback holds nothing", ENGINE, "    store_hold(c->options.store, c->from_source, number, NULL);\n", ""),
    Mutant("another file is taken for the one before", TARGET, "    t->compared = t->compared && same;\n", ""),
    Mutant("another document is taken for the one before", TARGET, "t->compared = t->away = t->unchanged = false;", "t->away = t->unchanged = false;"),
)

# Without a reload.
BY_RUNTIME = (
    Mutant("a map loses at once what a haproxy.cfg from before needs", FILES_OF_TARGET, "return t->effect == CFG_EFFECT_NONE && target_by_runtime(t)", "return target_by_runtime(t)"),
    Mutant("a map loses at once what a HAProxy that runs something else needs", FILES_OF_TARGET, "NONE && target_by_runtime(t) &&", "NONE &&"),
    Mutant("a map loses at once what another HAProxy is to judge", FILES_OF_TARGET, "target_is_alone(t) && !canary", "!canary"),
    Mutant("a map loses at once what waits for a canary", FILES_OF_TARGET, " && !canary_goes_on(t->of);", ";"),
    Mutant("a map is written twice where nobody needs its lines", FILES_OF_TARGET, "ret->alone = t->part == STORAGE_ADD && ", "ret->alone = false && "),
    Mutant("a map that a reload came before never loses its lines", "configuration/target_runs.c",
           "if (t->progress == PROGRESS_WRITTEN && t->files == FILES_ADDED)", "if (false)"),
    Mutant("a map that lost its lines after a reload runs", "configuration/target_runs.c",
           "        t->tells = true; /* a reload came", "        return; /* a reload came"),
    Mutant("what another writer put there is known to run", BY_RUNTIME_FILE, "!t->file_runs && (!v.loaded || target_is_same_version(t))", "false && target_is_same_version(t)"),
    Mutant("what an earlier daemon noted as loaded is not known to run", BY_RUNTIME_FILE, "!t->file_runs && (!v.loaded || target_is_same_version(t))", "!t->file_runs && (true || target_is_same_version(t))"),
    Mutant("files that are to come cost nothing", BY_RUNTIME_FILE, "    if (status == 0)\n        status = target_foresee_files(t, err);\n", ""),
    Mutant("files are foreseen for a HAProxy that runs something else", BY_RUNTIME_FILE, "    if (stores && why != NULL)\n", "    if (false)\n"),
    Mutant("files that are deleted are foreseen as loaded", BY_RUNTIME_FILE, "    if (stores && why != NULL)\n", "    if (why != NULL)\n"),
    Mutant("what a reload loads is foreseen as told", BY_RUNTIME_FILE, "        storage_foresight_load(&t->foresight);\n", "        (void)0;\n"),
    Mutant("what takes a reload is foreseen as commands", BY_RUNTIME_FILE, "d->effect == CFG_EFFECT_RELOAD ? d->why :", "false ? d->why :"),
    Mutant("what was written and not loaded runs", BY_RUNTIME_FILE, "return t->restores || v.dirty  ", "return t->restores "),
    Mutant("while it is loaded it runs", BY_RUNTIME_FILE, ": !instance_at_rest(t->in) ", ": false "),
    Mutant("nothing goes without a verdict", BY_RUNTIME_FILE, "t->files != FILES_NEW && !t->away &&", "false &&"),
    Mutant("one of several gets what another might refuse", BY_RUNTIME_FILE, "(target_is_alone(t) || target_is_plain(t)) &&", "true &&"),
    Mutant("files are plain", BY_RUNTIME_FILE, "return t->effect == CFG_EFFECT_RUNTIME && !t->files_changed;", "return t->effect == CFG_EFFECT_RUNTIME;"),
    Mutant("all is validated", BY_RUNTIME_FILE, "|| is_written || target_needs_no_verdict(t);", "|| is_written;"),
    Mutant("a map that alone is another is loaded", BY_RUNTIME_FILE, "    t->tells = true;\n}", "    t->tells = false;\n    t->unloaded = true;\n    instance_must_reload(t->in);\n}"),
    Mutant("files that were not told run", BY_RUNTIME_FILE, "    t->unloaded = t->needs_verdict = true;\n", "    t->needs_verdict = true;\n    return;\n"),
    Mutant("it runs before its files are told", RUNS, "    if (t->tells && t->files_changed)\n        return;", "    if (false)\n        return;"),
    Mutant("what it ran is not known", RUNS, "    t->running_version = t->version;\n    t->file_runs = true;", "    t->running_version = t->version;\n    cfg_content_unref(t->running);\n    t->running = NULL;"),
)

KEEPING = (
    Mutant("who forgets one's rejection forgets all", STORE, "str_eq(s->refusals[i].hash, hash) && str_eq(s->refusals[i].url, url))\n            store_drop", "str_eq(s->refusals[i].hash, hash))\n            store_drop"),
    Mutant("numbers begin anew", STORE, ".number = s->last_number + 1,", ".number = (unsigned)s->count,"),
    Mutant("every version is kept", CONTENT, "        unlinkat(fd, name, 0);\n    }", "    }"),
    Mutant("a text that was cut is used", CONTENT, "    if (!str_eq(hash, text_hash)) {", "    if (false) {"),
    Mutant("any HAProxy rejects it", STORE, "str_eq(r->url, url) && str_eq(r->haproxy, haproxy))", "str_eq(r->url, url))"),
    Mutant("a target's name is enough", STORE, "    return s->count > 0 && str_eq(s->entries[0].v.id, d->id) && store_has", "    return s->count > 0 && store_has"),
    Mutant("who leads next has what he read at start", STORE, "    store_forget(s);\n    store_load(s);\n    return true;", "    return true;"),
    Mutant("who leads no more keeps the folder", STORE, "        flock(s->lock, LOCK_UN);\n", "        ;\n"),
    Mutant("two daemons for one folder", STORE, "if (flock(s->lock, LOCK_EX | LOCK_NB) != 0)", "if (false)"),
    Mutant("anybody reads it", STORE, "mkdir(s->folder, 0700)", "mkdir(s->folder, 0755)"),
    Mutant("what cannot be written is lost", STORE, "    e->kept = document_ref(d);\n", ""),
    Mutant("files that were changed are used", CONTENT, "    if (d != NULL && !str_eq(d->id, v->id)) {", "    if (false) {"),
    Mutant("files are not kept", CONTENT, "return d->with_files ? store_content_put_files(fd, number, d) : 0;", "return 0;"),
    Mutant("a rollback of something else", STORE, "return s->held != 0 && str_eq(s->held_from, from_hash) ? s->held : 0;", "return s->held;"),
    Mutant("rejections without end", STORE, "    if (s->refusal_count == STORE_REJECTIONS)\n        store_drop_refusal(s, 0);\n", "    if (s->refusal_count == STORE_REJECTIONS)\n        return;\n"),
)

# Server lines that are not the document's.
KEPT = (
    Mutant("lines are sent as they were a version ago", TARGET, "(t->version != v.version || t->file->len == 0)", "(t->file->len == 0)"),
    Mutant("what failed to load is the good one", RESTORE, "bool runs = !t->unloaded && !v.dirty && v.reload != RELOAD_PENDING;", "bool runs = true;"),
    Mutant("a document waits for quiet", TARGET, "        ret->overdue = v.may_write && !waits && t->file->len > 0;\n", ""),
    Mutant("server lines of others are the document's", TARGET, "if (t->of->options.keep.count == 0 || text == NULL)", "if (true)"),
    Mutant("a document may have them", TARGET, "if (keep_check(wanted, &t->of->options.keep, &err) != 0)", "if (false && keep_check(wanted, &t->of->options.keep, &err) != 0)"),
    Mutant("a document with them is as the file is", TARGET, "    target_remember(t);\n    target_check(t);\n    target_compare(t);\n    target_go_on(t);\n}", "    target_remember(t);\n    target_compare(t);\n    target_check(t);\n    target_go_on(t);\n}"),
    Mutant("a missing backend is not said", KEEP, "        if (!there[i])\n", "        if (false)\n"),
    Mutant("what the user keeps is kept from him", KEEP, "(b->manages == NULL || b->manages(b->arg, cfg_word(l, 1), keep_is_backup(l)))", "true"),
    Mutant("an argument makes a backup server", KEEP, "        i += k != NULL && cfg_keyword_takes_argument(k);\n", "        i += k == NULL && str_eq(\"\", \"x\");\n"),
    Mutant("a frontend has servers", KEEP, '(str_eq(s->kind, "backend") || str_eq(s->kind, "listen"))', "true"),
    Mutant("the lines of before stay", KEEP, "            cfg_edits_add(ret, line->number, CFG_EDIT_REMOVE, NULL, 0);\n", "            (void)line;\n"),
    Mutant("they stand before the backend's own lines", KEEP, "*last = s->line_count > 0 ? &s->lines[s->line_count - 1] : s->line;", "*last = s->line;"),
    Mutant("numbers are those of what was sent", "haproxy/validation_text.c", "    if (edits != NULL)\n", "    if (false)\n"),
)

NOT_LOCKED_OUT = (
    Mutant("the login may go", LOCKOUT, "    if (login->user != NULL)\n        lockout_check_users", "    if (login->user == NULL)\n        lockout_check_users"),
    Mutant("the login's password may change", LOCKOUT, "!str_eq(w->text, password)", "false"),
    Mutant("a variable is a password", LOCKOUT, "(w->plain || memchr(w->raw, '$', w->raw_len) == NULL)", "true"),
    Mutant("another user's password counts", LOCKOUT, "refused = !other && there", "refused = there"),
    Mutant("any userlist will do", LOCKOUT, "lockout_find(wanted, s->name, &users", "lockout_find(wanted, NULL, &users"),
    Mutant("any user will do", LOCKOUT, '"user") && str_eq(cfg_word(l, 1), name)', '"user") && name != NULL'),
    Mutant("a port is the way to HAProxy", LOCKOUT, "return path[0] == '/' ? path : NULL;", "return path;"),
    Mutant("another socket will do", LOCKOUT, "(path == NULL || str_eq(own, path))", "(path == NULL || own != NULL)"),
    Mutant("a socket without rights will do", LOCKOUT, "(!admin || lockout_is_admin(words))", "true"),
    Mutant("any program runs the API", LOCKOUT, "runs = runs || strstr(cfg_word(l, i), program) != NULL;", "runs = true;"),
    Mutant("master-worker may go", LOCKOUT, '    lockout_check_line(is, wanted, &keywords, "master-worker", "master-worker in global", &words, &missing);\n', ""),
)

FOLLOWING = (
    Mutant("who writes to it is not waited for", FOLLOWED, "    if (fresh && !told) {", "    if (false) {"),
    Mutant("it is never read without an event", FOLLOWED, "if (s->options.reread_ms > 0 && !s->options.once)", "if (false)"),
    Mutant("what is read once is followed", FOLLOWED, "    if (!s->options.once)\n        file_source_walk(s);\n", "    file_source_walk(s);\n"),
    Mutant("lost events are no matter", PATHS, "bool matters = (e->mask & IN_Q_OVERFLOW) != 0, any", "bool matters = false, any"),
    Mutant("a folder that is gone has no files", FOLDER, "    if (files_folder_is_there(path, err) != 0)\n        return -1;\n", ""),
    Mutant("links are not followed", PATHS, "links < LINKS_MAX ? readlink(here, target, sizeof(target) - 1) : -1", "-1"),
    Mutant("what is written to in its folder is no matter", PATHS, "last ? mask | IN_CLOSE_WRITE : mask", "mask"),
    Mutant("folders on the way are not followed", PATHS, "        path_watch_folder(w, done.len > 0 ? buf_str(&done) : \"/\", name, *behind == '\\0');\n", "        if (*behind == '\\0')\n            path_watch_folder(w, done.len > 0 ? buf_str(&done) : \"/\", name, true);\n"),
    Mutant("the same bytes are said again", FOLLOWED, "    if (str_eq(hash, s->hash))\n        return;\n", ""),
    Mutant("no name matters", PATHS, "matters = matters || e->len == 0 || str_eq(x->name, e->name);", "matters = matters || e->len == 0;"),
    Mutant("anything is a file", FOLLOWED, "fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)", "fstat(fd, &st) != 0"),
    Mutant("any size", FOLLOWED, "buf_init_secret(&text, s->options.max_bytes);", "buf_init_secret(&text, 0);"),
    Mutant("a file that is back is not said", FOLLOWED, "        s->hash[0] = '\\0';\n        s->callbacks.failed", "        s->callbacks.failed"),
)

REPLACING = (
    Mutant("a proxy's word is a rejection", REPLACEMENT, "return a->version > 0 ? TRANSACTION_REJECTED : TRANSACTION_UNAVAILABLE;", "return TRANSACTION_REJECTED;"),
    Mutant("any refusal is a rejection", REPLACEMENT, "if (result == TRANSACTION_REJECTED || (result", "if ((result"),
    Mutant("a validation may have written", REPLACEMENT, "(result == TRANSACTION_UNKNOWN && r->state == REPLACEMENT_VALIDATE)", "false"),
    Mutant("a page is an answer", REPLACEMENT, "bool good = transaction_is_success(a) && a->version > 0;", "bool good = transaction_is_success(a);"),
    Mutant("it goes back at the old version", REPLACEMENT, "    r->version = a->version;\n    if (a->reload_id != NULL) {", "    if (a->reload_id != NULL) {"),
    Mutant("what was harmed stays", REPLACEMENT, "return replacement_post(r, REPLACEMENT_RESTORE, replacement_as_sent(r->request.before, &r->own[1]));", "return replacement_done(r, TRANSACTION_HARMFUL);"),
    Mutant("a write says nothing of its load", REPLACEMENT, "    return r->state == REPLACEMENT_WRITE ||", "    return"),
    Mutant("what goes back is loaded, as it runs", REPLACEMENT, "(r->reload_id != NULL || r->actions.len > 0 ||\n", "(true ||\n"),
    Mutant("what goes back has no names", REPLACEMENT, "    *own = cfg_content_take(&text);\n    return *own;", "    *own = cfg_content_take(&text);\n    return c;"),
    Mutant("what goes back is not judged", REPLACEMENT, "    if (back)\n        return replacement_not_back", "    if (false)\n        return replacement_not_back"),
    Mutant("a write says the wrong version", REPLACEMENT, "REPLACEMENT_UNLOADED, r->version + 1);", "REPLACEMENT_UNLOADED, r->version);"),
    Mutant("what was loaded is taken for unloaded", REPLACEMENT, "return memmem(head, len, mark, strlen(mark)) != NULL;", "return memmem(head, len, \"is loaded by\", 12) != NULL;"),
    Mutant("the write is loaded at once", REPLACEMENT, '"only_validate" : "skip_reload"', '"only_validate" : "force_reload"'),
    Mutant("lines of the file as the API writes it are the user's", REPLACEMENT, "r->request.edits, !validates);", "r->request.edits, false);"),
    Mutant("the line is not named", TEXT, "        else if (line > 0)\n            validation_say_line", "        else if (false)\n            validation_say_line"),
    Mutant("what says nothing is shown", TEXT, "if (validation_says_nothing(says) || !text_list_next(&all))\n            continue;\n        if (line > 0 && rewritten)", "if (!text_list_next(&all))\n            continue;\n        if (line > 0 && rewritten)"),
)

STORING = (
    Mutant("a certificate of another size is as it was put", CHECK, "(size_t)size != f->len)", "false)"),
    Mutant("any certificate is as it was put", CHECK, "|| pem_has_serial(f->bytes, serial);", "|| true;"),
    Mutant("what is not told differs", CHECK, "!= 0 || serial[0] == '\\0' ||", "!= 0 ||"),
    Mutant("each run writes all files", STORAGE, "if (e == NULL || storage_is_put(e, f))", "if (e == NULL)"),
    Mutant("what is there is not compared", STORAGE, "bool same = s->was_read && s->now.len", "bool same = false && s->now.len"),
    Mutant("a map loses lines before the configuration", STORAGE, "s->whole = !(grows && e->present) ||", "s->whole = true ||"),
    Mutant("a map that changes alone is written twice", STORAGE, " && !s->request.alone;", ";"),
    Mutant("the list comes after the files", STORAGE, "    if (add && !s->announced)\n        return storage_send_list(s, STORAGE_ANNOUNCE, storage_list_text(&s->entries, s->request.files));\n", ""),
    Mutant("the list says that what changes runs", LIST, "&& !e->changed && (f == NULL || str_eq(f->hash, e->hash));", ";"),
    Mutant("what a killed run changed is never loaded", LIST, "        e->changed = strlen(hash) + 1 != sizeof(e->hash); /* by a run that did not come to its end */\n        if (!e->changed)", "        if (strlen(hash) + 1 == sizeof(e->hash))"),
    Mutant("files of others are deleted", STORAGE, "            e->found = true;\n", ""),
    Mutant("files of others are deleted by another run", LIST, '        e->found = str_eq(how, "found");\n', ""),
    Mutant("a file that is gone is as it was put", CHECK, "bool same = e->present && storage_is_as_put(s, f);", "bool same = !e->present || storage_is_as_put(s, f);"),
    Mutant("any bytes are as they were put", CHECK, "return s->now.len == len && memcmp(buf_str(&s->now), bytes, len) == 0;", "return true;"),
    Mutant("an empty map differs", CHECK, "bool empty = f->len == 0 && f->place == STORAGE_MAP; /*", "bool empty = false; /*"),
    Mutant("what differs is not written anew", CHECK, "    e->hash[0] = '\\0';\n    if (s->differing++ == 0)", "    (void)e;\n    if (s->differing++ == 0)"),
    Mutant("what was added for nothing stays", STORAGE, "        if (e->changed && e->added)\n            return storage_delete(s, e);\n", ""),
    Mutant("what ran is deleted, too", STORAGE, "e->added = !back && (e->added || !e->present);", "e->added = !back;"),
    Mutant("what runs is deleted with what does not", LIST, "    e->changed = e->added = false;\n", "    e->changed = false;\n"),
    Mutant("what was deleted is the daemon's for ever", STORAGE, "    if (s->deleted == 0)\n        return storage_done(s, TRANSACTION_COMMITTED);\n    /*", "    if (true)\n        return storage_done(s, TRANSACTION_COMMITTED);\n    /*"),
    Mutant("nothing goes back", STORAGE, "if (!e->changed || e->good == NULL)", "if (true)"),
    Mutant("what was gone is not noticed", STORAGE, "        s->entries.list[i].present = false;\n", ""),
    Mutant("what is in use stops the rest", STORAGE, "        s->in_use++;\n        s->at++;\n        return storage_next(s);", "        s->in_use++;\n        return storage_done(s, TRANSACTION_COMMITTED);"),
    Mutant("a page is an answer of the storage", STORAGE, "bool ours = a->error == NULL && a->version >= 0;", "bool ours = a->error == NULL;"),
    Mutant("an empty map is sent", STORAGE, "if (len == 0 && place == STORAGE_MAP) {", "if (false) {"),
    Mutant("a map gains a second line of a key", MAP, "        if (map_has(&is, e, map_entry_order_of_keys))\n            continue;\n", ""),
    Mutant("a key becomes a comment", MAP, "buf_add(ret, *e->key == '#' ? \" \" : \"\");", ""),
    Mutant("lines run into each other", MAP, "    if (ret->len > 0 && ret->data[ret->len - 1] != '\\n')\n        buf_add(ret, \"\\n\");\n", ""),
)

NAMING = (
    Mutant("dots stay", FILES, "            *c = '_';\n", "            *c = '.';\n"),
    Mutant("a map has any name", FILES, 'place == STORAGE_MAP && !str_has_suffix(name, ".map") ? ".map" : ""', '""'),
    Mutant("two files of one name", FILES, "    if (same != NULL)\n", "    if (false)\n"),
    Mutant("the daemon's list is anybody's", FILES, "if (new->place == STORAGE_GENERAL && str_eq(new->stored, STORAGE_LIST))", "if (false)"),
    Mutant("a long line of a map", FILES, "if (len > MAP_LINE_MAX_BYTES)", "if (false)"),
    Mutant("any key is known to the API", FILES, "f->place = common ? STORAGE_CERTIFICATE : STORAGE_GENERAL;", "f->place = STORAGE_CERTIFICATE;"),
    Mutant("any number of bytes", FILES, "if (f->bytes + new->len > STORAGE_FILES_MAX_BYTES)", "if (false)"),
)

KNOWN = (
    Mutant("what is known is parsed again", FILES, "if (known != NULL && storage_known_find(known, f->hash, &f->place))", "if (known != NULL && false)"),
    Mutant("what was not asked for is known for ever", "haproxy/storage_known.c", "        if (!c->asked) {\n", "        if (false) {\n"),
    Mutant("what is found was not asked for", "haproxy/storage_known.c", "    c->asked = true;\n    *ret_place = c->place;", "    *ret_place = c->place;"),
)

TELLING = (
    Mutant("annotations of others are overwritten", ANNOTATE, '    json_put_text(doc, metadata, "resourceVersion", version);\n', ""),
    Mutant("a conflict is no conflict", ANNOTATE, "r->status == 409 ? ANNOTATE_CONFLICT :", ""),
    Mutant("a right that is missing comes with time", ANNOTATE, "r->status == 403 ? ANNOTATE_DENIED :", ""),
    Mutant("any answer is a success", ANNOTATE, "r->status >= 200 && r->status <= 202", "r->status >= 200"),
    Mutant("credentials are kept", ANNOTATE, "    kube_client_note_answer(a->client, r, failure);\n", ""),
    Mutant("a request outlives its annotator", ANNOTATE, "    http_cancel(a->request);\n", ""),
    Mutant("applied by one is applied", REPORT, "bool applied = trouble == NULL && running == targets;", "bool applied = trouble == NULL && running > 0;"),
    Mutant("unchanged is not running", REPORT, "config_report_count(r, CONFIGURATION_APPLIED) + config_report_count(r, CONFIGURATION_UNCHANGED)", "config_report_count(r, CONFIGURATION_APPLIED)"),
    Mutant("all is written again", REPORT, "    if (!differs)\n        return;\n", ""),
    Mutant("what is on its way is written again", REPORT, "    if (str_eq(r->written_version, o->version))\n        return;\n", ""),
    Mutant("the same is told again", REPORT, "if (reason == EVENT_NONE || str_eq(text, t->text))", "if (reason == EVENT_NONE)"),
    Mutant("a dry run tells", REPORT, "    if (!r->options.dry_run)\n        events_tell", "    events_tell"),
    Mutant("a dry run writes annotations", REPORT, "if (options->kube != NULL && !options->dry_run)", "if (options->kube != NULL)"),
    Mutant("an API that is away stops HAProxy", REPORT, "!configuration_event_of_watch(e->kind) && !(failed && runs))", "!configuration_event_of_watch(e->kind))"),
    Mutant("a right that is missing is asked for again at once", REPORT, "outcome == ANNOTATE_DENIED ? DENIED_PAUSE_MS : backoff", "backoff"),
    Mutant("who leads no longer writes", REPORT, "    r->active = false;\n", ""),
    Mutant("a rejection waits", REPORT, "e->kind == CONFIGURATION_REJECTED || config_report_running", "config_report_running"),
    Mutant("what cannot be used has a hash", REPORT, "judged && r->hash != NULL ?", "trouble != NULL && r->hash != NULL ?"),
    Mutant("a rejection is never taken back", REPORT, "ret[FAILED] = applied ? mem_strdup(\"\") : ", "ret[FAILED] = "),
    Mutant("what went goes for ever", REPORT, "str_eq(value, has != NULL ? has : \"\")", "str_eq(value, has)"),
    Mutant("a failure has no class", REPORT, "        t->class = retry_class_name(retry_class_of(e->error));\n", "        t->class = \"Failed\";\n"),
    Mutant("what fails in the file fails before it", REPORT, "r->told[i].writing ? \"Apply\" : \"\"", "\"\""),
    Mutant("what fails before the file fails in it", REPORT, "t->writing = e->kind == CONFIGURATION_WRITING;", "t->writing = true;"),
    Mutant("certificates that are stored were applied", REPORT, "else if (!configuration_event_is_step(e->kind) && !configuration", "else if (!configuration"),
    Mutant("a map is a certificate", REPORT, "        if (e->document->files.list[i].kind == STORAGE_CERTIFICATE)\n", ""),
    Mutant("a request is a result", REPORT, "    if (kinds[e->kind].result == NULL)\n        return;\n", ""),
    Mutant("a write is a validation", OPERATOR, "e->kind == CONFIGURATION_WRITING ? \"apply\" : \"validate\"", "\"validate\""),
    Mutant("what is tried again is no transient error", OPERATOR, "    if (configuration_event_failed(e->kind))\n        metric_add(m->metrics[TRANSIENT]", "    if (false)\n        metric_add(m->metrics[TRANSIENT]"),
    Mutant("unchanged is no success", OPERATOR, "if (e->kind == CONFIGURATION_APPLIED || e->kind == CONFIGURATION_UNCHANGED)", "if (e->kind == CONFIGURATION_APPLIED)"),
    Mutant("a hash stays for ever", OPERATOR, "        metric_clear(m->metrics[HASH]);\n        metric_set", "        metric_set"),
    Mutant("drift ends by itself", OPERATOR, "drifted ? 0 : 1, m->source", "1, m->source"),
    Mutant("who leads no longer has a hash", OPERATOR, "    metric_clear(m->metrics[HASH]);\n    metric_clear(m->metrics[IN_SYNC]);\n", ""),
    Mutant("a gateway has a port", OPERATOR, "literal ? \"]\" : \":/\"", "literal ? \"]\" : \"/\""),
    Mutant("a CA is a client certificate", OPERATOR, "else if (str_eq(which, \"client\"))", "else"),
    Mutant("one that runs is all of them", REPORT, "bool applied = config_report_running(r) == config_report_targets(r);", "bool applied = config_report_running(r) > 0;"),
)

RETRYING = (
    Mutant("what was repaired by hand is replaced", RESTORE, "    t->restores = t->unloaded = false; /* what is there is his */\n", "    t->unloaded = false;\n"),
    Mutant("a repair is never replaced", RESTORE, "if (!t->restores || instance_view(t->in).behind || target_may_repair(t) ||", "if (!t->restores ||"),
    Mutant("what the API put back is a repair", RESTORE, " || target_file_means(t, t->good))", ")"),
    Mutant("what could not be loaded is a repair", RESTORE, "target_file_means(t, t->unloadable) || ", "false || "),
    Mutant("an attempt to write is one to validate", TARGET, "writes ? CONFIGURATION_WRITING : CONFIGURATION_VALIDATING", "CONFIGURATION_VALIDATING"),
    Mutant("files that are not stored are not told", FILES_OF_TARGET, "    if (!ok)\n        configuration_tell", "    if (false)\n        configuration_tell"),
    Mutant("any file is a certificate", FILES_OF_TARGET, "s->certificates > 0 && t->part", "t->part"),
    Mutant("what no class is made for is the server's", RETRY, "err->http_status >= 500 ? RETRY_SERVER", "true ? RETRY_SERVER"),
    Mutant("pauses do not grow", RETRY, "backoff_limit_ms(FIRST_MS, LONGEST_MS, number)", "backoff_limit_ms(FIRST_MS, LONGEST_MS, 0 * number)"),
    Mutant("pauses grow without end", RETRY, "backoff_limit_ms(FIRST_MS, LONGEST_MS, number)", "backoff_limit_ms(FIRST_MS, UINT64_MAX, number)"),
    Mutant("all come at one moment", RETRY, "limit - limit / 4 * (uint64_t)rand_r(&r->seed) / RAND_MAX", "limit"),
    Mutant("a pause is shorter than the first", RETRY, "return wait > FIRST_MS ? wait : FIRST_MS;", "return wait;"),
    Mutant("classes count together", RETRY, "r->attempts = r->class == class ? r->attempts : 0;", "r->attempts += 0;"),
    Mutant("a conflict waits", RETRY, "class == RETRY_CONFLICT ? CONFLICTS_AT_ONCE : silent ? 1 : 0", "silent ? 1 : 0"),
    Mutant("a lost answer waits", RETRY, "r->until_read = first && silent;", "r->until_read = false;"),
    Mutant("a connection that is always lost never waits", RETRY, "r->until_read = first && silent;", "r->until_read = silent;"),
    Mutant("Retry-After is not obeyed", RETRY, "if (r->ordered && (uint64_t)retry_after_ms > wait)", "if (false)"),
    Mutant("Retry-After is obeyed alone", RETRY, "if (r->ordered && (uint64_t)retry_after_ms > wait)", "if (r->ordered)"),
    Mutant("an API that is back ends a Retry-After", RETRY, "    r->until_read = !r->ordered;\n", "    r->until_read = true;\n"),
    Mutant("new bytes end a Retry-After", RETRY, "    if (!r->ordered)\n        retry_forget(r);\n", "    retry_forget(r);\n"),
    Mutant("any reading ends a pause", RETRY, "    if (!r->until_read)\n        return;\n", ""),
    Mutant("429 is an error of the server", RETRY, "err->http_status == 429 ? RETRY_RATE_LIMITED", "false ? RETRY_RATE_LIMITED"),
    Mutant("TLS is the connection", RETRY, "err->kind == ERROR_INVALID ? RETRY_TLS : RETRY_CONNECTION", "RETRY_CONNECTION"),
    Mutant("the engine does not wait", TARGET, "now < t->repair_after_ms || !retries)", "now < t->repair_after_ms)"),
    Mutant("nothing wakes it after a pause", TARGET, "    engine_sooner(&due, t->retry.not_before_ms, now_ms);\n", ""),
    Mutant("a success forgets no failure", TARGET, "        retry_forget(&t->retry);\n    else\n        retry_failed(&t->retry, &r->error", "        ;\n    else\n        retry_failed(&t->retry, &r->error"),
    Mutant("new bytes wait", TARGET, "    retry_new_document(&t->retry);\n", ""),
    Mutant("an operator waits", TARGET, "    retry_forget(&t->retry);\n    if (t->progress == PROGRESS_REJECTED)", "    if (t->progress == PROGRESS_REJECTED)"),
    Mutant("an API that is back waits", TARGET, "    retry_unreadable(&t->retry);\n", ""),
    Mutant("one that waits keeps the others waiting", TARGET, "    t->away = retry_waits(&t->retry, clock_mono_ms());\n", "    t->away = false;\n"),
    Mutant("a reading that fails has no class", ENGINE, "    return retry_class_of(problem);\n", "    return RETRY_NONE;\n"),
    Mutant("files are never checked", FILES_OF_TARGET, "bool check = runs &&", "bool check = false &&"),
    Mutant("files are checked without end", FILES_OF_TARGET, "    t->files_unchecked = false;\n", ""),
    Mutant("files that drifted are as they were with the next reading", TARGET, "    if (t->progress == PROGRESS_DRIFTED && t->files_drifted)\n        return;\n", ""),
    Mutant("files that are as they were stay drifted", FILES_OF_TARGET, "    } else if (t->files_drifted) {\n", "    } else if (false) {\n"),
    Mutant("files are repaired by any policy", FILES_OF_TARGET, "bool repair = target_may_repair(t);", "bool repair = true;"),
    Mutant("drift of files is never ignored", FILES_OF_TARGET, "    if (o->drift == CONFIGURATION_DRIFT_IGNORE)\n        return;\n", ""),
    Mutant("drift of files is told each time", FILES_OF_TARGET, "bool news = !t->files_drifted || !str_eq(why.message, t->why.message);", "bool news = true;"),
    Mutant("what could not be stored is tried at once", TARGET, "(retries || urgent)", "true"),
    Mutant("files of what is rejected stay", FILES_OF_TARGET, "back = t->files_changed && nothing;", "back = false;"),
    Mutant("drift is repaired while paused", TARGET, "CONFIGURATION_DRIFT_REPAIR && configuration_writes(t->of);", "CONFIGURATION_DRIFT_REPAIR && !t->of->options.dry_run;"),
    Mutant("drift that was left while paused stays", ENGINE, "            target_compare(t); /*", "            ; /*"),
    Mutant("a pause of before is for ever", ENGINE, "    store_pause(c->options.store, paused); /* which an earlier run may have said */\n    if (paused == c->paused)\n        return;\n", "    if (paused == c->paused)\n        return;\n    store_pause(c->options.store, paused);\n"),
    Mutant("lines of drift are not logged", TARGET, "        target_log_lines(t);\n", ""),
    Mutant("how many more lines differ is not said", TARGET, "log_if(i + 1 == CFG_LINE_DIFFERENCE_MAX && differs.count > i + 1,", "log_if(false,"),
)

INTERRUPTED = (
    Mutant("what was written and not loaded is taken for running", READ, "!in->readout.unloaded)\n        return;", "!in->readout.unloaded || in->version > 0)\n        return;"),
    Mutant("what is loaded is loaded at each reading", READ, "in->reload.state == RELOAD_PENDING || !in->readout.unloaded)", "in->reload.state == RELOAD_PENDING)"),
)

OLD_WORKER = (
    Mutant("an old worker's answer is the end of a reload", READ, "    if (instance_old_worker_answers(in))\n        return;\n", ""),
    Mutant("an old worker is waited for without end", READ, "end->readings++ >= OLD_WORKER_REREADS)", "false)"),
)

LOADED = (
    Mutant("it is known at once how reloads ended", "haproxy/instance_reload.c", "    else if (in->last_reload.known)\n        ENGINES_DO(in, reloads_known);", "    else\n        ENGINES_DO(in, reloads_known);"),
    Mutant("what a reload before the start loaded is not read", "haproxy/instance_reload.c", "    if (first && in->last_reload.known && in->last_reload.polls > 0)", "    if (false)"),
    Mutant("what the API forgot was refused", "haproxy/instance_reload.c", "ENGINES_DO(in, reload_failed, lost);", "ENGINES_DO(in, reload_failed, false);"),
    Mutant("no reload is ever refused", "haproxy/instance_reload.c", "instance_reload_failed(in, &r->error, false, false);", "instance_reload_failed(in, &r->error, true, false);"),
)

PAUSES = (
    Mutant("conflicts keep new bytes waiting", PACE, "p->quiet_until_ms = p->failed_until_ms = now_ms + backoff_next_ms(&p->backoff);\n    return false;", "p->quiet_until_ms = now_ms + backoff_next_ms(&p->backoff);\n    return false;"),
    Mutant("an API without room keeps new bytes waiting", PACE, "if (p->no_room && p->transaction_after_ms > room_ms)", "if (false)"),
    Mutant("an API's Retry-After counts no more for room", PACE, "uint64_t room_ms = when_ms > p->asked_room_until_ms ? when_ms : p->asked_room_until_ms;", "uint64_t room_ms = when_ms;"),
    Mutant("pauses do not grow", PACE, "    uint64_t wait_ms = backoff_next_ms(&p->backoff);\n    if (harmless", "    uint64_t wait_ms = 400;\n    if (harmless"),
    Mutant("something else waits as long", PACE, "p->quiet_until_ms = p->failed_until_ms = until_ms;", "(void)until_ms;"),
    Mutant("pauses go on where they were", PACE, "    backoff_reset(&p->backoff);\n    pace_write_sooner(p, when_ms);", "    pace_write_sooner(p, when_ms);"),
    Mutant("the API is not left alone", PACE, "uint64_t until_ms = when_ms > p->asked_until_ms ? when_ms : p->asked_until_ms;", "uint64_t until_ms = when_ms;"),
    Mutant("every pause ends", PACE, "if (p->quiet_until_ms == p->failed_until_ms && p->quiet_until_ms > until_ms)", "if (p->quiet_until_ms > until_ms)"),
    Mutant("a pause is made longer", PACE, "p->quiet_until_ms == p->failed_until_ms && p->quiet_until_ms > until_ms)", "p->quiet_until_ms == p->failed_until_ms)"),
)

# Files, while nothing may be written.
LOOKED_AT = (
    Mutant("a dry run judges without the files", "configuration/target_files.c", "bool quiet = t->of->options.dry_run || t->of->paused;", "bool quiet = t->of->paused;"),
    Mutant("what is paused is not judged with the files that are there", "configuration/target_files.c", "bool quiet = t->of->options.dry_run || t->of->paused;", "bool quiet = t->of->options.dry_run;"),
    Mutant("files that are missing are looked at all the time", "configuration/target_files.c", "(!t->files_missing || t->files_unchecked);", "true;"),
    Mutant("a pause deletes", TARGET, "((part == STORAGE_ADD || part == STORAGE_END) && c->paused);", "(part == STORAGE_ADD && c->paused);"),
    Mutant("a dry run stores", TARGET, "(!c->options.dry_run || part == STORAGE_CHECK)", "true"),
)

# The answer to a write as a reading of the file.
READ_BY_WRITING = (
    Mutant("the file is as it was before the write", "haproxy/instance_replace.c", "in->fresh ? cfg_content_ref(r->file) : NULL;", "in->fresh ? cfg_content_ref(in->readout.before) : NULL;"),
    Mutant("lines of the servers engine are not read again", "haproxy/instance_replace.c", "instance_wrote_next(in, r->version) && in->backend_count == 0;", "instance_wrote_next(in, r->version);"),
    Mutant("a write that follows another one's is a reading", "haproxy/instance_replace.c", "instance_wrote_next(in, r->version) && in->backend_count == 0;", "(instance_wrote_next(in, r->version) || true) && in->backend_count == 0;"),
    Mutant("another meaning is known on the next HAProxy", "haproxy/dataplane/driver_file.c", "if (problem == NULL)\n        cfg_content_wrote", "cfg_content_wrote"),
    Mutant("what was written elsewhere is what was written here", "haproxy/dataplane/driver_file.c", "if (cfg_content_goes_on_as(known, a->body, a->body_len, &head)) {", "if (known != NULL) {\n        (void)head;"),
    Mutant("each HAProxy's file is compared", "haproxy/dataplane/driver_file.c", "if (cfg_content_goes_on_as(known, a->body, a->body_len, &head)) {", "if (false) {\n        (void)head;"),
)

# One text of a haproxy.cfg, parsed once.
SHARED = (
    Mutant("what somebody looks at rests", "haproxy/cfg/content.c", "if (c->references > references || ", "if ("),
    Mutant("what rests keeps what it was written as", "haproxy/cfg/content.c", "    cfg_content_wrote(c, NULL);\n    cfg_file_fini(&c->parsed.file);\n    c->parsed.done", "    cfg_file_fini(&c->parsed.file);\n    c->parsed.done"),
    Mutant("what rests is never parsed again", "haproxy/cfg/content.c", "    cfg_file_fini(&c->parsed.file);\n    c->parsed.done = false;", "    cfg_file_fini(&c->parsed.file);"),
    Mutant("line numbers are of the text before", "haproxy/cfg/content.c", "return lines == of_c && ", "return "),
    Mutant("what is no configuration is one the second time", "haproxy/cfg/content.c", "    if (c->parsed.error.kind == ERROR_NONE)\n", "    if (c->parsed.done)\n"),
    Mutant("another text is the same", "haproxy/cfg/content.c", "a->len == b->len && memcmp(a->text, b->text, a->len) == 0", "a->len == b->len"),
    Mutant("a quote is no matter", "haproxy/cfg/words.c", "static const char special[] = \"\\\"'\\\\\\r\";", "static const char special[] = \"'\\\\\\r\";"),
)

# HAProxies that come and go.
TARGETS_LIST = "configuration/target_list.c"
COMING = (
    Mutant("a newcomer's rejection stops files of all", ENGINE, "(t->progress == PROGRESS_REJECTED && !t->joins)", "t->progress == PROGRESS_REJECTED"),
    Mutant("a newcomer holds all up", ENGINE, "        if (t->joins)\n            continue;\n", ""),
    Mutant("what a newcomer cannot load goes back everywhere", "configuration/rollback.c", "if (t->joins || t->progress != PROGRESS_REJECTED ||", "if (t->progress != PROGRESS_REJECTED ||"),
    Mutant("what a newcomer does badly with goes back everywhere", "configuration/rollback.c", "if (t->joins || !rollback_is_allowed(t->of))", "if (!rollback_is_allowed(t->of))"),
    Mutant("a newcomer never belongs to them", "configuration/canary.c", "        t->joins = t->joins && !canary_is_good(t);", "        ;"),
    Mutant("a newcomer's number is always another one", TARGETS_LIST, "size_t number = 0;\n", "size_t number = c->count;\n"),
    Mutant("a newcomer waits for the next document", TARGETS_LIST, "    if (c->document != NULL)\n        target_set(t);\n", ""),
    Mutant("a newcomer's reload keeps the next document waiting", TARGET, "    if (!t->joins) /* the next", "    if (true) /* the next"),
    Mutant("the answer to one that is gone counts", TARGETS_LIST, "    t->engine.ops = &target_gone_ops;\n", ""),
    Mutant("the others wait on for one that is gone", TARGETS_LIST, "    timer_set(&c->step, 0); /* the others may have waited for it */\n", ""),
    Mutant("a newcomer gets none while the latest is rejected", "configuration/target_new.c", "rejected && target_new_has_none(t)", "false"),
    Mutant("a newcomer gets what went back everywhere", "configuration/target_new.c", "str_eq(store_version(store, i)->id, c->document->id)", "false"),
    Mutant("the last that ran counts as the latest", "configuration/configuration.c", "any || (ok && t->own == NULL)", "any || ok"),
    Mutant("one that is gone is remembered", TARGETS_LIST, "        store_forget_target(c->options.store, t->name);\n", "        ;\n"),
)

ROOMS = (
    Room("configuration, its settings", ("test_config_source", "test_settings"), SETTINGS),
    Room("secrets that are freed", ("test_mem",), FREED),
    Room("configuration, what is told of it", ("test_annotate", "test_config_report"), TELLING),
    Room("configuration, when it is tried again", ("test_retry", "test_target", "test_target_files"), RETRYING),
    Room("configuration, a write that was interrupted", ("test_instance_reload",), INTERRUPTED),
    Room("configuration, the worker before a reload", ("test_engine_verification",), OLD_WORKER),
    Room("configuration, reloads", ("test_instance",), LOADED),
    Room("configuration, pauses", ("test_pace",), PAUSES),
    Room("configuration, the engine", ("test_configuration", "test_configuration_streams"), ENGINE_MUTANTS),
    Room("configuration, HAProxies that come and go", ("test_target_list", "test_configuration_streams"), COMING),
    Room("configuration, the engine with files", ("test_configuration_files", "test_target_files", "test_configuration_streams"), WITH_FILES),
    Room("configuration, without a reload", ("test_configuration_streams", "test_target", "test_target_files", "test_target_foresee"), BY_RUNTIME),
    Room("configuration, its pace", ("test_configuration", "test_target"), PACING),
    Room("configuration, files where nothing may be written", ("test_target_files",), LOOKED_AT),
    Room("configuration, what a write reads", ("test_instance_replace",), READ_BY_WRITING),
    Room("configuration, one text", ("test_cfg_content", "test_cfg_words"), SHARED),
    Room("configuration, what is remembered", ("test_store",), KEEPING),
    Room("configuration, whose server lines they are", ("test_keep", "test_configuration_keep", "test_validation_text"), KEPT),
    Room("configuration, who would be locked out", ("test_lockout",), NOT_LOCKED_OUT),
    Room("configuration, the file that is followed", ("test_file_source",), FOLLOWING),
    Room("configuration, the write", ("test_replacement", "test_validation_text"), REPLACING),
    Room("configuration, files beside it", ("test_storage",), STORING),
    Room("configuration, names of files", ("test_storage_files",), NAMING),
    Room("configuration, certificates that are known", ("test_storage_known",), KNOWN),
)
