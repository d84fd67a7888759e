/* A whole haproxy.cfg as its source gave it, with the files that it refers to: immutable, shared by counted references. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"
#include "haproxy/storage_files.h"
#include "net/digest.h"

#define DOCUMENT_MAX_BYTES (16u << 20)

struct cfg_content;

struct document {
    unsigned references;
    char *origin; /* for messages: "/etc/haproxy.cfg", "Secret ns/name, key haproxy.cfg" */
    struct cfg_content
        *content; /* as it is sent (haproxy/cfg/source): no NUL, a newline at its end, the user's lines */
    char hash[DIGEST_SHA256_HEX_BYTES], text_hash[DIGEST_SHA256_HEX_BYTES]; /* of the user's bytes; of the content */
    bool with_files; /* the source brings files, if only none now */
    bool trial;      /* HAProxy is to check it, and does not get it (configuration/culprits) */
    struct storage_files files;
    char id[DIGEST_SHA256_HEX_BYTES]; /* of bytes and files; without files it is the hash */
};

enum document_use {
    DOCUMENT_FOR_APIS, /* by Data Plane APIs, which write it anew */
    DOCUMENT_FOR_FILE, /* a HAProxy's own file: byte for byte */
};

/* Checks the structure of the bytes, which are copied; hash: of the bytes, NULL: not known. files NULL: the source brings
 * none; else they are taken over, and *files is empty then. NULL with ERROR_INVALID: what, in which line, and what to
 * do. */
struct document *document_new(enum document_use use, const char *origin, const char *bytes, size_t len,
                              const char *hash, struct storage_files *files, struct error *err) must_check;
/* The same of a text as it was sent before (configuration/store): hash is that of the user's bytes. */
struct document *document_restore(enum document_use use, const char *origin, const char *text, size_t len,
                                  struct storage_files *files, const char hash[DIGEST_SHA256_HEX_BYTES],
                                  struct error *err) must_check;
struct document *document_ref(struct document *d) must_check;
void document_unref(struct document *d); /* NULL is allowed */

static inline void document_unref_ptr(struct document **d)
{
    document_unref(*d);
}
