#include "cli/command.h"

#include <getopt.h>
#include <string.h>

#include "base/str.h"
#include "cli/inspect.h"

#define TIMEOUT_MAX_MS 3600000

/* The first is for plan alone, the second not for explain, which prints text only. */
static const struct option options[] = {
    {"daemon", required_argument, NULL, 'd'},
    {"output", required_argument, NULL, 'o'},
    {"color", required_argument, NULL, 'c'},
    {"colour", required_argument, NULL, 'c'},
    {"timeout", required_argument, NULL, 't'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static const char *command_expected(int option)
{
    return option == 'o'   ? "text or json"
           : option == 'c' ? "auto, always or never"
           : option == 'd' ? "http://host:port, or none"
                           : "a duration like 30s, up to 1h";
}

/* As http_endpoint wants it; what is shown holds no password. */
static bool command_is_url(const char *value)
{
    size_t scheme = str_has_prefix(value, "http://") ? 7 : str_has_prefix(value, "https://") ? 8 : 0;
    return scheme > 0 && value[scheme] != '\0' && value[strlen(value) - 1] != '/' && strpbrk(value, "@?# \\") == NULL &&
           !str_has_control(value);
}

static int command_take_value(int option, const char *value, struct command *c)
{
    static const char *const colours[] = {
        [PAGE_COLOUR_AUTO] = "auto", [PAGE_COLOUR_ALWAYS] = "always", [PAGE_COLOUR_NEVER] = "never"};
    if (option == 'o') {
        c->json = str_eq(value, "json");
        return c->json || str_eq(value, "text") ? 0 : -1;
    }
    if (option == 'd') {
        bool none = str_eq(value, "none");
        c->daemon = none ? NULL : value;
        return none || command_is_url(value) ? 0 : -1;
    }
    if (option == 't')
        return str_parse_duration_ms(value, TIMEOUT_MAX_MS, &c->timeout_ms) == 0 && c->timeout_ms > 0 ? 0 : -1;
    for (size_t i = 0; i < array_len(colours); i++)
        if (str_eq(value, colours[i])) {
            c->colour = (enum page_colour)i;
            return 0;
        }
    return -1;
}

static int command_take_operand(const char *word, struct command *c, struct error *err)
{
    const char **place = c->kind == COMMAND_EXPLAIN                                         ? &c->node
                         : c->kind == COMMAND_TEMPLATE ? &c->operand
                         : c->kind == COMMAND_CONFIG && c->config != COMMAND_CONFIG_HISTORY ? &c->operand
                                                                                            : NULL;
    if (place == NULL || *place != NULL || *word == '\0')
        return error_set(err, ERROR_INVALID, "unexpected argument \"%s\"", word);
    *place = word;
    return 0;
}

/* getopt_long takes the beginning of a name for the whole, which would make another option of it when one is added. */
static bool command_is_cut_short(const char *word, size_t len)
{
    for (const struct option *o = options; o->name != NULL; o++)
        if (strlen(o->name) == len - 2 && strncmp(word + 2, o->name, len - 2) == 0)
            return false;
    return true;
}

static int command_take_option(int option, const char *word, struct command *c, struct error *err)
{
    bool is_long = word[1] == '-';
    size_t len = is_long ? strcspn(word, "=") : 2;
    if (option == '?' || (is_long && command_is_cut_short(word, len)))
        return error_set(err, ERROR_INVALID, "unknown option \"%s\"", word);
    if (option == ':')
        return error_set(err, ERROR_INVALID, "%s needs a value: expected %s", word, command_expected(optopt));
    if (option == 'h') {
        c->kind = COMMAND_HELP;
        return 0;
    }
    const char *value = optarg == word + 2 && *optarg == '=' ? optarg + 1 : optarg; /* -o=json */
    if (command_take_value(option, value, c) != 0)
        return error_set(err, ERROR_INVALID, "%.*s \"%s\": expected %s", (int)len, word, value,
                         command_expected(option));
    return 0;
}

/* argv[0] is plan, explain, doctor or a word of config. */
static int command_parse_options(int argc, char *const *argv, struct command *c, struct error *err)
{
    bool explain = c->kind == COMMAND_EXPLAIN;
    size_t first = c->kind == COMMAND_PLAN ? 0 : explain ? 2 : 1;
    const char *letters = explain ? "-:h" : "-:ho:"; /* in order; nothing is printed */
    int at = 1, option;
    for (optind = 0; (option = getopt_long(argc, argv, letters, options + first, NULL)) != -1; at = optind) {
        int rc = option == 1 ? command_take_operand(optarg, c, err) : command_take_option(option, argv[at], c, err);
        if (rc != 0 || c->kind == COMMAND_HELP)
            return rc;
    }
    for (; optind < argc; optind++) /* behind "--" */
        if (command_take_operand(argv[optind], c, err) != 0)
            return -1;
    if (explain && c->node == NULL)
        return error_set(err, ERROR_INVALID, "explain needs the name of a node: haproxy-k8s-sync explain NODE");
    return 0;
}

static int command_check_operand(const struct command *c, struct error *err)
{
    uint64_t number;
    if (c->kind != COMMAND_CONFIG)
        return 0;
    if (c->config == COMMAND_CONFIG_VALIDATE && c->operand == NULL)
        return error_set(err, ERROR_INVALID, "config validate needs a file: haproxy-k8s-sync config validate FILE");
    if (c->config == COMMAND_CONFIG_ROLLBACK && c->operand != NULL &&
        (str_parse_uint(c->operand, UINT32_MAX, &number) != 0 || number == 0))
        return error_set(err, ERROR_INVALID,
                         "config rollback \"%s\": expected the number of a version, see config history", c->operand);
    return 0;
}

/* argv[0] is config. */
static int command_parse_config(int argc, char *const *argv, struct command *c, struct error *err)
{
    static const char *const words[] = {[COMMAND_CONFIG_PLAN] = "plan",
                                        [COMMAND_CONFIG_VALIDATE] = "validate",
                                        [COMMAND_CONFIG_APPLY] = "apply",
                                        [COMMAND_CONFIG_HISTORY] = "history",
                                        [COMMAND_CONFIG_ROLLBACK] = "rollback"};
    for (size_t i = 0; argc > 1 && i < array_len(words); i++)
        if (str_eq(argv[1], words[i])) {
            c->config = (enum command_config)i;
            int rc = command_parse_options(argc - 1, argv + 1, c, err);
            return rc == 0 ? command_check_operand(c, err) : rc;
        }
    if (argc > 1 && (str_eq(argv[1], "--help") || str_eq(argv[1], "-h"))) {
        c->kind = COMMAND_HELP;
        return 0;
    }
    return error_set(err, ERROR_INVALID, "config needs one of plan, validate, apply, history and rollback%s%s%s",
                     argc > 1 ? ", not \"" : "", argc > 1 ? argv[1] : "", argc > 1 ? "\"" : "");
}

/* argv[0] is template. */
static int command_parse_template(int argc, char *const *argv, struct command *c, struct error *err)
{
    static const char *const words[] = {[COMMAND_TEMPLATE_RENDER] = "render"};
    for (size_t i = 0; argc > 1 && i < array_len(words); i++)
        if (str_eq(argv[1], words[i])) {
            c->template = (enum command_template)i;
            int rc = command_parse_options(argc - 1, argv + 1, c, err);
            if (rc == 0 && c->kind != COMMAND_HELP && c->operand == NULL)
                return error_set(err, ERROR_INVALID, "template %s needs a folder: haproxy-k8s-sync template %s DIR", words[i],
                                 words[i]);
            return rc;
        }
    return error_set(err, ERROR_INVALID, "template needs one of render%s%s%s", argc > 1 ? ", not \"" : "",
                     argc > 1 ? argv[1] : "", argc > 1 ? "\"" : "");
}

int command_parse(int argc, char *const *argv, struct command *ret, struct error *err)
{
    static const struct {
        const char *word;
        enum command_kind kind;
    } kinds[] = {
        {"--help", COMMAND_HELP},       {"-h", COMMAND_HELP},
        {"--version", COMMAND_VERSION}, {"-V", COMMAND_VERSION},
        {"plan", COMMAND_PLAN},         {"explain", COMMAND_EXPLAIN},
        {"doctor", COMMAND_DOCTOR},     {"check-config", COMMAND_CHECK_CONFIG},
        {"config", COMMAND_CONFIG},     {"copy-to", COMMAND_COPY_TO},
        {"template", COMMAND_TEMPLATE},
    };
    *ret = (struct command){.kind = COMMAND_RUN, .daemon = "", .timeout_ms = INSPECT_TIMEOUT_MS};
    for (size_t i = 0; argc > 1 && i < array_len(kinds); i++)
        if (str_eq(argv[1], kinds[i].word))
            ret->kind = kinds[i].kind;
    if (argc > 1 && ret->kind == COMMAND_RUN)
        return error_set(err, ERROR_INVALID, "unknown argument \"%s\"", argv[1]);
    if (ret->kind == COMMAND_PLAN || ret->kind == COMMAND_EXPLAIN || ret->kind == COMMAND_DOCTOR)
        return command_parse_options(argc - 1, argv + 1, ret, err);
    if (ret->kind == COMMAND_CONFIG)
        return command_parse_config(argc - 1, argv + 1, ret, err);
    if (ret->kind == COMMAND_TEMPLATE)
        return command_parse_template(argc - 1, argv + 1, ret, err);
    bool copies = ret->kind == COMMAND_COPY_TO;
    if (copies && (argc < 3 || *argv[2] == '\0'))
        return error_set(err, ERROR_INVALID, "copy-to needs a folder: haproxy-k8s-sync copy-to FOLDER");
    ret->operand = copies ? argv[2] : NULL;
    if (argc > (copies ? 3 : 2))
        return error_set(err, ERROR_INVALID, "unknown argument \"%s\"", argv[copies ? 3 : 2]);
    return 0;
}
