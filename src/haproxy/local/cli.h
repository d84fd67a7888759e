/*
 * What HAProxy answers on its sockets, 2.6 to 3.4, as far as it is decided by: `show servers state`, `show proc`, `show
 * info`, `reload` and the commands that change a server. Pure. Columns and rows that are not known are skipped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/error.h"

/* ---- show servers state [backend] ---- */

/* srv_admin_state, as HAProxy has the bits. */
enum cli_admin {
    CLI_ADMIN_FORCED_MAINTENANCE = 0x01,
    CLI_ADMIN_INHERITED_MAINTENANCE = 0x02,  /* `track` */
    CLI_ADMIN_CONFIGURED_MAINTENANCE = 0x04, /* `disabled` when it was loaded, whatever became of it */
    CLI_ADMIN_FORCED_DRAIN = 0x08,
    CLI_ADMIN_INHERITED_DRAIN = 0x10,
    CLI_ADMIN_UNRESOLVED = 0x20,
};

enum cli_operation { CLI_STOPPED, CLI_STARTING, CLI_RUNNING, CLI_STOPPING };

/* Bits of srv_check_state. */
enum cli_check { CLI_CHECK_CONFIGURED = 0x02, CLI_CHECK_ENABLED = 0x04 };

struct cli_server {
    const char *name, *address;
    unsigned port, weight;
    unsigned admin; /* enum cli_admin */
    unsigned check; /* enum cli_check */
    enum cli_operation operation;
};

struct cli_servers {
    struct cli_server *servers;
    size_t count;
    char *text; /* what they point into */
};

/* ERROR_GONE: there is no such backend. ERROR_INVALID: no such answer. */
int cli_servers_init(struct cli_servers *s, const char *answer, struct error *err) must_check;
void cli_servers_fini(struct cli_servers *s);

/* ---- show proc ---- */

struct cli_process {
    pid_t pid;
    bool is_worker, is_old; /* neither: a program, or the master */
    unsigned reloads;
};

struct cli_processes {
    /* The worker that takes connections: the newest. After a refused reload 3.4 lists it with the old ones. 0: none. */
    pid_t master_pid, worker_pid;
    unsigned reloads;        /* of the master */
    unsigned failed_reloads; /* of those; 2.6 says so here alone */
    unsigned old_workers;
    struct cli_process *processes;
    size_t count;
};

int cli_processes_init(struct cli_processes *p, const char *answer, struct error *err) must_check;
void cli_processes_fini(struct cli_processes *p);

/* ---- show info ---- */

#define CLI_VERSION_BYTES 32

struct cli_info {
    int64_t pid;      /* of the process that answers: a worker */
    int64_t uptime_s; /* -1: unknown */
    char version[CLI_VERSION_BYTES];
};

/* ERROR_INVALID: no such answer. */
int cli_info_read(struct cli_info *ret, const char *answer, struct error *err) must_check;

/* ---- reload ---- */

enum cli_reload {
    CLI_RELOAD_DONE,
    CLI_RELOAD_FAILED,
    CLI_RELOAD_BUSY,    /* with another one, perhaps of the file from before; 3.2 and later */
    CLI_RELOAD_UNKNOWN, /* 2.6 does not say */
};

/* *ret_log: what HAProxy logged meanwhile, points into answer; "" */
enum cli_reload cli_read_reload(const char *answer, const char **ret_log);

/* ---- commands that change something ---- */

/* What came of it: silence (a newline) or a line that says so is success. ERROR_RETRY: there is no answer. ERROR_GONE: no such backend or server. ERROR_CONFLICT: it is
 * there already, or still used (`del server`). ERROR_INVALID: refused, with HAProxy's words. ERROR_AUTH: the socket's level. */
int cli_read_done(const char *answer, struct error *err) must_check;

/* What it says, as it may be shown: its first line. -1. */
int cli_refuse(struct error *err, enum error_kind kind, const char *answer);
