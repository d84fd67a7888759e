#include "cli/doctor_local/doctor_local_command_line.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static void command_line_add_file(struct haproxy_command_line *l, const char *file)
{
    l->files = mem_resize(l->files, l->file_count + 1, sizeof(l->files[0]));
    l->files[l->file_count++] = mem_strdup(file);
}

/* Those whose argument is a word of its own. */
static bool command_line_takes_word(const char *option)
{
    return option[1] != '\0' && strchr("fCSpnNmLx", option[1]) != NULL && option[2] == '\0';
}

static void command_line_take(struct haproxy_command_line *l, char option, const char *word)
{
    char **place = option == 'S' ? &l->socket : option == 'C' ? &l->folder : NULL;
    if (option == 'f')
        command_line_add_file(l, word);
    if (place == NULL)
        return;
    free(*place);
    *place = mem_strndup(word, option == 'S' ? strcspn(word, ",") : strlen(word));
}

void haproxy_command_line_read(struct haproxy_command_line *ret, const char *const *words, size_t count)
{
    *ret = (struct haproxy_command_line){.runs = true};
    for (size_t i = 0; i < count; i++) {
        const char *w = words[i];
        if (str_eq(w, "--")) {
            while (++i < count)
                command_line_add_file(ret, words[i]);
        } else if (str_eq(w, "-W") || str_eq(w, "-Ws")) {
            ret->master = true;
        } else if (str_eq(w, "-c") || str_eq(w, "-v") || str_eq(w, "-vv")) {
            ret->runs = false;
        } else if (*w == '-' && command_line_takes_word(w) && i + 1 < count) {
            command_line_take(ret, w[1], words[++i]);
        } /* -sf and -st: the numbers behind them begin with no '-' and name nothing */
    }
    if (ret->socket != NULL && str_has_prefix(ret->socket, "unix@")) {
        char *path = mem_strdup(ret->socket + strlen("unix@"));
        free(ret->socket);
        ret->socket = path;
    }
}

void haproxy_command_line_fini(struct haproxy_command_line *l)
{
    for (size_t i = 0; i < l->file_count; i++)
        free(l->files[i]);
    free(l->files);
    free(l->socket);
    free(l->folder);
    *l = (struct haproxy_command_line){0};
}
