/*
 * Any kubeconfig, or two: a NUL byte divides the files of the list. Whatever they are, the answer is a whole access or an
 * error with a text.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/str.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "fuzz.h"

/* A file that is in memory only. */
static int memory_file(const uint8_t *data, size_t size)
{
    int fd = memfd_create("kubeconfig", MFD_CLOEXEC);
    check(fd >= 0);
    check(write(fd, data, size) == (ssize_t)size);
    return fd;
}

static void check_access(const struct kube_access *a)
{
    check(a->source != NULL && (str_has_prefix(a->server, "https://") || str_has_prefix(a->server, "http://")));
    check(strpbrk(a->server, "@ \n\r\t?#") == NULL);
    check(!str_has_suffix(a->server, "/"));
    check(a->token == NULL || a->token_path == NULL);
    check((a->username == NULL) == (a->password == NULL));
    check((a->cert.text != NULL || a->cert.path != NULL) == (a->key.text != NULL || a->key.path != NULL));
    check(!a->insecure || (a->ca.text == NULL && a->ca.path == NULL));
    check(a->exec == NULL || a->unused_exec == NULL);
    if (a->exec == NULL)
        return;
    check(a->token == NULL && a->token_path == NULL && a->username == NULL && a->cert.text == NULL &&
          a->cert.path == NULL);
    check(a->exec->command[0] != '\0' && a->exec->api_version != NULL);
    for (size_t i = 0; a->exec->env[i] != NULL; i++)
        check(strchr(a->exec->env[i], '=') > a->exec->env[i]);
    kube_exec_free(kube_exec_copy(a->exec));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size > 0 ? memchr(data, '\0', size) : NULL;
    size_t len = nul != NULL ? (size_t)(nul - data) : size;
    int first = memory_file(data, len), second = nul != NULL ? memory_file(nul + 1, size - len - 1) : -1;
    char list[128];
    if (second >= 0)
        snprintf(list, sizeof(list), "/proc/self/fd/%d:/proc/self/fd/%d", first, second);
    else
        snprintf(list, sizeof(list), "/proc/self/fd/%d", first);
    struct kube_access access;
    struct error err;
    error_clear(&err);
    if (kube_access_from_kubeconfig(list, &access, &err) == 0) {
        check_access(&access);
        kube_access_fini(&access);
    } else {
        check(err.kind == ERROR_FATAL && err.message[0] != '\0');
    }
    close(first);
    if (second >= 0)
        close(second);
    return 0;
}
