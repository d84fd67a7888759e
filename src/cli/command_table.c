#include "cli/command.h"

#include <stddef.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/run.h"

#define PLAN_STATUS "0 in sync, 2 changes, 1 unknown"
#define ROW(word_, sub_, kind_, takes_, run_) \
    .word = (word_), .sub = (sub_), .kind = (kind_), .takes = (takes_), .run = (run_)
#define CONFIG_ROW(sub, kind) ROW("config", sub, kind, TAKES_USUAL, run_config)
#define SERVICES_ROW(sub, kind) ROW("services", sub, kind, TAKES_USUAL, run_services)
#define TEMPLATE_ROW(sub, kind, more)                                                                                  \
    ROW("template", sub, kind, TAKES_USUAL | TAKES_TEST | (more), run_template), .operand = "DIR", .what = "a folder", \
                                                                                 .has_no_settings = true

const struct command_row command_table[] = {
    {
        ROW("check-config", NULL, COMMAND_CHECK_CONFIG, TAKES_OUTPUT | TAKES_CHANGED, run_check_config),
        .brief = "print the settings in effect and what is wrong with them",
        .examples = "check-config --changed\n",
        .help = "Prints the settings in effect, where each comes from, with secrets masked, and all that is wrong. It "
                "fails where the daemon would not start. With --changed: those alone that differ from their defaults.",
        .status = "0 valid, 78 invalid, 1 as the daemon's start has it",
    },
    {
        ROW("plan", NULL, COMMAND_PLAN, TAKES_USUAL | TAKES_DAEMON | TAKES_WATCH, run_inspect),
        .brief = "print what would change in HAProxy and why; write nothing",
        .examples = "plan --watch\nplan -o json\n",
        .help =
            "Prints what would change in HAProxy and why, and writes nothing. --daemon=URL|none: the running daemon "
            "that is asked for its own plan, by default that at LISTEN_ADDRESS. --watch: asks again each 3 seconds, "
            "and "
            "prints what is another answer.",
        .status = PLAN_STATUS,
    },
    {
        ROW("explain", NULL, COMMAND_EXPLAIN, TAKES_USUAL | TAKES_WATCH, run_inspect),
        .operand = "NODE",
        .what = "the name of a node",
        .brief = "print why this node is in, draining or out, rule by rule",
        .examples = "explain node-7\n",
        .help = "Prints why this node is in, draining or out, rule by rule. --watch: again whenever that changed.",
        .status = "0 known, 1 unknown",
    },
    {
        ROW("doctor", NULL, COMMAND_DOCTOR, TAKES_USUAL, run_doctor),
        .brief = "check everything that a sync needs; print a fix for each",
        .examples = "doctor --timeout=5s\n",
        .help = "Checks everything that a sync needs, the running daemon included, and prints a fix for what fails.",
        .status = "0 passed, 1 failed, 78 invalid settings",
    },
    {
        ROW("release", NULL, COMMAND_RELEASE, TAKES_USUAL | TAKES_DAEMON | TAKES_RELEASE, run_release),
        .brief = "give the backends up: live servers stay in HAProxy",
        .examples = "release\nrelease --yes\n",
        .help =
            "Gives the backends up, to another controller or to none: parked lines are removed from HAProxy, drains "
            "end, live servers stay. With --servers: all servers that the daemon manages are removed. Prints what it "
            "would do; --yes does it. Refuses while a daemon runs: one at LISTEN_ADDRESS or --daemon=URL, a process of "
            "this machine, the holder of the Lease, or one that has the haproxy.cfg of this machine. An API without a "
            "Lease shows none for certain: then --servers --yes needs --daemon=none, too, by which you say that none "
            "runs.",
        .status = "0 nothing is left to do, 2 there is (without --yes), 1 not done",
    },
    {
        CONFIG_ROW("plan", COMMAND_CONFIG_PLAN),
        .operand = "[FILE]",
        .brief = "a whole haproxy.cfg",
        .examples = "config plan haproxy.cfg\n",
        .help = "Prints what a haproxy.cfg would change in each HAProxy, and what it costs; by default that of "
                "CONFIG_FILE, - is standard input. Writes nothing.",
        .status = PLAN_STATUS,
    },
    {
        CONFIG_ROW("validate", COMMAND_CONFIG_VALIDATE),
        .examples = "config validate haproxy.cfg\n",
        .operand = "FILE",
        .what = "a file",
        .help = "Lets each HAProxy check it and prints the results. Writes nothing.",
        .status = "0 accepted, 1 not",
    },
    {
        CONFIG_ROW("apply", COMMAND_CONFIG_APPLY),
        .examples = "config apply haproxy.cfg\nconfig apply\n",
        .operand = "[FILE]",
        .help = "Validates it, writes, loads and verifies it. Without FILE: makes the running daemon try again what "
                "HAProxy rejected.",
        .status = "0 runs, 1 does not",
    },
    {
        CONFIG_ROW("history", COMMAND_CONFIG_HISTORY),
        .help = "Prints the configurations that STATE_DIR keeps.",
    },
    {
        CONFIG_ROW("rollback", COMMAND_CONFIG_ROLLBACK),
        .examples = "config rollback\nconfig rollback 7\n",
        .operand = "[N]",
        .help = "Makes the running daemon go back to one of them, until its source changes.",
    },
    {
        TEMPLATE_ROW("render", COMMAND_TEMPLATE_RENDER, 0),
        .brief = "template sets",
        .examples = "template render set/ --test=one\n",
        .help = "Renders a template set with the fixtures of its tests (--test=NAME: with those of one) and prints the "
                "result.",
        .status = "0 good, 1 an error",
    },
    {
        TEMPLATE_ROW("test", COMMAND_TEMPLATE_TEST, TAKES_JUNIT),
        .examples = "template test set/ -o junit\n",
        .help = "Runs its tests. -o junit is also for CI.",
        .status = "0 good, 1 a failed test",
    },
    {
        TEMPLATE_ROW("diff", COMMAND_TEMPLATE_DIFF, TAKES_AGAINST),
        .examples = "template diff set/ --against=haproxy.cfg\n",
        .help = "Compares it with another template set, or with a haproxy.cfg: --against=DIR|FILE.",
        .status = "0 equal, 2 it differs, 1 an error",
    },
    {
        TEMPLATE_ROW("validate", COMMAND_TEMPLATE_VALIDATE, 0),
        .help = "Renders it and checks the result with haproxy -c.",
        .status = "0 good, 1 an error",
    },
    {
        TEMPLATE_ROW("benchmark", COMMAND_TEMPLATE_BENCHMARK, TAKES_COUNT),
        .help = "Measures renders, --count=N of them.",
        .status = "0 good, 1 an error",
    },
    {
        ROW("template", "schema", COMMAND_TEMPLATE_SCHEMA, TAKES_COLOUR | TAKES_TIMEOUT, run_template),
        .operand = "[DIR]",
        .has_no_settings = true,
        .help = "Prints the JSON Schema of set.yaml.",
    },
    {
        SERVICES_ROW("view", COMMAND_SERVICES_VIEW),
        .brief = "annotated Services",
        .examples = "services view -o json\n",
        .help = "Prints what is made of annotated Services, and what is wrong with them.",
        .status = "0 read, 1 not, or nothing is served",
    },
    {
        SERVICES_ROW("explain", COMMAND_SERVICES_EXPLAIN),
        .examples = "services explain shop/web\n",
        .operand = "NAMESPACE/NAME",
        .what = "a Service",
        .help = "Prints how each annotation of one Service is used.",
        .status = "0 read, 1 not, or there is no such Service",
    },
    {
        ROW("apply", NULL, COMMAND_APPLY, 0, NULL),
        .help = "Publishes the configuration made of annotated Services in etcd, or writes it to a file, once. Takes "
                "the flags of an older system, as do watch and view: docs/etcd.md.",
        .status = "as the daemon",
    },
    {.word = "watch", .kind = COMMAND_OLDER, .help = "The same, from now on.", .status = "as the daemon"},
    {.word = "view", .kind = COMMAND_OLDER, .help = "Prints it.", .status = "as services view"},
    {
        ROW("copy-to", NULL, COMMAND_COPY_TO, 0, run_copy_to),
        .operand = "FOLDER",
        .what = "a folder",
        .has_no_settings = true,
        .help = "Copies this program with its loader and libraries, for a container of HAProxy's image, which has "
                "haproxy -c and none of these.",
    },
    {
        ROW("completion", NULL, COMMAND_COMPLETION, 0, run_completion),
        .examples = "completion bash\n",
        .operand = "SHELL",
        .what = "bash, zsh or fish",
        .has_no_settings = true,
        .help =
            "Prints what completes this program's command line in bash, zsh or fish; the Debian package installs the "
            "same. In bash: source <(haproxy-k8s-sync completion bash).",
    },
    {
        ROW("help", NULL, COMMAND_HELP, 0, NULL),
        .help = "Prints the usual commands and flags; of a command, all about it; all: all commands; settings: all "
                "settings; settings NAME: one of them. --help and -h are the same, also behind a command.",
    },
    {
        ROW("version", NULL, COMMAND_VERSION, TAKES_OUTPUT, run_version),
        .has_no_settings = true,
        .help = "Prints the version, the commit and what is built in, as --version and -V do.",
    },
    {.word = NULL},
};

const struct command_row *command_find(const char *word, const char *sub)
{
    for (const struct command_row *row = command_table; row->word != NULL; row++)
        if (str_eq(row->word, word) && (sub == NULL || str_eq(row->sub, sub)))
            return row;
    return NULL;
}

/* The next row whose word has not come yet, or whose sub is behind `of`; NULL: none. */
static const struct command_row *command_next_word(const char *of, const struct command_row *from)
{
    for (; from->word != NULL; from++)
        if (of != NULL ? str_eq(from->word, of) && from->sub != NULL : command_find(from->word, NULL) == from)
            return from;
    return NULL;
}

void command_add_words(const char *of, struct nearest *n)
{
    for (const struct command_row *row = command_table; (row = command_next_word(of, row)) != NULL; row++) {
        cleanup(mem_free_ptr) char *whole = of != NULL ? mem_printf("%s %s", of, row->sub) : mem_strdup(row->word);
        nearest_add(n, whole, nearest_distance(n, of != NULL ? row->sub : row->word));
    }
}

char *command_list_words(const char *of)
{
    struct text_list list = {.between = ", ", .max = SIZE_MAX};
    for (const struct command_row *row = command_table; (row = command_next_word(of, row)) != NULL; row++)
        if (text_list_next(&list))
            buf_add(&list.text, of != NULL ? row->sub : row->word);
    return text_list_take(&list);
}
