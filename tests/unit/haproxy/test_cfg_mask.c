/* src/haproxy/cfg/mask: which words of haproxy.cfg are shown. */
#include "haproxy/cfg/mask.h"

#include "../test.h"

static char *masked(const char *line, size_t max_bytes)
{
    struct buf out = {0};
    cfg_mask_line(line, strlen(line), max_bytes, &out);
    return buf_take(&out);
}

/* In each of these, what begins with "hunter" is a secret. */
static const struct {
    const char *line, *shown;
} lines[] = {
    /* logins */
    {" user admin password $5$hunter$2", "user admin password ***"},
    {" user admin insecure-password hunter2 groups ops dev", "user admin insecure-password *** groups ops dev"},
    {" user token insecure-password 'hunter 2'", "user token insecure-password ***"},
    {" user admin secret $6$hunter$2", "user admin secret ***"},
    {" any $6$hunter$2 word", "any *** word"},
    {" stats auth admin:hunter2", "stats auth ***"},
    {" stats uri /stats", "stats uri /stats"},
    {"\tuser  haproxy # password hunter2", "user haproxy"},
    /* headers */
    {" http-request set-header Authorization \"Basic hunter2\" if { path /a }",
     "http-request set-header Authorization *** if { path /a }"},
    {" http-request set-header Authorization if if TRUE", "http-request set-header Authorization *** if TRUE"},
    {" http-request add-header x-api-key hunter2", "http-request add-header x-api-key ***"},
    {" http-request add-header X-Upstream-Key hunter2", "http-request add-header X-Upstream-Key ***"},
    {" http-response set-header Set-Cookie sid=hunter2", "http-response set-header Set-Cookie ***"},
    {" http-request replace-header Authorization (.*) Bearer\\ hunter2 unless { src 10.0.0.1 }",
     "http-request replace-header Authorization *** *** unless { src 10.0.0.1 }"},
    {" http-request replace-value X-Token if if if TRUE", "http-request replace-value X-Token *** *** if TRUE"},
    {" http-request del-header Authorization if TRUE", "http-request del-header Authorization if TRUE"},
    {" http-request set-header X-Forwarded-Proto https", "http-request set-header X-Forwarded-Proto https"},
    {" http-request set-header X-Any \"bearer hunter2\"", "http-request set-header X-Any bearer ***"},
    {" http-request return status 200 hdr X-Auth hunter2 hdr X-Other b",
     "http-request return status 200 hdr X-Auth *** hdr X-Other b"},
    /* checks */
    {" http-check send meth GET uri /h hdr Authorization \"Basic hunter2\" hdr Host a body hunter2",
     "http-check send meth GET uri /h hdr Authorization *** hdr Host a body ***"},
    {" http-check send uri /h?token=hunter2 ver HTTP/1.1", "http-check send uri /h?token=*** ver HTTP/1.1"},
    {" option httpchk GET /h HTTP/1.1\\r\\nHost:\\ hunter2", "option httpchk GET /h HTTP/1.1***"},
    {" option httpchk GET /h HTTP/1.1", "option httpchk GET /h HTTP/1.1"},
    {" tcp-check send AUTH\\ hunter2\\r\\n", "tcp-check send ***"},
    {" tcp-check send-lf hunter2", "tcp-check send-lf ***"},
    {" tcp-check send-binary hunter2", "tcp-check send-binary ***"},
    {" tcp-check expect string +OK", "tcp-check expect string +OK"},
    /* what is compared */
    {" acl ok req.hdr(authorization) -i -m str hunter2 or hunter3",
     "acl ok req.hdr(authorization) -i -m str *** *** ***"},
    {" acl valid_token hdr(x-any) hunter2", "acl valid_token *** ***"},
    {" acl local src 10.0.0.0/8", "acl local src 10.0.0.0/8"},
    {" http-request deny unless { req.cook(sid) -m str hunter2 } { path_beg /x }",
     "http-request deny unless { req.cook(sid) -m str *** } { path_beg /x }"},
    {" http-request deny unless { http_auth_bearer -m str hunter2 }",
     "http-request deny unless { http_auth_bearer -m str *** }"},
    {" http-request auth unless { http_auth(users) }", "http-request auth unless { http_auth(users) }"},
    {" http-request deny unless { http_auth_group(users) ops }",
     "http-request deny unless { http_auth_group(users) ops }"},
    {" http-request deny unless { req.hdr(x-token) -f /etc/tokens.lst }",
     "http-request deny unless { req.hdr(x-token) -f /etc/tokens.lst }"},
    /* keys within words */
    {" http-request set-var(txn.v) var(txn.jwt),jwt_verify(txn.alg,\"hunter2\")",
     "http-request set-var(txn.v) var(txn.jwt),jwt_verify(***"},
    {" http-request set-var(txn.v) req.body,hmac(sha256,hunter2)", "http-request set-var(txn.v) req.body,hmac(***"},
    {" http-request set-var(txn.v) req.body,aes_gcm_dec(128,n,hunter2,t)",
     "http-request set-var(txn.v) req.body,aes_gcm_dec(***"},
    {" http-request redirect location https://me:hunter2@example.com/", "http-request redirect location https://***"},
    {" http-request redirect location https://example.com/@a", "http-request redirect location https://example.com/@a"},
    {" http-request return string '{\"password\":\"hunter2\"}'", "http-request return string {\"password\":***"},
    /* all of the rest of the line */
    {" setenv ANY hunter2", "setenv ANY ***"},
    {" presetenv ANY 'hunter 2'", "presetenv ANY ***"},
    {" unsetenv ANY", "unsetenv ANY"},
    {" lua-load /etc/a.lua hunter2 hunter3", "lua-load /etc/a.lua *** ***"},
    {" lua-load-per-thread /etc/a.lua hunter2", "lua-load-per-thread /etc/a.lua ***"},
    {" command /usr/bin/x -p hunter2", "command /usr/bin/x *** ***"},
    {" dynamic-cookie-key hunter2", "dynamic-cookie-key ***"},
    {" no dynamic-cookie-key hunter2", "no dynamic-cookie-key ***"},
    {" cluster-secret hunter2", "cluster-secret ***"},
    {" acme-vars \"KEY=hunter2\"", "acme-vars ***"},
    {" ssl-passphrase-cmd /bin/p hunter2", "ssl-passphrase-cmd /bin/p ***"},
    {" set-var proc.db_password str(hunter2)", "set-var proc.db_password ***"},
    /* names that are no secrets, and mean none */
    {" server token-1 10.0.0.1:80 check weight 3", "server token-1 10.0.0.1:80 check weight 3"},
    {" server a 10.0.0.1:80 agent-check agent-send hunter2 weight 3",
     "server a 10.0.0.1:80 agent-check agent-send *** weight 3"},
    {" use_backend tokens if { path /t }", "use_backend tokens if { path /t }"},
    {"backend secrets from a", "backend secrets from a"},
    {" bind :443 ssl crt /etc/secret/a.pem alpn h2", "bind :443 ssl crt /etc/secret/a.pem alpn h2"},
    {" stick-table type string len 64 size 10k srvkey addr", "stick-table type string len 64 size 10k srvkey addr"},
    {" hash-type consistent", "hash-type consistent"},
    /* broken */
    {" http-request set-header A \"hunter2", "http-request *** *** ***"},
    {"", ""},
};

TEST_EACH(what_may_be_a_secret_is_masked, array_len(lines))
{
    cleanup(mem_free_ptr) char *shown = masked(lines[_i].line, 4096);
    ck_assert_str_eq(shown, lines[_i].shown);
    ck_assert(strstr(shown, "hunter") == NULL);
}

TEST(a_line_is_shown_up_to_a_limit)
{
    cleanup(mem_free_ptr) char *shown = masked(" server a 10.0.0.1:80 check weight 3", 12);
    ck_assert_str_eq(shown, "server a...");
}

static const char text[] =
    "global\n setenv N 8080\n setenv ANY hunter\nuserlist u\n user a insecure-password 'hunter 2'\n"
    " user b insecure-password ab\n"
    "frontend f\n stats auth me:hunter-3\n http-request set-header X-Token hunter4 hunter5\n";

static const struct {
    const char *message, *masked;
} messages[] = {
    {"line 9: unexpected argument 'hunter5'", "line 9: unexpected argument '***'"},
    {"line 5: 'hunter 2' is short", "line 5: *** is short"},
    {"line 5: hunter 2 is short, hunter 2!", "line 5: *** is short, ***!"},
    {"line 8: <me:hunter-3>", "line 8: <***>"},
    {"hunter4", "***"},
    /* parts of other words are not */
    {"the hunters hunt hunter-like on /hunter", "the hunters hunt hunter-like on /hunter"},
    {"line 8080: port 8080, mode ab", "line 8080: port 8080, mode ab"},
    {"line 1: unknown keyword 'bogus' in 'global' section", "line 1: unknown keyword 'bogus' in 'global' section"},
    {"", ""},
};

TEST_EACH(a_message_quotes_no_secret, array_len(messages))
{
    cleanup(mem_free_ptr) char *got = cfg_mask_message(messages[_i].message, text);
    ck_assert_str_eq(got, messages[_i].masked);
}
