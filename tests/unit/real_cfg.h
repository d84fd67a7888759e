/* Configurations that others wrote: those in $HAPROXY_SOURCE; without it, those of this tree and of HAProxy's package. */
#ifndef TESTS_REAL_CFG_H
#define TESTS_REAL_CFG_H

#include <check.h>
#include <ftw.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"

/* Of each of their files; the unit tests run in the tree's own folder. */
static inline void walk_real_files(int (*each)(const char *path, const struct stat *info, int type, struct FTW *where))
{
    static const char *const own[] = {"docs/examples", "deploy", "tests/conformance", "tests/fuzz/corpus/rawcfg",
                                      "/usr/share/doc/haproxy/examples"};
    const char *source = getenv("HAPROXY_SOURCE");
    if (source != NULL)
        ck_assert_msg(nftw(source, each, 16, FTW_PHYS) == 0, "%s: cannot be walked", source);
    for (size_t i = 0; i < array_len(own) && source == NULL; i++)
        ck_assert_msg(nftw(own[i], each, 16, FTW_PHYS) == 0 || (own[i][0] == '/' && access(own[i], F_OK) != 0), "%s",
                      own[i]);
}

#endif
