/* JSON in assertions. */
#pragma once

#include "test.h"
#include <yyjson.h>

/* Same JSON, whatever the order of keys. */
static inline void assert_json(const char *got, const char *expected)
{
    yyjson_doc *a = yyjson_read(got, strlen(got), 0), *b = yyjson_read(expected, strlen(expected), 0);
    ck_assert_msg(a != NULL && b != NULL && yyjson_equals(yyjson_doc_get_root(a), yyjson_doc_get_root(b)),
                  "got      %s\nexpected %s", got, expected);
    yyjson_doc_free(a);
    yyjson_doc_free(b);
}
