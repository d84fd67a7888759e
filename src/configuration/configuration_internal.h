/* The parts of the configuration engine, each of which calls only those before it: haproxy.cfg of one target
 * (target_file.c), whose turn it is (turns.c), what became of the document at one target (target_runs.c), the files
 * beside it (target_files.c), one target's way (target.c), one document after another (succession.c), and what the
 * daemon asks for (configuration.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "configuration/configuration.h"
#include "configuration/retry.h"
#include "configuration/probation.h"
#include "haproxy/cfg/difference.h"
#include "haproxy/driver.h"
#include "haproxy/engine.h"
#include "haproxy/storage_foresight.h"
#include "host/timer.h"
#include "net/digest.h"

/* Where the document is with one target. */
enum progress {
    PROGRESS_NEW,       /* not validated there */
    PROGRESS_VALID,     /* validated; waits for the others */
    PROGRESS_WRITTEN,   /* its file has it; not known to run */
    PROGRESS_APPLIED,   /* HAProxy runs it */
    PROGRESS_DRIFTED,   /* and then another writer changed the file, which stays so */
    PROGRESS_REJECTED,  /* `why` says so */
    PROGRESS_RESTORING, /* its load failed: the file from before goes back, and is loaded */
    PROGRESS_RESTORED,  /* that was written; not known to run */
};

/* Where its files are with one target. */
enum files_progress {
    FILES_NEW,     /* to be added */
    FILES_ADDED,   /* maps that lose lines are still to be as they are to be */
    FILES_WRITTEN, /* all are there; what the document has no more, too */
    FILES_DONE,
};

/* The document on its way to one target. Written by target_runs.c, target_files.c and target.c. */
struct target_sent {
    enum progress progress;
    bool unchanged;            /* the file meant the same before: nothing was written */
    struct cfg_content *text;  /* the document or `good`, with server lines that are not its own, as it is sent, */
    struct cfg_edits edits;    /* printed with these */
    struct changes changes;    /* for the running HAProxy, with the write in hand */
    struct document *asked;    /* that the request in hand is about; NULL: the file from before, or none is */
    struct document *writing;  /* sent to be written, and not known to run yet; NULL: none */
    struct document *storing;  /* whose files are being stored; NULL: none */
    enum storage_part part;    /* of it */
    enum files_progress files; /* and these follow: */
    bool files_changed;        /* since the last that ran: a reload is to load them */
    bool files_met_reload;     /* one was under way when they changed first, */
    unsigned files_loads;      /* or more than these were since: HAProxy may have loaded them */
    bool files_stay;           /* some could not go back: that is not tried again */
    bool files_back;           /* they went back, and HAProxy was not read since */
    bool files_unchecked;      /* another writer may have changed them */
    bool files_drifted;        /* another writer has */
    bool files_missing;        /* nothing may be written, and they are not there as the document has them */
    /* Nothing is loaded for the document: its changed files are still to be sent by runtime commands. */
    bool by_runtime;
    bool needs_verdict;                 /* HAProxy did not take all of its files by runtime commands */
    struct storage_foresight foresight; /* of its files, with `foresees` */
    uint64_t since_us;                  /* clock_mono_us of its arrival */
};

enum target_compared {
    DIFFERENCE_UNKNOWN,
    DIFFERENCE_NONE, /* one of them is no configuration */
    DIFFERENCE_KNOWN,
};

/* What one target has and runs. Written by target_file.c, target_runs.c and target.c. */
struct target_has {
    bool read;                          /* its file was */
    struct cfg_content *file;           /* as read last (empty: it is no configuration), */
    int64_t version;                    /* at this one */
    enum target_compared compared;      /* the file, with the document */
    struct cfg_difference differs;      /* of KNOWN */
    enum cfg_effect effect;             /* of the document, by the file that was read last */
    struct cfg_content *running;        /* the last file that HAProxy was known to run; NULL: none yet */
    int64_t running_version;            /* of that file */
    bool file_runs;                     /* the one that was read last means the same */
    bool unloaded;                      /* the file was written, and is not known to run */
    struct cfg_content *good;           /* the file that was replaced and that HAProxy ran; NULL: nothing was */
    char hash[DIGEST_SHA256_HEX_BYTES]; /* of the document that it ran last; "": none by this daemon */
    int64_t since_ms;                   /* wall clock */
};

/* What went wrong at one target, and when it is tried again. Written by target_runs.c, target_files.c and target.c. */
struct target_failed {
    bool away;                      /* the last request had no answer that counts */
    struct error why;               /* of PROGRESS_REJECTED, DRIFTED and RESTOR.. */
    char judge[32];                 /* the version of the HAProxy that rejected it */
    bool restores;                  /* it could not be loaded: `good` goes back, whatever document came since, */
    struct cfg_content *unloadable; /* instead of this file */
    unsigned repairs;               /* of drift, since the last document */
    uint64_t repair_after_ms;
    struct retry retry; /* after what failed and says nothing of the document */
    uint64_t anew_ms;   /* a new document ended the pause after a failure then; 0: none did */
};

/* What comes of the document at one target, for all of them. Written by turns.c, target_runs.c and succession.c; that it joins the others
 * by target.c, too. */
struct target_watch {
    bool joins;  /* it came when others had a configuration: until it does well with one, it concerns no other target */
    bool canary; /* it gets the document before others do */
    bool written;     /* the document was, by this run, whatever became of it */
    bool load_failed; /* the document could not be loaded here */
    bool reported;    /* that it does badly with it */
    struct probation probation;
};

struct target {
    struct configuration *of;
    size_t number;
    struct instance *in;
    struct engine engine;
    char *name;           /* what the store knows it by; NULL: its URL */
    struct target *gone;  /* of those that were removed, the next one */
    struct document *own; /* it gets this one while the latest is rejected, as it has none; NULL: the latest */
    struct target_sent sent;
    struct target_has has;
    struct target_failed failed;
    struct target_watch watch;
};

struct configuration {
    struct configuration_options options;
    struct document *document; /* NULL: none yet */
    unsigned version;          /* of those that are kept, which a rollback brought back; 0: the source has it */
    struct document *next;     /* what comes after it, once it is half way at no target; NULL: nothing */
    unsigned next_version;
    struct document *withdrawn;                /* the source's, which was rolled back by itself; NULL: none */
    bool canary_passed;                        /* with this document */
    bool try_again;                            /* an operator asks */
    char from_source[DIGEST_SHA256_HEX_BYTES]; /* what the source has; "": nothing yet */
    bool begun;                                /* the document was sent to a target */
    uint64_t not_before_ms;                    /* the next one is */
    uint64_t tried_ms;                         /* since then none was tried to its end */
    struct error problem;                      /* of the source; kind NONE */
    bool paused;
    struct target **targets; /* by their numbers; NULL: that one was removed */
    size_t count;
    struct target *gone; /* removed, and perhaps still used by their instances */
    struct timer step;   /* what one target found concerns the others */
};

#define CONFIGURATION_REASON_RELOAD "reload" /* why: HAProxy could not load it */
/* While one document comes after another: for so long the latest is tried to its end at most. */
#define CONFIGURATION_PATIENCE_MAX_MS 60000u

/* That it is to have; NULL: there is none yet. */
static inline struct document *target_document(const struct target *t)
{
    return t->own != NULL ? t->own : t->of->document;
}

/* ---- how far it is ---- */

static inline bool target_is_unwritten(const struct target *t)
{
    return t->sent.progress == PROGRESS_NEW || t->sent.progress == PROGRESS_VALID;
}

static inline bool target_runs_document(const struct target *t)
{
    return t->sent.progress == PROGRESS_APPLIED || t->sent.progress == PROGRESS_DRIFTED;
}

/* In its file, as far as no other writer has changed that. */
static inline bool target_has_document(const struct target *t)
{
    return t->sent.progress == PROGRESS_WRITTEN || target_runs_document(t);
}

/* ---- target_file.c: haproxy.cfg as it was read last, and the document ---- */

const char *target_url(const struct target *t);
const char *target_name(const struct target *t); /* for the store */
/* What of it would be in the file: itself, or with the server lines that are not its own as they were read last, by
 * these edits. */
struct cfg_content *target_with_kept(const struct target *t, struct cfg_content *own,
                                     struct cfg_edits *edits) must_check;
/* The file that was read last means what that configuration would make of it. */
bool target_file_means(const struct target *t, struct cfg_content *own);
/* From the file to the document; NULL: one of them is none. Valid until either is another one. */
const struct cfg_difference *target_difference(struct target *t);
void target_log_lines(struct target *t);
char *target_changes(struct target *t);         /* for a log line; allocates; NULL: nothing, or not known */
bool target_by_runtime(const struct target *t); /* as far as is known before its files are sent */
bool target_is_plain(const struct target *t);   /* HAProxy cannot refuse it */
/* Why the difference from what is there may not be all that HAProxy needs; NULL: it runs what is there. Whether
 * another writer loaded what it put there is not known; what an earlier daemon wrote, that one noted. */
const char *target_runs_another(const struct target *t);

/* ---- turns.c ---- */

/* Each of them in turn, beginning with NULL; NULL: there are no more. */
struct target *target_next(const struct configuration *c, const struct target *t);
bool target_is_alone(const struct target *t);
/* Calls the listener; t NULL: about no target. err NULL: none. */
void configuration_tell(const struct configuration *c, enum configuration_event_kind kind, const struct target *t,
                        const struct error *err);
/* The same with a reason, as of struct configuration_event. */
void configuration_tell_why(const struct configuration *c, enum configuration_event_kind kind, const struct target *t,
                            const char *reason, const struct error *err);
bool configuration_rejected(const struct configuration *c); /* by one of them: no other gets it */
bool configuration_writes(const struct configuration *c);   /* at all: neither a dry run nor paused */
bool target_may_write(const struct target *t);              /* what others make of its document lets it */
bool target_may_repair(const struct target *t);             /* what another writer changed */
bool target_is_valid(const struct target *t);               /* or needs no verdict, as things stand */
/* The next document comes too soon after the last. */
bool configuration_waits(const struct configuration *c, uint64_t now_ms);
/* The document is sent to a target, to be validated or written. reloads: the next one that does is not too soon. */
void configuration_begin(struct configuration *c, bool reloads);
bool canary_goes_on(const struct configuration *c); /* the others wait */
void canary_choose(struct configuration *c);        /* who gets the document first */
bool canary_lets(const struct target *t);           /* its turn to be written to has come */
bool canary_waits(const struct target *t);
uint64_t canary_due(const struct target *t); /* to be read; 0: never */
bool canary_wants_reading(const struct target *t, uint64_t now_ms);
bool configuration_next_is_due(const struct configuration *c); /* the next document is taken with the next step */
/* What is under way is to be done before that version of the next document is taken. */
bool configuration_keeps(const struct configuration *c, unsigned next_version);
bool configuration_was_tried(const struct configuration *c);
bool target_files_half_way(const struct target *t); /* to haproxy.cfg and back, or to where HAProxy runs with them */

/* ---- target_runs.c ---- */

void target_begin(struct target *t);
void target_check(struct target *t); /* perhaps it was rejected before, or must not be there */
void target_reject(struct target *t, const char *what, const struct error *err);
#define TARGET_LOCKS_OUT "configuration refused: it would lock the daemon out; no HAProxy gets it"
/* By the file that was read last. A dry run asks behind HAProxy, so that all that is wrong is seen at once. */
int target_check_lockout(const struct target *t, struct error *err) must_check;
void target_keep_rejection(struct target *t);
void target_compare(struct target *t); /* the document with the file that was read last */
void target_repair_later(struct target *t);
void target_go_on(struct target *t); /* it is written, where nothing is to be written */
void target_written(struct target *t, const struct replaced *r);
void target_ran(struct target *t, const struct stored *s);
void target_writes(struct target *t, struct document *d); /* NULL: it runs, or what became of it does not matter */
void target_not_written(struct target *t, const struct document *d);
void target_concluded(void *self);
void target_runs_unknown(struct target *t);
void canary_applied(struct target *t, bool ran);
void target_keep_good(struct target *t); /* before the file is written */
void target_reload_failed(void *self, bool lost);
void target_left_alone(struct target *t); /* by the file that was read last: another writer repaired it */
void target_restored(struct target *t, const struct replaced *r);
/* The file from before the document goes back; false: there is none. */
bool target_take_back(struct target *t, const struct error *why);

/* ---- target_files.c ---- */

bool target_files_next(const struct target *t, enum storage_part *ret); /* false: nothing */
/* What of it would be in the file, as it is to be sent: until the next one. */
struct cfg_content *target_text(struct target *t, struct cfg_content *own);
void target_store(void *self, struct storage_request *ret);
void target_stored(void *self, const struct stored *s);

/* ---- target.c ---- */

extern const struct engine_ops target_ops;
/* joins: others have a configuration. */
struct target *target_new(struct configuration *c, size_t number, const char *name, bool joins) must_check;
/* The document has changed. own: it gets this one instead, which is taken; NULL: the latest. */
void target_set(struct target *t, struct document *own);
void target_leave(struct target *t); /* from now on it is one of those that are gone */
void target_hurry(struct target *t); /* another one waits for its end: a pause after a failure is over */
void target_free(struct target *t);  /* NULL is allowed */

/* ---- succession.c ---- */

void configuration_use(struct configuration *c, struct document *d, unsigned version);
void succession_step(struct configuration *c);
