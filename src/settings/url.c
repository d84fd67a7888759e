#include "settings/url.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/findings.h"

#define SOCKET_MAX 107 /* bytes of sockaddr_un.sun_path, without its NUL */
#define WHY_FORM "that is not scheme://host:port"

static void curlu_free(CURLU **u)
{
    curl_url_cleanup(*u);
}

static void curl_str_free(char **s)
{
    curl_free(*s);
}

static const char *why_of(CURLUcode code)
{
    switch (code) {
    case CURLUE_BAD_PORT_NUMBER:
        return "its port is not a number from 1 to 65535";
    case CURLUE_BAD_IPV6:
        return "the text in brackets is not an IPv6 address";
    case CURLUE_BAD_HOSTNAME:
    case CURLUE_NO_HOST:
        return "its host is missing or invalid";
    default:
        return WHY_FORM;
    }
}

/* What the URL parser is lenient about, and what it must not even be asked. NULL: nothing. */
static const char *refuse_text(const char *text, unsigned rules)
{
    for (const char *p = text; *p != '\0'; p++)
        if ((unsigned char)*p <= 0x20 || (unsigned char)*p >= 0x7f)
            return "it holds a space, a control character or one that is not ASCII";
    /* Anywhere: a password may hold a '/', and then what is behind it looks like a path. */
    if ((rules & URL_PROXY) == 0 && strchr(text, '@') != NULL)
        return "it must not contain a user name or password";
    if (strpbrk(text, "?#") != NULL)
        return "it must not contain a query (?) or fragment (#)";
    const char *slashes = strstr(text, "://");
    if (slashes == NULL)
        return "it does not begin with a scheme such as http://";
    return slashes[3] == '/' || slashes[3] == '\0' ? "its host is missing" : NULL;
}

int url_check(const char *text, unsigned rules, char **ret_url, const char **ret_why)
{
    static const char *const schemes[] = {"http", "https", "socks5", "socks5h"};
    bool proxy = (rules & URL_PROXY) != 0, allowed = false;
    cleanup(curlu_free) CURLU *u = curl_url();
    cleanup(curl_str_free) char *scheme = NULL, *port = NULL, *path = NULL, *url = NULL;
    *ret_why = refuse_text(text, rules);
    if (*ret_why != NULL)
        return -1;
    CURLUcode code = curl_url_set(u, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME);
    *ret_why = code != CURLUE_OK ? why_of(code) : WHY_FORM;
    if (code != CURLUE_OK || curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK)
        return -1;
    for (size_t i = 0; i < (proxy ? array_len(schemes) : 2); i++)
        allowed = allowed || str_eq(scheme, schemes[i]);
    code = curl_url_get(u, CURLUPART_PORT, &port, 0);
    if (!allowed)
        *ret_why = proxy ? "its scheme is not http, https, socks5 or socks5h" : "its scheme is neither http nor https";
    else if (code == CURLUE_NO_PORT && (rules & URL_NEED_PORT) != 0)
        *ret_why = "its port is missing (a URL without one means :80 with http, :443 with https)";
    else if (code == CURLUE_OK && str_eq(port, "0"))
        *ret_why = why_of(CURLUE_BAD_PORT_NUMBER);
    else if (proxy && curl_url_get(u, CURLUPART_PATH, &path, 0) == CURLUE_OK && strlen(path) > 1)
        *ret_why = "a proxy has no path";
    else if (curl_url_get(u, CURLUPART_URL, &url, 0) == CURLUE_OK)
        *ret_why = NULL;
    if (*ret_why != NULL)
        return -1;
    size_t len = strlen(url);
    while (len > 0 && url[len - 1] == '/')
        len--;
    *ret_url = mem_strndup(url, len);
    return 0;
}

bool url_is_local(const char *url)
{
    const char *host = strstr(url, "://");
    host = host != NULL ? host + strlen("://") : url;
    bool v6 = host[0] == '[';
    cleanup(mem_free_ptr) char *name = mem_strndup(host + v6, strcspn(host + v6, v6 ? "]" : ":/"));
    struct in_addr v4;
    struct in6_addr address;
    if (v6)
        return inet_pton(AF_INET6, name, &address) == 1 && IN6_IS_ADDR_LOOPBACK(&address);
    return strcasecmp(name, "localhost") == 0 ||
           (inet_pton(AF_INET, name, &v4) == 1 && ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET);
}

char *url_masked(const char *text)
{
    /* The last '@': a password may hold one, and '/' and '?' too. */
    const char *at = strrchr(text, '@');
    const char *start = strstr(text, "://");
    start = start != NULL && (at == NULL || start < at) ? start + 3 : text;
    const char *rest = at != NULL ? at : start;
    size_t shown = strcspn(rest, "?#");
    const char *tail = rest[shown] != '\0' ? "***" : "";
    return mem_printf("%.*s%s%.*s%s", (int)(start - text), text, at != NULL ? "***" : "",
                      (int)(rest[shown] != '\0' ? shown + 1 : shown), rest, tail);
}

/* ---- of a Data Plane API ---- */

static int check_socket(const char *path, char **ret_url, char **ret_socket, struct buf *note)
{
    const char *why = path[0] != '/' ? "the path of a unix socket begins with '/'" : NULL;
    while (path[0] == '/' && path[1] == '/')
        path++;
    if (why == NULL && str_has_control(path))
        why = "it holds a control character";
    if (why == NULL && path[strlen(path) - 1] == '/')
        why = "that is a directory, not a socket";
    if (why != NULL)
        return value_refuse(note, why);
    if (strlen(path) > SOCKET_MAX) {
        buf_printf(note, "the path of a unix socket has at most %d bytes", SOCKET_MAX);
        return -1;
    }
    *ret_url = mem_printf("unix:%s", path);
    if (ret_socket != NULL)
        *ret_socket = mem_strdup(path);
    return 0;
}

const char *dataplane_url_socket(const char *text)
{
    if (text[0] == '/')
        return text;
    if (str_has_prefix(text, "unix:///"))
        return text + strlen("unix://");
    return str_has_prefix(text, "unix:") || str_has_prefix(text, "unix@") ? text + strlen("unix:") : NULL;
}

int dataplane_url_check(const char *text, char **ret_url, char **ret_socket, struct buf *note)
{
    const char *why, *path = dataplane_url_socket(text);
    if (str_has_prefix(text, "unix://") && !str_has_prefix(text, "unix:///"))
        return value_refuse(note, "a unix socket has no host: unix:/path or unix:///path");
    if (path != NULL)
        return check_socket(path, ret_url, ret_socket, note);
    cleanup(mem_free_ptr) char *url = NULL;
    if (url_check(text, URL_NEED_PORT, &url, &why) != 0)
        return value_refuse(note, why);
    /* A path that says which version of the API: we add that ourselves, so it would be there twice. */
    const char *prefix = strchr(strstr(url, "://") + 3, '/');
    if (prefix != NULL && strstr(prefix, "/v2") != NULL)
        return value_refuse(note, "version 2 of the API is not supported; leave out the path and use Data Plane API 3");
    if (prefix != NULL && (str_has_suffix(prefix, "/v3") || strstr(prefix, "/v3/") != NULL))
        return value_refuse(note, "leave out /v3 and what follows: it is added");
    *ret_url = url;
    url = NULL;
    if (ret_socket != NULL)
        *ret_socket = NULL;
    return 0;
}

bool dataplane_url_same(const char *a, const char *b)
{
    const char *host = strstr(a, "://");
    if (str_has_prefix(a, "unix:") || host == NULL)
        return str_eq(a, b);
    size_t len = (size_t)(host - a) + 3;
    len += strcspn(a + len, "/");
    return strncasecmp(a, b, len) == 0 && str_eq(a + len, b + len);
}
