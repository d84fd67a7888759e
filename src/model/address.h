/* IP addresses as text: one address has many spellings in IPv6, and two spellings are no difference to write. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"

#define ADDRESS_TEXT_BYTES 46 /* INET6_ADDRSTRLEN */

/* The usual spelling (RFC 5952) of an IP literal. -1 where s is none (or NULL); ret is untouched then. */
int address_canonical(const char *s, char ret[ADDRESS_TEXT_BYTES]) must_check;

/* The same address, however spelled. Text that is no IP literal equals only itself. */
bool address_eq(const char *a, const char *b);
