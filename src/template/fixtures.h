/* Objects without a cluster: what tests and `template render` put where the watches would. */
#ifndef TEMPLATE_FIXTURES_H
#define TEMPLATE_FIXTURES_H

#include <stdbool.h>
#include <yyjson.h>

#include "base/error.h"

struct objects;
struct template_set;

/* Empty, with a resource for each watch of the set, which has to stay. */
struct objects *fixtures_new(const struct template_set *set) must_check;

/* {"ingresses": [object, ...], ...}: each as its watch would have kept it. One of the same namespace and name is replaced.
 * others: of what the set does not watch, too, which is then left out. ERROR_INVALID: which fixture, and what is wrong with
 * it. */
int fixtures_add(struct objects *o, const struct template_set *set, yyjson_val *fixtures, bool others,
                 struct error *err) must_check;

/* All objects, and the set's own values: {"resources": {"ingresses": [...]}, "extra": {...}}. */
yyjson_doc *fixtures_document(const struct objects *o, const struct template_set *set) must_check;

#endif
