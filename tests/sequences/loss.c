#include "loss.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "world.h"

#define PERIOD_US 30000000
#define LOOK_US 35000000 /* so old may be what the daemon knows of the file */
#define SEEN_US 2000000  /* and so long it takes it to see a line that is new */
#define LEFT_MAX 256
#define COUNTS_MAX 1024

struct left {
    char name[NAME_BYTES];
    uint64_t reported_us;
};

/* One backend of one HAProxy. */
struct losses {
    struct left left[LEFT_MAX]; /* before their time */
    size_t left_count;
    struct {
        uint64_t at_us;
        size_t live;
    } counts[COUNTS_MAX]; /* of live servers, a ring */
    size_t next;
    uint64_t live_since_us[SERVERS_MAX]; /* the line of world.wants; 0: it is not live */
};

struct loss_model {
    struct losses of[TARGETS_MAX][OURS];
};

void loss_open(struct world *w)
{
    w->loss = mem_alloc(sizeof(*w->loss));
}

void loss_close(struct world *w)
{
    free(w->loss);
}

void loss_forget(struct world *w)
{
    if (w->loss != NULL)
        memset(w->loss, 0, sizeof(*w->loss));
}

static size_t count_live(const struct section *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        count += server_is_ours(&s->servers[i]) && !section_says_maintenance(s, &s->servers[i]);
    return count;
}

static void note_live(struct api *a, struct losses *l, size_t backend)
{
    size_t last = (l->next + COUNTS_MAX - 1) % COUNTS_MAX, live = count_live(&a->memory.of[backend]);
    if (l->counts[last].at_us != 0 && l->counts[last].live == live)
        return;
    l->counts[l->next].at_us = a->world->now_us;
    l->counts[l->next].live = live;
    l->next = (l->next + 1) % COUNTS_MAX;
}

/* The most that were live between the two, or when the time began. */
static size_t most_live(const struct losses *l, uint64_t from_us, uint64_t to_us)
{
    size_t most = 0;
    for (size_t n = 0; n < COUNTS_MAX; n++) {
        size_t i = (l->next + COUNTS_MAX - 1 - n) % COUNTS_MAX; /* newest first */
        if (l->counts[i].at_us == 0)
            break;
        if (l->counts[i].at_us > to_us)
            continue;
        most = l->counts[i].live > most ? l->counts[i].live : most;
        if (l->counts[i].at_us <= from_us)
            break;
    }
    return most;
}

static bool is_loss(const struct want *want)
{
    return want != NULL && want->state == WANT_OUT && !want->announced;
}

/* A line that became live when its server was not desired any more is lost since then. */
static void note_lines(struct api *a, struct losses *l, size_t backend)
{
    struct world *w = a->world;
    for (size_t i = 0; i < w->want_counts[backend]; i++) {
        const struct server *line = place_line(a, backend, &w->wants[backend][i]);
        if (line == NULL || section_says_maintenance(&a->memory.of[backend], line))
            l->live_since_us[i] = 0;
        else if (l->live_since_us[i] == 0)
            l->live_since_us[i] = w->now_us;
    }
}

void loss_look(struct api *a)
{
    for (size_t b = 0; b < OURS; b++) {
        struct losses *l = &a->world->loss->of[a->number][b];
        note_live(a, l, b);
        note_lines(a, l, b);
    }
}

static uint64_t reported_us(const struct world *w, const struct losses *l, size_t backend, const struct want *want)
{
    uint64_t live_since_us = l->live_since_us[want - w->wants[backend]];
    return live_since_us > want->since_us ? live_since_us : want->since_us;
}

void loss_reported(struct world *w, size_t backend)
{
    for (size_t t = 0; t < w->settings.targets; t++) {
        struct losses *l = &w->loss->of[t][backend];
        note_live(&w->apis[t], l, backend);
        for (size_t i = l->left_count; i-- > 0;)
            if (!is_loss(want_find(w, backend, l->left[i].name)))
                l->left[i] = l->left[--l->left_count]; /* it returned */
    }
}

void loss_left(struct api *a, size_t backend, const struct want *want, unsigned decided, const char *by)
{
    struct world *w = a->world;
    struct losses *l = &w->loss->of[a->number][backend];
    uint64_t now = w->now_us, oldest = UINT64_MAX;
    size_t early = 0;
    bool known = false;
    note_live(a, l, backend);
    uint64_t since_us = reported_us(w, l, backend, want);
    /* A second line at its place, by a hand, or one that was at another place a moment ago: lost since then. */
    if (strstr(by, "/d") != NULL || (a->moved_us != 0 && now < a->moved_us + 2 * PERIOD_US))
        return;
    if (!is_loss(want) || now >= want->since_us + PERIOD_US || w->settings.limit >= 100 ||
        w->desired_states[backend].state != DESIRED_OK || decided < want->since || decided < w->wanted_since[backend])
        return;
    for (size_t i = 0; i < l->left_count; i++)
        known = known || strcmp(l->left[i].name, want->name) == 0;
    if (!known && l->left_count < LEFT_MAX) {
        l->left[l->left_count] = (struct left){.reported_us = since_us};
        memcpy(l->left[l->left_count++].name, want->name, NAME_BYTES);
    }
    for (size_t i = 0; i < l->left_count; i++) {
        if (now >= l->left[i].reported_us + PERIOD_US)
            continue;
        early++;
        oldest = l->left[i].reported_us < oldest ? l->left[i].reported_us : oldest;
    }
    size_t base = most_live(l, oldest > LOOK_US ? oldest - LOOK_US : 0, oldest + SEEN_US);
    if (early * 100 > base * w->settings.limit)
        violate(w, "loss-limit",
                "%s backend %s: %s leaves rotation by %s %.1f s after its loss was reported; it is number %zu of %zu "
                "within RESYNC_PERIOD, and the limit is %u %%",
                a->url, conf_backends[backend], want->name, by, (double)(now - since_us) / 1e6, early, base,
                w->settings.limit);
}
