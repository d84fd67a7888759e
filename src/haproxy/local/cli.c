#include "haproxy/local/cli.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

/* ---- lines and words ---- */

/* Cuts the next line out of *at; NULL: there is none. */
static char *cli_next_line(char **at)
{
    return *at != NULL && **at != '\0' ? strsep(at, "\n") : NULL;
}

static bool cli_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word in *at, which goes on behind it; "" at the end. */
static const char *cli_word(char **at)
{
    char *word = *at;
    while (cli_is_blank(*word))
        word++;
    char *end = word; /* by hand: words are short and many, some 25 for each server */
    while (*end != '\0' && !cli_is_blank(*end))
        end++;
    *at = *end != '\0' ? end + 1 : end;
    *end = '\0';
    return word;
}

static size_t cli_count_lines(const char *text)
{
    size_t n = 1;
    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

int cli_refuse(struct error *err, enum error_kind kind, const char *answer)
{
    const char *start = answer + strspn(answer, " \t\r\n");
    cleanup(mem_free_ptr) char *line = mem_strndup(start, strcspn(start, "\n"));
    cleanup(mem_free_ptr) char *shown = text_shown(line, TEXT_LINE, TEXT_WHOLE);
    return error_set(err, kind, "HAProxy says: %s", *shown != '\0' ? shown : "nothing");
}

/* ---- show servers state ---- */

enum cli_column {
    COLUMN_NAME,
    COLUMN_ADDRESS,
    COLUMN_OPERATION,
    COLUMN_ADMIN,
    COLUMN_WEIGHT,
    COLUMN_CHECK,
    COLUMN_PORT,
    COLUMN_COUNT
};

static const char *const cli_columns[COLUMN_COUNT] = {
    "srv_name", "srv_addr", "srv_op_state", "srv_admin_state", "srv_uweight", "srv_check_state", "srv_port",
};

#define CLI_MAX_COLUMNS 64u
#define CLI_SERVERS_MAX 1000000u
#define CLI_PROCESSES_MAX 10000u

/* Which column of the answer has what; the format's version 1 is all that there ever was, and grows at its end. */
struct cli_header {
    int at[CLI_MAX_COLUMNS]; /* enum cli_column; -1: none of ours */
    size_t count;
};

static int cli_header_read(struct cli_header *h, char *line)
{
    unsigned found = 0;
    *h = (struct cli_header){.count = 0};
    if (line == NULL || *line != '#')
        return -1;
    line++;
    for (const char *word; h->count < CLI_MAX_COLUMNS && *(word = cli_word(&line)) != '\0'; h->count++) {
        h->at[h->count] = -1;
        for (int c = 0; c < COLUMN_COUNT; c++)
            if (str_eq(word, cli_columns[c]) && (found & 1u << c) == 0) {
                h->at[h->count] = c;
                found |= 1u << c;
            }
    }
    return found == (1u << COLUMN_COUNT) - 1 ? 0 : -1;
}

static int cli_number(const char *word, uint64_t max, unsigned *ret)
{
    uint64_t n;
    if (str_parse_uint(word, max, &n) != 0)
        return -1;
    *ret = (unsigned)n;
    return 0;
}

static int cli_server_read(struct cli_server *s, const struct cli_header *h, char *line)
{
    const char *words[COLUMN_COUNT] = {0};
    unsigned operation;
    for (size_t i = 0; i < h->count; i++) {
        const char *word = cli_word(&line);
        if (*word == '\0')
            return -1;
        if (h->at[i] >= 0)
            words[h->at[i]] = word;
    }
    *s = (struct cli_server){.name = words[COLUMN_NAME], .address = words[COLUMN_ADDRESS]};
    if (cli_number(words[COLUMN_OPERATION], CLI_STOPPING, &operation) != 0 ||
        cli_number(words[COLUMN_ADMIN], UINT32_MAX, &s->admin) != 0 ||
        cli_number(words[COLUMN_WEIGHT], UINT32_MAX, &s->weight) != 0 ||
        cli_number(words[COLUMN_CHECK], UINT32_MAX, &s->check) != 0 ||
        cli_number(words[COLUMN_PORT], 65535, &s->port) != 0)
        return -1;
    s->operation = (enum cli_operation)operation;
    return 0;
}

static int cli_servers_read(struct cli_servers *s, const char *answer, struct error *err)
{
    struct cli_header header;
    char *at = s->text;
    const char *version = cli_next_line(&at);
    if (str_has_prefix(answer, "Can't find backend"))
        return cli_refuse(err, ERROR_GONE, answer);
    if (version == NULL || !str_eq(version, "1") || cli_header_read(&header, cli_next_line(&at)) != 0)
        return cli_refuse(err, ERROR_INVALID, answer);
    size_t most = cli_count_lines(answer);
    s->servers = mem_array(most < CLI_SERVERS_MAX ? most : CLI_SERVERS_MAX, sizeof(s->servers[0]));
    for (char *line; (line = cli_next_line(&at)) != NULL;) {
        if (*line == '\0' || *line == '#')
            continue;
        if (s->count == CLI_SERVERS_MAX || cli_server_read(&s->servers[s->count], &header, line) != 0)
            return error_set(err, ERROR_INVALID, "HAProxy's list of servers cannot be read: server %zu of it",
                             s->count + 1);
        s->count++;
    }
    return 0;
}

int cli_servers_init(struct cli_servers *s, const char *answer, struct error *err)
{
    *s = (struct cli_servers){.text = mem_strdup(answer)};
    int rc = cli_servers_read(s, answer, err);
    if (rc != 0)
        cli_servers_fini(s);
    return rc;
}

void cli_servers_fini(struct cli_servers *s)
{
    mem_free_all(s->servers, s->text);
    *s = (struct cli_servers){0};
}

/* ---- show proc ---- */

/* "1234  worker  3  0d00h00m08s  2.6.12"; of the master also "[failed: 3]" behind the third column. */
static int cli_process_read(struct cli_processes *list, struct cli_process *p, char *line, bool is_old)
{
    unsigned pid;
    if (cli_number(cli_word(&line), INT32_MAX, &pid) != 0 || pid == 0)
        return -1;
    const char *type = cli_word(&line);
    *p = (struct cli_process){.pid = (pid_t)pid, .is_worker = str_eq(type, "worker"), .is_old = is_old};
    if (cli_number(cli_word(&line), UINT32_MAX, &p->reloads) != 0)
        return -1;
    if (str_eq(type, "master")) {
        const char *failed = str_eq(cli_word(&line), "[failed:") ? cli_word(&line) : "";
        cleanup(mem_free_ptr) char *number = mem_strndup(failed, strcspn(failed, "]"));
        list->master_pid = p->pid;
        list->reloads = p->reloads;
        list->failed_reloads = 0;
        (void)cli_number(number, UINT32_MAX, &list->failed_reloads);
    }
    list->old_workers += p->is_worker && is_old;
    return 0;
}

static int cli_processes_read(struct cli_processes *list, const char *answer, struct error *err)
{
    cleanup(mem_free_ptr) char *text = mem_strdup(answer);
    bool is_old = false;
    char *at = text;
    const char *head = cli_next_line(&at);
    if (head == NULL || !str_has_prefix(head, "#<PID>")) {
        struct error said = {0};
        (void)cli_refuse(&said, ERROR_INVALID, answer);
        return error_set(err, ERROR_INVALID, "%s (is it the master's socket, and was HAProxy started with -W?)",
                         said.message);
    }
    size_t most = cli_count_lines(answer);
    list->processes = mem_array(most < CLI_PROCESSES_MAX ? most : CLI_PROCESSES_MAX, sizeof(list->processes[0]));
    for (char *line; (line = cli_next_line(&at)) != NULL;) {
        struct cli_process *p = &list->processes[list->count];
        if (*line == '#')
            is_old = str_has_prefix(line, "# old");
        if (*line == '#' || *line == '\0')
            continue;
        if (list->count == CLI_PROCESSES_MAX || cli_process_read(list, p, line, is_old) != 0)
            return error_set(err, ERROR_INVALID, "HAProxy's list of processes cannot be read: line %zu of it",
                             list->count + 2);
        list->count++;
    }
    /* One that is leaving was there for more reloads than the one that serves. */
    const struct cli_process *newest = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const struct cli_process *p = &list->processes[i];
        if (p->is_worker && (newest == NULL || (newest->is_old && !p->is_old) ||
                             (newest->is_old == p->is_old && p->reloads < newest->reloads)))
            newest = p;
    }
    list->worker_pid = newest != NULL ? newest->pid : 0;
    list->old_workers -= newest != NULL && newest->is_old;
    return list->master_pid > 0 ? 0 : error_set(err, ERROR_INVALID, "HAProxy's list of processes names no master");
}

int cli_processes_init(struct cli_processes *p, const char *answer, struct error *err)
{
    *p = (struct cli_processes){0};
    int rc = cli_processes_read(p, answer, err);
    if (rc != 0)
        cli_processes_fini(p);
    return rc;
}

void cli_processes_fini(struct cli_processes *p)
{
    free(p->processes);
    *p = (struct cli_processes){0};
}

/* ---- show info ---- */

/* What stands behind "NAME: " in that line; NULL: another line. */
static const char *cli_info_value(const char *line, const char *name)
{
    size_t len = strlen(name);
    return str_has_prefix(line, name) && str_has_prefix(line + len, ": ") ? line + len + 2 : NULL;
}

int cli_info_read(struct cli_info *ret, const char *answer, struct error *err)
{
    cleanup(mem_free_ptr) char *text = mem_strdup(answer);
    char *at = text;
    uint64_t n;
    *ret = (struct cli_info){.pid = -1, .uptime_s = -1};
    for (const char *line, *value; (line = cli_next_line(&at)) != NULL;) {
        if ((value = cli_info_value(line, "Version")) != NULL)
            snprintf(ret->version, sizeof(ret->version), "%s", value);
        else if ((value = cli_info_value(line, "Pid")) != NULL && str_parse_uint(value, INT32_MAX, &n) == 0)
            ret->pid = (int64_t)n;
        else if ((value = cli_info_value(line, "Uptime_sec")) != NULL && str_parse_uint(value, INT64_MAX, &n) == 0)
            ret->uptime_s = (int64_t)n;
    }
    return ret->pid > 0 ? 0 : cli_refuse(err, ERROR_INVALID, answer);
}

/* ---- reload ---- */

enum cli_reload cli_read_reload(const char *answer, const char **ret_log)
{
    const char *line = strchr(answer, '\n');
    *ret_log = "";
    if (!str_has_prefix(answer, "Success=") || line == NULL)
        return CLI_RELOAD_UNKNOWN;
    if (str_has_prefix(line, "\n--\n"))
        *ret_log = line + strlen("\n--\n");
    if (answer[strlen("Success=")] == '1')
        return CLI_RELOAD_DONE;
    if (str_has_prefix(*ret_log, "Another reload is still in progress"))
        return CLI_RELOAD_BUSY;
    return answer[strlen("Success=")] == '0' ? CLI_RELOAD_FAILED : CLI_RELOAD_UNKNOWN;
}

/* ---- commands that change something ---- */

/* As HAProxy 2.6 to 3.4 says it. What begins with none of these is a refusal: a new success that is not known is tried
 * again, a refusal taken for a success would be lost. */
static const struct {
    const char *begin;
    enum error_kind kind;
} cli_said[] = {
    {"New server registered", ERROR_NONE},
    {"Server deleted", ERROR_NONE},
    {"IP changed from", ERROR_NONE},
    {"port changed from", ERROR_NONE},
    {"no need to change the addr", ERROR_NONE},
    {"no need to change the port", ERROR_NONE},
    {"nothing changed", ERROR_NONE},
    {"No such server", ERROR_GONE},
    {"No such backend", ERROR_GONE},
    {"Can't find backend", ERROR_GONE},
    {"Already exists a server", ERROR_CONFLICT},
    {"Server still has connections", ERROR_CONFLICT},
    {"Only servers in maintenance mode can be deleted", ERROR_CONFLICT}, /* it did not carry out an earlier command */
    {"This server cannot be removed at runtime", ERROR_INVALID},
    {"Permission denied", ERROR_AUTH},
};

int cli_read_done(const char *answer, struct error *err)
{
    const char *start = answer + strspn(answer, " \t\r\n");
    if (*start == '\0') /* silence is a newline; without it the connection ended before the answer */
        return *answer != '\0' ? 0 : cli_refuse(err, ERROR_RETRY, answer);
    for (size_t i = 0; i < array_len(cli_said); i++)
        if (str_has_prefix(start, cli_said[i].begin))
            return cli_said[i].kind == ERROR_NONE ? 0 : cli_refuse(err, cli_said[i].kind, start);
    return cli_refuse(err, ERROR_INVALID, start);
}
