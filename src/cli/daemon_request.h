/* A question to the running daemon, by its own address: by no proxy, whatever the environment says. */
#ifndef CLI_DAEMON_REQUEST_H
#define CLI_DAEMON_REQUEST_H

#include <stdint.h>

#include "base/error.h"
#include "net/http.h"

struct event_base;

#define DAEMON_REQUEST_MS 2000 /* at most: it is near, and answers at once */

struct daemon_request {
    struct http *http;
    struct http_endpoint endpoint;
    struct http_request *request; /* NULL: none is under way, which its owner keeps so in on_done */
};

/* GET url path. timeout_ms counts where it is less than DAEMON_REQUEST_MS. -1: nothing is called back. */
int daemon_request_start(struct daemon_request *q, struct event_base *base, const char *url, const char *path,
                         uint64_t timeout_ms, const struct http_callbacks *callbacks, void *arg,
                         struct error *err) must_check;
void daemon_request_fini(struct daemon_request *q); /* a zeroed one is allowed */

#endif
