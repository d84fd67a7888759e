/* Everything is tried in a child of its own that has taken its rights away: what a filter forbids is for ever. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/sandbox.h"

#include "../test.h"

/* What became of a call; an errno is itself. */
enum {
    WORKS = 0,
    ERRNO_FROM = 90 /* in an exit status; what ends us otherwise has small ones */,
    KILLED = 240,
    NOT_ENTERED,
    ODD
};

/* Each as a system call: -1 with errno, anything else is success. */
static struct row {
    const char *name;
    long (*attempt)(void);
    int outcome;
} rows[120];

static size_t row_count;

#define ATTEMPT(name, outcome, expression)                            \
    static long try_##name(void)                                      \
    {                                                                 \
        return (long)(expression);                                    \
    }                                                                 \
    __attribute__((constructor)) static void add_##name(void)         \
    {                                                                 \
        rows[row_count++] = (struct row){#name, try_##name, outcome}; \
    }

/* ---- attempts: files ---- */

ATTEMPT(open_read, WORKS, open("file", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY))
ATTEMPT(open_folder, WORKS, open("/", O_RDONLY | O_DIRECTORY))
ATTEMPT(open_write, EPERM, open("file", O_WRONLY))
ATTEMPT(open_both, EPERM, open("file", O_RDWR))
ATTEMPT(open_create, EPERM, open("file", O_RDONLY | O_CREAT, 0600))
ATTEMPT(open_truncate, EPERM, open("file", O_RDONLY | O_TRUNC))
ATTEMPT(open_unnamed, EPERM, open(".", O_TMPFILE | O_RDWR, 0600))
ATTEMPT(open_null, EPERM, open("/dev/null", O_WRONLY))
ATTEMPT(openat2, ENOSYS, syscall(SYS_openat2, AT_FDCWD, "file", NULL, 0))
ATTEMPT(creat, EPERM, syscall(SYS_openat, AT_FDCWD, "file", O_CREAT | O_WRONLY | O_TRUNC, 0600))
ATTEMPT(mkdir, EPERM, mkdirat(AT_FDCWD, "nowhere/folder", 0700))
ATTEMPT(unlink, EPERM, unlinkat(AT_FDCWD, "nowhere", 0))
ATTEMPT(rename, EPERM, renameat(AT_FDCWD, "nowhere", AT_FDCWD, "there"))
ATTEMPT(link, EPERM, linkat(AT_FDCWD, "nowhere", AT_FDCWD, "there", 0))
ATTEMPT(symlink, EPERM, symlinkat("x", AT_FDCWD, "nowhere/link"))
ATTEMPT(chmod, EPERM, fchmodat(AT_FDCWD, "nowhere", 0777, 0))
ATTEMPT(chown, EPERM, fchownat(AT_FDCWD, "nowhere", 1, 1, 0))
ATTEMPT(truncate, EPERM, truncate("file", 0))
ATTEMPT(mknod, EPERM, mknodat(AT_FDCWD, "nowhere/pipe", S_IFIFO | 0600, 0))
ATTEMPT(chdir, EPERM, chdir("/"))
ATTEMPT(stat, WORKS, access("/etc/passwd", R_OK))
ATTEMPT(set_owner, EPERM, fcntl(0, F_SETOWN, getpid()))
ATTEMPT(tiocsti, EPERM, ioctl(-1, TIOCSTI, "x"))
ATTEMPT(dup2, EPERM, dup3(1, 99, O_CLOEXEC))

/* ---- memory ---- */

static long map(int protection, int flags, int fd)
{
    void *p = mmap(NULL, 4096, protection, flags, fd, 0);
    return p == MAP_FAILED ? -1 : 0;
}

static long map_file(int protection)
{
    return map(protection, MAP_PRIVATE, open("/proc/self/exe", O_RDONLY));
}

static long make_executable(int protection)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? -1 : mprotect(p, 4096, protection);
}

ATTEMPT(map_plain, WORKS, map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1))
ATTEMPT(map_code, WORKS, map_file(PROT_READ | PROT_EXEC))
ATTEMPT(map_code_writable, EPERM, map_file(PROT_READ | PROT_WRITE | PROT_EXEC))
ATTEMPT(map_nowhere_executable, EPERM, map(PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1))
ATTEMPT(map_all, EPERM, map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1))
ATTEMPT(protect_less, WORKS, make_executable(PROT_READ))
ATTEMPT(protect_executable, EPERM, make_executable(PROT_READ | PROT_EXEC))
ATTEMPT(memfd, EPERM, syscall(SYS_memfd_create, "x", 0))
ATTEMPT(userfaultfd, KILLED, syscall(SYS_userfaultfd, 0))
ATTEMPT(pkey, EPERM, syscall(SYS_pkey_mprotect, 0, 0, PROT_EXEC, 0))
ATTEMPT(shm, EPERM, syscall(SYS_shmget, 0, 4096, 01600))

/* ---- processes ---- */

static void *run(void *arg)
{
    *(int *)arg = 1;
    return arg;
}

static long do_thread(void)
{
    pthread_t thread;
    int ran = 0;
    int rc = pthread_create(&thread, NULL, run, &ran);
    if (rc == 0)
        rc = pthread_join(thread, NULL);
    errno = rc;
    return rc == 0 && ran == 1 ? 0 : -1;
}

ATTEMPT(thread, WORKS, do_thread())

static long raw_clone(unsigned long flags)
{
    long pid = syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
    if (pid == 0)
        _exit(0);
    return pid;
}

static char *const no_strings[] = {NULL};

ATTEMPT(clone_child, EPERM, raw_clone(SIGCHLD))
ATTEMPT(clone_vfork, EPERM, raw_clone(CLONE_VM | CLONE_VFORK | CLONE_FS | CLONE_NEWUSER | SIGCHLD))
ATTEMPT(clone_namespace, EPERM, raw_clone(CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_NEWUSER))
ATTEMPT(clone3, ENOSYS, syscall(SYS_clone3, NULL, 0))
ATTEMPT(execve, KILLED, syscall(SYS_execve, "/bin/true", no_strings, no_strings))
ATTEMPT(execveat, KILLED, syscall(SYS_execveat, AT_FDCWD, "/bin/true", no_strings, no_strings, 0))
ATTEMPT(ptrace, KILLED, syscall(SYS_ptrace, 0, 0, 0, 0))
ATTEMPT(vm_read, KILLED, syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0))
ATTEMPT(vm_write, KILLED, syscall(SYS_process_vm_writev, getppid(), NULL, 0, NULL, 0, 0))
ATTEMPT(pidfd_getfd, KILLED, syscall(SYS_pidfd_getfd, 0, 0, 0))
ATTEMPT(pidfd_open, ENOSYS, syscall(SYS_pidfd_open, getppid(), 0))
ATTEMPT(kill_nothing, EPERM, kill(getppid(), 0))
ATTEMPT(tgkill_parent, EPERM, syscall(SYS_tgkill, getppid(), getppid(), 0))
ATTEMPT(tgkill_self, WORKS, syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), 0))
ATTEMPT(priority, EPERM, setpriority(PRIO_PROCESS, 0, 5))
ATTEMPT(session, EPERM, setsid())
ATTEMPT(raise_limit, EPERM, setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, 64}))
ATTEMPT(read_limit, WORKS, getrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0}))

/* ---- rights and the machine ---- */

ATTEMPT(dumpable, EPERM, prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
ATTEMPT(thread_name, WORKS, prctl(PR_SET_NAME, "x", 0, 0, 0))
ATTEMPT(no_seccomp, EPERM, prctl(PR_SET_SECCOMP, 1, 0, 0, 0))
ATTEMPT(setuid, EPERM, syscall(SYS_setresuid, -1, -1, -1))
ATTEMPT(capset, EPERM, syscall(SYS_capset, NULL, NULL))
ATTEMPT(unshare, KILLED, syscall(SYS_unshare, CLONE_NEWUSER))
ATTEMPT(setns, KILLED, syscall(SYS_setns, 0, 0))
ATTEMPT(chroot, KILLED, syscall(SYS_chroot, "/"))
ATTEMPT(pivot_root, KILLED, syscall(SYS_pivot_root, "/", "/"))
ATTEMPT(mount, KILLED, syscall(SYS_mount, "none", "/", NULL, 0, NULL))
ATTEMPT(umount, KILLED, syscall(SYS_umount2, "/nowhere", 0))
ATTEMPT(fsopen, KILLED, syscall(SYS_fsopen, "tmpfs", 0))
ATTEMPT(open_tree, KILLED, syscall(SYS_open_tree, AT_FDCWD, "/", 0))
ATTEMPT(handle, KILLED, syscall(SYS_open_by_handle_at, 0, NULL, 0))
ATTEMPT(bpf, KILLED, syscall(SYS_bpf, 0, NULL, 0))
ATTEMPT(io_uring, KILLED, syscall(SYS_io_uring_setup, 1, NULL))
ATTEMPT(io_uring_enter, KILLED, syscall(SYS_io_uring_enter, 0, 0, 0, 0, NULL, 0))
ATTEMPT(perf, KILLED, syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0))
ATTEMPT(module, KILLED, syscall(SYS_init_module, NULL, 0, ""))
ATTEMPT(module_file, KILLED, syscall(SYS_finit_module, 0, "", 0))
ATTEMPT(kexec, KILLED, syscall(SYS_kexec_load, 0, 0, NULL, -1L))
ATTEMPT(reboot, KILLED, syscall(SYS_reboot, 0, 0, 0, NULL))
ATTEMPT(keyctl, KILLED, syscall(SYS_keyctl, 0, 0, 0, 0, 0))
ATTEMPT(add_key, KILLED, syscall(SYS_add_key, "user", "x", "y", 1, 0))
ATTEMPT(request_key, KILLED, syscall(SYS_request_key, "user", "x", NULL, 0))
ATTEMPT(hostname, EPERM, syscall(SYS_sethostname, "x", -1))
ATTEMPT(clock, EPERM, syscall(SYS_clock_settime, 99, NULL))
ATTEMPT(young, ENOSYS, syscall(500))

/* ---- sockets ---- */

static long connect_to(int family, const void *address, socklen_t len)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    /* Whether a program listens is not the question. */
    return connect(fd, address, len) == 0 || errno == ECONNREFUSED || errno == EADDRNOTAVAIL || errno == ENOENT ? 0
                                                                                                                : -1;
}

static long do_connect_ipv4(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(1), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return connect_to(AF_INET, &to, sizeof(to));
}

ATTEMPT(connect_ipv4, WORKS, do_connect_ipv4())

static long do_connect_unix(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = "/nowhere/socket"};
    return connect_to(AF_UNIX, &to, sizeof(to));
}

ATTEMPT(connect_unix, WORKS, do_connect_unix())

static long do_resolve(void)
{
    struct addrinfo *found = NULL;
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    int rc = getaddrinfo("localhost", "80", &wanted, &found);
    if (rc == 0)
        freeaddrinfo(found);
    errno = rc == EAI_SYSTEM ? errno : EPROTO;
    return rc == 0 ? 0 : -1;
}

ATTEMPT(resolve, WORKS, do_resolve())

static long do_listen(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    return fd < 0 ? -1 : listen(fd, 1);
}

ATTEMPT(listen, EPERM, do_listen())

/* As host/systemd does: its socket is older than the filter, the program that listens at the address may be younger. */
static struct sockaddr_un supervisor = {.sun_family = AF_UNIX};
static int listener = -1, teller = -1;

/* valgrind runs under the filter itself, and writes the code that it executes. */
static bool under_valgrind(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    return preloaded != NULL && strstr(preloaded, "vgpreload") != NULL;
}

static char folder[] = "/tmp/test-sandbox-XXXXXX";

static void remove_folder(void)
{
    if (unlink("file") != 0 || rmdir(folder) != 0)
        perror(folder);
}

/* Once for all: a folder to try in, and the sockets. */
static void setup(void)
{
    if (listener >= 0)
        return;
    ck_assert(mkdtemp(folder) != NULL && chdir(folder) == 0);
    int fd = open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ck_assert(fd >= 0 && close(fd) == 0 && atexit(remove_folder) == 0);
    snprintf(supervisor.sun_path + 1, sizeof(supervisor.sun_path) - 1, "test_sandbox-%d", getpid());
    listener = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    teller = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (const struct sockaddr *)&supervisor, sizeof(supervisor)), 0);
    if (under_valgrind())
        puts("SKIPPED: the filter of system calls, valgrind would be under it, too");
    else if (geteuid() != 0)
        puts("SKIPPED: what happens without the filter, which only root can try");
}

ATTEMPT(tell_supervisor, WORKS,
        sendto(teller, "READY=1", 7, MSG_DONTWAIT, (const struct sockaddr *)&supervisor, sizeof(supervisor)))
ATTEMPT(socket_unix_datagram, EPERM, socket(AF_UNIX, SOCK_DGRAM, 0))
ATTEMPT(socket_ipv6, WORKS, socket(AF_INET6, SOCK_STREAM, 0) >= 0 || errno == EAFNOSUPPORT ? 0 : -1)
ATTEMPT(socket_datagram, WORKS, socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))
ATTEMPT(socket_routes, WORKS, socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0))
ATTEMPT(socket_netfilter, EPERM, socket(AF_NETLINK, SOCK_RAW, 12))
ATTEMPT(socket_audit, EPERM, socket(AF_NETLINK, SOCK_RAW, 9))
ATTEMPT(socket_raw, EPERM, socket(AF_INET, SOCK_RAW, 1))
ATTEMPT(socket_packet, EPERM, socket(AF_PACKET, SOCK_RAW, 0))
ATTEMPT(socket_alg, EPERM, socket(AF_ALG, SOCK_SEQPACKET, 0))
ATTEMPT(socket_vsock, EPERM, socket(AF_VSOCK, SOCK_STREAM, 0))
ATTEMPT(socket_bluetooth, EPERM, socket(AF_BLUETOOTH, SOCK_RAW, 0))

static int outcome_of(pid_t child)
{
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGSYS ? KILLED : ODD;
    status = WEXITSTATUS(status);
    if (status == 0 || status == NOT_ENTERED)
        return status;
    return status > ERRNO_FROM && status < KILLED ? status - ERRNO_FROM : ODD;
}

static int enter(struct error *err)
{
    return sandbox_harden(err) != 0 ? -1 : sandbox_enter(-1, false, err);
}

static int enter_wide(struct error *err)
{
    return sandbox_harden(err) != 0 ? -1 : sandbox_enter_wide(err);
}

/* In a child: its rights taken away (NULL: not), then the attempt. */
static int outcome_in_child(long (*attempt)(void), int (*enters)(struct error *err))
{
    struct error err = {0};
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        if (enters != NULL && enters(&err) != 0) {
            fprintf(stderr, "%s\n", err.message);
            _exit(NOT_ENTERED);
        }
        errno = 0;
        _exit(attempt() != -1 ? 0 : ERRNO_FROM + errno);
    }
    return outcome_of(child);
}

FIXTURE(setup, NULL)

TEST_EACH(tries, row_count)
{
    const struct row *r = &rows[_i];
    if (under_valgrind())
        return;
    int outcome = outcome_in_child(r->attempt, enter);
    ck_assert_msg(outcome == r->outcome, "%s: %d (%s), expected %d", r->name, outcome, strerror(outcome), r->outcome);
}

/* Otherwise the rows above would say nothing about the filter. */
TEST_EACH(is_otherwise_without_the_filter, row_count)
{
    const struct row *r = &rows[_i];
    if (r->outcome == WORKS || r->attempt == try_young || geteuid() != 0)
        return;
    int outcome = outcome_in_child(r->attempt, NULL);
    ck_assert_msg(outcome != r->outcome, "%s: %d (%s) also without the filter", r->name, outcome, strerror(outcome));
}

/* ---- the filter of who runs programs ---- */

/* A reload command may drop its rights in its own way. */
static bool wide_allows(const struct row *r)
{
    return r->outcome != KILLED || r->attempt == try_execve || r->attempt == try_execveat || r->attempt == try_chroot;
}

TEST_EACH(tries_wide, row_count)
{
    const struct row *r = &rows[_i];
    if (under_valgrind() || wide_allows(r))
        return;
    int outcome = outcome_in_child(r->attempt, enter_wide);
    ck_assert_msg(outcome == EPERM, "%s: %d (%s), expected EPERM", r->name, outcome, strerror(outcome));
}

static long try_program(void)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        execl("/bin/sh", "sh", "-c", "exec true", (char *)NULL);
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

TEST(programs_run_and_files_are_written_under_the_wide_one)
{
    if (under_valgrind())
        return;
    ck_assert_int_eq(outcome_in_child(try_program, enter_wide), WORKS);
    ck_assert_int_eq(outcome_in_child(try_open_write, enter_wide), WORKS);
    ck_assert_int_eq(outcome_in_child(try_chroot, enter_wide), outcome_in_child(try_chroot, NULL));
}

/* ---- what is not the filter ---- */

static long is_hardened(void)
{
    struct rlimit core;
    errno = EPROTO;
    return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1 && sandbox_harden(&flaw) == 0 &&
                   prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 &&
                   getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 && core.rlim_max == 0 &&
                   prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0
               ? 0
               : -1;
}

TEST(hardened)
{
    ck_assert_int_eq(outcome_in_child(is_hardened, NULL), WORKS);
}

/* abort() ends us by SIGABRT, not by a call that is refused. */
TEST(aborts)
{
    int status;
    if (under_valgrind())
        return;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL); /* not the sanitizer's */
        if (sandbox_harden(&flaw) != 0 || sandbox_enter(-1, false, &flaw) != 0)
            _exit(NOT_ENTERED);
        abort();
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGABRT);
}

static void *write_in_thread(void *arg)
{
    char byte;
    int *ends = arg;
    ssize_t n = read(ends[0], &byte, 1); /* until the filter is there */
    errno = 0;
    int fd = open("file", O_WRONLY);
    return (void *)(intptr_t)(n == 1 && fd < 0 ? errno : 0);
}

/* libcurl's threads may be at work already. */
TEST(holds_for_threads_that_run)
{
    if (under_valgrind())
        return;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        int ends[2];
        void *result = NULL;
        pthread_t thread;
        if (pipe(ends) != 0 || pthread_create(&thread, NULL, write_in_thread, ends) != 0)
            _exit(ODD);
        if (sandbox_harden(&flaw) != 0 || sandbox_enter(-1, false, &flaw) != 0)
            _exit(NOT_ENTERED);
        if (write(ends[1], "x", 1) != 1)
            _exit(ODD);
        pthread_join(thread, &result);
        _exit(ERRNO_FROM + (int)(intptr_t)result);
    }
    ck_assert_int_eq(outcome_of(child), EPERM);
}

/* ---- Landlock ---- */

static int inside = -1; /* a folder beside the file */

static int confine(struct error *err)
{
    return sandbox_harden(err) != 0 ? -1 : sandbox_confine(inside, err);
}

/* As the daemon: both. */
static int confine_and_enter(struct error *err)
{
    return confine(err) != 0 ? -1 : sandbox_enter(inside, false, err);
}

static int confine_to_nothing(struct error *err)
{
    return sandbox_harden(err) != 0 ? -1 : sandbox_confine(-1, err);
}

static long write_inside(void)
{
    return openat(inside, "new", O_WRONLY | O_CREAT | O_TRUNC, 0600) < 0 || renameat(inside, "new", inside, "kept") != 0
               ? -1
               : unlinkat(inside, "kept", 0);
}

static long write_outside(void)
{
    return openat(inside, "../file", O_WRONLY);
}

static long truncate_outside(void)
{
    return openat(inside, "../file", O_RDONLY | O_TRUNC);
}

static long create_outside(void)
{
    return openat(inside, "../new", O_WRONLY | O_CREAT, 0600);
}

static long remove_outside(void)
{
    return unlinkat(inside, "../file", 0);
}

static long move_in(void)
{
    return renameat(inside, "../file", inside, "file");
}

static long make_folder(void)
{
    return mkdirat(inside, "../folder", 0700);
}

static long make_link(void)
{
    return symlinkat("x", inside, "../link");
}

static const struct {
    const char *name;
    long (*attempt)(void);
    int (*enters)(struct error *err);
    int outcome;
} confined[] = {
    {"inside", write_inside, confine_and_enter, WORKS},
    {"inside, without the filter", write_inside, confine, WORKS},
    {"reads", try_open_read, confine_and_enter, WORKS},
    {"writes", write_outside, confine_and_enter, EACCES},
    {"truncates", truncate_outside, confine, EACCES},
    {"creates", create_outside, confine_and_enter, EACCES},
    {"removes", remove_outside, confine_and_enter, EACCES},
    {"moves", move_in, confine_and_enter, EACCES},
    {"makes a folder", make_folder, confine, EACCES},
    {"makes a link", make_link, confine, EACCES},
    {"writes to a device", try_open_null, confine, EACCES},
    {"has no folder", write_inside, confine_to_nothing, EACCES},
    {"has no folder, and reads", try_open_read, confine_to_nothing, WORKS},
};

TEST_EACH(writes_below_its_folder_alone, array_len(confined))
{
    if (under_valgrind())
        return;
    if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 1) {
        puts("SKIPPED: Landlock, which this kernel does not have");
        return;
    }
    ck_assert(mkdir("inside", 0700) == 0 && (inside = open("inside", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0);
    int outcome = outcome_in_child(confined[_i].attempt, confined[_i].enters);
    ck_assert(close(inside) == 0 && rmdir("inside") == 0);
    ck_assert_msg(outcome == confined[_i].outcome, "%s: %d (%s), expected %d", confined[_i].name, outcome,
                  strerror(outcome), confined[_i].outcome);
}

/* A kernel that does not know the call. */
static int confine_in_vain(struct error *err)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
    if (sandbox_harden(err) != 0 || ctx == NULL ||
        seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SYS_landlock_create_ruleset, 0) != 0 || seccomp_load(ctx) != 0)
        return -1;
    return sandbox_confine(-1, err) == -1 && str_eq(err->message, strerror(ENOSYS)) ? 0 : -1;
}

TEST(without_landlock_all_is_as_before)
{
    if (under_valgrind())
        return;
    ck_assert_int_eq(outcome_in_child(try_open_write, confine_in_vain), WORKS);
}

/* ---- with copies ---- */

static int enter_copying(struct error *err)
{
    return sandbox_harden(err) != 0 ? -1 : sandbox_enter(-1, true, err);
}

/* What host/child does: a copy with a group of its own, which takes the rest of its rights away itself. */
static long copies(void)
{
    int ends[2], status;
    char byte = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t copy = fork();
    if (copy == 0) {
        if (setpgid(0, 0) != 0 || dup2(ends[1], STDOUT_FILENO) < 0 || close_range(STDERR_FILENO + 1, ~0u, 0) != 0 ||
            sandbox_enter_strict(&flaw) != 0)
            _exit(1);
        _exit(write(STDOUT_FILENO, "x", 1) == 1 ? 0 : 2);
    }
    if (copy < 0)
        return -1;
    int pidfd = (int)syscall(SYS_pidfd_open, copy, 0);
    siginfo_t info;
    if (pidfd < 0 || waitid(P_PID, (id_t)copy, &info, WEXITED | WNOWAIT) != 0 || waitpid(copy, &status, 0) != copy)
        return -1;
    errno = ECHILD;
    return status == 0 && read(ends[0], &byte, 1) == 1 && byte == 'x' ? 0 : -1;
}

static long kills(void)
{
    pid_t copy = fork();
    int status;
    if (copy == 0)
        for (;;)
            pause();
    if (copy < 0 || kill(copy, SIGKILL) != 0 || waitpid(copy, &status, 0) != copy)
        return -1;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : -1;
}

static long terminates(void)
{
    signal(SIGTERM, SIG_DFL); /* check's own handler ends the group of processes, make and all */
    return kill(getpid(), SIGTERM);
}

static long shares_memory(void)
{
    return syscall(SYS_clone, CLONE_VM | SIGCHLD, 0, 0, 0, 0);
}

static long goes_elsewhere(void)
{
    return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
}

static long runs_a_program(void)
{
    char *const none[] = {NULL};
    return execve("/bin/true", none, none);
}

static const struct {
    long (*attempt)(void);
    int with, without; /* copies */
} copying[] = {{copies, 0, EPERM},
               {kills, 0, EPERM},
               {terminates, EPERM, EPERM},
               {shares_memory, EPERM, EPERM},
               {goes_elsewhere, EPERM, EPERM},
               {runs_a_program, KILLED, KILLED}};

TEST_EACH(copies_of_itself_where_it_may, array_len(copying))
{
    if (under_valgrind())
        return;
    ck_assert_int_eq(outcome_in_child(copying[_i].attempt, enter_copying), copying[_i].with);
    ck_assert_int_eq(outcome_in_child(copying[_i].attempt, enter), copying[_i].without);
}

/* With the descriptor of a folder: files come, are renamed and go there, and nowhere else. */
static long write_in_folder(void)
{
    int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), other = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (here < 0 || other < 0 || sandbox_harden(&flaw) != 0 || sandbox_enter(here, false, &flaw) != 0)
        _exit(NOT_ENTERED);
    int fd = openat(here, "new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1 || fdatasync(fd) != 0 || flock(fd, LOCK_EX) != 0 || close(fd) != 0 ||
        fsync(here) != 0 || renameat(here, "new", here, "there") != 0 || unlinkat(here, "there", 0) != 0)
        return -1;
    static const char name[] = "elsewhere";
    bool refused = openat(other, name, O_WRONLY | O_CREAT, 0600) < 0 && errno == EPERM &&
                   open(name, O_WRONLY | O_CREAT, 0600) < 0 && errno == EPERM &&
                   renameat(here, name, other, name) != 0 && errno == EPERM && unlinkat(other, name, 0) != 0 &&
                   errno == EPERM;
    errno = EPROTO;
    return refused ? 0 : -1;
}

TEST(writes_in_one_folder_alone)
{
    if (under_valgrind())
        return;
    ck_assert_int_eq(outcome_in_child(write_in_folder, NULL), 0);
}

/* A container's profile that does not know seccomp(2), played by a filter of our own that is in place already. */
static long enter_where_seccomp_is_refused(void)
{
    scmp_filter_ctx other = seccomp_init(SCMP_ACT_ALLOW);
    if (seccomp_rule_add(other, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(seccomp), 0) != 0 ||
        seccomp_rule_add(other, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP)) !=
            0 ||
        seccomp_load(other) != 0)
        _exit(NOT_ENTERED);
    seccomp_release(other);
    if (sandbox_enter(-1, false, &flaw) == 0)
        return 0;
    bool says_all = flaw.kind == ERROR_FATAL && strstr(flaw.message, "CONFIG_SECCOMP_FILTER") != NULL &&
                    strstr(flaw.message, "SECCOMP=false") != NULL;
    fprintf(stderr, "%s\n", flaw.message);
    errno = says_all ? ENOTSUP : EPROTO;
    return -1;
}

TEST(says_what_to_do_where_there_is_no_filter)
{
    if (under_valgrind())
        return;
    ck_assert_int_eq(outcome_in_child(enter_where_seccomp_is_refused, NULL), ENOTSUP);
}
