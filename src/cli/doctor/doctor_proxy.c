#include "cli/doctor/doctor_proxy.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/settings.h"
#include "net/proxy_probe.h"
#include "cli/doctor/doctor_report.h"
#include "cli/inspect_report.h"

#define PROBE_TIMEOUT_MS 2000
/* Each is four connections. */
#define PROBES_AT_ONCE 24

struct places {
    struct doctor_place list[DOCTOR_PLACES_MAX];
    size_t count;
};

struct proxy {
    struct event_base *base;
    struct places *of; /* for each mapping */
    size_t mapping_count;
    size_t mapping, place; /* the next one to try */
    size_t running;
};

struct one {
    struct proxy *proxy;
    struct doctor_place *place;
};

/* ---- which are tried ---- */

/* Spread over the list: neighbours by name are often in one rack, and of one kind. */
static void choose(const struct desired *desired, struct places *ret)
{
    size_t live = 0, step, at = 0;
    for (size_t i = 0; i < desired->server_count; i++)
        live += desired->servers[i].state == SERVER_LIVE && str_ip_family(desired->servers[i].address) != 0;
    step = live > DOCTOR_PLACES_MAX ? live / DOCTOR_PLACES_MAX : 1;
    for (size_t i = 0; i < desired->server_count && ret->count < DOCTOR_PLACES_MAX; i++) {
        const struct desired_server *w = &desired->servers[i];
        if (w->state != SERVER_LIVE || str_ip_family(w->address) == 0 || at++ % step != 0)
            continue;
        ret->list[ret->count++] = (struct doctor_place){.name = w->name, .address = w->address, .port = w->port};
    }
}

/* ---- trying ---- */

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

static void begin(struct proxy *p, struct doctor_place *place)
{
    struct one *o = mem_alloc(sizeof(*o));
    *o = (struct one){.proxy = p, .place = place};
    p->running++;
    /* Frees itself at its end, which comes in any case. */
    struct proxy_probe *probe =
        proxy_probe_start(p->base, place->address, (uint16_t)place->port, PROBE_TIMEOUT_MS, on_probed, o);
    (void)probe;
}

static void go_on(struct proxy *p)
{
    while (p->running < PROBES_AT_ONCE && p->mapping < p->mapping_count) {
        if (p->place < p->of[p->mapping].count) {
            begin(p, &p->of[p->mapping].list[p->place++]);
        } else {
            p->mapping++;
            p->place = 0;
        }
    }
    if (p->running == 0)
        event_base_loopbreak(p->base);
}

/* ---- the report ---- */

static const char *sends_text(enum doctor_sends sends)
{
    static const char *const texts[] = {[DOCTOR_SENDS_NOTHING] = "does not send it (HAPROXY_SEND_PROXY_V2=false)",
                                        [DOCTOR_SENDS_BY_SETTING] = "sends version 2 (HAPROXY_SEND_PROXY_V2=true)",
                                        [DOCTOR_SENDS_BY_FILE] =
                                            "sends it (the backend's default-server in haproxy.cfg)"};
    return texts[sends];
}

static void report_backend(const struct inspect_report *seen, size_t mapping, const struct places *places,
                           const struct settings *settings, struct doctor_report *r)
{
    const struct inspect_mapping *m = &seen->mappings[mapping];
    struct doctor_section *s = doctor_section(r, "proxy", m->backend, NULL);
    struct doctor_expects e = doctor_proxy_expects(places->list, places->count);
    struct inspect_backend unseen = {.of = m, .desired = &m->desired};
    for (size_t t = 0; t == 0 || t < seen->target_count; t++) {
        const struct inspect_backend *b = t < seen->target_count ? &seen->targets[t].backends[mapping] : &unseen;
        enum doctor_sends sends = doctor_proxy_sends(b, settings);
        const char *whose = seen->target_count > 1 ? seen->targets[t].url : "HAProxy";
        doctor_ok(s, "proxy.haproxy", whose, "%s", sends_text(sends));
        doctor_proxy_judge(&e, sends, places->list, places->count, s);
        doctor_proxy_judge_mode(&e, b, s);
        doctor_proxy_judge_checks(&e, sends, b, s);
    }
}

void doctor_proxy_report(struct event_base *base, const struct inspect_report *seen, const struct settings *settings,
                         struct doctor_report *r)
{
    struct proxy p = {.base = base, .mapping_count = seen->mapping_count};
    p.of = mem_array(seen->mapping_count, sizeof(p.of[0]));
    for (size_t i = 0; i < seen->mapping_count; i++)
        choose(&seen->mappings[i].desired, &p.of[i]);
    go_on(&p);
    if (p.running > 0)
        event_base_dispatch(base);
    for (size_t i = 0; i < seen->mapping_count; i++)
        report_backend(seen, i, &p.of[i], settings, r);
    free(p.of);
}
