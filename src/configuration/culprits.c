#include "configuration/culprits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"

#define FORGET_MS 600000
#define REFUSALS_FREE 2 /* after these a change is tried at once */
#define PAUSE_MS 10000
#define PAUSE_MAX_MS 300000
#define OWNER_REFUSALS 10 /* of one owner's objects, whose others then pause */

enum culprit_state { TRIED, GOOD, BAD, REST, LATER, OUT };

struct refusals {
    unsigned count; /* within FORGET_MS of each other */
    uint64_t last_ms, not_before_ms;
};

/* Whose objects they are: a namespace, or one object without any. */
struct culprit_owner {
    UT_hash_handle hh;
    size_t objects;
    size_t bad;   /* of the BAD ones; of culprits_try_half */
    bool suspect; /* some of them were neither accepted nor found to be culprits when the document was composed */
    bool guilty;  /* in this search a document that of all suspects had its own alone was refused */
    size_t late;  /* in this step its LATER ones were tried before others' culprits were told apart; 0: in none */
    struct refusals refusals;
    char *why; /* they wait */
    char name[];
};

struct culprit {
    UT_hash_handle hh;
    struct culprit_owner *owner;
    enum culprit_state state;
    uint64_t hash;
    bool seen, known; /* now; since the start, so that the source has its form */
    bool accepted;    /* a document with this content was loaded */
    char *why;        /* of OUT, and of one that waits */
    struct refusals refusals;
    struct culprit *former; /* its last good form; NULL: none */
    struct culprit *of;     /* a last good form: whose; NULL: it is none */
    char key[];
};

static struct culprit *culprits_find(const struct culprits *c, const char *key)
{
    struct culprit *found;
    HASH_FIND_STR(c->all, key, found);
    return found;
}

static struct culprit *culprits_add(struct culprits *c, const char *key, uint64_t hash, enum culprit_state state)
{
    /* The owner of "kind NAMESPACE/name" is all up to the name; a last good form has the owner of its object. */
    const char *from = strrchr(key, ' '), *name = from != NULL ? from + 1 : key, *slash = strchr(name, '/');
    size_t bytes = strlen(key) + 1, len = slash != NULL ? (size_t)(slash - name) : strcspn(key, "\n");
    struct culprit *one = mem_alloc(sizeof(*one) + bytes);
    one->hash = hash;
    one->state = state;
    name = slash != NULL ? name : key;
    HASH_FIND(hh, c->owners, name, len, one->owner);
    if (one->owner == NULL) {
        one->owner = mem_alloc(sizeof(*one->owner) + len + 1);
        memcpy(one->owner->name, name, len);
        HASH_ADD(hh, c->owners, name[0], len, one->owner);
    }
    one->owner->objects++;
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
    one->owner->objects--;
    HASH_DEL(c->all, one); /* NOLINT(clang-analyzer-unix.Malloc) */
    mem_free_all(one->why, one);
}

static bool refusals_count(const struct refusals *r, uint64_t now_ms)
{
    return r->count > 0 && now_ms - r->last_ms < FORGET_MS;
}

static bool had_culprits(const struct culprits *c, const struct culprit_owner *o)
{
    return refusals_count(&o->refusals, c->now_ms);
}

/* Who has no object, and no refusals to be remembered. */
static void culprits_drop_owners(struct culprits *c, bool all)
{
    struct culprit_owner *o, *next;
    HASH_ITER (hh, c->owners, o, next) {
        if (!all && (o->objects > 0 || had_culprits(c, o)))
            continue;
        HASH_DEL(c->owners, o); /* NOLINT(clang-analyzer-unix.Malloc) */
        mem_free_all(o->why, o);
    }
}

void culprits_fini(struct culprits *c)
{
    struct culprit *one, *next;
    HASH_ITER (hh, c->all, one, next)
        culprits_remove(c, one);
    culprits_drop_owners(c, true);
    mem_free_all(c->why, c->blameless);
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

static uint64_t due_ms_of(const struct culprit *one)
{
    uint64_t own_ms = one->refusals.not_before_ms, of_owner_ms = one->owner->refusals.not_before_ms;
    return own_ms > of_owner_ms ? own_ms : of_owner_ms;
}

static bool is_bad(const struct culprit *one)
{
    return one->state == BAD && counts(one);
}

static bool waits(const struct culprits *c, const struct culprit *one)
{
    return one->state == LATER && due_ms_of(one) > c->now_ms;
}

/* Left out, or as it was before: known to be to blame. */
static bool is_refused(const struct culprits *c, const struct culprit *one)
{
    return one->state == OUT || (one->state == LATER && one->refusals.not_before_ms > c->now_ms);
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

/* Where the BAD ones that stay out end: half of them, and all of the owner whose object is the last of that half.
 * Where these are all BAD ones, that owner's alone stay. NULL: the BAD ones have one owner. */
static const struct culprit_owner *culprits_owner_amid(struct culprits *c, size_t bad, bool *ret_alone)
{
    const struct culprit_owner *amid = NULL;
    size_t stay = (bad + 1) / 2, count = 0, before = 0;
    for (struct culprit_owner *o = c->owners; o != NULL; o = o->hh.next)
        o->bad = 0;
    for (struct culprit *one = c->all; one != NULL; one = one->hh.next)
        one->owner->bad += is_bad(one);
    for (const struct culprit *one = c->all; one != NULL && amid == NULL; one = one->hh.next) {
        if (!is_bad(one) || one->owner->bad == 0)
            continue;
        before = count;
        count += one->owner->bad;
        one->owner->bad = 0;
        amid = count >= stay ? one->owner : NULL;
    }
    *ret_alone = count == bad;
    return *ret_alone && before == 0 ? NULL : amid;
}

/* Of several owners first those are tried who had no culprits; then, owner by owner, all of those whose objects were
 * shown last as they are now, as those before them were in more of the documents that were refused; then the same of
 * one owner's objects. */
static void culprits_try_half(struct culprits *c, size_t bad)
{
    size_t stay = (bad + 1) / 2, clean = 0;
    bool alone = false;
    for (const struct culprit *one = c->all; one != NULL; one = one->hh.next)
        clean += is_bad(one) && !had_culprits(c, one->owner);
    bool by_history = clean > 0 && clean < bad;
    const struct culprit_owner *amid = by_history ? NULL : culprits_owner_amid(c, bad, &alone);
    for (struct culprit *one = c->all; one != NULL; one = one->hh.next) {
        if (one->state != BAD)
            continue;
        bool tried = by_history              ? !had_culprits(c, one->owner)
                     : amid != NULL && alone ? one->owner != amid
                     : amid != NULL          ? one->owner->bad > 0
                                             : stay == 0;
        stay -= stay > 0;
        if (tried)
            one->state = TRIED;
    }
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
    for (struct culprit_owner *o = c->owners; o != NULL; o = o->hh.next)
        o->suspect = false;
    for (struct culprit *one = c->all; one != NULL; one = one->hh.next) {
        one->seen = false;
        one->owner->suspect = one->owner->suspect || (one->state != GOOD && one->state != OUT);
    }
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

/* What is new of one whose objects are suspected, or were refused too often, spoils no document that others wait
 * for; nor does what is new of anyone the one that is to be accepted in any case. */
static bool has_to_wait(const struct culprits *c, const struct culprit_owner *o)
{
    return (c->searching && (!c->confirmed || o->suspect || o->guilty)) || o->refusals.not_before_ms > c->now_ms;
}

bool culprits_see(struct culprits *c, const char *key, uint64_t hash)
{
    struct culprit *one = culprits_find(c, key);
    bool was_good = false;
    if (one == NULL) {
        one = culprits_add(c, key, hash, TRIED);
        one->state = has_to_wait(c, one->owner) ? LATER : TRIED;
        culprits_doubt(c);
    } else if (one->hash != hash) {
        culprits_changed(c, one);
        was_good = one->accepted && one->known;
        if (was_good) { /* as it was until now it was accepted; no key of an object has a line's end */
            cleanup(mem_free_ptr) char *former = mem_printf("%s\n", key);
            one->former = culprits_add(c, former, one->hash, one->state);
            one->former->of = one;
            one->former->accepted = true;
        }
        bool suspect = one->state != GOOD && (one->state != TRIED || c->searching);
        one->state = suspect || has_to_wait(c, one->owner) ? LATER : TRIED;
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
    culprits_drop_owners(c, false);
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
    if (one == NULL || (one->state != OUT && !waits(c, one)))
        return NULL;
    return is_refused(c, one) ? one->why : one->owner->why;
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

static uint64_t pause_ms_of(unsigned number)
{
    uint64_t pause_ms = PAUSE_MS;
    for (unsigned i = 1; i < number && pause_ms < PAUSE_MAX_MS; i++)
        pause_ms *= 2;
    return pause_ms < PAUSE_MAX_MS ? pause_ms : PAUSE_MAX_MS;
}

static unsigned refusals_add(struct refusals *r, uint64_t now_ms)
{
    r->count = refusals_count(r, now_ms) ? r->count + 1 : 1;
    r->last_ms = now_ms;
    return r->count;
}

/* Each ten culprits of one owner: what else of it is suspected is tried after a pause. Nothing that was served waits
 * so. */
static void culprits_pause_owner(const struct culprits *c, struct culprit_owner *o)
{
    unsigned count = refusals_add(&o->refusals, c->now_ms);
    if (count % OWNER_REFUSALS != 0 || c->trial)
        return;
    uint64_t pause_ms = pause_ms_of(count / OWNER_REFUSALS);
    o->refusals.not_before_ms = c->now_ms + pause_ms;
    cleanup(mem_free_ptr) char *why =
        mem_printf("%s (%u objects of %s were refused: others are tried after a pause of %u s)", c->why, count, o->name,
                   (unsigned)(pause_ms / 1000));
    say(&o->why, why);
    for (struct culprit *one = c->all; one != NULL; one = one->hh.next)
        if (one->owner == o && (one->state == BAD || one->state == REST)) /* NOLINT(clang-analyzer-unix.Malloc) */
            one->state = LATER;
}

/* The BAD ones are culprits. A last good form that is refused, too, is none any more. */
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
        unsigned count = refusals_add(&one->refusals, c->now_ms);
        uint64_t pause_ms = count <= REFUSALS_FREE ? 0 : pause_ms_of(count - REFUSALS_FREE);
        one->refusals.not_before_ms = c->now_ms + pause_ms;
        cleanup(mem_free_ptr) char *why =
            pause_ms == 0 ? mem_strdup(c->why)
                          : mem_printf("%s (refused %u times: a change is tried after a pause of %u s)", c->why, count,
                                       (unsigned)(pause_ms / 1000));
        say(&one->why, why);
        culprits_pause_owner(c, one->owner);
    }
}

static void culprits_end_search(struct culprits *c)
{
    c->searching = c->confirmed = c->trial = c->tried_later = false;
    for (struct culprit_owner *o = c->owners; o != NULL; o = o->hh.next) {
        o->guilty = false;
        o->late = 0;
    }
}

/* No owner waits until the culprits of others are told apart; but one who changes an object before each document is
 * tried so once, or they never were. False: there is nothing to be tried of those who may have none. */
static bool culprits_try_innocent(struct culprits *c, bool blamed)
{
    bool any = false;
    for (struct culprit *one = c->all; one != NULL; one = one->hh.next) {
        struct culprit_owner *o = one->owner;
        bool later = one->state == LATER && (o->late == 0 || o->late == c->step);
        bool left = (one->state == REST || later) && counts(one) && !waits(c, one);
        if (left && !o->guilty && (blamed || !had_culprits(c, o))) {
            o->late = later ? c->step : o->late;
            one->state = TRIED;
            any = true;
        }
    }
    return any;
}

/* After a document was accepted: what is tried next. False: nothing is left to be tried. */
static bool culprits_next(struct culprits *c)
{
    bool trial = c->trial, alone = false;
    c->step++;
    if (!c->known)
        culprits_move(c, BAD, REST);
    size_t bad = culprits_of(c, BAD);
    if (bad == 1)
        culprits_blame(c);
    if (bad <= 1 || culprits_owner_amid(c, bad, &alone) == NULL) {
        /* Before one owner's culprits are told apart: those who have had none, then those who have none in this
         * search. */
        for (struct culprit *one = c->all; one != NULL && bad > 1; one = one->hh.next)
            one->owner->guilty = one->owner->guilty || one->state == BAD;
        if (culprits_try_innocent(c, false) || (bad > 1 && culprits_try_innocent(c, true)))
            return c->searching = true;
    }
    if (bad > 1) {
        culprits_try_half(c, bad);
    } else if (culprits_of(c, REST) > 0) {
        culprits_move(c, REST, TRIED);
    } else if (culprits_of(c, LATER) > 0 && !c->tried_later) {
        c->tried_later = c->trial;
        culprits_move(c, LATER, TRIED);
    } else {
        culprits_end_search(c);
        /* Nothing was written in a trial: what was found good is now. */
        for (struct culprit *one = c->all; one != NULL; one = one->hh.next)
            if (one->state == GOOD && !one->accepted) /* NOLINT(clang-analyzer-unix.Malloc) */
                one->state = TRIED;
        return trial || bad == 1; /* without it the document is another one, or it has a reason to report */
    }
    return c->searching = true;
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

void culprits_try_again(struct culprits *c)
{
    for (struct culprit *one = c->all; one != NULL; one = one->hh.next)
        one->refusals = (struct refusals){0};
    for (struct culprit_owner *o = c->owners; o != NULL; o = o->hh.next)
        o->refusals = (struct refusals){0};
    culprits_move(c, OUT, LATER);
    culprits_doubt(c);
}

uint64_t culprits_due_ms(const struct culprits *c)
{
    uint64_t due_ms = 0;
    for (const struct culprit *one = c->all; one != NULL; one = one->hh.next)
        if (waits(c, one) && (due_ms == 0 || due_ms_of(one) < due_ms))
            due_ms = due_ms_of(one);
    return due_ms;
}

static bool culprits_accepted(struct culprits *c)
{
    struct culprit *one, *next;
    for (one = c->all; one != NULL; one = one->hh.next) {
        if (one->state == TRIED) /* of one that was in the document nothing was learnt of what it was before */
            one->state = counts(one) ? GOOD : LATER;
        one->accepted = one->accepted || (one->state == GOOD && !c->trial);
    }
    HASH_ITER (hh, c->all, one, next)
        if (one->of != NULL && one->of->accepted)
            culprits_remove(c, one);
    c->confirmed = true;
    culprits_doubt(c);
    return culprits_next(c);
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
    if (!c->searching)
        c->confirmed = false;
    c->searching = true;
    if (culprits_of(c, TRIED) > 0) { /* some of these, or all together, spoil it */
        if (c->confirmed)
            culprits_move(c, BAD, REST);
        culprits_move(c, TRIED, BAD);
        c->known = true;
        say(&c->why, v->why);
        if (c->confirmed)
            return culprits_next(c);
        c->trial = c->trial || (!v->load && culprits_of(c, GOOD) == 0);
    } else if (v->load || culprits_of(c, GOOD) == 0) { /* no object is to blame */
        for (struct culprit *one = c->all; one != NULL; one = one->hh.next)
            if (one->state != OUT && !waits(c, one))
                one->state = one->accepted ? GOOD : TRIED;
        culprits_end_search(c);
        c->gave_up = true;
    } else {
        culprits_suspect_all(c, v->why);
    }
    return true;
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
