/*
 * Reads what struct readout holds from a Data Plane API, one request after the other; only what runs of many backends is
 * asked for several at once. Reads only.
 *
 * The file comes first: an answer's version is what the API is at when it has made it, so that an answer behind the file
 * with the file's version is of that version, too. Several backends come in one answer (full_section), which has servers
 * by name; their order is that of the file's lines. Of what is not plainly the same in both the API is asked alone, as it
 * is where it refuses that answer. Where the file is as it was, and what the reader's owner knows of the backends, too
 * (`last`), they are not asked for.
 *
 * Who writes in between makes the configuration be read again, and of what runs only what belongs to backends that are
 * others by then; but only so often: then what was read is `outdated`, and no less complete.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "haproxy/change.h"
#include "haproxy/dataplane/codec.h"
#include "haproxy/dataplane/read_back.h"
#include "haproxy/readout.h"
#include "host/timer.h"
#include "net/digest.h"

struct dataplane_client;

enum reader_step {
    READER_IDLE,
    READER_RAW,
    READER_LIST,    /* all backends of the file; */
    READER_BACKEND, /* each one that is still missing */
    READER_SERVERS,
    READER_TEMPLATES,
    READER_COMPARE, /* with the file */
    READER_TOLD,    /* whether HAProxy runs the runtime commands of the last write: of an earlier run */
    READER_WORKER,  /* of the running HAProxy; */
    READER_API,     /* the API's own version */
    READER_RUNTIME, /* each backend of it */
};

#define READER_LANES 4

/* One request of several at once. */
struct reader_lane {
    struct reader *reader;
    struct dataplane_client *client; /* of the first one the reader's, of the others their own */
    size_t at;                       /* the backend that it is about */
    bool busy;
};

struct reader {
    struct dataplane_client *client;
    bool with_runtime;                 /* set it after reader_init: the running HAProxy is read, too */
    char haproxy[CODEC_VERSION_BYTES]; /* its version; "": unknown */
    bool adds;                         /* this API can add servers to it, by their versions */
    struct readout *to;
    enum reader_step step;
    size_t at;                                  /* the backend that is being read */
    unsigned restarts;                          /* others wrote during the reading */
    unsigned one_by_one;                        /* so many readings more do without the list, as the API refused it */
    int64_t file_version;                       /* as the file says it; -1: it does not */
    struct error broken;                        /* kind NONE, or what the file is instead */
    bool moved;                                 /* another version was seen while what runs was read */
    bool as_last;                               /* the file is, and so is what is not asked for */
    unsigned alike;                             /* readings in a row that found the same file */
    int64_t last_version;                       /* of the API when it was read last */
    size_t last_head_lines;                     /* of that file: of the comments that it begins with; */
    char last_digest[DIGEST_SHA256_TEXT_BYTES]; /* and of the rest; "": another reading is to have all of it */
    struct timer turn; /* of the loop: the next backends of the list, or to be compared with the file */
    struct codec_list list;
    struct backend **listed_backends; /* NULL: no list is being read */
    bool listed;                      /* the list was read: what it does not have is not there */
    struct reading *known;            /* as they were when what runs was read, without that; NULL: it was not yet */
    size_t known_count;
    struct reader_lane lanes[READER_LANES];
    size_t lane_count;
    int64_t runs_version; /* of the file that HAProxy runs without a load since its write; -1: none is known */
    struct changes told;  /* the runtime commands beside that */
    struct read_back back;
    /* err NULL: `to` is complete. Otherwise its kind says how to go on. */
    void (*done)(void *arg, const struct error *err);
    void *arg;
};

void reader_init(struct reader *o, struct event_base *base, struct dataplane_client *client,
                 void (*done)(void *arg, const struct error *err), void *arg);
void reader_fini(struct reader *o);
void reader_start(struct reader *o, struct readout *to); /* which is borrowed until the end */
/* What is under way by itself or by connections of its own; the client's is its owner's to cancel. */
void reader_cancel(struct reader *o);
