#include "cli/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/config.h"
#include "cli/config_history.h"
#include "cli/inspect_print.h"
#include "cli/inspect_report.h"
#include "configuration/store.h"
#include "cli/doctor/doctor_report.h"
#include "base/page.h"
#include "settings/environment.h"

void show_page_init(struct page *p, struct buf *out, FILE *to, const struct command *command, char *const *environ_)
{
    int fd = fileno(to);
    struct winsize size = {0};
    if (ioctl(fd, TIOCGWINSZ, &size) != 0)
        size.ws_col = 0;
    bool colour = page_wants_colour(command->colour, isatty(fd) == 1, environment_get(environ_, "NO_COLOR"),
                                    environment_get(environ_, "TERM"));
    page_init(p, out, colour, size.ws_col);
}

int show_text(const struct buf *b, FILE *to)
{
    return fwrite(buf_str(b), 1, b->len, to) == b->len && fflush(to) == 0 ? 0 : -1;
}

int inspect_show(const struct inspect_report *report, const struct command *command, char *const *environ_)
{
    cleanup(buf_fini) struct buf text = {0}, problems = {0};
    struct page page, problem_page;
    show_page_init(&page, &text, stdout, command, environ_);
    show_page_init(&problem_page, &problems, stderr, command, environ_);
    if (command->kind == COMMAND_EXPLAIN)
        inspect_print_explain(report, &page);
    else if (command->json)
        inspect_print_json(report, &text);
    else
        inspect_print_plan(report, &page);
    inspect_print_problems(report, &problem_page);
    int written = show_text(&text, stdout);
    if (show_text(&problems, stderr) != 0 || written != 0)
        return EXIT_FAILURE;
    return command->kind == COMMAND_EXPLAIN ? inspect_explain_status(report) : inspect_plan_status(report);
}

int config_show_report(const struct config_report *report, const struct command *command, char *const *environ_)
{
    cleanup(buf_fini) struct buf text = {0};
    struct page page;
    show_page_init(&page, &text, stdout, command, environ_);
    if (command->json)
        config_print_json(report, &text);
    else
        config_print(report, &page);
    return show_text(&text, stdout) == 0 ? config_status(report) : EXIT_FAILURE;
}

int config_show_history(const struct settings *settings, const struct command *command, char *const *environ_)
{
    cleanup(buf_fini) struct buf text = {0};
    struct page page;
    struct error err = {0};
    struct store *store = config_history_open(settings, &err);
    if (store == NULL) {
        fprintf(stderr, "error: %s\n", err.message);
        return EXIT_FAILURE;
    }
    show_page_init(&page, &text, stdout, command, environ_);
    if (command->json)
        config_history_print_json(store, &text);
    else
        config_history_print(store, &page);
    store_free(store);
    return show_text(&text, stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int doctor_show(const struct doctor_report *report, const struct command *command, char *const *environ_)
{
    cleanup(buf_fini) struct buf text = {0};
    struct page page;
    show_page_init(&page, &text, stdout, command, environ_);
    if (command->json)
        doctor_print_json(report, &text);
    else
        doctor_print(report, &page);
    return show_text(&text, stdout) == 0 ? doctor_status(report) : EXIT_FAILURE;
}
