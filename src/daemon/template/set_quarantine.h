/*
 * Objects of a template set that HAProxy refuses a configuration for (daemon/quarantine): those of watches with `quarantine`. Of one
 * that was served before it changed this keeps its last good form, in memory: its JSON text, and that of the objects that it names
 * which changed with it. Renders see it so as long as HAProxy refuses what it is now.
 */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"

struct objects;
struct quarantine;
struct rendered;
struct set_quarantine;
struct template_set;

/* q is borrowed; NULL: nothing is left out. */
struct set_quarantine *set_quarantine_new(struct quarantine *q) must_check;
void set_quarantine_free(struct set_quarantine *s); /* NULL is allowed */

/* Before a render: shows it the objects, of which the render sees none that is left out. */
void set_quarantine_prepare(struct set_quarantine *s, const struct template_set *set, struct objects *objects);
/* The objects are others, or kept otherwise. */
void set_quarantine_forget(struct set_quarantine *s);
/* arg: the struct set_quarantine. Whether no render sees it as it is. */
bool set_quarantine_withholds(void *arg, const char *resource, const char *object);
/* Whether the host names of a namespace stay its own: some of its objects are left out, and cannot say which are theirs. */
bool set_quarantine_holds(struct set_quarantine *s, const char *namespace);
/* Adds a remark on each that is left out, or served as it was, as by warn() and event(). */
void set_quarantine_remark(const struct set_quarantine *s, const struct template_set *watched, struct rendered *r);
