/*
 * The files beside a configuration by one Data Plane API: each step of haproxy/storage_machine as a request, all with
 * skip_reload but what the API is to change in HAProxy instead of a reload. (state, event) -> action over plain structs; it
 * sends nothing itself (haproxy/dataplane/driver does).
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "haproxy/dataplane/storage_run.h"
#include "haproxy/storage_machine.h"

struct dataplane_answer;

struct storage {
    struct storage_machine machine; /* its news say how it ended */
    struct storage_step step;       /* in hand */
    struct buf path, body, type;
    struct storage_run run;
    size_t at; /* the entry that HAProxy is to have, or the file of which that is foreseen */
};

void storage_init(struct storage *s);
void storage_fini(struct storage *s);

struct storage_action storage_start(struct storage *s, const struct storage_request *request);
struct storage_action storage_answer(struct storage *s, const struct dataplane_answer *a);
