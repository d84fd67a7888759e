/* Reads what struct readout holds from a Data Plane API, one GET after the other. Reads only. */
#ifndef HAPROXY_DATAPLANE_READER_H
#define HAPROXY_DATAPLANE_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "haproxy/change.h"
#include "haproxy/dataplane/read_back.h"
#include "haproxy/readout.h"

struct dataplane_client;

enum reader_step {
    READER_IDLE,
    READER_BACKEND,
    READER_SERVERS,
    READER_TEMPLATES,
    READER_RAW,
    READER_TOLD,    /* whether HAProxy runs what it was told beside the last write: of an earlier run */
    READER_WORKER,  /* of the running HAProxy; */
    READER_RUNTIME, /* each backend of it */
};

struct reader {
    struct dataplane_client *client;
    bool with_runtime; /* set it after reader_init: the running HAProxy is read, too */
    struct readout *to;
    enum reader_step step;
    size_t at;            /* the backend that is being read */
    unsigned restarts;    /* the version changed during the reading */
    int64_t runs_version; /* of the file that HAProxy runs without a load since its write; -1: none is known */
    struct changes told;  /* what it was told beside that */
    struct read_back back;
    /* err NULL: `to` is complete. Otherwise its kind says how to go on. */
    void (*done)(void *arg, const struct error *err);
    void *arg;
};

void reader_init(struct reader *o, struct dataplane_client *client, void (*done)(void *arg, const struct error *err),
                 void *arg);
void reader_fini(struct reader *o);
void reader_start(struct reader *o, struct readout *to); /* which is borrowed until the end */

#endif
