/* Queue of runtime commands, one of them under way. The latest for a server counts. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "haproxy/runtime.h"

struct instance_backend;

struct command {
    struct instance_backend *backend; /* borrowed */
    char *name;
    enum runtime_admin state;
    const char *why;   /* constant */
    uint64_t event_us; /* of the event that brought it about; 0: none */
};

struct commands {
    struct command *list; /* the first one is under way where busy */
    size_t count;
    bool busy;
    uint64_t not_before_ms; /* after one that failed */
    unsigned failures;      /* in a row, each after a reading that went well */
};

void commands_fini(struct commands *q);
/* What waits for b and is not in the list, which names no server twice, is dropped; the list is added unless add is false
 * (what is under way is not given twice); what brings a server back goes first. */
void commands_set(struct commands *q, struct instance_backend *b, const struct runtime_command *list, size_t count,
                  bool add, uint64_t event_us);
bool commands_any(const struct commands *q, const struct instance_backend *b);
void commands_drop(struct commands *q, size_t at);
void commands_drop_from(struct commands *q, size_t first);
/* The first one failed; the others are dropped. counts: the API was well before. True: wrong, or time and again. */
bool commands_failed(struct commands *q, bool counts, bool wrong, uint64_t now_ms);
void commands_forget_failures(struct commands *q);
