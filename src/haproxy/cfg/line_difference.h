/*
 * What differs between two haproxy.cfg, line by line, for people: as haproxy/cfg/difference sees it, so that comments,
 * white space and the order of sections are none of it; secrets masked (haproxy/cfg/mask). Pure.
 */
#ifndef HAPROXY_CFG_LINE_DIFFERENCE_H
#define HAPROXY_CFG_LINE_DIFFERENCE_H

#include <stddef.h>

#include "haproxy/cfg/file.h"

#define CFG_LINE_DIFFERENCE_MAX 20
#define CFG_LINE_DIFFERENCE_LINE_MAX_BYTES 200

/* Where the lines are the same, and only their order differs, there is none of them. */
struct cfg_line_difference {
    size_t count;
    struct cfg_line_of {
        char *section;                /* "backend b" */
        char *text;                   /* "- server n1 10.0.0.1:80 check" of the first file, "+ ..." of the second */
    } lines[CFG_LINE_DIFFERENCE_MAX]; /* the first of them */
};

void cfg_line_difference_init(struct cfg_line_difference *d, const struct cfg_file *before,
                              const struct cfg_file *after);
void cfg_line_difference_fini(struct cfg_line_difference *d);

#endif
