/* What the files in front of the configuration say of servers: the default-server lines of their defaults sections, and nothing else of
 * them, for they may hold passwords. HAProxy applies none of it to a server that is added by a command, so the command has to. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/words.h"
#include "haproxy/local/files.h"
#include "haproxy/local/helper_internal.h"

/* What a server's weight or state would come from. Those that run are compared with the file that is managed, which does not say so. */
static bool defaults_is_compared(const struct cfg_line *words)
{
    for (size_t i = 1; i < words->count; i++)
        if (str_eq(cfg_word(words, i), "weight") || str_eq(cfg_word(words, i), "disabled"))
            return true;
    return false;
}

/* -1: a conditional, whose branches only HAProxy knows; or a word that takes a reload. */
static int defaults_take(const struct cfg_file *f, struct buf *out)
{
    cleanup(cfg_line_fini) struct cfg_line words;
    cfg_line_init(&words);
    for (size_t i = 0; i < f->line_count; i++) {
        cfg_line_split(&words, f->lines[i].text, f->lines[i].len);
        if (cfg_word(&words, 0)[0] == '.')
            return -1;
    }
    for (size_t i = 0; i < f->section_count; i++) {
        const struct cfg_file_section *s = &f->sections[i];
        if (!str_eq(s->kind, "defaults"))
            continue;
        buf_addn(out, s->line->text, s->line->len);
        buf_add(out, "\n");
        for (size_t k = 0; k < s->line_count; k++) {
            cfg_line_split(&words, s->lines[k].text, s->lines[k].len);
            if (!str_eq(cfg_word(&words, 0), "default-server"))
                continue;
            if (defaults_is_compared(&words))
                return -1;
            buf_addn(out, s->lines[k].text, s->lines[k].len);
            buf_add(out, "\n");
        }
    }
    return 0;
}

static int defaults_read(const char *path, struct buf *out)
{
    cleanup(cfg_file_fini) struct cfg_file f = {0};
    cleanup(buf_wipe) struct buf text;
    buf_init_secret(&text, LOCAL_FILE_MAX_BYTES);
    if (local_path_read(path, &text) != 0)
        return -1;
    cfg_file_parse(&f, buf_str(&text), text.len);
    if (memchr(buf_str(&text), '\0', text.len) != NULL || f.broken != 0 || f.too_many)
        return -1;
    return defaults_take(&f, out);
}

void helper_read_defaults(struct helper_work *w)
{
    struct buf out = {0};
    const char *const *before = w->helper->options->files_before;
    int status = 0;
    for (size_t i = 0; before != NULL && before[i] != NULL && status == 0; i++)
        status = defaults_read(before[i], &out);
    free(w->message);
    w->message = status == 0 ? buf_take(&out) : NULL;
    w->answer.error_number = status == 0 ? 0 : EINVAL;
    buf_fini(&out);
}
