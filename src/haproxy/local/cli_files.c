#include "haproxy/local/cli_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/local/cli.h"
#include "haproxy/map_text.h"
#include "net/pem.h"

/* ---- lists ---- */

static const struct {
    const char *command, *head; /* head: a line that the answer has, whatever is loaded */
} cli_lists[CLI_LISTS] = {
    [CLI_MAPS] = {"show map", "# id (file) description"},  [CLI_ACLS] = {"show acl", "# id (file) description"},
    [CLI_CERTIFICATES] = {"show ssl cert", "# filename"},  [CLI_CA_FILES] = {"show ssl ca-file", "# filename"},
    [CLI_CRL_FILES] = {"show ssl crl-file", "# filename"},
};

const char *cli_list_command(enum cli_list list)
{
    return cli_lists[list].command;
}

void cli_names_fini(struct cli_names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->list[i]);
    free(n->list);
    *n = (struct cli_names){0};
}

/* Of "3 (NAME) pattern loaded from ...", "NAME - 2 certificate(s)", "NAME". */
static void cli_names_take(struct cli_names *n, enum cli_list list, const char *line)
{
    const char *name = line, *end = line + strlen(line);
    if (list == CLI_MAPS || list == CLI_ACLS) {
        name = strchr(line, '(');
        name = name != NULL ? name + 1 : end;
        end = strstr(name, ") ");
    } else if (list == CLI_CA_FILES && strstr(line, " - ") != NULL) {
        end = strstr(line, " - ");
    }
    if (end != NULL && end > name) {
        size_t len = (size_t)(end - name);
        n->list = mem_one_more(n->list, n->count, sizeof(n->list[0]));
        n->list[n->count++] = mem_strndup(name, len);
    }
}

int cli_names_init(struct cli_names *n, enum cli_list list, const char *answer, struct error *err)
{
    cleanup(mem_free_ptr) char *text = mem_strdup(answer);
    char *at = text;
    /* Of TLS files HAProxy says nothing where it has none of the kind. */
    bool headed = false, none = list != CLI_MAPS && list != CLI_ACLS && str_eq(answer, "\n");
    *n = (struct cli_names){0};
    for (const char *line; (line = strsep(&at, "\n")) != NULL;) {
        headed = headed || str_eq(line, cli_lists[list].head);
        if (headed && *line != '#' && *line != '\0')
            cli_names_take(n, list, line);
    }
    return headed || none ? 0 : cli_refuse(err, ERROR_INVALID, answer);
}

/* ---- maps ---- */

int cli_read_version(const char *answer, unsigned *ret, struct error *err)
{
    static const char says[] = "New version created: ";
    const char *at = answer + strspn(answer, "\n");
    uint64_t n;
    if (!str_has_prefix(at, says))
        return cli_refuse(err, ERROR_INVALID, answer);
    at += strlen(says);
    cleanup(mem_free_ptr) char *number = mem_strndup(at, strcspn(at, "\n"));
    if (str_parse_uint(number, UINT32_MAX, &n) != 0)
        return cli_refuse(err, ERROR_INVALID, answer);
    *ret = (unsigned)n;
    return 0;
}

/* "0x55d0c8a3b2e0 KEY VALUE": a line of a map's file whose value is one, too. */
int cli_read_map(const char *answer, struct map_entries *ret, struct error *err)
{
    cleanup(map_entries_fini) struct map_entries lines = {0};
    map_entries_read(&lines, answer);
    for (size_t i = 0; i < lines.count; i++) {
        const struct map_entry *line = &lines.list[i];
        const char *end = line->value + line->value_len;
        struct map_entry e = {.key = line->value, .key_len = strcspn(line->value, " \r\n")};
        if (e.key_len > line->value_len) /* a tab at its end is not of it */
            e.key_len = line->value_len;
        if (strncmp(line->key, "0x", 2) != 0 || e.key_len == 0)
            return cli_refuse(err, ERROR_INVALID, line->key);
        e.value = e.key + e.key_len;
        e.value += e.value < end;
        e.value_len = (size_t)(end - e.value);
        map_entries_add(ret, &e);
    }
    return 0;
}

/* ---- certificates ---- */

/* The line that begins so; NULL: none. */
static const char *cli_find_line(const char *answer, const char *begin)
{
    for (const char *line = answer; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (str_has_prefix(line, begin))
            return line;
    }
    return NULL;
}

int cli_read_certificate_set(const char *answer, struct error *err)
{
    bool done = cli_find_line(answer, "Transaction created for certificate ") != NULL ||
                cli_find_line(answer, "Transaction updated for certificate ") != NULL;
    return done ? 0 : cli_refuse(err, ERROR_INVALID, answer);
}

/* "Committing NAME.....", warnings, and how it ended. */
int cli_read_certificate_committed(const char *answer, struct error *err)
{
    return cli_find_line(answer, "Success!") != NULL ? 0 : cli_refuse(err, ERROR_INVALID, answer);
}

int cli_read_certificate(const char *answer, struct pem_identity *ret, struct error *err)
{
    static const char first[] = "SHA1 FingerPrint: ", other[] = "Chain Subject: ";
    const char *line = cli_find_line(answer, first);
    if (line == NULL)
        return cli_refuse(err, ERROR_INVALID, answer);
    *ret = (struct pem_identity){.certificates = 1};
    line += strlen(first);
    snprintf(ret->sha1, sizeof(ret->sha1), "%.*s", (int)strcspn(line, "\n"), line);
    while ((line = cli_find_line(line, other)) != NULL) {
        ret->certificates++;
        line += strlen(other);
    }
    return 0;
}
