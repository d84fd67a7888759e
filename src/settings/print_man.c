/* The settings as a list of mdoc(7), for the manual page: each sentence begins on a line of its own, as its linters want it. */
#include <string.h>

#include "base/mem.h"
#include "settings/settings.h"
#include "settings/fields.h"

#define LINE_MAX_BYTES 79 /* what mandoc -T lint takes for a line that a person can read */

static void add_word(struct buf *out, const char *word, size_t len, size_t *column)
{
    if (*column > 0 && *column + 1 + len > LINE_MAX_BYTES) {
        buf_add(out, "\n");
        *column = 0;
    }
    if (*column > 0)
        buf_add(out, " ");
    else if (*word == '.' || *word == '\'')
        buf_add(out, "\\&"); /* at the start of a line they would begin a macro */
    *column += (*column > 0) + len;
    for (size_t i = 0; i < len; i++)
        buf_addn(out, word[i] == '\\' ? "\\e" : word + i, word[i] == '\\' ? 2 : 1);
}

static bool ends_sentence(const char *word, size_t len)
{
    return word[len - 1] == '.' || word[len - 1] == '?' || word[len - 1] == '!';
}

static void add_text(struct buf *out, const char *text)
{
    size_t column = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, " ");
        add_word(out, text, len, &column);
        if (ends_sentence(text, len) && text[len] == ' ') {
            buf_add(out, "\n");
            column = 0;
        }
        text += len;
        text += strspn(text, " ");
    }
    buf_add(out, "\n");
}

/* "word: text.", as a line of its own in the paragraph. */
static void add_remark(struct buf *out, const char *word, const char *text)
{
    cleanup(mem_free_ptr) char *line = mem_printf("%s: %s.", word, text);
    buf_add(out, ".br\n");
    add_text(out, line);
}

void settings_print_man(struct buf *out)
{
    buf_add(out, ".Bl -tag -width Ds\n");
    for (int i = 0; i < SETTINGS_FIELD_COUNT; i++) {
        const struct setting *f = setting((enum setting_id)i);
        buf_printf(out, ".It Ev %s", f->name);
        if (f->or_file)
            buf_printf(out, " , Ev %s_FILE", f->name);
        buf_add(out, "\n");
        add_text(out, f->help);
        add_remark(out, "Expected", f->expected);
        if (f->fallback != NULL)
            add_remark(out, "Default", f->fallback);
        else
            add_remark(out, "Not set", f->unset);
    }
    buf_add(out, ".El\n");
}
