#include "haproxy/reload.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/codec.h"

/* Soon at first, since a reload may be due at once, then at a pace that costs nothing. */
static uint64_t pace_ms(uint64_t age_ms)
{
    return age_ms == 0 ? 60 : age_ms < 200 ? 30 : age_ms < 1000 ? 100 : age_ms < 10000 ? 250 : 1000;
}

void reload_fini(struct reload *r)
{
    free(r->id);
    *r = (struct reload){0};
}

void reload_follow(struct reload *r, const char *id, uint64_t now_ms)
{
    reload_fini(r);
    r->id = mem_strdup(id);
    r->state = RELOAD_PENDING;
    r->since_ms = now_ms;
    r->next_ms = now_ms + pace_ms(0);
}

bool reload_due(const struct reload *r, uint64_t now_ms)
{
    return r->state == RELOAD_PENDING && now_ms >= r->next_ms;
}

static void broken(struct reload *r, enum error_kind kind, const char *why)
{
    r->state = RELOAD_BROKEN;
    error_set(&r->error, kind, "reload %s %s", r->id, why);
}

static void reload_read_status(struct reload *r, const struct dataplane_answer *a)
{
    struct codec_reload_status status = {0};
    struct error err = {0};
    if (codec_read_reload(a->body, a->body_len, &status, &err) != 0) {
        broken(r, ERROR_INVALID, err.message);
        return;
    }
    if (status.state == RELOAD_SUCCEEDED)
        r->state = RELOAD_DONE;
    if (status.state == RELOAD_FAILED) {
        bool silent = status.response[strspn(status.response, " \t\r\n")] == '\0';
        cleanup(mem_free_ptr) char *text = mem_printf(
            "failed, HAProxy says%s%s", silent ? " nothing (is it running?)" : ": ", silent ? "" : status.response);
        broken(r, ERROR_INVALID, text);
    }
    codec_reload_fini(&status);
}

void reload_answer(struct reload *r, const struct dataplane_answer *a, uint64_t now_ms)
{
    if (a->status == 200)
        reload_read_status(r, a);
    else if (a->status == 404)
        broken(r, ERROR_GONE, "is not known any more (did the Data Plane API restart?)");
    if (r->state != RELOAD_PENDING)
        return;
    if (now_ms - r->since_ms >= RELOAD_DEADLINE_MS)
        broken(r, ERROR_RETRY, "did not finish in time");
    r->next_ms = now_ms + pace_ms(now_ms - r->since_ms);
}
