/*
 * Whether the reading after a reload verifies that HAProxy loaded haproxy.cfg. The API's
 * "succeeded" may be another reload's, under the same id; one whose end it does not know may well have happened. Pure.
 */
#pragma once

#include <stdbool.h>

/* What is known of the reload, and what the reading showed. */
struct reload_signs {
    bool reported;      /* the API says that it succeeded; else it does not know how it ended */
    bool tells_ends;    /* as driver.tells_ends */
    bool comparable;    /* all that runs could be read, and it is known which process ran before */
    bool differs;       /* what runs is not haproxy.cfg */
    bool other;         /* another process runs than before */
    bool started_since; /* it certainly started after the reload was asked for */
    bool same_before;   /* the reload before this one was reported as successful with the same process, too */
};

enum reload_confirmation {
    RELOAD_VERIFIED,      /* another process runs haproxy.cfg */
    RELOAD_ACCEPTED,      /* nothing speaks against what the API says, and nothing for it */
    RELOAD_ACCEPTED_SAME, /* again by the same process, which may always be the same: as number 1 of a container */
    RELOAD_OVERRULED,     /* it loaded the file, and something else has changed what runs */
    RELOAD_NOT_RUN,       /* what runs is not haproxy.cfg */
    RELOAD_TOO_OLD,       /* what runs is older than the reload */
    RELOAD_UNKNOWN,       /* the API does not know how it ended, and the reading does not show it */
};

enum reload_confirmation reload_confirm(const struct reload_signs *s);
