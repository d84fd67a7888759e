/* src/configuration/keep: server lines that are not the document's. */
#include <stdlib.h>
#include <string.h>

#include "../dice.h"
#include "../effort.h"
#include "../test.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/str.h"
#include "configuration/keep.h"

static bool manages(const void *arg, const char *server, bool backup)
{
    return !backup && !str_has_prefix(server, arg);
}

static const struct keep_backend list[] = {{"web", manages, "static"}, {"peer", NULL, NULL}};
static const struct keep_rules rules = {list, array_len(list)};

/* ---- what is refused ---- */

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
};

TEST_EACH(what_is_not_the_documents_is_refused, array_len(checked))
{
    cleanup(cfg_file_fini) struct cfg_file f;
    struct error err = {0};
    cfg_file_parse(&f, checked[_i].text, strlen(checked[_i].text));
    int status = keep_check(&f, &rules, &err);
    if (checked[_i].says == NULL)
        ck_assert_msg(status == 0, "%s", err.message);
    else
        ck_assert_msg(status == -1 && err.kind == ERROR_INVALID && str_has_prefix(err.message, checked[_i].says), "%s",
                      err.message);
}

/* ---- what is kept ---- */

static const struct {
    const char *text, *now, *sent;
} kept[] = {
    {"backend web\n balance first\n\n# next\nbackend x\n",
     "backend web\n server n1 a:1 #c\n balance y\n server n2 b:1\n",
     "backend web\n balance first\n server n1 a:1 #c\n server n2 b:1\n\n# next\nbackend x\n"},
    {"backend web\n", "backend web2\n server n1 a:1\nfrontend web\n server n1 a:1\n", "backend web\n"},
    {"backend web\n server static1 a:1\n", "backend web\n server static1 b:1\n server s b:2 backup\n server n1 b:3\n",
     "backend web\n server static1 a:1\n server n1 b:3\n"},
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

/* ---- random documents ---- */

static bool is_owned(const char *section, const char *line)
{
    bool peer = str_has_suffix(section, " peer"), web = str_has_suffix(section, " web");
    if (str_has_prefix(line, " server-template "))
        return peer || web;
    if (!str_has_prefix(line, " server "))
        return false;
    return peer || (web && strstr(line, " static") == NULL && strstr(line, " backup") == NULL);
}

/* Some sections, each of the two once at most; owned: with lines that are not a document's. */
static void random_file(struct dice *d, bool owned, struct buf *out)
{
    static const char *const heads[] = {"global",       "defaults d",  "backend web",
                                        "frontend web", "listen peer", "backend x"};
    static const char *const lines[] = {
        "#",
        " # comment",
        " # server n1 a:1",
        " mode tcp",
        "\tbalance first",
        " server n 10.0.0.1:1 check weight",
        " server static 10.0.0.1:1 weight",
        " server s 10.0.0.1:1 backup weight",
        " server-template t 3 a:1 weight",
        " default-server inter",
        " http-request deny if { path \"a b\" } #",
    };
    bool there[array_len(heads)] = {false};
    for (unsigned i = dice_below(d, 6); i > 0; i--) {
        size_t at = dice_below(d, array_len(heads));
        if (there[at])
            continue;
        there[at] = true;
        buf_printf(out, "%s\n", heads[at]);
        for (unsigned k = dice_below(d, 8); k > 0; k--) {
            const char *line = lines[dice_below(d, array_len(lines))];
            if (owned || !is_owned(heads[at], line))
                buf_printf(out, "%s %u\n", line, dice_below(d, 9));
        }
    }
}

/* The lines of the section that are owned (or are not), one below the other. */
static char *lines_of(const char *text, const char *section, bool owned)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(text);
    struct buf out = {0};
    const char *in = "";
    char *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (line[0] != ' ' && line[0] != '\t' && line[0] != '#' && line[0] != '\0')
            in = line;
        if ((section == NULL || str_eq(in, section)) && is_owned(in, line) == owned)
            buf_printf(&out, "%s\n", line);
    }
    return buf_take(&out);
}

static void check_lines(const char *text, const char *in_text, const char *as, bool owned)
{
    cleanup(mem_free_ptr) char *is = lines_of(text, in_text, owned);
    cleanup(mem_free_ptr) char *wanted = lines_of(as, in_text, owned);
    ck_assert_msg(str_eq(is, wanted), "%s:\n%s\nis\n%s", in_text != NULL ? in_text : "all", wanted, is);
}

TEST_EACH(all_else_is_the_documents, 8)
{
    struct dice d = {.state = 88172645463325252ull + (uint64_t)_i * 7919};
    for (int round = 0; round < effort(2000); round++) {
        cleanup(buf_fini) struct buf document = {0};
        cleanup(buf_fini) struct buf now = {0};
        cleanup(buf_fini) struct buf out = {0};
        cleanup(buf_fini) struct buf again = {0};
        cleanup(cfg_edits_fini) struct cfg_edits edits = {0};
        cleanup(cfg_edits_fini) struct cfg_edits none = {0};
        bool before = dice_one_in(&d, 3); /* a file from before, which has such lines */
        random_file(&d, before, &document);
        random_file(&d, true, &now);
        print_kept(buf_str(&document), buf_str(&now), &edits, &out);
        check_lines(buf_str(&out), NULL, buf_str(&document), false);
        if (strstr(buf_str(&document), "backend web\n") != NULL)
            check_lines(buf_str(&out), "backend web", buf_str(&now), true);
        if (strstr(buf_str(&document), "listen peer\n") != NULL)
            check_lines(buf_str(&out), "listen peer", buf_str(&now), true);
        print_kept(buf_str(&out), buf_str(&now), &none, &again);
        check_lines(buf_str(&again), NULL, buf_str(&out), false);
        check_lines(buf_str(&again), NULL, buf_str(&out), true);
    }
}
