/* src/haproxy/local/config and config_edit over real files, HAProxy's own where they are given: one line differs, and says what it is to say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../real_cfg.h"
#include "../test.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "haproxy/cfg/file.h"
#include "haproxy/local/config.h"
#include "haproxy/local/config_edit.h"

/* Of a backend: some have thousands. */
#define SERVERS_TRIED 4

static size_t files, backends, refused, changed;

/* What differs is within one line, or is one. */
static void check_one_line(const char *before, const char *after, const char *path)
{
    size_t b = strlen(before), a = strlen(after), front = 0, lines = 0;
    while (before[front] != '\0' && before[front] == after[front])
        front++;
    while (b > front && a > front && before[b - 1] == after[a - 1]) {
        b--;
        a--;
    }
    for (size_t i = front; i < b; i++)
        lines += before[i] == '\n';
    ck_assert_msg(lines <= 1, "%s: %zu lines of it changed", path, lines);
    lines = 0;
    for (size_t i = front; i < a; i++)
        lines += after[i] == '\n';
    ck_assert_msg(lines <= 1, "%s: %zu lines were written", path, lines);
}

/* The server as it is then; NULL: there is none. */
static const struct backend_server *change_it(const char *text, const struct change *change, struct backend *ret,
                                              const char *path)
{
    cleanup(cfg_file_fini) struct cfg_file f = {0}, g = {0};
    cleanup(cfg_edits_fini) struct cfg_edits edits = {0};
    cleanup(buf_fini) struct buf out = {0};
    struct error err = {0};
    cfg_file_parse(&f, text, strlen(text));
    ck_assert_msg(local_config_edit(&f, change, 1, &edits, &err) == 0, "%s: %s", path, err.message);
    cfg_file_print(&f, &edits, NULL, &out);
    check_one_line(text, buf_str(&out), path);
    cfg_file_parse(&g, buf_str(&out), out.len);
    ret->name = mem_strdup(change->backend->name);
    ck_assert_msg(local_config_read(&g, ret, &err) == 0, "%s: %s", path, err.message);
    changed++;
    return backend_find(ret, change->server->name);
}

static bool is_twice(const struct backend *b, size_t at)
{
    size_t times = 0;
    for (size_t i = 0; i < b->server_count; i++)
        times += str_eq(b->servers[i].name, b->servers[at].name);
    return times > 1;
}

static void try_backend(const char *text, const struct backend *b, const char *path)
{
    for (size_t i = 0; i < b->server_count && i < SERVERS_TRIED; i++) {
        if (is_twice(b, i))
            continue; /* HAProxy refuses such a file */
        cleanup(backend_server_fini) struct backend_server own = {0};
        cleanup(backend_fini) struct backend then, without;
        backend_init(&then);
        backend_init(&without);
        backend_server_copy(&own, &b->servers[i]);
        own.weight = own.weight == 7 ? 8 : 7;
        const struct change weigh = {.kind = CHANGE_SET_SERVER, .backend = b, .server = &own, .fields = SERVER_WEIGHT};
        const struct backend_server *is = change_it(text, &weigh, &then, path);
        ck_assert_msg(is != NULL && is->weight == own.weight, "%s: %s of %s", path, own.name, b->name);
        const struct change remove = {.kind = CHANGE_REMOVE_SERVER, .backend = b, .server = &own};
        ck_assert_msg(change_it(text, &remove, &without, path) == NULL, "%s: %s of %s stays", path, own.name, b->name);
    }
    const struct backend_server added = {
        .name = (char *)"never-seen", .address = (char *)"10.9.8.7", .port = 81, .weight = 9, .check = true};
    const struct change add = {.kind = CHANGE_ADD_SERVER, .backend = b, .server = &added};
    cleanup(backend_fini) struct backend with;
    backend_init(&with);
    const struct backend_server *is = change_it(text, &add, &with, path);
    ck_assert_msg(is != NULL && is->port == 81 && is->weight == 9, "%s: %s gets no server", path, b->name);
}

static int try_file(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info, (void)where;
    cleanup(buf_fini) struct buf text;
    cleanup(cfg_file_fini) struct cfg_file f = {0};
    buf_init(&text, 64u << 20);
    if (type != FTW_F || !(str_has_suffix(path, ".cfg") || str_has_suffix(path, ".vtc")))
        return 0;
    ck_assert_msg(buf_read_file(&text, path) == 0, "%s", path);
    if (strlen(buf_str(&text)) != text.len || (text.len > 0 && text.data[text.len - 1] != '\n'))
        return 0; /* no configuration, or its last line has no end, which an added one gives it */
    cfg_file_parse(&f, buf_str(&text), text.len);
    files++;
    for (size_t i = 0; i < f.section_count; i++) {
        const struct cfg_file_section *s = &f.sections[i];
        cleanup(backend_fini) struct backend b;
        struct error err = {0};
        backend_init(&b);
        if (!str_eq(s->kind, "backend") || *s->name == '\0')
            continue;
        b.name = mem_strdup(s->name);
        backends++;
        if (local_config_read(&f, &b, &err) != 0)
            refused++;
        else
            try_backend(buf_str(&text), &b, path);
    }
    return 0;
}

TEST(one_line_of_a_real_file_differs)
{
    walk_real_files(try_file);
    ck_assert_msg(changed > 0, "no .cfg or .vtc has a backend");
    printf("%zu changes of %zu backends in %zu files; %zu backends depend on what is not in the file\n", changed,
           backends - refused, files, refused);
}
