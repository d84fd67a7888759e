/*
 * What `doctor` found: sections with checks, each with its mark, what was checked, and for what is not well why that
 * matters and how to fix it. Plain values, made by cli/doctor, shown by cli/doctor/doctor_print. Texts may hold names
 * that others chose; no secret is ever in one.
 */
#ifndef CLI_DOCTOR_DOCTOR_REPORT_H
#define CLI_DOCTOR_DOCTOR_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "report/checks.h"

#define DOCTOR_TEXT_MAX_BYTES 2000 /* of each text; what a server says beyond that is cut, with "..." */

/* One way to fix it. */
struct doctor_fix {
    char *how;   /* "in haproxy.cfg, then reload HAProxy": where the lines go, or all there is to say */
    char *lines; /* to be copied as they are, '\n' between them; NULL: none */
    bool also;   /* goes together with the one before; otherwise it is another way */
};

struct doctor_check {
    const char *id;           /* "kubernetes.credentials"; a constant, stable, for JSON */
    struct check is;          /* reason: what was seen, or for a SKIP why it was not checked */
    char *why;                /* its effect or its cause, as far as known; NULL: none */
    struct doctor_fix *fixes; /* in place of a hint */
    size_t fix_count;
};

struct doctor_section {
    const char *kind; /* "kubernetes", "service", ...; a constant, stable, for JSON */
    char *subject;    /* which one of them: a URL, "namespace/name"; NULL: there is only one */
    char *remark;     /* "kubeconfig /root/.kube/config, context prod"; NULL: none */
    struct doctor_check **checks;
    size_t check_count;
};

struct doctor_report {
    struct doctor_section **sections;
    size_t section_count;
    bool settings_failed; /* nothing but the settings could be checked */
};

void doctor_report_fini(struct doctor_report *r); /* a zeroed one is allowed */

/* ---- making one: all texts are copied; what is returned lives as long as the report ---- */

struct doctor_section *doctor_section(struct doctor_report *r, const char *kind, const char *subject,
                                      const char *remark);

/* reason: as printf; of one that is skipped, why, with the name of the check that has to be repaired first. */
struct doctor_check *doctor_add(struct doctor_section *s, enum check_state state, const char *id, const char *name,
                                const char *reason, ...) printf_like(5, 6);
#define doctor_ok(s, ...) doctor_add((s), CHECK_OK, __VA_ARGS__)
#define doctor_warn(s, ...) doctor_add((s), CHECK_WARN, __VA_ARGS__)
#define doctor_fail(s, ...) doctor_add((s), CHECK_FAIL, __VA_ARGS__)
#define doctor_skip(s, ...) doctor_add((s), CHECK_SKIP, __VA_ARGS__)

void doctor_why(struct doctor_check *c, const char *fmt, ...) printf_like(2, 3);

void doctor_fix(struct doctor_check *c, const char *how, const char *lines, ...) printf_like(3, 4);
void doctor_advice(struct doctor_check *c, const char *fmt, ...) printf_like(2, 3); /* a fix without lines */
void doctor_also(struct doctor_check *c); /* the last fix goes together with the one before it */

/* ---- reading it ---- */

size_t doctor_count(const struct doctor_report *r, enum check_state state);
/* 0 where nothing failed, 1 where something did, 78 where the settings cannot be used. */
int doctor_status(const struct doctor_report *r);

#endif
