/*
 * The machine of a whole configuration: POST /configuration/raw, as (state, event) -> action over plain structs; either
 * only_validate (HAProxy checks the bytes as they are; their line numbers are the sender's), or a write with
 * skip_reload. The API does not store the bytes but what its parser makes of them: so the answer is compared with what
 * was sent, and where that means something else, the file from before goes back. Loading it is an empty commit, later:
 * until then a comment at its top says so, because neither the API nor HAProxy tells whoever starts in between.
 * It sends nothing itself (haproxy/dataplane/driver does).
 */
#ifndef HAPROXY_DATAPLANE_REPLACEMENT_H
#define HAPROXY_DATAPLANE_REPLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "haproxy/dataplane/transaction.h"

struct cfg_content;
struct cfg_edits;
struct dataplane_answer;

enum replacement_state {
    REPLACEMENT_IDLE,
    REPLACEMENT_VALIDATE,
    REPLACEMENT_WRITE,
    REPLACEMENT_RESTORE, /* what was written means something else: the file from before */
    REPLACEMENT_DONE,
};

struct replacement {
    enum replacement_state state;
    struct replacement_request request;
    int64_t version; /* to write at; once written the new one */
    int64_t from;    /* the first of them */
    /* PREVIEWED: valid. COMMITTED: written, not loaded yet, unless reload_id is set. HARMFUL: it would mean something
     * else, the file from before is back; with UNKNOWN it may not be. All others as of a commit. */
    enum transaction_result result;
    struct error error; /* why; kind NONE with PREVIEWED and COMMITTED */
    char *reload_id;    /* of an API that reloads all the same; NULL: none */
    int64_t retry_after_ms;
    uint64_t took_us;
    struct buf path, head;
    struct cfg_content *own[2]; /* what is sent in place of the text, and of the file from before; NULL: those */
    struct cfg_content *sends;  /* TRANSACTION_SEND: a POST of the action's body, and then this text */
};

void replacement_init(struct replacement *r);
void replacement_fini(struct replacement *r);

struct transaction_action replacement_start(struct replacement *r, int64_t version,
                                            const struct replacement_request *request);
/* TRANSACTION_JUDGE: the answer's body is the file as it is now; replacement_judged is next. */
struct transaction_action replacement_answer(struct replacement *r, const struct dataplane_answer *a);
/* The file of that version was written so, and no commit has loaded it since. head: the comments that it begins with. */
bool replacement_is_unloaded(const char *head, size_t len, int64_t version);
/* problem: what of the file means something else than what was sent; NULL: nothing. */
struct transaction_action replacement_judged(struct replacement *r, const char *problem);

#endif
