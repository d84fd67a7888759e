/*
 * What a Data Plane API reports about itself and its HAProxy, for `doctor`. Nothing is decided by it. Strings are
 * owned, NULL: unknown.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* GET /v3/info (or /v2/info): the API's own version, "3.3.0". ERROR_INVALID: this is no such answer. */
int about_read_api(const char *json, size_t len, char **ret_version, struct error *err) must_check;

/* GET .../runtime/info */
struct about_haproxy {
    char *version; /* "2.8.25" */
    char *socket;  /* that the API reaches it by */
    char *problem; /* the API answers, its HAProxy does not; NULL: it does */
    int64_t pid;   /* -1: unknown */
};
int about_read_haproxy(const char *json, size_t len, struct about_haproxy *ret, struct error *err) must_check;
void about_haproxy_fini(struct about_haproxy *a); /* a zeroed one is allowed */

/* GET .../configuration/global */
struct about_global {
    bool master_worker; /* the keyword stands in the file; without it, -W on the command line does the same */
    size_t sockets;     /* "stats socket" lines */
    bool admin_socket;  /* one of them is of level admin */
};
int about_read_global(const char *json, size_t len, struct about_global *ret, struct error *err) must_check;
