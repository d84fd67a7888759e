#include "cli/config_print_files.h"

#include <string.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/page.h"
#include "base/text.h"
#include "haproxy/storage_foresight.h"
#include "json/write.h"

#define FILES_COLUMN 4
#define FILES_NAMES_SHOWN 20 /* of those that do not change */

bool config_files_change(const struct storage_foresight *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].effect != STORAGE_UNCHANGED)
            return true;
    return false;
}

char *config_next_command(const char **line)
{
    size_t len = strcspn(*line, "\n");
    char *command = len > 0 ? mem_strndup(*line, len) : NULL;
    *line += len + (len > 0);
    return command;
}

static void files_print_one(const struct storage_foreseen *f, struct page *p)
{
    static const char *const says[] = {[STORAGE_UNUSED] = "stored; HAProxy does not have it loaded",
                                       [STORAGE_BY_RUNTIME] = "no reload: by the runtime API",
                                       [STORAGE_BY_RELOAD] = "a reload: ",
                                       [STORAGE_GOES] = "deleted, once the configuration runs"};
    cleanup(buf_fini) struct buf text = {0};
    const char *line = buf_str(&f->commands);
    buf_printf(&text, "%s: %s%s", f->name, says[f->effect], f->why != NULL ? f->why : "");
    if (f->counted)
        buf_printf(&text, "; entries: %zu new, %zu gone, %zu changed", f->entries.come, f->entries.go,
                   f->entries.change);
    page_to(p, FILES_COLUMN);
    page_flow_line(p, INK_PLAIN, buf_str(&text));
    for (char *command; (command = config_next_command(&line)) != NULL; mem_free_ptr(&command)) {
        page_to(p, 2 * FILES_COLUMN);
        page_put(p, INK_DIM, command); /* whole, to be copied */
        page_end_line(p);
    }
}

void config_print_files(const struct storage_foresight *s, struct page *p)
{
    struct text_list same = {.between = ", ", .max = FILES_NAMES_SHOWN};
    for (size_t i = 0; i < s->count; i++) {
        if (s->list[i].effect != STORAGE_UNCHANGED)
            files_print_one(&s->list[i], p);
        else if (text_list_next(&same))
            buf_add(&same.text, s->list[i].name);
    }
    cleanup(mem_free_ptr) char *names = text_list_take(&same);
    if (names == NULL)
        return;
    page_to(p, FILES_COLUMN);
    page_put(p, INK_DIM, "unchanged: ");
    page_flow_line(p, INK_DIM, names);
}

static void files_put_one(const struct storage_foreseen *f, yyjson_mut_doc *doc, yyjson_mut_val *to)
{
    const char *line = buf_str(&f->commands);
    json_put_text(doc, to, "name", f->name);
    json_put_text(doc, to, "effect", storage_effect_name(f->effect));
    json_put_text(doc, to, "why", f->why);
    if (f->counted) {
        yyjson_mut_val *entries = json_put_object(doc, to, "entries");
        json_put_count(doc, entries, "new", f->entries.come);
        json_put_count(doc, entries, "gone", f->entries.go);
        json_put_count(doc, entries, "changed", f->entries.change);
    } else {
        json_put_text(doc, to, "entries", NULL);
    }
    yyjson_mut_val *commands = json_put_list(doc, to, "commands");
    for (char *command; (command = config_next_command(&line)) != NULL; mem_free_ptr(&command))
        json_add(commands, json_text(doc, command));
}

void config_put_files(const struct storage_foresight *s, yyjson_mut_doc *doc, yyjson_mut_val *to)
{
    yyjson_mut_val *files = json_put_list(doc, to, "files");
    for (size_t i = 0; i < s->count; i++)
        files_put_one(&s->list[i], doc, json_add_object(doc, files));
}
