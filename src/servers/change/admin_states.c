#include "servers/change/admin_states.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "base/str.h"
#include "base/text.h"

#define OVERRIDES_SHOWN 10
#define LATE_PERIODS 3 /* the one that has begun, and two more */

static void marks_free(struct admin_state *marks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(marks[i].name);
    free(marks);
}

void admin_states_fini(struct admin_states *m)
{
    marks_free(m->marks, m->count);
    *m = (struct admin_states){.count = 0};
}

/* The place of that name among the marks, or where it would stand. */
static size_t admin_states_place_of(const struct admin_states *m, const char *name)
{
    return sorted_place(&name, m->marks, m->count, sizeof(m->marks[0]), str_order);
}

static struct admin_state *admin_states_find_mark(const struct admin_states *m, const char *name)
{
    size_t at = admin_states_place_of(m, name);
    return at < m->count && strcmp(m->marks[at].name, name) == 0 ? &m->marks[at] : NULL;
}

static struct admin_state *find_or_add(struct admin_states *m, const char *name)
{
    size_t at = admin_states_place_of(m, name);
    if (at < m->count && strcmp(m->marks[at].name, name) == 0)
        return &m->marks[at];
    m->marks = mem_resize(m->marks, m->count + 1, sizeof(m->marks[0]));
    memmove(&m->marks[at + 1], &m->marks[at], (m->count - at) * sizeof(m->marks[0]));
    m->count++;
    m->marks[at] = (struct admin_state){.name = mem_strdup(name)};
    return &m->marks[at];
}

const struct admin_state *admin_states_any(const struct admin_states *m, const char *name)
{
    return admin_states_find_mark(m, name);
}

static bool anybody_set_it(const struct admin_state *mark)
{
    return mark->theirs != RUNTIME_READY || mark->ours != RUNTIME_READY;
}

const struct admin_state *admin_states_find(const struct admin_states *m, const char *name)
{
    const struct admin_state *mark = admin_states_find_mark(m, name);
    return mark != NULL && anybody_set_it(mark) ? mark : NULL;
}

enum runtime_admin admin_state_now(const struct admin_state *mark, const struct runtime_server *row)
{
    return mark != NULL && mark->unseen ? mark->commanded : row->admin;
}

/* ---- refresh ---- */

struct look {
    const struct backend_server *line;
    const struct runtime_server *row;
    const struct desired_server *want;
    bool first; /* with a desired state to compare with */
    bool empty; /* no server that is desired live is ready */
    enum worker_change worker;
    bool stale; /* the reading may be older than the last command */
};

static bool is_desired_live(const struct look *l)
{
    return l->want != NULL && l->want->state == SERVER_LIVE;
}

static void judge_set(struct admin_state *mark, const struct look *l)
{
    if (l->stale) {
        mark->unheeded = mark->commanded == RUNTIME_READY;
        return;
    }
    /* HAProxy said that it is ready: the command is sent once more before anything else is assumed. */
    bool again = mark->unheeded && !mark->sent_again;
    mark->sent_again = mark->unheeded;
    mark->unheeded = false;
    /* The API may take drain and maint for each other: a difference in that alone is no operator's. */
    bool late = mark->late_periods > 0 && mark->late == l->row->admin;
    /* Another process has just loaded a line in maintenance, which the file that was read has not: nobody commanded it. */
    bool loaded = l->worker != WORKER_SAME && l->row->from_file && l->row->admin == RUNTIME_MAINT;
    if (mark->ours == RUNTIME_READY && mark->theirs == RUNTIME_READY &&
        (l->worker == WORKER_BY_OUR_RELOAD || late || again || loaded)) {
        mark->late_periods = 0;
        mark->ours = l->row->admin;
    } else if (mark->ours == RUNTIME_READY) {
        mark->theirs = l->row->admin;
        mark->lost = false;
    }
    bool adopted = !is_desired_live(l) || (l->empty && l->row->admin == RUNTIME_DRAIN);
    if (l->first && mark->ours == RUNTIME_READY && adopted) { /* of an earlier run of the daemon */
        mark->ours = mark->theirs;
        mark->theirs = RUNTIME_READY;
    }
}

static void admin_states_judge(struct admin_state *mark, struct look *l)
{
    l->stale = mark->unseen && mark->commanded != l->row->admin;
    mark->unseen = mark->unanswered = false;
    if (l->line->maintenance) {
        mark->ours = RUNTIME_READY; /* it is the file's now */
        mark->parked = mark->theirs != RUNTIME_READY;
        mark->lost = false;
        mark->in_file = true;
        return;
    }
    mark->lost = mark->lost || mark->parked;
    mark->parked = false;
    if (mark->in_file && mark->theirs == RUNTIME_READY && l->row->admin == RUNTIME_MAINT)
        mark->ours = RUNTIME_MAINT; /* another writer brought the line back, and no command was sent */
    mark->in_file = false;
    if (l->row->admin == RUNTIME_READY) {
        mark->sent_again = mark->sent_again && mark->corrected;
        mark->unheeded = mark->corrected;
        mark->corrected = false;
        if (mark->theirs != RUNTIME_READY && l->worker != WORKER_SAME)
            mark->lost = true;
        else if (!mark->lost && !l->stale)
            mark->theirs = RUNTIME_READY; /* taken back */
        if (is_desired_live(l) && !l->stale)
            mark->ours = RUNTIME_READY;
    } else
        judge_set(mark, l);
}

void admin_states_refresh(struct admin_states *m, const struct backend *actual, const struct runtime *r,
                          const struct desired *desired, const struct diff_rules *rules, enum worker_change worker)
{
    if (worker > m->worker)
        m->worker = worker;
    if (!r->readable)
        return;
    cleanup(diff_lines_fini) struct diff_lines lines;
    diff_lines_read(&lines, actual, desired, rules);
    struct admin_state *marks = mem_array(lines.count, sizeof(marks[0]));
    size_t count = 0;
    bool first = !m->known && desired->state == DESIRED_OK, wanted = false, ready = false;
    for (size_t i = 0; first && !ready && i < lines.count; i++) {
        const struct desired_server *want = desired_find(desired, lines.list[i].name);
        const struct runtime_server *row = runtime_find(r, lines.list[i].name);
        if (!diff_line_is_own(&lines.list[i]) || want == NULL || want->state != SERVER_LIVE)
            continue;
        wanted = true;
        ready = row != NULL && row->admin == RUNTIME_READY;
    }
    for (size_t i = 0; i < lines.count; i++) {
        const char *name = lines.list[i].name;
        if (!diff_line_is_own(&lines.list[i]))
            continue;
        struct look l = {.line = lines.list[i].server,
                         .row = runtime_find(r, name),
                         .want = desired_find(desired, name),
                         .first = first,
                         .empty = wanted && !ready,
                         .worker = m->worker};
        const struct admin_state *was = admin_states_find_mark(m, name);
        struct admin_state mark = was != NULL ? *was : (struct admin_state){.name = NULL};
        mark.name = mem_strdup(name);
        if (l.row != NULL && !l.row->unresolved) /* then the state is HAProxy's, until it has an address */
            admin_states_judge(&mark, &l);
        if (anybody_set_it(&mark) || mark.in_file || mark.late_periods > 0 || mark.unheeded || mark.sent_again)
            marks[count++] = mark;
        else
            free(mark.name);
    }
    marks_free(m->marks, m->count);
    m->marks = mem_resize(marks, count, sizeof(marks[0])); /* of hardly any server there is one */
    m->count = count;
    m->known = m->known || first;
    m->worker = WORKER_SAME;
}

/* ---- what we did ---- */

void admin_states_calls(struct admin_states *m, const char *name, enum runtime_admin state)
{
    struct admin_state *mark = find_or_add(m, name);
    if (state != RUNTIME_READY && state != mark->theirs)
        mark->ours = state;
}

void admin_states_unanswered(struct admin_states *m, const char *name, enum runtime_admin state)
{
    struct admin_state *mark = find_or_add(m, name);
    mark->late = state;
    mark->unanswered = state != RUNTIME_READY;
    mark->late_periods = mark->unanswered ? LATE_PERIODS : 0;
}

void admin_states_age(struct admin_states *m)
{
    for (size_t i = 0; i < m->count; i++)
        m->marks[i].late_periods -= m->marks[i].late_periods > 0;
}

void admin_states_called(struct admin_states *m, const char *name, enum runtime_admin state)
{
    struct admin_state *mark = find_or_add(m, name);
    mark->unseen = true;
    mark->commanded = state;
    if (state == RUNTIME_READY)
        mark->theirs = RUNTIME_READY;
    mark->ours = state == mark->theirs ? RUNTIME_READY : state;
    if (state == mark->theirs)
        mark->lost = false;
}

void admin_states_crossed(struct admin_states *m, const char *name)
{
    struct admin_state *mark = admin_states_find_mark(m, name);
    if (mark != NULL)
        mark->crossed = true;
}

bool admin_states_correct(struct admin_states *m, struct runtime *r, bool other_worker)
{
    bool differs = false;
    for (size_t i = 0; i < r->count; i++) {
        struct admin_state *mark = admin_states_find_mark(m, r->servers[i].name);
        bool told = mark != NULL && mark->crossed && !other_worker && r->servers[i].admin != mark->commanded;
        if (told)
            runtime_set_admin(&r->servers[i], mark->commanded);
        if (mark != NULL) {
            mark->crossed = false;
            mark->corrected = told && mark->commanded == RUNTIME_READY;
        }
        differs = differs || told;
    }
    return differs;
}

void admin_states_written(struct admin_states *m, const char *name, bool maintenance)
{
    struct admin_state *mark = maintenance ? find_or_add(m, name) : admin_states_find_mark(m, name);
    if (mark == NULL)
        return;
    mark->unseen = false;
    mark->in_file = maintenance;                /* another writer may bring the line back before it is read */
    mark->lost = mark->theirs != RUNTIME_READY; /* no harm where it is there still */
}

bool admin_states_holds(const struct admin_states *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->marks[i].ours != RUNTIME_READY)
            return true;
    return false;
}

void admin_states_reloads(struct admin_states *m)
{
    for (size_t i = 0; i < m->count; i++) {
        m->marks[i].ours = RUNTIME_READY;
        m->marks[i].unseen = false;
    }
}

/* ---- what operators did ---- */

char *admin_states_overrides(const struct admin_states *m, size_t *ret_count)
{
    struct text_list list = {.between = ", ", .max = OVERRIDES_SHOWN};
    for (size_t i = 0; i < m->count; i++) {
        const struct admin_state *mark = &m->marks[i];
        if (mark->theirs != RUNTIME_READY && !mark->parked && text_list_next(&list))
            buf_printf(&list.text, "%s %s%s", mark->name, list.count > 1 ? "in " : "is in ",
                       runtime_admin_name(mark->theirs));
    }
    *ret_count = list.count;
    return text_list_take(&list);
}
