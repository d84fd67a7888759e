/*
 * Scenes: what happens to the servers engine in the world of engine_world.h, and what has to be, as one text of steps between " | ":
 *
 *     desired n1 n2* because ADDED slice     two SET (of the second backend)     both SET / SET
 *     pass resync+5000     settle     until C     answer     call (is answered)     start     synced     refresh     stop
 *     again (another daemon starts)     clear (the trace)     forget (the log)     times 6 stranger n7; pass 6min
 *
 *     fault F 409 x1 after 20000 applied     mend     stranger n7 (writes, and it is loaded)     write SET (not loaded yet)
 *     restart (HAProxy)     have SET     run SET     run-two SET     sign n1!     set deaf     unset deaf     fail-reloads 1
 *     forbidden n9     failing n1,n3,     reload-list failed|pending|none
 *
 *     settled SET     settled-two SET     running SET     running-two SET     file SET     configured SET     trace B+-CR
 *     in-sync     out-of-sync     ready TEXT     unready TEXT     logged TEXT     unlogged TEXT     verification verified
 *     commits 1     commits <=30     count F 1     metric reloads/succeeded 1     busy C     calling     not-calling
 *
 *     world 2 routes      another world: a number of backends, "routes" (runtime updates, with parking), "no-parking", "braked"
 *                         (half of the servers may be lost at once), "dry", "empty", "cluster" (a)
 *     begin 2 braked      such a world, in sync with n1
 */
#pragma once

#include <ctype.h>

#include "../engine_world.h"

#define HOUR_MS 3600000ull

static inline void assert_file(const char *set)
{
    ck_assert_msg(set_eq(w.file.of[0], set), "the file has \"%s\", not \"%s\": %s", w.file.of[0], set,
                  buf_str(&w.trace));
}

/* Exactly one of the states is 1. */
static inline const char *verification(void)
{
    const char *found = NULL;
    for (enum verification_state s = 0; s < VERIFICATION_STATES; s++) {
        double value = metric_value(w.metrics.runtime_verification, API_URL, verification_state_name(s), NULL);
        ck_assert(value <= 0 || (value >= 1 && found == NULL));
        found = value > 0 ? verification_state_name(s) : found;
    }
    ck_assert_ptr_nonnull(found);
    return found;
}

/* In sync with servers that were there before. */
static inline void in_sync_with(const char *set)
{
    set_copy(w.have.of[0], set);
    w.file = w.running = w.have;
    instance_start(w.target.instance);
    desired(set, "the first list");
    pass(0);
    ck_assert(in_sync());
    buf_clear(&w.trace);
}

static inline void three_in_sync(void)
{
    world_make_updates();
    in_sync_with("n1 n2 n3");
}

struct scene {
    const char *title, *steps;
};

/* ---- which step ---- */

static struct {
    const char *title, *step;
} playing;

static inline void expect(bool is, const char *have)
{
    ck_assert_msg(is, "%s, at \"%s\": %s; %s", playing.title, playing.step, have, buf_str(&w.trace));
}

static inline void expect_set(const char *have, const char *want)
{
    expect(set_eq(have, want), have);
}

static inline void expect_number(double have, const char *rest)
{
    char text[32];
    double want = strtod(rest + strspn(rest, "<>="), NULL);
    snprintf(text, sizeof(text), "%g", have);
    expect(rest[0] == '<' ? have <= want : rest[0] == '>' ? have >= want : have >= want && have <= want, text);
}

/* ---- words ---- */

/* "5000", "resync+1000", "10min", "2reload+500", "resync/6" */
static inline uint64_t ms_of(const char *s)
{
    static const struct {
        const char *word;
        uint64_t ms;
    } units[] = {{"min", MINUTES_MS}, {"hour", HOUR_MS}, {"resync", RESYNC_MS}, {"reload", RELOAD_DELAY_MS}};
    uint64_t sum = 0;
    for (char sign = '+'; sign != '\0'; sign = *s, s += sign != '\0') {
        char *end = NULL;
        uint64_t term = isdigit((unsigned char)s[0]) ? strtoull(s, &end, 10) : 1;
        s = end != NULL ? end : s;
        for (size_t i = 0; i < array_len(units); i++)
            if (str_has_prefix(s, units[i].word)) {
                term *= units[i].ms;
                s += strlen(units[i].word);
                break;
            }
        if (s[0] == '/') {
            term /= strtoull(s + 1, &end, 10);
            s = end;
        }
        sum = sign == '-' ? sum - term : sum + term;
    }
    return sum;
}

static inline bool *flag_of(const char *word)
{
    const struct {
        const char *word;
        bool *flag;
    } flags[] = {{"paused", &w.paused},
                 {"deaf", &w.deaf},
                 {"unreadable", &w.unreadable},
                 {"lies", &w.lies},
                 {"stubborn", &w.stubborn},
                 {"held", &w.held},
                 {"down", &w.down},
                 {"restless", &w.restless},
                 {"unsupported", &w.unsupported},
                 {"reloads-fast", &w.reloads_fast},
                 {"forgets-fast", &w.forgets_fast},
                 {"absent", &w.absent[0]},
                 {"crossing", &w.crossing},
                 {"stale-file", &w.stale_file},
                 {"call-held", &w.call.held},
                 {"answers-in-turns", &w.answers_in_turns}};
    for (size_t i = 0; i < array_len(flags); i++)
        if (str_eq(word, flags[i].word))
            return flags[i].flag;
    ck_abort_msg("%s: flag \"%s\"", playing.title, word);
    return NULL;
}

/* "F 409 x1 after 20000 applied" */
static inline void play_fault(char *rest)
{
    struct fault f = {.step = strsep(&rest, " ")[0]};
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (str_eq(word, "applied"))
            f.applied = true;
        else if (str_eq(word, "after"))
            f.after_ms = (unsigned)ms_of(strsep(&rest, " "));
        else if (word[0] == 'x')
            f.times = (int)ms_of(word + 1);
        else
            f.status = (int)ms_of(word);
    }
    fault(f);
}

static inline void play_world(char *rest)
{
    struct plan_rules rules = {.max_loss_percent = 100};
    size_t backends = 1;
    uint64_t park_ttl_ms = 0;
    bool routes = false;
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (isdigit((unsigned char)word[0]))
            backends = (size_t)ms_of(word);
        else if (str_eq(word, "routes"))
            routes = (park_ttl_ms = HOUR_MS) > 0;
        else if (str_eq(word, "no-parking"))
            park_ttl_ms = 0;
        else if (str_eq(word, "braked"))
            rules = (struct plan_rules){.max_loss_percent = 50, .loss_window_ms = RESYNC_MS};
        else if (str_eq(word, "dry"))
            rules.dry_run = true;
        else if (str_eq(word, "empty"))
            rules.diff.allow_empty = true;
        else if (str_eq(word, "cluster"))
            rules.diff = (struct diff_rules){.cluster = "a", .server_name_format = "{cluster}_{node}"};
        else
            ck_abort_msg("%s: rule \"%s\"", playing.title, word);
    }
    if (w.target.servers != NULL)
        world_end();
    world_make_as(backends, rules, park_ttl_ms, routes);
}

static inline void play_begin(char *rest)
{
    play_world(rest);
    instance_start(w.target.instance);
    if (w.backends == 2)
        desired_both("n1", "n1", "the first list");
    else
        desired("n1", "the first list");
    pass(0);
    buf_clear(&w.trace);
}

/* Behind " because ", which is cut off. */
static inline const char *cause_of(char *rest)
{
    char *at = strstr(rest, "because ");
    if (at == NULL)
        return "event";
    at[at > rest ? -1 : 0] = '\0';
    return at + strlen("because ");
}

/* "reloads/succeeded 1", with the labels that it has but the HAProxy's. */
static inline void play_metric(char *rest)
{
    const struct {
        const char *name;
        struct metric *metric;
        bool of_all;
    } metrics[] = {
        {"watch_event_to_commit", w.metrics.watch_event_to_commit, true},
        {"watch_event_to_runtime", w.metrics.watch_event_to_runtime, true},
        {"reloads", w.metrics.reloads, false},
        {"reconciles", w.metrics.reconciles, false},
        {"drifts", w.metrics.drifts, false},
        {"paused", w.metrics.paused, false},
        {"runtime_commands", w.metrics.runtime_commands, false},
        {"changes_reverted", w.metrics.changes_reverted, false},
        {"changes_pending", w.metrics.changes_pending, false},
        {"servers_configured", w.metrics.servers_configured, false},
        {"servers_desired", w.metrics.servers_desired, false},
        {"servers_draining", w.metrics.servers_draining, false},
        {"servers_overridden", w.metrics.servers_overridden, false},
        {"servers_parked", w.metrics.servers_parked, false},
        {"servers_removal_delayed", w.metrics.servers_removal_delayed, false},
    };
    char *words = strsep(&rest, " "), *name = strsep(&words, "/");
    const char *labels[3] = {NULL};
    size_t count = 0, i = 0;
    while (words != NULL)
        labels[count++] = strsep(&words, "/");
    while (i < array_len(metrics) && !str_eq(name, metrics[i].name))
        i++;
    ck_assert_msg(i < array_len(metrics), "%s: metric \"%s\"", playing.title, name);
    if (!metrics[i].of_all)
        labels[count] = API_URL;
    expect_number(metric_value(metrics[i].metric, labels[0], labels[1], labels[2], NULL), rest);
}

static inline bool play_number(const char *word, const char *rest)
{
    const struct {
        const char *word;
        unsigned have;
    } numbers[] = {{"commits", w.commits}, {"fast", w.fast},   {"written", w.commits + w.fast},
                   {"reloads", w.reloads}, {"looks", w.looks}, {"transactions", w.transactions},
                   {"stopped", w.stopped}, {"infos", w.infos}, {"pid", w.pid},
                   {"open", w.transaction}};
    for (size_t i = 0; i < array_len(numbers); i++)
        if (str_eq(word, numbers[i].word)) {
            expect_number(numbers[i].have, rest);
            return true;
        }
    return false;
}

/* "dm 0": of these letters */
static inline void play_count(const char *rest)
{
    unsigned sum = 0;
    for (; *rest != ' '; rest++)
        sum += count(*rest);
    expect_number(sum, rest + 1);
}

static inline void play_ready(bool wanted, const char *text)
{
    cleanup(buf_fini) struct buf body = {0};
    expect(ready(&body) == wanted && strstr(buf_str(&body), text) != NULL, buf_str(&body));
}

static inline void play_settled(size_t backend, const char *set)
{
    expect_set(w.have.of[backend], set);
    if (!w.deaf || backend > 0)
        expect_set(w.running.of[backend], set);
    if (backend > 0)
        return;
    expect(in_sync(), "not in sync");
    play_ready(true, "in sync");
}

/* What is asserted; false: it is no such word. */
static inline bool play_assertion(const char *word, char *rest)
{
    if (str_eq(word, "settled"))
        play_settled(0, rest);
    else if (str_eq(word, "settled-two"))
        play_settled(1, rest);
    else if (str_eq(word, "running"))
        expect_set(w.running.of[0], rest);
    else if (str_eq(word, "running-two"))
        expect_set(w.running.of[1], rest);
    else if (str_eq(word, "file"))
        expect_set(w.file.of[0], rest);
    else if (str_eq(word, "configured"))
        expect_set(w.have.of[0], rest);
    else if (str_eq(word, "configured-two"))
        expect_set(w.have.of[1], rest);
    else if (str_eq(word, "trace")) {
        expect(str_eq(buf_str(&w.trace), rest), "another trace");
        buf_clear(&w.trace);
    } else if (str_eq(word, "in-sync") || str_eq(word, "out-of-sync"))
        expect(in_sync() == (word[0] == 'i'), "it is otherwise");
    else if (str_eq(word, "ready") || str_eq(word, "unready"))
        play_ready(word[0] == 'r', rest);
    else if (str_eq(word, "logged") || str_eq(word, "unlogged"))
        expect(logged(rest) == (word[0] == 'l'), "it is otherwise");
    else if (str_eq(word, "verification"))
        expect(str_eq(verification(), rest), verification());
    else if (str_eq(word, "count"))
        play_count(rest);
    else if (str_eq(word, "metric"))
        play_metric(rest);
    else if (str_eq(word, "busy"))
        expect(w.busy && step_of() == rest[0], "another request");
    else if (str_eq(word, "calling") || str_eq(word, "not-calling"))
        expect(w.call.busy == (word[0] == 'c'), "it is otherwise");
    else
        return play_number(word, rest);
    return true;
}

static inline void play_desired(const char *word, char *rest)
{
    const char *cause = cause_of(rest);
    char *other = strstr(rest, "/ ");
    if (str_eq(word, "both")) {
        other[other > rest ? -1 : 0] = '\0';
        desired_both(other > rest ? rest : "", other + 2, cause);
    } else if (str_eq(word, "two")) {
        desired_of(1, rest, cause);
        servers_apply(w.target.servers);
    } else {
        desired(rest, cause);
    }
}

/* "failed", "succeeded", "pending", "none"; "": the true one */
static inline const char *reload_list(const char *of)
{
    return of[0] == 'f'   ? "[{\"id\":\"r-1\",\"status\":\"failed\",\"response\":\"bad\",\"reload_timestamp\":1}]"
           : of[0] == 's' ? "[{\"id\":\"r-2\",\"status\":\"succeeded\",\"response\":\"\",\"reload_timestamp\":2}]"
           : of[0] == 'p' ? "[{\"id\":\"r-1\",\"status\":\"in_progress\",\"response\":\"\",\"reload_timestamp\":1}]"
           : of[0] == 'n' ? "[]"
                          : NULL;
}

/* The world borrows them. */
static inline void play_names(const char **at, const char *names)
{
    static char copies[2][SET_BYTES];
    set_copy(copies[at == &w.failing], names);
    *at = names[0] != '\0' ? copies[at == &w.failing] : NULL;
}

/* "n1!" */
static inline void play_sign(char *word)
{
    char sign[] = {word[strlen(word) - 1], '\0'};
    word[strlen(word) - 1] = '\0';
    set_sign(w.running.of[0], word, sign, false);
}

/* What another writer does; false: it is no such word. */
static inline bool play_other(const char *word, char *rest)
{
    if (str_eq(word, "fault"))
        play_fault(rest);
    else if (str_eq(word, "mend"))
        mend();
    else if (str_eq(word, "stranger"))
        stranger(rest);
    else if (str_eq(word, "restart"))
        restart_haproxy();
    else if (str_eq(word, "run"))
        set_copy(w.running.of[0], rest);
    else if (str_eq(word, "run-two"))
        set_copy(w.running.of[1], rest);
    else if (str_eq(word, "have")) {
        for (size_t i = 0; i < w.backends; i++)
            set_copy(w.have.of[i], rest);
        w.file = w.running = w.have;
    } else if (str_eq(word, "set") || str_eq(word, "unset"))
        *flag_of(rest) = word[0] == 's';
    else if (str_eq(word, "fail-reloads"))
        w.fail_reloads = (unsigned)ms_of(rest);
    else if (str_eq(word, "sign"))
        play_sign(rest);
    else if (str_eq(word, "write")) {
        set_copy(w.have.of[0], rest);
        w.file = w.have;
        w.file_version = ++w.version;
    } else if (str_eq(word, "reload-list"))
        w.reload_list = reload_list(rest);
    else if (str_eq(word, "forbidden") || str_eq(word, "failing"))
        play_names(word[1] == 'o' ? &w.forbidden : &w.failing, rest);
    else
        return false;
    return true;
}

static inline bool play_own(const char *word, char *rest)
{
    if (str_eq(word, "desired") || str_eq(word, "two") || str_eq(word, "both"))
        play_desired(word, rest);
    else if (str_eq(word, "pass"))
        pass(ms_of(rest));
    else if (str_eq(word, "settle"))
        settle();
    else if (str_eq(word, "until"))
        until(rest[0]);
    else if (str_eq(word, "answer"))
        answer();
    else if (str_eq(word, "call"))
        answer_call();
    else if (str_eq(word, "refresh"))
        instance_refresh(w.target.instance);
    else if (str_eq(word, "stop"))
        stop();
    else if (str_eq(word, "again"))
        start_again();
    else if (str_eq(word, "start"))
        instance_start(w.target.instance);
    else if (str_eq(word, "synced"))
        world_in_sync();
    else if (str_eq(word, "clear"))
        buf_clear(&w.trace);
    else if (str_eq(word, "forget"))
        forget_log();
    else if (str_eq(word, "world"))
        play_world(rest);
    else if (str_eq(word, "begin"))
        play_begin(rest);
    else
        return false;
    return true;
}

static inline void play_text(const char *steps, const char *between, bool (*more)(const char *word, char *rest));

/* "6 stranger n7; pass 6min" */
static inline void play_times(char *rest, bool (*more)(const char *word, char *rest))
{
    for (int left = (int)ms_of(strsep(&rest, " ")); left > 0; left--)
        play_text(rest, "; ", more);
}

static inline void play_text(const char *steps, const char *between, bool (*more)(const char *word, char *rest))
{
    while (steps != NULL && steps[0] != '\0') {
        const char *end = strstr(steps, between);
        cleanup(mem_free_ptr) char *step = end != NULL ? mem_strndup(steps, (size_t)(end - steps)) : mem_strdup(steps);
        cleanup(mem_free_ptr) char *shown = mem_strdup(step);
        char *rest = step;
        const char *word = strsep(&rest, " ");
        rest = rest != NULL ? rest : step + strlen(step);
        playing.step = shown;
        if (str_eq(word, "times"))
            play_times(rest, more);
        else
            ck_assert_msg(play_own(word, rest) || play_other(word, rest) || play_assertion(word, rest) ||
                              (more != NULL && more(word, rest)),
                          "%s: step \"%s\"", playing.title, shown);
        steps = end != NULL ? end + strlen(between) : NULL;
    }
}

/* more: words of the test; NULL: none. */
static inline void play_steps(const char *title, const char *steps, bool (*more)(const char *word, char *rest))
{
    playing.title = title;
    play_text(steps, " | ", more);
}

static inline void play(const struct scene *s)
{
    play_steps(s->title, s->steps, NULL);
}
