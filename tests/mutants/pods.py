"""What an older system's templates see: which pods, which services, which halves of certificates."""

from .mutant import Mutant, Room

PODS = "template/pods.c"

MUTANTS = (
    Mutant("a pod without an address is a server", PODS, "str_empty(yyjson_get_str(yyjson_obj_get(status, \"podIP\"))) || ", ""),
    Mutant("one ready container suffices", PODS, "        if (!yyjson_get_bool(yyjson_obj_get(one, \"ready\")))\n            return false;\n    return true;", "        if (yyjson_get_bool(yyjson_obj_get(one, \"ready\")))\n            return true;\n    return false;"),
    Mutant("pods of another namespace are servers", PODS, "str_eq(pod->namespace, namespace) && ", ""),
    Mutant("a requirement that differs is the same", PODS, " == (requirement[len] == '=')", ""),
    Mutant("notin is in", PODS, " == str_has_prefix(word, \"in\")", ""),
    Mutant("an empty selector is of all pods", PODS, "yyjson_get_len(selector) == 0 ? ", "false ? "),
    Mutant("one broken service takes the others with it", PODS, "            pods_leave_out(p, \"ConfigMap services\", name, wrong);\n", "            break;\n"),
    Mutant("a certificate goes before its key", PODS, "    buf_addn(&pem, key, key_len);\n", "    buf_add(&pem, certificate);\n    buf_addn(&pem, key, key_len);\n"),
    Mutant("a name leads out of the folder", PODS, "strchr(name, '/') != NULL || ", ""),
    Mutant("credentials are in env", PODS, " && !is_credential(*env, len)", ""),
    Mutant("a password that is not set is none", PODS, "    if (in->statistics_password == NULL)\n", "    if (false)\n"),
    Mutant("the last line break stays", PODS, "    p->set->keep_newline = false;\n", ""),
)

ROOMS = (Room("template, pods", ("test_pods",), MUTANTS),)
