/*
 * The PROXY protocol on both sides: what HAProxy sends to the servers of each backend, and what the nodes expect, by a
 * probe of up to three of them from this machine (net/proxy_probe). Here is what is pure of it; doctor_proxy_report is in
 * cli/doctor/doctor_parts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "net/proxy_probe.h"

struct settings;
struct doctor_section;
struct inspect_backend;

enum doctor_sends {
    DOCTOR_SENDS_NOTHING,
    DOCTOR_SENDS_BY_SETTING, /* HAPROXY_SEND_PROXY_V2 puts it there */
    DOCTOR_SENDS_BY_FILE,    /* the backend's default-server sets it, which the setting leaves alone */
};

/* What its servers send once the daemon has written; b may be one that was not read. */
enum doctor_sends doctor_proxy_sends(const struct inspect_backend *b, const struct settings *settings);

#define DOCTOR_PLACES_MAX 3

/* One server that was tried. */
struct doctor_place {
    const char *name, *address;
    unsigned port;
    struct proxy_replies replies;
    int os_error;
};

/* What the nodes expect, as far as their answers show it. */
struct doctor_expects {
    enum proxy_verdict verdict;
    bool mixed;               /* some expect it, some do not */
    enum proxy_talk language; /* PROXY_TALKS: not known */
};
struct doctor_expects doctor_proxy_expects(const struct doctor_place *places, size_t count);

void doctor_proxy_judge(const struct doctor_expects *e, enum doctor_sends sends, const struct doctor_place *places,
                        size_t count, struct doctor_section *s);

/* A backend of mode http before nodes that speak TLS; nothing is added where all is well, as below. */
void doctor_proxy_judge_mode(const struct doctor_expects *e, const struct inspect_backend *b, struct doctor_section *s);
void doctor_proxy_judge_checks(const struct doctor_expects *e, enum doctor_sends sends, const struct inspect_backend *b,
                               struct doctor_section *s);
