/*
 * `copy-to`: this program, its loader and its libraries, copied into a folder: there it runs on a file system that has neither,
 * such as that of HAProxy's image, whose `haproxy -c` it needs:
 *
 *   FOLDER/ld.so --library-path FOLDER FOLDER/haproxy-k8s-sync
 */
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/run.h"

#define SELF "/proc/self/exe"
#define PROGRAM "haproxy-k8s-sync"
#define LOADER "ld.so" /* its own name differs by architecture */
#define PART_BYTES 65536

struct copy {
    int folder;
    const char *folder_path;
    const char *loader; /* as the program names it; borrowed */
    struct error *err;
};

static void copy_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* A new file in place of the old one: that may be what runs. */
static int copy_file(struct copy *c, const char *path, const char *name)
{
    cleanup(mem_free_ptr) char *temporary = mem_printf(".%s.new", name);
    cleanup(copy_close) int from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return error_set(c->err, ERROR_FATAL, "cannot read %s: %m", path);
    (void)unlinkat(c->folder, temporary, 0);
    cleanup(copy_close) int to =
        openat(c->folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0755);
    char part[PART_BYTES];
    ssize_t n = to >= 0 ? 1 : -1;
    while (n > 0 && (n = read(from, part, sizeof(part))) > 0)
        for (ssize_t done = 0, m; n > 0 && done < n; done += m)
            if ((m = write(to, part + done, (size_t)(n - done))) < 0)
                n = -1;
    if (n == 0 && fchmod(to, 0755) == 0 && renameat(c->folder, temporary, c->folder, name) == 0)
        return 0;
    (void)error_set(c->err, ERROR_FATAL, "cannot write %s/%s: %m", c->folder_path, name);
    (void)unlinkat(c->folder, temporary, 0);
    return -1;
}

/* From the loader's own list, which begins with the program, under no name. */
static int copy_one(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    struct copy *c = arg;
    const char *name = strrchr(info->dlpi_name, '/');
    for (unsigned i = 0; name == NULL && i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_INTERP)
            c->loader = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    if (name == NULL) /* itself, or the kernel's vdso, which is no file */
        return 0;
    return copy_file(c, info->dlpi_name, str_eq(info->dlpi_name, c->loader) ? LOADER : name + 1);
}

/* Run by a copied loader, this program is not what the kernel has started: it lies next to that. */
static int copy_self(struct copy *c)
{
    char path[PATH_MAX];
    ssize_t len = readlink(SELF, path, sizeof(path) - 1);
    if (len < 0)
        return error_set(c->err, ERROR_FATAL, "cannot read the link " SELF ": %m");
    path[len] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL || !str_eq(slash + 1, LOADER))
        return copy_file(c, SELF, PROGRAM);
    slash[1] = '\0';
    cleanup(mem_free_ptr) char *neighbour = mem_printf("%s" PROGRAM, path);
    return copy_file(c, neighbour, PROGRAM);
}

/* The folder has to be there; files of these names are replaced. */
int run_copy_to(const struct run *r)
{
    const char *folder = r->command->operand;
    struct error err = {0};
    cleanup(copy_close) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct copy c = {.folder = fd, .folder_path = folder, .err = &err};
    if (fd < 0)
        (void)error_set(&err, ERROR_FATAL, "cannot open the folder %s: %m", folder);
    /* Itself first: once the loader is replaced, the kernel's link names a file that is gone. */
    else if (copy_self(&c) == 0 && dl_iterate_phdr(copy_one, &c) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "haproxy-k8s-sync: %s\n", err.message);
    return EXIT_FAILURE;
}
