#include "configuration/culprits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"

#define FORGET_MS 600000
#define REFUSALS_FREE 2 /* after these a change is tried at once */
#define PAUSE_MS 10000
#define PAUSE_MAX_MS 300000

enum culprit_state { TRIED, GOOD, BAD, REST, LATER, OUT };

struct culprit {
    UT_hash_handle hh;
    enum culprit_state state;
    uint64_t hash;
    bool seen, known;  /* now; since the start, so that the source has its form */
    bool accepted;     /* a document with this content was loaded */
    char *why;         /* of OUT, and of one that waits */
    unsigned refusals; /* within FORGET_MS of each other */
    uint64_t refused_ms, not_before_ms;
    struct culprit *former; /* its last good form; NULL: none */
    struct culprit *of;     /* a last good form: whose; NULL: it is none */
    char key[];
};

/* Part of a key. */
struct owner {
    const char *name;
    size_t len;
};

static struct culprit *culprits_find(const struct culprits *c, const char *key)
{
    struct culprit *found;
    HASH_FIND_STR(c->all, key, found);
    return found;
}

static struct culprit *culprits_add(struct culprits *c, const char *key, uint64_t hash, enum culprit_state state)
{
    size_t bytes = strlen(key) + 1;
    struct culprit *one = mem_alloc(sizeof(*one) + bytes);
    one->hash = hash;
    one->state = state;
    memcpy(one->key, key, bytes);
    HASH_ADD_STR(c->all, key, one);
    return one;
}

static void culprits_remove(struct culprits *c, struct culprit *one)
{
    if (one->of != NULL)
        one->of->former = NULL;
    if (one->former != NULL)
        one->former->of = NULL;
    HASH_DEL(c->all, one); /* NOLINT(clang-analyzer-unix.Malloc) */
    free(one->why);
    free(one);
}

void culprits_fini(struct culprits *c)
{
    struct culprit *one, *next;
    HASH_ITER (hh, c->all, one, next)
        culprits_remove(c, one);
    free(c->why);
    free(c->blameless);
    *c = (struct culprits){0};
}

static bool is_left_out(const struct culprit *one)
{
    return one->state != GOOD && one->state != TRIED;
}

/* A last good form counts while it stands for its object. */
static bool counts(const struct culprit *one)
{
    return one->of == NULL || is_left_out(one->of);
}

static bool waits(const struct culprits *c, const struct culprit *one)
{
    return one->state == LATER && one->not_before_ms > c->now_ms;
}

/* Left out, or as it was before, and known to be to blame. */
static bool is_refused(const struct culprits *c, const struct culprit *one)
{
    return one->state == OUT || waits(c, one);
}

static size_t culprits_of(const struct culprits *c, enum culprit_state state)
{
    size_t count = 0;
    for (const struct culprit *one = c->all; one != NULL; one = one->hh.next)
        /* The analyzer does not see that those that were removed are not in the table's own list. */
        count += one->state == state && counts(one) && !waits(c, one); /* NOLINT(clang-analyzer-unix.Malloc) */
    return count;
}

static void culprits_move(struct culprits *c, enum culprit_state from, enum culprit_state to)
{
    for (struct culprit *one = c->all; one != NULL; one = one->hh.next)
        if (one->state == from && !waits(c, one)) /* NOLINT(clang-analyzer-unix.Malloc) */
            one->state = to;
}

/* Whose it is: "shop" of "ingresses shop/web". Of what is no namespace's it is the whole key. */
static struct owner culprits_owner(const struct culprit *one)
{
    const char *space = strchr(one->key, ' '), *name = space != NULL ? space + 1 : one->key;
    return (struct owner){.name = name, .len = strcspn(name, "/\n")};
}

static int owner_order(const void *a, const void *b)
{
    const struct owner *x = a, *y = b;
    size_t len = x->len < y->len ? x->len : y->len;
    int order = memcmp(x->name, y->name, len);
    return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

/* The owner of more than half of the BAD ones, where others have some, too. */
static bool culprits_main_owner(const struct culprits *c, size_t bad, struct owner *ret)
{
    cleanup(mem_free_ptr) struct owner *all = mem_array(bad, sizeof(all[0]));
    size_t count = 0, same = 0;
    for (const struct culprit *one = c->all; one != NULL; one = one->hh.next)
        if (one->state == BAD && count < bad)
            all[count++] = culprits_owner(one);
    if (count == 0)
        return false;
    qsort(all, count, sizeof(all[0]), owner_order);
    *ret = all[count / 2]; /* who has more than half has the middle */
    for (size_t i = 0; i < count; i++)
        same += owner_order(&all[i], ret) == 0;
    return same > count / 2 && same < count;
}

/* All that is not that owner's: what one namespace changes all at once keeps no other one's change from HAProxy. */
static void culprits_try_others(struct culprits *c, const struct owner *of)
{
    for (struct culprit *one = c->all; one != NULL; one = one->hh.next) {
        const struct owner owner = culprits_owner(one);
        if (one->state == BAD && owner_order(&owner, of) != 0)
            one->state = TRIED;
    }
}

/* The half of the BAD ones that were shown last as they are now: those before it were in more of the documents that were refused. */
static void culprits_try_half(struct culprits *c, size_t bad)
{
    struct owner of;
    if (culprits_main_owner(c, bad, &of)) {
        culprits_try_others(c, &of);
        return;
    }
    size_t stay = (bad + 1) / 2;
    for (struct culprit *one = c->all; one != NULL; one = one->hh.next)
        if (one->state == BAD && stay > 0)
            stay--;
        else if (one->state == BAD)
            one->state = TRIED;
}

static void say(char **text, const char *why)
{
    char *copy = mem_strdup(why);
    free(*text);
    *text = copy;
}

/* ---- which there are ---- */

void culprits_begin(struct culprits *c, uint64_t now_ms)
{
    c->now_ms = now_ms;
    for (struct culprit *one = c->all; one != NULL; one = one->hh.next)
        one->seen = false;
}

/* One of them may be to blame after all. */
static void culprits_doubt(struct culprits *c)
{
    c->gave_up = false;
    say(&c->blameless, NULL);
}

/* Something is another one than when its group was judged. */
static void culprits_changed(struct culprits *c, const struct culprit *one)
{
    if (one->state == TRIED || one->state == BAD)
        c->known = false;
    culprits_doubt(c);
}

/* As it is now it was accepted. No key of an object has a line's end. */
static void culprits_add_former(struct culprits *c, struct culprit *of)
{
    cleanup(mem_free_ptr) char *key = mem_printf("%s\n", of->key);
    of->former = culprits_add(c, key, of->hash, of->state);
    of->former->of = of;
    of->former->accepted = true;
}

bool culprits_see(struct culprits *c, const char *key, uint64_t hash)
{
    struct culprit *one = culprits_find(c, key);
    bool was_good = false;
    if (one == NULL) {
        one = culprits_add(c, key, hash, TRIED);
        culprits_doubt(c);
    } else if (one->hash != hash) {
        culprits_changed(c, one);
        was_good = one->accepted && one->known;
        if (was_good)
            culprits_add_former(c, one);
        bool suspect = one->state != GOOD && (one->state != TRIED || c->searching);
        one->state = suspect ? LATER : TRIED;
        one->hash = hash;
        one->accepted = false;
        HASH_DEL(c->all, one);
        HASH_ADD_STR(c->all, key, one);
    }
    one->seen = one->known = true;
    if (one->former != NULL)
        one->former->seen = true;
    return was_good;
}

void culprits_end(struct culprits *c)
{
    struct culprit *one, *next;
    HASH_ITER (hh, c->all, one, next) {
        if (one->seen)
            continue;
        culprits_changed(c, one);
        culprits_remove(c, one);
    }
}

enum culprits_form culprits_form(const struct culprits *c, const char *key)
{
    const struct culprit *one = culprits_find(c, key);
    if (one == NULL || !is_left_out(one))
        return CULPRITS_AS_IT_IS;
    return one->former != NULL && !is_left_out(one->former) ? CULPRITS_AS_BEFORE : CULPRITS_LEFT_OUT;
}

bool culprits_has_former(const struct culprits *c, const char *key)
{
    const struct culprit *one = culprits_find(c, key);
    return one != NULL && one->former != NULL;
}

bool culprits_may_go_back(const struct culprits *c)
{
    bool any = false;
    for (const struct culprit *one = c->all; one != NULL && !any; one = one->hh.next)
        any = one->of != NULL && !is_left_out(one->of);
    return any;
}

bool culprits_leaves_any_out(const struct culprits *c)
{
    bool any = false;
    for (const struct culprit *one = c->all; one != NULL && !any; one = one->hh.next)
        any = is_left_out(one);
    return any;
}

const char *culprits_why(const struct culprits *c, const char *key)
{
    const struct culprit *one = culprits_find(c, key);
    return one != NULL && is_refused(c, one) ? one->why : NULL;
}

bool culprits_trial(const struct culprits *c)
{
    return c->trial;
}

size_t culprits_count(const struct culprits *c)
{
    size_t count = 0;
    for (const struct culprit *one = c->all; one != NULL; one = one->hh.next)
        count += is_refused(c, one);
    return count;
}

/* ---- the search ---- */

static void culprits_pause(const struct culprits *c, struct culprit *one)
{
    bool again = one->refusals > 0 && c->now_ms - one->refused_ms < FORGET_MS;
    uint64_t pause_ms = PAUSE_MS;
    one->refusals = again ? one->refusals + 1 : 1;
    one->refused_ms = c->now_ms;
    for (unsigned i = REFUSALS_FREE + 1; i < one->refusals && pause_ms < PAUSE_MAX_MS; i++)
        pause_ms *= 2;
    pause_ms = one->refusals <= REFUSALS_FREE ? 0 : pause_ms < PAUSE_MAX_MS ? pause_ms : PAUSE_MAX_MS;
    one->not_before_ms = c->now_ms + pause_ms;
    cleanup(mem_free_ptr) char *why = pause_ms == 0
                                          ? mem_strdup(c->why)
                                          : mem_printf("%s (refused %u times: a change is tried after a pause of %u s)",
                                                       c->why, one->refusals, (unsigned)(pause_ms / 1000));
    say(&one->why, why);
}

/* A last good form that is refused, too, is none any more. */
static void culprits_blame(struct culprits *c)
{
    struct culprit *one, *next;
    HASH_ITER (hh, c->all, one, next) {
        if (one->state != BAD)
            continue;
        if (one->of != NULL) {
            culprits_remove(c, one);
            continue;
        }
        one->state = OUT;
        one->accepted = false;
        culprits_pause(c, one);
    }
}

/* Nothing was written meanwhile: what was found good is now. */
static void culprits_end_trial(struct culprits *c)
{
    c->trial = false;
    for (struct culprit *one = c->all; one != NULL; one = one->hh.next)
        if (one->state == GOOD && !one->accepted) /* NOLINT(clang-analyzer-unix.Malloc) */
            one->state = TRIED;
}

/* After a document was accepted: what is tried next. False: nothing is left to be tried. */
static bool culprits_next(struct culprits *c)
{
    if (!c->known)
        culprits_move(c, BAD, REST);
    size_t bad = culprits_of(c, BAD);
    if (bad == 1)
        culprits_blame(c);
    if (bad > 1)
        culprits_try_half(c, bad);
    else if (culprits_of(c, REST) > 0)
        culprits_move(c, REST, TRIED);
    else if (culprits_of(c, LATER) > 0)
        culprits_move(c, LATER, TRIED);
    else {
        bool trial = c->trial;
        c->searching = c->confirmed = false;
        culprits_end_trial(c);
        return trial || bad == 1; /* without it the document is another one, or it has a reason to tell */
    }
    return c->searching = true;
}

static bool culprits_accepted(struct culprits *c)
{
    struct culprit *one, *next;
    for (one = c->all; one != NULL; one = one->hh.next) {
        if (one->state == TRIED)
            one->state = GOOD;
        one->accepted = one->accepted || (one->state == GOOD && !c->trial);
    }
    HASH_ITER (hh, c->all, one, next)
        if (one->of != NULL && one->of->accepted)
            culprits_remove(c, one);
    c->confirmed = true;
    c->others = false;
    culprits_doubt(c);
    return culprits_next(c);
}

static void culprits_give_up(struct culprits *c)
{
    for (struct culprit *one = c->all; one != NULL; one = one->hh.next)
        if (!is_refused(c, one))
            one->state = one->accepted ? GOOD : TRIED;
    c->searching = c->confirmed = c->trial = false;
    c->gave_up = true;
}

/* Of the TRIED ones, of which some, or which together, spoil it. */
static void culprits_suspect(struct culprits *c, const char *why)
{
    if (c->confirmed || c->others)
        culprits_move(c, BAD, REST);
    culprits_move(c, TRIED, BAD);
    c->others = false;
    c->known = true;
    say(&c->why, why);
}

/* Not even the GOOD ones are accepted. What has a last good form, which is one of them, is tried after them. */
static void culprits_suspect_all(struct culprits *c, const char *why)
{
    c->known = true;
    for (struct culprit *one = c->all; one != NULL; one = one->hh.next) {
        bool suspect = one->state == BAD || one->state == REST, other = one->former != NULL && one->state == GOOD;
        c->known = c->known && !other && (one->of == NULL || !suspect);
        if (one->of != NULL)
            one->state = BAD;
        else if (suspect || other)
            one->state = LATER;
    }
    culprits_move(c, GOOD, BAD);
    c->confirmed = false;
    c->trial = true;
    say(&c->why, why);
}

static bool culprits_rejected(struct culprits *c, const struct culprits_verdict *v)
{
    if (c->all == NULL)
        return false;
    if (c->gave_up)
        say(&c->blameless, v->why);
    c->gave_up = false;
    if (c->blameless != NULL && str_eq(c->blameless, v->why))
        return false;
    struct owner of;
    bool first = !c->searching;
    c->confirmed = c->confirmed && !first;
    c->searching = true;
    if (culprits_of(c, TRIED) > 0) {
        culprits_suspect(c, v->why);
        if (c->confirmed)
            return culprits_next(c);
        c->trial = c->trial || (!v->load && culprits_of(c, GOOD) == 0);
        c->others = first && culprits_of(c, GOOD) > 0 && culprits_main_owner(c, culprits_of(c, BAD), &of);
        if (c->others)
            culprits_try_others(c, &of);
        return true;
    }
    if (v->load || culprits_of(c, GOOD) == 0) {
        culprits_give_up(c);
        return true;
    }
    culprits_suspect_all(c, v->why);
    return true;
}

void culprits_try_again(struct culprits *c)
{
    for (struct culprit *one = c->all; one != NULL; one = one->hh.next)
        one->not_before_ms = one->refusals = 0;
    culprits_move(c, OUT, LATER);
    culprits_doubt(c);
}

uint64_t culprits_due_ms(const struct culprits *c)
{
    uint64_t due_ms = 0;
    for (const struct culprit *one = c->all; one != NULL; one = one->hh.next)
        if (waits(c, one) && (due_ms == 0 || one->not_before_ms < due_ms))
            due_ms = one->not_before_ms;
    return due_ms;
}

bool culprits_judge(struct culprits *c, const struct culprits_verdict *v, uint64_t now_ms)
{
    c->now_ms = now_ms;
    return v->accepted ? culprits_accepted(c) : culprits_rejected(c, v);
}

void culprits_each(const struct culprits *c, void (*fn)(void *arg, const char *key, const char *why), void *arg)
{
    for (const struct culprit *one = c->all; one != NULL; one = one->hh.next)
        if (is_refused(c, one))
            fn(arg, one->key, one->why);
}

/* ---- over a restart ---- */

void culprits_print(const struct culprits *c, struct buf *out)
{
    for (const struct culprit *one = c->all; one != NULL; one = one->hh.next) {
        if (one->of != NULL || (one->state != OUT && !one->accepted))
            continue;
        buf_printf(out, "%s\t%016" PRIx64 "\t%s\t", one->state == OUT ? "out" : "in", one->hash, one->key);
        for (const char *at = one->state == OUT ? one->why : ""; *at != '\0'; at++)
            buf_addn(out, *at == '\n' || *at == '\t' ? " " : at, 1);
        buf_add(out, "\n");
    }
}

void culprits_read(struct culprits *c, const char *text)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(text);
    char *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        const char *state = strsep(&line, "\t"), *hash = strsep(&line, "\t"), *key = strsep(&line, "\t");
        if (line == NULL || *key == '\0' || culprits_find(c, key) != NULL ||
            (!str_eq(state, "in") && !str_eq(state, "out")))
            continue;
        struct culprit *one = culprits_add(c, key, strtoull(hash, NULL, 16), *state == 'o' ? OUT : GOOD);
        one->accepted = one->state == GOOD;
        say(&one->why, one->state == OUT ? line : NULL);
    }
}
