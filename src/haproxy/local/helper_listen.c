/*
 * Whether HAProxy can listen where a configuration adds an address, which `haproxy -c` does not try, and a reload tries for two seconds:
 * tried by the helper, on the same machine and in the same network namespace. What is not certain to be the same for HAProxy is left
 * to its reload: a text with conditionals or a disabled section, a file that HAProxy has not loaded, ports that its files have
 * already, a port where a process of HAProxy's user listens, who may share it with HAProxy and not with us, more than an address in
 * use or none of this machine.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/binds.h"
#include "haproxy/cfg/file.h"
#include "haproxy/cfg/words.h"
#include "haproxy/local/helper_internal.h"

#define PORTS_TRIED 64 /* of a range */
#define TRIES 2
#define BETWEEN_MS 100 /* a worker that has just been replaced still closes its listeners */
#define TABLE_MAX_BYTES ((size_t)16 << 20)

/* All lines count, and each `bind` is one that HAProxy listens at. */
static bool listen_is_plain(const char *text, size_t len)
{
    cleanup(cfg_file_fini) struct cfg_file f = {0};
    cleanup(cfg_line_fini) struct cfg_line words;
    bool plain = true;
    cfg_line_init(&words);
    cfg_file_parse(&f, text, len);
    for (size_t i = 0; i < f.line_count && plain; i++) {
        cfg_line_split(&words, f.lines[i].text, f.lines[i].len);
        const char *first = cfg_word(&words, 0);
        plain = first[0] != '.' && !str_eq(first, "disabled");
    }
    return plain && f.broken == 0 && !f.too_many;
}

/* By port: whether HAProxy's files have it; whether any process listens there, and whether a process of HAProxy's user does. */
struct listen_ports {
    bool known[UINT16_MAX + 1], any[UINT16_MAX + 1], own[UINT16_MAX + 1];
};

static int listen_read_file(struct listen_ports *ports, const char *path)
{
    cleanup(buf_wipe) struct buf text;
    cleanup(cfg_binds_fini) struct cfg_binds b = {0};
    buf_init_secret(&text, LOCAL_FILE_MAX_BYTES);
    if (local_path_read(path, &text) != 0)
        return -1;
    cfg_binds_read(&b, buf_str(&text), text.len);
    for (size_t i = 0; i < b.count; i++)
        for (unsigned port = b.list[i].from; port <= b.list[i].to; port++)
            ports->known[port] = true;
    return 0;
}

static int listen_read_files(struct listen_ports *ports, const char *const *paths)
{
    int status = 0;
    for (size_t i = 0; paths != NULL && paths[i] != NULL && status == 0; i++)
        status = listen_read_file(ports, paths[i]);
    return status;
}

/* Who listens at HAProxy's socket; pid -1: not known. */
static struct ucred listen_peer(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct ucred peer = {.pid = -1};
    socklen_t len = sizeof(peer);
    if (path == NULL || strlen(path) >= sizeof(to.sun_path))
        return peer;
    memcpy(to.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
        peer.pid = -1;
    if (fd >= 0)
        close(fd);
    return peer;
}

/* These files are the network namespace's own, and every process may read them. */
static bool listen_shares_network(const struct ucred *peer)
{
    cleanup(mem_free_ptr) char *path = mem_printf("/proc/%d/net/dev", (int)peer->pid);
    struct stat ours, its;
    return peer->pid > 0 && stat("/proc/self/net/dev", &ours) == 0 && stat(path, &its) == 0 &&
           ours.st_ino == its.st_ino && ours.st_dev == its.st_dev;
}

/* "0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 1000 ...": who listens comes first. False: another one. */
static bool listeners_add(struct listen_ports *ports, char *line, uid_t haproxy)
{
    enum { LOCAL = 1, STATE = 3, USER = 7, WORDS };
    char *words[WORDS], *rest = line;
    size_t n = 0;
    for (char *word; n < WORDS && (word = strsep(&rest, " ")) != NULL;)
        if (*word != '\0')
            words[n++] = word;
    char *colon = n == WORDS ? strrchr(words[LOCAL], ':') : NULL;
    if (colon == NULL || !str_eq(words[STATE], "0A"))
        return false;
    size_t port = strtoul(colon + 1, NULL, 16) & UINT16_MAX;
    ports->any[port] = true;
    ports->own[port] = ports->own[port] || strtoul(words[USER], NULL, 10) == haproxy;
    return true;
}

static void listeners_read(struct listen_ports *ports, const char *path, uid_t haproxy)
{
    cleanup(buf_fini) struct buf text;
    buf_init(&text, TABLE_MAX_BYTES);
    if (buf_read_file(&text, path) != 0 && errno != EFBIG)
        return;
    char *rest = text.data;
    (void)strsep(&rest, "\n"); /* its head */
    for (char *line; (line = strsep(&rest, "\n")) != NULL && listeners_add(ports, line, haproxy);)
        continue;
}

/* What is tried, and what came of it. */
struct listen_trial {
    struct listen_ports *ports;
    const char *file;
    uid_t haproxy;
    bool looked; /* at who listens */
    struct buf *said;
};

/* Else it is one that may share it with HAProxy, or a connection, which ends. */
static bool listen_is_held(struct listen_trial *t, unsigned port)
{
    if (!t->looked) {
        memset(t->ports->any, 0, sizeof(t->ports->any));
        memset(t->ports->own, 0, sizeof(t->ports->own));
        listeners_read(t->ports, "/proc/self/net/tcp", t->haproxy);
        listeners_read(t->ports, "/proc/self/net/tcp6", t->haproxy);
    }
    t->looked = true;
    return t->ports->any[port] && (!t->ports->own[port] || t->haproxy == geteuid());
}

/* As HAProxy does. */
static int listen_set_up(int fd, const struct cfg_bind *b)
{
    const int on = 1, v6only = b->v6only;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0)
        return -1;
    return b->six && (b->v6only || b->v4v6) ? setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof(v6only)) : 0;
}

/* 0: HAProxy can listen there, for all that is known. Else errno. */
static int listen_try(const struct cfg_bind *b, unsigned port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    bool all = str_eq(b->address, "*");
    int failed = 0;
    if (!all && inet_pton(b->six ? AF_INET6 : AF_INET, b->address,
                          b->six ? (void *)&six.sin6_addr : (void *)&four.sin_addr) != 1)
        return 0;
    int fd = socket(b->six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    if (listen_set_up(fd, b) == 0 && bind(fd, b->six ? (const struct sockaddr *)&six : (const struct sockaddr *)&four,
                                          b->six ? sizeof(six) : sizeof(four)) != 0)
        failed = errno == EADDRINUSE || errno == EADDRNOTAVAIL ? errno : 0;
    close(fd);
    return failed;
}

/* -1: there is no room for more of what is said. */
static int listen_try_bind(struct listen_trial *t, const struct cfg_bind *b)
{
    for (unsigned port = b->from; port != 0 && port <= b->to && port - b->from < PORTS_TRIED; port++) {
        int why = t->ports->known[port] ? 0 : listen_try(b, port);
        if (why == 0 || (why == EADDRINUSE && !listen_is_held(t, port)))
            continue;
        cleanup(mem_free_ptr) char *line =
            mem_printf("[ALERT] (%d) : config : parsing [%s:%u] : cannot listen at %s, port %u: %s\n", (int)getpid(),
                       t->file, b->line, b->address, port,
                       why == EADDRINUSE ? "another process holds it" : "the machine does not have the address");
        return buf_append(t->said, line, strlen(line));
    }
    return 0;
}

static void listen_try_all(struct listen_trial *t, const struct cfg_binds *binds)
{
    int room = 0;
    buf_clear(t->said);
    t->looked = false;
    for (size_t i = 0; i < binds->count && room == 0; i++)
        room = binds->list[i].elsewhere ? 0 : listen_try_bind(t, &binds->list[i]);
}

char *helper_cannot_listen(const struct helper_work *w, const char *text, size_t len)
{
    const struct local_helper_options *o = w->helper->options;
    cleanup(mem_free_ptr) struct listen_ports *ports = mem_alloc(sizeof(*ports));
    cleanup(cfg_binds_fini) struct cfg_binds binds = {0};
    bool any = false;
    if (listen_read_file(ports, o->config_file) != 0 || listen_read_files(ports, o->files_before) != 0 ||
        listen_read_files(ports, o->files_after) != 0)
        return NULL;
    cfg_binds_read(&binds, text, len);
    for (size_t i = 0; i < binds.count && !any; i++)
        any = !binds.list[i].elsewhere && !ports->known[binds.list[i].from];
    if (!any || !listen_is_plain(text, len))
        return NULL;
    const struct ucred peer = listen_peer(o->stats_socket != NULL ? o->stats_socket : o->master_socket);
    if (!listen_shares_network(&peer))
        return NULL;
    cleanup(buf_fini) struct buf said = {.max_bytes = LOCAL_MESSAGE_MAX_BYTES};
    struct listen_trial t = {.ports = ports, .file = o->config_file, .haproxy = peer.uid, .said = &said};
    listen_try_all(&t, &binds);
    for (unsigned tries = 1; tries < TRIES && said.len > 0; tries++) {
        (void)poll(NULL, 0, BETWEEN_MS);
        listen_try_all(&t, &binds);
    }
    return said.len > 0 ? buf_take(&said) : NULL;
}
