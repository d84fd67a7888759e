/* What a command shows (cli/run.h). */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/run.h"
#include "haproxy/cfg/difference.h"
#include "json/write.h"
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

void show_lines(const struct cfg_line_difference *d, size_t column, size_t deeper, struct page *p)
{
    const char *section = NULL;
    for (size_t i = 0; i < d->count && i < CFG_LINE_DIFFERENCE_MAX; i++) {
        const struct cfg_line_of *line = &d->lines[i];
        if (!str_eq(section, line->section)) {
            page_to(p, column);
            page_put(p, INK_DIM, line->section);
            page_end_line(p);
        }
        section = line->section;
        page_to(p, deeper);
        page_flow_line(p, line->text[0] == '-' ? INK_RED : INK_GREEN, line->text);
    }
    if (d->count > CFG_LINE_DIFFERENCE_MAX) {
        page_to(p, column);
        page_printf(p, INK_DIM, "and %zu more lines", d->count - CFG_LINE_DIFFERENCE_MAX);
        page_end_line(p);
    }
}

void show_put_lines(const struct cfg_line_difference *d, struct yyjson_mut_doc *doc, struct yyjson_mut_val *to)
{
    struct yyjson_mut_val *lines = json_put_list(doc, to, "lines");
    for (size_t i = 0; i < d->count && i < CFG_LINE_DIFFERENCE_MAX; i++) {
        json_fields(doc, json_add_object(doc, lines), json_str("section", d->lines[i].section),
                    json_str("line", d->lines[i].text));
    }
    json_fields(doc, to, json_uint("line_count", d->count));
}

void show_init(struct show *s, const struct run *r)
{
    buf_init(&s->out, 0);
    s->json = r->command->json;
    show_page_init(&s->page, &s->out, stdout, r->command, r->environ);
}

void show_either(struct show *s, struct yyjson_mut_doc *doc, const char *text)
{
    if (s->json)
        json_print(doc, &s->out);
    else
        buf_add(&s->out, text);
    if (!s->json)
        json_free(doc);
}

void show_fini(struct show *s)
{
    buf_fini(&s->out);
}

int show_end(struct show *s, int status)
{
    return show_text(&s->out, stdout) == 0 ? status : EXIT_FAILURE;
}
