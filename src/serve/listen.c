#include "serve/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"

/* Short: connections beyond our own limit wait here. */
#define BACKLOG 64

/* -1 with errno set. */
static int open_one(int family, const struct sockaddr *address, socklen_t len, bool both_families)
{
    int on = 1, off = 0;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    /* A restart must not wait for the last one's connections to leave TIME_WAIT. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        (both_families && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) != 0) ||
        bind(fd, address, len) != 0 || listen(fd, BACKLOG) != 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

static int open_every_address(uint16_t port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_ANY_INIT};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_ANY)}};
    int fd = open_one(AF_INET6, (const struct sockaddr *)&six, sizeof(six), true);
    if (fd >= 0 || (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL))
        return fd;
    return open_one(AF_INET, (const struct sockaddr *)&four, sizeof(four), false);
}

/* What an operator can do about it. */
static const char *advice(int error)
{
    switch (error) {
    case EADDRINUSE:
        return "; another process has that port: stop it, or choose another with LISTEN_ADDRESS";
    case EACCES:
        return "; ports below 1024 need CAP_NET_BIND_SERVICE: choose another with LISTEN_ADDRESS";
    case EADDRNOTAVAIL:
        return "; no interface of this machine has that address: choose another with LISTEN_ADDRESS";
    default:
        return "";
    }
}

int listen_open(const char *host, uint16_t port, struct error *err)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *list = NULL;
    bool v6 = strchr(host, ':') != NULL;
    char service[8];
    int fd = -1;
    if (str_empty(host)) {
        fd = open_every_address(port);
    } else {
        snprintf(service, sizeof(service), "%u", port);
        int failed = getaddrinfo(host, service, &hints, &list);
        if (failed != 0)
            return error_set(err, ERROR_FATAL, "cannot listen on %s:%u: %s; see LISTEN_ADDRESS", host, port,
                             gai_strerror(failed));
        for (const struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next)
            fd = open_one(a->ai_family, a->ai_addr, a->ai_addrlen, false);
    }
    int saved = errno;
    if (list != NULL)
        freeaddrinfo(list);
    errno = saved; /* for %m */
    if (fd < 0)
        return error_set(err, ERROR_FATAL, "cannot listen on %s%s%s:%u: %m%s", v6 ? "[" : "", host, v6 ? "]" : "", port,
                         advice(saved));
    return fd;
}

uint16_t listen_port(int fd)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t len = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        return 0;
    if (address.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)&address)->sin6_port);
    return address.ss_family == AF_INET ? ntohs(((const struct sockaddr_in *)&address)->sin_port) : 0;
}
