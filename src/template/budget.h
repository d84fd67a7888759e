/*
 * What the objects of one namespace may take of a resource (namespace_bytes of its watch), as they are kept: a configuration has
 * limits, which are for all. The oldest are within it; those that are beyond are left out of renders. Pure.
 */
#pragma once

struct objects;
struct rendered;
struct template_set;

/* In the process of a render, whose objects go with it. */
void budget_apply(const struct template_set *set, const struct objects *objects);
/* What it left out, said of each. */
void budget_add_remarks(const struct template_set *set, const struct objects *objects, struct rendered *to);
