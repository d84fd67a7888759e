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
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"

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

static void limit(__rlimit_resource_t what, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(what, &now) != 0 || (now.rlim_max != RLIM_INFINITY && now.rlim_max < most))
        return; /* it is less already */
    const struct rlimit limits = {most, most};
    (void)setrlimit(what, &limits);
}

void limits_set(uint64_t cpu_s, size_t more_bytes)
{
#ifdef __SANITIZE_ADDRESS__
    more_bytes = 0; /* its shadow and its quarantine would count, too */
#endif
    size_t have = 0;
    cleanup(buf_fini) struct buf text = {0};
    if (more_bytes > 0 && buf_read_file(&text, "/proc/self/statm") == 0) {
        /* Bytes of memory that are ours to write to: the sixth number. */
        const char *at = buf_str(&text);
        for (int i = 0; i < 5; i++)
            at += strcspn(at, " ") + (at[strcspn(at, " ")] == ' ');
        have = (size_t)strtoull(at, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, cpu_s);
    if (have > 0)
        limit(RLIMIT_DATA, have + more_bytes);
    limit(RLIMIT_NOFILE, STDERR_FILENO + 1);
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

/* One argument: (value & mask) == expected. All arguments of a rule have to hold; rules of one call are alternatives. */
struct argument {
    unsigned at;
    uint64_t mask, expected;
};

struct rule {
    int call;
    unsigned count;
    struct argument arguments[3];
};

#define ALL UINT64_MAX
#define INT 0xffffffffu /* the kernel reads an int; what is above it is anything */
/* clang-format off */
#define C(name) SCMP_SYS(name)
#define ARG(name, at, mask, expected) {SCMP_SYS(name), 1, {{at, mask, expected}}}
/* clang-format on */

#define NEW_NAMESPACES \
    (CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

/* A table is read by its columns. */
/* clang-format off */
/* On arm64 some of them do not exist; libseccomp then has a negative number, which is skipped. */
static const int allowed[] = {
    /* memory */
    C(brk), C(munmap), C(mremap), C(madvise),
    /* threads */
    C(set_robust_list), C(rseq), C(futex), C(sched_yield), C(sched_getaffinity), C(gettid), C(exit), C(exit_group),
    C(restart_syscall),
    /* signals */
    C(rt_sigaction), C(rt_sigprocmask), C(rt_sigreturn), C(sigaltstack),
    /* time */
    C(clock_gettime), C(clock_getres), C(clock_nanosleep), C(nanosleep), C(gettimeofday), C(time),
    /* about ourselves */
    C(getpid), C(getuid), C(geteuid), C(getgid), C(getegid), C(getrusage), C(getrandom), C(sysinfo), C(uname),
    C(getrlimit),
    /* files */
    C(close), C(read), C(pread64), C(readv), C(write), C(writev), C(lseek), C(stat), C(lstat), C(fstat),
    C(newfstatat), C(statx), C(statfs), C(fstatfs), C(access), C(faccessat), C(readlink), C(readlinkat),
    C(getdents64), C(getcwd), C(fadvise64), C(inotify_add_watch), C(inotify_rm_watch),
    /* waiting */
    C(poll), C(ppoll), C(select), C(pselect6), C(epoll_create1), C(epoll_ctl), C(epoll_wait), C(epoll_pwait),
    C(eventfd2), C(pipe2),
    /* sockets */
    C(connect), C(bind) /* netlink's; the daemon cannot listen any more */, C(accept4), C(accept), C(getsockname),
    C(getpeername), C(getsockopt), C(setsockopt), C(sendto), C(sendmsg), C(sendmmsg), C(recvfrom), C(recvmsg), C(shutdown),
};

/* With some arguments alone. */
static const struct rule allowed_with[] = {
    /* memory */
    ARG(mprotect, 2, PROT_EXEC, 0),
    ARG(mmap, 2, PROT_EXEC, 0),
    {SCMP_SYS(mmap), 2, {{2, PROT_EXEC | PROT_WRITE, PROT_EXEC}, {3, MAP_ANONYMOUS, 0}}},
    /* threads */
    ARG(clone, 0, CLONE_VM | CLONE_THREAD | NEW_NAMESPACES, CLONE_VM | CLONE_THREAD),
    /* about ourselves */
    ARG(prlimit64, 2, ALL, 0), /* reading them */
    ARG(prctl, 0, INT, PR_SET_NAME),
    ARG(prctl, 0, INT, PR_SET_VMA), /* glibc names its memory by it */
    /* files */
    ARG(open, 1, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY),
    ARG(openat, 2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY),
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
    ARG(socketpair, 0, INT, AF_UNIX),
    /* sockets */
    {SCMP_SYS(socket), 2, {{0, INT, AF_UNIX}, {1, 0xf, SOCK_STREAM}}},
    {SCMP_SYS(socket), 2, {{0, INT, AF_INET}, {1, 0xf, SOCK_STREAM}}},
    {SCMP_SYS(socket), 2, {{0, INT, AF_INET}, {1, 0xf, SOCK_DGRAM}}},
    {SCMP_SYS(socket), 2, {{0, INT, AF_INET6}, {1, 0xf, SOCK_STREAM}}},
    {SCMP_SYS(socket), 2, {{0, INT, AF_INET6}, {1, 0xf, SOCK_DGRAM}}},
    {SCMP_SYS(socket), 3, {{0, INT, AF_NETLINK}, {1, 0xf, SOCK_RAW}, {2, INT, NETLINK_ROUTE}}},
};

/* Of who forks: fork(2) itself, what host/child does around it, and what the copy needs until it has a filter of its own,
 * which can only take rights away. */
static const int allowed_to_fork[] = {
    C(setpgid), C(dup2), C(dup3), C(close_range), C(wait4), C(waitid), C(pidfd_open), C(seccomp), C(setrlimit),
};

static const struct rule allowed_with_to_fork[] = {
    ARG(clone, 0, CLONE_VM | CLONE_VFORK | CLONE_THREAD | CLONE_PARENT | CLONE_PTRACE | NEW_NAMESPACES | CSIGNAL,
        SIGCHLD),
    ARG(kill, 1, INT, SIGKILL),
    ARG(prctl, 0, INT, PR_SET_NO_NEW_PRIVS),
    ARG(prctl, 0, INT, PR_SET_PDEATHSIG),
    {SCMP_SYS(prlimit64), 1, {{0, INT, 0}}}, /* its own limits (limits_set) */
    ARG(prctl, 0, INT, PR_GET_SECCOMP),
    ARG(prctl, 0, INT, PR_SET_SECCOMP),
};

/* Only what no library calls in any case: NSS modules of others, for one, try pidfd_open, memfd_create and kcmp. */
static const int deadly[] = {
    /* other programs, other processes */
    C(execve), C(execveat), C(fork), C(vfork), C(ptrace), C(process_vm_readv), C(process_vm_writev), C(pidfd_getfd),
    /* another view of the machine */
    C(unshare), C(setns), C(chroot), C(pivot_root), C(mount), C(umount2), C(mount_setattr), C(move_mount),
    C(open_tree), C(fsopen), C(fsconfig), C(fsmount), C(fspick), C(open_by_handle_at),
    /* the kernel itself, and its wide doors */
    C(bpf), C(io_uring_setup), C(io_uring_enter), C(io_uring_register), C(perf_event_open), C(userfaultfd),
    C(init_module), C(finit_module), C(delete_module), C(kexec_load), C(kexec_file_load), C(reboot), C(swapon),
    C(swapoff), C(iopl), C(ioperm), C(modify_ldt), C(add_key), C(request_key), C(keyctl),
};

/* Of who only computes. */
static const int computing[] = {
    C(brk), C(munmap), C(mremap), C(madvise), C(futex), C(sched_yield), C(exit), C(exit_group), C(read), C(write),
    C(close), C(rt_sigaction), C(rt_sigprocmask), C(rt_sigreturn), C(sigaltstack), C(clock_gettime), C(getrandom),
    C(gettid), C(getpid), C(sched_getaffinity), C(restart_syscall), C(sysinfo) /* glibc's qsort asks how much memory there is */,
};
/* clang-format on */

/* From 424 on, Linux 5.1, a call has the same number everywhere; 511 is past any known one, and before those of x32. */
#define FIRST_YOUNG_CALL 424
#define LAST_YOUNG_CALL 511

/* ---- the filter ---- */

static bool is_listed(const int *calls, size_t count, int call)
{
    while (count > 0 && calls[count - 1] != call)
        count--;
    return count > 0;
}

/* That answer to each of them. These three: 0, or a negative errno. */
static int add_calls(scmp_filter_ctx ctx, uint32_t answer, const int *calls, size_t count)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++)
        if (calls[i] >= 0)
            rc = seccomp_rule_add(ctx, answer, calls[i], 0);
    return rc;
}

static int add_allowed(scmp_filter_ctx ctx, const struct rule *rules, size_t count)
{
    int rc = 0;
    for (const struct rule *r = rules; rc == 0 && r < rules + count; r++) {
        struct scmp_arg_cmp arguments[array_len(r->arguments)];
        for (unsigned i = 0; i < r->count; i++) {
            const struct argument *a = &r->arguments[i];
            arguments[i] = SCMP_CMP64(a->at, SCMP_CMP_MASKED_EQ, a->mask, a->expected);
        }
        if (r->call >= 0)
            rc = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, r->call, r->count, arguments);
    }
    return rc;
}

static int add_rules(scmp_filter_ctx ctx, bool copies)
{
    /* What abort() does; the number is that of our own process. */
    const struct rule ourselves = ARG(tgkill, 0, INT, (uint64_t)getpid());
    size_t to_fork = copies ? array_len(allowed_to_fork) : 0,
           with_to_fork = copies ? array_len(allowed_with_to_fork) : 0;
    int rc = add_allowed(ctx, &ourselves, 1);
    rc = rc != 0 ? rc : add_calls(ctx, SCMP_ACT_ALLOW, allowed, array_len(allowed));
    rc = rc != 0 ? rc : add_allowed(ctx, allowed_with, array_len(allowed_with));
    rc = rc != 0 ? rc : add_calls(ctx, SCMP_ACT_ALLOW, allowed_to_fork, to_fork);
    rc = rc != 0 ? rc : add_allowed(ctx, allowed_with_to_fork, with_to_fork);
    rc = rc != 0 ? rc : add_calls(ctx, SCMP_ACT_KILL_PROCESS, deadly, array_len(deadly));
    for (int call = FIRST_YOUNG_CALL; rc == 0 && call <= LAST_YOUNG_CALL; call++)
        if (!is_listed(deadly, array_len(deadly), call) && !is_listed(allowed_to_fork, to_fork, call))
            rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), call, 0);
    return rc;
}

static void sandbox_release(scmp_filter_ctx *ctx)
{
    if (*ctx != NULL)
        seccomp_release(*ctx);
}

/* The filter that fill() makes; what it has no rule for gets `otherwise`. what: for the message; hint: behind it. */
static int install(uint32_t otherwise, int (*fill)(scmp_filter_ctx ctx, const void *arg), const void *arg,
                   const char *what, const char *hint, struct error *err)
{
    cleanup(sandbox_release) scmp_filter_ctx ctx = seccomp_init(otherwise);
    int rc = ctx != NULL ? 0 : -ENOMEM;
    /* Calls of another architecture (32 bit, x32) have other numbers: the rules do not hold for them. */
    rc = rc != 0 ? rc : seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    rc = rc != 0 ? rc : seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
    rc = rc != 0 ? rc : seccomp_attr_set(ctx, SCMP_FLTATR_API_SYSRAWRC, 1); /* the kernel's own errno */
    /* A tree: a call costs eight comparisons, not two hundred. */
    rc = rc != 0 ? rc : seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    rc = rc != 0 ? rc : fill(ctx, arg);
    rc = rc != 0 ? rc : seccomp_load(ctx);
    errno = -rc;
    return rc == 0 ? 0 : error_set(err, ERROR_FATAL, "cannot install the %ssystem call filter: %m%s", what, hint);
}

struct daemon_needs {
    int folder;
    bool copies;
};

static int fill_for_daemon(scmp_filter_ctx ctx, const void *arg)
{
    const struct daemon_needs *needs = arg;
    int rc = add_rules(ctx, needs->copies);
    if (rc != 0 || needs->folder < 0)
        return rc;
    /* In that folder, by the calls that are given its descriptor. A filter cannot see names: a path that leads out of it is
     * for Landlock to refuse (sandbox_confine), or else for the owner of the files. */
    const struct scmp_arg_cmp here = SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, INT, (uint64_t)needs->folder);
    const struct scmp_arg_cmp there = SCMP_CMP64(2, SCMP_CMP_MASKED_EQ, INT, (uint64_t)needs->folder);
    rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1, here);
    if (rc == 0)
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(renameat), 2, here, there);
    if (rc == 0)
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(unlinkat), 1, here);
    static const int kept[] = {SCMP_SYS(fdatasync), SCMP_SYS(fsync), SCMP_SYS(flock)};
    return rc != 0 ? rc : add_calls(ctx, SCMP_ACT_ALLOW, kept, array_len(kept));
}

int sandbox_enter(int folder, bool copies, struct error *err)
{
    const struct daemon_needs needs = {folder, copies};
    return install(SCMP_ACT_ERRNO(EPERM), fill_for_daemon, &needs, "",
                   "; it needs a kernel with CONFIG_SECCOMP_FILTER and a container whose own profile allows "
                   "seccomp(2); or turn it off: SECCOMP=false",
                   err);
}

/* ---- the filter of who only computes ---- */

static int allow_computing(scmp_filter_ctx ctx, const void *arg)
{
    (void)arg;
    const struct scmp_arg_cmp no_code = SCMP_CMP64(2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    const struct scmp_arg_cmp anonymous = SCMP_CMP64(3, SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS);
    int rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, no_code, anonymous);
    if (rc == 0)
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, no_code);
    return rc != 0 ? rc : add_calls(ctx, SCMP_ACT_ALLOW, computing, array_len(computing));
}

int sandbox_enter_strict(struct error *err)
{
    return install(SCMP_ACT_KILL_PROCESS, allow_computing, NULL, "render's ", "", err);
}

/* ---- the filter of who runs programs ---- */

static int refuse_rest(scmp_filter_ctx ctx, const void *arg)
{
    /* HAProxy drops its rights in its own way only where it is not checking; a reload command may do so: chroot stays. */
    static const int needed[] = {SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork),
                                 SCMP_SYS(chroot)};
    int rc = 0;
    (void)arg;
    for (size_t i = 0; rc == 0 && i < array_len(deadly); i++)
        if (deadly[i] >= 0 && !is_listed(needed, array_len(needed), deadly[i]))
            rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), deadly[i], 0);
    return rc;
}

int sandbox_enter_wide(struct error *err)
{
    return install(SCMP_ACT_ALLOW, refuse_rest, NULL, "helper's ", "", err);
}
