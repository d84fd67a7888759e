/* src/configuration/keep: server lines that are not the document's. */

#include "../test.h"
#include "configuration/keep.h"

static bool manages(const void *arg, const char *server, bool backup)
{
    return !backup && !str_has_prefix(server, arg);
}

static const struct keep_backend list[] = {{"web", manages, "static"}, {"peer", NULL, NULL}};
static const struct keep_rules rules = {list, array_len(list)};

#define BOTH "backend web\n balance roundrobin\nlisten peer\n"

static const struct {
    const char *text, *says; /* NULL: it is not */
} checked[] = {
    {BOTH, NULL},
    {BOTH "backend other\n server n1 127.0.0.1:1\n", NULL},
    {BOTH "frontend f\nbackend web2\n server n1 127.0.0.1:1\n", NULL},
    {"backend peer\nbackend web\n server static-1 127.0.0.1:1\n server x 127.0.0.1:2 check backup\n", NULL},
    {"backend peer\nbackend web\n server n1 127.0.0.1:1\n",
     "line 3: server line of backend web, which the daemon writes itself: remove them, or name those that are yours in "
     "HAPROXY_KEEP_SERVERS"},
    {"backend peer\nbackend web\n server n1 127.0.0.1:1 cookie backup\n", "line 3: server line of backend web"},
    {"backend peer\nbackend web\n #\n \"server\" n1 127.0.0.1:1\n server static 127.0.0.1:2\n server-template t 2 "
     "a:1\n",
     "lines 4, 6: server lines of backend web"},
    {"backend web\nlisten peer\n server static 127.0.0.1:1 backup\n",
     "line 3: server line of listen peer, which another daemon writes (CONFIG_KEEP_BACKENDS): remove them"},
    {"backend peer\n server-template t 2 a:1\nbackend web\n", "line 2: server line of backend peer"},
    {"backend peer\nfrontend web\n", "there is no backend web, whose servers the daemon manages: add it"},
    {"backend web\n", "there is no backend peer, whose servers another daemon manages (CONFIG_KEEP_BACKENDS)"},
    {"global\n", "there is no backend web"},
    /* conditionals */
    {BOTH ".if defined(X)\nbackend other\n.endif\n", NULL},
    {".if defined(X)\nbackend web\n.endif\nlisten peer\n",
     "line 2: a conditional (.if) decides about a line of backend web"},
    {"backend web\n.if defined(X)\n balance first\n.endif\nlisten peer\n", "line 3: a conditional (.if) decides"},
    {"backend web\n.if defined(X)\nlisten peer\n.endif\n",
     "line 3: a conditional (.if) decides about a line of listen peer"},
};

TEST_EACH(what_is_not_the_documents_is_refused, array_len(checked))
{
    cleanup(cfg_file_fini) struct cfg_file f;
    cfg_file_parse(&f, checked[_i].text, strlen(checked[_i].text));
    int status = keep_check(&f, &rules, &flaw);
    if (checked[_i].says == NULL)
        ck_assert_msg(status == 0, "%s", flaw.message);
    else
        ck_assert_msg(status == -1 && flaw.kind == ERROR_INVALID && str_has_prefix(flaw.message, checked[_i].says),
                      "%s", flaw.message);
}

static const struct {
    const char *text, *now, *sent;
} kept[] = {
    {"backend web\n balance first\n\n# next\nbackend x\n",
     "backend web\n server n1 a:1 #c\n balance y\n server n2 b:1\n",
     "backend web\n balance first\n server n1 a:1 #c\n server n2 b:1\n\n# next\nbackend x\n"},
    {"backend web\n", "backend web2\n server n1 a:1\nfrontend web\n server n1 a:1\n", "backend web\n"},
    {"backend web\n server static1 a:1\n", "backend web\n server static1 b:1\n server s b:2 backup\n server n1 b:3\n",
     "backend web\n server static1 a:1\n server n1 b:3\n"},
    {"backend web\n balance first\n.if defined(X)\nbackend x\n.endif\n", "backend web\n server n1 a:1\n",
     "backend web\n balance first\n server n1 a:1\n.if defined(X)\nbackend x\n.endif\n"},
    {"backend web\n.if defined(X)\nbackend x\n.endif\n", "backend web\n server n1 a:1\n",
     "backend web\n server n1 a:1\n.if defined(X)\nbackend x\n.endif\n"},
    {"listen peer", "backend peer\n server-template t 2 a:1\n server s b:2 backup\n",
     "listen peer\n server-template t 2 a:1\n server s b:2 backup"},
    /* a file from before */
    {"backend web\n server n1 a:1\n server static1 a:1\n server n2 a:2\nbackend peer\n server x a:1\n",
     "backend web\n server n3 a:3\n", "backend web\n server static1 a:1\n server n3 a:3\nbackend peer\n"},
};

static void print_kept(const char *text, const char *now, struct cfg_edits *edits, struct buf *out)
{
    cleanup(cfg_file_fini) struct cfg_file document, is;
    cfg_file_parse(&document, text, strlen(text));
    cfg_file_parse(&is, now, strlen(now));
    keep_print(&document, &is, &rules, edits, out);
}

TEST_EACH(the_lines_that_are_there_are_kept, array_len(kept))
{
    cleanup(cfg_edits_fini) struct cfg_edits edits = {0};
    cleanup(buf_fini) struct buf out = {0};
    print_kept(kept[_i].text, kept[_i].now, &edits, &out);
    ck_assert_str_eq(buf_str(&out), kept[_i].sent);
}
