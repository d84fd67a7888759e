#include "sync/observe.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "dataplane/client.h"
#include "dataplane/codec.h"
#include "dataplane/rawcfg.h"

#define MAX_RESTARTS 5

static void on_answer(void *arg, const struct dataplane_answer *a);

void observe_init(struct observe *o, struct dataplane_client *client, const char *backend_name,
                  void (*done)(void *arg, struct backend *found, const struct error *err), void *arg)
{
    *o = (struct observe){.client = client, .backend_name = backend_name, .done = done, .arg = arg};
    backend_init(&o->found);
}

void observe_fini(struct observe *o)
{
    backend_fini(&o->found);
}

static void ask(struct observe *o, enum observe_step step)
{
    static const char *const suffix[] = {
        [OBSERVE_BACKEND] = "", [OBSERVE_SERVERS] = "/servers", [OBSERVE_TEMPLATES] = "/server_templates"};
    o->step = step;
    if (step == OBSERVE_RAW) {
        dataplane_send(o->client, "GET", "/configuration/raw", NULL, on_answer, o);
        return;
    }
    cleanup(mem_free_ptr) char *name = str_url_encode(o->backend_name);
    cleanup(mem_free_ptr) char *path = mem_printf("/configuration/backends/%s%s", name, suffix[step]);
    dataplane_send(o->client, "GET", path, NULL, on_answer, o);
}

static void begin(struct observe *o)
{
    backend_fini(&o->found);
    backend_init(&o->found);
    o->found.name = mem_strdup(o->backend_name);
    o->found.version = -1;
    ask(o, OBSERVE_BACKEND);
}

void observe_start(struct observe *o)
{
    o->restarts = 0;
    begin(o);
}

static void finish(struct observe *o, const struct error *err)
{
    o->step = OBSERVE_IDLE;
    o->done(o->arg, &o->found, err);
}

static const char *step_name(enum observe_step step)
{
    static const char *const names[] = {[OBSERVE_IDLE] = "nothing",
                                        [OBSERVE_BACKEND] = "backend",
                                        [OBSERVE_SERVERS] = "servers of backend",
                                        [OBSERVE_TEMPLATES] = "server-templates of backend",
                                        [OBSERVE_RAW] = "configuration file for backend"};
    return names[step];
}

/* An answer that is no 200: what that means. The backend itself may be missing (404); nothing else may. */
static int check_status(struct observe *o, const struct dataplane_answer *a, struct error *err)
{
    if (a->error != NULL) {
        *err = *a->error;
        return -1;
    }
    bool wants_one = a->status / 100 <= 3 || a->status == 404; /* what else a proxy or an API that is ill may say */
    if (wants_one && a->version < 0)
        return error_set(err, ERROR_INVALID,
                         "%s answers HTTP %d without a configuration version to " DATAPLANE_API
                         "/...: is this a Data Plane API of version 3?%s%s",
                         dataplane_client_url(o->client), a->status, a->excerpt[0] != '\0' ? " It says: " : "",
                         a->excerpt);
    if (a->status == 200)
        return 0;
    if (a->status == 404 && o->step == OBSERVE_BACKEND)
        return 0;
    return error_set_http(err, a->status, "HTTP %d: %s", a->status,
                          a->excerpt[0] != '\0' ? a->excerpt : "(no message)");
}

/* After a failed reload the API puts the last good file back, but goes on answering with what failed. */
static bool is_split(const struct observe *o, const struct dataplane_answer *a)
{
    int64_t file = rawcfg_version(a->body, a->body_len);
    return file >= 0 && file != o->found.version;
}

static int take(struct observe *o, const struct dataplane_answer *a, struct error *err)
{
    switch (o->step) {
    case OBSERVE_BACKEND:
        if (a->status == 404)
            return 0; /* found.exists stays false */
        o->found.exists = true;
        return codec_read_backend(a->body, a->body_len, &o->found, err);
    case OBSERVE_SERVERS:
        return codec_read_servers(a->body, a->body_len, &o->found, err);
    case OBSERVE_TEMPLATES:
        return codec_read_templates(a->body, a->body_len, &o->found, err);
    case OBSERVE_RAW:
        o->found.split = is_split(o, a);
        return rawcfg_find_aliens(a->body, a->body_len, &o->found, err);
    case OBSERVE_IDLE:
        break;
    }
    return 0;
}

/* Everything must have been read at one version; a move in between (somebody wrote) starts again. */
static bool version_moved(struct observe *o, int64_t version)
{
    if (o->step == OBSERVE_BACKEND)
        o->found.version = version;
    return version != o->found.version;
}

static void on_answer(void *arg, const struct dataplane_answer *a)
{
    struct observe *o = arg;
    struct error err = {0};
    int status = check_status(o, a, &err);
    if (status == 0 && version_moved(o, a->version)) {
        if (++o->restarts <= MAX_RESTARTS) {
            begin(o);
            return;
        }
        status =
            error_set(&err, ERROR_CONFLICT, "the configuration version moved %u times while it was read", o->restarts);
    }
    if (status == 0)
        status = take(o, a, &err);
    if (status != 0) {
        error_prefix(&err, "reading %s %s", step_name(o->step), o->backend_name);
        finish(o, &err);
    } else if (o->step == OBSERVE_RAW || !o->found.exists) {
        finish(o, NULL);
    } else {
        ask(o, o->step + 1);
    }
}
