/*
 * A HAProxy on this machine that is reached by its own file and sockets (HAPROXY_CONFIG_FILE): its file, the program and
 * the sockets. Plain values: doctor_local_file reads what lies there, doctor_local asks programs and sockets, and
 * doctor_local_judge, which is pure, makes the checks of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "haproxy/local/cli.h"

struct doctor_section;
struct inspect_target;
struct settings;
struct settings_local;

/* The user of this process, which is the daemon's user. */
struct local_self {
    char *user, *group;    /* "haproxy-k8s-sync", or the number where there is no name */
    bool may_give_files;   /* CAP_CHOWN */
    bool is_over_stickies; /* CAP_FOWNER */
};

/* Whose something is. */
struct local_owner {
    gid_t gid;
    unsigned mode;      /* rights alone */
    char *user, *group; /* as above */
    bool is_us;         /* the user is */
    bool is_our_group;  /* one of them is */
};

struct local_file_facts {
    const char *path; /* as set */
    char *real;       /* behind links; NULL: not found, `error` */
    char *link;       /* what a link says; NULL: it is none */
    int error;        /* errno; 0: found */
    bool is_regular;
    uint64_t size;
    int64_t modified_s;
    struct local_owner owner;
    int read_error, replace_error; /* errno of access(2) for reading and writing; 0: allowed */
    bool is_mount;                 /* of its own */

    char *folder;
    struct local_owner folder_owner;
    int folder_error; /* of a new file in there */
    bool folder_is_sticky;

    char *lock;     /* its path */
    int lock_error; /* of opening it */
    bool lock_held;
    pid_t lock_pid; /* whose number is in it; 0: none */
};

/* What haproxy.cfg says of what matters here. */
struct local_global {
    char *chroot;   /* NULL: none */
    char **sockets; /* the paths of `stats socket` */
    size_t socket_count;
    char **variables; /* of the environment, which it uses, and does not set itself; each once */
    size_t variable_count;
};

/* How a program ended. */
struct local_run {
    bool asked;
    char *problem; /* it could not be run, or did not end by itself; NULL: it ended */
    bool refused;  /* the file */
    char *out;     /* never NULL where it ended */
    uint64_t took_us;
};

struct local_socket_facts {
    const char *path; /* NULL: none is set */
    int error;        /* errno of stat(2); 0: there is something */
    bool is_socket;
    struct local_owner owner;
    bool asked, answered;
    int ask_error; /* errno of the first command; 0: another reason */
    char *problem; /* why there is no answer; NULL: there is one */
    char *level;   /* "admin", "operator", "user"; NULL: unknown */
};

struct local_facts {
    struct local_self self;
    struct local_file_facts file;
    struct local_global global;
    char *program; /* as found in PATH; NULL: not there */
    struct local_run version, check;
    struct buf environment;       /* of that check: "NAME=VALUE", each with a NUL */
    bool shows_environment;       /* HAProxy does, by the socket */
    struct buf shown_environment; /* `show env` */
    struct local_socket_facts master, stats;
    bool has_processes;
    struct cli_processes processes; /* `show proc` */
    bool has_info;
    struct cli_info info; /* `show info` */
    bool has_no_master;   /* the process behind the stats socket is seen here, and was not started by a master */
    char *reload_program; /* of HAPROXY_RELOAD_COMMAND, as found; NULL: not there, or none */
};

/* The user of this process, the file and what is in it as far as it can be read, sockets and programs; nothing is run. */
void local_facts_read(struct local_facts *f, const struct settings_local *l);
void local_facts_fini(struct local_facts *f); /* a zeroed one is allowed */
/* text: of haproxy.cfg, len bytes. Pure. */
void local_global_read(const char *text, size_t len, struct local_global *ret);

/* "2.6.12-1+deb12u4" of what `haproxy -v` prints, and its first two numbers. */
struct local_version {
    char text[CLI_VERSION_BYTES];
    unsigned major, minor;
};
bool local_version_read(const char *said, struct local_version *ret);
bool local_version_is_old(const struct local_version *v);

/* target: what was read of it; NULL: it was not. */
void local_judge(const struct local_facts *f, const struct settings *settings, const struct inspect_target *target,
                 int64_t now_s, struct doctor_section *s);
