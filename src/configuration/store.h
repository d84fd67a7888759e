/*
 * What the configuration engine remembers: the last configurations that ran well, what was rejected where, and which
 * version an operator went back to. In a folder (STATE_DIR) it outlives the daemon:
 *
 *     configuration.json   the list of it all
 *     version-7.cfg        the text of a version, as it was sent
 *     version-7.json       the files that belong to it, where it has any
 *     lock                 held by the daemon that leads and writes here (flock(2))
 *
 * What cannot be written is logged and kept in memory; what cannot be read is logged and left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "configuration/document.h"
#include "base/log.h"
#include "net/digest.h"

#define STORE_VERSIONS 10

struct store;
struct yyjson_mut_doc;
struct yyjson_mut_val;

struct store_version {
    unsigned number;                                                 /* they count on, over a restart too */
    char *origin;                                                    /* "/etc/haproxy.cfg" */
    char hash[DIGEST_SHA256_HEX_BYTES], id[DIGEST_SHA256_HEX_BYTES]; /* as a document's */
    int64_t applied_ms;                                              /* wall clock */
    size_t bytes;
    bool with_files;
    char **targets; /* the URLs that it ran at, or other names of HAProxies */
    size_t target_count;
};

/* Empty until it is taken. folder NULL: memory only. NULL, ERROR_FATAL: it cannot be used. */
struct store *store_new(const char *folder, const struct log *log, struct error *err) must_check;
/* The same to read it, beside the daemon that has it: nothing may be changed. */
struct store *store_read(const char *folder, const struct log *log, struct error *err) must_check;
/* Whether store_new could use it, for check-config: nothing is made. */
int store_check(const char *folder, struct error *err) must_check;
/* For writing, with what the last daemon left there; false: another daemon has it. */
bool store_take(struct store *s);
void store_give_back(struct store *s);
void store_free(struct store *s);                       /* NULL is allowed */
void store_use(struct store *s, enum document_use use); /* what its versions are read for; by default for APIs */

struct store_view {
    int folder_fd;        /* that it writes to (for host/sandbox), and is kept in over a restart; -1: none */
    bool paused;          /* its source says so: for commands that read what is kept */
    unsigned held;        /* the version of a rollback; 0: none */
    const char *held_why; /* the daemon did it by itself; NULL: none, or an operator did */
};
struct store_view store_view(const struct store *s); /* borrowed until it changes */

/* ---- versions; 0 is the latest */

size_t store_count(const struct store *s);
const struct store_version *store_version(const struct store *s, size_t i);
/* Adds it to a list: {"number", "applied", "sha256", "id", "text_sha256", "source", "bytes", "targets"}. */
void store_put_version(const struct store *s, size_t i, struct yyjson_mut_doc *doc, struct yyjson_mut_val *list);
/* It runs at that URL, verified: a new version, if it is not the latest already. */
void store_applied(struct store *s, struct document *d, const char *url);
/* It did badly there, and the file from before goes back: as if it had never run. */
void store_taken_back(struct store *s, const char *id, const char *url);
/* That version was watched where it runs, and is good: what is gone back to by itself. The last such one is kept, however
 * many come after it. */
void store_prove(struct store *s, const char *id);
/* What is gone back to from that version: the last one that was proven, or else the last other one that no HAProxy rejects.
 * 0: there is none. */
unsigned store_good(const struct store *s, const char *id);
bool store_is_proven(const struct store *s, const char *id);
bool store_ran(const struct store *s, const struct document *d, const char *url); /* the same, before or now */
const struct store_version *store_latest(const struct store *s, const char *url); /* that ran there; NULL: none */
/* NULL, ERROR_INVALID: there is no such version, or its text is lost. */
struct document *store_document(const struct store *s, unsigned number, struct error *err) must_check;

/* A document is being written there, or was and is not known to run: so the file need not be another writer's where it differs
 * from what ran last. */
void store_writing(struct store *s, const char *url, bool writes);
bool store_was_writing(const struct store *s, const char *url); /* this run, or an earlier one that ended meanwhile */

/* ---- rejections, each of a document by a HAProxy of that version at that URL */

void store_reject(struct store *s, const char *hash, const char *url, const char *haproxy, const char *message);
/* The message; NULL: none is known. haproxy: "" while its version is not known: whatever it was. */
const char *store_rejection(const struct store *s, const char *hash, const char *url, const char *haproxy);
bool store_is_rejected(const struct store *s, const char *hash); /* by any HAProxy */
/* By any version of HAProxy; hash NULL: of all documents. */
void store_forget_rejections(struct store *s, const char *hash, const char *url);

/* A HAProxy that there will not be any more: what ran there, and what it rejected. */
void store_forget_target(struct store *s, const char *url);

void store_pause(struct store *s, bool paused);

/* ---- a rollback, which holds until the source has something else */

/* why: the daemon does so by itself; NULL: an operator. */
void store_hold(struct store *s, const char *from_hash, unsigned number, const char *why);
unsigned store_held(const struct store *s, const char *from_hash); /* 0: none for that document */
void store_release(struct store *s);
