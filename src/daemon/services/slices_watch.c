#include "daemon/services/slices_watch.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/source.h"
#include "host/timer.h"
#include "kube/client.h"
#include "model/service_slices.h"

struct slices_watch {
    struct slices_watch_options options;
    struct service_slices *slices;
    struct source source;
    struct timer timer;
    bool refused;
};

/* ---- the sink of its informer ---- */

static void slices_begin(void *arg)
{
    service_slices_begin(arg);
}

static bool slices_put(void *arg, void *object)
{
    return service_slices_put(arg, object);
}

static bool slices_remove(void *arg, const char *name)
{
    return service_slices_delete(arg, name);
}

static void slices_keep(void *arg, const char *name)
{
    service_slices_keep(arg, name);
}

static void slices_abort(void *arg)
{
    service_slices_abort(arg);
}

static bool slices_end(void *arg, size_t *ret_count)
{
    bool changed = service_slices_end(arg);
    *ret_count = service_slices_count(arg);
    return changed;
}

static void slices_forget(void *arg)
{
    service_slices_forget(arg);
}

/* ---- whether they may be read ---- */

static void slices_settle(void *arg)
{
    struct slices_watch *w = arg;
    const struct informer_status status = source_status(&w->source);
    if (status.denied != INFORMER_ALLOWED && !w->refused &&
        source_refused_since(&w->source, w->options.nodes->synced_us)) {
        w->refused = true;
        log_warn(
            w->options.log, "EndpointSlices may not be read; every eligible node is a server",
            log_str("why", status.problem),
            log_if(status.denied == INFORMER_FORBIDDEN, log_str("hint", kube_client_refusal_hint(status.problem))));
        informer_set_quiet(w->source.informer, true);
        source_forget(&w->source); /* old ones without updates are worse than none */
        w->options.changed(w->options.arg, "EndpointSlices may not be read");
    } else if (status.denied == INFORMER_ALLOWED && w->refused && status.synced && !status.stale) {
        w->refused = false;
        informer_set_quiet(w->source.informer, false);
        log_info(w->options.log, "EndpointSlices are readable; servers follow them");
        w->options.changed(w->options.arg, "EndpointSlices are readable");
    }
}

static void slices_on_changed(void *arg, const char *cause, uint64_t received_us)
{
    const struct slices_watch *w = arg;
    (void)received_us;
    w->options.changed(w->options.arg, cause);
}

static void slices_on_moved(void *arg)
{
    slices_watch_settle(arg);
}

/* ---- life ---- */

struct slices_watch *slices_watch_new(struct event_base *base, const struct slices_watch_options *options)
{
    struct slices_watch *w = mem_alloc(sizeof(*w));
    *w = (struct slices_watch){.options = *options, .slices = service_slices_new()};
    w->source = (struct source){
        .telemetry = options->telemetry, .changed = slices_on_changed, .moved = slices_on_moved, .arg = w};
    const struct informer_options watch = {.resource = &kube_service_slices, .may_be_denied = true};
    const struct informer_sink sink = {.arg = w->slices,
                                       .begin = slices_begin,
                                       .put = slices_put,
                                       .remove = slices_remove,
                                       .keep = slices_keep,
                                       .abort = slices_abort,
                                       .end = slices_end,
                                       .forget = slices_forget};
    timer_init(&w->timer, base, slices_settle, w);
    source_init(&w->source, base, options->kube, options->log, &watch, &sink);
    return w;
}

void slices_watch_free(struct slices_watch *w)
{
    if (w == NULL)
        return;
    source_fini(&w->source);
    timer_fini(&w->timer);
    service_slices_free(w->slices);
    free(w);
}

void slices_watch_start(struct slices_watch *w)
{
    informer_start(w->source.informer);
}

void slices_watch_stop(struct slices_watch *w)
{
    timer_cancel(&w->timer);
    informer_stop(w->source.informer);
}

void slices_watch_poke(struct slices_watch *w)
{
    informer_poke(w->source.informer);
}

void slices_watch_settle(struct slices_watch *w)
{
    timer_set_sooner(&w->timer, 0);
}

struct service_slices *slices_watch_slices(const struct slices_watch *w)
{
    return w->slices;
}

bool slices_watch_known(const struct slices_watch *w)
{
    return !w->refused && w->source.synced_us != 0;
}

bool slices_watch_settled(const struct slices_watch *w)
{
    return w->refused || w->source.synced_us != 0;
}

bool slices_watch_ready(const struct slices_watch *w, struct checks *checks)
{
    return source_ready(&w->source, !w->refused, checks);
}
