#include "settings/dataplane_url.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "settings/findings.h"
#include "settings/url.h"

#define SOCKET_MAX 107 /* bytes of sockaddr_un.sun_path, without its NUL */

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

/* A path that says which version of the API: we add that ourselves, so it would be there twice. */
static int check_prefix(const char *url, struct buf *note)
{
    const char *path = strchr(strstr(url, "://") + 3, '/');
    if (path == NULL)
        return 0;
    if (strstr(path, "/v2") != NULL)
        return value_refuse(note, "version 2 of the API is not supported; leave out the path and use Data Plane API 3");
    if (str_has_suffix(path, "/v3") || strstr(path, "/v3/") != NULL)
        return value_refuse(note, "leave out /v3 and what follows: it is added");
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
    if (check_prefix(url, note) != 0)
        return -1;
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
