/*
 * Asks etcd what `doctor` needs (CONFIG_SOURCE=etcd, CONFIG_TARGET=etcd), and judges it: of each member GET /version, which
 * needs no rights; then ETCD_PATH and its manifest, as the daemon reads them. Nothing is written, so that the right to do
 * that is not seen.
 */
#ifndef CLI_DOCTOR_DOCTOR_ETCD_H
#define CLI_DOCTOR_DOCTOR_ETCD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "configuration/published.h"
#include "host/timer.h"
#include "net/http.h"

struct doctor_etcd_member;
struct doctor_report;
struct etcd_access;
struct etcd_call;
struct event_base;
struct settings;

/* One of the two keys. */
struct doctor_etcd_read {
    struct etcd_call *call;
    bool asked, is_there;
    struct error error; /* kind NONE: it was read */
};

struct doctor_etcd {
    struct settings *settings;
    struct etcd_access *access; /* NULL: there is none, because of no_access */
    struct error no_access;
    struct timer deadline;
    struct doctor_etcd_member *members; /* as in settings */
    size_t waiting;                     /* for so many answers */
    void (*done)(void *arg);
    void *arg;
    struct doctor_etcd_read plain, manifest;
    bool is_manifest;
    struct published_manifest there; /* that, where it is one */
    struct error no_manifest;        /* why it is none */
};

/* False: nothing can be asked, and done is not called. Otherwise it is, once, from the loop. All of it is borrowed. */
bool doctor_etcd_start(struct doctor_etcd *d, struct event_base *base, struct http *http, struct settings *settings,
                       uint64_t timeout_ms, const struct log *log, void (*done)(void *arg), void *arg) must_check;
void doctor_etcd_report(const struct doctor_etcd *d, struct doctor_report *r);
void doctor_etcd_fini(struct doctor_etcd *d); /* a zeroed one is allowed */

#endif
