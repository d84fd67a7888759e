#include "cli/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/inspect_print.h"
#include "cli/inspect_report.h"
#include "cli/doctor/doctor_print.h"
#include "cli/doctor/doctor_report.h"
#include "base/page.h"

static void page_for(struct page *p, struct buf *out, FILE *to, const struct command *command, char *const *environ_)
{
    int fd = fileno(to);
    struct winsize size = {0};
    if (ioctl(fd, TIOCGWINSZ, &size) != 0)
        size.ws_col = 0;
    buf_init(out, 0);
    page_init(p, out, page_wants_colour(command->colour, isatty(fd) == 1, environ_), size.ws_col);
}

static int write_out(const struct buf *b, FILE *to)
{
    return fwrite(buf_str(b), 1, b->len, to) == b->len && fflush(to) == 0 ? 0 : -1;
}

int inspect_show(const struct inspect_report *report, const struct command *command, char *const *environ_)
{
    cleanup(buf_fini) struct buf text, problems;
    struct page page, problem_page;
    page_for(&page, &text, stdout, command, environ_);
    page_for(&problem_page, &problems, stderr, command, environ_);
    if (command->kind == COMMAND_EXPLAIN)
        inspect_print_explain(report, &page);
    else if (command->json)
        inspect_print_json(report, &text);
    else
        inspect_print_plan(report, &page);
    inspect_print_problems(report, &problem_page);
    int told = write_out(&text, stdout);
    if (write_out(&problems, stderr) != 0 || told != 0)
        return EXIT_FAILURE;
    return command->kind == COMMAND_EXPLAIN ? inspect_explain_status(report) : inspect_plan_status(report);
}

int doctor_show(const struct doctor_report *report, const struct command *command, char *const *environ_)
{
    cleanup(buf_fini) struct buf text;
    struct page page;
    page_for(&page, &text, stdout, command, environ_);
    if (command->json)
        doctor_print_json(report, &text);
    else
        doctor_print(report, &page);
    return write_out(&text, stdout) == 0 ? doctor_status(report) : EXIT_FAILURE;
}
