#include "daemon/template/edition.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "daemon/template/watches.h"
#include "template/set.h"

static bool edition_same_namespaces(const struct template_set *a, const struct template_set *b)
{
    for (size_t i = 0; i < a->watch_count; i++) {
        char *const *x = a->watches[i].namespaces, *const *y = b->watches[i].namespaces;
        for (; x != NULL && y != NULL && *x != NULL && *y != NULL; x++, y++)
            if (!str_eq(*x, *y))
                return false;
        if (x != NULL && y != NULL && *x != *y) /* both end with NULL */
            return false;
    }
    return true;
}

static void watched_unref(struct watched *w)
{
    if (w == NULL || --w->references > 0)
        return;
    watches_free(w->watches);
    template_set_free(w->set);
    free(w);
}

bool edition_init(struct edition *e, struct template_set *set, struct watched *of, bool follows,
                  struct event_base *base, const struct watches_options *options,
                  void (*changed)(void *arg, const char *cause), void *arg)
{
    bool shares = of != NULL && watches_same(of->set, set) && (follows || edition_same_namespaces(of->set, set));
    *e = (struct edition){.set = set};
    if (shares) {
        of->references++;
        if (follows)
            watches_follow(of->watches, set);
        e->watched = of;
        return true;
    }
    struct watches_options own = *options;
    own.set = set;
    e->watched = mem_alloc(sizeof(*e->watched));
    *e->watched = (struct watched){.set = set, .watches = watches_new(base, &own, changed, arg), .references = 1};
    return false;
}

void edition_fini(struct edition *e)
{
    if (e->set != NULL && e->set != e->watched->set)
        template_set_free(e->set);
    watched_unref(e->watched);
    *e = (struct edition){0};
}
