/* Comma-separated values (RFC 4180) with a header, which grows at its end with each version of HAProxy. */
#include "haproxy/local/cli_stat.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

enum stat_column {
    STAT_NAME,
    STAT_KIND,
    STAT_STATUS,
    STAT_ACTIVE,
    STAT_BACKUP,
    STAT_NEEDED, /* those before it */
    STAT_CHECK = STAT_NEEDED,
    STAT_DETAIL,
    STAT_COLUMNS
};

static const char *const stat_columns[STAT_COLUMNS] = {"pxname", "svname",       "status",  "act",
                                                       "bck",    "check_status", "last_chk"};

/* Takes the quotes off the value that begins at `text`, in place; what follows it. */
static char *stat_unquote(char *text)
{
    char *to = text, *from = text + 1;
    for (; *from != '\0' && (*from != '"' || from[1] == '"'); from++) {
        from += *from == '"';
        *to++ = *from;
    }
    char *rest = from + (*from == '"');
    *to = '\0';
    return rest;
}

/* Cuts the next value out of *at; NULL: there is none. */
static char *stat_value(char **at)
{
    char *value = *at;
    if (value == NULL || *value != '"')
        return value != NULL ? strsep(at, ",") : NULL;
    *at = stat_unquote(value);
    (void)strsep(at, ",");
    return value;
}

static int stat_header(char *line, size_t at[STAT_COLUMNS])
{
    unsigned found = 0;
    if (line == NULL || !str_has_prefix(line, "# "))
        return -1;
    line += 2;
    char *word;
    for (size_t i = 0; (word = stat_value(&line)) != NULL; i++)
        for (unsigned c = 0; c < STAT_COLUMNS; c++)
            if (str_eq(word, stat_columns[c]) && (found & 1u << c) == 0) {
                at[c] = i;
                found |= 1u << c;
            }
    return (found & ((1u << STAT_NEEDED) - 1)) == (1u << STAT_NEEDED) - 1 ? 0 : -1;
}

static int stat_row(struct served *s, const size_t at[STAT_COLUMNS], char *line)
{
    const char *values[STAT_COLUMNS] = {NULL}, *value;
    uint64_t active, backup;
    for (size_t i = 0; (value = stat_value(&line)) != NULL; i++)
        for (size_t c = 0; c < STAT_COLUMNS; c++)
            if (at[c] == i)
                values[c] = value;
    for (size_t c = 0; c < STAT_NEEDED; c++)
        if (values[c] == NULL)
            return -1;
    if (str_eq(values[STAT_KIND], "FRONTEND")) {
        served_add_frontend(s, values[STAT_NAME], str_eq(values[STAT_STATUS], "OPEN"));
    } else if (str_eq(values[STAT_KIND], "BACKEND")) {
        if (str_parse_uint(values[STAT_ACTIVE], UINT32_MAX / 2, &active) != 0 ||
            str_parse_uint(values[STAT_BACKUP], UINT32_MAX / 2, &backup) != 0)
            return -1;
        served_add_backend(s, values[STAT_NAME], (unsigned)(active + backup));
    } else {
        served_add_server(s, values[STAT_NAME], values[STAT_KIND], values[STAT_STATUS], values[STAT_CHECK],
                          values[STAT_DETAIL]);
    }
    return 0;
}

int cli_stat_read(struct served *s, const char *answer, struct error *err)
{
    size_t at[STAT_COLUMNS];
    for (size_t c = 0; c < STAT_COLUMNS; c++)
        at[c] = SIZE_MAX;
    cleanup(mem_free_ptr) char *text = mem_strdup(answer);
    char *rest = text;
    if (stat_header(strsep(&rest, "\n"), at) != 0) {
        cleanup(mem_free_ptr) char *line = mem_strndup(answer, strcspn(answer, "\n"));
        cleanup(mem_free_ptr) char *shown = text_shown(line, TEXT_LINE, 200);
        return error_set(err, ERROR_INVALID, "HAProxy's statistics cannot be read: it says: %s",
                         *shown != '\0' ? shown : "nothing");
    }
    for (char *line; rest != NULL && (line = strsep(&rest, "\n")) != NULL;)
        if (*line != '\0' && stat_row(s, at, line) != 0)
            return error_set(err, ERROR_INVALID, "HAProxy's statistics cannot be read: a row lacks columns");
    s->lists = true;
    served_sort(s);
    return 0;
}
