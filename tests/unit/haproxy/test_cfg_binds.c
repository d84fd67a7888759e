/* haproxy/cfg/binds: where a haproxy.cfg listens, and what is the same address and port as that. */
#include "haproxy/cfg/binds.h"

#include "../test.h"

static const struct {
    const char *bind, *address;
    uint16_t port;
    bool taken;
} rows[] = {
    {"*:443", "*", 443, true},
    {":443", "*", 443, true},
    {"0.0.0.0:443", "*", 443, true},
    {"[::]:443", "*", 443, true},
    {":::443", "*", 443, true},
    {"[::]:443 v6only", "*", 443, false},
    {"[::]:443 ssl crt /a v6only", "::", 443, true},
    {"*:443 v6only", "*", 443, true},
    {"*:443 ssl crt /etc/ssl/a.pem", "*", 443, true},
    {"*:443", "*", 80, false},
    {"*:443", "10.0.0.1", 443, false}, /* the kernel takes the nearer one */
    {"10.0.0.1:443", "*", 443, false},
    {"10.0.0.1:443", "10.0.0.1", 443, true},
    {"10.0.0.1:443", "10.0.0.2", 443, false},
    {"[fd00::1]:443", "fd00::1", 443, true},
    {"[FD00:0::1]:443", "fd00::1", 443, true},
    {"fd00::1:443", "fd00::1", 443, true},
    {"*:443", "::", 443, true},
    {"*:8000-8999", "*", 8000, true},
    {"*:8000-8999", "*", 8999, true},
    {"*:8000-8999", "*", 9000, false},
    {"*:8000-8999", "*", 7999, false},
    {":80,:443", "*", 443, true},
    {"10.0.0.1:80,10.0.0.2:443", "10.0.0.2", 443, true},
    {"10.0.0.1:80,10.0.0.2:443", "10.0.0.1", 443, false},
    {"ipv4@*:443", "*", 443, true},
    {"ipv6@[::]:443", "*", 443, true},
    {"ipv6@:443", "*", 443, true},
    {"ipv6@:443 v6only", "*", 443, false},
    {"tcp6@*:443 v6only", "::", 443, true},
    {"tcp4@*:443 v6only", "*", 443, true},
    {"tcp4@10.0.0.1:443", "10.0.0.1", 443, true},
    {"quic4@:443", "*", 443, false},
    {"/run/haproxy.sock:443", "*", 443, false},
    {"unix@/run/a:443", "*", 443, false},
    {"fd@443", "*", 443, false},
    {"abns@x:443", "*", 443, false},
    {"\"*:443\"", "*", 443, true},
    {"'*':443", "*", 443, true},
    {"*:443 # :80", "*", 80, false},
    {"\"${HOST}:443\"", "*", 443, false},
    {"*:\"${PORT}\"", "*", 443, false},
    {"lb.example:443", "*", 443, false},
    {"*", "*", 443, false},
    {"", "*", 443, false},
    {",", "*", 443, false},
    {"*:", "*", 0, false},
    {"*:443-", "*", 443, false},
    {"*:65536", "*", 0, false},
};

TEST_EACH(addresses, array_len(rows))
{
    cleanup(cfg_binds_fini) struct cfg_binds b = {0};
    cleanup(mem_free_ptr) char *text = mem_printf("frontend a\n  mode http\n  bind %s\n", rows[_i].bind);
    cfg_binds_read(&b, text, strlen(text));
    const struct cfg_bind *found = cfg_binds_find(&b, rows[_i].address, rows[_i].port);
    ck_assert_msg((found != NULL) == rows[_i].taken, "%s", rows[_i].bind);
    if (found != NULL)
        ck_assert_uint_eq(found->line, 3);
}

TEST(lines)
{
    static const char text[] = "# bind :1\nglobal\n  stats socket /a\n\nfrontend a\n  bind :80\n  bind :443 ssl\n"
                               "  no bind :2\n  http-request set-var(txn.bind) str(:3)\nlisten b\n  bind :443\n"
                               "peers p\n  bind :1024\n";
    cleanup(cfg_binds_fini) struct cfg_binds b = {0};
    cfg_binds_read(&b, text, strlen(text));
    ck_assert_uint_eq(b.count, 4);
    ck_assert_uint_eq(cfg_binds_find(&b, "*", 80)->line, 6);
    ck_assert_uint_eq(cfg_binds_find(&b, "*", 443)->line, 7); /* the first one */
    ck_assert_uint_eq(cfg_binds_find(&b, "*", 1024)->line, 13);
    for (uint16_t port = 1; port <= 3; port++)
        ck_assert_ptr_null(cfg_binds_find(&b, "*", port));
}
