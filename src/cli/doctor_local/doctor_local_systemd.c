#include "cli/doctor_local/doctor_local_systemd.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#define BLANKS " \t\r"

/* ---- properties ---- */

char *systemd_property(const char *shown, const char *name, size_t n)
{
    size_t name_len = strlen(name);
    for (const char *line = shown; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        if (strncmp(line, name, name_len) == 0 && line[name_len] == '=' && n-- == 0)
            return mem_strndup(line + name_len + 1, len - name_len - 1);
        line += len + (line[len] == '\n');
    }
    return NULL;
}

char *systemd_environment_file(const char *shown, size_t n)
{
    char *line = systemd_property(shown, "EnvironmentFiles", n);
    char *remark = line != NULL ? strstr(line, " (ignore_errors=") : NULL;
    if (remark != NULL)
        *remark = '\0';
    return line;
}

/* ---- variables ---- */

/* One word, as a shell would read it; *at is moved behind it. NULL: there is no more. Allocates. */
static char *systemd_next_word(const char **at)
{
    struct buf word = {0};
    const char *p = *at + strspn(*at, BLANKS);
    char quote = '\0';
    if (*p == '\0')
        return NULL;
    for (; *p != '\0' && (quote != '\0' || strchr(BLANKS, *p) == NULL); p++) {
        if (quote == '\0' && (*p == '"' || *p == '\'')) {
            quote = *p;
            continue;
        }
        if (*p == quote) {
            quote = '\0';
            continue;
        }
        if (*p == '\\' && quote != '\'' && p[1] != '\0')
            p++;
        buf_addn(&word, p, 1);
    }
    *at = p;
    return buf_take(&word);
}

static char *systemd_value(const char *assignment, const char *name)
{
    size_t len = strlen(name);
    return strncmp(assignment, name, len) == 0 && assignment[len] == '=' ? mem_strdup(assignment + len + 1) : NULL;
}

/* Later ones count. */
static void systemd_take(char **ret, char *value)
{
    if (value == NULL)
        return;
    free(*ret);
    *ret = value;
}

static char *systemd_in_environment(const char *shown, const char *name)
{
    cleanup(mem_free_ptr) char *list = systemd_property(shown, "Environment", 0);
    char *found = NULL;
    const char *at = list != NULL ? list : "";
    for (char *word; (word = systemd_next_word(&at)) != NULL; free(word))
        systemd_take(&found, systemd_value(word, name));
    return found;
}

/* NAME=value a line; blanks around either and quotes around the value do not count. */
static char *systemd_in_file(const char *text, const char *name)
{
    char *found = NULL;
    for (const char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        cleanup(mem_free_ptr) char *copy = mem_strndup(line, len);
        char *equals = strchr(copy, '=');
        const char *key = copy + strspn(copy, BLANKS);
        line += len + (line[len] == '\n');
        if (equals == NULL)
            continue;
        char *end = equals;
        while (end > key && strchr(BLANKS, end[-1]) != NULL)
            end--;
        *end = '\0';
        if (!str_eq(key, name))
            continue;
        const char *value = equals + 1 + strspn(equals + 1, BLANKS);
        char *last = copy + len;
        while (last > value && strchr(BLANKS, last[-1]) != NULL)
            *--last = '\0';
        if (*value == '"' || *value == '\'') {
            systemd_take(&found, systemd_next_word(&value));
        } else {
            systemd_take(&found, mem_strdup(value));
        }
    }
    return found;
}

char *systemd_variable(const char *shown, const char *const *files, size_t count, const char *name)
{
    char *found = systemd_in_environment(shown, name);
    for (size_t i = 0; i < count; i++)
        systemd_take(&found, systemd_in_file(files[i], name));
    return found;
}

/* ---- the command ---- */

struct systemd_words {
    char **list;
    size_t count;
};

static void systemd_add(struct systemd_words *w, char *word)
{
    w->list = mem_resize(w->list, w->count + 2, sizeof(w->list[0]));
    w->list[w->count++] = word;
    w->list[w->count] = NULL;
}

/* "$NAME" is as many words as the value has; "${NAME}" stays within its word. */
static void systemd_expand(struct systemd_words *to, const char *word, const char *shown, const char *const *files,
                           size_t count)
{
    struct buf text = {0};
    if (*word == '$' && word[1] != '{' && word[1] != '$' && word[1] != '\0') {
        cleanup(mem_free_ptr) char *value = systemd_variable(shown, files, count, word + 1);
        const char *at = value != NULL ? value : "";
        for (char *next; (next = systemd_next_word(&at)) != NULL;)
            systemd_add(to, next);
        return;
    }
    for (const char *p = word; *p != '\0'; p++) {
        const char *end = str_has_prefix(p, "${") ? strchr(p, '}') : NULL;
        if (end == NULL) {
            buf_addn(&text, p, 1);
            continue;
        }
        cleanup(mem_free_ptr) char *name = mem_strndup(p + 2, (size_t)(end - p) - 2);
        cleanup(mem_free_ptr) char *value = systemd_variable(shown, files, count, name);
        buf_add(&text, value != NULL ? value : "");
        p = end;
    }
    systemd_add(to, buf_take(&text));
}

char **systemd_command(const char *shown, const char *const *files, size_t count)
{
    cleanup(mem_free_ptr) char *exec = systemd_property(shown, "ExecStart", 0);
    char *begin = exec != NULL ? strstr(exec, "argv[]=") : NULL;
    char *end = begin != NULL ? strstr(begin, " ; ") : NULL;
    if (end == NULL)
        return NULL;
    *end = '\0';
    struct systemd_words words = {0};
    const char *at = begin + strlen("argv[]=");
    bool program = true;
    for (char *word; (word = systemd_next_word(&at)) != NULL; free(word)) {
        if (!program)
            systemd_expand(&words, word, shown, files, count);
        program = false;
    }
    return words.list != NULL ? words.list : mem_array(1, sizeof(char *));
}
