#include "cli/doctor/doctor_health.h"

#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/doctor/doctor_report.h"
#include "cli/inspect_report.h"
#include "haproxy/served.h"

#define NAMES_SHOWN 5

/* By how far a check came (HAProxy's management guide, 9.1, check_status); the first whose name the word begins with, and
 * whose text is in what the check says beside it. */
static const struct cause {
    const char *check, *detail, *text;
} causes[] = {
    {"L4TOUT", "",
     "the node does not answer: a firewall or security group drops the connection, or HAProxy has no route to that "
     "address"},
    {"L4CON", "oute to host",
     "there is no way to the node: a firewall rejects the connection, or the address is wrong"},
    {"L4CON", "",
     "the node answers, but nothing listens at that port: no ready endpoint is on it (externalTrafficPolicy Local), or "
     "the port is wrong (HAPROXY_BACKEND_PORT)"},
    {"L6", "", "TLS of the check fails: the port speaks no TLS, or expects the PROXY protocol before it"},
    {"L7STS", "",
     "the request of the check gets another status than it expects: its path or Host (HAPROXY_HEALTH_CHECK, option "
     "httpchk)"},
    {"L7TOUT", "",
     "the port takes the connection and does not answer the check: it may wait for the PROXY protocol "
     "(HAPROXY_SEND_PROXY_V2)"},
    {"L7", "",
     "the answer is not of the check's protocol (HAPROXY_ADV_CHECK): only one side uses the PROXY protocol "
     "(HAPROXY_SEND_PROXY_V2) or TLS"},
    {"SOCKERR", "",
     "HAProxy gets no socket for its checks: a limit (maxconn, ulimit-n), or the address to connect from"},
};

static const char usual[] =
    "the node's port does not answer HAProxy, or not this kind of check (HAPROXY_ADV_CHECK, HAPROXY_HEALTH_CHECK), or "
    "only one side uses the PROXY protocol";

struct health {
    size_t live, up, down;
    struct buf names;
    size_t of_cause[array_len(causes)];
    const struct runtime_server *first; /* that is down */
};

static void health_count_cause(struct health *h, const struct served_failure *f)
{
    for (size_t i = 0; i < array_len(causes); i++)
        if (str_has_prefix(f->check, causes[i].check) && strstr(f->detail, causes[i].detail) != NULL) {
            h->of_cause[i]++;
            return;
        }
}

static void health_add(struct health *h, const struct runtime_server *is, const struct served_failure *f)
{
    if (h->first == NULL)
        h->first = is;
    if (f != NULL)
        health_count_cause(h, f);
    if (h->down++ >= NAMES_SHOWN)
        return;
    buf_printf(&h->names, "%s%s", h->names.len > 0 ? ", " : "", is->name);
    if (f != NULL && *f->check != '\0')
        buf_printf(&h->names, " (%s%s%s)", f->check, *f->detail != '\0' ? ": " : "", f->detail);
}

static char *health_causes(const struct health *h)
{
    struct buf text = {0};
    for (size_t i = 0; i < array_len(causes); i++)
        if (h->of_cause[i] > 0)
            buf_printf(&text, "%s%s: %s", text.len > 0 ? "; " : "", causes[i].check, causes[i].text);
    return text.len > 0 ? buf_take(&text) : mem_strdup(usual);
}

static void health_fail(const struct health *h, const char *backend, const char *socket, struct doctor_section *s)
{
    cleanup(mem_free_ptr) char *why = health_causes(h);
    cleanup(mem_free_ptr) char *more =
        h->down > NAMES_SHOWN ? mem_printf(" and %zu more", h->down - NAMES_SHOWN) : mem_strdup("");
    struct doctor_check *c =
        doctor_warn(s, "backend.health", "health", "%zu of %zu desired servers are DOWN in HAProxy: %s%s", h->down,
                    h->live, buf_str(&h->names), more);
    doctor_why(c, "they get no connections. %s", why);
    doctor_fix(c, "on HAProxy's machine, test the port", "nc -zv -w 2 %s %u", h->first->address,
               (unsigned)h->first->port);
    doctor_fix(c, "on HAProxy's machine, see the result of its check",
               "echo 'show stat %s 4 -1' | socat stdio %s | cut -d, -f2,18,37", backend,
               socket != NULL ? socket : "/run/haproxy/admin.sock");
}

void doctor_health_report(const struct inspect_backend *b, const struct served *served, const char *stats_socket,
                          struct doctor_section *s)
{
    struct health h = {0};
    for (size_t i = 0; i < b->desired->server_count; i++) {
        const struct desired_server *want = &b->desired->servers[i];
        const struct runtime_server *is = runtime_find(&b->runtime, want->name);
        if (want->state != SERVER_LIVE)
            continue;
        h.live++;
        h.up += is != NULL && !is->down;
        if (is != NULL && runtime_fails_check(is))
            health_add(&h, is, served != NULL ? served_failure_of(served, b->of->backend, want->name) : NULL);
    }
    if (h.down > 0)
        health_fail(&h, b->of->backend, stats_socket, s);
    else if (h.up > 0)
        doctor_ok(s, "backend.health", "health", "%zu of %zu desired servers are UP in HAProxy", h.up, h.live);
    buf_fini(&h.names);
}
