/*
 * A Data Plane API with the HAProxy behind it, as measured on real ones: what the API answers, what haproxy.cfg says and what
 * HAProxy runs are three things. A failed reload puts the file back and leaves what the API answers; a restart of the API reads
 * the file; a reload takes everything along that HAProxy alone was sent. At most 20 transactions; a commit outdates the others.
 *
 * A request is carried out at one moment and answered at another, and either may fail to happen (struct fault).
 */
#pragma once

#include "clusters.h"
#include "conf.h"
#include "haproxy/dataplane/client.h"
#include "local.h"
#include "whole.h"

#define TRANSACTIONS_MAX 20
#define FAULTS_MAX 8
#define ORPHANS_MAX 8
#define OPERATORS_MAX 32
#define PATH_BYTES 256
#define TIMEOUT_US 10000000 /* of a request, as the daemon's client has it */
#define RELOAD_DELAY_US 2000000

struct world;

/* What a request is for. */
enum ask {
    ASK_READ,
    ASK_RUNTIME,
    ASK_LIST,
    ASK_BEGIN,
    ASK_CHANGE,
    ASK_COMMIT,
    ASK_DELETE,
    ASK_UPDATE,
    ASK_COMMAND,
    ASK_RELOADS,
    ASKS
};

enum fault_mode {
    FAULT_REFUSED, /* no connection */
    FAULT_RESET,   /* taken, not carried out, no answer */
    FAULT_LOST,    /* carried out, no answer */
    FAULT_HUNG,    /* carried out, and no answer until the client gives up */
    FAULT_LATE,    /* carried out after the client gave up */
    FAULT_SLOW,    /* 3 s */
    FAULT_500,
    FAULT_503,
    FAULT_400,  /* a commit or a write without a transaction: HAProxy refuses the configuration */
    FAULT_DEAF, /* answered as if HAProxy had followed */
    FAULTS,
};

struct fault {
    unsigned asks; /* bits; 0: none */
    enum fault_mode mode;
    unsigned times;
};

struct reply {
    int status; /* 0: none */
    struct buf body;
    char reload_id[24];
    int64_t version; /* as of when it was carried out; 0: as of the answer */
    enum http_progress progress;
};

struct request {
    bool busy, carried_out;
    char method[8], path[PATH_BYTES];
    char *json, *actions;               /* NULL: none */
    uint64_t sent_us, at_us, answer_us; /* at_us 0: it is not carried out */
    bool deaf;
    unsigned life; /* of the daemon that sent it */
    enum ask ask;
    struct decided decided;
    struct reply reply;
    void (*on_answer)(void *arg, const struct dataplane_answer *a);
    void *arg;
};

struct dataplane_client {
    struct api *api;
    struct request request;
};

struct transaction {
    unsigned number; /* 0: none */
    enum { IN_PROGRESS, FAILED, OUTDATED } status;
    int64_t version;
    bool foreign;
    bool lost;              /* the daemon never got its id */
    struct decided decided; /* when it was begun */
    struct conf *conf;
};

/* What an operator has set in the running HAProxy. */
struct operator_state {
    size_t backend;
    char name[NAME_BYTES];
    enum admin admin;
    uint64_t at_us;
    bool in_file; /* not in the running HAProxy: its line was put into maintenance by hand */
};

struct api {
    struct world *world;
    size_t number;
    char url[24];
    struct dataplane_client file, runtime;
    struct local_model local; /* in place of these */
    struct whole_target whole;
    struct other_cluster others;
    struct conf memory, on_disk,
        good;                     /* what the API answers, haproxy.cfg, and that of the last reload that went well */
    struct conf kept;             /* what another writer puts back */
    unsigned other_writer;        /* so often */
    uint64_t other_writer_due_us; /* 0: not soon */
    struct running running;
    bool commits; /* a commit is in hand: one reload loads all of it */
    unsigned pid;
    uint64_t pid_since_us;
    uint64_t haproxy_back_us; /* it is down until then; 0: it runs */
    uint64_t api_back_us;
    struct transaction transactions[TRANSACTIONS_MAX * 4];
    unsigned transaction_number;
    struct request orphans[ORPHANS_MAX]; /* carried out though nobody waits for the answer */
    bool reload_pending;
    uint64_t reload_due_us;
    unsigned reload_number, fail_reloads;
    char outcomes[4096]; /* by number: 0 pending, 's', 'f' */
    struct fault faults[FAULTS_MAX];
    struct operator_state operators[OPERATORS_MAX];
    size_t operator_count;

    uint64_t wrong_us[OURS]; /* since then it is reported to be in sync, and is not; 0: it is not so */
    uint64_t stuck_us[OURS]
                     [SERVERS_MAX];    /* the row of world.wants is to serve and does not since then; 0: it is not so */
    uint64_t stuck_look_us, status_us; /* when these were read last */
    uint64_t reloaded_us;              /* for the daemon */
    uint64_t refused_us;      /* HAProxy refused a change or a reload last, or another writer undid one; 0: never */
    uint64_t touched_us;      /* another writer changed something last */
    uint64_t edited_us;       /* the file */
    uint64_t moved_us;        /* an address in it: that name is lost since then, and may be put back unseen */
    uint64_t unseen_until_us; /* the last edit moved no version */
    uint64_t read_us;         /* when the daemon had the file last */
    bool unread[OURS];        /* what runs of it: the daemon got no answer to that when it asked last */
    bool unseen;              /* an operator takes back what no HAProxy has any more, and the daemon remembers */
    bool looked[OURS];        /* since it started it got one, while no reload was pending */
    int64_t shown_version;    /* at which the daemon was shown last what a write does to the file; -1: none */
    uint64_t fought_us[OURS]; /* what the daemon wrote was undone that often, that it leaves HAProxy alone; 0: never */
    uint64_t undone_us[OURS][3]; /* newest first */
    unsigned undone_written[OURS];
    uint64_t troubled_us;         /* a request did last not go well for no fault of the daemon's */
    unsigned writes;              /* requests that change anything */
    unsigned written;             /* changes of the file by the daemon */
    unsigned requests;            /* since window_us */
    unsigned forgotten_loads;     /* of an API that was started again, in a row */
    uint64_t lied_us;             /* it said last that HAProxy had followed, and that had not; 0: never */
    struct decided write_decided; /* a write of the whole file: when the file was asked for, which it changes */
    unsigned dies_asks;           /* the daemon dies once one of these is carried out; bits of enum ask; 0: none */
    uint64_t window_us;
};

void api_init(struct api *a, struct world *w, size_t number);
void api_fini(struct api *a);

/* The next moment at which something happens by itself; UINT64_MAX: never. */
uint64_t api_next_us(const struct api *a);
/* What is due now. */
void api_happen(struct api *a);

/* From the daemon. */
void api_send(struct dataplane_client *c, const char *method, const char *path, const char *json, const char *actions,
              void (*on_answer)(void *arg, const struct dataplane_answer *a), void *arg);
void api_cancel(struct dataplane_client *c);

/* Others. */
void api_edit(struct api *a, const struct conf *to, bool reload); /* the file is changed, and the API notices */
void api_restart(struct api *a, uint64_t down_us);
void api_restart_haproxy(struct api *a, uint64_t down_us);
void api_reload_by_hand(struct api *a);
void api_begin_foreign(struct api *a, unsigned count);
void api_end_transaction(struct transaction *t);
void api_end_transactions(struct api *a, bool foreign);
void api_put_out(struct api *a, size_t backend, const char *name,
                 bool out); /* a line was put into maintenance by hand, or out of it */
/* The next daemon cannot distinguish a state that we set and nobody took back from an operator's; nor that a server was being
 * added, unless its file is noted not to be loaded. */
void api_leave_states(struct api *a);
void api_operate(struct api *a, size_t backend, const char *name, enum admin admin);
void api_add_fault(struct api *a, struct fault f);
void api_mend(struct api *a); /* no fault any more, nobody else does anything */

unsigned api_count_transactions(const struct api *a, bool foreign); /* in progress */
bool api_has_no_room(const struct api *a);                          /* for another one */
unsigned api_count_forgotten(const struct api *a);                  /* of the daemon's, which it could delete */
/* What the request is for, for messages and faults. */
enum ask api_ask(const struct dataplane_client *c, const char *method, const char *path);
extern const char *const api_ask_names[ASKS];
extern const char *const api_fault_names[FAULTS];

/* Whether an operator ever set its state: who takes it back between two readings, or while HAProxy has forgotten it, is not seen, and the
 * daemon may set it again. */
bool api_is_operated(const struct api *a, size_t backend, const char *name);

/* api_write.c: carries a request out. */
void api_carry_out(struct api *a, struct request *r);
void api_reload_ends(struct api *a);
void api_schedule_reload(struct api *a);          /* by another writer */
void api_outdate(struct api *a, int64_t version); /* transactions that were begun at it, or before */
void api_provoke(struct api *a);                  /* another writer sees what the daemon wrote */

void api_message(struct request *r, int status, const char *text);
void api_unexpected(struct api *a, const struct request *r);

/* api_adds.c: servers that come and go while HAProxy runs, and the write of the whole file with them. */
void api_add_server(struct api *a, struct request *r, size_t backend);
void api_delete_server(struct api *a, struct request *r, size_t backend, struct running_server *is);
void api_post_file(struct api *a, struct request *r, const char *query);
bool api_act(struct api *a, const struct request *r); /* its X-Runtime-Actions; false: HAProxy refused one */

bool api_take_fault(struct api *a, enum ask ask, enum fault_mode *ret);
