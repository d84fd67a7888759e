/* src/services/plan: who is served where; a text of Services in, a text of haproxy.cfg and of remarks out. */

#include "../dice.h"
#include "../test.h"
#include "haproxy/storage_files.h"
#include "services/plan.h"

#define OLD "haproxy-kubefigurator"
#define SERVICES_MAX 32
#define PORTS_MAX 4
#define NOTES_MAX 16

/* Services as a test says them: their age stands in front of the name. */
struct said {
    struct annotated_service list[SERVICES_MAX];
    struct service_port ports[SERVICES_MAX][PORTS_MAX];
    struct object_annotation notes[SERVICES_MAX][NOTES_MAX];
    const struct annotated_service *pointers[SERVICES_MAX];
    size_t count;
    char *words;
};

static uint16_t number_of(const char *text)
{
    uint64_t number = 0;
    ck_assert_msg(text != NULL && str_parse_uint(text, 65535, &number) == 0, "\"%s\"", text != NULL ? text : "none");
    return (uint16_t)number;
}

/* "3:ns/web https/443:30443 https.hostname=a.example own:https.path=/b": a Service a line. */
static void said_read_service(struct said *s, char *line)
{
    struct annotated_service *a = &s->list[s->count];
    *a = (struct annotated_service){.annotations = s->notes[s->count]};
    a->service.type = SERVICE_NODE_PORT;
    a->service.ports = s->ports[s->count];
    a->created_us = number_of(strsep(&line, ":"));
    a->service.name = strsep(&line, " ");
    for (char *word; (word = strsep(&line, " ")) != NULL;) {
        char *value = strchr(word, '='), *slash = strchr(word, '/');
        if (value == NULL) {
            char *name = strsep(&word, "/");
            ck_assert_ptr_nonnull(slash);
            uint16_t number = number_of(strsep(&word, ":"));
            a->service.ports[a->service.port_count++] =
                (struct service_port){name, number, word != NULL ? number_of(word) : 0};
            continue;
        }
        *value++ = '\0';
        bool own = str_has_prefix(word, "own:"), other = str_has_prefix(word, "other:");
        a->annotations[a->annotation_count++] =
            (struct object_annotation){own     ? mem_printf(SERVICES_OWN_PREFIX "%s", word + strlen("own:"))
                                       : other ? mem_strdup(word + strlen("other:"))
                                               : mem_printf(OLD ".%s", word),
                                       mem_strdup(value)};
    }
    s->pointers[s->count] = a;
    s->count++;
}

static void said_read(struct said *s, const char *text)
{
    memset(s, 0, sizeof(*s));
    s->words = mem_strdup(text);
    char *rest = s->words;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (*line != '\0')
            said_read_service(s, line);
}

static void said_fini(struct said *s)
{
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < s->list[i].annotation_count; k++) {
            free(s->notes[i][k].name);
            free(s->notes[i][k].value);
        }
    free(s->words);
}

static bool has_certificate(void *arg, const char *name)
{
    return !str_eq(name, "missing.example.pem");
}

static bool has_secret(void *arg, const char *name, const char *service, struct buf *why)
{
    (void)service;
    if (str_has_suffix(name, "/gone"))
        buf_add(why, "it does not exist");
    return !str_has_suffix(name, "/gone");
}

static char *path_of_secret(void *arg, const char *name)
{
    return mem_printf("/secrets/%s", name);
}

static bool is_taken(void *arg, const char *place, uint16_t port, struct buf *by)
{
    if (str_eq(place, "*") && port == 444)
        buf_add(by, "/haproxy.cfg, line 12");
    return str_eq(place, "*") && port == 444;
}

static const struct services_rules rules = {.options = {.cluster = "east"},
                                            .prefix = OLD,
                                            .has_certificate = has_certificate,
                                            .has_secret = has_secret,
                                            .is_taken = is_taken};

static void print_server(void *arg, const struct service_route *r, struct buf *out)
{
    buf_printf(out, "    server n1 10.0.0.1:%u\n", r->port->node_port);
}

static void print(const struct services_plan *p, struct buf *out)
{
    const struct services_print how = {.certificates = "/certs",
                                       .maps = "/maps/",
                                       .lists = "/lists/",
                                       .secret = path_of_secret,
                                       .servers = print_server};
    services_plan_print(p, &how, out);
    for (size_t i = 0; i < p->frontend_count; i++)
        for (unsigned which = 0; which < SERVICES_FILES; which++) {
            const struct service_frontend *f = &p->frontends[i];
            cleanup(mem_free_ptr) char *name = services_file_name(f, which);
            if (!services_has_file(f, which))
                continue;
            buf_printf(out, "%s\n", name);
            services_file_print(f, which, &how, out);
        }
    for (size_t i = 0; i < p->remark_count; i++) {
        const struct service_remark *r = &p->remarks[i];
        buf_printf(out, "%s %s: %s\n", r->refused ? "refused" : "noted", r->service->service.name, r->text);
    }
}

static char *plan_text(const char *services)
{
    struct said s;
    struct services_plan p;
    struct buf out = {0};
    said_read(&s, services);
    services_plan_make(s.pointers, s.count, &rules, &p);
    print(&p, &out);
    services_plan_fini(&p);
    said_fini(&s);
    return buf_take(&out);
}

/* What is the same in all rows, where place is that of names: all_443. */
static void expand_lookup(const char *of, bool redirects, struct buf *out)
{
    buf_printf(out,
               "    http-request set-var(txn.k8s_host) req.hdr(host),lower,map_str(/maps/k8s-service_%s_hosts.map)\n",
               of);
    buf_add(out, "    http-request set-var-fmt(txn.k8s_path) \"%[var(txn.k8s_host)]%[path]/\"\n");
    buf_printf(out, "    http-request set-var(txn.k8s_to) var(txn.k8s_path),map_beg(/maps/k8s-service_%s_paths.map)\n",
               of);
    if (redirects)
        buf_add(out, "    http-request redirect location \"%[var(txn.k8s_to)]%[capture.req.uri]\" code 301 if { "
                     "var(txn.k8s_to) -m beg https:// }\n");
    buf_add(out, "    use_backend %[var(txn.k8s_to)] if { var(txn.k8s_to) -m found }\n");
}

static void expand_backend(char *words, struct buf *out)
{
    const char *name = strsep(&words, " "), *mode = strsep(&words, " ");
    bool tls = str_eq(strsep(&words, " "), "tls");
    buf_printf(out, "backend k8s-service_%s_backend\n    mode %s\n    balance roundrobin\n    default-server check%s\n",
               name, mode, tls ? " ssl verify none" : "");
    buf_printf(out, "    server n1 10.0.0.1:%s\n\n", words);
}

/* "tls 443", "redirects 80", "plain fd00::1 81 fd00--1_81": a frontend of HTTP with its lookup */
static void expand_frontend(const char *kind, char *words, struct buf *out)
{
    const char *place = str_eq(kind, "plain") ? strsep(&words, " ") : "all", *port = strsep(&words, " ");
    cleanup(mem_free_ptr) char *all = mem_printf("all_%s", port);
    const char *bind = str_eq(place, "all") ? "*" : place, *maps = words != NULL ? words : all;
    bool v6 = strchr(place, ':') != NULL, tls = str_eq(kind, "tls");
    buf_printf(out, "frontend k8s-service_%s_%s_listen\n    mode http\n    bind %s%s%s:%s", place, port, v6 ? "[" : "",
               bind, v6 ? "]" : "", port);
    if (tls)
        buf_printf(out, " ssl crt-list /lists/k8s-service_%s_certificates.list strict-sni", all);
    buf_printf(out,
               "\n    http-request set-header x-forwarded-proto %s\n"
               "    http-request del-header x-forwarded-for\n"
               "    http-request add-header x-forwarded-for %%[src]\n"
               "    http-request set-header x-real-ip %%[src]\n"
               "    http-request del-header forwarded\n"
               "    http-request del-header x-forwarded-host\n"
               "    http-request del-header x-forwarded-port\n",
               tls ? "https" : "http");
    expand_lookup(maps, str_eq(kind, "redirects"), out);
    buf_add(out, "\n");
}

/* "FILE=NAME,NAME" */
static void expand_names(const char *word, struct buf *out)
{
    for (; *word != '\0'; word++)
        buf_printf(out, "%c", *word == '=' || *word == ',' ? ' ' : *word);
    buf_add(out, "\n");
}

/* "hosts all_443 443 x.example": the names with and without the port; "paths PLACE", "certificates PLACE FILE=NAME,NAME": what follows */
static void expand_file(const char *kind, char *words, struct buf *out)
{
    bool hosts = str_eq(kind, "hosts");
    buf_printf(out, "k8s-service_%s_%s.%s\n", strsep(&words, " "), kind, str_eq(kind, "certificates") ? "list" : "map");
    const char *port = hosts ? strsep(&words, " ") : NULL;
    for (const char *word; (word = strsep(&words, " ")) != NULL;)
        if (hosts)
            buf_printf(out, "%s %s\n%s:%s %s\n", word, word, word, port, word);
        else if (str_eq(kind, "certificates"))
            expand_names(word, out);
        else
            buf_printf(out, "%s\n", word);
}

static char *expanded(const char *text)
{
    cleanup(mem_free_ptr) char *copy = mem_strndup(text, strlen(text) - 1);
    struct buf out = {0};
    char *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        const char *word = line[0] == '+' ? strsep(&line, " ") + 1 : NULL;
        if (word == NULL)
            buf_printf(&out, "%s\n", line);
        else if (str_eq(word, "backend"))
            expand_backend(line, &out);
        else if (str_eq(word, "hosts") || str_eq(word, "paths") || str_eq(word, "certificates"))
            expand_file(word, line, &out);
        else
            expand_frontend(word, line, &out);
    }
    return buf_take(&out);
}

static const struct {
    const char *services, *makes;
} rows[] = {
    /* The older system's example. */
    {
        "1:kube-system/kubernetes-dashboard web-ui/443:30443 web-ui.hostname=CLUSTER-dashboard.ds.example.com",
        "+tls 443\n+backend kube-system_kubernetes-dashboard_web-ui http tls 30443\n"
        "k8s-service_all_443_hosts.map\n"
        "east-dashboard.ds.example.com east-dashboard.ds.example.com\n"
        "east-dashboard.ds.example.com:443 east-dashboard.ds.example.com\n"
        "k8s-service_all_443_paths.map\n"
        "east-dashboard.ds.example.com/ k8s-service_kube-system_kubernetes-dashboard_web-ui_backend\n"
        "k8s-service_all_443_certificates.list\n"
        "/certs/east-dashboard.ds.example.com.pem east-dashboard.ds.example.com\n",
    },
    /* TCP, at an address of IPv6: no map */
    {
        "1:a/db p/5432:30001 p.haproxy-mode=tcp p.listen-port=5432 p.listen-ip=fd00::1",
        "frontend k8s-service_fd00::1_5432_listen\n"
        "    mode tcp\n"
        "    bind [fd00::1]:5432\n"
        "    default_backend k8s-service_a_db_p_backend\n"
        "\n"
        "+backend a_db_p tcp plain 30001\n",
    },
    /* names of maps have neither of an address's ':' and '.' */
    {
        "1:a/b p/80:30001 p.hostname=x.example p.use-ssl=false p.listen-port=81 p.listen-ip=fd00::1\n"
        "2:a/c p/80:30002 p.hostname=x.example p.use-ssl=false p.listen-port=81 p.listen-ip=10.0.0.1",
        "+plain 10.0.0.1 81 10_0_0_1_81\n+plain fd00::1 81 fd00--1_81\n"
        "+backend a_b_p http plain 30001\n+backend a_c_p http plain 30002\n"
        "+hosts 10_0_0_1_81 81 x.example\n+paths 10_0_0_1_81\nx.example/ k8s-service_a_c_p_backend\n"
        "+hosts fd00--1_81 81 x.example\n+paths fd00--1_81\nx.example/ k8s-service_a_b_p_backend\n",
    },
    /* a listener at one address takes its connections from the one at all: it serves those hosts, too; of one path its own counts */
    {
        "1:bank/b p/80:30001 p.hostname=x.example p.use-ssl=false p.listen-port=81\n"
        "2:bank/b2 p/80:30002 p.hostname=x.example p.path=/a p.use-ssl=false p.listen-port=81\n"
        "3:evil/c p/80:30003 p.hostname=y.example p.use-ssl=false p.listen-port=81 p.listen-ip=10.0.0.1\n"
        "4:bank/d p/80:30004 p.hostname=x.example p.path=/a p.use-ssl=false p.listen-port=81 p.listen-ip=10.0.0.1",
        "+plain all 81\n+plain 10.0.0.1 81 10_0_0_1_81\n"
        "+backend bank_b2_p http plain 30002\n+backend bank_b_p http plain 30001\n"
        "+backend bank_d_p http plain 30004\n+backend evil_c_p http plain 30003\n"
        "+hosts all_81 81 x.example\n+paths all_81\nx.example/a/ k8s-service_bank_b2_p_backend\n"
        "x.example/ k8s-service_bank_b_p_backend\n"
        "+hosts 10_0_0_1_81 81 x.example y.example\n+paths 10_0_0_1_81\nx.example/a/ k8s-service_bank_d_p_backend\n"
        "x.example/ k8s-service_bank_b_p_backend\ny.example/ k8s-service_evil_c_p_backend\n",
    },
    /* a port without a name; ours counts more than the other one's */
    {
        "1:a/b /80:30001 own:hostname=x.example .use-ssl=false own:listen-port=80 .listen-port=81 own:paused=true "
        "other:" OLD "s.path=/x",
        "+redirects 80\n+backend a_b_ http plain 30001\n"
        "+hosts all_80 80 x.example\n+paths all_80\nx.example/ k8s-service_a_b__backend\n",
    },
    /* a host once, however many paths; certificates once each */
    {
        "1:a/b p/80:30001 p.hostname=x.example\n2:a/c p/80:30002 p.hostname=x.example p.path=/long/er\n"
        "3:a/d p/80:30003 p.hostname=x.example p.path=/long",
        "+tls 443\n+backend a_b_p http tls 30001\n+backend a_c_p http tls 30002\n+backend a_d_p http tls 30003\n"
        "+hosts all_443 443 x.example\n+paths all_443\nx.example/long/er/ k8s-service_a_c_p_backend\n"
        "x.example/long/ k8s-service_a_d_p_backend\nx.example/ k8s-service_a_b_p_backend\n"
        "+certificates all_443 /certs/x.example.pem=x.example\n",
    },
    /* certificates of Secrets, of its own namespace, beside one of a file */
    {
        "1:a/b p/80:30001 p.hostname=x.example p.ssl-certificate=secret:tls\n"
        "2:a/c p/80:30002 p.hostname=y.example p.ssl-certificate=secret:a/tls\n3:b/d p/80:30003 p.hostname=z.example",
        "+tls 443\n+backend a_b_p http tls 30001\n+backend a_c_p http tls 30002\n+backend b_d_p http tls 30003\n"
        "+hosts all_443 443 x.example y.example z.example\n+paths all_443\nx.example/ k8s-service_a_b_p_backend\n"
        "y.example/ k8s-service_a_c_p_backend\nz.example/ k8s-service_b_d_p_backend\n"
        "+certificates all_443 /certs/z.example.pem=z.example /secrets/a/tls=x.example,y.example\n",
    },
    /* all of a backend; redirects, which are a frontend of their own */
    {
        "1:a/b p/80:30001 p.hostname=x.example p.listen-port=8443 p.http-redirect=true p.health-path=/up "
        "p.send-proxy-v2=true p.backends-verify-ssl=true\n"
        "2:a/c p/80:30002 p.hostname=y.example p.path=/y p.http-redirect=true",
        "+redirects 80\n+tls 443\n+tls 8443\n"
        "backend k8s-service_a_b_p_backend\n    mode http\n    balance roundrobin\n    option httpchk\n"
        "    http-check send meth GET uri /up ver HTTP/1.1 hdr host x.example\n"
        "    default-server check ssl verify required ca-file @system-ca send-proxy-v2 check-send-proxy\n"
        "    server n1 10.0.0.1:30001\n\n"
        "+backend a_c_p http tls 30002\n"
        "+hosts all_80 80 x.example y.example\n"
        "+paths all_80\nx.example/ https://x.example:8443\ny.example/y/ https://y.example\n"
        "+hosts all_443 443 y.example\n+paths all_443\ny.example/y/ k8s-service_a_c_p_backend\n"
        "+certificates all_443 /certs/y.example.pem=y.example\n"
        "+hosts all_8443 8443 x.example\n+paths all_8443\nx.example/ k8s-service_a_b_p_backend\n"
        "+certificates all_8443 /certs/x.example.pem=x.example\n",
    },
};

TEST_EACH(what_is_made, array_len(rows))
{
    cleanup(mem_free_ptr) char *text = plan_text(rows[_i].services);
    cleanup(mem_free_ptr) char *makes = expanded(rows[_i].makes);
    ck_assert_str_eq(text, makes);
}

#define GOOD "1:a/good p/80:30001 p.hostname=x.example\n"

#define OTHERS                                                                                          \
    "host name x.example is served for namespace a; another namespace gets it only by SHARED_HOSTS or " \
    "HOST_OWNERSHIP=any"

/* Beside a Service that is served all the same. */
static const struct {
    const char *service, *says;
} wrong[] = {
    {"2:a/b p/80:30002 p.hostname=x.example", "refused a/b: port 443 at *: this host name and path are those of "
                                              "Service a/good, which is older or was served before"},
    /* of another namespace: also a path, an address or a port of it */
    {"2:evil/b p/80:30002 p.hostname=x.example p.path=/login", "refused evil/b: " OTHERS},
    {"2:evil/b p/80:30002 p.hostname=x.example p.listen-ip=10.0.0.1", "refused evil/b: " OTHERS},
    {"2:ab/b p/80:30002 p.hostname=x.example p.path=/login", "refused ab/b: " OTHERS},
    {"2:evil/b p/80:30002 p.hostname=X.example p.listen-port=8443", "refused evil/b: " OTHERS},
    {"2:evil/b p/80:30002 p.haproxy-mode=tcp p.listen-ip=10.0.0.1",
     "refused evil/b: port 443 at 10.0.0.1: it is HTTP by Service a/good, which is older or was served before"},
    {"2:a/b p/80:30002 p.hostname=X.example p.path=/", "refused a/b: port 443 at *: this host name and path are those "
                                                       "of Service a/good, which is older or was served before"},
    {"2:a/b p/80:30002 p.haproxy-mode=tcp",
     "refused a/b: port 443 at *: it is HTTP by Service a/good, which is older or was served before"},
    {"2:a/b p/80:30002 p.hostname=y.example p.use-ssl=false",
     "refused a/b: port 443 at *: it is with TLS by Service a/good, which is older or was served before"},
    {"2:a/b p/80:30002 p.hostname=y.example p.use-ssl=false p.listen-ip=10.0.0.1",
     "refused a/b: port 443 at 10.0.0.1: it is with TLS by Service a/good, which is older or was served before"},
    {"2:a/b p/80:30002 p.hostname=y.example q.path=/",
     "noted a/b: " OLD ".q.path: the Service has no such TCP port; it has p"},
    {"2:a/b p/80:30002 p.hostname=y.example p.hostnam=z",
     "noted a/b: " OLD ".p.hostnam: there is no such option; did you mean hostname?"},
    {"2:a/b p/80:30002 p.use-ssl=false",
     "refused a/b: port p: hostname is missing: with haproxy-mode http it selects the requests for this port"},
    {"2:a/b p/80:30002 p.hostname=missing.example",
     "refused a/b: port p: its certificate is not there (see ssl-certificate)"},
    {"2:a/b p/80:30002 p.hostname=y.example p.ssl-certificate=secret:gone",
     "refused a/b: port p: its certificate, Secret a/gone: it does not exist"},
    {"2:a/b p/80:30002 p.hostname=y.example p.ssl-certificate=secret:b/tls",
     "refused a/b: " OLD ".p.ssl-certificate is \"secret:b/tls\": expected a file's path below "
     "SERVICES_CERTIFICATES_DIR (letters, digits and ._-/, no part of it begins with a dot), or secret:NAME or "
     "secret:NAMESPACE/NAME of a TLS Secret; it is in another namespace, which is none of SERVICES_SECRET_NAMESPACES"},
    {"2:a/b p/80:30002 p.hostname=y.example p.listen-port=70000",
     "refused a/b: " OLD
     ".p.listen-port is \"70000\": expected a port from 1 to 65535, of SERVICES_PORTS where that is set"},
    {"2:a/b p/80 p.hostname=y.example",
     "refused a/b: port p has no nodePort: the Service's type is to be NodePort or LoadBalancer"},
    {"2:a/b p/80:30002", "refused a/b: none of its ports has an annotation " OLD ".PORT.hostname, so none is served"},
    {"2:a/b p/80:30002 own:paused=true other:example.com/p.hostname=y",
     "refused a/b: none of its ports has an annotation " OLD ".PORT.hostname, so none is served"},
    {"2:a/b p/80:30002 p.haproxy-mode=tcp p.listen-port=81 p.use-ssl=true",
     "refused a/b: port p: ssl-certificate is missing: with use-ssl, and without a hostname, it selects the "
     "certificate"},
    {"2:a/b p/80:30002 p.haproxy-mode=tcp p.listen-port=81 p.path=/a",
     "refused a/b: port p: path and http-redirect are of haproxy-mode http, not of tcp"},
    {"2:a/b p/80:30002 p.hostname=y.example p.listen-port=81 p.use-ssl=false p.http-redirect=true",
     "refused a/b: port p: http-redirect is to a TLS port: it needs use-ssl, at another port than 80"},
    {"2:a/b p/80:30002 p.haproxy-mode=tcp p.listen-port=81\n3:a/c p/80:30003 p.haproxy-mode=tcp p.listen-port=81",
     "refused a/c: port 81 at *: it is TCP, and alone the port of Service a/b, which is older or was served before"},
    /* what is taken, or open to all, takes no host name */
    {"2:a/b p/80:30002 p.hostname=y.example p.listen-port=444\n3:c/d p/80:30003 p.hostname=y.example",
     "refused a/b: port p: listen-port 444 is taken by /haproxy.cfg, line 12"},
    {"2:a/b p/80:30002 p.hostname=y.example own:allow-list=10.0.0.0/8\n3:c/d p/80:30003 p.hostname=y.example",
     "refused a/b: haproxy-k8s-sync/allow-list: there is no such protection here; the Service is not served, until it "
     "goes without that or FOREIGN_PROTECTION=warn serves it open to all"},
    {"2:a/b p/80:30002 p.hostname=y.example other:haproxy-ingress.github.io/allowlist-source-range=10.0.0.0/8",
     "refused a/b: haproxy-ingress.github.io/allowlist-source-range: there is no such protection here; the Service is "
     "not served, until it goes without that or FOREIGN_PROTECTION=warn serves it open to all"},
    /* a redirect whose place is another one's leaves its TLS port */
    {"2:a/b p/80:30002 p.hostname=y.example p.listen-port=80 p.use-ssl=false\n"
     "3:a/c p/80:30003 p.hostname=y.example p.http-redirect=true",
     "noted a/c: http-redirect: port 80 at *: this host name and path are those of Service a/b, which is older or was "
     "served before"},
};

TEST_EACH(what_is_wrong, array_len(wrong))
{
    cleanup(mem_free_ptr) char *services = mem_printf("%s%s", GOOD, wrong[_i].service), *text = plan_text(services),
                               *says = mem_printf("%s\n", wrong[_i].says);
    const char *found = strstr(text, says);
    ck_assert_msg(found != NULL && found[strlen(says)] == '\0', "%s\n%s", wrong[_i].says, text);
    ck_assert_ptr_nonnull(strstr(text, "x.example/ k8s-service_a_good_p_backend\n"));
    bool served = strstr(text, "y.example/ k8s-service_a_b_p_backend\n") != NULL ||
                  strstr(text, "default_backend k8s-service_a_b_p_backend\n") != NULL;
    bool wants_none = str_has_prefix(wrong[_i].says, "refused ") && strstr(wrong[_i].says, "/b: ") != NULL;
    ck_assert_msg(served == !wants_none, "%s", text);
    ck_assert_msg(served == (strstr(text, "\nbackend k8s-service_a_b_p_backend\n") != NULL), "%s", text);
}

/* Of one that is refused at its TLS port nothing is redirected. */
TEST(no_redirect_without_its_port)
{
    cleanup(mem_free_ptr) char *text = plan_text(GOOD "2:a/b p/80:30002 p.hostname=x.example p.http-redirect=true");
    ck_assert_ptr_null(strstr(text, " https://"));
    ck_assert_ptr_null(strstr(text, "frontend k8s-service_all_80_listen"));
}

/* As it is published in etcd: the same choice by conditions, the longest path first. */
TEST(conditions_where_there_are_no_maps)
{
    static const char wanted[] =
        "frontend k8s-service_all_80_listen\n"
        "    mode http\n"
        "    bind *:80\n"
        "    http-request set-header x-forwarded-proto http\n"
        "    http-request del-header x-forwarded-for\n"
        "    http-request add-header x-forwarded-for %[src]\n"
        "    http-request set-header x-real-ip %[src]\n"
        "    http-request del-header forwarded\n"
        "    http-request del-header x-forwarded-host\n"
        "    http-request del-header x-forwarded-port\n"
        "    http-request redirect location https://x.example:8443%[capture.req.uri] code 301 if { req.hdr(host) -i "
        "x.example x.example:80 }\n"
        "\n"
        "frontend k8s-service_all_8443_listen\n"
        "    mode http\n"
        "    bind *:8443 ssl crt /certs/x.example.pem\n"
        "    http-request set-header x-forwarded-proto https\n"
        "    http-request del-header x-forwarded-for\n"
        "    http-request add-header x-forwarded-for %[src]\n"
        "    http-request set-header x-real-ip %[src]\n"
        "    http-request del-header forwarded\n"
        "    http-request del-header x-forwarded-host\n"
        "    http-request del-header x-forwarded-port\n"
        "    use_backend k8s-service_a_c_p_backend if { req.hdr(host) -i x.example x.example:8443 } { path /v1 } || { "
        "req.hdr(host) -i x.example x.example:8443 } { path_beg /v1/ }\n"
        "    use_backend k8s-service_a_b_p_backend if { req.hdr(host) -i x.example x.example:8443 }\n"
        "\n"
        "backend ";
    const struct services_print how = {.certificates = "/certs", .secret = path_of_secret, .servers = print_server};
    struct said s;
    struct services_plan p;
    cleanup(buf_fini) struct buf out = {0};
    said_read(&s, "1:a/b p/80:30001 p.hostname=x.example p.listen-port=8443 p.http-redirect=true\n"
                  "2:a/c p/80:30002 p.hostname=x.example p.path=/v1 p.listen-port=8443\n"
                  "3:a/d p/80:30003 p.hostname=x.example p.path=/v1 p.listen-port=8443");
    services_plan_make(s.pointers, s.count, &rules, &p);
    services_plan_print(&p, &how, &out);
    ck_assert_msg(str_has_prefix(buf_str(&out), wanted), "%s", buf_str(&out));
    services_plan_fini(&p);
    said_fini(&s);
}

TEST(what_the_operator_gives)
{
    char ten[] = "10.0.0.0/8", local[] = "fd00::/8", *trusted[] = {ten, local};
    struct services_print how = {.certificates = "/certs",
                                 .maps = "/maps/",
                                 .lists = "/lists/",
                                 .default_certificate = "/certs/default.pem",
                                 .trusted = trusted,
                                 .trusted_count = 2,
                                 .servers = print_server};
    struct said s;
    struct services_plan p;
    cleanup(buf_fini) struct buf out = {0};
    said_read(&s, "1:a/b p/80:30001 p.hostname=x.example");
    services_plan_make(s.pointers, s.count, &rules, &p);
    services_plan_print(&p, &how, &out);
    ck_assert_msg(strstr(buf_str(&out), "    bind *:443 ssl crt /certs/default.pem crt-list "
                                        "/lists/k8s-service_all_443_certificates.list\n") != NULL,
                  "%s", buf_str(&out));
    ck_assert_ptr_nonnull(strstr(buf_str(&out), "del-header x-forwarded-for unless { src 10.0.0.0/8 fd00::/8 }\n"));
    ck_assert_ptr_nonnull(strstr(buf_str(&out), "add-header x-forwarded-for %[src]\n"));
    ck_assert_ptr_nonnull(strstr(buf_str(&out), "x-forwarded-proto https unless { src 10.0.0.0/8 fd00::/8 }\n"));
    services_plan_fini(&p);
    said_fini(&s);
}

/* Of several namespaces where the operator lets it be so. */
static const char *const mistakes[] = {"1:a/b p/80:30001 p.hostname=x.example p.ssl-certificate=secret:gone",
                                       "1:a/b p/80:30001 p.hostname=x.example p.listen-port=x",
                                       "1:a/b p/80:30001 p.hostname=x.example other:haproxy.org/auth-type=basic",
                                       "1:a/b p/80 p.hostname=x.example"};

/* A host name stays its namespace's while one of its Services names it, served or not. */
TEST_EACH(no_mistake_gives_a_host_away, 2 * array_len(mistakes))
{
    struct said s;
    struct services_plan p;
    struct services_rules later = rules;
    cleanup(service_owners_fini) struct service_owners before = {0};
    bool had_it = _i % 2 == 0;
    cleanup(mem_free_ptr) char *text =
        mem_printf("%s\n2:c/d p/80:30002 p.hostname=x.example", mistakes[(size_t)_i / 2]);
    service_owners_read(&before, had_it ? "x.example a\n" : "x.example nobody\n");
    later.incumbents = &before;
    said_read(&s, text);
    services_plan_make(s.pointers, s.count, &later, &p);
    ck_assert_str_eq(service_owners_find(&p.owners, "x.example"), had_it ? "a" : "c");
    ck_assert_uint_eq(p.remark_count, had_it ? 2 : 1);
    services_plan_fini(&p);
    said_fini(&s);
}

/* A port's own option is none, whatever the port is called. */
TEST(served_without_the_protection)
{
    struct said s;
    struct services_plan p;
    cleanup(buf_fini) struct buf out = {0};
    struct services_rules may = rules;
    may.unprotected = true;
    said_read(&s, "1:a/b auth/80:30001 own:auth.hostname=x.example other:haproxy.org/auth-type=basic");
    services_plan_make(s.pointers, s.count, &may, &p);
    print(&p, &out);
    ck_assert_ptr_nonnull(strstr(buf_str(&out), "x.example/ k8s-service_a_b_auth_backend\n"));
    ck_assert_ptr_nonnull(strstr(buf_str(&out), "noted a/b: haproxy.org/auth-type: there is no such protection here; "
                                                "the Service is served without it, open to all"));
    ck_assert_uint_eq(p.remark_count, 1);
    services_plan_fini(&p);
    said_fini(&s);
}

TEST_EACH(shared_hosts, 3)
{
    char host[] = "x.example", *shared[] = {host};
    struct services_rules may = rules;
    struct said s;
    struct services_plan p;
    may.any_owner = _i == 1;
    may.shared_hosts = shared;
    may.shared_host_count = _i == 2;
    said_read(&s, "1:a/b p/80:30001 p.hostname=x.example\n2:c/d p/80:30002 p.hostname=x.example p.path=/d");
    services_plan_make(s.pointers, s.count, &may, &p);
    ck_assert_uint_eq(p.remark_count, _i == 0);
    services_plan_fini(&p);
    said_fini(&s);
}

static bool is_withheld(void *arg, const char *service, char **ret_why)
{
    bool is = str_eq(service, "a/b");
    *ret_why = is ? mem_strdup(arg) : NULL;
    return is;
}

/* One of its Services is left out, and cannot say what it had. */
TEST(a_namespace_that_is_held_keeps_its_host_names)
{
    struct services_rules some = rules;
    struct service_owners incumbents = {0}, held = {0};
    struct said s;
    struct services_plan p;
    service_owners_read(&incumbents, "x.example a\ny.example b\n*:80 a\n");
    service_owners_set(&held, "a", "");
    some.incumbents = &incumbents;
    some.held = &held;
    said_read(&s, "1:c/d p/80:30001 q/81:30002 p.hostname=x.example q.hostname=y.example");
    services_plan_make(s.pointers, s.count, &some, &p);
    cleanup(buf_fini) struct buf owners = {0};
    service_owners_print(&p.owners, &owners);
    ck_assert_str_eq(buf_str(&owners), "*:443 https\nx.example a\ny.example c\n");
    services_plan_fini(&p);
    said_fini(&s);
    service_owners_fini(&incumbents);
    service_owners_fini(&held);
}

/* Nobody else takes meanwhile what is its own; it gets the reason once, whatever it has, and not while that is not known. */
TEST_EACH(one_that_is_withheld_keeps_its_own, 2)
{
    char why[] = "HAProxy refuses it";
    struct services_rules some = rules;
    struct said s;
    struct services_plan p;
    some.withheld = is_withheld;
    some.arg = _i == 0 ? why : NULL;
    said_read(&s, "1:a/b p/80:30001 q/81:30003 p.hostname=x.example p.http-redirect=true q.hostname=y.example\n"
                  "2:c/d p/80:30002 p.hostname=x.example p.path=/d\n3:c/e p/80:30004 p.hostname=z.example");
    services_plan_make(s.pointers, s.count, &some, &p);
    ck_assert_str_eq(service_owners_find(&p.owners, "x.example"), "a");
    ck_assert_uint_eq(p.frontend_count, 1);
    for (size_t i = 0; i < p.route_count; i++)
        ck_assert(p.routes[i].refused != str_eq(p.routes[i].service->service.name, "c/e"));
    ck_assert_uint_eq(p.remark_count, _i == 0 ? 2 : 1);
    ck_assert_str_eq(p.remarks[p.remark_count - 1].service->service.name, "c/d");
    if (_i == 0)
        ck_assert_str_eq(p.remarks[0].text, why);
    services_plan_fini(&p);
    said_fini(&s);
}

TEST_EACH(namespaces_that_are_served, 3)
{
    char c[] = "c", *served[] = {c};
    struct services_rules may = rules;
    struct said s;
    struct services_plan p;
    may.namespaces = served;
    may.namespace_count = _i > 0;
    said_read(&s, _i < 2 ? "1:a/b p/80:30001 p.hostname=x.example" : "1:c/d p/80:30002 p.hostname=x.example");
    services_plan_make(s.pointers, s.count, &may, &p);
    ck_assert_uint_eq(p.remark_count, _i == 1);
    if (_i == 1)
        ck_assert_str_eq(p.remarks[0].text, "namespace a is none of SERVICES_NAMESPACES");
    services_plan_fini(&p);
    said_fini(&s);
}

TEST(a_tcp_port_has_one_backend)
{
    cleanup(mem_free_ptr) char *text =
        plan_text("1:a/b p/80:30001 p.haproxy-mode=tcp\n2:a/c p/80:30002 p.haproxy-mode=tcp");
    ck_assert_ptr_nonnull(strstr(text, "    default_backend k8s-service_a_b_p_backend\n\n"));
    ck_assert_ptr_null(strstr(text, "k8s-service_a_c_p_backend"));
}

/* A Data Plane API, which renames what it stores, has nothing to rename. */
TEST(maps_are_stored_by_their_names)
{
    static const char *const places[] = {"*", "10.0.0.1", "fd00::1", "::ffff:10.0.0.1"};
    for (size_t i = 0; i < array_len(places); i++) {
        const struct service_route r = {.place = places[i], .listen_port = 443};
        const struct service_frontend f = {.served = &r};
        cleanup(mem_free_ptr) char *name = services_file_name(&f, SERVICES_HOSTS),
                                   *stored = storage_stored_name(STORAGE_MAP, name);
        ck_assert_str_eq(name, stored);
        ck_assert_uint_eq(strspn(name, STORAGE_NAME_ALPHABET), strlen(name));
    }
}

/* HAProxy takes 2,048 words and 64 KiB: a thousand names of the longest kind, of one certificate. */
TEST(lines_of_certificates_are_as_long_as_haproxy_takes)
{
    struct service_route *all = mem_array(1000, sizeof(all[0])), **routes = mem_array(1000, sizeof(routes[0]));
    const struct service_frontend f = {.routes = (void *)routes, .count = 1000};
    const struct services_print how = {.certificates = "/certs", .maps = "/maps/"};
    cleanup(buf_fini) struct buf text = {0};
    size_t names = 0;
    for (size_t i = 0; i < 1000; i++) {
        all[i].options.hostname = mem_printf("%0253zu", i);
        all[i].options.certificate = (char *)"wild.pem";
        routes[i] = &all[i];
    }
    services_file_print(&f, SERVICES_CERTIFICATES, &how, &text);
    for (const char *at = buf_str(&text); *at != '\0';) {
        size_t len = strcspn(at, "\n"), words = 0;
        for (size_t i = 0; i < len; i++)
            words += at[i] == ' ';
        ck_assert_uint_lt(len, 65536);
        ck_assert_uint_lt(words, 2048);
        names += words;
        at += len + 1;
    }
    ck_assert_uint_eq(names, 1000);
    for (size_t i = 0; i < 1000; i++)
        free(all[i].options.hostname);
    free(all);
    free(routes);
}

static void add_random(struct dice *d, struct buf *text, size_t i)
{
    static const char *const hosts[] = {"a.example", "b.example", "missing.example", "bad host"},
                             *const paths[] = {"/", "/a", "/a/b", "x"}, *const places[] = {"*", "10.0.0.1"};
    buf_printf(text, "%u:%s/s%zu p/80:%zu", dice_below(d, 3), dice_one_in(d, 3) ? "evil" : "ns", i, 30000 + i);
    if (dice_one_in(d, 5)) {
        buf_printf(text, " p.haproxy-mode=tcp");
    } else {
        const char *host = hosts[dice_below(d, 3)];
        buf_printf(text, " p.hostname=%s p.path=%s", host, paths[dice_below(d, array_len(paths))]);
    }
    buf_printf(text, " p.listen-port=%u p.listen-ip=%s", dice_one_in(d, 2) ? 443 : 80 + dice_below(d, 3),
               places[dice_below(d, 2)]);
    if (dice_one_in(d, 3))
        buf_printf(text, " p.use-ssl=%s", dice_one_in(d, 2) ? "true" : "false");
    if (dice_one_in(d, 3))
        buf_add(text, " p.http-redirect=true");
    buf_add(text, "\n");
}

static void shuffle(struct dice *d, struct said *s)
{
    for (size_t i = s->count; i > 1; i--) {
        size_t k = dice_below(d, (unsigned)i);
        const struct annotated_service *moved = s->pointers[k];
        s->pointers[k] = s->pointers[i - 1];
        s->pointers[i - 1] = moved;
    }
}

static bool is_refused(const struct services_plan *p, const struct annotated_service *s)
{
    for (size_t i = 0; i < p->remark_count; i++)
        if (p->remarks[i].service == s && p->remarks[i].refused)
            return true;
    return false;
}

static bool older(const struct service_route *a, const struct service_route *b)
{
    return a->service->created_us != b->service->created_us
               ? a->service->created_us < b->service->created_us
               : strcmp(a->service->service.name, b->service->service.name) < 0;
}

static bool same_host(const struct service_route *a, const struct service_route *b)
{
    return a->options.hostname != NULL && str_eq(a->options.hostname, b->options.hostname);
}

static bool overlap(const struct service_route *a, const struct service_route *b)
{
    return a->listen_port == b->listen_port &&
           (str_eq(a->place, b->place) || str_eq(a->place, "*") || str_eq(b->place, "*"));
}

static size_t namespace_len(const struct service_route *r)
{
    return strcspn(r->service->service.name, "/");
}

static bool same_namespace(const struct service_route *a, const struct service_route *b)
{
    return namespace_len(a) == namespace_len(b) &&
           strncmp(a->service->service.name, b->service->service.name, namespace_len(a)) == 0;
}

/* Two that are served. */
static void check_pair(const struct service_route *a, const struct service_route *b)
{
    ck_assert_msg(!same_host(a, b) || same_namespace(a, b), "%s is of two", a->options.hostname);
    ck_assert(!overlap(a, b) || (!a->options.tcp && !b->options.tcp));
    if (a->listen_port != b->listen_port || !str_eq(a->place, b->place))
        return;
    ck_assert_int_eq(a->options.tls && !a->redirect, b->options.tls && !b->redirect);
    ck_assert(!same_host(a, b) || !str_eq(a->options.path, b->options.path));
}

/* Each port is served or refused; and who is older than all that want the same is served. */
static void check_plan(const struct services_plan *p, const struct said *s)
{
    for (size_t i = 0; i < s->count; i++) {
        size_t served = 0;
        for (size_t k = 0; k < p->route_count; k++)
            served += p->routes[k].service == &s->list[i] && !p->routes[k].refused && !p->routes[k].redirect;
        ck_assert_uint_eq(served, !is_refused(p, &s->list[i]));
    }
    for (size_t i = 0; i < p->route_count; i++) {
        const struct service_route *a = &p->routes[i];
        bool first = !a->redirect;
        for (size_t k = 0; k < p->route_count; k++) {
            const struct service_route *b = &p->routes[k];
            if (k == i)
                continue;
            first = first && (older(a, b) || (!same_host(a, b) && !overlap(a, b)));
            if (!a->refused && !b->refused)
                check_pair(a, b);
        }
        ck_assert(!first || !a->refused);
    }
}

/* Who is served stays, whatever is older now. */
static void check_incumbents(struct services_plan *before, struct said *s, struct dice *d)
{
    struct services_plan after;
    cleanup(buf_fini) struct buf owners = {0};
    struct services_rules later = rules;
    later.incumbents = &before->owners;
    for (size_t i = 0; i < s->count; i++)
        s->list[i].created_us = dice_below(d, 1000);
    services_plan_make(s->pointers, s->count, &later, &after);
    service_owners_print(&before->owners, &owners);
    char *rest = owners.data;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && *line != '\0';) {
        char *space = strchr(line, ' ');
        *space = '\0';
        const char *now = service_owners_find(&after.owners, line);
        if (now != NULL || strchr(line, ':') ==
                               NULL) /* of one namespace another may take the path, without the redirect from a port */
            ck_assert_pstr_eq(now, space + 1);
    }
    services_plan_fini(&after);
}

TEST_EACH(in_any_order, 300)
{
    struct dice d = {.state = 0x9e3779b97f4a7c15u + (unsigned)_i};
    cleanup(buf_fini) struct buf text = {0}, first = {0}, then = {0};
    struct said s;
    struct services_plan p;
    buf_add(&text, "");
    size_t count = dice_below(&d, SERVICES_MAX);
    for (size_t i = 0; i < count; i++)
        add_random(&d, &text, i);
    said_read(&s, buf_str(&text));
    services_plan_make(s.pointers, s.count, &rules, &p);
    check_plan(&p, &s);
    print(&p, &first);
    services_plan_fini(&p);
    shuffle(&d, &s);
    services_plan_make(s.pointers, s.count, &rules, &p);
    print(&p, &then);
    ck_assert_str_eq(buf_str(&then), buf_str(&first));
    check_incumbents(&p, &s, &d);
    services_plan_fini(&p);
    said_fini(&s);
}
