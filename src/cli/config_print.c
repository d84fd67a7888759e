/* What `config plan`, `validate` and `apply` found: for people, and as JSON. */
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/page.h"
#include "base/str.h"
#include "cli/config.h"
#include "cli/config_print_files.h"
#include "configuration/configuration.h"
#include "configuration/document.h"
#include "haproxy/cfg/content.h"
#include "haproxy/cfg/difference.h"
#include "haproxy/cfg/line_difference.h"
#include "haproxy/storage_foresight.h"
#include "json/write.h"

#define CONFIG_COLUMN 4
#define CONFIG_HASH_SHOWN 12

#define CONFIG_COMMANDS_SHOWN 20

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

static void config_print_cost(const struct config_cost *c, struct page *p)
{
    if (str_eq(c->effect, "reload"))
        page_printf(p, INK_PLAIN, "; a reload: %s", c->why.message);
    else
        page_put(p, INK_PLAIN,
                 !str_eq(c->effect, "none")      ? "; no reload: by the runtime API"
                 : config_files_change(c->files) ? "; no reload"
                                                 : "; no change");
}

static void config_print_commands(const struct config_cost *c, struct page *p)
{
    const char *line = buf_str(&c->commands);
    char *command;
    for (size_t i = 0; i <= CONFIG_COMMANDS_SHOWN && (command = config_next_command(&line)) != NULL; i++) {
        page_to(p, CONFIG_COLUMN);
        page_flow_line(p, INK_DIM, i < CONFIG_COMMANDS_SHOWN ? command : "and more commands");
        free(command);
    }
}

static void config_put_cost(const struct config_cost *c, yyjson_mut_doc *doc, yyjson_mut_val *to)
{
    json_put_text(doc, to, "effect", c->effect);
    json_put_text(doc, to, "reload_why", c->why.kind != ERROR_NONE ? c->why.message : NULL);
    yyjson_mut_val *list = json_put_list(doc, to, "commands");
    const char *line = buf_str(&c->commands);
    char *command;
    for (size_t i = 0; i < CONFIG_COMMANDS_SHOWN && (command = config_next_command(&line)) != NULL; i++) {
        json_add(list, json_text(doc, command));
        free(command);
    }
}

static bool config_failed(const struct configuration_view *v, enum command_config what)
{
    if (what == COMMAND_CONFIG_PLAN && v->files_missing && !v->away)
        return false;
    return v->away || str_eq(v->state, "rejected") || str_eq(v->state, "new") || str_eq(v->state, "restoring");
}

static const char *config_verdict(const struct configuration_view *v, enum command_config what)
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

/* NULL: none. */
static const char *config_reason(const struct config_target *t, const struct configuration_view *v)
{
    return v->reason != NULL ? v->reason : v->away && t->problem[0] != '\0' ? t->problem : NULL;
}

/* Where something differs, what that is. */
static void config_print_changes(const struct cfg_difference *d, struct page *p)
{
    for (size_t i = 0; i < d->count && i < CFG_DIFFERENCE_MAX; i++) {
        page_to(p, CONFIG_COLUMN);
        page_flow_line(p, INK_PLAIN, d->texts[i]);
    }
    if (d->count > CFG_DIFFERENCE_MAX) {
        page_to(p, CONFIG_COLUMN);
        page_printf(p, INK_DIM, "and %zu more", d->count - CFG_DIFFERENCE_MAX);
        page_end_line(p);
    }
}

/* The lines behind that, by section. */
static void config_print_lines(const struct config_report *r, size_t target, struct page *p)
{
    cleanup(cfg_line_difference_fini) struct cfg_line_difference d;
    const char *section = NULL;
    configuration_line_difference(r->configuration, target, &d);
    for (size_t i = 0; i < d.count && i < CFG_LINE_DIFFERENCE_MAX; i++) {
        const struct cfg_line_of *line = &d.lines[i];
        if (!str_eq(section, line->section)) {
            page_to(p, CONFIG_COLUMN);
            page_put(p, INK_DIM, line->section);
            page_end_line(p);
        }
        section = line->section;
        page_to(p, 2 * CONFIG_COLUMN);
        page_flow_line(p, line->text[0] == '-' ? INK_RED : INK_GREEN, line->text);
    }
    if (d.count > CFG_LINE_DIFFERENCE_MAX) {
        page_to(p, CONFIG_COLUMN);
        page_printf(p, INK_DIM, "and %zu more lines", d.count - CFG_LINE_DIFFERENCE_MAX);
        page_end_line(p);
    }
}

static void config_put_lines(const struct config_report *r, size_t target, yyjson_mut_doc *doc, yyjson_mut_val *to)
{
    cleanup(cfg_line_difference_fini) struct cfg_line_difference d;
    yyjson_mut_val *lines = json_put_list(doc, to, "lines");
    configuration_line_difference(r->configuration, target, &d);
    for (size_t i = 0; i < d.count && i < CFG_LINE_DIFFERENCE_MAX; i++) {
        yyjson_mut_val *line = json_add_object(doc, lines);
        json_put_text(doc, line, "section", d.lines[i].section);
        json_put_text(doc, line, "line", d.lines[i].text);
    }
    json_put_count(doc, to, "line_count", d.count);
}

void config_print(const struct config_report *r, struct page *p)
{
    page_printf(p, INK_BOLD, "%s", r->document->origin);
    page_printf(p, INK_DIM, "  sha256 %.*s, %zu bytes", CONFIG_HASH_SHOWN, r->document->hash,
                r->document->content->len);
    page_end_line(p);
    for (size_t i = 0; i < r->count; i++) {
        const struct configuration_view v = configuration_view(r->configuration, i);
        const struct cfg_difference *differs = configuration_difference(r->configuration, i);
        page_printf(p, INK_PLAIN, "%s: ", r->targets[i].url);
        page_put(p, config_failed(&v, r->what) ? INK_RED : INK_GREEN, config_verdict(&v, r->what));
        cleanup(config_cost_fini) struct config_cost cost;
        config_cost_init(&cost, r, i);
        bool plans = r->what == COMMAND_CONFIG_PLAN && !config_failed(&v, r->what);
        if (plans)
            config_print_cost(&cost, p);
        page_end_line(p);
        const char *why = config_reason(&r->targets[i], &v);
        if (why != NULL) {
            page_to(p, CONFIG_COLUMN);
            page_flow_line(p, INK_PLAIN, why);
        }
        if (plans) {
            config_print_commands(&cost, p);
            config_print_files(cost.files, p);
        }
        if (r->what == COMMAND_CONFIG_PLAN) {
            config_print_changes(differs, p);
            config_print_lines(r, i, p);
        }
    }
}

void config_print_json(const struct config_report *r, struct buf *out)
{
    yyjson_mut_val *root;
    cleanup(json_free_ptr) yyjson_mut_doc *doc = json_new(&root);
    json_put_text(doc, root, "source", r->document->origin);
    json_put_text(doc, root, "sha256", r->document->hash);
    json_put_count(doc, root, "bytes", r->document->content->len);
    yyjson_mut_val *targets = json_put_list(doc, root, "targets");
    for (size_t i = 0; i < r->count; i++) {
        const struct configuration_view v = configuration_view(r->configuration, i);
        const struct cfg_difference *differs = configuration_difference(r->configuration, i);
        yyjson_mut_val *target = json_add_object(doc, targets);
        json_put_text(doc, target, "url", r->targets[i].url);
        json_put_text(doc, target, "state", v.away ? "no verdict" : v.state);
        json_put_text(doc, target, "reason", config_reason(&r->targets[i], &v));
        cleanup(config_cost_fini) struct config_cost cost;
        config_cost_init(&cost, r, i);
        config_put_cost(&cost, doc, target);
        config_put_files(cost.files, doc, target);
        yyjson_mut_val *changes = json_put_list(doc, target, "changes");
        for (size_t k = 0; k < differs->count && k < CFG_DIFFERENCE_MAX; k++)
            json_add(changes, json_text(doc, differs->texts[k]));
        json_put_count(doc, target, "change_count", differs->count);
        config_put_lines(r, i, doc, target);
    }
    json_write(doc, true, out);
    buf_add(out, "\n");
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
