/* A Data Plane API and whole files: what it makes of one, writes, checks, loads, and sends HAProxy beside it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "world.h"

#define HEAD "# haproxy-k8s-sync: "
#define VERSION "# _version="

/* ---- text ---- */

/* It does not store the bytes: white space is its own, and so is the version. */
static char *as_written(const char *text)
{
    cleanup(mem_free_ptr) char *copy = mem_strdup(text);
    struct buf out = {0};
    for (char *rest = copy, *line; (line = strsep(&rest, "\n")) != NULL;) {
        bool indented = *line == ' ' || *line == '\t';
        if (str_has_prefix(line, VERSION) || (rest == NULL && *line == '\0'))
            continue;
        buf_add(&out, indented ? "  " : "");
        const char *before = "";
        for (char *words = line, *word; (word = strsep(&words, " \t")) != NULL;) {
            if (*word == '\0')
                continue;
            buf_printf(&out, "%s%s", before, word);
            before = " ";
        }
        buf_add(&out, "\n");
    }
    buf_add(&out, "");
    return buf_take(&out);
}

/* Without the comments that the daemon puts at its top. */
static const char *sent_text(const char *text)
{
    while (str_has_prefix(text, HEAD))
        text += strcspn(text, "\n") + 1;
    return text;
}

void whole_api_read(const struct api *a, struct buf *ret)
{
    buf_printf(ret, VERSION "%lld\n%s", (long long)a->on_disk.version, a->local.text);
}

/* The file is another one; what the API answers stays. */
static void put_on_disk(struct api *a, const char *text, int64_t version)
{
    struct conf to = a->on_disk;
    local_put_text(a, mem_strdup(text));
    local_text_read(a, text, &to);
    to.version = version;
    a->on_disk = to;
    a->whole.hand_file = whole_is_by_hand(a, text);
}

/* ---- loads ---- */

void whole_api_commits(struct api *a)
{
    int64_t version = a->memory.version + 1;
    cleanup(mem_free_ptr) char *text = as_written(a->whole.answered);
    put_on_disk(a, text, version);
    free(a->whole.answered);
    a->whole.answered = mem_strdup(text);
    a->memory = a->on_disk;
    a->written++;
}

/* The file of the last one that went well is back. */
void whole_api_load_failed(struct api *a)
{
    put_on_disk(a, a->whole.good, a->good.version);
    a->whole.known = false;
    a->whole.load_failed = true;
}

void whole_api_loaded(struct api *a)
{
    if (a->world->settings.whole == 0)
        return;
    free(a->whole.good);
    a->whole.good = mem_strdup(a->local.text);
    whole_loaded(a);
}

/* ---- writes ---- */

static void reply(struct api *a, struct request *r, int status, const char *why)
{
    r->reply.status = status;
    r->reply.version = a->memory.version;
    buf_clear(&r->reply.body);
    if (why != NULL)
        buf_printf(&r->reply.body, "{\"code\":%d,\"message\":\"%s\"}", status, why);
    else
        whole_api_read(a, &r->reply.body);
}

static void write_file(struct api *a, struct request *r)
{
    cleanup(mem_free_ptr) char *text = as_written(r->json);
    whole_written(a, sent_text(r->json), r->sent_us);
    put_on_disk(a, text, a->memory.version + 1);
    free(a->whole.answered);
    a->whole.answered = mem_strdup(text);
    a->memory = a->on_disk;
    a->written++;
    api_provoke(a);
    bool told = r->actions == NULL || api_act(a, r);
    reply(a, r, told ? 201 : 500, told ? NULL : "words of HAProxy");
}

void whole_api_post(struct api *a, struct request *r, const char *query)
{
    const char *version = strstr(query, "version=");
    bool writes = strstr(query, "only_validate=true") == NULL;
    if (version == NULL || (writes && strstr(query, "skip_reload=true") == NULL))
        violate(a->world, "known-request", "%s: %s %s", a->url, r->method, r->path);
    if (writes && strtoll(version + strlen("version="), NULL, 10) != a->memory.version) {
        reply(a, r, 409, "version mismatch");
    } else if (whole_is_bad(r->json)) {
        a->refused_us = a->world->now_us;
        reply(a, r, 400, "words of HAProxy");
    } else if (writes) {
        write_file(a, r);
    } else {
        reply(a, r, 202, NULL);
    }
}

void whole_api_begins(struct api *a, const char *json, bool writes)
{
    whole_write_begins(a, sent_text(json), writes);
}

/* It was rejected, and the daemon gets that answer. */
void whole_api_answers(struct api *a, const struct request *r, int status)
{
    bool post = str_eq(r->method, "POST") && str_has_prefix(r->path, "/configuration/raw?");
    if (a->world->settings.whole == 0)
        return;
    if (post)
        whole_write_ends(a, sent_text(r->json), status == 400,
                         status == 201 || (status == 500 && r->reply.version > 0));
    else if (status == 200 && str_eq(r->path, "/runtime/info"))
        whole_version_is_known(a);
    else if (status != 200 && str_has_prefix(r->path, "/runtime/backends/")) /* whether it did is not seen */
        a->whole.not_told_us = a->world->now_us;
}

/* ---- what HAProxy serves ---- */

bool whole_is_sick(const struct api *a)
{
    return strstr(a->whole.runs, "frontend sick") != NULL;
}

static unsigned count_up(const struct api *a, size_t backend)
{
    unsigned up = 0;
    for (size_t i = 0; i < a->running.of[backend].count; i++)
        up += a->running.of[backend].servers[i].admin == READY && !a->running.of[backend].servers[i].down;
    return up;
}

void whole_api_serves(struct api *a, struct request *r, const char *query)
{
    struct buf *out = &r->reply.body;
    const char *between = "";
    if (a->haproxy_back_us != 0) {
        reply(a, r, 500, "connection refused");
        return;
    }
    r->reply.status = 200;
    buf_add(out, "{\"stats\":[");
    for (size_t b = 0; b < BACKENDS && strstr(query, "backend") != NULL; b++, between = ",")
        buf_printf(out, "%s{\"name\":\"%s\",\"stats\":{\"status\":\"UP\",\"act\":%u,\"bck\":0}}", between,
                   conf_backends[b], count_up(a, b));
    if (strstr(query, "frontend") != NULL)
        buf_printf(out, "{\"name\":\"setting\",\"stats\":{\"status\":\"OPEN\"}}%s",
                   whole_is_sick(a) ? ",{\"name\":\"sick\",\"stats\":{\"status\":\"STOP\"}}" : "");
    buf_add(out, "]}");
}
