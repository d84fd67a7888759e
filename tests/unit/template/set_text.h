/* A template set from the text of a set.yaml, for tests. */
#pragma once

#include "../test.h"

#include "template/set.h"

static inline struct template_set *set_of(const char *yaml, struct error *err)
{
    const struct template_file file = {TEMPLATE_SET_FILE, yaml, strlen(yaml)};
    return template_set_parse(&file, 1, err);
}

/* One that has a haproxy.cfg besides. */
static inline struct template_set *good_set(const char *yaml)
{
    const struct template_file files[] = {{TEMPLATE_SET_FILE, yaml, strlen(yaml)}, {"haproxy.cfg.j2", "x\n", 2}};
    struct template_set *s = template_set_parse(files, 2, &flaw);
    ck_assert_msg(s != NULL, "%s", flaw.message);
    return s;
}
