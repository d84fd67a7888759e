#include "daemon/leadership.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/mem.h"
#include "report/checks.h"
#include "base/str.h"
#include "settings/settings.h"
#include "settings/kubeconfig/kubeconfig.h"
#include "host/process.h"
#include "kube/client.h"
#include "kube/lease/election.h"
#include "report/metric_table.h"

struct leadership {
    const struct daemon *in;
    struct leadership_callbacks callbacks;
    void *arg;
    struct election *election; /* NULL: there is none */
    char *lease;               /* "namespace/name", for messages */
    char *identity;
    bool started;
    struct kube_client_listener listener;
};

const char *leadership_namespace(const struct settings *settings, const char *pod_namespace)
{
    if (settings->lease_namespace != NULL)
        return settings->lease_namespace;
    return pod_namespace != NULL ? pod_namespace : settings_first_namespace(settings);
}

static void set_leading(struct leadership *l, bool leading)
{
    metric_set(l->in->metrics->leader, leading ? 1 : 0, NULL);
}

static void on_elected(void *arg)
{
    struct leadership *l = arg;
    log_info(l->in->log, "leadership acquired", log_str("lease", l->lease), log_str("identity", l->identity));
    set_leading(l, true);
    l->callbacks.lead(l->arg);
}

static void on_deposed(void *arg)
{
    struct leadership *l = arg;
    const char *problem = election_problem(l->election), *holder = election_holder(l->election);
    log_warn(l->in->log, "leadership lost; HAProxy keeps its servers", log_str("lease", l->lease),
             log_str("holder", str_empty(holder) ? NULL : holder),
             log_str("problem", kube_client_is_away(l->in->kube) ? NULL : problem)); /* which was logged */
    set_leading(l, false);
    l->callbacks.step_down(l->arg);
}

static void on_holder(void *arg, const char *identity)
{
    struct leadership *l = arg;
    if (str_empty(identity))
        log_info(l->in->log, "no leader", log_str("lease", l->lease));
    else if (!str_eq(identity, l->identity))
        log_info(l->in->log, "standing by: another replica leads", log_str("lease", l->lease),
                 log_str("leader", identity));
}

static void leadership_on_credentials(void *arg)
{
    leadership_poke(arg);
}

struct leadership *leadership_new(const struct daemon *in, const struct leadership_callbacks *callbacks, void *arg)
{
    const struct settings *settings = in->settings;
    struct leadership *l = mem_alloc(sizeof(*l));
    *l = (struct leadership){.in = in, .callbacks = *callbacks, .arg = arg};
    set_leading(l, false);
    /* A dry run must not keep the Lease from a replica that writes, and as a standby it would show nothing. */
    if (!settings->leader_elect || settings->dry_run)
        return l;
    static const struct election_callbacks callbacks_of_election = {
        .elected = on_elected, .deposed = on_deposed, .holder = on_holder};
    const char *place = leadership_namespace(settings, in->access->namespace);
    l->lease = mem_printf("%s/%s", place, settings->lease_name);
    /* The host's name, which in a pod is the pod's, and what distinguishes two processes on it: a restart is another
     * candidate. */
    char host[HOST_NAME_BYTES];
    uint64_t random = 0;
    host_name(host);
    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        random = (uint64_t)getpid();
    l->identity = mem_printf("%s_%016" PRIx64, host[0] != '\0' ? host : "unknown", random);
    const struct election_options election = {
        .client = in->kube, .log = in->log, .namespace = place, .name = settings->lease_name, .identity = l->identity};
    l->election = election_new(in->base, &election, &callbacks_of_election, l);
    l->listener = (struct kube_client_listener){.on_credentials = leadership_on_credentials, .arg = l};
    kube_client_on_credentials(in->kube, &l->listener);
    return l;
}

void leadership_free(struct leadership *l)
{
    if (l == NULL)
        return;
    if (l->election != NULL)
        kube_client_forget_listener(&l->listener);
    election_free(l->election);
    mem_free_all(l->lease, l->identity, l);
}

void leadership_start(struct leadership *l)
{
    if (l->started)
        return;
    l->started = true;
    if (l->election != NULL) {
        election_start(l->election);
        return;
    }
    set_leading(l, true);
    l->callbacks.lead(l->arg);
}

void leadership_poke(struct leadership *l)
{
    if (l->election != NULL && l->started)
        election_poke(l->election);
}

bool leadership_may_write(const struct leadership *l)
{
    return l->election == NULL || election_may_act(l->election);
}

bool leadership_may_take_back(const struct leadership *l)
{
    return l->election == NULL || election_may_clean_up(l->election);
}

void leadership_release(struct leadership *l, void (*done)(void *arg), void *arg)
{
    if (l->election != NULL && l->started)
        election_release(l->election, done, arg);
    else
        done(arg);
}

bool leadership_ready(const struct leadership *l, struct checks *checks)
{
    if (l->election == NULL)
        return true;
    const char *problem = election_problem(l->election), *holder = election_holder(l->election);
    bool leading = election_may_act(l->election);
    char *reason = problem != NULL     ? mem_printf("%s%s", leading ? "still leading, but " : "", problem)
                   : !l->started       ? mem_strdup("no candidate until the watches have synced")
                   : leading           ? mem_printf("leading by lease %s", l->lease)
                   : str_empty(holder) ? mem_printf("no replica holds lease %s yet", l->lease)
                                       : mem_printf("standing by for %s, which holds lease %s", holder, l->lease);
    bool ready = problem == NULL || leading;
    checks_add(checks, ready ? CHECK_OK : CHECK_FAIL, mem_strdup("leader election"), reason, NULL);
    return ready;
}

struct leadership_status leadership_status(const struct leadership *l)
{
    if (l->election == NULL)
        return (struct leadership_status){.leading = l->started};
    return (struct leadership_status){.election = true,
                                      .leading = election_may_act(l->election),
                                      .lease = l->lease,
                                      .holder = election_holder(l->election),
                                      .problem = election_problem(l->election)};
}
