#include "haproxy/dataplane/reload_answer.h"

#include <string.h>

#include "base/mem.h"
#include "haproxy/dataplane/client.h"
#include "haproxy/dataplane/codec.h"
#include "haproxy/reload_poll.h"

static void reload_read_status(struct reload *r, const struct dataplane_answer *a)
{
    struct codec_reload_status status = {0};
    struct error err = {0};
    if (codec_read_reload(a->body, a->body_len, &status, &err) != 0) {
        reload_broken(r, ERROR_INVALID, err.message);
        return;
    }
    if (status.state == RELOAD_SUCCEEDED)
        reload_succeeded(r);
    if (status.state == RELOAD_FAILED) {
        bool silent = status.response[strspn(status.response, " \t\r\n")] == '\0';
        cleanup(mem_free_ptr) char *text = mem_printf(
            "failed, HAProxy says%s%s", silent ? " nothing (is it running?)" : ": ", silent ? "" : status.response);
        reload_broken(r, ERROR_INVALID, text);
    }
    codec_reload_fini(&status);
}

void reload_answer(struct reload *r, const struct dataplane_answer *a, uint64_t now_ms)
{
    if (a->status == 200)
        reload_read_status(r, a);
    else if (a->status == 404)
        reload_broken(r, ERROR_GONE, "is not known any more (did the Data Plane API restart?)");
    if (r->state == RELOAD_PENDING)
        reload_goes_on(r, now_ms);
}
