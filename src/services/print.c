/* A plan as text: the files of a frontend, haproxy.cfg, and for people what came of each annotation. */
#include "services/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#define INDENT "    "
#define NAMES_A_LINE 200       /* of one certificate: HAProxy takes 2,048 words and 64 KiB */
#define CERTIFICATES_INLINE 28 /* HAProxy takes 64 words a line */

/* ---- files ---- */

bool services_has_file(const struct service_frontend *f, enum services_file which)
{
    const struct service_route *r = f->served;
    return which == SERVICES_CERTIFICATES ? r->options.tls && !r->redirect : !r->options.tcp;
}

char *services_file_name(const struct service_frontend *f, enum services_file which)
{
    static const char *const names[SERVICES_FILES] = {"hosts.map", "paths.map", "certificates.list"};
    const struct service_route *r = f->served;
    cleanup(mem_free_ptr) char *place = mem_strdup(str_eq(r->place, "*") ? "all" : r->place);
    for (char *c = place; *c != '\0'; c++)
        *c = (char)(*c == '.' ? '_' : *c == ':' ? '-' : *c);
    return mem_printf(SERVICES_FILES_PREFIX "%s_%u_%s", place, r->listen_port, names[which]);
}

/* ---- maps ---- */

char *services_redirect_text(const struct service_route *r)
{
    const struct port_options *o = &r->options;
    return o->listen_port == 443 ? mem_printf(SERVICES_REDIRECT "%s", o->hostname)
                                 : mem_printf(SERVICES_REDIRECT "%s:%u", o->hostname, o->listen_port);
}

static void print_map(const struct service_frontend *f, enum services_file which, struct buf *out)
{
    const char *before = NULL;
    for (size_t i = 0; i < f->count; i++) {
        const struct service_route *r = f->routes[i];
        const char *host = r->options.hostname, *path = r->options.path;
        if (which == SERVICES_PATHS) {
            cleanup(mem_free_ptr) char *sends = r->redirect ? services_redirect_text(r) : NULL;
            buf_printf(out, "%s%s/ %s\n", host, path != NULL ? path : "", sends != NULL ? sends : r->backend);
        } else if (!str_eq(before, host)) {
            buf_printf(out, "%s %s\n%s:%u %s\n", host, host, host, r->listen_port, host);
        }
        before = host;
    }
}

/* ---- certificates ---- */

struct shown {
    char *path;
    const char *host; /* NULL: for each that a client may ask for */
};

static int order_of_shown(const void *a, const void *b)
{
    const struct shown *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    return order != 0 ? order : strcmp(x->host != NULL ? x->host : "", y->host != NULL ? y->host : "");
}

/* Each once; filtered: with the names that it is shown for, which are those of its routes and no others that stand in it. */
static void print_certificate_list(const struct service_frontend *f, const struct services_print *how, bool filtered,
                                   struct buf *out)
{
    struct shown *list = mem_array(f->count, sizeof(list[0]));
    size_t count = 0, names = 0;
    for (size_t i = 0; i < f->count; i++) {
        const struct service_route *r = f->routes[i];
        const char *host = filtered && !r->options.tcp ? r->options.hostname : NULL;
        const struct port_options *o = &r->options;
        list[count++] = (struct shown){o->secret != NULL ? how->secret(how->arg, o->secret)
                                                         : mem_printf("%s/%s", how->certificates, o->certificate),
                                       host};
    }
    if (count > 0)
        qsort(list, count, sizeof(list[0]), order_of_shown);
    for (size_t i = 0; i < count; i++) {
        bool same = i > 0 && str_eq(list[i - 1].path, list[i].path);
        if (same && str_eq(list[i - 1].host, list[i].host))
            continue;
        names = same && names < NAMES_A_LINE ? names + 1 : 0;
        if (names == 0)
            buf_printf(out, "%s%s", i > 0 ? "\n" : "", list[i].path);
        if (list[i].host != NULL)
            buf_printf(out, " %s", list[i].host);
    }
    buf_add(out, count > 0 ? "\n" : "");
    for (size_t i = 0; i < count; i++)
        free(list[i].path);
    free(list);
}

void services_file_print(const struct service_frontend *f, enum services_file which, const struct services_print *how,
                         struct buf *out)
{
    buf_add(out, "");
    if (which == SERVICES_CERTIFICATES)
        print_certificate_list(f, how, how->maps != NULL, out);
    else
        print_map(f, which, out);
}

bool services_uses_file(const struct service_frontend *f, enum services_file which, const struct services_print *how)
{
    cleanup(buf_fini) struct buf list = {0};
    size_t lines = 0;
    if (!services_has_file(f, which) || how->maps != NULL)
        return services_has_file(f, which);
    if (which != SERVICES_CERTIFICATES)
        return false;
    print_certificate_list(f, how, false, &list);
    for (const char *c = buf_str(&list); *c != '\0'; c++)
        lines += *c == '\n';
    return lines > CERTIFICATES_INLINE;
}

/* ---- frontends ---- */

static void print_certificates(const struct service_frontend *f, const struct services_print *how, struct buf *out)
{
    cleanup(buf_fini) struct buf list = {0};
    if (how->default_certificate != NULL)
        buf_printf(out, " crt %s", how->default_certificate);
    if (services_uses_file(f, SERVICES_CERTIFICATES, how)) {
        cleanup(mem_free_ptr) char *name = services_file_name(f, SERVICES_CERTIFICATES);
        buf_printf(out, " crt-list %s%s", how->lists, name);
        /* Else a client that asks for a name that no route has would be shown the first of the list. */
        if (how->maps != NULL && !f->served->options.tcp && how->default_certificate == NULL)
            buf_add(out, " strict-sni");
        return;
    }
    services_file_print(f, SERVICES_CERTIFICATES, how, &list);
    char *rest = list.data;
    for (char *path; (path = strsep(&rest, "\n")) != NULL;)
        if (*path != '\0')
            buf_printf(out, " crt %s", path);
}

/* The same as the lookup, without a map. */
static void print_route(const struct service_route *r, struct buf *out)
{
    const struct port_options *o = &r->options;
    if (r->redirect)
        buf_printf(out, INDENT "http-request redirect location https://%s", o->hostname);
    else
        buf_printf(out, INDENT "use_backend %s", r->backend);
    if (r->redirect && o->listen_port != 443)
        buf_printf(out, ":%u", o->listen_port);
    buf_add(out, r->redirect ? "%[capture.req.uri] code 301" : "");
    buf_printf(out, " if { req.hdr(host) -i %s %s:%u }", o->hostname, o->hostname, r->listen_port);
    if (o->path != NULL) /* it is meant with all below it */
        buf_printf(out, " { path %s } || { req.hdr(host) -i %s %s:%u } { path_beg %s/ }", o->path, o->hostname,
                   o->hostname, r->listen_port, o->path);
    buf_add(out, "\n");
}

/* What a client says of itself, applications would take for the load balancer's word. */
static void print_forwarded(bool tls, const struct services_print *how, struct buf *out)
{
    cleanup(buf_fini) struct buf unless = {0};
    buf_add(&unless, how->trusted_count > 0 ? " unless { src" : "");
    for (size_t i = 0; i < how->trusted_count; i++)
        buf_printf(&unless, " %s", how->trusted[i]);
    buf_add(&unless, how->trusted_count > 0 ? " }\n" : "\n");
    buf_printf(out, INDENT "http-request set-header x-forwarded-proto %s%s", tls ? "https" : "http", buf_str(&unless));
    buf_printf(out, INDENT "http-request del-header x-forwarded-for%s", buf_str(&unless));
    buf_add(out, INDENT "http-request add-header x-forwarded-for %[src]\n");
    buf_printf(out, INDENT "http-request set-header x-real-ip %%[src]%s", buf_str(&unless));
    buf_printf(out, INDENT "http-request del-header forwarded%s", buf_str(&unless));
    buf_printf(out, INDENT "http-request del-header x-forwarded-host%s", buf_str(&unless));
    buf_printf(out, INDENT "http-request del-header x-forwarded-port%s", buf_str(&unless));
}

static void print_frontend(const struct service_frontend *f, const struct services_print *how, struct buf *out)
{
    const struct service_route *first = f->served;
    bool tls = first->options.tls && !first->redirect;
    cleanup(mem_free_ptr) char *at = str_host_port(first->place, first->listen_port);
    buf_printf(out, "frontend k8s-service_%s_%u_listen\n", str_eq(first->place, "*") ? "all" : first->place,
               first->listen_port);
    buf_printf(out, INDENT "mode %s\n" INDENT "bind %s%s", first->options.tcp ? "tcp" : "http", at, tls ? " ssl" : "");
    if (tls)
        print_certificates(f, how, out);
    buf_add(out, "\n");
    if (!first->options.tcp)
        print_forwarded(tls, how, out);
    if (!first->options.tcp && how->maps != NULL) {
        /* The host of a request, as a map knows it; then what the longest path below it that a map has is for. */
        const char *maps = how->maps;
        cleanup(mem_free_ptr) char *hosts = services_file_name(f, SERVICES_HOSTS);
        cleanup(mem_free_ptr) char *paths = services_file_name(f, SERVICES_PATHS);
        buf_printf(out, INDENT "http-request set-var(txn.k8s_host) req.hdr(host),lower,map_str(%s%s)\n", maps, hosts);
        buf_add(out, INDENT "http-request set-var-fmt(txn.k8s_path) \"%[var(txn.k8s_host)]%[path]/\"\n");
        buf_printf(out, INDENT "http-request set-var(txn.k8s_to) var(txn.k8s_path),map_beg(%s%s)\n", maps, paths);
        /* Where a route may be a redirect, now or later. */
        if (first->listen_port == SERVICES_REDIRECT_PORT && (first->redirect || !first->options.tls))
            buf_add(out, INDENT "http-request redirect location \"%[var(txn.k8s_to)]%[capture.req.uri]\" code 301 if { "
                                "var(txn.k8s_to) -m beg " SERVICES_REDIRECT " }\n");
        buf_add(out, INDENT "use_backend %[var(txn.k8s_to)] if { var(txn.k8s_to) -m found }\n");
    }
    for (size_t i = 0; i < f->count && (first->options.tcp || how->maps == NULL); i++)
        if (first->options.tcp)
            buf_printf(out, INDENT "default_backend %s\n", f->routes[i]->backend);
        else
            print_route(f->routes[i], out);
    buf_add(out, "\n");
}

/* ---- backends ---- */

static int order_of_backends(const void *a, const void *b)
{
    const struct service_route *const *x = a, *const *y = b;
    return strcmp((*x)->backend, (*y)->backend);
}

/* By their names: which host or path leads to one moves none of them, as the order in the file takes a reload. */
static void print_backends(const struct services_plan *p, const struct services_print *how, struct buf *out)
{
    cleanup(mem_free_ptr) const struct service_route **list = mem_array(p->route_count, sizeof(list[0]));
    size_t count = 0;
    for (size_t i = 0; i < p->route_count; i++)
        if (!p->routes[i].refused && !p->routes[i].redirect)
            list[count++] = &p->routes[i];
    if (count > 1)
        qsort(list, count, sizeof(list[0]), order_of_backends);
    for (size_t i = 0; i < count; i++) {
        const struct service_route *r = list[i];
        const struct port_options *o = &r->options;
        buf_printf(out, "backend %s\n" INDENT "mode %s\n" INDENT "balance %s\n", r->backend, o->tcp ? "tcp" : "http",
                   o->balance);
        if (o->health_path != NULL) {
            buf_printf(out, INDENT "option httpchk\n" INDENT "http-check send meth GET uri %s", o->health_path);
            if (o->hostname != NULL)
                buf_printf(out, " ver HTTP/1.1 hdr host %s", o->hostname);
            buf_add(out, "\n");
        }
        buf_add(out, INDENT "default-server check");
        if (o->backends_tls)
            buf_add(out, o->backends_verify ? " ssl verify required ca-file @system-ca" : " ssl verify none");
        buf_add(out, o->proxy_v2 ? " send-proxy-v2 check-send-proxy\n" : "\n");
        how->servers(how->arg, r, out);
        buf_add(out, "\n");
    }
}

void services_plan_print(const struct services_plan *p, const struct services_print *how, struct buf *out)
{
    for (size_t i = 0; i < p->frontend_count; i++)
        print_frontend(&p->frontends[i], how, out);
    print_backends(p, how, out);
}

/* ---- for people ---- */

static void explain_port(const struct services_plan *p, const struct annotated_service *s,
                         const struct service_port *port, const struct service_notes *notes, struct buf *out)
{
    const struct service_route *r = NULL;
    for (size_t i = 0; i < p->route_count && r == NULL; i++)
        if (p->routes[i].service == s && p->routes[i].port == port && !p->routes[i].redirect)
            r = &p->routes[i];
    buf_printf(out, "port %s%s%u", port->name, *port->name != '\0' ? ", " : "", port->number);
    if (port->node_port != 0)
        buf_printf(out, ", nodePort %u", port->node_port);
    if (r != NULL && !r->refused) {
        cleanup(mem_free_ptr) char *at = str_host_port(r->place, r->listen_port);
        buf_printf(out, ": served at %s by backend %s\n", at, r->backend);
    } else {
        buf_add(out, ": not served\n");
    }
    for (size_t i = 0; i < service_option_count; i++) {
        const struct service_option *o = &service_options[i];
        const struct object_annotation *a = service_notes_find(notes, port->name, o->name);
        buf_printf(out, "    %-24s ", o->name);
        if (a != NULL) {
            text_add(out, a->value, TEXT_TERMINAL, 200);
            buf_printf(out, " (%s)\n", a->name);
        } else {
            buf_printf(out, "%s (default)\n", o->fallback);
        }
    }
}

void services_explain(const struct services_plan *p, const struct annotated_service *s,
                      const struct services_rules *rules, struct buf *out)
{
    cleanup(service_notes_fini) struct service_notes notes;
    service_notes_init(&notes, s, rules->prefix);
    buf_printf(out, "Service %s\n", s->service.name);
    for (size_t i = 0; i < s->service.port_count; i++)
        explain_port(p, s, &s->service.ports[i], &notes, out);
    for (size_t i = 0; i < p->remark_count; i++) {
        if (p->remarks[i].service != s)
            continue;
        buf_add(out, p->remarks[i].refused ? "not served: " : "no effect: ");
        text_add(out, p->remarks[i].text, TEXT_TERMINAL, TEXT_WHOLE);
        buf_add(out, "\n");
    }
}
