#include "haproxy/validation_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "haproxy/cfg/edit.h"

#define SHOWN 5 /* messages: HAProxy goes on after the first mistake, and the others often follow from it */

/* The next text in quotes behind `msg=`, which are escaped in it; *at is moved behind it. Allocates; NULL: no more. */
static char *validation_next(const char **at)
{
    static const char begin[] = "msg=\"";
    const char *start = strstr(*at, begin);
    if (start == NULL)
        return NULL;
    struct buf text = {0};
    const char *p = start + strlen(begin);
    for (; *p != '\0' && *p != '"'; p++) {
        if (*p == '\\' && p[1] != '\0')
            p++;
        buf_addn(&text, p, 1);
    }
    *at = p;
    return buf_take(&text);
}

/* "config parsing [/tmp/x:19]: TEXT" -> line 19, TEXT; the file's name in *ret_name, of that length. 0: it names none. */
static unsigned validation_line(const char **text, const char **ret_name, size_t *ret_len)
{
    static const char *const starts[] = {"config", ":", "parsing"};
    const char *s = *text;
    for (size_t i = 0; i < array_len(starts); i++) {
        s += strspn(s, " ");
        s += str_has_prefix(s, starts[i]) ? strlen(starts[i]) : 0;
    }
    s += strspn(s, " ");
    const char *close = *s == '[' ? strchr(s, ']') : NULL, *digits = close;
    while (digits != NULL && digits > s && isdigit((unsigned char)digits[-1]))
        digits--;
    *text = s;
    if (close == NULL || digits == close || digits[-1] != ':')
        return 0;
    *text = close + 1 + strspn(close + 1, " :");
    *ret_name = s + 1;
    *ret_len = (size_t)(digits - 1 - *ret_name);
    return (unsigned)strtoul(digits, NULL, 10);
}

/* The next line that is an error, behind "[ALERT] (PID) : "; *at is moved behind it. Allocates; NULL: no more. */
static char *validation_next_alert(const char **at)
{
    static const char begin[] = "[ALERT]";
    for (const char *line = *at; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        const char *next = line + len + (line[len] == '\n');
        *at = next;
        if (str_has_prefix(line, begin)) {
            const char *close = memchr(line, ')', len);
            const char *text = close != NULL ? close + 1 : line + strlen(begin);
            text += strspn(text, " :");
            return mem_strndup(text, text < line + len ? (size_t)(line + len - text) : 0);
        }
        line = next;
    }
    return NULL;
}

/* file: of a program; NULL: an API's answer. */
static char *validation_messages(const char *said, const char *file, const struct cfg_edits *edits, bool rewritten)
{
    struct text_list all = {.between = "; ", .max = SHOWN};
    const char *at = said;
    for (char *text; (text = file != NULL ? validation_next_alert(&at) : validation_next(&at)) != NULL; free(text)) {
        struct cfg_edits_back back = {0};
        const char *says = text, *name = NULL;
        bool inserted = false;
        size_t len = 0;
        unsigned line = validation_line(&says, &name, &len);
        /* Said of each file that is refused. */
        bool says_nothing = strstr(says, "rror(s) found in configuration file") != NULL ||
                            strstr(says, "Fatal errors found in configuration") != NULL;
        if (says_nothing || !text_list_next(&all))
            continue;
        bool others = file != NULL && line > 0 && (strlen(file) != len || memcmp(name, file, len) != 0);
        if (line > 0 && !others && !rewritten && edits != NULL)
            line = cfg_edits_line(edits, &back, line, &inserted);
        if (others)
            buf_printf(&all.text, "%.*s, line %u: ", (int)len, name, line);
        else if (line > 0 && rewritten)
            buf_printf(&all.text, "line %u of the file as the Data Plane API writes it: ", line);
        else if (line > 0)
            buf_printf(&all.text, inserted ? "a line that is added behind line %u: " : "line %u: ", line);
        buf_add(&all.text, says);
    }
    char *list = text_list_take(&all);
    return list != NULL ? list : mem_strdup(said);
}

char *validation_text(const char *message, const struct cfg_edits *edits, bool rewritten)
{
    return validation_messages(message, NULL, edits, rewritten);
}

char *validation_text_of_program(const char *said, const char *file, const struct cfg_edits *edits)
{
    return validation_messages(said, file, edits, false);
}
