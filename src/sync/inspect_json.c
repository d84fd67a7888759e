/* `plan -o json`; the fields are documented in the header. */
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/str.h"
#include "sync/inspect_print.h"
#include "sync/inspect_report.h"
#include "sync/page.h"

/* Strings that yyjson would refuse (a byte that is no UTF-8) are shown as on a page; all others stay what they are, for
 * JSON escapes what is dangerous. NULL: null. */
static yyjson_mut_val *text_of(yyjson_mut_doc *doc, const char *s)
{
    if (s == NULL)
        return yyjson_mut_null(doc);
    if (page_is_utf8(s))
        return yyjson_mut_strcpy(doc, s);
    cleanup(mem_free_ptr) char *safe = page_safe(s);
    return yyjson_mut_strcpy(doc, safe);
}

static void put(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, yyjson_mut_val *value)
{
    if (!yyjson_mut_obj_add(obj, yyjson_mut_str(doc, key), value))
        abort(); /* out of memory */
}

static void put_text(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, const char *s)
{
    put(doc, obj, key, text_of(doc, s));
}

static void put_bool(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, bool b)
{
    put(doc, obj, key, yyjson_mut_bool(doc, b));
}

static void put_count(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, size_t n)
{
    put(doc, obj, key, yyjson_mut_uint(doc, n));
}

/* Negative: null. */
static void put_weight(yyjson_mut_doc *doc, yyjson_mut_val *obj, int weight)
{
    put(doc, obj, "weight", weight >= 0 ? yyjson_mut_int(doc, weight) : yyjson_mut_null(doc));
}

static yyjson_mut_val *put_list(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key)
{
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    put(doc, obj, key, list);
    return list;
}

static yyjson_mut_val *add_object(yyjson_mut_doc *doc, yyjson_mut_val *list)
{
    yyjson_mut_val *obj = yyjson_mut_obj(doc);
    if (!yyjson_mut_arr_append(list, obj))
        abort(); /* out of memory */
    return obj;
}

static void add_text(yyjson_mut_doc *doc, yyjson_mut_val *list, const char *s, size_t len)
{
    cleanup(mem_free_ptr) char *text = mem_strndup(s, len);
    if (!yyjson_mut_arr_append(list, text_of(doc, text)))
        abort(); /* out of memory */
}

/* ---- one backend ---- */

static void put_service(yyjson_mut_doc *doc, yyjson_mut_val *obj, const struct inspect_mapping *m)
{
    cleanup(mem_free_ptr) char *port = inspect_port_name(m);
    yyjson_mut_val *service = yyjson_mut_obj(doc);
    put_text(doc, service, "namespace", m->rules->namespace);
    put_text(doc, service, "name", m->rules->service);
    put_text(doc, service, "port", port);
    put(doc, obj, "service", service);
}

/* As it would be. */
static enum server_state state_after(const struct inspect_backend *b, const struct diff_change *c)
{
    const struct desired_server *want = desired_find(&b->of->wish, c->server.name);
    return c->op != DIFF_REMOVE && want != NULL ? want->state : SERVER_OUT;
}

static void put_changes(yyjson_mut_doc *doc, yyjson_mut_val *obj, const struct inspect_backend *b)
{
    const struct diff *d = &b->plan.diff;
    static const char *const ops[] = {[DIFF_ADD] = "add", [DIFF_CHANGE] = "change", [DIFF_REMOVE] = "remove"};
    yyjson_mut_val *list = put_list(doc, obj, "changes");
    for (size_t i = 0; i < d->change_count; i++) {
        const struct diff_change *c = &d->changes[i];
        yyjson_mut_val *change = add_object(doc, list);
        cleanup(mem_free_ptr) char *reason = inspect_change_reason(b, c);
        put_text(doc, change, "op", ops[c->op]);
        put_text(doc, change, "server", c->server.name);
        put_text(doc, change, "address", c->server.address);
        put_count(doc, change, "port", c->server.port);
        put_weight(doc, change, c->server.weight);
        put_text(doc, change, "state", server_state_name(state_after(b, c)));
        put_text(doc, change, "detail", c->detail);
        put_text(doc, change, "reason", reason);
        put_bool(doc, change, "loss", c->loss);
        put_bool(doc, change, "announced", c->announced);
        put_bool(doc, change, "parks", c->parks);
        put_bool(doc, change, "reload", b->ways[i] == INSPECT_BY_RELOAD);
    }
}

/* The names of the lines of which that becomes. */
static void put_lines(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, enum inspect_line which,
                      const struct inspect_report *r, const struct inspect_backend *b)
{
    yyjson_mut_val *list = put_list(doc, obj, key);
    for (size_t i = 0; inspect_has_lines(b) && i < b->actual.server_count; i++) {
        const char *name = b->actual.servers[i].name;
        if (inspect_line(r, b, &b->actual.servers[i]) == which)
            add_text(doc, list, name, strlen(name));
    }
}

static void put_told(yyjson_mut_doc *doc, yyjson_mut_val *obj, const struct inspect_backend *b)
{
    yyjson_mut_val *list = put_list(doc, obj, "told");
    for (size_t i = 0; i < b->choice.call_count; i++) {
        const struct lane_call *call = &b->choice.calls[i];
        cleanup(mem_free_ptr) char *reason = inspect_call_reason(b, call);
        yyjson_mut_val *told = add_object(doc, list);
        put_text(doc, told, "server", call->name);
        put_text(doc, told, "state", runtime_admin_name(call->state));
        put_text(doc, told, "reason", reason);
    }
}

static void put_by_hand(yyjson_mut_doc *doc, yyjson_mut_val *obj, const struct inspect_backend *b)
{
    yyjson_mut_val *list = put_list(doc, obj, "by_hand");
    for (size_t i = 0; i < b->memory.count; i++) {
        const struct lane_mark *mark = inspect_by_hand(b, b->memory.marks[i].name);
        if (mark == NULL)
            continue;
        yyjson_mut_val *set = add_object(doc, list);
        put_text(doc, set, "server", mark->name);
        put_text(doc, set, "state", runtime_admin_name(mark->theirs));
    }
}

static void put_servers(yyjson_mut_doc *doc, yyjson_mut_val *obj, const struct desired *wish)
{
    yyjson_mut_val *list = put_list(doc, obj, "servers");
    for (size_t i = 0; i < wish->server_count; i++) {
        const struct desired_server *s = &wish->servers[i];
        yyjson_mut_val *server = add_object(doc, list);
        put_text(doc, server, "name", s->name);
        put_text(doc, server, "address", s->address);
        put_count(doc, server, "port", s->port);
        put_weight(doc, server, s->weight);
        put_text(doc, server, "state", server_state_name(s->state));
        put_text(doc, server, "reason", s->reason);
    }
}

static void add_left_out(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct desired_skip *s)
{
    yyjson_mut_val *skip = add_object(doc, list);
    put_text(doc, skip, "subject", s->subject);
    put_text(doc, skip, "reason", s->reason);
    put_text(doc, skip, "server", s->server);
    put_bool(doc, skip, "announced", s->announced);
    put_bool(doc, skip, "ordinary", s->ordinary);
}

static void put_left_out(yyjson_mut_doc *doc, yyjson_mut_val *obj, const struct inspect_backend *b)
{
    yyjson_mut_val *list = put_list(doc, obj, "left_out");
    for (size_t i = 0; i < b->of->wish.skip_count; i++)
        add_left_out(doc, list, &b->of->wish.skips[i]);
    for (size_t i = 0; i < b->plan.diff.skip_count; i++) {
        const struct diff_skip *s = &b->plan.diff.skips[i];
        const struct desired_skip as = {.subject = s->name, .reason = s->reason, .server = s->name};
        add_left_out(doc, list, &as);
    }
}

static void put_runtime(yyjson_mut_doc *doc, yyjson_mut_val *obj, const struct inspect_report *r,
                        const struct inspect_backend *b)
{
    put_told(doc, obj, b);
    put_by_hand(doc, obj, b);
    put_lines(doc, obj, "parked", INSPECT_LINE_PARKED, r, b);
    put_text(doc, obj, "runtime", b->runtime.readable ? NULL : b->runtime.why);
}

static void put_backend(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct inspect_report *r,
                        const struct inspect_target *t, const struct inspect_backend *b)
{
    const struct diff *d = &b->plan.diff;
    cleanup(mem_free_ptr) char *why = inspect_why(b), *reload_why = inspect_reload_why(b);
    yyjson_mut_val *obj = add_object(doc, list);
    put_text(doc, obj, "backend", b->of->backend);
    put_text(doc, obj, "haproxy", t->url);
    put_service(doc, obj, b->of);
    put_text(doc, obj, "verdict", inspect_verdict_word(inspect_verdict(b)));
    put_text(doc, obj, "why", why);
    put_text(doc, obj, "note", b->of->wish.note);
    put_text(doc, obj, "settings", d->backend_detail);
    put_bool(doc, obj, "create", d->create_backend);
    put_bool(doc, obj, "reload", reload_why != NULL || inspect_verdict(b) == INSPECT_RELOAD_AGAIN);
    put_text(doc, obj, "reload_why", reload_why);
    put_changes(doc, obj, b);
    put_count(doc, obj, "held_back", b->plan.held_back);
    put_lines(doc, obj, "held", INSPECT_LINE_HELD, r, b);
    put_runtime(doc, obj, r, b);
    put_servers(doc, obj, &b->of->wish);
    put_left_out(doc, obj, b);
    put(doc, obj, "not_ours", b->seen ? yyjson_mut_uint(doc, d->foreign_count) : yyjson_mut_null(doc));
}

/* ---- each HAProxy ---- */

static void put_targets(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct inspect_report *r)
{
    yyjson_mut_val *list = put_list(doc, root, "haproxies");
    for (size_t i = 0; i < r->target_count; i++) {
        const struct inspect_target *t = &r->targets[i];
        yyjson_mut_val *obj = add_object(doc, list);
        put_text(doc, obj, "url", t->url);
        put_bool(doc, obj, "in_step", inspect_target_status(r, t) == EXIT_SUCCESS);
        put_text(doc, obj, "problem", inspect_unseen(r, t));
        put_text(doc, obj, "note", t->warning);
        put_text(doc, obj, "drift", t->drift);
    }
}

static void add_problem(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct inspect_report *r,
                        const struct inspect_target *t, const char *text)
{
    if (text == NULL)
        return;
    cleanup(mem_free_ptr) char *whose =
        r->target_count > 1 ? mem_printf("HAProxy %s: %s", t->url, text) : mem_strdup(text);
    add_text(doc, list, whose, strlen(whose));
}

/* One connection that fails is one problem, however many backends it was for. */
static bool is_news(const struct inspect_target *t, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (str_eq(t->backends[k].unseen.message, t->backends[i].unseen.message))
            return false;
    return t->backends[i].unseen.kind != ERROR_NONE;
}

static void put_problems(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct inspect_report *r)
{
    yyjson_mut_val *list = put_list(doc, root, "problems");
    for (const char *line = r->missing; line != NULL && *line != '\0';) {
        size_t len = strcspn(line, "\n");
        add_text(doc, list, line, len);
        line += len + (line[len] == '\n');
    }
    for (size_t t = 0; t < r->target_count; t++) {
        const struct inspect_target *target = &r->targets[t];
        for (size_t i = 0; i < r->mapping_count; i++)
            if (is_news(target, i))
                add_problem(doc, list, r, target, target->backends[i].unseen.message);
        add_problem(doc, list, r, target, target->warning);
        cleanup(mem_free_ptr) char *drift = inspect_drift(target);
        add_problem(doc, list, r, target, drift);
    }
}

void inspect_print_json(const struct inspect_report *r, struct buf *out)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = doc != NULL ? yyjson_mut_obj(doc) : NULL;
    if (root == NULL)
        abort(); /* out of memory */
    yyjson_mut_doc_set_root(doc, root);
    put_bool(doc, root, "in_step", inspect_plan_status(r) == EXIT_SUCCESS);
    put_problems(doc, root, r);
    put_targets(doc, root, r);
    yyjson_mut_val *list = put_list(doc, root, "backends");
    for (size_t t = 0; t < r->target_count; t++)
        for (size_t i = 0; i < r->mapping_count; i++)
            put_backend(doc, list, r, &r->targets[t], &r->targets[t].backends[i]);
    size_t len = 0;
    char *text = yyjson_mut_write(doc, YYJSON_WRITE_PRETTY_TWO_SPACES | YYJSON_WRITE_ESCAPE_UNICODE, &len);
    if (text == NULL)
        abort(); /* out of memory: every string is UTF-8 */
    /* The one control character that yyjson leaves as it is. */
    for (size_t at = 0; at < len;) {
        size_t plain = strcspn(text + at, "\x7f");
        buf_addn(out, text + at, plain);
        at += plain;
        if (at < len) {
            buf_add(out, "\\u007f");
            at++;
        }
    }
    buf_add(out, "\n");
    free(text);
    yyjson_mut_doc_free(doc);
}
