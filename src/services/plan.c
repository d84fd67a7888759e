#include "services/plan.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"
#include "base/text.h"
#include "model/protection.h"

#define ALL_ADDRESSES "*"
#define VALUE_SHOWN 200
#define PORTS_SHOWN 10

/* ---- remarks ---- */

static void remark(struct services_plan *p, const struct annotated_service *s, const char *port, bool refused,
                   const char *fmt, ...) printf_like(5, 6);
static void remark(struct services_plan *p, const struct annotated_service *s, const char *port, bool refused,
                   const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    p->remarks = mem_one_more(p->remarks, p->remark_count, sizeof(p->remarks[0]));
    p->remarks[p->remark_count++] =
        (struct service_remark){.service = s, .port = port, .text = mem_vprintf(fmt, ap), .refused = refused};
    va_end(ap);
}

/* ---- what the annotations of a Service say ---- */

/* Annotations that no option of a port takes. */
static void check_names(struct services_plan *p, const struct annotated_service *s, const struct service_notes *notes)
{
    for (size_t i = 0; i < s->service.port_count; i++) {
        size_t count;
        struct service_note *of = service_notes_of(notes, s->service.ports[i].name, &count);
        for (size_t k = 0; k < count && !of[k].checked; k++) {
            of[k].checked = true;
            if (service_option_find(of[k].option) != NULL)
                continue;
            cleanup(nearest_fini) struct nearest near;
            nearest_init(&near, of[k].option);
            for (size_t o = 0; o < service_option_count; o++)
                nearest_add(&near, service_options[o].name, nearest_distance(&near, service_options[o].name));
            cleanup(mem_free_ptr) char *meant = nearest_text(&near);
            remark(p, s, s->service.ports[i].name, false, "%s: there is no such option%s%s%s", of[k].annotation->name,
                   meant != NULL ? "; did you mean " : "", meant != NULL ? meant : "", meant != NULL ? "?" : "");
        }
    }
    cleanup(buf_fini) struct buf ports = {0};
    for (size_t i = 0; i < s->service.port_count && i < PORTS_SHOWN; i++)
        buf_printf(&ports, "%s%s", i > 0 ? ", " : "",
                   *s->service.ports[i].name != '\0' ? s->service.ports[i].name : "one without a name");
    if (s->service.port_count > PORTS_SHOWN)
        buf_printf(&ports, " and %u more", (unsigned)s->service.port_count - PORTS_SHOWN);
    for (size_t i = 0; i < notes->count; i++)
        if (!notes->list[i].checked)
            remark(p, s, NULL, false, "%s: the Service has no such TCP port; it has %s",
                   notes->list[i].annotation->name, ports.len > 0 ? buf_str(&ports) : "none");
}

/* Its key in a cache is "namespace/name". */
static char *namespace_of(const struct service *s)
{
    const char *slash = strchr(s->name, '/');
    return mem_strndup(s->name, slash != NULL ? (size_t)(slash - s->name) : 0);
}

static bool parse_options(struct services_plan *p, struct service_route *r, const struct service_notes *notes,
                          const struct services_rules *rules)
{
    bool good = true;
    cleanup(mem_free_ptr) char *namespace = namespace_of(&r->service->service);
    struct option_rules of = rules->options;
    of.namespace = namespace;
    port_options_init(&r->options);
    for (size_t i = 0; i < service_option_count; i++) {
        const struct service_option *o = &service_options[i];
        const struct object_annotation *a = service_notes_find(notes, r->port->name, o->name);
        cleanup(buf_fini) struct buf why = {0};
        if (a == NULL || service_option_parse(o, &r->options, a->value, &of, &why) == 0)
            continue;
        good = false;
        cleanup(mem_free_ptr) char *value = text_shown(a->value, TEXT_MESSAGE, VALUE_SHOWN);
        remark(p, r->service, r->port->name, true, "%s is \"%s\": expected %s%s%s", a->name, value, o->expected,
               why.len > 0 ? "; " : "", buf_str(&why));
    }
    port_options_settle(&r->options);
    return good;
}

/* What only several of them together say; said: for what is no constant. */
static const char *why_not(const struct service_route *r, const struct services_rules *rules, struct buf *said)
{
    const struct port_options *o = &r->options;
    if (!o->tcp && o->hostname == NULL)
        return "hostname is missing: with haproxy-mode http it selects the requests for this port";
    if (o->tls && o->certificate == NULL && o->secret == NULL)
        return "ssl-certificate is missing: with use-ssl, and without a hostname, it selects the certificate";
    if (o->tcp && (o->path != NULL || o->redirect))
        return "path and http-redirect are of haproxy-mode http, not of tcp";
    if (o->redirect && (!o->tls || o->listen_port == SERVICES_REDIRECT_PORT))
        return "http-redirect is to a TLS port: it needs use-ssl, at another port than 80";
    if (!o->tls)
        return NULL;
    /* Its certificate may be none that can be shown. */
    if (o->secret == NULL)
        return rules->has_certificate != NULL && !rules->has_certificate(rules->arg, o->certificate)
                   ? "its certificate is not there (see ssl-certificate)"
                   : NULL;
    buf_printf(said, "its certificate, Secret %s: ", o->secret);
    return rules->has_secret != NULL && !rules->has_secret(rules->arg, o->secret, r->service->service.name, said)
               ? buf_str(said)
               : NULL;
}

/* A document has limits, which are for all. */
static const char *why_too_many(struct services_plan *p, const struct service_route *r)
{
    cleanup(mem_free_ptr) char *namespace = namespace_of(&r->service->service);
    size_t bytes = (r->options.hostname != NULL ? strlen(r->options.hostname) : 0) +
                   (r->options.path != NULL ? strlen(r->options.path) : 0);
    if (tally_add(&p->ports, namespace, 1) >= SERVICES_NAMESPACE_PORTS)
        return "its namespace has 2000 older ports, which is as many as one may have";
    return tally_add(&p->bytes, namespace, bytes) + bytes > SERVICES_NAMESPACE_BYTES
               ? "the host names and paths of its namespace's older ports are as long as those of one may be"
               : NULL;
}

/* ---- routes ---- */

static void route_add(struct services_plan *p, const struct service_route *r)
{
    p->routes = mem_one_more(p->routes, p->route_count, sizeof(p->routes[0]));
    p->routes[p->route_count++] = *r;
}

/* What is served there is not made of Services. */
static bool refuse_taken(struct services_plan *p, const struct service_route *r, const struct services_rules *rules)
{
    cleanup(buf_fini) struct buf by = {0};
    bool taken = rules->is_taken != NULL && rules->is_taken(rules->arg, r->place, r->listen_port, &by);
    if (taken)
        remark(p, r->service, r->port->name, !r->redirect, "port %s: %s %u is taken by %s",
               *r->port->name != '\0' ? r->port->name : "without a name",
               r->redirect ? "http-redirect, from" : "listen-port", r->listen_port, buf_str(&by));
    return taken;
}

static bool is_of_namespace(const struct service_route *r, const char *namespace)
{
    size_t len = strlen(namespace);
    return strncmp(r->service->service.name, namespace, len) == 0 && r->service->service.name[len] == '/';
}

/* refused: for something that was said already. */
static void add_port(struct services_plan *p, const struct annotated_service *s, const struct service_port *port,
                     size_t rank, const struct service_notes *notes, const struct services_rules *rules, bool refused)
{
    struct service_route made = {.service = s, .port = port, .rank = rank};
    const char *slash = strchr(s->service.name, '/');
    bool good = parse_options(p, &made, notes, rules);
    cleanup(buf_fini) struct buf said = {0};
    const char *why = good ? why_too_many(p, &made) : NULL;
    if (good && why == NULL)
        why = why_not(&made, rules, &said);
    if (why != NULL)
        remark(p, s, port->name, true, "port %s: %s", *port->name != '\0' ? port->name : "without a name", why);
    made.place = made.options.listen_ip != NULL ? made.options.listen_ip : ALL_ADDRESSES;
    made.listen_port = made.options.listen_port;
    if (!good || why != NULL || refused || refuse_taken(p, &made, rules)) {
        /* It keeps its host name, so that no mistake gives that away. */
        const char *host = made.options.hostname,
                   *before = host != NULL ? service_owners_find(rules->incumbents, host) : NULL;
        if (before != NULL && is_of_namespace(&made, before))
            service_owners_set(&p->owners, host, before);
        port_options_fini(&made.options);
        return;
    }
    made.backend = mem_printf("k8s-service_%.*s_%s_%s_backend", slash != NULL ? (int)(slash - s->service.name) : 0,
                              s->service.name, slash != NULL ? slash + 1 : s->service.name, port->name);
    route_add(p, &made);
    struct service_route redirect = made;
    redirect.backend = NULL;
    redirect.redirect = true;
    redirect.listen_port = SERVICES_REDIRECT_PORT;
    if (made.options.redirect && !refuse_taken(p, &redirect, rules))
        route_add(p, &redirect);
}

/* Who set such an annotation for another controller believes that it protects here, too. */
static bool is_unprotected(struct services_plan *p, const struct annotated_service *s,
                           const struct services_rules *rules)
{
    bool unmet = false, own;
    for (size_t i = 0; i < s->annotation_count; i++) {
        const struct object_annotation *a = &s->annotations[i];
        const char *rest = service_note_rest(a->name, rules->prefix, &own);
        if ((rest != NULL && strchr(rest, '.') != NULL) || !asks_for_protection(a->name, a->value))
            continue; /* of a port that is called "auth" */
        unmet = true;
        remark(p, s, NULL, !rules->unprotected, "%s: there is no such protection here; the Service is %s", a->name,
               rules->unprotected
                   ? "served without it, open to all (FOREIGN_PROTECTION=warn)"
                   : "not served, until it goes without that or FOREIGN_PROTECTION=warn serves it open to all");
    }
    return unmet && !rules->unprotected;
}

static void add_service(struct services_plan *p, const struct annotated_service *s, size_t rank,
                        const struct services_rules *rules)
{
    bool any = false, served = rules->namespace_count == 0, unprotected;
    cleanup(mem_free_ptr) char *namespace = namespace_of(&s->service);
    for (size_t i = 0; i < rules->namespace_count && !served; i++)
        served = str_eq(rules->namespaces[i], namespace);
    if (!served) {
        remark(p, s, NULL, true, "namespace %s is none of SERVICES_NAMESPACES", namespace);
        return;
    }
    unprotected = is_unprotected(p, s, rules);
    cleanup(service_notes_fini) struct service_notes notes;
    service_notes_init(&notes, s, rules->prefix);
    check_names(p, s, &notes);
    for (size_t i = 0; i < s->service.port_count; i++) {
        const struct service_port *port = &s->service.ports[i];
        size_t count;
        (void)service_notes_of(&notes, port->name, &count);
        if (count == 0)
            continue;
        any = true;
        add_port(p, s, port, rank, &notes, rules, unprotected || port->node_port == 0);
        if (port->node_port == 0)
            remark(p, s, port->name, true,
                   "port %s has no nodePort: the Service's type is to be NodePort or LoadBalancer",
                   *port->name != '\0' ? port->name : "without a name");
    }
    if (!any)
        remark(p, s, NULL, true, "none of its ports has an annotation %s%sPORT.hostname, so none is served",
               rules->prefix != NULL ? rules->prefix : SERVICES_OWN_PREFIX, rules->prefix != NULL ? "." : "");
}

/* ---- who keeps what ---- */

static int order_of_age(const void *a, const void *b)
{
    const struct annotated_service *x = *(const struct annotated_service *const *)a,
                                   *y = *(const struct annotated_service *const *)b;
    int order = (x->created_us > y->created_us) - (x->created_us < y->created_us);
    return order != 0 ? order : strcmp(x->service.name, y->service.name);
}

static int order_of_texts(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

static int order_of_places(const void *a, const void *b)
{
    const struct service_route *x = a, *y = b;
    int order = strcmp(x->place, y->place);
    return order != 0 ? order : (x->listen_port > y->listen_port) - (x->listen_port < y->listen_port);
}

static int order_of_requests(const struct service_route *x, const struct service_route *y)
{
    int order = order_of_texts(x->options.hostname, y->options.hostname);
    if (order == 0) {
        size_t x_len = x->options.path != NULL ? strlen(x->options.path) : 0;
        size_t y_len = y->options.path != NULL ? strlen(y->options.path) : 0;
        order = (x_len < y_len) - (x_len > y_len);
    }
    return order != 0 ? order : order_of_texts(x->options.path, y->options.path);
}

/* Of one path the older stands first. */
static int order_of_routes(const void *a, const void *b)
{
    const struct service_route *x = a, *y = b;
    int order = order_of_places(a, b);
    if (order == 0)
        order = order_of_requests(x, y);
    if (order == 0)
        order = (x->rank > y->rank) - (x->rank < y->rank);
    if (order == 0)
        order = (x->port > y->port) - (x->port < y->port);
    return order != 0 ? order : x->redirect - y->redirect;
}

/* Of one frontend; what is for the address itself stands before what is for all. */
static int order_in_frontend(const void *a, const void *b)
{
    const struct service_route *const *x = a, *const *y = b;
    int order = order_of_requests(*x, *y);
    return order != 0 ? order : strcmp((*y)->place, (*x)->place);
}

static void refuse(struct services_plan *p, struct service_route *r, const char *by, const char *what)
{
    r->refused = true;
    remark(p, r->service, r->port->name, !r->redirect,
           "%sport %u at %s: %s Service %s, which is older or was served before", r->redirect ? "http-redirect: " : "",
           r->listen_port, r->place, what, by);
}

/* ---- hosts and ports have an owner ---- */

/* Routes are in the order of their Services' ages. */
static void claim_hosts(struct services_plan *p, const struct services_rules *rules)
{
    cleanup(service_owners_fini) struct service_owners owners = {0};
    for (unsigned incumbents = 2; incumbents-- > 0;)
        for (size_t i = 0; i < p->route_count; i++) {
            struct service_route *r = &p->routes[i];
            const char *host = r->options.hostname;
            bool shared = rules->any_owner;
            for (size_t k = 0; host != NULL && k < rules->shared_host_count && !shared; k++)
                shared = str_eq(host, rules->shared_hosts[k]);
            if (host == NULL || r->refused || shared)
                continue;
            const char *before = service_owners_find(rules->incumbents, host),
                       *owner = service_owners_find(&owners, host);
            owner = owner != NULL ? owner : service_owners_find(&p->owners, host);
            if (owner == NULL && (!incumbents || (before != NULL && is_of_namespace(r, before)))) {
                cleanup(mem_free_ptr) char *namespace = namespace_of(&r->service->service);
                service_owners_set(&owners, host, namespace);
            } else if (!incumbents && !is_of_namespace(r, owner)) {
                r->refused = true;
                remark(p, r->service, r->port->name, !r->redirect,
                       "host name %s is served for namespace %s; another namespace gets it only by SHARED_HOSTS or "
                       "HOST_OWNERSHIP=any",
                       host, owner);
            }
        }
}

char *services_place(const struct service_route *r)
{
    return mem_printf("%s:%u", r->place, r->listen_port);
}

/* How an address and port are served with that route. Allocates. */
static char *mode_of(const struct service_route *r)
{
    if (!r->options.tcp)
        return mem_strdup(r->options.tls && !r->redirect ? "https" : "http");
    cleanup(mem_free_ptr) char *namespace = namespace_of(&r->service->service);
    return mem_printf("tcp %s", namespace);
}

static bool has_tls(const struct service_route *r)
{
    return r->options.tls && !r->redirect;
}

/* Why r cannot be served together with other; NULL: it can. All addresses have each of them. */
static const char *why_not_beside(const struct service_route *r, const struct service_route *other)
{
    if (r->listen_port != other->listen_port)
        return NULL;
    bool same = str_eq(r->place, other->place);
    if (!same && !str_eq(r->place, ALL_ADDRESSES) && !str_eq(other->place, ALL_ADDRESSES))
        return NULL;
    if (r->options.tcp != other->options.tcp)
        return other->options.tcp ? "it is TCP by" : "it is HTTP by";
    if (r->options.tcp)
        return "it is TCP, and alone the port of";
    if (has_tls(r) != has_tls(other))
        return has_tls(other) ? "it is with TLS by" : "it is without TLS by";
    return NULL;
}

/* Who is served already for the requests that this program distinguishes. */
struct served {
    const struct service_route **kinds; /* one of each mode at each address and port */
    size_t count;
    struct service_owners requests;
};

static void claim_place(struct services_plan *p, struct served *served, struct service_route *r)
{
    bool known = false;
    for (size_t k = 0; k < served->count; k++) {
        const struct service_route *other = served->kinds[k];
        const char *why = why_not_beside(r, other);
        if (why != NULL) {
            refuse(p, r, other->service->service.name, why);
            return;
        }
        known = known || (str_eq(r->place, other->place) && r->listen_port == other->listen_port);
    }
    /* Of tcp each is alone. */
    cleanup(mem_free_ptr) char *request =
        mem_printf("%s:%u %s%s", r->place, r->listen_port, r->options.tcp ? "" : r->options.hostname,
                   r->options.path != NULL ? r->options.path : "");
    const char *by = service_owners_find(&served->requests, request);
    if (by != NULL) {
        refuse(p, r, by, "this host name and path are those of");
        return;
    }
    service_owners_set(&served->requests, request, r->service->service.name);
    if (!known)
        served->kinds[served->count++] = r;
}

/* Those that are served as before first, then by age. A redirect stands behind what it redirects to, and is nothing without it. */
static void claim_places(struct services_plan *p, const struct services_rules *rules)
{
    cleanup(mem_free_ptr) bool *done = mem_array(p->route_count, sizeof(done[0]));
    struct served served = {.kinds = mem_array(p->route_count, sizeof(served.kinds[0]))};
    for (unsigned incumbents = 2; incumbents-- > 0;)
        for (size_t i = 0; i < p->route_count; i++) {
            struct service_route *r = &p->routes[i];
            cleanup(mem_free_ptr) char *at = services_place(r), *mode = mode_of(r);
            bool waits = incumbents && !str_eq(service_owners_find(rules->incumbents, at), mode);
            if (done[i] || waits || (r->redirect && !done[i - 1]))
                continue;
            done[i] = true;
            r->refused = r->refused || (r->redirect && p->routes[i - 1].refused);
            if (!r->refused)
                claim_place(p, &served, r);
        }
    service_owners_fini(&served.requests);
    free(served.kinds);
}

/* What would be served and is left out: the reason is reported to each Service once. */
static void withhold(struct services_plan *p, const struct services_rules *rules)
{
    const struct annotated_service *told = NULL;
    for (size_t i = 0; rules->withheld != NULL && i < p->route_count; i++) {
        struct service_route *r = &p->routes[i];
        cleanup(mem_free_ptr) char *why = NULL;
        if (r->refused || !rules->withheld(rules->arg, r->service->service.name, &why))
            continue;
        r->refused = r->withheld = true;
        if (why != NULL && told != r->service)
            remark(p, r->service, NULL, true, "%s", why);
        told = r->service;
    }
}

/* What is served, for the plans to come. */
static void remember_owners(struct services_plan *p)
{
    for (size_t i = 0; i < p->route_count; i++) {
        const struct service_route *r = &p->routes[i];
        cleanup(mem_free_ptr) char *namespace = namespace_of(&r->service->service);
        cleanup(mem_free_ptr) char *at = services_place(r), *mode = mode_of(r);
        if (r->refused && !r->withheld)
            continue;
        if (r->options.hostname != NULL)
            service_owners_set(&p->owners, r->options.hostname, namespace);
        service_owners_set(&p->owners, at, mode);
    }
}

/* Adds what that port serves at all addresses. */
static void add_routes_of_all(const struct services_plan *p, struct service_frontend *f)
{
    size_t left = 0;
    const struct service_frontend *all = NULL;
    for (size_t i = 0; i < p->frontend_count && all == NULL; i++)
        if (str_eq(p->frontends[i].served->place, ALL_ADDRESSES) &&
            p->frontends[i].served->listen_port == f->served->listen_port)
            all = &p->frontends[i];
    if (all == NULL || all->served == f->served)
        return;
    f->routes = mem_resize(f->routes, f->count + all->count, sizeof(f->routes[0]));
    memcpy(&f->routes[f->count], all->routes, all->count * sizeof(f->routes[0]));
    f->count += all->count;
    qsort(f->routes, f->count, sizeof(f->routes[0]), order_in_frontend);
    for (size_t i = 0; i < f->count; i++)
        if (i == 0 || order_of_requests(f->routes[i - 1], f->routes[i]) != 0 ||
            str_eq(f->routes[i - 1]->place, f->routes[i]->place))
            f->routes[left++] = f->routes[i];
    f->count = left;
}

/* Routes of one address and port; "*" comes before the addresses. */
static void add_frontend(struct services_plan *p, size_t first, size_t end)
{
    struct service_frontend f = {.routes = mem_array(end - first, sizeof(f.routes[0]))};
    for (size_t i = first; i < end; i++)
        if (!p->routes[i].refused)
            f.routes[f.count++] = &p->routes[i];
    f.served = f.routes[0];
    if (f.count == 0) {
        free(f.routes);
        return;
    }
    add_routes_of_all(p, &f);
    p->frontends = mem_one_more(p->frontends, p->frontend_count, sizeof(p->frontends[0]));
    p->frontends[p->frontend_count++] = f;
}

static int order_of_remarks(const void *a, const void *b)
{
    const struct service_remark *x = a, *y = b;
    int order = strcmp(x->service->service.name, y->service->service.name);
    if (order == 0)
        order = order_of_texts(x->port, y->port);
    return order != 0 ? order : strcmp(x->text, y->text);
}

void services_plan_make(const struct annotated_service *const *services, size_t count,
                        const struct services_rules *rules, struct services_plan *ret)
{
    *ret = (struct services_plan){0};
    const struct annotated_service **by_age = mem_array(count, sizeof(by_age[0]));
    for (size_t i = 0; i < count; i++)
        by_age[i] = services[i];
    if (count > 0)
        qsort(by_age, count, sizeof(by_age[0]), order_of_age);
    for (size_t i = 0; i < count; i++)
        add_service(ret, by_age[i], i, rules);
    free(by_age);
    if (rules->held != NULL && rules->incumbents != NULL)
        service_owners_keep(&ret->owners, rules->incumbents, rules->held);
    claim_hosts(ret, rules);
    claim_places(ret, rules);
    withhold(ret, rules);
    if (ret->route_count > 0)
        qsort(ret->routes, ret->route_count, sizeof(ret->routes[0]), order_of_routes);
    for (size_t first = 0, end; first < ret->route_count; first = end) {
        for (end = first + 1; end < ret->route_count; end++)
            if (order_of_places(&ret->routes[first], &ret->routes[end]) != 0)
                break;
        add_frontend(ret, first, end);
    }
    remember_owners(ret);
    if (ret->remark_count > 0)
        qsort(ret->remarks, ret->remark_count, sizeof(ret->remarks[0]), order_of_remarks);
}

void services_plan_fini(struct services_plan *p)
{
    for (size_t i = 0; i < p->route_count; i++) {
        if (!p->routes[i].redirect)
            port_options_fini(&p->routes[i].options);
        free(p->routes[i].backend);
    }
    for (size_t i = 0; i < p->remark_count; i++)
        free(p->remarks[i].text);
    for (size_t i = 0; i < p->frontend_count; i++)
        free(p->frontends[i].routes);
    mem_free_all(p->routes, p->frontends, p->remarks);
    service_owners_fini(&p->owners);
    tally_fini(&p->ports);
    tally_fini(&p->bytes);
    *p = (struct services_plan){0};
}
