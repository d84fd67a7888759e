#include "host/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1u << 14)
#endif

int sandbox_harden(struct error *err)
{
    const struct rlimit none = {0, 0};
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return error_set(err, ERROR_FATAL, "cannot close this process to debuggers: %m");
    if (setrlimit(RLIMIT_CORE, &none) != 0)
        return error_set(err, ERROR_FATAL, "cannot disable core dumps, which would hold secrets: %m");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return error_set(err, ERROR_FATAL, "cannot set no_new_privs: %m");
    return 0;
}

/* ---- where files are written ---- */

#define LANDLOCK_WRITES                                                                               \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
     LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |       \
     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |    \
     LANDLOCK_ACCESS_FS_MAKE_SYM)

static void sandbox_close(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

int sandbox_confine(int folder, struct error *err)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    /* Younger kernels know more ways to write. */
    struct landlock_ruleset_attr writes = {.handled_access_fs = LANDLOCK_WRITES |
                                                                (abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) |
                                                                (abi >= 3 ? LANDLOCK_ACCESS_FS_TRUNCATE : 0)};
    const struct landlock_path_beneath_attr here = {.allowed_access = writes.handled_access_fs, .parent_fd = folder};
    cleanup(sandbox_close) int rules =
        abi < 1 ? -1 : (int)syscall(SYS_landlock_create_ruleset, &writes, sizeof(writes.handled_access_fs), 0);
    if (rules < 0 ||
        (folder >= 0 && syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &here, 0) != 0) ||
        syscall(SYS_landlock_restrict_self, rules, 0) != 0)
        return error_set(err, ERROR_FATAL, "%m");
    return 0;
}

/* ---- the rules ---- */

/* One argument: (value & mask) == wanted. All arguments of a rule have to hold; rules of one call are alternatives. */
struct argument {
    unsigned at;
    uint64_t mask, wanted;
};

struct rule {
    int call;
    unsigned count;
    struct argument arguments[3];
};

#define ALL UINT64_MAX
#define INT 0xffffffffu /* the kernel reads an int; what is above it is anything */
#define CALL(name)         \
    {                      \
        SCMP_SYS(name), 0, \
        {                  \
            {              \
                0          \
            }              \
        }                  \
    }
#define ARG(name, at, mask, wanted) \
    {                               \
        SCMP_SYS(name), 1,          \
        {                           \
            {                       \
                at, mask, wanted    \
            }                       \
        }                           \
    }

#define NEW_NAMESPACES \
    (CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

/* On arm64 some of them do not exist; libseccomp then has a negative number, which is skipped. */
static const struct rule allowed[] = {
    /* memory */
    CALL(brk),
    CALL(munmap),
    CALL(mremap),
    CALL(madvise),
    ARG(mprotect, 2, PROT_EXEC, 0),
    ARG(mmap, 2, PROT_EXEC, 0),
    {SCMP_SYS(mmap), 2, {{2, PROT_EXEC | PROT_WRITE, PROT_EXEC}, {3, MAP_ANONYMOUS, 0}}},
    /* threads */
    ARG(clone, 0, CLONE_VM | CLONE_THREAD | NEW_NAMESPACES, CLONE_VM | CLONE_THREAD),
    CALL(set_robust_list),
    CALL(rseq),
    CALL(futex),
    CALL(sched_yield),
    CALL(sched_getaffinity),
    CALL(gettid),
    CALL(exit),
    CALL(exit_group),
    CALL(restart_syscall),
    /* signals */
    CALL(rt_sigaction),
    CALL(rt_sigprocmask),
    CALL(rt_sigreturn),
    CALL(sigaltstack),
    /* time */
    CALL(clock_gettime),
    CALL(clock_getres),
    CALL(clock_nanosleep),
    CALL(nanosleep),
    CALL(gettimeofday),
    CALL(time),
    /* about ourselves */
    CALL(getpid),
    CALL(getuid),
    CALL(geteuid),
    CALL(getgid),
    CALL(getegid),
    CALL(getrusage),
    CALL(getrandom),
    CALL(sysinfo),
    CALL(uname),
    CALL(getrlimit),
    ARG(prlimit64, 2, ALL, 0), /* reading them */
    ARG(prctl, 0, INT, PR_SET_NAME),
    ARG(prctl, 0, INT, PR_SET_VMA), /* glibc names its memory by it */
    /* files */
    ARG(open, 1, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY),
    ARG(openat, 2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY),
    CALL(close),
    CALL(read),
    CALL(pread64),
    CALL(readv),
    CALL(write),
    CALL(writev),
    CALL(lseek),
    CALL(stat),
    CALL(lstat),
    CALL(fstat),
    CALL(newfstatat),
    CALL(statx),
    CALL(statfs),
    CALL(fstatfs),
    CALL(access),
    CALL(faccessat),
    CALL(readlink),
    CALL(readlinkat),
    CALL(getdents64),
    CALL(getcwd),
    CALL(fadvise64),
    CALL(inotify_add_watch),
    CALL(inotify_rm_watch),
    ARG(fcntl, 1, INT, F_GETFD),
    ARG(fcntl, 1, INT, F_SETFD),
    ARG(fcntl, 1, INT, F_GETFL),
    ARG(fcntl, 1, INT, F_SETFL),
    ARG(fcntl, 1, INT, F_DUPFD_CLOEXEC),
    ARG(fcntl, 1, INT, F_GETPIPE_SZ), /* before a long line of the log */
    ARG(ioctl, 1, INT, FIONREAD),
    ARG(ioctl, 1, INT, FIONBIO),
    ARG(ioctl, 1, INT, TCGETS),
    /* waiting */
    CALL(poll),
    CALL(ppoll),
    CALL(select),
    CALL(pselect6),
    CALL(epoll_create1),
    CALL(epoll_ctl),
    CALL(epoll_wait),
    CALL(epoll_pwait),
    CALL(eventfd2),
    CALL(pipe2),
    ARG(socketpair, 0, INT, AF_UNIX),
    /* sockets */
    {SCMP_SYS(socket), 2, {{0, INT, AF_UNIX}, {1, 0xf, SOCK_STREAM}}},
    {SCMP_SYS(socket), 2, {{0, INT, AF_INET}, {1, 0xf, SOCK_STREAM}}},
    {SCMP_SYS(socket), 2, {{0, INT, AF_INET}, {1, 0xf, SOCK_DGRAM}}},
    {SCMP_SYS(socket), 2, {{0, INT, AF_INET6}, {1, 0xf, SOCK_STREAM}}},
    {SCMP_SYS(socket), 2, {{0, INT, AF_INET6}, {1, 0xf, SOCK_DGRAM}}},
    {SCMP_SYS(socket), 3, {{0, INT, AF_NETLINK}, {1, 0xf, SOCK_RAW}, {2, INT, NETLINK_ROUTE}}},
    CALL(connect),
    CALL(bind), /* netlink's; the daemon cannot listen any more */
    CALL(accept4),
    CALL(accept),
    CALL(getsockname),
    CALL(getpeername),
    CALL(getsockopt),
    CALL(setsockopt),
    CALL(sendto),
    CALL(sendmsg),
    CALL(sendmmsg),
    CALL(recvfrom),
    CALL(recvmsg),
    CALL(shutdown),
};

/* Of who forks: fork(2) itself, what host/child does around it, and what the copy needs until it has a filter of its own,
 * which can only take rights away. */
static const struct rule allowed_to_fork[] = {
    ARG(clone, 0, CLONE_VM | CLONE_VFORK | CLONE_THREAD | CLONE_PARENT | CLONE_PTRACE | NEW_NAMESPACES | CSIGNAL,
        SIGCHLD),
    CALL(setpgid),
    CALL(dup2),
    CALL(dup3),
    CALL(close_range),
    CALL(wait4),
    CALL(waitid),
    CALL(pidfd_open),
    ARG(kill, 1, INT, SIGKILL),
    CALL(seccomp),
    ARG(prctl, 0, INT, PR_SET_NO_NEW_PRIVS),
    ARG(prctl, 0, INT, PR_SET_PDEATHSIG),
    {SCMP_SYS(prlimit64), 1, {{0, INT, 0}}}, /* its own limits (host/limits) */
    CALL(setrlimit),
    ARG(prctl, 0, INT, PR_GET_SECCOMP),
    ARG(prctl, 0, INT, PR_SET_SECCOMP),
};

/* Only what no library calls in any case: NSS modules of others, for one, try pidfd_open, memfd_create and kcmp. */
static const int deadly[] = {
    /* other programs, other processes */
    SCMP_SYS(execve),
    SCMP_SYS(execveat),
    SCMP_SYS(fork),
    SCMP_SYS(vfork),
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(pidfd_getfd),
    /* another view of the machine */
    SCMP_SYS(unshare),
    SCMP_SYS(setns),
    SCMP_SYS(chroot),
    SCMP_SYS(pivot_root),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(mount_setattr),
    SCMP_SYS(move_mount),
    SCMP_SYS(open_tree),
    SCMP_SYS(fsopen),
    SCMP_SYS(fsconfig),
    SCMP_SYS(fsmount),
    SCMP_SYS(fspick),
    SCMP_SYS(open_by_handle_at),
    /* the kernel itself, and its wide doors */
    SCMP_SYS(bpf),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(reboot),
    SCMP_SYS(swapon),
    SCMP_SYS(swapoff),
    SCMP_SYS(iopl),
    SCMP_SYS(ioperm),
    SCMP_SYS(modify_ldt),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(keyctl),
};

/* From 424 on, Linux 5.1, a call has the same number everywhere; 511 is past any known one, and before those of x32. */
#define FIRST_YOUNG_CALL 424
#define LAST_YOUNG_CALL 511

/* ---- the filter ---- */

static bool is_deadly(int call)
{
    for (size_t i = 0; i < array_len(deadly); i++)
        if (deadly[i] == call)
            return true;
    return false;
}

static bool is_to_fork(int call)
{
    for (size_t i = 0; i < array_len(allowed_to_fork); i++)
        if (allowed_to_fork[i].call == call)
            return true;
    return false;
}

static int allow(scmp_filter_ctx ctx, const struct rule *r)
{
    struct scmp_arg_cmp arguments[array_len(r->arguments)];
    for (unsigned i = 0; i < r->count; i++) {
        const struct argument *a = &r->arguments[i];
        arguments[i] = SCMP_CMP64(a->at, SCMP_CMP_MASKED_EQ, a->mask, a->wanted);
    }
    return r->call < 0 ? 0 : seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, r->call, r->count, arguments);
}

/* 0, or a negative errno. */
static int add_rules(scmp_filter_ctx ctx, bool copies)
{
    /* What abort() does; the number is that of our own process. */
    const struct rule ourselves = ARG(tgkill, 0, INT, (uint64_t)getpid());
    int rc = allow(ctx, &ourselves);
    for (size_t i = 0; rc == 0 && i < array_len(allowed); i++)
        rc = allow(ctx, &allowed[i]);
    for (size_t i = 0; rc == 0 && copies && i < array_len(allowed_to_fork); i++)
        rc = allow(ctx, &allowed_to_fork[i]);
    for (size_t i = 0; rc == 0 && i < array_len(deadly); i++)
        if (deadly[i] >= 0)
            rc = seccomp_rule_add(ctx, SCMP_ACT_KILL_PROCESS, deadly[i], 0);
    for (int call = FIRST_YOUNG_CALL; rc == 0 && call <= LAST_YOUNG_CALL; call++)
        if (!is_deadly(call) && !(copies && is_to_fork(call)))
            rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), call, 0);
    return rc;
}

static int set_up(scmp_filter_ctx ctx)
{
    /* Calls of another architecture (32 bit, x32) have other numbers: the rules do not hold for them. */
    int rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (rc == 0)
        rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
    if (rc == 0)
        rc = seccomp_attr_set(ctx, SCMP_FLTATR_API_SYSRAWRC, 1); /* the kernel's own errno */
    if (rc == 0)
        rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE,
                              2); /* a tree: a call costs eight comparisons, not two hundred */
    return rc;
}

static void sandbox_release(scmp_filter_ctx *ctx)
{
    if (*ctx != NULL)
        seccomp_release(*ctx);
}

/* In that folder, by the calls that are given its descriptor. A filter cannot see names: a path that leads out of it is
 * for Landlock to refuse (sandbox_confine), or else for the owner of the files. */
static int allow_writing(scmp_filter_ctx ctx, int folder)
{
    const struct scmp_arg_cmp here = SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, INT, (uint64_t)folder);
    const struct scmp_arg_cmp there = SCMP_CMP64(2, SCMP_CMP_MASKED_EQ, INT, (uint64_t)folder);
    int rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1, here);
    if (rc == 0)
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(renameat), 2, here, there);
    if (rc == 0)
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(unlinkat), 1, here);
    static const int kept[] = {SCMP_SYS(fdatasync), SCMP_SYS(fsync), SCMP_SYS(flock)};
    for (size_t i = 0; rc == 0 && i < array_len(kept); i++)
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, kept[i], 0);
    return rc;
}

/* The filter that fill() makes; what it has no rule for gets `otherwise`. 0, or a negative errno. */
static int install(uint32_t otherwise, int (*fill)(scmp_filter_ctx ctx, const void *arg), const void *arg)
{
    cleanup(sandbox_release) scmp_filter_ctx ctx = seccomp_init(otherwise);
    int rc = ctx != NULL ? set_up(ctx) : -ENOMEM;
    if (rc == 0)
        rc = fill(ctx, arg);
    if (rc == 0)
        rc = seccomp_load(ctx);
    return rc;
}

struct daemon_needs {
    int folder;
    bool copies;
};

static int fill_for_daemon(scmp_filter_ctx ctx, const void *arg)
{
    const struct daemon_needs *needs = arg;
    int rc = add_rules(ctx, needs->copies);
    return rc == 0 && needs->folder >= 0 ? allow_writing(ctx, needs->folder) : rc;
}

int sandbox_enter(int folder, bool copies, struct error *err)
{
    const struct daemon_needs needs = {folder, copies};
    int rc = install(SCMP_ACT_ERRNO(EPERM), fill_for_daemon, &needs);
    if (rc == 0)
        return 0;
    errno = -rc;
    return error_set(err, ERROR_FATAL,
                     "cannot install the system call filter: %m; it needs a kernel with CONFIG_SECCOMP_FILTER and a "
                     "container whose own profile allows seccomp(2); or turn it off: SECCOMP=false");
}

/* ---- the filter of who only computes ---- */

static const int computing[] = {
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(futex),
    SCMP_SYS(sched_yield),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(close),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(getrandom),
    SCMP_SYS(gettid),
    SCMP_SYS(getpid),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(sysinfo), /* glibc's qsort asks how much memory there is */
};

static int allow_computing(scmp_filter_ctx ctx, const void *arg)
{
    (void)arg;
    const struct scmp_arg_cmp no_code = SCMP_CMP64(2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    const struct scmp_arg_cmp anonymous = SCMP_CMP64(3, SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS);
    int rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, no_code, anonymous);
    if (rc == 0)
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, no_code);
    for (size_t i = 0; rc == 0 && i < array_len(computing); i++)
        if (computing[i] >= 0)
            rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, computing[i], 0);
    return rc;
}

int sandbox_enter_strict(struct error *err)
{
    int rc = install(SCMP_ACT_KILL_PROCESS, allow_computing, NULL);
    if (rc == 0)
        return 0;
    errno = -rc;
    return error_set(err, ERROR_FATAL, "cannot install the render's system call filter: %m");
}

/* ---- the filter of who runs programs ---- */

static bool runs_programs(int call)
{
    return call == SCMP_SYS(execve) || call == SCMP_SYS(execveat) || call == SCMP_SYS(fork) || call == SCMP_SYS(vfork);
}

/* HAProxy drops its rights in its own way only where it is not checking; a reload command may do so: chroot stays. */
static int refuse_rest(scmp_filter_ctx ctx, const void *arg)
{
    int rc = 0;
    (void)arg;
    for (size_t i = 0; rc == 0 && i < array_len(deadly); i++)
        if (deadly[i] >= 0 && !runs_programs(deadly[i]) && deadly[i] != SCMP_SYS(chroot))
            rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), deadly[i], 0);
    return rc;
}

int sandbox_enter_wide(struct error *err)
{
    int rc = install(SCMP_ACT_ALLOW, refuse_rest, NULL);
    if (rc == 0)
        return 0;
    errno = -rc;
    return error_set(err, ERROR_FATAL, "cannot install the helper's system call filter: %m");
}
