/* One command on a socket of HAProxy's, from beginning to end, waiting. For the helper, which has nothing else to do. */
#ifndef HAPROXY_LOCAL_TALK_H
#define HAPROXY_LOCAL_TALK_H

#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/error.h"

/* What came until HAProxy closed the connection goes into answer, which has a cap. watched: a socket whose other end's
 * close ends the wait. ERROR_RETRY; errno is set. */
int local_talk(const char *path, const char *before, const char *command, uint64_t timeout_ms, int watched,
               struct buf *answer, struct error *err) must_check;

#endif
