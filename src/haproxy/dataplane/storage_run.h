/*
 * The machine that has a Data Plane API change one file in HAProxy beside the configuration, instead of a reload, and reads it
 * back: all entries of a map (haproxy/dataplane/map_payload), or, from 3.2 on, a certificate with its key. Only what HAProxy
 * has loaded under the path that the API stores it by. (state, event) -> action over plain structs; it sends nothing itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "haproxy/map_text.h"

struct dataplane_answer;
struct storage_file;

struct storage_action {
    bool send; /* else it has finished */
    const char *method, *path, *type;
    const char *body; /* NULL: none */
    size_t body_len;
};

enum storage_run_state {
    STORAGE_RUN_IDLE,
    STORAGE_RUN_FIND, /* of a certificate: its path, */
    STORAGE_RUN_LOOK, /* and whether HAProxy has one by that */
    STORAGE_RUN_TELL,
    STORAGE_RUN_READ,
};

struct storage_run {
    enum storage_run_state state;
    const struct storage_file *file; /* borrowed until it has finished */
    struct map_entries entries;      /* of a map; point into it */
    struct buf path, body;
    char *place;      /* where HAProxy shows it */
    bool asks;        /* whether HAProxy has one; nothing is changed */
    struct error why; /* finished: kind NONE, HAProxy has it */
};

void storage_run_init(struct storage_run *r);
void storage_run_fini(struct storage_run *r);

/* -1: runtime commands cannot change that one, and why. Nothing is begun. */
int storage_run_check(struct storage_run *r, const struct storage_file *f, struct error *err) must_check;
/* f passed the check. asks: only whether HAProxy could be changed. */
struct storage_action storage_run_start(struct storage_run *r, const struct storage_file *f, bool asks);
void storage_run_print(const struct storage_file *f, struct buf *ret); /* the request that changes it, a line */
struct storage_action storage_run_answer(struct storage_run *r, const struct dataplane_answer *a);
