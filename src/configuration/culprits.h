/*
 * Which objects HAProxy refuses a document for, where a document is made of objects and can be made without some of them. The search
 * leaves objects out, and learns what became of each document (a check): first those that changed since the last accepted one, then
 * of these, by halves, those that spoil it. One culprit of n that changed takes at most log2(n) + 3 checks, the first refusal among
 * them; k culprits some k * (log2(n) + 1) + 2. A culprit stays out until its content is another one. Pure.
 *
 * In place of an object that is left out, and was accepted before it changed, a document has that last good form, which is one of the
 * GOOD ones until it is found to be a culprit itself; then the object is left out wholly.
 *
 *   GOOD    is in every document, and was in one that was accepted
 *   TRIED   is in the document that is judged next: new, changed, or added again by the search
 *   BAD     left out: one of these, or all of them together, spoil a document of the GOOD ones
 *   REST    left out, to be tried when the BAD ones are told apart
 *   LATER   left out, to be tried last: a culprit, or a suspect, whose content has changed
 *   OUT     a culprit
 *
 * Where not even the GOOD ones alone are accepted, HAProxy or what is no object has changed: all objects are suspects. So that
 * no service ends meanwhile, such documents are only to be checked, not written (culprits_trial), until the search is over. If a
 * document without any object is refused, too, no object is to blame, and none is left out. Nor is one where HAProxy accepted a document
 * and could not load it, unless some objects changed.
 *
 * An object that was refused three times within ten minutes of each other is tried again, once it has changed, after a pause that grows
 * from 10 s to 5 min: who changes it all the time keeps no other change from HAProxy. Times are of clock_mono_ms.
 *
 * The key of an object is "NAMESPACE/NAME", or has a word before that; who has the namespace is its owner. Suspects of several owners are
 * told apart by owners first, and while the culprits of one are searched what is new of others is tried at once, what is new of that one
 * with the LATER ones. So thousands of culprits of one owner hold up others for three checks. After each 10 of an owner's culprits what
 * else of its objects is suspected, or is new or changed, waits for such a pause, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct culprit;
struct culprit_owner;

struct culprits {
    struct culprit *all;
    struct culprit_owner *owners;
    bool searching;
    bool confirmed; /* in this search a document of the GOOD ones was accepted */
    bool known;     /* the BAD ones are as they were when a document with them was refused */
    size_t step;    /* of culprits_next */
    bool trial;
    bool tried_later; /* in this trial: what changes again is tried after it, so that no object keeps it from its end */
    uint64_t now_ms;  /* of the last begin, or verdict */
    char *why;        /* the BAD ones spoil it */
    bool gave_up;     /* no object is to blame: the document of all of them is judged next, */
    char *blameless;  /* and was refused for this; NULL: it is not so */
};

void culprits_fini(struct culprits *c);

/* Which objects there are now: begin, each, end. Of several that changed those that are seen first are suspected most. */
void culprits_begin(struct culprits *c, uint64_t now_ms);
/* True: it has changed since it was accepted, and was seen so (not only read by culprits_read). What it was is its last good form from
 * now on, as long as culprits_has_former. */
bool culprits_see(struct culprits *c, const char *key, uint64_t hash);
void culprits_end(struct culprits *c);

enum culprits_form { CULPRITS_AS_IT_IS, CULPRITS_AS_BEFORE, CULPRITS_LEFT_OUT };
enum culprits_form culprits_form(const struct culprits *c, const char *key);
bool culprits_has_former(const struct culprits *c, const char *key);
bool culprits_may_go_back(const struct culprits *c); /* a change that is not accepted yet is in the document */
/* Or has a last good form in the document. */
bool culprits_leaves_any_out(const struct culprits *c);
/* Of a culprit, or one that has changed and waits: what HAProxy said; NULL: it is none. Borrowed. */
const char *culprits_why(const struct culprits *c, const char *key);
bool culprits_trial(const struct culprits *c);
size_t culprits_count(const struct culprits *c); /* culprits */

/* An operator asks: after the next document culprits are tried again, as they are. */
void culprits_try_again(struct culprits *c);

struct culprits_verdict {
    bool accepted;
    bool load;       /* it was accepted, and could not be loaded */
    const char *why; /* of a refusal */
};
/* What became of the document of those that are not left out. True: another one is to be made. */
bool culprits_judge(struct culprits *c, const struct culprits_verdict *v, uint64_t now_ms);
/* When the first one of those that wait may be tried: then the last verdict is to be given again; 0: none waits. */
uint64_t culprits_due_ms(const struct culprits *c);

/* Calls fn for each culprit. */
void culprits_each(const struct culprits *c, void (*fn)(void *arg, const char *key, const char *why), void *arg);

/* What is known of objects, a line for each; and the same read, before the first begin. A line that is none is left out. */
void culprits_print(const struct culprits *c, struct buf *out);
void culprits_read(struct culprits *c, const char *text);
