#include "daemon/status/status_parts.h"

#include <yyjson.h>

#include "base/mem.h"
#include "json/write.h"
#include "servers/desired/server_state.h"
#include "servers/servers_internal.h"

struct memory_json {
    int64_t wall_minus_mono_ms;
    size_t *left;
    yyjson_mut_doc *doc;
    yyjson_mut_val *obj;
    bool complete;
};

/* NULL: there is no room for all of them. */
static yyjson_mut_val *memory_list(struct memory_json *j, const char *key, size_t count)
{
    yyjson_mut_val *list = json_put_list(j->doc, j->obj, key);
    if (count > STATUS_LIST_MAX || count > *j->left) {
        j->complete = false;
        return NULL;
    }
    *j->left -= count;
    return list;
}

static yyjson_mut_val *memory_add(struct memory_json *j, yyjson_mut_val *list, const char *server)
{
    yyjson_mut_val *row = json_add_object(j->doc, list);
    json_put_text(j->doc, row, "server", server);
    return row;
}

static void memory_time(struct memory_json *j, yyjson_mut_val *obj, const char *key, uint64_t mono_ms)
{
    json_put_time(j->doc, obj, key, mono_ms != 0 ? (int64_t)mono_ms + j->wall_minus_mono_ms : 0);
}

void status_memory_put_nodes(const struct server_states *states, int64_t wall_minus_mono_ms, size_t *left,
                             yyjson_mut_doc *doc, yyjson_mut_val *obj)
{
    struct memory_json j = {wall_minus_mono_ms, left, doc, json_put_object(doc, obj, "memory"), true};
    cleanup(mem_free_ptr) struct server_memory *list = NULL;
    size_t count = server_states_memory(states, &list);
    yyjson_mut_val *to = memory_list(&j, "nodes", count);
    for (size_t i = 0; to != NULL && i < count; i++) {
        yyjson_mut_val *row = memory_add(&j, to, list[i].name);
        json_put_text(doc, row, "state", server_state_name(list[i].state));
        memory_time(&j, row, "until", list[i].state == SERVER_DRAINING ? list[i].until_ms : 0);
        json_put_bool(doc, row, "announced", list[i].announced);
    }
    json_put_bool(doc, j.obj, "complete", j.complete);
}

/* ---- of a backend in one HAProxy ---- */

static void memory_put_losses(struct memory_json *j, const struct loss_limit *l)
{
    yyjson_mut_val *to = memory_list(j, "losses", l->count);
    for (size_t i = 0; to != NULL && i < l->count; i++) {
        yyjson_mut_val *row = memory_add(j, to, l->losses[i].server);
        memory_time(j, row, "until", l->losses[i].until_ms);
        json_put_count(j->doc, row, "of", l->losses[i].live);
        json_put_bool(j->doc, row, "delayed", l->losses[i].held);
    }
    json_put_count(j->doc, j->obj, "lost", l->over);
    json_put_count(j->doc, j->obj, "lost_of", l->of);
}

static void memory_put_admin_states(struct memory_json *j, const struct admin_states *states)
{
    yyjson_mut_val *to = memory_list(j, "admin_states", states->count);
    for (size_t i = 0; to != NULL && i < states->count; i++) {
        const struct admin_state *mark = &states->marks[i];
        yyjson_mut_val *row = memory_add(j, to, mark->name);
        json_put_text(j->doc, row, "operator", runtime_admin_name(mark->theirs));
        json_put_text(j->doc, row, "commanded", runtime_admin_name(mark->ours));
        json_put_bool(j->doc, row, "lost", mark->lost);
    }
    json_put_bool(j->doc, j->obj, "admin_states_known", states->known);
}

void status_memory_put_servers(struct servers_backend *s, int64_t wall_minus_mono_ms, size_t *left, yyjson_mut_doc *doc,
                               yyjson_mut_val *obj)
{
    struct memory_json j = {wall_minus_mono_ms, left, doc, json_put_object(doc, obj, "memory"), true};
    const struct backend_decision_input in = servers_decision_input(s);
    json_put_bool(doc, j.obj, "runtime_updates", in.at.open);
    json_put_bool(doc, j.obj, "reload_due", in.dirty);
    json_put_text(doc, j.obj, "file_problem", in.file_problem);
    memory_time(&j, j.obj, "paused_until", in.conflict ? s->pause.until_ms : 0);
    json_put_text(doc, j.obj, "reverted", in.conflict ? s->last.reverted_how : NULL);
    memory_put_losses(&j, &s->loss_limit);
    const struct parking *p = s->parking;
    struct parking_memory is;
    size_t count = 0;
    while (p != NULL && parking_memory(p, count, &is))
        count++;
    yyjson_mut_val *to = memory_list(&j, "parked", count);
    for (size_t i = 0; to != NULL && i < count; i++) {
        (void)parking_memory(p, i, &is);
        yyjson_mut_val *row = memory_add(&j, to, is.server);
        memory_time(&j, row, "since", is.since_ms);
        json_put_bool(j.doc, row, "spare", is.spare);
    }
    memory_put_admin_states(&j, &s->states);
    yyjson_mut_val *nodes = memory_list(&j, "nodes", s->desired->alias_count);
    for (size_t i = 0; nodes != NULL && i < s->desired->alias_count; i++)
        json_put_text(doc, memory_add(&j, nodes, s->desired->aliases[i].name), "node", s->desired->aliases[i].node);
    json_put_bool(doc, j.obj, "complete", j.complete);
}
