/* What HAProxy sends, compared with what the nodes expect. Pure. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "json/read.h"
#include "settings/settings.h"
#include "cli/doctor/doctor_proxy.h"
#include "cli/doctor/doctor_report.h"
#include "cli/inspect_report.h"

/* ---- what is sent ---- */

/* Whether an object of the API, or the default-server in it, has one of the options enabled. */
static bool has_option(const char *json, const char *member, const char *const *options, size_t count)
{
    cleanup(json_doc_free_ptr) yyjson_doc *doc =
        json_parse(json, json != NULL ? strlen(json) : 0, YYJSON_READ_BIGNUM_AS_RAW, "the object", NULL);
    yyjson_val *line = yyjson_doc_get_root(doc);
    bool has = false;
    if (member != NULL)
        line = yyjson_obj_get(line, member);
    for (size_t i = 0; i < count; i++)
        has = has || yyjson_equals_str(yyjson_obj_get(line, options[i]), "enabled");
    return has;
}

#define DEFAULT_SERVER "default_server"

/* Any version of the protocol: the API's names for the options of a default-server line. */
static bool default_server_sends(const char *backend_json)
{
    static const char *const options[] = {"send-proxy",        "send-proxy-v2",        "send_proxy_v2_ssl",
                                          "send-proxy-v2-ssl", "send_proxy_v2_ssl_cn", "send-proxy-v2-ssl-cn"};
    return has_option(backend_json, DEFAULT_SERVER, options, array_len(options));
}

enum doctor_sends doctor_proxy_sends(const struct inspect_backend *b, const struct settings *settings)
{
    if (settings->proxy_v2)
        return DOCTOR_SENDS_BY_SETTING;
    bool by_file = b->seen && (b->actual.default_send_proxy_v2 || default_server_sends(b->actual.json));
    return by_file ? DOCTOR_SENDS_BY_FILE : DOCTOR_SENDS_NOTHING;
}

/* ---- what is expected ---- */

struct doctor_expects doctor_proxy_expects(const struct doctor_place *places, size_t count)
{
    struct doctor_expects e = {.verdict = PROXY_UNREACHED, .language = PROXY_TALKS};
    for (size_t i = 0; i < count; i++) {
        enum proxy_verdict v = proxy_talk_judge(&places[i].replies);
        bool both_known = v > PROXY_UNREACHED && e.verdict > PROXY_UNREACHED;
        if (e.language == PROXY_TALKS)
            e.language = proxy_talk_language(&places[i].replies);
        e.mixed = e.mixed || (both_known && v != e.verdict && v != PROXY_EITHER && e.verdict != PROXY_EITHER);
        /* One that accepts either fits the others, whatever these expect. */
        if (v > PROXY_UNREACHED && (e.verdict <= PROXY_UNREACHED || e.verdict == PROXY_EITHER))
            e.verdict = v;
        else if (v == PROXY_UNKNOWN && e.verdict == PROXY_UNREACHED)
            e.verdict = v;
    }
    return e;
}

/* ---- both ---- */

/* "n1 at 10.0.0.1:30443". Allocates. */
static char *place_text(const struct doctor_place *p)
{
    cleanup(mem_free_ptr) char *place = str_host_port(p->address, p->port);
    return mem_printf("%s at %s", p->name, place);
}

/* "n1 at 10.0.0.1:30443: it answered ...; n2 ..." of those that differ from the one before. */
static char *seen_text(const struct doctor_place *places, size_t count)
{
    cleanup(buf_fini) struct buf text = {0};
    cleanup(mem_free_ptr) char *before = mem_strdup("");
    for (size_t i = 0; i < count; i++) {
        if (proxy_talk_judge(&places[i].replies) == PROXY_UNREACHED)
            continue; /* has a line of its own */
        char *what = proxy_talk_seen(&places[i].replies);
        cleanup(mem_free_ptr) char *place = place_text(&places[i]);
        if (str_eq(what, before))
            buf_printf(&text, " (%s: the same)", places[i].name);
        else
            buf_printf(&text, "%s%s, %s", text.len > 0 ? "; " : "", place, what);
        free(before);
        before = what;
    }
    return buf_take(&text);
}

static void add_ingress_fix(struct doctor_check *c, bool on)
{
    doctor_fix(c,
               on ? "let the ingress controller expect it (ingress-nginx)"
                  : "stop the ingress controller expecting it (ingress-nginx)",
               "kubectl -n ingress-nginx patch configmap ingress-nginx-controller --type=merge "
               "-p '{\"data\":{\"use-proxy-protocol\":\"%s\"}}'",
               on ? "true" : "false");
    doctor_advice(
        c, on ? "Traefik: --entryPoints.websecure.proxyProtocol.trustedIPs=HAPROXY'S ADDRESS; Contour: contour serve "
                "--use-proxy-protocol"
              : "Contour: contour serve without --use-proxy-protocol");
}

static void fail_unsent(const char *seen, struct doctor_section *s)
{
    struct doctor_check *c =
        doctor_fail(s, "proxy.nodes", "nodes", "expect the PROXY protocol, but HAProxy does not send it");
    doctor_why(c, "the nodes close each connection at once: %s", seen);
    doctor_fix(c, "let HAProxy send it", "HAPROXY_SEND_PROXY_V2=true");
    add_ingress_fix(c, false);
}

static void fail_unwanted(const char *seen, enum doctor_sends sends, struct doctor_section *s)
{
    struct doctor_check *c =
        doctor_fail(s, "proxy.nodes", "nodes", "do not expect the PROXY protocol, but HAProxy sends it");
    doctor_why(c, "the nodes take its header for a broken request: %s", seen);
    if (sends == DOCTOR_SENDS_BY_SETTING)
        doctor_fix(c, "stop HAProxy sending it", "HAPROXY_SEND_PROXY_V2=false");
    doctor_advice(c,
                  "remove send-proxy-v2 from the backend's default-server line in haproxy.cfg: the setting leaves it "
                  "there");
    if (sends == DOCTOR_SENDS_BY_SETTING)
        doctor_also(c);
    add_ingress_fix(c, true);
}

static void fail_mixed(const char *seen, struct doctor_section *s)
{
    struct doctor_check *c = doctor_fail(s, "proxy.nodes", "nodes", "some expect the PROXY protocol and some do not");
    doctor_why(c, "whatever HAProxy sends is wrong for some: %s", seen);
    doctor_fix(c, "find the pods with other settings, such as those of an unfinished rollout",
               "kubectl get pods -A -o wide");
}

static void not_reached(const struct doctor_place *places, size_t count, struct doctor_section *s)
{
    char words[128];
    int why = places[0].os_error;
    cleanup(mem_free_ptr) char *place = place_text(&places[0]);
    struct doctor_check *c = doctor_warn(
        s, "proxy.nodes", "nodes", "what they expect is unknown: %s%s not reached from here (%s)", place,
        count > 1 ? " and others were" : " was", why != 0 ? strerror_r(why, words, sizeof(words)) : "no answer");
    doctor_why(c, "%s",
               why == ECONNREFUSED
                   ? "the node answers, but nothing listens at that port: is it the port that the nodes serve?"
                   : "a firewall may block this machine; HAProxy's must get through");
    doctor_advice(c, "run doctor where HAProxy runs");
    doctor_fix(c, "test the port there", "nc -zv -w 2 %s %u", places[0].address, places[0].port);
}

/* Others were reached, so the network between is not the cause. */
static void some_not_reached(const struct doctor_place *places, size_t count, struct doctor_section *s)
{
    for (size_t i = 0; i < count; i++) {
        if (proxy_talk_judge(&places[i].replies) != PROXY_UNREACHED)
            continue;
        char words[128];
        cleanup(mem_free_ptr) char *place = place_text(&places[i]);
        struct doctor_check *c =
            doctor_warn(s, "proxy.unreached", "not reached", "%s (%s)", place,
                        places[i].os_error != 0 ? strerror_r(places[i].os_error, words, sizeof(words)) : "no answer");
        doctor_why(c,
                   "other nodes are reached; does the ingress controller or kube-proxy serve that port on this node?");
        doctor_fix(c, "see what runs there", "kubectl get pods -A -o wide --field-selector spec.nodeName=%s",
                   places[i].name);
    }
}

static void unknown(enum doctor_sends sends, const char *seen, struct doctor_section *s)
{
    static const char id[] = "proxy.nodes", label[] = "nodes";
    if (sends == DOCTOR_SENDS_NOTHING) {
        doctor_skip(s, id, label, "what they expect is unknown: %s", seen);
        return;
    }
    struct doctor_check *c =
        doctor_warn(s, id, label, "it is unknown whether they expect what HAProxy sends: %s", seen);
    doctor_why(c, "the port answers neither HTTP nor TLS");
}

void doctor_proxy_judge(const struct doctor_expects *e, enum doctor_sends sends, const struct doctor_place *places,
                        size_t count, struct doctor_section *s)
{
    static const char id[] = "proxy.nodes", label[] = "nodes";
    cleanup(mem_free_ptr) char *seen = seen_text(places, count);
    bool sent = sends != DOCTOR_SENDS_NOTHING;
    if (count == 0)
        doctor_skip(s, id, label, "needs a server with an IP address, see the Service");
    else if (e->mixed)
        fail_mixed(seen, s);
    else if (e->verdict == PROXY_UNREACHED)
        not_reached(places, count, s);
    else if (e->verdict == PROXY_UNKNOWN)
        unknown(sends, seen, s);
    else if (e->verdict == PROXY_WANTED && !sent)
        fail_unsent(seen, s);
    else if (e->verdict == PROXY_UNWANTED && sent)
        fail_unwanted(seen, sends, s);
    else if (e->verdict == PROXY_EITHER)
        doctor_ok(s, id, label, "accept connections with it and without: %s", seen);
    else
        doctor_ok(s, id, label, "%s, which fits: %s", sent ? "expect it" : "do not expect it", seen);
    if (count > 0 && e->verdict != PROXY_UNREACHED)
        some_not_reached(places, count, s);
}

/* ---- the language ---- */

static bool encrypts(const struct inspect_backend *b)
{
    static const char *const options[] = {"ssl"};
    bool does = has_option(b->actual.json, DEFAULT_SERVER, options, 1);
    for (size_t i = 0; i < b->actual.server_count; i++)
        does = does || has_option(b->actual.servers[i].json, NULL, options, 1);
    return does;
}

void doctor_proxy_judge_mode(const struct doctor_expects *e, const struct inspect_backend *b, struct doctor_section *s)
{
    if (!b->seen || !str_eq(b->actual.mode, "http") || e->language != PROXY_TALK_TLS || encrypts(b))
        return;
    struct doctor_check *c = doctor_warn(s, "proxy.language", "language",
                                         "the nodes speak TLS at this port, HAProxy plain HTTP (mode http)");
    doctor_why(c, "they answer its requests with errors, if at all");
    doctor_fix(c, "pass TLS through; in haproxy.cfg, and in the frontend, too", "backend %s\n  mode tcp",
               b->of->backend);
    doctor_advice(c, "use the Service's port for plain HTTP (INGRESS_SERVICE_PORT), or add ssl verify required ca-file "
                     "... to default-server");
}

/* ---- health checks ---- */

/* HAProxy's checks send the header where traffic has it, unless their own port is named: then check-send-proxy alone
 * counts (HAProxy's configuration guide 5.2, "check-send-proxy"). */
void doctor_proxy_judge_checks(const struct doctor_expects *e, enum doctor_sends sends, const struct inspect_backend *b,
                               struct doctor_section *s)
{
    static const char *const options[] = {"check-send-proxy"};
    const struct desired *desired = b->desired;
    bool forced = b->seen && has_option(b->actual.json, DEFAULT_SERVER, options, 1);
    bool same_port = b->seen && b->actual.server_count > 0 && b->actual.servers[0].check_port != 0 &&
                     b->actual.servers[0].check_port == b->actual.servers[0].port;
    struct doctor_check *c;
    if (desired->check_port != 0 && forced) {
        c = doctor_warn(s, "proxy.checks", "checks", "send the PROXY protocol to port %u, which is kube-proxy's own",
                        desired->check_port);
        doctor_why(c, "kube-proxy does not expect it: every server counts as down");
        doctor_advice(c, "remove check-send-proxy from the backend's default-server line in haproxy.cfg");
    } else if (same_port && !forced && sends != DOCTOR_SENDS_NOTHING && e->verdict == PROXY_WANTED) {
        c = doctor_warn(s, "proxy.checks", "checks",
                        "do not send the PROXY protocol, because the server line names their port");
        doctor_why(c, "the nodes expect it there: every server counts as down");
        doctor_advice(c, "remove the check's port from the server lines, or add check-send-proxy");
    }
}
