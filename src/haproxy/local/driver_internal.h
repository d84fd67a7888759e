/* The inside of haproxy/local/driver, for its own files. Each part has its own fields and its own request to the helper:
 * driver_file.c (what all parts know of the file), driver_read.c (that, what runs, and what it serves), driver_write.c (several
 * changes, or all of the file, and whether they came about), driver_commands.c (by the runtime), driver_update.c (one server),
 * driver_store.c (what is beside the file), driver_reload.c; driver.c holds them together. */
#pragma once

#include "haproxy/cfg/content.h"
#include "haproxy/cfg/edit.h"
#include "haproxy/local/cli.h"
#include "haproxy/local/cli_files.h"
#include "haproxy/local/driver.h"
#include "haproxy/local/helper.h"
#include "haproxy/local/server_command.h"
#include "haproxy/map_text.h"
#include "haproxy/readout.h"
#include "haproxy/served.h"
#include "haproxy/storage_foresight.h"
#include "haproxy/storage_machine.h"
#include "host/timer.h"

enum local_reload_step {
    LOCAL_RELOAD_NONE,
    LOCAL_RELOAD_BEFORE,  /* who runs? */
    LOCAL_RELOAD_ASKED,   /* the helper was asked to reload */
    LOCAL_RELOAD_WATCHED, /* who runs now? */
    LOCAL_RELOAD_SUCCEEDED,
    LOCAL_RELOAD_FAILED,
    LOCAL_RELOAD_LOST, /* its result is unknown */
};

/* The last one that was asked for. */
struct local_reload {
    enum local_reload_step step;
    unsigned number; /* of its id */
    int64_t loads;   /* the version that the file had then */
    int64_t worker;  /* before it; -1: not known */
    unsigned failed; /* reloads that the master counted as failed before it */
    uint64_t until_ms;
    char *why;            /* LOCAL_RELOAD_FAILED, LOCAL_RELOAD_LOST */
    char *unanswered;     /* what the last question ended with; NULL: an answer */
    struct reload *waits; /* that gets the result; NULL: not asked yet */
    struct timer again;
    struct local_request *request;
};

/* Commands, one line after the other. */
struct local_run {
    struct local_driver *driver;
    struct server_commands commands;
    size_t sent, next; /* the first of the line that was sent last, and what is behind it */
    struct local_request *request;
    bool running, in_any_case; /* a refusal ends nothing */
    char *why;                 /* one was refused; NULL: all are done */
    void (*ended)(struct local_driver *d);
};

/* Servers that the file has no more, in maintenance, and still in use. */
struct local_leaving {
    char **list; /* the commands that delete them */
    size_t count, at;
    uint64_t wait_ms;
    struct timer again;
    struct local_request *request;
};

/* What all parts know of the file. */
struct local_config_file {
    int64_t version;                /* counts the contents that it had, as far as they were seen */
    struct local_identity identity; /* of the last one */
    struct cfg_content *content;    /* its bytes */
    bool unloaded;                  /* it was written, here or before this start, and no reload has loaded it */
    struct local_identity loaded;   /* the last one that was loaded */
    bool took_back; /* of a whole file: servers that it was to have, which the running HAProxy has no more */
    struct local_request *lock; /* beside the request under way, while another daemon has it */
    struct timer ask_again;
    char *waits;
};

/* What is read, and was read last. */
struct local_reading {
    struct local_request *request; /* under way; NULL: none */
    struct timer turn;             /* asks whether another daemon has ended its turn, to read then, */
    uint64_t turn_until_ms;        /* or in any case */
    struct readout *to;
    size_t at;                       /* the backend whose servers are read */
    char *defaults_before;           /* defaults sections of the files in front of it; NULL: not known */
    char haproxy[CLI_VERSION_BYTES]; /* its version as read last; "": not known */
    bool silent;                     /* what runs could not be read last */
};

/* What HAProxy serves, as far as it was answered. */
struct local_served {
    struct local_request *request;
    struct served news;
    bool servers; /* they are asked for, too */
};

/* Whether what commands changed is what runs. */
struct local_verify {
    const struct changes *changes;
    size_t at;      /* the first one of the backend that is read */
    unsigned reads; /* of that backend, so far */
    struct timer again;
};

/* A write of several changes, or of the whole file. */
struct local_write {
    struct local_request *request;
    struct cfg_edits edits;       /* of the write to come */
    struct changes changes;       /* the same, as they were asked for */
    bool reloads;                 /* it has to */
    struct local_run early, late; /* instead of a reload: beside the write, and after it */
    char *no_commands;            /* why there are none; NULL: there are */
    bool in_file;                 /* the write went well */
    char *reload_why;
    struct cfg_content *text; /* what is being written; NULL: nothing */
    uint64_t begin_us;
    struct replacement_request replacement;
    bool replaces; /* the write in hand is that */
    struct local_verify verify;
    struct cfg_content *checked; /* the text that `haproxy -c` took last, at checked_ms; NULL: none */
    uint64_t checked_ms;
    struct written written; /* to be reported from the loop */
    struct replaced replaced;
    char *reload_id;
};

/* One server, in the file and in the running HAProxy; or addresses in the running HAProxy alone. */
struct local_update {
    struct local_request *request;
    struct cfg_content *text; /* what is being written */
    struct local_run run;
    char *backend;
    struct backend_server wanted; /* the line as it is in the file then */
    unsigned fields;
    bool hurry;
    unsigned reads; /* of what runs, so far */
    uint64_t begin_us, write_us;
    struct updated news; /* to be reported */
    struct timer again;
};

/* The command that is under way for them. */
enum local_store_step {
    LOCAL_STORE_LIST,    /* which there are in HAProxy */
    LOCAL_STORE_SINGLE,  /* some entries of a map */
    LOCAL_STORE_PREPARE, /* another version of a map, */
    LOCAL_STORE_ADD,     /* with entries */
    LOCAL_STORE_COMMIT_MAP,
    LOCAL_STORE_SHOW_MAP,
    LOCAL_STORE_SET, /* a certificate */
    LOCAL_STORE_COMMIT,
    LOCAL_STORE_SHOW,
    LOCAL_STORE_DROP, /* what was prepared in vain */
};

/* What of them runtime commands change. */
struct local_store_run {
    enum local_store_step step;
    struct cli_names loaded[CLI_LISTS]; /* by path */
    size_t lists;                       /* so many were asked for */
    size_t at, name;                    /* the file in hand, and its path in its list */
    unsigned version;                   /* of a map: what is prepared, */
    struct map_entries entries;         /* what it is to have, */
    bool single;                        /* by these commands, instead of all entries */
    struct buf commands;
    size_t sent; /* so many of its entries, or bytes of commands */
};

/* The files beside it. */
struct local_store {
    struct local_request *request;
    char *folders[STORAGE_KINDS];
    struct storage_machine machine;
    struct local_store_run run; /* of STORAGE_RUN, or of what that would come to */
};

/* Something is reported to its owner from the loop. */
struct local_news {
    void (*tells)(struct driver *d); /* which it is */
    struct timer timer;
};

struct local_driver {
    struct driver base; /* the first one: a struct driver * is one of it */
    struct local_driver_options options;
    struct local_request *command; /* of driver.c */
    struct local_config_file file;
    struct local_news news;
    struct local_reading reading;
    struct local_served served;
    struct local_write write;
    struct local_leaving leaving;
    struct local_update update;
    struct local_store store;
    struct local_reload reload;
};

static inline struct local_driver *local_driver_of(struct driver *d)
{
    return (struct local_driver *)(void *)d;
}

/* driver_file.c */
void local_driver_file_init(struct local_driver *d, struct event_base *base);
void local_driver_file_fini(struct local_driver *d);
void local_driver_tell(struct local_driver *d, void (*tells)(struct driver *d)); /* from the loop, once */
void local_driver_tell_in(struct local_driver *d, uint64_t in_ms, void (*tells)(struct driver *d));
void local_driver_was_read(struct local_driver *d, const struct local_answer *a);
/* The file is that now. unloaded: what runs does not get it. */
void local_driver_wrote(struct local_driver *d, const struct local_answer *a, struct cfg_content *text, bool unloaded);
/* What is in the file runs. The request notes that; answered: it is to be waited for. NULL: cancel it. */
struct local_request *local_driver_loaded(struct local_driver *d, local_answered *answered) must_check;
/* The file with these edits. */
struct cfg_content *local_driver_text(struct local_driver *d, const struct cfg_edits *edits) must_check;
void local_driver_has_lock(struct local_driver *d); /* and waits no more for another daemon that had it */
/* Where daemons take turns: another one may have the file, unless something of this one is under way that needs it. */
void local_driver_release(struct local_driver *d);
/* Of a request about the file that did not go well. wrote: it might have. */
enum transaction_result local_driver_failed(struct local_driver *d, const struct local_answer *a, bool wrote,
                                            struct error *err);
/* The same of a write of that text; what `haproxy -c` said of it, by the user's lines. */
enum transaction_result local_driver_refused(struct local_driver *d, const struct local_answer *a,
                                             const struct cfg_edits *edits, const struct cfg_content *text,
                                             struct error *err);

/* driver_read.c */
void local_driver_read(struct driver *d, struct readout *to);
void local_driver_ask_served(struct driver *d, bool servers);
/* Rows of `show servers state`. */
struct runtime_server local_driver_running_server(const struct cli_server *s) must_check;
struct runtime local_driver_running(const struct cli_server *servers, size_t count) must_check;
void local_driver_read_init(struct local_driver *d, struct event_base *base);
void local_driver_read_cancel(struct local_driver *d);
void local_driver_read_fini(struct local_driver *d);

/* driver_write.c */
int local_driver_add(struct driver *d, const struct change *list, size_t count, struct error *err) must_check;
void local_driver_write(struct driver *d, int64_t version, bool review, bool reload);
void local_driver_abort(struct driver *d);
void local_driver_replace(struct driver *d, int64_t version, const struct replacement_request *request);
int local_driver_foresee(const struct driver *d, const struct cfg_file *to, const struct changes *changes,
                         struct buf *ret, struct error *err) must_check;
void local_driver_forget_checked(struct local_driver *d); /* what `haproxy -c` said */
void local_driver_write_init(struct local_driver *d, struct event_base *base);
void local_driver_write_cancel(struct local_driver *d);
void local_driver_write_fini(struct local_driver *d);

/* driver_update.c */
int local_driver_update(struct driver *d, int64_t version, const struct update_request *request,
                        struct error *err) must_check;
int local_driver_set_running(struct driver *d, const struct changes *changes, struct error *err) must_check;
void local_driver_update_init(struct local_driver *d, struct event_base *base);
void local_driver_update_cancel(struct local_driver *d);
void local_driver_update_fini(struct local_driver *d);

/* driver_commands.c */
/* ended: from here, where there are none. */
void local_run_begin(struct local_run *r, struct local_driver *d, void (*ended)(struct local_driver *d));
void local_run_clear(struct local_run *r); /* nothing is changed any more */
/* It is to undo what was done, and should not have been: servers that were added are in maintenance at once, and
 * deleted; those that the file has as it is now are made ready. */
void local_run_take_back(struct local_run *r, const struct local_run *done, const struct cfg_file *is);
bool local_driver_leaves(const struct local_leaving *l, const char *backend, const char *server) must_check;
void local_driver_forget_leaving(struct local_leaving *l);
void local_driver_leaving_init(struct local_driver *d, struct event_base *base);
void local_driver_leaving_fini(struct local_leaving *l);

/* driver_store.c */
void local_driver_store(struct driver *d, const struct storage_request *request);
void local_driver_store_init(struct local_driver *d);
void local_driver_store_cancel(struct local_driver *d);
void local_driver_store_fini(struct local_driver *d);

/* driver_reload.c */
void local_driver_reload_init(struct local_driver *d, struct event_base *base);
void local_driver_reload_fini(struct local_driver *d);
void local_driver_reload(struct local_driver *d); /* begins another one */
void local_driver_ask_reload(struct driver *base, struct reload *r);
