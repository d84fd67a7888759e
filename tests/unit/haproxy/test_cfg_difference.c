/* src/haproxy/cfg/difference: what a change of haproxy.cfg is, what it costs, and when it is none. */
#include "haproxy/cfg/difference.h"

#include "../test.h"

static void difference_of(struct cfg_difference *d, const char *before, const char *after, bool regrouped)
{
    cleanup(cfg_file_fini) struct cfg_file a;
    cleanup(cfg_file_fini) struct cfg_file b;
    cfg_file_parse(&a, before, strlen(before));
    cfg_file_parse(&b, after, strlen(after));
    cfg_difference_init(d, &a, &b, regrouped);
    ck_assert(cfg_same_meaning(&a, &b, regrouped) == (d->effect == CFG_EFFECT_NONE) &&
              (d->count == 0) == (d->effect == 0));
}

static char *texts_of(const struct cfg_difference *d)
{
    struct buf text = {0};
    for (size_t i = 0; i < d->count && i < CFG_DIFFERENCE_MAX; i++)
        buf_printf(&text, "%s%s", i > 0 ? "; " : "", d->texts[i]);
    return buf_take(&text);
}

static void check_one(const char *before, const char *after, bool regrouped, enum cfg_effect effect, const char *texts)
{
    cleanup(cfg_difference_fini) struct cfg_difference d;
    difference_of(&d, before, after, regrouped);
    cleanup(mem_free_ptr) char *got = texts_of(&d);
    ck_assert_msg(str_eq(got, texts) && d.effect == effect, "%s->\n%s: effect %d, %s", before, after, d.effect, got);
}

static void check_difference(const char *before, const char *after, enum cfg_effect effect, const char *texts)
{
    check_one(before, after, false, effect, texts);
    check_one(before, after, true, effect, texts);
}

static const struct {
    const char *before, *after;
} same[] = {
    {"global\n log a\n", "# c\n\nglobal # d\r\n\tlog  a"},
    {"backend b\n server a 1:1 check # x\n", "backend  b\n\n  server a  1:1 check\n"},
    {".if defined(A)\nglobal\n log a\n.endif\n", ".if defined(A) # x\nglobal\n\n log a\n  .endif\n"},
};

TEST_EACH(the_same_tokens_in_the_same_order, array_len(same))
{
    check_difference(same[_i].before, same[_i].after, CFG_EFFECT_NONE, "");
    check_difference(same[_i].after, same[_i].before, CFG_EFFECT_NONE, "");
}

/* Which a Data Plane API does not keep apart, and HAProxy may. */
static const struct {
    const char *before, *after, *texts;
} regrouped[] = {
    {"frontend f\n bind :1\nbackend b\n server a 1:1\n", "backend b\n server a 1:1\nfrontend f\n bind :1\n",
     "backend b: order or quoting of lines"},
    {"frontend f\n bind :1\n mode tcp\n", "frontend f\n mode tcp\n bind :1\n", "frontend f: order or quoting of lines"},
    {"frontend f\n acl a src 1\n http-request deny if a\n", "frontend f\n http-request deny if a\n acl a src 1\n",
     "frontend f: order or quoting of lines"},
    {"global\n ssl-default-bind-options x\nfrontend f\n bind :1\n",
     "frontend f\n bind :1\nglobal\n ssl-default-bind-options x\n", "frontend f: order or quoting of lines"},
    {"global\n log 'a'\n", "global\n log a\n", "global: order or quoting of lines"},
    {"backend b\n mode tcp\n server a 1:1\n", "backend b\n server a 1:1\n mode tcp\n",
     "backend b: order or quoting of lines"},
    {"frontend f\n timeout client 1s\n timeout client 2s\n", "frontend f\n timeout client 2s\n",
     "frontend f: order or quoting of lines"},
    /* from */
    {"defaults a\nbackend b\n", "defaults a\nbackend b from a\n", "backend b: order or quoting of lines"},
    {"defaults\nbackend b\n", "defaults unnamed_defaults_1\nbackend b from unnamed_defaults_1\n",
     "defaults unnamed_defaults_1: order or quoting of lines"},
    {"defaults\n mode tcp\nbackend b\ndefaults\nbackend c\n",
     "defaults unnamed_defaults_1\n mode tcp\ndefaults unnamed_defaults_2\nbackend c\nbackend b from "
     "unnamed_defaults_1\n",
     "defaults unnamed_defaults_1: order or quoting of lines"},
    {"backend b\n http-check send hdr a b meth GET\n", "backend b\n http-check send meth GET hdr a b\n",
     "backend b: order or quoting of lines"},
    {"backend b\n stick-table type ip size 1m expire 5m\n", "backend b\n stick-table type ip expire 5m size 1m\n",
     "backend b: order or quoting of lines"},
    {".notice a\nglobal\n", ".notice b\nglobal\n", "haproxy.cfg: order or quoting of lines"},
};

TEST_EACH(what_a_data_plane_api_regroups, array_len(regrouped))
{
    check_one(regrouped[_i].before, regrouped[_i].after, true, CFG_EFFECT_NONE, "");
    check_one(regrouped[_i].before, regrouped[_i].after, false, CFG_EFFECT_RELOAD, regrouped[_i].texts);
}

/* Servers change beside that, which by itself takes no reload. */
TEST_EACH(any_other_line_that_moves_takes_a_reload, array_len(regrouped))
{
    static const char was[] = "backend s\n server a 1.1.1.1:1\n", is[] = "backend s\n server a 1.1.1.1:2\n";
    cleanup(mem_free_ptr) char *before = mem_printf("%s%s", regrouped[_i].before, was);
    cleanup(mem_free_ptr) char *after = mem_printf("%s%s", regrouped[_i].after, is);
    cleanup(cfg_difference_fini) struct cfg_difference d;
    difference_of(&d, before, after, false);
    ck_assert_msg(d.effect == CFG_EFFECT_RELOAD, "%s->\n%s: %d", before, after, d.effect);
}

static const struct {
    const char *before, *after, *texts;
} reloads[] = {
    /* blanks that are part of a word */
    {"frontend f\n bind \":1  \"\n", "frontend f\n bind \":1 \"\n", "frontend f: bind"},
    {"frontend f\n bind ':1  '\n", "frontend f\n bind ':1 '\n", "frontend f: bind"},
    {"frontend f\n bind :1\\  \\ \n", "frontend f\n bind :1\\ \\ \n", "frontend f: bind"},
    {"frontend f\n bind :1 x\n", "frontend f\n bind :1x\n", "frontend f: bind"},
    {"frontend f\n bind :1x\n", "frontend f\n bind :1 x\n", "frontend f: bind"},
    {"global\n", "global\n maxconn 1\n", "global: new maxconn"},
    {"global\n maxconn 1\n", "global\n maxconn 2\n", "global: maxconn"},
    {"global\n maxconn 1\n", "global\n", "global: maxconn removed"},
    {"frontend f\n bind :1\n", "frontend f\n bind :1\n bind :2 ssl crt x\n", "frontend f: new bind"},
    {"frontend f\n bind :1\n bind :2\n", "frontend f\n bind :2\n bind :3\n", "frontend f: bind"},
    {"frontend f\n timeout client 1s\n", "frontend f\n timeout client 2s\n", "frontend f: timeout client"},
    {"frontend f\n http-request a\n http-request b\n", "frontend f\n http-request b\n http-request a\n",
     "frontend f: order of http-request"},
    {"frontend f\n", "frontend f\nbackend x\n server a 1:1\n mode tcp\nbackend y\n", "backend x: new; backend y: new"},
    {"backend x\n mode tcp\nbackend xy\n mode tcp\n", "backend xy\n mode http\n",
     "backend x: removed; backend xy: mode"},
    {"defaults a\ndefaults b\nbackend x\n", "defaults a\ndefaults b\nbackend x from a\n", "backend x: from"},
    {"defaults\n mode tcp\nbackend x\n", "defaults\n mode http\nbackend x\n", "defaults unnamed_defaults_1: mode"},
    {"defaults d\nbackend b from d\n", "defaults d\nbackend b frm d\n", "backend b: new header"},
    {"backend b\n mode tcp\nbackend b\n mode tcp\n server a 1:1\n",
     "backend b\n mode tcp\nbackend b\n mode tcp\n server a 1:2\n", "backend b: server"},
    {"backend b\n mode tcp\n option a\n server a 1:1\n", "backend b\n mode http\n option b\n server a h:1\n",
     "backend b: mode; backend b: option a removed; backend b: new option b; backend b: server a address"},
    {"peers p\n peer n1 1:1\n", "peers p\n peer n1 1:2\n", "peers p: peer"},
    {"backend \"a\\x1bb\"\n", "global\n", "backend a b: removed"},
    {"backend b\n stick-table type ip size 1m expire 5m\n", "backend b\n stick-table type ip size 5m expire 1m\n",
     "backend b: stick-table"},
    {"defaults\n default-server check\nbackend b\n server a 1:1\n", "defaults\nbackend b\n server a 1:1 check\n",
     "backend b: server a check; defaults unnamed_defaults_1: default-server removed"},
    {"peers p\n server n1 1.1.1.1:1\n", "peers p\n server n1 1.1.1.1:2\n", "peers p: server"},
    {"backend b\n mode tcp\nlisten c\n server a 1.1.1.1:1\n", "backend b\n mode http\nlisten c\n server a 1.1.1.1:2\n",
     "backend b: mode; listen c: server a address"},
    {"backend b\n http-check send hdr a b meth GET\n", "backend b\n http-check send hdr b a meth GET\n",
     "backend b: http-check"},
    /* servers */
    {"backend b\n server a 'x\n", "backend b\n server a 'y\n", "backend b: server"},
    {"backend b\n server a 1:1 check weight 1\n", "backend b\n server a 1:1 weight 2\n",
     "backend b: server a check, weight"},
    {"backend b\n server a 1.1.1.1:1\n", "backend b\n server a 1.1.1.1:1\n server c 1:1\n", "backend b: new server c"},
    {"backend b\n server a 1:1\n server c 1:1\n", "backend b\n server c 1:1\n", "backend b: server a removed"},
    {"backend b\n server a 1:1\n server c 1:1\n", "backend b\n server c 1:1\n server a 1:1\n",
     "backend b: order of server"},
    {"backend b\n server a 1:1 check\n", "backend b\n server a 1:1 inter 5s ssl\n",
     "backend b: server a check, inter, ssl"},
    {"backend b\n server a 1.1.1.1:1 check\n", "backend b\n server a 1.1.1.2:1\n",
     "backend b: server a address, check"},
    {"backend b\n default-server check\n server a 1:1 source x\n", "backend b\n server a 1:1 source x check\n",
     "backend b: default-server removed; backend b: server a default-server, check"},
    {"backend b\n server a 1:1 crt x\n", "backend b\n default-server crt y\n server a 1:1 crt x\n",
     "backend b: new default-server; backend b: server a default-server"},
    {"backend b\n server a 1:1 resolve-opts x\n",
     "backend b\n default-server resolve-opts y\n server a 1:1 resolve-opts x\n",
     "backend b: new default-server; backend b: server a default-server"},
    {"backend b\n server a 1:1 addr 1:2 port 3\n", "backend b\n server a 1:1 port 3 addr 1:2\n", "backend b: server a"},
    {"backend b\n server a 1.1.1.1:1 addr 1:2 port 3\n", "backend b\n server a 1.1.1.2:1 port 3 addr 1:2\n",
     "backend b: server a address"},
    {"backend b\n server a 1:1 weight 5 disabled\n", "backend b\n server a 1:1 disabled weight 5\n",
     "backend b: server a"},
    {"listen b\n server-template a 1-2 1.1.1.1:1\n", "listen b\n server-template a 1-2 1.1.1.2:1\n",
     "listen b: server-template a address"},
    {"listen b\n server-template a 1-2 1.1.1.1:1\n", "listen b\n server-template a 1-3 1.1.1.1:1\n",
     "listen b: server-template a"},
    {"backend b\n server a h:1\n", "backend b\n server a 1.1.1.1:1\n", "backend b: server a address"},
    {"backend b\n server a h:1 weight 1\n", "backend b\n server a 1.1.1.1:1 weight 2\n",
     "backend b: server a address, weight"},
    {"backend b\n server a 1.1.1.1\n", "backend b\n server a 1.1.1.2\n", "backend b: server a address"},
    {"backend b\n server a 1.1.1.1:+1\n", "backend b\n server a 1.1.1.1:+2\n", "backend b: server a address"},
    {"backend b\n balance source\n server a 1:1 weight 1\n", "backend b\n balance source\n server a 1:1 weight 2\n",
     "backend b: server a weight"},
    {"defaults d\n balance uri\ndefaults e from d\nbackend b\n server a 1:1 weight 1\n",
     "defaults d\n balance uri\ndefaults e from d\nbackend b\n server a 1:1 weight 2\n", "backend b: server a weight"},
    {"backend b\n server a 1:1 track x/y\n", "backend b\n server a 1:1 track x/y disabled\n",
     "backend b: server a disabled"},
    {"backend b\n server a 1:1\n", "backend b\n server a 1:1 maxconn 5\n", "backend b: server a maxconn"},
    {"backend b\n server a 1:1 minconn 1 maxconn 5\n", "backend b\n server a 1:1 minconn 1 maxconn 6\n",
     "backend b: server a maxconn"},
    {"backend b\n server a 1:1 foo weight 5\n", "backend b\n server a 1:1 foo weight 6\n",
     "backend b: server a weight"},
    {"backend b\n server a 1:1 cookie weight\n acl 'x\n", "backend b\n server a 1:1 cookie disabled\n acl 'x\n",
     "backend b: server a cookie"},
    {"backend b\n mode tcp\n maxconn 1\n", "backend b\n mode tcp\n maxconn 2\n", "backend b: maxconn"},
    {"frontend f\n", "frontend f\n maxconn 2\n", "frontend f: new maxconn"},
    {"frontend f\n maxconn 5\n", "frontend f\n maxconn 6\n", "frontend f: maxconn"},
    {"backend b\n server a 1:1 maxconn 5\n", "backend b\n server a 1:1 maxconn 6\n", "backend b: server a maxconn"},
    {"backend b\n default-server weight 1\n server a 1:1\n", "backend b\n default-server weight 2\n server a 1:1\n",
     "backend b: default-server"},
    /* what decides may be another one's */
    {"backend b\n.if defined(A)\n server a 1.1.1.1:1\n.endif\n",
     "backend b\n.if defined(A)\n server a 1.1.1.1:2\n.endif\n", "backend b: server a address"},
    {".if defined(A)\nbackend b\n server a 1.1.1.1:1\n.endif\n",
     ".if defined(A)\nbackend b\n server a 1.1.1.1:2\n.endif\n", "backend b: server a address"},
    {".if defined(A)\nbackend b\n.endif\n server a 1.1.1.1:1\n",
     ".if defined(A)\nbackend b\n.endif\n server a 1.1.1.1:2\n", "backend b: server a address"},
    {"backend b\n.if defined(A)\n retries 2\n.endif\n",
     "backend b\n.if defined(A)\n retries 2\n.endif\n server a 1.1.1.1:1\n", "backend b: new server a"},
    {"defaults\n.if defined(A)\n retries 2\n.endif\nbackend b\n server a 1.1.1.1:1\n",
     "defaults\n.if defined(A)\n retries 2\n.endif\nbackend b\n server a 1.1.1.1:2\n", "backend b: server a address"},
    {"backend b\n retries \"$R\"\n server a 1.1.1.1:1\n", "backend b\n retries \"$R\"\n server a 1.1.1.1:2\n",
     "backend b: server a address"},
    {"backend b\n server a 1.1.1.1:1\n default-server check\n server c 1.1.1.1:1\n",
     "backend b\n server a 1.1.1.1:1\n default-server check\n server c 1.1.1.1:2\n", "backend b: server c address"},
    {"backend b\n server a 1.1.1.1:1 track c/d\n", "backend b\n server a 1.1.1.1:2 track c/d\n",
     "backend b: server a address"},
    {"backend b\n", "backend b\n server a 1.1.1.1:2 track c/d\n", "backend b: new server a"},
    {"backend b\n server a 1.1.1.1:1 nobody-knows\n", "backend b\n server a 1.1.1.1:2 nobody-knows\n",
     "backend b: server a address"},
    {"backend b\n server a 1.1.1.1:1 resolvers x\n", "backend b\n server a h:1 resolvers x\n",
     "backend b: server a address"},
    {"backend b\n server z 1.1.1.1:1 backup\n", "backend b\n server y 1.1.1.1:2 backup\n server z 1.1.1.1:1 backup\n",
     "backend b: new server y"},
    {"backend b\n default-server backup\n server z 1.1.1.1:1\n",
     "backend b\n default-server backup\n server y 1.1.1.1:2\n server z 1.1.1.1:1\n", "backend b: new server y"},
    {"backend b\n server a 1.1.1.1:1\n mode tcp\n", "backend b\n mode tcp\n server a 1.1.1.1:2\n",
     "backend b: server a address; backend b: order or quoting of lines"},
    /* what a defaults section says of servers is not known of them */
    {"defaults\n default-server disabled\nbackend b\n server a 1:1 enabled\n",
     "defaults\n default-server disabled\nbackend b\n server a 1:1\n", "backend b: server a enabled"},
    {"defaults\n default-server weight 5\nbackend b\n server a 1:1 weight 6\n",
     "defaults\n default-server weight 5\nbackend b\n server a 1:1\n", "backend b: server a weight"},
    {"backend b\n server a 1:1 weight 5\n", "backend b\n server a 1:1 weight 257\n", "backend b: server a weight"},
    {"backend b\n server a 1:1 weight 5\n", "backend b\n server a 1:1 weight \"$W\"\n", "backend b: server a weight"},
    {"backend b\n balance source\n", "backend b\n balance source\n server a 1.1.1.1:1\n", "backend b: new server a"},
    {"listen b\n balance roundrobin\n server-template a 1-2 1.1.1.1:1\n", "listen b\n balance roundrobin\n",
     "listen b: server-template a removed"},
};

TEST_EACH(what_a_reload_does, array_len(reloads))
{
    check_one(reloads[_i].before, reloads[_i].after, false, CFG_EFFECT_RELOAD, reloads[_i].texts);
    if (strstr(reloads[_i].texts, "order or quoting of lines") == NULL)
        check_one(reloads[_i].before, reloads[_i].after, true, CFG_EFFECT_RELOAD, reloads[_i].texts);
}

static const struct {
    const char *before, *after, *texts;
} runtime[] = {
    {"backend b\n server n1 10.0.0.1:80\n", "backend b\n server n1 10.0.0.2:81\n", "backend b: server n1 address"},
    {"listen b\n server n1 [::1]:80\n", "listen b\n server n1 10.0.0.2:80\n", "listen b: server n1 address"},
    {"backend b\n server n1 1:1\n server n2 1:1 check\n",
     "backend b\n server n1 1:1 weight 0\n server n2 1:1 disabled check\n",
     "backend b: server n1 weight; backend b: server n2 disabled"},
    {"backend b\n server a 1:1 disabled\n", "backend b\n server a 1:1 enabled\n",
     "backend b: server a disabled, enabled"},
    {"defaults\n balance uri\nbackend b\n balance leastconn\n server a 1:1 weight 1\n",
     "defaults\n balance uri\nbackend b\n balance leastconn\n server a 1:1 weight 2\n", "backend b: server a weight"},
    {"backend b\n balance source\n balance leastconn\n server a 1:1 weight 1\n",
     "backend b\n balance source\n balance leastconn\n server a 1:1 weight 2\n", "backend b: server a weight"},
};

TEST_EACH(what_the_runtime_api_does, array_len(runtime))
{
    check_difference(runtime[_i].before, runtime[_i].after, CFG_EFFECT_RUNTIME, runtime[_i].texts);
    check_difference(runtime[_i].before, "global\n mode x\n", CFG_EFFECT_RELOAD,
                     str_has_prefix(runtime[_i].before, "listen") ? "global: new mode; listen b: removed"
                     : str_has_prefix(runtime[_i].before, "defaults")
                         ? "backend b: removed; defaults unnamed_defaults_1: removed; global: new mode"
                         : "backend b: removed; global: new mode");
}

static const struct {
    const char *before, *after, *changes;
} told[] = {
    {"backend b\n server n1 10.0.0.1:80 weight 7 check\n", "backend b\n server n1 [::2]:81 check\n",
     "set b/n1 3 ::2:81, set weight 1"},
    {"listen b\n server n1 10.0.0.1:80\n server n2 h:1 disabled\n",
     "listen b\n server n1 10.0.0.1:80 disabled\n server n2 h:1\n", "set b/n1 maint; set b/n2 ready"},
    {"defaults\n default-server disabled\nbackend b\n server a 1:1\n",
     "defaults\n default-server disabled\nbackend b\n server a 1:1 enabled\n", "set b/a ready"},
    {"backend b\n server z 1.1.1.1:1 backup\n",
     "backend b\n server n 1.1.1.1:3\n server z 1.1.1.1:1 backup\n server y 1.1.1.1:2 backup\n",
     "add b/n 1.1.1.1:3 weight 1 ready; add b/y 1.1.1.1:2 weight 1 ready"},
    {"backend b\n default-server backup\n server z 1.1.1.1:1\n",
     "backend b\n default-server backup\n server y 1.1.1.1:2 no-backup\n server z 1.1.1.1:1\n",
     "add b/y 1.1.1.1:2 weight 1 ready"},
    {"global\n.if defined(A)\n maxconn 5\n.endif\nbackend b\n server a 1.1.1.1:1\n",
     "global\n.if defined(A)\n maxconn 5\n.endif\nbackend b\n server a 1.1.1.1:2\n", "set b/a 3 1.1.1.1:2,"},
    {"backend b\n server a 1.1.1.1:1\n server c 1.1.1.1:2\nbackend c\n",
     "backend b\n server c 1.1.1.1:2\nbackend c\n server d 1.1.1.1:3 weight 4 disabled\n",
     "remove b/a; add c/d 1.1.1.1:3 weight 4 maint"},
};

static char *text_of_changes(const struct changes *list)
{
    struct buf text = {0};
    for (size_t i = 0; i < list->count; i++) {
        const struct change *c = list->list[i];
        const struct backend_server *s = c->server;
        bool adds = c->kind == CHANGE_ADD_SERVER;
        buf_printf(&text, "%s%s %s/%s", i > 0 ? "; " : "",
                   adds                              ? "add"
                   : c->kind == CHANGE_REMOVE_SERVER ? "remove"
                                                     : "set",
                   c->backend->name, s->name);
        if (c->fields & SERVER_ADDRESS)
            buf_printf(&text, " %d %s:%u,", (int)(c->fields & (SERVER_ADDRESS | SERVER_PORT)), s->address, s->port);
        if (adds)
            buf_printf(&text, " %s:%u", s->address, s->port);
        if (adds || (c->fields & SERVER_WEIGHT))
            buf_printf(&text, " %sweight %d", adds ? "" : "set ", s->weight);
        if (adds || (c->fields & SERVER_MAINTENANCE))
            buf_printf(&text, " %s", s->maintenance ? "maint" : "ready");
    }
    return buf_take(&text);
}

TEST_EACH(what_the_running_haproxy_is_sent, array_len(told))
{
    cleanup(cfg_difference_fini) struct cfg_difference d;
    difference_of(&d, told[_i].before, told[_i].after, false);
    cleanup(mem_free_ptr) char *got = text_of_changes(&d.changes);
    ck_assert_str_eq(got, told[_i].changes);
    ck_assert(d.effect == (strstr(got, "add") != NULL ? CFG_EFFECT_RUNTIME_SERVERS : CFG_EFFECT_RUNTIME));
    ck_assert_str_eq(d.why, d.texts[0]);
}

TEST(only_so_many_are_said)
{
    cleanup(buf_fini) struct buf before = {0}, after = {0};
    cleanup(cfg_difference_fini) struct cfg_difference d;
    for (int i = 0; i < 30; i++) {
        buf_printf(&before, "backend b%02d\n server a 1.1.1.1:1\n", i);
        buf_printf(&after, "backend b%02d\n server a 1.1.1.1:2\n", i);
    }
    difference_of(&d, buf_str(&before), buf_str(&after), false);
    ck_assert(d.count == 30 && d.effect == CFG_EFFECT_RUNTIME);
    ck_assert_str_eq(d.texts[CFG_DIFFERENCE_MAX - 1], "backend b19: server a address");
}

TEST(no_secret_is_said)
{
    static const char before[] = "userlist u\n user joe password Xone\nglobal\n stats socket Xtwo\n"
                                 "backend b\n stats auth a:Xthree\n server s 1:1 cookie Xfour send-proxy-v2\n"
                                 " server t Xaddress source Xfive\n server-template v 1-2 h sni Xsix\n"
                                 "peers p\n peer n Xseven\n"
                                 "backend c\n server a 1 cookie Xeight\n acl 'Xquote\n";
    cleanup(buf_fini) struct buf after = {0};
    cleanup(cfg_difference_fini) struct cfg_difference d;
    for (const char *c = before; *c != '\0'; c++)
        buf_addn(&after, *c == 'X' ? "Y" : c, 1);
    difference_of(&d, before, buf_str(&after), false);
    cleanup(mem_free_ptr) char *texts = texts_of(&d);
    ck_assert_msg(d.count == 9 && strpbrk(texts, "XY") == NULL, "%zu: %s", d.count, texts);
}
