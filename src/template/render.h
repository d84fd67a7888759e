/*
 * One render of a template set over the objects that it watches: in a child process, with limits on time, memory and
 * output, under a filter of system calls that leaves it nothing but to write its result. What goes wrong in there, a
 * template without an end included, is an error here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "template/engine.h"

struct buf;
struct event_base;
struct objects;
struct render;
struct settings_local;
struct storage_files;
struct storage_known;
struct template_set;

struct render_file {
    enum engine_output_kind kind;
    char *name;
    char *bytes; /* a NUL behind the last */
    size_t len;
};

/* What a template said of an object. */
struct render_remark {
    bool left_out; /* by warn(): the rest was rendered without it */
    size_t resource;
    char *key; /* "namespace/name" */
    char *text;
    bool as_before; /* it was rendered as it was before it changed (daemon/quarantine) */
};

struct rendered {
    struct render_file *files; /* the first is haproxy.cfg */
    size_t file_count;
    struct render_remark *remarks;
    size_t remark_count;
    char *owners; /* of hosts: "HOST NAMESPACE\n" for each; NULL: the templates leave none to one */
    bool placed;  /* places of servers depend on `before` */
    uint64_t took_us;
};
void rendered_remark(struct rendered *r, const struct render_remark *m); /* its texts are taken */
/* Adds what a render's process wrote, which is not trusted: records of this program's own form. ERROR_RETRY: it is not of that form or is cut off;
 * ERROR_INVALID: the template's own error. objects NULL: there are none. */
int rendered_read(struct rendered *r, const struct objects *objects, const struct buf *out,
                  struct error *err) must_check;
/* Adds what was rendered besides haproxy.cfg as the files that a HAProxy gets, copied. known: as of storage_files_add_known, or
 * NULL. ERROR_INVALID: which one cannot be stored, and why. */
int rendered_files(const struct rendered *r, struct storage_known *known, struct storage_files *ret,
                   struct error *err) must_check;
/* A text that refers to certificates by the names that they have where they come from, by where they are stored
 * (haproxy/storage_files): "/etc/haproxy/ssl/shop.example.pem" becomes "/etc/haproxy/ssl/shop_example.pem". folders: by enum
 * storage_kind, each with a slash at its end. */
void stored_paths(const char *text, size_t len, const struct storage_files *files, const char *const folders[3],
                  struct buf *out);
void rendered_fini(struct rendered *r); /* wipes, for there are private keys in it; a zeroed one is allowed */

struct render_options {
    const struct template_set *set;
    struct objects *objects;                 /* as they are now */
    struct storage_known *known;             /* certificates that need no other check; NULL: none are */
    const struct engine_variable *variables; /* besides those of the set */
    size_t variable_count;
    struct engine_unset unset;
    /* As the render before had them, with " held" behind those that stay whatever is seen; NULL: none. */
    const char *owners;
    const char *before;              /* the haproxy.cfg that was given last; NULL: none */
    const struct render_file *files; /* besides those of the set's templates */
    size_t file_count;
    /* Called by the child before it renders: for what is better made there than in a process that goes on. It may change o.
     * NULL: nothing. */
    void (*prepare)(void *arg, struct render_options *o);
    void *prepare_arg;
    const char *folders[3]; /* of maps, certificates and other files: what path() says */
    uint64_t timeout_ms;
    size_t memory_bytes, output_bytes;
    bool unfiltered; /* as on a kernel without seccomp, and for sanitizers */
};

/* on_done: once, from the loop; ret is the caller's to take, NULL where err says why there is none: ERROR_INVALID, of a
 * template with "haproxy.cfg:12:7: ...", its line, and the object that it was about. All that the options point to has to
 * stay until start returns: the child has a copy. NULL: it could not be started; ERROR_RETRY. */
struct render *render_start(struct event_base *base, const struct render_options *options,
                            void (*on_done)(void *arg, struct rendered *ret, const struct error *err), void *arg,
                            struct error *err) must_check;
void render_cancel(struct render *r); /* NULL is allowed; nothing is called back */

/* The same, waited for: for the command line. -1 with ERROR_INVALID or ERROR_RETRY. */
int render_now(const struct render_options *options, struct rendered *ret, struct error *err) must_check;

/* What path() says the folders are: of maps, certificates and other files, each with a slash at its end. For
 * render_options; allocates. */
void render_folders_init(char *ret[3], const struct settings_local *l);
