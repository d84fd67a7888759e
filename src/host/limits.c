#include "host/limits.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"

static void limit(__rlimit_resource_t what, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(what, &now) != 0 || (now.rlim_max != RLIM_INFINITY && now.rlim_max < most))
        return; /* it is less already */
    const struct rlimit limits = {most, most};
    (void)setrlimit(what, &limits);
}

/* Bytes of memory that are ours to write to: the sixth number. 0: not known. */
static size_t data_bytes(void)
{
    cleanup(buf_fini) struct buf text = {0};
    if (buf_read_file(&text, "/proc/self/statm") != 0)
        return 0;
    const char *at = buf_str(&text);
    for (int i = 0; i < 5; i++)
        at += strcspn(at, " ") + (at[strcspn(at, " ")] == ' ');
    return (size_t)strtoull(at, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

void limits_set(uint64_t cpu_s, size_t more_bytes)
{
#ifdef __SANITIZE_ADDRESS__
    more_bytes = 0; /* its shadow and its quarantine would count, too */
#endif
    size_t have = more_bytes > 0 ? data_bytes() : 0;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, cpu_s);
    if (have > 0)
        limit(RLIMIT_DATA, have + more_bytes);
    limit(RLIMIT_NOFILE, STDERR_FILENO + 1);
}
