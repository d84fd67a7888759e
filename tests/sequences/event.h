/* What a stream is made of: settings and events, as text and by chance. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "cluster.h"

#define EVENTS_MAX 5000
#define NUMBERS_MAX 4

struct world;

struct event {
    unsigned after_ms; /* the one before it */
    const struct event_kind *kind;
    unsigned numbers[NUMBERS_MAX];
};

struct event_kind {
    const char *
        name; /* "local-...": only where HAProxy is reached by its own file and sockets; "cluster-...": with another cluster; "adds-...": behind an API that adds
                 * servers, where some of the first kind happen, too */
    unsigned weight;             /* how often, by chance */
    unsigned below[NUMBERS_MAX]; /* each number is below this; 0: it has no more */
    void (*happen)(struct world *w, const unsigned *n);
    const char *what; /* of the numbers: "node service" */
};

extern const struct event_kind event_kinds[];
extern const size_t event_kind_count;
extern const struct event_kind whole_event_kinds[]; /* of whole configurations alone */
extern const size_t whole_event_kind_count;

struct stream {
    struct settings settings;
    struct event events[EVENTS_MAX];
    size_t count;
};

/* local, whole, clusters: as in its settings */
void stream_by_chance(struct stream *s, unsigned long seed, size_t count, unsigned local, bool whole, bool clusters);
int stream_set(struct stream *s, const char *settings); /* "limit=50 targets=1" */
void stream_print(const struct stream *s, FILE *out);
int stream_read(struct stream *s, FILE *in, const char *name); /* -1: said on stderr */
