/* Objects without a cluster: what tests and `template render` put where the watches would. */
#ifndef TEMPLATE_FIXTURES_H
#define TEMPLATE_FIXTURES_H

#include <yyjson.h>

#include "base/error.h"

struct objects;
struct template_set;

/* Empty, with a resource for each watch of the set, which has to stay. */
struct objects *fixtures_new(const struct template_set *set) must_check;

/* {"ingresses": [object, ...], ...}: each as its watch would have kept it. One of the same namespace and name is replaced.
 * ERROR_INVALID: which fixture, and what is wrong with it. */
int fixtures_add(struct objects *o, const struct template_set *set, yyjson_val *fixtures, struct error *err) must_check;

#endif
