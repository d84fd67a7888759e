"""Template sets: paths, what is kept of an object, set.yaml, its tests and what they assert, haproxy -c over what was rendered."""

from .mutant import Mutant, room

PATH = "template/json_path.c"
KEEP = "template/keep.c"
KEYS = "template/set_keys.c"
SET = "template/set.c"
TESTS = "template/set_tests.c"
ASSERTIONS = "template/assertions.c"
TRIAL = "template/trial.c"

room("templates, paths", ("test_json_path",), (
    Mutant("a backslash is a part of the name", PATH, "        if (*at == '\\\\' && at[1] != '\\0')\n            at++;\n", ""),
    Mutant("a path has any number of steps", PATH, "        if (p->count == MAX_STEPS)\n", "        if (false)\n"),
    Mutant("any index", PATH, "if (index > MAX_INDEX || *end != ']')", "if (*end != ']')"),
    Mutant("an empty name in quotes", PATH, "end == NULL || end == at + 1 || end[1]", "end == NULL || end[1]"),
    Mutant("each of a mapping is none", PATH, "            yyjson_obj_foreach (at, i, max, key, element)\n                if (!json_path_walk(p, step + 1, element, fn, arg))\n                    return false;\n", "            (void)key;\n"),
    Mutant("a walk cannot stop", PATH, "                if (!json_path_walk(p, step + 1, element, fn, arg))\n                    return false;\n            yyjson_obj_foreach", "                (void)json_path_walk(p, step + 1, element, fn, arg);\n            yyjson_obj_foreach"),
))
room("templates, what is kept", ("test_template_keep",), (
    Mutant("what distinguishes an object from others is dropped", KEEP, "    keep_identity(doc, root, from);\n    yyjson_mut_doc_set_root", "    yyjson_mut_doc_set_root"),
    Mutant("managedFields stay", KEEP, "        yyjson_mut_obj_remove_str(kept, \"managedFields\");\n", ""),
    Mutant("what kubectl applied stays", KEEP, "        yyjson_mut_obj_remove_str(annotations, ", "        yyjson_mut_obj_remove_str(kept, "),
    Mutant("a path to one element keeps all", KEEP, "bool leads = s->kind == STEP_EACH || s->index == i;", "bool leads = true;"),
    Mutant("a path behind a scalar makes it a mapping", KEEP, "    if (!yyjson_is_ctn(value))\n        return there;", "    if (false)\n        return there;"),
    Mutant("a second path forgets the first", KEEP, "    if (there == NULL)\n        there = keep_container", "    if (true)\n        there = keep_container"),
    Mutant("an element that is dropped moves the others", KEEP, "yyjson_mut_arr_replace(at, s->index, yyjson_mut_null(doc));", "yyjson_mut_arr_remove(at, s->index);"),
    Mutant("an object needs no name", KEEP, "json_need_string(metadata, \"name\"", "json_get_string(metadata, \"name\""),
    Mutant("one namespace's object is another's", KEEP, "namespace[0] != '\\0' ? mem_printf", "false ? mem_printf"),
    Mutant("drop has no effect", KEEP, "i < w->drop.count", "i < 0 * w->drop.count"),
))
room("templates, sets", ("test_template_set", "test_template_set_tests"), (
    Mutant("a key by two of its names", KEYS, "    if (given->key != NULL)\n", "    if (false)\n"),
    Mutant("a key twice", KEYS, "        if (twice != 0)\n", "        if (false)\n"),
    Mutant("a letter is meant by any name", KEYS, "bool tiny = strlen(name) < NAME_WITHIN_MIN ||", "bool tiny = false &&"),
    Mutant("null is a text", KEYS, "    if (p->value->kind != NODE_SCALAR || yaml_node_is_null(p->value))\n        return set_wrong(p->value, err, \"%s: expected a text\", p->key);\n    free", "    if (p->value->kind != NODE_SCALAR)\n        return set_wrong(p->value, err, \"%s: expected a text\", p->key);\n    free"),
    Mutant("match_labels is a label", KEYS, "value->kid_count == 2 && value->kids[1]->kind == NODE_MAPPING &&", "false &&"),
    Mutant("the line of a YAML error is lost", SET, "*end == ':' ? error_set(", "false ? error_set("),
    Mutant("a file may be called ../x", SET, "name[strspn(name, STORAGE_NAME_ALPHABET)] != '\\0' ||", ""),
    Mutant("a file may be hidden", SET, "name[0] == '\\0' || name[0] == '.' ||", "name[0] == '\\0' ||"),
    Mutant("two files are stored as one", SET, "        if (str_eq(a, b))\n", "        if (false)\n"),
    Mutant("two templates of one name", SET, "        if (str_eq(other->source, t->source))\n", "        if (false)\n"),
    Mutant("extra hides resources", SET, "str_eq(p->key, \"resources\") ||", ""),
    Mutant("targets twice", SET, "    if (s->targets.port != 0)\n", "    if (false)\n"),
    Mutant("targets without a selector", SET, "return !str_empty(s->targets.label_selector) ?", "return true ?"),
    Mutant("templates have any bytes", SET, " || text_utf8_len(f->bytes, f->len) != f->len)", ")"),
    Mutant("a NUL ends a template", SET, "memchr(f->bytes, '\\0', f->len) != NULL || ", ""),
    Mutant("a file beside set.yaml is lost", SET, "(file[len] == '/' || file[len] == '_')", "file[len] == '_'"),
    Mutant("a group of a group", SET, " && strchr(slash + 1, '/') == NULL);", ");"),
    Mutant("a watch without a kind", SET, "w->api_version == NULL || (w->kind == NULL && w->plural == NULL)", "w->api_version == NULL"),
    Mutant("a watch has any name", SET, " || strspn(p->key, DIGITS \"-\") > 0)", ")"),
    Mutant("what all watches ignore is kept", SET, "rc == 0 && i < s->watch_count", "false"),
))
room("templates, tests of sets", ("test_template_set_tests", "test_template_set"), (
    Mutant("what an assertion needs may be missing", TESTS, "if ((row->needs & bit) != 0 && (given & bit) == 0)", "if (false)"),
    Mutant("what an assertion does not compare may be there", TESTS, "if (((row->needs | row->takes) & bit) == 0 && (given & bit) != 0)", "if (false)"),
    Mutant("a target may be anything", TESTS, "    if (str_eq(a->target, \"haproxy.cfg\"))\n", "    if (true)\n"),
    Mutant("cert: is no certificate", TESTS, "str_has_prefix(a->target, \"cert:\")", "false"),
    Mutant("a fixture needs no name", TESTS, "        if (own == NULL || own->kind != NODE_SCALAR || yaml_node_is_null(own))\n", "        if (false)\n"),
    Mutant("fixtures of what is not watched", TESTS, "    if (template_set_find_watch(s, p->key) == NULL) {\n", "    if (false) {\n"),
    Mutant("two tests of one name", TESTS, ": template_set_test(s, p->key) != NULL;", ": false;"),
    Mutant("assertions for all tests", TESTS, "    if (r->global)\n", "    if (false)\n"),
    Mutant("expected is no count", TESTS, "if (a->kind == ASSERT_MATCH_COUNT && (given", "if (false && (given"),
))
room("templates, fixtures", ("test_template_objects",), (
    Mutant("a fixture of another set is an error, too", TRIAL, "        if (w == NULL && others)\n", "        if (false)\n"),
    Mutant("a fixture of nothing is passed over", TRIAL, "        if (w == NULL && others)\n", "        if (w == NULL)\n"),
    Mutant("a fixture that is no list", TRIAL, "        if (!yyjson_is_arr(list))\n", "        if (false)\n"),
))
room("templates, assertions", ("test_template_assertions",), (
    Mutant("contains is not_contains", ASSERTIONS, "found == (a->kind == ASSERT_CONTAINS)", "found == (a->kind != ASSERT_CONTAINS)"),
    Mutant("^ is the beginning of the text alone", ASSERTIONS, "REG_EXTENDED | REG_NEWLINE", "REG_EXTENDED"),
    Mutant("each match begins a line", ASSERTIONS, "within ? REG_NOTBOL : 0", "0"),
    Mutant("order is no matter", ASSERTIONS, "            from += at.rm_eo;\n", ""),
    Mutant("a part is equal", ASSERTIONS, "    if (same == f->len && same == len)\n", "    if (same == f->len || same == len)\n"),
    Mutant("a certificate is shown", ASSERTIONS, "    if (f->kind == ENGINE_CERTIFICATE)\n", "    if (false)\n"),
    Mutant("a path to nothing holds", ASSERTIONS, "    if (found == NULL)\n        return mem_printf(\"%s: the path", "    if (found == NULL)\n        return NULL;\n    if (false)\n        return mem_printf(\"%s: the path"),
    Mutant("any value is expected", ASSERTIONS, "return str_eq(is, a->expected)", "return true"),
    Mutant("a render that went well is an error", ASSERTIONS, "    if (s->rendered != NULL)\n        return mem_strdup(\"the render did not fail\");\n", ""),
    Mutant("any error", ASSERTIONS, "    if (r == NULL || regex_next(r, s->error, false, &at))\n", "    if (true || regex_next(r, s->error, false, &at))\n"),
    Mutant("an unknown target is haproxy.cfg", ASSERTIONS, "        if (str_eq(name, target)) {", "        if (true || str_eq(name, target)) {"),
    Mutant("matches of nothing are one", ASSERTIONS, "if (at.rm_eo == at.rm_so && *text++ == '\\0')", "if (at.rm_eo == at.rm_so)"),
    Mutant("two renders may differ", ASSERTIONS, "x->len == y->len && memcmp(x->bytes, y->bytes, x->len) == 0 ? NULL", "true ? NULL"),
    Mutant("two renders may give more files", ASSERTIONS, "return a->file_count == b->file_count ? NULL", "return true ? NULL"),
))
room("templates, trials", ("test_template_trial",), (
    Mutant("the fixtures of all are lost", TRIAL, "{fixtures->global_fixtures, test", "{NULL, test"),
    Mutant("the fixtures of a test are lost", TRIAL, "test != NULL ? test->fixtures : NULL}", "NULL}"),
    Mutant("an error passes where nothing is asserted of it", TRIAL, "t.subject.rendered == NULL && trial_is_rendered(test)", "false"),
    Mutant("an error that is expected fails", TRIAL, "t.subject.rendered == NULL && trial_is_rendered(test)", "t.subject.rendered == NULL"),
    Mutant("what was skipped has passed", TRIAL, "trial_found(t->result, a, TRIAL_SKIPPED, ", "trial_found(t->result, a, TRIAL_PASSED, "),
    Mutant("HAPROXY_BIN does not count", TRIAL, "str_empty(given) ? \"haproxy\" : given;", "\"haproxy\";"),
    Mutant("PATH may be relative", TRIAL, "folder[0] == '/' && access(program, X_OK) == 0", "folder[0] == '/'"),
    Mutant("a haproxy that is named and not there is none", TRIAL, "mem_strdup(str_empty(given) ? NULL : given)", "mem_strdup(NULL)"),
))
room("templates, what a render's process wrote", ("test_rendered",), (
    Mutant("any kind of file", "template/render.c", "head.kind <= ENGINE_FILE", "true"),
    Mutant("any resource", "template/render.c", "head.resource < objects_resource_count(objects)", "true"),
    Mutant("the object of an error may be of any resource", "template/render.c", "head.what < ENGINE_ERROR || head.len[WIRE_OBJECT] > 0", "head.what < ENGINE_ERROR"),
    Mutant("any record", "template/render.c", "head.what <= ENGINE_PLACED &&", "true &&"),
    Mutant("that places depend on what was before is said of an object", "template/render.c", "} else if (head->what == ENGINE_PLACED) {", "} else if (false) {"),
    Mutant("owners of hosts are said of an object", "template/render.c", "} else if (head->what == ENGINE_OWNERS) {", "} else if (false) {"),
))
room("protections of other controllers", ("test_protection",), (
    Mutant("a part of a domain is the domain", "model/protection.c", "(len == own || annotation[len - own - 1] == '.');", "true;"),
    Mutant("any domain asks", "model/protection.c", "bool known = false, asks = false;", "bool known = slash != NULL, asks = false;"),
    Mutant("what is switched off asks", "model/protection.c", "asks = !str_eq(value, off[i]);", "asks = value != off[i];"),
    Mutant("any annotation of a controller asks", "model/protection.c", "asks = str_has_prefix(slash + 1, beginnings[i]);", "asks = true;"),
    Mutant("limits for each client do not count", "model/protection.c", '"limit-rp",', ""),
    Mutant("lists do not count", "model/protection.c", '"allow",', ""),
))
room("templates, the index of objects", ("test_template_objects",), (
    Mutant("only all keys find", "template/objects.c", "memcmp(row->keys, keys, row->len < len ? row->len : len)", "memcmp(row->keys, keys, row->len > len ? row->len : len)"),
    Mutant("the order of a key's objects is chance", "template/objects.c", "(x->order > y->order) - (x->order < y->order)", "(x->order < y->order) - (x->order > y->order)"),
))
room("memory that ends together", ("test_arena",), (
    Mutant("what was cut before is cut off again", "base/arena.c", "a->last == NULL || at < a->last || at > a->next", "a->last == NULL || at > a->next"),
    Mutant("nothing is nowhere", "base/arena.c", "if (size > a->left || a->blocks == NULL)", "if (size > a->left)"),
    Mutant("what is given back is left", "base/arena.c", "    a->left += (size_t)(a->next - next);\n    a->next = next;\n", "    (void)next;\n"),
))
room("templates, folders", ("test_template_folder",), (
    Mutant("a folder may have one byte more", "template/folder.c", "rc == 0 ? bytes.len > left :", "rc == 0 ? bytes.len > left + 1 :"),
))
