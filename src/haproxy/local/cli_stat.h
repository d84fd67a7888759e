/* What HAProxy answers to `show stat`, 2.6 to 3.4, as far as it is decided by. Pure. */
#pragma once

#include "base/compiler.h"
#include "base/error.h"
#include "haproxy/served.h"

/* All proxies, without their servers and sockets: what cli_stat_read is for. */
#define CLI_STAT "show stat -1 3 -1"

/* With their servers, too. */
#define CLI_STAT_SERVERS "show stat -1 7 -1"

/* Adds the proxies, and the servers that are down, to s, and sorts them. ERROR_INVALID: no such answer. */
int cli_stat_read(struct served *s, const char *answer, struct error *err) must_check;
