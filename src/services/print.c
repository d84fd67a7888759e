#include "services/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define INDENT "    "

/* ---- frontends ---- */

static void print_certificates(const struct service_frontend *f, const struct services_print *how, struct buf *out)
{
    cleanup(buf_fini) struct buf list = {0};
    if (how->default_certificate != NULL)
        buf_printf(out, " crt %s", how->default_certificate);
    if (services_uses_file(f, SERVICES_CERTIFICATES, how)) {
        cleanup(mem_free_ptr) char *name = services_file_name(f, SERVICES_CERTIFICATES);
        buf_printf(out, " crt-list %s%s", how->lists, name);
        /* Else the first of the list is shown to whoever asks for a name that is nobody's. */
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

/* A path is meant with all below it. */
static void print_condition(const struct service_route *r, struct buf *out)
{
    const struct port_options *o = &r->options;
    buf_printf(out, " if { req.hdr(host) -i %s %s:%u }", o->hostname, o->hostname, r->listen_port);
    if (o->path != NULL)
        buf_printf(out, " { path %s } || { req.hdr(host) -i %s %s:%u } { path_beg %s/ }", o->path, o->hostname,
                   o->hostname, r->listen_port, o->path);
    buf_add(out, "\n");
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
    print_condition(r, out);
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
        if (services_may_redirect(f))
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

static void print_health_check(const struct port_options *o, struct buf *out)
{
    if (o->health_path == NULL)
        return;
    buf_printf(out, INDENT "option httpchk\n" INDENT "http-check send meth GET uri %s", o->health_path);
    if (o->hostname != NULL)
        buf_printf(out, " ver HTTP/1.1 hdr host %s", o->hostname);
    buf_add(out, "\n");
}

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
        print_health_check(o, out);
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
