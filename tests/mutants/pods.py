"""What an older system's templates see: which pods, which services, which halves of certificates."""

from .mutant import Mutant, room

PODS = "template/pods.c"
STORED = "template/render.c"
OBJECTS = "template/objects.c"

room("template, pods", ("test_pods",), (
    Mutant("a pod without an address is a server", PODS, "str_empty(yyjson_get_str(yyjson_obj_get(status, \"podIP\"))) || ", ""),
    Mutant("one ready container suffices", PODS, "        if (!yyjson_get_bool(yyjson_obj_get(one, \"ready\")))\n            return false;\n    return true;", "        if (yyjson_get_bool(yyjson_obj_get(one, \"ready\")))\n            return true;\n    return false;"),
    Mutant("pods of another namespace are servers", PODS, "str_eq(pod->namespace, namespace) && ", ""),
    Mutant("a requirement that differs is the same", PODS, " == (requirement[len] == '=')", ""),
    Mutant("notin is in", PODS, " == str_has_prefix(word, \"in\")", ""),
    Mutant("an empty selector is of all pods", PODS, "yyjson_get_len(selector) == 0 ? ", "false ? "),
    Mutant("one broken service takes the others with it", PODS, "            pods_leave_out(p, PODS_SERVICES, values[i]->key, wrong);\n", "            yyjson_doc_free(service);\n            break;\n"),
    Mutant("a certificate goes before its key", PODS, "        buf_addn(&pem, key->bytes, key->len);\n", "        buf_addn(&pem, certificate->bytes, certificate->len);\n        buf_addn(&pem, key->bytes, key->len);\n"),
    Mutant("a name leads out of the folder", PODS, "strchr(name, '/') != NULL || ", ""),
    Mutant("credentials are in env", PODS, " && !is_credential(*env, len)", ""),
    Mutant("a password that is not set is none", PODS, "    if (view->statistics_password == NULL)\n", "    if (false)\n"),
    Mutant("a namespace leads to another path", PODS, "name_check_label(namespace, &note) != 0", "false && name_check_label(namespace, &note) != 0"),
    Mutant("no service is all pods of the cluster", PODS, "    if (p->namespace_count == 0)", "    if (false)"),
    Mutant("a namespace is watched for each service", PODS, "        if (str_eq(p->namespaces[i], namespace))\n            return \"\";\n", ""),
    Mutant("any number of namespaces", PODS, "    if (p->namespace_count == array_len(p->namespaces))\n        return", "    if (p->namespace_count == array_len(p->namespaces))\n        p->namespace_count--;\n    if (false)\n        return"),
    Mutant("a certificate that HAProxy cannot use stays", PODS, "        if (wrong == NULL) {\n", "        if (true) {\n"),
    Mutant("the last line break stays", PODS, "    p->set->keep_newline = false;\n", ""),
))
room("template, paths of what is stored", ("test_stored_paths",), (
    Mutant("the end of another path", STORED, "bool whole = hit == text || !storage_is_of_name(hit[-1]);", "bool whole = true;"),
    Mutant("what is stored elsewhere is where it was", STORED, "(f->place != f->kind || !str_eq(f->name, f->stored))", "!str_eq(f->name, f->stored)"),
    Mutant("maps, too", STORED, "f->kind == STORAGE_CERTIFICATE && ", ""),
))
room("template, what is left out", ("test_template_objects",), (
    Mutant("an object is left out each time", OBJECTS, "if (found == NULL || found->left_out)", "if (found == NULL)"),
    Mutant("what is left out is seen", OBJECTS, "            if (!r->objects[k].left_out)\n", ""),
    Mutant("what is left out is found by its key", OBJECTS, "        r->list_count = left;\n        resource_forget_index(r);\n", "        r->list_count = left;\n"),
))
