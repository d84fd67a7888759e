/* src/haproxy/local/driver: a whole configuration that is sent to the HAProxy that runs, with a socket that does what it
 * says, and with one that does not. */
#include "local_driver.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <poll.h>
#include <sys/mman.h>

#include "haproxy/cfg/difference.h"
#include "haproxy/drift.h"

static char *two; /* a configuration with servers s1 and s2, that HAProxy runs */

/* The configuration in which s1 is so, and what follows it. */
static char *with(const char *s1, const char *more)
{
    return mem_printf("%.*s    balance roundrobin\n    server s1 %s\n%s", (int)(strstr(text, "    server s1") - text),
                      text, s1, more);
}

#define S2 "    server s2 127.0.0.1:2 weight 2\n"

static void set_up_whole(void)
{
    prepare_haproxy();
    two = with("127.0.0.1:1", S2);
    drive(two);
    read_it();
}

static void tear_down_whole(void)
{
    tear_down_driver();
    free(two);
}

FIXTURE(set_up_whole, tear_down_whole)

static bool files_change; /* beside it, with the next one that is sent */

/* Writes it and sends HAProxy how it differs from what is there. */
static enum transaction_result tell(const char *to, bool plain)
{
    struct cfg_difference d;
    struct cfg_content *c = cfg_content_new(mem_strdup(to), strlen(to));
    cfg_difference_init(&d, cfg_content_file(readout.file, &flaw), cfg_content_file(c, &flaw), false);
    ck_assert(d.effect == CFG_EFFECT_RUNTIME || d.effect == CFG_EFFECT_RUNTIME_SERVERS);
    const struct replacement_request r = {
        .text = c, .before = readout.file, .changes = &d.changes, .plain = plain, .files_stay = !files_change};
    driver->ops->replace(driver, readout.version, &r);
    await_told();
    cfg_difference_fini(&d);
    cfg_content_unref(c);
    return last.result;
}

static void assert_loads(const char *why, bool shows_end)
{
    ck_assert_msg(last.reload_why != NULL && strstr(last.reload_why, why) != NULL, "%s", last.reload_why);
    ck_assert(!last.runs && last.reload_id != NULL);
    (void)reload_ends();
    ck_assert(reload.state == RELOAD_DONE || (!shows_end && reload.state == RELOAD_BROKEN));
    read_it();
    ck_assert(!readout.unloaded || !shows_end);
}

/* Who runs is who ran before, and the file is byte for byte what was given. */
TEST(what_was_sent_runs)
{
    int64_t pid = readout.worker_pid;
    cleanup(mem_free_ptr) char *changed =
        with("127.0.0.7:7 weight 9", "    server s2 127.0.0.1:2 weight 3 disabled # so\n");
    ck_assert_int_eq(tell(changed, true), TRANSACTION_COMMITTED);
    ck_assert_msg(last.runs && last.reload_id == NULL, "%s", last.reload_why);
    assert_file_is(changed);
    read_it();
    ck_assert(!readout.unloaded && readout.worker_pid == pid && readout.version == last.version);
    ck_assert(str_eq(row_of("s1")->address, "127.0.0.7") && row_of("s1")->port == 7 && row_of("s1")->weight == 9);
    ck_assert(row_of("s2")->weight == 3 && row_of("s2")->admin == RUNTIME_MAINT);
    free(changed);
    changed = with("127.0.0.7:7 weight 9", "    server n1 127.0.0.9:9 weight 5\n");
    ck_assert_int_eq(tell(changed, false), TRANSACTION_COMMITTED);
    ck_assert_msg(last.runs && last.reload_id == NULL, "%s", last.reload_why);
    read_it();
    ck_assert(row_of("s2") == NULL && row_of("n1")->port == 9 && row_of("n1")->weight == 5);
    ck_assert(row_of("n1")->admin == RUNTIME_READY && readout.worker_pid == pid);
}

/* HAProxy has lost a server behind our back: what it refuses is loaded, all of it. */
TEST(what_haproxy_refuses_is_loaded)
{
    ck_assert_int_eq(command(LOCAL_SOCKET_STATS, "set server web/s2 state maint"), LOCAL_OK);
    ck_assert_int_eq(command(LOCAL_SOCKET_STATS, "del server web/s2"), LOCAL_OK);
    cleanup(mem_free_ptr) char *changed = with("127.0.0.1:1 weight 9", "    server s2 127.0.0.1:2 weight 4\n");
    ck_assert_int_eq(tell(changed, true), TRANSACTION_COMMITTED);
    assert_file_is(changed);
    assert_loads("No such server", true);
    ck_assert(row_of("s1")->weight == 9 && row_of("s2")->weight == 4);
}

/* With a server that comes, and a line that `haproxy -c` refuses: the file stays. */
static void tell_nonsense(void)
{
    char *bad = with("127.0.0.1:1", S2 "    server n1 127.0.0.9:9\n");
    struct cfg_content *c =
        cfg_content_new(mem_printf("%s    nonsense\n", bad), strlen(bad) + strlen("    nonsense\n"));
    struct cfg_difference d;
    struct cfg_content *good = cfg_content_new(bad, strlen(bad));
    cfg_difference_init(&d, cfg_content_file(readout.file, &flaw), cfg_content_file(good, &flaw), false);
    const struct replacement_request r = {.text = c, .before = readout.file, .changes = &d.changes};
    driver->ops->replace(driver, readout.version, &r);
    await_told();
    ck_assert_int_eq(last.result, TRANSACTION_REJECTED);
    ck_assert_msg(strstr(last.why.message, "unknown keyword 'nonsense'") != NULL, "%s", last.why.message);
    assert_file_is(two);
    cfg_difference_fini(&d);
    cfg_content_unref(c);
    cfg_content_unref(good);
}

/* Who came before the rest was refused goes again. */
TEST(who_came_too_early_goes_again)
{
    tell_nonsense();
    ck_assert(!haproxy_has("n1"));
    read_it();
    ck_assert(!readout.unloaded);
}

/* Numbers have no say in another one's file. */
TEST(what_another_writer_wrote_meanwhile_is_not_sent)
{
    cleanup(mem_free_ptr) char *theirs = mem_printf("%s    # theirs\n", two);
    cleanup(mem_free_ptr) char *changed = with("127.0.0.1:1 weight 9", S2);
    put(config, theirs, 0644);
    ck_assert_int_eq(tell(changed, true), TRANSACTION_CONFLICT);
    assert_file_is(theirs);
    read_it();
    ck_assert_int_eq(row_of("s1")->weight, 1);
    ck_assert(!readout.unloaded); /* nobody was taken back */
}

/* Nor has who came before a write that another one's overtook: their file has that server, too. */
TEST(who_is_in_another_ones_file_by_then_stays)
{
    cleanup(mem_free_ptr) char *theirs = with("127.0.0.1:1", S2 "    server n1 127.0.0.9:9 weight 2\n    # theirs\n");
    cleanup(mem_free_ptr) char *changed = with("127.0.0.1:1", S2 "    server n1 127.0.0.9:9 weight 2\n");
    put(config, theirs, 0644);
    ck_assert_int_eq(tell(changed, true), TRANSACTION_CONFLICT);
    assert_file_is(theirs);
    ck_assert(haproxy_has("n1"));
    read_it();
    ck_assert(row_of("n1")->admin == RUNTIME_READY);
}

/* ---- without `haproxy -c` */

#define N1 "    server n1 127.0.0.9:9 weight 2\n"

/* What HAProxy took is valid. */
TEST(servers_like_others_are_not_checked)
{
    count_checks();
    cleanup(mem_free_ptr) char *changed = with("127.0.0.1:1", S2 N1), *gone = with("127.0.0.1:1", "");
    ck_assert_int_eq(tell(changed, false), TRANSACTION_COMMITTED);
    ck_assert_msg(last.runs, "%s", last.reload_why);
    assert_file_is(changed);
    read_it();
    ck_assert(row_of("n1")->port == 9 && row_of("n1")->weight == 2 && row_of("n1")->admin == RUNTIME_READY);
    ck_assert_int_eq(tell(gone, false), TRANSACTION_COMMITTED);
    ck_assert_msg(last.runs, "%s", last.reload_why);
    assert_file_is(gone);
    ck_assert_uint_eq(checks(), 0);
    ck_assert(!haproxy_has("n1") && !haproxy_has("s2") && haproxy_has("s1"));
}

/* Others are, and what stands beside the file may be what is wrong. */
TEST_EACH(what_differs_otherwise_is_checked, 4)
{
    cleanup(mem_free_ptr) char *other = mem_printf("%s/other.cfg", folder);
    const char *const more[] = {other, NULL};
    const struct local_helper_options files[] = {{0}, {0}, {.files_before = more}, {.files_after = more}};
    put(other, "global\n", 0644);
    options.files_before = files[_i].files_before;
    options.files_after = files[_i].files_after;
    count_checks();
    files_change = _i == 1;
    cleanup(mem_free_ptr) char *changed =
        with("127.0.0.1:1", _i == 0 ? S2 "    server n1 127.0.0.9:9 weight 3\n" : S2 N1);
    ck_assert_int_eq(tell(changed, false), TRANSACTION_COMMITTED);
    ck_assert_uint_eq(checks(), 1);
    files_change = false;
}

/* It has one of that name, of which the file does not know: `haproxy -c` decides, and a reload makes it so. */
TEST(what_haproxy_does_not_take_is_checked)
{
    count_checks();
    ck_assert_int_eq(command(LOCAL_SOCKET_STATS, "add server web/n1 127.0.0.8:8"), LOCAL_OK);
    cleanup(mem_free_ptr) char *changed = with("127.0.0.1:1", S2 N1);
    ck_assert_int_eq(tell(changed, false), TRANSACTION_COMMITTED);
    ck_assert_uint_eq(checks(), 1);
    assert_file_is(changed);
    assert_loads("Already exists", true);
    ck_assert_int_eq(row_of("n1")->port, 9);
}

/* Who came first goes again where the file is another one by then. */
TEST(who_was_taken_goes_where_nothing_is_written)
{
    count_checks();
    cleanup(mem_free_ptr) char *theirs = mem_printf("%s    # theirs\n", two), *changed = with("127.0.0.1:1", N1);
    put(config, theirs, 0644);
    ck_assert_int_eq(tell(changed, false), TRANSACTION_CONFLICT);
    assert_file_is(theirs);
    ck_assert_uint_eq(checks(), 0);
    ck_assert(!haproxy_has("n1") && haproxy_has("s2"));
    read_it();
    ck_assert(readout.unloaded); /* its writer may have loaded it, with n1, before n1 went */
    read_it();
    ck_assert(readout.unloaded);
}

/* ---- a socket that is not HAProxy's */

enum behaviour { SAYS_YES, SAYS_NO, CLOSES, CLOSES_AT_SET, IS_SILENT, ANSWERS_NONSENSE, BEHAVIOURS };

static const char *const whys[] = {[SAYS_YES] = "server s1: HAProxy",
                                   [SAYS_NO] = "HAProxy says",
                                   [CLOSES] = "what HAProxy runs could not be read",
                                   [CLOSES_AT_SET] = "s",
                                   [IS_SILENT] = "answer",
                                   [ANSWERS_NONSENSE] = "HAProxy says"};

static void pass_on(const char *question, size_t len, int to)
{
    char answer[4096];
    int real = unix_socket(stats, false);
    ssize_t n = write(real, question, len);
    shutdown(real, SHUT_WR);
    while (n > 0 && (n = read(real, answer, sizeof(answer))) > 0)
        if (write(to, answer, (size_t)n) != n)
            break;
    close(real);
}

/* What it is sent is something else by then, which HAProxy has no objections to. */
static void tell_something_else(char *question)
{
    static const char nothing[] = "clear counters";
    for (char *at; (at = strstr(question, "set server")) != NULL;) {
        size_t len = strcspn(at, ";\n");
        memset(at, ' ', len);
        memcpy(at, nothing, strlen(nothing));
    }
}

/* Questions are HAProxy's to answer; "set" is not. */
static void lie_to(int fd, enum behaviour b)
{
    char question[4096];
    ssize_t n = read(fd, question, sizeof(question) - 1);
    question[n > 0 ? n : 0] = '\0';
    bool sets = strstr(question, "set server") != NULL;
    if (sets && b == SAYS_YES)
        tell_something_else(question);
    if ((!sets && b != CLOSES) || b == SAYS_YES)
        pass_on(question, strlen(question), fd);
    else if (b == IS_SILENT)
        while (read(fd, question, sizeof(question)) > 0)
            ;
    else if (b == SAYS_NO || b == ANSWERS_NONSENSE)
        dprintf(fd, "%s\n", b == SAYS_NO ? "No such server." : "\x01\x02<html>");
}

static pid_t begin_to_lie(const char *path, enum behaviour b)
{
    int ready[2];
    char c;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int listener = unix_socket(path, true);
        (void)!write(ready[1], "x", 1);
        for (;;) {
            int fd = accept(listener, NULL, NULL);
            lie_to(fd, b);
            close(fd);
        }
    }
    ck_assert_int_eq(read(ready[0], &c, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

/* It writes through that socket, and reloads by the master. */
static void reach_by(const char *path)
{
    options.stats_socket = path;
    start_again();
}

/* HAProxy has n1, which the file has not got. */
TEST(who_cannot_be_taken_back_goes_by_a_reload)
{
    cleanup(mem_free_ptr) char *liar = mem_printf("%s/liar", folder);
    pid_t pid = begin_to_lie(liar, CLOSES_AT_SET);
    reach_by(liar);
    read_it();
    tell_nonsense();
    ck_assert(haproxy_has("n1"));
    read_it();
    ck_assert(readout.unloaded);
    end_player(pid);
}

/* Whatever the socket makes of it: the file has it, and so has HAProxy, by a reload where it must be. */
TEST_EACH(what_a_socket_does_not_do_is_loaded, BEHAVIOURS)
{
    enum behaviour b = (enum behaviour)_i;
    cleanup(mem_free_ptr) char *liar = mem_printf("%s/liar", folder);
    pid_t pid = begin_to_lie(liar, b);
    cleanup(mem_free_ptr) char *changed = with("127.0.0.1:1 weight 9", S2);
    reach_by(liar);
    read_it();
    ck_assert_int_eq(tell(changed, true), TRANSACTION_COMMITTED);
    assert_file_is(changed);
    ck_assert(!last.runs);
    assert_loads(whys[b], b != CLOSES);
    reach_by(stats);
    read_it();
    ck_assert_int_eq(row_of("s1")->weight, 9);
    end_player(pid);
}

/* ---- where HAProxy cannot listen: another process holds the port, or the machine does not have the address ---- */

/* Listens at a free port of 127.0.0.1, without sharing it. */
static int hold(unsigned *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&at, len), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

static void hold_this(unsigned port, int shares)
{
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &shares, sizeof(shares)) != 0 ||
        bind(fd, (const struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, 1) != 0)
        _exit(127);
}

static enum transaction_result write_whole(const char *to)
{
    struct cfg_content *c = cfg_content_new(mem_strdup(to), strlen(to));
    const struct replacement_request r = {.text = c, .before = readout.file};
    driver->ops->replace(driver, readout.version, &r);
    await_told();
    cfg_content_unref(c);
    return last.result;
}

/* The first write of a daemon: what HAProxy listens at is not known before it has loaded one. */
static void load_one(const char *more)
{
    cleanup(mem_free_ptr) char *first = with("127.0.0.1:1 weight 9", S2), *all = mem_printf("%s%s", first, more);
    ck_assert_int_eq(write_whole(all), TRANSACTION_COMMITTED);
    driver->ops->write(driver, last.version, false, true);
    await_told();
    (void)reload_ends();
    for (read_it(); !readout.loaded; read_it()) /* the note of that is behind the end that was reported */
        usleep(POLL_US);
}

static const struct {
    const char *line;   /* of a frontend: %u is the port that is held at 127.0.0.1 */
    const char *before; /* beside it, in the file that is loaded */
    const char *says;   /* NULL: it is written */
} listening[] = {
    {"bind 127.0.0.1:%u", "", "cannot listen at 127.0.0.1, port %u: another process holds it"},
    {"bind :%u", "", "cannot listen at *, port %u: another process holds it"},
    {"bind 127.0.0.1:%u-%u", "", "cannot listen at 127.0.0.1, port %u: another process holds it"},
    {"bind 203.0.113.7:%u", "", "cannot listen at 203.0.113.7, port %u: the machine does not have the address"},
    {"bind [::]:%u", "", "cannot listen at *, port %u: another process holds it"},
    {"bind ipv6@:%u v4v6", "", "cannot listen at *, port %u: another process holds it"},
    {"bind ipv6@:%u v6only", "", NULL},
    {"bind [::]:%u v6only", "", NULL},
    {"bind 127.0.0.9:%u", "", NULL},
    {"bind 127.0.0.1:%u interface lo", "", NULL},
    {"bind unix@/tmp/haproxy-%u", "", NULL},
    {"bind 127.0.0.1:%u\n    disabled", "", NULL},
    {"bind 127.0.0.1:%u\n.if defined(NOT_SET)\n.endif", "", NULL},
    {"bind 127.0.0.1:%u\n    bind 127.0.0.9:2", "frontend was\n    bind 127.0.0.7:%u\n",
     NULL}, /* HAProxy may hold that port itself */
};

#define ALSO "    description 7\n"

TEST_EACH(where_haproxy_cannot_listen_is_refused_by_its_line, array_len(listening))
{
    unsigned port;
    int fd = hold(&port);
    cleanup(mem_free_ptr) char *before =
        mem_printf("%.*s%u%s", (int)strcspn(listening[_i].before, "%"), listening[_i].before, port, "\n");
    load_one(listening[_i].before[0] != '\0' ? before : "");
    cleanup(mem_free_ptr) char *line = mem_strdup(""), *first = with("127.0.0.1:1 weight 9", S2 ALSO);
    for (const char *at = listening[_i].line; *at != '\0';) {
        size_t len = strcspn(at, "%");
        char *longer = at[len] == '%' ? mem_printf("%s%.*s%u", line, (int)len, at, port) : mem_printf("%s%s", line, at);
        free(line);
        line = longer;
        at += at[len] == '%' ? len + 2 : len;
    }
    cleanup(mem_free_ptr) char *to = mem_printf("%sfrontend new\n    %s\n", first, line);
    enum transaction_result result = write_whole(to);
    int six = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listening[_i].says == NULL || (six < 0 && strpbrk(listening[_i].line, "[6") != NULL)) {
        ck_assert_int_eq(result, TRANSACTION_COMMITTED);
    } else {
        const char *says = listening[_i].says;
        size_t len = strcspn(says, "%");
        cleanup(mem_free_ptr) char *said = mem_printf("line 17: %.*s%u%s", (int)len, says, port, says + len + 2);
        ck_assert_int_eq(result, TRANSACTION_REJECTED);
        ck_assert_msg(strstr(last.why.message, said) != NULL, "%s", last.why.message);
    }
    if (six >= 0)
        close(six);
    close(fd);
}

/* HAProxy shares a port with its user's processes, itself among them; another user cannot try that. */
TEST_EACH(where_another_user_listens, 2)
{
    unsigned port;
    tear_down_whole();
    runs_as_nobody = true;
    set_up_whole();
    load_one("");
    int ready[2];
    ck_assert_int_eq(pipe(ready), 0);
    close(hold(&port)); /* it is free */
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (_i == 0)
            be_nobody();
        hold_this(port, _i == 0);
        close(ready[0]);
        close(ready[1]);
        for (;;)
            pause();
    }
    char none;
    runs_as_nobody = false;
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &none, 1), 0);
    close(ready[0]);
    cleanup(mem_free_ptr) char *first = with("127.0.0.1:1 weight 9", S2 ALSO),
                               *to = mem_printf("%sfrontend new\n    bind 127.0.0.1:%u\n", first, port);
    ck_assert_int_eq(write_whole(to), _i == 0 ? TRANSACTION_COMMITTED : TRANSACTION_REJECTED);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* What holds a port, and the helper that waits, share it. */
static volatile enum { HELD, ENDS, CLOSED } * holder;

/* In front of the helper's: while it waits who holds the port closes it. */
int(poll)(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    static int (*real)(struct pollfd *, nfds_t, int);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "poll");
    if (count == 0 && timeout_ms == 100 && holder != NULL)
        for (*holder = ENDS; *holder != CLOSED;)
            usleep(POLL_US);
    return real(fds, count, timeout_ms);
}

/* As a worker that has just been replaced does: nothing is wrong with who comes to that port. */
TEST(where_another_one_just_closes_its_port)
{
    unsigned port;
    tear_down_whole();
    holder = mmap(NULL, sizeof(*holder), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(holder != MAP_FAILED);
    set_up_whole();
    load_one("");
    int fd = hold(&port);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (*holder == HELD)
            usleep(POLL_US);
        close(fd);
        *holder = CLOSED;
        for (;;)
            pause();
    }
    close(fd); /* the child has it, too */
    cleanup(mem_free_ptr) char *first = with("127.0.0.1:1 weight 9", S2 ALSO),
                               *to = mem_printf("%sfrontend new\n    bind 127.0.0.1:%u\n", first, port);
    ck_assert_int_eq(write_whole(to), TRANSACTION_COMMITTED);
    ck_assert_int_eq(*holder, CLOSED); /* it was held at first */
    holder = NULL;
    end_player(pid);
}

/* More lines than an answer has room for. */
TEST(where_a_thousand_addresses_are_none_of_the_machine)
{
    cleanup(buf_fini) struct buf to = {0};
    load_one("");
    cleanup(mem_free_ptr) char *first = with("127.0.0.1:1 weight 9", S2 ALSO);
    buf_printf(&to, "%sfrontend new\n", first);
    for (unsigned port = 20000; port < 21000; port++)
        buf_printf(&to, "    bind 203.0.113.7:%u\n", port);
    ck_assert_int_eq(write_whole(buf_str(&to)), TRANSACTION_REJECTED);
    ck_assert_msg(strstr(last.why.message, "line 17: cannot listen at 203.0.113.7, port 20000: ") != NULL, "%s",
                  last.why.message);
}

/* Another daemon, or a hand, wrote the file: where HAProxy listens is not known. */
TEST(where_haproxy_listens_is_not_known)
{
    unsigned port;
    int fd = hold(&port);
    cleanup(mem_free_ptr) char *first = with("127.0.0.1:1 weight 9", S2),
                               *to = mem_printf("%sfrontend new\n    bind 127.0.0.1:%u\n", first, port);
    ck_assert_int_eq(write_whole(to), TRANSACTION_COMMITTED);
    close(fd);
}

/* HAProxy in a network namespace of its own: there the port is free. */
TEST(where_haproxy_listens_elsewhere)
{
    unsigned port;
    struct stat ours, its;
    tear_down_whole();
    alone_in_network = true;
    set_up_whole();
    alone_in_network = false;
    int fd = hold(&port);
    cleanup(mem_free_ptr) char *proc = mem_printf("/proc/%d/ns/net", (int)running);
    ck_assert_int_eq(stat("/proc/self/ns/net", &ours), 0);
    ck_assert_int_eq(stat(proc, &its), 0);
    load_one("");
    cleanup(mem_free_ptr) char *first = with("127.0.0.1:1 weight 9", S2 ALSO),
                               *to = mem_printf("%sfrontend new\n    bind 127.0.0.1:%u\n", first, port);
    bool alone = ours.st_ino != its.st_ino;
    ck_assert_int_eq(write_whole(to), alone ? TRANSACTION_COMMITTED : TRANSACTION_REJECTED);
    close(fd);
}

/* What was refused for a port is taken once that is free. */
TEST(where_a_port_gets_free)
{
    unsigned port;
    load_one("");
    int fd = hold(&port);
    cleanup(mem_free_ptr) char *first = with("127.0.0.1:1 weight 9", S2 ALSO),
                               *to = mem_printf("%sfrontend new\n    bind 127.0.0.1:%u\n", first, port);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    close(fd); /* that one has it alone */
    ck_assert_int_eq(write_whole(to), TRANSACTION_REJECTED);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_int_eq(write_whole(to), TRANSACTION_COMMITTED);
}
