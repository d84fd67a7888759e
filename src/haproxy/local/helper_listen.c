/*
 * Whether HAProxy can listen where a configuration adds an address, which `haproxy -c` does not try, and a reload tries for two seconds:
 * tried by the helper, on the same machine and in the same network namespace. What is not certain to be the same for HAProxy is left
 * to its reload: a text with conditionals or a disabled section, a file that HAProxy has not loaded, ports that its files have
 * already, more than an address in use or none of this machine.
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

static int listen_read_file(struct cfg_binds *b, const char *path)
{
    cleanup(local_place_fini) struct local_place p = {.folder = -1};
    cleanup(buf_wipe) struct buf text;
    struct local_identity identity;
    buf_init_secret(&text, LOCAL_FILE_MAX_BYTES);
    if (local_place_of_file(&p, path) != 0 || local_file_read(&p, &text, &identity) != 0)
        return -1;
    cfg_binds_read(b, buf_str(&text), text.len);
    return 0;
}

static int listen_read_files(struct cfg_binds *b, const char *const *paths)
{
    int status = 0;
    for (size_t i = 0; paths != NULL && paths[i] != NULL && status == 0; i++)
        status = listen_read_file(b, paths[i]);
    return status;
}

static bool listen_has_port(const struct cfg_binds *b, unsigned port)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->list[i].from <= port && port <= b->list[i].to)
            return true;
    return false;
}

/* Of who listens at HAProxy's socket; -1: not known. */
static pid_t listen_pid(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct ucred peer = {.pid = -1};
    socklen_t len = sizeof(peer);
    if (path == NULL || strlen(path) >= sizeof(to.sun_path))
        return -1;
    memcpy(to.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool known = fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0 &&
                 getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.pid > 0;
    if (fd >= 0)
        close(fd);
    return known ? peer.pid : -1;
}

/* These files are the network namespace's own, and anybody may look at them. */
static bool listen_shares_network(const struct local_helper_options *o)
{
    pid_t pid = listen_pid(o->stats_socket != NULL ? o->stats_socket : o->master_socket);
    cleanup(mem_free_ptr) char *path = mem_printf("/proc/%d/net/dev", (int)pid);
    struct stat ours, its;
    return pid > 0 && stat("/proc/self/net/dev", &ours) == 0 && stat(path, &its) == 0 && ours.st_ino == its.st_ino &&
           ours.st_dev == its.st_dev;
}

/* 0: HAProxy can listen there, for all that is known. Else errno. */
static int listen_try(const char *address, unsigned port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    bool is_six = strchr(address, ':') != NULL;
    const int on = 1;
    if (is_six ? inet_pton(AF_INET6, address, &six.sin6_addr) != 1
               : !str_eq(address, "*") && inet_pton(AF_INET, address, &four.sin_addr) != 1)
        return 0;
    int fd = socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), failed = 0;
    if (fd < 0)
        return 0;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0 &&
        (!is_six || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == 0) &&
        bind(fd, is_six ? (const struct sockaddr *)&six : (const struct sockaddr *)&four,
             is_six ? sizeof(six) : sizeof(four)) != 0)
        failed = errno == EADDRINUSE || errno == EADDRNOTAVAIL ? errno : 0;
    close(fd);
    return failed;
}

static void listen_try_bind(const struct cfg_bind *b, const struct cfg_binds *known, const char *file, struct buf *said)
{
    for (unsigned port = b->from; port != 0 && port <= b->to && port - b->from < PORTS_TRIED; port++) {
        int why = listen_has_port(known, port) ? 0 : listen_try(b->address, port);
        if (why == 0)
            continue;
        buf_printf(said, "[ALERT] (%d) : config : parsing [%s:%u] : cannot listen at %s, port %u: %s\n", (int)getpid(),
                   file, b->line, b->address, port,
                   why == EADDRINUSE ? "another process holds it" : "the machine does not have the address");
        return;
    }
}

char *helper_cannot_listen(const struct helper_work *w, const char *text, size_t len)
{
    const struct local_helper_options *o = w->helper->options;
    cleanup(cfg_binds_fini) struct cfg_binds known = {0}, binds = {0};
    struct buf said = {.max_bytes = LOCAL_MESSAGE_MAX_BYTES};
    bool any = false;
    if (listen_read_file(&known, o->config_file) != 0 || listen_read_files(&known, o->files_before) != 0 ||
        listen_read_files(&known, o->files_after) != 0)
        return NULL;
    cfg_binds_read(&binds, text, len);
    for (size_t i = 0; i < binds.count && !any; i++)
        any = !binds.list[i].elsewhere && !listen_has_port(&known, binds.list[i].from);
    if (!any || !listen_is_plain(text, len) || !listen_shares_network(o))
        return NULL;
    for (unsigned tries = 0; tries < TRIES && (tries == 0 || said.len > 0); tries++) {
        if (tries > 0)
            (void)poll(NULL, 0, BETWEEN_MS);
        buf_clear(&said);
        for (size_t i = 0; i < binds.count; i++)
            if (!binds.list[i].elsewhere)
                listen_try_bind(&binds.list[i], &known, o->config_file, &said);
    }
    return said.len > 0 ? buf_take(&said) : NULL;
}
