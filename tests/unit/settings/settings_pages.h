/*
 * The files that stand in the repository and come from the table of settings: config.example.env, the table in docs/settings.md and
 * the list in the manual page (mdoc).
 */
#ifndef TESTS_SETTINGS_PAGES_H
#define TESTS_SETTINGS_PAGES_H

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/table.h"

#define PAGE_WIDTH 110
#define MANUAL_WIDTH 79 /* what mandoc -T lint takes for a line that a person can read */

static const char example_head[] =
    "# Settings of haproxy-k8s-sync, for `docker run --env-file` or EnvironmentFile= of systemd: no quotes, no spaces\n"
    "# around '='. Lines that are commented out show the default or, where there is none, an example.\n"
    "# Generated from the table in src/settings/table.c; `make test` compares them.\n";

/* How text stands on a page. mdoc(7): each sentence begins on a line of its own, as its linters want it. */
struct layout {
    const char *prefix;
    size_t width;
    bool mdoc;
};

/* Breaks text between words so that lines, with the prefix in front, stay within the page. */
static void pages_add_wrapped(struct buf *out, const struct layout *l, const char *text)
{
    size_t column = 0;
    bool ended = false;
    for (const char *word = text; *word != '\0'; word += strspn(word, " ")) {
        size_t len = strcspn(word, " ");
        if (column == 0 || ended || column + 1 + len > l->width) {
            buf_printf(out, "%s%s", column == 0 ? "" : "\n", l->prefix);
            if (l->mdoc && (*word == '.' || *word == '\''))
                buf_add(out, "\\&"); /* at the start of a line they would begin a macro */
            column = strlen(l->prefix);
        } else {
            buf_add(out, " ");
            column++;
        }
        for (size_t i = 0; i < len; i++)
            buf_addn(out, l->mdoc && word[i] == '\\' ? "\\e" : word + i, l->mdoc && word[i] == '\\' ? 2 : 1);
        column += len;
        word += len;
        ended = l->mdoc && strchr(".?!", word[-1]) != NULL;
    }
    buf_add(out, "\n");
}

/* "word: text", as a line of its own in the paragraph. */
static void pages_add_remark(struct buf *out, const struct layout *l, const char *word, const char *text)
{
    cleanup(mem_free_ptr) char *line = mem_printf("%s: %s%s", word, text, l->mdoc ? "." : "");
    buf_add(out, l->mdoc ? ".br\n" : "");
    pages_add_wrapped(out, l, line);
}

static void pages_add_alias(struct buf *out, const struct layout *l, const struct setting *row)
{
    if (row->alias == NULL && row->alias_fallback == NULL)
        return;
    cleanup(mem_free_ptr) char *text = setting_alias_text(row);
    pages_add_remark(out, l, "Beside MODE", text);
}

static void print_example(struct buf *out)
{
    static const struct layout page = {"# ", PAGE_WIDTH, false};
    buf_add(out, example_head);
    for (const struct setting *row = setting_table; row->name != NULL; row++) {
        buf_add(out, "\n");
        pages_add_wrapped(out, &page, row->help);
        pages_add_remark(out, &page, "Expected", row->expected);
        if (row->fallback == NULL)
            pages_add_remark(out, &page, "Not set", row->unset);
        pages_add_alias(out, &page, row);
        buf_printf(out, "#%s=%s\n", row->name, row->fallback != NULL ? row->fallback : row->example);
        if (row->or_file)
            buf_printf(out, "#%s_FILE=/run/secrets/%s\n", row->name, row->masked ? "haproxy-secret" : "haproxy-user");
    }
}

/* Text of the table in Markdown: only what would end a cell or start markup by accident is escaped. */
static void pages_add_cell(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++)
        buf_printf(out, strchr("|*_<[", *text) != NULL ? "\\%c" : "%c", *text);
}

/* The headings of the page, by the first setting below each. */
static const struct {
    const char *first, *title;
} page_groups[] = {
    {"INGRESS_NAMESPACE", "The Service"},
    {"CONFIG_SOURCE", "A whole haproxy.cfg from a file or a Secret"},
    {"TEMPLATE_FROM", "Templates"},
    {"SERVICES_LABEL", "Annotated Services"},
    {"CONFIG_TARGET", "etcd"},
    {"CONFIG_REQUIRE_ALL", "How a whole haproxy.cfg is applied"},
    {"NODE_MODE", "Nodes and their addresses"},
    {"HAPROXY_CONFIG_FILE", "HAProxy on this machine, without a Data Plane API"},
    {"HAPROXY_DATAPLANE_URL", "The Data Plane API"},
    {"HAPROXY_BACKEND_NAME", "The backend and its servers"},
    {"DRAIN_TIMEOUT", "When servers leave"},
    {"DRY_RUN", "The daemon and Kubernetes"},
    {"LISTEN_ADDRESS", "Addresses and log"},
    {"OTEL_EXPORTER_OTLP_ENDPOINT", "Traces"},
};

/* How many characters the first sentence has: it stands alone where there is one line for a setting. */
static size_t pages_first_sentence(const char *text)
{
    const char *end = strstr(text, ". ");
    return end != NULL ? (size_t)(end + 1 - text) : strlen(text);
}

static void pages_add_title(struct buf *out, const struct setting *row)
{
    for (size_t i = 0; i < array_len(page_groups); i++)
        if (str_eq(row->name, page_groups[i].first))
            buf_printf(out, "%s### %s\n| Variable | Default | |\n|---|---|---|\n", i == 0 ? "" : "\n",
                       page_groups[i].title);
}

/* The anchor of its heading below, as GitHub makes it. */
static void pages_add_link(struct buf *out, const char *name)
{
    buf_printf(out, "[`%s`](#", name);
    for (; *name != '\0'; name++)
        buf_printf(out, "%c", tolower((unsigned char)*name));
    buf_add(out, ")");
}

static void pages_add_row(struct buf *out, const struct setting *row)
{
    cleanup(mem_free_ptr) char *sentence = mem_strndup(row->help, pages_first_sentence(row->help));
    buf_add(out, "| ");
    pages_add_link(out, row->name);
    if (row->or_file)
        buf_printf(out, " or `%s_FILE`", row->name);
    if (row->fallback != NULL)
        buf_printf(out, " | `%s` | ", row->fallback);
    else
        buf_printf(out, " | %s | ", row->unset);
    pages_add_cell(out, sentence);
    buf_add(out, " |\n");
}

/* All that the row says. */
static void pages_add_section(struct buf *out, const struct setting *row)
{
    buf_printf(out, "\n#### %s\n", row->name);
    pages_add_cell(out, row->help);
    buf_add(out, "\n\nExpected: ");
    pages_add_cell(out, row->expected);
    if (row->fallback != NULL)
        buf_printf(out, ". Default: `%s`", row->fallback);
    else
        buf_printf(out, ". Not set: %s", row->unset);
    if (row->alias != NULL)
        buf_printf(out, ". Beside MODE: `%s`", row->alias);
    if (row->alias_fallback != NULL)
        buf_printf(out, "%s default `%s`", row->alias != NULL ? "," : ". Beside MODE:", row->alias_fallback);
    buf_add(out, ".\n");
}

static void print_markdown(struct buf *out)
{
    for (const struct setting *row = setting_table; row->name != NULL; row++) {
        pages_add_title(out, row);
        pages_add_row(out, row);
    }
    buf_add(out, "\n## In full\n");
    for (const struct setting *row = setting_table; row->name != NULL; row++)
        pages_add_section(out, row);
}

static void print_man(struct buf *out)
{
    static const struct layout page = {"", MANUAL_WIDTH, true};
    buf_add(out, ".Bl -tag -width Ds\n");
    for (const struct setting *row = setting_table; row->name != NULL; row++) {
        buf_printf(out, ".It Ev %s", row->name);
        if (row->or_file)
            buf_printf(out, " , Ev %s_FILE", row->name);
        buf_add(out, "\n");
        pages_add_wrapped(out, &page, row->help);
        pages_add_remark(out, &page, "Expected", row->expected);
        pages_add_remark(out, &page, row->fallback != NULL ? "Default" : "Not set",
                         row->fallback != NULL ? row->fallback : row->unset);
        pages_add_alias(out, &page, row);
    }
    buf_add(out, ".El\n");
}

#endif
