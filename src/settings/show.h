/* The settings in effect, as check-config prints them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct settings;

/* A setting that stood on the command line. */
struct settings_flag {
    const char *name; /* of its variable, or of that variable's alias */
    char *word;       /* "--dry-run", "-v" */
};

struct settings_show {
    bool changed; /* those alone whose value is not the default; no remarks about HAProxies and backends */
    const struct settings_flag *flags;
    size_t flag_count;
};

/* As settings_print. */
void settings_print_as(const struct settings *s, const struct settings_show *how, struct buf *out);
