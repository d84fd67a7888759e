/*
 * A HAProxy that is reached by its own haproxy.cfg and sockets, in place of the helper (haproxy/local/helper.h): its file with
 * an identity, which `haproxy -c` takes or not, what runs with the connections that it has, and a master that reloads.
 */
#pragma once

#include "clusters.h"
#include "conf.h"
#include "haproxy/local/message.h"

struct api;

#define LOCAL_EXCUSED_US 60000000

/* settings.local */
enum local_way {
    LOCAL_NONE,   /* a Data Plane API */
    LOCAL_SAYS,   /* a stats socket, and a master that says how a reload ended */
    LOCAL_SILENT, /* a stats socket, and a master that does not (2.6) */
    LOCAL_MASTER, /* the same master alone */
    LOCALS
};

struct local_request {
    struct local_request *next;
    struct local_ask ask;                /* its bytes are this one's own */
    uint64_t asked_us, at_us, answer_us; /* at_us 0: it is not carried out */
    bool begun, carried_out;
    bool refused, deaf, quiet; /* quiet: nothing is answered */
    bool takes_back;           /* a server that the file did not have then */
    unsigned life;             /* of the daemon that asked */
    struct decided decided;
    struct local_answer answer;
    struct buf data;
    local_answered *answered;
    void *arg;
};

struct local_helper {
    struct api *api;
    struct local_request *first;
};

struct local_model {
    struct local_helper file, commands;
    struct local_request *orphans[2]; /* of helpers that end: what was begun is done */
    char *text;                       /* of haproxy.cfg */
    int64_t stamp;                    /* which is another one with each write */
    bool unloaded;                    /* a daemon wrote it, and noted no reload */
    unsigned unloaded_life;           /* of the first one since it was loaded */
    bool broken;                      /* by a hand edit: HAProxy refuses it */
    bool behind;                      /* by a hand edit or a reload that failed: what runs has differed from it since */
    bool asked;                       /* the reload that is pending is the daemon's */
    bool owes;          /* its last one failed, or it was not known: what another's loads is not known to it */
    bool reload_failed; /* the last one */
    unsigned failed_reloads, refuse_adds;
    uint64_t locked_until_us; /* by another daemon */
    bool held;                /* by ours, which takes turns */
    bool reads; /* a reading is under way: what is asked after a write only shows whether that came about */
    uint64_t held_since_us;
    bool was_locked;             /* the daemon got that answer last */
    struct decided lock_decided; /* of the last lock: what is written behind it was decided before */
    uint64_t lock_answered_us;
    uint64_t talk_troubled_us;  /* a command did not go well */
    uint64_t lineless_us;       /* a server serves that the file does not have since then; 0: none does */
    uint64_t lineless_until_us; /* it may, until then */
    uint64_t excused_us;        /* a reload after this one has a reason */
};

void local_init(struct api *a);
void local_fini(struct api *a);
void local_edited(struct api *a); /* api.memory was, by hand */
void local_reload_ends(struct api *a);
bool local_is_locked(const struct api *a);      /* by another daemon, or the one before */
void local_put_text(struct api *a, char *text); /* which is taken over */
bool local_is_broken(const struct api *a);      /* no load of its file succeeds */
void local_mend(struct api *a);
bool local_commands_are_in_vain(const struct api *a); /* the daemon says so, with a reason in the last hour */
void check_local(struct api *a);                      /* after everything that happens */
void local_use(struct api *a, size_t backend, unsigned servers,
               uint64_t us); /* bits: they have connections for so long */

/* local_helper.c: the functions of haproxy/local/helper.h */
void local_drop(struct api *a); /* the daemon ends */
uint64_t local_next_us(const struct api *a);
bool local_happen(struct api *a);
void local_fail(struct local_request *r, int number, const char *why);

/* local.c */
void local_carry_out(struct api *a, struct local_request *r);

/* local_commands.c: one line of commands, or several. */
void local_carry_out_commands(struct api *a, struct local_request *r);
/* Of a line of commands, behind what it begins with to tell their answers apart. */
const char *local_first_command(const char *line);
bool local_takes_back(struct api *a, const struct local_ask *k);

/* local_text.c */
char *local_text_print(const struct conf *c);
/* What the words behind `server NAME` say; -1: why says what is not known. */
int local_text_server(char *words, struct server *ret, char *why, size_t why_bytes);
void local_text_read(struct api *a, const char *text, struct conf *ret);             /* over what it is already */
void local_text_compare(struct api *a, const char *was, const char *is, bool grows); /* what is not ours stays */
