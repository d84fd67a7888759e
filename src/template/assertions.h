/* What a test of a template set asserts of what was rendered. Pure. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "base/compiler.h"
#include "template/render.h"
#include "template/set.h"

struct assertion_subject {
    const struct rendered *rendered; /* NULL: the render failed */
    const char *error;               /* then why */
    yyjson_val *document;            /* for a JSONPath without a target */
};

/* Of all but HAPROXY_VALID and DETERMINISTIC. NULL: it holds; else why not, to be freed: "haproxy.cfg has no ...". */
char *assertion_failure(const struct template_assertion *a, const struct assertion_subject *s) must_check;
/* Of DETERMINISTIC: of two renders of the same. */
char *assertion_difference(const struct rendered *a, const struct rendered *b) must_check;
