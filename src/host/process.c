#include "host/process.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define STAT_MAX_BYTES 4096

/* Fields of /proc/self/stat by their numbers in proc(5). */
enum { STAT_UTIME = 14, STAT_STIME = 15, STAT_START = 22, STAT_VSIZE = 23, STAT_RSS = 24, STAT_FIELDS = 25 };

static int read_stat(uint64_t ret[STAT_FIELDS])
{
    cleanup(buf_fini) struct buf b;
    buf_init(&b, STAT_MAX_BYTES);
    if (buf_read_file(&b, "/proc/self/stat") != 0)
        return -1;
    /* Field 2 is the program's name in parentheses and may hold anything, so count from the last one. */
    char *at = strrchr(buf_str(&b), ')');
    int field = 3;
    if (at == NULL || at[1] == '\0')
        return -1;
    for (at += 2; field < STAT_FIELDS; field++) {
        char *end = at + strcspn(at, " ");
        ret[field] = strtoull(at, NULL, 10); /* negative ones and the state are none of those we want */
        if (*end == '\0')
            break;
        at = end + 1;
    }
    return field == STAT_FIELDS ? 0 : -1;
}

double process_start_seconds(void)
{
    uint64_t stat[STAT_FIELDS];
    struct timespec up;
    double ticks = (double)sysconf(_SC_CLK_TCK);
    if (read_stat(stat) != 0 || ticks <= 0 || clock_gettime(CLOCK_BOOTTIME, &up) != 0)
        return 0;
    double ago = (double)up.tv_sec + (double)up.tv_nsec / 1e9 - (double)stat[STAT_START] / ticks;
    return (double)clock_wall_ms() / 1e3 - ago;
}

void process_print(double start_seconds, const char *labels, struct buf *out)
{
    uint64_t stat[STAT_FIELDS] = {0};
    struct rlimit limit = {0};
    DIR *dir = opendir("/proc/self/fd");
    long fds = -1; /* without the one that lists them; -1: not known */
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        fds += e->d_name[0] != '.';
    if (dir != NULL)
        closedir(dir);
    double ticks = (double)sysconf(_SC_CLK_TCK);
    bool stats = read_stat(stat) == 0 && ticks > 0, any = labels[0] != '\0';
    bool limited = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    const struct {
        const char *name, *type, *help;
        bool known;
        int decimals;
        double value;
    } rows[] = {
        {"process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.",
         start_seconds > 0, 2, start_seconds},
        {"process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.", stats, 2,
         (double)(stat[STAT_UTIME] + stat[STAT_STIME]) / ticks},
        {"process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.", stats, 0, (double)stat[STAT_VSIZE]},
        {"process_resident_memory_bytes", "gauge", "Resident memory size in bytes.", stats, 0,
         (double)stat[STAT_RSS] * (double)sysconf(_SC_PAGESIZE)},
        {"process_open_fds", "gauge", "Number of open file descriptors.", fds >= 0, 0, (double)fds},
        {"process_max_fds", "gauge", "Maximum number of open file descriptors.", limited, 0, (double)limit.rlim_cur},
    };
    for (size_t i = 0; i < array_len(rows); i++)
        if (rows[i].known)
            buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s%s%s%s %.*f\n", rows[i].name, rows[i].help, rows[i].name,
                       rows[i].type, rows[i].name, any ? "{" : "", labels, any ? "}" : "", rows[i].decimals,
                       rows[i].value);
}

void host_name(char ret[HOST_NAME_BYTES])
{
    if (gethostname(ret, HOST_NAME_BYTES) != 0)
        ret[0] = '\0';
    ret[HOST_NAME_BYTES - 1] = '\0'; /* POSIX leaves it open whether one that is cut has an end */
}
