#include "cli/command.h"

#include <string.h>

#include "base/str.h"
#include "cli/inspect.h"

#define TIMEOUT_MAX_MS 3600000

/* The words that are still to be looked at. */
struct words {
    char *const *at;
    char *const *end;
    bool no_options; /* behind "--" */
};

static int parse_output(const char *value, struct command *c)
{
    if (!str_eq(value, "json") && !str_eq(value, "text"))
        return -1;
    c->json = str_eq(value, "json");
    return 0;
}

static int parse_colour(const char *value, struct command *c)
{
    static const char *const choices[] = {
        [PAGE_COLOUR_AUTO] = "auto", [PAGE_COLOUR_ALWAYS] = "always", [PAGE_COLOUR_NEVER] = "never"};
    for (size_t i = 0; i < array_len(choices); i++)
        if (str_eq(value, choices[i])) {
            c->colour = (enum page_colour)i;
            return 0;
        }
    return -1;
}

static int parse_timeout(const char *value, struct command *c)
{
    return str_parse_duration_ms(value, TIMEOUT_MAX_MS, &c->timeout_ms) == 0 && c->timeout_ms > 0 ? 0 : -1;
}

static const struct option_rule {
    const char *name;
    const char *expected;
    bool not_explain;
    int (*parse)(const char *value, struct command *c);
} rules[] = {
    {"-o", "text or json", true, parse_output},
    {"--output", "text or json", true, parse_output},
    {"--color", "auto, always or never", false, parse_colour},
    {"--colour", "auto, always or never", false, parse_colour},
    {"--timeout", "a duration like 30s, up to 1h", false, parse_timeout},
};

/* The rule of a word, and the value that it brings along ("--color=never"), or NULL where the next word is it. */
static const struct option_rule *find_rule(const char *word, enum command_kind kind, const char **ret_value)
{
    for (size_t i = 0; i < array_len(rules); i++) {
        const struct option_rule *r = &rules[i];
        size_t len = strlen(r->name);
        bool this_one = strncmp(word, r->name, len) == 0 && (word[len] == '\0' || word[len] == '=');
        if (!this_one || (r->not_explain && kind == COMMAND_EXPLAIN))
            continue;
        *ret_value = word[len] == '=' ? word + len + 1 : NULL;
        return r;
    }
    return NULL;
}

static int take_option(struct words *w, struct command *c, struct error *err)
{
    const char *word = *w->at++, *value = NULL;
    const struct option_rule *r = find_rule(word, c->kind, &value);
    if (r == NULL)
        return error_set(err, ERROR_INVALID, "unknown option \"%s\"", word);
    if (value == NULL && w->at == w->end)
        return error_set(err, ERROR_INVALID, "%s lacks its value: expected %s", word, r->expected);
    if (value == NULL)
        value = *w->at++;
    if (r->parse(value, c) != 0)
        return error_set(err, ERROR_INVALID, "%s \"%s\": expected %s", r->name, value, r->expected);
    return 0;
}

static int take_word(struct words *w, struct command *c, struct error *err)
{
    const char *word = *w->at;
    if (!w->no_options && str_eq(word, "--")) {
        w->no_options = true;
        w->at++;
        return 0;
    }
    if (!w->no_options && (str_eq(word, "-h") || str_eq(word, "--help"))) {
        c->kind = COMMAND_HELP;
        w->at = w->end;
        return 0;
    }
    if (!w->no_options && word[0] == '-')
        return take_option(w, c, err);
    if (c->kind != COMMAND_EXPLAIN || c->node != NULL || *word == '\0')
        return error_set(err, ERROR_INVALID, "unexpected argument \"%s\"", word);
    c->node = word;
    w->at++;
    return 0;
}

static int parse_inspection(struct words *w, struct command *c, struct error *err)
{
    while (w->at < w->end)
        if (take_word(w, c, err) != 0)
            return -1;
    if (c->kind == COMMAND_EXPLAIN && c->node == NULL)
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
    struct words w = {.at = argv + (argc > 2 ? 2 : argc), .end = argv + argc};
    if (ret->kind == COMMAND_PLAN || ret->kind == COMMAND_EXPLAIN || ret->kind == COMMAND_DOCTOR)
        return parse_inspection(&w, ret, err);
    if (argc > 2)
        return error_set(err, ERROR_INVALID, "unknown argument \"%s\"", argv[2]);
    return 0;
}
