/* What may happen to whole configurations; what else may is in events.c, and said in stream.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "world.h"

#define NAMES 8

/* ---- one change of a text ---- */

static struct server *pick(struct section *s, unsigned n)
{
    return s->count > 0 ? &s->servers[n % s->count] : NULL;
}

static void change_weight(struct whole_text *t, size_t backend, unsigned which, unsigned value)
{
    struct server *line = pick(&t->conf.of[backend], which);
    if (line != NULL)
        line->weight = (int)(value % 200);
}

static void change_address(struct whole_text *t, size_t backend, unsigned which, unsigned value)
{
    struct server *line = pick(&t->conf.of[backend], which);
    if (line == NULL)
        return;
    snprintf(line->address, NAME_BYTES, "10.7.0.%u", value % 250);
    line->port = 8000 + value % 3;
}

static void change_state(struct whole_text *t, size_t backend, unsigned which, unsigned value)
{
    struct server *line = pick(&t->conf.of[backend], which);
    (void)value;
    if (line != NULL)
        line->maintenance = line->maintenance == ON ? UNSAID : ON;
}

static void change_check(struct whole_text *t, size_t backend, unsigned which, unsigned value)
{
    struct server *line = pick(&t->conf.of[backend], which);
    if (line == NULL)
        return;
    if (value % 2 == 0)
        line->check = line->check == ON ? UNSAID : ON;
    else
        line->maxconn = 10 + value;
}

static void comes(struct whole_text *t, size_t backend, unsigned which, unsigned value)
{
    struct server line = {.port = 80,
                          .weight = value % 3 == 0 ? -1 : (int)(value % 200),
                          .check = value % 2 == 0 ? ON : UNSAID,
                          .maintenance = value % 5 == 0 ? ON : UNSAID};
    snprintf(line.name, NAME_BYTES, "x%u", which % NAMES);
    snprintf(line.address, NAME_BYTES, "10.8.0.%u", value);
    if (section_find(&t->conf.of[backend], line.name) == NULL)
        section_put(&t->conf.of[backend], &line);
}

static void goes(struct whole_text *t, size_t backend, unsigned which, unsigned value)
{
    struct section *s = &t->conf.of[backend];
    (void)value;
    if (s->count > 1)
        (void)section_remove(s, s->servers[which % s->count].name);
}

static void change_balance(struct whole_text *t, size_t backend, unsigned which, unsigned value)
{
    static const char *const all[] = {"roundrobin", "leastconn", "static-rr"};
    (void)which;
    snprintf(t->conf.of[backend].balance, sizeof(t->conf.of[backend].balance), "%s", all[value % array_len(all)]);
}

static void change_setting(struct whole_text *t, size_t backend, unsigned which, unsigned value)
{
    (void)backend;
    (void)which;
    t->setting = value;
}

static void change_comment(struct whole_text *t, size_t backend, unsigned which, unsigned value)
{
    (void)backend;
    (void)which;
    t->comment = value;
}

static void (*const changes[])(struct whole_text *t, size_t backend, unsigned which, unsigned value) = {
    change_weight, change_address, change_state,   comes,          goes,
    comes,         change_check,   change_balance, change_setting, change_comment};

#define CHANGES 10

static void change(struct whole_text *t, const unsigned *n)
{
    changes[n[0] % CHANGES](t, n[1], n[2], n[3]);
}

/* ---- documents ---- */

static void use(struct world *w, const struct whole_text *to)
{
    const struct whole_text was = w->whole.document;
    w->whole.document = *to;
    if (!was.bad && !was.unloadable)
        w->whole.former = was;
    whole_give(w);
}

static struct whole_text next_of(const struct world *w)
{
    struct whole_text to = w->whole.document;
    to.bad = to.unloadable = to.sick = false;
    return to;
}

static void document(struct world *w, const unsigned *n)
{
    struct whole_text to = next_of(w);
    change(&to, n);
    use(w, &to);
}

/* Several servers at once. */
static void several(struct world *w, const unsigned *n)
{
    struct whole_text to = next_of(w);
    for (unsigned i = 0; i < n[0] + 2; i++) {
        const unsigned one[] = {(n[1] >> i) % 6, (n[2] >> i) % BACKENDS, n[2] + 3 * i, n[3] + 7 * i};
        change(&to, one);
    }
    use(w, &to);
}

/* With a change that a runtime update could make, which is not to reach it. */
static void bad(struct world *w, const unsigned *n)
{
    struct whole_text to = next_of(w);
    const unsigned one[] = {n[3] % 6, n[1], n[2], n[3]};
    change(&to, one);
    to.bad = n[0] == 0;
    to.unloadable = n[0] != 0;
    use(w, &to);
}

static void sick(struct world *w, const unsigned *n)
{
    struct whole_text to = next_of(w);
    change(&to, n);
    to.sick = true;
    use(w, &to);
}

static void again(struct world *w, const unsigned *n)
{
    (void)n;
    whole_give(w);
}

static void former(struct world *w, const unsigned *n)
{
    const struct whole_text to = w->whole.former;
    (void)n;
    use(w, &to);
}

static void change_at_rest(struct world *w, const unsigned *n)
{
    struct whole_text to = next_of(w);
    change(&to, n);
    whole_check_change(w, &to);
}

static void several_at_rest(struct world *w, const unsigned *n)
{
    struct whole_text to = next_of(w);
    for (unsigned i = 0; i < 3; i++) {
        const unsigned one[] = {(n[1] >> i) % 6, n[0], n[2] + 3 * i, n[3] + 7 * i};
        change(&to, one);
    }
    whole_check_change(w, &to);
}

static void pause_it(struct world *w, const unsigned *n)
{
    whole_pause(w, n[0] != 0);
}

/* ---- hands ---- */

#define WRITERS 4
#define HANDS 5

/* Which of them stands in the same number as what: above it. */
static struct api *api_of(struct world *w, unsigned n)
{
    return &w->apis[n % w->settings.targets];
}

/* What is in the file, changed; a load of it, or none. */
static void edit(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0] / (2 * CHANGES));
    struct whole_text to = w->whole.document;
    const unsigned one[] = {n[0] / 2, n[1], n[2], n[3]};
    to.conf = a->on_disk;
    to.bad = to.unloadable = false;
    change(&to, one);
    whole_hand_writes(a, whole_print(&to), n[0] % 2 != 0);
}

/* What the document has is put there by hand. */
static void edit_back(struct world *w, const unsigned *n)
{
    if (!w->whole.document.bad && !w->whole.document.unloadable)
        whole_hand_writes(api_of(w, n[0] / 2), whole_print(&w->whole.document), n[0] % 2 != 0);
}

static void other_writer(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0] / WRITERS);
    if (whole_is_unloadable(a->local.text))
        return;
    free(a->whole.kept);
    a->whole.kept = mem_strdup(a->local.text);
    a->other_writer = n[0] % WRITERS + 1;
}

static void hand(struct world *w, const unsigned *n)
{
    struct api *a = api_of(w, n[0] / HANDS);
    const unsigned what = n[0] % HANDS;
    const size_t count = a->running.of[n[1]].count;
    cleanup(mem_free_ptr) char *fresh = mem_printf("x%u", n[2] % NAMES);
    char name[NAME_BYTES] = "";
    if (w->settings.routes == 0)
        return;
    if (count > 0)
        memcpy(name, a->running.of[n[1]].servers[n[2] % count].name, NAME_BYTES);
    if (what < 3)
        (void)whole_hand_command(a, n[1], name, (enum whole_hand)(1u << what), n[3]);
    else if (what == 3)
        (void)whole_hand_adds(a, n[1], fresh, n[3]);
    else
        (void)whole_hand_removes(a, n[1], name);
}

static void change_files(struct world *w, const unsigned *n)
{
    struct whole_text to = next_of(w);
    to.map = n[0] % 2 == 0 ? n[2] : to.map;
    to.page = n[0] / 2 != 0 ? n[2] : to.page;
    use(w, &to);
}

static void refuse_actions(struct world *w, const unsigned *n)
{
    api_of(w, n[0])->whole.refuse_actions = n[1] + 1;
}

static void refresh(struct world *w, const unsigned *n)
{
    (void)n;
    whole_refresh(w);
    targets_refresh(w->targets);
}

const struct event_kind whole_event_kinds[] = {
    {"whole-document", 40, {CHANGES, BACKENDS, 16, 200}, document, "change backend server value"},
    {"whole-several",
     12,
     {4, 1u << 12, 1u << 8, 200},
     several,
     "count(less 2) changes backends value: several at once"},
    {"whole-bad", 6, {2, BACKENDS, 16, 200}, bad, "how(0: refused, 1: not loaded) backend server value"},
    {"whole-again", 3, {1}, again, "0: the source has the same again"},
    {"whole-former", 8, {1}, former, "0: the document from before comes back"},
    {"whole-rest-change", 3, {CHANGES, BACKENDS, 16, 200}, change_at_rest, "change backend server value: at a rest"},
    {"whole-rest-several",
     2,
     {BACKENDS, 1u << 12, 16, 200},
     several_at_rest,
     "backend changes server value: at a rest"},
    {"whole-pause", 3, {2}, pause_it, "on"},
    {"whole-edit",
     6,
     {2 * CHANGES * 2, BACKENDS, 16, 200},
     edit,
     "change(odd: and a load; of the next target from 20 on) backend server value: by hand"},
    {"whole-edit-back", 2, {2 * 2}, edit_back, "load(of the next target from 2 on): the document, by hand"},
    {"whole-other-writer",
     1,
     {WRITERS * 2},
     other_writer,
     "times(less 1; of the next target from 4 on): what is there now is put back"},
    {"whole-hand",
     6,
     {HANDS * 2, BACKENDS, 16, 200},
     hand,
     "what(address weight state add remove; of the next target from 5 on) backend server value"},
    {"whole-hangup", 2, {1}, refresh, "0"},
    {"whole-api-sick",
     4,
     {CHANGES, BACKENDS, 16, 200},
     sick,
     "change backend server value: and a listener that takes no connections"},
    {"whole-api-files", 14, {3, 1, 50}, change_files, "what(the map, none, both) 0 value"},
    {"whole-api-refuse",
     4,
     {TARGETS_MAX, 4},
     refuse_actions,
     "target which(less 1): an action beside a write that HAProxy refuses"},
};
const size_t whole_event_kind_count = array_len(whole_event_kinds);
