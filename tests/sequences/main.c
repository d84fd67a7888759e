/*
 * sequences                            the cases of a folder, then the fixed seeds: what `make test` runs
 * sequences --seed N [--count N] [--events N] [--time S] [--world "limit=50 targets=1"] [--local] [--clusters]
 *                                      --local: HAProxies that are reached by their own files and sockets
 *                                      --clusters: another cluster writes its own servers there
 *                                      --whole: whole configurations for such HAProxies; --api: for those of a Data Plane API
 * sequences --play FILE [-v]           one case; -v prints all that happens
 * sequences --print --seed N           that stream as a case
 * sequences --kinds                    the events that there are
 *
 * A stream that fails is shrunk, and printed as a case; not so with SEQUENCES_SHRINK=no in the environment, which ends it all with
 * the first that fails. Each is played in a process of its own. EFFORT=percent: how many of the fixed seeds.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "world.h"

#include "../unit/effort.h"

#define VERDICT_BYTES 4096
#define TRIES_MAX 1500
#define FIXED_EVENTS 150
#define CASES "tests/sequences/cases"

struct verdict {
    char text[VERDICT_BYTES]; /* "": all well; its first line is the invariant */
};

/* What takes the time otherwise is to remember who allocated what, and to read the words of each text that is printed; the
 * unit tests have both. ASAN_OPTIONS says otherwise. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "malloc_context_size=3:check_printf=0:quarantine_size_mb=16";
}

/* ---- one stream ---- */

static void play_here(const struct stream *s, int verdict_fd, bool chatty)
{
    struct world *w = calloc(1, sizeof(*w));
    world_open(w, &s->settings, verdict_fd, chatty);
    for (size_t i = 0; i < s->count; i++) {
        const struct event *e = &s->events[i];
        w->step = (unsigned)i + 1;
        world_pass(w, (uint64_t)e->after_ms * 1000 + (s->settings.local != LOCAL_NONE)); /* a moment of its own */
        world_say(w, "%u: %s %u %u %u %u", w->step, e->kind->name, e->numbers[0], e->numbers[1], e->numbers[2],
                  e->numbers[3]);
        e->kind->happen(w, e->numbers);
        check_step(w);
    }
    w->step = (unsigned)s->count + 1;
    check_rest(w);
    world_close(w);
    free(w);
}

static void play(const struct stream *s, bool chatty, struct verdict *ret)
{
    int fds[2], status = 0;
    size_t len = 0;
    ssize_t n;
    fflush(NULL);
    if (pipe(fds) != 0)
        abort();
    pid_t child = fork();
    if (child < 0)
        abort();
    if (child == 0) {
        close(fds[0]);
        play_here(s, fds[1], chatty);
        _exit(0);
    }
    close(fds[1]);
    while (len < VERDICT_BYTES - 1 && (n = read(fds[0], ret->text + len, VERDICT_BYTES - 1 - len)) > 0)
        len += (size_t)n;
    ret->text[len] = '\0';
    close(fds[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0 && len == 0)
        snprintf(ret->text, sizeof(ret->text), "crash\nthe process ended with status %d\n", status);
}

/* ---- the shortest that fails in the same way ---- */

struct shrinking {
    struct stream best, trial;
    struct verdict verdict;
    unsigned tries;
};

static bool fails_alike(struct shrinking *s)
{
    struct verdict v;
    if (s->tries++ >= TRIES_MAX)
        return false;
    play(&s->trial, false, &v);
    size_t len = strcspn(s->verdict.text, "\n");
    if (strncmp(v.text, s->verdict.text, len + 1) != 0)
        return false;
    s->best = s->trial;
    s->verdict = v;
    return true;
}

/* Without events [first, first + count); what they took is waited for, so that the others come when they did. */
static bool try_without(struct shrinking *s, size_t first, size_t count)
{
    struct stream *t = &s->trial;
    unsigned waited = 0;
    *t = s->best;
    for (size_t i = first; i < first + count; i++)
        waited += t->events[i].after_ms;
    memmove(&t->events[first], &t->events[first + count], (t->count - first - count) * sizeof(t->events[0]));
    t->count -= count;
    if (fails_alike(s))
        return true;
    if (first >= t->count)
        return false;
    t->events[first].after_ms += waited;
    return fails_alike(s);
}

static bool drop_events(struct shrinking *s)
{
    size_t before = s->best.count;
    for (size_t chunk = (s->best.count + 1) / 2; chunk > 0; chunk /= 2)
        for (size_t end = s->best.count; end > 0;) {
            size_t count = chunk < end ? chunk : end;
            end -= count;
            if (end + count <= s->best.count)
                (void)try_without(s, end, count);
        }
    return s->best.count < before;
}

static bool try_number(struct shrinking *s, unsigned *at, unsigned value)
{
    unsigned was = *at;
    if (was <= value)
        return false;
    *at = value;
    if (fails_alike(s))
        return true;
    *at = was;
    return false;
}

static bool lower(struct shrinking *s, size_t event, size_t number)
{
    bool any = false;
    for (unsigned part = 1; part <= 8; part *= 2) {
        s->trial = s->best;
        struct event *e = &s->trial.events[event];
        unsigned *at = number < NUMBERS_MAX ? &e->numbers[number] : &e->after_ms;
        any = try_number(s, at, *at - *at / part) || any;
    }
    return any;
}

static bool lower_numbers(struct shrinking *s)
{
    bool any = false;
    for (size_t i = 0; i < s->best.count; i++)
        for (size_t n = 0; n <= NUMBERS_MAX; n++)
            any = lower(s, i, n) || any;
    s->trial = s->best;
    any = try_number(s, &s->trial.settings.targets, 1) || any;
    s->trial = s->best;
    return try_number(s, &s->trial.settings.nodes, 3) || any;
}

static void shrink(const struct stream *failing, const struct verdict *verdict, struct shrinking *ret)
{
    *ret = (struct shrinking){.best = *failing, .verdict = *verdict};
    while (drop_events(ret) && ret->tries < TRIES_MAX)
        ;
    while (lower_numbers(ret) && ret->tries < TRIES_MAX)
        (void)drop_events(ret);
}

/* ---- several ---- */

struct arguments {
    unsigned long seed, count, events, seconds;
    const char *play, *settings;
    bool chatty, shrinks, prints, fixed, local, whole, api, clusters;
};

static bool play_case(const char *path, bool chatty)
{
    static struct stream s;
    struct verdict v;
    FILE *in = fopen(path, "r");
    if (in == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    int status = stream_read(&s, in, path);
    fclose(in);
    if (status != 0)
        return false;
    play(&s, chatty, &v);
    if (v.text[0] != '\0')
        printf("sequences: FAILED: %s: %s", path, v.text);
    return v.text[0] == '\0';
}

static bool play_seed(unsigned long seed, const struct arguments *a)
{
    static struct stream s;
    static struct shrinking shrunk;
    struct verdict v;
    stream_by_chance(&s, seed, a->events, a->local ? LOCAL_NONE + 1 + (unsigned)(seed % (LOCALS - 1)) : LOCAL_NONE,
                     a->whole, a->clusters);
    if (stream_set(&s, a->settings) != 0) {
        fprintf(stderr, "--world %s: no such settings\n", a->settings);
        exit(2);
    }
    if (a->prints) {
        stream_print(&s, stdout);
        return true;
    }
    play(&s, false, &v);
    if (v.text[0] == '\0')
        return true;
    printf("sequences: FAILED: seed %lu (%lu events)%s%s: %s", seed, a->events, a->clusters ? " --clusters" : "",
           a->whole && !a->local ? " --whole --api"
           : a->whole            ? " --whole"
           : a->local            ? " --local"
                                 : "",
           v.text);
    if (!a->shrinks)
        return false;
    fflush(stdout);
    shrink(&s, &v, &shrunk);
    printf("# seed %lu of %lu events, shrunk to %zu in %u tries; a file of these lines is a case for --play\n# %.*s\n",
           seed, a->events, shrunk.best.count, shrunk.tries, (int)(strlen(shrunk.verdict.text) - 1),
           shrunk.verdict.text);
    stream_print(&shrunk.best, stdout);
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What `make test` plays behind the cases: a share of so many seeds (EFFORT). */
static const struct lane {
    bool local, whole, clusters;
    unsigned count;
} lanes[] = {{false, false, false, 75}, {true, false, false, 75}, {false, false, true, 45},
             {true, false, true, 45},   {true, true, false, 40},  {false, true, false, 20}};

/* Of all that play side by side. */
struct tally {
    unsigned next, cases, streams, failed;
};

static size_t find_cases(char *paths[], size_t max)
{
    size_t count = 0;
    DIR *dir = opendir(CASES);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        if (strstr(e->d_name, ".txt") != NULL && count < max && asprintf(&paths[count], CASES "/%s", e->d_name) > 0)
            count++;
    if (dir != NULL)
        closedir(dir);
    qsort(paths, count, sizeof(paths[0]), by_name);
    return count;
}

/* Of the fixed ones that seed; false: there are no more. */
static bool take_fixed(struct arguments *a, size_t number)
{
    for (size_t i = 0; i < array_len(lanes); i++) {
        size_t count = (size_t)effort((int)lanes[i].count);
        if (number < count) {
            a->local = lanes[i].local;
            a->whole = lanes[i].whole;
            a->clusters = lanes[i].clusters;
            a->seed = number + 1;
            return true;
        }
        number -= count;
    }
    return false;
}

static void play_next_ones(struct arguments a, char *const cases[], size_t case_count, struct tally *tally)
{
    unsigned long first = a.seed;
    time_t end = time(NULL) + (time_t)a.seconds;
    while (a.shrinks || __atomic_load_n(&tally->failed, __ATOMIC_RELAXED) == 0) {
        size_t number = __atomic_fetch_add(&tally->next, 1, __ATOMIC_RELAXED);
        bool is_case = number < case_count, sound;
        a.seed = first + number;
        if (!is_case && (a.fixed         ? !take_fixed(&a, number - case_count)
                         : a.seconds > 0 ? time(NULL) >= end
                                         : number >= a.count))
            return;
        sound = is_case ? play_case(cases[number], false) : play_seed(a.seed, &a);
        __atomic_fetch_add(is_case ? &tally->cases : &tally->streams, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&tally->failed, !sound, __ATOMIC_RELAXED);
    }
}

/* As many side by side as there are cores; who only asks whether any fails has others beside it. */
static struct tally play_all(const struct arguments *a)
{
    static char *cases[256];
    size_t case_count = a->fixed ? find_cases(cases, array_len(cases)) : 0;
    long players = a->shrinks && !a->prints ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    struct tally *tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tally == MAP_FAILED)
        abort();
    fflush(NULL);
    for (long i = 1; i < players; i++) {
        pid_t child = fork();
        if (child != 0)
            continue;
        play_next_ones(*a, cases, case_count, tally);
        fflush(NULL);
        _exit(0);
    }
    play_next_ones(*a, cases, case_count, tally);
    for (int status; wait(&status) > 0;)
        tally->failed += status != 0;
    return *tally;
}

static int usage(void)
{
    fprintf(stderr, "sequences [--seed N] [--count N] [--events N] [--time SECONDS] [--world SETTINGS] | "
                    "--play FILE [-v] | --kinds\n");
    return 2;
}

static int print_kinds(void)
{
    for (size_t i = 0; i < event_kind_count; i++)
        printf("%-18s %s\n", event_kinds[i].name, event_kinds[i].what);
    for (size_t i = 0; i < whole_event_kind_count; i++)
        printf("%-18s %s\n", whole_event_kinds[i].name, whole_event_kinds[i].what);
    return 0;
}

int main(int argc, char **argv)
{
    struct arguments a = {.seed = 1,
                          .count = 45,
                          .events = FIXED_EVENTS,
                          .fixed = argc == 1,
                          .shrinks = getenv("SEQUENCES_SHRINK") == NULL,
                          .settings = ""};
    for (int i = 1; i < argc; i++) {
        unsigned long *number = strcmp(argv[i], "--seed") == 0     ? &a.seed
                                : strcmp(argv[i], "--count") == 0  ? &a.count
                                : strcmp(argv[i], "--events") == 0 ? &a.events
                                : strcmp(argv[i], "--time") == 0   ? &a.seconds
                                                                   : NULL;
        if (strcmp(argv[i], "--kinds") == 0)
            return print_kinds();
        else if (strcmp(argv[i], "-v") == 0)
            a.chatty = true;
        else if (strcmp(argv[i], "--print") == 0)
            a.prints = true;
        else if (strcmp(argv[i], "--local") == 0)
            a.local = true;
        else if (strcmp(argv[i], "--clusters") == 0)
            a.clusters = true;
        else if (strcmp(argv[i], "--whole") == 0)
            a.local = a.whole = true;
        else if (strcmp(argv[i], "--api") == 0)
            a.api = true;
        else if (i + 1 == argc)
            return usage();
        else if (strcmp(argv[i], "--play") == 0)
            a.play = argv[++i];
        else if (strcmp(argv[i], "--world") == 0)
            a.settings = argv[++i];
        else if (number != NULL)
            *number = strtoul(argv[++i], NULL, 10);
        else
            return usage();
    }
    a.local = a.local && !a.api;
    if (a.play != NULL)
        return play_case(a.play, a.chatty) ? 0 : 1;
    struct tally t = play_all(&a);
    printf("sequences: %u cases and %u streams of %lu events, %u failed\n", t.cases, t.streams, a.events, t.failed);
    return t.failed == 0 ? 0 : 1;
}
