/* What `config plan`, `validate` and `apply` found: for people, and as JSON. */
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/config.h"
#include "cli/run.h"
#include "configuration/configuration.h"
#include "configuration/document.h"
#include "haproxy/cfg/content.h"
#include "haproxy/cfg/difference.h"
#include "haproxy/storage_foresight.h"
#include "json/write.h"

#define COLUMN 4
#define HASH_SHOWN 12
#define COMMANDS_SHOWN 20
#define NAMES_SHOWN 20 /* of files that do not change */

/* What it costs on one HAProxy. */
struct config_cost {
    const char *effect;  /* "none", "runtime", "reload" */
    struct buf commands; /* for haproxy.cfg itself, one a line */
    struct error why;    /* of a reload */
    const struct storage_foresight *files;
};

static void config_cost_init(struct config_cost *ret, const struct config_report *r, size_t target)
{
    *ret = (struct config_cost){.effect = "none", .files = configuration_foresight(r->configuration, target)};
    if (configuration_foresee(r->configuration, target, &ret->commands, &ret->why) != 0)
        ret->effect = "reload";
    else if (ret->commands.len > 0 || storage_foresight_has(ret->files, STORAGE_BY_RUNTIME))
        ret->effect = "runtime";
}

static void config_cost_fini(struct config_cost *c)
{
    buf_fini(&c->commands);
}

/* Any of them. */
static bool config_files_change(const struct storage_foresight *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].effect != STORAGE_UNCHANGED)
            return true;
    return false;
}

static bool config_failed(const struct configuration_view *v, enum command_kind what)
{
    if (what == COMMAND_CONFIG_PLAN && v->files_missing && !v->away)
        return false;
    return v->away || str_eq(v->state, "rejected") || str_eq(v->state, "new") || str_eq(v->state, "restoring");
}

/* NULL: none. */
static const char *config_reason(const struct config_target *t, const struct configuration_view *v)
{
    return v->reason != NULL ? v->reason : v->away && t->problem[0] != '\0' ? t->problem : NULL;
}

int config_status(const struct config_report *r)
{
    bool failed = false, changes = false;
    for (size_t i = 0; i < r->count; i++) {
        const struct configuration_view v = configuration_view(r->configuration, i);
        const struct cfg_difference *differs = configuration_difference(r->configuration, i);
        failed =
            failed || config_failed(&v, r->what) || (r->what == COMMAND_CONFIG_APPLY && !str_eq(v.state, "applied"));
        changes = changes || v.files_missing || differs->effect != CFG_EFFECT_NONE ||
                  config_files_change(configuration_foresight(r->configuration, i));
    }
    return failed ? 1 : r->what == COMMAND_CONFIG_PLAN && changes ? 2 : 0;
}

/* The next of `line`s; *line: the first time all of them. Allocates; NULL: there are no more. */
static char *config_next_command(const char **line)
{
    size_t len = strcspn(*line, "\n");
    char *command = len > 0 ? mem_strndup(*line, len) : NULL;
    *line += len + (len > 0);
    return command;
}

/* ---- as text */

static void config_print_line(struct page *p, enum page_ink ink, const char *text)
{
    page_to(p, COLUMN);
    page_flow_line(p, ink, text);
}

static const char *config_verdict(const struct configuration_view *v, enum command_kind what)
{
    if (str_eq(v->state, "rejected"))
        return "rejected";
    if (v->away || str_eq(v->state, "new"))
        return v->files_missing ? "no verdict before its files are stored" : "no verdict";
    if (what == COMMAND_CONFIG_APPLY)
        return str_eq(v->state, "applied") ? "applied and verified"
               : str_eq(v->state, "valid") ? "accepted, not written"
                                           : v->state;
    return "accepted";
}

static void config_print_file(const struct storage_foreseen *f, struct page *p)
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
    config_print_line(p, INK_PLAIN, buf_str(&text));
    for (char *command; (command = config_next_command(&line)) != NULL; mem_free_ptr(&command)) {
        page_to(p, 2 * COLUMN);
        page_put(p, INK_DIM, command); /* whole, to be copied */
        page_end_line(p);
    }
}

/* The commands for haproxy.cfg, then the files that change one by one; of the others no more than the names. */
static void config_print_cost(const struct config_cost *c, struct page *p)
{
    struct text_list same = {.between = ", ", .max = NAMES_SHOWN};
    const char *line = buf_str(&c->commands);
    char *command;
    for (size_t i = 0; i <= COMMANDS_SHOWN && (command = config_next_command(&line)) != NULL; i++) {
        config_print_line(p, INK_DIM, i < COMMANDS_SHOWN ? command : "and more commands");
        free(command);
    }
    for (size_t i = 0; i < c->files->count; i++) {
        if (c->files->list[i].effect != STORAGE_UNCHANGED)
            config_print_file(&c->files->list[i], p);
        else if (text_list_next(&same))
            buf_add(&same.text, c->files->list[i].name);
    }
    cleanup(mem_free_ptr) char *names = text_list_take(&same);
    if (names == NULL)
        return;
    page_to(p, COLUMN);
    page_put(p, INK_DIM, "unchanged: ");
    page_flow_line(p, INK_DIM, names);
}

void config_print(const struct config_report *r, struct page *p)
{
    page_printf(p, INK_BOLD, "%s", r->document->origin);
    page_printf(p, INK_DIM, "  sha256 %.*s, %zu bytes", HASH_SHOWN, r->document->hash, r->document->content->len);
    page_end_line(p);
    for (size_t i = 0; i < r->count; i++) {
        const struct configuration_view v = configuration_view(r->configuration, i);
        const char *why = config_reason(&r->targets[i], &v);
        bool failed = config_failed(&v, r->what), plans = r->what == COMMAND_CONFIG_PLAN && !failed;
        cleanup(config_cost_fini) struct config_cost cost;
        config_cost_init(&cost, r, i);
        page_printf(p, INK_PLAIN, "%s: ", r->targets[i].url);
        page_put(p, failed ? INK_RED : INK_GREEN, config_verdict(&v, r->what));
        if (plans && str_eq(cost.effect, "reload"))
            page_printf(p, INK_PLAIN, "; a reload: %s", cost.why.message);
        else if (plans)
            page_put(p, INK_PLAIN,
                     !str_eq(cost.effect, "none")      ? "; no reload: by the runtime API"
                     : config_files_change(cost.files) ? "; no reload"
                                                       : "; no change");
        page_end_line(p);
        if (why != NULL)
            config_print_line(p, INK_PLAIN, why);
        if (plans)
            config_print_cost(&cost, p);
        if (r->what != COMMAND_CONFIG_PLAN)
            continue;
        /* What differs, and the lines behind that. */
        const struct cfg_difference *d = configuration_difference(r->configuration, i);
        cleanup(cfg_line_difference_fini) struct cfg_line_difference lines;
        for (size_t k = 0; k < d->count && k < CFG_DIFFERENCE_MAX; k++)
            config_print_line(p, INK_PLAIN, d->texts[k]);
        if (d->count > CFG_DIFFERENCE_MAX) {
            page_to(p, COLUMN);
            page_printf(p, INK_DIM, "and %zu more", d->count - CFG_DIFFERENCE_MAX);
            page_end_line(p);
        }
        configuration_line_difference(r->configuration, i, &lines);
        show_lines(&lines, COLUMN, 2 * COLUMN, p);
    }
}

/* ---- as JSON */

static void config_put_commands(const struct buf *commands, size_t max, yyjson_mut_doc *doc, yyjson_mut_val *to)
{
    yyjson_mut_val *list = json_put_list(doc, to, "commands");
    const char *line = buf_str(commands);
    char *command;
    for (size_t i = 0; i < max && (command = config_next_command(&line)) != NULL; i++) {
        json_add(list, json_text(doc, command));
        free(command);
    }
}

static void config_put_files(const struct storage_foresight *s, yyjson_mut_doc *doc, yyjson_mut_val *target)
{
    yyjson_mut_val *files = json_put_list(doc, target, "files");
    for (size_t i = 0; i < s->count; i++) {
        const struct storage_foreseen *f = &s->list[i];
        yyjson_mut_val *to = json_add_object(doc, files);
        json_fields(doc, to, json_str("name", f->name), json_str("effect", storage_effect_name(f->effect)),
                    json_str("why", f->why));
        if (f->counted) {
            yyjson_mut_val *entries = json_put_object(doc, to, "entries");
            json_fields(doc, entries, json_uint("new", f->entries.come), json_uint("gone", f->entries.go),
                        json_uint("changed", f->entries.change));
        } else {
            json_fields(doc, to, json_str("entries", NULL));
        }
        config_put_commands(&f->commands, SIZE_MAX, doc, to);
    }
}

void config_print_json(const struct config_report *r, struct buf *out)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    json_fields(doc, root, json_str("source", r->document->origin), json_str("sha256", r->document->hash),
                json_uint("bytes", r->document->content->len));
    yyjson_mut_val *targets = json_put_list(doc, root, "targets");
    for (size_t i = 0; i < r->count; i++) {
        const struct configuration_view v = configuration_view(r->configuration, i);
        const struct cfg_difference *differs = configuration_difference(r->configuration, i);
        yyjson_mut_val *target = json_add_object(doc, targets);
        cleanup(config_cost_fini) struct config_cost cost;
        cleanup(cfg_line_difference_fini) struct cfg_line_difference lines;
        config_cost_init(&cost, r, i);
        configuration_line_difference(r->configuration, i, &lines);
        json_fields(doc, target, json_str("url", r->targets[i].url), json_str("state", v.away ? "no verdict" : v.state),
                    json_str("reason", config_reason(&r->targets[i], &v)), json_str("effect", cost.effect),
                    json_str("reload_why", cost.why.kind != ERROR_NONE ? cost.why.message : NULL));
        config_put_commands(&cost.commands, COMMANDS_SHOWN, doc, target);
        config_put_files(cost.files, doc, target);
        json_put_texts(doc, target, "changes", (const char *const *)differs->texts,
                       differs->count < CFG_DIFFERENCE_MAX ? differs->count : CFG_DIFFERENCE_MAX);
        json_fields(doc, target, json_uint("change_count", differs->count));
        show_put_lines(&lines, doc, target);
    }
    json_print(doc, out);
}
