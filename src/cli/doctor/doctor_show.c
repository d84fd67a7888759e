#include "cli/doctor/doctor_show.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/doctor/doctor_print.h"
#include "cli/doctor/doctor_report.h"
#include "base/page.h"

int doctor_show(const struct doctor_report *report, const struct command *command, char *const *environ_)
{
    struct winsize size = {0};
    struct page page;
    cleanup(buf_fini) struct buf text;
    buf_init(&text, 0);
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        size.ws_col = 0;
    page_init(&page, &text, page_wants_colour(command->colour, isatty(STDOUT_FILENO) == 1, environ_), size.ws_col);
    if (command->json)
        doctor_print_json(report, &text);
    else
        doctor_print(report, &page);
    bool told = fwrite(buf_str(&text), 1, text.len, stdout) == text.len && fflush(stdout) == 0;
    return told ? doctor_status(report) : EXIT_FAILURE;
}
