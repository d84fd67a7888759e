#include "haproxy/storage_files.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "base/str.h"
#include "haproxy/storage_known.h"
#include "net/pem.h"

/* HAProxy reads a map by lines of at most tune.bufsize, 16 KiB unless set, and takes the rest of a longer one for
 * another line. */
#define MAP_LINE_MAX_BYTES 16382

const char *storage_folder(enum storage_kind kind)
{
    static const char *const folders[STORAGE_KINDS] = {
        [STORAGE_MAP] = "maps", [STORAGE_CERTIFICATE] = "certs", [STORAGE_GENERAL] = "files"};
    return folders[kind];
}

bool storage_kind_of(const char *folder, enum storage_kind *ret)
{
    for (int k = 0; k < STORAGE_KINDS; k++)
        if (str_eq(folder, storage_folder((enum storage_kind)k))) {
            *ret = (enum storage_kind)k;
            return true;
        }
    return false;
}

static void storage_file_fini(struct storage_file *f)
{
    mem_free_all(f->name, f->stored);
    if (f->bytes != NULL)
        mem_wipe_free(f->bytes);
}

void storage_files_fini(struct storage_files *f)
{
    for (size_t i = 0; i < f->count; i++)
        storage_file_fini(&f->list[i]);
    free(f->list);
    *f = (struct storage_files){0};
}

/* As the Data Plane API does: what stands before the last dot loses its dots, and a map ends with ".map". */
char *storage_stored_name(enum storage_kind place, const char *name)
{
    const char *last = strrchr(name, '.');
    char *stored = mem_printf("%s%s", name, place == STORAGE_MAP && !str_has_suffix(name, ".map") ? ".map" : "");
    for (char *c = stored; last != NULL && c < stored + (last - name); c++)
        if (*c == '.')
            *c = '_';
    return stored;
}

static int storage_check_map(const struct storage_file *f, struct error *err)
{
    size_t number = 1;
    if (memchr(f->bytes, '\0', f->len) != NULL)
        return error_set(err, ERROR_INVALID, "there is a NUL byte in it, and a map is text");
    for (const char *line = f->bytes; *line != '\0'; number++) {
        size_t len = strcspn(line, "\n");
        if (len > MAP_LINE_MAX_BYTES)
            return error_set(err, ERROR_INVALID, "line %zu has %zu bytes, and HAProxy reads lines of at most %d",
                             number, len, MAP_LINE_MAX_BYTES);
        line += len + (line[len] == '\n');
    }
    return 0;
}

static int storage_check_certificate(struct storage_file *f, struct storage_known *known, struct error *err)
{
    bool common = false;
    if (known != NULL && storage_known_find(known, f->hash, &f->place))
        return 0;
    if (memchr(f->bytes, '\0', f->len) != NULL)
        return error_set(err, ERROR_INVALID, "there is a NUL byte in it, and a certificate is PEM text");
    if (pem_check_server(f->bytes, &common, err) != 0 ||
        (known != NULL && storage_known_is_here(known) && pem_check_served(f->bytes, err) != 0))
        return -1;
    f->place = common ? STORAGE_CERTIFICATE : STORAGE_GENERAL;
    if (known != NULL)
        storage_known_add(known, f->hash, f->place);
    return 0;
}

static int storage_check(struct storage_file *f, struct storage_known *known, struct error *err)
{
    /* Those of a Secret's keys. */
    const char *name = f->name;
    if (name[0] == '\0' || name[0] == '.' || name[strspn(name, STORAGE_NAME_ALPHABET)] != '\0' ||
        strlen(name) > STORAGE_NAME_MAX_BYTES)
        return error_set(
            err, ERROR_INVALID,
            "the name of a file has letters, digits, \"-\", \"_\" and \".\" only, does not begin with \".\" "
            "and has at most %d bytes",
            STORAGE_NAME_MAX_BYTES);
    if (f->len > STORAGE_FILE_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "it has %zu bytes, and more than %u are not taken", f->len,
                         STORAGE_FILE_MAX_BYTES);
    if (f->kind == STORAGE_MAP)
        return storage_check_map(f, err);
    return f->kind == STORAGE_CERTIFICATE ? storage_check_certificate(f, known, err) : 0;
}

static int storage_file_order(const void *a, const void *b)
{
    const struct storage_file *x = a, *y = b;
    return x->place != y->place ? (x->place < y->place ? -1 : 1) : strcmp(x->stored, y->stored);
}

/* Where it is, or would be. */
static size_t storage_files_at(const struct storage_files *f, enum storage_kind place, const char *stored)
{
    const struct storage_file key = {.place = place, .stored = (char *)(uintptr_t)stored};
    return sorted_place(&key, f->list, f->count, sizeof(f->list[0]), storage_file_order);
}

const struct storage_file *storage_files_find(const struct storage_files *f, enum storage_kind place,
                                              const char *stored)
{
    size_t at = storage_files_at(f, place, stored);
    bool found = at < f->count && f->list[at].place == place && str_eq(f->list[at].stored, stored);
    return found ? &f->list[at] : NULL;
}

static int storage_files_check_room(const struct storage_files *f, const struct storage_file *new, struct error *err)
{
    const struct storage_file *same = storage_files_find(f, new->place, new->stored);
    if (same != NULL)
        return error_set(err, ERROR_INVALID, "it is stored as %s, as is %s/%s; rename one of them", new->stored,
                         storage_folder(same->kind), same->name);
    if (new->place == STORAGE_GENERAL && str_eq(new->stored, STORAGE_LIST))
        return error_set(err, ERROR_INVALID, "the daemon keeps a list of its own by that name");
    if (f->count == STORAGE_FILES_MAX)
        return error_set(err, ERROR_INVALID, "more than %d files are not taken", STORAGE_FILES_MAX);
    if (f->bytes + new->len > STORAGE_FILES_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "with it the files have more than %u bytes together",
                         STORAGE_FILES_MAX_BYTES);
    return 0;
}

int storage_files_add(struct storage_files *f, enum storage_kind kind, const char *name, const char *bytes, size_t len,
                      struct error *err)
{
    return storage_files_add_known(f, NULL, kind, name, bytes, len, err);
}

int storage_files_add_known(struct storage_files *f, struct storage_known *known, enum storage_kind kind,
                            const char *name, const char *bytes, size_t len, struct error *err)
{
    struct storage_file new = {
        .kind = kind, .place = kind, .name = mem_strdup(name), .bytes = mem_alloc(len + 1), .len = len};
    if (len > 0)
        memcpy(new.bytes, bytes, len);
    digest_sha256_hex(bytes, len, new.hash);
    int status = storage_check(&new, known, err);
    if (status == 0) {
        new.stored = storage_stored_name(new.place, name);
        status = storage_files_check_room(f, &new, err);
    }
    if (status != 0) {
        storage_file_fini(&new);
        return error_prefix(err, "%s/%s", storage_folder(kind), name);
    }
    size_t at = storage_files_at(f, new.place, new.stored);
    f->list = mem_resize(f->list, f->count + 1, sizeof(*f->list));
    memmove(&f->list[at + 1], &f->list[at], (f->count - at) * sizeof(*f->list));
    f->list[at] = new;
    f->count++;
    f->bytes += len;
    return 0;
}

void storage_files_hash(const struct storage_files *f, char ret[DIGEST_SHA256_HEX_BYTES])
{
    cleanup(buf_fini) struct buf text = {0};
    for (size_t i = 0; i < f->count; i++)
        buf_printf(&text, "%s/%s %s\n", storage_folder(f->list[i].kind), f->list[i].name, f->list[i].hash);
    digest_sha256_hex(buf_str(&text), text.len, ret);
}

bool storage_is_of_name(char c)
{
    return c != '\0' && strchr(STORAGE_NAME_ALPHABET, c) != NULL;
}

const char *storage_find_named(const char *text, const char *from, const char *stored)
{
    for (const char *hit; (hit = strstr(from, stored)) != NULL; from = hit + 1) {
        const char *begin = hit;
        while (begin > text && begin[-1] != '\n')
            begin--;
        bool comment = begin[strspn(begin, " \t")] == '#';
        bool whole = (hit == text || !storage_is_of_name(hit[-1])) && !storage_is_of_name(hit[strlen(stored)]);
        if (whole && !comment)
            return hit;
    }
    return NULL;
}

bool storage_is_named(const char *text, const char *stored)
{
    return storage_find_named(text, text, stored) != NULL;
}
