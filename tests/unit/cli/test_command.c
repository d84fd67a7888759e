/* src/cli/command: the command line. */

#include "cli/command.h"

#include "../test.h"

static int parse(const char *line, char *copy, struct command *ret, struct error *err)
{
    char *argv[16] = {copy}; /* the first is of no interest */
    int argc = 1;
    memcpy(copy, line, strlen(line) + 1);
    for (char *word; (word = strsep(&copy, " ")) != NULL && argc < 16;)
        if (*line != '\0')
            argv[argc++] = word;
    return command_parse(argc, argv, ret, err);
}

static const struct {
    const char *line;
    struct command wanted;
} good[] = {
    {"", {.kind = COMMAND_RUN}},
    {"--help", {.kind = COMMAND_HELP}},
    {"-h", {.kind = COMMAND_HELP}},
    {"--version", {.kind = COMMAND_VERSION}},
    {"help", {.kind = COMMAND_HELP}},
    {"help all", {.kind = COMMAND_HELP, .help = COMMAND_HELP_ALL}},
    {"help plan", {.kind = COMMAND_HELP, .help = COMMAND_HELP_ROW, .is_whole = true}},
    {"help config apply", {.kind = COMMAND_HELP, .help = COMMAND_HELP_ROW}},
    {"help settings", {.kind = COMMAND_HELP, .help = COMMAND_HELP_SETTINGS}},
    {"help settings X", {.kind = COMMAND_HELP, .help = COMMAND_HELP_SETTINGS, .operand = "X"}},
    {"--color=never --help", {.kind = COMMAND_HELP}},
    {"release", {.kind = COMMAND_RELEASE}},
    {"release --yes --servers --daemon=none --timeout=2s",
     {.kind = COMMAND_RELEASE, .servers = true, .yes = true, .daemon = "none", .timeout_ms = 2000}},
    {"version -o json", {.kind = COMMAND_VERSION, .json = true}},
    {"explain n1 -o json", {.kind = COMMAND_EXPLAIN, .operand = "n1", .json = true}},
    {"check-config --changed", {.kind = COMMAND_CHECK_CONFIG, .changed = true}},
    {"-o json plan", {.kind = COMMAND_PLAN, .json = true}},
    {"--timeout 3s plan -ojson", {.kind = COMMAND_PLAN, .json = true, .timeout_ms = 3000}},
    {"-o json config -o text plan a.cfg", {.kind = COMMAND_CONFIG_PLAN, .operand = "a.cfg"}},
    {"config --timeout=2s rollback 7", {.kind = COMMAND_CONFIG_ROLLBACK, .operand = "7", .timeout_ms = 2000}},
    {"explain -o text n1", {.kind = COMMAND_EXPLAIN, .operand = "n1"}},
    {"check-config", {.kind = COMMAND_CHECK_CONFIG}},
    {"plan", {.kind = COMMAND_PLAN}},
    {"plan -o=json", {.kind = COMMAND_PLAN, .json = true}},
    {"plan --output=json", {.kind = COMMAND_PLAN, .json = true}},
    {"plan --color=always --timeout 3s", {.kind = COMMAND_PLAN, .colour = PAGE_COLOUR_ALWAYS, .timeout_ms = 3000}},
    {"plan --colour=auto", {.kind = COMMAND_PLAN}},
    {"plan -o json --help --wrong", {.kind = COMMAND_HELP, .help = COMMAND_HELP_ROW}},
    {"plan --", {.kind = COMMAND_PLAN}},
    {"plan --watch", {.kind = COMMAND_PLAN, .watch = true}},
    {"explain n1 --watch", {.kind = COMMAND_EXPLAIN, .operand = "n1", .watch = true}},
    {"plan --daemon=none", {.kind = COMMAND_PLAN, .daemon = "none"}},
    {"plan --daemon http://h:8080", {.kind = COMMAND_PLAN, .daemon = "http://h:8080"}},
    {"doctor", {.kind = COMMAND_DOCTOR}},
    {"doctor -o json --timeout 3s", {.kind = COMMAND_DOCTOR, .json = true, .timeout_ms = 3000}},
    {"explain n1", {.kind = COMMAND_EXPLAIN, .operand = "n1"}},
    {"explain n1 --timeout=250ms", {.kind = COMMAND_EXPLAIN, .operand = "n1", .timeout_ms = 250}},
    {"explain -- -o", {.kind = COMMAND_EXPLAIN, .operand = "-o"}},
    {"template render d --test t -o json",
     {.kind = COMMAND_TEMPLATE_RENDER, .operand = "d", .test = "t", .json = true}},
    {"template test -o junit d", {.kind = COMMAND_TEMPLATE_TEST, .operand = "d", .junit = true}},
    {"template diff d --against=e --color=never",
     {.kind = COMMAND_TEMPLATE_DIFF, .operand = "d", .against = "e", .colour = PAGE_COLOUR_NEVER}},
    {"template validate d --timeout=2s", {.kind = COMMAND_TEMPLATE_VALIDATE, .operand = "d", .timeout_ms = 2000}},
    {"template benchmark --count 100000 d", {.kind = COMMAND_TEMPLATE_BENCHMARK, .operand = "d", .count = 100000}},
    {"template schema d", {.kind = COMMAND_TEMPLATE_SCHEMA, .operand = "d"}},
    {"template --help", {.kind = COMMAND_HELP, .help = COMMAND_HELP_ROW, .is_whole = true}},
    {"config plan", {.kind = COMMAND_CONFIG_PLAN}},
    {"--", {.kind = COMMAND_RUN}},
    {"-- plan", {.kind = COMMAND_PLAN}},
    {"-o json -- plan", {.kind = COMMAND_PLAN, .json = true}},
    {"config validate -", {.kind = COMMAND_CONFIG_VALIDATE, .operand = "-"}},
    {"config apply", {.kind = COMMAND_CONFIG_APPLY}},
    {"config history", {.kind = COMMAND_CONFIG_HISTORY}},
    {"copy-to /opt/x", {.kind = COMMAND_COPY_TO, .operand = "/opt/x"}},
    {"services view", {.kind = COMMAND_SERVICES_VIEW}},
    {"services view --timeout=2s --color=never",
     {.kind = COMMAND_SERVICES_VIEW, .colour = PAGE_COLOUR_NEVER, .timeout_ms = 2000}},
    {"services explain shop/web", {.kind = COMMAND_SERVICES_EXPLAIN, .operand = "shop/web"}},
};

TEST_EACH(what_is_asked_for, array_len(good))
{
    char copy[200];
    struct command is;
    const struct command *wanted = &good[_i].wanted;
    ck_assert_msg(parse(good[_i].line, copy, &is, &flaw) == 0, "%s: %s", good[_i].line, flaw.message);
    ck_assert_msg(is.kind == wanted->kind, "%s", good[_i].line);
    ck_assert_msg(is.help == wanted->help && is.is_whole == wanted->is_whole, "%s", good[_i].line);
    ck_assert_msg(is.changed == wanted->changed && is.watch == wanted->watch, "%s", good[_i].line);
    ck_assert_msg(is.servers == wanted->servers && is.yes == wanted->yes, "%s", good[_i].line);
    if (is.kind == COMMAND_HELP && is.row != NULL)
        return;
    ck_assert_msg(str_eq(is.operand, wanted->operand), "%s", good[_i].line);
    const char *daemon = wanted->daemon == NULL ? "" : str_eq(wanted->daemon, "none") ? NULL : wanted->daemon;
    ck_assert_msg(str_eq(is.daemon, daemon), "%s", good[_i].line);
    ck_assert_msg(is.json == wanted->json && is.junit == wanted->junit, "%s", good[_i].line);
    ck_assert_msg(is.count == wanted->count, "%s", good[_i].line);
    ck_assert_msg(str_eq(is.test, wanted->test) && str_eq(is.against, wanted->against), "%s", good[_i].line);
    ck_assert_msg(is.colour == wanted->colour, "%s", good[_i].line);
    ck_assert_uint_eq(is.timeout_ms, wanted->timeout_ms != 0 ? wanted->timeout_ms : 30000);
}

#define THERE_ARE                                                                                                    \
    "expected one of check-config, plan, explain, doctor, release, config, template, services, apply, watch, view, " \
    "copy-to, "                                                                                                      \
    "completion, help, version"
#define FLAGS "there are --kubeconfig, --dry-run, --log-level, -v and those of each command"

static const struct {
    const char *line, *says;
} bad[] = {
    {"plna", "unknown command \"plna\"; did you mean \"plan\"?"},
    {"plan --dryrun", "unknown flag \"--dryrun\"; did you mean \"--dry-run\"?"},
    {"--foo", "unknown flag \"--foo\"; " FLAGS},
    {"--foo 1 plan", "unknown flag \"--foo\"; " FLAGS},
    {"config --foo 1 plan", "unknown flag \"--foo\"; " FLAGS},
    {"-o json 1", "unknown command \"1\"; " THERE_ARE},
    {"-- --dry-run", "unknown command \"--dry-run\"; " THERE_ARE},
    {"-o json", "\"-o\" needs a command, such as plan"},
    {"--timeout=3s", "--timeout=3s needs a command: haproxy-k8s-sync plan --timeout=3s"},
    {"help plna", "unknown command \"plna\"; did you mean \"plan\"?"},
    {"help config aply", "config has no command \"aply\"; did you mean \"config apply\"?"},
    {"help plan x", "unexpected argument \"x\""},
    {"version x", "unexpected argument \"x\""},
    {"release --yse", "unknown flag \"--yse\"; did you mean \"--yes\"?"},
    {"copy-to -o json f", "copy-to prints text only: leave out -o json"},
    {"plan --changed",
     "plan takes no --changed, but [-o json] [--color=WHEN] [--timeout=30s] [--daemon=URL] [--watch]"},
    {"copy-to --dry-rum a", "unknown flag \"--dry-rum\"; " FLAGS},
    {"--verbose", "unknown flag \"--verbose\"; did you mean \"-v\"?"},
    {"check-config -o", "-o needs a value: expected text or json"},

    {"plan --daemon", "--daemon needs a value: expected http://host:port, or none"},
    {"plan --daemon=", "--daemon \"\": expected http://host:port, or none"},
    {"plan --daemon=http://h/", "--daemon \"http://h/\": expected http://host:port, or none"},
    {"plan --daemon=http://u:p@h", "--daemon \"http://u:p@h\": expected http://host:port, or none"},
    {"doctor --daemon=none", "doctor takes no --daemon, but [-o json] [--color=WHEN] [--timeout=30s]"},
    {"plan -- -o", "unexpected argument \"-o\""},
    {"plan -xo json", "unknown flag \"-xo\"; " FLAGS},
    {"plan --out", "unknown flag \"--out\"; did you mean \"--output\"?"},
    {"plan --help=me", "unknown flag \"--help=me\"; did you mean \"--help\"?"},
    {"plan -oyaml", "-o \"yaml\": expected text or json"},
    {"plan --timeout", "--timeout needs a value: expected a duration like 30s, up to 1h"},
    {"template schema --output=json", "template schema prints text only: leave out --output json"},
    {"config", "config needs one of plan, validate, apply, history, rollback"},
    {"config show", "config has no command \"show\"; expected one of plan, validate, apply, history, rollback"},
    {"config validate", "config validate needs a file: haproxy-k8s-sync config validate FILE"},
    {"config rollback 0", "config rollback \"0\": expected the number of a version, see config history"},
    {"services", "services needs one of view, explain"},
    {"services show", "services has no command \"show\"; expected one of view, explain"},
    {"services explain", "services explain needs a Service: haproxy-k8s-sync services explain NAMESPACE/NAME"},
    {"services explain /web", "services explain needs a Service: haproxy-k8s-sync services explain NAMESPACE/NAME"},
    {"template", "template needs one of render, test, diff, validate, benchmark, schema"},
    {"template show d",
     "template has no command \"show\"; expected one of render, test, diff, validate, benchmark, schema"},
    {"template render", "template render needs a folder: haproxy-k8s-sync template render DIR"},
    {"template diff", "template diff needs a folder: haproxy-k8s-sync template diff DIR --against OTHER"},
    {"template diff d", "template diff needs --against, a folder or a file"},
    {"template test d --against e",
     "template test takes no --against, but [-o json] [--color=WHEN] [--timeout=30s] [--test=NAME]"},
    {"template render -o junit d", "-o \"junit\": expected text or json"},
    {"template test -o yaml d", "-o \"yaml\": expected text, junit or json"},
    {"template test --test= d", "--test \"\": expected the name of a test"},
    {"template diff d --against=", "--against \"\": expected a folder with a template set, or a file"},
    {"template benchmark d --count 0", "--count \"0\": expected a number from 1 to 100000"},
    {"template benchmark d --count 100001", "--count \"100001\": expected a number from 1 to 100000"},
    {"template render d --count 5",
     "template render takes no --count, but [-o json] [--color=WHEN] [--timeout=30s] [--test=NAME]"},
    {"copy-to", "copy-to needs a folder: haproxy-k8s-sync copy-to FOLDER"},
    {"explain -- n1 n2", "unexpected argument \"n2\""},
    {"plan -o", "-o needs a value: expected text or json"},
    {"plan --color=maybe", "--color \"maybe\": expected auto, always or never"},
    {"plan --timeout=30", "--timeout \"30\": expected a duration like 30s, up to 1h"},
    {"plan --timeout=61m", "--timeout \"61m\": expected a duration like 30s, up to 1h"},
    {"explain", "explain needs the name of a node: haproxy-k8s-sync explain NODE"},
    {"explain -- -- n1", "unexpected argument \"n1\""},
};

TEST_EACH(what_is_wrong_is_named, array_len(bad))
{
    char copy[200];
    struct command is;
    ck_assert_msg(parse(bad[_i].line, copy, &is, &flaw) == -1, "%s", bad[_i].line);
    ck_assert_str_eq(flaw.message, bad[_i].says);
}

TEST(an_empty_node_is_none)
{
    char program[] = "x", word[] = "explain", empty[] = "";
    char *const argv[] = {program, word, empty, NULL};
    struct command is;
    ck_assert_int_eq(command_parse(3, argv, &is, &flaw), -1);
    ck_assert_int_eq(command_parse(0, argv, &is, &flaw), 0);
    ck_assert(is.kind == COMMAND_RUN);
}
