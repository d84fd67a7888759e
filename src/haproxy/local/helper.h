/*
 * A HAProxy on this machine, reached by its own files and sockets. What the daemon's filter of system calls forbids (other
 * programs, files that are written by name) a small process does for it: the helper. It is forked before the filter is put
 * on, has a filter of its own, and knows its files, sockets and programs from the options that it began with: no request
 * names a path. Over a socket pair it gets fixed requests, one at a time, and answers each; it ends when the daemon does,
 * and leaves no temporary file and no child behind. The closed socket shows it, also of a daemon that was killed. A
 * signal of the kernel's (PR_SET_PDEATHSIG) would end it before it has tidied up.
 *
 * What the daemon's memory held at the fork, the helper's holds, too: settings, and what a kubeconfig has in it (a token, a
 * key). It does not use that, and cannot find and wipe it: those are the daemon's objects. It keeps it to itself: no other process can
 * attach to it or read its memory but root, it dumps no core, and a program that it runs gets nothing but its arguments
 * and our PATH.
 *
 * The former bytes of the file are not kept by it: who writes has read them, and versions are in STATE_DIR. A copy beside
 * the file would be one more place with passwords in it.
 *
 * Neither side trusts what the other one sends: lengths have caps, and a message that is not whole, or of no known kind,
 * ends the connection.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/error.h"

struct event_base;
struct local_helper;
struct local_request;

#define LOCAL_FILE_MAX_BYTES ((size_t)64 << 20)    /* a haproxy.cfg, and a file of a folder */
#define LOCAL_COMMAND_MAX_BYTES ((size_t)1 << 20)  /* a command with its payload */
#define LOCAL_ANSWER_MAX_BYTES ((size_t)16 << 20)  /* what a socket or a program says */
#define LOCAL_MESSAGE_MAX_BYTES ((size_t)64 << 10) /* HAProxy's message about a file */

enum local_socket { LOCAL_SOCKET_MASTER, LOCAL_SOCKET_STATS };

/* Everything that the helper may touch. The strings are read by the helper itself, which has a copy of them from the
 * fork: they need not outlive local_helper_start. */
struct local_helper_options {
    const char *config_file;           /* may be a link: the file behind it is read and replaced, the link stays */
    const char *const *files_before;   /* further -f, in front of config_file; ends with NULL; NULL: none */
    const char *const *files_after;    /* and behind it */
    const char *haproxy;               /* the program: a path, or a name in PATH; NULL: "haproxy" */
    const char *environment_file;      /* of `haproxy -c`: lines NAME=VALUE; NULL: HAProxy is asked for its own */
    const char *master_socket;         /* NULL: none */
    const char *stats_socket;          /* NULL: none: LOCAL_SOCKET_STATS then goes by `@1` through the master */
    const char *const *reload_command; /* program and arguments; ends with NULL; NULL: `reload` on the master socket */
    const char *const *folders;  /* of maps, certificates, ...: known by their index; ends with NULL; NULL: none */
    uint64_t check_timeout_ms;   /* of `haproxy -c`; 0: 60 s */
    uint64_t command_timeout_ms; /* of a command to a socket; 0: 10 s */
    bool without_seccomp;        /* SECCOMP=false: no filter for the helper, either */
};

/* Forks it. Before threads, before secrets, before the filter; an event loop may be there already, or not. The answers
 * come by an event base that is set later. ERROR_FATAL. */
struct local_helper *local_helper_start(const struct local_helper_options *options, struct error *err) must_check;

struct local_answer;

/* From the loop; each may be NULL. */
struct local_helper_events {
    /* Each request, before its own call: "read", "validate", "write", "lock", "release", "command", "reload", "put file", ... */
    void (*answered)(void *arg, const char *request, const struct local_answer *a);
    /* Once, when the helper is gone: nothing is answered any more, the daemon has to be started again. Requests that
     * waited were answered LOCAL_LOST before. */
    void (*ended)(void *arg, const char *why);
    void *arg;
};

/* events: copied; NULL: none are called. */
void local_helper_attach(struct local_helper *h, struct event_base *base, const struct local_helper_events *events);
/* Ends the helper and waits for it, some milliseconds (2 s at most). Requests that wait are dropped without a word. NULL is allowed. */
void local_helper_free(struct local_helper *h);
pid_t local_helper_pid(const struct local_helper *h);

/* Which content a file has, without its bytes. Two that are equal are the same file, unwritten since. */
struct local_identity {
    uint64_t device, inode, size;
    int64_t modified_ns;
    uint32_t owner, group;
    uint64_t mode; /* so wide that message.c can send all of this as it is */
};

bool local_identity_same(const struct local_identity *a, const struct local_identity *b);

enum local_status {
    LOCAL_OK,
    /* `haproxy -c` refused the file; `message` is what HAProxy said, with the user's name of the file. Of a reload: the
     * program ended in an error. */
    LOCAL_REJECTED,
    LOCAL_CHANGED, /* another writer wrote the file meanwhile; nothing was written. `identity`: what is there now */
    LOCAL_LOCKED,  /* another daemon has the file: its pid in `pid` (0: not known). Nothing was done; ask again later */
    LOCAL_FAILED,  /* `message`: what, where, why; nothing was changed, no temporary file stays */
    LOCAL_LOST,    /* the helper is gone; what became of the request is not known */
};

/* The label of a metric. */
const char *local_status_name(enum local_status s);

struct local_answer {
    enum local_status status;
    int error_number;    /* errno behind LOCAL_FAILED; 0: another reason */
    const char *message; /* never NULL. With LOCAL_OK of a check: HAProxy's warnings, ""; of
                          * local_read_config: see there */
    const char *data;    /* bytes of a file, answer of a socket or a program; never NULL, a NUL stands behind it */
    size_t len;
    struct local_identity identity; /* of the file that was read, or that is there after a write */
    /* Of local_read_config: a daemon wrote that file, and one noted that it was loaded, or none did. pid: who has the lock, where that
     * is another helper's daemon, which may be about to load it; else 0. */
    bool loaded, unloaded;
    pid_t pid; /* LOCAL_LOCKED; and LOCAL_OK of a reload by a signal: who got it */
};

/* From the loop, once for each request; the answer is there for the call alone. Another request may be begun from it. */
typedef void local_answered(void *arg, const struct local_answer *answer);

/* Each of these copies what it is given, and is answered in its turn. What is too large is answered as LOCAL_FAILED. */

/* `data` and `identity` of config_file. `message`: the defaults sections of files_before, of each its header and its default-server
 * lines; error_number EINVAL: what they say is not known (a file cannot be read, or has
 * conditionals), or is a server's weight or state. */
struct local_request *local_read_config(struct local_helper *h, local_answered *answered, void *arg) must_check;

enum local_write_flags {
    LOCAL_WRITE_ONLY_VALIDATE = 1, /* the same without the rename; no lock needed */
    LOCAL_WRITE_UNCHECKED = 2,     /* without `haproxy -c`: HAProxy ran these bytes before, or took what is new */
};

/* Replaces config_file if it still is what `expected` says (NULL: whatever it is): temporary file beside it with owner,
 * group, mode and extended attributes of it, `haproxy -c`, fsync, rename, fsync of the folder. Takes the lock where this
 * helper has it not yet. */
struct local_request *local_write_config(struct local_helper *h, const char *bytes, size_t len,
                                         const struct local_identity *expected, unsigned flags,
                                         local_answered *answered, void *arg) must_check;

/* Validates the file that is there. `data`: the environment of that check, "NAME=VALUE" and a NUL each. */
struct local_request *local_check_config(struct local_helper *h, local_answered *answered, void *arg) must_check;

/* One daemon for each file: a lock on the file ".<name>.lock" beside the real one, held until the helper ends. Comes back
 * at once: LOCAL_OK (it is held, also when it was before) or LOCAL_LOCKED. */
struct local_request *local_lock_config(struct local_helper *h, local_answered *answered, void *arg) must_check;
/* Removes that lock's file, which is left when a daemon ends, and what is noted in it: nothing is to follow. Not through a
 * helper, and nothing happens where another daemon has the lock. */
void local_forget_lock(const char *config_file);

/* Another daemon may have it. What was written and is not loaded stays noted. Nothing is answered. */
void local_release_config(struct local_helper *h);

/* HAProxy runs the file that has this identity. Until then a daemon that comes after this one knows that it was written
 * and not loaded, however this one ended. */
struct local_request *local_note_loaded(struct local_helper *h, const struct local_identity *identity,
                                        local_answered *answered, void *arg) must_check;

/* command: without a newline at its end; a payload ("<<\n...") is part of it. `data`: the answer as it came, until HAProxy
 * closed the connection. Through the master LOCAL_SOCKET_STATS puts "@1 " in front. */
struct local_request *local_command(struct local_helper *h, enum local_socket socket, const char *command,
                                    local_answered *answered, void *arg) must_check;

/* By the way of the options. `data`: what the master answered (cli.h reads it; 2.6 answers nothing), or the program
 * printed. LOCAL_OK says that it was asked for, LOCAL_REJECTED that the program ended in an error, LOCAL_FAILED that
 * it could not be asked, or that it did not end. Which worker runs afterwards is the caller's to find out. */
struct local_request *local_reload(struct local_helper *h, local_answered *answered, void *arg) must_check;

/* A file in options.folders[folder]. name: no slash, not "." nor "..", no control character, no dot in front. A new one
 * gets mode 0640; one that is replaced keeps owner, group and mode. A folder that is not there is made, with mode 0750, where
 * the one above is. */
struct local_request *local_put_file(struct local_helper *h, unsigned folder, const char *name, const char *bytes,
                                     size_t len, local_answered *answered, void *arg) must_check;
/* LOCAL_OK also where there was none, or no folder. */
struct local_request *local_delete_file(struct local_helper *h, unsigned folder, const char *name,
                                        local_answered *answered, void *arg) must_check;
/* `data` and `identity`; a link is not followed (ELOOP). No file or no folder: ENOENT. */
struct local_request *local_read_folder_file(struct local_helper *h, unsigned folder, const char *name,
                                             local_answered *answered, void *arg) must_check;
/* Its answer is not reported any more; what it asks for may be done all the same. Not from its own call. */
void local_request_cancel(struct local_request *r);
