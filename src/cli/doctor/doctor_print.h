/*
 * Shows what cli/doctor/doctor found, as text or JSON. Pure.
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
#ifndef CLI_DOCTOR_DOCTOR_PRINT_H
#define CLI_DOCTOR_DOCTOR_PRINT_H

#include "base/buf.h"

struct doctor_report;
struct page;

void doctor_print(const struct doctor_report *r, struct page *p);
void doctor_print_json(const struct doctor_report *r, struct buf *out);

#endif
