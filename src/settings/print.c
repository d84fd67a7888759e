#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "settings/settings.h"
#include "settings/fields.h"

#define PAGE_WIDTH 110

/* The page that --help is, but for the settings. */
static const char help_head[] =
    "haproxy-k8s-sync keeps the servers of HAProxy backends equal to the nodes behind Kubernetes Services.\n"
    "\n"
    "usage: haproxy-k8s-sync                 run\n"
    "       haproxy-k8s-sync check-config    print the settings in effect, secrets masked, and what is wrong with "
    "them;\n"
    "                                        exit status 0 where they can be used, 78 where not\n"
    "       haproxy-k8s-sync plan [-o json]  print what would be changed in HAProxy and why, change nothing;\n"
    "                                        exit status 0 in step, 2 changes, 1 could not tell\n"
    "       haproxy-k8s-sync explain NODE    print why this node is in, draining or out, rule by rule\n"
    "       haproxy-k8s-sync doctor [-o json]\n"
    "                                        go through all that a sync needs and print how to mend what fails;\n"
    "                                        exit status 0 fine, 1 something failed, 78 settings\n"
    "       haproxy-k8s-sync --help | --version\n"
    "plan, explain and doctor take --color=auto|always|never and --timeout=30s; none of them writes anything.\n"
    "\n"
    "SIGTERM ends it within 5 seconds and leaves HAProxy as it is; SIGHUP compares HAProxy's state with the nodes "
    "now.\n"
    "\n"
    "Settings are environment variables. An empty one counts as not set. What is wrong is told all at once, with exit\n"
    "status 78.\n"
    "\n";

static const char example_head[] =
    "# Settings of haproxy-k8s-sync, for `docker run --env-file` or EnvironmentFile= of systemd: no quotes, no spaces\n"
    "# around '='. Lines that are commented out show the default or, where there is none, an example.\n"
    "# Made from the table in src/settings/fields.c; `make test` holds it equal to that.\n";

/* Breaks text between words so that lines, with the prefix in front, stay within the page. */
static void add_wrapped(struct buf *out, const char *prefix, const char *text)
{
    size_t column = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, " ");
        if (column == 0 || column + 1 + len > PAGE_WIDTH) {
            buf_printf(out, "%s%s", column == 0 ? "" : "\n", prefix);
            column = strlen(prefix);
        } else {
            buf_add(out, " ");
            column++;
        }
        buf_addn(out, text, len);
        column += len;
        text += len;
        text += strspn(text, " ");
    }
    buf_add(out, "\n");
}

static void add_wrapped_after(struct buf *out, const char *prefix, const char *word, const char *text)
{
    cleanup(mem_free_ptr) char *line = mem_printf("%s: %s", word, text);
    add_wrapped(out, prefix, line);
}

void settings_print_help(struct buf *out)
{
    static const char margin[] = "      ";
    buf_add(out, help_head);
    for (int i = 0; i < SETTINGS_FIELD_COUNT; i++) {
        const struct setting *f = setting((enum setting_id)i);
        buf_printf(out, "  %s", f->name);
        if (f->or_file)
            buf_printf(out, " or %s_FILE", f->name);
        buf_add(out, "\n");
        add_wrapped(out, margin, f->help);
        add_wrapped_after(out, margin, "expected", f->expected);
        add_wrapped_after(out, margin, f->fallback != NULL ? "default" : "not set",
                          f->fallback != NULL ? f->fallback : f->unset);
    }
}

void settings_print_example(struct buf *out)
{
    buf_add(out, example_head);
    for (int i = 0; i < SETTINGS_FIELD_COUNT; i++) {
        const struct setting *f = setting((enum setting_id)i);
        buf_add(out, "\n");
        add_wrapped(out, "# ", f->help);
        add_wrapped_after(out, "# ", "Expected", f->expected);
        if (f->fallback == NULL)
            add_wrapped_after(out, "# ", "Not set", f->unset);
        buf_printf(out, "#%s=%s\n", f->name, f->fallback != NULL ? f->fallback : f->example);
        if (f->or_file)
            buf_printf(out, "#%s_FILE=/run/secrets/%s\n", f->name, f->masked ? "haproxy-secret" : "haproxy-user");
    }
}

/* Text of ours inside a table cell: only what would end the cell or start markup by accident is escaped. */
static void add_cell(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++)
        buf_printf(out, strchr("|*_<[", *text) != NULL ? "\\%c" : "%c", *text);
}

void settings_print_markdown(struct buf *out)
{
    buf_add(out, "| Variable | Default | Meaning |\n|---|---|---|\n");
    for (int i = 0; i < SETTINGS_FIELD_COUNT; i++) {
        const struct setting *f = setting((enum setting_id)i);
        buf_printf(out, "| `%s`", f->name);
        if (f->or_file)
            buf_printf(out, " or `%s_FILE`", f->name);
        if (f->fallback != NULL)
            buf_printf(out, " | `%s` | ", f->fallback);
        else
            buf_printf(out, " | %s | ", f->unset);
        add_cell(out, f->help);
        buf_add(out, " Expected: ");
        add_cell(out, f->expected);
        buf_add(out, ". |\n");
    }
}
