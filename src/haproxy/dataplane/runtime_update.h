/*
 * The machine of one write without a reload: PUT server?version= -> the running HAProxy read back and compared, as
 * (state, event) -> action over plain structs. It sends nothing itself (haproxy/dataplane/driver does).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "haproxy/dataplane/transaction.h"
#include "haproxy/driver.h"
#include "haproxy/backend.h"
#include "haproxy/runtime.h"

struct dataplane_answer;

enum update_state { UPDATE_IDLE, UPDATE_WRITE, UPDATE_READ, UPDATE_DONE };

struct runtime_update {
    enum update_state state;
    struct buf path;
    char *body, *read_path;
    struct backend_server wanted; /* the line, json too, as the file has it once it is written */
    unsigned fields;              /* that were written: bits of server_field */
    int64_t version;              /* to write at; with WRITTEN, RELOADS, UNPROVEN the new one */
    char *reload_id;              /* with RELOADS */
    enum update_result result;
    struct error error;     /* why; kind NONE with WRITTEN */
    char *refusal;          /* what the API said to the write, with a 500; NULL: nothing */
    int64_t retry_after_ms; /* -1 */
    uint64_t write_us, read_us;
    unsigned reads;
};

void runtime_update_init(struct runtime_update *l);
void runtime_update_fini(struct runtime_update *l);

/* fields: bits of server_field, those that differ from the line. keep_maintenance: the old line's maintenance stays as
 * it is. -1: it cannot be encoded, and l is unchanged. The action's path and body are valid until the next call. The
 * same struct serves one write after the other.
 * 
 * HAProxy has applied it when the write is answered, except addresses and ports: from 3.0 on a task of its own brings
 * these about some milliseconds later, so they are read again for a while. To be given up amid a request needs no call;
 * what was sent is UPDATE_UNKNOWN then. */
int runtime_update_start(struct runtime_update *l, int64_t version, const char *backend,
                         const struct backend_server *server, unsigned fields, bool keep_maintenance,
                         struct transaction_action *ret, struct error *err) must_check;
struct transaction_action runtime_update_answer(struct runtime_update *l, const struct dataplane_answer *a);

/* PUT .../runtime/backends/B/servers/S {"admin_state":"drain"}; allocated. */
char *runtime_command_path(const char *backend, const char *server) must_check;
/* The answer to it: 0 where the server is in that state now (drain or maint: in either, see codec_runtime.c).
 * ERROR_GONE: not there (or, with HAProxy 2.6 behind a master socket, not to be seen; Data Plane API 3.0 answers both
 * with 500: ERROR_RETRY); ERROR_INVALID: it was not applied. */
int runtime_command_answer(const struct dataplane_answer *a, enum runtime_admin wanted, struct error *err) must_check;
