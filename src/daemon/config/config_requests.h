/*
 * What an operator asks of the running daemon by `haproxy-k8s-sync config rollback` and `config apply`: a line in the
 * file "request" of STATE_DIR, which only the daemon's own user can write. The daemon removes it when it has done so.
 */
#ifndef DAEMON_CONFIG_REQUESTS_H
#define DAEMON_CONFIG_REQUESTS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/log.h"

#define CONFIG_REQUEST_FILE "request"
#define CONFIG_REQUEST_APPLY "apply"       /* forget rejections, compare, and apply what the source has */
#define CONFIG_REQUEST_ROLLBACK "rollback" /* and a version: "rollback 3" */

struct config_requests;
struct event_base;

struct config_requests_callbacks {
    bool (*takes)(void *arg); /* false: it is for another replica, which leads */
    void (*apply)(void *arg);
    int (*rollback)(void *arg, unsigned number, struct error *err);
};

/* folder: STATE_DIR, and its descriptor; both borrowed. NULL, ERROR_FATAL: no inotify. */
struct config_requests *config_requests_new(struct event_base *base, const char *folder, int fd, uint64_t reread_ms,
                                            const struct config_requests_callbacks *callbacks, void *arg,
                                            const struct log *log, struct error *err) must_check;
void config_requests_poke(struct config_requests *r); /* reads again; NULL is allowed */
void config_requests_free(struct config_requests *r); /* NULL is allowed */

#endif
