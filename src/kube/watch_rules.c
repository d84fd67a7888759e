#include "kube/watch_rules.h"

#include "base/str.h"

const struct watch_deadlines watch_usual_deadlines = {
    .answer_ms = 60000,
    .list_silence_ms = 60000,
    .list_ms = 300000,
    .silence_ms = 150000,
    .grace_ms = 30000,
    .timeout_least_s = 300,
    .timeout_most_s = 600,
};

/* A table is read by its columns. */
/* clang-format off */
#define L  REACT_LATER
#define A  REACT_AGAIN
#define R  REACT_LIST
#define RL REACT_LIST_LATER
#define P  REACT_PAGES
#define T  REACT_RETRY
#define W  REACT_WHOLE
#define N  REACT_NEW_TOKEN
#define PAGE_OF_A_PROXY "the answer is not JSON; is this an API server, or a proxy's page?"

const struct watch_rule watch_rules[WATCH_TROUBLES] = {
    /*                                                                          while: STREAMING LISTING WATCHING */
    [TROUBLE_UNREACHABLE]  = {"unreachable",       "no connection",                           L,   L,   L},
    [TROUBLE_NO_CREDENTIALS] = {"no_credentials",  "no credentials yet",                      L,   L,   L},
    [TROUBLE_NO_ANSWER]    = {"no_answer",         "no answer in time",                       T,   L,   L},
    [TROUBLE_NOT_JSON]     = {"not_json",          PAGE_OF_A_PROXY,                           L,   L,   L},
    [TROUBLE_CLOSED]       = {"closed",            "closed by the server",                    T,   L,   A},
    [TROUBLE_LOST]         = {"lost",              "connection lost",                         T,   L,   A},
    [TROUBLE_SILENT]       = {"silent",            "no data in time",                         P,   L,   A},
    [TROUBLE_MUTE]         = {"no_data",           "headers, then no data",                   P,   L,   R},
    [TROUBLE_OVERDUE]      = {"deadline",          "not ended by the server in time",         P,   L,   A},
    [TROUBLE_GARBLED]      = {"garbled",           "unreadable data",                         T,   L,   R},
    [TROUBLE_EXPIRED]      = {"expired",           "resourceVersion is too old",              L,   W,   R},
    [TROUBLE_TOO_LARGE]    = {"too_large_version", "resourceVersion newer than the server's", L,   L,   R},
    [TROUBLE_THROTTLED]    = {"throttled",         "throttled by the server",                 L,   L,   L},
    [TROUBLE_UNAUTHORIZED] = {"unauthorized",      "credentials refused",                     N,   N,   N},
    [TROUBLE_FORBIDDEN]    = {"forbidden",         "forbidden",                               L,   L,   L},
    [TROUBLE_NOT_FOUND]    = {"not_found",         "not served",                              L,   L,   L},
    [TROUBLE_BAD_REQUEST]  = {"bad_request",       "request refused",                         P,   L,   RL},
    [TROUBLE_SERVER_ERROR] = {"server_error",      "server error",                            L,   L,   RL},
    [TROUBLE_OTHER_ANSWER] = {"other_answer",      "unexpected answer",                       L,   L,   L},
    [TROUBLE_STREAM_500]   = {"stream_error",      "error in the stream",                     P,   L,   R},
    [TROUBLE_STREAM_OTHER] = {"stream_error",      "error in the stream",                     T,   L,   R},
};
/* clang-format on */

enum watch_trouble watch_trouble_of_answer(const struct watch_event *e)
{
    switch (e->status) {
    case 400:
    case 422:
        return TROUBLE_BAD_REQUEST;
    case 401:
        return TROUBLE_UNAUTHORIZED;
    case 403:
        return TROUBLE_FORBIDDEN;
    case 404:
        return TROUBLE_NOT_FOUND;
    case 410:
        return TROUBLE_EXPIRED;
    case 429:
        return TROUBLE_THROTTLED;
    case 500:
        return TROUBLE_SERVER_ERROR;
    default:
        return e->status == 504 && e->too_large ? TROUBLE_TOO_LARGE : TROUBLE_OTHER_ANSWER;
    }
}

enum watch_trouble watch_trouble_of_stream(const struct watch_event *e)
{
    if (e->status == 410 || str_eq(e->reason, "Expired") || str_eq(e->reason, "Gone"))
        return TROUBLE_EXPIRED;
    if (e->status == 429)
        return TROUBLE_THROTTLED;
    if (e->status == 504 && e->too_large)
        return TROUBLE_TOO_LARGE;
    return e->status == 500 ? TROUBLE_STREAM_500 : TROUBLE_STREAM_OTHER;
}
