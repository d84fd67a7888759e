/* haproxy.cfg of one HAProxy as it was read last, beside what the document makes of it: in what they differ, and which
 * of it a running HAProxy can be given by runtime commands. */
#include "base/text.h"
#include "configuration/configuration_internal.h"
#include "configuration/document.h"
#include "haproxy/cfg/content.h"
#include "haproxy/cfg/difference.h"
#include "haproxy/instance.h"

#define CHANGES_SHOWN 10 /* in a log line */

const char *target_url(const struct target *t)
{
    return instance_view(t->in).url;
}

const char *target_name(const struct target *t)
{
    return t->name != NULL ? t->name : target_url(t);
}

struct cfg_content *target_with_kept(const struct target *t, struct cfg_content *own, struct cfg_edits *edits)
{
    static const struct cfg_file nothing = {.version = -1};
    const struct cfg_file *is = cfg_content_file(t->has.file, NULL), *text = cfg_content_file(own, NULL);
    struct buf out;
    cfg_edits_fini(edits);
    if (t->of->options.keep.count == 0 || text == NULL)
        return cfg_content_ref(own);
    buf_init_secret(&out, 0);
    keep_print(text, is != NULL ? is : &nothing, &t->of->options.keep, edits, &out);
    return cfg_content_take(&out);
}

static bool target_both(const struct target *t, struct cfg_content *own, struct cfg_content **ret,
                        const struct cfg_file **is, const struct cfg_file **wanted)
{
    cleanup(cfg_edits_fini) struct cfg_edits edits = {0};
    *ret = target_with_kept(t, own, &edits);
    *is = cfg_content_file(t->has.file, NULL);
    *wanted = cfg_content_file(*ret, NULL);
    return *is != NULL && *wanted != NULL;
}

bool target_file_means(const struct target *t, struct cfg_content *own)
{
    cleanup(cfg_content_unref_ptr) struct cfg_content *with_kept = NULL;
    const struct cfg_file *is, *wanted;
    return target_both(t, own, &with_kept, &is, &wanted) && cfg_same_meaning(is, wanted, instance_view(t->in).regroups);
}

/* Compared once: most readings find the file that was there before. */
const struct cfg_difference *target_difference(struct target *t)
{
    struct target_has *has = &t->has;
    if (has->compared == DIFFERENCE_UNKNOWN) {
        cleanup(cfg_content_unref_ptr) struct cfg_content *with_kept = NULL;
        const struct cfg_file *is, *wanted;
        bool both = target_both(t, target_document(t)->content, &with_kept, &is, &wanted);
        cfg_difference_fini(&has->differs);
        if (both)
            cfg_difference_init(&has->differs, is, wanted, instance_view(t->in).regroups);
        has->compared = both ? DIFFERENCE_KNOWN : DIFFERENCE_NONE;
    }
    return has->compared == DIFFERENCE_KNOWN ? &has->differs : NULL;
}

const struct cfg_difference *configuration_difference(const struct configuration *c, size_t target)
{
    static const struct cfg_difference nothing = {.effect = CFG_EFFECT_NONE};
    const struct cfg_difference *found = target_difference(c->targets[target]);
    return found != NULL ? found : &nothing;
}

void configuration_line_difference(const struct configuration *c, size_t target, struct cfg_line_difference *ret)
{
    cleanup(cfg_content_unref_ptr) struct cfg_content *with_kept = NULL;
    const struct cfg_file *is, *wanted;
    const struct target *t = c->targets[target];
    *ret = (struct cfg_line_difference){0};
    if (target_both(t, target_document(t)->content, &with_kept, &is, &wanted))
        cfg_line_difference_init(ret, is, wanted);
}

/* What is in the file ("-") and what the configuration has ("+"). */
void target_log_lines(struct target *t)
{
    const struct log *log = t->of->options.log;
    cleanup(cfg_line_difference_fini) struct cfg_line_difference differs;
    configuration_line_difference(t->of, t->number, &differs);
    for (size_t i = 0; i < differs.count && i < CFG_LINE_DIFFERENCE_MAX; i++)
        log_warn(log, "haproxy.cfg differs from the configuration", log_str("target", target_url(t)),
                 log_str("section", differs.lines[i].section), log_str("line", differs.lines[i].text),
                 log_if(i + 1 == CFG_LINE_DIFFERENCE_MAX && differs.count > i + 1,
                        log_int("more_lines", differs.count - i - 1)));
}

/* "backend b: server n1 address; frontend f: new bind" */
char *target_changes(struct target *t)
{
    const struct cfg_difference *differs = target_difference(t);
    struct text_list list = {.between = "; ", .max = CHANGES_SHOWN};
    for (size_t i = 0; differs != NULL && i < differs->count; i++)
        if (text_list_next(&list))
            buf_add(&list.text, i < array_len(differs->texts) ? differs->texts[i] : "");
    return text_list_take(&list);
}

/* ---- without a reload ---- */

const char *target_runs_another(const struct target *t)
{
    const struct target_has *has = &t->has;
    const struct instance_view v = instance_view(t->in);
    /* A file that was changed without a new version still has the notes of the one before. */
    bool same_version = has->running != NULL && has->version == has->running_version;
    return t->failed.restores || v.dirty                    ? "haproxy.cfg was written and is not loaded yet"
           : v.reload == RELOAD_PENDING                     ? "a reload is under way"
           : !v.last_reload_known                           ? "how HAProxy's last reload ended is not known"
           : !instance_at_rest(t->in)                       ? "HAProxy runs something else than its haproxy.cfg"
           : !has->file_runs && (!v.loaded || same_version) ? "haproxy.cfg is not known to be what HAProxy runs"
                                                            : NULL;
}

bool target_by_runtime(const struct target *t)
{
    enum cfg_effect effect = t->has.effect;
    bool possible = effect != CFG_EFFECT_RELOAD && (effect != CFG_EFFECT_RUNTIME_SERVERS || instance_view(t->in).adds);
    return possible && !t->sent.needs_verdict && target_runs_another(t) == NULL;
}

/* Numbers and addresses in their place: there is nothing that HAProxy could refuse. */
bool target_is_plain(const struct target *t)
{
    return t->has.effect == CFG_EFFECT_RUNTIME && !t->sent.files_changed;
}

int configuration_foresee(const struct configuration *c, size_t target, struct buf *ret, struct error *err)
{
    struct target *t = c->targets[target];
    cleanup(cfg_content_unref_ptr) struct cfg_content *with_kept = NULL;
    const struct cfg_file *is, *wanted;
    const struct cfg_difference *d = target_difference(t);
    const char *another = target_runs_another(t);
    int status = 0;
    if (d != NULL && d->effect != CFG_EFFECT_NONE) {
        const char *why = d->effect == CFG_EFFECT_RELOAD ? d->why : another;
        if (why != NULL)
            status = error_set(err, ERROR_INVALID, "%s", why);
        else if (target_both(t, target_document(t)->content, &with_kept, &is, &wanted))
            status = instance_foresee(t->in, wanted, &d->changes, ret, err);
    }
    /* Its files, where haproxy.cfg itself takes no reload. */
    struct storage_foresight *files = &t->sent.foresight;
    const struct storage_foreseen *one = storage_foresight_reloads(files);
    bool stores =
        one != NULL || storage_foresight_has(files, STORAGE_BY_RUNTIME) || storage_foresight_has(files, STORAGE_UNUSED);
    if (status == 0 && stores && another != NULL)
        status = error_set(err, ERROR_INVALID, "%s", another);
    else if (status == 0 && one != NULL)
        status = error_set(err, ERROR_INVALID, "%s: %s", one->name, one->why);
    if (status != 0)
        storage_foresight_load(files);
    return status;
}
