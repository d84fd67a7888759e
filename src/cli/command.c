#include "cli/command.h"

#include <getopt.h>
#include <string.h>

#include "base/str.h"
#include "cli/inspect.h"

#define TIMEOUT_MAX_MS 3600000

/* The first is for plan alone, the second not for explain and services, which print text only. */
static const struct option options[] = {
    {"daemon", required_argument, NULL, 'd'},
    {"output", required_argument, NULL, 'o'},
    {"color", required_argument, NULL, 'c'},
    {"colour", required_argument, NULL, 'c'},
    {"timeout", required_argument, NULL, 't'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static const struct option release_options[] = {
    {"servers", no_argument, NULL, 's'},      {"yes", no_argument, NULL, 'y'},
    {"daemon", required_argument, NULL, 'd'}, {"color", required_argument, NULL, 'c'},
    {"colour", required_argument, NULL, 'c'}, {"timeout", required_argument, NULL, 't'},
    {"help", no_argument, NULL, 'h'},         {0},
};

static const struct option template_options[] = {
    {"output", required_argument, NULL, 'o'},
    {"color", required_argument, NULL, 'c'},
    {"colour", required_argument, NULL, 'c'},
    {"timeout", required_argument, NULL, 't'},
    {"test", required_argument, NULL, 'T'},
    {"against", required_argument, NULL, 'a'},
    {"count", required_argument, NULL, 'n'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

#define COUNT_MAX 100000

static const struct option *command_options(const struct command *c)
{
    return c->kind == COMMAND_TEMPLATE  ? template_options
           : c->kind == COMMAND_RELEASE ? release_options
                                        : options + (c->kind == COMMAND_PLAN                                     ? 0
                                                     : c->kind == COMMAND_EXPLAIN || c->kind == COMMAND_SERVICES ? 2
                                                                                                                 : 1);
}

static bool command_takes_junit(const struct command *c)
{
    return c->kind == COMMAND_TEMPLATE && c->template == COMMAND_TEMPLATE_TEST;
}

static const char *command_expected(int option, const struct command *c)
{
    return option == 'o'   ? command_takes_junit(c) ? "text, junit or json" : "text or json"
           : option == 'T' ? "the name of a test"
           : option == 'a' ? "a folder with a template set, or a file"
           : option == 'n' ? "a number from 1 to 100000"
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
        c->junit = command_takes_junit(c) && str_eq(value, "junit");
        return c->json || c->junit || str_eq(value, "text") ? 0 : -1;
    }
    if (option == 'T' || option == 'a') {
        *(option == 'T' ? &c->test : &c->against) = value;
        return *value != '\0' ? 0 : -1;
    }
    if (option == 'n')
        return str_parse_uint(value, COUNT_MAX, &c->count) == 0 && c->count > 0 ? 0 : -1;
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
                         : c->kind == COMMAND_TEMPLATE                                      ? &c->operand
                         : c->kind == COMMAND_SERVICES                                      ? &c->operand
                         : c->kind == COMMAND_CONFIG && c->config != COMMAND_CONFIG_HISTORY ? &c->operand
                                                                                            : NULL;
    if (place == NULL || *place != NULL || *word == '\0')
        return error_set(err, ERROR_INVALID, "unexpected argument \"%s\"", word);
    *place = word;
    return 0;
}

/* getopt_long takes the beginning of a name for the whole, which would make another option of it when one is added. */
static bool command_is_cut_short(const char *word, size_t len, const struct command *c)
{
    for (const struct option *o = command_options(c); o->name != NULL; o++)
        if (strlen(o->name) == len - 2 && strncmp(word + 2, o->name, len - 2) == 0)
            return false;
    return true;
}

static int command_take_option(int option, const char *word, struct command *c, struct error *err)
{
    bool is_long = word[1] == '-';
    size_t len = is_long ? strcspn(word, "=") : 2;
    if (option == '?' || (is_long && command_is_cut_short(word, len, c)))
        return error_set(err, ERROR_INVALID, "unknown option \"%s\"", word);
    if (option == ':')
        return error_set(err, ERROR_INVALID, "%s needs a value: expected %s", word, command_expected(optopt, c));
    if (option == 'h') {
        c->kind = COMMAND_HELP;
        return 0;
    }
    if (option == 's' || option == 'y') {
        *(option == 's' ? &c->servers : &c->yes) = true;
        return 0;
    }
    const char *value = optarg == word + 2 && *optarg == '=' ? optarg + 1 : optarg; /* -o=json */
    if (command_take_value(option, value, c) != 0)
        return error_set(err, ERROR_INVALID, "%.*s \"%s\": expected %s", (int)len, word, value,
                         command_expected(option, c));
    return 0;
}

/* argv[0] is plan, explain, doctor or a word of config or template. */
static int command_parse_options(int argc, char *const *argv, struct command *c, struct error *err)
{
    bool explain = c->kind == COMMAND_EXPLAIN;
    const char *letters = explain || c->kind == COMMAND_SERVICES || c->kind == COMMAND_RELEASE
                              ? "-:h"
                              : "-:ho:"; /* in order; nothing is printed */
    int at = 1, option;
    for (optind = 0; (option = getopt_long(argc, argv, letters, command_options(c), NULL)) != -1; at = optind) {
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

static const char *const template_words[] = {
    [COMMAND_TEMPLATE_RENDER] = "render",       [COMMAND_TEMPLATE_TEST] = "test",
    [COMMAND_TEMPLATE_DIFF] = "diff",           [COMMAND_TEMPLATE_VALIDATE] = "validate",
    [COMMAND_TEMPLATE_BENCHMARK] = "benchmark", [COMMAND_TEMPLATE_SCHEMA] = "schema",
};

/* What one of its words does not take, or cannot do without. */
static int command_check_template(const struct command *c, struct error *err)
{
    const char *word = template_words[c->template];
    bool diff = c->template == COMMAND_TEMPLATE_DIFF;
    if (c->operand == NULL && c->template != COMMAND_TEMPLATE_SCHEMA)
        return error_set(err, ERROR_INVALID, "template %s needs a folder: haproxy-k8s-sync template %s DIR%s", word,
                         word, diff ? " --against OTHER" : "");
    if (diff != (c->against != NULL))
        return error_set(err, ERROR_INVALID,
                         diff ? "template %s needs --against, a folder or a file" : "template %s takes no --against",
                         word);
    if (c->count != 0 && c->template != COMMAND_TEMPLATE_BENCHMARK)
        return error_set(err, ERROR_INVALID, "template %s takes no --count", word);
    if (c->template == COMMAND_TEMPLATE_SCHEMA && (c->json || c->test != NULL))
        return error_set(err, ERROR_INVALID, "template schema takes no options");
    return 0;
}

/* argv[0] is template. */
static int command_parse_template(int argc, char *const *argv, struct command *c, struct error *err)
{
    for (size_t i = 0; argc > 1 && i < array_len(template_words); i++)
        if (str_eq(argv[1], template_words[i])) {
            c->template = (enum command_template)i;
            if (command_parse_options(argc - 1, argv + 1, c, err) != 0)
                return -1;
            return c->kind == COMMAND_HELP ? 0 : command_check_template(c, err);
        }
    if (argc > 1 && (str_eq(argv[1], "--help") || str_eq(argv[1], "-h"))) {
        c->kind = COMMAND_HELP;
        return 0;
    }
    return error_set(err, ERROR_INVALID,
                     "template needs one of render, test, diff, validate, benchmark and schema%s%s%s",
                     argc > 1 ? ", not \"" : "", argc > 1 ? argv[1] : "", argc > 1 ? "\"" : "");
}

static int command_check_services(const struct command *c, struct error *err)
{
    const char *slash = c->operand != NULL ? strchr(c->operand, '/') : NULL;
    if (c->services == COMMAND_SERVICES_VIEW && c->operand != NULL)
        return error_set(err, ERROR_INVALID, "unexpected argument \"%s\"", c->operand);
    if (c->services == COMMAND_SERVICES_EXPLAIN && (slash == NULL || slash == c->operand || slash[1] == '\0'))
        return error_set(err, ERROR_INVALID,
                         "services explain needs a Service: haproxy-k8s-sync services explain NAMESPACE/NAME");
    return 0;
}

/* argv[0] is services. */
static int command_parse_services(int argc, char *const *argv, struct command *c, struct error *err)
{
    static const char *const words[] = {[COMMAND_SERVICES_VIEW] = "view", [COMMAND_SERVICES_EXPLAIN] = "explain"};
    for (size_t i = 0; argc > 1 && i < array_len(words); i++)
        if (str_eq(argv[1], words[i])) {
            c->services = (enum command_services)i;
            if (command_parse_options(argc - 1, argv + 1, c, err) != 0)
                return -1;
            return c->kind == COMMAND_HELP ? 0 : command_check_services(c, err);
        }
    if (argc > 1 && (str_eq(argv[1], "--help") || str_eq(argv[1], "-h"))) {
        c->kind = COMMAND_HELP;
        return 0;
    }
    return error_set(err, ERROR_INVALID, "services needs one of view and explain%s%s%s", argc > 1 ? ", not \"" : "",
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
        {"template", COMMAND_TEMPLATE}, {"services", COMMAND_SERVICES},
        {"release", COMMAND_RELEASE},   {"apply", COMMAND_APPLY},
    };
    *ret = (struct command){.kind = COMMAND_RUN, .daemon = "", .timeout_ms = INSPECT_TIMEOUT_MS};
    for (size_t i = 0; argc > 1 && i < array_len(kinds); i++)
        if (str_eq(argv[1], kinds[i].word))
            ret->kind = kinds[i].kind;
    if (argc > 1 && ret->kind == COMMAND_RUN)
        return error_set(err, ERROR_INVALID, "unknown argument \"%s\"", argv[1]);
    if (ret->kind == COMMAND_PLAN || ret->kind == COMMAND_EXPLAIN || ret->kind == COMMAND_DOCTOR ||
        ret->kind == COMMAND_RELEASE)
        return command_parse_options(argc - 1, argv + 1, ret, err);
    if (ret->kind == COMMAND_CONFIG)
        return command_parse_config(argc - 1, argv + 1, ret, err);
    if (ret->kind == COMMAND_TEMPLATE)
        return command_parse_template(argc - 1, argv + 1, ret, err);
    if (ret->kind == COMMAND_SERVICES)
        return command_parse_services(argc - 1, argv + 1, ret, err);
    bool copies = ret->kind == COMMAND_COPY_TO;
    if (copies && (argc < 3 || *argv[2] == '\0'))
        return error_set(err, ERROR_INVALID, "copy-to needs a folder: haproxy-k8s-sync copy-to FOLDER");
    ret->operand = copies ? argv[2] : NULL;
    if (argc > (copies ? 3 : 2))
        return error_set(err, ERROR_INVALID, "unknown argument \"%s\"", argv[copies ? 3 : 2]);
    return 0;
}
