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

const char *helper_environment_value(char *const *list, const char *name)
{
    size_t len = strlen(name);
    for (; *list != NULL; list++)
        if (strncmp(*list, name, len) == 0 && (*list)[len] == '=')
            return *list + len + 1;
    return NULL;
}

static size_t environment_name(const char *line, size_t len)
{
    size_t n = 0;
    while (n < len && (isalnum((unsigned char)line[n]) || line[n] == '_'))
        n++;
    return n > 0 && n < len && line[n] == '=' && !isdigit((unsigned char)line[0]) ? n : 0;
}

/* With these a master passes on to itself, over its reload, what it has; a check would take them for its own. All else that HAProxy sets,
 * a file may refer to. */
static bool environment_is_of_master(const char *line)
{
    static const char *const of_master[] = {
        "HAPROXY_MWORKER_", "HAPROXY_PROCESSES=", "HAPROXY_STARTUPLOGS_FD=", "HAPROXY_LOAD_SUCCESS=", "NOTIFY_"};
    for (size_t i = 0; i < array_len(of_master); i++)
        if (str_has_prefix(line, of_master[i]))
            return true;
    return false;
}

/* "NAME=VALUE", lines. has_long_values: a line that names nothing goes on with the value before it. */
static char **environment_of(const struct helper *h, const char *text, bool has_long_values)
{
    size_t count = 0, room = 3, lines = 0;
    for (const char *at = text; *at != '\0'; at++)
        lines += *at == '\n';
    char **list = mem_array(lines + room + 1, sizeof(list[0]));
    bool skips = true;
    for (const char *at = text, *end; *at != '\0'; at = *end == '\n' ? end + 1 : end) {
        size_t len = strcspn(at, "\n"), name = environment_name(at, len);
        end = at + len;
        if (name == 0 && has_long_values && count > 0 && !skips && len > 0) {
            char *longer = mem_printf("%s\n%.*s", list[count - 1], (int)len, at);
            mem_wipe_free(list[count - 1]);
            list[count - 1] = longer;
        }
        if (name == 0)
            continue;
        skips = environment_is_of_master(at);
        if (!skips)
            list[count++] = mem_strndup(at, len);
    }
    if (helper_environment_value(list, "PATH") == NULL)
        list[count++] = mem_strdup(h->environment[0]);
    if (h->options->master_socket != NULL && helper_environment_value(list, "HAPROXY_MWORKER") == NULL)
        list[count++] = mem_strdup("HAPROXY_MWORKER=1");
    return list;
}

/* ---- what files set */

/* value: only where it is that; NULL: any. */
static void environment_drop(char **list, const char *name, const char *value)
{
    size_t to = 0, len = strlen(name);
    for (size_t i = 0; list[i] != NULL; i++)
        if (strncmp(list[i], name, len) == 0 && list[i][len] == '=' &&
            (value == NULL || str_eq(list[i] + len + 1, value)))
            mem_wipe_free(list[i]);
        else
            list[to++] = list[i];
    list[to] = NULL;
}

/* restores: what a file sets does not outlive it. A file that names the local peer does it for itself alone, always. */
static void environment_drop_set(const char *path, bool restores, char **list)
{
    cleanup(cfg_file_fini) struct cfg_file f = {0};
    cleanup(cfg_line_fini) struct cfg_line words;
    cleanup(buf_wipe) struct buf text;
    buf_init_secret(&text, LOCAL_FILE_MAX_BYTES);
    cfg_line_init(&words);
    if (local_path_read(path, &text) != 0)
        return;
    cfg_file_parse(&f, buf_str(&text), text.len);
    for (size_t i = 0; i < f.line_count; i++) {
        cfg_line_split(&words, f.lines[i].text, f.lines[i].len);
        const char *keyword = cfg_word(&words, 0), *value = cfg_word(&words, 2);
        if (str_eq(keyword, "localpeer"))
            environment_drop(list, LOCAL_PEER, NULL);
        else if (restores && str_eq(keyword, "setenv"))
            environment_drop(list, cfg_word(&words, 1), NULL);
        else if (restores && str_eq(keyword, "presetenv")) /* any other value was there before */
            environment_drop(list, cfg_word(&words, 1), strchr(value, '$') == NULL ? value : NULL);
    }
}

/* ---- where it is from */

static char **environment_of_haproxy(const struct helper *h)
{
    static const char *const later[] = {"HAPROXY_CFGFILES", "HAPROXY_CLI", "HAPROXY_MASTER_CLI"};
    const struct local_helper_options *o = h->options;
    cleanup(buf_wipe) struct buf text;
    struct error err = {0};
    buf_init_secret(&text, LOCAL_ANSWER_MAX_BYTES);
    if (helper_talk(h, LOCAL_SOCKET_STATS, "show env", COMMAND_MS, &text, &err) != 0)
        return environment_of(h, "", false);
    char **list = environment_of(h, buf_str(&text), true);
    const char *branch = helper_environment_value(list, "HAPROXY_BRANCH");
    bool restores = branch != NULL && strverscmp(branch, RESTORES) >= 0;
    /* What it has only once it has read its files. */
    for (size_t i = 0; restores && i < array_len(later); i++)
        environment_drop(list, later[i], NULL);
    environment_drop_set(o->config_file, restores, list);
    for (size_t i = 0; o->files_before != NULL && o->files_before[i] != NULL; i++)
        environment_drop_set(o->files_before[i], restores, list);
    for (size_t i = 0; o->files_after != NULL && o->files_after[i] != NULL; i++)
        environment_drop_set(o->files_after[i], restores, list);
    return list;
}

static char **environment_of_file(struct helper_work *w, const char *file)
{
    cleanup(buf_wipe) struct buf text;
    buf_init_secret(&text, LOCAL_ANSWER_MAX_BYTES);
    if (buf_read_file(&text, file) != 0) {
        helper_fail(w, "cannot read %s, the environment of HAProxy: %m", file);
        return NULL;
    }
    char **list = environment_of(w->helper, buf_str(&text), false);
    /* As systemd reads an EnvironmentFile: NAME="VALUE" is that without the quotes. */
    for (size_t i = 0; list[i] != NULL; i++) {
        char *equal = strchr(list[i], '='), *value = equal != NULL ? equal + 1 : list[i];
        size_t len = strlen(value);
        if (equal != NULL && len >= 2 && (*value == '"' || *value == '\'') && value[len - 1] == *value) {
            memmove(value, value + 1, len - 2);
            value[len - 2] = '\0';
        }
    }
    return list;
}

char **helper_environment(struct helper_work *w, const char *checked)
{
    const char *file = w->helper->options->environment_file;
    char **list = file != NULL ? environment_of_file(w, file) : environment_of_haproxy(w->helper);
    if (list != NULL)
        environment_drop_set(checked, false, list);
    return list;
}
