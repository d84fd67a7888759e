#include "haproxy/storage_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "base/str.h"

const char *storage_place_name(enum storage_kind place)
{
    static const char *const names[STORAGE_KINDS] = {
        [STORAGE_MAP] = "maps", [STORAGE_CERTIFICATE] = "ssl_certificates", [STORAGE_GENERAL] = "general"};
    return names[place];
}

/* ---- entries ---- */

void storage_entry_keep(struct storage_entry *e, const char *bytes, size_t len)
{
    mem_wipe_free(e->good);
    e->good = bytes != NULL ? mem_alloc(len + 1) : NULL;
    e->good_len = len;
    if (len > 0 && bytes != NULL)
        memcpy(e->good, bytes, len);
}

void storage_entry_settle(struct storage_entry *e)
{
    e->changed = e->added = false;
    storage_entry_keep(e, NULL, 0);
}

void storage_entries_drop(struct storage_entries *s, size_t i)
{
    free(s->list[i].stored);
    storage_entry_keep(&s->list[i], NULL, 0);
    memmove(&s->list[i], &s->list[i + 1], (s->count - i - 1) * sizeof(*s->list));
    s->count--;
}

void storage_entries_fini(struct storage_entries *s)
{
    while (s->count > 0)
        storage_entries_drop(s, s->count - 1);
    free(s->list);
    *s = (struct storage_entries){0};
}

static int storage_entry_order(const void *a, const void *b)
{
    const struct storage_entry *x = a, *y = b;
    return x->place != y->place ? (x->place < y->place ? -1 : 1) : strcmp(x->stored, y->stored);
}

/* Where it is, or would be. */
static size_t storage_entries_at(const struct storage_entries *s, enum storage_kind place, const char *stored)
{
    const struct storage_entry key = {.place = place, .stored = (char *)(uintptr_t)stored};
    return sorted_place(&key, s->list, s->count, sizeof(s->list[0]), storage_entry_order);
}

struct storage_entry *storage_entries_find(const struct storage_entries *s, enum storage_kind place, const char *stored)
{
    size_t at = storage_entries_at(s, place, stored);
    return at < s->count && s->list[at].place == place && str_eq(s->list[at].stored, stored) ? &s->list[at] : NULL;
}

struct storage_entry *storage_entries_add(struct storage_entries *s, enum storage_kind place, const char *stored)
{
    size_t at = storage_entries_at(s, place, stored);
    s->list = mem_one_more(s->list, s->count, sizeof(*s->list));
    memmove(&s->list[at + 1], &s->list[at], (s->count++ - at) * sizeof(*s->list));
    s->list[at] = (struct storage_entry){.place = place, .stored = mem_strdup(stored)};
    return &s->list[at];
}

bool storage_entries_changed(const struct storage_entries *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].changed)
            return true;
    return false;
}

/* ---- the list: "maps hosts.map DIGEST put", one a line; "-": not known; "found": it was there before ---- */

static void list_read_line(struct storage_entries *s, char *line)
{
    const char *place = strsep(&line, " "), *stored = strsep(&line, " "), *hash = strsep(&line, " "), *how = line;
    if (how == NULL || stored[0] == '\0' || strpbrk(stored, "/?#%") != NULL || s->count == 4 * STORAGE_FILES_MAX)
        return;
    for (int k = 0; k < STORAGE_KINDS; k++) {
        enum storage_kind kind = (enum storage_kind)k;
        if (!str_eq(place, storage_place_name(kind)) || storage_entries_find(s, kind, stored) != NULL)
            continue;
        struct storage_entry *e = storage_entries_add(s, kind, stored);
        e->found = str_eq(how, "found");
        e->changed = strlen(hash) + 1 != sizeof(e->hash); /* by a run that did not come to its end */
        if (!e->changed)
            memcpy(e->hash, hash, sizeof(e->hash));
    }
}

void storage_list_read(struct storage_entries *s, const char *text)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(text);
    char *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        list_read_line(s, line);
}

char *storage_list_text(const struct storage_entries *s, const struct storage_files *announces)
{
    struct buf text = {0};
    for (size_t i = 0; i < s->count; i++) {
        const struct storage_entry *e = &s->list[i];
        const struct storage_file *f = announces != NULL ? storage_files_find(announces, e->place, e->stored) : NULL;
        bool known = e->hash[0] != '\0' && !e->changed && (f == NULL || str_eq(f->hash, e->hash));
        buf_printf(&text, "%s %s %s %s\n", storage_place_name(e->place), e->stored, known ? e->hash : "-",
                   e->found ? "found" : "put");
    }
    return buf_take(&text);
}
