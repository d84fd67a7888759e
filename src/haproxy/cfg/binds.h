/*
 * Where a haproxy.cfg listens for TCP: its `bind` lines (HAProxy's configuration manual, 4.2 "bind", and 11 "Address
 * formats"), in whatever section. Names of hosts, environment variables, file descriptors and sockets that are files are no
 * addresses that are known from the text. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/address.h"

struct cfg_bind {
    char address[ADDRESS_TEXT_BYTES]; /* as address_canonical has it; "*": all, of IPv4 or of both families */
    uint16_t from, to;                /* ports */
    unsigned line;                    /* from 1 */
    bool six;                         /* of IPv6, as "::" and "ipv6@" are */
    bool v6only, v4v6;                /* else it is as the system has it */
    bool elsewhere;                   /* `namespace`, `interface` or `transparent`: another process cannot try it */
};

/* A zeroed one is empty. */
struct cfg_binds {
    struct cfg_bind *list;
    size_t count;
};

void cfg_binds_fini(struct cfg_binds *b); /* for cleanup() */
/* Adds those of a text. */
void cfg_binds_read(struct cfg_binds *b, const char *text, size_t len);
/* The first one of the same address and port: "*", "::" and "0.0.0.0" are one address, an address among them is another one.
 * NULL: none. address: "*" or an IP literal. */
const struct cfg_bind *cfg_binds_find(const struct cfg_binds *b, const char *address, uint16_t port);
