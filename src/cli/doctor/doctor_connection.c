#include "cli/doctor/doctor_connection.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/rfc3339.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/doctor/doctor_report.h"

#define DAY_S 86400
#define SOON_DAYS 14

/* X509_V_ERR_... of OpenSSL, RFC 5280 behind them; the numbers are part of its interface. */
enum { VERIFY_ISSUER = 2, VERIFY_NOT_YET = 9, VERIFY_EXPIRED = 10, VERIFY_NAME = 62, VERIFY_ADDRESS = 64 };

enum { ID_NAME, ID_CONNECTION, ID_TLS, ID_CERTIFICATES, ID_ANSWER, IDS };

static const char *id_of(const struct doctor_peer *p, int which)
{
    static const char *const ids[][IDS] = {
        [DOCTOR_PEER_KUBERNETES] = {"kubernetes.name", "kubernetes.connection", "kubernetes.tls",
                                    "kubernetes.certificates", "kubernetes.answer"},
        [DOCTOR_PEER_HAPROXY] = {"haproxy.name", "haproxy.connection", "haproxy.tls", "haproxy.certificates",
                                 "haproxy.answer"},
        [DOCTOR_PEER_ETCD] = {"etcd.name", "etcd.connection", "etcd.tls", "etcd.certificates", "etcd.answer"}};
    return ids[p->kind][which];
}

/* "api.example.com" of "https://api.example.com:6443/prefix". Allocates. */
static char *host_of(const char *url)
{
    const char *at = strstr(url, "://");
    at = at != NULL ? at + 3 : url;
    if (*at == '[')
        return mem_strndup(at + 1, strcspn(at + 1, "]"));
    return mem_strndup(at, strcspn(at, ":/"));
}

/* "api.example.com:6443", as openssl s_client takes it. Allocates. */
static char *place_of(const char *url)
{
    const char *at = strstr(url, "://");
    at = at != NULL ? at + 3 : url;
    size_t len = strcspn(at, "/");
    cleanup(mem_free_ptr) char *place = mem_strndup(at, len);
    const char *close = strchr(place, ']');
    bool has_port = strchr(close != NULL ? close : place, ':') != NULL;
    return mem_printf("%s%s", place, has_port ? "" : ":443");
}

/* ---- what is wrong ---- */

/* Without the "GET URL: " in front: the section is about that URL. */
static const char *bare(const struct error *error)
{
    const char *behind = str_has_prefix(error->message, "GET ") ? strstr(error->message, ": ") : NULL;
    return behind != NULL ? behind + 2 : error->message;
}

static void fail_name(const struct doctor_peer *p, const struct error *error, struct doctor_section *s)
{
    cleanup(mem_free_ptr) char *host = host_of(p->url);
    struct doctor_check *c = doctor_fail(s, id_of(p, ID_NAME), "name", "%s: %s", host, bare(error));
    doctor_why(c, "%s",
               p->proxy != NULL ? p->proxy : "the name is wrong, or this machine's DNS server does not know it");
    doctor_fix(c, "resolve it here, then correct the URL or the DNS", "getent ahosts %s", host);
}

static const char *why_no_connection(const struct doctor_peer *p, int os_error)
{
    switch (os_error) {
    case ECONNREFUSED:
    case ENOENT:
        return p->refused_why;
    case EACCES:
    case EPERM:
        return p->unix_socket != NULL ? "this user may not open that socket"
                                      : "a rule of this machine forbids the connection";
    case ENETUNREACH:
    case EHOSTUNREACH:
        return "this machine has no route to that address";
    default:
        return "a firewall or a NetworkPolicy drops the packets, or the address is wrong";
    }
}

static void fail_connection(const struct doctor_peer *p, const struct http_connection *got, const struct error *error,
                            struct doctor_section *s)
{
    struct doctor_check *c = doctor_fail(s, id_of(p, ID_CONNECTION), "connection", "%s", bare(error));
    doctor_why(c, "%s%s%s", why_no_connection(p, got->os_error), p->proxy != NULL ? "; " : "",
               p->proxy != NULL ? p->proxy : "");
    if (got->os_error == EACCES && p->unix_socket != NULL)
        doctor_fix(c, "see who owns it", "ls -l %s; id", p->unix_socket);
    else if (p->look != NULL)
        doctor_fix(c, "start it, or correct the URL; to see whether it runs and where it listens", "%s", p->look);
    if (p->unix_socket == NULL && got->os_error != ECONNREFUSED)
        doctor_fix(c, "try it from here with curl", "curl -sv -m 5 -o /dev/null %s", p->url);
}

static void add_fix_of_tls(const struct doctor_peer *p, long verify, struct doctor_check *c)
{
    cleanup(mem_free_ptr) char *place = place_of(p->url);
    if (p->spiffe) {
        doctor_why(c, "it must have an X.509 SVID of a trust domain whose bundle the Workload API gives, and the ID of "
                      "SPIFFE_PEER_ID");
        doctor_fix(c, "see the SPIFFE ID that it shows, and who signed it",
                   "openssl s_client -showcerts -connect %s </dev/null | openssl x509 -noout -issuer -dates -ext "
                   "subjectAltName",
                   place);
        return;
    }
    switch (verify) {
    case VERIFY_EXPIRED:
    case VERIFY_NOT_YET:
        doctor_why(c, "%s",
                   verify == VERIFY_EXPIRED ? "its certificate has expired, or this machine's clock is wrong"
                                            : "its certificate is not valid yet, or this machine's clock is wrong");
        doctor_fix(c, "see its dates, and renew it",
                   "openssl s_client -connect %s </dev/null | openssl x509 -noout -dates; date -u", place);
        return;
    case 0:
    case VERIFY_NAME:
    case VERIFY_ADDRESS:
        doctor_why(c, "its certificate is for other names than the one in the URL");
        doctor_fix(c, "see which names it is for",
                   "openssl s_client -connect %s </dev/null | openssl x509 -noout -ext subjectAltName", place);
        doctor_advice(c, "use one of these names in the URL%s%s", p->name_setting != NULL ? ", or set it in " : "",
                      p->name_setting != NULL ? p->name_setting : "");
        return;
    default:
        doctor_why(c, "its certificate is signed by a CA that is not trusted here");
        doctor_advice(c, "name the CA that signed it in %s", p->ca_setting);
        doctor_fix(c, "see which CA signed it", "openssl s_client -showcerts -connect %s </dev/null", place);
    }
}

static void fail_tls(const struct doctor_peer *p, const struct http_connection *got, const struct error *error,
                     struct doctor_section *s)
{
    struct doctor_check *c = doctor_fail(s, id_of(p, ID_TLS), "TLS", "%s", bare(error));
    if (error->kind == ERROR_INVALID) {
        add_fix_of_tls(p, got->verify, c);
        return;
    }
    doctor_why(c, "the server speaks no TLS, or no version that haproxy-k8s-sync supports");
    doctor_advice(c, "if that port serves plain HTTP, write http:// in the URL; otherwise see the server's log");
}

/* ---- certificates ---- */

static void add_end(struct buf *text, const char *whose, int64_t end_s, int64_t now_s)
{
    char end[RFC3339_BYTES];
    if (end_s > INT64_MAX / 1000000) /* there is none */
        return;
    rfc3339_format(end_s * 1000000, 0, end);
    int64_t days = (end_s - now_s) / DAY_S;
    buf_printf(text, "%s%s %s %.10s", text->len > 0 ? ", " : "", whose, end_s > now_s ? "until" : "expired on", end);
    if (end_s > now_s && days <= 90)
        buf_printf(text, " (%" PRId64 " day%s)", days, days == 1 ? "" : "s");
}

static void report_certificates(const struct doctor_peer *p, struct doctor_section *s)
{
    cleanup(buf_fini) struct buf text = {0};
    add_end(&text, "server's", p->server_s, p->now_s);
    add_end(&text, "client's", p->client_s, p->now_s);
    add_end(&text, "CA", p->ca_s, p->now_s);
    int64_t end = p->ca_s < p->client_s ? p->ca_s : p->client_s; /* the first of them */
    if (end > p->server_s)
        end = p->server_s;
    if (text.len == 0)
        return;
    if (end - p->now_s > SOON_DAYS * DAY_S) {
        doctor_ok(s, id_of(p, ID_CERTIFICATES), "certificates", "%s", buf_str(&text));
        return;
    }
    struct doctor_check *c = doctor_add(s, end > p->now_s ? CHECK_WARN : CHECK_FAIL, id_of(p, ID_CERTIFICATES),
                                        "certificates", "%s", buf_str(&text));
    doctor_why(c, "%s",
               end > p->now_s ? "connections fail when the first of them expires"
                              : "an expired certificate is not trusted");
    doctor_advice(c, "renew it; a replaced file is read without a restart");
}

/* ---- all of it ---- */

static void ok_connection(const struct doctor_peer *p, const struct http_connection *got, struct doctor_section *s)
{
    char took[32] = "";
    if (p->unix_socket != NULL) {
        doctor_ok(s, id_of(p, ID_CONNECTION), "connection", "unix socket %s", p->unix_socket);
        return;
    }
    if (got->took_us > 0)
        snprintf(took, sizeof(took), ", %.1f ms", (double)got->took_us / 1000.0);
    doctor_ok(s, id_of(p, ID_CONNECTION), "connection", "%s%s%s%s", got->peer[0] != '\0' ? got->peer : p->url, took,
              p->proxy != NULL ? "; " : "", p->proxy != NULL ? p->proxy : "");
}

bool doctor_connection_report(const struct doctor_peer *p, const struct http_connection *c, const struct error *error,
                              struct doctor_section *s)
{
    bool secure = str_has_prefix(p->url, "https://") && p->unix_socket == NULL;
    if (error == NULL || c->reached == HTTP_REACHED_TLS || (c->reached == HTTP_REACHED_PEER && secure)) {
        ok_connection(p, c, s);
    } else if (c->reached == HTTP_REACHED_NOTHING && p->unix_socket == NULL) {
        fail_name(p, error, s);
    } else {
        fail_connection(p, c, error, s);
    }
    if (secure && error != NULL && c->reached == HTTP_REACHED_PEER)
        fail_tls(p, c, error, s);
    else if (secure && (error == NULL || c->reached == HTTP_REACHED_TLS) && p->insecure)
        doctor_warn(s, id_of(p, ID_TLS), "TLS", "encrypted, but the certificate is not verified (%s)", p->ca_setting);
    else if (secure && (error == NULL || c->reached == HTTP_REACHED_TLS))
        doctor_ok(s, id_of(p, ID_TLS), "TLS", "certificate verified");
    if (secure)
        report_certificates(p, s);
    if (error != NULL && c->reached == HTTP_REACHED_TLS) {
        struct doctor_check *broken =
            doctor_fail(s, id_of(p, ID_ANSWER), "answer", "connected, but no answer came: %s", bare(error));
        if (secure && p->cert_setting != NULL)
            doctor_advice(broken, "where the server asks for a client certificate, set %s", p->cert_setting);
        doctor_advice(broken, "see the server's log: it accepted the request and did not answer");
    }
    return error == NULL;
}
