"""The names that settings have with an operator, as variables and as flags; a Secret's bytes and annotations."""

from .mutant import Mutant, room

ALIASES = "settings/environment.c"
PARSE = "settings/parse.c"
FLAGS = "cli/flags.c"
SECRET = "kube/decode/decode_secret.c"

room("settings, aliases", ("test_aliases",), (
    Mutant("aliases count without MODE", ALIASES, "row->alias != NULL && aliases_count(env) ?", "row->alias != NULL ?"),
    Mutant("words that are none of the operator's are ours", ALIASES, "        return mem_strdup(\"\"); /* it is none of them */\n", "        return mem_strdup(value);\n"),
    Mutant("the operator's URL keeps its path", ALIASES, "    bool path = slash == 1 || ", "    bool path = false && "),
    Mutant("a port has to be named", ALIASES, "? \":443\"\n", "? \"\"\n"),
    Mutant("a port is given twice", ALIASES, "bool has_port = memchr(host + address, ':', authority - address) != NULL;", "bool has_port = false;"),
    Mutant("an address of IPv6 has a port", ALIASES, "host[0] == '[' ? strcspn(host, \"]\") : 0", "0"),
    Mutant("two values of one setting pass", ALIASES, "        if (!str_eq(own, translated))\n", "        if (false)\n"),
    Mutant("its API server is passed over in silence", ALIASES, "    if (aliases_count(env) && !str_empty(environment_get(env, \"KUBE_APISERVER\")))", "    if (false)"),
    Mutant("its defaults do not count", PARSE, "bool alias = s->beside_mode && row->alias_fallback != NULL", "bool alias = false && row->alias_fallback != NULL"),
    Mutant("in local mode the API is elsewhere", PARSE, "!(row == SETTING(dataplanes) && s->config_source == SETTINGS_CONFIG_FILE)", "true"),
    Mutant("its secrets stay in the environment", PARSE, "        if (row->or_file && row->alias != NULL)\n", "        if (false)\n"),
))
TYPES = "settings/types.c"
room("settings, from elsewhere", ("test_settings", "test_services"), (
    Mutant("a proxy of the environment is passed over in silence", PARSE, "!str_empty(environment_get(env, proxies[i]))", "false"),
    Mutant("all namespaces are one in silence", PARSE, "    if (namespace != NULL && namespace[0] == '\\0' && s->mapping_count > 0 &&", "    if (false &&"),
    Mutant("an empty namespace counts beside a list", PARSE, " &&\n        !setting_is_given(s, SETTING(ingress_services)))", ")"),
    Mutant("what cannot be off is refused without a word", TYPES, "    if (is_duration && ms == 0 && row->min > 0)\n", "    if (false)\n"),
    Mutant("what may be off cannot be", TYPES, "    if (is_duration && ms == 0 && row->min > 0)\n", "    if (is_duration && ms == 0)\n"),
    Mutant("port 0 has no fix", TYPES, "    if (is_number && number == 0 && row->min > 0 && row->unset != NULL)\n", "    if (false)\n"),
))
room("command line, flags", ("test_flags",), (
    Mutant("a flag that is none here has no fix", FLAGS, "        if (str_has_prefix(word, refused[i].begin))\n", "        if (false)\n"),
    Mutant("a secret may be a flag", FLAGS, "{\"dataplane-password\", ", "{\"dataplane-passwort\", "),
    Mutant("a switch takes the next word", FLAGS, ": is_switch ? \"true\" : *at", ": *at"),
    Mutant("of two flags the first counts", FLAGS, "        mem_free_all(f->given[at].word, f->environment[at]);\n    } else {", "        free(f->given[at].word);\n        f->given[at].word = mem_strdup(word);\n        return;\n    } else {"),
    Mutant("a flag is one behind --, too", FLAGS, "        over = over || str_eq(argv[at], \"--\");\n", ""),
    Mutant("the next flag is a value", FLAGS, " || (word[len] != '=' && value[0] == '-')", ""),
    Mutant("a variable is stronger than a flag", FLAGS, "    memcpy(f.environment + f.count, environ_, variables * sizeof(*f.environment));\n", "    memmove(f.environment + variables, f.environment, f.count * sizeof(*f.environment));\n    memcpy(f.environment, environ_, variables * sizeof(*f.environment));\n"),
))
room("kube, Secrets", ("test_decode_secret",), (
    Mutant("the operator's annotation does not pause", SECRET, "\"haproxy-k8s-sync/paused\", SECRET_ANNOTATIONS \"paused\"", "\"haproxy-k8s-sync/paused\", \"haproxy-k8s-sync/paused\""),
    Mutant("the last annotation alone pauses", SECRET, "s->paused = s->paused || on;", "s->paused = on;"),
    Mutant("what is no base64 is empty", SECRET, "    if (bytes == NULL)\n        return error_set", "    if (bytes == NULL)\n        bytes = mem_alloc(1);\n    if (false)\n        return error_set"),
    Mutant("foreign annotations are kept", SECRET, "yyjson_is_str(value) && str_has_prefix(", "yyjson_is_str(value) || str_has_prefix("),
))
