/* src/haproxy/local/alike: what is written without `haproxy -c` that would take it, too. */
#include "haproxy/local/alike.h"

#include <unistd.h>

#include "../dice.h"
#include "../effort.h"
#include "haproxy/cfg/difference.h"
#include "../test.h"

#define S1 "  server s1 10.0.0.1:80 check weight 5\n"
#define S2 "  server s2 10.0.0.2:80 check weight 5\n"
#define N1 "  server n1 10.0.0.9:80 check weight 5\n"

static bool alike(const char *from, const char *to)
{
    cleanup(cfg_file_fini) struct cfg_file a = {0}, b = {0};
    cleanup(cfg_difference_fini) struct cfg_difference d;
    cfg_file_parse(&a, from, strlen(from));
    cfg_file_parse(&b, to, strlen(to));
    cfg_difference_init(&d, &a, &b, false);
    return d.effect == CFG_EFFECT_RUNTIME_SERVERS && local_alike(&a, &b, &d.changes);
}

/* Lines of backend be, before and after, and more of the file. */
static const struct row {
    const char *before, *after, *more;
    bool alike;
} rows[] = {
    {S1, S1 N1, "", true},
    {S1, N1 S1, "", true},
    {S1 S2, S1, "", true},
    {S1 S2, S2, "", true},
    {S1, N1, "", true},
    {S1, "", "", true},
    {S1 S2, S2 N1, "", true},
    {S1, S1 "  server n1 [fe80::1]:80 check weight 5\n", "", true},
    {S1 S2, S1, "backend other\n  server s2 10.0.0.2:80\n", true},
    {S1 S2, S1, "backend other\n  server \"s2\" 10.0.0.2:80\n", true},
    {S1 S2, S1, "backend other\n  http-request deny if { path -m reg \"^/s2x$\" } { path '/a s22' /xs2 }\n", true},
    {"  default-server inter 2s\n" S1, "  default-server inter 2s\n" N1 S1, "", true},
    /* who comes is another one, */
    {"", N1, "", false},
    {S1, S1 "  server n1 10.0.0.9:80 check\n", "", false},
    {S1, S1 "  server n1 10.0.0.9:80 check weight 6\n", "", false},
    {S1, S1 "  server n1 10.0.0.9:80 check weight 5 # so\n", "", false},
    {S1, S1 "  server n1 10.0.0.9:80  check weight 5\n", "", false},
    {S1, S1 "  server n1 10.0.0.9:80 check weight 5\r\n", "", false},
    {S1, S1 "  server n1 name:80 check weight 5\n", "", false},
    {S1, S1 "  server n1 10.0.0.9 check weight 5\n", "", false},
    {S1, S1 "  server n1 10.0.0.9:+80 check weight 5\n", "", false},
    {S1, S1 "  server n\\1 10.0.0.9:80 check weight 5\n", "", false},
    {S1, S1 "  server n/1 10.0.0.9:80 check weight 5\n", "", false},
    {S1, S1 "  server \"n1\" 10.0.0.9:80 check weight 5\n", "", false},
    {S1, S1 "  server n1 \"10.0.0.9\":80 check weight 5\n", "", false},
    {S1, S1 "  server s1 10.0.0.9:80 check weight 5\n", "", false},
    {S1, S1 N1 N1, "", false},
    {"  server s1 name:80 check\n", "  server s1 name:80 check\n  server n1 10.0.0.9:80 check\n", "", false},
    {"", N1, "backend other\n" S1, false},
    {"  server s1 10.0.0.1:80 id 7\n", "  server s1 10.0.0.1:80 id 7\n  server n1 10.0.0.9:80 id 7\n", "", false},
    {"  server s1 10.0.0.1:80 guid x\n", "  server s1 10.0.0.1:80 guid x\n  server n1 10.0.0.9:80 guid x\n", "", false},
    {"  server s1 10.0.0.1:80 cookie x\n", "  server s1 10.0.0.1:80 cookie x\n  server n1 10.0.0.9:80 cookie x\n", "",
     false},
    {"  server s1 10.0.0.1:80 track o/x\n", "  server s1 10.0.0.1:80 track o/x\n  server n1 10.0.0.9:80 track o/x\n",
     "backend o\n  server x 10.0.0.1:80 check\n", false},
    {S1 "  server-template n 1-3 10.0.0.7:80\n", S1 N1 "  server-template n 1-3 10.0.0.7:80\n", "", false},
    {S1 "  default-server inter 2s\n" S2, S1 N1 "  default-server inter 2s\n" S2, "", false},
    {S1 "  default-server inter 2s\n", "  default-server inter 2s\n" N1, "", false},
    /* who goes is named, */
    {S1 S2, S1, "backend other\n  use-server s2 if TRUE\n  server s2 10.0.0.2:80\n", false},
    {S1 S2, S1, "backend other\n  http-request deny if { srv_is_up(be/s2) }\n", false},
    {S1 S2, S1, "backend other\n  http-request deny if { srv_is_up(be/\"s2\") }\n", false},
    {S1 S2, S1, "backend other\n  http-request deny if { srv_is_up(be/s\\x32) }\n", false},
    {S1 S2, S1, "backend other\n  server x 10.0.0.2:80 track be/s2\n", false},
    {S1 S2, S1, "backend other\n  http-request deny if { srv_is_up(be/\"$X\") }\n", false},
    {S1 S2, S1, "backend other\n  http-request deny if { srv_is_up(be/\"${X}\") }\n", false},
    {S1 S2, S1, "backend other\n  http-request set-header X \"s22 a:s2 s2\"\n", false},
    /* something else differs. */
    {S1, "  server s1 10.0.0.1:80 check weight 6\n", "", false},
    {S1, S1 N1 "  balance leastconn\n", "", false},
    {S1, "  # so\n" S1 N1, "", true},
    {S1, " " S1 N1, "", true},
    {S1 S2, S2 S1 N1, "", false},
    {S1, S1, "", false},
    {S1, S1 N1, ".if defined(X)\n.endif\n", false},
};

static char *file_of(const char *lines, const char *more)
{
    return mem_printf("global\n  httpclient.ssl.verify none\ndefaults\n  mode http\n  timeout connect 1s\n  timeout "
                      "client 1s\n  timeout server 1s\n"
                      "frontend fe\n  bind 127.0.0.1:1\n  default_backend be\nbackend be\n%s%s",
                      lines, more);
}

TEST_EACH(servers_alone_are_alike, array_len(rows))
{
    const struct row *r = &rows[_i];
    cleanup(mem_free_ptr) char *from = file_of(r->before, r->more), *to = file_of(r->after, r->more);
    ck_assert_msg(alike(from, to) == r->alike, "from:\n%s%sto:\n%s", r->before, r->more, r->after);
}

TEST(many_changes_are_checked)
{
    for (unsigned n = 31; n <= 34; n++) {
        struct buf more = {0};
        buf_add(&more, S1);
        for (unsigned i = 0; i < n; i++)
            buf_printf(&more, "  server n%u 10.0.0.9:80 check weight 5\n", i);
        cleanup(mem_free_ptr) char *from = file_of(S1, ""), *to = file_of(buf_str(&more), "");
        ck_assert_int_eq(alike(from, to), n <= LOCAL_ALIKE_MAX_CHANGES);
        ck_assert_int_eq(alike(to, from), n <= LOCAL_ALIKE_MAX_CHANGES);
        buf_fini(&more);
    }
}

static bool haproxy_takes(const char *text)
{
    const char *given = getenv("HAPROXY"); /* NOLINT(concurrency-mt-unsafe): one thread */
    char path[] = "/tmp/test_local_alike.XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    cleanup(mem_free_ptr) char *command =
        mem_printf("%s -c -f %s >/dev/null 2>&1", given != NULL ? given : "/usr/sbin/haproxy", path);
    int status = system(command); /* NOLINT(cert-env33-c,concurrency-mt-unsafe): a path of ours */
    unlink(path);
    return status == 0;
}

static const char *const tails[] = {"",
                                    " check",
                                    " check inter 1s # a",
                                    " id 3",
                                    " cookie c",
                                    " track s0",
                                    " track other/s1",
                                    " weight 5 backup",
                                    " check addr 127.0.0.1 port 9",
                                    " send-proxy-v2 check",
                                    " source 127.0.0.1",
                                    " agent-check agent-port 9",
                                    " disabled"};
static const char *const places[] = {"127.0.0.1:80", "127.0.0.2:81", "[::1]:80",
                                     "0.0.0.0:80",   "localhost:80", "127.0.0.1"};
static const char *const heads[] = {"",
                                    "  balance uri\n",
                                    "  balance leastconn\n",
                                    "  option httpchk\n",
                                    "  cookie X insert\n",
                                    "  default-server check inter 3s\n",
                                    "  server-template s 2 127.0.0.1:80\n",
                                    "  hash-type consistent\n"};
static const char *const others[] = {"",
                                     "  use-server s1 if TRUE\n",
                                     "  http-request deny if { srv_is_up(s0) }\n",
                                     "  http-request set-header X %[srv_conn(be/s2)]\n",
                                     "  stick-table type ip size 1m\n  stick on src\n",
                                     "  http-request set-header X \"a b s1\"\n"};

static const char *any(struct dice *dice, const char *const *list, size_t count)
{
    return list[dice_below(dice, (unsigned)count)];
}

/* Two that differ by servers. */
static void draw(struct dice *dice, char **ret_from, char **ret_to)
{
    const char *head = any(dice, heads, array_len(heads)), *tail = any(dice, tails, array_len(tails));
    const char *other = any(dice, others, array_len(others));
    unsigned before = dice_below(dice, 16), after = dice_below(dice, 16);
    cleanup(buf_fini) struct buf from = {0}, to = {0};
    buf_add(&from, head);
    buf_add(&to, head);
    for (unsigned i = 0; i < 4; i++) {
        const char *end = dice_one_in(dice, 4) ? any(dice, tails, array_len(tails)) : tail;
        const char *place = any(dice, places, dice_one_in(dice, 4) ? array_len(places) : 4);
        if (before & (1U << i))
            buf_printf(&from, "  server s%u %s%s\n", i, place, end);
        if (after & (1U << i))
            buf_printf(&to, "  server s%u %s%s\n", i, place, end);
    }
    cleanup(mem_free_ptr) char *more = mem_printf("%sbackend other\n  server s1 127.0.0.1:80 check\n", other);
    *ret_from = file_of(buf_str(&from), more);
    *ret_to = file_of(buf_str(&to), more);
}

TEST(what_is_alike_haproxy_takes)
{
    struct dice dice = {.state = 0x5eed};
    unsigned seen = 0, most = (unsigned)effort(40);
    for (unsigned i = 0; i < 20000 && seen < most; i++) {
        cleanup(mem_free_ptr) char *from = NULL, *to = NULL;
        draw(&dice, &from, &to);
        if (!alike(from, to) || !haproxy_takes(from))
            continue;
        seen++;
        ck_assert_msg(haproxy_takes(to), "from:\n%s\nto:\n%s", from, to);
    }
    ck_assert_uint_eq(seen, most);
}
