/* `help settings` from the table. */
#include <ctype.h>
#include <stdbool.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/page.h"
#include "base/str.h"
#include "settings/settings.h"
#include "settings/table.h"
#include "settings/types.h"

#define HELP_WIDTH 110
#define HELP_MARGIN 6

static void pages_add_paragraph(struct page *p, const char *word, const char *text)
{
    cleanup(mem_free_ptr) char *line = mem_printf("%s%s%s", word, word[0] != '\0' ? ": " : "", text);
    page_to(p, HELP_MARGIN);
    page_flow_line(p, INK_PLAIN, line);
}

static void pages_add_setting(struct page *p, const struct setting *row)
{
    page_printf(p, INK_PLAIN, "  %s%s%s%s", row->name, row->or_file ? " or " : "", row->or_file ? row->name : "",
                row->or_file ? "_FILE" : "");
    page_end_line(p);
    pages_add_paragraph(p, "", row->help);
    pages_add_paragraph(p, "expected", row->expected);
    pages_add_paragraph(p, row->fallback != NULL ? "default" : "not set",
                        row->fallback != NULL ? row->fallback : row->unset);
    if (row->alias != NULL || row->alias_fallback != NULL) {
        cleanup(mem_free_ptr) char *alias = setting_alias_text(row);
        pages_add_paragraph(p, "beside MODE", alias);
    }
    if (row->flag != NULL && row->alias == NULL) {
        cleanup(mem_free_ptr) char *flag = mem_printf("--%s%s", row->flag, row->type == &type_flag ? "" : "=...");
        pages_add_paragraph(p, "flag", flag);
    }
}

static const char help_head[] =
    "Settings are environment variables. An empty one counts as not set. The start checks all of them, lists every\n"
    "problem and exits with status 78 if one is invalid. Some are flags, too, which are stronger. Beside MODE, the\n"
    "names of an operator for a haproxy.cfg in a Secret count, too, and each is a flag (MODE=k8s is --mode=k8s).\n"
    "\n";

void settings_print_help(struct buf *out)
{
    struct page p;
    page_init(&p, out, false, HELP_WIDTH);
    buf_add(out, help_head);
    for (const struct setting *row = setting_table; row->name != NULL; row++)
        pages_add_setting(&p, row);
}

int settings_print_help_of(const char *name, struct buf *out, char **ret_nearest)
{
    struct page p;
    cleanup(nearest_fini) struct nearest n;
    cleanup(mem_free_ptr) char *upper = mem_strdup(name);
    for (char *at = upper; *at != '\0'; at++)
        *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
    page_init(&p, out, false, HELP_WIDTH);
    nearest_init(&n, upper);
    for (const struct setting *row = setting_table; row->name != NULL; row++) {
        if (str_eq(upper, row->name) || str_eq(upper, row->alias)) {
            pages_add_setting(&p, row);
            return 0;
        }
        nearest_add(&n, row->name, nearest_distance(&n, row->name));
    }
    *ret_nearest = nearest_text(&n);
    return -1;
}
