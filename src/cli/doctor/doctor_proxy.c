#include "cli/doctor/doctor_proxy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "json/read.h"
#include "net/proxy_probe.h"
#include "settings/settings.h"
#include "cli/doctor/doctor_parts.h"
#include "cli/doctor/doctor_report.h"
#include "daemon/inspect/inspect_report.h"
#include "cli/run.h"

#define PROBE_TIMEOUT_MS 2000
#define PROBES_AT_ONCE 24 /* each is four connections */
#define DEFAULT_SERVER "default_server"

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

enum doctor_sends doctor_proxy_sends(const struct inspect_backend *b, const struct settings *settings)
{
    /* Any version of the protocol: the API's names for the options of a default-server line. */
    static const char *const options[] = {"send-proxy",        "send-proxy-v2",        "send_proxy_v2_ssl",
                                          "send-proxy-v2-ssl", "send_proxy_v2_ssl_cn", "send-proxy-v2-ssl-cn"};
    if (settings->proxy_v2)
        return DOCTOR_SENDS_BY_SETTING;
    bool by_file = b->seen && (b->actual.default_send_proxy_v2 ||
                               has_option(b->actual.json, DEFAULT_SERVER, options, array_len(options)));
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

static void set_place(const struct doctor_place *p, struct doctor_section *s)
{
    char words[128];
    cleanup(mem_free_ptr) char *place = place_text(p);
    doctor_sets(s, {"place", place}, {"name", p->name});
    doctor_word(s, "address", "%s %u", p->address, p->port);
    doctor_set(s, "error", p->os_error != 0 ? strerror_r(p->os_error, words, sizeof(words)) : "no answer");
}

#define PATCH_INGRESS                                                                   \
    "  kubectl -n ingress-nginx patch configmap ingress-nginx-controller --type=merge " \
    "-p '{\"data\":{\"use-proxy-protocol\":\"{expected}\"}}'\n"

void doctor_proxy_judge(const struct doctor_expects *e, enum doctor_sends sends, const struct doctor_place *places,
                        size_t count, struct doctor_section *s)
{
    cleanup(mem_free_ptr) char *seen = seen_text(places, count);
    bool sent = sends != DOCTOR_SENDS_NOTHING, unreached = e->verdict == PROXY_UNREACHED;
    doctor_sets(
        s, {"seen", seen}, {"expect", sent ? "expect it" : "do not expect it"}, {"expected", sent ? "true" : "false"},
        {"was", count > 1 ? "and others were" : "was"},
        {"stop", sends == DOCTOR_SENDS_BY_SETTING ? "stop HAProxy sending it" : ""},
        {"cause", count > 0 && places[0].os_error == ECONNREFUSED
                      ? "the node answers, but nothing listens at that port: is it the port that the nodes serve?"
                      : "a firewall may block this machine; HAProxy's must get through"});
    if (count > 0)
        set_place(&places[0], s);
    const struct doctor_row rows[] = {
        {count == 0, CHECK_SKIP, "needs a server with an IP address, see the Service"},
        {e->mixed, CHECK_FAIL,
         "some expect the PROXY protocol and some do not\n"
         "why whatever HAProxy sends is wrong for some: {seen}\n"
         "fix find the pods with other settings, such as those of an unfinished rollout:\n"
         "  kubectl get pods -A -o wide"},
        {unreached, CHECK_WARN,
         "what they expect is unknown: {place} {was} not reached from here ({error})\n"
         "why {cause}\n"
         "fix run doctor where HAProxy runs\n"
         "or test the port there:\n  nc -zv -w 2 {address}"},
        {e->verdict == PROXY_UNKNOWN && !sent, CHECK_SKIP, "what they expect is unknown: {seen}"},
        {e->verdict == PROXY_UNKNOWN, CHECK_WARN,
         "it is unknown whether they expect what HAProxy sends: {seen}\n"
         "why the port answers neither HTTP nor TLS"},
        {e->verdict == PROXY_WANTED && !sent, CHECK_FAIL,
         "expect the PROXY protocol, but HAProxy does not send it\n"
         "why the nodes close each connection at once: {seen}\n"
         "fix let HAProxy send it:\n  HAPROXY_SEND_PROXY_V2=true\n"
         "or stop the ingress controller expecting it (ingress-nginx):\n" PATCH_INGRESS
         "or Contour: contour serve without --use-proxy-protocol"},
        {e->verdict == PROXY_UNWANTED && sent, CHECK_FAIL,
         "do not expect the PROXY protocol, but HAProxy sends it\n"
         "why the nodes take its header for a broken request: {seen}\n"
         "fix {stop}:\n  HAPROXY_SEND_PROXY_V2=false\n"
         "and remove send-proxy-v2 from the backend's default-server line in haproxy.cfg: the setting leaves it there\n"
         "or let the ingress controller expect it (ingress-nginx):\n" PATCH_INGRESS
         "or Traefik: --entryPoints.websecure.proxyProtocol.trustedIPs=HAPROXY'S ADDRESS; Contour: contour serve "
         "--use-proxy-protocol"},
        {e->verdict == PROXY_EITHER, CHECK_OK, "accept connections with it and without: {seen}"},
        {true, CHECK_OK, "{expect}, which fits: {seen}"},
    };
    doctor_first(s, "proxy.nodes", "nodes", rows);
    /* Where others were reached, the network between is not the cause. */
    for (size_t i = 0; i < count && !unreached; i++) {
        if (proxy_talk_judge(&places[i].replies) != PROXY_UNREACHED)
            continue;
        set_place(&places[i], s);
        doctor_say(s, CHECK_WARN, "proxy.unreached", "not reached",
                   "{place} ({error})\n"
                   "why other nodes are reached; does the ingress controller or kube-proxy serve that port on this "
                   "node?\n"
                   "fix see what runs there:\n"
                   "  kubectl get pods -A -o wide --field-selector spec.nodeName={name}");
    }
}

/* ---- the language, and health checks ---- */

void doctor_proxy_judge_mode(const struct doctor_expects *e, const struct inspect_backend *b, struct doctor_section *s)
{
    static const char *const options[] = {"ssl"};
    bool encrypts = has_option(b->actual.json, DEFAULT_SERVER, options, 1);
    for (size_t i = 0; i < b->actual.server_count; i++)
        encrypts = encrypts || has_option(b->actual.servers[i].json, NULL, options, 1);
    if (!b->seen || !str_eq(b->actual.mode, "http") || e->language != PROXY_TALK_TLS || encrypts)
        return;
    doctor_set(s, "backend", b->of->backend);
    doctor_say(s, CHECK_WARN, "proxy.language", "language",
               "the nodes speak TLS at this port, HAProxy plain HTTP (mode http)\n"
               "why they answer its requests with errors, if at all\n"
               "fix pass TLS through; in haproxy.cfg, and in the frontend, too:\n  backend {backend}\n    mode tcp\n"
               "or use the Service's port for plain HTTP (INGRESS_SERVICE_PORT), or add ssl verify required ca-file "
               "... to default-server");
}

/* HAProxy's checks send the header where traffic has it, unless their own port is named: then check-send-proxy alone
 * counts (HAProxy's configuration guide 5.2, "check-send-proxy"). */
void doctor_proxy_judge_checks(const struct doctor_expects *e, enum doctor_sends sends, const struct inspect_backend *b,
                               struct doctor_section *s)
{
    static const char *const options[] = {"check-send-proxy"};
    const struct backend_server *first = b->seen && b->actual.server_count > 0 ? &b->actual.servers[0] : NULL;
    unsigned port = b->desired->check_port;
    bool forced = b->seen && has_option(b->actual.json, DEFAULT_SERVER, options, 1);
    bool same_port = first != NULL && first->check_port != 0 && first->check_port == first->port;
    doctor_word(s, "check-port", "%u", port);
    const struct doctor_row rows[] = {
        {port != 0 && forced, CHECK_WARN,
         "send the PROXY protocol to port {check-port}, which is kube-proxy's own\n"
         "why kube-proxy does not expect it: every server counts as down\n"
         "fix remove check-send-proxy from the backend's default-server line in haproxy.cfg"},
        {same_port && !forced && sends != DOCTOR_SENDS_NOTHING && e->verdict == PROXY_WANTED, CHECK_WARN,
         "do not send the PROXY protocol, because the server line names their port\n"
         "why the nodes expect it there: every server counts as down\n"
         "fix remove the check's port from the server lines, or add check-send-proxy"},
    };
    doctor_first(s, "proxy.checks", "checks", rows);
}

/* ---- the probes ---- */

struct places {
    struct doctor_place list[DOCTOR_PLACES_MAX];
    size_t count;
};

struct proxy {
    struct doctor *doctor;
    struct places *of; /* for each mapping */
    size_t mapping_count;
    size_t mapping, place; /* the next one to try */
    size_t running;
    bool over;
};

struct one {
    struct proxy *proxy;
    struct doctor_place *place;
};

static void go_on(struct proxy *p);

static void on_probed(void *arg, const struct proxy_replies *replies, int os_error)
{
    struct one *o = arg;
    struct proxy *p = o->proxy;
    o->place->replies = *replies;
    o->place->os_error = os_error;
    free(o);
    p->running--;
    go_on(p);
}

static void go_on(struct proxy *p)
{
    while (p->running < PROBES_AT_ONCE && p->mapping < p->mapping_count) {
        if (p->place == p->of[p->mapping].count) {
            p->mapping++;
            p->place = 0;
            continue;
        }
        struct one *o = mem_alloc(sizeof(*o));
        *o = (struct one){.proxy = p, .place = &p->of[p->mapping].list[p->place++]};
        p->running++;
        /* Frees itself at its end, which comes in any case. */
        struct proxy_probe *probe = proxy_probe_start(p->doctor->base, o->place->address, (uint16_t)o->place->port,
                                                      PROBE_TIMEOUT_MS, on_probed, o);
        (void)probe;
    }
    p->over = p->running == 0;
}

static void report_backend(const struct inspect_report *seen, size_t mapping, const struct places *places,
                           const struct doctor *d)
{
    static const char *const texts[] = {[DOCTOR_SENDS_NOTHING] = "does not send it (HAPROXY_SEND_PROXY_V2=false)",
                                        [DOCTOR_SENDS_BY_SETTING] = "sends version 2 (HAPROXY_SEND_PROXY_V2=true)",
                                        [DOCTOR_SENDS_BY_FILE] =
                                            "sends it (the backend's default-server in haproxy.cfg)"};
    const struct inspect_mapping *m = &seen->mappings[mapping];
    struct doctor_section *s = doctor_section(d->report, "proxy", m->backend, NULL);
    struct doctor_expects e = doctor_proxy_expects(places->list, places->count);
    struct inspect_backend unseen = {.of = m, .desired = m->desired};
    for (size_t t = 0; t == 0 || t < seen->target_count; t++) {
        const struct inspect_backend *b = t < seen->target_count ? &seen->targets[t].backends[mapping] : &unseen;
        enum doctor_sends sends = doctor_proxy_sends(b, d->settings);
        doctor_ok(s, "proxy.haproxy", seen->target_count > 1 ? seen->targets[t].url : "HAProxy", "%s", texts[sends]);
        doctor_proxy_judge(&e, sends, places->list, places->count, s);
        doctor_proxy_judge_mode(&e, b, s);
        doctor_proxy_judge_checks(&e, sends, b, s);
    }
}

void doctor_proxy_report(const struct inspect_report *seen, struct doctor *d)
{
    struct proxy p = {.doctor = d, .mapping_count = seen->mapping_count};
    p.of = mem_array(seen->mapping_count, sizeof(p.of[0]));
    for (size_t i = 0; i < seen->mapping_count; i++) {
        /* Spread over the list: neighbours by name are often in one rack, and of one kind. */
        const struct desired *desired = seen->mappings[i].desired;
        struct places *chosen = &p.of[i];
        size_t live = 0, at = 0;
        for (size_t k = 0; k < desired->server_count; k++)
            live += desired->servers[k].state == SERVER_LIVE && str_ip_family(desired->servers[k].address) != 0;
        size_t step = live > DOCTOR_PLACES_MAX ? live / DOCTOR_PLACES_MAX : 1;
        for (size_t k = 0; k < desired->server_count && chosen->count < DOCTOR_PLACES_MAX; k++) {
            const struct desired_server *w = &desired->servers[k];
            if (w->state == SERVER_LIVE && str_ip_family(w->address) != 0 && at++ % step == 0)
                chosen->list[chosen->count++] =
                    (struct doctor_place){.name = w->name, .address = w->address, .port = w->port};
        }
    }
    go_on(&p);
    run_until_over(d->base, &p.over);
    for (size_t i = 0; i < seen->mapping_count; i++)
        report_backend(seen, i, &p.of[i], d);
    free(p.of);
}
