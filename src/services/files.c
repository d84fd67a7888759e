#include "services/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

bool services_may_redirect(const struct service_frontend *f)
{
    const struct service_route *r = f->served;
    return r->listen_port == SERVICES_REDIRECT_PORT && !r->options.tcp && (r->redirect || !r->options.tls);
}

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

static void print_host(const struct service_route *r, struct buf *out)
{
    const char *host = r->options.hostname;
    buf_printf(out, "%s %s\n%s:%u %s\n", host, host, host, r->listen_port, host);
}

char *services_redirect_text(const struct service_route *r)
{
    const struct port_options *o = &r->options;
    return o->listen_port == 443 ? mem_printf(SERVICES_REDIRECT "%s", o->hostname)
                                 : mem_printf(SERVICES_REDIRECT "%s:%u", o->hostname, o->listen_port);
}

static void print_path(const struct service_route *r, struct buf *out)
{
    const struct port_options *o = &r->options;
    buf_printf(out, "%s%s/ ", o->hostname, o->path != NULL ? o->path : "");
    cleanup(mem_free_ptr) char *sends = r->redirect ? services_redirect_text(r) : NULL;
    buf_printf(out, "%s\n", sends != NULL ? sends : r->backend);
}

static void print_map(const struct service_frontend *f, enum services_file which, struct buf *out)
{
    const struct service_route *before = NULL;
    for (size_t i = 0; i < f->count; i++) {
        const struct service_route *r = f->routes[i];
        if (which == SERVICES_PATHS)
            print_path(r, out);
        else if (before == NULL || !str_eq(before->options.hostname, r->options.hostname))
            print_host(r, out);
        before = r;
    }
}

/* ---- certificates ---- */

static char *certificate_path(const struct port_options *o, const struct services_print *how)
{
    return o->secret != NULL ? how->secret(how->arg, o->secret)
                             : mem_printf("%s/%s", how->certificates, o->certificate);
}

/* Names of one certificate that stand in a line: HAProxy takes 2,048 words and 64 KiB. */
#define NAMES_A_LINE 200

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
static void print_certificates(const struct service_frontend *f, const struct services_print *how, bool filtered,
                               struct buf *out)
{
    struct shown *list = mem_array(f->count, sizeof(list[0]));
    size_t count = 0, names = 0;
    for (size_t i = 0; i < f->count; i++) {
        const struct service_route *r = f->routes[i];
        const char *host = filtered && !r->options.tcp ? r->options.hostname : NULL;
        list[count++] = (struct shown){certificate_path(&r->options, how), host};
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
        print_certificates(f, how, how->maps != NULL, out);
    else
        print_map(f, which, out);
}

/* HAProxy takes 64 words a line. */
#define CERTIFICATES_INLINE 28

bool services_uses_file(const struct service_frontend *f, enum services_file which, const struct services_print *how)
{
    cleanup(buf_fini) struct buf list = {0};
    size_t lines = 0;
    if (!services_has_file(f, which) || how->maps != NULL)
        return services_has_file(f, which);
    if (which != SERVICES_CERTIFICATES)
        return false;
    print_certificates(f, how, false, &list);
    for (const char *c = buf_str(&list); *c != '\0'; c++)
        lines += *c == '\n';
    return lines > CERTIFICATES_INLINE;
}
