#include "haproxy/storage_foresight.h"

#include <stdlib.h>

#include "base/mem.h"

void storage_foresight_fini(struct storage_foresight *s)
{
    for (size_t i = 0; i < s->count; i++) {
        mem_free_all(s->list[i].name, s->list[i].why);
        buf_fini(&s->list[i].commands);
    }
    free(s->list);
    *s = (struct storage_foresight){0};
}

struct storage_foreseen *storage_foresight_add(struct storage_foresight *s, enum storage_kind kind, const char *name,
                                               enum storage_effect effect)
{
    s->list = mem_resize(s->list, s->count + 1, sizeof(s->list[0]));
    s->list[s->count] =
        (struct storage_foreseen){.name = mem_printf("%s/%s", storage_folder(kind), name), .effect = effect};
    return &s->list[s->count++];
}

void storage_foreseen_count(struct storage_foreseen *f, const char *now, const char *next)
{
    f->counted = true;
    map_text_compare(now, next, &f->entries);
}

void storage_foreseen_reload(struct storage_foreseen *f, const char *why)
{
    f->effect = STORAGE_BY_RELOAD;
    free(f->why);
    f->why = mem_strdup(why);
    buf_fini(&f->commands);
}

const char *storage_effect_name(enum storage_effect e)
{
    static const char *const names[] = {[STORAGE_UNCHANGED] = "unchanged",
                                        [STORAGE_UNUSED] = "stored",
                                        [STORAGE_BY_RUNTIME] = "runtime",
                                        [STORAGE_BY_RELOAD] = "reload",
                                        [STORAGE_GOES] = "deleted"};
    return names[e];
}

bool storage_foresight_has(const struct storage_foresight *s, enum storage_effect e)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].effect == e)
            return true;
    return false;
}

const struct storage_foreseen *storage_foresight_reloads(const struct storage_foresight *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].effect == STORAGE_BY_RELOAD)
            return &s->list[i];
    return NULL;
}

void storage_foresight_load(struct storage_foresight *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].effect == STORAGE_BY_RUNTIME)
            storage_foreseen_reload(&s->list[i], "the same change takes a reload, which loads it");
}
