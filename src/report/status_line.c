#include "report/status_line.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

static const char bad_mark[] = "[-]";

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line == '\n' ? line + 1 : line;
}

/* This line, or the next one behind it, that tells of something that is not ready, without its mark; NULL: there is none. */
static const char *find_bad(const char *line)
{
    while (*line != '\0' && !str_has_prefix(line, bad_mark))
        line = next_line(line);
    return *line != '\0' ? line + strlen(bad_mark) : NULL;
}

char *status_line(bool ready, const char *page)
{
    const char *first = find_bad(page);
    size_t more = 0;
    if (ready || first == NULL)
        return mem_strdup(ready ? "ready" : "not ready");
    for (const char *at = first; (at = find_bad(next_line(at))) != NULL;)
        more++;
    cleanup(mem_free_ptr) char *raw = mem_strndup(first, strcspn(first, "\n"));
    /* room for what stands around it */
    cleanup(mem_free_ptr) char *text = text_shown(raw, TEXT_TERMINAL, STATUS_LINE_MAX_BYTES - 64);
    return more == 0 ? mem_printf("not ready: %s", text)
                     : mem_printf("not ready: %s (and %zu more, see /readyz)", text, more);
}
