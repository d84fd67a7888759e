/*
 * Inside kube/watch: what can end a request, and what follows. watch_rules.c holds the table, one row for each trouble,
 * one column for each state in which a request is under way.
 */
#ifndef KUBE_WATCH_RULES_H
#define KUBE_WATCH_RULES_H

#include "kube/watch.h"

enum watch_trouble {
    TROUBLE_UNREACHABLE,    /* ended before an answer began */
    TROUBLE_NO_CREDENTIALS, /* nothing was sent: the credential plugin has not given any yet */
    TROUBLE_NO_ANSWER,      /* hanging before headers */
    TROUBLE_NOT_JSON,       /* 200 with another content type */
    TROUBLE_CLOSED,         /* the server ended the stream, as it may */
    TROUBLE_LOST,           /* the connection broke in the middle */
    TROUBLE_SILENT,         /* half-open, or stuck in the middle of a list */
    TROUBLE_MUTE,           /* answered, and then not one byte: half-open again, or the version is from a lost future */
    TROUBLE_OVERDUE,        /* alive, but past the time that was asked for */
    TROUBLE_GARBLED,        /* cannot be split or decoded; truncated */
    TROUBLE_EXPIRED,        /* 410, both forms */
    TROUBLE_TOO_LARGE,      /* 504 with the cause ResourceVersionTooLarge: the server went back in time */
    TROUBLE_THROTTLED,      /* 429, both forms */
    TROUBLE_UNAUTHORIZED,   /* 401 */
    TROUBLE_FORBIDDEN,      /* 403 */
    TROUBLE_NOT_FOUND,      /* 404 */
    TROUBLE_BAD_REQUEST,    /* 400, 422: how a server refuses streaming lists, or the version */
    TROUBLE_SERVER_ERROR,   /* 500 */
    TROUBLE_OTHER_ANSWER,   /* 3xx (never followed), 502, 503, ... */
    TROUBLE_STREAM_500,     /* in the stream: also how a server over an old etcd refuses streaming lists */
    TROUBLE_STREAM_OTHER,   /* in the stream */
    WATCH_TROUBLES
};

/* At once never twice in a row without news in between, so that no server can cause a busy loop. */
enum watch_reaction {
    REACT_LATER,      /* back off, then the same again: a list, or a watch from the last version */
    REACT_AGAIN,      /* a watch from the last version, at once where this one was stable, otherwise LATER; after
                       * WATCH_SHORT_TRIES of those in a row a list */
    REACT_LIST,       /* list, at once where there was news since the last list and that is some time ago */
    REACT_LIST_LATER, /* back off, then list */
    REACT_PAGES,      /* the list again, at once, in pages */
    REACT_RETRY,      /* LATER, but PAGES after WATCH_STREAMING_TRIES of these in a row */
    REACT_WHOLE,      /* from page 2 on: the list again, at once, without pages; otherwise LATER */
    REACT_NEW_TOKEN,  /* read the credentials again; the same at once, the second time LATER */
};

struct watch_rule {
    const char *reason; /* metric label: stable */
    const char *text;   /* for people */
    enum watch_reaction streaming, listing, watching;
};

extern const struct watch_rule watch_rules[WATCH_TROUBLES];

/* Which trouble an HTTP answer other than 200 is, and a Status in the stream. */
enum watch_trouble watch_trouble_of_answer(const struct watch_event *e);
enum watch_trouble watch_trouble_of_stream(const struct watch_event *e);

#endif
