#include "cli/command.h"

#include <string.h>

#include "base/mem.h"
#include "base/page.h"
#include "base/str.h"
#include "settings/parse.h"
#include "settings/settings.h"

#define PROGRAM "haproxy-k8s-sync"
#define SCREEN_COLUMN 18
#define MARGIN 6
#define WIDTH 100

static const char screen_head[] = PROGRAM " keeps HAProxy's servers equal to the nodes behind Services.\n"
                                          "\n"
                                          "usage: " PROGRAM " [COMMAND] [FLAGS]        without a command: the daemon\n"
                                          "\n";

static const char screen_tail[] = "  help, version   help COMMAND: all about it; help all: the other commands, too\n"
                                  "\n"
                                  "Flags, before or behind the command; each overrides its variable:\n"
                                  "  --kubeconfig=FILE (KUBECONFIG), --dry-run (DRY_RUN), --log-level=LEVEL\n"
                                  "  (LOG_LEVEL), -v (LOG_LEVEL=debug). Where a command prints: -o json,\n"
                                  "  --color=auto|always|never, --timeout=30s\n"
                                  "\n"
                                  "Settings are environment variables: help settings, help settings NAME.\n"
                                  "exit status: 0 done, 1 failed or unknown, 2 changes, 64 usage, 78 settings\n"
                                  "More: man " PROGRAM ", docs/README.md, docs/exit-codes.md\n";

static const char all_head[] =
    PROGRAM " keeps the servers of HAProxy backends equal to the nodes behind Kubernetes Services.\n"
            "\n"
            "usage: " PROGRAM "                 run\n";

static const char all_tail[] =
    "\n"
    "Flags before or behind any command that reads settings, each the same as its variable, which it overrides:\n"
    "--kubeconfig=FILE (KUBECONFIG), --dry-run (DRY_RUN), --log-level=LEVEL (LOG_LEVEL), -v (LOG_LEVEL=debug);\n"
    "with MODE set also those of an operator.\n"
    "The daemon, watch, apply, release --yes, config apply, config rollback and copy-to write; all others do not.\n"
    "--version and -V are version, --help and -h are help.\n"
    "\n"
    "exit status of all: 64 unknown words or flags, 78 invalid settings; docs/exit-codes.md has all of them.\n"
    "SIGTERM ends the daemon within 5 seconds and leaves HAProxy unchanged. SIGHUP compares HAProxy with the nodes "
    "now.\n"
    "Settings are environment variables: " PROGRAM " help settings.\n";

/* "usage: ..." before the first of several. */
static void help_add_row(struct page *p, const struct command_row *row, bool first, bool alone)
{
    cleanup(mem_free_ptr) char *options = command_options_text(row);
    page_printf(p, INK_PLAIN, "%s " PROGRAM " %s%s%s%s%s", first ? "usage:" : "      ", row->word,
                row->sub != NULL ? " " : "", row->sub != NULL ? row->sub : "", row->operand != NULL ? " " : "",
                row->operand != NULL ? row->operand : "");
    if (row->kind == COMMAND_HELP)
        page_put(p, INK_PLAIN, " [COMMAND | all | settings [NAME]]");
    page_end_line(p);
    if (options != NULL) {
        page_to(p, MARGIN + 4);
        page_flow_line(p, INK_PLAIN, options);
    }
    page_to(p, MARGIN + 4);
    page_flow_line(p, INK_PLAIN, row->help);
    page_to(p, MARGIN + 4);
    cleanup(mem_free_ptr) char *status =
        mem_printf("exit status: %s", row->status != NULL ? row->status : "0 done, 1 not");
    page_flow_line(p, INK_PLAIN, status);
    for (const char *at = alone ? row->examples : NULL; at != NULL && *at != '\0'; at += strcspn(at, "\n") + 1) {
        page_to(p, MARGIN + 4);
        page_printf(p, INK_PLAIN, "%s" PROGRAM " %.*s", at == row->examples ? "for example: " : "             ",
                    (int)strcspn(at, "\n"), at);
        page_end_line(p);
    }
}

int help_print(const struct command *c, struct buf *out, struct error *err)
{
    cleanup(mem_free_ptr) char *nearest = NULL;
    struct page p;
    page_init(&p, out, false, WIDTH);
    switch (c->help) {
    case COMMAND_HELP_SCREEN:
        buf_add(out, screen_head);
        for (const struct command_row *row = command_table; row->word != NULL; row++) {
            if (row->brief == NULL)
                continue;
            /* "config      a whole haproxy.cfg: plan, validate, apply, history, rollback" */
            cleanup(mem_free_ptr) char *words = row->sub != NULL ? command_list_words(row->word) : NULL;
            bool shows = row->operand != NULL && row->sub == NULL;
            page_printf(&p, INK_PLAIN, "  %s%s%s", row->word, shows ? " " : "", shows ? row->operand : "");
            page_to(&p, SCREEN_COLUMN);
            page_printf(&p, INK_PLAIN, "%s%s%s", row->brief, words != NULL ? ": " : "", words != NULL ? words : "");
            page_end_line(&p);
        }
        buf_add(out, screen_tail);
        break;
    case COMMAND_HELP_ALL:
        buf_add(out, all_head);
        for (const struct command_row *row = command_table; row->word != NULL; row++)
            help_add_row(&p, row, false, false);
        buf_add(out, all_tail);
        break;
    case COMMAND_HELP_ROW:
        for (const struct command_row *row = c->row; str_eq(row->word, c->row->word) && (row == c->row || c->is_whole);
             row++)
            help_add_row(&p, row, row == c->row, true);
        buf_add(out, "\n");
        if (!c->row->has_no_settings)
            buf_add(out, "Also: --kubeconfig=FILE, --dry-run, --log-level=LEVEL, -v; settings: " PROGRAM
                         " help settings.\n");
        buf_add(out,
                "exit status of all commands: 64 unknown words or flags, 78 invalid settings (docs/exit-codes.md)\n");
        break;
    case COMMAND_HELP_SETTINGS:
        if (c->operand == NULL)
            settings_print_help(out);
        else if (settings_instead_of(c->operand) != NULL)
            return error_set(err, ERROR_INVALID, "%s is no longer a setting: %s", c->operand,
                             settings_instead_of(c->operand));
        else if (settings_print_help_of(c->operand, out, &nearest) != 0)
            return error_set(err, ERROR_INVALID, "unknown setting \"%s\"%s%s%s", c->operand,
                             nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                             nearest != NULL ? "?" : "");
        break;
    }
    return 0;
}
