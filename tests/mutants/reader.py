"""What a reading of a Data Plane API asks for, and what it makes of writers in between and of answers that are not as they should be."""

from .mutant import Mutant, room

READER = "haproxy/dataplane/reader.c"
RUNNING = "haproxy/dataplane/reader.c"
ORDER = "haproxy/cfg/unsupported_lines.c"
CODEC = "haproxy/dataplane/codec.c"
INSTANCE_READ = "haproxy/instance_read.c"
INSTANCE = "haproxy/instance.c"
SHARED = "base/shared_text.c"

room("reader: configuration", ("test_reader", "test_cfg_server_order"), (
    Mutant("several backends are asked for one by one", READER, "o->to->count < 2 ||", "true ||"),
    Mutant("one backend is asked for with all others", READER, "o->to->count < 2 ||", "o->to->count < 1 ||"),
    Mutant("a few of many are asked for with all of them", READER, "return backends / LIST_SHARE <= o->to->count;", "return true;"),
    Mutant("frontends count as backends", READER, 'backends += str_eq(file->sections[i].kind, "backend");', "backends += 8;"),
    Mutant("a list that was refused is asked for each time", READER, " || o->one_by_one > 0)", ")"),
    Mutant("a list that was refused is never asked for again", READER, "    o->one_by_one -= o->one_by_one > 0;\n", ""),
    Mutant("a list that is refused ends the reading", READER, "o->step == READER_LIST && (too_large", "false && (too_large"),
    Mutant("a list that is too large ends the reading", READER, "(too_large || (a->error", "((a->error"),
    Mutant("no answer is a refusal", READER, "a->error->kind == ERROR_INVALID;", "true;"),
    Mutant("wrong credentials are a refusal", READER, "a->status != 401 &&", "true &&"),
    Mutant("a right that is missing is a refusal", READER, "a->status != 403 &&", "true &&"),
    Mutant("a list that takes too long is asked for each time", READER, "a->duration_us >= LIST_SLOW_US", "false"),
    Mutant("any list takes too long", READER, "a->duration_us >= LIST_SLOW_US", "true"),
    Mutant("a page is a list", READER, "a->status == 200 && codec_list_begin(", "a->status == 200 || codec_list_begin("),
    Mutant("what the file has otherwise is taken", READER, "cfg_order_servers(&file, b)))", "(cfg_order_servers(&file, b) || true)))"),
    Mutant("what only the file has is absent", READER, "cfg_file_backend(file, o->to->names[i]) == NULL;", "true;"),
    Mutant("what only the API has is absent", READER, "o->listed && o->to->found[i].backend.version >= 0;", "o->listed;"),
    Mutant("what is absent is asked for", READER, "(o->to->found[o->at].backend.exists || is_absent(o, o->at))", "o->to->found[o->at].backend.exists"),
    Mutant("versions are mixed", READER, "    if (o->step == READER_RAW || version == o->to->version)\n", "    if (true)\n"),
    Mutant("another writer starves a reading", READER, "o->to->outdated = o->restarts >= MAX_RESTARTS;", "o->to->outdated = false;"),
    Mutant("another writer is not waited out", READER, "o->to->outdated = o->restarts >= MAX_RESTARTS;", "o->to->outdated = true;"),
    Mutant("a reading that begins again does not count", READER, "must_begin_again(o, a->version)) {\n        o->restarts++;", "must_begin_again(o, a->version)) {"),
    Mutant("a newer backend is compared with the file", READER, "    f->backend.version = a->version;\n", "    f->backend.version = o->to->version;\n"),
    Mutant("a newer list is compared with the file", READER, "        o->listed_backends[i]->version = a->version;\n", "        o->listed_backends[i]->version = o->to->version;\n"),
    Mutant("one that is not understood is asked for its servers", READER, " ||\n               o->to->found[o->at].unreadable.kind != ERROR_NONE) {", ") {"),
))
room("reader: the list", ("test_cfg_server_order", "test_codec", "test_reader"), (
    Mutant("rules are base fields", CODEC, 'return str_has_suffix(key, "_rule_list");', "return false;"),
    Mutant("servers are base fields", CODEC, '[] = {"servers",', '[] = {'),
    Mutant("servers of the list are lost", CODEC, "read_servers(servers, &read, NULL) != 0 ||", ""),
    Mutant("templates of the list are lost", CODEC, "read_templates(templates, &read, NULL) != 0 ||", ""),
    Mutant("servers keep the order of the list", ORDER, "b->servers[i] = old[servers[i].at];", "b->servers[i] = old[i];"),
    Mutant("templates keep the order of the list", ORDER, "b->templates[i] = old_templates[templates[i].at];", "b->templates[i] = old_templates[i];"),
    Mutant("a line twice is a line", ORDER, "if (found == NULL || found->line != 0)", "if (found == NULL)"),
    Mutant("a server without a line has one", ORDER, "return lines == count;", "return lines == count || str_eq(keyword, \"server\");"),
    Mutant("a template without a line has one", ORDER, "return lines == count;", "return lines == count || !str_eq(keyword, \"server\");"),
    Mutant("two backends of a name are one", ORDER, "if (s == NULL || cfg_file_backend_again(f, s) != NULL ||", "if (s == NULL ||"),
    Mutant("a line that is broken counts", ORDER, "if (words.broken || words.count < 2)", "if (words.count < 2)"),
    Mutant("a listen section is a backend", "haproxy/cfg/file.c", 'if (str_eq(f->sections[i].kind, "backend") && str_eq(f->sections[i].name, backend))',
           "if (str_eq(f->sections[i].name, backend))"),
))
room("reader: what runs", ("test_reader",), (
    Mutant("one after the other", RUNNING, "o->to->count >= SEVERAL_FROM ? READER_LANES : 1;", "1;"),
    Mutant("several connections for a few", RUNNING, "o->to->count >= SEVERAL_FROM ? READER_LANES : 1;", "READER_LANES;"),
    Mutant("the first answer is the last", RUNNING, "    if (!busy)\n        end_of_running(o);", "    if (o->at == o->to->count)\n        end_of_running(o);"),
    Mutant("an answer is about the next one", RUNNING, "struct reading *f = &o->to->found[l->at];", "struct reading *f = &o->to->found[o->at - 1];"),
    Mutant("others are waited for", RUNNING, "static void give_runtime_up(struct reader *o, const struct error *err)\n{\n    reader_cancel_running(o);\n", "static void give_runtime_up(struct reader *o, const struct error *err)\n{\n"),
    Mutant("what is cancelled answers", RUNNING, "            dataplane_cancel(o->lanes[i].client);\n", "            (void)0;\n"),
    Mutant("what is cancelled is under way for ever", RUNNING, "        o->lanes[i].busy = false;\n    }", "    }"),
    Mutant("connections are never given back", RUNNING, "        dataplane_client_free(o->lanes[i].client);\n", "        (void)0;\n"),
    Mutant("a change while what runs is read is not seen", RUNNING, "a->version != o->to->version);", "false);"),
    Mutant("an answer without a version is another version", RUNNING, "(a->version >= 0 && a->version != o->to->version)", "(a->version != o->to->version)"),
    Mutant("a writer starves what runs", RUNNING, "o->moved && o->restarts < MAX_RESTARTS", "o->moved"),
    Mutant("what is outdated is not", RUNNING, "    o->to->outdated = o->to->outdated || o->moved;\n    reader_finish(o, NULL);\n}\n\nstatic void lane_ask", "    reader_finish(o, NULL);\n}\n\nstatic void lane_ask"),
    Mutant("what runs is read again for all", RUNNING, "if (!backend_same(readout_backend(&o->known[i]), readout_backend(&o->to->found[i])))", "if (true)"),
    Mutant("what runs is read again for none", RUNNING, "if (!backend_same(readout_backend(&o->known[i]), readout_backend(&o->to->found[i])))", "if (false)"),
    Mutant("what another process ran runs", RUNNING, "bool another = worker.pid != pid || worker.uptime_s < uptime_s;", "bool another = false;"),
))
room("reader: what is as it was", ("test_reader",), (
    Mutant("a file at another version is as it was", READER, "&& o->to->version == o->last_version &&", "&&"),
    Mutant("what is read once is as it was", READER, "#define READINGS_ALIKE 2", "#define READINGS_ALIKE 1"),
    Mutant("what is broken is as it was", READER, "        o->to->file_problem = mem_strdup(o->broken.message);\n        o->last_digest[0] = '\\0';\n", "        o->to->file_problem = mem_strdup(o->broken.message);\n"),
    Mutant("another file is as it was", READER, "str_eq(digest, o->last_digest);", "true;"),
    Mutant("a file with other line numbers is as it was", READER, "lines == o->last_head_lines &&", "true &&"),
    Mutant("a file behind the API is as it was", READER, "bool same = (file_version < 0 || file_version == o->to->version) &&", "bool same ="),
    Mutant("what its owner does not know is as it was", READER, "same = same && o->to->found[i].last != NULL;", "same = same && true;"),
    Mutant("a file with a problem is as it was", READER, "o->to->defaults_problem != NULL)\n        o->last_digest[0] = '\\0';\n", "o->to->defaults_problem != NULL)\n        (void)0;\n"),
    Mutant("what is as it was is asked for", READER, "if (o->step == READER_RAW && o->as_last) {", "if (false) {"),
    Mutant("what runs of what is as it was is read twice", RUNNING, ".last = f->last, .as_last = f->as_last,", ".last = f->last,"),
    Mutant("an answer is read whole in one turn", READER, "o->at < end; o->at++)", "true; o->at++)"),
    Mutant("a list is read whole in one turn", READER, "o->to->count, BACKENDS_AT_ONCE)) {", "o->to->count, 1000)) {"),
    Mutant("a reading that is cancelled goes on with its list", READER, "    timer_cancel(&o->turn);\n", ""),
))
room("texts that are shared", ("test_shared_text",), (
    Mutant("each text is another", SHARED, "    if (found == NULL) {\n", "    found = NULL;\n    {\n"),
    Mutant("a text ends with the first that held it", SHARED, "    if (--one->refs != 0)\n        return;\n", ""),
    Mutant("a text is kept for ever", SHARED, "    if (--one->refs != 0)\n", "    if (--one->refs + 1 != 0)\n"),
))
room("readings that know what was", ("test_engine_backends", "test_instance_guard"), (
    Mutant("what the API makes of a file is never asked again", INSTANCE_READ, "|| in->as_last >= READINGS_AS_LAST;", ";"),
    Mutant("what the API makes of a file is asked each time", INSTANCE_READ, "bool all = in->backend_count < MANY_BACKENDS ||", "bool all = true ||"),
    Mutant("another API makes the same of a file", INSTANCE_READ, "        in->backends[i].as_read = false; /*", "        (void)0; /*"),
    Mutant("a large file is kept", INSTANCE_READ, "file != NULL && file->len >= in->large_file_bytes;", "false;"),
    Mutant("a large file that is not there needs no review", INSTANCE, "if (all.transaction && in->file_let_go &&", "if (false &&"),
    Mutant("a large file that is needed is let go again", INSTANCE_READ, "(large && !in->file_needed)", "large"),
))
