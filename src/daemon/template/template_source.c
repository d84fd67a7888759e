#include "daemon/template/template_source.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/config/config_source.h"
#include "daemon/config/config_trace.h"
#include "daemon/pod_targets.h"
#include "daemon/quarantine.h"
#include "daemon/host_memory.h"
#include "daemon/state_text.h"
#include "daemon/template/losses.h"
#include "daemon/template/remarks.h"
#include "daemon/template/set_quarantine.h"
#include "daemon/template/renders.h"
#include "daemon/template/watches.h"
#include "haproxy/storage_files.h"
#include "host/timer.h"
#include "json/write.h"
#include "kube/client.h"
#include "model/cache.h"
#include "net/digest.h"
#include "report/checks.h"
#include "report/metric_table.h"
#include "services/owners.h"
#include "settings/settings.h"
#include "settings/table.h"
#include "template/budget.h"
#include "template/objects.h"
#include "template/render.h"
#include "template/set.h"

#define RETRY_MS 5000
#define TRY_AFTER 10                  /* times as long as the render took that failed */
#define KEEP_TIMES 100                /* as long as it takes to keep what is seen it is not kept again */
#define REFRACTORY_MS 100             /* from the start of one render to the start of the next, at least */
#define MEMORY_MAX_BYTES (256u << 20) /* of a render, beside the objects */
#define OUTPUT_MAX_BYTES (80u << 20)  /* haproxy.cfg and all files (haproxy/storage_files) */

/* A template set that was read, and the watches that it is rendered with: two that watch the same share those. */
struct edition {
    struct template_set *set; /* NULL: there is none */
    struct watches *watches;
    size_t bytes;
    char hash[DIGEST_SHA256_HEX_BYTES];
    bool good; /* it was rendered well */
};

#define GIVEN_MAX 4

struct template_source {
    struct event_base *base;
    struct template_source_options options;
    struct template_source_callbacks callbacks;
    void *arg;
    struct set_source *source;
    bool of_pods; /* their set goes with the variables that it had, not with what is watched */
    struct kube_client_listener listener;
    struct edition newest; /* no set: what was read last is none, or nothing was read */
    struct edition good;   /* the one before: rendered, if it was rendered well, until the newest was so, too */
    char *folders[SETTINGS_FOLDERS];
    yyjson_doc *given;                           /* settings that stand for values of the set's own */
    struct engine_variable variables[GIVEN_MAX]; /* of these */
    size_t variable_count;
    char *owners;      /* of hosts, by the last render that left each to one namespace; NULL: to be recalled */
    char *next_owners; /* once what was given last is accepted; NULL: these are they */
    struct buf before; /* the haproxy.cfg that was given last, where it has places; a trial is none */
    bool places;       /* what was rendered last has */
    struct set_quarantine *quarantine;

    struct timer start, keep;
    uint64_t keep_pause_ms;             /* from a change of what is seen until it is kept */
    bool leads;                         /* who does not keeps nothing: the folder may be shared */
    char *recalled;                     /* what an earlier run has kept of it; NULL: it was read, or there is none */
    struct render *render;              /* NULL: none is under way */
    const struct edition *rendered;     /* by it */
    bool again;                         /* something changed since it began */
    uint64_t due_ms;                    /* then what its losses delayed goes; 0: nothing is */
    uint64_t began_ms;                  /* the last one; 0: there was none */
    bool fails;                         /* the newest, and the good one is rendered instead, */
    bool owed;                          /* objects have changed since it was tried; */
    uint64_t try_ms;                    /* then it is tried again */
    char hash[DIGEST_SHA256_HEX_BYTES]; /* of what was given last; "": nothing */
    bool trial;                         /* that was one (configuration/culprits) */
    struct error problem;               /* of the newest; kind NONE: there is none */
    struct remarks *remarks;
    struct renders *renders;
    struct log_limit losses_limit;
};

static void edition_fini(struct edition *e)
{
    template_set_free(e->set);
    watches_free(e->watches);
    *e = (struct edition){0};
}

static bool template_source_has_good(const struct template_source *s)
{
    return s->good.good && !s->of_pods;
}

/* rendered: by a render; else the set is none. */
static void template_source_fail(struct template_source *s, const struct error *err, bool rendered)
{
    s->problem = *err;
    renders_failed(s->renders, err, rendered);
    s->callbacks.failed(s->arg, &s->problem);
}

/* ---- what was rendered ---- */

static void template_source_set_owners(struct template_source *s, char *owners)
{
    host_memory_keep(s->options.hosts, s->owners, owners);
    free(s->owners);
    s->owners = owners;
}

/* What was given up goes now. */
static void template_source_settle_owners(void *source)
{
    struct template_source *s = source;
    if (s->next_owners == NULL || !quarantine_settled(s->options.quarantine))
        return;
    template_source_set_owners(s, s->next_owners);
    s->next_owners = NULL;
}

/* For a render: those that stay are marked. Allocates. */
static char *template_source_owners(const struct template_source *s)
{
    struct buf text = {0};
    cleanup(mem_free_ptr) char *copy = mem_strdup(s->owners);
    char *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        const char *space = strchr(line, ' ');
        if (space != NULL)
            buf_printf(&text, "%s%s\n", line, set_quarantine_holds(s->quarantine, space + 1) ? " held" : "");
    }
    return buf_take(&text);
}

/* In full, as a document is when it is applied; of much that changes often not each time. */
static void template_source_keep(void *arg)
{
    struct template_source *s = arg;
    const struct edition *e = s->newest.good ? &s->newest : &s->good;
    struct losses *losses = e->good ? watches_losses(e->watches) : NULL;
    if (!s->leads || s->options.state_fd < 0 || losses == NULL || !losses_changed(losses))
        return;
    uint64_t began_ms = clock_mono_ms();
    cleanup(buf_fini) struct buf text;
    buf_init_secret(&text, 0);
    losses_print(losses, &text);
    state_text_keep(s->options.settings->state_dir, s->options.state_fd, STATE_OBJECTS, NULL, buf_str(&text),
                    s->options.log);
    s->keep_pause_ms = KEEP_TIMES * (clock_mono_ms() - began_ms);
}

static int template_source_take(struct template_source *s, struct rendered *r, struct error *err)
{
    const struct edition *e = s->rendered;
    cleanup(storage_files_fini) struct storage_files files = {0};
    const struct render_file *cfg = &r->files[0];
    char hash[DIGEST_SHA256_HEX_BYTES], of_text[DIGEST_SHA256_HEX_BYTES], of_files[DIGEST_SHA256_HEX_BYTES];
    if (rendered_files(r, s->options.known, &files, err) != 0)
        return error_prefix(err, "%s", set_source_name(s->source));
    digest_sha256_hex(cfg->bytes, cfg->len, of_text);
    storage_files_hash(&files, of_files);
    cleanup(mem_free_ptr) char *both = mem_printf("%s %s", of_text, of_files);
    digest_sha256_hex(both, strlen(both), hash);
    bool trial = culprits_trial(quarantine_culprits(s->options.quarantine));
    bool same = str_eq(hash, s->hash) && trial == s->trial, of_newest = e == &s->newest;
    bool recovers = of_newest && s->problem.kind != ERROR_NONE; /* the same, too, is what the source has now */
    renders_succeeded(s->renders, r, &files, same, of_newest);
    cleanup(buf_fini) struct buf stored;
    buf_init_secret(&stored, 0);
    if (s->of_pods) /* such templates write paths by themselves, with the names that files have in their objects */
        stored_paths(cfg->bytes, cfg->len, &files, (const char *const *)s->folders, &stored);
    if (same && !recovers)
        quarantine_gives(s->options.quarantine, true);
    else if (s->callbacks.made(s->arg, set_source_name(s->source), s->of_pods ? buf_str(&stored) : cfg->bytes,
                               s->of_pods ? stored.len : cfg->len, &files, err) != 0)
        return -1;
    log_debug(s->options.log, "templates rendered", log_us_as_ms("took_ms", r->took_us), log_bool("changed", !same));
    s->places = r->placed;
    if (!same && !trial) {
        buf_clear(&s->before);
        buf_addn(&s->before, cfg->bytes, r->placed ? cfg->len : 0);
    }
    if (r->owners != NULL) {
        /* What an object gives up by a change stays its own until that is accepted. */
        struct service_owners all = {0};
        struct buf text = {0};
        bool may_go_back = culprits_may_go_back(quarantine_culprits(s->options.quarantine));
        free(s->next_owners);
        s->next_owners = may_go_back ? mem_strdup(r->owners) : NULL;
        service_owners_read(&all, r->owners);
        if (may_go_back)
            service_owners_read(&all, s->owners);
        service_owners_print(&all, &text);
        service_owners_fini(&all);
        template_source_set_owners(s, mem_strdup(buf_str(&text)));
        buf_fini(&text);
    }
    set_quarantine_remark(s->quarantine, e->set, r);
    remarks_take(s->remarks, e->set, watches_objects(e->watches), r);
    if (of_newest) {
        error_clear(&s->problem);
        edition_fini(&s->good);
        s->newest.good = true;
        s->fails = false;
    }
    memcpy(s->hash, hash, sizeof(hash));
    s->trial = trial;
    timer_set_sooner(&s->keep, s->keep_pause_ms);
    config_trace_rendered(s->options.trace, !same || recovers, NULL);
    if (!same || recovers)
        (of_newest ? s->callbacks.changed : s->callbacks.followed)(s->arg);
    return 0;
}

/* ---- when ---- */

static void template_source_schedule(struct template_source *s)
{
    uint64_t now_ms = clock_mono_ms(), free_ms = s->began_ms + REFRACTORY_MS;
    if (s->render != NULL)
        s->again = true;
    else
        timer_set_sooner(&s->start, s->began_ms == 0 || now_ms >= free_ms ? 0 : free_ms - now_ms);
}

/* err names the set. */
static void template_source_fail_render(struct template_source *s, const struct error *err)
{
    config_trace_rendered(s->options.trace, false, err);
    bool searches = quarantine_culprits(s->options.quarantine)->searching && s->problem.kind != ERROR_NONE;
    if (searches && err->kind == ERROR_INVALID && !template_source_has_good(s)) {
        renders_failed(s->renders, err, true); /* as the one that the search began with, which was logged */
        return;
    }
    if (s->rendered == &s->good) { /* the problem stays the newest's */
        renders_failed(s->renders, err, true);
        log_warn(s->options.log, "the last good template set cannot be rendered, either",
                 log_str("error", err->message));
        return;
    }
    template_source_fail(s, err, true);
    if (template_source_has_good(s) && err->kind != ERROR_RETRY) {
        /* The good one is rendered next; what the newest fails by may be an object, so that it is tried again. */
        uint64_t now_ms = clock_mono_ms(), pause_ms = TRY_AFTER * (now_ms - s->began_ms);
        if (!s->fails)
            log_warn(s->options.log, "template set cannot be rendered; the last good one stays in use",
                     log_str("from", set_source_name(s->source)), log_str("good", s->good.hash));
        s->fails = true;
        s->try_ms = now_ms + (pause_ms > RETRY_MS ? pause_ms : RETRY_MS);
        s->again = true;
    }
}

static void template_source_on_rendered(void *arg, struct rendered *r, const struct error *err)
{
    struct template_source *s = arg;
    struct error wrong = {0};
    s->render = NULL;
    if (r == NULL) {
        wrong = *err;
        (void)error_prefix(&wrong, "%s", set_source_name(s->source));
    }
    if (r != NULL)
        budget_add_remarks(s->rendered->set, watches_objects(s->rendered->watches), r);
    if (r == NULL || template_source_take(s, r, &wrong) != 0) {
        template_source_fail_render(s, &wrong);
        if (wrong.kind == ERROR_INVALID && !template_source_has_good(s))
            quarantine_refuse(s->options.quarantine, wrong.message);
    }
    if (wrong.kind == ERROR_RETRY) /* no process could be started, or it was killed */
        timer_set(&s->start, RETRY_MS);
    if (s->due_ms != 0)
        timer_set_sooner(&s->start, s->due_ms > clock_mono_ms() ? s->due_ms - clock_mono_ms() : 0);
    if (s->again)
        template_source_schedule(s);
    else if (s->fails && s->owed)
        timer_set_sooner(&s->start, s->try_ms > clock_mono_ms() ? s->try_ms - clock_mono_ms() : 0);
}

/* Which one is rendered next; NULL: none yet. */
static const struct edition *template_source_next(struct template_source *s)
{
    bool tries = !s->fails || (s->owed && clock_mono_ms() >= s->try_ms);
    if (s->newest.set != NULL && tries && watches_settled(s->newest.watches))
        return &s->newest;
    return template_source_has_good(s) && watches_settled(s->good.watches) ? &s->good : NULL;
}

static void given_names(yyjson_mut_doc *doc, const char *name, const struct settings *s, const struct setting *row,
                        const struct settings_names *names)
{
    if (setting_is_given(s, row))
        json_put_texts(doc, yyjson_mut_doc_get_root(doc), name, (const char *const *)names->list, names->count);
}

static void given_word(yyjson_mut_doc *doc, const char *name, const struct settings *s, const struct setting *row)
{
    cleanup(buf_fini) struct buf word = {0};
    row->type->print(row, s, &word);
    if (setting_is_given(s, row))
        json_fields(doc, yyjson_mut_doc_get_root(doc), json_str(name, buf_str(&word)));
}

/* Who runs the daemon has the last word on these, whatever stands in a set's `extra`. */
static void template_source_fill_given(struct template_source *s, const struct settings *settings)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    given_word(doc, "host_ownership", settings, SETTING(host_ownership));
    given_word(doc, "foreign_protection", settings, SETTING(foreign_protection));
    given_names(doc, "shared_hosts", settings, SETTING(shared_hosts), &settings->shared_hosts);
    given_names(doc, "trusted_proxies", settings, SETTING(trusted_proxies), &settings->trusted_proxies);
    cleanup(mem_free_ptr) char *text = json_take(doc);
    s->given = yyjson_read(text, strlen(text), 0);
    size_t i, max;
    yyjson_val *all = yyjson_doc_get_root(s->given), *key, *value;
    yyjson_obj_foreach (all, i, max, key, value) {
        const struct engine_variable one = {{yyjson_get_str(key), yyjson_get_len(key)}, value};
        s->variables[s->variable_count++] = one;
    }
}

/* In the child. */
static void template_source_on_prepare(void *arg, struct render_options *options)
{
    const struct template_source *s = arg;
    losses_apply(watches_losses(s->rendered->watches), options->objects);
    budget_apply(s->rendered->set, options->objects);
    set_source_prepare(s->source, options);
}

static void template_source_begin(void *arg)
{
    struct template_source *s = arg;
    struct error err = {0};
    uint64_t hold_ms = quarantine_hold_ms(s->options.quarantine);
    if (!host_memory_known(s->options.hosts))
        return;
    if (s->render == NULL && hold_ms > 0) {
        timer_set_sooner(&s->start, hold_ms);
        return;
    }
    const struct edition *e = s->render == NULL ? template_source_next(s) : NULL;
    if (e == NULL)
        return;
    const struct settings *settings = s->options.settings;
    struct render_options options = {.set = e->set,
                                     .objects = watches_objects(e->watches),
                                     .known = s->options.known,
                                     .before = buf_str(&s->before),
                                     .variables = s->variables,
                                     .variable_count = s->variable_count,
                                     .folders = {s->folders[0], s->folders[1], s->folders[2]},
                                     .timeout_ms = settings->template_timeout_ms,
                                     .memory_bytes = MEMORY_MAX_BYTES,
                                     .output_bytes = OUTPUT_MAX_BYTES,
                                     .prepare = template_source_on_prepare,
                                     .prepare_arg = s};
    set_source_refresh(s->source);
    if (s->owners == NULL)
        s->owners = host_memory_recall(s->options.hosts);
    template_source_settle_owners(s);
    set_quarantine_prepare(s->quarantine, e->set, options.objects);
    cleanup(mem_free_ptr) char *owners = template_source_owners(s);
    options.owners = owners;
    struct losses *losses = watches_losses(e->watches);
    s->began_ms = clock_mono_ms();
    s->due_ms = losses_decide(losses, s->began_ms);
    s->again = false;
    s->owed = s->owed && e != &s->newest;
    s->rendered = e;
    struct config_trace_render traced = {.templates = e->set->text_count};
    for (size_t i = 0; i < watches_count(e->watches); i++) {
        struct watch_view v;
        unsigned before;
        traced.objects += cache_count(objects_cache(options.objects, i));
        if (s->due_ms == 0)
            continue;
        cleanup(mem_free_ptr) char *why = losses_text(losses, i);
        watches_view(e->watches, i, &v);
        if (why != NULL && log_limit_pass_message(&s->losses_limit, s->began_ms, why, &before))
            log_warn(s->options.log, "too many objects of the templates vanished; removal delayed",
                     log_str("resource", v.name), log_int("count", v.delayed), log_str("why", why));
    }
    config_trace_rendering(s->options.trace, set_source_name(s->source), &traced);
    s->render = render_start(s->base, &options, template_source_on_rendered, s, &err);
    if (s->render == NULL)
        template_source_on_rendered(s, NULL, &err);
}

/* ---- the set, and what it watches ---- */

static void template_source_on_watched(void *arg, const char *cause)
{
    struct template_source *s = arg;
    log_debug(s->options.log, "objects of the templates changed", log_str("cause", cause));
    config_trace_caused(s->options.trace, cause);
    s->owed = true;
    template_source_schedule(s);
}

static void template_source_on_quarantine(void *arg)
{
    struct template_source *s = arg;
    s->owed = true;
    template_source_schedule(s);
}

static void template_source_drop_render(struct template_source *s)
{
    if (s->render != NULL)
        config_trace_render_dropped(s->options.trace);
    render_cancel(s->render);
    s->render = NULL;
}

/* What is being rendered has the owners from before, too. */
static void template_source_on_owners(void *arg)
{
    struct template_source *s = arg;
    template_source_drop_render(s);
    mem_free_all(s->owners, s->next_owners);
    s->owners = s->next_owners = NULL;
    template_source_on_quarantine(s);
}

/* Another one is read. Of the one before at least the watches may be used. */
static void template_source_supersede(struct template_source *s)
{
    template_source_drop_render(s);
    struct edition *gone = s->newest.good || s->good.set == NULL ? &s->good : &s->newest;
    edition_fini(gone);
    if (gone == &s->good)
        s->good = s->newest;
    s->newest = (struct edition){0};
    s->fails = s->owed = false;
}

/* Its error stands, and the good one goes on. */
static void template_source_on_set_failed(void *arg, const struct error *err)
{
    struct template_source *s = arg;
    template_source_supersede(s);
    template_source_fail(s, err, false);
    template_source_schedule(s);
}

static void template_source_on_set(void *arg, struct template_set *set, size_t bytes)
{
    struct template_source *s = arg;
    struct error err = {0};
    if (pod_targets_follow(s->options.pods, &set->targets, &err) != 0) {
        (void)error_prefix(&err, "%s", set_source_name(s->source));
        template_set_free(set);
        template_source_on_set_failed(s, &err);
        return;
    }
    log_info(s->options.log, "template set read", log_str("from", set_source_name(s->source)), log_int("bytes", bytes),
             log_int("templates", set->text_count), log_int("watches", set->watch_count));
    config_trace_caused(s->options.trace, set_source_name(s->source));
    template_source_supersede(s);
    s->hash[0] = '\0';
    struct watches *shared = watches_share(s->good.watches, set, s->of_pods);
    s->newest = (struct edition){.set = set, .watches = shared, .bytes = bytes};
    if (shared == NULL)
        s->newest.watches = watches_new(s->base, set, &s->options, template_source_on_watched, s);
    if (s->options.quarantine != NULL)
        losses_withhold(watches_losses(s->newest.watches), set_quarantine_withholds, s->quarantine);
    if (s->recalled != NULL)
        losses_recall(watches_losses(s->newest.watches), s->recalled);
    free(s->recalled);
    s->recalled = NULL;
    memcpy(s->newest.hash, set_source_hash(s->source), sizeof(s->newest.hash));
    if (shared != NULL) {
        template_source_schedule(s);
    } else {
        set_quarantine_forget(s->quarantine);
        watches_start(s->newest.watches);
    }
}

static void template_source_on_credentials(void *arg)
{
    struct template_source *s = arg;
    set_source_poke(s->source);
}

/* ---- life ---- */

struct template_source *template_source_new(struct event_base *base, const struct template_source_options *options,
                                            const struct template_source_callbacks *callbacks, void *arg,
                                            struct error *err)
{
    static const struct set_source_callbacks of_set = {.changed = template_source_on_set,
                                                       .failed = template_source_on_set_failed};
    if (engine_unavailable()[0] != '\0') {
        (void)error_set(err, ERROR_INVALID, "CONFIG_SOURCE=template: %s", engine_unavailable());
        return NULL;
    }
    struct template_source *s = mem_alloc(sizeof(*s));
    *s = (struct template_source){.base = base, .options = *options, .callbacks = *callbacks, .arg = arg};
    s->source = set_source_new(base, options, &of_set, s, err);
    if (s->source == NULL) {
        free(s);
        return NULL;
    }
    s->of_pods = set_source_remarks(s->source) != NULL;
    render_folders_init(s->folders, &options->settings->local);
    template_source_fill_given(s, options->settings);
    buf_init_secret(&s->before, 0);
    s->recalled = state_text_recall(options->settings->state_dir, STATE_OBJECTS, options->log);
    s->quarantine = set_quarantine_new(options->quarantine);
    timer_init(&s->start, base, template_source_begin, s);
    timer_init(&s->keep, base, template_source_keep, s);
    s->losses_limit.period_ms = 60000;
    s->remarks = remarks_new(REMARKS_OF_TEMPLATES, options->log);
    s->renders = renders_new(options->metrics);
    quarantine_listen(options->quarantine, template_source_on_quarantine, template_source_settle_owners, s);
    host_memory_listen(options->hosts, template_source_on_owners, s);
    s->listener = (struct kube_client_listener){.on_credentials = template_source_on_credentials, .arg = s};
    kube_client_on_credentials(options->kube, &s->listener);
    return s;
}

static void template_source_free(void *source)
{
    struct template_source *s = source;
    kube_client_forget_listener(&s->listener);
    template_source_drop_render(s);
    edition_fini(&s->newest);
    edition_fini(&s->good);
    set_source_free(s->source);
    remarks_free(s->remarks);
    set_quarantine_free(s->quarantine);
    free(s->next_owners);
    renders_free(s->renders);
    timer_fini(&s->start);
    timer_fini(&s->keep);
    free(s->recalled);
    yyjson_doc_free(s->given);
    free(s->owners);
    buf_fini(&s->before);
    for (size_t i = 0; i < SETTINGS_FOLDERS; i++)
        free(s->folders[i]);
    free(s);
}

static void template_source_start(void *source)
{
    set_source_start(((struct template_source *)source)->source);
}

static void template_source_each_watches(const struct template_source *s, void (*fn)(struct watches *))
{
    if (s->newest.watches != NULL)
        fn(s->newest.watches);
    if (s->good.watches != NULL && s->good.watches != s->newest.watches)
        fn(s->good.watches);
}

static void template_source_stop(void *source)
{
    struct template_source *s = source;
    template_source_keep(s);
    set_source_stop(s->source);
    template_source_each_watches(s, watches_stop);
    timer_cancel(&s->start);
    timer_cancel(&s->keep);
}

static void template_source_poke(void *source)
{
    struct template_source *s = source;
    set_source_poke(s->source);
    template_source_each_watches(s, watches_poke);
    config_trace_caused(s->options.trace, "SIGHUP, or `config apply`");
    s->owed = true;
    s->try_ms = 0;
    template_source_schedule(s);
}

static void template_source_lead(void *source, bool leads, struct events *events)
{
    struct template_source *s = source;
    s->leads = leads;
    timer_set_sooner(&s->keep, 0);
    remarks_tell_to(s->remarks, events);
    set_source_tell_to(s->source, events);
}

/* Objects have changed since: what was made before, for an owner or an object that is gone perhaps, is no beginning for a leader. */
static bool template_source_defer(void *source)
{
    struct template_source *s = source;
    bool behind = !s->fails && (s->render != NULL || s->again || s->owed);
    if (behind)
        s->hash[0] = '\0';
    return behind;
}

bool template_source_places(const struct template_source *s)
{
    return s->places;
}

void template_source_see(struct template_source *s, struct buf *text)
{
    buf_fini(&s->before);
    s->before = *text;
    buf_init_secret(text, 0);
    template_source_drop_render(s);
    s->hash[0] = '\0';
    s->owed = true;
    template_source_schedule(s);
}

/* Of the newest; where that is none, of the good one. NULL: there are none. */
static const struct watches *template_source_watches(const struct template_source *s)
{
    const struct edition *e = s->newest.set != NULL ? &s->newest : &s->good;
    return e->watches;
}

static bool template_source_ready(const void *source, struct checks *checks)
{
    const struct template_source *s = source;
    bool all = set_source_ready(s->source, checks);
    return watches_ready(template_source_watches(s), checks) && all;
}

static void template_source_measure(const void *source)
{
    const struct template_source *s = source;
    struct metric_table *t = s->options.metrics;
    struct metric *const gauges[] = {t->template_objects, t->template_object_bytes, t->template_objects_left_out,
                                     t->template_resource_synced, t->template_removals_delayed};
    for (size_t i = 0; i < array_len(gauges); i++)
        metric_clear(gauges[i]);
    const struct watches *watches = template_source_watches(s);
    for (size_t i = 0; watches != NULL && i < watches_count(watches); i++) {
        struct watch_view v;
        watches_view(watches, i, &v);
        metric_set(t->template_objects, (double)v.objects, v.name, NULL);
        metric_set(t->template_object_bytes, (double)v.bytes, v.name, NULL);
        metric_set(t->template_objects_left_out, (double)remarks_left_out(s->remarks, v.name), v.name, NULL);
        metric_set(t->template_resource_synced, v.synced, v.name, NULL);
        metric_set(t->template_removals_delayed, (double)v.delayed, v.name, NULL);
    }
}

static const struct secret_object *template_source_object(const void *source)
{
    return set_source_config_map(((const struct template_source *)source)->source);
}

const struct source_ops template_source_ops = {.free = template_source_free,
                                               .start = template_source_start,
                                               .stop = template_source_stop,
                                               .poke = template_source_poke,
                                               .lead = template_source_lead,
                                               .defer = template_source_defer,
                                               .measure = template_source_measure,
                                               .ready = template_source_ready,
                                               .object = template_source_object,
                                               .may_have_no_files = true};

struct template_view template_source_view(const struct template_source *s)
{
    const struct edition *read = s->newest.set != NULL ? &s->newest : &s->good;
    bool goes_on = template_source_has_good(s) && (s->fails || s->newest.set == NULL);
    return (struct template_view){.from = set_source_name(s->source),
                                  .set_hash = read->set != NULL ? read->hash : NULL,
                                  .set_bytes = read->bytes,
                                  .templates = read->set != NULL ? read->set->text_count : 0,
                                  .good_hash = goes_on ? s->good.hash : NULL,
                                  .watches = template_source_watches(s),
                                  .renders = renders_view(s->renders),
                                  .remarks = s->remarks,
                                  .of_pods = set_source_remarks(s->source),
                                  .problem = &s->problem};
}
