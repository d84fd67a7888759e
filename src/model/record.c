#include "model/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static void *at(const void *object, size_t offset)
{
    return (char *)(uintptr_t)object + offset;
}

static char *text_at(const void *object, const struct record_member *m)
{
    return *(char **)at(object, m->at);
}

static void *list_at(const void *object, const struct record_member *m)
{
    return *(void **)at(object, m->at);
}

static uint32_t count_at(const void *object, const struct record_member *m)
{
    return *(const uint32_t *)at(object, m->count_at);
}

static bool member_eq(const struct record_member *m, const void *a, const void *b)
{
    if (m->type == MEMBER_PLAIN)
        return memcmp(at(a, m->at), at(b, m->at), m->bytes) == 0;
    if (m->type == MEMBER_TEXT)
        return str_eq(text_at(a, m), text_at(b, m));
    uint32_t count = count_at(a, m);
    if (count != count_at(b, m))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!record_eq(m->of, at(list_at(a, m), i * m->of->bytes), at(list_at(b, m), i * m->of->bytes)))
            return false;
    return true;
}

bool record_eq(const struct record *r, const void *a, const void *b)
{
    for (size_t i = 0; i < r->member_count; i++)
        if (!member_eq(&r->members[i], a, b))
            return false;
    return true;
}

static void free_members(const struct record *r, void *object, void (*free_text)(void *text))
{
    for (size_t i = 0; i < r->member_count; i++) {
        const struct record_member *m = &r->members[i];
        for (size_t k = 0; m->type == MEMBER_LIST && k < count_at(object, m); k++)
            free_members(m->of, at(list_at(object, m), k * m->of->bytes), free_text);
        if (m->type != MEMBER_PLAIN)
            free_text(list_at(object, m));
    }
}

void record_free(const struct record *r, void *object)
{
    if (object == NULL)
        return;
    free_members(r, object, r->secret ? mem_wiping_free : free);
    free(object);
}

/* ---- packed: the object, then its lists, for their alignment, then its texts ---- */

struct packed {
    const char *name; /* of the object: of nearly every node its Hostname, too, and one text does for both */
    char *packed_name;
    char *lists, *texts;
};

static void record_measure(const struct record *r, const void *object, const char *name, size_t *lists, size_t *texts)
{
    for (size_t i = 0; i < r->member_count; i++) {
        const struct record_member *m = &r->members[i];
        if (m->type == MEMBER_TEXT && text_at(object, m) != NULL && !str_eq(name, text_at(object, m)))
            *texts += strlen(text_at(object, m)) + 1;
        uint32_t count = m->type == MEMBER_LIST ? count_at(object, m) : 0;
        *lists += count > 0 ? count * m->of->bytes : 0;
        for (size_t k = 0; k < count; k++)
            record_measure(m->of, at(list_at(object, m), k * m->of->bytes), name, lists, texts);
    }
}

static char *pack_text(struct packed *p, const char *text)
{
    if (text == NULL || str_eq(text, p->name))
        return text != NULL ? p->packed_name : NULL;
    size_t bytes = strlen(text) + 1;
    char *packed = memcpy(p->texts, text, bytes);
    p->texts += bytes;
    return packed;
}

static void pack(struct packed *p, const struct record *r, const void *object, void *to)
{
    for (size_t i = 0; i < r->member_count; i++) {
        const struct record_member *m = &r->members[i];
        if (m->type == MEMBER_PLAIN) {
            memcpy(at(to, m->at), at(object, m->at), m->bytes);
        } else if (m->type == MEMBER_TEXT) {
            *(char **)at(to, m->at) = pack_text(p, text_at(object, m));
        } else {
            uint32_t count = count_at(object, m);
            char *list = p->lists;
            p->lists += count * m->of->bytes;
            *(uint32_t *)at(to, m->count_at) = count;
            *(void **)at(to, m->at) = list;
            for (size_t k = 0; k < count; k++)
                pack(p, m->of, at(list_at(object, m), k * m->of->bytes), list + k * m->of->bytes);
        }
    }
}

void *record_pack(const struct record *r, const void *object, size_t header_bytes, size_t *ret_bytes)
{
    struct packed p = {.name = record_name(object)};
    size_t name_bytes = strlen(p.name) + 1, lists = 0, texts = 0;
    record_measure(r, object, p.name, &lists, &texts);
    *ret_bytes = r->bytes + lists + name_bytes + texts;
    char *block = mem_alloc(header_bytes + *ret_bytes);
    p.lists = block + header_bytes + r->bytes;
    p.packed_name = memcpy(p.lists + lists, p.name, name_bytes);
    p.texts = p.packed_name + name_bytes;
    pack(&p, r, object, block + header_bytes);
    return block;
}
