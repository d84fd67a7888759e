/* What the files of the helper's own side share. */
#pragma once

#include "base/buf.h"
#include "haproxy/local/files.h"
#include "haproxy/local/message.h"
#include "host/child.h"

struct helper {
    const struct local_helper_options *options;
    char *const *environment;
    struct event_base *base; /* for programs; nothing else is waited for in it */
    int socket;
    pid_t daemon;
    int lock; /* -1: not held */
    /* The file in its place was written by a daemon, and loaded. Known while the lock is held. */
    bool has_written, loaded;
    struct local_identity written;
    bool peer_gone;
};

/* One request. */
struct helper_work {
    struct helper *helper;
    struct local_answer answer;
    char *message;
    struct buf data;
    /* The program that runs, or ran last. */
    struct child *child;
    const struct child_options *running;
    bool ended;
    enum child_outcome outcome;
    int exit_status;
    char *outcome_text;
};

/* helper_work.c */
/* LOCAL_FAILED with errno. */
void helper_fail(struct helper_work *w, const char *fmt, ...) printf_like(2, 3);
/* The file is in its place, and errno says why it may not survive. */
void helper_warn_unsynced(struct helper_work *w, const struct local_place *p);
/* What it printed is in w->data. -1, said in w: not started, or nobody waits for it any more. */
int helper_run(struct helper_work *w, const struct child_options *o) must_check;
/* One command on a socket of HAProxy's, from beginning to end, waiting: what came until HAProxy closed the connection goes
 * into answer, which has a cap. ERROR_RETRY with errno, and nothing in answer; also where the daemon is gone. */
int helper_talk(const struct helper *h, enum local_socket socket, const char *command, uint64_t timeout_ms,
                struct buf *answer, struct error *err) must_check;

/* helper_environment.c: of HAProxy, by options.environment_file, else by its socket; where that says nothing, our PATH alone.
 * LOCAL_PEER is in there if the name is not set by `checked` or the files that HAProxy has. For mem_wipe_free_list; NULL: said in w. */
#define LOCAL_PEER "HAPROXY_LOCALPEER"
char **helper_environment(struct helper_work *w, const char *checked) must_check;
const char *helper_environment_value(char *const *list, const char *name); /* NULL: there is none */

/* helper_listen.c: why HAProxy, whose file in place is loaded, cannot listen where text does, in the words of `haproxy -c`, a line for
 * each. Allocates; NULL: it can, for all that is known. */
char *helper_cannot_listen(const struct helper_work *w, const char *text, size_t len);

/* helper_config.c */
void helper_config_read(struct helper_work *w);
void helper_config_release(struct helper_work *w);
void helper_config_note_loaded(struct helper_work *w, const struct local_ask *a);
void helper_config_write(struct helper_work *w, const struct local_ask *a);
int helper_config_lock(struct helper_work *w) must_check; /* -1: said in w */
