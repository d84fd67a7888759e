#include "cli/doctor/doctor_connection.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>

#include "base/buf.h"
#include "base/rfc3339.h"
#include "cli/doctor/doctor_report.h"

#define DAY_S 86400
#define SOON_DAYS 14
#define CLOCK_WARN_MS 2000
#define CLOCK_FAIL_MS 30000

/* X509_V_ERR_... of OpenSSL, RFC 5280 behind them; the numbers are part of its interface. */
enum { VERIFY_NOT_YET = 9, VERIFY_EXPIRED = 10, VERIFY_NAME = 62, VERIFY_ADDRESS = 64 };

enum { ID_NAME, ID_CONNECTION, ID_TLS, ID_CERTIFICATES, ID_ANSWER, IDS };

static const char *const ids[][IDS] = {
    [DOCTOR_PEER_KUBERNETES] = {"kubernetes.name", "kubernetes.connection", "kubernetes.tls", "kubernetes.certificates",
                                "kubernetes.answer"},
    [DOCTOR_PEER_HAPROXY] = {"haproxy.name", "haproxy.connection", "haproxy.tls", "haproxy.certificates",
                             "haproxy.answer"},
    [DOCTOR_PEER_ETCD] = {"etcd.name", "etcd.connection", "etcd.tls", "etcd.certificates", "etcd.answer"}};

/* ---- words ---- */

static void set_words(const struct doctor_peer *p, const struct http_connection *got, const struct error *error,
                      struct doctor_section *s)
{
    const char *scheme = strstr(p->url, "://"), *host = scheme != NULL ? scheme + 3 : p->url, *proxy = p->proxy;
    bool bracketed = *host == '[';
    const char *port = bracketed ? strchr(host, ']') : host;
    port = port != NULL ? strchr(port, ':') : NULL;
    size_t place = strcspn(host, "/");
    doctor_set(s, "url", p->url);
    doctor_word(s, "host", "%.*s", (int)strcspn(host + bracketed, bracketed ? "]" : ":/"), host + bracketed);
    /* As openssl s_client takes it. */
    doctor_word(s, "place", "%.*s%s", (int)place, host, port != NULL && port < host + place ? "" : ":443");
    /* Without the "GET URL: " in front: the section is about that URL. */
    const char *said = error != NULL ? error->message : "",
               *behind = str_has_prefix(said, "GET ") ? strstr(said, ": ") : NULL;
    doctor_sets(
        s, {"error", behind != NULL ? behind + 2 : said}, {"socket", p->unix_socket},
        {"no-name", proxy != NULL ? proxy : "the name is wrong, or this machine's DNS server does not know it"});
    doctor_set_if(s, "and-proxy", "; ", proxy, "");
    doctor_sets(s, {"listeners", p->shown_by}, {"ca-setting", p->ca_setting});
    doctor_set_if(s, "or-name-setting", ", or set it in ", p->name_setting, "");
    doctor_sets(s, {"cert-setting", p->cert_setting}, {"peer", got->peer[0] != '\0' ? got->peer : p->url},
                {"took", ""});
    if (got->took_us > 0)
        doctor_word(s, "took", ", %.1f ms", (double)got->took_us / 1000.0);
}

/* ---- what is wrong ---- */

static void fail_connection(const struct doctor_peer *p, int os_error, struct doctor_section *s)
{
    bool local = p->unix_socket != NULL, refused = os_error == ECONNREFUSED || os_error == ENOENT;
    bool forbidden = os_error == EACCES || os_error == EPERM;
    bool no_route = os_error == ENETUNREACH || os_error == EHOSTUNREACH;
    doctor_set(s, "cause",
               refused              ? p->refused_why
               : forbidden && local ? "this user may not open that socket"
               : forbidden          ? "a rule of this machine forbids the connection"
               : no_route           ? "this machine has no route to that address"
                                    : "a firewall or a NetworkPolicy drops the packets, or the address is wrong");
    doctor_say(s, CHECK_FAIL, ids[p->kind][ID_CONNECTION], "connection", "{error}\nwhy {cause}{and-proxy}");
    if (os_error == EACCES && local)
        doctor_help(s, "fix see who owns it:\n  ls -l {socket}; id");
    else if (p->shown_by != NULL)
        doctor_help(s, "fix start it, or correct the URL; to see whether it runs and where it listens:\n  {listeners}");
    if (!local && os_error != ECONNREFUSED)
        doctor_help(s, "or try it from here with curl:\n  curl -sv -m 5 -o /dev/null {url}");
}

static void fail_tls(const struct doctor_peer *p, long verify, const struct error *error, struct doctor_section *s)
{
    bool expired = verify == VERIFY_EXPIRED;
    doctor_set(s, "since", expired ? "has expired" : "is not valid yet");
    const struct doctor_row rows[] = {
        {error->kind != ERROR_INVALID, CHECK_FAIL,
         "{error}\n"
         "why the server speaks no TLS, or no version that haproxy-k8s-sync supports\n"
         "fix if that port serves plain HTTP, write http:// in the URL; otherwise see the server's log"},
        {p->spiffe, CHECK_FAIL,
         "{error}\n"
         "why it must have an X.509 SVID of a trust domain whose bundle the Workload API gives, and the ID of "
         "SPIFFE_PEER_ID\n"
         "fix see the SPIFFE ID that it shows, and who signed it:\n"
         "  openssl s_client -showcerts -connect {place} </dev/null | openssl x509 -noout -issuer -dates -ext "
         "subjectAltName"},
        {expired || verify == VERIFY_NOT_YET, CHECK_FAIL,
         "{error}\n"
         "why its certificate {since}, or this machine's clock is wrong\n"
         "fix see its dates, and renew it:\n"
         "  openssl s_client -connect {place} </dev/null | openssl x509 -noout -dates; date -u"},
        {verify == 0 || verify == VERIFY_NAME || verify == VERIFY_ADDRESS, CHECK_FAIL,
         "{error}\n"
         "why its certificate is for other names than the one in the URL\n"
         "fix see which names it is for:\n"
         "  openssl s_client -connect {place} </dev/null | openssl x509 -noout -ext subjectAltName\n"
         "or use one of these names in the URL{or-name-setting}"},
        {true, CHECK_FAIL,
         "{error}\n"
         "why its certificate is signed by a CA that is not trusted here\n"
         "fix name the CA that signed it in {ca-setting}\n"
         "or see which CA signed it:\n  openssl s_client -showcerts -connect {place} </dev/null"},
    };
    doctor_first(s, ids[p->kind][ID_TLS], "TLS", rows);
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
    doctor_set(s, "ends", buf_str(&text));
    const struct doctor_row rows[] = {
        {end - p->now_s > SOON_DAYS * DAY_S, CHECK_OK, "{ends}"},
        {end > p->now_s, CHECK_WARN,
         "{ends}\n"
         "why connections fail when the first of them expires\n"
         "fix renew it; a replaced file is read without a restart"},
        {true, CHECK_FAIL,
         "{ends}\n"
         "why an expired certificate is not trusted\n"
         "fix renew it; a replaced file is read without a restart"},
    };
    if (text.len > 0)
        doctor_first(s, ids[p->kind][ID_CERTIFICATES], "certificates", rows);
}

/* ---- all of it ---- */

bool doctor_connection_report(const struct doctor_peer *p, const struct http_connection *c, const struct error *error,
                              struct doctor_section *s)
{
    const char *const *id = ids[p->kind];
    bool secure = str_has_prefix(p->url, "https://") && p->unix_socket == NULL, failed = error != NULL;
    bool verified = !failed || c->reached == HTTP_REACHED_TLS;
    set_words(p, c, error, s);
    if (verified || (c->reached == HTTP_REACHED_PEER && secure))
        doctor_say(s, CHECK_OK, id[ID_CONNECTION], "connection",
                   p->unix_socket != NULL ? "unix socket {socket}" : "{peer}{took}{and-proxy}");
    else if (c->reached == HTTP_REACHED_NOTHING && p->unix_socket == NULL)
        doctor_say(s, CHECK_FAIL, id[ID_NAME], "name",
                   "{host}: {error}\nwhy {no-name}\n"
                   "fix resolve it here, then correct the URL or the DNS:\n  getent ahosts {host}");
    else
        fail_connection(p, c->os_error, s);
    if (secure && failed && c->reached == HTTP_REACHED_PEER)
        fail_tls(p, c->verify, error, s);
    else if (secure && verified)
        doctor_say(s, p->insecure ? CHECK_WARN : CHECK_OK, id[ID_TLS], "TLS",
                   p->insecure ? "encrypted, but the certificate is not verified ({ca-setting})"
                               : "certificate verified");
    if (secure)
        report_certificates(p, s);
    if (failed && verified) {
        doctor_say(s, CHECK_FAIL, id[ID_ANSWER], "answer", "connected, but no answer came: {error}");
        if (secure && p->cert_setting != NULL)
            doctor_help(s, "fix where the server asks for a client certificate, set {cert-setting}");
        doctor_help(s, "or see the server's log: it accepted the connection and did not answer");
    }
    return !failed;
}

/* ---- clocks ---- */

struct doctor_skew doctor_skew_of(const char *date, uint64_t now_ms, uint64_t took_us)
{
    struct tm tm = {0};
    /* IMF-fixdate of RFC 9110 5.6.7, which is what servers send. */
    const char *end = date != NULL ? strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &tm) : NULL;
    if (end == NULL || *end != '\0')
        return (struct doctor_skew){0};
    /* The server wrote it between request and answer, at some time in the second that it names. */
    int64_t theirs_ms = (int64_t)timegm(&tm) * 1000;
    return (struct doctor_skew){.known = true,
                                .least_ms = (int64_t)now_ms - (int64_t)(took_us / 1000) - 1 - (theirs_ms + 1000),
                                .most_ms = (int64_t)now_ms - theirs_ms};
}

int64_t doctor_skew_ms(const struct doctor_skew *k)
{
    return k->least_ms > 0 ? k->least_ms : k->most_ms < 0 ? k->most_ms : 0;
}

void doctor_clock_report_skew(const char *id, const char *label, const char *whose, const struct doctor_skew *k,
                              struct doctor_section *s)
{
    int64_t skew = k->known ? doctor_skew_ms(k) : 0;
    doctor_set(s, "whose", whose);
    doctor_word(s, "seconds", "%lld", llabs((long long)skew) / 1000);
    doctor_set(s, "direction", skew > 0 ? "ahead of" : "behind");
    const struct doctor_row rows[] = {
        {!k->known, CHECK_SKIP, "no answer from {whose} has a Date header"},
        {llabs(skew) <= CLOCK_WARN_MS, CHECK_OK, "the clock of {whose} is within 2 s of this machine's"},
        {true, llabs(skew) > CLOCK_FAIL_MS ? CHECK_FAIL : CHECK_WARN,
         "this machine's clock is {seconds} s or more {direction} that of {whose}\n"
         "why one side may reject certificates and tokens that are new or about to expire, and the times in their logs "
         "differ; leader election does not depend on it\n"
         "fix correct the clock that is wrong:\n  date -u; timedatectl set-ntp true"},
    };
    doctor_first(s, id, label, rows);
}

enum doctor_synchronised doctor_clock_synchronised(void)
{
    struct timex t = {.modes = 0};
    int state = adjtimex(&t);
    if (state < 0)
        return DOCTOR_SYNC_UNKNOWN;
    return state == TIME_ERROR || (t.status & STA_UNSYNC) != 0 ? DOCTOR_SYNC_NO : DOCTOR_SYNC_YES;
}

void doctor_clock_report_kernel(enum doctor_synchronised is, struct doctor_section *s)
{
    const struct doctor_row rows[] = {
        {is == DOCTOR_SYNC_YES, CHECK_OK, "synchronised with a time server"},
        {is == DOCTOR_SYNC_UNKNOWN, CHECK_SKIP, "the kernel does not say whether the clock is synchronised"},
        {true, CHECK_WARN,
         "not synchronised with a time server\n"
         "why the clock drifts, and certificates and tokens are checked against it\n"
         "fix on this machine (in a pod: on its node):\n  timedatectl set-ntp true"},
    };
    doctor_first(s, "clock.synchronised", "this machine", rows);
}
