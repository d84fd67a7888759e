/*
 * Runs another program without blocking the event loop: nothing on its standard input, what it prints collected, a deadline. It
 * gets its own process group, and with the program all that it left in there is ended. No descriptor but the three
 * standard ones reaches it; its signal mask is empty and SIGPIPE is as the system has it.
 *
 * A pidfd (Linux 5.3) reports its end: unlike SIGCHLD it needs no handler that the whole process has to share, and it
 * cannot be mixed up with another child's. Where there is none, the child is asked for every 50 ms.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct child;
struct event_base;

enum child_outcome {
    CHILD_EXITED,   /* with `status` */
    CHILD_SIGNALED, /* by the signal `status` */
    CHILD_OVERDUE,  /* killed at its deadline */
    CHILD_OVER_CAP, /* killed because it printed too much */
};

struct child_result {
    enum child_outcome outcome;
    int status;
    const struct buf *out; /* its standard output; wiped after the call */
    const char *said;      /* the end of its standard error, at most 1 KiB, one printable line; "" */
};

struct child_options {
    /* Instead of a program this function, in a copy of this process (fork(2)) with all that it knows, until it returns the
     * exit status: no other thread is there, and nothing of the event loop may be touched. NULL: the program. */
    int (*run)(void *run_arg);
    void *run_arg;
    const char *command; /* with a slash: a path; without: searched in this process's PATH */
    char *const *args;   /* without the command; ends with NULL */
    char *const *env;    /* all of its environment, "NAME=value"; ends with NULL */
    size_t max_out_bytes;
    uint64_t timeout_ms;
    bool together;      /* its standard error goes where its standard output goes; nothing is `said` */
    bool without_pidfd; /* as on a kernel that has none: for tests */
};

/* on_done: once, from the loop; the child is gone and freed after it. Another one may be started from there. NULL: the
 * program cannot be started; ERROR_RETRY with the command, the reason and what to do. */
struct child *child_start(struct event_base *base, const struct child_options *options,
                          void (*on_done)(void *arg, const struct child_result *result), void *arg,
                          struct error *err) must_check;

/* Kills it and its group and waits for its end, which is a matter of milliseconds (1 s at most: then it is the kernel
 * that holds it, and init will have it). Nothing is called back. NULL is allowed. Not from on_done. */
void child_cancel(struct child *c);

/* "exit status 3", "killed by signal 11 (Segmentation fault)", "no end after 60 s". Allocates. */
char *child_result_text(const struct child_result *r, const struct child_options *options) must_check;

/* As process 1 of a container we inherit what other programs left behind: takes those that ended off the kernel's list.
 * Only while no child is running. */
void child_reap_inherited(void);
