/* src/haproxy/local/config: a backend as haproxy.cfg itself has it. */
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/backend.h"

#include "../test.h"

struct read_file {
    struct cfg_file f;
    struct backend b;
    struct error err;
    int rc;
};

static struct read_file read_text(const char *text)
{
    struct read_file r = {0};
    backend_init(&r.b);
    r.b.name = mem_strdup("be");
    cfg_file_parse(&r.f, text, strlen(text));
    r.rc = cfg_backend_read(&r.f, &r.b, &r.err);
    return r;
}

static void read_fini(struct read_file *r)
{
    cfg_file_fini(&r->f);
    backend_fini(&r->b);
}

/* A server as one line, with all that was read of it. */
static char *text_of(const struct backend_server *s)
{
    return mem_printf("%s %s %u w%d%s%s%s%s%s p%u%s%s%s", s->name, s->address, s->port, s->weight,
                      s->check ? " check" : "", s->backup ? " backup" : "", s->no_backup ? " no-backup" : "",
                      s->maintenance ? " maint" : "", s->enabled ? " enabled" : "", s->check_port,
                      s->send_proxy_v2 ? " proxy" : "", s->default_disabled ? " default-disabled" : "",
                      s->default_backup ? " default-backup" : "");
}

#define BE "backend be\n"

static const struct {
    const char *text, *server;
} servers[] = {
    {BE " server n1 10.0.0.1:80\n", "n1 10.0.0.1 80 w-1 p0"},
    {BE "\tserver\tn1\t10.0.0.1:80\tcheck weight 7 # off\r\n", "n1 10.0.0.1 80 w7 check p0"},
    {BE " server n1 [::1]:80\n", "n1 ::1 80 w-1 p0"},
    {BE " server n1 [::1]\n", "n1 ::1 0 w-1 p0"},
    {BE " server n1 ::1:80\n", "n1 ::1 80 w-1 p0"},
    {BE " server n1 web\n", "n1 web 0 w-1 p0"},
    {BE " server n1 web:+1000\n", "n1 web:+1000 0 w-1 p0"},
    {BE " server n1 unix@/run/a.sock\n", "n1 unix@/run/a.sock 0 w-1 p0"},
    {BE " server n1 web:70000\n", "n1 web:70000 0 w-1 p0"},
    {BE " server \"n 1\" a:1\n", "n 1 a 1 w-1 p0"},
    {BE " server n1 a:1 check no-check weight 1 weight 2 disabled enabled\n", "n1 a 1 w2 enabled p0"},
    {BE " server n1 a:1 enabled disabled no-backup backup port 81\n", "n1 a 1 w-1 backup maint p81"},
    {BE " server n1 a:1 cookie check send-proxy-v2\n", "n1 a 1 w-1 p0 proxy"},
    {BE " server n1 a:1 nobody-knows check\n", "n1 a 1 w-1 p0"}, /* and unsupported */
    {BE " default-server disabled\n server n1 a:1\n", "n1 a 1 w-1 maint p0 default-disabled"},
    {"defaults\n default-server backup\n" BE " server n1 a:1 no-backup\n", "n1 a 1 w-1 no-backup p0 default-backup"},
    {"defaults a\n default-server disabled\ndefaults b\nbackend be from a\n server n1 a:1 enabled\n",
     "n1 a 1 w-1 enabled p0 default-disabled"},
    {BE " # server n2 b\n server n1 a:1\nbackend other\n server n2 b:1\n", "n1 a 1 w-1 p0"},
    {"frontend be\n bind :1\n" BE " server n1 a:1\n", "n1 a 1 w-1 p0"},
    {".if x\nfrontend f\n.endif\n" BE " server n1 a:1\n.if y\nfrontend g\n.endif\n", "n1 a 1 w-1 p0"},
    {BE " server n1 '$a':1\n", NULL},
    {BE " server n1 a:1 weight \"$W\"\n", NULL},
    {BE " server n1 \"${A}:1\"\n", NULL},
    {BE " default-server inter \"$I\"\n server n1 a:1\n", NULL},
    {BE " balance \"$B\"\n", NULL},
    {"defaults a\n default-server \"$D\"\ndefaults b from a\n" BE " server n1 a:1\n", NULL},
    {"defaults a\n default-server \"$D\"\ndefaults b\n" BE " server n1 a:1\n", "n1 a 1 w-1 p0"},
    {BE " server n1 \"a\n", NULL},
    {BE " server n1 a:1\nbackend other\nbackend be\n", NULL},
    {".if x\n" BE " server n1 a:1\n.endif\n", NULL},
    {BE " server n1 a:1\n.if x\n server n2 b:1\n.endif\n", NULL},
    {BE " server n1 a:1\n.if x\n.else\n balance source\n.endif\n", NULL},
    {"defaults\n.if x\n default-server disabled\n.endif\n" BE " server n1 a:1\n", NULL},
};

TEST_EACH(servers_of_a_file, array_len(servers))
{
    cleanup(read_fini) struct read_file r = read_text(servers[_i].text);
    if (servers[_i].server == NULL) {
        ck_assert_msg(r.rc == -1 && r.err.kind == ERROR_INVALID, "%s", servers[_i].text);
        ck_assert_msg(str_has_prefix(r.err.message, "haproxy.cfg, line "), "%s", r.err.message);
        return;
    }
    ck_assert_msg(r.rc == 0, "%s", r.err.message);
    ck_assert(r.b.exists);
    ck_assert_uint_eq(r.b.server_count, 1);
    cleanup(mem_free_ptr) char *text = text_of(&r.b.servers[0]);
    ck_assert_str_eq(text, servers[_i].server);
    ck_assert_ptr_null(r.b.servers[0].json);
    ck_assert_uint_eq(r.b.unsupported_count, strstr(servers[_i].text, "nobody-knows") != NULL);
}

static const struct {
    const char *text, *is; /* mode balance check, and so on */
} backends[] = {
    {BE, "- - -"},
    {BE " mode http\n balance leastconn\n option tcp-check\n", "http leastconn tcp-check"},
    {BE " balance hdr(x) y\n balance uri depth 3\n", "- uri -"},
    {BE " option tcp-check\n option httpchk\n", "- - httpchk"},
    {BE " option httpchk GET /x\n", "- - httpchk params"},
    {BE " option httpchk GET /x\n option tcp-check\n", "- - tcp-check"},
    {BE " option httpchk\n no option httpchk\n", "- - -"},
    {BE " option tcp-check\n no option httpchk\n option httplog\n", "- - tcp-check"},
    {BE " default-server send-proxy-v2 check\n", "- - - proxy"},
    {BE " default-server send-proxy-v2\n default-server no-send-proxy-v2\n", "- - -"},
    {"defaults\n mode http\n balance source\n default-server send-proxy-v2\n" BE, "- - -"}, /* not its own */
};

static const char *shown(const char *s)
{
    return str_empty(s) ? "-" : s;
}

TEST_EACH(settings_of_a_backend, array_len(backends))
{
    cleanup(read_fini) struct read_file r = read_text(backends[_i].text);
    ck_assert_msg(r.rc == 0, "%s", r.err.message);
    cleanup(mem_free_ptr) char *is =
        mem_printf("%s %s %s%s%s", shown(r.b.mode), shown(r.b.balance), shown(r.b.adv_check),
                   r.b.httpchk_params ? " params" : "", r.b.default_send_proxy_v2 ? " proxy" : "");
    ck_assert_str_eq(is, backends[_i].is);
}

TEST(what_else_there_is)
{
    cleanup(read_fini) struct read_file none = read_text("backend bee\nlisten be\n");
    ck_assert(none.rc == 0 && !none.b.exists);
    cleanup(read_fini) struct read_file r = read_text(
        BE " server-template a 3 web:80\n server-template b 5-8 web:80\n server-template c x web:80\n server n1\n");
    ck_assert_int_eq(r.rc, 0);
    ck_assert_uint_eq(r.b.template_count, 2);
    ck_assert(r.b.templates[0].first == 1 && r.b.templates[0].last == 3);
    ck_assert(r.b.templates[1].first == 5 && r.b.templates[1].last == 8);
    ck_assert_uint_eq(r.b.unsupported_count, 2);
    ck_assert(r.b.unsupported[0].line == 4 && r.b.unsupported[1].line == 5);
    ck_assert_uint_eq(r.b.server_count, 0);
}
