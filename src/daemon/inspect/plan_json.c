/* `plan -o json`; the fields are documented in the header. */
#include <stdlib.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/str.h"
#include "daemon/inspect/inspect_print.h"
#include "daemon/inspect/inspect_report.h"
#include "json/write.h"
#include "report/checks.h"

void inspect_put_service(yyjson_mut_doc *doc, yyjson_mut_val *obj, const struct inspect_mapping *m)
{
    cleanup(mem_free_ptr) char *port = inspect_port_name(m);
    json_fields(doc, json_put_object(doc, obj, "service"), json_str("namespace", m->rules->namespace),
                json_str("name", m->rules->service), json_str("port", port));
}

/* ---- one backend ---- */

static void put_changes(yyjson_mut_doc *doc, yyjson_mut_val *obj, const struct inspect_backend *b)
{
    const struct diff *d = &b->plan.diff;
    static const char *const ops[] = {[DIFF_ADD] = "add", [DIFF_CHANGE] = "change", [DIFF_REMOVE] = "remove"};
    yyjson_mut_val *list = json_put_list(doc, obj, "changes");
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        const struct desired_server *want = desired_find(b->desired, c->server.name);
        enum server_state after = c->op != DIFF_REMOVE && want != NULL ? want->state : SERVER_OUT;
        yyjson_mut_val *change = json_add_object(doc, list);
        cleanup(mem_free_ptr) char *reason = inspect_change_reason(b, c);
        json_fields(doc, change, json_str("op", ops[c->op]), json_str("server", c->server.name),
                    json_str("address", c->server.address), json_uint("port", c->server.port),
                    json_int("weight", c->server.weight), json_str("state", server_state_name(after)),
                    json_str("detail", c->detail), json_str("reason", reason), json_bool("loss", c->loss),
                    json_bool("announced", c->announced), json_bool("parks", c->parks),
                    json_bool("reload", b->reloads[i]));
    }
}

/* The names of the lines to which that happens. */
static void put_lines(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, enum inspect_line which,
                      const struct inspect_report *r, const struct inspect_backend *b)
{
    yyjson_mut_val *list = json_put_list(doc, obj, key);
    for (size_t i = 0; inspect_has_lines(b) && i < b->actual.server_count; i++) {
        const char *name = b->actual.servers[i].name;
        if (inspect_line(r, b, &b->actual.servers[i]) == which)
            json_add(list, json_text(doc, name));
    }
}

static void put_servers(yyjson_mut_doc *doc, yyjson_mut_val *obj, const struct inspect_report *r,
                        const struct inspect_backend *b)
{
    const struct desired *desired = b->desired;
    yyjson_mut_val *list = json_put_list(doc, obj, "servers");
    for (size_t i = 0; i < desired->server_count; i++) {
        const struct desired_server *s = &desired->servers[i];
        yyjson_mut_val *server = json_add_object(doc, list);
        json_fields(doc, server, json_str("name", s->name));
        if (s->node != NULL)
            json_fields(doc, server, json_str("node", s->node));
        json_fields(doc, server, json_str("address", s->address), json_uint("port", s->port),
                    json_int("weight", s->weight), json_str("state", server_state_name(s->state)));
        cleanup(mem_free_ptr) char *reason = desired_server_reason(desired, s);
        json_fields(doc, server, json_str("reason", reason), json_ms("until", inspect_until_ms(r, b, s->name)));
    }
}

static void add_left_out(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct desired_skip *s, const char *subject,
                         const char *reason)
{
    json_fields(doc, json_add_object(doc, list), json_str("subject", subject), json_str("reason", reason),
                json_str("server", s->server), json_bool("announced", s->announced),
                json_bool("ordinary", s->ordinary));
}

static void put_left_out(yyjson_mut_doc *doc, yyjson_mut_val *obj, const struct inspect_backend *b)
{
    yyjson_mut_val *list = json_put_list(doc, obj, "left_out");
    for (size_t i = 0; i < b->desired->skip_count; i++) {
        const struct desired_skip *s = &b->desired->skips[i];
        cleanup(mem_free_ptr) char *subject = desired_skip_subject(b->desired, s),
                                   *reason = desired_skip_reason(b->desired, s);
        add_left_out(doc, list, s, subject, reason);
    }
    for (size_t i = 0; i < b->plan.diff.skip_count; i++) {
        const struct diff_skip *s = &b->plan.diff.skips[i];
        const struct desired_skip as = {.server = s->name};
        add_left_out(doc, list, &as, s->name, s->reason);
    }
}

static void put_backend(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct inspect_report *r,
                        const struct inspect_target *t, const struct inspect_backend *b)
{
    const struct diff *d = &b->plan.diff;
    cleanup(mem_free_ptr) char *why = inspect_why(b), *reload_why = inspect_reload_why(b);
    yyjson_mut_val *obj = json_add_object(doc, list);
    json_fields(doc, obj, json_str("backend", b->of->backend), json_str("haproxy", t->url));
    const struct inspect_mapping *m = b->of;
    inspect_put_service(doc, obj, m);
    json_fields(doc, obj, json_str("verdict", inspect_verdict_word(inspect_verdict(b))), json_str("why", why),
                json_str("note", b->desired->note != NULL ? b->desired->note : b->plan.diff.uneven),
                json_str("settings", d->backend_detail), json_bool("create", d->create_backend),
                json_bool("reload", reload_why != NULL || inspect_verdict(b) == INSPECT_RELOAD_AGAIN),
                json_str("reload_why", reload_why));
    put_changes(doc, obj, b);
    json_fields(doc, obj, json_uint("removals_delayed", b->plan.held_back));
    put_lines(doc, obj, "kept", INSPECT_LINE_DELAYED, r, b);
    yyjson_mut_val *delayed = json_put_list(doc, obj, "delayed");
    for (size_t i = 0; r->daemon.used && i < b->plan.held_back; i++) {
        json_fields(doc, json_add_object(doc, delayed), json_str("server", b->plan.held[i].server),
                    json_ms("until", inspect_until_ms(r, b, b->plan.held[i].server)));
    }
    yyjson_mut_val *commands = json_put_list(doc, obj, "runtime_commands");
    for (size_t i = 0; i < b->choice.command_count; i++) {
        const struct runtime_command *call = &b->choice.commands[i];
        cleanup(mem_free_ptr) char *reason = inspect_call_reason(b, call);
        json_fields(doc, json_add_object(doc, commands), json_str("server", call->name),
                    json_str("state", runtime_admin_name(call->state)), json_str("reason", reason));
    }
    yyjson_mut_val *overridden = json_put_list(doc, obj, "overridden");
    for (size_t i = 0; i < b->memory.count; i++) {
        const struct admin_state *mark = inspect_overridden(b, b->memory.marks[i].name);
        if (mark == NULL)
            continue;
        json_fields(doc, json_add_object(doc, overridden), json_str("server", mark->name),
                    json_str("state", runtime_admin_name(mark->theirs)));
    }
    put_lines(doc, obj, "parked", INSPECT_LINE_PARKED, r, b);
    json_fields(doc, obj, json_str("runtime", b->runtime.readable ? NULL : b->runtime.why));
    put_servers(doc, obj, r, b);
    put_left_out(doc, obj, b);
    json_put(doc, obj, "unmanaged",
             b->seen ? yyjson_mut_uint(doc, d->foreign_count - d->others_count) : yyjson_mut_null(doc));
    if (b->seen && d->others_count > 0)
        json_fields(doc, obj, json_uint("another_cluster", d->others_count));
}

/* ---- each HAProxy ---- */

static void add_problem(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct inspect_report *r,
                        const struct inspect_target *t, const char *text)
{
    if (text == NULL)
        return;
    cleanup(mem_free_ptr) char *whose =
        r->target_count > 1 ? mem_printf("HAProxy %s: %s", t->url, text) : mem_strdup(text);
    json_add(list, json_text(doc, whose));
}

void inspect_put_problems(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct inspect_report *r)
{
    yyjson_mut_val *list = json_put_list(doc, root, "problems");
    for (size_t i = 0; i < r->missing.count; i++) {
        if (r->missing.list[i].state != CHECK_FAIL)
            continue;
        cleanup(mem_free_ptr) char *line = checks_line(&r->missing.list[i]);
        cleanup(mem_free_ptr) char *text = mem_printf("[-]%s", line);
        json_add(list, json_text(doc, text));
    }
    for (size_t t = 0; t < r->target_count; t++) {
        const struct inspect_target *target = &r->targets[t];
        for (size_t i = 0; i < r->mapping_count; i++) {
            const struct error *unseen = &target->backends[i].unseen;
            bool news = unseen->kind != ERROR_NONE; /* one connection that fails is one of all backends */
            for (size_t k = 0; k < i; k++)
                news = news && !str_eq(target->backends[k].unseen.message, unseen->message);
            if (news)
                add_problem(doc, list, r, target, unseen->message);
        }
        add_problem(doc, list, r, target, target->warning);
        add_problem(doc, list, r, target, target->file_warning);
        cleanup(mem_free_ptr) char *drift = inspect_drift(target);
        add_problem(doc, list, r, target, drift);
    }
}

void inspect_print_json(const struct inspect_report *r, struct buf *out)
{
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = json_new(&root);
    json_fields(doc, root, json_bool("in_sync", inspect_plan_status(r) == EXIT_SUCCESS));
    if (r->daemon.url != NULL) {
        yyjson_mut_val *daemon = json_put_object(doc, root, "daemon");
        json_fields(doc, daemon, json_str("url", r->daemon.url), json_bool("used", r->daemon.used),
                    json_str("why", r->daemon.why_not));
    } else {
        json_fields(doc, root, json_str("daemon", NULL));
    }
    inspect_put_problems(doc, root, r);
    yyjson_mut_val *haproxies = json_put_list(doc, root, "haproxies"), *backends = json_put_list(doc, root, "backends");
    for (size_t i = 0; i < r->target_count; i++) {
        const struct inspect_target *t = &r->targets[i];
        yyjson_mut_val *obj = json_add_object(doc, haproxies);
        json_fields(
            doc, obj, json_str("url", t->url), json_bool("in_sync", inspect_target_status(r, t) == EXIT_SUCCESS),
            json_str("problem", inspect_unseen(r, t)), json_str("note", t->warning), json_str("drift", t->drift));
        for (size_t m = 0; m < r->mapping_count; m++)
            put_backend(doc, backends, r, t, &t->backends[m]);
    }
    json_print(doc, out);
}
