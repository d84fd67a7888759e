/* What a source of configurations says of objects (templates by warn and event; annotations that are wrong), reported once for as
 * long as it says it: a line of the log, and an Event on the object from the replica that leads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct events;
struct log;
struct objects;
struct remarks;
struct rendered;
struct template_set;

/* That are kept apart, as each is searched among all. Where there are more, each namespace has its share. */
#define REMARKS_MAX 1000

struct remark {
    char *resource;                                    /* of the set; NULL: the object is of none */
    char *api_version, *kind, *namespace, *name, *uid; /* of the object; namespace and uid: may be NULL */
    char *text;
    bool left_out;
    bool part;      /* not all of it is left out */
    bool as_before; /* it is served as it was before it changed */
};

enum remarks_of { REMARKS_OF_TEMPLATES, REMARKS_OF_ANNOTATIONS };
struct remarks *remarks_new(enum remarks_of of, const struct log *log) must_check;
void remarks_free(struct remarks *r); /* NULL is allowed */

/* In place of those before; the list is taken. Those above the limits are dropped. */
void remarks_replace(struct remarks *r, struct remark *list, size_t count);
/* Those of a render, in place of those of the one before. watched: the set whose resources `objects` has. */
void remarks_take(struct remarks *r, const struct template_set *watched, const struct objects *objects,
                  const struct rendered *rendered);
/* From now on: all that there are now, too. NULL: another replica leads. */
void remarks_tell_to(struct remarks *r, struct events *events);
size_t remarks_count(const struct remarks *r);
/* Objects of a resource of the set, by its name there. */
size_t remarks_left_out(const struct remarks *r, const char *resource);

/* Borrowed, until the next render. */
const struct remark *remarks_at(const struct remarks *r, size_t i);
