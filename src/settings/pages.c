/* --help from the table. */
#include <stdbool.h>

#include "base/mem.h"
#include "base/page.h"
#include "settings/settings.h"
#include "settings/table.h"

#define HELP_WIDTH 110
#define HELP_MARGIN 6

/* Above the settings. */
static const char help_head[] =
    "haproxy-k8s-sync keeps the servers of HAProxy backends equal to the nodes behind Kubernetes Services.\n"
    "\n"
    "usage: haproxy-k8s-sync                 run\n"
    "       haproxy-k8s-sync check-config    print the settings in effect, with secrets masked, and all that is "
    "wrong;\n"
    "                                        exit status 0 valid, 78 invalid\n"
    "       haproxy-k8s-sync plan [-o json]  print what would change in HAProxy and why, and write nothing;\n"
    "                                        exit status 0 in sync, 2 changes, 1 unknown\n"
    "       haproxy-k8s-sync explain NODE    print why this node is in, draining or out, rule by rule\n"
    "       haproxy-k8s-sync doctor [-o json]\n"
    "                                        check everything that a sync needs and print a fix for what fails;\n"
    "                                        exit status 0 passed, 1 failed, 78 invalid settings\n"
    "       haproxy-k8s-sync release [--servers] [--yes]\n"
    "                                        print what is left of this program in HAProxy: parked lines and drains;\n"
    "                                        with --yes remove it, live servers stay; --servers removes these, too;\n"
    "                                        exit status 0 nothing is left, 2 there is, 1 not done\n"
    "       haproxy-k8s-sync config plan [FILE]\n"
    "                                        print what a haproxy.cfg would change in each HAProxy, and what it "
    "costs;\n"
    "                                        default: CONFIG_FILE, - is standard input; exit status as that of plan\n"
    "       haproxy-k8s-sync config validate FILE\n"
    "                                        print what each HAProxy says of it; exit status 0 accepted, 1 not\n"
    "       haproxy-k8s-sync config apply FILE\n"
    "                                        validate, write, load and verify it; exit status 0 runs, 1 does not\n"
    "       haproxy-k8s-sync config apply    make the running daemon try again what HAProxy rejected\n"
    "       haproxy-k8s-sync config history  print the configurations that STATE_DIR keeps\n"
    "       haproxy-k8s-sync config rollback [N]\n"
    "                                        make the running daemon go back to one, until its source changes\n"
    "       haproxy-k8s-sync template render | test | validate | benchmark DIR [--test=NAME]\n"
    "       haproxy-k8s-sync template diff DIR --against=DIR|FILE\n"
    "       haproxy-k8s-sync template schema\n"
    "                                        try a template set out without a cluster, on the fixtures of its tests;\n"
    "                                        exit status 0 good, 1 an error or a failed test, 2 of diff: it differs\n"
    "       haproxy-k8s-sync services view   print what is made of annotated Services, and what is wrong with them\n"
    "       haproxy-k8s-sync services explain NAMESPACE/NAME\n"
    "                                        print what came of each annotation of one; exit status of both: 0 read,\n"
    "                                        1 not, nothing is served, or there is no such Service\n"
    "       haproxy-k8s-sync apply           publish what annotated Services give in etcd, or write it to a file, "
    "once\n"
    "       haproxy-k8s-sync watch           the same, from now on\n"
    "       haproxy-k8s-sync view            print it; all three with the flags of an older system: docs/etcd.md\n"
    "       haproxy-k8s-sync copy-to FOLDER  copy this program with its loader and libraries, for a container of\n"
    "                                        HAProxy's image, which has haproxy -c and none of these\n"
    "       haproxy-k8s-sync --help | --version\n"
    "Options of plan, explain, doctor, config and template: --color=auto|always|never and --timeout=30s. All but\n"
    "config apply and config rollback write nothing. -o json is also for config plan, validate, apply and history,\n"
    "and for template; template test knows -o junit, template benchmark --count=N.\n"
    "Option of plan and release: --daemon=URL|none, the running daemon; default: that at LISTEN_ADDRESS.\n"
    "\n"
    "SIGTERM ends it within 5 seconds and leaves HAProxy unchanged. SIGHUP compares HAProxy with the nodes now.\n"
    "\n"
    "Settings are environment variables. An empty one counts as not set. The start checks all of them, lists every\n"
    "problem and exits with status 78 if one is invalid. Beside MODE, the names of an operator for a haproxy.cfg in a\n"
    "Secret count, too, and each may be a flag in front of the command (MODE=k8s is --mode=k8s).\n"
    "\n";

static void pages_add_paragraph(struct page *p, const char *word, const char *text)
{
    cleanup(mem_free_ptr) char *line = mem_printf("%s%s%s", word, word[0] != '\0' ? ": " : "", text);
    page_to(p, HELP_MARGIN);
    page_flow_line(p, INK_PLAIN, line);
}

void settings_print_help(struct buf *out)
{
    struct page p;
    page_init(&p, out, false, HELP_WIDTH);
    buf_add(out, help_head);
    for (const struct setting *row = setting_table; row->name != NULL; row++) {
        buf_printf(out, "  %s", row->name);
        if (row->or_file)
            buf_printf(out, " or %s_FILE", row->name);
        buf_add(out, "\n");
        pages_add_paragraph(&p, "", row->help);
        pages_add_paragraph(&p, "expected", row->expected);
        pages_add_paragraph(&p, row->fallback != NULL ? "default" : "not set",
                            row->fallback != NULL ? row->fallback : row->unset);
        if (row->alias != NULL || row->alias_fallback != NULL) {
            cleanup(mem_free_ptr) char *alias = setting_alias_text(row);
            pages_add_paragraph(&p, "beside MODE", alias);
        }
    }
}
