/* Asks one Data Plane API what `doctor` needs and a plan does not: one GET after the other, nothing else. */
#ifndef CLI_DOCTOR_DOCTOR_DATAPLANE_H
#define CLI_DOCTOR_DOCTOR_DATAPLANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "haproxy/dataplane/about.h"
#include "haproxy/dataplane/codec.h"
#include "net/http.h"
#include "host/timer.h"
#include "cli/doctor/doctor_clock.h"

struct dataplane_client;
struct event_base;

enum doctor_dataplane_step {
    DATAPLANE_V3,
    DATAPLANE_V2, /* only where v3 is not there */
    DATAPLANE_HAPROXY,
    DATAPLANE_GLOBAL,
    DATAPLANE_TRANSACTIONS,
    DATAPLANE_RELOADS,
    DATAPLANE_STEPS,
};

/* How one of the GETs ended. */
struct doctor_get {
    bool asked;
    int status;         /* 0: no answer */
    struct error error; /* kind NONE: what was asked for came */
};

struct doctor_dataplane {
    struct dataplane_client *client; /* borrowed; NULL: none could be made */
    struct timer deadline;
    enum doctor_dataplane_step step;
    void (*done)(void *arg);
    void *arg;

    /* what came of it */
    struct doctor_get gets[DATAPLANE_STEPS];
    struct http_connection connection;
    struct doctor_skew skew;
    char *version; /* of the API, v3 or else v2 */
    struct about_haproxy haproxy;
    struct about_global global;
    size_t open_transactions, transactions; /* in_progress; all */
    struct reload_history reloads;
};

/* done is called once, from the loop. */
void doctor_dataplane_start(struct doctor_dataplane *d, struct event_base *base, struct dataplane_client *client,
                            uint64_t timeout_ms, void (*done)(void *arg), void *arg);
void doctor_dataplane_fini(struct doctor_dataplane *d); /* a zeroed one is allowed */

/* It is a Data Plane API of version 3 that accepts the credentials. */
bool doctor_dataplane_usable(const struct doctor_dataplane *d);

#endif
