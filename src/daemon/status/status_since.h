/* Since when each check of /readyz fails, or has a remark: only those are kept. A plain value. */
#ifndef DAEMON_STATUS_SINCE_H
#define DAEMON_STATUS_SINCE_H

#include <stddef.h>
#include <stdint.h>

#include "report/checks.h"

struct status_since_entry {
    char *name;
    enum check_state state;
    uint64_t since_ms; /* as given */
};

struct status_since {
    struct status_since_entry *list;
    size_t count;
};

/* To be called again and again: what is not known yet begins at now_ms, what is over is forgotten. */
void status_since_look(struct status_since *s, const struct checks *checks, uint64_t now_ms);
/* 0: it is ok, or was not checked. */
uint64_t status_since_of(const struct status_since *s, const struct check *c);
/* The oldest in that state; 0: none is. */
uint64_t status_since_oldest(const struct status_since *s, enum check_state state);
void status_since_fini(struct status_since *s); /* a zeroed one is allowed */

#endif
