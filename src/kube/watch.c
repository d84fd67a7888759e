#include "kube/watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"

#define BACKOFF_BASE_MS 800
#define BACKOFF_CAP_MS 8000
#define LASTING_MS 10000 /* a watch that lived this long ends an outage, even where nothing happened */
#define BACKOFF_MIN_MS 50

/* ---- what can end a request, and what follows ---- */

const struct watch_deadlines watch_usual_deadlines = {
    .answer_ms = 60000,
    .list_silence_ms = 60000,
    .list_ms = 300000,
    .silence_ms = 150000,
    .grace_ms = 30000,
    .timeout_least_s = 300,
    .timeout_most_s = 600,
};

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

/* One row for each trouble, one column for each state in which a request is under way. A table is read by its columns. */
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

static const struct watch_rule watch_rules[WATCH_TROUBLES] = {
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

/* Which trouble an HTTP answer other than 200 is. */
static enum watch_trouble watch_trouble_of_answer(const struct watch_event *e)
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

/* ---- requests ---- */

static bool under_way(const struct watch *w)
{
    return w->state == WATCH_STREAMING || w->state == WATCH_LISTING || w->state == WATCH_WATCHING;
}

static bool is_list(enum watch_state s)
{
    return s == WATCH_STREAMING || s == WATCH_LISTING;
}

static unsigned request(struct watch *w, enum watch_state state, uint64_t now_ms)
{
    w->state = state;
    w->started_ms = now_ms;
    w->last_byte_ms = now_ms;
    w->answered_ms = 0;
    w->stable = w->spoke = false;
    unsigned least = w->deadlines.timeout_least_s, most = w->deadlines.timeout_most_s;
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    w->timeout_s = least + (unsigned)((w->random >> 33) % (most - least + 1));
    return WATCH_REQUEST;
}

static void forget_pages(struct watch *w)
{
    free(w->continue_token);
    w->continue_token = NULL;
    w->page = 1;
}

static unsigned start_list(struct watch *w, uint64_t now_ms)
{
    bool pages = w->paged || now_ms < w->server->no_streaming_until_ms;
    forget_pages(w);
    w->short_watches = 0;
    w->listed_ms = now_ms;
    if (w->changes_only) {
        memcpy(w->version, "0", sizeof("0"));
        return request(w, WATCH_WATCHING, now_ms);
    }
    return WATCH_REPLACE_BEGIN | WATCH_LISTED | request(w, pages ? WATCH_LISTING : WATCH_STREAMING, now_ms);
}

static unsigned start_watch(struct watch *w, uint64_t now_ms)
{
    return request(w, WATCH_WATCHING, now_ms);
}

/* ---- contact: what readiness and the log go by ---- */

static unsigned contact_back(struct watch *w)
{
    w->stable = true;
    if (w->contact)
        return 0;
    w->contact = true;
    return WATCH_CONTACT_BACK;
}

static unsigned contact_lost(struct watch *w)
{
    w->contact = false;
    return WATCH_CONTACT_LOST;
}

/* ---- the end of a request ---- */

static unsigned watch_wait_for(struct watch *w, bool watch, int64_t retry_after_ms, uint64_t now_ms)
{
    w->state = WATCH_WAITING;
    w->wait_for_watch = watch;
    if (w->changes_only && w->denied_status != 0)
        retry_after_ms = WATCH_DENIED_HINT_MS;
    uint64_t wait = backoff_next_ms(&w->backoff);
    if (retry_after_ms > WATCH_MAX_RETRY_AFTER_MS)
        retry_after_ms = WATCH_MAX_RETRY_AFTER_MS;
    bool longer = retry_after_ms > 0 && (uint64_t)retry_after_ms > wait;
    w->wait_until_ms = now_ms + (longer ? (uint64_t)retry_after_ms : wait);
    return contact_lost(w);
}

static void watch_explain(struct watch *w, enum watch_trouble t, const char *detail)
{
    static const char *const doing[WATCH_STATES] = {
        [WATCH_STREAMING] = "streaming list", [WATCH_LISTING] = "list", [WATCH_WATCHING] = "watch"};
    struct error text; /* escapes what a peer wrote */
    if (str_empty(detail))
        error_set(&text, ERROR_RETRY, "%s: %s", doing[w->state], watch_rules[t].text);
    else
        error_set(&text, ERROR_RETRY, "%s: %s: %s", doing[w->state], watch_rules[t].text, detail);
    size_t len = strnlen(text.message, sizeof(w->detail) - 1);
    memcpy(w->detail, text.message, len);
    w->detail[len] = '\0';
    w->reason = watch_rules[t].reason;
}

static enum watch_reaction reaction_of(struct watch *w, enum watch_trouble t)
{
    switch (w->state) {
    case WATCH_STREAMING:
        if (watch_rules[t].streaming == REACT_RETRY && ++w->cut_streams >= WATCH_STREAMING_TRIES)
            return REACT_PAGES;
        return watch_rules[t].streaming;
    case WATCH_LISTING:
        if (watch_rules[t].listing == REACT_WHOLE && (w->page < 2 || w->unlimited))
            return REACT_LATER;
        return watch_rules[t].listing;
    default:
        return watch_rules[t].watching;
    }
}

static unsigned react(struct watch *w, enum watch_reaction r, int64_t retry_after_ms, uint64_t now_ms)
{
    bool was_watch = w->state == WATCH_WATCHING, news = w->progress, first_refusal = !w->credentials_refused;
    uint64_t spaced_ms = w->listed_ms + WATCH_LIST_SPACING_MS;
    switch (r) {
    case REACT_AGAIN:
        if (w->stable) {
            w->short_watches = 0;
            return start_watch(w, now_ms);
        }
        return watch_wait_for(w, ++w->short_watches < WATCH_SHORT_TRIES, retry_after_ms, now_ms);
    case REACT_LIST:
        w->progress = false;
        if (news && now_ms >= spaced_ms)
            return start_list(w, now_ms);
        return watch_wait_for(w, false, now_ms < spaced_ms ? (int64_t)(spaced_ms - now_ms) : -1, now_ms);
    case REACT_LIST_LATER:
        return watch_wait_for(w, false, retry_after_ms, now_ms);
    case REACT_PAGES:
        w->paged = true;
        return start_list(w, now_ms);
    case REACT_WHOLE:
        w->unlimited = true;
        return start_list(w, now_ms);
    case REACT_NEW_TOKEN:
        w->credentials_refused = true;
        if (!first_refusal)
            return WATCH_CREDENTIALS | watch_wait_for(w, was_watch, retry_after_ms, now_ms);
        return WATCH_CREDENTIALS | (was_watch ? start_watch(w, now_ms) : start_list(w, now_ms));
    case REACT_LATER:
    case REACT_RETRY:
        break;
    }
    return watch_wait_for(w, was_watch, retry_after_ms, now_ms);
}

/* status 0: an answer that is no refusal. */
static void note_refusal(struct watch *w, int status, uint64_t now_ms)
{
    if (status == 0)
        w->refused_ms = 0;
    else if (w->refused_ms == 0)
        w->refused_ms = now_ms;
    if (status == 0 || !w->synced || now_ms >= w->refused_ms + WATCH_DENIED_MS)
        w->denied_status = status;
}

/* e is what ended the request; NULL: we do, by the clock. */
static unsigned end_request(struct watch *w, enum watch_trouble t, const struct watch_event *e, uint64_t now_ms)
{
    unsigned actions = w->state == WATCH_WATCHING ? WATCH_ENDED : WATCH_REPLACE_ABORT;
    if (e == NULL || e->type < WATCH_EVENT_PAGE)
        actions |= WATCH_CANCEL;
    if (w->state == WATCH_WATCHING && w->answered_ms != 0 && now_ms >= w->answered_ms + LASTING_MS)
        backoff_reset(&w->backoff);
    watch_explain(w, t, e != NULL ? e->detail : NULL);
    if (e != NULL && e->type == WATCH_EVENT_ANSWER) {
        note_refusal(w, t == TROUBLE_FORBIDDEN || t == TROUBLE_NOT_FOUND ? e->status : 0, now_ms);
        w->credentials_refused = w->credentials_refused && t == TROUBLE_UNAUTHORIZED;
    }
    if (t == TROUBLE_SILENT || t == TROUBLE_MUTE)
        actions |= contact_lost(w);
    return actions | react(w, reaction_of(w, t), e != NULL ? e->retry_after_ms : -1, now_ms);
}

/* ---- events: the functions of the table below ---- */

static unsigned watch_on_start(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    (void)e;
    w->reason = "start";
    backoff_reset(&w->backoff);
    return start_list(w, now_ms);
}

static unsigned on_stop(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    (void)e;
    (void)now_ms;
    unsigned actions = under_way(w) ? WATCH_CANCEL : 0;
    if (is_list(w->state))
        actions |= WATCH_REPLACE_ABORT;
    w->state = WATCH_IDLE;
    w->contact = false;
    return actions;
}

static unsigned on_wait_over(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    if (e->type == WATCH_EVENT_TIMER && now_ms < w->wait_until_ms)
        return 0;
    return w->wait_for_watch ? start_watch(w, now_ms) : start_list(w, now_ms);
}

/* What was listed so far is gone with the rest: a list under way begins anew. */
static unsigned on_forget(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    (void)e;
    w->reason = "forgotten";
    w->synced = false;
    w->wait_for_watch = false;
    if (!under_way(w))
        return 0;
    unsigned actions = WATCH_CANCEL | (is_list(w->state) ? WATCH_REPLACE_ABORT : 0);
    w->detail[0] = '\0';
    return actions | start_list(w, now_ms);
}

static unsigned on_head(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    if (e->status != 200)
        return 0; /* until its body is complete the deadline for an answer runs */
    if (!e->readable)
        return end_request(w, TROUBLE_NOT_JSON, e, now_ms);
    w->answered_ms = w->last_byte_ms = now_ms;
    w->credentials_refused = false;
    note_refusal(w, 0, now_ms);
    return 0;
}

static unsigned on_bytes(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    (void)e;
    w->last_byte_ms = now_ms;
    w->spoke = true;
    return 0;
}

static unsigned watch_on_deadline(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    (void)e;
    unsigned actions = 0;
    if (w->state == WATCH_WATCHING && w->answered_ms != 0 && now_ms >= w->answered_ms + WATCH_STABLE_MS)
        actions = contact_back(w);
    if (now_ms < watch_due_ms(w))
        return actions;
    uint64_t answer_due = w->started_ms + w->deadlines.answer_ms;
    if (w->answered_ms == 0 && now_ms >= answer_due)
        return end_request(w, TROUBLE_NO_ANSWER, NULL, now_ms);
    bool watching = w->state == WATCH_WATCHING;
    bool silent = now_ms >= w->last_byte_ms + (watching ? w->deadlines.silence_ms : w->deadlines.list_silence_ms);
    /* A watch from a version that the server does not have yet (restored from a backup) is open and says nothing: where
     * that may be so, only a list helps. */
    enum watch_trouble silence = watching && !w->spoke ? TROUBLE_MUTE : TROUBLE_SILENT;
    return actions | end_request(w, silent ? silence : TROUBLE_OVERDUE, NULL, now_ms);
}

static bool version_fits(const char *version)
{
    return version == NULL || strlen(version) < WATCH_MAX_VERSION_BYTES;
}

/* True where it is another one. A missing version moves nothing: better an old one than none. */
static bool move_version(char *to, const char *version)
{
    if (str_empty(version) || str_eq(to, version))
        return false;
    memcpy(to, version, strlen(version) + 1);
    return true;
}

/* The cache now holds all: from here on changes only. */
static unsigned synced(struct watch *w, const char *version, uint64_t now_ms)
{
    move_version(w->version, version);
    if (w->paged) /* remembered only now: a server that refuses everything says nothing about streaming lists */
        w->server->no_streaming_until_ms = now_ms + WATCH_RETRY_STREAMING_MS;
    w->paged = w->unlimited = false;
    w->cut_streams = 0;
    w->synced = true;
    return WATCH_REPLACE_END | contact_back(w);
}

static unsigned garbled(struct watch *w, const struct watch_event *e, const char *detail, uint64_t now_ms)
{
    struct watch_event same = *e;
    same.detail = detail;
    return end_request(w, TROUBLE_GARBLED, &same, now_ms);
}

/* In another encoding it may be readable: the list in that is nothing to wait for. */
static unsigned on_garbled(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    if (!e->other_encoding)
        return end_request(w, TROUBLE_GARBLED, e, now_ms);
    unsigned actions = WATCH_CANCEL | (w->state == WATCH_WATCHING ? WATCH_ENDED : WATCH_REPLACE_ABORT);
    watch_explain(w, TROUBLE_GARBLED, e->detail);
    return actions | start_list(w, now_ms);
}

static unsigned on_misfit(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    return garbled(w, e, "it is of another form than was asked for", now_ms);
}

static unsigned on_page(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    if (w->page == 1 && (str_empty(e->version) || !version_fits(e->version)))
        return garbled(w, e, "the list has no usable resourceVersion", now_ms);
    if (w->page == 1) /* of the first page: the later ones were written while it was read */
        move_version(w->list_version, e->version);
    if (str_empty(e->continue_token)) {
        unsigned actions = synced(w, w->list_version, now_ms);
        forget_pages(w);
        return actions | start_watch(w, now_ms);
    }
    if (strlen(e->continue_token) > WATCH_MAX_CONTINUE_BYTES)
        return garbled(w, e, "the list has a continue token that cannot be used", now_ms);
    free(w->continue_token);
    w->continue_token = mem_strdup(e->continue_token);
    w->page++;
    return request(w, WATCH_LISTING, now_ms);
}

/* Of a page, or before the end bookmark: all of it goes to the new set. The version is that bookmark's alone. */
static unsigned on_listed_object(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    (void)w;
    (void)now_ms;
    return e->deleted ? WATCH_DELETE : WATCH_PUT;
}

static unsigned on_initial_bookmark(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    if (!e->initial_end)
        return 0;
    if (str_empty(e->version) || !version_fits(e->version))
        return garbled(w, e, "the end of the list has no usable resourceVersion", now_ms);
    unsigned actions = synced(w, e->version, now_ms);
    w->state = WATCH_WATCHING;
    w->answered_ms = now_ms;
    w->stable = w->spoke = false;
    w->bookmarks_seen = true;
    return actions;
}

/* News, or a sign of life after a while, is progress; the same again right after the start is none. */
static unsigned news(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    w->spoke = true;
    if (!move_version(w->version, e->version) && now_ms < w->answered_ms + WATCH_STABLE_MS)
        return 0;
    w->progress = true;
    backoff_reset(&w->backoff);
    return contact_back(w);
}

static unsigned on_object(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    if (!version_fits(e->version))
        return garbled(w, e, "an object's resourceVersion is too long", now_ms);
    return (e->deleted ? WATCH_DELETE : WATCH_PUT) | news(w, e, now_ms);
}

static unsigned on_bookmark(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    if (!version_fits(e->version))
        return garbled(w, e, "a bookmark's resourceVersion is too long", now_ms);
    w->bookmarks_seen = true;
    return news(w, e, now_ms);
}

/* A Status in the stream, or an answer other than 200. */
static unsigned on_refusal(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    enum watch_trouble t = TROUBLE_STREAM_OTHER;
    if (e->type == WATCH_EVENT_ANSWER)
        t = watch_trouble_of_answer(e);
    else if (e->status == 410 || str_eq(e->reason, "Expired") || str_eq(e->reason, "Gone"))
        t = TROUBLE_EXPIRED;
    else if (e->status == 429)
        t = TROUBLE_THROTTLED;
    else if (e->status == 504 && e->too_large)
        t = TROUBLE_TOO_LARGE;
    else if (e->status == 500)
        t = TROUBLE_STREAM_500;
    return end_request(w, t, e, now_ms);
}

static unsigned watch_on_closed(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    if (w->answered_ms != 0 && now_ms >= w->answered_ms + WATCH_STABLE_MS)
        w->stable = true;
    return end_request(w, TROUBLE_CLOSED, e, now_ms);
}

static unsigned on_lost(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    if (w->answered_ms == 0)
        return end_request(w, e->status == 401 ? TROUBLE_NO_CREDENTIALS : TROUBLE_UNREACHABLE, e, now_ms);
    if (now_ms >= w->answered_ms + WATCH_STABLE_MS)
        w->stable = true;
    return end_request(w, TROUBLE_LOST, e, now_ms);
}

/* Comes from a request that was ended, or says what is so already: no answer is pending. */
static unsigned nothing(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    (void)w;
    (void)e;
    (void)now_ms;
    return 0;
}

/* Every pair has its answer. */
/* clang-format off */
static unsigned (*const table[WATCH_EVENTS][WATCH_STATES])(struct watch *w, const struct watch_event *e,
                                                           uint64_t now_ms) = {
    /*                        IDLE            STREAMING            LISTING            WATCHING           WAITING */
    [WATCH_EVENT_START]    = {watch_on_start, nothing,             nothing,           nothing,           nothing},
    [WATCH_EVENT_STOP]     = {nothing,        on_stop,             on_stop,           on_stop,           on_stop},
    [WATCH_EVENT_POKE]     = {nothing,        nothing,             nothing,           nothing,           on_wait_over},
    [WATCH_EVENT_FORGET]   = {on_forget,      on_forget,           on_forget,         on_forget,         on_forget},
    [WATCH_EVENT_TIMER]    = {nothing,        watch_on_deadline,   watch_on_deadline, watch_on_deadline, on_wait_over},
    [WATCH_EVENT_HEAD]     = {nothing,        on_head,             on_head,           on_head,           nothing},
    [WATCH_EVENT_BYTES]    = {nothing,        on_bytes,            on_bytes,          on_bytes,          nothing},
    [WATCH_EVENT_ITEM]     = {nothing,        on_misfit,           on_listed_object,  on_misfit,         nothing},
    [WATCH_EVENT_OBJECT]   = {nothing,        on_listed_object,    on_misfit,         on_object,         nothing},
    [WATCH_EVENT_BOOKMARK] = {nothing,        on_initial_bookmark, on_misfit,         on_bookmark,       nothing},
    [WATCH_EVENT_ERROR]    = {nothing,        on_refusal,          on_misfit,         on_refusal,        nothing},
    [WATCH_EVENT_GARBLED]  = {nothing,        on_garbled,          on_garbled,        on_garbled,        nothing},
    [WATCH_EVENT_PAGE]     = {nothing,        on_misfit,           on_page,           on_misfit,         nothing},
    [WATCH_EVENT_ANSWER]   = {nothing,        on_refusal,          on_refusal,        on_refusal,        nothing},
    [WATCH_EVENT_CLOSED]   = {nothing,        watch_on_closed,     watch_on_closed,   watch_on_closed,   nothing},
    [WATCH_EVENT_LOST]     = {nothing,        on_lost,             on_lost,           on_lost,           nothing},
};
/* clang-format on */

unsigned watch_step(struct watch *w, const struct watch_event *e, uint64_t now_ms)
{
    return table[e->type][w->state](w, e, now_ms);
}

/* ---- what a list or watch asks for, and until when it may take ---- */

char *watch_request_path(const struct watch *w)
{
    cleanup(mem_free_ptr) char *token = w->continue_token != NULL ? str_url_encode(w->continue_token) : NULL;
    if (w->state == WATCH_LISTING && token != NULL)
        return mem_printf("%slimit=%u&continue=%s", w->path, w->page_size, token);
    if (w->state == WATCH_LISTING)
        return w->unlimited ? mem_strndup(w->path, strlen(w->path) - 1)
                            : mem_printf("%slimit=%u", w->path, w->page_size);
    if (w->state == WATCH_STREAMING)
        return mem_printf("%swatch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
                          "&timeoutSeconds=%u",
                          w->path, w->timeout_s);
    cleanup(mem_free_ptr) char *version = str_url_encode(w->version);
    /* Without a list no bookmarks: a server over etcd 3.4 would end the watch with an error. */
    return mem_printf("%swatch=1%s&resourceVersion=%s&timeoutSeconds=%u", w->path,
                      w->changes_only ? "" : "&allowWatchBookmarks=true", version, w->timeout_s);
}

bool watch_request_is_list(const struct watch *w)
{
    return w->state == WATCH_LISTING;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t watch_due_ms(const struct watch *w)
{
    if (w->state == WATCH_IDLE)
        return 0;
    if (w->state == WATCH_WAITING)
        return w->wait_until_ms;
    uint64_t due = w->started_ms +
                   (w->state == WATCH_LISTING ? w->deadlines.list_ms : w->timeout_s * 1000 + w->deadlines.grace_ms);
    if (w->answered_ms == 0)
        return sooner(due, w->started_ms + w->deadlines.answer_ms);
    if (w->state != WATCH_WATCHING)
        return sooner(due, w->last_byte_ms + w->deadlines.list_silence_ms);
    if (w->bookmarks_seen)
        due = sooner(due, w->last_byte_ms + w->deadlines.silence_ms);
    return w->contact ? due : sooner(due, w->answered_ms + WATCH_STABLE_MS);
}

/* ---- for the driver of the machine ---- */

static char *with_selector(char *path, const char *name, const char *selector)
{
    if (str_empty(selector))
        return path;
    cleanup(mem_free_ptr) char *value = str_url_encode(selector);
    char *longer = mem_printf("%s%s=%s&", path, name, value);
    free(path);
    return longer;
}

void watch_init(struct watch *w, struct watch_server *server, const char *path, const char *label_selector,
                const char *field_selector, unsigned seed)
{
    *w = (struct watch){.server = server,
                        .page_size = WATCH_PAGE_SIZE,
                        .deadlines = watch_usual_deadlines,
                        .page = 1,
                        .random = seed,
                        .reason = "start"};
    w->path = mem_printf("%s?", path);
    w->path = with_selector(w->path, "labelSelector", label_selector);
    w->path = with_selector(w->path, "fieldSelector", field_selector);
    backoff_init(&w->backoff, BACKOFF_BASE_MS, BACKOFF_CAP_MS, BACKOFF_MIN_MS, seed);
}

void watch_fini(struct watch *w)
{
    mem_free_all(w->path, w->continue_token);
    *w = (struct watch){0};
}
