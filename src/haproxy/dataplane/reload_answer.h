/* The answer to GET /reloads/<id>, for haproxy/reload_poll. */
#pragma once

#include <stdint.h>

struct dataplane_answer;
struct reload;

void reload_answer(struct reload *r, const struct dataplane_answer *a, uint64_t now_ms);
