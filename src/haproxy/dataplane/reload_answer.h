/* The answer to GET /reloads/<id>, for haproxy/reload_poll. */
#ifndef HAPROXY_DATAPLANE_RELOAD_ANSWER_H
#define HAPROXY_DATAPLANE_RELOAD_ANSWER_H

#include <stdint.h>

struct dataplane_answer;
struct reload;

void reload_answer(struct reload *r, const struct dataplane_answer *a, uint64_t now_ms);

#endif
