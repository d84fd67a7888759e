"""Files beside the configuration of a HAProxy on this machine (haproxy/local/driver_store)."""

from .mutant import Mutant, Room

STORE = "haproxy/local/driver_store.c"
PROCESS = "haproxy/local/helper_process.c"
FILES = "haproxy/local/files.c"
LIST = "haproxy/storage_list.c"
NAMES = "haproxy/storage_files.c"
SETTINGS = "settings/local.c"

STORED = (
    Mutant("one daemon's files meet another one's configuration", STORE, "    if (d->store.locked)\n        return false;\n    d->request", "    if (true)\n        return false;\n    d->request"),
    Mutant("a lock that another one has is ours", STORE, "s->locked = a->status == LOCAL_OK;", "s->locked = true;"),
    Mutant("a file is deleted without the lock", STORE, "        else if (!driver_store_lock(d))\n            driver_store_delete(d, e);", "        else\n            driver_store_delete(d, e);"),
    Mutant("it is told within the call", STORE, "    local_driver_tell(d, driver_store_tell);", "    driver_store_tell(&d->base);"),
    Mutant("each run writes all files", STORE, "e->present && str_eq(e->hash, f->hash)))\n            continue;", "false))\n            continue;"),
    Mutant("what is there is not compared", STORE, "return s->there && s->now.len == f->len && memcmp(buf_str(&s->now), f->bytes, f->len) == 0;", "return s->there && s->now.len == f->len;"),
    Mutant("files of others are deleted", STORE, "e->found = new ? s->there : e->found;", "e->found = new ? false : e->found;"),
    Mutant("what another run put there is of others", STORE, "e->found = new ? s->there : e->found;", "e->found = s->there;"),
    Mutant("a file that was deleted by hand is not written", STORE, "    e->present = s->there;\n    if (same)", "    e->present = true;\n    if (same)"),
    Mutant("what was changed by hand is loaded already", STORE, "(e->hash[0] != '\\0' && !str_eq(e->hash, f->hash)); /*", "false; /*"),
    Mutant("what was changed by hand stays", STORE, "    } else if (str_eq(e->hash, f->hash)) {", "    } else if (false) {"),
    Mutant("some files are written before the others are looked at", STORE, "if (!s->looked && s->request.part == STORAGE_ADD && driver_store_look_on(d))", "if (!s->looked && s->request.part == STORAGE_ADD && s->at == 0 && driver_store_look_on(d))"),
    Mutant("the list comes after the files", STORE, "if (driver_store_lock(d) || driver_store_announce(d))", "if (driver_store_lock(d))"),
    Mutant("the list says that what changes runs", STORE, "driver_store_write_list(d, storage_list_text(&s->entries, s->request.files));", "driver_store_write_list(d, storage_list_text(&s->entries, NULL));"),
    Mutant("what a killed run changed is never loaded", LIST, "        if (!e->changed)\n            memcpy", "        e->changed = false;\n        if (strlen(hash) + 1 == sizeof(e->hash))\n            memcpy"),
    Mutant("a map loses lines before the configuration", STORE, "bool whole = !grows ||", "bool whole = true ||"),
    Mutant("maps never lose lines", STORE, "bool grows = s->request.part == STORAGE_ADD && ", "bool grows = "),
    Mutant("maps that wait are not told", STORE, "s->news.unfinished = s->news.unfinished || !whole;", "(void)0;"),
    Mutant("a grown map is as it is to be", STORE, "digest_sha256_hex(bytes, len, s->hash);", "memcpy(s->hash, f->hash, sizeof(s->hash));"),
    Mutant("the bytes from before are not known", STORE, "        storage_entry_keep(e, buf_str(&s->now), s->now.len);\n", "        ;\n"),
    Mutant("what was put last counts as what runs", STORE, "s->there && !e->changed && e->good == NULL)", "s->there)"),
    Mutant("what runs is deleted with what does not", STORE, "e->added = e->added || !e->present;", "e->added = true;"),
    Mutant("what was added for nothing stays", STORE, "e->added = e->added || !e->present;", "e->added = false;"),
    Mutant("nobody knows that files changed", STORE, "    e->changed = true;\n    e->hash[0] = '\\0';", "    e->hash[0] = '\\0';"),
    Mutant("a disk that is full is no failure", STORE, "    if (a->status != LOCAL_OK) {\n        driver_store_fail(d, a);\n        return;\n    }\n    e->present = true;", "    e->present = true;"),
    Mutant("certificates are not counted", STORE, "f->kind == STORAGE_CERTIFICATE;", "false;"),
    Mutant("what differs is not told", STORE, "if (!driver_store_is_there(s, f) && s->news.differing++ == 0)", "if (!driver_store_is_there(s, f) && s->news.differing == 0)"),
    Mutant("a link is a failure of the look", STORE, "bool puts = s->request.part == STORAGE_ADD || ", "bool puts = s->request.part != STORAGE_END || "),
    Mutant("a link is replaced", STORE, "if (!known || (s->is_other && puts))", "if (!known)"),
    Mutant("what haproxy.cfg names is deleted", STORE, "        if (wanted || named) {", "        if (wanted) {"),
    Mutant("what a comment names stays", NAMES, "if (whole && !comment)", "if (whole)"),
    Mutant("a part of a name is the name", NAMES, "if (whole && !comment)", "if (!comment)"),
    Mutant("the first place alone counts", NAMES, "line = hit + 1) {", "line = text + strlen(text)) {"),
    Mutant("what another one put there is deleted", STORE, "    return !str_eq(e->hash, hash);", "    return false;"),
    Mutant("what a killed run put there is another one's", STORE, "if (!s->was_read || !s->there || e->hash[0] == '\\0')", "if (!s->was_read || !s->there)"),
    Mutant("a link in its place is deleted", STORE, "        return s->is_other;\n", "        return false;\n"),
    Mutant("what was found is deleted", STORE, "if (e->found || driver_store_is_anothers", "if (driver_store_is_anothers"),
    Mutant("what runs is never known to", STORE, "    driver_store_settle(s);\n", ""),
    Mutant("the list stays as it was announced", STORE, "    bool same = str_eq(text, s->list != NULL ? s->list : \"\");\n", "    bool same = true;\n"),
    Mutant("the empty list stays", STORE, "    if (text[0] == '\\0')\n", "    if (false)\n"),
    Mutant("nothing goes back", STORE, "if (!e->changed || (!e->added && e->good == NULL))", "if (true)"),
    Mutant("what went back is still another", STORE, "    e->changed = false;\n    digest", "    digest"),
    Mutant("the digest is not of what went back", STORE, "    digest_sha256_hex(e->good, e->good_len, e->hash);\n", ""),
    Mutant("the list has what went back as it was announced", STORE, "if (!s->locked || !driver", "if (true || !driver"),
    Mutant("what another one put there goes back", STORE, "        if (driver_store_is_anothers(s, e)) {\n            driver_store_leave(e);", "        if (false) {\n            driver_store_leave(e);"),
    Mutant("what another one put there is deleted with what was added", STORE, "    e->added = false;\n    e->found = true;", "    e->added = false;"),
    Mutant("what went back once is what was good", STORE, "    storage_entry_keep(e, NULL, 0); /* who writes next looks again */\n", ""),
    Mutant("a list of before the lock counts", STORE, "    if (!held) {\n        s->known", "    if (false) {\n        s->known"),
    Mutant("what was checked with other files is not checked again", STORE, "    if (request->part != STORAGE_CHECK) {", "    if (false) {"),
    Mutant("the list is never read", STORE, "    if (s->known)\n        driver_store_next(d);\n    else", "    if (true)\n        driver_store_next(d);\n    else"),
    Mutant("a missing file cannot be told", STORE, "bool none = a->error_number == ENOENT || a->error_number == ENOTDIR;", "bool none = false;"),
    Mutant("any failure is a missing file", STORE, "bool none = a->error_number == ENOENT || a->error_number == ENOTDIR;", "bool none = true;"),
)

PUT = (
    Mutant("a folder is not made", PROCESS, "bool makes = rc != 0 && errno == ENOENT && a->kind == LOCAL_KIND_PUT_FILE;", "bool makes = false;"),
    Mutant("a folder is not there after a machine went down", PROCESS, "    return fsync(above.folder);\n", "    return 0;\n"),
    Mutant("who looks makes a folder", PROCESS, "bool makes = rc != 0 && errno == ENOENT && a->kind == LOCAL_KIND_PUT_FILE;", "bool makes = rc != 0 && errno == ENOENT;"),
    Mutant("anybody looks into a new folder", PROCESS, "#define NEW_FOLDER_MODE 0750", "#define NEW_FOLDER_MODE 0755"),
    Mutant("what is in no folder cannot be deleted", PROCESS, "bool nothing = rc != 0 && errno == ENOENT && a->kind == LOCAL_KIND_DELETE_FILE; /*", "bool nothing = false; /*"),
    Mutant("a link is not named", PROCESS, "    if (errno == ELOOP)\n", "    if (false)\n"),
    Mutant("anybody reads a key", FILES, "#define NEW_FILE_MODE 0640", "#define NEW_FILE_MODE 0644"),
)

FOLDERS = (
    Mutant("folders stand in the one above", SETTINGS, 'return mem_printf("%s/%s", folder, beside[kind]);', 'return mem_printf("%s%s", folder, beside[kind]);'),
    Mutant("a folder that is set is another", SETTINGS, "    if (given[kind] != NULL)\n", "    if (given[kind] == NULL)\n"),
    Mutant("two kinds share a folder", SETTINGS, "if (k > i && local_same_path(folders[i], folders[k]))", "if (false)"),
    Mutant("the source is written to", SETTINGS, "if (local_same_path(folders[i], source))", "if (false)"),
    Mutant("a slash more is another folder", SETTINGS, 'slashes > 0 ? "/" : ""', '"///" + 3 - slashes'),
    Mutant("a dot is another folder", SETTINGS, "if (len > 0 && !(len == 1 && path[slashes] == '.'))", "if (len > 0)"),
    Mutant("a file of the source replaces haproxy.cfg", SETTINGS, "for (size_t i = 0; i <= l->check_files.count; i++) {", "for (size_t i = 1; i <= l->check_files.count; i++) {"),
    Mutant("a file of the source replaces one beside haproxy.cfg", SETTINGS, "for (size_t i = 0; i <= l->check_files.count; i++) {", "for (size_t i = 0; i <= 0; i++) {"),
)

ROOMS = (
    Room("local, files beside it", ("test_local_store", "test_local_store_failures"), STORED),
    Room("local, files that are put", ("test_local_store", "test_local_store_failures", "test_local_files"), PUT),
    Room("local, folders of files", ("test_settings_local",), FOLDERS),
)
