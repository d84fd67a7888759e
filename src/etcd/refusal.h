/*
 * Why etcd did not do what it was asked: gRPC's status as JSON (code, message; grpc-gateway), which is
 * {"error":"...","message":"...", "code":5} in etcd 3.4, {"code":5,"message":"...","details":[]} in 3.6, and below
 * "error" in a stream. A watch that is refused says so in cancel_reason. What is meant is in the message alone (etcd's
 * api/v3rpc/rpctypes/error.go): one code stands for many. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct yyjson_val;

#define ETCD_REFUSAL_BYTES 256

enum etcd_refusal_kind {
    ETCD_REFUSED_OTHERWISE,  /* wrong for every endpoint */
    ETCD_REFUSED_UNKNOWN,    /* this is not how etcd refuses: a proxy, or another server */
    ETCD_REFUSED_NOT_NOW,    /* this endpoint cannot, and did nothing */
    ETCD_REFUSED_UNSURE,     /* this endpoint cannot; a write may yet be carried out */
    ETCD_REFUSED_COMPACTED,  /* the revision is gone */
    ETCD_REFUSED_NO_LEASE,   /* it has ended */
    ETCD_REFUSED_TOKEN,      /* authenticate anew */
    ETCD_REFUSED_AUTH_OFF,   /* authentication is not enabled */
    ETCD_REFUSED_NO_USER,    /* authentication is enabled, and there was no token */
    ETCD_REFUSED_PASSWORD,   /* or there is no such user */
    ETCD_REFUSED_PERMISSION, /* the user may not */
    ETCD_REFUSED_GATEWAY,    /* as unsure: the gateway has no connection to the server beside it */
    ETCD_REFUSED_TOO_LARGE,  /* what was asked */
    ETCD_REFUSED_NO_SPACE,   /* the quota is reached */
};

struct etcd_refusal {
    enum etcd_refusal_kind kind;
    char message[ETCD_REFUSAL_BYTES]; /* as etcd said it, or the beginning of what came; printable */
};

/* Of an answer with another status than 200. */
void etcd_refusal_read(int status, const char *body, size_t len, struct etcd_refusal *ret);
/* Of one line of a stream; false: it is none. */
bool etcd_refusal_in_stream(const char *json, size_t len, struct etcd_refusal *ret);
/* The same of one that was parsed. */
bool etcd_refusal_of_object(struct yyjson_val *root, struct etcd_refusal *ret);
/* By the text alone: a cancel_reason. */
void etcd_refusal_of_message(const char *message, struct etcd_refusal *ret);

/* Puts into words what is wrong, and what to do about it. user: NULL: none; about: which key, NULL where it is none. */
void etcd_refusal_explain(const struct etcd_refusal *r, int status, const char *user, const char *about,
                          struct error *err);
