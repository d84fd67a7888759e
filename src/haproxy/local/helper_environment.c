/* The environment of `haproxy -c`: what HAProxy itself has, so that conditionals and variables of a file are the same to both. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/words.h"
#include "haproxy/local/files.h"
#include "haproxy/local/helper_internal.h"

#define COMMAND_MS 2000
/* From this branch on a master begins each reload with the environment that it was started with; before, with what the file
 * that it loaded last has set. */
#define RESTORES "3.1"

static size_t environment_name(const char *line, size_t len)
{
    size_t n = 0;
    while (n < len && (isalnum((unsigned char)line[n]) || line[n] == '_'))
        n++;
    return n > 0 && n < len && line[n] == '=' && !isdigit((unsigned char)line[0]) ? n : 0;
}

/* The master sets these anew for each process that it starts; those of systemd are about another one. */
static bool environment_is_of_master(const char *line)
{
    return str_has_prefix(line, "HAPROXY_") || str_has_prefix(line, "NOTIFY_");
}

/* "NAME=VALUE", lines. A line that names nothing goes on with the value before it. */
static char **environment_of(const char *text, const char *path)
{
    size_t count = 0, room = 2, lines = 0;
    for (const char *at = text; *at != '\0'; at++)
        lines += *at == '\n';
    char **list = mem_array(lines + room + 1, sizeof(list[0]));
    bool has_path = false, skips = true;
    for (const char *at = text, *end; *at != '\0'; at = *end == '\n' ? end + 1 : end) {
        size_t len = strcspn(at, "\n"), name = environment_name(at, len);
        end = at + len;
        if (name == 0 && count > 0 && !skips && len > 0) {
            char *longer = mem_printf("%s\n%.*s", list[count - 1], (int)len, at);
            mem_wipe_free(list[count - 1]);
            list[count - 1] = longer;
        }
        if (name == 0)
            continue;
        skips = environment_is_of_master(at);
        has_path = has_path || str_has_prefix(at, "PATH=");
        if (!skips)
            list[count++] = mem_strndup(at, len);
    }
    if (!has_path)
        list[count++] = mem_strdup(path);
    list[count] = NULL;
    return list;
}

void helper_environment_free(char **list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        mem_wipe_free(list[i]);
    free(list);
}

/* ---- what the file sets by itself */

static void environment_drop(char **list, const char *name)
{
    size_t to = 0, len = strlen(name);
    for (size_t i = 0; list[i] != NULL; i++)
        if (strncmp(list[i], name, len) == 0 && list[i][len] == '=')
            mem_wipe_free(list[i]);
        else
            list[to++] = list[i];
    list[to] = NULL;
}

static void environment_drop_set(struct helper_work *w, char **list)
{
    cleanup(local_place_fini) struct local_place p = {.folder = -1};
    cleanup(cfg_file_fini) struct cfg_file f = {0};
    cleanup(cfg_line_fini) struct cfg_line words;
    cleanup(buf_wipe) struct buf text;
    struct local_identity identity;
    buf_init_secret(&text, LOCAL_FILE_MAX_BYTES);
    cfg_line_init(&words);
    if (local_place_of_file(&p, w->helper->options->config_file) != 0 || local_file_read(&p, &text, &identity) != 0)
        return;
    cfg_file_parse(&f, buf_str(&text), text.len);
    for (size_t i = 0; i < f.line_count; i++) {
        cfg_line_split(&words, f.lines[i].text, f.lines[i].len);
        if (str_eq(cfg_word(&words, 0), "setenv") || str_eq(cfg_word(&words, 0), "presetenv"))
            environment_drop(list, cfg_word(&words, 1));
    }
}

/* ---- where it is from */

static char **environment_of_haproxy(struct helper_work *w, const char *path)
{
    if (helper_talk(w, LOCAL_SOCKET_STATS, "show env", COMMAND_MS) != 0) {
        free(w->message);
        w->message = NULL;
        w->answer.status = LOCAL_OK;
        return environment_of("", path);
    }
    const char *branch = strstr(buf_str(&w->data), "HAPROXY_BRANCH=");
    char **list = environment_of(buf_str(&w->data), path);
    if (branch != NULL && strverscmp(branch + strlen("HAPROXY_BRANCH="), RESTORES) >= 0)
        environment_drop_set(w, list);
    buf_clear(&w->data);
    return list;
}

/* As systemd reads an EnvironmentFile: NAME="VALUE" is that without the quotes. */
static void environment_unquote(char **list)
{
    for (size_t i = 0; list[i] != NULL; i++) {
        char *equal = strchr(list[i], '='), *value = equal != NULL ? equal + 1 : list[i];
        size_t len = strlen(value);
        if (equal != NULL && len >= 2 && (*value == '"' || *value == '\'') && value[len - 1] == *value) {
            memmove(value, value + 1, len - 2);
            value[len - 2] = '\0';
        }
    }
}

char **helper_environment(struct helper_work *w)
{
    const char *path = w->helper->environment[0], *file = w->helper->options->environment_file;
    cleanup(buf_wipe) struct buf text = {.secret = true};
    if (file == NULL)
        return environment_of_haproxy(w, path);
    buf_init_secret(&text, LOCAL_ANSWER_MAX_BYTES);
    if (buf_read_file(&text, file) != 0) {
        helper_fail(w, "cannot read %s, the environment of HAProxy: %m", file);
        return NULL;
    }
    char **list = environment_of(buf_str(&text), path);
    environment_unquote(list);
    return list;
}
