#include "cli/start.h"

#include <event2/event.h>
#include <stdlib.h>

#include "host/sandbox.h"
#include "settings/settings.h"
#include "daemon/controller.h"

int start_access(const struct settings *settings, char **environ_, struct kube_access *ret, struct error *err)
{
    if (!settings_need_kubernetes(settings))
        return 0;
    if (settings->kubeconfig == NULL)
        return kube_access_in_cluster(environ_, NULL, ret, err);
    if (kube_access_from_kubeconfig(settings->kubeconfig, ret, err) != 0)
        return -1;
    if (settings->seccomp && kube_access_runs_plugin(ret))
        return error_set(
            err, ERROR_FATAL,
            "%s: the credentials come from a program (%s), which SECCOMP=true does not allow: use SECCOMP=false, or "
            "a token file or a client certificate",
            ret->source, ret->exec->command);
    return 0;
}

int start_status(const struct error *err)
{
    return err->kind == ERROR_INVALID ? SETTINGS_EXIT_CODE : EXIT_FAILURE;
}

int start_make(struct settings *settings, char **environ_, const char *version, const struct log *log,
               struct start *ret, struct error *err)
{
    *ret = (struct start){.what = "no usable access to the Kubernetes API"};
    if (start_access(settings, environ_, &ret->access, err) != 0)
        return SETTINGS_EXIT_CODE;
    ret->what = "cannot start";
    ret->base = event_base_new();
    if (ret->base == NULL) {
        (void)error_set(err, ERROR_FATAL, "cannot create an event loop: out of file descriptors or memory");
        return EXIT_FAILURE;
    }
    ret->controller = controller_new(ret->base, settings, &ret->access, version, log, err);
    return ret->controller == NULL ? start_status(err) : EXIT_SUCCESS;
}

int start_enter(const struct start *s, const struct settings *settings, const struct log *log, struct error *err)
{
    bool copies = settings->config_source == SETTINGS_CONFIG_TEMPLATE;
    int folder = controller_state_fd(s->controller);
    struct error without = {0};
    if (!settings->seccomp)
        return EXIT_SUCCESS;
    if (sandbox_confine(folder, &without) != 0)
        log_debug(log, "no Landlock: where files are written is left to the system call filter",
                  log_str("error", without.message));
    return sandbox_enter(folder, copies, err) != 0 ? SETTINGS_EXIT_CODE : EXIT_SUCCESS;
}

void start_fini(struct start *s)
{
    controller_free(s->controller);
    if (s->base != NULL)
        event_base_free(s->base);
    kube_access_fini(&s->access);
}
