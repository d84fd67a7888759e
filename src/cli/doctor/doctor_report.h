/*
 * What `doctor` found: sections with checks, each with its mark, what was looked at, and for what is not well why that matters
 * and how it is mended. Plain values, made by cli/doctor, shown by cli/doctor/doctor_print. Texts may hold names that others
 * chose; no secret is ever in one.
 */
#ifndef CLI_DOCTOR_DOCTOR_REPORT_H
#define CLI_DOCTOR_DOCTOR_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

#define DOCTOR_TEXT_MAX_BYTES 2000 /* of each text; what a server says beyond that is cut, with "..." */

enum doctor_mark { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL, DOCTOR_SKIP, DOCTOR_MARKS };

/* One way to mend it. */
struct doctor_fix {
    char *how;   /* "in haproxy.cfg, then reload HAProxy": where the lines go, or all there is to say */
    char *lines; /* to be copied as they are, '\n' between them; NULL: none */
    bool also;   /* goes together with the one before; otherwise it is another way */
};

struct doctor_check {
    const char *id; /* "kubernetes.credentials"; a constant, stable, for JSON */
    char *label;    /* "credentials" */
    enum doctor_mark mark;
    char *found; /* what was seen, or for a SKIP why it was not looked at */
    char *why;   /* what follows from it, what is known of its cause; NULL: nothing to say */
    struct doctor_fix *fixes;
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
    bool settings_failed; /* nothing but the settings could be looked at */
};

void doctor_report_fini(struct doctor_report *r); /* a zeroed one is allowed */

/* ---- making one: all texts are copied; what is returned lives as long as the report ---- */

struct doctor_section *doctor_section(struct doctor_report *r, const char *kind, const char *subject,
                                      const char *remark);

/* found: as printf. */
struct doctor_check *doctor_ok(struct doctor_section *s, const char *id, const char *label, const char *found, ...)
    printf_like(4, 5);
struct doctor_check *doctor_warn(struct doctor_section *s, const char *id, const char *label, const char *found, ...)
    printf_like(4, 5);
struct doctor_check *doctor_fail(struct doctor_section *s, const char *id, const char *label, const char *found, ...)
    printf_like(4, 5);
/* found: why it was not looked at, naming the check that has to be mended first. */
struct doctor_check *doctor_skip(struct doctor_section *s, const char *id, const char *label, const char *found, ...)
    printf_like(4, 5);

void doctor_why(struct doctor_check *c, const char *fmt, ...) printf_like(2, 3);

void doctor_fix(struct doctor_check *c, const char *how, const char *lines, ...) printf_like(3, 4);
void doctor_advice(struct doctor_check *c, const char *fmt, ...) printf_like(2, 3); /* a fix without lines */
void doctor_also(struct doctor_check *c); /* the last fix goes together with the one before it */

/* ---- reading it ---- */

size_t doctor_count(const struct doctor_report *r, enum doctor_mark mark);
/* 0 where nothing failed, 1 where something did, 78 where the settings cannot be used. */
int doctor_status(const struct doctor_report *r);
const char *doctor_mark_word(enum doctor_mark m); /* "ok", "warn", "fail", "skip": stable, for JSON */

#endif
