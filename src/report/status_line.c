#include "report/status_line.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/page.h"

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

/* Never in the middle of a character. */
static void cut(char *text, size_t max_bytes)
{
    size_t len = strlen(text);
    if (len <= max_bytes)
        return;
    len = max_bytes - strlen("...");
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--;
    memcpy(text + len, "...", sizeof("..."));
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
    cleanup(mem_free_ptr) char *text = page_safe(raw);
    cut(text, STATUS_LINE_MAX_BYTES - 64); /* room for what stands around it */
    return more == 0 ? mem_printf("not ready: %s", text)
                     : mem_printf("not ready: %s (and %zu more, see /readyz)", text, more);
}
