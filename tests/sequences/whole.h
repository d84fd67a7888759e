/*
 * Whole configurations: the daemon's configuration engine in place of its servers engine, for HAProxies that are reached by
 * their own file and sockets (local.h). Documents come one after the other; hands write to the file and talk to the sockets.
 */
#pragma once

#include "conf.h"
#include "configuration/configuration.h"

#define WHOLE_RUNS_BYTES 4096
#define WHOLE_REMOVED_MAX 16
#define WHOLE_TEXTS_MAX 8192
#define WHOLE_FILES_MAX 6
#define WHOLE_CANARY_US 20000000 /* CONFIG_CANARY_TIME */
#define WHOLE_CAUSE_US 60000000  /* what happened may show so long after it */

struct api;
struct request;
struct storage_files;
struct store;
struct world;

/* A haproxy.cfg: what the document says, or a hand writes. */
struct whole_text {
    struct conf conf;
    unsigned setting, comment; /* a line that takes a reload; a comment */
    bool files;                /* it refers to these: */
    unsigned map, page;
    bool bad, unloadable; /* `haproxy -c` refuses it; it takes it, and no load succeeds */
    bool sick;            /* it is loaded, and a listener takes no connections */
};

/* What a hand has set in the running HAProxy since the last load or command: it is the operator's. */
enum whole_hand { WHOLE_HAND_ADDRESS = 1, WHOLE_HAND_WEIGHT = 2, WHOLE_HAND_STATE = 4, WHOLE_HAND_ALL = 7 };

/* Texts that were, as digests. */
struct whole_texts {
    uint64_t list[WHOLE_TEXTS_MAX];
    size_t count;
};

/* Beside the file. */
struct whole_file {
    char place[16], name[32];
    char *bytes, *runs; /* NULL: it is not stored; HAProxy has not loaded it */
};

/* Of one HAProxy. */
struct whole_target {
    bool load_failed;            /* and what was there before may go back */
    bool unknowable;             /* what runs, to a daemon that reads that seldom */
    uint64_t applied_us;         /* the document is said to be, last */
    uint64_t read_us;            /* the file as the daemon had it last was there */
    char runs[WHOLE_RUNS_BYTES]; /* what a load made of the file, but for servers */
    char *loaded;                /* that file */
    bool hand_file;              /* the file is a hand's; */
    bool hand_unloaded;          /* and nobody has loaded it */
    char *by_hand;               /* what a hand wrote last; NULL: nothing */
    bool files_left; /* an earlier daemon ended with files that were not loaded: how they were before it alone knew */
    bool load_lost;  /* the Data Plane API forgot that it was to load the file */
    bool left_to_other; /* another daemon has the file and is about to load it, as far as this one can know */
    struct {
        size_t backend;
        char name[NAME_BYTES];
    } removed[WHOLE_REMOVED_MAX]; /* servers that a hand took out of the running HAProxy */
    size_t removed_count;
    bool
        version_known; /* HAProxy's, to the daemon: what none said to be rejected is asked about again by one that is */
    bool reads_version;      /* amid a reading: what is asked for a watch does not tell the daemon which it is */
    bool known;              /* this daemon has loaded the file, or sent it, and nobody wrote to it since */
    bool base_ran;           /* when the write in hand began, HAProxy ran the file that was there */
    bool tells;              /* what that write is about is being sent, */
    bool tells_early;        /* and that began before it, */
    uint64_t tells_since_us; /* then */
    bool owes_reload;        /* a command failed, and what it was for is in the file */
    bool superseded;         /* another document came since the request in hand began */
    bool rejected_by_known;  /* a version of HAProxy: the one of an earlier daemon may have been another */
    char *rejected;          /* by `haproxy -c`, and reported so: it is not asked about again; NULL: nothing */
    char *kept;              /* what another writer puts back; NULL: nothing */

    /* of a Data Plane API: */
    char *answered, *good;   /* the text that it has, and that of its last reload that went well */
    unsigned refuse_actions; /* the one of that number beside a write, from now on; 0: none */
    struct whole_file files[WHOLE_FILES_MAX];
    uint64_t not_told_us; /* HAProxy did not take or do what it was sent; 0: never */
};

struct whole {
    struct configuration *configuration; /* NULL: the daemon does not run */
    struct store *store;
    struct whole_text document, former;
    bool paused;
    uint64_t document_us, paused_us; /* since when */
    struct whole_texts meant;        /* what the source or a hand had: a file has nothing else */
    struct whole_texts passed;       /* what the first one was well with */
    char *given;                     /* the document, to the daemon last; NULL: none */
    uint64_t given_us;               /* it was another one before */
    const struct api *first;         /* got the document before the others; NULL: none */
    uint64_t first_us;               /* it is the one since then */
    uint64_t watched_us;             /* it is said to run it since then; 0: it is not */
    bool taken_back;                 /* it was rolled back since then */
    bool was_there;                  /* the document, before it was written */
    bool sick_before;                /* a HAProxy took no connections by another one, since all did well */
    char *withdrawn;                 /* what was rolled back by itself; NULL: nothing */
    uint64_t withdrawn_us;           /* then */
};

/* whole.c: the daemon's part */
void whole_open(struct world *w);
void whole_close(struct world *w);
struct configuration *whole_begin(struct world *w); /* the daemon starts */
void whole_give(struct world *w);                   /* its targets are there, or the source has another document */
void whole_end(struct world *w);                    /* they are gone */
void whole_pause(struct world *w, bool paused);
void whole_refresh(struct world *w);

/* whole_text.c */
char *whole_print(const struct whole_text *t);
/* Its meaning: without comments, and white space that says nothing. servers: with their lines. */
char *whole_meaning(const char *text, bool servers);
bool whole_is_bad(const char *text);
bool whole_is_unloadable(const char *text);
bool whole_takes_reload(const struct whole_text *from, const struct whole_text *to,
                        bool adds); /* without one, servers */

/* whole_haproxy.c: what is otherwise with HAProxy */
void whole_loaded(struct api *a); /* it runs the file */
void whole_hand_writes(struct api *a, char *text, bool loads);
bool whole_is_by_hand(const struct api *a, const char *text);
void whole_put_back(struct api *a);
bool whole_starts(struct api *a);
bool whole_hand_command(struct api *a, size_t backend, const char *name, enum whole_hand what, unsigned value);
bool whole_hand_adds(struct api *a, size_t backend, const char *name, unsigned value);
bool whole_hand_removes(struct api *a, size_t backend, const char *name);
/* The daemon's: */
void whole_is_read(struct api *a);
void whole_commands_begin(struct api *a);
void whole_write_begins(struct api *a, const char *text, bool writes);
void whole_written(struct api *a, const char *text, uint64_t asked_us);
void whole_write_ends(struct api *a, const char *text, bool rejected, bool written);
void whole_version_is_known(struct api *a);
void whole_command_begins(struct api *a, const char *command);
void whole_command_ends(struct api *a, const char *command, bool failed);
void whole_server_set(struct api *a, size_t backend, const char *name, enum whole_hand what);

/* whole_api.c: a Data Plane API that writes whole files */
void whole_api_begins(struct api *a, const char *json, bool writes); /* to be sent */
void whole_api_read(const struct api *a, struct buf *ret);
void whole_api_post(struct api *a, struct request *r, const char *query);
void whole_api_commits(struct api *a);
void whole_api_loaded(struct api *a);
void whole_api_load_failed(struct api *a);
void whole_api_answers(struct api *a, const struct request *r, int status);
bool whole_is_sick(const struct api *a); /* it runs a listener that takes no connections */
void whole_api_serves(struct api *a, struct request *r, const char *query);

/* whole_canary.c */
bool whole_texts_has(const struct whole_texts *t, const char *text);
void whole_texts_add(struct whole_texts *t, const char *text);
void whole_canary_restarts(struct whole *w);
void whole_canary_begins(struct world *w, const char *document); /* with this one */
void whole_canary_written(struct api *a, const char *document, uint64_t asked_us);
void whole_canary_applied(struct api *a, bool unchanged);
void whole_canary_passed(struct world *w);
void whole_rolled_back(struct world *w);
void whole_try_again(struct world *w);

/* whole_storage.c */
bool whole_map_is_small(const struct whole_text *t);                   /* an API does not replace it */
void whole_files_of(const struct world *w, struct storage_files *ret); /* its document's */
void whole_files_load(struct api *a);
void whole_files_free(struct api *a);
void whole_files_difference(struct api *a, const struct storage_files *wanted, struct buf *why);
void whole_files_unloaded(const struct api *a, struct buf *why); /* HAProxy has others than those that its file names */
void whole_storage(struct api *a, struct request *r, const char *place, const char *name); /* name NULL: all of them */
/* id: "%23" and that of an entry; NULL: of all of it. */
void whole_runtime_map(struct api *a, struct request *r, const char *name, const char *id);

/* whole_checks.c */
/* How what runs differs from a load of the file; "": not at all. */
void whole_difference(struct api *a, struct buf *why);
void whole_event(void *arg, const struct configuration_event *e);
void whole_check_step(struct world *w);
void whole_check_rest(struct world *w);
/* From a rest on: the document comes, and costs what it has to. */
void whole_check_change(struct world *w, const struct whole_text *to);
