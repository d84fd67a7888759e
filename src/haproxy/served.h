/*
 * What a running HAProxy serves: which process answers, the proxies that take connections, the servers that are up behind
 * each backend. A plain value.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct served_proxy {
    char *name;
    bool open;   /* of a frontend or listen section: it takes connections */
    unsigned up; /* of a backend or listen section: servers that take connections; without checks, all that may */
};

struct served_list {
    struct served_proxy *list; /* by name */
    size_t count;
};

/* A server that its health check says is down, with what that says: "L4TOUT"; "Connection refused", "" where it is not
 * shown. */
struct served_failure {
    char *backend, *server, *check, *detail;
};

struct served_failures {
    struct served_failure *list;
    size_t count;
};

struct served {
    bool answers; /* false: HAProxy does not, and nothing else is known */
    int64_t pid, uptime_s;
    int64_t version; /* of the file, as it was read beside; -1: it was not */
    bool lists;      /* these are known; false: nothing but the process is */
    struct served_list frontends, backends;
    struct served_failures failures; /* empty, too, where they were not asked for */
};

void served_fini(struct served *s); /* which is as zeroed then */
void served_add_frontend(struct served *s, const char *name, bool open);
void served_add_backend(struct served *s, const char *name, unsigned up);
/* By its row of the statistics, whose words each may be NULL. One that is not down by its check is not added. */
void served_add_server(struct served *s, const char *backend, const char *server, const char *status, const char *check,
                       const char *detail);
void served_sort(struct served *s); /* after the last one */
/* Instead of what ret has. */
void served_copy(struct served *ret, const struct served *s);

/* NULL: there is none. */
const struct served_proxy *served_find(const struct served_list *l, const char *name);
/* NULL: it is not among them. */
const struct served_failure *served_failure_of(const struct served *s, const char *backend, const char *server);
/* Servers that are up; 0: none, or there is no such backend. */
unsigned served_up(const struct served *s, const char *backend);
