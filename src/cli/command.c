#include "cli/command.h"

#include <getopt.h>
#include <string.h>

#include "base/str.h"
#include "cli/inspect.h"

#define TIMEOUT_MAX_MS 3600000

/* The first is not for explain, which prints text only. */
static const struct option options[] = {
    {"output", required_argument, NULL, 'o'}, {"color", required_argument, NULL, 'c'},
    {"colour", required_argument, NULL, 'c'}, {"timeout", required_argument, NULL, 't'},
    {"help", no_argument, NULL, 'h'},         {0},
};

static const char *command_expected(int option)
{
    return option == 'o' ? "text or json" : option == 'c' ? "auto, always or never" : "a duration like 30s, up to 1h";
}

static int command_take_value(int option, const char *value, struct command *c)
{
    static const char *const colours[] = {
        [PAGE_COLOUR_AUTO] = "auto", [PAGE_COLOUR_ALWAYS] = "always", [PAGE_COLOUR_NEVER] = "never"};
    if (option == 'o') {
        c->json = str_eq(value, "json");
        return c->json || str_eq(value, "text") ? 0 : -1;
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

static int command_take_node(const char *word, struct command *c, struct error *err)
{
    if (c->kind != COMMAND_EXPLAIN || c->node != NULL || *word == '\0')
        return error_set(err, ERROR_INVALID, "unexpected argument \"%s\"", word);
    c->node = word;
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
        return error_set(err, ERROR_INVALID, "%s lacks its value: expected %s", word, command_expected(optopt));
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

/* argv[0] is plan, explain or doctor. */
static int command_parse_options(int argc, char *const *argv, struct command *c, struct error *err)
{
    bool explain = c->kind == COMMAND_EXPLAIN;
    const char *letters = explain ? "-:h" : "-:ho:"; /* in order; nothing is printed */
    int at = 1, option;
    for (optind = 0; (option = getopt_long(argc, argv, letters, options + explain, NULL)) != -1; at = optind) {
        int rc = option == 1 ? command_take_node(optarg, c, err) : command_take_option(option, argv[at], c, err);
        if (rc != 0 || c->kind == COMMAND_HELP)
            return rc;
    }
    for (; optind < argc; optind++) /* behind "--" */
        if (command_take_node(argv[optind], c, err) != 0)
            return -1;
    if (explain && c->node == NULL)
        return error_set(err, ERROR_INVALID, "explain lacks the name of a node: haproxy-k8s-sync explain NODE");
    return 0;
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
    };
    *ret = (struct command){.kind = COMMAND_RUN, .timeout_ms = INSPECT_TIMEOUT_MS};
    for (size_t i = 0; argc > 1 && i < array_len(kinds); i++)
        if (str_eq(argv[1], kinds[i].word))
            ret->kind = kinds[i].kind;
    if (argc > 1 && ret->kind == COMMAND_RUN)
        return error_set(err, ERROR_INVALID, "unknown argument \"%s\"", argv[1]);
    if (ret->kind == COMMAND_PLAN || ret->kind == COMMAND_EXPLAIN || ret->kind == COMMAND_DOCTOR)
        return command_parse_options(argc - 1, argv + 1, ret, err);
    if (argc > 2)
        return error_set(err, ERROR_INVALID, "unknown argument \"%s\"", argv[2]);
    return 0;
}
