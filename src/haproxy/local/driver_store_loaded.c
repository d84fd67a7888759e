/* Which of the files beside the configuration HAProxy has loaded, by the lists that it shows of them. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "haproxy/local/driver_internal.h"

/* HAProxy takes no longer command than tune.bufsize, 16 KiB unless somebody made it smaller. */
#define PEM_BYTES 15000

const char *local_store_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The path of ours, or the end of it, from where HAProxy was started. */
static bool store_is_ours(const struct local_driver *d, const struct storage_file *f, const char *name)
{
    cleanup(mem_free_ptr) char *path = mem_printf("%s/%s", d->store.folders[f->place], f->stored);
    const char *plain = str_has_prefix(name, "./") ? name + 2 : name;
    size_t len = strlen(path), end = strlen(plain);
    return str_eq(path, plain) || (*plain != '/' && strchr(plain, '/') != NULL && end < len &&
                                   path[len - end - 1] == '/' && str_eq(path + len - end, plain));
}

/* Under its stored name, by whatever path. */
static const char *store_find(const struct cli_names *n, const struct storage_file *f)
{
    for (size_t i = 0; i < n->count; i++)
        if (str_eq(local_store_base(n->list[i]), f->stored))
            return n->list[i];
    return NULL;
}

/* A path by which HAProxy has it that we cannot tell to be ours, or that fits into no command; NULL: none. */
static const char *store_strange(const struct local_driver *d, const struct storage_file *f, const struct cli_names *n)
{
    for (size_t i = 0; i < n->count; i++)
        if (str_eq(local_store_base(n->list[i]), f->stored) &&
            (!store_is_ours(d, f, n->list[i]) || n->list[i][strspn(n->list[i], STORAGE_NAME_ALPHABET "/")] != '\0'))
            return n->list[i];
    return NULL;
}

const struct cli_names *local_store_loaded(const struct local_driver *d, const struct storage_file *f)
{
    return &d->store.run.loaded[f->kind == STORAGE_MAP ? CLI_MAPS : CLI_CERTIFICATES];
}

enum storage_effect local_store_judge(const struct local_driver *d, const struct storage_file *f, struct error *why)
{
    const struct local_store_run *r = &d->store.run;
    bool map = f->kind == STORAGE_MAP;
    const struct cli_names *loaded = local_store_loaded(d, f);
    const char *strange = store_strange(d, f, loaded), *says = NULL;
    bool there = store_find(loaded, f) != NULL;
    bool otherwise =
        map ? !there && store_find(&r->loaded[CLI_ACLS], f) != NULL
            : store_find(&r->loaded[CLI_CA_FILES], f) != NULL || store_find(&r->loaded[CLI_CRL_FILES], f) != NULL;
    if (f->kind == STORAGE_GENERAL)
        says = "it is neither a map nor a certificate";
    else if (otherwise)
        says = map ? "HAProxy has it as a list for an ACL" : "HAProxy has it as a CA or CRL file, too";
    else if (!there && storage_is_named(local_driver_store_config(d), f->stored))
        says = "haproxy.cfg names it, and HAProxy does not have it loaded";
    else if (!map && there && f->len > PEM_BYTES)
        says = "it is too long for a command";
    else if (strange == NULL)
        return there ? STORAGE_BY_RUNTIME : STORAGE_UNUSED;
    if (says != NULL)
        (void)error_set(why, ERROR_INVALID, "%s", says);
    else
        (void)error_set(why, ERROR_INVALID, "HAProxy has loaded %s, which may be it or another one", strange);
    return STORAGE_BY_RELOAD;
}
