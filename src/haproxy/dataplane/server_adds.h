/*
 * Servers as a Data Plane API adds them to the running HAProxy: POST .../runtime/backends/B/servers, which needs every word that a line and
 * its default-server lines come to (model runtime_add_server). They come in maintenance. An API before 3.2 passes on one of the words
 * alone, and says nothing of it; no API can begin a health check (`enable health`), which a reload does. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct buf;
struct cfg_file;
struct changes;

struct server_adds {
    struct server_add {
        char *list, *path; /* of the backend's running servers, and of this one */
        char *body;
        char *name; /* "be/n4" */
    } * list;
    size_t count;
    char *unchecked; /* the first of them with a health check or an agent: "be/n4"; NULL: there is none */
};

#define SERVER_ADDS_UNCHECKED "server %s: HAProxy checks its health once it is reloaded"

void server_adds_fini(struct server_adds *a); /* a zeroed one is allowed */

/* Fills ret, which is zeroed, with those of the changes that add a server, and actions with what goes beside the write (server_actions). to: the
 * file with them. haproxy: its version. -1, ERROR_INVALID: one of them takes a reload, and why. */
int server_adds_of(const struct changes *changes, const struct cfg_file *to, const char *haproxy,
                   struct server_adds *ret, struct buf *actions, struct error *err) must_check;

/* Whether an API of that version ("v3.4.0") passes on all words, and HAProxy adds servers. "": unknown. */
bool server_adds_known(const char *api, const char *haproxy);
