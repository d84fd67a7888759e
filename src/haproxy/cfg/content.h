/*
 * The text of a haproxy.cfg and what it parses to: immutable, shared by counted references, parsed once, by the part that
 * asks first. A file may have 16 MiB, and several parts of the daemon read the same one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"
#include "haproxy/cfg/file.h"

struct cfg_content {
    unsigned references;
    char *text; /* NUL-terminated; overwritten at its end, for it holds passwords */
    size_t len;
    struct {
        bool done;
        struct cfg_file file;
        struct error error;
    } parsed;                    /* cfg_content_file alone */
    struct cfg_content *written; /* cfg_content_wrote */
};

/* Takes text over, which is from malloc and has a NUL at text[len]. */
struct cfg_content *cfg_content_new(char *text, size_t len) must_check;
struct cfg_content *cfg_content_take(struct buf *text) must_check; /* which is empty then */
/* The same of a text whose parse is known; takes that over, too. */
struct cfg_content *cfg_content_take_parsed(struct buf *text, struct cfg_file *f) must_check;
struct cfg_content *cfg_content_ref(struct cfg_content *c) must_check; /* NULL gives NULL */
void cfg_content_unref(struct cfg_content *c);                         /* NULL is allowed */
void cfg_content_hold(struct cfg_content **held,
                      struct cfg_content *c); /* in place of what was held; both may be NULL */

/* As cfg_file_init has it; c's own. NULL with *err (may be NULL) set: it is no configuration; or c is NULL. */
const struct cfg_file *cfg_content_file(struct cfg_content *c, struct error *err);
/* It is not read for now: it is parsed again when it is. references: the caller's; where there are more it
 * stays as it is. */
void cfg_content_rest(struct cfg_content *c, unsigned references);
/* `written` is what a Data Plane API made of c, and means the same: where another one makes the same of it, that is known
 * by its bytes. NULL: forgotten. */
void cfg_content_wrote(struct cfg_content *c, struct cfg_content *written);
/* Byte for byte. */
bool cfg_content_same(const struct cfg_content *a, const struct cfg_content *b);
/* Bytes of the comments and blank lines that a text begins with, in which a Data Plane API counts versions. */
size_t cfg_content_head(const char *text, size_t len, size_t *ret_lines);
/* c has these bytes behind the comments that it begins with, in which a Data Plane API counts versions, and as many lines
 * before them. c NULL: it has not. *ret_head: how many of the bytes are such comments. */
bool cfg_content_goes_on_as(const struct cfg_content *c, const char *text, size_t len, size_t *ret_head);

static inline void cfg_content_unref_ptr(struct cfg_content **c)
{
    cfg_content_unref(*c);
}
