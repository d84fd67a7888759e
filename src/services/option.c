#include "services/option.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/address.h"

#define HOSTNAME_MAX 253
#define LABEL_MAX 63
#define PATH_BYTES_MAX 1024
#define CERTIFICATE_BYTES_MAX 200
#define CLUSTER "CLUSTER"
#define SECRET "secret:"
#define ALL_OF_IPV4 "0.0.0.0"
#define PAUSED SERVICES_OWN_PREFIX "paused"

static void put(char **member, char *value)
{
    free(*member);
    *member = value;
}

/* ---- host names ---- */

/* RFC 1123: letters, digits and '-' between dots; a label neither begins nor ends with '-'. */
static bool is_host_name(const char *s)
{
    size_t label = 0, len = strlen(s);
    if (len == 0 || len > HOSTNAME_MAX)
        return false;
    for (size_t i = 0; i <= len; i++) {
        bool ends = s[i] == '.' || s[i] == '\0';
        if (ends && (label == 0 || label > LABEL_MAX || s[i - 1] == '-'))
            return false;
        if (!ends && !isalnum((unsigned char)s[i]) && (s[i] != '-' || label == 0))
            return false;
        label = ends ? 0 : label + 1;
    }
    return true;
}

static int parse_hostname(struct port_options *o, const char *value, const struct option_rules *rules, struct buf *why)
{
    const char *at = strstr(value, CLUSTER);
    if (at != NULL && rules->cluster == NULL) {
        buf_add(why, "it has " CLUSTER ", and CLUSTER_NAME is not set");
        return -1;
    }
    cleanup(mem_free_ptr) char *name =
        at == NULL ? mem_strdup(value)
                   : mem_printf("%.*s%s%s", (int)(at - value), value, rules->cluster, at + strlen(CLUSTER));
    if (!is_host_name(name))
        return -1;
    for (char *c = name; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    put(&o->hostname, name);
    name = NULL;
    return 0;
}

/* ---- where ---- */

static int parse_listen_ip(struct port_options *o, const char *value, const struct option_rules *rules, struct buf *why)
{
    char address[ADDRESS_TEXT_BYTES] = ALL_OF_IPV4;
    if (!str_eq(value, "*") && address_canonical(value, address) != 0)
        return -1;
    const char *place = str_eq(address, ALL_OF_IPV4) ? "*" : address;
    bool allowed = rules->address_count == 0;
    for (size_t i = 0; i < rules->address_count && !allowed; i++)
        allowed = address_eq(rules->addresses[i], place);
    if (!allowed) {
        buf_add(why, "it is none of SERVICES_ADDRESSES");
        return -1;
    }
    put(&o->listen_ip, str_eq(address, ALL_OF_IPV4) ? NULL : mem_strdup(address)); /* "*" is that, too */
    return 0;
}

static int parse_listen_port(struct port_options *o, const char *value, const struct option_rules *rules,
                             struct buf *why)
{
    uint64_t port;
    if (str_parse_uint(value, UINT16_MAX, &port) != 0 || port == 0)
        return -1;
    bool allowed = rules->port_count == 0;
    for (size_t i = 0; i < rules->port_count && !allowed; i++)
        allowed = rules->ports[i].from <= port && port <= rules->ports[i].to;
    if (!allowed) {
        buf_add(why, "it is none of SERVICES_PORTS");
        return -1;
    }
    o->listen_port = (uint16_t)port;
    return 0;
}

static int parse_mode(struct port_options *o, const char *value, const struct option_rules *rules, struct buf *why)
{
    (void)rules, (void)why;
    o->tcp = str_eq(value, "tcp");
    return o->tcp || str_eq(value, "http") ? 0 : -1;
}

/* ---- TLS ---- */

/* Of a Secret or a namespace: what Kubernetes takes for one (RFC 1123), and no more. */
static bool is_object_name(const char *s, size_t len, const char *between, size_t max)
{
    if (len == 0 || len > max)
        return false;
    for (size_t i = 0; i < len; i++) {
        bool alnum = islower((unsigned char)s[i]) || isdigit((unsigned char)s[i]);
        if (!alnum && (i == 0 || i == len - 1 || strchr(between, s[i]) == NULL))
            return false;
    }
    return true;
}

/* "secret:NAME", "secret:NAMESPACE/NAME" */
char *service_option_secret(const char *value, const struct option_rules *rules, struct buf *why)
{
    if (!str_has_prefix(value, SECRET))
        return NULL;
    value += strlen(SECRET);
    const char *slash = strchr(value, '/'), *name = slash != NULL ? slash + 1 : value;
    if (slash != NULL && !is_object_name(value, (size_t)(slash - value), "-", LABEL_MAX))
        return NULL;
    if (!is_object_name(name, strlen(name), "-.", SECRET_NAME_BYTES_MAX))
        return NULL;
    cleanup(mem_free_ptr) char *namespace =
        slash != NULL ? mem_strndup(value, (size_t)(slash - value)) : mem_strdup(rules->namespace);
    bool may = str_eq(namespace, rules->namespace);
    for (size_t i = 0; i < rules->secret_namespace_count && !may; i++)
        may = str_eq(namespace, rules->secret_namespaces[i]);
    if (!may) {
        buf_add(why, "it is in another namespace, which is none of SERVICES_SECRET_NAMESPACES");
        return NULL;
    }
    return mem_printf("%s/%s", namespace, name);
}

/* Letters, digits and "._-" between slashes; no part begins with '.', so none is "..". No file has a ':'. */
static int parse_certificate(struct port_options *o, const char *value, const struct option_rules *rules,
                             struct buf *why)
{
    if (str_has_prefix(value, SECRET)) {
        char *secret = service_option_secret(value, rules, why);
        if (secret != NULL)
            put(&o->secret, secret);
        return secret != NULL ? 0 : -1;
    }
    size_t len = strlen(value);
    bool good = len > 0 && len <= CERTIFICATE_BYTES_MAX && value[len - 1] != '/';
    for (size_t i = 0; i < len && good; i++) {
        bool first = i == 0 || value[i - 1] == '/';
        if (first && str_has_prefix(value + i, SERVICES_FILES_PREFIX)) {
            buf_add(why, "what begins with " SERVICES_FILES_PREFIX " is of a Secret: secret:NAME");
            return -1;
        }
        good = isalnum((unsigned char)value[i]) || value[i] == '_' ||
               (!first && (value[i] == '/' || value[i] == '.' || value[i] == '-'));
    }
    if (!good)
        return -1;
    put(&o->certificate, mem_strdup(value));
    return 0;
}

/* ---- backends ---- */

static int parse_balance(struct port_options *o, const char *value, const struct option_rules *rules, struct buf *why)
{
    static const char *const known[] = {"roundrobin", "static-rr", "leastconn", "first", "source", "random", "uri"};
    (void)rules, (void)why;
    for (size_t i = 0; i < array_len(known); i++)
        if (str_eq(value, known[i])) {
            put(&o->balance, mem_strdup(value));
            return 0;
        }
    return -1;
}

/* What RFC 3986 has in a path, without the quotes and the '%' and '\' that haproxy.cfg reads otherwise. */
static bool is_path(const char *s)
{
    size_t len = strlen(s);
    return *s == '/' && len <= PATH_BYTES_MAX &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&()*+,;=:@/") == len &&
           strpbrk(s, "$()") == NULL;
}

static int parse_path(struct port_options *o, const char *value, const struct option_rules *rules, struct buf *why)
{
    (void)rules, (void)why;
    if (!is_path(value))
        return -1;
    size_t len = strlen(value);
    while (len > 1 && value[len - 1] == '/')
        len--; /* "/a/" is what begins with "/a/", and "/a" itself */
    put(&o->path, len > 1 ? mem_strndup(value, len) : NULL);
    return 0;
}

static int parse_health_path(struct port_options *o, const char *value, const struct option_rules *rules,
                             struct buf *why)
{
    (void)rules, (void)why;
    if (!is_path(value))
        return -1;
    put(&o->health_path, mem_strdup(value));
    return 0;
}

/* ---- the table ---- */

#define TRUE_OR_FALSE "true or false"
#define A_PATH "a path that begins with / (letters, digits and -._~!&*+,;=:@/, at most 1024 characters)"

const struct service_option service_options[] = {
    {"hostname", "none", "a DNS name; CLUSTER in it becomes CLUSTER_NAME",
     "The host name of requests that are for this port. With HTTP there has to be one.", .parse = parse_hostname},
    {"listen-ip", "*", "* or an IP address, of SERVICES_ADDRESSES", "The address that HAProxy listens at.",
     .parse = parse_listen_ip},
    {"listen-port", "443", "a port from 1 to 65535, of SERVICES_PORTS where that is set",
     "The port that HAProxy listens at. Several host names can share one.", .parse = parse_listen_port},
    {"haproxy-mode", "http", "http or tcp", "How HAProxy treats connections. With tcp the port is this one's alone.",
     .parse = parse_mode},
    {"use-ssl", "true with http, else false", TRUE_OR_FALSE, "Whether clients come over TLS.",
     .flag = offsetof(struct port_options, tls), .given = offsetof(struct port_options, tls_given)},
    {"ssl-certificate", "the host name and .pem",
     "a file's path below SERVICES_CERTIFICATES_DIR (letters, digits and ._-/, no part of it begins with a dot), or "
     "secret:NAME or secret:NAMESPACE/NAME of a TLS Secret",
     "The certificate of clients' TLS, with its key.", .parse = parse_certificate},
    {"path", "/", A_PATH, "The path of the requests; paths below it are included, and the longest match is used.",
     .parse = parse_path},
    {"http-redirect", "false", TRUE_OR_FALSE, "Whether port 80 sends clients of this host name to its TLS port.",
     .flag = offsetof(struct port_options, redirect)},
    {"backends-balance-method", "roundrobin", "roundrobin, static-rr, leastconn, first, source, random or uri",
     "How HAProxy spreads connections over the nodes.", .parse = parse_balance},
    {"backends-use-ssl", "as use-ssl", TRUE_OR_FALSE, "Whether HAProxy connects to the nodes over TLS.",
     .flag = offsetof(struct port_options, backends_tls), .given = offsetof(struct port_options, backends_tls_given)},
    {"backends-verify-ssl", "false", TRUE_OR_FALSE, "Whether it then checks their certificates.",
     .flag = offsetof(struct port_options, backends_verify)},
    {"send-proxy-v2", "false", TRUE_OR_FALSE, "Whether HAProxy sends the client's address to the nodes, by PROXY v2.",
     .flag = offsetof(struct port_options, proxy_v2)},
    {"health-path", "none: a TCP connection", A_PATH, "The path of an HTTP health check of the nodes.",
     .parse = parse_health_path},
};
const size_t service_option_count = array_len(service_options);

int service_option_parse(const struct service_option *o, struct port_options *to, const char *value,
                         const struct option_rules *rules, struct buf *why)
{
    if (o->parse != NULL)
        return o->parse(to, value, rules, why);
    bool *ret = (bool *)((char *)to + o->flag);
    if (o->given != 0)
        *(bool *)((char *)to + o->given) = true;
    *ret = str_eq(value, "true");
    return *ret || str_eq(value, "false") ? 0 : -1;
}

const struct service_option *service_option_find(const char *name)
{
    for (size_t i = 0; i < service_option_count; i++)
        if (str_eq(service_options[i].name, name))
            return &service_options[i];
    return NULL;
}

void port_options_init(struct port_options *o)
{
    *o = (struct port_options){.listen_port = 443, .balance = mem_strdup("roundrobin")};
}

void port_options_fini(struct port_options *o)
{
    mem_free_all(o->hostname, o->listen_ip, o->certificate, o->secret, o->balance, o->path, o->health_path);
    *o = (struct port_options){0};
}

void port_options_settle(struct port_options *o)
{
    if (!o->tls_given)
        o->tls = !o->tcp;
    if (!o->backends_tls_given)
        o->backends_tls = o->tls;
    if (o->tls && o->certificate == NULL && o->secret == NULL && o->hostname != NULL)
        o->certificate = mem_printf("%s.pem", o->hostname);
}

/* ---- annotations by port and option ---- */

const char *service_note_rest(const char *annotation, const char *prefix, bool *ret_own)
{
    *ret_own = str_has_prefix(annotation, SERVICES_OWN_PREFIX);
    if (*ret_own)
        return str_eq(annotation, PAUSED) ? NULL : annotation + strlen(SERVICES_OWN_PREFIX);
    size_t len = prefix != NULL ? strlen(prefix) : 0;
    return len > 0 && strncmp(annotation, prefix, len) == 0 && annotation[len] == '.' ? annotation + len + 1 : NULL;
}

static int order_of_ports(const struct service_note *n, const char *port, size_t len)
{
    int order = (n->port_len > len) - (n->port_len < len);
    return order != 0 ? order : strncmp(n->port, port, len);
}

static int order_of_notes(const void *a, const void *b)
{
    const struct service_note *x = a, *y = b;
    int order = order_of_ports(x, y->port, y->port_len);
    if (order == 0)
        order = strcmp(x->option, y->option);
    return order != 0 ? order : x->own - y->own;
}

void service_notes_init(struct service_notes *n, const struct annotated_service *s, const char *prefix)
{
    *n = (struct service_notes){.list = mem_array(s->annotation_count, sizeof(n->list[0]))};
    for (size_t i = 0; i < s->annotation_count; i++) {
        bool own;
        const char *rest = service_note_rest(s->annotations[i].name, prefix, &own);
        const char *dot = rest != NULL ? strrchr(rest, '.') : NULL;
        if (rest != NULL)
            n->list[n->count++] = (struct service_note){.annotation = &s->annotations[i],
                                                        .port = rest,
                                                        .option = dot != NULL ? dot + 1 : rest,
                                                        .port_len = dot != NULL ? (size_t)(dot - rest) : 0,
                                                        .own = own};
    }
    if (n->count > 0)
        qsort(n->list, n->count, sizeof(n->list[0]), order_of_notes);
}

void service_notes_fini(struct service_notes *n)
{
    free(n->list);
    *n = (struct service_notes){0};
}

struct service_note *service_notes_of(const struct service_notes *n, const char *port, size_t *ret_count)
{
    size_t first = 0, end = n->count, len = strlen(port);
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (order_of_ports(&n->list[middle], port, len) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    while (end < n->count && order_of_ports(&n->list[end], port, len) == 0)
        end++;
    *ret_count = end - first;
    return n->list + first;
}

const struct object_annotation *service_notes_find(const struct service_notes *n, const char *port, const char *option)
{
    size_t count;
    const struct object_annotation *found = NULL;
    const struct service_note *of = service_notes_of(n, port, &count);
    for (size_t i = 0; i < count; i++)
        if (str_eq(of[i].option, option))
            found = of[i].annotation;
    return found;
}
