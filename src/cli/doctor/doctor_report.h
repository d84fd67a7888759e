/*
 * What `doctor` found: sections with checks, each with its mark, what was checked, and for what is not well why that
 * matters and how to fix it; and how that is shown, as text or JSON. Plain values. Texts may hold names that others
 * chose; no secret is ever in one.
 *
 * JSON, one object. Fields may be added, none is renamed or taken away; null: nothing to say:
 *
 *   status     "ok" | "warn" | "fail": the worst of all checks; exactly with "fail" the exit status is not 0
 *   counts     {"ok", "warn", "fail", "skip"}: numbers of checks
 *   checks     [object], in the order in which they depend on one another:
 *     id       string: what is checked, such as "kubernetes.credentials"; several objects may have a check of one id
 *     section  "settings" | "kubernetes" | "service" | "haproxy" | "backend" | "proxy" | "clock"
 *     subject  string: which of these, such as a URL or "namespace/name"
 *     label    string: the same as id, for people
 *     status   "ok" | "warn" | "fail" | "skip"
 *     found    string: what was found; with skip: why it was not checked
 *     why      string: its effect or its cause
 *     fixes    [object], each a way to fix it: how (string), lines ([string], to be copied as they are), also (bool: to
 *              be done together with the one before; otherwise instead of it)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"
#include "report/checks.h"

struct buf;
struct page;

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

/* What {name} stands for in the texts of a section. */
struct doctor_word {
    const char *name; /* a constant: letters and "-" */
    char *value;
};

struct doctor_section {
    const char *kind; /* "kubernetes", "service", ...; a constant, stable, for JSON */
    char *subject;    /* which one of them: a URL, "namespace/name"; NULL: there is only one */
    char *remark;     /* "kubeconfig /root/.kube/config, context prod"; NULL: none */
    struct doctor_check **checks;
    size_t check_count;
    struct doctor_word *words;
    size_t word_count;
};

struct doctor_report {
    struct doctor_section **sections;
    size_t section_count;
    bool settings_failed; /* nothing but the settings could be checked */
    bool not_ready;       /* nothing may have failed, and the daemon that runs says that it is not ready */
    const char *plan;     /* the command that shows what would change; a constant; NULL: none does */
};

void doctor_report_fini(struct doctor_report *r); /* a zeroed one is allowed */

/* ---- making one: all texts are copied; a section lives as long as the report ---- */

struct doctor_section *doctor_section(struct doctor_report *r, const char *kind, const char *subject,
                                      const char *remark);

/* reason: as printf; of one that is skipped, why, with the name of the check that has to be repaired first. */
void doctor_add(struct doctor_section *s, enum check_state state, const char *id, const char *name, const char *reason,
                ...) printf_like(5, 6);
#define doctor_ok(s, ...) doctor_add((s), CHECK_OK, __VA_ARGS__)
#define doctor_warn(s, ...) doctor_add((s), CHECK_WARN, __VA_ARGS__)
#define doctor_fail(s, ...) doctor_add((s), CHECK_FAIL, __VA_ARGS__)
#define doctor_skip(s, ...) doctor_add((s), CHECK_SKIP, __VA_ARGS__)

void doctor_word(struct doctor_section *s, const char *name, const char *fmt, ...) printf_like(3, 4);
void doctor_set(struct doctor_section *s, const char *name, const char *value); /* NULL is as "" */
/* Several: doctor_sets(s, {"user", user}, {"file", file}). */
#define doctor_sets(s, ...)                                \
    do {                                                   \
        const char *const pairs_[][2] = {__VA_ARGS__};     \
        for (size_t i_ = 0; i_ < array_len(pairs_); i_++)  \
            doctor_set((s), pairs_[i_][0], pairs_[i_][1]); \
    } while (0)
/* The value between those two; NULL: "" alone. */
void doctor_set_if(struct doctor_section *s, const char *name, const char *before, const char *value,
                   const char *after);

/*
 * A text has what was found in its first line, and then lines as `doctor` prints them, with {words}:
 *
 *   user {user} may not read {file}
 *   why nothing is written while it is unknown
 *   fix as root:
 *     chown {user} {file}
 *   or set another file                 (another way; "and": together with the one before)
 *
 * What a word stands for never begins a line of another kind. A why, a fix or a line of it that becomes empty is left
 * out.
 */
void doctor_say(struct doctor_section *s, enum check_state state, const char *id, const char *name, const char *text);
/* Such lines without what was found: they belong to the check that was added last. */
void doctor_help(struct doctor_section *s, const char *lines);

/* What may be found, as a table: */
struct doctor_row {
    bool holds;
    enum check_state state;
    const char *text;
};
/* Says the first `most` rows that hold. How many these are. */
size_t doctor_judge(struct doctor_section *s, const char *id, const char *name, const struct doctor_row *rows,
                    size_t count, size_t most);
#define doctor_first(s, id, name, rows) (void)doctor_judge((s), (id), (name), (rows), array_len(rows), 1)
#define doctor_each(s, id, name, rows) doctor_judge((s), (id), (name), (rows), array_len(rows), SIZE_MAX)

/* ---- reading it ---- */

size_t doctor_count(const struct doctor_report *r, enum check_state state);
/* 0 where nothing failed, 1 where something did, 78 where the settings cannot be used. */
int doctor_status(const struct doctor_report *r);

void doctor_print(const struct doctor_report *r, struct page *p);
void doctor_print_json(const struct doctor_report *r, struct buf *out);
