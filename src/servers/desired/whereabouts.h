/*
 * What servers/desired/update remembers: of each place its name and what it says to the others, of each slice where its
 * endpoints are. Nothing of it points into the caches but the slices that did not change.
 */
#ifndef SERVERS_DESIRED_WHEREABOUTS_H
#define SERVERS_DESIRED_WHEREABOUTS_H

#include "servers/desired/desired_internal.h"

enum known_flag {
    KNOWN_NAMED = 1u << 0,  /* it is a node */
    KNOWN_STEADY = 1u << 1, /* it has a live server, and time does not change that */
    KNOWN_EMPTY = 1u << 2,  /* it has no endpoint any more */
    /* As in struct run_rest. */
    KNOWN_READY = 1u << 3,
    KNOWN_PORT = 1u << 4,
    KNOWN_FAMILY = 1u << 5,
    KNOWN_ALONE = 1u << 6,
};

struct known_place {
    const char *name;
    const char *server; /* NULL: unknown */
    uint8_t flags;
    bool touched;
    uint32_t part; /* 1 + its index in a part of a run; 0: not in it */
};

struct known_set {
    const struct endpoint_set *set;
    const char *name;
    uint32_t *places; /* of its endpoints */
    size_t count;
};

struct whereabouts {
    struct text_pool *texts; /* of places, slices and all servers since all was computed */
    size_t texts_bytes;      /* then */
    const char *port;        /* with ask_port the name of the only one; NULL: none has one yet */
    bool ask_port;
    bool odd; /* a server's name is not just that of its node */
    struct known_place *places;
    size_t place_count, place_room;
    uint32_t *slots; /* 1 + index, by name */
    size_t slot_count;
    struct known_set *sets; /* ordered by name */
    size_t set_count;
    size_t endpoint_count;
};

/* Of a whole run with r->listed. -1: two places have one server name, so that none is by itself. */
int whereabouts_init(struct whereabouts *w, const struct run *r) must_check;
void whereabouts_fini(struct whereabouts *w);
uint8_t whereabouts_flags_of(const struct run *r, const struct place *p) must_check;
/* It is to be seen again; a node without a place is nothing to see. */
void whereabouts_touch(struct whereabouts *w, const char *node);
/* The slice has another object: its old and its new places are touched. -1: this concerns all. */
int whereabouts_replace(struct whereabouts *w, const struct endpoint_set *set) must_check;

#endif
