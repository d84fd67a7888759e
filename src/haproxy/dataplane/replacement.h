/*
 * The machine of a whole configuration: POST /configuration/raw, as (state, event) -> action over plain structs; either
 * only_validate (HAProxy checks the bytes as they are; their line numbers are the sender's), or a write with
 * skip_reload. The API does not store the bytes but what its parser makes of them: so the answer is compared with what
 * was sent, and where that means something else, the file from before goes back. Loading it is an empty commit, later:
 * until then a comment at its top says so, because neither the API nor HAProxy reports it to a daemon that starts in between.
 *
 * Changes of servers alone need no load: the API sends them to HAProxy with the write, and they are read back. That comment
 * is there all the same, for until they are read back the result is unknown; to take it out again would be a second write, with
 * another `haproxy -c`. So a second one lists the runtime commands, and a daemon that finds both reads them back before
 * it loads the file (replacement_told).
 *
 * A server that is new is added in maintenance first, and gets ready with the write: HAProxy has no ready server that its file has not.
 * One that goes stops with the write, and is deleted behind it. What the header of one write has no room for is sent with further ones of the
 * same file: a request for each server makes the API read all servers. What is left after a failure:
 *
 *   an add fails                   the file is written without runtime commands, and its reload makes all of it
 *   HAProxy refuses the file       who was added is deleted
 *   no answer, or a conflict       who was added is in maintenance, or the file has it: the next reading shows which
 *   a further write fails          a reload
 *   a server has a health check    it takes connections with the write; the reload that begins its check follows
 *   another state is read back     a reload
 *   a server that goes is in use   HAProxy deletes none that has connections: again for a moment, then a reload
 *   the daemon ends in between     a server in maintenance without a line, which the next daemon finds and reloads
 *
 * It sends nothing itself (haproxy/dataplane/driver does).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "haproxy/dataplane/read_back.h"
#include "haproxy/dataplane/server_adds.h"
#include "haproxy/dataplane/transaction.h"

struct cfg_content;
struct changes;
struct dataplane_answer;

enum replacement_state {
    REPLACEMENT_IDLE,
    REPLACEMENT_VALIDATE,
    REPLACEMENT_ADD, /* servers that are new, in maintenance, before the file has them */
    REPLACEMENT_WRITE,
    REPLACEMENT_LOOK, /* what was written, which the answer does not say: HAProxy refused a runtime command beside it */
    REPLACEMENT_RESTORE, /* what was written means something else: the file from before */
    REPLACEMENT_VERIFY,  /* whether HAProxy applied the runtime commands */
    REPLACEMENT_DELETE,  /* servers that the file has no more */
    REPLACEMENT_UNDO,    /* nothing was written: the servers that were added for it */
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
    bool runs;          /* COMMITTED: HAProxy has all of its changes, and was read back */
    char *refusal;      /* what the API answered with a 500; NULL: nothing */
    char *why;          /* it takes a reload; NULL: it was not tried without, or nothing is to be said */
    int64_t retry_after_ms;
    uint64_t took_us;
    struct buf path, head;
    bool tries;         /* changes of servers go by the runtime */
    struct buf actions; /* of the headers X-Runtime-Actions; empty: none */
    size_t told;        /* so many bytes of them were sent, or are being */
    const char *tells;  /* a POST: those of them that are its header; NULL: none */
    struct server_adds adds;
    size_t added, at; /* so many of adds were added; the change in hand */
    unsigned waits;   /* for the connections of servers that go */
    struct read_back back;
    struct cfg_content *own[2]; /* what is sent in place of the text, and of the file from before; NULL: those */
    struct cfg_content *sends;  /* a POST: of the action's body, and then this text, */
    size_t skips;               /* without so many bytes, which the body has */
};

void replacement_init(struct replacement *r);
void replacement_fini(struct replacement *r);

/* haproxy: its version. */
struct transaction_action replacement_start(struct replacement *r, int64_t version,
                                            const struct replacement_request *request, const char *haproxy);
/* It takes a reload; right after the start, of a request without `changes`. */
void replacement_takes_reload(struct replacement *r, const char *why);
/* HAProxy has not applied what the API reported as sent, or cannot be read. What was refused is no sign of that: a reload was under way, a
 * server is in use. */
bool replacement_in_vain(const struct replacement *r);
/* TRANSACTION_JUDGE: the answer's body is the file as it is now; replacement_judged is next. */
struct transaction_action replacement_answer(struct replacement *r, const struct dataplane_answer *a);
/* The file of that version was written so, and no commit has loaded it since. head: the comments that it begins with. */
bool replacement_is_unloaded(const char *head, size_t len, int64_t version);
/* The same, unless HAProxy runs these. False: there are none. */
bool replacement_told(const char *head, size_t len, int64_t version, struct changes *ret);
/* problem: what of the file means something else than what was sent; NULL: nothing. */
struct transaction_action replacement_judged(struct replacement *r, const char *problem);
/* A line that says so of a version: it is one of the past once the file is written again. */
bool replacement_is_mark(const char *line);
