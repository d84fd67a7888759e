/*
 * What is to be done about each file beside a haproxy.cfg, as the way to that HAProxy foresees it (STORAGE_CHECK of
 * haproxy/driver) by what decides once the files are stored. Nothing in it is a secret: of a file its name alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "haproxy/storage_files.h"
#include "haproxy/map_text.h"

enum storage_effect {
    STORAGE_UNCHANGED,
    STORAGE_UNUSED,     /* it is stored; HAProxy has nothing of it */
    STORAGE_BY_RUNTIME, /* by runtime commands */
    STORAGE_BY_RELOAD,
    STORAGE_GOES, /* it is deleted, once the configuration runs */
};

struct storage_foreseen {
    char *name; /* "maps/hosts.map" */
    enum storage_effect effect;
    bool counted; /* a map whose file changes: */
    struct map_changes entries;
    char *why;           /* of BY_RELOAD; else NULL */
    struct buf commands; /* of BY_RUNTIME: commands to HAProxy, or requests to its API, one a line */
};

/* A zeroed one is empty. */
struct storage_foresight {
    struct storage_foreseen *list;
    size_t count;
};

void storage_foresight_fini(struct storage_foresight *s);
/* Valid until the next one. */
struct storage_foreseen *storage_foresight_add(struct storage_foresight *s, enum storage_kind kind, const char *name,
                                               enum storage_effect effect);
void storage_foreseen_count(struct storage_foreseen *f, const char *now, const char *next); /* entries of a map */
void storage_foreseen_reload(struct storage_foreseen *f, const char *why);

const char *storage_effect_name(enum storage_effect e); /* "unchanged", "stored", "runtime", "reload", "deleted" */
bool storage_foresight_has(const struct storage_foresight *s, enum storage_effect e);
/* The first one that takes a reload; NULL: none. */
const struct storage_foreseen *storage_foresight_reloads(const struct storage_foresight *s);
/* A reload comes in any case: it loads the files that runtime commands would have changed. */
void storage_foresight_load(struct storage_foresight *s);
