/*
 * The running daemon, asked at LISTEN_ADDRESS by /readyz and /status: does it run, is it ready and in sync, is it of this
 * version. That none runs is no failure: doctor is of use before the first start, too.
 */
#ifndef CLI_DOCTOR_DOCTOR_DAEMON_H
#define CLI_DOCTOR_DOCTOR_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "cli/running_daemon.h"

struct doctor_report;
struct event_base;
struct settings;

enum doctor_daemon_what { DOCTOR_DAEMON_READY, DOCTOR_DAEMON_STATUS, DOCTOR_DAEMON_ANSWERS };

struct doctor_daemon {
    char *url; /* NULL: the settings have none */
    struct doctor_daemon_answer {
        struct doctor_daemon *of;
        struct daemon_request request;
        struct error error; /* kind NONE: it answered */
        int status;
        bool connected; /* something is there, and perhaps hangs */
        char *body;     /* NULL: none */
    } answers[DOCTOR_DAEMON_ANSWERS];
    size_t asking;
    void (*done)(void *arg);
    void *arg;
};

/* How many times done will be called: 0 (there is nothing to ask) or 1. */
size_t doctor_daemon_start(struct doctor_daemon *d, struct event_base *base, const struct settings *settings,
                           uint64_t timeout_ms, void (*done)(void *arg), void *arg) must_check;
void doctor_daemon_fini(struct doctor_daemon *d); /* a zeroed one is allowed */

/* version: of this program. */
void doctor_daemon_report(const struct doctor_daemon *d, const char *version, struct doctor_report *r);

#endif
