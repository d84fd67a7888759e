/*
 * A change of a haproxy.cfg that an engine asks for: one backend's settings, or one of its server lines. How it is written
 * is the matter of the way to that HAProxy (haproxy/dataplane, haproxy/local).
 */
#pragma once

#include "base/compiler.h"
#include "base/error.h"
#include "haproxy/backend.h"

enum change_kind {
    CHANGE_MAKE_BACKEND, /* that is missing, with all that `settings` says; before its servers */
    CHANGE_SET_BACKEND,  /* to what `settings` says */
    CHANGE_SET_SERVER,   /* `fields` of a line that is there; the rest of it stays */
    CHANGE_ADD_SERVER,   /* a line that is not there */
    CHANGE_REMOVE_SERVER,
};

/* All that it points to is borrowed. */
struct change {
    enum change_kind kind;
    const struct backend *backend; /* as it was read */
    struct backend_settings settings;
    const struct backend_server *server; /* as it should be; CHANGE_REMOVE_SERVER: as it is. NULL: of the backend */
    unsigned fields;                     /* of CHANGE_SET_SERVER: bits of enum server_field */
};

/* "add server n1", for messages. Allocates. */
char *change_text(const struct change *c) must_check;

/* Whether "set server" can do a CHANGE_SET_SERVER. -1, ERROR_INVALID: why not. */
int change_can_be_set(const struct change *c, struct error *err) must_check;

/* Changes that outlive what they were made of: of the backend its name and what CHANGE_SET_BACKEND compares with, of the server its values. */
struct changes {
    struct change **list;
    size_t count;
};

/* Copies. */
void changes_add(struct changes *list, const struct change *c);
void changes_fini(struct changes *list); /* a zeroed one is allowed; empty afterwards */
