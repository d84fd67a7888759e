/*
 * Further files of a configuration, which haproxy.cfg refers to: maps, certificates with their keys, any others. Each has
 * the name that its user gave it and the one that it is stored by, which is a Data Plane API's (haproxy/dataplane/storage)
 * and, so that one configuration serves both, that of a HAProxy on this machine (haproxy/local/driver).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"
#include "net/digest.h"

struct storage_known;

#define STORAGE_FILES_MAX 5000
#define STORAGE_FILE_MAX_BYTES (16u << 20)
#define STORAGE_FILES_MAX_BYTES (64u << 20) /* of all together */
#define STORAGE_NAME_MAX_BYTES 200
/* The bytes that a name may have. */
#define STORAGE_NAME_ALPHABET "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
#define STORAGE_LIST "haproxy-k8s-sync.files" /* a general file of the daemon's own: what it put there */

enum storage_kind { STORAGE_MAP, STORAGE_CERTIFICATE, STORAGE_GENERAL };
#define STORAGE_KINDS 3

struct storage_file {
    enum storage_kind kind; /* as it was given */
    enum storage_kind
        place;    /* where it is stored: GENERAL for a certificate whose key the API does not know (Ed25519) */
    char *name;   /* "example.com.pem" */
    char *stored; /* "example_com.pem" */
    char *bytes;  /* NUL behind the last */
    size_t len;
    char hash[DIGEST_SHA256_HEX_BYTES];
};

/* In the order of place and stored name, which is theirs alone. A zeroed one is empty. */
struct storage_files {
    struct storage_file *list;
    size_t count, bytes;
};

void storage_files_fini(struct storage_files *f); /* wipes; for cleanup() */
/* Copies; ERROR_INVALID: what is wrong with it, beginning with "certs/example.com.pem". */
int storage_files_add(struct storage_files *f, enum storage_kind kind, const char *name, const char *bytes, size_t len,
                      struct error *err) must_check;
/* The same; a certificate that is known is not parsed again. */
int storage_files_add_known(struct storage_files *f, struct storage_known *known, enum storage_kind kind,
                            const char *name, const char *bytes, size_t len, struct error *err) must_check;
/* NULL: none. */
const struct storage_file *storage_files_find(const struct storage_files *f, enum storage_kind place,
                                              const char *stored);
/* Of kinds, names and bytes. */
void storage_files_hash(const struct storage_files *f, char ret[DIGEST_SHA256_HEX_BYTES]);

/* By which a file of that name is stored. Allocates. */
char *storage_stored_name(enum storage_kind place, const char *name) must_check;
/* The user's folder of a kind: "maps", "certs", "files". */
const char *storage_folder(enum storage_kind kind);
bool storage_kind_of(const char *folder, enum storage_kind *ret); /* false: it is none */

/* One of STORAGE_NAME_ALPHABET; NUL is none. */
bool storage_is_of_name(char c);
/* Where haproxy.cfg names it next, from `from` on, in a line that is no comment, by whatever path; NULL: nowhere. */
const char *storage_find_named(const char *text, const char *from, const char *stored);
/* Anywhere. What is kept for nothing does less harm than what is gone. */
bool storage_is_named(const char *text, const char *stored);
