/* For the decoders of resources: one object at a time, its fields, and what had to be left out of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/read.h"
#include "kube/decode/decode.h"
#include "model/objects.h"

/* The object in hand. */
struct decode {
    const struct kube_resource *of;
    const char *name;
    uint64_t uid_hash;
    const char *uid;       /* borrowed from the document; NULL: it has none */
    struct error *partial; /* the first thing left out */
    size_t left_out;
    size_t parts; /* kept and left out, against KUBE_MAX_PARTS */
};

/* Where the error of a part goes: only the first is kept, the others are not even written. */
struct error *decode_part_error(const struct decode *d);
/* A part is left out; the path goes in front of its error. */
void decode_left_out(struct decode *d, const char *path_fmt, ...) printf_like(2, 3);
/* Counts `more` parts; -1 past the cap. */
int decode_count(struct decode *d, size_t more, const char *field, struct error *err) must_check;

/* Elements of an array, one behind the other. */
struct decode_list {
    void *items; /* zeroed at first */
    uint32_t count;
    size_t item_bytes;
    /* Fills one, which is zeroed, from an object: 0; 1: it is of no use; -1: not usable, and nothing in it is to be freed. */
    int (*read)(yyjson_val *from, void *item, const void *arg, struct error *err);
    const void *arg;
};
/* Those of of[key] to the end of l; what is not usable is left out. path: "" or "spec.", in front of the key. */
int decode_list(struct decode *d, yyjson_val *of, const char *path, const char *key, struct decode_list *l,
                struct error *err) must_check;

/* A port number; 0 where absent. min 1: a 0 that is there is an error. */
int field_port(yyjson_val *of, const char *key, uint16_t min, uint16_t *ret, struct error *err) must_check;
/* A label or annotation that switches something on by being there, unless its value is a false bool. *ret is always
 * set: -1 only says that the value is not even a string. */
int field_switch(yyjson_val *of, const char *key, bool *ret, struct error *err) must_check;
/* An IP literal that a packet can be sent to. family: AF_INET, AF_INET6, 0 for both. */
int check_ip(const char *text, const char *what, int family, struct error *err) must_check;
