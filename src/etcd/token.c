/* Who we are to etcd: the token of a user, which is fetched before the first request and when etcd knows it no more
 * (a simple token ends five minutes after its last use, and with the member that made it). */
#include <string.h>

#include "base/mem.h"
#include "etcd/client_internal.h"
#include "etcd/codec.h"

static void tell_waiting(struct etcd_client *c, const struct error *err)
{
    struct etcd_call *call;
    for (call = LIST_FIRST(&c->calls); call != NULL; call = LIST_NEXT(call, entry))
        etcd_call_token_came(call, err);
    etcd_watches_token_came(c, err);
}

static int token_read(struct etcd_call *call, const char *body, size_t len, struct error *err)
{
    return etcd_codec_read_token(body, len, &call->result.token, err);
}

static void token_tell(struct etcd_call *call, const struct error *err)
{
    struct etcd_client *c = call->client;
    c->authenticating = NULL;
    c->token_number++;
    if (err == NULL)
        c->token = call->result.token;
    tell_waiting(c, err);
}

bool etcd_token_ready(struct etcd_client *c)
{
    static const struct etcd_call_kind kind = {
        .path = "/v3/auth/authenticate", .without_token = true, .read = token_read, .tell = token_tell};
    if (c->user == NULL || c->token != NULL || c->auth_off)
        return true;
    if (c->authenticating == NULL)
        c->authenticating =
            etcd_call_new(c, &kind, etcd_codec_authenticate(c->user, c->password != NULL ? c->password : ""), NULL);
    return false;
}

char *etcd_token_header(const struct etcd_client *c)
{
    return c->token != NULL ? mem_join("Authorization: ", c->token) : NULL;
}

void etcd_token_unwanted(struct etcd_client *c)
{
    c->auth_off = true;
    if (!c->auth_off_logged)
        log_warn(c->log, "etcd has no authentication enabled; the user is not used", log_str("user", c->user));
    c->auth_off_logged = true;
}

bool etcd_token_refused(struct etcd_client *c, unsigned number)
{
    if (c->user == NULL)
        return false;
    if (c->token_number == number) {
        mem_wipe_free(c->token);
        c->token = NULL;
        c->auth_off = false;
    }
    return true;
}
