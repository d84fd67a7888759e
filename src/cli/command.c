#include "cli/command.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"
#include "cli/flags.h"
#include "cli/inspect.h"

#define TIMEOUT_MAX_MS 3600000
#define COUNT_MAX 100000

static const struct command_option {
    const char *name;
    int letter;
    unsigned takes;    /* the commands that have it; 0: all */
    const char *value; /* as help shows it; NULL: it is a switch */
    const char *expected;
} all_options[] = {
    {"output", 'o', TAKES_OUTPUT, "json", "text or json"},
    {"color", 'c', TAKES_COLOUR, "WHEN", "auto, always or never"},
    {"colour", 'c', TAKES_COLOUR, "WHEN", "auto, always or never"},
    {"timeout", 't', TAKES_TIMEOUT, "30s", "a duration like 30s, up to 1h"},
    {"daemon", 'd', TAKES_DAEMON, "URL", "http://host:port, or none"},
    {"test", 'T', TAKES_TEST, "NAME", "the name of a test"},
    {"against", 'a', TAKES_AGAINST, "DIR|FILE", "a folder with a template set, or a file"},
    {"count", 'n', TAKES_COUNT, "N", "a number from 1 to 100000"},
    {"changed", 'C', TAKES_CHANGED, NULL, NULL},
    {"servers", 'S', TAKES_RELEASE, NULL, NULL},
    {"yes", 'y', TAKES_RELEASE, NULL, NULL},
    {"watch", 'w', TAKES_WATCH, NULL, NULL},
    {"help", 'h', 0, NULL, NULL},
};

/* ---- what a command takes ---- */

static bool command_takes(const struct command_row *row, const struct command_option *o)
{
    return o->takes == 0 || (row->takes & o->takes) != 0;
}

char *command_options_text(const struct command_row *row)
{
    struct buf out = {0};
    for (size_t i = 0; i < array_len(all_options); i++) {
        const struct command_option *o = &all_options[i];
        if (o->takes == 0 || !command_takes(row, o) || str_eq(o->name, "colour"))
            continue;
        bool output = o->letter == 'o';
        buf_printf(&out, "%s[%s%s%s%s]", out.len > 0 ? " " : "", output ? "-o" : "--", output ? "" : o->name,
                   o->value == NULL ? ""
                   : output         ? " "
                                    : "=",
                   o->value != NULL ? o->value : "");
    }
    return out.len > 0 ? buf_take(&out) : NULL;
}

static char *command_name(const struct command_row *row)
{
    return mem_printf("%s%s%s", row->word, row->sub != NULL ? " " : "", row->sub != NULL ? row->sub : "");
}

/* ---- what is wrong ---- */

/* "; did you mean "plan"?", or what there is. Allocates. */
static char *command_meant(const struct nearest *n, const char *else_)
{
    return n->count > 0 ? nearest_question(n) : mem_printf("; %s", else_);
}

/* row NULL: in front of any command. */
static int command_unknown_flag(const struct command_row *row, const char *word, struct error *err)
{
    cleanup(nearest_fini) struct nearest n;
    cleanup(mem_free_ptr) char *name = mem_strndup(word, strcspn(word, "="));
    nearest_init(&n, name);
    for (size_t i = 0; i < array_len(all_options); i++) {
        const struct command_option *o = &all_options[i];
        cleanup(mem_free_ptr) char *whole = mem_printf("--%s", o->name);
        bool taken = row == NULL || command_takes(row, o);
        if (row != NULL && !taken && (str_eq(name, whole) || (o->letter == 'o' && str_has_prefix(name, "-o")))) {
            cleanup(mem_free_ptr) char *of = command_name(row), *takes = command_options_text(row);
            return error_set(err, ERROR_INVALID, "%s takes no %.*s%s%s", of, o->letter == 'o' ? 2 : 99, name,
                             takes != NULL ? ", but " : "", takes != NULL ? takes : "");
        }
        if (taken)
            nearest_add(&n, whole, nearest_distance(&n, whole));
    }
    if (row == NULL || !row->has_no_settings)
        flags_add_names(&n);
    cleanup(mem_free_ptr) char *meant =
        command_meant(&n, "there are --kubeconfig, --dry-run, --log-level, -v and those of each command");
    return error_set(err, ERROR_INVALID, "unknown flag \"%s\"%s", word, meant);
}

static int command_unknown_word(const char *of, const char *word, struct error *err)
{
    cleanup(nearest_fini) struct nearest n;
    cleanup(mem_free_ptr) char *words = command_list_words(of);
    cleanup(mem_free_ptr) char *there_are = mem_printf("expected one of %s", words);
    nearest_init(&n, word);
    command_add_words(of, &n);
    cleanup(mem_free_ptr) char *meant = command_meant(&n, there_are);
    return of == NULL ? error_set(err, ERROR_INVALID, "unknown command \"%s\"%s", word, meant)
                      : error_set(err, ERROR_INVALID, "%s has no command \"%s\"%s", of, word, meant);
}

/* ---- values ---- */

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
        c->junit = (c->row->takes & TAKES_JUNIT) && str_eq(value, "junit");
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

/* ---- options and operands */

/* What stands at a place of argv. */
struct command_item {
    const char *word;
    bool is_option;
    const struct command_option *option; /* NULL: there is none by that name; of its whole name alone, so that another
                                          * one can be added */
    size_t len;                          /* of that name with its dashes */
    const char *value;                   /* NULL: it has none */
};

/* Returns the place of the next one. */
static int command_read(int argc, char *const *argv, int at, struct command_item *ret)
{
    const char *word = argv[at];
    bool is_long = str_has_prefix(word, "--");
    *ret = (struct command_item){
        .word = word, .is_option = word[0] == '-' && word[1] != '\0', .len = is_long ? strcspn(word, "=") : 2};
    for (size_t i = 0; ret->is_option && i < array_len(all_options) && ret->option == NULL; i++) {
        const struct command_option *o = &all_options[i];
        bool is_letter = word[1] == o->letter && (o->letter == 'o' || (o->letter == 'h' && word[2] == '\0'));
        if (is_long ? strlen(o->name) == ret->len - 2 && strncmp(word + 2, o->name, ret->len - 2) == 0 : is_letter)
            ret->option = o;
    }
    if (ret->option == NULL)
        return at + 1;
    bool joined = word[ret->len] != '\0';
    if (ret->option->value == NULL) {
        ret->option = joined ? NULL : ret->option; /* --yes=no */
        return at + 1;
    }
    ret->value = joined ? word + ret->len + (word[ret->len] == '=') : at + 1 < argc ? argv[at + 1] : NULL;
    return joined ? at + 1 : at + 2;
}

/* About its row: of "config --help" all words of config. */
static int command_ask_help(struct command *c, bool is_whole)
{
    c->kind = COMMAND_HELP;
    c->help = c->row != NULL ? COMMAND_HELP_ROW : COMMAND_HELP_SCREEN;
    c->is_whole = is_whole;
    return 0;
}

static int command_take_option(const struct command_item *item, struct command *c, struct error *err)
{
    const struct command_option *o = item->option;
    if (o == NULL || (o->letter != 'o' && !command_takes(c->row, o)))
        return command_unknown_flag(c->row, item->word, err);
    if (o->letter == 'h')
        return command_ask_help(c, false);
    if (o->value == NULL) {
        *(o->letter == 'C'   ? &c->changed
          : o->letter == 'S' ? &c->servers
          : o->letter == 'w' ? &c->watch
                             : &c->yes) = true;
        return 0;
    }
    const char *expected = o->letter == 'o' && (c->row->takes & TAKES_JUNIT) ? "text, junit or json" : o->expected;
    if (item->value == NULL)
        return error_set(err, ERROR_INVALID, "%s needs a value: expected %s", item->word, expected);
    if (o->letter == 'o' && !command_takes(c->row, o)) {
        cleanup(mem_free_ptr) char *name = command_name(c->row);
        return str_eq(item->value, "text") ? 0
                                           : error_set(err, ERROR_INVALID, "%s prints text only: leave out %.*s %s",
                                                       name, (int)item->len, item->word, item->value);
    }
    if (command_take_value(o->letter, item->value, c) != 0)
        return error_set(err, ERROR_INVALID, "%.*s \"%s\": expected %s", (int)item->len, item->word, item->value,
                         expected);
    return 0;
}

int command_check_flags(const struct command *c, const struct flags *flags, struct error *err)
{
    if (c->kind == COMMAND_HELP || c->row == NULL || !c->row->has_no_settings || flags->given_count == 0)
        return 0;
    return error_set(err, ERROR_INVALID, "%s reads no settings: %s has no effect", c->row->word, flags->given[0].word);
}

/* ---- which command ---- */

/* The next word that is neither an option nor its value; argc: none. */
static int command_next_word(int argc, char *const *argv, int at)
{
    for (int next; at < argc; at = next) {
        struct command_item item;
        if (str_eq(argv[at], "--"))
            return at + 1;
        next = command_read(argc, argv, at, &item);
        if (!item.is_option)
            return at;
    }
    return argc;
}

static bool command_is_help(const char *word)
{
    return str_eq(word, "--help") || str_eq(word, "-h");
}

static bool command_has_help(int argc, char *const *argv)
{
    for (int at = 1; at < argc && !str_eq(argv[at], "--"); at++)
        if (command_is_help(argv[at]))
            return true;
    return false;
}

/* Without a command word. */
static int command_parse_none(int argc, char *const *argv, struct command *c, struct error *err)
{
    if (argc <= 1 || (argc == 2 && str_eq(argv[1], "--")))
        return 0;
    if (command_has_help(argc, argv))
        return command_ask_help(c, false);
    if (argc == 2 && (str_eq(argv[1], "--version") || str_eq(argv[1], "-V"))) {
        c->kind = COMMAND_VERSION;
        c->row = command_find("version", NULL);
        return 0;
    }
    const char *word = argv[1];
    struct command_item item;
    (void)command_read(argc, argv, 1, &item);
    if (item.option == NULL)
        return command_unknown_flag(NULL, word, err);
    if (word[2] == '\0')
        return error_set(err, ERROR_INVALID, "\"%s\" needs a command, such as plan", word);
    return error_set(err, ERROR_INVALID, "%s needs a command: haproxy-k8s-sync plan %s", word, word);
}

/* What follows help: nothing, all, settings with perhaps a name, or a command with perhaps its word. */
static int command_parse_help(int argc, char *const *argv, struct command *c, struct error *err)
{
    const char *first = argc > 0 ? argv[0] : NULL, *second = argc > 1 ? argv[1] : NULL;
    bool settings = str_eq(first, "settings"), all = str_eq(first, "all");
    c->kind = COMMAND_HELP;
    if (argc > (all ? 1 : 2))
        return error_set(err, ERROR_INVALID, "unexpected argument \"%s\"", argv[argc - 1]);
    c->help = settings        ? COMMAND_HELP_SETTINGS
              : all           ? COMMAND_HELP_ALL
              : first != NULL ? COMMAND_HELP_ROW
                              : COMMAND_HELP_SCREEN;
    c->operand = settings ? second : NULL;
    if (c->help != COMMAND_HELP_ROW)
        return 0;
    c->row = command_find(first, second);
    c->is_whole = second == NULL;
    if (c->row != NULL)
        return 0;
    const struct command_row *row = command_find(first, NULL);
    if (row != NULL && row->sub == NULL)
        return error_set(err, ERROR_INVALID, "unexpected argument \"%s\"", second);
    return command_unknown_word(row != NULL ? first : NULL, row != NULL ? second : first, err);
}

/* All but the words of the command, which are at these places. */
static int command_parse_row(int argc, char *const *argv, int word, int sub, struct command *c, struct error *err)
{
    bool over = false; /* behind "--" there are operands alone */
    c->kind = c->row->kind;
    for (int at = 1, next; at < argc; at = next) {
        struct command_item item;
        next = over ? at + 1 : command_read(argc, argv, at, &item);
        if (at == word || at == sub)
            continue;
        if (!over && str_eq(argv[at], "--")) {
            over = true;
            continue;
        }
        if (!over && item.is_option) {
            if (command_take_option(&item, c, err) != 0)
                return -1;
            if (c->kind == COMMAND_HELP)
                return 0;
            continue;
        }
        if (c->row->operand == NULL || c->operand != NULL || *argv[at] == '\0')
            return error_set(err, ERROR_INVALID, "unexpected argument \"%s\"", argv[at]);
        c->operand = argv[at];
    }
    if (c->row->operand != NULL && c->row->operand[0] != '[' && c->operand == NULL) {
        cleanup(mem_free_ptr) char *name = command_name(c->row);
        return error_set(err, ERROR_INVALID, "%s needs %s: haproxy-k8s-sync %s %s%s", name, c->row->what, name,
                         c->row->operand, c->row->takes & TAKES_AGAINST ? " --against OTHER" : "");
    }
    const char *slash = c->operand != NULL ? strchr(c->operand, '/') : NULL;
    uint64_t number;
    if (c->kind == COMMAND_TEMPLATE_DIFF && c->against == NULL)
        return error_set(err, ERROR_INVALID, "template diff needs --against, a folder or a file");
    if (c->kind == COMMAND_CONFIG_ROLLBACK && c->operand != NULL &&
        (str_parse_uint(c->operand, UINT32_MAX, &number) != 0 || number == 0))
        return error_set(err, ERROR_INVALID,
                         "config rollback \"%s\": expected the number of a version, see config history", c->operand);
    if (c->kind == COMMAND_SERVICES_EXPLAIN && (slash == NULL || slash == c->operand || slash[1] == '\0'))
        return error_set(err, ERROR_INVALID,
                         "services explain needs a Service: haproxy-k8s-sync services explain NAMESPACE/NAME");
    return 0;
}

/* A word that is no command; behind a flag that is none it is that one's value: "--foo 1 plan". */
static int command_unknown_at(int argc, char *const *argv, int at, const char *of, struct error *err)
{
    struct command_item item;
    for (int i = 1, next; i < at; i = next) {
        next = command_read(argc, argv, i, &item);
        if (item.is_option && item.option == NULL && !str_eq(item.word, "--"))
            return command_unknown_flag(NULL, item.word, err);
    }
    return command_unknown_word(of, argv[at], err);
}

int command_parse(int argc, char *const *argv, struct command *ret, struct error *err)
{
    *ret = (struct command){.kind = COMMAND_RUN, .daemon = "", .timeout_ms = INSPECT_TIMEOUT_MS};
    if (argc > 1 && command_is_help(argv[1]))
        return command_parse_help(argc - 2, argv + 2, ret, err);
    int at = command_next_word(argc, argv, 1), sub = argc;
    if (at >= argc)
        return command_parse_none(argc, argv, ret, err);
    if (str_eq(argv[at], "help"))
        return command_parse_help(argc - at - 1, argv + at + 1, ret, err);
    ret->row = command_find(argv[at], NULL);
    if (ret->row == NULL)
        return command_unknown_at(argc, argv, at, NULL, err);
    if (ret->row->sub == NULL)
        return command_parse_row(argc, argv, at, 0, ret, err);
    sub = command_next_word(argc, argv, at + 1);
    if (sub >= argc && command_has_help(argc, argv))
        return command_ask_help(ret, true);
    cleanup(mem_free_ptr) char *words = command_list_words(argv[at]);
    if (sub >= argc)
        return error_set(err, ERROR_INVALID, "%s needs one of %s", argv[at], words);
    ret->row = command_find(argv[at], argv[sub]);
    return ret->row != NULL ? command_parse_row(argc, argv, at, sub, ret, err)
                            : command_unknown_at(argc, argv, sub, argv[at], err);
}
