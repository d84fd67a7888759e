/* What a request does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "base/mem.h"
#include "base/str.h"
#include "world.h"

#define PARTS_MAX 8

/* A path in pieces. */
struct address {
    char copy[PATH_BYTES];
    const char *parts[PARTS_MAX];
    size_t count;
    const char *query; /* "" where there is none */
};

static void address_split(struct address *at, const char *path)
{
    char *rest = at->copy + 1;
    snprintf(at->copy, sizeof(at->copy), "%s", path);
    char *query = strchr(at->copy, '?');
    at->query = "";
    if (query != NULL) {
        *query++ = '\0';
        at->query = query;
    }
    at->count = 0;
    for (char *part; at->count < PARTS_MAX && (part = strsep(&rest, "/")) != NULL;)
        at->parts[at->count++] = part;
}

static const char *query_value(const struct address *at, const char *key)
{
    const char *found = strstr(at->query, key);
    return found != NULL ? found + strlen(key) : NULL;
}

static bool is_part(const struct address *at, size_t i, const char *text)
{
    return i < at->count && strcmp(at->parts[i], text) == 0;
}

void api_message(struct request *r, int status, const char *text)
{
    r->reply.status = status;
    buf_clear(&r->reply.body);
    buf_printf(&r->reply.body, "{\"code\":%d,\"message\":\"%s\"}", status, text);
}

void api_unexpected(struct api *a, const struct request *r)
{
    violate(a->world, "known-request", "%s: %s %s %s", a->url, r->method, r->path, r->json != NULL ? r->json : "");
}

#define OTHER_WRITER_US 3000000

void api_provoke(struct api *a)
{
    if (a->other_writer > 0 && a->other_writer_due_us == 0)
        a->other_writer_due_us = a->world->now_us + OTHER_WRITER_US;
}

/* ---- reloads ---- */

void api_schedule_reload(struct api *a)
{
    if (!a->reload_pending) {
        a->reload_pending = true;
        a->reload_number++;
        a->reload_due_us = (a->world->now_us / RELOAD_DELAY_US + 1) * RELOAD_DELAY_US;
    }
}

static void schedule_reload(struct api *a, struct request *r)
{
    api_schedule_reload(a);
    snprintf(r->reply.reload_id, sizeof(r->reply.reload_id), "r-%u", a->reload_number);
}

void api_reload_ends(struct api *a)
{
    bool failed = a->fail_reloads > 0 || a->haproxy_back_us != 0 || local_is_broken(a);
    a->reload_pending = false;
    a->reloaded_us = a->world->now_us;
    clusters_loaded(a, failed);
    a->outcomes[a->reload_number % sizeof(a->outcomes)] = failed ? 'f' : 's';
    if (failed) {
        a->fail_reloads -= a->fail_reloads > 0;
        if (a->world->settings.whole != 0)
            whole_api_load_failed(a);
        a->on_disk = a->good; /* what the API answers stays what it was */
        a->troubled_us = a->refused_us = a->world->now_us;
        world_say(a->world, "  %s: reload r-%u fails", a->url, a->reload_number);
        return;
    }
    a->forgotten_loads = 0;
    a->good = a->on_disk;
    running_load(&a->running, &a->on_disk);
    whole_api_loaded(a);
    a->pid++;
    a->pid_since_us = a->world->now_us;
    world_say(a->world, "  %s: reload r-%u", a->url, a->reload_number);
}

static void print_reload(const struct api *a, unsigned number, struct buf *out)
{
    char outcome = a->outcomes[number % sizeof(a->outcomes)];
    bool pending = a->reload_pending && number == a->reload_number;
    buf_printf(out, "{\"id\":\"r-%u\",\"status\":\"%s\",\"response\":\"words of HAProxy\",\"reload_timestamp\":%u}",
               number,
               pending          ? "in_progress"
               : outcome == 'f' ? "failed"
                                : "succeeded",
               number);
}

static void reloads(struct api *a, struct request *r, const struct address *at)
{
    unsigned number = at->count > 1 ? (unsigned)strtoul(strchr(at->parts[1], '-') + 1, NULL, 10) : 0;
    if (at->count > 1 && (number == 0 || number > a->reload_number)) {
        api_message(r, 404, "no such reload");
        return;
    }
    r->reply.status = 200;
    if (at->count > 1) {
        print_reload(a, number, &r->reply.body);
        return;
    }
    buf_add(&r->reply.body, "[");
    for (unsigned i = a->reload_number > 20 ? a->reload_number - 20 : 1; i <= a->reload_number; i++) {
        print_reload(a, i, &r->reply.body);
        buf_add(&r->reply.body, i < a->reload_number ? "," : "");
    }
    buf_add(&r->reply.body, "]");
}

/* ---- transactions ---- */

static struct transaction *find(struct api *a, const char *id)
{
    unsigned number = id != NULL && str_has_prefix(id, "t-") ? (unsigned)strtoul(id + 2, NULL, 10) : 0;
    for (size_t i = 0; i < array_len(a->transactions); i++)
        if (number != 0 && a->transactions[i].number == number)
            return &a->transactions[i];
    return NULL;
}

void api_outdate(struct api *a, int64_t version)
{
    for (size_t i = 0; i < array_len(a->transactions); i++)
        if (a->transactions[i].number != 0 && a->transactions[i].status == IN_PROGRESS &&
            a->transactions[i].version <= version)
            a->transactions[i].status = OUTDATED;
}

static struct transaction *free_place(struct api *a)
{
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < array_len(a->transactions); i++)
            if (a->transactions[i].number == 0)
                return &a->transactions[i];
        for (size_t i = 0; i < array_len(a->transactions); i++) /* nobody ever deletes them: files in a folder */
            if (a->transactions[i].status != IN_PROGRESS)
                api_end_transaction(&a->transactions[i]);
    }
    return NULL;
}

static void begin(struct api *a, struct request *r, const struct address *at)
{
    const char *version = query_value(at, "version=");
    if (version == NULL || strtoll(version, NULL, 10) != a->memory.version) {
        api_message(r, 409, "version mismatch");
        return;
    }
    struct transaction *t = free_place(a);
    if (t == NULL || api_has_no_room(a)) {
        api_message(r, 429, "cannot start a new transaction, reached the maximum amount of 20");
        return;
    }
    *t = (struct transaction){.number = ++a->transaction_number,
                              .version = a->memory.version,
                              .lost = r->reply.status < 0 || r->life != a->world->life || a->world->targets == NULL,
                              .decided = r->decided,
                              .conf = mem_alloc(sizeof(*t->conf))};
    *t->conf = a->memory;
    r->reply.status = 201;
    buf_printf(&r->reply.body, "{\"_version\":%lld,\"id\":\"t-%u\",\"status\":\"in_progress\"}", (long long)t->version,
               t->number);
}

static void list(struct api *a, struct request *r)
{
    static const char *const words[] = {[IN_PROGRESS] = "in_progress", [FAILED] = "failed", [OUTDATED] = "outdated"};
    const char *comma = "";
    r->reply.status = 200;
    buf_add(&r->reply.body, "[");
    for (size_t i = 0; i < array_len(a->transactions); i++) {
        const struct transaction *t = &a->transactions[i];
        if (t->number == 0)
            continue;
        buf_printf(&r->reply.body, "%s{\"_version\":%lld,\"id\":\"t-%u\",\"status\":\"%s\"}", comma,
                   (long long)t->version, t->number, words[t->status]);
        comma = ",";
    }
    buf_add(&r->reply.body, "]");
}

static void commit_servers(struct api *a, struct transaction *t)
{
    struct serving before;
    int64_t version = a->memory.version;
    const struct decided decided = t->decided;
    check_written(a, t->conf->changed, "a commit");
    check_adoption(a, t->conf);
    a->written++;
    serving_of(a, &before);
    a->memory = *t->conf;
    a->memory.version = version + 1;
    a->memory.changed = false;
    a->on_disk = a->memory;
    a->local.unloaded = false;
    a->commits = true;
    check_taken(a, &before, &decided, false, "a commit");
    a->commits = false;
}

static void commit(struct api *a, struct request *r, struct transaction *t)
{
    if (t->status != IN_PROGRESS) {
        api_message(r, 406, "transaction is outdated");
        return;
    }
    if (t->version != a->memory.version) {
        t->status = OUTDATED;
        api_message(r, 409, "version mismatch");
        return;
    }
    int64_t version = a->memory.version;
    if (a->world->settings.whole != 0)
        whole_api_commits(a);
    else
        commit_servers(a, t);
    api_end_transaction(t);
    api_outdate(a, version);
    api_provoke(a);
    schedule_reload(a, r);
    r->reply.status = 202;
    buf_printf(&r->reply.body, "{\"_version\":%lld,\"id\":\"t\",\"status\":\"success\"}", (long long)version);
}

static void transactions(struct api *a, struct request *r, const struct address *at)
{
    struct transaction *t = at->count > 1 ? find(a, at->parts[1]) : NULL;
    if (strcmp(r->method, "POST") == 0)
        begin(a, r, at);
    else if (at->count == 1)
        list(a, r);
    else if (t == NULL)
        api_message(r, 404, "transaction does not exist");
    else if (strcmp(r->method, "PUT") == 0)
        commit(a, r, t);
    else if (strcmp(r->method, "DELETE") == 0) {
        bool useful = t->foreign && t->status == IN_PROGRESS && t->version == a->memory.version;
        if (useful)
            violate(a->world, "foreign-transaction",
                    "%s: the daemon deletes t-%u, which is somebody else's and could be committed", a->url, t->number);
        api_end_transaction(t);
        r->reply.status = 204;
    } else
        api_unexpected(a, r);
}

/* ---- the configuration ---- */

static void change_server(struct api *a, struct request *r, struct conf *c, size_t backend, const struct address *at)
{
    struct server line;
    struct section *s = &c->of[backend];
    char why[512];
    const char *name = at->count > 4 ? at->parts[4] : NULL;
    struct server *was = name != NULL ? section_find(s, name) : NULL;
    c->changed = c->changed || backend == 0;
    if (strcmp(r->method, "DELETE") == 0) {
        check_line(a, backend, was, NULL, "a transaction");
        r->reply.status = name != NULL && section_remove(s, name) ? 202 : 404;
        return;
    }
    if (r->json == NULL || server_read(r->json, &line, why, sizeof(why)) != 0)
        violate(a->world, "known-fields", "%s: %s %s: %s", a->url, r->method, r->path,
                r->json != NULL ? why : "no body");
    bool post = strcmp(r->method, "POST") == 0;
    if (post ? section_find(s, line.name) != NULL : was == NULL) {
        api_message(r, post ? 409 : 404, "there is, or there is not");
        return;
    }
    check_line(a, backend, was, &line, "a transaction");
    section_put(s, &line);
    r->reply.status = 202;
    buf_add(&r->reply.body, r->json);
}

/* What a runtime update can set; what is not among it needs a reload. */
static bool needs_reload(const struct server *was, const struct server *is)
{
    return was->check != is->check || was->backup != is->backup || was->send_proxy_v2 != is->send_proxy_v2 ||
           was->maxconn != is->maxconn || (was->weight >= 0 && is->weight < 0);
}

static void write_fast(struct api *a, struct request *r, size_t backend, const struct address *at)
{
    struct server line;
    struct serving before;
    char why[512];
    struct section *s = &a->memory.of[backend];
    struct server *at_line = section_find(s, at->parts[4]);
    const char *version = query_value(at, "version=");
    if (version == NULL || strtoll(version, NULL, 10) != a->memory.version) {
        api_message(r, 409, "version mismatch");
        return;
    }
    if (at_line == NULL) {
        api_message(r, 404, "no such server");
        return;
    }
    if (r->json == NULL || server_read(r->json, &line, why, sizeof(why)) != 0)
        violate(a->world, "known-fields", "%s: %s %s: %s", a->url, r->method, r->path,
                r->json != NULL ? why : "no body");
    struct server was = *at_line;
    check_line(a, backend, &was, &line, "a write without a reload");
    check_written(a, false, "a write without a reload");
    serving_of(a, &before);
    struct conf to = a->memory;
    section_put(&to.of[backend], &line);
    check_adoption(a, &to);
    a->written++;
    section_put(s, &line);
    api_outdate(a, a->memory.version);
    a->memory.version++;
    a->on_disk = a->memory;
    a->local.unloaded = false;
    api_provoke(a);
    buf_add(&r->reply.body, r->json);
    struct running_server *is = running_find(&a->running, backend, line.name);
    if (is == NULL || a->haproxy_back_us != 0 || needs_reload(&was, &line)) {
        schedule_reload(a, r);
        r->reply.status = 202;
    } else {
        r->reply.status = 200;
        if (!r->deaf) {
            memcpy(is->address, line.address, sizeof(is->address));
            is->port = line.port;
            is->weight = line.weight;
            if (section_says_maintenance(s, &was) != section_says_maintenance(s, &line))
                is->admin = section_says_maintenance(s, &line) ? MAINT : READY;
        }
    }
    check_taken(a, &before, &r->decided, false, "a write without a reload");
}

static void read_section(struct request *r, const struct conf *c, size_t backend, const struct address *at)
{
    const struct section *s = &c->of[backend];
    r->reply.status = 200;
    if (at->count == 3) {
        if (!s->exists)
            api_message(r, 404, "no such backend");
        else
            section_print(s, conf_backends[backend], &r->reply.body);
    } else if (is_part(at, 3, "servers")) {
        section_print_servers(s, &r->reply.body);
    } else {
        buf_add(&r->reply.body, "[]");
    }
}

static void read_sections(struct request *r, const struct conf *c)
{
    const char *comma = "";
    r->reply.status = 200;
    buf_add(&r->reply.body, "[");
    for (size_t b = 0; b < BACKENDS; b++) {
        if (!c->of[b].exists)
            continue;
        buf_add(&r->reply.body, comma);
        section_print_whole(&c->of[b], conf_backends[b], &r->reply.body);
        comma = ",";
    }
    buf_add(&r->reply.body, "]");
}

static void create_backend(struct api *a, struct request *r, struct conf *c)
{
    for (size_t b = 0; b < OURS && a->world->settings.create != 0; b++) {
        cleanup(mem_free_ptr) char *body = mem_printf("{\"name\":\"%s\",\"mode\":\"tcp\"}", conf_backends[b]);
        if (!str_eq(r->json, body))
            continue;
        if (c->of[b].exists) {
            api_message(r, 409, "there is");
            return;
        }
        c->of[b] = (struct section){.exists = true, .mode = "tcp"};
        c->changed = c->changed || b == 0;
        r->reply.status = 202;
        buf_add(&r->reply.body, r->json);
        return;
    }
    api_unexpected(a, r);
}

static void configuration(struct api *a, struct request *r, const struct address *at)
{
    const char *id = query_value(at, "transaction_id=");
    struct transaction *t = find(a, id);
    if (id != NULL && (t == NULL || t->status != IN_PROGRESS)) {
        api_message(r, 400, "transaction does not exist");
        return;
    }
    bool whole = a->world->settings.whole != 0;
    if (is_part(at, 1, "raw") && strcmp(r->method, "POST") == 0 && (whole || a->world->settings.adds != 0)) {
        (whole ? whole_api_post : api_post_file)(a, r, at->query);
        return;
    }
    if (is_part(at, 1, "raw") && strcmp(r->method, "GET") == 0) {
        r->reply.status = 200;
        if (whole)
            whole_api_read(a, &r->reply.body);
        else if (t != NULL)
            conf_print_written(t->conf, &r->reply.body);
        else
            conf_print(&a->on_disk, &r->reply.body);
        return;
    }
    if (is_part(at, 1, "backends") && at->count == 2 && t != NULL && strcmp(r->method, "POST") == 0) {
        create_backend(a, r, t->conf);
        return;
    }
    if (is_part(at, 1, "backends") && at->count == 2 && t == NULL && str_eq(at->query, "full_section=true") &&
        strcmp(r->method, "GET") == 0) {
        read_sections(r, &a->memory);
        return;
    }
    size_t backend = is_part(at, 1, "backends") && at->count > 2 ? conf_backend(at->parts[2]) : BACKENDS;
    if (backend == BACKENDS || (backend >= OURS && strcmp(r->method, "GET") != 0))
        api_unexpected(a, r);
    if (strcmp(r->method, "GET") == 0)
        read_section(r, t != NULL ? t->conf : &a->memory, backend, at);
    else if (is_part(at, 3, "servers") && t != NULL)
        change_server(a, r, t->conf, backend, at);
    else if (is_part(at, 3, "servers") && at->count == 5 && strcmp(r->method, "PUT") == 0)
        write_fast(a, r, backend, at);
    else
        api_unexpected(a, r);
}

/* ---- the running HAProxy ---- */

static void tell(struct api *a, struct request *r, size_t backend, struct running_server *is)
{
    struct serving before;
    static const char *const bodies[] = {[READY] = "{\"admin_state\":\"ready\"}",
                                         [DRAIN] = "{\"admin_state\":\"drain\"}",
                                         [MAINT] = "{\"admin_state\":\"maint\"}"};
    size_t admin = 0;
    while (admin < array_len(bodies) && !str_eq(bodies[admin], r->json))
        admin++;
    if (admin == array_len(bodies))
        api_unexpected(a, r);
    if (is->backup || str_has_prefix(is->name, "keep") || name_is_anothers(is->name))
        violate(a->world, "unmanaged", "%s: the daemon sets the state of %s, which is not ours", a->url, is->name);
    serving_of(a, &before);
    if (!r->deaf)
        is->admin = (enum admin)admin;
    if (r->life != a->world->life || a->world->targets == NULL) /* nobody knows any more whose it is */
        api_operate(a, backend, is->name, (enum admin)admin);
    check_taken(a, &before, &r->decided, true, "a runtime update");
}

/* And the daemon waits for that. */
static bool answered_to(const struct api *a, const struct request *r)
{
    return r == &a->file.request || r == &a->runtime.request;
}

static void runtime(struct api *a, struct request *r, const struct address *at)
{
    if (is_part(at, 1, "info")) {
        r->reply.status = 200;
        if (a->haproxy_back_us != 0)
            buf_add(&r->reply.body, "{\"error\":\"connection refused\"}");
        else
            buf_printf(&r->reply.body, "{\"info\":{\"pid\":%u,\"uptime\":%llu%s}}", a->pid,
                       (unsigned long long)(a->world->now_us - a->pid_since_us) / 1000000,
                       a->world->settings.adds != 0 ? ",\"version\":\"3.4.0\"" : "");
        return;
    }
    if (is_part(at, 1, "maps") && at->count > 2) {
        whole_runtime_map(a, r, at->parts[2], at->count > 4 ? at->parts[4] : NULL);
        return;
    }
    size_t backend = is_part(at, 1, "backends") && at->count > 2 ? conf_backend(at->parts[2]) : BACKENDS;
    if (backend == BACKENDS)
        api_unexpected(a, r);
    if (a->haproxy_back_us != 0) {
        api_message(r, 500, "connection refused");
        return;
    }
    if (strcmp(r->method, "POST") == 0 && at->count == 4) {
        api_add_server(a, r, backend);
        return;
    }
    struct running_server *is = at->count > 4 ? running_find(&a->running, backend, at->parts[4]) : NULL;
    if (at->count > 4 ? is == NULL : a->running.of[backend].count == 0) {
        api_message(r, 404, "no data");
        return;
    }
    if (strcmp(r->method, "DELETE") == 0 && is != NULL) {
        api_delete_server(a, r, backend, is);
        return;
    }
    if (strcmp(r->method, "PUT") == 0)
        tell(a, r, backend, is);
    r->reply.status = 200;
    if (is != NULL) {
        running_print(is, &r->reply.body);
        return;
    }
    if (backend < OURS && answered_to(a, r))
        clusters_note_running(a, backend);
    buf_add(&r->reply.body, "[");
    for (size_t i = 0; i < a->running.of[backend].count; i++) {
        buf_add(&r->reply.body, i > 0 ? "," : "");
        running_print(&a->running.of[backend].servers[i], &r->reply.body);
    }
    buf_add(&r->reply.body, "]");
}

void api_carry_out(struct api *a, struct request *r)
{
    struct address at;
    int answered = r->reply.status;
    address_split(&at, r->path);
    clusters_amid(a, r->ask);
    a->writes += strcmp(r->method, "GET") != 0;
    a->lied_us = r->deaf && strcmp(r->method, "GET") != 0 ? a->world->now_us : a->lied_us;
    if (r->ask == ASK_READ && answered_to(a, r))
        clusters_note_file(a);
    if (is_part(&at, 0, "configuration"))
        configuration(a, r, &at);
    else if (is_part(&at, 0, "transactions"))
        transactions(a, r, &at);
    else if (is_part(&at, 0, "reloads"))
        reloads(a, r, &at);
    else if (is_part(&at, 0, "runtime"))
        runtime(a, r, &at);
    else if (is_part(&at, 0, "storage") && at.count > 1)
        whole_storage(a, r, at.parts[1], at.count > 2 ? at.parts[2] : NULL);
    else if (is_part(&at, 0, "stats"))
        whole_api_serves(a, r, at.query);
    else
        api_unexpected(a, r);
    if (answered != 0)
        r->reply.status = answered;
    if ((a->dies_asks & (1u << r->ask)) != 0 && answered_to(a, r)) {
        a->dies_asks = 0;
        a->world->dies = true;
    }
}
