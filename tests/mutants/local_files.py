"""Files beside the configuration of a HAProxy on this machine (haproxy/local/driver_store)."""

from .mutant import Mutant, Room

STORE = "haproxy/local/driver_store.c"
CHECK = "haproxy/local/driver_store_check.c"
PROCESS = "haproxy/local/helper_process.c"
FILES = "haproxy/local/files.c"
LIST = "haproxy/storage_list.c"
NAMES = "haproxy/storage_files.c"
SETTINGS = "settings/local.c"
RUN = "haproxy/local/driver_store_run.c"
LOADED = "haproxy/local/driver_store_loaded.c"
COMMANDS = "haproxy/map_commands.c"
CLI = "haproxy/local/cli_files.c"
MAP = "haproxy/map_text.c"
PEM = "net/pem.c"

STORED = (
    Mutant("one daemon's files meet another one's configuration", STORE, "    if (d->store.locked)\n        return false;\n    d->request", "    if (true)\n        return false;\n    d->request"),
    Mutant("a lock that another one has is ours", STORE, "s->locked = a->status == LOCAL_OK;", "s->locked = true;"),
    Mutant("a file is deleted without the lock", STORE, "            if (!local_driver_store_lock(d))\n                driver_store_delete(d, e);", "            driver_store_delete(d, e);"),
    Mutant("it is told within the call", STORE, "    local_driver_tell(d, driver_store_tell);", "    driver_store_tell(&d->base);"),
    Mutant("each run writes all files", STORE, "local_driver_store_is_put(e, f))\n            continue;", "false)\n            continue;"),
    Mutant("what is there is not compared", STORE, "return s->there && s->now.len == f->len && memcmp(buf_str(&s->now), f->bytes, f->len) == 0;", "return s->there && s->now.len == f->len;"),
    Mutant("files of others are deleted", STORE, "e->found = new ? s->there : e->found;", "e->found = new ? false : e->found;"),
    Mutant("what another run put there is of others", STORE, "e->found = new ? s->there : e->found;", "e->found = s->there;"),
    Mutant("a file that was deleted by hand is not written", STORE, "    e->present = s->there;\n    if (same)", "    e->present = true;\n    if (same)"),
    Mutant("what was changed by hand is loaded already", STORE, "(e->hash[0] != '\\0' && !str_eq(e->hash, f->hash)); /*", "false; /*"),
    Mutant("what was changed by hand stays", STORE, "    } else if (str_eq(e->hash, f->hash)) {", "    } else if (false) {"),
    Mutant("some files are written before the others are looked at", STORE, "if (!s->looked && s->request.part == STORAGE_ADD && driver_store_look_on(d))", "if (!s->looked && s->request.part == STORAGE_ADD && s->at == 0 && driver_store_look_on(d))"),
    Mutant("the list comes after the files", STORE, "if (local_driver_store_lock(d) || driver_store_announce(d))", "if (local_driver_store_lock(d))"),
    Mutant("the list says that what changes runs", STORE, "driver_store_write_list(d, storage_list_text(&s->entries, s->request.files));", "driver_store_write_list(d, storage_list_text(&s->entries, NULL));"),
    Mutant("what a killed run changed is never loaded", LIST, "        if (!e->changed)\n            memcpy", "        e->changed = false;\n        if (strlen(hash) + 1 == sizeof(e->hash))\n            memcpy"),
    Mutant("a map loses lines before the configuration", STORE, "bool whole = !grows ||", "bool whole = true ||"),
    Mutant("a map that changes alone is written twice", STORE, " && s->there && !s->request.alone;", " && s->there;"),
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
    Mutant("what differs is not told", CHECK, "if (!same && s->news.differing++ == 0)", "if (!same && s->news.differing == 0)"),
    Mutant("a link is a failure of the look", STORE, "bool writes = s->request.part == STORAGE_ADD || ", "bool writes = s->request.part != STORAGE_END || "),
    Mutant("a link is replaced", STORE, "if (!known || (s->is_other && writes && s->at < s->request.files->count))", "if (!known)"),
    Mutant("what haproxy.cfg names is deleted", STORE, "    if (!e->found && storage_is_named(local_driver_store_config(d), e->stored))\n", "    if (false)\n"),
    Mutant("what a comment names stays", NAMES, "if (whole && !comment)", "if (whole)"),
    Mutant("a part of a name is the name", NAMES, "if (whole && !comment)", "if (!comment)"),
    Mutant("the first place alone counts", NAMES, "from = hit + 1) {", "from = text + strlen(text)) {"),
    Mutant("what another one put there is deleted", STORE, "    return !str_eq(e->hash, hash);", "    return false;"),
    Mutant("what a killed run put there is another one's", STORE, "if (!s->was_read || !s->there || e->hash[0] == '\\0')", "if (!s->was_read || !s->there)"),
    Mutant("a link in its place is deleted", STORE, "        return s->is_other;\n", "        return false;\n"),
    Mutant("what was found is deleted", STORE, "if (e->found || driver_store_is_anothers", "if (driver_store_is_anothers"),
    Mutant("what runs is never known to", STORE, "        storage_entry_settle(&s->entries.list[i]);\n", "        ;\n"),
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

# Without a reload.
TOLD = (
    Mutant("a map that is not shown runs", RUN, "bool differs = read && !map_entries_same(&runs, &r->entries);", "bool differs = false;"),
    Mutant("any map is told by single entries", RUN, "e->good != NULL && map_is_unordered(local_driver_store_config(d), f->stored) &&", "e->good != NULL &&"),
    Mutant("no map is told by single entries", RUN, "return e->good != NULL && map", "return false && map"),
    Mutant("a single entry that is refused is told", RUN, "    else if (cli_read_done(answer, &refused) != 0)\n", "    else if (false)\n"),
    Mutant("a map that has other entries than was known is loaded", RUN, "    if (differs && r->single) {", "    if (false) {"),
    Mutant("a map has single entries where they are in the file", RUN, "    if (r->single) {\n        map_entries_sort", "    if (false) {\n        map_entries_sort"),
    Mutant("each single entry takes a connection", RUN, "while (r->sent < r->commands.len && line.len < CHUNK_BYTES) {", "while (r->sent < r->commands.len && line.len == 0) {"),
    Mutant("single entries are one line", RUN, "while (r->sent < r->commands.len && line.len < CHUNK_BYTES) {", "while (r->sent < r->commands.len) {"),
    Mutant("a single entry is told once more", RUN, "        r->sent += len + 1;\n", "        r->sent += len + (r->sent > 0);\n"),
    Mutant("an answer that is lost is one", RUN, "    store_run_refuse(d, a->message);\n    return NULL;", "    return a->data;"),
    Mutant("a refusal is none", RUN, "    if (status != 0)\n        store_run_refuse(d, err->message);\n    return status == 0;", "    (void)d;\n    (void)err;\n    (void)status;\n    return true;"),
    Mutant("what was prepared stays", RUN, 'store_run_send(d, store_run_on_dropped, "clear map @%u %s", ', 'store_run_send(d, store_run_on_dropped, "show map @%u %s", '),
    Mutant("a certificate's transaction stays", RUN, 'store_run_on_dropped, "abort ssl cert %s"', 'store_run_on_dropped, "show ssl cert %s"'),
    Mutant("a map is sent as one command", RUN, "#define CHUNK_BYTES 8192", "#define CHUNK_BYTES 819200"),
    Mutant("half of a map is committed", RUN, "if (r->sent == r->entries.count) {", "if (r->sent > 0 || r->entries.count == 0) {"),
    Mutant("the last entry is not sent", RUN, "while (r->sent < r->entries.count && chunk.len", "while (r->sent + 1 < r->entries.count && chunk.len"),
    Mutant("an empty line ends a certificate", RUN, 'buf_add(&command, len > 0 ? "\\n" : "");', 'buf_add(&command, "\\n");'),
    Mutant("any certificate runs", RUN, "(!str_eq(runs.sha1, wanted.sha1) || ", "("),
    Mutant("what is behind a certificate counts for nothing", RUN, "(wanted.certificates > 1 && runs.certificates != wanted.certificates)", "false"),
    Mutant("HAProxy finds no issuer itself", RUN, "(wanted.certificates > 1 && runs", "(wanted.certificates > 0 && runs"),
    Mutant("any path is ours", LOADED, "(!store_is_ours(d, f, n->list[i]) ||", "(false ||"),
    Mutant("a path that is relative is another's", LOADED, "return str_eq(path, plain) || (*plain", "return str_eq(path, plain) || (false && *plain"),
    Mutant("a name alone is ours", LOADED, "*plain != '/' && strchr(plain, '/') != NULL && end < len", "*plain != '/' && end < len"),
    Mutant("the end of a folder's name is the folder", LOADED, "path[len - end - 1] == '/' && ", ""),
    Mutant("a dot is another folder", LOADED, 'str_has_prefix(name, "./") ? name + 2 : name', "name"),
    Mutant("a path with blanks goes into a command", LOADED, 'n->list[i][strspn(n->list[i], STORAGE_NAME_ALPHABET "/")] != \'\\0\'', "false"),
    Mutant("any file is a map or a certificate", LOADED, "if (f->kind == STORAGE_GENERAL)", "if (false)"),
    Mutant("an ACL's list needs nothing", LOADED, "!there && store_find(&r->loaded[CLI_ACLS], f) != NULL", "false"),
    Mutant("a CA file needs nothing", LOADED, "store_find(&r->loaded[CLI_CA_FILES], f) != NULL ||", "false ||"),
    Mutant("a CRL file needs nothing", LOADED, "store_find(&r->loaded[CLI_CRL_FILES], f) != NULL;", "false;"),
    Mutant("what haproxy.cfg names needs nothing", LOADED, "else if (!there && storage_is_named(", "else if (false && storage_is_named("),
    Mutant("what HAProxy does not have needs a reload", LOADED, "else if (!there && storage_is_named(local_driver_store_config(d), f->stored))", "else if (!there)"),
    Mutant("a long certificate is sent", LOADED, "#define PEM_BYTES 15000", "#define PEM_BYTES 1500000"),
    Mutant("a list that fails has nothing", RUN, "    if (status != 0)\n        r->why = mem_printf(\"%s: %s\", cli_list_command(list), err.message);\n", "    (void)status;\n"),
    Mutant("all lists are asked for", RUN, "while (r->lists < CLI_LISTS && !store_run_needs(d, (enum cli_list)r->lists))", "while (false)"),
    Mutant("what was told is still to be loaded", RUN, "            storage_entry_settle(e);\n", "            ;\n"),
    Mutant("what was told before one that fails does not go back", RUN, "i < s->request.files->count && s->run.why == NULL; i++) {", "i < s->request.files->count; i++) {"),
    Mutant("why is not told", RUN, "    s->news.why = s->run.why;\n", ""),
    Mutant("what is in the list no more has no word", RUN, "if (s->run.why == NULL && storage_entries_changed(&s->entries))", "if (false)"),
    Mutant("the first path is told alone", RUN, "    d->store.run.name++;\n", "    d->store.run.name = SIZE_MAX / 2;\n"),
    Mutant("what has not changed is told, too", RUN, "if (!store_run_concerns(&d->store, f) || (r->name == 0", "if ((r->name == 0"),
    Mutant("none are told to have run", RUN, "        d->store.news.ran++;\n", ""),
    Mutant("without a socket all of it runs", RUN, '        d->store.run.why = mem_strdup("there is no socket for runtime commands");\n', "        ;\n"),
    Mutant("what was good before is good", LIST, "    e->changed = e->added = false;\n    storage_entry_keep(e, NULL, 0);", "    e->changed = e->added = false;"),
)

ANSWERS = (
    Mutant("any answer is a list", CLI, "return headed || none ? 0 : cli_refuse(err, ERROR_INVALID, answer);", "return 0;"),
    Mutant("who has no CA files refuses to say so", CLI, "return headed || none ? 0", "return headed ? 0"),
    Mutant("who has no maps says nothing", CLI, "none = list != CLI_MAPS && list != CLI_ACLS && ", "none = "),
    Mutant("what is in a transaction is loaded", CLI, "if (headed && *line != '#'", "if (*line != '#'"),
    Mutant("a list without a name is one", CLI, "if (end != NULL && end > name)", "if (end != NULL)"),
    Mutant("how many certificates it has belongs to a CA file's name", CLI, 'else if (list == CLI_CA_FILES && strstr(line, " - ") != NULL)', "else if (false)"),
    Mutant("any text is a version", CLI, "if (!str_has_prefix(at, says))", "if (strlen(at) < strlen(says))"),
    Mutant("any line is an entry", CLI, 'if (strncmp(line->key, "0x", 2) != 0 || e.key_len == 0)', "if (e.key_len == 0)"),
    Mutant("an entry without a key is one", CLI, 'if (strncmp(line->key, "0x", 2) != 0 || e.key_len == 0)', 'if (strncmp(line->key, "0x", 2) != 0)'),
    Mutant("a value begins with its blank", CLI, "        e.value += e.value < end;\n", ""),
    Mutant("a transaction that goes on is none", CLI, 'bool done = cli_find_line(answer, "Transaction created for certificate ") != NULL ||\n                cli_find_line(answer, "Transaction updated for certificate ") != NULL;', 'bool done = cli_find_line(answer, "Transaction created for certificate ") != NULL;'),
    Mutant("a commit that fails is done", CLI, 'cli_find_line(answer, "Success!") != NULL', 'cli_find_line(answer, "") != NULL'),
    Mutant("words within a line count", CLI, "        if (str_has_prefix(line, begin))\n            return line;", "        if (strstr(line, begin) != NULL)\n            return strstr(line, begin);"),
    Mutant("what is behind a certificate is not counted", CLI, "        ret->certificates++;\n", ""),
    Mutant("a comment is an entry", MAP, "if (*line != '#' && e.key_len > 0)", "if (e.key_len > 0)"),
    Mutant("a comment may stand behind blanks", MAP, "if (*line != '#' && e.key_len > 0)", "if (*e.key != '#' && e.key_len > 0)"),
    Mutant("an empty line is an entry", MAP, "if (*line != '#' && e.key_len > 0)", "if (*line != '#')"),
    Mutant("blanks at the end belong to a value", MAP, "            e.value_len--;\n", "            break;\n"),
    Mutant("a CR belongs to a value", MAP, '#define ENDS "\\r\\n"', '#define ENDS "\\n"'),
    Mutant("more entries are the same", MAP, "bool same = a->count == b->count;", "bool same = a->count <= b->count;"),
    Mutant("values do not count", MAP, "&&\n               map_text_same(x->value, x->value_len, y->value, y->value_len);", ";"),
    Mutant("keys do not count", MAP, "same = map_text_same(x->key, x->key_len, y->key, y->key_len) &&\n", "same =\n"),
    Mutant("the beginning of a text is the text", MAP, "return a_len == b_len && (a_len == 0", "return a_len <= b_len && (a_len == 0"),
)

SINGLE = (
    Mutant("what is behind a map's name says nothing", COMMANDS, "    if (mention[len] != ',' && mention[len] != ')')\n        return false;\n", ""),
    Mutant("any word in front of a map looks it up", COMMANDS, "    if (open == config || *--open != '(')\n        return false;\n", "    open--;\n"),
    Mutant("the beginning of a converter is one", COMMANDS, "(size_t)(open - name) == strlen(converters[i]) && str_has_prefix(name, converters[i])", "str_has_prefix(name, converters[i])"),
    Mutant("the end of a converter is one", COMMANDS, "while (name > config && storage_is_of_name(name[-1]))\n        name--;", "while (name > config && storage_is_of_name(name[-1]) && *name != 'm')\n        name--;"),
    Mutant("HAProxy finds an end by its length", COMMANDS, '"map_str", "map_beg"}', '"map_str", "map_beg", "map_end"}'),
    Mutant("prefixes have an order", COMMANDS, '"map_str", "map_beg"}', '"map_str"}'),
    Mutant("Lua has no maps", COMMANDS, ' && strstr(config, "lua-load") == NULL;', ";"),
    Mutant("what is named nowhere is looked up exactly", COMMANDS, "bool unordered = mention != NULL && ", "bool unordered = "),
    Mutant("the first use counts for all", COMMANDS, "for (; mention != NULL && unordered; mention", "for (size_t once = 0; mention != NULL && once++ < 1; mention"),
    Mutant("the last use counts for all", COMMANDS, "for (; mention != NULL && unordered; mention", "for (; mention != NULL; mention"),
    Mutant("a key that was there twice changes", COMMANDS, "map_keys_are_unique(&is) && ", ""),
    Mutant("a key comes twice", COMMANDS, "map_keys_are_unique(&wanted) && ", ""),
    Mutant("a blank is of a word", COMMANDS, "if (text[i] <= ' ' ||", "if (text[i] < ' ' ||"),
    Mutant("a word may have any byte", COMMANDS, "text[i] > '~' || ", ""),
    Mutant("a semicolon is of a word", COMMANDS, """strchr("\\"'\\\\;#<", text[i])""", """strchr("\\"'\\\\#<", text[i])"""),
    Mutant("an identifier is a key", COMMANDS, """strchr("\\"'\\\\;#<", text[i])""", """strchr("\\"'\\\\;<", text[i])"""),
    Mutant("no value is one", COMMANDS, "    return len > 0;\n", "    return true;\n"),
    Mutant("what goes has to be said", COMMANDS, "(!with_value || map_is_word", "(map_is_word"),
    Mutant("a command has any length", COMMANDS, " &&\n           bytes < MAP_COMMAND_MAX_BYTES;", " &&\n           bytes > 0;"),
    Mutant("any number is a few", COMMANDS, "p->count == MAP_COMMANDS_MAX || ", ""),
    Mutant("a quarter is a few", COMMANDS, "4 * p->count < wanted->count;", "4 * p->count <= wanted->count;"),
    Mutant("what changes comes", COMMANDS, "few = map_print(p, MAP_SET, to);", "few = map_print(p, MAP_ADD, to);"),
    Mutant("another value is none", COMMANDS, "else if (map_entry_order(from, to) != 0)", "else if (false)"),
    Mutant("entries go before others come", COMMANDS, "enum map_command { MAP_ADD, MAP_SET, MAP_DELETE };", "enum map_command { MAP_DELETE, MAP_SET, MAP_ADD };"),
    Mutant("some commands are left of many", COMMANDS, "        if (few)\n", "        if (true)\n"),
    Mutant("an entry that comes was there", MAP, "*ret_a = order <= 0 ? a : NULL;", "*ret_a = a;"),
    Mutant("an entry that goes stays", MAP, "*ret_b = order >= 0 ? b : NULL;", "*ret_b = b;"),
    Mutant("entries are never sorted", MAP, "    if (!sorted)\n", "    if (false)\n"),
)

IDENTIFIED = (
    Mutant("the last certificate is the first", PEM, "        if (i.certificates == 0)\n            certificate_sha1(x, i.sha1);", "        certificate_sha1(x, i.sha1);"),
    Mutant("a certificate has no digest", PEM, "            certificate_sha1(x, i.sha1);", "            i.sha1[0] = '\\0';"),
)

ROOMS = (
    Room("local, files that are told", ("test_local_store_run",), TOLD),
    Room("local, single entries of a map", ("test_map_commands",), SINGLE),
    Room("local, answers about files", ("test_map_text", "test_local_cli_files"), ANSWERS),
    Room("local, who a certificate is", ("test_pem",), IDENTIFIED),
    Room("local, files beside it", ("test_local_store", "test_local_store_failures"), STORED),
    Room("local, files that are put", ("test_local_store", "test_local_store_failures", "test_local_files"), PUT),
    Room("local, folders of files", ("test_settings_local",), FOLDERS),
)
