/* cli/doctor/doctor_connection: each way in which a connection fails has its own line, cause and fix. */
#include "cli/doctor/doctor_connection.h"

#include <errno.h>

#include "doctor_text.h"

#define NOW 1795305707
#define DAY 86400

static struct doctor_peer peer(const char *url)
{
    return (struct doctor_peer){.kind = DOCTOR_PEER_KUBERNETES,
                                .url = url,
                                .ca_setting = "CA_SETTING",
                                .name_setting = "NAME_SETTING",
                                .refused_why = "nothing listens there",
                                .shown_by = "LOOK",
                                .now_s = NOW,
                                .ca_s = INT64_MAX,
                                .client_s = INT64_MAX,
                                .server_s = INT64_MAX};
}

#define AT(how_far, ...)                               \
    {                                                  \
        .reached = HTTP_REACHED_##how_far, __VA_ARGS__ \
    }

static const struct {
    const char *url, *socket;
    struct http_connection got;
    enum error_kind kind; /* NONE: there was an answer */
    const char *id;       /* that fails; NULL: none */
    const char *says, *fixes;
} rows[] = {
    {"https://10.0.0.1:6443", NULL, AT(TLS, .peer = "10.0.0.1:6443", .took_us = 1240), ERROR_NONE, NULL,
     "ok connection: 10.0.0.1:6443, 1.2 ms\nok TLS: certificate verified\n", ""},
    {"http://h:80", NULL, AT(TLS), ERROR_NONE, NULL, "ok connection: http://h:80\n", ""},
    {"http://localhost", "/run/d.sock", AT(TLS), ERROR_NONE, NULL, "ok connection: unix socket /run/d.sock\n", ""},
    {"https://api.x:6443/p", NULL, AT(NOTHING), ERROR_RETRY, "kubernetes.name", "fail name: api.x: trouble\n",
     "getent ahosts api.x\n"},
    {"http://h:80", NULL, AT(NAME, .os_error = ECONNREFUSED), ERROR_RETRY, "kubernetes.connection",
     "fail connection: trouble\n  why nothing listens there\n", "LOOK\n"},
    {"http://h:80", NULL, AT(NAME), ERROR_RETRY, "kubernetes.connection", "why a firewall",
     "curl -sv -m 5 -o /dev/null http://h:80\n"},
    {"http://h:80", NULL, AT(NAME, .os_error = EHOSTUNREACH), ERROR_RETRY, "kubernetes.connection",
     "why this machine has no route to that address", "curl"},
    {"http://localhost", "/s", AT(NOTHING, .os_error = ENOENT), ERROR_RETRY, "kubernetes.connection",
     "why nothing listens there", "LOOK\n"},
    {"http://localhost", "/s", AT(NOTHING, .os_error = EACCES), ERROR_RETRY, "kubernetes.connection",
     "this user may not", "ls -l /s; id\n"},
    {"https://h", NULL, AT(PEER, .verify = 20), ERROR_INVALID, "kubernetes.tls",
     "ok connection: https://h\nfail TLS: trouble\n  why its certificate is signed by a CA that is not trusted here",
     "openssl s_client -showcerts -connect h:443"},
    {"https://h:1", NULL, AT(PEER, .verify = 20), ERROR_INVALID, "kubernetes.tls", "", "in CA_SETTING\n"},
    {"https://h:1", NULL, AT(PEER, .verify = 10), ERROR_INVALID, "kubernetes.tls",
     "its certificate has expired, or this machine's clock is wrong",
     "-connect h:1 </dev/null | openssl x509 -noout -dates"},
    {"https://h:1", NULL, AT(PEER, .verify = 9), ERROR_INVALID, "kubernetes.tls", "its certificate is not valid yet",
     "date -u"},
    {"https://[fd00::1]", NULL, AT(PEER), ERROR_INVALID, "kubernetes.tls", "for other names",
     "-connect [fd00::1]:443 "},
    {"https://h:1", NULL, AT(PEER, .verify = 62), ERROR_INVALID, "kubernetes.tls", "for other names", "NAME_SETTING"},
    {"https://h:1", NULL, AT(PEER), ERROR_RETRY, "kubernetes.tls", "speaks no TLS", "http:// in the URL"},
    {"https://h:1", NULL, AT(TLS), ERROR_RETRY, "kubernetes.answer",
     "fail answer: connected, but no answer came: trouble\n", ""},
    {"http://h:1", NULL, AT(TLS), ERROR_RETRY, "kubernetes.answer", "fail answer", ""},
};

TEST_EACH(a_connection, array_len(rows))
{
    cleanup(doctored_fini) struct doctored d = doctored_new();
    struct error err = {.kind = rows[_i].kind, .message = "GET http://h/version: trouble"};
    struct doctor_peer p = peer(rows[_i].url);
    p.unix_socket = rows[_i].socket;
    bool through = doctor_connection_report(&p, &rows[_i].got, err.kind != ERROR_NONE ? &err : NULL, d.section);
    ck_assert(through == (rows[_i].kind == ERROR_NONE));
    ck_assert_uint_eq(doctor_count(&d.report, CHECK_FAIL), rows[_i].id != NULL);
    for (size_t i = 0; i < d.section->check_count && rows[_i].id != NULL; i++)
        if (d.section->checks[i]->is.state == CHECK_FAIL)
            ck_assert_str_eq(d.section->checks[i]->id, rows[_i].id);
    expect_text(&d, rows[_i].says);
    expect_text(&d, rows[_i].fixes);
}

static const struct {
    int64_t ca, client, server; /* days from now; 0: none */
    enum check_state mark;
    const char *says;
} ends[] = {
    {3650, 0, 91, CHECK_OK, "ok certificates: server's until 2027-02-21, CA until 2036-11-19\n"},
    {3650, 30, 365, CHECK_OK, "client's until 2026-12-22 (30 days)"},
    {3650, 0, 15, CHECK_OK, "(15 days)"},
    {3650, 0, 14, CHECK_WARN, "server's until 2026-12-06 (14 days)"},
    {1, 0, 300, CHECK_WARN, "CA until 2026-11-23 (1 day)\n"},
    {300, -1, 300, CHECK_FAIL, "client's expired on 2026-11-21"},
};

TEST_EACH(certificates, array_len(ends))
{
    cleanup(doctored_fini) struct doctored d = doctored_new();
    struct http_connection got = {.reached = HTTP_REACHED_TLS};
    struct doctor_peer p = peer("https://h:1");
    p.ca_s = ends[_i].ca != 0 ? NOW + ends[_i].ca * DAY : INT64_MAX;
    p.client_s = ends[_i].client != 0 ? NOW + ends[_i].client * DAY : INT64_MAX;
    p.server_s = ends[_i].server != 0 ? NOW + ends[_i].server * DAY : INT64_MAX;
    ck_assert(doctor_connection_report(&p, &got, NULL, d.section));
    expect_mark(&d, "kubernetes.certificates", ends[_i].mark);
    expect_text(&d, ends[_i].says);
}

TEST(remarks)
{
    cleanup(doctored_fini) struct doctored d = doctored_new();
    struct http_connection got = {.reached = HTTP_REACHED_TLS, .peer = "10.1.1.1:3128"};
    struct doctor_peer p = peer("https://h:1");
    p.kind = DOCTOR_PEER_HAPROXY;
    p.proxy = "through a proxy";
    p.insecure = true;
    ck_assert(doctor_connection_report(&p, &got, NULL, d.section));
    expect_text(&d, "ok connection: 10.1.1.1:3128; through a proxy\n");
    expect_text(&d, "warn TLS: encrypted, but the certificate is not verified (CA_SETTING)\n");
    expect_mark(&d, "haproxy.connection", CHECK_OK);
}
